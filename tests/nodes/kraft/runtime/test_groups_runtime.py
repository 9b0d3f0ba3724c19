"""Groups on a broker: whose they are, loading from the log, leases, and who may."""

import asyncio
import datetime
import uuid
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from group_plane import ME, FakePartitions, FakePlane, ask, image_of
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta

from nodes.kraft.broker.lifecycle import Transition
from nodes.kraft.controller.answers import NO_THROTTLE, item_schema, make, schema_of
from nodes.kraft.group import api
from nodes.kraft.group.config import OFFSETS_TOPIC, partition_of
from nodes.kraft.group.records import encode_changes
from nodes.kraft.ids import Offset
from nodes.kraft.metadata.image import apply
from nodes.kraft.runtime.forwarding import Forwarded
from nodes.kraft.runtime.groups import Groups
from nodes.kraft.wire.codec import request_schema
from nodes.kraft.wire.heartbeats import BrokerState
from nodes.kraft.wire.records import PartitionRecord, RemoveTopicRecord, TopicRecord

READ, DELETE, DESCRIBE = 3, 6, 8
TOPIC, GROUP = 2, 3
SECOND = i32Timedelta.parse(datetime.timedelta(seconds=1))
MINE = partition_of("g", 5)


class Forwarder:
    """Makes the topic as the controller would: in the next image."""

    def __init__(self, code: ErrorCode = ErrorCode.none) -> None:
        self.asked: list[Any] = []
        self.code = code
        self.made: Callable[[], None] = lambda: None

    async def forward(self, request: Any, timeout_s: float, requester: Any = None) -> Any:
        self.asked.append(request)
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(self.made)
        schema = schema_of(request)
        topic = make(
            item_schema(schema, "topics"),
            name=OFFSETS_TOPIC,
            topic_id=None,
            error_code=self.code,
            error_message=None,
            topic_config_error_code=ErrorCode.none,
            num_partitions=5,
            replication_factor=3,
            configs=None,
        )
        return Forwarded(schema(throttle_time=NO_THROTTLE, topics=(topic,)), False, Offset(0))


class Bench:
    def __init__(self, directory: Path, image: Any) -> None:
        self.plane = FakePlane(directory, image)
        self.partitions = FakePartitions()
        self.forwarder = Forwarder()
        self.groups = Groups(self.plane, self.partitions, self.forwarder)  # type: ignore[arg-type]

    async def lead(self, *partitions: int) -> None:
        self.partitions.lead(*partitions)
        await self.plane.settle()

    def commit(self, offset: int, *, group: str = "g", topic: str = "t", text: str = "") -> Any:
        schema = item_schema(request_schema(api.OFFSET_COMMIT, 9), "topics")
        partition = make(
            item_schema(schema, "partitions"),
            partition_index=0,
            committed_offset=offset,
            committed_leader_epoch=-1,
            committed_metadata=text,
        )
        return ask(
            self.groups,
            api.OFFSET_COMMIT,
            9,
            group_id=group,
            generation_id_or_member_epoch=-1,
            member_id="",
            group_instance_id=None,
            topics=(make(schema, name=topic, partitions=(partition,)),),
        )

    async def committed(self, *args: Any, **kwargs: Any) -> ErrorCode:
        answer = await self.commit(*args, **kwargs)
        code: ErrorCode = answer.topics[0].partitions[0].error_code
        return code

    async def offset(self) -> tuple[ErrorCode, int]:
        """(error, the group's position in t-0)."""
        schema = item_schema(request_schema(api.OFFSET_FETCH, 8), "groups")
        topic = make(item_schema(schema, "topics"), name="t", partition_indexes=(0,))
        group = make(schema, group_id="g", topics=(topic,))
        answer = await ask(self.groups, api.OFFSET_FETCH, 8, groups=(group,), require_stable=False)
        (reported,) = answer.groups
        partition = reported.topics[0].partitions[0]
        return reported.error_code or partition.error_code, int(partition.committed_offset)

    async def beat(self, group: str = "g") -> ErrorCode:
        answer = await ask(
            self.groups,
            api.HEARTBEAT,
            4,
            group_id=group,
            generation_id=1,
            member_id="m",
            group_instance_id=None,
        )
        code: ErrorCode = answer.error_code
        return code

    def join(self) -> asyncio.Future[Any]:
        schema = item_schema(request_schema(api.JOIN_GROUP, 3), "protocols")
        return ask(
            self.groups,
            api.JOIN_GROUP,
            3,
            group_id="g",
            session_timeout=SECOND,
            rebalance_timeout=SECOND,
            member_id="",
            protocol_type="consumer",
            protocols=(make(schema, name="range", metadata=b""),),
        )

    async def find(self, *keys: str, kind: int = 0) -> list[Any]:
        answer = await ask(
            self.groups, api.FIND_COORDINATOR, 4, key_type=kind, coordinator_keys=keys
        )
        return list(answer.coordinators)


def with_groups(
    tmp_path: Path, test: Callable[[Bench], Coroutine[Any, Any, None]], image: Any = None
) -> None:
    async def run() -> None:
        bench = Bench(tmp_path, image or image_of((OFFSETS_TOPIC, 5), ("t", 1)))
        await bench.groups.start()
        bench.groups.committed(0, bench.plane.image())
        try:
            await asyncio.wait_for(test(bench), 120)
        finally:
            await bench.groups.close()

    asyncio.run(run())


# --- who coordinates ----------------------------------------------------------------------


def test_a_broker_that_does_not_lead_is_no_coordinator(tmp_path):
    async def test(bench: Bench) -> None:
        assert await bench.beat() == ErrorCode.not_coordinator
        await bench.lead((MINE + 1) % 5)
        assert await bench.beat() == ErrorCode.not_coordinator
        await bench.lead(MINE)
        assert await bench.beat() == ErrorCode.unknown_member_id

    with_groups(tmp_path, test)


def test_nothing_is_reported_while_it_loads(tmp_path):
    """14 until all that an earlier leader may have acknowledged is known to be read."""

    async def test(bench: Bench) -> None:
        bench.partitions.held = asyncio.Event()
        await bench.lead(MINE)
        assert await bench.beat() == ErrorCode.coordinator_load_in_progress
        assert (await bench.offset())[0] == ErrorCode.coordinator_load_in_progress
        bench.partitions.held.set()
        await bench.plane.settle()
        assert await bench.beat() == ErrorCode.unknown_member_id

    with_groups(tmp_path, test)


def test_loading_goes_on_when_replicas_are_missing_at_first(tmp_path):
    async def test(bench: Bench) -> None:
        bench.partitions.error = ErrorCode.not_enough_replicas
        await bench.lead(MINE)
        assert await bench.beat() == ErrorCode.coordinator_load_in_progress
        bench.partitions.error = ErrorCode.none
        while await bench.beat() != ErrorCode.unknown_member_id:
            await asyncio.sleep(0.01)

    with_groups(tmp_path, test)


def test_find_coordinator_names_the_leader(tmp_path):
    async def test(bench: Bench) -> None:
        one, two = await bench.find("g", "h")
        assert (one.key, one.node_id, one.host, one.port) == ("g", ME, f"h{ME}", 9092)
        assert two.node_id == ME
        (refused,) = await bench.find("x", kind=1)
        assert refused.error_code == ErrorCode.unsupported_version
        (refused,) = await bench.find("x", kind=9)
        assert refused.error_code == ErrorCode.invalid_request

    with_groups(tmp_path, test)


@pytest.mark.parametrize("brokers, replication", [(1, 1), (2, 2), (5, 3)])
def test_the_first_search_makes_the_topic(tmp_path, brokers, replication):
    """Once, and of at most three replicas; those who look meanwhile wait for it, too."""

    async def test(bench: Bench) -> None:
        made = image_of((OFFSETS_TOPIC, 5), brokers=brokers)

        def make_it() -> None:
            bench.plane.now = made
            bench.groups.committed(1, made)

        bench.forwarder.made = make_it
        found = await asyncio.gather(bench.find("g"), bench.find("h"))
        assert [each.error_code for (each,) in found] == [0, 0]
        (request,) = bench.forwarder.asked
        (topic,) = request.topics
        assert (topic.name, topic.num_partitions) == (OFFSETS_TOPIC, 5)
        assert topic.replication_factor == replication

    with_groups(tmp_path, test, image_of(brokers=brokers))


def test_a_topic_that_cannot_be_made_is_said_to_be_missing(tmp_path):
    async def test(bench: Bench) -> None:
        bench.forwarder.code = ErrorCode.invalid_replication_factor
        for _ in range(2):
            (answer,) = await bench.find("g")
            assert answer.error_code == ErrorCode.coordinator_not_available
        assert len(bench.forwarder.asked) == 2  # each search tries again
        assert await bench.beat() == ErrorCode.coordinator_not_available

    with_groups(tmp_path, test, image_of(("t", 1)))


# --- failovers ----------------------------------------------------------------------------


def test_the_next_leader_knows_what_was_acknowledged(tmp_path):
    """A.5.4: from the log alone."""

    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        assert await bench.committed(5) == ErrorCode.none
        assert await bench.committed(6) == ErrorCode.none
        bench.partitions.lead(MINE, leads=False)
        assert await bench.offset() == (ErrorCode.not_coordinator, -1)
        await bench.lead(MINE)
        assert await bench.offset() == (ErrorCode.none, 6)

    with_groups(tmp_path, test)


def test_records_of_strangers_do_not_stop_the_loading(tmp_path, caplog):
    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        assert await bench.committed(5) == ErrorCode.none
        log = bench.partitions.logs[MINE]
        data = encode_changes((), 0).replace(b"\x00\x02\x00\x00", b"\x00\x02\x00\x09")
        log.append(len(log).to_bytes(8, "big") + _crc_again(data)[8:])
        await bench.lead(MINE)
        assert await bench.offset() == (ErrorCode.none, 5)
        assert "no records of ours" in caplog.text

    with_groups(tmp_path, test)


def _crc_again(data: bytes) -> bytes:
    from crc32c import crc32c

    return data[:17] + crc32c(data[21:]).to_bytes(4, "big") + data[21:]


def test_a_deposed_coordinator_acknowledges_nothing(tmp_path):
    """A.5.11: not what was appended before it knew, nor what it tries after."""

    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        bench.partitions.held = asyncio.Event()
        waiting = bench.commit(5)
        joining = bench.join()
        await bench.plane.settle()
        bench.partitions.lead(MINE, leads=False)
        assert (await waiting).topics[0].partitions[0].error_code == ErrorCode.not_coordinator
        assert (await joining).error_code == ErrorCode.not_coordinator
        bench.partitions.held.set()
        await bench.plane.settle()
        assert await bench.beat() == ErrorCode.not_coordinator

    with_groups(tmp_path, test)


def test_a_leader_that_does_not_know_of_its_fall_acknowledges_nothing(tmp_path):
    """A.5.11: the log refuses what it appends."""

    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        bench.partitions.led.clear()
        assert await bench.committed(5) == ErrorCode.not_coordinator
        bench.partitions.led.add(MINE)
        bench.partitions.error = ErrorCode.not_enough_replicas_after_append
        assert await bench.committed(5) == ErrorCode.coordinator_not_available

    with_groups(tmp_path, test)


def test_without_a_lease_nobody_is_coordinated(tmp_path):
    """A.1.55: also who waited; with a lease again, from the log anew."""

    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        assert await bench.committed(5) == ErrorCode.none
        joining = bench.join()
        bench.plane.active = False
        bench.groups.moved(Transition(BrokerState.ACTIVE, BrokerState.FENCED, 1, "lease over"))
        assert (await joining).error_code == ErrorCode.not_coordinator
        assert await bench.offset() == (ErrorCode.not_coordinator, -1)
        bench.plane.active = True
        bench.groups.moved(Transition(BrokerState.FENCED, BrokerState.ACTIVE, 2, "again"))
        await bench.plane.settle()
        assert await bench.offset() == (ErrorCode.none, 5)

    with_groups(tmp_path, test)


def test_an_answer_that_is_ready_after_the_lease_is_not_given(tmp_path):
    """A.1.56: at this very moment, whatever the life cycle has heard of."""

    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        bench.partitions.held = asyncio.Event()
        waiting = bench.commit(5)
        await bench.plane.settle()
        bench.plane.active = False
        bench.partitions.held.set()
        code = (await waiting).topics[0].partitions[0].error_code
        assert code == ErrorCode.not_coordinator

    with_groups(tmp_path, test)


def test_time_passes_in_the_shard(tmp_path):
    """The initial delay of a first rebalance, by the loop's own clock."""

    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        answer = await bench.join()
        assert (answer.error_code, answer.generation_id) == (ErrorCode.none, 1)
        assert answer.member_id.startswith("c-")

    with_groups(tmp_path, test)


def test_offsets_go_with_their_topic(tmp_path):
    """Where it is deleted while we coordinate, and where it was deleted before we did."""

    async def test(bench: Bench) -> None:
        def show(*topics: tuple[str, int]) -> None:
            bench.plane.now = image_of((OFFSETS_TOPIC, 5), *topics)
            bench.groups.committed(1, bench.plane.now)

        await bench.lead(MINE)
        for leads_meanwhile in (True, False):
            show(("t", 1))
            assert await bench.committed(5) == ErrorCode.none
            if not leads_meanwhile:
                bench.partitions.lead(MINE, leads=False)
            show()
            if not leads_meanwhile:
                await bench.lead(MINE)
            await bench.plane.settle()
            show(("t", 1))
            assert await bench.offset() == (ErrorCode.none, -1)

    with_groups(tmp_path, test)


@pytest.mark.parametrize("loads", [False, True])
def test_offsets_do_not_outlive_their_topic_in_another_of_its_name(tmp_path, loads):
    """A broker that was behind sees the old topic's end and the new one's begin at once; be it
    while it reads what the coordinator before it wrote."""

    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        assert await bench.committed(5) == ErrorCode.none
        if loads:
            bench.partitions.lead(MINE, leads=False)
            bench.partitions.held = asyncio.Event()
            await bench.lead(MINE)
        image, new = bench.plane.now, uuid.uuid4()
        old = image.topic_ids["t"]
        partition = PartitionRecord(
            partition_id=0, topic_id=new, replicas=(ME,), isr=(ME,), leader=ME, leader_epoch=0
        )
        for record in (
            TopicRecord(name="t", topic_id=old, deleting=True),
            RemoveTopicRecord(topic_id=old),
            TopicRecord(name="t", topic_id=new, deleting=False),
            partition,
        ):
            image = apply(image, record, 100)
        bench.plane.now = image
        bench.groups.committed(1, image)
        if bench.partitions.held is not None:
            bench.partitions.held.set()
        await bench.plane.settle()
        assert await bench.offset() == (ErrorCode.none, -1)
        assert await bench.committed(7) == ErrorCode.none
        bench.groups.committed(2, image)
        await bench.plane.settle()
        assert await bench.offset() == (ErrorCode.none, 7)

    with_groups(tmp_path, test)


# --- who may ------------------------------------------------------------------------------


def test_groups_of_others(tmp_path):
    """A.1.19's kind: 30 where the group is not the client's, for each request."""

    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        bench.plane.denied |= {(READ, GROUP, "g"), (DESCRIBE, GROUP, "g"), (DELETE, GROUP, "g")}
        denied = ErrorCode.group_authorization_failed
        assert await bench.beat() == denied
        assert await bench.committed(5) == denied
        assert (await bench.offset())[0] == denied
        assert (await bench.join()).error_code == denied
        (found,) = await bench.find("g")
        assert found.error_code == denied
        answer = await ask(bench.groups, api.DELETE_GROUPS, 2, groups_names=("g",))
        assert [each.error_code for each in answer.results] == [denied]
        described = await ask(
            bench.groups,
            api.DESCRIBE_GROUPS,
            5,
            groups=("g",),
            include_authorized_operations=False,
        )
        assert [each.error_code for each in described.groups] == [denied]

    with_groups(tmp_path, test)


def test_topics_of_others(tmp_path):
    """29 for each of their partitions."""

    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        assert await bench.committed(5) == ErrorCode.none
        bench.plane.denied |= {(READ, TOPIC, "t"), (DESCRIBE, TOPIC, "t")}
        assert await bench.committed(6) == ErrorCode.topic_authorization_failed
        assert await bench.offset() == (ErrorCode.topic_authorization_failed, -1)
        bench.plane.denied.clear()
        assert await bench.offset() == (ErrorCode.none, 5)

    with_groups(tmp_path, test)


def test_partitions_that_there_are_not_and_texts_that_are_too_long(tmp_path):
    async def test(bench: Bench) -> None:
        await bench.lead(MINE)
        assert await bench.committed(5, topic="x") == ErrorCode.unknown_topic_or_partition
        assert await bench.committed(5, text="x" * 4097) == ErrorCode.offset_metadata_too_large
        assert await bench.committed(5, text="x" * 4096) == ErrorCode.none

    with_groups(tmp_path, test)


def test_a_name_that_no_record_can_hold_ends_no_coordinator(tmp_path):
    """Requests of newer versions have room for names that the records' schemas have not."""

    async def test(bench: Bench) -> None:
        group = "g" * 40_000
        await bench.lead(partition_of(group, 5), MINE)
        code = await bench.committed(5, group=group)
        assert code == ErrorCode.unknown_server_error
        await bench.plane.settle()  # raises what a task of the plane failed with: the node's end
        assert await bench.committed(5) == ErrorCode.none

    with_groups(tmp_path, test)


# --- administration -----------------------------------------------------------------------


def test_groups_are_listed_described_and_deleted(tmp_path):
    async def test(bench: Bench) -> None:
        await bench.lead(*range(5))
        for group in ("a", "b", "c"):
            assert await bench.committed(5, group=group) == ErrorCode.none
        bench.plane.denied |= {(DESCRIBE, GROUP, "b")}
        listed = await ask(bench.groups, api.LIST_GROUPS, 4, states_filter=())
        assert {each.group_id for each in listed.groups} == {"a", "c"}
        described = await ask(
            bench.groups,
            api.DESCRIBE_GROUPS,
            5,
            groups=("a", "x"),
            include_authorized_operations=False,
        )
        assert [each.group_state for each in described.groups] == ["Empty", "Dead"]
        deleted = await ask(bench.groups, api.DELETE_GROUPS, 2, groups_names=("a", "x", "c", "a"))
        codes = {each.group_id: each.error_code for each in deleted.results}
        assert codes == {"a": 0, "x": ErrorCode.group_id_not_found, "c": 0}
        listed = await ask(bench.groups, api.LIST_GROUPS, 4, states_filter=())
        assert listed.groups == ()

    with_groups(tmp_path, test)


def test_offsets_are_deleted_by_who_may(tmp_path):
    """KIP-496: DELETE on the group (30 at the top), READ on the topic (29), 3 where there is no
    such partition; from a broker that does not coordinate the group 16."""

    async def test(bench: Bench) -> None:
        def delete(**topics: tuple[int, ...]) -> Any:
            schema = request_schema(api.OFFSET_DELETE, 0)
            topic = schema.__dataclass_fields__["topics"].type.__args__[0]
            partition = topic.__dataclass_fields__["partitions"].type.__args__[0]
            wanted = tuple(
                make(
                    topic,
                    name=name,
                    partitions=tuple(make(partition, partition_index=each) for each in numbers),
                )
                for name, numbers in topics.items()
            )
            return ask(bench.groups, api.OFFSET_DELETE, 0, group_id="g", topics=wanted)

        assert (await delete(t=(0,))).error_code == ErrorCode.not_coordinator
        await bench.lead(*range(5))
        assert await bench.committed(5) == ErrorCode.none
        denied = {(DELETE, GROUP, "g")}
        bench.plane.denied |= denied
        assert (await delete(t=(0,))).error_code == ErrorCode.group_authorization_failed
        bench.plane.denied -= denied
        bench.plane.denied |= {(READ, TOPIC, "t")}
        (topic,) = (await delete(t=(0,))).topics
        assert topic.partitions[0].error_code == ErrorCode.topic_authorization_failed
        bench.plane.denied -= {(READ, TOPIC, "t")}
        assert (await bench.offset())[1] == 5
        answer = await delete(t=(0, 99), missing=(0,))
        codes = [[each.error_code for each in topic.partitions] for topic in answer.topics]
        assert codes == [[0, 3], [3]]
        assert (await bench.offset())[1] == -1

    with_groups(tmp_path, test)
