"""What a leader says of one partition in an answer to a fetch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kio.schema.errors import ErrorCode

from nodes.kraft.ids import LOG_START, NO_EPOCH, BrokerEpoch, BrokerId, LeaderEpoch, Offset
from nodes.kraft.metadata.image import Image, PartitionKey
from nodes.kraft.partition import leader, steps
from nodes.kraft.partition.answers import Fields
from nodes.kraft.runtime.hosted import Hosted
from nodes.kraft.runtime.partitions import Partitions
from nodes.kraft.runtime.planes import Plane

if TYPE_CHECKING:
    from nodes.kraft.wire.partition_requests import FetchPartition

MAX_BYTES: Final = 8 * 2**20
"""In one answer, whatever was asked for: what one client reads must not hold up the others."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A partition of a fetch. `code` not 0: it is not to be read, whatever it has.
    `leader_epoch` and `last_epoch` are -1 where they are not told. `anywhere`: of this replica,
    whether it leads or not. `start_offset`: where a follower's own log begins."""

    key: PartitionKey | None
    code: ErrorCode
    leader_epoch: LeaderEpoch
    offset: Offset
    last_epoch: LeaderEpoch
    max_bytes: int
    anywhere: bool = False
    start_offset: Offset = LOG_START

    def judged(self, hosted: Hosted) -> leader.Judged:
        if self.anywhere:
            return leader.judge_anywhere(hosted.state, self.offset)
        return leader.judge(hosted.state, self.leader_epoch, self.offset, self.last_epoch)


def asked(key: PartitionKey | None, code: ErrorCode, wire: FetchPartition) -> Asked:
    """A partition as a request of any version asks for it."""
    return Asked(
        key,
        code,
        LeaderEpoch(getattr(wire, "current_leader_epoch", -1)),
        Offset(wire.fetch_offset),
        LeaderEpoch(getattr(wire, "last_fetched_epoch", -1)),
        int(wire.partition_max_bytes),
        start_offset=max(LOG_START, Offset(getattr(wire, "log_start_offset", LOG_START))),
    )


@dataclass(frozen=True, slots=True)
class Follower:
    """The process that fetches as a replica."""

    replica_id: BrokerId
    broker_epoch: BrokerEpoch

    def note(self, partitions: Partitions, image: Image, wanted: Asked) -> ErrorCode:
        """It has all that is before what it asks for: note that, where the fetch is a valid
        one. The error where it is of a process that has a successor (D.10)."""
        hosted = None if wanted.key is None else partitions.get(wanted.key)
        if wanted.key is None or hosted is None:
            return ErrorCode.none
        broker = image.brokers.get(self.replica_id)
        event = steps.Fetched(
            self.replica_id,
            self.broker_epoch,
            wanted.offset,
            registered=NO_EPOCH if broker is None else broker.epoch,
            active=broker is not None and not broker.fenced,
            start_offset=wanted.start_offset,
        )
        code = leader.check_replica(hosted.state, event)
        if code == ErrorCode.none and wanted.judged(hosted) == leader.VALID:
            partitions.feed(wanted.key, hosted, event)
        return code


class Reading:
    """One attempt at an answer. `bytes`: of records in it so far; `urgent`: it says something
    that must not wait; `full`: something did not fit."""

    def __init__(
        self, plane: Plane, partitions: Partitions, max_bytes: int, *, follower: bool
    ) -> None:
        self._image = plane.image()
        self._serving = plane.serving()
        self._partitions = partitions
        self._follower = follower
        self._max_bytes = min(max_bytes, MAX_BYTES)
        self.bytes = 0
        self.urgent = False
        self.full = False

    def of(self, wanted: Asked) -> Fields:
        """What is to be said of a partition, as fields by name."""
        hosted = None if wanted.key is None else self._partitions.get(wanted.key)
        if wanted.code != ErrorCode.none or hosted is None or not self._serving:
            return self._refused(wanted, wanted.code or self._why_not(wanted))
        judged = wanted.judged(hosted)
        if judged.code != ErrorCode.none:
            said = self._refused(wanted, judged.code)
            if judged.code == ErrorCode.offset_out_of_range and self._follower:
                said["log_start_offset"] = hosted.state.log.start_offset  # where it can begin anew
            return said
        said = self.without_records(hosted)
        if judged.diverging is not None:
            self.urgent = True
            epoch, end_offset = judged.diverging
            return said | {"diverging_epoch": {"epoch": epoch, "end_offset": end_offset}}
        return said | {"records": self._read(hosted, wanted)}

    def continues(self, wanted: Asked, hosted: Hosted) -> bool:
        """Whether who asks may read on from there."""
        allowed = self._serving and wanted.code == ErrorCode.none
        return allowed and wanted.judged(hosted) == leader.VALID

    def without_records(self, hosted: Hosted) -> Fields:
        """What is to be said of a partition besides its records."""
        return {
            "error_code": ErrorCode.none,
            "high_watermark": hosted.state.high_watermark,
            "last_stable_offset": hosted.state.high_watermark,
            "log_start_offset": hosted.state.log.start_offset,
        }

    def _read(self, hosted: Hosted, wanted: Asked) -> bytes:
        """Consumers see committed records only. The first partition that has some gives one
        batch at least, however large it is (KIP-74)."""
        state = hosted.state
        limit = state.log.end_offset if self._follower else state.high_watermark
        if wanted.offset >= limit or hosted.log is None:
            return b""
        left = min(wanted.max_bytes, self._max_bytes - self.bytes)
        if self.bytes and left <= 0:
            self.full = True
            return b""
        with self._partitions.reading():
            records = hosted.log.read(wanted.offset, limit, max(0, left))
        if self.bytes and len(records) > left:
            self.full = True
            return b""
        self.bytes += len(records)
        return records

    def _refused(self, wanted: Asked, code: ErrorCode) -> Fields:
        self.urgent = True
        said: Fields = {"error_code": code}
        partition = None if wanted.key is None else self._image.partitions.get(wanted.key)
        if partition is not None and code != ErrorCode.topic_authorization_failed:
            said["current_leader"] = {
                "leader_id": partition.leader,
                "leader_epoch": partition.leader_epoch,
            }
        return said

    def _why_not(self, wanted: Asked) -> ErrorCode:
        """Why there is no replica to read from."""
        if wanted.key in self._image.partitions:
            return ErrorCode.not_leader_or_follower
        return ErrorCode.unknown_topic_or_partition
