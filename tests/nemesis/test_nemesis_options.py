"""Options of the shipped nemeses reach their plans and schedules."""

import random
from collections.abc import Sequence

import pytest
from echoes import on_paper, specs

from framework.errors import UsageError
from framework.generators import nemesis as on_nemesis
from framework.generators import simulate, time_limit
from framework.plugins.capabilities import FORMATTED_DISKS, UNFORCED
from framework.plugins.fault import Drastic, Injection, Nemesis
from framework.plugins.options import create, named


def nemesis(text: str) -> Nemesis:
    (item,) = named("nemeses", text)
    made: Nemesis = create("nemeses", item)
    return made


def plans(
    text: str, controllers: int = 5, targets: Sequence[str] = (), leader: str = "c1"
) -> list[Injection]:
    (fault,) = nemesis(text).faults
    cluster = on_paper(specs(controllers, 3))
    fault.check(list(cluster.nodes.values()))
    return [fault.plan(cluster, targets, leader, random.Random(seed)) for seed in range(20)]


@pytest.mark.parametrize("shape", ["halves", "one-way", "bridge", "majorities-ring"])
def test_a_partition_of_one_shape(shape: str) -> None:
    assert {plan.shape for plan in plans(f"partition:shape={shape}")} == {shape}


@pytest.mark.parametrize(
    ("target", "among"),
    [
        ("c2", {"c2"}),
        ("leader", {"c1"}),
        ("followers", {"c2", "c3", "c4", "c5"}),
        ("b2", {"c1", "c2", "c3", "c4", "c5"}),
    ],
)
def test_who_is_in_the_middle_of_a_bridge(target: str, among: set[str]) -> None:
    """It drops nobody's packets. A node that does not vote never is."""
    found = plans(f"partition:shape=bridge,target={target}", targets=["c5"])
    assert {plan.shape for plan in found} == {"bridge"}
    middles = [{"c1", "c2", "c3", "c4", "c5"} - plan.to_json().keys() for plan in found]
    assert all(len(each) == 1 for each in middles)
    assert set.union(*middles) == among


def test_a_partition_of_one_target_whatever_the_command_line_says() -> None:
    found = plans("partition:target=leader", targets=["all"])
    assert {plan.shape for plan in found} == {"isolate-leader"}
    assert all(plan.to_json()["c2"]["drops"] == ["c1"] for plan in found)
    assert {plan.shape for plan in plans("partition:shape=isolate,target=b1+b2")} == {
        "isolate-group"
    }


@pytest.mark.parametrize(
    ("name", "one", "hit"),
    [("pause", "leader", "c1"), ("kill", "leader", "c1"), ("power", "b1", "b1")],
)
def test_whom_a_fault_against_processes_hits(name: str, one: str, hit: str) -> None:
    for plan in plans(f"{name}:target=brokers,count=2", targets=["leader"]):
        assert plan.shape == "brokers"
        assert len(plan.to_json()) == 2 and set(plan.to_json()) < {"b1", "b2", "b3"}
    assert {frozenset(plan.to_json()) for plan in plans(f"{name}:target={one}+b3")} == {
        frozenset({hit}),
        frozenset({"b3"}),
    }


@pytest.mark.parametrize("name", ["partition", "pause", "kill", "power"])
def test_once_at_a_time_of_its_own(name: str) -> None:
    def operations(text: str) -> list[tuple[str, int]]:
        schedule = time_limit(100, on_nemesis(nemesis(text).schedule(10.0)))
        events = simulate(schedule, threads=1, seed=1)
        return [(each.f, each.time // 10**9) for each in events if each.type == "invoke"]

    start, stop = f"start-{name}", f"stop-{name}"
    assert operations(f"{name}:after=5,lasts=30") == [(start, 5), (stop, 35)]
    assert operations(f"{name}:after=7") == [(start, 7)], "what is not stopped, the runner heals"


@pytest.mark.parametrize("name", ["partition", "pause", "kill", "power"])
def test_an_interval_of_its_own(name: str) -> None:
    def operations(text: str) -> int:
        schedule = time_limit(100, on_nemesis(nemesis(text).schedule(10.0)))
        return sum(event.type == "invoke" for event in simulate(schedule, threads=1, seed=1))

    assert operations(f"{name}:interval=1") > 5 * operations(name) > 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("partition:shape=cross", "shape=cross is not one of any, halves, one-way, bridge"),
        ("partition:shape=halves,target=leader", "takes no target"),
        ("partition:lasts=3", "lasts needs after: when it begins"),
        ("partition:after=3,interval=2", "it is after, once, or interval, again and again"),
        ("partition:interval=0", "interval=0 is not above 0"),
        ("partition:shape=majorities-ring", "needs 4 nodes that vote"),
        ("partition:target=b7", "unknown target: 'b7'"),
        ("kill:count=-1", "count=-1 is not above 0"),
        ("kill:lasts=3", "lasts needs after: when it begins"),
        ("power:after=3,interval=2", "it is after, once, or interval, again and again"),
        ("power:loses=all", "loses=all is not one of unforced, disk"),
        ("power:loses=disk,target=b1+c2", "c2 votes, and no voter may lose its disk"),
        ("pause:target=observers", "unknown target: 'observers' (known: one, minority"),
        ("pause:shape=one", "nemesis pause has no option 'shape' (it has: target, a text;"),
    ],
)
def test_options_that_cannot_be(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        plans(text, controllers=3)
    assert says in str(caught.value)


def test_no_voter_loses_its_disk() -> None:
    """Whoever is aimed at; of an aim at voters alone one that does not vote is the victim."""
    hit = [frozenset(plan.to_json()) for plan in plans("power:loses=disk,target=all")]
    assert set(hit) == {frozenset({"b1", "b2", "b3"})}
    for targets in ([], ["leader"], ["b2"]):
        found = plans("power:loses=disk", targets=targets)
        each = {"b2"} if targets == ["b2"] else {"b1", "b2", "b3"}
        assert {node for plan in found for node in plan.to_json()} == each
        assert {len(plan.to_json()) for plan in found} == {1}
    (fault,) = nemesis("power:loses=disk").faults
    with pytest.raises(UsageError, match="all nodes vote, and no voter may lose its disk"):
        fault.check(list(specs(3, 0).values()))


def test_what_is_lost_says_what_a_system_has_to_have() -> None:
    for text, needed in (("power", UNFORCED), ("power:loses=disk", FORMATTED_DISKS)):
        drastic = nemesis(text)
        assert isinstance(drastic, Drastic)
        assert drastic.requires == {needed}
