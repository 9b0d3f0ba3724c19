"""Images: a machine on whatever base can be had, and a system's software on top of it. Each is
built when its inputs have changed."""

import fcntl
import hashlib
import io
import logging
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from docker.errors import APIError, BuildError, DockerException, ImageNotFound

import docker
from framework.errors import EngineError
from framework.hosts import runs, software
from framework.plugins.host import Ability, Image

log: Final = logging.getLogger(__name__)

NAME: Final = "kraft-proof"
REGISTRY_BASE: Final = f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"
FOLDER: Final = Path(__file__).parents[3] / "docker"
SCRIPT: Final = FOLDER / "base-image.sh"
SCRIPT_TIMEOUT_S: Final = 900.0


def ensure(client: docker.DockerClient, image: Image) -> str:
    """The tag of a system's image, which is built first where it is missing (also as `latest`).

    Raises `EngineError` when it cannot be had.
    """
    wanted = tag(image)
    if _has(client, wanted):
        return wanted
    with _one_at_a_time():
        if not _has(client, wanted):
            found = base(client, image.packages)
            _say(f"building the image {wanted} on {found}")
            machine = _machine(client, found, image.packages)
            _build(client, wanted, _context(client, machine, image), {"MACHINE": machine})
            client.images.get(wanted).tag(f"{NAME}-{image.name}", "latest")
    return wanted


def tag(image: Image) -> str:
    """The image's name with a digest of what goes into it: machine, software, chosen base."""
    inputs = "".join(data.decode() for _, data in sorted(_machine_files().items()))
    return (
        f"{NAME}-{image.name}:"
        f"{software.digest(image, inputs, os.environ.get('KRAFT_PROOF_BASE', ''))}"
    )


def ability(client: docker.DockerClient, image: Image) -> Ability:
    """Whether the image is there or can be made. Asks the engine; builds nothing."""
    name = f"image of {image.name}"
    remedy = (
        "apt-get install mmdebstrap (docker/base-image.sh then makes the base), or reach a "
        f"registry that has {REGISTRY_BASE}, or set KRAFT_PROOF_BASE to a Debian-like image"
    )
    try:
        wanted = tag(image)
    except EngineError as error:
        return Ability(name, False, str(error), "work in a checkout of the project")
    if _has(client, wanted):
        return Ability(name, True, wanted)
    for known in _known_bases(image.packages):
        if _has(client, known):
            return Ability(name, True, f"will be built on {known}")
    if shutil.which("mmdebstrap"):
        return Ability(name, True, "will be built; base from a registry or mmdebstrap")
    try:
        client.images.get_registry_data(REGISTRY_BASE)
    except DockerException:
        return Ability(name, False, "no base: no registry answers, no mmdebstrap", remedy)
    return Ability(name, True, f"will be built on {REGISTRY_BASE}")


def _local_base(packages: Sequence[str]) -> str:
    """A base that was made here. One with packages has a tag of its own: where no registry
    answers, a build may not reach a mirror of packages either."""
    if not packages:
        return f"{NAME}-base:latest"
    return f"{NAME}-base:{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:12]}"


def _known_bases(packages: Sequence[str]) -> list[str]:
    chosen = os.environ.get("KRAFT_PROOF_BASE")
    return [chosen] if chosen else [_local_base(packages), REGISTRY_BASE]


def _has(client: docker.DockerClient, name: str) -> bool:
    try:
        client.images.get(name)
    except ImageNotFound:
        return False
    return True


def _machine_files() -> Mapping[str, bytes]:
    if not (FOLDER / "Dockerfile").exists():
        raise EngineError("docker/Dockerfile is not beside the package: run from a checkout")
    return {name: (FOLDER / name).read_bytes() for name in ("Dockerfile", "sshd_config")}


def _machine(client: docker.DockerClient, on: str, packages: Sequence[str]) -> str:
    """A machine on this base, with these packages: its tag."""
    files = _machine_files()
    about = hashlib.sha256(" ".join((on, *packages)).encode() + b"".join(files.values()))
    wanted = f"{NAME}-machine:{about.hexdigest()[:12]}"
    _build(client, wanted, files, {"BASE": on, "PACKAGES": " ".join(packages)})
    return wanted


def _context(client: docker.DockerClient, machine: str, image: Image) -> dict[str, bytes]:
    """The build context of a system's image."""
    abi = ""
    if image.requirements:
        asked = ["python3", "-c", software.ASK_ABI]
        found = client.containers.run(machine, asked, remove=True, network_mode="none")
        abi = found.decode().strip()
    files = software.contents(image, abi)
    if image.dockerfile is not None:
        return {**files, "Dockerfile": image.dockerfile.read_bytes()}
    lines = ["ARG MACHINE", "FROM ${MACHINE}"]
    if files:
        lines += [f"COPY . {directory(image)}"]
    return {**files, "Dockerfile": "\n".join(lines).encode()}


def directory(image: Image) -> str:
    """Where a container has the image's files."""
    return f"/opt/{image.name}"


def _build(
    client: docker.DockerClient, wanted: str, files: Mapping[str, bytes], arguments: dict[str, str]
) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, data in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size = len(data)
            member.mode = 0o755 if path.endswith(".sh") else 0o644
            tar.addfile(member, io.BytesIO(data))
    packed.seek(0)
    try:
        client.images.build(
            fileobj=packed,
            custom_context=True,
            buildargs=arguments,
            labels={"kraft-proof.image": "node"},
            tag=wanted,
            rm=True,
            forcerm=True,
        )
    except BuildError as error:
        lines = [str(entry["stream"]).strip() for entry in error.build_log if "stream" in entry]
        last = " | ".join([line for line in lines if line][-3:])
        raise EngineError(f"the image {wanted} cannot be built: {error}: {last}") from error


def base(client: docker.DockerClient, packages: Sequence[str] = ()) -> str:
    """The tag of an image with Python that has these packages or can be given them."""
    for known in _known_bases(packages):
        if _has(client, known):
            return known
    wanted = os.environ.get("KRAFT_PROOF_BASE", REGISTRY_BASE)
    _say(f"pulling the base image {wanted}")
    try:
        client.images.pull(wanted)
    except APIError as error:
        complaint = str(error.explanation or error)
        if "KRAFT_PROOF_BASE" in os.environ:
            raise EngineError(f"the base image {wanted} cannot be had: {complaint}") from error
        return _made_base(complaint, packages)
    return wanted


def _made_base(complaint: str, packages: Sequence[str]) -> str:
    made = _local_base(packages)
    _say(f"no registry answers; making {made} with mmdebstrap, which takes a minute or so")
    done = subprocess.run(
        [SCRIPT, made, "", *packages] if packages else [SCRIPT, made],
        capture_output=True,
        text=True,
        timeout=SCRIPT_TIMEOUT_S,
    )
    if done.returncode != 0:
        last = " ".join(done.stderr.split()[-30:])
        raise EngineError(f"no base image: registry: {complaint}; docker/base-image.sh: {last}")
    return made


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
