"""Porcupine, a checker in Go (github.com/anishathalye/porcupine), over the same histories.

Used where a `porcupine-check` is on the PATH, or where Go is, and can get the module: as any module
is got, or from a folder with its source. The program that runs it is ours: `porcupine/main.go`.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.checking.measured import Measured
from checkers.linearizability.encoded import EncodedHistory

MODULE: Final = "github.com/anishathalye/porcupine"
SOURCE: Final = Path(__file__).parent / "porcupine"
BINARY: Final = "porcupine-check"
_BUILD_S: Final = 300
_ROW: Final = np.dtype(
    [(name, "<i4") for name in ("key", "kind", "a", "b")]
    + [(name, "<i8") for name in ("call", "ret")]
)
_VERDICTS: Final = {"ok": "VALID", "illegal": "INVALID"}


class Unavailable(Exception):
    """Why there is no Porcupine here; one line."""


@dataclass(frozen=True, slots=True)
class Porcupine:
    """A program that is ready to run."""

    program: Path
    processor_time: bool = False
    """Measure that, not the clock's: where the machine has other work too."""

    def check(
        self, model: str, rows: Path, limit_s: float, limit_mib: int, runs: int = 1
    ) -> Measured:
        """The quickest of some runs over a file of `rows_of`; a run without a verdict is the
        last."""
        best: Measured | None = None
        for _ in range(runs):
            found = self._once([model, str(rows), str(limit_s), str(limit_mib)], limit_s)
            if best is None or found.seconds < best.seconds:
                best = found
            if not found.has_verdict:
                return found
        assert best is not None
        return best

    def _once(self, arguments: Sequence[str], limit_s: float) -> Measured:
        try:
            ended = subprocess.run(
                [str(self.program), *arguments],
                capture_output=True,
                text=True,
                timeout=2 * limit_s + 60,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Measured("time", limit_s, 0, "porcupine")
        if ended.returncode:
            raise Unavailable(f"{self.program} failed: {ended.stderr.strip().splitlines()[:1]}")
        reported = json.loads(ended.stdout)
        verdict = reported["verdict"]
        verdict = _VERDICTS.get(verdict, "time" if verdict == "unknown" else verdict)
        unit = "cpu_seconds" if self.processor_time else "seconds"
        seconds, first = reported[unit], reported[f"first_{unit}"]
        early = first if first < seconds else None
        return Measured(verdict, seconds, reported["peak_bytes"], "porcupine", early)


def rows_of(keys: Sequence[EncodedHistory]) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """All keys' operations as the program reads them, in the order of their calls."""
    parts = []
    for number, encoded in enumerate(keys):
        part = np.empty(len(encoded), _ROW)
        part["key"] = number
        for name in ("kind", "a", "b", "call", "ret"):
            part[name] = getattr(encoded, name)
        parts.append(part)
    whole = np.concatenate(parts)
    return whole[np.argsort(whole["call"], kind="stable")]


def porcupine(folder: Path, source: Path | None = None, processor_time: bool = False) -> Porcupine:
    """One from the PATH, or one built into a folder. `source`: where Porcupine's own source is."""
    if source is None and (found := shutil.which(BINARY)):
        return Porcupine(Path(found), processor_time)
    if not shutil.which("go"):
        raise Unavailable(f"no {BINARY} on the PATH, and no go")
    for name in ("main.go", "go.mod"):
        shutil.copy(SOURCE / name, folder / name)
    if source is not None:
        edit = [f"-require={MODULE}@v0.0.0", f"-replace={MODULE}={source.resolve()}"]
        _go(folder, "mod", "edit", *edit)
    else:
        _go(folder, "get", f"{MODULE}@latest")
    _go(folder, "build", "-o", BINARY, ".")
    return Porcupine(folder / BINARY, processor_time)


def _go(folder: Path, *arguments: str) -> None:
    try:
        ended = subprocess.run(
            ["go", *arguments],
            cwd=folder,
            env={**os.environ, "GOFLAGS": "-mod=mod"},
            capture_output=True,
            text=True,
            timeout=_BUILD_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"go {arguments[0]} took more than {_BUILD_S} s") from None
    if ended.returncode:
        lines = ended.stderr.strip().splitlines() or ["it failed"]
        raise Unavailable(f"go {arguments[0]}: {lines[-1]}")
