"""What answers say, field by field: where a field is, and the same answer with another value there.

A field is named as in `partitions[].isr[]`: `[]` is any member of a list. The members of a list of
short lists, as `[offset, value]`, or of such as begin with a word, as `["send", key, [offset,
value]]`, are records without names: `records[].0`. What a partition's key leads to is `{}`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

Place: TypeAlias = tuple[str | int, ...]
"""The keys and indices that lead to a value."""
WHOLE: Final = "(answer)"
"""The field that is all of an answer."""
_LONGEST_RECORD: Final = 3


def places(answer: Any) -> Iterator[tuple[str, Place]]:
    """Each value within an answer, itself too: the field that it is of, and where it stands. Of a
    record its values alone: as a list it is as long as it is."""
    yield WHOLE, ()
    yield from _below(answer, "", (), False)


def _below(value: Any, name: str, place: Place, is_record: bool) -> Iterator[tuple[str, Place]]:
    steps: Iterable[tuple[str, str | int, Any]] = ()
    if isinstance(value, Mapping):
        steps = [(_member(name, key), key, each) for key, each in value.items()]
    elif isinstance(value, list):
        steps = [
            (f"{name}.{number}" if is_record else f"{name}[]", number, each)
            for number, each in enumerate(value)
        ]
    for field, key, each in steps:
        as_record = isinstance(value, list) and _is_record(each)
        if not as_record:
            yield field, (*place, key)
        yield from _below(each, field, (*place, key), as_record)


def _member(name: str, key: str) -> str:
    if "/" in key:
        return f"{name}{{}}"
    return f"{name}.{key}" if name else key


def _is_record(value: Any) -> bool:
    if not isinstance(value, list) or len(value) > _LONGEST_RECORD:
        return False
    is_flat = not any(isinstance(each, list | dict) for each in value)
    return is_flat or isinstance(value[0], str)


def at(answer: Any, place: Place) -> Any:
    """The value that stands there."""
    for step in place:
        answer = answer[step]
    return answer


def with_value(answer: Any, place: Place, value: Any) -> Any:
    """The answer with another value there; it stays as it was itself."""
    if not place:
        return value
    step, rest = place[0], place[1:]
    if isinstance(answer, Mapping):
        return {**answer, step: with_value(answer[step], rest, value)}
    return [
        with_value(each, rest, value) if number == step else each
        for number, each in enumerate(answer)
    ]
