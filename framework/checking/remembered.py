"""What is remembered of a run that goes on, by what is judged together.

A part are operations that have something in common, directly or by others (`SoFar.about`), as all
answers about one topic. Only of parts that something is new of is anything looked at.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import Final

from framework.checking.keyed import Row
from framework.checking.run_checks import SoFar
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation


@dataclass(frozen=True, slots=True)
class Memory:
    """How much rules remember."""

    lately: int = 5_000
    """Events of which nothing is forgotten: some 20 s of a default run. Who is behind by less does
    not reach back further than what is kept."""
    most: int = 100
    """Operations of a part, beside twice what was kept of it the last time, before it is looked
    through for what can be forgotten. One that has become quiet is, however few they are."""


MEMORY: Final = Memory()


@dataclass(eq=False, slots=True)
class Part:
    """Of operations that are judged together, those that have ended and were not forgotten."""

    keys: set[Hashable] = field(default_factory=set)
    operations: list[Operation] = field(default_factory=list)
    observations: list[Operation] = field(default_factory=list)
    reaches_back: Callable[[Operation], bool] = lambda _: False
    """Behind what was forgotten."""
    back: bool = False
    """Something that was not forgotten does."""
    owes: bool = False
    """It was not judged with all there was."""
    had: int = 0
    """So many were left when some were last forgotten."""
    rows: Sequence[Row] = ()
    """What it compared when it was last judged."""

    @property
    def size(self) -> int:
        return len(self.operations) + len(self.observations)

    def notice(self, operation: Operation) -> None:
        """One that is new: whether it reaches back."""
        back = self.reaches_back(operation)
        self.back |= back
        self.owes |= back

    def join(self, other: "Part") -> None:
        own, others = self.reaches_back, other.reaches_back
        self.keys |= other.keys
        self.operations += other.operations
        self.observations += other.observations
        self.reaches_back = lambda each: own(each) or others(each)
        self.back |= other.back
        self.owes |= other.owes
        self.had += other.had
        self.rows = [*self.rows, *other.rows]

    def over(self, horizon: int, run: RunEvents) -> RunEvents:
        """What had ended before it, in order."""
        operations = (each for each in self.operations if _is_over(each, horizon))
        observations = (each for each in self.observations if _is_over(each, horizon))
        return replace(run, operations=in_order(operations), observations=in_order(observations))

    def keep(
        self, kept: RunEvents, reaches_back: Callable[[Operation], bool], horizon: int
    ) -> None:
        """Of what had ended before it this alone."""
        later = [each for each in self.operations if not _is_over(each, horizon)]
        since = [each for each in self.observations if not _is_over(each, horizon)]
        self.operations = [*kept.operations, *later]
        self.observations = [*kept.observations, *since]
        self.reaches_back = reaches_back
        self.back = any(map(reaches_back, later))
        self.had = self.size


class Parts:
    """Of a run that goes on, by one rule."""

    def __init__(self, so_far: SoFar, memory: Memory) -> None:
        self._so_far, self._memory = so_far, memory
        self._by_key: dict[Hashable, Part] = {}
        self._awake: dict[Part, int] = {}
        """What was added to since it was looked through, the quietest first: how many events there
        were then."""

    def __iter__(self) -> Iterator[Part]:
        return iter(dict.fromkeys(self._by_key.values()))

    def add(self, ended: RunEvents, begun: Iterable[Operation], events: int) -> Sequence[Part]:
        """What is new, when there are so many events; the parts that it belongs to."""
        touched = list[Part]()
        for each in ended.operations:
            for part in self._of(each):
                part.notice(each)
                part.operations.append(each)
                touched.append(part)
        for each in ended.observations:
            for part in self._of(each):
                part.observations.append(each)
                touched.append(part)
        for each in begun:
            for part in self._of(each):
                part.notice(each)
                touched.append(part)
        found = [*dict.fromkeys(self._by_key[next(iter(part.keys))] for part in touched)]
        for part in found:
            self._awake.pop(part, None)
            self._awake[part] = events
        return found

    def events(self, parts: Iterable[Part], pending: RunEvents) -> Iterator[tuple[Part, RunEvents]]:
        """Each of these parts with what there is of it. Who was not answered was told nothing: of
        what is pending only clients' operations may have done something."""
        own: dict[Part, list[Operation]] = defaultdict(list)
        for each in pending.operations:
            for part in self._of(each):
                own[part].append(each)
        for part in parts:
            operations = in_order(part.operations, own[part])
            observations = in_order(part.observations)
            yield part, replace(pending, operations=operations, observations=observations)

    def due(self, touched: Iterable[Part], horizon: int) -> Iterator[Part]:
        """That are to be looked through for what can be forgotten."""
        quiet = list[Part]()
        for part, events in self._awake.items():
            if events > horizon:
                break
            quiet.append(part)
        for part in quiet:
            del self._awake[part]
        large = (part for part in touched if part.size > 2 * part.had + self._memory.most)
        return iter(dict.fromkeys(chain(quiet, large)))

    def _of(self, operation: Operation) -> Iterator[Part]:
        """The one of all that it is about, if that is anything: parts that were apart until now are
        one from now on."""
        keys = dict.fromkeys(self._so_far.about(operation)).keys()
        known = dict.fromkeys(self._by_key[key] for key in keys if key in self._by_key)
        first, *others = known or [Part()]
        for other in others:
            first.join(other)
            self._awake.pop(other, None)
        if not keys <= first.keys or others:
            first.keys |= keys
            self._by_key |= dict.fromkeys(first.keys, first)
        if keys:
            yield first


def in_order(*operations: Iterable[Operation]) -> list[Operation]:
    return sorted(chain(*operations), key=attrgetter("index"))


def _is_over(operation: Operation, horizon: int) -> bool:
    return operation.end is not None and operation.end < horizon
