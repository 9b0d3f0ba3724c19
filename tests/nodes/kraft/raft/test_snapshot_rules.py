"""Snapshots in the pure core: KIP-595's receiver rules 7-9 and 11 where logs begin above 0, and
what KIP-630 says of FetchSnapshot (B.3).
"""

from dataclasses import replace
from typing import Any

import pytest

from nodes.kraft.raft.log_index import LogIndex, restarted
from nodes.kraft.raft.messages import (
    BROKER_NOT_AVAILABLE,
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    POSITION_OUT_OF_RANGE,
    SNAPSHOT_NOT_FOUND,
    UNKNOWN_LEADER_EPOCH,
    Batch,
    Fetch,
    FetchSnapshot,
    FetchSnapshotReply,
    SnapshotId,
)
from nodes.kraft.raft.snapshots import answer_range
from nodes.kraft.raft.state import Download, Follower, Leader, Resigned
from nodes.kraft.raft.steps import (
    Advanced,
    Answer,
    AnswerSnapshot,
    Append,
    Effect,
    Fatal,
    InstallSnapshot,
    Propose,
    Replied,
    RequestReceived,
    Send,
    ShutDown,
    SnapshotWritten,
    StoreChunk,
    TrimLog,
)
from tests.nodes.kraft.raft.replicas import (
    Replica,
    begin,
    elected,
    fetch,
    fetched,
    follower,
    leader,
)

ID = SnapshotId(100, 4)


def behind(snapshot: SnapshotId, *runs: tuple[int, int]) -> LogIndex:
    """A flushed log that begins behind `snapshot`; runs are (epoch, how many records)."""
    log = restarted(snapshot)
    for epoch, count in runs:
        log = log.append(Batch(log.end_offset, epoch, (b"x",) * count))
    return log.flush(log.end_offset)


def ask_for(
    id: SnapshotId = ID, position: int = 0, epoch: int = 6, replica: int = 2
) -> FetchSnapshot:
    return FetchSnapshot(
        replica_id=replica, epoch=epoch, snapshot_id=id, position=position, max_bytes=10
    )


# --- rule 8: who needs a snapshot ---------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "last_epoch", "answer"),
    [
        (0, 0, ID),  # a new replica
        (99, 4, ID),  # below the log's start
        (100, 4, None),  # exactly behind the snapshot
        (100, 3, ID),  # as long, but another history
        (100, 5, ID),
        (103, 3, ID),  # an epoch before the snapshot's
        (103, 4, (4, 102)),  # within the log, by the usual rule
        (104, 5, None),
        (107, 6, (6, 106)),
        (106, 5, (5, 105)),
    ],
)
def test_rule_8_below_the_log_start_there_is_only_the_snapshot(
    offset: int, last_epoch: int, answer: Any
) -> None:
    """A.4.20, B.2.8: the answer to the fetch carries the newest snapshot's id, and no records."""
    replica = elected(log=behind(ID, (4, 2), (5, 3)))
    assert replica.state.epoch == 6
    reply = replica.ask(fetch(6, offset, last_epoch))
    if isinstance(answer, SnapshotId):
        assert (reply.snapshot_id, reply.diverging) == (answer, None)
    elif answer is not None:
        assert (reply.snapshot_id, reply.diverging) == (None, answer)
    else:
        assert reply is None or (reply.snapshot_id, reply.diverging) == (None, None)
    assert not any(isinstance(e, Answer) and e.reply.batches for e in replica.effects)


def test_rule_8_a_log_from_the_beginning_needs_no_snapshot() -> None:
    """B.2.8, B.3.8: a log from the beginning needs no snapshot."""
    reply = leader().ask(fetch(1, 0, 0))
    assert reply.snapshot_id is None


def test_rule_9_a_fetch_answered_with_a_snapshot_does_not_count() -> None:
    """B.2.9: a fetch answered with a snapshot does not count."""
    replica = elected(log=behind(ID))
    role = replica.state.role
    replica.now += 700
    assert replica.ask(fetch(1 + 4, 0, 0)).snapshot_id == ID
    assert replica.state.role == role, "neither its progress nor the check of the quorum"


def test_rule_10_a_snapshot_is_answered_at_once() -> None:
    """B.2.10: a snapshot is answered at once."""
    replica = elected(log=behind(ID))
    assert replica.ask(fetch(5, 100, 3, wait=250)).snapshot_id == ID


# --- rule 7, and ranges -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (ask_for(epoch=4), FENCED_LEADER_EPOCH),
        (ask_for(epoch=6), UNKNOWN_LEADER_EPOCH),
        (ask_for(epoch=-1), INVALID_REQUEST),
        (ask_for(epoch=5, position=-1), INVALID_REQUEST),
        (ask_for(epoch=5, replica=-1), INVALID_REQUEST),
        (ask_for(epoch=5, replica=1), INVALID_REQUEST),
        (ask_for(SnapshotId(-1, 4), epoch=5), INVALID_REQUEST),
    ],
)
def test_rule_7_fetch_snapshot_errors(request_: FetchSnapshot, error: int) -> None:
    """B.2.7: fetch snapshot errors."""
    reply = elected(log=behind(ID)).ask(request_)
    assert (reply.error, reply.leader_epoch, reply.data) == (error, 5, b"")


def test_rule_7_only_the_leader_hands_out_snapshots() -> None:
    """B.2.7: only the leader hands out snapshots."""
    reply = follower(epoch=6, log=behind(ID)).ask(ask_for(replica=3))
    assert (reply.error, reply.leader_id) == (NOT_LEADER_OR_FOLLOWER, 2)


def test_rule_7_a_replica_that_shuts_down_answers_no_fetch() -> None:
    """B.2.7: BROKER_NOT_AVAILABLE, from leaders and others; a leader resigns first."""
    replica = leader()
    while replica.ask(fetch(1, 1, 1)) is not None:
        pass
    replica.do(ShutDown())
    assert isinstance(replica.state.role, Resigned)
    (parked,) = [e.reply.error for e in replica.some(Answer)]
    assert parked == NOT_LEADER_OR_FOLLOWER, "rule 10: it had been asked before"
    for request in (fetch(1, 1, 1), ask_for(epoch=1)):
        assert replica.ask(request).error == BROKER_NOT_AVAILABLE
    replica = follower()
    replica.do(ShutDown())
    assert replica.ask(fetch(1, 0, 0, replica=3)).error == BROKER_NOT_AVAILABLE


def answered(position: int, size: int | None) -> FetchSnapshotReply:
    data = bytes(range(size or 0))
    reply = FetchSnapshotReply(snapshot_id=ID, position=position)
    request = ask_for(position=position)
    return answer_range(request, reply, size, lambda at, most: data[at : at + most])


def test_ranges_of_a_snapshot() -> None:
    """B.3.5: by Position; 98 for an unknown id, 99 for a position that is outside."""
    assert answered(0, None).error == SNAPSHOT_NOT_FOUND
    first = answered(0, 25)
    assert (first.error, first.size, first.data) == (NONE, 25, bytes(range(10)))
    assert answered(20, 25).data == bytes(range(20, 25))
    for position in (25, 26, 2**63 - 1):
        assert answered(position, 25).error == POSITION_OUT_OF_RANGE


def test_leader_answers_with_a_range_and_counts_the_contact() -> None:
    """A voter that downloads follows this leader: the check of the quorum (rule 15) sees it."""
    replica = elected(log=behind(ID))
    replica.now += 1000
    replica.do(RequestReceived(7, ask_for(epoch=5)))
    effect = replica.one(AnswerSnapshot)
    assert (effect.token, effect.reply.snapshot_id, effect.reply.position) == (7, ID, 0)
    role = replica.state.role
    assert isinstance(role, Leader)
    assert (role.progress[2].contact_ms, role.progress[2].offset) == (replica.now, 0)


# --- fetching one -------------------------------------------------------------------------


def downloading(log: LogIndex | None = None, **arguments: Any) -> Replica:
    """A follower of voter 2 that was told to fetch the snapshot; its request is on the way."""
    replica = follower(epoch=6, log=log, **arguments)
    fetched(replica, snapshot_id=ID)
    return replica


def give(replica: Replica, data: bytes, size: int = 25, **fields: Any) -> list[Effect]:
    """Answer the outstanding request for a piece."""
    outstanding: Any = replica.state.links[2, FetchSnapshot].outstanding
    reply = FetchSnapshotReply(
        **{
            "leader_id": 2,
            "leader_epoch": replica.state.epoch,
            "snapshot_id": ID,
            "size": size,
            "position": outstanding.position,
            "data": data,
        }
        | fields
    )
    return replica.do(Replied(2, outstanding, reply))


def test_follower_asks_for_the_snapshot_instead_of_records() -> None:
    """A.4.20: bounded pieces, one request at a time, from position 0."""
    replica = downloading()
    request = replica.one(Send).request
    assert request == replace(ask_for(replica=1), max_bytes=2**20)
    assert isinstance(replica.state.role, Follower)


def test_pieces_are_stored_in_order_and_the_last_installs() -> None:
    """A.4.20, A.4.21, B.3.6: afterwards the log begins at the snapshot's end, and so does the high
    watermark; fetches go on from there."""
    replica = downloading(log=behind(SnapshotId(0, 0), (1, 7)))
    give(replica, b"a" * 10)
    assert replica.one(StoreChunk) == StoreChunk(ID, 0, b"a" * 10)
    assert replica.one(Send).request.position == 10
    give(replica, b"b" * 15)
    assert replica.order(StoreChunk, InstallSnapshot, Advanced, Send) == [
        StoreChunk,
        InstallSnapshot,
        Advanced,
        Send,
    ]
    assert replica.one(StoreChunk).position == 10
    assert replica.one(InstallSnapshot) == InstallSnapshot(ID)
    assert replica.one(Advanced) == Advanced(100)
    state = replica.state
    assert (state.log.start_offset, state.log.end_offset, state.log.flushed) == (100, 100, 100)
    assert (state.high_watermark, state.log.last) == (100, (4, 100))
    request = replica.one(Send).request
    assert isinstance(request, Fetch)
    assert (request.offset, request.last_epoch) == (100, 4)


def test_each_piece_keeps_the_follower_from_campaigning() -> None:
    replica = downloading()
    for _ in range(5):
        replica.now += 900
        give(replica, b"x", size=100)
    role = replica.state.role
    assert isinstance(role, Follower)
    assert role.deadline_ms >= replica.now + 1000


@pytest.mark.parametrize(
    "wrong",
    [
        {"snapshot_id": SnapshotId(101, 4)},
        {"snapshot_id": SnapshotId(100, 5)},
        {"position": 7},
        {"size": 9},
    ],
)
def test_another_id_or_position_than_expected_is_fatal(wrong: dict[str, Any]) -> None:
    """B.3.5: a response with another id or position than expected."""
    replica = downloading()
    give(replica, b"a" * 10, **wrong)
    assert "sent" in replica.one(Fatal).reason
    assert not replica.some(StoreChunk, InstallSnapshot)


@pytest.mark.parametrize("error", [SNAPSHOT_NOT_FOUND, POSITION_OUT_OF_RANGE])
def test_a_snapshot_that_is_gone_is_asked_for_anew(error: int) -> None:
    """The leader has a newer one meanwhile; the next fetch tells which."""
    replica = downloading()
    give(replica, b"", error=error)
    role = replica.state.role
    assert isinstance(role, Follower)
    assert role.download is None
    assert isinstance(replica.one(Send).request, Fetch)


def test_an_empty_piece_is_asked_for_again_later() -> None:
    replica = downloading()
    give(replica, b"")
    assert not replica.some(Send, StoreChunk)
    replica.wait(20)
    assert replica.one(Send).request.position == 0


def test_another_leader_begins_the_download_anew() -> None:
    """Two snapshots of one id need not be the same bytes."""
    replica = downloading()
    give(replica, b"a" * 10)
    late = replica.state.links[2, FetchSnapshot].outstanding
    assert isinstance(late, FetchSnapshot)
    replica.ask(begin(7, leader=3))
    role = replica.state.role
    assert isinstance(role, Follower)
    assert role.download is None
    reply = FetchSnapshotReply(
        leader_id=2, leader_epoch=6, snapshot_id=ID, size=25, position=10, data=b"b" * 15
    )
    replica.do(Replied(2, late, reply))
    assert not replica.some(StoreChunk, InstallSnapshot, Fatal)


def test_a_leader_is_never_asked_to_load_one() -> None:
    """B.3.8: whatever a late answer says, only a follower downloads."""
    replica = downloading()
    outstanding = replica.state.links[2, FetchSnapshot].outstanding
    assert isinstance(outstanding, FetchSnapshot)
    replica.timeout()
    reply = FetchSnapshotReply(
        leader_id=2, leader_epoch=6, snapshot_id=ID, size=1, position=0, data=b"x"
    )
    replica.do(Replied(2, outstanding, reply))
    assert not replica.some(StoreChunk, InstallSnapshot)


def test_a_snapshot_at_or_below_the_high_watermark_is_fatal() -> None:
    """What is committed here, the leader must be able to continue."""
    replica = follower(epoch=6, log=behind(SnapshotId(0, 0), (1, 150)))
    fetched(replica, high_watermark=100)
    fetched(replica, snapshot_id=ID)
    assert "high watermark" in replica.one(Fatal).reason


def test_rule_11_divergence_below_the_own_snapshot_is_fatal() -> None:
    """B.2.11: divergence below the own snapshot is fatal."""
    replica = follower(epoch=6, log=behind(ID, (5, 2)))
    fetched(replica, diverging=(3, 90))
    assert replica.some(Fatal)


def test_observers_download_too() -> None:
    """A.4.21: a brand-new broker begins with the leader's snapshot."""
    observer = downloading(node_id=7)
    give(observer, b"z" * 25)
    assert observer.one(InstallSnapshot) == InstallSnapshot(ID)
    assert observer.one(Send).request.offset == 100


# --- making one ---------------------------------------------------------------------------


def committed() -> Replica:
    """A leader with records 0-3 committed, of epoch 1, and one more that is not."""
    replica = leader()
    replica.do(Propose(1, (b"a", b"b", b"c")))
    replica.flush()
    replica.ask(fetch(1, 4, 1))
    assert replica.state.high_watermark == 4
    replica.do(Propose(1, (b"d",)))
    return replica


def test_a_written_snapshot_trims_the_log() -> None:
    """A.4.18, B.3.10: the log begins at the snapshot's end; what follows is still there."""
    replica = committed()
    replica.do(SnapshotWritten(SnapshotId(3, 1)))
    assert replica.one(TrimLog) == TrimLog(SnapshotId(3, 1))
    log = replica.state.log
    assert (log.start_offset, log.end_offset, log.snapshot) == (3, 5, SnapshotId(3, 1))
    assert log.last == (1, 5)
    assert replica.ask(fetch(1, 0, 0, replica=3)).snapshot_id == SnapshotId(3, 1)


@pytest.mark.parametrize(
    ("id", "why"), [(SnapshotId(5, 1), "above the high watermark"), (SnapshotId(3, 2), "not of")]
)
def test_a_snapshot_of_what_is_not_committed_is_fatal(id: SnapshotId, why: str) -> None:
    """B.3.3: never above the high watermark, and valid against the log's epochs."""
    replica = committed()
    replica.do(SnapshotWritten(id))
    assert why in replica.one(Fatal).reason
    assert not replica.some(TrimLog)


def test_a_snapshot_older_than_the_log_start_trims_nothing() -> None:
    replica = committed()
    replica.do(SnapshotWritten(SnapshotId(3, 1)))
    assert replica.do(SnapshotWritten(SnapshotId(2, 1))) == []


def test_restart_behind_a_snapshot() -> None:
    """A.4.19: the high watermark is at least what the snapshot holds."""
    replica = Replica(log=behind(ID, (5, 2)))
    assert (replica.state.high_watermark, replica.state.epoch) == (100, 5)
    empty = Replica(log=restarted(ID))
    assert (empty.state.epoch, empty.state.log.last) == (4, (4, 100))


def test_download_state_is_one_position() -> None:
    replica = downloading()
    give(replica, b"a" * 10)
    role = replica.state.role
    assert isinstance(role, Follower)
    assert role.download == Download(ID, 10)
    assert not replica.some(Append)
