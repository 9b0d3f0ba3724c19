"""Up to where records of partitions may be gone, by all that was asked for in a run."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from checkers.folds.partitions.log_ends import configured, may_be_removed, may_remove
from checkers.folds.requests.configured import OF_BROKERS, OF_TOPICS
from framework.evidence.run_events import RunEvents
from framework.history.event import Recorded
from framework.history.pairing import Operation

ASKING = ("create", OF_TOPICS, "delete-records")
"""What is asked of a topic, or a partition, by its name."""


@dataclass(frozen=True, slots=True)
class Removals:
    """`by_name`: what was asked of each topic and partition; `of_brokers`: changes of brokers'
    configurations, which hold for all."""

    plan: Mapping[str, Recorded]
    of_brokers: Sequence[Operation]
    by_name: Mapping[str, Sequence[Operation]]

    @classmethod
    def of(cls, events: RunEvents) -> "Removals":
        by_name: dict[str, list[Operation]] = defaultdict(list)
        for each in events.operations:
            if each.f in ASKING:
                by_name[str(each.key)].append(each)
        of_brokers = [each for each in events.operations if each.f == OF_BROKERS]
        return cls(events.plan, of_brokers, dict(by_name))

    def may_compact(self, topic: str) -> bool:
        """Whether the run, a create of that name, a change of it or one of a broker asked for
        compaction."""
        asked = configured(self.plan, self._configuring(topic))
        return any("compact" in str(value) for _, value in asked)

    def kept_from(self, topic: str, partition: int) -> float:
        """Below where its records may have been removed: by what settings let brokers do, or
        deletes that were not refused."""
        if may_remove(self.plan, self._configuring(topic)):
            return float("inf")
        return may_be_removed(self.by_name.get(f"{topic}/{partition}", ()))

    def _configuring(self, topic: str) -> Iterator[Operation]:
        """What may have configured a topic of that name."""
        yield from self.of_brokers
        yield from self.by_name.get(topic, ())
