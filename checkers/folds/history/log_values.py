"""What operations on partitions' logs ask for and are answered, in types, as others in `values`."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from framework.evidence.ids import LeaderEpoch, Offset
from framework.history.pairing import Operation


class Produce(TypedDict):
    """One value. `producer`: who sends it, where it is idempotent."""

    value: int
    acks: NotRequired[str]
    idempotent: NotRequired[bool]
    producer: NotRequired[str]


class FetchFrom(TypedDict("FetchFrom", {"from": Offset})):
    """By a consumer, on its own or in a group."""

    consumer: NotRequired[str]
    group: NotRequired[str]


class Fetched(TypedDict, total=False):
    """`records`: offset and value. `position`: where the next fetch goes on."""

    records: Sequence[tuple[Offset, int]] | None
    position: Offset
    high_watermark: Offset
    log_start: Offset | None
    leader_epoch: LeaderEpoch


class Seek(TypedDict):
    to: Offset
    consumer: NotRequired[str]


class ListOffsets(TypedDict, total=False):
    """`at`: "earliest", "latest", or a time."""

    at: str | int


class DeleteRecords(TypedDict):
    """-1: all up to the high watermark."""

    before: Offset


class Deleted(TypedDict, total=False):
    """Of a delete of records: from where on replicas have any."""

    low_watermark: Offset


class LogSize(TypedDict):
    """A log that a broker has, in bytes. `future`: it is to replace the one that is there."""

    key: str
    size: int
    future: NotRequired[bool | None]


class LogDirs(TypedDict):
    """Of which partitions, `<topic>/<number>`, a broker is asked for its logs."""

    keys: Sequence[str]


class ActiveProducer(TypedDict):
    """A producer as a partition's log knows it. `last`: its last sequence number; -1: none."""

    id: int
    epoch: int
    last: int


class LogAnswer(TypedDict, total=False):
    """Of a produce or a ListOffsets."""

    topic_id: str
    offset: Offset
    leader_epoch: LeaderEpoch


def produce_of(operation: Operation) -> Produce:
    value: Produce = operation.value
    return value


def list_offsets(operation: Operation) -> ListOffsets:
    value: ListOffsets = operation.value
    return value


def delete_records(operation: Operation) -> DeleteRecords:
    value: DeleteRecords = operation.value
    return value


def deleted(operation: Operation) -> Deleted:
    """Of one that was acknowledged."""
    result: Deleted = operation.result
    return result


def log_dirs(operation: Operation) -> LogDirs:
    value: LogDirs = operation.value
    return value


def logs_told(operation: Operation) -> Sequence[LogSize]:
    """Of an answer."""
    result: Sequence[LogSize] = operation.result
    return result


def producers_told(operation: Operation) -> Sequence[ActiveProducer]:
    """Of an answer."""
    result: Sequence[ActiveProducer] = operation.result
    return result


def fetch_from(operation: Operation) -> FetchFrom:
    value: FetchFrom = operation.value
    return value


def fetched(operation: Operation) -> Fetched:
    """Of one that was answered."""
    result: Fetched = operation.result
    return result


def seek_of(operation: Operation) -> Seek:
    value: Seek = operation.value
    return value


def log_answer(operation: Operation) -> LogAnswer:
    """Empty where there is none."""
    result: LogAnswer = operation.result or {}
    return result
