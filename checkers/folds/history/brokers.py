"""Brokers that a run has, by what others than they say: how many must have told of themselves."""

from collections.abc import Iterable, Mapping
from typing import Final

from checkers.folds.history.values import heartbeat
from framework.evidence.changes import BrokerUnfenced
from framework.evidence.run_events import RunEvents
from framework.history.event import Recorded
from framework.history.pairing import Operation

KINDS: Final = (BrokerUnfenced,)
FS: Final = ("heartbeat",)
"""What a client does that plays a broker."""


def in_service(events: RunEvents) -> set[int]:
    """Ids of brokers that a metadata log put into service, whoever tells of that log, but those
    that clients play. Processes hold them, and tell of themselves."""
    unfenced: set[int] = {each.broker_id for each in events.of(BrokerUnfenced)}
    return unfenced - synthetic(events.operations)


def synthetic(operations: Iterable[Operation]) -> set[int]:
    """Ids of brokers that clients play."""
    return {
        heartbeat(operation)["broker_id"]
        for operation in operations
        if operation.f in FS and isinstance(operation.value, dict)
    }


def nodes_in_service(events: RunEvents) -> set[str]:
    """Nodes of the plan with such an id."""
    ids = in_service(events)
    return {node for node, own in ids_of(events.plan).items() if own & ids}


def ids_of(plan: Mapping[str, Recorded]) -> dict[str, set[int]]:
    """Node of the plan -> all its ids."""
    nodes = plan.get("nodes") or {}
    return {node: set((spec.get("ids") or {}).values()) for node, spec in nodes.items()}


LIFE_FS: Final = ("start", "restart", "drain", "kill", "bounce", "replace", "unregister")
"""What is done to a broker's process, or to its registration."""
ISR_FS: Final = ("alter-isr",)


def nothing_done(events: RunEvents) -> str:
    """Why nobody had a reason to move a leadership, an ISR or a broker's epoch, where clients and
    the ledger say so; empty: there was one. A rule has to ask for `FS`, `LIFE_FS` and `ISR_FS`, and
    for the ledger."""
    again = [
        heartbeat(each)["broker_id"]
        for each in events.operations
        if each.f in FS
        and isinstance(each.value, dict)
        and heartbeat(each).get("broker_epoch") == -1
    ]
    done = any(each.f in (*LIFE_FS, *ISR_FS) for each in events.operations)
    if events.faults or done or len(again) > len(set(again)):
        return ""
    return "no fault was injected, and no client did anything to a broker or an ISR"
