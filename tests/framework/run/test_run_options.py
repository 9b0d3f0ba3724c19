"""Options of `run`, resolved."""

import pytest

from framework.run.options import Options, Test, as_json, from_json, resolve


def resolved(**options: str) -> Test:
    return resolve(Options(hosts="namespaces", **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("nodes", ["1", "3", "3+3", "5+3"])
def test_however_few_nodes_all_workloads_have_their_threads(nodes: str) -> None:
    test = resolved(nodes=nodes)
    for index, workload in enumerate(test.workloads):
        assert len(test.threads_of(index)) >= workload.min_threads


def test_two_threads_a_node_where_that_is_enough() -> None:
    assert resolved(workload="topics").threads == 2 * 6
    assert resolved(workload="topics", concurrency="3n").threads == 3 * 6
    assert resolved(workload="topics", concurrency="5").threads == 5


def test_a_plan_keeps_what_was_asked_for_and_not_the_default() -> None:
    for options in (Options(), Options(concurrency="3n")):
        assert from_json(as_json(options)) == options
