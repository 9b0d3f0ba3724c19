"""The client of floods: opens connections to every broker that leads a partition of the flooded
topic, and hands them to a process that has a produce under way on each, without pause.

A flood is one operation: it begins and ends with it, and its process ends with the harness,
whatever becomes of that. How late the harness itself is meanwhile is part of what it tells.
"""

from __future__ import annotations

import json
import resource
import select
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import IO, Final

import tenacity
from kio.schema.produce.v9.response import ProduceResponse
from kio.static.protocol import RequestPayload

from framework.generators import op
from framework.history.event import Completion, Invocation, Recorded
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import CONNECTION_FAILED, CONNECTION_LOST, Ok
from framework.plugins.system import Cluster
from framework.plugins.workload import Client
from workloads.kafka import flooder
from workloads.kafka.batches import one_value
from workloads.kafka.broker_client import BrokerClient
from workloads.kafka.client import connections
from workloads.kafka.codec import Codec, MalformedResponse, expected
from workloads.kafka.flooder import BEGUN
from workloads.kafka.leaders import Leaders, NoAnswer
from workloads.kafka.log_messages import produce_answer, produce_request
from workloads.kafka.operations.floods import Flood, Flooded, NodeFlooded
from workloads.kafka.operations.partitions import Produce, partition_key
from workloads.kafka.roles import BROKER, LISTENERS
from workloads.kafka.system import system_of

CONNECT_S: Final = 1.0
OTHER_FILES: Final = 400
"""What the harness has open beside a flood, generously."""
SEARCH_S: Final = 1.0
"""How long a leader is looked for, once more where there was no answer."""
AT_ONCE: Final = 8
"""Connections that are opened at a time."""
WAKE_S: Final = 0.01
"""So long the harness wants to sleep at a time during a flood."""
BEGIN_S: Final = 3.0
END_S: Final = 1.0
"""How long a process may take until its flood begins, and after it."""
VALUE: Final = 10**100
CORRELATION_ID: Final = 1


class NoFlood(Exception):
    """It did not take place. `code`: why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Target:
    """A broker, the produce that it is sent, by its operation and as a request, and where."""

    node: str
    produce: Invocation
    request: RequestPayload
    connections: Sequence[socket.socket]

    def told(self) -> flooder.Target:
        """As the process is told it."""
        data = Codec().encode_request(
            self.request, correlation_id=CORRELATION_ID, client_id="flood"
        )
        return flooder.Target(self.connections, data)

    def refuses(self, answer: str) -> bool:
        """Whether this is anything else than that the batch was appended."""
        try:
            response = Codec().decode_response(
                self.request, bytes.fromhex(answer), correlation_id=CORRELATION_ID
            )
            produced = expected(ProduceResponse, response)
            return not isinstance(produce_answer(self.produce, produced, None), Ok)
        except (MalformedResponse, UnexpectedResponse):
            return True


class FloodClient:
    """Implements the engine's `Client`; `others` does all other operations. `topic`: has a
    partition for each broker, which leads it."""

    def __init__(self, cluster: Cluster, thread: int, topic: str, others: Client) -> None:
        self._cluster = cluster
        self._others = others
        self._topic = topic
        self._names = {cluster.nodes[node].ids[BROKER]: node for node in cluster.with_role(BROKER)}
        self._brokers = connections(cluster, BROKER, f"flood-{thread}", Codec())
        self._lookup = BrokerClient(self._brokers, thread)

    def invoke(self, invocation: Invocation) -> Completion:
        """The completion, within about 6 s more than a flood is to last. Fail: there was none."""
        if invocation.f != "flood":
            return self._others.invoke(invocation)
        try:
            with ExitStack() as stack:
                flooded = self._flooded(Flood.from_json(invocation.value), stack)
        except NoAnswer as missing:
            return invocation.completed("fail", error=missing.error, node=missing.node)
        except NoFlood as missing:
            return invocation.completed("fail", error=(missing.code, str(missing)))
        return invocation.completed("ok", flooded.to_json())

    def close(self) -> None:
        """Close all connections."""
        self._others.close()
        for connection in self._brokers.values():
            connection.close()

    # --- before -------------------------------------------------------------------------------

    def _flooded(self, asked: Flood, stack: ExitStack) -> Flooded:
        began_s = time.monotonic()
        produces = self._produces()
        _may_open(asked.connections * len(produces))
        targets = [
            _target(node, produce, self._opened(node, asked.connections, stack))
            for node, produce in produces.items()
        ]
        if not any(each.connections for each in targets):
            raise NoFlood(CONNECTION_FAILED, "no broker takes a connection")
        return _ran(asked, targets, began_s)

    def _produces(self) -> Mapping[str, Invocation]:
        """Broker -> a produce to a partition that it leads. Raises `NoAnswer`."""
        leaders = Leaders(self._lookup, self._names)
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(NoAnswer),
            stop=tenacity.stop_after_delay(SEARCH_S),
            wait=tenacity.wait_fixed(0.1),
            reraise=True,
        )
        keys = [partition_key(self._topic, number) for number in range(len(self._names))]
        value = Produce(value=VALUE, acks="1", idempotent=False).to_json()
        return {
            retrying(leaders.find, key).node: op("produce", key=key, value=value) for key in keys
        }

    def _opened(self, node: str, count: int, stack: ExitStack) -> Sequence[socket.socket]:
        """As many of them as there can be. Raises `NoFlood`."""
        system = system_of(self._cluster)

        def connect(_: int) -> socket.socket | None:
            with suppress(OSError):
                return system.connect(self._cluster, node, LISTENERS[BROKER], CONNECT_S)
            return None

        first = connect(0)  # of a broker that takes none, no more are asked for
        if first is None:
            return ()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            opened = [first, *filter(None, pool.map(connect, range(1, count)))]
        for each in opened:
            stack.callback(each.close)
        if isinstance(first, ssl.SSLSocket):
            raise NoFlood("ENCRYPTED", "connections with TLS cannot be handed to another process")
        return opened


def _may_open(count: int) -> None:
    """See to it that this process may have so many more files open, and others still find some.
    Raises `NoFlood`."""
    needed = count + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
    elif soft < needed:
        message = f"{count} connections, and {hard} open files are allowed (ulimit -n)"
        raise NoFlood("TOO_MANY_CONNECTIONS", message)


def _target(node: str, produce: Invocation, opened: Sequence[socket.socket]) -> Target:
    return Target(node, produce, produce_request(produce, one_value(VALUE)), opened)


# --- the process ----------------------------------------------------------------------------------


def _ran(asked: Flood, targets: Sequence[Target], began_s: float) -> Flooded:
    """Runs the flood. Raises `NoFlood` where its process says nothing."""
    process = flooder.started([each.told() for each in targets], asked.seconds)
    assert process.stdin is not None and process.stdout is not None
    try:
        if Lateness().line(process.stdout, time.monotonic() + BEGIN_S) != BEGUN:
            raise NoFlood(CONNECTION_LOST, "the flood's process did not begin")
        full_s, late = time.monotonic(), Lateness()
        answer = late.line(process.stdout, full_s + asked.seconds + END_S)
        ended_s = time.monotonic()
        if not answer:
            raise NoFlood(CONNECTION_LOST, "the flood's process ended without a word")
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                pipe.close()
    return Flooded(
        connections=asked.connections,
        seconds=asked.seconds,
        after_ms=_ms(full_s - began_s),
        lasted_ms=_ms(ended_s - full_s),
        late_p99_ms=_ms(late.at(0.99)),
        late_max_ms=_ms(late.at(1.0)),
        nodes=tuple(map(_node_flooded, targets, json.loads(answer))),
    )


def _node_flooded(target: Target, tally: Recorded) -> NodeFlooded:
    p50_ms, p99_ms = tally["times_ms"] or (None, None)
    return NodeFlooded(
        node=target.node,
        connections=tally["held"],
        answered=tally["answered"],
        refused=sum(map(target.refuses, tally["last"])),
        p50_ms=p50_ms,
        p99_ms=p99_ms,
    )


class Lateness:
    """How late this process woke up, each time that it wanted to."""

    def __init__(self) -> None:
        self._late_s: list[float] = [0.0]

    def line(self, out: IO[bytes], deadline: float) -> str:
        """The next line there; empty: none came in time."""
        poll = select.poll()  # `select` takes no number above 1023, and a flood has many files
        poll.register(out, select.POLLIN)
        while (slept_s := time.monotonic()) < deadline:
            if poll.poll(WAKE_S * 1000):
                return out.readline().decode().strip()
            self._late_s.append(time.monotonic() - slept_s - WAKE_S)
        return ""

    def at(self, share: float) -> float:
        """So late, in s, or less in this share of the times."""
        ordered = sorted(self._late_s)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
