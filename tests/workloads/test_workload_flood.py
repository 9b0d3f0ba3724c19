"""Floods of the `log` workload: their turns in a schedule, and what a broker is sent."""

import fcntl
import json
import resource
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from histories import pairs
from loopback_server import CLOSE
from test_workload_log import ReferenceLog
from test_workload_log_client import Broker, cluster

from framework.generators import clients as on_clients
from framework.generators import simulate, stagger
from framework.history.event import Event, Invocation
from framework.plugins.capabilities import DATA_FLOODS
from framework.plugins.system import NodeSpec
from framework.plugins.workload import WorkloadOptions
from workloads.kafka import flood_client, flooder
from workloads.kafka.batches import values_in
from workloads.kafka.flood_client import (
    OTHER_FILES,
    VALUE,
    FloodClient,
    Lateness,
    NoFlood,
    _may_open,
)
from workloads.kafka.flooder import BEGUN, Target, started
from workloads.kafka.log_client import LogClient
from workloads.kafka.operations.floods import Flood, Flooded
from workloads.log import FLOODED, QUIET, Log, LogOptions

OPTIONS = LogOptions(flood=7, flood_s=2.0)
SPECS = [
    NodeSpec(name=f"b{number}", roles=frozenset({"broker"}), ports={"client": 1}, ids={})
    for number in range(3)
]


# --- the schedule


class FloodedLog(ReferenceLog):
    """A flood takes the time that it should, and topics may go."""

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        if op.f == "delete":
            self.topics.remove(str(op.key))
            return 1_000_000, replace(op, type="ok")
        if op.f != "flood":
            return super().__call__(op, n)
        return round(op.value["seconds"] * 1e9), replace(op, type="ok")


def history(options: LogOptions, operations: int = 1500) -> list[Event]:
    reported = WorkloadOptions(seed=1, threads=4, rate=50.0, nodes=SPECS)
    generator = on_clients(stagger(1 / 50, Log(options).generator(reported)))
    return simulate(generator, threads=4, seed=1, completion=FloodedLog(), max_ops=operations)


def test_floods_take_turns_with_times_without_one() -> None:
    floods = [(op, end) for op, end in pairs(history(OPTIONS)) if op.f == "flood"]
    assert len(floods) > 3
    ended = 0
    for op, end in floods:
        assert op.value == {"connections": 7, "seconds": 2.0}
        quiet_s = (op.time - ended) / 1e9
        assert QUIET * 2.0 <= quiet_s < QUIET * 2.0 + 0.5
        ended = end.time
    assert len({op.process for op, _ in floods}) == 1


def test_others_go_on_beside_a_flood() -> None:
    done = list(pairs(history(OPTIONS)))
    (flood, over), *_ = [(op, end) for op, end in done if op.f == "flood"]
    beside = {op.f for op, _ in done if flood.time <= op.time <= over.time}
    assert {"produce", "fetch"} <= beside


def test_the_flooded_topic_has_a_partition_for_each_broker_and_no_other_use() -> None:
    events = [each for each in history(OPTIONS) if each.type == "invoke"]
    (created,) = [each for each in events if each.f == "create" and each.key == FLOODED]
    assert created.value == {"partitions": 3, "replication": 1}
    keys = {str(each.key).partition("/")[0] for each in events if each.f in ("produce", "fetch")}
    assert keys == set(OPTIONS.names)


def test_a_topic_of_its_own_is_made_for_each_flood_and_deleted_right_behind_it() -> None:
    done = list(pairs(history(replace(OPTIONS, flood_anew=True))))
    own = [(op, end) for op, end in done if op.f == "flood" or op.key == FLOODED]
    turns = [op.f for op, _ in own]
    assert turns == (["create", "flood", "delete"] * len(turns))[: len(turns)]
    assert len(turns) > 6
    assert own[0][0].value == {"partitions": 3, "replication": 1}
    for (_, before), (op, _) in pairwise(own):
        pause_s = (op.time - before.time) / 1e9
        quiet_s = QUIET * 2.0 if op.f == "create" else 0.0
        assert quiet_s <= pause_s < quiet_s + 0.5
    assert len({op.process for op, _ in own}) == 1


def test_without_the_option_there_is_no_flood() -> None:
    assert not [each for each in history(LogOptions()) if each.f == "flood" or each.key == FLOODED]
    assert DATA_FLOODS not in Log().provides
    assert DATA_FLOODS in Log(OPTIONS).provides
    assert Log(OPTIONS).min_threads == Log().min_threads + 1


def test_a_flood_ends_in_time_for_its_operation() -> None:
    assert LogOptions(flood_s=4.0).flood_s == 4.0
    for wrong in (0, 4.1, -1):
        with pytest.raises(ValueError, match=f"^flood_s={wrong:g}: it is above 0, and 4 at most$"):
            LogOptions(flood_s=wrong)


# --- the client


def flood(connections: int = 3, seconds: float = 0.3) -> Invocation:
    value = Flood(connections=connections, seconds=seconds).to_json()
    return Invocation(process=0, f="flood", value=value)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def client(broker: Broker) -> Iterator[FloodClient]:
    """Of one broker, which leads t/0."""
    with cluster(broker) as of_one:
        made = FloodClient(of_one, 0, "t", LogClient(of_one, 0))
        yield made
        made.close()


def test_a_flood_is_an_operation_that_tells_what_it_did(
    client: FloodClient, broker: Broker
) -> None:
    done = client.invoke(flood())
    assert (done.type, done.f, done.process) == ("ok", "flood", 0)
    reported = Flooded.from_json(done.value)
    assert (reported.connections, reported.seconds) == (3, 0.3)
    assert reported.lasted_ms > 0 and reported.after_ms > 0
    assert 0 <= reported.late_p99_ms <= reported.late_max_ms
    (node,) = reported.nodes
    assert (node.node, node.connections, node.refused) == ("b1", 3, 0)
    assert node.p50_ms is not None and node.p99_ms is not None
    assert 0 < node.p50_ms <= node.p99_ms
    # Each connection had one more under way when it was over, which may have come, or not.
    assert node.answered <= len(broker.batches) <= node.answered + 3
    assert node.answered > 6
    assert {value for batch in broker.batches for _, value in values_in(batch, 0)} == {VALUE}
    json.dumps(done.value)


def test_refusals_are_no_appends(client: FloodClient, broker: Broker) -> None:
    broker.answers = [6] * 10**6
    (node,) = Flooded.from_json(client.invoke(flood()).value).nodes
    assert node.refused == node.connections == 3 and node.answered > 3


def test_connections_that_fail_are_not_counted(client: FloodClient, broker: Broker) -> None:
    broker.answers = [0, CLOSE]
    (node,) = Flooded.from_json(client.invoke(flood()).value).nodes
    assert node.connections == 2 and node.answered > 3


def test_where_all_connections_fail_it_ends_early(client: FloodClient, broker: Broker) -> None:
    broker.answers = [CLOSE] * 3
    (node,) = Flooded.from_json(client.invoke(flood()).value).nodes
    assert (node.connections, node.answered, node.p50_ms) == (0, 0, None)


def test_without_a_leader_there_is_no_flood(client: FloodClient, broker: Broker) -> None:
    broker.leader = -1
    done = client.invoke(flood())
    assert done.type == "fail" and done.error is not None
    assert done.error[0] == "LEADER_NOT_AVAILABLE" and not broker.batches


def test_other_operations_are_those_of_the_log(client: FloodClient) -> None:
    asked = {"value": 4, "acks": "all", "idempotent": False, "producer": "p0"}
    done = client.invoke(Invocation(process=0, f="produce", key="t/0", value=asked))
    assert (done.type, done.value["offset"]) == ("ok", 0)


def test_what_is_encrypted_is_not_flooded(
    client: FloodClient, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flood_client, "ssl", SimpleNamespace(SSLSocket=socket.socket))
    done = client.invoke(flood())
    assert done.error is not None and (done.type, done.error[0]) == ("fail", "ENCRYPTED")
    assert not broker.batches


def test_a_process_that_says_nothing_is_no_flood(
    client: FloodClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flooder, "MODULE", "workloads.kafka.no_such_module")
    done = client.invoke(flood())
    assert done.error is not None and (done.type, done.error[0]) == ("fail", "CONNECTION_LOST")


LIMITS = [
    (1024, 4096, 100, 1024),
    (1024, 4096, 1800, 1800 + OTHER_FILES),
    (1024, 2000, 1800, None),
    (10_000, 10_000, 1800, 10_000),
]


@pytest.mark.parametrize(("soft", "hard", "count", "after"), LIMITS)
def test_a_flood_leaves_files_for_others(
    soft: int, hard: int, count: int, after: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [(soft, hard)]
    reported = SimpleNamespace(
        RLIMIT_NOFILE=7,
        getrlimit=lambda _: limits[-1],
        setrlimit=lambda _, pair: limits.append(pair),
    )
    monkeypatch.setattr(flood_client, "resource", reported)
    if after is None:
        with pytest.raises(NoFlood, match="ulimit -n"):
            _may_open(count)
    else:
        _may_open(count)
    assert limits[-1] == (after or soft, hard)


def test_files_with_high_numbers_are_watched_as_well() -> None:
    """`select.select` takes none above 1023; a flood of three brokers has more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(1600, hard)), hard))
    ours, theirs = socket.socketpair()
    high = fcntl.fcntl(ours, fcntl.F_DUPFD_CLOEXEC, 1500)
    with ours, theirs, socket.socket(fileno=high) as same, same.makefile("rb") as out:
        theirs.sendall(b"late\n")
        assert Lateness().line(out, float("inf")) == "late"


# --- its process


@contextmanager
def flooding(connection: socket.socket, request: bytes) -> Iterator[subprocess.Popen[bytes]]:
    """The process, for much longer than a test takes."""
    with started([Target([connection], request)], seconds=600) as process:
        assert process.stdout is not None
        assert process.stdout.readline().decode().strip() == BEGUN
        yield process


def ended(process: subprocess.Popen[bytes]) -> Any:
    """What it told of its one target, once its input had ended."""
    assert process.stdin is not None and process.stdout is not None
    process.stdin.close()
    (tally,) = json.loads(process.stdout.readline())
    return tally


def test_a_flood_ends_with_whoever_asked_for_it() -> None:
    """As where the harness was killed; it has most of its ten minutes left."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        with flooding(theirs, b"asked") as process:
            tally = ended(process)
        assert (tally["held"], tally["answered"], process.returncode) == (1, 0, 0)


def test_answers_in_pieces_and_one_after_another() -> None:
    """A frame is an answer when all of it is there; then the same request comes again."""
    ours, theirs = socket.socketpair()
    with ours, theirs, flooding(theirs, b"again") as process:
        for answer in (b"one", b"other"):
            assert ours.recv(99) == b"again"
            frame = len(answer).to_bytes(4, "big") + answer
            for piece in (frame[:2], frame[2:5], frame[5:]):
                ours.sendall(piece)
        assert ours.recv(99) == b"again"
        tally = ended(process)
    assert tally["answered"] == 2 and tally["last"] == [b"other".hex()]


def test_lateness_is_what_a_sleep_took_too_long() -> None:
    reader, writer = socket.socketpair()
    with reader, writer, reader.makefile("rb") as out:
        late = Lateness()
        assert late.line(out, 0.0) == "" and late.at(1.0) == 0.0
        writer.sendall(b"late\n")
        assert late.line(out, float("inf")) == "late"
