"""What all tests share: the root of the checkout on the path, and one Spark session."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# Folders of tests are named like the packages that they mirror; the root must win over them.
sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.cases import cases

if hypothesis.settings.get_current_profile_name() == "default":
    # No deadline: a machine may do other things.
    hypothesis.settings.register_profile("busy", deadline=None, max_examples=cases(100))
    hypothesis.settings.load_profile("busy")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One quiet Spark session for all tests of a pytest process."""
    from framework.checking.spark import start, stop

    session = start("local[2]")
    yield session
    stop(session)


CLUSTERS = (
    "end_to_end/test_runs",
    "end_to_end/test_defects",
    "framework/hosts",
    "nemesis",
)
"""Those of examples/ start hosts as well: they are long, and may run beside these."""
WITH_NODES = (*CLUSTERS, "end_to_end", "examples")
"""Runs by the clock: what a machine has no time for in their seconds is never made up for."""
WITH_SPARK = ("framework/checking/test_standalone_cluster.py",)
"""Some of its tests use the session, and all share a cluster."""
GROUP = pytest.StashKey[str]()
TURNS = pytest.StashKey[Any]()
"""Of this worker; None: there are no others."""
FIRST = ("clusters", "spark")
"""Groups that take long, and so are begun first."""


def pytest_configure(config: pytest.Config) -> None:
    """Workers of xdist share a machine."""
    from tests.turns import Turns

    worker = getattr(config, "workerinput", None)
    config.stash[TURNS] = None if worker is None else Turns.of(worker["testrunuid"])


def pytest_unconfigure(config: pytest.Config) -> None:
    if (turns := config.stash[TURNS]) is not None:
        turns.leave()


@pytest.fixture(scope="session")
def alone(pytestconfig: pytest.Config) -> Callable[[], AbstractContextManager[None]]:
    """The machine for a part of a test, without any other test."""
    turns = pytestconfig.stash[TURNS]
    return nullcontext if turns is None else turns.alone


@cache
def _where(file: Path) -> str:
    """A test file's path below this folder. Asked for each of ten thousand tests, thrice."""
    return file.relative_to(Path(__file__).parent).as_posix()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Groups for `--dist loadgroup`: tests that start hosts follow one another in one worker, as
    some of them clean up what dead runs left, and nodes need time of the machine; so do those that
    use Spark, so that there is one session; other files may go anywhere. (xdist reads the marks as
    soon as all is collected, before any hook of ours that changes the list.)"""
    where = _where(item.path)
    if where.startswith(CLUSTERS):
        group = "clusters"
    elif "spark" in getattr(item, "fixturenames", ()) or where in WITH_SPARK:
        group = "spark"
    else:
        group = where
    item.add_marker(pytest.mark.xdist_group(group))
    item.stash[GROUP] = group


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[object]:
    turns = item.config.stash[TURNS]
    with nullcontext() if turns is None else turns.shared():
        if not _where(item.path).startswith(WITH_NODES):
            return (yield)
        with before_others():
            return (yield)


@contextmanager
def before_others() -> Iterator[None]:
    """This thread, and the threads and processes that it starts, come before what only computes:
    a run that met too little is recorded again, for longer, which costs all tests more time."""
    if os.geteuid() != 0:  # as those who may start namespaces are
        yield
        return
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    os.setpriority(os.PRIO_PROCESS, 0, usual - 10)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Ten thousand tests are many objects, all of which stay: the collector of cycles went over
    them again and again, for a twentieth of the time of tests that only compute."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that no worker is left with it in the end."""
    items.sort(key=lambda item: item.stash[GROUP] not in FIRST)
