"""KIP-291's consequences: a backlog of clients' requests delays no news of the control plane."""

from __future__ import annotations

import asyncio
import datetime
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kio.index import load_request_schema
from kio.schema.create_topics.v7 import request as create
from kio.static.primitive import i16, i32, i32Timedelta

from nodes.kraft.controller.answers import blank
from nodes.kraft.metadata.image import Image, PartitionKey, apply_all
from nodes.kraft.net.channel import Channel
from nodes.kraft.partition.state import Leading
from nodes.kraft.runtime.data import DataPlane
from nodes.kraft.wire.codec import decode_response, encode_request, frame
from nodes.kraft.wire.records import RemoveTopicRecord, TopicRecord
from tests.nodes.kraft.partition.batch_making import encoded
from tests.nodes.kraft.runtime.test_isolated_planes import Both

FLOOD = 200
SLOW_S = 0.005


def timeout_of(seconds: float) -> i32Timedelta:
    return i32Timedelta.parse(datetime.timedelta(seconds=seconds))


def produce(acks: int) -> bytes:
    schema = load_request_schema(0, 9)
    topics = schema.__dataclass_fields__["topic_data"].type.__args__[0]
    partitions = topics.__dataclass_fields__["partition_data"].type.__args__[0]
    partition = partitions(index=i32(0), records=encoded())
    request = blank(
        schema,
        acks=i16(acks),
        timeout=timeout_of(25),
        topic_data=(topics(name="t", partition_data=(partition,)),),
    )
    return frame(encode_request(request, correlation_id=1, client_id="t"))


class Client:
    """A connection with one Produce on it."""

    def __init__(self, both: Both, acks: int) -> None:
        self.code: asyncio.Task[int] = asyncio.ensure_future(self._run(both.client, acks))

    async def _run(self, port: int, acks: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(produce(acks))
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        response = decode_response(0, 9, await reader.readexactly(size))[1]
        writer.close()
        return int(response.responses[0].partition_responses[0].error_code)


async def until(condition: Callable[[], Any]) -> Any:
    while not (found := condition()):
        await asyncio.sleep(0.001)
    return found


async def one_partition(both: Both) -> None:
    """Topic t, led by the node itself."""
    data = both.node.data
    assert data is not None
    await until(data.serving)
    topic = create.CreatableTopic(
        name="t",  # type: ignore[arg-type]
        num_partitions=i32(1),
        replication_factor=i16(1),
        assignments=(),
        configs=(),
    )
    channel = Channel("127.0.0.1", both.client, "t")
    request = create.CreateTopicsRequest(topics=(topic,), timeout=timeout_of(5))
    assert (await channel.call(request, 5)).topics[0].error_code == 0
    channel.close()


async def slow_partition(both: Both) -> tuple[DataPlane, PartitionKey, Any]:
    """The one partition, of which each Produce takes its time."""
    data = both.node.data
    assert data is not None
    await one_partition(both)
    healthy = data._table[0]

    def slow(context: Any) -> None:
        time.sleep(SLOW_S)
        healthy(context)

    data._table[0] = slow
    (key,) = await until(lambda: list(data.image().partitions))
    return data, key, await until(lambda: data.partitions.get(key))


def test_a_backlog_of_produces_delays_no_change_of_leaders(tmp_path: Path) -> None:
    """A.2.17, while a slow handler has a second's produces before it: (a) a producer that waits
    for followers learns at once that the leader is none any more; (b) what is queued behind is
    refused instead of appended, to be truncated later; (c) a new leader serves at once; (d) the
    metadata is new at once."""
    both = Both(tmp_path)

    async def body() -> None:
        data, key, hosted = await slow_partition(both)
        end = both.node.replica.applied

        async def tell(leader: int, epoch: int, isr: tuple[int, ...]) -> None:
            """A commit after which that broker leads."""
            nonlocal end
            end += 10  # more than records tell of: everything is looked at
            before = both.node.replica.image
            partition = replace(
                before.partitions[key],
                replicas=(4, 5),
                isr=isr,
                leader=leader,
                leader_epoch=epoch,
                partition_epoch=epoch,
            )
            other = replace(before.brokers[4], broker_id=5)
            image: Image = replace(
                before,
                partitions=before.partitions.set(key, partition),
                brokers=before.brokers.set(5, other),
            )
            both.node._data_loop.post(data.committed, end, image)
            await until(lambda: hosted.state.role.leader_epoch == epoch)
            assert data.image() is image
            assert isinstance(hosted.state.role, Leading) is (leader == 4)

        await tell(4, 1, (4, 5))
        waiting = Client(both, acks=-1)
        await until(lambda: hosted.state.log.end_offset == 1)
        flood = [Client(both, acks=1) for _ in range(FLOOD)]
        await until(lambda: hosted.state.log.end_offset >= 10)
        await tell(5, 2, (4, 5))
        appended = hosted.state.log.end_offset
        assert await waiting.code == 6
        await until(lambda: sum(each.code.done() for each in flood) >= appended + 20)
        assert hosted.state.log.end_offset == appended
        queued = sum(not each.code.done() for each in flood)
        assert queued > 50, "the backlog is still there"
        await tell(4, 3, (4,))
        assert not all(each.code.done() for each in flood), "it overtook what had waited before it"
        codes = [await each.code for each in flood]
        assert codes.count(0) == hosted.state.log.end_offset - 1 > appended
        assert codes.count(6) == FLOOD - codes.count(0) >= 20

    both.run(body)


def test_a_backlog_of_produces_delays_no_deletion(tmp_path: Path) -> None:
    """A.2.17 (e): the topic's files are gone while most of the backlog still waits, and all of
    that is refused."""
    both = Both(tmp_path)

    async def body() -> None:
        data, key, hosted = await slow_partition(both)
        flood = [Client(both, acks=1) for _ in range(FLOOD)]
        await until(lambda: hosted.state.log.end_offset >= 10)
        (directory,) = tmp_path.rglob(f"{key[0]}-{key[1]}")
        end = both.node.replica.applied + 10  # more than records tell of
        marked = TopicRecord(name="t", topic_id=key[0], deleting=True)
        records = (marked, RemoveTopicRecord(topic_id=key[0]))
        image = apply_all(both.node.replica.image, records, end - 2)
        both.node._data_loop.post(data.committed, end, image)
        await until(lambda: not directory.exists())
        queued = sum(not each.code.done() for each in flood)
        assert queued > FLOOD / 4, "the backlog is still there"
        appended = hosted.state.log.end_offset
        codes = [await each.code for each in flood]
        assert codes.count(0) == appended
        assert set(codes) == {0, 3}

    both.run(body)
