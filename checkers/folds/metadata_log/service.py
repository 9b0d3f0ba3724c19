"""Who is in service by the metadata log, and under which broker epoch: who may be in an ISR."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from framework.evidence.changes import (
    BrokerFenced,
    BrokerLeaving,
    BrokerRegistered,
    BrokerUnfenced,
    BrokerUnregistered,
)

OfBroker: TypeAlias = (
    BrokerRegistered | BrokerUnregistered | BrokerFenced | BrokerUnfenced | BrokerLeaving
)
OF_BROKERS = (BrokerRegistered, BrokerUnregistered, BrokerFenced, BrokerUnfenced, BrokerLeaving)


@dataclass(frozen=True, slots=True)
class Standing:
    """A broker's from a record on. `leaving`: it is about to end, which it is until its next
    process registers: it serves clients, and joins no ISR."""

    epoch: int
    serves: bool
    by: OfBroker
    leaving: bool = False

    @property
    def may_join(self) -> bool:
        """Whether it may be in an ISR (KIP-841)."""
        return self.serves and not self.leaving

    def then(self, by: OfBroker) -> "Standing":
        """After its next record. A process that registers again stays what it was, and only a
        broker in service begins to leave."""
        same = self.epoch == by.broker_epoch
        serves = isinstance(by, BrokerUnfenced)
        if isinstance(by, BrokerRegistered | BrokerLeaving):
            serves = self.serves and same
        return Standing(by.broker_epoch, serves, by, _leaves(by) or (self.leaving and same))


def out_of_service(standing: Standing) -> str:
    """Of one that may not join, in words that follow "it is"."""
    return "about to leave" if standing.serves else "not in service"


@dataclass(frozen=True, slots=True)
class Service:
    """By broker, in the order of the log; `unknown`: offsets of which nobody has the record."""

    standings: Mapping[int, Sequence[Standing]]
    unknown: Sequence[int] = ()

    @classmethod
    def of(cls, records: Iterable[OfBroker], unknown: Sequence[int] = ()) -> "Service":
        """Of each offset the first counts."""
        first: dict[int, OfBroker] = {}
        for each in records:
            first.setdefault(each.offset, each)
        found: dict[int, list[Standing]] = defaultdict(list)
        for _, each in sorted(first.items()):
            own = found[each.broker_id]
            own.append(own[-1].then(each) if own else _first(each))
        return cls(found, unknown)

    def before(self, offset: int, broker_id: int) -> Standing | None:
        """As the log has it below an offset; None: nobody can tell."""
        own = self.standings.get(broker_id, ())
        at = bisect_left(own, offset, key=lambda each: each.by.offset)
        if at == 0:
            return None
        standing = own[at - 1]
        gap = bisect_left(self.unknown, standing.by.offset)
        hidden = gap < len(self.unknown) and self.unknown[gap] < offset
        return None if hidden else standing

    def comes_anew(self, offset: int, broker_id: int) -> bool:
        """Whether a record is of those that register another process of a broker: they begin at
        the offset that is its epoch, and end with the registration."""
        own = self.standings.get(broker_id, ())
        at = bisect_right(own, offset, key=lambda each: each.by.offset)
        if at in (0, len(own)):
            return False
        before, after = own[at - 1], own[at]
        registered = isinstance(after.by, BrokerRegistered) and after.epoch != before.epoch
        return registered and after.epoch <= offset


def _leaves(by: OfBroker) -> bool:
    return isinstance(by, BrokerLeaving) or (isinstance(by, BrokerRegistered) and by.leaving)


def _first(by: OfBroker) -> Standing:
    """Where nobody knows what was before: who leaves has served."""
    serves = isinstance(by, BrokerUnfenced | BrokerLeaving)
    return Standing(by.broker_epoch, serves, by, _leaves(by))
