"""What a machine's loss of power may take along, and whom it meets."""

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from echoes import on_paper, specs
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import EngineError, UsageError
from framework.plugins.fault import Drastic, LosesData
from framework.plugins.system import Unforced
from nemesis.power import DiskLost, Power, PowerCut, PowerOptions, left_after

FAULT = Power().faults[0]


@st.composite
def files(draw: st.DrawFn) -> list[Unforced]:
    paths = draw(st.lists(st.text("ab/-0", min_size=1, max_size=4), unique=True, max_size=5))
    found = []
    for path in paths:
        forced = draw(st.integers(0, 200))
        found.append(Unforced(path, forced, forced + draw(st.integers(0, 200))))
    return found


@given(kept=files(), draw=st.integers(0, 2**32 - 1))
def test_nothing_that_was_forced_is_lost(kept: list[Unforced], draw: int) -> None:
    left = left_after(kept, draw)
    assert left.keys() <= {each.path for each in kept}
    for each in kept:
        assert each.forced <= left.get(each.path, each.size) <= each.size
        assert each.path not in left or left[each.path] < each.size, "a loss of nothing is none"


@given(kept=files(), draw=st.integers(0, 2**32 - 1), data=st.data())
def test_what_a_file_loses_depends_on_the_draw_and_on_no_other_file(
    kept: list[Unforced], draw: int, data: st.DataObject
) -> None:
    some = data.draw(st.permutations(kept))[: len(kept) // 2]
    left = left_after(kept, draw)
    assert left_after(some, draw) == {
        each.path: left[each.path] for each in some if each.path in left
    }


def test_every_byte_may_be_the_last_one() -> None:
    """Within a batch, too; all that was not forced, or nothing of it."""
    log = Unforced("log", 3, 9)
    drawn = [left_after([log], draw).get("log", log.size) for draw in range(400)]
    assert set(drawn) == set(range(3, 10))
    two = [left_after([log, replace(log, path="other")], draw) for draw in range(100)]
    assert any(each.get("log") != each.get("other") for each in two), "each for itself"


def test_by_itself_it_meets_one_node_that_has_something_to_lose() -> None:
    cluster = on_paper(specs(3, 3))
    plans = [FAULT.plan(cluster, [], "c1", random.Random(seed)) for seed in range(30)]
    assert {frozenset(each.to_json()) for each in plans} == {
        frozenset({"b1"}),
        frozenset({"b2"}),
        frozenset({"b3"}),
    }
    assert {each.shape for each in plans} == {"one"}
    assert len({each.to_json()[node]["draw"] for each in plans for node in each.to_json()}) > 20


def test_who_loses_data_is_who_has_some() -> None:
    cluster = on_paper(specs(3, 2))
    plan = FAULT.plan(cluster, ["all"], "c1", random.Random(1))
    assert isinstance(plan, LosesData)
    assert set(plan.to_json()) == set(cluster.nodes)
    assert set(plan.loses_data(cluster)) == {"b1", "b2"}
    assert list(plan.keeps_data(cluster)) == []
    (fault,) = Power(PowerOptions(loses="disk")).faults
    for some in (
        FAULT.plan(cluster, ["b2"], "c1", random.Random(1)),
        fault.plan(cluster, ["b2"], "c1", random.Random(1)),
    ):
        assert isinstance(some, LosesData)
        assert list(some.keeps_data(cluster)) == ["b1"], "controllers have no such data"


def test_whoever_has_something_to_lose_is_met_where_the_aim_missed_them() -> None:
    cluster = on_paper(specs(3, 3))
    plans = [FAULT.plan(cluster, ["one"], "c1", random.Random(seed)) for seed in range(30)]
    assert {each for plan in plans for each in plan.to_json()} == {"b1", "b2", "b3"}


@pytest.mark.parametrize("aim", ["controllers", "leader", "followers", "minority", "c1"])
def test_power_of_nodes_that_can_lose_nothing_is_refused(aim: str) -> None:
    system, nodes = on_paper({}).system, list(specs(3, 2).values())
    with pytest.raises(UsageError, match=f"power of {aim}: .* aim at b1, b2, or use kill"):
        Power().check_system(system, nodes, ["all", aim])
    with pytest.raises(UsageError, match=f"power of {aim}: "):
        Power(PowerOptions(target=aim)).check_system(system, nodes, ["brokers"])
    Power(PowerOptions(loses="disk")).check_system(system, nodes, [aim])


@pytest.mark.parametrize("aims", [[], ["one", "few", "all", "brokers", "b2"]])
def test_power_of_nodes_that_can_lose_something_is_not_refused(aims: list[str]) -> None:
    Power().check_system(on_paper({}).system, list(specs(3, 2).values()), aims)


def test_power_of_combined_nodes_is_not_refused() -> None:
    roles = frozenset({"controller", "broker"})
    combined = [replace(each, roles=roles) for each in specs(3, 0).values()]
    Power().check_system(on_paper({}).system, combined, ["leader", "minority", "controllers", "c1"])


def test_it_is_none_of_all() -> None:
    assert isinstance(Power(), Drastic)


def test_a_system_that_does_not_say_what_is_lost_loses_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nemesis.kill._kill", lambda cluster, node: 1)
    silent: Any = SimpleNamespace(name="silent")
    cluster = replace(on_paper(specs(1, 1)), system=silent)
    plan = PowerCut("one", "act", {"b1": "node.pid"}, draws={"b1": 1})
    assert list(plan.loses_data(cluster)) == []
    with pytest.raises(EngineError, match="silent does not say what a node may lose"):
        plan.inject(cluster)


def test_a_disk_that_is_lost_is_planned_and_read_back() -> None:
    (fault,) = Power(PowerOptions(loses="disk")).faults
    cluster = on_paper(specs(3, 3))
    plan = fault.plan(cluster, ["brokers"], "c1", random.Random(1))
    assert isinstance(plan, DiskLost)
    assert set(plan.loses_data(cluster)) == {"b1", "b2", "b3"}
    numbers = set(plan.draws.values())
    assert len(numbers) == 3 and 0 not in numbers, "the first disk is 0"
    assert fault.from_json(plan.shape, plan.to_json()) == plan
    again = fault.plan(cluster, ["brokers"], "c1", random.Random(1))
    assert again == plan


def test_a_system_that_does_not_say_what_is_on_an_empty_disk_keeps_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nemesis.kill._kill", lambda cluster, node: 1)
    silent: Any = SimpleNamespace(name="silent")
    cluster = replace(on_paper(specs(1, 1)), system=silent)
    plan = DiskLost("one", "act", {"b1": "node.pid"}, draws={"b1": 1})
    with pytest.raises(EngineError, match="silent does not say what is on an empty disk"):
        plan.inject(cluster)
