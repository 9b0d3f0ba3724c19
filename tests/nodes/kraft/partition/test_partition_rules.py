"""One replica, rule by rule: appends, the high watermark, the ISR, truncation."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from nodes.kraft.metadata.image import Partition
from nodes.kraft.partition import core, leader, steps
from nodes.kraft.partition.batches import placed
from nodes.kraft.partition.state import (
    Absent,
    Following,
    Leading,
    Log,
    PartitionState,
    ReplicaConfig,
    recovered,
)
from tests.nodes.kraft.partition.batch_making import batch

ME = 4
CONFIG = ReplicaConfig(ME, lag_max_ms=1000)


def metadata(
    leader_id: int = ME,
    isr: tuple[int, ...] = (4, 5, 6),
    leader_epoch: int = 0,
    partition_epoch: int = 0,
    replicas: tuple[int, ...] = (4, 5, 6),
) -> Partition:
    return Partition(replicas, isr, leader_id, leader_epoch, partition_epoch)


class Replica:
    """A core and what it asked for."""

    def __init__(self, state: PartitionState | None = None) -> None:
        self.state = state or PartitionState()
        self.now_ms = 0
        self.tokens = 0

    def feed(self, event: steps.Input) -> list[steps.Effect]:
        self.state, effects = core.step(CONFIG, self.state, event, self.now_ms)
        return effects

    def assign(self, partition: Partition | None) -> list[steps.Effect]:
        return self.feed(steps.Assigned(partition))

    def produce(self, acks: int = -1, min_isr: int = 1, **values: object) -> list[steps.Effect]:
        self.tokens += 1
        made = batch(**values)  # type: ignore[arg-type]
        return self.feed(steps.Produce(self.tokens, made, acks, min_isr, self.now_ms + 500))

    def fetched(
        self,
        replica: int,
        offset: int,
        epoch: int = 10,
        registered: int | None = None,
        active: bool = True,
    ) -> list[steps.Effect]:
        known = epoch if registered is None else registered
        return self.feed(steps.Fetched(replica, epoch, offset, known, active))

    @property
    def leading(self) -> Leading:
        assert isinstance(self.state.role, Leading)
        return self.state.role


def led(isr: tuple[int, ...] = (4, 5, 6)) -> Replica:
    replica = Replica()
    assert replica.assign(metadata(isr=isr)) == []
    return replica


def codes(effects: list[steps.Effect]) -> list[ErrorCode]:
    return [each.code for each in effects if isinstance(each, steps.Answer)]


def proposed(effects: list[steps.Effect]) -> list[tuple[int, ...]]:
    return [each.proposal.isr for each in effects if isinstance(each, steps.Propose)]


# --- produce ------------------------------------------------------------------------------


def test_acks_of_one_is_answered_at_once_and_of_all_at_the_high_watermark() -> None:
    """A.5.3: the producer waits for the leader alone, or for all in-sync replicas."""
    replica = led()
    first = replica.produce(acks=1)
    assert [type(each) for each in first] == [steps.Append, steps.Answer]
    assert codes(replica.produce()) == []
    assert codes(replica.fetched(5, 2)) == []
    assert replica.state.high_watermark == 0
    assert codes(replica.fetched(6, 1)) == []
    assert replica.state.high_watermark == 1
    assert replica.fetched(6, 2) == [steps.Answer(2, ErrorCode.none, 1, appended=True)]


def test_only_a_leader_appends() -> None:
    assert codes(Replica().produce()) == [ErrorCode.not_leader_or_follower]
    follower = Replica()
    follower.assign(metadata(5))
    assert codes(follower.produce(acks=1)) == [ErrorCode.not_leader_or_follower]
    assert follower.state.log == Log()


def test_too_few_in_sync_replicas_refuse_before_and_after_the_append() -> None:
    replica = led(isr=(4,))
    assert codes(replica.produce(min_isr=2)) == [ErrorCode.not_enough_replicas]
    assert replica.state.log.end_offset == 0
    assert codes(replica.produce(acks=1, min_isr=2)) == [ErrorCode.none]
    pair = led(isr=(4, 5))
    pair.produce(min_isr=2)
    answers = pair.assign(metadata(isr=(4,), partition_epoch=1))
    assert answers == [
        steps.Answer(1, ErrorCode.not_enough_replicas_after_append, 0, appended=True)
    ]


def test_a_leader_that_is_none_any_more_answers_at_once() -> None:
    """A.2.17 (a): producers do not wait for their time-out."""
    replica = led()
    replica.produce()
    assert codes(replica.assign(metadata(5, leader_epoch=1, partition_epoch=1))) == [
        ErrorCode.not_leader_or_follower
    ]
    other = led()
    other.produce()
    assert codes(other.assign(None)) == [ErrorCode.not_leader_or_follower]
    assert isinstance(other.state.role, Absent)


def test_a_produce_that_waits_for_too_long_times_out() -> None:
    replica = led()
    replica.produce()
    replica.now_ms = 499
    assert replica.feed(steps.Tick()) == []
    replica.now_ms = 500
    assert codes(replica.feed(steps.Tick())) == [ErrorCode.request_timed_out]
    replica.fetched(5, 1)
    assert codes(replica.fetched(6, 1)) == []


def test_a_batch_that_was_sent_again_waits_and_is_answered_like_the_first() -> None:
    replica = led()
    replica.produce(producer=(7, 0, 0))
    again = replica.produce(producer=(7, 0, 0))
    assert again == []
    replica.fetched(5, 1)
    answers = replica.fetched(6, 1)
    assert [each.base_offset for each in answers if isinstance(each, steps.Answer)] == [0, 0]
    assert replica.state.log.end_offset == 1


def test_sequence_errors_reach_the_producer() -> None:
    replica = led()
    replica.produce(acks=1, producer=(7, 1, 0))
    assert codes(replica.produce(acks=1, producer=(7, 1, 2))) == [
        ErrorCode.out_of_order_sequence_number
    ]
    assert codes(replica.produce(acks=1, producer=(7, 0, 1))) == [ErrorCode.invalid_producer_epoch]


# --- the high watermark and the ISR -------------------------------------------------------


def test_a_new_leader_waits_until_all_of_the_isr_have_fetched_from_it() -> None:
    """A.5.4: what the others have is not known until they say it in this epoch."""
    log = Log().append(placed(batch(3), 0, 0))
    replica = Replica(recovered(log, 1))
    replica.assign(metadata(leader_epoch=1))
    assert replica.state.high_watermark == 1
    replica.fetched(5, 3)
    assert replica.state.high_watermark == 1
    replica.fetched(6, 2)
    assert replica.state.high_watermark == 2


def test_the_high_watermark_is_over_the_maximal_isr_while_a_proposal_is_pending() -> None:
    """B.6: neither the old nor the proposed set alone moves it."""
    replica = led(isr=(4, 5))
    replica.produce(acks=1)
    assert proposed(replica.fetched(6, 1)) == [(4, 5, 6)]
    assert replica.leading.maximal_isr == (4, 5, 6)
    replica.produce(acks=1)
    replica.fetched(5, 2)
    assert replica.state.high_watermark == 1  # the one that joins has not got it
    replica.fetched(6, 2)
    assert replica.state.high_watermark == 2

    lagging = led(isr=(4, 5))
    lagging.produce(acks=1)
    lagging.now_ms = 2000
    assert proposed(lagging.feed(steps.Tick())) == [(4,)]
    assert lagging.state.high_watermark == 0  # the controller may not agree
    pending = lagging.leading.pending
    assert pending is not None
    lagging.feed(steps.IsrAnswered(pending, ErrorCode.none, (4,), 1))
    assert lagging.state.high_watermark == 1
    assert lagging.leading.maximal_isr == (4,)


@pytest.mark.parametrize(
    ("fetch", "joins"),
    [
        ({"offset": 2}, True),
        ({"offset": 1}, False),  # below the high watermark
        ({"offset": 2, "active": False}, False),
        ({"offset": 2, "epoch": 10, "registered": 9}, False),
        ({"offset": 2, "epoch": 9, "registered": 10}, False),  # its former life
    ],
)
def test_who_may_join_the_isr(fetch: dict[str, int], joins: bool) -> None:
    """B.6: fetch offset, activity and broker epoch, of one state."""
    replica = led(isr=(4, 5))
    for _ in range(2):
        replica.produce(acks=1)
    replica.fetched(5, 2)
    assert replica.state.high_watermark == 2
    effects = replica.fetched(6, **fetch)  # type: ignore[arg-type]
    assert proposed(effects) == ([(4, 5, 6)] if joins else [])
    if joins:
        assert replica.leading.pending is not None
        assert replica.leading.pending.joining == ((6, 10),)


def test_a_follower_joins_only_behind_the_start_of_the_leader_epoch() -> None:
    """B.6: the high watermark of a new leader may be far below."""
    log = Log().append(placed(batch(), 0, 0)).append(placed(batch(), 1, 0))
    replica = Replica(recovered(log, 0))
    replica.assign(metadata(leader_epoch=3, isr=(4, 5)))
    assert proposed(replica.fetched(6, 1)) == []
    assert proposed(replica.fetched(6, 2)) == [(4, 5, 6)]


def test_a_fetch_of_a_broker_s_former_life_does_not_count() -> None:
    """A.3.15 (a), D.10: no progress, and the fencing error."""
    replica = led(isr=(4, 5))
    replica.produce(acks=1)
    replica.fetched(5, 0, epoch=12)
    late = steps.Fetched(5, 11, 1, 12, True)
    assert leader.check_replica(replica.state, late) == ErrorCode.stale_broker_epoch
    replica.feed(late)
    assert replica.state.high_watermark == 0
    unseen = steps.Fetched(6, 11, 1, 13, False)
    assert leader.check_replica(replica.state, unseen) == ErrorCode.stale_broker_epoch
    stranger = steps.Fetched(9, 11, 1, 11, True)
    assert leader.check_replica(replica.state, stranger) == ErrorCode.not_leader_or_follower


def test_a_follower_that_lags_leaves_and_one_that_has_all_stays() -> None:
    replica = led(isr=(4, 5, 6))
    replica.fetched(5, 0)
    replica.fetched(6, 0)
    replica.now_ms = 5000
    assert replica.feed(steps.Tick()) == []  # nothing is missing to them
    replica.produce(acks=1)
    replica.fetched(5, 1)
    replica.now_ms = 6000
    assert replica.feed(steps.Tick()) == []  # it had all until 5000
    replica.now_ms = 6001
    assert proposed(replica.feed(steps.Tick())) == [(4, 5)]
    assert replica.feed(steps.Tick()) == []  # one proposal at a time


def test_a_follower_that_never_gets_to_the_end_but_keeps_up_stays() -> None:
    """It is caught up with where the log ended at its fetch before."""
    replica = led(isr=(4, 5))
    for at_ms in range(0, 5000, 100):
        replica.now_ms = at_ms
        end = replica.state.log.end_offset
        replica.produce(acks=1)
        replica.fetched(5, end)
        assert proposed(replica.feed(steps.Tick())) == []


def test_answers_of_the_controller() -> None:
    """B.6: 107 and 55 leave the ISR as it was; of the others nothing is known until the
    metadata tells; an answer to an older proposal says nothing."""
    for code, pending in (
        (ErrorCode.ineligible_replica, False),
        (ErrorCode.operation_not_attempted, False),
        (ErrorCode.invalid_update_version, True),
        (ErrorCode.fenced_leader_epoch, True),
        (ErrorCode.unknown_topic_id, True),
        (ErrorCode.new_leader_elected, True),
    ):
        replica = led(isr=(4, 5))
        replica.fetched(6, 0)
        proposal = replica.leading.pending
        assert proposal is not None
        replica.feed(steps.IsrAnswered(proposal, code))
        assert (replica.leading.pending is not None) == pending, code
        replica.assign(metadata(isr=(4,), partition_epoch=1))
        assert replica.leading.pending is None
        assert replica.leading.isr == (4,)
        replica.feed(steps.IsrAnswered(proposal, ErrorCode.none, (4, 5, 6), 1))
        assert replica.leading.isr == (4,)


def test_metadata_that_is_behind_the_controllers_answer_changes_nothing() -> None:
    replica = led(isr=(4, 5))
    replica.fetched(6, 0)
    proposal = replica.leading.pending
    assert proposal is not None
    replica.feed(steps.IsrAnswered(proposal, ErrorCode.none, (4, 5, 6), 1))
    replica.assign(metadata(isr=(4, 5), partition_epoch=0))
    assert replica.leading.isr == (4, 5, 6)


# --- fetches ------------------------------------------------------------------------------


def test_a_fetch_has_to_name_the_epoch_and_to_continue_the_log() -> None:
    """A.6.4, B.2 rules 7 and 8, for data: D.10's stale epochs get their errors."""
    log = Log().append(placed(batch(3), 0, 2)).append(placed(batch(3), 3, 4))
    replica = Replica(recovered(log, 0))
    replica.assign(metadata(leader_epoch=6))
    judge = leader.judge
    assert judge(replica.state, 5, 6, 4).code == ErrorCode.fenced_leader_epoch
    assert judge(replica.state, 7, 6, 4).code == ErrorCode.unknown_leader_epoch
    assert judge(replica.state, 6, 6, 4) == judge(replica.state, -1, 6, -1) == leader.VALID
    assert judge(replica.state, 6, 7, -1).code == ErrorCode.offset_out_of_range
    assert judge(replica.state, 6, 5, 2).diverging == (2, 3)
    assert judge(replica.state, 6, 5, 3).diverging == (2, 3)
    assert judge(replica.state, 6, 7, 5).diverging == (4, 6)
    assert judge(replica.state, 6, 1, 1).diverging == (1, 0)
    assert judge(replica.state, 6, 3, 2) == leader.VALID
    replica.assign(metadata(5, leader_epoch=7, partition_epoch=1))
    assert judge(replica.state, 7, 6, 4).code == ErrorCode.not_leader_or_follower


# --- following ----------------------------------------------------------------------------


def following(log: Log, high_watermark: int = 0, leader_epoch: int = 1) -> Replica:
    replica = Replica(recovered(log, high_watermark))
    replica.assign(metadata(5, leader_epoch=leader_epoch))
    assert isinstance(replica.state.role, Following)
    return replica


def test_a_follower_appends_and_takes_over_the_high_watermark_as_far_as_it_has_it() -> None:
    replica = following(Log())
    batches = (placed(batch(2), 0, 0), placed(batch(1), 2, 1))
    effects = replica.feed(steps.Replicated(1, 0, batches, 9))
    assert effects == [steps.Append(each, leader=False) for each in batches]
    assert replica.state.high_watermark == 3
    replica.feed(steps.Replicated(1, 3, (), 2))
    assert replica.state.high_watermark == 3  # never back


def test_answers_from_another_epoch_or_to_an_older_fetch_say_nothing() -> None:
    replica = following(Log())
    made = (placed(batch(2), 0, 0),)
    assert replica.feed(steps.Replicated(0, 0, made, 2)) == []
    assert replica.feed(steps.Replicated(1, 1, made, 2)) == []
    assert replica.feed(steps.Diverged(0, 0, 0, 0)) == []
    assert replica.state.log == Log()


def test_truncation_to_the_smaller_of_both_ends_of_the_epoch() -> None:
    """B.2 rule 11, KIP-279: by epochs, not by the high watermark."""
    log = Log().append(placed(batch(4), 0, 0)).append(placed(batch(4), 4, 2))
    replica = following(log, 2, leader_epoch=3)
    assert replica.feed(steps.Diverged(3, 8, 2, 6)) == [steps.Truncate(6)]
    assert replica.state.log.epochs == ((0, 0), (2, 4))
    other = following(log, 2, leader_epoch=3)
    assert other.feed(steps.Diverged(3, 8, 1, 7)) == [steps.Truncate(4)]
    assert other.state.log.epochs == ((0, 0),)
    assert other.state.high_watermark == 2


def test_an_epoch_in_which_it_led_and_wrote_nothing_is_forgotten() -> None:
    """The next leader may go on in an older epoch than that."""
    replica = led(isr=(4, 5))
    replica.produce(acks=1)
    replica.assign(metadata(5, leader_epoch=1, partition_epoch=1))
    replica.assign(metadata(4, leader_epoch=2, partition_epoch=2))
    replica.assign(metadata(5, leader_epoch=3, partition_epoch=3))
    older = placed(batch(), 1, 0)
    assert replica.feed(steps.Replicated(3, 1, (older,), 0)) == [steps.Append(older, leader=False)]


def test_a_log_that_lost_its_tail_has_no_high_watermark_above_its_end() -> None:
    """A.3.15 (c): what is written down is no promise where the records are gone."""
    assert recovered(Log(), 7).high_watermark == 0


def test_who_came_up_before_it_was_active_joins_when_it_is() -> None:
    """It need not fetch again: in a fetch session an idle partition is not named."""
    replica = led(isr=(4,))
    replica.fetched(5, 0, active=False)
    replica.fetched(6, 0, active=False)
    assert proposed(replica.feed(steps.Tick({5: 9, 6: 9}))) == []
    assert proposed(replica.feed(steps.Tick({4: 1, 5: 10, 6: 10}))) == [(4, 5, 6)]


def test_any_replica_can_be_compared() -> None:
    """Within its log, whether it leads or follows; what is no replica is not read."""
    for role, codes in ((Following(5, 3, 0, (4, 5)), (0, 0, 1, 1)), (Absent(), (6, 6, 6, 6))):
        state = PartitionState(Log(end_offset=5), 3, role)
        judged = [leader.judge_anywhere(state, offset).code for offset in (0, 5, 6, -1)]
        assert judged == list(codes)


# --- other replicas -----------------------------------------------------------------------


def test_a_replica_that_is_added_joins_once_it_has_all() -> None:
    """KIP-455: under the same leader, and in its epoch. It is proposed as any other."""
    replica = led(isr=(4, 5, 6))
    replica.assign(metadata(replicas=(4, 5, 6, 7), partition_epoch=1))
    replica.produce(acks=1)
    for follower in (5, 6):
        replica.fetched(follower, 1)
    assert proposed(replica.fetched(7, 0)) == []
    assert proposed(replica.fetched(7, 1)) == [(4, 5, 6, 7)]


def test_what_completes_a_reassignment_is_not_taken_for_the_isr_of_this_epoch() -> None:
    """Another leader epoch comes with it, of which the metadata tells."""
    replica = led(isr=(4, 5))
    replica.produce(acks=1)
    (effect,) = (each for each in replica.fetched(6, 1) if isinstance(each, steps.Propose))
    elected = ErrorCode.new_leader_elected
    assert replica.feed(steps.IsrAnswered(effect.proposal, elected, (4, 6), 1)) == []
    assert replica.leading.pending == effect.proposal
    after = metadata(isr=(4, 6), replicas=(4, 6), leader_epoch=1, partition_epoch=1)
    assert proposed(replica.assign(after)) == []
    assert (replica.leading.isr, replica.leading.leader_epoch) == ((4, 6), 1)


def test_a_fetch_from_before_a_replica_went_says_nothing_of_what_it_has_now() -> None:
    """It went and came again, and has deleted its log meanwhile: the epoch of its fetch is over."""
    replica = led(isr=(4, 5, 6))
    replica.produce(acks=1)
    replica.assign(metadata(isr=(4, 5), replicas=(4, 5), leader_epoch=1, partition_epoch=1))
    replica.assign(metadata(isr=(4, 5), leader_epoch=1, partition_epoch=2))
    judged = leader.judge(replica.state, 0, 1, 0)
    assert judged.code == ErrorCode.fenced_leader_epoch
    assert proposed(replica.feed(steps.Tick({4: 10, 5: 10, 6: 10}))) == []
