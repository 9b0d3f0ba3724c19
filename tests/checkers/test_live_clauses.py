"""What checkers call broken while a run goes on stays broken, whatever comes later: of every story
that their own tests plant a violation in, cut after every event, with what is under way pending."""

import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.histories import cell
from benchmarks.history_files import events_of, write_lines
from framework.checking.keyed import Outcome, outcome_row
from framework.checking.live import clauses_so_far
from framework.checking.prefixes import judged_prefix, live_checkers, prefix
from framework.checking.run_checks import RunChecker
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins import registry
from framework.testing.story import Story
from framework.verdict import Verdict

CHECKERS: Final = live_checkers(registry.names("checkers"))
MOMENTS: Final = 24
RULES: Final = sorted(name for name, each in CHECKERS.items() if isinstance(each, RunChecker))


def test_these_judge_runs_that_go_on() -> None:
    assert set(CHECKERS) == {
        *RULES,
        "register-linearizability",
        "topic-linearizability",
    }
    assert set(RULES) == {
        *("isr-linearizability", "metadata-answers"),
        *("monotonic-counters", "observed-cluster"),
    }
    for name, each in CHECKERS.items():
        assert set(each.live) <= set(each.clauses), name


def as_of(operations: Sequence[Operation], index: int) -> list[Operation]:
    """Those that had begun by then; what had not returned is pending."""
    return [
        each
        if each.end is None or each.end <= index
        else replace(
            each, end=None, type="info", result=None, error=None, ext=None, completed_ns=None
        )
        for each in operations
        if each.index <= index
    ]


def broken_by(checker: RunChecker, events: RunEvents) -> set[str]:
    found = checker.check_run(replace(events, evidence=()))
    parts = {"": found} if isinstance(found, Outcome) else found
    rows = [outcome_row("r", checker.name, key, each) for key, each in parts.items()]
    judged = clauses_so_far({checker.name: checker}, rows)
    return {each.clause for each in judged if each.verdict is Verdict.INVALID}


def broken_in_turn(checker: RunChecker, story: Story) -> Iterator[set[str]]:
    """The clauses that are broken after each event; of a long story after some, and the last."""
    events = story.run_events()
    both = [*events.operations, *events.observations]
    moments = sorted({*(each.index for each in both), *(each.end or 0 for each in both)})
    for index in [*moments[: -1 : 1 + len(moments) // MOMENTS], *moments[-1:]]:
        so_far = replace(
            events,
            operations=as_of(events.operations, index),
            observations=as_of(events.observations, index),
            nemesis=[each for each in events.nemesis if each.index <= index],
        )
        yield broken_by(checker, so_far)


def planted() -> Iterator[Any]:
    for name in RULES:
        module = importlib.import_module(f"test_{name.replace('-', '_')}")
        for violation, plant in module.PLANTED.items():
            yield pytest.param(name, plant.story, id=f"{name}: {violation}")


@pytest.mark.parametrize(("name", "story"), list(planted()))
def test_what_is_broken_stays_broken(name: str, story: Callable[[], Story]) -> None:
    checker = CHECKERS[name]
    assert isinstance(checker, RunChecker)
    before: set[str] = set()
    for broken in broken_in_turn(checker, story()):
        assert before <= broken
        before = broken


@pytest.mark.parametrize("name", RULES)
def test_each_live_clause_is_broken_by_some_story(name: str) -> None:
    checker = CHECKERS[name]
    assert isinstance(checker, RunChecker)
    module = importlib.import_module(f"test_{name.replace('-', '_')}")
    found = [broken_by(checker, each.story().run_events()) for each in module.PLANTED.values()]
    assert set().union(*found) == {each.name for each in checker.live}


@pytest.mark.parametrize("name", RULES)
def test_nothing_is_broken_while_a_healthy_story_goes_on(name: str) -> None:
    checker = CHECKERS[name]
    assert isinstance(checker, RunChecker)
    module = importlib.import_module(f"test_{name.replace('-', '_')}")
    assert not any(broken_in_turn(checker, module.clean()))


# --- linearizability ----------------------------------------------------------------------


def broken_after_each_line(name: str, folder: Path, lines: Sequence[str]) -> list[bool]:
    plan = {"seed": 1, "workloads": [], "nodes": {}, "time_zero_ns": 0}
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "history.jsonl").write_text("".join(lines))
    checkers = {name: CHECKERS[name]}
    found, end = [], 0
    for line in lines:
        end += len(line.encode())
        tables = judged_prefix(prefix("r", folder, end), checkers)
        rows = [row for table in tables for row in table.to_pylist()]
        judged = clauses_so_far(checkers, rows)
        found.append(any(each.verdict is Verdict.INVALID for each in judged))
    return found


@pytest.mark.parametrize("plant", [None, "stale"])
def test_registers_after_each_line(tmp_path: Path, plant: str | None) -> None:
    """Broken from some line on, for good; where nothing was planted, never."""
    path = tmp_path / "made.jsonl"
    write_lines(events_of([cell(40, 4, seed=3, info=0.1, plant=plant)]), path)
    found = broken_after_each_line(
        "register-linearizability", tmp_path, path.read_text().splitlines(keepends=True)
    )
    assert found == sorted(found) and found[-1] is (plant is not None)


@pytest.mark.parametrize(
    ("seen", "since"),
    [
        ({"topic_id": "A"}, 6),  # the answer of a read whose topic is gone
        (None, None),
    ],
)
def test_topics_after_each_line(tmp_path: Path, seen: object, since: int | None) -> None:
    """A deletion that has not returned may have taken effect, or not."""

    def line(index: int, type: str, process: int, f: str, value: object = None) -> str:
        event = {"index": index, "type": type, "process": process, "f": f, "key": "t"}
        return json.dumps(event | {"value": value}) + "\n"

    found = broken_after_each_line(
        "topic-linearizability",
        tmp_path,
        [
            line(0, "invoke", 0, "create"),
            line(1, "ok", 0, "create", {"topic_id": "A"}),
            line(2, "invoke", 1, "delete"),
            line(3, "invoke", 2, "describe"),
            line(4, "ok", 1, "delete", {"topic_id": "A"}),
            line(5, "invoke", 0, "describe"),
            line(6, "ok", 0, "describe", seen),
            line(7, "ok", 2, "describe", {"topic_id": "A"}),
        ],
    )
    assert found == [since is not None and index >= since for index in range(8)]
