"""The parts of "jit antichain" by themselves: each is what its definition says, the slow way."""

import random
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from checkers.linearizability.arrays.open import ANY, FREE, nothing_open
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods.jit_antichain.antichain import end_level, is_new, link
from checkers.linearizability.methods.jit_antichain.counts import one_more
from checkers.linearizability.methods.jit_antichain.input import Input, read_in, searchable
from checkers.linearizability.methods.jit_antichain.kernel import _expand, _has_last_chance, _in_all
from checkers.linearizability.methods.jit_antichain.open import forget_open, open_row, retire
from checkers.linearizability.methods.jit_antichain.space import (
    BARE,
    DROPPED,
    NEEDS_ROWS,
    SURVIVED,
    Space,
    new_space,
    with_more_rows,
    with_more_trail,
    with_more_values,
    with_more_words,
)
from tests.checkers.linearizability.encoded_oracle import (
    CELL_KINDS,
    MODEL_KINDS,
    Known,
    encoded_of,
    random_cell,
    random_known,
    written,
)

N = int(NEVER)
CHANGERS = (Kind.WRITE, Kind.CAS, Kind.CHANGE, Kind.STEP)


def histories() -> list[EncodedHistory]:
    made = []
    for seed in range(40):
        rng = random.Random(seed)
        info = rng.choice((0.0, 0.3, 0.6))
        if seed % 5 == 0:
            made.append(random_known(rng, rng.randint(1, 20), 4, info=info))
        else:
            made.append(random_cell(rng, rng.randint(1, 30), 5, rng.randint(1, 4), info=info))
    return made


def space_of(encoded: EncodedHistory, rows: int = 8) -> Space:
    given = read_in(encoded)
    return new_space(given, np.arange(len(given.class_row), dtype=np.int32), rows)


# --- input --------------------------------------------------------------------------------


@pytest.mark.parametrize("encoded", histories())
def test_what_is_read_in(encoded: EncodedHistory) -> None:
    given, rows = read_in(encoded), range(len(encoded))
    kind, a, b, ret = (each.tolist() for each in (encoded.kind, encoded.a, encoded.b, encoded.ret))
    for name in ("call", "ret", "kind", "a", "b"):
        assert given.ops[name].tolist() == getattr(encoded, name).tolist()
    effects: dict[tuple[int, ...], int] = {}
    classes: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        effect = (kind[row], a[row], b[row])
        if kind[row] in CHANGERS:
            effects.setdefault(effect, len(effects))
            if ret[row] == N:
                classes.setdefault(effect, []).append(row)
        assert given.ops["effect"][row] == effects.get(effect, -1)
        pending = list(classes).index(effect) if ret[row] == N and effect in classes else -1
        assert given.ops["pending_class"][row] == pending
    assert (given.ops["slot"] == 0).all()
    assert given.class_row.tolist() == [members[0] for members in classes.values()]
    for number, members in enumerate(classes.values()):
        start, end = given.member_start[number : number + 2]
        assert given.members[start:end].tolist() == members
    assert len(given.members) == sum(map(len, classes.values()))
    assert given.has_steps == (encoded.transitions is not None)
    values = 1 if given.has_steps else 1 + max([encoded.initial, *a, *b])
    assert len(given.target_start) == values + 1
    for value in range(values):
        start, end = given.target_start[value : value + 2]
        led = [at for at, effect in enumerate(classes) if given.has_steps or effect[2] == value]
        assert given.target_class[start:end].tolist() == led
    _compare_needs(given, encoded)


def _compare_needs(given: Input, encoded: EncodedHistory) -> None:
    kind, a, ret = (each.tolist() for each in (encoded.kind, encoded.a, encoded.ret))
    rows = range(len(encoded))
    assert len(given.last_need) == (2 if given.has_steps else len(given.target_start))
    for place, last in enumerate(given.last_need.tolist()):
        needs = [r for r in rows if kind[r] == Kind.CAS or (kind[r] == Kind.READ and ret[r] != N)]
        assert last == max((ret[r] for r in needs if a[r] == place - 1), default=-1)
    gone = [r for r in rows if kind[r] == Kind.CHANGE or (kind[r] == Kind.DIFFERS and ret[r] != N)]
    assert given.last_differs == max((ret[r] for r in gone), default=-1)


def test_pending_observers_need_nothing() -> None:
    encoded = encoded_of([0, 1, 2], [N, N, 3], [0, 1, 0], [1, 1, 0], [-1] * 3)
    given = read_in(encoded)
    assert (given.last_need.tolist(), given.last_differs) == ([-1, 3, -1], -1)
    assert len(given.class_row) == len(given.members) == 0


@pytest.mark.parametrize("kind", list(Kind))
def test_which_histories_are_searched(kind: Kind) -> None:
    for first in (Kind.READ, Kind.CHANGE, Kind.LOOK, Kind.STEP):
        for transitions in (None, Known()):
            kinds = {first, kind}
            encoded = encoded_of(
                [0, 2],
                [1, 3],
                sorted(kinds)[:1] * (2 - len(kinds)) + sorted(kinds),
                [0] * 2,
                [0] * 2,
                transitions,
            )
            known = MODEL_KINDS if transitions else CELL_KINDS
            assert searchable(encoded) == (kinds <= set(known))
    assert searchable(encoded_of([], [], [], [], []))


# --- the memory ---------------------------------------------------------------------------


def test_the_memory_at_the_beginning() -> None:
    encoded = random_cell(random.Random(1), 20, 5, 4, info=0.6)
    given = read_in(encoded)
    given.ops["effect_at"] = 9
    space = new_space(given, np.arange(len(given.class_row), dtype=np.int32), 5)
    classes, values = len(given.class_row), len(given.last_need)
    reg = space.reg
    assert classes > 1
    assert (reg.classes, reg.nodes, reg.last_differs) == (classes, 1, given.last_differs)
    assert (reg.unsatisfied_cost, reg.used_cost, reg.spent_cost, reg.has_steps) == (1, 2, 2, 0)
    assert sum(int(reg[name]) for name in ("next_row", "configs", "open", "stamp", "side")) == 0
    assert (space.ops["effect_at"] == -1).all()
    assert space.vals["need"].tolist() == [*given.last_need, 0]
    assert space.vals["target"].tolist() == given.target_start.tolist() + [0] * (
        values + 1 - len(given.target_start)
    )
    assert all((space.vals[name] == -1).all() for name in ("at", "wanted_at", "source_at"))
    assert space.classes["row"].tolist() == [*given.class_row, 0]
    assert space.classes["target"].tolist() == [*given.target_class, 0]
    assert space.classes["account"].tolist() == [*range(classes), 0]
    assert not space.classes["called"].any() and not space.classes["supply"].any()
    assert space.conf.shape == (2, 5) and space.satisfied.shape == space.used.shape == (2, 5, 1)
    assert len(space.slots) == len(space.opened) == len(space.changers) == len(space.looks) == 64
    assert space.masks.shape == nothing_open(values, 1)[1].shape
    assert (
        len(space.trails) == 20 and not space.nodes["left"].any() and not space.nodes["right"].any()
    )
    assert (space.found == -1).all() and len(space.found) == 4 * len(space.nodes)
    assert len(space.scratch) >= 3 * (reg.depth + 1)


@pytest.mark.parametrize(
    ("accounts", "depth"), [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)]
)
def test_multisets_are_as_deep_as_there_are_accounts(accounts: int, depth: int) -> None:
    encoded = encoded_of([*range(9)], [N] * 9, [2] * 9, [-1] * 9, [*range(9)])
    account = np.array([*range(accounts), *[-1] * (9 - accounts)], np.int32)
    assert new_space(read_in(encoded), account, 4).reg.depth == depth


@pytest.mark.parametrize(
    ("more", "grown"),
    [
        (with_more_rows, {"conf": 1, "satisfied": 1, "used": 1}),
        (with_more_trail, {"trails": 0}),
        (
            with_more_words,
            {
                "satisfied": 2, "used": 2, "slots": 0, "masks": 2,
                "opened": 0, "changers": 0, "looks": 0,
            },
        ),
    ],
)  # fmt: skip
def test_there_is_twice_as_much_of_what_is_needed(more: Any, grown: dict[str, int]) -> None:
    """What was there stays in its place; the rest is empty."""
    before = space_of(histories()[1])
    for array in before:
        if isinstance(array, np.ndarray) and array.dtype == np.int64:
            array[...] = np.arange(array.size).reshape(array.shape) + 1
    after = more(before)
    for name in Space._fields:
        old, new = getattr(before, name), getattr(after, name)
        if name not in grown:
            assert new is old
            continue
        shape = list(old.shape)
        shape[grown[name]] *= 2
        assert new.shape == tuple(shape) and new.dtype == old.dtype
        here = tuple(slice(size) for size in old.shape)
        assert (new[here] == old).all()
        rest = new.copy()
        rest[here] = np.zeros((), old.dtype)
        if name == "slots":
            assert (rest["row"][64:] == -1).all()
            rest["row"] = 0
        if name == "masks":
            assert (rest[ANY, FREE, 1:] == -1).all()
            rest[ANY, FREE] = 0
        assert not rest.view(np.int64 if rest.itemsize % 8 == 0 else np.int32).any()


@pytest.mark.parametrize(("greatest", "times"), [(0, 1), (1, 2), (3, 2), (4, 3), (5, 3), (7, 4)])
def test_room_for_states(greatest: int, times: int) -> None:
    """They have the number of their state, and one: up to the greatest at least."""
    before = space_of(random_known(random.Random(1), 6, 2))
    assert len(before.vals) == 3
    before.vals["need"] = [5, 6, 7]
    vals = with_more_values(before, greatest).vals
    assert len(vals) == 3 * (1 + (greatest + 2) // 3) >= greatest + 2
    assert vals["need"].tolist() == [5, 6, 7] + [0] * (len(vals) - 3)
    assert all((vals[name] == -1).all() for name in ("at", "wanted_at", "source_at"))


# --- what is open -------------------------------------------------------------------------


class Opened:
    """All by the lists that they are said to be."""

    def __init__(self, encoded: EncodedHistory) -> None:
        self.encoded, self.space = encoded, space_of(encoded)
        self.rows: list[int] = []
        self.returned: list[int] = []
        self.called: Counter[int] = Counter()

    def open(self, row: int, slot: int = -1) -> bool:
        s = self.space
        return bool(
            open_row(
                s.reg, s.ops, s.classes, s.masks, s.slots, s.opened, s.changers, s.looks, row, slot
            )
        )

    def retire(self) -> None:
        s = self.space
        row = min(self.rows, key=lambda each: int(self.encoded.ret[each]))
        retire(s.reg, s.ops, s.masks, s.slots, s.looks, row)
        self.rows.remove(row)
        self.returned.append(row)

    def check(self) -> None:
        space, kind = self.space, self.encoded.kind
        reg = space.reg
        last_first = sorted(self.rows, key=lambda row: -int(self.encoded.ret[row]))
        changers = [row for row in last_first if kind[row] in CHANGERS]
        assert space.opened[: reg.open].tolist() == last_first
        assert space.changers[: reg.changers].tolist() == changers
        looks = [row for row in self.rows if kind[row] == Kind.LOOK]
        assert space.looks[: reg.looks].tolist() == looks
        assert sorted(set(space.slots["row"].tolist()) - {-1}) == sorted(self.rows)
        assert all(space.slots["row"][space.ops["slot"][row]] == row for row in self.rows)
        assert space.ops["level_row"][: reg.level].tolist() == self.returned
        classes = range(len(space.classes) - 1)
        assert [int(space.classes[n].called) for n in classes] == [self.called[n] for n in classes]
        assert [int(space.classes[n].supply) for n in classes] == [self.called[n] for n in classes]


@pytest.mark.parametrize("encoded", histories()[::2])
def test_what_is_open_is_in_its_lists(encoded: EncodedHistory) -> None:
    opened, rng = Opened(encoded), random.Random(3)
    given = opened.space.ops
    for row in range(len(encoded)):
        while opened.rows and rng.random() < 0.4:
            opened.retire()
        opened.check()
        assert opened.open(row)
        if encoded.ret[row] != N:
            opened.rows.append(row)
        elif given["pending_class"][row] >= 0:
            opened.called[int(given["pending_class"][row])] += 1
    opened.check()
    forget_open(opened.space)
    opened.rows = []
    opened.check()
    masks = nothing_open((opened.space.masks.shape[0] - 2), 1)[1]
    assert (opened.space.masks == masks).all()


def test_a_slot_is_the_one_that_is_asked_for_or_the_first_or_there_is_none() -> None:
    encoded = encoded_of([*range(66)], [*range(100, 166)], [2] * 66, [-1] * 66, [1] * 66)
    opened = Opened(encoded)
    slots = opened.space.ops["slot"]
    assert opened.open(0, 2) and opened.open(1, 0) and slots[:2].tolist() == [2, 0]
    assert all(opened.open(row) for row in range(2, 64))
    assert slots[2:64].tolist() == [1, *range(3, 64)]
    opened.rows = [*range(64)]
    assert not opened.open(64)
    opened.check()
    opened.retire()
    assert opened.open(64) and slots[64] == 2


def test_endless_classes_have_no_supply() -> None:
    encoded = encoded_of([*range(4)], [N] * 4, [2] * 4, [-1] * 4, [1, 2, 1, 1])
    opened = Opened(encoded)
    opened.space.classes["account"][:2] = [-1, 0]
    assert all(opened.open(row) for row in range(4))
    assert opened.space.classes["called"].tolist() == [3, 1, 0]
    assert opened.space.classes["supply"].tolist() == [1, 0, 0]


# --- the antichain ------------------------------------------------------------------------


@dataclass(eq=False)
class Config:
    value: int
    satisfied: set[int]
    used: set[int]
    pending: Counter[int]
    mark: int
    spent: int = 0

    def dominates(self, other: "Config") -> bool:
        return (
            self.value == other.value
            and self.satisfied >= other.satisfied
            and self.used <= other.used
            and self.mark <= other.mark
            and not self.pending - other.pending
        )


class Some:
    """Configurations with slots in two words, on one side."""

    FEW = (0, 63, 64, 100, 127)

    def __init__(self, rows: int, side: int, seed: int = 0) -> None:
        encoded = encoded_of([*range(3)], [N] * 3, [2] * 3, [-1] * 3, [*range(3)])
        self.space = with_more_words(space_of(encoded, rows))
        self.rng, self.side = random.Random(seed), side
        self.space.reg.stamp = 7
        self.multisets = {0: Counter[int]()}
        s = self.space
        for _ in range(6):
            before, number = self.rng.choice(list(self.multisets)), self.rng.randrange(3)
            after = one_more(s.nodes, s.found, s.scratch, s.reg, before, number)
            self.multisets[after] = self.multisets[before] + Counter([number])
        self.configs: list[Config] = []

    def some(self, most: int) -> set[int]:
        return set(self.rng.sample(self.FEW, self.rng.randrange(most + 1)))

    def random(self) -> None:
        rng = self.rng
        number, mark = rng.choice(list(self.multisets)), rng.choice((0, 0, BARE))
        value, spent = rng.choice((-1, 0, 2)), rng.randrange(4)
        self.put(value, self.some(4), self.some(2), number, mark, spent)

    def put(
        self, value: int, satisfied: set[int], used: set[int], number: int, mark: int, spent: int
    ) -> None:
        space, at = self.space, len(self.configs)
        conf = space.conf[self.side, at]
        conf.value, conf.pending, conf.mark, conf.spent = value, number, mark, spent
        conf.trail = 100 + at
        for bits, slots in ((space.satisfied, satisfied), (space.used, used)):
            bits[self.side, at] = words(slots)
        pending = self.multisets[number]
        self.configs.append(Config(value, satisfied, used, pending, mark, spent))

    def is_new(self) -> bool:
        s = self.space
        arrays = s.conf, s.satisfied, s.used, s.vals, s.nodes, s.scratch
        at = len(self.configs) - 1
        new = bool(is_new(s.reg, *arrays, self.side, at))
        if new:
            link(s.reg, s.conf, s.vals, self.side, at)
        return new

    def marks(self) -> list[int]:
        return [int(each) for each in self.space.conf["mark"][self.side, : len(self.configs)]]


def words(slots: set[int]) -> list[int]:
    made = [sum(1 << (slot & 63) for slot in slots if slot >> 6 == word) for word in range(2)]
    return [word - (1 << 64) if word >> 63 else word for word in made]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("side", [0, 1])
def test_a_configuration_is_new_that_no_other_dominates(seed: int, side: int) -> None:
    """Of the level's side (0) or of the results', of which it is counted how many are kept."""
    some = Some(32, side, seed)
    reg = some.space.reg
    reg.kept = 50
    alive: list[int] = []
    gone: set[int] = set()
    for at in range(24):
        some.random()
        new = some.configs[at]
        expected = not any(some.configs[each].dominates(new) for each in alive)
        assert some.is_new() == expected
        if expected:
            gone |= {each for each in alive if new.dominates(some.configs[each])}
            alive = [each for each in alive if each not in gone] + [at]
        else:
            some.space.conf["mark"][side, at] = 7
            some.configs[at].mark = 7
        for each, mark in enumerate(some.marks()):
            assert mark == (DROPPED if each in gone else some.configs[each].mark)
        assert reg.kept == (50 - len(gone) if side != reg.side else 50)
    reg.stamp += 1  # of another level nobody is there
    some.put(2, set(), {100}, 0, BARE, 0)
    assert some.is_new() and len(alive) > 3


@pytest.mark.parametrize(("others", "work"), [(63, 0), (64, 1), (127, 1), (128, 2)])
def test_many_comparisons_are_work(others: int, work: int) -> None:
    some = Some(256, 0)
    s = some.space
    for at in range(others + 1):
        some.put(1, {64 + (at >> 4), at & 15}, set(), 0, 0, 0)
        if at < others:
            link(s.reg, s.conf, s.vals, 0, at)
    assert some.is_new() and s.reg.work == work


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("width", [1, 2, 5, 9, 99])
def test_a_level_ends_with_the_best_in_their_order(seed: int, width: int) -> None:
    side = seed & 1
    some = Some(16, side, seed)
    space, reg = some.space, some.space.reg
    for _ in range(12):
        some.random()
        some.configs[-1].spent *= 510 if seed in (3, 7) else 1  # about as bad as can be
    space.conf["spent"][side, :12] = [each.spent for each in some.configs]
    space.conf["mark"][side, :12] = [some.rng.choice((0, 0, DROPPED)) for _ in range(12)]
    left = [at for at in range(12) if some.marks()[at] != DROPPED]
    reg.side, reg.found, reg.width, reg.open, reg.expanding = 1 - side, 12, width, 5, 1
    least = min(some.configs[at].spent for at in left)

    def cost(at: int) -> int:
        each = some.configs[at]
        lacking, spoilt = 4 - len(each.satisfied), len(each.satisfied & each.used)
        return min(2 * (each.spent - least) + lacking + 2 * spoilt, 1023)

    best = sorted(sorted(left, key=lambda at: (cost(at), at))[:width])
    bits = [space.satisfied[side, best].tolist(), space.used[side, best].tolist()]
    end_level(reg, space.conf, space.satisfied, space.used, space.ranks)
    assert (reg.side, reg.configs, reg.expanding) == (side, len(best), 0)
    assert reg.truncated == (len(left) > width)
    assert space.conf["trail"][side, : len(best)].tolist() == [100 + at for at in best]
    assert [
        space.satisfied[side, : len(best)].tolist(),
        space.used[side, : len(best)].tolist(),
    ] == bits


def test_costs_differ_as_far_as_there_are_ranks() -> None:
    """Of 1,024 the last is for all that is worse."""
    for costs, left in (((1022, 1021), 1), ((1023, 1022), 1), ((1024, 1023), 0)):
        some = Some(8, 1)
        for cost in costs:
            some.put(0, set(Some.FEW[: 1024 - cost]), set(), 0, 0, 510)
        some.put(0, set(Some.FEW[:4]), set(), 0, 0, 0)
        space, reg = some.space, some.space.reg
        reg.found, reg.width, reg.open = 3, 2, 5
        end_level(reg, space.conf, space.satisfied, space.used, space.ranks)
        assert reg.configs == 2
        assert space.conf["trail"][1, :2].tolist() == [100 + left, 102]


# --- questions of the kernel --------------------------------------------------------------


def test_whether_all_have_a_slot() -> None:
    some = Some(8, 0)
    reg = some.space.reg
    for satisfied in ({0, 63, 64, 100}, {0, 63, 64, 127}, {63, 64, 100}):
        some.put(0, satisfied, set(), 0, 0, 0)
    reg.configs = 3
    both = [slot for slot in Some.FEW if _in_all(reg, some.space.satisfied, slot)]
    assert both == [63, 64]
    reg.configs = 2
    assert _in_all(reg, some.space.satisfied, 0) and not _in_all(reg, some.space.used, 63)


@pytest.mark.parametrize(
    ("need", "differs", "satisfied", "expected"),
    [
        (49, 49, {0, 64}, False),
        (50, 50, {0, 64}, False),
        (51, 50, {0, 64}, True),
        (50, 51, {0, 64}, True),
        (50, 50, {64}, True),
        (50, 50, set(), True),
    ],
)
def test_when_to_use_what_returns_unused_may_help(
    need: int, differs: int, satisfied: set[int], expected: bool
) -> None:
    some = Some(8, 0)
    space, reg = some.space, some.space.reg
    some.put(0, satisfied, set(), 0, 0, 0)
    space.ops["ret"][1] = 50
    reg.open, reg.last_differs = 2, differs
    space.vals["need"][:] = 0
    space.vals["need"][space.ops["b"][1] + 1] = need
    assert bool(_has_last_chance(space, 0, 1)) == expected


@pytest.mark.parametrize("mark", [0, BARE])
@pytest.mark.parametrize(
    ("text", "may_follow"),
    [
        ("0-9:w1 1-8:r5", False),
        ("0-:w1 1-8:r5", False),
        ("0-9:c0>1 1-8:r5", True),
        ("0-:c0>1 1-8:r5", True),
    ],
)
def test_no_write_follows_a_write_of_no_use(text: str, may_follow: bool, mark: int) -> None:
    """It is not even tried, for which there would be no room."""
    encoded = written(text)
    opened = Opened(encoded)
    assert all(opened.open(row) for row in range(2))
    reg, conf = opened.space.reg, opened.space.conf
    reg.configs, reg.tail, reg.active, reg.width, reg.work = 1, conf.shape[1], reg.classes, 9, 1
    conf[0, 0].mark = mark
    status = SURVIVED if mark == BARE and not may_follow else NEEDS_ROWS
    assert _expand(opened.space, 0, 1) == status
