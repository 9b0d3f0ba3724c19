"""A run that goes on: what its files have so far, each byte of them read once."""

import json
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from framework.history.event import NEMESIS, is_observer

_LAST: Final = 15
"""Operations that are shown one by one."""
_MOST: Final = 8 << 20
"""Bytes read at a time: a run that has gone on for long is caught up with in steps."""
_STATE: Final = {
    "probed-before": "planned",
    "injected": "active",
    "probed-during": "active",
    "probed-after": "healed",
}
"""What a fault is after a step of the ledger; after others what the step is called."""


class _Growing:
    """The whole lines of a file, as they come."""

    def __init__(self, path: Path) -> None:
        self._path, self._at = path, 0

    def lines(self) -> list[Mapping[str, Any]]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                text = file.read(_MOST)
        except OSError:
            return []
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        found: list[Mapping[str, Any]] = []
        for line in whole.splitlines():
            try:
                parsed = json.loads(line)
            except ValueError:
                continue
            if isinstance(parsed, dict):
                found.append(parsed)
        return found


@dataclass(slots=True)
class Live:
    """So far. `update` reads on."""

    folder: Path
    outcomes: Counter[str] = field(default_factory=Counter)
    invoked: int = 0
    observed: int = 0
    time_s: float = 0.0
    phase: str = ""
    faults: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Id -> what it is, and its state: planned, active, healed."""
    last: deque[str] = field(default_factory=lambda: deque(maxlen=_LAST))
    """Completions, the newest last."""
    _history: _Growing = field(init=False)
    _ledger: _Growing = field(init=False)

    def __post_init__(self) -> None:
        self._history = _Growing(self.folder / "history.jsonl")
        self._ledger = _Growing(self.folder / "faults.jsonl")

    def update(self) -> "Live":
        for line in self._history.lines():
            self._event(line)
        for line in self._ledger.lines():
            what = f"{line.get('fault', '')} {line.get('shape', '')}".strip()
            step = str(line.get("step", ""))
            self.faults[line.get("id", 0)] = (what, _STATE.get(step, step))
        return self

    @property
    def open(self) -> int:
        return self.invoked - self.outcomes.total()

    def _event(self, line: Mapping[str, Any]) -> None:
        process, kind = line.get("process"), str(line.get("type"))
        time = line.get("time")
        if isinstance(time, int):
            self.time_s = max(self.time_s, time / 1e9)
        if process == NEMESIS:
            if line.get("f") == "phase":
                self.phase = str(line.get("value"))
        elif process is not None and is_observer(process):
            self.observed += kind == "ok"
        elif kind == "invoke":
            self.invoked += 1
        else:
            self.outcomes[kind] += 1
            error = line.get("error") or ()
            said = f" {error[0]}" if isinstance(error, list) and error else ""
            self.last.append(
                f"{self.time_s:8.2f} s  p{process} {line.get('f')} {line.get('key') or ''} "
                f"{kind}{said}"
            )
