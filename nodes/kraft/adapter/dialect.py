"""What the node says otherwise than Kafka, or alone: BrokerHeartbeat of the KIP-631 draft (key
50), and the linearizable read of topics (key 10000).

Values of operations are JSON here, in the form that docs/operating.md describes: what makes and
reads them is no part of the node's.
"""

import json
import uuid
from typing import Final

from kio.static.primitive import i8, i16, i64, u16

from framework.history.event import Invocation, Json
from framework.plugins.dialect import Dialect, Exchange, UnexpectedResponse
from framework.plugins.outcomes import Answer, Ok, Refused
from nodes.adapting.codes import name_of
from nodes.adapting.log_watch import LogWatch
from nodes.kraft.adapter.outcomes import OUTCOMES
from nodes.kraft.adapter.states import NAMES, STATES
from nodes.kraft.ids import BrokerEpoch, BrokerId
from nodes.kraft.wire.debug import (
    DescribeNodeRequest,
    DescribeNodeResponse,
    ReadTopicsRequest,
    ReadTopicsResponse,
)
from nodes.kraft.wire.heartbeats import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerState,
    Listener,
)

LISTENERS: Final = (
    Listener(name="CLIENT", host="127.0.0.1", port=u16(9), security_protocol=i16(0)),
)
"""What synthetic brokers publish. Nobody listens there: they hold no data."""

UNKNOWN_TOPIC: Final = 3


def heartbeat_request(invocation: Invocation) -> BrokerHeartbeatRequest:
    """Registration and lease renewal are one message."""
    value = invocation.value
    return BrokerHeartbeatRequest(
        target_state=i8(BrokerState[NAMES[value["target"]]]),
        broker_id=BrokerId(value["broker_id"]),
        broker_epoch=BrokerEpoch(value["broker_epoch"]),
        lease_start_time_ms=i64(value["lease_start_ms"]),
        cur_metadata_offset=i64(value["offset"]),
        listeners=LISTENERS,
        incarnation_id=uuid.UUID(value["incarnation"]),
        previous_broker_epoch=BrokerEpoch(value["previous_epoch"]),
    )


def heartbeat_answer(invocation: Invocation, response: BrokerHeartbeatResponse) -> Answer:
    """Ok: {"broker_epoch", "next_state", "lease_end_ms"}; the end is on the broker's clock."""
    if response.error_code != 0:
        return Refused(name_of(response.error_code))
    return Ok(
        {
            "broker_epoch": int(response.broker_epoch),
            "next_state": STATES[BrokerState(response.next_state).name],
            "lease_end_ms": int(response.lease_end_time_ms),
        }
    )


def describe_request(invocation: Invocation) -> ReadTopicsRequest:
    """One topic by name."""
    return ReadTopicsRequest(names=(invocation.key,))


def describe_answer(invocation: Invocation, response: ReadTopicsResponse) -> Answer:
    """Ok: null (absent) or the topic; ext: where in the log it was read."""
    if response.error_code != 0:
        return Refused(name_of(response.error_code))
    if len(response.topics) != 1 or response.topics[0].name != invocation.key:
        raise UnexpectedResponse(f"{response.topics!r:.300}")
    (topic,) = response.topics
    ext = {"epoch": int(response.epoch), "offset": int(response.offset)}
    if topic.error_code == UNKNOWN_TOPIC:
        return Ok(None, ext)
    if topic.error_code != 0:
        return Refused(name_of(topic.error_code))
    partitions: list[Json] = [
        {
            "partition": int(each.partition_id),
            "leader": int(each.leader),
            "leader_epoch": int(each.leader_epoch),
            "partition_epoch": int(each.partition_epoch),
            "replicas": [int(replica) for replica in each.replicas],
            "isr": [int(member) for member in each.isr],
        }
        for each in sorted(topic.partitions, key=lambda each: each.partition_id)
    ]
    return Ok({"topic_id": str(topic.topic_id), "partitions": partitions}, ext)


def node_request(invocation: Invocation) -> DescribeNodeRequest:
    """What a node says of itself."""
    return DescribeNodeRequest()


def node_answer(invocation: Invocation, response: DescribeNodeResponse) -> Answer:
    """Ok: the quorum as the node sees it."""
    try:
        reported = json.loads(response.state)
        view = {name: int(reported[key]) for name, key in _VIEW.items()}
    except (ValueError, KeyError, TypeError) as error:
        raise UnexpectedResponse(f"{response.state!r:.300}") from error
    return Ok(view)


_VIEW: Final = {
    "leader": "leader_id",
    "leader_epoch": "epoch",
    "high_watermark": "high_watermark",
}


NOBODY: Final = 2_000_000_000
"""The id of no node."""
DIALECT: Final = Dialect(
    outcomes=OUTCOMES,
    exchanges={
        "heartbeat": Exchange(at="controller", request=heartbeat_request, answer=heartbeat_answer),
        "describe-node": Exchange(at="controller", request=node_request, answer=node_answer),
        "describe": Exchange(at="controller", request=describe_request, answer=describe_answer),
    },
    of_observer=lambda _: {"metadata-log": LogWatch(NOBODY).exchange()},
    messages={
        BrokerHeartbeatRequest: BrokerHeartbeatResponse,
        ReadTopicsRequest: ReadTopicsResponse,
        DescribeNodeRequest: DescribeNodeResponse,
    },
)
