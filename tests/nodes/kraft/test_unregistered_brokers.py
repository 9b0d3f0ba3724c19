"""A broker is unregistered by raw requests, and comes back, in a cluster of real processes."""

from __future__ import annotations

import signal
from pathlib import Path

from admin_clients import eventually
from confluent_kafka import admin as confluent
from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.types import BrokerId
from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest
from loopback import Loopback, call

GONE, STAYS = 3, 2


def unregister(port: int, broker: int) -> int:
    return int(call(port, UnregisterBrokerRequest(broker_id=BrokerId(broker))).error_code)


def served(port: int) -> set[int]:
    asked = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    return {int(each.api_key) for each in call(port, asked).api_keys}


def test_a_broker_is_unregistered_and_comes_back(tmp_path: Path) -> None:
    """Clients are told of it no more; nobody unregisters it twice; a process of its id registers
    anew, and one that runs does so by itself."""
    with Loopback(tmp_path, controllers=1, brokers=2) as cluster:
        cluster.ready()
        client, controller = cluster.client["b1"], cluster.port("c1")
        assert 64 in served(client) & served(controller)
        admin = confluent.AdminClient({"bootstrap.servers": f"127.0.0.1:{client}"})

        def listed() -> list[int]:
            return sorted(node.id for node in admin.describe_cluster().result(60).nodes)

        def epoch() -> int:
            return int(cluster.state("b2")["broker_epoch"])

        eventually(lambda: listed() == [STAYS, GONE])
        cluster.signal("b2", signal.SIGKILL)
        assert unregister(client, GONE) == 0
        assert listed() == [STAYS]  # at once: the broker that passed the answer on shows it
        assert [unregister(port, GONE) for port in (client, controller)] == [102, 102]

        cluster.start("b2")
        eventually(lambda: listed() == [STAYS, GONE])
        before = epoch()
        assert unregister(controller, GONE) == 0
        eventually(lambda: epoch() > before and listed() == [STAYS, GONE])
        assert cluster.none_failed()
