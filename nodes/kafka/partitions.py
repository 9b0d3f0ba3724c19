"""What metadata records make of partitions, record by record.

A partition's change tells only what is new of it: its state is what all its records made of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from nodes.adapting.records import ELR, LAST_ELR
from nodes.disk_evidence.form import Fields

NO_CHANGE: Final = -2
"""The leader of a partition's change that leaves it."""
PLACED: Final = ("replicas", "removing_replicas", "adding_replicas")
CHANGED: Final = ("isr", *PLACED, ELR, LAST_ELR)
Partition: TypeAlias = dict[str, Any]
"""Fields of a PartitionRecord."""


@dataclass(frozen=True, slots=True)
class Partitions:
    """All that there are. `by_topic`: topic id -> number -> partition; `names`: topic id ->
    name."""

    by_topic: dict[str, dict[int, Partition]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)

    def fold(self, name: str, record: Fields) -> tuple[str, Fields]:
        """The record, with all that is known of the partition that it changes; its name says what
        it amounts to."""
        if name == "PartitionRecord":
            own = self.by_topic.setdefault(record["topic_id"], {})
            own[record["partition_id"]] = dict(record)
        elif name == "PartitionChangeRecord":
            return self._changed(record)
        elif name == "TopicRecord":
            self.names[record["topic_id"]] = record["name"]
        elif name == "RemoveTopicRecord":
            self.by_topic.pop(record["topic_id"], None)
            self.names.pop(record["topic_id"], None)
        elif name == "ClearElrRecord":
            self._forget(record["topic_name"])
        return name, record

    def of(self, topic_id: str) -> Iterator[Partition]:
        """A topic's, by number."""
        return (each for _, each in sorted(self.by_topic.get(topic_id, {}).items()))

    def _forget(self, name: str) -> None:
        """As `ReplicationControlManager.removeTopicElrs` does it; an empty name: of all topics."""
        for topic_id, own in self.by_topic.items():
            if name in ("", self.names.get(topic_id)):
                for each in own.values():
                    if each.get(ELR) or each.get(LAST_ELR):
                        each |= {ELR: (), LAST_ELR: ()}
                        each["partition_epoch"] += 1

    def _changed(self, record: Fields) -> tuple[str, Fields]:
        """As `PartitionRegistration.merge` does it."""
        partition = self.by_topic.get(record["topic_id"], {}).get(record["partition_id"])
        if partition is None:
            return "PartitionChangeRecord of an unknown partition", record
        if record["leader"] != NO_CHANGE:
            partition["leader"] = record["leader"]
            partition["leader_epoch"] += 1
        partition["partition_epoch"] += 1
        # Releases before 3.7 have no eligible leaders.
        news = {name: record[name] for name in CHANGED if record.get(name) is not None}
        partition |= news
        replaced = not news.keys().isdisjoint(PLACED)
        return "PartitionRecord" if replaced else "PartitionChangeRecord", dict(partition)
