import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest
from kio.schema.create_topics.v7 import response as created
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.static.primitive import i8, i16, i32, i64
from loopback_server import CLOSE, HANG, LoopbackServer

from framework.generators import op
from framework.plugins.dialect import Leadership
from framework.plugins.outcomes import OutcomeTable
from nodes.kraft.adapter.dialect import DIALECT
from nodes.kraft.adapter.outcomes import OUTCOMES
from nodes.kraft.controller.answers import NO_THROTTLE
from nodes.kraft.wire.debug import ReadTopicsRequest, ReadTopicsResponse
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from workloads.kafka.codec import Codec
from workloads.kafka.connection import Connection, FateUnknown, NotSent
from workloads.kafka.controller_client import ControllerClient
from workloads.kafka.messages import dry_create_request

CODEC = Codec(DIALECT.messages)
READ = ReadTopicsRequest(names=("t",))
WRITE = BrokerHeartbeatRequest(
    target_state=i8(3),
    broker_id=i32(101),
    lease_start_time_ms=i64(0),
    cur_metadata_offset=i64(0),
    listeners=(),
)


def answer(code: int) -> Any:
    def respond(request: Any) -> Any:
        if isinstance(request, ReadTopicsRequest):
            return ReadTopicsResponse(error_code=i16(code), epoch=i32(1), offset=i64(2), topics=())
        return BrokerHeartbeatResponse(
            error_code=i16(code), next_state=i8(3), lease_end_time_ms=i64(0)
        )

    return respond


def always(what: object) -> Any:
    return lambda _: what


class Controllers:
    """Three servers and a client of theirs that asks c1 first."""

    def __init__(
        self,
        stack: ExitStack,
        outcomes: OutcomeTable = OUTCOMES,
        leadership: Leadership[Any, Any] | None = None,
    ) -> None:
        self.servers = {
            name: stack.enter_context(LoopbackServer(answer(41))) for name in ("c1", "c2", "c3")
        }
        self.client = ControllerClient(
            {name: Connection(server.open, "test", CODEC) for name, server in self.servers.items()},
            outcomes,
            leadership=leadership,
        )

    def set(self, **answers: Any) -> None:
        for name, each in answers.items():
            self.servers[name].answer = each

    def asked(self) -> list[int]:
        return [len(server.seen) for server in self.servers.values()]


@pytest.fixture
def controllers() -> Iterator[Controllers]:
    with ExitStack() as stack:
        yield Controllers(stack)


def test_the_active_one_is_found_and_remembered(controllers: Controllers) -> None:
    controllers.set(c3=answer(0))
    for _ in range(2):
        node, response = controllers.client.call(WRITE)
        assert (node, response.error_code) == ("c3", 0)
    assert controllers.asked() == [1, 1, 2]


def of_one_topic(code: int) -> Any:
    """An answer to CreateTopics, which has a code for each topic alone."""
    result = created.CreatableTopicResult(
        name=TopicName("t"),
        topic_id=None,
        error_code=ErrorCode(code),
        error_message=None,
        configs=None,
    )
    return always(created.CreateTopicsResponse(throttle_time=NO_THROTTLE, topics=(result,)))


@pytest.mark.parametrize("code", [0, 36])
def test_an_answer_of_topics_is_that_of_the_active_one(controllers: Controllers, code: int) -> None:
    asked = op("controller-dry-create", key="t", value={"partitions": 1, "replication": 1})
    controllers.set(c1=of_one_topic(41), c2=of_one_topic(code))
    node, response = controllers.client.call(dry_create_request(asked), read=True)
    assert (node, response.topics[0].error_code) == ("c2", code)
    controllers.set(c2=always(created.CreateTopicsResponse(throttle_time=NO_THROTTLE, topics=())))
    assert controllers.client.call(dry_create_request(asked), read=True)[1].topics == ()


def test_where_the_active_one_refuses_that_is_the_answer(controllers: Controllers) -> None:
    controllers.set(c2=answer(77))
    assert controllers.client.call(WRITE)[1].error_code == 77
    assert controllers.asked() == [1, 1, 0]


def test_controllers_that_are_gone_are_passed_over(controllers: Controllers) -> None:
    controllers.set(c2=answer(0))
    controllers.servers["c1"].stop()
    assert controllers.client.call(WRITE)[0] == "c2"


def test_a_write_that_may_have_been_appended_is_not_taken_elsewhere() -> None:
    """Where NOT_CONTROLLER is no failure in the system's table, it ends a write, not a read."""
    with ExitStack() as stack:
        controllers = Controllers(stack, DOUBTFUL)
        controllers.set(c2=answer(0))
        node, response = controllers.client.call(WRITE)
        assert (node, response.error_code) == ("c1", 41)
        assert controllers.asked() == [1, 0, 0]
        assert controllers.client.call(READ, read=True)[0] == "c2"


DOUBTFUL = replace(OUTCOMES, fails=OUTCOMES.fails - {"NOT_CONTROLLER"})
LEADERSHIP = Leadership(READ, lambda response: response.epoch == 1)
"""Who answers in another epoch does not lead."""


def leads_not(request: Any) -> Any:
    return replace(answer(0)(request), epoch=i32(0))


@pytest.fixture
def doubtful() -> Iterator[Controllers]:
    with ExitStack() as stack:
        yield Controllers(stack, DOUBTFUL, LEADERSHIP)


def test_a_write_whose_refusal_is_not_certain_goes_to_the_active_one_alone(
    doubtful: Controllers,
) -> None:
    doubtful.set(c1=leads_not, c3=answer(0))
    for _ in range(2):
        assert doubtful.client.call(WRITE)[0] == "c3"
    kinds = [[type(each) for each in server.seen] for server in doubtful.servers.values()]
    assert kinds == [[type(READ)], [type(READ)], [type(READ), type(WRITE), type(WRITE)]]


def test_the_active_one_is_looked_for_again_after_a_write_that_failed(
    doubtful: Controllers,
) -> None:
    doubtful.set(c1=answer(0))
    assert doubtful.client.call(WRITE)[0] == "c1"

    def resigned(request: Any) -> Any:
        return leads_not(request) if isinstance(request, type(READ)) else answer(41)(request)

    doubtful.set(c1=resigned, c2=answer(0))
    node, response = doubtful.client.call(WRITE)
    assert (node, response.error_code) == ("c1", 41)
    assert doubtful.client.call(WRITE)[0] == "c2"


def test_where_nobody_leads_a_write_was_not_sent(doubtful: Controllers) -> None:
    doubtful.set(c1=leads_not, c2=always(CLOSE), c3=answer(41))
    with pytest.raises(NotSent, match="no active controller was found"):
        doubtful.client.call(WRITE, search_s=0.3)
    seen = [type(each) for server in doubtful.servers.values() for each in server.seen]
    assert set(seen) == {type(READ)}


def test_each_has_its_turn(controllers: Controllers) -> None:
    controllers.set(c1=answer(0), c2=answer(0), c3=answer(0))
    asked = []
    for _ in range(4):
        asked.append(controllers.client.call(READ, read=True)[0])
        controllers.client.turn()
    assert asked == ["c1", "c2", "c3", "c1"]


def test_a_read_looks_for_nobody(doubtful: Controllers) -> None:
    doubtful.set(c1=leads_not)
    assert doubtful.client.call(READ, read=True)[0] == "c1"
    assert doubtful.asked() == [1, 0, 0]


def _refused(timeout_s: float) -> Any:
    raise ConnectionRefusedError("refused")


def test_no_active_one_in_time_is_not_controller(controllers: Controllers) -> None:
    begun = time.monotonic()
    _, response = controllers.client.call(WRITE, search_s=0.4)
    assert response.error_code == 41
    assert time.monotonic() - begun >= 0.4
    assert min(controllers.asked()) >= 2


def test_one_that_becomes_active_meanwhile_is_found(controllers: Controllers) -> None:
    asked = 0

    def elected_later(request: Any) -> Any:
        nonlocal asked
        asked += 1
        return answer(0 if asked > 3 else 41)(request)

    controllers.set(c2=elected_later)
    node, response = controllers.client.call(WRITE)
    assert (node, response.error_code) == ("c2", 0)


def test_nobody_to_connect_to_is_definite() -> None:
    connections = {name: Connection(_refused, "test") for name in ("c1", "c2")}
    client = ControllerClient(connections, OUTCOMES)
    with pytest.raises(NotSent) as caught:
        client.call(WRITE, search_s=0.3)
    assert caught.value.node in ("c1", "c2")


@pytest.mark.parametrize("breakdown", [CLOSE, HANG])
def test_a_write_of_unknown_fate_is_never_sent_again(
    controllers: Controllers, breakdown: object
) -> None:
    controllers.set(c2=always(breakdown), c3=answer(0))
    with pytest.raises(FateUnknown) as caught:
        controllers.client.call(WRITE, deadline_s=1.0)
    assert caught.value.node == "c2"
    assert controllers.asked() == [1, 1, 0]


@pytest.mark.parametrize("breakdown", [CLOSE, HANG])
def test_a_read_of_unknown_fate_is_sent_to_the_next(
    controllers: Controllers, breakdown: object
) -> None:
    controllers.set(c2=always(breakdown), c3=answer(0))
    node, response = controllers.client.call(READ, read=True)
    assert (node, response.offset) == ("c3", 2)
    assert controllers.asked() == [1, 1, 1]


def test_after_a_breakdown_another_one_is_asked_first(controllers: Controllers) -> None:
    controllers.set(c1=always(CLOSE), c2=answer(0))
    with pytest.raises(FateUnknown):
        controllers.client.call(WRITE)
    assert controllers.client.call(WRITE)[0] == "c2"
