"""Requests that the changes of a log came of, against all ways to choose and date them."""

from collections.abc import Sequence
from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.folds.quorum import explained as fold
from checkers.folds.quorum.explained import Made, Request, explained
from tests.cases import cases


def until(request: Request) -> int:
    """The last moment at which it may take effect."""
    return fold.NEVER if request.end is None else request.end


def some_way(changes: Sequence[Made], requests: Sequence[Request]) -> bool:
    """By trying all: who did each change; then each takes its moment as early as it can."""
    acknowledged = {place for place, each in enumerate(requests) if each.end is not None}
    for chosen in permutations(range(len(requests)), len(changes)):
        if not acknowledged <= set(chosen):
            continue
        moment = 0
        for place, change in zip(chosen, changes, strict=True):
            moment = max(moment, requests[place].began)
            if requests[place].does != change.does:
                break
            if moment > min(until(requests[place]), change.by):
                break
        else:
            return True
    return False


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Made], list[Request]]:
    by = st.one_of(st.just(fold.NEVER), st.integers(0, 12))
    changes = draw(st.lists(st.builds(Made, st.sampled_from("ab"), by), max_size=4))
    count = draw(st.integers(0, 5))
    moments = draw(st.permutations(range(2 * count)))
    requests = []
    for number in range(count):
        began, end = sorted(moments[2 * number : 2 * number + 2])
        answered = draw(st.booleans())
        requests.append(Request(draw(st.sampled_from("ab")), began, end if answered else None))
    return changes, requests


@settings(max_examples=cases(600))
@given(histories())
def test_it_is_what_all_ways_together_say(history: tuple[list[Made], list[Request]]) -> None:
    changes, requests = history
    found = explained(changes, requests)
    assert found.whole == some_way(changes, requests)
    acknowledged = {place for place, each in enumerate(requests) if each.end is not None}
    assert not found.whole or acknowledged <= set(found.requests)
    assert len(set(found.requests)) == len(found.requests)
    for place, change in zip(found.requests, changes, strict=False):
        assert requests[place].does == change.does
    longest = max(
        length
        for length in range(len(changes) + 1)
        if any(_prefix(changes[:length], requests, some) for some in _subsets(requests))
    )
    assert len(found.requests) == longest


def _subsets(requests: Sequence[Request]) -> list[tuple[int, ...]]:
    places = range(len(requests))
    return [some for size in range(len(requests) + 1) for some in combinations(places, size)]


def _prefix(changes: Sequence[Made], requests: Sequence[Request], some: tuple[int, ...]) -> bool:
    """Whether just these did them, and no other that was acknowledged had ended before."""
    own = [requests[place] for place in some]
    if len(own) != len(changes):
        return False
    left = [until(each) for place, each in enumerate(requests) if place not in some]
    for order in permutations(own):
        moment = 0
        for each, change in zip(order, changes, strict=True):
            moment = max(moment, each.began)
            if each.does != change.does or moment > min(until(each), change.by):
                break
        else:
            if moment <= min(left, default=fold.NEVER):
                return True
    return False


def test_of_too_many_ways_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [Request("a", number, 100) for number in (1, 2)]
    changes = [Made("a"), Made("a")]
    assert explained(changes, requests).whole is True
    monkeypatch.setattr(fold, "MOST_WAYS", 1)
    assert explained(changes, requests).whole is None
