"""Partitions' logs as nodes' disks held them at the end."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from framework.evidence.kinds import DISK, Evidence
from framework.evidence.partitions import PartitionAppended, PartitionLogOnDisk, PartitionTruncated
from framework.evidence.run_events import RunEvents

Partition: TypeAlias = tuple[str, int]
"""(topic id, partition)."""
Content: TypeAlias = tuple[int, int, int]
"""(end offset, leader epoch, CRC) of a batch."""


@dataclass(slots=True)
class ReplicaLog:
    """What a node's disk held of a partition at the end. `batches`: base offset -> batch."""

    batches: dict[int, PartitionAppended] = field(default_factory=dict)
    start: int = 0
    state: PartitionLogOnDisk | None = None

    def feed(self, each: Evidence) -> None:
        match each:
            case PartitionAppended():
                self.batches[each.base_offset] = each
            case PartitionTruncated():
                for base in [base for base in self.batches if base >= each.end_offset]:
                    del self.batches[base]
            case PartitionLogOnDisk():
                self.start, self.state = each.start_offset, each

    def between(self, begin: float, end: int) -> dict[int, Content]:
        """Batches that lie between, by their base offset."""
        return {
            base: (batch.end_offset, batch.epoch, batch.crc)
            for base, batch in sorted(self.batches.items())
            if begin < batch.end_offset <= end
        }


Logs: TypeAlias = Mapping[Partition, Mapping[str, ReplicaLog]]


def on_disk(events: RunEvents, *kinds: type[Evidence]) -> list[Evidence]:
    """In the order in which each node's disk came to hold it."""
    found = [each for each in events.of(*kinds) if each.source == DISK]
    return sorted(found, key=lambda each: (each.node, each.seq))


def final_logs(events: RunEvents) -> Logs:
    logs: dict[Partition, dict[str, ReplicaLog]] = defaultdict(dict)
    for each in on_disk(events, PartitionAppended, PartitionTruncated, PartitionLogOnDisk):
        assert isinstance(each, PartitionAppended | PartitionTruncated | PartitionLogOnDisk)
        own = logs[each.topic_id, each.partition]
        own.setdefault(each.node, ReplicaLog()).feed(each)
    return logs
