"""Passes over what happens to consumers find what each by itself would say, step by step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest

from checkers.logs.passes import (
    ASSIGNED,
    EVENT,
    ITEM,
    LAST,
    LATE,
    SEEK,
    SEGMENT,
    SUBSCRIBED,
    follow,
    lags,
)
from framework.history.json_walk import NONE

PARTS = 3


@dataclass(frozen=True)
class Happened:
    """An event of a consumer's, at `ns`, and when it had polled last before. `expires`: of a
    segment, when its place was no longer the last."""

    client: int
    what: int
    ns: int
    previous_ns: int = NONE
    part: int = 0
    mode: int = ASSIGNED
    fresh: bool = False
    failed: bool = False
    expires: int = NONE


@dataclass
class Consumers:
    """Consumers that do this and that, one after the other, and what became of them."""

    random: Random
    begin_ns: Sequence[int]
    events: list[Happened] = field(default_factory=list)
    before: dict[int, int] = field(default_factory=dict)
    """By segment, the one that it goes on from."""
    strict: set[int] = field(default_factory=set)
    modes: dict[int, int] = field(default_factory=dict)
    worst: list[int] = field(default_factory=lambda: [0] * PARTS)

    def consume(self, client: int) -> None:
        one = _Consumer(self, client)
        for ns in range(1, self.random.randint(2, 9)):
            self.random.choice((one.assign, one.poll, one.poll, one.poll, one.seek))(ns)
        one.end()


@dataclass
class _Consumer:
    of: Consumers
    client: int
    mode: int = ASSIGNED
    polled_ns: int = NONE
    ended: int = 0
    """The last poll's events end there."""
    reached: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """By part, the last segment, and whether others had chosen the part."""
    expired: dict[int, int] = field(default_factory=dict)
    """By part that is polled, when the place in it was no longer the last."""

    def tell(self, what: int, ns: int, **more: int) -> int:
        self.of.events.append(Happened(self.client, what, ns, self.polled_ns, **more))
        return len(self.of.events) - 1

    def assign(self, ns: int) -> None:
        random = self.of.random
        self.mode, fresh = random.choice((ASSIGNED, ASSIGNED, SUBSCRIBED)), random.random() < 0.3
        named = random.sample(range(PARTS), random.randint(0, PARTS))
        more = {"mode": self.mode, "fresh": fresh}
        self.tell(EVENT, ns, **more)
        for part in (*named, *named[:1]):
            self.tell(ITEM, ns, part=part, **more)
        kept = {} if fresh else self.expired
        of = self.of.begin_ns
        goes_on = named if self.mode == ASSIGNED else ()
        self.expired = {part: kept.get(part, of[part]) for part in goes_on}
        self.reached = {} if fresh else {p: self.reached[p] for p in named if p in self.reached}

    def poll(self, ns: int) -> None:
        random, subscribed = self.of.random, self.mode == SUBSCRIBED
        for part in sorted(random.sample(range(PARTS), random.randint(0, PARTS))):
            failed = random.random() < 0.2
            expires = random.choice((*range(10), LATE))
            at = self.tell(SEGMENT, ns, part=part, failed=failed, expires=expires)
            self.of.modes[at] = self.mode
            if part in self.reached:
                before, loose = self.reached.pop(part)
                self.of.before[at] = before
                self.of.strict |= set() if loose or subscribed else {at}
            if not failed:
                self.reached[part] = at, subscribed
            self.expired[part] = max(self.expired.get(part, self.of.begin_ns[part]), expires)
        if random.random() < 0.3:
            return  # it had no answer, and counts as no poll
        for part, expired in self.expired.items():
            self.of.worst[part] = max(self.of.worst[part], ns - expired)
        self.polled_ns, self.ended = ns, len(self.of.events)

    def seek(self, ns: int) -> None:
        """(Who seeks says where it is, and does not lag here.)"""
        part = self.of.random.randrange(PARTS)
        self.tell(SEEK, ns, part=part)
        self.reached.pop(part, None)

    def end(self) -> None:
        """Of the last poll that had an answer, which others may follow that had none."""
        if self.polled_ns == NONE:
            return
        of, ended = self.of, self.ended
        of.events.insert(ended, Happened(self.client, LAST, self.polled_ns))
        of.before = {n + (n >= ended): at + (at >= ended) for n, at in of.before.items()}
        of.modes = {n + (n >= ended): mode for n, mode in of.modes.items()}
        of.strict = {n + (n >= ended) for n in of.strict}


def consumed() -> Iterator[Consumers]:
    for seed in range(100):
        random = Random(seed)
        made = Consumers(random, [random.choice((*range(8), LATE)) for _ in range(PARTS)])
        for client in range(random.randint(0, 3)):
            made.consume(client)
        yield made


def column(made: Consumers, name: str, dtype: type = np.int64) -> np.ndarray:
    return np.array([getattr(each, name) for each in made.events], dtype)


def test_polls_go_on_from_the_place_that_is_still_known() -> None:
    several = 0
    for made in consumed():
        before, modes, strict = follow(
            column(made, "client"),
            column(made, "what", np.int8),
            column(made, "mode", np.int8),
            column(made, "fresh", np.bool_),
            column(made, "failed", np.bool_),
            column(made, "part"),
            PARTS,
        )
        assert {n: at for n, at in enumerate(before.tolist()) if at >= 0} == made.before
        assert {n for n, each in enumerate(strict.tolist()) if each} == made.strict
        assert {n: modes[n] for n in made.modes} == made.modes
        several += len(made.before)
    assert several > 100


def lagged(made: Consumers) -> list[int]:
    found = lags(
        column(made, "client"),
        column(made, "what", np.int8),
        column(made, "mode", np.int8),
        column(made, "fresh", np.bool_),
        column(made, "part"),
        column(made, "ns"),
        column(made, "previous_ns"),
        column(made, "expires"),
        np.array(made.begin_ns, np.int64),
    )
    return [int(each) for each in found]


def test_a_poll_lags_as_long_as_it_did_not_reach_what_was_there() -> None:
    behind = 0
    for made in consumed():
        assert lagged(made) == made.worst
        behind += sum(made.worst) > 0
    assert behind > 20


@pytest.mark.parametrize(
    ("polled", "lag"), [([], 0), ([(SEGMENT, NONE)], 0), ([(LAST, NONE)], 0), ([(LAST, 5)], 5),
                        ([(LAST, 5), (LAST, NONE)], 5)],
)  # fmt: skip
def test_who_polled_at_no_known_time_does_not_lag_then(
    polled: list[tuple[int, int]], lag: int
) -> None:
    events = [Happened(0, EVENT, 1), Happened(0, ITEM, 1)]
    events += [Happened(0, what, ns, expires=2) for what, ns in polled]
    assert lagged(Consumers(Random(0), [0] * PARTS, events)) == [lag, 0, 0]


@pytest.mark.parametrize(("what", "assigned", "previous"), [
    (EVENT, 5, 3), (EVENT, NONE, NONE), (SEGMENT, NONE, NONE),
])  # fmt: skip
def test_who_polled_last_before_it_was_assigned_the_part_does_not_lag_in_it(
    what: int, assigned: int, previous: int
) -> None:
    """Nor does who polled at no known time, and was assigned the part at none."""
    events = [Happened(0, each, assigned, previous) for each in (EVENT, ITEM, what)]
    assert lagged(Consumers(Random(0), [1] * PARTS, events)) == [0, 0, 0]
