"""Decisions of controllers, decided anew (D.24)."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from contract import Plants
from controller_cores import decided_log
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_logs import LogStory
from planted_runs import OTHER, TOPIC, accepted, assert_invalid, assert_valid, change

from checkers.decision_conformance import UNCLEAN, DecisionConformance, decision_conformance
from checkers.folds.decisions.told_decisions import _words_of_controllers
from framework.evidence.requests import Decided, IsrDecided
from framework.evidence.systems import Promised
from framework.history.event import CompletionType
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS
from framework.plugins.outcomes import (
    ABSENT,
    CLIENT_TIMED_OUT,
    CONNECTION_FAILED,
    CONNECTION_LOST,
    MALFORMED_RESPONSE,
    PRESENT,
    STALE,
)
from framework.verdict import Verdict
from tests.cases import cases

CHECKER = DecisionConformance()
KEEPERS = ("c1", "c2", "c3")
EVENT_CLAUSES = ("isr-refused", "topics", "brokers")
"""Those for which events are needed, where no two changes enclose a third."""


@dataclass
class Decisions(LogStory):
    """A controller that decides as it is told to."""

    def beat_of(
        self,
        broker: int,
        target: str = "ACTIVE",
        epoch: int | None = None,
        records: int = 0,
        code: int = 0,
    ) -> Operation:
        """A client's heartbeat; so many records follow."""
        epoch = self.epochs.get(broker, -1) if epoch is None else epoch
        names = {"ACTIVE": "active", "SHUTDOWN": "leaving", "FENCED": "fenced"}
        value = {"broker_id": broker, "broker_epoch": epoch, "target": names[target]}
        source = {"broker_id": broker, "broker_epoch": epoch, "target": target}
        asked = self.invoke("heartbeat", f"broker-{broker}", value)
        self._decide("BrokerHeartbeat", source, records, code)
        if code:
            ext = {"asserts": STALE}
            return self.complete(asked, "fail", error="STALE_BROKER_EPOCH", ext=ext)
        return self.complete(asked, result={"broker_epoch": epoch})

    def join(self, *brokers: int) -> None:
        """Clients' brokers register, and come into service."""
        for broker in brokers:
            self.beat_of(broker, records=1)
            self.register(broker)
            self.beat_of(broker, records=1)
            self.unfence(broker)

    def topic_of(self, f: str, name: str, records: int = 0, asserts: str = "") -> None:
        """A client's create or delete; so many records follow, or it is refused as `asserts`."""
        asked = self.invoke(f, name, {} if f == "create" else None, node="b1")
        api = "CreateTopics" if f == "create" else "DeleteTopics"
        self._decide(api, {"topic": name}, records, 1 if asserts else 0)
        if asserts:
            self.complete(asked, "fail", error="REFUSED", ext={"asserts": asserts})
        else:
            self.complete(asked, result={"topic_id": TOPIC})

    def alters(self, isr: list[int], *, refused: bool = False, **asked: Any) -> None:
        """Broker 4's change of t/0, right but for `asked`, accepted as it is."""
        leader, leader_epoch, version = self.versions[TOPIC, 0]
        named = {"broker_id": leader, "leader_epoch": leader_epoch, **asked}
        named.setdefault("broker_epoch", self.epochs.get(named["broker_id"], 0))
        value = change(asked.get("partition_epoch", version), isr, **named)
        operation = self.invoke("alter-isr", "t/0", value)
        if refused:
            self._decide("AlterPartition", value, 0, 95)
            self.complete(operation, "fail", error="REFUSED")
        else:
            self._decide("AlterPartition", value, 1, 0)
            made = accepted(value) | {"partition_epoch": version + 1}
            self.isr(isr, leader)
            self.complete(operation, result=made)

    def _decide(self, api: str, source: dict[str, Any], records: int, code: int) -> None:
        offsets = list(range(self.offset, self.offset + records))
        reported = {"as_of": self.offset, "epoch": self.epoch, "verdict": code}
        self.decide(api, source, offsets, **reported)


def clean(*, readers: tuple[str, ...] = ("c1", "b1"), keepers: tuple[str, ...] = ()) -> Decisions:
    """Brokers, topics and ISRs; what is accepted could be, and what is refused could not."""
    story = Decisions(readers=readers, keepers=keepers)
    story.join(4, 5, 6)
    story.topic_of("create", "t", 2)
    story.topic()
    story.new_partition([4, 5, 6])
    story.topic_of("create", "t", asserts=PRESENT)
    story.topic_of("delete", "u", asserts=ABSENT)
    story.alters([4, 5])
    story.alters([4, 6], refused=True, partition_epoch=0)
    story.alters([4, 5, 6])
    story.alters([4, 6], refused=True, broker_epoch=3)
    story.alters([4, 5], refused=True, broker_id=5, broker_epoch=2)
    story.alters([4, 6], refused=True, leader_epoch=1)
    story.alters([5, 6], refused=True)
    story.beat_of(5, epoch=7, code=77)
    story.fence(5)
    story.isr([4, 6], 4)
    story.alters([4, 5, 6], refused=True)
    story.fence(4)
    story.isr([6], 6)
    story.join(4)
    story.beat_of(6)
    story.topic_of("create", "u", 2)
    story.topic("u", OTHER)
    story.new_partition([4, 6], topic_id=OTHER)
    story.topic_of("delete", "u", 2)
    story.drop("u", OTHER)
    story.record("NoOpRecord")
    return story


def quiet() -> Decisions:
    """In the middle of a run: broker 4 leads t/0 with all of its replicas."""
    story = Decisions()
    story.join(4, 5, 6, 7)
    story.topic_of("create", "t", 2)
    story.topic()
    story.new_partition([4, 5, 6])
    return story


PLANTED = Plants(clean)


# --- changes of ISRs ----------------------------------------------------------------------


@PLANTED.violation(
    "accepted to ISR [4, 5]", f"{TOPIC}/0", "version 0", "the version is 1", on=quiet
)
def change_of_a_version_that_is_over(story: Decisions) -> None:
    story.alters([4])
    story.alters([4, 5], partition_epoch=0)


@PLANTED.violation("under broker epoch 3", "the epoch of broker 4 is 0", on=quiet)
def change_under_another_broker_epoch(story: Decisions) -> None:
    story.alters([4, 5], broker_epoch=3)


@PLANTED.violation("the leader epoch is 0", on=quiet)
def change_in_another_leader_epoch(story: Decisions) -> None:
    story.alters([4, 5], leader_epoch=1)


@PLANTED.violation("the leader is 4", on=quiet)
def change_by_another_broker(story: Decisions) -> None:
    story.alters([4, 5], broker_id=5)


@PLANTED.violation("broker 9 is not registered", on=quiet)
def change_by_a_broker_that_nobody_knows(story: Decisions) -> None:
    story.alters([4, 5], broker_id=9)


@PLANTED.violation("broker 6 is fenced", on=quiet)
def member_that_is_fenced(story: Decisions) -> None:
    story.alters([4, 5])
    story.fence(6)
    story.alters([4, 6])


@PLANTED.violation("to ISR [4, 9]", "broker 9 is not registered", on=quiet)
def member_that_nobody_knows(story: Decisions) -> None:
    story.new_partition([4, 9], 1, isr=[4])
    asked = change(0, [4, 9], broker_epoch=0, partition=1)
    operation = story.invoke("alter-isr", "t/1", asked)
    story.isr([4, 9], 4, 1)
    story.complete(operation, result=accepted(asked))


@PLANTED.violation("the epoch of broker 5 is 2", on=quiet)
def member_of_a_former_epoch(story: Decisions) -> None:
    story.alters([4, 5], isr_epochs=[0, 1])


@PLANTED.violation("the replicas are [4, 5, 6]", on=quiet)
def member_that_is_no_replica(story: Decisions) -> None:
    story.alters([4, 7])


@PLANTED.violation("a member stands twice", on=quiet)
def member_twice(story: Decisions) -> None:
    story.alters([4, 5, 5])


@PLANTED.violation("its leader 4 is not among them", on=quiet)
def leader_leaves_itself_out(story: Decisions) -> None:
    story.alters([5, 6])


@PLANTED.violation("there is no such partition", on=quiet)
def partition_that_is_gone(story: Decisions) -> None:
    story.drop()
    story.alters([4, 5])


@PLANTED.violation("to ISR [4, 5]; its record", "ISR [4, 5, 6]", on=quiet)
def record_has_another_isr_than_was_asked_for(story: Decisions) -> None:
    operation = story.invoke("alter-isr", "t/0", change(0, [4, 5], broker_epoch=0))
    story.isr([4, 5, 6], 4)
    story.complete(operation, result=accepted(operation.value))


@PLANTED.violation("broker 4's change", "has leader 5", on=quiet)
def record_has_another_leader(story: Decisions) -> None:
    story.decide("AlterPartition", change(0, [], broker_epoch=0), [story.offset])
    story.isr([4, 5], 5)


def completes(story: Decisions, **named: Any) -> None:
    """4's wish, by which t/0 goes to 7 and 5, who leads."""
    going = {"adding_replicas": [7], "removing_replicas": [4, 6]}
    story.move([7, 5, 4, 6], isr=[4, 5, 6], **going)
    story.decide("AlterPartition", change(1, [], **{"broker_epoch": 0, **named}), [story.offset])
    story.move([7, 5], leader=7, rises=True)


def test_a_wish_that_completes_a_reassignment_may_have_another_leader() -> None:
    story = quiet()
    completes(story)
    assert not decision_conformance(story.run_events()).findings
    for isr in ([7], [5, 7]):
        story.alters(isr)
    accepted_ = clause_of(judged(CHECKER, story), "isr-accepted")
    assert (accepted_.verdict, accepted_.compared) == (Verdict.VALID, 1 + 2 * 2)


@PLANTED.violation("under broker epoch 3", "the epoch of broker 4 is 0", on=quiet)
def reassignment_completed_by_another_broker_epoch(story: Decisions) -> None:
    completes(story, broker_epoch=3)


@PLANTED.violation("under broker epoch 3", "the epoch of broker 4 is 0", on=quiet)
def broker_that_no_client_plays_has_another_epoch(story: Decisions) -> None:
    story.decide("AlterPartition", change(0, [], broker_epoch=3), [story.offset])
    story.isr([4, 5], 4)


@PLANTED.violation("to ISR [4, 5] was refused", "version 0 are those below", on=quiet)
def right_change_is_refused(story: Decisions) -> None:
    story.alters([4, 5], refused=True)
    story.record("NoOpRecord")


def enclosed(
    story: Decisions,
    *,
    epoch: int = 1,
    node: str | None = "c1",
    type: CompletionType = "fail",
    late: bool = False,
    between: Any = None,
) -> None:
    """A right change is refused, between two that are accepted; no controller tells of it."""
    story.alters([4, 5])
    if between is not None:
        between(story)
    asked = change(1, [4, 5, 6], broker_epoch=0)
    operation = story.invoke("alter-isr", "t/0", asked, node=node or "")
    if not late:
        story.complete(operation, type, error="REFUSED")
        story.operations[-1] = replace(story.operations[-1], node=node)
    story.epoch = epoch
    story.alters([4])
    if late:
        story.complete(operation, type, error="REFUSED")


PLANTED.violation("to ISR [4, 5, 6] was refused", "version 1", on=quiet, name="by clients alone")(
    enclosed
)


# --- topics and brokers -------------------------------------------------------------------


@PLANTED.violation("c1's decision on CreateTopics of t", f"topic {TOPIC} has that name", on=quiet)
def name_that_is_taken(story: Decisions) -> None:
    story.topic_of("create", "t", 2)
    story.topic("t", OTHER)
    story.new_partition([4], topic_id=OTHER)


@PLANTED.violation("DeleteTopics of u", "no topic has that name", on=quiet)
def deletion_of_what_is_not_there(story: Decisions) -> None:
    story.topic_of("delete", "u", 2)
    story.drop()


@PLANTED.violation("CreateTopics of u", "refused as present", "it is not", on=quiet)
def creation_refused_though_the_name_is_free(story: Decisions) -> None:
    story.topic_of("create", "u", asserts=PRESENT)
    story.record("NoOpRecord")


@PLANTED.violation("DeleteTopics of t", "refused as absent", "it is not", on=quiet)
def deletion_refused_though_the_topic_is_there(story: Decisions) -> None:
    story.topic_of("delete", "t", asserts=ABSENT)
    story.record("NoOpRecord")


@PLANTED.violation("DeleteTopics of t", "do not do that, or more than that", on=quiet)
def another_topic_is_deleted(story: Decisions) -> None:
    story.topic("u", OTHER)
    story.new_partition([4], topic_id=OTHER)
    story.topic_of("delete", "t", 2)
    story.drop("u", OTHER)


@PLANTED.violation("CreateTopics of u", "do not do that, or more than that", on=quiet)
def topic_of_another_name_is_made(story: Decisions) -> None:
    story.topic_of("create", "u", 2)
    story.topic("v", OTHER)
    story.new_partition([4], topic_id=OTHER)


@PLANTED.violation("broker 5 under epoch 1", "accepted", "its epoch is 2", on=quiet)
def heartbeat_under_a_former_epoch(story: Decisions) -> None:
    story.beat_of(5, epoch=1)
    story.record("NoOpRecord")


@PLANTED.violation("broker 9 under epoch 1", "broker 9 is not registered", on=quiet)
def heartbeat_of_a_broker_that_nobody_knows(story: Decisions) -> None:
    story.beat_of(9, epoch=1)
    story.record("NoOpRecord")


@PLANTED.violation("broker 9", "nothing registers the broker", on=quiet)
def registration_that_is_none(story: Decisions) -> None:
    story.beat_of(9)
    story.record("NoOpRecord")


@PLANTED.violation("broker 5 under epoch 2", "refused as stale", on=quiet)
def heartbeat_refused_though_it_is_current(story: Decisions) -> None:
    story.beat_of(5, code=77)
    story.record("NoOpRecord")


@PLANTED.violation("broker 5", "is of broker 6", on=quiet)
def heartbeat_fences_another_broker(story: Decisions) -> None:
    story.beat_of(5, records=1)
    story.fence(6)


@PLANTED.violation("broker 5", "unfences it, which it did not ask for", on=quiet)
def broker_that_leaves_is_taken_into_service(story: Decisions) -> None:
    story.beat_of(5, "SHUTDOWN", records=1)
    story.unfence(5)


@PLANTED.violation("broker 5", "is of broker 6", on=quiet)
def heartbeat_registers_another_broker(story: Decisions) -> None:
    story.beat_of(5, records=1)
    story.register(6)


@PLANTED.violation("broker 5", "is of broker 6", on=quiet)
def heartbeat_takes_another_broker_into_service(story: Decisions) -> None:
    story.fence(6)
    story.beat_of(5, records=1)
    story.unfence(6)


@PLANTED.violation("broker 7", "which it is not of", on=quiet)
def heartbeat_changes_a_partition_of_others(story: Decisions) -> None:
    story.beat_of(7, records=1)
    story.isr([4, 5], 4)


# --- leaders ------------------------------------------------------------------------------


@PLANTED.violation("has a replica twice", on=quiet)
def replica_twice(story: Decisions) -> None:
    story.new_partition([4, 4], 1, isr=[4])


@PLANTED.violation("is given to [9], not registered", on=quiet)
def replica_that_nobody_knows(story: Decisions) -> None:
    story.new_partition([4, 9], 1, isr=[4])


@PLANTED.violation("leaves [5], in service, out of the ISR [4]", on=quiet)
def replica_in_service_that_is_not_in_sync(story: Decisions) -> None:
    story.new_partition([4, 5], 1, isr=[4])


@PLANTED.violation("is led by 6, not of its ISR [4, 5]", on=quiet)
def new_partition_led_from_outside(story: Decisions) -> None:
    story.new_partition([4, 5], 1, leader=6)


@PLANTED.violation("is led by nobody though [4, 5] can", on=quiet)
def new_partition_without_a_leader(story: Decisions) -> None:
    story.new_partition([4, 5], 1, leader=-1)


@PLANTED.violation("makes 6 its leader, who was not of the ISR [4, 5]", on=quiet)
def unclean_leader(story: Decisions) -> None:
    story.alters([4, 5])
    story.fence(4)
    story.isr([5, 6], 6)


@PLANTED.violation("makes 5 its leader, who is not in service", on=quiet)
def leader_that_is_fenced(story: Decisions) -> None:
    story.fence(5)
    story.isr([4, 5], 5)


@PLANTED.violation("leaves nobody to lead though [5] can", on=quiet)
def nobody_leads_though_one_can(story: Decisions) -> None:
    story.fence(4)
    story.isr([5], -1)


def last_of_two() -> Decisions:
    """Broker 4 leads t/0 and u/0, and nobody else is in sync."""
    story = quiet()
    story.topic("u", OTHER)
    story.new_partition([4, 5], topic_id=OTHER)
    for broker in (5, 6):
        story.fence(broker)
    for topic_id in (TOPIC, OTHER):
        story.isr([4], 4, topic_id=topic_id)
    return story


def led_by_nobody(story: Decisions) -> None:
    for topic_id in (TOPIC, OTHER):
        story.isr([4], -1, topic_id=topic_id)


@PLANTED.violation("leaves nobody to lead though [4] can", on=last_of_two)
def nobody_leads_though_another_is_unregistered(story: Decisions) -> None:
    led_by_nobody(story)
    story.unregister(7)


@PLANTED.violation("leaves nobody to lead though [4] can", on=last_of_two)
def nobody_leads_long_before_one_is_unregistered(story: Decisions) -> None:
    led_by_nobody(story)
    story.record("NoOpRecord")
    story.unregister(4)


# --- what looks alike ---------------------------------------------------------------------


def test_who_is_unregistered_next_leads_nothing_any_more() -> None:
    """The last member of an ISR stays in it."""
    story = last_of_two()
    led_by_nobody(story)
    story.unregister(4)
    assert not decision_conformance(story.run_events()).findings


def test_quiet_run_is_accepted() -> None:
    outcome = decision_conformance(quiet().run_events())
    assert_valid(outcome)
    assert (outcome.clauses or {})["brokers"] == 8


def test_disks_and_clients_are_enough_for_what_was_accepted() -> None:
    story = clean(readers=(), keepers=KEEPERS)
    result = judged(CHECKER, silent(story))
    assert clause_of(result, "isr-accepted").verdict is Verdict.VALID
    assert clause_of(result, "leaders").verdict is Verdict.VALID
    assert not result.findings


@pytest.mark.parametrize("name", ["member that is fenced", "by clients alone", "unclean leader"])
def test_found_without_any_event(name: str) -> None:
    """What has consequences on disk."""
    story: Any = PLANTED[name].story()
    for event in story.events:
        if event.type == "apply" and event.node == "c1":
            fields = dict(event.fields)
            for node in KEEPERS:
                story.disks.write(
                    node, fields["epoch"], fields["kind"], base=fields["offset"], **fields["record"]
                )
    result = judged(CHECKER, silent(story))
    assert result.verdict is Verdict.INVALID
    assert {each for found in result.findings for each in found.contracts} <= {CLIENTS, DISKS}


def test_nodes_that_tell_nothing_are_not_believed() -> None:
    every = [each.name for each in CHECKER.clauses]
    assert_unknown(CHECKER, silent(clean()), *every)
    assert_unknown(CHECKER, silent(clean(keepers=KEEPERS)), *EVENT_CLAUSES)


def test_controller_that_leaves_its_refusals_out_is_not_believed() -> None:
    """Decisions alone are missing; the log is told."""
    story = silent(clean())
    story.events = [each for each in clean().events if each.type != "decide"]
    assert_unknown(CHECKER, story, *EVENT_CLAUSES)


MANY = 6
ANSWERED: dict[str, Any] = {
    "isr-refused": lambda story: story.alters([4, 5], refused=True, partition_epoch=7),
    "topics": lambda story: story.topic_of("create", "t", asserts=PRESENT),
    "deletions": lambda story: story.topic_of("delete", "u", asserts=ABSENT),
    "brokers": lambda story: story.beat_of(5, epoch=7, code=77),
}
"""Clause, or a part of one -> what clients are answered, rightly."""


def unreported(clause: str, count: int, made_up: str = "", many: int = MANY) -> Decisions:
    """Of the last answers so many are not told; or as those of requests with another such field."""
    story = clean()
    for _ in range(many):
        ANSWERED[clause](story)
    story.record("NoOpRecord")
    decisions = [each for each in story.events if each.type == "decide"]
    for each in decisions[len(decisions) - count :]:
        if not made_up:
            story.events.remove(each)
            continue
        for said in (each.fields["source"], *each.fields["items"]):
            if made_up in said:
                said[made_up] += "0" if made_up == "topic" else 1
    return story


@pytest.mark.parametrize(
    ("answered", "made_up"),
    [
        *((each, "") for each in ANSWERED),
        ("isr-refused", "broker_id"),
        ("isr-refused", "broker_epoch"),
        ("isr-refused", "leader_epoch"),
        ("isr-refused", "partition_epoch"),
        ("topics", "topic"),
        ("brokers", "broker_epoch"),
    ],
)
def test_controllers_have_to_tell_of_most_that_clients_were_answered(
    answered: str, made_up: str
) -> None:
    """What they leave out may be what is wrong, and what they make up is no answer."""
    most = 4 if answered == "brokers" else 3  # of more than fifteen heartbeats a quarter
    clause = "topics" if answered == "deletions" else answered
    known = clause_of(judged(CHECKER, unreported(answered, most, made_up)), clause)
    assert known.verdict is Verdict.VALID, known.note
    assert_unknown(CHECKER, unreported(answered, most + 1, made_up), clause)


def test_of_sixteen_answers_four_may_be_lost() -> None:
    """Six of which are in every such story."""
    enough = judged(CHECKER, unreported("isr-refused", 4, many=10))
    assert clause_of(enough, "isr-refused").verdict is Verdict.VALID
    assert_unknown(CHECKER, unreported("isr-refused", 4, many=9), "isr-refused")


def test_what_need_not_be_reported_is_not_missed() -> None:
    """Accepted changes of ISRs are in the log, and of unknown outcomes nobody knows what was
    decided."""
    story = clean()
    for number in range(MANY):
        story.alters([4, 6] if number % 2 else [6])
    for each in [each for each in story.events if each.type == "decide"][-MANY:]:
        story.events.remove(each)
    for _ in range(MANY):
        story.op("create", "t", {}, type="info", error="REFUSED", ext={"asserts": PRESENT})
    result = judged(CHECKER, story)
    assert clause_of(result, "isr-refused").verdict is Verdict.VALID
    assert clause_of(result, "topics").verdict is Verdict.VALID


def test_epochs_that_requests_do_not_carry_are_reported_as_none() -> None:
    story = clean()
    for _ in range(MANY):
        story.alters([4, 5], refused=True, partition_epoch=7, broker_epoch=None)
    assert clause_of(judged(CHECKER, story), "isr-refused").verdict is Verdict.VALID


@pytest.mark.parametrize("clause", ["topics", "brokers"])
def test_controllers_have_to_tell_of_what_they_accepted(clause: str) -> None:
    def story(count: int) -> Decisions:
        made = clean()
        for number in range(MANY):
            if clause == "brokers":
                made.beat_of(5)
            else:
                made.topic_of("create", f"v{number}", 1)
                made.topic(f"v{number}", f"33333333-3333-3333-3333-{number:012d}")
        made.record("NoOpRecord")
        for each in [each for each in made.events if each.type == "decide"][-count:]:
            made.events.remove(each)
        return made

    most = 4 if clause == "brokers" else 3
    assert clause_of(judged(CHECKER, story(most)), clause).verdict is Verdict.VALID
    assert_unknown(CHECKER, story(most + 1), clause)


@pytest.mark.parametrize("code", [CONNECTION_FAILED, "NOT_CONTROLLER"])
def test_refusals_of_no_controller_need_not_be_reported(code: str) -> None:
    """Though a controller decided on the same as one of them asked for, and nobody was answered."""
    story = clean()
    story._decide("AlterPartition", change(50, [4, 5]), 0, 95)
    for version in range(MANY):
        story.complete(
            story.invoke("alter-isr", "t/0", change(version + 50, [4, 5])), "fail", error=code
        )
    assert clause_of(judged(CHECKER, story), "isr-refused").verdict is Verdict.VALID


def test_without_an_occasion_nothing_is_claimed() -> None:
    story = Decisions()
    story.join(4, 5)
    story.topic_of("create", "t", 2)
    story.topic()
    story.new_partition([4, 5])
    story.alters([4], refused=True, partition_epoch=7)
    story.op("alter-isr", "t/0", change(7, [4]), accepted(change(7, [4])))
    found = {each.name: each.verdict for each in judged(CHECKER, story).clauses}
    assert found.pop("brokers") is Verdict.VALID
    assert set(found.values()) == {None}


def test_nodes_that_write_no_events_by_their_settings_miss_no_occasion() -> None:
    story = silent(clean(readers=(), keepers=KEEPERS))
    story.plan = {**story.plan, "capabilities": ["disk:applied"]}
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.VALID, result.note
    assert clause_of(result, "brokers").verdict is None


def test_state_that_was_never_committed_decides_nothing() -> None:
    """A leader refuses on records that only it has: they may say what the log does not."""
    story = quiet()
    story.offset += 1
    story.alters([4, 5], refused=True)
    story.topic_of("create", "u", asserts=PRESENT)
    story.offset -= 1
    story.epoch = 2
    for _ in range(4):
        story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


def test_leader_without_a_record_decides_on_the_empty_log_alone() -> None:
    for as_of, verdict in ((0, Verdict.INVALID), (1, Verdict.VALID)):
        story = quiet()
        story.offset, story.epoch = as_of, 9
        story.topic_of("create", "u", asserts=PRESENT)
        assert decision_conformance(story.run_events()).verdict is verdict


def test_decision_on_what_was_never_committed_hides_no_other() -> None:
    story = quiet()
    story.offset += 5
    story.topic_of("create", "u", asserts=PRESENT)
    story.offset -= 5
    story.topic_of("create", "v", asserts=PRESENT)
    assert_invalid(decision_conformance(story.run_events()), "CreateTopics of v")


def test_deletion_of_which_the_log_has_but_the_beginning_says_nothing() -> None:
    story = quiet()
    story.topic_of("delete", "t", 2)
    story.record("TopicRecord", name="t", topic_id=TOPIC, deleting=True)
    assert_valid(decision_conformance(story.run_events()))


def test_member_that_may_be_shutting_down_may_be_refused() -> None:
    story = quiet()
    story.beat(5, "SHUTDOWN", [])
    story.alters([4, 5], refused=True)
    story.alters([4, 6])
    assert_valid(decision_conformance(story.run_events()))


def test_member_whose_client_asked_to_leave_may_be_refused() -> None:
    """Its controller does not tell of that."""
    story = quiet()
    value = {"broker_id": 5, "broker_epoch": story.epochs[5], "target": "leaving"}
    story.op("heartbeat", "broker-5", value, type="info")
    story.alters([4, 5], refused=True)
    story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


def test_member_that_is_fenced_later_may_have_been_leaving() -> None:
    """Nobody told of its wish."""
    story = quiet()
    story.alters([4, 5], refused=True)
    story.fence(5)
    assert_valid(decision_conformance(story.run_events()))


def test_nobody_need_lead_where_controllers_do_not_tell_who_leaves() -> None:
    story: Any = PLANTED["nobody leads though one can"].story()
    story.events = [each for each in story.events if each.type != "decide"]
    assert not decision_conformance(story.run_events()).findings


@pytest.mark.parametrize("saw", [PRESENT, None])
def test_topics_that_clients_made_or_found_there_are_an_occasion(saw: str | None) -> None:
    story = Decisions()
    for _ in range(2):
        asked = story.invoke("create", "t", {})
        if saw is None:
            story.complete(asked, result={"topic_id": TOPIC})
        else:
            story.complete(asked, "fail", error="REFUSED", ext={"asserts": saw})
    assert clause_of(judged(CHECKER, story), "topics").verdict is Verdict.UNKNOWN


def test_nobody_need_lead_whom_controllers_were_reported_that_he_leaves() -> None:
    story = quiet()
    story.beat(5, "SHUTDOWN", [])
    story.fence(4)
    story.isr([5], -1)
    assert_valid(decision_conformance(story.run_events()))


def test_epochs_that_are_not_reported_are_not_missed() -> None:
    story = quiet()
    story.alters([4, 5], isr_epochs=[0, -1])
    story.decide("AlterPartition", change(1, [], broker_epoch=-1), [story.offset])
    story.isr([4], 4)
    assert_valid(decision_conformance(story.run_events()))


def test_replica_that_is_out_of_service_is_not_in_sync() -> None:
    story = quiet()
    story.fence(5)
    story.new_partition([4, 5], 1, isr=[4])
    assert_valid(decision_conformance(story.run_events()))


def test_leader_that_stays_is_not_elected() -> None:
    story = quiet()
    story.fence(4)
    story.isr([4, 5], 4)
    assert_valid(decision_conformance(story.run_events()))


def test_partition_that_is_there_is_not_placed_anew() -> None:
    story = quiet()
    story.new_partition([4, 5, 6], isr=[4])
    assert_valid(decision_conformance(story.run_events()))


def test_nobody_leads_where_nobody_in_sync_is_in_service() -> None:
    """A replica that is leaving need not be in sync, either."""
    story = quiet()
    story.alters([4])
    story.fence(4)
    story.isr([4], -1)
    story.beat(6, "SHUTDOWN", [])
    story.new_partition([6, 4], 1, isr=[4], leader=-1)
    assert_valid(decision_conformance(story.run_events()))


def test_whom_an_empty_isr_lets_lead_is_left_open() -> None:
    story = quiet()
    story.isr([], -1)
    story.isr([5], 5)
    assert_valid(decision_conformance(story.run_events()))


def test_new_partition_of_replicas_that_are_out_of_service_has_no_leader() -> None:
    story = quiet()
    for broker in (5, 6):
        story.fence(broker)
    story.new_partition([5, 6], 1, leader=-1)
    assert_valid(decision_conformance(story.run_events()))


def test_refusal_that_may_have_been_anothers_says_nothing() -> None:
    """A rival of the same epochs, whose end nobody knows, may be whom it was about."""
    story = quiet()
    story.invoke("alter-isr", "t/0", change(0, [4, 9], broker_epoch=0))
    story.alters([4, 5], refused=True)
    story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


def test_refusal_that_may_have_been_of_another_right_one_says_nothing() -> None:
    """Of two, one has no answer: it may be the one that was refused, when it was over."""
    story = quiet()
    story.invoke("alter-isr", "t/0", change(0, [4, 6], broker_epoch=0))
    story.alters([4, 5], refused=True)
    for f, name, saw in (("create", "u", PRESENT), ("delete", "t", ABSENT)):
        story.invoke(f, name, {})
        story.topic_of(f, name, asserts=saw)
    story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


def test_refusal_of_two_says_nothing_where_one_of_them_was_due() -> None:
    """Both clients were refused, and one of them by no controller: it may be the right one."""
    story = quiet()
    rival = story.invoke("alter-isr", "t/0", change(0, [4, 9], broker_epoch=0))
    story.alters([4, 5], refused=True)
    story.complete(rival, "fail", error=CONNECTION_FAILED)
    story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


def test_whether_it_was_refused_older_nodes_did_not_tell() -> None:
    """The one client that may have asked was never heard, and somebody else's was accepted."""
    story = quiet()
    asked = story.invoke("alter-isr", "t/0", change(0, [4, 5], broker_epoch=0))
    story.decide("AlterPartition", asked.value, [story.offset], older=True)
    story.complete(asked, "fail", error=CONNECTION_FAILED)
    story.isr([4, 5], 4)
    assert_valid(decision_conformance(story.run_events()))


def test_refusal_of_what_is_stale_is_judged_without_its_client() -> None:
    story = quiet()
    decided = {"as_of": story.offset, "epoch": story.epoch, "verdict": 1}
    for stale in ({"leader_epoch": 1}, {"partition_epoch": 7}):
        story.decide("AlterPartition", change(0, [], broker_epoch=0) | stale, [], **decided)
    outcome = decision_conformance(story.run_events())
    assert_valid(outcome)
    assert (outcome.clauses or {})["isr-refused"] == 2


def test_due_refusal_of_a_member_is_counted() -> None:
    story = quiet()
    story.fence(5)
    for _ in range(2):
        story.alters([4, 5], refused=True)
    outcome = decision_conformance(story.run_events())
    assert_valid(outcome)
    assert (outcome.clauses or {})["isr-refused"] == 2


def test_refusal_of_two_is_not_counted_where_one_of_them_is_unknown() -> None:
    story = quiet()
    story.beat(5, "SHUTDOWN", [])
    for _ in range(2):
        rival = story.invoke("alter-isr", "t/0", change(0, [4, 5], broker_epoch=0))
        story.alters([4, 6], refused=True)
        story.complete(rival, "fail", error=CONNECTION_FAILED)
    outcome = decision_conformance(story.run_events())
    assert_valid(outcome)
    assert (outcome.clauses or {})["isr-refused"] == 0


def test_refusal_that_no_client_was_answered_says_nothing() -> None:
    story = quiet()
    decided = {"as_of": story.offset, "epoch": story.epoch, "verdict": 1}
    for _ in range(2):
        story.decide("AlterPartition", change(0, [4, 5], broker_epoch=0), [], **decided)
    story.decide("CreateTopics", {"topic": "u"}, [], **decided)
    story.record("NoOpRecord")
    outcome = decision_conformance(story.run_events())
    assert_valid(outcome)
    assert isinstance((outcome.clauses or {})["isr-refused"], str)


def test_answer_of_unknown_outcome_is_no_refusal() -> None:
    """It may be of a second attempt, which saw what the first one did."""
    story = quiet()
    asked = story.invoke("create", "u", {})
    decided = {"as_of": story.offset, "epoch": story.epoch, "verdict": 1}
    story.decide("CreateTopics", {"topic": "u"}, [], **decided)
    story.complete(asked, "info", error="REFUSED", ext={"asserts": PRESENT})
    story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


def test_heartbeat_that_is_refused_for_another_reason_says_nothing() -> None:
    story = quiet()
    story.beat_of(5, code=41)
    (*_, asked) = story.operations
    story.operations[-1] = replace(asked, error=("NOT_CONTROLLER", ""), ext={})
    story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


def test_due_refusals_are_counted() -> None:
    story = quiet()
    story.beat_of(5, epoch=7, code=77)
    story.beat_of(9, code=77)
    story.topic_of("create", "t", asserts=PRESENT)
    clauses = decision_conformance(story.run_events()).clauses or {}
    assert (clauses["brokers"], clauses["topics"]) == (9, 2)


def test_creation_of_what_is_not_reported_says_nothing() -> None:
    story = quiet()
    story.decide("CreateTopics", {}, [], as_of=story.offset, epoch=story.epoch)
    assert_valid(decision_conformance(story.run_events()))


def test_heartbeat_of_nobody_says_nothing() -> None:
    story = quiet()
    decided = {"as_of": story.offset, "epoch": story.epoch}
    story.decide("BrokerHeartbeat", {"broker_epoch": 7}, [], **decided)
    assert_valid(decision_conformance(story.run_events()))


def test_only_a_newcomer_that_had_to_wait_claims_an_id() -> None:
    def refused(story: Decisions) -> None:
        story.beat_of(5, code=77)
        assert_invalid(decision_conformance(story.run_events()), "refused as stale")

    story = quiet()
    story.beat_of(5)
    refused(story)
    story = quiet()
    story.beat_of(5, epoch=-1, code=77)
    refused(story)
    story = quiet()
    decided = {"as_of": story.offset, "epoch": story.epoch}
    story.decide("DescribeQuorum", {"broker_id": 5}, [], **decided)
    refused(story)


def test_heartbeat_of_an_unknown_broker_is_wrong_for_one_reason() -> None:
    story: Any = PLANTED["heartbeat of a broker that nobody knows"].story()
    assert len(decision_conformance(story.run_events()).findings) == 1


def test_heartbeat_that_changes_a_partition_nobody_knows() -> None:
    """That there is none is for others to say."""
    story = quiet()
    story.beat_of(5, records=1)
    story.versions[TOPIC, 9] = (5, 0, 0)
    story.isr([5], 5, 9)
    assert_valid(decision_conformance(story.run_events()))


def test_process_that_has_no_epoch_yet_may_be_refused() -> None:
    story = quiet()
    story.beat_of(9, code=77)
    story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


@pytest.mark.parametrize("older", [True, False])
def test_request_of_several_partitions_makes_records_of_each(older: bool) -> None:
    """Which is whose, need not be told."""
    story = quiet()
    story.new_partition([4, 5], 1)
    asked = change(0, [4, 5], broker_epoch=0)
    made = list(range(story.offset, story.offset + 3))
    story.decide("AlterPartition", asked, made, older=older)
    story.isr([5], 5, 1)
    story.isr([4, 5], 4)
    story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


def test_refusal_for_another_reason_says_nothing() -> None:
    story = quiet()
    story.topic_of("create", "u", asserts="no room")
    story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


def test_answer_that_is_remembered_is_no_decision() -> None:
    """A create that was asked again: its topic is there, by its own first attempt."""
    story = quiet()
    story.topic_of("create", "t")
    story.record("NoOpRecord")
    assert_valid(decision_conformance(story.run_events()))


def test_unclean_leader_that_somebody_allowed() -> None:
    for scope in ("topic", "settings"):
        story = quiet()
        if scope == "topic":
            story.config(UNCLEAN, "true")
        else:
            story.plan = {**story.plan, "settings": {"c1": {UNCLEAN: "true"}}}
        story.alters([4, 5])
        story.fence(4)
        story.isr([6], 6)
        assert_valid(decision_conformance(story.run_events()))


def test_broker_whose_id_another_process_waits_for_may_be_refused() -> None:
    """By what the system promises, or as controllers tell of it."""
    for promised in (True, False):
        story = quiet()
        if promised:
            story.plan = {**story.plan, "settings": _deferred(story.plan)}
        else:
            story.beat_of(5, epoch=-1)
        story.beat_of(5, code=77)
        story.record("NoOpRecord")
        assert_valid(decision_conformance(story.run_events()))


def _deferred(plan: Any) -> dict[str, dict[str, str]]:
    return {node: {"broker.takeover": "deferred"} for node in plan["nodes"]}


def test_between_two_controllers_a_refusal_may_be_another_ones() -> None:
    for how in ({"epoch": 2}, {"node": "c2"}, {"node": None}):
        story = quiet()
        enclosed(story, **how)  # type: ignore[arg-type]
        assert_valid(decision_conformance(story.run_events()))


@pytest.mark.parametrize("version", [4, 5])
def test_versions_that_no_record_made_enclose_nothing(version: int) -> None:
    story = quiet()
    story.isr([4, 5], 4, partition_epoch=5)
    asked = change(0, [4, 5], broker_epoch=0)
    story.op("alter-isr", "t/0", asked, accepted(asked) | {"partition_epoch": version})
    refused = change(version, [4], broker_epoch=0)
    story.op("alter-isr", "t/0", refused, type="fail", error="REFUSED")
    story.op("alter-isr", "t/0", asked, accepted(asked) | {"partition_epoch": version + 1})
    assert_valid(decision_conformance(story.run_events()))


def test_refusal_that_nothing_encloses_hides_no_other() -> None:
    story = quiet()
    story.op("alter-isr", "t/0", change(7, [4]), type="fail", error="REFUSED")
    enclosed(story)
    assert_invalid(decision_conformance(story.run_events()), "was refused")


def test_refusal_that_was_asked_for_before_both_changes_is_not_between_them() -> None:
    story = quiet()
    asked = story.invoke("alter-isr", "t/0", change(1, [4, 5, 6], broker_epoch=0))
    story.alters([4, 5])
    story.complete(asked, "fail", error="REFUSED")
    story.alters([4])
    assert_valid(decision_conformance(story.run_events()))


def test_between_two_changes_a_due_refusal_is_not_counted() -> None:
    """Nobody knows what was there when it was decided."""
    story = quiet()
    story.fence(6)
    asked = change(1, [4, 6], broker_epoch=0)
    enclosed(
        story,
        between=lambda story: story.op("alter-isr", "t/0", asked, type="fail", error="REFUSED"),
    )
    outcome = decision_conformance(story.run_events())
    assert_valid(outcome)
    assert (outcome.clauses or {})["isr-refused"] == 0


def test_between_two_changes_a_member_may_have_come() -> None:
    story = quiet()
    enclosed(story, between=lambda story: (story.register(6), story.unfence(6)))
    assert_valid(decision_conformance(story.run_events()))


def test_whose_answers_they_are_nobody_knows() -> None:
    story = quiet()
    enclosed(story)
    story.operations = [
        replace(each, node=None) if each.f == "alter-isr" else each for each in story.operations
    ]
    assert_valid(decision_conformance(story.run_events()))


def test_member_that_starts_anew_after_both_changes_was_there_between_them() -> None:
    story = quiet()
    enclosed(story)
    story.register(6)
    assert_invalid(decision_conformance(story.run_events()), "was refused")


def test_change_that_has_no_answer_or_was_refused_late_proves_nothing() -> None:
    for how in ({"type": "info"}, {"late": True}):
        story = quiet()
        enclosed(story, **how)  # type: ignore[arg-type]
        assert_valid(decision_conformance(story.run_events()))


def test_between_two_changes_another_may_have_gone() -> None:
    story = quiet()
    enclosed(story, between=lambda story: (story.fence(7), story.unfence(7)))
    assert_invalid(decision_conformance(story.run_events()), "was refused")


def test_between_two_changes_a_member_may_have_gone() -> None:
    story = quiet()
    enclosed(story, between=lambda story: (story.fence(6), story.unfence(6)))
    assert_valid(decision_conformance(story.run_events()))


def test_run_that_never_settled_on_a_record_is_judged_up_to_there() -> None:
    story = clean()
    story.offset += 1
    story.alters([9])
    assert_valid(decision_conformance(story.run_events()))


# --- oracles ------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_what_the_real_controller_decides_is_accepted(seed: int) -> None:
    outcome = decision_conformance(decided_log(random.Random(seed)).run_events())
    assert_valid(outcome)
    assert outcome.figures["questions"] > 0


@settings(max_examples=cases(80), deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_agrees_with_a_brute_force_oracle(seed: int, accepts: bool) -> None:
    """A controller that accepts all changes, and one that refuses all, against each condition
    written down as it stands: the one is right if all hold, the other if one does not."""
    draw = random.Random(seed)
    story = quiet()
    if fenced := draw.random() < 0.3:
        story.alters([4, 6])
        story.fence(5)
    _, _, version = story.versions[TOPIC, 0]
    named = {
        "broker_id": draw.choice([4, 4, 4, 5]),
        "leader_epoch": draw.choice([0, 0, 0, 1]),
        "partition_epoch": version + draw.choice([0, 0, 0, -1, 1]),
    }
    epochs = {4: 0, 5: 2, 6: 4, 7: 6}
    named["broker_epoch"] = epochs[named["broker_id"]] + draw.choice([0, 0, 0, 1])
    isr = draw.sample([4, 5, 6, 7], draw.randint(1, 3))
    right = (
        named["broker_id"] == 4
        and named["leader_epoch"] == 0
        and named["partition_epoch"] == version
        and named["broker_epoch"] == 0
        and 4 in isr
        and 7 not in isr
        and not (fenced and 5 in isr)
    )
    story.alters(isr, refused=not accepts, **named)
    story.record("NoOpRecord")
    outcome = decision_conformance(story.run_events())
    assert (outcome.verdict is Verdict.VALID) == (right == accepts)


def test_contradicting_answers_are_reported_with_their_operations() -> None:
    story = quiet()
    story.alters([4, 5], broker_epoch=3)
    outcome = decision_conformance(story.run_events())
    assert_invalid(outcome, "under broker epoch 3")
    assert all(each.operations for each in outcome.findings)


@pytest.mark.parametrize(
    ("f", "type", "code", "is_word"),
    [
        ("alter-isr", "fail", "STALE", True),
        ("alter-isr", "fail", CLIENT_TIMED_OUT, False),
        ("alter-isr", "fail", CONNECTION_FAILED, False),
        ("alter-isr", "fail", CONNECTION_LOST, False),
        ("alter-isr", "fail", MALFORMED_RESPONSE, False),
        ("alter-isr", "ok", "STALE", False),
        ("heartbeat", "fail", "STALE", False),
    ],
)
def test_words_of_controllers_are_those_of_refused_changes(
    f: str, type: CompletionType, code: str, is_word: bool
) -> None:
    kind = ("f", "on", False)
    answer = Operation(index=0, f=f, type=type, error=(code, ""))
    assert _words_of_controllers({kind: [answer]}, Counter({kind: 1})) == (
        {code} if is_word else set()
    )


@pytest.mark.parametrize(("answers", "is_word"), [(3, True), (4, False)])
def test_word_of_controllers_is_reported_once_in_three_answers(answers: int, is_word: bool) -> None:
    kind = ("alter-isr", "on", False)
    answer = Operation(index=0, f="alter-isr", type="fail", error=("STALE", ""))
    words = _words_of_controllers({kind: [answer] * answers}, Counter({kind: 1}))
    assert words == ({"STALE"} if is_word else set())


def test_it_looks_at_what_systems_promise() -> None:
    assert {Decided, IsrDecided, Promised} <= set(DecisionConformance.check_run.evidence)


def refused_with(*codes: str) -> list[Operation]:
    return [Operation(index=0, f="alter-isr", type="fail", error=(code, "")) for code in codes]


def words(answers: Sequence[tuple[str, int]]) -> set[str | None]:
    """Of requests for different things: the codes with which each was refused, and how often
    controllers tell of it."""
    asked = {(number,): refused_with(*codes.split()) for number, (codes, _) in enumerate(answers)}
    told = {(number,): times for number, (_, times) in enumerate(answers)}
    return _words_of_controllers(asked, Counter(told))


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        # A request that met no controller is made again: what is told of is the later answer.
        ([*[("ELSEWHERE STALE", 1)] * 9, ("STALE", 1)], {"STALE"}),
        ([("ELSEWHERE STALE", 1)] * 9, {"ELSEWHERE"}),  # nobody knows which
        ([("FENCED STALE", 2)] * 9, {"FENCED", "STALE"}),
        # Told of once in four answers is less than always, however many they are.
        ([*[("ODD STALE", 1)] * 9, ("ODD ODD ODD ODD", 1), ("STALE", 1)], {"STALE"}),
        # Nothing is known of what is nowhere alone: more than of what is nowhere told of.
        ([*[("ODD STALE", 1)] * 9, ("ODD", 0)], {"STALE"}),
        ([("ODD ODD", 0)], set()),
    ],
)
def test_of_what_was_refused_with_several_codes_those_are_told_of_that_are_told_of_elsewhere(
    answers: Sequence[tuple[str, int]], found: set[str]
) -> None:
    assert words(answers) == found
