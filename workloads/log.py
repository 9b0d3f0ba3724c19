"""Partitions: values produced to them and fetched from them, by everybody at once.

Each value is unique, so that the final reads say what became of every produce. Producers are
idempotent or not, and ask for all, one or no acknowledgements; consumers go on from where they
were, and now and then seek. At the end every partition is read from its beginning.

Where the system can, partitions are given other replicas meanwhile, and those that have another
leader than the first one are given back to it.

Now and then some of a partition's oldest records are deleted: half of what is known to be
committed at most, so that enough is left to read.

Every other topic, the first among them, asks for two in-sync replicas where it has three: what all
have acknowledged there no single broker can lose. On the others the last replica goes on alone.

Every few seconds a broker is asked how large its logs are, or a leader who produces to its
partition, where the system tells such things; in the end each is. Then brokers are asked for what
they have of partitions, too, whether they lead them or not, where the system's replicas tell that.

Where a flood is asked for, brokers are sent produces without pause beside that, to a topic of its
own: for some seconds, then for as long not, in turns, so that both stand side by side in a run.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from framework.generators import (
    PENDING,
    Context,
    Generator,
    Offer,
    Pending,
    assign,
    cycle,
    op,
    phases,
    reserve,
    sleep,
)
from framework.history.event import Event, Invocation, Process
from framework.plugins.capabilities import (
    DATA_FLOODS,
    ELECTIONS,
    REASSIGNMENTS,
    REPLICA_READS,
    REPLICA_REPORTS,
)
from framework.plugins.outcomes import NEEDLESS, OUT_OF_RANGE, PRESENT
from framework.plugins.system import Cluster
from framework.plugins.workload import Client, WorkloadOptions
from workloads.base import (
    ATTEMPTS,
    COMMITTED_READ,
    LEAST_IN_SYNC,
    FinalReads,
    KafkaWorkload,
    topic_read,
)
from workloads.kafka.flood_client import FloodClient
from workloads.kafka.log_client import LogClient
from workloads.kafka.operations.floods import Flood
from workloads.kafka.operations.partitions import (
    DeleteRecords,
    Fetch,
    Fetched,
    ListOffsets,
    Offset,
    Produce,
    Seek,
    partition_key,
)
from workloads.kafka.operations.reassignments import Reassign
from workloads.kafka.operations.reports import LogDirs
from workloads.kafka.operations.topics import CreateTopic
from workloads.kafka.roles import BROKER, brokers
from workloads.options import at_least
from workloads.replica_reads import replica_reads

CONSUMERS: Final = ("a", "b", "c")
FINAL_CONSUMER: Final = "final"
ACKS: Final = {"all": 80, "1": 15, "0": 5}
IDEMPOTENT_SHARE: Final = 0.7
PRODUCE_SHARE, LIST_SHARE, SEEK_SHARE = 0.5, 0.06, 0.02
FLOODED: Final = "flood"
"""The topic of floods; who leads its partitions is the only replica, and never another."""
QUIET: Final = 1.5
"""What a flood did may show for a while; the time after that is to be as long as the flood's."""
MOST_FLOOD_S: Final = 4.0
"""An operation ends within 10 s, and connections have to be made first."""

MOVE_EVERY_NS: Final = 1_500_000_000
"""Between two wishes for other replicas of a partition."""
REPORT_EVERY_NS: Final = 2_500_000_000
"""Between two questions of what brokers tell of their replicas."""
CANCEL_SHARE: Final = 0.8
"""Of the wishes for the first partition that were granted: they are cancelled at once, while what
they began is under way still."""
FEWEST: Final = 2
"""Replicas to which a partition is moved that has more: an ISR of two stays possible."""
ELECT_EVERY_NS: Final = 2_000_000_000
"""Between two elections of a preferred leader, as long as there may be another one somewhere."""
DISPLACED_SHARE: Final = 0.5
"""Of the elections, of those partitions alone."""
PEACE_S: Final = 0.25
LOOKS: Final = 40
"""In the end, how often it is asked whether all moves are through, and after how long."""

Reader: TypeAlias = tuple[str, str]
"""(consumer, key)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """`partitions`, `replicas`: of each topic. `flood`: connections to each broker with a produce
    under way on each; 0: no floods. `flood_s`: how long a flood lasts; before each there is none
    for `QUIET` times as long. `flood_anew`: each flood has a topic of its own, which is deleted
    right behind it. `moves`: replicas are changed meanwhile, where the system can; `elections`:
    preferred leaders are elected. `delete_every_s`: between two deletes of some partition's oldest
    records; 0: none."""

    topics: int = 2
    partitions: int = 2
    replicas: int = 3
    flood: int = 0
    flood_s: float = 4.0
    flood_anew: bool = False
    moves: bool = True
    elections: bool = True
    delete_every_s: float = 3.0

    def __post_init__(self) -> None:
        at_least(1, topics=self.topics, partitions=self.partitions, replicas=self.replicas)
        at_least(0, flood=self.flood)
        if not 0 < self.flood_s <= MOST_FLOOD_S:
            raise ValueError(
                f"flood_s={self.flood_s:g}: it is above 0, and {MOST_FLOOD_S:g} at most"
            )
        if not 0 <= self.delete_every_s < float("inf"):
            raise ValueError(
                f"delete_every_s={self.delete_every_s:g}: it is a number of seconds, or 0 for never"
            )

    @property
    def names(self) -> Sequence[str]:
        """Of the topics."""
        return [f"log-{number}" for number in range(self.topics)]

    @property
    def keys(self) -> Sequence[str]:
        """Of all partitions."""
        numbers = range(self.partitions)
        return [partition_key(topic, number) for topic in self.names for number in numbers]

    def created(self, brokers: int) -> Mapping[str, CreateTopic]:
        """Names to what is asked for, where so many brokers can hold it."""
        topic = CreateTopic(partitions=self.partitions, replication=self.replicas)
        enough = min(self.replicas, brokers) > 2
        safe = replace(topic, configs=LEAST_IN_SYNC if enough else None)
        return {name: topic if number % 2 else safe for number, name in enumerate(self.names)}


class Log(KafkaWorkload):
    """The `log` workload."""

    Options = LogOptions
    name: str = "log"
    requires: frozenset[str] = frozenset({"data-plane", "kafka-topics"})
    provides: frozenset[str] = frozenset({"log-operations", "topic-operations"})
    min_threads: int = 2

    def __init__(self, options: LogOptions | None = None) -> None:
        super().__init__()
        self._options = options or LogOptions()
        if self._options.flood:
            self.provides |= {DATA_FLOODS}
            self.min_threads += 1

    def generator(self, options: WorkloadOptions) -> Generator:
        count = len(brokers(options.nodes))
        topics = self._options.created(count)
        operations = LogOperations(
            options=self._options,
            topics=topics,
            brokers=self._movable(options),
            elects=self._elects(options),
            reporters=_reporters(options),
        )
        if not self._options.flood:
            return operations
        flooded = CreateTopic(partitions=count, replication=1)
        if self._options.flood_anew:
            return reserve((1, floods_anew(self._options, flooded)), default=operations)
        return reserve(
            (1, floods(self._options)),
            default=replace(operations, topics={**topics, FLOODED: flooded}),
        )

    def _movable(self, options: WorkloadOptions) -> Sequence[int]:
        """The brokers between which partitions are moved; none, if they are not."""
        able = REASSIGNMENTS in options.capabilities and self._options.replicas >= FEWEST
        if not (able and self._options.moves):
            return ()
        ids = sorted(spec.ids[BROKER] for spec in options.nodes if BROKER in spec.roles)
        return ids if len(ids) > FEWEST else ()

    def _elects(self, options: WorkloadOptions) -> bool:
        """Whether preferred leaders are elected: of one replica there is no other one."""
        able = ELECTIONS in options.capabilities and self._options.replicas > 1
        return able and self._options.elections

    def final_generator(self, options: WorkloadOptions) -> Generator:
        """All of every partition, and the topics, once no replicas are being changed, and leaders
        that were just elected know what is committed: until then they tell no latest offset
        (KIP-207), and give too little to who fetches. Then what each broker has of them, and what
        brokers tell of their replicas, the sizes of logs twice: one answer may be lost."""
        peace: list[Generator] = [AtRest()] if self._movable(options) else []
        if self._elects(options):
            latest = ListOffsets("latest").to_json()
            peace.append(FinalReads(names=self._keys, f="list-offsets", value=latest))
        keys, reporters = self._options.keys, _reporters(options)
        compared = keys if REPLICA_READS in options.capabilities else ()
        return phases(
            *peace,
            final_fetches(keys),
            super().final_generator(options),
            self._followed(options),
            replica_reads(compared, brokers(options.nodes)),
            *(_log_dirs(keys, node) for node in reporters * 2),
            FinalReads(names=lambda: keys if reporters else (), f="producers"),
        )

    def _followed(self, options: WorkloadOptions) -> Generator:
        """Where what was moved is, by the committed log, where the final reads of topics are of a
        cache. Twice, so that no read is the only one of a partition."""
        cached = topic_read(options) == "metadata" and COMMITTED_READ in options.capabilities
        names = self._options.names if cached and self._movable(options) else ()
        reads = FinalReads(names=lambda: names, f="follow")
        return phases(reads, reads)

    def _keys(self) -> Sequence[str]:
        return self._options.keys

    def client(self, cluster: Cluster, thread: int) -> Client:
        client = LogClient(cluster, thread, self._started)
        return FloodClient(cluster, thread, FLOODED, client) if self._options.flood else client


def _reporters(options: WorkloadOptions) -> list[str]:
    """The brokers that tell of their replicas."""
    return brokers(options.nodes) if REPLICA_REPORTS in options.capabilities else []


def _log_dirs(keys: Sequence[str], node: str) -> Invocation:
    return op("log-dirs", value=LogDirs(tuple(keys)).to_json(), node=node)


def floods(options: LogOptions) -> Generator:
    """Quiet and flood in turns, on one thread, endless."""
    return cycle(phases(sleep(QUIET * options.flood_s), _flood(options)))


def floods_anew(options: LogOptions, topic: CreateTopic) -> Generator:
    """So are these, and their topic is there for as long as each of them. It is deleted while
    brokers may still be writing to the disk what the flood brought."""
    made, deleted = op("create", key=FLOODED, value=topic.to_json()), op("delete", key=FLOODED)
    return cycle(phases(sleep(QUIET * options.flood_s), made, _flood(options), deleted))


def _flood(options: LogOptions) -> Invocation:
    flood = Flood(connections=options.flood, seconds=options.flood_s)
    return op("flood", value=flood.to_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOperations:
    """Endless. `positions`: how far each consumer is; `reading`: who has a fetch under way, for
    a consumer waits for one before it sends the next; `lost`: consumers whose position is no
    longer in the log; `topics`: those to create first. `brokers`: between which partitions are
    moved, the next time at `move_at_ns`; `wished`: who has a wish for the first one under way;
    `cancels`: it was just granted, and is cancelled. `elects`: preferred leaders are elected, the
    next time at `elect_at_ns`; `displaced`: partitions that may have another leader. `reporters`:
    those that are asked of their replicas, the next time at `report_at_ns`, `reports` times so far.
    `begins`: up to where each partition's records were to be deleted; `committed`: what of it was
    shown to be; the next delete is at `delete_at_ns`."""

    options: LogOptions
    topics: Mapping[str, CreateTopic] = field(default_factory=dict)
    created: frozenset[str] = frozenset()
    positions: Mapping[Reader, int] = field(default_factory=dict)
    reading: Mapping[Process, Reader] = field(default_factory=dict)
    lost: frozenset[Reader] = frozenset()
    brokers: Sequence[int] = ()
    move_at_ns: int = 0
    wished: Process | None = None
    cancels: bool = False
    elects: bool = False
    elect_at_ns: int = 0
    displaced: frozenset[str] = frozenset()
    reporters: Sequence[str] = ()
    report_at_ns: int = 0
    reports: int = 0
    begins: Mapping[str, int] = field(default_factory=dict)
    committed: Mapping[str, int] = field(default_factory=dict)
    delete_at_ns: int = 0
    next_value: int = 1
    taken: int = 0

    def offer(self, context: Context) -> Offer:
        rng = context.rng(self.taken)
        template = (
            self._create()
            or self._move(rng, context.time)
            or self._elect(rng, context.time)
            or self._delete(rng, context.time)
            or self._report(rng, context.time)
            or self._data(rng)
        )
        if template is None:
            return Offer(PENDING, self)
        chosen = assign(context.fork(self.taken), template)
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        return Offer(*self._taken(chosen, context.time))

    def _create(self) -> Invocation | None:
        """The topics come first; a create that failed is tried again."""
        missing = next((name for name in self.topics if name not in self.created), None)
        if missing is None:
            return None
        return op("create", key=missing, value=self.topics[missing].to_json())

    def _move(self, rng: random.Random, now_ns: int) -> Invocation | None:
        """To as many replicas as the partition was made with, or one less, anywhere. Only of the
        first one moves are cancelled, which has more of them: where a cancel may have been done by
        an attempt that nobody knows of, nobody knows either where the partition is to be in the
        end."""
        if self.cancels:
            return op("reassign", key=self.options.keys[0], value=Reassign(None).to_json())
        if not self.brokers or now_ns < self.move_at_ns:
            return None
        most = min(self.options.replicas, len(self.brokers))
        replicas = rng.sample(self.brokers, rng.randint(min(FEWEST, most), most))
        first, *others = self.options.keys
        key = rng.choice((first, first, *others))
        return op("reassign", key=key, value=Reassign(tuple(replicas)).to_json())

    def _elect(self, rng: random.Random, now_ns: int) -> Invocation | None:
        """Of a partition that may need it, or of any."""
        if not self.displaced or now_ns < self.elect_at_ns:
            return None
        needed = rng.random() < DISPLACED_SHARE
        return op("elect", key=rng.choice(sorted(self.displaced) if needed else self.options.keys))

    def _delete(self, rng: random.Random, now_ns: int) -> Invocation | None:
        """Of a partition of which enough was shown to be committed."""
        if not self.options.delete_every_s or now_ns < self.delete_at_ns:
            return None
        most = {
            key: (self.begins.get(key, 0) + self.committed.get(key, 0)) // 2
            for key in self.options.keys
        }
        able = [key for key in self.options.keys if most[key] > self.begins.get(key, 0)]
        if not able:
            return None
        key = rng.choice(able)
        before = rng.randint(self.begins.get(key, 0) + 1, most[key])
        return op("delete-records", key=key, value=DeleteRecords(before=before).to_json())

    def _report(self, rng: random.Random, now_ns: int) -> Invocation | None:
        """What a broker tells of all logs, or a leader of those who produce to its partition."""
        if not self.reporters or now_ns < self.report_at_ns:
            return None
        turn, of_leader = divmod(self.reports, 2)
        if of_leader:
            return op("producers", key=rng.choice(self.options.keys))
        # By turns: one broker that is down is no reason why nobody tells anything for long.
        return _log_dirs(self.options.keys, self.reporters[turn % len(self.reporters)])

    def _data(self, rng: random.Random) -> Invocation | None:
        keys = self.options.keys
        draw, key = rng.random(), rng.choice(keys)
        if draw < PRODUCE_SHARE:
            return op("produce", key=key, value=self._produced(rng).to_json())
        if draw < PRODUCE_SHARE + LIST_SHARE:
            at = ListOffsets(rng.choice(("earliest", "latest")))
            return op("list-offsets", key=key, value=at.to_json())
        idle = [
            (consumer, each)
            for consumer in CONSUMERS
            for each in keys
            if (consumer, each) not in self.reading.values()
        ]
        if not idle:
            return None
        reader = next((each for each in idle if each in self.lost), rng.choice(idle))
        consumer, key = reader
        position, begin = self.positions.get(reader, 0), self.begins.get(key, 0)
        if reader in self.lost:
            # What was to be deleted may be there all the same, and what is behind it not.
            to = 0 if position == begin else begin
            return op("seek", key=key, value=Seek(consumer=consumer, to=to).to_json())
        if draw < PRODUCE_SHARE + LIST_SHARE + SEEK_SHARE and position > begin:
            to = rng.randrange(begin, position)
            return op("seek", key=key, value=Seek(consumer=consumer, to=to).to_json())
        return op("fetch", key=key, value=Fetch(consumer=consumer, start=position).to_json())

    def _produced(self, rng: random.Random) -> Produce:
        acks = rng.choices(list(ACKS), weights=list(ACKS.values()))[0]
        # An idempotent producer asks for all acknowledgements, as Kafka's does.
        idempotent = acks == "all" and rng.random() < IDEMPOTENT_SHARE
        return Produce(value=self.next_value, acks=acks, idempotent=idempotent)

    def _taken(self, chosen: Invocation, now_ns: int) -> tuple[Invocation, Generator]:
        after = replace(self, taken=self.taken + 1)
        match chosen.f:
            case "produce":
                produce = replace(Produce.from_json(chosen.value), producer=f"p{chosen.process}")
                chosen = replace(chosen, value=produce.to_json())
                after = replace(after, next_value=self.next_value + 1)
            case "fetch" | "seek":
                reader = (chosen.value["consumer"], chosen.key)
                after = replace(after, reading={**self.reading, chosen.process: reader})
            case "reassign":
                wish = chosen.key == self.options.keys[0] and not self.cancels
                wished = chosen.process if wish else self.wished
                at_ns = now_ns + MOVE_EVERY_NS
                after = replace(after, move_at_ns=at_ns, wished=wished, cancels=False)
            case "elect":
                after = replace(after, elect_at_ns=now_ns + ELECT_EVERY_NS)
            case "log-dirs" | "producers":
                at_ns = now_ns + REPORT_EVERY_NS
                after = replace(after, report_at_ns=at_ns, reports=self.reports + 1)
            case "delete-records":
                at_ns = now_ns + round(self.options.delete_every_s * 1e9)
                before = DeleteRecords.from_json(chosen.value).before
                begins = {**self.begins, str(chosen.key): before}
                after = replace(after, delete_at_ns=at_ns, begins=begins)
        return chosen, after

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke":
            return self
        if event.f == "create":
            exists = event.type == "ok" or event.asserts == PRESENT
            return replace(self, created=self.created | {event.key}) if exists else self
        if event.f in ("reassign", "elect"):
            after = replace(self, displaced=self._displaced(event))
            return after._granted(context, event) if event.process == self.wished else after
        if event.process not in self.reading:
            return self
        reader = self.reading[event.process]
        rest = {process: each for process, each in self.reading.items() if process != event.process}
        after = replace(self, reading=rest)
        if event.type == "ok":
            positions = {**self.positions, reader: _position(event)}
            return replace(
                after,
                positions=positions,
                lost=self.lost - {reader},
                committed=self._committed(event),
            )
        if event.asserts == OUT_OF_RANGE:
            return replace(after, lost=self.lost | {reader})
        return replace(after, displaced=self._displaced(event))

    def _granted(self, context: Context, event: Event) -> LogOperations:
        """Or not: a wish for the first partition has ended."""
        drawn = context.rng(self.taken).random() < CANCEL_SHARE
        return replace(self, wished=None, cancels=event.type == "ok" and drawn)

    def _displaced(self, event: Event) -> frozenset[str]:
        """Where replicas were changed or a read failed another one than the first may lead, until
        an election gives the partition back to it, or has no need to."""
        own = frozenset({str(event.key)})
        if event.f == "elect":
            first_leads = event.type == "ok" or event.asserts == NEEDLESS
            return self.displaced - own if first_leads else self.displaced
        touched = event.type != "fail" if event.f == "reassign" else event.type != "ok"
        return self.displaced | own if touched and self.elects else self.displaced

    def _committed(self, event: Event) -> Mapping[str, int]:
        """As a fetch shows it."""
        if event.f != "fetch":
            return self.committed
        known, key = Fetched.from_json(event.value).high_watermark, str(event.key)
        return {**self.committed, key: max(known, self.committed.get(key, 0))}


def _position(event: Event) -> int:
    """Where a consumer is after its fetch or seek."""
    if event.f == "fetch":
        return Fetched.from_json(event.value).position
    return Seek.from_json(event.value).to


@dataclass(frozen=True, slots=True)
class Unread:
    """A partition that the final reads have not come to the end of. `lost`: nothing is at the
    position any more; `found`: it is where the partition begins, and is to be sought first."""

    key: str
    position: int = 0
    attempts: int = ATTEMPTS
    lost: bool = False
    found: bool = False

    def next(self) -> Invocation:
        """What is to be done about it."""
        if self.lost:
            return op("list-offsets", key=self.key, value=ListOffsets("earliest").to_json())
        if self.found:
            to = Seek(consumer=FINAL_CONSUMER, to=self.position)
            return op("seek", key=self.key, value=to.to_json())
        fetch = Fetch(consumer=FINAL_CONSUMER, start=self.position)
        return op("fetch", key=self.key, value=fetch.to_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalFetches:
    """Reads each partition from 0 to its high watermark, or, where nothing is at 0 any more, from
    where it begins; gives one up, unread, after `ATTEMPTS` operations in a row that failed or
    brought nothing."""

    left: tuple[Unread, ...]
    open: Mapping[Process, Unread] = field(default_factory=dict)

    def offer(self, context: Context) -> Offer | None:
        if not self.left:
            return Offer(PENDING, self) if self.open else None
        first = self.left[0]
        chosen = assign(context.fork(len(self.left)), first.next())
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        under_way = {**self.open, chosen.process: first}
        return Offer(chosen, replace(self, left=self.left[1:], open=under_way))

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.process not in self.open:
            return self
        unread = self.open[event.process]
        rest = {process: each for process, each in self.open.items() if process != event.process}
        again = _still_unread(unread, event)
        return replace(self, left=self.left if again is None else (*self.left, again), open=rest)


def _still_unread(before: Unread, event: Event) -> Unread | None:
    """What is left to read after an operation."""
    if event.type == "ok" and event.f == "list-offsets":
        begin = Offset.from_json(event.value).offset
        attempts = ATTEMPTS if begin > before.position else before.attempts
        return Unread(before.key, begin, attempts, found=True)
    if event.type == "ok" and event.f == "seek":
        return replace(before, found=False)
    if event.type == "ok":
        fetched = Fetched.from_json(event.value)
        if fetched.position >= fetched.high_watermark:
            return None
        if fetched.position > before.position:
            return Unread(before.key, fetched.position)
    if before.attempts <= 1:
        return None
    lost = before.lost or event.asserts == OUT_OF_RANGE
    return replace(before, attempts=before.attempts - 1, lost=lost)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtRest:
    """Asks what is under way until nothing is, some times at most."""

    looks: int = LOOKS
    at_ns: int = 0
    asking: bool = False

    def offer(self, context: Context) -> Offer | None:
        if self.asking or context.time < self.at_ns:
            return Offer(Pending(None if self.asking else self.at_ns), self)
        if not self.looks:
            return None
        chosen = assign(context.fork(self.looks), op("reassignments"))
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        return Offer(chosen, replace(self, looks=self.looks - 1, asking=True))

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.f != "reassignments":
            return self
        if event.type == "ok" and not event.value:
            return AtRest(looks=0)
        return replace(self, asking=False, at_ns=context.time + round(PEACE_S * 1e9))


def final_fetches(keys: Sequence[str]) -> FinalFetches:
    """Of all these partitions."""
    return FinalFetches(left=tuple(map(Unread, keys)))
