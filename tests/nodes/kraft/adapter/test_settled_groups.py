"""A cluster of ours has settled once groups have a coordinator: by then the topic of their offsets
is on brokers that hold data."""

from contextlib import nullcontext
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.schema.types import BrokerId
from kio.static.primitive import i32, i32Timedelta

from framework.plugins.system import NodeState
from nodes.kraft.adapter import system
from nodes.kraft.adapter.system import KraftSystem

FIELDS = {"epoch": 1, "leader_id": 1, "applied": 7, "digest": "d"}
CLUSTER: Any = SimpleNamespace(nodes={"c1": None, "b1": None}, with_role=lambda role: ["b1"])


def settled(monkeypatch: pytest.MonkeyPatch, answer: ErrorCode | OSError) -> str | None:
    """What a cluster lacks that is ready otherwise, where who coordinates is answered so."""

    def exchange(*_: object) -> FindCoordinatorResponse:
        if isinstance(answer, OSError):
            raise answer
        return FindCoordinatorResponse(
            throttle_time=i32Timedelta.parse(timedelta()),
            error_code=answer,
            error_message=None,
            node_id=BrokerId(-1),
            host="",
            port=i32(-1),
        )

    def state(self: object, cluster: object, node: str, timeout_s: float = 1.0) -> NodeState:
        return NodeState(node=node, ready=True, leader=node == "c1", term=1, fields=FIELDS)

    monkeypatch.setattr(KraftSystem, "state", state)
    monkeypatch.setattr(KraftSystem, "connect", lambda *_: nullcontext())
    monkeypatch.setattr(system, "exchange", exchange)
    return KraftSystem().settled(CLUSTER)


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        (ErrorCode.none, None),
        (ErrorCode.coordinator_not_available, "groups have no coordinator"),
        (ErrorCode.group_authorization_failed, None),  # who may not ask is told nothing of it
        (ConnectionResetError(), "b1 did not answer"),
    ],
)
def test_groups_have_a_coordinator_before_a_run_begins(
    answer: ErrorCode | OSError, missing: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settled(monkeypatch, answer) == missing
