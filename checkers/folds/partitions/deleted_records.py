"""Deletes of records that were acknowledged: what is told afterwards does not undo them.

By KIP-107 a delete is acknowledged when every replica that its leader waits for begins there. How
long that holds is the system's: Kafka writes down where logs begin once a minute, so that a killed
broker may begin where it did before, and waits for no broker that is away. So without the word of a
system (`kept-log-starts`) an acknowledgement binds the process that gave it, which never lets a log
begin earlier, and all of them where nothing happened to anybody.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, TypeAlias

from checkers.folds.history.lives import Lives
from checkers.folds.history.log_values import delete_records, deleted, fetch_from, fetched
from checkers.folds.partitions.log_ends import LimitAnswer
from framework.checking.findings import finding
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.capabilities import KEPT_LOG_STARTS
from framework.plugins.checker import Finding

Life: TypeAlias = tuple[str, int]
"""(node, how often it was started anew)."""
_ANYBODY: Final[Life] = ("", 0)


def acknowledged(operations: Iterable[Operation]) -> list[Operation]:
    """Deletes that were, in the order of their answers."""
    found = [
        each
        for each in operations
        if each.f == "delete-records" and each.ok and isinstance(each.result, Mapping)
    ]
    return sorted(found, key=lambda each: each.end or 0)


def begins_at(delete: Operation) -> int:
    """Where the log begins at least, once this delete was acknowledged."""
    return max(delete_records(delete)["before"], deleted(delete).get("low_watermark", 0))


def keeps(events: RunEvents) -> bool:
    """Whether the run's system promises that deletes outlive its processes."""
    return KEPT_LOG_STARTS in (events.plan.get("capabilities") or ())


@dataclass(frozen=True, slots=True)
class _Highest:
    """Deletes in the order of their answers: each with the one up to it that reaches highest."""

    ends: Sequence[int]
    best: Sequence[Operation]

    @classmethod
    def of(cls, deletes: Iterable[Operation]) -> "_Highest":
        answered = list(deletes)
        best = accumulate(answered, _higher)
        return cls([each.end or 0 for each in answered], list(best))

    def before(self, operation: Operation) -> Operation | None:
        """The highest one that was acknowledged when the operation began."""
        at = bisect_left(self.ends, operation.index)
        return self.best[at - 1] if at else None


def _higher(one: Operation, other: Operation) -> Operation:
    return max(one, other, key=begins_at)


@dataclass(frozen=True, slots=True)
class Deletes:
    """The acknowledged deletes of a partition by whom they bind."""

    lives: Lives
    everywhere: bool
    highest: Mapping[Life, _Highest]

    @classmethod
    def of(cls, events: RunEvents, operations: Iterable[Operation]) -> "Deletes":
        lives, everywhere = Lives(events.faults), keeps(events) or not events.faults
        by_life: dict[Life, list[Operation]] = defaultdict(list)
        for each in acknowledged(operations):
            life = _ANYBODY if everywhere else lives.of(each)
            if life is not None:
                by_life[life].append(each)
        highest = {life: _Highest.of(own) for life, own in by_life.items()}
        return cls(lives, everywhere, highest)

    def binding(self, answer: Operation) -> Operation | None:
        """The highest one that whoever answered had to know."""
        life = _ANYBODY if self.everywhere else self.lives.of(answer)
        own = None if life is None else self.highest.get(life)
        return None if own is None else own.before(answer)


def undone(answers: Iterable[LimitAnswer], deletes: Deletes) -> tuple[int, list[Finding]]:
    """Answers by which the log begins before an acknowledged delete, and of how many it was
    known."""
    compared, findings = 0, list[Finding]()
    for each in answers:
        before = deletes.binding(each.operation) if each.limit == "begin" else None
        if before is None:
            continue
        compared += 1
        if each.offset < begins_at(before):
            findings.append(
                finding(
                    f"records are there again: a leader told {each}, after operation "
                    f"{before.index} had deleted all before {begins_at(before)}",
                    [before, each.operation],
                )
            )
    return compared, findings


def half_done(operations: Iterable[Operation]) -> Iterator[Finding]:
    """Deletes that were acknowledged with the word that replicas begin earlier."""
    for each in acknowledged(operations):
        asked, told = delete_records(each)["before"], deleted(each).get("low_watermark")
        if told is not None and told < asked:
            yield finding(
                f"operation {each.index} was to delete all before {asked}, and was acknowledged "
                f"with the low watermark {told}",
                [each],
            )


def given_all_the_same(fetches: Iterable[Operation], deletes: Deletes) -> Iterator[Finding]:
    """Fetches that were given records from below where the log begins: by their own answers, or,
    where those do not tell, by an acknowledged delete."""
    for each in fetches:
        offsets = [offset for offset, _ in fetched(each).get("records") or ()]
        begin = fetched(each).get("log_start")
        before = deletes.binding(each) if begin is None else None
        start = begins_at(before) if before is not None else begin or 0
        if offsets and min(offsets) < start:
            yield finding(
                f"operation {each.index} fetched from {fetch_from(each)['from']}, and was given "
                f"offset {min(offsets)} of a log that begins at {start}",
                [*([before] if before is not None else []), each],
            )
