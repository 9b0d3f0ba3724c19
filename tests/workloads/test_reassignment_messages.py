"""Reassignments of a history as Kafka's messages, and back."""

from typing import Any

import pytest
from kio.schema.alter_partition_reassignments.v0 import response as altered
from kio.schema.errors import ErrorCode
from kio.schema.list_partition_reassignments.v0 import response as listed
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32

from framework.history.event import Invocation
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Ok, Refused
from nodes.kraft.controller.answers import NO_THROTTLE
from workloads.kafka.reassignment_messages import (
    list_answer,
    list_request,
    reassign_answer,
    reassign_request,
)


def asked(replicas: list[int] | None) -> Invocation:
    return Invocation(process=0, f="reassign", key="a/b/2", value={"replicas": replicas})


def answered(top: int = 0, code: int = 0, number: int = 2) -> Any:
    partition = altered.ReassignablePartitionResponse(
        partition_index=i32(number), error_code=ErrorCode(code), error_message="why"
    )
    topic = altered.ReassignableTopicResponse(name=TopicName("a/b"), partitions=(partition,))
    return altered.AlterPartitionReassignmentsResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode(top),
        error_message="no",
        responses=() if top else (topic,),
    )


@pytest.mark.parametrize(("replicas", "wanted"), [([6, 4], (6, 4)), ([], ()), (None, None)])
def test_a_wish_is_one_partition(replicas: list[int] | None, wanted: Any) -> None:
    (topic,) = reassign_request(asked(replicas)).topics
    (partition,) = topic.partitions
    assert (topic.name, partition.partition_index, partition.replicas) == ("a/b", 2, wanted)


def test_its_answer_says_nothing_more() -> None:
    assert reassign_answer(asked([4]), answered()) == Ok(None)
    assert reassign_answer(asked([4]), answered(code=85)) == Refused(
        "NO_REASSIGNMENT_IN_PROGRESS", "why"
    )
    assert reassign_answer(asked([4]), answered(top=7)) == Refused("REQUEST_TIMED_OUT", "no")
    with pytest.raises(UnexpectedResponse):
        reassign_answer(asked([4]), answered(number=3))


def test_what_is_under_way() -> None:
    looked = Invocation(process=0, f="reassignments", key=None)
    assert list_request(looked).topics is None
    partition = listed.OngoingPartitionReassignment(
        partition_index=i32(1),
        replicas=(BrokerId(6), BrokerId(4)),
        adding_replicas=(BrokerId(6),),
        removing_replicas=(BrokerId(4),),
    )
    topic = listed.OngoingTopicReassignment(name=TopicName("t"), partitions=(partition,))

    def answer(code: int) -> Any:
        return listed.ListPartitionReassignmentsResponse(
            throttle_time=NO_THROTTLE,
            error_code=ErrorCode(code),
            error_message=None,
            topics=(topic,),
        )

    shown = {"key": "t/1", "replicas": [6, 4], "adding": [6], "removing": [4]}
    assert list_answer(looked, answer(0)) == Ok([shown])
    assert list_answer(looked, answer(41)) == Refused("NOT_CONTROLLER", "")
