"""When service was owed (`folds/history/peace.py`)."""

from typing import Any

import pytest

from checkers.folds.history.peace import FOREVER_NS, Upset, missed_by_ns, owed, owed_in
from framework.evidence.machine import Machine
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.plugins.capabilities import VOTER_CHANGES

VOTER = {"votes": True, "roles": ["controller"]}
BROKER = {"votes": False, "roles": ["broker"]}
BOTH = {"votes": True, "roles": ["controller", "broker"]}
APART = {**{f"c{i}": VOTER for i in (1, 2, 3)}, **{f"b{i}": BROKER for i in (1, 2, 3)}}


def hit(*victims: str, since: int = 10, until: int | None = 20) -> FaultRecord:
    return FaultRecord(
        id=1,
        fault="kill",
        victims=dict.fromkeys(victims, "SIGKILL"),
        injected_ns=since,
        healed_ns=until,
    )


def stretches(nodes: dict[str, Any], *faults: FaultRecord) -> list[tuple[int, int, bool]]:
    """-1: no end."""
    found = [(each.begin_ns, each.end_ns, each.calm) for each in owed(faults, nodes)]
    return [(begin, -1 if end == FOREVER_NS else end, calm) for begin, end, calm in found]


def in_between(nodes: dict[str, Any], *victims: str) -> bool:
    """Whether it is owed while these are hit."""
    found = stretches(nodes, hit(*victims))
    outside = [(0, 10, True), (20, -1, True)]
    assert [each for each in found if each != (10, 20, False)] == outside
    return len(found) == 3


@pytest.mark.parametrize("nodes", [APART, {}])
def test_without_a_fault_it_is_owed_throughout(nodes: dict[str, Any]) -> None:
    """Whatever the plan says of nodes."""
    assert stretches(nodes) == [(0, -1, True)]


@pytest.mark.parametrize("victims", [("c1",), ("b3",), ("c1", "b3")])
def test_one_of_three_of_each_role_may_be_missing(victims: tuple[str, ...]) -> None:
    assert in_between(APART, *victims)


@pytest.mark.parametrize("victims", [("c1", "c2"), ("b1", "b3"), ("c1", "b1", "b3")])
def test_most_of_the_voters_and_of_each_role_have_to_be_left(victims: tuple[str, ...]) -> None:
    assert not in_between(APART, *victims)


def owed_where_voters_change(nodes: dict[str, Any], *victims: str) -> bool:
    """Whether it is owed while these are hit, and clients add and remove voters."""
    plan = {"nodes": nodes, "provides": [VOTER_CHANGES]}
    found = owed_in(RunEvents(faults=[hit(*victims)], plan=plan))
    assert [each.calm for each in found if each.begin_ns != 10] == [True, True]
    return len(found) == 3


def test_of_three_voters_one_of_whom_may_be_away_both_others_are_needed() -> None:
    assert owed_where_voters_change(APART, "b1")
    assert not owed_where_voters_change(APART, "c1")
    steady = {"nodes": APART, "provides": ["topic-operations"]}
    assert len(owed_in(RunEvents(faults=[hit("c1")], plan=steady))) == 3
    assert len(owed_in(RunEvents(faults=[hit("c1")], plan={"nodes": APART}))) == 3


def test_of_five_voters_one_of_whom_may_be_away_three_others_are_needed() -> None:
    five = {f"c{number}": VOTER for number in range(5)}
    away = {"nodes": five, "provides": [VOTER_CHANGES]}
    one, two = hit("c0"), hit("c0", "c1")
    assert len(owed_in(RunEvents(plan=away), [one])) == 3
    assert len(owed_in(RunEvents(plan=away), [two])) == 2
    assert len(owed_in(RunEvents(plan={"nodes": five}), [two])) == 3


def test_half_is_not_most() -> None:
    four = {f"n{i}": BOTH for i in range(4)}
    assert in_between(four, "n0") and not in_between(four, "n0", "n1")


def test_voters_are_counted_apart_from_others_of_their_role() -> None:
    """Three of five controllers are left, and one of three that vote."""
    watching = {"votes": False, "roles": ["controller"]}
    five = {**{f"c{i}": VOTER for i in (1, 2, 3)}, "w1": watching, "w2": watching, "x": {}}
    assert in_between(five, "c1", "w1") and not in_between(five, "c1", "c2")


def test_nodes_of_no_role_of_which_none_votes() -> None:
    """All of them count."""
    plain: dict[str, Any] = {f"n{i}": {} for i in (1, 2, 3)}
    assert in_between(plain, "n1") and not in_between(plain, "n1", "n2")


def test_faults_at_one_time_take_away_together() -> None:
    later = hit("b2", since=15, until=25)
    assert stretches(APART, hit("b1"), later) == [
        (0, 10, True),
        (10, 15, False),
        (20, 25, False),
        (25, -1, True),
    ]


def test_a_fault_that_is_not_over() -> None:
    assert stretches(APART, hit("b1", until=None)) == [(0, 10, True), (10, -1, False)]
    assert stretches(APART, hit("b1", "b2", until=None)) == [(0, 10, True)]


# --- who is missed, and what a machine may have done --------------------------------------

S_NS = 1_000_000_000


@pytest.mark.parametrize(
    ("over_s", "missed_s"),
    [(None, 52), (31, 52), (49, 69), (50, 70), (51, 52)],
    ids=["never", "long ago", "shortly before", "right then", "later"],
)
def test_who_is_missed_may_first_have_had_to_get_over_a_fault(
    over_s: int | None, missed_s: int
) -> None:
    """From 50 s on these are left alone."""
    fault = hit("b1", until=None if over_s is None else over_s * S_NS)
    events = RunEvents(faults=[fault], plan={"recovery_s": 20, "fencing_s": 2})
    assert missed_by_ns(events, ["b2"], 50 * S_NS) == missed_s * S_NS


@pytest.mark.parametrize(("took_ms", "upset"), [(1_900, False), (2_000, False), (2_001, True)])
def test_a_machine_that_gave_less_than_a_third_of_three_seconds_upsets(
    took_ms: int, upset: bool
) -> None:
    """Until the system has got over that."""
    machine = Machine.of([[10_000, 13_000, took_ms]])
    by = Upset(machine, 5 * S_NS)
    assert by.at(13 * S_NS) == by.at(15 * S_NS) == upset
    assert not by.at(9 * S_NS) and not by.at(20 * S_NS)


def test_one_node_that_got_nothing_is_enough() -> None:
    waited = {"b1": [[10_000, 13_000, 0]], "b2": [[10_000, 13_000, 3_000]]}
    plan = {"nodes": APART, "recovery_s": 5, "machine": {"took": [], "nodes": waited}}
    assert Upset.of(RunEvents(plan=plan)).at(13 * S_NS)
    assert not Upset.of(RunEvents(plan={**plan, "nodes": {"b1": BROKER}})).at(13 * S_NS)


def test_half_of_a_role_or_of_the_voters_is_not_most_of_it() -> None:
    assert not in_between({**APART, "b3": VOTER}, "b1"), "one of two brokers"
    four = {f"c{i}": VOTER for i in (1, 2, 3, 4)}
    assert not in_between(four, "c1", "c2")
    assert in_between(four, "c1")
