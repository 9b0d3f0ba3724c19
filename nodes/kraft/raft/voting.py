"""Elections: Vote, BeginQuorumEpoch and EndQuorumEpoch (KIP-595), and their timers.

With PreVote (KIP-996) a voter first asks, in the epoch in which it is, whether it would win: a
node that comes back from behind a partition deposes no leader that the others follow.
"""

from dataclasses import replace

from immutables import Map

from nodes.kraft.ids import LOG_START, LeaderEpoch, ReplicaId
from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.leader_change import encode_leader_change
from nodes.kraft.raft.messages import (
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    MAX_EPOCH,
    NO_LEADER,
    NONE,
    Batch,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    QuorumReply,
    Vote,
    VoteReply,
)
from nodes.kraft.raft.state import (
    NO_VOTE,
    Candidate,
    Follower,
    Leader,
    Progress,
    Prospective,
    RaftState,
    Resigned,
    Transition,
    Unattached,
)
from nodes.kraft.raft.steps import Answer, Append, Elected, Token
from nodes.kraft.raft.transitions import (
    become_follower,
    become_unattached,
    election_deadline,
    enter,
    learn,
)

# --- being asked --------------------------------------------------------------------------


def on_vote(transition: Transition, token: Token, vote: Vote) -> None:
    """Rules 2-4. The vote is saved before it is answered. A PreVote is bound to nothing: of the
    own epoch it changes nothing."""
    state = transition.state
    error = _vote_error(state, vote)
    granted = error == NONE and may_grant(state, vote)
    if granted and not vote.pre:
        role = Unattached(election_deadline(transition))
        epoch, candidate = vote.candidate_epoch, vote.candidate_id
        enter(transition, role, epoch=epoch, leader_id=NO_LEADER, voted_id=candidate)
    elif error == NONE and vote.candidate_epoch > state.epoch:
        become_unattached(transition, vote.candidate_epoch)
    after = transition.state
    reply = VoteReply(
        error=error, leader_id=after.leader_id, leader_epoch=after.epoch, granted=granted
    )
    transition.emit(Answer(token, reply))


def _vote_error(state: RaftState, vote: Vote) -> int:
    if vote.candidate_epoch < 0 or vote.last_offset < 0 or vote.last_epoch < 0:
        return INVALID_REQUEST
    if vote.candidate_epoch > MAX_EPOCH or vote.last_epoch >= vote.candidate_epoch + vote.pre:
        return INVALID_REQUEST
    if vote.candidate_id not in state.config.other_voters:
        return INVALID_REQUEST
    return FENCED_LEADER_EPOCH if vote.candidate_epoch < state.epoch else NONE


def may_grant(state: RaftState, vote: Vote) -> bool:
    """Rule 4, for a vote in this replica's epoch or a later one, in which it is bound to
    nobody."""
    if not state.config.is_voter or not is_up_to_date(state, vote):
        return False
    if vote.candidate_epoch > state.epoch:
        return True
    if vote.pre:
        return not _has_leader(state)
    return (
        isinstance(state.role, Unattached | Prospective)
        and state.leader_id == NO_LEADER
        and state.voted_id in (NO_VOTE, vote.candidate_id)
    )


def _has_leader(state: RaftState) -> bool:
    """Whether this replica leads, or follows a leader that has answered it in this epoch and
    has not resigned."""
    role = state.role
    return isinstance(role, Leader) or (
        isinstance(role, Follower) and role.fetched and not role.ended
    )


def is_up_to_date(state: RaftState, vote: Vote) -> bool:
    """Epoch first, then offset: the longer log may be the one that lacks committed records."""
    return (vote.last_epoch, vote.last_offset) >= state.log.last


def on_begin(transition: Transition, token: Token, begin: BeginQuorumEpoch) -> None:
    error = _leader_error(transition.state, begin)
    if error != NONE:
        _answer(transition, token, error)
    elif learn(transition, begin.leader_epoch, begin.leader_id):
        if isinstance(transition.state.role, Prospective):  # the leader thought lost is there
            become_follower(transition, begin.leader_epoch, begin.leader_id)
        _answer(transition, token, NONE)


def on_end(transition: Transition, token: Token, end: EndQuorumEpoch) -> None:
    """The leader has resigned: campaign soon, the preferred successor at once."""
    error = _leader_error(transition.state, end)
    if error != NONE:
        _answer(transition, token, error)
    elif learn(transition, end.leader_epoch, end.leader_id):
        config, role = transition.state.config, transition.state.role
        if config.is_voter and isinstance(role, Follower):
            deadline = transition.now_ms + succession_delay_ms(config, end.successors)
            transition.set(role=Follower(min(role.deadline_ms, deadline), ended=True))
        _answer(transition, token, NONE)


def _leader_error(state: RaftState, message: BeginQuorumEpoch | EndQuorumEpoch) -> int:
    possible = 0 <= message.leader_epoch <= MAX_EPOCH
    if not possible or message.leader_id not in state.config.other_voters:
        return INVALID_REQUEST
    return FENCED_LEADER_EPOCH if message.leader_epoch < state.epoch else NONE


def _answer(transition: Transition, token: Token, error: int) -> None:
    state = transition.state
    reply = QuorumReply(error=error, leader_id=state.leader_id, leader_epoch=state.epoch)
    transition.emit(Answer(token, reply))


def succession_delay_ms(config: RaftConfig, successors: tuple[ReplicaId, ...]) -> int:
    """None for the first successor, then doubling by rank up to the longest backoff."""
    rank = successors.index(config.node_id) if config.node_id in successors else len(successors)
    if rank == 0:
        return 0
    longest = config.election_backoff_max_ms
    return min(longest, (longest >> (len(successors) - 1)) << (rank - 1))


# --- asking -------------------------------------------------------------------------------


def seek_election(transition: Transition, retries: int = 0) -> None:
    """Time to become the leader: find out whether that can be, or try at once."""
    if transition.state.config.prevote:
        become_prospective(transition, retries)
    else:
        campaign(transition, retries)


def become_prospective(transition: Transition, retries: int) -> None:
    """Ask for votes that bind nobody, in this epoch. It saves nothing."""
    state = transition.state
    granted = frozenset({state.config.node_id})
    role = Prospective(election_deadline(transition), granted, retries=retries)
    enter(transition, role, epoch=state.epoch, leader_id=state.leader_id, voted_id=state.voted_id)
    count_votes(transition)


def campaign(transition: Transition, retries: int = 0) -> None:
    """Become a candidate in the next epoch, if there is one: a broken voter may have used up
    nearly all of them."""
    state = transition.state
    me = state.config.node_id
    if state.epoch >= MAX_EPOCH:
        transition.set(role=Unattached(election_deadline(transition)))
        return
    role = Candidate(election_deadline(transition), granted=frozenset({me}), retries=retries)
    enter(transition, role, epoch=LeaderEpoch(state.epoch + 1), leader_id=NO_LEADER, voted_id=me)
    count_votes(transition)


def on_vote_reply(transition: Transition, peer: ReplicaId, request: Vote, reply: VoteReply) -> None:
    role = transition.state.role
    asking = Prospective if request.pre else Candidate
    if not isinstance(role, Prospective | Candidate) or not isinstance(role, asking):
        return
    if reply.error != NONE:
        return
    if reply.granted:
        transition.set(role=replace(role, granted=role.granted | {peer}))
    else:
        transition.set(role=replace(role, rejected=role.rejected | {peer}))
    count_votes(transition)


def count_votes(transition: Transition) -> None:
    """Win with a majority; back off once a majority is out of reach."""
    config, role = transition.state.config, transition.state.role
    assert isinstance(role, Prospective | Candidate)
    won = len(role.granted) >= config.majority
    lost = len(role.rejected) > len(config.voters) - config.majority
    match role:
        case Prospective() if won:
            campaign(transition, role.retries)
        case Prospective() if lost:
            stop_asking(transition)
        case Candidate() if won:
            become_leader(transition)
        case Candidate(backing_off=False) if lost:
            lose_election(transition)


def stop_asking(transition: Transition) -> None:
    """No majority would vote for this replica: follow the leader that it knows, or wait."""
    state = transition.state
    if state.leader_id in state.config.other_voters:
        become_follower(transition, state.epoch, state.leader_id)
    else:
        role = Unattached(election_deadline(transition))
        enter(
            transition, role, epoch=state.epoch, leader_id=state.leader_id, voted_id=state.voted_id
        )


def lose_election(transition: Transition) -> None:
    """Wait a random while before the next campaign, longer after each loss."""
    role = transition.state.role
    assert isinstance(role, Candidate)
    longest = transition.state.config.election_backoff_max_ms
    bound = min(longest, max(1, longest // 8) << min(role.retries, 16))
    wait = 1 + transition.draw(bound)
    transition.set(role=replace(role, backing_off=True, deadline_ms=transition.now_ms + wait))


def become_leader(transition: Transition) -> None:
    """Begin the epoch with a LeaderChange record; all further waits for its commit."""
    state, now = transition.state, transition.now_ms
    config, role = state.config, state.role
    assert isinstance(role, Candidate)
    granting = tuple(sorted(role.granted))
    start = state.log.end_offset
    others = config.other_voters
    leader = Leader(
        start_offset=start,
        progress=Map({voter: Progress(LOG_START, contact_ms=now) for voter in others}),
        begin_due_ms=Map(dict.fromkeys(others, now)),
    )
    enter(transition, leader, epoch=state.epoch, leader_id=config.node_id, voted_id=state.voted_id)
    transition.emit(Elected(state.epoch, start, granting))
    record = encode_leader_change(config.node_id, config.voters, granting)
    batch = Batch(start, state.epoch, (record,), control=True)
    transition.set(log=state.log.append(batch))
    transition.emit(Append(batch))


def on_end_reply(transition: Transition, peer: ReplicaId, reply: QuorumReply) -> None:
    role = transition.state.role
    if isinstance(role, Resigned) and reply.error == NONE:
        transition.set(role=replace(role, acknowledged=role.acknowledged | {peer}))


def on_election_timers(transition: Transition) -> None:
    """Campaign where it is time."""
    role = transition.state.role
    due = not isinstance(role, Leader) and transition.now_ms >= role.deadline_ms
    match role:
        case Candidate() if len(role.granted) >= transition.state.config.majority:
            become_leader(transition)  # a restarted candidate that is the only voter
        case Candidate(backing_off=True) if due:
            seek_election(transition, role.retries + 1)
        case Candidate() if due:
            lose_election(transition)
        case Prospective() if due:
            stop_asking(transition)
        case Follower(ended=True) if due:
            campaign(transition)  # the leader itself has said that its epoch is over
        case Resigned() if due and transition.state.config.prevote:
            leave_own_epoch(transition)
        case Unattached() | Follower() | Resigned() if due:
            seek_election(transition)


def leave_own_epoch(transition: Transition) -> None:
    """A leader that resigned is done with its epoch: it must not ask for votes in one in which
    it led (KAFKA-18379)."""
    if transition.state.epoch < MAX_EPOCH:
        become_unattached(transition, LeaderEpoch(transition.state.epoch + 1))
        become_prospective(transition, 0)
    else:
        transition.set(role=Unattached(election_deadline(transition)))
