"""KIP-595's receiver rules 2-6 on the pure core, and elections.

Rule 1 is the wire's: test_quorum_wire.py.
"""

from typing import Any

import pytest

from nodes.kraft.raft.core import deadline_ms
from nodes.kraft.raft.messages import (
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    EndQuorumEpoch,
    FetchReply,
    Vote,
    VoteReply,
)
from nodes.kraft.raft.state import (
    Candidate,
    QuorumState,
    Unattached,
)
from nodes.kraft.raft.steps import (
    Answer,
    Append,
    Elected,
    Fatal,
    Flush,
    Propose,
    Replied,
    Resign,
    SaveQuorumState,
    Send,
    Tick,
)
from tests.nodes.kraft.raft.replicas import (
    Replica,
    begin,
    candidate,
    elected,
    fetch,
    fetched,
    follower,
    leader,
    log_of,
    vote,
)

# --- rule 2 -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [vote(4), begin(4), EndQuorumEpoch(leader_id=2, leader_epoch=4, successors=(1,))],
)
def test_rule_2_older_epoch_is_fenced(request_: Any) -> None:
    """A.4.11, A.5.13, A.6.1, B.2.2: older epoch is fenced."""
    replica = Replica(saved=QuorumState(5, 3))
    reply = replica.ask(request_)
    assert (reply.error, reply.leader_epoch, reply.leader_id) == (FENCED_LEADER_EPOCH, 5, 3)
    assert not replica.some(SaveQuorumState)


@pytest.mark.parametrize(
    "request_",
    [
        vote(-1),
        vote(3, candidate=-2),
        vote(3, candidate=9),
        vote(3, candidate=1),
        begin(-1),
        begin(3, leader=-2),
        begin(3, leader=9),
        EndQuorumEpoch(leader_id=2, leader_epoch=-1, successors=()),
    ],
)
def test_rule_2_negative_or_foreign_ids_are_invalid(request_: Any) -> None:
    """B.2.2: negative or foreign ids are invalid."""
    replica = Replica()
    assert replica.ask(request_).error == INVALID_REQUEST
    assert replica.state.epoch == 0


# --- rule 3 -------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [(0, -1), (-1, 0), (3, 5), (4, 5)])
def test_rule_3_impossible_log_ends_are_invalid(last: tuple[int, int]) -> None:
    """B.2.3: impossible log ends are invalid."""
    assert Replica().ask(vote(3, last=last)).error == INVALID_REQUEST


# --- rule 4 -------------------------------------------------------------------------------


def test_rule_4_vote_is_durable_before_the_answer() -> None:
    """B.2.4: vote is durable before the answer."""
    replica = Replica()
    assert replica.ask(vote(3)).granted
    assert replica.order(SaveQuorumState, Answer) == [SaveQuorumState, Answer]
    assert replica.one(SaveQuorumState) == SaveQuorumState(3, -1, 2)


def test_rule_4_larger_epoch_is_taken_over_durably_without_a_grant() -> None:
    """B.2.4: larger epoch is taken over durably without a grant."""
    replica = Replica(log=log_of((1, 5)))
    reply = replica.ask(vote(3, last=(1, 4)))
    assert not reply.granted
    assert reply.leader_epoch == 3
    assert replica.one(SaveQuorumState) == SaveQuorumState(3, -1, -1)
    assert isinstance(replica.state.role, Unattached)


def test_rule_4_one_vote_an_epoch() -> None:
    """A.4.11, B.2.4: one vote an epoch."""
    replica = Replica()
    assert replica.ask(vote(3, candidate=2)).granted
    assert not replica.ask(vote(3, candidate=3)).granted
    assert replica.ask(vote(3, candidate=2)).granted
    assert not replica.some(SaveQuorumState)


def test_rule_4_no_vote_where_a_leader_is_known() -> None:
    """B.2.4: no vote where a leader is known."""
    replica = follower(epoch=3)
    reply = replica.ask(vote(3, candidate=3))
    assert (reply.granted, reply.leader_id) == (False, 2)


def test_rule_4_no_vote_of_candidates_leaders_and_resigned() -> None:
    """B.2.4: no vote of candidates leaders and resigned."""
    for replica in (candidate(), elected(), Replica(saved=QuorumState(1, 1, 1))):
        assert not replica.ask(vote(replica.state.epoch, candidate=3)).granted


@pytest.mark.parametrize(
    ("last", "granted"),
    [((2, 3), True), ((1, 9), False), ((2, 2), False), ((3, 1), True), ((2, 4), True)],
)
def test_rule_4_logs_compare_by_epoch_first(last: tuple[int, int], granted: bool) -> None:
    """A.4.12, A.7.1, B.2.4: logs compare by epoch first."""
    replica = Replica(log=log_of((1, 2), (2, 1)))
    assert replica.ask(vote(5, last=last)).granted is granted


def test_rule_4_granting_restarts_the_election_timer_and_refusing_does_not() -> None:
    """B.2.4: granting restarts the election timer and refusing does not."""
    replica = Replica(log=log_of((1, 2)))
    before = replica.state.role.deadline_ms  # type: ignore[union-attr]
    replica.now = 400
    replica.ask(vote(5, last=(0, 0)))
    assert replica.state.role.deadline_ms == before  # type: ignore[union-attr]
    replica.ask(vote(6, last=(1, 2)))
    assert replica.state.role.deadline_ms >= 900  # type: ignore[union-attr]


# --- rule 5 -------------------------------------------------------------------------------


def test_rule_5_observers_neither_vote_nor_campaign() -> None:
    """B.2.5: observers neither vote nor campaign."""
    observer = Replica(node_id=7)
    assert not observer.ask(vote(3)).granted
    observer.wait(100_000)
    assert not any(isinstance(send.request, Vote) for send in observer.some(Send))
    assert observer.state.epoch == 3


# --- rule 6 -------------------------------------------------------------------------------


def test_rule_6_two_leaders_of_an_epoch_are_fatal() -> None:
    """B.2.6: two leaders of an epoch are fatal."""
    replica = follower(epoch=3)
    replica.ask(begin(3, leader=3))
    assert "two leaders" in replica.one(Fatal).reason
    replica = follower(epoch=3)
    fetch_sent = replica.one(Send)
    replica.do(Replied(2, fetch_sent.request, FetchReply(leader_id=3, leader_epoch=3)))
    assert "two leaders" in replica.one(Fatal).reason


# --- elections ----------------------------------------------------------------------------


def test_candidate_saves_its_vote_before_asking() -> None:
    """A.4.10: in the next epoch, with its log's last epoch and end."""
    replica = candidate(log=log_of((1, 2), (4, 3)))
    assert replica.order(SaveQuorumState, Send) == [SaveQuorumState, Send, Send]
    assert replica.one(SaveQuorumState) == SaveQuorumState(5, -1, 1)
    asked = {send.peer: send.request for send in replica.some(Send)}
    assert asked == {peer: vote(5, candidate=1, last=(4, 5)) for peer in (2, 3)}


def test_leader_saves_before_it_appends_and_announces() -> None:
    """A.4.13: BeginQuorumEpoch to the other voters."""
    kinds = (SaveQuorumState, Elected, Append, Flush, Send)
    replica = elected()
    assert replica.order(*kinds) == [SaveQuorumState, Elected, Append, Flush, Send, Send]
    assert set(replica.some(Send)) == {Send(peer, begin(1, 1)) for peer in (2, 3)}


def test_rejected_candidate_backs_off_and_tries_again_later() -> None:
    replica = candidate()
    sent = {send.peer: send.request for send in replica.some(Send)}
    for peer in (2, 3):
        replica.do(Replied(peer, sent[peer], VoteReply(leader_epoch=1)))
    role = replica.state.role
    assert isinstance(role, Candidate)
    assert role.backing_off
    replica.timeout()
    assert replica.state.epoch == 2
    assert isinstance(replica.state.role, Candidate)
    assert replica.state.role.retries == 1


def test_end_quorum_epoch_lets_the_first_successor_campaign_at_once() -> None:
    """A.6.12: the others wait for their turn."""
    first, second = follower(), Replica(node_id=3)
    second.ask(begin(1))
    end = EndQuorumEpoch(leader_id=2, leader_epoch=1, successors=(1, 3))
    for replica in (first, second):
        assert replica.ask(end).error == NONE
    assert deadline_ms(first.state) == first.now
    first.do(Tick())
    assert isinstance(first.state.role, Candidate)
    assert deadline_ms(second.state) == second.now + 250


def test_follower_of_a_silent_leader_campaigns() -> None:
    """A.4.9: when the leader fails."""
    replica = follower()
    assert 1000 <= deadline_ms(replica.state) <= 1250
    replica.now = 700
    fetched(replica)
    assert deadline_ms(replica.state) >= 1700
    replica.timeout()
    assert isinstance(replica.state.role, Candidate)


def test_resigning_leader_names_the_voters_with_most_of_the_log_first() -> None:
    replica = leader()
    replica.do(Propose(1, (b"a",)))
    replica.ask(fetch(1, 2, 1, replica=3))
    replica.do(Resign())
    ends = [send.request for send in replica.some(Send) if isinstance(send.request, EndQuorumEpoch)]
    assert ends[0].successors == (3, 2)


def test_observer_finds_the_leader_by_asking_the_voters_in_turn() -> None:
    observer = Replica(node_id=7)
    observer.do(Tick())
    first = observer.one(Send)
    observer.do(Replied(first.peer, first.request, None))
    observer.wait(20)
    second = observer.one(Send)
    assert second.peer != first.peer
    hint = FetchReply(error=FENCED_LEADER_EPOCH, leader_id=3, leader_epoch=4)
    observer.do(Replied(second.peer, second.request, hint))
    observer.wait(20)
    sent = observer.one(Send) if observer.some(Send) else None
    assert observer.state.leader_id == 3
    assert sent is None or sent.peer == 3


def test_observer_that_loses_its_leader_asks_the_others() -> None:
    observer = follower(node_id=7)
    asked_at_first = observer.one(Send)
    observer.timeout()
    others = [observer.one(Send)]
    observer.do(Replied(2, asked_at_first.request, None))
    for _ in range(3):
        last = others[-1]
        observer.do(Replied(last.peer, last.request, FetchReply(leader_epoch=1, error=6)))
        observer.wait(20)
        others.append(observer.one(Send))
    assert {send.peer for send in others} == {1, 3}, "2 is the one that was lost"
    last = others[-1]
    hint = FetchReply(leader_epoch=1, leader_id=2, error=NOT_LEADER_OR_FOLLOWER)
    observer.do(Replied(last.peer, last.request, hint))
    assert observer.one(Send).peer == 2, "it is back, says another"
