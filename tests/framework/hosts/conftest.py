"""Real fleets of both kinds."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from framework.hosts.docker import DockerProvider
from framework.hosts.namespaces import NamespacesProvider
from framework.plugins.host import Fleet, HostProvider
from nodes.kraft.adapter.image import image

PROVIDERS: dict[str, Callable[[], HostProvider]] = {
    "docker": DockerProvider,
    "namespaces": NamespacesProvider,
}


@pytest.fixture(scope="module", params=sorted(PROVIDERS))
def provider(request: pytest.FixtureRequest) -> HostProvider:
    return PROVIDERS[request.param]()


@pytest.fixture(scope="module")
def fleet(provider: HostProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two hosts, a and b, of a run whose id is fit for no file and no container."""
    scratch: Path = tmp_path_factory.mktemp("fleet")
    with ExitStack() as stack:
        yield stack.enter_context(
            provider.fleet(f"any: +/name {scratch.name}", ["a", "b"], scratch, image())
        )
