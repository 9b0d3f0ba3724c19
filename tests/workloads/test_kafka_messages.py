import uuid
from typing import Any

import pytest
from histories import received
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.alter_partition.v3 import response as alter
from kio.schema.create_topics.v7 import response as create
from kio.schema.delete_topics.v6 import response as delete
from kio.schema.describe_configs.v4 import response as configs
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v12 import response as metadata
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i16, i32

from framework.history.event import Invocation
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Ok, OutcomeTable, Refused
from nodes.kafka import outcomes as kafka
from nodes.kraft.adapter import outcomes as kraft
from nodes.kraft.controller.answers import NO_THROTTLE
from workloads.kafka import messages
from workloads.kafka.messages import EXCHANGES
from workloads.kafka.roles import BROKER, CONTROLLER

TOPIC_ID = uuid.UUID(int=7)
ALTER = {
    "topic_id": str(TOPIC_ID),
    "partition": 2,
    "broker_id": 101,
    "broker_epoch": 12,
    "leader_epoch": 3,
    "partition_epoch": 4,
    "isr": [101, 103],
    "isr_epochs": [12, 15],
    "zombie": None,
}


def op(f: str, key: str = "t", value: Any = None) -> Invocation:
    return Invocation(process=0, f=f, key=key, value=value)


def sent(operation: Invocation) -> Any:
    """The request as a node reads it."""
    return received(EXCHANGES[operation.f].request(operation))


# --- requests


def test_create_by_numbers() -> None:
    request = sent(op("create", value={"partitions": 3, "replication": 2}))
    (topic,) = request.topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t", 3, 2)
    assert topic.assignments == ()
    assert request.timeout.total_seconds() == 2
    assert not request.validate_only


DRY_RUNS = ("dry-create", "controller-dry-create")


@pytest.mark.parametrize("f", DRY_RUNS)
def test_a_dry_run_is_a_create_that_is_only_validated(f: str) -> None:
    value = {"partitions": 3, "replication": 2, "configs": [["retention.ms", "7"]]}
    asked, tried = sent(op("create", value=value)), sent(op(f, value=value))
    assert tried.topics == asked.topics
    assert tried.validate_only and not asked.validate_only


def test_controllers_are_asked_without_a_broker_in_between() -> None:
    at = {f: EXCHANGES[f].at for f in (*DRY_RUNS, "controller-configs", "describe-configs")}
    assert at == {
        "dry-create": BROKER,
        "controller-dry-create": CONTROLLER,
        "controller-configs": CONTROLLER,
        "describe-configs": BROKER,
    }


@pytest.mark.parametrize("table", [kraft.OUTCOMES, kafka.OUTCOMES], ids=["kraft", "kafka"])
@pytest.mark.parametrize("code", ["REQUEST_TIMED_OUT", "NOT_CONTROLLER", "UNKNOWN_SERVER_ERROR"])
def test_a_dry_run_is_harmless_whatever_becomes_of_it(table: OutcomeTable, code: str) -> None:
    assert table.refused("dry-create", Refused(code), retried=True).type == "fail"
    assert table.unanswered("dry-create", "CLIENT_TIMED_OUT", "", sent=True).type == "fail"


def test_all_that_controllers_are_asked_is_harmless() -> None:
    assert {*DRY_RUNS, "controller-configs"} <= kafka.OUTCOMES.reads


def test_create_by_assignment() -> None:
    request = sent(op("create", value={"assignment": [[101, 102], [102, 101]]}))
    (topic,) = request.topics
    assert (topic.num_partitions, topic.replication_factor) == (-1, -1)
    assert {each.partition_index: each.broker_ids for each in topic.assignments} == {
        0: (101, 102),
        1: (102, 101),
    }


def test_create_with_a_configuration() -> None:
    value = {"partitions": 1, "replication": 1, "configs": [["retention.ms", "7"], ["a", "b"]]}
    (topic,) = sent(op("create", value=value)).topics
    assert [(each.name, each.value) for each in topic.configs] == [
        ("retention.ms", "7"),
        ("a", "b"),
    ]


def test_configurations_of_one_topic_are_asked_for_all_together() -> None:
    (topic,) = sent(op("describe-configs")).resources
    assert (topic.resource_type, topic.resource_name) == (2, "t")
    assert topic.configuration_keys is None


def test_delete_is_by_name() -> None:
    (topic,) = sent(op("delete")).topics
    assert (topic.name, topic.topic_id) == ("t", None)


def test_metadata_never_creates() -> None:
    request = sent(op("metadata"))
    assert [each.name for each in request.topics] == ["t"]
    assert not request.allow_auto_topic_creation


@given(
    st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(-1, 2**63 - 1)), max_size=4),
    st.integers(0, 2**31 - 1),
)
def test_alter_isr_carries_every_epoch(members: list[tuple[int, int]], version: int) -> None:
    value = {
        **ALTER,
        "isr": [member for member, _ in members],
        "isr_epochs": [epoch for _, epoch in members],
        "partition_epoch": version,
    }
    request = sent(op("alter-isr", "t/2", value))
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (request.broker_id, request.broker_epoch, topic.topic_id) == (101, 12, TOPIC_ID)
    assert (partition.partition_index, partition.leader_epoch) == (2, 3)
    assert partition.partition_epoch == version
    got = [(each.broker_id, each.broker_epoch) for each in partition.new_isr_with_epochs]
    assert got == members


# --- results


def created(name: str, code: int, message: str | None = None, **more: Any) -> Any:
    result = create.CreatableTopicResult(
        name=TopicName(name),
        topic_id=TOPIC_ID,
        error_code=ErrorCode(code),
        error_message=message,
        **{"configs": None, **more},
    )
    return create.CreateTopicsResponse(throttle_time=NO_THROTTLE, topics=(result,))


def test_created() -> None:
    assert messages.create_answer(op("create"), created("t", 0)) == Ok({"topic_id": str(TOPIC_ID)})


def test_created_tells_what_was_made() -> None:
    values = [("retention.ms", "7", 1), ("cleanup.policy", "delete", 5)]
    reported = tuple(
        create.CreatableTopicConfigs(
            name=name, value=value, config_source=i8(source), read_only=False, is_sensitive=False
        )
        for name, value, source in values
    )
    answer = created("t", 0, num_partitions=i32(3), replication_factor=i16(2), configs=reported)
    assert messages.create_answer(op("create"), answer) == Ok(
        {
            "topic_id": str(TOPIC_ID),
            "num_partitions": 3,
            "replication_factor": 2,
            "configs": [["retention.ms", "7"]],
        }
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (0, Ok({"exists": False, "num_partitions": 3, "replication_factor": 2})),
        (36, Ok({"exists": True})),
        (38, Refused("INVALID_REPLICATION_FACTOR")),
        (41, Refused("NOT_CONTROLLER")),
    ],
)
def test_a_dry_run_is_told_whether_the_topic_is_there(code: int, expected: object) -> None:
    """And what would be made, without the id that it will not have."""
    response = created("t", code, num_partitions=i32(3), replication_factor=i16(2))
    assert messages.dry_create_answer(op("dry-create"), response) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (0, Ok({"configs": [["retention.ms", "7"]]})),
        (3, Ok(None)),
        (29, Refused("TOPIC_AUTHORIZATION_FAILED")),
    ],
)
def test_configured(code: int, expected: object) -> None:
    values = [("retention.ms", "7", 1), ("cleanup.policy", "delete", 5)]
    found = tuple(
        configs.DescribeConfigsResourceResult(
            name=name,
            value=value,
            config_source=i8(source),
            read_only=False,
            is_sensitive=False,
            synonyms=(),
            documentation=None,
        )
        for name, value, source in values
    )
    result = configs.DescribeConfigsResult(
        error_code=ErrorCode(code),
        error_message=None,
        resource_type=i8(2),
        resource_name="t",
        configs=found if code == 0 else (),
    )
    response = configs.DescribeConfigsResponse(throttle_time=NO_THROTTLE, results=(result,))
    assert messages.configs_answer(op("describe-configs"), response) == expected


def test_not_created() -> None:
    found = messages.create_answer(op("create"), created("t", 36, "it is there"))
    assert found == Refused("TOPIC_ALREADY_EXISTS", "it is there")
    assert messages.create_answer(op("create"), created("t", 7)) == Refused("REQUEST_TIMED_OUT")


@pytest.mark.parametrize("response", [created("other", 0)])
def test_an_answer_about_something_else_is_no_answer(response: Any) -> None:
    with pytest.raises(UnexpectedResponse):
        messages.create_answer(op("create"), response)


@pytest.mark.parametrize(
    "code, topic_id, expected",
    [
        (0, TOPIC_ID, Ok({"topic_id": str(TOPIC_ID)})),
        (0, None, Ok(None)),
        (3, None, Refused("UNKNOWN_TOPIC_OR_PARTITION")),
    ],
)
def test_deleted(code: int, topic_id: uuid.UUID | None, expected: object) -> None:
    result = delete.DeletableTopicResult(
        name=TopicName("t"),
        topic_id=topic_id,
        error_code=ErrorCode(code),
    )
    response = delete.DeleteTopicsResponse(throttle_time=NO_THROTTLE, responses=(result,))
    assert messages.delete_answer(op("delete"), response) == expected


@pytest.mark.parametrize("code, absent", [(0, False), (3, True)])
def test_cached(code: int, absent: bool) -> None:
    partition = metadata.MetadataResponsePartition(
        error_code=ErrorCode.none,
        partition_index=i32(0),
        leader_id=BrokerId(4),
        leader_epoch=i32(2),
        replica_nodes=(BrokerId(4), BrokerId(5)),
        isr_nodes=(BrokerId(4),),
    )
    topic = metadata.MetadataResponseTopic(
        error_code=ErrorCode(code),
        name=TopicName("t"),
        topic_id=TOPIC_ID,
        partitions=() if absent else (partition,),
    )
    response = metadata.MetadataResponse(throttle_time=NO_THROTTLE, brokers=(), topics=(topic,))
    shown = {"partition": 0, "leader": 4, "leader_epoch": 2, "replicas": [4, 5], "isr": [4]}
    expected = None if absent else {"topic_id": str(TOPIC_ID), "partitions": [shown]}
    assert messages.metadata_answer(op("metadata"), response) == Ok(expected)


ON_DEMAND = op("create", value={"on_demand": True})


def looked_up(code: int) -> Any:
    topic = metadata.MetadataResponseTopic(
        error_code=ErrorCode(code), name=TopicName("t"), topic_id=TOPIC_ID, partitions=()
    )
    return metadata.MetadataResponse(throttle_time=NO_THROTTLE, brokers=(), topics=(topic,))


def test_a_topic_that_is_made_on_demand_is_looked_for() -> None:
    request = sent(ON_DEMAND)
    assert [each.name for each in request.topics] == ["t"]
    assert request.allow_auto_topic_creation


@pytest.mark.parametrize("code", [3, 5])
def test_it_is_looked_for_again_until_it_is_there(code: int) -> None:
    """By a broker that makes it, or has made it and knows no leader of it yet."""
    further = messages.until_made(looked_up(code))
    assert further is not None and further.pause_s > 0
    assert received(further.request) == sent(ON_DEMAND)
    there = looked_up(0)
    assert messages.until_made(there) is None
    assert messages.create_answer(ON_DEMAND, there) == Ok({"topic_id": str(TOPIC_ID)})
    assert messages.until_made(created("t", 3)) is None, "nobody asks twice for what was refused"


def test_an_error_refuses_no_topic_that_was_looked_for() -> None:
    assert messages.until_made(looked_up(29)) is None
    with pytest.raises(UnexpectedResponse, match="of t"):
        messages.create_answer(ON_DEMAND, looked_up(29))


def altered(top: int, code: int) -> Any:
    partition = alter.PartitionData(
        partition_index=i32(2),
        error_code=ErrorCode(code),
        leader_id=BrokerId(101),
        leader_epoch=i32(3),
        isr=(BrokerId(101), BrokerId(103)),
        partition_epoch=i32(5),
    )
    topics = () if top else (alter.TopicData(topic_id=TOPIC_ID, partitions=(partition,)),)
    return alter.AlterPartitionResponse(
        throttle_time=NO_THROTTLE, error_code=ErrorCode(top), topics=topics
    )


def test_isr_altered() -> None:
    assert messages.alter_answer(op("alter-isr", "t/2", ALTER), altered(0, 0)) == Ok(
        {"leader": 101, "leader_epoch": 3, "partition_epoch": 5, "isr": [101, 103]}
    )


@pytest.mark.parametrize(
    "top, code, name",
    [
        (77, 0, "STALE_BROKER_EPOCH"),
        (0, 95, "INVALID_UPDATE_VERSION"),
        (0, 107, "INELIGIBLE_REPLICA"),
    ],
)
def test_isr_not_altered(top: int, code: int, name: str) -> None:
    assert messages.alter_answer(op("alter-isr", "t/2", ALTER), altered(top, code)) == Refused(name)
