"""Requests to peers: what a role wants sent, one outstanding a peer and kind.

Nothing is queued. After each step the state alone says what is wanted, and whatever is due and
has no predecessor outstanding leaves; a reply or a role that changes takes its want away.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from nodes.kraft.ids import ReplicaId
from nodes.kraft.raft.barrier import needs
from nodes.kraft.raft.messages import (
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchSnapshot,
    Request,
    Vote,
)
from nodes.kraft.raft.state import (
    NEVER,
    Candidate,
    Download,
    Follower,
    Leader,
    Link,
    Prospective,
    RaftState,
    Resigned,
    Transition,
    Unattached,
)
from nodes.kraft.raft.steps import Send

_IDLE = Link()


@dataclass(frozen=True, slots=True)
class Wanted:
    peer: ReplicaId
    request: Request
    due_ms: int = 0


def wanted(state: RaftState) -> Iterator[Wanted]:
    """What the role wants sent, due at once where it says nothing else."""
    config, role = state.config, state.role
    match role:
        case Follower(ended=False, download=Download() as download):
            yield Wanted(state.leader_id, _fetch_snapshot(state, download))
        case Follower(ended=False):
            if not config.is_voter or state.log.flushed >= state.log.end_offset:
                yield Wanted(state.leader_id, _fetch(state))
        case Unattached():
            if not config.is_voter:
                peer = config.voters[state.asked_in_turn % len(config.voters)]
                yield Wanted(peer, _fetch(state))
        case Prospective() | Candidate(backing_off=False):
            vote = _vote(state)
            for peer in config.other_voters:
                if peer not in role.granted and peer not in role.rejected:
                    yield Wanted(peer, vote)
        case Leader():
            begin = BeginQuorumEpoch(leader_id=config.node_id, leader_epoch=state.epoch)
            for peer in config.other_voters:
                due = 0 if needs(role.barrier, peer) else role.begin_due_ms[peer]
                yield Wanted(peer, begin, due)
        case Resigned():
            end = EndQuorumEpoch(
                leader_id=config.node_id, leader_epoch=state.epoch, successors=role.successors
            )
            for peer in config.other_voters:
                if peer not in role.acknowledged:
                    yield Wanted(peer, end)


def _fetch(state: RaftState) -> Fetch:
    return Fetch(
        replica_id=state.config.node_id,
        epoch=state.epoch,
        offset=state.log.end_offset,
        last_epoch=state.log.last_epoch,
        max_wait_ms=state.config.fetch_max_wait_ms,
    )


def _fetch_snapshot(state: RaftState, download: Download) -> FetchSnapshot:
    return FetchSnapshot(
        replica_id=state.config.node_id,
        epoch=state.epoch,
        snapshot_id=download.snapshot_id,
        position=download.position,
        max_bytes=state.config.snapshot_chunk_bytes,
    )


def _vote(state: RaftState) -> Vote:
    return Vote(
        candidate_epoch=state.epoch,
        candidate_id=state.config.node_id,
        last_epoch=state.log.last_epoch,
        last_offset=state.log.end_offset,
        pre=isinstance(state.role, Prospective),
    )


def _time_to_send(state: RaftState, want: Wanted) -> int:
    link = state.links.get((want.peer, type(want.request)), _IDLE)
    return NEVER if link.outstanding is not None else max(want.due_ms, link.not_before_ms)


def next_send_ms(state: RaftState) -> int:
    """When the next request is due to leave; `NEVER` where nothing but an event can tell."""
    return min((_time_to_send(state, want) for want in wanted(state)), default=NEVER)


def send_due(transition: Transition) -> None:
    """Send what is wanted and due."""
    for want in tuple(wanted(transition.state)):
        if _time_to_send(transition.state, want) > transition.now_ms:
            continue
        key = (want.peer, type(want.request))
        transition.set(links=transition.state.links.set(key, Link(want.request)))
        role = transition.state.role
        if isinstance(role, Leader):
            due = transition.now_ms + transition.state.config.begin_resend_ms
            sent = role.barrier.sent.set(want.peer, role.barrier.round)
            begin_due = role.begin_due_ms.set(want.peer, due)
            barrier = replace(role.barrier, sent=sent)
            transition.set(role=replace(role, barrier=barrier, begin_due_ms=begin_due))
        transition.emit(Send(want.peer, want.request))


def take_reply(transition: Transition, peer: ReplicaId, request: Request) -> bool:
    """Free the link for the next request. False: this reply answers nothing outstanding."""
    key = (peer, type(request))
    link = transition.state.links.get(key, _IDLE)
    if link.outstanding != request:
        return False
    transition.set(links=transition.state.links.set(key, Link()))
    return True


def back_off(transition: Transition, peer: ReplicaId, kind: type[Request]) -> None:
    """Let the next request of this kind wait a little."""
    link = transition.state.links.get((peer, kind), _IDLE)
    later = transition.now_ms + transition.state.config.retry_backoff_ms
    transition.set(
        links=transition.state.links.set((peer, kind), replace(link, not_before_ms=later))
    )
