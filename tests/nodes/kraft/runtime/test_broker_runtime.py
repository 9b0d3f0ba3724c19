"""The broker's tasks: whatever goes wrong in one, its client hears of it."""

from __future__ import annotations

import asyncio
import datetime
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kio.schema.create_topics.v7.request import CreatableTopic, CreateTopicsRequest
from kio.schema.errors import ErrorCode
from kio.schema.metadata.v13.request import MetadataRequest
from kio.schema.types import TopicName
from kio.static.primitive import i8, i16, i32, i32Timedelta

from nodes.kraft.broker import lifecycle
from nodes.kraft.config import Config, from_settings
from nodes.kraft.ids import Offset
from nodes.kraft.net.channel import FateUnknown
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.runtime.data import DataPlane
from nodes.kraft.runtime.forwarding import Forwarded, Forwarder
from nodes.kraft.runtime.membership import Membership
from nodes.kraft.runtime.replica import Replica, Watcher
from nodes.kraft.wire.heartbeats import BrokerHeartbeatResponse, BrokerState


def config_in(directory: Path) -> Config:
    return from_settings(
        {
            "process.roles": "broker",
            "broker.id": "4",
            "cluster.id": "test",
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "controller.quorum.voters": "1@127.0.0.1:1",
            "log.dirs": str(directory / "data"),
        }
    )


def membership_in(directory: Path, stopped: list[str]) -> Membership:
    config = config_in(directory)
    replica = Replica(
        config,
        emit=lambda *_, **__: None,
        watcher=Watcher(),
        stop=stopped.append,
        changed=lambda: None,
    )
    return Membership(
        config,
        replica,
        incarnation=uuid.uuid4(),
        emit=lambda *_, **__: None,
        changed=lambda: None,
        stop=stopped.append,
    )


def data_plane_in(directory: Path, stopped: list[str]) -> DataPlane:
    membership = membership_in(directory, stopped)
    return DataPlane(
        config_in(directory),
        life=lambda: membership.state,
        leader_id=lambda: -1,
        emit=lambda *_, **__: None,
        stop=stopped.append,
        describe=lambda: None,
    )


def create(name: str) -> CreateTopicsRequest:
    topic = CreatableTopic(
        name=TopicName(name),
        num_partitions=i32(1),
        replication_factor=i16(1),
        assignments=(),
        configs=(),
    )
    return CreateTopicsRequest(
        topics=(topic,), timeout=i32Timedelta.parse(datetime.timedelta(seconds=1))
    )


ALL_OF_IT = MetadataRequest(topics=None, include_topic_authorized_operations=False)


def test_a_forwarded_request_that_fails_closes_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection is muted until its request is answered: without an answer, for ever."""
    answers: list[Any] = []

    async def fail(*_: Any) -> Any:
        raise RuntimeError("a defect")

    async def main() -> None:
        plane = data_plane_in(tmp_path, [])
        monkeypatch.setattr(Forwarder, "forward", fail)
        monkeypatch.setattr(DataPlane, "serving", lambda *_: True)
        plane.serve(RequestContext("PLAINTEXT", "test", None, create("a"), answers.append))
        async with asyncio.timeout(120):
            while not answers:
                await asyncio.sleep(0.001)
        await plane.close()

    asyncio.run(main())
    assert answers == [None]


def test_an_answer_that_was_made_while_the_lease_ended_is_not_given(tmp_path: Path) -> None:
    """The control loop fences the broker whenever it likes: also while an answer is made."""
    plane = data_plane_in(tmp_path, [])
    fenced = replace(plane._life(), broker_state=BrokerState.FENCED, epoch=7)
    active = replace(fenced, broker_state=BrokerState.ACTIVE, lease_end_ms=2**60)
    lives, answers, reported = iter([active, fenced]), list[Any](), list[dict[str, Any]]()
    plane._life = lambda: next(lives, fenced)
    plane.emit = lambda _, **fields: reported.append(fields)
    plane.serve(RequestContext("PLAINTEXT", "test", None, ALL_OF_IT, answers.append))
    assert [each.error_code for each in answers] == [ErrorCode.broker_not_available]
    assert (reported[0]["code"], reported[0]["broker_state"]) == (8, "FENCED")


def test_what_is_reported_of_an_answer_is_of_one_moment(tmp_path: Path) -> None:
    """A broker that becomes active meanwhile does not seem to have answered while it was not."""
    plane = data_plane_in(tmp_path, [])
    fenced = replace(plane._life(), broker_state=BrokerState.FENCED, epoch=7)
    active = replace(fenced, broker_state=BrokerState.ACTIVE, lease_end_ms=2**60)
    lives, reported = iter([active, fenced]), list[dict[str, Any]]()
    plane._life = lambda: next(lives, active)
    plane.emit = lambda _, **fields: reported.append(fields)
    plane.serve(RequestContext("PLAINTEXT", "test", None, ALL_OF_IT, lambda _: None))
    assert (reported[0]["code"], reported[0]["broker_state"]) in ((0, "ACTIVE"), (8, "FENCED"))


@pytest.mark.parametrize("renewed", [False, True])
def test_a_lease_is_reported_before_anybody_serves_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, renewed: bool
) -> None:
    """The data plane looks at the state whenever it likes; a renewal takes nothing from it."""
    membership = membership_in(tmp_path, [])
    active = replace(membership.state, broker_state=BrokerState.ACTIVE, epoch=7, lease_end_ms=9)
    effects: list[lifecycle.Effect] = [
        lifecycle.LeaseGranted(epoch=7, start_ms=0, end_ms=99, granted_by=1)
    ]
    if renewed:
        membership.state = active
    else:
        effects.append(lifecycle.Transition(BrokerState.FENCED, BrokerState.ACTIVE, 7, "granted"))
    monkeypatch.setattr(lifecycle, "step", lambda *_: (replace(active, lease_end_ms=99), effects))
    seen: list[tuple[str, int | None]] = []
    membership._emit = lambda kind, **_: seen.append((kind, membership.state.lease_end_ms))
    membership.feed(lifecycle.Tick())
    assert seen == ([("lease", 9)] if renewed else [("lease", None), ("bstate", None)])
    assert membership.state.lease_end_ms == 99


def test_a_heartbeat_that_fails_for_no_known_reason_ends_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would wait for the answer for ever, and be fenced for ever."""
    stopped: list[str] = []

    async def main() -> None:
        plane = membership_in(tmp_path, stopped)
        monkeypatch.setattr(plane, "_heard", lambda *_: 1 / 0)
        monkeypatch.setattr("nodes.kraft.net.channel.Channel.call", answered)
        plane.tick()
        async with asyncio.timeout(120):
            while not stopped:
                await asyncio.sleep(0.001)
        plane.close()

    async def answered(*_: Any) -> Any:
        return object()

    asyncio.run(main())
    assert stopped == ["fatal: ZeroDivisionError: division by zero"]


def test_a_leader_that_hangs_up_is_not_asked_again_without_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = 0

    async def hang_up(*_: Any) -> Any:
        nonlocal attempts
        attempts += 1
        raise FateUnknown("closed")

    async def main() -> None:
        monkeypatch.setattr("nodes.kraft.net.channel.Channel.call", hang_up)
        forwarder = Forwarder(config_in(tmp_path), lambda: 1)
        told = await forwarder.forward(create("a"), 0.3)
        assert told == Forwarded(None, unknown=True, end_offset=Offset(0))

    asyncio.run(main())
    assert 2 <= attempts <= 7


def test_a_refusal_is_reported_once_and_in_words(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A.1.50: whoever runs a broker that lacks a feature level can read why it does not start."""
    membership = membership_in(tmp_path, [])
    _, (beat,) = lifecycle.step(membership.state, lifecycle.Tick(), 2**40)
    assert isinstance(beat, lifecycle.SendHeartbeat)
    for code in (35, 35, 41, 0, 35, 104):
        response = BrokerHeartbeatResponse(
            error_code=i16(code),
            next_state=i8(BrokerState.FENCED),
            lease_end_time_ms=beat.request.lease_start_time_ms,
        )
        membership._heard(beat.request, response)
    assert [record.message for record in caplog.records] == [
        "heartbeat refused: this software lacks a level of metadata.format that the cluster has "
        "finalized",
        "heartbeat refused: this software lacks a level of metadata.format that the cluster has "
        "finalized",
        "heartbeat refused: the controllers are of another cluster",
    ]
