"""TLS, logins and the authorizer of runs: the framework's clients, and nodes, get through to a
listener of a node that is set up as a run sets it up."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from framework.plugins.host import Fleet
from framework.plugins.system import Cluster
from nodes.kraft.adapter import security
from nodes.kraft.adapter.connecting import exchange
from nodes.kraft.adapter.settings import node_settings
from nodes.kraft.adapter.system import KraftSystem
from nodes.kraft.config import Config, from_settings
from nodes.kraft.net.channel import to_controller
from nodes.kraft.net.listener import Listener, RequestContext
from nodes.kraft.net.secure import listener_sasl, listener_tls
from nodes.kraft.wire.debug import DescribeNodeRequest, DescribeNodeResponse
from tests.nodes.kraft.loopback import free_ports

SEED = 5
ASKED = [
    {},
    {"listener.security.protocol.map": "CLIENT:SSL,CONTROLLER:SSL"},
    {
        "listener.security.protocol.map": "CLIENT:SSL,CONTROLLER:SSL",
        "ssl.client.auth": "required",
    },
    {"listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"},
    {
        "listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
    },
]
"""Settings by which clients and nodes come to controllers in all ways that there are."""


def cluster_of(wanted: dict[str, str], port: int, seed: int = SEED) -> Cluster:
    """The handle of a node on loopback, with nothing behind it."""
    system = KraftSystem()
    (spec,) = system.layout("1")
    spec = replace(spec, ports={"client": 9092, "controller": port})

    def connect(address: str, port: int, timeout_s: float) -> socket.socket:
        return socket.create_connection((address, port), timeout_s)

    hosts = {spec.name: SimpleNamespace(address="127.0.0.1")}
    fleet = cast(Fleet, SimpleNamespace(hosts=hosts, connect=connect))
    return Cluster(
        system=system,
        fleet=fleet,
        nodes={spec.name: spec},
        seed=seed,
        settings={spec.name: wanted},
    )


def reported(cluster: Cluster, workdir: Path) -> dict[str, str]:
    """The node's settings, with their files in the folder."""
    settings = node_settings(
        "n1",
        cluster.nodes,
        {"n1": "127.0.0.1"},
        cluster.settings["n1"],
        workdir=str(workdir),
        seed=SEED,
    )
    for name, data in security.files(settings, address="127.0.0.1", seed=SEED).items():
        (workdir / name).parent.mkdir(exist_ok=True)
        (workdir / name).write_bytes(data)
    return settings


def served(config: Config, talk: Callable[[], Any]) -> Any:
    """What `talk` comes to in a thread, while the controller's listener tells everybody who they
    are."""

    def answer(context: RequestContext) -> None:
        context.answer(DescribeNodeResponse(state=str(context.principal)))

    async def main() -> Any:
        (endpoint,) = config.controller_listeners
        listener = Listener(
            endpoint.name,
            dispatch=answer,
            unsupported=lambda _: None,
            tls=listener_tls(config, endpoint),
            sasl=listener_sasl(config, endpoint),
        )
        await listener.start(endpoint.host, endpoint.port)
        try:
            return await asyncio.to_thread(talk)
        finally:
            await listener.close()

    return asyncio.run(main())


def who_am_i(cluster: Cluster) -> str:
    """As whom the framework's clients are seen."""
    with KraftSystem().connect(cluster, "n1", "controller", 30) as connection:
        found = exchange(connection, DescribeNodeRequest(), time.monotonic() + 30)
    return str(found.state)


@pytest.mark.parametrize("wanted", ASKED)
def test_clients_and_nodes_get_through(tmp_path: Path, wanted: dict[str, str]) -> None:
    cluster = cluster_of({**wanted, "authorizer.enabled": "true"}, free_ports(1)[0])
    settings = reported(cluster, tmp_path)
    config = from_settings(settings)

    async def node() -> str:
        channel = to_controller(config, 1)
        found = await channel.call(DescribeNodeRequest(), 30)
        channel.close()
        return str(found.state)

    seen = {
        security.CLIENT: served(config, lambda: who_am_i(cluster)),
        security.NODE: served(config, lambda: asyncio.run(node())),
    }
    for who, name in seen.items():
        assert name in security.principals(who, settings)
    assert set(seen.values()) <= set(map(str, config.super_users))


def test_a_controller_knows_whom_a_broker_saw(tmp_path: Path) -> None:
    """Forwarded requests say who asked; only the broker has the listener where they did."""
    settings = reported(cluster_of({"authorizer.enabled": "true"}, free_ports(1)[0]), tmp_path)
    supers = set(map(str, from_settings(settings).super_users))
    for wanted in ASKED:
        assert security.principals(security.CLIENT, wanted) <= supers


def test_who_has_not_the_runs_seed_is_not_let_in(tmp_path: Path) -> None:
    both = {"listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:SASL_SSL"}
    port = free_ports(1)[0]
    config = from_settings(reported(cluster_of(both, port), tmp_path))
    with pytest.raises(ssl.SSLCertVerificationError):
        served(config, lambda: who_am_i(cluster_of(both, port, seed=SEED + 1)))
    login = {"listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:SASL_PLAINTEXT"}
    config = from_settings(reported(cluster_of(login, port), tmp_path))
    with pytest.raises(ConnectionError, match="sasl_authentication_failed"):
        served(config, lambda: who_am_i(cluster_of(login, port, seed=SEED + 1)))
    assert KraftSystem().describe(cluster_of(login, port), "n1", "controller") is None


def test_a_process_is_asked_over_its_own_listener(tmp_path: Path) -> None:
    """What `state` and extra brokers stand on: a dead node is None, whatever it speaks."""
    for wanted in ASKED:
        assert KraftSystem().state(cluster_of(wanted, free_ports(1)[0]), "n1") is None


def test_variables_for_clients_of_the_users() -> None:
    assert security.environment({}, "client", SEED) == {}
    wanted = {
        "listener.security.protocol.map": "CLIENT:SASL_SSL,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    }
    found = security.environment(wanted, "client", SEED)
    assert found["SECURITY_PROTOCOL"] == "SASL_SSL"
    assert found["SASL_MECHANISM"] == "PLAIN" and found["SASL_USERNAME"] == security.CLIENT
    assert found["SSL_CA_PEM"].startswith("-----BEGIN CERTIFICATE-----")
    assert security.environment(wanted, "controller", SEED) == {}
