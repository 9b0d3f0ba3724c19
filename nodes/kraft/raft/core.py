"""The Raft core: `initial`, `step` and `deadline_ms`, KIP-595 without a clock, socket or disk.

    state = initial(config, quorum_state, log_index, now_ms)
    state, effects = step(state, event, now_ms)       # carry the effects out, in order
    deadline_ms(state)                                # send a Tick then, at latest

`steps.py` has the events and effects. Where each rule of KIP-595's receivers lives: votes and
epochs in `voting.py` and `transitions.py`, fetches in `replication.py`, snapshots in
`snapshots.py`, read barriers in `barrier.py`, requests in `sending.py`.
"""

from nodes.kraft.ids import NO_ELECTION, LeaderEpoch, ReplicaId
from nodes.kraft.raft.barrier import confirm, on_begin_reply
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import (
    NO_LEADER,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchReply,
    FetchSnapshot,
    FetchSnapshotReply,
    QuorumReply,
    Reply,
    Request,
    Vote,
    VoteReply,
)
from nodes.kraft.raft.replication import (
    flush_due,
    lose_contact,
    on_failed_fetch,
    on_fetch,
    on_fetch_reply,
    on_flushed,
    on_leader_timers,
    on_propose,
    quorum_deadline,
)
from nodes.kraft.raft.sending import back_off, next_send_ms, send_due, take_reply
from nodes.kraft.raft.snapshots import on_fetch_snapshot, on_snapshot_reply, on_written
from nodes.kraft.raft.state import (
    NEVER,
    Candidate,
    Follower,
    Leader,
    QuorumState,
    RaftState,
    Resigned,
    Role,
    Transition,
    Unattached,
)
from nodes.kraft.raft.steps import (
    Confirm,
    Effect,
    Flushed,
    Input,
    Propose,
    Replied,
    RequestReceived,
    Resign,
    ShutDown,
    SnapshotWritten,
    Tick,
    Token,
)
from nodes.kraft.raft.transitions import (
    election_deadline,
    fetch_deadline,
    first_election_deadline,
    learn,
    resign,
)
from nodes.kraft.raft.voting import (
    on_begin,
    on_election_timers,
    on_end,
    on_end_reply,
    on_vote,
    on_vote_reply,
)


def initial(
    config: RaftConfig, quorum_state: QuorumState | None, log_index: LogIndex, now_ms: int
) -> RaftState:
    """The state after a start, from what was on disk (rule 16). Send a `Tick` next."""
    quorum = quorum_state or QuorumState()
    if log_index.last_epoch > quorum.epoch:
        quorum = QuorumState(log_index.last_epoch)
    state = RaftState(
        config=config,
        epoch=quorum.epoch,
        leader_id=quorum.leader_id,
        voted_id=quorum.voted_id,
        role=Unattached(NEVER),
        log=log_index,
        high_watermark=log_index.start_offset,
    )
    transition = Transition(state, now_ms)
    role = _initial_role(transition, quorum)
    transition.set(role=role)
    if isinstance(role, Unattached | Candidate):
        transition.set(leader_id=NO_LEADER)
    return transition.state


def _initial_role(transition: Transition, quorum: QuorumState) -> Role:
    config = transition.state.config
    me = config.node_id
    if config.is_voter and quorum.leader_id == me:
        return Resigned(election_deadline(transition), _ring(config))
    if quorum.leader_id != me and quorum.leader_id in config.voters:
        return Follower(fetch_deadline(transition))
    if config.is_voter and quorum.voted_id == me:
        return Candidate(election_deadline(transition), granted=frozenset({me}))
    if not config.is_voter:
        return Unattached(NEVER)
    if config.prevote and transition.state.epoch == NO_ELECTION:
        return Unattached(first_election_deadline(transition))
    return Unattached(election_deadline(transition))


def _ring(config: RaftConfig) -> tuple[ReplicaId, ...]:
    """The other voters from the next one on: successors where nothing is known of their logs."""
    place = config.voters.index(config.node_id)
    return config.voters[place + 1 :] + config.voters[:place]


def step(state: RaftState, event: Input, now_ms: int) -> tuple[RaftState, list[Effect]]:
    """What becomes of the state by `event`, and what has to be done for it, in order."""
    transition = Transition(state, now_ms)
    match event:
        case Tick():
            _on_tick(transition)
        case RequestReceived(token, request):
            _on_asked(transition, token, request)
        case Replied(peer, request, reply):
            _on_replied(transition, peer, request, reply)
        case Flushed():
            on_flushed(transition, event)
        case Propose():
            on_propose(transition, event)
        case Confirm(token):
            confirm(transition, token)
        case Resign(why):
            resign(transition, why)
        case ShutDown():
            transition.set(stopping=True)
            resign(transition, "the process ends")
        case SnapshotWritten(snapshot_id):
            on_written(transition, snapshot_id)
    flush_due(transition)
    send_due(transition)
    return transition.state, transition.effects


def deadline_ms(state: RaftState) -> int:
    """When the next `Tick` is due; it may lie in the past."""
    role = state.role
    if isinstance(role, Leader):
        parked = min((parked.deadline_ms for parked in role.parked), default=NEVER)
        timer = min(parked, quorum_deadline(state, role))
    else:
        timer = role.deadline_ms
    return min(timer, next_send_ms(state))


def _on_tick(transition: Transition) -> None:
    role = transition.state.role
    if isinstance(role, Leader):
        on_leader_timers(transition)
    elif transition.state.config.is_voter:
        on_election_timers(transition)
    elif isinstance(role, Follower) and transition.now_ms >= role.deadline_ms:
        lose_contact(transition)


def _on_asked(transition: Transition, token: Token, request: Request) -> None:
    match request:
        case Vote():
            on_vote(transition, token, request)
        case BeginQuorumEpoch():
            on_begin(transition, token, request)
        case EndQuorumEpoch():
            on_end(transition, token, request)
        case Fetch():
            on_fetch(transition, token, request)
        case FetchSnapshot():
            on_fetch_snapshot(transition, token, request)


def _on_replied(
    transition: Transition, peer: ReplicaId, request: Request, reply: Reply | None
) -> None:
    """Rule 17: the epoch of a reply counts first; one of an older epoch says nothing more."""
    if not take_reply(transition, peer, request):
        return
    if reply is None and peer == transition.state.leader_id:
        lose_contact(transition)
    believed = reply is not None and learn(transition, reply.leader_epoch, reply.leader_id)
    current = _epoch_of(request) == transition.state.epoch
    match request, reply:
        case Fetch(), FetchReply() if believed:
            on_fetch_reply(transition, peer, request, reply)
        case FetchSnapshot(), FetchSnapshotReply() if believed:
            on_snapshot_reply(transition, peer, request, reply)
        case Fetch(), _:
            on_failed_fetch(transition, peer)
        case Vote(), VoteReply() if believed and current:
            on_vote_reply(transition, peer, request, reply)
        case BeginQuorumEpoch(), QuorumReply() if believed and current:
            on_begin_reply(transition, peer, reply)
        case EndQuorumEpoch(), QuorumReply() if believed and current:
            on_end_reply(transition, peer, reply)
    if reply is None or (current and (not believed or reply.error)):
        back_off(transition, peer, type(request))


def _epoch_of(request: Request) -> LeaderEpoch:
    match request:
        case Vote():
            return request.candidate_epoch
        case Fetch() | FetchSnapshot():
            return request.epoch
        case _:
            return request.leader_epoch
