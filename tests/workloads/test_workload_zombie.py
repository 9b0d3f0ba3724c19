from collections import Counter, defaultdict

import pytest
from histories import assert_encodable, invocations, pairs, run
from reference_controller import ReferenceController

from framework.history.event import Event
from workloads.zombie import Zombie

BROKER_IDS = (201, 202, 203)


@pytest.fixture(scope="module")
def history() -> list[Event]:
    """A minute with nothing going wrong."""
    return run(Zombie(), ReferenceController())


def zombies(history: list[Event]) -> list[tuple[Event, Event]]:
    return [
        (op, end)
        for op, end in pairs(history)
        if op.f in ("heartbeat", "alter-isr") and op.value["zombie"] is not None
    ]


def kind(op: Event) -> tuple[str, str, str, str]:
    (number,) = op.value.get("stale", ("",))
    return op.f, op.value["zombie"], number, op.value.get("target", "")


ALL_KINDS = {
    *(
        ("heartbeat", why, "broker_epoch", target)
        for why in ("replaced", "killed", "paused", "left")
        for target in ("active", "leaving")
    ),
    *(
        ("alter-isr", why, number, "")
        for why in ("replaced", "killed", "paused", "left")
        for number in ("broker_epoch", "isr_epochs")
    ),
    *(("alter-isr", why, "", "") for why in ("fenced", "leaving")),
    ("heartbeat", "replay", "broker_epoch", "active"),
    ("alter-isr", "replay", "leader_epoch", ""),
    ("alter-isr", "replay", "partition_epoch", ""),
}


def test_zombies_of_every_kind_come_back_and_are_refused(history: list[Event]) -> None:
    seen = Counter(kind(op) for op, _ in zombies(history))
    assert set(seen) == ALL_KINDS
    assert min(seen.values()) >= 5, seen
    assert {end.type for _, end in zombies(history)} == {"fail"}


def test_even_a_slow_run_has_dozens_of_zombies() -> None:
    history = run(Zombie(), ReferenceController(), threads=2, seconds=25)
    assert len(zombies(history)) >= 36


@pytest.mark.parametrize("seed", range(4))
def test_even_a_slow_run_tries_members_of_either_kind(seed: int) -> None:
    """Former lives as well as those that are out of service, of whom there always is one."""
    history = run(Zombie(), ReferenceController(), threads=2, seconds=25, seed=seed)
    seen = Counter(kind(op) for op, _ in zombies(history))
    former = sum(count for each, count in seen.items() if each[2] == "isr_epochs")
    out = sum(count for each, count in seen.items() if each[1] in ("fenced", "leaving"))
    assert min(former, out) >= 15, seen


def test_honest_work_goes_on_beside_them(history: list[Event]) -> None:
    honest = Counter(
        (op.f, end.type)
        for op, end in pairs(history)
        if op.f not in ("heartbeat", "alter-isr") or op.value["zombie"] is None
    )
    assert honest["alter-isr", "ok"] >= 150, honest
    assert honest["heartbeat", "ok"] >= 60, honest
    assert honest["describe", "ok"] >= 20, honest


def test_each_broker_has_several_lives_under_rising_epochs(history: list[Event]) -> None:
    lives: defaultdict[int, list[str]] = defaultdict(list)
    epochs: defaultdict[int, list[int]] = defaultdict(list)
    for op, end in pairs(history):
        if op.f == "heartbeat" and op.value["zombie"] is None and end.type == "ok":
            lives[op.value["broker_id"]].append(op.value["incarnation"])
            epochs[op.value["broker_id"]].append(end.value["broker_epoch"])
    assert lives.keys() == set(BROKER_IDS)
    assert all(len(set(each)) >= 2 for each in lives.values())
    assert sum(len(set(each)) for each in lives.values()) >= 12
    assert all(each == sorted(each) for each in epochs.values())


@pytest.mark.parametrize("lose", [0.0, 0.1])
@pytest.mark.parametrize("seed", range(3))
def test_only_what_is_certainly_stale_is_called_a_zombie(seed: int, lose: float) -> None:
    """Judged from the history alone: the newer generation was acknowledged before."""
    history = run(Zombie(), ReferenceController(seed, lose=lose), seed=seed)
    broker_epoch: defaultdict[int, int] = defaultdict(lambda: -1)
    leader_epoch: defaultdict[tuple[str, int], int] = defaultdict(lambda: -1)
    version: defaultdict[tuple[str, int], int] = defaultdict(lambda: -1)
    open_: dict[object, Event] = {}
    judged = 0

    def acknowledged(topic_id: str, number: int, shown: dict[str, int]) -> None:
        at = (topic_id, number)
        leader_epoch[at] = max(leader_epoch[at], shown["leader_epoch"])
        version[at] = max(version[at], shown["partition_epoch"])

    for event in history:
        if event.type == "invoke":
            open_[event.process] = event
            value = event.value
            if event.f not in ("heartbeat", "alter-isr") or value["zombie"] is None:
                continue
            judged += 1
            at = (value.get("topic_id"), value.get("partition"))
            newest = {
                "broker_epoch": broker_epoch[value["broker_id"]],
                "leader_epoch": leader_epoch[at],
                "partition_epoch": version[at],
            }
            for name in value.get("stale", ()):
                if name == "isr_epochs":
                    named = zip(value["isr"], value["isr_epochs"], strict=True)
                    assert any(epoch < broker_epoch[member] for member, epoch in named), event
                else:
                    assert value[name] < newest[name], event
            continue
        asked = open_.pop(event.process)
        if event.type != "ok":
            continue
        if asked.f == "heartbeat":
            broker_id = asked.value["broker_id"]
            broker_epoch[broker_id] = max(broker_epoch[broker_id], event.value["broker_epoch"])
        elif asked.f == "alter-isr":
            acknowledged(asked.value["topic_id"], asked.value["partition"], event.value)
        elif asked.f == "describe" and event.value is not None:
            for each in event.value["partitions"]:
                acknowledged(event.value["topic_id"], each["partition"], each)
    assert judged >= 100
    likely = Counter(end.type for op, end in zombies(history) if "stale" not in op.value)
    assert "ok" not in {end.type for op, end in zombies(history) if "stale" in op.value}
    assert likely["ok"] <= (likely.total() // 5 if lose else 0), "what is lost may be done later"
    assert likely["fail"] >= 20


@pytest.mark.parametrize(
    "fence", ["broker_epoch", "leader_epoch", "partition_epoch", "isr_epochs", "members"]
)
def test_a_controller_without_a_fence_accepts_some_of_them(fence: str) -> None:
    """Nothing but the one number is wrong with a good share of the zombies."""
    history = run(Zombie(), ReferenceController(ignore={fence}))
    accepted = [op for op, end in zombies(history) if end.type == "ok"]
    assert len(accepted) >= 5
    if fence == "members":
        assert {op.value["zombie"] for op in accepted} == {"fenced", "leaving"}
        return
    # A controller that takes a zombie's heartbeat may have the broker in service again.
    assert {kind(op)[2] for op in accepted} - {""} == {fence}
    if fence == "broker_epoch":
        assert {op.f for op in accepted} == {"heartbeat", "alter-isr"}


@pytest.mark.parametrize("seed", range(4))
def test_lost_answers_do_not_stop_the_work(seed: int) -> None:
    history = run(Zombie(), ReferenceController(seed, lose=0.1), seed=seed)
    late = list(pairs(history))[-300:]
    assert sum(op.f == "alter-isr" and end.type == "ok" for op, end in late) >= 20
    assert sum(op.f == "alter-isr" and op.value["zombie"] is not None for op, _ in late) >= 40


def test_every_operation_is_a_request_that_a_node_can_read() -> None:
    assert_encodable(run(Zombie(), ReferenceController(lose=0.05)))


def test_replays_are_sent_as_they_were(history: list[Event]) -> None:
    sent = [
        op.value for op in invocations(history, "heartbeat", "alter-isr") if not op.value["zombie"]
    ]
    replays = 0
    for op, _ in zombies(history):
        if op.value["zombie"] == "replay" and op.f == "heartbeat":
            request = {name: each for name, each in op.value.items() if name != "stale"}
            assert {**request, "zombie": None} in sent
            replays += 1
    assert replays >= 20


def test_the_seed_fixes_the_schedule() -> None:
    runs = [run(Zombie(), ReferenceController(), seed=seed, seconds=20) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]
