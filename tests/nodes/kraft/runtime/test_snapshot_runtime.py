"""Snapshots of real processes: coordinated among controllers, on their own on brokers."""

from pathlib import Path

import pytest

from tests.nodes.kraft.loopback import Loopback, until
from tests.nodes.kraft.test_node_process import create_topic

pytestmark = pytest.mark.xdist_group("snapshots")
OFTEN = {"metadata.snapshot.interval.ms": "700", "metadata.snapshot.min.records": "7"}


def often(**more: str) -> dict[str, str]:
    return {key.replace(".", "_"): value for key, value in (OFTEN | more).items()}


def test_every_node_snapshots_again_and_again_and_restarts_from_it(tmp_path: Path) -> None:
    """A.1.37, A.1.39, A.1.44, A.4.16, A.4.17, A.4.19, A.7.15: controllers by turns, the brokers on
    their own, with offsets of their own; a restarted node loads its newest."""
    with Loopback(tmp_path, controllers=3, brokers=1, **often()) as cluster:
        cluster.ready()
        names = tuple(cluster.settings)
        numbers = iter(range(1000))

        def twice() -> bool:
            create_topic(cluster.client["b1"], f"t{next(numbers)}")
            return all(len(cluster.events(name, "snap_write")) >= 2 for name in names)

        until(twice)
        for name in names:
            ends = [event["end_offset"] for event in cluster.events(name, "snap_write")]
            assert ends == sorted(set(ends))
        # A.1.44: whoever wrote was no leader at that moment, or had tried to be none.
        for name in ("c1", "c2", "c3"):
            for written in cluster.events(name, "snap_write"):
                before = [
                    event
                    for kind in ("role", "resign")
                    for event in cluster.events(name, kind)
                    if event["time_ns"] < written["time_ns"]
                ]
                roles = [event["role"] for event in before if event["type"] == "role"]
                tried = any(event["type"] == "resign" for event in before)
                assert roles[-1] != "leader" or tried
        assert any(cluster.events(name, "resign") for name in ("c1", "c2", "c3"))
        cluster.kill("b1")
        cluster.start("b1")
        until(lambda: cluster.state("b1")["broker_state"] == "ACTIVE")
        (*_, booted) = cluster.events("b1", "boot")
        loaded = next(
            event
            for event in cluster.events("b1", "snap_load")
            if event["incarnation"] == booted["incarnation"]
        )
        assert loaded["source"] == "local"
        written = {
            event["end_offset"]: event["digest"] for event in cluster.events("b1", "snap_write")
        }
        assert written[loaded["end_offset"]] == loaded["digest"]


def test_a_single_controller_snapshots_without_resigning(tmp_path: Path) -> None:
    """A.1.6, A.1.36: there is nobody to lead meanwhile; in the newer format, finalized first."""
    settings = often(**{"metadata.format": "2"})
    with Loopback(tmp_path, combined=1, **settings) as cluster:
        cluster.ready()
        for number in range(3):
            create_topic(cluster.client["n1"], f"t{number}")
        until(lambda: cluster.events("n1", "snap_write"))
        assert cluster.events("n1", "resign") == []
        assert cluster.active() == "n1"
        first = next(
            event for event in cluster.events("n1", "apply") if event["kind"] != "LeaderChange"
        )
        assert first["record"] == {"name": "metadata.format", "feature_level": 2}
        before = cluster.state("n1")
        cluster.kill("n1")
        cluster.start("n1")
        cluster.ready()
        assert cluster.events("n1", "snap_load")[-1]["source"] == "local"
        topics = [
            event["record"]["name"]
            for event in cluster.events("n1", "apply")
            if event["kind"] == "TopicRecord" and event["offset"] < before["applied"]
        ]
        assert sorted(set(topics)) == ["t0", "t1", "t2"]
        for name in topics:
            assert create_topic(cluster.client["n1"], name).error_code == 36
