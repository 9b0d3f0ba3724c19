"""What Apache Kafka's error codes mean for an operation, why, and by which class of Kafka's: the
rows that the outcome table of this system is made of (`outcomes`), and a table of docs/kafka.md.

    python -m nodes.kafka.meanings

prints that one.
"""

from dataclasses import dataclass, field
from typing import Final

from kio.schema.errors import ErrorCode

from framework.plugins.outcomes import (
    CLIENT_TIMED_OUT,
    CONNECTION_FAILED,
    CONNECTION_LOST,
    MALFORMED_RESPONSE,
)
from nodes.adapting.codes import name_of


@dataclass(frozen=True, slots=True)
class Meaning:
    """Of some codes. `fails`: they refuse before anything is appended; else nobody knows. `static`:
    they refuse what the request says itself, and so in each attempt. `doubtful`: operations that
    may be refused so after their effect all the same. `sources`: classes of Kafka's."""

    codes: tuple[ErrorCode, ...]
    why: str
    sources: str
    fails: bool = True
    static: bool = False
    doubtful: frozenset[str] = field(default=frozenset())


CHANGES_OF_VOTERS: Final = ("add-voter", "remove-voter")
MEANINGS: Final = (
    Meaning(
        (
            ErrorCode.invalid_topic_exception,
            ErrorCode.invalid_partitions,
            ErrorCode.invalid_config,
            ErrorCode.invalid_request,
            ErrorCode.policy_violation,
        ),
        "the controller refuses what the request says before it makes records of it",
        "`ReplicationControlManager`, `ConfigurationControlManager`",
        static=True,
    ),
    Meaning(
        (ErrorCode.message_too_large,),
        "a batch is looked at before it is appended",
        "`UnifiedLog`",
        static=True,
    ),
    Meaning(
        (
            ErrorCode.topic_authorization_failed,
            ErrorCode.group_authorization_failed,
            ErrorCode.cluster_authorization_failed,
            ErrorCode.unsupported_version,
        ),
        "the request is not carried out",
        "`KafkaApis`, `ControllerApis`",
        static=True,
    ),
    Meaning(
        (
            ErrorCode.topic_already_exists,
            ErrorCode.unknown_topic_or_partition,
            ErrorCode.unknown_topic_id,
        ),
        "the topic is there already, or is not: nothing is done. After another attempt of the same "
        "request that may have been its own doing",
        "`ReplicationControlManager`, `ReplicaManager`",
    ),
    Meaning(
        (ErrorCode.invalid_replication_factor, ErrorCode.invalid_replica_assignment),
        "so many brokers, or these, are not there",
        "`ReplicationControlManager`",
    ),
    Meaning(
        (ErrorCode.no_reassignment_in_progress,),
        "there is nothing to cancel; after another attempt that may have been its own doing",
        "`ReplicationControlManager`",
    ),
    Meaning(
        (ErrorCode.not_enough_replicas,),
        "the ISR is too small before the append",
        "`Partition`",
    ),
    Meaning(
        (ErrorCode.not_leader_or_follower,),
        "who leads no more has appended nothing; but a produce that waits for its followers and a "
        "DeleteRecords whose log begins later by then are answered so, too, and so is a change of "
        "who votes by a leader that resigned behind the append",
        "`Partition`; `DelayedProduce`, `DelayedDeleteRecords`, `AddVoterHandler`, "
        "`RemoveVoterHandler`",
        doubtful=frozenset({"produce", "delete-records", *CHANGES_OF_VOTERS}),
    ),
    Meaning(
        (ErrorCode.offset_out_of_range,),
        "nothing is there, or nothing any more",
        "`ReplicaManager`, `UnifiedLog`",
    ),
    Meaning(
        (
            ErrorCode.fenced_leader_epoch,
            ErrorCode.stale_broker_epoch,
            ErrorCode.invalid_update_version,
            ErrorCode.ineligible_replica,
        ),
        "epochs and versions are looked at before records are made",
        "`ReplicationControlManager`, `ClusterControlManager`, `FeatureControlManager`, "
        "`Partition`",
    ),
    Meaning(
        (
            ErrorCode.duplicate_broker_registration,
            ErrorCode.broker_id_not_registered,
            ErrorCode.inconsistent_cluster_id,
            ErrorCode.invalid_registration,
        ),
        "the broker is not taken, or not known. After another attempt an unregistration may be "
        "its own doing",
        "`ClusterControlManager`, `ReplicationControlManager`",
    ),
    Meaning(
        (
            ErrorCode.coordinator_load_in_progress,
            ErrorCode.illegal_generation,
            ErrorCode.unknown_member_id,
            ErrorCode.fenced_instance_id,
            ErrorCode.rebalance_in_progress,
            ErrorCode.non_empty_group,
            ErrorCode.group_id_not_found,
            ErrorCode.group_subscribed_to_topic,
        ),
        "the coordinator refuses by the state of the group, before it appends",
        "`GroupMetadataManager`, `OffsetMetadataManager` (before 4.0 `GroupCoordinator`)",
    ),
    Meaning(
        (ErrorCode.duplicate_voter, ErrorCode.voter_not_found),
        "who votes already, or does not, is looked at before records are made",
        "`AddVoterHandler`, `RemoveVoterHandler`",
    ),
    Meaning(
        (ErrorCode.not_controller,),
        "a controller that loses its leadership answers so to what it has appended already, and "
        "the next leader may commit that",
        "`QuorumController`",
        fails=False,
    ),
    Meaning(
        (ErrorCode.request_timed_out,),
        "follows an append, too: of records that followers have not fetched, or that a broker "
        "handed on to a controller that did not answer",
        "`DelayedProduce`, `QuorumController`, `NodeToControllerChannelManager`; "
        "`AddVoterHandler`, `RemoveVoterHandler`",
        fails=False,
    ),
    Meaning(
        (ErrorCode.not_enough_replicas_after_append,),
        "says so itself",
        "`Partition`",
        fails=False,
    ),
    Meaning(
        (ErrorCode.not_coordinator, ErrorCode.coordinator_not_available),
        "a coordinator that loses its partition answers so to what it has appended already",
        "`CoordinatorRuntime`, `GroupCoordinatorService`",
        fails=False,
    ),
    Meaning(
        (ErrorCode.election_not_needed,),
        "the leader is the one that was asked for: perhaps by an earlier attempt",
        "`ReplicationControlManager`",
        fails=False,
    ),
    Meaning(
        (ErrorCode.unknown_server_error,),
        "something failed that nobody foresaw, wherever the request was by then",
        "`KafkaApis`, `ControllerApis`, `QuorumController`",
        fails=False,
    ),
)
"""Codes that are in none of them are info, whatever they may be."""
RETRIED: Final = "; info after another attempt"


def table() -> str:
    """The table of docs/kafka.md, in Markdown: an operation that changes something."""
    rows = [("code", "is", "why", "source"), ("---",) * 4]
    rows += [(_codes(each), _is(each), each.why, each.sources) for each in MEANINGS]
    unsent, sent = f"`{CONNECTION_FAILED}`", (CONNECTION_LOST, CLIENT_TIMED_OUT, MALFORMED_RESPONSE)
    rows += [
        (unsent, "fail", "nothing was sent", "the client of workloads"),
        (", ".join(f"`{name}`" for name in sent), "info", "some of it was sent", "the same"),
        ("any other", "info", "nobody has looked what it follows", ""),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _codes(meaning: Meaning) -> str:
    return ", ".join(f"`{name_of(code)}`" for code in meaning.codes)


def _is(meaning: Meaning) -> str:
    if not meaning.fails:
        return "info"
    but = f"; info of {', '.join(sorted(meaning.doubtful))}" if meaning.doubtful else ""
    return "fail, in each attempt" if meaning.static else f"fail{but}{RETRIED}"


if __name__ == "__main__":
    print(table())
