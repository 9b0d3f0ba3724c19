import itertools
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from histories import CAPABILITIES, RATE, assert_encodable, invocations, pairs, run
from reference_controller import ReferenceController

from framework.generators import clients, simulate, stagger
from framework.history.event import Event, Invocation
from framework.plugins.capabilities import (
    ASKED_CONTROLLERS,
    CHANGING_CONFIGS,
    CONFIGS_AT_ANY_BROKER,
    DRY_RUNS,
    FEATURE_LEVELS,
    LOWERED_LEVELS,
    TOPICS_ON_DEMAND,
)
from framework.plugins.system import NodeSpec
from framework.plugins.workload import WorkloadOptions
from workloads import topics
from workloads.kafka.operations.configurations import ALL_BROKERS
from workloads.topics import (
    BROKER_CONFIGS,
    CONFIGS,
    FEATURE_TYPES,
    FIRST_ON_DEMAND,
    MOST_ON_DEMAND,
    MOST_OPERATIONS,
    MOST_UNKNOWN,
    NEVER_MADE,
    ONLY_TRIED,
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


class Lowered(ReferenceController):
    """One whose levels rise and fall."""

    def __init__(self) -> None:
        super().__init__()
        self.levels = {"f": 1, "g": 0, "metadata.version": 7}

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        if op.f == "features":
            told = [
                {"name": name, "level": level or None, "lowest": 0, "highest": 8}
                for name, level in self.levels.items()
            ]
            return 10**6, replace(op, type="ok", value={"epoch": n, "features": told})
        if op.f == "update-feature":
            if not 0 <= op.value["level"] <= 8:
                return 10**6, replace(op, type="fail", value=None, error=("NO", ""))
            if not op.value.get("dry"):
                self.levels[str(op.key)] = op.value["level"]
            return 10**6, replace(op, type="ok", value=None)
        return super().__call__(op, n)


def test_where_levels_fall_they_do_but_for_those_by_which_rules_go() -> None:
    able = CAPABILITIES | {LOWERED_LEVELS}
    history = run(Topics(), Lowered(), seconds=600, capabilities=able)
    wishes = list(invocations(history, "update-feature"))
    tried = [each for each in wishes if each.key in ONLY_TRIED]
    assert len(tried) > 10 and all(each.value["dry"] for each in tried)
    free = [each for each in wishes if each.key not in ONLY_TRIED]
    real = [each for each in free if "dry" not in each.value]
    assert {each.key for each in real} == {"f", "g"}
    assert len(real) > len(tried)
    assert {each.value["type"] for each in real} >= {"upgrade", "safe-downgrade"}
    levels = [each.value["level"] for each in real if each.key == "f"]
    assert any(after < before for before, after in itertools.pairwise(levels))
    assert any(after > before for before, after in itertools.pairwise(levels))
    assert history == run(Topics(), Lowered(), seconds=600, capabilities=able)


def test_in_the_end_each_broker_is_asked_for_levels() -> None:
    nodes = [
        NodeSpec(name=name, roles=frozenset({"broker"}), ports={"client": 1})
        for name in ("b1", "b2")
    ]
    for more, asked in ((), []), ({FEATURE_LEVELS}, ["b1", "b2"]), ({LOWERED_LEVELS}, ["b1", "b2"]):
        able = CAPABILITIES | frozenset(more)
        options = WorkloadOptions(seed=0, threads=2, rate=1, nodes=nodes, capabilities=able)
        final = clients(Topics().final_generator(options))
        history = simulate(final, threads=2, completion=Leveled(), max_ops=100)
        assert [each.node for each in invocations(history, "features")] == asked


class Configurable(Leveled):
    """One that takes each change of what there is."""

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        if op.f == "configure" and op.key not in self.topics:
            return 10**6, replace(op, type="fail", value=None, error=("NO", ""))
        if op.f in ("configure", "configure-broker"):
            kind = "info" if n % 7 == 0 else "ok"
            return 10**6, replace(
                op, type=kind, value=None, error=("NO", "") if n % 7 == 0 else None
            )
        if op.f in ("describe-configs", "describe-broker-configs"):
            return 10**6, replace(op, type="ok", value={"configs": []})
        return super().__call__(op, n)


NODES = [
    NodeSpec(
        name=f"n{number}",
        roles=frozenset({role}),
        ports={"client": 1},
        ids={role: number},
    )
    for number, role in ((1, "controller"), (4, "broker"), (5, "broker"), (6, "broker"))
]
OWN = {"n4": "broker-4", "n5": "broker-5", "n6": "broker-6"}


@cache
def configured(*capabilities: str, nodes: int = len(NODES)) -> list[Event]:
    """Two minutes."""
    options = WorkloadOptions(
        seed=0,
        threads=4,
        rate=RATE,
        nodes=NODES[:nodes],
        capabilities=CAPABILITIES | {"topic-configs", *capabilities},
    )
    generator = clients(stagger(1 / RATE, Topics().generator(options)))
    return simulate(generator, threads=4, completion=Configurable(), max_ops=round(120 * RATE))


def test_configurations_of_live_names_are_changed_whatever_is_there() -> None:
    """So that a replay asks for the same."""
    history = configured(CHANGING_CONFIGS)
    ends = Counter(end.type for op, end in pairs(history) if op.f == "configure")
    assert ends["ok"] > 80 and ends["fail"] > 80, ends
    asked = [event.value for event in invocations(history, "configure")]
    given = [each for value in asked for each in value.get("set", ())]
    gone = [each for value in asked for each in value.get("delete", ())]
    assert {name for name, _ in given} == set(gone) == set(CONFIGS)
    assert 1.5 < len(given) / len(gone) < 4
    assert all(CONFIGS[name][0] <= int(value) <= CONFIGS[name][1] for name, value in given)
    assert {len(value) for value in asked} == {1, 2}, "both at once, now and then"
    assert all(names == sorted(set(names)) for names in map(names_of, asked))


def names_of(change: dict[str, Any]) -> list[str]:
    return sorted([*(name for name, _ in change.get("set", ())), *change.get("delete", ())])


class Lost(Configurable):
    """Of each change the fate is unknown."""

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        if op.f == "configure":
            return 10**6, replace(op, type="info", value=None, error=("NO", ""))
        return super().__call__(op, n)


def test_changes_of_unknown_fate_retire_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no part of what is searched for a linearization."""
    monkeypatch.setattr(topics, "CHANGE_SHARE", 0.6)
    able = CAPABILITIES | {CHANGING_CONFIGS}
    history = run(Topics(), Lost(), seconds=120, capabilities=able)
    lost = Counter(op.key for op, end in pairs(history) if end.type == "info")
    assert max(lost.values()) > 2 * MOST_UNKNOWN


@pytest.mark.parametrize("anywhere", [False, True])
def test_configurations_of_brokers_are_changed_at_others_where_that_can_be(anywhere: bool) -> None:
    able = [CHANGING_CONFIGS, *([CONFIGS_AT_ANY_BROKER] if anywhere else [])]
    every = invocations(configured(*able), "configure-broker")
    of_all = [event for event in every if event.key == ALL_BROKERS]
    assert 0.1 < len(of_all) / len(every) < 0.5
    assert all(event.node is None for event in of_all), "whoever is asked"
    asked = [event for event in every if event.key != ALL_BROKERS]
    at = Counter((event.key, event.node) for event in asked)
    own = {(key, node) for node, key in OWN.items()}
    others = {(key, node) for key in OWN.values() for node in OWN} - own
    assert at.keys() == (others if anywhere else own)
    assert min(at.values()) > 3
    given = [each for event in every for each in event.value.get("set", ())]
    assert {name for name, _ in given} == set(BROKER_CONFIGS)
    for name, value in given:
        assert BROKER_CONFIGS[name][0] <= int(value) <= BROKER_CONFIGS[name][1]


def test_a_broker_that_is_alone_is_asked_itself() -> None:
    asked = invocations(
        configured(CHANGING_CONFIGS, CONFIGS_AT_ANY_BROKER, nodes=2), "configure-broker"
    )
    assert {(event.key, event.node) for event in asked} == {("broker-4", "n4"), ("brokers", None)}


def test_what_cannot_be_changed_is_not() -> None:
    assert not invocations(configured(CONFIGS_AT_ANY_BROKER), "configure", "configure-broker")


@pytest.mark.parametrize("able", [False, True])
def test_in_the_end_brokers_and_topics_that_were_changed_tell_their_configurations(
    able: bool,
) -> None:
    workload = Topics()
    capabilities = CAPABILITIES | ({CHANGING_CONFIGS} if able else set())
    options = WorkloadOptions(
        seed=0, threads=2, rate=1, nodes=NODES, capabilities=frozenset(capabilities)
    )
    for f, value in (("create", {"partitions": 1}), ("configure", {"delete": ["segment.bytes"]})):
        workload._started(Invocation(process=0, f=f, key=f"{f}d", value=value))
    final = clients(workload.final_generator(options))
    history = simulate(final, threads=2, completion=Configurable(), max_ops=100)
    asked = invocations(history, "describe-broker-configs")
    wanted = [*OWN.items(), *((node, ALL_BROKERS) for node in OWN)] if able else []
    assert [(event.node, event.key) for event in asked] == wanted
    assert [event.key for event in invocations(history, "describe-configs")] == ["configured"]


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


def test_topics_that_are_made_on_demand_have_their_own_names_and_stay() -> None:
    able = CAPABILITIES | {TOPICS_ON_DEMAND}
    history = run(Topics(), ReferenceController(), seconds=120, capabilities=able)
    assert_encodable(history)
    asked = [event for event in history if event.type == "invoke"]
    names = [
        event.key for event in asked if event.f == "create" and (event.value or {}).get("on_demand")
    ]
    assert names == [f"on-demand-{number}" for number in range(MOST_ON_DEMAND)]
    uses = Counter(event.f for event in asked if event.key in names)
    assert uses.keys() == {"create", "describe", "metadata"}
    assert uses["create"] == MOST_ON_DEMAND and min(uses.values()) > 10, uses
    others = run(Topics(), ReferenceController(), seconds=120)
    assert not [event for event in others if str(event.key).startswith("on-demand")]


@pytest.mark.parametrize("seed", range(5))
def test_also_a_short_run_has_a_topic_that_is_made_on_demand(seed: int) -> None:
    able = CAPABILITIES | {TOPICS_ON_DEMAND}
    history = run(Topics(), ReferenceController(), seed=seed, seconds=5, capabilities=able)
    asked = [event.key for event in history if event.type == "invoke"][: FIRST_ON_DEMAND + 1]
    assert "on-demand-0" in asked


class Askable(ReferenceController):
    """One whose controllers answer clients."""

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        if op.f in ("dry-create", "controller-dry-create"):
            return 10**6, replace(op, type="ok", value={"exists": op.key in self.topics})
        if op.f == "controller-configs":
            return 10**6, replace(op, type="ok", value=None)
        return super().__call__(op, n)


ASKS = {
    "brokers alone": ({DRY_RUNS}, {"dry-create"}),
    "controllers": (
        {DRY_RUNS, ASKED_CONTROLLERS},
        {"dry-create", "controller-dry-create", "controller-configs"},
    ),
    "nobody": (set[str](), set[str]()),
}


@pytest.mark.parametrize(("able", "kinds"), ASKS.values(), ids=ASKS)
def test_controllers_are_asked_for_names_that_live_and_that_nobody_makes(
    able: set[str], kinds: set[str]
) -> None:
    history = run(Topics(), Askable(), seconds=300, capabilities=CAPABILITIES | able)
    assert_encodable(history)
    asked = invocations(history, "dry-create", "controller-dry-create", "controller-configs")
    assert {event.f for event in asked} == kinds
    share = len(asked) / len([event for event in history if event.type == "invoke"])
    assert not kinds or 0.06 < share < 0.1
    tried = [event for event in asked if event.f != "controller-configs"]
    never = [event for event in tried if event.key in NEVER_MADE]
    assert not tried or len(never) > 0.15 * len(tried)
    assert all("partitions" in event.value for event in tried)
    exists = Counter(end.value["exists"] for op, end in pairs(history) if op in tried)
    assert not tried or min(exists[True], exists[False]) > 0.2 * len(tried)
    made = {event.key for event in invocations(history, "create", "delete", "describe")}
    assert not made.intersection(NEVER_MADE)


@pytest.mark.parametrize("able", [False, True])
def test_in_the_end_somebody_looks_for_what_nobody_made(able: bool) -> None:
    capabilities = CAPABILITIES | ({DRY_RUNS} if able else set[str]())
    options = WorkloadOptions(seed=0, threads=2, rate=1, capabilities=capabilities)
    final = clients(Topics().final_generator(options))
    history = simulate(final, threads=2, completion=ReferenceController(), max_ops=100)
    looked = [event.key for event in invocations(history, "describe")]
    assert looked == (list(NEVER_MADE) if able else [])


@pytest.mark.parametrize(
    "capabilities",
    [CAPABILITIES, CAPABILITIES | {FEATURE_LEVELS}, CAPABILITIES | {CHANGING_CONFIGS}],
)
def test_topics_that_rest_are_read_and_left_as_they_are(capabilities: frozenset[str]) -> None:
    """From that time on; before it, it is the workload that never rests."""
    rested, other = (
        [
            event
            for event in run(Topics(each), Configurable(), seconds=60, capabilities=capabilities)
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
