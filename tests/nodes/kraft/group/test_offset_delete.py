"""OffsetDelete (KIP-496): offsets of a group go, but for those of topics that it is reading."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from group_harness import Coordinator
from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.controller.answers import make
from nodes.kraft.group import api, asked
from nodes.kraft.group.state import Group, Member, Offset
from nodes.kraft.group.steps import Commit, DeleteOffsets, OffsetsDeleted
from nodes.kraft.group.subscription import subscribes
from nodes.kraft.wire.codec import encode_response, request_schema

NONE = ErrorCode.none


def subscription(*topics: str) -> bytes:
    """As Java's consumers write it, with user data behind."""
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    return struct.pack(">hi", 3, len(topics)) + names + struct.pack(">i", -1)


def committed(*offsets: tuple[str, int], group: str = "g") -> Coordinator:
    """A group without members that committed these."""
    coordinator = Coordinator()
    request = Commit(
        group_id=group,
        generation=-1,
        member_id="",
        instance_id=None,
        offsets=Map({each: Offset(offset=5) for each in offsets}),
    )
    assert coordinator.ask(request).error == NONE
    return coordinator


def delete(*offsets: tuple[str, int], group: str = "g") -> DeleteOffsets:
    return DeleteOffsets(group_id=group, offsets=frozenset(offsets))


def left(coordinator: Coordinator, group: str = "g") -> set[tuple[str, int]]:
    found = coordinator.state.groups.get(group)
    return set() if found is None else set(found.offsets)


def test_what_is_named_goes_and_stays_away() -> None:
    """Also after a failover; what has no offset is no error."""
    coordinator = committed(("a", 0), ("a", 1), ("b", 0))
    assert coordinator.ask(delete(("a", 0), ("b", 0), ("c", 9))) == OffsetsDeleted()
    assert left(coordinator) == {("a", 1)}
    coordinator.fail_over()
    assert left(coordinator) == {("a", 1)}


def test_nothing_is_written_where_nothing_is_there() -> None:
    coordinator = committed(("a", 0))
    before = len(coordinator.log)
    assert coordinator.ask(delete(("b", 0))) == OffsetsDeleted()
    assert len(coordinator.log) == before


def test_a_group_that_is_not_there() -> None:
    answer = committed(("a", 0)).ask(delete(("a", 0), group="h"))
    assert answer == OffsetsDeleted(ErrorCode.group_id_not_found)


def with_member(coordinator: Coordinator, metadata: bytes, kind: str = "consumer") -> None:
    """Put a member into the group, as a rebalance would."""
    member = Member(
        member_id="m",
        instance_id=None,
        client_id="c",
        client_host="/h",
        session_ms=10_000,
        rebalance_ms=10_000,
        protocols=(("range", metadata),),
        session_end_ms=10_000,
    )
    group = coordinator.state.groups["g"]
    changed = {"members": Map({"m": member}), "protocol_type": kind, "protocol": "range"}
    fields = {name: getattr(group, name) for name in Group.__slots__} | changed
    coordinator.state = type(coordinator.state)(
        coordinator.config,
        coordinator.state.groups.set("g", Group(**fields)),
        coordinator.state.writes,
        coordinator.state.next_write,
    )


def test_topics_that_members_read_are_kept() -> None:
    coordinator = committed(("a", 0), ("b", 0))
    with_member(coordinator, subscription("a", "x"))
    answer = coordinator.ask(delete(("a", 0), ("b", 0)))
    assert answer == OffsetsDeleted(kept=frozenset({"a"}))
    assert left(coordinator) == {("a", 0)}


@pytest.mark.parametrize("metadata", [b"", b"\0", subscription("a")[:8], b"\0\1\0\0\0\1\0\1\xff"])
def test_a_member_that_does_not_say_may_read_anything(metadata: bytes) -> None:
    coordinator = committed(("a", 0), ("b", 0))
    with_member(coordinator, metadata)
    assert coordinator.ask(delete(("b", 0))) == OffsetsDeleted(kept=frozenset({"b"}))
    assert left(coordinator) == {("a", 0), ("b", 0)}


def test_members_of_another_kind_keep_all() -> None:
    coordinator = committed(("a", 0))
    with_member(coordinator, b"", kind="connect")
    assert coordinator.ask(delete(("a", 0))) == OffsetsDeleted(ErrorCode.non_empty_group)
    assert left(coordinator) == {("a", 0)}


def test_a_later_commit_wins() -> None:
    """It comes after the deletion in the log; one that is on its way goes with it."""
    coordinator = committed(("a", 0))
    coordinator.settle = False
    commit = Commit(
        group_id="g",
        generation=-1,
        member_id="",
        instance_id=None,
        offsets=Map({("a", 1): Offset(offset=7)}),
    )
    coordinator.ask(commit)
    assert coordinator.ask(delete(("a", 0), ("a", 1))) is None
    token = coordinator.token
    again = Commit(
        group_id="g",
        generation=-1,
        member_id="",
        instance_id=None,
        offsets=Map({("a", 0): Offset(offset=8)}),
    )
    coordinator.ask(again)
    for _ in range(3):
        coordinator.written()
    assert coordinator.answers[token] == OffsetsDeleted()
    assert left(coordinator) == {("a", 0)}
    assert coordinator.state.groups["g"].offsets["a", 0].offset == 8


def test_a_log_that_refuses_and_a_leader_that_goes() -> None:
    coordinator = committed(("a", 0))
    coordinator.settle = False
    coordinator.ask(delete(("a", 0)))
    coordinator.written(ErrorCode.not_leader_or_follower, reach=False)
    assert coordinator.answers[coordinator.token].error != NONE
    assert left(coordinator) == {("a", 0)}
    coordinator.ask(delete(("a", 0)))
    coordinator.fail_over()
    answer = coordinator.answers[coordinator.token]
    assert answer == OffsetsDeleted(ErrorCode.not_coordinator)


def test_subscriptions() -> None:
    assert not subscribes(Group(group_id="g"), "a")


def request_of(**topics: tuple[int, ...]) -> Any:
    schema = request_schema(api.OFFSET_DELETE, 0)
    topic = schema.__dataclass_fields__["topics"].type.__args__[0]
    partition = topic.__dataclass_fields__["partitions"].type.__args__[0]
    return make(
        schema,
        group_id="g",
        topics=tuple(
            make(
                topic,
                name=name,
                partitions=tuple(make(partition, partition_index=each) for each in numbers),
            )
            for name, numbers in topics.items()
        ),
    )


def test_what_clients_are_answered() -> None:
    """86 for topics that are read, what was refused before, and one code for all of it."""
    request = request_of(a=(0,), b=(0, 1))
    refused = Map({("b", 1): ErrorCode.unknown_topic_or_partition})
    wanted = asked.offsets_to_delete(request, refused)
    assert wanted == delete(("a", 0), ("b", 0))
    response: Any = api.offsets_deleted(request, OffsetsDeleted(kept=frozenset({"a"})), refused)
    assert encode_response(response, correlation_id=1)
    codes = {
        (topic.name, each.partition_index): int(each.error_code)
        for topic in response.topics
        for each in topic.partitions
    }
    assert codes == {("a", 0): 86, ("b", 0): 0, ("b", 1): 3}
    whole: Any = api.refused(request, ErrorCode.not_coordinator)
    assert (whole.error_code, whole.topics) == (16, ())
