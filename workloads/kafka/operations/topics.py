"""Topics: `create`, `delete`, `describe`, `follow`, `metadata`, `describe-configs`; `dry-create`,
by way of a broker, and `controller-dry-create`, which only try a create; `controller-configs`. The
key is the topic's name. `describe` is linearizable, `follow` shows what was committed, `metadata`
and `describe-configs` a broker's cache, `controller-configs` a controller's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from workloads.kafka.operations.value import Value, omitted

NAMES_A_TOPIC: Final = frozenset({"create", "delete", "describe", "follow", "metadata"})


Configs: TypeAlias = tuple[tuple[str, str | None], ...]
"""Names and values of a topic's own configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopic(Value):
    """By numbers, or by `assignment`: each partition's broker ids. `on_demand`: not by being asked
    for that, but as a client looks for it, as the system likes; nobody else makes or deletes it."""

    partitions: int | None = omitted()
    replication: int | None = omitted()
    assignment: tuple[tuple[int, ...], ...] | None = omitted()
    configs: tuple[tuple[str, str | None], ...] | None = omitted()
    on_demand: bool | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTopic(Value):
    """What a create's answer tells of what it made; None: that is not told."""

    topic_id: str
    num_partitions: int | None = omitted()
    replication_factor: int | None = omitted()
    configs: tuple[tuple[str, str | None], ...] | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedTopic(Value):
    """What a create that was only tried is told: there is such a topic already, or what would be
    made, as far as that is told."""

    exists: bool
    num_partitions: int | None = omitted()
    replication_factor: int | None = omitted()
    configs: tuple[tuple[str, str | None], ...] | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState(Value):
    """`partition_epoch`: None where the answer has none (`metadata`)."""

    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int | None = omitted()
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicState(Value):
    """What a read showed; a topic that is absent is null in a history."""

    topic_id: str
    partitions: tuple[PartitionState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfigs(Value):
    """What a topic itself is configured to, without what holds by default."""

    configs: Configs
