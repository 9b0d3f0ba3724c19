"""What an observer was given of the metadata log is never taken back."""

from typing import Any

import pytest
from contract import Plants
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged
from planted_disks import NOTHING, crc_of
from planted_runs import PLAN, Story, assert_invalid, assert_valid

from checkers.observed_log import ObservedLog, observed_log
from framework.evidence.kinds import disk_of
from framework.evidence.quorum import LogOnDisk
from framework.plugins.capabilities import NODE_ANSWERS, WATCHED_LOG, unmet

CHECKER = ObservedLog()
VOTERS = ("c1", "c2", "c3")


def crc(offset: int) -> int:
    """Of the record that `Disks.fill` writes there."""
    return crc_of(NOTHING, {"at": offset})


def gave(
    story: Story,
    node: str,
    begin: int,
    end: int,
    *,
    epochs: dict[int, int] | None = None,
    **more: Any,
) -> None:
    """The records of these offsets, as they lie on disks."""
    known = epochs or {}
    part = {
        "leader_epoch": 1,
        "high_watermark": end,
        "begin": begin,
        "epochs": [known.get(offset, 1) for offset in range(begin, end)],
        "crcs": [crc(offset) for offset in range(begin, end)],
    }
    story.ask(node, "metadata-log", {**part, **more})


def clean() -> Story:
    """c1 gives 12 of the 15 records in parts; c2, which leads later, gives some of them again."""
    story = Story()
    story.disks.fill(1, 15, *VOTERS)
    gave(story, "c1", 0, 7)
    gave(story, "c1", 7, 7)
    gave(story, "c1", 7, 12)
    story.ask("c3", "metadata-log", type="fail", error="NOT_LEADER_OR_FOLLOWER")
    gave(story, "c2", 4, 9)
    story.ask("c2", "describe-quorum", {"leader": 2, "leader_epoch": 1, "high_watermark": 15})
    return story


def test_one_log_is_accepted() -> None:
    assert_valid(observed_log(clean().run_events()))
    result = judged(CHECKER, clean())
    compared = {each.name: each.compared for each in result.clauses}
    assert compared == {"given-kept": 12, "one-log": 4}


PLANTED = Plants(clean)


@PLANTED.violation("offset 9", "had been committed", "log ends at 9", "c1")
def all_disks_lost_the_end(story: Story) -> None:
    for node in VOTERS:
        story.disks.cut(node, 9)


@PLANTED.violation("offset 11", "is another one on disks, of epoch 2")
def another_record_took_its_place(story: Story) -> None:
    for node in VOTERS:
        story.disks.cut(node, 11)
    story.disks.fill(2, 1, *VOTERS)


@PLANTED.violation("offset 11", "is another one on disks, of epoch 1, checksum")
def another_value_took_its_place(story: Story) -> None:
    for node in VOTERS:
        story.disks.cut(node, 11)
        story.disks.write(node, 1, NOTHING, at=99)


@PLANTED.violation("offset 8", "committed twice", "epoch 1", "epoch 2", "c1", "c2")
def another_leader_gives_another_record(story: Story) -> None:
    gave(story, "c2", 7, 9, epochs={8: 2})


@PLANTED.violation("by c3", "none of its own from offset 5 on")
def a_leader_whose_log_goes_another_way(story: Story) -> None:
    gave(story, "c3", 5, 5, diverging=5)


def test_what_one_voter_lost_that_cannot_lead_is_not_lost() -> None:
    story = clean()
    story.disks.cut("c3", 9)
    assert_valid(observed_log(story.run_events()))


def test_what_snapshots_stand_for_cannot_be_compared() -> None:
    story = clean()
    story.disks.evidence.clear()
    for node in VOTERS:
        story.disks.ends[node] = 0
        story.disks.begin(node, 5, dropped=True)
        story.disks.snapshot(node, 5, 1)
        for offset in range(5, 15):
            story.disks.write(node, 1, NOTHING, at=offset)
    found = observed_log(story.run_events())
    assert not found.findings
    assert clause_of(judged(CHECKER, story), "given-kept").compared == 7


def test_controllers_that_give_nothing_are_missed() -> None:
    story = clean()
    story.observations.clear()
    assert_unknown(CHECKER, story, "given-kept")


def test_a_disk_that_was_not_read_is_missed() -> None:
    story = clean()
    story.disks.lost |= {"c2"}
    assert_unknown(CHECKER, story, "given-kept")
    assert clause_of(judged(CHECKER, story), "given-kept").compared == 0


@pytest.mark.parametrize("lacking", [NODE_ANSWERS, WATCHED_LOG])
def test_it_needs_nodes_that_give_their_log_to_anybody(lacking: str) -> None:
    available = {NODE_ANSWERS, WATCHED_LOG} | disk_of(LogOnDisk)
    assert unmet(CHECKER.requires, available) is None
    assert unmet(CHECKER.requires, available - {lacking})


def test_while_nodes_go_on_their_disks_are_no_judge() -> None:
    story = clean()
    story.plan = {**PLAN, "options": {"keep": True}}
    assert "went on" in clause_of(judged(CHECKER, story), "given-kept").note


@pytest.mark.parametrize(("records", "enough"), [(9, False), (10, True)])
def test_how_much_has_to_be_given(records: int, enough: bool) -> None:
    story = Story()
    story.disks.fill(1, 15, *VOTERS)
    for begin in range(4):
        gave(story, "c1", begin, records)
    if enough:
        assert_valid(observed_log(story.run_events()))
    else:
        assert_unknown(CHECKER, story, "given-kept")


PARTS = st.lists(
    st.tuples(st.integers(0, 5), st.lists(st.integers(1, 2), max_size=5)), min_size=1, max_size=4
)


@given(ends=st.lists(st.integers(0, 6), min_size=3, max_size=3), parts=PARTS)
def test_the_rule_is_what_it_says(ends: list[int], parts: list[tuple[int, list[int]]]) -> None:
    """Against each pair of records that were given, and each disk that could lead: all records are
    of epoch 1, and the longest two logs are a majority's."""
    story = Story()
    for node, end in zip(VOTERS, ends, strict=True):
        story.disks.fill(1, end, node)
        story.disks.cut(node, end)
    shown = []
    for begin, epochs in parts:
        known = dict(enumerate(epochs, begin))
        gave(story, "c1", begin, begin + len(epochs), epochs=known)
        shown.append(known)
    twice = any(
        one[offset] != other[offset]
        for one in shown
        for other in shown
        for offset in one & other.keys()
    )
    committed = sorted(ends)[1]
    lost = any(
        offset >= committed or epoch != 1 for known in shown for offset, epoch in known.items()
    )
    assert bool(observed_log(story.run_events()).findings) == (twice or lost)


def test_findings_name_both_answers() -> None:
    story = clean()
    gave(story, "c2", 7, 9, epochs={8: 2})
    assert_invalid(observed_log(story.run_events()), "committed twice")
    (found,) = observed_log(story.run_events()).findings
    assert found.operations == (story.observations[2].index, story.observations[-1].index)


def test_of_an_answer_the_first_difference_is_found() -> None:
    """What follows it is another log."""
    story = clean()
    gave(story, "c2", 5, 9, epochs={6: 2, 7: 2, 8: 2})
    (found,) = observed_log(story.run_events()).findings
    assert "offset 6" in found.message
