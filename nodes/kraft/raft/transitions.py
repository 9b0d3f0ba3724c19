"""Changes of epoch, role and known leader. Each change of what has to survive a restart emits
`SaveQuorumState` before anything that rests on it."""

from dataclasses import replace

from nodes.kraft.ids import LeaderEpoch, ReplicaId
from nodes.kraft.raft.messages import MAX_EPOCH, NO_LEADER, NOT_LEADER_OR_FOLLOWER, FetchReply
from nodes.kraft.raft.state import (
    NEVER,
    NO_VOTE,
    Follower,
    Leader,
    Resigned,
    Role,
    Transition,
    Unattached,
)
from nodes.kraft.raft.steps import Answer, Confirmed, Fatal, GaveUp, Renounced, SaveQuorumState


def election_deadline(transition: Transition) -> int:
    """When an election starts, or is lost, that begins to wait now."""
    timeout = transition.state.config.election_timeout_ms
    return transition.now_ms + timeout + transition.draw(timeout + 1)


def first_election_deadline(transition: Transition) -> int:
    """The same in a quorum that never had a leader, as far as this voter knows: nobody's word is
    waited for, only voters are kept apart. One that has forgotten it all asks first (PreVote)."""
    return transition.now_ms + transition.draw(transition.state.config.election_timeout_ms + 1)


def fetch_deadline(transition: Transition) -> int:
    """When the leader counts as lost. Voters add up to a quarter, lest the followers of a dead
    leader all campaign at one moment."""
    config = transition.state.config
    spread = transition.draw(config.fetch_timeout_ms // 4 + 1) if config.is_voter else 0
    return transition.now_ms + config.fetch_timeout_ms + spread


def enter(
    transition: Transition,
    role: Role,
    *,
    epoch: LeaderEpoch,
    leader_id: ReplicaId,
    voted_id: ReplicaId,
) -> None:
    """Take on `role`. A leader that loses its epoch, or its role, answers all that waits."""
    old = transition.state
    transition.set(role=role, epoch=epoch, leader_id=leader_id, voted_id=voted_id)
    if (epoch, leader_id, voted_id) != (old.epoch, old.leader_id, old.voted_id):
        transition.emit(SaveQuorumState(epoch, leader_id, voted_id))
    if isinstance(old.role, Leader):
        _renounce(transition, old.epoch, old.role)


def _renounce(transition: Transition, epoch: LeaderEpoch, role: Leader) -> None:
    state = transition.state
    transition.emit(Renounced(epoch))
    for token in role.barrier.open + role.barrier.waiting:
        transition.emit(Confirmed(token, None, state.high_watermark))
    reply = FetchReply(
        error=NOT_LEADER_OR_FOLLOWER, leader_id=state.leader_id, leader_epoch=state.epoch
    )
    for parked in role.parked:
        transition.emit(Answer(parked.token, reply))


def become_unattached(transition: Transition, epoch: LeaderEpoch) -> None:
    """Move to a larger epoch without a vote or a leader. What was left of the wait for an
    election still is: candidates that cannot win must not hold up those that can."""
    role = transition.state.role
    if not transition.state.config.is_voter:
        deadline = NEVER
    elif isinstance(role, Leader):
        deadline = election_deadline(transition)
    else:
        deadline = role.deadline_ms
    enter(transition, Unattached(deadline), epoch=epoch, leader_id=NO_LEADER, voted_id=NO_VOTE)


def become_follower(transition: Transition, epoch: LeaderEpoch, leader_id: ReplicaId) -> None:
    """Follow the leader of `epoch`. A vote given in this epoch is kept."""
    state = transition.state
    voted = state.voted_id if state.epoch == epoch else NO_VOTE
    role = Follower(fetch_deadline(transition))
    enter(transition, role, epoch=epoch, leader_id=leader_id, voted_id=voted)


def resign(transition: Transition, why: str) -> None:
    """Give up leadership of the epoch. Successors: the voters that have the most of the log
    first."""
    state = transition.state
    if not isinstance(state.role, Leader):
        return
    progress = state.role.progress
    successors = tuple(
        sorted(state.config.other_voters, key=lambda voter: (-progress[voter].offset, voter))
    )
    transition.emit(GaveUp(state.epoch, why))
    role = Resigned(election_deadline(transition), successors)
    enter(transition, role, epoch=state.epoch, leader_id=state.leader_id, voted_id=state.voted_id)


def learn(transition: Transition, epoch: LeaderEpoch, leader_id: ReplicaId) -> bool:
    """Take in a peer's word that `leader_id` (or nobody known) leads `epoch`.

    False where nothing else of the message may be believed: its epoch is over (rule 17) or the
    last one there can be, or it contradicts what is known (rule 6, `Fatal`).
    """
    state = transition.state
    me = state.config.node_id
    named = leader_id in state.config.voters
    if epoch < state.epoch or epoch > MAX_EPOCH:
        return False
    known = state.leader_id if epoch == state.epoch else NO_LEADER
    if named and known not in (NO_LEADER, leader_id):
        transition.emit(Fatal(f"epoch {epoch} has two leaders: {known} and {leader_id}"))
        return False
    if named and leader_id == me and known != me:
        transition.emit(Fatal(f"said to lead epoch {epoch}, of which nothing is on disk"))
        return False
    if named and known == NO_LEADER:
        become_follower(transition, epoch, leader_id)
    elif epoch > state.epoch:
        become_unattached(transition, epoch)
    elif named and leader_id != me and isinstance(state.role, Unattached):
        transition.set(
            role=Follower(fetch_deadline(transition))
        )  # an observer that had lost contact
    return True


def extend(transition: Transition) -> None:
    """A successful fetch: the leader is there."""
    role = transition.state.role
    if isinstance(role, Follower) and not role.ended:
        transition.set(role=replace(role, deadline_ms=fetch_deadline(transition), fetched=True))
