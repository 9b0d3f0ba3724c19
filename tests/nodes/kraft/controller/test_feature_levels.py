"""`metadata.format`: finalized in the log, deciding its bytes, required of brokers (KIP-584)."""

import pytest
from controller_harness import Harness, State

from nodes.kraft.controller import core
from nodes.kraft.metadata.image import EMPTY
from nodes.kraft.metadata.records import UnsupportedRecordVersion, decode_record, encode_record
from nodes.kraft.metadata.snapshot import image_of, records_of
from nodes.kraft.wire.records import FeatureLevelRecord, IsrChangeRecord, PartitionRecord


def kinds(values):
    """(type, version) of each value."""
    return [tuple(value[:2]) for value in values]


def test_the_first_active_controller_finalizes_its_level():
    """A.1.36: a record of its own, before anything else; the next controller leaves it."""
    led = Harness(metadata_format=1).claim()
    assert core.deadline_ms(led.state) == 0  # at once
    led.tick(0)
    assert led.records(1) == [FeatureLevelRecord(name="metadata.format", feature_level=1)]
    assert dict(led.committed.features) == {"metadata.format": 1}
    led.fail_over()
    led.tick(1)
    assert [type(each).__name__ for each in led.records(2)] == ["NoOpRecord"]


def test_a_request_that_comes_first_finds_it_finalized():
    led = Harness(metadata_format=2).claim()
    assert led.heartbeat(4, levels=(1, 1)).error_code == 35
    assert dict(led.committed.features) == {"metadata.format": 2}


def test_a_level_rises_with_the_next_controller_and_never_falls():
    led = Harness(metadata_format=1).claim()
    led.tick(0)
    led.state = core.initial(
        core.ControllerConfig(controller_id=1, cluster_id="test", metadata_format=2)
    )
    led.fail_over()
    led.tick(1)
    assert dict(led.committed.features) == {"metadata.format": 2}
    led.state = core.initial(
        core.ControllerConfig(controller_id=1, cluster_id="test", metadata_format=1)
    )
    led.fail_over()
    led.tick(2)
    assert dict(led.committed.features) == {"metadata.format": 2}


def test_the_level_decides_what_is_written():
    """A.1.36: level 1 writes version 0 of every record, level 2 version 1 of two of them; in
    the log and in snapshots."""
    for level, version in ((1, 0), (2, 1)):
        led = Harness(metadata_format=level).claim()
        led.tick(0)
        epochs = {each: led.heartbeat(each, levels=(1, 2)).broker_epoch for each in (4, 5)}
        for each, epoch in epochs.items():
            led.heartbeat(each, epoch, levels=(1, 2))
        led.create("t", assignment=[[4, 5]])
        led.heartbeat(4, epochs[4], target=State.SHUTDOWN, levels=(1, 2))
        written = dict(kinds(led.log))
        assert written == {20: 0, 12: 0, 0: 0, 8: 0, 1: 0, 2: version, 4: version}
        snapshot = list(records_of(led.committed))
        assert dict(kinds(snapshot)) == {12: 0, 0: 0, 1: 0, 2: version}
        assert image_of(snapshot) == led.committed


def test_the_two_levels_say_the_same():
    record = PartitionRecord(
        partition_id=1,
        topic_id=None,
        replicas=(4, 5),
        isr=(4,),
        leader=4,
        leader_epoch=3,
        partition_epoch=7,
    )
    change = IsrChangeRecord(
        partition_id=1, topic_id=None, isr=(4,), leader=4, leader_epoch=3, partition_epoch=7
    )
    for each in (record, change):
        one, two = encode_record(each, 1), encode_record(each, 2)
        assert decode_record(one) == decode_record(two) == each
        assert one[1] == 0 and two[1] == 1
        # Version 1 ends with the epoch and no tagged field; version 0 with one of five bytes.
        assert two[2:-1] == one[2:-7] + (7).to_bytes(4, "big") and two[-1] == 0


def test_a_version_to_come_is_refused_by_name():
    """A.1.35."""
    with pytest.raises(UnsupportedRecordVersion, match=r"IsrChangeRecord version 2; .* 0 and 1"):
        decode_record(b"\x04\x02" + b"\0" * 30)


# --- brokers ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("levels", "error"), [((1, 2), 0), ((2, 3), 0), ((1, 1), 35), ((3, 4), 35), (None, 35)]
)
def test_a_broker_that_lacks_a_level_is_refused(levels, error):
    """A.1.50, A.7.4: with 35; one that says nothing knows level 1 alone."""
    led = Harness(metadata_format=2).claim()
    answer = led.heartbeat(4, levels=levels)
    assert answer.error_code == error
    assert (4 in led.committed.brokers) == (error == 0)
    if error:
        assert State(answer.next_state) == State.FENCED and answer.broker_epoch == -1


def test_a_registered_broker_that_lacks_a_new_level_loses_its_lease():
    """A.1.50, A.1.54: refused renewal; nothing but time ends what it was granted."""
    led = Harness(metadata_format=1).claim()
    epoch = led.activate(4)[4]
    led.state = core.initial(
        core.ControllerConfig(controller_id=1, cluster_id="test", metadata_format=2)
    )
    led.fail_over()
    led.now_ms = 100
    assert led.heartbeat(4, epoch).error_code == 35
    led.tick(4999)
    assert not led.committed.brokers[4].fenced
    led.tick(5000)
    assert led.committed.brokers[4].fenced


def test_without_a_finalized_level_nothing_is_asked():
    led = Harness().claim()
    assert led.heartbeat(4).error_code == 0
    assert EMPTY.features == led.committed.features
