"""The longest time in vain, against its definition, operation by operation
(`folds/serving/streaks.py`)."""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.folds.history.peace import Stretch
from checkers.folds.serving.asked import Asked, asked_of
from checkers.folds.serving.streaks import TRIES, Judge, Streak
from framework.history.pairing import Operation
from framework.history.rows import OperationRows
from tests.cases import cases

BOUND_NS = 9
JUDGE = Judge(BOUND_NS / 1e9)
Came: TypeAlias = Literal["ok", "refused", "nothing"]
Tried: TypeAlias = tuple[int, int, Came]
"""When it began, when it ended, and what came of it."""


def asked(operations: list[Tried]) -> Asked:
    made = []
    for number, (began, ended, came) in enumerate(operations):
        errors = {"ok": None, "refused": ("EXISTS", ""), "nothing": ("CLIENT_TIMED_OUT", "")}
        made.append(
            Operation(
                index=2 * number,
                f="create",
                type="ok" if came == "ok" else "fail" if came == "refused" else "info",
                end=2 * number + 1,
                error=errors[came],
                invoked_ns=began,
                completed_ns=ended,
            )
        )
    return asked_of(OperationRows.of(made), [])


def worst(operations: list[Tried], stretches: list[Stretch], *, whole: bool = False) -> Streak:
    found = asked(operations)
    return JUDGE.worst(found, np.arange(len(found)), stretches, found.ok, whole=whole)


def test_refusals_while_a_fault_holds_count_of_the_whole_system_alone() -> None:
    """Of a part of it, if nothing else is said."""
    found = asked([(at, at + 1, "refused") for at in range(1, 13)])
    own, stretches = np.arange(len(found)), [Stretch(0, 20, calm=False)]
    assert len(JUDGE.worst(found, own, stretches, found.ok).tried) == 0
    assert len(JUDGE.worst(found, own, stretches, found.ok, whole=True).tried) == 12


# --- the definition -----------------------------------------------------------------------


@dataclass
class Own:
    """A streak, as it is defined."""

    since: int
    kept: list[tuple[int, int, int]] = field(default_factory=list)
    """Of those tried while service was owed: place, stretch, end."""

    def spans(self, stretches: list[Stretch]) -> list[int]:
        """How long it was owed in each stretch, till the last of those there had ended."""
        last = {stretch: end for _, stretch, end in self.kept}
        return [end - max(stretches[at].begin_ns, self.since) for at, end in last.items()]


def streaks(operations: list[Tried], stretches: list[Stretch], whole: bool) -> list[Own]:
    ordered = sorted(operations, key=lambda each: each[1])
    found: list[Own] = []
    answered, own = 0, None
    for place, (began, ended, came) in enumerate(ordered):
        if came == "ok":
            answered, own = ended, None
            continue
        if own is None:
            own = Own(max(answered, began))
            found.append(own)
        for at, stretch in enumerate(stretches):
            if (
                stretch.begin_ns < ended <= stretch.end_ns
                and began >= max(stretch.begin_ns, own.since)
                and (whole or stretch.calm or came != "refused")
            ):
                own.kept.append((place, at, ended))
    return [each for each in found if each.kept]


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Tried], list[Stretch], bool]:
    came: st.SearchStrategy[Came] = st.sampled_from(("ok", "refused", "nothing", "nothing"))
    moments = st.tuples(st.integers(0, 40), st.integers(1, 6), came)
    operations = [
        (began, began + lasts, what) for began, lasts, what in draw(st.lists(moments, max_size=14))
    ]
    edges = sorted(draw(st.sets(st.integers(0, 45), max_size=6)))
    stretches = [
        Stretch(begin, end, draw(st.booleans()))
        for begin, end in zip(edges[::2], edges[1::2], strict=False)
    ]
    return operations, stretches, draw(st.booleans())


@settings(max_examples=cases(600), deadline=None)
@given(histories())
def test_the_worst_streak_is_as_defined(
    history: tuple[list[Tried], list[Stretch], bool],
) -> None:
    operations, stretches, whole = history
    found = worst(operations, stretches, whole=whole)
    wanted = Streak()
    best = (-1, -1)
    for own in streaks(operations, stretches, whole):
        spans = own.spans(stretches)
        longest = max(spans)
        owed = sum(each if 3 * each >= BOUND_NS else each // 2 for each in spans)
        if (owed, longest) > best:
            best = (owed, longest)
            tried = np.array([place for place, *_ in own.kept])
            wanted = Streak(own.since, own.kept[-1][2], owed, longest, tried)
    assert found.tried.tolist() == wanted.tried.tolist()
    fields = ("since_ns", "until_ns", "owed_ns", "longest_ns")
    assert [getattr(found, name) for name in fields] == [getattr(wanted, name) for name in fields]


# --- and by hand --------------------------------------------------------------------------

PEACE = [Stretch(0, 100, True)]


def test_without_stretches_or_operations_in_vain_there_is_none() -> None:
    for operations, stretches in (([(1, 9, "nothing")], []), ([], PEACE), ([(1, 9, "ok")], PEACE)):
        found = worst(operations, stretches)  # type: ignore[arg-type]
        assert (found.owed_ns, len(found.tried)) == (0, 0)


def test_a_streak_begins_when_the_success_before_it_was_answered() -> None:
    """What was asked for before that was not in vain yet, even if it is the first."""
    operations: list[Tried] = [(1, 9, "ok"), (5, 12, "nothing"), (10, 20, "nothing")]
    found = worst(operations, PEACE)
    assert (found.since_ns, found.owed_ns, found.tried.tolist()) == (9, 11, [2])


@pytest.mark.parametrize(("lasts", "owed"), [(2, 1), (3, 3), (4, 4)])
def test_less_than_a_third_of_the_bound_counts_half(lasts: int, owed: int) -> None:
    assert worst([(5, 5 + lasts, "nothing")], PEACE).owed_ns == owed


def test_only_what_belongs_to_the_worst_streak_was_tried_in_it() -> None:
    later: list[Tried] = [(51, 52, "nothing"), (53, 54, "nothing")]
    first: list[Tried] = [(5, 20, "nothing"), (21, 40, "nothing"), (41, 50, "ok")]
    assert worst([*first, *later], PEACE).tried.tolist() == [0, 1]
    assert worst([(1, 2, "nothing"), (3, 4, "ok"), *first, *later], PEACE).tried.tolist() == [2, 3]


@pytest.mark.parametrize(("tries", "ends", "stuck"), [(3, 9, True), (2, 9, False), (3, 8, False)])
def test_it_is_stuck_after_the_bound_and_some_tries(tries: int, ends: int, stuck: bool) -> None:
    operations: list[Tried] = [(0, ends - 1, "nothing")] * (tries - 1) + [(1, ends, "nothing")]
    assert tries in (TRIES, TRIES - 1)
    assert JUDGE.is_stuck(worst(operations, PEACE)) is stuck


@pytest.mark.parametrize(
    ("node", "calm", "counts"),
    [("b1", False, False), ("b2", False, True), (None, False, True), ("b1", True, True)],
)
def test_under_a_fault_whom_it_does_not_leave_alone_owes_nothing(
    node: str | None, calm: bool, counts: bool
) -> None:
    """Who is rarely asked for may have been asked there each time."""
    tried = [
        Operation(
            index=2 * number,
            f="create",
            type="info",
            end=2 * number + 1,
            error=("CLIENT_TIMED_OUT", ""),
            node=node,
            invoked_ns=number * 10,
            completed_ns=number * 10 + 10,
        )
        for number in range(TRIES)
    ]
    found = asked_of(OperationRows.of(tried), [])
    stretches = [Stretch(0, 100, calm, frozenset({"b2"}))]
    streak = JUDGE.worst(found, np.arange(TRIES), stretches, found.ok)
    assert JUDGE.is_stuck(streak) == counts


def test_refusals_under_a_fault_are_no_streak_but_of_the_whole_system() -> None:
    found = asked([(number * 10, number * 10 + 10, "refused") for number in range(TRIES)])
    stretches = [Stretch(0, 100, False, frozenset())]
    every = np.arange(TRIES)
    assert not len(JUDGE.worst(found, every, stretches, found.ok).tried)
    of_all = JUDGE.worst(found, every, stretches, found.ok, whole=True)
    assert len(of_all.tried) == TRIES
