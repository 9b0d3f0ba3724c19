"""Synthetic brokers: ids that a workload's clients act for, one topic on them, and what is known
of both.

All of it is one value. It hears of every invocation and completion and says what would be
sensible to do next; who asks decides among that. All that it knows it learned from completions,
so what it holds for acknowledged was acknowledged.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from framework.generators import op
from framework.history.event import Event, Invocation, Process
from framework.plugins.capabilities import MEMBER_EPOCHS
from framework.plugins.outcomes import PRESENT, STALE
from framework.plugins.workload import WorkloadOptions
from workloads.base import LEAST_IN_SYNC, TOPIC_CONFIGS, versioned_read
from workloads.kafka.operations.brokers import (
    NO_EPOCH,
    AlterIsr,
    Heartbeat,
    IsrState,
    broker_key,
)
from workloads.kafka.operations.topics import Configs, CreateTopic, TopicState
from workloads.synthetic.broker import Broker, heartbeat, learn, sent
from workloads.synthetic.partition import (
    Partition,
    alter,
    changeable,
    described,
    eligible,
    newer,
    propose,
)

AGAIN_NS: Final = 250_000_000
"""How long a topic's creation or deletion waits that was not done. While no controller is active it
is refused within a millisecond: asked again at once, a run has hardly anything but refusals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """The topic that is worked on, the `number`th of its name. `created`: perhaps; a describe
    will tell. `altered`: how many ISR changes were tried on it."""

    prefix: str
    number: int = 0
    created: bool = False
    partitions: Mapping[int, Partition] = field(default_factory=dict)
    altered: int = 0

    @property
    def name(self) -> str:
        return f"{self.prefix}-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticBrokers:
    """`read`: the operation that shows the topic. `configs`: of each topic, where that has its own.
    `names_members`: the system hears in ISR changes under which epochs brokers are members
    (KIP-903). `open`: what is under way, by process.
    `period_ns`: between heartbeats of an active broker. `topics_ns`: before then no topic is
    created or deleted."""

    seed: int
    read: str
    names_members: bool = True
    period_ns: int
    assignment: tuple[tuple[int, ...], ...]
    by_id: Mapping[int, Broker]
    topic: Topic
    configs: Configs | None = None
    open: Mapping[Process, Event] = field(default_factory=dict)
    topics_ns: int = 0

    # --- what could be done ---------------------------------------------------------------

    def due_heartbeat(self, now_ns: int) -> Invocation | None:
        """The heartbeat that is due longest."""
        waiting = [each for each in self.by_id.values() if not each.asking]
        broker = min(waiting, key=lambda each: each.due_ns, default=None)
        if broker is None or broker.due_ns > now_ns:
            return None
        value = heartbeat(broker, self.seed, now_ns).to_json()
        return op("heartbeat", key=broker_key(broker.broker_id), value=value)

    def next_due_ns(self, now_ns: int) -> int | None:
        """When the next heartbeat is due, or a topic may be created; None: all are under way."""
        due = [each.due_ns for each in self.by_id.values() if not each.asking]
        return min([*due, *([self.topics_ns] if self.topics_ns > now_ns else [])], default=None)

    def upkeep(self, now_ns: int) -> Invocation | None:
        """The topic's creation, or a read where its state is in doubt."""
        topic = self.topic
        if self._under_way("create", topic.name) or self._under_way(self.read, topic.name):
            return None
        if not topic.created:
            able = len(eligible(self.by_id.values())) >= len(self.by_id)
            return self._create() if able and now_ns >= self.topics_ns else None
        if not topic.partitions or not all(each.fresh for each in topic.partitions.values()):
            return self.describe()
        return None

    def describe(self) -> Invocation:
        """A read of the topic with its versions."""
        return op(self.read, key=self.topic.name)

    def alter(self, rng: random.Random, *, rival: bool) -> Invocation | None:
        """An ISR change by a leader with the epochs and the version that it knows. `rival`:
        beside one that is under way with the same version, where there is one; else where none
        is under way, if possible."""
        members = eligible(self.by_id.values())
        able = [each for each in self.topic.partitions.values() if changeable(each, members)]
        contested = [each for each in able if self.under_way(each)]
        free = [each for each in able if not self.under_way(each) and each.fresh]
        choice = (contested or free) if rival else (free or contested)
        if not choice:
            return None
        partition = rng.choice(choice)
        isr = propose(partition, members, rng)
        change = self.change(partition, isr, members)
        return op("alter-isr", key=partition.key, value=change.to_json())

    def change(self, partition: Partition, isr: list[int], members: Mapping[int, int]) -> AlterIsr:
        """An honest one by the partition's leader. `members`: the epochs of who is active."""
        named = members if self.names_members else {}
        return alter(partition, isr, named, members.get(partition.leader, NO_EPOCH))

    def under_way(self, partition: Partition) -> bool:
        """Whether an ISR change with the partition's version is under way."""
        return any(
            each.f == "alter-isr"
            and each.key == partition.key
            and AlterIsr.from_json(each.value).partition_epoch == partition.partition_epoch
            for each in self.open.values()
        )

    def _create(self) -> Invocation:
        value = CreateTopic(assignment=self.assignment, configs=self.configs).to_json()
        return op("create", key=self.topic.name, value=value)

    def _under_way(self, f: str, key: str) -> bool:
        return any(each.f == f and each.key == key for each in self.open.values())

    # --- what happened --------------------------------------------------------------------

    def invoked(self, event: Event) -> SyntheticBrokers:
        """With one more operation under way."""
        after = replace(self, open={**self.open, event.process: event})
        if event.f == "heartbeat":
            asked = Heartbeat.from_json(event.value)
            return after.with_broker(sent(self.by_id[asked.broker_id], asked))
        if event.f == "alter-isr":
            return after.with_topic(replace(self.topic, altered=self.topic.altered + 1))
        return after

    def completed(self, event: Event, now_ns: int) -> tuple[SyntheticBrokers, Event | None]:
        """After a completion that was learned from, and the invocation that it completes."""
        asked = self.open.get(event.process)
        if asked is None:
            return self, None
        rest = {process: each for process, each in self.open.items() if process != event.process}
        after = replace(self, open=rest)
        if asked.f in ("create", "delete") and event.type != "ok" and event.asserts is None:
            after = replace(after, topics_ns=now_ns + AGAIN_NS)
        match asked.f:
            case "heartbeat":
                return after._heard(Heartbeat.from_json(asked.value), event, now_ns), asked
            case "alter-isr":
                return after._altered(AlterIsr.from_json(asked.value), event, now_ns), asked
            case "create" if asked.key == self.topic.name:
                maybe = event.type != "fail" or event.asserts == PRESENT
                return after.with_topic(replace(self.topic, created=maybe)), asked
            case self.read if asked.key == self.topic.name and event.type == "ok":
                state = None if event.value is None else TopicState.from_json(event.value)
                return after._described(state), asked
        return after, asked

    def with_broker(self, broker: Broker) -> SyntheticBrokers:
        """With this broker in the place of its former state."""
        return replace(self, by_id={**self.by_id, broker.broker_id: broker})

    def with_topic(self, topic: Topic) -> SyntheticBrokers:
        """With the topic in another state, or with another one."""
        return replace(self, topic=topic)

    def _heard(self, asked: Heartbeat, event: Event, now_ns: int) -> SyntheticBrokers:
        before = self.by_id[asked.broker_id]
        broker = learn(
            before, asked, event, seed=self.seed, now_ns=now_ns, period_ns=self.period_ns
        )
        after = self.with_broker(broker)
        moved = (broker.epoch, broker.left) != (before.epoch, before.left)
        return after._in_doubt() if moved else after

    def _in_doubt(self) -> SyntheticBrokers:
        """A broker that came or went may have been put out of ISRs, and off what it led."""
        known = self.topic.partitions
        doubted = {number: replace(each, fresh=False) for number, each in known.items()}
        return self.with_topic(replace(self.topic, partitions=doubted))

    def _described(self, state: TopicState | None) -> SyntheticBrokers:
        if state is None:
            return self.with_topic(replace(self.topic, created=False, partitions={}))
        known = self.topic.partitions
        shown = {
            each.number: newer(known.get(each.number), each)
            for each in described(self.topic.name, state)
        }
        return self.with_topic(replace(self.topic, created=True, partitions=shown))

    def _altered(self, asked: AlterIsr, event: Event, now_ns: int) -> SyntheticBrokers:
        known = self.topic.partitions.get(asked.partition)
        if known is None or known.topic_id != asked.topic_id:
            return self
        if event.type == "ok":
            done = IsrState.from_json(event.value)
            shown = replace(
                known,
                leader=done.leader,
                leader_epoch=done.leader_epoch,
                partition_epoch=done.partition_epoch,
                isr=done.isr,
                fresh=True,
            )
            return self._with_partition(newer(known, shown))
        if asked.zombie is not None:
            return self  # it was to be refused
        after = self
        broker = self.by_id[asked.broker_id]
        if event.asserts == STALE and broker.epoch == asked.broker_epoch:
            after = self.with_broker(replace(broker, due_ns=now_ns))  # a heartbeat will show it
        if known.partition_epoch > asked.partition_epoch:
            return after  # what is known now is newer than what was refused
        return after._with_partition(replace(known, fresh=False))

    def turned_over(self, most: int) -> SyntheticBrokers:
        """With the next topic, once `most` ISR changes were tried on this one: so the
        history of each partition stays small."""
        topic = self.topic
        if topic.altered < most:
            return self
        return self.with_topic(Topic(prefix=topic.prefix, number=topic.number + 1))

    def _with_partition(self, partition: Partition) -> SyntheticBrokers:
        partitions = {**self.topic.partitions, partition.number: partition}
        return self.with_topic(replace(self.topic, partitions=partitions))


def synthetic_brokers(
    options: WorkloadOptions, *, topic: str, broker_ids: Sequence[int], partitions: int
) -> SyntheticBrokers:
    """Before the first operation: each partition is on all brokers, another one first.
    Topics are named `topic`-0, `topic`-1, ... On three brokers or more they ask for two in sync:
    whoever leaves a smaller ISR may lead once that is empty, where a system has that (KIP-966).
    Heartbeats go out every second, or, where that would be more than half of the `rate`, every
    other second at most."""
    period_s = min(max(1.0, 2 * len(broker_ids) / options.rate), 2.0)
    count = len(broker_ids)
    configures = count > 2 and TOPIC_CONFIGS in options.capabilities
    return SyntheticBrokers(
        seed=options.seed,
        read=versioned_read(options),
        names_members=MEMBER_EPOCHS in options.capabilities,
        period_ns=round(period_s * 1e9),
        assignment=tuple(
            tuple(broker_ids[(number + step) % count] for step in range(count))
            for number in range(partitions)
        ),
        by_id={broker_id: Broker(broker_id=broker_id) for broker_id in broker_ids},
        topic=Topic(prefix=topic),
        configs=LEAST_IN_SYNC if configures else None,
    )
