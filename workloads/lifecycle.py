"""Brokers that come and go: drained, bounced twice in a row, replaced by another of the same id.

The brokers are extra ones, real processes beside the cluster's own, which lead
partitions of its topic. What they and the controllers do is judged from the nodes' events:
life-cycle conformance, lease exclusion, controlled shutdowns, identities, the replayed log.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from framework.generators import Context, Generator, Offer, Pending, assign, op, phases
from framework.history.event import Event, Process
from framework.plugins.system import Cluster
from framework.plugins.workload import Client, WorkloadOptions
from workloads.base import KafkaWorkload
from workloads.process_client import FIRST_ID, ProcessClient

GUESTS: Final = 2
PARTITIONS: Final = 4
SETTLE_NS: Final = 1_500_000_000
"""How long a guest is left in peace between two operations on it."""
DEEDS: Final = {"drain": 3, "bounce": 3, "replace": 3}
DESCRIBE_SHARE: Final = 0.3
TOPIC: Final = "lifecycle"


class Lifecycle(KafkaWorkload):
    """The `lifecycle` workload."""

    name: str = "lifecycle"
    requires: frozenset[str] = frozenset({"extra-brokers", "kafka-topics"})
    provides: frozenset[str] = frozenset({"broker-life-cycles", "topic-operations"})
    min_roles: Mapping[str, int] = {"controller": 1, "broker": 1}
    min_threads: int = 2

    def generator(self, options: WorkloadOptions) -> Generator:
        return ComingAndGoing(
            guests=tuple(Seat(FIRST_ID + number) for number in range(GUESTS)),
        )

    def final_generator(self, options: WorkloadOptions) -> Generator:
        """Every guest is up; one is drained, for what faults refused until now is granted now,
        and is back, so that all partitions can have leaders; then the reads."""
        keys = [f"broker-{FIRST_ID + number}" for number in range(GUESTS)]
        return phases(
            *(op("start", key=key) for key in keys),
            op("drain", key=keys[0]),
            op("start", key=keys[0]),
            super().final_generator(options),
        )

    def client(self, cluster: Cluster, thread: int) -> Client:
        return ProcessClient(cluster, thread, self._started)


@dataclass(frozen=True, slots=True)
class Seat:
    """What is known of a guest: whether it runs (None: not known), and when it may be disturbed
    again. `drained`: it has been, once."""

    broker_id: int
    up: bool | None = False
    drained: bool = False
    quiet_until_ns: int = 0

    @property
    def key(self) -> str:
        return f"broker-{self.broker_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComingAndGoing:
    """Endless. At most one operation on a guest at a time; between them, reads of the topic."""

    guests: tuple[Seat, ...]
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

    def _next(self, rng: random.Random, now_ns: int) -> Event | Pending:
        if self.created and rng.random() < DESCRIBE_SHARE:
            return op("describe", key=TOPIC)
        all_up = all(guest.up for guest in self.guests)
        if not self.created and all_up and TOPIC not in self.busy.values():
            return op("create", key=TOPIC, value={"assignment": _assignment(self.guests)})
        ready = [guest for guest in self.guests if guest.key not in self.busy.values()]
        due = [guest for guest in ready if guest.quiet_until_ns <= now_ns]
        if due:
            return _deed(rng.choice(due), rng)
        if self.created:
            return op("describe", key=TOPIC)
        return Pending(min((guest.quiet_until_ns for guest in ready), default=None))

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.process not in self.busy:
            return self
        rest = {process: key for process, key in self.busy.items() if process != event.process}
        after = replace(self, busy=rest)
        if event.key == TOPIC:
            exists = event.type == "ok" or (event.error or ("",))[0] == "TOPIC_ALREADY_EXISTS"
            return replace(after, created=self.created or exists)
        guests = tuple(
            _after(guest, event, context.time) if guest.key == event.key else guest
            for guest in self.guests
        )
        return replace(after, guests=guests)


def _assignment(guests: Sequence[Seat]) -> list[list[int]]:
    """Every guest leads some partitions, and follows the others'."""
    ids = [guest.broker_id for guest in guests]
    turns = [ids[turn:] + ids[:turn] for turn in range(len(ids))]
    return [turns[number % len(turns)] for number in range(PARTITIONS)]


def _deed(guest: Seat, rng: random.Random) -> Event:
    if guest.up is None:
        return op("restart", key=guest.key)
    if not guest.up:
        return op("start", key=guest.key)
    if not guest.drained:
        return op("drain", key=guest.key)  # also a short run is to see one
    return op(rng.choices(list(DEEDS), weights=list(DEEDS.values()))[0], key=guest.key)


def _after(guest: Seat, event: Event, now_ns: int) -> Seat:
    up: bool | None = None
    if event.type == "ok":
        up = event.f != "drain"
    drained = guest.drained or (event.f == "drain" and event.type == "ok")
    return replace(guest, up=up, drained=drained, quiet_until_ns=now_ns + SETTLE_NS)
