"""KIP-595's receiver rules 15-17 on the pure core: lost majorities, restarts,
epochs of replies.
"""

from nodes.kraft.raft.messages import (
    FENCED_LEADER_EPOCH,
    NOT_LEADER_OR_FOLLOWER,
    Batch,
    EndQuorumEpoch,
    Fetch,
    FetchReply,
    QuorumReply,
    VoteReply,
)
from nodes.kraft.raft.state import (
    Candidate,
    Leader,
    QuorumState,
    Resigned,
    Unattached,
)
from nodes.kraft.raft.steps import (
    Append,
    Elected,
    Propose,
    Renounced,
    Replied,
    SaveQuorumState,
    Send,
    Tick,
)
from tests.nodes.kraft.raft.replicas import (
    Replica,
    begin,
    candidate,
    fetch,
    follower,
    leader,
    log_of,
    vote,
)

# --- rule 15 ------------------------------------------------------------------------------


def test_rule_15_leader_without_a_majority_of_fetches_resigns() -> None:
    """B.2.15: leader without a majority of fetches resigns."""
    replica = leader()
    replica.wait(1000)
    replica.ask(fetch(1, 1, 1))
    replica.wait(1499)
    assert isinstance(replica.state.role, Leader)
    replica.wait(1)
    assert isinstance(replica.state.role, Resigned)
    assert replica.one(Renounced) == Renounced(1)
    assert {send.peer for send in replica.some(Send)} == {2, 3}


def test_rule_15_single_voter_never_resigns() -> None:
    """B.2.15: single voter never resigns."""
    replica = Replica(voters=(1,))
    replica.timeout()
    replica.flush()
    replica.wait(10**9)
    assert isinstance(replica.state.role, Leader)


# --- rule 16 ------------------------------------------------------------------------------


def test_rule_16_restart_of_a_leader_is_resigned() -> None:
    """B.2.16: restart of a leader is resigned."""
    replica = Replica(saved=QuorumState(5, 1, 1), log=log_of((5, 3)))
    assert isinstance(replica.state.role, Resigned)
    replica.do(Tick())
    ends = {send.peer: send.request for send in replica.some(Send)}
    assert ends[2] == EndQuorumEpoch(leader_id=1, leader_epoch=5, successors=(2, 3))
    assert replica.do(Propose(5, (b"x",))) == []
    assert replica.ask(fetch(5, 0, 0)).error == NOT_LEADER_OR_FOLLOWER
    replica.timeout()
    assert (replica.state.epoch, replica.state.voted_id) == (6, 1)


def test_rule_16_restart_of_a_candidate_asks_again_in_the_same_epoch() -> None:
    """B.2.16: restart of a candidate asks again in the same epoch."""
    replica = Replica(saved=QuorumState(5, -1, 1), log=log_of((4, 3)))
    replica.do(Tick())
    assert not replica.some(SaveQuorumState)
    assert {send.peer for send in replica.some(Send)} == {2, 3}
    assert replica.some(Send)[0].request == vote(5, candidate=1, last=(4, 3))


def test_rule_16_restart_of_a_single_voter_candidate_elects_it() -> None:
    """B.2.16: restart of a single voter candidate elects it."""
    replica = Replica(voters=(1,), saved=QuorumState(5, -1, 1))
    replica.do(Tick())
    assert replica.one(Elected) == Elected(5, 0, (1,))


def test_rule_16_a_newer_log_overrules_the_file() -> None:
    """B.2.16: a newer log overrules the file."""
    replica = Replica(saved=QuorumState(5, 2, 1), log=log_of((7, 3)))
    state = replica.state
    assert (state.epoch, state.leader_id, state.voted_id) == (7, -1, -1)
    assert isinstance(state.role, Unattached)


def test_rule_16_a_known_leader_is_followed_and_the_vote_kept() -> None:
    """B.2.16: a known leader is followed and the vote kept."""
    replica = Replica(saved=QuorumState(5, 2, 3))
    replica.do(Tick())
    assert isinstance(replica.one(Send).request, Fetch)
    assert replica.state.voted_id == 3


# --- rule 17 ------------------------------------------------------------------------------


def test_rule_17_a_reply_of_a_larger_epoch_is_followed() -> None:
    """A.4.14, B.2.17: a reply of a larger epoch is followed."""
    replica = leader()
    sent = begin(1, 1)
    replica.wait(500)
    assert Send(3, sent) in replica.effects
    replica.do(Replied(3, sent, QuorumReply(error=FENCED_LEADER_EPOCH, leader_epoch=4)))
    assert replica.order(SaveQuorumState, Renounced) == [SaveQuorumState, Renounced]
    assert (replica.state.epoch, replica.state.leader_id) == (4, -1)


def test_rule_17_a_reply_of_a_lower_epoch_is_dropped() -> None:
    """A.6.1, B.2.17: a reply of a lower epoch is dropped."""
    replica = follower(epoch=3)
    sent = replica.one(Send).request
    stale = FetchReply(leader_id=2, leader_epoch=2, batches=(Batch(0, 2, (b"x",)),))
    replica.do(Replied(2, sent, stale))
    assert not replica.some(Append)
    assert replica.state.log.end_offset == 0


def test_rule_17_replies_are_matched_to_the_one_outstanding_request() -> None:
    """B.2.17: replies are matched to the one outstanding request."""
    replica = candidate()
    late = vote(9, candidate=1)
    replica.do(Replied(2, late, VoteReply(leader_epoch=1, granted=True)))
    assert isinstance(replica.state.role, Candidate)
    assert not replica.effects


def test_rule_17_one_outstanding_request_a_peer_and_kind() -> None:
    """B.2.17: one outstanding request a peer and kind."""
    replica = leader()
    for _ in range(5):
        replica.wait(600)
        replica.ask(fetch(1, 1, 1))
    begins = [Send(peer, begin(1, 1)) for peer in (2, 3)]
    assert not set(begins) & set(replica.effects), "the first are still unanswered"
