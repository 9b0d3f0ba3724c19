"""JSON read where it lies, and operations as rows."""

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka_histories import Events, table
from test_kafka_planted import (
    assign,
    commit,
    committed,
    fetch,
    join,
    op,
    poll,
    produce,
    read_all,
    send,
    single,
    subscribe,
)

from checkers.logs.records import micro_operations, records
from checkers.logs.rows import FAIL, INFO, ROWS, Flag, Kind, Malformed, key_text, rows
from framework.history.json_columns import items, members, texts
from framework.history.json_walk import NONE
from tests.cases import cases

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


@settings(max_examples=cases(60), deadline=None)
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


@settings(max_examples=cases(60), deadline=None)
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


LEFT_OUT = ("run", "index", "end", "invoked_ns", "completed_ns")
KEYED = {"key": "t/0"}
OF_A = {"client": "consumer a", **KEYED}
OF_0 = {"client": "process 0", **KEYED}
OF_M = {"client": "member m", "group": "g"}
FINAL = {"f": "phase", "type": "info", "process": "nemesis", "value": "final"}


def shown(events: Events) -> list[dict[str, Any]]:
    """What each row says beside whose it is, where that is something, and not 0."""
    found = []
    for row in rows(table(events)).to_pylist():
        row["kind"] = Kind(row["kind"]).name
        some = {name: each for name, each in row.items() if each not in (None, 0)}
        found.append({name: each for name, each in some.items() if name not in LEFT_OUT})
    return found


@pytest.mark.parametrize(
    ("events", "wanted"),
    [
        (
            produce(7, 3),
            [OF_0 | {"kind": "SEND", "offset": 3, "value": "7", "flags": Flag.PROMISED}],
        ),
        (  # brokers say -1 where they do not know the offset
            produce("x", -1, "1"),
            [OF_0 | {"kind": "SEND", "value": '"x"', "flags": Flag.MAY_REPEAT}],
        ),
        (
            [FINAL, *produce(1, 2, "-1", idempotent=True)],
            [
                OF_0
                | {
                    "kind": "SEND",
                    "offset": 2,
                    "value": "1",
                    "flags": Flag.PROMISED | Flag.FINAL,
                }
            ],
        ),
        (
            single("produce", {"value": None}, None, "info"),
            [OF_0 | {"kind": "SEND", "type": INFO, "value": "null", "flags": Flag.PROMISED}],
        ),
        (
            fetch(
                2, (2, "a", 4), (5, "b"), high_watermark=9, log_start=1, leader_epoch=6, position=7
            ),
            [
                OF_A
                | {"kind": "FETCH", "offset": 2, "epoch": 6, "watermark": 9, "until": 7}
                | {"node": "b1"},
                OF_A
                | {"kind": "POLL", "place": 1, "offset": 2, "value": '"a"', "epoch": 4}
                | {"watermark": 9},
                OF_A | {"kind": "POLL", "place": 2, "offset": 5, "value": '"b"', "watermark": 9},
                OF_0 | {"kind": "START", "offset": 1},
            ],
        ),
        (
            produce(1, 2, "1", idempotent=True),
            [OF_0 | {"kind": "SEND", "offset": 2, "value": "1"}],
        ),
        (fetch(3, log_start=0), [OF_A | {"kind": "FETCH", "offset": 3, "until": 3, "node": "b1"}]),
        (  # of nobody's consumer, that does not say where it is after it
            single("fetch", {"from": 3}, {"records": [[4, 1]]}, node="b2"),
            [
                OF_0 | {"kind": "FETCH", "offset": 3, "until": 5, "node": "b2"},
                OF_0 | {"kind": "POLL", "place": 1, "offset": 4, "value": "1"},
            ],
        ),
        (single("fetch", {"from": 3}, None, "info"), []),
        (
            single("seek", {"consumer": "a", "to": 4}, None, "info"),
            [OF_A | {"kind": "SEEK", "type": INFO, "offset": 4}],
        ),
        (single("seek", {"consumer": "a", "to": 4}, None, "fail"), []),
        (commit(3, -1), [KEYED | OF_M | {"kind": "COMMIT", "offset": 3, "epoch": -1}]),
        (
            commit(3, 2, "fail"),
            [KEYED | OF_M | {"kind": "COMMIT", "type": FAIL, "offset": 3, "epoch": 2}],
        ),
        (
            single("forget", {"group": "g"}, None, "info"),
            [OF_0 | {"kind": "COMMIT", "type": INFO, "group": "g"}],
        ),
        (committed(None), [OF_0 | {"kind": "COMMITTED", "group": "g"}]),
        (committed(3), [OF_0 | {"kind": "COMMITTED", "group": "g", "offset": 3}]),
        (committed(-1), [OF_0 | {"kind": "COMMITTED", "group": "g"}]),
        (single("committed", {"group": "g"}, None, "fail"), []),
        (
            join("m", 4, "t/0", "t/1"),
            [
                OF_M | {"kind": "JOIN", "epoch": 4},
                OF_M | {"kind": "OWN", "epoch": 4, "place": 1, "key": "t/0"},
                OF_M | {"kind": "OWN", "epoch": 4, "place": 2, "key": "t/1"},
            ],
        ),
        (single("join", {"group": "g", "member": "m"}, None, "info", key=None), []),
        (
            assign(1, 1, 2),
            [
                {"client": "process 1", "kind": "ASSIGN"},
                {"client": "process 1", "kind": "ASSIGN", "place": 1, "key": "1"},
                {"client": "process 1", "kind": "ASSIGN", "place": 2, "key": "2"},
            ],
        ),
        (
            read_all(1, 3),
            [
                {"client": "process 1", "kind": "ASSIGN", "flags": 16},
                {"client": "process 1", "kind": "ASSIGN", "place": 1, "key": "3", "flags": 16},
            ],
        ),
        (assign(1, 1, type_="fail"), []),
        (subscribe(4), [{"client": "process 4", "kind": "SUBSCRIBE"}]),
    ],
)
def test_operations_as_rows(events: Events, wanted: list[dict[str, Any]]) -> None:
    assert shown(events) == wanted


def test_what_was_never_answered_is_what_was_asked() -> None:
    """Behind something that was."""
    found = shown(send(0, (0, "a")) + send(1, (None, "b"))[:1])
    assert [(each["value"], each.get("type")) for each in found] == [('"a"', None), ('"b"', INFO)]


def flags(events: Events) -> list[tuple[str, int]]:
    """Of records that were sent or polled, by value."""
    made = rows(table(events)).to_pylist()
    return [(each["value"], each["flags"]) for each in made if each["value"] is not None]


@pytest.mark.parametrize("log", [None, [], [{}], [{"keys": None}], [{"keys": [2, "x"]}]])
def test_a_poll_of_keys_that_stay_is_of_a_subscription_alone(log: Any) -> None:
    polled = poll(1, (0, "a"), ext={"rebalance-log": log})
    assert flags(polled) == [('"a"', Flag.SUBSCRIBES)]


def test_keys_change_hands_during_one_operation() -> None:
    logged = poll(1, (0, "a"), ext={"rebalance-log": [{"keys": [2]}, {"keys": [1]}]})
    moved = Flag.SUBSCRIBES | Flag.REBALANCED
    found = flags(poll(1, (1, "b")) + logged + poll(1, (2, "c")))
    assert found == [('"b"', Flag.SUBSCRIBES), ('"a"', moved), ('"c"', Flag.SUBSCRIBES)]


def test_who_sends_to_one_key_sends_not_among_several() -> None:
    alone = Flag.PROMISED | Flag.SUBSCRIBES
    found = flags(send(0, (0, "a"), (1, "b")) + send(1, (0, "c"), key=2))
    assert found == [('"a"', alone), ('"b"', alone), ('"c"', alone)]


@pytest.mark.parametrize(
    ("key", "text"),
    [("t/0", "t/0"), (2, "2"), ({"b": 1, "a": [2]}, '{"a":[2],"b":1}')],
)
def test_a_key_that_is_no_string_is_its_json(key: Any, text: str) -> None:
    assert key_text(key) == text
    assert {each["key"] for each in rows(table(fetch_of(key))).to_pylist()} == {text}


def fetch_of(key: Any) -> Events:
    return single("fetch", {"consumer": "a", "from": 0}, {"records": [[0, 1]]}, key=key)


def test_without_operations_on_logs_there_are_no_rows() -> None:
    others = op(0, "read", None)
    for events in ([], others):
        made = rows(table(events))
        assert made.schema == ROWS and made.num_rows == 0


def test_rows_are_the_same_however_many_operations_are_read_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events = assign(1, 1) + poll(1, (0, "a")) + poll(1, (1, "b")) + poll(2) + poll(1, (2, "c"))

    def found() -> list[str]:
        return sorted(json.dumps(each) for each in rows(table(events)).to_pylist())

    at_once = found()
    monkeypatch.setattr("checkers.logs.rows.BATCH", 2)
    assert found() == at_once


def test_the_last_poll_of_each_client_says_how_many_there_were() -> None:
    """Since it was assigned anew; and each poll when the one before it was invoked."""
    nothing = op(1, "poll", [["poll"]], "info")
    events = [
        *poll(1, (0, "a")),  # at 0 ms
        *assign(1, 1),
        *poll(1),  # at 4 ms
        *subscribe(1, 1)[:1],
        {**subscribe(1, 1)[1], "type": "fail"},
        *poll(1),  # at 8 ms
        *poll(2),
        *send(2, (1, "b")),
        *poll(1, (1, "b")),  # at 14 ms
        *nothing,
    ]
    made = rows(table(events)).to_pylist()
    last = [each for each in made if each["kind"] == Kind.LAST]
    assert [(each["client"], each["offset"], each["until"]) for each in last] == [
        ("process 1", 3, 1),
        ("process 2", 1, 1),
    ]
    polls = {each["index"]: each["previous_ns"] for each in made if each["kind"] == Kind.POLL}
    assert polls == {0: None, 14: 8_000_000}
    anew = [each["previous_ns"] for each in made if each["kind"] == Kind.ASSIGN]
    assert anew == [0, 0]
    scattered = rows(table(events), scattered=True).to_pylist()
    each_poll = [
        (each["index"], each["offset"], each["until"])
        for each in scattered
        if each["kind"] == Kind.LAST
    ]
    assert each_poll == [(0, 1, 1), (4, 1, 1), (8, 1, 1), (14, 1, 1), (10, 1, 1)]


def test_clients_of_different_runs_are_different() -> None:
    runs = [table(poll(1, (0, "a")), run) for run in ("r", "s")]
    made = rows(pa.concat_tables(runs)).to_pylist()
    assert {(each["run"], each["previous_ns"]) for each in made} == {("r", None), ("s", None)}
    assert [each["run"] for each in made if each["kind"] == Kind.LAST] == ["r", "s"]


def test_flags_differ() -> None:
    bits = [each.value for each in Flag.__members__.values()]
    assert all(each.bit_count() == 1 for each in bits) and len(set(bits)) == len(bits)


def test_what_has_no_answer_is_malformed_by_what_was_asked() -> None:
    asked = {"type": "invoke", "process": 0, "f": "send", "value": 7}
    with pytest.raises(Malformed, match=r"^index 0: the value of 'send' is 7"):
        rows(table([asked, {**asked, "type": "info", "value": None}]))
    with pytest.raises(Malformed, match=r"^index 0: the value of 'send' is 7"):
        rows(table([asked]))


def test_what_is_malformed_in_an_answer_is_no_matter_how_short() -> None:
    event = {"process": 0, "f": "send"}
    asked = {**event, "type": "invoke", "value": [["send", 1, "a"]]}
    with pytest.raises(Malformed, match=r"^index 0: the result of 'send' is 7"):
        rows(table([asked, {**event, "type": "info", "value": 7}]))


def test_the_first_of_many_malformed_is_reported() -> None:
    wrong = {"f": "send", "value": 7}
    odd = {"f": "assign", "value": 8}
    events = [
        {"type": type_, "process": process, **each}
        for process, each in enumerate([odd, wrong, odd])
        for type_ in ("invoke", "ok")
    ]
    with pytest.raises(Malformed, match=r"^index 0: the result of 'assign' is 8"):
        rows(table(events))


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ({"f": "send", "value": 7}, 'has to be \\[\\["send"'),
        ({"f": "assign", "value": {"a": 1}}, "has to be a list of keys"),
        ({"f": "produce", "key": "t/0", "value": {"acks": "all"}}, 'has to be {"value"'),
        ({"f": "fetch", "key": "t/0", "value": {"from": 0}}, 'has to be {"records"'),
        ({"f": "commit", "key": "t/0", "value": {"group": "g"}}, 'has to be {"group"'),
        ({"f": "committed", "key": "t/0", "value": {}}, 'has to be {"group"'),
        ({"f": "forget", "key": "t/0", "value": {}}, 'has to be {"group"'),
        ({"f": "join", "value": {"group": "g"}}, 'has to be {"generation"'),
        ({"f": "join", "value": {"generation": 1, "assigned": []}}, 'has to be {"group"'),
    ],
)
def test_what_is_malformed_has_one_clear_line(event: dict[str, Any], why: str) -> None:
    done = {"process": 1, **event}
    events = [{"type": "invoke", "process": 0, "f": "poll", "value": [["poll"]]}]
    events += [{"type": "invoke", **done}, {"type": "ok", **done}]
    with pytest.raises(Malformed, match=f"^index 1: the (value|result) of '{event['f']}'.*{why}"):
        rows(table(events))
