"""Beside a schedule: every node is asked at intervals what it would tell anybody.

A node has a thread of its own, so that one that does not answer delays no other's questions. The
schedule sees neither these threads nor what they do: it is the same with and without them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from framework.generators import PENDING, Generator, Offer, Pending, on_threads
from framework.generators.base import Context, Thread
from framework.generators.combine import after_choice, soonest
from framework.generators.sources import NS_PER_S
from framework.history.event import Event, Invocation, is_observer, observer_of


@dataclass(frozen=True, slots=True)
class Round:
    """The questions that are left of one round, from `begin` (ns since the run began) on."""

    left: tuple[Invocation, ...]
    begin: int = 0


@dataclass(frozen=True, slots=True)
class Rounds:
    """Each thread asks its `questions`, one after another, and again `interval` ns after it began;
    once, where that is None."""

    questions: Mapping[str, tuple[Invocation, ...]]
    interval: int | None
    under_way: Mapping[str, Round]

    def offer(self, context: Context) -> Offer | None:
        if not self.under_way:
            return None
        free = [thread for thread in self.under_way if thread in context.free]
        if not free:
            return Offer(PENDING, self)
        first = min(free, key=lambda thread: self.under_way[thread].begin)
        begin = self.under_way[first].begin
        if begin > context.time:
            return Offer(Pending(begin), self)
        question = self.under_way[first].left[0]
        return Offer(replace(question, process=first, time=begin), self._asked(first, context.time))

    def _asked(self, thread: str, now: int) -> Rounds:
        """After the next question of a thread. One that fell behind does not catch up."""
        before = self.under_way[thread]
        after = {**self.under_way, thread: Round(before.left[1:], before.begin)}
        if not after[thread].left:
            if self.interval is None:
                del after[thread]
            else:
                begin = max(now, before.begin + self.interval)
                after[thread] = Round(self.questions[thread], begin)
        return replace(self, under_way=after)

    def update(self, context: Context, event: Event) -> Rounds:
        return self


@dataclass(frozen=True, slots=True)
class Observed:
    """`schedule`, with `rounds` beside it; when it is exhausted, `last`."""

    schedule: Generator
    rounds: Generator
    last: Generator

    def offer(self, context: Context) -> Offer | None:
        children = (self.schedule, self.rounds)
        offers = [child.offer(context) for child in children]
        if offers[0] is None:
            return self.last.offer(context)
        chosen = soonest(offers, [1, 1], context.seed)
        assert chosen is not None  # the schedule has something
        schedule, rounds = after_choice(children, offers, chosen)
        after = replace(self, schedule=schedule, rounds=rounds)
        if isinstance(chosen, Pending):
            return Offer(chosen, after)
        offer = offers[chosen]
        assert offer is not None
        return Offer(offer.op, after)

    def update(self, context: Context, event: Event) -> Observed:
        after = self.schedule.update(context, event)
        return self if after is self.schedule else replace(self, schedule=after)


def observed(
    schedule: Generator, questions: Mapping[str, Sequence[Invocation]], interval_s: float
) -> Generator:
    """`schedule`, and each node asked its questions every `interval_s`, and once more when the
    schedule is exhausted. `questions`: by node."""
    asked = {observer_of(node): tuple(each) for node, each in questions.items() if each}
    return Observed(
        on_threads(_is_not_observer, schedule),
        _rounds(asked, round(interval_s * NS_PER_S)),
        _rounds(asked, None),
    )


def _is_not_observer(thread: Thread) -> bool:
    return not is_observer(thread)


def _rounds(asked: Mapping[str, tuple[Invocation, ...]], interval: int | None) -> Rounds:
    return Rounds(asked, interval, {thread: Round(each) for thread, each in asked.items()})
