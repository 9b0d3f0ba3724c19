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
from typing import Final, TypeAlias

from checkers.folds.isr import Key
from checkers.folds.observations import as_of_clients
from checkers.folds.values import partitions_shown, topic_answer
from framework.evidence.changes import PartitionState
from framework.evidence.machine import Machine, Machines
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
    """What one showed of a partition."""

    operation: Operation
    key: Key
    state: State


@dataclass(frozen=True, slots=True)
class Answers:
    """A broker's, of one partition: those that ended before a time, and those that began after."""

    ended_ns: Sequence[int]
    ended: Sequence[Answer]
    began_ns: Sequence[int]
    began: Sequence[Answer]

    @classmethod
    def of(cls, shown: Iterable[Answer], machine: Machine) -> "Answers":
        ended = sorted(shown, key=_ended_ns)
        began = sorted(ended, key=_began_ns)
        return cls(
            [machine.until_ns(_ended_ns(each), TAKEN_UP_NS) for each in ended],
            ended,
            [machine.since_ns(_began_ns(each), APPLIED_NS) for each in began],
            began,
        )


@dataclass(frozen=True, slots=True)
class ShownStates:
    """`answers`: by node and partition; `places`: of each state of a partition the first and the
    last record that has it; `records`: by partition, in the order of the log."""

    answers: Mapping[tuple[str, Key], Answers]
    places: Mapping[Key, Mapping[State, tuple[int, int]]]
    records: Mapping[Key, Sequence[PartitionState]]

    @classmethod
    def of(
        cls, events: RunEvents, records: Mapping[Key, Sequence[PartitionState]]
    ) -> "ShownStates":
        machines = Machines.of(events.plan)
        shown: dict[tuple[str, Key], list[Answer]] = defaultdict(list)
        for each in _shown(events):
            if each.key in records and each.operation.node is not None:
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
        answers = self.answers.get((operation.node or "", key))
        if answers is None or operation.invoked_ns is None or operation.completed_ns is None:
            return None
        before = bisect_left(answers.ended_ns, operation.invoked_ns)
        if not before:
            return None
        after = bisect_right(answers.began_ns, operation.completed_ns)
        shown = [answers.ended[before - 1], *answers.began[after : after + 1]]
        states = self._between(key, *(each.state for each in shown))
        return Between([each.operation for each in shown], states) if states else None

    def _between(
        self, key: Key, older: State, newer: State | None = None
    ) -> Sequence[PartitionState]:
        """All from one to the other, or to the end; none where the log does not have them."""
        places, records = self.places[key], self.records[key]
        if older not in places or (newer is not None and newer not in places):
            return ()
        end = len(records) if newer is None else places[newer][1] + 1
        states = records[places[older][0] : end]
        return states if _are_all(states) else ()


def _ended_ns(answer: Answer) -> int:
    return answer.operation.completed_ns or 0


def _began_ns(answer: Answer) -> int:
    return answer.operation.invoked_ns or 0


def _shown(events: RunEvents) -> Iterator[Answer]:
    for each in (*events.operations, *as_of_clients(events.observations)):
        if each.f in SHOWN_FS and each.ok:
            for shown in partitions_shown(each):
                key = topic_answer(each)["topic_id"], shown["partition"]
                state = shown["leader"], shown["leader_epoch"], frozenset(shown["isr"])
                yield Answer(each, key, state)


def _places(records: Sequence[PartitionState]) -> Mapping[State, tuple[int, int]]:
    found: dict[State, tuple[int, int]] = {}
    for at, each in enumerate(records):
        state = each.leader, each.leader_epoch, frozenset(each.isr)
        found[state] = found.get(state, (at, at))[0], at
    return found


def _are_all(states: Sequence[PartitionState]) -> bool:
    """Whether no version is missing between the first and the last."""
    if not states:
        return False
    return states[-1].partition_epoch - states[0].partition_epoch == len(states) - 1
