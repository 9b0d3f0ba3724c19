"""Every key of a table: its rows, what it saw, and what is wrong with it."""

from typing import Any

import pytest

from checkers.linearizability.encoded import NEVER, Kind
from checkers.linearizability.encoding.encode import encode, encode_keys, malformed
from tests.checkers.linearizability.test_encode import op, table

CREATE = op("create", outcome="info", at=0)


def test_keys_are_in_the_order_of_runs_and_keys() -> None:
    whole = table(op("write", 1, at=4, key="b"), op("read", result=1, at=2, key="a"))
    keys = encode_keys("register", whole)
    assert list(keys.names) == [("r", '"a"'), ("r", '"b"')]
    assert [each.rows.tolist() for each in keys] == [[1], [0]]
    assert [each.key for each in keys[:1]] == ['"a"']
    assert [each.key for each in keys[-1:]] == ['"b"']
    assert len(keys) == 2 and keys[1].key == '"b"'
    for outside in (2, -1):
        with pytest.raises(IndexError):
            keys[outside]


def test_rows_of_a_key_are_in_the_order_of_their_invocations() -> None:
    operations = [op("write", at, at=at, key=key) for at, key in ((6, "a"), (0, "b"), (2, "a"))]
    keys = encode_keys("register", table(*operations))
    assert [each.rows.tolist() for each in keys] == [[2, 0], [1]]
    assert keys[0].encoded.call.tolist() == [2, 6]
    assert keys[0].encoded.ret.tolist() == [3, 7]
    assert [keys[0].encoded.values[n] for n in keys[0].encoded.b] == ["2", "6"]


@pytest.mark.parametrize(
    ("model", "operations", "seen"),
    [
        ("register", [op("write", 1), op("read", result=1, at=2)], 1),
        ("register", [op("read", result=1), op("read", result=1, at=2)], 0),  # nothing was done
        ("register", [op("cas", [1, 2])], 0),  # alone
        ("register", [op("cas", [1, 2]), op("read", outcome="fail", at=2)], 0),
        ("register", [op("cas", [1, 2], "fail"), op("write", 1, "info", at=2)], 1),
        ("register", [op("write", 1), op("write", 1, at=2)], 0),
        ("register", [op("cas", [1, 2], "info"), op("write", 1, at=2)], 0),  # it saw nothing
        ("queue", [op("enqueue", 1), op("dequeue", result=1, at=2), op("dequeue", at=4)], 2),
        ("queue", [op("dequeue"), op("dequeue", at=2)], 0),
        ("kv", [op("write", "a"), op("read", result="a", at=2), op("append", "b", at=4)], 1),
        ("set", [op("add"), op("contains", result=True, at=2)], 2),
    ],
)
def test_what_another_order_might_contradict(model: str, operations: Any, seen: int) -> None:
    (key,) = encode_keys(model, table(*operations))
    assert key.seen == seen


def test_a_malformed_key_has_no_operations_and_others_are_as_they_were() -> None:
    whole = table(
        op("cas", 4, at=0, key="a"),
        op("read", result=1, at=2, key="a"),
        op("read", result=1, at=4, key="b"),
        op("dance", at=6, key="c"),
    )
    keys = encode_keys("register", whole)
    assert [each.is_malformed for each in keys] == [True, False, True]
    assert [len(each.encoded) for each in keys] == [0, 1, 0]
    assert malformed("register", whole) == (0, "value of cas must be [from, to]")
    assert malformed("register", whole.slice(1)) == (
        6,
        "'dance' is not an operation of register: read, write, cas",
    )
    assert malformed("register", whole.slice(1, 2)) is None


def test_of_strings_every_key_is_more_than_its_cells() -> None:
    whole = table(op("write", "a", key="a"), op("write", 7, at=2, key="b"))
    first, second = encode_keys("kv", whole)
    assert first.encoded.transitions is not None and len(first.encoded) == 1
    assert second.is_malformed and not len(second.encoded)


@pytest.mark.parametrize(("model", "once"), [("topics", False), ("kafka topics", True)])
def test_of_topics_those_whose_ids_were_hidden(model: str, once: bool) -> None:
    seen = op("describe", result={"topic_id": "A"}, at=2, key="b")
    hidden = op("create", outcome="info", at=0, key="b")
    shown = op("create", result={"topic_id": "B"}, at=4, key="c")
    lonely = op("create", outcome="info", at=6, key="a")
    keys = encode_keys(model, table(hidden, seen, shown, lonely))
    assert [each.encoded.transitions is not None for each in keys] == [False, not once, False]
    if once:  # only one can have made it
        assert keys[1].encoded.a[1] == keys[1].encoded.b[0]
    assert [each.encoded.kind.tolist() for each in keys if each.key != '"b"'] == [[Kind.CAS]] * 2


def test_a_table_without_runs_or_keys() -> None:
    whole = table(op("read", result=1, key="a"), op("write", 1, at=2, key="b"))
    (only,) = encode_keys("register", whole.drop_columns(["run", "key"]))
    assert (only.run, only.key, len(only.encoded)) == ("", "null", 2)
    keys = encode_keys("register", whole.drop_columns(["run"]))
    assert list(keys.names) == [("", '"a"'), ("", '"b"')]
    assert len(encode("register", whole)) == 2


def test_what_is_pending_never_returns() -> None:
    whole = table(op("write", 1, "info", at=0), op("write", 1, "none", at=2), op("write", 2, at=4))
    assert encode("register", whole).ret.tolist() == [NEVER, NEVER, 5]
