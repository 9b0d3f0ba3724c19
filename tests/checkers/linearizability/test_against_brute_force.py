"""Every model's verdicts, witnesses and evidence against brute force."""

import random
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkers.linearizability.kernel import judge_block
from framework.history.pairing import Operation
from framework.testing.oracle import UNIQUE, is_linearizable, random_history
from tests.checkers.linearizability.agreement import NAMES, Case, compare, model_of, table_of

SEEDS = {"a hundred": range(100), "many more": range(100, 250)}
EXPECTED = {
    "register": {"jit antichain", "unique writes"},
    UNIQUE: {"jit antichain", "unique writes"},
    "kv": {"jit antichain"},
    "topics": {"jit antichain"},
    "set": {"jit antichain"},
    "queue": {"jit antichain", "fifo queue"},
}


@pytest.mark.parametrize("seeds", SEEDS.values(), ids=SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_brute_force(name: str, seeds: range) -> None:
    verdicts, methods = Counter[bool](), Counter[str]()
    for seed in seeds:
        verdict, decided = compare(name, seed)
        verdicts[verdict] += 1
        methods.update(decided)
    some = len(seeds) // 10
    assert verdicts[True] > some and verdicts[False] > some
    for method in EXPECTED[name]:
        assert methods[method] > some, f"{method} had nothing to decide"


@pytest.mark.parametrize("name", NAMES)
def test_many_keys_in_one_table(name: str) -> None:
    """The way of the rows through Arrow, all keys at once, in two orders of the rows."""
    tables, expected = [], {}
    for seed in range(120):
        operations = random_history(name, random.Random(f"{name}/{seed}"))
        tables.append(table_of(operations, run=f"run {seed % 2}", key=seed))
        expected[f"run {seed % 2}", str(seed)] = is_linearizable(name, operations)
    whole = pa.concat_tables(tables)
    found = judge_block(whole, model=model_of(name), budget_s=30)
    verdicts = {(row["run"], row["key"]): row["verdict"] for row in found.to_pylist()}
    assert verdicts == {key: "VALID" if is_so else "INVALID" for key, is_so in expected.items()}
    shuffled = list(range(len(whole)))
    random.Random(7).shuffle(shuffled)
    again = judge_block(whole.take(shuffled), model=model_of(name), budget_s=30)
    # Of two searches in turns the clock says which decides: figures and explanations show it.
    same = ["run", "checker", "key", "verdict", "seen"]
    assert again.select(same).equals(found.select(same))


# What hypothesis makes shrinks to the smallest history that shows a mistake.


@st.composite
def histories(draw: st.DrawFn, name: str) -> list[Operation]:
    """Any calls and returns in any order, with any results."""
    small = st.integers(1, 2)
    maybe = st.one_of(st.none(), small)
    texts = st.text("ab", max_size=2)
    ids = st.sampled_from([{"topic_id": "A"}, {"topic_id": "B"}, None])
    seen = st.one_of(ids, st.booleans())
    calls: dict[str, list[tuple[str, st.SearchStrategy[object], st.SearchStrategy[object]]]] = {
        "register": [
            ("read", st.none(), maybe),
            ("write", maybe, st.none()),
            ("cas", st.tuples(maybe, small).map(list), st.none()),
        ],
        "kv": [
            ("read", st.none(), texts),
            ("write", texts, st.none()),
            ("append", texts, st.none()),
        ],
        "topics": [
            ("create", st.none(), ids),
            ("delete", st.none(), ids),
            ("describe", st.none(), seen),
        ],
        "set": [
            ("add", st.none(), st.none()),
            ("remove", st.none(), st.none()),
            ("contains", st.none(), st.booleans()),
        ],
        "queue": [("enqueue", small, st.none()), ("dequeue", st.none(), maybe)],
    }
    operations = []
    for number in range(draw(st.integers(1, 6))):
        f, values, results = draw(st.sampled_from(calls[model_of(name)]))
        value = draw(values)
        if name == UNIQUE and f == "write":
            value = 10 + number
        elif name == UNIQUE and isinstance(value, list):
            value = [draw(st.sampled_from([None, *range(10, 10 + number)])), 10 + number]
        result = draw(results)
        if name == UNIQUE and f == "read":
            result = draw(st.sampled_from([None, *range(10, 16)]))
        operations.append(
            Operation(
                index=0,
                process=number,
                f=f,
                value=value,  # type: ignore[arg-type]
                type=draw(st.sampled_from(["ok", "ok", "fail", "info"])),
                result=result,  # type: ignore[arg-type]
            )
        )
    order = draw(st.permutations([each for each in range(len(operations)) for _ in range(2)]))
    begun: set[int] = set()
    for index, number in enumerate(order):
        if number in begun:
            operations[number].end = index
        else:
            operations[number].index = index
            begun.add(number)
    return sorted(operations, key=lambda operation: operation.index)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_happens(name: str) -> None:
    @settings(
        max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(histories(name))
    def agrees(operations: list[Operation]) -> None:
        Case.of(name, operations).check()

    agrees()
