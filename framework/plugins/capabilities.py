"""What systems can do, what runs observe, and which checkers that leaves: pure.

A name is a string; a package of somebody else's may use its own. A system has capabilities, a
workload requires some and provides observations (what its history holds), and a checker requires
either. No list of checkers stands anywhere: installed ones run where their needs are met.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

WATCHED_LOG: Final = "watched-metadata-log"
BROKER_LEASES: Final = "broker-leases"
MEMBER_EPOCHS: Final = "member-epochs"
REASSIGNMENTS: Final = "partition-reassignments"
ELECTIONS: Final = "preferred-elections"
KEPT_LOG_STARTS: Final = "kept-log-starts"
FEATURE_LEVELS: Final = "feature-levels"
LOWERED_LEVELS: Final = "lowered-feature-levels"
CHANGING_CONFIGS: Final = "changing-configs"
CONFIGS_AT_ANY_BROKER: Final = "configs-at-any-broker"
TOPICS_ON_DEMAND: Final = "topics-on-demand"
KEPT_GROUPS: Final = "kept-groups"
REQUEST_IDS: Final = "request-ids"
UNFORCED: Final = "unforced-data"
FORMATTED_DISKS: Final = "formatted-disks"
CHANGING_VOTERS: Final = "changing-voters"
TOLD_CONTROLLERS: Final = "told-controllers"
DRY_RUNS: Final = "dry-runs"
ASKED_CONTROLLERS: Final = "asked-controllers"
REPLICA_REPORTS: Final = "replica-reports"
REPLICA_READS: Final = "replica-reads"
SHRINKING_RAISES: Final = "shrinking-raises-leader-epochs"
CAPABILITIES: Final[Mapping[str, str]] = {
    "kafka-topics": "topics that Kafka's protocol creates, deletes and lists",
    "topic-configs": "topics that are created with a configuration, which brokers show",
    "linearizable-topic-read": "a read of a topic that shows all that was acknowledged before",
    "committed-topic-read": "a read of a topic from the committed log, which may be behind",
    "synthetic-brokers": "brokers that a client can play",
    MEMBER_EPOCHS: "changes of in-sync replicas that name their members by broker epochs",
    "extra-brokers": "brokers as further processes on the cluster's hosts",
    BROKER_LEASES: "brokers that serve clients under a lease alone",
    "data-plane": "partitions that are produced to and fetched from",
    REASSIGNMENTS: "partitions that administrators give other replicas",
    ELECTIONS: "partitions whose leadership administrators give back to the first replica",
    KEPT_LOG_STARTS: "deletes of records that outlive kills and elections once acknowledged",
    CHANGING_CONFIGS: "configurations of topics and brokers that administrators change",
    CONFIGS_AT_ANY_BROKER: "changes of a broker's configuration that every other one takes, too",
    TOPICS_ON_DEMAND: "topics that are made where a client asks for one that is not there",
    FEATURE_LEVELS: "features whose levels administrators raise, and never lower",
    LOWERED_LEVELS: "features whose levels administrators raise and lower",
    UNFORCED: "data that it leaves to the operating system to write to the disk",
    FORMATTED_DISKS: "nodes that start with an empty disk once it is formatted",
    CHANGING_VOTERS: "voters that administrators add and remove while the cluster runs",
    TOLD_CONTROLLERS: "controllers that tell anybody which controllers there are, and where",
    DRY_RUNS: "creates of topics that are only tried",
    ASKED_CONTROLLERS: "controllers that clients ask of topics, without a broker in between",
    REPLICA_REPORTS: "brokers that tell of their logs, and of who produces to them",
    REPLICA_READS: "replicas that give whoever compares them what they have that is committed",
    SHRINKING_RAISES: "in-sync replicas of which the loss of one may begin a leader epoch",
    "groups": "consumer groups",
    KEPT_GROUPS: "consumer groups that last, also with nobody in them and nothing committed",
    "transactions": "transactions of producers",
    "kafka-descriptions": "nodes that tell anybody of the cluster in Kafka's protocol",
    "metadata-log": "a replicated log of metadata records",
    WATCHED_LOG: "controllers that give the metadata log to anybody who fetches it",
    REQUEST_IDS: "requests with an id, by which a repeated one is known",
    "kept-votes": "votes that voters keep on disk for as long as an epoch lasts",
    "strict-metadata-log": "a metadata log in which what belongs together stands together, "
    "and epochs and versions rise one by one",
    "metadata-log-rules": "a metadata log whose rules it tells",
    "snapshots": "snapshots of the metadata",
}
"""Capability of a system -> what it is, as in the reason why something is not applicable."""

OBSERVATIONS: Final[Mapping[str, str]] = {
    "topic-operations": "creates, deletes and reads of topics",
    "isr-changes": "changes of in-sync replicas",
    "zombie-requests": "requests of former incarnations of brokers",
    "log-operations": "produces and fetches",
    "transaction-operations": "transactions and reads of what they committed",
    "group-operations": "members of consumer groups, and their commits",
    "broker-life-cycles": "brokers that were started, drained and replaced",
    "register-operations": "reads, writes and compare-and-sets of registers",
    "faults": "faults",
    "node-answers": "answers of nodes to an observer",
    "data-floods": "floods of produces",
    "voter-changes": "voters that were added and removed",
}
"""What a run observes -> what that is. `faults` where a nemesis was asked for, `node-answers` where
an observer asks the system's nodes, the others where a workload provides them."""

FAULTS: Final = "faults"
NODE_ANSWERS: Final = "node-answers"
DATA_FLOODS: Final = "data-floods"
VOTER_CHANGES: Final = "voter-changes"
OR: Final = "|"
"""Between names in a requirement that any of them meets."""
_EVIDENCE: Final = "evidence:"
_DISK: Final = "disk:"


def evidence(*kinds: str) -> frozenset[str]:
    """The capabilities of giving these kinds of evidence (`framework.evidence`)."""
    return frozenset(_EVIDENCE + kind for kind in kinds)


def disk_evidence(*kinds: str) -> frozenset[str]:
    """The capabilities of leaving these kinds of evidence on disk."""
    return frozenset(_DISK + kind for kind in kinds)


def gives_evidence(capabilities: Iterable[str]) -> bool:
    """Whether a system's nodes tell anything of themselves."""
    return any(name.startswith(_EVIDENCE) for name in capabilities)


class Needs(Protocol):
    """What requires something: a workload, an observer, a checker, or some nemesis."""

    @property
    def requires(self) -> frozenset[str]: ...


def unmet(requires: Iterable[str], available: Iterable[str]) -> str | None:
    """Why something that requires this is not applicable, in a few words; None: it is."""
    have = set(available)
    missing = sorted(each for each in set(requires) if not have.intersection(each.split(OR)))
    if not missing:
        return None
    system = [_prose(name) for name in missing if name not in OBSERVATIONS]
    run = [_prose(name) for name in missing if name in OBSERVATIONS]
    said = [f"the system has no {', '.join(system)}"] if system else []
    if run:
        said.append(f"the run has no {', '.join(run)}")
    return "; ".join(said)


def _prose(name: str) -> str:
    if OR in name:
        return " or ".join(map(_prose, name.split(OR)))
    if name.startswith(_DISK):
        return f"{name.removeprefix(_DISK)} on its nodes' disks"
    if name.startswith(_EVIDENCE):
        return f"evidence of kind {name.removeprefix(_EVIDENCE)}"
    return CAPABILITIES.get(name) or OBSERVATIONS.get(name) or name


@dataclass(frozen=True, slots=True)
class Applicable:
    """Which checkers run, sorted, and why the others do not."""

    checkers: Sequence[str]
    not_applicable: Mapping[str, str]


def applicable(checkers: Mapping[str, Needs], available: Iterable[str]) -> Applicable:
    """Each checker runs, or has the reason why not.

    `available`: the system's capabilities, what the run's workloads provide, and `faults`.
    """
    have = frozenset(available)
    reasons = {name: unmet(checkers[name].requires, have) for name in sorted(checkers)}
    return Applicable(
        [name for name, reason in reasons.items() if reason is None],
        {name: reason for name, reason in reasons.items() if reason is not None},
    )
