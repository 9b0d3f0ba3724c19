"""Bytes of strangers: whatever they are, decoding gives an entity or `MalformedRequest`."""

from __future__ import annotations

import contextlib
import datetime
import struct
import tracemalloc
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.create_topics.v7 import request as create
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v17 import request as fetch
from kio.schema.metadata.v12.request import MetadataRequest, MetadataRequestTopic
from kio.schema.produce.v9 import request as produce
from kio.schema.produce.v10 import response as produced
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64

from nodes.kraft.wire.codec import (
    MalformedRequest,
    UnsupportedVersion,
    decode_entity,
    decode_request,
    decode_response,
    encode_entity,
    encode_request,
    request_schema,
    response_schema,
)
from nodes.kraft.wire.structure import checked, without_unknown_tags, write_unsigned_varint
from tests.cases import cases

SECOND = i32Timedelta.parse(datetime.timedelta(seconds=1))
TOPIC_ID = uuid.UUID(int=7)
KNOWN = [(key, version) for key in (*range(92), 10000, 10001) for version in range(20)]


def schemas() -> Iterator[type[Any]]:
    for key, version in KNOWN:
        for find in (request_schema, response_schema):
            try:
                schema = find(key, version)
            except KeyError:
                continue
            yield schema
            yield schema.__header_schema__


def samples() -> list[Any]:
    """Requests with most kinds of fields."""
    return [
        create.CreateTopicsRequest(
            topics=(
                create.CreatableTopic(
                    name="a",  # type: ignore[arg-type]
                    num_partitions=i32(1),
                    replication_factor=i16(1),
                    assignments=(
                        create.CreatableReplicaAssignment(
                            partition_index=i32(0),
                            broker_ids=(i32(1), i32(2)),  # type: ignore[arg-type]
                        ),
                    ),
                    configs=(create.CreatableTopicConfig(name="k", value=None),),
                ),
            ),
            timeout=SECOND,
        ),
        MetadataRequest(
            topics=(MetadataRequestTopic(topic_id=TOPIC_ID, name=None),),
            allow_auto_topic_creation=False,
            include_topic_authorized_operations=False,
        ),
        MetadataRequest(
            topics=None, allow_auto_topic_creation=True, include_topic_authorized_operations=False
        ),
        produce.ProduceRequest(
            transactional_id=None,
            acks=i16(-1),
            timeout=SECOND,
            topic_data=(
                produce.TopicProduceData(
                    name="a",  # type: ignore[arg-type]
                    partition_data=(
                        produce.PartitionProduceData(index=i32(0), records=b"xyz"),  # type: ignore[arg-type]
                    ),
                ),
            ),
        ),
        fetch.FetchRequest(
            cluster_id="c",
            max_wait=SECOND,
            min_bytes=i32(1),
            isolation_level=i8(0),
            topics=(
                fetch.FetchTopic(
                    topic_id=TOPIC_ID,
                    partitions=(
                        fetch.FetchPartition(
                            partition=i32(0),
                            fetch_offset=i64(1),
                            partition_max_bytes=i32(1),
                            replica_directory_id=TOPIC_ID,
                        ),
                    ),
                ),
            ),
            forgotten_topics_data=(),
            rack_id="r",
        ),
    ]


def test_every_schema_can_be_walked() -> None:
    """No field type is forgotten: each would be a TypeError at the first request of its kind."""
    count = 0
    for schema in schemas():
        with contextlib.suppress(ValueError):  # TypeError: a field of a type that is not known
            checked(schema, b"")
        count += 1
    assert count > 500


@pytest.mark.parametrize("request_", samples(), ids=lambda each: type(each).__name__)
def test_what_is_well_formed_is_passed_on_untouched(request_: Any) -> None:
    data = encode_entity(request_)
    assert checked(type(request_), data) == (data, len(data))
    assert decode_entity(type(request_), data) == request_


@pytest.mark.parametrize(
    ("request_", "places"),
    list(zip(samples(), [5, 3, 2, 4, 2], strict=True)),
    ids=lambda each: str(each)[:9],
)
def test_tagged_fields_that_are_not_known_are_ignored(request_: Any, places: int) -> None:
    """A.1.34: after the request, its header, and each entity in it (KIP-482). `places`: how many
    of them have no tagged field of their own."""
    data = encode_request(request_, correlation_id=7, client_id="t")
    unknown = b"\x01" + write_unsigned_varint(99) + write_unsigned_varint(3) + b"abc"
    ignored = 0
    for at in (at for at, byte in enumerate(data) if byte == 0):  # an empty set of tags, or not
        with contextlib.suppress(MalformedRequest, UnsupportedVersion):
            header, decoded = decode_request(data[:at] + unknown + data[at + 1 :])
            ignored += decoded == request_ and header.correlation_id == 7
    assert ignored == places


def test_an_unknown_tag_within_a_known_tagged_field_is_taken_out() -> None:
    """The known field's length changes with it."""
    partition = produced.PartitionProduceResponse(
        index=i32(0),
        error_code=ErrorCode.none,
        base_offset=i64(0),
        log_append_time=None,
        log_start_offset=i64(0),
        record_errors=(),
        error_message=None,
        current_leader=produced.LeaderIdAndEpoch(leader_id=i32(3), leader_epoch=i32(4)),  # type: ignore[arg-type]
    )
    data = encode_entity(partition)
    inner = struct.pack(">ii", 3, 4) + b"\x00"
    assert inner in data
    unknown = write_unsigned_varint(1) + write_unsigned_varint(5) + write_unsigned_varint(1) + b"x"
    at = data.index(inner) - 1
    assert data[at] == len(inner)
    longer = inner[:-1] + unknown
    changed = data[:at] + bytes([len(longer)]) + longer + data[at + 1 + len(inner) :]
    assert without_unknown_tags(type(partition), changed) == data


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"\x00" + struct.pack(">i", 0) + b"\x00\x00", "null"),
        (b"\xff\xff\xff\xff\x0f" + b"\x00" * 20, "too many"),
        (b"\xff\xff\xff\xff\xff\x01" + b"\x00" * 20, "varint"),
        (b"\x02\xff\xff\xff\x7f" + b"\x00" * 20, "end within"),
    ],
)
def test_lengths_that_lie_are_refused(body: bytes, why: str) -> None:
    with pytest.raises(MalformedRequest, match=why):
        decode_entity(create.CreateTopicsRequest, body)


def test_gigabytes_that_are_promised_are_not_allocated() -> None:
    header = struct.pack(">hhih", 19, 2, 1, -1)
    tracemalloc.start()
    try:
        for length in (2**31 - 1, 2**30, 10**8, 10**6):
            with pytest.raises(MalformedRequest):
                decode_request(header + struct.pack(">i", length) + b"\x00" * 100)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_few_bytes_do_not_become_many_objects() -> None:
    """3 bytes of a request are hundreds in memory: their number is bounded."""
    count = 10**6
    body = b"\x00" + struct.pack(">hi", 1, 0) + write_unsigned_varint(count + 1)
    with pytest.raises(MalformedRequest, match="too many elements"):
        decode_entity(produce.ProduceRequest, body + b"\x01\x01\x00" * count + b"\x00")


def mutations(data: bytes) -> st.SearchStrategy[bytes]:
    at = st.integers(0, len(data))
    return st.one_of(
        st.builds(lambda n: data[:n], at),
        st.builds(lambda n, more: data[:n] + more + data[n:], at, st.binary(max_size=8)),
        st.builds(
            lambda n, more: data[:n] + more + data[n + len(more) :], at, st.binary(max_size=8)
        ),
        st.builds(lambda n, m: data[: min(n, m)] + data[max(n, m) :], at, at),
    )


@given(
    st.sampled_from(samples()).flatmap(
        lambda each: mutations(encode_request(each, correlation_id=1, client_id="t"))
    )
)
@settings(max_examples=cases(400), deadline=None)
def test_mutated_requests_are_decoded_or_refused(data: bytes) -> None:
    with contextlib.suppress(MalformedRequest, UnsupportedVersion):
        decode_request(data)


@given(st.sampled_from(KNOWN), st.binary(max_size=64))
@settings(max_examples=cases(600), deadline=None)
def test_random_bytes_after_any_header_are_decoded_or_refused(
    known: tuple[int, int], body: bytes
) -> None:
    key, version = known
    with contextlib.suppress(MalformedRequest, UnsupportedVersion):
        decode_request(struct.pack(">hhih", key, version, 1, -1) + body)


@given(st.sampled_from(KNOWN), st.binary(max_size=64))
@settings(max_examples=cases(400), deadline=None)
def test_random_answers_are_decoded_or_refused(known: tuple[int, int], body: bytes) -> None:
    with contextlib.suppress(MalformedRequest, KeyError):
        decode_response(*known, body)
