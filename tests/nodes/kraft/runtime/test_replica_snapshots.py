"""Snapshots of replicas: made, started from, handed to those that lag (KIP-630)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from replica_harness import Quorum, play, topic

from nodes.kraft.metadata.digest import digest
from nodes.kraft.raft import steps as raft
from nodes.kraft.raft.messages import SnapshotId
from nodes.kraft.raft.snapshots import answer_range
from nodes.kraft.runtime import replica as runtime
from nodes.kraft.runtime.replica import Replica


def names(replica: Replica) -> set[str]:
    return {each.name for each in replica.image.topics.values()}


def test_snapshot_of_what_is_applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A.1.37, A.4.16, A.4.17, A.4.18: named by end offset and epoch; the log begins behind it."""
    quorum = Quorum(tmp_path, voters=1)

    async def scenario() -> None:
        replica = quorum.start(1)
        await quorum.create("a", "b")
        end = await quorum.create("c")
        assert (replica.last_snapshot, replica.records_since_snapshot) == (None, end)
        snapshot = await replica.write_snapshot()
        assert snapshot == replica.last_snapshot == SnapshotId(end, replica.state.epoch)
        assert (replica.records_since_snapshot, replica.bytes_since_snapshot) == (0, 0)
        assert replica.state.log.start_offset == end
        assert await replica.write_snapshot() is None, "nothing new"
        assert await quorum.create("d") == end + 1
        assert replica.bytes_since_snapshot == len(topic("d"))
        (written,) = quorum.of(1, "snap_write")
        assert (written["end_offset"], written["high_watermark"]) == (end, end)
        assert [event["offset"] for event in quorum.of(1, "log_start")] == [end]

    play(monkeypatch, quorum, scenario)


def test_what_is_applied_meanwhile_is_not_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A.1.39, A.1.40: a snapshot is of one moment; it and the records behind it are the state."""
    quorum = Quorum(tmp_path, voters=1)

    async def scenario() -> None:
        replica = quorum.start(1)
        end = await quorum.create("a")
        writing = asyncio.ensure_future(replica.write_snapshot())
        await asyncio.sleep(0)
        assert await replica.write_snapshot() is None, "one at a time"
        replica.propose(replica.state.epoch, replica.state.log.end_offset, (topic("late"),))
        assert await writing == SnapshotId(end, replica.state.epoch)
        await quorum.until(lambda: replica.applied == end + 1)
        assert replica.records_since_snapshot == 1
        before = digest(replica.image)
        quorum.stop(1)
        again = quorum.start(1)
        assert (again.applied, names(again)) == (end, {"a"})
        await quorum.led()
        assert names(again) == {"a", "late"}
        assert digest(again.image) == before

    play(monkeypatch, quorum, scenario)


def test_restart_loads_the_newest_snapshot_and_the_log_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A.4.19: newest local snapshot, then the local log from its end, then the leader."""
    quorum = Quorum(tmp_path, voters=1, metadata_log_segment_bytes="1024")

    async def scenario() -> None:
        quorum.start(1)
        observer = quorum.start(7)
        for number in range(30):
            await quorum.create(f"t{number}")
        await quorum.until(lambda: len(names(observer)) == 30)
        snapshot = await observer.write_snapshot()
        assert snapshot is not None
        await quorum.create("behind")
        await quorum.until(lambda: "behind" in names(observer))
        quorum.stop(7)
        await quorum.create("missed")
        quorum.events[7].clear()
        again = quorum.start(7)
        (loaded,) = quorum.of(7, "snap_load")
        assert (loaded["source"], loaded["end_offset"]) == ("local", snapshot.end_offset)
        assert again.applied == again.state.high_watermark == snapshot.end_offset
        assert again.state.log.end_offset == snapshot.end_offset + 1
        await quorum.until(lambda: "missed" in names(again))
        applied = [event["offset"] for event in quorum.of(7, "apply")]
        assert applied == list(range(snapshot.end_offset, again.applied))

    play(monkeypatch, quorum, scenario)


def test_new_broker_fetches_the_snapshot_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A.4.20, A.4.21: below the leader's log start there is nothing but the snapshot."""
    quorum = Quorum(tmp_path, voters=1)

    async def scenario() -> None:
        leader = quorum.start(1)
        await quorum.create(*(f"t{number}" for number in range(200)))
        snapshot = await leader.write_snapshot()
        assert snapshot is not None
        await quorum.create("behind")
        broker = quorum.start(7)
        broker.state = runtime.core.initial(
            runtime.RaftConfig(node_id=7, voters=(1,), seed=0, snapshot_chunk_bytes=1000),
            None,
            broker.state.log,
            0,
        )
        await quorum.until(lambda: broker.applied == leader.applied)
        assert digest(broker.image) == digest(leader.image)
        (loaded,) = quorum.of(7, "snap_load")
        assert (loaded["source"], loaded["end_offset"]) == ("fetched", snapshot.end_offset)
        pieces = [call for call in quorum.calls if call.__api_key__ == 59]
        assert len(pieces) > 5
        assert broker.last_snapshot == snapshot
        reported = quorum.of(1, "fetch_in")[-1]
        assert (reported["peer"], reported["offset"], reported["answer"]) == (7, 0, "snapshot")
        quorum.stop(7)
        assert names(quorum.start(7)) == {f"t{number}" for number in range(200)}

    play(monkeypatch, quorum, scenario)


def test_lagging_voter_fetches_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A.4.14, A.4.15, A.4.20, A.5.10, A.5.11: what it has that is not committed goes with its
    log."""
    quorum = Quorum(tmp_path, voters=3)

    async def scenario() -> None:
        for node_id in (1, 2, 3):
            quorum.start(node_id)
        old = await quorum.led()
        await quorum.create("a")
        lagging = old.config.replica_id
        quorum.cut = {lagging}
        old.propose(old.state.epoch, old.state.log.end_offset, (topic("never"),))
        await quorum.until(lambda: quorum.leader())
        await quorum.create("b", "c")
        for node_id, replica in quorum.replicas.items():
            if node_id != lagging:
                await quorum.until(lambda replica=replica: "c" in names(replica))
                assert await replica.write_snapshot() is not None
        quorum.cut = set()
        await quorum.until(lambda: names(old) == {"a", "b", "c"})
        assert [event["source"] for event in quorum.of(lagging, "snap_load")] == ["fetched"]
        assert not quorum.stopped

    play(monkeypatch, quorum, scenario)


def test_claim_waits_for_the_snapshot_to_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A.1.23, A.5.7, B.2.14: the controller begins with all that is committed."""
    quorum = Quorum(tmp_path, voters=1)

    async def scenario() -> None:
        replica = quorum.start(1)
        end = await quorum.create("a")
        snapshot = await replica.write_snapshot()
        assert snapshot is not None
        machine, heard = replica._machine, quorum.heard[1]
        machine.begin_loading(snapshot)
        replica._carry_out(raft.Claimed(9, end))
        assert heard.claims[-1] != (9, end)
        await replica._load(snapshot)
        assert heard.claims[-1] == (9, end)
        machine.begin_loading(snapshot)
        replica._carry_out(raft.Claimed(10, end))
        replica._carry_out(raft.Renounced(10))
        await replica._load(snapshot)
        assert heard.claims[-1] == (9, end)

    play(monkeypatch, quorum, scenario)


def test_damaged_snapshot_from_a_leader_ends_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B.3: nothing that is not whole gets a snapshot's name."""
    quorum = Quorum(tmp_path, voters=1)

    def damaged(*arguments: Any) -> Any:
        reply = answer_range(*arguments)
        return runtime.messages.FetchSnapshotReply(
            **{name: getattr(reply, name) for name in reply.__slots__}
            | {"data": reply.data[:-1] + bytes([reply.data[-1] ^ 1])}
        )

    async def scenario() -> None:
        leader = quorum.start(1)
        await quorum.create("a")
        assert await leader.write_snapshot() is not None
        monkeypatch.setattr(runtime, "answer_range", damaged)
        quorum.start(7)
        why = await quorum.until(lambda: quorum.stopped.get(7))
        assert why.startswith("fatal: ")
        assert "as the leader sent it" in why
        assert not list((tmp_path / "7").rglob("*.checkpoint*"))

    play(monkeypatch, quorum, scenario)
