"""Fetches of the metadata log, as replicas ask for it (KIP-595)."""

import datetime
import uuid
from typing import Final

from kio.schema.errors import ErrorCode
from kio.schema.fetch.v17 import request as fetch
from kio.schema.fetch.v17 import response as fetched
from kio.schema.types import BrokerId
from kio.static.primitive import i32, i32Timedelta, i64

from framework.plugins.dialect import UnexpectedResponse

METADATA_TOPIC: Final = uuid.UUID(int=1)
NOBODY: Final = -1
"""A replica that is none, to a controller of Apache Kafka's."""


def fetch_request(
    position: int,
    last_epoch: int,
    leader_epoch: int,
    *,
    replica_id: int = NOBODY,
    cluster_id: str | None = None,
    most_bytes: int,
) -> fetch.FetchRequest:
    """What is new from offset `position` on, behind a record of `last_epoch`, of the leader of
    `leader_epoch`; nothing is waited for."""
    log = fetch.FetchPartition(
        partition=i32(0),
        current_leader_epoch=i32(leader_epoch),
        fetch_offset=i64(position),
        last_fetched_epoch=i32(last_epoch),
        partition_max_bytes=i32(most_bytes),
    )
    return fetch.FetchRequest(
        cluster_id=cluster_id,
        replica_state=fetch.ReplicaState(replica_id=BrokerId(replica_id)),
        max_wait=i32Timedelta.parse(datetime.timedelta()),
        min_bytes=i32(0),
        max_bytes=i32(most_bytes),
        topics=(fetch.FetchTopic(topic_id=METADATA_TOPIC, partitions=(log,)),),
        forgotten_topics_data=(),
    )


def log_of(response: fetched.FetchResponse) -> fetched.PartitionData | None:
    """None: the request as a whole was refused. Raises `UnexpectedResponse`."""
    if response.error_code != ErrorCode.none:
        return None
    found = [each for topic in response.responses for each in topic.partitions]
    if len(found) != 1:
        raise UnexpectedResponse(f"{response!r:.300}")
    return found[0]
