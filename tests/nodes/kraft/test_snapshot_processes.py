"""Real node processes whose logs begin with snapshots: restarts, new and lagging nodes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.kraft.loopback import Loopback, until
from tests.nodes.kraft.test_node_process import create_topic

pytestmark = pytest.mark.xdist_group("node-processes")


def creates(cluster: Loopback, first: int, count: int) -> None:
    for number in range(first, first + count):
        created = until(lambda number=number: _created(cluster, f"t{number}"))  # type: ignore[misc]
        assert created


def _created(cluster: Loopback, name: str) -> bool:
    return int(create_topic(cluster.port("b1"), name).error_code) in (0, 36)


def agree(cluster: Loopback, *names: str) -> bool:
    states = [cluster.state(name) for name in names]
    return len({(state["applied"], state["digest"]) for state in states}) == 1


def fetched(cluster: Loopback, name: str) -> list[dict[str, Any]]:
    return [event for event in cluster.events(name, "snap_load") if event["source"] == "fetched"]


def test_new_and_lagging_nodes_begin_with_a_snapshot(tmp_path: Path) -> None:
    """A.4.14, A.4.19, A.4.20, A.4.21: over real sockets and disks."""
    settings = {
        "metadata_snapshot_interval_ms": "200",
        "metadata_snapshot_min_records": "10",
        "metadata_snapshot_degraded_interval_ms": "200",
        "metadata_snapshot_degraded_min_records": "10",
        "metadata_log_segment_bytes": "2048",
    }
    with Loopback(tmp_path, controllers=3, brokers=1, **settings) as cluster:
        leader = cluster.ready()
        lagging = next(name for name in ("c1", "c2", "c3") if name != leader)
        until(lambda: cluster.events(lagging, "append"))
        cluster.kill(lagging)
        behind = [event["end_offset"] for event in cluster.events(lagging, "append")][-1]
        creates(cluster, 0, 15)
        up = [name for name in ("c1", "c2", "c3") if name != lagging]
        for name in up:
            until(
                lambda name=name: any(  # type: ignore[misc]
                    event["offset"] > behind for event in cluster.events(name, "log_start")
                )
            )
        cluster.start(lagging)
        until(lambda: fetched(cluster, lagging))
        cluster.kill("b1")
        shutil.rmtree(tmp_path / "b1")
        cluster.start("b1")
        until(lambda: fetched(cluster, "b1"))
        cluster.ready()
        creates(cluster, 15, 1)
        until(lambda: agree(cluster, "b1", "c1", "c2", "c3"))
        cluster.kill(lagging)
        cluster.start(lagging)
        until(lambda: agree(cluster, "b1", "c1", "c2", "c3"))
        boot = cluster.events(lagging, "boot")[-1]
        local = [e for e in cluster.events(lagging, "snap_load") if e["source"] == "local"]
        assert boot["log_start"] == local[-1]["end_offset"] > behind
        for name in ("c1", "c2", "c3"):
            assert cluster.events(name, "error") == []
