"""The levels of "jit antichain" as they are with Python's own sets: every configuration, in order,
with how it came about, however narrow it is and wherever it begins."""

import random
from dataclasses import replace

import numpy as np
import pytest

from checkers.linearizability.arrays.open import ANY, FREE
from checkers.linearizability.arrays.trails import mutations_of
from checkers.linearizability.encoded import NEVER, Codes, EncodedHistory, Kind, Transitions
from checkers.linearizability.methods.jit_antichain import run as run_module
from checkers.linearizability.methods.jit_antichain.counts import count_of, only_the_empty
from checkers.linearizability.methods.jit_antichain.input import Input, read_in
from checkers.linearizability.methods.jit_antichain.run import Run
from checkers.linearizability.methods.jit_antichain.space import (
    PAUSED,
    SURVIVED,
    with_more_words,
)
from tests.checkers.linearizability.antichain_reference import Config, Reference
from tests.checkers.linearizability.encoded_oracle import (
    CELL_KINDS,
    Known,
    encoded_of,
    linearizable,
    random_cell,
    random_known,
    random_strings,
    written,
)

EVERYTHING = 1 << 40
KINDS = (
    CELL_KINDS,
    (Kind.READ, Kind.WRITE, Kind.CAS),
    (Kind.READ, Kind.WRITE, Kind.CAS, Kind.DIFFERS),
    (Kind.READ, Kind.CAS, Kind.CAS, Kind.WRITE),
)


def history(rng: random.Random) -> EncodedHistory:
    info, lies = rng.choice((0, 0.3, 0.6)), rng.choice((0, 0.1))
    clients = rng.randint(2, 5)
    match rng.randrange(6):
        case 0:
            return random_strings(rng, rng.randint(3, 7), clients, info=info, lies=lies)
        case 1:
            return random_known(rng, rng.randint(3, 7), clients, info=info)
    count, values = rng.randint(4, 10), rng.randint(1, 3)
    return random_cell(rng, count, clients, values, kinds=rng.choice(KINDS), info=info, lies=lies)


def accounts(rng: random.Random, given: Input) -> Codes:
    """All that is pending is counted, or nothing, or together what leads to the same value. Of a
    model all: endless steps may lead to states without end."""
    exact = np.arange(len(given.class_row), dtype=np.int32)
    if given.has_steps or (how := rng.randrange(4)) < 2:
        return exact
    if how == 2:
        return np.full(len(exact), -1, np.int32)
    target = given.ops["b"][given.class_row].tolist()
    return np.array([target.index(each) for each in target], np.int32)


def configs_of(run: Run) -> list[Config]:
    space, found = run.space, []
    reg = space.reg
    for each in range(reg.configs):
        conf = space.conf[reg.side, each]
        puts, root = mutations_of(space.trails, int(conf.trail))
        counted = {int(account) for account in space.classes["account"][:-1]} - {-1}
        pending: list[int] = []
        for account in sorted(counted):
            pending += [account] * count_of(space.nodes, reg.depth, int(conf.pending), account)
        satisfied, used = (
            frozenset(
                row
                for slot, row in enumerate(space.slots["row"].tolist())
                if int(bits[reg.side, each, slot >> 6]) >> (slot & 63) & 1
            )
            for bits in (space.satisfied, space.used)
        )
        trail = (int(root), *puts.tolist())
        value, spent = int(conf.value), int(conf.spent)
        found.append(Config(value, trail, satisfied, used, tuple(pending), spent))
    return found


def scattered(rng: random.Random, run: Run) -> None:
    """Slots are few and in every part of a word, and so is room for all that is made."""
    space = with_more_words(run.space)
    for word in range(2):
        bits = sum(1 << bit for bit in rng.sample(range(63), 3)) | rng.choice((0, -1 << 63))
        space.masks[ANY, FREE, word] = bits
    nodes, found = only_the_empty(4)
    run.space = space._replace(nodes=nodes, found=found)


def compare(run: Run, reference: Reference, stop: int, slices: int, is_work_same: bool) -> int:
    """The status, which is the same, as all else is."""
    status = run.slice(reference.width, stop, slices)
    while status == PAUSED and not run.at_stop(stop):
        status = run.slice(reference.width, stop, slices)
    assert status == reference.advance(stop)
    assert run.truncated == reference.truncated and run.space.reg.stamp == reference.levels
    assert run.work == reference.work if is_work_same else run.work >= reference.work
    assert configs_of(run) == [
        replace(each, pending=tuple(sorted(each.pending))) for each in reference.configs
    ]
    assert [run.returned(level) for level in range(run.level)] == reference.returned
    assert sorted(run.opened.tolist()) == sorted(reference.open)
    return status


@pytest.mark.parametrize("is_narrow_in_room", [False, True])
@pytest.mark.parametrize("part", range(16))
def test_levels_are_what_sets_say(
    part: int, is_narrow_in_room: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(part)
    if is_narrow_in_room:  # what room was made for is tried again, which is work
        monkeypatch.setattr(run_module, "_FIRST_ROWS", 2)
    for _ in range(6):
        encoded = history(rng)
        given = read_in(encoded)
        account = accounts(rng, given)
        width = rng.choice((1, 2, 3, EVERYTHING, EVERYTHING))
        run, reference = Run(encoded, given, account), Reference(encoded, account.tolist(), width)
        if is_narrow_in_room:
            scattered(rng, run)
        returns = sorted(int(each) for each in encoded.ret if each != NEVER)
        begins = rng.random() < 0.3 and encoded.transitions is None and len(returns) > 1
        if begins:
            since = rng.choice(returns[:-1])
            values = np.array([0, 1, -1], np.int64)
            run.begin_after(since, values)
            reference.begin_after(since, values.tolist())
        slices = rng.choice((1, 3, EVERYTHING))
        for stop in [*returns, int(NEVER)]:
            if compare(run, reference, stop, slices, not is_narrow_in_room) != PAUSED:
                break
        if width == EVERYTHING and not begins and (account >= 0).all():
            is_exact = (account == np.arange(len(account))).all()
            found = reference.advance(int(NEVER)) == SURVIVED
            assert found == linearizable(encoded) or (found and not is_exact)


@pytest.mark.parametrize("first_rows", [2, 3, 128])
@pytest.mark.parametrize(
    "text",
    [
        "0-8:c0>0 1-9:c0>0 2-7:w0 3-5:c0>1 4-6:w1",
        "0-1:c0>1 2-3:c1>2 4-9:x1>2 5-11:r2 6-8:c2>0 7-10:w2",
        "0-8:c0>2 1-9:w0 2-3:c0>0 4-5:w2 6-7:c2>0 10-11:w0",
        "0-:c0>1 1-8:c1>0 2-5:w2 3-:w0 4-6:w1 7-:x2>1",
        "0-11:w2 1-8:w0 2-:c0>1 3-12:c1>0 4-6:c0>0 5-10:w1 7-9:w1",
        "0-6:w0 1-:c0>2 2-9:w0 3-13:r0 4-:x0>0 5-12:w2 7-10:c2>2 8-11:w0",
        "0-1:w2 2-:x2>3 3-9:w1 4-6:r3",
        "0-1:w2 2-:c1>3 3-9:w1 4-6:r3",
        "0-20:w1 1-21:w2 2-22:w3 3-23:w4 4-5:d0 6-7:r1 8-9:r2 10-11:r3 12-13:r4",
    ],
)
def test_levels_of_what_is_rare(
    text: str, first_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes of no use but for what follows them, of somebody open or pending; many results, and
    little on the way."""
    monkeypatch.setattr(run_module, "_FIRST_ROWS", first_rows)
    encoded = written(text)
    given = read_in(encoded)
    exact = np.arange(len(given.class_row), dtype=np.int32)
    run, reference = Run(encoded, given, exact), Reference(encoded, exact.tolist(), EVERYTHING)
    assert compare(run, reference, int(NEVER), EVERYTHING, first_rows == 128) == SURVIVED


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("0-9:c0>1 2-10:c0>1 3-8:r1", 1),
        ("0-9:c0>1 1-7:c0>1 3-10:c0>1 4-6:r1", 2),
        ("0-9:x2>1 2-10:x2>1 3-8:r1", 1),
    ],
)
def test_levels_where_a_window_begins_with_two_alike(text: str, since: int) -> None:
    """One that is satisfied from the beginning stands for none that is not."""
    encoded = written(text)
    run = Run(encoded, read_in(encoded), np.zeros(0, np.int32))
    reference = Reference(encoded, [], EVERYTHING)
    values = np.array([0, 1, -1], np.int64)
    run.begin_after(since, values)
    reference.begin_after(since, values.tolist())
    for stop in sorted(encoded.ret.tolist()):
        compare(run, reference, stop, EVERYTHING, True)


class Narrowing(Transitions):
    """State 1 is one of 0 and 2; the actions 0 and 2 see which."""

    initial = 1

    def step(self, state: int, action: int) -> int:
        return action if state in (1, action) else -1

    def describe(self, state: int) -> str:
        return str(state)


CREATE, DELETE, SEE_1, SEE_2 = 0, 1, 3, 4


@pytest.mark.parametrize(
    ("rows", "model"),
    [
        ([(0, 1, 0)], Narrowing()),
        ([(0, 2, 0), (1, 3, 2)], Narrowing()),
        (
            [(0, 1, CREATE), (2, 20, SEE_1), (3, 4, DELETE), (5, 6, CREATE), (7, 19, SEE_2)],
            Known(),
        ),
        ([(0, 9, CREATE), (1, 8, SEE_1), (2, 7, SEE_2)], Known()),
    ],
)
def test_levels_where_looks_narrow_the_state_down(
    rows: list[tuple[int, int, int]], model: Transitions
) -> None:
    """To the first of all states; with somebody open who saw it narrowed before."""
    call, ret, a = (list(column) for column in zip(*rows, strict=True))
    does = [Kind.STEP if each < SEE_1 and isinstance(model, Known) else Kind.LOOK for each in a]
    encoded = encoded_of(call, ret, does, a, [-1] * len(a), model, model.initial)
    run = Run(encoded, read_in(encoded), np.zeros(0, np.int32))
    reference = Reference(encoded, [], EVERYTHING)
    found = compare(run, reference, int(NEVER), EVERYTHING, True) == SURVIVED
    assert found == linearizable(encoded)
