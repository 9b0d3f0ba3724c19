"""Who was in a partition's ISR, and led it, when all was read at the end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TypeAlias

from checkers.folds.history.values import partitions_shown, topic_answer
from checkers.folds.isr.in_sync import Settings
from checkers.folds.metadata_log.disk_logs import committed_on_disks
from checkers.folds.metadata_log.shown_ends import leaders_word
from checkers.folds.replicas.replica_logs import Partition
from framework.evidence.changes import (
    PartitionCreated,
    PartitionState,
    TopicDeletionBegun,
    TopicRemoved,
)
from framework.evidence.kinds import Evidence
from framework.evidence.run_events import RunEvents, of_disks
from framework.history.pairing import Operation


@dataclass(frozen=True, slots=True)
class FinalIsr:
    """Who was in sync when all was read, who led in which epoch, and the topic's name. `read`: what
    shows it, or with which `record` the committed log ended then."""

    members: Sequence[int]
    leader: int
    epoch: int
    read: Operation
    topic: str
    record: PartitionState | None = None

    def __str__(self) -> str:
        by = f"by operation {self.read.index}"
        return by if self.record is None else f"{by} and the record at offset {self.record.offset}"

    @property
    def records(self) -> list[Evidence]:
        return [] if self.record is None else [self.record]


Isrs: TypeAlias = Mapping[Partition, FinalIsr]


def final_isrs(events: RunEvents) -> tuple[Isrs, str]:
    """By the last linearizable read of each in the final phase; of others by the committed log on
    disks, up to where it went when an observer was last told that; and why that is not known. Who
    has been let off since is left out."""
    found, why = _isrs_on_disk(events)
    for each in events.operations:
        if each.f == "describe" and each.ok and each.phase == "final" and each.result:
            for shown in partitions_shown(each):
                key = str(topic_answer(each)["topic_id"]), shown["partition"]
                leads = shown["leader"], shown["leader_epoch"]
                found[key] = FinalIsr(shown["isr"], *leads, each, str(each.key))
    return _let_off(found, events), why


def _let_off(isrs: Isrs, events: RunEvents) -> Isrs:
    """Without who has to keep a log no longer: a move or a deletion that had no answer may be
    carried out after all was read. Any disk may say so."""
    last: dict[Partition, PartitionCreated] = {}
    gone = set[str]()
    for each in of_disks(events.evidence, (PartitionCreated, TopicDeletionBegun, TopicRemoved)):
        match each:
            case TopicDeletionBegun() | TopicRemoved():
                gone.add(each.topic_id)
            case PartitionCreated():
                known = last.setdefault(each.key, each)
                last[each.key] = max(known, each, key=attrgetter("partition_epoch"))
    return {
        key: isr
        if key not in last
        else replace(isr, members=[each for each in isr.members if each in last[key].replicas])
        for key, isr in isrs.items()
        if key[0] not in gone
    }


def _isrs_on_disk(events: RunEvents) -> tuple[dict[Partition, FinalIsr], str]:
    left = committed_on_disks(events)
    final = [each for each in leaders_word(events, left) if each.operation.phase == "final"]
    if not final:
        return {}, left.why or "no observer was told at the end how far it was committed"
    settings, found = Settings.of(events), dict[Partition, FinalIsr]()
    for record in left.records:
        if isinstance(record, PartitionState) and record.offset < final[-1].end:
            topic, read = settings.topics.get(record.topic_id, ""), final[-1].operation
            leads = record.leader, record.leader_epoch
            found[record.key] = FinalIsr(record.isr, *leads, read, topic, record)
    return {key: isr for key, isr in found.items() if not settings.unclean(key[0])}, ""
