"""Brokers that come and go: drained, killed, bounced twice in a row, replaced by another of the
same id; and unregistered while they are down.

The brokers are extra ones, real processes beside the cluster's own, which lead partitions of the
workload's topic. What they and the controllers do is judged from evidence of the nodes: life-cycle
conformance, lease exclusion, controlled shutdowns, identities, the replayed log. That they are
unregistered, by clients and the log.

The first of them shares partitions of another topic with the cluster's own, to which values are
produced all along: clients go on while it leaves. It is never replaced: its heir would come with
another disk, and without what only the first one may have had. Nor is it unregistered, or killed
and left so: a broker that registers where none is registered tells nobody that its former process
ended well, so that Apache Kafka lets go what it alone was in sync of (KIP-966).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final

from framework.generators import (
    Context,
    Generator,
    Offer,
    Pending,
    any_of,
    assign,
    op,
    phases,
    stagger,
)
from framework.history.event import Event, Invocation, Process
from framework.plugins.outcomes import PRESENT
from framework.plugins.system import Cluster, NodeSpec
from framework.plugins.workload import Client, WorkloadOptions
from workloads.base import FinalReads, KafkaWorkload, topic_read
from workloads.kafka.operations.brokers import broker_key
from workloads.kafka.operations.descriptions import ClusterView
from workloads.kafka.operations.partitions import ListOffsets, Produce, partition_key
from workloads.kafka.operations.topics import CreateTopic
from workloads.kafka.roles import BROKER, brokers
from workloads.log import final_fetches
from workloads.options import at_least
from workloads.process_client import FIRST_ID, KEPT_ID, ProcessClient

SETTLE_NS: Final = 1_500_000_000
"""How long a broker is left in peace between two operations on it."""
WEIGHTS: Final = {"drain": 3, "bounce": 3, "replace": 3, "kill": 2}
DOWN: Final = ("drain", "kill")
"""What a broker's process is not started again by."""
UNREGISTER_SHARE: Final = 0.4
"""Of operations on a broker that is down; the others start it."""
READ_SHARE: Final = 0.3
TOPIC: Final = "lifecycle"
PRODUCE_SHARE: Final = 0.2
LIST_SHARE: Final = 0.05
BESIDE: Final = READ_SHARE + PRODUCE_SHARE + LIST_SHARE
"""Of operations that go on beside those on brokers, whether one is due or not."""
SHARED: Final = "lifecycle-shared"
LAST: Final = "lifecycle-last"
"""Topics of which the first extra broker leads all partitions as they are made: the second is made
for a drain in the end, for after the first drain others lead."""
SHARED_PARTITIONS: Final = 2
SHARED_BY: Final = 2
"""Of the cluster's own brokers, each partition."""
LIMITS: Final = tuple(ListOffsets(at).to_json() for at in ("earliest", "latest"))
"""Asked once all was read: of a partition that nobody wrote to but then, no other answer says where
it begins or ends."""
LAST_VALUES: Final = 16
LAST_S: Final = 0.25
"""Between two of them: they go on for longer than a partition may refuse them."""
LOOKS: Final = 40
LOOK_S: Final = 0.25
"""So often, and so far apart, each broker of the plan is asked who is there, till it tells no more
of one that was unregistered."""
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
    requires: frozenset[str] = frozenset({"data-plane", "extra-brokers", "kafka-topics"})
    provides: frozenset[str] = frozenset(
        {"broker-life-cycles", "log-operations", "topic-operations"}
    )
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
            shared=shared_with(options.nodes),
        )

    def final_generator(self, options: WorkloadOptions) -> Generator:
        """Every broker is up, and the topic there, also where faults kept both from it until now;
        one is drained, for what was refused is granted now, looked for while it is gone, and is
        back; another one is killed and unregistered, looked for, and is back, so that all
        partitions can have leaders; then the reads, and where what was read begins and ends."""
        keys = list(map(broker_key, self._ids))
        others = list(map(BrokerProcess, self._ids[1:][-1:]))
        topic, shared = placed(self._ids, self._options.partitions), shared_with(options.nodes)
        read, drain = topic_read(options), op("drain", key=keys[0])
        written = [] if shared is None else [*keys_of(SHARED), *keys_of(LAST)]
        return phases(
            FinalReads(names=lambda: keys, f="start"),
            op("create", key=TOPIC, value=topic.to_json()),
            drain if shared is None else produced_beside(drain, shared, read),
            *(op(read, key=TOPIC) for _ in range(READS_WITHOUT)),
            FinalReads(names=lambda: keys[:1], f="start"),
            *(unregistered(each, brokers(options.nodes)) for each in others),
            any_of(
                FinalReads(names=lambda: [each.key for each in others], f="start"),
                final_fetches(written),
            ),
            *(FinalReads(names=lambda: written, f="list-offsets", value=at) for at in LIMITS),
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
    """Endless. At most one operation on a broker at a time; between them the topic is read, by
    operation `read`, and values are produced to one that is `shared` with others. `produced`: so
    many were."""

    brokers: tuple[BrokerProcess, ...]
    partitions: int
    read: str
    shared: CreateTopic | None = None
    created: frozenset[str] = frozenset()
    busy: Mapping[Process, str] = field(default_factory=dict)
    produced: int = 0
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
        if chosen.f == "produce":
            return Offer(signed(chosen), replace(after, produced=self.produced + 1))
        if chosen.f not in (self.read, "list-offsets"):
            after = replace(after, busy={**self.busy, chosen.process: str(chosen.key)})
        return Offer(chosen, after)

    def _next(self, rng: random.Random, now_ns: int) -> Invocation | Pending:
        draw = rng.random()
        if draw < BESIDE and (other := self._beside(draw)) is not None:
            return other
        all_up = all(broker.up for broker in self.brokers)
        missing = [name for name in self._topics if name not in self.created]
        missing = [name for name in missing if name not in self.busy.values()]
        if missing and all_up:
            return op("create", key=missing[0], value=self._topics[missing[0]].to_json())
        ready = [broker for broker in self.brokers if broker.key not in self.busy.values()]
        due = [broker for broker in ready if broker.quiet_until_ns <= now_ns]
        if due:
            return _process_operation(rng.choice(due), rng, kept=self._kept)
        other = self._beside(draw)
        if other is not None:
            return other
        return Pending(min((broker.quiet_until_ns for broker in ready), default=None))

    @property
    def _topics(self) -> Mapping[str, CreateTopic]:
        """To be made once every broker is up."""
        ids = [broker.broker_id for broker in self.brokers]
        own = {TOPIC: placed(ids, self.partitions)}
        return own if self.shared is None else {**own, SHARED: self.shared}

    @property
    def _kept(self) -> int | None:
        """The broker that is never replaced."""
        return None if self.shared is None else KEPT_ID

    def _beside(self, draw: float) -> Invocation | None:
        """What goes on beside the operations on brokers, by a number from 0 to 1."""
        share = draw % BESIDE
        if SHARED in self.created and share >= READ_SHARE:
            keys = keys_of(SHARED)
            key = keys[self.produced % len(keys)]
            if share >= READ_SHARE + PRODUCE_SHARE:
                return op("list-offsets", key=key, value=ListOffsets("latest").to_json())
            return produce(key, self.produced + 1)
        return op(self.read, key=TOPIC) if TOPIC in self.created else None

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.process not in self.busy:
            return self
        rest = {process: key for process, key in self.busy.items() if process != event.process}
        after = replace(self, busy=rest)
        if event.f == "create":
            exists = event.type == "ok" or event.asserts == PRESENT
            return replace(after, created=self.created | {str(event.key)}) if exists else after
        brokers = tuple(
            _after(broker, event, context.time) if broker.key == event.key else broker
            for broker in self.brokers
        )
        return replace(after, brokers=brokers)


def placed(ids: Sequence[int], partitions: int) -> CreateTopic:
    """Every broker leads some partitions, where there are so many, and follows the others'."""
    turns = [(*ids[turn:], *ids[:turn]) for turn in range(len(ids))]
    return CreateTopic(assignment=tuple(turns[number % len(turns)] for number in range(partitions)))


def shared_with(nodes: Sequence[NodeSpec]) -> CreateTopic | None:
    """The first extra broker leads, and brokers of the plan follow, in turns; None: it has none."""
    ids = sorted(spec.ids[BROKER] for spec in nodes if BROKER in spec.roles)
    if not ids:
        return None
    turns = [[*ids[turn:], *ids[:turn]][:SHARED_BY] for turn in range(len(ids))]
    return CreateTopic(
        assignment=tuple(
            (KEPT_ID, *turns[number % len(turns)]) for number in range(SHARED_PARTITIONS)
        )
    )


def keys_of(topic: str) -> Sequence[str]:
    """Of a shared topic's partitions."""
    return [partition_key(topic, number) for number in range(SHARED_PARTITIONS)]


def produce(key: str, value: int) -> Invocation:
    """By an idempotent producer, to all who are in sync."""
    return op("produce", key=key, value=Produce(value=value, acks="all", idempotent=True).to_json())


def signed(chosen: Invocation) -> Invocation:
    """A produce of which is known who makes it."""
    made = replace(Produce.from_json(chosen.value), producer=f"p{chosen.process}")
    return replace(chosen, value=made.to_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class Producing:
    """So many values, to these partitions in turn."""

    keys: Sequence[str]
    count: int
    taken: int = 0

    def offer(self, context: Context) -> Offer | None:
        if self.taken == self.count:
            return None
        key = self.keys[self.taken % len(self.keys)]
        chosen = assign(context.fork(self.taken), produce(key, self.taken + 1))
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        return Offer(signed(chosen), replace(self, taken=self.taken + 1))

    def update(self, context: Context, event: Event) -> Generator:
        return self


def produced_beside(drain: Invocation, shared: CreateTopic, read: str) -> Generator:
    """Both topics are there, the one that only the drained broker has led so far is read, and
    produced to while that one leaves."""
    return phases(
        op("create", key=SHARED, value=shared.to_json()),
        op("create", key=LAST, value=shared.to_json()),
        op(read, key=LAST),
        any_of(drain, stagger(LAST_S, Producing(keys=keys_of(LAST), count=LAST_VALUES))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """Asks these nodes, one after another, who is there, until it tells of the broker no more, some
    times at most. `looks`: those that are left for the first of them."""

    broker_id: int
    nodes: Sequence[str]
    looks: int = LOOKS
    at_ns: int = 0
    asking: bool = False

    def offer(self, context: Context) -> Offer | None:
        if not self.nodes:
            return None
        if self.asking or context.time < self.at_ns:
            return Offer(Pending(None if self.asking else self.at_ns), self)
        chosen = assign(context.fork(self.looks), op("list-brokers", node=self.nodes[0]))
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        return Offer(chosen, replace(self, looks=self.looks - 1, asking=True))

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.f != "list-brokers":
            return self
        if not self.looks or (event.type == "ok" and self.broker_id not in _ids(event)):
            return Forgetting(broker_id=self.broker_id, nodes=self.nodes[1:])
        return replace(self, asking=False, at_ns=context.time + round(LOOK_S * 1e9))


def _ids(listed: Event) -> Sequence[int]:
    return [each.id for each in ClusterView.from_json(listed.value).brokers]


def unregistered(broker: BrokerProcess, nodes: Sequence[str]) -> Generator:
    """One that was in service a moment ago, so that there is something to take away."""
    return phases(
        op("kill", key=broker.key),
        FinalReads(names=lambda: [broker.key], f="unregister"),
        Forgetting(broker_id=broker.broker_id, nodes=nodes),
    )


def _process_operation(broker: BrokerProcess, rng: random.Random, kept: int | None) -> Invocation:
    spared = broker.broker_id == kept
    if broker.up is None and not 0 < broker.in_vain <= PATIENCE:
        return op("restart", key=broker.key)
    if not broker.up:
        gone = broker.up is False and broker.drained and not spared
        asked = gone and rng.random() < UNREGISTER_SHARE
        return op("unregister" if asked else "start", key=broker.key)
    if not broker.drained:
        return op("drain", key=broker.key)  # also a short run is to see one
    chosen = rng.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0]
    if chosen in ("replace", "kill") and spared:
        chosen = "drain"
    return op(chosen, key=broker.key)


def _after(broker: BrokerProcess, event: Event, now_ns: int) -> BrokerProcess:
    up: bool | None = None
    if event.f == "unregister":
        up = broker.up
    elif event.type == "ok":
        up = event.f not in DOWN
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
