"""The quorum's messages as Kafka's, both ways: Vote v2 (key 52; v1, which has no PreVote, is
understood), BeginQuorumEpoch v1 (53), EndQuorumEpoch v1 (54), Fetch v17 (key 1) and
FetchSnapshot v1 (59; see `fetch_snapshot.py`).

Requests of a foreign cluster get INCONSISTENT_CLUSTER_ID (104), and those that name another
topic or partition than the metadata log's, or carry negative numbers, INVALID_REQUEST (42),
both at the top level (rule 1 of KIP-595's receivers). Directory ids are not used.
"""

import datetime
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, Protocol, TypeAlias, TypeVar

from kio.schema.begin_quorum_epoch.v1 import request as begin_request
from kio.schema.begin_quorum_epoch.v1 import response as begin_response
from kio.schema.end_quorum_epoch.v1 import request as end_request
from kio.schema.end_quorum_epoch.v1 import response as end_response
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v17 import request as fetch_request
from kio.schema.fetch.v17 import response as fetch_response
from kio.schema.fetch_snapshot.v1.request import FetchSnapshotRequest
from kio.schema.fetch_snapshot.v1.response import FetchSnapshotResponse
from kio.schema.types import BrokerId, TopicName
from kio.schema.vote.v1 import request as old_vote_request
from kio.schema.vote.v1 import response as old_vote_response
from kio.schema.vote.v2 import request as vote_request
from kio.schema.vote.v2 import response as vote_response
from kio.static.primitive import Records, i32, i32Timedelta, i64

from nodes.kraft.ids import NO_OFFSET, LeaderEpoch, Offset, ReplicaId
from nodes.kraft.raft.messages import (
    INVALID_REQUEST,
    NO_LEADER,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchReply,
    FetchSnapshot,
    FetchSnapshotReply,
    QuorumReply,
    Reply,
    Request,
    SnapshotId,
    Vote,
    VoteReply,
)
from nodes.kraft.wire import fetch_snapshot
from nodes.kraft.wire.batches import CorruptBatch, decode_batches
from nodes.kraft.wire.codec import MalformedRequest
from nodes.kraft.wire.metadata_topic import METADATA_TOPIC, METADATA_TOPIC_ID, TOPIC_NAMES
from nodes.kraft.wire.versions import carry_over

__all__ = ["METADATA_TOPIC", "METADATA_TOPIC_ID"]

INCONSISTENT_CLUSTER_ID: Final = 104
INVALID_VOTER_KEY: Final = 125

QuorumRequest: TypeAlias = (
    vote_request.VoteRequest
    | old_vote_request.VoteRequest
    | begin_request.BeginQuorumEpochRequest
    | end_request.EndQuorumEpochRequest
    | fetch_request.FetchRequest
    | FetchSnapshotRequest
)
QuorumResponse: TypeAlias = (
    vote_response.VoteResponse
    | old_vote_response.VoteResponse
    | begin_response.BeginQuorumEpochResponse
    | end_response.EndQuorumEpochResponse
    | fetch_response.FetchResponse
    | FetchSnapshotResponse
)

P = TypeVar("P", covariant=True)

_ZERO: Final = i32(0)
_NAME: Final = TopicName(METADATA_TOPIC)


# --- requests -----------------------------------------------------------------------------


def request_to_wire(
    request: Request, cluster_id: str | None, *, peer: ReplicaId, max_bytes: int = 8 * 1024 * 1024
) -> QuorumRequest:
    """The request as it goes to `peer`. `max_bytes` bounds the answer to a Fetch."""
    match request:
        case Vote():
            return _vote_to_wire(request, cluster_id, peer)
        case BeginQuorumEpoch():
            return _begin_to_wire(request, cluster_id, peer)
        case EndQuorumEpoch():
            return _end_to_wire(request, cluster_id)
        case Fetch():
            return _fetch_to_wire(request, cluster_id, max_bytes)
        case FetchSnapshot():
            return fetch_snapshot.request_to_wire(request, cluster_id)


def _vote_to_wire(vote: Vote, cluster_id: str | None, peer: ReplicaId) -> vote_request.VoteRequest:
    partition = vote_request.PartitionData(
        partition_index=_ZERO,
        replica_epoch=i32(vote.candidate_epoch),
        replica_id=BrokerId(vote.candidate_id),
        replica_directory_id=None,
        voter_directory_id=None,
        last_offset_epoch=i32(vote.last_epoch),
        last_offset=i64(vote.last_offset),
        pre_vote=vote.pre,
    )
    topic = vote_request.TopicData(topic_name=_NAME, partitions=(partition,))
    return vote_request.VoteRequest(cluster_id=cluster_id, voter_id=BrokerId(peer), topics=(topic,))


def _begin_to_wire(
    begin: BeginQuorumEpoch, cluster_id: str | None, peer: ReplicaId
) -> begin_request.BeginQuorumEpochRequest:
    partition = begin_request.PartitionData(
        partition_index=_ZERO,
        voter_directory_id=None,
        leader_id=BrokerId(begin.leader_id),
        leader_epoch=i32(begin.leader_epoch),
    )
    topic = begin_request.TopicData(topic_name=_NAME, partitions=(partition,))
    return begin_request.BeginQuorumEpochRequest(
        cluster_id=cluster_id, voter_id=BrokerId(peer), topics=(topic,), leader_endpoints=()
    )


def _end_to_wire(end: EndQuorumEpoch, cluster_id: str | None) -> end_request.EndQuorumEpochRequest:
    candidates = tuple(
        end_request.ReplicaInfo(candidate_id=BrokerId(successor), candidate_directory_id=None)
        for successor in end.successors
    )
    partition = end_request.PartitionData(
        partition_index=_ZERO,
        leader_id=BrokerId(end.leader_id),
        leader_epoch=i32(end.leader_epoch),
        preferred_candidates=candidates,
    )
    topic = end_request.TopicData(topic_name=_NAME, partitions=(partition,))
    return end_request.EndQuorumEpochRequest(
        cluster_id=cluster_id, topics=(topic,), leader_endpoints=()
    )


def _fetch_to_wire(
    fetch: Fetch, cluster_id: str | None, max_bytes: int
) -> fetch_request.FetchRequest:
    partition = fetch_request.FetchPartition(
        partition=_ZERO,
        current_leader_epoch=i32(fetch.epoch),
        fetch_offset=i64(fetch.offset),
        last_fetched_epoch=i32(fetch.last_epoch),
        log_start_offset=i64(0),
        partition_max_bytes=i32(max_bytes),
    )
    topic = fetch_request.FetchTopic(topic_id=METADATA_TOPIC_ID, partitions=(partition,))
    return fetch_request.FetchRequest(
        cluster_id=cluster_id,
        replica_state=fetch_request.ReplicaState(replica_id=BrokerId(fetch.replica_id)),
        max_wait=i32Timedelta.parse(datetime.timedelta(milliseconds=fetch.max_wait_ms)),
        min_bytes=_ZERO,
        max_bytes=i32(max_bytes),
        topics=(topic,),
        forgotten_topics_data=(),
    )


def request_from_wire(
    entity: QuorumRequest, cluster_id: str, *, node_id: ReplicaId | None = None
) -> Request | QuorumResponse:
    """The request, or the response that refuses it.

    With `node_id`, a Vote or BeginQuorumEpoch meant for another node gets INVALID_VOTER_KEY
    (125): its sender has our address by mistake.
    """
    if entity.cluster_id is not None and entity.cluster_id != cluster_id:
        return _refusal(entity, INCONSISTENT_CLUSTER_ID)
    voter = getattr(entity, "voter_id", NO_LEADER)
    if node_id is not None and voter not in (NO_LEADER, node_id):
        return _refusal(entity, INVALID_VOTER_KEY)
    request = _translate(entity)
    if request is None or _has_negatives(request):
        return _refusal(entity, INVALID_REQUEST)
    return request


def _is_ours(topic: str | uuid.UUID | None, partition: int) -> bool:
    return partition == 0 and (topic == METADATA_TOPIC_ID or topic in TOPIC_NAMES)


def _translate(entity: QuorumRequest) -> Request | None:
    """None unless it is about the metadata log's one partition alone."""
    if len(entity.topics) != 1 or len(entity.topics[0].partitions) != 1:
        return None
    match entity:
        case vote_request.VoteRequest() | old_vote_request.VoteRequest():
            voted = entity.topics[0].partitions[0]
            if not _is_ours(entity.topics[0].topic_name, voted.partition_index):
                return None
            return Vote(
                candidate_epoch=LeaderEpoch(voted.replica_epoch),
                candidate_id=ReplicaId(voted.replica_id),
                last_epoch=LeaderEpoch(voted.last_offset_epoch),
                last_offset=Offset(voted.last_offset),
                pre=getattr(voted, "pre_vote", False),
            )
        case begin_request.BeginQuorumEpochRequest():
            begun = entity.topics[0].partitions[0]
            if not _is_ours(entity.topics[0].topic_name, begun.partition_index):
                return None
            return BeginQuorumEpoch(
                leader_id=ReplicaId(begun.leader_id), leader_epoch=LeaderEpoch(begun.leader_epoch)
            )
        case end_request.EndQuorumEpochRequest():
            ended = entity.topics[0].partitions[0]
            if not _is_ours(entity.topics[0].topic_name, ended.partition_index):
                return None
            candidates = ended.preferred_candidates
            return EndQuorumEpoch(
                leader_id=ReplicaId(ended.leader_id),
                leader_epoch=LeaderEpoch(ended.leader_epoch),
                successors=tuple(ReplicaId(candidate.candidate_id) for candidate in candidates),
            )
        case fetch_request.FetchRequest():
            fetched = entity.topics[0].partitions[0]
            if not _is_ours(entity.topics[0].topic_id, fetched.partition):
                return None
            return Fetch(
                replica_id=ReplicaId(entity.replica_state.replica_id),
                epoch=LeaderEpoch(fetched.current_leader_epoch),
                offset=Offset(fetched.fetch_offset),
                last_epoch=LeaderEpoch(fetched.last_fetched_epoch),
                max_wait_ms=round(entity.max_wait.total_seconds() * 1000),
            )
        case FetchSnapshotRequest():
            part = entity.topics[0].partitions[0]
            if not _is_ours(entity.topics[0].name, part.partition):
                return None
            return fetch_snapshot.request_from_wire(entity, part)


def _has_negatives(request: Request) -> bool:
    match request:
        case Vote(
            candidate_epoch=epoch, candidate_id=node, last_epoch=last_epoch, last_offset=offset
        ):
            return min(epoch, node, last_epoch, offset) < 0
        case BeginQuorumEpoch(leader_id=node, leader_epoch=epoch):
            return min(node, epoch) < 0
        case EndQuorumEpoch(leader_id=node, leader_epoch=epoch, successors=successors):
            return min(node, epoch, *successors) < 0
        case Fetch():
            place = request.epoch, request.offset, request.last_epoch
            return min(request.replica_id, *place, request.max_wait_ms) < 0
        case FetchSnapshot(snapshot_id=SnapshotId(end_offset=end, epoch=epoch)):
            part = request.position, request.max_bytes
            return min(request.replica_id, request.epoch, *part, end, epoch) < 0


def _refusal(entity: QuorumRequest, error: int) -> QuorumResponse:
    code = ErrorCode(error)
    match entity:
        case vote_request.VoteRequest():
            return vote_response.VoteResponse(error_code=code, topics=())
        case old_vote_request.VoteRequest():
            return old_vote_response.VoteResponse(error_code=code, topics=())
        case begin_request.BeginQuorumEpochRequest():
            return begin_response.BeginQuorumEpochResponse(error_code=code, topics=())
        case end_request.EndQuorumEpochRequest():
            return end_response.EndQuorumEpochResponse(error_code=code, topics=())
        case fetch_request.FetchRequest():
            return fetch_response.FetchResponse(
                throttle_time=_NO_THROTTLE, error_code=code, responses=()
            )
        case FetchSnapshotRequest():
            return fetch_snapshot.refusal(code)


# --- replies ------------------------------------------------------------------------------

_NO_THROTTLE: Final = i32Timedelta.parse(datetime.timedelta())


def reply_to_wire(entity: QuorumRequest, reply: Reply, records: bytes = b"") -> QuorumResponse:
    """The response to `entity`. `records`: whole record batches, for a Fetch; `reply.batches`
    are not looked at."""
    match entity, reply:
        case vote_request.VoteRequest(), VoteReply():
            return _vote_reply_to_wire(entity, reply)
        case old_vote_request.VoteRequest(), VoteReply():
            response = _vote_reply_to_wire(entity, reply)
            return carry_over(response, old_vote_response.VoteResponse)
        case begin_request.BeginQuorumEpochRequest(), QuorumReply():
            begun = begin_response.PartitionData(
                partition_index=_ZERO,
                error_code=ErrorCode(reply.error),
                leader_id=BrokerId(reply.leader_id),
                leader_epoch=i32(reply.leader_epoch),
            )
            name = entity.topics[0].topic_name
            return begin_response.BeginQuorumEpochResponse(
                error_code=ErrorCode.none,
                topics=(begin_response.TopicData(topic_name=name, partitions=(begun,)),),
            )
        case end_request.EndQuorumEpochRequest(), QuorumReply():
            ended = end_response.PartitionData(
                partition_index=_ZERO,
                error_code=ErrorCode(reply.error),
                leader_id=BrokerId(reply.leader_id),
                leader_epoch=i32(reply.leader_epoch),
            )
            name = entity.topics[0].topic_name
            return end_response.EndQuorumEpochResponse(
                error_code=ErrorCode.none,
                topics=(end_response.TopicData(topic_name=name, partitions=(ended,)),),
            )
        case fetch_request.FetchRequest(), FetchReply():
            return _fetch_reply_to_wire(reply, records)
        case FetchSnapshotRequest(), FetchSnapshotReply():
            return fetch_snapshot.reply_to_wire(entity, reply)
        case _:
            raise TypeError(f"{type(reply).__name__} answers no {type(entity).__name__}")


def _vote_reply_to_wire(
    entity: vote_request.VoteRequest | old_vote_request.VoteRequest, reply: VoteReply
) -> vote_response.VoteResponse:
    partition = vote_response.PartitionData(
        partition_index=_ZERO,
        error_code=ErrorCode(reply.error),
        leader_id=BrokerId(reply.leader_id),
        leader_epoch=i32(reply.leader_epoch),
        vote_granted=reply.granted,
    )
    topic = vote_response.TopicData(topic_name=entity.topics[0].topic_name, partitions=(partition,))
    return vote_response.VoteResponse(error_code=ErrorCode.none, topics=(topic,))


def with_endpoints(
    response: QuorumResponse, voters: Iterable[tuple[int, str, int]]
) -> QuorumResponse:
    """A Fetch response that also says where the voters are (id, host, port); any other as it
    is."""
    if not isinstance(response, fetch_response.FetchResponse):
        return response
    endpoints = tuple(
        fetch_response.NodeEndpoint(node_id=BrokerId(ident), host=host, port=i32(port), rack=None)
        for ident, host, port in voters
    )
    return replace(response, node_endpoints=endpoints)


def _fetch_reply_to_wire(reply: FetchReply, records: bytes) -> fetch_response.FetchResponse:
    epoch, end = reply.diverging if reply.diverging is not None else (-1, -1)
    snapshot = reply.snapshot_id or SnapshotId(NO_OFFSET, LeaderEpoch(-1))
    partition = fetch_response.PartitionData(
        partition_index=_ZERO,
        error_code=ErrorCode(reply.error),
        high_watermark=i64(reply.high_watermark),
        last_stable_offset=i64(reply.high_watermark),
        log_start_offset=i64(reply.log_start),
        diverging_epoch=fetch_response.EpochEndOffset(epoch=i32(epoch), end_offset=i64(end)),
        current_leader=fetch_response.LeaderIdAndEpoch(
            leader_id=BrokerId(reply.leader_id), leader_epoch=i32(reply.leader_epoch)
        ),
        snapshot_id=fetch_response.SnapshotId(
            end_offset=i64(snapshot.end_offset), epoch=i32(snapshot.epoch)
        ),
        aborted_transactions=None,
        records=Records(records),
    )
    topic = fetch_response.FetchableTopicResponse(
        topic_id=METADATA_TOPIC_ID, partitions=(partition,)
    )
    return fetch_response.FetchResponse(
        throttle_time=_NO_THROTTLE, error_code=ErrorCode.none, responses=(topic,)
    )


def reply_from_wire(request: Request, entity: QuorumResponse) -> Reply:
    """The reply to `request`. One refused at the top level says nothing but that error.

    Raises `MalformedRequest` where the response is none to such a request, is about another
    topic, or holds damaged batches: to the core its fate is unknown, as with no reply.
    """
    error = int(entity.error_code)
    match request, entity:
        case Vote(), vote_response.VoteResponse():
            if error:
                return VoteReply(error=error)
            voted = _answered(entity.topics)
            return VoteReply(
                error=int(voted.error_code),
                leader_id=ReplicaId(voted.leader_id),
                leader_epoch=LeaderEpoch(voted.leader_epoch),
                granted=voted.vote_granted,
            )
        case BeginQuorumEpoch(), begin_response.BeginQuorumEpochResponse():
            return QuorumReply(error=error) if error else _quorum_reply(_answered(entity.topics))
        case EndQuorumEpoch(), end_response.EndQuorumEpochResponse():
            return QuorumReply(error=error) if error else _quorum_reply(_answered(entity.topics))
        case Fetch(), fetch_response.FetchResponse():
            return FetchReply(error=error) if error else _fetch_reply(_answered(entity.responses))
        case FetchSnapshot(), FetchSnapshotResponse():
            if error:
                return FetchSnapshotReply(error=error)
            return fetch_snapshot.reply_from_wire(_answered(entity.topics))
        case _:
            name = type(entity).__name__
            raise MalformedRequest(f"{name} answers no {type(request).__name__}")


class _Topic(Protocol[P]):
    @property
    def partitions(self) -> tuple[P, ...]: ...


def _answered(topics: Sequence[_Topic[P]]) -> P:
    """The partition that a response is about."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise MalformedRequest("a quorum response has exactly one topic and partition")
    topic = topics[0]
    if (
        getattr(topic, "topic_id", METADATA_TOPIC_ID) != METADATA_TOPIC_ID
        or getattr(topic, "topic_name", METADATA_TOPIC) not in TOPIC_NAMES
        or getattr(topic, "name", METADATA_TOPIC) not in TOPIC_NAMES
        or getattr(topic.partitions[0], "partition_index", 0) != 0
        or getattr(topic.partitions[0], "index", 0) != 0
    ):
        raise MalformedRequest("a quorum response about another topic than the metadata log")
    return topic.partitions[0]


def _quorum_reply(
    partition: begin_response.PartitionData | end_response.PartitionData,
) -> QuorumReply:
    return QuorumReply(
        error=int(partition.error_code),
        leader_id=ReplicaId(partition.leader_id),
        leader_epoch=LeaderEpoch(partition.leader_epoch),
    )


def _fetch_reply(partition: fetch_response.PartitionData) -> FetchReply:
    try:
        batches = tuple(decode_batches(partition.records or b""))
    except CorruptBatch as error:
        raise MalformedRequest(str(error)) from error
    diverging, snapshot = partition.diverging_epoch, partition.snapshot_id
    return FetchReply(
        error=int(partition.error_code),
        leader_id=ReplicaId(partition.current_leader.leader_id),
        leader_epoch=LeaderEpoch(partition.current_leader.leader_epoch),
        high_watermark=Offset(partition.high_watermark),
        log_start=Offset(partition.log_start_offset),
        diverging=(
            None
            if diverging.epoch < 0
            else (LeaderEpoch(diverging.epoch), Offset(diverging.end_offset))
        ),
        snapshot_id=(
            SnapshotId(Offset(snapshot.end_offset), LeaderEpoch(snapshot.epoch))
            if snapshot.end_offset >= 0
            else None
        ),
        batches=batches,
    )
