"""What is compiled ahead is compiled by a run in order that needs each of it."""

from checkers.linearizability.precompile import topics
from checkers.topic_linearizability import check_names


def test_topics_are_in_order_and_each_decided_in_another_way() -> None:
    rows = check_names(topics(), budget_s=60).to_pylist()
    assert {row["verdict"] for row in rows} == {"VALID"}
    assert {"unique writes", "two value sweep", "jit bitset"} == {
        method for row in rows for method in ("unique writes", "two value sweep", "jit bitset")
        if f"method: {method}" in row["figures"]
    }  # fmt: skip
