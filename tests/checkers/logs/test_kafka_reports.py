"""What is said of a log beside the verdict: how many cases, which of them, figures and notes."""

import json
from itertools import chain
from typing import Any

import pytest
from kafka_histories import Events, table
from test_kafka_planted import (
    AB,
    ABC,
    assign,
    commit,
    committed,
    fetch,
    op,
    overlapping,
    poll,
    produce,
    read_all,
    send,
    subscribe,
)

from checkers.logs.judge import judge
from checkers.logs.rows import rows


def reported(events: Events) -> dict[str, dict[str, Any]]:
    """By key: the row, its findings, and its figures but for those that are 0."""
    made = {}
    for row in judge(rows(table(events))).to_pylist():
        figures = {name: count for name, count in json.loads(row["figures"]).items() if count}
        made[row["key"]] = {**row, "findings": json.loads(row["findings"]), "figures": figures}
    return made


def lost(key: int, count: int) -> Events:
    """So many values that were acknowledged, and then one that somebody polled."""
    sends = (send(0, (offset, f"v{offset}"), key=key) for offset in range(count))
    end = (count, "end")
    return [*chain(*sends), *send(1, end, key=key), *poll(2, end, key=key)]


def test_of_many_cases_five_of_each_key_are_reported_and_all_are_counted() -> None:
    found = reported([*lost(1, 7), *lost(2, 3), *lost(3, 5)])
    assert {key: each["figures"]["lost-write"] for key, each in found.items()} == {
        "1": 7,
        "2": 3,
        "3": 5,
    }
    cited = {key: [each["operations"] for each in found[key]["findings"]] for key in found}
    assert cited == {
        "1": [[0, 16], [2, 16], [4, 16], [6, 16], [8, 16]],
        "2": [[18, 26], [20, 26], [22, 26]],
        "3": [[28, 40], [30, 40], [32, 40], [34, 40], [36, 40]],
    }


@pytest.mark.parametrize(
    ("events", "figures", "seen"),
    [
        # An acknowledged send that promises nothing, one without an answer, one that failed.
        (
            [
                *produce(1, 0),
                *produce(2, 1, "1"),
                *op(3, "send", [["send", "t/0", [2, 3]]], "info"),
                *op(4, "send", [["send", "t/0", [None, 4]]], "fail"),
                *fetch(0, (0, 1), (1, 2), high_watermark=3),
                *fetch(0, (0, 1), consumer="b"),
            ],
            {"sent": 4, "acknowledged": 1, "polled": 3, "without_final_read": 1},
            2 + 2 + 2,
        ),
        # What nobody polls contradicts nothing.
        (AB, {"sent": 2, "acknowledged": 2, "unpolled": 2, "without_final_read": 1}, 0),
        (
            commit(3) + committed(3) + commit(4, type_="info"),
            {"without_final_read": 1},
            3,
        ),
        (
            AB + read_all(2, 1) + poll(2, (0, "a"), (1, "b")) + poll(2) + poll(2),
            {"sent": 2, "acknowledged": 2, "polled": 2},
            1 + 1,
        ),
        # Who is assigned the key, and goes to its beginning, polls again what it wants.
        (
            AB + assign(1, 1) + poll(1, (0, "a"), (1, "b")) + read_all(1, 1) + poll(1, (0, "a")),
            {"sent": 2, "acknowledged": 2, "polled": 3, "without_final_read": 1},
            1 + 2,
        ),
        # Who sends what it polls itself.
        (
            send(1, (0, "a")) + subscribe(1, 1) + poll(1, (0, "a")),
            {"sent": 1, "acknowledged": 1, "polled": 1, "without_final_read": 1},
            1 + 1,
        ),
        # Two values, one of them three times; another client has no part in it.
        (
            AB + subscribe(1, 1) + poll(1, (0, "a"), (1, "b")) + poll(1, (0, "a"), (1, "b"))
            + poll(1, (1, "b")) + subscribe(2, 1) + poll(2, (0, "a"), (1, "b")),
            {"sent": 2, "acknowledged": 2, "polled": 7, "consumed_again": 2,
             "max_consume_count": 3, "nonmonotonic-poll (allowed)": 2, "without_final_read": 1},
            1 + 4,
        ),
    ],
)  # fmt: skip
def test_figures_count_what_there_was(events: Events, figures: dict[str, int], seen: int) -> None:
    (found,) = reported(events).values()
    lag = found["figures"].pop("max_realtime_lag_ms", 0)
    assert (found["figures"], found["seen"]) == (figures, seen) and lag >= 0
    assert (found["verdict"], found["findings"]) == ("VALID", [])


SKIPPED = ABC + subscribe(1, 1) + poll(1, (0, "a")) + poll(1, (2, "c"))
BETWEEN = overlapping(send(0, (0, "a"), (2, "c")), send(1, (1, "b")))
UNREAD = "values that nobody polled are not judged: nobody read to the end"


@pytest.mark.parametrize(
    ("events", "note"),
    [
        (AB + poll(2, (0, "a"), (1, "b")), ""),
        (AB + poll(2, (0, "a")), UNREAD),
        (SKIPPED + poll(2, (1, "b")), "poll-skip: seen, and allowed"),
        (
            BETWEEN + subscribe(4, 1) + poll(4, (0, "a")) + poll(4, (2, "c")),
            f"int-send-skip, poll-skip: seen, and allowed; {UNREAD}",
        ),
    ],
)  # fmt: skip
def test_a_note_says_what_was_allowed_and_what_was_not_judged(events: Events, note: str) -> None:
    (found,) = reported(events).values()
    assert found["note"] == note


@pytest.mark.parametrize(
    ("value", "shown"),
    [("x" * 58, "x" * 58 + '"'), ("x" * 59, "x" * 56 + "...")],
)
def test_long_values_are_cut(value: str, shown: str) -> None:
    (found,) = reported(poll(0, (0, value))).values()
    (finding,) = found["findings"]
    assert finding["message"] == (
        f'unwritten-read: operation 0 polled "{shown} at offset 0, which nobody sent'
    )
