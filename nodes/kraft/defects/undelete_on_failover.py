"""A new active controller brings back the topics whose deletion it saw last."""

import uuid
from collections import deque
from dataclasses import replace

from nodes.kraft.controller import core
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.controller.steps import Claim, Commit, Effect, Input
from nodes.kraft.metadata.image import EMPTY, Image
from nodes.kraft.wire.records import PartitionRecord, TopicRecord


def install() -> None:
    healthy = core.step
    deleted: deque[tuple[Image, uuid.UUID]] = deque(maxlen=3)
    last = [EMPTY]

    def step(
        state: core.ControllerState, event: Input, now_ms: int
    ) -> tuple[core.ControllerState, list[Effect]]:
        after, effects = healthy(state, event, now_ms)
        if isinstance(event, Commit):
            gone = [topic for topic in last[0].topics if topic not in event.image.topics]
            deleted.extend((last[0], topic_id) for topic_id in gone)
            last[0] = event.image
        if isinstance(event, Claim) and after.leadership is not None:
            leadership, proposed = _bring_back(after.leadership, deleted)
            after, effects = replace(after, leadership=leadership), [*effects, *proposed]
        return after, effects

    core.step = step


def _bring_back(
    leadership: core.Leadership, deleted: deque[tuple[Image, uuid.UUID]]
) -> tuple[core.Leadership, list[Effect]]:
    builder = RecordBatchBuilder(leadership.speculative, leadership.end_offset)
    for image, topic_id in deleted:
        topic = image.topics[topic_id]
        if topic.name in builder.image.topic_ids or topic_id in builder.image.topics:
            continue
        builder.add(TopicRecord(name=topic.name, topic_id=topic_id, deleting=False))
        for number in topic.indexes():
            partition = image.partitions[topic_id, number]
            builder.add(
                PartitionRecord(
                    partition_id=number,
                    topic_id=topic_id,
                    replicas=partition.replicas,
                    isr=partition.isr,
                    leader=partition.leader,
                    leader_epoch=partition.leader_epoch,
                    partition_epoch=partition.partition_epoch,
                )
            )
    return core._append(leadership, builder)
