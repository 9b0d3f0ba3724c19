"""A leader that stops tells the voters, also where other messages to them are under way."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from test_disk_failures import config_in

from nodes.kraft.net.channel import Channel
from nodes.kraft.raft import steps as raft
from nodes.kraft.raft.messages import QuorumReply, VoteReply
from nodes.kraft.runtime.replica import Replica, Watcher
from nodes.kraft.wire import quorum


def test_end_quorum_epoch_is_sent_behind_what_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[int] = []

    async def call(channel: Channel, request: Any, _: float) -> Any:
        async with channel._busy:
            name = type(request).__name__
            epoch = replica.state.epoch
            if name == "VoteRequest":
                granted = VoteReply(leader_epoch=epoch, granted=True)
                return quorum.reply_to_wire(request, granted)
            await asyncio.sleep(0.02)
            if name == "EndQuorumEpochRequest":
                reported.append(epoch)
            return quorum.reply_to_wire(request, QuorumReply(leader_id=1, leader_epoch=epoch))

    monkeypatch.setattr(Channel, "call", call)
    replica = Replica(
        config_in(tmp_path),
        emit=lambda *_, **__: None,
        watcher=Watcher(),
        stop=lambda _: None,
        changed=lambda: None,
    )

    async def main() -> None:
        async with asyncio.timeout(120):
            while not replica.leads:
                replica.feed(raft.Tick())
                await asyncio.sleep(0.001)
            await replica.hand_over()
        replica.close()

    asyncio.run(main())
    assert reported == [replica.state.epoch] * 2
