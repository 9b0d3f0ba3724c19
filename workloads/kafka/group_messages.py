"""Between operations on groups and Kafka's messages: pure, as `messages` is for topics."""

from typing import Final

from kio.schema.offset_commit.v8 import request as commit
from kio.schema.offset_commit.v8 import response as committed
from kio.schema.offset_fetch.v7 import request as fetch
from kio.schema.offset_fetch.v7 import response as fetched
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32, i64

from framework.history.event import Invocation
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.messages import refused, the_one
from workloads.kafka.operations.groups import Commit, Committed, OfGroup
from workloads.kafka.operations.partitions import partition_of

NOTHING: Final = -1
"""OffsetFetch's offset where nothing is committed."""


def commit_request(invocation: Invocation) -> commit.OffsetCommitRequest:
    """One partition's offset, by the member and in the generation that the operation names."""
    asked = Commit.from_json(invocation.value)
    topic, number = partition_of(invocation.key)
    partition = commit.OffsetCommitRequestPartition(
        partition_index=i32(number), committed_offset=i64(asked.offset), committed_metadata=""
    )
    return commit.OffsetCommitRequest(
        group_id=GroupId(asked.group),
        generation_id_or_member_epoch=i32(asked.generation),
        member_id=asked.id or "",
        group_instance_id=asked.instance,
        topics=(commit.OffsetCommitRequestTopic(name=TopicName(topic), partitions=(partition,)),),
    )


def commit_answer(invocation: Invocation, response: committed.OffsetCommitResponse) -> Answer:
    """Ok: the invocation's value."""
    name, number = partition_of(invocation.key)
    topic = the_one(response.topics, lambda each: each.name == name)
    answer = the_one(topic.partitions, lambda each: each.partition_index == number)
    if answer.error_code != 0:
        return refused(answer.error_code)
    return Ok(invocation.value)


def committed_request(invocation: Invocation) -> fetch.OffsetFetchRequest:
    """What the group has committed in one partition."""
    topic, number = partition_of(invocation.key)
    asked = fetch.OffsetFetchRequestTopic(name=TopicName(topic), partition_indexes=(i32(number),))
    return fetch.OffsetFetchRequest(
        group_id=GroupId(OfGroup.from_json(invocation.value).group),
        topics=(asked,),
        require_stable=False,
    )


def committed_answer(invocation: Invocation, response: fetched.OffsetFetchResponse) -> Answer:
    """Ok: {"offset": ...}, null where nothing is committed."""
    if response.error_code != 0:
        return refused(response.error_code)
    name, number = partition_of(invocation.key)
    topic = the_one(response.topics, lambda each: each.name == name)
    answer = the_one(topic.partitions, lambda each: each.partition_index == number)
    if answer.error_code != 0:
        return refused(answer.error_code)
    offset = int(answer.committed_offset)
    return Ok(Committed(None if offset == NOTHING else offset).to_json())
