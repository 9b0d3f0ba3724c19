"""What the batches of one partition's log say of each other, as it lies on a disk.

Whoever follows another leader cuts off what that one has not before it appends (KIP-101): leader
epochs never fall along a log. And what an idempotent producer sends again is known by its sequence
number (KIP-98): a batch with the same producer, sequence number and checksum, which is of its
producer's epoch and times, too, is the same batch, and stands there once.
"""

from collections.abc import Iterator
from itertools import pairwise

from checkers.folds.replicas.replica_logs import Logs, Partition, ReplicaLog
from framework.checking.findings import finding
from framework.evidence.partitions import PartitionAppended
from framework.evidence.run_events import RunEvents
from framework.plugins.checker import Finding


def epochs_along(events: RunEvents, logs: Logs) -> tuple[int, list[Finding]]:
    """Neighbours of which the later is of an earlier leader epoch, the first of each log; and how
    many were compared."""
    compared, findings = 0, list[Finding]()
    for key, node, batches in _each(events, logs):
        compared += max(0, len(batches) - 1)
        falls = (pair for pair in pairwise(batches) if pair[1].epoch < pair[0].epoch)
        for one, other in list(falls)[:1]:
            findings.append(
                finding(
                    f"{key[0]}/{key[1]} of {node}: the batch at offset {other.base_offset} is of "
                    f"leader epoch {other.epoch}, behind one at {one.base_offset} of {one.epoch}",
                    evidence=[one, other],
                )
            )
    return compared, findings


def written_once(events: RunEvents, logs: Logs) -> tuple[int, list[Finding]]:
    """Batches of idempotent producers that stand in a log twice, the first of each log; and how
    many there are."""
    compared, findings = 0, list[Finding]()
    for key, node, batches in _each(events, logs):
        own = [each for each in batches if None not in (each.producer_id, each.base_sequence)]
        compared += len(own)
        for one, other in list(_twice(own))[:1]:
            findings.append(
                finding(
                    f"{key[0]}/{key[1]} of {node}: the batch with sequence number "
                    f"{one.base_sequence} of producer {one.producer_id} is there at offset "
                    f"{one.base_offset}, and again at {other.base_offset}",
                    evidence=[one, other],
                )
            )
    return compared, findings


def _twice(
    batches: list[PartitionAppended],
) -> Iterator[tuple[PartitionAppended, PartitionAppended]]:
    first: dict[tuple[int | None, ...], PartitionAppended] = {}
    for each in batches:
        known = first.setdefault((each.producer_id, each.base_sequence, each.crc), each)
        if known is not each:
            yield known, each


def _each(
    events: RunEvents, logs: Logs
) -> Iterator[tuple[Partition, str, list[PartitionAppended]]]:
    """The batches of each log, from where it begins on: before, some may be of a log that it had
    taken the place of."""
    for key, own in sorted(logs.items()):
        for node, log in sorted(own.items()) if events.has(*key) else ():
            yield key, node, _from_its_start(log)


def _from_its_start(log: ReplicaLog) -> list[PartitionAppended]:
    return [each for _, each in sorted(log.batches.items()) if each.end_offset > log.start]
