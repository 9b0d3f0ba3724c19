"""Read barriers: proof that this replica led after a question came.

A round of BeginQuorumEpoch leaves after the question. Whoever answers it without an error was
in the leader's epoch after the question; a majority that was has elected nobody of a later
epoch before it. So all that was committed before the question, in this epoch or an earlier
one, lies below the high watermark that goes with the proof (Raft dissertation, section 6.4).
"""

from dataclasses import replace

from nodes.kraft.ids import ReplicaId
from nodes.kraft.raft.messages import NONE, QuorumReply
from nodes.kraft.raft.state import Barrier, Leader, Transition
from nodes.kraft.raft.steps import Confirmed, Token


def confirm(transition: Transition, token: Token) -> None:
    """Take a question in; it joins the next round that starts."""
    role = transition.state.role
    if not isinstance(role, Leader):
        transition.emit(Confirmed(token, None, transition.state.high_watermark))
        return
    barrier = replace(role.barrier, waiting=(*role.barrier.waiting, token))
    _set(transition, barrier)
    start_round(transition)


def start_round(transition: Transition) -> None:
    """Start a round if questions wait, none is under way and the epoch has a commit: before,
    the high watermark may lack records that earlier leaders committed."""
    role = transition.state.role
    assert isinstance(role, Leader)
    barrier = role.barrier
    if role.claimed and barrier.waiting and not barrier.open:
        next_round = barrier.round + 1
        _set(transition, replace(barrier, round=next_round, open=barrier.waiting, waiting=()))
        _close_round(transition)


def on_begin_reply(transition: Transition, peer: ReplicaId, reply: QuorumReply) -> None:
    """Count a voter that has answered for the round in which it was asked."""
    role = transition.state.role
    if not isinstance(role, Leader) or reply.error != NONE:
        return
    barrier = role.barrier
    asked = barrier.sent.get(peer, 0)
    _set(transition, replace(barrier, acked=barrier.acked.set(peer, asked)))
    _close_round(transition)


def needs(barrier: Barrier, peer: ReplicaId) -> bool:
    """Whether the round under way still lacks this peer's answer."""
    return bool(barrier.open) and barrier.acked.get(peer, 0) < barrier.round


def _close_round(transition: Transition) -> None:
    state = transition.state
    assert isinstance(state.role, Leader)
    barrier = state.role.barrier
    answered = sum(not needs(barrier, peer) for peer in state.config.other_voters)
    if not barrier.open or 1 + answered < state.config.majority:
        return
    _set(transition, replace(barrier, open=()))
    for token in barrier.open:
        transition.emit(Confirmed(token, state.epoch, state.high_watermark))
    start_round(transition)


def _set(transition: Transition, barrier: Barrier) -> None:
    assert isinstance(transition.state.role, Leader)
    transition.set(role=replace(transition.state.role, barrier=barrier))
