"""Committed records are never lost (D.6)."""

import pytest
from contract import Plants
from judging import assert_unknown, clause_of, judged, silent
from planted_replicas import behind, clean, settled, whole
from planted_runs import Story, assert_invalid

from checkers.committed_never_lost import CommittedNeverLost, committed_never_lost
from framework.checking.keyed import Outcome
from framework.evidence.kinds import SnapshotFile
from framework.verdict import Verdict


def assert_not_accused(outcome: Outcome) -> None:
    assert not outcome.findings


def test_clean_logs_are_accepted() -> None:
    assert_not_accused(committed_never_lost(clean().run_events()))
    assert_not_accused(committed_never_lost(settled().run_events()))


def test_a_log_that_is_dropped_for_a_snapshot_is_accepted() -> None:
    evidence = behind(dropped=True).run_events()
    assert_not_accused(committed_never_lost(evidence))


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
    assert_not_accused(committed_never_lost(story.run_events()))


def test_nothing_seen_is_unknown() -> None:
    assert committed_never_lost(Story().run_events()).verdict is Verdict.UNKNOWN


PLANTED = Plants(whole)


@PLANTED.violation("two records were committed", "offset 3", on=clean)
def two_records_committed_at_one_offset(story: Story) -> None:
    story.append("c3", 3, 3, 99)
    story.hw("c3", 4, 3, role="leader")


@PLANTED.violation("offset 3", "epoch 1", "epoch 2", on=clean)
def node_applied_a_record_of_another_epoch(story: Story) -> None:
    story.apply("b1", 3, "NoOpRecord", 1)


@PLANTED.violation("offset 2", "topic-created", "other", on=clean)
def nodes_applied_different_contents(story: Story) -> None:
    story.apply("c2", 2, "TopicRecord", 1, name="other")


@PLANTED.violation("c1 truncated", "watermark 4", on=clean)
def truncation_below_the_own_high_watermark(story: Story) -> None:
    story.event("c1", "truncate", end_offset=3)


@PLANTED.violation("c1 truncated its log to 2", on=clean)
def truncation_below_the_high_watermark_of_an_earlier_life(story: Story) -> None:
    story.boot("c1", (2, 2, -1), log_end=4, last_epoch=2)
    story.event("c1", "truncate", end_offset=2)


@PLANTED.violation("c1 wrote over offset 2", on=clean)
def committed_record_overwritten(story: Story) -> None:
    story.append("c1", 2, 3, 77)


@PLANTED.violation("c3 came back", "ends at 1", on=clean)
def flushed_and_committed_records_gone_after_a_restart(story: Story) -> None:
    story.event("c3", "flush", end_offset=4)
    story.boot("c3", (2, 2, 2), log_end=1, last_epoch=1)


def test_unflushed_records_gone_after_a_restart_are_no_loss() -> None:
    story = clean()
    story.append("c3", 4, 2, 24)
    story.boot("c3", (2, 2, 2), log_end=4, last_epoch=2)
    assert_not_accused(committed_never_lost(story.run_events()))


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
    assert_not_accused(committed_never_lost(story.run_events()))


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


# --- by disks -----------------------------------------------------------------------------


def mute() -> Story:
    """By the plan nodes tell nothing."""
    story = silent(whole())
    story.plan = {**story.plan, "capabilities": ["disk:appended"]}
    return story


def test_disks_are_enough() -> None:
    result = judged(CommittedNeverLost(), mute())
    assert result.verdict is Verdict.VALID
    held = [each.name for each in result.clauses if each.verdict is Verdict.VALID]
    assert held == ["none-dropped", "still-there", "everywhere-in-the-end"]


def lose(story: Story, end: int, *nodes: str) -> None:
    for node in nodes:
        story.disks.restart(node)
        story.disks.cut(node, end)


@PLANTED.violation("told that epoch 2, CRC 112", "offset 12", "nothing")
def told_record_that_no_later_leader_has(story: Story) -> None:
    """Both disks of a majority were cut back."""
    lose(story, 12, "c1", "c2", "c3")


@PLANTED.violation("CRC 112", "all who could lead have epoch 3, CRC 7")
def another_record_came_in_the_place_of_a_committed_one(story: Story) -> None:
    lose(story, 12, "c1", "c2", "c3")
    for node in ("c1", "c2"):
        story.disks.write(node, 3, crc=7)


@PLANTED.violation("snapshot up to 10", "ends at 9", on=mute)
def snapshot_of_what_is_gone(story: Story) -> None:
    lose(story, 9, "c2", "c3")
    story.disks.evidence = [
        each
        for each in story.disks.evidence
        if not isinstance(each, SnapshotFile) or each.node == "c1"
    ]


@PLANTED.violation("last record is of epoch 2", "has epoch 1 there", on=mute)
def snapshot_of_another_epoch(story: Story) -> None:
    story.disks.snapshot("b2", 11, 2)


@PLANTED.violation("disk of b3 was cut back to 4", "snapshot", on=mute)
def log_cut_back_below_a_snapshot(story: Story) -> None:
    lose(story, 4, "b3")


@PLANTED.violation("disk of b1 has nothing at offset 11", "was shown offset 13", on=mute)
def broker_lacks_what_clients_were_shown(story: Story) -> None:
    lose(story, 11, "b1")


@PLANTED.violation("disk of c3 has epoch 1, CRC 66 at offset 11", on=mute)
def voter_has_something_else(story: Story) -> None:
    lose(story, 11, "c3")
    story.disks.write("c3", 1, crc=66)


def test_log_that_lost_what_nobody_was_shown_before_all_settled_is_not_accused() -> None:
    """A leader that was elected while the nodes were stopped may cut it off."""
    story = mute()
    for node in ("c1", "b1"):
        story.disks.write(node, 2, crc=99)
    for node in ("c2", "c3"):
        story.disks.lead(2, 3, node)
    assert judged(CommittedNeverLost(), story).verdict is Verdict.VALID


def test_snapshot_that_came_from_another_node_takes_the_place_of_all() -> None:
    story = mute()
    story.disks.snapshot("b3", 13, 2)
    story.disks.restart("b3")
    story.disks.begin("b3", 13, dropped=True)
    assert judged(CommittedNeverLost(), story).verdict is Verdict.VALID


def test_what_was_shown_after_all_settled_need_not_be_everywhere() -> None:
    story = mute()
    story.disks.fill(2, 1, "c1", "c2", "c3")
    story.op("describe", "t", result={"topic_id": "x"}, ext={"epoch": 2, "offset": 14})
    assert judged(CommittedNeverLost(), story).verdict is Verdict.VALID


def test_disks_that_were_not_collected_are_unknown() -> None:
    story = mute()
    story.disks.lost.add("c1")
    assert_unknown(CommittedNeverLost(), story, "still-there", "everywhere-in-the-end")
    story.disks.lost = {"b1"}
    assert_unknown(CommittedNeverLost(), story, "everywhere-in-the-end")


def test_events_that_are_left_out_are_unknown() -> None:
    for node in ("c1", "b3"):
        assert_unknown(CommittedNeverLost(), silent(whole(), node=node), "one-record")
    assert_unknown(CommittedNeverLost(), silent(whole(), "elected"), "leaders-have-all")
    quiet = silent(whole(), "hw")
    assert_unknown(CommittedNeverLost(), quiet, "one-record")
    quiet.disks.evidence = [each for each in quiet.disks.evidence if each.kind != "snapshot-file"]
    assert_unknown(CommittedNeverLost(), quiet, "one-record", "none-dropped", "still-there")


def test_no_election_is_no_occasion_where_disks_say_so() -> None:
    story = silent(clean(), "elected")
    story.disks.lead(1, 1, "c1", "c2", "c3")
    result = clause_of(judged(CommittedNeverLost(), story), "leaders-have-all")
    assert result.verdict is None and "one leader" in result.note


def test_clients_that_do_not_ask_give_no_occasion() -> None:
    story = mute()
    story.operations = []
    result = clause_of(judged(CommittedNeverLost(), story), "everywhere-in-the-end")
    assert result.verdict is None and "not shown" in result.note


def test_what_did_not_settle_is_no_occasion() -> None:
    story = mute()
    story.nemesis = []
    story.final(settled=False)
    result = judged(CommittedNeverLost(), story)
    assert clause_of(result, "everywhere-in-the-end").verdict is None
