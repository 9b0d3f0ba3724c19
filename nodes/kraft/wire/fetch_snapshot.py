"""FetchSnapshot v1 (key 59, KIP-630), both ways: a range of a snapshot's bytes."""

import datetime
from typing import Final

from kio.schema.errors import ErrorCode
from kio.schema.fetch_snapshot.v1 import request, response
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import Records, i32, i32Timedelta, i64

from nodes.kraft.ids import LeaderEpoch, Offset, ReplicaId
from nodes.kraft.raft.messages import FetchSnapshot, FetchSnapshotReply, SnapshotId
from nodes.kraft.wire.metadata_topic import METADATA_TOPIC

_NO_THROTTLE: Final = i32Timedelta.parse(datetime.timedelta())


def request_to_wire(fetch: FetchSnapshot, cluster_id: str | None) -> request.FetchSnapshotRequest:
    partition = request.PartitionSnapshot(
        partition=i32(0),
        current_leader_epoch=i32(fetch.epoch),
        snapshot_id=request.SnapshotId(
            end_offset=i64(fetch.snapshot_id.end_offset), epoch=i32(fetch.snapshot_id.epoch)
        ),
        position=i64(fetch.position),
    )
    topic = request.TopicSnapshot(name=TopicName(METADATA_TOPIC), partitions=(partition,))
    return request.FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=BrokerId(fetch.replica_id),
        max_bytes=i32(fetch.max_bytes),
        topics=(topic,),
    )


def request_from_wire(
    entity: request.FetchSnapshotRequest, partition: request.PartitionSnapshot
) -> FetchSnapshot:
    return FetchSnapshot(
        replica_id=ReplicaId(entity.replica_id),
        epoch=LeaderEpoch(partition.current_leader_epoch),
        snapshot_id=_id(partition.snapshot_id),
        position=partition.position,
        max_bytes=entity.max_bytes,
    )


def reply_to_wire(
    entity: request.FetchSnapshotRequest, reply: FetchSnapshotReply
) -> response.FetchSnapshotResponse:
    partition = response.PartitionSnapshot(
        index=i32(0),
        error_code=ErrorCode(reply.error),
        snapshot_id=response.SnapshotId(
            end_offset=i64(reply.snapshot_id.end_offset), epoch=i32(reply.snapshot_id.epoch)
        ),
        current_leader=response.LeaderIdAndEpoch(
            leader_id=BrokerId(reply.leader_id), leader_epoch=i32(reply.leader_epoch)
        ),
        size=i64(reply.size),
        position=i64(reply.position),
        unaligned_records=Records(reply.data),
    )
    topic = response.TopicSnapshot(name=entity.topics[0].name, partitions=(partition,))
    return response.FetchSnapshotResponse(
        throttle_time=_NO_THROTTLE, error_code=ErrorCode.none, topics=(topic,)
    )


def reply_from_wire(partition: response.PartitionSnapshot) -> FetchSnapshotReply:
    return FetchSnapshotReply(
        error=int(partition.error_code),
        leader_id=ReplicaId(partition.current_leader.leader_id),
        leader_epoch=LeaderEpoch(partition.current_leader.leader_epoch),
        snapshot_id=_id(partition.snapshot_id),
        size=partition.size,
        position=partition.position,
        data=bytes(partition.unaligned_records or b""),
    )


def refusal(code: ErrorCode) -> response.FetchSnapshotResponse:
    """The answer that says nothing but why."""
    return response.FetchSnapshotResponse(throttle_time=_NO_THROTTLE, error_code=code, topics=())


def _id(entity: request.SnapshotId | response.SnapshotId) -> SnapshotId:
    return SnapshotId(Offset(entity.end_offset), LeaderEpoch(entity.epoch))
