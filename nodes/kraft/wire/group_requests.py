"""What group coordinators are asked, as `requests` says."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeAlias

    from kio.schema.delete_groups.v0 import request as delete_groups_v0
    from kio.schema.delete_groups.v1 import request as delete_groups_v1
    from kio.schema.delete_groups.v2 import request as delete_groups_v2
    from kio.schema.describe_groups.v0 import request as describe_groups_v0
    from kio.schema.describe_groups.v1 import request as describe_groups_v1
    from kio.schema.describe_groups.v2 import request as describe_groups_v2
    from kio.schema.describe_groups.v3 import request as describe_groups_v3
    from kio.schema.describe_groups.v4 import request as describe_groups_v4
    from kio.schema.describe_groups.v5 import request as describe_groups_v5
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
    from kio.schema.list_groups.v0 import request as list_groups_v0
    from kio.schema.list_groups.v1 import request as list_groups_v1
    from kio.schema.list_groups.v2 import request as list_groups_v2
    from kio.schema.list_groups.v3 import request as list_groups_v3
    from kio.schema.list_groups.v4 import request as list_groups_v4
    from kio.schema.list_groups.v5 import request as list_groups_v5
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
    from kio.schema.sync_group.v0 import request as sync_group_v0
    from kio.schema.sync_group.v1 import request as sync_group_v1
    from kio.schema.sync_group.v2 import request as sync_group_v2
    from kio.schema.sync_group.v3 import request as sync_group_v3
    from kio.schema.sync_group.v4 import request as sync_group_v4
    from kio.schema.sync_group.v5 import request as sync_group_v5

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
    DeleteGroupsRequest: TypeAlias = (
        delete_groups_v0.DeleteGroupsRequest
        | delete_groups_v1.DeleteGroupsRequest
        | delete_groups_v2.DeleteGroupsRequest
    )
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
