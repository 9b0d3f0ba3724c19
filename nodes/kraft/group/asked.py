"""Clients' group requests, of all versions, in the core's words."""

import datetime
from collections.abc import Iterator
from typing import Any

from immutables import Map
from kio.schema.errors import ErrorCode

from nodes.kraft.group.state import Offset, TopicPartition
from nodes.kraft.group.steps import Beat, Commit, Join, Leave, Sync


def _ms(duration: datetime.timedelta) -> int:
    return duration // datetime.timedelta(milliseconds=1)


def join_of(request: Any, *, client_id: str, host: str, fresh_id: str) -> Join:
    """JoinGroup v0-9. Ids come first from version 4 on (KIP-394)."""
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
    )


def sync_of(request: Any) -> Sync:
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


def beat_of(request: Any) -> Beat:
    """Heartbeat v0-4."""
    return Beat(
        group_id=request.group_id,
        generation=int(request.generation_id),
        member_id=request.member_id,
        instance_id=getattr(request, "group_instance_id", None),
    )


def leave_of(request: Any) -> Leave:
    """LeaveGroup v0-5; one member before version 3."""
    members: tuple[tuple[str, str | None], ...]
    if request.__version__ >= 3:
        members = tuple((each.member_id, each.group_instance_id) for each in request.members)
    else:
        members = ((request.member_id, None),)
    return Leave(group_id=request.group_id, members=members)


def commit_of(request: Any, refused: Map[TopicPartition, ErrorCode]) -> Commit:
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
                for topic, each in _partitions(request)
                if (topic.name, int(each.partition_index)) not in refused
            }
        ),
    )


def _partitions(request: Any) -> Iterator[tuple[Any, Any]]:
    return ((topic, each) for topic in request.topics for each in topic.partitions)


def commits(request: Any) -> Iterator[tuple[str, int, str]]:
    """(topic, partition, metadata) of everything that an OffsetCommit asks for."""
    for topic, each in _partitions(request):
        yield topic.name, int(each.partition_index), each.committed_metadata or ""


def asked_groups(request: Any) -> list[tuple[str, Any]]:
    """(group id, topics or None for all) of an OffsetFetch, v8 and before."""
    if request.__version__ >= 8:
        return [(each.group_id, each.topics) for each in request.groups]
    return [(request.group_id, request.topics)]


def sought(request: Any) -> tuple[str, ...]:
    """The keys of a FindCoordinator, v4 and before."""
    if request.__version__ >= 4:
        return tuple(request.coordinator_keys)
    return (request.key,)
