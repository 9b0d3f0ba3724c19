"""All partitions as the committed metadata log has them: brokers' answers are held against it.

That a broker has fetched the log (DescribeQuorum) does not say that it shows it, and brokers that
agree may all be behind. So the log is read, from the active controller, as `follow` reads it.
"""

import time
import uuid

from framework.plugins.dialect import UnexpectedResponse
from nodes.kafka.asking import exchange
from nodes.kafka.following import Follower
from nodes.kafka.states import SILENT, Connect, PartitionView
from nodes.kafka.topics import Topics


def committed(
    connect: Connect, cluster_id: str, timeout_s: float
) -> frozenset[PartitionView] | None:
    """By an active controller, which has `timeout_s` for each part of it; None: it did not give it
    to its end."""
    follower = Follower(cluster_id)
    try:
        with connect("controller", timeout_s) as connection:
            response = exchange(connection, follower.request(), time.monotonic() + timeout_s)
            while (further := follower.then(response)) is not None:
                if further.elsewhere:
                    return None
                response = exchange(connection, further.request, time.monotonic() + timeout_s)
        return partitions(follower.topics) if follower.refusal(response) is None else None
    except (*SILENT, UnexpectedResponse):
        return None


def partitions(topics: Topics) -> frozenset[PartitionView]:
    """As `states.topics` has those that a broker shows."""
    return frozenset(
        PartitionView(
            uuid.UUID(topic_id),
            each["partition_id"],
            each["leader"],
            each["leader_epoch"],
            frozenset(each["isr"]),
            frozenset(each["replicas"]),
        )
        for topic_id, own in topics.partitions.by_topic.items()
        for each in own.values()
    )
