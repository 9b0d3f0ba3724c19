"""Zombie requests have no effect (D.10; KIP-380, KIP-497).

Once a newer generation - broker epoch of a broker, leader epoch or version of a partition - has
been acknowledged, a request that carries an older one is refused. Judged three ways: by what
clients were answered, by what controllers had applied when they decided, and by leases.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from checkers.folds.decisions import decided_on_stale
from checkers.folds.leases import served_without_lease
from checkers.folds.operations import is_zombie
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import Change
from framework.evidence.kinds import (
    Booted,
    BrokerStateChanged,
    Decided,
    HeartbeatAnswered,
    IsrDecided,
    LeaseGranted,
    Served,
    evidence_of,
)
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

FS: Final = ("heartbeat", "alter-isr", "describe", "create", "delete", "metadata")
NO_EPOCH: Final = -1

Kind: TypeAlias = tuple[str, str]
"""Which counter: ("broker epoch", broker id), ("leader epoch", partition), ("version", ...)."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A value of a counter that an operation carried, or was shown."""

    kind: Kind
    value: int
    operation: Operation


def zombie_fencing(events: RunEvents) -> Outcome:
    stale, unproven, current = _clients(events.operations)
    decided, log_findings = decided_on_stale(events)
    served, lease_findings = served_without_lease(events)
    zombies = [each for each in events.operations if is_zombie(each)]
    figures: dict[str, float] = {
        "zombies": len(zombies),
        "zombies_refused": sum(each.failed for each in zombies),
        "zombies_indeterminate": sum(not each.ok and not each.failed for each in zombies),
        "zombies_current": current,
        "decisions": decided,
        "serves": served,
    }
    codes = Counter(each.error_code or "?" for each in zombies if each.failed)
    figures |= {f"refused.{code}": count for code, count in sorted(codes.items())}
    return concluded(
        len(zombies) + served, [*stale, *unproven, *log_findings, *lease_findings], figures
    )


# --- what clients were answered -----------------------------------------------------------


def _clients(operations: Iterable[Operation]) -> tuple[list[Finding], list[Finding], int]:
    """Accepted requests that carried less than had been acknowledged before they began;
    accepted zombies of which nothing shows that they were current; how many the rest were."""
    operations = list(operations)
    shown = sorted(
        (each for operation in operations for each in _shown(operation)),
        key=lambda each: each.operation.end or 0,
    )
    newest: dict[Kind, Generation] = {}
    at = 0
    stale, unproven, current = [], [], 0
    for operation in sorted(operations, key=lambda each: each.index):
        while at < len(shown) and shown[at].operation.precedes(operation):
            best = newest.get(shown[at].kind)
            if best is None or shown[at].value > best.value:
                newest[shown[at].kind] = shown[at]
            at += 1
        if not operation.ok:
            continue
        carried = list(_carried(operation))
        behind = [
            (each, newest[each.kind])
            for each in carried
            if each.kind in newest and each.value < newest[each.kind].value
        ]
        if behind:
            stale.append(_accepted(operation, *behind[0]))
        elif is_zombie(operation) and not any(each.kind in newest for each in carried):
            unproven.append(
                finding(
                    f"operation {operation.index} ({operation.f} of {operation.key}) was a "
                    f"zombie's ({operation.value['zombie']}) and was answered ok",
                    [operation],
                )
            )
        elif is_zombie(operation):
            current += 1
    return stale, unproven, current


def _accepted(operation: Operation, carried: Generation, newest: Generation) -> Finding:
    what, whose = carried.kind
    zombie = f", sent as a zombie ({operation.value['zombie']})," if is_zombie(operation) else ""
    return finding(
        f"operation {operation.index} ({operation.f} of {operation.key}){zombie} was answered "
        f"ok with {what} {carried.value} of {whose}, after operation {newest.operation.index} had "
        f"been answered {what} {newest.value}",
        [newest.operation, operation],
    )


def _carried(operation: Operation) -> Iterator[Generation]:
    """The generations on which a request is conditional."""
    value = operation.value
    if operation.f not in ("heartbeat", "alter-isr") or not isinstance(value, dict):
        return
    if value["broker_epoch"] != NO_EPOCH:
        broker = ("broker epoch", f"broker {value['broker_id']}")
        yield Generation(broker, value["broker_epoch"], operation)
    if operation.f == "alter-isr":
        where = _where(value["topic_id"], value["partition"])
        yield Generation(("leader epoch", where), value["leader_epoch"], operation)
        yield Generation(("version", where), value["partition_epoch"], operation)


def _shown(operation: Operation) -> Iterator[Generation]:
    """The generations that an ok answer acknowledges."""
    value, result = operation.value, operation.result
    if not operation.ok or not isinstance(result, dict):
        return
    if operation.f == "heartbeat" and result.get("broker_epoch", NO_EPOCH) != NO_EPOCH:
        broker = ("broker epoch", f"broker {value['broker_id']}")
        yield Generation(broker, result["broker_epoch"], operation)
    elif operation.f == "alter-isr":
        # It acknowledges the epoch that it carried, too, if that was current; a stale one is
        # below what is known, and changes nothing.
        yield from (each for each in _carried(operation) if each.kind[0] == "broker epoch")
        where = _where(value["topic_id"], value["partition"])
        yield Generation(("leader epoch", where), result["leader_epoch"], operation)
        yield Generation(("version", where), result["partition_epoch"], operation)
    elif operation.f == "describe":
        for shown in result.get("partitions") or ():
            where = _where(result.get("topic_id"), shown["partition"])
            yield Generation(("leader epoch", where), shown["leader_epoch"], operation)
            if "partition_epoch" in shown:
                yield Generation(("version", where), shown["partition_epoch"], operation)


def _where(topic_id: object, partition: int) -> str:
    return f"{topic_id}/{partition}"


class ZombieFencing(RunChecker):
    name = "zombie-fencing"
    summary = (
        "Once a newer broker epoch, leader epoch or version is acknowledged, requests that "
        "carry an older one are refused, and a broker whose lease has ended serves no client"
    )
    requires = evidence_of(Change, Decided, LeaseGranted)
    check_run = RunCheck(
        zombie_fencing,
        evidence=(
            Booted,
            BrokerStateChanged,
            Change,
            Decided,
            HeartbeatAnswered,
            IsrDecided,
            LeaseGranted,
            Served,
        ),
        fs=FS,
    )
