"""When the controller answers, and with what proof (A.7.17, B.9.4)."""

import uuid

import pytest
from controller_harness import Harness, State
from hypothesis import given
from hypothesis import strategies as st
from kio.schema.alter_partition.v3.request import AlterPartitionRequest

from nodes.kraft.controller import core, steps
from nodes.kraft.metadata.digest import digest
from nodes.kraft.wire.codes import codes
from nodes.kraft.wire.debug import ReadTopicsRequest
from nodes.kraft.wire.heartbeats import ControllerHeartbeatRequest

REQUEST_ID = uuid.UUID(int=99).bytes


@pytest.fixture
def harness():
    """Two active brokers; from here on nothing commits by itself."""
    harness = Harness().claim()
    harness.activate(4, 5)
    harness.settle = False
    return harness


def test_success_waits_for_its_commit(harness):
    """A.1.28, A.1.29: no answer before the records are committed."""
    assert harness.create("t", partitions=2) is None
    token = harness.token
    harness.commit(len(harness.log) - 1)
    assert token not in harness.answers
    harness.commit()
    assert harness.answers[token].topics[0].error_code == 0


def test_several_changes_are_in_flight_at_once(harness):
    """A.1.26, A.1.27: work goes on while earlier records are not committed."""
    assert harness.create("a") is None
    assert harness.create("b") is None
    first, second = harness.token - 1, harness.token
    harness.commit(harness.batches[-1][0])
    assert first in harness.answers and second not in harness.answers


def test_judged_on_the_uncommitted_state(harness):
    """A.1.27, B.6: the second create of a pending name fails, though nothing is committed yet."""
    harness.create("t")
    harness.create("t")
    harness.commit()
    assert harness.token not in harness.answers  # it still lacks its barrier
    harness.pass_barriers()
    assert harness.answers[harness.token].topics[0].error_code == 36


def test_refusal_waits_for_what_it_rests_on(harness):
    """A.1.28: that the name is taken is not told before the record that takes it is committed."""
    harness.create("t")
    harness.create("t")
    harness.pass_barriers()
    assert harness.token not in harness.answers
    harness.commit()
    assert harness.answers[harness.token].topics[0].error_code == 36


def test_read_needs_a_barrier_after_it_came(harness):
    """A.7.16: The linearizable read: no answer from a controller that may have been deposed."""
    assert harness.read("t") is None
    harness.commit()
    assert harness.token not in harness.answers
    harness.pass_barriers()
    assert harness.answers[harness.token].topics[0].error_code == 3


def test_read_is_made_when_it_is_answered(harness):
    """The read shows what is committed when its proof is there, and names that place."""
    harness.read("t")
    token = harness.token
    harness.create("t")
    harness.commit()
    harness.pass_barriers()
    read = harness.answers[token]
    assert read.topics[0].error_code == 0
    assert (read.epoch, read.offset) == (1, len(harness.log))


def test_read_shows_nothing_uncommitted(harness):
    """A.1.28: a read between append and commit waits for the commit."""
    harness.create("t")
    harness.read("t")
    harness.pass_barriers()
    assert harness.token not in harness.answers
    harness.commit()
    assert harness.answers[harness.token].topics[0].error_code == 0


def test_renounced_with_records_appended_is_unknown(harness):
    """A.7.17: 7 where records may yet commit."""
    harness.create("t")
    harness.feed(steps.Renounce())
    assert harness.answers[harness.token].topics[0].error_code == 7
    assert harness.answers[harness.token].topics[0].topic_id is None


def test_renounced_without_records_is_definite(harness):
    """A.7.17: 41 only where nothing was appended."""
    harness.create("/")
    harness.feed(steps.Renounce())
    assert harness.answers[harness.token].topics[0].error_code == 41


def test_renounced_batch_of_mixed_fate(harness):
    """A.7.17, item by item: the refused topic has certainly no effect."""
    harness.create("good", "/bad")
    harness.feed(steps.Renounce())
    results = {t.name: t.error_code for t in harness.answers[harness.token].topics}
    assert results == {"good": 7, "/bad": 41}


def test_renounced_read_and_heartbeats(harness):
    """A.7.17 for the other requests."""
    epochs = {b: broker.epoch for b, broker in harness.committed.brokers.items()}
    harness.read()
    harness.heartbeat(4, epochs[4])  # renewal
    harness.heartbeat(5, epochs[5], target=State.FENCED)  # appends
    harness.feed(steps.Renounce())
    assert [harness.answers[harness.token - back].error_code for back in (2, 1, 0)] == [41, 41, 7]


def test_failed_barrier_is_definite(harness):
    """A.5.10, A.7.17: no proof, no answer but NOT_CONTROLLER."""
    harness.read("t")
    harness.pass_barriers(confirmed=False)
    assert harness.answers[harness.token].error_code == 41


@pytest.mark.parametrize("timeout_ms", [0, 300])
def test_time_out_with_records_appended(harness, timeout_ms):
    """A.7.17: 7 after the request's own timeout; nothing is answered twice."""
    harness.create("t", timeout_ms=timeout_ms)
    assert core.deadline_ms(harness.state) == timeout_ms
    harness.tick(timeout_ms)
    assert harness.answers[harness.token].topics[0].error_code == 7
    harness.commit()


def test_time_out_before_it(harness):
    harness.create("t", timeout_ms=300)
    harness.tick(299)
    assert harness.token not in harness.answers


def test_inactive_controller_answers_at_once():
    """A.1.81, A.1.85, A.4.3: NOT_CONTROLLER in each response's own shape."""
    harness = Harness()
    harness.settle = False
    assert harness.heartbeat(4).error_code == 41
    assert (
        harness.ask(ControllerHeartbeatRequest(controller_id=2, last_snapshot_offset=0)).error_code
        == 41
    )
    assert set(codes(harness.create("a", "b"))) == {41}
    assert set(codes(harness.delete("a", uuid.UUID(int=3)))) == {41}
    assert harness.ask(ReadTopicsRequest(names=())).error_code == 41
    alter = AlterPartitionRequest(broker_id=4, broker_epoch=0, topics=())
    assert harness.ask(alter).error_code == 41
    assert (harness.log, harness.barriers) == ([], [])
    assert core.deadline_ms(harness.state) is None


def test_failover_leaves_no_trace_of_what_was_truncated(harness):
    """A.1.30: and the ids drawn for it are not drawn again (D.19)."""
    harness.create("t")
    lost = harness.records(harness.committed_end)[0].topic_id
    harness.fail_over()
    harness.settle = True
    assert harness.read("t").topics[0].error_code == 3
    harness.create("t")
    assert harness.committed.topic_ids["t"] != lost


def test_failover_keeps_what_reached_the_log(harness):
    """A.7.17: what was answered 7 may have taken effect."""
    harness.create("t")
    harness.fail_over(keep_to=len(harness.log))
    harness.settle = True
    assert harness.read("t").topics[0].error_code == 0


def test_controller_heartbeat():
    """A.1.41, A.1.42, A.1.83: answered, behind its proof; the offsets are soft state."""
    harness = Harness(settle=False, controller_ids=frozenset({1, 2, 3})).claim()
    end = len(harness.log)
    harness.ask(ControllerHeartbeatRequest(controller_id=2, last_snapshot_offset=77))
    harness.pass_barriers()
    assert len(harness.log) == end, "never in the log"
    answer = harness.answers[harness.token]
    assert (answer.error_code, answer.start_snapshot) == (0, False)
    assert harness.state.leadership.snapshots.reports[2].snapshot_offset == 77
    harness.fail_over()
    assert 2 not in harness.state.leadership.snapshots.reports


def test_retry_is_reported_what_the_first_attempt_did(harness):
    """B.9.4: a create whose answer was lost is not answered 36 when it comes again."""
    harness.settle = True
    first = harness.create("t", request_id=REQUEST_ID)
    again = harness.create("t", request_id=REQUEST_ID)
    assert again == first and again.topics[0].error_code == 0
    assert len(harness.committed.topics) == 1


def test_retried_delete_does_not_kill_the_next_incarnation(harness):
    """B.9.4: a delayed delete by name, come again."""
    harness.settle = True
    harness.create("t")
    first = harness.delete("t", request_id=REQUEST_ID)
    harness.create("t")
    assert harness.delete("t", request_id=REQUEST_ID) == first
    assert harness.committed.topic("t") is not None


def test_retry_waits_for_the_first_attempt(harness):
    """A.1.28, B.9.4: while the first attempt is not committed, the second waits with it; lost
    then, its fate is unknown too."""
    harness.create("t", request_id=REQUEST_ID)
    harness.create("t", request_id=REQUEST_ID)
    harness.pass_barriers()
    assert harness.token not in harness.answers
    harness.feed(steps.Renounce())
    assert harness.answers[harness.token].topics[0].error_code == 7


def test_retry_at_the_next_controller(harness):
    """B.9.4: the id is on the log; a truncated first attempt leaves the second free."""
    harness.create("kept", request_id=REQUEST_ID)
    harness.fail_over(keep_to=len(harness.log))
    harness.settle = True
    assert harness.create("kept", request_id=REQUEST_ID).topics[0].error_code == 0
    assert len(harness.committed.topics) == 1
    harness.settle = False
    other = uuid.UUID(int=5).bytes
    harness.create("lost", request_id=other)
    harness.fail_over()
    harness.settle = True
    assert harness.create("lost", request_id=other).topics[0].error_code == 0
    assert len(harness.committed.topics) == 2


def test_refused_request_is_not_remembered(harness):
    """B.9.4: nothing was appended, so it is judged anew."""
    harness.settle = True
    assert harness.delete("t", request_id=REQUEST_ID).responses[0].error_code == 3
    harness.create("t")
    assert harness.delete("t", request_id=REQUEST_ID).responses[0].error_code == 0


def test_request_record_ends_the_batch(harness):
    harness.create("a", "b", request_id=REQUEST_ID)
    start, end = harness.batches[-1]
    kinds = [type(record).__name__ for record in harness.records(start)]
    assert kinds.count("RequestRecord") == 1 and kinds[-1] == "RequestRecord"
    assert end - start == 5


def test_decisions_are_reported(harness):
    """docs/operating.md: what was decided, from what, on which state, as which records."""
    harness.settle = True
    harness.create("t", assignment=[[4, 5]])
    topic_id = harness.committed.topic_ids["t"]
    epoch = harness.committed.brokers[4].epoch
    end = len(harness.log)
    harness.alter(topic_id, 4, epoch, [4])
    assert harness.last == steps.Decided(
        token=harness.token,
        api="AlterPartition",
        source={
            "broker_id": 4,
            "broker_epoch": epoch,
            "topic_id": str(topic_id),
            "partition": 0,
            "leader_epoch": 0,
            "partition_epoch": 0,
        },
        verdict=0,
        as_of=end,
        records=(end,),
        items=(
            {
                "topic_id": str(topic_id),
                "partition": 0,
                "leader_epoch": 0,
                "partition_epoch": 0,
                "code": 0,
                "records": [end],
            },
        ),
    )
    harness.alter(topic_id, 4, epoch, [4])
    assert (harness.last.verdict, harness.last.records) == (95, ())


def test_what_became_of_each_part_of_a_batch_is_reported(harness):
    """The first ISR change is refused, the second accepted, and so are two of three topics."""
    harness.settle = True
    harness.create("t", assignment=[[4, 5], [4, 5]])
    topic_id = harness.committed.topic_ids["t"]
    end = len(harness.log)
    harness.alter_all(topic_id, 4, {0: 7, 1: 0})
    reported = [(each["partition"], each["code"], each["records"]) for each in harness.last.items]
    assert reported == [(0, 41, []), (1, 0, [end])]
    assert harness.last.verdict == 0
    harness.create("t", "u", "v")
    assert [(each["topic"], each["code"]) for each in harness.last.items] == [
        ("t", 36),
        ("u", 0),
        ("v", 0),
    ]
    stale = harness.alter_all(topic_id, 4, {0: 0, 1: 1}, broker_epoch=0)
    assert stale.error_code == 77
    assert [each["code"] for each in harness.last.items] == [77, 77]


def test_images_of_appender_and_replayer_are_equal(harness):
    """A.1.23, A.1.27: a standby that replays the log has what the active controller has."""
    harness.settle = True
    harness.create("t", partitions=3)
    harness.settle = False
    harness.create("u")
    speculative = digest(harness.state.leadership.speculative)
    harness.commit()
    assert digest(harness.committed) == speculative


@given(st.integers(0, 2**31), st.integers(1, 1000))
def test_same_seed_same_choices(seed, epoch):
    """Design rule 7: a seed fixes every decision."""

    def run():
        harness = Harness(seed=seed)
        harness.epoch = epoch
        harness.claim()
        harness.activate(4, 5, 6)
        harness.create("t", partitions=4, replication=2)
        return harness.log

    assert run() == run()
