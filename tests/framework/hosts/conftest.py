"""Real fleets of all kinds."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from machines import SUDO, Machines, machines

from framework.hosts.docker import DockerProvider
from framework.hosts.namespaces.provider import NamespacesProvider
from framework.hosts.ssh import SshProvider
from framework.plugins.host import Fleet, HostProvider
from nodes.kraft.adapter.image import image


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Machines of a user's: a and c by root, b by a user with sudo at another port; and one
    without Python, one without packet filter."""
    settings = {
        "a": {},
        "b": {"PORT": "2222", "SUDO": SUDO},
        "c": {},
        "bare": {"THEN": "rm -f /usr/bin/python3*"},
        "open": {"THEN": "rm -f /usr/sbin/nft"},
    }
    with machines(tmp_path_factory.mktemp("lab"), settings) as made:
        yield made


@pytest.fixture(scope="module", params=["docker", "namespaces", "ssh"])
def provider(request: pytest.FixtureRequest) -> HostProvider:
    match request.param:
        case "docker":
            return DockerProvider()
        case "namespaces":
            return NamespacesProvider()
    return SshProvider().with_inventory(request.getfixturevalue("lab").in_order())


@pytest.fixture(scope="module")
def fleet(provider: HostProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two hosts, a and b, of a run whose id is fit for no file and no container."""
    scratch: Path = tmp_path_factory.mktemp("fleet")
    with ExitStack() as stack:
        yield stack.enter_context(
            provider.fleet(f"any: +/name {scratch.name}", ["a", "b"], scratch, image())
        )
