"""Brokers live by KIP-631's state machine, replicas by KIP-595's roles (D.14).

The states of one process are a path of the draft's automaton (A.1.66-70), and each edge has its
trigger before it: a heartbeat that was answered so, or a lease that ended. The roles of one
process follow the transitions of B.2 and B.4; see `raft_roles`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.raft_roles import KINDS as ROLE_KINDS
from checkers.folds.raft_roles import roles
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import (
    BrokerState,
    BrokerStateChanged,
    Evidence,
    Exited,
    HeartbeatAnswered,
    LeaseGranted,
    RoleTaken,
    evidence_of,
)
from framework.evidence.run_events import RunEvents, incarnations
from framework.plugins.checker import Finding

KINDS: Final = (*ROLE_KINDS, BrokerStateChanged, HeartbeatAnswered, LeaseGranted)

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
    transitions = changes = 0
    for lives in incarnations(events.of(*KINDS)).values():
        for life in lives:
            killed = not any(isinstance(each, Exited) for each in life)
            transitions += sum(isinstance(each, BrokerStateChanged) for each in life)
            findings += _broker(life)
            changes += sum(isinstance(each, RoleTaken) for each in life)
            findings += roles(life, killed=killed)
    figures = {"transitions": transitions, "roles": changes}
    return concluded(transitions + changes, findings, figures)


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
        yield finding(f"{what}, but was {broker.state}", evidence=[*earlier, change])
    if (before, after) not in EDGES:
        yield finding(f"{what}: no such transition is drawn", evidence=[*earlier, change])
        return
    if after == "active":
        yield from _activation(change, broker, what)
    elif after == "fenced" and not _fenced(change, broker):
        yield finding(
            f"{what}: its lease had not ended, and no heartbeat was answered so",
            evidence=_shown(change, broker),
        )
    elif after == "leaving" and not _let_go(broker.heard):
        yield finding(
            f"{what}: no controlled shutdown was granted", evidence=_shown(change, broker)
        )


def _shown(change: BrokerStateChanged, broker: Broker) -> list[Evidence]:
    return [each for each in (broker.lease, broker.heard, change) if each is not None]


def _activation(change: BrokerStateChanged, broker: Broker, what: str) -> Iterator[Finding]:
    epoch, heard, lease = change.broker_epoch, broker.heard, broker.lease
    if epoch is None:
        yield finding(f"{what} without a broker epoch", evidence=[change])
        return
    if broker.active_epoch is not None and epoch <= broker.active_epoch:
        yield finding(
            f"{what} under epoch {epoch}; it had been active under {broker.active_epoch} before",
            evidence=_shown(change, broker),
        )
    told = heard is not None and (
        heard.accepted and heard.next_state == "active" and heard.answered_epoch == epoch
    )
    if not told:
        yield finding(
            f"{what} under epoch {epoch}: no heartbeat was answered so",
            evidence=_shown(change, broker),
        )
    elif lease is None or lease.broker_epoch != epoch:
        yield finding(f"{what} without a lease of epoch {epoch}", evidence=_shown(change, broker))


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
    check_run = RunCheck(life_cycle_conformance, evidence=KINDS)
