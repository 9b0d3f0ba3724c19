"""Replicas at work: group commit, hand-over, answers of a node that ends, unreadable disks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from kio.schema.describe_quorum.v2 import request as describe_request
from kio.schema.types import TopicName
from kio.static.primitive import i32
from replica_harness import Quorum, config_of, play, topic

from nodes.kraft.config import ConfigError, from_settings
from nodes.kraft.raft import core, messages, steps
from nodes.kraft.raft.messages import Batch, SnapshotId
from nodes.kraft.raft.state import QuorumState, Transition
from nodes.kraft.raft.voting import on_election_timers
from nodes.kraft.runtime.replica import Replica, Watcher
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.log import MetadataLog
from nodes.kraft.storage.snapshots import SnapshotStore
from nodes.kraft.wire import quorum as wire

# --- group commit -------------------------------------------------------------------------


def slow_flushes(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    healthy = MetadataLog.flush

    def flush(log: MetadataLog) -> int:
        time.sleep(seconds)
        return healthy(log)

    monkeypatch.setattr(MetadataLog, "flush", flush)


def test_many_batches_are_in_flight_and_one_sync_covers_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A.1.24, A.1.26, A.1.27, A.1.28, A.4.8, A.6.13: the leader appends on while its disk syncs;
    what was appended meanwhile is covered by the next sync, and followers fetch it all at once.
    Nobody has applied any of it before it is committed."""
    quorum = Quorum(tmp_path, voters=3)
    batches = 100

    async def scenario() -> None:
        for node_id in (1, 2, 3):
            quorum.start(node_id)
        leader = await quorum.led()
        ident = leader.config.replica_id
        slow_flushes(monkeypatch, 0.02)
        start = leader.state.log.end_offset
        for events in quorum.events.values():
            events.clear()
        quorum.calls.clear()
        for number in range(batches):
            offset = leader.state.log.end_offset
            assert offset == start + number, "each is appended at once"
            leader.propose(leader.state.epoch, offset, (topic(f"t{number}"),))
        assert leader.state.high_watermark == start, "none is committed yet"
        for replica in quorum.replicas.values():
            assert len(replica.image.topics) == 0, "so none is applied"
            assert replica.applied == replica.state.high_watermark
        await quorum.until(lambda: leader.applied == start + batches)
        assert len(quorum.of(ident, "append")) == batches
        for node_id in quorum.replicas:
            assert len(quorum.of(node_id, "flush")) <= 6
        fetches = [call for call in quorum.calls if call.__api_key__ == 1]
        assert len(fetches) <= 20

    play(monkeypatch, quorum, scenario)


# --- the end of a leader, and of others ---------------------------------------------------


@pytest.mark.parametrize("prevote", ["true", "false"])
def test_a_leader_that_stops_hands_over_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prevote: str
) -> None:
    """A.4.9, A.6.12, B.2.7: it resigns, and answers fetches with BROKER_NOT_AVAILABLE until it has
    ended; the successor does not wait for an election's time-out.

    A.1.22, A.1.23, A.4.3, A.4.4, A.5.9, A.5.17: the new leader is the one active controller, and
    has all the metadata in memory: nothing but its own LeaderChange is applied before it claims.
    """
    quorum = Quorum(tmp_path, voters=3, controller_quorum_prevote=prevote)

    def but_for_followers(transition: Transition) -> None:
        """From now on nobody's patience with a leader ends."""
        if getattr(transition.state.role, "ended", True):
            on_election_timers(transition)

    async def scenario() -> None:
        for node_id in (1, 2, 3):
            quorum.start(node_id)
        old = await quorum.led()
        await quorum.create("a")
        for replica in quorum.replicas.values():
            await quorum.until(lambda replica=replica: replica.applied == old.applied)
        ident, epoch = old.config.replica_id, old.state.epoch
        for events in quorum.events.values():
            events.clear()
        answers: list[Any] = []
        monkeypatch.setattr(core, "on_election_timers", but_for_followers)
        ending = asyncio.ensure_future(old.hand_over())
        await asyncio.sleep(0)
        fetch = messages.Fetch(replica_id=9, epoch=epoch, offset=0, last_epoch=0, max_wait_ms=0)
        old.ask(wire.request_to_wire(fetch, "test", peer=ident), answers.append)
        reply = wire.reply_from_wire(fetch, answers[0])
        assert reply.error == messages.BROKER_NOT_AVAILABLE
        await ending
        new = await quorum.until(
            lambda: next((r for r in quorum.replicas.values() if r.leads and r is not old), None)
        )
        assert new.state.epoch == epoch + 1
        assert [event["why"] for event in quorum.of(ident, "resign")] == ["the process ends"]
        successor = new.config.replica_id
        await quorum.until(lambda: quorum.heard[successor].claims)
        assert [event["kind"] for event in quorum.of(successor, "apply")] == ["LeaderChange"]
        assert len(new.image.topics) == 1
        assert [r for r in quorum.replicas.values() if r.leads] == [new]

    play(monkeypatch, quorum, scenario)


def test_prevote_is_not_a_vote_in_the_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two PreVotes of one epoch may be granted; a checker of votes must not see them."""
    quorum = Quorum(tmp_path, voters=3)

    async def scenario() -> None:
        for node_id in (1, 2, 3):
            quorum.start(node_id)
        leader = await quorum.led()
        pre = [
            c for c in quorum.calls if c.__api_key__ == 52 and c.topics[0].partitions[0].pre_vote
        ]
        assert pre
        roles = [event["role"] for event in quorum.of(leader.config.replica_id, "role")]
        assert roles[-3:] == ["prospective", "candidate", "leader"]
        votes = [event for node_id in quorum.replicas for event in quorum.of(node_id, "vote")]
        real = [c for c in quorum.calls if c.__api_key__ == 52 and c not in pre]
        assert len(votes) <= len(real)
        assert all(event["epoch"] > 0 for event in votes)

    play(monkeypatch, quorum, scenario)


def test_a_vote_at_the_last_epoch_does_not_stop_a_quorum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hostile or broken voter: refused, and the next create commits as before."""
    quorum = Quorum(tmp_path, voters=3)

    async def scenario() -> None:
        for node_id in (1, 2, 3):
            quorum.start(node_id)
        leader = await quorum.led()
        epoch = leader.state.epoch
        for node_id, replica in quorum.replicas.items():
            for request in (
                messages.Vote(
                    candidate_epoch=2**31 - 1,
                    candidate_id=1 + node_id % 3,
                    last_epoch=0,
                    last_offset=0,
                ),
                messages.BeginQuorumEpoch(leader_id=1 + node_id % 3, leader_epoch=2**31 - 1),
            ):
                answers: list[Any] = []
                replica.ask(wire.request_to_wire(request, "test", peer=node_id), answers.append)
                assert wire.reply_from_wire(request, answers[0]).error == messages.INVALID_REQUEST
        await quorum.create("a")
        assert leader.state.epoch == epoch
        assert quorum.stopped == {}

    play(monkeypatch, quorum, scenario)


def test_describe_quorum_of_a_running_leader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quorum = Quorum(tmp_path, voters=3)
    partition = describe_request.PartitionData(partition_index=i32(0))
    request = describe_request.DescribeQuorumRequest(
        topics=(
            describe_request.TopicData(
                topic_name=TopicName("__cluster_metadata"), partitions=(partition,)
            ),
        )
    )

    async def scenario() -> None:
        for node_id in (1, 2, 3, 7):
            quorum.start(node_id)
        leader = await quorum.led()
        end = await quorum.create("a")

        def described() -> Any:
            response = leader.describe_quorum(request)
            (found,) = response.topics[0].partitions
            everyone = (*found.current_voters, *found.observers)
            done = [each.replica_id for each in everyone if each.log_end_offset == end]
            return response if done == [1, 2, 3, 7] else None

        response = await quorum.until(described)
        wall_ms = time.time_ns() // 1_000_000
        (observer,) = response.topics[0].partitions[0].observers
        assert wall_ms - 5000 < observer.last_caught_up_timestamp <= wall_ms
        assert [node.listeners[0].port for node in response.nodes] == [1, 2, 3]
        other = next(r for r in quorum.replicas.values() if not r.leads)
        assert int(other.describe_quorum(request).error_code) == 6

    play(monkeypatch, quorum, scenario)


# --- a static quorum that changes ---------------------------------------------------------


def test_a_voter_is_replaced_by_restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A.1.11, A.7.14: {1, 2, 3} becomes {1, 2, 4} by docs/node.md's procedure. The broker reads
    on meanwhile, and nothing that was committed is lost."""
    quorum = Quorum(tmp_path, voters=3)

    def names(replica: Replica) -> set[str]:
        return {each.name for each in replica.image.topics.values()}

    async def scenario() -> None:
        for node_id in (1, 2, 3, 7):
            quorum.start(node_id)
        await quorum.led()
        await quorum.create("before")
        quorum.stop(3)  # for good
        await quorum.create("with both")  # so 1 and 2 have everything
        quorum.voters = (1, 2, 4)
        for node_id in (1, 2):
            quorum.stop(node_id)
            quorum.start(node_id)
            if node_id == 1:
                quorum.start(4)
            await quorum.led()
        quorum.stop(7)
        broker = quorum.start(7)
        end = await quorum.create("after")
        expected = {"before", "with both", "after"}
        for node_id in (1, 2, 4):
            await quorum.until(lambda node_id=node_id: quorum.replicas[node_id].applied >= end)
            assert names(quorum.replicas[node_id]) == expected
        await quorum.until(lambda: names(broker) == expected)
        assert quorum.stopped == {}

    play(monkeypatch, quorum, scenario)


# --- disks that cannot be used ------------------------------------------------------------


def start_alone(directory: Path) -> Replica:
    return Replica(
        config_of(directory, 1, 1),
        emit=lambda *_, **__: None,
        watcher=Watcher(),
        stop=lambda _: None,
        changed=lambda: None,
    )


def log_with(directory: Path, batch: Batch) -> None:
    log = MetadataLog(directory / "1" / "__kafka_metadata-0")
    log.append(batch)
    log.flush()
    log.close()


@pytest.mark.parametrize(
    "batch",
    [
        Batch(0, 1, (b"\xff\xff\xff\xff no record",)),
        Batch(0, 1, (b"\x00",), control=True),
        Batch(0, 1, (topic("a"), b"")),
    ],
)
def test_undecodable_records_at_a_start_are_one_clear_line(tmp_path: Path, batch: Batch) -> None:
    """The checksum is right, so nobody tore it: this software does not know what it says."""
    log_with(tmp_path, batch)
    with pytest.raises(StorageError, match="of the metadata log") as raised:
        start_alone(tmp_path)
    assert "\n" not in str(raised.value)


def test_a_snapshot_that_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    store = SnapshotStore(tmp_path / "1" / "__kafka_metadata-0")
    store.write(SnapshotId(3, 1), [b"\xff no record"], timestamp_ms=0, high_watermark=3, digest="")
    with pytest.raises(StorageError, match="snapshot") as raised:
        start_alone(tmp_path)
    assert "\n" not in str(raised.value)


def test_a_node_with_an_unreadable_log_exits_with_one_line(tmp_path: Path) -> None:
    """Exit code 1, one line that says why, no traceback."""
    config = config_of(tmp_path, 1, 1)
    log_with(tmp_path, Batch(0, 1, (b"\xff\xff\xff\xff no record",)))
    (tmp_path / "1" / "meta.properties").write_text("version=2\ncluster.id=test\ncontroller.id=1\n")
    path = tmp_path / "server.properties"
    path.write_text(
        f"process.roles=controller\ncontroller.id=1\ncluster.id=test\n"
        f"listeners=CONTROLLER://127.0.0.1:0\ncontroller.listeners=CONTROLLER\n"
        f"listener.security.protocol.map=CONTROLLER:PLAINTEXT\n"
        f"controller.quorum.voters=1@127.0.0.1:1\nlog.dirs={config.log_dir}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "nodes.kraft", "--config", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line]
    assert done.returncode == 1
    assert len(lines) == 1
    assert "the record at 0 of the metadata log" in lines[0]


def test_a_committed_record_that_makes_no_sense_stops_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Going on without it would make this node's image another one than the others'."""
    quorum = Quorum(tmp_path, voters=1)

    async def scenario() -> None:
        leader = quorum.start(1)
        await quorum.create("a")
        end = leader.state.log.end_offset
        leader.propose(leader.state.epoch, end, (b"\xff\xff\xff no record",))
        why = await quorum.until(lambda: quorum.stopped.get(1))
        assert why.startswith(f"fatal: the record at {end} of the metadata log")
        leader.feed(steps.Tick())
        assert leader.applied == end

    play(monkeypatch, quorum, scenario)


def test_a_failure_amid_much_that_is_applied_stops_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later parts are applied outside of any input: a loop would note the failure and go on with
    a controller that was not told, and perhaps never claims."""
    monkeypatch.setattr("nodes.kraft.runtime.replica.SLICE_S", -1.0)
    quorum = Quorum(tmp_path, voters=1)

    async def scenario() -> None:
        leader = quorum.start(1)
        await quorum.create("a")
        end, epoch = leader.state.log.end_offset, leader.state.epoch

        def heard(end_offset: int, image: object) -> None:
            if end_offset > end + 2:
                raise RuntimeError("not to be done")

        monkeypatch.setattr(quorum.heard[1], "committed", heard)
        for number in range(4):  # the first is flushed alone, the others together
            leader.propose(epoch, end + number, (topic(f"b{number}"),))
        assert await quorum.until(lambda: quorum.stopped.get(1)) == (
            "fatal: RuntimeError: not to be done"
        )

    play(monkeypatch, quorum, scenario)


def test_restart_keeps_the_vote_and_the_epoch(tmp_path: Path) -> None:
    """B.2.16 with a snapshot: the log's last epoch may be the snapshot's."""
    store = SnapshotStore(tmp_path / "1" / "__kafka_metadata-0")
    store.write(SnapshotId(3, 7), [], timestamp_ms=0, high_watermark=3, digest="")
    replica = start_alone(tmp_path)
    assert (replica.state.epoch, replica.recovered) == (7, None)
    assert replica.state.high_watermark == replica.applied == 3
    replica._quorum_file.save(QuorumState(9, -1, 1))
    replica.close()
    assert start_alone(tmp_path).state.epoch == 9


# --- settings -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [("controller.quorum.prevote", "perhaps"), ("metadata.log.segment.bytes", "1")],
)
def test_settings_out_of_range_are_one_line(tmp_path: Path, key: str, value: str) -> None:
    settings = {
        "process.roles": "controller",
        "controller.id": "1",
        "cluster.id": "test",
        "listeners": "CONTROLLER://127.0.0.1:0",
        "controller.listeners": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": "1@127.0.0.1:1",
        "log.dirs": str(tmp_path),
    }
    assert from_settings(settings).prevote
    with pytest.raises(ConfigError, match=key) as raised:
        from_settings(settings | {key: value})
    assert "\n" not in str(raised.value)
