"""Logs of several runs as numbers: which part a row is of, and which operation."""

import numpy as np
import pyarrow as pa
from kafka_histories import table
from test_kafka_planted import op, poll, send
from test_log_judge import PROVEN

from checkers.logs.log import log
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
