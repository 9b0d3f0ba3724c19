"""Floods of the data plane: `flood`. It has no key. The operation is the flood: its end is that of
the last request."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.kafka.operations.value import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood(Value):
    """`connections`: to each broker, each with a produce under way, for `seconds`."""

    connections: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFlooded(Value):
    """What one broker was sent. `connections`: those that held to the end. `answered`: produces;
    `refused`: how many of the connections had an error as their last answer. Times, from a produce
    to its answer, in ms; None where nothing was answered."""

    node: str
    connections: int
    answered: int
    refused: int
    p50_ms: float | None
    p99_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flooded(Value):
    """What came of a flood. All requests were under way `after_ms` after it was asked for, and no
    more were sent `lasted_ms` later. `late_p99_ms`, `late_max_ms`: how late the harness itself was
    meanwhile, when it wanted to wake up."""

    connections: int
    seconds: float
    after_ms: float
    lasted_ms: float
    late_p99_ms: float
    late_max_ms: float
    nodes: tuple[NodeFlooded, ...]
