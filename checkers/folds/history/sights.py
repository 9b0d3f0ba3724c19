"""What answers show of topics and their partitions: reads, ISR changes, and who answers for a
partition as its leader."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from checkers.folds.history.log_values import fetched
from checkers.folds.history.roles import BROKER, ids_in
from checkers.folds.history.topic_ids import TopicLives, topic_lives
from checkers.folds.history.values import (
    IsrState,
    PartitionShown,
    alter_isr,
    altered_isr,
    partitions_shown,
    topic_answer,
)
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation

READS: Final = ("describe", "metadata")
SHOW_STATES: Final = (*READS, "alter-isr")


Partition: TypeAlias = tuple[str, int]
"""(topic id, partition)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What an answer shows of a partition. `version`, `isr`, `replicas`: None where it does not."""

    operation: Operation
    key: Partition
    leader: int
    leader_epoch: int
    version: int | None = None
    isr: Sequence[int] | None = None
    replicas: Sequence[int] | None = None

    @property
    def cached(self) -> bool:
        return self.operation.f == "metadata"

    @property
    def state(self) -> tuple[int, int, frozenset[int]]:
        return self.leader, self.leader_epoch, frozenset(self.isr or ())

    def __str__(self) -> str:
        isr = "" if self.isr is None else f", ISR {sorted(self.isr)}"
        return (
            f"leader {self.leader} in leader epoch {self.leader_epoch}{isr} by operation "
            f"{self.operation.index}"
        )


@dataclass(frozen=True, slots=True)
class Topic:
    """An answer to who asked for a topic by its name: its id; None: there is none."""

    operation: Operation
    topic_id: str | None


def sights_of(events: RunEvents) -> Iterator[Sight]:
    ids = ids_in(events.plan, BROKER)
    lives = topic_lives(events.operations)
    for operation in events.operations:
        if operation.f in SHOW_STATES:
            yield from states_shown(operation)
        elif isinstance(operation.result, dict):
            yield from _leads(operation, lives, ids)


def states_shown(operation: Operation) -> Iterator[Sight]:
    """By a read or an ISR change."""
    if not operation.ok or not isinstance(operation.result, dict):
        return
    if operation.f == "alter-isr":
        asked = alter_isr(operation)
        yield _sight(operation, (asked["topic_id"], asked["partition"]), altered_isr(operation))
    elif operation.f in READS:
        topic = topic_answer(operation)
        for shown in partitions_shown(operation):
            yield _sight(operation, (topic["topic_id"], shown["partition"]), shown)


def topics_named(events: RunEvents) -> Iterator[Topic]:
    for operation in events.operations:
        if operation.f in READS and operation.ok:
            yield Topic(operation, topic_answer(operation).get("topic_id"))


def _sight(operation: Operation, key: Partition, shown: IsrState | PartitionShown) -> Sight:
    return Sight(
        operation=operation,
        key=key,
        leader=shown["leader"],
        leader_epoch=shown["leader_epoch"],
        version=shown.get("partition_epoch"),
        isr=shown["isr"],
        replicas=shown.get("replicas"),
    )


def _leads(operation: Operation, lives: TopicLives, ids: Mapping[str, int]) -> Iterator[Sight]:
    """Who answers for a partition in an epoch leads it then. One that failed was on no topic."""
    topic_id, epoch = lives.of(operation), fetched(operation).get("leader_epoch")
    broker = ids.get(operation.node or "")
    if topic_id is not None and isinstance(epoch, int) and broker is not None:
        key = (topic_id, int(str(operation.key).rpartition("/")[2]))
        yield Sight(operation=operation, key=key, leader=broker, leader_epoch=epoch)
