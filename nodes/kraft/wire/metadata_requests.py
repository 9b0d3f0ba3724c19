"""What is asked of the metadata image: to show it, or to change it, as `requests` says."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from kio.schema.alter_configs.v0 import request as alter_configs_v0
    from kio.schema.alter_configs.v1 import request as alter_configs_v1
    from kio.schema.alter_configs.v2 import request as alter_configs_v2
    from kio.schema.alter_partition_reassignments.v0 import request as alter_reassignments_v0
    from kio.schema.alter_partition_reassignments.v1 import request as alter_reassignments_v1
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
    from kio.schema.elect_leaders.v1 import request as elect_leaders_v1
    from kio.schema.elect_leaders.v2 import request as elect_leaders_v2
    from kio.schema.incremental_alter_configs.v0 import request as incremental_alter_configs_v0
    from kio.schema.incremental_alter_configs.v1 import request as incremental_alter_configs_v1
    from kio.schema.list_config_resources.v0 import request as list_config_resources_v0
    from kio.schema.list_config_resources.v1 import request as list_config_resources_v1
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
    from kio.schema.update_features.v0 import request as update_features_v0
    from kio.schema.update_features.v1 import request as update_features_v1

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
    DescribeClusterRequest: TypeAlias = (
        describe_cluster_v0.DescribeClusterRequest
        | describe_cluster_v1.DescribeClusterRequest
        | describe_cluster_v2.DescribeClusterRequest
    )
    DescribeConfigsRequest: TypeAlias = (
        describe_configs_v1.DescribeConfigsRequest
        | describe_configs_v2.DescribeConfigsRequest
        | describe_configs_v3.DescribeConfigsRequest
        | describe_configs_v4.DescribeConfigsRequest
    )
    DescribeConfigsResource: TypeAlias = (
        describe_configs_v1.DescribeConfigsResource
        | describe_configs_v2.DescribeConfigsResource
        | describe_configs_v3.DescribeConfigsResource
        | describe_configs_v4.DescribeConfigsResource
    )
    ListConfigResourcesRequest: TypeAlias = (
        list_config_resources_v0.ListConfigResourcesRequest
        | list_config_resources_v1.ListConfigResourcesRequest
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
    CreateTopicsRequest: TypeAlias = (
        create_topics_v2.CreateTopicsRequest
        | create_topics_v3.CreateTopicsRequest
        | create_topics_v4.CreateTopicsRequest
        | create_topics_v5.CreateTopicsRequest
        | create_topics_v6.CreateTopicsRequest
        | create_topics_v7.CreateTopicsRequest
    )
    CreatableTopic: TypeAlias = (
        create_topics_v2.CreatableTopic
        | create_topics_v3.CreatableTopic
        | create_topics_v4.CreatableTopic
        | create_topics_v5.CreatableTopic
        | create_topics_v6.CreatableTopic
        | create_topics_v7.CreatableTopic
    )
    DeleteTopicsRequest: TypeAlias = (
        delete_topics_v1.DeleteTopicsRequest
        | delete_topics_v2.DeleteTopicsRequest
        | delete_topics_v3.DeleteTopicsRequest
        | delete_topics_v4.DeleteTopicsRequest
        | delete_topics_v5.DeleteTopicsRequest
        | delete_topics_v6.DeleteTopicsRequest
    )
    CreatePartitionsRequest: TypeAlias = (
        create_partitions_v0.CreatePartitionsRequest
        | create_partitions_v1.CreatePartitionsRequest
        | create_partitions_v2.CreatePartitionsRequest
        | create_partitions_v3.CreatePartitionsRequest
    )
    CreatePartitionsTopic: TypeAlias = (
        create_partitions_v0.CreatePartitionsTopic
        | create_partitions_v1.CreatePartitionsTopic
        | create_partitions_v2.CreatePartitionsTopic
        | create_partitions_v3.CreatePartitionsTopic
    )
    AlterConfigsRequest: TypeAlias = (
        alter_configs_v0.AlterConfigsRequest
        | alter_configs_v1.AlterConfigsRequest
        | alter_configs_v2.AlterConfigsRequest
    )
    ConfigsResource: TypeAlias = (
        alter_configs_v0.AlterConfigsResource
        | alter_configs_v1.AlterConfigsResource
        | alter_configs_v2.AlterConfigsResource
    )
    IncrementalAlterConfigsRequest: TypeAlias = (
        incremental_alter_configs_v0.IncrementalAlterConfigsRequest
        | incremental_alter_configs_v1.IncrementalAlterConfigsRequest
    )
    IncrementalResource: TypeAlias = (
        incremental_alter_configs_v0.AlterConfigsResource
        | incremental_alter_configs_v1.AlterConfigsResource
    )
    IncrementalConfig: TypeAlias = (
        incremental_alter_configs_v0.AlterableConfig | incremental_alter_configs_v1.AlterableConfig
    )
    ElectLeadersRequest: TypeAlias = (
        elect_leaders_v1.ElectLeadersRequest | elect_leaders_v2.ElectLeadersRequest
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
    FeatureUpdate: TypeAlias = (
        update_features_v0.FeatureUpdateKey | update_features_v1.FeatureUpdateKey
    )
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
