"""Partitions' logs as disks held them at the end (`folds/replicas/replica_logs.py`)."""

from typing import Any

from checkers.folds.replicas.replica_logs import ReplicaLog, final_logs, on_disk
from framework.evidence.kinds import DISK, Evidence
from framework.evidence.partitions import PartitionAppended, PartitionLogOnDisk, PartitionTruncated
from framework.evidence.run_events import RunEvents

FIXED: dict[str, Any] = {"node": "b1", "source": DISK, "topic_id": "T", "partition": 0}


def batch(base: int, crc: int = 0, **more: Any) -> PartitionAppended:
    fields: dict[str, Any] = {"leading": None, "producer_id": None, "base_sequence": None}
    at = {"base_offset": base, "end_offset": base + 2, "epoch": 3, "crc": crc or base}
    return PartitionAppended(**{**FIXED, **fields, **at, **more})


def cut(end: int, **more: Any) -> PartitionTruncated:
    return PartitionTruncated(**{**FIXED, "end_offset": end, **more})


def lies(start: int, **more: Any) -> PartitionLogOnDisk:
    fields = {"end_offset": 9, "torn": False, "wrong": (), "epochs": None}
    return PartitionLogOnDisk(**{**FIXED, **fields, "start_offset": start, **more})


def held(*evidence: Evidence) -> ReplicaLog:
    log = ReplicaLog()
    for each in evidence:
        log.feed(each)
    return log


def test_what_is_cut_off_is_gone_and_what_is_written_again_counts() -> None:
    log = held(batch(0), batch(2), batch(4), cut(2), batch(2, crc=7))
    assert {base: each.crc for base, each in log.batches.items()} == {0: 0, 2: 7}
    assert (log.start, log.state) == (0, None)


def test_what_was_found_of_it_last_counts() -> None:
    log = held(lies(1), lies(4))
    assert (log.start, log.state) == (4, lies(4))


def test_batches_between_two_offsets() -> None:
    """One that reaches over the begin is there, one that reaches over the end is not."""
    log = held(batch(4), batch(0), batch(2))
    assert log.between(2, 6) == {2: (4, 3, 2), 4: (6, 3, 4)}
    assert list(log.between(1, 6)) == [0, 2, 4]
    assert list(log.between(1, 5)) == [0, 2]
    assert log.between(6, 9) == {}


def test_only_what_was_found_on_disks_counts_in_the_order_of_each_node() -> None:
    disk = [batch(0, node="b2", seq=1), batch(0, seq=9), cut(0, seq=4)]
    events = RunEvents(evidence=[*disk, batch(2, source="event")])
    kinds = PartitionAppended, PartitionTruncated
    assert on_disk(events, *kinds) == [disk[2], disk[1], disk[0]]
    assert on_disk(events, PartitionTruncated) == [disk[2]]
    assert on_disk(events) == []


def test_each_node_has_a_log_of_each_partition_that_its_disk_held() -> None:
    evidence = [
        batch(0, seq=1),
        batch(2, seq=2),
        lies(1, seq=3),
        batch(0, partition=1, seq=4),
        batch(0, topic_id="U", seq=5),
        batch(0, node="b2", seq=1),
        cut(0, node="b2", seq=2),
    ]
    logs = final_logs(RunEvents(evidence=evidence))
    found = {
        (*key, node): list(log.batches) for key, own in logs.items() for node, log in own.items()
    }
    assert found == {
        ("T", 0, "b1"): [0, 2],
        ("T", 0, "b2"): [],
        ("T", 1, "b1"): [0],
        ("U", 0, "b1"): [0],
    }
    assert logs["T", 0]["b1"].start == 1
