"""Which clients are told, with a refusal, who leads a partition now (KIP-951)."""

import uuid

import pytest
from kio.schema.errors import ErrorCode

from nodes.kraft.controller.answers import item_schema, make
from nodes.kraft.partition.answers import response
from nodes.kraft.wire.api_keys import FETCH
from nodes.kraft.wire.codec import decode_response, encode_response, request_schema

HINT = {"leader_id": 5, "leader_epoch": 3}


@pytest.mark.parametrize("version, reported", [(4, None), (11, None), (12, -1), (15, -1), (16, 5)])
def test_fetches_are_reported_from_version_16_on(version, reported):
    """A.5.16: a client of version 12 knows no leader that its metadata does not have."""
    schema = request_schema(FETCH, version)
    topic_schema = item_schema(schema, "topics")
    partition = make(
        item_schema(topic_schema, "partitions"),
        partition=0,
        current_leader_epoch=2,
        fetch_offset=0,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=1,
    )
    topic = make(topic_schema, topic="t", topic_id=uuid.UUID(int=1), partitions=(partition,))
    request = make(
        schema,
        replica_id=-1,
        max_wait=None,
        min_bytes=0,
        topics=(topic,),
        forgotten_topics_data=(),
    )
    said = {"error_code": ErrorCode.not_leader_or_follower, "current_leader": HINT}
    data = encode_response(response(request, lambda *_: said), correlation_id=1)
    (answered,) = decode_response(FETCH, version, data)[1].responses
    (item,) = answered.partitions
    assert item.error_code == ErrorCode.not_leader_or_follower
    hint = getattr(item, "current_leader", None)
    assert (None if hint is None else hint.leader_id) == reported
