"""Options of `run`, resolved."""

import pytest

from framework.errors import UsageError
from framework.run.options import Options, Test, as_json, from_json, resolve


def resolved(**options: object) -> Test:
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


def test_some_faults_last_until_a_silent_node_is_fenced_and_asked_for() -> None:
    """The node fences within 10 s, 14 on a busy machine, and two rounds of the observer take 5 s at
    most."""
    lasts = {limit_s: lasting(lasting_s=None, time_limit_s=limit_s) for limit_s in (57.0, 56.9)}
    assert lasts == {57.0: 19.0, 56.9: 0.0}, "none in a phase too short for three"
    changed = lasting(lasting_s=None, settings=("broker.lease.ms=6000",), time_limit_s=100.0)
    assert changed == pytest.approx(20.4)
    assert lasting(lasting_s=3.5) == 3.5


def lasting(**options: object) -> float:
    return resolved(**options).lasting_s


def test_in_a_replay_of_an_older_plan_none_lasts() -> None:
    stored = as_json(Options(lasting_s=12.0))
    assert from_json(stored).lasting_s == 12.0
    assert from_json({name: stored[name] for name in stored if name != "lasting_s"}).lasting_s == 0


@pytest.mark.parametrize("length_s", [-1.0, float("inf"), float("nan")])
def test_a_length_that_no_fault_has_is_refused(length_s: float) -> None:
    with pytest.raises(UsageError, match="--lasting"):
        resolved(lasting_s=length_s)


def test_a_plan_keeps_what_was_asked_for_and_not_the_default() -> None:
    for options in (Options(), Options(concurrency="3n")):
        assert from_json(as_json(options)) == options


@pytest.mark.parametrize("wrong", ["n4", "c1"])
def test_a_workload_is_told_whom_the_cluster_has_before_anything_is_started(wrong: str) -> None:
    options = {"system": "kafka", "nodes": "3", "settings": ("quorum=dynamic",)}
    with pytest.raises(UsageError, match=f"{wrong} is no voter .those are: n1, n2, n3."):
        resolved(workload=f"voters:leaves=n2+{wrong}", **options)
    assert resolved(workload="voters:leaves=n2+n3", **options).workloads
