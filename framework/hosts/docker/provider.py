"""Nodes in containers on a private bridge without a way out, driven over SSH.

Everything made carries two labels: the run, and the harness that made it. What belongs to a dead
harness is a leftover. See docs/operating.md.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final

import paramiko
import tenacity
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from docker.errors import APIError, DockerException, NotFound
from docker.models.containers import Container
from docker.models.networks import Network
from docker.types import IPAMConfig, IPAMPool

import docker
from framework.errors import EngineError
from framework.hosts import runs
from framework.hosts.docker import image as images
from framework.hosts.processes import ProcessId
from framework.hosts.ssh.host import Login, SshFleet, SshHost, connect
from framework.plugins.host import Ability, ClockSample, Fleet, Image

KIND: Final = "docker"
RUN: Final = "kraft-proof.run"
HARNESS: Final = "kraft-proof.harness"
SUBNETS: Final = [IPv4Network((0x0A580000 + (number << 8), 24)) for number in range(256)]
"""10.88.0.0/24 and on: a network takes the first that is free."""
ENGINE_REMEDY: Final = (
    "apt-get install docker.io (or docker-ce), start the engine, and be root or in group docker"
)

WORKDIR: Final = "/var/lib/kraft-proof"
SSHD: Final = """
umask 077 && cd /etc/ssh/kraft-proof &&
printf '%s' "$HOST_KEY" > host_key && printf '%s\\n' "$USER_KEY" > authorized_keys &&
cd / && unset HOST_KEY USER_KEY && exec /usr/sbin/sshd -D -e
"""
"""Files copied into containers one by one cost the engine more than starting these."""
IN_EVERY_IMAGE: Final = ("python3", "nft", "ip", "ps")
"""By docker/Dockerfile. What else there may be only a container can tell."""


class DockerFleet(SshFleet):
    """Containers: their kernel, and with it their clock, is this machine's."""

    def __init__(self, hosts: Mapping[str, SshHost], containers: Mapping[str, Container]) -> None:
        super().__init__(KIND, hosts)
        self._containers = containers

    def clocks(self) -> Mapping[str, ClockSample | None]:
        return dict.fromkeys(self.hosts)

    def roots(self) -> Mapping[str, int]:
        found = {name: _root(container) for name, container in self._containers.items()}
        return {name: pid for name, pid in found.items() if pid is not None}


class DockerProvider:
    """Entry point `docker` of `framework.hosts`."""

    name = KIND

    def abilities(self) -> Sequence[Ability]:
        try:
            client = docker.from_env(timeout=20)
            info = client.info()
        except DockerException as error:
            return [Ability("docker engine", False, _brief(error), ENGINE_REMEDY)]
        with _closing(client):
            system = str(info.get("OperatingSystem", ""))
            reachable = "Docker Desktop" not in system
            engine = Ability(
                "docker engine",
                reachable,
                f"{info['ServerVersion']} on {system}"
                if reachable
                else "Docker Desktop keeps containers in a machine that this one cannot reach",
                "run the framework inside that machine, or take --hosts namespaces",
            )
            return [engine]

    def carries(self, image: Image, nodes: int) -> Sequence[Ability]:
        try:
            with _closing(_engine()) as client:
                return [images.ability(client, image)]
        except EngineError as error:
            return [Ability(f"image of {image.name}", False, str(error), ENGINE_REMEDY)]

    def lacking(self, commands: Sequence[str]) -> Mapping[str, Sequence[str]]:
        missing = [command for command in commands if command not in IN_EVERY_IMAGE]
        return {"docker/Dockerfile": missing} if missing else {}

    @contextmanager
    def fleet(
        self, run_id: str, names: Sequence[str], scratch: Path, image: Image
    ) -> Iterator[Fleet]:
        run = runs.Run(
            run_id=run_id, kind=KIND, harness=ProcessId.current(), scratch=str(scratch.absolute())
        )
        with ExitStack() as stack:
            client = stack.enter_context(_closing(_engine()))
            tag = images.ensure(client, image)
            stack.enter_context(runs.registered(run))
            stack.callback(_remove_all, client, lambda labels: _belongs(labels, run))
            network, subnet = _make_network(client, run)
            user_key, host_key = _keys(scratch)

            def make(position: int) -> tuple[SshHost, Container]:
                name, address = names[position], str(subnet[11 + position])
                keys = (user_key, host_key)
                container = _start(client, run, tag, name, address, network, keys)
                host = SshHost(
                    name,
                    partial(
                        _patiently, connect, Login(address=address, key=user_key, host_key=host_key)
                    ),
                    address=address,
                    workdir=WORKDIR,
                    python="python3",
                    software=images.directory(image),
                )
                stack.callback(host.close)
                # Some engines give internal networks a default route, which leads nowhere.
                host.run(["ip", "route", "del", "default"], check=False)
                return host, container

            with ThreadPoolExecutor(len(names)) as pool:
                made = dict(zip(names, pool.map(make, range(len(names))), strict=True))
            yield DockerFleet(
                {name: host for name, (host, _) in made.items()},
                {name: container for name, (_, container) in made.items()},
            )

    def leftovers(self) -> Sequence[str]:
        return [_describe(thing) for thing in _found(_dead)] + [
            f"files of run {run.run_id}" for run in runs.orphans(KIND)
        ]

    def clean(self) -> Sequence[str]:
        try:
            client = docker.from_env()
        except DockerException:
            return []
        with _closing(client):
            removed = _remove_all(client, _dead)
        for run in runs.orphans(KIND):
            shutil.rmtree(run.scratch, ignore_errors=True)
            run.forget()
            removed.append(f"files of run {run.run_id}")
        return removed


_patiently: Final = tenacity.Retrying(
    retry=tenacity.retry_if_exception_type((OSError, EOFError, paramiko.SSHException)),
    stop=tenacity.stop_after_delay(20.0),
    wait=tenacity.wait_fixed(0.05),
    reraise=True,
)
"""sshd takes a moment to listen."""

Labels = dict[str, str]


def _belongs(labels: Labels, run: runs.Run) -> bool:
    return labels.get(RUN) == run.run_id and labels.get(HARNESS) == str(run.harness)


def _dead(labels: Labels) -> bool:
    try:
        return not ProcessId.parse(labels[HARNESS]).alive()
    except (KeyError, ValueError):
        return True


@contextmanager
def _closing(client: docker.DockerClient) -> Iterator[docker.DockerClient]:
    try:
        yield client
    finally:
        client.close()


def _engine() -> docker.DockerClient:
    try:
        client = docker.from_env()
        client.ping()
    except DockerException as error:
        raise EngineError(f"no Docker engine answers: {_brief(error)}") from error
    return client


def _brief(error: Exception) -> str:
    text = " ".join(str(error).split())
    where = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
    if "Permission denied" in text:
        return f"no permission to use {where}"
    if "Connection aborted" in text or "Connection refused" in text:
        return f"nobody answers at {where}"
    return text[:200]


def _make_network(client: docker.DockerClient, run: runs.Run) -> tuple[str, IPv4Network]:
    """An internal bridge on the first free subnet: its name and the subnet."""
    routed = _routed()
    for subnet in SUBNETS:
        if any(subnet.overlaps(route) for route in routed):
            continue
        try:
            network = client.networks.create(
                f"kraft-proof-{run.label}",
                driver="bridge",
                internal=True,
                labels={RUN: run.run_id, HARNESS: str(run.harness)},
                ipam=IPAMConfig(pool_configs=[IPAMPool(subnet=str(subnet))]),
            )
        except APIError as error:
            if "overlaps" in str(error) or "conflicts" in str(error):
                continue
            raise EngineError(f"no network for the run: {_brief(error)}") from error
        return str(network.name), subnet
    raise EngineError("no network for the run: all of 10.88.0.0/16 is taken")


def _routed() -> list[IPv4Network]:
    """Where this machine already has routes to, the default route apart."""
    lines = Path("/proc/net/route").read_text().splitlines()[1:]
    routes = []
    for line in lines:
        fields = line.split()
        target, mask = (int.from_bytes(bytes.fromhex(fields[at]), "little") for at in (1, 7))
        if mask:
            routes.append(IPv4Network((target, mask.bit_count())))
    return routes


def _keys(scratch: Path) -> tuple[paramiko.PKey, paramiko.PKey]:
    """Two key pairs made for the run: the user's and the hosts'."""

    def make(name: str) -> paramiko.PKey:
        path = scratch / name
        path.touch(mode=0o600)
        path.write_bytes(
            Ed25519PrivateKey.generate().private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.OpenSSH,
                serialization.NoEncryption(),
            )
        )
        return paramiko.Ed25519Key.from_private_key_file(str(path))

    return make("user_key"), make("host_key")


def _start(
    client: docker.DockerClient,
    run: runs.Run,
    tag: str,
    name: str,
    address: str,
    network: str,
    keys: tuple[paramiko.PKey, paramiko.PKey],
) -> Container:
    """Create one container, whose first process finds its keys in its environment."""
    user_key, _ = keys
    container = client.containers.create(
        tag,
        name=f"kraft-proof-{run.label}-{name}",
        hostname=name,
        labels={RUN: run.run_id, HARNESS: str(run.harness)},
        cap_add=["NET_ADMIN"],
        init=True,
        command=["sh", "-c", SSHD],
        environment={
            "HOST_KEY": (Path(run.scratch) / "host_key").read_text(),
            "USER_KEY": f"{user_key.get_name()} {user_key.get_base64()}",
        },
        network=network,
        networking_config={
            network: client.api.create_endpoint_config(ipv4_address=address, aliases=[name])
        },
    )
    container.start()
    return container


def _root(container: Container) -> int | None:
    """The first process of a container; None where the engine's processes are not to be seen from
    here, as from within another container."""
    try:
        container.reload()
        pid = int((container.attrs or {})["State"]["Pid"])
        group = Path(f"/proc/{pid}/cgroup").read_text()
    except (DockerException, OSError, KeyError):
        return None
    return pid if str(container.id) in group else None


def _found(wanted: Callable[[Labels], bool]) -> list[Any]:
    try:
        client = docker.from_env()
    except DockerException:
        return []
    with _closing(client):
        return [*_containers(client, wanted), *_networks(client, wanted)]


def _containers(client: docker.DockerClient, wanted: Callable[[Labels], bool]) -> list[Container]:
    found = client.containers.list(all=True, filters={"label": HARNESS}, ignore_removed=True)
    return [container for container in found if wanted(container.labels)]


def _networks(client: docker.DockerClient, wanted: Callable[[Labels], bool]) -> list[Network]:
    found = client.networks.list(filters={"label": HARNESS})
    return [network for network in found if wanted((network.attrs or {}).get("Labels") or {})]


def _remove_all(client: docker.DockerClient, wanted: Callable[[Labels], bool]) -> list[str]:
    """Remove containers, then networks, by their labels; what was removed, a line each."""

    def remove(container: Container) -> str:
        line = _describe(container)
        try:
            container.remove(force=True, v=True)
        except NotFound:
            pass
        except APIError as error:
            if error.status_code != 409:  # 409: somebody else is removing it
                raise
        return line

    removed: list[str] = []
    if containers := _containers(client, wanted):
        with ThreadPoolExecutor(len(containers)) as pool:
            removed += pool.map(remove, containers)
    for network in _networks(client, wanted):
        removed.append(_describe(network))
        try:
            network.remove()
        except NotFound:
            continue
    return removed


def _describe(thing: Any) -> str:
    kind = "container" if isinstance(thing, Container) else "network"
    return f"{kind} {thing.name}"
