"""The one place where times of different machines are compared.

Nodes tell times by their own clocks. A run's plan says by how much each was off the harness's
(`clocks`, see `framework.run.clocks`: measured before, during and after the run); a plan without
it was made on one machine, whose clock all share, or the offsets are not known at all. Within the
uncertainty a comparison decides nothing: both `surely_before(a, b)` and `surely_before(b, a)` are
false.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from framework.evidence.kinds import Evidence
from framework.history.event import Recorded

T = TypeVar("T")

UNKNOWN_NS: Final = 1 << 62
"""How far off a clock may be of which nothing is known: no two times are ever so far apart."""
ON_ONE_MACHINE: Final = frozenset({"docker", "namespaces", "auto"})
"""Hosts of plans that say nothing of clocks, whose nodes and harness share the machine's."""


@dataclass(frozen=True, slots=True)
class Clock:
    """A node's clock: its time less the harness's, and by how much that may be wrong."""

    offset_ns: int = 0
    within_ns: int = 0

    @classmethod
    def of(cls, reported: Mapping[str, Recorded]) -> "Clock":
        """From all that was measured: no measurement says that the offset was outside of this, so
        a clock that runs faster than the other, or slower, only widens it."""
        if reported.get("shared"):
            return cls()
        samples = [(int(each["offset_ns"]), int(each["within_ns"])) for each in reported["samples"]]
        least = min(offset - within for offset, within in samples)
        most = max(offset + within for offset, within in samples)
        return cls((least + most) // 2, (most - least + 1) // 2)


@dataclass(frozen=True, slots=True)
class Clocks:
    """All clocks of a run. `zero_ns`: the harness's clock when the run began."""

    zero_ns: int
    nodes: Mapping[str, Clock] = field(default_factory=dict)
    others: Clock = Clock()

    @classmethod
    def of(cls, plan: Mapping[str, Recorded]) -> "Clocks":
        zero_ns = int(plan["time_zero_ns"])
        reported = plan.get("clocks")
        if isinstance(reported, Mapping):
            nodes = {node: Clock.of(each) for node, each in reported.items()}
            return cls(zero_ns, nodes, Clock(0, UNKNOWN_NS))
        shared = plan.get("hosts", "auto") in ON_ONE_MACHINE
        return cls(zero_ns, {}, Clock(0, 0 if shared else UNKNOWN_NS))

    def at_ns(self, node: str, time_ns: int) -> int:
        """A time of a node's clock on the harness's, since the run began."""
        return time_ns - self.nodes.get(node, self.others).offset_ns - self.zero_ns

    def within_ns(self, node: str) -> int:
        """By how much that may be off."""
        return self.nodes.get(node, self.others).within_ns


@dataclass(frozen=True, slots=True)
class Moment:
    """A time, and whose clock told it: a node's, or the harness's own ("")."""

    at_ns: int
    within_ns: int = 0
    clock: str = ""

    @property
    def earliest_ns(self) -> int:
        """The earliest time of the harness's clock that it can have been."""
        return self.at_ns - self.within_ns

    @property
    def latest_ns(self) -> int:
        """The latest such time."""
        return self.at_ns + self.within_ns

    @property
    def in_order(self) -> tuple[int, str]:
        """A key to sort by. Of two clocks that are not known well the order may be another one."""
        return self.at_ns, self.clock


def moment_of(evidence: Evidence, at_ns: int | None = None) -> Moment:
    """When it happened; or another time that the same clock told."""
    when = evidence.at_ns if at_ns is None else at_ns
    return Moment(when, evidence.within_ns, evidence.node)


def slack_ns(one: Moment, other: Moment) -> int:
    """How far apart two times may be told though they are one."""
    return 0 if one.clock == other.clock else one.within_ns + other.within_ns


def surely_before(one: Moment, other: Moment, by_ns: int = 0) -> bool:
    """Whether one time was before the other, by more than `by_ns`, whatever the clocks hide."""
    return one.at_ns + by_ns + slack_ns(one, other) < other.at_ns


def surely_not_after(one: Moment, other: Moment) -> bool:
    """Whether one time was before the other, or the same."""
    return one.at_ns + slack_ns(one, other) <= other.at_ns


def earliest_ns(evidence: Evidence) -> int:
    """The earliest time of the harness's clock at which it can have happened."""
    return moment_of(evidence).earliest_ns


def latest_ns(evidence: Evidence) -> int:
    """The latest such time."""
    return moment_of(evidence).latest_ns


class Latest(Generic[T]):
    """What was last, of all that is added. Of one clock that is known; which of two clocks told the
    last of all may not be, so that there is one for each."""

    def __init__(self) -> None:
        self._by_clock: dict[str, tuple[Moment, T]] = {}

    def add(self, when: Moment, what: T) -> None:
        known = self._by_clock.get(when.clock)
        if known is None or known[0].at_ns < when.at_ns:
            self._by_clock[when.clock] = when, what

    def __iter__(self) -> Iterator[T]:
        """From the last one, as far as that is known, to the first."""
        found = sorted(self._by_clock.values(), key=lambda each: each[0].in_order, reverse=True)
        return (what for _, what in found)
