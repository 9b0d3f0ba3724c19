"""Committed records are never lost (D.6)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from contract import Plants
from judging import assert_unknown, clause_of, judged, silent
from planted_disks import Disks
from planted_replicas import behind, clean, settled, whole
from planted_runs import Story, assert_invalid

from checkers.committed_never_lost import CommittedNeverLost, committed_never_lost
from framework.checking.keyed import Outcome
from framework.evidence.quorum import Appended, SnapshotFile
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
    assert held == ["one-record", "none-dropped", "still-there", "everywhere-in-the-end"]


def lose(story: Story, end: int, *nodes: str) -> None:
    for node in nodes:
        story.disks.restart(node)
        story.disks.cut(node, end)


@PLANTED.violation("told that epoch 2, CRC 112", "offset 12", "nothing")
def reported_record_that_no_later_leader_has(story: Story) -> None:
    """Both disks of a majority were cut back."""
    lose(story, 12, "c1", "c2", "c3")


@PLANTED.violation("told that epoch 2, CRC 112", "all who could lead have epoch 3, CRC 7 there")
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


@PLANTED.violation("disk of b1 has nothing at offset 11", "was shown offset 13", on=mute)
def broker_lacks_what_a_follower_of_the_log_was_shown(story: Story) -> None:
    story.operations = [
        replace(each, f="follow") if each.f == "describe" else each for each in story.operations
    ]
    lose(story, 11, "b1")


@PLANTED.violation("disk of c3 has epoch 1, CRC 66 at offset 11", on=mute)
def voter_has_something_else(story: Story) -> None:
    lose(story, 11, "c3")
    story.disks.write("c3", 1, crc=66)


@pytest.mark.parametrize("rewritten", [True, False])
def test_what_a_disk_has_instead_is_shown(rewritten: bool) -> None:
    """The batch that lies there; where none does, the log that was found."""
    story = mute()
    lose(story, 11, "c3")
    if rewritten:
        story.disks.write("c3", 1, crc=66)
    (found,) = judged(CommittedNeverLost(), story).findings
    (event,) = found.events
    assert event["type"] == ("appended" if rewritten else "log-on-disk")
    assert event.get("crcs") == ([66] if rewritten else None)


def rewritten_and_more(story: Story) -> None:
    """It stands before others, of which one was cut off again."""
    story.disks.write("b1", 1, crc=66)
    story.disks.write("b1", 1, crc=67)
    story.disks.write("b1", 1, crc=68)
    story.disks.cut("b1", 13)


def dropped_for_nothing(story: Story) -> None:
    """What lay there before the log began anew is there no more."""
    story.disks.begin("b1", 5, dropped=True)


def begun_later(story: Story) -> None:
    """Where a snapshot took the place of what is below, the rest lies where it did."""
    story.disks.write("b1", 1, crc=66)
    story.disks.begin("b1", 5)


def never_written(story: Story) -> None:
    """The log ends before it, and was not cut off."""
    story.disks.evidence = [
        each
        for each in story.disks.evidence
        if each.node != "b1" or (isinstance(each, Appended) and each.end_offset <= 11)
    ]


@pytest.mark.parametrize(
    ("left", "shown"),
    [
        (rewritten_and_more, [66]),
        (dropped_for_nothing, None),
        (begun_later, [66]),
        (never_written, None),
    ],
)
def test_which_batch_of_a_disk_is_shown(
    left: Callable[[Story], None], shown: Sequence[int] | None
) -> None:
    """That which lies at the offset in the end."""
    story = mute()
    lose(story, 11, "b1")
    left(story)
    found = judged(CHECKER, story).findings
    (found,) = (each for each in found if "disk of b1 has" in each.message)
    assert [each.get("crcs") for each in found.events] == [shown]


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
    story.op("describe", "t")
    story.op("describe", "t", ext={"offset": 0})
    result = clause_of(judged(CommittedNeverLost(), story), "everywhere-in-the-end")
    assert result.verdict is None and "nobody was shown" in result.note


def test_what_did_not_settle_is_no_occasion() -> None:
    story = mute()
    story.nemesis = []
    story.final(settled=False)
    result = judged(CommittedNeverLost(), story)
    assert clause_of(result, "everywhere-in-the-end").verdict is None


# --- by what was shown --------------------------------------------------------------------


def quorum(high_watermark: int, epoch: int = 2) -> dict[str, object]:
    """What an observer is told of it."""
    return {"leader": 2, "leader_epoch": epoch, "high_watermark": high_watermark, "voters": []}


def lost_by_all(story: Story) -> None:
    lose(story, 12, "c1", "c2", "c3", "b1", "b2", "b3")


@PLANTED.violation(
    "operation 0 was shown offset 13 in epoch 2",
    "has nothing at offset 12, and ends at 12",
    on=mute,
)
def record_that_clients_were_shown_is_on_no_disk(story: Story) -> None:
    lost_by_all(story)


@PLANTED.violation("disk of b3 has nothing at offset 12, where nothing is", on=mute)
def record_that_clients_were_shown_before_all_settled_is_on_no_disk(story: Story) -> None:
    lost_by_all(story)


@PLANTED.violation("was shown offset 14", "has nothing at offset 13, and ends at 13", on=mute)
def record_that_an_observer_was_shown_is_on_no_disk(story: Story) -> None:
    story.ask("c1", "describe-quorum", quorum(14))


@PLANTED.violation("was shown offset 14", "has nothing at offset 13, and ends at 13", on=mute)
def record_that_a_client_was_told_of_who_asked_who_votes_is_on_no_disk(story: Story) -> None:
    told = {"log_end": 14, "voters": [], "observers": []}
    story.op("describe-voters", None, None, {**quorum(14), **told}, node="c1")


@PLANTED.violation("was shown offset 13", "has epoch 3 at offset 12", on=mute)
def record_of_another_epoch_than_clients_were_shown(story: Story) -> None:
    lost_by_all(story)
    for node in ("c1", "c2", "c3", "b1", "b2", "b3"):
        story.disks.write(node, 3, crc=7)


def test_what_was_shown_after_all_settled_is_committed_too() -> None:
    story = mute()
    shown_at(story, 14)
    (found,) = judged(CHECKER, story).findings
    assert found.clause == "still-there" and set(found.contracts) == {"clients", "disks"}


def test_of_what_was_shown_and_is_lost_the_first_is_a_finding() -> None:
    story = mute()
    shown_at(story, 15)
    shown_at(story, 14)
    (found,) = judged(CHECKER, story).findings
    assert "was shown offset 15" in found.message


def test_what_is_shown_of_a_log_whose_beginning_is_in_snapshots_is_there() -> None:
    story = mute()
    for node in ("c1", "c2", "c3"):
        story.disks.snapshot(node, 13, 2)
        story.disks.restart(node)
        story.disks.begin(node, 13, dropped=True)
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.VALID, result.findings


def test_disk_that_ends_where_the_voters_have_snapshots_alone() -> None:
    story = mute()
    for node in ("c1", "c2", "c3"):
        story.disks.snapshot(node, 13, 2)
        story.disks.restart(node)
        story.disks.begin(node, 13, dropped=True)
    lose(story, 11, "b1")
    (found,) = judged(CHECKER, story).findings
    assert "disk of b1 has nothing at offset 11" in found.message


def test_an_observer_is_a_witness_of_what_all_had() -> None:
    story = mute()
    story.operations, story.nemesis = [], []
    story.ask("b2", "describe-node", quorum(13))
    story.final()
    assert compared(story)[4] == (6, 6)
    lose(story, 11, "b1")
    (found,) = judged(CHECKER, story).findings
    assert "disk of b1 has nothing at offset 11" in found.message
    assert set(found.contracts) == {"ledger", "disks"}


@PLANTED.violation(
    "no log has both these ends", "was shown offset 13 in epoch 2", "shown offset 14", on=mute
)
def client_is_shown_a_later_end_of_an_earlier_epoch(story: Story) -> None:
    shown_at(story, 14, epoch=1)


def test_ends_are_counted_whether_they_fit_or_not() -> None:
    """Of six snapshots and two reads each but one stands beside another."""
    for epoch in (1, 2):
        story = mute()
        shown_at(story, 14, epoch=epoch)
        assert compared(story)[0] == (7, 2)


@PLANTED.violation(
    "no log has both these ends", "shown offset 13 in epoch 2", "offset 13 in epoch 3", on=mute
)
def clients_are_shown_two_ends_at_one_offset(story: Story) -> None:
    shown_at(story, 13, epoch=3)


@PLANTED.violation(
    "no log has both these ends", "b1 has a snapshot up to 13, of epoch 1", "epoch 2", on=mute
)
def snapshot_ends_in_another_epoch_than_clients_were_shown(story: Story) -> None:
    story.disks.snapshot("b1", 13, 1)


def test_ends_that_no_log_has_are_shown_with_the_snapshot() -> None:
    story = mute()
    story.disks.snapshot("b1", 13, 1)
    found = judged(CHECKER, story).findings
    (found,) = (each for each in found if each.clause == "one-record")
    assert [each["type"] for each in found.events] == ["snapshot-file"]
    assert len(found.operations) == 1


def test_observers_are_not_shown_of_which_epoch_the_last_record_is() -> None:
    """A leader may tell the watermark that it knew as a follower."""
    story = mute()
    story.ask("c3", "describe-quorum", quorum(12, epoch=3))
    assert_not_accused(committed_never_lost(story.run_events()))


def led(story: Story, *nodes: str) -> None:
    """c3 leads in epoch 3, and writes on these disks."""
    story.disks.lead(3, 3, *nodes)


@PLANTED.violation(
    "by the disk of c3, the leader of epoch 3 wrote at offset 12", "shown offset 13", on=mute
)
def leader_by_disks_lacks_what_clients_were_shown(story: Story) -> None:
    lose(story, 12, "c3")
    led(story, "c3")


@PLANTED.violation(
    "by the disk of b1, the leader of epoch 3 wrote at offset 12", "shown offset 13", on=mute
)
def leader_lacked_it_by_a_log_that_was_cut_off_again(story: Story) -> None:
    story.ask("c2", "describe-quorum", quorum(13))
    lose(story, 12, "b1")
    led(story, "b1")
    lose(story, 12, "b1")
    story.disks.write("b1", 2, "LeaderChange", crc=112, leader_id=2)


@PLANTED.violation(
    "by the disk of c3, the leader of epoch 3 had a record of epoch 1 at offset 12", on=mute
)
def leader_by_disks_has_another_record_there(story: Story) -> None:
    lose(story, 12, "c3")
    story.disks.write("c3", 1, crc=66)
    led(story, "c3")


@PLANTED.violation(
    "by the disk of c3, the leader of epoch 3 had a record of epoch 1 at offset 12", on=mute
)
def leader_by_disks_has_another_record_below_an_end_of_no_known_epoch(story: Story) -> None:
    """An observer was shown more, and not of which epoch the last of it is."""
    story.ask("c2", "describe-quorum", quorum(14))
    lose(story, 12, "c3")
    story.disks.write("c3", 1, crc=66)
    story.disks.write("c3", 1, crc=67)
    led(story, "c3")


@PLANTED.violation(
    "by the disk of c3, the leader of epoch 3 wrote at offset 12", "shown offset 13", on=mute
)
def leader_by_disks_lacks_the_last_of_what_clients_were_shown(story: Story) -> None:
    story.operations = []
    shown_at(story, 5, epoch=1)
    shown_at(story, 13, epoch=2)
    lose(story, 12, "c3")
    led(story, "c3")


def test_leader_whose_log_begins_with_a_snapshot_is_right() -> None:
    """What it holds of the record before nobody knows."""
    story = mute()
    story.disks.snapshot("b3", 13, 2)
    story.disks.restart("b3")
    story.disks.begin("b3", 13, dropped=True)
    led(story, "c1", "c2", "c3", "b1", "b2", "b3")
    assert_not_accused(committed_never_lost(story.run_events()))


def test_what_is_known_before_a_leader_counts_to_the_highest_end() -> None:
    """Also where it is not told of which epoch the last record below is."""
    story = mute()
    story.operations = []
    led(story, "c1", "c2", "c3", "b1", "b2", "b3")
    shown_at(story, 11, epoch=1)
    story.ask("c2", "describe-quorum", quorum(13))
    assert compared(story)[1] == (11 + 13, 10)


def test_what_nodes_tell_lies_on_no_disk() -> None:
    story = whole()
    story.event("c3", "truncate", end_offset=12)
    story.append("c3", 12, 3, 99, leader=True)
    found = committed_never_lost(story.run_events()).findings
    assert found and not any("by the disk of" in each.message for each in found)


def test_leader_by_disks_that_has_all_is_right() -> None:
    story = mute()
    led(story, "c1", "c2", "c3", "b1", "b2", "b3")
    shown_at(story, 14, epoch=3)
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.VALID, result.findings
    assert compared(story)[1] == (13, 10)
    story.ask("c3", "describe-quorum", quorum(14, epoch=3))
    story.ask("c3", "describe-quorum", quorum(12, epoch=1))
    assert compared(story)[1] == (12 + 13, 10), "epoch 2 has had a leader as well"


def test_leader_by_disks_of_an_epoch_owes_nothing_to_its_own() -> None:
    story = mute()
    story.operations = []
    shown_at(story, 13, epoch=3)
    lose(story, 12, *("c1", "c2", "c3", "b1", "b2", "b3"))
    led(story, "c1", "c2", "c3", "b1", "b2", "b3")
    assert_not_accused(committed_never_lost(story.run_events()))


def test_each_leader_that_lacks_something_is_a_finding() -> None:
    story = mute()
    for node in ("b1", "b2"):
        lose(story, 12, node)
        led(story, node)
    lose(story, 12, "b3")
    story.disks.write("b3", 4, crc=44)
    found = [each for each in judged(CHECKER, story).findings if each.clause == "leaders-have-all"]
    assert [each.message.split(" wrote")[0][-7:] for each in found] == ["epoch 3", "epoch 4"]


def test_nobody_shown_before_a_later_leader_is_no_occasion() -> None:
    result = judged(CHECKER, mute())
    held = clause_of(result, "leaders-have-all")
    assert held.verdict is None and "write no events" in held.note


# --- what is counted ----------------------------------------------------------------------

CHECKER = CommittedNeverLost()


def compared(story: Story) -> list[tuple[int, int]]:
    """Of each clause, and how many the run must have."""
    return [(each.compared, each.floor) for each in judged(CHECKER, story).clauses]


def test_what_is_compared() -> None:
    assert compared(whole()) == [(6, 6), (12, 10), (6, 6), (6 + 1 + 13, 2), (6, 6)]
    figures = committed_never_lost(whole().run_events()).figures
    assert figures == {"committed": 13, "elections": 2}
    assert compared(mute()) == [(6, 2), (0, 10), (6, 2), (7, 2), (6, 6)]


def test_what_is_compared_where_no_disk_was_collected() -> None:
    story = whole()
    story.disks = Disks()
    story.event("b9", "boot", replica_id=9, log_end=0, last_epoch=0)
    assert compared(story) == [(6, 6), (12, 10), (6, 6), (0, 2), (6, 6)]
    story.plan = {name: each for name, each in story.plan.items() if name != "nodes"}
    assert compared(story) == [(6, 7), (12, 10), (6, 7), (0, 2), (6, 7)], "b9 counts then"


def test_node_that_knows_of_nothing_committed_and_has_no_snapshot_dropped_nothing() -> None:
    story = whole()
    story.events = [each for each in story.events if (each.node, each.type) != ("b3", "hw")]
    story.hw("b3", 0, 2)
    story.disks.evidence = [
        each
        for each in story.disks.evidence
        if each.node != "b3" or not isinstance(each, SnapshotFile)
    ]
    assert compared(story)[2] == (5, 6)
    story.hw("b3", 1, 2)
    assert compared(story)[2] == (6, 6)


@pytest.mark.parametrize(("offsets", "reporters", "heard"), [(10, 1, 0), (9, 2, 0), (10, 2, 2)])
def test_ten_offsets_that_others_tell_as_well_are_heard(
    offsets: int, reporters: int, heard: int
) -> None:
    story = Story()
    for node in ("c1", "c2")[:reporters]:
        story.boot(node)
        story.append(node, 0, 1, *range(offsets))
        story.hw(node, offsets, 1)
    assert compared(story)[0] == (heard, 6)


def test_who_applied_records_reported_of_them() -> None:
    story = Story()
    for node in ("c1", "c2"):
        for offset in range(10):
            story.apply(node, offset, "NoOpRecord")
    assert compared(story)[0] == (2, 6)


def test_without_settling_there_is_no_end() -> None:
    story = whole()
    story.nemesis = []
    found = clause_of(judged(CHECKER, story), "everywhere-in-the-end")
    assert found.verdict is None and "settle" in found.note


def test_nodes_that_tell_need_no_client() -> None:
    story = whole()
    story.operations = []
    assert compared(story)[4] == (6, 6)


def test_disks_that_cannot_be_read_whole_are_no_disks() -> None:
    story = mute()
    story.disks.lost.add("c1")
    assert compared(story)[4] == (0, 6)


# --- one record ---------------------------------------------------------------------------


def logs(story: Story, *ends: tuple[str, int, int], crc: int = 10) -> None:
    """(node, epoch, CRC) of the one record that each has."""
    for node, epoch, crc in ends:
        story.boot(node)
        story.append(node, 0, epoch, crc)


@PLANTED.violation("two records were committed at offset 0", "CRC 10", "CRC 99", on=Story)
def two_records_of_one_epoch(story: Story) -> None:
    logs(story, ("c1", 1, 10), ("c2", 1, 99))
    story.hw("c1", 1, 1)
    story.hw("c2", 1, 1)


@PLANTED.violation("two records were committed at offset 0", "CRC 10", "CRC 99", on=Story)
def two_records_of_which_the_first_was_applied_before_its_content_was_known(story: Story) -> None:
    story.apply("c0", 0, "NoOpRecord")
    two_records_of_one_epoch(story)


@PLANTED.violation("two records were committed at offset 0", "epoch 2", on=Story)
def record_that_was_applied_is_not_the_one_that_was_committed(story: Story) -> None:
    story.apply("c1", 0, "NoOpRecord", 1)
    logs(story, ("c2", 2, 10))
    story.hw("c2", 1, 2)


def test_record_that_one_applied_and_another_committed_is_one() -> None:
    story = Story()
    story.apply("c1", 0, "NoOpRecord", 1)
    logs(story, ("c2", 1, 10))
    story.hw("c2", 1, 1)
    assert_not_accused(committed_never_lost(story.run_events()))


# --- elections ----------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["applied", "epoch 3"])
def test_leader_that_lacks_what_was_committed_before_it(first: str) -> None:
    """However late the first node told of it, and however late it is told again."""
    story = Story()
    if first == "applied":
        story.apply("c1", 0, "NoOpRecord")
    else:
        logs(story, ("c1", 1, 10))
        story.hw("c1", 1, 3)
    logs(story, ("c2", 1, 10))
    story.hw("c2", 1, 1)
    story.boot("c3")
    story.event("c3", "elected", epoch=2, start_offset=0, votes=[2, 3])
    story.append("c3", 0, 1, 10)
    story.hw("c3", 1, 3)
    assert_invalid(committed_never_lost(story.run_events()), "c3 was elected in epoch 2", "nothing")


def test_nobody_knows_since_when_that_is_committed_which_was_only_applied() -> None:
    story = Story()
    story.apply("c1", 0, "NoOpRecord")
    story.boot("c3")
    story.event("c3", "elected", epoch=2, start_offset=0, votes=[2, 3])
    assert_not_accused(committed_never_lost(story.run_events()))


def test_leader_that_lacks_several_records_is_one_finding_of_the_first() -> None:
    story = Story()
    story.boot("c2")
    story.append("c2", 0, 1, 10, 11)
    story.hw("c2", 2, 1)
    story.boot("c3")
    story.event("c3", "elected", epoch=2, start_offset=0, votes=[2, 3])
    (found,) = committed_never_lost(story.run_events()).findings
    assert "at offset 0" in found.message


# --- what a node dropped ------------------------------------------------------------------


@PLANTED.violation("c1 truncated its log to 3, below its high watermark 4", on=clean)
def truncation_after_the_watermark_began_anew(story: Story) -> None:
    story.boot("c1", (2, 2, -1), log_end=4, last_epoch=2)
    story.hw("c1", 2, 2, role="follower")
    story.event("c1", "truncate", end_offset=3)


@pytest.mark.parametrize(
    ("flushed", "watermark", "end"), [(4, 4, 4), (3, 4, 3), (4, 2, 2), (4, 2, 3), (0, 4, 0)]
)
def test_what_was_not_flushed_or_not_committed_may_be_gone(
    flushed: int, watermark: int, end: int
) -> None:
    story = Story()
    story.boot("c1")
    story.append("c1", 0, 1, 10, 11, 12, 13)
    story.event("c1", "flush", end_offset=flushed)
    story.hw("c1", watermark, 1)
    story.boot("c1", (1, 1, 1), log_end=end, last_epoch=1)
    assert_not_accused(committed_never_lost(story.run_events()))


def test_watermark_beyond_the_own_log_is_of_what_others_have() -> None:
    story = Story()
    story.boot("c1")
    story.append("c1", 0, 1, 10)
    story.hw("c1", 5, 1)
    assert committed_never_lost(story.run_events()).figures["committed"] == 1


@PLANTED.violation("was cut back to 11, below the end 12 of a snapshot", on=mute)
def log_cut_back_below_the_newer_of_two_snapshots(story: Story) -> None:
    story.disks.snapshot("b3", 12, 1)
    lose(story, 11, "b3")


@PLANTED.violation("was cut back to 9, below the end 10 of a snapshot", on=mute)
def log_cut_back_below_a_snapshot_of_which_there_is_an_older_one(story: Story) -> None:
    story.disks.snapshot("b3", 8, 1)
    lose(story, 9, "b3")


def test_log_may_be_cut_back_to_the_end_of_a_snapshot() -> None:
    story = mute()
    story.operations = []
    lose(story, 10, "b3")
    assert_not_accused(committed_never_lost(story.run_events()))


# --- still there --------------------------------------------------------------------------


def test_snapshot_that_ends_with_an_epoch_is_of_that_epoch() -> None:
    story = mute()
    story.disks.snapshot("b2", 12, 1)
    story.disks.snapshot("b3", 13, 2)
    assert_not_accused(committed_never_lost(story.run_events()))


def begun_at_a_snapshot() -> Story:
    """All voters hold the records in a snapshot alone."""
    story = whole()
    for node in ("c1", "c2", "c3"):
        story.disks.snapshot(node, 13, 2)
        story.disks.restart(node)
        story.disks.begin(node, 13, dropped=True)
    return story


def test_what_a_snapshot_took_the_place_of_is_not_lost() -> None:
    assert_not_accused(committed_never_lost(begun_at_a_snapshot().run_events()))


@PLANTED.violation("told that epoch 2, CRC None", "have epoch 1, CRC 111 there", on=mute)
def applied_record_is_another_on_the_disks(story: Story) -> None:
    story.apply("b1", 11, "NoOpRecord", 2)


@PLANTED.violation("told that epoch 1, CRC 66", "have epoch 1, CRC 100 there", on=mute)
def committed_record_is_another_on_the_disks(story: Story) -> None:
    logs(story, ("b1", 1, 66))
    story.hw("b1", 1, 1)


def test_reported_records_that_are_lost_are_one_finding_of_the_first() -> None:
    """Whoever told of it first: here a node that knows of the last alone."""
    story = whole()
    lose(story, 11, "c1", "c2", "c3")
    story.apply("a1", 12, "LeaderChange", 2, leader_id=2)
    lost = [
        each
        for each in committed_never_lost(story.run_events()).findings
        if each.clause == "still-there" and "told that" in each.message
    ]
    assert ["offset 11" in each.message for each in lost] == [True]


# --- the end ------------------------------------------------------------------------------


def test_what_somebody_reported_before_all_settled_is_everywhere() -> None:
    """Though another node told of it later."""
    story = Story()
    logs(story, ("c1", 1, 10), ("c2", 1, 10))
    story.hw("c2", 1, 1)
    story.boot("c3")
    story.final()
    story.hw("c1", 1, 1)
    assert_invalid(committed_never_lost(story.run_events()), "the log of c3 has nothing")


def test_what_was_reported_after_all_settled_need_not_be_everywhere_and_the_rest_has_to() -> None:
    story = Story()
    story.boot("c1", log_end=1, last_epoch=1)
    story.append("c1", 1, 1, 11, 12)
    story.hw("c1", 3, 1)
    story.boot("c3")
    story.final()
    story.apply("c1", 0, "NoOpRecord")
    (found,) = committed_never_lost(story.run_events()).findings
    assert "the log of c3 has nothing at offset 1" in found.message


def shown_at(story: Story, offset: object, *, epoch: int | None = None, **more: object) -> None:
    ext = {"offset": offset} if epoch is None else {"offset": offset, "epoch": epoch}
    story.op("describe", "t", result={"topic_id": "x"}, ext=ext, **more)


def test_answers_that_show_no_end_of_the_log_show_none() -> None:
    story = mute()
    story.operations, story.nemesis = [], []
    lose(story, 11, "b1")
    shown_at(story, 11)
    shown_at(story, 99, type="fail")
    shown_at(story, "99")
    story.op("describe", "t")
    story.operations.append(replace(story.op("describe", "t"), ext=None))
    story.invoke("describe", "t")
    story.ask("c1", "describe-quorum", quorum(-1))
    story.ask("c1", "describe-quorum", type="fail", error="TIMEOUT")
    story.ask("c1", "log-ends", {"high_watermark": 99})
    story.final()
    assert_not_accused(committed_never_lost(story.run_events()))
    assert clause_of(judged(CHECKER, story), "everywhere-in-the-end").verdict is Verdict.VALID


def test_what_is_shown_once_the_cluster_was_seen_to_settle_is_not_yet_everywhere() -> None:
    story = mute()
    story.operations, story.nemesis = [], []
    lose(story, 11, "b1")
    shown_at(story, 11)
    late = story.invoke("describe", "t")
    story.final()
    story.complete(late, ext={"offset": 13, "epoch": 2})
    at_once = story.invoke("describe", "t")
    story.complete(at_once, ext={"offset": 13})
    moment = next(each.time_ns for each in story.nemesis if each.f == "settle")
    story.operations[-1] = replace(story.operations[-1], completed_ns=moment)
    last = replace(story.operations[-1], index=500, completed_ns=None, ext={"offset": 12})
    story.operations.append(last)
    assert_not_accused(committed_never_lost(story.run_events()))
    assert clause_of(judged(CHECKER, story), "everywhere-in-the-end").verdict is Verdict.VALID


def test_what_was_shown_before_the_cluster_settled_for_the_last_time_is_everywhere() -> None:
    story = mute()
    story.operations, story.nemesis = [], []
    lose(story, 11, "b1")
    story.final()
    shown_at(story, 5)
    shown_at(story, 13)
    shown_at(story, 7)
    story.final()
    (found,) = committed_never_lost(story.run_events()).findings
    assert "disk of b1 has nothing at offset 11" in found.message
    assert ["torn" in each for each in found.events] == [True]


def test_disk_with_something_else_is_shown_by_the_batch() -> None:
    (found,) = committed_never_lost(
        PLANTED["voter has something else"].story().run_events()
    ).findings
    assert ["crcs" in each for each in found.events] == [True]
