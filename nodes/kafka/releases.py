"""Releases of Apache Kafka that can be got, and what Java each needs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framework.errors import UsageError

CHECKSUMS: Final = Path(__file__).parent / "checksums"
"""A file a release, `<version>.txt`: a line `<sha256>  <name>` a jar, as `sha256sum` has it."""
_JAVA: Final = ((4, 17), (3, 11))
"""Of a major version the oldest Java that its brokers start with (KIP-1013)."""


@dataclass(frozen=True, slots=True)
class Release:
    """`java`: the oldest major version that it runs on. `jars`: name -> sha256, in hex."""

    version: str
    java: int
    jars: dict[str, str]


def versions() -> list[str]:
    """All releases of the table, oldest first."""
    return sorted((path.stem for path in CHECKSUMS.glob("*.txt")), key=_order)


def newest() -> str:
    """The release that is meant where none is named."""
    return versions()[-1]


def release(version: str) -> Release:
    """Raises `UsageError` for one that is not in the table."""
    if version not in (known := versions()):
        raise UsageError(f"Apache Kafka {version}: known are {', '.join(known)}")
    return Release(version, java_of(version), listed(CHECKSUMS / f"{version}.txt"))


def listed(path: Path) -> dict[str, str]:
    """A file of checksums: name -> sha256, in hex."""
    lines = path.read_text().splitlines()
    return {name: digest for digest, name in (line.split() for line in lines)}


def java_of(version: str) -> int:
    """The oldest major version of Java that a release, or a build that calls itself so, runs on."""
    major = _order(version)[0]
    return next(java for since, java in _JAVA if major >= since or since == _JAVA[-1][0])


def is_since(version: str, since: str) -> bool:
    """Whether a release, or a build that calls itself so, is that one or a newer one."""
    return _order(version) >= _order(since)


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("-")[0].split(".") if part.isdecimal())
