"""Records of JSON texts are those that Python's decoder finds, and what has another shape is
reported, whatever stands around it."""

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pytest

from checkers.logs.records import Found, micro_operations, records
from framework.history.json_columns import Texts, texts
from framework.history.json_walk import NONE

Record: TypeAlias = tuple[Any, ...]
"""(kind, key, offset, value, epoch); None: there is none."""
Reader: TypeAlias = Callable[[Texts], Found]

MICRO: list[Any] = [
    ["send", 1, [4, "a"]],
    ["poll", {"2": [[0, "b"], [None, {}]], "x": []}],
    ["send", "k", "d"],
    ["poll"],
    ["poll", None],
    ["poll", {}],
]
LISTS: list[Any] = [[4, "a", 7], [5, ["b"]], [None, 3, None]]
ODD: list[Any] = [
    None,
    7,
    -1,
    1.5,
    True,
    "x",
    "send",
    [],
    {},
    [[]],
    [1],
    [1, 2],
    [1, 2, 3],
    {"a": 0},
]


def a_record(given: Any) -> Record | None:
    """(offset, value, epoch) of `[offset, value]` or `[offset, value, epoch]`."""
    if not isinstance(given, list) or len(given) not in (2, 3):
        return None
    offset, value, *epoch = given
    whole = [each if type(each) is int else None for each in (offset, *epoch)]
    if offset is not None and whole[0] is None:
        return None
    return whole[0], value, whole[1] if epoch else None


def a_list(given: Any) -> list[Record]:
    """Raises `ValueError`: it is none of records."""
    if not isinstance(given, list):
        raise ValueError
    found = [a_record(each) for each in given]
    if None in found:
        raise ValueError
    return [each for each in found if each is not None]


def polled(given: Any) -> list[Record]:
    if given is None:
        return []
    return [(1, None, offset, value, epoch) for offset, value, epoch in a_list(given)]


def done(given: Any) -> list[Record]:
    found: list[Record] = []
    if given is not None and not isinstance(given, list):
        raise ValueError
    for micro in given or ():
        match micro:
            case ["send", key, [int() | None as offset, value]] if type(offset) is not bool:
                found.append((0, key, offset, value, None))
            case ["send", key, value]:
                found.append((0, key, None, value, None))
            case ["poll"] | ["poll", None]:
                pass
            case ["poll", {**by_key}]:
                for key, listed in by_key.items():
                    found += [(1, key, *each[:2], None) for each in a_list(listed)]
            case _:
                raise ValueError
    return found


def wanted(read: Callable[[Any], list[Record]], text: str) -> list[Record] | None:
    try:
        return read(json.loads(text)) if text.strip() else []
    except ValueError:
        return None


def reported(found: Found, count: int, *, micro: bool) -> list[list[Record] | None]:
    """By text; None: it is wrong. `micro`: what stands where keys do are keys."""
    by_text: list[list[Record]] = [[] for _ in range(count)]
    keys, values = found.key.arrow().to_pylist(), found.value.arrow().to_pylist()
    for at, row in enumerate(found.row.tolist()):
        numbers = [int(each[at]) for each in (found.offset, found.epoch)]
        offset, epoch = (None if each == NONE else each for each in numbers)
        key = json.loads(keys[at]) if micro else None
        by_text[row].append((int(found.kind[at]), key, offset, json.loads(values[at]), epoch))
    wrong = found.wrong.tolist()
    assert not any(some for some, bad in zip(by_text, wrong, strict=True) if bad)
    return [None if bad else some for some, bad in zip(by_text, wrong, strict=True)]


def changed(value: Any) -> Iterator[Any]:
    """With one thing in it another, left out, or put in."""
    yield from ODD
    if isinstance(value, list):
        for at in range(len(value)):
            yield from ([*value[:at], each, *value[at + 1 :]] for each in changed(value[at]))
            yield value[:at] + value[at + 1 :]
        yield from ([*value, each] for each in (None, 0, "y", value[:1]))
    elif isinstance(value, dict):
        for key in value:
            yield from ({**value, key: each} for each in changed(value[key]))


@pytest.mark.parametrize(("read", "by", "value"), [
    (micro_operations, done, MICRO), (records, polled, LISTS),
])  # fmt: skip
def test_what_has_another_shape_is_reported(
    read: Reader, by: Callable[[Any], list[Record]], value: Any
) -> None:
    """All in one column: of what is wrong nothing is left for what stands behind it."""
    given = [value, *(each for item in value for each in changed([item])), *ODD, value]
    every = [json.dumps(each) for each in given]
    found = reported(read(texts(pa.array(every))), len(every), micro=read is micro_operations)
    assert found == [wanted(by, each) for each in every]
    assert {each is None for each in found} == {True, False}


@pytest.mark.parametrize(("read", "by", "value"), [
    (micro_operations, done, [MICRO[1], MICRO[0]]), (records, polled, LISTS),
])  # fmt: skip
@pytest.mark.parametrize("around", ["[", "]", "}", ",", "n"])
def test_what_stands_around_a_text_is_not_looked_at(
    read: Reader, by: Callable[[Any], list[Record]], value: Any, around: str
) -> None:
    """Each beginning of a text, with the rest of it behind."""
    text = f" {json.dumps(value)}"
    data = np.frombuffer(f"{around}{text}{around}".encode(), np.uint8).copy()
    size = np.arange(len(text) + 1)
    given = Texts(data, np.ones(len(size), np.int64), size + 1)
    found = reported(read(given), len(size), micro=read is micro_operations)
    assert found == [wanted(by, text[:each]) for each in size.tolist()]


def test_a_number_of_more_than_18_digits_is_no_offset() -> None:
    longest, longer = 10**18 - 1, 10**18
    column = pa.array([f'[[{n},"a",{n}]]' for n in (longest, longer)])
    found = reported(records(texts(column)), 2, micro=False)
    assert found == [[(1, None, longest, "a", longest)], None]


def test_there_is_room_for_the_smallest_records() -> None:
    found = reported(records(texts(pa.array(["[" + "[0,1]," * 19 + "[0,1]]"]))), 1, micro=False)
    assert found == [[(1, None, 0, 1, None)] * 20]
