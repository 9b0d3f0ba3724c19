"""Which requests the changes of a log came of: each change is one request's, each request that was
acknowledged has one, and the log's order is one in which the requests may have taken effect.

A request takes effect at a moment between its invocation and its end; one that nobody answered, at
any later one, or never. So a change of the log is given a moment no earlier than the one before it
has, and no later than somebody was shown it; of all ways to choose requests only those are kept
that leave more of them possible.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

NEVER: Final = 1 << 62
MOST_WAYS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Made:
    """A change of the log. `by`: an index of the history by which it had been made."""

    does: Hashable
    by: int = NEVER


@dataclass(frozen=True, slots=True)
class Request:
    """`does`: what its change has to be. `end`: None, it was not answered ok. Both moments are
    indices of the history."""

    does: Hashable
    began: int
    end: int | None

    @property
    def last(self) -> int:
        """The last moment at which it may take effect."""
        return NEVER if self.end is None else self.end


@dataclass(frozen=True, slots=True)
class Way:
    """The changes so far, as requests (places), and the earliest moment of the last one."""

    moment: int = 0
    taken: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Explained:
    """`requests`: of each change, its place among the requests; of no more changes than can be.
    `whole`: all are explained, and all that were acknowledged have one. None: too many ways."""

    requests: Sequence[int]
    whole: bool | None


def explained(changes: Sequence[Made], requests: Sequence[Request]) -> Explained:
    """`changes`: in the order of the log."""
    ways, done = [Way()], Way()
    for change in changes:
        following = {
            (after.moment, frozenset(after.taken)): after
            for way in ways
            for after in _steps(way, change, requests)
        }
        if not following:
            return Explained(done.taken, False)
        if len(following) > MOST_WAYS:
            return Explained(done.taken, None)
        ways = sorted(following.values(), key=lambda way: (way.moment, way.taken))
        done = ways[0]
    acknowledged = {place for place, each in enumerate(requests) if each.end is not None}
    whole = [way for way in ways if acknowledged <= set(way.taken)]
    return Explained((whole or [done])[0].taken, bool(whole))


def _steps(way: Way, change: Made, requests: Sequence[Request]) -> list[Way]:
    """Each with one request more: of those that nobody answered the first will do, for the others
    can wait; one that was answered goes before it, where that costs no time."""
    taken = set(way.taken)
    left = [place for place in range(len(requests)) if place not in taken]
    own = [place for place in left if requests[place].does == change.does]
    answered = [place for place in own if requests[place].end is not None]
    others = [place for place in own if requests[place].end is None]
    first = sorted(others, key=lambda place: requests[place].began)[:1]
    due = min(change.by, *(requests[place].last for place in left), NEVER)
    found = []
    for place in sorted(answered, key=lambda place: requests[place].last):
        moment = max(way.moment, requests[place].began)
        if moment <= due:
            found.append(Way(moment, (*way.taken, place)))
            if moment == way.moment:
                return found
    for place in first:
        moment = max(way.moment, requests[place].began)
        if moment <= due:
            found.append(Way(moment, (*way.taken, place)))
    return found
