"""What holds at every offset of the committed metadata log (D.23): one fold over it.

Each change is held against the state below it. What takes several - fencing a broker and moving
what it leads, deleting a topic, creating one with its partitions - has to be contiguous and
complete, so it is judged at the first change that is no part of it. Where it is known how nodes
make the digests of their states (`ImageForm`), those have to be the replay's.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from checkers.folds.committed_log import CommittedLog, committed_log
from checkers.folds.metadata_digest import Digest
from checkers.folds.replay import Key, Partition, Replay, states
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import (
    NO_LEADER,
    TOPIC_RESOURCE,
    BrokerFenced,
    BrokerRegistered,
    BrokerUnfenced,
    Change,
    ConfigSet,
    PartitionChanged,
    PartitionCreated,
    PartitionState,
    TopicCreated,
    TopicDeletionBegun,
    TopicRemoved,
)
from framework.evidence.kinds import (
    Decided,
    Evidence,
    ImageDigest,
    ImageForm,
    ImageShown,
    evidence_of,
)
from framework.evidence.run_events import RunEvents
from framework.plugins.checker import Finding
from framework.verdict import Verdict

Found: TypeAlias = tuple[str, tuple[Evidence, ...]]
"""What is wrong with a change, and what else shows it."""


def replay_invariants(events: RunEvents) -> Outcome:
    log = committed_log(events.of(Change))
    decisions = [each for each in events.of(Decided) if each.accepted]
    fold = Fold(_shutdowns(decisions))
    for change in log.records:
        fold.feed(change)
    findings = [*log.conflicts, *fold.findings, *_whole(decisions, log)]
    digests: list[ImageDigest | ImageShown] = []
    if form := next(events.of(ImageForm), None):
        digests += events.of(ImageDigest, ImageShown)
        findings += _digests(digests, log, form)
    figures = {"records": len(log.records), "decisions": len(decisions), "digests": len(digests)}
    if log.gap is not None and not findings:
        note = f"nobody tells of the record at offset {log.gap}: not replayed beyond it"
        return Outcome(verdict=Verdict.UNKNOWN, seen=len(log.records), figures=figures, note=note)
    return concluded(len(log.records), findings, figures)


# --- controlled shutdowns -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShuttingDown:
    """In leader epoch `epoch`, from offset `begin` up to `end`, a controller that had accepted
    the broker's wish to shut down under `broker_epoch`, and had not been told otherwise."""

    epoch: int
    broker_epoch: int | None
    begin: int
    end: int | None
    decision: Decided


def _shutdowns(decisions: Iterable[Decided]) -> dict[int, list[ShuttingDown]]:
    """By broker id. The wish is soft state of a controller: it ends with its epoch."""
    wishes: dict[tuple[int, int], list[Decided]] = defaultdict(list)
    for each in decisions:
        if each.target is not None and each.broker_id is not None:
            wishes[each.broker_id, each.epoch].append(each)
    found: dict[int, list[ShuttingDown]] = defaultdict(list)
    for (broker, _), own in sorted(wishes.items(), key=lambda item: item[0]):
        own.sort(key=lambda each: (each.as_of, each.seq))
        begun: Decided | None = None
        for each in own:
            if each.target == "leaving":
                begun = begun or each
            elif begun is not None:
                found[broker].append(_shutting_down(begun, each.as_of))
                begun = None
        if begun is not None:
            found[broker].append(_shutting_down(begun, None))
    return found


def _shutting_down(begun: Decided, end: int | None) -> ShuttingDown:
    return ShuttingDown(begun.epoch, begun.broker_epoch, begun.as_of, end, begun)


# --- the fold -----------------------------------------------------------------------------


@dataclass(slots=True)
class Fold:
    """Feed it the log in order. The open ends: `fenced`, a broker just fenced whose leaderships
    have to move now; `deleting`, a topic to be removed by the next change; `created`, a topic
    that has no partition yet. The log may end in the middle of one: that says nothing."""

    shutdowns: Mapping[int, list[ShuttingDown]] = field(default_factory=dict)
    state: Replay = field(default_factory=Replay)
    findings: list[Finding] = field(default_factory=list)
    last: Change | None = None
    fenced: BrokerFenced | None = None
    deleting: TopicDeletionBegun | None = None
    created: TopicCreated | None = None

    def feed(self, change: Change) -> None:
        self._close(change)
        if self.last is not None and change.epoch < self.last.epoch:
            self._found(change, f"is of epoch {change.epoch}, below the one before it")
        check = _CHECKS.get(type(change))
        if check is not None:
            for what, witnesses in check(self, change):
                self._found(change, what, *witnesses)
        self.state.feed(change)
        self._open(change)
        self.last = change

    def _found(self, change: Change, what: str, *witnesses: Evidence) -> None:
        where = f"the {change.kind} at offset {change.offset}"
        self.findings.append(finding(f"{where} {what}", evidence=[*witnesses, change]))

    def _open(self, change: Change) -> None:
        match change:
            case BrokerFenced():
                self.fenced = change
            case TopicDeletionBegun():
                self.deleting = change
            case TopicCreated():
                self.created = change
            case PartitionCreated():
                self.created = None

    def _close(self, change: Change) -> None:
        if self.fenced is not None and not isinstance(change, PartitionChanged):
            broker = self.fenced.broker_id
            left = [key for key, each in self.state.partitions.items() if each.leader == broker]
            if left:
                self._found(
                    self.fenced,
                    f"fenced broker {broker}, which still leads {_named(min(left))} at offset "
                    f"{change.offset}",
                    change,
                )
            self.fenced = None
        if self.deleting is not None:
            topic_id = self.deleting.topic_id
            if not isinstance(change, TopicRemoved) or change.topic_id != topic_id:
                self._found(self.deleting, f"deletes topic {topic_id}, and no removal follows")
            self.deleting = None
        if self.created is not None and not isinstance(change, ConfigSet | PartitionCreated):
            topic_id = self.created.topic_id
            self._found(self.created, f"creates topic {topic_id}, and no partition follows")
            self.created = None

    # --- brokers --------------------------------------------------------------------------

    def _registration(self, change: BrokerRegistered) -> Iterator[Found]:
        broker_id, epoch = change.broker_id, change.broker_epoch
        before = self.state.brokers.get(broker_id)
        if before is None:
            return
        if epoch <= before.epoch:
            yield f"registers broker {broker_id} with epoch {epoch} after {before.epoch}", ()
        if not before.fenced:
            yield f"registers broker {broker_id} anew, whose former life is not fenced", ()

    def _fencing(self, change: BrokerFenced | BrokerUnfenced) -> Iterator[Found]:
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
        if change.resource_type == TOPIC_RESOURCE and name not in self.state.names:
            yield f"configures topic {name}, which does not exist", ()

    # --- partitions -----------------------------------------------------------------------

    def _partition(self, change: PartitionCreated) -> Iterator[Found]:
        topic = self.state.topics.get(change.topic_id)
        if topic is None:
            yield from self._known(change.topic_id)
            return
        number = change.partition
        if number != topic.partitions:
            yield f"adds partition {number} of {topic.name}, which has {topic.partitions}", ()
        yield from self._members(change, None, set(change.replicas))

    def _isr_change(self, change: PartitionChanged) -> Iterator[Found]:
        key = change.key
        before = self.state.partitions.get(key)
        if before is None:
            yield f"is of partition {_named(key)}, which does not exist", ()
            return
        if change.partition_epoch != before.version + 1:
            what = f"raises the version of {_named(key)} from {before.version} to"
            yield f"{what} {change.partition_epoch}", ()
        led = before.leader_epoch + (change.leader != before.leader)
        if change.leader_epoch != led:
            yield (
                f"gives {_named(key)}, led by {before.leader} in leader epoch "
                f"{before.leader_epoch}, to {change.leader} in leader epoch "
                f"{change.leader_epoch}",
                (),
            )
        yield from self._members(change, before, set(before.replicas))

    def _members(
        self, change: PartitionState, before: Partition | None, replicas: set[int]
    ) -> Iterator[Found]:
        key, isr, leader = change.key, set(change.isr), change.leader
        if not isr:
            yield f"leaves {_named(key)} without an ISR", ()
        if not isr <= replicas:
            yield (
                f"gives {_named(key)} the ISR {sorted(isr)} of replicas {sorted(replicas)}",
                (),
            )
        if leader not in isr | {NO_LEADER}:
            yield f"gives {_named(key)} to {leader}, not of its ISR {sorted(isr)}", ()
        for member in sorted(isr - set(before.isr if before else ())):
            yield from self._eligible(change, member, f"adds broker {member} to {_named(key)}")
        if leader != NO_LEADER and (before is None or leader != before.leader):
            yield from self._eligible(change, leader, f"gives {_named(key)} to broker {leader}")

    def _eligible(self, change: Change, broker_id: int, what: str) -> Iterator[Found]:
        broker = self.state.brokers.get(broker_id)
        if broker is None:
            yield f"{what}, which is not registered", ()
        elif broker.fenced:
            yield f"{what}, which is fenced", ()
        else:
            offset, epoch = change.offset, change.epoch
            for each in self.shutdowns.get(broker_id, ()):
                under_way = each.begin <= offset and (each.end is None or offset < each.end)
                if under_way and (each.epoch, each.broker_epoch) == (epoch, broker.epoch):
                    yield f"{what}, which is shutting down", (each.decision,)
                    return


_CHECKS: Final[Mapping[type[Change], Callable[[Fold, Any], Iterator[Found]]]] = {
    BrokerRegistered: Fold._registration,
    BrokerFenced: Fold._fencing,
    BrokerUnfenced: Fold._fencing,
    TopicCreated: Fold._topic,
    TopicDeletionBegun: Fold._removal,
    TopicRemoved: Fold._removal,
    ConfigSet: Fold._config,
    PartitionCreated: Fold._partition,
    PartitionChanged: Fold._isr_change,
}


def _named(key: Key) -> str:
    return f"{key[0]}/{key[1]}"


# --- decisions and digests ----------------------------------------------------------------


def _whole(decisions: Iterable[Decided], log: CommittedLog) -> Iterator[Finding]:
    """The records of one decision are contiguous, and all committed or none."""
    for decision in decisions:
        offsets = sorted(decision.records)
        if not offsets:
            continue
        what = f"{decision.node}'s decision on {decision.api} made the records {offsets}"
        if offsets != list(range(offsets[0], offsets[-1] + 1)):
            yield finding(f"{what}, which are not contiguous", evidence=[decision])
            continue
        held = [log.at(offset) for offset in offsets if offset < len(log.records)]
        if len(held) < len(offsets):
            continue
        own = [each for each in held if each is not None and each.epoch == decision.epoch]
        if 0 < len(own) < len(offsets):
            yield finding(
                f"{what}, of which only {[each.offset for each in own]} were committed",
                evidence=[decision, *own],
            )


def _digests(
    told: Iterable[ImageDigest | ImageShown], log: CommittedLog, form: ImageForm
) -> Iterator[Finding]:
    """A node's state below an offset is what the records below it make: what a removed topic
    was configured to is gone, and nothing that is in no record is there."""
    by_offset: dict[int, dict[str, ImageDigest | ImageShown]] = defaultdict(dict)
    for each in told:
        by_offset[each.offset].setdefault(each.digest, each)
    digest = Digest(form)
    for offset, state in states(log, by_offset, form):
        right = digest.of(state)
        for wrong, each in sorted(by_offset[offset].items()):
            if wrong != right:
                yield finding(
                    f"{each.node}'s state below offset {offset} has digest {wrong[:16]}; the "
                    f"replay of the log has {right[:16]}",
                    evidence=[each],
                )


class ReplayInvariants(RunChecker):
    name = "replay-invariants"
    summary = (
        "Replayed record by record, the metadata log keeps every invariant of brokers, "
        "topics, partitions and ISRs, and nodes' states are what it makes"
    )
    requires = frozenset({"strict-metadata-log"}) | evidence_of(Change, Decided)
    check_run = RunCheck(
        replay_invariants, evidence=(Change, Decided, ImageForm, ImageDigest, ImageShown)
    )
