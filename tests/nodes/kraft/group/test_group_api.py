"""Group requests of every version that is served: decoded, answered and encoded again."""

import datetime
from typing import Any

import pytest
from immutables import Map
from kio.schema.errors import ErrorCode
from kio.static.primitive import i8, i32Timedelta

from nodes.kraft.controller.answers import item_schema, make
from nodes.kraft.group import api, asked
from nodes.kraft.group.state import Group, Member, Offset, Phase
from nodes.kraft.group.steps import Joined, Left, Synced
from nodes.kraft.wire.apis import CLIENT_APIS
from nodes.kraft.wire.codec import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_schema,
)
from nodes.kraft.wire.codes import first_error, item_codes

SECOND = i32Timedelta.parse(datetime.timedelta(seconds=1))


def versions(key: int) -> list[int]:
    lowest, highest = CLIENT_APIS[key]
    return list(range(lowest, highest + 1))


def ask(key: int, version: int, /, **values: Any) -> Any:
    """A request of that version with those of the values that it has, through its bytes."""
    request = make(request_schema(key, version), **values)
    return decode_request(encode_request(request, correlation_id=1, client_id="c"))[1]


def reported(request: Any, response: Any) -> Any:
    """A response as the client decodes it."""
    data = encode_response(response, correlation_id=1)
    return decode_response(request.__api_key__, request.__version__, data)[1]


def topics(key: int, version: int, **partition: Any) -> Any:
    schema = item_schema(request_schema(key, version), "topics")
    parts = item_schema(schema, "partitions")
    return (make(schema, name="t", partitions=(make(parts, partition_index=2, **partition),)),)


def looked_for(version: int) -> Any:
    values = {"key": "g", "key_type": i8(0), "coordinator_keys": ("g",)}
    return ask(api.FIND_COORDINATOR, version, **values)


def asked_of_groups(version: int) -> Any:
    schema = item_schema(request_schema(api.OFFSET_FETCH, version), "groups")
    group = make(schema, group_id="g", topics=None)
    return ask(api.OFFSET_FETCH, version, groups=(group,), require_stable=False)


@pytest.mark.parametrize(
    "request_",
    [
        *(looked_for(version) for version in versions(api.FIND_COORDINATOR)),
        asked_of_groups(8),
        ask(api.DESCRIBE_GROUPS, 5, groups=("g",), include_authorized_operations=False),
        ask(api.DELETE_GROUPS, 2, groups_names=("g",)),
    ],
    ids=lambda each: f"{type(each).__name__} {each.__version__}",
)
def test_a_refusal_shows_its_code_to_who_looks_for_codes(request_):
    """As the node's own events do, by which it is judged whether it served."""
    refusal = reported(request_, api.refused(request_, ErrorCode.coordinator_not_available))
    assert first_error(refusal) == ErrorCode.coordinator_not_available
    assert set(item_codes(refusal)) == {ErrorCode.coordinator_not_available}


@pytest.mark.parametrize("version", versions(api.JOIN_GROUP))
def test_join(version):
    schema = item_schema(request_schema(api.JOIN_GROUP, version), "protocols")
    request = ask(
        api.JOIN_GROUP,
        version,
        group_id="g",
        session_timeout=SECOND,
        rebalance_timeout=i32Timedelta.parse(datetime.timedelta(seconds=3)),
        member_id="m",
        group_instance_id="i",
        protocol_type="consumer",
        protocols=(make(schema, name="range", metadata=b"x"),),
        reason=None,
    )
    join = asked.join_of(request, client_id="c", host="/h", fresh_id="f")
    assert (join.group_id, join.member_id, join.session_ms) == ("g", "m", 1000)
    assert join.rebalance_ms == (3000 if version >= 1 else 1000)
    assert join.instance_id == ("i" if version >= 5 else None)
    assert join.protocols == (("range", b"x"),)
    assert join.id_first == (version >= 4)
    assert join.may_skip == (version >= 9)
    result = Joined(
        generation=4,
        protocol_type="consumer",
        protocol="range",
        leader="m",
        member_id="m",
        members=(("m", "i", b"x"),),
        skip_assignment=True,
    )
    answer = reported(request, api.joined(request, result))
    assert getattr(answer, "skip_assignment", True)
    assert (answer.error_code, answer.generation_id, answer.leader) == (0, 4, "m")
    assert answer.members[0].metadata == b"x"
    refused = reported(request, api.refused(request, ErrorCode.not_coordinator))
    assert refused.error_code == ErrorCode.not_coordinator


@pytest.mark.parametrize("version", versions(api.SYNC_GROUP))
def test_sync(version):
    schema = item_schema(request_schema(api.SYNC_GROUP, version), "assignments")
    request = ask(
        api.SYNC_GROUP,
        version,
        group_id="g",
        generation_id=3,
        member_id="m",
        group_instance_id=None,
        protocol_type="consumer",
        protocol_name="range",
        assignments=(make(schema, member_id="m", assignment=b"x"),),
    )
    sync = asked.sync_of(request)
    assert (sync.generation, sync.assignments["m"]) == (3, b"x")
    assert sync.protocol == ("range" if version >= 5 else None)
    answer = reported(request, api.synced(request, Synced(assignment=b"x")))
    assert (answer.error_code, answer.assignment) == (0, b"x")
    refused = reported(request, api.refused(request, ErrorCode.not_coordinator))
    assert refused.error_code == ErrorCode.not_coordinator


@pytest.mark.parametrize("version", versions(api.HEARTBEAT))
def test_heartbeat(version):
    request = ask(
        api.HEARTBEAT,
        version,
        group_id="g",
        generation_id=3,
        member_id="m",
        group_instance_id="i",
    )
    beat = asked.beat_of(request)
    assert (beat.member_id, beat.generation) == ("m", 3)
    assert beat.instance_id == ("i" if version >= 3 else None)
    answer = reported(request, api.refused(request, ErrorCode.not_coordinator))
    assert answer.error_code == ErrorCode.not_coordinator


@pytest.mark.parametrize("version", versions(api.LEAVE_GROUP))
def test_leave(version):
    values: dict[str, Any] = {"group_id": "g", "member_id": "m"}
    if version >= 3:
        schema = item_schema(request_schema(api.LEAVE_GROUP, version), "members")
        values["members"] = (make(schema, member_id="m", group_instance_id=None, reason=None),)
    request = ask(api.LEAVE_GROUP, version, **values)
    assert asked.leave_of(request).members == (("m", None),)
    unknown = Left((ErrorCode.unknown_member_id,))
    answer = reported(request, api.left(request, unknown))
    if version >= 3:
        assert answer.error_code == ErrorCode.none
        assert answer.members[0].error_code == ErrorCode.unknown_member_id
    else:
        assert answer.error_code == ErrorCode.unknown_member_id
    refused = reported(request, api.refused(request, ErrorCode.not_coordinator))
    assert refused.error_code == ErrorCode.not_coordinator


@pytest.mark.parametrize("version", versions(api.OFFSET_COMMIT))
def test_offset_commit(version):
    wanted = topics(
        api.OFFSET_COMMIT,
        version,
        committed_offset=5,
        committed_leader_epoch=7,
        committed_metadata=None,
    )
    request = (
        ask(
            api.OFFSET_COMMIT,
            version,
            group_id="g",
            generation_id_or_member_epoch=3,
            member_id="m",
            group_instance_id=None,
            retention_time=None,
            topics=wanted,
        )
        if version not in (2, 3, 4)
        else _with_retention(version, wanted)
    )
    commit = asked.commit_of(request, Map())
    epoch = 7 if version >= 6 else -1
    assert commit.offsets == Map({("t", 2): Offset(offset=5, leader_epoch=epoch)})
    assert list(asked.commits(request)) == [("t", 2, "")]
    refused = Map({("t", 2): ErrorCode.topic_authorization_failed})
    assert not asked.commit_of(request, refused).offsets
    answer = reported(request, api.committed(request, ErrorCode.none, refused))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.topic_authorization_failed
    answer = reported(request, api.refused(request, ErrorCode.not_coordinator))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.not_coordinator


def _with_retention(version: int, wanted: Any) -> Any:
    request = request_schema(api.OFFSET_COMMIT, version)(
        group_id="g", generation_id_or_member_epoch=3, member_id="m", topics=wanted
    )
    return decode_request(encode_request(request, correlation_id=1, client_id="c"))[1]


GROUP = Group(
    group_id="g",
    phase=Phase.STABLE,
    generation=1,
    protocol_type="consumer",
    protocol="range",
    offsets=Map({("t", 2): Offset(offset=5, leader_epoch=7, metadata="m")}),
    members=Map(
        {
            "m": Member(
                member_id="m",
                instance_id=None,
                client_id="c",
                client_host="/h",
                session_ms=1,
                rebalance_ms=1,
                protocols=(("range", b"x"),),
                assignment=b"y",
            )
        }
    ),
)


def fetch(version: int, *, everything: bool = False) -> Any:
    schema = request_schema(api.OFFSET_FETCH, version)
    parent = item_schema(schema, "groups") if version >= 8 else schema
    topic = make(item_schema(parent, "topics"), name="t", partition_indexes=(1, 2))
    wanted = None if everything else (topic,)
    values: dict[str, Any] = {"group_id": "g", "topics": wanted, "require_stable": False}
    if version >= 8:
        values["groups"] = (make(parent, group_id="g", topics=wanted),)
    return ask(api.OFFSET_FETCH, version, **values)


def allowed(*_: Any) -> ErrorCode:
    return ErrorCode.none


def fetched(request: Any, group: Group | ErrorCode = GROUP, verdict: Any = allowed) -> Any:
    """The answer's part of the group."""
    answer = reported(request, api.fetched(request, lambda _: group, verdict))
    return answer.groups[0] if request.__version__ >= 8 else answer


@pytest.mark.parametrize("version", versions(api.OFFSET_FETCH))
def test_offset_fetch(version):
    request = fetch(version)
    unknown, known = fetched(request).topics[0].partitions
    assert (unknown.partition_index, unknown.committed_offset, unknown.error_code) == (1, -1, 0)
    assert (known.partition_index, known.committed_offset, known.metadata) == (2, 5, "m")
    if version >= 5:
        assert known.committed_leader_epoch == 7
    for answer in (
        fetched(request, ErrorCode.not_coordinator),
        fetched(request, GROUP, lambda *_: ErrorCode.topic_authorization_failed),
    ):
        partitions = [each for topic in answer.topics for each in topic.partitions]
        assert all(each.committed_offset == -1 for each in partitions)
        codes = {each.error_code for each in partitions} | {getattr(answer, "error_code", 0)}
        assert codes - {ErrorCode.none}


@pytest.mark.parametrize("version", [each for each in versions(api.OFFSET_FETCH) if each >= 2])
def test_offset_fetch_of_everything(version):
    request = fetch(version, everything=True)
    (topic,) = fetched(request).topics
    assert [each.partition_index for each in topic.partitions] == [2]
    hidden = fetched(request, GROUP, lambda *_: ErrorCode.topic_authorization_failed)
    assert hidden.topics == ()


@pytest.mark.parametrize("version", versions(api.FIND_COORDINATOR))
def test_find_coordinator(version):
    request = ask(api.FIND_COORDINATOR, version, key="g", key_type=0, coordinator_keys=("g",))
    assert asked.sought(request) == ("g",)
    for found in ((4, "h", 9092), ErrorCode.coordinator_not_available):
        answer = reported(request, api.coordinators(request, [("g", found)]))
        (one,) = answer.coordinators if version >= 4 else (answer,)
        if isinstance(found, tuple):
            assert (one.node_id, one.host, one.port, one.error_code) == (*found, 0)
        else:
            assert (one.node_id, one.error_code) == (-1, found)


@pytest.mark.parametrize("version", versions(api.LIST_GROUPS))
def test_list_groups(version):
    request = ask(api.LIST_GROUPS, version, states_filter=())
    (one,) = reported(request, api.listed(request, [GROUP])).groups
    assert (one.group_id, one.protocol_type) == ("g", "consumer")
    refused = reported(request, api.refused(request, ErrorCode.coordinator_load_in_progress))
    assert refused.error_code == ErrorCode.coordinator_load_in_progress
    if version >= 4:
        request = ask(api.LIST_GROUPS, version, states_filter=("Empty",))
        assert reported(request, api.listed(request, [GROUP])).groups == ()
    if version >= 5:
        assert one.group_type == "classic"
        for wanted, found in ((("Classic", "share"), [one]), (("consumer",), [])):
            request = ask(api.LIST_GROUPS, version, states_filter=(), types_filter=wanted)
            assert list(reported(request, api.listed(request, [GROUP])).groups) == found


@pytest.mark.parametrize("version", versions(api.DESCRIBE_GROUPS))
def test_describe_groups(version):
    request = ask(api.DESCRIBE_GROUPS, version, groups=("g",), include_authorized_operations=False)
    (one,) = reported(request, api.described(request, [("g", GROUP)])).groups
    assert (one.group_state, one.protocol_data) == ("Stable", "range")
    assert (one.members[0].member_metadata, one.members[0].member_assignment) == (b"x", b"y")
    (one,) = reported(request, api.refused(request, ErrorCode.not_coordinator)).groups
    assert (one.error_code, one.members) == (ErrorCode.not_coordinator, ())


@pytest.mark.parametrize("version", versions(api.DELETE_GROUPS))
def test_delete_groups(version):
    request = ask(api.DELETE_GROUPS, version, groups_names=("g",))
    (one,) = reported(request, api.refused(request, ErrorCode.non_empty_group)).results
    assert (one.group_id, one.error_code) == ("g", ErrorCode.non_empty_group)
