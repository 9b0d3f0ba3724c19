"""ControllerHeartbeats as a standby sends them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from replica_harness import config_of

from nodes.kraft.net.channel import Channel, NotSent
from nodes.kraft.raft.messages import SnapshotId
from nodes.kraft.runtime.clock import now_ms
from nodes.kraft.runtime.snapshots import Snapshots
from nodes.kraft.wire.heartbeats import ControllerHeartbeatRequest, ControllerHeartbeatResponse

INTERVAL_MS = 20


def test_a_standby_tells_the_active_controller_again_and_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A.1.42, A.1.84: one in each interval, to whoever leads at that moment, with the offset of
    the newest snapshot; a lost one is followed by the next; who leads tells nobody."""
    sent: list[tuple[int, ControllerHeartbeatRequest]] = []
    replica: Any = SimpleNamespace(
        leads=False, leader_id=2, applied=90, last_snapshot=SnapshotId(70, 1)
    )

    async def call(channel: Channel, request: Any, timeout_s: float) -> Any:
        sent.append((channel._port, request))
        if len(sent) == 2:
            raise NotSent("lost")
        return ControllerHeartbeatResponse(error_code=0, start_snapshot=False)  # type: ignore[arg-type]

    monkeypatch.setattr(Channel, "call", call)
    config = config_of(tmp_path, 1, 3, broker_heartbeat_interval_ms=str(INTERVAL_MS))
    stopped: list[str] = []

    async def scenario() -> None:
        snapshots = Snapshots(config, replica, tell=lambda _: None, stop=stopped.append)

        async def run(until: int) -> None:
            async with asyncio.timeout(120):
                while len(sent) < until:
                    snapshots.tick()
                    await asyncio.sleep(0.001)

        began = now_ms()
        await run(5)
        assert now_ms() - began >= 4 * INTERVAL_MS
        assert {(port, int(each.last_snapshot_offset)) for port, each in sent} == {(2, 70)}
        assert {int(each.controller_id) for _, each in sent} == {1}
        replica.leader_id, replica.last_snapshot = 3, SnapshotId(80, 1)
        await run(7)
        assert [(port, int(each.last_snapshot_offset)) for port, each in sent[5:]] == [(3, 80)] * 2
        replica.leads = True
        for _ in range(5 * INTERVAL_MS):
            snapshots.tick()
            await asyncio.sleep(0.001)
        assert len(sent) == 7
        snapshots.close()

    asyncio.run(scenario())
    assert stopped == []
