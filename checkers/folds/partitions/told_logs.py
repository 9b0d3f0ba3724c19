"""How large brokers say that the logs of a partition are which they have (KIP-113).

A broker that has a log of a partition was given it: by the replicas that the partition was created
with, or because somebody wanted it there. Once the cluster has settled and no replicas are being
changed, each broker in sync has one, and in it every record that the final reads were given. No log
has more than all that was ever sent to its partition.

Values are produced one by one, each in a batch of its own, which brokers keep as it came.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from checkers.folds.history.log_values import fetched, log_dirs, logs_told
from checkers.folds.history.operations import end_of
from checkers.folds.history.roles import BROKER, ids_in
from checkers.folds.history.values import PartitionShown, partitions_shown, reassignments_of
from checkers.folds.partitions.log_ends import may_be_removed
from checkers.folds.requests.reassigned import Wish, wishes_of
from framework.checking.findings import finding
from framework.evidence.run_events import RunEvents, settled
from framework.history.event import is_observer
from framework.history.pairing import FINAL, Operation
from framework.plugins.checker import Finding

LOGS: Final = "log-dirs"
READS: Final = ("describe", "follow", "metadata")
"""They show replicas, and who of them is in sync."""
LEAST_BYTES: Final = 61
"""The header of a record batch (message format 2, KIP-98)."""
MOST_BYTES: Final = 128
"""A batch of one value: its header, and a record of a number in digits."""


def by_key(answers: Iterable[Operation]) -> Iterator[Operation]:
    """What each answer about logs tells of each partition that it was asked of; questions that were
    not answered, too."""
    for each in answers:
        for key in log_dirs(each)["keys"]:
            own = [log for log in logs_told(each) if log["key"] == key] if each.ok else None
            yield replace(each, key=key, result=own)


def told_sizes(events: RunEvents, key: str) -> tuple[list[int], list[Finding]]:
    """The operations whose answers could be held against something. `events`: what was done with
    the partition `key`, all reads of its topic, and all that moves partitions."""
    ids = ids_in(events.plan, BROKER)
    answers = sorted(
        (each for each in events.operations if each.f == LOGS and each.ok and each.node in ids),
        key=lambda each: each.index,
    )
    if not answers:
        return [], []
    replicas = Replicas.of(events, key)
    sent = sorted(each.index for each in events.operations if each.f == "produce")
    findings = [
        found
        for each in answers
        for found in _wrong(each, ids[str(each.node)], replicas, bisect_left(sent, end_of(each)))
    ]
    last = {str(each.node): each for each in answers if each.index > replicas.since}
    in_sync = [each for node, each in last.items() if ids[node] in replicas.in_sync]
    held = _held(events.operations) if in_sync else {}
    findings += [found for each in in_sync for found in _lacking(each, held)]
    return [each.index for each in (*answers, *in_sync)], findings


# --- who has a log ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Replicas:
    """`first`: those that the partition was created with, where somebody showed them before others
    were wanted. `asked`: when others were, and `wanted`, all up to then. `in_sync`: in the end, as
    a read showed it that ended at `since`; none, where something may still have moved."""

    first: frozenset[int] | None
    asked: Sequence[int]
    wanted: Sequence[frozenset[int]]
    in_sync: frozenset[int]
    since: float

    @classmethod
    def of(cls, events: RunEvents, key: str) -> "Replicas":
        reads = list(_shown(events.operations, key))
        moves = wishes_of(events.operations).get(key, ())
        created = (
            frozenset(state.get("replicas") or ())
            for read, state in reads
            if not moves or read.precedes(moves[0].operation)
        )
        goals = (frozenset(each.goal or ()) for each in moves)
        rest = _at_rest(events.operations, moves)
        final = [
            (state, end_of(read))
            for read, state in reads
            if read.phase == FINAL and read.index > rest and not is_observer(read.process)
        ]
        state, since = final[-1] if final and settled(events.nemesis) is True else (None, 0)
        return cls(
            first=next(created, None),
            asked=[each.operation.index for each in moves],
            wanted=list(accumulate(goals, frozenset.union, initial=frozenset[int]())),
            in_sync=frozenset(state["isr"] if state is not None else ()),
            since=since,
        )

    def may_have(self, answer: Operation) -> frozenset[int] | None:
        """The brokers that may have had a log when it was given; None: nobody knows."""
        if self.first is None:
            return None
        return self.first | self.wanted[bisect_left(self.asked, end_of(answer))]


def _shown(operations: Iterable[Operation], key: str) -> Iterator[tuple[Operation, PartitionShown]]:
    """The partition in reads of its topic, in order."""
    number = int(key.rpartition("/")[2])
    reads = (each for each in operations if each.f in READS and each.ok)
    for read in sorted(reads, key=lambda each: each.index):
        for state in partitions_shown(read):
            if state["partition"] == number and state.get("replicas") is not None:
                yield read, state


def _at_rest(operations: Iterable[Operation], moves: Sequence[Wish]) -> float:
    """After which event nothing moves: once somebody was told so in the end, where anybody had
    asked for other replicas."""
    if not moves:
        return -1
    looks = (
        end_of(each)
        for each in operations
        if each.f == "reassignments" and each.phase == FINAL and each.ok
        if not reassignments_of(each)
    )
    return min(looks, default=float("inf"))


# --- what is wrong ------------------------------------------------------------------------


def _wrong(answer: Operation, broker: int, replicas: Replicas, sent: int) -> Iterator[Finding]:
    """At any time. `sent`: so many values were, by then."""
    logs, may_have = logs_told(answer), replicas.may_have(answer)
    if len(logs) > 1 or any(each.get("future") for each in logs):
        yield _finding(answer, "other logs than the one that it serves, which nobody asked for")
    if logs and may_have is not None and broker not in may_have:
        yield _finding(answer, f"a log, and brokers {sorted(may_have)} alone were to have one")
    for each in logs:
        if not 0 <= each["size"] <= sent * MOST_BYTES:
            yield _finding(
                answer,
                f"a log of {each['size']} bytes, and {sent} values of {MOST_BYTES} bytes at most "
                "had been sent",
            )


def _held(operations: Sequence[Operation]) -> Mapping[int, Operation]:
    """The offsets of which final fetches were given a record, and by which one: but for those that
    somebody wanted to delete."""
    kept_from = may_be_removed(operations)
    return {
        offset: each
        for each in operations
        if each.f == "fetch" and each.ok and each.phase == FINAL
        for offset, _ in fetched(each).get("records") or ()
        if offset >= kept_from
    }


def _lacking(answer: Operation, held: Mapping[int, Operation]) -> Iterator[Finding]:
    """In the end, of a broker that is in sync."""
    logs = logs_told(answer)
    if not logs:
        yield _finding(answer, "no log, though it is in sync")
    elif sum(each["size"] for each in logs) < len(held) * LEAST_BYTES:
        yield _finding(
            answer,
            f"a log of {logs[0]['size']} bytes, though it is in sync, and the final reads were "
            f"given {len(held)} records of {LEAST_BYTES} bytes at least",
            next(iter(held.values())),
        )


def _finding(answer: Operation, what: str, *beside: Operation) -> Finding:
    return finding(
        f"{answer.node} tells of {what} ({answer.key}, operation {answer.index})",
        [*beside, answer],
    )
