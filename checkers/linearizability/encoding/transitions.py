"""The models that are more than a cell, as `Transitions`: strings, queues, and topics with ids
that nobody has shown yet."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Hashable, Sequence
from dataclasses import replace
from enum import IntEnum
from typing import Final, Generic, TypeVar

import numpy as np

from checkers.linearizability.encoded import Codes, EncodedHistory, Kind

IMPOSSIBLE: Final = -1
S = TypeVar("S", bound=Hashable)


class Numbering(Generic[S]):
    """States, numbered as they are met."""

    def __init__(self, first: S) -> None:
        self.initial = 0
        self.states: list[S] = [first]
        self._numbers: dict[S, int] = {first: 0}

    def number(self, state: S) -> int:
        found = self._numbers.get(state)
        if found is None:
            found = self._numbers[state] = len(self.states)
            self.states.append(state)
        return found


def _actions(
    encoded: EncodedHistory, looks: Sequence[Kind]
) -> tuple[EncodedHistory, list[tuple[int, int, int]]]:
    """The operations as LOOK and STEP, with an action for each distinct (kind, a, b)."""
    what = np.stack([encoded.kind.astype(np.int32), encoded.a, encoded.b], axis=1)
    distinct, action = np.unique(what, axis=0, return_inverse=True)
    kind = np.where(np.isin(encoded.kind, looks), Kind.LOOK, Kind.STEP).astype(np.int8)
    steps = replace(
        encoded,
        kind=kind,
        a=action.reshape(-1).astype(np.int32),
        b=np.full(len(encoded), -1, dtype=np.int32),
        initial=0,
    )
    return steps, [(int(each[0]), int(each[1]), int(each[2])) for each in distinct]


def kv_steps(encoded: EncodedHistory) -> EncodedHistory:
    """A string. LOOK: it is `a`. STEP: it becomes `b`, or `a` is appended to it."""
    steps, distinct = _actions(encoded, [Kind.LOOK])
    actions = []
    for kind, a, b in distinct:
        word = Word.READ if kind == Kind.LOOK else Word.APPEND if b < 0 else Word.WRITE
        value = json.loads(encoded.values[b if b >= 0 else a])
        actions.append((word, value if isinstance(value, str) else None))
    return replace(steps, transitions=Strings(actions))


class Word(IntEnum):
    """What an action of `Strings` does."""

    READ = 0
    WRITE = 1
    APPEND = 2


class Strings:
    """Only strings that begin a value that somebody read are told from each other: from any other
    nothing can be read until the next write.

    A state is (first, last, length): the strings that were read, sorted, from `first` to before
    `last`, are those that begin with it; so no state costs more than three numbers, and a step
    no more than a search in the sorted strings.
    """

    _LOST: Final = (0, 0, -1)

    def __init__(self, actions: Sequence[tuple[Word, str | None]]) -> None:
        """A read of None is of something that is no string."""
        self._actions = actions
        self._read = sorted({text for word, text in actions if not word and text is not None})
        self._numbering = Numbering(self._empty)
        self.initial = self._numbering.initial
        self._wanted = {
            action: self._numbering.number(self._after(self._empty, text))
            for action, (word, text) in enumerate(actions)
            if word == Word.READ and text is not None
        }

    @property
    def _empty(self) -> tuple[int, int, int]:
        return (0, len(self._read), 0)

    def step(self, state: int, action: int) -> int:
        word, text = self._actions[action]
        if word == Word.READ:
            return state if self._wanted.get(action, IMPOSSIBLE) == state else IMPOSSIBLE
        assert text is not None
        before = self._empty if word == Word.WRITE else self._numbering.states[state]
        return self._numbering.number(self._after(before, text))

    def _after(self, state: tuple[int, int, int], text: str) -> tuple[int, int, int]:
        """The state with a text appended."""
        first, last, length = state
        if not text or state == self._LOST:
            return state
        end = length + len(text)

        def next_part(read: str) -> str:
            return read[length:end]

        first = bisect_left(self._read, text, first, last, key=next_part)
        last = bisect_right(self._read, text, first, last, key=next_part)
        return (first, last, end) if first < last else self._LOST

    def describe(self, state: int) -> str:
        first, last, length = self._numbering.states[state]
        if length < 0:
            return "a string that nothing read begins with"
        return json.dumps(self._read[first][:length] if first < last else "")


def queue_steps(encoded: EncodedHistory) -> EncodedHistory:
    """A queue in words that any search understands."""
    steps, actions = _actions(encoded, [Kind.EMPTY])
    return replace(steps, transitions=Queue(actions, encoded.values))


class Queue:
    """What is in a queue, first to last."""

    _MAX_REPORTED: Final = 5

    def __init__(self, actions: Sequence[tuple[int, int, int]], values: Sequence[str]) -> None:
        """Actions are (kind, a, b) as in `EncodedHistory`."""
        self._actions, self._values = actions, values
        self._numbering = Numbering(b"")  # each value four bytes
        self.initial = self._numbering.initial

    def step(self, state: int, action: int) -> int:
        content = self._numbering.states[state]
        kind, a, b = self._actions[action]
        if kind == Kind.ENQUEUE:
            return self._numbering.number(content + b.to_bytes(4, "little"))
        if kind == Kind.EMPTY:
            return IMPOSSIBLE if content else state
        if not content or (kind == Kind.DEQUEUE and content[:4] != a.to_bytes(4, "little")):
            return IMPOSSIBLE
        return self._numbering.number(content[4:])

    def describe(self, state: int) -> str:
        content = np.frombuffer(self._numbering.states[state], dtype="<i4").tolist()
        shown = ", ".join(self._values[value] for value in content[: self._MAX_REPORTED])
        more = f", ... ({len(content)} in all)" if len(content) > self._MAX_REPORTED else ""
        return f"[{shown}{more}]"


def topic_steps(
    encoded: EncodedHistory, anonymous: int, bindable: Collection[int], once: bool
) -> EncodedHistory:
    """A topic, in READ to CHANGE, where the create of some id did not show it.

    `anonymous` stands for an id that was not shown; it is one of the ids `bindable`, or one that
    nobody ever shows. `once`: none of the bindable ids lives twice.
    """
    steps, actions = _actions(encoded, [Kind.READ, Kind.DIFFERS])
    topic = Topic(actions, encoded.values, encoded.initial, anonymous, frozenset(bindable), once)
    return replace(steps, transitions=topic)


class Topic:
    """(what is there now, which bindable ids are gone for ever). To see an id narrows an anonymous
    one down to it."""

    def __init__(
        self,
        actions: Sequence[tuple[int, int, int]],
        values: Sequence[str],
        absent: int,
        anonymous: int,
        bindable: frozenset[int],
        once: bool,
    ) -> None:
        self._actions, self._values = actions, values
        self._absent, self._anonymous = absent, anonymous
        self._bindable, self._once = bindable, once
        self._numbering = Numbering((absent, frozenset[int]()))
        self.initial = self._numbering.initial

    def step(self, state: int, action: int) -> int:
        now, gone = self._numbering.states[state]
        kind, a, b = self._actions[action]
        if kind == Kind.DIFFERS:
            return state if now != self._absent else IMPOSSIBLE
        if kind != Kind.CHANGE and a == self._absent:  # a create, or that there is none
            if now != self._absent:
                return IMPOSSIBLE
            return state if kind == Kind.READ else self._numbering.number((b, gone))
        if now == self._absent:
            return IMPOSSIBLE
        if kind != Kind.CHANGE:  # the id `a` is there
            if now == self._anonymous and a in self._bindable and a not in gone:
                now = a
            if now != a:
                return IMPOSSIBLE
        if kind == Kind.READ:
            return self._numbering.number((now, gone))
        if self._once and now in self._bindable:
            gone |= {now}
        return self._numbering.number((self._absent, gone))

    def describe(self, state: int) -> str:
        now, _ = self._numbering.states[state]
        if now == self._absent:
            return "absent"
        return "present" if now == self._anonymous else f"present with id {self._values[now]}"


def ids_shown(encoded: EncodedHistory) -> Codes:
    """The ids that describes and deletes of a topic showed."""
    named = ((encoded.kind == Kind.READ) | (encoded.kind == Kind.CAS)) & (
        encoded.a != encoded.initial
    )
    return np.unique(encoded.a[named])
