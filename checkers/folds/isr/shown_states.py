"""What a broker went by as the state of a partition, by its own answers to whoever asked.

A broker's metadata shows what it has applied of the log. So what it goes by during an operation is
no older than what it showed before that, and no newer than what it showed after, or the end of the
log: one of the states that the log has from the one to the other. Not all of it takes up a change
at one time, and a leader is told of a change that it asked for before the log brings it; so an
answer counts only where there is some time between it and the operation.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeAlias

from checkers.folds.history.observations import as_of_clients
from checkers.folds.history.values import partitions_shown, topic_answer
from checkers.folds.isr.isr import Key
from framework.evidence.changes import PartitionState
from framework.evidence.machine import Machine
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation

SHOWN_FS: Final = ("metadata",)
TAKEN_UP_NS: Final = 250_000_000
"""All of a broker goes by what it shows within this time."""
APPLIED_NS: Final = 1_000_000_000
"""Within this time a broker shows what it was told as a leader."""

State: TypeAlias = tuple[int, int, frozenset[int]]
"""(leader, leader epoch, ISR)."""


@dataclass(frozen=True, slots=True)
class Between:
    """All that a broker may have gone by from one of its answers to another, or to the end, in the
    order of the log."""

    answers: Sequence[Operation]
    states: Sequence[PartitionState]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one showed of a partition, and when it was asked and had answered."""

    operation: Operation
    key: Key
    state: State
    asked_ns: int
    answered_ns: int


@dataclass(frozen=True, slots=True)
class Answers:
    """A broker's, of one partition: from when on each shows what it went by, in the order of that,
    and up to when."""

    since_ns: Sequence[int]
    since: Sequence[Answer]
    until_ns: Sequence[int]
    until: Sequence[Answer]

    @classmethod
    def of(cls, shown: Iterable[Answer], machine: Machine) -> "Answers":
        since = sorted(shown, key=lambda each: each.answered_ns)
        until = sorted(since, key=lambda each: each.asked_ns)
        return cls(
            [machine.until_ns(each.answered_ns, TAKEN_UP_NS) for each in since],
            since,
            [machine.since_ns(each.asked_ns, APPLIED_NS) for each in until],
            until,
        )


@dataclass(frozen=True, slots=True)
class ShownStates:
    """`answers`: by node and partition; `places`: of each state of a partition the first and the
    last record that has it; `records`: by partition, in the order of the log."""

    answers: Mapping[tuple[str | None, Key], Answers]
    places: Mapping[Key, Mapping[State, tuple[int, int]]]
    records: Mapping[Key, Sequence[PartitionState]]

    @classmethod
    def of(
        cls, events: RunEvents, records: Mapping[Key, Sequence[PartitionState]]
    ) -> "ShownStates":
        machines = events.machines
        shown: dict[tuple[str, Key], list[Answer]] = defaultdict(list)
        for each in _shown(events):
            if each.operation.node is not None:
                shown[each.operation.node, each.key].append(each)
        return cls(
            {
                (node, key): Answers.of(own, machines.of_node(node))
                for (node, key), own in shown.items()
            },
            {key: _places(own) for key, own in records.items()},
            records,
        )

    def around(self, operation: Operation, key: Key) -> Between | None:
        """What the node that answered went by meanwhile; None: that is not known."""
        answers = self.answers.get((operation.node, key))
        if answers is None or operation.invoked_ns is None or operation.completed_ns is None:
            return None
        before = bisect_left(answers.since_ns, operation.invoked_ns)
        if not before:
            return None
        after = bisect_right(answers.until_ns, operation.completed_ns)
        shown = [answers.since[before - 1], *answers.until[after : after + 1]]
        states = self._between(key, *(each.state for each in shown))
        return Between([each.operation for each in shown], states) if states else None

    def _between(
        self, key: Key, older: State, newer: State | None = None
    ) -> Sequence[PartitionState]:
        """All from one to the other, or to the end; none where the log does not have them."""
        records, places = self.records[key], self.places[key]
        if older not in places or (newer is not None and newer not in places):
            return []
        end = places[newer][1] + 1 if newer is not None else None
        states = records[places[older][0] : end]
        return states if _follow(states) else []


def _shown(events: RunEvents) -> Iterator[Answer]:
    for each in (*events.operations, *as_of_clients(events.observations)):
        asked_ns, answered_ns = each.invoked_ns, each.completed_ns
        if each.f in SHOWN_FS and each.ok and asked_ns is not None and answered_ns is not None:
            for shown in partitions_shown(each):
                key = topic_answer(each)["topic_id"], shown["partition"]
                state = shown["leader"], shown["leader_epoch"], frozenset(shown["isr"])
                yield Answer(each, key, state, asked_ns, answered_ns)


def _places(records: Sequence[PartitionState]) -> Mapping[State, tuple[int, int]]:
    found: dict[State, tuple[int, int]] = {}
    for at, each in enumerate(records):
        state = each.leader, each.leader_epoch, frozenset(each.isr)
        first, _ = found.get(state, (at, at))
        found[state] = first, at
    return found


def _follow(states: Sequence[PartitionState]) -> bool:
    """Whether no version is missing."""
    return all(
        each.partition_epoch + 1 == after.partition_epoch for each, after in pairwise(states)
    )
