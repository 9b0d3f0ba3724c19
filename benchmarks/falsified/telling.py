"""An answer, or what a disk says, told with another value in a field: which fields and ways there
are, by what is said there."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from benchmarks.falsified.answers import WHOLE, at, places, with_value
from benchmarks.falsified.judging import Judgement, Kind
from benchmarks.falsified.lies import Change, changes_of

_MOST_KNOWN: Final = 2_000
"""Values of a field that others may take: enough to draw from."""


@dataclass(frozen=True, slots=True)
class Lie:
    """field: as `answers` names it, or another word in brackets; change: its name among `lies`."""

    kind: Kind
    field: str
    change: str


@dataclass(frozen=True, slots=True)
class Trial:
    """A lie once, with what came of it. where: in which answers, by index, or in what of a disk."""

    lie: Lie
    where: Sequence[int | str]
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Telling:
    """The same answer with another value of a field, at one place or at all of them. known: what
    answers say there."""

    field: str
    name: str
    change: Change
    known: Sequence[Any]

    def __call__(self, answer: Any, chance: Random, everywhere: bool = False) -> Any:
        """Raises `LookupError` where it would change nothing."""
        own = [place for name, place in places(answer) if name == self.field]
        chance.shuffle(own)
        changed = 0
        for place in own:
            try:
                answer = with_value(answer, place, self._changed(at(answer, place), chance))
            except LookupError:
                continue
            changed += 1
            if not everywhere:
                break
        if not changed:
            raise LookupError
        return answer

    def _changed(self, value: Any, chance: Random) -> Any:
        if self.name not in changes_of(value):
            raise LookupError
        return self.change(value, self.known, chance)


def tellings(answers: Iterable[Any]) -> Iterator[Telling]:
    """Each field of some answers, and each way for any value that is there."""
    for name, known in sorted(_values(answers).items()):
        changes = {way: each for value in known for way, each in changes_of(value).items()}
        for way, change in changes.items():
            yield Telling(name, way, change, known)


def _values(answers: Iterable[Any]) -> Mapping[str, list[Any]]:
    """Field -> what is said in it, none twice; not of whole answers."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for answer in answers:
        for name, place in places(answer):
            if name != WHOLE and len(found[name]) < _MOST_KNOWN:
                value = at(answer, place)
                found[name].setdefault(repr(value), value)
    return {name: list(values.values()) for name, values in found.items()}
