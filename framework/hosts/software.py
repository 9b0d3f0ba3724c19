"""A system's software as files: its own, and the Python packages that they import.

Python packages are copied from the Python that runs the framework where they fit the Python that
will import them, else downloaded as wheels. So nothing here needs a network, as a rule, and nodes
run with the versions that the tests ran with.
"""

import hashlib
import re
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from framework.errors import EngineError
from framework.plugins.host import Image

SITE: Final = "site"
"""The folder of the Python packages."""
ABI: Final = str(sysconfig.get_config_var("SOABI"))
"""What compiled packages of this Python fit: version, machine and C library in one word."""
ASK_ABI: Final = "import sysconfig; print(sysconfig.get_config_var('SOABI'))"

_ABI: Final = re.compile(r"cpython-(\d)(\d+)-(\w+)-linux-gnu")
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9._-]+")


def contents(image: Image, abi: str) -> dict[str, bytes]:
    """Everything below `Host.software`: path -> data. `abi`: what `ASK_ABI` prints on the machine.

    Raises `EngineError` where the Python packages cannot be had for it.
    """
    files = {path: file.read_bytes() for path, file in image.files.items()}
    if image.requirements:
        found = _installed(image) if abi == ABI else _downloaded(image, abi)
        files |= {f"{SITE}/{path}": data for path, data in found}
    return files


def digest(image: Image, *more: str) -> str:
    """A word that changes when anything does that goes into a machine."""
    digested = hashlib.sha256()
    for path, data in sorted(_own(image).items()):
        digested.update(f"{path}\\0{len(data)}\\0".encode() + data)
    for found in _distributions(image):
        digested.update(f"{found.name}=={found.version}\\n".encode())
    digested.update(" ".join((ABI, *image.packages, *more)).encode())
    return digested.hexdigest()[:12]


def requirements(file: Path) -> Sequence[str]:
    """The lines of a requirements.txt."""
    lines = (line.strip() for line in file.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _own(image: Image) -> Mapping[str, bytes]:
    files = {path: file.read_bytes() for path, file in image.files.items()}
    if image.dockerfile is not None:
        files["Dockerfile"] = image.dockerfile.read_bytes()
    return files


def _distributions(image: Image) -> list[Distribution]:
    """What the image requires, and what that requires itself."""
    wanted = list(image.requirements)
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


def _installed(image: Image) -> Iterator[tuple[str, bytes]]:
    for found in _distributions(image):
        for file in found.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                yield str(file), Path(str(found.locate_file(file))).read_bytes()


def _downloaded(image: Image, abi: str) -> Iterator[tuple[str, bytes]]:
    fits = _ABI.fullmatch(abi)
    if fits is None:
        raise EngineError(f"no Python packages for {abi}: it is no CPython with the GNU C library")
    major, minor, machine = fits.groups()
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder),
                *("--only-binary", ":all:", "--python-version", f"{major}.{minor}"),
                *("--platform", f"manylinux2014_{machine}"),
                *("--platform", f"manylinux_2_28_{machine}"),
                *image.requirements,
            ],
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            raise EngineError(
                f"the Python packages of {image.name} for {abi} could not be downloaded "
                f"({' '.join(done.stderr.split()[-20:])}); a machine with {ABI} needs no download"
            )
        for wheel in Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as members:
                for name in members.namelist():
                    if not name.endswith("/"):
                        yield name, members.read(name)
