"""Brokers live by KIP-631's state machine, replicas by KIP-595's roles (D.14).

`bstate` of one process is a path of the draft's automaton (A.1.66-70), and each edge has its
trigger before it: a heartbeat that was answered so, or a lease that ended. `role` of one process
follows the transitions of B.2 and B.4; see `raft_roles`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    concluded,
    finding,
    incarnations,
)
from checkers.kernels.raft_roles import EVENTS as ROLE_EVENTS
from checkers.kernels.raft_roles import roles
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS: Final = (*ROLE_EVENTS, "bstate", "heartbeat", "lease")

EDGES: Final = frozenset(
    {
        ("INITIAL", "ACTIVE"),  # A.1.66
        ("ACTIVE", "FENCED"),  # A.1.67
        ("FENCED", "ACTIVE"),  # A.1.68
        ("ACTIVE", "SHUTDOWN"),  # A.1.69
        ("FENCED", "SHUTDOWN"),
    }
)
NO_EPOCH: Final = -1
STALE: Final = 77
EARLY_NS: Final = 2_000_000
"""Leases are kept in whole ms."""


def life_cycle(evidence: Evidence) -> Outcome:
    zero = evidence.plan.get("time_zero_ns")
    findings: list[Finding] = []
    transitions = changes = 0
    for lives in incarnations(evidence.of(*EVENTS)).values():
        for life in lives:
            killed = not any(event.type == "exit" for event in life)
            transitions += sum(event.type == "bstate" for event in life)
            findings += _broker(life, zero)
            changes += sum(event.type == "role" for event in life)
            findings += roles(life, killed=killed)
    figures = {"transitions": transitions, "roles": changes}
    return concluded(transitions + changes, findings, figures)


@dataclass(slots=True)
class Broker:
    """What a broker was told, up to the transition that is judged. `active_epoch`: the one that
    it was last ACTIVE under."""

    last: NodeEvent | None = None
    active_epoch: int = NO_EPOCH
    lease: NodeEvent | None = None
    heard: NodeEvent | None = None

    @property
    def state(self) -> str:
        return "INITIAL" if self.last is None else str(self.last.fields["after"])


def _broker(life: Sequence[NodeEvent], zero_ns: int | None) -> Iterator[Finding]:
    broker = Broker()
    for event in life:
        match event.type:
            case "heartbeat":
                broker.heard = event
            case "lease":
                broker.lease = event
            case "bstate":
                yield from _transition(event, broker, zero_ns)
                if event.fields["after"] == "ACTIVE":
                    broker.active_epoch = event.fields["broker_epoch"]
                broker.last = event


def _transition(event: NodeEvent, broker: Broker, zero_ns: int | None) -> Iterator[Finding]:
    before, after = event.fields["before"], event.fields["after"]
    what = f"{event.node} went from {before} to {after}"
    earlier = [] if broker.last is None else [broker.last]
    if before != broker.state:
        yield finding(f"{what}, but was {broker.state}", events=[*earlier, event])
    if (before, after) not in EDGES:
        yield finding(f"{what}: no such transition is drawn", events=[*earlier, event])
        return
    if after == "ACTIVE":
        yield from _activation(event, broker, what)
    elif after == "FENCED" and not _fenced(event, broker, zero_ns):
        yield finding(
            f"{what}: its lease had not ended, and no heartbeat was answered so",
            events=_shown(event, broker),
        )
    elif after == "SHUTDOWN" and not _let_go(broker.heard):
        yield finding(f"{what}: no controlled shutdown was granted", events=_shown(event, broker))


def _shown(event: NodeEvent, broker: Broker) -> list[NodeEvent]:
    return [each for each in (broker.lease, broker.heard, event) if each is not None]


def _activation(event: NodeEvent, broker: Broker, what: str) -> Iterator[Finding]:
    epoch, heard, lease = event.fields["broker_epoch"], broker.heard, broker.lease
    if epoch == NO_EPOCH:
        yield finding(f"{what} without a broker epoch", events=[event])
        return
    if epoch <= broker.active_epoch:
        yield finding(
            f"{what} under epoch {epoch}; it had been ACTIVE under {broker.active_epoch} before",
            events=_shown(event, broker),
        )
    told = heard is not None and (
        heard.fields["error"] == 0
        and heard.fields["next_state"] == "ACTIVE"
        and heard.fields["answered_epoch"] == epoch
    )
    if not told:
        yield finding(
            f"{what} under epoch {epoch}: no heartbeat was answered so",
            events=_shown(event, broker),
        )
    elif lease is None or lease.fields["broker_epoch"] != epoch:
        yield finding(f"{what} without a lease of epoch {epoch}", events=_shown(event, broker))


def _fenced(event: NodeEvent, broker: Broker, zero_ns: int | None) -> bool:
    """The lease ended, or the controller's last word was anything but a renewal of it."""
    lease, heard = broker.lease, broker.heard
    if lease is None or zero_ns is None:
        return True
    if event.time_ns >= lease.fields["end_ns"] - zero_ns - EARLY_NS:
        return True
    if heard is None:
        return False
    if heard.fields["error"] != 0:
        return bool(heard.fields["error"] == STALE)
    if heard.fields["next_state"] == "ACTIVE":
        return bool(heard.fields["answered_epoch"] != broker.active_epoch)
    return heard.fields["next_state"] in ("FENCED", "INITIAL")


def _let_go(heard: NodeEvent | None) -> bool:
    return heard is not None and (
        heard.fields["error"] == 0
        and heard.fields["target"] == "SHUTDOWN"
        and heard.fields["next_state"] == "SHUTDOWN"
    )
