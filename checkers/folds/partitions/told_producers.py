"""Who wrote to a partition, by its own log: producers with an id, and how far each is (KIP-664).

A produce tells under which id, epoch and sequence number its client sent it. A log knows of nobody
else, and of none further than that. Whoever was acknowledged is known, as far as that, in the end:
logs forget producers only with their records, or after a day.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import Final

from checkers.folds.history.log_values import ActiveProducer, log_answer, produce_of, producers_told
from checkers.folds.history.operations import end_of
from checkers.folds.history.values import revealed
from checkers.folds.partitions.log_ends import may_be_removed
from framework.checking.findings import finding
from framework.evidence.run_events import RunEvents, settled
from framework.history.pairing import FINAL, Operation
from framework.plugins.checker import Finding

PRODUCERS: Final = "producers"


@dataclass(frozen=True, slots=True)
class Sent:
    """A batch of a producer with an id, and the produce that sent it."""

    produce: Operation
    id: int
    epoch: int
    sequence: int


def told_producers(events: RunEvents) -> tuple[int, list[Finding]]:
    """How many producers were told, or had to be. `events`: what was done with one partition."""
    answers = [each for each in events.operations if each.f == PRODUCERS and each.ok]
    if not answers:
        return 0, []
    produces = [
        each
        for each in events.operations
        if each.f == "produce" and produce_of(each).get("idempotent")
    ]
    sent = list(_sent(produces))
    # What failed and does not tell was given up before it was sent.
    known = all(each.failed or "sent_as" in revealed(each) for each in produces)
    by_id = _by_id(sent)
    kept = _kept(events, sent) if settled(events.nemesis) is True else {}
    compared, findings = 0, list[Finding]()
    for answer in answers:
        told = producers_told(answer)
        compared += len(told)
        for one in told:
            findings += _wrong(answer, one, by_id, known=known)
        if answer.phase == FINAL:
            due = {id: each for id, each in kept.items() if each.produce.precedes(answer)}
            compared += len(due)
            findings += _missing(answer, told, due)
    return compared, findings


@dataclass(frozen=True, slots=True)
class _Producer:
    """What one has sent, in the order in which it began to: of each batch its `index`, and the
    highest sequence number up to it; and under which epochs."""

    indices: Sequence[int]
    highest: Sequence[Sent]
    epochs: frozenset[int]

    def before(self, end: float) -> Sent | None:
        """The highest that it had sent by then."""
        at = bisect_left(self.indices, end)
        return self.highest[at - 1] if at else None


def _by_id(sent: Iterable[Sent]) -> Mapping[int, _Producer]:
    own: dict[int, list[Sent]] = defaultdict(list)
    for each in sorted(sent, key=lambda each: each.produce.index):
        own[each.id].append(each)
    return {
        id: _Producer(
            [each.produce.index for each in batches],
            list(accumulate(batches, partial(max, key=lambda each: each.sequence))),
            frozenset(each.epoch for each in batches),
        )
        for id, batches in own.items()
    }


def _sent(produces: Iterable[Operation]) -> Iterator[Sent]:
    for each in produces:
        told = revealed(each).get("sent_as")
        if told is not None:
            id, epoch, sequence = told
            yield Sent(each, id, epoch, sequence)


def _kept(events: RunEvents, sent: Iterable[Sent]) -> Mapping[int, Sent]:
    """By producer, the last one that was acknowledged, where its record cannot be deleted."""
    kept_from = may_be_removed(events.operations)
    last: dict[int, Sent] = {}
    for each in sorted(sent, key=lambda each: each.sequence):
        offset = log_answer(each.produce).get("offset", -1) if each.produce.ok else -1
        if offset >= kept_from:
            last[each.id] = each
    return last


def _wrong(
    answer: Operation, one: ActiveProducer, by_id: Mapping[int, _Producer], *, known: bool
) -> Iterator[Finding]:
    """`known`: all produces tell as what they were sent."""
    producer = by_id.get(one["id"])
    last = None if producer is None else producer.before(end_of(answer))
    if producer is None or last is None:
        if known:
            yield _finding(answer, f"tells of producer {one['id']}, and nobody wrote under that id")
        return
    if one["epoch"] not in producer.epochs:
        yield _finding(
            answer,
            f"tells of producer {one['id']} in epoch {one['epoch']}, and it wrote in {last.epoch}",
            last.produce,
        )
    if one["last"] > last.sequence:
        yield _finding(
            answer,
            f"tells of sequence number {one['last']} of producer {one['id']}, which had sent "
            f"{last.sequence} as its last",
            last.produce,
        )


def _missing(
    answer: Operation, told: Sequence[ActiveProducer], due: Mapping[int, Sent]
) -> Iterator[Finding]:
    """Producers that were acknowledged further than they are told to be."""
    lasts = {each["id"]: each["last"] for each in told}
    for id, each in due.items():
        if lasts.get(id, -1) < each.sequence:
            how = f"as far as {lasts[id]}" if id in lasts else "not at all"
            yield _finding(
                answer,
                f"knows producer {id} {how}, and had acknowledged its sequence number "
                f"{each.sequence}",
                each.produce,
            )


def _finding(answer: Operation, what: str, *beside: Operation) -> Finding:
    return finding(
        f"{answer.node} {what} ({answer.key}, operation {answer.index})", [*beside, answer]
    )
