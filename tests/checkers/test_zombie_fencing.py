"""Zombie requests have no effect (D.10), and brokers serve under a lease only."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_runs import (
    MS,
    OTHER,
    TOPIC,
    Story,
    accepted,
    assert_invalid,
    assert_valid,
    change,
    item,
    shown,
)

from checkers.folds.fencing.served_cut_off import served_cut_off
from checkers.folds.fencing.silent_brokers import silences_of
from checkers.folds.history.operations import is_zombie
from checkers.zombie_fencing import ZombieFencing, zombie_fencing
from framework.evidence.run_events import NemesisEvent
from framework.history.event import CompletionType
from framework.history.pairing import Operation
from framework.verdict import Verdict


def registers(story: Story, broker: int, epoch: int) -> Operation:
    answer = {"broker_epoch": epoch, "next_state": "starting"}
    value = {"broker_id": broker, "broker_epoch": -1, "target": "active", "zombie": None}
    return story.op("heartbeat", f"broker-{broker}", value, answer)


def leaves(story: Story, broker: int, epoch: int, state: str = "leaving") -> Operation:
    value = {"broker_id": broker, "broker_epoch": epoch, "target": "leaving", "zombie": None}
    answer = {"broker_epoch": epoch, "next_state": state}
    return story.op("heartbeat", f"broker-{broker}", value, answer)


def takes_in(story: Story, broker: int, epoch: int, **more: Any) -> Operation:
    """4 asks for itself and that broker in sync; nothing else is wrong."""
    named = {"isr_epochs": [8, epoch], "broker_epoch": 8, **more}
    return story.alter(9, [4, broker], **named)


def have_registered(story: Story) -> Story:
    """15 has a second life, under epoch 8 after 6; 16 has registered, under 9, and rests."""
    story.heartbeat(15, -1, answered=6)
    story.heartbeat(15, -1, answered=8)
    registers(story, 16, 9)
    return story


def refused_members(story: Story, times: int = 2) -> Story:
    for _ in range(times):
        takes_in(story, 15, 6, type="fail", error="INELIGIBLE_REPLICA")
        takes_in(story, 16, 9, type="fail", error="INELIGIBLE_REPLICA")
    return story


def clean() -> Story:
    """Refused are a broker's first life, in its second one, and members that are wrong."""
    return refused_members(have_registered(second_life()))


def second_life() -> Story:
    """A broker's; its first one comes back in vain."""
    story = Story()
    story.boot("c1")
    story.broker(3, 4, 3)
    story.heartbeat(4, -1, answered=3)
    story.alter(0, [4, 5], broker_epoch=3)
    story.decide("AlterPartition", source(0), [5])
    story.decide("BrokerHeartbeat", {"broker_id": 4, "broker_epoch": -1}, [8], as_of=8)
    story.broker(8, 4, 8)
    story.heartbeat(4, -1, answered=8)
    story.heartbeat(4, 3, zombie="replaced", type="fail", error="STALE_BROKER_EPOCH")
    story.decide("BrokerHeartbeat", {"broker_id": 4, "broker_epoch": 3}, [], verdict=77)
    story.alter(0, [4], zombie="replay", type="fail", error="INVALID_UPDATE_VERSION")
    story.alter(1, [4], zombie="paused", broker_epoch=3, type="info")
    accepted_change = story.invoke("alter-isr", "t/0", change(1, [4], broker_epoch=8))
    story.decide("AlterPartition", source(1, broker_epoch=8), [9])
    story.partition(9, 2, [4])
    story.complete(accepted_change, "ok", accepted(accepted_change.value))
    story.boot("b2")
    story.lease("b2", 500)
    story.serve("b2")
    story.op("metadata", "t", None, {"topic_id": TOPIC, "partitions": []}, node="b2")
    story.boot("b1")
    story.lease("b1", 50)
    story.serve("b1")
    story.op("metadata", "t", None, {"topic_id": TOPIC, "partitions": []}, node="b1")
    story.wait(100)
    story.serve("b1", code=6)
    story.serve("b1", "DescribeNode")
    story.lease("b1", 50)
    story.serve("b1")
    return story


def source(version: int, **more: Any) -> dict[str, Any]:
    named = {"topic_id": TOPIC, "partition": 0, "leader_epoch": 0, "partition_epoch": version}
    return {"broker_id": 4, "broker_epoch": 3, **named, **more}


def test_clean_run_is_accepted() -> None:
    outcome = zombie_fencing(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures == {
        "zombies": 3,
        "zombies_refused": 2,
        "zombies_indeterminate": 1,
        "zombies_current": 0,
        "refused.STALE_BROKER_EPOCH": 1,
        "refused.INVALID_UPDATE_VERSION": 1,
        "decisions": outcome.figures["decisions"],
        "serves": 3,
    }
    assert outcome.clauses["refused"] == 2
    assert outcome.clauses["decided"] == (outcome.figures["decisions"], 2)
    assert outcome.clauses["leased"] == (2, 2)


def test_no_zombies_and_no_serves_are_unknown() -> None:
    story = Story()
    story.heartbeat(4, -1, answered=3)
    assert zombie_fencing(story.run_events()).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("left_out", "node", "clause"), [("decide", "c1", "decided"), ("serve", "b2", "leased")]
)
def test_node_that_leaves_events_out_is_unknown(left_out: str, node: str, clause: str) -> None:
    assert_unknown(ZombieFencing(), silent(clean(), left_out, node=node), clause)


def test_zombies_of_clients_are_judged_without_a_word_of_any_node() -> None:
    story = silent(clean())
    assert_unknown(ZombieFencing(), story, "decided", "leased")
    assert clause_of(judged(ZombieFencing(), story), "refused").verdict is Verdict.VALID
    story.heartbeat(4, 3, zombie="killed")
    assert judged(ZombieFencing(), story).verdict is Verdict.INVALID


def mute(story: Story | None = None) -> Story:
    """By the plan nodes tell nothing."""
    story = silent(clean() if story is None else story)
    story.plan = {**story.plan, "capabilities": ["disk:applied"]}
    return story


def test_runs_without_events_are_judged_by_clients() -> None:
    result = judged(ZombieFencing(), mute())
    assert result.verdict is Verdict.VALID
    by_clients = [each.name for each in result.clauses if each.verdict is not None]
    assert by_clients == ["refused", "fit-members"]
    story = mute()
    story.heartbeat(4, 3, zombie="replaced")
    assert_invalid(zombie_fencing(story.run_events()), "broker epoch 3 of broker 4")


def test_zombie_that_only_the_log_may_show_to_be_current_is_not_accused_without_it() -> None:
    story = mute()
    story.alter(7, [4], broker_epoch=9, leader_epoch=3, zombie="replay")
    assert not zombie_fencing(story.run_events()).findings


def test_clients_without_zombies_gave_no_occasion() -> None:
    story = clean()
    story.operations = [each for each in story.operations if not is_zombie(each)]
    result = judged(ZombieFencing(), story)
    assert result.verdict is Verdict.VALID, result.note
    assert clause_of(result, "refused").verdict is None
    lost = story.invoke("heartbeat", "broker-4", {"broker_id": 4, "zombie": "paused"})
    story.complete(lost, "info")
    assert_unknown(ZombieFencing(), story, "refused")


# --- what clients were answered -----------------------------------------------------------


def test_stale_broker_epoch_in_a_heartbeat() -> None:
    story = clean()
    zombie = story.heartbeat(4, 3, zombie="killed")
    outcome = zombie_fencing(story.run_events())
    assert_invalid(outcome, "zombie (killed)", "broker epoch 3 of broker 4", "broker epoch 8")
    assert zombie.index in outcome.findings[0].operations


PLANTED = Plants(clean)


@PLANTED.violation("alter-isr", "broker epoch 3 of broker 4")
def stale_broker_epoch_in_an_isr_change(story: Story) -> None:
    story.alter(2, [4], zombie="replaced", broker_epoch=3)


@PLANTED.violation(f"leader epoch 1 of partition {TOPIC}/0")
def stale_leader_epoch(story: Story) -> None:
    story.describe("t", shown(3, [4], leader_epoch=2))
    story.alter(3, [4, 5], zombie="replay", broker_epoch=8, leader_epoch=1)


@PLANTED.violation(f"version 1 of partition {TOPIC}/0", "version 2")
def stale_version(story: Story) -> None:
    story.alter(1, [4, 5], zombie="replay", broker_epoch=8)


@PLANTED.violation("broker epoch 3 of broker 4")
def honest_request_may_be_stale_as_well(story: Story) -> None:
    story.heartbeat(4, 3)


@PLANTED.violation("was a zombie's (replaced)")
def accepted_zombie_of_whose_generation_nothing_is_known(story: Story) -> None:
    story.heartbeat(77, 5, zombie="replaced")


@PLANTED.violation("was a zombie's (replay)", on=Story)
def accepted_zombie_of_which_only_a_part_is_known_to_be_current(story: Story) -> None:
    story.heartbeat(4, -1, answered=8)
    story.alter(3, [4], zombie="replay", broker_epoch=8)


@PLANTED.violation("was a zombie's (paused)", on=Story)
def accepted_zombie_with_an_epoch_that_nobody_was_given(story: Story) -> None:
    story.heartbeat(4, -1, answered=8)
    story.heartbeat(4, 9, zombie="paused")


@PLANTED.violation("broker epoch -1 of broker 4", on=Story)
def isr_change_of_a_broker_without_an_epoch(story: Story) -> None:
    story.heartbeat(4, -1, answered=8)
    story.alter(3, [4], broker_epoch=-1)


@PLANTED.violation("broker epoch 3 of broker 5", "broker epoch 6", on=Story)
def member_of_an_isr_under_an_epoch_that_is_over(story: Story) -> None:
    story.heartbeat(4, -1, answered=7)
    story.heartbeat(5, -1, answered=6)
    story.alter(3, [4, 5], isr_epochs=[7, 3])


@PLANTED.violation("broker epoch 3 of broker 301", "broker epoch 8", on=Story)
def epoch_that_a_process_of_the_harness_took_over(story: Story) -> None:
    state = {"incarnation": "i", "broker_state": "active", "broker_epoch": 8, "broker_id": 301}
    story.op("replace", "broker-301", None, {"second": state, "first": {}})
    story.heartbeat(301, 3)


@PLANTED.violation("broker epoch 3 of broker 4", "c1 had applied broker epoch 8", on=Story)
def epoch_that_only_the_log_shows_to_be_over(story: Story) -> None:
    story.broker(3, 4, 3)
    story.heartbeat(4, -1, answered=3)
    story.broker(8, 4, 8)
    story.heartbeat(4, 3)


@pytest.mark.parametrize("code", ["CONNECTION_FAILED", "CONNECTION_LOST", "CLIENT_TIMED_OUT"])
def test_zombies_that_nobody_answered_were_not_refused(code: str) -> None:
    story = Story(plan={**Story().plan, "capabilities": ["disk:applied"]})
    story.heartbeat(4, -1, answered=8)
    for _ in range(6):
        story.heartbeat(4, 3, zombie="replay", type="fail", error=code)
    assert judged(ZombieFencing(), story).verdict is Verdict.UNKNOWN
    for _ in range(2):
        story.heartbeat(4, 3, zombie="replay", type="fail", error="STALE_BROKER_EPOCH")
    assert judged(ZombieFencing(), story).verdict is Verdict.VALID


# --- by the log on disks ------------------------------------------------------------------

VOTERS = ("c1", "c2", "c3")


def lies(story: Story, kind: str, *nodes: str, epoch: int = 1, **record: Any) -> None:
    """A record at the end of these disks' logs."""
    for node in nodes or VOTERS:
        story.disks.write(node, epoch, kind, **record)


def read(story: Story, end: int, epoch: int = 1) -> Operation:
    """A client is shown the log up to there."""
    return story.op("describe", "u", ext={"epoch": epoch, "offset": end})


def left() -> Story:
    """Brokers 5 and 4 were registered anew, and a partition is at version 4 in leader epoch 2, by
    the disks; clients were shown no more than how far that was committed."""
    story = mute()
    story.disks.lead(1, 1, *VOTERS)
    lies(story, "BrokerRecord", broker_id=5, broker_epoch=6)
    state = {"topic_id": OTHER, "partition_id": 0, "leader": 5, "leader_epoch": 2, "isr": [5]}
    lies(story, "IsrChangeRecord", **state, partition_epoch=4)
    return story


def read_to_its_end() -> Story:
    story = left()
    read(story, 3)
    return story


def on_other(story: Story, version: int, leader_epoch: int, **more: Any) -> Operation:
    value = change(version, [5], topic_id=OTHER, broker_id=5, broker_epoch=6)
    value["leader_epoch"] = leader_epoch
    return story.op("alter-isr", "u/0", value, accepted(value), **more)


def test_what_the_disks_have_is_current() -> None:
    story = read_to_its_end()
    story.heartbeat(5, 6)
    on_other(story, 4, 2)
    story.heartbeat(5, 3, type="fail", error="STALE_BROKER_EPOCH")
    result = judged(ZombieFencing(), story)
    assert result.verdict is Verdict.VALID, result.findings
    assert clause_of(result, "refused").compared == 3, "the refused one was an occasion"


@PLANTED.violation(
    "answered ok with broker epoch 3 of broker 5, after operation",
    "was shown offset 3 in epoch 1; the metadata log has broker epoch 6 at 1",
    on=read_to_its_end,
)
def epoch_that_only_the_disks_show_to_be_over(story: Story) -> None:
    story.heartbeat(5, 3)


@PLANTED.violation("version 3 of partition", "has version 4 at 2", on=read_to_its_end)
def version_that_only_the_disks_show_to_be_over(story: Story) -> None:
    on_other(story, 3, 2)


@PLANTED.violation("leader epoch 1 of partition", "has leader epoch 2 at 2", on=read_to_its_end)
def leader_epoch_that_only_the_disks_show_to_be_over(story: Story) -> None:
    on_other(story, 4, 1)


@PLANTED.violation("broker epoch 3 of broker 5", "was shown offset 2", on=left)
def epoch_that_an_observer_was_shown_to_be_over(story: Story) -> None:
    answer = {"leader": 1, "leader_epoch": 1, "high_watermark": 2, "voters": []}
    story.ask("c1", "describe-quorum", answer)
    story.heartbeat(5, 3)


@PLANTED.violation("broker epoch 3 of broker 5", "the metadata log has", on=read_to_its_end)
def epoch_that_was_over_before_the_next_leader(story: Story) -> None:
    story.disks.lead(2, 2, *VOTERS)
    story.heartbeat(5, 3, node="c2")


def test_of_what_was_over_twice_the_first_is_reported() -> None:
    story = left()
    lies(story, "BrokerRecord", broker_id=5, broker_epoch=9)
    read(story, 4)
    story.heartbeat(5, 3)
    (found,) = judged(ZombieFencing(), story).findings
    assert "the metadata log has broker epoch 6 at 1" in found.message
    assert "had applied" not in found.message and len(found.operations) == 2
    assert set(found.contracts) == {"clients", "disks"}


def shown_less(story: Story) -> None:
    read(story, 1)
    story.heartbeat(5, 3)


def shown_too_late(story: Story) -> None:
    asked = story.heartbeat_open(5)
    value = {"broker_id": 5, "broker_epoch": 3, "zombie": None}
    story.operations[-1] = asked = replace(asked, value=value)
    read(story, 3)
    story.complete(asked, "ok", {"broker_epoch": 3})


def asked_of_one_who_led_before(story: Story) -> None:
    """It may not know yet that it leads no more."""
    story.disks.lead(2, 2, *VOTERS)
    lies(story, "BrokerRecord", epoch=2, broker_id=4, broker_epoch=9)
    read(story, 5, 2)
    story.heartbeat(4, 8)


def asked_of_one_who_led_before_and_leads_again(story: Story) -> None:
    story.disks.lead(2, 2, *VOTERS)
    lies(story, "BrokerRecord", epoch=2, broker_id=4, broker_epoch=9)
    story.disks.lead(1, 3, *VOTERS)
    read(story, 6, 3)
    story.heartbeat(4, 8)


def asked_of_one_who_never_led(story: Story) -> None:
    read(story, 3)
    story.heartbeat(5, 3, node="c3")


def asked_of_a_later_leader_of_a_log_whose_beginning_is_gone(story: Story, base: int = 7) -> None:
    """Who led there nobody knows."""
    story.disks.evidence.clear()
    for node in VOTERS:
        story.disks.begin(node, base, dropped=True)
    lies(story, "BrokerRecord", broker_id=5, broker_epoch=6)
    story.disks.lead(2, 2, *VOTERS)
    read(story, base + 2, 2)
    story.heartbeat(5, 3, node="c2")


def asked_of_a_later_leader_of_a_log_that_lacks_its_first_record(story: Story) -> None:
    asked_of_a_later_leader_of_a_log_whose_beginning_is_gone(story, base=1)


def of_a_record_that_was_never_committed(story: Story) -> None:
    lies(story, "BrokerRecord", "c1", broker_id=5, broker_epoch=9)
    story.disks.lead(2, 2, "c2", "c3")
    read(story, 4, 2)
    story.heartbeat(5, 6)


def with_a_disk_that_was_not_collected(story: Story) -> None:
    story.disks.lost = {"c3"}
    read(story, 3)
    story.heartbeat(5, 3)


@pytest.mark.parametrize(
    "what",
    [
        shown_less,
        shown_too_late,
        asked_of_one_who_led_before,
        asked_of_one_who_led_before_and_leads_again,
        asked_of_one_who_never_led,
        asked_of_a_later_leader_of_a_log_whose_beginning_is_gone,
        asked_of_a_later_leader_of_a_log_that_lacks_its_first_record,
        of_a_record_that_was_never_committed,
        with_a_disk_that_was_not_collected,
    ],
)
def test_what_the_disks_do_not_show_to_have_been_known(what: Callable[[Story], None]) -> None:
    story = left()
    what(story)
    assert not judged(ZombieFencing(), story).findings


def test_a_log_in_which_a_generation_goes_back_has_what_came_before() -> None:
    story = mute()
    story.disks.lead(1, 1, *VOTERS)
    for epoch in (6, 9, 7, 7, 7, 7):
        lies(story, "BrokerRecord", broker_id=5, broker_epoch=epoch)
    read(story, 7)
    story.heartbeat(5, 8)
    (found,) = judged(ZombieFencing(), story).findings
    assert "the metadata log has broker epoch 9 at 2" in found.message


def test_of_what_is_no_later_generation_nobody_has_to_know() -> None:
    """Controller 1, which leads again, never had the record of epoch 9, and then wrote 8."""
    story = mute()
    for leader, epoch, broker_epoch in ((1, 1, 6), (2, 2, 9), (1, 3, 8)):
        story.disks.lead(leader, epoch, *VOTERS)
        lies(story, "BrokerRecord", epoch=epoch, broker_id=5, broker_epoch=broker_epoch)
    read(story, 6, epoch=3)
    story.heartbeat(5, 8, node="c1")
    assert not judged(ZombieFencing(), story).findings
    story.heartbeat(5, 7, node="c1")
    assert len(judged(ZombieFencing(), story).findings) == 1


def test_disks_say_nothing_of_what_controllers_had_applied_when_they_decided() -> None:
    """What lies on one disk was not applied, and need not be committed."""
    story = clean()
    figures = zombie_fencing(story.run_events()).figures
    lies(story, "BrokerRecord", "c1", broker_id=4, broker_epoch=99)
    assert zombie_fencing(story.run_events()).figures == figures
    assert not judged(ZombieFencing(), story).findings


def fenced_by_the_log() -> Story:
    """Broker 4, which is b1, is out of service by the disks, as a client was shown; it refuses
    clients, longer than a lease later, and a client is shown that it still is."""
    story = left()
    story.plan["capabilities"] = [*story.plan["capabilities"], "broker-leases"]
    lies(story, "UnfenceBrokerRecord", broker_id=4, broker_epoch=8)
    lies(story, "FenceBrokerRecord", broker_id=4, broker_epoch=8)
    value = {"broker_id": 201, "broker_epoch": 9, "lease_start_ms": 0}
    story.op("heartbeat", "broker-201", value, {"broker_epoch": 9, "lease_end_ms": 500})
    read(story, 5)
    story.wait(600)
    for _ in range(2):
        story.op("metadata", "t", type="fail", error="NOT_LEADER_OR_FOLLOWER", node="b1")
    read(story, 5)
    return story


def test_brokers_that_the_log_has_fenced_refuse_clients() -> None:
    result = judged(ZombieFencing(), fenced_by_the_log())
    assert result.verdict is Verdict.VALID, result.findings
    leased = clause_of(result, "leased")
    assert (leased.verdict, leased.compared) == (Verdict.VALID, 2)


@PLANTED.violation("was answered ok by b1 without a lease", on=fenced_by_the_log)
def serves_while_the_log_has_it_fenced(story: Story) -> None:
    story.op("metadata", "t", None, {"topic_id": TOPIC, "partitions": []}, node="b1")
    read(story, 5)


def cut_off(*, told: bool = False) -> Story:
    """b1 is kept from every controller until the nemesis begins to heal it, and refuses clients
    once others must have fenced its broker; as `left`, whose nodes tell nothing."""
    story = clean() if told else left()
    more = {"fencing_s": 1, "recovery_s": 1}
    capabilities = [*(story.plan.get("capabilities") or ()), "broker-leases"]
    story.plan = {**story.plan, **more, "capabilities": capabilities}
    story.wait(2_000)
    begin_ns = story.now_ns
    story.wait(1_100)
    for _ in range(2):
        story.op("metadata", "t", type="fail", error="NOT_LEADER_OR_FOLLOWER", node="b1")
    end_ns = story.now_ns + 200 * MS
    entries = [{"step": "planned", "cut_off": ["b1"]}]
    now_ns, times = story.now_ns, {"injected_ns": begin_ns, "healed_ns": end_ns}
    story.inject(7, fault="partition", victims={"b1": {}}, entries=entries, **times)
    story.now_ns = now_ns
    story.nemesis.append(
        NemesisEvent(index=9_999, time_ns=end_ns - MS, type="invoke", f="stop-partition")
    )
    return story


def ok_of_b1(story: Story, f: str = "metadata") -> None:
    story.op(f, "t", None, {"topic_id": TOPIC, "partitions": []}, node="b1")


def test_brokers_that_are_cut_off_refuse_clients() -> None:
    result = judged(ZombieFencing(), cut_off())
    assert not result.findings
    leased = clause_of(result, "leased")
    assert (leased.verdict, leased.compared) == (Verdict.VALID, 2)


@PLANTED.violation("by b1 without a lease: since", "no controller had heard", on=cut_off)
def serves_though_no_controller_hears_of_it(story: Story) -> None:
    ok_of_b1(story)


@PLANTED.violation("by b1 without a lease: since", on=lambda: cut_off(told=True))
def serves_though_cut_off_and_leaves_that_out(story: Story) -> None:
    """What it tells of its leases and answers is in order."""
    ok_of_b1(story)


def accused(story: Story) -> bool:
    found = zombie_fencing(story.run_events()).findings
    return any("no controller had heard" in each.message for each in found)


@pytest.mark.parametrize(
    "how", ["too early", "healing", "nobody told when", "no leases", "another", "not cut off"]
)
def test_answers_of_brokers_that_may_have_a_lease(how: str) -> None:
    story = cut_off()
    match how:
        case "too early":
            story.now_ns -= 200 * MS
        case "healing":
            story.wait(198)
        case "nobody told when":
            story.nemesis.clear()
        case "no leases":
            story.plan["capabilities"].remove("broker-leases")
        case "not cut off":
            story.faults[-1] = replace(story.faults[-1], entries=())
    story.op(
        "metadata",
        "t",
        None,
        {"topic_id": TOPIC, "partitions": []},
        node="b2" if how == "another" else "b1",
    )
    assert not accused(story)
    assert accused(served_late()), "as it is else"


def served_late() -> Story:
    story = cut_off()
    ok_of_b1(story)
    return story


def told_of(story: Story) -> tuple[int, int]:
    """How many answers of brokers that were cut off were judged, and how many accused."""
    judged, found = served_cut_off(story.run_events())
    return judged, len(found)


def test_what_is_an_answer_of_a_broker_that_was_cut_off() -> None:
    """A refusal is one that is in order; no answer is none, and an observer asks for no service."""
    assert told_of(cut_off()) == (2, 0)
    assert told_of(served_late()) == (3, 1)
    story = cut_off()
    story.invoke("metadata", "t", node="b1")
    assert told_of(story) == (2, 0)
    story.op("describe-node", "b1", node="b1")
    assert told_of(story) == (2, 0)
    story.plan["capabilities"].remove("broker-leases")
    assert told_of(story) == (0, 0)
    del story.plan["capabilities"]
    assert told_of(story) == (0, 0)


@pytest.mark.parametrize(
    ("began_ns", "ended_ns", "is_judged"),
    [(0, 1, True), (-1, 1, False), (150, 200 * MS, True), (150, 200 * MS + 1, False)],
)
def test_answer_of_the_first_or_the_last_moment_without_a_lease(
    began_ns: int, ended_ns: int, is_judged: bool
) -> None:
    """From when it was due to be fenced, until its healing begins."""
    story = served_late()
    (silence,) = silences_of(story.run_events())
    story.nemesis[-1] = replace(story.nemesis[-1], time_ns=silence.due_ns + 200 * MS)
    at_ns = [silence.due_ns + each for each in (began_ns, ended_ns)]
    late = replace(story.operations[-1], invoked_ns=at_ns[0], completed_ns=at_ns[1])
    story.operations = [late]
    assert told_of(story) == (is_judged, is_judged)


def test_fault_that_ended_before_its_healing_was_told() -> None:
    """Its end counts, whatever comes first."""
    story = served_late()
    end_ns = story.operations[-1].began_ns
    story.faults[-1] = replace(story.faults[-1], healed_ns=end_ns)
    assert told_of(story) == (2, 0)


@pytest.mark.parametrize(("type", "after_ns"), [("info", MS), ("invoke", 0)])
def test_what_begins_to_heal_nothing(type: Any, after_ns: int) -> None:
    """The end of a healing that was begun before, and one of the moment of the fault itself."""
    story = served_late()
    at_ns = story.faults[-1].injected_ns
    assert at_ns is not None
    mark = NemesisEvent(index=9_998, time_ns=at_ns + after_ns, type=type, f="stop-partition")
    story.nemesis.insert(0, mark)
    assert accused(story)


@pytest.mark.parametrize(
    ("f", "at", "counts"),
    [("stop-partition", 1, True), ("heal", 1, True), ("start-pause", 1, False),
     ("stop-partition", -3_500, False)],
)  # fmt: skip
def test_what_begins_to_heal_it_ends_what_is_known(f: str, at: int, counts: bool) -> None:
    """Before the late answer, or before the fault; or something else."""
    story = served_late()
    asked_ns = story.operations[-1].began_ns - at * MS if at > 0 else story.now_ns + at * MS
    story.nemesis.insert(0, NemesisEvent(index=9_998, time_ns=asked_ns, type="invoke", f=f))
    assert accused(story) != counts


# --- by what was applied ------------------------------------------------------------------


def test_request_that_began_before_the_record_was_applied() -> None:
    story = clean()
    slow = story.invoke("heartbeat", "broker-4", {"broker_id": 4, "broker_epoch": 8})
    story.broker(20, 4, 20)
    story.complete(slow, "ok", {"broker_epoch": 8})
    assert_valid(zombie_fencing(story.run_events()))


def test_members_whose_epochs_are_not_reported_or_current() -> None:
    story = Story()
    story.heartbeat(4, -1, answered=7)
    story.heartbeat(5, -1, answered=6)
    story.alter(3, [4, 5, 6], isr_epochs=[7, 6, -1])
    story.heartbeat(5, -1, answered=9)
    story.alter(4, [4], isr_epochs=[7])
    story.alter(5, [4, 5], isr_epochs=[7, 9])
    story.heartbeat(4, 6, zombie="killed", type="fail", error="STALE_BROKER_EPOCH")
    assert_valid(zombie_fencing(story.run_events()))


def test_zombie_that_history_shows_to_be_current_is_none() -> None:
    story = clean()
    story.heartbeat(4, 8, zombie="paused")
    outcome = zombie_fencing(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["zombies_current"] == 1
    assert outcome.figures["zombies_indeterminate"] == 1, "one of before"


def test_honest_request_that_is_refused_was_an_occasion_too() -> None:
    story = clean()
    story.heartbeat(4, 3, type="fail", error="STALE_BROKER_EPOCH")
    assert zombie_fencing(story.run_events()).clauses["refused"] == 3


def test_request_that_began_before_the_newer_epoch_was_acknowledged() -> None:
    story = clean()
    slow = story.invoke("heartbeat", "broker-4", {"broker_id": 4, "broker_epoch": 8})
    story.heartbeat(4, -1, answered=20)
    story.complete(slow, "ok", {"broker_epoch": 8})
    assert_valid(zombie_fencing(story.run_events()))


@given(
    st.lists(
        st.tuples(
            st.sampled_from([-1, 1, 2, 3]),
            st.integers(1, 3),
            st.integers(0, 2),
            st.sampled_from([None, None, 1, 2, 3]),
        ),
        min_size=1,
        max_size=6,
    )
)
def test_heartbeats_are_fenced_as_it_says(
    beats: list[tuple[int, int, int, int | None]],
) -> None:
    """(epoch carried, epoch answered, how many of those under way end after it began, the epoch of
    a registration that is applied then)."""
    story = Story()
    story.heartbeat(9, 1, zombie="replay", type="fail", error="STALE_BROKER_EPOCH")
    open_: list[tuple[Operation, int]] = []
    applied: list[tuple[int, int]] = []
    for carried, answered, ended, registered in beats:
        value = {"broker_id": 4, "broker_epoch": carried}
        open_.append((story.invoke("heartbeat", "broker-4", value), answered))
        for operation, epoch in open_[:ended]:
            story.complete(operation, "ok", {"broker_epoch": epoch})
        del open_[:ended]
        if registered is not None:
            applied.append((story.broker(len(applied), 4, registered).time_ns, registered))
    for operation, epoch in open_:
        story.complete(operation, "ok", {"broker_epoch": epoch})
    right = not any(
        -1 < b.value["broker_epoch"] < newer
        for b in story.operations
        if b.ok
        for newer in (
            *(a.result["broker_epoch"] for a in story.operations if a.ok and a.precedes(b)),
            *(epoch for at_ns, epoch in applied if at_ns < (b.invoked_ns or 0)),
        )
    )
    assert (zombie_fencing(story.run_events()).verdict is Verdict.VALID) == right


def known_by(show: Callable[[Story], Any], ask: Callable[[Story], Any]) -> list[str]:
    """What is said of a request that was accepted after this answer."""
    story = Story()
    show(story)
    ask(story)
    return [each.message for each in zombie_fencing(story.run_events()).findings]


def beats(epoch: int, broker: int = 4) -> Callable[[Story], Any]:
    return lambda story: story.heartbeat(broker, epoch)


def alters(version: int, **more: Any) -> Callable[[Story], Any]:
    return lambda story: story.alter(version, [4], **{"broker_epoch": 8, **more})


def started(f: str, **result: Any) -> Callable[[Story], Any]:
    return lambda story: story.op(f, "broker-4", None, result)


def answered(f: str, result: Any, type: CompletionType = "ok") -> Callable[[Story], Any]:
    value = {"broker_id": 4, "broker_epoch": 3}
    return lambda story: story.op(f, "t", value, result, type=type)


LATER = {"leader_epoch": 5, "leader": 4, "partition_epoch": 4, "isr": [4]}


def metadata(**told: Any) -> Callable[[Story], Any]:
    return lambda story: story.op(
        "metadata", "t", None, {"topic_id": TOPIC, "partitions": [{"partition": 0, **told}]}
    )


def observed(
    topic_id: str = TOPIC, f: str = "describe-topics", **told: Any
) -> Callable[[Story], Any]:
    """A broker tells the observer of a topic."""
    topic = {"name": "t", "topic_id": topic_id, "partitions": [{"partition": 0, **told}]}
    return lambda story: story.ask("b1", f, {"brokers": [], "topics": [topic]})


@pytest.mark.parametrize(
    ("show", "ask", "says"),
    [
        (answered("heartbeat", {"broker_epoch": 8}), beats(3), "broker epoch 8"),
        (started("start", broker_id=4, broker_epoch=8), beats(3), "broker epoch 8"),
        (started("restart", broker_id=4, broker_epoch=8), beats(3), "broker epoch 8"),
        (started("bounce", broker_id=4, broker_epoch=8), beats(3), "broker epoch 8"),
        (alters(3), beats(3), "broker epoch 8"),
        (lambda story: story.alter(3, [4, 5], isr_epochs=[8, 6]), beats(3, 5), "broker epoch 6"),
        (alters(3, answer=LATER), alters(4, leader_epoch=4), "leader epoch 5"),
        (alters(3, answer=LATER), alters(3, leader_epoch=5), "version 4"),
        (lambda story: story.describe("t", shown(4, [4])), alters(3), "version 4"),
        (lambda story: story.follow("t", shown(4, [4])), alters(3), "version 4"),
        (lambda story: story.broker(0, 4, 8), beats(3), "broker epoch 8"),
        (metadata(leader_epoch=5), alters(3, leader_epoch=4), "leader epoch 5"),
        (observed(leader_epoch=5), alters(3, leader_epoch=4), "leader epoch 5"),
        (observed(leader_epoch=5, partition_epoch=4), alters(3, leader_epoch=5), "version 4"),
    ],
)
def test_what_shows_a_generation(
    show: Callable[[Story], Any], ask: Callable[[Story], Any], says: str
) -> None:
    (found,) = known_by(show, ask)
    assert says in found


@pytest.mark.parametrize(
    ("show", "ask"),
    [
        (answered("heartbeat", {"broker_epoch": 8}, "fail"), beats(3)),
        (answered("heartbeat", None), beats(3)),
        (answered("heartbeat", {}), beats(3)),
        (answered("heartbeat", {"broker_epoch": -1}), beats(3)),
        (started("start", broker_id=4), beats(3)),
        (started("start", broker_epoch=8), beats(3)),
        (answered("metadata", {"partitions": [{"partition": 0}]}), alters(3)),
        (metadata(leader_epoch=5), alters(3, leader_epoch=5)),
        (observed(leader_epoch=5), alters(3, leader_epoch=5)),
        (observed(OTHER, leader_epoch=5), alters(3, leader_epoch=4)),
        (observed(f="describe-cluster", leader_epoch=5), alters(3, leader_epoch=4)),
        (observed(), alters(3)),
        (lambda story: story.ask("b1", "describe-topics", {"brokers": []}), alters(3)),
        (answered("describe", {"partitions": None}), alters(3)),
        (answered("describe", {"partitions": [{"partition": 0, "leader_epoch": 0}]}), alters(3)),
        (beats(8), alters(3, isr_epochs=[-1])),
        (beats(8), answered("describe", {})),
        (beats(8), lambda story: story.op("heartbeat", "broker-4")),
    ],
)
def test_what_shows_no_generation_or_carries_none(
    show: Callable[[Story], Any], ask: Callable[[Story], Any]
) -> None:
    assert known_by(show, ask) == []


def test_of_a_request_that_is_stale_twice_the_first_is_reported() -> None:
    (found,) = known_by(alters(3, answer=LATER), alters(2, broker_epoch=3, leader_epoch=5))
    assert "with broker epoch 3" in found


def test_zombie_that_carried_no_generation() -> None:
    (found,) = known_by(beats(8), lambda story: story.heartbeat(77, -1, zombie="paused"))
    assert "was a zombie's (paused)" in found


def test_client_that_knew_that_its_numbers_were_over_gave_an_occasion() -> None:
    story = clean()
    story.operations = [each for each in story.operations if not is_zombie(each)]
    value = {"broker_id": 4, "broker_epoch": 3, "stale": True}
    story.complete(story.invoke("heartbeat", "broker-4", value), "info")
    refused = clause_of(judged(ZombieFencing(), story), "refused")
    assert (refused.verdict, refused.compared) == (Verdict.UNKNOWN, 0)


def test_request_of_the_moment_in_which_a_record_was_applied() -> None:
    """And one of no known time."""
    for invoked_ns in ("then", "just after", None):
        story = Story()
        applied = story.broker(0, 4, 8).time_ns
        asked = story.heartbeat(4, 3)
        at = {"then": applied, "just after": applied + 1}
        story.operations = [replace(asked, invoked_ns=at.get(invoked_ns or ""))]
        assert bool(zombie_fencing(story.run_events()).findings) == (invoked_ns == "just after")


def test_of_nodes_that_applied_a_record_the_first_counts() -> None:
    """In whatever order they are heard."""
    story = Story()
    story.apply("c1", 0, "BrokerRecord", broker_id=4, broker_epoch=8)
    story.heartbeat(4, 3)
    story.apply("c2", 0, "BrokerRecord", broker_id=4, broker_epoch=8)
    events = story.run_events()
    for evidence in (list(events.evidence), list(events.evidence)[::-1]):
        (found,) = zombie_fencing(replace(events, evidence=evidence)).findings
        assert "c1 had applied broker epoch 8" in found.message


# --- what controllers had applied ---------------------------------------------------------


def test_decision_on_a_broker_epoch_that_it_had_applied_a_newer_one_of() -> None:
    story = clean()
    beat = story.invoke("heartbeat", "broker-4", {"broker_id": 4, "broker_epoch": 3})
    story.decide("BrokerHeartbeat", {"broker_id": 4, "broker_epoch": 3}, [])
    story.complete(beat, "info")
    outcome = zombie_fencing(story.run_events())
    assert_invalid(outcome, "c1 accepted BrokerHeartbeat", "broker epoch of broker 4 at 3", "to 8")
    assert outcome.findings[0].operations == (beat.index,)


@pytest.mark.parametrize(
    ("stale", "what"),
    [
        ({"leader_epoch": -1}, "leader epoch"),
        ({"partition_epoch": 1}, "version"),
        ({"broker_epoch": 3}, "broker epoch"),
    ],
)
def test_decision_on_a_stale_isr_change(stale: dict[str, Any], what: str) -> None:
    story = clean()
    story.decide("AlterPartition", source(2, broker_epoch=8) | stale, [12])
    assert_invalid(zombie_fencing(story.run_events()), "accepted AlterPartition", what)


@PLANTED.violation("c2 accepted", "offset 9")
def record_above_a_newer_generation_that_another_node_applied(story: Story) -> None:
    """The controller's own events do not show it, the log does."""
    story.boot("c2")
    story.decide("AlterPartition", source(1, broker_epoch=8), [12], node="c2", as_of=12)
    story.apply("c1", 12, "NoOpRecord")


def test_decision_whose_record_was_never_committed_is_not_judged_by_the_log() -> None:
    story = clean()
    story.decide("AlterPartition", source(1, broker_epoch=8), [12], node="c2", as_of=12, epoch=0)
    story.apply("c1", 12, "NoOpRecord")
    assert_valid(zombie_fencing(story.run_events()))


def test_own_record_may_be_applied_before_the_decision_is_written_down() -> None:
    story = clean()
    story.partition(12, 3, [4])
    story.decide("AlterPartition", source(2, broker_epoch=8), [12], as_of=12)
    assert_valid(zombie_fencing(story.run_events()))


# --- batches ------------------------------------------------------------------------------


def batch(first: int, second: int, **more: Any) -> list[dict[str, Any]]:
    """Two ISR changes of one request, with their codes: one of partition 0 that names version 1,
    which is over, and one of partition 1."""
    other = source(0, broker_epoch=8) | {"partition": 1}
    return [
        item(source(1, broker_epoch=8), first, [12] if first == 0 else []),
        item(other | more, second, [13] if second == 0 else []),
    ]


def decided(story: Story, items: list[dict[str, Any]], **more: Any) -> None:
    """A batch of which something was accepted."""
    records = [offset for each in items for offset in each["records"]]
    story.partition(11, 0, [4], partition_id=1)
    for each in items:
        for offset in each["records"]:
            story.partition(offset, 2, [4], partition_id=each["partition"])
    first = source(1, broker_epoch=8)
    story.decide("AlterPartition", first, records, as_of=12, items=items, **more)


@pytest.mark.parametrize("older", [False, True])
def test_refused_part_of_a_batch_of_which_another_was_accepted(older: bool) -> None:
    """The verdict is the batch's, the epochs are the first part's."""
    story = clean()
    decided(story, batch(74, 0), older=older)
    outcome = zombie_fencing(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["decisions"] == 3


@PLANTED.violation(f"version of partition {TOPIC}/0 at 1")
def accepted_part_of_a_batch_on_a_stale_version(story: Story) -> None:
    decided(story, batch(0, 0))


@PLANTED.violation(f"leader epoch of partition {TOPIC}/1 at -1")
def accepted_part_that_is_not_the_first_on_a_stale_leader_epoch(story: Story) -> None:
    items = batch(74, 0, leader_epoch=-1)
    decided(story, items)


@PLANTED.violation("broker epoch of broker 4 at 3")
def batch_of_a_stale_broker_of_which_a_part_was_accepted(story: Story) -> None:
    story.partition(11, 0, [4], partition_id=1)
    stale = source(1, broker_epoch=3)
    story.decide("AlterPartition", stale, [13], as_of=12, items=batch(74, 0))


@PLANTED.violation(f"version of partition {TOPIC}/0 at 1")
def older_run_shows_by_a_record_that_the_first_part_was_accepted(story: Story) -> None:
    decided(story, batch(0, 74), older=True)


def test_older_run_without_the_record_does_not_tell_which_part_was_accepted() -> None:
    story = clean()
    story.decide("AlterPartition", source(1, broker_epoch=8), [12], as_of=12, older=True)
    assert_valid(zombie_fencing(story.run_events()))


# --- leases -------------------------------------------------------------------------------


@PLANTED.violation("b1 served Metadata", "after its lease")
def serves_after_its_lease_by_its_own_events(story: Story) -> None:
    story.wait(100)
    story.event("b1", "heartbeat", error=41)
    story.wait(300)
    story.serve("b1")


def test_of_three_that_answered_two_tell() -> None:
    story = clean()
    story.op("fetch", "t/0", {"from": 0}, {"records": []}, node="b3")
    assert_unknown(ZombieFencing(), story, "leased")


def test_a_change_of_its_state_shows_that_it_ran_and_a_stall_that_it_did_not() -> None:
    story = clean()
    story.wait(100)
    story.bstate("b1", "FENCED", "ACTIVE")
    story.wait(300)
    story.serve("b1")
    assert judged(ZombieFencing(), story).verdict is Verdict.INVALID
    story.event("b1", "stall", loop="data", ms=250, delayed_ms=250)
    assert judged(ZombieFencing(), story).verdict is Verdict.VALID


def test_serves_an_operation_that_began_after_its_lease() -> None:
    story = clean()
    story.wait(100)
    read = story.invoke("metadata", "t", node="b1")
    story.serve("b1", topic="t")
    read = story.complete(read, "ok", {"topic_id": TOPIC, "partitions": []})
    outcome = zombie_fencing(story.run_events())
    assert_invalid(outcome, "b1 served Metadata", f"operations: {read.index}")
    assert outcome.findings[0].operations == (read.index,)


def test_serves_a_client_that_gave_up_before() -> None:
    story = clean()
    create = story.op("create", "t", {}, type="info", error="CLIENT_TIMED_OUT", node="b1")
    story.wait(100)
    story.event("b1", "heartbeat", error=41)
    story.wait(300)
    story.serve("b1", "CreateTopics", topic="t")
    outcome = zombie_fencing(story.run_events())
    assert_invalid(outcome, "b1 served CreateTopics", f"operations: {create.index}")
    assert outcome.findings[0].operations == (create.index,)


def test_serves_without_ever_having_had_a_lease() -> None:
    story = clean()
    story.boot("b1")
    create = story.invoke("create", "t", node="b1")
    story.serve("b1", "CreateTopics", topic="t")
    create = story.complete(create, "ok", {"topic_id": TOPIC})
    outcome = zombie_fencing(story.run_events())
    assert_invalid(outcome, "before it was granted any lease")
    assert outcome.findings[0].operations == (create.index,)


@PLANTED.violation("b1 served Metadata")
def serves_absence_after_its_lease(story: Story) -> None:
    story.wait(100)
    story.event("b1", "heartbeat", error=41)
    story.wait(300)
    story.serve("b1", code=3, topic="t")


@PLANTED.violation("b1 served Produce")
def serves_one_of_several_topics_after_its_lease(story: Story) -> None:
    story.wait(100)
    story.event("b1", "heartbeat", error=41)
    story.wait(300)
    story.serve("b1", "Produce", code=6, codes=[6, 0], topic="t")


def test_refusal_of_several_topics_after_its_lease_serves_none() -> None:
    story = clean()
    story.wait(100)
    story.event("b1", "heartbeat", error=41)
    story.wait(300)
    story.serve("b1", "Produce", code=6, codes=[6, 6], topic="t")
    assert_valid(zombie_fencing(story.run_events()))


def test_process_stopped_between_answer_and_event_is_no_false_alarm() -> None:
    """It answered in time, was paused, and wrote the event down when it went on."""
    story = clean()
    read = story.invoke("metadata", "t", node="b1")
    story.wait(100)
    story.serve("b1", topic="t")
    story.complete(read, "ok", None)
    assert_valid(zombie_fencing(story.run_events()))


def test_threads_of_one_process_write_their_events_in_any_order() -> None:
    """One answered in time; the process was paused; another one wrote first when it went on."""
    story = clean()
    read = story.invoke("metadata", "t", node="b1")
    story.wait(100)
    story.event("b1", "heartbeat", error=41)
    story.serve("b1", topic="t")
    story.complete(read, "ok", None)
    assert_valid(zombie_fencing(story.run_events()))


def test_process_that_stood_still_may_say_late_what_it_served() -> None:
    """The machine had no time for one of its threads; it says so after what it had done before."""
    for ms in (0, 250):
        story = clean()
        story.wait(100)
        story.event("b1", "heartbeat", error=41)
        story.wait(300)
        story.serve("b1")
        if ms:
            story.event("b1", "stall", loop="data", ms=ms, delayed_ms=ms)
        found = zombie_fencing(story.run_events())
        assert (found.verdict is Verdict.VALID) == bool(ms), found.findings


def test_within_the_uncertainty_of_clocks_clients_prove_nothing() -> None:
    """What the node says of itself, by its one clock, still does."""
    story = clean()
    story.plan |= {"hosts": "ssh", "nemeses": []}
    story.wait(100)
    read = story.invoke("metadata", "t", node="b1")
    story.serve("b1", topic="t")
    story.complete(read, "ok", {"topic_id": TOPIC, "partitions": []})
    assert_valid(zombie_fencing(story.run_events()))
    story.wait(300)
    story.serve("b1")
    assert_invalid(zombie_fencing(story.run_events()), "b1 served Metadata", "after its lease")


# --- members of ISRs ----------------------------------------------------------------------


def played() -> Story:
    """15 is in service again."""
    story = have_registered(mute(second_life()))
    story.heartbeat(15, 8)
    return story


def fit_members(story: Story) -> tuple[Verdict | None, int]:
    found = clause_of(judged(ZombieFencing(), story), "fit-members")
    return found.verdict, found.compared


def test_refused_members_are_enough_where_there_are_two_of_each_kind() -> None:
    assert fit_members(refused_members(played())) == (Verdict.VALID, 4)


def test_clients_who_sent_few_gave_little_occasion() -> None:
    assert fit_members(refused_members(played(), times=1)) == (None, 0)
    for broker, epoch in ((15, 6), (16, 9)):
        one_kind = played()
        for _ in range(5):
            takes_in(one_kind, broker, epoch, type="fail", error="INELIGIBLE_REPLICA")
        assert fit_members(one_kind)[0] is None


@pytest.mark.parametrize(("broker", "epoch", "more"), [(15, 6, 0), (16, 9, 0), (15, 8, 1)])
def test_a_zombie_that_is_refused_for_a_member_was_not_refused_as_one(
    broker: int, epoch: int, more: int
) -> None:
    """Of a former life, or out of service; one whose members are fit was."""
    story = played()
    before = clause_of(judged(ZombieFencing(), story), "refused").compared
    takes_in(story, broker, epoch, zombie="paused", type="fail", error="INVALID_UPDATE_VERSION")
    assert clause_of(judged(ZombieFencing(), story), "refused").compared == before + more


@pytest.mark.parametrize(
    ("type_", "error"), [("info", "CLIENT_TIMED_OUT"), ("fail", "CONNECTION_FAILED")]
)
def test_members_of_whom_nobody_was_told_anything_were_not_refused(
    type_: CompletionType, error: str
) -> None:
    story = played()
    for _ in range(4):
        takes_in(story, 15, 6, type=type_, error=error)
        takes_in(story, 16, 9, type=type_, error=error)
    assert fit_members(story) == (Verdict.UNKNOWN, 0)


def test_refusal_for_something_else_says_nothing_of_members() -> None:
    story = played()
    for _ in range(4):
        for broker, epoch in ((15, 6), (16, 9)):
            takes_in(story, broker, epoch, broker_epoch=3, type="fail", error="STALE_BROKER_EPOCH")
    assert fit_members(story)[0] is None


@PLANTED.violation("broker epoch 6 of broker 15", "answered broker epoch 8", on=played)
def member_of_a_former_life(story: Story) -> None:
    takes_in(story, 15, 6)


@PLANTED.violation("broker 16 of epoch 9 had been registered, and had not asked", on=played)
def member_that_never_asked_to_be_active(story: Story) -> None:
    takes_in(story, 16, 9)


@PLANTED.violation("broker 16 of epoch 9 had been registered", on=played)
def member_that_was_refused_before_it_was_active(story: Story) -> None:
    story.heartbeat(16, 9, type="fail", error="NOT_CONTROLLER")
    takes_in(story, 16, 9, zombie="fenced")


@PLANTED.violation("broker 16 of epoch 9 had been registered", on=played)
def member_that_asked_to_be_active_afterwards(story: Story) -> None:
    takes_in(story, 16, 9)
    story.heartbeat(16, 9)


@PLANTED.violation("broker 15 of epoch 8 had been let go", on=played)
def member_that_was_let_go(story: Story) -> None:
    leaves(story, 15, 8)
    takes_in(story, 15, 8)


@PLANTED.violation("broker 15 of epoch 8 had been let go", on=played)
def member_that_was_let_go_and_registers_anew(story: Story) -> None:
    leaves(story, 15, 8)
    story.invoke("heartbeat", "broker-15", {"broker_id": 15, "broker_epoch": -1})
    takes_in(story, 15, 8)


def test_members_of_whom_it_is_not_sure_that_they_are_out_of_service() -> None:
    """Look-alikes: they asked to be active meanwhile, or nobody knows whether they did before."""
    meanwhile = played()
    change_ = meanwhile.invoke("alter-isr", "t/0", change(9, [4, 16], isr_epochs=[8, 9]))
    change_.value["broker_epoch"] = 8
    meanwhile.heartbeat(16, 9)
    meanwhile.complete(change_, "ok", accepted(change_.value))

    under_way = played()
    value = {"broker_id": 16, "broker_epoch": 9, "target": "active", "zombie": None}
    lost = under_way.invoke("heartbeat", "broker-16", value)
    takes_in(under_way, 16, 9)
    under_way.complete(lost, "info", error="CLIENT_TIMED_OUT")

    may_be_late = played()
    may_be_late.heartbeat(15, 8, type="info", error="CLIENT_TIMED_OUT")
    leaves(may_be_late, 15, 8)
    takes_in(may_be_late, 15, 8)

    back = played()
    leaves(back, 15, 8)
    back.heartbeat(15, 8)
    takes_in(back, 15, 8)

    on_its_way = played()
    leaves(on_its_way, 15, 8, state="active")
    takes_in(on_its_way, 15, 8)

    again = played()  # the same process: it stays in service
    registers(again, 15, 8)
    takes_in(again, 15, 8)

    late = played()
    first = late.invoke("heartbeat", "broker-16", {"broker_id": 16, "broker_epoch": -1})
    takes_in(late, 16, 12)
    late.complete(first, "ok", {"broker_epoch": 12, "next_state": "starting"})

    unnamed = played()
    takes_in(unnamed, 16, -1)
    for story in (meanwhile, under_way, may_be_late, back, on_its_way, again, late, unnamed):
        assert not zombie_fencing(story.run_events()).findings
