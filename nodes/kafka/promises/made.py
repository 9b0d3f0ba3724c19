"""What Apache Kafka promises: of logs, groups and transactions to clients, of the metadata quorum,
of brokers, and of what it leaves on disks."""

from typing import Final

from framework.plugins.capabilities import (
    ASKED_CONTROLLERS,
    CHANGING_CONFIGS,
    CHANGING_VOTERS,
    DRY_RUNS,
    ELECTIONS,
    LOWERED_LEVELS,
    MEMBER_EPOCHS,
    REASSIGNMENTS,
    REPLICA_READS,
    REPLICA_REPORTS,
    TOLD_CONTROLLERS,
    WATCHED_LOG,
)
from nodes.disk_evidence.disk import GIVEN
from nodes.kafka.promises.rules import ELIGIBLE_LEADERS
from nodes.kafka.promises.terms import Bounds, Promise, of

EXTRA_BROKERS: Final = "extra-brokers"
_MESSAGES: Final = "messages in the jars of releases"
_COME_AND_GO: Final = Bounds(since="3.9")
"""Those on which processes beside the cluster's own are brokers."""

_LOGS: Final = (
    Promise(
        name="produce-and-fetch",
        says="Partitions are produced to and fetched from; an offset is one record, in the order "
        "in which a partition was given them, and what was refused is not there",
        source="documentation, Design: Message Delivery Semantics",
        capabilities=frozenset({"data-plane"}),
        clauses=(
            *of("kafka-log", "one-log"),
            *of("partition-data", "one-value", "in-order", "written"),
        ),
    ),
    Promise(
        name="acks-all",
        says="What is acknowledged to acks=all is not lost while a replica in sync lives, and can "
        "be read",
        source="producer configuration `acks`",
        clauses=(
            *of("kafka-log", "one-log"),
            *of("partition-data", "kept", "readable"),
            *of("isr-chain", "watermark-held"),
        ),
    ),
    Promise(
        name="committed-is-replicated",
        says="Consumers are given what all in-sync replicas have, and replicas have the same below "
        "the high watermark",
        source="documentation, Design: Replication",
        clauses=(
            *of("partition-data", "limits"),
            *of("replica-matching", "same-batches", "followers-watermarks"),
            *of("isr-chain", "watermark-held"),
            *of("observed-cluster", "all-in-sync"),
        ),
    ),
    Promise(
        name="min-insync",
        says="acks=all is acknowledged only where the ISR has `min.insync.replicas`",
        source="topic configuration `min.insync.replicas`",
        clauses=of("isr-chain", "enough-replicas"),
    ),
    Promise(
        name="idempotent-producers",
        says="A producer with an id writes each batch once, in order; ids are of one producer",
        source="KIP-98",
        clauses=(
            *of("kafka-log", "one-log"),
            *of("partition-data", "one-value"),
            *of("replica-matching", "written-once"),
            *of("identity-uniqueness", "producer-ids"),
        ),
    ),
    Promise(
        name="producer-id-blocks",
        says="Blocks of producer ids are given out once, by records of the metadata log",
        source="KIP-730",
        clauses=of("identity-uniqueness", "producer-ids"),
    ),
    Promise(
        name="leader-epochs",
        says="A leader epoch of a partition has one leader, and who follows another one cuts off "
        "what that one has not: an offset and epoch are one batch on all replicas",
        source="KIP-101, KIP-279",
        clauses=(
            *of("replica-matching", "one-batch", "one-leader"),
            *of("replica-matching", "epochs-written-down", "epochs-rise"),
            *of("identity-uniqueness", "batches"),
            *of("metadata-answers", "one-leader"),
        ),
    ),
    Promise(
        name="checkpoints",
        says="What a broker that ends in order writes down of a log - its high watermark, where "
        "recovery begins, where the log begins - is not behind its end",
        source="LogManager.shutdown, ReplicaManager.checkpointHighWatermarks",
        clauses=of("replica-matching", "offsets-written-down"),
    ),
    Promise(
        name="deleted-records",
        says="Records below an acknowledged delete are not given again by who acknowledged it",
        source="KIP-107",
        clauses=of("partition-data", "deleted", "limits"),
    ),
    Promise(
        name="replica-reports",
        says="A broker tells of the logs that it has how large they are, and of a partition's "
        "log which producers with an id wrote to it, and up to which sequence number",
        source="KIP-113, KIP-664",
        capabilities=frozenset({REPLICA_REPORTS}),
        clauses=of("partition-data", "sizes", "producers"),
    ),
    Promise(
        name="replica-reads",
        says="Each replica gives who fetches from it in version 11 or later, as the "
        "consumer that compares replicas does (id -2), what it has below the high watermark that "
        "it knows, which is that of its leader a fetch later",
        source="KIP-392; `FetchParams.fetchOnlyLeader`, `FetchRequest.DEBUGGING_CONSUMER_ID`",
        capabilities=frozenset({REPLICA_READS}),
        clauses=of("partition-data", "replicas"),
    ),
    Promise(
        name="transactions",
        says="Of a transaction all is read with `isolation.level=read_committed`, or nothing, and "
        "nothing of one that failed",
        source="KIP-98",
        capabilities=frozenset({"transactions"}),
        clauses=of("kafka-log", "one-log"),
    ),
)
_GROUPS: Final = (
    Promise(
        name="groups",
        says="In a generation of a group a partition has one owner; older generations do not "
        "commit, and generations rise; each member has an id of its own",
        source="protocol guide: JoinGroup, SyncGroup, OffsetCommit; KIP-394",
        capabilities=frozenset({"groups"}),
        clauses=of("groups", "one-owner", "old-generations-refused", "generations-rise", "own-ids"),
    ),
    Promise(
        name="committed-offsets",
        says="A group is told the offset that it committed last, and begins there",
        source="documentation, Design: The Consumer; protocol guide: OffsetFetch",
        clauses=(
            *of("groups", "commits-kept", "commits-made", "within-end", "delivered"),
            *of("kafka-log", "one-log"),
        ),
    ),
    Promise(
        name="deleted-offsets",
        says="What a group has committed is deleted on request, unless it has members that "
        "subscribe to the topic",
        source="KIP-496",
        clauses=of("groups", "commits-kept", "deletions-withheld"),
    ),
    Promise(
        name="listed-groups",
        says="A broker lists the groups that it coordinates, those of a state or a type where that "
        "is asked for, with the state and, from 3.8 on, the type of each",
        source="protocol guide: ListGroups; KIP-518, KIP-848",
        clauses=of("groups", "listed"),
    ),
    Promise(
        name="static-members",
        says="A member with `group.instance.id` that comes back in time has its part still, and "
        "the process before it is fenced",
        source="KIP-345",
        clauses=of("groups", "instances-fenced", "returns-keep-the-part"),
    ),
)
_TOPICS: Final = (
    Promise(
        name="topics",
        says="Topics are created and deleted once each, with the partitions and replicas that were "
        "asked for; a deletion that was acknowledged has its record",
        source="KIP-4, KIP-631",
        capabilities=frozenset({"kafka-topics"}),
        clauses=(
            *of("asked-is-made", "answers", "reads", "log"),
            *of("effects-once", "topics"),
            *of("metadata-answers", "replicas"),
        ),
    ),
    Promise(
        name="dry-runs",
        says="A create that is only to be validated makes nothing, and is told what a create would "
        "be told",
        source="KIP-4; documentation of the protocol, CreateTopics: `validate_only`",
        capabilities=frozenset({DRY_RUNS}),
        clauses=of("asked-is-made", "dry-runs", "answers"),
    ),
    Promise(
        name="committed-answers",
        says="The active controller answers once all is committed that its answer rests on, and "
        "its process never goes back behind what was",
        source="QuorumController.ControllerWriteEvent",
        clauses=of("asked-is-made", "controllers"),
    ),
    Promise(
        name="asked-controllers",
        says="Controllers answer clients without a broker in between; how a topic is configured, "
        "from a cache of the metadata log, whether they are active or not",
        source="KIP-919; ControllerApis.handleDescribeConfigsRequest",
        bounds=Bounds(since="3.7"),
        bounded_by=f"listeners of DescribeConfigs ({_MESSAGES}: 3.7.1, not 3.6.2)",
        capabilities=frozenset({ASKED_CONTROLLERS}),
        clauses=of("asked-is-made", "controllers"),
    ),
    Promise(
        name="topic-configurations",
        says="A topic has the configuration that its creation asked for, and the answer tells it",
        source="KIP-4, KIP-525",
        capabilities=frozenset({"topic-configs"}),
        clauses=of("asked-is-made", "answers", "configurations"),
    ),
    Promise(
        name="configuration-changes",
        says="A configuration of a topic or of a broker that was changed is what the change asked "
        "for, by the metadata log and by all brokers, and stays so until the next change",
        source="KIP-339, KIP-226",
        capabilities=frozenset({CHANGING_CONFIGS}),
        clauses=of("asked-is-made", "configurations", "changes", "broker-configurations"),
    ),
    Promise(
        name="topic-ids",
        says="A topic has an id that no other one ever has",
        source="KIP-516",
        clauses=of("identity-uniqueness", "topic-ids"),
    ),
    Promise(
        name="preferred-elections",
        says="A partition is given back to its first replica where an administrator asks for that, "
        "or it led already",
        source="KIP-460; ReplicationControlManager.electLeader",
        capabilities=frozenset({ELECTIONS}),
        clauses=of("asked-is-made", "elected"),
    ),
    Promise(
        name="changing-feature-levels",
        says="Administrators give a feature another level, up or down, by a record of the metadata "
        "log, and brokers tell the level that the log has where they name its offset",
        source="KIP-584, KIP-1022; FeatureControlManager.updateFeatures, "
        "KRaftMetadataCache.features",
        asked=Bounds(since="4.0"),
        bounded_by="4.0.0, not 3.9.1, has a feature by which no rule goes (asked by ApiVersions 4)",
        capabilities=frozenset({LOWERED_LEVELS}),
        clauses=of("asked-is-made", "levels-made", "levels-told"),
    ),
    Promise(
        name="partition-reassignments",
        says="A partition is given the replicas that an administrator asks for, once they are in "
        "sync, or those from before where that is cancelled; nobody else gives it others",
        source="KIP-455; ReplicationControlManager.alterPartitionReassignments",
        capabilities=frozenset({REASSIGNMENTS}),
        clauses=of("asked-is-made", "moves", "moved"),
    ),
)
_QUORUM: Final = (
    Promise(
        name="metadata-quorum",
        says="Metadata are one replicated log: an offset and epoch are one record, what a majority "
        "has is committed and is in the log of every later leader",
        source="KIP-595",
        capabilities=frozenset({"metadata-log"}),
        clauses=(
            *of("committed-never-lost", "one-record", "leaders-have-all", "none-dropped"),
            *of("committed-never-lost", "still-there", "everywhere-in-the-end"),
            *of("log-matching", "one-record", "same-below"),
            *of("identity-uniqueness", "log-entries"),
            *of("voter-durability", "kept"),
            *of("observed-cluster", "no-way-back", "committed-kept", "majority-has"),
            *of("uncommitted-never-visible", "shown-is-committed"),
            *of("monotonic-counters", "saved-state"),
            *of("replay-invariants", "one-log"),
        ),
    ),
    Promise(
        name="one-leader",
        says="An epoch of the quorum has one leader, whom a majority of the voters elected",
        source="KIP-595",
        clauses=(
            *of("one-leader-per-epoch", "one-record", "one-claim", "majority"),
            *of("observed-cluster", "one-leader"),
        ),
    ),
    Promise(
        name="resigns",
        says="A leader of the quorum gives up that a majority has not fetched from for "
        "`controller.quorum.fetch.timeout.ms` (releases before 3.7 do not: KAFKA-15489)",
        source="KIP-595",
        clauses=of("observed-cluster", "let-go"),
    ),
    Promise(
        name="quorum-described",
        says="Nodes tell anybody of the quorum, the cluster and its topics",
        source="KIP-836, KIP-700, KIP-4",
        capabilities=frozenset({"kafka-descriptions"}),
        clauses=of("observed-cluster", "all-vote", "heard", "one-address"),
    ),
    Promise(
        name="controllers-described",
        says="Controllers tell anybody at their own listener which controllers have registered, "
        "and where, and who is active as far as they know",
        source="KIP-919",
        asked=Bounds(since="3.7"),
        bounded_by=f"DescribeCluster 1 ({_MESSAGES}: 3.7.0, not 3.6.2)",
        capabilities=frozenset({TOLD_CONTROLLERS}),
        clauses=of("observed-cluster", "controllers"),
    ),
    Promise(
        name="snapshots",
        says="A snapshot stands for all committed records below its end, and a log begins where "
        "one ends",
        source="KIP-630",
        capabilities=frozenset({"snapshots"}),
        clauses=(
            *of("snapshot-equivalence", "committed", "files", "log-starts"),
            *of("identity-uniqueness", "log-entries"),
        ),
    ),
    Promise(
        name="majority-is-enough",
        says="The control plane works while most controllers live and hear each other",
        source="documentation, Operations: KRaft, Controllers",
        clauses=(
            *of("availability", "kinds", "partitions", "nodes"),
            *of("convergence", "settles", "readable"),
        ),
    ),
    Promise(
        name="observers",
        says="Who does not vote may fetch the metadata log, below its high watermark",
        source="KIP-595, KIP-853",
        capabilities=frozenset({WATCHED_LOG, "committed-topic-read"}),
        clauses=(
            *of("observed-log", "given-kept", "one-log"),
            *of("isr-linearizability", "never-back"),
        ),
    ),
    Promise(
        name="changing-voters",
        says="In a dynamic quorum voters are added and removed while it works, by request, one at "
        "a time: a set of them is in force as soon as it is in a log, and who leads is one of them",
        source="KIP-853",
        bounds=Bounds(since="3.9"),
        bounded_by=f"AddRaftVoter, RemoveRaftVoter ({_MESSAGES}: 3.9.1, not 3.7.0)",
        capabilities=frozenset({CHANGING_VOTERS}),
        clauses=(
            *of("voter-changes", "asked-is-recorded", "recorded-was-asked", "one-order"),
            *of("voter-changes", "one-at-a-time", "told-is-in-force", "voters-elect"),
            *of("voter-changes", "snapshots-agree", "one-place", "who-follows"),
        ),
    ),
    Promise(
        name="own-listener",
        says="Requests of the control plane have a listener of their own, and do not wait for "
        "those of clients; nobody is fenced or voted out for a flood of those",
        source="KIP-631",
        clauses=of("isolation", "undelayed", "no-election", "none-fenced"),
    ),
)
_BROKERS: Final = (
    Promise(
        name="broker-epochs",
        says="A registration has a broker epoch of its own, higher than those before; an older one "
        "is refused",
        source="KIP-380, KIP-631",
        clauses=(
            *of("identity-uniqueness", "broker-epochs"),
            *of("monotonic-counters", "records", "answers"),
            *of("zombie-fencing", "refused"),
            *of("isr-chain", "members-in-service"),
        ),
    ),
    Promise(
        name="isr-changes",
        says="A leader changes the ISR of its partition by AlterPartition, one step from the "
        "version and leader epoch that it names; older ones are refused",
        source="KIP-497, KIP-631",
        clauses=(
            *of("isr-chain", "one-chain", "request-is-a-record", "asked-joins"),
            *of("isr-linearizability", "one-step", "never-back", "asked-for"),
            *of("effects-once", "isr-shrinks"),
            *of("monotonic-counters", "records"),
            *of("metadata-answers", "isr", "versions"),
            *of("zombie-fencing", "refused"),
        ),
    ),
    Promise(
        name="clean-elections",
        says="A leader comes from the ISR, unless `unclean.leader.election.enable` is true",
        source="topic configuration `unclean.leader.election.enable`",
        clauses=of("isr-chain", "clean-election"),
    ),
    Promise(
        name="fenced-brokers-stay-out",
        says="Who is fenced, or about to go, joins no ISR",
        source="KIP-841",
        bounds=Bounds(since="3.3"),
        bounded_by=f"AlterPartition 2 ({_MESSAGES}: 3.3.2)",
        clauses=(*of("isr-chain", "members-in-service"), *of("zombie-fencing", "fit-members")),
    ),
    Promise(
        name="member-epochs",
        says="An ISR is changed only if the broker epochs that it names its members by are theirs",
        source="KIP-903",
        bounds=Bounds(since="3.5"),
        bounded_by=f"the KIP's page (3.5); AlterPartition 3 ({_MESSAGES}: 3.5.2, not 3.3.2)",
        capabilities=frozenset({MEMBER_EPOCHS}),
        clauses=(*of("isr-chain", "members-in-service"), *of("zombie-fencing", "fit-members")),
    ),
    Promise(
        name="eligible-leaders",
        says="Who left an ISR that is too small may lead once it is empty, until he registers anew",
        source="KIP-966",
        bounds=Bounds(since="4.0", feature=ELIGIBLE_LEADERS),
        bounded_by="documentation of 4.0, Operations: Eligible Leader Replicas",
        clauses=of("isr-chain", "clean-election"),
    ),
    Promise(
        name="broker-lists",
        says="Brokers that live are registered and listed, and those that are gone fenced and not",
        source="KIP-631",
        clauses=of("observed-cluster", "live-listed", "dead-unlisted"),
    ),
    Promise(
        name="played-brokers",
        says="Who registers with the active controller, and heartbeats, is a broker to it: once, "
        "if it asked",
        source="KIP-631",
        capabilities=frozenset({"synthetic-brokers"}),
        clauses=of("effects-once", "registrations"),
    ),
    Promise(
        name="controlled-shutdown",
        says="A broker that asks to go is let go when it leads nothing, is in no ISR that has "
        "others, and is given nothing again until it is back",
        source="KIP-631, KIP-841",
        asked=_COME_AND_GO,
        bounded_by="what older brokers log of their lives was not looked at",
        capabilities=frozenset({EXTRA_BROKERS}),
        clauses=of(
            "controlled-shutdown-safety",
            *("hands-over", "leads-no-more", "clients-go-on", "shown-no-more"),
        ),
    ),
    Promise(
        name="unregistered-brokers",
        says="A broker is taken off the cluster by request, once for each, whether it runs or not, "
        "and is listed no more until it registers anew",
        source="KIP-631; ReplicationControlManager.unregisterBroker",
        asked=_COME_AND_GO,
        bounded_by="nobody asks older releases for it",
        capabilities=frozenset({EXTRA_BROKERS}),
        clauses=of("asked-is-made", "unregistered", "untold"),
    ),
    Promise(
        name="caches-follow-the-log",
        says="Brokers answer from what they have applied of the committed log, in its order",
        source="KIP-631, Broker Metadata Management",
        clauses=(
            *of("metadata-cache", "one-point", "points-rise", "keeps-up", "registered-places"),
            *of("metadata-answers", "caches", "settled-caches"),
            *of("uncommitted-never-visible", "shown-is-committed"),
        ),
    ),
)
_NODES: Final = (
    Promise(
        name="files",
        says="A node leaves its logs, checkpoints, snapshots, quorum-state and last words in "
        "files, whole but for what was being written when it ended",
        source="documentation, Implementation: Log; KIP-595, KIP-630",
        capabilities=GIVEN,
        clauses=of("node-tells-the-truth", "whole-logs"),
    ),
)
MADE: Final = (*_LOGS, *_GROUPS, *_TOPICS, *_QUORUM, *_BROKERS, *_NODES)
