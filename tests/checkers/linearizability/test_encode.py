"""Encoding: what operations say, numbers for values, malformed operations, any order of rows."""

import json
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from checkers.linearizability.encoded import NEVER, NOWHERE, EncodedHistory, Kind
from checkers.linearizability.encoding.encode import Keyed, encode, encode_keys, malformed
from framework.checking.columns import Columns
from framework.checking.runs import add_operation
from framework.history.columns import OPERATIONS
from framework.history.pairing import Operation
from framework.testing.oracle import random_history

Said = tuple[str, Any, Any]
"""(kind, what `a` is, what `b` is); None where it has none."""


def table(*operations: Operation, run: str = "r") -> pa.Table:
    columns = Columns(OPERATIONS)
    for operation in operations:
        add_operation(columns, run, operation)
    return columns.table()


def op(
    f: str,
    value: Any = None,
    outcome: str = "ok",
    result: Any = None,
    *,
    at: int = 0,
    key: Any = "x",
    code: str | None = None,
    ext: dict[str, Any] | None = None,
) -> Operation:
    return Operation(
        index=at,
        end=None if outcome == "none" else at + 1,
        process=at,
        f=f,
        key=key,
        value=value,
        type="info" if outcome == "none" else outcome,  # type: ignore[arg-type]
        result=result,
        error=None if code is None else (code, ""),
        ext=ext,
    )


def said(encoded: EncodedHistory) -> list[Said]:
    def value(number: int) -> Any:
        return None if number < 0 else json.loads(encoded.values[number])

    rows = zip(encoded.kind, encoded.a, encoded.b, strict=True)
    return [(Kind(kind).name, value(a), value(b)) for kind, a, b in rows]


@pytest.mark.parametrize(
    ("model", "operation", "expected"),
    [
        ("register", op("read", result=3), [("READ", 3, None)]),
        ("register", op("read", result=3.0), [("READ", 3, None)]),
        ("register", op("read", outcome="fail"), []),
        ("register", op("read", outcome="info"), []),
        ("register", op("write", 2), [("WRITE", None, 2)]),
        ("register", op("write", 2, "fail"), []),
        ("register", op("write", [1, {"b": 2.0}], "info"), [("WRITE", None, [1, {"b": 2}])]),
        ("register", op("cas", [1, 2]), [("CAS", 1, 2)]),
        ("register", op("cas", [1, 2], "fail", code="NO_LEADER"), []),
        ("register", op("cas", [1, 2], "fail", code="NO_LEADER", ext={"asserts": None}), []),
        (
            "register",
            op("cas", [1, 2], "fail", code="VALUE_DIFFERS", ext={"asserts": "differs"}),
            [("DIFFERS", 1, None)],
        ),
        ("topics", op("create", None, "fail", code="NOT_CONTROLLER"), []),
        ("set", op("add", None, "fail", code="REFUSED"), []),
        ("register", op("cas", ["a,b", '"']), [("CAS", "a,b", '"')]),
        ("register", op("cas", [[1, 2.0], False], "info"), [("CAS", [1, 2], False)]),
        ("register", op("cas", [1, 2], "fail"), [("DIFFERS", 1, None)]),
        ("set", op("add"), [("CAS", False, True)]),
        ("set", op("add", outcome="fail"), [("READ", True, None)]),
        ("set", op("remove", outcome="info"), [("CAS", True, False)]),
        ("set", op("remove", outcome="fail"), [("READ", False, None)]),
        ("set", op("contains", result=True), [("READ", True, None)]),
        ("set", op("contains", outcome="fail"), []),
        ("queue", op("enqueue", 4, "info"), [("ENQUEUE", None, 4)]),
        ("queue", op("enqueue", 4, "fail"), []),
        ("queue", op("dequeue", result=4), [("DEQUEUE", 4, None)]),
        ("queue", op("dequeue"), [("EMPTY", None, None)]),
        ("queue", op("dequeue", outcome="info"), [("TAKE", None, None)]),
        ("topics", op("create", result={"topic_id": "A"}), [("CAS", None, "A")]),
        ("topics", op("create", outcome="fail"), [("DIFFERS", None, None)]),
        ("topics", op("delete"), [("CHANGE", None, None)]),
        ("topics", op("delete", outcome="info"), [("CHANGE", None, None)]),
        ("topics", op("delete", result={"n": {}, "topic_id": "A"}), [("CAS", "A", None)]),
        ("topics", op("delete", outcome="fail"), [("READ", None, None)]),
        ("topics", op("describe", result=False), [("READ", None, None)]),
        ("topics", op("describe", result=None), [("READ", None, None)]),
        ("topics", op("describe", result=True), [("DIFFERS", None, None)]),
        ("topics", op("describe", result={"topic_id": None}), [("DIFFERS", None, None)]),
        ("topics", op("describe", result={"topic_id": "A", "z": 1}), [("READ", "A", None)]),
        ("topics", op("describe", result={"x": {"topic_id": "B"}}), [("DIFFERS", None, None)]),
        ("topics", op("describe", outcome="fail"), []),
        ("kafka topics", op("create", outcome="fail", code="NOT_CONTROLLER"), []),
        (
            "kafka topics",
            op("create", outcome="fail", code="REFUSED", ext={"asserts": "present"}),
            [("DIFFERS", None, None)],
        ),
        (
            "kafka topics",
            op("describe", outcome="fail", code="REFUSED", ext={"asserts": "absent", "x": 1}),
            [("READ", None, None)],
        ),
        ("kafka topics", op("create", outcome="fail", code="R", ext={"asserts": "absent"}), []),
        ("kafka topics", op("create", outcome="fail", code="R", ext={"asserts": "stale"}), []),
        ("kafka topics", op("create", outcome="fail", code="TOPIC_ALREADY_EXISTS"), []),
        (
            "kafka topics",
            op("delete", outcome="info", ext={"asserts": "absent"}),
            [("CHANGE", None, None)],
        ),
    ],
)
def test_what_an_operation_says(model: str, operation: Operation, expected: list[Said]) -> None:
    assert malformed(model, table(operation)) is None
    encoded = encode(model, table(operation))
    assert said(encoded) == expected
    if len(encoded):
        ends = operation.type != "info"
        assert (encoded.call[0], encoded.ret[0]) == (
            operation.index,
            operation.end if ends else NEVER,
        )


def test_values_are_equal_as_json() -> None:
    results = [1, 1.0, True, "1", [1], [1.0], None, 0, -0.0, False, "true", {"a": 1.0, "b": [2.0]}]
    operations = [op("read", result=result, at=2 * i) for i, result in enumerate(results)]
    numbers = encode("register", table(*operations)).a.tolist()
    assert numbers == [1, 1, 2, 3, 4, 4, 0, 5, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("model", "operation", "line"),
    [
        ("register", op("cas", 4), "value of cas must be [from, to]"),
        ("register", op("cas", [1], "fail"), "value of cas must be [from, to]"),
        ("register", op("cas", [1, 2, 3], "info"), "value of cas must be [from, to]"),
        ("register", op("add", 1), "'add' is not an operation of register: read, write, cas"),
        ("kv", op("append", 7), "value of append must be a string"),
        ("kv", op("write", None, "fail"), "value of write must be a string"),
        ("set", op("contains", result=1), "the result of contains must be true or false"),
        ("queue", op("enqueue"), "enqueue needs a value; null is what an empty queue gives"),
        (
            "topics",
            op("describe", result=[1]),
            'the result of describe must be true, false, null or {"topic_id": ...}',
        ),
    ],
)
def test_malformed(model: str, operation: Operation, line: str) -> None:
    fine = {"register": op("read", result=1), "kv": op("read", result="a")}
    fine |= {"set": op("add"), "queue": op("dequeue"), "topics": op("describe")}
    operation.index, operation.end = 10, 11
    later = Operation(index=20, end=21, process=3, f="dance", key="y", type="ok")
    assert malformed(model, table(later, operation, fine[model])) == (10, line)
    keys = list(encode_keys(model, table(later, operation, fine[model])))
    assert [key.key for key in keys] == ['"x"', '"y"']
    says_nothing = operation.f == "write" and operation.type == "fail"
    assert [key.is_malformed for key in keys] == [not says_nothing, True]


def test_places_in_the_log() -> None:
    exts: list[dict[str, Any] | None] = [
        {"epoch": 2, "offset": 5},
        None,
        {"epoch": 1, "offset": 9, "more": {"offset": 1}},
        {"leader_epoch": 7, "offset": 3},
        {"epoch": 2, "offset": 5, "note": '"epoch":9'},
        {"a": {"epoch": 1, "offset": 1}},
        {"epoch": 2, "offset": 10},
    ]
    operations = [op("read", result=1, at=2 * i, ext=ext) for i, ext in enumerate(exts)]
    operations.append(op("write", 1, "info", at=50, ext={"epoch": 1, "offset": 1}))
    place = encode("register", table(*operations)).place
    assert place is not None
    named = place[[2, 0, 4, 6]]
    assert (np.diff(named) >= 0).all() and named[1] == named[2] and len(set(named)) == 3
    assert (place[[1, 3, 5, 7]] == NOWHERE).all()
    assert encode("register", table(op("read", result=1))).place is None


def mixed(seed: int, keys: int = 30) -> tuple[pa.Table, dict[tuple[str, str], list[Operation]]]:
    """Register histories of several runs and keys in one table."""
    rng = random.Random(seed)
    tables, by_key = [], {}
    for number in range(keys):
        run, key = f"run{number % 3}", f"key{number // 3}"
        operations = random_history("register", rng)
        for each in operations:
            each.key = key
        tables.append(table(*operations, run=run))
        by_key[run, f'"{key}"'] = operations
    return pa.concat_tables(tables), by_key


def same(one: EncodedHistory, other: EncodedHistory) -> bool:
    columns = ("call", "ret", "kind", "a", "b")
    return list(one.values) == list(other.values) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in columns
    )


def sees(f: str, type: str) -> bool:
    """Whether another value of a register would contradict it."""
    return (f, type) in {("read", "ok"), ("cas", "ok"), ("cas", "fail")}


def observed(operations: Sequence[Operation]) -> int:
    """How many saw something, beside something that was done: else nothing contradicts them."""
    says = [each for each in operations if does(each.f, each.type) or sees(each.f, each.type)]
    if len(says) < 2 or not any(does(each.f, each.type) for each in says):
        return 0
    return sum(sees(each.f, each.type) for each in says)


def does(f: str, type: str) -> bool:
    """A register's operations that change it, or may have."""
    return f in ("write", "cas") and type != "fail"


def test_all_keys_at_once_are_as_each_alone() -> None:
    whole, by_key = mixed(1)
    found = list(encode_keys("register", whole))
    assert [(key.run, key.key) for key in found] == sorted(by_key)
    for key in found:
        operations = by_key[key.run, key.key]
        assert same(key.encoded, encode("register", table(*operations)))
        assert key.seen == observed(operations)
        assert whole["index"].take(pa.array(key.rows)).to_pylist() == [o.index for o in operations]


@pytest.mark.parametrize("seed", range(3))
def test_any_order_of_rows(seed: int) -> None:
    whole, _ = mixed(2)
    shuffled = list(range(len(whole)))
    random.Random(seed).shuffle(shuffled)
    pairs = zip(
        encode_keys("register", whole), encode_keys("register", whole.take(shuffled)), strict=True
    )
    assert all(same(one.encoded, other.encoded) for one, other in pairs)


def test_dictionaries_and_chunks() -> None:
    whole, _ = mixed(3)
    half = len(whole) // 2
    parts = [
        pa.table(
            {
                field.name: column.combine_chunks().dictionary_encode()
                if pa.types.is_string(field.type)
                else column
                for field, column in zip(part.schema, part.columns, strict=True)
            }
        )
        for part in (whole.slice(0, half), whole.slice(half))
    ]
    chunked = pa.concat_tables(parts)
    pairs: Sequence[tuple[Keyed, Keyed]] = list(
        zip(encode_keys("register", whole), encode_keys("register", chunked), strict=True)
    )
    assert all(same(one.encoded, other.encoded) for one, other in pairs)
    assert malformed("register", chunked) is None


def test_nothing_at_all() -> None:
    assert not len(encode("register", table()))
    assert list(encode_keys("register", table())) == []
    assert malformed("register", table()) is None
