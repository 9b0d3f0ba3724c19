"""How "jit antichain" goes on, back, and round a place that it does not get past."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from checkers.linearizability.arrays.trails import mutations_of
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, Kind
from checkers.linearizability.methods.jit_antichain import forward, method
from checkers.linearizability.methods.jit_antichain import run as run_module
from checkers.linearizability.methods.jit_antichain.forward import STUCK, Forward
from checkers.linearizability.methods.jit_antichain.input import read_in
from checkers.linearizability.methods.jit_antichain.run import OUT_OF_BUDGET, Run
from checkers.linearizability.methods.jit_antichain.space import (
    DIED,
    NEEDS_COUNTS,
    NEEDS_ROWS,
    NEEDS_WORDS,
    PAUSED,
    SURVIVED,
)
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    Known,
    encoded_of,
    is_legal_order,
    linearizable,
    random_cell,
    written,
)

N = int(NEVER)
LONG_S = 1_000.0


def run_of(encoded: EncodedHistory) -> Run:
    given = read_in(encoded)
    return Run(encoded, given, np.arange(len(given.class_row), dtype=np.int32))


def state_of(run: Run) -> list[Any]:
    """All of the frontier that what follows depends on."""
    space = run.space
    reg = space.reg
    here = (reg.side, slice(reg.configs))
    puts = [mutations_of(space.trails, int(trail))[0].tolist() for trail in run.trails]
    return [
        (run.level, run.next_row, int(reg.open), int(reg.changers), int(reg.looks), run.truncated),
        [space.conf[name][here].tolist() for name in ("value", "pending", "spent")],
        [slots_of(space.satisfied[here]), slots_of(space.used[here])],
        puts,
        run.opened.tolist(),
        space.changers[: reg.changers].tolist(),
        space.classes[["called", "supply"]].tolist(),
        sorted(set(space.slots["row"].tolist()) - {-1}),
    ]


def slots_of(bits: Any) -> list[set[int]]:
    return [
        {64 * word + bit for word, each in enumerate(row) for bit in range(64) if each >> bit & 1}
        for row in bits.tolist()
    ]


def some_cells(count: int) -> Iterator[tuple[random.Random, EncodedHistory]]:
    for seed in range(count):
        rng = random.Random(seed)
        yield rng, random_cell(rng, 14, 5, 3, info=0.2, lies=0)


# --- a run --------------------------------------------------------------------------------


def test_a_run_begins_in_the_initial_state() -> None:
    encoded = encoded_of([0], [1], [0], [2], [-1], initial=2)
    run = run_of(encoded)
    assert (run.since, run.starts.tolist(), run.steps_made, run.checkpoints) == (-1, [2], 0, [])
    assert run.trails.tolist() == [-1]
    assert run.go(Budget(LONG_S), 1) == SURVIVED
    assert (run.level, run.returned(0), run.next_row) == (1, 0, 1)


def test_back_at_a_checkpoint_all_is_as_it_was() -> None:
    went = 0
    for rng, encoded in some_cells(6):
        run = run_of(encoded)
        stops = sorted(int(each) for each in encoded.ret if each != N)
        states = []
        for stop in stops:
            run.save()
            states.append(state_of(run))
            assert run.slice(2, stop, 1 << 40) in (PAUSED, SURVIVED, DIED)
            if rng.random() < 0.3:
                run.space = run_module.with_more_words(run_module.with_more_rows(run.space))
        every, last = list(run.checkpoints), state_of(run)
        assert len(every) >= 2
        for at in (len(every) - 1, len(every) // 2, 0):
            before, nodes = run.work, int(run.space.reg.nodes)
            trail, stamp = int(run.space.reg.trail), int(run.space.reg.stamp)
            run.go_back(every[at])
            reg = run.space.reg
            assert [before, nodes, trail, stamp] == [run.work, reg.nodes, reg.trail, reg.stamp]
            assert (reg.side, reg.expanding) == (0, 0)
            assert state_of(run) == states[at]
            assert run.checkpoints == every[: at + 1]
            went += 1
        for stop in stops:
            run.slice(2, stop, 1 << 40)
        assert state_of(run)[0] == last[0] and state_of(run)[3] == last[3]
    assert went == 18


def test_no_checkpoint_within_a_level() -> None:
    run = run_of(written("0-3:w1 1-2:r1 4-5:r1"))
    assert run.slice(9, work=1) == PAUSED and run.space.reg.expanding
    run.save()
    assert run.checkpoints == []


def test_of_many_checkpoints_every_other_old_one_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_CHECKPOINTS", 6)
    run, left = run_of(written("0-1:w1")), []
    for level in range(20):
        run.space.reg.level = level
        run.save()
        left.append([each.level for each in run.checkpoints])
    assert left[5:9] == [
        [0, 1, 2, 3, 4, 5],
        [0, 2, 3, 4, 5, 6],
        [0, 3, 4, 5, 6, 7],
        [0, 4, 5, 6, 7, 8],
    ]


def test_a_window_begins_with_everything_possible() -> None:
    """More is open than there are slots, and there are more values than rows."""
    count = 70
    encoded = encoded_of(
        [*range(count + 3)],
        [*[200 + row for row in range(count)], N, 90, 300],
        [*[int(Kind.READ)] * count, *[int(Kind.WRITE)] * 3],
        [*range(count), -1, -1, -1],
        [*[-1] * count, 1, 2, 3],
    )
    run, values = run_of(encoded), np.arange(140, dtype=np.int64) - 1
    run.begin_after(90, values)
    space, reg = run.space, run.space.reg
    assert (run.since, run.starts.tolist()) == (90, values.tolist())
    assert (reg.configs, run.next_row, reg.open) == (140, 73, 71)
    assert space.conf["value"][0, :140].tolist() == values.tolist()
    assert run.trails.tolist() == [-2 - at for at in range(140)]
    assert space.classes["called"].tolist() == [1, 0]
    slots = {int(slot) for slot in space.ops["slot"][[*range(count), 72]]}
    for at in (0, 139):
        bits = space.satisfied[0, at].tolist()
        assert {s for s in range(128) if bits[s >> 6] >> (s & 63) & 1} == slots
    assert len(slots) == 71 and not space.satisfied[0, 140:].any() and not space.used.any()


@pytest.mark.parametrize(("open_", "slots"), [(56, 64), (57, 128), (120, 128), (121, 256)])
def test_a_window_has_room_for_some_more(open_: int, slots: int) -> None:
    encoded = encoded_of(
        [*range(open_)], [200 + n for n in range(open_)], [0] * open_, [0] * open_, [-1] * open_
    )
    run = run_of(encoded)
    run.begin_after(150, np.array([0], np.int64))
    assert len(run.space.slots) == slots and run.space.reg.open == open_


@pytest.mark.parametrize(("values", "rows"), [(126, 128), (127, 256)])
def test_a_window_has_room_for_its_values(values: int, rows: int) -> None:
    run = run_of(written("0-9:r0"))
    run.begin_after(4, np.arange(values, dtype=np.int64))
    assert run.space.conf.shape[1] == rows


def scripted(run: Run, statuses: list[int], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the kernel is asked, and answers."""
    asked: list[Any] = []

    def advance(space: Any, width: int, stop_time: int, stop_work: int) -> int:
        asked.append((width, stop_time, stop_work))
        return statuses.pop(0)

    monkeypatch.setattr(run_module, "advance", advance)
    return asked


def test_a_run_is_out_of_time_memory_or_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(written("0-1:w1 2-3:r1"))
    run.space.reg.work = 7
    bytes_, rows = run.bytes, run.space.conf.shape[1]
    assert bytes_ == sum(each.nbytes for each in run.space if isinstance(each, np.ndarray))
    enough = Budget(LONG_S, bytes_)
    for budget, most, status in (
        (enough, rows, DIED),
        (Budget(0.0), rows, OUT_OF_BUDGET),
        (Budget(LONG_S, bytes_ - 1), rows, OUT_OF_BUDGET),
        (enough, rows - 1, OUT_OF_BUDGET),
    ):
        asked = scripted(run, [PAUSED, DIED], monkeypatch)
        assert run.go(budget, 3, 50, most) == status
        assert asked == [(3, 50, 5_007)] * (2 if status == DIED else 1)
    asked = scripted(run, [DIED], monkeypatch)
    assert run.go(enough, 3) == DIED and asked == [(3, N, 5_007)]
    assert Run.go.__defaults__ == (N, 1 << 22)


def test_what_is_needed_is_made_within_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(written("0-1:w1 2-3:r1"))
    space = run.space
    asked = scripted(run, [NEEDS_ROWS, NEEDS_WORDS, NEEDS_COUNTS, SURVIVED], monkeypatch)
    assert run.slice(3, 50, 20) == SURVIVED and asked == [(3, 50, 20)] * 4
    now = run.space
    assert now.conf.shape[1] == 2 * space.conf.shape[1]
    assert (len(now.slots), len(now.nodes), len(now.found)) == (128, 128, 512)
    asked = scripted(run, [NEEDS_COUNTS] * 4, monkeypatch)
    monkeypatch.setattr(run_module, "_NEEDS_A_SLICE", 4)
    assert run.slice(3) == PAUSED and len(asked) == 4


def test_when_a_stop_is_reached() -> None:
    run = run_of(written("0-3:w1 1-5:r1 7-8:r1"))
    assert not run.at_stop(0)
    assert run.slice(9, 3) == PAUSED
    assert (run.returning, run.level, run.opened.tolist()) == (1, 1, [1])
    assert run.at_stop(4) and not run.at_stop(5)
    run.space.reg.expanding = 1
    assert not run.at_stop(4)


@pytest.mark.parametrize("seed", range(5))
def test_only_trails_that_are_needed_are_kept(seed: int) -> None:
    rng, run = random.Random(seed), run_of(written("0-1:w1"))
    size = len(run.space.trails)
    trails = run.space.trails
    for at in range(size):
        trails[at].before = rng.choice((-1, -3, *[n for n in (at - 1, at // 2) if n >= 0]))
        trails[at].added = rng.randrange(100)
    count = size - 10
    roots = np.array([rng.choice((-1, -4, rng.randrange(count))) for _ in range(30)], np.int64)
    before = [mutations_of(trails, int(root)) for root in roots]
    needed = set()
    for root in roots.tolist():
        while root >= 0:
            needed.add(root)
            root = int(trails[root].before)
    assert run_module._compacted(trails, count, roots) == len(needed)
    after = [mutations_of(trails, int(root)) for root in roots]
    assert [(p.tolist(), r) for p, r in after] == [(p.tolist(), r) for p, r in before]


@pytest.mark.parametrize("is_busy", [False, True])
def test_room_for_trails_is_made_of_those_that_led_nowhere(is_busy: bool) -> None:
    run = run_of(written("0-1:w1"))
    size = len(run.space.trails)
    run.space.trails["before"] = np.arange(size) - 1
    run.space.trails["added"] = np.arange(size)
    run.save()
    run.checkpoints[0].conf["trail"][:] = 5
    reg, trail = run.space.reg, run.space.conf["trail"]
    reg.side, reg.configs, reg.tail, reg.found, reg.expanding = 1, 1, 2, 1, int(is_busy)
    trail[1, :3], trail[0, :2], reg.trail = [3, 7, 9], [11, 13], size
    run._make_trail()
    assert (reg.trail, len(run.space.trails)) == ((12, size) if is_busy else (6, size))
    assert trail[1, :3].tolist() == [3, 7, 9] and trail[0, :2].tolist() == [11, 13]
    trail[1, 0], reg.trail = size // 2 - 1, size
    run.space.trails["before"] = np.arange(size) - 1
    run._make_trail()
    assert (reg.trail, len(run.space.trails)) == (size // 2, size)
    trail[1, 0], reg.trail = size // 2, size
    run.space.trails["before"] = np.arange(size) - 1
    run._make_trail()
    assert (reg.trail, len(run.space.trails)) == (size // 2 + 1, 2 * size)


# --- forward ------------------------------------------------------------------------------


@dataclass
class Road:
    """A run of `length` rows and levels with walls: one is got past with a width, and from so
    many levels before it."""

    length: int
    walls: dict[int, tuple[int, int]]
    truncated: bool = True
    level: int = 0
    begun: int = 0
    bytes: int = 100
    pace: int = 1 << 30
    checkpoints: list[Any] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    backs: list[int] = field(default_factory=list)

    @property
    def given(self) -> Any:
        return SimpleNamespace(ops={"call": np.arange(self.length)})

    @property
    def next_row(self) -> int:
        return self.level

    def save(self) -> None:
        self.checkpoints.append(SimpleNamespace(level=self.level))

    def go_back(self, to: Any) -> None:
        self.checkpoints = [each for each in self.checkpoints if each.level <= to.level]
        self.level = self.begun = to.level
        self.backs.append(to.level)

    def at_stop(self, stop_time: int) -> bool:
        return self.level >= stop_time

    def slice(self, width: int, stop_time: int, work: int) -> int:
        assert work == 2_000
        self.widths.append(width)
        to = min(stop_time, self.length, self.level + self.pace)
        for wall in sorted(self.walls):
            needs, back = self.walls[wall]
            if self.level < wall <= to and (width < needs or self.begun > wall - back):
                self.level = wall
                return DIED
        self.level = to
        return SURVIVED if to == self.length else PAUSED


def test_the_road_is_gone_along_in_strides() -> None:
    road = Road(300, {})
    ahead = Forward(road)  # type: ignore[arg-type]
    assert (ahead.died_at, ahead.died_before, ahead.rounds) == (-1, 0, 0)
    assert ahead.go(Budget(LONG_S)) == SURVIVED
    assert [each.level for each in road.checkpoints] == [0, 64, 128, 192, 256]
    assert road.widths == [2] * 5


def test_a_death_of_what_was_never_cut_is_one() -> None:
    road = Road(300, {100: (99, 0)}, truncated=False)
    ahead = Forward(road)  # type: ignore[arg-type]
    assert ahead.go(Budget(LONG_S)) == DIED
    assert (ahead.attempts, road.backs, ahead.died_at) == (0, [], -1)


def test_attempts_are_ever_wider_and_from_ever_farther() -> None:
    road = Road(2_000, {1_500: (1 << 30, 0)})
    ahead = Forward(road)  # type: ignore[arg-type]
    assert ahead.go(Budget(LONG_S)) == STUCK
    assert (ahead.attempts, ahead.rounds, ahead.died_at, ahead.died_before) == (6, 0, 1500, 1500)
    assert ahead.width == 4
    goals = [1500 - back for back in (32, 128, 64, 512, 128, 1500)]
    assert road.backs == [goal // 64 * 64 for goal in goals]
    assert list(dict.fromkeys(road.widths)) == [2, 16, 8, 32, 64]
    before = len(road.backs)
    for rounds in range(1, 40):
        assert ahead.go(Budget(LONG_S), Budget(LONG_S)) == STUCK
        assert (ahead.rounds, ahead.attempts) == (rounds, 6 + rounds)
    assert len(road.backs) == before + 39
    widths = []
    for attempt in range(1, 46):
        half = min((attempt + 1) // 2, 12)
        widths.append((4 << half + attempt % 2, (32 << 2 * half, 16 << half)[attempt % 2]))
    ahead.attempts = 0
    for attempt in range(1, 46):
        ahead.attempts = attempt
        assert ahead._attempt == widths[attempt - 1]


def test_past_a_wall_it_is_narrow_again_but_wider_for_each_death() -> None:
    road = Road(4_000, {500: (8, 0), 530: (40, 0), 700: (17, 0), 900: (3, 0)})
    ahead = Forward(road)  # type: ignore[arg-type]
    assert ahead.go(Budget(LONG_S)) == SURVIVED
    assert ahead.died_at == 700
    runs = [road.widths[0]]
    for width in road.widths:
        if width != runs[-1]:
            runs.append(width)
    assert runs == [2, 16, 8, 32, 16, 64, 4, 32, 8, 4, 2]


def test_it_is_wider_for_good_but_not_without_end() -> None:
    walls = {200 * wall: (1 << wall + 2, 0) for wall in range(1, 9)}
    ahead = Forward(Road(2_200, walls))  # type: ignore[arg-type]
    most = []

    def seen(budget: Any) -> int:
        most.append(ahead.width)
        return stride(budget)

    stride, ahead._stride = ahead._stride, seen  # type: ignore[method-assign]
    assert ahead.go(Budget(LONG_S)) == SURVIVED
    assert max(most) == 64


def test_calm_makes_it_narrow() -> None:
    ahead = Forward(Road(5_000, {}))  # type: ignore[arg-type]
    ahead.width, seen = 20, []
    for level in (0, 500, 501, 1_001, 1_002, 1_503, 2_004, 3_000):
        ahead.run.level = level  # type: ignore[misc]
        seen.append(ahead._width_here())
    assert seen == [20, 20, 10, 10, 5, 2, 2, 2]
    ahead.died_at, ahead.attempts, ahead.run.level = 3_000, 1, 3_064  # type: ignore[misc]
    assert ahead._width_here() == 8
    ahead.run.level = 3_065  # type: ignore[misc]
    assert ahead._width_here() == 2
    ahead.run.level = 3_100  # type: ignore[misc]
    ahead._died()
    assert (ahead._calm_since, ahead.attempts, ahead.width) == (3_100, 0, 4)
    ahead.run.level, ahead.attempts = 3_090, 3  # type: ignore[misc]
    ahead._died()
    assert (ahead.died_at, ahead.attempts, ahead.width) == (3_100, 3, 4)


def test_forward_is_out_of_time_or_memory() -> None:
    for budget in (Budget(0.0), Budget(LONG_S, 99)):
        road = Road(300, {})
        assert Forward(road).go(budget) == OUT_OF_BUDGET  # type: ignore[arg-type]
        assert road.widths == [2]
    assert Forward(Road(300, {})).go(Budget(LONG_S, 100)) == SURVIVED  # type: ignore[arg-type]


def test_an_attempt_that_is_out_of_time_is_stuck() -> None:
    road = Road(2_000, {500: (1 << 30, 0)})
    ahead = Forward(road)  # type: ignore[arg-type]
    assert ahead.go(Budget(LONG_S)) == STUCK
    assert ahead.go(Budget(LONG_S), Budget(0.0)) == STUCK
    assert ahead.go(Budget(0.0), Budget(0.0)) == OUT_OF_BUDGET
    road.bytes = 200
    assert ahead.go(Budget(LONG_S, 150), Budget(LONG_S, 150)) == OUT_OF_BUDGET
    road.bytes, road.walls = 100, {}
    assert ahead.go(Budget(LONG_S), Budget(LONG_S)) == SURVIVED
    assert road.widths[-1] == 2


def test_a_slice_that_is_not_at_its_stop_goes_on() -> None:
    road = Road(300, {}, pace=50)
    assert Forward(road).go(Budget(LONG_S)) == SURVIVED  # type: ignore[arg-type]
    assert [each.level for each in road.checkpoints] == [0, 64, 128, 192, 256]
    assert len(road.widths) == 9


# --- the method ---------------------------------------------------------------------------


def test_uses_of_a_class_are_its_rows_in_turn() -> None:
    encoded = written("0-:w1 1-:w2 2-:w1 3-4:w3 5-:w1")
    rows = method._members(read_in(encoded), np.array([-1, 3, -2, -1, -2, -1, -1], np.int32))
    assert rows.tolist() == [0, 3, 1, 2, 1, 4, 4]


def test_values_are_numbered_anew() -> None:
    encoded = encoded_of([0, 2, 4], [1, 3, 5], [0, 2, 3], [7, -1, 4], [-1, 9, 7], initial=5)
    new = method._renumbered(encoded)
    assert (new.a.tolist(), new.b.tolist(), new.initial) == ([2, -1, 0], [-1, 3, 2], 1)
    assert new.call is encoded.call and new.ret is encoded.ret and new.kind is encoded.kind
    assert new.a.dtype == new.b.dtype == np.int32
    swaps = encoded_of([0], [1], [3], [7], [9], initial=8)
    new = method._renumbered(swaps)
    assert (new.a.tolist(), new.b.tolist(), new.initial) == ([0], [2], 1)
    model = encoded_of([0], [1], [6], [7], [-1], Known())
    assert method._renumbered(model) is model


def test_what_was_used_too_often_is_counted() -> None:
    """First by what it leads to, then each class; of a model each at once."""
    given = read_in(written("0-:w1 1-:c2>1 2-:w3 3-:c1>2 4-:c3>1"))

    def refined(account: list[int], over: list[int]) -> list[int] | None:
        finer = method._refined(given, np.array(account, np.int32), np.array(over, np.int32))
        return None if finer is None else finer.tolist()

    endless = [-1] * 5
    assert refined(endless, [0] * 5) is None
    assert refined(endless, [0, 2, 0, 0, 0]) == [0, 0, -1, -1, 0]
    assert refined([0, 0, -1, -1, 0], [0, 0, 0, 0, 1]) == [0, 1, -1, -1, 4]
    assert refined([0, 0, -1, -1, 0], [0, 0, 1, 1, 0]) == [0, 0, 2, 3, 0]
    model = read_in(encoded_of([0, 1], [N, N], [6, 6], [0, 1], [-1, -1], Known()))
    two = np.array([-1, -1], np.int32)
    finer = method._refined(model, two, np.array([0, 1], np.int32))
    assert finer is not None and finer.tolist() == [-1, 1] and two.tolist() == [-1, -1]


@dataclass
class Place:
    """Where a forward run came to an end; level n returned at event 10 n + 5."""

    rounds: int
    died_at: int = 500
    died_before: int = 600
    run: Any = None


def windows(
    search: Any, place: Place, answers: list[Any], budget: Budget, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[tuple[int, ...]], Any]:
    """What is asked for, and what comes of it."""
    asked: list[tuple[int, ...]] = []

    def relaxed(since: int, stop_time: int, _: Budget, max_rows: int) -> Any:
        asked.append((since, stop_time, max_rows))
        return answers.pop(0)

    place.run = SimpleNamespace(returned=lambda level: level)
    monkeypatch.setattr(search, "_relaxed", relaxed)
    return asked, search._refuted(place, budget)


def search_of(encoded: EncodedHistory, budget: Budget | None = None) -> Any:
    return method._Search(encoded, budget or Budget(LONG_S))


@pytest.fixture(scope="module")
def long_history() -> EncodedHistory:
    rows = range(2_000)
    return encoded_of(
        [10 * n for n in rows], [10 * n + 5 for n in rows], [0] * 2_000, [0] * 2_000, [-1] * 2_000
    )


def test_windows_are_ever_greater(
    long_history: EncodedHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = search_of(long_history)
    yes = Decision(Verdict.INVALID, "x")
    first, second = (4675, 6320, 1 << 13), (3715, 7280, 1 << 13)
    third = (-1, 11120, 1 << 13)

    def asked(rounds: int, answers: list[Any], budget: Budget | None = None) -> Any:
        place = Place(rounds)
        return windows(search, place, answers, budget or Budget(LONG_S), monkeypatch)

    assert asked(0, [yes]) == ([first], yes) and search.window == 32
    assert asked(0, [None]) == ([first], None) and search.window == 32
    assert asked(0, [True] * 9) == ([first, second, third], None) and search.window == 2048
    assert asked(0, [True] * 9) == ([], None)
    assert asked(1, [True] * 9) == ([(-1, N, 1 << 15)], None)
    search.window = 32
    assert asked(0, [True] * 9, Budget(0.0)) == ([], None)
    assert asked(20, [None])[0] == [(4675, 6320, 1 << 45)]
    search.window = 32 * 4**7
    assert asked(5, [None])[0] == [(-1, N, 1 << 23)]
    search.window += 1
    assert asked(5, [None])[0] == []


def test_windows_of_a_model_begin_at_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = range(1_000)
    encoded = encoded_of(
        [10 * n for n in rows], [10 * n + 5 for n in rows], [5] * 1_000, [2] * 1_000, [-1] * 1_000,
        Known(),
    )  # fmt: skip
    asked = windows(search_of(encoded), Place(2), [True] * 9, Budget(LONG_S), monkeypatch)
    assert asked == ([(-1, 6320, 1 << 12), (-1, 7280, 1 << 12), (-1, N, 1 << 12)], None)


@pytest.mark.parametrize(
    ("died_at", "died_before", "since"), [(32, 1968, -1), (33, 1967, 5), (34, 1966, 15)]
)
def test_windows_end_with_the_history(
    died_at: int,
    died_before: int,
    since: int,
    long_history: EncodedHistory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = search_of(long_history)
    place = Place(0, died_at, died_before)
    asked, _ = windows(search, place, [None], Budget(LONG_S), monkeypatch)
    stop = 10 * (died_before + 32) if died_before < 1968 else N
    assert asked == [(since, stop, 1 << 13)]


def relaxed(text: str, since: int, until: int, rows: int = 1 << 9, **budget: Any) -> Any:
    search = search_of(written(text))
    proof = search._relaxed(since, until, Budget(**{"seconds": LONG_S, **budget}), rows)
    if isinstance(proof, Decision):
        assert (proof.verdict, proof.method) == (Verdict.INVALID, "jit antichain")
        return proof.culprit, proof.involved
    return proof


@pytest.mark.parametrize(
    ("text", "since", "until", "proof"),
    [
        ("0-1:w1 2-3:r2 4-5:r1", -1, N, (1, [0, 1])),
        ("0-1:w1 2-3:r2 4-5:r1", -1, 1, True),
        ("0-1:w1 2-3:r2 4-5:r1", 1, N, (2, [2])),
        ("0-1:w1 2-3:r2 4-5:r1", 3, N, True),
        ("0-1:r0 2-3:w5 4-5:r7", 0, N, (2, [1, 2])),
        ("0-1:r0 2-3:w5 4-9:r7 6-7:r5", 3, 5, True),
        ("0-:w1 1-2:r1 3-4:w2 5-6:r1 7-8:w2 9-10:r1", -1, N, (3, [0, 2, 3])),
        ("0-:w1 1-2:r1 3-4:w2 5-6:r1 7-8:w2 9-10:r1", 2, N, (5, [0, 2, 4, 5])),
        ("0-:w1 1-2:r1 3-4:w2 5-6:r1 7-8:w2 9-10:r1", 4, N, True),
        ("0-:w1 1-:c2>1 2-3:w2 4-5:r1 6-7:w2 8-9:r1 10-11:w2 12-13:r1", -1, N, (7, [0, 4, 6, 7])),
    ],
)
def test_windows_prove_what_they_can(text: str, since: int, until: int, proof: Any) -> None:
    assert relaxed(text, since, until) == proof


def test_pending_operations_are_endless_until_they_are_too_many() -> None:
    accounts = []

    def seen(part: EncodedHistory, given: Any, account: Any) -> Run:
        accounts.append(account.tolist())
        return Run(part, given, account)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(method, "Run", seen)
        assert relaxed("0-:w1 1-:c2>1 2-3:w2 4-5:r1", -1, N) is True
        assert accounts == [[-1, -1]]
        accounts.clear()
        relaxed("0-:w1 1-:c2>1 2-3:w2 4-5:r1 6-7:w2 8-9:r1 10-11:w2 12-13:r1", -1, N)
    assert accounts == [[-1, -1], [0, 0]]


def test_a_window_that_is_too_much_says_nothing() -> None:
    text = "0-1:w1 2-3:r2"
    assert relaxed(text, -1, N) == (1, [0, 1])
    search = search_of(written(text))
    run = run_of(written(text))
    assert run.bytes > 1_000
    for rows, budget in ((1 << 9, Budget(0.0)), (1 << 9, Budget(LONG_S, 1_000)), (1, Budget())):
        calls: list[Any] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                Run, "go", lambda _, *given, calls=calls: calls.append(given) or OUT_OF_BUDGET
            )
            assert search._relaxed(-1, N, budget, rows) is None
        assert calls == [(budget, 1 << 40, N, rows)]
    assert search.widest_window == 2


def test_no_small_window_refutes_what_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """And all are decided, with a width of 1 and proofs from the first death on."""
    for name, value in (("_LEAST", 1), ("_MOST", 1), ("_STRIDE_ROWS", 1), ("_CHEAP", 0)):
        monkeypatch.setattr(forward, name, value)
    monkeypatch.setattr(forward, "_NEAR", 1)
    monkeypatch.setattr(forward, "_PAST", 1)
    monkeypatch.setattr(method, "_FIRST_WINDOW", 1)
    proved = {True: 0, False: 0}
    for seed in range(24):
        rng = random.Random(seed)
        encoded = random_cell(rng, 9, 4, 2, info=0.2, lies=0.1)
        right = linearizable(encoded)
        search = search_of(encoded)
        decision = search.decide()
        assert decision.verdict is (Verdict.VALID if right else Verdict.INVALID)
        if right:
            assert is_legal_order(encoded, decision.order)
        else:
            assert decision.culprit in decision.involved
            proved[search.widest_window > 0] += 1
    assert min(proved.values()) > 0


# --- what it decides ----------------------------------------------------------------------


@dataclass
class Steered:
    """In place of `Forward`: says what it is told to."""

    statuses: list[int]
    rounds: int = 0
    died_at: int = 5
    asked: list[Any] = field(default_factory=list)

    def go(self, budget: Budget, attempt: Budget | None = None) -> int:
        self.asked.append(None if attempt is None else attempt.seconds)
        self.rounds += attempt is not None
        return self.statuses.pop(0)


def steered(
    statuses: list[int], refuted: list[Any], monkeypatch: pytest.MonkeyPatch, **budget: Any
) -> tuple[Any, Steered, list[float], Any]:
    search = search_of(written("0-1:w1 2-3:r1"), Budget(**{"seconds": LONG_S, **budget}))
    fake = Steered(statuses)
    slices: list[float] = []

    def refute(_: Any, part: Budget) -> Any:
        slices.append(part.seconds)
        search.window *= 4
        return refuted.pop(0)

    monkeypatch.setattr(method, "Forward", lambda run: fake)
    monkeypatch.setattr(search, "_refuted", refute)
    for name in ("_valid", "_invalid", "_unknown"):
        monkeypatch.setattr(search, name, lambda *rest, name=name: (name, *rest[1:]))
    return search, fake, slices, search.decide()


def test_what_comes_of_the_run_and_of_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert steered([SURVIVED], [], monkeypatch)[3] == ("_valid",)
    name, rows = steered([DIED], [], monkeypatch)[3]
    assert (name, rows.tolist()) == ("_invalid", [0, 1])
    assert steered([OUT_OF_BUDGET], [], monkeypatch)[3] == ("_unknown",)
    search, fake, slices, found = steered([STUCK] * 3 + [SURVIVED], [None] * 3, monkeypatch)
    assert found == ("_valid",) and search.window == 32 * 64
    assert slices == [0.25, 0.5, 1.0] and fake.asked == [None, 0.25, 0.5, 1.0]
    assert steered([STUCK] * 2, [None, "no"], monkeypatch)[3] == "no"
    late = steered([STUCK], [], monkeypatch, seconds=0.0)
    assert late[3] == ("_unknown",) and late[2] == []
    many = steered([STUCK] * 20 + [SURVIVED], [None] * 20, monkeypatch, seconds=1e9)
    assert many[2][-4:] == [0.25 * 2**16] * 4 and many[2][-5] == 0.25 * 2**15


def test_at_another_place_windows_are_small_again(monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_of(written("0-1:w1 2-3:r1"))
    fake, seen = Steered([STUCK] * 4 + [SURVIVED]), []

    def refute(*_: Any) -> None:
        seen.append(search.window)
        search.window *= 4
        fake.died_at += len(seen) == 2

    monkeypatch.setattr(method, "Forward", lambda run: fake)
    monkeypatch.setattr(search, "_refuted", refute)
    monkeypatch.setattr(search, "_valid", lambda run: None)
    search.decide()
    assert seen == [32, 128, 32, 128]


def test_an_order_that_is_not_legal_is_no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = written("0-1:w1 2-3:r1")
    decision = search_of(encoded).decide()
    assert (decision.verdict, decision.method) == (Verdict.VALID, "jit antichain")
    assert decision.order.tolist() == [0, 1]
    monkeypatch.setattr(method, "is_legal", lambda *_: False)
    decision = search_of(encoded).decide()
    assert (decision.verdict, decision.method) == (Verdict.UNKNOWN, "jit antichain")
    assert decision.order is None and decision.note.startswith("jit antichain: the order")


@pytest.mark.parametrize(
    ("text", "culprit", "involved"),
    [
        ("0-1:w1 2-3:r2", 1, [0, 1]),
        ("0-1:r0 2-3:w1 4-9:d7 5-6:r2", 3, [1, 2, 3]),
        ("0-:w1 1-2:r1 3-4:w2 5-6:r1", 3, [0, 2, 3]),
        ("0-1:w1 2-3:r1 4-5:w2 6-7:r2 8-9:w3 10-11:r3 12-13:w4 14-15:r4 16-17:r1", 8, [2, 4, 6, 8]),
    ],
)
def test_a_death_shows_what_was_open_and_put_last(
    text: str, culprit: int, involved: list[int]
) -> None:
    decision = search_of(written(text)).decide()
    assert (decision.verdict, decision.method) == (Verdict.INVALID, "jit antichain")
    assert (decision.culprit, decision.involved) == (culprit, involved)


@pytest.mark.parametrize(("most", "what"), [(100, "time"), (99, "memory")])
def test_what_ran_out_is_said(most: int, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_of(written("0-1:w1"), Budget(1.0, most))
    run = SimpleNamespace(bytes=100, work=12_345, level=6_789)
    monkeypatch.setattr(method, "working_s", lambda: search.began + 7.25)
    decision = search._unknown(run)
    assert (decision.verdict, decision.method) == (Verdict.UNKNOWN, "jit antichain")
    note = "jit antichain: {} ran out after 7.2 s, 12,345 configurations, at completion 6,789"
    assert decision.note == note.format(what)


def test_queues_are_for_others() -> None:
    queue = encoded_of([0], [1], [int(Kind.ENQUEUE)], [-1], [1])
    assert method.jit_antichain(queue, Budget()) is None
    decision = method.jit_antichain(written("0-1:w1"), Budget())
    assert decision is not None and decision.verdict is Verdict.VALID
