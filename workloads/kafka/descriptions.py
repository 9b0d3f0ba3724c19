"""Between what an observer asks and Kafka's messages: pure, as `messages` is for clients."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from kio.schema.describe_cluster.v0 import request as cluster
from kio.schema.describe_cluster.v0 import response as clustered
from kio.schema.describe_cluster.v1 import request as typed
from kio.schema.describe_cluster.v1 import response as controlled
from kio.schema.describe_quorum.v1 import request as quorum
from kio.schema.describe_quorum.v1 import response as quorate
from kio.schema.list_offsets.v7 import request as offsets
from kio.schema.list_offsets.v7 import response as listed
from kio.schema.metadata.v12 import request as metadata
from kio.schema.metadata.v12 import response as cached
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i64

from framework.history.event import Invocation
from framework.plugins.capabilities import TOLD_CONTROLLERS, WATCHED_LOG
from framework.plugins.dialect import Exchange, Exchanges, UnexpectedResponse
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.log_messages import TIMESTAMPS
from workloads.kafka.messages import partitions_of, refused, the_one
from workloads.kafka.operations.descriptions import (
    BrokerAddress,
    ClusterView,
    ControllersView,
    LogEnd,
    LogEnds,
    NamedTopic,
    QuorumView,
    TopicsView,
)
from workloads.kafka.operations.partitions import partition_key, partition_of
from workloads.kafka.roles import BROKER, CONTROLLER

METADATA_LOG: Final = TopicName("__cluster_metadata")
CONTROLLERS: Final = i8(2)
"""The type of endpoints that are controllers (KIP-919)."""
TOPICS: Final = 24
"""Topics of which an answer is kept: the same of all brokers."""
Led: TypeAlias = Mapping[str, tuple[str, int]]
"""Partition -> (topic id, leader epoch)."""
LED: Final = 16
"""Partitions whose ends a broker is asked for at a time."""


# --- the quorum and the cluster -----------------------------------------------------------


def quorum_request(invocation: Invocation) -> quorum.DescribeQuorumRequest:
    """Of the metadata log."""
    log = quorum.TopicData(
        topic_name=METADATA_LOG, partitions=(quorum.PartitionData(partition_index=i32(0)),)
    )
    return quorum.DescribeQuorumRequest(topics=(log,))


def quorum_answer(invocation: Invocation, response: quorate.DescribeQuorumResponse) -> Answer:
    """Ok: a `QuorumView` of the leader."""
    if response.error_code != 0:
        return refused(response.error_code)
    topic = the_one(response.topics, lambda each: each.topic_name == METADATA_LOG)
    log = the_one(topic.partitions, lambda each: each.partition_index == 0)
    if log.error_code != 0:
        return refused(log.error_code)
    view = QuorumView(
        leader=int(log.leader_id),
        leader_epoch=int(log.leader_epoch),
        high_watermark=int(log.high_watermark),
        voters=tuple(
            (int(each.replica_id), int(each.log_end_offset)) for each in log.current_voters
        ),
    )
    return Ok(view.to_json())


def cluster_request(invocation: Invocation) -> cluster.DescribeClusterRequest:
    """Brokers alone."""
    return cluster.DescribeClusterRequest(include_cluster_authorized_operations=False)


def cluster_answer(invocation: Invocation, response: clustered.DescribeClusterResponse) -> Answer:
    """Ok: a `ClusterView`."""
    if response.error_code != 0:
        return refused(response.error_code, response.error_message)
    return Ok(ClusterView(_addresses(response.brokers)).to_json())


def controllers_request(invocation: Invocation) -> typed.DescribeClusterRequest:
    """Controllers alone: their own listeners answer that, and nothing else."""
    return typed.DescribeClusterRequest(
        include_cluster_authorized_operations=False, endpoint_type=CONTROLLERS
    )


def controllers_answer(
    invocation: Invocation, response: controlled.DescribeClusterResponse
) -> Answer:
    """Ok: a `ControllersView`."""
    if response.error_code != 0:
        return refused(response.error_code, response.error_message)
    if response.endpoint_type != CONTROLLERS:
        raise UnexpectedResponse(f"endpoints of type {response.endpoint_type}, not controllers")
    view = ControllersView(_addresses(response.brokers), active=int(response.controller_id))
    return Ok(view.to_json())


def _addresses(
    told: Iterable[clustered.DescribeClusterBroker | controlled.DescribeClusterBroker],
) -> tuple[BrokerAddress, ...]:
    return _by_id(BrokerAddress(int(each.broker_id), each.host, int(each.port)) for each in told)


def _by_id(brokers: Iterable[BrokerAddress]) -> tuple[BrokerAddress, ...]:
    return tuple(sorted(brokers, key=lambda each: each.id))


# --- topics and the ends of their logs ----------------------------------------------------


def topics_request(invocation: Invocation) -> metadata.MetadataRequest:
    """All of them."""
    return metadata.MetadataRequest(
        topics=None, allow_auto_topic_creation=False, include_topic_authorized_operations=False
    )


def topics_answer(invocation: Invocation, response: cached.MetadataResponse) -> Answer:
    """Ok: a `TopicsView`."""
    whole = sorted(
        (each for each in response.topics if each.error_code == 0 and each.name is not None),
        key=lambda each: str(each.name),
    )
    brokers = (
        BrokerAddress(int(each.node_id), each.host, int(each.port)) for each in response.brokers
    )
    view = TopicsView(
        brokers=_by_id(brokers),
        topics=tuple(
            NamedTopic(
                name=str(each.name),
                topic_id=str(each.topic_id),
                partitions=partitions_of(each),
            )
            for each in whole[:TOPICS]
        ),
        others=len(whole[TOPICS:]),
    )
    return Ok(view.to_json())


def led_by(view: TopicsView, broker_id: int) -> Led:
    """Partitions that a broker leads by its own metadata."""
    led = [
        (partition_key(topic.name, each.partition), (topic.topic_id, each.leader_epoch))
        for topic in view.topics
        for each in topic.partitions
        if each.leader == broker_id
    ]
    return dict(led[:LED])


def ends_request(led: Led) -> offsets.ListOffsetsRequest:
    """Where the logs of these partitions end, each fenced by its leader epoch."""
    asked = sorted((*partition_of(key), epoch) for key, (_, epoch) in led.items())
    return offsets.ListOffsetsRequest(
        replica_id=BrokerId(-1),
        isolation_level=i8(0),
        topics=tuple(
            offsets.ListOffsetsTopic(
                name=TopicName(topic),
                partitions=tuple(
                    offsets.ListOffsetsPartition(
                        partition_index=i32(number),
                        current_leader_epoch=i32(epoch),
                        timestamp=i64(TIMESTAMPS["latest"]),
                    )
                    for _, number, epoch in own
                ),
            )
            for topic, own in groupby(asked, key=lambda each: each[0])
        ),
    )


def ends_answer(led: Led, response: listed.ListOffsetsResponse) -> Answer:
    """Ok: `LogEnds`."""
    ends: list[LogEnd] = []
    for topic in response.topics:
        for each in topic.partitions:
            key = partition_key(topic.name, each.partition_index)
            if each.error_code == 0 and key in led:
                topic_id, epoch = led[key]
                ends.append(
                    LogEnd(key=key, offset=int(each.offset), leader_epoch=epoch, topic_id=topic_id)
                )
    return Ok(LogEnds(tuple(ends)).to_json())


ROLES: Final[Mapping[str, Sequence[str]]] = {
    "describe-node": (CONTROLLER, BROKER),
    "describe-quorum": (CONTROLLER, BROKER),
    "describe-controllers": (CONTROLLER,),
    "describe-cluster": (BROKER,),
    "describe-topics": (BROKER,),
    "log-ends": (BROKER,),
    "metadata-log": (CONTROLLER,),
}
"""What nodes are asked, in this order, and as what: the first of these roles that they have. For
`describe-node`, a node's own view of the quorum, Kafka has no message; a system's dialect may. So
may it say `metadata-log`, which is asked of systems that can be watched so."""
NEEDS: Final[Mapping[str, str]] = {
    "describe-controllers": TOLD_CONTROLLERS,
    "metadata-log": WATCHED_LOG,
}
"""Questions that not every system has an answer for, and the capability of those that have."""
PASSED_ON: Final = ("describe-quorum", BROKER)
"""A question that brokers pass on to the active controller. Where nodes have no view of their own
to tell, those that are both are asked as brokers as well: else nobody but the leader says who
leads."""
EXCHANGES: Final[Exchanges] = {
    "describe-quorum": Exchange(at=CONTROLLER, request=quorum_request, answer=quorum_answer),
    "describe-controllers": Exchange(
        at=CONTROLLER, request=controllers_request, answer=controllers_answer
    ),
    "describe-cluster": Exchange(at=BROKER, request=cluster_request, answer=cluster_answer),
    "describe-topics": Exchange(at=BROKER, request=topics_request, answer=topics_answer),
}
"""Those whose messages depend on nothing that was answered before."""
