"""Partitions: values produced to them and fetched from them, by everybody at once.

Each value is unique, so that the final reads say what became of every produce. Producers are
idempotent or not, and ask for all, one or no acknowledgements; consumers go on from where they
were, and now and then seek. At the end every partition is read from its beginning.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from framework.generators import PENDING, Context, Generator, Offer, Pending, assign, op, phases
from framework.history.event import Event, Process
from framework.plugins.system import Cluster
from framework.plugins.workload import Client, WorkloadOptions
from workloads.base import ATTEMPTS, KafkaWorkload
from workloads.kafka.log_client import LogClient

TOPICS: Final = ("log-0", "log-1")
PARTITIONS: Final = 2
REPLICAS: Final = 3
CONSUMERS: Final = ("a", "b", "c")
FINAL_CONSUMER: Final = "final"
KEYS: Final = tuple(f"{topic}/{number}" for topic in TOPICS for number in range(PARTITIONS))
ACKS: Final = {"all": 80, "1": 15, "0": 5}
IDEMPOTENT_SHARE: Final = 0.7
PRODUCE_SHARE, LIST_SHARE, SEEK_SHARE = 0.5, 0.06, 0.02
OUT_OF_RANGE: Final = "OFFSET_OUT_OF_RANGE"

Reader: TypeAlias = tuple[str, str]
"""(consumer, key)"""


class Log(KafkaWorkload):
    """The `log` workload."""

    name: str = "log"
    requires: frozenset[str] = frozenset({"data-plane", "kafka-topics"})
    provides: frozenset[str] = frozenset({"log-operations", "topic-operations"})
    min_roles: Mapping[str, int] = {"controller": 1, "broker": 1}
    min_threads: int = 2

    def generator(self, options: WorkloadOptions) -> Generator:
        return LogOperations()

    def final_generator(self, options: WorkloadOptions) -> Generator:
        """All of every partition, and the topics."""
        return phases(FinalFetches(), super().final_generator(options))

    def client(self, cluster: Cluster, thread: int) -> Client:
        return LogClient(cluster, thread, self._started)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOperations:
    """Endless. `positions`: how far each consumer is; `reading`: who has a fetch under way, for
    a consumer waits for one before it sends the next; `lost`: consumers whose position is no
    longer in the log."""

    created: frozenset[str] = frozenset()
    positions: Mapping[Reader, int] = field(default_factory=dict)
    reading: Mapping[Process, Reader] = field(default_factory=dict)
    lost: frozenset[Reader] = frozenset()
    next_value: int = 1
    taken: int = 0

    def offer(self, context: Context) -> Offer:
        rng = context.rng(self.taken)
        template = self._create() or self._data(rng)
        if template is None:
            return Offer(PENDING, self)
        chosen = assign(context.fork(self.taken), template)
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        return Offer(*self._taken(chosen))

    def _create(self) -> Event | None:
        """The topics come first; a create that failed is tried again."""
        missing = next((topic for topic in TOPICS if topic not in self.created), None)
        if missing is None:
            return None
        value = {"partitions": PARTITIONS, "replication": REPLICAS}
        return op("create", key=missing, value=value)

    def _data(self, rng: random.Random) -> Event | None:
        draw, key = rng.random(), rng.choice(KEYS)
        if draw < PRODUCE_SHARE:
            return op("produce", key=key, value=self._produced(rng))
        if draw < PRODUCE_SHARE + LIST_SHARE:
            return op("list-offsets", key=key, value={"at": rng.choice(("earliest", "latest"))})
        idle = [
            (consumer, each)
            for consumer in CONSUMERS
            for each in KEYS
            if (consumer, each) not in self.reading.values()
        ]
        if not idle:
            return None
        reader = next((each for each in idle if each in self.lost), rng.choice(idle))
        at = self.positions.get(reader, 0)
        if reader in self.lost or (draw < PRODUCE_SHARE + LIST_SHARE + SEEK_SHARE and at > 0):
            to = 0 if reader in self.lost else rng.randrange(at)
            return op("seek", key=reader[1], value={"consumer": reader[0], "to": to})
        return op("fetch", key=reader[1], value={"consumer": reader[0], "from": at})

    def _produced(self, rng: random.Random) -> dict[str, Any]:
        acks = rng.choices(list(ACKS), weights=list(ACKS.values()))[0]
        # An idempotent producer asks for all acknowledgements, as Kafka's does.
        idempotent = acks == "all" and rng.random() < IDEMPOTENT_SHARE
        return {"value": self.next_value, "acks": acks, "idempotent": idempotent}

    def _taken(self, chosen: Event) -> tuple[Event, Generator]:
        after = replace(self, taken=self.taken + 1)
        if chosen.f == "produce":
            value = {**chosen.value, "producer": f"p{chosen.process}"}
            return replace(chosen, value=value), replace(after, next_value=self.next_value + 1)
        if chosen.f in ("fetch", "seek"):
            reader = (chosen.value["consumer"], chosen.key)
            after = replace(after, reading={**self.reading, chosen.process: reader})
        return chosen, after

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke":
            return self
        if event.f == "create":
            exists = event.type == "ok" or (event.error or ("",))[0] == "TOPIC_ALREADY_EXISTS"
            return replace(self, created=self.created | {event.key}) if exists else self
        if event.process not in self.reading:
            return self
        reader = self.reading[event.process]
        rest = {process: each for process, each in self.reading.items() if process != event.process}
        after = replace(self, reading=rest)
        if event.type == "ok":
            at = event.value["position"] if event.f == "fetch" else event.value["to"]
            return replace(
                after, positions={**self.positions, reader: at}, lost=self.lost - {reader}
            )
        if event.error is not None and event.error[0] == OUT_OF_RANGE:
            return replace(after, lost=self.lost | {reader})
        return after


@dataclass(frozen=True, slots=True)
class Unread:
    """A partition that the final reads have not come to the end of."""

    key: str
    position: int = 0
    attempts: int = ATTEMPTS


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalFetches:
    """Reads each partition from 0 to its high watermark; gives one up, unread, after `ATTEMPTS`
    fetches in a row that failed."""

    left: tuple[Unread, ...] = tuple(Unread(key) for key in KEYS)
    open: Mapping[Process, Unread] = field(default_factory=dict)

    def offer(self, context: Context) -> Offer | None:
        if not self.left:
            return Offer(PENDING, self) if self.open else None
        first = self.left[0]
        value = {"consumer": FINAL_CONSUMER, "from": first.position}
        chosen = assign(context.fork(len(self.left)), op("fetch", key=first.key, value=value))
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        under_way = {**self.open, chosen.process: first}
        return Offer(chosen, replace(self, left=self.left[1:], open=under_way))

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.process not in self.open:
            return self
        unread = self.open[event.process]
        rest = {process: each for process, each in self.open.items() if process != event.process}
        left = self.left
        if event.type == "ok":
            position = int(event.value["position"])
            if position < event.value["high_watermark"]:
                left = (*left, Unread(unread.key, position))
        elif unread.attempts > 1:
            left = (*left, replace(unread, attempts=unread.attempts - 1))
        return replace(self, left=left, open=rest)
