"""Ways in which a system could answer something that is not so.

A way makes another value of one that stands in an answer, given what other answers say in that
field, or another completion of an operation, given the others of its kind. It raises `LookupError`
where it would change nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Final, TypeAlias
from uuid import UUID

from framework.history.pairing import Operation

Change: TypeAlias = Callable[[Any, Sequence[Any], Random], Any]
"""Of a value, what others say in that field, and chance."""
Retold: TypeAlias = Callable[[Operation, Sequence[Operation], Random], Operation]
"""Of an operation, those of its kind, and chance."""


# --- a value within an answer -------------------------------------------------------------


def _plus(by: int, value: Any, others: Sequence[Any], chance: Random) -> Any:
    return value + by


def _zero(value: Any, others: Sequence[Any], chance: Random) -> Any:
    return _other(0, value)


def _flipped(value: Any, others: Sequence[Any], chance: Random) -> Any:
    return not value


def _anothers(value: Any, others: Sequence[Any], chance: Random) -> Any:
    return drawn((each for each in others if each != value), chance)


def _nobodys(value: Any, others: Sequence[Any], chance: Random) -> Any:
    UUID(value)
    return str(UUID(int=chance.getrandbits(128), version=4))


def _missing(value: Any, others: Sequence[Any], chance: Random) -> Any:
    gone = drawn(range(len(value)), chance)
    return [*value[:gone], *value[gone + 1 :]]


def _too_many(value: Any, others: Sequence[Any], chance: Random) -> Any:
    """A member that another list has, or the number that follows."""
    known = [each for other in others for each in other or () if each not in value]
    if not known and value and all(type(each) is int for each in value):
        known = [max(value) + 1]
    return [*value, drawn(known, chance)]


def _twice(value: Any, others: Sequence[Any], chance: Random) -> Any:
    return [*value, drawn(value, chance)]


def _empty(value: Any, others: Sequence[Any], chance: Random) -> Any:
    return _other([], value)


def _other(made: Any, value: Any) -> Any:
    if made == value:
        raise LookupError
    return made


def drawn(values: Iterable[Any], chance: Random) -> Any:
    """One of some. Raises `LookupError` where there is none."""
    values = list(values)
    if not values:
        raise LookupError
    return values[chance.randrange(len(values))]


NUMBER: Final[Mapping[str, Change]] = {
    "+1": partial(_plus, 1),
    "-1": partial(_plus, -1),
    "0": _zero,
    "another's": _anothers,
}
LIST: Final[Mapping[str, Change]] = {
    "one missing": _missing,
    "one too many": _too_many,
    "one twice": _twice,
    "empty": _empty,
}
TEXT: Final[Mapping[str, Change]] = {"another's": _anothers}
ID: Final[Mapping[str, Change]] = {**TEXT, "nobody's": _nobodys}


def changes_of(value: Any) -> Mapping[str, Change]:
    """The ways for a value like this, by name."""
    match value:
        case bool():
            return {"flipped": _flipped}
        case int() | float():
            return NUMBER
        case str():
            return ID if _is_id(value) else TEXT
        case list():
            return LIST
        case None:
            return TEXT
        case _:
            return {}


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


# --- a whole answer -----------------------------------------------------------------------


def _earlier(operation: Operation, others: Sequence[Operation], chance: Random) -> Operation:
    """What the same node answered to the same question before."""
    return _answered(
        operation, (e for e in _same(operation, others) if e.precedes(operation)), chance
    )


def _of_another(operation: Operation, others: Sequence[Operation], chance: Random) -> Operation:
    """The answer to a question about something else."""
    return _answered(operation, (each for each in others if each.key != operation.key), chance)


def _absent(operation: Operation, others: Sequence[Operation], chance: Random) -> Operation:
    """Nothing is there, as others of its kind were told."""
    return _answered(operation, (each for each in others if each.result is None), chance)


def _refused(operation: Operation, others: Sequence[Operation], chance: Random) -> Operation:
    """It was done, and the client is told that it was not."""
    refusals = [each for each in others if each.failed and each.error is not None]
    refusal = drawn(refusals, chance)
    return replace(operation, type="fail", error=refusal.error, result=None, ext=refusal.ext)


def _granted(operation: Operation, others: Sequence[Operation], chance: Random) -> Operation:
    """It was refused, and the client is told that it was done, as it was told of such another."""
    done = [each for each in others if each.ok]
    alike = [each for each in done if each.key == operation.key] or done
    given = drawn(alike, chance)
    return replace(operation, type="ok", error=None, result=given.result, ext=given.ext)


def _other_refusal(operation: Operation, others: Sequence[Operation], chance: Random) -> Operation:
    """Another error's name, with what that asserts."""
    names = {each.error[0]: each for each in others if each.failed and each.error is not None}
    given = drawn([names[n] for n in sorted(names.keys() - {operation.error_code or ""})], chance)
    return replace(operation, error=given.error, ext=given.ext)


def _same(operation: Operation, others: Sequence[Operation]) -> list[Operation]:
    return [
        each
        for each in others
        if (each.node, each.key, each.value) == (operation.node, operation.key, operation.value)
    ]


def _answered(operation: Operation, candidates: Iterable[Operation], chance: Random) -> Operation:
    different = [each for each in candidates if each.ok and each.result != operation.result]
    given = drawn(different, chance)
    return replace(operation, result=given.result, ext=given.ext)


DONE: Final[Mapping[str, Retold]] = {
    "earlier": _earlier,
    "another's": _of_another,
    "absent": _absent,
    "refused": _refused,
}
REFUSED: Final[Mapping[str, Retold]] = {
    "granted": _granted,
    "another error": _other_refusal,
}
