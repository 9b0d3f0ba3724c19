"""Transactions: records polled, and others sent to several partitions, all of them or none.

Each client thread has a transactional producer and a consumer of committed records, in a process of
their own: librdkafka's, or a producer of ours (`producer`). A transaction perhaps polls, sends one
record after the other, commits how far it read, and ends: committed, aborted, or left open by a
producer that goes. Now and then another producer comes under the transactional id of somebody, who
goes on until he finds out. At the end every id is taken over, which aborts what is open, and all is
read from the beginning.

Requests may be made to arrive late (`late`): their senders have given them up by then, and sent
them again.
"""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Final

from framework.generators import PENDING, Context, Generator, Offer, free_process, op, phases
from framework.history.event import Event, Invocation, Process
from framework.plugins.outcomes import PRESENT
from framework.plugins.system import Cluster
from framework.plugins.workload import Client, WorkloadOptions
from workloads.base import FinalReads, KafkaWorkload
from workloads.kafka.operations.partitions import partition_key
from workloads.kafka.operations.topics import CreateTopic
from workloads.kafka.operations.transactions import (
    ABANDON,
    ABORT,
    BEGINNING,
    COMMIT,
    END,
    brought_nothing,
    transaction,
)
from workloads.kafka.producing import ProducerKind
from workloads.kafka.txn_client import Late, TxnClient, transactional_id
from workloads.options import at_least

LIBRARY: Final = "confluent-kafka"
ISOLATE: Final = ("unshare", "--user", "--net", "true")
ENDS: Final = {COMMIT: 75, ABORT: 15, ABANDON: 10}
FENCE_SHARE, POLL_SHARE, ASSIGN_SHARE = 0.06, 0.14, 0.03
"""Of all operations; the rest are transactions."""
READ_SHARE: Final = 0.5
"""Of transactions that begin with a poll."""
AT_END: Final = 2
"""Polls in a row that bring nothing: then all was read."""
FINAL_ATTEMPTS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOptions:
    """`partitions`, `replicas`: of each topic. `sends`: of a transaction, at most. `late`: the
    share of requests of transactions that arrive `late_s` seconds late. `producer`: whose it is."""

    topics: int = 2
    partitions: int = 2
    replicas: int = 3
    sends: int = 4
    late: float = 0.0
    late_s: float = 2.0
    producer: ProducerKind = "librdkafka"

    def __post_init__(self) -> None:
        at_least(1, topics=self.topics, partitions=self.partitions, replicas=self.replicas)
        at_least(1, sends=self.sends)
        if not 0 <= self.late <= 1:
            raise ValueError(f"late={self.late:g}: it is a share, from 0 to 1")
        if self.late_s <= 0:
            raise ValueError(f"late_s={self.late_s:g}: it is above 0")

    @property
    def names(self) -> Sequence[str]:
        """Of the topics."""
        return [f"txn-{number}" for number in range(self.topics)]

    @property
    def keys(self) -> Sequence[str]:
        """Of all partitions."""
        numbers = range(self.partitions)
        return [partition_key(topic, number) for topic in self.names for number in numbers]


class Txn(KafkaWorkload):
    """The `txn` workload."""

    Options = TxnOptions
    name: str = "txn"
    requires: frozenset[str] = frozenset({"data-plane", "transactions", "kafka-topics"})
    provides: frozenset[str] = frozenset({"transaction-operations", "topic-operations"})
    min_threads: int = 2
    more: str = LIBRARY

    def __init__(self, options: TxnOptions | None = None) -> None:
        super().__init__()
        self._options = options or TxnOptions()

    def lacking(self) -> str | None:
        """Why this machine cannot have it; None: it can."""
        try:
            metadata.version(LIBRARY)
        except metadata.PackageNotFoundError:
            return (
                f"its producers are clients of {LIBRARY}, and none is installed: "
                f"pip install '{LIBRARY}>=2.16'"
            )
        if shutil.which(ISOLATE[0]) and not subprocess.run(ISOLATE, capture_output=True).returncode:
            return None
        return f"its producers need a network of their own, and `{' '.join(ISOLATE)}` fails here"

    def generator(self, options: WorkloadOptions) -> Generator:
        return TxnOperations(options=self._options, threads=options.threads)

    def final_generator(self, options: WorkloadOptions) -> Generator:
        """Nothing is left open; all of every partition; the topics."""
        ids = [transactional_id(thread) for thread in range(options.threads)]
        return phases(
            FinalReads(names=lambda: ids, f="fence"),
            FinalPolls(keys=tuple(self._options.keys)),
            super().final_generator(options),
        )

    def client(self, cluster: Cluster, thread: int) -> Client:
        late = Late(self._options.late, self._options.late_s)
        return TxnClient(cluster, thread, late, self._options.producer, self._started)


def assignment(keys: Sequence[str], *, beginning: bool) -> Invocation:
    """These partitions are read from now on."""
    return replace(op("assign", value=list(keys)), ext={BEGINNING: beginning})


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnOperations:
    """Endless. `assigned`: processes whose consumers know what to read."""

    options: TxnOptions
    threads: int
    created: frozenset[str] = frozenset()
    assigned: frozenset[Process] = frozenset()
    next_value: int = 1
    taken: int = 0

    def offer(self, context: Context) -> Offer:
        process = free_process(context.fork(self.taken))
        if process is None:
            return Offer(PENDING, self)
        template = self._next(context.rng(self.taken), process)
        chosen = replace(template, process=process, time=context.time)
        sent = len(chosen.value) if chosen.f == "txn" else 0
        after = replace(self, taken=self.taken + 1, next_value=self.next_value + sent)
        return Offer(chosen, after)

    def _next(self, rng: random.Random, process: Process) -> Invocation:
        missing = next((topic for topic in self.options.names if topic not in self.created), None)
        if missing is not None:
            topic = CreateTopic(
                partitions=self.options.partitions, replication=self.options.replicas
            )
            return op("create", key=missing, value=topic.to_json())
        draw = rng.random()
        if process not in self.assigned or draw < ASSIGN_SHARE:
            return self._assignment(rng)
        if draw < ASSIGN_SHARE + FENCE_SHARE:
            return op("fence", key=transactional_id(rng.randrange(self.threads)))
        if draw < ASSIGN_SHARE + FENCE_SHARE + POLL_SHARE:
            return op("poll", value=transaction(polls=True, sends=()))
        return self._transaction(rng)

    def _assignment(self, rng: random.Random) -> Invocation:
        keys = [key for key in self.options.keys if rng.random() < 0.7]
        return assignment(keys or self.options.keys, beginning=rng.random() < 0.2)

    def _transaction(self, rng: random.Random) -> Invocation:
        count = rng.randint(1, self.options.sends)
        sends = [(rng.choice(self.options.keys), self.next_value + each) for each in range(count)]
        value = transaction(polls=rng.random() < READ_SHARE, sends=sends)
        end = rng.choices(list(ENDS), weights=list(ENDS.values()))[0]
        return replace(op("txn", value=value), ext={END: end})

    def update(self, context: Context, event: Event) -> Generator:
        if event.f == "create" and (event.type == "ok" or event.asserts == PRESENT):
            return replace(self, created=self.created | {event.key})
        if event.f == "assign" and event.type == "ok":
            return replace(self, assigned=self.assigned | {event.process})
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalPolls:
    """One consumer reads all from the beginning to the end. `process`: who it is, once it is
    assigned its partitions; `ended`: its polls in a row that brought nothing."""

    keys: tuple[str, ...]
    attempts: int = FINAL_ATTEMPTS
    process: Process | None = None
    ended: int = 0
    busy: Process | None = None

    def offer(self, context: Context) -> Offer | None:
        if self.busy is not None:
            return Offer(PENDING, self)
        if self.ended >= AT_END or self.attempts <= 0:
            return None
        process = self.process
        template = op("poll", value=transaction(polls=True, sends=()))
        if process is None:
            process = free_process(context.fork(self.attempts))
            template = assignment(self.keys, beginning=True)
        if process is None or context.thread_of(process) not in context.free:
            return Offer(PENDING, self)
        chosen = replace(template, process=process, time=context.time)
        return Offer(chosen, replace(self, busy=process))

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.process != self.busy:
            return self
        after = replace(self, busy=None, attempts=self.attempts - 1)
        if event.type != "ok":
            return replace(after, process=None, ended=0)
        if event.f == "assign":
            return replace(after, process=event.process)
        return replace(after, ended=self.ended + 1 if brought_nothing(event.value) else 0)
