from collections import Counter
from dataclasses import replace

import pytest
from histories import CAPABILITIES, assert_encodable, invocations, pairs, run
from reference_controller import ReferenceController

from framework.generators import clients, simulate
from framework.history.event import Event
from framework.plugins.capabilities import FEATURE_LEVELS
from framework.plugins.system import NodeSpec
from framework.plugins.workload import WorkloadOptions
from workloads.topics import (
    CONFIGS,
    FEATURE_TYPES,
    MOST_OPERATIONS,
    MOST_UNKNOWN,
    Topics,
    TopicsOptions,
)

LIVE_NAMES = TopicsOptions().live_names


@pytest.fixture(scope="module")
def history() -> list[Event]:
    """A minute with nothing going wrong."""
    return run(Topics(), ReferenceController())


def test_every_operation_happens_and_meets_both_states_of_a_topic(history: list[Event]) -> None:
    seen = Counter((op.f, end.type) for op, end in pairs(history))
    for f in ("create", "delete"):
        assert seen[f, "ok"] >= 100 and seen[f, "fail"] >= 100, seen
    reads = Counter((op.f, end.value is None) for op, end in pairs(history) if end.type == "ok")
    for f in ("describe", "metadata"):
        assert reads[f, True] >= 50 and reads[f, False] >= 50, reads


def test_every_operation_is_a_request_that_a_node_can_read() -> None:
    assert_encodable(run(Topics(), ReferenceController()))


def test_without_a_linearizable_read_the_cache_is_read() -> None:
    history = run(Topics(), ReferenceController(), seconds=20, capabilities=frozenset())
    assert {event.f for event in history} == {"create", "delete", "metadata"}


def test_some_creates_ask_for_a_configuration_where_brokers_show_it() -> None:
    asked = [event.value for event in invocations(run(Topics(), ReferenceController()), "create")]
    assert not [each for each in asked if "configs" in each]
    able = frozenset({"linearizable-topic-read", "topic-configs"})
    history = run(Topics(), ReferenceController(), capabilities=able)
    configured = [event.value.get("configs") for event in invocations(history, "create")]
    assert [{**event.value, "configs": 0} for event in invocations(history, "create")] == [
        {**each, "configs": 0} for each in asked
    ]
    assert {name for each in configured for name, _ in each or ()} == set(CONFIGS)
    assert len(configured) / 4 < configured.count(None) < len(configured) * 3 / 4


class Leveled(ReferenceController):
    """One of a feature whose level rises, and never falls."""

    level = 1

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        if op.f == "features":
            feature = {"name": "f", "level": self.level, "lowest": 1, "highest": 2}
            return 10**6, replace(op, type="ok", value={"epoch": n, "features": [feature]})
        if op.f == "update-feature":
            asked = op.value
            rises = asked["type"] == "upgrade" and self.level <= asked["level"] <= 2
            if not rises:
                return 10**6, replace(op, type="fail", value=None, error=("NO", ""))
            self.level = self.level if asked.get("dry") else asked["level"]
            return 10**6, replace(op, type="ok", value=None)
        return super().__call__(op, n)


def test_levels_of_features_are_asked_for_and_raised_where_there_are_any() -> None:
    """And lowered in vain, and raised beyond what there is."""
    able = CAPABILITIES | {FEATURE_LEVELS}
    history = run(Topics(), Leveled(), seconds=600, capabilities=able)
    seen = Counter((op.f, end.type) for op, end in pairs(history))
    assert seen["features", "ok"] > 50, seen
    assert seen["update-feature", "ok"] > 20 and seen["update-feature", "fail"] > 5, seen
    wishes = [event.value for event in invocations(history, "update-feature")]
    assert {each["type"] for each in wishes} == set(FEATURE_TYPES)
    assert {each["level"] for each in wishes} == {0, 1, 2, 3}
    assert any("dry" in each for each in wishes)
    first = next(event.f for event in history if event.f in ("features", "update-feature"))
    assert first == "features", "it knows no feature before"


def test_in_the_end_each_broker_is_asked_for_levels() -> None:
    nodes = [
        NodeSpec(name=name, roles=frozenset({"broker"}), ports={"client": 1})
        for name in ("b1", "b2")
    ]
    for able, asked in ((CAPABILITIES, []), (CAPABILITIES | {FEATURE_LEVELS}, ["b1", "b2"])):
        options = WorkloadOptions(seed=0, threads=2, rate=1, nodes=nodes, capabilities=able)
        final = clients(Topics().final_generator(options))
        history = simulate(final, threads=2, completion=Leveled(), max_ops=100)
        assert [each.node for each in invocations(history, "features")] == asked


def test_names_are_few_at_a_time_and_retire() -> None:
    history = run(Topics(), ReferenceController(), seconds=300)
    names = [event.key for event in history if event.type == "invoke"]
    assert max(Counter(names).values()) <= MOST_OPERATIONS
    assert len(set(names)) >= len(names) / MOST_OPERATIONS
    last = {name: position for position, name in enumerate(names)}
    first = {name: names.index(name) for name in last}
    for position in range(len(names)):
        assert sum(first[name] <= position <= last[name] for name in last) <= LIVE_NAMES


def test_operations_on_one_name_overlap(history: list[Event]) -> None:
    open_keys: dict[object, str] = {}
    together = 0
    for event in history:
        if event.type == "invoke":
            together += event.key in open_keys.values()
            open_keys[event.process] = event.key
        else:
            del open_keys[event.process]
    assert together >= 50


def test_a_name_with_too_many_unknown_operations_retires() -> None:
    history = run(Topics(), ReferenceController(lose=0.5), seconds=120)
    unknown = Counter(op.key for op, end in pairs(history) if end.type == "info")
    assert max(unknown.values()) >= MOST_UNKNOWN / 2  # else this test tests nothing
    # Those under way when it retires may still end unknown.
    assert max(unknown.values()) <= MOST_UNKNOWN + 4


@pytest.mark.parametrize("other_seed, same", [(5, True), (6, False)])
def test_the_seed_fixes_the_schedule(other_seed: int, same: bool) -> None:
    first = run(Topics(), ReferenceController(), seed=5, seconds=10)
    second = run(Topics(), ReferenceController(), seed=other_seed, seconds=10)
    assert (invocations(first, "create") == invocations(second, "create")) is same
    assert (first == second) is same


def test_names_and_partitions_are_as_asked_for() -> None:
    asked = TopicsOptions(live_names=2, partitions=7, replicas=1)
    history = run(Topics(asked), ReferenceController(), seconds=20)
    created = [event.value for event in invocations(history, "create")]
    assert {each["partitions"] for each in created} == {*range(1, 8)}
    assert {each["replication"] for each in created} == {1}
    assert len({event.key for event in history[:60]}) == 2


AT_REST = TopicsOptions(rest_after_s=20.0)


@pytest.mark.parametrize("capabilities", [CAPABILITIES, CAPABILITIES | {FEATURE_LEVELS}])
def test_topics_that_rest_are_read_and_left_as_they_are(capabilities: frozenset[str]) -> None:
    """From that time on; before it, it is the workload that never rests."""
    rested, other = (
        [
            event
            for event in run(Topics(each), Leveled(), seconds=60, capabilities=capabilities)
            if event.type == "invoke"
        ]
        for each in (AT_REST, TopicsOptions())
    )
    assert rested[0].time is not None
    since_ns = rested[0].time + 20 * 10**9
    before = [event for event in rested if (event.time or 0) < since_ns]
    assert before == other[: len(before)]
    assert {"create", "delete"} <= {event.f for event in before}
    after = rested[len(before) :]
    assert len(after) > 600
    assert {event.f for event in after} == {"describe", "metadata"}
    names = Counter(event.key for event in after)
    assert len(names) == LIVE_NAMES, "none of them retires"
    assert names.keys() <= {event.key for event in before}


def test_a_rest_that_begins_at_once_waits_for_names() -> None:
    able = CAPABILITIES | {FEATURE_LEVELS}
    for seed in range(40):
        options = TopicsOptions(rest_after_s=1e-6)
        history = run(Topics(options), Leveled(), seed=seed, seconds=3, capabilities=able)
        assert {"describe", "metadata"} <= {event.f for event in history}
