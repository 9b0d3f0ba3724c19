"""What a run ran with: versions and the git revision, for plan.json."""

import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def versions() -> dict[str, str | None]:
    """Versions of what can change a verdict."""
    return {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "framework": _package("kraft-proof"),
        "pyspark": _package("pyspark"),
        "kio": _package("kio"),
        "git": _revision(),
    }


def _package(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _revision() -> str | None:
    """The commit that runs, with a + where files differ from it; None outside a checkout."""
    here = Path(__file__).parent
    try:
        commit = _git(here, "rev-parse", "HEAD")
        changed = _git(here, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changed else "")


def _git(where: Path, *arguments: str) -> str:
    command = ["git", "-C", str(where), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5)
    return done.stdout.strip()
