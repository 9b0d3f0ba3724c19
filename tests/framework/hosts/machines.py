"""Machines that a test makes itself: containers with sshd that know nothing of the project."""

import io
import json
import secrets
import socket
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import tenacity
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from docker.models.containers import Container

import docker
from framework.hosts.docker import image
from framework.hosts.docker.provider import HARNESS
from framework.hosts.processes import ProcessId

# A program that a user may run as root without a password, as sudo is told to allow it; the base
# image has no sudo. An interpreter with the set-uid bit makes its scripts root.
SUDO = """#!/usr/local/bin/rootly -I
import os, sys
assert sys.argv[1:3] == ["-n", "--"], sys.argv
os.setgid(0)
os.setuid(0)
os.execvpe(sys.argv[3], sys.argv[3:], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
"""
START = """
ip route del default
mkdir -p /run/sshd
ssh-keygen -A >/dev/null
useradd --create-home tester
for home in /root /home/tester; do
    mkdir -p $home/.ssh && cp /authorized_keys $home/.ssh/ && chmod -R go= $home/.ssh
done
chown -R tester /home/tester/.ssh
if [ "$SUDO" ]; then
    cp /usr/bin/python3 /usr/local/bin/rootly && chmod u+s /usr/local/bin/rootly
    printf %s "$SUDO" >/usr/local/bin/sudo && chmod 755 /usr/local/bin/sudo
fi
eval "$THEN"
exec /usr/sbin/sshd -D -p "$PORT"
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Some machines, and how to get into them."""

    containers: Mapping[str, Container]
    addresses: Mapping[str, str]
    key: Path
    folder: Path

    def entry(self, name: str, **more: str | int) -> dict[str, str | int]:
        """A machine as an inventory has it."""
        return {"name": name, "address": self.addresses[name], "key": str(self.key), **more}

    def inventory(self, *entries: Mapping[str, str | int]) -> Path:
        """A file with these machines."""
        path = self.folder / f"inventory-{secrets.token_hex(4)}.json"
        path.write_text(json.dumps({"machines": entries}))
        return path

    def in_order(self) -> Path:
        """An inventory of those that can be used: a and c by root, b by a user with sudo."""
        b = self.entry("b", user="tester", port=2222, workdir="/srv/made/for/it")
        return self.inventory(self.entry("a"), b, self.entry("c"))

    def on(self, name: str, script: str) -> str:
        """What a shell script prints on a machine, without SSH."""
        return self.containers[name].exec_run(["sh", "-c", script]).output.decode()


@contextmanager
def machines(
    folder: Path, names: Mapping[str, Mapping[str, str]], *, having: Sequence[Path] = ()
) -> Iterator[Machines]:
    """Containers on a network of their own: name -> PORT, SUDO and THEN, where they are not 22,
    none and nothing. `having`: folders of this machine that each has, to read. Gone on exit, and
    `clean` takes those of a killed test."""
    key = Ed25519PrivateKey.generate()
    private, public = folder / "key", folder / "key.pub"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
    )
    private.chmod(0o600)
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        )
    )
    client = docker.from_env()
    labels = {HARNESS: str(ProcessId.current())}
    base = image.base(client)
    with ExitStack() as stack:
        stack.callback(client.close)
        network = client.networks.create(
            f"kraft-proof-machines-{secrets.token_hex(4)}", internal=True, labels=labels
        )
        stack.callback(network.remove)
        made: dict[str, Container] = {}
        for name, settings in names.items():
            environment = {"PORT": "22", "SUDO": "", "THEN": "", **settings}
            made[name] = container = client.containers.create(
                base,
                ["sh", "-c", START],
                hostname=name,
                labels=labels,
                environment=environment,
                cap_add=["NET_ADMIN"],
                init=True,
                network=network.name,
                volumes={str(each): {"bind": str(each), "mode": "ro"} for each in having},
            )
            stack.callback(container.remove, force=True, v=True)
            container.put_archive("/", _packed("authorized_keys", public.read_bytes()))
            container.start()
        addresses = {}
        for name, container in made.items():
            container.reload()
            networks = container.attrs["NetworkSettings"]["Networks"]
            addresses[name] = networks[network.name]["IPAddress"]
            _await_listening(addresses[name], int(names[name].get("PORT", 22)))
        yield Machines(containers=made, addresses=addresses, key=private, folder=folder)


@tenacity.retry(stop=tenacity.stop_after_delay(120), wait=tenacity.wait_fixed(0.05), reraise=True)
def _await_listening(address: str, port: int) -> None:
    socket.create_connection((address, port), 2.0).close()


def _packed(name: str, data: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()
