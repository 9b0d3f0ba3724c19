"""What holds at every offset of the committed metadata log (D.23): one fold over it.

Each change is held against the state below it. What takes several - fencing a broker and moving
what it leads, deleting a topic, creating one with its partitions - has to be contiguous and
complete, so it is judged at the first change that is no part of it. Where systems and their
versions differ, they say what holds (`LogRules`). Where it is known how nodes make the digests of
their states (`ImageForm`), those have to be the replay's.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final, TypeAlias

from checkers.folds.decisions.shutting_down import ShuttingDown, shutdowns_of
from checkers.folds.isr.eligible import Eligibility
from checkers.folds.metadata_log.committed_log import CommittedLog, known_log
from checkers.folds.metadata_log.disk_logs import DISK_KINDS
from checkers.folds.replayed.log_rules import Rules
from checkers.folds.replayed.registering import held, registers_again, wrong_registration
from checkers.folds.replayed.replay import Partition, Replay, name_of
from checkers.folds.replayed.state_digests import State, states_told, wrong_digests
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    NO_LEADER,
    TOPIC_RESOURCE,
    BrokerFenced,
    BrokerLeaving,
    BrokerRegistered,
    BrokerUnfenced,
    BrokerUnregistered,
    Change,
    ConfigSet,
    EligibleForgotten,
    PartitionChanged,
    PartitionCreated,
    PartitionState,
    TopicCreated,
    TopicDeletionBegun,
    TopicRemoved,
    VotersNamed,
)
from framework.evidence.kinds import Evidence, either_of
from framework.evidence.quorum import ImageDigest, ImageShown
from framework.evidence.requests import Decided
from framework.evidence.run_events import RunEvents, unreported
from framework.evidence.systems import ImageForm, LogRule, LogRules
from framework.plugins.checker import DISKS, EVENTS, Clause, Count, Finding
from framework.verdict import Verdict

_WITH_A_TOPIC: Final = (ConfigSet, EligibleForgotten, PartitionCreated)
"""What may follow the record that creates one."""
Found: TypeAlias = tuple[str, tuple[Evidence, ...]]
"""What is wrong with a change, and what else shows it."""


ONE_LOG: Final = Clause(
    name="one-log",
    says="All nodes apply one log, whose epochs never fall",
    compares="records beside the one before",
    floor=10,
    because="the beginning of an empty cluster's log is as long",
    sources=(DISKS, EVENTS),
)
BROKERS: Final = Clause(
    name="brokers",
    says="Brokers are registered, fenced, unfenced and unregistered in the order and with the "
    "epochs of their lives; one that is unregistered leads nothing, and is in no ISR of others",
    compares="records of brokers held against the state below them",
    floor=2,
    because="a cluster that serves anybody has unfenced more than one broker",
    sources=(DISKS, EVENTS),
)
TOPICS: Final = Clause(
    name="topics",
    says="Topics come with names and ids that are free, and what is configured or removed is there",
    compares="records of topics held against the state below them",
    floor=2,
    because="the first topic meets no other",
    sources=(DISKS, EVENTS),
)
PARTITIONS: Final = Clause(
    name="partitions",
    says="Versions and leader epochs of partitions count up; ISRs are replicas in service, and "
    "have the leader among them",
    compares="records of partitions held against the state below them",
    floor=2,
    because="the first partition is made in one way, and changed in others",
    sources=(DISKS, EVENTS),
    blind="who asked for a change: isr-linearizability has that",
)
ELIGIBLE: Final = Clause(
    name="eligible-leaders",
    says="Who left an ISR that is too small is eligible to lead until his next process registers, "
    "and nobody else is (KIP-966)",
    compares="records of partitions that have, had or should have eligible leaders",
    floor=2,
    because="one that leaves, and what becomes of him",
    sources=(DISKS, EVENTS),
    blind="an ISR of which the log does not say how large it has to be",
)
WHOLE: Final = Clause(
    name="whole",
    says="What takes several records is contiguous and complete: fencing a broker, or letting it "
    "go, deleting or creating a topic, all that one decision makes",
    compares="groups of records",
    floor=2,
    because="every topic is such a group; one may be whole by chance",
    sources=(DISKS, EVENTS),
    blind="the last group, of which more may have followed",
)
DIGESTS: Final = Clause(
    name="digests",
    says="The states that nodes have, and show, are what the records below them make",
    compares="digests beside that of the replay",
    floor=2,
    because="the digest of an empty state is easily right",
    sources=(DISKS, EVENTS),
    blind="what the system's form of a digest leaves out",
)
_ALL: Final = (ONE_LOG, BROKERS, TOPICS, PARTITIONS, ELIGIBLE, WHOLE, DIGESTS)


def replay_invariants(events: RunEvents) -> Outcome:
    log = known_log(events)
    decisions = [each for each in events.of(Decided) if each.accepted]
    rules = Rules.of(events)
    fold = Fold(shutdowns_of(decisions), rules)
    for change in log.records:
        fold.feed(change)
    conflicts = [replace(each, clause=ONE_LOG.name) for each in log.conflicts]
    groups, found = _whole(decisions, log)
    findings = [*conflicts, *fold.findings, *found]
    fold.compared[WHOLE.name] += groups
    digests: list[State] = []
    if form := next(events.of(ImageForm), None):
        digests += states_told(events)
        compared, found = wrong_digests(digests, log, form)
        findings += (replace(each, clause=DIGESTS.name) for each in found)
        fold.compared[DIGESTS.name] += compared
    figures = {"records": len(log.records), "decisions": len(decisions), "digests": len(digests)}
    counts = _counts(fold.compared, form, events)
    counts[ELIGIBLE.name] = _eligible(fold, rules)
    outcome = weighed(counts, findings, figures)
    if log.gap is not None and not findings:
        note = f"nobody tells of the record at offset {log.gap}: not replayed beyond it"
        return replace(outcome, verdict=Verdict.UNKNOWN, note=note)
    return outcome


def _counts(
    compared: Mapping[str, int], form: ImageForm | None, events: RunEvents
) -> dict[str, Count]:
    counts: dict[str, Count] = {each.name: compared[each.name] for each in _ALL}
    if not any(each.ok for each in events.operations):
        for clause in (TOPICS, PARTITIONS, WHOLE):
            counts[clause.name] = compared[clause.name] or "no client was acknowledged a topic"
    elif len({str(each.key) for each in events.operations}) == 1 and compared[TOPICS.name] == 1:
        counts[TOPICS.name] = "clients asked for one topic alone"
    if form is None:
        counts[DIGESTS.name] = "the system does not say how its nodes make digests"
    elif not compared[DIGESTS.name] and (why := unreported(events.plan)):
        counts[DIGESTS.name] = why
    return counts


# --- the fold -----------------------------------------------------------------------------


@dataclass(slots=True)
class Fold:
    """Feed it the log in order. The open ends: `fenced`, a broker just fenced whose leaderships
    have to move now; `leaving`, one that is about to end, likewise; `dropped`, brokers that lost
    their eligibility, by the changes that say so, whose next process has to register now;
    `deleting`, a topic to be removed by the next change; `created`, a topic that has no partition
    yet. The log may end in the middle of one: that says nothing. `changing`: the offset from which
    on there are changes of partitions alone, or below them of voters."""

    shutdowns: Mapping[int, list[ShuttingDown]] = field(default_factory=dict)
    rules: Rules = field(default_factory=Rules)
    state: Replay = field(default_factory=Replay)
    findings: list[Finding] = field(default_factory=list)
    compared: Counter[str] = field(default_factory=Counter)
    """By clause."""
    last: Change | None = None
    changing: int = 0
    fenced: BrokerFenced | None = None
    leaving: BrokerLeaving | None = None
    dropped: dict[int, PartitionState] = field(default_factory=dict)
    deleting: TopicDeletionBegun | None = None
    created: TopicCreated | None = None

    def feed(self, change: Change) -> None:
        self._close(change)
        if self.last is not None:
            self.compared[ONE_LOG.name] += 1
            if change.epoch < self.last.epoch:
                self._found(ONE_LOG, change, f"is of epoch {change.epoch}, below the one before it")
        if (asked := _CHECKS.get(type(change))) is not None:
            clause, check = asked
            self.compared[clause.name] += 1
            for what, witnesses in check(self, change):
                self._found(clause, change, what, *witnesses)
        if isinstance(change, BrokerFenced | BrokerRegistered):
            self._moved(change)
        elif isinstance(change, PartitionState):
            self._eligibility(change)
        if not _goes_on(self.last, change):
            self.changing = change.offset
        self.state.feed(change)
        self._open(change)
        self.last = change

    def _holds(self, rule: LogRule) -> bool:
        """Of a record that comes next."""
        return self.rules.hold(rule, self.state.features)

    def _found(self, clause: Clause, change: Change, what: str, *witnesses: Evidence) -> None:
        message = f"the {change.kind} at offset {change.offset} {what}"
        witnessed = [*witnesses, change]
        self.findings.append(finding(message, evidence=witnessed, clause=clause.name))

    def _open(self, change: Change) -> None:
        match change:
            case BrokerFenced() if self._holds("moved-after-fencing"):
                self.fenced = change
            case BrokerLeaving():
                self.leaving = change
            case TopicDeletionBegun():
                self.deleting = change
            case TopicCreated():
                self.created = change
            case PartitionCreated():
                self.compared[WHOLE.name] += self.created is not None
                self.created = None

    def _close(self, change: Change) -> None:
        if self.fenced is not None and not isinstance(change, PartitionChanged):
            self.compared[WHOLE.name] += 1
            broker = self.fenced.broker_id
            left = [key for key, each in self.state.partitions.items() if each.leader == broker]
            if left:
                self._found(
                    WHOLE,
                    self.fenced,
                    f"fenced broker {broker}, which still leads {name_of(min(left))} at offset "
                    f"{change.offset}",
                    change,
                )
            self.fenced = None
        if not isinstance(change, PartitionChanged):
            self._close_leaving(change)
            self._close_dropped(change)
        if self.deleting is not None:
            self.compared[WHOLE.name] += 1
            topic_id = self.deleting.topic_id
            if not isinstance(change, TopicRemoved) or change.topic_id != topic_id:
                self._found(
                    WHOLE, self.deleting, f"deletes topic {topic_id}, and no removal follows"
                )
            self.deleting = None
        if self.created is not None and not isinstance(change, _WITH_A_TOPIC):
            topic_id = self.created.topic_id
            self._found(WHOLE, self.created, f"creates topic {topic_id}, and no partition follows")
            self.created = None

    def _close_leaving(self, change: Change) -> None:
        """Another leader may have come in between: he decides anew."""
        if self.leaving is not None and self.leaving.epoch == change.epoch:
            broker = self.leaving.broker_id
            self.compared[WHOLE.name] += 1
            if still := self._held(broker):
                what = f"lets broker {broker} go, which {still} at offset {change.offset}"
                self._found(WHOLE, self.leaving, what, change)
        self.leaving = None

    def _close_dropped(self, change: Change) -> None:
        for broker, dropping in self.dropped.items():
            if dropping.epoch == change.epoch and not self._comes_anew(broker, change):
                what = f"makes broker {broker} no eligible leader any more of"
                what = f"{what} {name_of(dropping.key)}, and no process of it registers then"
                self._found(ELIGIBLE, dropping, what, change)
        self.dropped = {}

    def _comes_anew(self, broker_id: int, change: Change) -> bool:
        before = self.state.brokers.get(broker_id)
        return (
            isinstance(change, BrokerRegistered)
            and change.broker_id == broker_id
            and not registers_again(before, change)
        )

    # --- brokers --------------------------------------------------------------------------

    def _moved(self, change: BrokerFenced | BrokerRegistered) -> None:
        """Where that comes before."""
        broker, what = change.broker_id, "registers"
        if isinstance(change, BrokerFenced):
            asked, what = self._holds("moved-before-fencing"), "fences"
        else:
            before = self.state.brokers.get(broker)
            asked = before is not None and not registers_again(before, change)
            asked = asked and self._holds("moved-before-registering")
        if asked:
            self.compared[WHOLE.name] += 1
            if still := self._held(broker):
                self._found(WHOLE, change, f"{what} broker {broker}, which still {still}")

    def _held(self, broker_id: int) -> str:
        return held(self.state, broker_id, empty=self._holds("eligible-leaders"))

    def _registration(self, change: BrokerRegistered) -> Iterator[Found]:
        for what in wrong_registration(self.state, change, self._holds, self._begun(change)):
            yield what, ()

    def _begun(self, change: BrokerRegistered) -> int:
        changing = isinstance(self.last, PartitionChanged | VotersNamed)
        return self.changing if changing else change.offset

    def _unregistration(self, change: BrokerUnregistered) -> Iterator[Found]:
        yield from self._fencing(change)
        if still := self._held(change.broker_id):
            yield f"unregisters broker {change.broker_id}, which still {still}", ()

    def _fencing(
        self, change: BrokerFenced | BrokerUnfenced | BrokerLeaving | BrokerUnregistered
    ) -> Iterator[Found]:
        broker_id, epoch = change.broker_id, change.broker_epoch
        before = self.state.brokers.get(broker_id)
        if before is None:
            yield f"is of broker {broker_id}, which is not registered", ()
        elif before.epoch != epoch:
            what = f"is of epoch {epoch} of broker {broker_id}, whose epoch is {before.epoch}"
            yield what, ()

    # --- topics ---------------------------------------------------------------------------

    def _topic(self, change: TopicCreated) -> Iterator[Found]:
        topic_id, name = change.topic_id, change.name
        if topic_id in self.state.topics:
            yield f"creates {name} with the id of {self.state.topics[topic_id].name}", ()
        elif name in self.state.names:
            yield f"creates {name}, a name that topic {self.state.names[name]} has", ()

    def _removal(self, change: TopicDeletionBegun | TopicRemoved) -> Iterator[Found]:
        yield from self._known(change.topic_id)

    def _known(self, topic_id: str) -> Iterator[Found]:
        if topic_id not in self.state.topics:
            yield f"is of topic {topic_id}, which does not exist", ()

    def _config(self, change: ConfigSet) -> Iterator[Found]:
        name = change.resource
        if not self._holds("configured-after-creation"):
            return
        if change.resource_type == TOPIC_RESOURCE and name not in self.state.names:
            yield f"configures topic {name}, which does not exist", ()

    # --- partitions -----------------------------------------------------------------------

    def _partition(self, change: PartitionCreated) -> Iterator[Found]:
        topic = self.state.topics.get(change.topic_id)
        if topic is None:
            yield from self._known(change.topic_id)
            return
        number = change.partition
        if (before := self.state.partitions.get(change.key)) is not None:
            yield from self._isr_change(change)
            if self._holds("replicas-change"):
                yield from self._come(change, before)
            else:
                yield from self._steps(change, before)
            return
        if number != topic.partitions:
            yield f"adds partition {number} of {topic.name}, which has {topic.partitions}", ()
        yield from self._members(change, None, set(change.replicas))

    def _isr_change(self, change: PartitionChanged | PartitionCreated) -> Iterator[Found]:
        key = change.key
        before = self.state.partitions.get(key)
        if before is None:
            yield f"is of partition {name_of(key)}, which does not exist", ()
            return
        if change.partition_epoch != before.version + 1:
            what = f"raises the version of {name_of(key)} from {before.version} to"
            yield f"{what} {change.partition_epoch}", ()
        replicas = set(_replicas(change, before))
        if change.leader_epoch - before.leader_epoch not in self._raises(change, before, replicas):
            yield (
                f"gives {name_of(key)}, led by {before.leader} in leader epoch "
                f"{before.leader_epoch}, to {change.leader} in leader epoch "
                f"{change.leader_epoch}",
                (),
            )
        yield from self._members(change, before, replicas)

    def _come(self, change: PartitionCreated, before: Partition) -> Iterator[Found]:
        """Whoever comes has to catch up first."""
        if early := set(change.isr) & (set(change.replicas) - set(before.replicas)):
            what = f"moves {name_of(change.key)} to {sorted(early)}, and has them"
            yield f"{what} in sync in the same step", ()

    def _steps(self, change: PartitionCreated, before: Partition) -> Iterator[Found]:
        """Other replicas (KIP-455). Those that come are added first; those that go, go once all
        that came are in sync, but for those that are not to come after all."""
        was, after = set(before.replicas), set[int](change.replicas)
        adding, gone, what = set(change.adding), was - after, f"moves {name_of(change.key)} to"
        if not after - was <= adding:
            yield f"{what} {sorted(after - was)}, which were not replicas, and adds them not", ()
        if (adding or change.removing) and not gone <= set(before.adding):
            yield f"{what} others without {sorted(gone)} before those that come are in sync", ()
        late = set(before.adding) - set(change.isr)
        if not adding and gone == set(before.removing) and late:
            yield f"{what} {sorted(after)}, of which {sorted(late)} are not in sync", ()
        if not (adding | set(change.removing)) <= after:
            yield f"{what} and from others than its replicas {sorted(after)}", ()

    def _raises(
        self, change: PartitionState, before: Partition, replicas: Collection[int]
    ) -> tuple[int, ...]:
        """By how much the leader epoch may rise."""
        if change.leader != before.leader or not set(before.replicas) <= set(replicas):
            return (1,)
        if self._holds("shrinking-raises-leader-epoch"):
            if not set(before.isr) <= set(change.isr):
                return (1,)
            # The last member may be asked to go, and stay: where nobody leads, that counts.
            return (0, 1) if change.leader == NO_LEADER else (0,)
        return (0,)

    def _members(
        self, change: PartitionState, before: Partition | None, replicas: set[int]
    ) -> Iterator[Found]:
        key, isr, leader = change.key, set(change.isr), change.leader
        yield from _named_twice(change)
        if not isr and not self._holds("eligible-leaders"):
            yield f"leaves {name_of(key)} without an ISR", ()
        if not isr <= replicas:
            yield (
                f"gives {name_of(key)} the ISR {sorted(isr)} of replicas {sorted(replicas)}",
                (),
            )
        if leader not in isr | {NO_LEADER}:
            yield f"gives {name_of(key)} to {leader}, not of its ISR {sorted(isr)}", ()
        for member in sorted(isr - set(before.isr if before else ())):
            yield from self._eligible(change, member, f"adds broker {member} to {name_of(key)}")
        if leader != NO_LEADER and (before is None or leader != before.leader):
            yield from self._eligible(change, leader, f"gives {name_of(key)} to broker {leader}")

    def _eligible(self, change: Change, broker_id: int, what: str) -> Iterator[Found]:
        broker = self.state.brokers.get(broker_id)
        if broker is None:
            yield f"{what}, which is not registered", ()
        elif broker.fenced:
            yield f"{what}, which is fenced", ()
        elif broker.leaving:
            yield f"{what}, which is shutting down", ()
        else:
            offset, epoch = change.offset, change.epoch
            for each in self.shutdowns.get(broker_id, ()):
                under_way = each.begin <= offset and (each.end is None or offset < each.end)
                if under_way and (each.epoch, each.broker_epoch) == (epoch, broker.epoch):
                    yield f"{what}, which is shutting down", (each.decision,)

    def _eligibility(self, change: PartitionState) -> None:
        before = self.state.partitions.get(change.key)
        if change.eligible is None:
            return
        if not self._holds("eligible-leaders"):
            if change.eligible:
                what = f"gives {name_of(change.key)} the eligible leaders {list(change.eligible)}"
                self._found(ELIGIBLE, change, f"{what}, which the log does not keep")
            return
        found = Eligibility.of(self.state, change, before, _replicas(change, before))
        self.compared[ELIGIBLE.name] += found.says_something
        for what in found.wrong():
            self._found(ELIGIBLE, change, f"gives {name_of(change.key)} {what}")
        self.dropped |= dict.fromkeys(found.dropped(), change)


_CHECKS: Final[Mapping[type[Change], tuple[Clause, Callable[[Fold, Any], Iterator[Found]]]]] = {
    BrokerRegistered: (BROKERS, Fold._registration),
    BrokerFenced: (BROKERS, Fold._fencing),
    BrokerUnfenced: (BROKERS, Fold._fencing),
    BrokerLeaving: (BROKERS, Fold._fencing),
    BrokerUnregistered: (BROKERS, Fold._unregistration),
    TopicCreated: (TOPICS, Fold._topic),
    TopicDeletionBegun: (TOPICS, Fold._removal),
    TopicRemoved: (TOPICS, Fold._removal),
    ConfigSet: (TOPICS, Fold._config),
    PartitionCreated: (PARTITIONS, Fold._partition),
    PartitionChanged: (PARTITIONS, Fold._isr_change),
}


def _replicas(change: PartitionState, before: Partition | None) -> tuple[int, ...]:
    """A change of a partition's leader or ISR leaves them."""
    if isinstance(change, PartitionCreated):
        return change.replicas
    return before.replicas if before is not None else ()


def _goes_on(last: Change | None, change: Change) -> bool:
    """With changes of partitions, or of voters, and partitions behind those: what the quorum itself
    appends may come between the choice of an offset for what a controller appends, and that."""
    if isinstance(change, PartitionChanged):
        return isinstance(last, PartitionChanged | VotersNamed)
    return isinstance(change, VotersNamed) and isinstance(last, VotersNamed)


def _named_twice(change: PartitionState) -> Iterator[Found]:
    """What names a broker twice has fewer copies than it seems to have."""
    gives = f"gives {name_of(change.key)}"
    if len(set(change.isr)) < len(change.isr):
        yield f"{gives} the ISR {list(change.isr)}, which names one twice", ()
    if not isinstance(change, PartitionCreated):
        return
    if len(set(change.replicas)) < len(change.replicas):
        yield f"{gives} the replicas {list(change.replicas)}, which name one twice", ()
    if not change.replicas:
        yield f"makes {name_of(change.key)} of no replicas", ()


# --- counts and decisions -----------------------------------------------------------------


def _eligible(fold: Fold, rules: Rules) -> Count:
    """By the log: ISRs that were never too small are seen in it, whoever tells."""
    if not rules.may_hold("eligible-leaders"):
        return "the system has no eligible leaders beside ISRs"
    compared = fold.compared[ELIGIBLE.name]
    if fold.compared[PARTITIONS.name] and compared < ELIGIBLE.floor:
        return f"{compared} records left an ISR too small, or had eligible leaders"
    return compared


def _whole(decisions: Iterable[Decided], log: CommittedLog) -> tuple[int, list[Finding]]:
    """The records of one decision are contiguous, and all committed or none. Also how many that
    could have been otherwise."""
    compared, findings = 0, []
    for decision in decisions:
        offsets = sorted(decision.records)
        what = f"{decision.node}'s decision on {decision.api} made the records {offsets}"
        if any(after != before + 1 for before, after in pairwise(offsets)):
            message = f"{what}, which are not contiguous"
            findings.append(finding(message, evidence=[decision], clause=WHOLE.name))
            continue
        held = [log.at(offset) for offset in offsets if offset < len(log.records)]
        if len(held) < len(offsets):
            continue
        own = [each for each in held if each is not None and each.epoch == decision.epoch]
        compared += len(offsets) > 1
        if 0 < len(own) < len(offsets):
            message = f"{what}, of which only {[each.offset for each in own]} were committed"
            findings.append(finding(message, evidence=[decision, *own], clause=WHOLE.name))
    return compared, findings


class ReplayInvariants(RunChecker):
    name = "replay-invariants"
    summary = (
        "Replayed record by record, the metadata log keeps every invariant of brokers, "
        "topics, partitions and ISRs, and nodes' states are what it makes"
    )
    requires = frozenset({"strict-metadata-log|metadata-log-rules"}) | either_of(Change)
    clauses = _ALL
    check_run = RunCheck(
        replay_invariants,
        evidence=(Change, Decided, ImageForm, ImageDigest, ImageShown, LogRules),
        disk=DISK_KINDS,
        fs=("create",),
    )
