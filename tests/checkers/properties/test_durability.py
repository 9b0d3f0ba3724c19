"""Log matching (D.5) and committed records (D.6)."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_runs import Story, assert_invalid, assert_valid

from checkers.committed_never_lost import committed_never_lost
from checkers.log_matching import log_matching
from framework.verdict import Verdict


def clean() -> Story:
    """Three records committed; an uncommitted one truncated; a restart; a second leader."""
    story = Story()
    for node in ("c1", "c2", "c3", "b1"):
        story.boot(node)
    story.event("c1", "elected", epoch=1, start_offset=0, votes=[1, 2])
    story.append("c1", 0, 1, 10, 11, 12, leader=True)
    for node in ("c2", "c3", "b1"):
        story.append(node, 0, 1, 10, 11, 12)
        story.event(node, "flush", end_offset=3)
    story.hw("c1", 3, 1)
    story.hw("c2", 2, 1, role="follower")
    for offset in range(3):
        story.apply("c1", offset, "NoOpRecord")
    story.append("c1", 3, 1, 13, leader=True)
    story.boot("c1", (1, 1, 1), log_end=4, last_epoch=1)
    story.event("c2", "elected", epoch=2, start_offset=3, votes=[2, 3])
    story.append("c2", 3, 2, 23, leader=True)
    story.append("c3", 3, 2, 23)
    story.event("c1", "truncate", end_offset=3)
    story.append("c1", 3, 2, 23)
    story.append("b1", 3, 2, 23)
    story.hw("c2", 4, 2)
    story.hw("c1", 4, 2, role="follower")
    for offset in range(4):
        story.apply("c1", offset, "NoOpRecord", 2 if offset == 3 else 1)
    story.hw("c3", 4, 2, role="follower")
    story.hw("b1", 4, 2, role="observer")
    return story


def settled() -> Story:
    story = clean()
    story.final()
    for node in ("c1", "c2", "c3", "b1"):
        story.event(node, "flush", end_offset=4)
    return story


def test_clean_logs_are_accepted() -> None:
    assert_valid(log_matching(clean().run_events()))
    assert_valid(committed_never_lost(clean().run_events()))
    assert_valid(committed_never_lost(settled().run_events()))


def behind(*, dropped: bool) -> Story:
    """c1 wrote something that was never committed, and a snapshot of the others' reaches past it:
    its log is dropped for it, or (a defect) goes on as it was."""
    story = clean()
    story.append("c1", 4, 2, 99, 98, leader=True)
    for node in ("c2", "c3", "b1"):
        story.append(node, 4, 3, 34, 35, 36, leader=node == "c2")
        story.event(node, "flush", end_offset=7)
    story.hw("c2", 7, 3)
    story.event("c1", "log_start", offset=6, dropped=dropped)
    story.append("c1", 6, 3, 36)
    story.hw("c1", 7, 3, role="follower")
    story.final()
    for node in ("c1", "c2", "c3", "b1"):
        story.event(node, "flush", end_offset=7)
    return story


def test_a_log_that_is_dropped_for_a_snapshot_is_accepted() -> None:
    evidence = behind(dropped=True).run_events()
    assert_valid(log_matching(evidence))
    assert_valid(committed_never_lost(evidence))


def test_a_log_that_only_begins_later_keeps_what_it_has() -> None:
    evidence = behind(dropped=False).run_events()
    assert_invalid(log_matching(evidence), "below")
    assert_invalid(committed_never_lost(evidence), "committed at offset 4", "c1", "CRC 99")


def test_a_log_that_was_dropped_when_its_process_died_is_accepted() -> None:
    story = clean()
    story.append("c1", 4, 2, 99, leader=True)
    for node in ("c2", "c3", "b1"):
        story.append(node, 4, 3, 34, leader=node == "c2")
    story.hw("c2", 5, 3)
    story.boot("c1", (3, 2, -1), log_start=5, log_end=5, last_epoch=3)
    story.final()
    for node in ("c1", "c2", "c3", "b1"):
        story.event(node, "flush", end_offset=5)
    assert_valid(committed_never_lost(story.run_events()))


def test_nothing_seen_is_unknown() -> None:
    assert log_matching(Story().run_events()).verdict is Verdict.UNKNOWN
    assert committed_never_lost(Story().run_events()).verdict is Verdict.UNKNOWN


# --- log matching -------------------------------------------------------------------------


def test_two_records_at_one_epoch_and_offset() -> None:
    story = clean()
    story.append("c3", 4, 2, 24)
    story.append("c2", 4, 2, 25, leader=True)
    outcome = log_matching(story.run_events())
    assert_invalid(outcome, "epoch 2, offset 4", "CRC 24", "CRC 25")
    assert {event["node"] for event in outcome.findings[0].events} == {"c2", "c3"}


def test_two_records_one_of_them_truncated() -> None:
    story = clean()
    story.append("c3", 4, 2, 24)
    story.event("c3", "truncate", end_offset=4)
    story.append("b1", 4, 2, 25)
    assert_invalid(log_matching(story.run_events()), "epoch 2, offset 4")


def test_agreement_above_a_difference() -> None:
    """Each record is unique, but the prefixes below (3, 5) are not the same."""
    story = clean()
    story.append("c3", 4, 2, 24)
    story.append("c3", 5, 3, 35)
    story.append("c2", 4, 3, 34, leader=True)
    story.append("c2", 5, 3, 35, leader=True)
    assert_invalid(log_matching(story.run_events()), "agree at epoch 3, offset 5", "offset 4")


def test_unknown_tail_of_a_killed_node_is_no_difference() -> None:
    story = clean()
    story.boot("c3", (2, 2, 2), log_end=6, last_epoch=2)
    story.append("c2", 4, 2, 24, 25, 26, leader=True)
    story.append("c3", 6, 2, 26)
    assert_valid(log_matching(story.run_events()))


@settings(max_examples=200)
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


# --- committed never lost -----------------------------------------------------------------


def test_two_records_committed_at_one_offset() -> None:
    story = clean()
    story.append("c3", 3, 3, 99)
    story.hw("c3", 4, 3, role="leader")
    assert_invalid(
        committed_never_lost(story.run_events()), "two records were committed", "offset 3"
    )


def test_node_applied_a_record_of_another_epoch() -> None:
    story = clean()
    story.apply("b1", 3, "NoOpRecord", 1)
    assert_invalid(committed_never_lost(story.run_events()), "offset 3", "epoch 1", "epoch 2")


def test_nodes_applied_different_contents() -> None:
    story = clean()
    story.apply("c2", 2, "TopicRecord", 1, name="other")
    assert_invalid(committed_never_lost(story.run_events()), "offset 2", "topic-created", "other")


def test_truncation_below_the_own_high_watermark() -> None:
    story = clean()
    story.event("c1", "truncate", end_offset=3)
    assert_invalid(committed_never_lost(story.run_events()), "c1 truncated", "watermark 4")


def test_truncation_below_the_high_watermark_of_an_earlier_life() -> None:
    story = clean()
    story.boot("c1", (2, 2, -1), log_end=4, last_epoch=2)
    story.event("c1", "truncate", end_offset=2)
    assert_invalid(committed_never_lost(story.run_events()), "c1 truncated its log to 2")


def test_committed_record_overwritten() -> None:
    story = clean()
    story.append("c1", 2, 3, 77)
    assert_invalid(committed_never_lost(story.run_events()), "c1 wrote over offset 2")


def test_flushed_and_committed_records_gone_after_a_restart() -> None:
    story = clean()
    story.event("c3", "flush", end_offset=4)
    story.boot("c3", (2, 2, 2), log_end=1, last_epoch=1)
    assert_invalid(committed_never_lost(story.run_events()), "c3 came back", "ends at 1")


def test_unflushed_records_gone_after_a_restart_are_no_loss() -> None:
    story = clean()
    story.append("c3", 4, 2, 24)
    story.boot("c3", (2, 2, 2), log_end=4, last_epoch=2)
    assert_valid(committed_never_lost(story.run_events()))


def test_leader_elected_without_a_committed_record() -> None:
    story = Story()
    for node in ("c1", "c2"):
        story.boot(node)
    story.append("c1", 0, 1, 10, 11, leader=True)
    story.append("c2", 0, 1, 10)
    story.hw("c1", 2, 1)
    story.event("c2", "elected", epoch=2, start_offset=1, votes=[2, 3])
    assert_invalid(committed_never_lost(story.run_events()), "c2 was elected in epoch 2", "nothing")


def test_leader_elected_with_another_record_there() -> None:
    story = Story()
    for node in ("c1", "c2"):
        story.boot(node)
    story.append("c1", 0, 2, 10, leader=True)
    story.append("c2", 0, 1, 99)
    story.hw("c1", 1, 2)
    story.event("c2", "elected", epoch=3, start_offset=1, votes=[2, 3])
    assert_invalid(committed_never_lost(story.run_events()), "c2 was elected", "CRC 99")


def test_leader_of_an_older_epoch_owes_nothing_to_a_later_commit() -> None:
    story = Story()
    for node in ("c1", "c2"):
        story.boot(node)
    story.event("c2", "elected", epoch=1, start_offset=0, votes=[2, 3])
    story.append("c1", 0, 2, 10, leader=True)
    story.hw("c1", 1, 2)
    assert_valid(committed_never_lost(story.run_events()))


def test_node_lacks_a_committed_record_at_the_end() -> None:
    story = settled()
    story.events = [
        event
        for event in story.events
        if not (event.node == "b1" and event.fields.get("base_offset") == 3)
        and not (event.node == "b1" and event.type == "hw")
    ]
    assert_invalid(committed_never_lost(story.run_events()), "at the end", "b1", "offset 3")


@pytest.mark.parametrize("settled_", [True, False])
def test_what_nodes_lack_counts_only_where_the_cluster_settled(settled_: bool) -> None:
    story = Story()
    for node in ("c1", "c2"):
        story.boot(node)
    story.append("c1", 0, 1, 10, leader=True)
    story.hw("c1", 1, 1)
    story.final(settled=settled_)
    outcome = committed_never_lost(story.run_events())
    assert (outcome.verdict is Verdict.INVALID) == settled_
