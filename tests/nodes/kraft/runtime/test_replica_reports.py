"""DescribeLogDirs and DescribeProducers: a broker's own replicas, as administrators see them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from group_plane import FakePlane, ask, image_of
from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.broker.view import refusal
from nodes.kraft.controller.answers import blank, make
from nodes.kraft.ids import LOG_START
from nodes.kraft.partition.producers import Producer, Written
from nodes.kraft.partition.state import Log, PartitionState
from nodes.kraft.runtime.replica_reports import ReplicaReports
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, ResourceType
from nodes.kraft.wire.codec import encode_response, request_schema

LOG_DIRS, PRODUCERS = 35, 61
WRITTEN = Written(first_sequence=7, last_sequence=9, base_offset=LOG_START, end_offset=LOG_START)


class Replica:
    """One that this broker leads, or follows."""

    def __init__(self, size: int, end: int, committed: int, *, leads: bool = True) -> None:
        self.log = SimpleNamespace(size=size) if size else None
        producers = Map({12: Producer(3, (WRITTEN,)), 4: Producer(0, (WRITTEN, WRITTEN))})
        log = Log(end_offset=end, producers=producers)  # type: ignore[arg-type]
        self.state = PartitionState(log, committed)  # type: ignore[arg-type]
        self._leads = leads

    def leading(self) -> object | None:
        return object() if self._leads else None


class Replicas:
    def __init__(self, found: dict[Any, Replica]) -> None:
        self._found = found

    def replicas(self) -> list[tuple[Any, Replica]]:
        return list(self._found.items())

    def get(self, key: Any) -> Replica | None:
        return self._found.get(key)


Test = Callable[[FakePlane, ReplicaReports], Awaitable[None]]


def with_reports(directory: Path, test: Test) -> None:
    """Topic a: partition 0 led here, 1 followed, 2 elsewhere; topic b: one, of nothing yet."""

    async def main() -> None:
        plane = FakePlane(directory, image_of(("a", 3), ("b", 1)))
        plane.config.log_dir.mkdir(parents=True)
        ids = plane.now.topic_ids
        found = {
            (ids["a"], 1): Replica(50, 5, 8, leads=False),
            (ids["a"], 0): Replica(100, 10, 8),
            (ids["b"], 0): Replica(0, 0, 0),
        }
        await test(plane, ReplicaReports(plane, Replicas(found)))  # type: ignore[arg-type]

    asyncio.run(main())


def sizes(result: Any) -> dict[tuple[str, int], tuple[int, int]]:
    return {
        (topic.name, each.partition_index): (each.partition_size, each.offset_lag)
        for topic in result.topics
        for each in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_all_logs(tmp_path: Path, version: int) -> None:
    """The lag is how far a log ends before what is committed."""

    async def test(plane: FakePlane, reports: ReplicaReports) -> None:
        response = await ask(reports, LOG_DIRS, version, topics=None)
        assert encode_response(response, correlation_id=1)
        (result,) = response.results
        assert (result.error_code, result.log_dir) == (0, str(plane.config.log_dir))
        assert sizes(result) == {("a", 0): (100, 0), ("a", 1): (50, 3), ("b", 0): (0, 0)}
        if version >= 4:
            assert 0 < result.usable_bytes <= result.total_bytes

    with_reports(tmp_path, test)


def test_logs_that_are_named(tmp_path: Path) -> None:
    """What is not here is left out."""

    async def test(plane: FakePlane, reports: ReplicaReports) -> None:
        schema = request_schema(LOG_DIRS, 4)
        topic = schema.__dataclass_fields__["topics"].type.__args__[0].__args__[0]
        wanted = tuple(
            make(topic, topic=name, partitions=numbers)
            for name, numbers in (("a", (1, 2)), ("c", (0,)))
        )
        response = await ask(reports, LOG_DIRS, 4, topics=wanted)
        assert sizes(response.results[0]) == {("a", 1): (50, 3)}

    with_reports(tmp_path, test)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_logs_need_describe_on_the_cluster(tmp_path: Path, version: int) -> None:
    async def test(plane: FakePlane, reports: ReplicaReports) -> None:
        plane.denied = {(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME)}
        response = await ask(reports, LOG_DIRS, version, topics=None)
        assert response.results == ()
        assert getattr(response, "error_code", 31) == 31

    with_reports(tmp_path, test)


def asked(**topics: tuple[int, ...]) -> Any:
    schema = request_schema(PRODUCERS, 0)
    topic = schema.__dataclass_fields__["topics"].type.__args__[0]
    return tuple(
        make(topic, name=name, partition_indexes=numbers) for name, numbers in topics.items()
    )


def test_producers(tmp_path: Path) -> None:
    """Of a partition that is led here; elsewhere 6, where there is none 3, who may not read 29."""

    async def test(plane: FakePlane, reports: ReplicaReports) -> None:
        plane.denied = {(Operation.READ, ResourceType.TOPIC, "b")}
        response = await ask(reports, PRODUCERS, 0, topics=asked(a=(0, 1, 2, 9), b=(0,), c=(0,)))
        assert encode_response(response, correlation_id=1)
        codes = {
            (topic.name, each.partition_index): each.error_code
            for topic in response.topics
            for each in topic.partitions
        }
        expected = {("a", 0): 0, ("a", 1): 6, ("a", 2): 6, ("a", 9): 3, ("b", 0): 29, ("c", 0): 3}
        assert codes == expected
        active = response.topics[0].partitions[0].active_producers
        assert [(each.producer_id, each.producer_epoch, each.last_sequence) for each in active] == [
            (4, 0, 9),
            (12, 3, 9),
        ]
        assert not any(topic.partitions[-1].active_producers for topic in response.topics)

    with_reports(tmp_path, test)


def test_a_fenced_broker_says_so() -> None:
    """Where there is room for it; else its connection closes."""
    for version, code in ((1, None), (2, None), (3, 8), (4, 8)):
        response: Any = refusal(blank(request_schema(LOG_DIRS, version)))
        assert (None if response is None else response.error_code) == code
    refused: Any = refusal(blank(request_schema(PRODUCERS, 0), topics=asked(a=(0,))))
    assert refused.topics[0].partitions[0].error_code == ErrorCode.not_leader_or_follower
