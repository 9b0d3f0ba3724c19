"""What the node's answers mean: THE table of this system.

A create that was refused because the topic exists saw it present, a delete that was refused
because there is none saw it absent. That holds even though brokers forward both with retries,
since every attempt carries the id of the one client request and is told what the first attempt
did (`tags_retries`; docs/node.md). So it does for who is to unregister a broker that is none.

NOT_CONTROLLER is a failure because the node uses it strictly for "not appended"; where a record
was appended and its fate is unknown, it answers REQUEST_TIMED_OUT. So does a partition's leader
with NOT_ENOUGH_REPLICAS, before the append; after it the answer is
NOT_ENOUGH_REPLICAS_AFTER_APPEND. A coordinator that refuses a commit for its member or its
generation, or to delete an offset for who is in the group, has appended nothing; NOT_COORDINATOR
and COORDINATOR_NOT_AVAILABLE may follow an append.
Codes that are not in the table are info, whatever they may be.
"""

from typing import Final

from kio.schema.errors import ErrorCode

from framework.plugins.outcomes import (
    ABSENT,
    NEEDLESS,
    OUT_OF_RANGE,
    PRESENT,
    STALE,
    OutcomeTable,
)
from nodes.adapting.codes import HAS_MEMBERS, STALE_MEMBERS, name_of

_FAILS: Final = (
    ErrorCode.unknown_topic_or_partition,
    ErrorCode.message_too_large,
    ErrorCode.invalid_topic_exception,
    ErrorCode.not_enough_replicas,
    ErrorCode.topic_authorization_failed,
    ErrorCode.group_authorization_failed,
    ErrorCode.cluster_authorization_failed,
    ErrorCode.unsupported_version,
    ErrorCode.topic_already_exists,
    ErrorCode.offset_out_of_range,
    ErrorCode.invalid_partitions,
    ErrorCode.invalid_replication_factor,
    ErrorCode.invalid_replica_assignment,
    ErrorCode.invalid_config,
    ErrorCode.not_controller,
    ErrorCode.invalid_request,
    ErrorCode.fenced_leader_epoch,
    ErrorCode.stale_broker_epoch,
    ErrorCode.invalid_update_version,
    ErrorCode.feature_update_failed,
    ErrorCode.unknown_topic_id,
    ErrorCode.duplicate_broker_registration,
    ErrorCode.broker_id_not_registered,
    ErrorCode.inconsistent_cluster_id,
    ErrorCode.ineligible_replica,
    ErrorCode.invalid_registration,
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.illegal_generation,
    ErrorCode.unknown_member_id,
    ErrorCode.fenced_instance_id,
    ErrorCode.rebalance_in_progress,
    ErrorCode.no_reassignment_in_progress,
    ErrorCode.preferred_leader_not_available,
    ErrorCode.election_not_needed,
    ErrorCode.non_empty_group,
    ErrorCode.group_id_not_found,
    ErrorCode.group_subscribed_to_topic,
)

OUTCOMES: Final = OutcomeTable(
    fails=frozenset(map(name_of, _FAILS)),
    asserts={
        ("create", name_of(ErrorCode.topic_already_exists)): PRESENT,
        ("delete", name_of(ErrorCode.unknown_topic_or_partition)): ABSENT,
        ("unregister", name_of(ErrorCode.broker_id_not_registered)): ABSENT,
        ("heartbeat", name_of(ErrorCode.stale_broker_epoch)): STALE,
        ("alter-isr", name_of(ErrorCode.stale_broker_epoch)): STALE,
        ("fetch", name_of(ErrorCode.offset_out_of_range)): OUT_OF_RANGE,
        ("elect", name_of(ErrorCode.election_not_needed)): NEEDLESS,
        ("update-feature", name_of(ErrorCode.invalid_update_version)): OUT_OF_RANGE,
        ("forget", name_of(ErrorCode.group_id_not_found)): ABSENT,
        **STALE_MEMBERS,
        **HAS_MEMBERS,
    },
    reads=frozenset(
        {
            "describe",
            "describe-configs",
            "describe-broker-configs",
            "dry-create",
            "metadata",
            "fetch",
            "replica-fetch",
            "list-offsets",
            "log-dirs",
            "producers",
            "assignment",
            "committed",
            "groups",
            "features",
            "reassignments",
            "list-brokers",
        }
    ),
    tags_retries=True,
)
