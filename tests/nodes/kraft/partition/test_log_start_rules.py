"""Where a log begins, rule by rule: DeleteRecords at a leader, and followers that come after."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode

from nodes.kraft.partition import core, epochs, leader, steps
from nodes.kraft.partition.batches import Batch, placed
from nodes.kraft.partition.state import Following, Log, PartitionState, empty_log, recovered
from tests.nodes.kraft.partition.batch_making import batch
from tests.nodes.kraft.partition.test_partition_rules import CONFIG, ME, Replica, led, metadata

BOTH = (4, 5)


class Pair(Replica):
    """The leader of two replicas in sync, with five records that both have."""

    def __init__(self) -> None:
        super().__init__()
        self.assign(metadata(isr=BOTH, replicas=BOTH))
        for _ in range(5):
            self.produce()
        self.follower_at(5)
        assert self.state.high_watermark == 5

    def delete(self, before: int, token: int = 90) -> list[steps.Effect]:
        return self.feed(steps.DeleteRecords(token, before, self.now_ms + 500))

    def follower_at(self, offset: int, start: int = 0, replica: int = 5) -> list[steps.Effect]:
        return self.feed(steps.Fetched(replica, 10, offset, 10, True, start))


def test_it_is_answered_when_all_in_sync_have_it_on_disk() -> None:
    pair = Pair()
    assert pair.delete(3) == [steps.SaveStart(3)]
    assert (pair.state.log.start_offset, pair.state.saved_start) == (3, 0)
    assert pair.feed(steps.StartSaved(3)) == [steps.DropBelow(3)]
    assert pair.follower_at(5, start=2) == []
    assert pair.follower_at(5, start=3) == [steps.Deleted(90, ErrorCode.none, 3)]
    assert not leader.waited_for(pair.state)


def test_a_follower_that_is_first_does_not_answer_for_the_leaders_disk() -> None:
    pair = Pair()
    pair.delete(3)
    assert pair.follower_at(5, start=3) == []
    assert pair.feed(steps.StartSaved(3)) == [
        steps.DropBelow(3),
        steps.Deleted(90, ErrorCode.none, 3),
    ]


def test_a_log_begins_never_earlier_and_is_answered_with_where_it_does() -> None:
    pair = Pair()
    pair.delete(3)
    pair.feed(steps.StartSaved(3))
    pair.follower_at(5, start=3)
    assert pair.delete(2) == [steps.Deleted(90, ErrorCode.none, 3)]
    assert pair.state.log.start_offset == 3


def test_minus_one_is_the_high_watermark_and_beyond_it_is_out_of_range() -> None:
    pair = Pair()
    pair.produce()
    assert (pair.state.log.end_offset, pair.state.high_watermark) == (6, 5)
    assert pair.delete(6) == [steps.Deleted(90, ErrorCode.offset_out_of_range)]
    assert pair.delete(-2) == [steps.Deleted(90, ErrorCode.offset_out_of_range)]
    assert pair.state.log.start_offset == 0
    assert pair.delete(-1) == [steps.SaveStart(5)]


def test_only_a_leader_deletes_and_one_that_is_none_any_more_says_so() -> None:
    follower = Replica()
    follower.assign(metadata(5))
    refused = [steps.Deleted(90, ErrorCode.not_leader_or_follower)]
    assert follower.feed(steps.DeleteRecords(90, 0, 500)) == refused
    pair = Pair()
    pair.delete(3)
    assert pair.assign(metadata(5, BOTH, 1, 1, BOTH)) == refused


def test_it_times_out_and_is_done_all_the_same() -> None:
    pair = Pair()
    pair.delete(3)
    pair.feed(steps.StartSaved(3))
    pair.now_ms = 499
    assert pair.feed(steps.Tick()) == []
    pair.now_ms = 500
    assert pair.feed(steps.Tick()) == [steps.Deleted(90, ErrorCode.request_timed_out, 0)]
    assert pair.state.log.start_offset == 3


def test_who_leaves_the_isr_is_waited_for_no_longer() -> None:
    pair = Pair()
    pair.delete(3)
    pair.feed(steps.StartSaved(3))
    alone = metadata(isr=(4,), partition_epoch=1, replicas=BOTH)
    assert pair.assign(alone) == [steps.Deleted(90, ErrorCode.none, 3)]


def test_nobody_joins_the_isr_before_its_log_begins_where_the_leaders_does() -> None:
    """So a later leader begins there, too."""
    pair = Pair()
    pair.assign(metadata(isr=(4,), partition_epoch=1, replicas=BOTH))
    pair.delete(3)
    assert pair.follower_at(5, start=0) == []
    (proposal,) = pair.follower_at(5, start=3)
    assert isinstance(proposal, steps.Propose)
    assert proposal.proposal.isr == BOTH


def test_what_is_below_the_start_is_out_of_range() -> None:
    pair = Pair()
    pair.delete(3)
    refused = leader.Judged(ErrorCode.offset_out_of_range)
    assert leader.judge(pair.state, 0, 2, -1) == refused
    assert leader.judge(pair.state, 0, 3, -1) == leader.VALID
    assert leader.judge_anywhere(pair.state, 2) == refused
    assert leader.judge_anywhere(pair.state, 3) == leader.VALID


# --- followers ----------------------------------------------------------------------------


def following(state: PartitionState | None = None) -> Replica:
    replica = Replica(state)
    replica.assign(metadata(5))
    assert isinstance(replica.state.role, Following)
    return replica


def stored(count: int, epoch: int = 0) -> tuple[Batch, ...]:
    return tuple(placed(batch(), number, epoch) for number in range(count))


def test_a_follower_begins_where_its_leader_does_up_to_its_high_watermark() -> None:
    replica = following()
    replica.feed(steps.Replicated(0, 0, stored(3), 2))
    assert replica.feed(steps.Replicated(0, 3, (), 2, 1)) == [steps.SaveStart(1)]
    assert replica.feed(steps.Replicated(0, 3, (), 2, 3)) == [steps.SaveStart(2)]
    assert replica.feed(steps.Replicated(0, 3, (), 2, 1)) == []
    assert replica.state.log.start_offset == 2
    assert replica.state.saved_start == 0
    replica.feed(steps.StartSaved(2))
    assert replica.state.saved_start == 2


def test_one_that_is_behind_the_start_begins_anew_there() -> None:
    replica = following()
    replica.feed(steps.Replicated(0, 0, stored(3), 3))
    assert replica.feed(steps.OutOfRange(1, 3, 10)) == []  # of another epoch
    assert replica.feed(steps.OutOfRange(0, 2, 10)) == []  # to an older fetch
    assert replica.feed(steps.OutOfRange(0, 3, 10)) == [steps.Restart(10), steps.SaveStart(10)]
    assert replica.state.log == empty_log(10)
    assert replica.state.high_watermark == 10
    assert replica.state.saved_start == 0
    after = placed(batch(), 10, 0)
    assert replica.feed(steps.Replicated(0, 10, (after,), 11)) == [steps.Append(after, False)]


def test_one_whose_leader_lost_what_it_begins_with_begins_there() -> None:
    replica = following(recovered(Log(8, ((0, 6),), start_offset=6), 8))
    assert replica.feed(steps.Diverged(0, 8, 0, 4)) == [steps.Restart(4), steps.SaveStart(4)]
    assert (replica.state.log, replica.state.saved_start) == (empty_log(4), 4)


def test_a_save_that_comes_after_a_new_beginning_says_no_more_than_that() -> None:
    replica = following(recovered(Log(8, ((0, 0),)), 8))
    assert replica.feed(steps.Replicated(0, 8, (), 8, 6)) == [steps.SaveStart(6)]
    replica.feed(steps.Diverged(0, 8, 0, 4))
    assert replica.feed(steps.StartSaved(6)) == [steps.DropBelow(4)]
    assert replica.state.saved_start == 4


def test_a_recovered_replica_begins_where_its_disk_says() -> None:
    state = recovered(empty_log(7), 0)
    assert (state.high_watermark, state.saved_start) == (7, 7)
    replica = Replica(state)
    replica.assign(metadata(isr=(ME,), replicas=(ME,)))
    assert replica.feed(steps.DeleteRecords(1, 7, 500)) == [steps.Deleted(1, ErrorCode.none, 7)]
    assert isinstance(core.step(CONFIG, replica.state, steps.Tick(), 0)[0], PartitionState)


@pytest.mark.parametrize(
    ("start", "left"),
    [
        (0, ((1, 0), (3, 5), (4, 5), (7, 9))),
        (4, ((1, 4), (3, 5), (4, 5), (7, 9))),
        (5, ((4, 5), (7, 9))),
        (12, ((7, 12),)),
    ],
)
def test_epochs_of_a_log_that_begins_later(start: int, left: epochs.Epochs) -> None:
    known = ((1, 0), (3, 5), (4, 5), (7, 9))
    assert epochs.begun(known, start) == left
    assert epochs.begun((), start) == ()


def test_producers_are_remembered_beyond_the_start() -> None:
    """A repeated batch is still a repeated one, though it is deleted."""
    replica = led(isr=(4,))
    replica.produce(producer=(7, 0, 0))
    replica.feed(steps.DeleteRecords(90, -1, 500))
    (answer,) = replica.produce(producer=(7, 0, 0))
    assert answer == steps.Answer(2, ErrorCode.none, 0, appended=True)
