"""Brokers that come and go: drained, bounced twice in a row, replaced by another of the same id.

The brokers are extra ones, real processes beside the cluster's own, which lead partitions of the
workload's topic. What they and the controllers do is judged from evidence of the nodes: life-cycle
conformance, lease exclusion, controlled shutdowns, identities, the replayed log.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final

from framework.generators import Context, Generator, Offer, Pending, assign, op, phases
from framework.history.event import Event, Invocation, Process
from framework.plugins.outcomes import PRESENT
from framework.plugins.system import Cluster
from framework.plugins.workload import Client, WorkloadOptions
from workloads.base import FinalReads, KafkaWorkload, topic_read
from workloads.kafka.operations.brokers import broker_key
from workloads.kafka.operations.topics import CreateTopic
from workloads.options import at_least
from workloads.process_client import FIRST_ID, ProcessClient

SETTLE_NS: Final = 1_500_000_000
"""How long a broker is left in peace between two operations on it."""
WEIGHTS: Final = {"drain": 3, "bounce": 3, "replace": 3}
READ_SHARE: Final = 0.3
TOPIC: Final = "lifecycle"
READS_WITHOUT: Final = 2
"""Of the topic, in the end, while a broker is gone."""
PATIENCE: Final = 2
"""How often a process that did not serve in time is waited for, before it is ended and another one
started. On a busy machine a start takes longer than an operation may; who begins anew each time
never has one that serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleOptions:
    """`brokers`: extra ones. `partitions`: of the topic on them."""

    brokers: int = 2
    partitions: int = 4

    def __post_init__(self) -> None:
        at_least(1, brokers=self.brokers, partitions=self.partitions)


class Lifecycle(KafkaWorkload):
    """The `lifecycle` workload."""

    Options = LifecycleOptions
    name: str = "lifecycle"
    requires: frozenset[str] = frozenset({"extra-brokers", "kafka-topics"})
    provides: frozenset[str] = frozenset({"broker-life-cycles", "topic-operations"})
    min_threads: int = 2

    def __init__(self, options: LifecycleOptions | None = None) -> None:
        super().__init__()
        self._options = options or LifecycleOptions()
        self._ids = range(FIRST_ID, FIRST_ID + self._options.brokers)
        self._turns = {broker_id: Lock() for broker_id in self._ids}

    def generator(self, options: WorkloadOptions) -> Generator:
        return ComingAndGoing(
            brokers=tuple(map(BrokerProcess, self._ids)),
            partitions=self._options.partitions,
            read=topic_read(options),
        )

    def final_generator(self, options: WorkloadOptions) -> Generator:
        """Every broker is up, and the topic there, also where faults kept both from it until now;
        one is drained, for what was refused is granted now, looked for while it is gone, and is
        back, so that all partitions can have leaders; then the reads."""
        keys = list(map(broker_key, self._ids))
        topic = placed(self._ids, self._options.partitions)
        return phases(
            FinalReads(names=lambda: keys, f="start"),
            op("create", key=TOPIC, value=topic.to_json()),
            op("drain", key=keys[0]),
            *(op(topic_read(options), key=TOPIC) for _ in range(READS_WITHOUT)),
            FinalReads(names=lambda: keys[:1], f="start"),
            super().final_generator(options),
        )

    def client(self, cluster: Cluster, thread: int) -> Client:
        return ProcessClient(cluster, thread, self._turns, self._started)


@dataclass(frozen=True, slots=True)
class BrokerProcess:
    """What is known of a broker's process: whether it runs (None: not known), and when it may be
    disturbed again. `in_vain`: how often it was started, or waited for, and did not serve in time.
    `drained`: it has been, once."""

    broker_id: int
    up: bool | None = False
    in_vain: int = 0
    drained: bool = False
    quiet_until_ns: int = 0

    @property
    def key(self) -> str:
        return broker_key(self.broker_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingAndGoing:
    """Endless. At most one operation on a broker at a time; between them the topic is
    read, by operation `read`."""

    brokers: tuple[BrokerProcess, ...]
    partitions: int
    read: str
    created: bool = False
    busy: Mapping[Process, str] = field(default_factory=dict)
    taken: int = 0

    def offer(self, context: Context) -> Offer:
        rng = context.rng(self.taken)
        template = self._next(rng, context.time)
        if isinstance(template, Pending):
            return Offer(template, self)
        chosen = assign(context.fork(self.taken), template)
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        after = replace(self, taken=self.taken + 1)
        if chosen.key != TOPIC or chosen.f == "create":
            after = replace(after, busy={**self.busy, chosen.process: str(chosen.key)})
        return Offer(chosen, after)

    def _next(self, rng: random.Random, now_ns: int) -> Invocation | Pending:
        if self.created and rng.random() < READ_SHARE:
            return op(self.read, key=TOPIC)
        all_up = all(broker.up for broker in self.brokers)
        if not self.created and all_up and TOPIC not in self.busy.values():
            ids = [broker.broker_id for broker in self.brokers]
            return op("create", key=TOPIC, value=placed(ids, self.partitions).to_json())
        ready = [broker for broker in self.brokers if broker.key not in self.busy.values()]
        due = [broker for broker in ready if broker.quiet_until_ns <= now_ns]
        if due:
            return _process_operation(rng.choice(due), rng)
        if self.created:
            return op(self.read, key=TOPIC)
        return Pending(min((broker.quiet_until_ns for broker in ready), default=None))

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.process not in self.busy:
            return self
        rest = {process: key for process, key in self.busy.items() if process != event.process}
        after = replace(self, busy=rest)
        if event.key == TOPIC:
            exists = event.type == "ok" or event.asserts == PRESENT
            return replace(after, created=self.created or exists)
        brokers = tuple(
            _after(broker, event, context.time) if broker.key == event.key else broker
            for broker in self.brokers
        )
        return replace(after, brokers=brokers)


def placed(ids: Sequence[int], partitions: int) -> CreateTopic:
    """Every broker leads some partitions, where there are so many, and follows the others'."""
    turns = [(*ids[turn:], *ids[:turn]) for turn in range(len(ids))]
    return CreateTopic(assignment=tuple(turns[number % len(turns)] for number in range(partitions)))


def _process_operation(broker: BrokerProcess, rng: random.Random) -> Invocation:
    if broker.up is None and not 0 < broker.in_vain <= PATIENCE:
        return op("restart", key=broker.key)
    if not broker.up:
        return op("start", key=broker.key)
    if not broker.drained:
        return op("drain", key=broker.key)  # also a short run is to see one
    return op(rng.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0], key=broker.key)


def _after(broker: BrokerProcess, event: Event, now_ns: int) -> BrokerProcess:
    up: bool | None = None
    if event.type == "ok":
        up = event.f != "drain"
    return replace(
        broker,
        up=up,
        in_vain=_in_vain(broker, event),
        drained=broker.drained or (event.f == "drain" and event.type == "ok"),
        quiet_until_ns=now_ns + SETTLE_NS,
    )


def _in_vain(broker: BrokerProcess, event: Event) -> int:
    """After anything else of unknown outcome, as after a drain, nobody knows what runs."""
    if event.type == "ok" or event.f not in ("start", "restart"):
        return 0
    return broker.in_vain + 1 if event.f == "start" else 1
