"""No operation takes effect twice, none after it failed (D.20)."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, judged, silent
from planted_logs import LogStory
from planted_runs import MS, OTHER, TOPIC, accepted, assert_invalid, assert_valid, change

from checkers.effects_once import EffectsOnce, effects_once
from framework.history.event import CompletionType, Json
from framework.plugins.capabilities import SHRINKING_RAISES
from framework.plugins.checker import Count
from framework.verdict import Verdict
from tests.cases import cases

THIRD = "33333333-3333-3333-3333-333333333333"
FOURTH = "44444444-4444-4444-4444-444444444444"
FIFTH = "55555555-5555-5555-5555-555555555555"
MADE_UP = "99999999-9999-9999-9999-999999999999"
TYPES: tuple[CompletionType, ...] = ("fail", "info")


def created(story: LogStory, topic_id: str, name: str = "t") -> None:
    story.topic(name, topic_id)
    story.new_partition([4], topic_id=topic_id)


def requested(story: LogStory, request_id: str) -> int:
    return story.record("RequestRecord", request_id=request_id, answer="")


def synthetic(story: LogStory, incarnation: str, type: CompletionType = "ok") -> None:
    value: Json = {"broker_id": 101, "broker_epoch": -1, "incarnation": incarnation}
    story.op("heartbeat", "broker-101", value, {"broker_epoch": 9}, type=type, error="X")


def clean(readers: tuple[str, ...] = ("c1",), keepers: tuple[str, ...] = ()) -> LogStory:
    """An acknowledged topic comes and goes; one whose create timed out comes later."""
    story = LogStory(readers=readers, keepers=keepers)
    story.brokers(4)
    first = story.invoke("create", "t", {})
    created(story, TOPIC)
    requested(story, "r1")
    story.complete(first, "ok", {"topic_id": TOPIC})
    story.create("t", type="fail", error="TOPIC_ALREADY_EXISTS")
    gone = story.invoke("delete", "t")
    story.drop("t", TOPIC)
    requested(story, "r2")
    story.complete(gone, "ok", {"topic_id": TOPIC})
    story.op("create", "t", {}, type="info", error="CLIENT_TIMED_OUT")
    story.op("delete", "t", type="info", error="CLIENT_TIMED_OUT")
    created(story, OTHER)
    story.drop("t", OTHER)
    for incarnation in ("101", "104"):
        synthetic(story, f"00000000-0000-0000-0000-000000000{incarnation}")
        story.register(101, incarnation_id=f"00000000-0000-0000-0000-000000000{incarnation}")
    created(story, THIRD, "of-nobody-who-is-recorded")
    made_smaller(story)
    return story


def made_smaller(story: LogStory) -> None:
    """By its leader, which a client plays, twice."""
    story.topic("w", FIFTH)
    story.new_partition([4, 5, 6], topic_id=FIFTH)
    for version, isr in enumerate(([4, 5, 6], [4, 5], [4])):
        asked = story.invoke("alter-isr", "w/0", change(version, isr, topic_id=FIFTH))
        story.isr(isr, 4, topic_id=FIFTH)
        story.complete(asked, "ok", accepted(asked.value))


def test_clean_run_is_accepted() -> None:
    outcome = effects_once(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures == {
        "topics": 4,
        "requests": 2,
        "registrations": 2,
        "members_taken_away": 2,
    }


def compared(story: LogStory) -> Mapping[str, Count]:
    return effects_once(story.run_events()).clauses or {}


def test_nothing_seen_is_unknown() -> None:
    assert effects_once(LogStory().run_events()).verdict is Verdict.UNKNOWN


def failed_create(story: LogStory) -> None:
    story.create("u", type="fail", error="NOT_CONTROLLER")
    created(story, THIRD, "u")


def failed_delete(story: LogStory) -> None:
    created(story, THIRD, "u")
    story.op("delete", "u", type="fail", error="NOT_CONTROLLER")
    story.drop("u", THIRD)


def before_it_was_asked_for(story: LogStory) -> None:
    created(story, THIRD, "u")
    story.op("create", "u", {}, type="info", error="CLIENT_TIMED_OUT")


def next_incarnation(story: LogStory) -> None:
    """A delete by name that ended before the topic that it is said to have deleted began."""
    story.delete("t", THIRD)
    created(story, THIRD)


def removed_before(story: LogStory) -> None:
    story.delete("t", OTHER)


def decided_twice(story: LogStory) -> None:
    for node in ("c1", "c2"):
        at = story.record("NoOpRecord")
        event = story.decide("CreateTopics", {}, [at], node=node)
        event.fields["forwarded"] = "ab"  # type: ignore[index]


def refused_registration(story: LogStory) -> None:
    synthetic(story, "00000000-0000-0000-0000-000000000102", "fail")
    story.register(101, incarnation_id="00000000-0000-0000-0000-000000000102")


def refused_registration_of_a_process_that_lives(story: LogStory) -> None:
    """Heartbeats under an epoch ask for none."""
    incarnation = "00000000-0000-0000-0000-000000000102"
    synthetic(story, incarnation, "fail")
    value: Json = {"broker_id": 101, "broker_epoch": 0, "incarnation": incarnation}
    story.op("heartbeat", "broker-101", value, {"broker_epoch": 0})
    story.register(101, incarnation_id=incarnation)


def stays(story: LogStory) -> None:
    """Its delete is acknowledged, and it is gone for all who read; the log has it."""
    created(story, THIRD, "u")
    story.delete("u", THIRD)


def delete_before_another_operation(story: LogStory) -> None:
    stays(story)
    later = story.invoke("create", "v", {})
    created(story, FOURTH, "v")
    story.complete(later, "ok", {"topic_id": FOURTH})


def delete_before_it_settled(story: LogStory) -> None:
    stays(story)
    story.final()


def without_an_id(f: str, topic_id: str | None = None) -> Callable[[LogStory], None]:
    """Acknowledged; of the topic that was meant the log knows its creation, and nothing more. The
    next operation is in the log."""

    def plant(story: LogStory) -> None:
        if f == "delete":
            made = story.invoke("create", "u", {})
            created(story, THIRD, "u")
            story.complete(made, "ok", {"topic_id": THIRD})
        story.op(f, "u", {} if f == "create" else None, {"topic_id": topic_id}, node="b1")
        later = story.invoke("create", "v", {})
        created(story, FOURTH, "v")
        story.complete(later, "ok", {"topic_id": FOURTH})

    return plant


def without_an_id_in_the_end(story: LogStory) -> None:
    story.delete("of-nobody", None)
    story.final()


def applied_again(story: LogStory) -> None:
    """A change whose answer was lost takes a member away, and again when it has come back."""
    partition_of_a_synthetic_broker(story)
    story.op("alter-isr", "u/0", change(0, [4, 5], topic_id=THIRD), type="fail", error="X")
    story.op("alter-isr", "u/0", change(0, [4, 5], topic_id=THIRD), type="info")
    story.isr([4, 5], 4, topic_id=THIRD)
    back = story.invoke("alter-isr", "u/0", change(1, [4, 5, 6], topic_id=THIRD))
    story.isr([4, 5, 6], 4, topic_id=THIRD)
    story.complete(back, "ok", accepted(back.value))
    story.isr([4, 5], 4, topic_id=THIRD)


def asked_for_afterwards(story: LogStory) -> None:
    partition_of_a_synthetic_broker(story)
    story.isr([4, 5], 4, topic_id=THIRD)
    story.op("alter-isr", "u/0", change(0, [4, 5], topic_id=THIRD), type="info")


def partition_of_a_synthetic_broker(story: LogStory) -> None:
    story.brokers(5, 6)
    story.topic("u", THIRD)
    story.new_partition([4, 5, 6], topic_id=THIRD)
    story.op("alter-isr", "u/0", change(9, [4], topic_id=THIRD), type="fail", error="X")


def asked_of_another_version(story: LogStory) -> None:
    """A change that is made although the partition is no longer as it was when it was asked for."""
    partition_of_a_synthetic_broker(story)
    story.op("alter-isr", "u/0", change(7, [4, 5], topic_id=THIRD), type="info")
    story.isr([4, 5], 4, topic_id=THIRD)


def another_was_asked_for(story: LogStory) -> None:
    partition_of_a_synthetic_broker(story)
    story.op("alter-isr", "u/0", change(0, [4, 6], topic_id=THIRD), type="info")
    story.isr([4, 5], 4, topic_id=THIRD)


def refused_change(story: LogStory) -> None:
    partition_of_a_synthetic_broker(story)
    story.op("alter-isr", "u/0", change(0, [4, 5], topic_id=THIRD), type="fail", error="X")
    story.isr([4, 5], 4, topic_id=THIRD)


def left_afterwards(story: LogStory) -> None:
    """A member that asks to be let go when it has been taken away already."""
    partition_of_a_synthetic_broker(story)
    story.isr([4, 5], 4, topic_id=THIRD)
    leave(story, 6)


def another_is_fenced_next(story: LogStory) -> None:
    partition_of_a_synthetic_broker(story)
    story.isr([4, 5], 4, topic_id=THIRD)
    story.fence(5)


def fenced_later(story: LogStory) -> None:
    """Something else stands between."""
    partition_of_a_synthetic_broker(story)
    story.isr([4, 5], 4, topic_id=THIRD)
    story.unfence(5)
    story.fence(6)


def stayed(story: LogStory) -> None:
    """A member that says that it is well, or is refused to leave."""
    partition_of_a_synthetic_broker(story)
    leave(story, 6, target="active")
    leave(story, 6, type="fail", error="X")
    story.isr([4, 5], 4, topic_id=THIRD)


def leave(story: LogStory, broker: int, target: str = "leaving", **more: Any) -> None:
    value: Json = {"broker_id": broker, "broker_epoch": 9, "target": target, "incarnation": "i"}
    story.op("heartbeat", f"broker-{broker}", value, **{"type": "info", **more})


PLANTED = Plants.of(
    clean,
    {
        "acknowledged delete of which the log knows nothing, and of a later create": (
            "no committed record removes topic",
            delete_before_another_operation,
        ),
        "acknowledged delete of which a settled log knows nothing": (
            "no committed record removes topic",
            delete_before_it_settled,
        ),
        "acknowledged delete without an id, and no record": (
            "1 operations (delete of u) were answered ok, by the id of no such topic",
            without_an_id("delete"),
        ),
        "acknowledged delete by an id that nothing has": (
            "of the committed records 0 may be what they did",
            without_an_id("delete", MADE_UP),
        ),
        "acknowledged delete by the id of another topic": (
            "1 operations (delete of u)",
            without_an_id("delete", OTHER),
        ),
        "acknowledged create without an id, and no record": (
            "1 operations (create of u)",
            without_an_id("create"),
        ),
        "acknowledged delete without an id, of which a settled log knows nothing": (
            "1 operations (delete of of-nobody)",
            without_an_id_in_the_end,
        ),
        "change that was applied again": (
            f"takes [6], in service, out of the ISR of {THIRD}/0, and nobody asked for that: was a "
            "change applied twice (operations 24)?",
            applied_again,
        ),
        "change of another version": (
            f"out of the ISR of {THIRD}/0, and nobody asked for that",
            asked_of_another_version,
        ),
        "another change than was asked for": ("takes [6], in service", another_was_asked_for),
        "refused change": ("takes [6], in service", refused_change),
        "member that leaves when it is out": ("takes [6], in service", left_afterwards),
        "member that stays while another goes": (
            "takes [6], in service",
            another_is_fenced_next,
        ),
        "member that goes later": ("takes [6], in service", fenced_later),
        "member that stays": ("takes [6], in service", stayed),
        "change that was asked for afterwards": ("nobody asked for that", asked_for_afterwards),
        "t was created at offset": lambda story: created(story, THIRD),
        "refused create": ("u was created", failed_create),
        "u was removed at offset": failed_delete,
        "create that began later": ("u was created", before_it_was_asked_for),
        "2 operations on t were answered that they had created": lambda story: story.create("t"),
        "2 operations on t were answered that they had removed": lambda story: story.delete("t"),
        "which was created after it had ended": next_incarnation,
        "which had been removed before it began": removed_before,
        "request r1 took effect twice": lambda story: requested(story, "r1"),
        "request ab was carried out twice": decided_twice,
        "all its process's requests were refused": refused_registration,
        "registration that was refused to a process that has an epoch": (
            "all its process's requests were refused",
            refused_registration_of_a_process_that_lives,
        ),
    },
)


CHECKER = EffectsOnce()


def test_what_is_acknowledged_without_an_id_is_some_record() -> None:
    """As brokers answer whose version of the API has none; what comes last may not be known yet."""
    story = clean()
    for _ in range(2):
        asked = story.invoke("create", "u", {})
        created(story, f"{story.offset:08d}-0000-0000-0000-000000000000", "u")
        story.complete(asked, "ok", {})
        gone = story.invoke("delete", "u")
        (topic_id,) = (id for id in story.versions if id[0].startswith(f"{story.offset - 2:08d}"))
        story.drop("u", topic_id[0])
        story.complete(gone, "ok", {})
    story.op("create", "x", {}, {}, node="b1")
    assert_valid(effects_once(story.run_events()))


def test_disks_are_enough() -> None:
    """No node tells of anything; the log lies on the disks of all who vote."""
    for plant, verdict in ((None, Verdict.VALID), (failed_create, Verdict.INVALID)):
        story = clean(readers=(), keepers=("c1", "c2", "c3"))
        if plant is not None:
            plant(story)
        result = judged(CHECKER, story)
        assert result.verdict is verdict, (result.note, result.findings)
    assert list(result.findings[0].contracts) == ["clients", "disks"]


def kept() -> LogStory:
    """The log lies on disks, and no node tells of it."""
    return clean(readers=(), keepers=("c1", "c2", "c3"))


def shown(story: LogStory) -> None:
    """A client reads all that is committed by now."""
    story.op("describe", "x", ext={"epoch": 1, "offset": story.offset})


@PLANTED.violation("u was created", "the doing of no operation", on=kept)
def create_that_began_later_than_the_log_was_shown(story: LogStory) -> None:
    created(story, THIRD, "u")
    shown(story)
    story.op("create", "u", {}, type="info", error="CLIENT_TIMED_OUT")


@PLANTED.violation("u was created", "the doing of no operation", on=kept)
def create_that_began_later_than_an_observer_was_shown_the_log(story: LogStory) -> None:
    created(story, THIRD, "u")
    story.ask("c1", "describe-node", {"high_watermark": story.offset, "leader_epoch": 1})
    story.op("create", "u", {}, type="info", error="CLIENT_TIMED_OUT")


@PLANTED.violation("nobody asked for that", on=kept)
def change_that_was_asked_for_when_clients_were_shown_it(story: LogStory) -> None:
    partition_of_a_synthetic_broker(story)
    story.isr([4, 5], 4, topic_id=THIRD)
    shown(story)
    story.op("alter-isr", "u/0", change(0, [4, 5], topic_id=THIRD), type="info")


@PLANTED.violation("takes [6], in service", on=kept)
def member_that_leaves_when_it_is_shown_to_be_out(story: LogStory) -> None:
    partition_of_a_synthetic_broker(story)
    story.isr([4, 5], 4, topic_id=THIRD)
    shown(story)
    leave(story, 6)


@PLANTED.violation("which had been removed before it began", on=kept)
def removed_before_it_began_as_clients_were_shown(story: LogStory) -> None:
    shown(story)
    removed_before(story)


@PLANTED.violation("which was created after it had ended", on=kept)
def created_after_it_had_ended_as_clients_were_shown(story: LogStory) -> None:
    story.delete("t", THIRD)
    shown(story)
    created(story, THIRD)


@pytest.mark.parametrize(
    "plant",
    [before_it_was_asked_for, asked_for_afterwards, left_afterwards, removed_before],
)
def test_when_a_record_was_committed_disks_alone_do_not_tell(
    plant: Callable[[LogStory], None],
) -> None:
    """Nor does who is shown the log up to it, or at no known time."""
    story = kept()
    shown(story)
    plant(story)
    shown(story)
    story.operations[-1] = replace(story.operations[-1], completed_ns=None)
    if plant is removed_before:
        story.operations = [each for each in story.operations if each.f != "describe"]
    assert judged(CHECKER, story).verdict is Verdict.VALID


def test_what_nodes_tell_of_a_record_counts_beside_what_is_shown() -> None:
    """Whoever knows it the most narrowly."""
    story = clean(keepers=("c1", "c2", "c3"))
    before_it_was_asked_for(story)
    shown(story)
    assert judged(CHECKER, story).verdict is Verdict.INVALID
    story = clean(keepers=("c1", "c2", "c3"))
    shown(story)
    next_incarnation(story)
    assert judged(CHECKER, story).verdict is Verdict.INVALID


def test_nodes_that_tell_nothing_are_not_believed() -> None:
    clauses = ("topics", "requests", "registrations", "isr-shrinks")
    assert_unknown(CHECKER, silent(clean()), *clauses)


def test_end_of_the_log_that_nobody_tells_may_hold_a_delete() -> None:
    """No operation after it is in the log, and nobody saw the cluster agree."""
    story = clean()
    stays(story)
    story.create("v", type="fail", error="TOPIC_ALREADY_EXISTS")
    assert_valid(effects_once(story.run_events()))
    story.final(settled=False)
    assert_valid(effects_once(story.run_events()))


def test_log_that_has_a_gap_may_hold_a_delete() -> None:
    story = clean()
    stays(story)
    story.offset += 1
    story.record("NoOpRecord")
    story.final()
    assert_valid(effects_once(story.run_events()))


def test_create_that_was_under_way_with_the_delete_shows_nothing_of_it() -> None:
    """Its record may be below the delete's, of which the log does not tell."""
    story = clean()
    other = story.invoke("create", "v", {})
    stays(story)
    created(story, FOURTH, "v")
    story.complete(other, "ok", {"topic_id": FOURTH})
    assert_valid(effects_once(story.run_events()))


def test_members_that_are_out_of_service_or_leave_it_are_taken_away() -> None:
    story = clean()
    partition_of_a_synthetic_broker(story)
    story.fence(6)
    story.isr([4, 5], 4, topic_id=THIRD)
    leave(story, 5)
    story.isr([4], 4, topic_id=THIRD)
    asked = story.invoke("alter-isr", "u/0", change(2, [4, 5], topic_id=THIRD))
    story.isr([4, 5], 4, topic_id=THIRD)
    story.complete(asked, "info")
    story.op("alter-isr", "u/0", change(3, [4], topic_id=THIRD), type="info")
    story.isr([4], 4, topic_id=THIRD)
    story.isr([4, 5, 6], 4, topic_id=THIRD)
    story.isr([6], 6, topic_id=THIRD)
    outcome = effects_once(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["members_taken_away"] == 5


@pytest.mark.parametrize(
    ("epoch", "able", "judged"),
    [(0, [], 3), (1, [], 2), (1, [SHRINKING_RAISES], 3), (2, [SHRINKING_RAISES], 2)],
)
def test_shrinking_may_begin_a_leader_epoch_where_the_system_says_so(
    epoch: int, able: list[str], judged: int
) -> None:
    """One who led then, and in another epoch leads anew, need not have asked."""
    story = clean()
    story.plan["capabilities"] = able
    partition_of_a_synthetic_broker(story)
    story.isr([4, 5], 4, topic_id=THIRD, leader_epoch=epoch)
    outcome = effects_once(story.run_events())
    assert outcome.figures["members_taken_away"] == judged
    if judged == 3:
        assert_invalid(outcome, "nobody asked")


@pytest.mark.parametrize(("epoch", "judged"), [(3, 3), (2, 2)])
def test_shrinking_in_a_later_leader_epoch_is_judged_as_in_the_first(
    epoch: int, judged: int
) -> None:
    """One with which the leader epoch goes back is no request that was taken up."""
    story = clean()
    partition_of_a_synthetic_broker(story)
    story.isr([4, 5, 6], 4, topic_id=THIRD, leader_epoch=3)
    story.isr([4, 5], 4, topic_id=THIRD, leader_epoch=epoch)
    assert effects_once(story.run_events()).figures["members_taken_away"] == judged


def test_another_leader_need_not_have_asked_where_shrinking_begins_an_epoch() -> None:
    """Of two brokers that clients play."""
    story = clean()
    story.plan["capabilities"] = [SHRINKING_RAISES]
    partition_of_a_synthetic_broker(story)
    asked = change(9, [5], topic_id=THIRD, broker_id=5)
    story.op("alter-isr", "u/0", asked, type="fail", error="X")
    story.isr([5, 6], 5, topic_id=THIRD)
    outcome = effects_once(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["members_taken_away"] == 2


def test_a_member_leaves_from_the_first_time_on_that_it_asks() -> None:
    story = clean()
    partition_of_a_synthetic_broker(story)
    leave(story, 6)
    story.isr([4, 5], 4, topic_id=THIRD)
    leave(story, 6)
    assert_valid(effects_once(story.run_events()))


@pytest.mark.parametrize("anew", [False, True])
def test_controller_may_say_first_what_follows_of_a_fence(anew: bool) -> None:
    """So Apache Kafka does: the partitions of a broker, then the record that puts it out of
    service, or the registration of another process."""
    story = clean()
    partition_of_a_synthetic_broker(story)
    story.topic("v", FOURTH)
    story.new_partition([4, 5, 6], topic_id=FOURTH)
    story.op("alter-isr", "v/0", change(9, [4], topic_id=FOURTH), type="fail", error="X")
    story.isr([4, 5], 4, topic_id=THIRD)
    story.isr([4, 5], 4, topic_id=FOURTH)
    story.register(6) if anew else story.fence(6)
    outcome = effects_once(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["members_taken_away"] == 4


def test_leaders_that_no_client_plays_ask_without_being_heard() -> None:
    story = clean()
    story.brokers(5, 6)
    story.topic("u", THIRD)
    story.new_partition([4, 5, 6], topic_id=THIRD)
    story.isr([4, 5], 4, topic_id=THIRD)
    assert_valid(effects_once(story.run_events()))


def test_what_begins_in_the_ns_in_which_it_takes_effect_may_be_its_cause() -> None:
    story = clean()
    partition_of_a_synthetic_broker(story)
    for f, key, value, effect in (
        ("create", "v", {}, lambda: created(story, FOURTH, "v")),
        ("delete", "v", None, lambda: story.drop("v", FOURTH)),
        (
            *("alter-isr", "u/0", change(0, [4, 5], topic_id=THIRD)),
            lambda: story.isr([4, 5], 4, topic_id=THIRD),
        ),
    ):
        story.invoke(f, key, value)
        story.now_ns -= MS
        effect()
    assert_valid(effects_once(story.run_events()))


def test_one_batch_of_two_that_two_controllers_made_of_a_request_was_committed() -> None:
    """The second one's took the place of the first one's, who had lost its leadership."""
    story = clean()
    for node, epoch in (("c1", 1), ("c2", 2)):
        made = story.decide("CreateTopics", {}, [story.offset], node=node, epoch=epoch)
        made.fields["forwarded"] = "ab"  # type: ignore[index]
    story.epoch = 2
    story.record("NoOpRecord")
    assert_valid(effects_once(story.run_events()))


def test_controllers_decide_twice_what_has_no_id_or_makes_no_record() -> None:
    story = clean()
    for node in ("c1", "c2"):
        story.decide("CreateTopics", {}, [story.record("NoOpRecord")], node=node)
        empty = story.decide("CreateTopics", {}, [], node=node)
        empty.fields["forwarded"] = "cd"  # type: ignore[index]
    outcome = effects_once(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["requests"] == 2


def test_process_that_was_refused_once_and_not_answered_once_is_registered() -> None:
    story = clean()
    incarnation = "00000000-0000-0000-0000-000000000102"
    for type in TYPES:
        synthetic(story, incarnation, type)
    story.register(101, incarnation_id=incarnation)
    assert_valid(effects_once(story.run_events()))


def test_records_of_what_never_was_have_no_effect() -> None:
    story = clean()
    story.record("RemoveTopicRecord", topic_id=FOURTH)
    story.new_partition([4, 5], topic_id=FOURTH)
    story.isr([4], 4, topic_id=FOURTH)
    assert_valid(effects_once(story.run_events()))


def test_deletes_that_are_answered_without_an_id_name_no_topic() -> None:
    story = clean()
    for _ in range(2):
        story.delete("of-nobody-who-is-recorded", None)
    assert_valid(effects_once(story.run_events()))


def test_answers_and_requests_that_name_nothing_are_of_nobody() -> None:
    story = clean()
    for f in ("create", "delete"):
        story.op(f, "u", {}, True)
    story.op("heartbeat", "broker-102", {"broker_id": 102, "broker_epoch": -1}, None)
    assert_valid(effects_once(story.run_events()))


def test_delete_that_is_asked_for_when_all_agreed_may_be_behind_what_they_agreed_on() -> None:
    story = clean()
    created(story, FOURTH, "u")
    story.op("create", "u", {}, type="info", error="CLIENT_TIMED_OUT")
    story.operations[-1] = replace(story.operations[-1], invoked_ns=0)
    story.final()
    story.delete("u", FOURTH)
    assert_valid(effects_once(story.run_events()))


def test_acknowledged_delete_is_the_only_one_that_was_answered() -> None:
    story = LogStory(readers=("c1",))
    story.invoke("create", "u", {})
    created(story, THIRD, "u")
    story.delete("u", THIRD)
    assert not effects_once(story.run_events()).findings
    assert compared(story)["topics"] == 2


@pytest.mark.parametrize(
    ("isrs", "count"),
    [
        ("456 45 4", 0),
        ("456 45", "clients were acknowledged no two ISRs made smaller"),
        ("456 45 456 45", 0),
        ("456 45 !4", "clients were acknowledged no two ISRs made smaller"),
        ("456 45 45", "clients were acknowledged no two ISRs made smaller"),
        ("456 45 u4", "clients were acknowledged no two ISRs made smaller"),
    ],
)
def test_log_of_which_nobody_tells_is_missed_where_members_were_taken_away(
    isrs: str, count: int | str
) -> None:
    """A digit a member; !: refused, u: of another partition."""
    story = LogStory()
    for each in isrs.split():
        members = [int(digit) for digit in each.strip("!u")]
        topic_id = OTHER if "u" in each else TOPIC
        type: CompletionType = "fail" if "!" in each else "ok"
        story.op("alter-isr", "t/0", change(0, members, topic_id=topic_id), type=type)
    assert compared(story)["isr-shrinks"] == count


@pytest.mark.parametrize(("second", "is_missed"), [("ok", True), ("fail", False)])
def test_log_of_which_nobody_tells_is_missed_where_clients_were_acknowledged(
    second: CompletionType, is_missed: bool
) -> None:
    story = LogStory()
    for number, type in enumerate(("ok", second)):
        synthetic(story, f"i{number}", type)
        story.op("create" if number else "delete", "t", {}, {"topic_id": TOPIC}, type=type)
    found = compared(story)
    few = "clients were acknowledged no two "
    assert [found[each] for each in ("topics", "requests", "registrations")] == (
        [0, 0, 0] if is_missed else [few + "changes of topics"] * 2 + [few + "registrations"]
    )


@pytest.mark.parametrize(
    ("is_reported", "count"),
    [(True, 2), (False, "the system tells no request from its repetition")],
)
def test_system_that_has_no_ids_for_requests_is_held_to_those_it_tells(
    is_reported: bool, count: int | str
) -> None:
    story = clean() if is_reported else LogStory()
    story.plan = {**story.plan, "capabilities": []}
    assert compared(story)["requests"] == count


def test_refused_operations_are_shown_beside_what_nobody_did() -> None:
    """Those that had begun, the last three."""
    story = clean()
    for number in range(5):
        if number == 4:
            created(story, THIRD, "u")
        story.create("u", type="fail", error="NOT_CONTROLLER")
    (found,) = effects_once(story.run_events()).findings
    assert found.message == (
        f"u was created at offset 21 (topic {THIRD}), the doing of no operation: each that may "
        "have done it by then accounts for another record, and 4 were refused"
    )
    assert list(found.operations) == [22, 24, 26]


def sent_again(story: LogStory) -> None:
    """A create that the one who forwards it sends again: what it did first is deleted by then."""
    story.plan = {**story.plan, "capabilities": []}
    create = story.invoke("create", "u", {})
    created(story, THIRD, "u")
    delete = story.invoke("delete", "u")
    story.drop("u", THIRD)
    story.complete(delete, "ok", {"topic_id": THIRD})
    created(story, FOURTH, "u")
    story.complete(create, "ok", {"topic_id": FOURTH})


def test_without_ids_a_create_that_was_answered_may_have_made_another_topic_before() -> None:
    story = clean()
    sent_again(story)
    assert_valid(effects_once(story.run_events()))
    story.plan = {**story.plan, "capabilities": ["request-ids"]}
    assert_invalid(effects_once(story.run_events()), "u was created at offset 21")


@PLANTED.violation("u was created", "the doing of no operation", on=kept)
def a_topic_that_comes_back_when_its_create_was_answered(story: LogStory) -> None:
    sent_again(story)
    story.delete("u", FOURTH)
    shown(story)
    created(story, MADE_UP, "u")


Attempts = st.lists(
    st.tuples(st.sampled_from(["info", "fail", "ok", "record"]), st.integers(0, 1)), max_size=7
)


@settings(max_examples=cases(150), deadline=None)
@given(Attempts, st.booleans())
def test_agrees_with_brute_force(steps: list[tuple[str, int]], once: bool) -> None:
    """Creates of one name and topics that came to be, in any order; an answered create is
    answered with a topic that stands in the log already, a new one each time, or with none: then it
    is some other record, if a later one was answered with a topic. Not `once`: any may have made
    several. (Here none is made while a create is under way that is answered with a topic.)"""
    story = LogStory(readers=("c1",))
    story.plan = {**story.plan, "capabilities": ["request-ids"] if once else []}
    made: list[tuple[str, int]] = []
    asked: list[tuple[str | None, int]] = []
    free: list[str] = []
    done: list[str | None] = []
    story.op("create", "t", {}, type="fail", error="X")
    for number, (kind, with_id) in enumerate(steps):
        topic_id = f"00000000-0000-0000-0000-{number:012d}"
        if kind == "record":
            created(story, topic_id)
            made.append((topic_id, story.now_ns))
            free.append(topic_id)
        else:
            owned = free.pop() if kind == "ok" and with_id and free else None
            result = {"topic_id": owned} if owned else None
            operation = story.op("create", "t", {}, result, type=kind, error="X")
            done += [owned] if kind == "ok" else []
            if kind != "fail":
                asked.append((owned, operation.invoked_ns or 0))
    if once:
        right = any(
            all(_may_be(ask, effect) for ask, effect in zip(chosen, made, strict=True))
            for chosen in itertools.permutations(asked, len(made))
        )
    else:
        right = all(any(_may_be(ask, effect) for ask in asked) for effect in made)
    named = [at for at, owned in enumerate(done) if owned]
    owed = done[: named[-1]].count(None) if named else 0
    right &= owed <= len(made) - len(named)
    assert (effects_once(story.run_events()).verdict is not Verdict.INVALID) == right


def _may_be(ask: tuple[str | None, int], effect: tuple[str, int]) -> bool:
    """An operation that named its topic caused that one, whenever; any other one begins first."""
    owned, begun = ask
    if owned is not None:
        return owned == effect[0]
    return begun <= effect[1]
