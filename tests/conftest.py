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


CLUSTER_FOLDERS = ("end_to_end", "examples", "nemesis", "framework/hosts")
CLUSTER_FILES = ("test_node_process.py",)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Groups for `--dist loadgroup`: tests that start clusters follow one another in one worker,
    so that no two clusters compete for the machine; so do those that use Spark, so that there is
    one session; other files may go anywhere. (xdist reads the marks as soon as all is collected,
    before any hook of ours that changes the list.)"""
    where = item.path.relative_to(Path(__file__).parent).as_posix()
    if where.startswith(CLUSTER_FOLDERS) or item.path.name in CLUSTER_FILES:
        group = "clusters"
    elif "spark" in getattr(item, "fixturenames", ()):
        group = "spark"
    else:
        group = where
    item.add_marker(pytest.mark.xdist_group(group))
