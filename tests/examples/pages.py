"""Pages whose code is run as it stands, by a Python environment of the test's own.

A block of a page is written to the file that its fence names (```python file=a/b.py`), after what
is there; or it is commands (```sh`, with `exits=1` where that is how the last one ends). Blocks of
text are shown, and not run.
"""

import os
import re
import site
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SHORT: Final = (
    "--time-limit {limit_s} --interval 2 --set election-timeout=500 --seed 7 "
    "--spark-master 'local[1]'"
)
"""What every run of a page is given besides, for they last a minute as they stand: one that is to
find something longer than others, and elections that are over before a partition is. One worker of
Spark is enough to judge that."""

_FENCE: Final = re.compile(r"^```(\w+)(?: (file|exits)=(\S+))?\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Block:
    """`text`: the lines of a block. `file`: where they belong; None: they are commands."""

    text: str
    file: str | None = None
    exits: int = 0


def blocks(page: Path) -> Sequence[Block]:
    """The blocks of a page in order, but for those of text."""
    return [
        Block(
            text, file=value if key == "file" else None, exits=int(value) if key == "exits" else 0
        )
        for language, key, value, text in _FENCE.findall(page.read_text())
        if language != "text"
    ]


def environment(folder: Path) -> dict[str, str]:
    """Variables for commands of a new environment: all that is installed here, and what they
    install themselves, which is gone with the folder."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    outer = [*site.getsitepackages(), str(ROOT)]
    lines = (f"import site; site.addsitedir({each!r})\n" for each in outer)
    (packages / "outer.pth").write_text("".join(lines))
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "VIRTUAL_ENV": str(folder), "PIP_QUIET": "1"}


def shell(block: Block, cwd: Path, env: Mapping[str, str]) -> str:
    """Run the commands of a block, with shorter runs than it says; what they printed."""
    short = SHORT.format(limit_s=20 if block.exits else 10)
    script = re.sub("(?m)^(python -m framework run .*--system.*)$", rf"\1 {short}", block.text)
    done = subprocess.run(
        ["bash", "-ec", script], cwd=cwd, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == block.exits, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr
