"""What is tried on a run: for each kind of operation, each field of its answers and each way to
lie, some answers, and all those that one node gives from a moment on. A seed fixes which."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Final

from benchmarks.falsified.answers import WHOLE, Place, at, places, with_value
from benchmarks.falsified.judging import Judged, Judgement, Kind, Replaced
from benchmarks.falsified.lies import DONE, REFUSED, Change, Retold, changes_of
from framework.history.pairing import Operation

ERROR: Final = "(refusal)"
"""The field that is all of a refusal."""
FROM_THEN_ON: Final = "from then on: "
ECHOES: Final[Mapping[str, Collection[str]]] = {
    "produce": ("acks", "idempotent", "producer", "value"),
    "delete-records": ("before",),
    "commit": ("group", "member", "generation", "offset", "id", "instance"),
    "leave": ("member",),
    "txn": ("[].0", "[].1", "[].2.1"),
    "poll": ("[].0",),
}
"""Fields that a client notes of its own request: nobody answered them."""
UNASKED: Final = ("seek", "assign", "crash")
"""Operations with which a client asks nobody."""
LASTS: Final = frozenset(
    ("earlier", "absent", "refused", "granted", "+1", "-1", "flipped", "nobody's")
) | {"one missing", "one too many", "empty"}
"""Lies that are also told in all that a node answers from a moment on."""
_MOST_KNOWN: Final = 2_000
"""Values of a field that others may take: enough to draw from."""
_MOST_TRIES: Final = 20
"""Answers that are looked at for one in which a change changes something."""


@dataclass(frozen=True, slots=True)
class Lie:
    """field: as `answers` names it, or `ERROR`; change: its name among `lies`."""

    kind: Kind
    field: str
    change: str


@dataclass(frozen=True, slots=True)
class Trial:
    """A lie once, with what came of it. indices: which answers it was told in."""

    lie: Lie
    indices: Sequence[int]
    judgement: Judgement


def tried(run: Judged, samples: int, seed: int, only: Sequence[str] = ()) -> Iterator[Trial]:
    """All trials of a run; `only`: those of these `f`, in that order."""
    kinds = run.kinds()
    for f in only or dict.fromkeys(f for _, f in kinds):
        for kind in kinds:
            if kind[1] == f and f not in UNASKED:
                for lie, replaced in _lies(kind, kinds[kind], samples, seed):
                    yield Trial(lie, sorted(replaced), run.judge(kind, replaced))


def _lies(
    kind: Kind, operations: Sequence[Operation], samples: int, seed: int
) -> Iterator[tuple[Lie, Replaced]]:
    done = [each for each in operations if each.ok]
    refused = [each for each in operations if each.failed]
    for field, named, own in ((WHOLE, DONE, done), (ERROR, REFUSED, refused)):
        for name, retold in named.items():
            lie = Lie(kind, field, name)
            chance = Random(f"{seed} {lie}")
            yield from _each(lie, own, samples, chance, _Whole(retold, operations))
            yield from _lasting(lie, own, chance, _Whole(retold, operations))
    for field, known in sorted(_values(done).items()):
        if field in ECHOES.get(kind[1], ()):
            continue
        changes = {name: each for value in known for name, each in changes_of(value).items()}
        for name, change in changes.items():
            lie = Lie(kind, field, name)
            chance = Random(f"{seed} {lie}")
            telling = _Field(field, name, change, known)
            yield from _each(lie, done, samples, chance, telling)
            yield from _lasting(lie, done, chance, telling)


def _values(operations: Sequence[Operation]) -> Mapping[str, list[Any]]:
    """Field -> what answers say in it, none twice; not of whole answers."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for operation in operations:
        for field, place in places(operation.result):
            if field != WHOLE and len(found[field]) < _MOST_KNOWN:
                value = at(operation.result, place)
                found[field].setdefault(repr(value), value)
    return {field: list(values.values()) for field, values in found.items()}


@dataclass(frozen=True, slots=True)
class _Whole:
    """Another answer altogether."""

    retold: Retold
    others: Sequence[Operation]

    def __call__(self, operation: Operation, chance: Random, everywhere: bool) -> Operation:
        return self.retold(operation, self.others, chance)


@dataclass(frozen=True, slots=True)
class _Field:
    """The same answer with another value of a field, at one place or at all of them."""

    field: str
    name: str
    change: Change
    known: Sequence[Any]

    def __call__(self, operation: Operation, chance: Random, everywhere: bool) -> Operation:
        answer = operation.result
        own = [place for field, place in places(answer) if field == self.field]
        chance.shuffle(own)
        changed = 0
        for place in own:
            try:
                answer = with_value(answer, place, self._changed(answer, place, chance))
            except LookupError:
                continue
            changed += 1
            if not everywhere:
                break
        if not changed:
            raise LookupError
        return replace(operation, result=answer)

    def _changed(self, answer: Any, place: Place, chance: Random) -> Any:
        value = at(answer, place)
        if self.name not in changes_of(value):
            raise LookupError
        return self.change(value, self.known, chance)


def _each(
    lie: Lie, own: Sequence[Operation], samples: int, chance: Random, telling: _Whole | _Field
) -> Iterator[tuple[Lie, Replaced]]:
    """In one answer alone, so many times."""
    candidates = chance.sample(own, min(len(own), _MOST_TRIES))
    for operation in candidates:
        if not samples:
            return
        try:
            told = telling(operation, chance, False)
        except LookupError:
            continue
        samples -= 1
        yield lie, {operation.index: told}


def _lasting(
    lie: Lie, own: Sequence[Operation], chance: Random, telling: _Whole | _Field
) -> Iterator[tuple[Lie, Replaced]]:
    """In all that the node which answered most says from half of its answers on."""
    if lie.change not in LASTS:
        return
    nodes = Counter(str(each.node) for each in own)
    if not nodes:
        return
    ((node, _),) = nodes.most_common(1)
    answers = [each for each in own if str(each.node) == node]
    since = answers[len(answers) // 2]
    told: dict[int, Operation] = {}
    frozen: dict[str, Operation] = {}
    for each in answers:
        if each.index < since.index:
            frozen[repr((each.key, each.value))] = each
            continue
        if lie.change == "earlier":
            last = frozen.get(repr((each.key, each.value)))
            if last is not None and last.result != each.result:
                told[each.index] = replace(each, result=last.result, ext=last.ext)
            continue
        try:
            told[each.index] = telling(each, chance, True)
        except LookupError:
            continue
    if len(told) > 1:
        yield replace(lie, change=FROM_THEN_ON + lie.change), told
