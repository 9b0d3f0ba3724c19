"""Histories read in parts and judged in buckets: the same as judged whole."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from kafka_histories import Events, anything, singles, table, transactions
from test_kafka_planted import op, poll, send

from checkers.logs import job
from checkers.logs.cycle_outcomes import outcomes, parts_of
from checkers.logs.cycles_edges import completed, overlapping
from checkers.logs.cycles_spread import Suspects, parts_among
from checkers.logs.cycles_windows import dealt
from checkers.logs.job import (
    OPERATIONS,
    RESULTS,
    TOGETHER,
    WINDOWS,
    by_stage,
    cycles_among,
    judge_shares,
    learnt,
    seen_by_run,
    shares,
    spread_shares,
    still_known,
    suspected_shares,
    together,
)
from checkers.logs.judge import NAME, judge
from checkers.logs.rows import ROWS, rows
from framework.checking import keys
from framework.checking.keyed import OUTCOME_ARROW
from framework.history.ingest import COMPLETION, EVENTS, OPERATION, PART
from framework.history.ranges import ranges

Outcomes = list[tuple[Any, ...]]


def written(events: Events, folder: Path) -> Path:
    path = folder / "history.jsonl"
    lines = [{**event, "index": n, "time": n * 1_000_000} for n, event in enumerate(events)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def in_shares(path: Path, buckets: int, size: int, file: int = 0) -> dict[int, list[pa.Table]]:
    """By bucket what a file, of that number, is dealt to in ranges of about `size` bytes."""
    dealt: dict[int, list[pa.Table]] = {}
    for source in ranges([path], file, size):
        for part in keys.parts_of(source):
            for bucket, share in shares(part, buckets):
                dealt.setdefault(bucket, []).append(share)
    return dealt


def spread_among(share: pa.Table) -> list[tuple[str, int, pa.Table]]:
    return list(spread_shares(share, {}, NAME, 3))


def of_all_buckets(dealt: Iterable[pa.Table]) -> list[tuple[int, int, str]]:
    """What each bucket is told beside its rows: (bucket, role, f)."""
    return [
        (row["bucket"], each["role"], each["f"])
        for share in dealt
        for row in share.to_pylist()
        if row["bucket"] is not None
        for each in job._read(row["raw"]).to_pylist()
    ]


def in_buckets(path: Path, buckets: int, size: int, file: int = 0) -> pa.Table:
    """What becomes of it."""
    dealt = in_shares(path, buckets, size, file)
    known: dict[str, frozenset[int]] = {}
    while True:
        results = pa.concat_tables(
            [judge_shares(pa.concat_tables(dealt[each]), known) for each in sorted(dealt)]
        )
        more = still_known(results)
        if not more:
            return results
        assert not more.items() <= known.items(), "a second job has to know more"
        known = {run: known.get(run, frozenset()) | ops for run, ops in more.items()}


def concluded(results: pa.Table) -> pa.Table:
    """Of all buckets' results, the outcome rows, and those of cycles."""
    stages: dict[str, list[pa.Table]] = {}
    for stage, bucket, each in by_stage(results):
        assert bucket == 0
        stages.setdefault(stage, []).append(each)
    needed = stages.get(TOGETHER, [RESULTS.empty_table()])
    found = together(pa.concat_tables(needed), NAME)
    assert not learnt(found)
    return pa.concat_tables([*stages[keys.SHARES], job.plain(found)])


def plain(outcome: pa.Table) -> Outcomes:
    reported = outcome.select(OUTCOME_ARROW.names).to_pylist()
    return sorted(tuple(row.values()) for row in reported)


def whole(events: Events, run: str = "0") -> Outcomes:
    made = rows(table(events, run))
    cycles = parts_of(made)
    found = outcomes(*cycles, NAME) if cycles is not None else []
    judged = judge(made).select(OUTCOME_ARROW.names).cast(OUTCOME_ARROW)
    return plain(pa.concat_tables([judged, pa.Table.from_pylist(found, OUTCOME_ARROW)]))


@pytest.mark.parametrize("make", [transactions, singles, anything])
def test_parts_and_buckets_change_nothing(make: Callable[[int], Events], tmp_path: Path) -> None:
    for seed in (1, 10, 29):
        events = make(seed)
        path = written(events, tmp_path)
        expected = whole(events)
        for buckets, size in ((1, 1 << 20), (1, 700), (2, 1 << 20), (8, 1500)):
            assert plain(concluded(in_buckets(path, buckets, size))) == expected, (seed, buckets)


@pytest.mark.parametrize("make", [transactions, singles])
def test_parts_of_another_file_are_numbered_by_that(
    make: Callable[[int], Events], tmp_path: Path
) -> None:
    events = make(10)
    found = concluded(in_buckets(written(events, tmp_path), 2, 700, file=3))
    assert plain(found) == whole(events, "3")


def test_what_another_bucket_knows_is_reported(tmp_path: Path) -> None:
    """Key 1 shows that the transaction took effect; its value of key 0 was never polled."""
    sent = [["send", 0, [0, "lost"]], ["send", 1, [0, "seen"]]]
    events: Events = [
        {"type": "invoke", "process": 0, "f": "txn", "value": sent},
        {"type": "invoke", "process": 1, "f": "send", "value": [["send", 0, "next"]]},
        {"type": "ok", "process": 1, "f": "send", "value": [["send", 0, [1, "next"]]]},
        {"type": "invoke", "process": 2, "f": "poll", "value": [["poll"]]},
        {
            "type": "ok",
            "process": 2,
            "f": "poll",
            "value": [["poll", {"0": [[1, "next"]], "1": [[0, "seen"]]}]],
        },
    ]
    path = written(events, tmp_path)
    for buckets in (1, 2, 8):
        found = concluded(in_buckets(path, buckets, 1 << 20)).to_pylist()
        assert {row["key"] for row in found if row["verdict"] == "INVALID"} == {"0"}
        assert plain(pa.Table.from_pylist(found, OUTCOME_ARROW)) == whole(events)


def test_what_is_malformed_is_reported_with_its_true_index(tmp_path: Path) -> None:
    events = transactions(3)
    value = [["send", 1]]
    events += [
        {"type": "invoke", "process": 777, "f": "send", "value": value},
        {"type": "fail", "process": 777, "f": "send", "value": value},
    ]
    path = written(events, tmp_path)
    for buckets, size, file in ((1, 1 << 20, 0), (4, 900, 0), (4, 900, 3)):
        found = in_buckets(path, buckets, size, file).to_pylist()
        wrong = [row for row in found if row["verdict"] == keys.MALFORMED]
        assert [(row["run"], row["seen"]) for row in wrong] == [(str(file), len(events) - 2)]
        assert "it has to be" in wrong[0]["note"]


def test_what_is_malformed_and_ends_in_another_part_is_reported(tmp_path: Path) -> None:
    bad = op(7, "send", [["send", 1, [0, "v"]]])
    bad[1]["value"] = [["send", 1]]
    between = [event for n in range(9) for event in send(0, (n, f"v{n}"), key=2)]
    events: Events = [*send(0, (9, "v"), key=2), bad[0], *between, bad[1]]
    for buckets, file in ((1, 0), (4, 3)):
        found = in_buckets(written(events, tmp_path), buckets, 700, file).to_pylist()
        wrong = {(row["run"], row["seen"]) for row in found if row["verdict"] == keys.MALFORMED}
        assert wrong == {(str(file), 2)}


def test_of_what_is_malformed_that_alone_is_spread(tmp_path: Path) -> None:
    value = [["send", 1]]
    events: Events = [
        {"type": "invoke", "process": 7, "f": "send", "value": value},
        {"type": "fail", "process": 7, "f": "send", "value": value},
    ]
    (share,) = in_shares(written(events, tmp_path), 1, 1 << 20)[0]
    ((stage, bucket, found),) = spread_shares(share, {}, NAME)
    assert (stage, bucket) == (keys.SHARES, 0)
    assert found["verdict"].to_pylist() == [keys.MALFORMED]


LONG = "x" * 400
APART: Events = [
    *op(1, "describe", LONG),
    *send(0, (0, "a")),
    *op(1, "describe", LONG),
    *op(1, "describe", LONG),
    *poll(2, (0, "a")),
    {"type": "invoke", "process": 3, "f": "describe", "value": LONG},
]
"""Nothing of it that is of a log begins in one part of 900 bytes and ends in another."""


def test_what_all_buckets_are_told_is_what_crosses_borders(tmp_path: Path) -> None:
    crossing = [send(9, (1, "b"))[0], *APART, *send(9, (1, "b"))[1:]]
    for events, crosses in ((APART, []), (crossing, [(OPERATION, "send"), (COMPLETION, None)])):
        dealt = in_shares(written(events, tmp_path), 2, 900)
        for bucket in range(2):
            found = [each[1:] for each in of_all_buckets(dealt[bucket]) if each[0] == bucket]
            assert found.count((EVENTS, None)) > 1
            assert {each for each in found if each[0] == OPERATION} == {*crosses[:1]}
            assert set(crosses) <= set(found)
        assert plain(concluded(in_buckets(tmp_path / "history.jsonl", 2, 900))) == whole(events)


def test_in_what_stands_alone_nothing_crosses(tmp_path: Path) -> None:
    """A file that is read at once, and parts of one that has operations, not events: what never
    returned is a row like any other."""
    events: Events = [*APART, send(9, (1, "b"))[0]]
    alone = in_shares(written(events, tmp_path), 2, 1 << 20)
    assert not of_all_buckets(share for dealt in alone.values() for share in dealt)
    parts = [
        replace(part, border=replace(part.border, whole=True))
        for source in ranges([tmp_path / "history.jsonl"], 0, 900)
        for part in keys.parts_of(source)
    ]
    assert len(parts) > 1
    dealt = [share for part in parts for _, share in shares(part, 1)]
    assert not [each for each in of_all_buckets(dealt) if each[1] == OPERATION]
    kept = [row["client"] for share in dealt for row in share.to_pylist() if not row["raw"]]
    assert "process 9" in kept


def test_of_a_bucket_what_may_depend_is_spread_over_windows(tmp_path: Path) -> None:
    for make, spreads in ((transactions, True), (singles, False)):
        events = make(10)
        made = rows(table(events, "0"))
        share = pa.concat_tables(in_shares(written(events, tmp_path), 1, 1 << 20)[0])
        (first, *rest) = spread_among(share)
        assert first[:2] == (keys.SHARES, 0)
        assert plain(first[2]) == plain(judge(made).select(OUTCOME_ARROW.names))
        assert first[2].num_rows and "edges" not in first[2].column_names
        assert bool(rest) == spreads
        if spreads:
            count, *windows = rest
            assert count[:2] == (OPERATIONS, 0) and count[2].equals(completed(made))
            expected = dict(dealt(overlapping(made), 3))
            assert {stage for stage, _, _ in windows} == {WINDOWS}
            assert {at: each.to_pylist() for _, at, each in windows} == {
                at: each.to_pylist() for at, each in expected.items()
            }


def test_of_a_bucket_what_suspects_depend_on_is_one_row(tmp_path: Path) -> None:
    none = np.array([], np.int64)
    for make, depends in ((transactions, True), (singles, False)):
        events = make(10)
        made = rows(table(events, "0"))
        who = {"0": Suspects(np.unique(made["index"].to_numpy()), none, none, 0)}
        share = pa.concat_tables(in_shares(written(events, tmp_path), 1, 1 << 20)[0])
        found = suspected_shares(share, who)
        assert found.schema.equals(RESULTS) and found.num_rows == depends
        for row in found.to_pylist():
            parts = [job._read(row.pop(each)) for each in ("edges", "vertices")]
            expected = parts_among(made, who)
            assert [each.to_pylist() for each in parts] == [each.to_pylist() for each in expected]
            assert expected[0].num_rows and not any(row.values())


def test_of_a_bucket_with_nothing_there_is_no_result() -> None:
    assert not job._with_cycles(judge(ROWS.empty_table()), ROWS.empty_table()).num_rows


def test_what_no_bucket_waits_for_or_knows_is_not_asked_again() -> None:
    results = [
        {"run": "0", "known": "[1, 2]", "waiting": None},
        {"run": "0", "known": None, "waiting": "[2, 3]"},
        {"run": "1", "known": "[3]", "waiting": None},
    ]
    assert still_known(pa.Table.from_pylist(results, RESULTS)) == {"0": {2}}


def test_operations_that_may_depend_are_counted_over_buckets_and_with_those_proven() -> None:
    counts = pa.Table.from_pylist(
        [{"run": run, "operations": count} for run, count in (("a", 3), ("b", 5), ("a", 4))]
    )
    none = np.array([], np.int64)
    proven = {"b": Suspects(none, none, none, 2)}
    assert seen_by_run(counts, proven) == {"a": 7, "b": 7}


def test_of_cycles_among_suspects_all_operations_are_named(tmp_path: Path) -> None:
    """Also where nothing is suspected."""
    verdicts = set()
    for seed in range(3):
        results = in_buckets(written(anything(seed), tmp_path), 2, 1 << 20)
        *_, cycles = concluded(results).to_pylist()
        (among,) = cycles_among(results, {cycles["run"]: 77}, NAME).to_pylist()
        assert among == cycles | {"seen": 77}
        verdicts.add(among["verdict"])
        (none,) = cycles_among(results.slice(0, 0), {"0": 5}, NAME).to_pylist()
        assert (none["verdict"], none["seen"], none["findings"]) == ("VALID", 5, "[]")
        assert not concluded(results.slice(0, 0)).num_rows
    assert "INVALID" in verdicts


def test_while_something_is_to_be_learnt_nobody_searches_for_cycles() -> None:
    """And nothing of what the others know stays with the driver."""
    empty = dict.fromkeys(RESULTS.names)
    results = pa.Table.from_pylist(
        [
            empty | {"run": "a", "key": "1", "known": "[3, 4]", "waiting": "[]", "edges": b"none"},
            empty | {"run": "a", "key": "2", "known": "[]", "waiting": "[4]"},
            empty | {"run": "a", "key": "3", "known": "[]", "waiting": "[]"},
            empty | {"run": "a", "key": "4"},
        ],
        RESULTS,
    )
    (first, outcomes), (second, needed) = ((to, each) for to, _, each in by_stage(results))
    assert (first, second) == (keys.SHARES, TOGETHER)
    assert outcomes.schema == OUTCOME_ARROW and outcomes["key"].to_pylist() == ["1", "2", "3", "4"]
    assert needed["key"].to_pylist() == ["1", "2"]
    assert learnt(together(needed)) == {"a": frozenset([4])}


def test_parts_behind_the_final_phase_are_of_it_until_the_file_ends() -> None:
    """Whichever of them say so."""
    parts = [
        (0, 0, 10, None),
        (0, 1, 5, "final"),
        (0, 2, 3, None),
        (0, 3, 4, None),
        (1, 0, 2, None),
    ]
    counts = [
        {"role": EVENTS, "file": file, "range": number, "index": events, "phase": phase}
        for file, number, events, phase in parts
    ]
    first, late = job._starts(pa.Table.from_pylist(counts, PART))
    assert first == {0: 0, 1: 10, 2: 15, 3: 18, 1 << 32: 0}
    assert late == {2, 3}
