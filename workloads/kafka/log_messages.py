"""Between operations on partitions and Kafka's messages: pure, as `messages` is for topics.

Keys are `<topic>/<partition>`. Shapes of values: docs/workloads.md.
"""

import datetime
from typing import Any, Final

from kio.schema.fetch.v12 import request as fetch
from kio.schema.init_producer_id.v4.request import InitProducerIdRequest
from kio.schema.list_offsets.v7 import request as offsets
from kio.schema.produce.v9 import request as produce
from kio.schema.types import ProducerId, TopicName
from kio.static.primitive import Records, i16, i32, i32Timedelta, i64

from framework.history.event import Event
from workloads.kafka.batches import values_in
from workloads.kafka.messages import Ok, Result, UnexpectedResponse
from workloads.kafka.results import refused

ACKS: Final = {"0": 0, "1": 1, "all": -1}
TIMESTAMPS: Final = {"latest": -1, "earliest": -2}
PRODUCE_TIMEOUT_MS: Final = 1500
FETCH_WAIT_MS: Final = 100
FETCH_BYTES: Final = 256 * 1024


def partition_of(key: str) -> tuple[str, int]:
    """(topic, partition) of a key."""
    topic, _, number = key.rpartition("/")
    return topic, int(number)


def _ms(count: int) -> i32Timedelta:
    return i32Timedelta.parse(datetime.timedelta(milliseconds=count))


def produce_request(op: Event, batch: bytes) -> produce.ProduceRequest:
    """One batch to one partition, with the operation's acks."""
    topic, number = partition_of(op.key)
    data = produce.PartitionProduceData(index=i32(number), records=Records(batch))
    return produce.ProduceRequest(
        acks=i16(ACKS[op.value["acks"]]),
        timeout=_ms(PRODUCE_TIMEOUT_MS),
        topic_data=(produce.TopicProduceData(name=TopicName(topic), partition_data=(data,)),),
    )


def produce_result(op: Event, response: Any, topic_id: str | None) -> Result:
    """Ok: the invocation's value with "offset" and "topic_id"."""
    topic, number = partition_of(op.key)
    answer = _only(response.responses, "partition_responses", topic, number)
    if answer.error_code != 0:
        return refused(op.f, answer.error_code, getattr(answer, "error_message", None))
    return Ok({**op.value, "offset": int(answer.base_offset), "topic_id": topic_id})


def fetch_request(op: Event, leader_epoch: int) -> fetch.FetchRequest:
    """Of one partition, from the operation's "from", fenced by the leader epoch."""
    topic, number = partition_of(op.key)
    partition = fetch.FetchPartition(
        partition=i32(number),
        current_leader_epoch=i32(leader_epoch),
        fetch_offset=i64(op.value["from"]),
        partition_max_bytes=i32(FETCH_BYTES),
    )
    return fetch.FetchRequest(
        max_wait=_ms(FETCH_WAIT_MS),
        min_bytes=i32(1),
        max_bytes=i32(FETCH_BYTES),
        topics=(fetch.FetchTopic(topic=TopicName(topic), partitions=(partition,)),),
        forgotten_topics_data=(),
    )


def fetch_result(op: Event, response: Any, leader_epoch: int) -> Result:
    """Ok: {"records": [[offset, value], ...], "high_watermark", "log_start", "position",
    "leader_epoch"}."""
    if response.error_code != 0:
        return refused(op.f, response.error_code)
    topic, number = partition_of(op.key)
    answer = _only(response.responses, "partitions", topic, number)
    if answer.error_code != 0:
        return refused(op.f, answer.error_code)
    start = int(op.value["from"])
    try:
        records = values_in(answer.records or b"", start)
    except ValueError as error:
        raise UnexpectedResponse(str(error)) from error
    return Ok(
        {
            "records": records,
            "high_watermark": int(answer.high_watermark),
            "log_start": int(answer.log_start_offset),
            "position": records[-1][0] + 1 if records else start,
            "leader_epoch": leader_epoch,
        }
    )


def list_offsets_request(op: Event, leader_epoch: int) -> offsets.ListOffsetsRequest:
    """Where the partition begins or ends."""
    topic, number = partition_of(op.key)
    partition = offsets.ListOffsetsPartition(
        partition_index=i32(number),
        current_leader_epoch=i32(leader_epoch),
        timestamp=i64(TIMESTAMPS[op.value["at"]]),
    )
    return offsets.ListOffsetsRequest(
        replica_id=-1,  # type: ignore[arg-type]
        isolation_level=0,  # type: ignore[arg-type]
        topics=(offsets.ListOffsetsTopic(name=TopicName(topic), partitions=(partition,)),),
    )


def list_offsets_result(op: Event, response: Any) -> Result:
    """Ok: {"offset": ...}."""
    topic, number = partition_of(op.key)
    answer = _only(response.topics, "partitions", topic, number)
    if answer.error_code != 0:
        return refused(op.f, answer.error_code)
    return Ok({"offset": int(answer.offset)})


def producer_id_request() -> InitProducerIdRequest:
    """A new producer, without transactions."""
    return InitProducerIdRequest(
        transactional_id=None,
        transaction_timeout=_ms(60_000),
        producer_id=ProducerId(-1),
        producer_epoch=i16(-1),
    )


def _only(topics: Any, field: str, name: str, number: int) -> Any:
    """The one partition that was asked about."""
    found = [
        partition
        for topic in topics
        if getattr(topic, "name", getattr(topic, "topic", None)) == name
        for partition in getattr(topic, field)
        if getattr(partition, "partition_index", getattr(partition, "index", None)) == number
    ]
    if len(found) != 1:
        raise UnexpectedResponse(f"{topics!r:.300}")
    return found[0]
