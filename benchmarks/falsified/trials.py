"""What is tried on a run: for each kind of operation, each field of its answers and each way to
lie, some answers, and all those that one node gives from a moment on. A seed fixes which."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from benchmarks.falsified.answers import WHOLE
from benchmarks.falsified.judging import Judged, Kind, Replaced
from benchmarks.falsified.lies import DONE, REFUSED, Retold
from benchmarks.falsified.telling import Lie, Telling, Trial, tellings
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
_MOST_TRIES: Final = 20
"""Answers that are looked at for one in which a change changes something."""


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
    for telling in tellings(each.result for each in done):
        if telling.field not in ECHOES.get(kind[1], ()):
            lie = Lie(kind, telling.field, telling.name)
            chance = Random(f"{seed} {lie}")
            yield from _each(lie, done, samples, chance, _Field(telling))
            yield from _lasting(lie, done, chance, _Field(telling))


@dataclass(frozen=True, slots=True)
class _Whole:
    """Another answer altogether."""

    retold: Retold
    others: Sequence[Operation]

    def __call__(self, operation: Operation, chance: Random, everywhere: bool) -> Operation:
        return self.retold(operation, self.others, chance)


@dataclass(frozen=True, slots=True)
class _Field:
    """The same answer but for a field."""

    telling: Telling

    def __call__(self, operation: Operation, chance: Random, everywhere: bool) -> Operation:
        return replace(operation, result=self.telling(operation.result, chance, everywhere))


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
