"""The checker against brute force on random histories."""

import math
import random
from collections.abc import Sequence

from checkers.linearizability import zones
from checkers.linearizability.budget import Budget
from checkers.linearizability.decide import Invalid, Valid, decide
from checkers.linearizability.levels import calls_of, lay_out
from checkers.linearizability.model import Model
from checkers.linearizability.models import MODELS, Register
from checkers.linearizability.search import Refuted, breadth_first, depth_first
from framework.history.pairing import Operation
from tests.checkers.linearizability.oracle import (
    INITIAL,
    UNIQUE,
    is_linearizable,
    random_history,
    spec_of,
)


def check_witness(model: str, operations: Sequence[Operation], order: Sequence[Operation]) -> None:
    """The order is legal by the second specification, and respects real time."""
    spec = spec_of(model, operations)
    states = {INITIAL[model]}
    for op in order:
        states = {after for state in states for after in spec(state, op)}
    assert states, "the witness is not a legal order"
    put = [op.op for op in order]
    assert len(set(put)) == len(put)
    left_out = [op for op in operations if op.op not in set(put)]
    for op in left_out:
        says_nothing = op.type == "fail" or (op.type == "ok" and op.f in ("read", "describe"))
        assert op.type == "info" or says_nothing, f"{op} is not in the witness"
    earliest = math.inf
    for op in reversed(order):
        assert op.op < earliest, f"something that returned before {op} comes after it"
        if op.type != "info" and op.end is not None:
            earliest = min(earliest, op.end)


def check_evidence(model: str, operations: Sequence[Operation], invalid: Invalid) -> None:
    """The culprit's completion is the first that has no explanation."""
    end = invalid.culprit.end
    assert end is not None
    assert is_linearizable(model, operations, until=end)
    assert not is_linearizable(model, operations, until=end + 1)


def check_zones(operations: Sequence[Operation], expected: bool) -> None:
    """Zones decide exactly what has no failed cas, and refute nothing that has an order."""
    placed = [op for op in operations if op.f != "cas" or op.type != "fail"]
    calls = calls_of(Register(), placed)
    assert zones.applies(calls, None)
    has_order = is_linearizable(UNIQUE, placed)
    assert has_order or not expected
    try:
        order = zones.order_of(calls, None)
    except zones.Clash as clash:
        assert not has_order and clash.operations
        culprit, around = zones.earliest_clash(calls, None)
        check_evidence(UNIQUE, placed, Invalid(culprit, [], around))
    else:
        assert has_order
        check_witness(UNIQUE, placed, order)


NAMES = (*sorted(MODELS), UNIQUE)
"""What there are random histories of."""


def compare(name: str, seed: int) -> bool:
    """One random history; returns whether it is linearizable."""
    operations = random_history(name, random.Random(f"{name}/{seed}"))
    expected = is_linearizable(name, operations)
    model: Model = (MODELS | {UNIQUE: Register})[name]()
    where = f"{name}, seed {seed}: {operations}"
    levels = lay_out(model, calls_of(model, operations), Budget(60, 1 << 30))
    for search in (depth_first, breadth_first):
        refuted = isinstance(search(model, levels, Budget(60, 1 << 30)), Refuted)
        assert refuted is not expected, f"{search.__name__} is wrong on {where}"
    decision = decide(model, operations)
    if expected:
        assert isinstance(decision, Valid), where
        check_witness(name, operations, decision.order)
    else:
        assert isinstance(decision, Invalid), where
        check_evidence(name, operations, decision)
    if name == UNIQUE:
        check_zones(operations, expected)
    return expected
