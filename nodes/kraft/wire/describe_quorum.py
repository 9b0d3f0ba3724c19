"""DescribeQuorum v0-2 (key 55): how far each voter and observer is, as their leader knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from kio.schema.describe_quorum.v2 import response as v2
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId
from kio.static.primitive import i32, i64, u16
from kio.static.protocol import ResponsePayload

from nodes.kraft.raft.state import Leader, Progress, RaftState
from nodes.kraft.wire.metadata_topic import TOPIC_NAMES
from nodes.kraft.wire.versions import response_for

if TYPE_CHECKING:
    from nodes.kraft.wire.requests import DescribeQuorumRequest

_UNKNOWN: Final = -1
_NOT_LEADER: Final = "this replica does not lead the quorum"


def describe_quorum(
    request: DescribeQuorumRequest,
    state: RaftState,
    now_ms: int,
    wall_ms: int,
    endpoints: Mapping[int, tuple[str, str, int]],
) -> ResponsePayload:
    """The response, in the version in which it was asked.

    `now_ms` is the core's clock and `wall_ms` the wall's, at one moment: the times in the answer
    are the wall's. `endpoints`: voter id -> listener's name, host, port. Another replica than
    the leader answers NOT_LEADER_OR_FOLLOWER at the top, another partition than the metadata
    log's gets UNKNOWN_TOPIC_OR_PARTITION.
    """
    if not isinstance(state.role, Leader):
        refusal = v2.DescribeQuorumResponse(
            error_code=ErrorCode.not_leader_or_follower,
            error_message=_NOT_LEADER,
            topics=(),
            nodes=(),
        )
        return response_for(request, refusal)
    voters, observers = _replicas(state, state.role, now_ms, wall_ms)
    topics = tuple(
        v2.TopicData(
            topic_name=topic.topic_name,
            partitions=tuple(
                _partition(state, topic.topic_name, each.partition_index, voters, observers)
                for each in topic.partitions
            ),
        )
        for topic in request.topics
    )
    response = v2.DescribeQuorumResponse(
        error_code=ErrorCode.none, error_message=None, topics=topics, nodes=_nodes(endpoints)
    )
    return response_for(request, response)


def _partition(
    state: RaftState,
    topic: str,
    index: int,
    voters: tuple[v2.ReplicaState, ...],
    observers: tuple[v2.ReplicaState, ...],
) -> v2.PartitionData:
    known = topic in TOPIC_NAMES and index == 0
    code = ErrorCode.none if known else ErrorCode.unknown_topic_or_partition
    return v2.PartitionData(
        partition_index=i32(index),
        error_code=code,
        error_message=None if known else f"{topic}-{index} is not the metadata log",
        leader_id=BrokerId(state.leader_id if known else _UNKNOWN),
        leader_epoch=i32(state.epoch if known else _UNKNOWN),
        high_watermark=i64(state.high_watermark if known else _UNKNOWN),
        current_voters=voters if known else (),
        observers=observers if known else (),
    )


def _replicas(
    state: RaftState, role: Leader, now_ms: int, wall_ms: int
) -> tuple[tuple[v2.ReplicaState, ...], tuple[v2.ReplicaState, ...]]:
    def wall(then_ms: int | None) -> int:
        return _UNKNOWN if then_ms is None else wall_ms - (now_ms - then_ms)

    def described(replicas: Iterable[tuple[int, Progress]]) -> list[v2.ReplicaState]:
        return [
            _replica(
                replica_id,
                progress.offset if progress.fetched_ms is not None else _UNKNOWN,
                wall(progress.fetched_ms),
                wall(progress.caught_up_ms),
            )
            for replica_id, progress in replicas
        ]

    leader = _replica(state.config.node_id, state.log.end_offset, _UNKNOWN, wall_ms)
    voters = sorted([leader, *described(role.progress.items())], key=lambda each: each.replica_id)
    return tuple(voters), tuple(described(sorted(role.observers.items())))


def _replica(replica_id: int, end: int, fetched_ms: int, caught_up_ms: int) -> v2.ReplicaState:
    return v2.ReplicaState(
        replica_id=BrokerId(replica_id),
        replica_directory_id=None,
        log_end_offset=i64(end),
        last_fetch_timestamp=i64(fetched_ms),
        last_caught_up_timestamp=i64(caught_up_ms),
    )


def _nodes(endpoints: Mapping[int, tuple[str, str, int]]) -> tuple[v2.Node, ...]:
    return tuple(
        v2.Node(
            node_id=BrokerId(node_id),
            listeners=(v2.Listener(name=name, host=host, port=u16(port)),),
        )
        for node_id, (name, host, port) in sorted(endpoints.items())
    )
