"""Requests of a transactional producer, and what their answers say: pure.

Two protocols, told apart by the cluster's level of the feature `transaction.version`. Below 2 a
producer adds partitions and groups to its transaction before it sends to them, and keeps its epoch
(KIP-98, in the versions that all releases since 3.3 have). From 2 on to send adds them, and the
answer to EndTxn has the epoch of the next transaction (KIP-890, second part; the comments in
ProduceRequest.json, TxnOffsetCommitRequest.json, EndTxnRequest.json).
"""

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from kio.schema.add_offsets_to_txn.v3 import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kio.schema.add_partitions_to_txn.v3 import request as add
from kio.schema.add_partitions_to_txn.v3 import response as added
from kio.schema.api_versions.v3 import ApiVersionsResponse
from kio.schema.end_txn import v3 as end_v3
from kio.schema.end_txn import v5 as end_v5
from kio.schema.errors import ErrorCode
from kio.schema.init_producer_id.v4 import InitProducerIdRequest, InitProducerIdResponse
from kio.schema.produce.v9 import request as produce_v9
from kio.schema.produce.v9 import response as produced_v9
from kio.schema.produce.v12 import request as produce_v12
from kio.schema.produce.v12 import response as produced_v12
from kio.schema.txn_offset_commit.v3 import request as offsets_v3
from kio.schema.txn_offset_commit.v3 import response as offsets_done_v3
from kio.schema.txn_offset_commit.v5 import request as offsets_v5
from kio.schema.txn_offset_commit.v5 import response as offsets_done_v5
from kio.schema.types import GroupId, ProducerId, TopicName, TransactionalId
from kio.static.primitive import Records, i16, i32, i32Timedelta, i64
from kio.static.protocol import RequestPayload, ResponsePayload

from framework.plugins.dialect import UnexpectedResponse
from workloads.kafka.operations.partitions import partition_of
from workloads.kafka.producing import REQUEST_MS, TRANSACTION_MS

FEATURE: Final = "transaction.version"
EPOCH_EACH: Final = 2
"""The level from which on each transaction has an epoch of its own."""
ALL_IN_SYNC: Final = i16(-1)
_BY_PARTITION: Final = (added.AddPartitionsToTxnResponse,)
_OFFSETS: Final = (offsets_done_v3.TxnOffsetCommitResponse, offsets_done_v5.TxnOffsetCommitResponse)
_PRODUCED: Final = (produced_v9.ProduceResponse, produced_v12.ProduceResponse)
_OF_ONE_CODE: Final = (
    ApiVersionsResponse,
    InitProducerIdResponse,
    AddOffsetsToTxnResponse,
    end_v3.EndTxnResponse,
    end_v5.EndTxnResponse,
)


@dataclass(frozen=True, slots=True)
class Identity:
    """Of the producer of a transactional id; `id` and `epoch` are -1 before it has them. `level`:
    of the cluster's `transaction.version`."""

    name: str
    level: int
    id: int = -1
    epoch: int = -1

    @property
    def renews(self) -> bool:
        """Whether each of its transactions has an epoch of its own."""
        return self.level >= EPOCH_EACH


def _ms(count: int) -> i32Timedelta:
    return i32Timedelta.parse(datetime.timedelta(milliseconds=count))


def init_request(own: Identity) -> InitProducerIdRequest:
    """A higher epoch, which fences whoever had the transactional id. Of a producer that has one:
    if it is still the last one (KIP-360)."""
    return InitProducerIdRequest(
        transactional_id=TransactionalId(own.name),
        transaction_timeout=_ms(TRANSACTION_MS),
        producer_id=ProducerId(own.id),
        producer_epoch=i16(own.epoch),
    )


def add_partition_request(own: Identity, key: str) -> add.AddPartitionsToTxnRequest:
    """Below `EPOCH_EACH`, before the first produce to a partition."""
    topic, number = partition_of(key)
    partitions = add.AddPartitionsToTxnTopic(name=TopicName(topic), partitions=(i32(number),))
    return add.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=TransactionalId(own.name),
        v3_and_below_producer_id=ProducerId(own.id),
        v3_and_below_producer_epoch=i16(own.epoch),
        v3_and_below_topics=(partitions,),
    )


def produce_request(own: Identity, key: str, batch: bytes) -> RequestPayload:
    """One batch to one partition."""
    schema = produce_v12 if own.renews else produce_v9
    topic, number = partition_of(key)
    data = schema.PartitionProduceData(index=i32(number), records=Records(batch))
    request: RequestPayload = schema.ProduceRequest(
        transactional_id=TransactionalId(own.name),
        acks=ALL_IN_SYNC,
        timeout=_ms(REQUEST_MS),
        topic_data=(schema.TopicProduceData(name=TopicName(topic), partition_data=(data,)),),
    )
    return request


def add_offsets_request(own: Identity, group: str) -> AddOffsetsToTxnRequest:
    """Below `EPOCH_EACH`, before a group's offsets are committed."""
    return AddOffsetsToTxnRequest(
        transactional_id=TransactionalId(own.name),
        producer_id=ProducerId(own.id),
        producer_epoch=i16(own.epoch),
        group_id=GroupId(group),
    )


def offsets_request(own: Identity, group: str, positions: Mapping[str, int]) -> RequestPayload:
    """How far a consumer without generations, that is assigned its partitions, has read."""
    schema = offsets_v5 if own.renews else offsets_v3
    by_topic = groupby(sorted(positions), key=lambda key: partition_of(key)[0])
    topics = tuple(
        schema.TxnOffsetCommitRequestTopic(
            name=TopicName(topic),
            partitions=tuple(
                schema.TxnOffsetCommitRequestPartition(
                    partition_index=i32(partition_of(key)[1]),
                    committed_offset=i64(positions[key]),
                    committed_metadata="",
                )
                for key in keys
            ),
        )
        for topic, keys in by_topic
    )
    request: RequestPayload = schema.TxnOffsetCommitRequest(
        transactional_id=TransactionalId(own.name),
        group_id=GroupId(group),
        producer_id=ProducerId(own.id),
        producer_epoch=i16(own.epoch),
        topics=topics,
    )
    return request


def end_request(own: Identity, *, commits: bool) -> end_v3.EndTxnRequest | end_v5.EndTxnRequest:
    """The end of the transaction of this epoch."""
    schema = end_v5.EndTxnRequest if own.renews else end_v3.EndTxnRequest
    return schema(
        transactional_id=TransactionalId(own.name),
        producer_id=ProducerId(own.id),
        producer_epoch=i16(own.epoch),
        committed=commits,
    )


# --- answers ------------------------------------------------------------------------------


def code_of(response: ResponsePayload) -> ErrorCode:
    """The first code that is no success; `ErrorCode.none`: all was done."""
    return next((code for code in _codes(response) if code != ErrorCode.none), ErrorCode.none)


def _codes(response: ResponsePayload) -> Iterator[ErrorCode]:
    if isinstance(response, _OF_ONE_CODE):
        yield response.error_code
    elif isinstance(response, _BY_PARTITION):
        for each in response.results_by_topic_v3_and_below:
            yield from (one.partition_error_code for one in each.results_by_partition)
    elif isinstance(response, _OFFSETS):
        for topic in response.topics:
            yield from (one.error_code for one in topic.partitions)
    elif isinstance(response, _PRODUCED):
        for answer in response.responses:
            yield from (one.error_code for one in answer.partition_responses)
    else:
        raise UnexpectedResponse(f"{response!r:.300}")


def level_in(response: ResponsePayload) -> int | None:
    """The cluster's level of `FEATURE`; None: the broker does not know yet what is final."""
    if not isinstance(response, ApiVersionsResponse):
        raise UnexpectedResponse(f"{response!r:.300}")
    if response.finalized_features_epoch < 0:
        return None
    levels = {each.name: int(each.max_version_level) for each in response.finalized_features}
    return levels.get(FEATURE, 0)


def renewed(own: Identity, response: ResponsePayload) -> Identity:
    """Who a producer is after InitProducerId, or the end of a transaction."""
    if isinstance(response, InitProducerIdResponse | end_v5.EndTxnResponse):
        return replace(own, id=int(response.producer_id), epoch=int(response.producer_epoch))
    return own


def offset_in(response: ResponsePayload, key: str) -> int:
    """Where the batch is, of a produce that was done."""
    if not isinstance(response, _PRODUCED):
        raise UnexpectedResponse(f"{response!r:.300}")
    asked = partition_of(key)
    for topic in response.responses:
        for answer in topic.partition_responses:
            if (topic.name, answer.index) == asked:
                return int(answer.base_offset)
    raise UnexpectedResponse(f"{response!r:.300}")
