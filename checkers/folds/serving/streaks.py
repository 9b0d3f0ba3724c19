"""The longest time for which operations were in vain though service was owed, over columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from checkers.folds.history.peace import Stretch
from checkers.folds.serving.asked import Asked, Flags, Places, Times
from framework.evidence.machine import UNMEASURED, Machine

TRIES: Final = 3
"""What was tried fewer times may have met a bad moment each time. So no success is asked of a kind
that was rarely asked for, of which fewer were tried in peace and the others were not."""


SHORT: Final = 2
"""A short stretch counts for one in so many: recovery begins anew with each, but not for ever."""


@dataclass(frozen=True, slots=True)
class Streak:
    """Operations in vain, one after another, from `since_ns` on.

    tried: those that were asked for and given up while service was owed. until_ns: the end of the
    last one. owed_ns: how long service was owed, and not given, as far as it counts. longest_ns: in
    one stretch.
    """

    since_ns: int = 0
    until_ns: int = 0
    owed_ns: int = 0
    longest_ns: int = 0
    tried: Places = field(default_factory=lambda: np.empty(0, np.intp))


@dataclass(frozen=True, slots=True)
class Judge:
    """`bound_s`: for so long service that is owed may fail. Stretches in which it did add up till
    something succeeds; of one in which it did for less than a part of that (`shortest`) half
    counts. Time counts that the machine gave."""

    bound_s: float
    machine: Machine = UNMEASURED
    shortest: float = 1 / 3

    def worst(
        self,
        asked: Asked,
        own: Places,
        stretches: Sequence[Stretch],
        answered: Flags,
        *,
        whole: bool = False,
    ) -> Streak:
        """Of some operations, the streak in which service was owed for longest; one without any, if
        all were answered. While a fault holds a refusal may be right, as of a topic with more
        replicas than there are brokers just now; not so if the `whole` system does nothing else.
        Nor is anything owed then by a node that it does not leave alone: who is asked for little
        may have been asked there each time."""
        vain = Vain.of(asked, own, answered)
        if not stretches:
            return Streak()
        begins, ends = limits(stretches)
        ended_ns = asked.ended_ns[vain.own]
        at = np.searchsorted(begins, ended_ns) - 1
        begin_ns = np.maximum(begins[at], vain.since_ns)
        owed = (at >= 0) & (asked.began_ns[vain.own] >= begin_ns) & (ended_ns <= ends[at])
        if not whole:
            calm = np.array([each.calm for each in stretches], np.bool_)
            owed &= calm[at] | ~asked.refused[vain.own]
        owed &= _left_alone(asked, stretches)[at, asked.node[vain.own]]
        kept = np.flatnonzero(owed)
        return self._longest(vain.only(kept), at[kept], begin_ns[kept], ended_ns[kept])

    def _longest(self, vain: "Vain", at: Places, begin_ns: Times, ended_ns: Times) -> Streak:
        """Of those that were tried while service was owed, each in the stretch `at`: there the
        streak goes on from `begin_ns` till the last one has ended."""
        if not len(at):
            return Streak()
        first = _firsts(vain.streak, at)
        last = np.append(first[1:], len(at)) - 1
        now_ns = self.machine.gave_each_ns(begin_ns[last], ended_ns[last])
        least_ns = round(self.bound_s * 1e9 * self.shortest)
        of_streak = _firsts(vain.streak[first])
        owed_ns = np.add.reduceat(np.where(now_ns >= least_ns, now_ns, now_ns // SHORT), of_streak)
        longest_ns = np.maximum.reduceat(now_ns, of_streak)
        worst = np.flatnonzero(owed_ns == owed_ns.max())
        number = worst[np.argmax(longest_ns[worst])]
        begin, end = np.append(first[of_streak], len(at))[number : number + 2]
        return Streak(
            since_ns=int(vain.since_ns[begin]),
            until_ns=int(ended_ns[end - 1]),
            owed_ns=int(owed_ns[number]),
            longest_ns=int(longest_ns[number]),
            tried=vain.own[begin:end].copy(),
        )

    def is_stuck(self, streak: Streak) -> bool:
        return len(streak.tried) >= TRIES and streak.owed_ns >= self.bound_s * 1e9


@dataclass(frozen=True, slots=True)
class Vain:
    """Of some operations those that were not answered. `streak`: how many were before each;
    `since_ns`: from when on those are in vain before which as many were."""

    own: Places
    streak: Places
    since_ns: Times

    @classmethod
    def of(cls, asked: Asked, own: Places, answered: Flags) -> "Vain":
        done, vain = own[answered[own]], own[~answered[own]]
        streak = np.searchsorted(done, vain)
        answered_ns = np.zeros(len(vain), np.int64)
        after = streak > 0
        answered_ns[after] = asked.ended_ns[done[streak[after] - 1]]
        first = _firsts(streak)
        since_ns = np.maximum(answered_ns[first], asked.began_ns[vain[first]])
        return cls(vain, streak, np.repeat(since_ns, np.diff(np.append(first, len(vain)))))

    def only(self, kept: Places) -> "Vain":
        return Vain(self.own[kept], self.streak[kept], self.since_ns[kept])


def _left_alone(asked: Asked, stretches: Sequence[Stretch]) -> Flags:
    """By stretch and node: whether that owed an answer; in the last column, of an operation that
    does not say whom it asked."""
    found: Flags = np.ones((len(stretches), len(asked.nodes) + 1), np.bool_)
    for place, each in enumerate(stretches):
        if not each.calm:
            found[place, :-1] = [node in each.left for node in asked.nodes]
    return found


def _firsts(*numbers: Places) -> Places:
    """Where neighbours that have the same numbers begin."""
    differ = np.ones(len(numbers[0]), np.bool_)
    differ[1:] = np.any([each[1:] != each[:-1] for each in numbers], axis=0)
    return np.flatnonzero(differ)


def limits(stretches: Sequence[Stretch]) -> tuple[Times, Times]:
    """Their begins and their ends."""
    begins = np.array([each.begin_ns for each in stretches], np.int64)
    return begins, np.array([each.end_ns for each in stretches], np.int64)
