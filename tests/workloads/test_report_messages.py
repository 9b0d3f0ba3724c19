"""What brokers tell of their replicas as Kafka's messages, and back."""

from typing import Any

import pytest
from kio.schema.describe_log_dirs.v3 import response as logged
from kio.schema.describe_producers.v0 import response as written
from kio.schema.errors import ErrorCode
from kio.schema.types import ProducerId, TopicName
from kio.static.primitive import i32, i64

from framework.history.event import Invocation
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Ok, Refused
from nodes.kraft.controller.answers import NO_THROTTLE
from workloads.kafka.report_messages import (
    log_dirs_answer,
    log_dirs_request,
    producers_answer,
    producers_request,
)

ASKS_LOGS = Invocation(process=0, f="log-dirs", key=None, value={"keys": ["b/1", "a/2", "b/0"]})
ASKS_PRODUCERS = Invocation(process=0, f="producers", key="t/1", value=None)


def test_logs_are_asked_for_by_topic() -> None:
    asked = log_dirs_request(ASKS_LOGS).topics
    assert asked is not None
    assert [(each.topic, each.partitions) for each in asked] == [("a", (2,)), ("b", (0, 1))]


def directory(*logs: tuple[str, int, int, bool], code: int = 0) -> Any:
    """(topic, partition, size, future)."""
    return logged.DescribeLogDirsResult(
        error_code=ErrorCode(code),
        log_dir="/d",
        topics=tuple(
            logged.DescribeLogDirsTopic(
                name=TopicName(topic),
                partitions=(
                    logged.DescribeLogDirsPartition(
                        partition_index=i32(number),
                        partition_size=i64(size),
                        offset_lag=i64(0),
                        is_future_key=future,
                    ),
                ),
            )
            for topic, number, size, future in logs
        ),
    )


def of_directories(*results: Any, code: int = 0) -> Any:
    return logged.DescribeLogDirsResponse(
        throttle_time=NO_THROTTLE, error_code=ErrorCode(code), results=results
    )


def test_logs_of_all_directories_are_told() -> None:
    response = of_directories(
        directory(("b", 1, 0, False), ("a", 2, 70, False)), directory(("a", 2, 10, True))
    )
    assert log_dirs_answer(ASKS_LOGS, response) == Ok(
        [
            {"key": "a/2", "size": 70},
            {"key": "a/2", "size": 10, "future": True},
            {"key": "b/1", "size": 0},
        ]
    )
    assert log_dirs_answer(ASKS_LOGS, of_directories()) == Ok([])


def test_a_directory_that_failed_tells_of_no_log() -> None:
    refusal = of_directories(code=31)
    assert log_dirs_answer(ASKS_LOGS, refusal) == Refused("CLUSTER_AUTHORIZATION_FAILED")
    broken = of_directories(directory(("a", 2, 70, False)), directory(code=56))
    assert log_dirs_answer(ASKS_LOGS, broken) == Refused("KAFKA_STORAGE_ERROR")


def of_partition(
    *told: tuple[int, int, int], code: int = 0, name: str = "t", number: int = 1
) -> Any:
    """(producer id, epoch, last sequence number)."""
    partition = written.PartitionResponse(
        partition_index=i32(number),
        error_code=ErrorCode(code),
        error_message="why" if code else None,
        active_producers=tuple(
            written.ProducerState(
                producer_id=ProducerId(id),
                producer_epoch=i32(epoch),
                last_sequence=i32(last),
                coordinator_epoch=i32(-1),
            )
            for id, epoch, last in told
        ),
    )
    topic = written.TopicResponse(name=TopicName(name), partitions=(partition,))
    return written.DescribeProducersResponse(throttle_time=NO_THROTTLE, topics=(topic,))


def test_producers_are_told_of_one_partition() -> None:
    (asked,) = producers_request(ASKS_PRODUCERS).topics
    assert (asked.name, asked.partition_indexes) == ("t", (1,))
    assert producers_answer(ASKS_PRODUCERS, of_partition((9, 0, 4), (7, 2, -1))) == Ok(
        [{"id": 7, "epoch": 2, "last": -1}, {"id": 9, "epoch": 0, "last": 4}]
    )
    assert producers_answer(ASKS_PRODUCERS, of_partition(code=6)) == Refused(
        "NOT_LEADER_OR_FOLLOWER", "why"
    )


@pytest.mark.parametrize("other", [{"name": "u"}, {"number": 0}])
def test_producers_of_another_partition_are_no_answer(other: dict[str, Any]) -> None:
    with pytest.raises(UnexpectedResponse):
        producers_answer(ASKS_PRODUCERS, of_partition(**other))
