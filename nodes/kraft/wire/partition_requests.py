"""What brokers are asked of partitions and of their replicas, as `requests` says."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from kio.schema.delete_records.v0 import request as delete_records_v0
    from kio.schema.delete_records.v1 import request as delete_records_v1
    from kio.schema.delete_records.v2 import request as delete_records_v2
    from kio.schema.describe_log_dirs.v1 import request as describe_log_dirs_v1
    from kio.schema.describe_log_dirs.v2 import request as describe_log_dirs_v2
    from kio.schema.describe_log_dirs.v3 import request as describe_log_dirs_v3
    from kio.schema.describe_log_dirs.v4 import request as describe_log_dirs_v4
    from kio.schema.describe_producers.v0 import request as describe_producers_v0
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
    from kio.schema.list_offsets.v1 import request as list_offsets_v1
    from kio.schema.list_offsets.v2 import request as list_offsets_v2
    from kio.schema.list_offsets.v3 import request as list_offsets_v3
    from kio.schema.list_offsets.v4 import request as list_offsets_v4
    from kio.schema.list_offsets.v5 import request as list_offsets_v5
    from kio.schema.list_offsets.v6 import request as list_offsets_v6
    from kio.schema.list_offsets.v7 import request as list_offsets_v7
    from kio.schema.list_offsets.v8 import request as list_offsets_v8
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
    ReplicaFetchRequest: TypeAlias = (
        fetch_v15.FetchRequest
        | fetch_v16.FetchRequest
        | fetch_v17.FetchRequest
        | fetch_v18.FetchRequest
    )
    """Of a version that has `replica_state`."""
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
    DescribeLogDirsRequest: TypeAlias = (
        describe_log_dirs_v1.DescribeLogDirsRequest
        | describe_log_dirs_v2.DescribeLogDirsRequest
        | describe_log_dirs_v3.DescribeLogDirsRequest
        | describe_log_dirs_v4.DescribeLogDirsRequest
    )
    DescribeProducersRequest: TypeAlias = describe_producers_v0.DescribeProducersRequest
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
    PartitionRequest: TypeAlias = (
        ProduceRequest
        | FetchRequest
        | ListOffsetsRequest
        | DeleteRecordsRequest
        | OffsetForLeaderEpochRequest
    )
    """What the leaders of partitions are asked."""
