"""Cycles looked for among suspects: what is found is what a search of all finds."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka_histories import Events, anything, singles, transactions
from test_cycles import Txn, logs, serial, table, together

from benchmarks.kafka_transactions import Plant, write
from checkers.logs.cycles import Cycles, cycles, search
from checkers.logs.cycles_edges import overlapping
from checkers.logs.cycles_spread import Suspects, parts_among, suspects
from checkers.logs.cycles_windows import dealt
from checkers.logs.model import LogJob, SpreadLogJob, SuspectsJob
from checkers.logs.rows import INFO
from framework.checking.blocks import exchange
from framework.checking.foreign import Given, check_histories
from framework.checking.keys import BORDERS, SHARES, Job, as_it_is, produce
from framework.history.ranges import ranges
from tests.cases import cases


@dataclass(frozen=True)
class Windows:
    """Tables by window, here."""

    tables: dict[int, pa.Table]

    def visit(self, see: Callable[[pa.Table], pa.Table]) -> pa.Table:
        return pa.concat_tables([see(each) for each in self.tables.values()])


def suspected(rows: pa.Table, window: int, rounds: int = 8) -> dict[str, Suspects]:
    tables = dict(dealt(overlapping(rows), window))
    return Suspects.of(suspects(Windows(tables), rounds, window)) if tables else {}


def spread(txns: Sequence[Txn], window: int, rounds: int = 8) -> Cycles:
    rows = table(txns, "0")
    edges, vertices = parts_among(rows, suspected(rows, window, rounds))
    return search(vertices, edges)


@settings(max_examples=cases(80), deadline=None)
@given(logs(), st.integers(1, 16), st.integers(1, 4))
def test_random_logs_have_the_same_cycles(txns: list[Txn], window: int, rounds: int) -> None:
    """Whatever the windows, and however little they learn of each other. (The clients of these
    logs do several things at once, as processes do not.)"""
    txns = [replace(each, client=f"consumer {each.client}") for each in txns]
    whole, found = cycles(table(txns, "0")), spread(txns, window, rounds)
    assert (found.cycles, found.counts) == (whole.cycles, whole.counts)


@st.composite
def sound_logs(draw: st.DrawFn) -> list[Txn]:
    """Some dozens of operations that take effect one after the other while they overlap; of which
    two values, perhaps, are polled by whoever should not have seen them."""
    count, clients = draw(st.integers(10, 40)), draw(st.integers(2, 6))
    random = draw(st.randoms(use_true_random=False))
    free, begun, ends, moments, open_ = list(range(clients)), [], {}, [], {}
    while len(ends) < count:
        if free and len(begun) < count and random.random() < 0.5:
            client = free.pop(random.randrange(len(free)))
            open_[client] = len(begun)
            begun.append((client, len(moments)))
            moments.append(len(begun) - 1)
        elif open_:
            client = random.choice(sorted(open_))
            ends[open_.pop(client)] = len(moments)
            moments.append(-1)
            free.append(client)
    effect = {at: random.uniform(begun[at][1], ends[at]) for at in range(count)}
    logs_: dict[str, int] = {}
    sends: list[list[tuple[str, int]]] = [[] for _ in range(count)]
    polls: list[list[tuple[str, int]]] = [[] for _ in range(count)]
    for at in sorted(range(count), key=lambda each: effect[each]):
        for key in random.sample("uvwxyz", 3):
            if random.random() < 0.5 and logs_.get(key):
                polls[at].append((key, random.randrange(logs_[key])))
        for key in random.sample("uvwxyz", 2):
            sends[at].append((key, logs_.get(key, 0)))
            logs_[key] = logs_.get(key, 0) + 1
    for _ in range(draw(st.integers(0, 2))):
        polls[random.randrange(count)].append(sends[random.randrange(count)][0])
    doubtful = set(draw(st.lists(st.integers(0, count - 1), max_size=2)))
    return [
        Txn(
            begun[at][1],
            ends[at],
            f"process {at}" if at in doubtful else f"process c{begun[at][0]}",
            tuple(sends[at]),
            () if at in doubtful else tuple(polls[at]),
            INFO if at in doubtful else 0,
        )
        for at in range(count)
    ]


@settings(max_examples=cases(60), deadline=None)
@given(sound_logs(), st.integers(4, 40), st.integers(1, 8))
def test_nearly_sound_logs_have_the_same_cycles(txns: list[Txn], window: int, rounds: int) -> None:
    whole, found = cycles(table(txns, "0")), spread(txns, window, rounds)
    assert (found.cycles, found.counts) == (whole.cycles, whole.counts)


def test_what_takes_effect_in_turn_has_no_suspects() -> None:
    assert not suspected(table(serial(*[([("x", n)], [("x", n)]) for n in range(9)]), "0"), 4)
    turns = [([("x", 0)], []), ([("y", 0)], [("x", 0)]), ([], [("y", 0)])]
    for window in (1, 2, 100):
        assert not any(e.any for e in suspected(table(together(*turns), "0"), window).values())


def test_two_that_read_each_other_are_the_only_suspects() -> None:
    txns = together(([("x", 0)], [("y", 0)]), ([("y", 0)], [("x", 0)]), ([], [("x", 0)]))
    for window in (2, 100):
        (found,) = suspected(table(txns, "0"), window).values()
        assert found.indices.tolist() == [0, 1]
        assert not len(found.low)


def test_what_happened_in_another_run_hides_nothing() -> None:
    """The same operations of two runs: the last row of one stands before the same of the other."""
    first, second = together(([("x", 1)], [("x", 0)]), ([("x", 0)], [("x", 1)]))
    rows = table([replace(first, type=INFO), second], "0")
    other = table([replace(first, type=INFO), second], "1")
    turned = other.take(pa.array(range(len(other) - 1, -1, -1)))
    found = suspected(pa.concat_tables([rows, turned]).unify_dictionaries(), 100)
    assert {run: (each.indices.tolist(), each.proven) for run, each in found.items()} == {
        "0": ([0, 1], 1),
        "1": ([0, 1], 1),
    }


def test_what_was_polled_too_early_is_a_span() -> None:
    """All that began or ended between the poll's end and the value's sending."""
    txns = serial(([], [("x", 0)]), ([("y", 0)], []), ([("x", 0)], []), ([("y", 1)], []))
    for window in (1, 3, 100):
        (found,) = suspected(table(txns, "0"), window).values()
        index, end = (np.array([getattr(each, name) for each in txns]) for name in ("index", "end"))
        assert found.among(index, end).tolist() == [True, True, True, False]


@pytest.mark.parametrize(("plant", "most"), [("none", 0), ("G1c", 10), ("G1c-realtime", 70)])
def test_few_are_suspected(plant: Plant, most: int, tmp_path: Path) -> None:
    """Of 3,000 transactions in two windows or forty."""
    path = tmp_path / "history.parquet"
    write(path, 3_000, plant=plant)
    for window in (150, 4_000):
        first = exchanged(SpreadLogJob(window=window), path)
        if plant == "none":
            assert isinstance(first, pa.Table)
            continue
        assert isinstance(first, SuspectsJob)
        index = np.arange(6_600)
        among = int(first.suspects["0"].among(index, index + 20).sum())
        assert 2 <= among <= most


def exchanged(job: Job, *paths: Path) -> object:
    made = exchange(
        None,
        [each for n, path in enumerate(paths) for each in ranges([path], n, 1 << 16)],
        partial(produce, job=job, buckets=4),
        {BORDERS: as_it_is, SHARES: job.judge},
        later=job.later,
    )
    return job.conclude(made)


UNKNOWN: Events = [
    {"type": "invoke", "process": 0, "f": "txn",
     "value": [["send", 0, [0, "lost"]], ["send", 1, [0, "seen"]]]},
    {"type": "invoke", "process": 1, "f": "send", "value": [["send", 0, "next"]]},
    {"type": "ok", "process": 1, "f": "send", "value": [["send", 0, [1, "next"]]]},
    {"type": "invoke", "process": 2, "f": "poll", "value": [["poll"]]},
    {"type": "ok", "process": 2, "f": "poll",
     "value": [["poll", {"0": [[1, "next"]], "1": [[0, "seen"]]}]]},
]  # fmt: skip
"""Key 1 shows that a transaction took effect, of which a value of key 0 was never polled."""
CROSSED: Events = [
    {"type": "invoke", "process": n, "f": "txn", "value": [["send", n, "v"], ["poll"]]}
    for n in (5, 6)
] + [
    {"type": "ok", "process": own, "f": "txn",
     "value": [["send", own, [0, "v"]], ["poll", {str(other): [[0, "v"]]}]]}
    for own, other in ((5, 6), (6, 5))
]  # fmt: skip
"""Two transactions polled what the other had not committed."""


@pytest.mark.parametrize("job", [LogJob(), SpreadLogJob(window=3), SpreadLogJob()])
def test_jobs_are_done_again_with_what_the_first_one_learnt(job: Job, tmp_path: Path) -> None:
    """Of each history: what took effect as another key shows, and then the cycles of suspects."""
    histories = {"0": UNKNOWN, "1": CROSSED + UNKNOWN, "2": CROSSED, "3": UNKNOWN[1:]}
    paths = [tmp_path / f"{name}.jsonl" for name in histories]
    for path, events in zip(paths, histories.values(), strict=True):
        lines = [{**e, "index": n, "time": n * 1_000_000} for n, e in enumerate(events)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    made: object = job
    jobs = []
    while not isinstance(made, pa.Table):
        assert isinstance(made, LogJob | SpreadLogJob | SuspectsJob)
        jobs.append(type(made))
        assert len(jobs) < 4, "nothing more is learnt"
        made = exchanged(made, *paths)
    kind = type(job)
    assert jobs == [kind, kind, *([SuspectsJob] if kind is SpreadLogJob else [])]
    rows = {(row["run"], row["key"]): row for row in made.to_pylist()}
    assert {row["checker"] for row in rows.values()} == {"kafka"}
    wrong = {name for name, row in rows.items() if row["verdict"] == "INVALID"}
    assert wrong == {("0", "0"), ("1", "0"), ("1", ""), ("2", "")} | {("3", "1")}
    assert {run: rows[run, ""]["seen"] for run in histories} == {"0": 3, "1": 5, "2": 2, "3": 2}


@pytest.mark.parametrize("make", [transactions, singles, anything])
def test_histories_are_judged_alike(make: Callable[[int], Events], tmp_path: Path) -> None:
    """Outcomes, figures and all, in windows of 40 indices and at once."""
    paths = []
    for seed in (1, 10, 29):
        path = tmp_path / f"{seed}.jsonl"
        lines = [{**e, "index": n, "time": n * 1_000_000} for n, e in enumerate(make(seed))]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        paths.append(path)
    given_ = [Given(path, (path,)) for path in paths]
    whole = check_histories(None, given_, "kafka", spread=False)
    small = pytest.MonkeyPatch()
    small.setattr(LogJob, "spread", lambda self: SpreadLogJob(window=40))
    with small.context():
        apart = check_histories(None, given_, "kafka", spread=True)
    small.undo()
    for one, other in zip(whole, apart, strict=True):
        assert one.checkers == other.checkers


@pytest.mark.parametrize("plant", ["none", "G1c", "G1c-realtime"])
def test_planted_cycles_are_found_on_spark(plant: Plant, tmp_path: Path, spark: object) -> None:
    path = tmp_path / "history.parquet"
    write(path, 600, plant=plant)
    given_ = [Given(path, (path,))]
    (there,) = check_histories(spark, given_, "kafka", spread=True, partitions=2)
    (here,) = check_histories(None, given_, "kafka")
    assert there.checkers == here.checkers
    assert [each.message[:3] for each in there.checkers[0].findings if not each.key] == (
        [] if plant == "none" else ["G1c"]
    )
