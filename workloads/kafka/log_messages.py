"""Between operations on partitions and Kafka's messages: pure, as `messages` is for topics.

Keys are `<topic>/<partition>`. Shapes of values: docs/operating.md.
"""

import datetime
from dataclasses import replace
from typing import Final

from kio.schema.delete_records.v2 import request as deletion
from kio.schema.delete_records.v2 import response as deleted
from kio.schema.fetch.v12 import request as fetch
from kio.schema.fetch.v12 import response as fetched
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest
from kio.schema.list_offsets.v7 import request as offsets
from kio.schema.list_offsets.v7 import response as listed
from kio.schema.produce.v9 import request as produce
from kio.schema.produce.v9 import response as produced
from kio.schema.types import BrokerId, ProducerId, TopicName
from kio.static.primitive import Records, i8, i16, i32, i32Timedelta, i64

from framework.history.event import Invocation
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Answer, Ok, Refused
from workloads.kafka.batches import values_in
from workloads.kafka.messages import refused, the_one
from workloads.kafka.operations.partitions import (
    Deleted,
    DeleteRecords,
    Fetch,
    Fetched,
    ListOffsets,
    Offset,
    Produce,
    Produced,
    ReplicaFetch,
    ReplicaFetched,
    partition_of,
)

ACKS: Final = {"0": 0, "1": 1, "all": -1}
TIMESTAMPS: Final = {"latest": -1, "earliest": -2}
PRODUCE_TIMEOUT_MS: Final = 1500
DELETE_TIMEOUT_MS: Final = 1500
FETCH_WAIT_MS: Final = 100
FETCH_BYTES: Final = 256 * 1024
COMPARES: Final = BrokerId(-2)
"""Kafka's `FetchRequest.DEBUGGING_CONSUMER_ID`: who compares replicas, and fetches from each."""
CONSUMES: Final = BrokerId(-1)
NO_LEADER_EPOCH: Final = -1


def _ms(count: int) -> i32Timedelta:
    return i32Timedelta.parse(datetime.timedelta(milliseconds=count))


def produce_request(invocation: Invocation, batch: bytes) -> produce.ProduceRequest:
    """One batch to one partition, with the operation's acks."""
    topic, number = partition_of(invocation.key)
    data = produce.PartitionProduceData(index=i32(number), records=Records(batch))
    return produce.ProduceRequest(
        acks=i16(ACKS[Produce.from_json(invocation.value).acks]),
        timeout=_ms(PRODUCE_TIMEOUT_MS),
        topic_data=(produce.TopicProduceData(name=TopicName(topic), partition_data=(data,)),),
    )


def produce_answer(
    invocation: Invocation, response: produced.ProduceResponse, topic_id: str | None
) -> Answer:
    """Ok: the invocation's value with "offset" and "topic_id"."""
    name, number = partition_of(invocation.key)
    topic = the_one(response.responses, lambda each: each.name == name)
    answer = the_one(topic.partition_responses, lambda each: each.index == number)
    if answer.error_code != 0:
        return refused(answer.error_code, answer.error_message)
    asked = Produce.from_json(invocation.value)
    done = Produced(
        value=asked.value,
        acks=asked.acks,
        idempotent=asked.idempotent,
        producer=asked.producer,
        offset=int(answer.base_offset),
        topic_id=topic_id,
    )
    return Ok(done.to_json())


def fetch_request(invocation: Invocation, leader_epoch: int) -> fetch.FetchRequest:
    """Of one partition, from the operation's "from", fenced by the leader epoch."""
    return _fetch(invocation.key, Fetch.from_json(invocation.value).start, leader_epoch, CONSUMES)


def replica_fetch_request(invocation: Invocation) -> fetch.FetchRequest:
    """Likewise, as who compares replicas: whether the broker leads does not matter."""
    start = ReplicaFetch.from_json(invocation.value).start
    return _fetch(invocation.key, start, NO_LEADER_EPOCH, COMPARES)


def _fetch(key: str, start: int, leader_epoch: int, by: BrokerId) -> fetch.FetchRequest:
    topic, number = partition_of(key)
    partition = fetch.FetchPartition(
        partition=i32(number),
        current_leader_epoch=i32(leader_epoch),
        fetch_offset=i64(start),
        partition_max_bytes=i32(FETCH_BYTES),
    )
    return fetch.FetchRequest(
        replica_id=by,
        max_wait=_ms(FETCH_WAIT_MS),
        min_bytes=i32(1),
        max_bytes=i32(FETCH_BYTES),
        topics=(fetch.FetchTopic(topic=TopicName(topic), partitions=(partition,)),),
        forgotten_topics_data=(),
    )


def fetch_answer(
    invocation: Invocation,
    response: fetched.FetchResponse,
    leader_epoch: int,
    topic_id: str | None = None,
    *,
    watermark_first: bool = False,
) -> Answer:
    """Ok: what was read, and how far the partition goes. `watermark_first`: as `Dialect` has it."""
    found = _found(response, invocation.key, Fetch.from_json(invocation.value).start)
    if isinstance(found, Refused):
        return found
    done = Fetched(
        records=found.records,
        high_watermark=found.high_watermark,
        log_start=found.log_start,
        position=found.position,
        leader_epoch=leader_epoch,
        topic_id=topic_id,
        watermark_first=watermark_first or None,
    )
    return Ok(done.to_json())


def replica_fetch_answer(
    invocation: Invocation, response: fetched.FetchResponse, topic_id: str | None
) -> Answer:
    """Ok: what the replica gave, and how far the partition goes by its word."""
    found = _found(response, invocation.key, ReplicaFetch.from_json(invocation.value).start)
    return found if isinstance(found, Refused) else Ok(replace(found, topic_id=topic_id).to_json())


def _found(response: fetched.FetchResponse, key: str, start: int) -> ReplicaFetched | Refused:
    if response.error_code != 0:
        return refused(response.error_code)
    name, number = partition_of(key)
    topic = the_one(response.responses, lambda each: each.topic == name)
    answer = the_one(topic.partitions, lambda each: each.partition_index == number)
    if answer.error_code != 0:
        return refused(answer.error_code)
    try:
        records = values_in(answer.records or b"", start)
    except ValueError as error:
        raise UnexpectedResponse(str(error)) from error
    return ReplicaFetched(
        records=tuple(records),
        high_watermark=int(answer.high_watermark),
        log_start=int(answer.log_start_offset),
        position=records[-1][0] + 1 if records else start,
    )


def list_offsets_request(invocation: Invocation, leader_epoch: int) -> offsets.ListOffsetsRequest:
    """Where the partition begins or ends."""
    topic, number = partition_of(invocation.key)
    partition = offsets.ListOffsetsPartition(
        partition_index=i32(number),
        current_leader_epoch=i32(leader_epoch),
        timestamp=i64(TIMESTAMPS[ListOffsets.from_json(invocation.value).at]),
    )
    return offsets.ListOffsetsRequest(
        replica_id=BrokerId(-1),
        isolation_level=i8(0),
        topics=(offsets.ListOffsetsTopic(name=TopicName(topic), partitions=(partition,)),),
    )


def list_offsets_answer(
    invocation: Invocation,
    response: listed.ListOffsetsResponse,
    leader_epoch: int | None = None,
    topic_id: str | None = None,
) -> Answer:
    """Ok: {"offset": ...}, and by which leader."""
    name, number = partition_of(invocation.key)
    topic = the_one(response.topics, lambda each: each.name == name)
    answer = the_one(topic.partitions, lambda each: each.partition_index == number)
    if answer.error_code != 0:
        return refused(answer.error_code)
    return Ok(Offset(int(answer.offset), leader_epoch, topic_id).to_json())


def delete_records_request(invocation: Invocation) -> deletion.DeleteRecordsRequest:
    """Of one partition, what is below the operation's "before"."""
    topic, number = partition_of(invocation.key)
    partition = deletion.DeleteRecordsPartition(
        partition_index=i32(number),
        offset=i64(DeleteRecords.from_json(invocation.value).before),
    )
    return deletion.DeleteRecordsRequest(
        topics=(deletion.DeleteRecordsTopic(name=TopicName(topic), partitions=(partition,)),),
        timeout=_ms(DELETE_TIMEOUT_MS),
    )


def delete_records_answer(
    invocation: Invocation, response: deleted.DeleteRecordsResponse, topic_id: str | None
) -> Answer:
    """Ok: the invocation's value with "low_watermark" and "topic_id"."""
    name, number = partition_of(invocation.key)
    topic = the_one(response.topics, lambda each: each.name == name)
    answer = the_one(topic.partitions, lambda each: each.partition_index == number)
    if answer.error_code != 0:
        return refused(answer.error_code)
    done = Deleted(
        before=DeleteRecords.from_json(invocation.value).before,
        low_watermark=int(answer.low_watermark),
        topic_id=topic_id,
    )
    return Ok(done.to_json())


def producer_id_request() -> InitProducerIdRequest:
    """A new producer, without transactions."""
    return InitProducerIdRequest(
        transactional_id=None,
        transaction_timeout=_ms(60_000),
        producer_id=ProducerId(-1),
        producer_epoch=i16(-1),
    )
