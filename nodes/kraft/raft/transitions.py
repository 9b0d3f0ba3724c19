"""Changes of epoch, role and known leader. Each change of what has to survive a restart emits
`SaveQuorumState` before anything that rests on it."""

from dataclasses import replace

from nodes.kraft.raft.messages import MAX_EPOCH, NO_LEADER, NOT_LEADER_OR_FOLLOWER, FetchReply
from nodes.kraft.raft.state import (
    NEVER,
    NO_VOTE,
    Follower,
    Leader,
    Resigned,
    Role,
    Turn,
    Unattached,
)
from nodes.kraft.raft.steps import Answer, Confirmed, Fatal, GaveUp, Renounced, SaveQuorumState


def election_deadline(turn: Turn) -> int:
    """When an election starts, or is lost, that begins to wait now."""
    timeout = turn.state.config.election_timeout_ms
    return turn.now_ms + timeout + turn.draw(timeout + 1)


def fetch_deadline(turn: Turn) -> int:
    """When the leader counts as lost. Voters add up to a quarter, lest the followers of a dead
    leader all campaign at one moment."""
    config = turn.state.config
    spread = turn.draw(config.fetch_timeout_ms // 4 + 1) if config.is_voter else 0
    return turn.now_ms + config.fetch_timeout_ms + spread


def enter(turn: Turn, role: Role, *, epoch: int, leader_id: int, voted_id: int) -> None:
    """Take on `role`. A leader that loses its epoch, or its role, answers all that waits."""
    old = turn.state
    turn.set(role=role, epoch=epoch, leader_id=leader_id, voted_id=voted_id)
    if (epoch, leader_id, voted_id) != (old.epoch, old.leader_id, old.voted_id):
        turn.emit(SaveQuorumState(epoch, leader_id, voted_id))
    if isinstance(old.role, Leader):
        _renounce(turn, old.epoch, old.role)


def _renounce(turn: Turn, epoch: int, role: Leader) -> None:
    state = turn.state
    turn.emit(Renounced(epoch))
    for token in role.barrier.open + role.barrier.waiting:
        turn.emit(Confirmed(token, None, state.high_watermark))
    reply = FetchReply(
        error=NOT_LEADER_OR_FOLLOWER, leader_id=state.leader_id, leader_epoch=state.epoch
    )
    for parked in role.parked:
        turn.emit(Answer(parked.token, reply))


def become_unattached(turn: Turn, epoch: int) -> None:
    """Move to a larger epoch without a vote or a leader. What was left of the wait for an
    election still is: candidates that cannot win must not hold up those that can."""
    role = turn.state.role
    if not turn.state.config.is_voter:
        deadline = NEVER
    elif isinstance(role, Leader):
        deadline = election_deadline(turn)
    else:
        deadline = role.deadline_ms
    enter(turn, Unattached(deadline), epoch=epoch, leader_id=NO_LEADER, voted_id=NO_VOTE)


def become_follower(turn: Turn, epoch: int, leader_id: int) -> None:
    """Follow the leader of `epoch`. A vote given in this epoch is kept."""
    state = turn.state
    voted = state.voted_id if state.epoch == epoch else NO_VOTE
    role = Follower(fetch_deadline(turn))
    enter(turn, role, epoch=epoch, leader_id=leader_id, voted_id=voted)


def resign(turn: Turn, why: str) -> None:
    """Give up leadership of the epoch. Successors: the voters that have the most of the log
    first."""
    state = turn.state
    if not isinstance(state.role, Leader):
        return
    progress = state.role.progress
    successors = tuple(
        sorted(state.config.other_voters, key=lambda voter: (-progress[voter].offset, voter))
    )
    turn.emit(GaveUp(state.epoch, why))
    role = Resigned(election_deadline(turn), successors)
    enter(turn, role, epoch=state.epoch, leader_id=state.leader_id, voted_id=state.voted_id)


def learn(turn: Turn, epoch: int, leader_id: int) -> bool:
    """Take in a peer's word that `leader_id` (or nobody known) leads `epoch`.

    False where nothing else of the message may be believed: its epoch is over (rule 17) or the
    last one there can be, or it contradicts what is known (rule 6, `Fatal`).
    """
    state = turn.state
    me = state.config.node_id
    named = leader_id in state.config.voters
    if epoch < state.epoch or epoch > MAX_EPOCH:
        return False
    known = state.leader_id if epoch == state.epoch else NO_LEADER
    if named and known not in (NO_LEADER, leader_id):
        turn.emit(Fatal(f"epoch {epoch} has two leaders: {known} and {leader_id}"))
        return False
    if named and leader_id == me and known != me:
        turn.emit(Fatal(f"said to lead epoch {epoch}, of which nothing is on disk"))
        return False
    if named and known == NO_LEADER:
        become_follower(turn, epoch, leader_id)
    elif epoch > state.epoch:
        become_unattached(turn, epoch)
    elif named and leader_id != me and isinstance(state.role, Unattached):
        turn.set(role=Follower(fetch_deadline(turn)))  # an observer that had lost contact
    return True


def extend(turn: Turn) -> None:
    """A successful fetch: the leader is there."""
    role = turn.state.role
    if isinstance(role, Follower) and not role.ended:
        turn.set(role=replace(role, deadline_ms=fetch_deadline(turn), fetched=True))
