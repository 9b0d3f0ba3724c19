"""Fetch sessions of follower replicas (KIP-227): a leader remembers what each of them asks for.

A request names the partitions alone that are new or whose position changed; an answer, those
that have something to say. So an idle partition costs nothing, however many there are. A
partition of which an answer said more than a high watermark is silent until the follower names
it again. An empty fetch outside of a session makes the parked one of the same replica return: the
follower has something to add to it.
"""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from kio.schema.errors import ErrorCode
from kio.static.constants import uuid_zero

from nodes.kraft.ids import BrokerEpoch, PartitionIndex
from nodes.kraft.metadata.image import PartitionKey
from nodes.kraft.net.listener import RequestContext
from nodes.kraft.partition.answers import Fields, PartitionAnswer, fetch_response
from nodes.kraft.runtime.hosted import Change
from nodes.kraft.runtime.partitions import Partitions
from nodes.kraft.runtime.planes import Plane
from nodes.kraft.runtime.reading import Asked, Follower, Reading, asked
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, ResourceType

if TYPE_CHECKING:
    from nodes.kraft.wire.partition_requests import FetchRequest, ReplicaFetchRequest

SINCE_REPLICA_STATE: Final = 15
MAX_WAIT_MS: Final = 30_000
_MAX_EPOCH: Final = 2**31 - 1


class Sessions:
    """One session for each replica that fetches from this broker."""

    def __init__(self, plane: Plane, partitions: Partitions) -> None:
        self._plane = plane
        self._partitions = partitions
        self._sessions: dict[int, _Session] = {}
        self._ids = itertools.count(1)
        partitions.on_change(self._changed)

    def serve(self, context: RequestContext[FetchRequest]) -> bool:
        """Serve a follower's fetch in a session. False: it is none, or not allowed."""
        if context.request.__version__ < SINCE_REPLICA_STATE:
            return False
        return self._serve(cast("RequestContext[ReplicaFetchRequest]", context))

    def _serve(self, context: RequestContext[ReplicaFetchRequest]) -> bool:
        request = context.request
        state = request.replica_state
        if state.replica_id < 0:
            return False
        follower = Follower(state.replica_id, BrokerEpoch(state.replica_epoch))
        if follower.replica_id not in self._plane.image().brokers:
            return False
        if not self._plane.allowed(
            context, Operation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME
        ):
            return False
        session = self._sessions.get(follower.replica_id)
        if request.session_epoch < 0:
            if session is not None and not request.topics:
                session.release()
            return False
        code = ErrorCode.none
        if request.session_epoch == 0:
            session = self._begin(follower, session)
        if session is None or (request.session_id and request.session_id != session.id):
            code = ErrorCode.fetch_session_id_not_found
        elif request.session_epoch != session.epoch or follower != session.follower:
            code = ErrorCode.invalid_fetch_session_epoch
        if session is None or code != ErrorCode.none:
            self._plane.reply(context, fetch_response(request, code, 0, ()))
        else:
            session.serve(context)
        return True

    def _begin(self, follower: Follower, before: _Session | None) -> _Session | None:
        """A new session; none for a process that has a successor."""
        if before is not None:
            if before.follower.broker_epoch > follower.broker_epoch:
                return None
            before.release()
        session = _Session(self._plane, self._partitions, next(self._ids), follower)
        self._sessions[follower.replica_id] = session
        return session

    def _changed(self, key: PartitionKey, change: Change) -> None:
        for session in self._sessions.values():
            if key in session.asked:
                session.changed(key, change)


class _Session:
    """What a replica asks for. `epoch`: that of its next request."""

    def __init__(
        self, plane: Plane, partitions: Partitions, session_id: int, follower: Follower
    ) -> None:
        self.id = session_id
        self.epoch = 0
        self.follower = follower
        self.asked: dict[PartitionKey, Asked] = {}
        self._plane = plane
        self._partitions = partitions
        self._news: dict[PartitionKey, None] = {}  # to be looked at
        self._quiet: dict[PartitionKey, None] = {}  # a high watermark to tell, with the next answer
        self._reported: dict[PartitionKey, int] = {}  # high watermarks
        self._begins: dict[PartitionKey, int] = {}  # where logs begin that do not at 0, as told
        self._context: RequestContext[ReplicaFetchRequest] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._poked = False

    def serve(self, context: RequestContext[ReplicaFetchRequest]) -> None:
        """Take what a request says; answer it, or park it."""
        request, image = context.request, self._plane.image()
        whole = request.session_epoch == 0
        self.epoch = 1 if self.epoch == _MAX_EPOCH else self.epoch + 1
        self._context = context
        for forgotten in request.forgotten_topics_data:
            for number in forgotten.partitions:
                key = (forgotten.topic_id or uuid_zero, PartitionIndex(number))
                self.asked.pop(key, None)
                self._told_nothing(key)
        for topic in request.topics:
            topic_id = topic.topic_id or uuid_zero
            known = topic_id in image.topics
            for wire in topic.partitions:
                key = (topic_id, PartitionIndex(wire.partition))
                wanted = asked(key, ErrorCode.none if known else ErrorCode.unknown_topic_id, wire)
                if known:
                    code = self.follower.note(self._partitions, image, wanted)
                    wanted = wanted if code == ErrorCode.none else replace(wanted, code=code)
                before = self.asked.get(key)
                if before is not None and before.leader_epoch != wanted.leader_epoch:
                    self._told_nothing(key)
                self.asked[key] = wanted
                self._news[key] = None
        wait_ms = min(round(request.max_wait.total_seconds() * 1000), MAX_WAIT_MS)
        self._try(last=whole or wait_ms <= 0, whole=whole)
        if self._context is context:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(wait_ms / 1000, self._again, True)

    def _told_nothing(self, key: PartitionKey) -> None:
        """What it was told of a partition may have come when it followed in a new epoch, or not at
        all: an answer from another epoch says nothing to it."""
        self._reported.pop(key, None)
        self._begins.pop(key, None)

    def changed(self, key: PartitionKey, change: Change) -> None:
        """A partition has something new. A high watermark alone waits for the next answer."""
        if change == Change.HIGH_WATERMARK:
            self._quiet[key] = None
            return
        self._news[key] = None
        if self._context is not None and not self._poked:
            self._poked = True
            asyncio.get_running_loop().call_soon(self._again, False)

    def release(self) -> None:
        """Let the parked request go."""
        self._again(True)

    def _again(self, last: bool) -> None:
        """Outside of the listener's handler: whatever fails here has to be told."""
        self._poked = False
        context = self._context
        if context is None:
            return  # answered meanwhile
        try:
            self._try(last=last or not self._plane.serving())
        except Exception:
            self._answered()
            self._plane.reply(context, None)
            raise

    def _try(self, *, last: bool, whole: bool = False) -> None:
        """Answer, if there is something to say or this is the last time. `whole`: whatever
        there is to say of each partition."""
        context = self._context
        assert context is not None
        request = context.request
        reading = Reading(self._plane, self._partitions, int(request.max_bytes), follower=True)
        said: list[PartitionAnswer] = []
        again: dict[PartitionKey, None] = {}
        moved = False  # the beginning of a log, for which somebody may wait
        for key in self._news:
            if (wanted := self.asked.get(key)) is None:
                continue
            reading.full = False
            reported = reading.of(wanted)
            if reading.full:
                again[key] = None
            elif _says_more(reported) or self._begins_later(key, reported) or whole:
                moved = moved or self._begins_later(key, reported)
                said.append((*key, reported))
            else:
                self._quiet[key] = None
        if last or moved or reading.urgent or reading.bytes >= request.min_bytes:
            for topic_id, number, reported in said:
                self._note((topic_id, number), reported)
            said += self._quietly(reading, said)
            self._news = again
            self._answered()
            self._plane.reply(context, fetch_response(request, ErrorCode.none, self.id, said))
        else:
            self._news = again | {(topic_id, number): None for topic_id, number, _ in said}

    def _note(self, key: PartitionKey, reported: Fields) -> None:
        """What the follower is told."""
        self._reported[key] = cast(int, reported.get("high_watermark", 0))
        if self._begins_later(key, reported):
            self._begins[key] = cast(int, reported["log_start_offset"])

    def _begins_later(self, key: PartitionKey, reported: Fields) -> bool:
        """Whether the log begins elsewhere than the follower was told."""
        begins = cast(int, reported.get("log_start_offset", -1))
        return begins >= 0 and begins != self._begins.get(key, 0)

    def _quietly(self, reading: Reading, said: list[PartitionAnswer]) -> list[PartitionAnswer]:
        """The high watermarks that the follower has not been told yet. One whose log is not known
        to continue here would take them for its own records': it names the partition again."""
        quiet, self._quiet = self._quiet, {}
        for topic_id, number, _ in said:
            quiet.pop((topic_id, number), None)
        found: list[PartitionAnswer] = []
        for key in quiet:
            wanted, hosted = self.asked.get(key), self._partitions.get(key)
            if wanted is None or hosted is None or not reading.continues(wanted, hosted):
                continue
            if hosted.state.high_watermark != self._reported.get(key, 0):
                self._reported[key] = hosted.state.high_watermark
                found.append((*key, reading.without_records(hosted)))
        return found

    def _answered(self) -> None:
        self._context = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _says_more(reported: Fields) -> bool:
    """Than a high watermark."""
    return bool(reported["error_code"] or reported.get("records") or "diverging_epoch" in reported)
