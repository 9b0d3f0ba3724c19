"""A node whose disk fails says nothing more: what it holds in memory may not be on disk."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nodes.kraft.config import Config, from_settings
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.raft import steps as raft
from nodes.kraft.raft.messages import Vote
from nodes.kraft.runtime.control import ControlPlane
from nodes.kraft.runtime.replica import Replica, Watcher
from nodes.kraft.server import Node
from nodes.kraft.storage.quorum_state import QuorumStateFile
from nodes.kraft.wire import quorum


def config_in(directory: Path) -> Config:
    return from_settings(
        {
            "process.roles": "controller",
            "controller.id": "1",
            "cluster.id": "test",
            "listeners": "CONTROLLER://127.0.0.1:0",
            "controller.listeners": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
            "controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:1,3@127.0.0.1:1",
            "log.dirs": str(directory / "data"),
        }
    )


def failing(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


def vote_of(candidate: int) -> Any:
    vote = Vote(candidate_epoch=5, candidate_id=candidate, last_epoch=0, last_offset=0)
    return quorum.request_to_wire(vote, "test", peer=1)


def test_a_vote_that_could_not_be_saved_is_never_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither now nor when the candidate asks again: memory says that it has the vote."""
    stopped: list[str] = []
    answers: list[Any] = []
    replica = Replica(
        config_in(tmp_path),
        emit=lambda *_, **__: None,
        watcher=Watcher(),
        stop=stopped.append,
        changed=lambda: None,
    )
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(QuorumStateFile, "save", failing)
        replica.ask(vote_of(2), answers.append)
    replica.ask(vote_of(2), answers.append)
    replica.feed(raft.Tick())
    assert answers == []
    assert stopped == ["fatal: OSError: [Errno 28] No space left on device"]


def test_records_numbered_for_another_place_are_not_appended(tmp_path: Path) -> None:
    """The controller's numbers and the log's end differ: nothing of it may reach a follower."""
    stopped: list[str] = []

    async def main() -> None:
        config = config_in(tmp_path)
        alone = Config(
            **{name: getattr(config, name) for name in config.__slots__}
            | {"voters": config.voters[:1]}
        )
        replica = Replica(
            alone,
            emit=lambda *_, **__: None,
            watcher=Watcher(),
            stop=stopped.append,
            changed=lambda: None,
        )
        while replica.state.high_watermark == 0:
            replica.feed(raft.Tick())
            await asyncio.sleep(0.001)
        end = replica.state.log.end_offset
        with pytest.raises(RuntimeError, match="log ends at"):
            replica.propose(replica.state.epoch, end + 1, (b"x",))
        assert replica.state.log.end_offset == end
        replica.close()

    asyncio.run(main())
    assert [reason[:6] for reason in stopped] == ["fatal:"]


def test_a_node_whose_disk_fails_in_a_tick_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QuorumStateFile, "save", failing)
    config = replace(config_in(tmp_path), prevote=False)  # a PreVote saves nothing

    async def main() -> str:
        async with asyncio.timeout(120):
            return await Node(config).run()

    assert asyncio.run(main()).startswith("fatal: OSError")


def test_a_request_that_fails_is_not_waited_for(tmp_path: Path) -> None:
    """One that the core cannot read at all: its sender is cut off, and nothing is kept of it."""
    plane = ControlPlane(
        ControllerConfig(controller_id=1, cluster_id="test"),
        emit=lambda *_, **__: None,
        changed=lambda: None,
    )
    plane.replica = Replica(
        config_in(tmp_path),
        emit=lambda *_, **__: None,
        watcher=Watcher(),
        stop=lambda _: None,
        changed=lambda: None,
    )
    with pytest.raises(AttributeError):
        plane.ask(object(), lambda _: None)
    assert plane._waiting == {}
