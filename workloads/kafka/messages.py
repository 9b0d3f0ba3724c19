"""Between operations of a history and Kafka's messages: pure, no input or output.

A `request` is what an invocation stands for. An `answer` reads the response: the value and ext
of an ok, or the code of a refusal. Shapes of keys and values: `workloads.kafka.operations`.
"""

import datetime
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from kio.schema.alter_partition.v3 import request as alter
from kio.schema.alter_partition.v3 import response as altered
from kio.schema.create_topics.v7 import request as create
from kio.schema.create_topics.v7 import response as created
from kio.schema.delete_topics.v6 import request as delete
from kio.schema.delete_topics.v6 import response as deleted
from kio.schema.describe_configs.v4 import request as configs
from kio.schema.describe_configs.v4 import response as configured
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v12 import request as metadata
from kio.schema.metadata.v12 import response as cached
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i16, i32, i32Timedelta, i64

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange, Exchanges, Further, UnexpectedResponse
from framework.plugins.outcomes import Answer, Ok, Refused
from workloads.kafka.operations.brokers import AlterIsr, IsrState
from workloads.kafka.operations.topics import (
    Configs,
    CreatedTopic,
    CreateTopic,
    PartitionState,
    TopicConfigs,
    TopicState,
    TriedTopic,
)
from workloads.kafka.roles import BROKER, CONTROLLER

REQUEST_TIMEOUT_MS: Final = 2000
DEFAULT: Final = -1
"""Instead of a number of partitions or replicas: the system's own, or as assigned."""
TOPIC_RESOURCE: Final = 2
OF_THE_TOPIC: Final = 1
"""Where a configuration's value comes from, by Kafka's numbers: the topic's own."""
COMING: Final = (ErrorCode.unknown_topic_or_partition, ErrorCode.leader_not_available)
"""What a broker says of a topic that it has made just now."""
ON_DEMAND_PAUSE_S: Final = 0.1
_TIMEOUT: Final = i32Timedelta.parse(datetime.timedelta(milliseconds=REQUEST_TIMEOUT_MS))

T = TypeVar("T")


def name_of(code: int) -> str:
    """The code's name in Kafka's spelling; a number that Kafka does not have, as it is."""
    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return f"UNKNOWN_CODE_{code}"


def refused(code: int, message: str | None = None) -> Refused:
    """The answer that an error code other than 0 is."""
    return Refused(name_of(code), message or "")


# --- requests -----------------------------------------------------------------------------


def create_request(
    invocation: Invocation,
) -> create.CreateTopicsRequest | metadata.MetadataRequest:
    """By numbers, by assignment, or on demand."""
    asked = CreateTopic.from_json(invocation.value)
    if asked.on_demand:
        return metadata_of(invocation.key, made_if_missing=True)
    return _create(invocation, asked, validate_only=False)


def dry_create_request(invocation: Invocation) -> create.CreateTopicsRequest:
    """Only to be tried."""
    return _create(invocation, CreateTopic.from_json(invocation.value), validate_only=True)


def _create(
    invocation: Invocation, asked: CreateTopic, *, validate_only: bool
) -> create.CreateTopicsRequest:
    topic = create.CreatableTopic(
        name=TopicName(invocation.key),
        num_partitions=i32(DEFAULT if asked.partitions is None else asked.partitions),
        replication_factor=i16(DEFAULT if asked.replication is None else asked.replication),
        assignments=tuple(
            create.CreatableReplicaAssignment(
                partition_index=i32(number), broker_ids=tuple(map(BrokerId, replicas))
            )
            for number, replicas in enumerate(asked.assignment or ())
        ),
        configs=tuple(
            create.CreatableTopicConfig(name=name, value=value)
            for name, value in asked.configs or ()
        ),
    )
    return create.CreateTopicsRequest(
        topics=(topic,), timeout=_TIMEOUT, validate_only=validate_only
    )


def delete_request(invocation: Invocation) -> delete.DeleteTopicsRequest:
    """By name."""
    topic = delete.DeleteTopicState(name=TopicName(invocation.key), topic_id=None)
    return delete.DeleteTopicsRequest(topics=(topic,), timeout=_TIMEOUT)


def metadata_request(invocation: Invocation) -> metadata.MetadataRequest:
    """One topic by name, never created by being asked for."""
    return metadata_of(invocation.key, made_if_missing=False)


def metadata_of(name: str, *, made_if_missing: bool) -> metadata.MetadataRequest:
    """One topic."""
    topic = metadata.MetadataRequestTopic(topic_id=None, name=TopicName(name))
    return metadata.MetadataRequest(
        topics=(topic,),
        allow_auto_topic_creation=made_if_missing,
        include_topic_authorized_operations=False,
    )


def configs_request(invocation: Invocation) -> configs.DescribeConfigsRequest:
    """All of one topic's."""
    topic = configs.DescribeConfigsResource(
        resource_type=i8(TOPIC_RESOURCE), resource_name=invocation.key, configuration_keys=None
    )
    return configs.DescribeConfigsRequest(resources=(topic,))


def alter_request(invocation: Invocation) -> alter.AlterPartitionRequest:
    """One partition, with the broker epochs of its members."""
    asked = AlterIsr.from_json(invocation.value)
    members = tuple(
        alter.BrokerState(broker_id=BrokerId(member), broker_epoch=i64(epoch))
        for member, epoch in zip(asked.isr, asked.isr_epochs, strict=True)
    )
    partition = alter.PartitionData(
        partition_index=i32(asked.partition),
        leader_epoch=i32(asked.leader_epoch),
        new_isr_with_epochs=members,
        partition_epoch=i32(asked.partition_epoch),
    )
    topic = alter.TopicData(topic_id=uuid.UUID(asked.topic_id), partitions=(partition,))
    return alter.AlterPartitionRequest(
        broker_id=BrokerId(asked.broker_id),
        broker_epoch=i64(asked.broker_epoch),
        topics=(topic,),
    )


# --- answers ------------------------------------------------------------------------------


def create_answer(
    invocation: Invocation, response: created.CreateTopicsResponse | cached.MetadataResponse
) -> Answer:
    """Ok: the id, and what else the answer tells of the topic."""
    if isinstance(response, cached.MetadataResponse):
        return _made_on_demand(invocation, response)
    topic = the_one(response.topics, lambda each: each.name == invocation.key)
    if topic.error_code != 0:
        return refused(topic.error_code, topic.error_message)
    partitions, replicas, configs = _told_of(topic)
    made = CreatedTopic(
        topic_id=str(topic.topic_id),
        num_partitions=partitions,
        replication_factor=replicas,
        configs=configs,
    )
    return Ok(made.to_json())


def dry_create_answer(invocation: Invocation, response: created.CreateTopicsResponse) -> Answer:
    """Ok: whether there is a topic of that name, else what would be made. Ids of what is not made
    say nothing."""
    topic = the_one(response.topics, lambda each: each.name == invocation.key)
    if topic.error_code == ErrorCode.topic_already_exists:
        return Ok(TriedTopic(exists=True).to_json())
    if topic.error_code != ErrorCode.none:
        return refused(topic.error_code, topic.error_message)
    partitions, replicas, configs = _told_of(topic)
    would = TriedTopic(
        exists=False, num_partitions=partitions, replication_factor=replicas, configs=configs
    )
    return Ok(would.to_json())


def _told_of(topic: created.CreatableTopicResult) -> tuple[int | None, int | None, Configs | None]:
    """Partitions, replicas and configuration, as far as an answer tells of what it made."""
    return (
        None if topic.num_partitions < 0 else int(topic.num_partitions),
        None if topic.replication_factor < 0 else int(topic.replication_factor),
        None if topic.configs is None else own_configs(topic.configs),
    )


def _made_on_demand(invocation: Invocation, response: cached.MetadataResponse) -> Answer:
    """Its id. An error is no refusal: an earlier question may have made the topic."""
    topic = the_one(response.topics, lambda each: each.name == invocation.key)
    if topic.error_code != ErrorCode.none:
        raise UnexpectedResponse(f"{topic.error_code!r} of {topic.name}")
    return Ok(CreatedTopic(topic_id=str(topic.topic_id)).to_json())


def until_made(
    response: created.CreateTopicsResponse | cached.MetadataResponse,
) -> Further[metadata.MetadataRequest] | None:
    """A broker that has a topic made on demand says that there is none, or none that is led, until
    it knows better; clients ask again."""
    if isinstance(response, created.CreateTopicsResponse):
        return None
    topic = the_one(response.topics, lambda each: each.name is not None)
    if topic.error_code not in COMING:
        return None
    request = metadata_of(str(topic.name), made_if_missing=True)
    return Further(request=request, pause_s=ON_DEMAND_PAUSE_S)


def delete_answer(invocation: Invocation, response: deleted.DeleteTopicsResponse) -> Answer:
    """Ok: {"topic_id": ...}, or null where the answer does not tell it."""
    topic = the_one(response.responses, lambda each: each.name == invocation.key)
    if topic.error_code != 0:
        return refused(topic.error_code, topic.error_message)
    return Ok(None if topic.topic_id is None else {"topic_id": str(topic.topic_id)})


def metadata_answer(invocation: Invocation, response: cached.MetadataResponse) -> Answer:
    """Ok: null (absent) or the topic, as the broker's cache has it."""
    topic = the_one(response.topics, lambda each: each.name == invocation.key)
    if topic.error_code == ErrorCode.unknown_topic_or_partition:
        return Ok(None)
    if topic.error_code != ErrorCode.none:
        return refused(topic.error_code)
    return Ok(TopicState(topic_id=str(topic.topic_id), partitions=partitions_of(topic)).to_json())


def partitions_of(topic: cached.MetadataResponseTopic) -> tuple[PartitionState, ...]:
    """Its partitions, as the broker's cache has them."""
    return tuple(
        PartitionState(
            partition=int(each.partition_index),
            leader=int(each.leader_id),
            leader_epoch=int(each.leader_epoch),
            partition_epoch=None,
            replicas=tuple(map(int, each.replica_nodes)),
            isr=tuple(map(int, each.isr_nodes)),
        )
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    )


def configs_answer(invocation: Invocation, response: configured.DescribeConfigsResponse) -> Answer:
    """Ok: null (absent) or the topic's own configuration, as the cache of who is asked has it."""
    topic = the_one(response.results, lambda each: each.resource_name == invocation.key)
    if topic.error_code == ErrorCode.unknown_topic_or_partition:
        return Ok(None)
    if topic.error_code != ErrorCode.none:
        return refused(topic.error_code, topic.error_message)
    return Ok(TopicConfigs(configs=own_configs(topic.configs)).to_json())


def own_configs(
    reported: Iterable[created.CreatableTopicConfigs | configured.DescribeConfigsResourceResult],
    source: int = OF_THE_TOPIC,
) -> Configs:
    """Those whose values come from there."""
    return tuple((each.name, each.value) for each in reported if each.config_source == source)


def alter_answer(invocation: Invocation, response: altered.AlterPartitionResponse) -> Answer:
    """Ok: the partition after the change."""
    asked = AlterIsr.from_json(invocation.value)
    if response.error_code != 0:
        return refused(response.error_code)
    topic = the_one(response.topics, lambda each: str(each.topic_id) == asked.topic_id)
    partition = the_one(topic.partitions, lambda each: each.partition_index == asked.partition)
    if partition.error_code != 0:
        return refused(partition.error_code)
    state = IsrState(
        leader=int(partition.leader_id),
        leader_epoch=int(partition.leader_epoch),
        partition_epoch=int(partition.partition_epoch),
        isr=tuple(map(int, partition.isr)),
    )
    return Ok(state.to_json())


def the_one(items: Sequence[T], matches: Callable[[T], bool]) -> T:
    """The one item that the request asked for."""
    if len(items) != 1 or not matches(items[0]):
        raise UnexpectedResponse(f"{items!r:.300}")
    return items[0]


EXCHANGES: Final[Exchanges] = {
    "create": Exchange(
        at=BROKER, request=create_request, answer=create_answer, forwarded=True, then=until_made
    ),
    "dry-create": Exchange(
        at=BROKER, request=dry_create_request, answer=dry_create_answer, forwarded=True
    ),
    "controller-dry-create": Exchange(
        at=CONTROLLER, request=dry_create_request, answer=dry_create_answer
    ),
    "delete": Exchange(at=BROKER, request=delete_request, answer=delete_answer, forwarded=True),
    "metadata": Exchange(at=BROKER, request=metadata_request, answer=metadata_answer),
    "describe-configs": Exchange(at=BROKER, request=configs_request, answer=configs_answer),
    "controller-configs": Exchange(at=CONTROLLER, request=configs_request, answer=configs_answer),
    "alter-isr": Exchange(at=CONTROLLER, request=alter_request, answer=alter_answer),
}
"""Operations in Kafka's own messages. Systems add theirs (`workloads.kafka.system`)."""
