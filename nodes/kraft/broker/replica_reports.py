"""DescribeLogDirs (key 35) and DescribeProducers (key 61): what a broker tells administrators of
its own replicas. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity, ResponsePayload

from nodes.kraft.controller.answers import NO_THROTTLE, blank, item_schema, make, schema_of
from nodes.kraft.ids import PartitionIndex
from nodes.kraft.partition.producers import Producers

if TYPE_CHECKING:
    from nodes.kraft.wire.partition_requests import DescribeLogDirsRequest, DescribeProducersRequest


Sizes: TypeAlias = Iterable[tuple[PartitionIndex, int, int]]
"""(partition, bytes of its log, how many records its log lacks of what is committed)."""


def log_dir(
    request: DescribeLogDirsRequest,
    path: str,
    topics: Mapping[str, Sizes],
    total_bytes: int,
    usable_bytes: int,
) -> ResponsePayload:
    """The answer to DescribeLogDirs v1-4 of a broker with one directory."""
    schema = item_schema(schema_of(request), "results")
    topic_schema = item_schema(schema, "topics")
    result = make(
        schema,
        error_code=ErrorCode.none,
        log_dir=path,
        topics=tuple(
            make(topic_schema, name=name, partitions=_sizes(topic_schema, topics[name]))
            for name in sorted(topics)
        ),
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
    )
    return make(
        schema_of(request), throttle_time=NO_THROTTLE, error_code=ErrorCode.none, results=(result,)
    )


def _sizes(topic_schema: type[Entity], sizes: Sizes) -> tuple[Entity, ...]:
    schema = item_schema(topic_schema, "partitions")
    return tuple(
        make(
            schema,
            partition_index=number,
            partition_size=size,
            offset_lag=lag,
            is_future_key=False,
        )
        for number, size, lag in sorted(sizes)
    )


def log_dirs_refusal(request: DescribeLogDirsRequest, code: ErrorCode) -> ResponsePayload:
    """The refusal of a DescribeLogDirs. Before version 3 it has no code: nothing is told."""
    return make(schema_of(request), throttle_time=NO_THROTTLE, error_code=code, results=())


def producers(
    request: DescribeProducersRequest,
    found: Callable[[str, PartitionIndex], Producers | ErrorCode],
) -> ResponsePayload:
    """The answer to DescribeProducers v0. `found`: a partition's producers, or why nothing is said
    of them."""
    schema = item_schema(schema_of(request), "topics")
    partition = item_schema(schema, "partitions")
    return make(
        schema_of(request),
        throttle_time=NO_THROTTLE,
        topics=tuple(
            make(
                schema,
                name=topic.name,
                partitions=tuple(
                    _producers(partition, number, found(topic.name, PartitionIndex(number)))
                    for number in topic.partition_indexes
                ),
            )
            for topic in request.topics
        ),
    )


def _producers(schema: type[Entity], number: int, found: Producers | ErrorCode) -> Entity:
    if isinstance(found, ErrorCode):
        message = found.name.upper()
        return blank(schema, partition_index=number, error_code=found, error_message=message)
    producer = item_schema(schema, "active_producers")
    return make(
        schema,
        partition_index=number,
        error_code=ErrorCode.none,
        error_message=None,
        active_producers=tuple(
            make(
                producer,
                producer_id=producer_id,
                producer_epoch=found[producer_id].epoch,
                last_sequence=found[producer_id].written[-1].last_sequence,
                last_timestamp=-1,  # nobody keeps it
                coordinator_epoch=-1,
                current_txn_start_offset=-1,
            )
            for producer_id in sorted(found)
        ),
    )
