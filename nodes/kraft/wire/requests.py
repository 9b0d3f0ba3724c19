"""What a broker's clients ask: of each api the versions that are served (`wire/apis.py`).

For annotations alone: at run time an entity is loaded when the first request of its version comes.
Each alias is the union of one request's versions, so a field that only some of them have needs a
look at which it is: `hasattr` tells mypy, too.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
    from kio.schema.alter_configs.v0 import request as alter_configs_v0
    from kio.schema.alter_configs.v1 import request as alter_configs_v1
    from kio.schema.alter_configs.v2 import request as alter_configs_v2
    from kio.schema.alter_partition.v2 import request as alter_partition_v2
    from kio.schema.alter_partition.v3 import request as alter_partition_v3
    from kio.schema.alter_partition_reassignments.v0 import request as alter_reassignments_v0
    from kio.schema.alter_partition_reassignments.v1 import request as alter_reassignments_v1
    from kio.schema.api_versions.v0 import request as api_versions_v0
    from kio.schema.api_versions.v1 import request as api_versions_v1
    from kio.schema.api_versions.v2 import request as api_versions_v2
    from kio.schema.api_versions.v3 import request as api_versions_v3
    from kio.schema.api_versions.v4 import request as api_versions_v4
    from kio.schema.create_acls.v1 import request as create_acls_v1
    from kio.schema.create_acls.v2 import request as create_acls_v2
    from kio.schema.create_acls.v3 import request as create_acls_v3
    from kio.schema.create_partitions.v0 import request as create_partitions_v0
    from kio.schema.create_partitions.v1 import request as create_partitions_v1
    from kio.schema.create_partitions.v2 import request as create_partitions_v2
    from kio.schema.create_partitions.v3 import request as create_partitions_v3
    from kio.schema.create_topics.v2 import request as create_topics_v2
    from kio.schema.create_topics.v3 import request as create_topics_v3
    from kio.schema.create_topics.v4 import request as create_topics_v4
    from kio.schema.create_topics.v5 import request as create_topics_v5
    from kio.schema.create_topics.v6 import request as create_topics_v6
    from kio.schema.create_topics.v7 import request as create_topics_v7
    from kio.schema.delete_acls.v1 import request as delete_acls_v1
    from kio.schema.delete_acls.v2 import request as delete_acls_v2
    from kio.schema.delete_acls.v3 import request as delete_acls_v3
    from kio.schema.delete_groups.v0 import request as delete_groups_v0
    from kio.schema.delete_groups.v1 import request as delete_groups_v1
    from kio.schema.delete_groups.v2 import request as delete_groups_v2
    from kio.schema.delete_records.v0 import request as delete_records_v0
    from kio.schema.delete_records.v1 import request as delete_records_v1
    from kio.schema.delete_records.v2 import request as delete_records_v2
    from kio.schema.delete_topics.v1 import request as delete_topics_v1
    from kio.schema.delete_topics.v2 import request as delete_topics_v2
    from kio.schema.delete_topics.v3 import request as delete_topics_v3
    from kio.schema.delete_topics.v4 import request as delete_topics_v4
    from kio.schema.delete_topics.v5 import request as delete_topics_v5
    from kio.schema.delete_topics.v6 import request as delete_topics_v6
    from kio.schema.describe_acls.v1 import request as describe_acls_v1
    from kio.schema.describe_acls.v2 import request as describe_acls_v2
    from kio.schema.describe_acls.v3 import request as describe_acls_v3
    from kio.schema.describe_cluster.v0 import request as describe_cluster_v0
    from kio.schema.describe_cluster.v1 import request as describe_cluster_v1
    from kio.schema.describe_cluster.v2 import request as describe_cluster_v2
    from kio.schema.describe_configs.v1 import request as describe_configs_v1
    from kio.schema.describe_configs.v2 import request as describe_configs_v2
    from kio.schema.describe_configs.v3 import request as describe_configs_v3
    from kio.schema.describe_configs.v4 import request as describe_configs_v4
    from kio.schema.describe_groups.v0 import request as describe_groups_v0
    from kio.schema.describe_groups.v1 import request as describe_groups_v1
    from kio.schema.describe_groups.v2 import request as describe_groups_v2
    from kio.schema.describe_groups.v3 import request as describe_groups_v3
    from kio.schema.describe_groups.v4 import request as describe_groups_v4
    from kio.schema.describe_groups.v5 import request as describe_groups_v5
    from kio.schema.describe_log_dirs.v1 import request as describe_log_dirs_v1
    from kio.schema.describe_log_dirs.v2 import request as describe_log_dirs_v2
    from kio.schema.describe_log_dirs.v3 import request as describe_log_dirs_v3
    from kio.schema.describe_log_dirs.v4 import request as describe_log_dirs_v4
    from kio.schema.describe_producers.v0 import request as describe_producers_v0
    from kio.schema.describe_quorum.v0 import request as describe_quorum_v0
    from kio.schema.describe_quorum.v1 import request as describe_quorum_v1
    from kio.schema.describe_quorum.v2 import request as describe_quorum_v2
    from kio.schema.elect_leaders.v1 import request as elect_leaders_v1
    from kio.schema.elect_leaders.v2 import request as elect_leaders_v2
    from kio.schema.envelope.v0.request import EnvelopeRequest
    from kio.schema.fetch.v4 import request as fetch_v4
    from kio.schema.fetch.v5 import request as fetch_v5
    from kio.schema.fetch.v6 import request as fetch_v6
    from kio.schema.fetch.v7 import request as fetch_v7
    from kio.schema.fetch.v8 import request as fetch_v8
    from kio.schema.fetch.v9 import request as fetch_v9
    from kio.schema.fetch.v10 import request as fetch_v10
    from kio.schema.fetch.v11 import request as fetch_v11
    from kio.schema.fetch.v12 import request as fetch_v12
    from kio.schema.fetch.v13 import request as fetch_v13
    from kio.schema.fetch.v14 import request as fetch_v14
    from kio.schema.fetch.v15 import request as fetch_v15
    from kio.schema.fetch.v16 import request as fetch_v16
    from kio.schema.fetch.v17 import request as fetch_v17
    from kio.schema.fetch.v18 import request as fetch_v18
    from kio.schema.find_coordinator.v0 import request as find_coordinator_v0
    from kio.schema.find_coordinator.v1 import request as find_coordinator_v1
    from kio.schema.find_coordinator.v2 import request as find_coordinator_v2
    from kio.schema.find_coordinator.v3 import request as find_coordinator_v3
    from kio.schema.find_coordinator.v4 import request as find_coordinator_v4
    from kio.schema.heartbeat.v0 import request as heartbeat_v0
    from kio.schema.heartbeat.v1 import request as heartbeat_v1
    from kio.schema.heartbeat.v2 import request as heartbeat_v2
    from kio.schema.heartbeat.v3 import request as heartbeat_v3
    from kio.schema.heartbeat.v4 import request as heartbeat_v4
    from kio.schema.incremental_alter_configs.v0 import request as incremental_alter_configs_v0
    from kio.schema.incremental_alter_configs.v1 import request as incremental_alter_configs_v1
    from kio.schema.init_producer_id.v0 import request as init_producer_id_v0
    from kio.schema.init_producer_id.v1 import request as init_producer_id_v1
    from kio.schema.init_producer_id.v2 import request as init_producer_id_v2
    from kio.schema.init_producer_id.v3 import request as init_producer_id_v3
    from kio.schema.init_producer_id.v4 import request as init_producer_id_v4
    from kio.schema.join_group.v0 import request as join_group_v0
    from kio.schema.join_group.v1 import request as join_group_v1
    from kio.schema.join_group.v2 import request as join_group_v2
    from kio.schema.join_group.v3 import request as join_group_v3
    from kio.schema.join_group.v4 import request as join_group_v4
    from kio.schema.join_group.v5 import request as join_group_v5
    from kio.schema.join_group.v6 import request as join_group_v6
    from kio.schema.join_group.v7 import request as join_group_v7
    from kio.schema.join_group.v8 import request as join_group_v8
    from kio.schema.join_group.v9 import request as join_group_v9
    from kio.schema.leave_group.v0 import request as leave_group_v0
    from kio.schema.leave_group.v1 import request as leave_group_v1
    from kio.schema.leave_group.v2 import request as leave_group_v2
    from kio.schema.leave_group.v3 import request as leave_group_v3
    from kio.schema.leave_group.v4 import request as leave_group_v4
    from kio.schema.leave_group.v5 import request as leave_group_v5
    from kio.schema.list_config_resources.v0 import request as list_config_resources_v0
    from kio.schema.list_config_resources.v1 import request as list_config_resources_v1
    from kio.schema.list_groups.v0 import request as list_groups_v0
    from kio.schema.list_groups.v1 import request as list_groups_v1
    from kio.schema.list_groups.v2 import request as list_groups_v2
    from kio.schema.list_groups.v3 import request as list_groups_v3
    from kio.schema.list_groups.v4 import request as list_groups_v4
    from kio.schema.list_groups.v5 import request as list_groups_v5
    from kio.schema.list_offsets.v1 import request as list_offsets_v1
    from kio.schema.list_offsets.v2 import request as list_offsets_v2
    from kio.schema.list_offsets.v3 import request as list_offsets_v3
    from kio.schema.list_offsets.v4 import request as list_offsets_v4
    from kio.schema.list_offsets.v5 import request as list_offsets_v5
    from kio.schema.list_offsets.v6 import request as list_offsets_v6
    from kio.schema.list_offsets.v7 import request as list_offsets_v7
    from kio.schema.list_offsets.v8 import request as list_offsets_v8
    from kio.schema.list_partition_reassignments.v0 import request as list_reassignments_v0
    from kio.schema.metadata.v0 import request as metadata_v0
    from kio.schema.metadata.v1 import request as metadata_v1
    from kio.schema.metadata.v2 import request as metadata_v2
    from kio.schema.metadata.v3 import request as metadata_v3
    from kio.schema.metadata.v4 import request as metadata_v4
    from kio.schema.metadata.v5 import request as metadata_v5
    from kio.schema.metadata.v6 import request as metadata_v6
    from kio.schema.metadata.v7 import request as metadata_v7
    from kio.schema.metadata.v8 import request as metadata_v8
    from kio.schema.metadata.v9 import request as metadata_v9
    from kio.schema.metadata.v10 import request as metadata_v10
    from kio.schema.metadata.v11 import request as metadata_v11
    from kio.schema.metadata.v12 import request as metadata_v12
    from kio.schema.metadata.v13 import request as metadata_v13
    from kio.schema.offset_commit.v2 import request as offset_commit_v2
    from kio.schema.offset_commit.v3 import request as offset_commit_v3
    from kio.schema.offset_commit.v4 import request as offset_commit_v4
    from kio.schema.offset_commit.v5 import request as offset_commit_v5
    from kio.schema.offset_commit.v6 import request as offset_commit_v6
    from kio.schema.offset_commit.v7 import request as offset_commit_v7
    from kio.schema.offset_commit.v8 import request as offset_commit_v8
    from kio.schema.offset_commit.v9 import request as offset_commit_v9
    from kio.schema.offset_delete.v0 import request as offset_delete_v0
    from kio.schema.offset_fetch.v1 import request as offset_fetch_v1
    from kio.schema.offset_fetch.v2 import request as offset_fetch_v2
    from kio.schema.offset_fetch.v3 import request as offset_fetch_v3
    from kio.schema.offset_fetch.v4 import request as offset_fetch_v4
    from kio.schema.offset_fetch.v5 import request as offset_fetch_v5
    from kio.schema.offset_fetch.v6 import request as offset_fetch_v6
    from kio.schema.offset_fetch.v7 import request as offset_fetch_v7
    from kio.schema.offset_fetch.v8 import request as offset_fetch_v8
    from kio.schema.offset_for_leader_epoch.v2 import request as offset_for_leader_epoch_v2
    from kio.schema.offset_for_leader_epoch.v3 import request as offset_for_leader_epoch_v3
    from kio.schema.offset_for_leader_epoch.v4 import request as offset_for_leader_epoch_v4
    from kio.schema.produce.v3 import request as produce_v3
    from kio.schema.produce.v4 import request as produce_v4
    from kio.schema.produce.v5 import request as produce_v5
    from kio.schema.produce.v6 import request as produce_v6
    from kio.schema.produce.v7 import request as produce_v7
    from kio.schema.produce.v8 import request as produce_v8
    from kio.schema.produce.v9 import request as produce_v9
    from kio.schema.produce.v10 import request as produce_v10
    from kio.schema.sync_group.v0 import request as sync_group_v0
    from kio.schema.sync_group.v1 import request as sync_group_v1
    from kio.schema.sync_group.v2 import request as sync_group_v2
    from kio.schema.sync_group.v3 import request as sync_group_v3
    from kio.schema.sync_group.v4 import request as sync_group_v4
    from kio.schema.sync_group.v5 import request as sync_group_v5
    from kio.schema.unregister_broker.v0 import request as unregister_broker_v0
    from kio.schema.update_features.v0 import request as update_features_v0
    from kio.schema.update_features.v1 import request as update_features_v1

    from nodes.kraft.wire.debug import ReadTopicsRequest
    from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest, ControllerHeartbeatRequest
    from nodes.kraft.wire.quorum import QuorumRequest

    ProduceRequest: TypeAlias = (
        produce_v3.ProduceRequest
        | produce_v4.ProduceRequest
        | produce_v5.ProduceRequest
        | produce_v6.ProduceRequest
        | produce_v7.ProduceRequest
        | produce_v8.ProduceRequest
        | produce_v9.ProduceRequest
        | produce_v10.ProduceRequest
    )
    FetchRequest: TypeAlias = (
        fetch_v4.FetchRequest
        | fetch_v5.FetchRequest
        | fetch_v6.FetchRequest
        | fetch_v7.FetchRequest
        | fetch_v8.FetchRequest
        | fetch_v9.FetchRequest
        | fetch_v10.FetchRequest
        | fetch_v11.FetchRequest
        | fetch_v12.FetchRequest
        | fetch_v13.FetchRequest
        | fetch_v14.FetchRequest
        | fetch_v15.FetchRequest
        | fetch_v16.FetchRequest
        | fetch_v17.FetchRequest
        | fetch_v18.FetchRequest
    )
    ListOffsetsRequest: TypeAlias = (
        list_offsets_v1.ListOffsetsRequest
        | list_offsets_v2.ListOffsetsRequest
        | list_offsets_v3.ListOffsetsRequest
        | list_offsets_v4.ListOffsetsRequest
        | list_offsets_v5.ListOffsetsRequest
        | list_offsets_v6.ListOffsetsRequest
        | list_offsets_v7.ListOffsetsRequest
        | list_offsets_v8.ListOffsetsRequest
    )
    MetadataRequest: TypeAlias = (
        metadata_v0.MetadataRequest
        | metadata_v1.MetadataRequest
        | metadata_v2.MetadataRequest
        | metadata_v3.MetadataRequest
        | metadata_v4.MetadataRequest
        | metadata_v5.MetadataRequest
        | metadata_v6.MetadataRequest
        | metadata_v7.MetadataRequest
        | metadata_v8.MetadataRequest
        | metadata_v9.MetadataRequest
        | metadata_v10.MetadataRequest
        | metadata_v11.MetadataRequest
        | metadata_v12.MetadataRequest
        | metadata_v13.MetadataRequest
    )
    OffsetCommitRequest: TypeAlias = (
        offset_commit_v2.OffsetCommitRequest
        | offset_commit_v3.OffsetCommitRequest
        | offset_commit_v4.OffsetCommitRequest
        | offset_commit_v5.OffsetCommitRequest
        | offset_commit_v6.OffsetCommitRequest
        | offset_commit_v7.OffsetCommitRequest
        | offset_commit_v8.OffsetCommitRequest
        | offset_commit_v9.OffsetCommitRequest
    )
    OffsetDeleteRequest: TypeAlias = offset_delete_v0.OffsetDeleteRequest
    OffsetFetchRequest: TypeAlias = (
        offset_fetch_v1.OffsetFetchRequest
        | offset_fetch_v2.OffsetFetchRequest
        | offset_fetch_v3.OffsetFetchRequest
        | offset_fetch_v4.OffsetFetchRequest
        | offset_fetch_v5.OffsetFetchRequest
        | offset_fetch_v6.OffsetFetchRequest
        | offset_fetch_v7.OffsetFetchRequest
        | offset_fetch_v8.OffsetFetchRequest
    )
    FindCoordinatorRequest: TypeAlias = (
        find_coordinator_v0.FindCoordinatorRequest
        | find_coordinator_v1.FindCoordinatorRequest
        | find_coordinator_v2.FindCoordinatorRequest
        | find_coordinator_v3.FindCoordinatorRequest
        | find_coordinator_v4.FindCoordinatorRequest
    )
    JoinGroupRequest: TypeAlias = (
        join_group_v0.JoinGroupRequest
        | join_group_v1.JoinGroupRequest
        | join_group_v2.JoinGroupRequest
        | join_group_v3.JoinGroupRequest
        | join_group_v4.JoinGroupRequest
        | join_group_v5.JoinGroupRequest
        | join_group_v6.JoinGroupRequest
        | join_group_v7.JoinGroupRequest
        | join_group_v8.JoinGroupRequest
        | join_group_v9.JoinGroupRequest
    )
    HeartbeatRequest: TypeAlias = (
        heartbeat_v0.HeartbeatRequest
        | heartbeat_v1.HeartbeatRequest
        | heartbeat_v2.HeartbeatRequest
        | heartbeat_v3.HeartbeatRequest
        | heartbeat_v4.HeartbeatRequest
    )
    LeaveGroupRequest: TypeAlias = (
        leave_group_v0.LeaveGroupRequest
        | leave_group_v1.LeaveGroupRequest
        | leave_group_v2.LeaveGroupRequest
        | leave_group_v3.LeaveGroupRequest
        | leave_group_v4.LeaveGroupRequest
        | leave_group_v5.LeaveGroupRequest
    )
    SyncGroupRequest: TypeAlias = (
        sync_group_v0.SyncGroupRequest
        | sync_group_v1.SyncGroupRequest
        | sync_group_v2.SyncGroupRequest
        | sync_group_v3.SyncGroupRequest
        | sync_group_v4.SyncGroupRequest
        | sync_group_v5.SyncGroupRequest
    )
    DescribeGroupsRequest: TypeAlias = (
        describe_groups_v0.DescribeGroupsRequest
        | describe_groups_v1.DescribeGroupsRequest
        | describe_groups_v2.DescribeGroupsRequest
        | describe_groups_v3.DescribeGroupsRequest
        | describe_groups_v4.DescribeGroupsRequest
        | describe_groups_v5.DescribeGroupsRequest
    )
    ListGroupsRequest: TypeAlias = (
        list_groups_v0.ListGroupsRequest
        | list_groups_v1.ListGroupsRequest
        | list_groups_v2.ListGroupsRequest
        | list_groups_v3.ListGroupsRequest
        | list_groups_v4.ListGroupsRequest
        | list_groups_v5.ListGroupsRequest
    )
    ApiVersionsRequest: TypeAlias = (
        api_versions_v0.ApiVersionsRequest
        | api_versions_v1.ApiVersionsRequest
        | api_versions_v2.ApiVersionsRequest
        | api_versions_v3.ApiVersionsRequest
        | api_versions_v4.ApiVersionsRequest
    )
    CreateTopicsRequest: TypeAlias = (
        create_topics_v2.CreateTopicsRequest
        | create_topics_v3.CreateTopicsRequest
        | create_topics_v4.CreateTopicsRequest
        | create_topics_v5.CreateTopicsRequest
        | create_topics_v6.CreateTopicsRequest
        | create_topics_v7.CreateTopicsRequest
    )
    DeleteTopicsRequest: TypeAlias = (
        delete_topics_v1.DeleteTopicsRequest
        | delete_topics_v2.DeleteTopicsRequest
        | delete_topics_v3.DeleteTopicsRequest
        | delete_topics_v4.DeleteTopicsRequest
        | delete_topics_v5.DeleteTopicsRequest
        | delete_topics_v6.DeleteTopicsRequest
    )
    DescribeLogDirsRequest: TypeAlias = (
        describe_log_dirs_v1.DescribeLogDirsRequest
        | describe_log_dirs_v2.DescribeLogDirsRequest
        | describe_log_dirs_v3.DescribeLogDirsRequest
        | describe_log_dirs_v4.DescribeLogDirsRequest
    )
    DescribeProducersRequest: TypeAlias = describe_producers_v0.DescribeProducersRequest
    ElectLeadersRequest: TypeAlias = (
        elect_leaders_v1.ElectLeadersRequest | elect_leaders_v2.ElectLeadersRequest
    )
    InitProducerIdRequest: TypeAlias = (
        init_producer_id_v0.InitProducerIdRequest
        | init_producer_id_v1.InitProducerIdRequest
        | init_producer_id_v2.InitProducerIdRequest
        | init_producer_id_v3.InitProducerIdRequest
        | init_producer_id_v4.InitProducerIdRequest
    )
    DeleteRecordsRequest: TypeAlias = (
        delete_records_v0.DeleteRecordsRequest
        | delete_records_v1.DeleteRecordsRequest
        | delete_records_v2.DeleteRecordsRequest
    )
    OffsetForLeaderEpochRequest: TypeAlias = (
        offset_for_leader_epoch_v2.OffsetForLeaderEpochRequest
        | offset_for_leader_epoch_v3.OffsetForLeaderEpochRequest
        | offset_for_leader_epoch_v4.OffsetForLeaderEpochRequest
    )
    DescribeAclsRequest: TypeAlias = (
        describe_acls_v1.DescribeAclsRequest
        | describe_acls_v2.DescribeAclsRequest
        | describe_acls_v3.DescribeAclsRequest
    )
    CreateAclsRequest: TypeAlias = (
        create_acls_v1.CreateAclsRequest
        | create_acls_v2.CreateAclsRequest
        | create_acls_v3.CreateAclsRequest
    )
    DeleteAclsRequest: TypeAlias = (
        delete_acls_v1.DeleteAclsRequest
        | delete_acls_v2.DeleteAclsRequest
        | delete_acls_v3.DeleteAclsRequest
    )
    DescribeConfigsRequest: TypeAlias = (
        describe_configs_v1.DescribeConfigsRequest
        | describe_configs_v2.DescribeConfigsRequest
        | describe_configs_v3.DescribeConfigsRequest
        | describe_configs_v4.DescribeConfigsRequest
    )
    AlterConfigsRequest: TypeAlias = (
        alter_configs_v0.AlterConfigsRequest
        | alter_configs_v1.AlterConfigsRequest
        | alter_configs_v2.AlterConfigsRequest
    )
    CreatePartitionsRequest: TypeAlias = (
        create_partitions_v0.CreatePartitionsRequest
        | create_partitions_v1.CreatePartitionsRequest
        | create_partitions_v2.CreatePartitionsRequest
        | create_partitions_v3.CreatePartitionsRequest
    )
    DeleteGroupsRequest: TypeAlias = (
        delete_groups_v0.DeleteGroupsRequest
        | delete_groups_v1.DeleteGroupsRequest
        | delete_groups_v2.DeleteGroupsRequest
    )
    IncrementalAlterConfigsRequest: TypeAlias = (
        incremental_alter_configs_v0.IncrementalAlterConfigsRequest
        | incremental_alter_configs_v1.IncrementalAlterConfigsRequest
    )
    DescribeQuorumRequest: TypeAlias = (
        describe_quorum_v0.DescribeQuorumRequest
        | describe_quorum_v1.DescribeQuorumRequest
        | describe_quorum_v2.DescribeQuorumRequest
    )
    ListConfigResourcesRequest: TypeAlias = (
        list_config_resources_v0.ListConfigResourcesRequest
        | list_config_resources_v1.ListConfigResourcesRequest
    )
    DescribeClusterRequest: TypeAlias = (
        describe_cluster_v0.DescribeClusterRequest
        | describe_cluster_v1.DescribeClusterRequest
        | describe_cluster_v2.DescribeClusterRequest
    )

    AlterPartitionReassignmentsRequest: TypeAlias = (
        alter_reassignments_v0.AlterPartitionReassignmentsRequest
        | alter_reassignments_v1.AlterPartitionReassignmentsRequest
    )
    ListPartitionReassignmentsRequest: TypeAlias = (
        list_reassignments_v0.ListPartitionReassignmentsRequest
    )
    UpdateFeaturesRequest: TypeAlias = (
        update_features_v0.UpdateFeaturesRequest | update_features_v1.UpdateFeaturesRequest
    )
    UnregisterBrokerRequest: TypeAlias = unregister_broker_v0.UnregisterBrokerRequest
    AlterPartitionRequest: TypeAlias = (
        alter_partition_v2.AlterPartitionRequest | alter_partition_v3.AlterPartitionRequest
    )
    ReplicaFetchRequest: TypeAlias = (
        fetch_v15.FetchRequest
        | fetch_v16.FetchRequest
        | fetch_v17.FetchRequest
        | fetch_v18.FetchRequest
    )
    """Of a version that has `replica_state`."""
    # Parts of them.
    DescribeConfigsResource: TypeAlias = (
        describe_configs_v1.DescribeConfigsResource
        | describe_configs_v2.DescribeConfigsResource
        | describe_configs_v3.DescribeConfigsResource
        | describe_configs_v4.DescribeConfigsResource
    )
    MetadataRequestTopic: TypeAlias = (
        metadata_v0.MetadataRequestTopic
        | metadata_v1.MetadataRequestTopic
        | metadata_v2.MetadataRequestTopic
        | metadata_v3.MetadataRequestTopic
        | metadata_v4.MetadataRequestTopic
        | metadata_v5.MetadataRequestTopic
        | metadata_v6.MetadataRequestTopic
        | metadata_v7.MetadataRequestTopic
        | metadata_v8.MetadataRequestTopic
        | metadata_v9.MetadataRequestTopic
        | metadata_v10.MetadataRequestTopic
        | metadata_v11.MetadataRequestTopic
        | metadata_v12.MetadataRequestTopic
        | metadata_v13.MetadataRequestTopic
    )
    ListOffsetsTopic: TypeAlias = (
        list_offsets_v1.ListOffsetsTopic
        | list_offsets_v2.ListOffsetsTopic
        | list_offsets_v3.ListOffsetsTopic
        | list_offsets_v4.ListOffsetsTopic
        | list_offsets_v5.ListOffsetsTopic
        | list_offsets_v6.ListOffsetsTopic
        | list_offsets_v7.ListOffsetsTopic
        | list_offsets_v8.ListOffsetsTopic
    )
    ListOffsetsPartition: TypeAlias = (
        list_offsets_v1.ListOffsetsPartition
        | list_offsets_v2.ListOffsetsPartition
        | list_offsets_v3.ListOffsetsPartition
        | list_offsets_v4.ListOffsetsPartition
        | list_offsets_v5.ListOffsetsPartition
        | list_offsets_v6.ListOffsetsPartition
        | list_offsets_v7.ListOffsetsPartition
        | list_offsets_v8.ListOffsetsPartition
    )
    DeleteRecordsTopic: TypeAlias = (
        delete_records_v0.DeleteRecordsTopic
        | delete_records_v1.DeleteRecordsTopic
        | delete_records_v2.DeleteRecordsTopic
    )
    DeleteRecordsPartition: TypeAlias = (
        delete_records_v0.DeleteRecordsPartition
        | delete_records_v1.DeleteRecordsPartition
        | delete_records_v2.DeleteRecordsPartition
    )
    OffsetForLeaderTopic: TypeAlias = (
        offset_for_leader_epoch_v2.OffsetForLeaderTopic
        | offset_for_leader_epoch_v3.OffsetForLeaderTopic
        | offset_for_leader_epoch_v4.OffsetForLeaderTopic
    )
    OffsetForLeaderPartition: TypeAlias = (
        offset_for_leader_epoch_v2.OffsetForLeaderPartition
        | offset_for_leader_epoch_v3.OffsetForLeaderPartition
        | offset_for_leader_epoch_v4.OffsetForLeaderPartition
    )
    FetchTopic: TypeAlias = (
        fetch_v4.FetchTopic
        | fetch_v5.FetchTopic
        | fetch_v6.FetchTopic
        | fetch_v7.FetchTopic
        | fetch_v8.FetchTopic
        | fetch_v9.FetchTopic
        | fetch_v10.FetchTopic
        | fetch_v11.FetchTopic
        | fetch_v12.FetchTopic
        | fetch_v13.FetchTopic
        | fetch_v14.FetchTopic
        | fetch_v15.FetchTopic
        | fetch_v16.FetchTopic
        | fetch_v17.FetchTopic
        | fetch_v18.FetchTopic
    )
    FetchPartition: TypeAlias = (
        fetch_v4.FetchPartition
        | fetch_v5.FetchPartition
        | fetch_v6.FetchPartition
        | fetch_v7.FetchPartition
        | fetch_v8.FetchPartition
        | fetch_v9.FetchPartition
        | fetch_v10.FetchPartition
        | fetch_v11.FetchPartition
        | fetch_v12.FetchPartition
        | fetch_v13.FetchPartition
        | fetch_v14.FetchPartition
        | fetch_v15.FetchPartition
        | fetch_v16.FetchPartition
        | fetch_v17.FetchPartition
        | fetch_v18.FetchPartition
    )
    TopicProduceData: TypeAlias = (
        produce_v3.TopicProduceData
        | produce_v4.TopicProduceData
        | produce_v5.TopicProduceData
        | produce_v6.TopicProduceData
        | produce_v7.TopicProduceData
        | produce_v8.TopicProduceData
        | produce_v9.TopicProduceData
        | produce_v10.TopicProduceData
    )
    PartitionProduceData: TypeAlias = (
        produce_v3.PartitionProduceData
        | produce_v4.PartitionProduceData
        | produce_v5.PartitionProduceData
        | produce_v6.PartitionProduceData
        | produce_v7.PartitionProduceData
        | produce_v8.PartitionProduceData
        | produce_v9.PartitionProduceData
        | produce_v10.PartitionProduceData
    )
    CreatableTopic: TypeAlias = (
        create_topics_v2.CreatableTopic
        | create_topics_v3.CreatableTopic
        | create_topics_v4.CreatableTopic
        | create_topics_v5.CreatableTopic
        | create_topics_v6.CreatableTopic
        | create_topics_v7.CreatableTopic
    )
    CreatePartitionsTopic: TypeAlias = (
        create_partitions_v0.CreatePartitionsTopic
        | create_partitions_v1.CreatePartitionsTopic
        | create_partitions_v2.CreatePartitionsTopic
        | create_partitions_v3.CreatePartitionsTopic
    )
    ConfigsResource: TypeAlias = (
        alter_configs_v0.AlterConfigsResource
        | alter_configs_v1.AlterConfigsResource
        | alter_configs_v2.AlterConfigsResource
    )
    IncrementalResource: TypeAlias = (
        incremental_alter_configs_v0.AlterConfigsResource
        | incremental_alter_configs_v1.AlterConfigsResource
    )
    IncrementalConfig: TypeAlias = (
        incremental_alter_configs_v0.AlterableConfig | incremental_alter_configs_v1.AlterableConfig
    )
    FeatureUpdate: TypeAlias = (
        update_features_v0.FeatureUpdateKey | update_features_v1.FeatureUpdateKey
    )
    AclCreation: TypeAlias = (
        create_acls_v1.AclCreation | create_acls_v2.AclCreation | create_acls_v3.AclCreation
    )
    AclFilter: TypeAlias = (
        DescribeAclsRequest
        | delete_acls_v1.DeleteAclsFilter
        | delete_acls_v2.DeleteAclsFilter
        | delete_acls_v3.DeleteAclsFilter
    )
    """A DescribeAcls request is one filter itself."""

    PartitionRequest: TypeAlias = (
        ProduceRequest
        | FetchRequest
        | ListOffsetsRequest
        | DeleteRecordsRequest
        | OffsetForLeaderEpochRequest
    )
    """What the leaders of partitions are asked."""
    GroupRequest: TypeAlias = (
        OffsetCommitRequest
        | OffsetFetchRequest
        | FindCoordinatorRequest
        | JoinGroupRequest
        | HeartbeatRequest
        | LeaveGroupRequest
        | SyncGroupRequest
        | DescribeGroupsRequest
        | ListGroupsRequest
        | DeleteGroupsRequest
        | OffsetDeleteRequest
    )
    """What a group coordinator serves."""
    ImageRequest: TypeAlias = (
        CreateTopicsRequest
        | DeleteTopicsRequest
        | CreatePartitionsRequest
        | AlterConfigsRequest
        | IncrementalAlterConfigsRequest
        | CreateAclsRequest
        | DeleteAclsRequest
        | ElectLeadersRequest
        | AlterPartitionReassignmentsRequest
        | ListPartitionReassignmentsRequest
        | UpdateFeaturesRequest
    )
    """What changes the metadata image on a client's behalf, or is asked of the newest one."""
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
