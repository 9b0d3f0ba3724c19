"""`follow`: a topic as the committed metadata log has it, read as brokers do (KIP-595, KIP-630).

A client fetches `__cluster_metadata` from the active controller, as a replica that nobody counts
(id -1), and keeps what it was given below the high watermark, so that each read asks for what is
new alone; a snapshot first, where the controller wants that. A controller that was cut off, and
does not know it, may answer: what is shown was committed, but need not be the newest.

Fetch 13 and FetchSnapshot 0 every release has, from 3.3 on: the adapter itself asks in them, too
(`nodes.kafka.committed`).
"""

import datetime
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from kio.schema.errors import ErrorCode
from kio.schema.fetch.v13 import request as fetch
from kio.schema.fetch.v13 import response as fetched
from kio.schema.fetch_snapshot.v0 import request as snapshot
from kio.schema.fetch_snapshot.v0 import response as given
from kio.static.primitive import i32, i32Timedelta, i64

from framework.history.event import Invocation, Json
from framework.plugins.dialect import Exchange, Further, UnexpectedResponse
from framework.plugins.outcomes import Answer, Ok, Refused
from nodes.adapting.codes import name_of
from nodes.adapting.metadata_fetch import METADATA_TOPIC
from nodes.kafka.states import METADATA_LOG
from nodes.kafka.topics import Topics, whole_batches

FETCH_BYTES: Final = 8 * 1024 * 1024
NOT_CAUGHT_UP: Final = "NOT_CAUGHT_UP"
"""A leader that does not know yet what is committed: less than this client had been given."""
OTHER_LEADER: Final = frozenset({ErrorCode.not_leader_or_follower, ErrorCode.unknown_leader_epoch})

Request: TypeAlias = fetch.FetchRequest | snapshot.FetchSnapshotRequest
Response: TypeAlias = fetched.FetchResponse | given.FetchSnapshotResponse
Log: TypeAlias = fetched.PartitionData | given.PartitionSnapshot


@dataclass(slots=True)
class Loading:
    """A snapshot, as far as it was given."""

    end_offset: int
    epoch: int
    data: bytearray = field(default_factory=bytearray)


@dataclass(slots=True)
class Follower:
    """One client's. `position`: the next offset; `last_epoch`: of the record before it;
    `leader_epoch`: the newest that it heard of; `loading`: what comes before the log goes on."""

    cluster_id: str
    topics: Topics = field(default_factory=Topics)
    position: int = 0
    last_epoch: int = 0
    leader_epoch: int = 0
    loading: Loading | None = None

    def exchange(self) -> Exchange[Request, Response]:
        """Of the operation."""
        return Exchange(
            at="controller", request=lambda _: self.request(), answer=self.answer, then=self.then
        )

    def request(self) -> Request:
        """What is new."""
        return self._fetch() if self.loading is None else self._load(self.loading)

    def then(self, response: Response) -> Further[Request] | None:
        """Learn what was answered; the rest, or the leader, is to be asked."""
        log = _log(response)
        if log is None:
            return None
        self.leader_epoch = max(self.leader_epoch, log.current_leader.leader_epoch)
        if log.error_code == ErrorCode.fenced_leader_epoch:
            return Further(request=self.request())
        if log.error_code in OTHER_LEADER:
            return Further(request=self.request(), elsewhere=True)
        if log.error_code != ErrorCode.none:
            self.loading = None  # the snapshot may be gone
            return None
        more = self._loaded(log) if isinstance(log, given.PartitionSnapshot) else self._learned(log)
        return Further(request=self.request()) if more else None

    def answer(self, invocation: Invocation, response: Response) -> Answer:
        """Ok: the topic, or null; ext: by which leader, and how far, the log was read."""
        if (refusal := self.refusal(response)) is not None:
            return refusal
        ext: dict[str, Json] = {"epoch": self.leader_epoch, "offset": self.position}
        return Ok(self.topics.shown(invocation.key), ext)

    def refusal(self, response: Response) -> Refused | None:
        """Why by the last response, which was learned from, the log was not read to its end; None:
        it was."""
        log = _log(response)
        code = response.error_code if log is None else log.error_code
        if log is None or code != ErrorCode.none:
            return Refused(name_of(code))
        if not isinstance(log, fetched.PartitionData) or self.position != log.high_watermark:
            return Refused(NOT_CAUGHT_UP)
        return None

    # --- the log --------------------------------------------------------------------------

    def _fetch(self) -> fetch.FetchRequest:
        """Nothing is waited for, and the replica is that of a client (-1)."""
        log = fetch.FetchPartition(
            partition=i32(0),
            current_leader_epoch=i32(self.leader_epoch),
            fetch_offset=i64(self.position),
            last_fetched_epoch=i32(self.last_epoch),
            partition_max_bytes=i32(FETCH_BYTES),
        )
        return fetch.FetchRequest(
            cluster_id=self.cluster_id,
            max_wait=i32Timedelta.parse(datetime.timedelta()),
            min_bytes=i32(0),
            max_bytes=i32(FETCH_BYTES),
            topics=(fetch.FetchTopic(topic_id=METADATA_TOPIC, partitions=(log,)),),
            forgotten_topics_data=(),
        )

    def _learned(self, log: fetched.PartitionData) -> bool:
        """Take what is committed; whether there is more."""
        if log.diverging_epoch.end_offset >= 0:
            raise UnexpectedResponse(f"no log goes on from offset {self.position}: {log!r:.300}")
        if log.snapshot_id.end_offset >= 0:
            self.loading = Loading(log.snapshot_id.end_offset, log.snapshot_id.epoch)
            return True
        before = self.position
        for batch in whole_batches(log.records or b""):
            if batch.end_offset > log.high_watermark:
                break
            self.topics.feed(batch.values)
            self.position, self.last_epoch = batch.end_offset, batch.epoch
        return before < self.position < log.high_watermark

    # --- a snapshot -----------------------------------------------------------------------

    def _load(self, loading: Loading) -> snapshot.FetchSnapshotRequest:
        part = snapshot.PartitionSnapshot(
            partition=i32(0),
            current_leader_epoch=i32(self.leader_epoch),
            snapshot_id=snapshot.SnapshotId(
                end_offset=i64(loading.end_offset), epoch=i32(loading.epoch)
            ),
            position=i64(len(loading.data)),
        )
        return snapshot.FetchSnapshotRequest(
            cluster_id=self.cluster_id,
            max_bytes=i32(FETCH_BYTES),
            topics=(snapshot.TopicSnapshot(name=METADATA_LOG, partitions=(part,)),),
        )

    def _loaded(self, part: given.PartitionSnapshot) -> bool:
        """Take the next bytes; there is always more: of it, or the log after it."""
        loading = self.loading
        if loading is None or part.position != len(loading.data) or not part.unaligned_records:
            raise UnexpectedResponse(f"not the next bytes of a snapshot: {part!r:.300}")
        loading.data += part.unaligned_records
        if len(loading.data) >= part.size:
            self.topics = Topics()
            for batch in whole_batches(bytes(loading.data)):
                self.topics.feed(batch.values)
            self.position, self.last_epoch = loading.end_offset, loading.epoch
            self.loading = None
        return True


def _log(response: Response) -> Log | None:
    """None: the request as a whole was refused."""
    if response.error_code != ErrorCode.none:
        return None
    found: list[Log] = []
    if isinstance(response, fetched.FetchResponse):
        found += [each for topic in response.responses for each in topic.partitions]
    else:
        found += [each for topic in response.topics for each in topic.partitions]
    if len(found) != 1:
        raise UnexpectedResponse(f"{response!r:.300}")
    return found[0]
