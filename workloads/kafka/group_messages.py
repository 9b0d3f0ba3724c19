"""Between operations on groups and Kafka's messages: pure, as `messages` is for topics."""

from typing import Final

from kio.schema.api_versions.v3.request import ApiVersionsRequest
from kio.schema.api_versions.v3.response import ApiVersionsResponse
from kio.schema.list_groups.v4.request import ListGroupsRequest as ListGroupsUntyped
from kio.schema.list_groups.v4.response import ListGroupsResponse as ListedUntyped
from kio.schema.list_groups.v5.request import ListGroupsRequest
from kio.schema.list_groups.v5.response import ListGroupsResponse
from kio.schema.offset_commit.v8 import request as commit
from kio.schema.offset_commit.v8 import response as committed
from kio.schema.offset_delete.v0 import request as delete
from kio.schema.offset_delete.v0.response import OffsetDeleteResponse
from kio.schema.offset_fetch.v7 import request as fetch
from kio.schema.offset_fetch.v7 import response as fetched
from kio.schema.types import GroupId, TopicName
from kio.static.primitive import i32, i64
from kio.static.protocol import ResponsePayload

from framework.history.event import Invocation
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.messages import refused, the_one
from workloads.kafka.operations.groups import Commit, Committed, Listed, ListGroups, OfGroup
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


# --- administration -----------------------------------------------------------------------


def forget_request(invocation: Invocation) -> delete.OffsetDeleteRequest:
    """One partition's offset (KIP-496)."""
    name, number = partition_of(invocation.key)
    partition = delete.OffsetDeleteRequestPartition(partition_index=i32(number))
    topic = delete.OffsetDeleteRequestTopic(name=TopicName(name), partitions=(partition,))
    group = OfGroup.from_json(invocation.value).group
    return delete.OffsetDeleteRequest(group_id=GroupId(group), topics=(topic,))


def forget_answer(invocation: Invocation, response: OffsetDeleteResponse) -> Answer:
    """Ok: null."""
    if response.error_code != 0:
        return refused(response.error_code)
    name, number = partition_of(invocation.key)
    topic = the_one(response.topics, lambda each: each.name == name)
    answer = the_one(topic.partitions, lambda each: each.partition_index == number)
    return Ok(None) if answer.error_code == 0 else refused(answer.error_code)


def versions_request() -> ApiVersionsRequest:
    """What a client asks that goes by what a broker serves."""
    return ApiVersionsRequest(client_software_name="harness", client_software_version="1")


def list_request(
    invocation: Invocation, served: ApiVersionsResponse
) -> ListGroupsRequest | ListGroupsUntyped:
    """Of a broker that serves those versions: with types where it knows any (KIP-848), so that
    one that does not lists all types, whatever is asked for."""
    asked = ListGroups.from_json(invocation.value or {})
    states, key = asked.states or (), ListGroupsRequest.__api_key__
    newest = max((each.max_version for each in served.api_keys if each.api_key == key), default=0)
    if newest < ListGroupsRequest.__version__:
        return ListGroupsUntyped(states_filter=states)
    return ListGroupsRequest(states_filter=states, types_filter=asked.types or ())


def listed_answer(response: ResponsePayload) -> Answer:
    """Ok: `Listed`, in the order of ids."""
    if not isinstance(response, ListGroupsResponse | ListedUntyped):
        raise UnexpectedResponse(f"{response!r:.300}")
    if response.error_code != 0:
        return refused(response.error_code)
    groups = [
        (str(each.group_id), each.group_state, getattr(each, "group_type", None))
        for each in response.groups
    ]
    return Ok(Listed(tuple(sorted(groups))).to_json())
