"""Histories in Parquet: events and operations, whole and broken."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.errors import UsageError
from framework.history import ranges, reader
from framework.history.columns import OPERATIONS, SCHEMA
from framework.history.events import coded

EVENTS: list[dict[str, Any]] = [
    {"type": "invoke", "process": "0", "f": "write", "key": '"x"', "value": '{"b": 1, "a":2}'},
    {"type": "invoke", "process": "a", "f": "read", "key": '"x"'},
    {"type": "info", "process": "nemesis", "f": "phase", "value": '"final"'},
    {"type": "ok", "process": "0", "f": "write", "ext": '{"offset": 3}'},
    {"type": "fail", "process": "a", "f": "read", "error_code": "GONE", "error_message": ""},
    {"type": "invoke", "process": "0", "f": "read", "key": '"y"'},
]


def events(path: Path, change: Callable[[list[dict[str, Any]]], Any] | None = None) -> Path:
    rows = [
        dict.fromkeys(SCHEMA.names) | {"index": n, "time": 5 * n} | e for n, e in enumerate(EVENTS)
    ]
    if change is not None:
        change(rows)
    schema = pa.schema([field.with_nullable(True) for field in SCHEMA])
    pq.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=2)
    return path


@pytest.fixture(params=[1, 1 << 18], autouse=True)
def rows_of_a_range(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "RANGE_ROWS", request.param)


def test_events(tmp_path: Path) -> None:
    history = reader.read_history(events(tmp_path / "h.parquet"))
    first, second, third = history.operations
    assert (first.process, first.end, first.value, first.ext) == (
        0,
        3,
        {"a": 2, "b": 1},
        {"offset": 3},
    )
    assert (second.process, second.type, second.error) == ("a", "fail", ("GONE", ""))
    assert (third.index, third.type, third.phase, third.invoked_ns) == (5, "info", "final", 25)
    assert [named.index for named in history.named] == [2]


def test_only_the_columns_that_say_something(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    pq.write_table(pa.table({"type": ["invoke"], "process": [7], "f": ["read"]}), path)
    [operation] = reader.read_history(path).operations
    assert (operation.process, operation.f, operation.key) == (7, "read", None)


def put(row: int, **fields: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda rows: rows[row].update(fields)


@pytest.mark.parametrize(
    ("change", "row", "wrong"),
    [
        (put(3, type="yes"), 4, 'type is "yes"'),
        (put(1, process=None), 2, "process is missing"),
        (put(2, f=""), 3, 'f is ""'),
        (put(3, index=9), 4, "it must be 3"),
        (put(4, time=1), 5, "goes back"),
        (put(5, key="{"), 6, "it must be JSON"),
        (put(5, value="[NaN]"), 6, "it must be JSON"),
        (put(5, ext="[]"), 6, "ext is []; it must be an object"),
        (put(3, f="read"), 4, "repeats f and key"),
        (put(4, process="b"), 5, "no open operation"),
        (put(3, type="invoke"), 4, "at most one open operation"),
    ],
)
def test_refuses_events(tmp_path: Path, change: Any, row: int, wrong: str) -> None:
    path = events(tmp_path / "h.parquet", change)
    with pytest.raises(UsageError) as refusal:
        reader.read([path])
    message = str(refusal.value)
    assert message.startswith(f"{path}:row {row}: ") and wrong in message and "\n" not in message


OPERATION_ROWS: list[dict[str, Any]] = [
    {"index": 0, "end": 3, "process": "0", "f": "write", "type": "ok", "key": '"x"', "value": "1"},
    {"index": 1, "end": None, "process": "1", "f": "read", "type": "info", "key": '"x"'},
    {"index": 4, "end": 5, "process": "0", "f": "read", "type": "ok", "key": '"x"', "result": " 1"},
    {"index": 6, "end": 8, "process": "a", "f": "read", "type": "fail"},
]


def operations(path: Path, change: Callable[[list[dict[str, Any]]], Any] | None = None) -> Path:
    rows = [dict.fromkeys(OPERATIONS.names) | row for row in OPERATION_ROWS]
    if change is not None:
        change(rows)
    pq.write_table(pa.Table.from_pylist(rows, OPERATIONS), path, row_group_size=1)
    return path


def test_operations(tmp_path: Path) -> None:
    first, second, third, fourth = reader.read_history(
        operations(tmp_path / "h.parquet")
    ).operations
    assert (first.index, first.end, first.process, first.value, first.type) == (0, 3, 0, 1, "ok")
    assert (second.end, second.type, second.result, second.phase) == (None, "info", None, "main")
    assert (third.index, third.end, third.result) == (4, 5, 1)
    assert (fourth.process, fourth.key, fourth.type) == ("a", None, "fail")


def test_operations_whose_index_is_called_op(tmp_path: Path) -> None:
    path = operations(tmp_path / "h.parquet")
    named = reader.read([path]).operations
    table = pq.read_table(path)
    former = ["op" if name == "index" else name for name in table.column_names]
    pq.write_table(table.rename_columns(former), path)
    assert reader.read([path]).operations.equals(named)
    pq.write_table(table.rename_columns(former).drop_columns(["end"]), path)
    with pytest.raises(UsageError, match="no column end"):
        reader.read([path])


@pytest.mark.parametrize(
    ("change", "row", "wrong"),
    [
        (put(2, index=1), 3, "index is 1 after 1"),
        (put(2, index=2), 3, "process 0 invokes 'read' at index 2 while"),
        (put(3, process="1"), 4, "at most one open operation"),
        (put(0, end=0), 1, "end is 0 with index 0"),
        (put(1, type="ok"), 2, "ok without an end"),
        (put(1, type="invoke"), 2, "must be one of ok, fail, info"),
        (put(3, f=None), 4, "f is None"),
        (put(3, process=None), 4, "process is missing"),
        (put(3, process="nemesis"), 4, "the nemesis"),
        (put(2, result="]"), 3, "it must be JSON"),
        (put(2, result="NaN"), 3, "it must be JSON"),
        (put(3, ext="[1]"), 4, "ext is '[1]'; it must be a JSON object"),
        (put(3, ext="0"), 4, "ext is '0'; it must be a JSON object"),
    ],
)
def test_refuses_operations(tmp_path: Path, change: Any, row: int, wrong: str) -> None:
    path = operations(tmp_path / "h.parquet", change)
    with pytest.raises(UsageError) as refusal:
        reader.read([path])
    message = str(refusal.value)
    assert message.startswith(f"{path}:row {row}: ") and wrong in message and "\n" not in message


def test_refuses_what_is_no_history(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    path.write_bytes(b"PAR1 not really")
    with pytest.raises(UsageError, match="not a Parquet file"):
        reader.read([path])
    pq.write_table(pa.table({"process": ["0"], "f": ["read"]}), path)
    with pytest.raises(UsageError, match="no column type"):
        reader.read([path])
    pq.write_table(pa.table({"type": [1], "process": ["0"], "f": ["read"]}), path)
    with pytest.raises(UsageError, match=r"row 1: type is 1"):
        reader.read([path])
    pq.write_table(SCHEMA.empty_table(), path)
    with pytest.raises(UsageError, match="no events"):
        reader.read([path])


def test_dictionaries_of_any_kind() -> None:
    """What Parquet gives as a dictionary may hold a text twice, null, or what no row has."""
    texts = pa.array(["a", "b", "a", None, "c"])
    for numbers in ([0, 1, 2, 3, 0], [0, 1, None], [], [1]):
        column = pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), texts)
        found = coded(column)
        assert found.to_pylist() == column.to_pylist()
        known = found.dictionary.to_pylist()
        assert sorted(known) == sorted(set(column.to_pylist()) - {None})
    plain = pa.array(["x", "y", "x"]).dictionary_encode()
    assert coded(plain) is plain


def test_keys_that_are_equal_as_json(tmp_path: Path) -> None:
    def spelled_otherwise(rows: list[dict[str, Any]]) -> None:
        rows[0]["key"], rows[3]["key"], rows[1]["key"] = '{"a": 1}', '{"a":1}', '"\\u0078"'
        rows[4]["key"] = '"x"'

    history = reader.read_history(events(tmp_path / "h.parquet", spelled_otherwise))
    assert [each.key for each in history.operations] == [{"a": 1}, "x", "y"]
