"""Fetch sessions of followers (KIP-227), and who may fetch and produce, in one process."""

from __future__ import annotations

import asyncio
import datetime
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v16 import request as wire
from kio.static.primitive import i32, i32Timedelta, i64

from nodes.kraft.net.listener import RequestContext
from nodes.kraft.partition.batches import read_batch
from nodes.kraft.runtime.fetch import Fetch
from nodes.kraft.runtime.offsets import Offsets
from nodes.kraft.runtime.produce import Produce
from nodes.kraft.security.authorizer import Operation, ResourceType
from tests.nodes.kraft.partition.batch_making import encoded
from tests.nodes.kraft.runtime.test_partition_requests import produce_request
from tests.nodes.kraft.runtime.test_partition_service import (
    TOPIC,
    Service,
    eventually,
    image_of,
    led,
    run,
)

FOLLOWER = 5
EPOCH = 1  # of all brokers but ours in `image_of`


def fetch(
    session: tuple[int, int],
    positions: dict[int, int],
    *,
    replica: int = FOLLOWER,
    epoch: int = EPOCH,
    wait_ms: int = 0,
    forgotten: tuple[int, ...] = (),
    max_bytes: int = 10**6,
    leader_epoch: int = 0,
) -> wire.FetchRequest:
    partitions = tuple(
        wire.FetchPartition(
            partition=i32(number),
            current_leader_epoch=i32(leader_epoch),
            fetch_offset=i64(offset),
            last_fetched_epoch=i32(0 if offset else -1),
            partition_max_bytes=i32(10**6),
        )
        for number, offset in positions.items()
    )
    gone = tuple(i32(number) for number in forgotten)
    return wire.FetchRequest(
        replica_state=wire.ReplicaState(replica_id=replica, replica_epoch=i64(epoch)),  # type: ignore[arg-type]
        max_wait=i32Timedelta.parse(datetime.timedelta(milliseconds=wait_ms)),
        min_bytes=i32(1),
        max_bytes=i32(max_bytes),
        session_id=i32(session[0]),
        session_epoch=i32(session[1]),
        topics=(wire.FetchTopic(topic_id=TOPIC, partitions=partitions),) if partitions else (),
        forgotten_topics_data=(wire.ForgottenTopic(topic_id=TOPIC, partitions=gone),)
        if gone
        else (),
    )


class Leader:
    """A broker that leads partitions 0..2, and what it answered."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.handler = Fetch(service.plane, service.partitions)  # type: ignore[arg-type]

    def ask(self, request: Any) -> list[Any]:
        """What is answered at once goes into the list, and what is answered later, too."""
        answers: list[Any] = []
        self.handler.serve(RequestContext("PLAINTEXT", "test", None, request, answers.append))
        return answers

    def reported(self, request: Any) -> dict[int, Any]:
        """Partition to answer, of a request that is answered at once."""
        (response,) = self.ask(request)
        assert response.error_code == ErrorCode.none
        return partitions(response)


def partitions(response: Any) -> dict[int, Any]:
    return {
        int(each.partition_index): each for topic in response.responses for each in topic.partitions
    }


async def leading(service: Service, count: int = 3) -> Leader:
    await service.commit(image_of({number: led(isr=(4, 5)) for number in range(count)}))
    return Leader(service)


def test_a_session_names_what_is_new_and_tells_what_is_new(tmp_path: Path) -> None:
    async def test() -> None:
        async with Service(tmp_path) as service:
            leader = await leading(service)
            (first,) = leader.ask(fetch((0, 0), {0: 0, 1: 0, 2: 0}))
            session = int(first.session_id)
            assert session > 0
            assert set(partitions(first)) == {0, 1, 2}
            assert leader.reported(fetch((session, 1), {})) == {}
            await service.append(1)
            reported = leader.reported(fetch((session, 2), {}))
            assert set(reported) == {1}
            assert read_batch(bytes(reported[1].records)).end_offset == 2
            assert leader.reported(fetch((session, 3), {})) == {}  # until it is named again
            hosted = service.partitions.get((TOPIC, 1))
            assert hosted is not None
            assert hosted.state.high_watermark == 0
            reported = leader.reported(fetch((session, 4), {1: 2}))
            assert hosted.state.high_watermark == 2
            assert reported[1].high_watermark == 2
            assert not reported[1].records
            assert leader.reported(fetch((session, 5), {}, forgotten=(0,))) == {}
            await service.append(0)
            assert leader.reported(fetch((session, 6), {})) == {}

    run(test)


@pytest.mark.parametrize("forgets", [False, True])
def test_who_follows_anew_is_told_the_high_watermark_anew(tmp_path: Path, forgets: bool) -> None:
    """It may have had a new leader epoch before the answer that told it came, which then said
    nothing to it; or the partition was moved away and came back."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            leader = await leading(service)
            (first,) = leader.ask(fetch((0, 0), {1: 0}))
            session = int(first.session_id)
            await service.append(1)
            leader.ask(fetch((session, 1), {}))
            reported = leader.reported(fetch((session, 2), {1: 2}))
            assert reported[1].high_watermark == 2
            if forgets:
                leader.ask(fetch((session, 3), {}, forgotten=(1,)))
                reported = leader.reported(fetch((session, 4), {1: 2}))
            else:
                again = {number: led(epoch=1, isr=(4, 5)) for number in range(3)}
                await service.commit(image_of(again))
                reported = leader.reported(fetch((session, 3), {1: 2}, leader_epoch=1))
            assert reported[1].high_watermark == 2

    run(test)


def test_a_parked_fetch_returns_for_records_for_a_new_role_and_for_an_empty_fetch(
    tmp_path: Path,
) -> None:
    async def test() -> None:
        async with Service(tmp_path) as service:
            leader = await leading(service)
            session = int(leader.ask(fetch((0, 0), {0: 0, 1: 0}))[0].session_id)
            parked = leader.ask(fetch((session, 1), {}, wait_ms=20_000))
            assert parked == []
            await service.append(1)
            await eventually(lambda: parked)
            assert set(partitions(parked[0])) == {1}

            parked = leader.ask(fetch((session, 2), {1: 2}, wait_ms=20_000))
            assert parked == []
            assert leader.ask(fetch((0, -1), {}))[0].session_id == 0
            assert partitions(parked[0])[1].high_watermark == 2

            parked = leader.ask(fetch((session, 3), {}, wait_ms=20_000))
            await service.commit(image_of({0: led(5, epoch=1), 1: led(isr=(4, 5)), 2: led()}))
            await eventually(lambda: parked)
            assert partitions(parked[0])[0].error_code == ErrorCode.not_leader_or_follower
            assert partitions(parked[0])[0].current_leader.leader_epoch == 1

            parked = leader.ask(fetch((session, 4), {}, wait_ms=30))
            await eventually(lambda: parked)
            assert partitions(parked[0]) == {}

    run(test)


def test_sessions_that_are_not_known_or_out_of_step_are_refused(tmp_path: Path) -> None:
    """The follower begins anew; a process that has a successor cannot take its session."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            leader = await leading(service)
            unknown = leader.ask(fetch((9, 1), {0: 0}))[0]
            assert unknown.error_code == ErrorCode.fetch_session_id_not_found
            session = int(leader.ask(fetch((0, 0), {0: 0}))[0].session_id)
            for request in (fetch((session, 2), {0: 0}), fetch((session, 1), {0: 0}, epoch=2)):
                refused = leader.ask(request)[0]
                assert refused.error_code == ErrorCode.invalid_fetch_session_epoch
            late = leader.ask(fetch((0, 0), {0: 0}, epoch=0))[0]
            assert late.error_code == ErrorCode.fetch_session_id_not_found
            assert leader.reported(fetch((session, 1), {})) == {}
            stranger = leader.ask(fetch((0, 0), {0: 0}, replica=77))[0]
            assert stranger.session_id == 0
            assert partitions(stranger)[0].error_code == ErrorCode.not_leader_or_follower

    run(test)


def test_a_follower_with_records_of_another_history_is_reported_where_it_diverges(
    tmp_path: Path,
) -> None:
    async def test() -> None:
        async with Service(tmp_path) as service:
            leader = await leading(service)
            await service.append(0)
            reported = leader.reported(fetch((0, 0), {0: 5}))[0]
            assert (reported.diverging_epoch.epoch, reported.diverging_epoch.end_offset) == (0, 2)
            hosted = service.partitions.get((TOPIC, 0))
            assert hosted is not None
            assert hosted.state.high_watermark == 0  # such a fetch counts for nothing

    run(test)


@pytest.mark.parametrize("refused", [False, True])
def test_a_follower_with_records_of_another_history_is_reported_no_high_watermark(
    tmp_path: Path, refused: bool
) -> None:
    """It would call its own records committed, and cut them off a moment later. `refused`: at
    first the leader has no lease, and says nothing of divergence."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            await service.commit(image_of({0: led(isr=(4, 6))}))
            leader = Leader(service)
            await service.append(0)
            serving = service.plane.serving
            service.plane.serving = lambda: not refused  # type: ignore[method-assign]
            (first,) = leader.ask(fetch((0, 0), {0: 5}))
            assert (partitions(first)[0].error_code == ErrorCode.not_leader_or_follower) == refused
            service.plane.serving = serving  # type: ignore[method-assign]
            leader.ask(fetch((0, 0), {0: 2}, replica=6))
            hosted = service.partitions.get((TOPIC, 0))
            assert hosted is not None
            assert hosted.state.high_watermark == 2
            assert leader.reported(fetch((int(first.session_id), 1), {})) == {}
            reported = leader.reported(fetch((int(first.session_id), 2), {0: 5}))[0]
            assert (reported.diverging_epoch.epoch, reported.diverging_epoch.end_offset) == (0, 2)

    run(test)


def test_a_fetch_of_many_large_partitions_stays_within_its_bytes(tmp_path: Path) -> None:
    """The first batch always comes; what did not fit comes with the next answer."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            leader = await leading(service)
            for number in range(3):
                big = encoded(value=b"x" * 3000)
                await service.partitions.append(TOPIC, number, big, 1, 1000)
            (answer,) = leader.ask(fetch((0, 0), {0: 0, 1: 0, 2: 0}, max_bytes=4000))
            session, seen = int(answer.session_id), set()
            for epoch in range(1, 4):
                held = [n for n, each in partitions(answer).items() if each.records]
                assert len(held) == 1
                seen.update(held)
                (answer,) = leader.ask(fetch((session, epoch), {}, max_bytes=4000))
            assert seen == {0, 1, 2}

    run(test)


def test_who_may_not_sees_29_and_no_data(tmp_path: Path) -> None:
    """WRITE, READ and DESCRIBE on the topic; CLUSTER_ACTION for followers."""
    asked: list[tuple[Operation, ResourceType, str]] = []

    def deny(_: Any, operation: Operation, resource: ResourceType, name: str) -> bool:
        asked.append((operation, resource, name))
        return False

    async def test() -> None:
        async with Service(tmp_path) as service:
            leader = await leading(service)
            await service.append(0)
            service.plane.allowed = deny  # type: ignore[method-assign]
            reported = partitions(leader.ask(fetch((0, 0), {0: 0}))[0])[0]
            assert (reported.error_code, reported.records or b"") == (29, b"")
            assert asked.pop() == (Operation.CLUSTER_ACTION, ResourceType.CLUSTER, "kafka-cluster")
            consumer = partitions(leader.ask(fetch((0, -1), {0: 0}, replica=-1))[0])[0]
            assert (consumer.error_code, consumer.records or b"") == (29, b"")
            assert asked.pop() == (Operation.READ, ResourceType.TOPIC, "t")
            produce = Produce(service.plane, service.partitions)  # type: ignore[arg-type]
            answers: list[Any] = []
            request = produce_request("t", encoded(), -1, 9)
            produce.serve(RequestContext("PLAINTEXT", "test", None, request, answers.append))
            assert answers[0].responses[0].partition_responses[0].error_code == 29
            assert asked.pop() == (Operation.WRITE, ResourceType.TOPIC, "t")
            assert (
                Offsets(service.plane, service.partitions)._find(  # type: ignore[arg-type]
                    RequestContext("PLAINTEXT", "test", None, None, answers.append), "t", 0
                )[2]
                == 29
            )
            assert asked.pop() == (Operation.DESCRIBE, ResourceType.TOPIC, "t")
            hosted = service.partitions.get((TOPIC, 0))
            assert hosted is not None
            assert hosted.state.log.end_offset == 2

    run(test)


def test_a_fetch_that_waits_is_answered_when_the_lease_ends(tmp_path: Path) -> None:
    """A.7.5, D.11: with 6, and without the records that came meanwhile."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            leader = await leading(service)
            parked = leader.ask(fetch((0, -1), {0: 0}, replica=-1, wait_ms=60))
            await asyncio.sleep(0)
            service.plane.serving = lambda: False  # type: ignore[method-assign]
            await service.append(0)
            await eventually(lambda: parked)
            reported = partitions(parked[0])[0]
            assert (reported.error_code, reported.records or b"") == (6, b"")

    run(test)


def test_consumers_see_what_is_committed_and_nothing_else(tmp_path: Path) -> None:
    """A.5.3, D.18: a follower reads to the end of the log, a consumer to the high watermark; it
    is woken when that moves."""

    async def test() -> None:
        async with Service(tmp_path) as service:
            leader = await leading(service)
            await service.append(0)
            consumer = fetch((0, -1), {0: 0}, replica=-1)
            reported = leader.reported(consumer)[0]
            assert (
                reported.records or b"",
                reported.high_watermark,
                reported.last_stable_offset,
            ) == (
                b"",
                0,
                0,
            )
            parked = leader.ask(fetch((0, -1), {0: 0}, replica=-1, wait_ms=20_000))
            assert parked == []
            assert (
                read_batch(bytes(leader.reported(fetch((0, 0), {0: 0}))[0].records)).end_offset == 2
            )
            assert parked == []
            leader.ask(fetch((0, 0), {0: 2}))
            await eventually(lambda: parked)
            reported = partitions(parked[0])[0]
            assert (read_batch(bytes(reported.records)).end_offset, reported.high_watermark) == (
                2,
                2,
            )

    run(test)
