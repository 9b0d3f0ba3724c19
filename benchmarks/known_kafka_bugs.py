"""Faults of Apache Kafka's releases: those that a run shows, and others that none can show yet."""

from dataclasses import dataclass
from typing import Final

QUICK: Final = (
    "controller.quorum.election.timeout.ms=200",
    "request.timeout.ms=1000",
    "broker.session.timeout.ms=1500",
)
"""Over the short time limits of every run: a fault need not last for as long to be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """`id`: of its issue, or ours. `what`: what goes wrong, and what a run shows of it. `releases`:
    each that is tried, and whether it has it (None: not known). The run has these options; it shows
    the bug where the clause of the checker (`found_by`) is INVALID."""

    id: str
    title: str
    what: str
    source: str
    releases: dict[str, bool | None]
    workload: str
    nemesis: str
    time_limit_s: float
    rate: float
    nodes: str | None = None
    observe_s: float = 2.0
    settings: tuple[str, ...] = ()
    found_by: tuple[str, str]

    def command(self, version: str = "VERSION") -> str:
        """As one types it."""
        parts = [
            "kraft-proof run --system kafka --exactly",
            f"--set version={version}",
            f"--workload {self.workload} --nemesis {self.nemesis}",
            f"--time-limit {self.time_limit_s:g} --rate {self.rate:g} --observe {self.observe_s:g}",
            *([f"--nodes {self.nodes}"] if self.nodes else []),
            *(f"--set {each}" for each in self.settings),
        ]
        return " ".join(parts)


BUGS: Final = (
    Bug(
        id="KAFKA-15489",
        title="A controller that is cut off from all others leads for ever",
        what=(
            "KIP-595 has a leader give up that a majority has not fetched from for as long as a "
            "follower waits for its leader. Before 3.7.0 nothing did that: the active controller "
            "that is cut off from all other nodes goes on as the leader of its epoch until the "
            "network is whole again, while another one leads. It commits nothing, but tells "
            "whoever reaches it that it leads. The observer reaches all nodes, and asks each."
        ),
        source="https://github.com/apache/kafka/pull/14428",
        releases={"3.6.2": True, "3.7.0": False},
        workload="topics",
        nemesis="partition:target=leader,interval=20",
        time_limit_s=40,
        rate=20,
        observe_s=0.5,
        settings=QUICK,
        found_by=("observed-cluster", "let-go"),
    ),
    Bug(
        id="KAFKA-14946",
        title="A controller ends when it gives up its leadership",
        what=(
            "Who gives up leading takes back what is not committed, by putting his tables back to "
            "a snapshot in memory. Before 3.4.1 that failed with a NullPointerException where such "
            "a table had lost elements only (`SnapshottableHashTable.mergeFrom`), as after deletes "
            "of topics, and the process ended: so it goes with one controller after the other, "
            "each time a partition of the network is over, until no majority is left."
        ),
        source="https://github.com/apache/kafka/pull/13653",
        releases={"3.3.2": True, "3.4.1": False},
        workload="topics",
        nemesis="partition:target=leader,interval=2",
        time_limit_s=40,
        rate=100,
        found_by=("process-health", "unbroken"),
    ),
    Bug(
        id="deleted-configuration",
        title="A topic that is created again has the configuration of the one that was deleted",
        what=(
            "A broker that catches up publishes many records as one delta. When one of them "
            "removes a topic, `ConfigurationsDelta` forgets the configuration that the image "
            "before that delta had of it, not the one that was set within it. Runs with partitions "
            "and kills showed it on 4.0.1 and 4.1.1 as well. No release is known to be mended, and "
            "no issue that describes it is known here."
        ),
        source="kafka.md#what-was-found",
        releases={"3.3.2": None, "3.9.1": None, "4.1.1": True, "4.2.0": True},
        workload="topics",
        nemesis="pause:target=brokers,interval=3",
        time_limit_s=15,
        rate=100,
        found_by=("asked-is-made", "configurations"),
    ),
    Bug(
        id="removed-voter",
        title="A controller that was removed does not start again",
        what=(
            "From 4.0 on a follower's `quorum-state` keeps for whom it voted beside who leads. A "
            "controller that voted for itself in an epoch that another one won, and that is then "
            "removed from the voters (RemoveRaftVoter), takes itself for a candidate when it is "
            "started again in that epoch, which only a voter can be: IllegalArgumentException, at "
            "each start. Here controllers 2 and 3 do not hear each other, and controller 1, which "
            "leads, is stopped until both ask for votes. When it goes on it has resigned, and one "
            "of them wins by its vote; the other one, which follows when the network is whole, "
            "is removed and killed. 3.9, the last without the fault, forgets a vote when it learns "
            "who leads. No release is known to be mended, and no issue that describes it is known "
            "here."
        ),
        source="kafka.md#what-was-found",
        releases={"3.9.1": False, "4.0.0": True, "4.2.0": True},
        workload="voters:after_s=13,away_s=20,leaves=c2+c3",
        nemesis=(
            "partition:shape=bridge,target=c1,after=2,lasts=6,"
            "pause:target=c1,after=4,lasts=3,kill:target=followers,after=18,lasts=2"
        ),
        time_limit_s=24,
        rate=30,
        nodes="3+1",
        settings=(
            "quorum=dynamic",
            "controller.quorum.request.timeout.ms=10000",
            "controller.quorum.election.timeout.ms=3000",
            "c2:controller.quorum.election.timeout.ms=10000",
            "c3:controller.quorum.election.timeout.ms=10000",
        ),
        found_by=("process-health", "unbroken"),
    ),
    Bug(
        id="late-answer-of-a-removed-voter",
        title="The active controller ends when a voter that it has removed answers",
        what=(
            "A leader tells voters that it leads, again and again (BeginQuorumEpoch). One that is "
            "removed from the voters (RemoveRaftVoter) while such a request to it is under way "
            "answers as any other, and the leader, which looks for it among its voters, meets an "
            'IllegalArgumentException ("Unexpected acknowledgement from non-voter"), which ends '
            "its process. Here controller 2 is stopped, removed, and goes on. Voters can be "
            "removed since 3.9. No release is known to be mended, and no issue that describes it "
            "is known here."
        ),
        source="kafka.md#what-was-found",
        releases={"3.9.1": True, "4.0.0": True, "4.2.0": True},
        workload="voters:after_s=6,away_s=30,leaves=c2",
        nemesis="pause:target=c2,after=4,lasts=6",
        time_limit_s=14,
        rate=30,
        nodes="3+1",
        settings=(
            "quorum=dynamic",
            "controller.quorum.request.timeout.ms=10000",
            "controller.quorum.election.timeout.ms=3000",
            "c2:controller.quorum.election.timeout.ms=10000",
            "c3:controller.quorum.election.timeout.ms=10000",
        ),
        found_by=("process-health", "unbroken"),
    ),
    Bug(
        id="skipped-voters",
        title="Who cuts its log back does not see a change of the voters",
        what=(
            "A voter whose log is cut back to where a new leader's begins reads on from where it "
            "had ended: a change of the voters (VotersRecord, KIP-853) that the new leader has "
            "below that is not seen. So it counts votes of voters that are none, and writes them "
            "into its snapshots. Leaders are cut off here, one after the other, while voters "
            "leave and come back. Voters can be removed since 3.9. No release is known to be "
            "mended, and no issue that describes it is known here."
        ),
        source="kafka.md#what-was-found",
        releases={"3.9.1": True, "4.0.0": True, "4.2.0": True},
        workload="voters,topics",
        nemesis="partition:shape=isolate,target=leader,interval=3",
        time_limit_s=24,
        rate=60,
        nodes="3",
        settings=("quorum=dynamic",),
        found_by=("voter-changes", "snapshots-agree"),
    ),
    Bug(
        id="KAFKA-17754",
        title="A transaction is ended by the late end of another one",
        what=(
            "A producer that has not heard that its transaction is committed, or aborted, asks "
            "again. The first request may arrive when its next transaction has begun, which it "
            "ends: by id and epoch they are the same. So records of a transaction that failed are "
            "read by who reads committed ones, or some of a committed one's are lost. One in seven "
            "of a transaction's requests is late here, as a network may have it. KIP-890's second "
            "part (4.0) gives each transaction an epoch of its own, for clients that have it: "
            "the client of these runs, librdkafka 2.16, has not, so that 4.2.0 has the fault for "
            "its users."
        ),
        source="https://issues.apache.org/jira/browse/KAFKA-17754",
        releases={"3.9.1": True, "4.2.0": True},
        workload="txn:late=0.15",
        nemesis="none",
        time_limit_s=40,
        rate=60,
        nodes="3",
        found_by=("kafka-log", "one-log"),
    ),
    Bug(
        id="KIP-890",
        title="The same, of a client that has KIP-890's second part",
        what=(
            "The run above with a producer in our own codec, which speaks as Kafka's own client "
            "does: where `transaction.version` is 2, to send adds a partition to the transaction "
            "(Produce 12, TxnOffsetCommit 5), and the answer to EndTxn 5 has the epoch of the next "
            "one. What comes late has an older epoch then, and is refused. On a release without "
            "that it speaks the protocol of before, and its transactions are torn as anybody's."
        ),
        source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-890%3A+Transactions+Server-Side+Defense",
        releases={"3.9.1": True, "4.0.0": False, "4.2.0": False},
        workload="txn:late=0.15,producer=raw",
        nemesis="none",
        time_limit_s=40,
        rate=60,
        nodes="3",
        found_by=("kafka-log", "one-log"),
    ),
    Bug(
        id="KIP-966",
        title="The last replica standing loses what more than one had acknowledged",
        what=(
            "A topic of three replicas asks for two that are in sync. One is killed, a second one "
            "is paused, so that the third is in sync alone; then it loses power, and with it what "
            "it had not forced to its disk, of all that the three had acknowledged. It comes back, "
            "is the only one in sync, and leads with what is left; the others, which had it all, "
            "cut it off. With eligible leader replicas (from 4.1 on by default) the one that is "
            "paused stays eligible, and is waited for."
        ),
        source="https://cwiki.apache.org/confluence/display/KAFKA/KIP-966%3A+Eligible+Leader+Replicas",
        releases={"3.9.1": True, "4.0.1": True, "4.1.0": False, "4.2.0": False},
        workload="log:topics=1,delete_every_s=0,moves=false",
        nemesis=(
            "kill:target=b1,after=5,lasts=30,pause:target=b2,after=9,lasts=26,"
            "power:target=b3,after=17,lasts=4"
        ),
        time_limit_s=38,
        rate=60,
        settings=("request.timeout.ms=1000", "broker.session.timeout.ms=1500"),
        found_by=("partition-data", "one-value"),
    ),
    Bug(
        id="KAFKA-19522",
        title="A broker is elected that is not there",
        what=(
            "Eligible leader replicas are on. All brokers are killed, so that each partition of "
            "three replicas, two of which have to be in sync, is left without an ISR, and with "
            "its last leader as the one who was last known. Who comes back from such an end is no "
            "longer eligible (KIP-966). When the last eligible one registers, nobody is left, and "
            "the last known leader is to be elected, if he is there: before 4.1 he is elected "
            "whether he is or not (`PartitionChangeBuilder.canElectLastKnownLeader`), while the "
            "controller has him fenced, and the partition has a leader that serves nobody. "
            "From 4.1 on a new cluster has eligible leader replicas by itself."
        ),
        source="https://github.com/apache/kafka/pull/20200",
        releases={"4.0.0": True, "4.0.1": True, "4.1.0": False},
        workload="log:topics=2,delete_every_s=0,moves=false",
        nemesis="kill:target=brokers,after=5,lasts=8",
        time_limit_s=24,
        rate=40,
        settings=("feature.eligible.leader.replicas.version=1",),
        found_by=("isr-chain", "members-in-service"),
    ),
    Bug(
        id="KAFKA-15495",
        title="The last replica in sync comes back with an empty disk, and the others become empty",
        what=(
            "As with KIP-966, but what is lost is the disk: the last one in sync comes back with "
            "an empty one, formatted anew, as who replaces a broken disk does it. It leads, with "
            "nothing, and the others, whose disks are whole, cut off all that they have. Of a "
            "topic that asks for two in sync one disk may be lost: all was acknowledged by two at "
            "least, and that is what KIP-966 promises, whatever a failure takes along. With "
            "eligible leader replicas (4.2.0) the controller does see that the broker was not "
            "stopped in good order, and waits for the one that is paused; but then the broker "
            "tells in which directory its replicas are now (KIP-858, the new disk has another id), "
            "and the record of that forgets who is eligible, so that the last known leader is "
            "elected "
            "([kafka.md](kafka.md#a-broker-that-tells-of-its-directories-makes-the-controller-"
            "forget-who-is-eligible-420)). No release is known to be mended."
        ),
        source="https://issues.apache.org/jira/browse/KAFKA-15495",
        releases={"3.6.2": True, "3.9.1": True, "4.2.0": True},
        workload="log:topics=1,delete_every_s=0,moves=false",
        nemesis=(
            "kill:target=b1,after=5,lasts=30,pause:target=b2,after=9,lasts=26,"
            "power:loses=disk,target=b3,after=17,lasts=4"
        ),
        time_limit_s=45,
        rate=40,
        nodes="1+3",
        settings=("request.timeout.ms=1000", "broker.session.timeout.ms=1500"),
        found_by=("partition-data", "one-value"),
    ),
    Bug(
        id="KAFKA-14616",
        title="A replica of a topic that was made anew while its broker was down never begins",
        what=(
            "A topic is deleted and created again, by the same name, while one of its brokers is "
            "down. The broker comes back with the log of the former topic in the place of the new "
            "one's, which it refuses to open: it logs InconsistentTopicIdException, goes on "
            "without that replica, and never tries again. All topics rest shortly before it comes "
            "back, so that it has all the time in the world. From 3.7.0 on a broker that starts "
            "does away with logs that are none of its topics': one run of it with 60 s instead of "
            "90 settled at once."
        ),
        source="https://github.com/apache/kafka/pull/15230",
        releases={"3.6.2": True, "3.7.0": False},
        workload="topics:live_names=20,rest_after_s=24",
        nemesis="kill:target=n1,after=5,lasts=20",
        time_limit_s=90,
        rate=20,
        nodes="3",
        settings=("request.timeout.ms=1000", "broker.session.timeout.ms=1500"),
        found_by=("observed-cluster", "all-in-sync"),
    ),
    Bug(
        id="KAFKA-16814",
        title="A broker that is killed while topics are created does not start again",
        what=(
            "A broker makes the directory of a new replica, and writes which topic it belongs to "
            "into a file there (`partition.metadata`) somewhat later, in another thread. One that "
            "is killed in between comes back with a log of no topic, which 3.7.0 refuses "
            '("does not have a topic ID, which is not allowed when running in KRaft mode"), and '
            "ends, at each start, until somebody removes the directory by hand. Topics of many "
            "partitions are created here, for there is a file to be forced to the disk for each "
            "replica, and all brokers are killed once. From 3.7.1 on such a log is one that "
            "nobody needs, and is put aside: a run of it with three controllers, for 16 s, had "
            "three of them, and all brokers came back. On 3.7.0 none did there."
        ),
        source="https://github.com/apache/kafka/pull/16165",
        releases={"3.7.0": True, "3.7.1": False},
        workload="topics:live_names=20,partitions=10",
        nemesis="kill:target=brokers,after=8,lasts=3",
        time_limit_s=14,
        rate=60,
        nodes="1+3",
        settings=("request.timeout.ms=1000", "broker.session.timeout.ms=1500"),
        found_by=("process-health", "unbroken"),
    ),
    Bug(
        id="KAFKA-15391",
        title="A broker ends because a topic is deleted while its records go to the disk",
        what=(
            "Where a segment of a log begins, the one before it is forced to the disk in another "
            "thread, and so is the directory. When the topic is deleted meanwhile its directory "
            "has another name, and that thread finds none: NoSuchFileException, for which the "
            "broker gives up the disk, and ends if it was the only one. A flood of produces has a "
            "topic of its own here, which is deleted right behind it; segments are small, so that "
            "there is much to be forced. From 3.5.2 on (by its jars) a directory that is gone is "
            "not forced."
        ),
        source="https://github.com/apache/kafka/pull/14280",
        releases={"3.5.1": True, "3.5.2": False},
        workload="log:topics=1,partitions=1,delete_every_s=0,moves=false,"
        "flood=2,flood_s=1,flood_anew=true",
        nemesis="none",
        time_limit_s=50,
        rate=100,
        nodes="1+2",
        settings=("log.segment.bytes=200", "background.threads=1"),
        found_by=("process-health", "unbroken"),
    ),
)

NOT_SHOWN: Final = (
    (
        "KAFKA-18106",
        "what becomes of partitions when a broker registers after an unclean end, with eligible "
        "leader replicas. 4.0.0, the first release that has the feature, is mended by its jars. "
        "One run on 3.9.1, which has them by an internal setting and an unstable level alone, and "
        "promises nothing of them (`log:topics=2,delete_every_s=0,moves=false` with "
        "`kill:target=brokers,after=5,lasts=8` for 22 s, `--set feature.metadata.version=23 --set "
        "unstable.feature.versions.enable=true --set eligible.leader.replicas.enable=true`), "
        "looked at by hand: the records of each registration take the broker out of those that "
        "are eligible, elect, and raise the leader epoch, as in 4.0.0. A broker that was in an ISR "
        "still when its next process registered was not met: that one is refused until the "
        "session has run out, which takes it out of ISRs that have others or may be empty",
    ),
)
"""Issue, and what was tried."""

OUT_OF_REACH: Final = (
    (
        "KAFKA-14154",
        "a leader whose AlterPartition meets an older controller is stuck: mended in 3.3.0, and "
        "the oldest release of the table is 3.3.2",
    ),
    (
        "KAFKA-16157, KAFKA-16162",
        "topics and failed disks, new topics after an upgrade: of the 3.7 that was being made; no "
        "release of the table has them, and no fault here breaks a disk",
    ),
    (
        "KAFKA-15221",
        "a fetch from before a follower's restart lets it back into the ISR: it has to come late, "
        "and no fault here delays a single request",
    ),
    (
        "KAFKA-16310",
        "ListOffsets may name another offset than that of the record with the largest timestamp "
        "(3.7.0): nobody here asks for it, and batches have one record each",
    ),
)
"""Issue, and why no run shows it yet. None of them was tried."""
