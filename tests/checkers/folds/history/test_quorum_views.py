"""What answers tell of the quorum, in one form (`folds/history/quorum_views.py`)."""

import pytest
from planted_runs import NODES, Story

from checkers.folds.history.quorum_views import most_have, quorum_views

VOTERS = [{"id": each, "directory": f"d{each}"} for each in (1, 2)]
WHO_VOTES = {
    "leader": 1,
    "leader_epoch": 3,
    "high_watermark": 8,
    "log_end": 9,
    "voters": VOTERS,
    "observers": [4],
}
OF_QUORUM = {"leader": 1, "leader_epoch": 3, "high_watermark": 8, "voters": [[1, 9], [2, 7]]}
OWN = {"leader": 2, "leader_epoch": 3, "high_watermark": -1}
RECORDS = {"leader_epoch": 3, "high_watermark": 8, "begin": 0, "epochs": [], "crcs": []}


def asked() -> Story:
    """Each question once; none of the others is answered with a view."""
    story = Story(plan={"nodes": dict(NODES)})
    story.ask("c1", "metadata-log", RECORDS)
    story.op("describe-voters", None, result=WHO_VOTES, node="c1")
    story.ask("b1", "describe-quorum", OF_QUORUM)
    story.ask("c1", "describe-node", OWN)
    story.ask("c1", "describe-node", type="fail", error="X")
    story.ask("nobody", "metadata-log", RECORDS)
    story.ask("c1", "metadata-log", type="fail", error="X")
    story.op("describe-voters", None, type="fail", error="X", node="c1")
    story.op("describe", "t")
    return story


def test_all_are_of_one_form_in_the_order_of_their_questions() -> None:
    views = quorum_views(asked().run_events())
    assert [
        (each.operation.f, each.leader, each.epoch, each.high_watermark, each.end, each.voters)
        for each in views
    ] == [
        ("metadata-log", 1, 3, 8, None, ()),
        ("describe-voters", 1, 3, 8, 9, [1, 2]),
        ("describe-quorum", 1, 3, 8, 9, [1, 2]),
        ("describe-node", 2, 3, -1, None, []),
    ]
    assert [each.held for each in views] == [None, None, 7, None]


def test_who_leads_tells_of_itself_and_brokers_tell_what_it_says() -> None:
    views = quorum_views(asked().run_events())
    assert [(each.its_own, each.of_leader) for each in views] == [
        (True, True),
        (True, True),
        (False, True),
        (True, False),
    ]


def test_records_may_come_without_a_high_watermark() -> None:
    story = Story(plan={"nodes": dict(NODES)})
    without = {name: each for name, each in RECORDS.items() if name != "high_watermark"}
    story.ask("c1", "metadata-log", without)
    (view,) = quorum_views(story.run_events())
    assert view.high_watermark == -1


@pytest.mark.parametrize(
    ("ends", "held"),
    [
        ([], None),
        ([5], 5),
        ([-1], None),
        ([5, 4], 4),
        ([3, 5, 4], 4),
        ([0, 0, 9], 0),
        ([5, -1, 3], 5),
        ([5, -1, -1], None),
        ([5, 9, 8, 6, 7], 7),
        ([5, 9, -1, 6, 7], 7),
        ([5, 9, -1, -1, 7], 9),
    ],
)
def test_a_majority_has_the_log_up_to_there(ends: list[int], held: int | None) -> None:
    assert most_have(ends) == held
