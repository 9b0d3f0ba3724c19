"""A controller core with a log beside it: appends, commits, barriers and failovers by hand."""

import datetime
import uuid
from typing import Any

from kio.schema.alter_partition.v3.request import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)
from kio.schema.create_topics.v7.request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kio.schema.delete_topics.v6.request import DeleteTopicsRequest, DeleteTopicState

from nodes.kraft.controller import core, steps
from nodes.kraft.metadata.image import EMPTY, Image, apply
from nodes.kraft.metadata.records import decode_record
from nodes.kraft.wire.codec import encode_entity
from nodes.kraft.wire.debug import ReadTopicsRequest
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest, Listener, SupportedFeature
from nodes.kraft.wire.heartbeats import BrokerState as State

CAUGHT_UP = 2**40


class Harness:
    """`settle`: whether each step's records commit and barriers pass at once."""

    def __init__(self, *, settle: bool = True, **settings: Any) -> None:
        config = core.ControllerConfig(
            **{"controller_id": 1, "cluster_id": "test", "seed": 7} | settings
        )
        self.state = core.initial(config)
        self.log: list[bytes] = []
        self.batches: list[tuple[int, int]] = []
        self.committed_end = 0
        self.committed: Image = EMPTY
        self.settle = settle
        self.now_ms = 0
        self.epoch = 0
        self.token = 0
        self.barriers: list[int] = []
        self.answers: dict[int, Any] = {}
        self.ends: dict[int, int] = {}
        self.decided: list[steps.Decided] = []

    # --- driving --------------------------------------------------------------------------

    def feed(self, event: steps.Input) -> list[steps.Effect]:
        self.state, effects = core.step(self.state, event, self.now_ms)
        for effect in effects:
            match effect:
                case steps.Propose(epoch, base_offset, records):
                    assert (epoch, base_offset) == (self.epoch, len(self.log))
                    self.log.extend(records)
                    self.batches.append((base_offset, len(self.log)))
                case steps.Confirm(token):
                    self.barriers.append(token)
                case steps.Answer(token, response, end_offset):
                    assert token not in self.answers, "answered twice"
                    encode_entity(response)
                    self.answers[token] = response
                    self.ends[token] = end_offset
                case steps.Decided():
                    self.decided.append(effect)
        if self.settle:
            self.commit()
            self.pass_barriers()
        return effects

    def claim(self) -> "Harness":
        self.epoch += 1
        self.log.append(encoded_no_op())
        self.committed_end = len(self.log)
        self._replay()
        self.feed(steps.Claim(self.epoch, len(self.log), self.committed))
        return self

    def fail_over(self, keep_to: int | None = None) -> None:
        """Lose leadership and the log from `keep_to` (>= what is committed), and lead again."""
        self.feed(steps.Renounce())
        keep_to = self.committed_end if keep_to is None else keep_to
        self.log = self.log[:keep_to]
        self.batches = [batch for batch in self.batches if batch[1] <= keep_to]
        self.barriers = []
        self.claim()

    def commit(self, end_offset: int | None = None) -> None:
        end_offset = len(self.log) if end_offset is None else end_offset
        if end_offset > self.committed_end:
            self.committed_end = end_offset
            self._replay()
            self.feed(steps.Commit(end_offset, self.committed))

    def pass_barriers(self, confirmed: bool = True) -> None:
        barriers, self.barriers = self.barriers, []
        for token in barriers:
            self.feed(steps.BarrierPassed(token, confirmed))

    def tick(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self.feed(steps.Tick())

    def _replay(self) -> None:
        image = EMPTY
        for offset, data in enumerate(self.log[: self.committed_end]):
            image = apply(image, decode_record(data), offset)
        self.committed = image

    def records(self, start: int = 0) -> list[Any]:
        return [decode_record(data) for data in self.log[start:]]

    @property
    def last(self) -> steps.Decided:
        return self.decided[-1]

    # --- requests -------------------------------------------------------------------------

    def ask(self, request: Any, request_id: bytes | None = None) -> Any:
        """The answer, or None where it waits; its token is `self.token`."""
        self.token += 1
        encode_entity(request)
        self.feed(steps.ControllerRequest(self.token, request, request_id))
        return self.answers.get(self.token)

    def heartbeat(
        self,
        broker_id: int,
        epoch: int = -1,
        *,
        target: State = State.ACTIVE,
        offset: int = CAUGHT_UP,
        incarnation: uuid.UUID | None = None,
        previous: int = -1,
        start_ms: int | None = None,
        levels: tuple[int, int] | None = None,
        **fields: Any,
    ) -> Any:
        features = () if levels is None else (_feature(*levels),)
        return self.ask(
            BrokerHeartbeatRequest(
                target_state=target,
                broker_id=broker_id,
                broker_epoch=epoch,
                lease_start_time_ms=self.now_ms if start_ms is None else start_ms,
                cur_metadata_offset=offset,
                listeners=(
                    Listener(name="C", host=f"b{broker_id}", port=40000, security_protocol=0),
                ),
                incarnation_id=incarnation,
                previous_broker_epoch=previous,
                features=features,
                **fields,
            )
        )

    def activate(self, *broker_ids: int) -> dict[int, int]:
        """Register brokers and make them active; their epochs."""
        epochs = {}
        for broker_id in broker_ids:
            epochs[broker_id] = self.heartbeat(broker_id).broker_epoch
            answer = self.heartbeat(broker_id, epochs[broker_id])
            assert answer.next_state == State.ACTIVE
        return epochs

    def create(
        self,
        *names: str,
        partitions: int = 1,
        replication: int = -1,
        assignment: list[list[int]] | None = None,
        configs: dict[str, str | None] | None = None,
        validate_only: bool = False,
        timeout_ms: int = 1000,
        request_id: bytes | None = None,
    ) -> Any:
        assignments = tuple(
            CreatableReplicaAssignment(partition_index=number, broker_ids=tuple(replicas))
            for number, replicas in enumerate(assignment or ())
        )
        topics = tuple(
            CreatableTopic(
                name=name,
                num_partitions=-1 if assignment else partitions,
                replication_factor=-1 if assignment else replication,
                assignments=assignments,
                configs=tuple(
                    CreatableTopicConfig(name=key, value=value)
                    for key, value in (configs or {}).items()
                ),
            )
            for name in names
        )
        request = CreateTopicsRequest(
            topics=topics,
            timeout=datetime.timedelta(milliseconds=timeout_ms),
            validate_only=validate_only,
        )
        return self.ask(request, request_id)

    def delete(self, *topics: str | uuid.UUID, request_id: bytes | None = None) -> Any:
        states = tuple(
            DeleteTopicState(name=topic, topic_id=None)
            if isinstance(topic, str)
            else DeleteTopicState(name=None, topic_id=topic)
            for topic in topics
        )
        timeout = datetime.timedelta(seconds=1)
        return self.ask(DeleteTopicsRequest(topics=states, timeout=timeout), request_id)

    def alter_all(
        self,
        topic_id: uuid.UUID,
        broker_id: int,
        versions: dict[int, int],
        broker_epoch: int | None = None,
    ) -> Any:
        """One request for several partitions, to an ISR of the leader alone: partition -> the
        partition epoch that is named."""
        epoch = self.committed.brokers[broker_id].epoch if broker_epoch is None else broker_epoch
        partitions = tuple(
            PartitionData(
                partition_index=number,
                leader_epoch=0,
                new_isr_with_epochs=(BrokerState(broker_id=broker_id, broker_epoch=-1),),
                leader_recovery_state=0,
                partition_epoch=version,
            )
            for number, version in versions.items()
        )
        topics = (TopicData(topic_id=topic_id, partitions=partitions),)
        return self.ask(
            AlterPartitionRequest(broker_id=broker_id, broker_epoch=epoch, topics=topics)
        )

    def alter(
        self,
        topic_id: uuid.UUID,
        broker_id: int,
        broker_epoch: int,
        isr: list[int] | list[tuple[int, int]],
        *,
        partition: int = 0,
        leader_epoch: int = 0,
        partition_epoch: int = 0,
        recovering: int = 0,
    ) -> Any:
        """The partition's result, or the response where it has none."""
        members = [each if isinstance(each, tuple) else (each, -1) for each in isr]
        asked = PartitionData(
            partition_index=partition,
            leader_epoch=leader_epoch,
            new_isr_with_epochs=tuple(
                BrokerState(broker_id=member, broker_epoch=epoch) for member, epoch in members
            ),
            leader_recovery_state=recovering,
            partition_epoch=partition_epoch,
        )
        response = self.ask(
            AlterPartitionRequest(
                broker_id=broker_id,
                broker_epoch=broker_epoch,
                topics=(TopicData(topic_id=topic_id, partitions=(asked,)),),
            )
        )
        if response is None or not response.topics:
            return response
        return response.topics[0].partitions[0]

    def read(self, *names: str) -> Any:
        return self.ask(ReadTopicsRequest(names=names))

    def partition(self, name: str, number: int = 0) -> Any:
        return self.committed.partitions[self.committed.topic_ids[name], number]


def _feature(low: int, high: int) -> SupportedFeature:
    return SupportedFeature(name="metadata.format", min_level=low, max_level=high)


def encoded_no_op() -> bytes:
    """A record without effect, in the place of the leader's first one."""
    from nodes.kraft.metadata.records import encode_record
    from nodes.kraft.wire.records import NoOpRecord

    return encode_record(NoOpRecord())
