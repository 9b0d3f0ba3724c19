"""Log matching (D.5)."""

from itertools import combinations

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import clause_of, judged
from planted_replicas import behind, clean, on_disks
from planted_runs import Story, assert_invalid

from checkers.log_matching import LogMatching, log_matching
from framework.checking.keyed import Outcome
from framework.verdict import Verdict
from tests.cases import cases


def test_clean_logs_are_accepted() -> None:
    assert not log_matching(clean().run_events()).findings


def test_a_log_that_is_dropped_for_a_snapshot_is_accepted() -> None:
    assert not judged(LogMatching(), behind(dropped=True)).findings


def test_a_log_that_only_begins_later_keeps_what_it_has() -> None:
    evidence = behind(dropped=False).run_events()
    assert_invalid(log_matching(evidence), "below")


def test_nothing_seen_is_unknown() -> None:
    assert log_matching(Story().run_events()).verdict is Verdict.UNKNOWN


def test_two_records_at_one_epoch_and_offset() -> None:
    story = clean()
    story.append("c3", 4, 2, 24)
    story.append("c2", 4, 2, 25, leader=True)
    outcome = log_matching(story.run_events())
    assert_invalid(outcome, "epoch 2, offset 4", "CRC 24", "CRC 25")
    assert {event["node"] for event in outcome.findings[0].events} == {"c2", "c3"}


PLANTED = Plants(on_disks)


@PLANTED.violation("epoch 2, offset 4")
def two_records_one_of_them_truncated(story: Story) -> None:
    story.append("c3", 4, 2, 24)
    story.event("c3", "truncate", end_offset=4)
    story.append("b1", 4, 2, 25)


@PLANTED.violation("agree at epoch 3, offset 5", "offset 4")
def agreement_above_a_difference(story: Story) -> None:
    """Each record is unique, but the prefixes below (3, 5) are not the same."""
    story.append("c3", 4, 2, 24)
    story.append("c3", 5, 3, 35)
    story.append("c2", 4, 3, 34, leader=True)
    story.append("c2", 5, 3, 35, leader=True)


# --- on disks alone -----------------------------------------------------------------------


def mute() -> Story:
    """Nobody tells anything."""
    story = on_disks()
    story.events = []
    return story


def test_disks_are_enough() -> None:
    assert judged(LogMatching(), mute()).verdict is Verdict.VALID


@PLANTED.violation("epoch 4, offset 9", "c3 one with CRC 99", on=mute)
def two_records_on_two_disks(story: Story) -> None:
    story.disks.cut("c3", 9)
    story.disks.write("c3", 4, crc=99)


@PLANTED.violation("epoch 6, offset 16", "c2", "b1", on=mute)
def two_records_of_which_one_was_cut_off_after_a_kill(story: Story) -> None:
    story.disks.write("c2", 6, crc=1)
    story.disks.restart("c2")
    story.disks.cut("c2", 16)
    story.disks.write("b1", 6, crc=2)


@PLANTED.violation("agree at epoch 6, offset 17", "offset 16", on=mute)
def disks_that_agree_above_a_difference(story: Story) -> None:
    for node, epoch in (("c1", 4), ("c2", 5)):
        story.disks.write(node, epoch, crc=7)
        story.disks.write(node, 6, crc=8)


@PLANTED.violation("epoch 4, offset 9", "CRC 99")
def node_that_tells_of_another_record_than_lies_on_disks(story: Story) -> None:
    story.append("c2", 9, 4, 99)


@pytest.mark.parametrize("node", ["c1", "c2", "c3"])
def test_voter_of_whom_nothing_is_known_is_unknown(node: str) -> None:
    story = on_disks()
    story.events = [each for each in story.events if each.node != node]
    assert judged(LogMatching(), story).verdict is Verdict.VALID, "its disk is enough"
    story.disks.lost.add(node)
    result = judged(LogMatching(), story)
    assert result.verdict is Verdict.UNKNOWN and "one-record: 3 nodes" in result.note


def test_four_entries_are_unknown() -> None:
    result = judged(LogMatching(), clean())
    assert result.verdict is Verdict.UNKNOWN and result.clauses[0].compared == 0


def test_snapshot_in_the_place_of_all_is_no_difference() -> None:
    story = mute()
    story.disks.fill(5, 2, "c1", "c2", "c3")
    story.disks.write("b1", 4, crc=5)  # nobody else's, and never committed
    story.disks.restart("b1")
    story.disks.begin("b1", 17, dropped=True)
    story.disks.fill(5, 1, "b1")
    assert judged(LogMatching(), story).verdict is Verdict.VALID


def test_unknown_tail_of_a_killed_node_is_no_difference() -> None:
    story = clean()
    story.boot("c3", (2, 2, 2), log_end=6, last_epoch=2)
    story.append("c2", 4, 2, 24, 25, 26, leader=True)
    story.append("c3", 6, 2, 26)
    assert not log_matching(story.run_events()).findings


@PLANTED.violation("agree at epoch 3, offset 5", "offset 4", on=clean)
def difference_below_that_one_between_them_does_not_know(story: Story) -> None:
    """What c2 had at offset 4 before it was killed nobody knows; c1's is still c3's to meet."""
    story.append("c1", 4, 2, 24)
    story.append("c1", 5, 3, 35)
    story.boot("c2", (2, 2, 2), log_end=5, last_epoch=2)
    story.append("c2", 5, 3, 35)
    story.append("c3", 4, 3, 34)
    story.append("c3", 5, 3, 35)


TWELVE = range(100, 112)


def test_what_lies_below_the_unknown_is_not_compared() -> None:
    story = Story()
    for node in ("c1", "c2", "c3"):
        story.boot(node, (1, 1, -1), log_end=4, last_epoch=1)
        story.append(node, 4, 1, *TWELVE)
    result = judged(LogMatching(), story)
    assert clause_of(result, "one-record").compared == 3
    assert clause_of(result, "same-below").compared == 0


def test_two_nodes_are_enough_where_there_are_no_more() -> None:
    story = Story()
    nodes = story.plan["nodes"]
    story.plan = {**story.plan, "nodes": {name: nodes[name] for name in ("c1", "c2")}}
    for node in ("c1", "c2"):
        story.boot(node)
        story.append(node, 0, 1, *TWELVE)
    result = judged(LogMatching(), story)
    assert result.verdict is Verdict.VALID, result.note
    assert {each.compared for each in result.clauses} == {2}


@settings(max_examples=cases(200))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["c1", "c2", "c3"]),
            st.integers(0, 3),
            st.integers(1, 2),
            st.lists(st.integers(1, 2), min_size=1, max_size=2),
        ),
        max_size=8,
    )
)
def test_log_matching_is_what_it_says(
    writes: list[tuple[str, int, int, list[int]]],
) -> None:
    """Against whole prefixes, compared entry by entry."""
    story = Story()
    logs: dict[str, list[tuple[int, int]]] = {}
    held: list[tuple[tuple[int, int], ...]] = []
    for node, base, epoch, crcs in writes:
        log = logs.setdefault(node, [])
        base = min(base, len(log))
        if base < len(log):
            story.event(node, "truncate", end_offset=base)
            del log[base:]
        story.append(node, base, epoch, *crcs)
        for crc in crcs:
            log.append((epoch, crc))
            held.append(tuple(log))
    right = not any(
        len(a) == len(b) and a[-1][0] == b[-1][0] and a != b for a, b in combinations(held, 2)
    )
    outcome = log_matching(story.run_events())
    assert (outcome.verdict is not Verdict.INVALID) == right


# --- clauses ------------------------------------------------------------------------------


def broken(story: Story) -> list[str]:
    """The clauses that the story breaks."""
    return [
        each.name
        for each in judged(LogMatching(), story).clauses
        if each.verdict is Verdict.INVALID
    ]


def test_each_clause_is_broken_by_its_own() -> None:
    story = mute()
    story.disks.cut("c3", 9)
    story.disks.write("c3", 4, crc=99)
    assert broken(story) == ["one-record"]
    story = mute()
    disks_that_agree_above_a_difference(story)
    assert broken(story) == ["same-below"]


@pytest.mark.parametrize(("records", "verdict"), [(9, Verdict.UNKNOWN), (10, Verdict.VALID)])
def test_ten_entries_are_enough(records: int, verdict: Verdict) -> None:
    story = Story()
    story.disks.fill(1, records, "c1", "c2", "c3")
    assert judged(LogMatching(), story).verdict is verdict


def test_entries_that_nobody_else_has_are_not_compared() -> None:
    story = Story()
    story.disks.fill(1, 10, "c1", "c2")
    story.disks.fill(2, 20, "c3")
    result = judged(LogMatching(), story)
    assert result.verdict is Verdict.UNKNOWN
    assert {each.name: each.compared for each in result.clauses} == {
        "one-record": 2,
        "same-below": 2,
    }


def test_known_log_is_worth_more_than_an_unknown_one() -> None:
    """The first who is known to hold (4, 20) began behind a snapshot; the others differ below."""
    story = Story()
    story.disks.begin("b1", 20, dropped=True)
    story.disks.write("b1", 4, crc=1)
    for node, epoch in (("c1", 2), ("c2", 3)):
        story.disks.fill(1, 19, node)
        story.disks.write(node, epoch, crc=5)
        story.disks.write(node, 4, crc=1)
    assert broken(story) == ["same-below"]


def test_one_finding_of_a_pair() -> None:
    story = mute()
    for crc in (1, 2, 3):
        story.disks.write("c1", 6, crc=crc)
        story.disks.write("c2", 6, crc=crc + 10)
    outcome = log_matching(story.run_events())
    assert len(outcome.findings) == 1
    for crc in (1, 2, 3):
        story.disks.write("c3", 6, crc=crc + 20)
    assert len(log_matching(story.run_events()).findings) == 2


def test_one_finding_of_a_pair_that_agrees_above_a_difference() -> None:
    story = on_disks()
    agreement_above_a_difference(story)
    (one,) = log_matching(story.run_events()).findings
    for node, leads in (("c3", False), ("c2", True)):
        story.append(node, 6, 3, 36, 37, leader=leads)
    (same,) = log_matching(story.run_events()).findings
    assert same.message == one.message


def test_figures() -> None:
    figures = LogMatching.check_run(mute().run_events())
    assert isinstance(figures, Outcome) and figures.figures == {"entries": 16, "nodes": 4}
