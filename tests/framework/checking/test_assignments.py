"""Which tasks there are, and by which checkers each judges a run."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.checking.assignments import SHORT_ROWS, Assigning, Assignment, ByItself
from framework.checking.keyed import OUTCOME_ARROW
from framework.checking.sealing import Counts
from framework.checking.stored import Held
from framework.plugins import registry
from framework.plugins.checker import RunInfo


@dataclass(frozen=True)
class Shares:
    """A judge of several."""

    names: Sequence[str]
    part: int = 0

    def rows(self, run: Any) -> Any:
        raise AssertionError("nobody asked")

    def apart(self) -> Sequence["Shares"]:
        return [Shares([name], self.part) for name in self.names]


@dataclass(frozen=True)
class Shared:
    """A batch, of which `c` can be cut."""

    asked: list[list[str]] = field(default_factory=list, compare=False, hash=False)

    def judges(self, checkers: Mapping[str, Any], parts: int) -> Sequence[Shares]:
        self.asked.append(sorted(checkers))
        times = parts if list(checkers) == ["c"] else 1
        return [Shares(sorted(checkers), part) for part in range(times)]


@dataclass
class Checker:
    name: str
    batch: Any = None


class Alone(Checker):
    def judge_run(self, run: Any, budget_s: float) -> pa.Table:
        row = {"run": "r", "checker": "another name", "verdict": "VALID", "seen": run}
        return pa.Table.from_pylist([row], OUTCOME_ARROW)


def held(rows: int = 10, parts: int = 1) -> Held:
    counts = Counts(operations={"create": rows})
    manifest: Any = SimpleNamespace(counts=counts)
    found = Held(info=RunInfo(run="r", path="r", plan={}), sealed=None, manifest=manifest)  # type: ignore[arg-type]
    if parts > 1:
        return SimpleNamespace(manifest=manifest, evidence_parts=parts)  # type: ignore[return-value]
    return found


def plugins(names: str, alone: str = "", framed: str = "") -> dict[str, Any]:
    shared = Shared()
    return {
        **{name: Checker(name, shared) for name in names},
        **{name: Alone(name) for name in alone},
        **{name: Checker(name) for name in framed},
    }


def dealt(cores: int, asked: dict[str, Any], run: Held | None = None) -> list[list[str]]:
    """By task the names of its checkers, and of those that want a frame."""
    tasks, framed = Assigning(cores, 1.0).split(run or held(), asked)
    return [[name for judge in own for name in judge.names] for own in tasks] + [[*framed]]


@pytest.mark.parametrize("cores", [0, 1])
def test_of_as_many_runs_as_cores_one_task_judges_a_run_by_all(cores: int) -> None:
    asked = plugins("abc", alone="z", framed="f")
    assert dealt(cores, asked) == [["a", "b", "c", "z"], ["f"]]
    assert asked["a"].batch.asked == [["a", "b", "c"]]


def test_runs_that_are_asked_of_alike_have_the_same_judges() -> None:
    """They travel once."""
    assigning, asked = Assigning(1, 1.0), plugins("abc", alone="z")
    first, again, other = (
        assigning.split(held(), own)[0] for own in (asked, dict(asked), plugins("abc"))
    )
    assert first[0] is again[0] and first[0] is not other[0]


def test_members_are_dealt_out_to_the_cores_that_a_run_has_and_the_others_apart() -> None:
    asked = plugins("abcde", alone="z")
    assert dealt(2, asked) == [["z"], ["a", "c", "e"], ["b", "d"], []]
    assert [len(each) for each in dealt(64, plugins("abcdefgh"))] == [2, 2, 2, 2, 0]
    assert dealt(8, plugins("a")) == [["a"], []]
    assert dealt(8, {}) == dealt(1, {}) == [[]]


def test_of_a_long_run_each_checker_is_a_tasks_and_one_that_can_be_cut_several() -> None:
    for cores in (1, 2):
        own = dealt(cores, plugins("abc", alone="z"), held(parts=3))
        assert sorted(own) == [[], ["a"], ["b"], ["c"], ["c"], ["c"], ["z"]]


def test_the_heaviest_comes_first() -> None:
    """Of real checkers: one that looks at all operations, and one that looks at none."""
    names = ("availability", "one-vote", "topic-linearizability")
    asked = {name: registry.load("checkers", name) for name in names}
    tasks, _ = Assigning(4, 1.0).split(held(rows=1_000), asked)
    first, *_, last = [[*judge.names] for own in tasks for judge in own]
    assert (first, last) == (["topic-linearizability"], ["one-vote"])


@pytest.mark.parametrize(("rows", "framed"), [(SHORT_ROWS, []), (SHORT_ROWS + 1, ["z"])])
def test_keys_of_a_long_history_are_judged_by_a_frame(rows: int, framed: list[str]) -> None:
    *tasks, others = dealt(2, plugins("a", alone="z"), held(rows=rows))
    assert others == framed
    assert sorted(tasks) == sorted([["a"], *([["z"]] if not framed else [])])


def test_one_by_itself_is_called_as_it_was_asked_for() -> None:
    (table,) = ByItself("z", Alone("z"), 1.0).rows(7)  # type: ignore[arg-type]
    assert table.select(["checker", "seen"]).to_pylist() == [{"checker": "z", "seen": 7}]
    assert table.schema == OUTCOME_ARROW


def test_an_assignment_apart_is_one_for_each_checker() -> None:
    judges = [Shares(["a", "b"], 2), ByItself("z", Alone("z"), 1.0)]
    whole = Assignment(number=3, run="r", place=None, judges=judges)  # type: ignore[arg-type]
    assert whole.names == ["a", "b", "z"]
    apart = whole.apart()
    assert [(each.number, each.names) for each in apart] == [(3, ["a"]), (3, ["b"]), (3, ["z"])]
    assert apart[0].judges == [Shares(["a"], 2)]


REAL = {name: registry.load("checkers", name) for name in registry.names("checkers")}


@given(
    names=st.sets(st.sampled_from(sorted(REAL))),
    cores=st.integers(0, 9),
    parts=st.sampled_from([1, 1, 3, 8]),
    rows=st.sampled_from([0, 100, SHORT_ROWS, 10 * SHORT_ROWS]),
)
def test_every_checker_judges_all_of_a_run_once(
    names: set[str], cores: int, parts: int, rows: int
) -> None:
    tasks, framed = Assigning(cores, 1.0).split(held(rows, parts), {n: REAL[n] for n in names})
    judged = Counter(name for own in tasks for judge in own for name in judge.names)
    for name in names:
        check = getattr(REAL[name], "check_run", None)
        if check is None:
            assert (judged[name], name in framed) == (
                (0, True) if rows > SHORT_ROWS else (1, False)
            )
        else:
            assert judged[name] == (parts if check.can_be_cut else 1) and name not in framed
    assert all(tasks) and judged.keys() | framed.keys() == names
