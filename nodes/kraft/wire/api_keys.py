"""Api keys, each with the type of its requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar

from kio.static.protocol import RequestPayload

if TYPE_CHECKING:
    from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
    from typing_extensions import TypeIs

    from nodes.kraft.wire import group_requests, metadata_requests, partition_requests, requests
    from nodes.kraft.wire.debug import DescribeNodeRequest, ReadTopicsRequest
    from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest, ControllerHeartbeatRequest

RequestT = TypeVar("RequestT", bound=RequestPayload)


class ApiKey(int, Generic[RequestT]):
    """The number of a kind of request. `RequestT`: its entities, in the versions that are served.

    Entities are loaded when the first request of their version comes, so that what a request is
    cannot be told by its class, but by its key: `of` says so to mypy, and tables of handlers pair
    each key with a handler of its requests."""

    __slots__ = ()

    def of(self, request: RequestPayload) -> TypeIs[RequestT]:
        """Whether that is a request of this kind."""
        key: int = request.__api_key__
        return key == self


PRODUCE: Final[ApiKey[partition_requests.ProduceRequest]] = ApiKey(0)
FETCH: Final[ApiKey[partition_requests.FetchRequest]] = ApiKey(1)
LIST_OFFSETS: Final[ApiKey[partition_requests.ListOffsetsRequest]] = ApiKey(2)
METADATA: Final[ApiKey[metadata_requests.MetadataRequest]] = ApiKey(3)
OFFSET_COMMIT: Final[ApiKey[group_requests.OffsetCommitRequest]] = ApiKey(8)
OFFSET_FETCH: Final[ApiKey[group_requests.OffsetFetchRequest]] = ApiKey(9)
FIND_COORDINATOR: Final[ApiKey[group_requests.FindCoordinatorRequest]] = ApiKey(10)
JOIN_GROUP: Final[ApiKey[group_requests.JoinGroupRequest]] = ApiKey(11)
HEARTBEAT: Final[ApiKey[group_requests.HeartbeatRequest]] = ApiKey(12)
LEAVE_GROUP: Final[ApiKey[group_requests.LeaveGroupRequest]] = ApiKey(13)
SYNC_GROUP: Final[ApiKey[group_requests.SyncGroupRequest]] = ApiKey(14)
DESCRIBE_GROUPS: Final[ApiKey[group_requests.DescribeGroupsRequest]] = ApiKey(15)
LIST_GROUPS: Final[ApiKey[group_requests.ListGroupsRequest]] = ApiKey(16)
CREATE_TOPICS: Final[ApiKey[metadata_requests.CreateTopicsRequest]] = ApiKey(19)
DELETE_TOPICS: Final[ApiKey[metadata_requests.DeleteTopicsRequest]] = ApiKey(20)
DELETE_RECORDS: Final[ApiKey[partition_requests.DeleteRecordsRequest]] = ApiKey(21)
INIT_PRODUCER_ID: Final[ApiKey[requests.InitProducerIdRequest]] = ApiKey(22)
OFFSET_FOR_LEADER_EPOCH: Final[ApiKey[partition_requests.OffsetForLeaderEpochRequest]] = ApiKey(23)
DESCRIBE_ACLS: Final[ApiKey[metadata_requests.DescribeAclsRequest]] = ApiKey(29)
CREATE_ACLS: Final[ApiKey[metadata_requests.CreateAclsRequest]] = ApiKey(30)
DELETE_ACLS: Final[ApiKey[metadata_requests.DeleteAclsRequest]] = ApiKey(31)
DESCRIBE_CONFIGS: Final[ApiKey[metadata_requests.DescribeConfigsRequest]] = ApiKey(32)
ALTER_CONFIGS: Final[ApiKey[metadata_requests.AlterConfigsRequest]] = ApiKey(33)
DESCRIBE_LOG_DIRS: Final[ApiKey[partition_requests.DescribeLogDirsRequest]] = ApiKey(35)
CREATE_PARTITIONS: Final[ApiKey[metadata_requests.CreatePartitionsRequest]] = ApiKey(37)
DELETE_GROUPS: Final[ApiKey[group_requests.DeleteGroupsRequest]] = ApiKey(42)
ELECT_LEADERS: Final[ApiKey[metadata_requests.ElectLeadersRequest]] = ApiKey(43)
INCREMENTAL_ALTER_CONFIGS: Final[ApiKey[metadata_requests.IncrementalAlterConfigsRequest]] = ApiKey(
    44
)
ALTER_PARTITION_REASSIGNMENTS: Final[
    ApiKey[metadata_requests.AlterPartitionReassignmentsRequest]
] = ApiKey(45)
LIST_PARTITION_REASSIGNMENTS: Final[ApiKey[metadata_requests.ListPartitionReassignmentsRequest]] = (
    ApiKey(46)
)
OFFSET_DELETE: Final[ApiKey[group_requests.OffsetDeleteRequest]] = ApiKey(47)
BROKER_HEARTBEAT: Final[ApiKey[BrokerHeartbeatRequest]] = ApiKey(50)
CONTROLLER_HEARTBEAT: Final[ApiKey[ControllerHeartbeatRequest]] = ApiKey(51)
DESCRIBE_QUORUM: Final[ApiKey[requests.DescribeQuorumRequest]] = ApiKey(55)
ALTER_PARTITION: Final[ApiKey[requests.AlterPartitionRequest]] = ApiKey(56)
UPDATE_FEATURES: Final[ApiKey[metadata_requests.UpdateFeaturesRequest]] = ApiKey(57)
DESCRIBE_CLUSTER: Final[ApiKey[metadata_requests.DescribeClusterRequest]] = ApiKey(60)
DESCRIBE_PRODUCERS: Final[ApiKey[partition_requests.DescribeProducersRequest]] = ApiKey(61)
UNREGISTER_BROKER: Final[ApiKey[requests.UnregisterBrokerRequest]] = ApiKey(64)
ALLOCATE_PRODUCER_IDS: Final[ApiKey[AllocateProducerIdsRequest]] = ApiKey(67)
LIST_CONFIG_RESOURCES: Final[ApiKey[metadata_requests.ListConfigResourcesRequest]] = ApiKey(74)
READ_TOPICS: Final[ApiKey[ReadTopicsRequest]] = ApiKey(10000)
DESCRIBE_NODE: Final[ApiKey[DescribeNodeRequest]] = ApiKey(10001)
