"""The node image: built when its inputs have changed, on whatever base can be had."""

import fcntl
import io
import logging
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from docker.errors import APIError, BuildError, DockerException, ImageNotFound

import docker
from framework.errors import EngineError
from framework.hosts import runs
from framework.hosts.docker import context
from framework.plugins.host import Ability

log: Final = logging.getLogger(__name__)

LOCAL_BASE: Final = "kraft-proof-base:latest"
REGISTRY_BASE: Final = f"python:{context.THIS_PYTHON}-slim"
SCRIPT: Final = context.ROOT / "docker" / "base-image.sh"
SCRIPT_TIMEOUT_S: Final = 900.0


def ensure(client: docker.DockerClient) -> str:
    """The tag of the node image, which is built first where it is missing (also as `latest`).

    Raises `EngineError` when it cannot be had.
    """
    wanted = context.tag()
    if _has(client, wanted):
        return wanted
    with _one_at_a_time():
        if not _has(client, wanted):
            _build(client, wanted)
    return wanted


def ability(client: docker.DockerClient) -> Ability:
    """Whether the image is there or can be made. Asks the engine; builds nothing."""
    remedy = (
        "apt-get install mmdebstrap (docker/base-image.sh then makes the base), or reach a "
        f"registry that has {REGISTRY_BASE}, or set KRAFT_PROOF_BASE to a Debian-like image"
    )
    try:
        wanted = context.tag()
    except EngineError as error:
        return Ability("node image", False, str(error), "work in a checkout of the project")
    if _has(client, wanted):
        return Ability("node image", True, wanted)
    for base in _known_bases():
        if _has(client, base):
            return Ability("node image", True, f"will be built on {base}")
    if shutil.which("mmdebstrap"):
        return Ability("node image", True, "will be built; base from a registry or mmdebstrap")
    try:
        client.images.get_registry_data(REGISTRY_BASE)
    except DockerException:
        return Ability("node image", False, "no base: no registry answers, no mmdebstrap", remedy)
    return Ability("node image", True, f"will be built on {REGISTRY_BASE}")


def _known_bases() -> list[str]:
    chosen = os.environ.get("KRAFT_PROOF_BASE")
    return [chosen] if chosen else [LOCAL_BASE, REGISTRY_BASE]


def _has(client: docker.DockerClient, name: str) -> bool:
    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    return True


def _build(client: docker.DockerClient, wanted: str) -> None:
    base = _base(client)
    _say(f"building the image {wanted} on {base}")
    found = client.containers.run(
        base,
        ["python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
        remove=True,
        network_mode="none",
    )
    try:
        image, _ = client.images.build(
            fileobj=io.BytesIO(context.archive(found.decode().strip())),
            custom_context=True,
            dockerfile="docker/Dockerfile",
            buildargs={"BASE": base},
            tag=wanted,
            rm=True,
            forcerm=True,
        )
    except BuildError as error:
        lines = [str(entry["stream"]).strip() for entry in error.build_log if "stream" in entry]
        last = " | ".join([line for line in lines if line][-3:])
        raise EngineError(f"the node image cannot be built: {error}: {last}") from error
    image.tag(context.NAME, "latest")


def _base(client: docker.DockerClient) -> str:
    for base in _known_bases():
        if _has(client, base):
            return base
    wanted = os.environ.get("KRAFT_PROOF_BASE", REGISTRY_BASE)
    _say(f"pulling the base image {wanted}")
    try:
        client.images.pull(wanted)
    except APIError as error:
        complaint = str(error.explanation or error)
        if "KRAFT_PROOF_BASE" in os.environ:
            raise EngineError(f"the base image {wanted} cannot be had: {complaint}") from error
        return _made_base(complaint)
    return wanted


def _made_base(complaint: str) -> str:
    _say(f"no registry answers; making {LOCAL_BASE} with mmdebstrap, which takes a minute or so")
    done = subprocess.run(
        [SCRIPT, LOCAL_BASE], capture_output=True, text=True, timeout=SCRIPT_TIMEOUT_S
    )
    if done.returncode != 0:
        last = " ".join(done.stderr.split()[-30:])
        raise EngineError(f"no base image: registry: {complaint}; docker/base-image.sh: {last}")
    return LOCAL_BASE


def _say(line: str) -> None:
    """Progress that people wait for belongs in the terminal, whatever the log's level is."""
    log.info(line)
    from rich.console import Console

    Console(stderr=True).print(line, highlight=False)


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Two runs that start together build one image."""
    with (runs.directory() / "image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
