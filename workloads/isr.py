"""ISR changes: synthetic brokers lead partitions and change their in-sync sets.

The brokers (ids 101, 102, 103) are no processes: they register and keep their leases by
heartbeats, and hold no data. As leaders they send AlterPartition with the broker epoch, leader
epoch and partition epoch that they learned last; often two threads at once with the same
version, of which at most one may win.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Final

from framework.generators import Context, Generator, Offer, Pending, assign, op
from framework.history.event import Event, Invocation
from framework.plugins.outcomes import ABSENT
from framework.plugins.workload import WorkloadOptions
from workloads.base import VERSIONED_READ, KafkaWorkload
from workloads.options import at_least
from workloads.synthetic.brokers import SyntheticBrokers, synthetic_brokers

FIRST_ID: Final = 101
CHANGES_A_TOPIC: Final = 200
DESCRIBE_SHARE: Final = 0.12
RIVAL_SHARE: Final = 0.4
"""How many of the ISR changes go beside another one with the same version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrOptions:
    """`brokers`: synthetic ones, 1 or more. `partitions`: of each topic on them."""

    brokers: int = 3
    partitions: int = 3

    def __post_init__(self) -> None:
        at_least(1, brokers=self.brokers)
        at_least(1, partitions=self.partitions)


class Isr(KafkaWorkload):
    """The `isr` workload."""

    Options = IsrOptions
    name: str = "isr"
    requires: frozenset[str] = frozenset({"kafka-topics", VERSIONED_READ, "synthetic-brokers"})
    provides: frozenset[str] = frozenset({"isr-changes", "topic-operations"})
    min_threads: int = 2

    def __init__(self, options: IsrOptions | None = None) -> None:
        super().__init__()
        self._options = options or IsrOptions()

    def generator(self, options: WorkloadOptions) -> Generator:
        return IsrChanges(
            brokers=synthetic_brokers(
                options,
                topic="isr",
                broker_ids=range(FIRST_ID, FIRST_ID + self._options.brokers),
                partitions=self._options.partitions,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrChanges:
    """Endless. `finished`: topics that are to be deleted, since others took their place."""

    brokers: SyntheticBrokers
    finished: tuple[str, ...] = ()
    taken: int = 0

    def offer(self, context: Context) -> Offer:
        template = self._next(context.rng(self.taken), context.time)
        if template is None:
            return Offer(Pending(self.brokers.next_due_ns(context.time)), self)
        chosen = assign(context.fork(self.taken), template)
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        return Offer(chosen, replace(self, taken=self.taken + 1))

    def _next(self, rng: random.Random, now_ns: int) -> Invocation | None:
        urgent = self.brokers.due_heartbeat(now_ns) or self.brokers.upkeep(now_ns)
        if urgent is not None:
            return urgent
        deleting = any(each.f == "delete" for each in self.brokers.open.values())
        if self.finished and not deleting and now_ns >= self.brokers.topics_ns:
            return op("delete", key=self.finished[0])
        if self.brokers.topic.partitions and rng.random() < DESCRIBE_SHARE:
            return self.brokers.describe()
        return self.brokers.alter(rng, rival=rng.random() < RIVAL_SHARE)

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke":
            return replace(self, brokers=self.brokers.invoked(event))
        after, asked = self.brokers.completed(event, context.time)
        if asked is None:
            return self
        finished = self.finished
        if asked.f == "delete" and _is_gone(event):
            finished = tuple(name for name in finished if name != asked.key)
        before = after.topic.name
        after = after.turned_over(CHANGES_A_TOPIC)
        if after.topic.name != before:
            finished = (*finished, before)
        return replace(self, brokers=after, finished=finished)


def _is_gone(deletion: Event) -> bool:
    return deletion.type == "ok" or deletion.asserts == ABSENT
