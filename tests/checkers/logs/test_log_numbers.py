"""Logs of several runs as numbers: which part a row is of, and which operation."""

import json

import numpy as np
import pyarrow as pa
import pytest
from kafka_histories import table
from test_kafka_planted import assign, op, poll, send
from test_log_judge import PROVEN

from checkers.logs.log import NEVER, log
from checkers.logs.order import operation, order
from checkers.logs.rows import rows


def test_parts_are_keys_of_runs_and_operations_those_of_runs() -> None:
    made = log(pa.concat_tables([rows(table(PROVEN, run)) for run in "ba"]))
    assert [each for each in made.parts if each[1]] == [(run, key) for run in "ab" for key in "12"]
    of = operation(made, np.arange(len(made))).tolist()
    indices = [
        (made.parts[part][0], index)
        for part, index in zip(made.part, made.index.tolist(), strict=True)
    ]
    assert len(set(of)) == len(set(indices)) == len({*zip(of, indices, strict=True)}) < len(of)


def test_what_took_effect_is_what_had_no_answer_and_was_polled() -> None:
    """A send that failed did not, whoever polled it; and what was sent was not read by that."""
    events = send(0, (0, "sent")) + op(1, "send", [["send", 1, [1, "failed"]]], "fail")
    found = order(log(rows(table(events + poll(2, (1, "failed"))))))
    committed = [bool(each) for each in found.committed[found.sends]]
    assert (committed, found.read.tolist()) == ([True, False], [False, True])


def test_clients_are_those_of_runs_and_what_has_no_end_never_ends() -> None:
    events = [*send(0, (0, "a")), *assign(0, 1), *send(0, (1, "b"))[:1]]
    made = log(pa.concat_tables([rows(table(events, run)) for run in "ab"]))
    runs = [made.parts[part][0] for part in made.part]
    assert len({*zip(runs, made.client.tolist(), strict=True)}) == 2
    assert len(set(made.client.tolist())) == 2
    assert (made.end == NEVER).sum() == 2 and (made.end >= 0).all()
    assert {key for _, key in made.parts} == {"", "1"}


def test_parts_are_in_the_order_of_their_names() -> None:
    """In whatever order they come, and what is of no key before those of its run."""
    events = send(0, (0, "one"), key=9) + send(2, (0, "other"), key=10)
    made = log(pa.concat_tables([rows(table(events, run)) for run in "ba"]))
    assert made.parts == sorted(made.parts) and len(made.parts) > 3


@pytest.mark.parametrize("length", [58, 59])
def test_values_are_named_by_their_first_characters(length: int) -> None:
    """Each by its own, the first one too; what is no value is nothing."""
    long = "x" * length
    made = log(rows(table(send(0, (0, long)) + poll(2, (0, long)))))
    named = {made.text(row) for row in range(len(made)) if made.value[row] == 0}
    shown = json.dumps(long)
    assert named == {shown if len(shown) <= 60 else shown[:57] + "..."}


def test_names_that_a_dictionary_has_twice_are_one() -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int32()), ["c", "c"])
    made = rows(table(send(0, (0, "a")) + send(2, (1, "b")) + send(4, (2, "c"))))
    at = made.column_names.index("client")
    clients = twice.take(pa.array(np.arange(made.num_rows) % 3))
    found = log(made.set_column(at, made.schema.field(at), clients))
    assert len(set(found.client.tolist())) == 1
    assert found.client_name(0) == "c"
