"""The core with one thing broken, to show that the simulation sees it.

Each variant patches the healthy code from outside while it runs, and names the rule whose
breach shows it. `profile` is where it shows soon.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Final
from unittest.mock import patch

from nodes.kraft.raft import barrier, replication, sending, voting
from nodes.kraft.raft.messages import Vote
from nodes.kraft.raft.state import NO_VOTE, Follower, Leader, QuorumState, RaftState, Turn
from nodes.kraft.raft.steps import Advanced, Claimed
from tests.simulation.raft_parts import Profile
from tests.simulation.raft_world import World

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

    def save(self, epoch: int, leader_id: int, voted_id: int) -> QuorumState:
        return QuorumState(epoch, leader_id, NO_VOTE)


def _advance_over_older_epochs(turn: Turn) -> None:
    state, role = turn.state, turn.state.role
    assert isinstance(role, Leader)
    committed = replication.majority_offset(state, role)
    if committed <= state.high_watermark:
        return
    turn.set(high_watermark=committed)
    turn.emit(Advanced(committed))
    if not role.claimed and committed > role.start_offset:
        turn.set(role=replace(role, claimed=True))
        turn.emit(Claimed(state.epoch, committed))
        barrier.start_round(turn)
    replication._answer_parked(turn)


def _counts_itself_unflushed(state: RaftState, role: Leader) -> int:
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
        lambda: patch.object(replication, "advance", _advance_over_older_epochs),
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
        lambda: patch.object(replication, "majority_offset", _counts_itself_unflushed),
    ),
    Variant(
        "fetches-before-the-flush",
        frozenset({"durable-majority"}),
        _unflushed_followers,
    ),
)
