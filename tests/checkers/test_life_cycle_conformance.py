"""Brokers and replicas live by their state machines (D.14)."""

import random
from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_runs import MS, ZERO_NS, Story, assert_valid

from checkers.life_cycle_conformance import LifeCycleConformance, life_cycle_conformance
from framework.checking.keyed import Outcome
from framework.evidence.brokers import LeaseGranted
from framework.verdict import Verdict
from nodes.kraft.broker import lifecycle
from nodes.kraft.wire.heartbeats import BrokerHeartbeatResponse, BrokerState
from tests.cases import cases

NEVER_MS = 1_000_000.0


class Tale(Story):
    """Of one broker, b1, and one voter, c1; what others do is of no interest."""

    def beat(self, next_state: str, epoch: int, *, error: int = 0, target: str = "ACTIVE") -> None:
        self.event(
            "b1",
            "heartbeat",
            broker_id=4,
            broker_epoch=epoch,
            target=target,
            error=error,
            next_state=next_state,
            answered_epoch=epoch,
        )

    def move(self, before: str, after: str, epoch: int = 7) -> None:
        self.event("b1", "bstate", before=before, after=after, broker_epoch=epoch, why="")

    def activated(self, before: str, epoch: int) -> None:
        self.beat("ACTIVE", epoch)
        self.lease("b1", 1_000, epoch)
        self.move(before, "ACTIVE", epoch)

    def start(self, saved: tuple[int, int, int] | None = None, last_epoch: int = 0) -> None:
        names = ("epoch", "leader_id", "voted_id")
        self.event(
            "c1",
            "boot",
            replica_id=1,
            voters=[1, 2, 3],
            quorum=None if saved is None else dict(zip(names, saved, strict=True)),
            last_epoch=last_epoch,
        )

    def role(self, role: str, epoch: int, leader: int = -1) -> None:
        self.event("c1", "role", role=role, epoch=epoch, leader_id=leader)

    def candidate(self, epoch: int) -> None:
        self.role("candidate", epoch)
        self.event("c1", "epoch", epoch=epoch, leader_id=-1, voted_id=1)

    def leader(self, epoch: int, votes: Any = (1, 2)) -> None:
        self.role("leader", epoch, 1)
        self.event("c1", "elected", epoch=epoch, start_offset=0, votes=list(votes))


def others(story: Tale) -> None:
    """Two voters who follow each other; a broker that becomes active."""
    for me, leader in ((2, 3), (3, 2)):
        node = f"c{me}"
        story.event(node, "boot", replica_id=me, voters=[1, 2, 3], quorum=None, last_epoch=0)
        story.event(node, "role", role="unattached", epoch=1, leader_id=-1)
        story.event(node, "role", role="follower", epoch=1, leader_id=leader)
    story.boot("b2")
    story.event("b2", "heartbeat", broker_id=5, broker_epoch=-1, answered_epoch=8)
    start_ns = story.now_ns + ZERO_NS
    lease = {"start_ns": start_ns, "end_ns": start_ns + 9_000 * MS, "granted_by": 1}
    story.event("b2", "lease", broker_id=5, broker_epoch=8, **lease)
    story.event("b2", "bstate", before="INITIAL", after="ACTIVE", broker_epoch=8, why="")


def clean() -> Tale:
    story = Tale()
    others(story)
    story.boot("b1")
    story.beat("INITIAL", 7)
    story.activated("INITIAL", 7)
    story.beat("FENCED", 7)
    story.move("ACTIVE", "FENCED")
    story.activated("FENCED", 9)
    story.wait(2_000)
    story.move("ACTIVE", "FENCED", 9)
    story.beat("UNKNOWN", 9)
    story.activated("FENCED", 12)
    story.start()
    story.role("unattached", 1)
    story.role("follower", 1, 2)
    story.role("prospective", 1, 2)
    story.candidate(2)
    story.leader(2)
    story.role("resigned", 2, 1)
    story.role("follower", 3, 3)
    story.role("follower", 5, 2)
    story.role("unattached", 6)
    story.candidate(7)
    story.event("c1", "exit", reason="terminated")
    story.start((7, -1, 1))
    story.candidate(8)
    return story


def test_clean_run_is_accepted() -> None:
    """A.1.66, A.1.67, A.1.68, A.1.70, A.1.80"""
    outcome = life_cycle_conformance(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures == {"transitions": 6, "roles": 15}
    assert outcome.clauses == {
        "drawn-states": (2, 0),
        "triggered-states": 6,
        "drawn-roles": (3, 3),
        "triggered-roles": 6,
    }


def test_no_transition_is_unknown() -> None:
    story = Tale()
    story.boot("b1")
    assert life_cycle_conformance(story.run_events()).verdict is Verdict.UNKNOWN


def in_the_log(story: Tale) -> Tale:
    """Others apply that both brokers are in service."""
    for offset, broker in enumerate((4, 5)):
        story.apply("c2", offset, "UnfenceBrokerRecord", broker_id=broker, broker_epoch=offset)
    return story


@pytest.mark.parametrize(
    ("left_out", "node", "clauses"),
    [
        ("bstate", "b2", ["drawn-states"]),
        ("bstate", None, ["drawn-states", "triggered-states"]),
        ("role", "c3", ["drawn-roles"]),
        ("role", None, ["drawn-roles", "triggered-roles"]),
    ],
)
def test_node_that_leaves_events_out_is_unknown(
    left_out: str, node: str | None, clauses: list[str]
) -> None:
    story = in_the_log(clean())
    assert judged(LifeCycleConformance(), story).verdict is Verdict.VALID
    assert_unknown(LifeCycleConformance(), silent(story, left_out, node=node), *clauses)


def compared(story: Tale) -> Any:
    outcome = LifeCycleConformance().check_run(story.run_events())
    assert isinstance(outcome, Outcome) and not outcome.findings
    return outcome.clauses


def test_brokers_that_the_log_has_in_service_and_voters_of_the_plan_are_waited_for() -> None:
    """Others may tell of themselves as well."""
    story = clean()
    story.apply("c2", 0, "UnfenceBrokerRecord", broker_id=4, broker_epoch=0)
    story.event("b2", "role", role="observer", epoch=1, leader_id=-1)
    assert compared(story)["drawn-states"] == (1, 1)
    assert compared(story)["drawn-roles"] == (3, 3)
    story.plan = {**story.plan, "nodes": {}}
    assert compared(story)["drawn-roles"] == (4, 0)


def test_process_that_never_says_which_broker_it_is_is_none_of_those_waited_for() -> None:
    story = Tale()
    story.event("b9", "boot", replica_id=9, broker_id=None, voters=[1, 2, 3], quorum=None)
    story.event("b9", "bstate", before="INITIAL", after="FENCED", broker_epoch=1, why="")
    assert (life_cycle_conformance(story.run_events()).clauses or {})["drawn-states"] == (0, 0)


@pytest.mark.parametrize("name", ["UNKNOWN", "ACTIVE without an epoch"])
def test_transition_is_wrong_for_one_reason(name: str) -> None:
    """And is shown with the one before it."""
    (found,) = life_cycle_conformance(PLANTED[name].story().run_events()).findings
    assert len(found.events) == (1 if name == "ACTIVE without an epoch" else 2)


def test_system_without_roles_is_judged_by_its_brokers() -> None:
    story = silent(in_the_log(clean()), "role")
    story.plan = {**story.plan, "capabilities": ["evidence:broker-state", "evidence:applied"]}
    result = judged(LifeCycleConformance(), story)
    assert result.verdict is Verdict.VALID, result.note
    assert clause_of(result, "drawn-roles").verdict is None


def test_granted_shutdown_is_a_transition() -> None:
    """A.1.61, A.1.69"""
    story = clean()
    story.beat("ACTIVE", 12, target="SHUTDOWN")
    story.beat("SHUTDOWN", 12, target="SHUTDOWN")
    story.move("ACTIVE", "SHUTDOWN", 12)
    assert_valid(life_cycle_conformance(story.run_events()))


ACTIVE_UNDER_12 = {"next_state": "ACTIVE", "epoch": 12}


@pytest.mark.parametrize(
    ("answer", "may_fence"),
    [
        ({"next_state": "FENCED", "epoch": 12}, True),
        ({"next_state": "INITIAL", "epoch": 12}, True),
        ({"next_state": "ACTIVE", "epoch": 13}, True),
        (ACTIVE_UNDER_12 | {"error": 77}, True),
        (ACTIVE_UNDER_12, False),
        (ACTIVE_UNDER_12 | {"error": 41}, False),
        ({"next_state": "FENCED", "epoch": 12, "error": 41}, False),
        ({"next_state": "SHUTDOWN", "epoch": 12, "target": "SHUTDOWN"}, False),
    ],
)
def test_broker_is_fenced_at_once_when_it_was_answered_that_it_is(
    answer: dict[str, Any], may_fence: bool
) -> None:
    """Its lease, of epoch 12, goes on."""
    story = clean()
    story.beat(**answer)
    story.move("ACTIVE", "FENCED", 12)
    assert triggered(story) == may_fence


def test_broker_that_was_answered_nothing_keeps_its_lease() -> None:
    """Its process tells no answer, neither when it becomes active nor when it fences itself."""
    story = Tale()
    story.boot("b1")
    story.lease("b1", 1_000, 7)
    story.move("INITIAL", "ACTIVE")
    story.move("ACTIVE", "FENCED")
    messages = [each.message for each in life_cycle_conformance(story.run_events()).findings]
    assert len(messages) == 2
    assert "no heartbeat was answered so" in messages[1]


def test_broker_without_a_lease_may_fence_itself() -> None:
    story = Tale()
    story.boot("b1")
    story.beat("ACTIVE", 7)
    story.move("INITIAL", "ACTIVE")
    story.beat("ACTIVE", 7)
    story.move("ACTIVE", "FENCED")
    (found,) = life_cycle_conformance(story.run_events()).findings
    assert "without a lease" in found.message


@pytest.mark.parametrize(
    ("answer", "leased", "may_serve"),
    [
        ({"next_state": "ACTIVE", "epoch": 20}, 20, True),
        ({"next_state": "ACTIVE", "epoch": 20}, 19, False),
        ({"next_state": "ACTIVE", "epoch": 19}, 20, False),
        ({"next_state": "FENCED", "epoch": 20}, 20, False),
        ({"next_state": "ACTIVE", "epoch": 20, "error": 41}, 20, False),
    ],
)
def test_broker_serves_when_it_was_answered_so_and_has_a_lease(
    answer: dict[str, Any], leased: int, may_serve: bool
) -> None:
    story = clean()
    restarted(story)
    story.beat(**answer)
    story.lease("b1", 1_000, leased)
    story.move("INITIAL", "ACTIVE", 20)
    assert triggered(story) == may_serve


@pytest.mark.parametrize(
    ("answer", "may_leave"),
    [
        ({"next_state": "SHUTDOWN", "target": "SHUTDOWN"}, True),
        ({"next_state": "ACTIVE", "target": "SHUTDOWN"}, False),
        ({"next_state": "SHUTDOWN", "target": "ACTIVE"}, False),
        ({"next_state": "SHUTDOWN", "target": "SHUTDOWN", "error": 41}, False),
    ],
)
def test_broker_leaves_when_it_had_asked_and_was_let_go(
    answer: dict[str, Any], may_leave: bool
) -> None:
    story = clean()
    story.beat(epoch=12, **answer)
    story.move("ACTIVE", "SHUTDOWN", 12)
    assert triggered(story) == may_leave


def triggered(story: Tale) -> bool:
    """Whether the last transition was; nothing else is wrong."""
    found = life_cycle_conformance(story.run_events()).findings
    assert all(each.clause == "triggered-states" for each in found), found
    return not found


def restarted(story: Tale) -> None:
    story.boot("b1")


def resigned(saved: tuple[int, int, int]) -> Any:
    def plant(story: Tale) -> None:
        story.start(saved)
        story.leader(saved[0])

    return plant


def late(story: Tale) -> None:
    """Long enough before the end of what a killed process may have lost."""
    story.wait(2_000)
    story.event("c1", "epoch", epoch=9, leader_id=-1, voted_id=-1)


@pytest.mark.parametrize(("rounded_ms", "expected"), [(2, Verdict.VALID), (0, Verdict.INVALID)])
def test_in_what_units_leases_are_kept_is_the_systems_to_say(
    rounded_ms: int, expected: Verdict
) -> None:
    """Fenced 1 ms before the end of the lease that it was told of."""
    story = clean()
    story.lease("b1", 2, 12)
    story.move("ACTIVE", "FENCED", 12)
    events = story.run_events()
    evidence = [
        replace(each, rounded_ns=rounded_ms * MS) if isinstance(each, LeaseGranted) else each
        for each in events.evidence
    ]
    assert life_cycle_conformance(replace(events, evidence=evidence)).verdict is expected


PLANTED = Plants.of(
    clean,
    {
        "UNKNOWN": ("no such transition is drawn", lambda s: s.move("ACTIVE", "UNKNOWN", 12)),
        "INITIAL to FENCED": (
            "from starting to fenced: no such transition",
            lambda s: (restarted(s), s.move("INITIAL", "FENCED")),
        ),
        "back from SHUTDOWN": (
            "from leaving to active: no such transition",
            lambda s: (
                s.beat("SHUTDOWN", 12, target="SHUTDOWN"),
                s.move("ACTIVE", "SHUTDOWN", 12),
                s.activated("SHUTDOWN", 20),
            ),
        ),
        "from another state": ("but was active", lambda s: s.move("FENCED", "ACTIVE", 20)),
        "no heartbeat for ACTIVE": (
            "under epoch 3: no heartbeat was answered so",
            lambda s: (restarted(s), s.lease("b1", 1_000, 3), s.move("INITIAL", "ACTIVE", 3)),
        ),
        "no lease for ACTIVE": (
            "without a lease of epoch 3",
            lambda s: (restarted(s), s.beat("ACTIVE", 3), s.move("INITIAL", "ACTIVE", 3)),
        ),
        "ACTIVE without an epoch": (
            "without a broker epoch",
            lambda s: (restarted(s), s.activated("INITIAL", -1)),
        ),
        "ACTIVE under the same epoch": (
            "had been active under 12 before",
            lambda s: (s.beat("FENCED", 12), s.move("ACTIVE", "FENCED"), s.activated("FENCED", 12)),
        ),
        "fenced for nothing": ("lease had not ended", lambda s: s.move("ACTIVE", "FENCED", 12)),
        "shut down for nothing": (
            "no controlled shutdown was granted",
            lambda s: s.move("ACTIVE", "SHUTDOWN", 12),
        ),
        "epoch falls": ("epochs do not fall", lambda s: s.role("unattached", 5)),
        "leader without candidacy": (
            "from unattached of epoch 9 to leader of epoch 9: no such transition",
            lambda s: (s.role("unattached", 9), s.leader(9), late(s)),
        ),
        "resigned leads again": ("from resigned of epoch 9 to leader", resigned((9, 1, 1))),
        "voter as observer": ("and is a voter", lambda s: s.role("observer", 8)),
        "observer as follower": (
            "and is no voter",
            lambda s: (
                s.event("b2", "boot", replica_id=5, voters=[1, 2, 3], quorum=None),
                s.event("b2", "role", role="follower", epoch=1, leader_id=1),
            ),
        ),
        "two leaders known": (
            "takes 3 for its leader after 2",
            lambda s: (s.role("follower", 9, 2), s.role("follower", 9, 3)),
        ),
        "leader not elected": (
            "leads epoch 8 without having been elected",
            lambda s: (s.role("leader", 8, 1), late(s)),
        ),
        "leader of a minority": (
            "with the votes of [1] only",
            lambda s: (s.leader(8, [1]), late(s)),
        ),
        "candidate without its own vote": (
            "has saved no vote for itself",
            lambda s: (s.role("candidate", 11), late(s)),
        ),
        "follower of nobody": ("follows nobody", lambda s: (s.role("follower", 11), late(s))),
    },
)


def test_lost_last_line_of_a_killed_process_is_no_false_alarm() -> None:
    story = clean()
    story.role("leader", 8, 1)
    assert_valid(life_cycle_conformance(story.run_events()))


@settings(max_examples=cases(60), deadline=None)
@given(st.integers(0, 2**32))
def test_what_the_real_life_cycle_does_is_accepted_and_nothing_else(seed: int) -> None:
    """The core under random answers. Each event that it left out, or that stands in for another
    one, makes a path that the oracle - the core's own trace - does not have."""
    draw = random.Random(seed)
    story = lived(draw)
    moves = [event for event in story.events if event.type == "bstate"]
    if not moves:
        return
    assert_valid(life_cycle_conformance(story.run_events()))
    gone = draw.choice(moves)
    rest = [event for event in moves if event is not gone]
    broken = bool(rest) and gone is not moves[-1]
    story.events.remove(gone)
    assert (life_cycle_conformance(story.run_events()).verdict is Verdict.INVALID) == broken


def lived(draw: random.Random) -> Tale:
    config = lifecycle.LifecycleConfig(broker_id=4, incarnation_id=_uuid(draw))
    story = Tale()
    story.boot("b1")
    state, effects = lifecycle.initial(config, 0), []
    now_ms, epoch = 0, 0
    for _ in range(draw.randint(4, 30)):
        now_ms += draw.choice([1, 100, 600, 3_000])
        story.now_ns = now_ms * MS
        event: Any = lifecycle.Tick()
        request = state.in_flight
        if request is not None and draw.random() < 0.8:
            epoch += draw.randrange(2)
            next_state = draw.choice(
                [BrokerState.ACTIVE, BrokerState.ACTIVE, BrokerState.INITIAL, BrokerState.FENCED]
            )
            if request.target_state == BrokerState.SHUTDOWN and draw.random() < 0.5:
                next_state = BrokerState.SHUTDOWN
            answered = int(request.broker_epoch) if draw.random() < 0.5 else epoch * 10
            response: Any = BrokerHeartbeatResponse(
                error_code=draw.choice([0, 0, 0, 77, 41]),  # type: ignore[arg-type]
                active_controller_id=1,  # type: ignore[arg-type]
                next_state=next_state,  # type: ignore[arg-type]
                broker_epoch=max(answered, state.served_epoch, 1),  # type: ignore[arg-type]
                lease_end_time_ms=request.lease_start_time_ms + 1_000,  # type: ignore[arg-type]
            )
            story.event(
                "b1",
                "heartbeat",
                broker_id=4,
                broker_epoch=int(request.broker_epoch),
                target=BrokerState(request.target_state).name,
                error=int(response.error_code),
                next_state=BrokerState(response.next_state).name,
                answered_epoch=int(response.broker_epoch),
            )
            event = lifecycle.HeartbeatAnswered(request, response)
        elif draw.random() < 0.05:
            event = lifecycle.ShutDown()
        state, effects = lifecycle.step(state, event, now_ms)
        for effect in effects:
            match effect:
                case lifecycle.Transition(before, after, of, why):
                    story.event(
                        "b1",
                        "bstate",
                        before=before.name,
                        after=after.name,
                        broker_epoch=of,
                        why=why,
                    )
                case lifecycle.LeaseGranted(of, start_ms, end_ms, granted_by):
                    story.event(
                        "b1",
                        "lease",
                        broker_id=4,
                        broker_epoch=of,
                        start_ns=start_ms * MS + ZERO_NS,
                        end_ns=end_ms * MS + ZERO_NS,
                        granted_by=granted_by,
                    )
    return story


def _uuid(draw: random.Random) -> Any:
    import uuid

    return uuid.UUID(int=draw.getrandbits(128))
