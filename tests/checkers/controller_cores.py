"""Logs that the real controller core decided, told as nodes' events."""

import datetime
import random
from typing import Any

from kio.schema.create_topics.v7.request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest, DeleteTopicState
from planted_logs import LogStory

from nodes.kraft.controller import core, steps
from nodes.kraft.metadata import image as images
from nodes.kraft.metadata.describe import describe
from nodes.kraft.metadata.digest import digest
from nodes.kraft.metadata.records import decode_record
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest, BrokerState, Listener

CAUGHT_UP = 2**40
LEASE_MS = 5_000
SECOND = datetime.timedelta(seconds=1)


class Cluster:
    """A controller whose records commit at once, and a story of what it did."""

    def __init__(self) -> None:
        config = core.ControllerConfig(controller_id=1, cluster_id="test", seed=7)
        self.state = core.initial(config)
        self.story = LogStory(readers=("c1",))
        self.image = images.EMPTY
        self.now_ms = self.token = 0
        self.answers: dict[int, Any] = {}
        self.story.record("LeaderChange", leader_id=1)
        self.feed(steps.Claim(1, 1, self.image))

    def feed(self, event: Any) -> None:
        self.state, effects = core.step(self.state, event, self.now_ms)
        for effect in effects:
            match effect:
                case steps.Decided():
                    self.story.decide(
                        effect.api,
                        effect.source,
                        list(effect.records),
                        verdict=effect.verdict,
                        as_of=effect.as_of,
                        request_id=str(effect.token),
                        items=list(effect.items),
                    )
                case steps.Propose(_, _, records):
                    for value in records:
                        self._append(value)
                    self.feed(steps.Commit(self.story.offset, self.image))
                case steps.Confirm(token):
                    self.feed(steps.BarrierPassed(token, True))
                case steps.Answer(token, response):
                    self.answers[token] = response

    def _append(self, value: bytes) -> None:
        record = decode_record(value)
        self.image = images.apply(self.image, record, self.story.offset)
        described = describe(record)
        self.story.record(described.pop("kind"), **described)
        self.story.state("c1", self.story.offset, digest(self.image))

    def ask(self, request: Any) -> Any:
        self.token += 1
        self.feed(steps.ControllerRequest(self.token, request, None))
        return self.answers.get(self.token)

    def create(self, name: str, partitions: int) -> Any:
        topic: Any = CreatableTopic(
            name=name,  # type: ignore[arg-type]
            num_partitions=partitions,  # type: ignore[arg-type]
            replication_factor=-1,  # type: ignore[arg-type]
            assignments=(),
            configs=(CreatableTopicConfig(name="max.message.bytes", value="1"),),
        )
        return self.ask(CreateTopicsRequest(topics=(topic,), timeout=SECOND, validate_only=False))  # type: ignore[arg-type]

    def delete(self, name: str) -> Any:
        topic: Any = DeleteTopicState(name=name, topic_id=None)  # type: ignore[arg-type]
        return self.ask(DeleteTopicsRequest(topics=(topic,), timeout=SECOND))  # type: ignore[arg-type]

    def beat(self, broker: int, target: BrokerState = BrokerState.ACTIVE, epoch: Any = None) -> Any:
        held = self.image.brokers.get(broker)
        request = BrokerHeartbeatRequest(
            target_state=target,  # type: ignore[arg-type]
            broker_id=broker,  # type: ignore[arg-type]
            broker_epoch=held.epoch if held and epoch is None else -1,  # type: ignore[arg-type]
            lease_start_time_ms=self.now_ms,  # type: ignore[arg-type]
            cur_metadata_offset=CAUGHT_UP,  # type: ignore[arg-type]
            listeners=(
                Listener(name="CLIENT", host="h", port=9092, security_protocol=0),  # type: ignore[arg-type]
            ),
        )
        return self.ask(request)


def decided_log(draw: random.Random) -> LogStory:
    """Some brokers' lives, and topics that come and go."""
    cluster = Cluster()
    for broker in (4, 5, 6):
        cluster.beat(broker)
        cluster.beat(broker)
    for number in range(draw.randint(3, 12)):
        cluster.now_ms += draw.choice([10, 100, LEASE_MS // 2])
        broker = draw.choice([4, 5, 6])
        match draw.randrange(6):
            case 0:
                cluster.create(f"t{number}", draw.randint(1, 3))
            case 1:
                topics = sorted(topic.name for topic in cluster.image.topics.values())
                if topics:
                    cluster.delete(draw.choice(topics))
            case 2:
                cluster.beat(broker, BrokerState.SHUTDOWN)
            case 3:
                cluster.beat(broker, epoch=-1)
                cluster.beat(broker)
            case 4:
                cluster.feed(steps.Tick())
            case 5:
                cluster.beat(broker)
    return cluster.story
