"""What a machine must carry to be a node: this package without its adapter, and what it imports."""

from pathlib import Path
from typing import Final

from framework.hosts.software import requirements
from framework.plugins.host import Host, Image

PACKAGE: Final = Path(__file__).parents[1]
ROOT: Final = PACKAGE.parents[1]
BESIDE: Final = PACKAGE / "image"


def image() -> Image:
    own = [
        *(BESIDE / name for name in ("Dockerfile", "requirements.txt", "entry.sh")),
        *(file for file in PACKAGE.rglob("*.py") if "adapter" not in file.parts),
    ]
    return Image(
        name="kraft",
        files={str(file.relative_to(ROOT)): file for file in own},
        requirements=requirements(BESIDE / "requirements.txt"),
        dockerfile=BESIDE / "Dockerfile",
    )


def python(host: Host) -> list[str]:
    """The command line of a Python on the host that can import `nodes.kraft`."""
    if not host.software:
        return [host.python]
    return ["env", f"PYTHONPATH={host.software}:{host.software}/site", host.python]
