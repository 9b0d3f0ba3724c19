"""Which clock decides what: the monotonic one everything, the wall clock nothing."""

from __future__ import annotations

import ast
import time
from pathlib import Path

import pytest

import nodes.kraft
from nodes.kraft.runtime.clock import now_ms

ROOT = Path(nodes.kraft.__path__[0])
WALL = {"time", "time_ns", "localtime", "gmtime", "now", "utcnow", "today"}
STEADY = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"}
STAMPS = {
    "adapter/certificates.py": "from when to when a certificate is good",
    "runtime/group_shard.py": "time stamps of records",
    "runtime/replica.py": "what DescribeQuorum tells of fetches",
    "storage/log.py": "time stamps of records",
    "server.py": "the clock event, by which a run's clocks are compared",
}
"""Where the wall clock is read, and what for."""


def clock_reads(source: Path) -> set[str]:
    """Functions of `time` and `datetime` that a module calls."""
    found = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in ("time", "datetime"):
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.Attribute):
            of = node.value.attr if isinstance(node.value, ast.Attribute) else None
            of = node.value.id if isinstance(node.value, ast.Name) else of
            if of in ("time", "datetime"):
                found.add(node.attr)
    return found


def test_leases_go_by_the_monotonic_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A.7.7: on both sides. The cores are told the time and read no clock; the node tells them
    the monotonic one; the wall clock is for time stamps alone."""
    monkeypatch.setattr(time, "monotonic_ns", lambda: 1_234_999_999)
    assert now_ms() == 1234
    monkeypatch.undo()
    reads = {str(each.relative_to(ROOT)): clock_reads(each) for each in ROOT.rglob("*.py")}
    assert {name for name, found in reads.items() if found & WALL} == STAMPS.keys()
    for core in ("raft", "controller", "broker", "partition", "group"):
        pure = [found for name, found in reads.items() if name.startswith(f"{core}/")]
        assert pure
        assert not set().union(*pure) & (WALL | STEADY)
