"""Operations on the list of brokers as Kafka's messages, and back."""

from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.unregister_broker.v0.response import UnregisterBrokerResponse

from framework.history.event import Invocation
from framework.plugins.outcomes import ABSENT, Ok, OutcomeTable, Refused
from nodes.kafka.outcomes import OUTCOMES as KAFKA
from nodes.kraft.adapter.outcomes import OUTCOMES as KRAFT
from nodes.kraft.controller.answers import NO_THROTTLE
from workloads.kafka.broker_messages import EXCHANGES, unregister_answer, unregister_request
from workloads.kafka.roles import BROKER

ASKED = Invocation(process=0, f="unregister", key="broker-302", value=None)


def answered(code: int = 0) -> Any:
    return UnregisterBrokerResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode(code),
        error_message="why" if code else None,
    )


def test_the_broker_is_the_key() -> None:
    assert unregister_request(ASKED).broker_id == 302


def test_the_answer_says_nothing_more() -> None:
    assert unregister_answer(ASKED, answered()) == Ok(None)
    assert unregister_answer(ASKED, answered(42)) == Refused("INVALID_REQUEST", "why")


def test_brokers_are_asked_and_pass_on_what_they_do_not_know_themselves() -> None:
    assert {f: (each.at, each.forwarded) for f, each in EXCHANGES.items()} == {
        "unregister": (BROKER, True),
        "list-brokers": (BROKER, False),
    }


@pytest.mark.parametrize(
    ("table", "code", "type_"),
    [
        (KRAFT, "INVALID_REQUEST", "fail"),
        (KRAFT, "BROKER_ID_NOT_REGISTERED", "fail"),
        (KRAFT, "REQUEST_TIMED_OUT", "info"),
        (KAFKA, "INVALID_REQUEST", "fail"),
        (KAFKA, "BROKER_ID_NOT_REGISTERED", "info"),
        (KAFKA, "NOT_CONTROLLER", "info"),
        (KAFKA, "REQUEST_TIMED_OUT", "info"),
    ],
)
def test_a_broker_that_is_none_may_be_the_requests_own_doing(
    table: OutcomeTable, code: str, type_: str
) -> None:
    """Where nothing tells a request that was sent again from the first one."""
    refused = table.refused("unregister", Refused(code), retried=EXCHANGES["unregister"].forwarded)
    asserts = ABSENT if code == "BROKER_ID_NOT_REGISTERED" else None
    assert (refused.type, refused.asserts) == (type_, asserts)
    assert table.unanswered("list-brokers", "X", "", sent=True).type == "fail"
