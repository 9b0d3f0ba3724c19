"""Between operations of static members and Kafka's messages (KIP-345): pure.

A static member here is the only one of its group. It leads, and what it assigns itself is its own
name; so its part tells which process of the instance assigned last.
"""

from __future__ import annotations

import datetime
from typing import Final

from kio.schema.heartbeat.v4.request import HeartbeatRequest
from kio.schema.heartbeat.v4.response import HeartbeatResponse
from kio.schema.join_group.v9 import request as join
from kio.schema.join_group.v9.response import JoinGroupResponse
from kio.schema.leave_group.v5 import request as leave
from kio.schema.leave_group.v5.response import LeaveGroupResponse
from kio.schema.offset_commit.v8.response import OffsetCommitResponse
from kio.schema.sync_group.v5 import request as sync
from kio.schema.sync_group.v5.response import SyncGroupResponse
from kio.schema.types import GroupId
from kio.static.primitive import i32, i32Timedelta
from kio.static.protocol import ResponsePayload

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange, Exchanges
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.codec import expected
from workloads.kafka.group_messages import commit_answer, commit_request
from workloads.kafka.messages import refused, the_one
from workloads.kafka.operations.groups import Assigned, InstanceAct, InstanceJoin, Left
from workloads.kafka.roles import BROKER

PROTOCOL_TYPE: Final = "instances"
PROTOCOL: Final = "alone"


def join_request(invocation: Invocation) -> join.JoinGroupRequest:
    """A process of the instance begins: it knows no id."""
    asked = InstanceJoin.from_json(invocation.value)
    session = i32Timedelta.parse(datetime.timedelta(milliseconds=asked.session_ms))
    return join.JoinGroupRequest(
        group_id=GroupId(asked.group),
        session_timeout=session,
        rebalance_timeout=session,
        member_id="",
        group_instance_id=asked.instance,
        protocol_type=PROTOCOL_TYPE,
        protocols=(join.JoinGroupRequestProtocol(name=PROTOCOL, metadata=b""),),
        reason=None,
    )


def sync_request(invocation: Invocation, joined: JoinGroupResponse) -> sync.SyncGroupRequest:
    """It assigns, if it has to."""
    asked = InstanceJoin.from_json(invocation.value)
    assigns = joined.leader == joined.member_id and not joined.skip_assignment
    part = sync.SyncGroupRequestAssignment(
        member_id=joined.member_id, assignment=asked.member.encode()
    )
    return sync.SyncGroupRequest(
        group_id=GroupId(asked.group),
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id=asked.instance,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=PROTOCOL,
        assignments=(part,) if assigns else (),
    )


def joined_answer(joined: JoinGroupResponse, synced: SyncGroupResponse) -> Answer:
    """Ok: what the process was given."""
    if synced.error_code != 0:
        return refused(synced.error_code)
    part = synced.assignment.decode(errors="replace")
    return Ok(
        Assigned(
            generation=int(joined.generation_id),
            assigned=(),
            positions=(),
            id=joined.member_id,
            part=part,
        ).to_json()
    )


def beat_request(invocation: Invocation) -> HeartbeatRequest:
    asked = InstanceAct.from_json(invocation.value)
    return HeartbeatRequest(
        group_id=GroupId(asked.group),
        generation_id=i32(asked.generation),
        member_id=asked.id,
        group_instance_id=asked.instance,
    )


def beat_answer(invocation: Invocation, response: ResponsePayload) -> Answer:
    answer = expected(HeartbeatResponse, response)
    return Ok({}) if answer.error_code == 0 else refused(answer.error_code)


def leave_request(invocation: Invocation) -> leave.LeaveGroupRequest:
    asked = InstanceAct.from_json(invocation.value)
    member = leave.MemberIdentity(member_id=asked.id, group_instance_id=asked.instance, reason=None)
    return leave.LeaveGroupRequest(group_id=GroupId(asked.group), members=(member,))


def leave_answer(invocation: Invocation, response: ResponsePayload) -> Answer:
    answer = expected(LeaveGroupResponse, response)
    asked = InstanceAct.from_json(invocation.value)
    own = the_one(answer.members, lambda each: each.group_instance_id == asked.instance)
    code = answer.error_code or own.error_code
    return Ok(Left(asked.member).to_json()) if code == 0 else refused(code)


def _commit_answer(invocation: Invocation, response: ResponsePayload) -> Answer:
    return commit_answer(invocation, expected(OffsetCommitResponse, response))


EXCHANGES: Final[Exchanges] = {
    "beat": Exchange(at=BROKER, request=beat_request, answer=beat_answer),
    "commit": Exchange(at=BROKER, request=commit_request, answer=_commit_answer),
    "leave": Exchange(at=BROKER, request=leave_request, answer=leave_answer),
}
"""Of operations that are one request; a join is two."""
