"""Committed records are never lost (D.6)."""

import pytest
from contract import Plants
from planted_replicas import behind, clean, settled
from planted_runs import Story, assert_invalid, assert_valid

from checkers.committed_never_lost import committed_never_lost
from framework.verdict import Verdict


def test_clean_logs_are_accepted() -> None:
    assert_valid(committed_never_lost(clean().run_events()))
    assert_valid(committed_never_lost(settled().run_events()))


def test_a_log_that_is_dropped_for_a_snapshot_is_accepted() -> None:
    evidence = behind(dropped=True).run_events()
    assert_valid(committed_never_lost(evidence))


def test_a_log_that_only_begins_later_keeps_what_it_has() -> None:
    evidence = behind(dropped=False).run_events()
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
    assert committed_never_lost(Story().run_events()).verdict is Verdict.UNKNOWN


PLANTED = Plants(clean)


@PLANTED.violation("two records were committed", "offset 3")
def two_records_committed_at_one_offset(story: Story) -> None:
    story.append("c3", 3, 3, 99)
    story.hw("c3", 4, 3, role="leader")


@PLANTED.violation("offset 3", "epoch 1", "epoch 2")
def node_applied_a_record_of_another_epoch(story: Story) -> None:
    story.apply("b1", 3, "NoOpRecord", 1)


@PLANTED.violation("offset 2", "topic-created", "other")
def nodes_applied_different_contents(story: Story) -> None:
    story.apply("c2", 2, "TopicRecord", 1, name="other")


@PLANTED.violation("c1 truncated", "watermark 4")
def truncation_below_the_own_high_watermark(story: Story) -> None:
    story.event("c1", "truncate", end_offset=3)


@PLANTED.violation("c1 truncated its log to 2")
def truncation_below_the_high_watermark_of_an_earlier_life(story: Story) -> None:
    story.boot("c1", (2, 2, -1), log_end=4, last_epoch=2)
    story.event("c1", "truncate", end_offset=2)


@PLANTED.violation("c1 wrote over offset 2")
def committed_record_overwritten(story: Story) -> None:
    story.append("c1", 2, 3, 77)


@PLANTED.violation("c3 came back", "ends at 1")
def flushed_and_committed_records_gone_after_a_restart(story: Story) -> None:
    story.event("c3", "flush", end_offset=4)
    story.boot("c3", (2, 2, 2), log_end=1, last_epoch=1)


def test_unflushed_records_gone_after_a_restart_are_no_loss() -> None:
    story = clean()
    story.append("c3", 4, 2, 24)
    story.boot("c3", (2, 2, 2), log_end=4, last_epoch=2)
    assert_valid(committed_never_lost(story.run_events()))


@PLANTED.violation("c2 was elected in epoch 2", "nothing", on=Story)
def leader_elected_without_a_committed_record(story: Story) -> None:
    for node in ("c1", "c2"):
        story.boot(node)
    story.append("c1", 0, 1, 10, 11, leader=True)
    story.append("c2", 0, 1, 10)
    story.hw("c1", 2, 1)
    story.event("c2", "elected", epoch=2, start_offset=1, votes=[2, 3])


@PLANTED.violation("c2 was elected", "CRC 99", on=Story)
def leader_elected_with_another_record_there(story: Story) -> None:
    for node in ("c1", "c2"):
        story.boot(node)
    story.append("c1", 0, 2, 10, leader=True)
    story.append("c2", 0, 1, 99)
    story.hw("c1", 1, 2)
    story.event("c2", "elected", epoch=3, start_offset=1, votes=[2, 3])


def test_leader_of_an_older_epoch_owes_nothing_to_a_later_commit() -> None:
    story = Story()
    for node in ("c1", "c2"):
        story.boot(node)
    story.event("c2", "elected", epoch=1, start_offset=0, votes=[2, 3])
    story.append("c1", 0, 2, 10, leader=True)
    story.hw("c1", 1, 2)
    assert_valid(committed_never_lost(story.run_events()))


@PLANTED.violation("at the end", "b1", "offset 3", on=settled)
def node_lacks_a_committed_record_at_the_end(story: Story) -> None:
    story.events = [
        event
        for event in story.events
        if not (event.node == "b1" and event.fields.get("base_offset") == 3)
        and not (event.node == "b1" and event.type == "hw")
    ]


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
