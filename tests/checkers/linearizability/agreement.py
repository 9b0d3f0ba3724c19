"""Every method against brute force, on random histories of every model."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from checkers.linearizability.decide import decide
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import EncodedHistory, Kind
from checkers.linearizability.encoding.encode import encode, malformed
from checkers.linearizability.encoding.models import MODELS
from checkers.linearizability.encoding.transitions import queue_steps
from checkers.linearizability.methods.table import METHODS
from framework.checking.columns import Columns
from framework.checking.runs import add_operation
from framework.history.columns import OPERATIONS
from framework.history.event import Json
from framework.history.pairing import Operation
from framework.testing.oracle import (
    INITIAL,
    UNIQUE,
    is_linearizable,
    random_history,
    spec_of,
)
from framework.verdict import Verdict
from tests.checkers.linearizability.encoded_oracle import is_legal_order

NAMES = (*sorted(MODELS), UNIQUE)
"""What there are random histories of."""
BUDGET_S = 60.0


def model_of(name: str) -> str:
    return "register" if name == UNIQUE else name


def table_of(operations: Sequence[Operation], *, run: str = "r", key: Json = "x") -> pa.Table:
    """Rows of `OPERATIONS`."""
    columns = Columns(OPERATIONS)
    for operation in operations:
        operation.key = key
        add_operation(columns, run, operation)
    return columns.table()


@dataclass(frozen=True, slots=True)
class Case:
    """A history, and whether brute force finds an order of it."""

    name: str
    operations: Sequence[Operation]
    encoded: EncodedHistory
    has_order: bool

    @classmethod
    def of(cls, name: str, operations: Sequence[Operation]) -> "Case":
        table = table_of(operations)
        assert malformed(model_of(name), table) is None
        encoded = encode(model_of(name), table)
        return cls(name, operations, encoded, is_linearizable(name, operations))

    def check(self) -> set[str]:
        """The methods that decided it, all of them rightly."""
        decided = set()
        front = decide(self.encoded, Budget(BUDGET_S)).decision
        if front.verdict is Verdict.INVALID:
            self._check_evidence(front)
        expected = Verdict.VALID if self.has_order else Verdict.INVALID
        # Of a queue, the front may have asked about its steps; the rows are the same.
        for encoded, decision in [(self.encoded, front), *self._decisions()]:
            what = f"{decision.method} on {self.name}: {self.operations}"
            assert decision.verdict is expected, f"{decision} is wrong: {what}"
            if decision.order is not None:
                assert is_legal_order(encoded, decision.order), f"no order, by {what}"
                self._check_order([int(encoded.call[row]) for row in decision.order], what)
            if expected is Verdict.INVALID:
                assert set(decision.involved) <= set(range(len(encoded))), what
            decided.add(decision.method)
        return decided

    def _decisions(self) -> Iterator[tuple[EncodedHistory, Decision]]:
        """What each method says that applies, asked by itself."""
        forms = [self.encoded]
        if len(self.encoded) and self.encoded.kind.min() >= Kind.ENQUEUE:
            forms.append(queue_steps(self.encoded))
        for method in METHODS:
            for encoded in forms:
                decision = method.decide(encoded, Budget(BUDGET_S))
                if decision is not None:
                    yield encoded, decision

    def _check_order(self, order: Sequence[int], what: str) -> None:
        """The order is legal by the second specification, and respects real time."""
        by_op = {op.index: op for op in self.operations}
        spec = spec_of(self.name, self.operations)
        states = {INITIAL[self.name]}
        for op in order:
            states = {after for state in states for after in spec(state, by_op[op])}
        assert states, f"not legal: {what}"
        assert len(set(order)) == len(order), f"twice: {what}"
        said = set(self.encoded.call.tolist()) - set(order)
        assert all(by_op[op].type == "info" for op in said), f"left out: {what}"
        earliest = math.inf
        for op in map(by_op.__getitem__, reversed(order)):
            assert op.index < earliest, f"against real time: {what}"
            if op.type != "info" and op.end is not None:
                earliest = min(earliest, op.end)

    def _check_evidence(self, decision: Decision) -> None:
        """What completed until the culprit did is impossible already."""
        what = f"{decision} of {self.operations}"
        by_op = {op.index: op for op in self.operations}
        culprit = by_op[int(self.encoded.call[decision.culprit])]
        assert culprit.end is not None, f"the culprit is pending: {what}"
        possible = is_linearizable(self.name, self.operations, until=culprit.end + 1)
        assert not possible, f"{culprit.index} is no culprit: {what}"


def compare(name: str, seed: int) -> tuple[bool, set[str]]:
    """One random history: whether it is linearizable, and what decided it."""
    case = Case.of(name, random_history(name, random.Random(f"{name}/{seed}")))
    try:
        return case.has_order, case.check()
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}") from error
