"""Feature levels by the hands of clients: kafka-python's admin client, and Kafka's own tool."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from kafka.admin import KafkaAdminClient
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from loopback import PATIENCE_S, Loopback, call, until

from nodes.kafka.command_line import command

pytestmark = pytest.mark.xdist_group("feature-clients")

FORMAT = "metadata.format"


@pytest.fixture
def cluster(tmp_path: Any) -> Iterator[Loopback]:
    with Loopback(tmp_path, controllers=1, brokers=2, broker_lease_ms="80000") as cluster:
        cluster.ready()
        yield cluster


def finalized(port: int) -> tuple[dict[str, int], int]:
    """Levels, and up to where the log is known, as ApiVersions tells them on a listener."""
    told = call(port, ApiVersionsRequest(client_software_name="test", client_software_version="1"))
    levels = {each.name: int(each.max_version_level) for each in told.finalized_features}
    return levels, int(told.finalized_features_epoch)


def test_a_level_that_was_raised_is_told_by_every_node(cluster: Loopback) -> None:
    ports = [cluster.port(name) for name in ("b1", "b2", "c1")]
    until(lambda: all(finalized(port)[0] == {FORMAT: 1} for port in ports))
    before = [finalized(port)[1] for port in ports]
    servers = [f"127.0.0.1:{port}" for port in cluster.client.values()]
    admin = KafkaAdminClient(bootstrap_servers=servers)
    try:
        assert admin.update_features({FORMAT: ("UPGRADE", 2)}) == {FORMAT: "OK"}
    finally:
        admin.close()
    until(lambda: all(finalized(port)[0] == {FORMAT: 2} for port in ports))
    after = [finalized(port)[1] for port in ports]
    assert all(one > other for one, other in zip(after, before, strict=True))
    cluster.kill("b1")
    cluster.start("b1")
    until(lambda: finalized(cluster.port("b1"))[0] == {FORMAT: 2})


def features(*arguments: str, at: str) -> tuple[int, str]:
    """Exit code of Kafka's FeatureCommand, and what it says."""
    argv = command("org.apache.kafka.tools.FeatureCommand", *at.split(), *arguments)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.nightly
def test_kafkas_own_tool(cluster: Loopback) -> None:
    brokers = "--bootstrap-server " + ",".join(
        f"127.0.0.1:{port}" for port in cluster.client.values()
    )
    controllers = f"--bootstrap-controller 127.0.0.1:{cluster.port('c1')}"
    for at in (brokers, controllers):
        code, said = features("describe", at=at)
        assert code == 0 and FORMAT in said and "FinalizedVersionLevel: 1" in said, said
    code, said = features("upgrade", "--feature", f"{FORMAT}=2", "--dry-run", at=brokers)
    assert code == 0 and f"{FORMAT} can be upgraded to 2" in said, said
    code, said = features("upgrade", "--feature", f"{FORMAT}=3", at=brokers)
    assert code != 0 and "the controller knows levels 1 to 2" in said, said
    code, said = features("upgrade", "--feature", f"{FORMAT}=2", at=controllers)
    assert code == 0 and f"{FORMAT} was upgraded to 2" in said, said
    for how in ([], ["--unsafe"]):
        code, said = features("downgrade", "--feature", f"{FORMAT}=1", *how, at=brokers)
        assert code != 0 and "2 is finalized" in said, said
    code, said = features("describe", at=brokers)
    assert code == 0 and "FinalizedVersionLevel: 2" in said, said
