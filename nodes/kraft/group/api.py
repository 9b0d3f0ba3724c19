"""What clients are told of groups, in the version in which they asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

from immutables import Map
from kio.schema.errors import ErrorCode
from kio.static.protocol import Entity, RequestPayload, ResponsePayload

from nodes.kraft.controller.answers import NO_THROTTLE, item_schema, make, schema_of
from nodes.kraft.group.asked import asked_groups, sought
from nodes.kraft.group.state import Group, Member, Offset, Phase, TopicPartition
from nodes.kraft.group.steps import Joined, Left, OffsetsDeleted, Synced
from nodes.kraft.wire.api_keys import (
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_GROUPS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    SYNC_GROUP,
)

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from nodes.kraft.wire.group_requests import (
        DeleteGroupsRequest,
        DescribeGroupsRequest,
        FindCoordinatorRequest,
        GroupRequest,
        HeartbeatRequest,
        JoinGroupRequest,
        LeaveGroupRequest,
        ListGroupsRequest,
        OffsetCommitRequest,
        OffsetDeleteRequest,
        OffsetFetchRequest,
        SyncGroupRequest,
    )

KEYS: Final = frozenset(
    {
        OFFSET_COMMIT,
        OFFSET_FETCH,
        FIND_COORDINATOR,
        JOIN_GROUP,
        HEARTBEAT,
        LEAVE_GROUP,
        SYNC_GROUP,
        DESCRIBE_GROUPS,
        LIST_GROUPS,
        DELETE_GROUPS,
        OFFSET_DELETE,
    }
)
CLASSIC: Final = "classic"
"""The type of all groups here: those of JoinGroup (KIP-848's name for them)."""
NO_OPERATIONS: Final = -(2**31)
"""DescribeGroups' way to say that authorized operations were not asked for."""

Verdict: TypeAlias = Callable[[str, int], ErrorCode]
"""(topic, partition) -> why nothing may be said or done about it, or none."""


# --- responses ----------------------------------------------------------------------------


def joined(request: JoinGroupRequest, result: Joined) -> ResponsePayload:
    schema = schema_of(request)
    protocol = result.protocol
    return make(
        schema,
        throttle_time=NO_THROTTLE,
        error_code=result.error,
        generation_id=result.generation,
        protocol_type=result.protocol_type,
        protocol_name=protocol if protocol is not None or request.__version__ >= 7 else "",
        leader=result.leader,
        skip_assignment=result.skip_assignment,
        member_id=result.member_id,
        members=tuple(
            make(
                item_schema(schema, "members"),
                member_id=member_id,
                group_instance_id=instance_id,
                metadata=metadata,
            )
            for member_id, instance_id, metadata in result.members
        ),
    )


def synced(request: SyncGroupRequest, result: Synced) -> ResponsePayload:
    return make(
        schema_of(request),
        throttle_time=NO_THROTTLE,
        error_code=result.error,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol,
        assignment=result.assignment,
    )


def answered(request: HeartbeatRequest, error: ErrorCode) -> ResponsePayload:
    """The answer to Heartbeat."""
    return make(schema_of(request), throttle_time=NO_THROTTLE, error_code=error)


def left(request: LeaveGroupRequest, result: Left) -> ResponsePayload:
    schema = schema_of(request)
    if not hasattr(request, "members"):  # version 3
        error = result.error or next(iter(result.codes), ErrorCode.none)
        return make(schema, throttle_time=NO_THROTTLE, error_code=ErrorCode(error))
    members = tuple(
        make(
            item_schema(schema, "members"),
            member_id=each.member_id,
            group_instance_id=each.group_instance_id,
            error_code=code,
        )
        for each, code in zip(request.members, result.codes, strict=False)
    )
    return make(schema, throttle_time=NO_THROTTLE, error_code=result.error, members=members)


def committed(
    request: OffsetCommitRequest, error: ErrorCode, refused: Map[TopicPartition, ErrorCode]
) -> ResponsePayload:
    """The answer to OffsetCommit: `error` for all partitions that were not refused before."""
    topics = _codes(
        request,
        lambda topic, partition: refused.get((topic, partition), error),
    )
    return make(schema_of(request), throttle_time=NO_THROTTLE, topics=topics)


def _codes(
    request: OffsetCommitRequest | OffsetDeleteRequest, code: Callable[[str, int], ErrorCode]
) -> tuple[Entity, ...]:
    """The topics of an answer that has a code for each partition that was asked for."""
    topic_schema = item_schema(schema_of(request), "topics")
    partition_schema = item_schema(topic_schema, "partitions")
    return tuple(
        make(
            topic_schema,
            name=topic.name,
            partitions=tuple(
                make(
                    partition_schema,
                    partition_index=each.partition_index,
                    error_code=code(topic.name, int(each.partition_index)),
                )
                for each in topic.partitions
            ),
        )
        for topic in request.topics
    )


def fetched(
    request: OffsetFetchRequest, answer: Callable[[str], Group | ErrorCode], verdict: Verdict
) -> ResponsePayload:
    """The answer to OffsetFetch v1-8. `answer`: a group, or why nothing can be said of it.
    Of all topics, those that `verdict` refuses are left out; of named ones they say why."""
    schema = schema_of(request)
    groups = []
    for group_id, topics in asked_groups(request):
        found = answer(group_id)
        error = found if isinstance(found, ErrorCode) else ErrorCode.none
        group = Group(group_id=group_id) if isinstance(found, ErrorCode) else found
        parent = item_schema(schema, "groups") if request.__version__ >= 8 else schema
        per_partition = error if request.__version__ < 2 else ErrorCode.none
        reported_topics = _fetched_topics(parent, group, topics, verdict, per_partition)
        groups.append((group_id, reported_topics, error))
    if request.__version__ < 8:
        ((_, reported_topics, error),) = groups
        return make(schema, throttle_time=NO_THROTTLE, topics=reported_topics, error_code=error)
    group_schema = item_schema(schema, "groups")
    return make(
        schema,
        throttle_time=NO_THROTTLE,
        groups=tuple(
            make(group_schema, group_id=group_id, topics=reported_topics, error_code=error)
            for group_id, reported_topics, error in groups
        ),
    )


def _fetched_topics(
    parent: type[Entity],
    group: Group,
    topics: dict[str, list[int]] | None,
    verdict: Verdict,
    error: ErrorCode,
) -> tuple[Entity, ...]:
    wanted: dict[str, list[int]] = {}
    if topics is None:
        for topic, partition in sorted(group.offsets):
            if verdict(topic, partition) == ErrorCode.none:
                wanted.setdefault(topic, []).append(partition)
    else:
        wanted = topics
    schema = item_schema(parent, "topics")
    partition_schema = item_schema(schema, "partitions")
    return tuple(
        make(
            schema,
            name=topic,
            partitions=tuple(
                _fetched_partition(
                    partition_schema,
                    partition,
                    group.offsets.get((topic, partition)),
                    error or verdict(topic, partition),
                )
                for partition in partitions
            ),
        )
        for topic, partitions in wanted.items()
    )


def _fetched_partition(
    schema: type[Entity], partition: int, offset: Offset | None, error: ErrorCode
) -> Entity:
    known = offset is not None and error == ErrorCode.none
    return make(
        schema,
        partition_index=partition,
        committed_offset=offset.offset if known and offset else -1,
        committed_leader_epoch=offset.leader_epoch if known and offset else -1,
        metadata=offset.metadata if known and offset else "",
        error_code=error,
    )


def listed(
    request: ListGroupsRequest, groups: Iterable[Group], error: ErrorCode = ErrorCode.none
) -> ResponsePayload:
    """The answer to ListGroups v0-5, its filters by state and type applied."""
    schema = schema_of(request)
    states = {state.lower() for state in getattr(request, "states_filter", ())}
    types = {each.lower() for each in getattr(request, "types_filter", ())}
    return make(
        schema,
        throttle_time=NO_THROTTLE,
        error_code=error,
        groups=tuple(
            make(
                item_schema(schema, "groups"),
                group_id=group.group_id,
                protocol_type=group.protocol_type or "",
                group_state=group.phase.value,
                group_type=CLASSIC,
            )
            for group in groups
            if (not states or group.phase.value.lower() in states)
            and (not types or CLASSIC in types)
        ),
    )


def described(
    request: DescribeGroupsRequest, groups: Iterable[tuple[str, Group | ErrorCode]]
) -> ResponsePayload:
    """The answer to DescribeGroups v0-5. A group that there is not is "Dead", as in Kafka."""
    schema = schema_of(request)
    group_schema = item_schema(schema, "groups")
    return make(
        schema,
        throttle_time=NO_THROTTLE,
        groups=tuple(_described(group_schema, group_id, found) for group_id, found in groups),
    )


def _described(schema: type[Entity], group_id: str, found: Group | ErrorCode) -> Entity:
    error = found if isinstance(found, ErrorCode) else ErrorCode.none
    group = Group(group_id=group_id, phase=Phase.DEAD)
    state = ""
    if not isinstance(found, ErrorCode):
        group, state = found, found.phase.value
    member_schema = item_schema(schema, "members")
    return make(
        schema,
        error_code=error,
        group_id=group_id,
        group_state=state,
        protocol_type=group.protocol_type or "",
        protocol_data=group.protocol or "",
        authorized_operations=NO_OPERATIONS,
        members=tuple(_described_member(member_schema, group, each) for each in group.in_order()),
    )


def _described_member(schema: type[Entity], group: Group, member: Member) -> Entity:
    return make(
        schema,
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        member_metadata=member.metadata(group.protocol),
        member_assignment=member.assignment,
    )


def deleted(
    request: DeleteGroupsRequest, codes: Iterable[tuple[str, ErrorCode]]
) -> ResponsePayload:
    """The answer to DeleteGroups v0-2."""
    schema = schema_of(request)
    results = tuple(
        make(item_schema(schema, "results"), group_id=group_id, error_code=code)
        for group_id, code in codes
    )
    return make(schema, throttle_time=NO_THROTTLE, results=results)


def offsets_deleted(
    request: OffsetDeleteRequest, result: OffsetsDeleted, refused: Map[TopicPartition, ErrorCode]
) -> ResponsePayload:
    """The answer to OffsetDelete v0: nothing of partitions where the whole is refused."""
    schema = schema_of(request)
    if result.error != ErrorCode.none:
        return make(schema, throttle_time=NO_THROTTLE, error_code=result.error, topics=())

    def code(topic: str, partition: int) -> ErrorCode:
        kept = topic in result.kept
        own = ErrorCode.group_subscribed_to_topic if kept else ErrorCode.none
        return refused.get((topic, partition), own)

    return make(
        schema,
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        topics=_codes(request, code),
    )


# --- FindCoordinator ----------------------------------------------------------------------

Found: TypeAlias = tuple[int, str, int] | ErrorCode
"""A coordinator's (node id, host, port), or why there is none."""


def coordinators(
    request: FindCoordinatorRequest, found: Iterable[tuple[str, Found]]
) -> ResponsePayload:
    """The answer to FindCoordinator v0-4: one coordinator for each key."""
    schema = schema_of(request)
    if request.__version__ < 4:
        ((key, only),) = found
        return make(schema, throttle_time=NO_THROTTLE, **_coordinator(key, only))
    parts = tuple(
        make(item_schema(schema, "coordinators"), **_coordinator(key, each)) for key, each in found
    )
    return make(schema, throttle_time=NO_THROTTLE, coordinators=parts)


def _coordinator(key: str, found: Found) -> dict[str, object]:
    error = found if isinstance(found, ErrorCode) else ErrorCode.none
    node_id, host, port = (-1, "", -1) if isinstance(found, ErrorCode) else found
    return {
        "key": key,
        "node_id": node_id,
        "host": host,
        "port": port,
        "error_code": error,
        "error_message": None if error == ErrorCode.none else error.name.upper(),
    }


# --- refusals -----------------------------------------------------------------------------


def refused(request: GroupRequest, code: ErrorCode) -> ResponsePayload:
    """The response that refuses a whole request, in its proper shape."""
    if OFFSET_COMMIT.of(request):
        return committed(request, code, Map())
    if OFFSET_FETCH.of(request):
        return fetched(request, lambda _: code, lambda *_: ErrorCode.none)
    if FIND_COORDINATOR.of(request):
        return coordinators(request, [(key, code) for key in sought(request)])
    if JOIN_GROUP.of(request):
        return joined(request, Joined(error=code, member_id=request.member_id))
    if HEARTBEAT.of(request):
        return answered(request, code)
    if LEAVE_GROUP.of(request):
        return left(request, Left(error=code))
    if SYNC_GROUP.of(request):
        return synced(request, Synced(error=code))
    if DESCRIBE_GROUPS.of(request):
        return described(request, [(group_id, code) for group_id in request.groups])
    if LIST_GROUPS.of(request):
        return listed(request, (), code)
    if DELETE_GROUPS.of(request):
        return deleted(request, [(group_id, code) for group_id in request.groups_names])
    if OFFSET_DELETE.of(request):
        return offsets_deleted(request, OffsetsDeleted(code), Map())
    assert_never(request)


def is_group_request(request: RequestPayload) -> TypeIs[GroupRequest]:
    """Whether that is for the group coordinator."""
    return request.__api_key__ in KEYS
