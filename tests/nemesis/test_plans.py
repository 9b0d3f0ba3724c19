"""What plans promise, for clusters of any size."""

import json
import random
from collections.abc import Callable
from itertools import combinations

import pytest
from echoes import PORT, on_paper, specs
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import UsageError
from framework.plugins.fault import CutsOff, Fault, Injection, Nemesis, OnProcesses, Sparing
from framework.plugins.system import Cluster, NodeSpec
from framework.plugins.targets import resolve
from nemesis.kill import Kill
from nemesis.partition import SHAPES, Partition, grudges
from nemesis.pause import Pause
from nemesis.power import Power

GROUPS = (
    *("one", "minority", "few", "majority", "all", "leader", "followers"),
    *("controllers", "brokers"),
)
NEMESES: list[Callable[[], Nemesis]] = [Partition, Pause, Kill, Power]

Situation = tuple[Cluster, list[str], str | None, int]
"""Cluster, targets, leader, seed."""


@st.composite
def situations(draw: st.DrawFn) -> Situation:
    cluster = on_paper(specs(draw(st.integers(1, 7)), draw(st.integers(1, 5))))
    names = sorted(cluster.nodes)
    targets = draw(st.lists(st.sampled_from([*GROUPS, *names]), max_size=3))
    leader = draw(st.none() | st.sampled_from(cluster.with_role("controller")))
    return cluster, targets, leader, draw(st.integers(0, 2**32))


def fault(make: Callable[[], Nemesis]) -> Fault:
    return make().faults[0]


def draw_plan(make: Callable[[], Nemesis], situation: Situation) -> Injection:
    cluster, targets, leader, seed = situation
    return fault(make).plan(cluster, targets, leader, random.Random(seed))


@pytest.mark.parametrize("make", NEMESES)
@given(situation=situations())
def test_plans_hurt_somebody_and_only_the_cluster(
    make: Callable[[], Nemesis], situation: Situation
) -> None:
    cluster = situation[0]
    plan = draw_plan(make, situation)
    victims = plan.to_json()
    assert victims
    assert set(victims) <= set(cluster.nodes)
    assert json.loads(json.dumps(victims)) == victims
    assert fault(make).from_json(plan.shape, victims) == plan
    assert draw_plan(make, situation) == plan, "the seed does not fix it"


@given(situation=situations())
def test_partitions_drop_packets_of_others(
    situation: Situation,
) -> None:
    cluster = situation[0]
    plan = draw_plan(Partition, situation)
    for node, victim in plan.to_json().items():
        assert victim["drops"], "a victim that hears everybody"
        assert node not in victim["drops"]
        assert victim["addresses"] == [cluster.host(name).address for name in victim["drops"]]


@given(situation=situations())
def test_partitions_matter_to_the_control_plane(
    situation: Situation,
) -> None:
    """Untargeted, they always cut voters from voters, if there are two."""
    cluster, _, leader, seed = situation
    plan = fault(Partition).plan(cluster, [], leader, random.Random(seed))
    voters = set(cluster.with_role("controller"))
    touched = {(node, source) for node, v in plan.to_json().items() for source in v["drops"]}
    assert any(voters & set(pair) for pair in touched)
    if len(voters) > 1:
        assert any(voters >= set(pair) for pair in touched)


@given(situation=situations())
def test_partition_says_who_still_hears_each_other(situation: Situation) -> None:
    """As many voters as there are in any such group."""
    cluster = situation[0]
    plan = draw_plan(Partition, situation)
    assert isinstance(plan, Sparing)
    cut = {frozenset((node, source)) for node, v in plan.to_json().items() for source in v["drops"]}
    spared = plan.spares(cluster)
    assert set(spared) <= set(cluster.nodes)
    assert not any(frozenset(pair) in cut for pair in combinations(spared, 2))
    voters = cluster.voters()
    most = max(
        size
        for size in range(len(voters) + 1)
        for group in combinations(voters, size)
        if not any(frozenset(pair) in cut for pair in combinations(group, 2))
    )
    assert sum(node in voters for node in spared) == most


@given(situation=situations())
def test_partition_says_who_reaches_nobody_that_could_lead(situation: Situation) -> None:
    """By the definition: no voter in reach is connected with a majority, itself among them."""
    cluster = situation[0]
    plan = draw_plan(Partition, situation)
    assert isinstance(plan, CutsOff)
    cut = {frozenset((node, source)) for node, v in plan.to_json().items() for source in v["drops"]}
    voters = cluster.voters()

    def connected(node: str) -> list[str]:
        return [each for each in voters if each == node or frozenset((node, each)) not in cut]

    lonely = [
        node
        for node in cluster.nodes
        if all(len(connected(voter)) <= len(voters) / 2 for voter in connected(node))
    ]
    assert list(plan.cuts_off(cluster)) == sorted(lonely)


def test_who_is_cut_off() -> None:
    """Alone, with a minority, or by one direction; not who has one voter left with a majority."""
    voters, brokers = ["c1", "c2", "c3"], ["b1", "b2"]
    nodes = [*voters, *brokers]
    for grudge, gone in [
        (grudges.isolate(["b1"], nodes), ["b1"]),
        (grudges.isolate(["b1", "c1"], nodes), ["b1", "c1"]),
        (grudges.isolate(["b1", "c1", "c2"], nodes), ["b2", "c3"]),
        (grudges.isolate(voters, nodes), ["b1", "b2"]),
        (grudges.cut([("b1", voter) for voter in voters]), ["b1"]),
        (grudges.cut([(voter, "b1") for voter in voters]), ["b1"]),
        (grudges.cut([("b1", "c1"), ("c2", "b1")]), []),
        (grudges.cut([("b1", "b2"), ("b2", "b1")]), []),
        (grudges.isolate(nodes, nodes), nodes),
    ]:
        assert grudges.cut_off(grudge, nodes, voters) == sorted(gone), grudge


@pytest.mark.parametrize("nemesis", [Kill, Pause, Power])
def test_processes_that_are_stopped_or_ended_are_gone(
    nemesis: Callable[[], Nemesis],
) -> None:
    cluster = on_paper(specs(3, 3))
    plan = fault(nemesis).plan(cluster, ["b2", "c1"], None, random.Random(1))
    assert isinstance(plan, CutsOff) and isinstance(plan, OnProcesses)
    assert set(plan.cuts_off(cluster)) == set(plan.processes_of()) == set(plan.to_json())


def test_cut_of_one_node_spares_all_others() -> None:
    """Though every one of them drops packets."""
    cluster = on_paper(specs(3, 3))
    for node in cluster.nodes:
        plan = fault(Partition).plan(cluster, [node], None, random.Random(1))
        assert set(plan.to_json()) == set(cluster.nodes)
        assert isinstance(plan, Sparing)
        assert set(plan.spares(cluster)) == set(cluster.nodes) - {node}


@given(size=st.integers(2, 9), rest=st.integers(0, 6), seed=st.integers(0, 2**32))
def test_shapes(size: int, rest: int, seed: int) -> None:
    core = [f"c{number}" for number in range(size)]
    others = [f"b{number}" for number in range(rest)]
    majority = size // 2 + 1
    for name, (least, draw) in SHAPES.items():
        if size < least:
            continue
        grudge = draw(core, others, random.Random(seed))
        pairs = {(node, source) for node, sources in grudge.items() for source in sources}
        hears = {node: {c for c in core if (node, c) not in pairs} for node in core}
        symmetric = pairs == {(source, node) for node, source in pairs}
        assert symmetric == (name != "one-way")
        if name == "halves":
            small, large = sorted({frozenset(heard) for heard in hears.values()}, key=len)
            assert small | large == set(core) and not small & large
            assert len(small) == size // 2
        if name == "one-way":
            assert not pairs & {(source, node) for node, source in pairs}
        if name == "bridge":
            assert sum(len(heard) == size for heard in hears.values()) == 1
        if name == "majorities-ring":
            assert all(majority <= len(heard) < size for heard in hears.values())
            assert len({frozenset(heard) for heard in hears.values()}) == size


def test_three_voters_have_no_ring_but_a_bridge() -> None:
    cluster = on_paper(specs(3, 3))
    drawn = {
        fault(Partition).plan(cluster, [], "c1", random.Random(seed)).shape for seed in range(200)
    }
    assert drawn == {"halves", "one-way", "bridge", "isolate-one", "isolate-leader"}
    grudge = grudges.bridge(["c1", "c2", "c3"], [], random.Random(1))
    assert sorted(map(len, grudge.values())) == [1, 1], "each side loses just the other"


def test_no_leader_no_isolated_leader() -> None:
    cluster = on_paper(specs(3, 3))
    for seed in range(100):
        plan = fault(Partition).plan(cluster, [], None, random.Random(seed))
        assert plan.shape != "isolate-leader"
    assert fault(Partition).plan(cluster, ["leader"], None, random.Random(1)).shape == "isolate-one"
    assert fault(Pause).plan(cluster, ["leader"], None, random.Random(1)).shape == "one"


def test_targets() -> None:
    cluster = on_paper(specs(5, 2))
    rng = random.Random(1)
    assert resolve(cluster, "leader", "c2", rng) == ["c2"]
    assert resolve(cluster, "followers", "c2", rng) == ["c1", "c3", "c4", "c5"]
    assert len(resolve(cluster, "minority", None, rng)) == 2
    assert len(resolve(cluster, "majority", None, rng)) == 3
    assert resolve(cluster, "brokers", None, rng) == ["b1", "b2"]
    assert resolve(cluster, "b2", None, rng) == ["b2"]
    assert resolve(on_paper(specs(4, 0)), "minority", None, rng), "half of four is no minority"
    assert len(resolve(on_paper(specs(4, 0)), "minority", None, rng)) == 1
    with pytest.raises(UsageError, match="b9"):
        resolve(cluster, "b9", None, rng)


@pytest.mark.parametrize(
    ("controllers", "brokers", "missed"), [(3, 3, (1, 1)), (5, 2, (2, 0)), (1, 5, (0, 2))]
)
def test_few_are_as_many_as_can_be_missed(
    controllers: int, brokers: int, missed: tuple[int, int]
) -> None:
    cluster = on_paper(specs(controllers, brokers))
    drawn = [resolve(cluster, "few", None, random.Random(seed)) for seed in range(20)]
    assert {(sum(n[0] == "c" for n in few), sum(n[0] == "b" for n in few)) for few in drawn} == {
        missed
    }
    assert len({tuple(few) for few in drawn}) > 1, "drawn"


def test_few_of_nodes_with_several_roles() -> None:
    both = {
        f"n{number}": NodeSpec(
            name=f"n{number}",
            roles=frozenset({"controller", "broker"}),
            ports={"client": PORT},
            votes=True,
        )
        for number in range(1, 4)
    }
    assert len(resolve(on_paper(both), "few", None, random.Random(1))) == 1
    assert fault(Kill).plan(on_paper(specs(1, 1)), ["few"], None, random.Random(1)).to_json(), (
        "nobody can be missed: one that votes"
    )


def test_the_target_decides_whom_a_partition_isolates() -> None:
    cluster = on_paper(specs(3, 1))
    plan = fault(Partition).plan(cluster, ["leader"], "c2", random.Random(0))
    assert plan.shape == "isolate-leader"
    assert {node: v["drops"] for node, v in plan.to_json().items()} == {
        "b1": ["c2"],
        "c1": ["c2"],
        "c2": ["b1", "c1", "c3"],
        "c3": ["c2"],
    }
    everybody = fault(Partition).plan(cluster, ["all"], "c2", random.Random(0))
    assert all(len(victim["drops"]) == 3 for victim in everybody.to_json().values())


def test_one_node_cannot_be_partitioned() -> None:
    with pytest.raises(UsageError, match="two nodes or more"):
        fault(Partition).plan(on_paper(specs(1, 0)), [], None, random.Random(0))
