"""What the JIT bitset does with a key as a whole, its walks played by a script; and with many."""

import random
from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedKeys, Kind
from checkers.linearizability.methods.jit_bitset import kernel, method
from checkers.linearizability.methods.jit_bitset.kernel import ORDERED, REFUTED, UNDECIDED
from checkers.linearizability.methods.jit_bitset.pending import PENDING, USED
from checkers.linearizability.methods.jit_bitset.sets import ANY, NO_LANE, OPEN
from checkers.linearizability.methods.jit_bitset.slots import NO_RETURN
from framework.verdict import Verdict
from tests.checkers.linearizability.bitset_states import as_set
from tests.checkers.linearizability.encoded_oracle import (
    encoded_of,
    linearizable,
    random_cell,
    written,
)

AGAIN, DEAD, TURN, PAUSE = kernel._AGAIN, kernel._DEAD, kernel._TURN, kernel._PAUSE
BEGIN = 7
NOW = 16


@dataclass
class Script:
    """How each walk ends, with what it leaves in the slots; and what is asked then. Of pending
    operations the first helps, unless it is said who does."""

    walks: list[tuple[int, dict[str, int]]]
    helps: list[int] = field(default_factory=list)
    made: bool = False
    back: dict[int, int] = field(default_factory=dict)
    """By how many snapshots there are: how many are left."""
    exact: bool = False
    rows: int = 40
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.past = np.zeros(NOW + 1, OPEN)
        self.pending = np.zeros(self.rows + 1, PENDING)
        self.pending["called"] = range(BEGIN, BEGIN + self.rows + 1)
        self.pending["mark"] = USED

    def walk(self, name: str) -> int:
        self.log.append(name)
        how, fields = self.walks.pop(0)
        for each, value in fields.items():
            self.past[NOW][each] = value
        return how

    def says(self, text: str) -> None:
        self.log.append(text)

    def go_back(self, row: int, *rest: Any) -> int:
        kept, wanted = rest[-3], rest[-1]
        self.log.append(f"back for {row} from {kept}, {wanted} wanted")
        return self.back.get(kept, kept)

    def that_helps(self, *_: Any) -> int:
        self.log.append("who helps")
        return self.helps.pop(0) if self.helps else BEGIN

    def is_made(self, *_: Any) -> bool:
        self.log.append("is made")
        return self.made

    def followed(self, patch: pytest.MonkeyPatch) -> int:
        patch.setattr(kernel, "_walk_few", lambda *_: self.walk("few"))
        patch.setattr(kernel, "_walk_wide", lambda *_: self.walk("wide"))
        patch.setattr(kernel, "save", lambda *given: self.says(f"save at {given[-1]}"))
        patch.setattr(kernel, "give_up", lambda *_: self.says("give up"))
        patch.setattr(kernel, "one_that_helps", self.that_helps)
        patch.setattr(kernel, "is_made", self.is_made)
        patch.setattr(kernel, "go_back", self.go_back)
        none = np.zeros(0, np.int64)
        columns = (none,) * 5
        how = cast(Any, kernel._follow).py_func(
            *columns, BEGIN, BEGIN + self.rows, 0, self.exact, none, none, none, self.past,
            self.pending,
        )  # fmt: skip
        assert not self.walks
        return int(how)


ONE = {"waiting": 1}


@pytest.mark.parametrize(
    ("script", "ends", "log"),
    [
        (Script([(ORDERED, {})]), ORDERED, "few"),
        (Script([(UNDECIDED, {})]), UNDECIDED, "few"),
        (Script([(DEAD, {})]), REFUTED, "few"),
        (Script([(DEAD, ONE)], exact=True), REFUTED, "few"),
        (Script([(TURN, {}), (TURN, {}), (ORDERED, {})]), ORDERED, "few; wide; few"),
        (
            Script([(TURN, {}), (PAUSE, ONE), (PAUSE, ONE), (ORDERED, {})]),
            ORDERED,
            "few; wide; save at 0; wide; save at 1; wide",
        ),
        (
            Script([(PAUSE, {"optional": 1}), (PAUSE, {"returns": 1}), (ORDERED, {})]),
            ORDERED,
            "few; save at 0; few; give up; save at 1; few",
        ),
        (Script([(PAUSE, {"returns": 1}), (ORDERED, {})]), ORDERED, "few; save at 0; few"),
        (Script([(DEAD, ONE)], [-1]), REFUTED, "few; who helps; is made"),
        (Script([(DEAD, ONE)], [-1], made=True), AGAIN, "few; who helps; is made"),
        (
            Script([(DEAD, ONE)], [BEGIN], back={0: 0}),
            AGAIN,
            f"few; who helps; back for {BEGIN} from 0, 1 wanted",
        ),
        (
            Script([(PAUSE, ONE), (DEAD, ONE), (DEAD, {"waiting": 0})], [9]),
            REFUTED,
            "few; save at 0; few; who helps; back for 9 from 1, 1 wanted; wide",
        ),
    ],
)
def test_what_follows_on_how_a_walk_ends(
    script: Script, ends: int, log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert script.followed(monkeypatch) == ends
    assert "; ".join(script.log) == log


def test_snapshots_are_a_ring_and_those_gone_back_over_are_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends = [*[PAUSE] * 18, DEAD, PAUSE, PAUSE, ORDERED]
    script = Script([(how, ONE) for how in ends], back={18: 5})
    script.followed(monkeypatch)
    saved = [int(each[8:]) for each in script.log if each.startswith("save")]
    assert saved == [*range(16), 0, 1, 5, 6]


def test_pending_operations_keep_their_slots_up_to_the_last_dead_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of all so far: where it got farther than ever before they are given up."""
    pauses = [(PAUSE, {"returns": returns}) for returns in (3, 5, 6)]
    dead = [(DEAD, {"returns": 5}), (DEAD, {"returns": 3})]
    first = (PAUSE, {"optional": 1, "waiting": 1, "returns": 0})
    script = Script([first, *dead, *pauses, (ORDERED, {})])
    assert script.followed(monkeypatch) == ORDERED
    log = [each for each in script.log if not each.startswith(("who", "back"))]
    assert log[:5] == ["few", "save at 0", "few", "wide", "wide"]
    assert log[5:] == ["save at 1", "wide", "save at 2", "wide", "give up", "save at 3", "wide"]


@pytest.mark.parametrize(("waiting", "rows", "dead"), [(1, 40, 20), (2, 40, 24), (3, 9, 10)])
def test_so_many_dead_ends_are_enough(
    waiting: int, rows: int, dead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And no more operations are wanted than there is room for."""
    fields = {"waiting": waiting}
    walks = [(PAUSE, fields), *[(DEAD, fields)] * (dead + 1)]
    script = Script(walks, [BEGIN + each % 4 for each in range(dead + 1)], rows=rows)
    assert script.followed(monkeypatch) == AGAIN
    went = [each for each in script.log if each.startswith("back")]
    assert went == [
        f"back for {BEGIN + each % 4} from 1, {each + 1} wanted" for each in range(dead)
    ]
    ever = script.pending["ever"].tolist()
    assert ever[:dead] == [BEGIN + each % 4 for each in range(dead)] and not any(ever[dead:])
    assert script.pending["end"].tolist() == [NO_RETURN] * 4 + [0] * (rows - 3)


def test_nothing_is_known_of_pending_operations_of_the_key_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of as many as were ever called."""
    walks = [(PAUSE, {"waiting": 1}), (PAUSE, {"waiting": 4}), (ORDERED, {"waiting": 2})]
    script = Script(walks)
    script.pending["called"][:4] = [BEGIN + 9, BEGIN + 1, BEGIN + 5, BEGIN + 30]
    script.followed(monkeypatch)
    marks = script.pending["mark"].tolist()
    assert [row for row in range(41) if marks[row] != USED] == [1, 5, 9, 30]
    assert all(marks[row] == 0 for row in (1, 5, 9, 30))


def columns_of(keys: EncodedKeys) -> tuple[Any, ...]:
    return keys.call, keys.ret, keys.kind, keys.a, keys.b, keys.starts, keys.initial


def test_each_key_begins_anew_and_once_more_with_all_pending_ones_in_slots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["0-1:w1", "0-1:w1 2-3:r1 4-5:r1", "0-1:r0 2-3:r0", "0-1:w2", "0-1:w2", "0-1:w2 3-4:r2"]
    keys = EncodedKeys.of([written(text) for text in texts])
    keys.initial[:] = [0, 2, 1, 0, 0, 3]
    ends = iter([ORDERED, AGAIN, REFUTED, AGAIN, ORDERED, REFUTED, UNDECIDED, AGAIN, UNDECIDED])
    asked: list[tuple[int, ...]] = []

    def follow(*given: Any) -> int:
        begin, end, initial, exact, lane_of, sets, past_sets, past, pending = given[5:]
        slots = past[NOW]
        assert as_set(sets) == {(0, frozenset())} and sets.sum() == 1
        lanes = [0 if value == initial else NO_LANE for value in range(4)]
        assert lane_of.tolist() == [*lanes, ANY]
        assert len(past) == NOW + 1 and past_sets.shape == (NOW, len(sets))
        assert (len(pending), slots.at) == (4, begin)
        asked.append((begin, end, initial, exact, slots.spare))
        slots.last = begin % 5
        slots.row[slots.last] = begin
        slots.taken, slots.value[1], lane_of[3] = 1 << 6, 3, 1
        sets[64 + 1] = 1
        return next(ends)

    monkeypatch.setattr(kernel, "_follow", follow)
    status, culprit = np.zeros(6, np.int8), np.zeros(6, np.int64)
    lane_of = np.array([NO_LANE] * 4 + [ANY])
    cast(Any, kernel._all).py_func(*columns_of(keys), 1_010, lane_of, status, culprit)
    assert status.tolist() == [ORDERED, REFUTED, ORDERED, REFUTED, UNDECIDED, UNDECIDED]
    assert culprit.tolist() == [-1, 1, -1, 6, -1, -1]
    assert asked == [
        (0, 1, 0, False, 1_010),
        (1, 4, 2, False, 1_010),
        (1, 4, 2, True, 1_010),
        (4, 6, 1, False, 1_010),
        (4, 6, 1, True, 1_008),
        (6, 7, 0, False, 1_010),
        (7, 8, 0, False, 1_010),
        (8, 10, 3, False, 1_010),
        (8, 10, 3, True, 1_008),
    ]


@pytest.mark.parametrize(
    ("text", "initial", "values"),
    [("0-1:w3 2-3:r1", 0, 4), ("0-1:w1 2-3:r3", 0, 4), ("0-1:w1 2-3:r0", 3, 4)],
)
def test_every_value_may_have_a_lane(
    text: str, initial: int, values: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_(*given: Any) -> None:
        most, lane_of, status, culprit = given[-4:]
        assert most == 55 and lane_of.tolist() == [NO_LANE] * values + [ANY]
        assert culprit.tolist() == [-1, -1] and len(status) == 2
        status[:], culprit[1] = [UNDECIDED, REFUTED], 5

    monkeypatch.setattr(kernel, "_all", all_)
    keys = EncodedKeys.of([written(text), written("0-1:r0")])
    keys.initial[0] = initial
    status, culprit = kernel.statuses(*columns_of(keys), 55)
    assert (status.tolist(), culprit.tolist()) == ([UNDECIDED, REFUTED], [-1, 5])


def test_many_keys_are_as_brute_force_says() -> None:
    rng = random.Random(4)
    keys = []
    for _ in range(150):
        clients, values, lies = rng.randint(1, 5), rng.randint(1, 3), rng.choice([0.1, 0.5])
        keys.append(random_cell(rng, rng.randint(1, 9), clients, values, info=0.2, lies=lies))
    decisions = method.jit_bitset_keys(EncodedKeys.of(keys), tiny=0)
    assert decisions == method.jit_bitset_keys(EncodedKeys.of(keys), tiny=5)
    found = Counter(each and each.verdict for each in decisions)
    assert min(found[Verdict.VALID], found[Verdict.INVALID]) > 30 and not found[None]
    for key, decision in zip(keys, decisions, strict=True):
        assert decision is not None
        assert linearizable(key) == (decision.verdict is Verdict.VALID)


def test_who_was_open_beside_what_nothing_explains() -> None:
    history = written("0-1:r0 2-9:w1 3-4:r1 5-7:r2 6-8:r1 8-12:w3 10-11:r3 13-14:w2")
    decision = method._refuted(history, 3)
    assert (decision.verdict, decision.method) == (Verdict.INVALID, "jit bitset")
    assert (decision.culprit, decision.involved) == (3, [1, 3, 4])
    assert method._refuted(history, 2).involved == [1, 2]
    assert method._refuted(history, 6).involved == [5, 6]


WRONG = "0-1:w1 2-3:r2 4-5:r1 6-7:r1 8-9:r1"


def test_only_what_has_no_easy_order_is_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["0-1:w1", WRONG, "0-1:r0 2-3:w1", WRONG, WRONG]
    keys = EncodedKeys.of([written(text) for text in texts])
    walked = []

    def statuses(*given: Any) -> tuple[Any, Any]:
        starts, _, most = given[5:]
        walked.append((starts.tolist(), most))
        return np.array([UNDECIDED, ORDERED, REFUTED]), np.array([-1, -1, 12])

    monkeypatch.setattr(method, "statuses", statuses)
    decisions = method.jit_bitset_keys(keys, 99)
    assert walked == [([0, 5, 10, 15], 99)]
    valid = Decision(Verdict.VALID, "jit bitset")
    assert decisions == [valid, None, valid, valid, method._refuted(keys[4], 2)]
    assert method.jit_bitset_keys(keys.only(np.array([0, 2]))) == [valid, valid]
    assert len(walked) == 1


@pytest.mark.parametrize(("rows", "tiny"), [(5_000, 500), (5_001, 62)])
def test_up_to_which_length_keys_are_tried(
    rows: int, tiny: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(
        method, "easily_ordered", lambda *given: asked.append(given[-1]) or np.ones(2, np.bool_)
    )
    count = np.arange(rows)
    long = encoded_of(count, count, [Kind.WRITE] * rows, [-1] * rows, [0] * rows)
    keys = EncodedKeys.of([long.take(count[:-1]), long.take(count[-1:])])
    assert method.jit_bitset_keys(keys) == [Decision(Verdict.VALID, "jit bitset")] * 2
    assert asked == [tiny]


def test_where_no_key_is_short_none_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = EncodedKeys.of([written("0-1:w1 2-3:r1 4-5:r1"), written("0-1:w1 2-3:r1")])
    assert method._easy(keys, 3).tolist() == [True, True]
    assert method._easy(keys, 2).tolist() == [False, True]
    monkeypatch.setattr(method, "easily_ordered", None)
    assert method._easy(keys, 1).tolist() == [False, False]
    assert method._easy(EncodedKeys.of([]), 3).tolist() == []


@pytest.mark.parametrize(("left_s", "most"), [(2.0, 1_000_000), (0.0, 0), (-1.0, 0)])
def test_a_budget_is_a_number_of_words(
    left_s: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def keys(encoded: EncodedKeys, words: int) -> list[str]:
        asked.append((len(encoded), words))
        return ["this"]

    monkeypatch.setattr(method, "jit_bitset_keys", keys)
    budget = cast(Budget, SimpleNamespace(left_s=left_s))

    def decided(*kinds: Kind) -> object:
        rows = range(len(kinds))
        return method.jit_bitset(encoded_of(rows, rows, kinds, rows, rows), budget)

    assert decided(Kind.READ, Kind.CHANGE) == "this"
    assert decided() is decided(Kind.LOOK) is decided(Kind.LOOK, Kind.READ) is None
    assert asked == [(1, most)]


def test_without_a_bound_all_words_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def statuses(*given: Any) -> tuple[Any, Any]:
        asked.append(given[-1])
        return np.array([ORDERED]), np.array([-1])

    monkeypatch.setattr(method, "statuses", statuses)
    method.jit_bitset_keys(EncodedKeys.of([written(WRONG)]))
    assert asked == [int(NEVER)]
