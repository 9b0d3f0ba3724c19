"""Fetch (key 1), of consumers and of follower replicas.

No fetch sessions (KIP-227): every answer has session id 0 and says something of each partition
that was asked for. A fetch that finds less than it wants is parked until it finds enough, its
time is up, or one of its partitions has something else to say.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kio.schema.errors import ErrorCode

from nodes.kraft.metadata.image import Image, PartitionKey
from nodes.kraft.net.listener import Inquiry
from nodes.kraft.partition import leader, steps
from nodes.kraft.partition.answers import FETCH, response
from nodes.kraft.runtime.partitions import Hosted, Partitions
from nodes.kraft.runtime.planes import Handler, Plane, Service
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, ResourceType

MAX_BYTES: Final = 8 * 2**20
"""In one answer, whatever was asked for: what one client reads must not hold up the others."""
MAX_WAIT_MS: Final = 30_000


class Fetch(Service):
    """Serves consumers and followers."""

    def __init__(self, plane: Plane, partitions: Partitions) -> None:
        self._plane = plane
        self._partitions = partitions

    def handlers(self) -> Mapping[int, Handler]:
        return {FETCH: self.serve}

    def serve(self, inquiry: Inquiry) -> None:
        _Fetching(self._plane, self._partitions, inquiry).begin()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A partition of a request. `code` not 0: it is not to be read, whatever it has."""

    wire: Any
    key: PartitionKey | None
    code: ErrorCode


class _Fetching:
    """One request under way."""

    def __init__(self, plane: Plane, partitions: Partitions, inquiry: Inquiry) -> None:
        self._plane = plane
        self._partitions = partitions
        self._inquiry = inquiry
        request = inquiry.request
        state = getattr(request, "replica_state", None)
        self._replica_id = int(request.replica_id if state is None else state.replica_id)
        self._broker_epoch = -1 if state is None else int(state.replica_epoch)
        self._wait_ms = min(round(request.max_wait.total_seconds() * 1000), MAX_WAIT_MS)
        self._asked: list[_Asked] = []
        self._parked: list[Hosted] = []
        self._timer: asyncio.TimerHandle | None = None
        self._poked = False

    # --- what is asked --------------------------------------------------------------------

    def begin(self) -> None:
        image = self._plane.image()
        for topic in self._inquiry.request.topics:
            topic_id, code = self._topic(image, topic)
            for wire in topic.partitions:
                key = None if topic_id is None else (topic_id, int(wire.partition))
                self._asked.append(_Asked(wire, key, code or self._progress(image, key, wire)))
        self._try(last=self._wait_ms <= 0)

    def _topic(self, image: Image, topic: Any) -> tuple[uuid.UUID | None, ErrorCode]:
        """The topic's id, and why it is not to be read."""
        if hasattr(topic, "topic"):
            known, unknown = image.topic(topic.topic), ErrorCode.unknown_topic_or_partition
            name = topic.topic
        else:
            known, unknown = image.topics.get(topic.topic_id), ErrorCode.unknown_topic_id
            name = None if known is None else known.name
        if name is not None and not self._allowed(name):
            return None, ErrorCode.topic_authorization_failed
        return (None, unknown) if known is None else (known.topic_id, ErrorCode.none)

    def _allowed(self, topic: str) -> bool:
        if self._replica_id >= 0:
            what = Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME
        else:
            what = Operation.READ, ResourceType.TOPIC, topic
        return self._plane.allowed(self._inquiry, *what)

    def _progress(self, image: Image, key: PartitionKey | None, wire: Any) -> ErrorCode:
        """A follower that fetches has all that is before: note it, once, where the fetch is a
        valid one. The error where it is of a process that has a successor (D.10)."""
        hosted = None if key is None else self._partitions.get(key)
        if self._replica_id < 0 or key is None or hosted is None:
            return ErrorCode.none
        broker = image.brokers.get(self._replica_id)
        event = steps.Fetched(
            self._replica_id,
            self._broker_epoch,
            int(wire.fetch_offset),
            registered=-1 if broker is None else broker.epoch,
            active=broker is not None and not broker.fenced,
        )
        code = leader.check_replica(hosted.state, event)
        if code == ErrorCode.none and _judge(hosted, wire) == leader.VALID:
            self._partitions.feed(key, hosted, event)
        return code

    # --- now or later ---------------------------------------------------------------------

    def _try(self, *, last: bool) -> None:
        """Answer, if there is enough to say or this is the last time; else park."""
        request = self._inquiry.request
        answer = _Answer(self._plane, self._partitions, request, follower=self._replica_id >= 0)
        said = iter([answer.of(asked) for asked in self._asked])
        if last or answer.urgent or answer.bytes >= request.min_bytes:
            self._leave()
            self._plane.reply(self._inquiry, response(request, lambda _, __: next(said)))
        elif self._timer is None:
            self._park()

    def _park(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._wait_ms / 1000, self._again, True)
        for asked in self._asked:
            hosted = None if asked.key is None else self._partitions.get(asked.key)
            if hosted is not None:
                hosted.waiters = hosted.waiters or set()
                hosted.waiters.add(self._poke)
                self._parked.append(hosted)

    def _poke(self) -> None:
        """Something happened to a partition: look again, once for all that happens now."""
        if not self._poked:
            self._poked = True
            asyncio.get_running_loop().call_soon(self._again, False)

    def _again(self, last: bool) -> None:
        """Outside of the listener's handler: whatever fails here has to be told."""
        self._poked = False
        if self._timer is None:
            return  # answered meanwhile
        try:
            self._try(last=last or not self._plane.serving())
        except Exception:
            self._leave()
            self._plane.reply(self._inquiry, None)
            raise

    def _leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for hosted in self._parked:
            if hosted.waiters is not None:
                hosted.waiters.discard(self._poke)
        self._parked = []


class _Answer:
    """One attempt at an answer. `bytes`: of records in it so far; `urgent`: it says something
    that must not wait."""

    def __init__(
        self, plane: Plane, partitions: Partitions, request: Any, *, follower: bool
    ) -> None:
        self._image = plane.image()
        self._serving = plane.serving()
        self._partitions = partitions
        self._follower = follower
        self._max_bytes = min(int(request.max_bytes), MAX_BYTES)
        self.bytes = 0
        self.urgent = False

    def of(self, asked: _Asked) -> dict[str, Any]:
        """What is to be said of a partition."""
        hosted = None if asked.key is None else self._partitions.get(asked.key)
        if asked.code != ErrorCode.none or hosted is None or not self._serving:
            return self._refused(asked, asked.code or self._why_not(asked))
        judged = _judge(hosted, asked.wire)
        if judged.code != ErrorCode.none:
            return self._refused(asked, judged.code)
        said: dict[str, Any] = {
            "error_code": ErrorCode.none,
            "high_watermark": hosted.state.high_watermark,
            "last_stable_offset": hosted.state.high_watermark,
            "log_start_offset": 0,
        }
        if judged.diverging is not None:
            self.urgent = True
            epoch, end_offset = judged.diverging
            return said | {"diverging_epoch": {"epoch": epoch, "end_offset": end_offset}}
        return said | {"records": self._read(hosted, asked.wire)}

    def _read(self, hosted: Hosted, wire: Any) -> bytes:
        """Consumers see committed records only. The first partition that has some gives one
        batch at least, however large it is (KIP-74)."""
        state = hosted.state
        limit = state.log.end_offset if self._follower else state.high_watermark
        left = min(int(wire.partition_max_bytes), self._max_bytes - self.bytes)
        if wire.fetch_offset >= limit or (self.bytes and left <= 0):
            return b""
        records = hosted.log.read(int(wire.fetch_offset), limit, max(0, left))
        if self.bytes and len(records) > left:
            return b""
        self.bytes += len(records)
        return records

    def _refused(self, asked: _Asked, code: ErrorCode) -> dict[str, Any]:
        self.urgent = True
        said: dict[str, Any] = {"error_code": code}
        partition = None if asked.key is None else self._image.partitions.get(asked.key)
        if partition is not None and code != ErrorCode.topic_authorization_failed:
            said["current_leader"] = {
                "leader_id": partition.leader,
                "leader_epoch": partition.leader_epoch,
            }
        return said

    def _why_not(self, asked: _Asked) -> ErrorCode:
        """Why there is no replica to read from."""
        if asked.key in self._image.partitions:
            return ErrorCode.not_leader_or_follower
        return ErrorCode.unknown_topic_or_partition


def _judge(hosted: Hosted, wire: Any) -> leader.Judged:
    return leader.judge(
        hosted.state,
        int(getattr(wire, "current_leader_epoch", -1)),
        int(wire.fetch_offset),
        int(getattr(wire, "last_fetched_epoch", -1)),
    )
