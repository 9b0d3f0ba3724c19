"""Elections: Vote, BeginQuorumEpoch and EndQuorumEpoch (KIP-595), and their timers.

With PreVote (KIP-996) a voter first asks, in the epoch in which it is, whether it would win: a
node that comes back from behind a partition deposes no leader that the others follow.
"""

from dataclasses import replace

from immutables import Map

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
    Turn,
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


def on_vote(turn: Turn, token: Token, vote: Vote) -> None:
    """Rules 2-4. The vote is saved before it is answered. A PreVote is bound to nothing: of the
    own epoch it changes nothing."""
    state = turn.state
    error = _vote_error(state, vote)
    granted = error == NONE and may_grant(state, vote)
    if granted and not vote.pre:
        role = Unattached(election_deadline(turn))
        epoch, candidate = vote.candidate_epoch, vote.candidate_id
        enter(turn, role, epoch=epoch, leader_id=NO_LEADER, voted_id=candidate)
    elif error == NONE and vote.candidate_epoch > state.epoch:
        become_unattached(turn, vote.candidate_epoch)
    after = turn.state
    reply = VoteReply(
        error=error, leader_id=after.leader_id, leader_epoch=after.epoch, granted=granted
    )
    turn.emit(Answer(token, reply))


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


def on_begin(turn: Turn, token: Token, begin: BeginQuorumEpoch) -> None:
    error = _leader_error(turn.state, begin)
    if error != NONE:
        _answer(turn, token, error)
    elif learn(turn, begin.leader_epoch, begin.leader_id):
        if isinstance(turn.state.role, Prospective):  # the leader thought lost is there
            become_follower(turn, begin.leader_epoch, begin.leader_id)
        _answer(turn, token, NONE)


def on_end(turn: Turn, token: Token, end: EndQuorumEpoch) -> None:
    """The leader has resigned: campaign soon, the preferred successor at once."""
    error = _leader_error(turn.state, end)
    if error != NONE:
        _answer(turn, token, error)
    elif learn(turn, end.leader_epoch, end.leader_id):
        config, role = turn.state.config, turn.state.role
        if config.is_voter and isinstance(role, Follower):
            deadline = turn.now_ms + succession_delay_ms(config, end.successors)
            turn.set(role=Follower(min(role.deadline_ms, deadline), ended=True))
        _answer(turn, token, NONE)


def _leader_error(state: RaftState, message: BeginQuorumEpoch | EndQuorumEpoch) -> int:
    possible = 0 <= message.leader_epoch <= MAX_EPOCH
    if not possible or message.leader_id not in state.config.other_voters:
        return INVALID_REQUEST
    return FENCED_LEADER_EPOCH if message.leader_epoch < state.epoch else NONE


def _answer(turn: Turn, token: Token, error: int) -> None:
    state = turn.state
    reply = QuorumReply(error=error, leader_id=state.leader_id, leader_epoch=state.epoch)
    turn.emit(Answer(token, reply))


def succession_delay_ms(config: RaftConfig, successors: tuple[int, ...]) -> int:
    """None for the first successor, then doubling by rank up to the longest backoff."""
    rank = successors.index(config.node_id) if config.node_id in successors else len(successors)
    if rank == 0:
        return 0
    longest = config.election_backoff_max_ms
    return min(longest, (longest >> (len(successors) - 1)) << (rank - 1))


# --- asking -------------------------------------------------------------------------------


def seek_election(turn: Turn, retries: int = 0) -> None:
    """Time to become the leader: find out whether that can be, or try at once."""
    if turn.state.config.prevote:
        become_prospective(turn, retries)
    else:
        campaign(turn, retries)


def become_prospective(turn: Turn, retries: int) -> None:
    """Ask for votes that bind nobody, in this epoch. It saves nothing."""
    state = turn.state
    granted = frozenset({state.config.node_id})
    role = Prospective(election_deadline(turn), granted, retries=retries)
    enter(turn, role, epoch=state.epoch, leader_id=state.leader_id, voted_id=state.voted_id)
    count_votes(turn)


def campaign(turn: Turn, retries: int = 0) -> None:
    """Become a candidate in the next epoch, if there is one: a broken voter may have used up
    nearly all of them."""
    state = turn.state
    me = state.config.node_id
    if state.epoch >= MAX_EPOCH:
        turn.set(role=Unattached(election_deadline(turn)))
        return
    role = Candidate(election_deadline(turn), granted=frozenset({me}), retries=retries)
    enter(turn, role, epoch=state.epoch + 1, leader_id=NO_LEADER, voted_id=me)
    count_votes(turn)


def on_vote_reply(turn: Turn, peer: int, request: Vote, reply: VoteReply) -> None:
    role = turn.state.role
    asking = Prospective if request.pre else Candidate
    if not isinstance(role, Prospective | Candidate) or not isinstance(role, asking):
        return
    if reply.error != NONE:
        return
    if reply.granted:
        turn.set(role=replace(role, granted=role.granted | {peer}))
    else:
        turn.set(role=replace(role, rejected=role.rejected | {peer}))
    count_votes(turn)


def count_votes(turn: Turn) -> None:
    """Win with a majority; back off once a majority is out of reach."""
    config, role = turn.state.config, turn.state.role
    assert isinstance(role, Prospective | Candidate)
    won = len(role.granted) >= config.majority
    lost = len(role.rejected) > len(config.voters) - config.majority
    match role:
        case Prospective() if won:
            campaign(turn, role.retries)
        case Prospective() if lost:
            stop_asking(turn)
        case Candidate() if won:
            become_leader(turn)
        case Candidate(backing_off=False) if lost:
            lose_election(turn)


def stop_asking(turn: Turn) -> None:
    """No majority would vote for this replica: follow the leader that it knows, or wait."""
    state = turn.state
    if state.leader_id in state.config.other_voters:
        become_follower(turn, state.epoch, state.leader_id)
    else:
        role = Unattached(election_deadline(turn))
        enter(turn, role, epoch=state.epoch, leader_id=state.leader_id, voted_id=state.voted_id)


def lose_election(turn: Turn) -> None:
    """Wait a random while before the next campaign, longer after each loss."""
    role = turn.state.role
    assert isinstance(role, Candidate)
    longest = turn.state.config.election_backoff_max_ms
    bound = min(longest, max(1, longest // 8) << min(role.retries, 16))
    wait = 1 + turn.draw(bound)
    turn.set(role=replace(role, backing_off=True, deadline_ms=turn.now_ms + wait))


def become_leader(turn: Turn) -> None:
    """Begin the epoch with a LeaderChange record; all further waits for its commit."""
    state, now = turn.state, turn.now_ms
    config, role = state.config, state.role
    assert isinstance(role, Candidate)
    granting = tuple(sorted(role.granted))
    start = state.log.end_offset
    others = config.other_voters
    leader = Leader(
        start_offset=start,
        progress=Map({voter: Progress(0, contact_ms=now) for voter in others}),
        begin_due_ms=Map(dict.fromkeys(others, now)),
    )
    enter(turn, leader, epoch=state.epoch, leader_id=config.node_id, voted_id=state.voted_id)
    turn.emit(Elected(state.epoch, start, granting))
    record = encode_leader_change(config.node_id, config.voters, granting)
    batch = Batch(start, state.epoch, (record,), control=True)
    turn.set(log=state.log.append(batch))
    turn.emit(Append(batch))


def on_end_reply(turn: Turn, peer: int, reply: QuorumReply) -> None:
    role = turn.state.role
    if isinstance(role, Resigned) and reply.error == NONE:
        turn.set(role=replace(role, told=role.told | {peer}))


def on_election_timers(turn: Turn) -> None:
    """Campaign where it is time."""
    role = turn.state.role
    due = not isinstance(role, Leader) and turn.now_ms >= role.deadline_ms
    match role:
        case Candidate() if len(role.granted) >= turn.state.config.majority:
            become_leader(turn)  # a restarted candidate that is the only voter
        case Candidate(backing_off=True) if due:
            seek_election(turn, role.retries + 1)
        case Candidate() if due:
            lose_election(turn)
        case Prospective() if due:
            stop_asking(turn)
        case Follower(ended=True) if due:
            campaign(turn)  # the leader itself has said that its epoch is over
        case Resigned() if due and turn.state.config.prevote:
            leave_own_epoch(turn)
        case Unattached() | Follower() | Resigned() if due:
            seek_election(turn)


def leave_own_epoch(turn: Turn) -> None:
    """A leader that resigned is done with its epoch: it must not ask for votes in one in which
    it led (KAFKA-18379)."""
    if turn.state.epoch < MAX_EPOCH:
        become_unattached(turn, turn.state.epoch + 1)
        become_prospective(turn, 0)
    else:
        turn.set(role=Unattached(election_deadline(turn)))
