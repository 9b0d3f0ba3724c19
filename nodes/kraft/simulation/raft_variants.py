"""The core with one thing broken, to show that the simulation sees it.

Each variant patches the healthy code from outside while it runs, and names the rule whose
breach shows it. `profile` is where it shows soon.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Final
from unittest.mock import patch

from nodes.kraft.ids import NO_ELECTION, LeaderEpoch, Offset, ReplicaId
from nodes.kraft.raft import barrier, replication, sending, snapshots, transitions, voting
from nodes.kraft.raft.log_index import LogIndex, restarted
from nodes.kraft.raft.messages import FetchSnapshot, SnapshotId, Vote
from nodes.kraft.raft.state import (
    NO_VOTE,
    Candidate,
    Follower,
    Leader,
    Prospective,
    QuorumState,
    RaftState,
    Transition,
)
from nodes.kraft.raft.steps import (
    Advanced,
    Answer,
    Claimed,
    InstallSnapshot,
    SnapshotWritten,
    Token,
)
from nodes.kraft.simulation.raft_parts import Disk, Node, Profile, Snapshot
from nodes.kraft.simulation.raft_world import World

HOSTILE: Final = Profile(
    voters=3,
    observers=0,
    delay=100,
    loss=0.05,
    duplicates=0.02,
    batches_a_fetch=1,
    fault_every=250,
    proposal_every=20,
    sync_delay=60,
    duration=12_000,
)
SNAPSHOTS: Final = replace(
    HOSTILE, observers=2, delay=30, sync_delay=10, snapshot_every=40, batches_a_fetch=100
)
PREVOTE: Final = replace(HOSTILE, prevote=True, delay=30)


@dataclass(frozen=True)
class Variant:
    """`rules`: any of them shows the defect. `world` is what it runs in."""

    name: str
    rules: frozenset[str]
    broken: Callable[[], AbstractContextManager[object]] = nullcontext
    world: type[World] = World
    profile: Profile = HOSTILE


def _by_offset_alone(state: RaftState, vote: Vote) -> bool:
    return vote.last_offset >= state.log.end_offset


class ForgetfulWorld(World):
    """Votes that are not on disk."""

    def save(self, epoch: LeaderEpoch, leader_id: ReplicaId, voted_id: ReplicaId) -> QuorumState:
        return QuorumState(epoch, leader_id, NO_VOTE)


def advance_over_older_epochs(transition: Transition) -> None:
    """Commits an older epoch's entry by counting replicas."""
    state, role = transition.state, transition.state.role
    assert isinstance(role, Leader)
    committed = replication.majority_offset(state, role)
    if committed <= state.high_watermark:
        return
    transition.set(high_watermark=committed)
    transition.emit(Advanced(committed))
    if not role.claimed and committed > role.start_offset:
        transition.set(role=replace(role, claimed=True))
        transition.emit(Claimed(state.epoch, committed))
        barrier.start_round(transition)
    replication._answer_parked(transition)


def counts_itself_unflushed(state: RaftState, role: Leader) -> int:
    """A leader counts what it has not synced."""
    offsets = [state.log.end_offset, *(progress.offset for progress in role.progress.values())]
    return sorted(offsets, reverse=True)[state.config.majority - 1]


@contextmanager
def _unflushed_followers() -> Iterator[None]:
    healthy = sending.wanted

    def eager(state: RaftState) -> Iterator[sending.Wanted]:
        if isinstance(state.role, Follower):
            yield sending.Wanted(state.leader_id, sending._fetch(state))
        else:
            yield from healthy(state)

    with patch.object(sending, "wanted", eager):
        yield


# --- snapshots ----------------------------------------------------------------------------


class EagerWorld(World):
    """Snapshots of all that is in the log."""

    def snapshot_id(self, node: Node, state: RaftState) -> SnapshotId | None:
        if state.log.end_offset == state.log.start_offset:
            return None
        return SnapshotId(state.log.end_offset, state.log.last_epoch)


class HastyWorld(World):
    """Logs trimmed while the snapshot is still being written."""

    def write(self, node: Node, id: SnapshotId, snapshot: Snapshot) -> None:
        super().write(node, id, snapshot)
        self.feed(node, SnapshotWritten(id))


def _by_offset_of_the_start(log: LogIndex, offset: Offset, last_epoch: LeaderEpoch) -> bool:
    return offset == 0 and log.start_offset > 0


def _keeps_the_download(transition: Transition, epoch: LeaderEpoch, leader_id: ReplicaId) -> None:
    before = transition.state.role
    download = before.download if isinstance(before, Follower) else None
    voted = transition.state.voted_id if transition.state.epoch == epoch else NO_VOTE
    role = Follower(transitions.fetch_deadline(transition), download=download)
    transitions.enter(transition, role, epoch=epoch, leader_id=leader_id, voted_id=voted)


def _believes_any_epoch(state: RaftState, peer: ReplicaId, request: FetchSnapshot) -> bool:
    role = state.role
    return isinstance(role, Follower) and role.download is not None and peer == state.leader_id


def _by_its_length(disk: Disk) -> LogIndex:
    """The defect that the simulation found: a log as long as the snapshot that was to take its
    place is kept, whatever is in it."""
    newest, batches = disk.newest, disk.batches
    first = batches[0].base_offset if batches else min(disk.start, newest.end_offset)
    log = LogIndex(
        newest if first == newest.end_offset else SnapshotId(first, NO_ELECTION), first, first
    )
    for batch in batches:
        log = log.append(batch)
    end = log.end_offset
    log = log.flush(end).begin_at(newest)
    if log.end_offset != end:
        disk.restart(newest)
    disk.start = newest.end_offset
    return log


@contextmanager
def _restless_downloads() -> Iterator[None]:
    with (
        patch.object(transitions, "become_follower", _keeps_the_download),
        patch.object(snapshots, "_expected", _believes_any_epoch),
    ):
        yield


def _keeps_its_log(transition: Transition, snapshot_id: SnapshotId) -> None:
    snapshots._set_download(transition, None)
    transition.set(high_watermark=snapshot_id.end_offset)
    transition.emit(InstallSnapshot(snapshot_id))
    transition.emit(Advanced(snapshot_id.end_offset))


def _keeps_its_high_watermark(transition: Transition, snapshot_id: SnapshotId) -> None:
    snapshots._set_download(transition, None)
    transition.set(log=restarted(snapshot_id), truncations=transition.state.truncations + 1)
    transition.emit(InstallSnapshot(snapshot_id))


# --- PreVote ------------------------------------------------------------------------------


_healthy_on_vote: Final = voting.on_vote
_healthy_campaign: Final = voting.campaign


def _binding_prevotes(transition: Transition, token: Token, vote: Vote) -> None:
    _healthy_on_vote(transition, token, vote)
    answer, state = transition.effects[-1], transition.state
    granted = isinstance(answer, Answer) and getattr(answer.reply, "granted", False)
    if vote.pre and granted and state.voted_id == NO_VOTE:
        role, candidate = state.role, vote.candidate_id
        transitions.enter(
            transition, role, epoch=state.epoch, leader_id=state.leader_id, voted_id=candidate
        )


def _same_epoch(transition: Transition, retries: int = 0) -> None:
    role = transition.state.role
    if isinstance(role, Prospective):
        transition.set(role=Candidate(role.deadline_ms, role.granted, retries=retries))
        voting.count_votes(transition)
    else:  # its leader ended the epoch, and nobody was asked
        _healthy_campaign(transition, retries)


def _asks_in_its_own_epoch(transition: Transition) -> None:
    voting.become_prospective(transition, 0)


VARIANTS: Final = (
    Variant(
        "votes-by-offset-alone",
        frozenset({"leader-completeness", "committed-lost", "fatal"}),
        lambda: patch.object(voting, "is_up_to_date", _by_offset_alone),
    ),
    Variant(
        "forgets-its-vote",
        frozenset({"one-vote", "one-leader"}),
        world=ForgetfulWorld,
    ),
    Variant(
        "counts-older-epochs",
        frozenset({"leader-completeness", "committed-lost", "fatal"}),
        lambda: patch.object(replication, "advance", advance_over_older_epochs),
        profile=replace(HOSTILE, fault_every=400, sync_delay=10, loss=0.15),
    ),
    Variant(
        "confirms-without-a-round",
        frozenset({"stale-read"}),
        lambda: patch.object(barrier, "needs", lambda barrier, peer: False),
        profile=replace(HOSTILE, fault_every=1500),
    ),
    Variant(
        "counts-itself-unflushed",
        frozenset({"durable-majority"}),
        lambda: patch.object(replication, "majority_offset", counts_itself_unflushed),
    ),
    Variant(
        "fetches-before-the-flush",
        frozenset({"durable-majority"}),
        _unflushed_followers,
    ),
    Variant(
        "snapshots-the-uncommitted",
        frozenset({"snapshot-committed"}),
        world=EagerWorld,
        profile=SNAPSHOTS,
    ),
    Variant(
        "trims-before-the-snapshot-is-durable",
        frozenset({"log-start"}),
        world=HastyWorld,
        profile=replace(SNAPSHOTS, sync_delay=60),
    ),
    Variant(
        "offers-its-snapshot-to-the-empty-alone",
        frozenset({"recovery", "fatal"}),
        lambda: patch.object(replication, "needs_snapshot", _by_offset_of_the_start),
        profile=SNAPSHOTS,
    ),
    Variant(
        "continues-another-leaders-download",
        frozenset({"snapshot-bytes"}),
        _restless_downloads,
        profile=replace(SNAPSHOTS, proposal_every=400, delay=100, fault_every=200, chunk_bytes=4),
    ),
    Variant(
        "keeps-its-log-under-a-snapshot",
        frozenset({"log-index"}),
        lambda: patch.object(snapshots, "_install", _keeps_its_log),
        profile=SNAPSHOTS,
    ),
    Variant(
        "keeps-its-high-watermark-under-a-snapshot",
        frozenset({"high-watermark"}),
        lambda: patch.object(snapshots, "_install", _keeps_its_high_watermark),
        profile=SNAPSHOTS,
    ),
    Variant(
        "keeps-a-log-as-long-as-its-snapshot",
        frozenset({"log-matching", "committed-lost"}),
        lambda: patch.object(Disk, "index", _by_its_length),
        profile=replace(
            SNAPSHOTS, observers=0, proposal_every=400, batches_a_fetch=1, fault_every=400
        ),
    ),
    Variant(
        "is-bound-by-prevotes",
        frozenset({"pre-vote", "one-vote"}),
        lambda: patch("nodes.kraft.raft.core.on_vote", _binding_prevotes),
        profile=PREVOTE,
    ),
    Variant(
        "is-elected-by-prevotes",
        frozenset({"one-leader", "one-vote", "leader-completeness", "fatal"}),
        lambda: patch.object(voting, "campaign", _same_epoch),
        profile=PREVOTE,
    ),
    Variant(
        "backs-others-than-its-leader",
        frozenset({"pre-vote"}),
        lambda: patch.object(voting, "_has_leader", lambda state: False),
        profile=PREVOTE,
    ),
    Variant(
        "asks-in-an-epoch-that-it-led",
        frozenset({"pre-vote"}),
        lambda: patch.object(voting, "leave_own_epoch", _asks_in_its_own_epoch),
        profile=PREVOTE,
    ),
    Variant(
        "campaigns-without-asking",
        frozenset({"pre-vote"}),
        lambda: patch.object(voting, "seek_election", voting.campaign),
        profile=PREVOTE,
    ),
)
