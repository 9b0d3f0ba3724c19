"""Each method on many small histories, against brute force.

They are quick even where kernels run as the Python functions that they are written as, so that
what is changed in a method is met by all of them (`benchmarks/mutation`)."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Final

import numpy as np
import pytest

from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import NEVER, EncodedHistory, EncodedKeys, Kind
from checkers.linearizability.methods.beam import method as beam_method
from checkers.linearizability.methods.beam.method import beam
from checkers.linearizability.methods.fifo import fifo
from checkers.linearizability.methods.interval_refuter import interval_refuter
from checkers.linearizability.methods.jit_antichain import forward
from checkers.linearizability.methods.jit_antichain import method as antichain_method
from checkers.linearizability.methods.jit_antichain.method import jit_antichain
from checkers.linearizability.methods.jit_bitset.method import jit_bitset_keys
from checkers.linearizability.methods.two_value_sweep import two_value_sweep
from checkers.linearizability.methods.unique_writes.method import unique_writes
from checkers.linearizability.methods.wgl import method as wgl_method
from checkers.linearizability.methods.wgl.method import wgl
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import (
    CELL_KINDS,
    encoded_of,
    is_legal_order,
    linearizable,
    random_cell,
    random_known,
    random_queue,
    random_strings,
    shuffled_times,
    written,
)

PARTS: Final = 8
A_PART: Final = 25
Maker = Callable[[random.Random], EncodedHistory]


def plain(rng: random.Random) -> EncodedHistory:
    """A cell, mostly true."""
    kinds = rng.choice((CELL_KINDS, CELL_KINDS[:4], (Kind.READ, Kind.WRITE, Kind.CAS)))
    count, clients, values = rng.randint(3, 8), rng.randint(2, 5), rng.randint(1, 3)
    info, lies = rng.choice((0, 0.2, 0.5)), rng.choice((0, 0.1, 0.3))
    return random_cell(rng, count, clients, values, kinds=kinds, info=info, lies=lies)


def unique(rng: random.Random) -> EncodedHistory:
    """A cell whose every value is written once; what is seen may be any value."""
    count, clients = rng.randint(2, 7), rng.randint(1, 4)
    kind = [rng.choice((Kind.READ, Kind.DIFFERS, Kind.WRITE, Kind.CAS)) for _ in range(count)]
    pending = [each >= Kind.WRITE and rng.random() < 0.2 for each in kind]
    call, ret = shuffled_times(rng, count, clients, pending)
    makes = [each >= Kind.WRITE for each in kind]
    near = [rng.choice((sum(makes[:row]), *range(count // 2))) for row in range(count)]
    a = [-1 if kind[row] == Kind.WRITE else near[row] for row in range(count)]
    b = [sum(makes[: row + 1]) if makes[row] else -1 for row in range(count)]
    return encoded_of(call, ret, kind, a, b)


def flips(rng: random.Random) -> EncodedHistory:
    """A cell that goes from one of two values to the other, as an element of a set."""
    count, clients = rng.randint(2, 8), rng.randint(1, 4)
    kind = [rng.choice((Kind.READ, Kind.CAS)) for _ in range(count)]
    pending = [each == Kind.CAS and rng.random() < 0.25 for each in kind]
    call, ret = shuffled_times(rng, count, clients, pending)
    a = [rng.randrange(2) for _ in range(count)]
    b = [1 - seen if each == Kind.CAS else -1 for each, seen in zip(kind, a, strict=True)]
    return encoded_of(call, ret, kind, a, b)


def models(rng: random.Random) -> EncodedHistory:
    """Strings, or a name with an id that is not always known."""
    count, clients, info = rng.randint(2, 6), rng.randint(1, 4), rng.choice((0, 0.2, 0.5))
    if rng.random() < 0.5:
        return random_known(rng, count, clients, info=info)
    return random_strings(rng, count, clients, info=info, lies=0.1)


def queues(rng: random.Random) -> EncodedHistory:
    return random_queue(rng, rng.randint(2, 8), rng.randint(1, 4), lies=rng.choice((0, 0.1)))


@dataclass(frozen=True, slots=True)
class Asked:
    """A method, and what of. `settings` of its modules make it do on a few operations what it
    otherwise does on many."""

    ask: Callable[[EncodedHistory], Decision | None]
    histories: Maker
    settings: Mapping[tuple[ModuleType, str], int] = field(default_factory=dict)
    finds: bool = True
    """Whether it finds each order that there is,"""
    refutes: bool = True
    """and refutes where there is none."""
    earliest: bool = False
    """Whether nothing is wrong before the culprit returns,"""
    suffices: bool = False
    """and whether those that are involved are impossible by themselves."""


def by_sets(history: EncodedHistory) -> Decision | None:
    return jit_bitset_keys(EncodedKeys.of([history]), tiny=0)[0]


def easily(history: EncodedHistory) -> Decision | None:
    return jit_bitset_keys(EncodedKeys.of([history]), tiny=len(history))[0]


NARROW: Final = {
    (forward, "_LEAST"): 1,
    (forward, "_MOST"): 1,
    (forward, "_STRIDE_ROWS"): 1,
    (forward, "_NEAR"): 1,
    (forward, "_PAST"): 1,
    (forward, "_CHEAP"): 0,
    (antichain_method, "_FIRST_WINDOW"): 1,
}
METHODS: Final = {
    "wgl": Asked(lambda each: wgl(each, Budget()), plain, earliest=True),
    "wgl of models": Asked(lambda each: wgl(each, Budget()), models, earliest=True),
    "wgl, a step at a time": Asked(
        lambda each: wgl(each, Budget()), plain, {(wgl_method, "_SLICE"): 1}, earliest=True
    ),
    "antichain": Asked(lambda each: jit_antichain(each, Budget()), plain, earliest=True),
    "antichain of models": Asked(lambda each: jit_antichain(each, Budget()), models),
    "narrow antichain": Asked(lambda each: jit_antichain(each, Budget()), plain, NARROW),
    "bitset": Asked(by_sets, plain, earliest=True),
    "bitset, if easily": Asked(easily, plain, earliest=True),
    "beam": Asked(lambda each: beam(each, Budget()), plain, refutes=False),
    "narrow beam": Asked(
        lambda each: beam(each, Budget()), plain, {(beam_method, "_NARROW"): 1}, refutes=False
    ),
    "interval refuter": Asked(
        lambda each: interval_refuter(each, Budget()),
        plain,
        finds=False,
        refutes=False,
        suffices=True,
    ),
    "unique writes": Asked(lambda each: unique_writes(each, Budget()), unique, suffices=True),
    "unique writes, in order": Asked(
        lambda each: unique_writes(each, Budget(), order_anyway=True), unique
    ),
    "two values": Asked(lambda each: two_value_sweep(each, Budget()), flips, earliest=True),
    "fifo": Asked(lambda each: fifo(each, Budget()), queues, finds=False, refutes=False),
}


@cache
def known(make: Maker, part: int) -> list[tuple[EncodedHistory, bool]]:
    """Histories, and whether there is an order of each."""
    rng = random.Random(f"{make.__name__}/{part}")
    made = [make(rng) for _ in range(A_PART)]
    return [(each, linearizable(each)) for each in made]


def until(history: EncodedHistory, event: int) -> EncodedHistory:
    """What had been invoked by an event; what had not returned is pending, if it changes
    anything."""
    ret = np.where(history.ret <= event, history.ret, NEVER)
    idle = np.isin(history.kind, (Kind.READ, Kind.DIFFERS, Kind.LOOK, Kind.EMPTY))
    rows = np.flatnonzero((history.call <= event) & ((ret != NEVER) | ~idle))
    seen = history.take(rows)
    seen.ret[:] = ret[rows]
    return seen


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", METHODS)
def test_each_verdict_is_right(name: str, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = METHODS[name]
    for (module, setting), value in asked.settings.items():
        monkeypatch.setattr(module, setting, value)
    for history, has_order in known(asked.histories, part):
        decision = asked.ask(history)
        if decision is None:
            assert not (asked.finds if has_order else asked.refutes), "left open"
            continue
        assert decision.verdict is (Verdict.VALID if has_order else Verdict.INVALID)
        if decision.order is not None:
            assert is_legal_order(history, decision.order)
        if not has_order:
            check_evidence(history, decision, asked)


def check_evidence(history: EncodedHistory, decision: Decision, asked: Asked) -> None:
    """The culprit returned, and what was known then is impossible already."""
    assert decision.culprit in decision.involved
    end = int(history.ret[decision.culprit])
    assert end != NEVER
    assert not linearizable(until(history, end))
    assert not asked.earliest or linearizable(until(history, end - 1))
    alone = history.take(np.array(sorted(decision.involved)))
    assert not asked.suffices or not linearizable(alone)


@pytest.mark.parametrize("module", [wgl_method, beam_method], ids=["wgl", "beam"])
@pytest.mark.parametrize(
    ("budget", "lacking"), [({"seconds": 0.0}, "time"), ({"max_bytes": 1}, "memory")]
)
def test_what_ran_out_is_said(
    module: ModuleType, budget: dict[str, int], lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SLICE", 1)
    history = written("0-9:w1 1-8:w2 2-7:w1 3-6:w2 10-11:r1")
    decision = getattr(module, module.METHOD)(history, Budget(**budget))
    assert decision.verdict is Verdict.UNKNOWN
    assert decision.note.startswith(f"{module.METHOD}: {lacking} ran out after ")
