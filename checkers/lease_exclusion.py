"""One process at a time holds a broker id (D.12; KIP-631's leases, A.7.3 and A.7.6).

Epoch form: an epoch of an id is leased to one process. Once a lease under a newer epoch was
acknowledged, none is granted under an older one, and nothing decided under an older one is
committed above the newer registration. A process serves under its lease only.

Timing form: the broker's own end of a lease is never after the controller's: a lease is as long
as the others; a controller that takes one for over, and fences its holder, does so at or after
the end that the broker knows, and not before it was itself active for a full lease.

Strict form, where the system promises exclusive ids (takeovers are deferred): the intervals in
which the processes of one id serve do not overlap.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from checkers.folds.committed_log import CommittedLog, committed_log
from checkers.folds.leases import served_without_lease
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import BrokerFenced, BrokerRegistered, Change
from framework.evidence.clocks import moment_of, surely_before, surely_not_after
from framework.evidence.kinds import (
    Appended,
    Booted,
    Claimed,
    Decided,
    Evidence,
    LeaseGranted,
    Promised,
    Served,
    evidence_of,
)
from framework.evidence.run_events import RunEvents, incarnations
from framework.plugins.checker import Finding

FS: Final = ("metadata", "create", "delete")
RATE_ERROR: Final = 0.01
"""How far two clocks may differ in rate (rho in D.12)."""


def lease_exclusion(events: RunEvents) -> Outcome:
    grants = _in_order_of_grant(events.of(LeaseGranted))
    log = committed_log(events.of(Change))
    served, unleased = served_without_lease(events)
    length = _length(grants)
    findings = [
        *_one_process(grants),
        *_in_order(grants),
        *_under_older(events.of(Decided), log),
        *unleased,
        *_too_long(grants, length),
    ]
    expiries = list(_expiries(events, log))
    findings += _too_soon(expiries, grants, events, length)
    figures: dict[str, float] = {"leases": len(grants), "serves": served}
    figures["expiries"] = len(expiries)
    overlaps = list(_overlaps(events))
    if any(each.promise == "exclusive-broker-ids" for each in events.of(Promised)):
        findings += overlaps
    else:
        figures["overlapping_takeovers"] = len(overlaps)
    return concluded(len(grants), findings, figures)


# --- grants -------------------------------------------------------------------------------


def _in_order_of_grant(grants: Iterable[LeaseGranted]) -> list[LeaseGranted]:
    return sorted(grants, key=lambda each: (each.at_ns, each.node, each.seq))


def _length(grants: Iterable[LeaseGranted]) -> int | None:
    """How long leases of this run are, ns: the commonest length, the shorter one of equals."""
    lengths = Counter(each.end_ns - each.start_ns for each in grants)
    return min(lengths, key=lambda length: (-lengths[length], length)) if lengths else None


def _one_process(grants: Iterable[LeaseGranted]) -> Iterator[Finding]:
    holders: dict[tuple[int, int], LeaseGranted] = {}
    told: set[tuple[int, int]] = set()
    for grant in grants:
        key = (grant.broker_id, grant.broker_epoch)
        holder = holders.setdefault(key, grant)
        if holder.incarnation != grant.incarnation and key not in told:
            told.add(key)
            yield finding(
                f"two processes were leased broker id {grant.broker_id} under epoch "
                f"{grant.broker_epoch}",
                evidence=[holder, grant],
            )


def _in_order(grants: Iterable[LeaseGranted]) -> Iterator[Finding]:
    """A grant that began (the heartbeat left) after a newer epoch's was acknowledged."""
    first: dict[int, dict[int, LeaseGranted]] = defaultdict(dict)
    for grant in grants:
        begun = moment_of(grant, grant.start_ns)
        newer = [
            each
            for epoch, each in first[grant.broker_id].items()
            if epoch > grant.broker_epoch and surely_before(moment_of(each), begun)
        ]
        first[grant.broker_id].setdefault(grant.broker_epoch, grant)
        if newer:
            yield finding(
                f"broker id {grant.broker_id} was leased under epoch {grant.broker_epoch} after a "
                f"lease under epoch {newer[0].broker_epoch} had been acknowledged",
                evidence=[newer[0], grant],
            )


def _under_older(decisions: Iterable[Decided], log: CommittedLog) -> Iterator[Finding]:
    """Committed records of a decision whose asker had been replaced below them."""
    at: dict[int, Decided] = {}
    for each in decisions:
        if each.accepted and each.records and each.broker_epoch is not None:
            first = min(each.records)
            if log.of_epoch(first, each.epoch) is not None:
                at[first] = each
    newest: dict[int, BrokerRegistered] = {}
    for change in log.records:
        decision = at.get(change.offset)
        if decision is not None and decision.broker_id is not None:
            by = newest.get(decision.broker_id)
            if by is not None and by.broker_epoch > (decision.broker_epoch or 0):
                yield finding(
                    f"{decision.node} let broker {decision.broker_id} change the committed "
                    f"state by {decision.api} under epoch {decision.broker_epoch}; "
                    f"offset {by.offset} had given the id to epoch {by.broker_epoch}",
                    evidence=[by, decision],
                )
        if isinstance(change, BrokerRegistered):
            newest[change.broker_id] = change


# --- time ---------------------------------------------------------------------------------


def _too_long(grants: Iterable[LeaseGranted], length: int | None) -> Iterator[Finding]:
    for grant in grants:
        own = grant.end_ns - grant.start_ns
        if length is not None and own > length * (1 + RATE_ERROR) + grant.rounded_ns:
            yield finding(
                f"broker id {grant.broker_id} was leased for {own / 1e6:g} ms from the start that "
                f"it named; leases of this run are {length / 1e6:g} ms long",
                evidence=[grant],
            )


@dataclass(frozen=True, slots=True)
class Expiry:
    """A committed fencing that no request asked for, and its leader's append."""

    fence: BrokerFenced
    append: Appended


def _expiries(events: RunEvents, log: CommittedLog) -> Iterator[Expiry]:
    asked = {(each.epoch, offset) for each in events.of(Decided) for offset in each.records}
    appends: dict[tuple[int, int], Appended] = {}
    for append in events.of(Appended):
        if append.leading:
            for offset in range(append.base_offset, append.end_offset):
                appends.setdefault((append.epoch, offset), append)
    for change in log.records:
        where = (change.epoch, change.offset)
        if isinstance(change, BrokerFenced) and where not in asked and where in appends:
            yield Expiry(change, appends[where])


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


def _overlaps(events: RunEvents) -> Iterator[Finding]:
    by_id: dict[int, list[Serving]] = defaultdict(list)
    evidence: Iterable[Evidence] = events.of(Booted, LeaseGranted, Served)
    for lives in incarnations(evidence).values():
        for life in lives:
            broker = _broker_id(life)
            if broker is not None:
                by_id[broker] += _servings(life)
    for broker, servings in sorted(by_id.items()):
        servings.sort(key=lambda each: (each.begin.at_ns, each.begin.node, each.begin.seq))
        last: Serving | None = None
        for serving in servings:
            others = last is not None and serving.begin.incarnation != last.end.incarnation
            if last is not None and others and _not_over(last, serving):
                yield finding(
                    f"two processes served as broker {broker} at one time",
                    evidence=[last.begin, last.end, serving.begin],
                )
            if last is None or serving.end.at_ns > last.end.at_ns:
                last = serving


def _not_over(last: Serving, serving: Serving) -> bool:
    return surely_not_after(moment_of(serving.begin), moment_of(last.end))


def _broker_id(life: Iterable[Evidence]) -> int | None:
    for each in life:
        if isinstance(each, Booted | LeaseGranted) and each.broker_id is not None:
            return each.broker_id
    return None


def _servings(life: Iterable[Evidence]) -> Iterator[Serving]:
    begin: Served | None = None
    end: Served | None = None
    for each in life:
        if isinstance(each, LeaseGranted) and begin is not None and end is not None:
            yield Serving(begin, end)
            begin = end = None
        elif isinstance(each, Served) and each.success:
            begin, end = begin or each, each
    if begin is not None and end is not None:
        yield Serving(begin, end)


class LeaseExclusion(RunChecker):
    name = "lease-exclusion"
    summary = (
        "An epoch of a broker id is leased to one process, nothing is done under an older "
        "one once a newer is acknowledged, and a broker's end of its lease is never after "
        "its controller's"
    )
    requires = evidence_of(LeaseGranted, Served)
    check_run = RunCheck(
        lease_exclusion,
        evidence=(Booted, LeaseGranted, Served, Claimed, Appended, Decided, Change, Promised),
        fs=FS,
    )
