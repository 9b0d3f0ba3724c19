"""A broker killed and started again, with `broker.takeover=deferred`: real processes."""

from pathlib import Path
from typing import Any

import pytest

from tests.nodes.kraft.loopback import Loopback, until

pytestmark = pytest.mark.xdist_group("takeover")


ATTEMPTS = 4
"""On a busy machine a process may come up too late to have anything to wait for."""


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
        assert any(waits_for_the_lease(cluster, attempt + 2) for attempt in range(ATTEMPTS))


def waits_for_the_lease(cluster: Loopback, process: int) -> bool:
    """Whether the broker's next process, its `process`th, was up before the lease ended and had to
    wait. However late it came, it serves after that end."""
    cluster.kill("b1")
    lease_end = cluster.events("b1", "lease")[-1]["end_ns"]
    cluster.start("b1")
    until(lambda: len(cluster.events("b1", "boot")) == process)
    incarnation = cluster.events("b1", "boot")[-1]["incarnation"]

    def own(kind: str) -> list[dict[str, Any]]:
        return [e for e in cluster.events("b1", kind) if e["incarnation"] == incarnation]

    until(lambda: own("bstate"))
    (move,) = own("bstate")
    assert move["after"] == "ACTIVE" and move["time_ns"] > lease_end
    waited = [event for event in own("heartbeat") if event["next_state"] == "FENCED"]
    assert all((each["error"], each["answered_epoch"]) == (0, -1) for each in waited)
    return bool(waited)
