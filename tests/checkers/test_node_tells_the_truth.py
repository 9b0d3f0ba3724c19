"""What nodes tell, held against their disks."""

from dataclasses import replace

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, silent
from judging import judged as engine_judged
from planted_disk_stories import DIGEST, DiskStory, clean, complete, running
from planted_runs import TOPIC, assert_invalid

from checkers.node_tells_the_truth import (
    Account,
    Disk,
    NodeTellsTheTruth,
    _account,
    _never_reported,
    _reported_snapshot,
    _snapshots,
)
from framework.checking.keyed import Outcome
from framework.evidence import kinds, partitions, processes, quorum
from framework.evidence.ids import LeaderEpoch, Offset
from framework.plugins.checker import Finding
from framework.verdict import Verdict
from tests.cases import cases


def judged(story: DiskStory) -> Outcome:
    outcome = NodeTellsTheTruth().check_run(story.run_events())
    assert isinstance(outcome, Outcome)
    return outcome


def assert_not_accused(outcome: Outcome) -> None:
    assert not outcome.findings, outcome.findings


# --- what looks alarming, and is right ----------------------------------------------------


def test_batch_that_a_killed_process_did_not_get_to_tell_of() -> None:
    story = running()
    story.write("c1", 3, 1, 13, 14)
    assert_not_accused(judged(story))


def test_batch_that_was_not_reported_of_before_a_restart() -> None:
    story = running()
    story.write("c1", 3, 1, 13)
    story.boot("c1", (1, 1, 1))
    story.append("c1", 4, 1, 14)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_batch_that_was_not_reported_of_and_was_cut_off_later() -> None:
    story = running()
    story.write("c1", 3, 1, 13)
    story.boot("c1", (1, 1, 1))
    story.truncate("c1", 3)
    story.append("c1", 3, 2, 23)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_half_a_batch_behind_the_last_of_a_killed_process() -> None:
    story = running()
    story.torn.add("c1")
    assert_not_accused(judged(story))


def test_process_that_gave_up_over_its_disk() -> None:
    story = running()
    story.write("c1", 3, 1, 13)
    story.torn.add("c1")
    story.exit("c1", "fatal: No space left on device")
    assert_not_accused(judged(story))


def test_log_that_a_new_leader_truncated() -> None:
    story = running()
    story.append("c1", 3, 1, 13, leader=True)
    story.append("c1", 4, 1, 14, leader=True)
    story.truncate("c1", 3)
    story.append("c1", 3, 2, 23)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_truncation_that_a_killed_process_did_not_get_to_tell_of() -> None:
    story = running()
    story.append("c1", 3, 1, 13, leader=True)
    story.cut("c1", 3)
    assert_not_accused(judged(story))


def test_truncation_that_was_not_reported_of_before_a_restart() -> None:
    story = running()
    story.append("c1", 3, 1, 13, leader=True)
    story.cut("c1", 3)
    story.boot("c1", (1, 1, 1))
    story.append("c1", 3, 2, 23)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_log_that_begins_behind_a_snapshot() -> None:
    story = running()
    story.begin("c1", 3)
    story.append("c1", 3, 1, 13)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_snapshot_whose_place_in_the_log_was_not_reported_of() -> None:
    story = running()
    story.put("c1", 1)
    assert_not_accused(judged(story))


def test_log_that_was_dropped_for_a_snapshot_of_another_node() -> None:
    story = running()
    story.append("c1", 3, 1, 13, leader=True)
    story.begin("c1", 9, fetched=True)
    story.append("c1", 9, 2, 29)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_log_that_was_dropped_when_the_process_was_killed_over_it() -> None:
    story = running()
    story.append("c1", 3, 1, 13, leader=True)
    story.put("c1", 9)
    assert_not_accused(judged(story))


def test_disk_that_was_wiped() -> None:
    story = running()
    story.logs["c1"] = []
    story.boot("c1", None)
    story.append("c1", 0, 1, 10)
    story.exit("c1")
    assert_not_accused(judged(story))


def restarted() -> DiskStory:
    """Its disk is known as the first process of c1 left it, and as it is at the end."""
    story = running()
    story.boot("c1", (1, 1, 1))
    return story


@pytest.mark.parametrize("end", [3, 1, 0])
def test_what_the_next_process_cut_off_is_looked_up_as_it_was_left(end: int) -> None:
    """Three records on each node, and one more on c1."""
    story = restarted()
    story.truncate("c1", end)
    story.append("c1", end, 2, 23)
    story.exit("c1")
    outcome = judged(story)
    assert_not_accused(outcome)
    assert outcome.figures["compared"] == 10


@pytest.mark.parametrize("start", [0, 1, 3, 9])
def test_what_a_snapshot_took_the_place_of_is_looked_up_as_it_was_left(start: int) -> None:
    story = restarted()
    if start:
        story.begin("c1", start, fetched=start == 9)
    story.append("c1", max(start, 3), 1, 13)
    story.exit("c1")
    outcome = judged(story)
    assert_not_accused(outcome)
    assert outcome.figures["compared"] == 10


def test_snapshot_and_last_batch_that_a_killed_process_did_not_get_to_tell_of() -> None:
    """The next one drops the batch, for a snapshot of another node."""
    story = running()
    story.write("c1", 3, 1, 13)
    story.put("c1", 1)
    story.boot("c1", (1, 1, 1))
    story.begin("c1", 9, fetched=True)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_batch_of_a_killed_process_behind_which_others_wrote_before_it_was_dropped() -> None:
    story = running()
    story.write("c1", 3, 1, 13)
    story.boot("c1", (1, 1, 1))
    story.append("c1", 4, 1, 14)
    story.boot("c1", (1, 1, 1))
    story.begin("c1", 9, fetched=True)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_snapshot_and_log_that_were_there_before_the_run() -> None:
    story = running()
    story.write("b1", 0, 1, 10)
    story.write("b1", 1, 1, 11)
    story.put("b1", 1)
    story.boot("b1")
    story.begin("b1", 9, fetched=True)
    story.exit("b1")
    assert_not_accused(judged(story))


def test_disk_that_was_wiped_with_its_snapshot() -> None:
    story = running()
    story.begin("c1", 3)
    story.logs["c1"], story.starts["c1"] = [], 0
    del story.snapshots["c1"]
    story.boot("c1", None)
    story.append("c1", 0, 1, 10)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_snapshots_that_newer_ones_took_the_place_of() -> None:
    story = running()
    story.begin("c1", 1)
    story.begin("c1", 3)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_snapshot_whose_digest_cannot_be_read() -> None:
    story = behind_a_snapshot()
    story.digest = None
    assert engine_judged(NodeTellsTheTruth(), story).verdict is Verdict.VALID


def test_nodes_that_are_to_tell_of_no_snapshot() -> None:
    story = clean()
    story.put("c1", 3)
    story.plan = {**story.plan, "capabilities": ["evidence:appended", "disk:snapshot-file"]}
    assert_not_accused(judged(story))


def test_nodes_that_are_to_tell_of_snapshots_and_do_not() -> None:
    story = clean()
    story.put("c1", 3)
    story.plan = {**story.plan, "capabilities": [*kinds.evidence_of(quorum.SnapshotWritten)]}
    assert_invalid(judged(story), "c1 has a snapshot", "never told")


def test_snapshot_that_a_node_wrote_itself() -> None:
    story = running()
    story.put("c1", 3)
    told = {"epoch": 1, "digest": DIGEST, "high_watermark": 3}
    story.event("c1", "snap_write", end_offset=3, **told)
    story.exit("c1")
    assert_not_accused(judged(story))
    assert not engine_judged(NodeTellsTheTruth(), story).findings


@pytest.mark.parametrize("keep", [True, False])
def test_snapshot_that_is_not_there_yet_of_a_process_that_goes_on(keep: bool) -> None:
    story = running()
    story.begin("c1", 3)
    story.event("c1", "snap_load", end_offset=9, epoch=1, digest=DIGEST, source="local")
    story.plan = {**story.plan, "options": {"keep": keep}}
    assert len(judged(story).findings) == (not keep)


def behind_a_snapshot(end: int = 12) -> DiskStory:
    """c2 fell behind, and has a snapshot of another node in place of almost all records."""
    story = complete()
    story.logs["c2"] = []
    story.events = [
        each for each in story.events if each.node != "c2" or each.type in ("boot", "exit")
    ]
    exits = [each for each in story.events if (each.node, each.type) == ("c2", "exit")]
    story.events = [each for each in story.events if each not in exits]
    story.begin("c2", end, fetched=True)
    story.append("c2", end, 1, 77)
    story.exit("c2")
    return story


@pytest.mark.parametrize(("end", "verdict"), [(10, Verdict.VALID), (9, Verdict.UNKNOWN)])
def test_snapshot_of_ten_records_is_as_good_as_they_are(end: int, verdict: Verdict) -> None:
    result = engine_judged(NodeTellsTheTruth(), behind_a_snapshot(end))
    assert result.verdict is verdict, result.findings
    for clause in ("reported-on-disk", "disk-reported"):
        assert clause_of(result, clause).verdict is verdict


def test_records_that_only_a_copy_of_a_disk_has_are_enough() -> None:
    """The disk was wiped after the process had been killed."""
    story = complete()
    story.boot("c1")
    story.logs["c1"] = []
    story.boot("c1", None)
    story.exit("c1")
    story.end_of("c1", -9)
    story.end_of("c1", 0)
    result = engine_judged(NodeTellsTheTruth(), story)
    assert clause_of(result, "disk-reported").verdict is Verdict.VALID, result.findings


def test_snapshot_that_a_killed_process_left_is_no_evidence_of_what_it_reported() -> None:
    """A node that tells nothing behind one, and of which nothing else is known."""
    story = behind_a_snapshot()
    story.logs["c2"] = []
    story.events = [
        each
        for each in story.events
        if each.node != "c2" or each.type not in ("snap_load", "append", "log_start", "exit")
    ]
    assert_unknown(NodeTellsTheTruth(), story, "reported-on-disk", "disk-reported")


def test_log_that_still_holds_what_is_below_its_beginning() -> None:
    """Files are deleted some time after their place was taken."""
    story = running()
    story.begin("c1", 9)
    story.event("c1", "log_start", offset=9, dropped=True)
    story.logs["c1"] = [[0, 1, [10]]]
    story.append("c1", 9, 2, 29)
    story.exit("c1")
    assert_not_accused(judged(story))


def test_damaged_log_of_a_process_that_goes_on() -> None:
    """It may be read while it is written."""
    story = clean()
    story.event("g301a", "boot", replica_id=301, broker_id=301, log_start=0, log_end=0)
    story.append("g301a", 0, 1, 10)
    story.wrong["g301a"] = ("0.log is damaged at byte 7",)
    assert_not_accused(judged(story))


def test_log_of_a_process_that_goes_on_is_read_before_it_is_cut_off_and_written_again() -> None:
    story = clean()
    story.event("g301a", "boot", replica_id=301, broker_id=301, log_start=0, log_end=0)
    story.append("g301a", 0, 1, 10)
    story.event("g301a", "truncate", end_offset=0)
    story.tell_append("g301a", 0, 2, 20)
    assert_not_accused(judged(story))


def test_half_a_batch_of_a_node_that_never_reported_of_any() -> None:
    story = clean()
    story.logs["b3"] = []
    story.torn.add("b3")
    assert_not_accused(judged(story))


def test_record_that_a_killed_process_reported_before_it_was_on_its_disk() -> None:
    """Nobody says that it is committed."""
    story = clean()
    story.boot("b1")
    story.tell_append("b1", 0, 1, 10)
    story.logs["b1"] = []
    assert_not_accused(judged(story))


def test_partitions_may_lie_where_no_metadata_log_does() -> None:
    story = clean()
    story.partitions.append(partition_log("b1"))
    assert_not_accused(judged(story))


def test_plan_that_names_no_nodes() -> None:
    story = complete()
    story.plan = {}
    outcome = judged(story)
    assert_not_accused(outcome)
    assert (outcome.clauses or {})["reported-on-disk"] == (6, 6)


@pytest.mark.parametrize(("records", "verdict"), [(10, Verdict.VALID), (9, Verdict.UNKNOWN)])
def test_ten_records_of_each_node_are_enough(records: int, verdict: Verdict) -> None:
    result = engine_judged(NodeTellsTheTruth(), complete(records))
    for clause in ("reported-on-disk", "disk-reported"):
        assert clause_of(result, clause).verdict is verdict


def test_log_that_was_there_before_the_run() -> None:
    story = running()
    story.write("b1", 0, 1, 10, 11)
    story.boot("b1")
    story.append("b1", 2, 1, 12)
    story.exit("b1")
    assert_not_accused(judged(story))


def test_process_of_a_workload_goes_on_while_its_disk_is_read() -> None:
    """Its events may be read before its log, or after."""
    for node, reported in (("g301a", True), ("g301b", False)):
        story = clean()
        story.event(node, "boot", replica_id=301, broker_id=301, log_start=0, log_end=0)
        story.append(node, 0, 1, 10)
        for offset in (1, 2, 3):
            if reported:
                story.tell_append(node, offset, 1, 10 + offset)
                story.hw(node, offset, 1)
            else:
                story.write(node, offset, 1, 10 + offset)
        assert_not_accused(judged(story))


def test_cluster_that_was_kept_goes_on_while_its_disks_are_read() -> None:
    story = running()
    story.plan["options"] = {"keep": True}
    story.tell_append("c1", 3, 1, 13)
    story.hw("c1", 4, 1)
    story.write("c2", 3, 1, 13)
    story.write("c2", 4, 1, 14)
    assert_not_accused(judged(story))


def test_nodes_that_tell_nothing_are_not_held_against_anything() -> None:
    story = complete()
    story.events = []
    story.ended = []
    assert_unknown(NodeTellsTheTruth(), story, "reported-on-disk", "answers-reported")


def test_disk_that_was_not_collected_is_unknown() -> None:
    story = complete()
    story.lost.add("c2")
    assert_unknown(NodeTellsTheTruth(), story, "reported-on-disk", "disk-reported", "whole-logs")


def test_hosts_that_do_not_tell_how_processes_end_give_no_occasion() -> None:
    story = complete()
    story.ended = []
    story.end_of("c1", None)
    result = clause_of(engine_judged(NodeTellsTheTruth(), story), "exit-reported")
    assert result.verdict is None and "hosts do not tell" in result.note


def test_node_of_which_no_exit_code_is_known_is_unknown() -> None:
    story = complete()
    story.ended = [each for each in story.ended if each.node != "b2"]
    assert_unknown(NodeTellsTheTruth(), story, "exit-reported")


def test_runs_without_events_are_judged_by_their_disks() -> None:
    story = silent(complete())
    story.plan = {**story.plan, "capabilities": ["disk:log-on-disk"]}
    result = engine_judged(NodeTellsTheTruth(), story)
    assert result.verdict is Verdict.VALID
    assert [each.name for each in result.clauses if each.verdict is not None] == ["whole-logs"]
    story.wrong["b1"] = ("0.log is damaged at byte 7",)
    assert engine_judged(NodeTellsTheTruth(), story).verdict is Verdict.INVALID


def test_killed_process_need_not_have_reported_of_anything() -> None:
    story = complete()
    story.end_of("c1", -9)
    assert_not_accused(judged(story))


@pytest.mark.parametrize("code", [-9, 1, None])
def test_few_answers_may_be_lost_with_each_process_that_was_killed_or_gave_up(
    code: int | None,
) -> None:
    story = complete()
    for may in (9, 12):
        story.end_of("b1", code)
        while sum(each.node == "b1" for each in story.operations) < may:
            story.op("create", "t", node="b1")
        assert not silences(story)
        story.op("create", "t", node="b1")
        (found,) = silences(story)
        assert f"had {may + 1} answers to create by b1, and it told of 6" in found.message
        story.operations.pop()


def test_few_answers_may_be_lost_with_a_process_of_which_the_harness_does_not_know() -> None:
    story = complete()
    story.event("g301a", "boot", replica_id=301, broker_id=301, log_start=0, log_end=0)
    for _ in range(3):
        story.op("create", "t", node="g301a")
    assert not silences(story)
    story.exit("g301a")
    (found,) = silences(story)
    assert "3 answers to create by g301a" in found.message


def silences(story: DiskStory) -> list[Finding]:
    return [each for each in judged(story).findings if each.clause == "answers-reported"]


def test_few_answers_by_a_node_that_tells_nothing() -> None:
    """It may be one that a workload started and killed."""
    story = complete()
    for _ in range(3):
        story.op("create", "t", node="g301")
    assert_not_accused(judged(story))
    story.op("create", "t", node="g301")
    (found,) = judged(story).findings
    assert len(found.operations) == 4


def test_refusals_and_answers_of_nobody_are_not_counted() -> None:
    story = complete()
    for _ in range(9):
        story.op("create", "t", node="b1", type="fail", error="X")
        lost = story.op("create", "t", node="b2")
        story.operations[-1] = replace(lost, node=None)
    assert_not_accused(judged(story))


@pytest.mark.parametrize("answers", [0, 1, 2])
def test_where_clients_had_no_answers_there_are_none_to_tell_of(answers: int) -> None:
    story = silent(complete(), "serve")
    asked = [story.op("create", "t", node="b1") for _ in range(answers)]
    story.op("create", "t", node="b1", type="fail", error="X")
    story.operations = [*asked, story.operations[-1]]
    result = clause_of(engine_judged(NodeTellsTheTruth(), story), "answers-reported")
    assert result.verdict is (Verdict.UNKNOWN if answers == 2 else None), result.note


def test_node_whose_events_could_not_be_copied_is_not_missed() -> None:
    story = silent_about(complete(), "b1")
    story.serve("b2", "CreateTopics")  # so that somebody tells of answers
    story.plan = {**story.plan, "uncollected": {"b1": "no space left"}}
    story.lost.add("b1")
    assert_not_accused(judged(story))


def silent_about(story: DiskStory, node: str) -> DiskStory:
    story.events = [each for each in story.events if each.node != node]
    return story


# --- violations ---------------------------------------------------------------------------

PLANTED = Plants(complete)


@PLANTED.violation("c1 told", "CRC 13 at offset 3", "ends at 3", on=running)
def record_that_was_reported_and_is_not_there(story: DiskStory) -> None:
    story.tell_append("c1", 3, 1, 13)
    story.exit("c1")


@PLANTED.violation("c1 told", "CRC 13 at offset 3", "ends at 3", on=running)
def committed_record_that_a_killed_process_reported_and_is_not_there(story: DiskStory) -> None:
    story.tell_append("c1", 3, 1, 13)
    story.hw("c1", 4, 1)


@PLANTED.violation("c1 told", "CRC 11 at offset 1", "is epoch 1, CRC 99", on=clean)
def other_record_than_was_reported(story: DiskStory) -> None:
    story.logs["c1"][1][2][0] = 99


@PLANTED.violation("c1 told", "epoch 1, CRC 10 at offset 0", "is epoch 2, CRC 10", on=clean)
def other_epoch_than_was_reported(story: DiskStory) -> None:
    story.logs["c1"][0][1] = 2


@PLANTED.violation("c1", "CRC 13 at offset 3", "never told", on=clean)
def record_that_was_never_reported(story: DiskStory) -> None:
    story.write("c1", 3, 1, 13)


@PLANTED.violation("c1", "CRC 13 at offset 3", "never told", on=running)
def record_that_was_never_reported_though_the_process_ended_in_good_order(story: DiskStory) -> None:
    story.write("c1", 3, 1, 13)
    story.exit("c1")
    story.boot("c1", (1, 1, 1))
    story.exit("c1")


@PLANTED.violation("b1", "at offset 2", "never told", on=clean)
def record_behind_a_log_that_was_there_before(story: DiskStory) -> None:
    story.write("b1", 0, 1, 10, 11)
    story.boot("b1")
    story.write("b1", 2, 1, 12)
    story.exit("b1")


@PLANTED.violation("b1", "at offset 0", "never told", on=clean)
def record_of_a_process_that_did_not_tell_how_it_began(story: DiskStory) -> None:
    story.write("b1", 0, 1, 10)
    story.write("b1", 1, 1, 11)
    story.tell_append("b1", 1, 1, 11)


@PLANTED.violation("c1 told", "epoch 2, CRC 23 at offset 3", "is epoch 1, CRC 13", on=running)
def what_was_cut_off_is_back_in_place_of_what_was_written_then(story: DiskStory) -> None:
    story.append("c1", 3, 1, 13)
    story.event("c1", "truncate", end_offset=3)
    story.tell_append("c1", 3, 2, 23)
    story.exit("c1")


@PLANTED.violation("c1 told", "CRC 12 at offset 2", "ends at 0", on=running)
def log_that_is_gone_but_for_a_snapshot(story: DiskStory) -> None:
    story.logs["c1"] = []
    story.snapshots["c1"] = 2
    story.exit("c1")


@PLANTED.violation("c1", "CRC 14 at offset 4", "never told", on=running)
def two_batches_that_a_killed_process_never_reported(story: DiskStory) -> None:
    story.write("c1", 3, 1, 13)
    story.write("c1", 4, 1, 14)


@PLANTED.violation("c1", "CRC 13 at offset 3", "never told", on=running)
def two_batches_that_were_never_reported_before_a_restart(story: DiskStory) -> None:
    story.write("c1", 3, 1, 13)
    story.write("c1", 4, 1, 14)
    story.boot("c1", (1, 1, 1))
    story.exit("c1")


@PLANTED.violation("b2", "at offset 0", "never told", on=clean)
def node_that_never_reported_anything(story: DiskStory) -> None:
    story.write("b2", 0, 1, 10)


@PLANTED.violation("c1 told that it cut its log back to 3", "at offset 3", on=running)
def truncation_that_was_reported_and_not_done(story: DiskStory) -> None:
    story.append("c1", 3, 1, 13)
    story.event("c1", "truncate", end_offset=3)
    story.exit("c1")


@PLANTED.violation("c1 begins at 3", "no snapshot reaches", on=clean)
def log_that_begins_where_no_snapshot_reaches(story: DiskStory) -> None:
    story.put("c1", 3)
    story.snapshots["c1"] = 2
    story.event("c1", "snap_load", end_offset=2, epoch=1, digest=DIGEST, source="local")


@PLANTED.violation("c2 has a snapshot", "below 12", "never told", on=behind_a_snapshot)
def node_that_is_silent_behind_a_snapshot(story: DiskStory) -> None:
    silent(story, node="c2")


@PLANTED.violation("c2 has a snapshot", "below 12", "never told", on=behind_a_snapshot)
def snapshot_of_which_a_node_does_not_tell(story: DiskStory) -> None:
    story.events = [each for each in story.events if each.type != "snap_load"]


@PLANTED.violation("c2 has epoch 1, CRC 77 at offset 12", "never told", on=behind_a_snapshot)
def record_behind_a_snapshot_of_which_a_node_does_not_tell(story: DiskStory) -> None:
    story.events = [each for each in story.events if each.fields.get("crcs") != [77]]


@PLANTED.violation("c2 told of a snapshot", "below 12", "another one", on=behind_a_snapshot)
def snapshot_of_another_image_than_was_reported(story: DiskStory) -> None:
    story.digest = "e"


@PLANTED.violation("c2 told of a snapshot", "of epoch 2", "of epoch 1", on=behind_a_snapshot)
def snapshot_of_another_epoch_than_was_reported(story: DiskStory) -> None:
    loaded = next(each for each in story.events if each.type == "snap_load")
    loaded.fields["epoch"] = 2


@PLANTED.violation("c1 told of a snapshot", "below 9", "ends at 3", on=running)
def snapshot_that_was_reported_and_is_not_there(story: DiskStory) -> None:
    story.begin("c1", 3)
    story.event("c1", "snap_load", end_offset=9, epoch=1, digest=DIGEST, source="local")


@PLANTED.violation("c1 had epoch 1, CRC 13 at offset 3", "never told", on=running)
def records_of_a_killed_process_that_only_a_copy_of_its_disk_has(story: DiskStory) -> None:
    story.write("c1", 3, 1, 13)
    story.write("c1", 4, 1, 14)
    story.boot("c1", (1, 1, 1))
    story.begin("c1", 9, fetched=True)
    story.exit("c1")


@PLANTED.violation("c1", "damaged at byte 7", on=clean)
def damaged_log(story: DiskStory) -> None:
    story.wrong["c1"] = ("0.log is damaged at byte 7",)


@PLANTED.violation("c1 ends with half a batch", on=clean)
def half_a_batch_though_the_process_ended_in_good_order(story: DiskStory) -> None:
    story.torn.add("c1")


@PLANTED.violation("g301a", "CRC 99 at offset 0", "CRC 10", on=clean)
def extra_broker_that_reports_another_record(story: DiskStory) -> None:
    story.event("g301a", "boot", replica_id=301, broker_id=301, log_start=0, log_end=0)
    story.tell_append("g301a", 0, 1, 99)
    story.write("g301a", 0, 1, 10)


@PLANTED.violation("2 processes of b1 ended of their own, and 1 told")
def process_that_reported_nothing_of_itself(story: DiskStory) -> None:
    story.end_of("b1", 0)


@PLANTED.violation("2 processes of c2 ended of their own")
def process_that_failed_and_reported_nothing(story: DiskStory) -> None:
    story.end_of("c2", 1)


@PLANTED.violation("7 answers to create by b1, and it told of 6")
def answer_of_which_a_node_does_not_tell(story: DiskStory) -> None:
    story.op("create", "t", node="b1")


@PLANTED.violation("7 answers to create by b1, and it told of 6")
def dry_run_of_which_a_node_does_not_tell(story: DiskStory) -> None:
    story.op("dry-create", "t", {}, {"exists": False}, node="b1")


@PLANTED.violation("1 answers to create by b2, and it told of 0")
def node_that_tells_of_no_answer(story: DiskStory) -> None:
    story.op("create", "t", node="b2")


@PLANTED.violation("10 answers to produce by b1, and it told of 0")
def broker_that_goes_on_after_its_lease_and_does_not_tell(story: DiskStory) -> None:
    story.lease("b1", 1_000)
    story.wait(3_000)
    for _ in range(10):
        story.op("produce", "t/0", {"value": 1, "acks": "all"}, {"offset": 1}, node="b1")


@PLANTED.violation("2 answers to metadata by b1, and it told of 1")
def answer_to_an_observer_of_which_a_node_does_not_tell(story: DiskStory) -> None:
    story.serve("b1", "Metadata")
    story.op("metadata", "t", node="b1")
    story.ask("b1", "describe-topics", {"brokers": [], "topics": []})


@PLANTED.violation("2 answers to list-offsets by b1, and it told of 1")
def ends_that_an_observer_was_shown_and_a_node_does_not_report(story: DiskStory) -> None:
    story.serve("b1", "ListOffsets", topic="t")
    story.op("list-offsets", "t/0", {"at": "latest"}, {"offset": 1}, node="b1")
    story.ask("b1", "log-ends", {"ends": [{"key": "t/0", "offset": 1}]})


@PLANTED.violation("1 answers to produce by b1, and it told of 0")
def refusal_that_is_reported_in_place_of_an_answer(story: DiskStory) -> None:
    story.serve("b1", "Produce", code=6, topic="t")
    story.op("produce", "t/0", {"value": 1, "acks": "all"}, {"offset": 1}, node="b1")


@PLANTED.violation("1 answers to fetch by b1, and it told of 0")
def fetch_of_a_replica_that_is_reported_in_place_of_a_clients(story: DiskStory) -> None:
    story.serve("b1", "Fetch", topic_id=TOPIC, replica_id=5)
    story.op("fetch", "t/0", {"from": 0}, {"records": []}, node="b1")


@PLANTED.violation("the log of t1/3 of b1: nothing from 4 to 5")
def partition_log_with_a_gap(story: DiskStory) -> None:
    story.partitions.append(partition_log("b1", "nothing from 4 to 5"))


def partition_log(node: str, *wrong: str) -> partitions.PartitionLogOnDisk:
    return partitions.PartitionLogOnDisk(
        node=node,
        source="disk",
        topic_id="t1",
        partition=3,
        start_offset=Offset(0),
        end_offset=Offset(4),
        torn=False,
        wrong=wrong,
        epochs=None,
    )


def test_first_damage_is_reported_and_how_much_more_there_is() -> None:
    story = complete()
    story.partitions.append(partition_log("b1", "nothing from 4 to 5", "nothing from 7 to 9"))
    (found,) = judged(story).findings
    assert found.message == "the log of t1/3 of b1: nothing from 4 to 5 (and 1 more)"
    story.wrong["b1"] = ("0.log is damaged at byte 7",)
    (found,) = judged(story).findings
    assert found.message == "the metadata log of b1: 0.log is damaged at byte 7"


APIS = {
    "create": "CreateTopics",
    "delete": "DeleteTopics",
    "metadata": "Metadata",
    "describe-configs": "DescribeConfigs",
    "produce": "Produce",
    "fetch": "Fetch",
    "list-offsets": "ListOffsets",
}


@pytest.mark.parametrize("f", sorted(APIS))
def test_all_kinds_of_answers_are_counted(f: str) -> None:
    """A node may tell of other kinds alone."""
    story = complete()
    for _ in range(40):
        story.op(f, "t", {}, {}, node="b2")
        story.serve("b2", APIS[f], topic="t")
    assert_not_accused(judged(story))
    story.events.pop()
    assert_invalid(judged(story), f"40 answers to {f} by b2, and it told of 39")


@pytest.mark.parametrize("f", ["metadata", "describe-configs"])
def test_that_there_is_no_such_topic_is_an_answer(f: str) -> None:
    story = complete()
    story.serve("b1", APIS[f], code=3)
    story.op(f, "t", {}, None, node="b1")
    assert_not_accused(judged(story))


def test_dry_run_of_what_there_is_was_refused() -> None:
    story = complete()
    story.op("dry-create", "t", {}, {"exists": True}, node="b1")
    assert_not_accused(judged(story))


def test_an_answer_to_a_dry_run_that_says_nothing_more_is_one() -> None:
    story = complete()
    story.op("dry-create", "t", {}, None, node="b1")
    assert_invalid(judged(story), "answers to create by b1")
    story.serve("b1", "CreateTopics", topic="t")
    assert_not_accused(judged(story))


def test_observer_that_was_shown_no_end_may_have_been_refused() -> None:
    story = complete()
    story.serve("b1", "ListOffsets", code=6, topic="t")
    story.ask("b1", "log-ends", {"ends": []})
    story.ask("b1", "describe-cluster", {"brokers": []})
    story.ask("b1", "describe-topics", type="fail", error="CLIENT_TIMED_OUT")
    assert_not_accused(judged(story))


@pytest.mark.parametrize(("named", "counts"), [("t", True), (None, False)])
def test_fetch_of_an_older_node_is_a_clients_where_it_names_its_topic(
    named: str | None, counts: bool
) -> None:
    """Which broker asked, if one did, it does not say."""
    story = complete()
    event = story.serve("b1", "Fetch", topic=named, topic_id=None if named else TOPIC)
    fields = {name: each for name, each in event.fields.items() if name != "replica_id"}
    story.events[story.events.index(event)] = replace(event, fields=fields)
    story.op("fetch", "t/0", {"from": 0}, {"records": []}, node="b1")
    assert bool(silences(story)) is not counts


def test_produce_of_an_older_node_need_not_name_its_topic() -> None:
    story = complete()
    story.serve("b1", "Produce")
    story.op("produce", "t/0", {"value": 1, "acks": "all"}, {"offset": 1}, node="b1")
    assert_not_accused(judged(story))


def test_damaged_log_tells_nothing_of_its_end() -> None:
    story = clean()
    story.logs["c1"].pop()
    story.wrong["c1"] = ("0.log is damaged at byte 7",)
    (found,) = judged(story).findings
    assert "damaged at byte 7" in found.message


def test_record_that_is_another_is_reported_of_once() -> None:
    story = clean()
    story.logs["c1"][1][2][0] = 99
    (found,) = judged(story).findings
    assert len(found.events) == 2


def test_one_finding_of_a_kind_and_node() -> None:
    story = clean()
    for offset in (3, 4, 5):
        story.write("c1", offset, 1, offset)
        story.write("c2", offset, 1, offset)
    outcome = judged(story)
    assert_invalid(outcome, "c1")
    assert len(outcome.findings) == 2


# --- against brute force ------------------------------------------------------------------


@settings(max_examples=cases(300), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["append", "truncate", "kill in append", "kill in truncate", "exit"]),
            st.integers(0, 3),
            st.integers(1, 2),
        ),
        max_size=10,
    ),
    st.sampled_from(["", "drop", "change", "add", "hide"]),
    st.data(),
)
def test_honest_nodes_are_valid_and_liars_are_not(
    steps: list[tuple[str, int, int]], lie: str, data: st.DataObject
) -> None:
    """A node does this with its log, and is killed in the midst of it, or not; then its disk
    is changed behind its back."""
    story = DiskStory()
    story.boot("c1")
    story.append("c1", 0, 1, 1)
    crc = 1
    for what, number, count in steps:
        end = story.end("c1")
        crcs = range(crc + 1, crc + 1 + count)
        crc += count
        if what == "append":
            story.append("c1", end, 1, *crcs)
        elif what == "truncate":
            bases = [each[0] for each in story.logs["c1"][1:]]
            if bases:
                story.truncate("c1", bases[number % len(bases)])
        elif what == "kill in append":
            story.write("c1", end, 1, *crcs)
            story.boot("c1", (1, 1, 1))
        elif what == "kill in truncate":
            bases = [each[0] for each in story.logs["c1"][1:]]
            if bases:
                story.cut("c1", bases[number % len(bases)])
            story.boot("c1", (1, 1, 1))
        else:
            story.exit("c1")
            story.boot("c1", (1, 1, 1))
    story.append("c1", story.end("c1"), 1, 1000)
    story.exit("c1")
    reported = {tuple(crcs) for crcs in _reported(story)}
    log = story.logs["c1"]
    if lie == "drop":
        log.pop()
    elif lie == "change":
        known = [each for each in log if tuple(each[2]) in reported]
        data.draw(st.sampled_from(known))[2][0] = 5000
    elif lie == "add":
        story.write("c1", story.end("c1"), 1, 5000)
    elif lie == "hide":  # an event, of the last append
        story.events = [each for each in story.events if each.fields.get("crcs") != [1000]]
    outcome = judged(story)
    assert bool(outcome.findings) == bool(lie), outcome.findings


def _reported(story: DiskStory) -> list[list[int]]:
    return [each.fields["crcs"] for each in story.events if each.type == "append"]


# --- parts --------------------------------------------------------------------------------


def batch(base: int, *crcs: int) -> quorum.Appended:
    return quorum.Appended(
        node="c1",
        base_offset=Offset(base),
        end_offset=Offset(base + len(crcs)),
        epoch=LeaderEpoch(1),
        control=False,
        crcs=crcs,
        leading=None,
    )


BATCHES = (batch(0, 10, 11), batch(2, 12, 13), batch(4, 14))


@pytest.mark.parametrize(
    ("what", "stays"),
    [
        (quorum.LogBegan(node="c1", offset=Offset(2), dropped=True), []),
        (quorum.LogBegan(node="c1", offset=Offset(2), dropped=False), [2, 4]),
        (quorum.Truncated(node="c1", end_offset=Offset(2)), [0]),
    ],
)
def test_what_a_later_process_dropped_is_kept_apart(what: kinds.Evidence, stays: list[int]) -> None:
    disk = Disk()
    for each in (*BATCHES, what):
        disk.feed(each)
    assert [each.base_offset for each in disk.batches] == stays
    assert [each.base_offset for each in disk.gone] == [
        each.base_offset for each in BATCHES if each.base_offset not in stays
    ]
    assert disk.lasts == [BATCHES[-1]]


def gone(*batches: quorum.Appended, **known: object) -> list[str]:
    disk = Disk(gone=list(batches), lasts=[BATCHES[-1]])
    account = replace(Account(found=0, in_order=True, running=False), **known)  # type: ignore[arg-type]
    return [each.message for each in _never_reported("c1", disk, account)]


def test_of_what_was_dropped_each_record_had_to_be_reported_but_a_last_one() -> None:
    first, second, last = BATCHES
    accused = gone(last, first, second)
    assert len(accused) == 4
    for offset, message in enumerate(accused):
        assert f"CRC {offset + 10} at offset {offset} " in message
    assert gone(second, unreported_ends={4}) == []
    assert len(gone(second, first, unreported_ends={4})) == 2
    assert len(gone(first, second, found=1)) == 3
    assert len(gone(first, second, found=3)) == 1
    reported = {0: {(1, 10): first}, 2: {(1, 13): second}}
    assert len(gone(first, second, appends=reported)) == 3


def test_a_wiped_disk_has_no_snapshot_of_before_and_another_has() -> None:
    written = quorum.SnapshotWritten(
        node="c1",
        end_offset=Offset(3),
        epoch=LeaderEpoch(1),
        digest=DIGEST,
        bytes=1,
        records=1,
        high_watermark=Offset(3),
    )
    for end, known in ((0, []), (5, [3])):
        booted = processes.Booted(node="c1", log_end=Offset(end))
        account = _account(
            [[processes.Booted(node="c1", log_end=Offset(0)), written], [booted]], False
        )
        assert list(account.snapshots) == known


def snapshot_file(end: int) -> quorum.SnapshotFile:
    return quorum.SnapshotFile(
        node="c1", end_offset=Offset(end), epoch=LeaderEpoch(1), records=1, wrong=()
    )


@pytest.mark.parametrize(("ends", "newest"), [((), 0), ((3, 12), 12), ((12, 3), 12)])
def test_of_several_snapshots_on_a_disk_the_newest_counts(
    ends: tuple[int, ...], newest: int
) -> None:
    disk = Disk(snapshots=[snapshot_file(end) for end in ends])
    assert disk.snapshot_end == newest
    account = Account(found=0, in_order=True, running=False)
    assert _reported_snapshot(disk, account) == 0, "the node told of none"
    for end in ends:
        account.snapshots[end] = quorum.SnapshotLoaded(
            node="c1", end_offset=Offset(end), epoch=LeaderEpoch(1), digest=DIGEST, fetched=False
        )
    assert _reported_snapshot(disk, account) == newest


def test_a_snapshot_from_before_the_run_need_not_be_reported() -> None:
    def accused(found: int) -> int:
        account = Account(found=found, in_order=True, running=False)
        return len(list(_snapshots("c1", Disk(snapshots=[snapshot_file(3)]), account)))

    assert [accused(found) for found in (2, 3, 4)] == [1, 0, 0]
