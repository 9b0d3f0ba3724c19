"""The defects there are, and the run that finds each.

Each is a file of `java/`: `vote-twice` is `VoteTwice.java`. They are of Apache Kafka 4.2.0; another
release whose methods are others refuses them before anything starts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

BALANCED: Final = (
    "leader.imbalance.check.interval.seconds=1",
    "leader.imbalance.per.broker.percentage=0",
)
"""Leaderships go back to the first replica as soon as it lives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """`breaks`: what is wrong then. `promise`: what says that it should not be. The run that finds
    it has this workload, nemesis, layout (`--nodes`), length in s and settings (`--set`).
    `found_by`: checkers of which one at least must convict it."""

    breaks: str
    promise: str
    workload: str
    nemesis: str = "none"
    cluster: str = "3"
    time_limit_s: float = 15.0
    settings: tuple[str, ...] = ()
    found_by: frozenset[str]

    def command(self, name: str) -> str:
        """What `run` is given, as one types it."""
        faults = [] if self.nemesis == "none" else [f"--nemesis {self.nemesis}"]
        length = f"--nodes {self.cluster} --time-limit {self.time_limit_s:g}"
        settings = [f"--set {each}" for each in self.settings]
        return " ".join([f"--defect {name} --workload {self.workload}", *faults, length, *settings])


DEFECTS: Final[Mapping[str, Defect]] = {
    "acknowledge-before-replication": Defect(
        breaks="a partition's leader acknowledges acks=all as soon as it has appended itself",
        promise="producer configuration `acks`: all in-sync replicas have it",
        workload="log:moves=false",
        nemesis="partition:target=n1,interval=5",
        time_limit_s=20,
        found_by=frozenset({"kafka-log", "partition-data", "isr-chain"}),
    ),
    "watermark-of-one-replica": Defect(
        breaks="a partition's leader takes the end of its own log for the high watermark",
        promise="documentation, Replication: committed is what all in-sync replicas have",
        workload="log:moves=false",
        nemesis="partition:target=n1,interval=5",
        time_limit_s=20,
        found_by=frozenset({"kafka-log", "partition-data", "isr-chain"}),
    ),
    "serve-uncommitted": Defect(
        breaks="consumers are given records above the high watermark",
        promise="documentation, Replication: only what is committed is given to consumers",
        workload="log:moves=false",
        nemesis="partition:target=n1,interval=5",
        time_limit_s=20,
        found_by=frozenset({"kafka-log", "partition-data"}),
    ),
    "lose-some-appends": Defect(
        breaks="some records are acknowledged and cut off again",
        promise="producer configuration `acks`: what is acknowledged is in the log",
        workload="log:moves=false",
        time_limit_s=10,
        found_by=frozenset({"kafka-log", "partition-data"}),
    ),
    "elect-any-replica": Defect(
        breaks="a controller elects leaders that are not in sync",
        promise="topic configuration `unclean.leader.election.enable`: by default none of those",
        workload="log:moves=false",
        nemesis="kill:target=one,interval=3",
        time_limit_s=20,
        settings=BALANCED,
        found_by=frozenset({"isr-chain", "kafka-log", "partition-data"}),
    ),
    "watermark-of-one-voter": Defect(
        breaks="the leader of the metadata log commits what no other voter has",
        promise="KIP-595: the high watermark is what a majority of voters has",
        workload="topics",
        nemesis="partition:target=leader,interval=3",
        found_by=frozenset(
            {
                "committed-never-lost",
                "effects-once",
                "observed-cluster",
                "uncommitted-never-visible",
            }
        ),
    ),
    "no-metadata-truncation": Defect(
        breaks="a follower of the metadata log keeps what its new leader has not",
        promise="KIP-595: a follower is told where its log parts from the leader's",
        workload="topics",
        nemesis="partition:target=leader,interval=3",
        found_by=frozenset({"log-matching", "committed-never-lost"}),
    ),
    "answer-before-commit": Defect(
        breaks="the active controller answers before its records are committed",
        promise="KIP-631, KIP-595: answers wait for the high watermark",
        workload="topics",
        nemesis="partition:target=leader,interval=3",
        found_by=frozenset({"uncommitted-never-visible", "effects-once"}),
    ),
    "vote-twice": Defect(
        breaks="a voter votes for several candidates of an epoch",
        promise="KIP-595: one vote an epoch",
        workload="topics",
        nemesis="kill:target=leader,interval=3",
        cluster="5",
        time_limit_s=25,
        found_by=frozenset({"one-leader-per-epoch", "log-matching", "observed-cluster"}),
    ),
    "ignore-broker-epoch": Defect(
        breaks="a controller accepts requests of a broker's earlier life",
        promise="KIP-380, KIP-631: an older broker epoch is refused, STALE_BROKER_EPOCH",
        workload="zombie",
        found_by=frozenset({"zombie-fencing"}),
    ),
    "ignore-partition-epoch": Defect(
        breaks="a controller accepts ISR changes of a state that is over",
        promise="KIP-497: an older partition epoch is refused, INVALID_UPDATE_VERSION",
        workload="isr,zombie",
        found_by=frozenset({"isr-linearizability", "zombie-fencing", "isr-chain"}),
    ),
    "ignore-leader-epoch": Defect(
        breaks="a controller accepts ISR changes of an earlier leader epoch",
        promise="KIP-497: an older leader epoch is refused, FENCED_LEADER_EPOCH",
        workload="isr,zombie",
        found_by=frozenset({"zombie-fencing", "isr-linearizability"}),
    ),
    "ignore-member-epochs": Defect(
        breaks="a controller accepts ISR changes that name members by epochs of earlier lives",
        promise="KIP-903: a member is named by its broker epoch, INELIGIBLE_REPLICA",
        workload="zombie",
        found_by=frozenset({"zombie-fencing", "isr-chain"}),
    ),
    "fenced-in-isr": Defect(
        breaks="a controller takes fenced brokers into ISRs",
        promise="KIP-841: who is fenced joins no ISR, INELIGIBLE_REPLICA",
        workload="zombie",
        found_by=frozenset({"zombie-fencing", "isr-chain"}),
    ),
    "leaving-in-isr": Defect(
        breaks="a controller takes brokers into ISRs that are shutting down",
        promise="KIP-841: who is in controlled shutdown joins no ISR, INELIGIBLE_REPLICA",
        workload="zombie",
        time_limit_s=30,
        found_by=frozenset({"isr-chain"}),
    ),
    "ignore-min-insync": Defect(
        breaks="a partition's leader acknowledges acks=all where too few are in sync",
        promise="topic configuration `min.insync.replicas`: NOT_ENOUGH_REPLICAS",
        workload="log:moves=false,delete_every_s=0",
        nemesis="kill:target=one,after=4,lasts=12",
        time_limit_s=20,
        settings=("min.insync.replicas=3",),
        found_by=frozenset({"isr-chain"}),
    ),
    "same-broker-epoch": Defect(
        breaks="each registration is given the same broker epoch",
        promise="KIP-380, KIP-631: a registration's epoch is its own, and higher than those before",
        workload="topics",
        time_limit_s=10,
        found_by=frozenset({"identity-uniqueness", "monotonic-counters"}),
    ),
    "same-producer-ids": Defect(
        breaks="all brokers are given the same block of producer ids",
        promise="KIP-730: blocks of producer ids are given out once",
        workload="log:moves=false",
        time_limit_s=10,
        found_by=frozenset({"identity-uniqueness"}),
    ),
    "delete-only-answers": Defect(
        breaks="a topic's deletion is acknowledged, and there is no record of it",
        promise="KIP-631: a deletion is a RemoveTopicRecord",
        workload="topics",
        time_limit_s=10,
        found_by=frozenset({"effects-once"}),
    ),
    "drop-configs": Defect(
        breaks="topics are made without the configuration that was asked for",
        promise="KIP-4, KIP-525: CreateTopics sets the configuration that it is given",
        workload="topics",
        time_limit_s=10,
        found_by=frozenset({"asked-is-made"}),
    ),
    "levels-only-answer": Defect(
        breaks="levels of features are granted, and there is no record of them",
        promise="KIP-584: a feature's level is a FeatureLevelRecord",
        workload="topics",
        time_limit_s=10,
        found_by=frozenset({"asked-is-made"}),
    ),
    "move-at-once": Defect(
        breaks="a move ends at once, with new replicas that are called in sync and have nothing",
        promise="KIP-455: a move ends once the new replicas are in sync",
        workload="log:elections=false",
        found_by=frozenset({"replay-invariants", "kafka-log", "partition-data"}),
    ),
    "old-replicas-stay": Defect(
        breaks="a move adds the new replicas, and removes none of those from before",
        promise="KIP-455: a partition has the replicas that were asked for, and no others",
        workload="log",
        found_by=frozenset({"asked-is-made"}),
    ),
    "cancel-only-answers": Defect(
        breaks="a cancel of a move is acknowledged, and the move goes on",
        promise="KIP-455: a move that is cancelled is undone",
        workload="log",
        time_limit_s=20,
        found_by=frozenset({"asked-is-made"}),
    ),
    "snapshot-without-topics": Defect(
        breaks="snapshots of the metadata leave out the topics",
        promise="KIP-630: a snapshot stands for all records below its end",
        workload="log:moves=false",
        nemesis="kill:target=one,interval=3",
        time_limit_s=20,
        found_by=frozenset({"availability", "observed-cluster", "partition-data"}),
    ),
    "metadata-goes-back": Defect(
        breaks="brokers show, now and then, the metadata of seconds ago",
        promise="KIP-631: brokers follow the metadata log, which has one order",
        workload="topics",
        time_limit_s=10,
        found_by=frozenset({"metadata-cache"}),
    ),
    "ignore-generation": Defect(
        breaks="commits of a group's earlier generations are taken",
        promise="protocol guide, OffsetCommit: ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID",
        workload="groups:churn_s=2",
        found_by=frozenset({"groups"}),
    ),
    "same-generation": Defect(
        breaks="a group stays in its first generation however often its members change",
        promise="protocol guide, JoinGroup: the answer has the generation of the group",
        workload="groups:churn_s=2",
        found_by=frozenset({"groups"}),
    ),
    "drop-commits": Defect(
        breaks="committed offsets are acknowledged and not kept",
        promise="protocol guide, OffsetFetch: the answer has the offset that was committed",
        workload="groups",
        time_limit_s=10,
        found_by=frozenset({"groups", "kafka-log"}),
    ),
    "serve-aborted": Defect(
        breaks="consumers of committed records are given those of aborted transactions",
        promise="consumer configuration `isolation.level`: read_committed, only committed ones",
        workload="txn",
        time_limit_s=12,
        found_by=frozenset({"kafka-log"}),
    ),
}
BREAKS: Final[Mapping[str, str]] = {name: defect.breaks for name, defect in DEFECTS.items()}
