"""Who is in service by the metadata log, and under which broker epoch: who may be in an ISR."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from framework.evidence.changes import (
    BrokerFenced,
    BrokerRegistered,
    BrokerUnfenced,
    BrokerUnregistered,
)

OfBroker: TypeAlias = BrokerRegistered | BrokerUnregistered | BrokerFenced | BrokerUnfenced
OF_BROKERS = (BrokerRegistered, BrokerUnregistered, BrokerFenced, BrokerUnfenced)


@dataclass(frozen=True, slots=True)
class Standing:
    """A broker's from a record on."""

    epoch: int
    serves: bool
    by: OfBroker


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
            serves = isinstance(each, BrokerUnfenced)
            if isinstance(each, BrokerRegistered) and own:
                # A process that registers again stays what it was.
                serves = own[-1].serves and own[-1].epoch == each.broker_epoch
            own.append(Standing(each.broker_epoch, serves, each))
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
