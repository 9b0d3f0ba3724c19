"""What the node image is built from: the build context, and the tag that names its content.

The node's dependencies go into the context as files: copied from the Python that runs the
framework where the image has the same version of Python, else downloaded as wheels. So the image
can be built without any network, and nodes run with the versions that the tests ran with.
"""

import hashlib
import io
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from framework.errors import EngineError

ROOT: Final = Path(__file__).parents[3]
NAME: Final = "kraft-proof-node"
THIS_PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"

_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9._-]+")


def tag() -> str:
    """The image's name with a digest of what goes into it: sources, versions, chosen base."""
    digest = hashlib.sha256()
    for path, data in sorted(_sources().items()):
        digest.update(f"{path}\0{len(data)}\0".encode() + data)
    for found in _dependencies():
        digest.update(f"{found.name}=={found.version}\n".encode())
    digest.update(f"{THIS_PYTHON} {os.environ.get('KRAFT_PROOF_BASE', '')}".encode())
    return f"{NAME}:{digest.hexdigest()[:12]}"


def archive(image_python: str) -> bytes:
    """The build context as a tar file. `image_python`: version of the base's Python, "3.11"."""
    files = dict(_sources())
    if image_python == THIS_PYTHON:
        files |= {f"site/{path}": data for path, data in _installed()}
    else:
        files |= {f"site/{path}": data for path, data in _downloaded(image_python)}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path, data in sorted(files.items()):
            member = tarfile.TarInfo(path)
            member.size = len(data)
            member.mode = 0o755 if path.endswith(".sh") else 0o644
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _sources() -> Mapping[str, bytes]:
    if not (ROOT / "docker" / "Dockerfile").exists():
        raise EngineError("docker/Dockerfile is not beside the package: run from a checkout")
    paths = [
        *(ROOT / "docker" / name for name in ("Dockerfile", "requirements.txt")),
        *(ROOT / "docker" / name for name in ("sshd_config", "entry.sh")),
        *(ROOT / "nodes").rglob("*.py"),
    ]
    return {str(path.relative_to(ROOT)): path.read_bytes() for path in paths}


def _dependencies() -> list[Distribution]:
    """The distributions that requirements.txt names, and what they need themselves."""
    lines = (ROOT / "docker" / "requirements.txt").read_text().splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    found: dict[str, Distribution] = {}
    while wanted:
        requirement = wanted.pop()
        name = _REQUIREMENT.match(requirement)
        if name is None or "extra ==" in requirement or name[0] in found:
            continue
        try:
            found[name[0]] = distribution(name[0])
        except PackageNotFoundError:
            if ";" in requirement:  # for another platform or version of Python
                continue
            raise EngineError(f"{name[0]} is not installed: pip install {name[0]}") from None
        wanted.extend(found[name[0]].requires or ())
    return [found[name] for name in sorted(found)]


def _installed() -> Iterator[tuple[str, bytes]]:
    for found in _dependencies():
        for file in found.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                yield str(file), Path(str(found.locate_file(file))).read_bytes()


def _downloaded(image_python: str) -> Iterator[tuple[str, bytes]]:
    machine = platform.machine()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder),
                *("--only-binary", ":all:", "--python-version", image_python),
                *("--platform", f"manylinux2014_{machine}"),
                *("--platform", f"manylinux_2_28_{machine}"),
                *("-r", str(ROOT / "docker" / "requirements.txt")),
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise EngineError(
                f"the node's dependencies for Python {image_python} could not be downloaded "
                f"({' '.join(done.stderr.split()[-20:])}); a base with Python {THIS_PYTHON} needs "
                "no download: set KRAFT_PROOF_BASE"
            )
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as members:
                for name in members.namelist():
                    if not name.endswith("/"):
                        yield name, members.read(name)
