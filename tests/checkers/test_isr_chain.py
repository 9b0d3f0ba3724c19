"""Leaders and ISRs are a chain of records (D.2)."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_isr import changed, source
from planted_runs import (
    NODES,
    OTHER,
    TOPIC,
    Story,
    assert_invalid,
    assert_valid,
    change,
    item,
    shown,
)

from checkers.folds.isr.isr import State
from checkers.folds.isr.isr_counts import Counts, joins_known, members_known, requests_known
from checkers.folds.isr.partition_links import Gaps, Link
from checkers.isr_chain import CLAUSES, IsrChain
from checkers.isr_chain import isr_chain as judge
from framework.evidence.changes import (
    BrokerFenced,
    BrokerLeaving,
    BrokerUnregistered,
    Change,
    EligibleForgotten,
    PartitionChanged,
    PartitionState,
)
from framework.evidence.kinds import DISK, Evidence
from framework.evidence.partitions import PartitionLogOnDisk, PartitionOffsetSaved
from framework.evidence.processes import Booted
from framework.evidence.quorum import Appended, LogOnDisk
from framework.plugins.checker import CLIENTS, EVENTS
from framework.verdict import Verdict
from tests.cases import cases

EPOCHS = {4: 7, 5: 8, 6: 9}


def unfence(story: Story, offset: int, broker: int) -> None:
    story.apply("c1", offset, "UnfenceBrokerRecord", broker_id=broker, broker_epoch=EPOCHS[broker])


def fence(story: Story, offset: int, broker: int) -> None:
    story.apply("c1", offset, "FenceBrokerRecord", broker_id=broker, broker_epoch=EPOCHS[broker])


def clean() -> Story:
    """Changes of t/0; t/1 is led by b1, and produced to: two in-sync replicas are asked for. t/4 is
    led by b3, which asks by itself. Another topic has b2 as its leader."""
    story = changed()
    for place, broker in enumerate((4, 5, 6)):
        story.broker(3 + place, broker, EPOCHS[broker])
        unfence(story, 6 + place, broker)
    story.apply("c1", 1, "TopicRecord")
    least = {"resource_type": 2, "resource_name": "t", "name": "min.insync.replicas", "value": "2"}
    story.apply("c1", 2, "ConfigRecord", **least)
    for offset, version, isr in ((24, 0, [6, 5]), (25, 1, [6]), (26, 2, [6, 5])):
        story.partition(offset, version, isr, partition_id=4, leader=6)
    story.decide("AlterPartition", source(1, partition=4, broker_id=6), [26])
    other_topic(story, 27)
    of_one(story, 20, 0, [4, 5, 6])
    produce(story, 0)
    produce(story, 1)
    story.event("b1", "phw", topic_id=TOPIC, partition=1, offset=2, leader_epoch=0)
    for node in ("b1", "b2", "b3"):
        on_disk(story, node, 2)
    return story


def other_topic(story: Story, offset: int) -> None:
    """Its one partition."""
    led = {"leader": 5, "leader_epoch": 0, "isr": [5, 6], "partition_epoch": 0, "partition_id": 0}
    story.apply("c1", offset, "PartitionRecord", topic_id=OTHER, **led)


def of_one(story: Story, offset: int, version: int, isr: list[int], **more: Any) -> None:
    """A record of t/1, which its leader applies, too."""
    for node in ("c1", "b1"):
        story.partition(offset, version, isr, node=node, partition_id=1, **more)


def produce(story: Story, offset: int, acks: str = "all", type: str = "ok") -> None:
    result = {"topic_id": TOPIC, "offset": offset} if type == "ok" else None
    story.op("produce", "t/1", {"value": offset, "acks": acks}, result, type=type, node="b1")


def on_disk(story: Story, node: str, end: int) -> None:
    """The log of t/1 that a node left."""
    story.tell(
        PartitionLogOnDisk,
        node,
        source=DISK,
        topic_id=TOPIC,
        partition=1,
        start_offset=0,
        end_offset=end,
        torn=False,
        wrong=(),
        epochs=None,
    )


def test_clean_changes_are_accepted() -> None:
    assert_valid(judge(clean().run_events()))


PLANTED = Plants(clean)


@PLANTED.violation("to broker 6, which was not in the ISR [4, 5]")
def leader_from_outside_the_isr(story: Story) -> None:
    of_one(story, 21, 1, [4, 5])
    story.decide("AlterPartition", source(0, partition=1), [21])
    of_one(story, 22, 2, [6], leader=6, leader_epoch=1)


@PLANTED.violation("to broker 6, which was not in the ISR [4, 5]")
def leader_from_outside_the_isr_as_disks_alone_tell(story: Story) -> None:
    leader_from_outside_the_isr(story)
    to_disks(story)


@PLANTED.violation("to broker 6, which was not in the ISR [4, 5]")
def leader_that_a_move_takes_in_though_the_former_one_stays(story: Story) -> None:
    """By disks alone, so that nobody knows who asked for what."""
    of_one(story, 21, 1, [4, 5])
    record = {"partition_id": 1, "topic_id": TOPIC, "isr": [6], "leader": 6, "leader_epoch": 1}
    replicas = {"replicas": [4, 5, 6], "adding_replicas": [], "removing_replicas": []}
    story.apply("c1", 22, "ReassignmentRecord", partition_epoch=2, **record, **replicas)
    to_disks(story)


@PLANTED.violation("adds [6] to the ISR of version 2")
def member_that_joins_while_nobody_leads(story: Story) -> None:
    """And could be elected then, as if it had been in sync."""
    of_one(story, 21, 1, [4, 5])
    of_one(story, 22, 2, [4], leader=-1, leader_epoch=1)
    of_one(story, 23, 3, [4, 6], leader=-1, leader_epoch=1)
    to_disks(story)


@PLANTED.violation("adds [6] to the ISR of version 2")
def member_for_which_a_controller_tells_of_a_wish_while_nobody_leads(story: Story) -> None:
    of_one(story, 22, 2, [4], leader=-1, leader_epoch=1)
    of_one(story, 23, 3, [6], leader=-1, leader_epoch=1)
    story.decide("AlterPartition", source(2, partition=1, leader_epoch=1), [23])


@PLANTED.violation("adds [6] to the ISR of version 1")
def member_that_joins_beside_a_new_leader(story: Story) -> None:
    of_one(story, 21, 1, [4, 5])
    of_one(story, 22, 2, [5, 6], leader=5, leader_epoch=1)
    to_disks(story)


@PLANTED.violation("adds [4] to the ISR of version 0")
def member_that_joins_beside_a_new_leader_though_no_client_plays_the_former_one(
    story: Story,
) -> None:
    """By disks alone: a leader's own wish leaves it where it is."""
    story.partition(30, 0, [6, 5], partition_id=3, leader=6)
    story.partition(31, 1, [5, 4], partition_id=3, leader=5, leader_epoch=1)
    to_disks(story)


@PLANTED.violation("to broker 6, which was not in the ISR [4]")
def first_leader_is_no_member(story: Story) -> None:
    story.partition(30, 0, [4], partition_id=2, leader=6)


@PLANTED.violation("adds [5] to the ISR of version 1")
def member_that_no_request_added(story: Story) -> None:
    """Of a leader that is a process of its own; the controller tells of other requests."""
    unasked(story)


def unasked(story: Story) -> None:
    for offset, version, isr in ((30, 0, [6, 5]), (31, 1, [6]), (32, 2, [6, 5])):
        story.partition(offset, version, isr, partition_id=3, leader=6)
    story.decide("AlterPartition", source(0, partition=1), [], verdict=95)


@PLANTED.violation("adds [5] to the ISR of version 0")
def member_that_comes_with_a_new_leader(story: Story) -> None:
    story.partition(30, 0, [6, 4], partition_id=3, leader=6)
    story.partition(31, 1, [4, 5], partition_id=3, leader=4, leader_epoch=1)
    story.decide("AlterPartition", source(0, partition=1), [], verdict=95)


def other_replicas(story: Story, *records: tuple[int, list[int], dict[str, Any]]) -> None:
    """Of t/3, led by 6 with 5 in sync, by its versions: (leader, ISR, ...)."""
    story.partition(30, 0, [6, 5], partition_id=3, leader=6)
    for version, (leader, isr, more) in enumerate(records, 1):
        record = {"partition_id": 3, "topic_id": TOPIC, "isr": isr, "leader": leader, **more}
        story.apply("c1", 30 + version, "ReassignmentRecord", partition_epoch=version, **record)


BEGUN = {"replicas": [4, 6, 5], "adding_replicas": [4], "removing_replicas": [6], "leader_epoch": 0}
DONE = {"replicas": [4, 5], "adding_replicas": [], "removing_replicas": [], "leader_epoch": 1}


def test_other_replicas_are_asked_for_by_administrators() -> None:
    """No leader asks that they begin to change; one does that completes it, and may hand over to
    whom it takes in by that."""
    story = clean()
    other_replicas(story, (6, [6, 5], BEGUN), (4, [4, 5], DONE))
    story.decide("AlterPartition", source(1, partition=3, broker_id=6), [32])
    story.decide("AlterPartition", source(9, partition=1), [], verdict=95)
    assert_valid(judge(story.run_events()))


@PLANTED.violation("adds [4] to the ISR of version 1")
def other_replicas_in_sync_that_no_leader_asked_for(story: Story) -> None:
    other_replicas(story, (6, [6, 5], BEGUN), (4, [4, 5], DONE))
    story.decide("AlterPartition", source(9, partition=1), [], verdict=95)


def test_who_asked_for_the_end_of_a_move_is_not_known_where_nodes_tell_nothing() -> None:
    story = clean()
    other_replicas(story, (6, [6, 5], BEGUN), (4, [4, 5], DONE))
    to_disks(story)
    assert not judge(story.run_events()).findings


UNLED = (-1, [5], BEGUN | {"leader_epoch": 1})


@PLANTED.violation("adds [4] to the ISR of version 1")
def member_that_a_move_takes_in_while_nobody_leads(story: Story) -> None:
    """Whatever a controller tells of a wish."""
    other_replicas(story, UNLED, (5, [4, 5], DONE | {"leader_epoch": 2}))
    story.decide("AlterPartition", source(1, partition=3, broker_id=6), [32])


@PLANTED.violation("to broker 4, which was not in the ISR [5]")
def leader_that_a_move_takes_in_while_nobody_leads(story: Story) -> None:
    other_replicas(story, UNLED, (4, [4, 5], DONE | {"leader_epoch": 2}))
    to_disks(story)


def test_leader_that_is_elected_uncleanly_comes_into_the_isr_by_that() -> None:
    """So that it is the election that is wrong, and nothing else."""
    story = clean()
    leader_that_a_move_takes_in_while_nobody_leads(story)
    found = judge(story.run_events()).findings
    assert [each.clause for each in found] == ["clean-election"]


@PLANTED.violation("to broker 7, which was not in the ISR [5, 6]")
def other_replicas_with_a_leader_that_is_not_in_sync(story: Story) -> None:
    other_replicas(story, (6, [6, 5], BEGUN), (7, [4, 5], DONE))


def shrunk(story: Story) -> None:
    of_one(story, 21, 1, [4])
    story.decide("AlterPartition", source(0, partition=1), [21])


@PLANTED.violation("knew that the ISR was [4]", "2 in-sync replicas")
def acknowledged_by_too_few(story: Story) -> None:
    shrunk(story)
    produce(story, 1)


@PLANTED.violation("knew that the ISR was [4], as it showed by operation", "2 in-sync replicas")
def acknowledged_by_too_few_as_disks_and_answers_tell(story: Story) -> None:
    shrunk(story)
    shows_its_isr(story, [4])
    story.wait(1_000)
    produce(story, 1)
    story.wait(2_000)
    shows_its_isr(story, [4])
    to_disks(story)


@PLANTED.violation("knew that the ISR was [4], as it showed by operation", "2 in-sync replicas")
def acknowledged_by_too_few_as_disks_and_answers_to_clients_tell(story: Story) -> None:
    shrunk(story)
    answer = {"topic_id": TOPIC, "partitions": [{**shown(1, [4]), "partition": 1}]}
    for _ in range(2):
        story.op("metadata", "t", None, answer, node="b1")
        story.wait(2_000)
        produce(story, 1)
        story.wait(2_000)
    to_disks(story)


def shows_its_isr(story: Story, isr: list[int]) -> None:
    """Of t/1, b1 to the observer."""
    topic = {"name": "t", "topic_id": TOPIC, "partitions": [{**shown(1, isr), "partition": 1}]}
    story.ask("b1", "describe-topics", {"brokers": [], "topics": [topic]})


@PLANTED.violation("was acknowledged by all below offset 4", "the log of b3", "ends at 2")
def acknowledged_and_not_in_a_log_of_the_isr(story: Story) -> None:
    produce(story, 3)
    for node in ("b1", "b2"):
        on_disk(story, node, 4)


@PLANTED.violation("was acknowledged by all below offset 4", "the log of b3", "ends at 2")
def acknowledged_and_not_in_a_log_of_the_isr_before_all_left_it(story: Story) -> None:
    acknowledged_and_not_in_a_log_of_the_isr(story)
    of_one(story, 21, 1, [], leader=-1, leader_epoch=1)


@PLANTED.violation("was acknowledged by all below offset 2", "the log of x1", "ends at 1")
def acknowledged_and_not_in_the_log_of_a_broker_that_the_plan_does_not_have(story: Story) -> None:
    """It says itself who it is."""
    story.tell(Booted, "x1", broker_id=101)
    of_one(story, 21, 1, [4, 101])
    story.decide("AlterPartition", source(0, partition=1), [21])
    on_disk(story, "x1", 1)


@PLANTED.violation("b2 had the high watermark 3", "the log of b1")
def high_watermark_of_a_follower_above_the_leaders_log(story: Story) -> None:
    on_disk(story, "b2", 3)
    saved = {"topic_id": TOPIC, "partition": 1, "what": "high-watermark", "offset": 3}
    story.tell(PartitionOffsetSaved, "b2", source=DISK, **saved)


@PLANTED.violation("version 2 has two states", "the record at offset 12")
def client_is_shown_another_state_than_the_records(story: Story) -> None:
    story.describe("t", shown(2, [4, 5]))


@PLANTED.violation("version 2 has two states", "the record at offset 12")
def client_is_shown_another_state_after_one_of_which_nobody_has_the_record(story: Story) -> None:
    story.describe("t", shown(9, [4]))
    story.describe("t", shown(2, [4, 5]))


# --- what is no violation -----------------------------------------------------------------


@pytest.mark.parametrize("how", ["config", "settings"])
def test_unclean_election_that_is_allowed(how: str) -> None:
    story = clean()
    if how == "config":
        allowed = {"name": "unclean.leader.election.enable", "value": "true"}
        record = {"resource_type": 2, "resource_name": "t", **allowed}
        story.apply("c1", 3, "ConfigRecord", **record)
    else:
        story.plan = {**story.plan, "settings": {"c1": {"unclean.leader.election.enable": "true"}}}
    leader_from_outside_the_isr(story)
    assert_valid(judge(story.run_events()))


def test_acknowledgement_while_the_isr_changed_is_no_violation() -> None:
    """Nor is one by the leader alone, nor what was refused."""
    story = clean()
    late = story.invoke("produce", "t/1", {"value": 1, "acks": "all"}, node="b1")
    shrunk(story)
    story.complete(late, "ok", {"topic_id": TOPIC, "offset": 1})
    produce(story, 1, acks="1")
    produce(story, 1, type="fail")
    assert_valid(judge(story.run_events()))


def test_leader_may_hear_by_an_answer_that_its_isr_has_grown() -> None:
    """It applies the record later than the controller."""
    story = clean()
    shrunk(story)
    story.alter(1, [4, 5], partition=1, type="info")
    story.partition(22, 2, [4, 5], partition_id=1)
    produce(story, 1)
    story.partition(22, 2, [4, 5], partition_id=1, node="b1")
    assert_valid(judge(story.run_events()))


def test_log_of_a_replica_outside_the_isr_may_end_anywhere() -> None:
    story = clean()
    of_one(story, 21, 1, [4, 5])
    story.decide("AlterPartition", source(0, partition=1), [21])
    on_disk(story, "b3", 0)
    assert_valid(judge(story.run_events()))


def test_request_that_a_controller_did_not_get_to_tell_of_is_not_known() -> None:
    """It was killed: nothing that it decided later was told."""
    story = clean()
    for offset, version, isr in ((1030, 0, [6, 5]), (1031, 1, [6]), (1032, 2, [6, 5])):
        story.partition(offset, version, isr, partition_id=3, leader=6)
    assert_unknown(IsrChain(), story, "asked-joins")


# --- who keeps silent ---------------------------------------------------------------------


def to_disks(story: Story, lost: Sequence[int] = ()) -> None:
    """Nodes write no events: what they applied lies on the voters' disks, and is committed. Of some
    offsets that is lost."""
    story.plan = {**story.plan, "capabilities": ["disk:applied", "disk:partition-log-on-disk"]}
    applied = [each for each in story.run_events().evidence if isinstance(each, Change)]
    reported = {each.offset: each for each in applied}
    silent(story)
    end = max(reported) + 1
    for node in (each for each in NODES if NODES[each]["votes"]):
        for offset in sorted(set(range(end)) - set(lost)):
            head = {"base_offset": offset, "end_offset": offset + 1, "epoch": 1}
            crcs = {"control": False, "crcs": (offset,), "leading": None}
            story.tell(Appended, node, source=DISK, incarnation="", **head, **crcs)
            if offset in reported:
                left = replace(reported[offset], node=node, source=DISK, incarnation="", ref="")
                story.evidence.append(replace(left, seq=len(story.evidence)))
        whole = {"start_offset": 0, "end_offset": end, "torn": False, "wrong": ()}
        story.tell(LogOnDisk, node, source=DISK, incarnation="", **whole)


def test_disks_alone_show_that_chains_are_whole() -> None:
    story = clean()
    to_disks(story)
    result = judged(IsrChain(), story)
    valid = {each.name for each in result.clauses if each.verdict is Verdict.VALID}
    assert valid >= {"one-chain", "clean-election", "watermark-held"}, result.note


def test_what_a_snapshot_took_the_place_of_is_no_gap_in_a_chain() -> None:
    """Versions 1 and 2 of t/0 are in no log any more, nor is what was before an election."""
    story = clean()
    of_one(story, 21, 1, [6])
    of_one(story, 22, 2, [6], leader=6, leader_epoch=1)
    to_disks(story, lost=(11, 12, 21))
    assert not judge(story.run_events()).findings
    story = clean()
    of_one(story, 21, 1, [6])
    of_one(story, 22, 3, [6], leader=6, leader_epoch=1)
    to_disks(story, lost=(11, 12))
    assert_invalid(judge(story.run_events()), "offset 22 has version 3")


def test_accepted_change_of_a_partition_of_which_nobody_tells_is_unknown() -> None:
    story = clean()
    story.alter(0, [4, 5], partition=9)
    assert_unknown(IsrChain(), story, "request-is-a-record")


@pytest.mark.parametrize(
    ("left_out", "clauses"),
    [
        (("decide",), ["asked-joins"]),
        (("apply",), ["one-chain", "clean-election", "asked-joins", "members-in-service"]),
        ((), ["one-chain", "request-is-a-record", "clean-election", "members-in-service"]),
    ],
)
def test_nodes_that_leave_events_out_are_unknown(
    left_out: tuple[str, ...], clauses: list[str]
) -> None:
    story = clean()
    for offset, version, isr in ((30, 0, [6, 5]), (31, 1, [6]), (32, 2, [6, 5])):
        story.partition(offset, version, isr, partition_id=3, leader=6)
    story.decide("AlterPartition", source(1, partition=3, broker_id=6), [32])
    assert judged(IsrChain(), story).verdict is Verdict.VALID
    assert_unknown(IsrChain(), silent(story, *left_out), *clauses)


def test_disks_that_were_not_kept_leave_acknowledgements_unknown() -> None:
    story = clean()
    story.evidence.clear()
    assert_unknown(IsrChain(), story, "watermark-held")


def test_clients_that_ask_for_nothing_gave_no_occasion() -> None:
    story = Story()
    for offset, version in ((10, 0), (11, 1)):
        for node in ("c1", "c2"):
            story.partition(offset, version, [4, 5][: 2 - version], node=node)
    story.partition(12, 2, [4], leader=-1, leader_epoch=1)
    story.partition(13, 3, [4], leader=4, leader_epoch=2)
    result = judged(IsrChain(), story)
    assert result.verdict is Verdict.VALID, result.note
    without = {each.name for each in result.clauses if each.verdict is None}
    assert without == {
        "request-is-a-record",
        "asked-joins",
        "members-in-service",
        "enough-replicas",
        "watermark-held",
    }
    story.inject(victims={"b1": {}})
    assert_unknown(IsrChain(), story, "request-is-a-record", "asked-joins")
    story.describe("t", shown(0, [4, 5]))
    assert judged(IsrChain(), story).verdict is Verdict.VALID
    story.describe("t", shown(1, [4]))
    assert_unknown(IsrChain(), story, "request-is-a-record", "asked-joins")


def test_one_broker_that_was_gone_is_one_occasion() -> None:
    """Also where it is a controller's word alone: one sighting is not enough, two have to be."""
    story = clean()
    story.operations.clear()
    story.plan = {"nodes": {name: {"roles": [role]} for name, role in ROLES.items()}}
    asked = {"request-is-a-record", "asked-joins", "members-in-service"}

    def undecided() -> set[str]:
        found = {each.name: each.verdict for each in judged(IsrChain(), story).clauses}
        return {name for name in asked if found[name] is None}

    story.inject(1, victims={"b1": {}})
    once = undecided()
    assert once
    story.inject(2, victims={"c1": {}, "b1": {}}, entries=[{"cut_off": ["c1"]}])
    assert undecided() == once
    story.inject(3, victims={"b2": {}})
    assert not undecided()
    assert_unknown(IsrChain(), story, *once)


ROLES = {"b1": "broker", "b2": "broker", "b3": "broker", "c1": "controller", "c2": "controller"}


# --- requests and records -----------------------------------------------------------------


@PLANTED.violation("answered version 5", "0 committed records")
def acknowledged_change_is_no_record(story: Story) -> None:
    story.alter(4, [4, 5], leader_epoch=1)


@PLANTED.violation("asked for ISR [4, 5]", "offset 11", on=Story)
def record_has_another_isr_than_asked(story: Story) -> None:
    story.alter(0, [4, 5])
    story.partition(10, 0, [4, 5, 6])
    story.partition(11, 1, [4])


@PLANTED.violation("named (version, leader epoch, leader) (0, 0, 4)", on=Story)
def predecessor_has_another_leader_epoch(story: Story) -> None:
    story.alter(0, [4, 5])
    story.partition(10, 0, [4, 5, 6], leader_epoch=3)
    story.partition(11, 1, [4, 5])


@PLANTED.violation("offset 20 has version 6")
def record_skips_a_version(story: Story) -> None:
    story.partition(20, 6, [4, 5])


@PLANTED.violation("offset 13 has version 2")
def change_applied_twice_under_one_version(story: Story) -> None:
    story.partition(13, 2, [4])


@PLANTED.violation("offset 12", "adds [6] to the ISR of version 1", on=Story)
def member_that_the_controller_says_a_leader_asked_for(story: Story) -> None:
    """All requests of a leader that clients play are theirs: the controller's word is no excuse."""
    story.alter(0, [4, 5])
    story.partition(10, 0, [4, 5, 6])
    story.partition(11, 1, [4, 5])
    story.partition(12, 2, [4, 5, 6])
    story.decide("AlterPartition", source(1), [12])


def test_leaders_that_no_client_plays_have_requests_of_their_own() -> None:
    story = Story()
    story.describe("t", shown(0, [4]))
    story.describe("t", shown(1, [4, 5]))
    story.partition(10, 0, [4])
    story.partition(11, 1, [4, 5])
    story.partition(12, 2, [4, 5])
    story.decide("AlterPartition", source(0), [11])
    story.decide("AlterPartition", source(1), [12])
    assert_valid(judge(story.run_events()))


def test_change_applied_twice_under_two_versions() -> None:
    story = Story()
    done = story.alter(0, [4, 5])
    story.partition(10, 0, [4, 5, 6])
    story.partition(11, 1, [4, 5])
    story.partition(12, 2, [4, 5])
    outcome = judge(story.run_events())
    assert_invalid(outcome, "applied twice")
    assert outcome.findings[0].operations == (done.index,)


def test_one_decision_made_two_records() -> None:
    story = clean()
    story.partition(16, 5, [4, 5], leader=-1, leader_epoch=1)
    story.partition(17, 6, [4], leader=-1, leader_epoch=1)
    asked = story.invoke("alter-isr", "t/0", change(4, [4, 5]))
    story.decide("AlterPartition", source(4), [16, 17])
    outcome = judge(story.run_events())
    assert_invalid(outcome, "applied one ISR change 2 times")
    assert (asked.index,) in [finding.operations for finding in outcome.findings]


@PLANTED.violation("refused an ISR change with error 95")
def refused_decision_appended_records(story: Story) -> None:
    story.decide("AlterPartition", source(1), [12], verdict=95)


@PLANTED.violation("names version 3 on top of version 4")
def decision_rests_on_another_version(story: Story) -> None:
    story.partition(16, 5, [4, 5], leader=-1, leader_epoch=1)
    story.decide("AlterPartition", source(3), [16])


def test_refused_change_took_effect() -> None:
    story = clean()
    refused = story.alter(4, [4, 5], leader_epoch=1, type="fail", error="INVALID_UPDATE_VERSION")
    story.partition(16, 5, [4, 5], leader=-1, leader_epoch=1)
    story.decide("AlterPartition", source(4), [16])
    outcome = judge(story.run_events())
    assert_invalid(outcome, "were refused (INVALID_UPDATE_VERSION)", "offset 16")
    (found,) = (each for each in outcome.findings if "were refused" in each.message)
    assert refused.index in found.operations


@PLANTED.violation("nodes disagree on offset 12")
def nodes_disagree_on_a_record(story: Story) -> None:
    story.partition(12, 2, [4, 6], node="c3")


def test_decision_whose_record_was_truncated_says_nothing() -> None:
    story = clean()
    story.decide("AlterPartition", source(9), [15], epoch=0)
    assert_valid(judge(story.run_events()))


# --- batches ------------------------------------------------------------------------------


def batched(story: Story, code: int, records: list[int]) -> None:
    """A request for partition 7, which is refused, and then for this one, at version 4."""
    asked = source(4) | {"leader_epoch": 1}
    other = item(source(4) | {"partition": 7}, 74, [])
    story.decide("AlterPartition", other, records, items=[other, item(asked, code, records)])


def test_part_that_is_not_the_first_of_a_batch_is_held_to_its_own_version() -> None:
    story = clean()
    story.partition(16, 5, [4], leader=-1, leader_epoch=1)
    batched(story, 0, [16])
    assert_valid(judge(story.run_events()))
    story.partition(17, 6, [4], leader=-1, leader_epoch=1)
    batched(story, 0, [17])
    assert_invalid(judge(story.run_events()), "names version 4 on top of version 5")


@PLANTED.violation("nobody asked for that")
def refused_part_of_a_batch_asks_for_nothing(story: Story) -> None:
    batched(story, 95, [])
    story.partition(16, 5, [4], leader=-1, leader_epoch=1)


@PLANTED.violation("refused an ISR change with error 95")
def refused_part_of_a_batch_appended_a_record(story: Story) -> None:
    batched(story, 95, [16])


def test_parts_of_a_batch_are_judged_by_partition() -> None:
    """One request: partition 0 is refused, 1 is accepted on its version, 2 is not."""
    story = Story()
    items = []
    for number, (version, code) in enumerate([(0, 74), (0, 0), (7, 0)]):
        asked = change(version, [4], partition=number)
        story.partition(2 * number, 0, [4, 5], partition_id=number)
        made = [] if code else [2 * number + 1]
        items.append(item(asked, code, made))
        for offset in made:
            story.partition(offset, 1, [4], partition_id=number)
    story.decide("AlterPartition", change(0, [4]), [3, 5], items=items)
    (found,) = judge(story.run_events()).findings
    assert "names version 7 on top of version 0" in found.message


def test_older_run_does_not_tell_whether_the_first_part_was_accepted() -> None:
    story = clean()
    story.decide("AlterPartition", source(1), [99], older=True)
    assert_valid(judge(story.run_events()))


def other_partition_of_a_batch(story: Story, records: list[int], older: bool) -> None:
    """t/3, led by b3, shrinks and grows again; a request of b3 names t/4 first."""
    for offset, version, isr in ((30, 0, [6, 5]), (31, 1, [6]), (33, 2, [6, 5])):
        story.partition(offset, version, isr, partition_id=3, leader=6)
    story.partition(32, 3, [6], partition_id=4, leader=6)
    asked = source(2, partition=4, broker_id=6)
    story.decide("AlterPartition", asked, records, as_of=32, older=older)
    story.decide("AlterPartition", source(0, partition=7), [], verdict=95, as_of=40)


def test_older_run_tells_the_records_of_a_batch_with_its_first_partition() -> None:
    story = clean()
    other_partition_of_a_batch(story, [32, 33], older=True)
    outcome = judge(story.run_events())
    assert_valid(outcome)
    assert compared(story)["asked-joins"] == (3, 3)


@pytest.mark.parametrize("records", [[32], [32, 34]])
def test_record_of_no_batch_was_asked_for_by_nobody(records: list[int]) -> None:
    story = clean()
    other_partition_of_a_batch(story, records, older=True)
    assert_invalid(judge(story.run_events()), "adds [5] to the ISR of version 1")


@pytest.mark.parametrize("epoch", [0, 2])
def test_batch_of_another_epoch_made_another_record(epoch: int) -> None:
    story = clean()
    other_partition_of_a_batch(story, [32], older=True)
    asked = source(2, partition=4, broker_id=6)
    story.decide("AlterPartition", asked, [33], epoch=epoch, older=True)
    assert_invalid(judge(story.run_events()), "adds [5] to the ISR of version 1")


def test_request_that_names_the_partition_explains_the_version_that_it_names() -> None:
    """On the version of before: the record is its own, and still nobody asked for this one."""
    story = clean()
    for offset, version, isr in ((30, 0, [6, 5]), (31, 1, [6]), (33, 2, [6, 5])):
        story.partition(offset, version, isr, partition_id=3, leader=6)
    story.decide("AlterPartition", source(0, partition=3, broker_id=6), [33])
    story.decide("AlterPartition", source(0, partition=7), [], verdict=95, as_of=40)
    assert_invalid(judge(story.run_events()), "adds [5] to the ISR of version 1")


def test_record_that_is_missing_is_the_nodes_word() -> None:
    story = clean()
    story.alter(4, [4, 5], leader_epoch=1)
    findings = judge(story.run_events()).findings
    (found,) = (each for each in findings if "0 committed records" in each.message)
    assert (list(found.events), found.contracts) == ([], (CLIENTS, EVENTS))


# --- eligible leaders ---------------------------------------------------------------------------


def left_by_all(story: Story, leader: int, eligible: list[int] | None, isr: list[int]) -> None:
    """All but `isr` leave t/6, then somebody leads it. By disks, which know of eligible ones."""
    story.partition(70, 0, [4, 5, 6], partition_id=6)
    story.partition(71, 1, isr, partition_id=6, leader=-1, leader_epoch=1)
    story.partition(72, 2, [leader], partition_id=6, leader=leader, leader_epoch=2)
    to_disks(story, lost=range(27, 70))
    story.evidence = [
        replace(each, eligible=None if eligible is None else tuple(eligible))
        if isinstance(each, PartitionChanged) and each.offset == 71
        else each
        for each in story.evidence
    ]


@pytest.mark.parametrize(("eligible", "right"), [([], True), ([4], False)])
def test_who_was_last_known_may_lead_where_nobody_is_eligible(
    eligible: list[int], right: bool
) -> None:
    story = clean()
    left_by_all(story, 5, eligible, [])
    story.evidence = [
        replace(each, last_eligible=(5,))
        if isinstance(each, PartitionChanged) and each.offset == 71
        else each
        for each in story.evidence
    ]
    found = judge(story.run_events())
    assert_valid(found) if right else assert_invalid(found, "nor eligible [4]")


def shows_eligible(story: Story, **told: Any) -> None:
    """A read of t/6 as it was when 5 alone had not left, and 4 was eligible by the record."""
    left_by_all(story, 5, [4], [5])
    state = {"leader": -1, "leader_epoch": 1, **told}
    story.follow("t", shown(1, [5], partition=6, **state))


@pytest.mark.parametrize("eligible", [[], [6], [4, 6]])
def test_who_is_shown_to_be_eligible_is_so_by_the_record(eligible: list[int]) -> None:
    story = clean()
    shows_eligible(story, eligible=eligible)
    found = judge(story.run_events())
    assert_invalid(
        found, "eligible leaders [4] by the record at offset 71", f"eligible leaders {eligible} by"
    )


@pytest.mark.parametrize("told", [{"eligible": [4]}, {}])
def test_a_read_may_tell_who_is_or_say_nothing_of_it(told: dict[str, Any]) -> None:
    story = clean()
    shows_eligible(story, **told)
    found = judge(story.run_events())
    assert [each.message for each in found.findings if "two states" in each.message] == []


def test_a_record_that_says_nothing_of_who_is_eligible_contradicts_nobody() -> None:
    story = clean()
    shows_eligible(story, eligible=[4])
    story.evidence = [
        replace(each, eligible=None) if isinstance(each, PartitionChanged) else each
        for each in story.evidence
    ]
    found = judge(story.run_events())
    assert [each.message for each in found.findings if "two states" in each.message] == []


def registers_behind(
    broker: int = 4,
    epoch: int = 72,
    eligible: Sequence[int] = (4,),
    then: Sequence[int] | None = (),
    isr: Sequence[int] = (),
    last: int = 5,
) -> Story:
    """Nobody leads t/6, and who was last known is told; then 5 leads it by a record behind which a
    process of a broker registers."""
    story = clean()
    story.broker(73, broker, epoch)
    left_by_all(story, 5, None, [*isr])
    told = {71: (tuple(eligible), (last,)), 72: (None if then is None else tuple(then), ())}
    story.evidence = [
        replace(each, eligible=told[each.offset][0], last_eligible=told[each.offset][1])
        if isinstance(each, PartitionChanged) and each.offset in told
        else each
        for each in story.evidence
    ]
    return story


def test_who_was_last_known_may_lead_by_the_record_that_takes_the_last_eligible_one_out() -> None:
    """A process of his comes anew, which may have lost what he had."""
    assert_valid(judge(registers_behind().run_events()))


@pytest.mark.parametrize(
    "story",
    [
        registers_behind(broker=6),
        registers_behind(epoch=73),
        registers_behind(epoch=EPOCHS[4]),
        registers_behind(eligible=(4, 6)),
        registers_behind(then=(4,)),
        registers_behind(then=None),
        registers_behind(isr=(6,)),
        registers_behind(last=6),
    ],
    ids=["another", "later", "the same", "one of two", "stays", "not told", "in sync", "not last"],
)
def test_who_was_last_known_does_not_lead_while_somebody_is_eligible(story: Story) -> None:
    assert_invalid(judge(story.run_events()), "to broker 5, which was not in the ISR")


@pytest.mark.parametrize(
    ("eligible", "isr", "wrong"),
    [
        ((), [4], ""),
        ((5,), [4], "repeats version 0"),
        ((), [4, 6], "adds [6] to the ISR of version 0"),
    ],
)
def test_a_record_may_change_who_is_eligible_alone(
    eligible: tuple[int, ...], isr: list[int], wrong: str
) -> None:
    """That a process lost what it had is a version that nobody asks for."""
    story = clean()
    story.partition(70, 0, [4], partition_id=6)
    story.partition(71, 1, isr, partition_id=6)
    story.decide("AlterPartition", source(9, partition=9), [], as_of=90)
    events = story.run_events()
    found = judge(
        replace(
            events,
            evidence=[
                replace(each, eligible=eligible if each.offset == 71 else (5,))
                if isinstance(each, PartitionState) and each.offset in (70, 71)
                else each
                for each in events.of(Evidence)
            ],
        )
    )
    assert_invalid(found, wrong) if wrong else assert_valid(found)


@pytest.mark.parametrize("forgotten", [True, False])
def test_what_is_forgotten_is_a_version_that_no_record_of_the_partition_tells(
    forgotten: bool,
) -> None:
    story = clean()
    story.partition(70, 0, [4, 5, 6], partition_id=6)
    if forgotten:
        head = {"node": "c1", "incarnation": "1", "seq": 1, "epoch": 1}
        story.evidence.append(EligibleForgotten(**head, offset=71, topic="t"))
    story.partition(72, 2, [4, 5], partition_id=6)
    found = judge(story.run_events())
    assert_valid(found) if forgotten else assert_invalid(found, "has version 2, the one before")


@PLANTED.violation("gives", "to broker 6, which was not in the ISR [] nor eligible [4, 5]")
def leader_that_is_not_eligible_either(story: Story) -> None:
    left_by_all(story, 6, [4, 5], [])


@PLANTED.violation("to broker 6, which was not in the ISR [5] nor eligible [4]")
def leader_that_is_neither_in_sync_nor_eligible(story: Story) -> None:
    left_by_all(story, 6, [4], [5])


@pytest.mark.parametrize(
    ("leader", "eligible", "isr"), [(4, [4, 5], []), (4, [4], [5]), (5, [4], [5]), (6, None, [])]
)
def test_a_leader_may_be_eligible_without_being_in_sync(
    leader: int, eligible: list[int] | None, isr: list[int]
) -> None:
    """Of a log that does not say who is, nothing follows."""
    story = clean()
    left_by_all(story, leader, eligible, isr)
    assert_valid(judge(story.run_events()))


# --- members in service --------------------------------------------------------------------


def joined(story: Story, offset: int, **named: Any) -> None:
    """Broker 5 comes back into the ISR of t/4, as its leader asked."""
    story.partition(offset, 3, [6], partition_id=4, leader=6)
    story.partition(offset + 3, 4, [6, 5], partition_id=4, leader=6)
    story.decide("AlterPartition", source(3, partition=4, broker_id=6, **named), [offset + 3])


FENCED = "takes broker 5 into the ISR"


@PLANTED.violation(FENCED, "the record at offset 41 is the last of it")
def member_that_was_fenced(story: Story) -> None:
    joined(story, 40)
    fence(story, 41, 5)


@PLANTED.violation(FENCED, "the record at offset 42")
def member_that_another_process_took_the_place_of(story: Story) -> None:
    joined(story, 40)
    story.broker(42, 5, 42)


@PLANTED.violation(FENCED, "the record at offset 41")
def member_that_was_fenced_as_disks_alone_tell(story: Story) -> None:
    member_that_was_fenced(story)
    to_disks(story)


@PLANTED.violation(FENCED, "the record at offset 41")
def member_that_is_no_longer_registered(story: Story) -> None:
    """By the disks of a system that has a record for that."""
    member_that_was_fenced_as_disks_alone_tell(story)
    for at, each in enumerate(story.evidence):
        if isinstance(each, BrokerFenced):
            same = {field.name: getattr(each, field.name) for field in fields(each)}
            story.evidence[at] = BrokerUnregistered(**same)


def leave(story: Story, offset: int, broker: int) -> None:
    """By the disks of a system that has a record for that."""
    fence(story, offset, broker)
    to_disks(story)
    for at, each in enumerate(story.evidence):
        if isinstance(each, BrokerFenced) and each.offset == offset:
            same = {field.name: getattr(each, field.name) for field in fields(each)}
            story.evidence[at] = BrokerLeaving(**same)


@PLANTED.violation(FENCED, "was about to leave then: the record at offset 41")
def member_that_is_shutting_down(story: Story) -> None:
    joined(story, 40)
    leave(story, 41, 5)


def test_a_broker_may_leave_after_it_joined() -> None:
    story = clean()
    joined(story, 40)
    leave(story, 44, 5)
    assert not judge(story.run_events()).findings


@PLANTED.violation("named broker 5 as a member", "below that the broker is not in service")
def member_that_is_fenced_and_stays(story: Story) -> None:
    """It was in the ISR before: nobody joins."""
    fence(story, 51, 5)
    accepted_with(story, isr_epochs=[7, 8])


def accepted_with(story: Story, **named: Any) -> None:
    """Broker 4 has t/5 changed, by one record."""
    story.partition(50, 0, [4, 5, 6], partition_id=5)
    story.partition(53, 1, [4, 5], partition_id=5)
    story.alter(0, [4, 5], partition=5, **named)


def test_a_leader_that_goes_may_leave_itself_out() -> None:
    """It is no member then, in service or not."""
    story = clean()
    story.partition(50, 0, [4, 5, 6], partition_id=5)
    fence(story, 51, 4)
    story.partition(53, 1, [5], partition_id=5)
    story.alter(0, [5], partition=5, isr_epochs=[8])
    assert not judge(story.run_events()).findings


@PLANTED.violation("named epoch 6 of broker 4", "has epoch 7, since offset 6")
def change_of_an_older_process(story: Story) -> None:
    accepted_with(story, broker_epoch=6)


@PLANTED.violation("named epoch 8 of broker 5", "has epoch 51, since offset 51")
def member_of_an_older_process(story: Story) -> None:
    story.broker(51, 5, 51)
    accepted_with(story, isr_epochs=[7, 8])


def test_members_that_are_in_service_when_they_join() -> None:
    """Whatever was before and after; a process that registers again stays in service; of a member
    whose epoch nobody names, and of a broker of whom nothing is known, nothing follows."""
    story = clean()
    joined(story, 40)
    fence(story, 38, 5)
    unfence(story, 39, 5)
    story.broker(41, 5, EPOCHS[5])
    fence(story, 44, 5)
    accepted_with(story, isr_epochs=[7, -1])
    assert_valid(judge(story.run_events()))
    # Who joined again, and whom the accepted change named.
    assert compared(story)["members-in-service"] == (3 + 2, 2)


def test_what_a_snapshot_took_the_place_of_may_have_put_a_member_into_service() -> None:
    story = clean()
    joined(story, 40)
    fence(story, 41, 5)
    unfence(story, 42, 5)
    to_disks(story, lost=(42,))
    assert not [
        each for each in judge(story.run_events()).findings if each.clause == "members-in-service"
    ]


# --- what is counted ----------------------------------------------------------------------


def test_leader_that_tells_nothing_of_its_isr_is_not_counted() -> None:
    story = clean()
    story.events = [each for each in story.events if (each.node, each.type) != ("b1", "apply")]
    assert_unknown(IsrChain(), story, "enough-replicas")
    shows_its_isr(story, [4, 5, 6])
    story.wait(1_000)
    for _ in range(2):
        produce(story, 1)
    assert judged(IsrChain(), story).verdict is Verdict.VALID


def test_disks_and_answers_show_an_isr_that_is_large_enough() -> None:
    story = clean()
    shows_its_isr(story, [4, 5, 6])
    story.wait(1_000)
    for _ in range(2):
        produce(story, 1)
    to_disks(story)
    found = clause_of(judged(IsrChain(), story), "enough-replicas")
    assert (found.verdict, found.compared) == (Verdict.VALID, 2), found


def compared(story: Story) -> dict[str, tuple[int, int]]:
    """Of each clause, and how many the run must have."""
    return {each.name: (each.compared, each.floor) for each in judged(IsrChain(), story).clauses}


def test_what_is_compared() -> None:
    assert compared(clean()) == {
        "one-chain": (13, 2),  # 8 records beside one of their partition, 5 answers
        "request-is-a-record": (2, 2),
        "clean-election": (2, 2),
        "asked-joins": (2, 2),
        "members-in-service": (3, 2),  # one that joined, and the leader of each accepted change
        "enough-replicas": (2, 2),
        "watermark-held": (5, 2),
    }
    assert judge(clean().run_events()).figures == {"partitions": 4, "records": 10}


def test_every_accepted_change_has_to_be_known() -> None:
    story = clean()
    for version in (0, 1, 2):
        story.alter(version, [4], partition=9)
    assert compared(story)["request-is-a-record"] == (2, 5)


def test_of_nodes_that_tell_nothing_those_changes_count_that_are_known() -> None:
    story = clean()
    story.alter(0, [4], partition=9)
    to_disks(story, lost=(2,))
    assert compared(story)["request-is-a-record"] == (2, 2), "a snapshot may have had its record"
    assert compared(story)["asked-joins"] == (1, 2)


def test_partition_whose_records_no_disk_has_is_unknown() -> None:
    """Its change was accepted, the log is there from the first record to the last, and nodes say
    nothing: all is well but for the one that is told by nobody."""
    story = clean()
    more_changes(story)
    to_disks(story)
    assert compared(story)["request-is-a-record"] == (4, 4)
    assert judged(IsrChain(), story).verdict is Verdict.VALID
    story = clean()
    more_changes(story)
    story.alter(0, [4], partition=9)
    to_disks(story)
    assert compared(story)["request-is-a-record"] == (4, 5)
    assert_unknown(IsrChain(), story, "request-is-a-record")
    story.plan = {**story.plan, "uncollected": {"c9": "gone"}}
    assert compared(story)["request-is-a-record"] == (4, 4), "it may be on a disk that nobody has"


def more_changes(story: Story) -> None:
    """Broker 5 joins again and goes again, as its leader asks, who was elected anew."""
    story.partition(16, 5, [4], leader=4, leader_epoch=2)
    story.alter(5, [4, 5], leader_epoch=2)
    story.partition(17, 6, [4, 5], leader_epoch=2)
    story.alter(6, [4], leader_epoch=2)
    story.partition(18, 7, [4], leader_epoch=2)


def lost(story: Story) -> Story:
    """Nodes write no events, and of the metadata log no disk has anything any more."""
    to_disks(story)
    gone = (Appended, Change, LogOnDisk)
    story.evidence = [each for each in story.evidence if not isinstance(each, gone)]
    return story


TWO_IN_SYNC = [["min.insync.replicas", "2"]]


@pytest.mark.parametrize("excuse", [{}, {"uncollected": {"c1": "gone"}}])
@pytest.mark.parametrize(
    ("f", "wish"), [("create", {"configs": TWO_IN_SYNC}), ("configure", {"set": TWO_IN_SYNC})]
)
def test_where_no_record_is_left_changes_of_isrs_were_an_occasion(
    f: str, wish: dict[str, Any], excuse: dict[str, Any]
) -> None:
    """Clients had them acknowledged, and produces to a topic that they had asked to have two
    in-sync replicas."""
    story = clean()
    story.op(f, "t", wish, {"topic_id": TOPIC} if f == "create" else None)
    story.describe("t", {**shown(0, [4, 5, 6]), "partition": 1})
    lost(story)
    story.plan = {**story.plan, **excuse}
    assert {name: each[0] for name, each in compared(story).items()} == dict.fromkeys(
        (each.name for each in CLAUSES), 0
    )
    assert compared(story)["request-is-a-record"] == (0, 2)
    assert_unknown(IsrChain(), story, *(each.name for each in CLAUSES))


def test_where_no_record_is_left_a_fault_was_an_occasion_and_nothing_was_none() -> None:
    quiet = {"capabilities": ["disk:applied"]}
    for story, verdict in ((busy(), Verdict.UNKNOWN), (idle(), None)):
        story.plan = {**story.plan, **quiet}
        for name in ("asked-joins", "members-in-service"):
            assert clause_of(judged(IsrChain(), story), name).verdict is verdict


def test_decisions_count_where_no_client_asks() -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.f != "alter-isr"]
    assert compared(story)["request-is-a-record"] == (6, 2)


def decoys(story: Story) -> None:
    """Requests that cannot have been the one: of other epochs, over before, begun after."""
    story.alter(4, [4, 5], leader_epoch=1, type="fail", error="X")
    for more in ({"broker_id": 5}, {"broker_epoch": 8}, {"leader_epoch": 1}):
        story.invoke("alter-isr", "t/0", change(4, [4, 5], **more))
    story.invoke("alter-isr", "t/0", change(3, [4, 5]))


@pytest.mark.parametrize("verdict", [0, 95])
def test_finding_names_the_requests_that_it_may_have_been(verdict: int) -> None:
    story = clean()
    records = [16, 17]
    for version, offset in enumerate(records, 5):
        story.partition(offset, version, [4, 5][: 7 - version], leader=-1, leader_epoch=1)
    decoys(story)
    story.alter(4, [4, 5], type="fail", error="X")
    lost = story.alter(4, [4, 5], type="info")
    story.wait(5)
    asked = story.invoke("alter-isr", "t/0", change(4, [4, 5]))
    story.decide("AlterPartition", source(4), records, verdict=verdict)
    story.wait(5)
    story.invoke("alter-isr", "t/0", change(4, [4, 5]))
    what = "applied one ISR change 2 times" if verdict == 0 else "refused an ISR change"
    (found,) = (each for each in judge(story.run_events()).findings if what in each.message)
    assert list(found.operations) == [lost.index, asked.index]


@PLANTED.violation("names version 3 on top of version 4", "accepted")
def last_of_several_decisions_rests_on_another_version(story: Story) -> None:
    story.decide("AlterPartition", source(9), [99])
    story.partition(16, 5, [4, 5], leader=-1, leader_epoch=1)
    story.decide("AlterPartition", source(3), [16])


def test_controller_that_decided_on_later_offsets_had_reported_of_earlier_ones() -> None:
    """In whatever order it told of them."""
    story = clean()
    for offset, version, isr in ((30, 0, [6, 5]), (31, 1, [6]), (32, 2, [6, 5])):
        story.partition(offset, version, isr, partition_id=3, leader=6)
    story.events = [
        each
        for each in story.events
        if each.type != "decide" or not isinstance(each.fields.get("as_of"), int)
        or each.fields["as_of"] < 100
    ]  # fmt: skip
    story.decide("AlterPartition", source(0, partition=1), [], verdict=95, as_of=32)
    assert compared(story)["asked-joins"] == (2, 3)
    story.decide("AlterPartition", source(0, partition=1), [], verdict=95, as_of=33)
    story.decide("AlterPartition", source(0, partition=1), [], verdict=95, as_of=20)
    assert_invalid(judge(story.run_events()), "adds [5] to the ISR of version 1")


def test_request_that_was_refused_explains_no_member() -> None:
    story = clean()
    unasked(story)
    story.decide("AlterPartition", source(1, partition=3, broker_id=6), [], verdict=95)
    assert_invalid(judge(story.run_events()), "adds [5] to the ISR of version 1")


def test_other_requests_explain_no_member() -> None:
    story = clean()
    unasked(story)
    story.decide("AlterPartition", source(0, partition=3, broker_id=6), [31])
    assert_invalid(judge(story.run_events()), "adds [5] to the ISR of version 1")


@PLANTED.violation("is 2 committed records, not one")
def acknowledged_change_is_two_records(story: Story) -> None:
    story.alter(4, [4, 5], leader_epoch=1)
    for offset in (16, 17):
        story.partition(offset, 5, [4, 5], leader=-1, leader_epoch=1)


@pytest.mark.parametrize(
    "named", [{"version": 1}, {"leader_epoch": 1}, {"broker_id": 5}, {"version": 0}]
)
def test_change_names_the_record_before(named: dict[str, int]) -> None:
    story = Story()
    version = named.pop("version", 0)
    story.alter(version, [4, 5], answer={"partition_epoch": 1}, **named)
    story.partition(10, 0, [4, 5, 6])
    story.partition(11, 1, [4, 5])
    found = [
        each for each in judge(story.run_events()).findings if "named (version" in each.message
    ]
    assert bool(found) == (version == 1 or bool(named))


def test_first_record_that_is_known_has_none_before() -> None:
    story = Story()
    story.alter(4, [4, 5])
    story.partition(10, 5, [4, 5])
    assert not judge(story.run_events()).findings


def test_leader_is_elected_anew_where_nothing_is_lost_between() -> None:
    """After records that a snapshot took the place of, the next election counts."""
    story = clean()
    of_one(story, 21, 1, [6])
    of_one(story, 23, 2, [6], leader=6, leader_epoch=1)
    of_one(story, 27, 3, [6], leader=5, leader_epoch=2)
    to_disks(story, lost=(22,))
    assert_invalid(judge(story.run_events()), "offset 27 gives", "to broker 5")


def test_no_leader_and_an_empty_isr_elect_nobody_wrongly() -> None:
    story = clean()
    of_one(story, 21, 1, [], leader=-1, leader_epoch=1)
    of_one(story, 22, 2, [6], leader=6, leader_epoch=2)
    story.decide("AlterPartition", source(1, partition=1), [22])
    found = {each.clause for each in judge(story.run_events()).findings}
    assert "clean-election" not in found


def test_several_nodes_that_disagree_are_one_finding_an_offset() -> None:
    story = clean()
    for node in ("c2", "c3"):
        story.partition(12, 2, [4, 6], node=node)
    found = [each for each in judge(story.run_events()).findings if "disagree" in each.message]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("kind", "refused"),
    [("fail", True), ("info", False)],
)
def test_only_where_all_who_asked_were_refused(kind: Any, refused: bool) -> None:
    story = clean()
    story.alter(4, [4, 5], leader_epoch=1, type="fail", error="INVALID_UPDATE_VERSION")
    story.alter(4, [4, 5], leader_epoch=1, type=kind)
    story.alter(4, [4, 5], broker_id=5, type="info")
    story.partition(16, 5, [4, 5], leader=-1, leader_epoch=1)
    story.decide("AlterPartition", source(4), [99, 16])
    found = [each for each in judge(story.run_events()).findings if "were refused" in each.message]
    assert bool(found) == refused


# --- brute force --------------------------------------------------------------------------


@settings(max_examples=cases(150), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([-1, 5, 6]),
            st.sets(st.sampled_from([5, 6, 101]), min_size=1),
            st.booleans(),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_chain_agrees_with_brute_force(steps: list[tuple[int, set[int], bool]]) -> None:
    """Records of a partition whose leaders ask by themselves, some of them asked for. Nobody leads
    it but from its ISR, and nobody joins it unasked."""
    story = Story()
    right, epoch = True, 0
    before: tuple[int, set[int]] | None = None
    for version, (leader, isr, asked) in enumerate(steps):
        moved = before is not None and leader != before[0]
        epoch += moved
        story.partition(version, version, sorted(isr), leader=leader, leader_epoch=epoch)
        if version and asked:
            broker = before[0] if before else leader
            story.decide("AlterPartition", source(version - 1, broker_id=broker), [version])
        if before is None:
            right &= leader in {-1, *isr}
        elif moved:
            right &= leader in {-1, *before[1]}
            right &= (asked and before[0] != -1) or isr <= {leader, *before[1]}
        else:
            right &= asked or isr != before[1]
            right &= (asked and leader != -1) or isr <= before[1]
        before = leader, isr
    story.decide("AlterPartition", source(99, partition=7), [], verdict=95)
    found = {each.clause for each in judge(story.run_events()).findings}
    assert (not found & {"clean-election", "asked-joins"}) == right


# --- counts, and what gave no occasion ------------------------------------------------------------


IDLE = "no fault was injected, and no client did anything to a broker or an ISR"
FIRST = "clients were shown the first version of each partition alone"
SILENT = "by the run's settings its nodes write no events"
NOBODY = "no client asked for an ISR change"


def idle() -> Story:
    return Story()


def busy() -> Story:
    """Something was done, and nobody saw of what."""
    story = Story()
    story.inject(victims={"b1": {}})
    return story


def seen() -> Story:
    story = busy()
    story.describe("t", shown(0, [4, 5]))
    return story


def asked() -> Story:
    story = seen()
    story.alter(0, [4], type="fail", error="X")
    return story


ACCEPTED = Counts(accepted=3, accepted_known=1, accepted_owed=2)


@pytest.mark.parametrize(
    ("function", "counts", "story", "told", "silent"),
    [
        (
            requests_known,
            Counts(accepted=3, accepted_known=1, accepted_owed=2),
            asked,
            (1, 3),
            (1, 2),
        ),
        (requests_known, Counts(decisions=3), busy, 3, 3),
        (requests_known, Counts(), idle, IDLE, IDLE),
        (requests_known, Counts(), seen, FIRST, FIRST),
        (requests_known, Counts(), busy, 0, SILENT),
        (requests_known, Counts(), asked, 0, SILENT),
        (joins_known, Counts(records=9, joins=3, joins_known=2), busy, (2, 3), 2),
        (joins_known, Counts(records=9, joins=3), busy, (0, 3), SILENT),
        (joins_known, Counts(records=1), idle, IDLE, SILENT),
        (joins_known, Counts(records=1), busy, 0, SILENT),
        (joins_known, Counts(), idle, IDLE, IDLE),
        (joins_known, Counts(), asked, 0, 0),
        (joins_known, Counts(), busy, 0, 0),
        (members_known, Counts(members=2), busy, 2, 2),
        (members_known, Counts(members=2, joined=1), busy, 2, 2),
        (members_known, Counts(accepted=1), asked, 0, 0),
        (members_known, Counts(accepted=1, joined=1), asked, 0, 0),
        (members_known, Counts(joined=1), busy, 0, SILENT),
        (members_known, Counts(), asked, 0, 0),
        (members_known, Counts(), idle, IDLE, IDLE),
        (members_known, Counts(), seen, FIRST, FIRST),
        (members_known, Counts(records=1), busy, NOBODY, NOBODY),
        (members_known, Counts(records=1), asked, 0, 0),
        (members_known, Counts(), busy, 0, 0),
    ],
)
def test_what_was_too_little_is_told_by_what_clients_and_the_ledger_say(
    function: Any, counts: Counts, story: Any, told: Any, silent: Any
) -> None:
    events = story().run_events()
    assert function(counts, events) == told
    quiet = replace(events, plan={**events.plan, "capabilities": []})
    assert function(counts, quiet) == silent


def test_once_is_told_beside_what_clients_do_otherwise() -> None:
    """One that joined, by one decision; and nothing that clients did to a broker."""
    story = Story(plan={"nodes": {name: {"roles": [role]} for name, role in ROLES.items()}})
    for place, broker in enumerate((5, 6)):
        story.broker(3 + place, broker, EPOCHS[broker])
        unfence(story, 6 + place, broker)
    for offset, version, isr in ((30, 0, [6, 5]), (31, 1, [6]), (32, 2, [6, 5])):
        story.partition(offset, version, isr, leader=6)
    story.decide("AlterPartition", source(1, broker_id=6), [32])
    story.inject(victims={"b1": {}})
    story.create("u")
    counts = judge(story.run_events()).clauses
    once = "1 faults met a broker, and no client asked for an ISR change"
    for clause in ("request-is-a-record", "asked-joins", "members-in-service"):
        assert counts[clause] == once


def test_partition_of_which_no_record_is_known_has_none_too_few() -> None:
    assert judge(changed(records=False).run_events()).clauses["one-chain"] == 0


@pytest.mark.parametrize("answers", [1, 2])
def test_an_answer_on_several_partitions_is_one_sighting(answers: int) -> None:
    story = Story()
    for number in range(3):
        story.partition(20 + number, 0, [4, 5], partition_id=number)
    for _ in range(answers):
        story.describe("t", *(shown(0, [4, 5], partition=number) for number in range(3)))
    assert judge(story.run_events()).clauses["one-chain"] == answers


def test_steps_that_skip_a_version_are_no_joins() -> None:
    story = clean()
    before = judge(story.run_events()).clauses["asked-joins"]
    story.partition(70, 0, [4], partition_id=6)
    story.partition(71, 2, [4, 5], partition_id=6)
    assert judge(story.run_events()).clauses["asked-joins"] == before


def test_joins_are_counted_behind_one_of_which_nothing_is_known() -> None:
    story = clean()
    known, every = compared(story)["asked-joins"]
    states = enumerate(([6, 5], [6], [6, 5], [6], [6, 5]))
    for version, isr in states:
        story.partition(7_000 + version, version, isr, partition_id=6, leader=6)
    story.decide("AlterPartition", source(3, partition=6, broker_id=6), [7_004], as_of=60)
    assert compared(story)["asked-joins"] == (known + 1, every + 2)


def test_members_of_whom_nothing_is_known_are_too_few() -> None:
    """Not: nobody joined."""
    story = busy()
    story.partition(30, 0, [6], leader=6)
    story.partition(31, 1, [6, 5], leader=6)
    assert judge(story.run_events()).clauses["members-in-service"] == 0


@PLANTED.violation("takes broker 5 into the ISR")
def member_that_was_fenced_beside_one_of_whom_nothing_is_known(story: Story) -> None:
    fence(story, 33, 5)
    story.partition(34, 3, [6], partition_id=4, leader=6)
    story.partition(35, 4, [6, 5, 1], partition_id=4, leader=6)
    story.decide("AlterPartition", source(3, partition=4, broker_id=6), [35])


def test_what_is_on_a_disk_alone_and_not_committed_says_nothing() -> None:
    story = clean()
    head = {"source": DISK, "epoch": 1}
    state = {"topic_id": TOPIC, "partition": 0, "isr": (9,), "leader": 9, "leader_epoch": 7}
    story.tell(PartitionChanged, "c1", **head, offset=99, partition_epoch=9, **state)
    story.tell(BrokerFenced, "c1", **head, offset=71, broker_id=5, broker_epoch=EPOCHS[5])
    joined(story, 70)
    assert_valid(judge(story.run_events()))


def test_who_leads_behind_what_nobody_knows_may_be_anybody() -> None:
    story = clean()
    story.partition(70, 0, [4, 5], partition_id=6)
    head = {"node": "c1", "incarnation": "1", "seq": 1, "epoch": 1}
    story.evidence.append(EligibleForgotten(**head, offset=71, topic="t"))
    story.partition(72, 2, [6], partition_id=6, leader=6, leader_epoch=1)
    assert_valid(judge(story.run_events()))
    story.partition(73, 3, [5], partition_id=6, leader=5, leader_epoch=2)
    assert_invalid(judge(story.run_events()), "which was not in the ISR [6]")


def forgets(story: Story, offset: int) -> None:
    """Nobody of t is eligible any more: the record names no partition, and no broker."""
    head = {"node": "c1", "incarnation": "1", "seq": 1, "epoch": 1}
    story.evidence.append(EligibleForgotten(**head, offset=offset, topic="t"))


def test_who_is_in_service_is_known_behind_a_record_of_other_things() -> None:
    """Of Apache Kafka a topic that sets its in-sync replicas begins with one."""
    story = clean()
    joined(story, 70)
    before = compared(story)["members-in-service"]
    forgets(story, 39)
    assert compared(story)["members-in-service"] == before
    assert before[0] > before[1]


@PLANTED.violation(FENCED, "the record at offset 68")
def member_that_was_fenced_behind_a_record_of_other_things(story: Story) -> None:
    fence(story, 68, 5)
    forgets(story, 69)
    joined(story, 70)


@PLANTED.violation("is 0 committed records, not one")
def change_that_is_no_record_beside_a_record_of_other_things(story: Story) -> None:
    story.partition(70, 0, [4, 5, 6], partition_id=6)
    forgets(story, 71)
    story.alter(0, [4, 5], partition=6)


def test_a_produce_that_nobody_answers_is_no_want_of_occasion() -> None:
    """One was tried, and nobody knows what came of it: that is no want of occasion."""
    story = clean()
    tried = [each for each in story.operations if each.f == "produce"]
    for each in tried[1:]:
        story.operations.remove(each)
    tried[0].type, tried[0].result = "info", None
    assert_unknown(IsrChain(), story, "enough-replicas", "watermark-held")
    tried[0].type = "fail"
    assert judged(IsrChain(), story).verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("gap", "before", "after", "between"),
    [
        (5, 4, 6, True),
        (5, 5, 6, False),
        (5, 6, 7, False),
        (5, 3, 4, False),
        (5, None, 5, False),
        (5, None, 6, True),
        (0, None, 1, True),
    ],
)
def test_gaps_lie_between_records(gap: int, before: int | None, after: int, between: bool) -> None:
    def link(offset: int) -> Link:
        (change,) = records_of(offset)
        return Link(offset, 1, 0, State(4, 0, frozenset()), change)

    first = None if before is None else link(before)
    assert Gaps((gap,)).between(first, link(after)) is between


def records_of(offset: int) -> list[PartitionState]:
    story = Story()
    story.partition(offset, 1, [4])
    return list(story.run_events().of(PartitionState))


def test_decision_on_a_first_record_has_none_before_it() -> None:
    story = clean()
    story.decide("AlterPartition", source(5, partition=1), [20])
    assert_valid(judge(story.run_events()))


@PLANTED.violation("named epoch 99 of broker 5")
def member_of_another_epoch_behind_one_that_has_none(story: Story) -> None:
    accepted_with(story, isr_epochs=[-1, 99])
