"""What a broker tells its clients: answers made from the metadata image alone. Pure.

These are reads of a cache: as of whatever the broker has applied, with no promise of recency.
Fenced brokers are shown to nobody (KAFKA-15220); the "controller" of client protocols is any
active broker, which forwards (B.9.3).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar

from kio.schema.api_versions.v0.response import ApiVersion as ApiVersionV0
from kio.schema.api_versions.v0.response import ApiVersionsResponse as ApiVersionsResponseV0
from kio.schema.errors import ErrorCode
from kio.static.primitive import i16, i64
from kio.static.protocol import Entity, RequestPayload, ResponsePayload

from nodes.kraft.broker.producer_ids import init_producer_id_response
from nodes.kraft.broker.replica_reports import log_dirs_refusal, producers
from nodes.kraft.controller.answers import (
    NO_THROTTLE,
    Refusal,
    item_schema,
    make,
    refused,
    schema_of,
)
from nodes.kraft.controller.naming import check_legal, check_name
from nodes.kraft.controller.permission import (
    Allows,
    authorized_operations,
    everything,
    may_create,
    require,
)
from nodes.kraft.group import api as group_api
from nodes.kraft.ids import BrokerId
from nodes.kraft.metadata.features import SUPPORTED
from nodes.kraft.metadata.image import EMPTY, NO_LEADER, Broker, EndPoint, Image, Partition, Topic
from nodes.kraft.partition.answers import refused as partition_refusal
from nodes.kraft.security.authorizer import CLUSTER_NAME, Operation, ResourceType
from nodes.kraft.wire.api_keys import (
    DELETE_RECORDS,
    DESCRIBE_ACLS,
    DESCRIBE_CLUSTER,
    DESCRIBE_CONFIGS,
    DESCRIBE_LOG_DIRS,
    DESCRIBE_PRODUCERS,
    FETCH,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    LIST_CONFIG_RESOURCES,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FOR_LEADER_EPOCH,
    PRODUCE,
)
from nodes.kraft.wire.versions import NEWEST

if TYPE_CHECKING:
    from nodes.kraft.wire.metadata_requests import (
        DescribeClusterRequest,
        MetadataRequest,
        MetadataRequestTopic,
    )

E = TypeVar("E", bound=Entity)

BROKERS: Final = 1
"""DescribeCluster's endpoint type that asks for brokers; 2 asks for controllers."""
CONTROLLERS: Final = 2

HIDDEN_KEYS: Final = frozenset({50, 51})
"""Heartbeats of the draft, under keys that shipped Kafka gave to other messages (A.7.11)."""
FIRST_OWN_KEY: Final = 10_000

INTERNAL_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state"})
NOT_ASKED: Final = -(2**31)
"""The authorized operations that a client did not ask for."""


def active_brokers(image: Image) -> list[int]:
    """The ids of the brokers that are not fenced."""
    return sorted(each for each, broker in image.brokers.items() if not broker.fenced)


def fenced_brokers(image: Image) -> list[int]:
    """The ids of the brokers that are registered, but fenced."""
    return sorted(each for each, broker in image.brokers.items() if broker.fenced)


# --- Metadata -----------------------------------------------------------------------------


def metadata_response(
    image: Image,
    request: MetadataRequest,
    cluster_id: str,
    listener: str | None = None,
    allows: Allows = everything,
    creates: bool = False,
) -> ResponsePayload:
    """The answer to Metadata v0-13. `listener`: whose endpoints to tell (None: the first).
    Topics that the client may not describe are refused where it names them (29, be there such a
    topic or not), and left out where it asks for all. `creates`: those that are not there are
    about to be made; who may not have that done (29), or not under that name (17), is told."""
    schema = schema_of(request)
    return make(
        schema,
        throttle_time=NO_THROTTLE,
        brokers=_brokers(image, item_schema(schema, "brokers"), "node_id", listener),
        cluster_id=cluster_id,
        controller_id=_controller(image),
        cluster_authorized_operations=_cluster_operations(
            allows, getattr(request, "include_cluster_authorized_operations", False)
        ),
        topics=tuple(_topics(image, request, allows, creates)),
        error_code=ErrorCode.none,
    )


def _cluster_operations(allows: Allows, asked: bool) -> int:
    if not asked:
        return NOT_ASKED
    if not allows(Operation.DESCRIBE, ResourceType.CLUSTER, CLUSTER_NAME):
        return 0
    return authorized_operations(allows, ResourceType.CLUSTER, CLUSTER_NAME)


def _controller(image: Image) -> int:
    return next(iter(active_brokers(image)), -1)


def _brokers(
    image: Image,
    schema: type[Entity],
    id_field: str,
    listener: str | None,
    also_fenced: bool = False,
) -> tuple[Entity, ...]:
    described = []
    for broker_id in sorted(image.brokers):
        broker = image.brokers[broker_id]
        point = _endpoint(broker, listener)
        if point is not None and (also_fenced or not broker.fenced):
            values: dict[str, object] = {id_field: broker_id, "host": point.host}
            values |= {"port": point.port, "rack": broker.rack, "is_fenced": broker.fenced}
            described.append(make(schema, **values))
    return tuple(described)


def _endpoint(broker: Broker, listener: str | None) -> EndPoint | None:
    points = [point for point in broker.end_points if listener in (None, point.name)]
    return points[0] if points else None


def _topics(image: Image, request: MetadataRequest, allows: Allows, creates: bool) -> list[Entity]:
    schema = item_schema(schema_of(request), "topics")
    with_operations = getattr(request, "include_topic_authorized_operations", False)
    asked = request.topics
    if asked is None or (not asked and request.__version__ == 0):
        known = [topic for name in sorted(image.topic_ids) if (topic := image.topic(name))]
        may = [topic for topic in known if _may_describe(allows, topic.name)]
        return [_topic(image, schema, topic, allows, with_operations) for topic in may]
    described = []
    for each in asked:
        try:
            topic = _asked_topic(image, each, allows, creates)
        except Refusal as refusal:
            topic_id = getattr(each, "topic_id", None)
            described.append(_no_topic(schema, refusal.code, each.name, topic_id))
        else:
            described.append(_topic(image, schema, topic, allows, with_operations))
    return described


def _may_describe(allows: Allows, topic: str) -> bool:
    return allows(Operation.DESCRIBE, ResourceType.TOPIC, topic)


def _asked_topic(image: Image, asked: MetadataRequestTopic, allows: Allows, creates: bool) -> Topic:
    topic_id = getattr(asked, "topic_id", None)
    if asked.name is None or (not asked.name and topic_id):
        topic = image.topics.get(topic_id) if topic_id else None
        if topic is None:
            raise Refusal(ErrorCode.unknown_topic_id, "")
        if not _may_describe(allows, topic.name):
            raise Refusal(ErrorCode.topic_authorization_failed, "")
        return topic
    require(allows, Operation.DESCRIBE, ResourceType.TOPIC, asked.name)
    topic = image.topic(asked.name)
    if topic is None:
        check_legal(asked.name)
        if creates:
            check_name(image, asked.name)
            may_create(allows, asked.name)
        raise Refusal(ErrorCode.unknown_topic_or_partition, "")
    return topic


def _no_topic(
    schema: type[Entity], code: ErrorCode, name: str | None, topic_id: uuid.UUID | None
) -> Entity:
    nullable = schema.__version__ >= 12
    return make(
        schema,
        error_code=code,
        name=name if name is not None or nullable else "",
        topic_id=topic_id if not name else None,
        partitions=(),
    )


def _topic(
    image: Image, schema: type[Entity], topic: Topic, allows: Allows, with_operations: bool
) -> Entity:
    partition_schema = item_schema(schema, "partitions")
    operations = NOT_ASKED
    if with_operations:
        operations = authorized_operations(allows, ResourceType.TOPIC, topic.name)
    return make(
        schema,
        error_code=ErrorCode.none,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        topic_authorized_operations=operations,
        partitions=tuple(
            _partition(image, partition_schema, number, image.partitions[topic.topic_id, number])
            for number in topic.indexes()
        ),
    )


def _partition(image: Image, schema: type[Entity], number: int, partition: Partition) -> Entity:
    led = partition.leader != NO_LEADER
    return make(
        schema,
        error_code=ErrorCode.none if led else ErrorCode.leader_not_available,
        partition_index=number,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=partition.replicas,
        isr_nodes=partition.isr,
        offline_replicas=tuple(each for each in partition.replicas if _offline(image, each)),
    )


def _offline(image: Image, broker_id: BrokerId) -> bool:
    broker = image.brokers.get(broker_id)
    return broker is None or broker.fenced


# --- DescribeCluster, ApiVersions ---------------------------------------------------------


def describe_cluster_response(
    image: Image,
    request: DescribeClusterRequest,
    cluster_id: str,
    listener: str | None = None,
    allows: Allows = everything,
) -> ResponsePayload:
    """The answer to DescribeCluster v0-2 on a client listener: brokers alone."""
    code = _endpoint_code(request, BROKERS)
    if code != ErrorCode.none:
        return _describe_cluster(request, code, cluster_id, -1, ())
    schema = item_schema(schema_of(request), "brokers")
    also_fenced = getattr(request, "include_fenced_brokers", False)
    brokers = _brokers(image, schema, "broker_id", listener, also_fenced)
    operations = _cluster_operations(allows, request.include_cluster_authorized_operations)
    return _describe_cluster(
        request, ErrorCode.none, cluster_id, _controller(image), brokers, operations
    )


def describe_controllers_response(
    request: DescribeClusterRequest,
    cluster_id: str,
    controllers: Iterable[tuple[int, str, int]],
    leader_id: int,
) -> ResponsePayload:
    """The answer to DescribeCluster v1-2 on a controller's listener (KIP-919): the voters, as
    (id, host, port), and the one that is active as far as is known (-1: none)."""
    code = _endpoint_code(request, CONTROLLERS)
    if code != ErrorCode.none:
        return _describe_cluster(request, code, cluster_id, -1, ())
    schema = item_schema(schema_of(request), "brokers")
    described = tuple(
        make(schema, broker_id=each, host=host, port=port, rack=None, is_fenced=False)
        for each, host, port in sorted(controllers)
    )
    return _describe_cluster(request, ErrorCode.none, cluster_id, leader_id, described)


def _endpoint_code(request: DescribeClusterRequest, here: int) -> ErrorCode:
    """Whether the request is for the kind of endpoints that its listener has."""
    asked = getattr(request, "endpoint_type", BROKERS)
    if asked == here:
        return ErrorCode.none
    known = asked in (BROKERS, CONTROLLERS)
    return ErrorCode.mismatched_endpoint_type if known else ErrorCode.unsupported_endpoint_type


def _describe_cluster(
    request: DescribeClusterRequest,
    code: ErrorCode,
    cluster_id: str,
    controller_id: int,
    brokers: tuple[Entity, ...],
    operations: int = NOT_ASKED,
) -> ResponsePayload:
    return make(
        schema_of(request),
        throttle_time=NO_THROTTLE,
        error_code=code,
        error_message=None if code == ErrorCode.none else code.name.upper(),
        endpoint_type=getattr(request, "endpoint_type", BROKERS),
        cluster_id=cluster_id,
        controller_id=controller_id,
        brokers=brokers,
        cluster_authorized_operations=operations,
    )


def api_versions_response(
    table: Mapping[int, tuple[int, int]],
    request: RequestPayload,
    image: Image = EMPTY,
    end_offset: int = -1,
) -> ResponsePayload:
    """The answer to ApiVersions v0-4. `table`: api key to its lowest and highest version. From
    version 3 on also the features (KIP-584): what this software supports, and what of it is
    finalized in `image`, which has everything below `end_offset`."""
    schema = schema_of(request)
    features: dict[str, object] = {}
    if request.__version__ >= 3:
        supported, finalized = (
            item_schema(schema, name) for name in ("supported_features", "finalized_features")
        )
        features = {
            "supported_features": tuple(
                make(supported, name=name, min_version=i16(low), max_version=i16(high))
                for name, (low, high) in sorted(SUPPORTED.items())
            ),
            "finalized_features": tuple(
                make(finalized, name=name, max_version_level=level, min_version_level=level)
                for name, level in sorted(image.features.items())
            ),
            "finalized_features_epoch": i64(end_offset),
        }
    return make(
        schema,
        error_code=ErrorCode.none,
        api_keys=_api_keys(table, item_schema(schema, "api_keys")),
        throttle_time=NO_THROTTLE,
        **features,
    )


def api_versions_refusal(table: Mapping[int, tuple[int, int]]) -> ApiVersionsResponseV0:
    """The answer to ApiVersions of an unknown version: error 35, the v0 body, and the versions
    that are known, so that the client can ask again (KIP-511, B.9.1)."""
    return ApiVersionsResponseV0(
        error_code=ErrorCode.unsupported_version, api_keys=_api_keys(table, ApiVersionV0)
    )


def _api_keys(table: Mapping[int, tuple[int, int]], schema: type[E]) -> tuple[E, ...]:
    return tuple(
        make(schema, api_key=i16(key), min_version=i16(lowest), max_version=i16(highest))
        for key, (lowest, highest) in sorted(table.items())
        if key not in HIDDEN_KEYS and key < FIRST_OWN_KEY
    )


# --- a fenced broker ----------------------------------------------------------------------


def refusal(request: RequestPayload) -> ResponsePayload | None:
    """What a broker that may not serve answers (A.7.5): a definite error where the response has
    room for one. None: close the connection, for there is no way to say no."""
    key = int(request.__api_key__)
    if key in NEWEST:  # for the controller
        return refused(request, ErrorCode.not_controller)
    if key in (DESCRIBE_CONFIGS, LIST_CONFIG_RESOURCES, DESCRIBE_ACLS):
        return refused(request, ErrorCode.broker_not_available)
    if DESCRIBE_CLUSTER.of(request):
        return _describe_cluster(request, ErrorCode.broker_not_available, "", -1, ())
    if (
        PRODUCE.of(request)
        or FETCH.of(request)
        or LIST_OFFSETS.of(request)
        or DELETE_RECORDS.of(request)
        or OFFSET_FOR_LEADER_EPOCH.of(request)
    ):
        return partition_refusal(request, ErrorCode.not_leader_or_follower)
    if FIND_COORDINATOR.of(request):
        return group_api.refused(request, ErrorCode.coordinator_not_available)
    if group_api.is_group_request(request):
        return group_api.refused(request, ErrorCode.not_coordinator)
    if DESCRIBE_PRODUCERS.of(request):
        return producers(request, lambda *_: ErrorCode.not_leader_or_follower)
    if DESCRIBE_LOG_DIRS.of(request) and request.__version__ >= 3:
        return log_dirs_refusal(request, ErrorCode.broker_not_available)
    if INIT_PRODUCER_ID.of(request):
        return init_producer_id_response(request, ErrorCode.coordinator_load_in_progress)
    if METADATA.of(request) and request.__version__ >= 13:
        return make(
            schema_of(request),
            throttle_time=NO_THROTTLE,
            brokers=(),
            topics=(),
            error_code=ErrorCode.broker_not_available,
        )
    return None
