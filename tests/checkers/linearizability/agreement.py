"""The checker against brute force on random histories."""

import random
from collections.abc import Sequence

from checkers.linearizability.decide import Invalid, Valid, decide
from checkers.linearizability.levels import lay_out
from checkers.linearizability.model import Model
from checkers.linearizability.models import MODELS
from checkers.linearizability.search import Budget, Refuted, breadth_first, depth_first
from framework.history.pairing import Operation
from tests.checkers.linearizability.oracle import (
    INITIAL,
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
    for i, op in enumerate(order):
        for later in order[i + 1 :]:
            assert later.type == "info" or later.end is None or later.end > op.op


def check_evidence(model: str, operations: Sequence[Operation], invalid: Invalid) -> None:
    """The culprit's completion is the first that has no explanation."""
    end = invalid.culprit.end
    assert end is not None
    assert is_linearizable(model, operations, until=end)
    assert not is_linearizable(model, operations, until=end + 1)


def compare(name: str, seed: int) -> bool:
    """One random history; returns whether it is linearizable."""
    operations = random_history(name, random.Random(f"{name}/{seed}"))
    expected = is_linearizable(name, operations)
    model: Model = MODELS[name]()
    where = f"{name}, seed {seed}: {operations}"
    levels = lay_out(model, operations)
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
    return expected
