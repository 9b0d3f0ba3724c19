"""What clients saw of one partition: which value stands at which offset, by whom, and how far each
fetch went."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

from checkers.folds.history.log_values import fetch_from, fetched, log_answer, produce_of
from framework.history.pairing import FINAL, Operation

CONSUMER: Final = "final"
"""The one of the final phase."""


@dataclass(frozen=True, slots=True)
class Fetch:
    """An answered fetch: it covers the offsets from `begin` up to `end`."""

    operation: Operation
    begin: int
    end: int
    records: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody showed that `value` stands at `offset`: the broker that took it, or a fetch."""

    offset: int
    value: int
    operation: Operation


def fetch_of(operation: Operation) -> Fetch:
    result = fetched(operation)
    records = tuple((offset, value) for offset, value in result.get("records") or ())
    begin = fetch_from(operation)["from"]
    after = records[-1][0] + 1 if records else begin
    start = result.get("log_start") or 0
    return Fetch(operation, max(begin, start), result.get("position", after), records)


def acknowledged_by(produces: Iterable[Operation]) -> Iterator[Claim]:
    """Of acks=all, which alone promises that the value stays where it is."""
    for operation in produces:
        offset = _offset(operation)
        if _promises(operation) and offset is not None:
            yield Claim(offset, produce_of(operation)["value"], operation)


def unplaced_by(produces: Iterable[Operation]) -> Iterator[Operation]:
    """Promised, and nobody says at which offset."""
    return (each for each in produces if _promises(each) and _offset(each) is None)


def never_acknowledged(produces: Iterable[Operation]) -> bool:
    """Whether of those that ask for it (acks=all) none was acknowledged, though some were not
    refused: a system that does not answer them is no want of occasion, however few they are."""
    own = [each for each in produces if _of_all(each) and not each.failed]
    return bool(own) and not any(each.ok for each in own)


def _of_all(produce: Operation) -> bool:
    return str(produce_of(produce).get("acks")) in ("all", "-1")


def _promises(produce: Operation) -> bool:
    return produce.ok and produce_of(produce).get("acks") == "all"


def _offset(produce: Operation) -> int | None:
    """Kafka's -1 is none."""
    offset = log_answer(produce).get("offset")
    return offset if isinstance(offset, int) and offset >= 0 else None


def offsets_of(acknowledged: Iterable[Claim], read: Iterable[Claim]) -> set[int]:
    return {claim.offset for claim in (*acknowledged, *read)}


def covered_by(
    acknowledged: Iterable[Claim], read: Iterable[Claim], fetches: Sequence[Fetch]
) -> int:
    """Claims whose offset a fetch covers that is not their own."""
    begins = sorted(fetch.begin for fetch in fetches)
    ends = sorted(fetch.end for fetch in fetches)

    def times(claim: Claim) -> int:
        return bisect_right(begins, claim.offset) - bisect_right(ends, claim.offset)

    own = sum(times(claim) > 0 for claim in acknowledged)
    return own + sum(times(claim) > 1 for claim in read)


def successions(fetches: Iterable[Fetch]) -> Iterator[int]:
    """Of records that follow another in an answer, and fetches that follow their consumer's last:
    each time the answer."""
    consumers: set[str] = set()
    for fetch in fetches:
        consumer = str(fetch_from(fetch.operation).get("consumer"))
        compared = max(0, len(fetch.records) - 1) + (consumer in consumers)
        yield from repeat(fetch.operation.index, compared)
        consumers.add(consumer)


def last_read(fetches: Iterable[Fetch]) -> Fetch | None:
    """The final fetch that reached the partition's end, where that was furthest, and the last one
    there; None: none reached it."""
    reached = [
        fetch
        for fetch in fetches
        if fetch.operation.phase == FINAL
        and fetch_from(fetch.operation).get("consumer") == CONSUMER
        and fetch.end >= fetched(fetch.operation).get("high_watermark", fetch.end)
    ]
    return max(reached, key=lambda each: (each.end, each.operation.index), default=None)


def unread_of(acknowledged: Iterable[Claim], fetches: Sequence[Fetch]) -> list[Claim]:
    """Acknowledged values whose offsets no fetch covers. (What a log's beginning hides is told
    elsewhere.)"""
    start, spans = log_start_of(fetches), spans_of(fetches)
    ends = [end for _, end in spans]

    def covered(offset: int) -> bool:
        at = bisect_right(ends, offset)
        return offset < start or (at < len(spans) and spans[at][0] <= offset)

    return [claim for claim in acknowledged if not covered(claim.offset)]


def log_start_of(fetches: Iterable[Fetch]) -> int:
    """The latest that somebody told."""
    return max((fetched(fetch.operation).get("log_start") or 0 for fetch in fetches), default=0)


def spans_of(fetches: Iterable[Fetch]) -> list[tuple[int, int]]:
    """What fetches cover, in pieces that do not touch."""
    spans: list[tuple[int, int]] = []
    for begin, end in sorted((fetch.begin, fetch.end) for fetch in fetches):
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    return spans
