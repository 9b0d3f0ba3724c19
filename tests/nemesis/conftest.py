"""Clusters of echo servers on real hosts of both kinds."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from echoes import Echoes, EchoSystem, specs

from framework.plugins import registry
from framework.plugins.host import HostProvider, Image
from framework.plugins.system import Cluster


@pytest.fixture(scope="module", params=["docker", "namespaces"])
def echoes(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Echoes]:
    provider: HostProvider = registry.load("hosts", request.param)
    nodes = specs(3, 0)
    scratch = tmp_path_factory.mktemp("echoes")
    with ExitStack() as stack:
        fleet = stack.enter_context(
            provider.fleet(f"test-{scratch.name}", list(nodes), scratch, Image(name="echo"))
        )
        system: Any = EchoSystem()
        cluster = Cluster(system=system, fleet=fleet, nodes=nodes, seed=0)
        running = Echoes(cluster)
        running.start()
        yield running
