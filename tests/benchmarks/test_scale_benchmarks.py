"""The benchmarks of the control plane at scale run, on a small scale."""

from collections.abc import Iterator

import pytest

from benchmarks import scale, shutdown

pytestmark = pytest.mark.xdist_group("scale-benchmarks")


def figures(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Each line's title, and its figures by name."""
    for line in text.splitlines():
        title, _, rest = line.partition(": ")
        yield title, dict(item.rsplit(" ", 1) for item in rest.split(", ") if " " in item)


def test_controllers_at_scale(capsys: pytest.CaptureFixture[str]) -> None:
    argv = "--topics 30 --partitions 5 --brokers 5 --seconds 0.5 --failovers 1 --snapshot-ms 2000"
    scale.main(argv.split())
    reported = dict(figures(capsys.readouterr().out))
    assert reported["creation"]["partitions"] == "150"
    assert int(reported["memory, MiB"]["active"]) > 10
    for in_flight in scale.IN_FLIGHT:
        measured = reported[f"commits, {in_flight} in flight"]
        assert int(measured["per_second"]) > 0
        assert float(measured["p99_ms"]) >= float(measured["p50_ms"]) > 0
    assert int(reported["failover"]["election_to_first_commit_ms"]) > 0
    assert int(reported["restart from snapshot"]["snapshot_records"]) > 150
    assert int(reported["controlled shutdown"]["partitions_moved"]) > 30


def test_a_real_broker_leaves_and_comes_back(capsys: pytest.CaptureFixture[str]) -> None:
    shutdown.main(["--topics", "2", "--partitions", "10"])
    reported = dict(figures(capsys.readouterr().out))
    assert reported["controlled shutdown"]["leads"] == "20"
    assert float(reported["controlled shutdown"]["granted_s"]) > 0
    assert reported["controlled shutdown"]["exit_code"] == "0"
    assert float(reported["return"]["in_every_isr_s"]) > 0
