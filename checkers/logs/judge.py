"""All checks of a log together, for some whole parts: a pure function from rows to outcomes.

The rows are those of all operations on some keys, and of their runs those that are about no one
key. What is found of a key does not depend on which other keys are there, with one exception: a
transaction of unknown outcome took effect if anything that it sent was polled, of whatever key.
Whoever splits a run's keys tells of such operations (`known`), which `Judged` lists.
"""

import json
from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from checkers.logs.answers import groups, leaders
from checkers.logs.cases import ANOMALIES, Counts, by_part
from checkers.logs.log import Bools, Log, log
from checkers.logs.order import Order, operation, order, run_numbers
from checkers.logs.rows import OK, Flag, Kind
from checkers.logs.sequences import (
    between_polls,
    between_sends,
    consumed_again,
    consumers,
    realtime_lag,
    within_operations,
)
from checkers.logs.values import final_reads, repeated, unpolled, values
from framework.checking.keyed import OUTCOME_ARROW, Outcome, outcome_row
from framework.history.json_walk import Ints
from framework.verdict import Verdict

NAME: Final = "kafka-log"
JUDGED: Final = pa.schema(
    [
        *OUTCOME_ARROW,
        pa.field("known", pa.string()),
        pa.field("waiting", pa.string()),
    ]
)
"""Outcome rows, one a part; the first row of a run has also operations of unknown outcome that send
to several keys, as JSON lists of indices: `known`, of which a value was polled here, and `waiting`,
of which none was."""

Known = Mapping[str, frozenset[int]]
"""By run, operations of unknown outcome that took effect."""


def judge(
    rows: pa.Table, known: Known | None = None, name: str = NAME, at_most: int | None = None
) -> pa.Table:
    """`JUDGED` of `rows.ROWS`, in whatever order they come; by run and key. `at_most`: for so many
    keys an operation counts as seen, where all of its run are here."""
    whole = log(rows)
    found = order(whole, _numbers(whole, known or {}))
    who = consumers(whole, found)
    polls, subscribed = between_polls(whole, found, who)
    cases = [
        *values(whole, found),
        *within_operations(whole, found),
        *polls,
        between_sends(whole, found),
        *leaders(whole, found),
        *groups(whole),
    ]
    findings, counts = by_part(whole, cases)
    figures = _figures(whole, found, subscribed, at_most) | {
        "max_realtime_lag_ms": realtime_lag(whole, found, who) // 1_000_000
    }
    made = []
    reported: set[str] = set()
    for part, (run, key) in enumerate(whole.parts):
        if whole.keyless[part]:
            continue
        numbers = {figure: int(each[part]) for figure, each in figures.items()}
        anomalies = counts.get(part, {})
        outcome = Outcome(
            verdict=Verdict.INVALID if part in findings else Verdict.VALID,
            seen=numbers.pop("seen"),
            findings=findings.get(part, ()),
            figures=numbers | _counted(anomalies),
            note=_note(numbers, anomalies),
        )
        row = outcome_row(run, name, key, outcome)
        if run not in reported:
            reported.add(run)
            row["known"] = _indices(whole, found.known, part)
            row["waiting"] = _indices(whole, found.waiting, part)
        made.append(row)
    return pa.Table.from_pylist(made, schema=JUDGED)


def _numbers(whole: Log, known: Known) -> Ints:
    """Operations by run as the order numbers them."""
    numbers = run_numbers(whole)
    held = [numbers[run] << 40 | index for run in known if run in numbers for index in known[run]]
    return np.array(sorted(held), np.int64)


def _indices(whole: Log, operations: Ints, part: int) -> str:
    """Of numbered operations, the indices of those of a part's run."""
    run = run_numbers(whole)[whole.parts[part][0]]
    return json.dumps((operations[operations >> 40 == run] & ((1 << 40) - 1)).tolist())


def _figures(whole: Log, found: Order, subscribed: Bools, at_most: int | None) -> dict[str, Ints]:
    """By part. Names that begin with `max_` are not added up."""
    part, ok = whole.part[found.rows], whole.type[found.rows] == OK
    parts = len(whole.parts)

    def count(of: Ints) -> Ints:
        return np.bincount(of, minlength=parts)

    again, times = consumed_again(whole, found, subscribed)
    most = np.zeros(parts, np.int64)
    np.maximum.at(most, again, times)
    promised = whole.flagged(Flag.PROMISED)[found.rows]
    facts = whole.having(Kind.FETCH, Kind.COMMIT, Kind.COMMITTED, Kind.OWN)
    polled = count(part[~found.sends])
    # What was sent contradicts nothing, as long as nobody polls.
    told = found.rows[found.sends & ok & (polled[part] > 0)]
    answers = [_answers(whole, each) for each in (found.rows[~found.sends], told, facts)]
    return {
        "seen": _seen(whole, np.concatenate(answers), at_most),
        "sent": count(part[found.sends]),
        "acknowledged": count(part[found.sends & ok & promised]),
        "polled": polled,
        "unpolled": count(unpolled(whole, found)),
        "without_final_read": (final_reads(whole)[0] < 0).astype(np.int64),
        "repeated": count(repeated(whole, found)),
        "consumed_again": count(again),
        "max_consume_count": most,
    }


def _answers(whole: Log, rows: Ints) -> Ints:
    """The first row of each operation in each part, of rows in the order of the log."""
    part, index = whole.part[rows], whole.index[rows]
    first = np.ones(len(rows), bool)
    first[1:] = (np.diff(part) != 0) | (np.diff(index) != 0)
    return rows[first]


def _seen(whole: Log, rows: Ints, at_most: int | None) -> Ints:
    """By part: how many rows, of an operation no more than `at_most`."""
    if at_most is not None:
        numbers = operation(whole, rows)
        by_number = np.argsort(numbers, kind="stable")
        rows, numbers = rows[by_number], numbers[by_number]
        first = np.searchsorted(numbers, numbers)
        rows = rows[np.arange(len(rows)) - first < at_most]
    return np.bincount(whole.part[rows], minlength=len(whole.parts))


def _counted(anomalies: Counts) -> dict[str, int]:
    """Figures of what was found."""
    made: dict[str, int] = {}
    for name in ANOMALIES:
        fatal, allowed = anomalies.get(name, (0, 0))
        made |= {name: fatal} if fatal else {}
        made |= {f"{name} (allowed)": allowed} if allowed else {}
    return made


def _note(numbers: Mapping[str, int], anomalies: Counts) -> str:
    allowed = [name for name in ANOMALIES if anomalies.get(name, (0, 0))[1]]
    notes = [f"{', '.join(allowed)}: seen, and allowed"] if allowed else []
    if numbers["unpolled"] and numbers["without_final_read"]:
        notes.append("values that nobody polled are not judged: nobody read to the end")
    return "; ".join(notes)
