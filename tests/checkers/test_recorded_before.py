"""Runs that the code of before the seam recorded have the verdicts that it gave them.

The archive has folders as they were left by 6d3f139, of 21 November 2026, for (in namespaces)

    run --nemesis all --time-limit 30 --interval 4 --seed 7006
    run --defect acknowledge-before-replication --workload log --nemesis partition --target b1
        --time-limit 20 --interval 6 --seed 11
    run --defect forget-vote --nemesis kill --target controllers --time-limit 20 --interval 3
        --seed 11
    run --defect grant-shutdown-at-once --workload lifecycle --time-limit 20 --seed 11
"""

import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from framework.checking.engine import check_runs
from framework.checking.results import RunResult
from framework.hosts.ssh.unpacking import unpack
from framework.verdict import Verdict

ARCHIVE: Final = Path(__file__).with_name("recorded_before.tar.xz")
CONVICTED: Final[Mapping[str, set[str]]] = {
    "all-faults": set(),
    "acknowledge-before-replication": {"kafka-log", "partition-data"},
    "forget-vote": {"monotonic-counters"},
    "grant-shutdown-at-once": {"controlled-shutdown-safety", "replay-invariants"},
}
"""By whom then. All others said VALID."""
FLOORS: Final[Mapping[str, set[str]]] = {
    "all-faults": {"controlled-shutdown-safety"},
    "forget-vote": {"availability", "controlled-shutdown-safety"},
    "grant-shutdown-at-once": {"convergence"},
}
"""Who says UNKNOWN now: the clauses of then had no floors. One broker was let go where two are
asked for, five of six nodes answered, and one answer in the end had a partition."""
ADDED: Final = {"isr-chain"}
"""What isr-linearizability said then is said by this one, too."""


@pytest.fixture(scope="module")
def results(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunResult]:
    into = tmp_path_factory.mktemp("recorded")
    with tarfile.open(ARCHIVE) as archive:
        unpack(archive, into)
    return dict(zip(CONVICTED, check_runs(spark, [into / name for name in CONVICTED]), strict=True))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", CONVICTED)
def test_verdicts_are_those_of_then(name: str, results: dict[str, RunResult]) -> None:
    said = {each.name: each.verdict for each in results[name].checkers}
    by = {
        verdict: {each for each in said if said[each] is verdict} - ADDED
        for verdict in (Verdict.INVALID, Verdict.UNKNOWN)
    }
    assert by == {Verdict.INVALID: CONVICTED[name], Verdict.UNKNOWN: FLOORS.get(name, set())}
    assert len(said) > 15


def test_controllers_told_of_the_first_partition_of_a_request_alone(
    results: dict[str, RunResult],
) -> None:
    """The others seemed to have been asked for by nobody."""
    for name in ("all-faults", "forget-vote"):
        (chain,) = (each for each in results[name].checkers if each.name == "isr-chain")
        assert chain.verdict is Verdict.VALID, chain.findings[:2]
