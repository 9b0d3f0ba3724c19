"""A run's folder: `results/<name>/<UTC time>-<seed>/`, and `results/latest` -> the newest."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from framework.checking.outcomes_table import FOLDER as OUTCOMES
from framework.errors import UsageError
from framework.history.event import Json
from framework.whole_files import write_whole

LATEST: Final = "latest"


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Paths of one run."""

    path: Path

    @property
    def history(self) -> Path:
        return self.path / "history.jsonl"

    @property
    def faults(self) -> Path:
        return self.path / "faults.jsonl"

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    def node(self, name: str) -> Path:
        return self.path / "nodes" / name

    def write_plan(self, plan: Mapping[str, Json]) -> None:
        """Write plan.json whole: a reader sees the old one or the new one."""
        write_json(self.plan, plan)


def create(results: Path, name: str, seed: int) -> RunFolder:
    """A new folder of a run, with `results/latest` pointing to it. Raises `UsageError`."""
    if not name or name.startswith(".") or "/" in name:
        raise UsageError(f"--name {name!r}: it becomes a folder's name, without / or a leading dot")
    if name == LATEST:
        raise UsageError(f"--name {name}: that is the link to the newest run; take another name")
    if name == OUTCOMES:
        raise UsageError(f"--name {name}: that is the table of all runs; take another name")
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    path = results / name / f"{stamp}-{seed}"
    try:
        path.mkdir(parents=True)
        _point(results / LATEST, path)
    except OSError as error:
        raise UsageError(f"--results {results}: cannot be written ({error.strerror})") from error
    return RunFolder(path)


def write_json(path: Path, value: Json) -> None:
    """Write JSON, whole or not at all."""
    write_whole(path, json.dumps(value, indent=1, default=str) + "\n")


def _point(link: Path, target: Path) -> None:
    temporary = link.with_name(f".latest-{os.getpid()}")
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(target.relative_to(link.parent), target_is_directory=True)
    temporary.replace(link)
