"""What runs on a machine of the user's, before a run and after it: by its own Python, as its root,
without anything of ours being there.

    python3 -c SOURCE look WORKDIR
    python3 -c SOURCE prepare FOLDER MARKER
    python3 -c SOURCE remove FOLDER LABEL FILTER_TABLE
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARKER = "run.json"
VARIABLE = "KRAFT_PROOF_RUN"
"""In the environment of every process of a run: its label."""


def look(workdir: str) -> None:
    """Print what there is, as JSON: version, ABI, and the markers of runs in the workdir."""
    found = {}
    for marker in sorted(Path(workdir).glob(f"*/{MARKER}")):
        try:
            found[str(marker.parent)] = json.loads(marker.read_text())
        except ValueError:
            found[str(marker.parent)] = None
    version = ".".join(map(str, sys.version_info[:3]))
    abi = str(sysconfig.get_config_var("SOABI"))
    print(json.dumps({"version": version, "abi": abi, "root": os.getuid() == 0, "runs": found}))


def prepare(folder: str, marker: str) -> None:
    """Make a run's folder with its marker in it; the marker says which parents were made too.
    Then look: of two runs that come at once, each finds the other."""
    with _alone():
        made = [str(parent) for parent in Path(folder).parents if not parent.exists()]
        Path(folder).mkdir(parents=True)
        (Path(folder) / MARKER).write_text(json.dumps({**json.loads(marker), "made": made}))
    look(str(Path(folder).parent))


def remove(folder: str, label: str, table: str) -> None:
    """End all processes of a run, and remove its packet-filter table and its folder. Where another
    run has the machine, the table is that one's: this run was not let in."""
    while pids := _marked(label):  # by hand: this machine has Python, and no tenacity
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.02)
    with _alone():
        marker = Path(folder) / MARKER
        made = json.loads(marker.read_text())["made"] if marker.exists() else []
        shutil.rmtree(folder, ignore_errors=True)
        others = list(Path(folder).parent.glob(f"*/{MARKER}"))
        if others:
            if made:
                _hand_over(made, others[0])
            return
        if shutil.which("nft"):
            commands = f"table inet {table}\ndelete table inet {table}\n"
            subprocess.run(["nft", "-f", "-"], input=commands.encode(), check=False)
        for parent in made:
            try:
                Path(parent).rmdir()
            except OSError:
                break


@contextmanager
def _alone() -> Iterator[None]:
    """One of these commands at a time on this machine. A lock of the root folder leaves no file."""
    root = os.open("/", os.O_RDONLY)
    try:
        fcntl.flock(root, fcntl.LOCK_EX)
        yield
    finally:
        os.close(root)


def _hand_over(made: list[str], marker: Path) -> None:
    """The parents that this run made are the other's to remove: it is still in them."""
    try:
        theirs = json.loads(marker.read_text())
    except ValueError:
        return
    marker.write_text(json.dumps({**theirs, "made": [*theirs.get("made", []), *made]}))


def _marked(label: str) -> list[int]:
    """Processes of a run. Those that ended have no environment."""
    wanted = f"{VARIABLE}={label}".encode()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue
    return found


if __name__ == "__main__":
    verb, *arguments = sys.argv[1:]
    if verb == "look":
        look(*arguments)
    elif verb == "prepare":
        prepare(*arguments)
    else:
        remove(*arguments)
