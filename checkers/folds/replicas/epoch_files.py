"""What a broker writes down of leader epochs beside a log (`leader-epoch-checkpoint`, KIP-101).

A follower cuts its log by what its leader finds there, and a leader by nothing else: a file that
contradicts the batches beside it loses or keeps the wrong ones at the next failover. Brokers write
an epoch down before its first batch (UnifiedLog, LeaderEpochFileCache.assign).
"""

from collections.abc import Callable, Iterator
from itertools import islice, pairwise

from checkers.folds.replicas.replica_logs import Logs, Partition, ReplicaLog
from framework.checking.findings import finding
from framework.evidence.partitions import EpochStart, PartitionAppended, PartitionLogOnDisk
from framework.evidence.run_events import RunEvents
from framework.plugins.checker import Count, Finding


def epochs_written_down(
    events: RunEvents, logs: Logs, kept_from: Callable[[Partition], float]
) -> tuple[Count, list[Finding]]:
    """Batches of another epoch than the file beside their log says, and how many were looked up.
    One finding a log. `kept_from`: below which records may have been removed: the file is cut off
    there at once, while files of records stay until they are due."""
    compared, findings, files = 0, list[Finding](), False
    for key, own in sorted(logs.items()):
        for node, log in sorted(own.items()):
            state = log.state
            if not events.has(*key) or state is None or state.epochs is None:
                continue
            files = True
            if state.torn or state.wrong:
                continue  # what was read of the log is not all of it
            batches = _kept(log, state, kept_from(key), state.epochs)
            compared += len(batches)
            findings += islice(_wrong(key, node, state.epochs, batches, state), 1)
    return compared if files else "nodes write no leader epochs down beside their logs", findings


def _kept(
    log: ReplicaLog, state: PartitionLogOnDisk, kept: float, epochs: tuple[EpochStart, ...]
) -> list[PartitionAppended]:
    """Batches that nothing can have removed, and of the others those of which an epoch is there."""
    first = epochs[0].start_offset if epochs else float("inf")
    own = sorted(log.batches.items())
    return [each for base, each in own if base >= state.start_offset and base >= min(kept, first)]


def _wrong(
    key: Partition,
    node: str,
    epochs: tuple[EpochStart, ...],
    batches: list[PartitionAppended],
    state: PartitionLogOnDisk,
) -> Iterator[Finding]:
    where = f"{key[0]}/{key[1]} of {node}"
    for one, other in pairwise(epochs):
        if other.epoch <= one.epoch or other.start_offset < one.start_offset:
            yield finding(
                f"{where}: epoch {other.epoch} is written down from offset {other.start_offset} "
                f"on, behind epoch {one.epoch} from {one.start_offset} on",
                evidence=[state],
            )
    for batch in batches:
        said = [each.epoch for each in epochs if each.start_offset <= batch.base_offset]
        if not said or said[-1] != batch.epoch:
            yield finding(
                f"{where}: the batch at offset {batch.base_offset} is of leader epoch "
                f"{batch.epoch}, and written down is {said[-1] if said else 'none'}",
                evidence=[batch, state],
            )
