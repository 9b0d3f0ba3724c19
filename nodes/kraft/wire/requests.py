"""What listeners serve: of each api the versions that are served (`wire/apis.py`).

Of partitions, groups and metadata they are in `partition_requests`, `group_requests` and
`metadata_requests`, others here, as are the unions of what is served where.

For annotations alone: at run time an entity is loaded when the first request of its version comes.
Each alias is the union of one request's versions, so a field that only some of them have needs a
look at which it is: `hasattr` tells mypy, too.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
    from kio.schema.alter_partition.v2 import request as alter_partition_v2
    from kio.schema.alter_partition.v3 import request as alter_partition_v3
    from kio.schema.api_versions.v0 import request as api_versions_v0
    from kio.schema.api_versions.v1 import request as api_versions_v1
    from kio.schema.api_versions.v2 import request as api_versions_v2
    from kio.schema.api_versions.v3 import request as api_versions_v3
    from kio.schema.api_versions.v4 import request as api_versions_v4
    from kio.schema.describe_quorum.v0 import request as describe_quorum_v0
    from kio.schema.describe_quorum.v1 import request as describe_quorum_v1
    from kio.schema.describe_quorum.v2 import request as describe_quorum_v2
    from kio.schema.envelope.v0.request import EnvelopeRequest
    from kio.schema.init_producer_id.v0 import request as init_producer_id_v0
    from kio.schema.init_producer_id.v1 import request as init_producer_id_v1
    from kio.schema.init_producer_id.v2 import request as init_producer_id_v2
    from kio.schema.init_producer_id.v3 import request as init_producer_id_v3
    from kio.schema.init_producer_id.v4 import request as init_producer_id_v4
    from kio.schema.unregister_broker.v0 import request as unregister_broker_v0

    from nodes.kraft.wire.debug import ReadTopicsRequest
    from nodes.kraft.wire.group_requests import GroupRequest
    from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest, ControllerHeartbeatRequest
    from nodes.kraft.wire.metadata_requests import (
        DescribeAclsRequest,
        DescribeClusterRequest,
        DescribeConfigsRequest,
        ImageRequest,
        ListConfigResourcesRequest,
        MetadataRequest,
        UpdateFeaturesRequest,
    )
    from nodes.kraft.wire.partition_requests import (
        DescribeLogDirsRequest,
        DescribeProducersRequest,
        PartitionRequest,
    )
    from nodes.kraft.wire.quorum import QuorumRequest

    ApiVersionsRequest: TypeAlias = (
        api_versions_v0.ApiVersionsRequest
        | api_versions_v1.ApiVersionsRequest
        | api_versions_v2.ApiVersionsRequest
        | api_versions_v3.ApiVersionsRequest
        | api_versions_v4.ApiVersionsRequest
    )
    InitProducerIdRequest: TypeAlias = (
        init_producer_id_v0.InitProducerIdRequest
        | init_producer_id_v1.InitProducerIdRequest
        | init_producer_id_v2.InitProducerIdRequest
        | init_producer_id_v3.InitProducerIdRequest
        | init_producer_id_v4.InitProducerIdRequest
    )
    DescribeQuorumRequest: TypeAlias = (
        describe_quorum_v0.DescribeQuorumRequest
        | describe_quorum_v1.DescribeQuorumRequest
        | describe_quorum_v2.DescribeQuorumRequest
    )
    UnregisterBrokerRequest: TypeAlias = unregister_broker_v0.UnregisterBrokerRequest
    AlterPartitionRequest: TypeAlias = (
        alter_partition_v2.AlterPartitionRequest | alter_partition_v3.AlterPartitionRequest
    )

    ForwardedRequest: TypeAlias = ImageRequest | DescribeQuorumRequest | UnregisterBrokerRequest
    """What brokers pass on to the active controller."""
    ClientRequest: TypeAlias = (
        PartitionRequest
        | MetadataRequest
        | DescribeClusterRequest
        | DescribeConfigsRequest
        | ListConfigResourcesRequest
        | DescribeAclsRequest
        | DescribeLogDirsRequest
        | DescribeProducersRequest
        | InitProducerIdRequest
        | GroupRequest
        | ForwardedRequest
    )
    """What a client listener serves while the broker may, followers on the inter-broker listener
    among its clients. Logins, ApiVersions and DescribeNode are answered whatever it may."""
    DecidedRequest: TypeAlias = (
        ImageRequest
        | UnregisterBrokerRequest
        | AlterPartitionRequest
        | AllocateProducerIdsRequest
        | BrokerHeartbeatRequest
        | ControllerHeartbeatRequest
        | ReadTopicsRequest
    )
    """What the active controller decides."""
    ControlRequest: TypeAlias = (
        QuorumRequest
        | EnvelopeRequest
        | DescribeQuorumRequest
        | DescribeClusterRequest
        | UnregisterBrokerRequest
        | UpdateFeaturesRequest
        | AlterPartitionRequest
        | AllocateProducerIdsRequest
        | BrokerHeartbeatRequest
        | ControllerHeartbeatRequest
        | ReadTopicsRequest
    )
    """What a control listener serves to whom it may. Logins, ApiVersions and DescribeNode are
    answered to anybody."""
