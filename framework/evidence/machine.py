"""What the machine took of a run's time: the one place in which time limits allow for it.

A process that waits for a core does nothing, and is not to blame. While a run goes on the harness
measures, from outside of every node, how much of the time a process could not have had a core
(`took` in the plan's `machine`, see `framework.run.machine`), and how much each node's processes
waited for one (`nodes`, see `framework.run.waiting`). The larger one counts; for what nodes do
among themselves (`among`) it is what they waited, or what none had (`lost`); for what waits for
files (`of_files`), when anybody waited for a disk (`disk`) or memory (`memory`) counts, too. Rules
with a limit count the time that was given: `gave_ns` of what lies between two moments, `until_ns`
and `since_ns` for the moment at which a limit ends or begins. Where the machine took all of it no
limit passes.

Of a run without such figures, and of nodes on other machines than the harness's, nothing is known
to have been taken.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from framework.evidence.clocks import ON_ONE_MACHINE
from framework.history.event import Recorded

NS_PER_MS: Final = 1_000_000
_EXACT_NS: Final = 3_000_000_000
"""The product of two times below this is below 2 ** 63."""
Times: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Machine:
    """Moments in ascending order, in ns since the run began, by the harness's clock, and how much
    had been given by each. In between it was given evenly."""

    at_ns: Sequence[int] = ()
    given_ns: Sequence[int] = ()

    @classmethod
    def of(cls, spans: Sequence[Sequence[int]]) -> "Machine":
        """From `[from_ms, to_ms, took_ms]`, in order, none beside another."""
        at_ms = [each for begin, end, _ in spans for each in (begin, end)]
        taken_ms = accumulate(each for _, _, took in spans for each in (0, took))
        given_ms = [at - taken for at, taken in zip(at_ms, taken_ms, strict=True)]
        return cls([at * NS_PER_MS for at in at_ms], [given * NS_PER_MS for given in given_ms])

    def gave_ns(self, begin_ns: int, end_ns: int) -> int:
        """How much of the time from begin to end a process could have had a core."""
        return max(0, self.given_by(end_ns) - self.given_by(begin_ns))

    def gave_each_ns(self, begin_ns: Times, end_ns: Times) -> Times:
        """The same of many times, each from its begin to its end."""
        gave: Times = self._given_by_each(end_ns) - self._given_by_each(begin_ns)
        return gave.clip(min=0)

    def took_ns(self, begin_ns: int, end_ns: int) -> int:
        """The rest of it."""
        return max(0, end_ns - begin_ns) - self.gave_ns(begin_ns, end_ns)

    def least_ns(self, begin_ns: int, end_ns: int, length_ns: int) -> int:
        """The least that was given in any time of that length that ends between begin and end."""
        first = bisect_left(self.at_ns, begin_ns - length_ns)
        ends = {end_ns, begin_ns}
        for at_ns in self.at_ns[first : bisect_right(self.at_ns, end_ns)]:
            ends |= {at_ns, at_ns + length_ns}
        return min(
            self.gave_ns(each - length_ns, each) for each in ends if begin_ns <= each <= end_ns
        )

    def until_ns(self, begin_ns: int, given_ns: int) -> int:
        """The first moment by which so much was given since `begin_ns`."""
        given = self.given_by(begin_ns) + given_ns
        at_ns = _on_line(self.given_ns, self.at_ns, given, bisect_left(self.given_ns, given))
        return max(begin_ns, at_ns)

    def since_ns(self, end_ns: int, given_ns: int) -> int:
        """The last moment from which on so much was given till `end_ns`."""
        given = self.given_by(end_ns) - given_ns
        at_ns = _on_line(self.given_ns, self.at_ns, given, bisect_right(self.given_ns, given))
        return min(end_ns, at_ns)

    def given_by(self, at_ns: int) -> int:
        """How much had been given by a moment."""
        return _on_line(self.at_ns, self.given_ns, at_ns, bisect_right(self.at_ns, at_ns))

    def _given_by_each(self, at_ns: Times) -> Times:
        """As `given_by`. Most lie where all was given, or in spans that are short enough for the
        products to be exact; of longer ones Python's integers have no end."""
        if not self.at_ns:
            return at_ns
        known_ns, given_ns = np.array(self.at_ns, np.int64), np.array(self.given_ns, np.int64)
        begin = np.maximum(np.searchsorted(known_ns, at_ns, side="right") - 1, 0)
        end = np.minimum(begin + 1, len(known_ns) - 1)
        since_ns = at_ns - known_ns[begin]
        lasted_ns, gave_ns = known_ns[end] - known_ns[begin], given_ns[end] - given_ns[begin]
        less = np.flatnonzero((since_ns > 0) & (gave_ns != lasted_ns))
        short = lasted_ns[less].max(initial=0) < _EXACT_NS
        gave, since, lasted = (
            each[less].astype(np.int64 if short else object)
            for each in (gave_ns, since_ns, lasted_ns)
        )
        since_ns[less] = gave * since // lasted
        given: Times = given_ns[begin] + since_ns
        return given


def _on_line(xs: Sequence[int], ys: Sequence[int], x: int, after: int) -> int:
    """The y of an x that `xs[after]` follows, on the lines between known points; outside of them
    both grow alike."""
    if not xs:
        return x
    if after in (0, len(xs)):
        end = after - 1 if after else 0
        return x + ys[end] - xs[end]
    begin, end = after - 1, after
    return ys[begin] + (ys[end] - ys[begin]) * (x - xs[begin]) // (xs[end] - xs[begin])


UNMEASURED: Final = Machine()


def busiest(machines: Iterable[Machine]) -> Machine:
    """One that gave at each moment as little as the one of these that gave least then."""
    known = [each for each in machines if each.at_ns]
    if len(known) <= 1:
        return known[0] if known else UNMEASURED
    at_ns = sorted({at for each in known for at in each.at_ns})
    given = [[each.given_by(at) for at in at_ns] for each in known]
    pieces = zip(*map(pairwise, given), strict=True)
    least = (min(end - begin for begin, end in piece) for piece in pieces)
    return Machine(at_ns, list(accumulate(least, initial=at_ns[0])))


@dataclass(frozen=True, slots=True)
class Machines:
    """`harness`: the machine on which clients run, and the nodes that are on it. `here`: which
    those are; None: all. `nodes`: what each of them was given, of which that is known."""

    harness: Machine = UNMEASURED
    here: Collection[str] | None = None
    nodes: Mapping[str, Machine] = field(default_factory=dict)
    lost: Machine | None = None
    """What was left of the time that none had. None: it was not measured."""
    disk: Machine = UNMEASURED
    """What was left of the time in which some process waited for a disk."""
    memory: Machine = UNMEASURED
    """And for memory: what is read of a file needs some, as does all that a process has not touched
    for long."""
    plan: Mapping[str, Recorded] | None = field(default=None, repr=False, compare=False)
    """That says so."""
    _asked: dict[Collection[str], Machine] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What was asked for before: rules ask for each event, and each answer is of many spans."""
    _among: dict[Collection[str], Machine] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def of(cls, plan: Mapping[str, Recorded]) -> "Machines":
        measured: Recorded = plan.get("machine") or {}
        harness = Machine.of(measured.get("took") or ())
        waited: Mapping[str, Sequence[Sequence[int]]] = measured.get("nodes") or {}
        nodes = {node: Machine.of(spans) for node, spans in waited.items()}
        lost = Machine.of(measured["lost"]) if "lost" in measured else None
        disk, memory = (Machine.of(measured.get(each) or ()) for each in ("disk", "memory"))
        here: Collection[str] | None = None if plan.get("hosts", "auto") in ON_ONE_MACHINE else ()
        clocks = plan.get("clocks")
        if isinstance(clocks, Mapping):
            here = {node for node, clock in clocks.items() if clock.get("shared")}
        return cls(harness, here, nodes, lost, disk, memory, plan)

    def of_node(self, *nodes: str) -> Machine:
        """What a node was given; of several, what the one was that was given least."""
        return self.of_clients(*nodes) if self.are_here(nodes) else UNMEASURED

    def of_files(self, node: str) -> Machine:
        """What a node was given whose parts may wait for files, or for memory."""
        if not self.are_here([node]):
            return UNMEASURED
        return busiest([self.of_node(node), self.disk, self.memory])

    def are_here(self, nodes: Collection[str]) -> bool:
        """Whether they are on the harness's machine. Of another nobody knows what it gave. Who is
        not of the plan, as brokers that clients start, is there if all of the plan are."""
        if self.here is None:
            return True
        planned: Collection[str] = (self.plan or {}).get("nodes") or ()
        all_here = bool(planned) and set(planned) <= set(self.here)
        return all(node in self.here or (all_here and node not in planned) for node in nodes)

    @property
    def cluster(self) -> Machine:
        """What those were given who wait for something that many nodes take part in."""
        return self.of_clients(*self.nodes)

    def among(self, *nodes: str) -> Machine:
        """What those were given who take part in what no client does, each of them. How long these
        waited is known, so that how many want the cores says no more of them; where it is not,
        as of `of_clients`."""
        if self.lost is None or not set(nodes) <= self.nodes.keys():
            return self.of_clients(*nodes)
        asked = frozenset(nodes)
        if asked not in self._among:
            own = (self.nodes[node] for node in sorted(asked))
            self._among[asked] = busiest([self.lost, *own])
        return self._among[asked]

    def of_clients(self, *nodes: str) -> Machine:
        """What those were given who wait for answers of these nodes: the harness, and the nodes."""
        measured = frozenset(self.nodes.keys() & set(nodes))
        if measured not in self._asked:
            own = (self.nodes[node] for node in sorted(measured))
            self._asked[measured] = busiest([self.harness, *own])
        return self._asked[measured]


UNTOLD: Final = Machines()
"""Of no plan."""
