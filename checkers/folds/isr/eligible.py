"""Eligible leader replicas (KIP-966): who may lead a partition once its ISR is empty, as each
record of it has them.

Whoever leaves an ISR that is smaller than `min.insync.replicas` is eligible, until the ISR is large
enough again, or his next process registers, which may have lost what he had.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from checkers.folds.isr.in_sync import LEAST
from checkers.folds.replayed.replay import Partition, Replay
from framework.evidence.changes import (
    BROKER_RESOURCE,
    NO_LEADER,
    TOPIC_RESOURCE,
    PartitionState,
)

OF_ALL_BROKERS: Final = ""


@dataclass(frozen=True, slots=True)
class Eligibility:
    """A record's beside the state below it. `least`: an ISR of so many is large enough; None: the
    log does not say."""

    change: PartitionState
    before: Partition | None
    replicas: frozenset[int]
    least: int | None

    @classmethod
    def of(
        cls,
        state: Replay,
        change: PartitionState,
        before: Partition | None,
        replicas: Collection[int],
    ) -> "Eligibility":
        return cls(change, before, frozenset(replicas), _least(state, change.topic_id, replicas))

    @property
    def _eligible(self) -> frozenset[int]:
        return frozenset(self.change.eligible or ())

    @property
    def _isr(self) -> frozenset[int]:
        return frozenset(self.change.isr)

    @property
    def _were(self) -> frozenset[int]:
        """Eligible or in sync below the record."""
        if self.before is None:
            return frozenset()
        return frozenset((*self.before.isr, *(self.before.eligible or ())))

    @property
    def _is_small(self) -> bool:
        return self.least is not None and len(self._isr) < self.least

    @property
    def says_something(self) -> bool:
        """Whether anybody is, was or should be eligible."""
        were = self.before.eligible if self.before is not None else ()
        return bool(self._eligible or were or self._is_small)

    def wrong(self) -> Iterator[str]:
        """What may not be, as words that follow what the record gives to whom."""
        eligible, isr = self._eligible, self._isr
        who = f"the eligible leaders {sorted(eligible)}"
        if not eligible <= self.replicas:
            yield f"{who} of replicas {sorted(self.replicas)}"
        if eligible & isr:
            yield f"{who} beside its ISR {sorted(isr)}"
        if eligible and self.least is not None and not self._is_small:
            yield f"{who} beside its ISR {sorted(isr)}, where {self.least} in sync are enough"
        if more := eligible - self._were:
            yield f"the eligible leaders {sorted(more)}, which were neither that nor in sync"

    def dropped(self) -> frozenset[int]:
        """Who is no more in sync nor eligible, though the ISR is too small: his next process has to
        register. An unclean election drops all."""
        unclean = self.change.leader not in self._were | {NO_LEADER}
        if unclean or not self._is_small:
            return frozenset()
        return (self._were & self.replicas) - self._isr - self._eligible


def _least(state: Replay, topic_id: str, replicas: Collection[int]) -> int | None:
    """`min.insync.replicas`, but not more than the replicas of the topic's first partition, as
    `ReplicationControlManager.getTopicEffectiveMinIsr` has it."""
    topic, first = state.topics.get(topic_id), state.partitions.get((topic_id, 0))
    own = state.configs.get((TOPIC_RESOURCE, topic.name), {}).get(LEAST) if topic else None
    said = own or state.configs.get((BROKER_RESOURCE, OF_ALL_BROKERS), {}).get(LEAST)
    if said is None or not said.isdecimal():
        return None
    return min(int(said), len(first.replicas if first is not None else replicas))
