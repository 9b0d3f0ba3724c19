"""One process at a time holds a broker id (D.12; KIP-631's leases, A.7.3 and A.7.6).

Epoch form: an epoch of an id is leased to one process. Once a lease under a newer epoch was
acknowledged, none is granted under an older one, and nothing decided under an older one is
committed above the newer registration. A process serves under its lease only.

Timing form: the broker's own end of a lease is never after the controller's: a lease is as long
as the others; a controller that takes one for over, and fences its holder, does so at or after
the end that the broker knows, and not before it was itself active for a full lease.

Strict form, where the run's `broker.takeover` is deferred: the intervals in which the processes
of one id serve do not overlap.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    concluded,
    finding,
    incarnations,
    record_of,
)
from checkers.kernels.leases import ROUNDING_NS, is_success, served_without_lease
from checkers.kernels.replay import Log, committed_log
from framework.checking.keyed import Outcome
from framework.history.event import Json
from framework.plugins.checker import Finding

EVENTS: Final = ("boot", "lease", "serve", "claim", "append", "decide", "apply")
FS: Final = ("metadata", "create", "delete")
RATE_ERROR: Final = 0.01
"""How far two clocks may differ in rate (rho in D.12)."""
TAKEOVER: Final = "broker.takeover"


def lease_exclusion(evidence: Evidence) -> Outcome:
    grants = _grants(evidence)
    log = committed_log(evidence.of("apply"))
    served, unleased = served_without_lease(evidence)
    length = _length(grants)
    findings = [
        *_one_process(grants),
        *_in_order(grants),
        *_under_older(evidence.of("decide"), log),
        *unleased,
        *_too_long(grants, length),
    ]
    expiries = list(_expiries(evidence, log))
    findings += _too_soon(expiries, grants, evidence, length)
    figures: dict[str, float] = {"leases": len(grants), "serves": served}
    figures["expiries"] = len(expiries)
    overlaps = list(_overlaps(evidence))
    if is_deferred(evidence.plan):
        findings += overlaps
    else:
        figures["overlapping_takeovers"] = len(overlaps)
    return concluded(len(grants), findings, figures)


def is_deferred(plan: Mapping[str, Json]) -> bool:
    """Whether every node's settings defer takeovers. Runs of before `--set` had none."""
    settings = plan.get("settings") or {}
    nodes = plan.get("nodes") or settings
    return bool(nodes) and all(settings.get(node, {}).get(TAKEOVER) == "deferred" for node in nodes)


# --- grants -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease as its holder knows it. Times are ns since the run began."""

    broker: int
    epoch: int
    start_ns: int
    end_ns: int
    event: NodeEvent


def _grants(evidence: Evidence) -> list[Grant]:
    """In the order in which they were acknowledged."""
    zero = int(evidence.plan.get("time_zero_ns") or 0)
    grants = [
        Grant(
            event.fields["broker_id"],
            event.fields["broker_epoch"],
            event.fields["start_ns"] - zero,
            event.fields["end_ns"] - zero,
            event,
        )
        for event in evidence.of("lease")
    ]
    return sorted(grants, key=lambda each: (each.event.time_ns, each.event.node, each.event.seq))


def _length(grants: Iterable[Grant]) -> int | None:
    """How long leases of this run are, ns: the commonest length, the shorter one of equals."""
    lengths = Counter(each.end_ns - each.start_ns for each in grants)
    return min(lengths, key=lambda length: (-lengths[length], length)) if lengths else None


def _one_process(grants: Iterable[Grant]) -> Iterator[Finding]:
    holders: dict[tuple[int, int], Grant] = {}
    told: set[tuple[int, int]] = set()
    for grant in grants:
        key = (grant.broker, grant.epoch)
        holder = holders.setdefault(key, grant)
        if holder.event.incarnation != grant.event.incarnation and key not in told:
            told.add(key)
            yield finding(
                f"two processes were leased broker id {grant.broker} under epoch {grant.epoch}",
                events=[holder.event, grant.event],
            )


def _in_order(grants: Iterable[Grant]) -> Iterator[Finding]:
    """A grant that began (the heartbeat left) after a newer epoch's was acknowledged."""
    first: dict[int, dict[int, Grant]] = defaultdict(dict)
    for grant in grants:
        newer = [
            each
            for epoch, each in first[grant.broker].items()
            if epoch > grant.epoch and each.event.time_ns < grant.start_ns
        ]
        first[grant.broker].setdefault(grant.epoch, grant)
        if newer:
            yield finding(
                f"broker id {grant.broker} was leased under epoch {grant.epoch} after a lease "
                f"under epoch {newer[0].epoch} had been acknowledged",
                events=[newer[0].event, grant.event],
            )


def _under_older(decides: Iterable[NodeEvent], log: Log) -> Iterator[Finding]:
    """Committed records of a decision whose asker had been replaced below them."""
    at: dict[int, NodeEvent] = {}
    for decide in decides:
        offsets, source = decide.fields["records"], decide.fields.get("source") or {}
        if decide.fields["verdict"] == 0 and offsets and source.get("broker_epoch", -1) >= 0:
            first = log.at(min(offsets))
            if first is not None and first.fields["epoch"] == decide.fields["epoch"]:
                at[min(offsets)] = decide
    newest: dict[int, NodeEvent] = {}
    for event in log.records:
        decided = at.get(event.fields["offset"])
        if decided is not None:
            source = decided.fields["source"]
            by = newest.get(source["broker_id"])
            if by is not None and record_of(by)["broker_epoch"] > source["broker_epoch"]:
                yield finding(
                    f"{decided.node} let broker {source['broker_id']} change the committed "
                    f"state by {decided.fields['api']} under epoch {source['broker_epoch']}; "
                    f"offset {by.fields['offset']} had given the id to epoch "
                    f"{record_of(by)['broker_epoch']}",
                    events=[by, decided],
                )
        if event.fields.get("kind") == "BrokerRecord":
            newest[record_of(event)["broker_id"]] = event


# --- time ---------------------------------------------------------------------------------


def _too_long(grants: Iterable[Grant], length: int | None) -> Iterator[Finding]:
    for grant in grants:
        own = grant.end_ns - grant.start_ns
        if length is not None and own > length * (1 + RATE_ERROR) + ROUNDING_NS:
            yield finding(
                f"broker id {grant.broker} was leased for {own / 1e6:g} ms from the start that "
                f"it named; leases of this run are {length / 1e6:g} ms long",
                events=[grant.event],
            )


@dataclass(frozen=True, slots=True)
class Expiry:
    """A committed FenceBrokerRecord that no request asked for, and its leader's append."""

    broker: int
    broker_epoch: int
    append: NodeEvent


def _expiries(evidence: Evidence, log: Log) -> Iterator[Expiry]:
    asked = {
        (decide.fields["epoch"], offset)
        for decide in evidence.of("decide")
        for offset in decide.fields["records"]
    }
    fences = [each for each in log.records if each.fields.get("kind") == "FenceBrokerRecord"]
    appends: dict[tuple[int, int], NodeEvent] = {}
    for event in evidence.of("append"):
        if event.fields.get("leader"):
            for offset in range(event.fields["base_offset"], event.fields["end_offset"]):
                appends.setdefault((event.fields["epoch"], offset), event)
    for fence in fences:
        where = (fence.fields["epoch"], fence.fields["offset"])
        if where not in asked and where in appends:
            record = record_of(fence)
            yield Expiry(record["broker_id"], record["broker_epoch"], appends[where])


def _too_soon(
    expiries: Iterable[Expiry],
    grants: Iterable[Grant],
    evidence: Evidence,
    length: int | None,
) -> Iterator[Finding]:
    claims = {event.fields["epoch"]: event for event in evidence.of("claim")}
    leases: dict[tuple[int, int], list[Grant]] = defaultdict(list)
    for grant in grants:
        leases[grant.broker, grant.epoch].append(grant)
    for expiry in expiries:
        at = expiry.append.time_ns
        what = f"{expiry.append.node} took the lease of broker {expiry.broker} for over"
        for grant in leases.get((expiry.broker, expiry.broker_epoch), ()):
            if grant.start_ns <= at < grant.end_ns - ROUNDING_NS - _slack(grant):
                yield finding(
                    f"{what} {(grant.end_ns - at) / 1e6:.1f} ms before the end that the broker "
                    f"knew",
                    events=[grant.event, expiry.append],
                )
                break
        claim = claims.get(expiry.append.fields["epoch"])
        if claim is not None and length is not None:
            was_active = at - claim.time_ns
            if was_active < length * (1 - RATE_ERROR) - ROUNDING_NS:
                yield finding(
                    f"{what} {was_active / 1e6:.1f} ms after it had become active; a lease of "
                    f"{length / 1e6:g} ms may have been granted just before",
                    events=[claim, expiry.append],
                )


def _slack(grant: Grant) -> float:
    return (grant.end_ns - grant.start_ns) * RATE_ERROR


# --- the strict form ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Serving:
    """From the first to the last success of one process under one lease."""

    begin: NodeEvent
    end: NodeEvent


def _overlaps(evidence: Evidence) -> Iterator[Finding]:
    by_id: dict[int, list[Serving]] = defaultdict(list)
    for lives in incarnations(evidence.of("boot", "lease", "serve")).values():
        for life in lives:
            broker = _broker_id(life)
            if broker is not None:
                by_id[broker] += _servings(life)
    for broker, servings in sorted(by_id.items()):
        servings.sort(key=lambda each: (each.begin.time_ns, each.begin.node, each.begin.seq))
        last: Serving | None = None
        for serving in servings:
            others = last is not None and serving.begin.incarnation != last.end.incarnation
            if last is not None and others and serving.begin.time_ns <= last.end.time_ns:
                yield finding(
                    f"two processes served as broker {broker} at one time",
                    events=[last.begin, last.end, serving.begin],
                )
            if last is None or serving.end.time_ns > last.end.time_ns:
                last = serving


def _broker_id(life: Iterable[NodeEvent]) -> Any:
    for event in life:
        if event.fields.get("broker_id") is not None:
            return event.fields["broker_id"]
    return None


def _servings(life: Iterable[NodeEvent]) -> Iterator[Serving]:
    begin: NodeEvent | None = None
    end: NodeEvent | None = None
    for event in life:
        if event.type == "lease" and begin is not None and end is not None:
            yield Serving(begin, end)
            begin = end = None
        elif event.type == "serve" and is_success(event):
            begin, end = begin or event, event
    if begin is not None and end is not None:
        yield Serving(begin, end)
