"""A broker killed and started again, with `broker.takeover=deferred`: real processes."""

from pathlib import Path

import pytest

from tests.nodes.kraft.loopback import Loopback, until

pytestmark = pytest.mark.xdist_group("takeover")


def test_the_next_process_waits_for_the_end_of_the_lease(tmp_path: Path) -> None:
    """A.7.3 (ii), D.12: no moment at which both might have served, on the machine's own clock."""
    with Loopback(
        tmp_path,
        controllers=1,
        brokers=1,
        broker_takeover="deferred",
        broker_heartbeat_interval_ms="600",
        broker_lease_ms="8000",
    ) as cluster:
        cluster.ready()
        cluster.kill("b1")
        lease_end = cluster.events("b1", "lease")[-1]["end_ns"]
        cluster.start("b1")

        def moves() -> list[tuple[str, int]]:
            (*_, booted) = cluster.events("b1", "boot")
            return [
                (event["after"], event["time_ns"])
                for event in cluster.events("b1", "bstate")
                if event["incarnation"] == booted["incarnation"]
            ]

        until(lambda: len(cluster.events("b1", "boot")) == 2)
        until(moves)
        ((after, active_ns),) = moves()
        assert after == "ACTIVE" and active_ns > lease_end
        waited = [
            event for event in cluster.events("b1", "heartbeat") if event["next_state"] == "FENCED"
        ]
        assert waited
        assert all((each["error"], each["answered_epoch"]) == (0, -1) for each in waited)
