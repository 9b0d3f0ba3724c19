"""The rules of Kafka's metadata log, one promise each: by release where controllers of different
ones write the same log otherwise, by feature level where the log itself says what holds.

Read in the sources of 3.3.2, 3.4.0, 3.5.2, 3.6.1, 3.7.0, 3.7.1, 3.8.1, 3.9.1, 4.0.1 and 4.2.0
(`ClusterControlManager.registerBroker`, `ReplicationControlManager`). Levels of `metadata.version`
are those of `MetadataVersion`: 7 is 3.3-IV3, 12 is 3.6-IV0.
"""

from typing import Final

from framework.evidence.systems import HeldRule
from nodes.kafka.promises.terms import Bounds, Promise, of

METADATA_VERSION: Final = "metadata.version"
ELIGIBLE_LEADERS: Final = "eligible.leader.replicas.version"
SOURCES: Final = "the sources of releases"
KEEPS_EPOCH: Final = Bounds(since="3.9")
"""Those on which a process that registers again keeps its epoch."""
_REGISTERING: Final = "ClusterControlManager.registerBroker"
_BROKERS: Final = of("replay-invariants", "brokers")
_WHOLE: Final = of("replay-invariants", "whole")
_PARTITIONS: Final = of("replay-invariants", "partitions")

RULES: Final = (
    Promise(
        name="leader-epochs-rise",
        says="The leader epoch rises by one with another leader, or where replicas go",
        source="PartitionRegistration.merge, PartitionChangeBuilder",
        capabilities=frozenset({"metadata-log-rules"}),
        clauses=_PARTITIONS,
        wrong="it does not, or by more, or for another reason",
    ),
    Promise(
        name="shrinking-raises-leader-epochs",
        says="So it does where the ISR loses a member and the leader stays",
        source="KAFKA-15021",
        clauses=_PARTITIONS,
        rule=HeldRule(rule="shrinking-raises-leader-epoch", feature=METADATA_VERSION, below=12),
        wrong="from 12 on: it does",
    ),
    Promise(
        name="replicas-change",
        says="Replicas of a partition may be others; who comes is in sync by a later record",
        source="KIP-455; ReplicationControlManager.alterPartitionReassignments",
        clauses=_PARTITIONS,
        rule=HeldRule(rule="replicas-change"),
        wrong="who comes is in sync at once",
    ),
    Promise(
        name="moved-before-fencing",
        says="A fenced broker was relieved in the records before, of what it led and of ISRs that "
        "have others",
        source="ReplicationControlManager.handleBrokerFenced",
        clauses=_WHOLE,
        rule=HeldRule(rule="moved-before-fencing"),
        wrong="it leads, or is in sync, when it is fenced; likewise when it is unregistered",
    ),
    Promise(
        name="leaving-brokers-are-relieved",
        says="A broker that goes (`in_controlled_shutdown`) is relieved in the records behind; it "
        "joins nothing",
        source="KIP-841",
        bounds=Bounds(since="3.3"),
        bounded_by=f"3.3-IV3 ({SOURCES}), where the log tells it",
        clauses=(*_WHOLE, *_PARTITIONS),
        wrong="it leads, or is in sync, behind them; it is taken into an ISR, or elected",
    ),
    Promise(
        name="registering-fences",
        says="Any registration fences",
        source=_REGISTERING,
        bounds=Bounds(before="3.7.1"),
        bounded_by=SOURCES,
        clauses=_BROKERS,
        rule=HeldRule(rule="registering-fences"),
        wrong="unfenced",
    ),
    Promise(
        name="process-keeps-standing",
        says="A process that registers again stays as it was, fenced or not, leaving or not",
        source=_REGISTERING,
        bounds=Bounds(since="3.7.1"),
        bounded_by=SOURCES,
        clauses=_BROKERS,
        rule=HeldRule(rule="process-keeps-standing"),
        wrong="it is otherwise then",
    ),
    Promise(
        name="registering-renews-epochs",
        says="Any registration has a new epoch",
        source=_REGISTERING,
        bounds=Bounds(before=KEEPS_EPOCH.since),
        bounded_by=SOURCES,
        clauses=_BROKERS,
        rule=HeldRule(rule="registering-renews-epoch"),
        wrong="the former one",
    ),
    Promise(
        name="process-keeps-epoch",
        says="A process that registers again does so under the epoch that it has",
        source=_REGISTERING,
        bounds=KEEPS_EPOCH,
        bounded_by=SOURCES,
        clauses=_BROKERS,
        rule=HeldRule(rule="process-keeps-epoch"),
        wrong="another one",
    ),
    Promise(
        name="new-processes-begin-anew",
        says="Another process has a new epoch, is fenced, and not leaving",
        source=_REGISTERING,
        clauses=_BROKERS,
        wrong="the former epoch; in service",
    ),
    # 3.9 relieves it only from a level of `metadata.version` on that no 3.9 is released with
    # (`ReplicationControlManager.handleBrokerUncleanShutdown`, `MetadataVersion.isElrSupported`).
    Promise(
        name="moved-before-registering",
        says="The broker of another process leads nothing, and is in no ISR that has others",
        source=_REGISTERING,
        bounds=Bounds(since="4.0"),
        bounded_by=SOURCES,
        clauses=_WHOLE,
        rule=HeldRule(rule="moved-before-registering"),
        wrong="it does, or is",
    ),
    # Before, a controller counted from the last record that it had written itself, or from the
    # last one that was committed when it became active.
    Promise(
        name="epochs-are-offsets",
        says="A new epoch is the offset where the records of its registration begin, or where the "
        "quorum's own do that came in between (KIP-853)",
        source=_REGISTERING,
        bounds=Bounds(since="3.6"),
        bounded_by=SOURCES,
        clauses=_BROKERS,
        rule=HeldRule(rule="epoch-is-offset"),
        wrong="another one",
    ),
    Promise(
        name="configured-after-creation",
        says="A topic is there before its configuration is",
        source="ReplicationControlManager.createTopics",
        bounds=Bounds(since="3.4"),
        bounded_by=SOURCES,
        clauses=of("replay-invariants", "topics"),
        rule=HeldRule(rule="configured-after-creation"),
        wrong="a configuration of no topic",
    ),
    Promise(
        name="topics-have-free-names",
        says="Topics come with names and ids that are free, in one batch with their partitions",
        source="ReplicationControlManager.createTopics, KIP-631",
        clauses=of("replay-invariants", "topics", "whole"),
        wrong="a name or an id that is taken; a part of what belongs together",
    ),
    Promise(
        name="eligible-leaders-are-kept",
        says="There are eligible leader replicas, and an ISR may be empty",
        source="KIP-966",
        clauses=of("replay-invariants", "eligible-leaders", "partitions"),
        rule=HeldRule(rule="eligible-leaders", feature=ELIGIBLE_LEADERS, since=1),
        wrong="without that feature: there are any; with it: "
        "[others](checking.md#replay-invariants)",
    ),
)
