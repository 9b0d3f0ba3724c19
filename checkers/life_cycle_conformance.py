"""Brokers live by KIP-631's state machine, replicas by KIP-595's roles (D.14).

The states of one process are a path of the draft's automaton (A.1.66-70), and each edge has its
trigger before it: a heartbeat that was answered so, or a lease that ended. The roles of one
process follow the transitions of B.2 and B.4; see `raft_roles`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.history.brokers import FS as SYNTHETIC_FS
from checkers.folds.history.brokers import KINDS as BROKERS
from checkers.folds.history.brokers import in_service
from checkers.folds.quorum.raft_roles import KINDS as ROLE_KINDS
from checkers.folds.quorum.raft_roles import ROLE_TRIGGERS, ROLES, roles, with_triggers
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.brokers import (
    BrokerState,
    BrokerStateChanged,
    HeartbeatAnswered,
    LeaseGranted,
)
from framework.evidence.kinds import Evidence, evidence_of
from framework.evidence.processes import Booted, Exited
from framework.evidence.quorum import RoleTaken
from framework.evidence.run_events import RunEvents, incarnations, unshown, voters
from framework.plugins.checker import EVENTS, Clause, Count, Finding

KINDS: Final = (*ROLE_KINDS, BrokerStateChanged, HeartbeatAnswered, LeaseGranted)

STATES: Final = Clause(
    name="drawn-states",
    says="Each change of a broker's state is one that is drawn, from the state that it was in",
    compares="brokers in service whose changes of state were followed",
    floor=2,
    because="all that the metadata log put into service: each of them became active at least",
    sources=(EVENTS,),
    blind="changes that a broker leaves out between two that fit",
)
TRIGGERS: Final = Clause(
    name="triggered-states",
    says="Each change of a broker's state has its trigger before it: an answer, or a lease's end",
    compares="changes of state held against what the broker had been told",
    floor=2,
    because="one may have met its trigger by chance",
    sources=(EVENTS,),
    blind="answers that nobody gave",
)

EDGES: Final = frozenset[tuple[BrokerState, BrokerState]](
    {
        ("starting", "active"),  # A.1.66
        ("active", "fenced"),  # A.1.67
        ("fenced", "active"),  # A.1.68
        ("active", "leaving"),  # A.1.69
        ("fenced", "leaving"),
    }
)


def life_cycle_conformance(events: RunEvents) -> Outcome:
    findings: list[Finding] = []
    transitions = changes = triggered = 0
    heard: set[int] = set()
    with_roles: set[str] = set()
    for node, lives in incarnations(events.of(*KINDS)).items():
        for life in lives:
            killed = not any(isinstance(each, Exited) for each in life)
            transitions += sum(isinstance(each, BrokerStateChanged) for each in life)
            findings += _broker(life)
            changes += sum(isinstance(each, RoleTaken) for each in life)
            findings += roles(life, killed=killed)
            triggered += with_triggers(life, killed=killed)
            heard |= _ids(life)
            if any(isinstance(each, RoleTaken) for each in life):
                with_roles.add(node)
    figures = {"transitions": transitions, "roles": changes}
    brokers, voting = in_service(events), set(voters(events.plan))
    why = unshown(events.plan, RoleTaken)
    counts: dict[str, Count] = {
        STATES.name: (len(heard & brokers) if brokers else len(heard), len(brokers)),
        TRIGGERS.name: transitions,
        ROLES.name: why or (len(with_roles & voting) if voting else len(with_roles), len(voting)),
        ROLE_TRIGGERS.name: why or triggered,
    }
    return weighed(counts, findings, figures)


def _ids(life: Sequence[Evidence]) -> set[int]:
    """Of the broker that a process is, if it told of a state."""
    if not any(isinstance(each, BrokerStateChanged) for each in life):
        return set()
    return {
        each.broker_id
        for each in life
        if isinstance(each, Booted | LeaseGranted) and each.broker_id is not None
    }


@dataclass(slots=True)
class Broker:
    """What a broker was told, up to the transition that is judged. `active_epoch`: the one that
    it was last active under."""

    last: BrokerStateChanged | None = None
    active_epoch: int | None = None
    lease: LeaseGranted | None = None
    heard: HeartbeatAnswered | None = None

    @property
    def state(self) -> BrokerState:
        return "starting" if self.last is None else self.last.after


def _broker(life: Sequence[Evidence]) -> Iterator[Finding]:
    broker = Broker()
    for each in life:
        match each:
            case HeartbeatAnswered():
                broker.heard = each
            case LeaseGranted():
                broker.lease = each
            case BrokerStateChanged():
                yield from _transition(each, broker)
                if each.after == "active":
                    broker.active_epoch = each.broker_epoch
                broker.last = each


def _transition(change: BrokerStateChanged, broker: Broker) -> Iterator[Finding]:
    before, after = change.before, change.after
    what = f"{change.node} went from {before} to {after}"
    earlier = [] if broker.last is None else [broker.last]
    if before != broker.state:
        yield finding(
            f"{what}, but was {broker.state}",
            evidence=[*earlier, change],
            clause=STATES.name,
        )
    if (before, after) not in EDGES:
        yield finding(
            f"{what}: no such transition is drawn",
            evidence=[*earlier, change],
            clause=STATES.name,
        )
        return
    if after == "active":
        yield from _activation(change, broker, what)
    elif after == "fenced" and not _fenced(change, broker):
        yield finding(
            f"{what}: its lease had not ended, and no heartbeat was answered so",
            evidence=_shown(change, broker),
            clause=TRIGGERS.name,
        )
    elif after == "leaving" and not _let_go(broker.heard):
        yield finding(
            f"{what}: no controlled shutdown was granted",
            evidence=_shown(change, broker),
            clause=TRIGGERS.name,
        )


def _shown(change: BrokerStateChanged, broker: Broker) -> list[Evidence]:
    return [each for each in (broker.lease, broker.heard, change) if each is not None]


def _activation(change: BrokerStateChanged, broker: Broker, what: str) -> Iterator[Finding]:
    epoch, heard, lease = change.broker_epoch, broker.heard, broker.lease
    if epoch is None:
        yield finding(f"{what} without a broker epoch", evidence=[change], clause=TRIGGERS.name)
        return
    if broker.active_epoch is not None and epoch <= broker.active_epoch:
        yield finding(
            f"{what} under epoch {epoch}; it had been active under {broker.active_epoch} before",
            evidence=_shown(change, broker),
            clause=TRIGGERS.name,
        )
    reported = heard is not None and (
        heard.accepted and heard.next_state == "active" and heard.answered_epoch == epoch
    )
    if not reported:
        yield finding(
            f"{what} under epoch {epoch}: no heartbeat was answered so",
            evidence=_shown(change, broker),
            clause=TRIGGERS.name,
        )
    elif lease is None or lease.broker_epoch != epoch:
        yield finding(
            f"{what} without a lease of epoch {epoch}",
            evidence=_shown(change, broker),
            clause=TRIGGERS.name,
        )


def _fenced(change: BrokerStateChanged, broker: Broker) -> bool:
    """The lease ended, or the controller's last word was anything but a renewal of it."""
    lease, heard = broker.lease, broker.heard
    if lease is None or change.at_ns >= lease.end_ns - lease.rounded_ns:
        return True
    if heard is None:
        return False
    if not heard.accepted:
        return heard.stale
    if heard.next_state == "active":
        return heard.answered_epoch != broker.active_epoch
    return heard.next_state in ("fenced", "starting")


def _let_go(heard: HeartbeatAnswered | None) -> bool:
    return heard is not None and (
        heard.accepted and heard.target == "leaving" and heard.next_state == "leaving"
    )


class LifeCycleConformance(RunChecker):
    name = "life-cycle-conformance"
    summary = (
        "Every transition of a broker's state and of a replica's role is one that is "
        "drawn, and has its trigger before it"
    )
    requires = evidence_of(BrokerStateChanged)
    clauses = (STATES, TRIGGERS, ROLES, ROLE_TRIGGERS)
    check_run = RunCheck(life_cycle_conformance, evidence=(*KINDS, *BROKERS), fs=SYNTHETIC_FS)
