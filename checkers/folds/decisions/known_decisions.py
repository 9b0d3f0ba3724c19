"""What decisions of controllers rest on, and who may have asked for them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from checkers.folds.decisions.decisions import may_have_asked
from checkers.folds.history.values import alter_isr, heartbeat, key_of
from checkers.folds.metadata_log.committed_log import CommittedLog, known_log
from checkers.folds.replayed.replay import Key, Replay
from framework.evidence.changes import BrokerFenced, Change, PartitionState
from framework.evidence.requests import Decided, IsrDecided
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation

Epoch: TypeAlias = tuple[int | None, int | None]
"""(broker id, broker epoch), None where that is not told."""


@dataclass(slots=True)
class Known:
    """What questions are made of. `ends`: the offset behind the last committed record of each
    leader's epoch. `versions`: the record that made each version of a partition. `leaving`: who may
    be shutting down. `asking`: operations by what they are on."""

    log: CommittedLog
    events: RunEvents
    ends: dict[int, int] = field(default_factory=dict)
    versions: dict[Key, dict[int, PartitionState]] = field(default_factory=dict)
    leaving: set[Epoch] = field(default_factory=set)
    asking: dict[tuple[str, object], list[Operation]] = field(default_factory=dict)

    def is_sure(self, decision: Decided | IsrDecided) -> bool:
        """Whether all that it rests on was committed."""
        return decision.as_of <= self.ends.get(decision.epoch, 0)

    def made(self, decision: Decided | IsrDecided) -> Sequence[Change]:
        """Its records; none unless all were committed."""
        held = [self.log.of_epoch(offset, decision.epoch) for offset in decision.records]
        known = [each for each in held if each is not None]
        return known if len(known) == len(held) else ()

    def asked(self, decision: Decided | IsrDecided, on: object) -> list[Operation]:
        """The operations whose request it may have been."""
        f = "alter-isr" if isinstance(decision, IsrDecided) else str(decision.f)
        return [each for each in self.asking.get((f, on), ()) if may_have_asked(each, decision)]

    def was_reported(self, decision: Decided, on: object, what: str) -> bool:
        """Whether all who may have asked were refused, and told this."""
        asking = self.asked(decision, on)
        return bool(asking) and all(each.failed and each.asserts == what for each in asking)

    def may_leave(self, state: Replay) -> set[int]:
        """Brokers that may be shutting down in that state."""
        return {each for each, own in state.brokers.items() if (each, own.epoch) in self.leaving}


def known_of(events: RunEvents) -> Known:
    known = Known(known_log(events), events)
    for record in known.log.records:
        known.ends[record.epoch] = record.offset + 1
        if isinstance(record, PartitionState):
            known.versions.setdefault(record.key, {})[record.partition_epoch] = record
    asking: dict[tuple[str, object], list[Operation]] = defaultdict(list)
    for each in events.operations:
        asking[each.f, asked_on(each)].append(each)
    known.asking = dict(asking)
    known.leaving = set(_leaving(known))
    return known


def asked_on(operation: Operation) -> object:
    if operation.f == "alter-isr":
        return key_of(alter_isr(operation))
    return heartbeat(operation)["broker_id"] if operation.f == "heartbeat" else operation.key


def _leaving(known: Known) -> Iterator[Epoch]:
    """Who asked to, by clients and controllers, and who was fenced: he may have."""
    for each in known.events.of(Decided):
        if each.target == "leaving":
            yield each.broker_id, each.broker_epoch
    for operation in known.events.operations:
        if operation.f == "heartbeat" and heartbeat(operation).get("target") != "active":
            yield heartbeat(operation)["broker_id"], heartbeat(operation)["broker_epoch"]
    for record in known.log.records:
        if isinstance(record, BrokerFenced):
            yield record.broker_id, record.broker_epoch
