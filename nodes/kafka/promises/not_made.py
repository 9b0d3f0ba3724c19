"""What Apache Kafka does not promise, or does otherwise than our own node, or nobody sees of it;
and which clauses are of no system's promise."""

from collections.abc import Mapping
from typing import Final

from framework.plugins.capabilities import (
    BROKER_LEASES,
    CONFIGS_AT_ANY_BROKER,
    FEATURE_LEVELS,
    KEPT_GROUPS,
    KEPT_LOG_STARTS,
)
from nodes.kafka.promises.rules import KEEPS_EPOCH, SOURCES
from nodes.kafka.promises.terms import Bounds, NoPromise, of

_CONTROL_PLANE: Final = (
    NoPromise(
        name="linearizable-topic-read",
        says="a read of a topic that shows all that was acknowledged before",
        why="not promised",
        instead="none: brokers answer from a cache",
        source="KIP-631, Broker Metadata Management",
        so="each answer of a cache is a point of the committed log, and points rise "
        "(`metadata-cache`)",
        capabilities=frozenset({"linearizable-topic-read"}),
        clauses=(
            *of("topic-linearizability", "one-order"),
            *of("acknowledged-never-lost", "created", "deleted", "stays-away", "versions"),
            *of("acknowledged-never-lost", "committed-first"),
        ),
    ),
    NoPromise(
        name="who-still-leads",
        says="an answer of the active controller that shows all that was acknowledged before",
        why="not promised",
        instead="an answer without records waits for no majority: one that was deposed, and has "
        "not heard of it, answers by what it had; from 3.7 on no longer than until it misses the "
        "fetches of a majority",
        source="QuorumController.ControllerWriteEvent; KAFKA-15489",
        so="dry runs of creates are true at a point of the committed log, at none before what that "
        "controller had answered or acknowledged, and show all of it in peace alone "
        "(`asked-is-made`)",
    ),
    NoPromise(
        name="request-ids",
        says="an id of a request that a broker forwards, by which a second one is known",
        why="not promised",
        instead="such requests carry none",
        source="KIP-590, EnvelopeRequest",
        so='a create that is told "exists", a delete that is told "unknown" may be refused for '
        "what they did themselves: `info`, with what they saw; one that is granted may have made, "
        "or removed, another topic of that name before, of which the broker was not told "
        "(`effects-once`, `asked-is-made`)",
        capabilities=frozenset({"request-ids"}),
        clauses=of("effects-once", "requests"),
    ),
    NoPromise(
        name="refused-is-undone",
        says="NOT_CONTROLLER to a write: nothing was done",
        why="not promised",
        instead="it may follow an append that the next leader commits; who does not lead says "
        "it, too",
        source="QuorumController",
        so="`info`; clients ask who leads (DescribeQuorum) before they write",
    ),
    NoPromise(
        name="kept-votes",
        says="a vote that is kept for as long as its epoch lasts",
        why="done otherwise",
        instead="`quorum-state` forgets a vote once a leader is known, but for the leader's own",
        source="KIP-595; FollowerState",
        so="votes are judged by the record of who leads (`one-leader-per-epoch`), and a vote that "
        "is still there against it",
        capabilities=frozenset({"kept-votes"}),
        clauses=of("one-vote", "one-candidate", "long-enough-log"),
    ),
    NoPromise(
        name="strict-metadata-log",
        says="a metadata log and decisions that are those of KIP-631's draft, one by one",
        why="done otherwise",
        instead="records differ by release and by feature level",
        source="ReplicationControlManager",
        so="its own [rules](#rules-of-the-metadata-log) are asked (`replay-invariants`)",
        capabilities=frozenset({"strict-metadata-log"}),
        clauses=of(
            "decision-conformance",
            *("isr-accepted", "isr-refused", "topics", "brokers", "leaders"),
        ),
    ),
    NoPromise(
        name="no-change-is-a-change",
        says="a new version by an ISR change to the ISR that there is",
        why="done otherwise",
        instead="a success and no new version",
        source="ReplicationControlManager.alterPartition",
        so="nobody asks for that",
    ),
    NoPromise(
        name="no-last-known-leader",
        says="no leader for a partition whose ISR and eligible leaders are all gone",
        why="done otherwise",
        instead="who was last known to be eligible, also where unclean elections are off",
        source="PartitionChangeBuilder.canElectLastKnownLeader; KIP-966",
        so="he counts as eligible",
        bounds=Bounds(since="3.7"),
        bounded_by="that method in the jars of 3.7.0, not of 3.6.2",
    ),
    NoPromise(
        name="configs-at-any-broker",
        says="a change of a broker's configuration that every other broker takes, too",
        why="done otherwise",
        instead="a broker takes those of its own configuration and of all brokers'",
        source="ConfigAdminManager.preprocess",
        so="the broker itself is asked",
        capabilities=frozenset({CONFIGS_AT_ANY_BROKER}),
    ),
    NoPromise(
        name="feature-levels",
        says="levels of features that never fall",
        why="done otherwise",
        instead="administrators may lower them",
        source="KIP-584",
        so="the log says what they are to be (`levels-made`, `levels-told`)",
        capabilities=frozenset({FEATURE_LEVELS}),
        clauses=of("asked-is-made", "levels"),
    ),
)
_BROKERS: Final = (
    NoPromise(
        name="leases",
        says="a lease, without which a broker serves nobody",
        why="not promised",
        instead="none: a broker's session is the controller's alone",
        source="KIP-631",
        so="the end of a lease in a history is that of the session at the earliest",
        capabilities=frozenset({BROKER_LEASES}),
        clauses=(
            *of("lease-exclusion", "one-process", "newest-epoch", "under-lease"),
            *of("lease-exclusion", "broker-ends-first", "exclusive", "silent-is-fenced"),
            *of("fenced-serve-nothing", "own-word", "clients-word"),
            *of("zombie-fencing", "leased"),
        ),
    ),
    NoPromise(
        name="taken-over-ids",
        says="a process that takes over the id of one whose session lives",
        why="done otherwise",
        instead="it is refused (101) until that session has run out; a broker that was paused "
        "keeps its epoch",
        source="ClusterControlManager.registerBroker",
        so="it registers again and again",
    ),
    NoPromise(
        name="new-epochs-for-processes",
        says="a new epoch for a process that registers again",
        why="done otherwise",
        instead="it keeps its epoch",
        source="ClusterControlManager.registerBroker",
        so="equal epochs of one process are no step back",
        bounds=KEEPS_EPOCH,
        bounded_by=SOURCES,
    ),
    NoPromise(
        name="states-of-brokers",
        says="states of a broker's life, told as they change",
        why="not told",
        instead="nodes tell nothing of it but in their logs",
        source="BrokerLifecycleManager",
        so="lists of brokers are judged (`observed-cluster`)",
        clauses=of(
            "life-cycle-conformance",
            *("drawn-states", "triggered-states", "drawn-roles", "triggered-roles"),
        ),
    ),
)
_LOGS: Final = (
    NoPromise(
        name="watermark-of-an-answer",
        says="the high watermark of a fetch, as of its records",
        why="not promised",
        instead="it is read before the records are",
        source="Partition.readRecords",
        so="records above it are no anomaly; one that falls within an epoch is",
    ),
    NoPromise(
        name="watermark-of-a-new-leader",
        says="a high watermark that never falls",
        why="not promised",
        instead="a new leader's rises again only once `min.insync.replicas` are in sync, and so "
        "does what can be read",
        source="KIP-966; Partition.maybeIncrementLeaderHW",
        so="a cluster has settled, and is read to the end, when all replicas on its own brokers "
        "are in sync",
        bounds=Bounds(since="3.7"),
        bounded_by="what is logged of it, in the jars of 3.7.0, not of 3.6.2",
    ),
    NoPromise(
        name="kept-log-starts",
        says="a delete of records that outlives kills and elections",
        why="not promised",
        instead="it is acknowledged when all replicas whose brokers live begin there, in memory; "
        "on disk that is within a minute (`log.flush.start.offset.checkpoint.interval.ms`)",
        source="KIP-107",
        so="it binds the process that acknowledged it, and everybody in a run without faults; a "
        "beginning that goes back after a kill, or at a broker that was away, is not called wrong",
        capabilities=frozenset({KEPT_LOG_STARTS}),
        clauses=of("replica-matching", "deleted"),
    ),
    NoPromise(
        name="forced-logs",
        says="what is acknowledged to acks=all, after all replicas in sync have lost power",
        why="not promised",
        instead="partitions' logs are left to the operating system, but for `flush.messages` and "
        "`flush.ms`, which nobody sets by default: replicas make them durable",
        source="topic configuration `flush.messages`; documentation, Operations: Application vs. "
        "OS Flush Management",
        so="where all brokers lose power at once, what none of them had forced, and not all still "
        "have, may be gone ([power](operating.md#power)); where one of them keeps its power it is "
        "called lost, also where the ISR was of others",
    ),
    NoPromise(
        name="ends-of-their-own-transactions",
        says="an end of a transaction that ends no later one, however late it comes",
        why="not asked",
        instead="promised to clients that send EndTxn 5, for each transaction has an epoch then",
        source="KIP-890; documentation of 4.0, Operations: Transaction Protocol",
        so="librdkafka 2.16 sends EndTxn 1: a late end may break what KIP-98 promises "
        "([KAFKA-17754](kafka-bugs.md)), and is INVALID. `txn:producer=raw` sends EndTxn 5 where "
        "`transaction.version` is 2",
        bounds=Bounds(since="4.0"),
        bounded_by="documentation of 4.0; EndTxn 5 (messages in the jars: 4.0.0, not 3.9.1)",
    ),
    NoPromise(
        name="kept-groups",
        says="a consumer group lasts, also with nobody in it and nothing committed",
        why="not promised",
        instead="it is forgotten, as whenever a topic is deleted, and numbers its generations anew",
        source="GroupMetadataManager.cleanupGroupMetadata",
        so="of a group generations are compared from its first commit on",
        capabilities=frozenset({KEPT_GROUPS}),
    ),
    NoPromise(
        name="refused-produces",
        says="NOT_LEADER_OR_FOLLOWER to a produce with acks=all: nothing was appended",
        why="not promised",
        instead="it may have been, and waited for its followers while the leader was deposed",
        source="DelayedProduce",
        so="`info`",
    ),
    NoPromise(
        name="refused-deletes",
        says="NOT_LEADER_OR_FOLLOWER to a delete of records: nothing was done",
        why="not promised",
        instead="it may come after the leader's own log begins later",
        source="DelayedDeleteRecords",
        so="`info`",
    ),
)
_NODES: Final = (
    NoPromise(
        name="clean-logs",
        says="a node's log without errors",
        why="not promised",
        instead="errors are logged in the course of things",
        source="server.log",
        so="only a process's last words, and exceptions that ended a thread, are trouble "
        "(`process-health`)",
    ),
    NoPromise(
        name="told-by-nodes",
        says="events, as they happen, of what nodes append, apply, publish, decide and answer, and "
        "digests of their metadata",
        why="not told",
        instead="nodes tell nothing of themselves",
        source="-",
        so="clients, an observer and disks are asked",
        clauses=(
            *of("node-tells-the-truth", "reported-on-disk", "disk-reported", "exit-reported"),
            *of("node-tells-the-truth", "answers-reported"),
            *of("process-health", "explained-ends", "never-silent"),
            *of("convergence", "one-state", "caught-up", "in-service", "led"),
            *of("identity-uniqueness", "live-voters"),
            *of("snapshot-equivalence", "replayed"),
            *of("controlled-shutdown-safety", "all-had-read"),
            *of("monotonic-counters", "watermarks"),
            *of("replay-invariants", "digests"),
            *of("uncommitted-never-visible", "answered-after-commit", "applied-after-commit"),
            *of("zombie-fencing", "decided"),
        ),
    ),
)
NOT_MADE: Final = (*_CONTROL_PLANE, *_BROKERS, *_LOGS, *_NODES)

OWN: Final[Mapping[str, tuple[str, ...]]] = {
    "whether the harness did what it says": of("faults-bit", "probed-before", "bit", "over"),
    "what is asked of any process": of("process-health", "unbroken", "never-still"),
}
"""Clauses that are the framework's own, whatever a system promises, and why."""
