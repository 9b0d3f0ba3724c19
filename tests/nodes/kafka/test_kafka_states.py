"""What Apache Kafka's nodes are taken to be, by their answers."""

from datetime import timedelta
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v4.request import FindCoordinatorRequest
from kio.schema.find_coordinator.v4.response import Coordinator, FindCoordinatorResponse
from kio.schema.types import BrokerId
from kio.static.primitive import i32, i32Timedelta

from nodes.kafka import states


def answered(monkeypatch: pytest.MonkeyPatch, answer: Any) -> list[tuple[str, Any]]:
    """What is asked from now on, all of it answered so; an exception is raised."""
    asked: list[tuple[str, Any]] = []

    def ask(connect: object, listener: str, request: Any, deadline: float) -> Any:
        asked.append((listener, request))
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(states, "_ask", ask)
    return asked


def coordinator(code: ErrorCode) -> FindCoordinatorResponse:
    found = Coordinator(
        key="of-nobody",
        node_id=BrokerId(4),
        host="b1",
        port=i32(9092),
        error_code=code,
        error_message=None,
    )
    return FindCoordinatorResponse(
        throttle_time=i32Timedelta.parse(timedelta()), coordinators=(found,)
    )


@pytest.mark.parametrize(
    ("answer", "able"),
    [
        (coordinator(ErrorCode.none), True),
        (coordinator(ErrorCode.coordinator_not_available), False),
        (ConnectionRefusedError(), False),
        (ValueError("no FindCoordinatorResponse"), False),
    ],
)
def test_groups_can_be_where_a_broker_knows_their_coordinator(
    monkeypatch: pytest.MonkeyPatch, answer: Any, able: bool
) -> None:
    asked = answered(monkeypatch, answer)
    assert states.coordinated(lambda *_: pytest.fail("nobody connects"), 1.0) == able
    ((listener, request),) = asked
    assert listener == "client"
    assert isinstance(request, FindCoordinatorRequest)
