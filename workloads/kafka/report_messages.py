"""Between what brokers tell of their replicas and Kafka's messages: pure, as `messages` is."""

from itertools import groupby
from typing import Final

from kio.schema.describe_log_dirs.v3 import request as logs
from kio.schema.describe_log_dirs.v3 import response as logged
from kio.schema.describe_producers.v0 import request as writers
from kio.schema.describe_producers.v0 import response as written
from kio.schema.types import TopicName
from kio.static.primitive import i32

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange, Exchanges
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.messages import refused, the_one
from workloads.kafka.operations.partitions import partition_key, partition_of
from workloads.kafka.operations.reports import ActiveProducer, LogDirs, LogSize
from workloads.kafka.roles import BROKER


def log_dirs_request(invocation: Invocation) -> logs.DescribeLogDirsRequest:
    """Of the partitions that are asked for, in all directories (KIP-113)."""
    asked = sorted(map(partition_of, LogDirs.from_json(invocation.value).keys))
    return logs.DescribeLogDirsRequest(
        topics=tuple(
            logs.DescribableLogDirTopic(
                topic=TopicName(topic), partitions=tuple(i32(number) for _, number in own)
            )
            for topic, own in groupby(asked, key=lambda each: each[0])
        )
    )


def log_dirs_answer(invocation: Invocation, response: logged.DescribeLogDirsResponse) -> Answer:
    """Ok: each log as `LogSize`, by its key. A directory that cannot be told of tells of none."""
    for code in (response.error_code, *(each.error_code for each in response.results)):
        if code != 0:
            return refused(code)
    found = [
        LogSize(
            key=partition_key(topic.name, int(each.partition_index)),
            size=int(each.partition_size),
            future=each.is_future_key or None,
        )
        for directory in response.results
        for topic in directory.topics
        for each in topic.partitions
    ]
    return Ok([each.to_json() for each in sorted(found, key=lambda each: each.key)])


def producers_request(invocation: Invocation) -> writers.DescribeProducersRequest:
    """Of one partition (KIP-664)."""
    topic, number = partition_of(invocation.key)
    asked = writers.TopicRequest(name=TopicName(topic), partition_indexes=(i32(number),))
    return writers.DescribeProducersRequest(topics=(asked,))


def producers_answer(invocation: Invocation, response: written.DescribeProducersResponse) -> Answer:
    """Ok: each as `ActiveProducer`, by its id."""
    topic, number = partition_of(invocation.key)
    own = the_one(response.topics, lambda each: each.name == topic)
    partition = the_one(own.partitions, lambda each: each.partition_index == number)
    if partition.error_code != 0:
        return refused(partition.error_code, partition.error_message)
    found = [
        ActiveProducer(int(each.producer_id), int(each.producer_epoch), int(each.last_sequence))
        for each in partition.active_producers
    ]
    return Ok([each.to_json() for each in sorted(found, key=lambda each: each.id)])


EXCHANGES: Final[Exchanges] = {
    "log-dirs": Exchange(at=BROKER, request=log_dirs_request, answer=log_dirs_answer),
}
"""Those that any broker is asked; `producers` is for a partition's leader."""
