"""PreVote (KIP-996, B.4): ask before you campaign, and depose nobody."""

from typing import Any

import pytest

from nodes.kraft.raft.messages import (
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    MAX_EPOCH,
    EndQuorumEpoch,
    FetchReply,
    QuorumReply,
    Vote,
    VoteReply,
)
from nodes.kraft.raft.state import (
    Candidate,
    Follower,
    Leader,
    Prospective,
    QuorumState,
    Resigned,
    Unattached,
)
from nodes.kraft.raft.steps import Elected, Fatal, GaveUp, Replied, Resign, SaveQuorumState, Send
from tests.nodes.kraft.raft.replicas import (
    Replica,
    begin,
    candidate,
    elected,
    fetch,
    fetched,
    follower,
    log_of,
    vote,
)


def pre(epoch: int, candidate: int = 2, last: tuple[int, int] = (0, 0)) -> Vote:
    return Vote(
        candidate_epoch=epoch,
        candidate_id=candidate,
        last_epoch=last[0],
        last_offset=last[1],
        pre=True,
    )


def prospective(**arguments: Any) -> Replica:
    replica = Replica(prevote=True, **arguments)
    replica.timeout()
    assert isinstance(replica.state.role, Prospective)
    return replica


def reply_to(replica: Replica, peer: int, **fields: Any) -> None:
    """Answer the vote or PreVote that is on the way to `peer`."""
    outstanding = replica.state.links[peer, Vote].outstanding
    assert outstanding is not None
    fields.setdefault("leader_epoch", replica.state.epoch)
    replica.do(Replied(peer, outstanding, VoteReply(**fields)))


# --- asking -------------------------------------------------------------------------------


def test_prospective_asks_in_its_epoch_and_saves_nothing() -> None:
    """B.4.1: the epoch stays as it is."""
    replica = prospective(saved=QuorumState(3), log=log_of((2, 4)))
    assert (replica.state.epoch, replica.state.voted_id) == (3, -1)
    assert not replica.some(SaveQuorumState)
    requests = {send.peer: send.request for send in replica.some(Send)}
    assert requests == {2: pre(3, 1, (2, 4)), 3: pre(3, 1, (2, 4))}
    assert replica.state.role_name == "prospective"


def test_a_majority_of_prevotes_makes_a_candidate() -> None:
    """A.4.10, B.4.1: only then the epoch rises, and the vote for itself is saved."""
    replica = prospective()
    reply_to(replica, 2, granted=True)
    assert isinstance(replica.state.role, Candidate)
    assert replica.one(SaveQuorumState) == SaveQuorumState(1, -1, 1)
    assert [send.peer for send in replica.some(Send)] == [2], "3 still owes an answer"
    reply_to(replica, 3, granted=True, leader_epoch=0)
    assert isinstance(replica.state.role, Candidate), "a PreVote is no vote"
    assert [send.request for send in replica.some(Send)] == [vote(1, 1)]


def test_a_prevote_does_not_elect() -> None:
    replica = prospective(voters=(1, 2, 3, 4, 5))
    for peer in (2, 3):
        reply_to(replica, peer, granted=True)
    assert isinstance(replica.state.role, Candidate)
    assert not replica.some(Elected)


def test_a_single_voter_needs_nobody() -> None:
    """A.1.6: a quorum of one elects itself at once."""
    replica = Replica(voters=(1,), prevote=True)
    replica.timeout()
    assert replica.one(Elected).epoch == 1


def test_refused_prospective_goes_back_to_its_leader() -> None:
    replica = follower(epoch=3, prevote=True)
    fetched(replica)
    replica.timeout()
    assert isinstance(replica.state.role, Prospective)
    for peer in (2, 3):
        reply_to(replica, peer, leader_id=2)
    role = replica.state.role
    assert (role, replica.state.epoch) == (Follower(role.deadline_ms), 3)  # type: ignore[union-attr]


def test_prospective_without_an_answer_waits_for_another_election() -> None:
    replica = prospective()
    replica.timeout()
    assert isinstance(replica.state.role, Unattached)
    replica.timeout()
    assert isinstance(replica.state.role, Prospective)
    assert replica.state.epoch == 0


def test_a_refusal_that_names_a_leader_is_followed() -> None:
    replica = prospective(saved=QuorumState(3))
    reply_to(replica, 2, leader_id=3, leader_epoch=3)
    assert isinstance(replica.state.role, Follower)
    assert replica.state.leader_id == 3


def test_the_leader_thought_lost_is_followed_again() -> None:
    replica = follower(epoch=3, prevote=True)
    replica.timeout()
    assert isinstance(replica.state.role, Prospective)
    replica.ask(begin(3))
    assert isinstance(replica.state.role, Follower)


def test_a_lost_election_is_asked_about_first() -> None:
    replica = prospective()
    reply_to(replica, 2, granted=True)
    reply_to(replica, 3, leader_epoch=0)  # to the PreVote, late
    for peer in (2, 3):
        reply_to(replica, peer)
    role = replica.state.role
    assert isinstance(role, Candidate)
    assert role.backing_off
    replica.timeout()
    assert isinstance(replica.state.role, Prospective)
    assert (replica.state.epoch, replica.state.role.retries) == (1, 1)


def test_a_resigned_leader_raises_the_epoch_before_it_asks() -> None:
    """B.4.4: KAFKA-18379. It has led its epoch; nobody may be asked to vote in it again."""
    replica = elected(prevote=False)
    epoch = replica.state.epoch
    replica = Replica(saved=QuorumState(epoch, 1, 1), prevote=True)
    assert isinstance(replica.state.role, Resigned)
    replica.timeout()
    assert isinstance(replica.state.role, Prospective)
    assert replica.one(SaveQuorumState) == SaveQuorumState(epoch + 1, -1, -1)
    asked = {send.request for send in replica.some(Send) if isinstance(send.request, Vote)}
    assert asked == {pre(epoch + 1, 1)}


def test_the_chosen_successor_campaigns_without_asking() -> None:
    """The leader itself has said that its epoch is over (KIP-595)."""
    replica = follower(epoch=3, prevote=True)
    fetched(replica)
    replica.ask(EndQuorumEpoch(leader_id=2, leader_epoch=3, successors=(1, 3)))
    replica.wait(0)
    assert isinstance(replica.state.role, Candidate)
    assert replica.state.epoch == 4


# --- being asked --------------------------------------------------------------------------


def test_a_prevote_of_the_own_epoch_moves_nobody() -> None:
    """B.4.2: neither epoch, vote, leader nor role."""
    for replica in (Replica(saved=QuorumState(3)), candidate(), elected()):
        before = replica.state
        replica.ask(pre(before.epoch))
        after = replica.state
        assert (after.epoch, after.voted_id, after.leader_id) == (
            before.epoch,
            before.voted_id,
            before.leader_id,
        )
        assert type(after.role) is type(before.role)
        assert not replica.some(SaveQuorumState)


def test_who_has_a_leader_refuses() -> None:
    """B.4.3: a follower that the leader has answered in this epoch, and the leader itself."""
    replica = follower(epoch=3)
    assert replica.ask(pre(3, 3)).granted, "nothing was fetched yet"
    fetched(replica)
    assert not replica.ask(pre(3, 3)).granted
    replica.ask(EndQuorumEpoch(leader_id=2, leader_epoch=3, successors=(3, 1)))
    assert replica.ask(pre(3, 3)).granted, "it has resigned"
    replica = elected()
    assert not replica.ask(pre(1, last=(1, 99))).granted


def test_who_has_no_leader_grants_to_logs_as_good_as_its_own() -> None:
    """A.4.12 with A.7.1: (last epoch, end offset), epoch first."""
    for last, granted in (((2, 3), True), ((1, 9), False), ((2, 2), False), ((3, 1), True)):
        replica = Replica(saved=QuorumState(4), log=log_of((1, 2), (2, 1)))
        assert replica.ask(pre(4, last=last)).granted is granted
    replica = candidate()
    assert replica.ask(pre(1, 3)).granted, "it is a candidate only, and bound by its own vote"
    assert not replica.ask(vote(1, 3)).granted


def test_prevotes_bind_nobody() -> None:
    replica = Replica(saved=QuorumState(3))
    assert replica.ask(pre(3, 2)).granted
    assert replica.ask(pre(3, 3)).granted
    before = replica.state.role.deadline_ms  # type: ignore[union-attr]
    assert replica.ask(pre(3, 2)).granted
    assert replica.state.role.deadline_ms == before  # type: ignore[union-attr]


def test_a_prospective_still_has_its_vote() -> None:
    replica = prospective(saved=QuorumState(3))
    assert replica.ask(vote(3, 2)).granted
    assert isinstance(replica.state.role, Unattached)
    replica = follower(epoch=3, prevote=True)
    replica.timeout()
    assert not replica.ask(vote(3, 3)).granted, "there is a leader in this epoch"


def test_epochs_of_prevotes() -> None:
    replica = Replica(saved=QuorumState(3))
    assert replica.ask(pre(2)).error == FENCED_LEADER_EPOCH
    assert replica.ask(pre(3, last=(4, 1))).error == INVALID_REQUEST
    assert replica.ask(pre(5)).granted
    assert replica.one(SaveQuorumState) == SaveQuorumState(5, -1, -1), "no vote"


def test_a_voter_behind_a_partition_deposes_nobody() -> None:
    """B.4.5: what PreVote is for. Cut off, it stays in its epoch; back, it follows again."""
    cut_off = follower(epoch=3, prevote=True)
    for _ in range(20):
        cut_off.timeout()
        for peer in (2, 3):
            link = cut_off.state.links.get((peer, Vote))
            if link and link.outstanding:
                cut_off.do(Replied(peer, link.outstanding, None))
    assert cut_off.state.epoch == 3
    without = follower(epoch=3)
    for _ in range(20):
        without.timeout()
    assert without.state.epoch > 5, "the negative control: without PreVote the epoch rises"


# --- epochs that leave no room ------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [
        vote(2**31 - 1),
        pre(2**31 - 1),
        begin(2**31 - 1),
        EndQuorumEpoch(leader_id=2, leader_epoch=2**31 - 1, successors=()),
    ],
)
def test_rule_2_an_epoch_that_leaves_no_room_is_refused(request_: Any) -> None:
    """B.2.2: a broken voter must not stop a node, for which there would be no next epoch."""
    for replica in (Replica(), follower(), elected()):
        before = replica.state.epoch
        assert replica.ask(request_).error == INVALID_REQUEST
        assert replica.state.epoch == before
        assert not replica.some(SaveQuorumState, Fatal)


def test_rule_17_replies_of_such_an_epoch_are_not_believed() -> None:
    """B.2.17: replies of such an epoch are not believed."""
    replica = follower(epoch=3)
    sent = replica.one(Send).request
    replica.do(Replied(2, sent, FetchReply(leader_id=2, leader_epoch=2**31 - 1)))
    assert replica.state.epoch == 3
    replica = elected()
    replica.wait(500)
    sent = begin(1, 1)
    replica.do(Replied(3, sent, QuorumReply(error=74, leader_epoch=2**31 - 1)))
    assert isinstance(replica.state.role, Leader)


@pytest.mark.parametrize("prevote", [True, False])
def test_nobody_campaigns_beyond_the_last_epoch(prevote: bool) -> None:
    """The node goes on, though this quorum can elect nobody any more."""
    replica = Replica(saved=QuorumState(MAX_EPOCH), prevote=prevote)
    for _ in range(10):
        replica.timeout()
        for peer in (2, 3):
            link = replica.state.links.get((peer, Vote))
            if link and link.outstanding:
                reply_to(replica, peer, granted=True)
    assert replica.state.epoch == MAX_EPOCH
    resigned = Replica(saved=QuorumState(MAX_EPOCH, 1, 1), prevote=prevote)
    for _ in range(10):
        resigned.timeout()
    assert resigned.state.epoch == MAX_EPOCH
    assert replica.ask(fetch(MAX_EPOCH, 0, 0)).error != 0


def test_resigning_says_why() -> None:
    replica = elected()
    replica.do(Resign("to snapshot"))
    assert replica.one(GaveUp) == GaveUp(1, "to snapshot")
