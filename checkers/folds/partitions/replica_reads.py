"""What each broker has of a partition, leader or not, as it gives it to who compares replicas: a
fetch like another, of what is committed as far as that broker knows (KIP-392)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from checkers.folds.history.roles import BROKER, ids_in
from checkers.folds.partitions.claims import Fetch, fetch_of
from checkers.folds.partitions.told_logs import Replicas
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import Count, Finding

OF_REPLICAS: Final = "replica-fetch"
NOT_ASKED: Final = "no replica was asked"
NOT_KNOWN: Final = "which replicas were in sync in the end, or where the partition ends, is unknown"


def given_by_replicas(operations: Sequence[Operation]) -> list[Fetch]:
    """All that any replica gave."""
    return [fetch_of(each) for each in operations if each.f == OF_REPLICAS and each.ok]


def of_replicas(
    findings: Iterable[Finding], given: Iterable[Fetch], clause: str
) -> Iterator[Finding]:
    """The findings, of which those that rest on what a replica gave break this clause."""
    own = {fetch.operation.index for fetch in given}
    for each in findings:
        yield each if own.isdisjoint(each.operations) else replace(each, clause=clause)


def gave_all(events: RunEvents, key: str, given: Sequence[Fetch], last: Fetch | None) -> Count:
    """How many of the replicas that were in sync in the end gave all up to there, the final read's
    end, after that was shown; and how many were in sync. `events`: as `Replicas.of` has them."""
    if not any(each.f == OF_REPLICAS for each in events.operations):
        return NOT_ASKED
    replicas, ids = Replicas.of(events, key), ids_in(events.plan, BROKER)
    if last is None or not replicas.in_sync:
        return NOT_KNOWN
    reached = {
        ids[str(fetch.operation.node)]
        for fetch in given
        if fetch.operation.node in ids
        and fetch.operation.index > replicas.since
        and fetch.end >= last.end
    }
    return len(reached & replicas.in_sync), len(replicas.in_sync)
