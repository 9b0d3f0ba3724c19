"""The register of runs that have something on this machine, one small file a run.

A run writes its file before it makes anything, and removes it after everything is gone. A file
whose harness is dead names what `clean` has to remove. The files are per user.
"""

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from framework.hosts.processes import ProcessId


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of one kind of hosts."""

    run_id: str
    kind: str
    harness: ProcessId
    scratch: str
    keeper: ProcessId | None = None
    """The process that holds the run's hosts, where one does."""
    machines: Sequence[Mapping[str, str | int | None]] = ()
    """Machines of the user's that have something of the run."""

    @property
    def label(self) -> str:
        """The run's id fit for names of files, containers and networks. The end of an id, where
        the time and the seed are, is kept."""
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", self.run_id)[-80:].strip("-.")

    def path(self) -> Path:
        return directory() / f"{self.kind}-{self.harness.pid}-{self.label}.json"

    def save(self) -> None:
        """Write the file, in one step."""
        with tempfile.NamedTemporaryFile("w", dir=directory(), delete=False) as file:
            json.dump(
                {
                    "run_id": self.run_id,
                    "kind": self.kind,
                    "harness": str(self.harness),
                    "scratch": self.scratch,
                    "keeper": str(self.keeper) if self.keeper else None,
                    "machines": list(self.machines),
                },
                file,
            )
        Path(file.name).rename(self.path())

    def forget(self) -> None:
        """Remove the file."""
        self.path().unlink(missing_ok=True)


def directory() -> Path:
    """Where the files are: in the user's home, or in /tmp where there is no home to write to.

    Deliberately not XDG_RUNTIME_DIR: it differs between a login and a cron job of one user, and
    one must find what the other left.
    """
    own = Path(os.environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser())
    for base in (own / "kraft-proof", Path(f"/tmp/kraft-proof-{os.getuid()}")):
        try:
            found = base / "runs"
            found.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(found, os.W_OK) and found.stat().st_uid == os.getuid():
            return found
    raise PermissionError("neither the home directory nor /tmp can be written to")


@contextmanager
def registered(run: Run) -> Iterator[Run]:
    """Hold a run's file while the body goes on. Whatever keeper was added goes with it."""
    run.save()
    try:
        yield run
    finally:
        run.forget()


def orphans(kind: str) -> list[Run]:
    """Runs of a kind whose harness is gone."""
    found = []
    for path in sorted(directory().glob(f"{kind}-*.json")):
        try:
            fields = json.loads(path.read_text())
            keeper = fields["keeper"]
            run = Run(
                run_id=fields["run_id"],
                kind=fields["kind"],
                harness=ProcessId.parse(fields["harness"]),
                scratch=fields["scratch"],
                keeper=ProcessId.parse(keeper) if keeper else None,
                machines=fields.get("machines", []),
            )
        except FileNotFoundError:
            continue
        except (ValueError, KeyError, TypeError):
            path.unlink(missing_ok=True)
            continue
        if not run.harness.alive():
            found.append(run)
    return found
