"""A program: one member of a consumer group, by kafka-python, as its users write one.

    python -m workloads.kafka.group_member CONFIGURATION

It does what each line of its input asks, and answers with a line; between them it polls, so that
it takes part in rebalances. At the end of its input it is gone, and tells nobody: only `leave` is a
farewell. (So does one whose process is killed; docs/operating.md says what is asked and answered.)

Records are polled of one partition at a time: all others are paused, so that what a member was
handed is what an operation asked for. kafka-python 3.0.12 forgets an assignment that comes while no
poll waits, so a member that has none polls for long.
"""

import json
import os
import select
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.structs import OffsetAndMetadata

from framework.history.event import Json
from workloads.kafka.operations.groups import Assigned, MemberFetched

REBALANCED: Final = "REBALANCED"
"""The member is not, or no longer, in the generation that it is asked to act in."""
POSITION_MOVED: Final = "POSITION_MOVED"
"""The member goes on from elsewhere than it is asked to."""
NOT_ASSIGNED: Final = "NOT_ASSIGNED"
"""No generation was complete in time."""

JOIN_S: Final = 6.0
"""After which no new step is begun; of a join, the start of this process included, which takes
seconds on a busy machine. It goes on trying: the next operation waits as long again."""
PAUSE_S: Final = 0.1
POSITION_MS: Final = 800
FETCH_S: Final = 0.6
CALL_S: Final = 2.5
"""For a commit, or a question for offsets."""
IDLE_MS: Final = 20
WAITING_MS: Final = 1000
"""Polls of a member with an assignment, and of one that waits for it."""


class NotDone(Exception):
    """The operation failed before anything was sent."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Generation:
    """The member's own."""

    number: int
    member_id: str
    assigned: tuple[TopicPartition, ...]


class Member(ConsumerRebalanceListener):  # type: ignore[misc]
    """The consumer. `now`: its generation; None: it is between two, or in no group."""

    def __init__(self, settings: Mapping[str, Json], topics: list[str], asked_s: float) -> None:
        """`asked_s`: when it was asked to join, by the machine's monotonic clock."""
        self.now: Generation | None = None
        self._settings, self._topics, self._asked_s = settings, topics, asked_s
        self._made: KafkaConsumer | None = None

    @property
    def _consumer(self) -> KafkaConsumer:
        """Made when it is first needed: it asks a broker at once, which may be down."""
        if self._made is None:
            self._made = self._new()
        return self._made

    def _new(self) -> KafkaConsumer:
        return KafkaConsumer(
            **self._settings,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            partition_assignment_strategy=[RoundRobinPartitionAssignor],
            max_poll_records=50,
            heartbeat_interval_ms=200,
            request_timeout_ms=4000,
            bootstrap_timeout_ms=2000,
            max_poll_interval_ms=6000,
            metadata_max_age_ms=5000,
            reconnect_backoff_ms=50,
            reconnect_backoff_max_ms=200,
            fetch_max_wait_ms=100,
        )

    # --- rebalances -----------------------------------------------------------------------

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        self.now = None

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        self.now = None

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        metadata = self._consumer.group_metadata()
        self._consumer.pause(*assigned)
        if metadata.generation_id >= 0:
            self.now = Generation(
                metadata.generation_id, metadata.member_id, tuple(sorted(assigned))
            )

    @property
    def joined(self) -> bool:
        return self._made is not None and bool(self._made.subscription())

    def idle(self) -> None:
        """Poll for a moment; a member without an assignment, until it may have one."""
        self._consumer.poll(timeout_ms=IDLE_MS if self._in(self.now) else WAITING_MS)

    def _in(self, generation: Generation | None) -> bool:
        """Whether that is the member's generation, as far as it knows."""
        if generation is None or generation is not self.now:
            return False
        reported: int = self._consumer.group_metadata().generation_id
        return reported == generation.number

    def _acting(self, number: int) -> Generation:
        """Raises `NotDone`."""
        now = self.now
        if now is None or now.number != number or not self._in(now):
            raise NotDone(REBALANCED, f"not in generation {number}: {now}")
        return now

    # --- operations -----------------------------------------------------------------------

    def join(self) -> Json:
        """Become a member."""
        return self._until_assigned(self._asked_s).to_json()

    def assignment(self) -> Json:
        """What it reads; waits for it."""
        return self._until_assigned(time.monotonic()).to_json()

    def _until_assigned(self, asked_s: float) -> Assigned:
        """Polls, which is what takes a member through the steps of a rebalance. Brokers that are
        down or fenced make the library raise, whose users go on polling."""
        deadline = asked_s + JOIN_S
        last: Exception | None = None
        while time.monotonic() < deadline:
            try:
                reported = self._assignment()
            except Exception as error:
                last = error
                time.sleep(PAUSE_S)
            else:
                if reported is not None:
                    return reported
        raise NotDone(NOT_ASSIGNED, f"no generation within {JOIN_S:g} s: {last!r}")

    def _assignment(self) -> Assigned | None:
        """A step on the way to it; None: there is none yet."""
        if not self.joined:
            if self._knows_topics():
                self._consumer.subscribe(self._topics, listener=self)
            return None
        self.idle()
        now = self.now
        if now is None or not self._in(now):
            return None
        positions = tuple((_key(each), self._position(each)) for each in now.assigned)
        if not self._in(now):
            return None
        return Assigned(
            generation=now.number,
            assigned=tuple(map(_key, now.assigned)),
            positions=positions,
            id=now.member_id,
        )

    def _knows_topics(self) -> bool:
        """`partitions_for_topic` alone waits for an answer for ever, while no broker gives one."""
        first = [TopicPartition(topic, 0) for topic in self._topics]
        self._consumer.end_offsets(first, timeout_ms=POSITION_MS)
        return all(self._consumer.partitions_for_topic(topic) for topic in self._topics)

    def _position(self, partition: TopicPartition) -> int:
        position = self._consumer.position(partition, timeout_ms=POSITION_MS)
        if position is None:
            raise NotDone(NOT_ASSIGNED, f"no position in {_key(partition)}")
        return int(position)

    def fetch(self, key: str, start: int, generation: int) -> Json:
        """The next records of a partition; where there are none, also where it ends."""
        now, partition = self._acting(generation), _partition(key)
        if partition not in now.assigned or self._position(partition) != start:
            raise NotDone(POSITION_MOVED, f"does not go on from {start} in {key}")
        self._consumer.resume(partition)
        try:
            polled = self._consumer.poll(timeout_ms=int(FETCH_S * 1000))
        finally:
            if partition in self._consumer.assignment():
                self._consumer.pause(partition)
        for other, unasked in polled.items():
            if other != partition:  # it was to be handed those later
                self._consumer.seek(other, unasked[0].offset)
        records = tuple((each.offset, int(each.value)) for each in polled.get(partition, ()))
        if records:
            return MemberFetched(records=records, position=records[-1][0] + 1).to_json()
        self._acting(generation)
        if self._position(partition) != start:
            raise NotDone(POSITION_MOVED, f"no longer goes on from {start} in {key}")
        ends = self._consumer.end_offsets([partition], timeout_ms=int(CALL_S * 1000))
        end = int(ends[partition])
        return MemberFetched(records=(), position=start, high_watermark=end).to_json()

    def commit(self, key: str, offset: int, generation: int) -> Json:
        """One partition's offset."""
        now = self._acting(generation)
        offsets = {_partition(key): OffsetAndMetadata(offset, "", -1)}
        self._consumer.commit(offsets, timeout_ms=int(CALL_S * 1000))
        if self.now is not now:
            raise RuntimeError("the generation changed during a commit")
        return {}

    def leave(self) -> Json:
        """Say farewell."""
        self._consumer.close(autocommit=False, timeout_ms=int(CALL_S * 1000))
        return {}


def _key(partition: TopicPartition) -> str:
    return f"{partition.topic}/{partition.partition}"


def _partition(key: str) -> TopicPartition:
    topic, _, number = key.rpartition("/")
    return TopicPartition(topic, int(number))


def answer(member: Member, request: Mapping[str, Json]) -> Json:
    """{"ok": result}, or {"error": [code, message], "sent": whether anything may have been}."""
    operations: Mapping[str, Callable[..., Json]] = {
        "join": member.join,
        "assignment": member.assignment,
        "fetch": member.fetch,
        "commit": member.commit,
        "leave": member.leave,
    }
    arguments = {name: value for name, value in request.items() if name != "do"}
    try:
        return {"ok": operations[str(request["do"])](**arguments)}
    except NotDone as error:
        return {"error": [error.code, str(error)], "sent": False}
    except Exception as error:  # whatever the library raises
        return {"error": [type(error).__name__, str(error)], "sent": True}


def main() -> None:
    configuration = json.loads(sys.argv[1])
    member = Member(configuration["settings"], configuration["topics"], configuration["asked_s"])
    while True:
        asked, _, _ = select.select([sys.stdin], [], [], 0 if member.joined else None)
        if not asked:
            with suppress(Exception):  # the next operation meets it again
                member.idle()
            continue
        line = sys.stdin.readline()
        if not line:
            os._exit(0)  # no farewell
        print(json.dumps(answer(member, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
