"""ReadTopics: the topics in the committed state, for a reader behind a barrier."""

from kio.static.primitive import i16, i32, i64

from nodes.kraft.ids import PartitionIndex
from nodes.kraft.metadata.image import Image, Topic
from nodes.kraft.wire.debug import (
    ReadPartition,
    ReadTopic,
    ReadTopicsRequest,
    ReadTopicsResponse,
)

UNKNOWN_TOPIC_OR_PARTITION = i16(3)


def read_topics(
    image: Image, request: ReadTopicsRequest, epoch: int, end_offset: int
) -> ReadTopicsResponse:
    """The named topics, or all by name, as of `end_offset`, the end of what is committed."""
    names = request.names or tuple(sorted(image.topic_ids))
    return ReadTopicsResponse(
        error_code=i16(0),
        epoch=i32(epoch),
        offset=i64(end_offset),
        topics=tuple(_read(image, name) for name in names),
    )


def _read(image: Image, name: str) -> ReadTopic:
    topic = image.topic(name)
    if topic is None:
        return ReadTopic(
            error_code=UNKNOWN_TOPIC_OR_PARTITION, name=name, topic_id=None, partitions=()
        )
    return ReadTopic(
        error_code=i16(0),
        name=name,
        topic_id=topic.topic_id,
        partitions=tuple(_partition(image, topic, number) for number in topic.indexes()),
    )


def _partition(image: Image, topic: Topic, number: PartitionIndex) -> ReadPartition:
    partition = image.partitions[topic.topic_id, number]
    return ReadPartition(
        partition_id=i32(number),
        leader=i32(partition.leader),
        leader_epoch=i32(partition.leader_epoch),
        partition_epoch=i32(partition.partition_epoch),
        replicas=tuple(i32(replica) for replica in partition.replicas),
        isr=tuple(i32(member) for member in partition.isr),
    )
