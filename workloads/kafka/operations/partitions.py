"""Partitions' data: `produce`, `fetch`, `replica-fetch`, `list-offsets`, `seek`, `delete-records`.
The key is `<topic>/<partition>`."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.kafka.operations.value import Value, named, omitted


def partition_key(topic: str, number: int) -> str:
    """The key of operations on a partition."""
    return f"{topic}/{number}"


def partition_of(key: str) -> tuple[str, int]:
    """(topic, partition) of a key."""
    topic, _, number = key.rpartition("/")
    return topic, int(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce(Value):
    """`value` is unique in the run. `acks`: all, 1 or 0. `producer`: None until a process has
    taken the operation."""

    value: int
    acks: str
    idempotent: bool
    producer: str | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced(Produce):
    """What was produced, and where it is."""

    offset: int
    topic_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetch(Value):
    """The next records for a consumer, from offset `start` on."""

    consumer: str
    start: int = named("from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched(Value):
    """`records`: (offset, value). `position`: where the next fetch goes on. `leader_epoch`: the
    one by which the leader was asked. `topic_id`: of whose leader that was the epoch.
    `watermark_first`: true where the leader reads its high watermark before the records."""

    records: tuple[tuple[int, ...], ...]
    high_watermark: int
    log_start: int
    position: int
    leader_epoch: int
    topic_id: str | None = omitted()
    watermark_first: bool | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaFetch(Value):
    """What a replica has that is committed, as far as it knows, from offset `start` on."""

    start: int = named("from")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaFetched(Value):
    """As `Fetched` has it, by the replica's own word."""

    records: tuple[tuple[int, ...], ...]
    high_watermark: int
    log_start: int
    position: int
    topic_id: str | None = omitted()


@dataclass(frozen=True, slots=True)
class ListOffsets(Value):
    """Where the partition begins (`earliest`) or ends (`latest`)."""

    at: str


@dataclass(frozen=True, slots=True)
class Offset(Value):
    """The result of that; `leader_epoch` and `topic_id` as `Fetched` has them."""

    offset: int
    leader_epoch: int | None = omitted()
    topic_id: str | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class Seek(Value):
    """The consumer goes on from offset `to`."""

    consumer: str
    to: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteRecords(Value):
    """The partition is to begin at offset `before`; -1: at its high watermark."""

    before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted(DeleteRecords):
    """`low_watermark`: from where on replicas have records. `topic_id` as `Fetched` has it."""

    low_watermark: int
    topic_id: str | None = omitted()
