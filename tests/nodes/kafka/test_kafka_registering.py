"""Brokers that clients play, in the messages that brokers send to Apache Kafka's controllers."""

from datetime import timedelta
from typing import Any, Final

import pytest
from kio.schema.broker_heartbeat.v1.request import BrokerHeartbeatRequest
from kio.schema.broker_heartbeat.v1.response import BrokerHeartbeatResponse
from kio.schema.broker_registration.v4.request import BrokerRegistrationRequest
from kio.schema.broker_registration.v4.response import BrokerRegistrationResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32Timedelta, i64

from framework.generators import op
from framework.history.event import Invocation
from framework.plugins.outcomes import STALE, Ok, Refused
from nodes.kafka.outcomes import OUTCOMES
from nodes.kafka.registering import Registering

INCARNATION: Final = "6d0d30cb-5d5e-4b6c-9c54-0b3a1a1a1a1a"
OURS: Final = Registering("cluster", session_ms=3000)


def heartbeat(broker_id: int = 101, **more: Any) -> Invocation:
    value = {
        "broker_id": broker_id,
        "broker_epoch": -1,
        "previous_epoch": -1,
        "target": "active",
        "incarnation": INCARNATION,
        "offset": 1 << 40,
        "lease_start_ms": 500,
        "zombie": None,
    }
    return op("heartbeat", key=f"broker-{broker_id}", value=value | more)


def registered(code: ErrorCode = ErrorCode.none, epoch: int = -1) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(
        throttle_time=i32Timedelta.parse(timedelta()), error_code=code, broker_epoch=i64(epoch)
    )


def beaten(
    code: ErrorCode = ErrorCode.none, *, fenced: bool = False, shut_down: bool = False
) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(
        throttle_time=i32Timedelta.parse(timedelta()),
        error_code=code,
        is_caught_up=True,
        is_fenced=fenced,
        should_shut_down=shut_down,
    )


def test_a_heartbeat_without_an_epoch_registers() -> None:
    request = OURS.request(heartbeat(previous_epoch=17))
    assert isinstance(request, BrokerRegistrationRequest)
    assert (request.broker_id, request.cluster_id) == (101, "cluster")
    assert str(request.incarnation_id) == INCARNATION
    assert request.previous_broker_epoch == 17


def test_processes_of_an_id_have_one_directory_and_ids_different_ones() -> None:
    def directory(invocation: Invocation) -> Any:
        request = OURS.request(invocation)
        assert isinstance(request, BrokerRegistrationRequest)
        (found,) = request.log_dirs
        return found

    other = "7d0d30cb-5d5e-4b6c-9c54-0b3a1a1a1a1a"
    assert directory(heartbeat()) == directory(heartbeat(incarnation=other))
    assert directory(heartbeat()) != directory(heartbeat(102))


@pytest.mark.parametrize(("target", "leaves"), [("active", False), ("leaving", True)])
def test_a_heartbeat_with_an_epoch_renews_or_leaves(target: str, leaves: bool) -> None:
    request = OURS.request(heartbeat(broker_epoch=17, target=target))
    assert isinstance(request, BrokerHeartbeatRequest)
    assert (request.broker_id, request.broker_epoch) == (101, 17)
    assert (request.want_fence, request.want_shut_down) == (False, leaves)
    assert request.current_metadata_offset == 1 << 40


def test_who_registered_is_not_in_service_yet() -> None:
    granted = {"broker_epoch": 17, "next_state": "starting", "lease_end_ms": 500}
    assert OURS.answer(heartbeat(), registered(epoch=17)) == Ok(granted)


@pytest.mark.parametrize(
    ("response", "state"),
    [
        (beaten(), "active"),
        (beaten(fenced=True), "fenced"),
        (beaten(shut_down=True), "leaving"),
        (beaten(fenced=True, shut_down=True), "leaving"),
    ],
)
def test_what_a_heartbeat_is_answered(response: BrokerHeartbeatResponse, state: str) -> None:
    granted = {"broker_epoch": 17, "next_state": state, "lease_end_ms": 3500}
    assert OURS.answer(heartbeat(broker_epoch=17), response) == Ok(granted)


@pytest.mark.parametrize(
    ("response", "type", "asserts"),
    [
        (beaten(ErrorCode.stale_broker_epoch), "fail", STALE),
        (registered(ErrorCode.duplicate_broker_registration), "fail", None),
        (beaten(ErrorCode.not_controller), "info", None),
        (registered(ErrorCode.not_controller), "info", None),
        (beaten(ErrorCode.unknown_server_error), "info", None),
    ],
)
def test_what_refusals_mean(response: Any, type: str, asserts: str | None) -> None:
    """NOT_CONTROLLER may follow an append that the next leader commits."""
    epoch = 17 if isinstance(response, BrokerHeartbeatResponse) else -1
    answer = OURS.answer(heartbeat(broker_epoch=epoch), response)
    assert isinstance(answer, Refused)
    found = OUTCOMES.refused("heartbeat", answer, retried=False)
    assert (found.type, found.asserts) == (type, asserts)
