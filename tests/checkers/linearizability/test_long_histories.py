"""Long histories are decided, and rightly, well within the default budget."""

from time import process_time

import pytest

from checkers.linearizability.decide import Decision, Invalid, Unknown, Valid, decide
from checkers.linearizability.models import Register, Topics
from framework.history.pairing import Operation
from tests.checkers.linearizability.agreement import check_witness
from tests.checkers.linearizability.long_histories import register_history


def decided(operations: list[Operation], budget_s: float) -> Decision:
    began = process_time()
    decision = decide(Register(), operations, budget_s=budget_s)
    assert process_time() - began < budget_s
    return decision


@pytest.mark.parametrize(
    ("count", "clients", "values", "info"),
    [
        (10_000, 5, 5, 0.0),
        (10_000, 5, None, 0.0),
        (3_000, 20, 5, 0.0),
        (5_000, 5, 5, 0.05),
        (3_000, 5, None, 0.01),
    ],
)
def test_linearizable(count: int, clients: int, values: int | None, info: float) -> None:
    operations = register_history(count, clients, values=values, info=info)
    decision = decided(operations, 10)
    assert isinstance(decision, Valid)
    check_witness("register", operations, decision.order)


@pytest.mark.parametrize(
    ("count", "clients", "values", "info"),
    [
        (10_000, 5, 5, 0.0),
        (1_000, 10, 5, 0.0),
        (1_000, 5, 5, 0.05),
        (3_000, 5, None, 0.0),
        (5_000, 100, None, 0.05),
    ],
)
def test_not_linearizable(count: int, clients: int, values: int | None, info: float) -> None:
    lie_at = count * 9 // 10
    operations = register_history(count, clients, values=values, info=info, lie_at=lie_at)
    decision = decided(operations, 20)
    assert isinstance(decision, Invalid)
    assert decision.culprit.op >= operations[lie_at - 2 * clients].op


def hard_topics() -> list[Operation]:
    """40 ids were seen at once, by reads that overlap; 20 deletes are too few, in any order."""
    operations = [Operation(op=i, process=i, f="create") for i in range(60)]
    operations += [Operation(op=100 + i, process=100 + i, f="delete") for i in range(20)]
    operations += [
        Operation(
            op=200 + i,
            end=300 + i,
            process=200 + i,
            f="describe",
            type="ok",
            result={"topic_id": f"id{i}"},
        )
        for i in range(40)
    ]
    return operations


def test_a_spent_time_budget_is_unknown() -> None:
    decision = decide(Topics(), hard_topics(), budget_s=0.5)
    assert isinstance(decision, Unknown) and "time budget" in decision.why


def test_a_spent_memory_budget_is_unknown() -> None:
    decision = decide(Topics(), hard_topics(), budget_s=0.5, budget_bytes=20_000)
    assert isinstance(decision, Unknown) and "budget" in decision.why
