"""Clients' group requests, of all versions, in the core's words."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.group.state import Offset, TopicPartition
from nodes.kraft.group.steps import Beat, Commit, DeleteOffsets, Join, Leave, Sync

if TYPE_CHECKING:
    from nodes.kraft.wire.group_requests import (
        FindCoordinatorRequest,
        HeartbeatRequest,
        JoinGroupRequest,
        LeaveGroupRequest,
        OffsetCommitRequest,
        OffsetDeleteRequest,
        OffsetFetchRequest,
        SyncGroupRequest,
    )


def _ms(duration: datetime.timedelta) -> int:
    return duration // datetime.timedelta(milliseconds=1)


def join_of(request: JoinGroupRequest, *, client_id: str, host: str, fresh_id: str) -> Join:
    """JoinGroup v0-9. Ids come first from version 4 on (KIP-394), a leader can be told not to
    assign from version 9 on (KIP-814)."""
    session_ms = _ms(request.session_timeout)
    rebalance_ms = _ms(getattr(request, "rebalance_timeout", request.session_timeout))
    return Join(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
        client_id=client_id,
        client_host=host,
        session_ms=session_ms,
        rebalance_ms=rebalance_ms if rebalance_ms >= 0 else session_ms,
        protocol_type=request.protocol_type,
        protocols=tuple((each.name, each.metadata) for each in request.protocols),
        fresh_id=fresh_id,
        id_first=request.__version__ >= 4,
        may_skip=request.__version__ >= 9,
    )


def sync_of(request: SyncGroupRequest) -> Sync:
    """SyncGroup v0-5."""
    return Sync(
        group_id=request.group_id,
        generation=int(request.generation_id),
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
        assignments=Map({each.member_id: each.assignment for each in request.assignments}),
        protocol_type=getattr(request, "protocol_type", None),
        protocol=getattr(request, "protocol_name", None),
    )


def beat_of(request: HeartbeatRequest) -> Beat:
    """Heartbeat v0-4."""
    return Beat(
        group_id=request.group_id,
        generation=int(request.generation_id),
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
    )


def leave_of(request: LeaveGroupRequest) -> Leave:
    """LeaveGroup v0-5; one member before version 3."""
    members: tuple[tuple[str, str | None], ...]
    if hasattr(request, "members"):
        members = tuple((each.member_id, each.group_instance_id) for each in request.members)
    else:
        members = ((request.member_id, None),)
    return Leave(group_id=request.group_id, members=members)


def commit_of(request: OffsetCommitRequest, refused: Map[TopicPartition, ErrorCode]) -> Commit:
    """OffsetCommit v2-9, without the partitions that are refused already."""
    return Commit(
        group_id=request.group_id,
        generation=int(request.generation_id_or_member_epoch),
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
        offsets=Map(
            {
                (topic.name, int(each.partition_index)): Offset(
                    offset=int(each.committed_offset),
                    leader_epoch=int(getattr(each, "committed_leader_epoch", -1)),
                    metadata=each.committed_metadata or "",
                )
                for topic in request.topics
                for each in topic.partitions
                if (topic.name, int(each.partition_index)) not in refused
            }
        ),
    )


def commits(request: OffsetCommitRequest) -> Iterator[tuple[str, int, str]]:
    """(topic, partition, metadata) of everything that an OffsetCommit asks for."""
    for topic in request.topics:
        for each in topic.partitions:
            yield topic.name, int(each.partition_index), each.committed_metadata or ""


def offsets_to_delete(
    request: OffsetDeleteRequest, refused: Map[TopicPartition, ErrorCode]
) -> DeleteOffsets:
    """OffsetDelete v0, without the partitions that are refused already."""
    named = (
        (str(topic.name), int(each.partition_index))
        for topic in request.topics
        for each in topic.partitions
    )
    wanted = frozenset(each for each in named if each not in refused)
    return DeleteOffsets(group_id=request.group_id, offsets=wanted)


class _Partitions(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def partition_indexes(self) -> tuple[int, ...]: ...


def asked_groups(request: OffsetFetchRequest) -> list[tuple[str, dict[str, list[int]] | None]]:
    """(group id, the partitions of topics or None for all) of an OffsetFetch, v8 and before."""
    if hasattr(request, "groups"):
        return [(each.group_id, _by_topic(each.topics)) for each in request.groups]
    return [(request.group_id, _by_topic(request.topics))]


def _by_topic(topics: Iterable[_Partitions] | None) -> dict[str, list[int]] | None:
    if topics is None:
        return None
    return {each.name: [int(number) for number in each.partition_indexes] for each in topics}


def sought(request: FindCoordinatorRequest) -> tuple[str, ...]:
    """The keys of a FindCoordinator, v4 and before."""
    if hasattr(request, "coordinator_keys"):
        return tuple(request.coordinator_keys)
    return (request.key,)
