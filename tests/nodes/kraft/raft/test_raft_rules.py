"""KIP-595's receiver rules, one scenario or more each, on the pure core.

Numbers are those of the requirements (B.2). Rule 1 is the wire's (test_quorum_wire.py), 8's
snapshots come with snapshots.
"""

from typing import Any, TypeVar

import pytest

from nodes.kraft.raft.config import RaftConfig
from nodes.kraft.raft.core import deadline_ms, initial, step
from nodes.kraft.raft.leader_change import decode_leader_change
from nodes.kraft.raft.log_index import LogIndex
from nodes.kraft.raft.messages import (
    FENCED_LEADER_EPOCH,
    INVALID_REQUEST,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    UNKNOWN_LEADER_EPOCH,
    Batch,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchReply,
    QuorumReply,
    Vote,
    VoteReply,
)
from nodes.kraft.raft.state import (
    Candidate,
    Follower,
    Leader,
    QuorumState,
    RaftState,
    Resigned,
    Unattached,
)
from nodes.kraft.raft.steps import (
    Advanced,
    Answer,
    AnswerFetch,
    Append,
    Asked,
    Claimed,
    Confirm,
    Confirmed,
    Effect,
    Elected,
    Fatal,
    Flush,
    Flushed,
    Input,
    Propose,
    Renounced,
    Replied,
    Resign,
    SaveQuorumState,
    Send,
    Tick,
    Truncate,
)

T = TypeVar("T")


class Replica:
    """A core and what it has done, for tests to drive by hand."""

    def __init__(
        self,
        node_id: int = 1,
        voters: tuple[int, ...] = (1, 2, 3),
        saved: QuorumState | None = None,
        log: LogIndex | None = None,
    ) -> None:
        self.now = 0
        self.config = RaftConfig(node_id=node_id, voters=voters, seed=11)
        self.state: RaftState = initial(self.config, saved, log or LogIndex(), self.now)
        self.effects: list[Effect] = []
        self._tokens = 0

    def do(self, event: Input) -> list[Effect]:
        self.state, self.effects = step(self.state, event, self.now)
        return self.effects

    def wait(self, ms: int) -> list[Effect]:
        self.now += ms
        return self.do(Tick())

    def timeout(self) -> list[Effect]:
        """Let the role's timer run out."""
        role: Any = self.state.role
        return self.wait(max(0, role.deadline_ms - self.now))

    def ask(self, request: Any) -> Any:
        """The reply to `request`; None where it is parked."""
        self._tokens += 1
        self.do(Asked(self._tokens, request))
        answers = [e for e in self.some(Answer, AnswerFetch) if e.token == self._tokens]
        return answers[0].reply if answers else None

    def some(self, *kinds: type[T]) -> list[T]:
        return [effect for effect in self.effects if isinstance(effect, kinds)]

    def one(self, kind: type[T]) -> T:
        (effect,) = self.some(kind)
        return effect

    def order(self, *kinds: type[Any]) -> list[type[Any]]:
        return [type(effect) for effect in self.effects if isinstance(effect, kinds)]

    def flush(self) -> list[Effect]:
        return self.do(Flushed(self.state.log.end_offset, self.state.truncations))


def log_of(*runs: tuple[int, int]) -> LogIndex:
    """A flushed log of `runs`, each (epoch, how many records)."""
    log = LogIndex()
    for epoch, count in runs:
        log = log.append(Batch(log.end_offset, epoch, (b"x",) * count))
    return log.flush(log.end_offset)


def vote(epoch: int, candidate: int = 2, last: tuple[int, int] = (0, 0)) -> Vote:
    return Vote(
        candidate_epoch=epoch, candidate_id=candidate, last_epoch=last[0], last_offset=last[1]
    )


def begin(epoch: int, leader: int = 2) -> BeginQuorumEpoch:
    return BeginQuorumEpoch(leader_id=leader, leader_epoch=epoch)


def fetch(epoch: int, offset: int, last_epoch: int, replica: int = 2, wait: int = 250) -> Fetch:
    return Fetch(
        replica_id=replica, epoch=epoch, offset=offset, last_epoch=last_epoch, max_wait_ms=wait
    )


def candidate(**arguments: Any) -> Replica:
    replica = Replica(**arguments)
    replica.timeout()
    assert isinstance(replica.state.role, Candidate)
    return replica


def elected(**arguments: Any) -> Replica:
    """A leader of three that nobody has fetched from; its LeaderChange is not flushed."""
    replica = candidate(**arguments)
    sent = next(send for send in replica.some(Send) if send.peer == 2)
    replica.do(Replied(2, sent.request, VoteReply(leader_epoch=replica.state.epoch, granted=True)))
    assert isinstance(replica.state.role, Leader)
    return replica


def leader(**arguments: Any) -> Replica:
    """A leader of three in epoch 1 whose LeaderChange is committed by itself and voter 2."""
    replica = elected(**arguments)
    replica.flush()
    epoch, end = replica.state.epoch, replica.state.log.end_offset
    replica.ask(fetch(epoch, end, epoch))
    assert replica.some(Claimed)
    for peer in (2, 3):
        replica.do(Replied(peer, begin(epoch, 1), QuorumReply(leader_id=1, leader_epoch=epoch)))
    return replica


def follower(epoch: int = 1, log: LogIndex | None = None, **arguments: Any) -> Replica:
    """Follows voter 2 in `epoch`; its fetch is on the way."""
    replica = Replica(log=log, **arguments)
    replica.ask(begin(epoch))
    assert isinstance(replica.state.role, Follower)
    return replica


def fetched(replica: Replica, **fields: Any) -> list[Effect]:
    """Answer the outstanding fetch of a follower of voter 2."""
    link = replica.state.links[2, Fetch]
    reply = FetchReply(leader_id=2, leader_epoch=replica.state.epoch, **fields)
    assert link.outstanding is not None
    return replica.do(Replied(2, link.outstanding, reply))


# --- rule 2 -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_",
    [vote(4), begin(4), EndQuorumEpoch(leader_id=2, leader_epoch=4, successors=(1,))],
)
def test_rule_2_older_epoch_is_fenced(request_: Any) -> None:
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
    replica = Replica()
    assert replica.ask(request_).error == INVALID_REQUEST
    assert replica.state.epoch == 0


# --- rule 3 -------------------------------------------------------------------------------


@pytest.mark.parametrize("last", [(0, -1), (-1, 0), (3, 5), (4, 5)])
def test_rule_3_impossible_log_ends_are_invalid(last: tuple[int, int]) -> None:
    assert Replica().ask(vote(3, last=last)).error == INVALID_REQUEST


# --- rule 4 -------------------------------------------------------------------------------


def test_rule_4_vote_is_durable_before_the_answer() -> None:
    replica = Replica()
    assert replica.ask(vote(3)).granted
    assert replica.order(SaveQuorumState, Answer) == [SaveQuorumState, Answer]
    assert replica.one(SaveQuorumState) == SaveQuorumState(3, -1, 2)


def test_rule_4_larger_epoch_is_taken_over_durably_without_a_grant() -> None:
    replica = Replica(log=log_of((1, 5)))
    reply = replica.ask(vote(3, last=(1, 4)))
    assert not reply.granted
    assert reply.leader_epoch == 3
    assert replica.one(SaveQuorumState) == SaveQuorumState(3, -1, -1)
    assert isinstance(replica.state.role, Unattached)


def test_rule_4_one_vote_an_epoch() -> None:
    replica = Replica()
    assert replica.ask(vote(3, candidate=2)).granted
    assert not replica.ask(vote(3, candidate=3)).granted
    assert replica.ask(vote(3, candidate=2)).granted
    assert not replica.some(SaveQuorumState)


def test_rule_4_no_vote_where_a_leader_is_known() -> None:
    replica = follower(epoch=3)
    reply = replica.ask(vote(3, candidate=3))
    assert (reply.granted, reply.leader_id) == (False, 2)


def test_rule_4_no_vote_of_candidates_leaders_and_resigned() -> None:
    for replica in (candidate(), elected(), Replica(saved=QuorumState(1, 1, 1))):
        assert not replica.ask(vote(replica.state.epoch, candidate=3)).granted


@pytest.mark.parametrize(
    ("last", "granted"),
    [((2, 3), True), ((1, 9), False), ((2, 2), False), ((3, 1), True), ((2, 4), True)],
)
def test_rule_4_logs_compare_by_epoch_first(last: tuple[int, int], granted: bool) -> None:
    replica = Replica(log=log_of((1, 2), (2, 1)))
    assert replica.ask(vote(5, last=last)).granted is granted


def test_rule_4_granting_restarts_the_election_timer_and_refusing_does_not() -> None:
    replica = Replica(log=log_of((1, 2)))
    before = replica.state.role.deadline_ms  # type: ignore[union-attr]
    replica.now = 400
    replica.ask(vote(5, last=(0, 0)))
    assert replica.state.role.deadline_ms == before  # type: ignore[union-attr]
    replica.ask(vote(6, last=(1, 2)))
    assert replica.state.role.deadline_ms >= 900  # type: ignore[union-attr]


# --- rule 5 -------------------------------------------------------------------------------


def test_rule_5_observers_neither_vote_nor_campaign() -> None:
    observer = Replica(node_id=7)
    assert not observer.ask(vote(3)).granted
    observer.wait(100_000)
    assert not any(isinstance(send.request, Vote) for send in observer.some(Send))
    assert observer.state.epoch == 3


# --- rule 6 -------------------------------------------------------------------------------


def test_rule_6_two_leaders_of_an_epoch_are_fatal() -> None:
    replica = follower(epoch=3)
    replica.ask(begin(3, leader=3))
    assert "two leaders" in replica.one(Fatal).reason
    replica = follower(epoch=3)
    fetch_sent = replica.one(Send)
    replica.do(Replied(2, fetch_sent.request, FetchReply(leader_id=3, leader_epoch=3)))
    assert "two leaders" in replica.one(Fatal).reason


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
    reply = leader().ask(request_)
    assert (reply.error, reply.leader_id, reply.leader_epoch) == (error, 1, 1)


def test_rule_7_fetch_at_a_follower_names_the_leader() -> None:
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
    replica = elected(log=log_of((1, 3), (4, 2)))
    assert replica.state.epoch == 5
    reply = replica.ask(fetch(5, offset, last_epoch))
    assert reply is None or reply.diverging == diverging
    assert (reply is None) <= (diverging is None)


def test_rule_9_only_a_valid_fetch_counts() -> None:
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
    assert (role.progress[2].offset, role.progress[2].fetched_ms) == (2, 900)
    assert replica.state.high_watermark == 2


# --- rule 10 ------------------------------------------------------------------------------


def parked(replica: Replica) -> int:
    """Park a fetch of voter 2 at the end of a leader's log; its token."""
    end = replica.state.log.end_offset
    while replica.ask(fetch(1, end, 1)) is not None:
        pass
    return replica._tokens


def test_rule_10_parked_fetch_expires_with_the_answer_computed_when_parked() -> None:
    replica = leader()
    token = parked(replica)
    assert deadline_ms(replica.state) <= replica.now + 250
    assert not any(isinstance(e, Answer) for e in replica.wait(249))
    replica.wait(1)
    assert replica.one(Answer) == Answer(
        token, FetchReply(leader_id=1, leader_epoch=1, high_watermark=1)
    )


def test_rule_10_parked_fetch_is_answered_by_new_records() -> None:
    replica = leader()
    token = parked(replica)
    replica.do(Propose(1, (b"a", b"b")))
    answer = replica.one(AnswerFetch)
    assert (answer.token, answer.request.offset, answer.limit) == (token, 1, 3)
    assert replica.order(Append, AnswerFetch) == [Append, AnswerFetch]


def test_rule_10_parked_fetch_is_answered_by_a_higher_watermark() -> None:
    replica = leader()
    replica.do(Propose(1, (b"a",)))
    replica.flush()
    assert replica.ask(fetch(1, 2, 1, replica=9)).high_watermark == 1
    assert replica.ask(fetch(1, 2, 1, replica=9)) is None
    observer_token = replica._tokens
    replica.ask(fetch(1, 2, 1, replica=2))
    answers = {answer.token: answer.reply for answer in replica.some(Answer)}
    assert answers[observer_token].high_watermark == 2  # type: ignore[union-attr]
    assert len(answers) == 2, "the fetch that raised it learns of it too"


def test_rule_10_losing_leadership_completes_parked_fetches() -> None:
    replica = leader()
    token = parked(replica)
    replica.ask(vote(8, candidate=3, last=(1, 5)))
    reply = next(answer.reply for answer in replica.some(Answer) if answer.token == token)
    assert reply == FetchReply(error=NOT_LEADER_OR_FOLLOWER, leader_epoch=8)
    assert replica.one(Renounced) == Renounced(1)


# --- rules 11 and 12 ----------------------------------------------------------------------


def test_rule_11_truncates_to_the_smaller_end_of_the_epoch() -> None:
    replica = follower(epoch=6, log=log_of((1, 3), (2, 4)))
    fetched(replica, diverging=(2, 5), high_watermark=5)
    assert replica.one(Truncate) == Truncate(5)
    assert replica.state.high_watermark == 0, "not from a diverging answer"
    refetch = replica.one(Send).request
    assert isinstance(refetch, Fetch)
    assert (refetch.offset, refetch.last_epoch) == (5, 2)


def test_rule_11_cuts_whole_epochs_where_the_leaders_epoch_is_unknown() -> None:
    replica = follower(epoch=9, log=log_of((1, 3), (3, 4), (6, 2)))
    fetched(replica, diverging=(5, 4))
    assert replica.one(Truncate) == Truncate(7)


def test_rule_11_truncation_below_the_high_watermark_is_fatal() -> None:
    replica = follower(epoch=6, log=log_of((1, 3), (2, 4)))
    fetched(replica, high_watermark=6)
    fetched(replica, diverging=(2, 5))
    assert "below the high watermark" in replica.one(Fatal).reason
    assert not replica.some(Truncate)


def test_rule_12_voter_flushes_before_its_next_fetch() -> None:
    replica = follower()
    fetched(replica, batches=(Batch(0, 1, (b"a", b"b")),), high_watermark=9)
    assert replica.order(Append, Flush, Send) == [Append, Flush]
    assert replica.one(Advanced) == Advanced(2), "never beyond the own log"
    replica.flush()
    request = replica.one(Send).request
    assert isinstance(request, Fetch)
    assert request.offset == 2


def test_rule_12_observer_fetches_on_without_a_flush() -> None:
    observer = follower(node_id=7)
    fetched(observer, batches=(Batch(0, 1, (b"a",)),))
    assert observer.order(Flush, Send) == [Send]


def test_rule_12_high_watermark_never_goes_back() -> None:
    replica = follower(log=log_of((1, 5)), epoch=2)
    fetched(replica, high_watermark=4)
    fetched(replica, high_watermark=3)
    assert replica.state.high_watermark == 4
    assert not replica.some(Advanced)


def test_rule_12_flush_of_a_log_truncated_since_does_not_count() -> None:
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
    replica = elected(log=log_of((1, 3)))
    epoch = replica.state.epoch
    replica.flush()
    replica.ask(fetch(epoch, 3, 1))
    assert replica.state.high_watermark == 0
    replica.ask(fetch(epoch, 4, epoch))
    assert replica.some(Advanced, Claimed) == [Advanced(4), Claimed(epoch, 4)]


def test_rule_13_leader_counts_itself_only_when_flushed() -> None:
    replica = elected()
    replica.ask(fetch(1, 1, 1))
    assert not replica.some(Advanced)
    replica.flush()
    assert replica.some(Advanced) == [Advanced(1)]


def test_rule_13_leader_commits_what_a_majority_without_it_has() -> None:
    replica = elected()
    replica.ask(fetch(1, 1, 1))
    replica.ask(fetch(1, 1, 1, replica=3))
    assert replica.some(Advanced) == [Advanced(1)]


def test_rule_13_single_voter_commits_alone() -> None:
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
    replica = elected()
    batch = replica.one(Append).batch
    assert batch.control
    change = decode_leader_change(batch.records[0])
    assert change.leader_id == 1
    assert [voter.voter_id for voter in change.voters] == [1, 2, 3]
    assert [voter.voter_id for voter in change.granting_voters] == [1, 2]
    assert not any(isinstance(effect, Append) for effect in replica.do(Propose(1, (b"early",))))


def test_propose_of_another_epoch_is_ignored() -> None:
    replica = leader()
    assert replica.do(Propose(0, (b"late",))) == []
    replica.do(Propose(1, (b"now",)))
    assert replica.one(Append).batch == Batch(1, 1, (b"now",))


# --- rule 15 ------------------------------------------------------------------------------


def test_rule_15_leader_without_a_majority_of_fetches_resigns() -> None:
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
    replica = Replica(voters=(1,))
    replica.timeout()
    replica.flush()
    replica.wait(10**9)
    assert isinstance(replica.state.role, Leader)


# --- rule 16 ------------------------------------------------------------------------------


def test_rule_16_restart_of_a_leader_is_resigned() -> None:
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
    replica = Replica(saved=QuorumState(5, -1, 1), log=log_of((4, 3)))
    replica.do(Tick())
    assert not replica.some(SaveQuorumState)
    assert {send.peer for send in replica.some(Send)} == {2, 3}
    assert replica.some(Send)[0].request == vote(5, candidate=1, last=(4, 3))


def test_rule_16_restart_of_a_single_voter_candidate_elects_it() -> None:
    replica = Replica(voters=(1,), saved=QuorumState(5, -1, 1))
    replica.do(Tick())
    assert replica.one(Elected) == Elected(5, 0, (1,))


def test_rule_16_a_newer_log_overrules_the_file() -> None:
    replica = Replica(saved=QuorumState(5, 2, 1), log=log_of((7, 3)))
    state = replica.state
    assert (state.epoch, state.leader_id, state.voted_id) == (7, -1, -1)
    assert isinstance(state.role, Unattached)


def test_rule_16_a_known_leader_is_followed_and_the_vote_kept() -> None:
    replica = Replica(saved=QuorumState(5, 2, 3))
    replica.do(Tick())
    assert isinstance(replica.one(Send).request, Fetch)
    assert replica.state.voted_id == 3


# --- rule 17 ------------------------------------------------------------------------------


def test_rule_17_a_reply_of_a_larger_epoch_is_followed() -> None:
    replica = leader()
    sent = begin(1, 1)
    replica.wait(500)
    assert Send(3, sent) in replica.effects
    replica.do(Replied(3, sent, QuorumReply(error=FENCED_LEADER_EPOCH, leader_epoch=4)))
    assert replica.order(SaveQuorumState, Renounced) == [SaveQuorumState, Renounced]
    assert (replica.state.epoch, replica.state.leader_id) == (4, -1)


def test_rule_17_a_reply_of_a_lower_epoch_is_dropped() -> None:
    replica = follower(epoch=3)
    sent = replica.one(Send).request
    stale = FetchReply(leader_id=2, leader_epoch=2, batches=(Batch(0, 2, (b"x",)),))
    replica.do(Replied(2, sent, stale))
    assert not replica.some(Append)
    assert replica.state.log.end_offset == 0


def test_rule_17_replies_are_matched_to_the_one_outstanding_request() -> None:
    replica = candidate()
    late = vote(9, candidate=1)
    replica.do(Replied(2, late, VoteReply(leader_epoch=1, granted=True)))
    assert isinstance(replica.state.role, Candidate)
    assert not replica.effects


def test_rule_17_one_outstanding_request_a_peer_and_kind() -> None:
    replica = leader()
    for _ in range(5):
        replica.wait(600)
        replica.ask(fetch(1, 1, 1))
    begins = [Send(peer, begin(1, 1)) for peer in (2, 3)]
    assert not set(begins) & set(replica.effects), "the first are still unanswered"


# --- elections ----------------------------------------------------------------------------


def test_candidate_saves_its_vote_before_asking() -> None:
    replica = candidate()
    assert replica.order(SaveQuorumState, Send) == [SaveQuorumState, Send, Send]
    assert replica.one(SaveQuorumState) == SaveQuorumState(1, -1, 1)


def test_leader_saves_before_it_appends_and_announces() -> None:
    kinds = (SaveQuorumState, Elected, Append, Flush, Send)
    replica = elected()
    assert replica.order(*kinds) == [SaveQuorumState, Elected, Append, Flush, Send, Send]


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


# --- read barriers ------------------------------------------------------------------------


def test_confirm_takes_a_round_that_starts_after_it() -> None:
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
