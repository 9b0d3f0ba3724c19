"""The `txn` workload's schedule, against partitions in memory; `kafka-log` judges its histories."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from dataclasses import replace
from importlib import metadata
from typing import Any

import pyarrow as pa
import pytest
from histories import pairs

from checkers.logs.judge import judge
from checkers.logs.rows import rows
from framework.checking.columns import Columns
from framework.checking.runs import OPERATIONS, add_operation
from framework.errors import UsageError
from framework.generators import clients, limit, phases, simulate, stagger
from framework.history.event import Event
from framework.history.pairing import Pairing
from framework.plugins.options import parse_options
from framework.plugins.workload import WorkloadOptions
from workloads import txn
from workloads.kafka.operations.transactions import BEGINNING, END
from workloads.txn import FINAL_ATTEMPTS, Txn, TxnOptions

KEYS = TxnOptions().keys
THREADS = 4
MOST_RECORDS = 10


class ReferenceTransactions:
    """Callable as a completion function: partitions as lists of what was committed. `lose`: the
    share of transactions whose answer is lost, half of them after they took effect. `torn`: now and
    then a transaction that is acknowledged leaves out its last record, `leaks`: one that was
    aborted is committed. `deaf`: polls are not answered."""

    def __init__(
        self,
        *,
        lose: float = 0.0,
        torn: bool = False,
        leaks: bool = False,
        deaf: bool = False,
    ) -> None:
        self.rng = random.Random(1)
        self.lose, self.torn, self.leaks, self.deaf = lose, torn, leaks, deaf
        self.logs: dict[str, list[int | None]] = {key: [] for key in KEYS}
        self.positions: dict[Any, dict[str, int]] = {}

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        lost = op.f == "txn" and self.rng.random() < self.lose
        unknown = replace(op, type="info", value=None, error=("_TIMED_OUT", ""))
        if lost and self.rng.random() < 0.5:
            return 2_000_000_000, unknown
        done = getattr(self, f"_{op.f}", self._other)(op)
        return (2_000_000_000, unknown) if lost else (self.rng.randrange(10**6, 10**8), done)

    def _other(self, op: Event) -> Event:
        return replace(op, type="ok", value=[])

    def _create(self, op: Event) -> Event:
        return replace(op, type="ok", value={"topic_id": "t"})

    def _fence(self, op: Event) -> Event:
        return replace(op, type="ok", value=None)

    def _assign(self, op: Event) -> Event:
        assert op.ext is not None
        before = {} if op.ext[BEGINNING] else self.positions.get(op.process, {})
        self.positions[op.process] = {key: before.get(key, 0) for key in op.value}
        return replace(op, type="ok")

    def _poll(self, op: Event) -> Event:
        return replace(op, type="ok", value=[self._polled(op.process)])

    def _polled(self, process: Any) -> list[Any]:
        if self.deaf:
            return ["poll"]
        positions, found = self.positions[process], dict[str, Any]()
        for key, position in positions.items():
            values = self.logs[key][position : position + MOST_RECORDS]
            positions[key] += len(values)
            records = [[position + n, value] for n, value in enumerate(values) if value is not None]
            if records:
                found[key] = records
        return ["poll", found]

    def _txn(self, op: Event) -> Event:
        assert op.ext is not None
        aborted = op.ext[END] != "commit"
        if aborted and not (self.leaks and self.rng.random() < 0.3):
            return replace(op, type="fail", value=None, error=(op.ext[END].upper(), ""))
        before = dict(self.positions[op.process])
        done: list[Any] = []
        for step in op.value:
            if step[0] == "poll":
                done.append(self._polled(op.process))
                continue
            _, key, value = step
            done.append(["send", key, [len(self.logs[key]), value]])
            # What is left out leaves a gap.
            self.logs[key].append(None if self.torn and value % 20 == 0 else value)
        if not aborted:
            return replace(op, type="ok", value=done)
        self.positions[op.process] = before
        return replace(op, type="fail", value=None, error=(op.ext[END].upper(), ""))


def run(cluster: ReferenceTransactions, *, main: int = 800, seed: int = 0) -> list[Event]:
    """That many operations, and the final phase."""
    workload = Txn()
    options = WorkloadOptions(seed=seed, threads=THREADS, rate=50.0)
    schedule = phases(
        limit(main, stagger(1 / 50, workload.generator(options))),
        workload.final_generator(options),
    )
    return simulate(clients(schedule), threads=THREADS, seed=seed, completion=cluster)


@pytest.fixture(scope="module")
def history() -> list[Event]:
    return run(ReferenceTransactions(lose=0.05))


def test_every_kind_of_operation_happens(history: list[Event]) -> None:
    seen = Counter((op.f, end.type) for op, end in pairs(history))
    assert seen["txn", "ok"] > 300 and seen["poll", "ok"] > 80, seen
    assert seen["txn", "fail"] > 80 and seen["txn", "info"] > 15 and seen["fence", "ok"] > 20, seen
    asked = [event for event in history if event.type == "invoke" and event.f == "txn"]
    assert {(event.ext or {})[END] for event in asked} == {"commit", "abort", "abandon"}
    assert {event.value[0][0] for event in asked} == {"poll", "send"}


def test_values_are_unique_and_go_to_all_partitions(history: list[Event]) -> None:
    asked = [event for event in history if event.type == "invoke" and event.f == "txn"]
    sends = [step for event in asked for step in event.value if step[0] == "send"]
    assert len({value for _, _, value in sends}) == len(sends)
    assert {key for _, key, _ in sends} == set(KEYS)
    counts = Counter(sum(step[0] == "send" for step in event.value) for event in asked)
    assert set(counts) == {1, 2, 3, 4}


def test_nobody_polls_before_it_is_assigned_something(history: list[Event]) -> None:
    assigned = set()
    for event in history:
        if event.f == "assign" and event.type == "ok":
            assigned.add(event.process)
        if event.type == "invoke" and event.f in ("txn", "poll"):
            assert event.process in assigned, event
    assert len(assigned) > THREADS, "after an unknown outcome a process is a new consumer"


def final(history: list[Event]) -> list[Event]:
    """From the last operation of the main phase on."""
    last = max(n for n, event in enumerate(history) if event.f == "txn")
    return history[last + 1 :]


def test_in_the_end_all_ids_are_taken_over_and_all_is_read(history: list[Event]) -> None:
    end = final(history)
    fenced = {event.key for event in end if event.type == "ok" and event.f == "fence"}
    assert fenced == {f"txn-{thread}" for thread in range(THREADS)}
    (assigned,) = [event for event in end if event.type == "invoke" and event.f == "assign"]
    assert list(assigned.value) == list(KEYS) and (assigned.ext or {})[BEGINNING] is True
    polls = [event.value for event in end if event.type == "ok" and event.f == "poll"]
    assert polls[-2:] == [[["poll", {}]]] * 2 and polls[-3] != [["poll", {}]]
    assert {event.process for event in end if event.f in ("assign", "poll")} == {assigned.process}


def test_a_final_reader_that_is_answered_nothing_gives_up() -> None:
    end = final(run(ReferenceTransactions(deaf=True), main=100))
    asked = [event for event in end if event.type == "invoke" and event.f in ("assign", "poll")]
    assert len(asked) == FINAL_ATTEMPTS


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        ({}, set()),
        ({"torn": True}, {"lost-write", "poll-skip", "int-poll-skip", "unseen"}),
        ({"leaks": True}, {"G1a"}),
    ],
)
def test_what_is_recorded_can_be_judged(broken: dict[str, bool], found: set[str]) -> None:
    history = run(ReferenceTransactions(lose=0.05, **broken), main=400)
    judged = judge(rows(operations(history))).to_pylist()
    named = {name for row in judged for name in anomalies(row["findings"])}
    assert named <= found and bool(named) == bool(found)
    assert sum(row["seen"] for row in judged) > 500


def operations(history: list[Event]) -> pa.Table:
    """As checkers are given them."""
    columns, pairing = Columns(OPERATIONS), Pairing()
    for index, event in enumerate(history):
        pairing.add(replace(event, index=index))
    for operation in pairing.operations:
        add_operation(columns, "r", operation)
    return columns.table()


def anomalies(findings: str) -> set[str]:
    """That findings tell of."""
    return {each["message"].partition(":")[0] for each in json.loads(findings)}


@pytest.mark.parametrize(
    ("wrong", "why"),
    [({"sends": 0}, "sends"), ({"late": 1.5}, "late=1.5"), ({"late_s": 0}, "late_s=0")],
)
def test_options_that_cannot_be(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        TxnOptions(**wrong)


def test_producers_are_ours_where_that_is_asked_for() -> None:
    asked = parse_options(TxnOptions, "producer=raw,late=0.1", "workload txn")
    assert (asked.producer, TxnOptions().producer) == ("raw", "librdkafka")
    with pytest.raises(UsageError, match="producer=java is not"):
        parse_options(TxnOptions, "producer=java", "workload txn")


def test_what_a_machine_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        return subprocess.CompletedProcess([], 1)

    monkeypatch.setattr(txn.subprocess, "run", fails)
    assert "network of their own" in (Txn().lacking() or "")

    def none(_: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(txn.metadata, "version", none)
    assert "pip install 'confluent-kafka" in (Txn().lacking() or "")
