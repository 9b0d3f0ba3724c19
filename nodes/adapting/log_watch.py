"""`metadata-log`: what a controller gives of the metadata log to anybody who fetches it (KIP-595).

As a replica that nobody counts, an observer asks for what is new of `__cluster_metadata`, and tells
what it was given below the high watermark: of each record the leader epoch, and the CRC-32C of its
value, as readers of disks tell of theirs. Where the log begins with a snapshot, it goes on behind.
"""

from dataclasses import dataclass
from typing import Final

from crc32c import crc32c
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v17 import request as fetch
from kio.schema.fetch.v17 import response as fetched

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange, Further, UnexpectedResponse
from framework.plugins.outcomes import Answer, Ok, Refused
from nodes.adapting.codes import name_of
from nodes.adapting.metadata_fetch import fetch_request, log_of
from nodes.kafka_files.batches import scan
from nodes.kafka_files.records import records

MOST_BYTES: Final = 256 * 1024
"""Of one answer."""


@dataclass(slots=True)
class LogWatch:
    """Of one controller. `replica_id`: of no node. `position`: the next offset; `last_epoch`: of
    the record before it; `leader_epoch`: the newest that it told."""

    replica_id: int
    cluster_id: str | None = None
    position: int = 0
    last_epoch: int = 0
    leader_epoch: int = 0

    def exchange(self) -> Exchange[fetch.FetchRequest, fetched.FetchResponse]:
        """Of the question."""
        return Exchange(
            at="controller", request=lambda _: self.request(), answer=self.answer, then=self.then
        )

    def request(self) -> fetch.FetchRequest:
        """What is new; nothing is waited for."""
        return fetch_request(
            self.position,
            self.last_epoch,
            self.leader_epoch,
            replica_id=self.replica_id,
            cluster_id=self.cluster_id,
            most_bytes=MOST_BYTES,
        )

    def then(self, response: fetched.FetchResponse) -> Further[fetch.FetchRequest] | None:
        """Where it tells a newer epoch than the one it was asked in, it is asked again."""
        epochs = [
            log.current_leader.leader_epoch
            for each in response.responses
            for log in each.partitions
        ]
        before, self.leader_epoch = self.leader_epoch, max(self.leader_epoch, *epochs, 0)
        return Further(request=self.request()) if self.leader_epoch > before else None

    def answer(self, invocation: Invocation, response: fetched.FetchResponse) -> Answer:
        """Ok: `LogPart` of `workloads.kafka.operations.descriptions`."""
        log = log_of(response)
        if log is None:
            return Refused(name_of(response.error_code))
        if log.error_code != ErrorCode.none:
            return Refused(name_of(log.error_code))
        diverging = log.diverging_epoch.end_offset if log.diverging_epoch.end_offset >= 0 else None
        if diverging is not None:
            self.position, self.last_epoch = diverging, log.diverging_epoch.epoch
        elif log.snapshot_id.end_offset >= 0:
            self.position, self.last_epoch = log.snapshot_id.end_offset, log.snapshot_id.epoch
        begin = self.position
        entries = [] if diverging is not None else self._learned(log)
        return Ok(
            {
                "leader_epoch": self.leader_epoch,
                "high_watermark": log.high_watermark,
                "begin": begin,
                "epochs": [epoch for epoch, _ in entries],
                "crcs": [crc for _, crc in entries],
                **({} if diverging is None else {"diverging": diverging}),
            }
        )

    def _learned(self, log: fetched.PartitionData) -> list[tuple[int, int]]:
        """(leader epoch, CRC-32C of the value) of each record of the batches that are committed.
        Raises `UnexpectedResponse` where something is missing between them."""
        batches = scan(log.records or b"")
        values: dict[int, list[tuple[int, bytes]]] = {}
        for row in records(batches).table.select(["position", "offset", "value"]).to_pylist():
            values.setdefault(row["position"], []).append((row["offset"], row["value"] or b""))
        found: list[tuple[int, int]] = []
        for batch in batches.sound.select(["position", "end_offset", "leader_epoch"]).to_pylist():
            if batch["end_offset"] > log.high_watermark:
                break
            for offset, value in values.get(batch["position"], ()):
                if offset < self.position:
                    continue  # a batch is given whole
                if offset != self.position:
                    raise UnexpectedResponse(f"offset {offset} follows {self.position - 1}")
                found.append((batch["leader_epoch"], crc32c(value)))
                self.position = offset + 1
            self.last_epoch = batch["leader_epoch"]
        return found
