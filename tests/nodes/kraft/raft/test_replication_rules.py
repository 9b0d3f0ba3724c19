"""KIP-595's receiver rules 7-14 on the pure core; where logs begin with a snapshot, see
test_snapshot_rules.py.
"""

import pytest

from nodes.kraft.raft.core import deadline_ms
from nodes.kraft.raft.leader_change import decode_leader_change
from nodes.kraft.raft.messages import (
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_LEADER_EPOCH,
    Batch,
    Fetch,
    FetchReply,
)
from nodes.kraft.raft.state import (
    Leader,
)
from nodes.kraft.raft.steps import (
    Advanced,
    Answer,
    AnswerFetch,
    Append,
    Claimed,
    Elected,
    Fatal,
    Flush,
    Flushed,
    Propose,
    Renounced,
    Replied,
    SaveQuorumState,
    Send,
    Truncate,
)
from tests.nodes.kraft.raft.replicas import (
    Replica,
    begin,
    elected,
    fetch,
    fetched,
    follower,
    leader,
    log_of,
    vote,
)

# --- rule 7 -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (fetch(0, 0, 0), FENCED_LEADER_EPOCH),
        (fetch(2, 0, 0), UNKNOWN_LEADER_EPOCH),
        (fetch(1, -1, 0), INVALID_REQUEST),
        (fetch(1, 0, -1), INVALID_REQUEST),
        (fetch(-1, 0, 0), INVALID_REQUEST),
        (fetch(1, 0, 0, wait=-1), INVALID_REQUEST),
        (fetch(1, 3, 2), INVALID_REQUEST),
    ],
)
def test_rule_7_fetch_errors(request_: Fetch, error: int) -> None:
    """A.5.13, A.6.1, B.2.7: fetch errors."""
    reply = leader().ask(request_)
    assert (reply.error, reply.leader_id, reply.leader_epoch) == (error, 1, 1)


def test_rule_7_fetch_at_a_follower_names_the_leader() -> None:
    """B.2.7: fetch at a follower names the leader."""
    reply = follower(epoch=3).ask(fetch(3, 0, 0, replica=3))
    assert (reply.error, reply.leader_id) == (NOT_LEADER_OR_FOLLOWER, 2)


# --- rules 8 and 9 ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "last_epoch", "diverging"),
    [
        (0, 0, None),
        (3, 1, None),
        (2, 1, None),
        (5, 4, None),
        (6, 5, None),
        (4, 1, (1, 3)),  # the leader's epoch 1 ends earlier
        (7, 4, (4, 5)),
        (4, 2, (1, 3)),  # the leader has no epoch 2
        (7, 5, (5, 6)),  # beyond the leader's end
    ],
)
def test_rule_8_fetch_validation(
    offset: int, last_epoch: int, diverging: tuple[int, int] | None
) -> None:
    """B.2.8: fetch validation."""
    replica = elected(log=log_of((1, 3), (4, 2)))
    assert replica.state.epoch == 5
    reply = replica.ask(fetch(5, offset, last_epoch))
    assert reply is None or reply.diverging == diverging
    assert (reply is None) <= (diverging is None)


def test_rule_9_only_a_valid_fetch_counts() -> None:
    """B.2.9: only a valid fetch counts."""
    replica = leader()
    replica.do(Propose(1, (b"a",)))
    replica.flush()
    before = replica.state
    replica.now = 900
    assert replica.ask(fetch(1, 9, 1)).diverging == (1, 2)
    assert replica.ask(fetch(0, 2, 0)).error == FENCED_LEADER_EPOCH
    assert replica.state == before
    replica.ask(fetch(1, 2, 1))
    role = replica.state.role
    assert isinstance(role, Leader)
    assert (role.progress[2].offset, role.progress[2].contact_ms) == (2, 900)
    assert replica.state.high_watermark == 2


# --- rule 10 ------------------------------------------------------------------------------


def parked(replica: Replica) -> int:
    """Park a fetch of voter 2 at the end of a leader's log; its token."""
    end = replica.state.log.end_offset
    while replica.ask(fetch(1, end, 1)) is not None:
        pass
    return replica._tokens


def test_rule_10_parked_fetch_expires_with_the_answer_computed_when_parked() -> None:
    """B.2.10: parked fetch expires with the answer computed when parked."""
    replica = leader()
    token = parked(replica)
    assert deadline_ms(replica.state) <= replica.now + 250
    assert not any(isinstance(e, Answer) for e in replica.wait(249))
    replica.wait(1)
    assert replica.one(Answer) == Answer(
        token, FetchReply(leader_id=1, leader_epoch=1, high_watermark=1)
    )


def test_rule_10_parked_fetch_is_answered_by_new_records() -> None:
    """B.2.10: parked fetch is answered by new records."""
    replica = leader()
    token = parked(replica)
    replica.do(Propose(1, (b"a", b"b")))
    answer = replica.one(AnswerFetch)
    assert (answer.token, answer.request.offset, answer.limit) == (token, 1, 3)
    assert replica.order(Append, AnswerFetch) == [Append, AnswerFetch]


def test_rule_10_parked_fetch_is_answered_by_a_higher_watermark() -> None:
    """B.2.10: parked fetch is answered by a higher watermark."""
    replica = leader()
    replica.do(Propose(1, (b"a",)))
    replica.flush()
    assert replica.ask(fetch(1, 2, 1, replica=9)).high_watermark == 1
    assert replica.ask(fetch(1, 2, 1, replica=9)) is None
    observer_token = replica._tokens
    replica.ask(fetch(1, 2, 1, replica=2))
    answers = {answer.token: answer.reply for answer in replica.some(Answer)}
    assert answers[observer_token].high_watermark == 2
    assert len(answers) == 2, "the fetch that raised it learns of it too"


def test_rule_10_two_processes_of_one_id_do_not_drive_each_other_out() -> None:
    """B.2.10: An id conflict (A.1.62): answered at once, each would ask again at once, for ever."""
    replica = leader()
    first = parked(replica)
    assert replica.ask(fetch(1, replica.state.log.end_offset, 1)) is None
    assert not replica.some(Answer)
    replica.wait(250)
    assert {answer.token for answer in replica.some(Answer)} == {first, first + 1}


def test_rule_10_no_fetch_is_parked_longer_than_a_request_lasts() -> None:
    """B.2.10: no fetch is parked longer than a request lasts."""
    replica = leader()
    parked(replica)
    replica.wait(250)
    end = replica.state.log.end_offset
    assert replica.ask(fetch(1, end, 1, replica=9, wait=2**31 - 1)) is not None
    assert replica.ask(fetch(1, end, 1, replica=9, wait=2**31 - 1)) is None
    token = replica._tokens
    replica.wait(replica.config.request_timeout_ms)
    assert token in {answer.token for answer in replica.some(Answer)}


def test_rule_10_losing_leadership_completes_parked_fetches() -> None:
    """B.2.10: losing leadership completes parked fetches."""
    replica = leader()
    token = parked(replica)
    replica.ask(vote(8, candidate=3, last=(1, 5)))
    reply = next(answer.reply for answer in replica.some(Answer) if answer.token == token)
    assert reply == FetchReply(error=NOT_LEADER_OR_FOLLOWER, leader_epoch=8)
    assert replica.one(Renounced) == Renounced(1)


# --- rules 11 and 12 ----------------------------------------------------------------------


def test_rule_11_truncates_to_the_smaller_end_of_the_epoch() -> None:
    """A.4.15, B.2.11: truncates to the smaller end of the epoch."""
    replica = follower(epoch=6, log=log_of((1, 3), (2, 4)))
    fetched(replica, diverging=(2, 5), high_watermark=5)
    assert replica.one(Truncate) == Truncate(5)
    assert replica.state.high_watermark == 0, "not from a diverging answer"
    refetch = replica.one(Send).request
    assert isinstance(refetch, Fetch)
    assert (refetch.offset, refetch.last_epoch) == (5, 2)


def test_rule_11_cuts_whole_epochs_where_the_leaders_epoch_is_unknown() -> None:
    """B.2.11: cuts whole epochs where the leaders epoch is unknown."""
    replica = follower(epoch=9, log=log_of((1, 3), (3, 4), (6, 2)))
    fetched(replica, diverging=(5, 4))
    assert replica.one(Truncate) == Truncate(7)


def test_rule_11_truncation_below_the_high_watermark_is_fatal() -> None:
    """B.2.11: truncation below the high watermark is fatal."""
    replica = follower(epoch=6, log=log_of((1, 3), (2, 4)))
    fetched(replica, high_watermark=6)
    fetched(replica, diverging=(2, 5))
    assert "below the high watermark" in replica.one(Fatal).reason
    assert not replica.some(Truncate)


def test_rule_12_voter_flushes_before_its_next_fetch() -> None:
    """A.4.6, A.4.8, B.2.12: voter flushes before its next fetch."""
    replica = follower()
    fetched(replica, batches=(Batch(0, 1, (b"a", b"b")),), high_watermark=9)
    assert replica.order(Append, Flush, Send) == [Append, Flush]
    assert replica.one(Advanced) == Advanced(2), "never beyond the own log"
    replica.flush()
    request = replica.one(Send).request
    assert isinstance(request, Fetch)
    assert request.offset == 2


def test_rule_12_observer_fetches_on_without_a_flush() -> None:
    """A.4.6, B.2.12: observer fetches on without a flush."""
    observer = follower(node_id=7)
    fetched(observer, batches=(Batch(0, 1, (b"a",)),))
    assert observer.order(Flush, Send) == [Send]


def test_rule_12_high_watermark_never_goes_back() -> None:
    """B.2.12: high watermark never goes back."""
    replica = follower(log=log_of((1, 5)), epoch=2)
    fetched(replica, high_watermark=4)
    fetched(replica, high_watermark=3)
    assert replica.state.high_watermark == 4
    assert not replica.some(Advanced)


def test_rule_12_flush_of_a_log_truncated_since_does_not_count() -> None:
    """B.2.12: flush of a log truncated since does not count."""
    replica = follower(epoch=6)
    fetched(replica, batches=(Batch(0, 2, (b"a",)), Batch(1, 3, (b"b",))))
    flush = replica.one(Flush)
    replica.ask(begin(7, leader=3))
    replica.do(Flushed(1, flush.truncations))
    assert replica.one(Flush).end_offset == 2, "the rest is flushed next"
    replica.flush()
    sent = replica.one(Send).request
    replica.do(Replied(3, sent, FetchReply(leader_id=3, leader_epoch=7, diverging=(2, 1))))
    replica.do(Flushed(2, flush.truncations))
    assert replica.state.log.flushed == replica.state.log.end_offset == 1


def test_records_that_do_not_fit_are_refused() -> None:
    replica = follower(epoch=3)
    for batch in (Batch(1, 3, (b"gap",)), Batch(0, 4, (b"future",))):
        fetched(replica, batches=(batch,))
        assert not replica.some(Append)
        replica.wait(20)


# --- rules 13 and 14 ----------------------------------------------------------------------


def test_rule_13_older_records_commit_only_with_one_of_the_own_epoch() -> None:
    """A.6.2, B.2.13: older records commit only with one of the own epoch."""
    replica = elected(log=log_of((1, 3)))
    epoch = replica.state.epoch
    replica.flush()
    replica.ask(fetch(epoch, 3, 1))
    assert replica.state.high_watermark == 0
    replica.ask(fetch(epoch, 4, epoch))
    assert replica.some(Advanced, Claimed) == [Advanced(4), Claimed(epoch, 4)]


def test_rule_13_leader_counts_itself_only_when_flushed() -> None:
    """B.2.13: leader counts itself only when flushed."""
    replica = elected()
    replica.ask(fetch(1, 1, 1))
    assert not replica.some(Advanced)
    replica.flush()
    assert replica.some(Advanced) == [Advanced(1)]


def test_rule_13_leader_commits_what_a_majority_without_it_has() -> None:
    """A.4.7, B.2.13: leader commits what a majority without it has."""
    replica = elected()
    replica.ask(fetch(1, 1, 1))
    replica.ask(fetch(1, 1, 1, replica=3))
    assert replica.some(Advanced) == [Advanced(1)]


def test_rule_13_single_voter_commits_alone() -> None:
    """B.2.13: single voter commits alone."""
    replica = Replica(voters=(1,))
    replica.timeout()
    assert replica.order(SaveQuorumState, Elected, Append, Flush) == [
        SaveQuorumState,
        SaveQuorumState,
        Elected,
        Append,
        Flush,
    ]
    replica.flush()
    assert replica.one(Claimed) == Claimed(1, 1)


def test_rule_14_leader_change_comes_first_and_proposals_wait_for_the_claim() -> None:
    """A.1.22, A.5.7, B.2.14: leader change comes first and proposals wait for the claim."""
    replica = elected()
    batch = replica.one(Append).batch
    assert batch.control
    change = decode_leader_change(batch.records[0])
    assert change.leader_id == 1
    assert [voter.voter_id for voter in change.voters] == [1, 2, 3]
    assert [voter.voter_id for voter in change.granting_voters] == [1, 2]
    assert not any(isinstance(effect, Append) for effect in replica.do(Propose(1, (b"early",))))


def test_propose_of_another_epoch_is_ignored() -> None:
    """A.6.2: what a deposed controller decided is not appended."""
    replica = leader()
    assert replica.do(Propose(0, (b"late",))) == []
    replica.do(Propose(1, (b"now",)))
    assert replica.one(Append).batch == Batch(1, 1, (b"now",))
