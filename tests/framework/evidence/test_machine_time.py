"""Time that a machine gave: limits that end later on a busy one."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.evidence.machine import UNMEASURED, Machine, Machines, busiest

S, MS = 10**9, 10**6
BUSY = Machine.of([[1000, 3000, 1000], [3000, 4000, 1000], [10_000, 12_000, 1500]])
"""From 1 s to 3 s half of the time is taken, then all of it till 4 s, at 10 s three quarters."""


@pytest.mark.parametrize(
    ("begin_s", "end_s", "gave_s"),
    [
        *((0, 1, 1), (0, 2, 1.5), (2, 3, 0.5), (3, 4, 0), (3.5, 5, 1), (0, 20, 16.5)),
        *((4, 10, 6), (11, 13, 1.25), (12, 99, 87), (5, 5, 0), (6, 5, 0)),
    ],
)
def test_what_was_given(begin_s: float, end_s: float, gave_s: float) -> None:
    begin, end = round(begin_s * S), round(end_s * S)
    assert BUSY.gave_ns(begin, end) == gave_s * S
    assert BUSY.took_ns(begin, end) == max(0, end - begin) - gave_s * S
    assert UNMEASURED.gave_ns(begin, end) == max(0, end - begin)


@pytest.mark.parametrize(
    ("begin_s", "given_s", "until_s"),
    [
        (0, 1, 1),
        (0, 1.5, 2),
        (1, 1, 3),
        (1, 1.5, 4.5),
        (3.2, 0.1, 4.1),
        (3.2, 0, 3.2),
        (11, 2, 13.75),
    ],
)
def test_a_limit_ends_when_so_much_was_given(
    begin_s: float, given_s: float, until_s: float
) -> None:
    assert BUSY.until_ns(round(begin_s * S), round(given_s * S)) == round(until_s * S)


@pytest.mark.parametrize(
    ("end_s", "given_s", "since_s"),
    [(1, 1, 0), (2, 1, 0.5), (4, 0.5, 2), (3.7, 0.0, 3.7), (5, 1, 4), (5, 1.5, 2), (13, 2, 9.5)],
)
def test_a_limit_began_where_so_much_was_given_since(
    end_s: float, given_s: float, since_s: float
) -> None:
    assert BUSY.since_ns(round(end_s * S), round(given_s * S)) == round(since_s * S)


@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(1, 900), st.floats(0, 1)), max_size=8),
    st.integers(0, 9_000),
    st.integers(0, 9_000),
)
def test_limits_and_what_was_given_fit(
    drawn: list[tuple[int, int, float]], at_ms: int, limit_ms: int
) -> None:
    spans, begin = list[list[int]](), 0
    for gap, length, share in drawn:
        spans.append([begin + gap, begin + gap + length, round(share * length)])
        begin += gap + length
    machine, at, limit = Machine.of(spans), at_ms * 1_000_000, limit_ms * 1_000_000
    slack = 2 * len(spans) + 2  # ns are whole
    until, since = machine.until_ns(at, limit), machine.since_ns(at, limit)
    assert until >= at + limit and since <= at - limit
    assert abs(machine.gave_ns(at, until) - limit) <= slack
    assert abs(machine.gave_ns(since, at) - limit) <= slack


@given(
    st.lists(st.tuples(st.integers(0, 90_000), st.integers(1, 9_000), st.floats(0, 1)), max_size=6),
    st.lists(st.tuples(st.integers(0, 500 * S), st.integers(0, 90 * S)), max_size=9),
    st.booleans(),
)
def test_what_was_given_of_many_times_is_that_of_each(
    drawn: list[tuple[int, int, float]], asked: list[tuple[int, int]], joined: bool
) -> None:
    """Also of spans whose lengths are too long for products of ns to be 64 bits."""
    spans, begin = list[list[int]](), 0
    for gap, length, share in drawn:
        spans.append([begin + gap, begin + gap + length, round(share * length)])
        begin += gap + length
    machine = Machine.of(spans)
    if joined:
        machine = Machine(machine.at_ns[::3], machine.given_ns[::3])
    at = [begin for begin, _ in asked] + list(machine.at_ns)
    end = [begin + length for begin, length in asked] + [each + 7 for each in machine.at_ns]
    gave = machine.gave_each_ns(np.array(at, np.int64), np.array(end, np.int64))
    assert gave.dtype == np.int64
    assert gave.tolist() == [machine.gave_ns(*each) for each in zip(at, end, strict=True)]


PLAN: dict[str, Any] = {"machine": {"took": [[0, 1000, 400]]}}


@pytest.mark.parametrize(
    ("more", "took_ms"),
    [
        ({"hosts": "namespaces"}, 400),
        ({"hosts": "ssh"}, 0),
        ({"hosts": "ssh", "clocks": {"n1": {"samples": []}}}, 0),
        ({"hosts": "docker", "clocks": {"n1": {"shared": True}}}, 400),
        ({"hosts": "docker", "machine": None}, 0),
    ],
)
def test_nodes_of_other_machines_and_of_older_runs(more: dict[str, Any], took_ms: int) -> None:
    machines = Machines.of({**PLAN, **more})
    assert machines.of_node("n1").took_ns(0, S) == took_ms * MS
    assert machines.of_node("n1", "n2").took_ns(0, S) == (0 if "clocks" in more else took_ms) * MS
    assert machines.harness.took_ns(0, S) == (0 if "machine" in more else 400) * MS


@pytest.mark.parametrize(
    ("planned", "here", "took_ms"),
    [
        (("n1", "n2"), ("n1", "n2"), 400),
        (("n1", "n2"), ("n1",), 0),
        (("n1", "n2"), (), 0),
        ((), ("n1", "n2"), 0),
    ],
)
def test_a_broker_that_clients_start_is_where_all_of_the_plan_are(
    planned: Sequence[str], here: Sequence[str], took_ms: int
) -> None:
    nodes = dict.fromkeys(planned)
    clocks = {node: {"shared": node in here} for node in ("n1", "n2")}
    machines = Machines.of({**PLAN, "nodes": nodes, "hosts": "docker", "clocks": clocks})
    for of in (machines.of_node, machines.of_files):
        assert of("x301").took_ns(0, S) == took_ms * MS


def test_of_several_the_one_counts_that_was_given_least_at_that_moment() -> None:
    other = Machine.of([[500, 1500, 500], [2000, 2500, 500], [3500, 4500, 100]])
    both = busiest([BUSY, UNMEASURED, other])
    took_ms = [both.took_ns(at * S // 2, (at + 1) * S // 2) // MS for at in range(10)]
    assert took_ms == [0, 250, 250, 250, 500, 250, 500, 500, 50, 0]
    assert both.took_ns(0, 20 * S) == (250 + 250 + 250 + 500 + 250 + 1000 + 50 + 1500) * MS
    assert busiest([]) == busiest([UNMEASURED]) == UNMEASURED
    assert busiest([UNMEASURED, other]) == other


STARVED: dict[str, Any] = {
    "took": [[0, 1000, 400]],
    "nodes": {"n1": [[0, 500, 100], [500, 1000, 450]], "n2": []},
}


def test_of_a_node_its_own_waiting_or_the_machines_counts() -> None:
    machines = Machines.of({"hosts": "docker", "machine": STARVED})
    given = {"n1": (machines.of_node("n1"), 650), "n2": (machines.of_node("n2"), 400)}
    given["both"] = machines.of_node("n2", "n1"), 650
    given["unknown"] = machines.of_node("n3"), 400
    given["cluster"] = machines.cluster, 650
    given["clients"] = machines.of_clients("n2"), 400
    for who, (machine, took_ms) in given.items():
        assert machine.took_ns(0, S) == took_ms * MS, who


@pytest.mark.parametrize(
    ("lost", "nodes", "took_ms"),
    [
        ([], ("n2",), 0),
        ([], ("n1",), 550),
        ([[0, 1000, 300]], ("n2",), 300),
        ([[0, 1000, 300]], ("n1", "n2"), 600),
        ([], ("n1", "n3"), 650),
        (None, ("n2",), 400),
    ],
)
def test_among_nodes_what_they_waited_counts_and_not_how_many_want_the_cores(
    lost: list[list[int]] | None, nodes: tuple[str, ...], took_ms: int
) -> None:
    """Where each was measured, and what none had."""
    measured = STARVED if lost is None else {**STARVED, "lost": lost}
    machines = Machines.of({"hosts": "docker", "machine": measured})
    assert machines.among(*nodes).took_ns(0, S) == took_ms * MS
    assert machines.among(*nodes) is machines.among(*reversed(nodes))


@pytest.mark.parametrize("what", ["disk", "memory"])
def test_what_waits_for_files_may_wait_for_a_disk_of_its_own_machine(what: str) -> None:
    """Or for its memory."""
    waited = {what: [[0, 1000, 700]]}
    for hosts, took_ms in (("docker", 700), ("ssh", 0)):
        machines = Machines.of({"hosts": hosts, "machine": waited})
        assert machines.of_files("n1").took_ns(0, S) == took_ms * MS
        assert machines.of_node("n1").took_ns(0, S) == 0
    both = Machines.of({"hosts": "docker", "machine": {**STARVED, what: [[0, 1000, 500]]}})
    assert both.of_files("n1").took_ns(0, S) == 700 * MS


def test_of_nodes_elsewhere_those_who_wait_for_them_are_here() -> None:
    machines = Machines.of({"hosts": "ssh", "machine": {**STARVED, "nodes": {}}})
    assert machines.of_node("n1") == UNMEASURED
    assert machines.of_clients("n1").took_ns(0, S) == machines.cluster.took_ns(0, S) == 400 * MS
