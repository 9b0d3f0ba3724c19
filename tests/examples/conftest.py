"""Environments for examples, which install themselves."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.examples.pages import environment


@pytest.fixture
def scratch() -> Iterator[Path]:
    """A folder with a short name: a run's sockets are below it."""
    folder = Path(tempfile.mkdtemp(prefix="page-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def env(scratch: Path) -> dict[str, str]:
    """Variables for commands, as `environment`. The runs' scratch folders are in `scratch`."""
    (scratch / "tmp").mkdir()
    return {**environment(scratch / "venv"), "TMPDIR": os.fspath(scratch / "tmp")}
