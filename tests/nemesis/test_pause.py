"""A process that is told to stop runs on until it next has a core."""

from collections.abc import Iterator
from typing import Any

import pytest

from nemesis import pause
from nemesis.pause import Paused

STATES = {"seen to stop at last": "RRT", "gone meanwhile": "R-"}


@pytest.mark.parametrize("states", STATES.values(), ids=STATES)
def test_a_pause_waits_until_its_victims_stand_still(
    states: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: Iterator[str] = iter(states)

    def look(*_: object) -> dict[str, str | None]:
        state = next(left)
        return {"state": None if state == "-" else state}

    monkeypatch.setattr(pause, "_send", lambda *_: None)
    monkeypatch.setattr(pause, "_look", look)
    cluster: Any = None
    Paused("n1", "SIGSTOP", {"n1": "/node.pid"}).inject(cluster)
    assert list(left) == []


def test_one_that_never_does_is_left_to_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause, "_send", lambda *_: None)
    monkeypatch.setattr(pause, "_look", lambda *_: {"state": "R"})
    monkeypatch.setattr(pause, "STILL_WITHIN_S", 0.05)
    cluster: Any = None
    paused = Paused("n1", "SIGSTOP", {"n1": "/node.pid"})
    paused.inject(cluster)
    assert paused.probe(cluster).bites is False
