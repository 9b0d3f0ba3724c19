"""What the agent is made with: Byte Buddy, and a compiler for machines with a mere JRE."""

import hashlib
from pathlib import Path
from typing import Final

from framework.errors import UsageError
from nodes.kafka.releases import listed
from nodes.kafka.software import CACHE, DEFECT, bring

POM: Final = Path(__file__).parent / "pom.xml"
LIST: Final = Path(__file__).parent / "checksums.txt"


def get() -> None:
    """Bring it, where it is not there. Raises as `software.get`."""
    bring(POM, listed(LIST), _home(), "the agent of defects")


def tool(name: str) -> Path:
    """The jar of one of them. Raises `UsageError` where it is not there."""
    found = list(_home().glob(f"{name}-*.jar"))
    if not found:
        raise UsageError(
            f"--set {DEFECT}: {name} is not on this machine, with which the agent of defects is "
            "made: kraft-proof get kafka brings it"
        )
    return found[0]


def _home() -> Path:
    listed = hashlib.sha256(LIST.read_bytes()).hexdigest()
    return CACHE / "kafka" / "defects" / f"tools-{listed[:12]}"
