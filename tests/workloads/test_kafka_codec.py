"""The clients' codec: what the node's codec writes it reads, and no bytes do harm."""

import datetime
import struct
import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12 import request as fetch
from kio.schema.fetch.v12 import response as fetched
from kio.schema.list_offsets.v5 import request as offsets
from kio.schema.list_offsets.v5 import response as listed
from kio.schema.metadata.v12 import request as metadata
from kio.schema.metadata.v12 import response as cached
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import Records, i32, i32Timedelta, i64

from nodes.kraft.wire.codec import encode_response
from workloads.kafka.codec import Codec, MalformedResponse

THROTTLE = i32Timedelta.parse(datetime.timedelta(milliseconds=7))
METADATA = metadata.MetadataRequest(topics=None, include_topic_authorized_operations=False)
CACHED = cached.MetadataResponse(
    throttle_time=THROTTLE,
    brokers=(
        cached.MetadataResponseBroker(node_id=BrokerId(4), host="b1", port=i32(9092), rack="left"),
    ),
    cluster_id=None,
    controller_id=BrokerId(4),
    topics=(
        cached.MetadataResponseTopic(
            error_code=ErrorCode.none,
            name=None,
            topic_id=uuid.UUID(int=7),
            partitions=(
                cached.MetadataResponsePartition(
                    error_code=ErrorCode.leader_not_available,
                    partition_index=i32(1),
                    leader_id=BrokerId(-1),
                    leader_epoch=i32(2),
                    replica_nodes=(BrokerId(4), BrokerId(5)),
                    isr_nodes=(),
                    offline_replicas=(BrokerId(5),),
                ),
            ),
        ),
    ),
)
FETCH: Any = fetch.FetchRequest(
    max_wait=THROTTLE, min_bytes=i32(1), max_bytes=i32(9), topics=(), forgotten_topics_data=()
)
FETCHED = fetched.FetchResponse(
    throttle_time=THROTTLE,
    error_code=ErrorCode.none,
    session_id=i32(0),
    responses=(
        fetched.FetchableTopicResponse(
            topic=TopicName("t"),
            partitions=(
                fetched.PartitionData(
                    partition_index=i32(0),
                    error_code=ErrorCode.none,
                    high_watermark=i64(5),
                    log_start_offset=i64(1),
                    aborted_transactions=None,
                    records=Records(b"\0\1\2"),
                    diverging_epoch=fetched.EpochEndOffset(epoch=i32(3), end_offset=i64(9)),
                ),
            ),
        ),
    ),
)
LIST: Any = offsets.ListOffsetsRequest(replica_id=BrokerId(-1), isolation_level=0, topics=())  # type: ignore[arg-type]
LISTED = listed.ListOffsetsResponse(
    throttle_time=THROTTLE,
    topics=(
        listed.ListOffsetsTopicResponse(
            name=TopicName("t"),
            partitions=(
                listed.ListOffsetsPartitionResponse(
                    partition_index=i32(0),
                    error_code=ErrorCode.none,
                    offset=i64(5),
                ),
            ),
        ),
    ),
)
"""Not flexible: lengths in two and four bytes, no tagged fields."""
EXCHANGES = [(METADATA, CACHED), (FETCH, FETCHED), (LIST, LISTED)]


def read(request: Any, data: bytes) -> Any:
    return Codec().decode_response(request, data, correlation_id=3)


@pytest.mark.parametrize("request_, response", EXCHANGES)
def test_what_the_node_writes_is_read(request_: Any, response: Any) -> None:
    assert read(request_, encode_response(response, correlation_id=3)) == response


@pytest.mark.parametrize("request_, response", EXCHANGES)
def test_the_body_of_another_answer_is_not_looked_at(request_: Any, response: Any) -> None:
    header = encode_response(response, correlation_id=8)[:5]
    with pytest.raises(MalformedResponse, match="correlation id 8 answers 3"):
        read(request_, header)


@pytest.mark.parametrize(
    "request_, header, promise",
    [
        (METADATA, b"\0", b"\xff\xff\xff\xff\x0f"),
        (FETCH, b"\0\0\0\0\0\0\0", b"\xff\xff\xff\xff\x07"),
        (LIST, b"", struct.pack(">i", 2**31 - 1)),
        (LIST, b"", struct.pack(">i", -2)),
    ],
)
def test_an_array_that_promises_more_than_there_is_costs_nothing(
    request_: Any, header: bytes, promise: bytes
) -> None:
    data = struct.pack(">i", 3) + header + struct.pack(">i", 7) + promise + bytes(50)
    with pytest.raises(MalformedResponse):
        read(request_, data)


def test_tagged_fields_that_are_not_known_are_passed_over() -> None:
    data = encode_response(CACHED, correlation_id=3)
    assert data.endswith(b"\0")
    assert read(METADATA, data[:-1] + b"\2\x63\3abc\x64\0") == CACHED
    with pytest.raises(MalformedResponse, match="tagged field 99 has 9 bytes"):
        read(METADATA, data[:-1] + b"\1\x63\x09abc")


@given(st.data())
def test_damaged_bytes_are_refused_or_read_but_do_no_harm(data: st.DataObject) -> None:
    request, response = data.draw(st.sampled_from(EXCHANGES))
    sent = bytearray(encode_response(response, correlation_id=3))
    for _ in range(data.draw(st.integers(1, 4))):
        sent[data.draw(st.integers(4, len(sent) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(4, len(sent)))
    try:
        found = read(request, bytes(sent[:cut]))
    except MalformedResponse:
        return
    assert type(found) is type(response)


def test_a_system_may_have_messages_of_its_own() -> None:
    codec = Codec({metadata.MetadataRequest: listed.ListOffsetsResponse})
    data = encode_response(LISTED, correlation_id=3)
    assert codec.decode_response(METADATA, data, correlation_id=3) == LISTED
