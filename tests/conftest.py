"""What all tests share: the root of the checkout on the path, and one Spark session."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Folders of tests are named like the packages that they mirror; the root must win over them.
sys.path.insert(0, str(Path(__file__).parent.parent))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One quiet Spark session for all tests of a pytest process."""
    from framework.checking.spark import start, stop

    session = start("local[2]")
    yield session
    stop(session)
