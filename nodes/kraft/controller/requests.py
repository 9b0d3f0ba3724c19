"""What clients ask of the controller through a broker: of each api the versions that it takes.

For annotations alone: at run time an entity is loaded when the first request of its version comes.
Each alias is the union of one request's versions, so a field that only some of them have needs a
look at which it is.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from kio.schema.alter_configs.v0 import request as alter_configs_v0
    from kio.schema.alter_configs.v1 import request as alter_configs_v1
    from kio.schema.alter_configs.v2 import request as alter_configs_v2
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
    from kio.schema.incremental_alter_configs.v0 import request as incremental_alter_configs_v0
    from kio.schema.incremental_alter_configs.v1 import request as incremental_alter_configs_v1

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
    CreatePartitionsRequest: TypeAlias = (
        create_partitions_v0.CreatePartitionsRequest
        | create_partitions_v1.CreatePartitionsRequest
        | create_partitions_v2.CreatePartitionsRequest
        | create_partitions_v3.CreatePartitionsRequest
    )
    AlterConfigsRequest: TypeAlias = (
        alter_configs_v0.AlterConfigsRequest
        | alter_configs_v1.AlterConfigsRequest
        | alter_configs_v2.AlterConfigsRequest
    )
    IncrementalAlterConfigsRequest: TypeAlias = (
        incremental_alter_configs_v0.IncrementalAlterConfigsRequest
        | incremental_alter_configs_v1.IncrementalAlterConfigsRequest
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
