"""What Apache Kafka's answers mean: THE table of this system.

Nothing tells a request that a broker sent to the controller a second time from the first one, so a
topic that "exists" may be the request's own doing (`tags_retries`), and a broker that is not
registered, its own undoing. NOT_CONTROLLER on a write is no
refusal: a controller that loses its leadership answers so to what it had appended already, and the
next leader may commit that. REQUEST_TIMED_OUT follows an append, too. A partition's leader that is
none any more answers NOT_LEADER_OR_FOLLOWER to what it has not appended, and just so to a produce
that waits for its followers (`DelayedProduce`), which the next leader may have, and to a
DeleteRecords whose log begins later by then. What is refused for what the
request says itself (`static`) was refused in each attempt. Codes that are not in the table are
info, whatever they may be.

A change of who votes is refused for who votes already (DUPLICATE_VOTER, VOTER_NOT_FOUND) before
anything is appended (`AddVoterHandler`, `RemoveVoterHandler`). REQUEST_TIMED_OUT says that another
change was under way, or that this one was not committed in time; NOT_LEADER_OR_FOLLOWER, of who
resigned, may follow an append as well: both are info.
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

_STATIC: Final = (
    ErrorCode.message_too_large,
    ErrorCode.invalid_topic_exception,
    ErrorCode.topic_authorization_failed,
    ErrorCode.group_authorization_failed,
    ErrorCode.cluster_authorization_failed,
    ErrorCode.unsupported_version,
    ErrorCode.invalid_partitions,
    ErrorCode.invalid_config,
    ErrorCode.invalid_request,
    ErrorCode.policy_violation,
)
_FAILS: Final = (
    *_STATIC,
    ErrorCode.unknown_topic_or_partition,
    ErrorCode.unknown_topic_id,
    ErrorCode.topic_already_exists,
    ErrorCode.offset_out_of_range,
    ErrorCode.invalid_replication_factor,
    ErrorCode.invalid_replica_assignment,
    ErrorCode.not_enough_replicas,
    ErrorCode.not_leader_or_follower,
    ErrorCode.fenced_leader_epoch,
    ErrorCode.stale_broker_epoch,
    ErrorCode.invalid_update_version,
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
    ErrorCode.non_empty_group,
    ErrorCode.group_id_not_found,
    ErrorCode.group_subscribed_to_topic,
    ErrorCode.duplicate_voter,
    ErrorCode.voter_not_found,
)
CHANGES_OF_VOTERS: Final = ("add-voter", "remove-voter")

OUTCOMES: Final = OutcomeTable(
    fails=frozenset(map(name_of, _FAILS)),
    static=frozenset(map(name_of, _STATIC)),
    asserts={
        ("create", name_of(ErrorCode.topic_already_exists)): PRESENT,
        ("delete", name_of(ErrorCode.unknown_topic_or_partition)): ABSENT,
        ("unregister", name_of(ErrorCode.broker_id_not_registered)): ABSENT,
        ("heartbeat", name_of(ErrorCode.stale_broker_epoch)): STALE,
        ("alter-isr", name_of(ErrorCode.stale_broker_epoch)): STALE,
        ("fetch", name_of(ErrorCode.offset_out_of_range)): OUT_OF_RANGE,
        ("elect", name_of(ErrorCode.election_not_needed)): NEEDLESS,
        **STALE_MEMBERS,
        **HAS_MEMBERS,
    },
    reads=frozenset(
        {
            "follow",
            "describe-configs",
            "describe-broker-configs",
            "metadata",
            "fetch",
            "list-offsets",
            "log-dirs",
            "producers",
            "assignment",
            "committed",
            "groups",
            "features",
            "describe-voters",
            "list-brokers",
        }
    ),
    tags_retries=False,
    doubtful=frozenset(
        (f, name_of(ErrorCode.not_leader_or_follower))
        for f in ("produce", "delete-records", *CHANGES_OF_VOTERS)
    ),
)
