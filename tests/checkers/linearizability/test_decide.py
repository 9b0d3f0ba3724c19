"""Which method is asked when, with methods that say what they are told to, and a clock of its own.

What the real ones make of histories is in test_front."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from checkers.linearizability import decide as front
from checkers.linearizability import decision as decisions
from checkers.linearizability.decide import NOTHING, UNDECIDED, Decided, decide, decide_small
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, EncodedKeys, Kind
from checkers.linearizability.encoding.transitions import queue_steps
from checkers.linearizability.methods.jit_bitset.method import jit_bitset
from checkers.linearizability.methods.table import CELLS, Method, Stage
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import encoded_of

NOW = [0.0]
SHORT = encoded_of([0, 2], [1, 3], [Kind.WRITE, Kind.READ], [-1, 1], [1, -1])
QUEUE = encoded_of([0, 2], [1, 3], [Kind.ENQUEUE, Kind.DEQUEUE], [-1, 1], [1, -1])
PLACED = replace(SHORT, place=np.array([0, 1]))
PENDING = encoded_of([0], [NEVER], [Kind.WRITE], [-1], [1])
VALID, INVALID, UNKNOWN = Verdict.VALID, Verdict.INVALID, Verdict.UNKNOWN


@dataclass(slots=True)
class Clocked(Budget):
    """By the clock of these tests."""

    began: float = field(default_factory=lambda: NOW[0])

    @property
    def left_s(self) -> float:
        return self.seconds - (NOW[0] - self.began)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    NOW[0] = 0.0
    monkeypatch.setattr(front, "working_s", lambda: NOW[0])
    yield


@dataclass
class Said:
    """A method that takes so much time, or all that it is given, and says that; of each time that
    it is asked the time it may take, and of how many rows' kinds."""

    name: str
    says: Verdict | None = UNKNOWN
    takes_s: float | None = None
    stage: Stage = Stage.IN_TURNS
    kinds: frozenset[Kind] = frozenset(Kind)
    at_last: int = 1 << 30
    """From this time on it says VALID."""
    asked: list[float] = field(default_factory=list)
    of: list[EncodedHistory] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def decide(self, encoded: EncodedHistory, budget: Budget) -> Decision | None:
        self.asked.append(budget.seconds)
        self.of.append(encoded)
        self.log.append(self.name)
        NOW[0] += budget.seconds if self.takes_s is None else self.takes_s
        says = VALID if len(self.asked) >= self.at_last else self.says
        return None if says is None else Decision(says, self.name, note=f"{self.name} is slow")

    @property
    def method(self) -> Method:
        return Method(
            name=self.name,
            decides="",
            cost="",
            source="",
            decide=self.decide,
            stage=self.stage,
            kinds=self.kinds,
        )


def asked(encoded: EncodedHistory, *said: Said, seconds: float = 10) -> Decided:
    return decide(encoded, Clocked(seconds), [each.method for each in said])


def once(name: str, says: Verdict | None, kinds: frozenset[Kind] = CELLS) -> Said:
    return Said(name, says, 0.5, Stage.ONCE, kinds)


# --- once ---------------------------------------------------------------------------------


@pytest.mark.parametrize("says", [VALID, INVALID])
def test_the_first_that_decides_is_the_last_that_is_asked(says: Verdict) -> None:
    before, decides, after = once("a", None), once("b", says), once("c", VALID)
    found = asked(SHORT, before, once("u", UNKNOWN), decides, after).decision
    assert (found.verdict, found.method) == (says, "b")
    assert (len(before.asked), len(decides.asked), after.asked) == (1, 1, [])


def test_only_who_knows_all_kinds_is_asked() -> None:
    other, own = once("a", VALID, frozenset((Kind.WRITE,))), once("b", VALID)
    assert asked(SHORT, other, own).decision.method == "b" and not other.asked


def test_where_nothing_completed_nobody_is_asked() -> None:
    method = once("a", INVALID)
    for encoded in (encoded_of([], [], [], [], []), PENDING):
        found = asked(encoded, method).decision
        assert (found.verdict, found.method, found.order is not None) == (VALID, NOTHING, True)
        assert found.order is not None and len(found.order) == 0
    assert not method.asked
    half = encoded_of([0, 1], [NEVER, 2], [Kind.WRITE, Kind.WRITE], [-1, -1], [1, 2])
    assert asked(half, method).decision.verdict is INVALID


def test_without_a_budget_there_is_one() -> None:
    method = once("a", VALID)
    decide(SHORT, methods=[method.method])
    decide(SHORT, Budget(7), methods=[method.method])
    assert method.asked == [30, 7]


# --- in turns -----------------------------------------------------------------------------


def test_searches_have_turns_that_grow() -> None:
    log: list[str] = []
    one, other = Said("one", log=log), Said("other", at_last=4, log=log)
    found = asked(SHORT, one, other).decision
    assert (found.verdict, found.method) == (VALID, "other")
    # Of a cell the last one is asked first.
    assert log == ["other", "one"] * 3 + ["other"]
    assert other.asked == pytest.approx([0.02, 0.06, 0.18, 0.54])
    assert one.asked == pytest.approx([0.02, 0.06, 0.18])


def test_where_there_are_steps_the_first_one_is_asked_first() -> None:
    """A queue becomes steps for them; other kinds stay as they are."""
    log: list[str] = []
    one, other = Said("one", at_last=1, log=log), Said("other", log=log)
    assert asked(QUEUE, one, other).decision.method == "one"
    assert asked(queue_steps(QUEUE), one, other).decision.method == "one"
    assert [Kind(each) for each in one.of[0].kind] == [Kind.STEP, Kind.STEP]
    assert log == ["one", "one"]
    asked(SHORT, one)
    assert one.of[-1] is SHORT


def test_of_more_operations_a_turn_takes_more() -> None:
    number = 10_000
    calls = list(range(0, 2 * number, 2))
    ends = [each + 1 for each in calls]
    long = encoded_of(calls, ends, [Kind.WRITE] * number, [-1] * number, [1] * number)
    search = Said("one", at_last=2)
    asked(long, search)
    assert search.asked == pytest.approx([0.15, 0.45])


def test_once_the_time_is_spent_the_searches_are_told_with_what_each_took() -> None:
    one, other = Said("one"), Said("other")
    found = asked(SHORT, once("first", UNKNOWN), one, other, seconds=1.2).decision
    assert (found.verdict, found.method) == (UNKNOWN, UNDECIDED)
    took = [sum(each.asked) for each in (other, one)]
    assert sum(took) == pytest.approx(0.7) and one.asked[-1] < 0.2  # what was left
    assert found.note == (
        "the time budget of a key ran out (1.2 s): first 0.5 s (first is slow); "
        f"other {took[0]:.1f} s (other is slow); one {took[1]:.1f} s (one is slow)"
    )


def test_a_search_that_gives_up_before_its_time_is_not_asked_again() -> None:
    """Memory ran out, or it does not apply."""
    early, none, late = Said("early", takes_s=0.005), Said("none", None, 0.02), Said("late")
    found = asked(SHORT, early, none, late, seconds=1).decision
    assert (len(early.asked), len(none.asked)) == (1, 1) and len(late.asked) > 2
    assert found.note.startswith("the time budget of a key ran out (1 s): late")
    found = asked(SHORT, early, none).decision
    assert found.note == (
        "the memory budget of a key ran out (1024 MiB): early 0.0 s (early is slow)"
    )


def test_a_search_that_takes_half_of_its_time_is_asked_again() -> None:
    search = Said("one", takes_s=0.01, at_last=2)
    assert asked(SHORT, search).decision.verdict is VALID
    search = Said("one", takes_s=0.0099, at_last=2)
    assert asked(SHORT, search).decision.verdict is UNKNOWN


def test_without_anything_to_say_it_says_so() -> None:
    found = asked(SHORT, Said("one"), seconds=0).decision
    assert found.note == "the time budget of a key ran out (0 s): no search had begun"
    quiet = Said("one")
    quiet.decide = lambda encoded, budget: Decision(UNKNOWN, "one")  # type: ignore[method-assign]
    assert asked(SHORT, quiet).decision.note.endswith("(1024 MiB): one 0.0 s")


# --- beside -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("log", "search", "verdict", "disagrees"),
    [
        (VALID, VALID, VALID, False),
        (VALID, INVALID, INVALID, True),
        (VALID, UNKNOWN, VALID, False),
        (INVALID, VALID, VALID, True),
        (INVALID, INVALID, INVALID, False),
        (INVALID, UNKNOWN, UNKNOWN, False),
        (UNKNOWN, VALID, VALID, False),
        (UNKNOWN, INVALID, INVALID, False),
        (None, VALID, VALID, False),
    ],
)
def test_what_the_log_says_counts_where_nothing_else_decides(
    log: Verdict | None, search: Verdict, verdict: Verdict, disagrees: bool
) -> None:
    beside = Said("log", log, 0, Stage.BESIDE)
    found = asked(PLACED, beside, once("a", search))
    assert (found.decision.verdict, found.disagrees) == (verdict, disagrees)
    known = found.along is not None
    assert known == (log in (VALID, INVALID)) and len(beside.asked) == 1


def test_without_a_log_nobody_is_asked_for_its_order() -> None:
    beside = Said("log", VALID, 0, Stage.BESIDE)
    found = asked(SHORT, beside, once("a", INVALID))
    assert found == Decided(found.decision) and not found.disagrees and not beside.asked


# --- culprits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "involved", "culprit"),
    [(INVALID, (0, 2, 3), 2), (INVALID, (3,), 1), (INVALID, (), 1), (VALID, (0, 2), 1)],
)
def test_the_culprit_is_the_last_to_return(
    verdict: Verdict, involved: tuple[int, ...], culprit: int
) -> None:
    """Of those that are named; one that never did is none."""
    encoded = encoded_of([0, 1, 2, 3], [5, 4, 9, NEVER], [Kind.WRITE] * 4, [-1] * 4, [1, 2, 3, 4])
    method = once("a", verdict)
    method.decide = lambda encoded, budget: Decision(  # type: ignore[method-assign]
        verdict, "a", culprit=1, involved=involved
    )
    assert asked(encoded, method).decision.culprit == culprit


def test_a_culprit_that_is_named_alone_stays_one() -> None:
    """Though it never returned."""
    encoded = encoded_of([0, 1], [2, NEVER], [Kind.WRITE] * 2, [-1] * 2, [1, 2])
    method = once("a", INVALID)
    method.decide = lambda encoded, budget: Decision(  # type: ignore[method-assign]
        INVALID, "a", culprit=1
    )
    assert asked(encoded, method).decision.culprit == 1


# --- many keys ----------------------------------------------------------------------------


def test_where_what_decides_many_keys_is_no_method_none_is_decided() -> None:
    keys = EncodedKeys.of([SHORT, SHORT])
    assert decide_small(keys, [once("a", VALID).method]) == [None, None]
    both = [once("a", VALID).method, replace(once("b", VALID).method, decide=jit_bitset)]
    assert [each and each.verdict for each in decide_small(keys, both)] == [VALID, VALID]


def writes(number: int) -> EncodedHistory:
    calls = list(range(0, 2 * number, 2))
    ends = [each + 1 for each in calls]
    return encoded_of(calls, ends, [Kind.WRITE] * number, [-1] * number, [1] * number)


def change(initial: int = 0) -> EncodedHistory:
    one = encoded_of([0], [1], [Kind.CHANGE], [1], [1])
    return replace(one, initial=initial)


def test_keys_are_small_up_to_five_thousand_cells() -> None:
    keys = [writes(5_000), writes(5_001), change(), PENDING, PLACED, SHORT]
    found = [each and each.verdict for each in decide_small(EncodedKeys.of(keys))]
    assert found == [VALID, None, VALID, None, None, VALID]
    half = encoded_of([0, 1], [NEVER, 2], [Kind.WRITE, Kind.WRITE], [-1, -1], [1, 2])
    assert [each and each.verdict for each in decide_small(EncodedKeys.of([half]))] == [VALID]


# --- budgets ------------------------------------------------------------------------------


def test_a_slice_is_a_part_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: Callable[[], float] = lambda: 104.0  # noqa: E731
    monkeypatch.setattr(decisions, "working_s", spent)
    budget = Budget(10, 7, began=100)
    assert budget.left_s == 6
    assert [budget.slice(each).seconds for each in (5, 6, 8)] == [5, 6, 6]
    assert budget.slice(5).max_bytes == 7
    assert Budget(3, began=100).slice(5).seconds == 0


def test_a_decision_names_no_culprit_of_its_own_accord() -> None:
    assert Decision(VALID, "a").culprit == -1
    assert Budget().max_bytes == 1 << 30
