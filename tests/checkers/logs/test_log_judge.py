"""All checks together: what each partition's outcome says, and what a run's first one says of
operations without an answer."""

import json
from typing import Any

import pyarrow as pa
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
    send,
    subscribe,
)

from checkers.logs.judge import JUDGED, judge
from checkers.logs.rows import ROWS, rows

SENT = [["send", 1, [0, "lost"]], ["send", 2, [0, "seen"]]]
DOUBTFUL = op(0, "txn", SENT, "info") + send(1, (1, "next")) + poll(2, (1, "next"))
"""What was sent to partition 1 is lost if the transaction took effect."""
PROVEN = DOUBTFUL + poll(3, (0, "seen"), key=2)
ALONE = assign(1, 1) + op(0, "txn", SENT, "info") + poll(2, (0, "lost")) + AB[:0]

OPEN: Events = [{"process": 9, "f": "poll", "type": "invoke", "value": [["poll"]]}]
FINAL: Events = [{"f": "phase", "type": "info", "process": "nemesis", "value": "final"}]


def judged(events: Events, **given: Any) -> dict[str, dict[str, Any]]:
    """By partition."""
    return {row["key"]: row for row in judge(rows(table(events)), **given).to_pylist()}


def figures(events: Events, key: str = "1") -> dict[str, int]:
    """Those that are not 0."""
    found: dict[str, int] = json.loads(judged(events)[key]["figures"])
    return {name: count for name, count in found.items() if count}


def test_of_nothing_there_is_no_outcome() -> None:
    assert judge(ROWS.empty_table()) == JUDGED.empty_table()


def test_the_first_outcome_of_a_run_tells_of_what_had_no_answer() -> None:
    """Of each run by itself, by its own indices: what took effect, and what may have."""
    histories = {
        "a": DOUBTFUL,
        "b": PROVEN,
        "c": AB + DOUBTFUL,
        "d": AB,
        "e": ALONE,
        "f": OPEN + DOUBTFUL,
    }
    made = judge(rows(pa.concat_tables([table(e, run) for run, e in histories.items()])))
    assert made.schema.names == JUDGED.names
    found = {(row["run"], row["key"]): (row["known"], row["waiting"]) for row in made.to_pylist()}
    nothing = (None, None)
    assert found == {
        ("a", "1"): ("[]", "[0]"),
        ("a", "2"): nothing,
        ("b", "1"): ("[0]", "[]"),
        ("b", "2"): nothing,
        ("c", "1"): ("[]", "[2]"),
        ("c", "2"): nothing,
        ("d", "1"): ("[]", "[]"),
        ("e", "1"): ("[2]", "[]"),
        ("e", "2"): nothing,
        ("f", "1"): ("[]", "[1]"),
        ("f", "2"): nothing,
    }


def test_what_others_know_to_have_taken_effect_must_not_be_lost() -> None:
    """Of that run, and of no other."""
    histories = {"a": DOUBTFUL, "b": DOUBTFUL, "c": AB}
    made = rows(pa.concat_tables([table(events, run) for run, events in histories.items()]))
    cases: list[tuple[dict[str, frozenset[int]], set[str]]] = [
        ({}, set()),
        ({"b": frozenset([0])}, {"b"}),
        ({"a": frozenset([0]), "b": frozenset([0]), "not here": frozenset([2])}, {"a", "b"}),
        ({"b": frozenset([1])}, set()),
    ]
    for known, wrong in cases:
        found = judge(made, known, "somebody").to_pylist()
        assert {row["run"] for row in found if row["verdict"] == "INVALID"} == wrong
        assert {row["checker"] for row in found} == {"somebody"}


def test_what_was_seen_can_contradict_something() -> None:
    """What is sent does where something is polled; what groups and leaders say does by itself."""
    assert [judged(e)["1"]["seen"] for e in (AB, AB + poll(1, (0, "a")))] == [0, 2]
    facts = commit(1) + committed(1) + fetch(0)
    assert judged(facts)["t/0"]["seen"] == 3
    refused = send(0, (None, "c"), type_="fail")
    assert judged(AB + refused + poll(1, (0, "a")))["1"]["seen"] == 2


def test_an_answer_is_one_sighting_however_many_values_it_shows() -> None:
    once = AB + poll(1, (0, "a"), (1, "b"))
    assert judged(once)["1"]["seen"] == 2
    assert judged(once + poll(2, (0, "a"), (1, "b")))["1"]["seen"] == 3


def test_an_operation_on_many_partitions_is_seen_in_so_many_at_most() -> None:
    """The first ones; each operation of each run by itself."""
    events = [e for key in (1, 2, 3) for e in send(0, (0, f"of {key}"), key=key)]
    events += op(1, "poll", [["poll", {str(key): [[0, f"of {key}"]] for key in (3, 2, 1)}]])
    events += poll(1, (0, "of 3"), key=3)
    made = rows(pa.concat_tables([table(events, run) for run in "ab"]))
    for at_most, seen in ((None, [2, 2, 3]), (3, [2, 2, 3]), (2, [2, 2, 2]), (1, [2, 1, 2])):
        assert judge(made, at_most=at_most)["seen"].to_pylist() == 2 * seen


def test_figures_count_what_was_sent_and_polled() -> None:
    events = ABC + send(0, (None, "d"), type_="info") + poll(1, (0, "a"))
    assert figures(events) == {
        "sent": 4,
        "acknowledged": 3,
        "polled": 1,
        "unpolled": 2,
        "without_final_read": 1,
        "max_realtime_lag_ms": 3,
    }
    written = produce(1, 0, "1") + produce(2, 1) + fetch(0, (0, 1), (1, 2), (2, 1))
    found = {"sent": 2, "acknowledged": 1, "polled": 3, "without_final_read": 1, "repeated": 1}
    assert figures(written, "t/0") == found


def test_the_most_that_one_value_was_consumed_is_reported() -> None:
    group = subscribe(2, 1) + poll(2, (0, "a"), (1, "b")) + poll(2, (1, "b")) + poll(2, (1, "b"))
    found = figures(AB + group + poll(2, (0, "a")))
    assert (found["consumed_again"], found["max_consume_count"]) == (2, 3)
    assert found["nonmonotonic-poll (allowed)"] == 3
    assert "nonmonotonic-poll" not in json.loads(judged(AB + group)["1"]["figures"])


def test_what_was_behind_is_in_milliseconds() -> None:
    late = assign(1, 1) + AB + op(1, "poll", [["poll", {}]])
    assert figures(late)["max_realtime_lag_ms"] == 1
    just = [*late[:-2], {**late[-2], "time": 3_999_999}, late[-1]]
    assert "max_realtime_lag_ms" not in figures(just)


def test_who_reads_all_at_the_end_is_nobody_in_particular() -> None:
    assert "without_final_read" not in figures(FINAL + fetch(0, high_watermark=0), "t/0")
    (row,) = judged(FINAL + produce(1, 0) + fetch(0, high_watermark=0)).values()
    found = json.loads(row["figures"])
    assert (found["unpolled"], found["without_final_read"], row["note"]) == (1, 0, "")


def test_a_note_says_what_was_allowed_and_what_was_not_judged() -> None:
    between = overlapping(send(0, (0, "a"), (2, "c")), send(1, (1, "b")))
    allowed, left = "int-send-skip: seen, and allowed", "nobody read to the end"
    unpolled = f"values that nobody polled are not judged: {left}"
    for events, note in (
        (AB + poll(1, (0, "a"), (1, "b")), ""),
        (between + poll(2, (0, "a"), (1, "b"), (2, "c")), allowed),
        (AB + poll(1, (0, "a")), unpolled),
        (between + poll(2, (0, "a"), (1, "b")), f"{allowed}; {unpolled}"),
    ):
        row = judged(events)["1"]
        assert (row["note"], row["verdict"]) == (note, "VALID")
    group = subscribe(3, 1) + poll(3, (0, "a")) + poll(3, (2, "c")) + poll(3, (1, "b"))
    assert judged(between + group)["1"]["note"] == (
        "int-send-skip, poll-skip, nonmonotonic-poll: seen, and allowed"
    )


def test_a_finding_is_of_its_partition_alone() -> None:
    """What is fatal is counted under its name, and what is allowed beside it."""
    wrong = send(0, (0, "x"), key=2) + poll(2, (0, "x"), (1, "y"), key=2)
    found = judged(AB + poll(1, (0, "a"), (1, "b")) + wrong)
    assert {key: row["verdict"] for key, row in found.items()} == {"1": "VALID", "2": "INVALID"}
    (finding,) = json.loads(found["2"]["findings"])
    assert finding["message"].startswith("unwritten-read: ")
    numbers = json.loads(found["2"]["figures"])
    assert numbers["unwritten-read"] == 1 and "unwritten-read (allowed)" not in numbers
    assert json.loads(found["1"]["findings"]) == []
