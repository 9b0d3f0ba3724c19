"""One process at a time holds a broker id (D.12)."""

import random
from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_logs import LogStory
from planted_runs import MS, OTHER, TOPIC, ZERO_NS, NodeEvent, assert_invalid, assert_valid

from checkers.lease_exclusion import LeaseExclusion, lease_exclusion
from framework.verdict import Verdict
from nodes.kraft.adapter.evidence import promises
from tests.cases import cases

LENGTH_MS = 5_000
FOUND = {"topic_id": TOPIC, "partitions": []}


def leased(
    story: LogStory,
    node: str,
    epoch: int,
    *,
    start_ns: int | None = None,
    lasts_ms: float = 5_000,
    broker: int = 4,
) -> NodeEvent:
    start = (story.now_ns if start_ns is None else start_ns) + ZERO_NS
    return story.event(
        node,
        "lease",
        broker_id=broker,
        broker_epoch=epoch,
        start_ns=start,
        end_ns=start + round(lasts_ms * MS),
        granted_by=1,
    )


def expired(story: LogStory, epoch: int | None = None, broker: int = 4) -> None:
    """The active controller fences a broker of its own accord."""
    offset = story.offset
    story.append("c1", offset, story.epoch, 1, leader=True)
    story.fence(broker, epoch)


def clean() -> LogStory:
    """A broker holds leases; a second process takes its id over; its lease runs out. Then it does
    so again, where takeovers are deferred. Another one, beside it, is dead for long."""
    story = LogStory(readers=("c1",))
    every = {node: {"broker.takeover": "deferred"} for node in story.plan["nodes"]}
    story.plan = {**story.plan, "options": {}, "settings": every, "recovery_s": 15}
    story.boot("c1")
    story.event("c1", "claim", epoch=1, end_offset=0)
    story.boot("b1")
    story.register(4)
    leased(story, "b1", 0)
    story.unfence(4)
    story.serve("b1")
    story.wait(1_000)
    leased(story, "b1", 0)
    story.serve("b1")
    late = story.now_ns
    story.beat(4, "ACTIVE", [story.offset])
    story.fence(4)
    story.register(4)
    leased(story, "b2", story.epochs[4])
    leased(story, "b1", 0, start_ns=late)
    story.serve("b1")
    story.serve("b2")
    story.unfence(4)
    story.wait(LENGTH_MS + 10)
    expired(story)
    story.register(4)
    third = story.epochs[4]
    leased(story, "b1", third)
    story.unfence(4)
    story.serve("b1")
    for node in ("b1", "b2"):
        story.op("metadata", "t", None, FOUND, node=node)
    dead(story)
    again_dead(story)
    return story


def dead(story: LogStory, *, fenced: bool = True, moved: bool = True, ms: float = 20_000) -> None:
    """Broker 6 is leased an epoch, leads u/0, and its node is killed for long; c1 goes on."""
    story.register(6)
    leased(story, "b3", story.epochs[6], broker=6)
    story.unfence(6)
    story.topic("u", OTHER)
    story.new_partition([6, 4], topic_id=OTHER)
    begin = story.now_ns
    story.wait(LENGTH_MS + 10)
    if fenced:
        expired(story, broker=6)
    if moved:
        story.isr([4], 4, topic_id=OTHER)
    story.wait(ms - LENGTH_MS)
    story.record("NoOpRecord")
    end = story.now_ns
    story.now_ns = begin
    story.inject(fault="kill", victims={"b3": {}}, lasts_ms=(end - begin) / MS)


def test_clean_run_is_accepted() -> None:
    outcome = lease_exclusion(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures["expiries"] == 3
    assert outcome.clauses == {
        "one-process": (2, 2),
        "newest-epoch": 5 + 1,  # leases, and a decision
        "under-lease": (2, 2),
        "broker-ends-first": 7,
        "exclusive": 2,
        "silent-is-fenced": 2,
    }


def test_no_leases_are_unknown() -> None:
    story = LogStory()
    story.brokers(4)
    assert lease_exclusion(story.run_events()).verdict is Verdict.UNKNOWN


def served_late(story: LogStory) -> None:
    story.serve("b2")
    story.serve("b2")


def stale(story: LogStory) -> None:
    story.decide("AlterPartition", {"broker_id": 4, "broker_epoch": 0}, [story.offset])
    story.record("NoOpRecord")


def soon_after_failover(story: LogStory) -> None:
    story.unfence(4)
    story.epoch = 2
    story.event("c1", "claim", epoch=2, end_offset=story.offset)
    story.wait(4_000)
    expired(story)


def before_its_end(story: LogStory) -> None:
    story.unfence(4)
    leased(story, "b2", story.epochs[4])
    story.wait(4_000)
    expired(story)


def together(story: LogStory) -> None:
    story.register(4)
    leased(story, "b2", story.epochs[4])
    story.serve("b2")
    story.serve("b1")


def again_dead(story: LogStory, **how: Any) -> None:
    story.wait(1_000)
    dead(story, **how)


PLANTED = Plants.of(
    clean,
    {
        "two processes were leased broker id 4": lambda story: leased(story, "b3", story.epochs[4]),
        "under epoch 0 after a lease under epoch": lambda story: leased(story, "b1", 0),
        "change the committed state by AlterPartition under epoch 0": stale,
        "after its lease had ended": served_late,
        "was leased for 6000 ms": lambda story: leased(story, "b2", 3, lasts_ms=6_000),
        "before the end that the broker knew": before_its_end,
        "after it had become active": soon_after_failover,
        "two processes served as broker 4 at one time": together,
        "b3 had been gone for 15 s, and broker 6 was not fenced": lambda story: again_dead(
            story, fenced=False
        ),
        f"b3 had been gone for 15 s, and broker 6 still led {OTHER}/0": lambda story: again_dead(
            story, moved=False
        ),
    },
)


@pytest.mark.parametrize("how", ["healed earlier", "nobody left", "nothing told"])
def test_broker_that_may_not_have_been_fenced_yet(how: str) -> None:
    """It was dead for less long; most controllers were, too; or nobody tells of that time."""
    story = clean()
    dead_again = {"fenced": False, "ms": 12_000 if how == "healed earlier" else 20_000}
    again_dead(story, **dead_again)
    if how == "nobody left":
        kill = story.faults[-1]
        story.faults.append(replace(kill, id=4, victims={"c1": {}, "c2": {}}))
    if how == "nothing told":
        story.events.pop()
    assert_valid(lease_exclusion(story.run_events()))


def test_one_silence_is_one_sighting_however_many_replicas_the_broker_had() -> None:
    """The ledger says that there was no other occasion; one that is wrong is found all the same."""
    story = clean()
    story.faults.pop()
    silence = clause_of(judged(LeaseExclusion(), story), "silent-is-fenced")
    assert silence.verdict is None and silence.note.startswith("hardly a broker's node was gone")
    story.faults.clear()
    silence = clause_of(judged(LeaseExclusion(), story), "silent-is-fenced")
    assert silence.verdict is None and silence.note.startswith("no broker's node was gone for 15 s")
    again_dead(story, fenced=False)
    result = judged(LeaseExclusion(), story)
    assert clause_of(result, "silent-is-fenced").verdict is Verdict.INVALID


@pytest.mark.parametrize(
    ("measured", "accused"),
    [
        ({"took": [[-1_000_000, 1_000_000, 1_400_000]]}, False),
        ({"took": [[-1_000_000, 1_000_000, 1_400_000]], "lost": []}, True),
        ({"took": [], "lost": [[-1_000_000, 1_000_000, 1_400_000]]}, False),
        ({"took": [], "lost": [[-1_000_000, 1_000_000, 200_000]]}, True),
    ],
)
def test_many_who_want_the_cores_excuse_no_controller_that_had_one(
    measured: dict[str, Any], accused: bool
) -> None:
    """Nodes were measured, and none waited."""
    story = clean()
    again_dead(story, fenced=False)
    nodes = {node: list[list[int]]() for node in story.plan["nodes"]}
    story.plan = {**story.plan, "machine": {**measured, "nodes": nodes}}
    assert (lease_exclusion(story.run_events()).verdict is Verdict.INVALID) == accused


@pytest.mark.parametrize(
    ("left_out", "node", "clauses"),
    [
        ("lease", "b3", ["one-process"]),
        ("serve", "b2", ["under-lease"]),
        ("serve", None, ["under-lease", "exclusive"]),
        ("lease", None, ["one-process", "newest-epoch", "broker-ends-first"]),
        ("apply", None, ["broker-ends-first", "silent-is-fenced"]),
    ],
)
def test_nodes_that_leave_events_out_are_unknown(
    left_out: str, node: str | None, clauses: list[str]
) -> None:
    story = silent(clean(), left_out, node=node)
    if left_out == "lease":
        story = silent(story, "serve", node=node)
    assert_unknown(LeaseExclusion(), story, *clauses)


def overlapping() -> LogStory:
    """With immediate takeover the old process serves on until it hears of it."""
    story = LogStory(readers=("c1",))
    story.boot("b1")
    story.register(4)
    leased(story, "b1", 0)
    story.serve("b1")
    epoch = story.register(4)
    story._lives["b1#2"] = (1, -1)
    second = story.boot("b2")
    second.fields["broker_id"] = 4  # type: ignore[index]
    leased(story, "b2", epoch)
    story.serve("b2")
    story.serve("b1")
    story.serve("b2")
    return story


def test_strict_form_is_of_deferred_takeover_only() -> None:
    story = overlapping()
    outcome = lease_exclusion(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["overlapping_takeovers"] == 1
    every = {node: {"broker.takeover": "deferred"} for node in story.plan.get("nodes") or ["b1"]}
    story.plan = {**story.plan, "settings": every}
    assert_invalid(lease_exclusion(story.run_events()), "two processes served as broker 4")


@pytest.mark.parametrize(
    ("of_nodes", "deferred"),
    [
        ({}, False),
        ({"c1": {"broker.takeover": "deferred"}}, False),
        ({node: {"broker.takeover": "deferred"} for node in ("c1", "b1")}, True),
        ({node: {"broker.takeover": "immediate"} for node in ("c1", "b1")}, False),
        ({node: {"broker.lease.ms": "deferred"} for node in ("c1", "b1")}, False),
    ],
)
def test_takeovers_are_deferred_where_every_node_defers_them(of_nodes: Any, deferred: bool) -> None:
    plan = {"nodes": {"c1": {}, "b1": {}}, "settings": of_nodes}
    assert bool(list(promises(plan))) is deferred


def test_plans_of_before_there_were_settings_defer_nothing() -> None:
    assert not list(promises({"nodes": {"c1": {}}}))
    assert not list(promises({}))


def test_processes_that_share_an_epoch_are_reported_of_once() -> None:
    story = clean()
    for node in ("b3", "b2", "b3"):
        leased(story, node, story.epochs[4])
    assert len(lease_exclusion(story.run_events()).findings) == 1


@pytest.mark.parametrize(
    "more",
    [
        {"verdict": 77},
        {"epoch": 2},  # of a leader whose records were never committed
        {"source": {"broker_id": None, "broker_epoch": None}},
        {"source": {"broker_id": 4, "broker_epoch": 6}},  # not older
        {"source": {"broker_id": 9, "broker_epoch": 0}},  # which nobody replaced
        {"records": []},
    ],
)
def test_decisions_that_changed_nothing_under_an_older_epoch(more: dict[str, Any]) -> None:
    story = clean()
    source = more.pop("source", {"broker_id": 4, "broker_epoch": 0})
    records = more.pop("records", [story.offset])
    story.decide("BrokerHeartbeat", {"target": "ACTIVE", **source}, records, **more)
    story.record("NoOpRecord")
    assert_valid(lease_exclusion(story.run_events()))


@pytest.mark.parametrize(
    ("lasts_ms", "verdict"), [(5_052, Verdict.VALID), (5_052.001, Verdict.INVALID)]
)
def test_leases_may_differ_by_what_clocks_do(lasts_ms: float, verdict: Verdict) -> None:
    """By 1 %, and by what these nodes keep them in: 2 ms."""
    story = clean()
    leased(story, "b1", story.epochs[4], lasts_ms=lasts_ms)
    assert lease_exclusion(story.run_events()).verdict is verdict


def expired_after(active_ms: float) -> LogStory:
    """So long after its leader became active, before which it wrote as a follower."""
    story = clean()
    story.unfence(4)
    story.epoch = 2
    story.event("c1", "claim", epoch=2, end_offset=story.offset)
    story.append("c2", story.offset, 2, 1)
    story.wait(active_ms - 2)
    expired(story)
    return story


@pytest.mark.parametrize(("active_ms", "wrong"), [(4_948, False), (4_947, True)])
def test_who_became_active_waits_for_the_length_of_a_lease(active_ms: float, wrong: bool) -> None:
    """But for 1 %, by which clocks may differ, and 2 ms."""
    outcome = lease_exclusion(expired_after(active_ms).run_events())
    if wrong:
        assert_invalid(outcome, "c1 took the lease of broker 4", "4947.0 ms after it had become")
    else:
        assert_valid(outcome)


@pytest.mark.parametrize("who", ["nobody", "c2"])
def test_of_a_leader_that_did_not_say_when_it_became_active(who: str) -> None:
    story = expired_after(100)
    story.events = [
        replace(each, node=who, incarnation=f"{who}#1")
        if (each.type, each.fields.get("epoch")) == ("claim", 2)
        else each
        for each in story.events
    ]
    if who == "nobody":
        story = silent(story, node="nobody")
    assert_valid(lease_exclusion(story.run_events()))


@pytest.mark.parametrize(("before_ms", "wrong"), [(54, False), (55, True)])
def test_who_takes_a_lease_for_over_may_differ_by_what_clocks_do(
    before_ms: float, wrong: bool
) -> None:
    story = clean()
    story.unfence(4)
    leased(story, "b1", story.epochs[4])
    leased(story, "b1", story.epochs[4])
    story.wait(LENGTH_MS - before_ms)
    expired(story)
    assert len(lease_exclusion(story.run_events()).findings) == wrong


def test_a_lease_that_began_after_the_fencing() -> None:
    story = clean()
    expired(story)
    leased(story, "b1", story.epochs[4])
    assert_valid(lease_exclusion(story.run_events()))


def test_what_is_no_expiry() -> None:
    """Fenced at its own request, by nobody who tells that he wrote it; other records."""
    story = clean()
    before = lease_exclusion(story.run_events()).figures["expiries"]
    leased(story, "b1", story.epochs[4])
    story.beat(4, "SHUTDOWN", [story.offset])
    expired(story)
    story.unfence(4)
    story.fence(4)
    story.append("c1", story.offset, story.epoch, 1, leader=True)
    story.record("NoOpRecord")
    outcome = lease_exclusion(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["expiries"] == before


def test_an_append_that_claims_to_be_longer_than_any_log_is_looked_at_where_fences_are() -> None:
    """It is the first that says it holds the next fence, which comes too soon after it."""
    story = clean()
    leased(story, "b1", story.epochs[4])
    longest = story.append("c1", story.offset, story.epoch, 1, leader=True)
    longest.fields["end_offset"] = 10**15
    story.fence(4)
    assert_invalid(
        lease_exclusion(story.run_events()), "took the lease of broker 4", "4998.0 ms before"
    )


# --- one at a time ------------------------------------------------------------------------


def deferred(story: LogStory) -> LogStory:
    every = {node: {"broker.takeover": "deferred"} for node in story.plan["nodes"]}
    story.plan = {**story.plan, "settings": every}
    return story


def quiet() -> LogStory:
    """Two brokers serve, each under its own id, and nobody does anything to them."""
    story = deferred(LogStory(readers=("c1",)))
    for node, broker in (("b1", 4), ("b2", 5)):
        story.boot(node)
        leased(story, node, story.register(broker), broker=broker)
        story.serve(node)
    return story


def test_where_nothing_was_done_no_id_is_taken_over() -> None:
    exclusive = clause_of(judged(LeaseExclusion(), quiet()), "exclusive")
    assert exclusive.verdict is None and "no fault was injected" in exclusive.note


@pytest.mark.parametrize(
    "done",
    [
        lambda story: story.inject(),
        lambda story: story.alter(0, [4, 5]),
        lambda story: story.op("replace", "broker-4"),
        lambda story: (story.heartbeat_open(6), story.heartbeat_open(6)),
    ],
)
def test_where_something_was_done_an_id_has_to_be_taken_over(done: Any) -> None:
    story = quiet()
    done(story)
    exclusive = clause_of(judged(LeaseExclusion(), story), "exclusive")
    assert (exclusive.verdict, exclusive.compared) == (Verdict.UNKNOWN, 0)


def test_a_process_that_serves_beside_two_others_overlaps_with_both() -> None:
    story = overlapping()  # b1 and b2 serve, as broker 4
    leased(story, "b2", story.epochs[4])
    story.serve("b2")
    story.serve("b1", code=6)  # a refusal
    assert lease_exclusion(story.run_events()).figures["overlapping_takeovers"] == 1
    story.serve("b1")
    assert lease_exclusion(story.run_events()).figures["overlapping_takeovers"] == 2


def test_what_is_compared_are_services_after_those_of_another_process() -> None:
    story = deferred(overlapping())
    assert lease_exclusion(story.run_events()).clauses["exclusive"] == 1
    leased(story, "b2", story.epochs[4])
    story.serve("b2")
    assert lease_exclusion(story.run_events()).clauses["exclusive"] == 1


def test_a_process_that_is_leased_anew_as_it_serves_overlaps_with_nobody() -> None:
    story = deferred(LogStory(readers=("c1",)))
    story.boot("b1")
    epoch = story.register(4)
    leased(story, "b1", epoch)
    story.serve("b1")
    last = story.events[-1]
    again = leased(story, "b1", epoch)
    story.serve("b1")
    story.events = [
        replace(each, time_ns=last.time_ns) if each.node == "b1" and each.seq >= again.seq else each
        for each in story.events
    ]
    assert_valid(lease_exclusion(story.run_events()))


def test_a_process_that_serves_without_a_lease_is_the_broker_that_it_booted_as() -> None:
    story = deferred(LogStory(readers=("c1",)))
    story.boot("b1")
    leased(story, "b1", story.register(4))
    story.serve("b1")
    second = story.boot("b2")
    second.fields["broker_id"] = 4  # type: ignore[index]
    story.serve("b2")
    story.serve("b1")
    assert clause_of(judged(LeaseExclusion(), story), "exclusive").verdict is Verdict.INVALID


def test_a_process_whose_beginning_is_not_known_is_the_broker_that_it_was_leased_as() -> None:
    story = deferred(overlapping())
    booted = [each for each in story.events if each.type == "boot"]
    for each in booted:
        each.fields["broker_id"] = None  # type: ignore[index]
    outcome = lease_exclusion(story.run_events())
    assert_invalid(outcome, "two processes served as broker 4")
    story.events = [each for each in story.events if each not in booted]
    served = next(each for each in story.events if (each.node, each.type) == ("b2", "serve"))
    story.events.append(replace(served, seq=-1, time_ns=served.time_ns - MS))
    outcome = lease_exclusion(story.run_events())
    assert_invalid(outcome, "two processes served as broker 4")


@pytest.mark.parametrize(("within_ms", "accused"), [(400, True), (600, False)])
def test_a_service_shorter_than_what_clocks_hide_may_have_been_before(
    within_ms: int, accused: bool
) -> None:
    """One success, told a second after the beginning of a long service: each clock may be off by
    `within`."""
    story = deferred(LogStory(readers=("c1",)))
    story.boot("b1")
    leased(story, "b1", story.register(4))
    story.serve("b1")
    second = story.boot("b2")
    second.fields["broker_id"] = 4  # type: ignore[index]
    story.wait(1_000)
    story.serve("b2")
    story.wait(9_000)
    story.serve("b1")
    sample = {"at_ns": 0, "offset_ns": 0, "within_ns": within_ms * MS}
    story.plan = {
        **story.plan,
        "hosts": "ssh",
        "clocks": {"b1": {"samples": [sample]}, "b2": {"samples": [sample]}},
    }
    found = clause_of(judged(LeaseExclusion(), story), "exclusive").verdict
    assert (found is Verdict.INVALID) is accused


def test_a_process_that_stood_still_may_tell_late_what_it_served() -> None:
    story = clean()
    story.wait(LENGTH_MS)
    story.append("b1", 0, 1, 5)
    story.wait(400)
    story.serve("b1")
    assert judged(LeaseExclusion(), story).verdict is Verdict.INVALID
    story.event("b1", "stall", loop="data", ms=400, delayed_ms=400)
    assert judged(LeaseExclusion(), story).verdict is Verdict.VALID


def test_of_three_that_answered_two_tell() -> None:
    story = clean()
    story.op("fetch", "t/0", {"from": 0}, {"records": []}, node="b3")
    assert_unknown(LeaseExclusion(), story, "under-lease")


@settings(max_examples=cases(80), deadline=None)
@given(st.integers(0, 2**32))
def test_order_of_grants_agrees_with_brute_force(seed: int) -> None:
    """Leases of two processes under some epochs, begun and acknowledged at random."""
    draw = random.Random(seed)
    story = LogStory(readers=("c1",))
    for node in ("b1", "b2"):
        story.boot(node)
    grants = []
    for _ in range(draw.randint(1, 6)):
        story.wait(10)
        node, epoch = draw.choice(["b1", "b2"]), draw.randrange(3)
        start = max(0, story.now_ns - draw.randrange(40) * MS)
        grants.append((node, epoch, start, leased(story, node, epoch, start_ns=start)))
    wrong = any(
        (epoch == other_epoch and node != other) or (epoch < other_epoch and start > event.time_ns)
        for node, epoch, start, _ in grants
        for other, other_epoch, _, event in grants
    )
    assert (lease_exclusion(story.run_events()).verdict is Verdict.INVALID) == wrong
