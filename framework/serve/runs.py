"""The runs of a results folder as rows of a list, read again only where files have changed."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from threading import Lock
from typing import Any, Final

from framework.hosts.processes import status

RUNNING: Final = "running"
UNFINISHED: Final = "unfinished"
"""Without a verdict that can be read, and no longer running."""
VERDICTS: Final = ("INVALID", "UNKNOWN", "VALID")
STATES: Final = (*VERDICTS, RUNNING, UNFINISHED)
"""The worst first."""
_PARTS: Final = ("plan.json", "verdict.json", "history.jsonl")
"""Any of these makes a folder a run's."""
_TAIL_BYTES: Final = 1 << 16
_START_TICKS: Final = 19
"""Place of a process's start among the fields of `status`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """What the list says of a run. Of what cannot be read it says nothing; `broken` says why."""

    name: str
    """Its series: the folder that it is in."""
    stamp: str
    state: str
    """One of `STATES`."""
    started: str = ""
    """ISO time, UTC; empty: not known."""
    seed: int | None = None
    system: str = ""
    hosts: str = ""
    nemeses: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    seconds: float | None = None
    """From the run's begin to the last that clients or observers wrote."""
    findings: int = 0
    invalid: tuple[str, ...] = ()
    """Checkers that are INVALID."""
    unknown: tuple[str, ...] = ()
    defect: str = ""
    broken: str = ""

    @property
    def id(self) -> str:
        return f"{self.name}/{self.stamp}"

    @property
    def words(self) -> str:
        """What a search looks through."""
        parts = (self.id, self.state, self.started, f"seed {self.seed}", self.system, self.hosts)
        more = (*self.nemeses, *self.workloads, *self.invalid, *self.unknown, self.defect)
        return " ".join((*parts, *more)).lower()


_Print = tuple[tuple[int, int] | None, ...]
"""Time of change and size of each of `_PARTS`."""


class Catalogue:
    """All runs of a folder. For several threads."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._known: dict[str, tuple[_Print, RunRow]] = {}
        self._lock = Lock()

    def rows(self) -> list[RunRow]:
        """Every run, the newest first."""
        with self._lock:
            prints = {
                folder: _print(folder)
                for series in _subfolders(str(self.root))
                for folder in _subfolders(series)
            }
            self._known = {at: self._read(at, now) for at, now in prints.items() if any(now)}
            found = [row for _, row in self._known.values()]
        return sorted(found, key=attrgetter("stamp", "name"), reverse=True)

    def row(self, folder: Path) -> RunRow:
        """One of them."""
        at = str(folder)
        with self._lock:
            self._known[at] = self._read(at, _print(at))
            return self._known[at][1]

    def _read(self, folder: str, now: _Print) -> tuple[_Print, RunRow]:
        known = self._known.get(folder)
        # A run that goes on may end without writing anything.
        if known is None or known[0] != now or known[1].state == RUNNING:
            return now, read_row(Path(folder))
        return known


# Strings and not paths: thousands of runs are looked at each second.


def _subfolders(folder: str) -> list[str]:
    """`latest` is a link, and a run that is listed already."""
    try:
        with os.scandir(folder) as entries:
            return [each.path for each in entries if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []


def _print(folder: str) -> _Print:
    return tuple(_changed(f"{folder}/{part}") for part in _PARTS)


def _changed(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path takes three times as long
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def read_row(folder: Path) -> RunRow:
    """The row of a run's folder, whatever is missing from it or malformed in it."""
    broken: list[str] = []
    plan = _object(folder / "plan.json", broken) or {}
    verdict = _object(folder / "verdict.json", broken)
    checkers = [each for each in _list((verdict or {}).get("checkers")) if isinstance(each, dict)]
    seed = plan.get("seed")
    return RunRow(
        name=folder.parent.name,
        stamp=folder.name,
        state=_state(plan, verdict, folder),
        started=str(plan.get("started") or ""),
        seed=seed if isinstance(seed, int) else None,
        system=str(plan.get("system") or ""),
        hosts=str(plan.get("hosts") or ""),
        nemeses=_names(plan.get("nemeses")),
        workloads=_names(plan.get("workloads")),
        seconds=_last_s(folder / "history.jsonl"),
        findings=sum(len(_list(each.get("findings"))) for each in checkers),
        invalid=_of_verdict(checkers, "INVALID"),
        unknown=_of_verdict(checkers, "UNKNOWN"),
        defect=_defect(plan),
        broken="; ".join(broken),
    )


def _state(plan: Mapping[str, Any], verdict: Mapping[str, Any] | None, folder: Path) -> str:
    if verdict is not None:
        said = str(verdict.get("verdict"))
        return said if said in VERDICTS else "UNKNOWN"
    if (folder / "verdict.json").exists():
        return UNFINISHED
    return RUNNING if _goes_on(plan) else UNFINISHED


def _goes_on(plan: Mapping[str, Any]) -> bool:
    """Whether the process that made the plan still runs: it is older than the plan, and what has
    its number after it is not."""
    try:
        began = datetime.fromisoformat(str(plan.get("started"))).timestamp()
        fields = status(int(plan["harness_pid"]))
        since_boot_s = int(fields[_START_TICKS]) / os.sysconf("SC_CLK_TCK")
    except (KeyError, TypeError, ValueError, IndexError, OSError):
        return False
    boot = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return fields[0] not in "ZX" and boot + since_boot_s <= began + 1


def _last_s(history: Path) -> float | None:
    """The time of the last whole line, s; of a line that is cut short the one before it."""
    try:
        with history.open("rb") as file:
            file.seek(max(0, history.stat().st_size - _TAIL_BYTES))
            lines = file.read().splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        try:
            return float(json.loads(line)["time"]) / 1e9
        except (ValueError, KeyError, TypeError):
            continue
    return None


def _object(path: Path, broken: list[str]) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        broken.append(f"{path.name} cannot be read")
        return None
    if isinstance(found, dict):
        return found
    broken.append(f"{path.name} is not a JSON object")
    return None


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _names(value: Any) -> tuple[str, ...]:
    return tuple(str(each) for each in _list(value))


def _of_verdict(checkers: Sequence[Mapping[str, Any]], verdict: str) -> tuple[str, ...]:
    return tuple(str(each.get("name")) for each in checkers if each.get("verdict") == verdict)


def _defect(plan: Mapping[str, Any]) -> str:
    """What was broken on purpose, by whichever way it was asked for."""
    options = plan.get("options")
    options = options if isinstance(options, dict) else {}
    given = [str(options["defect"])] if options.get("defect") else []
    for setting in _names(options.get("settings")):
        key, _, value = setting.partition("=")
        if key.rpartition(":")[2] == "defects":
            given.append(value)
    return ", ".join(given)
