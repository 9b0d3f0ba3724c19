"""The partitions of a broker, in one process: what it acts on, what it keeps, what it forgets."""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from immutables import Map
from kio.schema.alter_partition.v3 import response as wire
from kio.schema.errors import ErrorCode
from kio.schema.list_offsets.v7 import request as list_offsets
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i64

from nodes.kraft.config import from_settings
from nodes.kraft.controller.answers import NO_THROTTLE
from nodes.kraft.metadata.entities import Broker, Partition, Topic
from nodes.kraft.metadata.image import EMPTY, Image
from nodes.kraft.net.channel import Channel, FateUnknown
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.partition import steps
from nodes.kraft.partition.batches import read_batch
from nodes.kraft.partition.state import Leading
from nodes.kraft.runtime.changes import Changes
from nodes.kraft.runtime.offsets import Offsets
from nodes.kraft.runtime.partitions import NotLeader, Partitions
from nodes.kraft.runtime.reading import Asked, Reading
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.partition_checkpoint import HIGH_WATERMARKS, Checkpoint
from nodes.kraft.wire import records
from tests.nodes.kraft.partition.batch_making import encoded

AT_ZERO = list_offsets.ListOffsetsTopic(
    name=TopicName("t"),
    partitions=(
        list_offsets.ListOffsetsPartition(
            partition_index=i32(0), current_leader_epoch=i32(-1), timestamp=i64(0)
        ),
    ),
)
TOPIC = uuid.UUID(int=9)
ME = 4


class FakePlane:
    """A data plane without sockets; the image and the epoch are the test's."""

    def __init__(self, directory: Path) -> None:
        self.config = from_settings(
            {
                "process.roles": "broker",
                "broker.id": str(ME),
                "cluster.id": "test",
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "controller.quorum.voters": "1@127.0.0.1:1",
                "log.dirs": str(directory),
                "replica.lag.time.max.ms": "400",
            }
        )
        self.watchers: list[Any] = []
        self.now: Image = EMPTY
        self.epoch = 7
        self.events: list[dict[str, Any]] = []
        self.failures: list[BaseException] = []

    def serving(self) -> bool:
        return True

    def image(self) -> Image:
        return self.now

    def leader_id(self) -> int:
        return 1

    def broker_epoch(self) -> int:
        return self.epoch

    def allowed(self, *_: Any) -> bool:
        return True

    def reply(self, context: Any, response: Any) -> None:
        context.answer(response)

    def emit(self, type: str, **fields: Any) -> None:
        self.events.append({"type": type, **fields})

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(coroutine)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.failures.append(error)


def image_of(
    partitions: dict[int, Partition], epoch: int = 7, topic_id: uuid.UUID = TOPIC
) -> Image:
    brokers = {
        each: Broker(each, epoch if each == ME else 1, uuid.UUID(int=each), (), None, fenced=False)
        for each in (4, 5, 6)
    }
    return replace(
        EMPTY,
        brokers=Map(brokers),
        topics=Map({topic_id: Topic("t", topic_id, len(partitions))}),
        topic_ids=Map({"t": topic_id}),
        partitions=Map({(topic_id, number): each for number, each in partitions.items()}),
    )


def led(leader: int = ME, epoch: int = 0, isr: tuple[int, ...] = (4,)) -> Partition:
    return Partition((4, 5, 6), isr, leader, epoch, epoch)


class Service:
    """Partitions on a plane, from start to end."""

    def __init__(self, directory: Path) -> None:
        self.plane = FakePlane(directory)
        self.changes = Changes()
        self.partitions = Partitions(self.plane, self.changes)  # type: ignore[arg-type]
        self.end_offset = 0

    async def __aenter__(self) -> Service:
        await self.partitions.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.partitions.close()

    async def commit(self, image: Image) -> None:
        """The image after some records that nobody noted: everything is looked at."""
        self.end_offset += 10
        self.plane.now = image
        self.partitions.committed(self.end_offset, image)
        await eventually(lambda: not self.partitions._due)

    async def append(self, number: int = 0, acks: int = 1) -> Any:
        return await self.partitions.append(TOPIC, number, encoded(2), acks, 2000)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(120):
            await test()

    asyncio.run(bounded())


async def eventually(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_a_former_lifes_deletion_is_not_carried_out(tmp_path: Path) -> None:
    """A.3.15 (a), A.6.7, A.6.8 (StopReplica): an image from before its own registration lacks a
    topic that is there in newer ones; what the broker has of it stays where it is."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            await service.commit(image_of({0: led()}))
            await service.append()
        async with Service(tmp_path) as service:
            service.plane.epoch = 8
            await service.commit(replace(image_of({}), topics=Map(), topic_ids=Map()))
            assert len(list((tmp_path / "partitions").iterdir())) == 1
            await service.commit(image_of({0: led(5, epoch=4)}, epoch=8))
            hosted = service.partitions.get((TOPIC, 0))
            assert hosted is not None
            assert hosted.state.log.end_offset == 2

    run(test)


def test_a_former_lifes_leadership_is_not_taken_up(tmp_path: Path) -> None:
    """A.3.15 (c), A.6.7 (first LeaderAndIsr): an image from before its own registration makes it
    neither lead nor follow, and leaves the high watermark that was written down as it is."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            await service.commit(image_of({0: led(), 1: led(isr=(4, 5))}))
            await service.append(0)
            await service.append(1)
        before = Checkpoint(tmp_path, HIGH_WATERMARKS).load()
        assert before == {(TOPIC, 0): 2}
        async with Service(tmp_path) as service:
            service.plane.epoch = 8
            await service.commit(image_of({1: led(epoch=3)}))
            assert service.partitions.get((TOPIC, 1)) is None
            assert service.plane.events == []
        assert Checkpoint(tmp_path, HIGH_WATERMARKS).load() == before
        async with Service(tmp_path) as service:
            service.plane.epoch = 8
            await service.commit(image_of({0: led(5, 4), 1: led(5, 4)}, epoch=8))
            found = [service.partitions.get((TOPIC, number)) for number in (0, 1)]
            assert [each.state.high_watermark for each in found if each] == [2, 0]
            assert {each["role"] for each in service.plane.events if each["type"] == "part"} == {
                "follower"
            }

    run(test)


def test_what_the_newest_image_does_not_have_is_deleted(tmp_path: Path) -> None:
    """A.6.8: a topic that was deleted while the broker was down, or whose name came back."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            await service.commit(image_of({0: led(), 1: led()}))
            await service.append(0)
            await service.append(1)
        async with Service(tmp_path) as service:
            await service.commit(image_of({0: led(epoch=1)}, topic_id=uuid.UUID(int=10)))
            assert list((tmp_path / "partitions").iterdir()) == []
            hosted = service.partitions.get((uuid.UUID(int=10), 0))
            assert hosted is not None
            assert hosted.state.log.end_offset == 0

    run(test)


def test_append_read_and_watch(tmp_path: Path) -> None:
    """What groups use: committed batches alone, and news of leadership."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            reported: list[tuple[int, bool, int]] = []
            service.partitions.watch(
                lambda _, number, leads, epoch: reported.append((number, leads, epoch))
            )
            await service.commit(image_of({0: led(isr=(4, 5)), 1: led(5)}))
            assert reported == [(0, True, 0)]
            service.partitions.watch(lambda *_: reported.append((-1, True, 0)))
            assert reported.pop() == (-1, True, 0)
            assert (await service.append()).base_offset == 0
            assert service.partitions.read_committed(TOPIC, 0, 0) == b""
            key = (TOPIC, 0)
            hosted = service.partitions.get(key)
            assert hosted is not None
            service.partitions.feed(key, hosted, steps.Fetched(5, 1, 2, 1, True))
            assert read_batch(service.partitions.read_committed(TOPIC, 0, 0)).end_offset == 2
            assert (await service.append(1)).error == ErrorCode.not_leader_or_follower
            with pytest.raises(NotLeader):
                service.partitions.read_committed(TOPIC, 1, 0)
            waiting = asyncio.ensure_future(service.append(acks=-1))
            await asyncio.sleep(0)
            await service.commit(image_of({0: led(5, epoch=1), 1: led(5)}))
            assert (await waiting).error == ErrorCode.not_leader_or_follower
            assert (0, False, 1) in reported

    run(test)


def test_partitions_that_records_add_or_change_are_followed(tmp_path: Path) -> None:
    """A.5.17: more partitions of a topic, and a leader that moves: only what was touched is looked
    at."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            await service.commit(image_of({0: led(), 1: led(5)}))
            service.changes.note(service.end_offset - 1, object(), EMPTY)
            service.partitions.committed(service.end_offset, service.plane.now)
            before = service.plane.now
            added = records.PartitionRecord(
                partition_id=2, topic_id=TOPIC, replicas=(4,), isr=(4,), leader=4, leader_epoch=0
            )
            service.changes.note(service.end_offset, added, before)
            image = image_of({0: led(5, epoch=9), 1: led(5), 2: led()})
            service.plane.now = image
            service.partitions.committed(service.end_offset + 1, image)
            assert (await service.append(2)).base_offset == 0
            untouched = service.partitions.get((TOPIC, 0))
            assert untouched is not None
            assert role(untouched).leader_epoch == 0

    run(test)


def test_ten_thousand_idle_partitions_cost_no_file_and_no_directory(tmp_path: Path) -> None:
    async def test() -> None:
        async with Service(tmp_path) as service:
            await service.commit(image_of({number: led(isr=(4, 5, 6)) for number in range(10_000)}))
            await eventually(lambda: service.partitions.get((TOPIC, 9_999)))
            assert list((tmp_path / "partitions").iterdir()) == []
            assert service.partitions._files.open_files == 0

    run(test)


def test_high_watermarks_and_a_clean_shutdown_are_written_down(tmp_path: Path) -> None:
    async def test() -> None:
        async with Service(tmp_path) as service:
            await service.commit(image_of({0: led(), 1: led(isr=(4, 5))}))
            await service.append(0)
            await service.append(1)
        assert (tmp_path / ".kafka_cleanshutdown").exists()
        async with Service(tmp_path) as service:
            assert not (tmp_path / ".kafka_cleanshutdown").exists()
            await service.commit(image_of({0: led(5, 1), 1: led(5, 1)}))
            found = [service.partitions.get((TOPIC, number)) for number in (0, 1)]
            assert [each.state.high_watermark for each in found if each] == [2, 0]
            assert [each.state.log.end_offset for each in found if each] == [2, 2]

    run(test)


def test_a_start_that_failed_leaves_the_disk_as_it_was(tmp_path: Path) -> None:
    """Nothing was looked at: neither is any log known to be whole nor any high watermark."""
    checkpoint = tmp_path / "replication-offset-checkpoint"
    checkpoint.write_text("not what we wrote")

    async def test() -> None:
        service = Service(tmp_path)
        with pytest.raises(StorageError, match="replication-offset-checkpoint"):
            await service.partitions.start()
        await service.partitions.close()

    run(test)
    assert checkpoint.read_text() == "not what we wrote"
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


def test_a_disk_that_fails_ends_the_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a core takes for appended is not there: nothing more may be answered."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            await service.commit(image_of({0: led()}))
            monkeypatch.setattr("os.pwrite", lambda *_: (_ for _ in ()).throw(OSError("full")))
            with pytest.raises(OSError, match="full"):
                await service.append()
            await eventually(lambda: service.plane.failures)
            with pytest.raises(RuntimeError):
                await service.append()
            monkeypatch.undo()
        assert not (tmp_path / ".kafka_cleanshutdown").exists()

    run(test)


@pytest.mark.parametrize("key", [1, 2], ids=["Fetch", "ListOffsets"])
def test_a_disk_that_cannot_be_read_ends_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: int
) -> None:
    """As one that cannot be written: others could lead what this broker cannot show."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            await service.commit(image_of({0: led()}))
            await service.append()
            monkeypatch.setattr("os.pread", lambda *_: (_ for _ in ()).throw(OSError("worn")))
            wanted = Asked((TOPIC, 0), ErrorCode.none, -1, 0, -1, 1000)
            plane: Any = service.plane
            with pytest.raises(OSError, match="worn"):
                if key == 1:
                    Reading(plane, service.partitions, 1000, follower=False).of(wanted)
                else:
                    request = list_offsets.ListOffsetsRequest(
                        replica_id=BrokerId(-1), isolation_level=i8(0), topics=(AT_ZERO,)
                    )
                    context = RequestContext("CLIENT", "peer", None, request, lambda _: None)
                    Offsets(plane, service.partitions).list_offsets(context)
            await eventually(lambda: service.plane.failures)
            monkeypatch.undo()

    run(test)


def test_an_isr_change_is_sent_until_it_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B.6: a lost answer, a controller that is none, one that is behind; then success."""
    asked: list[Any] = []

    async def call(_: Channel, request: Any, timeout_s: float) -> Any:
        asked.append(request)
        attempt = len(asked)
        if attempt == 1:
            raise FateUnknown("lost")
        top = ErrorCode.not_controller if attempt == 2 else ErrorCode.none
        code = ErrorCode.not_controller if attempt == 3 else ErrorCode.none
        members = tuple(
            each.broker_id for each in request.topics[0].partitions[0].new_isr_with_epochs
        )
        partition = wire.PartitionData(
            partition_index=0,
            error_code=code,
            leader_id=ME,
            leader_epoch=0,
            isr=members,
            partition_epoch=1,
        )
        topic = wire.TopicData(topic_id=TOPIC, partitions=(partition,))
        topics = () if top else (topic,)
        return wire.AlterPartitionResponse(throttle_time=NO_THROTTLE, error_code=top, topics=topics)

    monkeypatch.setattr(Channel, "call", call)

    async def test() -> None:
        async with Service(tmp_path) as service:
            await service.commit(image_of({0: led()}))
            key = (TOPIC, 0)
            hosted = service.partitions.get(key)
            assert hosted is not None
            service.partitions.feed(key, hosted, steps.Fetched(6, 1, 0, 1, True))
            await eventually(lambda: len(asked) == 4)
            await eventually(lambda: role(hosted).isr == (4, 6))
            assert role(hosted).partition_epoch == 1
            (sent,) = asked[-1].topics[0].partitions
            assert [(each.broker_id, each.broker_epoch) for each in sent.new_isr_with_epochs] == [
                (4, 7),
                (6, 1),
            ]
            assert asked[-1].broker_epoch == 7
            assert [
                (each["isr"], each["max_isr"])
                for each in service.plane.events
                if each["type"] == "part"
            ] == [([4], [4]), ([4], [4, 6]), ([4, 6], [4, 6])]

    run(test)


def role(hosted: Any) -> Leading:
    assert isinstance(hosted.state.role, Leading)
    return hosted.state.role


def test_changes_name_the_partitions_that_records_touched() -> None:
    changes = Changes()
    before = image_of({0: led(), 1: led()})
    changed = records.IsrChangeRecord(
        partition_id=1, topic_id=TOPIC, isr=(4,), leader=4, leader_epoch=1
    )
    removed = records.RemoveTopicRecord(topic_id=TOPIC)
    changes.note(0, object(), before)
    changes.note(1, changed, before)
    changes.note(2, removed, before)
    assert changes.take(2) == {(TOPIC, 1)}
    assert changes.take(2) == set()
    assert changes.take(3) == {(TOPIC, 0), (TOPIC, 1)}
    changes.note(9, changed, before)  # behind a snapshot
    assert changes.take(10) is None
    assert changes.take(20) is None
    changes.note(10, changed, before)
    assert changes.take(11) == {(TOPIC, 1)}


def test_changes_that_are_dropped_amid_a_look_are_a_gap() -> None:
    """The control loop drops what was noted, just when the data loop looks at it."""
    changes = Changes()
    before = image_of({0: led()})
    changed = records.IsrChangeRecord(
        partition_id=0, topic_id=TOPIC, isr=(4,), leader=4, leader_epoch=1
    )

    class Dropped(deque[Any]):
        def __getitem__(self, index: Any) -> Any:
            changes.note(5, object(), before)  # behind a snapshot
            return super().__getitem__(index)

    changes._touched = Dropped()
    changes.note(0, changed, before)
    assert changes.take(1) == set()
    assert changes.take(6) is None
