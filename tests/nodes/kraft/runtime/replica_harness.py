"""Replicas in one event loop, whose channels lead straight to each other."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodes.kraft.config import Config, from_settings
from nodes.kraft.metadata.image import Image
from nodes.kraft.metadata.records import encode_record
from nodes.kraft.net.channel import Channel, NotSent
from nodes.kraft.raft import steps as raft
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.replica import Replica, Watcher
from nodes.kraft.wire.codec import decode_entity, encode_entity, response_schema
from nodes.kraft.wire.records import TopicRecord


def config_of(
    directory: Path, node_id: int, voters: int | tuple[int, ...], **settings: str
) -> Config:
    """Voters (their ids, or how many) are at ports of their ids; everybody else is a broker."""
    ids = tuple(range(1, voters + 1)) if isinstance(voters, int) else voters
    voter = node_id in ids
    role = {
        "process.roles": "controller" if voter else "broker",
        "controller.id" if voter else "broker.id": str(node_id),
        "listeners": "CONTROLLER://127.0.0.1:0" if voter else "CLIENT://127.0.0.1:0",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,CLIENT:PLAINTEXT",
    }
    return from_settings(
        {
            **role,
            **({"controller.listeners": "CONTROLLER"} if voter else {}),
            "cluster.id": "test",
            "controller.quorum.voters": ",".join(f"{ident}@127.0.0.1:{ident}" for ident in ids),
            "log.dirs": str(directory / str(node_id)),
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
    )


def topic(name: str) -> bytes:
    topic_id = uuid.uuid5(uuid.NAMESPACE_DNS, name)
    return encode_record(TopicRecord(name=name, topic_id=topic_id, deleting=False))


class Heard(Watcher):
    """What a replica told the rest of its node."""

    def __init__(self) -> None:
        self.claims: list[tuple[int, int]] = []
        self.renounced_times = 0
        self.committed_to = 0

    def committed(self, end_offset: int, image: Image) -> None:
        self.committed_to = end_offset

    def claimed(self, epoch: int, end_offset: int, image: Image) -> None:
        self.claims.append((epoch, end_offset))

    def renounced(self) -> None:
        self.renounced_times += 1


class Quorum:
    """Replicas by id. `cut` are those that nobody reaches, and that reach nobody."""

    def __init__(self, directory: Path, voters: int | tuple[int, ...], **settings: str) -> None:
        self.directory = directory
        self.voters = voters
        self.settings = settings
        self.replicas: dict[int, Replica] = {}
        self.heard: dict[int, Heard] = {}
        self.events: dict[int, list[dict[str, Any]]] = {}
        self.stopped: dict[int, str] = {}
        self.cut: set[int] = set()
        self.calls: list[Any] = []
        self._ticking: set[asyncio.Task[None]] = set()

    def start(self, node_id: int) -> Replica:
        heard, events = Heard(), self.events.setdefault(node_id, [])
        replica = Replica(
            config_of(self.directory, node_id, self.voters, **self.settings),
            emit=lambda type, **fields: events.append({"type": type, **fields}),
            watcher=heard,
            stop=lambda why: self.stopped.setdefault(node_id, why),
            changed=lambda: None,
        )
        replica.announce()
        self.replicas[node_id], self.heard[node_id] = replica, heard
        task = asyncio.get_running_loop().create_task(self._tick(replica))
        self._ticking.add(task)
        return replica

    async def _tick(self, replica: Replica) -> None:
        while self.replicas.get(replica.config.replica_id) is replica:
            if replica.deadline_ms() <= now_ms():
                replica.feed(raft.Tick())
            await asyncio.sleep(0.002)

    def stop(self, node_id: int) -> None:
        self.replicas.pop(node_id).close()

    def close(self) -> None:
        for node_id in list(self.replicas):
            self.stop(node_id)
        for task in self._ticking:
            task.cancel()

    async def call(self, channel: Channel, request: Any, timeout_s: float) -> Any:
        sender = int(channel._client_id.removeprefix("node-"))
        receiver = self.replicas.get(channel._port)
        self.calls.append(request)
        if receiver is None or {sender, channel._port} & self.cut:
            await asyncio.sleep(0.005)
            raise NotSent("cut off")
        answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        copy = decode_entity(type(request), encode_entity(request))
        receiver.ask(copy, lambda response: answered.done() or answered.set_result(response))
        try:
            async with asyncio.timeout(timeout_s):
                response = await answered
        except TimeoutError:
            raise NotSent("no answer") from None
        await asyncio.sleep(0)
        if {sender, channel._port} & self.cut:
            raise NotSent("cut off")
        schema = response_schema(request.__api_key__, request.__version__)
        return decode_entity(schema, encode_entity(response))

    async def until(self, condition: Callable[[], Any], timeout_s: float = 120.0) -> Any:
        async with asyncio.timeout(timeout_s):
            while not (found := condition()):
                await asyncio.sleep(0.002)
        return found

    def leader(self) -> Replica | None:
        """A leader that its controller was told of."""
        return next(
            (
                replica
                for node_id, replica in self.replicas.items()
                if replica.leads and self.heard[node_id].claims and node_id not in self.cut
            ),
            None,
        )

    async def led(self) -> Replica:
        found: Replica = await self.until(self.leader)
        return found

    async def create(self, *names: str) -> int:
        """One batch of topics, committed; the high watermark after it."""
        leader = await self.led()
        state = leader.state
        end = state.log.end_offset
        leader.propose(state.epoch, end, tuple(topic(name) for name in names))
        await self.until(lambda: leader.applied >= end + len(names))
        return leader.applied

    def of(self, node_id: int, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events[node_id] if event["type"] == kind]


def play(monkeypatch: pytest.MonkeyPatch, quorum: Quorum, scenario: Callable[[], Any]) -> None:
    """Run a scenario with the quorum's channels in place."""
    monkeypatch.setattr(Channel, "call", lambda channel, *rest: quorum.call(channel, *rest))

    async def main() -> None:
        try:
            async with asyncio.timeout(120):
                await scenario()
        finally:
            quorum.close()

    asyncio.run(main())
