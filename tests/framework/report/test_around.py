"""Logs are placed in the time of the run; around a finding is what was near, and nothing else."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from test_report_figures import fault, run_of

from framework.report.around import MAX_MOMENTS, around
from framework.report.logs import LogLine, placed, read_logs, zero_of
from framework.report.nodes import Span

ZERO = datetime(2026, 11, 22, 16, 10, 1, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-22 16:10:03,750 INFO up",
        "[2026-11-22 16:10:03,750] INFO up",
        "2026-11-22T16:10:03.750Z INFO up",
        "2026-11-22T16:10:03.750123456Z INFO up",
        "2026-11-22 17:10:03,750 INFO up",
        "2026-11-22 10:40:03,750 INFO up",
        "2026-11-23T01:55:03.750+09:45 INFO up",
    ],
)
def test_times_of_every_form_and_zone(line: str) -> None:
    assert placed("c1", [line], ZERO) == [LogLine(2.25, "c1", "INFO up")]


def test_zone_is_that_of_the_first_line() -> None:
    lines = ["2026-11-22 18:09:58,500 start", "2026-11-22 18:30:01,500 twenty minutes later"]
    assert [line.time_s for line in placed("c1", lines, ZERO)] == [-3.0, 1200.0]


def test_lines_without_a_time_go_with_the_one_before() -> None:
    lines = [
        "a banner, before any time",
        "2026-11-22 16:10:02,500 ERROR broke",
        "  at a.b.c",
        "",
        "2026-99-99 16:10:03,000 no such day",
        "x" * 5000,
    ]
    found = placed("c1", lines, ZERO)
    assert [line.time_s for line in found] == [1.0] * 3
    assert [line.text[:12] for line in found] == ["ERROR broke", "  at a.b.c", "x" * 12]
    assert len(found[-1].text) < 300


def test_logs_of_all_nodes_in_order_of_time_and_nothing_else(tmp_path: Path) -> None:
    for node, second in (("b1", 4), ("c1", 3)):
        (tmp_path / "nodes" / node / "data" / "t-0").mkdir(parents=True)
        path = tmp_path / "nodes" / node / "node.log"
        path.write_bytes(f"2026-11-22 16:10:0{second},500 \xff here\n".encode("latin-1"))
        (tmp_path / "nodes" / node / "data" / "t-0" / "0.log").write_bytes(path.read_bytes())
    assert [(line.node, line.time_s) for line in read_logs(tmp_path, ZERO)] == [
        ("c1", 2.0),
        ("b1", 3.0),
    ]


def test_zero_of_a_plan() -> None:
    assert zero_of({"time_zero": ZERO.isoformat()}) == ZERO
    for other in ({}, {"time_zero": None}, {"time_zero": "x"}, {"time_zero": "2026-11-22 10:00"}):
        assert zero_of(other) is None
    hours = (ZERO + timedelta(hours=0)).astimezone()
    assert zero_of({"time_zero": hours.isoformat()}) == ZERO


def test_around_has_what_is_near_in_order() -> None:
    run = run_of(
        injections=[fault(3, 9.8, 30.0), fault(4, 50.0, 60.0)],
        spans=[
            Span(node="c1", lane="role", state="leader", epoch=5, start_s=10.4, end_s=99),
            Span(node="b1", lane="broker", state="fenced", epoch=None, start_s=11.4, end_s=99),
            Span(node="b2", lane="broker", state="active", epoch=1, start_s=1.0, end_s=99),
        ],
        logs=[LogLine(9.4, "c1", "early"), LogLine(9.5, "c1", "x"), LogLine(11.6, "c1", "late")],
    )
    found = around(run, 10.0, 11.0)
    assert [(each["time"], each["who"], each["what"], each["kind"]) for each in found] == [
        (9.5, "c1", "x", "log"),
        (9.8, "fault 3", "partition halves injected", "fault"),
        (10.4, "c1", "leader, epoch 5", "node"),
        (11.4, "b1", "broker fenced", "node"),
    ]


def test_of_too_much_the_nearest_stays() -> None:
    logs = [LogLine(i / 100, "c1", str(i)) for i in range(1000)]
    run = run_of(injections=[fault(1, 5.4, None)], logs=logs)
    found = around(run, 5.0, 5.0)
    assert len(found) == MAX_MOMENTS
    assert [each["kind"] for each in found].count("fault") == 1
    times = [each["time"] for each in found if each["kind"] == "log"]
    assert min(times) > 4.6
    assert max(times) < 5.4
    assert 5.0 in times
