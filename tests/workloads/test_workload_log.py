"""The `log` workload's schedule, against an in-memory log."""

import itertools
import random
from collections import Counter, defaultdict
from dataclasses import replace

import pytest
from histories import pairs

from framework.generators import Context, clients, simulate, stagger
from framework.history.event import Event
from framework.plugins.capabilities import ELECTIONS, REASSIGNMENTS, REPLICA_READS, REPLICA_REPORTS
from framework.plugins.outcomes import NEEDLESS, OUT_OF_RANGE, PRESENT
from framework.plugins.system import NodeSpec
from framework.plugins.workload import WorkloadOptions
from workloads.base import ATTEMPTS, COMMITTED_READ, LINEARIZABLE_READ
from workloads.log import (
    ELECT_EVERY_NS,
    FINAL_CONSUMER,
    LOOKS,
    MOVE_EVERY_NS,
    PEACE_S,
    REPORT_EVERY_NS,
    AtRest,
    Log,
    LogOperations,
    LogOptions,
    final_fetches,
)

MOST_RECORDS = 10
TOPICS, KEYS = LogOptions().names, LogOptions().keys


class ReferenceLog:
    """Callable as a completion function: partitions as lists. `lose`: the share of operations
    whose answer is lost, half of them after they took effect. `forget`: at this operation every
    partition loses its newer half, as after an unclean election."""

    def __init__(self, *, lose: float = 0.0, forget: int = -1) -> None:
        self.rng = random.Random(1)
        self.lose, self.forget = lose, forget
        self.logs: dict[str, list[int]] = defaultdict(list)
        self.starts: dict[str, int] = defaultdict(int)
        self.topics: set[str] = set()

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        if n == self.forget:
            for log in self.logs.values():
                del log[len(log) // 2 :]
            self.starts.clear()
        lost = self.rng.random() < self.lose and op.f != "seek"
        unknown = replace(op, type="info", value=None, error=("CLIENT_TIMED_OUT", ""))
        if lost and self.rng.random() < 0.5:
            return 2_000_000_000, unknown
        done = self._do(op)
        return (2_000_000_000, unknown) if lost else (self.rng.randrange(10**6, 10**8), done)

    def _do(self, op: Event) -> Event:
        key = str(op.key)
        log = self.logs[key]
        if op.f == "create":
            if key in self.topics:
                return refused(op, PRESENT)
            self.topics.add(key)
            return replace(op, type="ok", value={"topic_id": "t"})
        if op.f == "produce":
            log.append(op.value["value"])
            return replace(op, type="ok", value={**op.value, "offset": len(log) - 1})
        if op.f == "list-offsets":
            offset = self.starts[key] if op.value["at"] == "earliest" else len(log)
            return replace(op, type="ok", value={"offset": offset})
        if op.f == "delete-records":
            if not self.starts[key] < op.value["before"] < len(log):
                return refused(op, "")
            self.starts[key] = op.value["before"]
            return replace(op, type="ok", value={**op.value, "low_watermark": op.value["before"]})
        if op.f == "seek":
            return replace(op, type="ok")
        return self._fetch(op, log, self.starts[key])

    def _fetch(self, op: Event, log: list[int], start: int) -> Event:
        at = op.value["from"]
        if not start <= at <= len(log):
            return refused(op, OUT_OF_RANGE)
        records = [[at + n, value] for n, value in enumerate(log[at : at + MOST_RECORDS])]
        value = {
            "records": records,
            "high_watermark": len(log),
            "log_start": start,
            "position": at + len(records),
            "leader_epoch": 0,
        }
        return replace(op, type="ok", value=value)


def refused(op: Event, asserts: str) -> Event:
    """In a spelling that no system has."""
    return replace(op, type="fail", value=None, error=("NO", ""), ext={"asserts": asserts})


def run(
    log: ReferenceLog, *, seed: int = 0, operations: int = 2000, workload: Log | None = None
) -> list[Event]:
    options = WorkloadOptions(seed=seed, threads=4, rate=50.0)
    generator = clients(stagger(1 / 50, (workload or Log()).generator(options)))
    return simulate(generator, threads=4, seed=seed, completion=log, max_ops=operations)


def test_every_kind_of_operation_happens_and_values_are_unique() -> None:
    history = run(ReferenceLog())
    seen = Counter((op.f, end.type) for op, end in pairs(history))
    assert seen["produce", "ok"] > 500 and seen["fetch", "ok"] > 300, seen
    assert seen["list-offsets", "ok"] > 50 and seen["seek", "ok"] > 10, seen
    produced = [e.value for e in history if e.type == "invoke" and e.f == "produce"]
    assert len({each["value"] for each in produced}) == len(produced)
    assert {each["acks"] for each in produced} == {"all", "1", "0"}
    assert all(each["acks"] == "all" for each in produced if each["idempotent"])
    assert {str(e.key) for e in history if e.f == "produce"} == set(KEYS)


def test_topics_partitions_and_replicas_are_as_asked_for() -> None:
    asked = LogOptions(topics=3, partitions=5, replicas=1)
    history = run(ReferenceLog(), workload=Log(asked), operations=1000)
    created = {e.key: e.value for e in history if e.type == "invoke" and e.f == "create"}
    assert set(created) == {"log-0", "log-1", "log-2"}
    assert list(created.values()) == [{"partitions": 5, "replication": 1}] * 3
    assert {str(e.key) for e in history if e.f == "produce"} == set(asked.keys)
    assert len(asked.keys) == 15


def test_every_other_topic_asks_for_two_in_sync_replicas_of_three() -> None:
    created = LogOptions(topics=3).created(brokers=3)
    assert {name: each.to_json().get("configs") for name, each in created.items()} == {
        "log-0": [["min.insync.replicas", "2"]],
        "log-1": None,
        "log-2": [["min.insync.replicas", "2"]],
    }


@pytest.mark.parametrize(("replicas", "brokers"), [(2, 3), (3, 2), (1, 1), (3, 0)])
def test_where_one_broker_that_is_gone_would_stop_all_no_topic_asks_for_two(
    replicas: int, brokers: int
) -> None:
    created = LogOptions(replicas=replicas).created(brokers).values()
    assert [each.configs for each in created] == [None, None]


def test_the_topics_are_asked_for_as_the_cluster_can_hold_them() -> None:
    nodes = [NodeSpec(name=f"b{n}", roles=frozenset({"broker"}), ports={}) for n in (1, 2, 3)]
    options = WorkloadOptions(seed=0, threads=4, rate=50.0, nodes=nodes)
    generator = clients(stagger(1 / 50, Log().generator(options)))
    history = simulate(generator, threads=4, seed=0, completion=ReferenceLog(), max_ops=100)
    asked = {
        e.key: e.value.get("configs") for e in history if e.f == "create" and e.type == "invoke"
    }
    assert asked == {"log-0": [["min.insync.replicas", "2"]], "log-1": None}


def test_nothing_is_produced_before_the_topics_are_there() -> None:
    history = run(ReferenceLog(lose=0.2))
    first = next(n for n, event in enumerate(history) if event.f == "produce")
    created = {e.key for e in history[:first] if e.f == "create" and e.type == "ok"}
    existing = {e.key for e in history[:first] if e.f == "create" and e.type == "fail"}
    assert created | existing == set(TOPICS)


def test_a_consumer_goes_on_from_where_it_was_and_waits_for_its_answer() -> None:
    position: dict[tuple[str, str], int] = {}
    reading: dict[object, tuple[str, str]] = {}
    moves = 0
    for event in run(ReferenceLog(lose=0.1)):
        if event.f not in ("fetch", "seek"):
            continue
        if event.type == "invoke":
            reader = (event.value["consumer"], str(event.key))
            assert reader not in reading.values()
            reading[event.process] = reader
            if event.f == "fetch":
                assert event.value["from"] == position.get(reader, 0)
            continue
        reader = reading.pop(event.process)
        if event.type == "ok":
            moves += 1
            position[reader] = event.value["position" if event.f == "fetch" else "to"]
    assert moves > 300


def test_a_consumer_whose_position_is_gone_begins_anew() -> None:
    history = run(ReferenceLog(forget=1500), operations=3000)
    lost = [end for _, end in pairs(history) if end.asserts == OUT_OF_RANGE]
    assert lost
    after: dict[object, int] = defaultdict(int)
    gone: set[object] = set()
    for op, end in pairs(history):
        reader = (op.key, op.value.get("consumer")) if op.f in ("fetch", "seek") else None
        if reader in gone:
            assert op.f == "seek"
        gone = gone - {reader} | ({reader} if end.asserts == OUT_OF_RANGE else set())
        after[reader] = op.index if end.type == "ok" else after[reader]
    last = max(op.index for op, _ in pairs(history))
    assert all(at > last - 300 for reader, at in after.items() if reader), "they get on"


def test_the_final_reads_come_to_the_end_of_every_partition() -> None:
    log = ReferenceLog()
    run(log)
    history = simulate(
        clients(final_fetches(KEYS)), threads=3, seed=1, completion=log, max_ops=10**4
    )
    assert all(log.starts[key] for key in KEYS)
    read: dict[str, list[int]] = defaultdict(list)
    for op, end in pairs(history):
        assert op.f == "list-offsets" or op.value["consumer"] == FINAL_CONSUMER
        if op.f == "fetch":
            assert end.type == "ok" or (op.value["from"], end.asserts) == (0, OUT_OF_RANGE)
            read[str(end.key)] += [value for _, value in (end.value or {}).get("records", ())]
    assert dict(read) == {key: log.logs[key][log.starts[key] :] for key in KEYS}
    of_one = [op.f for op, _ in pairs(history) if op.key == KEYS[0]]
    assert of_one[:4] == ["fetch", "list-offsets", "seek", "fetch"]
    assert set(of_one[4:]) <= {"fetch"}


def test_the_final_reads_end_though_nothing_can_be_read() -> None:
    history = simulate(
        clients(final_fetches(KEYS)), threads=3, completion=ReferenceLog(lose=1.0), max_ops=10**4
    )
    assert 0 < len(history) <= 2 * 3 * len(KEYS)


def test_the_final_reads_end_though_they_do_not_get_on() -> None:
    """A leader says that there is more, and gives nothing."""
    log = ReferenceLog()
    run(log)

    def completion(invoked: Event, n: int) -> tuple[int, Event]:
        latency, end = log(invoked, n)
        if end.type != "ok" or invoked.f != "fetch":
            return latency, end
        start = invoked.value["from"]
        return latency, replace(end, value={**end.value, "records": [], "position": start})

    history = simulate(
        clients(final_fetches(KEYS)), threads=3, seed=1, completion=completion, max_ops=10**4
    )
    tries = Counter(str(op.key) for op, _ in pairs(history) if op.f == "fetch")
    begun_late = {key: log.starts[key] > 0 for key in KEYS}
    assert tries == {key: begun_late[key] + (ATTEMPTS if log.logs[key] else 1) for key in KEYS}
    assert any(log.logs.values())


def test_the_final_reads_end_though_a_log_begins_nowhere() -> None:
    """A leader has nothing at where it says that it begins."""
    log = ReferenceLog()

    def completion(invoked: Event, n: int) -> tuple[int, Event]:
        latency, end = log(invoked, n)
        return latency, refused(invoked, OUT_OF_RANGE) if invoked.f == "fetch" else end

    history = simulate(
        clients(final_fetches(KEYS)), threads=3, completion=completion, max_ops=10**4
    )
    tries = Counter(op.f for op, _ in pairs(history))
    assert tries["fetch"] == ATTEMPTS * len(KEYS)


# --- deleted records ----------------------------------------------------------------------


def deletes(options: LogOptions) -> list[Event]:
    history = run(ReferenceLog(), operations=3000, workload=Log(options))
    found = [(op, end) for op, end in pairs(history) if op.f == "delete-records"]
    assert {end.type for _, end in found} <= {"ok"}
    return [op for op, _ in found]


def test_the_oldest_records_are_deleted_now_and_then() -> None:
    """Half of what is committed at most, further each time: the reference holds it against its
    logs."""
    asked = deletes(LogOptions())
    gaps = [after.time - before.time for before, after in itertools.pairwise(asked)]
    assert len(asked) > 12 and min(gaps) >= 3_000_000_000
    assert {str(each.key) for each in asked} == set(KEYS)
    assert len(deletes(LogOptions(delete_every_s=1.0))) > 2 * len(asked)
    assert deletes(LogOptions(delete_every_s=0)) == []


@pytest.mark.parametrize("every", [-1.0, float("inf"), float("nan")])
def test_a_time_between_deletes_is_a_number_of_seconds(every: float) -> None:
    with pytest.raises(ValueError, match=r"delete_every_s=.*: it is a number of seconds"):
        LogOptions(delete_every_s=every)


# --- other replicas -----------------------------------------------------------------------

BROKERS = [
    NodeSpec(name=f"b{n}", roles=frozenset({"broker"}), ports={}, ids={"broker": n})
    for n in (4, 5, 6)
]


def movable(nodes: list[NodeSpec] = BROKERS, *capabilities: str) -> WorkloadOptions:
    able = frozenset(capabilities or {REASSIGNMENTS})
    return WorkloadOptions(seed=0, threads=4, rate=50.0, nodes=nodes, capabilities=able)


def moving(options: WorkloadOptions, workload: Log | None = None) -> list[Event]:
    """The wishes for other replicas of 40 s."""
    generator = clients(stagger(1 / 50, (workload or Log()).generator(options)))
    log = ReferenceLog()

    def completion(invoked: Event, n: int) -> tuple[int, Event]:
        if invoked.f == "reassign":
            return 10**7, replace(invoked, type="ok", value=None)
        return log(invoked, n)

    history = simulate(generator, threads=4, seed=0, completion=completion, max_ops=2000)
    return [each for each in history if each.f == "reassign" and each.type == "invoke"]


def test_partitions_are_given_other_replicas_all_along() -> None:
    wishes = moving(movable())
    assert len(wishes) > 20
    moves = [each for each in wishes if each.value["replicas"] is not None]
    gaps = [after.time - before.time for before, after in itertools.pairwise(moves)]
    assert min(gaps) >= MOVE_EVERY_NS
    assert {str(each.key) for each in wishes} == set(KEYS)
    wanted = [each.value["replicas"] for each in wishes]
    placed = [each for each in wanted if each is not None]
    assert {len(each) for each in placed} == {2, 3}
    assert all(len(set(each)) == len(each) for each in placed)
    assert {broker for each in placed for broker in each} == {4, 5, 6}
    assert 0 < wanted.count(None) < len(placed)
    undone = [each for each in wishes if each.value["replicas"] is None]
    before = [wishes[wishes.index(each) - 1] for each in undone]
    assert all(after.time - wish.time < 10**8 for wish, after in zip(before, undone, strict=True))
    never = set(KEYS[1:])  # of these it is known where they are to be in the end
    assert not never & {str(each.key) for each in wishes if each.value["replicas"] is None}
    assert never <= {str(each.key) for each in wishes if each.value["replicas"]}


@pytest.mark.parametrize(
    ("options", "workload"),
    [
        (movable(BROKERS, "data-plane"), Log()),
        (movable(BROKERS[:2]), Log()),
        (movable(), Log(LogOptions(moves=False))),
        (movable(), Log(LogOptions(replicas=1))),
    ],
)
def test_where_they_cannot_be_moved_or_are_not_to_be(
    options: WorkloadOptions, workload: Log
) -> None:
    assert moving(options, workload) == []


# --- preferred leaders --------------------------------------------------------------------


def electing(
    answer: Event, workload: Log | None = None, *capabilities: str, broken: str = ""
) -> tuple[list[Event], list[Event]]:
    """The elections of 40 s, and the invocations of all; reads of `broken` fail. `answer`: of an
    election."""
    able = movable(BROKERS, *(capabilities or (ELECTIONS, REASSIGNMENTS)))
    generator = clients(stagger(1 / 50, (workload or Log()).generator(able)))
    log = ReferenceLog()

    def completion(invoked: Event, n: int) -> tuple[int, Event]:
        if invoked.f == "reassign":
            return 10**7, replace(invoked, type="ok", value=None)
        if invoked.f == "elect":
            return 10**7, replace(answer, process=invoked.process, key=invoked.key)
        if invoked.f == "fetch" and invoked.key == broken:
            return 10**7, replace(invoked, type="fail", value=None, error=("NO", ""))
        return log(invoked, n)

    history = simulate(generator, threads=4, seed=0, completion=completion, max_ops=2000)
    asked = [each for each in history if each.type == "invoke"]
    return [each for each in asked if each.f == "elect"], asked


DONE = Event(type="ok", process=0, f="elect")
UNNEEDED = replace(DONE, type="fail", error=("NO", ""), ext={"asserts": NEEDLESS})
UNABLE = replace(DONE, type="fail", error=("NO", ""))


def test_preferred_leaders_are_elected_all_along() -> None:
    elections, _ = electing(DONE)
    assert len(elections) > 12
    gaps = [after.time - before.time for before, after in itertools.pairwise(elections)]
    assert min(gaps) >= ELECT_EVERY_NS
    assert {str(each.key) for each in elections} == set(KEYS)
    assert {each.value for each in elections} == {None}


def test_half_of_them_are_of_partitions_that_may_need_it() -> None:
    """One cannot be read, and no replicas are changed."""
    elections, _ = electing(UNABLE, None, ELECTIONS, broken=KEYS[1])
    of_it = sum(each.key == KEYS[1] for each in elections)
    assert len(elections) > 12
    assert len(elections) / 2 < of_it < len(elections), "and of others, too"


@pytest.mark.parametrize("answer", [DONE, UNNEEDED])
def test_what_the_first_replica_leads_needs_none(answer: Event) -> None:
    """Until it is touched again: of one that is all there was, nothing is asked any more."""
    able, _ = electing(UNABLE, Log(LogOptions(topics=1, partitions=1)), ELECTIONS, broken="log-0/0")
    own, asked = electing(answer, Log(LogOptions(topics=1, partitions=1)), ELECTIONS)
    assert len(able) > 12 and not own and len(asked) > 1000
    operations = LogOperations(options=LogOptions(), elects=True, displaced=frozenset(KEYS[:2]))
    context = Context(time=0, threads=frozenset(), free=frozenset(), processes={}, seed=0)
    after = operations.update(context, replace(answer, key=KEYS[0]))
    assert isinstance(after, LogOperations) and after.displaced == {KEYS[1]}
    unable = operations.update(context, replace(UNABLE, key=KEYS[0]))
    assert isinstance(unable, LogOperations) and unable.displaced == set(KEYS[:2])


@pytest.mark.parametrize("capability", [ELECTIONS, "data-plane"])
def test_before_the_last_reads_new_leaders_know_what_is_committed(capability: str) -> None:
    """Each is asked for its latest offset until it tells, or has been asked often enough."""
    log, tries = ReferenceLog(), Counter[str]()

    def completion(invoked: Event, n: int) -> tuple[int, Event]:
        tries[str(invoked.key)] += invoked.f == "list-offsets"
        if tries[KEYS[0]] == 1 and invoked.key == KEYS[0]:
            return 10**7, replace(invoked, type="fail", value=None, error=("NO", ""))
        return log(invoked, n)

    final = Log().final_generator(movable(BROKERS, capability))
    history = simulate(clients(final), threads=3, completion=completion, max_ops=100)
    first = [(str(op.key), op.value) for op, _ in pairs(history) if op.f == "list-offsets"]
    last = max((end.index for _, end in pairs(history) if end.f == "list-offsets"), default=0)
    fetched = [op.index for op, _ in pairs(history) if op.f == "fetch"]
    wanted = [*KEYS, KEYS[0]] if capability == ELECTIONS else []
    assert sorted(first) == sorted((key, {"at": "latest"}) for key in wanted)
    assert len(fetched) == len(KEYS) and min(fetched) > last - bool(not wanted)


@pytest.mark.parametrize(
    ("capability", "workload"),
    [
        (REASSIGNMENTS, Log()),
        (ELECTIONS, Log(LogOptions(elections=False))),
        (ELECTIONS, Log(LogOptions(replicas=1))),
    ],
)
def test_where_leaders_cannot_be_elected_or_are_not_to_be(capability: str, workload: Log) -> None:
    assert electing(DONE, workload, capability, broken=KEYS[0])[0] == []


@pytest.mark.parametrize(("busy", "looks"), [(3, 4), (10**6, LOOKS)])
def test_in_the_end_moves_are_waited_for(busy: int, looks: int) -> None:
    """Until nothing is under way, or patience is over; then the reads go on."""

    def completion(invoked: Event, n: int) -> tuple[int, Event]:
        under_way = [{"key": "log-0/0"}] if n < busy else []
        return 10**6, replace(invoked, type="ok", value=under_way)

    history = simulate(clients(AtRest()), threads=3, completion=completion, max_ops=10**3)
    asked = [each for each in history if each.type == "invoke"]
    assert [each.f for each in asked] == ["reassignments"] * looks
    gaps = [after.time - before.time for before, after in itertools.pairwise(asked)]
    assert min(gaps) >= PEACE_S * 1e9


# --- what brokers tell of their replicas --------------------------------------------------


def reporting(*capabilities: str, final: bool = False) -> list[Event]:
    """The questions of 40 s, or of the end."""
    options = movable(BROKERS, *capabilities)
    workload = Log(LogOptions(moves=False))
    log = ReferenceLog()

    def completion(invoked: Event, n: int) -> tuple[int, Event]:
        if invoked.f in ("log-dirs", "producers"):
            return 10**7, replace(invoked, type="ok", value=[])
        if invoked.f in ("describe", "metadata"):
            return 10**7, replace(invoked, type="ok", value=None)
        return log(invoked, n)

    made = workload.final_generator(options) if final else workload.generator(options)
    generator = clients(stagger(1 / 50, made))
    history = simulate(generator, threads=4, seed=0, completion=completion, max_ops=2000)
    return [each for each in history if each.f in ("log-dirs", "producers")]


def test_brokers_by_turns_and_leaders_are_asked_of_their_replicas() -> None:
    asked = [each for each in reporting(REPLICA_REPORTS) if each.type == "invoke"]
    assert [each.f for each in asked] == [
        ("log-dirs", "producers")[n % 2] for n in range(len(asked))
    ]
    gaps = [after.time - before.time for before, after in itertools.pairwise(asked)]
    assert len(asked) > 12 and min(gaps) >= REPORT_EVERY_NS
    of_logs, of_producers = asked[::2], asked[1::2]
    turns = itertools.cycle(["b4", "b5", "b6"])
    assert [each.node for each in of_logs] == [next(turns) for _ in of_logs]
    assert all(each.key is None and each.value == {"keys": KEYS} for each in of_logs)
    assert len({str(each.key) for each in of_producers}) > 1
    assert {str(each.key) for each in of_producers} <= set(KEYS)
    assert all(each.value is None and each.node is None for each in of_producers)


def test_in_the_end_all_are_asked_of_their_replicas() -> None:
    asked = [each for each in reporting(REPLICA_REPORTS, final=True) if each.type == "invoke"]
    of_logs = [each.node for each in asked if each.f == "log-dirs"]
    assert of_logs == ["b4", "b5", "b6"] * 2
    assert [each.key for each in asked if each.f == "producers"] == KEYS


@pytest.mark.parametrize("final", [False, True])
def test_a_system_that_tells_nothing_of_replicas_is_not_asked(final: bool) -> None:
    assert reporting("data-plane", final=final) == []


@pytest.mark.parametrize("capability", [REPLICA_READS, REPLICA_REPORTS])
def test_in_the_end_each_broker_is_asked_for_its_replicas_where_they_answer(
    capability: str,
) -> None:
    log = ReferenceLog()
    log.logs = defaultdict(list, {key: [1, 2, 3] for key in KEYS})

    def completion(invoked: Event, n: int) -> tuple[int, Event]:
        if invoked.f in ("log-dirs", "producers", "describe", "metadata"):
            return 10**7, replace(invoked, type="fail", value=None, error=("X", ""))
        if invoked.f == "replica-fetch":
            told = {"records": [], "high_watermark": 3, "log_start": 0, "position": 3}
            return 10**7, replace(invoked, type="ok", value=told)
        return log(invoked, n)

    generator = clients(Log().final_generator(movable(BROKERS, capability)))
    history = simulate(generator, threads=3, completion=completion, max_ops=10**4)
    asked = [each for each in history if each.f == "replica-fetch" and each.type == "invoke"]
    every = {(node, key) for node in ("b4", "b5", "b6") for key in KEYS}
    assert {(each.node, each.key) for each in asked} == (
        every if capability == REPLICA_READS else set()
    )
    last = max((each.time for each in history if each.f == "fetch"), default=0)
    assert all(each.time > last for each in asked), "before the final reads"


def test_the_seed_fixes_the_schedule() -> None:
    assert run(ReferenceLog(), seed=5) == run(ReferenceLog(), seed=5)
    assert run(ReferenceLog(), seed=5) != run(ReferenceLog(), seed=6)


def test_a_generator_is_a_value() -> None:
    assert LogOperations(options=LogOptions()) == LogOperations(options=LogOptions())


@pytest.mark.parametrize(
    ("capabilities", "followed"),
    [
        ((REASSIGNMENTS, COMMITTED_READ), ["log-0", "log-1"] * 2),
        ((COMMITTED_READ,), []),  # nothing is moved
        ((REASSIGNMENTS,), []),
        ((REASSIGNMENTS, COMMITTED_READ, LINEARIZABLE_READ), []),  # final reads tell it
    ],
)
def test_in_the_end_the_committed_log_tells_where_what_was_moved_is(
    capabilities: tuple[str, ...], followed: list[str]
) -> None:
    def completion(invoked: Event, n: int) -> tuple[int, Event]:
        if invoked.f == "follow":
            return 10**7, replace(invoked, type="ok", value=None)
        if invoked.f == "reassignments":
            return 10**7, replace(invoked, type="ok", value=[])
        return 10**7, replace(invoked, type="fail", value=None, error=("X", ""))

    generator = clients(Log().final_generator(movable(BROKERS, *capabilities)))
    history = simulate(generator, threads=3, completion=completion, max_ops=10**4)
    asked = [each.key for each in history if each.f == "follow" and each.type == "invoke"]
    assert asked == followed
