"""Runs a target's tests against each of its mutants.

The tests are collected once, in a child. For each mutant it forks one more, in which the functions
of the module get the mutant's code, and those tests run, the quickest first, that were seen to call
the function: so a mutant costs what a test does, and one that survives what `enough_s` of them do.
What is not in a function, or survives in one that was called before the tests ran, is asked in a
child that imports the mutant in the module's place.
"""

import importlib
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import accumulate
from math import inf
from pathlib import Path
from random import Random
from time import process_time
from types import FrameType
from typing import Any, Final, TypeAlias, TypedDict

import pytest
from numba.core.compiler_lock import global_compiler_lock

from benchmarks.mutation import python_form
from benchmarks.mutation.children import Ended, each_in_a_child
from benchmarks.mutation.in_place import Change, Import, functions_of
from benchmarks.mutation.mutants import Module, Mutant, mutants
from framework.plugins import registry

ENOUGH_S: Final = 10.0
"""On the machine of docs/performance.md; a slower one needs more for the same tests."""
TIMES: Final = 5
"""And so many times as long as without a mutant."""
COLLECTING_S: Final = 30.0
"""Of processor time, for importing and collecting the tests once more."""


@dataclass(frozen=True, slots=True)
class Target:
    """`tests` are files or folders below `root`; of files in `shared`, which go through all
    checkers, cases of `checkers` alone. `without`: parts of names of tests that are left out."""

    name: str
    modules: tuple[Module, ...]
    tests: tuple[str, ...]
    root: Path
    shared: tuple[str, ...] = ()
    checkers: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    functions: frozenset[str] = frozenset()
    """Modules whose kernels run as Python functions."""
    least_s: float = 3
    """What a test may take at least, of processor time."""
    enough_s: float = ENOUGH_S
    """A mutant meets so much of tests (processor time without a mutant), the quickest first, and no
    more: what only the slow ones see counts as seen by none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of mutants. `ran_out`: killed, as they took too long."""

    mutants: Sequence[Mutant]
    ran_out: Sequence[Mutant]
    survived: Sequence[Mutant]

    def of(self, modules: Collection[Module]) -> "Outcome":
        """Of these alone."""
        every = (self.mutants, self.ran_out, self.survived)
        return Outcome(*([each for each in some if each.module in modules] for some in every))


class CleanRunFailed(Exception):
    """Without any mutant the tests have to pass."""


def mutants_of(target: Target) -> list[Mutant]:
    return [mutant for module in target.modules for mutant in mutants(module)]


def sampled(target: Target, made: Sequence[Mutant], size: int | None) -> Sequence[Mutant]:
    """All that were made, or some of them, the same in every run."""
    if size is None or size >= len(made):
        return made
    chosen = Random(target.name).sample(range(len(made)), size)
    return [made[place] for place in sorted(chosen)]


def run(target: Target, jobs: int, asked: Sequence[Mutant] | None = None) -> Outcome:
    """`asked`: of its mutants, else all. Raises `CleanRunFailed`."""
    made = mutants_of(target) if asked is None else asked
    if not made:
        return Outcome((), (), ())
    collected = _Collected(target, made, jobs)
    collected.import_others()
    left = [place for place in range(len(made)) if place not in collected.ended]
    imported = _imported(target, [made[place] for place in left], jobs, collected.calls)
    ended = collected.ended | dict(zip(left, imported, strict=True))
    survived = [mutant for place, mutant in enumerate(made) if ended[place].code == 0]
    return Outcome(made, [made[at] for at, each in ended.items() if each.ran_out], survived)


def _pytest(target: Target, *plugins: object) -> int:
    """In a child: there are no checkers but the target's, so that no others' cases are made."""
    python_form.use(target.functions)
    if target.checkers:
        others = registry.names
        registry.names = lambda group: (
            list(target.checkers) if group == "checkers" else others(group)
        )
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:timeout", "-W", "ignore"]
    options += ["--tb=native", "--assert=plain"]  # nobody reads why a mutant was killed
    files = [str(target.root / each) for each in (*target.shared, *target.tests)]
    return pytest.main([*options, f"--rootdir={target.root}", *files], [_Chosen(target), *plugins])


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Which tests are run: those of the target that need no Spark."""

    target: Target

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(filter(self._is_wanted, items), key=_is_random)

    def _is_wanted(self, item: pytest.Item) -> bool:
        target = self.target
        if "spark" in getattr(item, "fixturenames", ()):
            return False
        if any(each in item.nodeid for each in target.without):
            return False
        if item.path.relative_to(target.root).as_posix() not in target.shared:
            return True
        call = getattr(item, "callspec", None)
        return call is not None and call.params.get("name") in target.checkers


def _is_random(item: pytest.Item) -> bool:
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


# --- imported -----------------------------------------------------------------------------


def _imported(
    target: Target, made: Sequence[Mutant], jobs: int, calls: "_CallsOfTests"
) -> Iterator[Ended]:
    """How the tests ended where they import the mutant, in order."""

    def task(mutant: Mutant) -> Callable[[], int]:
        def imported() -> int:
            Import(mutant).put()
            return _pytest(target, _Quickest(calls, target.enough_s), _Limit(target, calls))

        return imported

    tasks = (
        [lambda: _pytest(target, _Quickest(calls, target.enough_s)), *map(task, made)]
        if made
        else []
    )
    ended = dict(each_in_a_child(tasks, jobs, COLLECTING_S + TIMES * target.enough_s))
    if made and ended[0].code:
        raise CleanRunFailed(f"{target.name}: in a process of its own ({ended[0]})")
    return (ended[place] for place in range(1, len(tasks)))


@dataclass(frozen=True, slots=True)
class _Quickest:
    """Of what is collected the quickest, as many as are enough."""

    calls: "_CallsOfTests"
    enough_s: float

    @pytest.hookimpl(wrapper=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        yield
        known = [each for each in items if each.nodeid in self.calls]
        items[:] = _enough(known, self.calls, self.enough_s)


# --- collected once -----------------------------------------------------------------------


class _Calls(TypedDict):
    """Of a test: the functions that it calls, as `file:name`, and what it takes."""

    called: list[str]
    cpu_s: float


_CallsOfTests: TypeAlias = Mapping[str, _Calls]
"""By the tests' names."""


class _Found(TypedDict):
    """What the collecting process says."""

    failed: str
    calls: _CallsOfTests
    ended: list[tuple[int, int, float]]
    others: list[str]


class _Collected:
    """The tests of a target, collected, against all mutants that are changes of functions."""

    def __init__(self, target: Target, made: Sequence[Mutant], jobs: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            server = _Server(target, made, jobs, Path(folder))
            ((_, ended),) = each_in_a_child([lambda: _pytest(target, server)], 1)
            if not server.path.exists():
                raise CleanRunFailed(f"{target.name}: tests cannot be collected ({ended})")
            self._found: _Found = json.loads(server.path.read_text())
        if self._found["failed"]:
            raise CleanRunFailed(f"{target.name}: {self._found['failed']}")
        self.calls = self._found["calls"]
        self.ended = {place: Ended(*how) for place, *how in self._found["ended"]}
        """Of mutants, by their place, how their tests ended: of all whose end is sure."""

    def import_others(self) -> None:
        """What the tests need beside the modules, once for all children that are to come."""
        for name in self._found["others"]:
            with suppress(Exception):
                importlib.import_module(name)


@dataclass
class _Server:
    """In the collecting process: instead of running the tests."""

    target: Target
    made: Sequence[Mutant]
    jobs: int
    folder: Path
    asked: bool = False
    early: set[str] = field(default_factory=set)
    """Functions that were called while tests were collected."""

    @property
    def path(self) -> Path:
        return self.folder / "found"

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[Any]:
        with _called(_files(self.target), self.early):
            return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if self.asked:
            return None  # pytest's own loop, in a child
        self.asked = True
        watch, clean = self._clean_run(session)
        found: _Found = {
            "failed": "\n".join(watch.failed) or ("" if clean.code == 0 else str(clean)),
            "calls": watch.calls,
            "ended": [] if clean.code else list(self._ended(session, watch)),
            "others": list(_others(self.target)),
        }
        self.path.write_text(json.dumps(found))
        return True

    def _clean_run(self, session: pytest.Session) -> tuple["_Watch", Ended]:
        watch = _Watch(_files(self.target), self.target.enough_s)
        kept = self.folder / "calls"

        def task() -> int:
            session.config.pluginmanager.register(watch)
            code = _tested(session)
            kept.write_text(json.dumps([watch.calls, watch.failed]))
            return code

        ((_, ended),) = each_in_a_child([task], 1)
        if kept.exists():
            watch.calls, watch.failed = json.loads(kept.read_text())
        return watch, ended

    def _ended(self, session: pytest.Session, watch: "_Watch") -> Iterator[tuple[int, int, float]]:
        functions = {each: functions_of(each.path) for each in self.target.modules}
        changes = [Change.of(each, functions[each.module]) for each in self.made]
        asked = [place for place, change in enumerate(changes) if change is not None]

        def task(place: int) -> Callable[[], int]:
            def changed() -> int:
                change, mutant = changes[place], self.made[place]
                assert change is not None
                session.items[:] = watch.callers(session.items, mutant)
                session.config.pluginmanager.register(_Limit(self.target, watch.calls))
                change.put()
                return _tested(session)

            return changed

        tasks = [task(place) for place in asked]
        for at, ended in each_in_a_child(tasks, self.jobs, TIMES * self.target.enough_s):
            if ended.code or _function(self.made[asked[at]]) not in self.early:
                yield asked[at], ended.code, ended.cpu_s


def _tested(session: pytest.Session) -> int:
    try:
        session.config.hook.pytest_runtestloop(session=session)
    except (session.Failed, session.Interrupted):
        return 1
    return 1 if session.testsfailed else 0


def _others(target: Target) -> Iterator[str]:
    """Modules that are imported here, but for the folders of what is changed, and of its tests."""
    paths = [
        *(each.path for each in target.modules),
        *(target.root / each for each in target.tests),
    ]
    own = {target.root / each.relative_to(target.root).parts[0] for each in paths}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and not any(Path(file).is_relative_to(folder) for folder in own):
            yield name


def _files(target: Target) -> frozenset[str]:
    return frozenset(str(each.path) for each in target.modules)


def _function(mutant: Mutant) -> str:
    return f"{mutant.module.path}:{mutant.function}"


@contextmanager
def _called(files: frozenset[str], found: set[str]) -> Iterator[None]:
    """Adds the functions of files that are called, by file and name."""

    def profile(frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename in files:
            found.add(f"{code.co_filename}:{code.co_qualname.partition('.<locals>')[0]}")

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)


@dataclass
class _Watch:
    """What each test calls of some files."""

    files: frozenset[str]
    enough_s: float
    calls: dict[str, _Calls] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    is_slow: bool = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        called: set[str] = set()
        self.is_slow = False
        began = process_time()
        with _called(self.files, called):
            done = yield
        cpu_s = inf if self.is_slow else process_time() - began
        self.calls[item.nodeid] = {"called": list(called), "cpu_s": cpu_s}
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call(self) -> Iterator[Any]:
        """Only here: a skip in what pytest does around it would end the session."""
        signal.signal(signal.SIGPROF, self._leave_out)
        signal.setitimer(signal.ITIMER_PROF, self.enough_s)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _leave_out(self, number: int, frame: FrameType | None) -> None:
        """A test that takes longer than all that a mutant meets is not waited for, unless it is
        what it calls that is compiled."""
        if global_compiler_lock.is_locked():
            signal.setitimer(signal.ITIMER_PROF, 1)
            return
        self.is_slow = True
        pytest.skip("too slow for mutants")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """hypothesis does not take a skip in any place."""
        report: pytest.TestReport = yield
        if self.is_slow and report.failed:
            report.outcome, report.longrepr = "skipped", ("", 0, "too slow for mutants")
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(f"{report.nodeid}: {report.longreprtext[-400:]}")

    def callers(self, items: Sequence[pytest.Item], mutant: Mutant) -> list[pytest.Item]:
        """Those that call its function, the quickest, as many as are enough."""
        function = _function(mutant)
        found = [each for each in items if function in self.calls[each.nodeid]["called"]]
        return _enough(found, self.calls, self.enough_s)


def _enough(
    items: Sequence[pytest.Item], calls: _CallsOfTests, enough_s: float
) -> list[pytest.Item]:
    ordered = sorted(items, key=lambda each: calls[each.nodeid]["cpu_s"])
    spent_s = accumulate(calls[each.nodeid]["cpu_s"] for each in ordered)
    return [each for each, s in zip(ordered, spent_s, strict=True) if s <= enough_s]


@dataclass(frozen=True, slots=True)
class _Limit:
    """A test that takes much longer than without a mutant ends the process."""

    target: Target
    calls: _CallsOfTests

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        clean_s = self.calls[item.nodeid]["cpu_s"]
        signal.setitimer(signal.ITIMER_PROF, self.target.least_s + TIMES * clean_s)
        return (yield)
