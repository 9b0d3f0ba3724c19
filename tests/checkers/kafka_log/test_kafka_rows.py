"""JSON read where it lies, and operations as rows."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka_histories import table

from checkers.kafka_log.records import micro_operations, records
from checkers.kafka_log.rows import Flag, Kind, Malformed, rows
from framework.history.json_columns import items, members, texts
from framework.history.json_walk import NONE

LEAVES = st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(max_size=6)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
OFFSETS = st.none() | st.integers(0, 10**12)
RECORDS = st.lists(st.tuples(OFFSETS, JSON), max_size=3)
SENDS = st.tuples(st.just("send"), st.integers(0, 9), st.tuples(OFFSETS, JSON))
POLLS = st.tuples(st.just("poll"), st.dictionaries(st.text(max_size=3), RECORDS, max_size=3))


def column(values: list[Any], *, loose: bool) -> pa.Array:
    separators = (" , ", " : ") if loose else (",", ":")
    return pa.array([json.dumps(value, separators=separators) for value in values])


def unpacked(found: pa.Array) -> list[Any]:
    return [None if text is None else json.loads(text) for text in found.to_pylist()]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(SENDS | POLLS | st.just(("poll",)), max_size=3), max_size=3), st.booleans()
)
def test_micro_operations_are_read_as_json(values: list[list[Any]], loose: bool) -> None:
    found = micro_operations(texts(column(values, loose=loose)))
    expected: list[Any] = []
    for row, micros in enumerate(values):
        for name, *rest in micros:
            if name == "send":
                offset, value = rest[1]
                expected.append((row, 0, rest[0], offset, value))
            elif rest:
                expected += [
                    (row, 1, key, offset, value)
                    for key, records_ in rest[0].items()
                    for offset, value in records_
                ]
    offsets = [None if each == NONE else each for each in found.offset.tolist()]
    keys, given_ = unpacked(found.key.arrow()), unpacked(found.value.arrow())
    assert list(
        zip(found.row.tolist(), found.kind.tolist(), keys, offsets, given_, strict=True)
    ) == [tuple(json.loads(json.dumps(each))) for each in expected]
    assert not found.wrong.any()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "records", "x\n"]), JSON), max_size=4))
def test_members_are_read_as_json(values: list[dict[str, Any]]) -> None:
    found = members(texts(column(values, loose=False)), ("a", "records"))
    for name in ("a", "records"):
        reported = found[name].arrow().to_pylist()
        assert reported == [
            json.dumps(value[name], separators=(",", ":")) if name in value else None
            for value in values
        ]


def test_lists_and_records() -> None:
    row, values, wrong = items(texts(pa.array(['[1, "b,]" , {"c":[]}]', "[]", None, "3"])))
    assert unpacked(values.arrow()) == [1, "b,]", {"c": []}]
    assert row.tolist() == [0, 0, 0]
    assert wrong.tolist() == [False, False, False, True]
    found = records(texts(pa.array(['[[4,"a",7],[5,"b"]]', "[[1]]", '[["x",1]]', "[[1,2]"])))
    assert found.offset.tolist() == [4, 5] and found.epoch.tolist() == [7, NONE]
    assert found.wrong.tolist() == [False, True, True, True]


@pytest.mark.parametrize(
    "text",
    ["7", "[7]", '[["send",1]]', '[["sent",1,[0,1]]]', '[["poll",[1]]]', '[["poll",{"1":[1]}]]',
     '[["poll",{"1":[[0]]}]]', '[["send",1,[0,1]]', '[["send",1,[0,1],2]]'],
)  # fmt: skip
def test_what_is_no_list_of_micro_operations_is_reported(text: str) -> None:
    assert micro_operations(texts(pa.array([text]))).wrong.all()


def test_a_transaction_as_rows() -> None:
    value = [["send", 1, [4, "a"]], ["poll", {"2": [[0, "b"], [1, "c"]]}], ["send", 3, "d"]]
    asked = [["send", 1, "a"], ["poll"], ["send", 3, "d"]]
    event = {"f": "txn", "process": 5, "ext": {"rebalance-log": [{"keys": [2]}]}}
    events = [
        {"type": "invoke", **event, "value": asked},
        {"type": "info", **event, "value": value, "error": ("X", "")},
    ]
    made = rows(table(events)).filter(pa.compute.field("kind") != int(Kind.LAST))
    reported = [
        made.column(name).to_pylist() for name in ("kind", "place", "key", "offset", "value")
    ]
    assert list(zip(*reported, strict=True)) == [
        (Kind.SEND, 0, "1", 4, '"a"'),
        (Kind.POLL, 1, "2", 0, '"b"'),
        (Kind.POLL, 2, "2", 1, '"c"'),
        (Kind.SEND, 3, "3", None, '"d"'),
    ]
    sends = Flag.PROMISED | Flag.AMONG | Flag.SUBSCRIBES
    polls = Flag.SUBSCRIBES | Flag.REBALANCED
    assert made.column("flags").to_pylist() == [sends, polls, polls, sends]
    assert set(made.column("client").to_pylist()) == {"process 5"}


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ({"f": "send", "value": 7}, 'has to be \\[\\["send"'),
        ({"f": "assign", "value": {"a": 1}}, "has to be a list of keys"),
        ({"f": "produce", "key": "t/0", "value": {"acks": "all"}}, 'has to be {"value"'),
        ({"f": "fetch", "key": "t/0", "value": {"from": 0}}, 'has to be {"records"'),
        ({"f": "commit", "key": "t/0", "value": {"group": "g"}}, 'has to be {"group"'),
        ({"f": "join", "value": {"group": "g"}}, 'has to be {"generation"'),
    ],
)
def test_what_is_malformed_has_one_clear_line(event: dict[str, Any], why: str) -> None:
    done = {"process": 1, **event}
    events = [{"type": "invoke", "process": 0, "f": "poll", "value": [["poll"]]}]
    events += [{"type": "invoke", **done}, {"type": "ok", **done}]
    with pytest.raises(Malformed, match=f"^index 1: the (value|result) of '{event['f']}'.*{why}"):
        rows(table(events))
