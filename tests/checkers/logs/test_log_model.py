"""The jobs of `check --model kafka`: what one makes of what its buckets say, and which is next."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from test_cycles_spread import CROSSED
from test_cycles_suspects import Row, seen

from checkers.logs.cycles_edges import COUNTS
from checkers.logs.cycles_spread import Suspects, suspects
from checkers.logs.cycles_windows import PROVEN, SUSPECT
from checkers.logs.job import OPERATIONS, RESULTS, WINDOWS, by_stage
from checkers.logs.model import LogJob, Logs, SpreadLogJob, SuspectsJob
from framework.checking.keyed import OUTCOME_ARROW
from framework.checking.keys import SHARES, parts_of
from framework.history.ranges import ranges

Stage = tuple[str, int, pa.Table]
Made = dict[str, pa.Table]


def results(*rows: tuple[str, list[int], list[int]]) -> dict[str, pa.Table]:
    """What buckets make of parts: (run, known, waiting) of each."""
    empty = dict.fromkeys(RESULTS.names)
    made = [
        empty | {"run": run, "key": "k", "known": json.dumps(known), "waiting": json.dumps(waiting)}
        for run, known, waiting in rows
    ]
    return staged([pa.Table.from_pylist(made, RESULTS)], LogJob())


def staged(buckets: Iterable[pa.Table | Iterable[Stage]], job: LogJob | SuspectsJob) -> Made:
    """What comes of what buckets made, by stage."""
    stages: dict[str, list[pa.Table]] = {}
    for each in buckets:
        for stage, bucket, table in by_stage(each) if isinstance(each, pa.Table) else each:
            assert bucket == 0
            stages.setdefault(stage, []).append(table)
    made = {stage: pa.concat_tables(tables) for stage, tables in stages.items()}
    return made | {stage: job.later[stage](Here(made[stage])) for stage in {*made} & {*job.later}}


@dataclass
class Here:
    """The only bucket."""

    table: pa.Table

    def visit(self, see: Callable[[pa.Table], pa.Table]) -> pa.Table:
        return see(self.table)


def knows(job: object) -> dict[str, set[int]]:
    assert isinstance(job, LogJob | SpreadLogJob)
    return {run: set(ops) for run, ops in job.known.items()}


LEARNT = results(("a", [1, 2], []), ("a", [], [2, 3]), ("b", [1], [4]), ("c", [5], [5]))
SETTLED = results(("a", [1, 2], []), ("b", [], [2]))


@pytest.mark.parametrize("job", [LogJob, SpreadLogJob])
def test_what_one_bucket_waits_for_and_another_knows_comes_to_all(job: Any) -> None:
    """Beside what they knew before."""
    before = {"a": frozenset([9]), "d": frozenset([8])}
    after = job("said", known=before).conclude(LEARNT)
    assert (type(after), after.summary) == (job, "said")
    assert knows(after) == {"a": {2, 9}, "c": {5}, "d": {8}}


@pytest.mark.parametrize("job", [LogJob(), SpreadLogJob()])
def test_where_nothing_more_is_learnt_there_are_outcomes(job: LogJob | SpreadLogJob) -> None:
    found = job.conclude(SETTLED)
    assert isinstance(found, pa.Table)
    assert [(row["run"], row["key"]) for row in found.to_pylist()] == [("a", "k"), ("b", "k")]
    nothing = job.conclude({})
    assert isinstance(nothing, pa.Table) and not nothing.num_rows


def test_suspects_are_looked_at_again_and_others_are_not() -> None:
    ops: list[Row] = [(0, SUSPECT, 7, 7, 7), (0, PROVEN, 6, 6, 6), (1, PROVEN, 3, 3, 3)]
    counts = pa.table({"run": ["0", "1", "0"], "operations": [2, 4, 3]}, COUNTS)
    made = {**SETTLED, WINDOWS: seen(*ops), OPERATIONS: counts}
    found = SpreadLogJob("said", window=5).conclude(made)
    assert isinstance(found, SuspectsJob)
    assert (found.summary, found.seen) == ("said", {"0": 6, "1": 5})
    assert {run: each.indices.tolist() for run, each in found.suspects.items()} == {"0": [7]}
    assert [row["run"] for row in found.outcomes.to_pylist()] == ["a", "b"]

    concluded = found.conclude({})
    seen_of = {row["run"]: row["seen"] for row in concluded.to_pylist() if not row["key"]}
    assert seen_of == {"0": 6, "1": 5}
    assert concluded.num_rows == 4

    alone = SpreadLogJob().conclude({**made, WINDOWS: seen(*ops[2:]), OPERATIONS: counts[1:2]})
    assert isinstance(alone, pa.Table)
    assert [(row["run"], row["seen"]) for row in alone.to_pylist() if not row["key"]] == [("1", 5)]


def test_what_is_too_large_is_spread_once() -> None:
    """In windows of the size that was asked for."""
    spread = LogJob("said").spread()
    assert (type(spread), spread.summary, spread.spread()) == (SpreadLogJob, "said", spread)
    later = SpreadLogJob(window=7).later[WINDOWS]
    assert isinstance(later, partial)
    assert (later.func, later.keywords) == (suspects, {"window": 7})
    last = SuspectsJob("said", {}, {}, pa.table({}))
    assert last.spread() is last
    assert isinstance(Logs().job("kafka", 1.0), LogJob)


def shared(job: LogJob | SpreadLogJob | SuspectsJob, folder: Path) -> pa.Table:
    """Of two transactions that polled what the other had not committed, in one bucket."""
    path = folder / "history.jsonl"
    events = [{**event, "index": n, "time": n} for n, event in enumerate(CROSSED)]
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    parts = [part for source in ranges([path], 0, 1 << 20) for part in parts_of(source)]
    return pa.concat_tables([share for part in parts for _, share in job.shares(part, 1)])


def test_a_job_judges_what_it_shares_out(tmp_path: Path) -> None:
    job = LogJob()
    found = job.conclude(staged([job.judge(shared(job, tmp_path))], job))
    assert isinstance(found, pa.Table)
    verdicts = {row["key"]: row["verdict"] for row in found.to_pylist()}
    assert verdicts == {"": "INVALID", "5": "VALID", "6": "VALID"}


def test_a_job_that_is_spread_deals_out_windows(tmp_path: Path) -> None:
    """Of the size that was asked for, and with what each bucket says of its keys."""
    job = SpreadLogJob(window=1)
    made = [(stage, bucket) for stage, bucket, _ in job.judge(shared(job, tmp_path))]
    assert made == [(SHARES, 0), (OPERATIONS, 0), (WINDOWS, 0), (WINDOWS, 1)]


def test_only_what_suspects_depend_on_is_taken(tmp_path: Path) -> None:
    none = np.array([], np.int64)
    outcomes = pa.Table.from_pylist([], OUTCOME_ARROW)
    for ops, verdict in (([0, 1], "INVALID"), ([0], "VALID")):
        given = {"0": Suspects(np.array(ops, np.int64), none, none, 0)}
        job = SuspectsJob("", given, {"0": 2}, outcomes)
        found = job.conclude(staged([job.judge(shared(job, tmp_path))], job))
        assert [(row["seen"], row["verdict"]) for row in found.to_pylist()] == [(2, verdict)]
