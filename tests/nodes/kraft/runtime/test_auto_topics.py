"""Topics that are made because a client asked for them (Kafka's auto.create.topics.enable)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from group_plane import FakePlane, ask, image_of
from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload

from nodes.kraft.controller.answers import make, refused
from nodes.kraft.ids import Offset
from nodes.kraft.runtime.admin import Admin
from nodes.kraft.runtime.auto_topics import MOST
from nodes.kraft.runtime.forwarding import Forwarded
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, Requester, ResourceType
from nodes.kraft.wire.codec import request_schema

METADATA = 3
UNKNOWN = ErrorCode.unknown_topic_or_partition


class FakeForwarder:
    """Keeps what it is to forward, unanswered until `answer` is set."""

    def __init__(self) -> None:
        self.sent: list[tuple[Any, Requester | None]] = []
        self.answer = asyncio.Event()

    async def forward(
        self,
        request: RequestPayload,
        timeout_s: float,
        requester: Requester | None = None,
    ) -> Forwarded:
        self.sent.append((request, requester))
        await self.answer.wait()
        return Forwarded(refused(request, ErrorCode.not_controller), False, Offset(0))

    def topics(self) -> list[tuple[str, int, int]]:
        return [
            (topic.name, topic.num_partitions, topic.replication_factor)
            for request, _ in self.sent
            for topic in request.topics
        ]


Test = Callable[[FakePlane, Admin, FakeForwarder], Awaitable[None]]


def with_admin(directory: Path, test: Test, **settings: str) -> None:
    async def main() -> None:
        plane = FakePlane(directory, image_of(("there", 1), ("a.b", 1)), **settings)
        forwarder = FakeForwarder()
        await test(plane, Admin(plane, forwarder), forwarder)  # type: ignore[arg-type]

    asyncio.run(main())


async def metadata(admin: Admin, *names: str, version: int = 9, **flags: bool) -> list[int]:
    """The codes of these topics."""
    schema = request_schema(METADATA, version)
    topic = schema.__dataclass_fields__["topics"].type.__args__[0].__args__[0]
    fields: dict[str, Any] = {
        "topics": tuple(make(topic, name=name, topic_id=None) for name in names),
        "include_cluster_authorized_operations": False,
        "include_topic_authorized_operations": False,
        "allow_auto_topic_creation": True,
    }
    response = await ask(admin, METADATA, version, **(fields | flags))
    return [topic.error_code for topic in response.topics]


@pytest.mark.parametrize("version", [1, 3, 4, 9, 13])
def test_a_topic_that_is_not_there_is_asked_for(tmp_path: Path, version: int) -> None:
    """As the client, with what this broker is set to; the client is told at once that there is
    none, and asks again. Before version 4 nobody could refuse."""

    async def test(plane: FakePlane, admin: Admin, forwarder: FakeForwarder) -> None:
        assert await metadata(admin, "there", "new", version=version) == [0, UNKNOWN]
        await plane.settle()
        assert forwarder.topics() == [("new", 4, -1)]
        requester = forwarder.sent[0][1]
        assert requester is not None
        assert requester.principal.name == "ANONYMOUS"

    with_admin(tmp_path, test, **{"num.partitions": "4"})


def test_what_is_not_asked_to_be_made_is_not(tmp_path: Path) -> None:
    async def test(plane: FakePlane, admin: Admin, forwarder: FakeForwarder) -> None:
        assert await metadata(admin, "new", allow_auto_topic_creation=False) == [UNKNOWN]
        await metadata(admin)
        await plane.settle()
        assert forwarder.sent == []

    with_admin(tmp_path, test)


def test_it_can_be_set_off(tmp_path: Path) -> None:
    async def test(plane: FakePlane, admin: Admin, forwarder: FakeForwarder) -> None:
        assert await metadata(admin, "new") == [UNKNOWN]
        await plane.settle()
        assert forwarder.sent == []

    with_admin(tmp_path, test, **{"auto.create.topics.enable": "false"})


def test_who_may_not_create_is_refused(tmp_path: Path) -> None:
    """29, as Kafka says it; CREATE on the topic is enough where that on the cluster is missing."""

    async def test(plane: FakePlane, admin: Admin, forwarder: FakeForwarder) -> None:
        plane.denied = {
            (Operation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME),
            (Operation.CREATE, ResourceType.TOPIC, "no"),
        }
        codes = await metadata(admin, "no", "yes")
        assert codes == [ErrorCode.topic_authorization_failed, UNKNOWN]
        assert await metadata(admin, "no", allow_auto_topic_creation=False) == [UNKNOWN]
        await plane.settle()
        assert [name for name, _, _ in forwarder.topics()] == ["yes"]

    with_admin(tmp_path, test)


@pytest.mark.parametrize("name", ["a b", "x" * 250, "..", "__cluster_metadata", "a_b"])
def test_a_name_that_no_topic_can_have_is_refused(tmp_path: Path, name: str) -> None:
    """17, for which producers do not wait; "a_b" stands beside "a.b"."""

    async def test(plane: FakePlane, admin: Admin, forwarder: FakeForwarder) -> None:
        assert await metadata(admin, name) == [ErrorCode.invalid_topic_exception]
        await plane.settle()
        assert forwarder.sent == []

    with_admin(tmp_path, test)


def test_each_is_asked_for_once_at_a_time(tmp_path: Path) -> None:
    """And again once that is over: the controller may have refused."""

    async def test(plane: FakePlane, admin: Admin, forwarder: FakeForwarder) -> None:
        await metadata(admin, "new", "new", "other")
        await metadata(admin, "new", "third")
        await plane.settle()
        assert [name for name, _, _ in forwarder.topics()] == ["new", "other", "third"]
        forwarder.answer.set()
        await plane.settle()
        await metadata(admin, "new")
        await plane.settle()
        assert len(forwarder.sent) == 3

    with_admin(tmp_path, test)


def test_not_too_many_at_a_time(tmp_path: Path) -> None:
    async def test(plane: FakePlane, admin: Admin, forwarder: FakeForwarder) -> None:
        await metadata(admin, *(f"t{number}" for number in range(MOST + 10)))
        await metadata(admin, "one-more")
        await plane.settle()
        assert len(forwarder.topics()) == MOST

    with_admin(tmp_path, test)


def test_the_topic_of_groups_is_made_as_set(tmp_path: Path) -> None:
    async def test(plane: FakePlane, admin: Admin, forwarder: FakeForwarder) -> None:
        await metadata(admin, "__consumer_offsets")
        await plane.settle()
        assert forwarder.topics() == [("__consumer_offsets", 7, 2)]

    settings = {"offsets.topic.num.partitions": "7", "offsets.topic.replication.factor": "2"}
    with_admin(tmp_path, test, **settings)
