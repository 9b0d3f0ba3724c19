"""What was produced to a partition is what is fetched from it (D.18; after Jepsen's analysis of
Kafka).

A fetch that went from one offset to a later one *covers* what lies between, from its log start
on: data below the high watermark never changes, so whatever else is known to stand at a covered
offset must be in the answer, whenever the two happened. The clauses:

1. An offset holds one value.
2. No acknowledged value (acks=all) is missing where a fetch covers its offset, nor beyond the
   end that the final fetches reached; nor is one that was acknowledged without an offset missing
   everywhere, where the whole log was read after that.
3. A value stands at one offset, but for producers that are not idempotent and may have retried.
4. Successive fetches of one consumer neither skip nor go back without a seek.
5. Nothing is read that a refused produce wrote, or that nobody wrote.
6. What was read once stays: no later fetch lacks it, and the final end is beyond it.
7. ListOffsets and high watermarks never exceed what becomes readable.
8. What was acknowledged can be read: the final fetches get on, and get to the end.
9. Neither end of the log goes back, and its beginning moves only where something may remove
   records (`folds.partitions.log_ends`).
10. What was deleted is not there again, and nothing is given from before the log's beginning
   (`folds.partitions.deleted_records`).
11. Brokers tell of logs that they may have, in the end of those that they must, as large as they
   can be (`folds.partitions.told_logs`).
12. Leaders tell of producers that wrote to the partition, and as far as they did
   (`folds.partitions.told_producers`).
13. What any replica gives is judged as a fetch is; in the end each in sync gives all
   (`folds.partitions.replica_reads`).

acks=0 and acks=1 promise no place: their offsets count only once they are read. Topics that had
one name are judged apart (`folds.history.topic_ids`), and so is what was before all brokers lost
power at once, by what they may have lost (`folds.history.power_losses`).
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from checkers.folds.history.log_values import fetch_from, fetched, log_answer, produce_of, seek_of
from checkers.folds.history.power_losses import power_losses
from checkers.folds.history.values import revealed
from checkers.folds.partitions.claims import (
    Claim,
    Fetch,
    covered_by,
    fetch_of,
    log_start_of,
    never_acknowledged,
    offsets_of,
    spans_of,
    successions,
)
from checkers.folds.partitions.deleted_records import given_all_the_same, half_done, undone
from checkers.folds.partitions.known_partition import KnownPartition
from checkers.folds.partitions.log_ends import goes_back, hidden
from checkers.folds.partitions.partition_runs import FS, by_partition, key_of_run
from checkers.folds.partitions.replica_reads import OF_REPLICAS, gave_all, of_replicas
from checkers.folds.partitions.told_logs import LOGS, told_sizes
from checkers.folds.partitions.told_producers import PRODUCERS, told_producers
from checkers.folds.partitions.unreadable import unreadable, why_unread
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, LEDGER, Clause, Count, Finding
from framework.verdict import Verdict

LOST_POWER: Final = "brokers lost power, and with it what they had told of"
NO_SIZE: Final = "no broker told how large its log is"
NO_PRODUCER: Final = "no leader told of a producer"
IN_VAIN: Final = 5
"""Questions that may all have met a fault, or a busy machine."""


ONE_VALUE: Final = Clause(
    name="one-value",
    says="An offset holds one value, and a value of a producer that cannot repeat it stands at one "
    "offset",
    compares="offsets told beside another answer that tells of the same one",
    floor=4,
    because="two values on two partitions, each acknowledged and read",
    sources=(CLIENTS,),
)
KEPT: Final = Clause(
    name="kept",
    says="What was acknowledged or read is there wherever another answer covers its offset, and "
    "below the end that final fetches reached; what was acknowledged without an offset, anywhere",
    compares="values whose offset another fetch covers",
    floor=4,
    because="two values on two partitions",
    sources=(CLIENTS,),
    blind="values of acks=0 and acks=1 that nobody read; without an offset, in a log of which not "
    "all was read; what all brokers may have lost by losing power at once",
)
READABLE: Final = Clause(
    name="readable",
    says="All that was acknowledged can be read, to the end",
    compares="acknowledged values that some fetch covers",
    floor=2,
    because="this run needs all of them; produces with acks=all of which none was ever "
    "acknowledged, nor refused, show nothing",
    sources=(CLIENTS, LEDGER),
    blind="topics that may have been deleted",
)
IN_ORDER: Final = Clause(
    name="in-order",
    says="A consumer's fetches neither skip nor go back without a seek, nor do the records of one",
    compares="records beside one before them in an answer, and fetches beside the consumer's last",
    floor=4,
    because="two partitions with three values each",
    sources=(CLIENTS,),
)
WRITTEN: Final = Clause(
    name="written",
    says="Nothing is read that nobody wrote, or whose write was refused",
    compares="values read",
    floor=4,
    because="two values on two partitions",
    sources=(CLIENTS,),
    blind="what was refused and stands where nobody reads",
)
LIMITS: Final = Clause(
    name="limits",
    says="Neither end of a log goes back, its beginning moves only where something may remove "
    "records, and no told end is beyond what becomes readable",
    compares="answers of where a log begins or ends beside another of the same",
    floor=4,
    because="two partitions, each end told thrice",
    sources=(CLIENTS,),
    blind="ends told between two answers",
)
DELETED: Final = Clause(
    name="deleted",
    says="Records that were deleted stay so once that was acknowledged, and none is given from "
    "before the log's own beginning",
    compares="answers of where a log begins that knew of an acknowledged delete, or had records",
    floor=2,
    because="who reads what is left of one partition is told its beginning, and again with records",
    sources=(CLIENTS, LEDGER),
    blind="where the system writes down late where logs begin: after a fault, other processes than "
    "the one that acknowledged",
)
TOLD_SIZES: Final = Clause(
    name="sizes",
    says="Brokers tell of logs alone of which somebody wanted them to have a replica, none larger "
    "than all that was sent; in the end each in sync tells of one that has what was read",
    compares="answers of brokers how large their logs are, and once more in the end of those in "
    "sync",
    floor=2,
    because="two brokers, or one twice",
    sources=(CLIENTS, LEDGER),
    blind="where the first read of a topic came after the first wish for other replicas, who may "
    "have a log; logs of former replicas; sizes in between; what lay before brokers lost power",
)
TOLD_PRODUCERS: Final = Clause(
    name="producers",
    says="Leaders tell of producers alone that wrote to the partition, in their epochs and no "
    "further than they had sent; in the end of all that were acknowledged, as far as that",
    compares="producers that leaders told of, and those of whom one has to in the end",
    floor=2,
    because="two producers, or one twice",
    sources=(CLIENTS, LEDGER),
    blind="what is told too low before the end; who wrote what was deleted; what lay before "
    "brokers lost power",
)
REPLICAS: Final = Clause(
    name="replicas",
    says="What a replica gives, leader or not, is what stands there, with nothing left out; in "
    "the end each in sync gives all, to the end that final fetches reached",
    compares="replicas in sync in the end that gave the last record that there is",
    floor=2,
    because="this run needs all of them: a partition of two replicas has as many",
    sources=(CLIENTS, LEDGER),
    blind="what lies before the last 2,000 records, or on other partitions than the first eight; "
    "replicas out of sync that give nothing",
)
CLAUSES: Final = (
    ONE_VALUE,
    KEPT,
    READABLE,
    IN_ORDER,
    WRITTEN,
    LIMITS,
    DELETED,
    TOLD_SIZES,
    TOLD_PRODUCERS,
    REPLICAS,
)


def partition_data(events: RunEvents) -> Outcome:
    """Of one partition."""
    known = KnownPartition.of(events)
    sizes, producers, of_reports = _reports(events)
    told, there_again = undone(known.limits, known.deletes)
    findings = [*_of_values(known), *_of_ends(known, there_again), *of_reports]
    counts = _compared(known, told) | {TOLD_SIZES.name: sizes, TOLD_PRODUCERS.name: producers}
    outcome = weighed(
        counts, list(of_replicas(findings, known.given, REPLICAS.name)), _figures(known), part=True
    )
    if outcome.verdict is Verdict.VALID and (unread := known.unread):
        return replace(outcome, verdict=Verdict.UNKNOWN, note=why_unread(unread))
    return outcome


def _of_values(known: KnownPartition) -> Iterator[Finding]:
    """What is wrong with records that were read, or were not."""
    yield from _one_value(known.acknowledged, known.read)
    yield from _missing(known.acknowledged, known.read, known.given_to_anybody)
    yield from _one_offset(known.produces, known.acknowledged, known.read)
    yield from _polls(known.operations)
    yield from _written(known.produces, known.read)
    yield from _within_answer(known.given_to_anybody)


def _of_ends(known: KnownPartition, there_again: Iterable[Finding]) -> Iterator[Finding]:
    """What is wrong with where the log begins and ends. `there_again`: of what was deleted."""
    events, last = known.events, known.last
    yield from _told_by(LIMITS, goes_back(known.limits))
    yield from _told_by(LIMITS, hidden(known.limits, known.operations, events.plan))
    yield from _told_by(DELETED, there_again)
    yield from _told_by(DELETED, half_done(known.operations))
    fetches = (each.operation for each in known.given_to_anybody)
    yield from _told_by(DELETED, given_all_the_same(fetches, known.deletes))
    if last is not None:
        yield from _beyond(known.acknowledged, known.read, last.end)
        yield from _ends(known.operations, last.end)
        yield from _nowhere(known.nowhere, known.fetches, last)
    elif known.acknowledged and not known.deleted:
        yield from _told_by(READABLE, unreadable(events, known.acknowledged))


def _told_by(clause: Clause, findings: Iterable[Finding]) -> Iterator[Finding]:
    return (replace(each, clause=clause.name) for each in findings)


def _compared(known: KnownPartition, told: int) -> dict[str, Count]:
    """By clause, but for what brokers tell of their logs and producers. `told`: so many answers
    knew of a delete."""
    acknowledged, read, fetches = known.acknowledged, known.read, known.fetches
    late = [each for each in fetches if each.records and fetched(each.operation).get("log_start")]
    # Without an epoch an end binds no other, and is held against the last read alone.
    bound = [
        each
        for each in known.limits
        if known.last or each.limit == "begin" or each.epoch is not None
    ]
    return {
        ONE_VALUE.name: len(acknowledged) + len(read) - len(offsets_of(acknowledged, read)),
        KEPT.name: covered_by(acknowledged, read, known.given_to_anybody),
        READABLE.name: _readable(known),
        IN_ORDER.name: IN_ORDER.seen(successions(fetches)),
        WRITTEN.name: WRITTEN.seen(claim.operation.index for claim in read),
        LIMITS.name: len(bound) - len({each.limit for each in bound}),
        DELETED.name: told + len(late) or "no log began late, and no delete was known to anybody",
        REPLICAS.name: gave_all(known.events, key_of_run(known.events), known.given, known.last),
    }


def _readable(known: KnownPartition) -> Count:
    """How much of what was acknowledged could be read."""
    acknowledged = len(known.acknowledged) + len(known.unplaced)
    if known.deleted:
        return "the topic may have been deleted"
    if acknowledged:
        return acknowledged - len(known.unread) - len(known.nowhere), acknowledged
    return 0 if never_acknowledged(known.produces) else "nothing was acknowledged"


def _figures(known: KnownPartition) -> dict[str, float]:
    above = sum(
        offset >= fetched(fetch.operation).get("high_watermark", offset + 1)
        for fetch in known.fetches
        for offset, _ in fetch.records
    )
    return {
        "acknowledged": len(known.acknowledged),
        "read": len(known.read),
        "fetches": len(known.fetches),
        "read_above_high_watermark": above,
        "without_final_read": float(known.last is None),
        "unread": len(known.unread),
    }


# --- 1, 3: one value an offset, one offset a value ----------------------------------------


def _one_value(acknowledged: Iterable[Claim], read: Iterable[Claim]) -> Iterator[Finding]:
    first: dict[int, Claim] = {}
    reported: set[int] = set()
    for claim in (*acknowledged, *read):
        known = first.setdefault(claim.offset, claim)
        if known.value != claim.value and claim.offset not in reported:
            reported.add(claim.offset)
            yield finding(
                f"offset {claim.offset} holds {known.value} by operation {known.operation.index}, "
                f"and {claim.value} by operation {claim.operation.index}",
                [known.operation, claim.operation],
                clause=ONE_VALUE.name,
            )


def _one_offset(
    produces: Iterable[Operation], acknowledged: Iterable[Claim], read: Iterable[Claim]
) -> Iterator[Finding]:
    """A producer that is not idempotent may have sent its value twice."""
    may_repeat = {
        produce_of(each)["value"]
        for each in produces
        if not produce_of(each).get("idempotent") and revealed(each).get("attempts") != 1
    }
    first: dict[int, Claim] = {}
    reported: set[int] = set()
    for claim in (*acknowledged, *read):
        known = first.setdefault(claim.value, claim)
        if known.offset == claim.offset or claim.value in may_repeat:
            continue
        if claim.value not in reported:
            reported.add(claim.value)
            yield finding(
                f"value {claim.value} stands at offset {known.offset} by operation "
                f"{known.operation.index}, and at {claim.offset} by operation "
                f"{claim.operation.index}",
                [known.operation, claim.operation],
                clause=ONE_VALUE.name,
            )


# --- 2, 6: nothing is lost ----------------------------------------------------------------


def _missing(
    acknowledged: Iterable[Claim], read: Iterable[Claim], fetches: Iterable[Fetch]
) -> Iterator[Finding]:
    """Claims at an offset that some fetch covers and has nothing at. One fetch is named for
    each offset; what has another value there is the first clause's."""
    claims: dict[int, Claim] = {}
    for claim in (*acknowledged, *read):
        claims.setdefault(claim.offset, claim)
    offsets = sorted(claims)
    reported: set[int] = set()
    for fetch in fetches:
        held = {offset for offset, _ in fetch.records}
        for offset in _between(offsets, fetch.begin, fetch.end):
            if offset not in held and offset not in reported:
                reported.add(offset)
                yield _lost(claims[offset], f"operation {fetch.operation.index} passed it", fetch)


def _between(offsets: Sequence[int], begin: int, end: int) -> Sequence[int]:
    return offsets[bisect_left(offsets, begin) : bisect_left(offsets, end)]


def _lost(claim: Claim, how: str, fetch: Fetch | None = None) -> Finding:
    was = "acknowledged" if claim.operation.f == "produce" else "read"
    watermark = (fetched(claim.operation) or {}).get("high_watermark")
    above = was == "read" and isinstance(watermark, int) and claim.offset >= watermark
    return finding(
        f"value {claim.value} was {was} at offset {claim.offset} by operation "
        f"{claim.operation.index}{' above its high watermark' if above else ''}, and is not there: "
        f"{how}",
        [claim.operation, *([fetch.operation] if fetch is not None else [])],
        clause=KEPT.name,
    )


def _beyond(acknowledged: Iterable[Claim], read: Iterable[Claim], end: int) -> Iterator[Finding]:
    reported: set[int] = set()
    for claim in (*acknowledged, *read):
        if claim.offset >= end and claim.offset not in reported:
            reported.add(claim.offset)
            yield _lost(claim, f"the partition ends at {end}")


def _nowhere(
    unplaced: Iterable[Operation], fetches: Sequence[Fetch], last: Fetch
) -> Iterator[Finding]:
    """What was acknowledged before somebody came to the end in the final phase, and stands at no
    offset up to there. Of a log that begins later, or that was read in part, nothing is known."""
    begin, until = spans_of(fetches)[0]
    if log_start_of(fetches) or begin > 0 or until < last.end:
        return
    for produce in unplaced:
        if produce.precedes(last.operation):
            yield finding(
                f"value {produce_of(produce)['value']} was acknowledged by operation "
                f"{produce.index}, which does not tell at which offset, and is not there: the "
                f"partition was read from 0 to its end at {last.end}",
                [produce, last.operation],
                clause=KEPT.name,
            )


# --- 4: polls -----------------------------------------------------------------------------


def _polls(operations: Iterable[Operation]) -> Iterator[Finding]:
    consumers: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        if operation.f == "seek" or (operation.f == "fetch" and operation.ok):
            consumers[str(fetch_from(operation).get("consumer"))].append(operation)
    for name, own in sorted(consumers.items()):
        own.sort(key=lambda each: each.index)
        for before, after in pairwise(own):
            if after.f == "seek" or not before.precedes(after):
                continue
            due = seek_of(before)["to"] if before.f == "seek" else fetch_of(before).end
            begin = fetch_from(after)["from"]
            if before.f == "seek" and not before.ok:
                continue
            if begin != due:
                how = "skipped ahead" if begin > due else "went back"
                yield finding(
                    f"consumer {name} {how}: operation {after.index} fetched from {begin}; "
                    f"operation {before.index} had left it at {due}",
                    [before, after],
                    clause=IN_ORDER.name,
                )


def _within_answer(fetches: Iterable[Fetch]) -> Iterator[Finding]:
    """One answer's records rise, from where it was asked to begin to where it says it ended."""
    for fetch in fetches:
        offsets = [offset for offset, _ in fetch.records]
        rising = all(one < other for one, other in pairwise(offsets))
        asked = fetch_from(fetch.operation)["from"]
        if offsets and (not rising or offsets[0] < asked or offsets[-1] >= fetch.end):
            yield finding(
                f"operation {fetch.operation.index} fetched from {asked} up to {fetch.end}, and "
                f"was given the offsets {offsets[:20]}",
                [fetch.operation],
                clause=IN_ORDER.name,
            )


# --- 5: who wrote it ----------------------------------------------------------------------


def _written(produces: Iterable[Operation], read: Iterable[Claim]) -> Iterator[Finding]:
    wrote = {produce_of(each)["value"]: each for each in produces}
    reported: set[int] = set()
    for claim in read:
        produce = wrote.get(claim.value)
        if claim.value in reported or (produce is not None and not produce.failed):
            continue
        reported.add(claim.value)
        if produce is None:
            yield finding(
                f"operation {claim.operation.index} read {claim.value} at offset {claim.offset}, "
                f"which nobody produced to this partition",
                [claim.operation],
                clause=WRITTEN.name,
            )
        else:
            yield finding(
                f"operation {claim.operation.index} read {claim.value} at offset {claim.offset}; "
                f"operation {produce.index}, which produced it, had failed with "
                f"{produce.error_code}",
                [produce, claim.operation],
                clause=WRITTEN.name,
            )


# --- 7: offsets that never become readable ------------------------------------------------


def _ends(operations: Iterable[Operation], end: int) -> Iterator[Finding]:
    for operation in operations:
        if not operation.ok or not isinstance(operation.result, dict):
            continue
        reported = None
        if operation.f == "list-offsets":
            reported = log_answer(operation).get("offset")
        elif operation.f in ("fetch", OF_REPLICAS):
            reported = fetched(operation).get("high_watermark")
        if isinstance(reported, int) and reported > end:
            what = "the offset" if operation.f == "list-offsets" else "a high watermark of"
            yield finding(
                f"operation {operation.index} ({operation.f}) was told {what} {reported}; the "
                f"partition ends at {end}",
                [operation],
                clause=LIMITS.name,
            )


# --- 11, 12: what brokers tell of their replicas ------------------------------------------


def _reports(events: RunEvents) -> tuple[Count, Count, list[Finding]]:
    """Of one partition: what was compared of sizes and of producers, and what is wrong."""
    if power_losses(each.entries for each in events.faults):
        return LOST_POWER, LOST_POWER, []
    sizes, of_sizes = told_sizes(events, key_of_run(events))
    producers, of_producers = told_producers(events)
    findings = [
        *(replace(each, clause=TOLD_SIZES.name) for each in of_sizes),
        *(replace(each, clause=TOLD_PRODUCERS.name) for each in of_producers),
    ]
    return (
        TOLD_SIZES.seen(sizes) or (0 if _in_vain(events, LOGS) else NO_SIZE),
        producers or (0 if _in_vain(events, PRODUCERS) else NO_PRODUCER),
        findings,
    )


def _in_vain(events: RunEvents, f: str) -> bool:
    """Whether nobody answered, though it was asked often enough."""
    asked = [each for each in events.operations if each.f == f]
    return len(asked) >= IN_VAIN and not any(each.ok for each in asked)


class PartitionData(RunChecker):
    name = "partition-data"
    summary = (
        "Offsets hold one value each, acknowledged values are never lost, consumers "
        "neither skip nor go back, and nothing is read that was refused or later vanishes; what "
        "was acknowledged can be read, and neither end of a log goes back"
    )
    requires = frozenset({"log-operations"})
    clauses = CLAUSES
    check_run = RunCheck(
        partition_data,
        fs=FS,
        observations=True,
        nemesis=True,
        faults=True,
        parts=by_partition,
    )
