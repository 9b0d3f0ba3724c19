"""Every switchable defect ends in INVALID with evidence; runs without one are VALID.

All runs are recorded first, some at a time, then checked in one Spark job. Of the ten healthy runs
of the suite five are here; the others are in containers (`test_runs`), of Apache Kafka, and of
etcd (three).
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import pytest

from framework.checking.engine import check_runs
from framework.checking.results import RunResult
from framework.verdict import Verdict
from nodes.kraft.defects.catalogue import DEFECTS
from tests.end_to_end.runs import recorded

RUNS: Final[Mapping[str, tuple[dict[str, Any], set[str]]]] = {
    "answer-before-commit": (
        {
            "nodes": "3",
            "workload": "topics",
            "nemesis": "partition",
            "targets": "leader",
            "time_limit_s": 9,
            "interval_s": 4,
        },
        {"acknowledged-never-lost", "topic-linearizability"},
    ),
    "acknowledge-before-replication": (
        {
            "nodes": "3",
            "workload": "log",
            "time_limit_s": 16,
            "interval_s": 5,
            # A leader without its followers; brokers that are cut off together keep theirs.
            "nemesis": "partition",
            "targets": "n1",
        },
        {"partition-data", "isr-chain"},
    ),
    "elect-nobody": (
        {"nodes": "3", "workload": "log", "time_limit_s": 15},
        {"asked-is-made"},
    ),
    "forget-deletes": (
        {
            "nodes": "3",
            "workload": "log",
            "time_limit_s": 12,
            "interval_s": 4,
            "nemesis": "kill",
            "targets": "all",
        },
        {"partition-data", "replica-matching"},
    ),
    "forget-vote": (
        {
            "nodes": "3",
            "workload": "topics",
            "time_limit_s": 8,
            "interval_s": 3,
            "nemesis": "kill",
            "targets": "controllers",
        },
        {"monotonic-counters"},
    ),
    "grant-shutdown-at-once": (
        {"nodes": "1+2", "workload": "lifecycle", "time_limit_s": 9},
        {"controlled-shutdown-safety"},
    ),
    "ignore-broker-epoch": (
        {"nodes": "3", "workload": "zombie", "time_limit_s": 6},
        {"zombie-fencing"},
    ),
    "ignore-generation": (
        {"nodes": "3", "workload": "groups:churn_s=2", "time_limit_s": 16},
        {"groups"},
    ),
    "ignore-leader-epoch": (
        {"nodes": "3", "workload": "zombie", "time_limit_s": 7},
        {"zombie-fencing"},
    ),
    "ignore-member-epochs": (
        {"nodes": "3", "workload": "zombie", "time_limit_s": 9},
        {"zombie-fencing", "isr-chain"},
    ),
    "one-queue": (
        # Three floods: where control requests wait for a second, one has room for three of five.
        {"nodes": "3", "workload": "log:flood=500", "observe_s": 1.0, "time_limit_s": 40},
        {"isolation"},
    ),
    "serve-after-lease": (
        {
            "nodes": "1+3",
            "workload": "topics,log",
            "time_limit_s": 14,
            "interval_s": 6,
            "nemesis": "partition",
            "targets": "brokers",
        },
        {"zombie-fencing"},
    ),
    "isr-applied-twice": (
        {"nodes": "3", "workload": "isr", "time_limit_s": 6},
        {"isr-linearizability", "isr-chain"},
    ),
    "undelete-on-failover": (
        {
            "nodes": "3",
            "workload": "topics",
            "time_limit_s": 9,
            "interval_s": 4,
            "nemesis": "kill",
            "targets": "leader",
        },
        {"topic-linearizability", "acknowledged-never-lost"},
    ),
}
HEALTHY: Final[Mapping[str, dict[str, Any]]] = {
    "all faults": {
        # A node that is killed cannot be paused: each fault has victims of its own.
        "nemesis": "partition,pause:target=controllers,kill:target=b1",
        "time_limit_s": 16,
        "interval_s": 4,
    },
    "nothing broken": {"nodes": "3", "time_limit_s": 8},
    "five and five": {
        "nodes": "5+5",
        "workload": "topics,isr",
        "nemesis": "kill",
        "targets": "one",
        "time_limit_s": 12,
        "interval_s": 4,
    },
    "members come and go": {
        "nodes": "3",
        "workload": "groups,lifecycle",
        "nemesis": "pause",
        "targets": "followers",
        "time_limit_s": 12,
        "interval_s": 4,
    },
    "brokers that clients play": {
        "nodes": "3",
        "workload": "isr,zombie,topics",
        "nemesis": "kill",
        "targets": "leader",
        "time_limit_s": 12,
        "interval_s": 4,
    },
}
SEED: Final = 11
AT_ONCE: Final = 2
"""Runs that are recorded at a time: with more, nodes want more of two cores than there is, and all
take as much longer."""
ALONE: Final = ("one-queue",)
"""Not at the time of others, nor of other tests: a machine that has no time delays everything, as
the defect does."""
LONGER: Final = 3
"""So many times as long is a run, once, for which a busy machine did too little, or which hid the
defect from the checkers that are to find it."""


@pytest.fixture(scope="module")
def results(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    alone: Callable[[], AbstractContextManager[None]],
) -> dict[str, RunResult]:
    """What came of each run, by the name of its defect, or of what is healthy in it."""

    def checked(names: Sequence[str], times: int) -> dict[str, RunResult]:
        into = tmp_path_factory.mktemp("defects")

        def record(name: str) -> Path:
            label = name.replace(" ", "-")
            given = dict(HEALTHY[name] if name in HEALTHY else {**RUNS[name][0], "defect": name})
            given["time_limit_s"] *= times
            return recorded(into / label, label, seed=SEED, **given)

        folders: dict[str, Path] = {}
        if by_itself := [name for name in names if name in ALONE]:
            with alone():  # first: no long test is under way, which all others would wait for
                folders |= {name: record(name) for name in by_itself}
        together = [name for name in names if name not in ALONE]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            recording = pool.map(record, together)
            spark = request.getfixturevalue("spark")  # which starts meanwhile
            folders |= zip(together, recording, strict=True)
        return dict(zip(folders, check_runs(spark, list(folders.values())), strict=True))

    results = checked([*RUNS, *HEALTHY], 1)
    wanted = dict.fromkeys(RUNS, Verdict.INVALID) | dict.fromkeys(HEALTHY, Verdict.VALID)
    few = [name for name in wanted if results[name].verdict not in (wanted[name], Verdict.INVALID)]
    few += [name for name in RUNS if name not in few and not convicting(name, results[name])]
    return results | checked(few, LONGER) if few else results


def invalid(result: RunResult) -> set[str]:
    return {each.name for each in result.checkers if each.verdict is Verdict.INVALID}


def convicting(name: str, result: RunResult) -> set[str]:
    """The checkers that are to find the defect, and did."""
    return invalid(result) & RUNS[name][1]


def test_every_defect_has_a_run() -> None:
    assert set(RUNS) == set(DEFECTS)


@pytest.mark.parametrize("name", RUNS)
def test_a_defect_is_found_and_proved(results: dict[str, RunResult], name: str) -> None:
    result = results[name]
    assert result.verdict is Verdict.INVALID
    assert convicting(name, result), f"found by {invalid(result)}"
    for checker in result.checkers:
        for finding in checker.findings:
            assert finding.message
            assert finding.operations or finding.events


@pytest.mark.parametrize("name", HEALTHY)
def test_without_a_defect_a_run_is_valid(results: dict[str, RunResult], name: str) -> None:
    result = results[name]
    reported = {each.name: (each.verdict, each.note, each.findings[:2]) for each in result.checkers}
    assert result.verdict is Verdict.VALID, reported
