"""Long histories are decided, and rightly, well within the default budget; what cannot be within
a small one is UNKNOWN, and says what was tried."""

from time import process_time

import pytest

from benchmarks.histories import Plant, QueuePlant, cell, queue
from checkers.linearizability.decide import decide
from checkers.linearizability.decision import Budget, Decision
from checkers.linearizability.encoded import EncodedHistory
from checkers.linearizability.encoding.encode import encode
from checkers.linearizability.methods.table import METHODS
from checkers.linearizability.precompile import precompile
from framework.history.pairing import Operation
from framework.verdict import Verdict
from tests.checkers.linearizability.agreement import table_of
from tests.checkers.linearizability.encoded_oracle import is_legal_order
from tests.checkers.linearizability.long_histories import register_history


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    for method in METHODS:
        precompile(method.decide)


def decided(encoded: EncodedHistory, within_s: float = 20) -> Decision:
    began = process_time()
    decision = decide(encoded, Budget(within_s)).decision
    assert process_time() - began < within_s
    return decision


LONG = [(100_000, 5, 5, 0.0), (100_000, 100, None, 0.05), (3_000, 20, 5, 0.0), (5_000, 5, 5, 0.05)]


@pytest.mark.parametrize(("count", "clients", "values", "info"), LONG)
def test_linearizable(count: int, clients: int, values: int | None, info: float) -> None:
    encoded = cell(count, clients, values=values, info=info)
    decision = decided(encoded)
    assert decision.verdict is Verdict.VALID
    assert decision.order is None or is_legal_order(encoded, decision.order)


@pytest.mark.parametrize(
    ("count", "clients", "values", "info", "plant"),
    [
        (100_000, 5, 5, 0.0, "phantom"),
        (100_000, 100, None, 0.05, "stale"),
        (100_000, 100, None, 0.05, "phantom"),
        (10_000, 5, 5, 0.0, "burst"),
        (1_000, 5, 5, 0.05, "burst"),
        (1_000, 20, 5, 0.0, "burst"),
    ],
)
def test_not_linearizable(
    count: int, clients: int, values: int | None, info: float, plant: Plant
) -> None:
    encoded = cell(count, clients, values=values, info=info, plant=plant)
    decision = decided(encoded)
    assert decision.verdict is Verdict.INVALID
    assert decision.culprit >= count * 9 // 10 - 2 * clients


@pytest.mark.parametrize("plant", ["none", "swap", "lost", "repeat", "empty"])
def test_queue(plant: QueuePlant) -> None:
    decision = decided(queue(100_000, 50, info=0.01, plant=plant))
    assert decision.verdict is (Verdict.VALID if plant == "none" else Verdict.INVALID)


def test_from_operations() -> None:
    """The same by way of operations, and their rows."""
    for lie_at, expected in ((None, Verdict.VALID), (900, Verdict.INVALID)):
        operations = register_history(1_000, 10, lie_at=lie_at)
        assert decided(encode("register", table_of(operations))).verdict is expected


def hard_topics() -> list[Operation]:
    """40 ids were seen at once, by reads that overlap; 20 deletes are too few, in any order."""
    operations = [Operation(index=i, process=i, f="create") for i in range(60)]
    operations += [Operation(index=100 + i, process=100 + i, f="delete") for i in range(20)]
    operations += [
        Operation(
            index=200 + i,
            end=300 + i,
            process=200 + i,
            f="describe",
            type="ok",
            result={"topic_id": f"id{i}"},
        )
        for i in range(40)
    ]
    return operations


@pytest.mark.parametrize("max_bytes", [1 << 30, 20_000])
def test_a_spent_budget_is_unknown(max_bytes: int) -> None:
    encoded = encode("topics", table_of(hard_topics()))
    decision = decide(encoded, Budget(0.5, max_bytes)).decision
    assert decision.verdict is Verdict.UNKNOWN
    assert "budget" in decision.note and "jit antichain" in decision.note
