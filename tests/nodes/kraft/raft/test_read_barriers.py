"""Read barriers: rounds that start after the question, and what ends them."""

from nodes.kraft.raft.messages import (
    INVALID_REQUEST,
    BeginQuorumEpoch,
    QuorumReply,
)
from nodes.kraft.raft.steps import (
    Confirm,
    Confirmed,
    Replied,
    Send,
)
from tests.nodes.kraft.raft.replicas import (
    Replica,
    begin,
    elected,
    fetch,
    leader,
    vote,
)

# --- read barriers ------------------------------------------------------------------------


def test_confirm_takes_a_round_that_starts_after_it() -> None:
    """A.7.16: a majority says after the question that nobody else leads."""
    replica = leader()
    replica.wait(500)
    old = [send for send in replica.some(Send) if isinstance(send.request, BeginQuorumEpoch)]
    assert {send.peer for send in old} == {2, 3}
    replica.do(Confirm(77))
    good = QuorumReply(leader_id=1, leader_epoch=1)
    replica.do(Replied(2, begin(1, 1), good))
    assert not replica.some(Confirmed), "that one left before the question"
    assert replica.one(Send) == Send(2, begin(1, 1))
    replica.do(Replied(2, begin(1, 1), good))
    assert replica.one(Confirmed) == Confirmed(77, 1, 1)


def test_confirms_that_come_during_a_round_join_the_next() -> None:
    replica = leader()
    replica.do(Confirm(1))
    replica.do(Confirm(2))
    replica.do(Confirm(3))
    good = QuorumReply(leader_id=1, leader_epoch=1)
    replica.do(Replied(2, begin(1, 1), good))
    assert replica.one(Confirmed).token == 1
    replica.do(Replied(2, begin(1, 1), good))
    assert [confirmed.token for confirmed in replica.some(Confirmed)] == [2, 3]


def test_confirm_waits_for_the_epochs_first_commit() -> None:
    replica = elected()
    replica.do(Confirm(5))
    for peer in (2, 3):
        good = QuorumReply(leader_id=1, leader_epoch=1)
        replica.do(Replied(peer, begin(1, 1), good))
    assert not replica.some(Confirmed)
    replica.flush()
    replica.ask(fetch(1, 1, 1))
    replica.do(Replied(2, begin(1, 1), QuorumReply(leader_id=1, leader_epoch=1)))
    assert replica.one(Confirmed) == Confirmed(5, 1, 1)


def test_confirm_fails_with_leadership() -> None:
    replica = leader()
    replica.do(Confirm(5))
    replica.do(Confirm(6))
    replica.ask(vote(9, candidate=3, last=(1, 1)))
    assert [(c.token, c.epoch) for c in replica.some(Confirmed)] == [(5, None), (6, None)]
    replica.do(Confirm(8))
    assert replica.one(Confirmed).epoch is None


def test_confirm_of_a_single_voter_passes_at_once() -> None:
    replica = Replica(voters=(1,))
    replica.timeout()
    replica.flush()
    replica.do(Confirm(3))
    assert replica.one(Confirmed) == Confirmed(3, 1, 1)


def test_refused_begin_is_no_confirmation() -> None:
    replica = leader()
    replica.do(Confirm(5))
    error = QuorumReply(error=INVALID_REQUEST, leader_id=1, leader_epoch=1)
    replica.do(Replied(2, begin(1, 1), error))
    assert not replica.some(Confirmed)
