"""How far the metadata log was committed, by what was shown
(`folds/metadata_log/shown_ends.py`)."""

import pytest
from planted_runs import Story

from checkers.folds.metadata_log.disk_logs import CommittedOnDisks
from checkers.folds.metadata_log.shown_ends import TELLS, all_ends, leaders_word, shown_ends
from framework.history.event import Json


def told(leader_epoch: int, high_watermark: int, **more: Json) -> dict[str, Json]:
    return {"leader_epoch": leader_epoch, "high_watermark": high_watermark, **more}


def ends(story: Story) -> list[tuple[int, int | None, int | None]]:
    shown = all_ends(story.run_events())
    return [(each.end, each.by_epoch, each.last_epoch) for each in shown]


def test_ends_are_in_the_order_in_which_they_were_shown() -> None:
    story = Story()
    for number, question in enumerate(TELLS, 1):
        story.ask("c1", question, told(1, number))
        story.op("describe", "t", ext={"epoch": 2, "offset": 10 * number})
    first, second = ((number, 1, None) for number in (1, 2))
    third, fourth = ((number, 1, None) for number in (3, 4))
    assert ends(story) == [
        *(first, (10, 2, 2), second, (20, 2, 2)),
        *(third, (30, 2, 2), fourth, (40, 2, 2)),
    ]


def test_clients_who_ask_who_votes_are_shown_an_end_as_well() -> None:
    story = Story()
    story.ask("c1", "describe-quorum", told(1, 4))
    story.op("describe-voters", None, None, told(1, 5))
    story.op("describe-voters", None, None, told(1, 6), type="fail")
    assert ends(story) == [(4, 1, None), (5, 1, None)]


def test_what_says_nothing_of_what_was_committed_shows_none() -> None:
    story = Story()
    story.op("create", "t", ext={"epoch": 1, "offset": 7})
    story.op("describe", "t", ext={"epoch": 1, "offset": 7}, type="fail")
    story.op("describe", "t", ext={"epoch": 1, "offset": 0})
    story.ask("c1", "describe-quorum", told(1, 7), type="fail", error="X")
    story.ask("c1", "describe-cluster", told(1, 7))
    for unknown in (-1, 0, None):
        story.ask("c1", "describe-quorum", {"leader_epoch": 1, "high_watermark": unknown})
    assert not ends(story)


@pytest.mark.parametrize(("epoch", "known"), [(0, 0), (-1, None), (None, None)])
def test_an_epoch_may_not_be_known(epoch: int | None, known: int | None) -> None:
    story = Story()
    story.op("follow", "t", ext={"epoch": epoch, "offset": 5})
    story.ask("c1", "describe-node", {"leader_epoch": epoch, "high_watermark": 5})
    assert ends(story) == [(5, known, known), (5, known, None)]
    one, other = map(str, all_ends(story.run_events()))
    by = "" if known is None else f" in epoch {known}"
    assert (one, other) == (
        f"operation 0 was shown offset 5{by}",
        f"operation {story.observations[0].index} was shown offset 5{by}",
    )


def test_the_same_end_is_told_once() -> None:
    story = Story()
    for offset in (5, 5, 6, 5):
        story.op("describe", "t", ext={"epoch": 1, "offset": offset})
    assert [(each.end, each.operation.index) for each in shown_ends(story.run_events())] == [
        (5, 0),
        (6, story.operations[2].index),
    ]


@pytest.mark.parametrize(
    ("epochs", "log_end", "counts"),
    [
        ([1, 1, 2], 0, True),
        ([1, 1, 2], 1, True),
        ([1, 1, 2], 2, False),
        ([1, 2], 1, False),
        ([2, 2], 0, False),  # nothing of its epoch is left
        ([1, 1, 2], None, False),  # it does not say where its own log ended
    ],
)
def test_who_wrote_afterwards_led_when_it_answered(
    epochs: list[int], log_end: int | None, counts: bool
) -> None:
    left = CommittedOnDisks(len(epochs), (), {at: (each, 0) for at, each in enumerate(epochs)})
    own = [] if log_end is None else [[1, log_end]]
    story = Story()
    story.ask("c1", "describe-quorum", told(1, 1, leader=1, voters=[[2, 0], *own]))
    story.ask("c1", "describe-node", told(1, 1, leader=1, voters=[[2, 0], *own]))
    assert len(leaders_word(story.run_events(), left)) == counts


@pytest.mark.parametrize("known", [1, 2, 3, 4])
@pytest.mark.parametrize("backwards", [False, True])
def test_a_leader_tells_what_it_knew_before_until_a_record_of_its_epoch_is_committed(
    known: int, backwards: bool
) -> None:
    """All were killed, and the one that leads now had heard of two of the records by then."""
    epochs = {0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 2}
    in_order = dict(sorted(epochs.items(), reverse=backwards))
    left = CommittedOnDisks(6, (), {at: (each, 0) for at, each in in_order.items()})
    story = Story()
    story.ask("c1", "describe-quorum", told(1, known, leader=1, voters=[[1, 4]]))
    assert len(leaders_word(story.run_events(), left)) == (known > 2)
