from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise

import pytest
from histories import assert_encodable, invocations, pairs, run
from reference_controller import ReferenceController

from framework.history.event import Event
from framework.plugins.capabilities import MEMBER_EPOCHS
from framework.plugins.workload import Workload
from workloads.isr import CHANGES_A_TOPIC, Isr, IsrOptions
from workloads.synthetic.brokers import AGAIN_NS
from workloads.topics import Topics
from workloads.zombie import Zombie

TOPIC_FS = ("create", "delete")
BROKER_IDS = (101, 102, 103)
PARTITIONS = IsrOptions().partitions


@pytest.fixture(scope="module")
def history() -> list[Event]:
    """A minute with nothing going wrong."""
    return run(Isr(), ReferenceController())


def codes(history: list[Event], f: str) -> Counter[str]:
    return Counter(
        end.error[0] if end.error else end.type for op, end in pairs(history) if op.f == f
    )


def test_brokers_register_become_active_and_keep_their_leases() -> None:
    controller = ReferenceController()
    history = run(Isr(), controller)
    assert controller.fenced == 0
    assert codes(history, "heartbeat").keys() == {"ok"}
    last: dict[str, float] = {}
    for op in invocations(history, "heartbeat"):
        assert op.time is not None
        if op.key in last and op.value["broker_epoch"] != -1:
            assert op.time - last[op.key] < 2.5e9
        last[op.key] = op.time
    assert last.keys() == {f"broker-{broker_id}" for broker_id in BROKER_IDS}


@pytest.mark.parametrize("workload", [Isr, Zombie])
@pytest.mark.parametrize("able", [True, False])
def test_members_are_named_by_epochs_where_the_system_hears_them(
    workload: type[Workload], able: bool
) -> None:
    """KIP-903: a system that does not cannot be asked so, and is not to blame for what it takes."""
    capabilities = frozenset({"linearizable-topic-read", *([MEMBER_EPOCHS] if able else [])})
    found = run(workload(), ReferenceController(), seconds=20, capabilities=capabilities)
    changes = [each.value for each in invocations(found, "alter-isr")]
    assert len(changes) > 20
    honest = [each for each in changes if each.get("zombie") is None]
    assert {epoch >= 0 for each in honest for epoch in each["isr_epochs"]} == {able}
    assert any(epoch >= 0 for each in changes for epoch in each["isr_epochs"]) is able
    assert all(len(each["isr_epochs"]) == len(each["isr"]) for each in changes)
    assert {each["broker_epoch"] >= 0 for each in changes} == {True}


class NoController(ReferenceController):
    """For 20 s nobody creates or deletes a topic, and says so at once."""

    def __init__(self, begin_s: int) -> None:
        super().__init__()
        self.begin_ns, self.end_ns = begin_s * 10**9, (begin_s + 20) * 10**9

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        if op.f in TOPIC_FS and self.begin_ns <= (op.time or 0) < self.end_ns:
            return 10**6, replace(op, type="fail", value=None, error=("NOT_CONTROLLER", ""))
        return super().__call__(op, n)


@pytest.mark.parametrize(
    ("workload", "begin_s", "fs"),
    [(Isr, 20, {"create", "delete"}), (Isr, 0, {"create"}), (Zombie, 0, {"create"})],
)
def test_topics_that_nobody_makes_now_are_asked_for_now_and_then(
    workload: type[Workload], begin_s: int, fs: set[str]
) -> None:
    controller = NoController(begin_s)
    history = run(workload(), controller, seconds=60)
    asked = [(op.time or 0, op.f, end.type) for op, end in pairs(history) if op.f in TOPIC_FS]
    assert sum(type_ == "fail" for _, _, type_ in asked) > 20, "else it shows nothing"
    for f in fs:
        refused = sorted(time for time, each, type_ in asked if (each, type_) == (f, "fail"))
        assert len(refused) > 1
        assert all(after - before >= AGAIN_NS for before, after in pairwise(refused))
        done = (time for time, each, type_ in asked if (each, type_) == (f, "ok"))
        again = min(time for time in done if time >= controller.end_ns)
        assert again - controller.end_ns < 4 * AGAIN_NS


@pytest.mark.parametrize("workload", [Isr, Zombie])
def test_topics_are_read_as_the_system_can(workload: type[Workload]) -> None:
    """What changes is the read; ISRs are changed all the same."""
    linearizable, committed = (
        run(workload(), ReferenceController(), seconds=20, capabilities=frozenset({capability}))
        for capability in ("linearizable-topic-read", "committed-topic-read")
    )
    assert not invocations(linearizable, "follow")
    assert not invocations(committed, "describe")
    renamed = [replace(each, f="describe") if each.f == "follow" else each for each in committed]
    assert renamed == linearizable
    assert len([each for each in pairs(committed) if each[1].f == "alter-isr"]) > 50


def test_nobody_asks_for_the_isr_that_there_is() -> None:
    """One system makes a version of it, another none."""
    controller = ReferenceController(lose=0.2)
    shown: dict[str, tuple[int, set[int]]] = {}
    asked = 0
    for op, end in pairs(run(Isr(IsrOptions(brokers=2)), controller)):
        if op.f == "alter-isr":
            version, isr = shown.get(op.key, (-1, set()))
            asked += version == op.value["partition_epoch"]
            assert (version, isr) != (op.value["partition_epoch"], set(op.value["isr"]))
            if end.type == "ok":
                shown[op.key] = end.value["partition_epoch"], set(end.value["isr"])
    assert asked > 20


@pytest.mark.parametrize(
    ("workload", "heard"),
    [(Isr, {"absent"}), (Topics, {"present", "absent"}), (Zombie, {"stale"})],
)
def test_how_a_system_spells_its_refusals_changes_nothing(
    workload: type[Workload], heard: set[str]
) -> None:
    as_kafka, otherwise = (
        run(workload(), ReferenceController(2, lose=0.3, spelt=spelt), seed=2)
        for spelt in (str, lambda code: f"E{len(code)}")
    )
    assert heard <= {end.asserts for _, end in pairs(as_kafka)}
    assert [replace(each, error=None) for each in otherwise] == [
        replace(each, error=None) for each in as_kafka
    ]


def test_first_heartbeats_register_a_process_of_its_own() -> None:
    history = run(Isr(), ReferenceController(), seconds=5)
    first = {op.key: op.value for op in reversed(invocations(history, "heartbeat"))}
    assert {value["broker_epoch"] for value in first.values()} == {-1}
    assert len({value["incarnation"] for value in first.values()}) == len(BROKER_IDS)


def test_leaders_change_the_isr_with_what_they_know(history: list[Event]) -> None:
    done = codes(history, "alter-isr")
    assert done["ok"] >= 400
    assert done["INVALID_UPDATE_VERSION"] >= 50
    assert done.keys() == {"ok", "INVALID_UPDATE_VERSION"}
    for op in invocations(history, "alter-isr"):
        assert op.value["isr"][0] == op.value["broker_id"]
        assert set(op.value["isr"]) <= set(BROKER_IDS)
        assert op.value["zombie"] is None
    sizes = Counter(len(op.value["isr"]) for op in invocations(history, "alter-isr"))
    assert min(sizes[size] for size in (1, 2, 3)) >= 20


def test_several_threads_try_the_same_version_and_one_wins(history: list[Event]) -> None:
    rivals = 0
    winners: defaultdict[tuple[str, int], int] = defaultdict(int)
    open_: dict[object, tuple[str, str, int]] = {}
    for event in history:
        if event.type != "invoke":
            open_.pop(event.process, None)
        elif event.f == "alter-isr":
            attempt = (event.key, event.value["topic_id"], event.value["partition_epoch"])
            rivals += attempt in open_.values()
            open_[event.process] = attempt
    for op, end in pairs(history):
        if op.f == "alter-isr" and end.type == "ok":
            winners[op.key, op.value["partition_epoch"]] += 1
    assert rivals >= 50
    assert set(winners.values()) == {1}


def test_topics_take_turns_and_the_old_ones_are_deleted(history: list[Event]) -> None:
    assert codes(history, "create")["ok"] >= 3
    assert codes(history, "delete")["ok"] >= 2
    for op in invocations(history, "create"):
        assert sorted(map(sorted, op.value["assignment"])) == [list(BROKER_IDS)] * PARTITIONS
    per_topic = Counter(op.key.split("/")[0] for op in invocations(history, "alter-isr"))
    assert max(per_topic.values()) <= CHANGES_A_TOPIC + 4


def test_brokers_and_partitions_are_as_asked_for() -> None:
    history = run(Isr(IsrOptions(brokers=4, partitions=2)), ReferenceController(), seconds=20)
    created = invocations(history, "create")[0]
    assert created.value == {"assignment": [[101, 102, 103, 104], [102, 103, 104, 101]]}
    assert {op.value["broker_id"] for op in invocations(history, "heartbeat")} == {*range(101, 105)}


def test_brokers_that_were_fenced_come_back_under_a_new_epoch() -> None:
    class Fencing(ReferenceController):
        """Fences 101 once, in the middle, and gives its id a new epoch behind its back once."""

        def __call__(self, op: Event, n: int) -> tuple[int, Event]:
            if n == 300:
                self.fence(101)
            if n == 500:
                self.fence(102)
                self.brokers[102].epoch = self._next()
            return super().__call__(op, n)

    controller = Fencing()
    history = run(Isr(), controller)
    assert codes(history, "heartbeat")["STALE_BROKER_EPOCH"] >= 1
    assert [controller.brokers[each].state for each in BROKER_IDS] == ["active"] * 3
    refused = codes(history, "alter-isr")
    assert refused.keys() & {"STALE_BROKER_EPOCH", "FENCED_LEADER_EPOCH", "INELIGIBLE_REPLICA"}
    late = [op for op, end in pairs(history) if op.f == "alter-isr" and end.type == "ok"][-50:]
    assert {op.value["broker_id"] for op in late} & {101, 102, 103}
    epochs = {broker_id: controller.brokers[broker_id].epoch for broker_id in BROKER_IDS}
    assert {op.value["broker_epoch"] for op in late} <= set(epochs.values())


@pytest.mark.parametrize("seed", range(4))
def test_lost_answers_do_not_stop_the_work(seed: int) -> None:
    history = run(Isr(), ReferenceController(seed, lose=0.1), seed=seed)
    done = [op.f for op, end in list(pairs(history))[-200:] if end.type == "ok"]
    assert done.count("alter-isr") >= 30, Counter(done)


def test_every_operation_is_a_request_that_a_node_can_read() -> None:
    assert_encodable(run(Isr(), ReferenceController(lose=0.05)))


def test_the_seed_fixes_the_schedule() -> None:
    runs = [run(Isr(), ReferenceController(), seed=seed, seconds=10) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(
    ("brokers", "capabilities", "configs"),
    [
        (3, {"topic-configs"}, [["min.insync.replicas", "2"]]),
        (2, {"topic-configs"}, None),
        (3, set(), None),
    ],
)
def test_topics_ask_for_two_in_sync_where_they_can(
    brokers: int, capabilities: set[str], configs: list[list[str]] | None
) -> None:
    able = frozenset({"linearizable-topic-read", *capabilities})
    workload = Isr(IsrOptions(brokers=brokers))
    history = run(workload, ReferenceController(), seconds=10, capabilities=able)
    assert [op.value.get("configs") for op in invocations(history, "create")] == [configs]
