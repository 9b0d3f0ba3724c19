"""Zombie requests have no effect (D.10; KIP-380, KIP-497).

Once a newer generation - broker epoch of a broker, leader epoch or version of a partition - has
been acknowledged, or stands in the committed log, a request that carries an older one is refused.
So is one for an ISR with a member by an older broker epoch (KIP-903), or out of service (KIP-841).
Judged three ways: by what clients were answered, by what controllers had applied when they
decided, and by leases.

What stands in the committed log the voters' disks say as well, and when it did, who was shown the
log beyond it (`folds/metadata_log/commit_dates.py`). A controller that was deposed without knowing
it may know less; so by disks only those are accused that cannot have led before that record was
written.
"""

from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from checkers.folds.decisions.decisions import Kind, begun_by, decided_on_stale, name_of
from checkers.folds.fencing.fenced_by_log import served_while_fenced
from checkers.folds.fencing.leases import FS as ASKED
from checkers.folds.fencing.leases import served_without_lease, serving
from checkers.folds.fencing.served_cut_off import served_cut_off
from checkers.folds.fencing.unfit_members import Unfit, UnfitMembers
from checkers.folds.history.operations import is_zombie
from checkers.folds.history.values import cluster_view, conditional
from checkers.folds.metadata_log.commit_dates import CommitDates, commit_dates
from checkers.folds.metadata_log.disk_logs import DISK_KINDS, CommittedOnDisks, committed_on_disks
from checkers.folds.metadata_log.shown_ends import SHOWS, ShownEnd
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.brokers import BrokerStateChanged, HeartbeatAnswered, LeaseGranted
from framework.evidence.changes import Change, LeaderAnnounced
from framework.evidence.clocks import latest_ns
from framework.evidence.ids import ReplicaId
from framework.evidence.kinds import either_of, evidence_of
from framework.evidence.processes import Stalled
from framework.evidence.requests import Decided, IsrDecided, Served
from framework.evidence.run_events import RunEvents, from_no_disk, node_ids, unreported
from framework.history.pairing import Operation
from framework.plugins.capabilities import BROKER_LEASES, OR
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding
from framework.plugins.outcomes import OF_NO_NODE

STARTS: Final = ("start", "restart", "bounce", "replace")
"""Operations that end with a broker's process that is active, and say under which epoch."""
FS: Final = ("heartbeat", "alter-isr", *SHOWS, *ASKED, *STARTS)
TOPICS: Final = "describe-topics"
"""What the observer asks brokers for: their metadata."""
NO_EPOCH: Final = -1
NOBODY: Final = ReplicaId(-1)
FORMER_LIFE, OUT_OF_SERVICE = "former lives", "brokers out of service"
UNFIT_KINDS: Final = (FORMER_LIFE, OUT_OF_SERVICE)
"""What may be wrong with a member."""
OCCASIONS: Final = frozenset({OR.join(("zombie-requests", BROKER_LEASES, *evidence_of(Decided)))})
"""A run has requests that carry a generation, brokers that may serve without a lease, or nodes that
tell of their decisions."""

REFUSED: Final = Clause(
    name="refused",
    says="A request is refused that carries an older broker epoch, leader epoch or version than "
    "was acknowledged, or stood in the committed log, before it began",
    compares="answers of nodes to requests that carried something older, or came from a zombie",
    floor=2,
    because="one may be refused for another reason",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="a request of a broker that no client plays; where disks alone show what was newer, one "
    "to a node that had led before, or that began before anybody was shown the log so far; what a "
    "request did all the same that was refused, or not answered (effects-once, isr-chain); why it "
    "was refused; generations of processes that never told theirs",
)
MEMBERS: Final = Clause(
    name="fit-members",
    says="An ISR change is refused that names a member by an older broker epoch than was "
    "acknowledged, or stood in the committed log, before it began, or one that had registered and "
    "never asked to be active, or was let go",
    compares="answers to ISR changes in which nothing but a member is known to be wrong: its "
    "epoch, or that it is out of service",
    floor=4,
    because="two of each, where clients sent two of each: one may be refused for another reason",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="a member that is fenced because it was silent, or is still on its way out: that only "
    "the log shows (isr-chain)",
)
DECIDED: Final = Clause(
    name="decided",
    says="No controller accepts a request that carries less than it had applied, or than stands "
    "below the records that it makes for it",
    compares="acceptances held against what the controller had applied",
    floor=2,
    because="as many as clients had requests accepted: each is a decision at least",
    sources=(EVENTS,),
    blind="a decision that a controller leaves out, where clients saw none of it",
)
LEASED: Final = Clause(
    name="leased",
    says="No broker serves a client without a lease, or after its end",
    compares="nodes that clients had answers from, and that tell what they served; where none "
    "tells, answers of brokers that the disks show to have been fenced, or the ledger to have been "
    "cut off, for longer than a lease",
    floor=2,
    because="all that answered a client: one that keeps silent may serve at any time",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="an answer that its broker leaves out, but to a client after it had been fenced for as "
    "long as a lease, and before one is shown that it was not yet in service again, or while a "
    "fault keeps it from every controller, after it must have been fenced",
)


@dataclass(frozen=True, slots=True)
class Generation:
    """A value of a counter that an operation carried, or was shown, or that a committed record
    began. `shown`: of a record on disks, who was shown that it had been committed. `member`: it is
    of a member of the ISR that a change asks for, not of who asks."""

    kind: Kind
    value: int
    by: Operation | Change
    shown: ShownEnd | None = None
    member: bool = False


def zombie_fencing(events: RunEvents) -> Outcome:
    reported = replace(events, evidence=from_no_disk(events.evidence))
    left = committed_on_disks(events)
    dates = commit_dates(events, left)
    clients = _clients(reported, _OnDisks.of(events, left, dates))
    decided, log_findings = decided_on_stale(reported)
    served, lease_findings = served_without_lease(reported)
    fenced, fenced_findings = served_while_fenced(reported, left, dates)
    cut_off, cut_off_findings = served_cut_off(reported)
    zombies = [each for each in events.operations if is_zombie(each)]
    figures: dict[str, float] = {
        "zombies": len(zombies),
        "zombies_refused": sum(each.failed for each in zombies),
        "zombies_indeterminate": sum(not each.ok and not each.failed for each in zombies),
        "zombies_current": clients.current,
        "decisions": decided,
        "serves": served,
    }
    codes = Counter(each.error_code or "?" for each in zombies if each.failed)
    figures |= {f"refused.{code}": count for code, count in sorted(codes.items())}
    why = unreported(events.plan)
    # What was current may be what only the log shows, and when, nobody tells.
    unproven = [] if why else clients.unproven
    findings = [
        *(replace(each, clause=REFUSED.name) for each in (*clients.stale, *unproven)),
        *(replace(each, clause=MEMBERS.name) for each in clients.unfit),
        *(replace(each, clause=DECIDED.name) for each in log_findings),
        *(
            replace(each, clause=LEASED.name)
            for each in (*lease_findings, *fenced_findings, *cut_off_findings)
        ),
    ]
    counts: dict[str, Count] = {
        REFUSED.name: clients.judged or _no_zombies(events.operations),
        MEMBERS.name: clients.members(),
        DECIDED.name: why
        or (decided, sum(_conditional(each) for each in events.operations if each.ok)),
        LEASED.name: LEASED.count(fenced + cut_off, why) if why else serving(reported),
    }
    return weighed(counts, findings, figures)


def _no_zombies(operations: Iterable[Operation]) -> Count:
    """Clients who sent nothing older gave nobody an occasion to accept it."""
    sent = any(is_zombie(each) or _is_stale(each) for each in operations)
    return 0 if sent else "no client sent a request with an older generation"


def _is_stale(operation: Operation) -> bool:
    """Whether its client knew that numbers in it were over."""
    return isinstance(operation.value, dict) and bool(conditional(operation).get("stale"))


def _conditional(operation: Operation) -> bool:
    """Whether it is a request that carries a generation."""
    return next(_carried(operation), None) is not None


# --- what clients were answered -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Wrong:
    """What was known to be wrong with a request before it began. `stale`: numbers of who asks, or
    of the partition, that were over, `former`: such of members of the ISR, each with a newer one;
    `unfit`: members that were out of service. `carried`: all numbers."""

    carried: Sequence[Generation]
    stale: Sequence[tuple[Generation, Generation]]
    former: Sequence[tuple[Generation, Generation]]
    unfit: Sequence[Unfit]

    @property
    def but_for_a_member(self) -> str:
        """Of which kind its only fault is; empty: it is another one, or there is none."""
        if self.stale or bool(self.former) == bool(self.unfit):
            return ""
        return FORMER_LIFE if self.former else OUT_OF_SERVICE


@dataclass(slots=True)
class _Answers:
    """`stale`: accepted requests that carried less than was known before they began, `unfit`: that
    named members so, or that were out of service; `unproven`: accepted zombies that carried
    something of which nothing shows that it was current; `current`: how many the rest were;
    `judged`: how many answers could have been such. `sent`: how many ISR changes were wrong but for
    a member, by kind; `heard`: the kinds of those that were answered."""

    stale: list[Finding] = field(default_factory=list)
    unfit: list[Finding] = field(default_factory=list)
    unproven: list[Finding] = field(default_factory=list)
    current: int = 0
    judged: int = 0
    sent: Counter[str] = field(default_factory=Counter)
    heard: list[str] = field(default_factory=list)

    def members(self) -> Count:
        """Clients who sent few gave little occasion to accept one."""
        if all(self.sent[kind] >= MEMBERS.floor // 2 for kind in UNFIT_KINDS):
            return MEMBERS.sightings(self.heard)
        few = ", ".join(f"{self.sent[kind]} with {kind}" for kind in UNFIT_KINDS)
        return f"clients sent few ISR changes with a member that is wrong: {few}"

    def add(self, operation: Operation, wrong: _Wrong, newest: Mapping[Kind, Generation]) -> None:
        kind, answered = wrong.but_for_a_member, _is_answered(operation)
        self.sent[kind] += 1
        self.heard += [kind] * bool(kind and answered)
        of_members = wrong.former or wrong.unfit
        self.judged += answered and bool(wrong.stale or (is_zombie(operation) and not of_members))
        if not operation.ok:
            return
        if wrong.stale:
            self.stale.append(_accepted(operation, *wrong.stale[0]))
        elif wrong.former:
            self.unfit.append(_accepted(operation, *wrong.former[0]))
        elif wrong.unfit:
            self.unfit.append(_taken_in(operation, wrong.unfit[0]))
        elif is_zombie(operation) and not _are_current(wrong.carried, newest):
            self.unproven.append(_unproven(operation))
        else:
            self.current += is_zombie(operation)


def _clients(events: RunEvents, disks: "_OnDisks") -> _Answers:
    """What was answered to requests that were to be refused."""
    operations = sorted(events.operations, key=lambda each: each.index)
    known = _Known([*operations, *events.observations], events.of(Change))
    members, found = UnfitMembers.of(operations), _Answers()
    for operation in operations:
        newest = known.before(operation)
        if not _is_answered(operation) and operation.f != "alter-isr":
            continue
        carried = list(_carried(operation))
        behind = [
            (each, newer)
            for each in carried
            if (newer := _newer(each, newest) or disks.newer(each, operation)) is not None
        ]
        wrong = _Wrong(
            carried,
            stale=[each for each in behind if not each[0].member],
            former=[each for each in behind if each[0].member],
            unfit=list(members.named_by(operation)) if operation.f == "alter-isr" else [],
        )
        found.add(operation, wrong, newest)
    return found


def _is_answered(operation: Operation) -> bool:
    return operation.ok or (operation.failed and operation.error_code not in OF_NO_NODE)


def _unproven(operation: Operation) -> Finding:
    return finding(
        f"operation {operation.index} ({operation.f} of {operation.key}) was a "
        f"zombie's ({conditional(operation)['zombie']}) and was answered ok",
        [operation],
    )


def _taken_in(operation: Operation, unfit: Unfit) -> Finding:
    return finding(
        f"operation {operation.index} ({operation.f} of {operation.key}) was answered ok; {unfit}",
        [unfit.since, operation],
    )


def _newer(carried: Generation, newest: Mapping[Kind, Generation]) -> Generation | None:
    """None: it was not behind."""
    known = newest.get(carried.kind)
    return known if known is not None and carried.value < known.value else None


def _are_current(carried: Sequence[Generation], newest: Mapping[Kind, Generation]) -> bool:
    """Whether all that a request carried, which was not behind, was shown by then."""
    return bool(carried) and all(
        each.kind in newest and each.value == newest[each.kind].value for each in carried
    )


class _Known:
    """The newest generation of each kind, by what clients were answered and what somebody had
    applied."""

    def __init__(self, operations: Iterable[Operation], applied: Iterable[Change]) -> None:
        shown = [(op.end or 0, each) for op in operations for each in _shown(op)]
        begun: dict[tuple[Kind, int], tuple[int, Change]] = {}
        for by in applied:
            for each in begun_by(by):
                # By each node that applies it; the first is enough.
                if each not in begun or latest_ns(by) < begun[each][0]:
                    begun[each] = latest_ns(by), by
        timed = [(when, Generation(*each, by)) for each, (when, by) in begun.items()]
        self._shown = deque(sorted(shown, key=_when))
        self._begun = deque(sorted(timed, key=_when))
        self._newest: dict[Kind, Generation] = {}

    def before(self, operation: Operation) -> Mapping[Kind, Generation]:
        """What was known when it was invoked. Operations in that order."""
        while self._shown and self._shown[0][0] < operation.index:
            self._add(self._shown.popleft()[1])
        while self._begun and self._begun[0][0] < (operation.invoked_ns or 0):
            self._add(self._begun.popleft()[1])
        return self._newest

    def _add(self, shown: Generation) -> None:
        best = self._newest.get(shown.kind)
        if best is None or shown.value > best.value:
            self._newest[shown.kind] = shown


@dataclass(frozen=True, slots=True)
class _OnDisks:
    """`begun`: the generations that committed records began, in the order of the log, each behind
    the greatest up to it. `led`: the epochs of which each node has a record as their leader;
    `whole`: there are no others."""

    begun: Mapping[Kind, Sequence[tuple[int, int, Change]]]
    dates: CommitDates
    ids: Mapping[str, ReplicaId]
    led: Mapping[ReplicaId, set[int]]
    whole: bool

    @classmethod
    def of(cls, events: RunEvents, left: CommittedOnDisks, dates: CommitDates) -> "_OnDisks":
        begun: dict[Kind, list[tuple[int, int, Change]]] = defaultdict(list)
        led: dict[ReplicaId, set[int]] = defaultdict(set)
        for record in left.records:
            for kind, value in begun_by(record):
                greatest = begun[kind][-1][0] if begun[kind] else value
                begun[kind].append((max(value, greatest), value, record))
            if isinstance(record, LeaderAnnounced):
                led[record.leader].add(record.epoch)
        return cls(begun, dates, node_ids(events), led, 0 in left.entries)

    def newer(self, carried: Generation, operation: Operation) -> Generation | None:
        """The first that was known to be committed before the request, and to whom it went."""
        begun = self.begun.get(carried.kind, ())
        first = bisect_right(begun, carried.value, key=lambda each: each[0])
        for _, value, record in islice(begun, first, None):
            shown = self.dates.by(record.offset)
            if shown is None or not shown.operation.precedes(operation):
                return None  # nor was any record behind it
            if value > carried.value and self._knew(operation.node or "", record):
                return Generation(carried.kind, value, record, shown)
        return None

    def _knew(self, node: str, record: Change) -> bool:
        """Whether a controller had the record, once it was committed: it wrote it, or has led only
        since."""
        led = self.led.get(self.ids.get(node, NOBODY), set())
        return record.epoch in led or (self.whole and min(led, default=-1) > record.epoch)


def _when(timed: tuple[int, Generation]) -> int:
    return timed[0]


def _accepted(operation: Operation, carried: Generation, newest: Generation) -> Finding:
    what, whose = carried.kind[0], name_of(carried.kind)
    zombie = (
        f", sent as a zombie ({conditional(operation)['zombie']})," if is_zombie(operation) else ""
    )
    line = (
        f"operation {operation.index} ({operation.f} of {operation.key}){zombie} was answered "
        f"ok with {what} {carried.value} of {whose}, after"
    )
    by = newest.by
    if isinstance(by, Operation):
        line += f" operation {by.index} had been answered {what} {newest.value}"
        return finding(line, [by, operation])
    if newest.shown is not None:
        line += f" {newest.shown}; the metadata log has {what} {newest.value} at {by.offset}"
        return finding(line, [newest.shown.operation, operation], [by])
    line += f" {by.node} had applied {what} {newest.value}, offset {by.offset}"
    return finding(line, [operation], [by])


def _carried(operation: Operation) -> Iterator[Generation]:
    """The generations on which a request is conditional."""
    value = operation.value
    if operation.f not in ("heartbeat", "alter-isr") or not isinstance(value, dict):
        return
    if operation.f == "alter-isr" or value["broker_epoch"] != NO_EPOCH:
        yield Generation(_broker(value["broker_id"]), value["broker_epoch"], operation)
    if operation.f == "alter-isr":
        for member, epoch in zip(value["isr"], value.get("isr_epochs") or (), strict=False):
            if epoch != NO_EPOCH:
                yield Generation(_broker(member), epoch, operation, member=True)
        where = _where(value["topic_id"], value["partition"])
        yield Generation(("leader epoch", where), value["leader_epoch"], operation)
        yield Generation(("version", where), value["partition_epoch"], operation)


def _shown(operation: Operation) -> Iterator[Generation]:
    """The generations that an ok answer acknowledges."""
    value, result = operation.value, operation.result
    if not operation.ok or not isinstance(result, dict):
        return
    if operation.f == "heartbeat" and result.get("broker_epoch", NO_EPOCH) != NO_EPOCH:
        yield Generation(_broker(value["broker_id"]), result["broker_epoch"], operation)
    elif operation.f in STARTS:
        process = result.get("second", result)
        epoch, broker_id = process.get("broker_epoch", NO_EPOCH), process.get("broker_id")
        if epoch != NO_EPOCH and broker_id is not None:
            yield Generation(_broker(broker_id), epoch, operation)
    elif operation.f == "alter-isr":
        # It acknowledges the epoch that it carried, too, if that was current; a stale one is
        # below what is known, and changes nothing.
        yield from (each for each in _carried(operation) if each.kind[0] == "broker epoch")
        where = _where(value["topic_id"], value["partition"])
        yield Generation(("leader epoch", where), result["leader_epoch"], operation)
        yield Generation(("version", where), result["partition_epoch"], operation)
    elif operation.f in (*SHOWS, "metadata"):
        yield from _of_topic(result.get("topic_id"), result.get("partitions"), operation)
    elif operation.f == TOPICS:
        for topic in cluster_view(operation).get("topics") or ():
            yield from _of_topic(topic["topic_id"], topic["partitions"], operation)


def _of_topic(
    topic_id: object, partitions: Sequence[Mapping[str, Any]] | None, operation: Operation
) -> Iterator[Generation]:
    """A broker's metadata may be late, and never early: what they show has been committed."""
    for shown in partitions or ():
        where = _where(topic_id, shown["partition"])
        if "leader_epoch" in shown:
            yield Generation(("leader epoch", where), shown["leader_epoch"], operation)
        if "partition_epoch" in shown:
            yield Generation(("version", where), shown["partition_epoch"], operation)


def _broker(broker_id: object) -> Kind:
    return "broker epoch", broker_id


def _where(topic_id: object, partition: int) -> tuple[str, int]:
    return str(topic_id), partition


class ZombieFencing(RunChecker):
    name = "zombie-fencing"
    summary = (
        "Once a newer broker epoch, leader epoch or version is acknowledged or committed, "
        "requests that carry an older one are refused, and a broker whose lease has ended serves "
        "no client"
    )
    requires = either_of(Change) | OCCASIONS
    clauses = (REFUSED, MEMBERS, DECIDED, LEASED)
    check_run = RunCheck(
        zombie_fencing,
        evidence=(
            BrokerStateChanged,
            Change,
            Decided,
            HeartbeatAnswered,
            IsrDecided,
            LeaseGranted,
            Served,
            Stalled,
        ),
        disk=DISK_KINDS,
        fs=FS,
        observations=True,
        nemesis=True,
        faults=True,
    )
