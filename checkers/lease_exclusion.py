"""One process at a time holds a broker id (D.12; KIP-631's leases, A.7.3 and A.7.6).

Epoch form: an epoch of an id is leased to one process. Once a lease under a newer epoch was
acknowledged, none is granted under an older one, and nothing decided under an older one is
committed above the newer registration. A process serves under its lease only.

Timing form: the broker's own end of a lease is never after the controller's: a lease is as long
as the others; a controller that takes one for over, and fences its holder, does so at or after
the end that the broker knows, and not before it was itself active for a full lease.

Strict form, where the system promises exclusive ids (takeovers are deferred): the intervals in
which the processes of one id serve do not overlap.

And a lease ends: a broker that is dead for as long as the system may take for anything is fenced.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from checkers.folds.fencing.leases import FS, length_of, served_without_lease, serving
from checkers.folds.fencing.silent_brokers import unfenced
from checkers.folds.history.brokers import FS as SYNTHETIC_FS
from checkers.folds.history.brokers import ISR_FS, LIFE_FS, in_service, nothing_done
from checkers.folds.metadata_log.committed_log import CommittedLog, committed_log
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.brokers import LeaseGranted
from framework.evidence.changes import BrokerFenced, BrokerRegistered, Change
from framework.evidence.clocks import Latest, moment_of, surely_before, surely_not_after
from framework.evidence.ids import BrokerEpoch
from framework.evidence.kinds import Evidence, evidence_of
from framework.evidence.processes import Booted, Stalled
from framework.evidence.quorum import Appended, Claimed
from framework.evidence.relations import relation
from framework.evidence.requests import Decided, Served
from framework.evidence.run_events import RunEvents, incarnations
from framework.evidence.systems import Promised
from framework.plugins.checker import CLIENTS, EVENTS, LEDGER, Clause, Count, Finding

RATE_ERROR: Final = 0.01
"""How far two clocks may differ in rate (rho in D.12)."""


ONE_PROCESS: Final = Clause(
    name="one-process",
    says="An epoch of a broker id is leased to one process",
    compares="brokers in service that tell of their leases",
    floor=2,
    because="all that the metadata log put into service: one that keeps silent may share its epoch",
    sources=(EVENTS,),
    blind="a process that leaves out the lease that it shares",
)
NEWEST: Final = Clause(
    name="newest-epoch",
    says="No lease is granted under an older epoch of an id once one under a newer was "
    "acknowledged, and nothing decided under an older one is committed above the newer "
    "registration",
    compares="leases and decisions after another lease or registration of the same id",
    floor=2,
    because="one may be in order by chance",
    sources=(EVENTS,),
)
UNDER_LEASE: Final = Clause(
    name="under-lease",
    says="A process serves under its lease only",
    compares="nodes that clients had answers from, and that tell what they served",
    floor=2,
    because="all that answered a client: one that keeps silent may serve at any time",
    sources=(EVENTS,),
    blind="an answer that its broker leaves out; of those that clients got, see "
    "fenced-serve-nothing, node-tells-the-truth and zombie-fencing",
)
TIMING: Final = Clause(
    name="broker-ends-first",
    says="Leases are as long as each other, and no controller takes one for over before the end "
    "that its broker knows, or within a lease's length of its own activation",
    compares="leases of epochs whose fencing the metadata log would show",
    floor=2,
    because="one has no other to be as long as",
    sources=(EVENTS,),
    blind="clocks whose rates differ by more than 1 %",
)
EXCLUSIVE: Final = Clause(
    name="exclusive",
    says="Where the run's settings promise it, the times in which processes of one id serve do not "
    "overlap",
    compares="times of serving after those of another process of the same id",
    floor=2,
    because="one may have come late by chance",
    sources=(CLIENTS, LEDGER, EVENTS),
)
FENCED: Final = Clause(
    name="silent-is-fenced",
    says="A broker whose node is dead, stopped or cut off for longer than it takes to fence one is "
    "fenced, and leads nothing",
    compares="times that a broker was gone for so long",
    floor=2,
    because="one may be fenced for another reason; where none was gone twice, nor two were, there "
    "was no occasion",
    sources=(LEDGER, EVENTS),
    blind="brokers that are none of the plan's; faults that are healed earlier, also those that "
    "last where the machine gives the voters little time",
)
CLAUSES: Final = (ONE_PROCESS, NEWEST, UNDER_LEASE, TIMING, EXCLUSIVE, FENCED)


def lease_exclusion(events: RunEvents) -> Outcome:
    grants = _in_order_of_grant(events.of(LeaseGranted))
    log = committed_log(events.of(Change))
    served, unleased = served_without_lease(events)
    length = length_of(grants)
    ordered, in_order = _in_order(grants)
    placed, under_older = _under_older(events.of(Decided), log)
    silent, unfenced_brokers = unfenced(events, log, FENCED.floor)
    expiries = list(_expiries(events, log))
    findings = [
        *_one_process(grants),
        *in_order,
        *under_older,
        *(replace(each, clause=UNDER_LEASE.name) for each in unleased),
        *_too_long(grants, length),
        *_too_soon(expiries, grants, events, length),
        *(replace(each, clause=FENCED.name) for each in unfenced_brokers),
    ]
    figures: dict[str, float] = {"leases": len(grants), "serves": served}
    figures["expiries"] = len(expiries)
    servings, overlaps = _overlaps(events)
    exclusive: Count = "the run's settings do not promise that brokers' ids are exclusive"
    if any(each.promise == "exclusive-broker-ids" for each in events.of(Promised)):
        findings += overlaps
        exclusive = servings or nothing_done(events)
    else:
        figures["overlapping_takeovers"] = len(overlaps)
    brokers = in_service(events)
    leased = {each.broker_id for each in grants}
    logged = {
        (each.broker_id, each.broker_epoch)
        for each in log.records
        if isinstance(each, BrokerRegistered)
    }
    counts: dict[str, Count] = {
        ONE_PROCESS.name: (len(leased & brokers), len(brokers)),
        NEWEST.name: ordered + placed,
        UNDER_LEASE.name: serving(events),
        TIMING.name: sum((each.broker_id, each.broker_epoch) in logged for each in grants),
        EXCLUSIVE.name: exclusive,
        FENCED.name: silent,
    }
    return weighed(counts, findings, figures)


# --- grants -------------------------------------------------------------------------------


def _in_order_of_grant(grants: Iterable[LeaseGranted]) -> list[LeaseGranted]:
    return sorted(grants, key=lambda each: (*moment_of(each).in_order, each.seq))


def _one_process(grants: Iterable[LeaseGranted]) -> Iterator[Finding]:
    """An epoch of an id is a group of leases with one process."""
    leases = relation(grants, "broker_id", "broker_epoch", "incarnation")
    for rows in leases.disagreeing("broker_id", "broker_epoch", on="incarnation"):
        holder, other = leases.objects(rows[:2])
        yield finding(
            f"two processes were leased broker id {holder.broker_id} under epoch "
            f"{holder.broker_epoch}",
            evidence=[holder, other],
            clause=ONE_PROCESS.name,
        )


def _in_order(grants: Iterable[LeaseGranted]) -> tuple[int, list[Finding]]:
    """Grants that began (the heartbeat left) after a newer epoch's was acknowledged; and how many
    there were after another one."""
    first: dict[int, dict[int, LeaseGranted]] = defaultdict(dict)
    compared, findings = 0, list[Finding]()
    for grant in grants:
        begun = moment_of(grant, grant.start_ns)
        newer = [
            each
            for epoch, each in first[grant.broker_id].items()
            if epoch > grant.broker_epoch and surely_before(moment_of(each), begun)
        ]
        compared += bool(first[grant.broker_id])
        first[grant.broker_id].setdefault(grant.broker_epoch, grant)
        if newer:
            findings.append(
                finding(
                    f"broker id {grant.broker_id} was leased under epoch {grant.broker_epoch} "
                    f"after a lease under epoch {newer[0].broker_epoch} had been acknowledged",
                    evidence=[newer[0], grant],
                    clause=NEWEST.name,
                )
            )
    return compared, findings


def _under_older(decisions: Iterable[Decided], log: CommittedLog) -> tuple[int, list[Finding]]:
    """Committed records of a decision whose asker had been replaced below them; and how many there
    are whose asker was registered."""
    at: dict[int, tuple[Decided, BrokerEpoch]] = {}
    for each in decisions:
        if each.accepted and each.records and each.broker_epoch is not None:
            first = min(each.records)
            if log.of_epoch(first, each.epoch) is not None:
                at[first] = each, each.broker_epoch
    newest: dict[int | None, BrokerRegistered] = {}
    compared, findings = 0, list[Finding]()
    for change in log.records:
        if change.offset in at:
            decision, epoch = at[change.offset]
            by = newest.get(decision.broker_id)
            compared += by is not None
            if by is not None and by.broker_epoch > epoch:
                findings.append(
                    finding(
                        f"{decision.node} let broker {decision.broker_id} change the committed "
                        f"state by {decision.api} under epoch {epoch}; "
                        f"offset {by.offset} had given the id to epoch {by.broker_epoch}",
                        evidence=[by, decision],
                        clause=NEWEST.name,
                    )
                )
        if isinstance(change, BrokerRegistered):
            newest[change.broker_id] = change
    return compared, findings


# --- time ---------------------------------------------------------------------------------


def _too_long(grants: Iterable[LeaseGranted], length: int | None) -> Iterator[Finding]:
    for grant in grants:
        own = grant.end_ns - grant.start_ns
        if length is not None and own > length * (1 + RATE_ERROR) + grant.rounded_ns:
            yield finding(
                f"broker id {grant.broker_id} was leased for {own / 1e6:g} ms from the start that "
                f"it named; leases of this run are {length / 1e6:g} ms long",
                evidence=[grant],
                clause=TIMING.name,
            )


@dataclass(frozen=True, slots=True)
class Expiry:
    """A committed fencing that no request asked for, and its leader's append."""

    fence: BrokerFenced
    append: Appended


def _expiries(events: RunEvents, log: CommittedLog) -> Iterator[Expiry]:
    """Fences that nobody asked for, each with the first append of a leader that says it holds it.
    An append may claim to be longer than any log: only where such a fence is it is looked at."""
    asked = {(each.epoch, offset) for each in events.of(Decided) for offset in each.records}
    fences = [
        each
        for each in log.records
        if isinstance(each, BrokerFenced) and (each.epoch, each.offset) not in asked
    ]
    offsets: dict[int, list[int]] = defaultdict(list)
    for fence in sorted(fences, key=lambda each: each.offset):
        offsets[fence.epoch].append(fence.offset)
    appends: dict[tuple[int, int], Appended] = {}
    for append in events.of(Appended):
        own = offsets.get(append.epoch, []) if append.leading else []
        first, end = bisect_left(own, append.base_offset), bisect_left(own, append.end_offset)
        for offset in own[first:end]:
            appends.setdefault((append.epoch, offset), append)
    for fence in fences:
        if (fence.epoch, fence.offset) in appends:
            yield Expiry(fence, appends[fence.epoch, fence.offset])


def _too_soon(
    expiries: Iterable[Expiry],
    grants: Iterable[LeaseGranted],
    events: RunEvents,
    length: int | None,
) -> Iterator[Finding]:
    claims = {each.epoch: each for each in events.of(Claimed)}
    rounded_ns = max((each.rounded_ns for each in grants), default=0)
    leases: dict[tuple[int, int], list[LeaseGranted]] = defaultdict(list)
    for grant in grants:
        leases[grant.broker_id, grant.broker_epoch].append(grant)
    for expiry in expiries:
        append, fence = expiry.append, expiry.fence
        what = f"{append.node} took the lease of broker {fence.broker_id} for over"
        for grant in leases.get((fence.broker_id, fence.broker_epoch), ()):
            if _before_its_end(append, grant):
                yield finding(
                    f"{what} {(grant.end_ns - append.at_ns) / 1e6:.1f} ms before the end that the "
                    f"broker knew",
                    evidence=[grant, append],
                    clause=TIMING.name,
                )
                break
        claim = claims.get(append.epoch)
        if claim is not None and length is not None and claim.node == append.node:
            was_active = append.at_ns - claim.at_ns
            if was_active < length * (1 - RATE_ERROR) - rounded_ns:
                yield finding(
                    f"{what} {was_active / 1e6:.1f} ms after it had become active; a lease of "
                    f"{length / 1e6:g} ms may have been granted just before",
                    evidence=[claim, append],
                    clause=TIMING.name,
                )


def _before_its_end(append: Appended, grant: LeaseGranted) -> bool:
    begin, end = moment_of(grant, grant.start_ns), moment_of(grant, grant.end_ns)
    slack = grant.rounded_ns + round((grant.end_ns - grant.start_ns) * RATE_ERROR)
    at = moment_of(append)
    return surely_not_after(begin, at) and surely_before(at, end, slack)


# --- the strict form ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Serving:
    """From the first to the last success of one process under one lease."""

    begin: Served
    end: Served

    @property
    def process(self) -> str:
        return self.begin.incarnation

    def meets(self, other: "Serving") -> bool:
        """Whether it is another process's, and both surely served at a time: it may not be known
        which of them began first."""
        return (
            self.process != other.process
            and surely_not_after(moment_of(other.begin), moment_of(self.end))
            and surely_not_after(moment_of(self.begin), moment_of(other.end))
        )


def _overlaps(events: RunEvents) -> tuple[int, list[Finding]]:
    """Also how many intervals followed one of another process of the same id."""
    compared, findings = 0, list[Finding]()
    by_id: dict[int, list[Serving]] = defaultdict(list)
    evidence: Iterable[Evidence] = events.of(Booted, LeaseGranted, Served)
    for lives in incarnations(evidence).values():
        for life in lives:
            broker = _broker_id(life)
            if broker is not None:
                by_id[broker] += _servings(life)
    for broker, servings in sorted(by_id.items()):
        servings.sort(key=lambda each: (*moment_of(each.begin).in_order, each.begin.seq))
        compared += sum(one.process != other.process for one, other in pairwise(servings))
        former = Latest[Serving]()
        for each in servings:
            last = next((one for one in former if one.meets(each)), None)
            if last is not None:
                findings.append(
                    finding(
                        f"two processes served as broker {broker} at one time",
                        evidence=[last.begin, last.end, each.begin],
                        clause=EXCLUSIVE.name,
                    )
                )
            former.add(moment_of(each.end), each)
    return compared, findings


def _broker_id(life: Iterable[Evidence]) -> int | None:
    for each in life:
        if isinstance(each, Booted | LeaseGranted) and each.broker_id is not None:
            return each.broker_id
    return None


def _servings(life: Iterable[Evidence]) -> Iterator[Serving]:
    span: Serving | None = None
    for each in life:
        if isinstance(each, LeaseGranted) and span is not None:
            yield span
            span = None
        elif isinstance(each, Served) and each.success:
            span = Serving(each if span is None else span.begin, each)
    if span is not None:
        yield span


class LeaseExclusion(RunChecker):
    name = "lease-exclusion"
    summary = (
        "An epoch of a broker id is leased to one process, nothing is done under an older "
        "one once a newer is acknowledged, and a broker's end of its lease is never after "
        "its controller's"
    )
    requires = evidence_of(LeaseGranted, Served)
    clauses = CLAUSES
    check_run = RunCheck(
        lease_exclusion,
        evidence=(
            *(Booted, LeaseGranted, Served, Stalled),
            *(Claimed, Appended, Decided, Change, Promised),
        ),
        fs=(*FS, *SYNTHETIC_FS, *LIFE_FS, *ISR_FS),
        faults=True,
    )
