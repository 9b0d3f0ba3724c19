"""What is known of one partition's leader and ISR: what clients asked for and were shown of it."""

import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from checkers.folds.history.values import (
    IsrState,
    PartitionShown,
    alter_isr,
    altered_isr,
    isr_of,
    key_of,
    partitions_shown,
    topic_answer,
)
from framework.evidence.changes import NO_LEADER
from framework.history.pairing import Operation

FOLLOW: Final = "follow"
"""A read of what was committed, which may be behind."""
FS: Final = ("alter-isr", "describe", FOLLOW)
UNBOUNDED: Final = sys.maxsize

Key: TypeAlias = tuple[str, int]
"""(topic id, partition)."""


@dataclass(frozen=True, slots=True)
class State:
    """What a version stands for. The ISR is a set: its order says nothing."""

    leader: int
    leader_epoch: int
    isr: frozenset[int]

    def __str__(self) -> str:
        members = ", ".join(map(str, sorted(self.isr)))
        return f"leader {self.leader}, leader epoch {self.leader_epoch}, ISR [{members}]"


@dataclass(frozen=True, slots=True)
class Sight:
    """An operation showed a state at a version. `at_least`: what it must not have been below
    of what had ended before it began - the version that it named, or that it read; `UNBOUNDED` for
    a read that may be behind. `eligible`: who else may lead (KIP-966); None: it does not say."""

    operation: Operation
    version: int
    at_least: int
    state: State
    eligible: frozenset[int] | None = None


def keys_of(operation: Operation) -> Iterator[Key]:
    """The partitions that an operation is about, or shows."""
    if operation.f == "alter-isr":
        yield key_of(alter_isr(operation))
    elif operation.f in FS and operation.ok and isinstance(operation.result, dict):
        for shown in partitions_shown(operation):
            yield str(topic_answer(operation)["topic_id"]), int(shown["partition"])


def sights(operations: Iterable[Operation], key: Key) -> Iterator[Sight]:
    """What successes showed of a partition."""
    for operation in operations:
        if not operation.ok or not isinstance(operation.result, dict):
            continue
        if operation.f == "alter-isr":
            answer, named = altered_isr(operation), alter_isr(operation)["partition_epoch"]
            yield Sight(operation, answer["partition_epoch"], named, state_of(answer))
        for shown in partitions_shown(operation):
            if shown["partition"] == key[1] and "partition_epoch" in shown:
                version = shown["partition_epoch"]
                at_least = UNBOUNDED if operation.f == FOLLOW else version
                eligible = frozenset(shown["eligible"]) if "eligible" in shown else None
                yield Sight(operation, version, at_least, state_of(shown), eligible)


class FirstShown:
    """Of all that was shown of one partition, which was first of later versions than another."""

    def __init__(self, shown: Iterable[Sight]) -> None:
        ended = [each for each in shown if each.operation.end is not None]
        self._ordered = sorted(ended, key=lambda each: each.version)
        for at in reversed(range(len(self._ordered) - 1)):
            self._ordered[at] = min(self._ordered[at : at + 2], key=_end)
        self._versions = sorted(each.version for each in ended)

    def than(self, version: int) -> list[Sight]:
        """At most one."""
        at = bisect_right(self._versions, version)
        return self._ordered[at : at + 1]


def _end(sight: Sight) -> int:
    return sight.operation.end or 0


def state_of(fields: IsrState | PartitionShown) -> State:
    """Of an answer."""
    return State(fields["leader"], fields["leader_epoch"], frozenset(fields["isr"]))


def needs_a_request(before: State, after: State) -> bool:
    """Whether a controller does not make that step of its own accord: it adds nobody to the ISR of
    a leader in its epoch, and changes something."""
    if before == after:
        return True
    led = (before.leader, before.leader_epoch) == (after.leader, after.leader_epoch)
    return led and before.leader != NO_LEADER and not after.isr <= before.isr


def by_version(changes: Iterable[Operation]) -> Mapping[int, Sequence[Operation]]:
    """Requests of one partition, by the version that they name."""
    found: dict[int, list[Operation]] = defaultdict(list)
    for each in changes:
        found[alter_isr(each)["partition_epoch"]].append(each)
    return found


def asking(changes: Iterable[Operation], version: int, state: State) -> list[Operation]:
    """Requests that name this version and ask for this ISR."""
    return [
        each
        for each in changes
        if alter_isr(each)["partition_epoch"] == version and isr_of(each) == state.isr
    ]


def clients_asked(
    changes: Iterable[Operation], shown: Iterable[Sight], version: int, before: State, after: State
) -> bool:
    """Whether a client that plays the leader of `before`, at that version, asked for the step
    before anybody was shown what it made."""
    first = min(
        (
            sight.operation.end
            for sight in shown
            if sight.version > version and sight.operation.end is not None
        ),
        default=float("inf"),
    )
    return any(
        not each.failed
        and each.index < first
        and (alter_isr(each)["broker_id"], alter_isr(each)["leader_epoch"])
        == (before.leader, before.leader_epoch)
        for each in asking(changes, version, after)
    )


def asked_earlier(
    changes: Iterable[Operation], version: int, after: State
) -> tuple[str, list[Operation]]:
    """Requests for the same ISR at an earlier version: one of them may have been applied twice.
    Also what to say of them."""
    earlier = [
        each
        for each in changes
        if not each.failed
        and alter_isr(each)["partition_epoch"] < version
        and isr_of(each) == after.isr
    ][-3:]
    who = ", ".join(str(each.index) for each in earlier)
    return (f": was a change applied twice (operations {who})?" if earlier else ""), earlier


def step(before: State, after: State, version: int) -> str:
    """What the step from a version is, for people."""
    if before == after:
        return f"repeats version {version}"
    added = sorted(after.isr - before.isr)
    return f"adds {added} to the ISR of version {version}"
