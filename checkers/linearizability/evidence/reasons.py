"""Why an order of a few operations cannot go on, in words that a stranger can check by hand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from checkers.linearizability.encoded import Ints, Kind
from checkers.linearizability.evidence.relaxed import Relaxing
from checkers.linearizability.evidence.small_search import (
    CAS,
    CHANGE,
    DEQUEUE,
    DIFFERS,
    EMPTY,
    ENQUEUE,
    OBSERVERS,
    OTHER,
    READ,
    TAKE,
    WRITE,
    End,
    Move,
    State,
)

_MOST_NAMED: Final = 3
_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "set": {"true": "in the set", "false": "not in the set"},
    "topics": {"null": "absent", "any": "present"},
    "kafka topics": {"null": "absent", "any": "present"},
}
_COMMON: Final = ("the value is ", "the object is ", "the queue is ", "it is ")
_LONGEST: Final = 60


def short(text: str, length: int = _LONGEST) -> str:
    """The beginning of it, in one line."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 3] + "..."


@dataclass(slots=True)
class Reasons:
    """Says of one key's operations why they cannot come next. `named` collects the rows that the
    words speak of."""

    relaxing: Relaxing
    model: str
    name: Callable[[int], str]
    """An operation in words, by its row."""
    named: dict[int, None] = field(default_factory=dict)

    def state(self, state: State) -> str:
        """As in `the value is 2`."""
        encoded = self.relaxing.encoded
        if encoded.transitions is not None:
            return f"the object is {short(encoded.transitions.describe(state))}"
        if self.relaxing.is_queue:
            if not state:
                return "the queue is empty"
            shown = ", ".join(self.value(value) for value in state[:5])
            more = f", ... ({len(state)} in all)" if len(state) > 5 else ""
            return f"the queue is [{shown}{more}]"
        words = _WORDS.get(self.model)
        return f"it is {self.value(state)}" if words else f"the value is {self.value(state)}"

    def states(self, states: Sequence[State]) -> str:
        """As in `the value is 2 or 3`."""
        first, *others = map(self.state, states)
        common = next((each for each in _COMMON if first.startswith(each)), "")
        return joined([first, *(each.removeprefix(common) for each in others)])

    def value(self, value: int) -> str:
        """A value of a cell or in a queue."""
        if value == OTHER:
            return "something else"
        text = self.relaxing.encoded.values[value]
        words = _WORDS.get(self.model)
        if words is None:
            return short(text)
        if self.model == "set":
            return words.get(text, text)
        return words.get(text, f"present with id {short(text)}")

    def why(self, end: End, stuck: Move) -> list[str]:
        """Why it cannot come after that order: first the state, then what does not help."""
        if stuck.kind in (READ, CAS):
            first = f"needs {self._needed(stuck.a)}, but {self.state(end.state)}"
            return [first, *self._no_maker(end, stuck, stuck.a)]
        if stuck.kind in (DIFFERS, CHANGE):
            first = f"needs anything but {self.value(stuck.a)}, but {self.state(end.state)}"
            return [first, *self._no_leaver(end, stuck)]
        if stuck.kind == DEQUEUE:
            first = f"needs {self.value(stuck.a)} to be the first, but {self.state(end.state)}"
            return [first, *self._no_maker(end, stuck, stuck.a)]
        if stuck.kind == EMPTY:
            first = f"needs an empty queue, but {self.state(end.state)}"
            return [first, *self._no_taker(stuck, end.state[0])]
        return [f"is impossible: {self.state(end.state)}", *self._nothing_before(end, stuck)]

    def _needed(self, value: int) -> str:
        return f"it to be {self.value(value)}" if self.model in _WORDS else self.value(value)

    def _no_maker(self, end: End, stuck: Move, value: int) -> Iterator[str]:
        """Why nothing can bring that value about in between."""
        encoded = self.relaxing.encoded
        rows = self.relaxing.leaving(value, stuck.ret)
        makers = rows[np.isin(encoded.kind[rows], (WRITE, CAS, CHANGE, ENQUEUE))]
        makers = makers[makers != stuck.row]
        places = {move.row: number for number, move in enumerate(end.order, 1)}
        used = sorted(
            (int(row) for row in makers if int(row) in places), key=lambda row: places[row]
        )
        for row in used[-_MOST_NAMED:]:
            yield self._used(end, row, places[row], value)
        if len(used) > _MOST_NAMED:
            yield _still_earlier([places[row] for row in used[:-_MOST_NAMED]])
        yield from self._returned_before(end, makers, places)
        if value == encoded.initial and not used:
            first = next(move for move in end.order if move.kind not in OBSERVERS)
            yield f"it was so initially, before number {places[first.row]} of the order"
        if not len(makers):
            verb = "enqueues" if self.relaxing.is_queue else "leads to"
            others = "no operation" if value != encoded.initial else "nothing else"
            shown = self.value(value)
            yield f"{others} that was invoked before index {stuck.ret} {verb} {shown}"

    def _no_leaver(self, end: End, stuck: Move) -> Iterator[str]:
        """Why nothing else takes a cell away from its value."""
        encoded = self.relaxing.encoded
        rows = self.relaxing.mutations(stuck.ret)
        placed = [stuck.row, *(move.row for move in end.order)]
        since = max(end.order, key=lambda move: move.call, default=None)
        rows = rows[~np.isin(rows, placed)]
        if since is not None:
            rows = rows[encoded.ret[rows] > since.call]
        kind, there = encoded.kind[rows], encoded.a[rows] == end.state
        if not np.any((kind == WRITE) | ((kind == CAS) & there) | ((kind == CHANGE) & ~there)):
            after = "" if since is None else f" after {self.name(since.row)} was invoked"
            yield f"nothing else that changes it from there was open{after}"

    def _nothing_before(self, end: End, stuck: Move) -> Iterator[str]:
        placed = {stuck.row, *(move.row for move in end.order)}
        if not any(int(row) not in placed for row in self.relaxing.mutations(stuck.ret)):
            yield f"no other change was invoked before index {stuck.ret}"

    def _no_taker(self, stuck: Move, value: int) -> Iterator[str]:
        encoded = self.relaxing.encoded
        rows = np.concatenate([self.relaxing.leaving(each, stuck.ret) for each in (value, OTHER)])
        if not np.isin(encoded.kind[rows], (DEQUEUE, TAKE)).any():
            shown = self.value(value)
            yield f"no operation that was invoked before index {stuck.ret} takes {shown} out"

    def _used(self, end: End, row: int, place: int, value: int) -> str:
        place_of = f"{self.name(row)} is number {place} of the order"
        later = end.order[place:]
        if self.relaxing.is_queue:
            if value in end.state:
                return f"{place_of}, and {self.value(value)} is not the first yet"
            gone = next(move for move in later if move.kind == TAKE or move.a == value)
        else:
            gone = next(move for move in later if move.kind not in OBSERVERS)
        number = end.order.index(gone) + 1
        return f"{place_of}, and number {number}, {self.name(gone.row)}, comes after it"

    def _returned_before(self, end: End, makers: Ints, places: Mapping[int, int]) -> Iterator[str]:
        """Of what is not in the order: too early, or impossible itself."""
        encoded = self.relaxing.encoded
        left = makers[~np.isin(makers, list(places))]
        changes = [move for move in end.order if move.kind not in OBSERVERS]
        latest = max(end.order, key=lambda move: move.call, default=None)
        for bound in (changes[-1] if changes else None, latest):
            if bound is None:
                continue
            early = left[encoded.ret[left] < bound.call]
            left = left[encoded.ret[left] > bound.call]
            if len(early):
                yield self._too_early(early, bound)
        for row in left[:_MOST_NAMED]:
            self.named[int(row)] = None
            kind, needs = Kind(int(encoded.kind[row])), self._needed(int(encoded.a[row]))
            what = f"needs {needs} itself" if kind is Kind.CAS else "does not fit either"
            yield f"{self.name(int(row))} {what}"
        if len(left) > _MOST_NAMED:
            yield f"nor do {len(left) - _MOST_NAMED} more of that kind help"

    def _too_early(self, early: Ints, bound: Move) -> str:
        encoded = self.relaxing.encoded
        last = int(early[np.argmax(encoded.ret[early])])
        self.named[last] = None
        self.named[bound.row] = None
        sentence = f"{self.name(last)} had returned (index {encoded.ret[last]}) before"
        sentence += f" {self.name(bound.row)} was invoked"
        others = len(early) - 1
        if others == 1:
            sentence += ", and so had one earlier one that leads to it"
        elif others:
            sentence += f", and so had {others:,} earlier ones that lead to it"
        return sentence


def _still_earlier(places: Sequence[int]) -> str:
    if len(places) == 1:
        return f"number {places[0]} of the order leads to it, and comes earlier still"
    numbers = joined(list(map(str, places)), last="and")
    return f"numbers {numbers} of the order lead to it, and come earlier still"


def joined(words: Sequence[str], most: int = 5, last: str = "or") -> str:
    """`a, b or c`."""
    more = len(words) - most
    *firsts, final = words if more < 2 else [*words[:most], f"{more} others"]
    return f"{', '.join(firsts)} {last} {final}" if firsts else final
