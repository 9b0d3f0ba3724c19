"""Partitions as each broker has them, leader or not: what stands below the high watermark that it
knows, from shortly before the end, or from where the partition begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kio.schema.errors import ErrorCode

from framework.generators import PENDING, Context, Generator, Offer, Pending, assign, op
from framework.history.event import Event, Invocation, Process
from workloads.base import ATTEMPTS
from workloads.kafka.operations.partitions import (
    ListOffsets,
    Offset,
    ReplicaFetch,
    ReplicaFetched,
)

PARTITIONS: Final = 8
"""So many of a run's at most: what is compared is theirs."""
LAST: Final = 2_000
"""Records of each: about half of what one answer holds."""
LOOKS: Final = 20
OUT_OF_RANGE: Final = ErrorCode.offset_out_of_range.name.upper()
"""Of an offset before the first one, or behind the last, that a replica has."""
PAUSE_NS: Final = 250_000_000
"""A replica hears with its next fetch how much is committed: so often it is asked again, after that
time each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question that is to be put: where the partition begins or ends (`at`), or what `node` has
    of it from `start` up to `end`, not before `due_ns`. `failures`, `looks`: so many answers may
    yet be none, or bring nothing."""

    key: str
    at: str = "earliest"
    node: str | None = None
    start: int = 0
    end: int = 0
    due_ns: int = 0
    failures: int = ATTEMPTS
    looks: int = LOOKS

    def next(self) -> Invocation:
        if self.node is None:
            return op("list-offsets", key=self.key, value=ListOffsets(self.at).to_json())
        value = ReplicaFetch(start=self.start).to_json()
        return op("replica-fetch", key=self.key, value=value, node=self.node)

    def after(self, event: Event, nodes: Sequence[str], now_ns: int) -> Iterator[Asked]:
        """What is left to ask once that was answered so."""
        if event.type != "ok":
            yield from self._refused(event, now_ns)
        elif self.node is not None:
            yield from self._on(ReplicaFetched.from_json(event.value).position, now_ns)
        elif self.at == "earliest":
            yield Asked(key=self.key, at="latest", start=Offset.from_json(event.value).offset)
        else:
            end = Offset.from_json(event.value).offset
            start = max(self.start, end - LAST)
            for node in nodes:
                yield Asked(key=self.key, node=node, start=start, end=end)

    def _refused(self, event: Event, now_ns: int) -> Iterator[Asked]:
        """A replica may have let go of more than its leader has: one that DeleteRecords reached,
        by a leader that was deposed before all had heard. It has what is later, from somewhere."""
        if self.failures > 1:
            due_ns = now_ns if self.node is None else now_ns + PAUSE_NS
            yield replace(self, failures=self.failures - 1, due_ns=due_ns)
        elif (event.error or ("",))[0] == OUT_OF_RANGE and self.end - self.start > 1:
            yield replace(self, start=(self.start + self.end) // 2)

    def _on(self, position: int, now_ns: int) -> Iterator[Asked]:
        if position >= self.end:
            return
        if position > self.start:
            yield replace(self, start=position)
        elif self.looks > 1:
            yield replace(self, looks=self.looks - 1, due_ns=now_ns + PAUSE_NS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaReads:
    """Asks each of `nodes` for each partition of `left`, until it has given all up to the end that
    its leader told, or patience is over."""

    nodes: Sequence[str]
    left: tuple[Asked, ...]
    open: Mapping[Process, Asked] = field(default_factory=dict)

    def offer(self, context: Context) -> Offer | None:
        if not self.left:
            return Offer(PENDING, self) if self.open else None
        first = min(self.left, key=lambda each: each.due_ns)
        if first.due_ns > context.time:
            return Offer(Pending(first.due_ns), self)
        chosen = assign(context.fork(len(self.left)), first.next())
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        left = tuple(each for each in self.left if each is not first)
        return Offer(chosen, replace(self, left=left, open={**self.open, chosen.process: first}))

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.process not in self.open:
            return self
        asked = self.open[event.process]
        rest = {process: each for process, each in self.open.items() if process != event.process}
        more = asked.after(event, self.nodes, context.time)
        return replace(self, left=(*self.left, *more), open=rest)


def replica_reads(keys: Sequence[str], nodes: Sequence[str]) -> ReplicaReads:
    """Of the first of these partitions."""
    return ReplicaReads(nodes=nodes, left=tuple(Asked(key=key) for key in keys[:PARTITIONS]))
