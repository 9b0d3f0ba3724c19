"""Synthetic brokers and a patient client for benchmarks of the controllers alone.

The brokers are heartbeats that this process sends: a machine's cores then belong to the
controllers, and ten brokers cost a few requests a second.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import time
import uuid
from contextlib import suppress
from typing import Any, Final

from kio.schema.create_topics.v7 import request as create
from kio.schema.envelope.v0.request import EnvelopeRequest
from kio.schema.types import TopicName
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64, u16

from nodes.kraft.ids import BrokerEpoch, BrokerId
from nodes.kraft.net.channel import Channel, FateUnknown, NotSent
from nodes.kraft.wire.codec import decode_response, encode_entity, encode_request
from nodes.kraft.wire.codes import codes
from nodes.kraft.wire.debug import DescribeNodeRequest
from nodes.kraft.wire.forwarding import ForwardedPrincipal
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest, BrokerState, Listener
from tests.nodes.kraft.loopback import Loopback

FIRST_BROKER: Final = 101
FAR_AHEAD: Final = 2**40
"""As the metadata offset of a heartbeat: this broker has read everything."""
TIMEOUT_S: Final = 30.0
PATIENCE_S: Final = 120.0
PAUSE_S: Final = 0.005
HEARTBEAT_S: Final = 0.5


def create_request(names: list[str], partitions: int) -> EnvelopeRequest:
    """Topics of replication factor 3, as a broker forwards it. Sent again, it is the same."""
    topics = tuple(
        create.CreatableTopic(
            name=TopicName(name),
            num_partitions=i32(partitions),
            replication_factor=i16(3),
            assignments=(),
            configs=(),
        )
        for name in names
    )
    timeout = i32Timedelta.parse(datetime.timedelta(seconds=TIMEOUT_S))
    request = create.CreateTopicsRequest(topics=topics, timeout=timeout)
    principal = ForwardedPrincipal(type="User", name="ANONYMOUS", request_id=uuid.uuid4())
    return EnvelopeRequest(
        request_data=encode_request(request, correlation_id=0, client_id="benchmark"),
        request_principal=encode_entity(principal),
        client_host_address=b"\x7f\x00\x00\x01",
    )


class Client:
    """One request at a time to the active controller, whichever that is."""

    def __init__(self, cluster: Loopback) -> None:
        self._channels = {
            name: Channel("127.0.0.1", cluster.port(name), "benchmark")
            for name in controllers(cluster)
        }
        self._names = list(self._channels)

    async def call(self, request: Any, timeout_s: float = TIMEOUT_S) -> Any:
        """The answer of the controller that was the active one last; None: not by that one."""
        try:
            answer = await self._channels[self._names[0]].call(request, timeout_s)
        except (NotSent, FateUnknown):
            answer = None
        if answer is None or int(answer.error_code) == 41:
            self._turn()
            return None
        return answer

    def _turn(self) -> None:
        self._names.append(self._names.pop(0))

    async def insist(self, request: Any) -> Any:
        """Ask one controller after the other until one answers as the active one."""
        end = time.monotonic() + PATIENCE_S
        while (answer := await self.call(request)) is None:
            if time.monotonic() > end:
                raise RuntimeError(f"no active controller for {PATIENCE_S} s")
            await asyncio.sleep(PAUSE_S)
        return answer

    async def create(self, names: list[str], partitions: int) -> None:
        """Create topics in one request. Raises where one is refused."""
        request = create_request(names, partitions)
        end = time.monotonic() + PATIENCE_S
        while True:
            answer = await self.insist(request)
            response = decode_response(19, 7, answer.response_data)[1]
            answered = set(codes(response))
            if answered == {0}:
                return
            if not answered & {7, 41} or time.monotonic() > end:  # 7: lost its leadership meanwhile
                raise RuntimeError(f"refused: {response!r:.300}")
            self._turn()
            await asyncio.sleep(PAUSE_S)

    async def where(self, name: str) -> dict[str, Any]:
        """What a controller says of itself; empty where it does not answer."""
        with suppress(NotSent, FateUnknown):
            answer = await self._channels[name].call(DescribeNodeRequest(), 5.0)
            state: dict[str, Any] = json.loads(answer.state)
            return state
        return {}

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()


class Brokers:
    """Keeps brokers active by heartbeats; `lost` counts how often one was not."""

    def __init__(self, cluster: Loopback, count: int) -> None:
        self.epochs = dict.fromkeys(range(FIRST_BROKER, FIRST_BROKER + count), -1)
        self.lost = 0
        self.slowest_ms = 0
        self._clients = {broker_id: Client(cluster) for broker_id in self.epochs}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Register them all, and see to their leases."""
        for broker_id in self.epochs:
            while not await self._beat(broker_id, BrokerState.ACTIVE):
                await asyncio.sleep(PAUSE_S)
            self._tasks[broker_id] = asyncio.create_task(self._keep(broker_id))
        self.lost = 0

    async def shut_down(self, broker_id: int) -> float:
        """Ask for a controlled shutdown as a broker does: until it is granted; seconds."""
        self._tasks.pop(broker_id).cancel()
        await asyncio.sleep(0.1)  # a heartbeat that was under way
        began = time.monotonic()
        while not await self._beat(broker_id, BrokerState.SHUTDOWN):
            await asyncio.sleep(PAUSE_S)
        return time.monotonic() - began

    async def _keep(self, broker_id: int) -> None:
        while True:
            began = time.monotonic()
            await self._beat(broker_id, BrokerState.ACTIVE)
            took = time.monotonic() - began
            self.slowest_ms = max(self.slowest_ms, round(took * 1000))
            await asyncio.sleep(max(0.0, HEARTBEAT_S - took))

    async def _beat(self, broker_id: int, target: BrokerState) -> bool:
        """One heartbeat; whether the broker is now in the state that it asked for."""
        request = BrokerHeartbeatRequest(
            target_state=i8(target),
            broker_id=BrokerId(broker_id),
            broker_epoch=BrokerEpoch(self.epochs[broker_id]),
            lease_start_time_ms=i64(time.monotonic_ns() // 1_000_000),
            cur_metadata_offset=i64(FAR_AHEAD),
            listeners=(
                Listener(name="CLIENT", host="127.0.0.1", port=u16(9), security_protocol=i16(0)),
            ),
            incarnation_id=uuid.UUID(int=broker_id),
        )
        answer = await self._clients[broker_id].insist(request)
        if int(answer.error_code) == 0:
            self.epochs[broker_id] = int(answer.broker_epoch)
        granted = int(answer.error_code) == 0 and answer.next_state == target
        if not granted and target == BrokerState.ACTIVE:
            self.lost += 1
        return granted

    def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        for client in self._clients.values():
            client.close()


def controllers(cluster: Loopback) -> list[str]:
    """The names of the controllers."""
    return [name for name in cluster.settings if int(name[1:]) in cluster.control]


async def active(cluster: Loopback) -> str:
    """The name of the active controller; waits for there to be one."""
    client = Client(cluster)
    try:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for name in controllers(cluster):
                if (await client.where(name)).get("active_epoch") is not None:
                    return name
            await asyncio.sleep(PAUSE_S)
    finally:
        client.close()
    raise RuntimeError(f"no active controller for {PATIENCE_S} s")
