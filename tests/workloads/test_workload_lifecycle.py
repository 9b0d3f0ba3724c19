"""The `lifecycle` workload's schedule; its brokers are shown by the runs in tests/end_to_end."""

import itertools
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from histories import CAPABILITIES, pairs

from framework.generators import clients, simulate, stagger, time_limit
from framework.history.event import Event
from framework.plugins.system import NodeSpec
from framework.plugins.workload import WorkloadOptions
from workloads.kafka.operations.brokers import broker_of
from workloads.lifecycle import (
    LAST,
    LAST_VALUES,
    LOOK_S,
    LOOKS,
    PATIENCE,
    SETTLE_NS,
    SHARED,
    TOPIC,
    Lifecycle,
    LifecycleOptions,
    keys_of,
)
from workloads.process_client import FIRST_ID

BROKERS = LifecycleOptions().brokers
KEYS = {f"broker-{FIRST_ID + number}" for number in range(BROKERS)}


class Operator:
    """Callable as a completion function: every operation works, but for a share `fail` of them."""

    def __init__(self, fail: float = 0.0) -> None:
        self.rng = random.Random(3)
        self.fail = fail

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        if op.f == "fetch":
            ends = {"high_watermark": 0, "log_start": 0, "position": 0}
            nothing = {**op.value, **ends, "records": [], "leader_epoch": 0}
            return 20_000_000, replace(op, type="ok", value=nothing)
        if op.f in ("create", "describe", "produce", "list-offsets", "unregister"):
            return 20_000_000, replace(op, type="ok")
        if op.f == "list-brokers":
            there = [{"id": each, "host": "h", "port": 1} for each in self.told(op)]
            return 20_000_000, replace(op, type="ok", value={"brokers": there})
        if self.rng.random() < self.fail:
            return 8_000_000_000, replace(op, type="info", error=("TIMED_OUT", ""))
        return self.rng.randrange(10**9, 3 * 10**9), replace(op, type="ok", value={})

    def told(self, op: Event) -> Sequence[int]:
        """Who is there, by the broker that is asked."""
        return (4, 5, 6)


NODES = tuple(
    NodeSpec(
        name=f"b{number}", roles=frozenset({"broker"}), ports={"client": 1}, ids={"broker": number}
    )
    for number in (4, 5, 6)
)


def run(
    operator: Operator,
    *,
    seed: int = 0,
    operations: int = 1500,
    workload: Lifecycle | None = None,
    nodes: Sequence[NodeSpec] = (),
) -> list[Event]:
    options = WorkloadOptions(
        seed=seed, threads=4, rate=5.0, capabilities=CAPABILITIES, nodes=nodes
    )
    generator = clients(stagger(1 / 5, (workload or Lifecycle()).generator(options)))
    return simulate(generator, threads=4, seed=seed, completion=operator, max_ops=operations)


def test_every_operation_happens_to_every_broker() -> None:
    done = Counter((op.f, str(op.key)) for op, end in pairs(run(Operator())) if end.type == "ok")
    for f in ("start", "drain", "kill", "bounce", "replace", "unregister"):
        for key in KEYS:
            assert done[f, key] >= 5, done
    assert done["create", TOPIC] == 1 and done["describe", TOPIC] > 50


def test_brokers_and_partitions_are_as_asked_for() -> None:
    workload = Lifecycle(LifecycleOptions(brokers=3, partitions=6))
    history = run(Operator(), workload=workload)
    (created,) = [e for e in history if e.f == "create" and e.type == "invoke"]
    assert len(created.value["assignment"]) == 6
    assert {tuple(sorted(each)) for each in created.value["assignment"]} == {(301, 302, 303)}
    assert {e.key for e in history if e.f == "drain"} == {f"broker-{301 + n}" for n in range(3)}


def test_one_operation_at_a_time_and_peace_between_them() -> None:
    busy: dict[object, str] = {}
    ended: dict[str, int] = {}
    for event in run(Operator(fail=0.2)):
        if event.key not in KEYS:
            continue
        assert event.time is not None
        key = str(event.key)
        if event.type == "invoke":
            assert key not in busy.values()
            assert event.time >= ended.get(key, -SETTLE_NS) + SETTLE_NS
            busy[event.process] = key
        else:
            ended[busy.pop(event.process)] = event.time


def test_what_is_down_is_started_and_what_is_not_known_restarted() -> None:
    up: dict[str, bool | None] = dict.fromkeys(KEYS, False)
    waiting, drained = dict.fromkeys(KEYS, 0), dict.fromkeys(KEYS, False)
    seen = Counter[tuple[str, int]]()
    for op, end in pairs(run(Operator(fail=0.5))):
        if op.key not in KEYS:
            continue
        key = str(op.key)
        late = "start" if 0 < waiting[key] <= PATIENCE else "restart"
        down = {"start", "unregister"} if drained[key] else {"start"}
        running = {"drain", "bounce", "replace", "kill"} if drained[key] else {"drain"}
        assert op.f in {False: down, None: {late}, True: running}[up[key]]
        seen[op.f, waiting[key]] += 1
        drained[key] |= op.f == "drain" and end.type == "ok"
        if op.f == "unregister":
            continue
        up[key] = op.f not in ("drain", "kill") if end.type == "ok" else None
        begins = {"start": waiting[key] + 1, "restart": 1}
        waiting[key] = 0 if end.type == "ok" else begins.get(op.f, 0)
    assert seen["restart", 0] > 2, "what ran is not known"
    assert seen["start", 1] > 2 and seen["start", PATIENCE] > 2, "it is waited for"
    assert seen["restart", PATIENCE + 1] > 0, "not for ever"


class Slow:
    """Processes serve 12 s after they were started, and no operation waits longer than 5 s."""

    def __init__(self) -> None:
        self.serves: dict[str, float] = {}

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        key, now = str(op.key), (op.time or 0) / 1e9
        if key not in KEYS:
            return 20_000_000, replace(op, type="ok")
        if op.f == "unregister":
            return 20_000_000, replace(op, type="ok")
        if op.f in ("restart", "drain", "kill", "bounce", "replace"):
            self.serves.pop(key, None)
        if op.f in ("drain", "kill"):
            return 10**9, replace(op, type="ok", value={})
        left = self.serves.setdefault(key, now + 12) - now
        if left <= 5:
            return round(max(0.1, left) * 1e9), replace(op, type="ok", value={})
        return 5 * 10**9, replace(op, type="info", error=("TIMED_OUT", ""))


def test_where_a_start_takes_longer_than_an_operation_it_is_waited_for() -> None:
    options = WorkloadOptions(seed=0, threads=4, rate=5.0, capabilities=CAPABILITIES)
    main = time_limit(20, stagger(1 / 5, Lifecycle().generator(options)))
    done = [
        (op.f, str(op.key))
        for op, end in pairs(simulate(clients(main), threads=4, completion=Slow()))
        if end.type == "ok"
    ]
    assert {("start", key) for key in KEYS} <= set(done)
    assert ("create", TOPIC) in done
    assert {("drain", key) for key in KEYS} <= set(done)


def test_the_topic_is_made_when_every_broker_is_there_and_each_leads_some_of_it() -> None:
    history = run(Operator())
    created = next(n for n, event in enumerate(history) if event.f == "create")
    started = {e.key for e in history[:created] if e.f == "start" and e.type == "ok"}
    assert started == KEYS
    assignment = history[created].value["assignment"]
    assert {replicas[0] for replicas in assignment} == {FIRST_ID + n for n in range(BROKERS)}
    assert all(len(replicas) == BROKERS for replicas in assignment)


def test_where_nothing_came_about_the_end_has_a_broker_with_replicas_drained() -> None:
    options = WorkloadOptions(seed=0, threads=4, rate=5.0, capabilities=CAPABILITIES)
    final = clients(Lifecycle().final_generator(options))
    history = simulate(final, threads=4, completion=Slow())
    done = [(op.f, str(op.key), end.type) for op, end in pairs(history)]
    (drain,) = [each for each in done if each[0] == "drain"]
    before = done[: done.index(drain)]
    assert {("start", key, "ok") for key in KEYS} <= set(before)
    assert before[-1] == ("create", TOPIC, "ok")
    (created,) = [event for event in history if event.f == "create" and event.type == "invoke"]
    assert any(broker_of(drain[1]) in replicas for replicas in created.value["assignment"])


def test_at_the_end_the_brokers_are_up() -> None:
    options = WorkloadOptions(seed=0, threads=4, rate=5.0, capabilities=CAPABILITIES)
    history = simulate(
        clients(Lifecycle().final_generator(options)), threads=4, completion=Operator()
    )
    up = dict.fromkeys(KEYS, False)
    for op, _ in pairs(history):
        if op.key in KEYS and op.f != "unregister":
            up[str(op.key)] = op.f == "start"
    assert all(up.values())


def test_also_where_faults_refused_every_drain_one_is_granted_at_the_end() -> None:
    options = WorkloadOptions(seed=0, threads=4, rate=5.0, capabilities=CAPABILITIES)
    history = simulate(
        clients(Lifecycle().final_generator(options)), threads=4, completion=Operator()
    )
    done = [(op.f, str(op.key)) for op, _ in pairs(history)]
    drained = next(key for f, key in done if f == "drain")
    gone = done.index(("drain", drained))
    back = done.index(("start", drained), gone)
    assert ("start", drained) in done[:gone]
    reads = [key for _, key in done[gone + 1 : back]]
    assert len(reads) == 2 and set(reads).isdisjoint(KEYS)


def test_the_seed_fixes_the_schedule() -> None:
    assert run(Operator(), seed=5) == run(Operator(), seed=5)
    assert run(Operator(), seed=5) != run(Operator(), seed=6)


# --- what is produced beside that -----------------------------------------------------------


def test_values_are_produced_all_along_to_what_the_first_broker_shares() -> None:
    history = run(Operator(), nodes=NODES)
    begun = [event for event in history if event.type == "invoke"]
    (created,) = [event for event in begun if event.key == SHARED and event.f == "create"]
    assert created.value["assignment"] == [[FIRST_ID, 4, 5], [FIRST_ID, 5, 6]]
    produced = [event for event in begun if event.f == "produce"]
    assert 0.1 < len(produced) / len(begun) < 0.5, "a modest share"
    assert {event.key for event in produced} == {f"{SHARED}/0", f"{SHARED}/1"}
    values = [event.value["value"] for event in produced]
    assert len(set(values)) == len(values)
    for event in produced:
        assert event.value["acks"] == "all" and event.value["producer"] == f"p{event.process}"
    asked = {event.key for event in begun if event.f == "list-offsets"}
    assert asked == {f"{SHARED}/0", f"{SHARED}/1"}
    drains = [pair for pair in pairs(history) if pair[0].f == "drain" and pair[1].type == "ok"]
    met = [
        drain
        for drain, end in drains
        if any((drain.time or 0) <= (each.time or 0) <= (end.time or 0) for each in produced)
    ]
    assert len(met) > len(drains) / 2


def test_the_broker_that_shares_data_is_never_replaced() -> None:
    """What it alone may have had would be gone with its disk; the others' topic has no data."""
    done = Counter((event.f, str(event.key)) for event in run(Operator(), nodes=NODES))
    assert done["replace", f"broker-{FIRST_ID}"] == 0
    assert done["replace", f"broker-{FIRST_ID + 1}"] > 5
    assert done["drain", f"broker-{FIRST_ID}"] > 5 and done["bounce", f"broker-{FIRST_ID}"] > 5


def test_nor_is_it_taken_off_the_cluster() -> None:
    """As a broker that registers anew it might have to do without what it alone had."""
    done = Counter((event.f, str(event.key)) for event in run(Operator(), nodes=NODES))
    for f in ("unregister", "kill"):
        assert done[f, f"broker-{FIRST_ID}"] == 0 < done[f, f"broker-{FIRST_ID + 1}"]


class Remembering(Operator):
    """One broker tells of another that was unregistered for some more questions."""

    def __init__(self, slow: str, questions: int) -> None:
        super().__init__()
        self.left = {slow: questions}

    def told(self, op: Event) -> Sequence[int]:
        left = self.left.get(str(op.node), 0)
        self.left[str(op.node)] = left - 1
        return (4, FIRST_ID + 1) if left > 0 else (4,)


def ending(operator: Operator, workload: Lifecycle | None = None) -> list[Event]:
    options = WorkloadOptions(seed=0, threads=4, rate=5.0, capabilities=CAPABILITIES, nodes=NODES)
    final = clients((workload or Lifecycle()).final_generator(options))
    return simulate(final, threads=4, completion=operator)


@pytest.mark.parametrize(("questions", "asked"), [(0, 1), (3, 4), (10**6, LOOKS)])
def test_in_the_end_one_is_killed_and_unregistered_and_looked_for(
    questions: int, asked: int
) -> None:
    key = f"broker-{FIRST_ID + 1}"
    history = [each for each in ending(Remembering("b5", questions)) if each.type == "invoke"]
    killed, back = (
        next(at for at, each in enumerate(history) if each.f == f and each.key == key)
        for f in ("kill", "unregister")
    )
    assert history[back - 1] == history[killed] and history[killed - 1].f == "start"
    looks = [each for each in history[back:] if each.f == "list-brokers"]
    assert Counter(each.node for each in looks) == {"b4": 1, "b5": asked, "b6": 1}
    gaps = [
        (after.time or 0) - (before.time or 0)
        for before, after in itertools.pairwise(looks)
        if before.node == after.node
    ]
    assert all(gap >= LOOK_S * 1e9 for gap in gaps)
    assert history[back + 1 : back + 1 + len(looks)] == looks, "before it is started again"
    assert ("start", key) in [(each.f, each.key) for each in history[back:]]


def test_where_there_is_but_one_extra_broker_none_is_unregistered() -> None:
    one = Lifecycle(LifecycleOptions(brokers=1))
    asked = {each.f for each in ending(Operator(), one)}
    assert asked.isdisjoint({"kill", "unregister", "list-brokers"})
    assert {"start", "drain", "fetch"} <= asked


def test_in_the_end_values_are_produced_while_a_broker_leaves_what_only_it_has_led() -> None:
    options = WorkloadOptions(seed=0, threads=4, rate=5.0, capabilities=CAPABILITIES, nodes=NODES)
    final = clients(Lifecycle().final_generator(options))
    done = list(pairs(simulate(final, threads=4, completion=Operator())))
    (drain,) = [pair for pair in done if pair[0].f == "drain"]
    shown = next(end for begin, end in done if begin.f == "describe" and begin.key == LAST)
    produced = [begin for begin, _ in done if begin.f == "produce"]
    assert {str(begin.key) for begin in produced} == {f"{LAST}/0", f"{LAST}/1"}
    assert len(produced) == LAST_VALUES
    assert (shown.time or 0) <= (drain[0].time or 0)
    assert (drain[0].time or 0) <= (produced[1].time or 0) <= (drain[1].time or 0)
    assert (produced[-1].time or 0) - (drain[0].time or 0) > 3.5e9, "longer than it may refuse"
    read = {str(begin.key) for begin, _ in done if begin.f == "fetch"}
    assert read == {f"{topic}/{number}" for topic in (SHARED, LAST) for number in (0, 1)}


def test_once_all_is_read_it_is_asked_where_it_begins_and_ends() -> None:
    options = WorkloadOptions(seed=0, threads=4, rate=5.0, capabilities=CAPABILITIES, nodes=NODES)
    final = clients(Lifecycle().final_generator(options))
    done = list(pairs(simulate(final, threads=4, completion=Operator())))
    asked = [(start, end) for start, end in done if start.f == "list-offsets"]
    read = max(end.time or 0 for start, end in done if start.f == "fetch")
    assert all((start.time or 0) >= read for start, _ in asked)
    assert sorted((str(start.key), start.value["at"]) for start, _ in asked) == sorted(
        (key, at) for key in (*keys_of(SHARED), *keys_of(LAST)) for at in ("earliest", "latest")
    )
