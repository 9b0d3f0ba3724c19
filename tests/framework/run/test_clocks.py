"""What plan.json says of the nodes' clocks."""

import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from framework.evidence.clocks import UNKNOWN_NS, Clocks
from framework.plugins.host import ClockSample
from framework.run import clocks
from framework.run.clocks import measured


def fleet(reported: list[Mapping[str, ClockSample | None]]) -> Any:
    """A fleet whose clocks are asked as often as there are answers, and then stay."""
    return SimpleNamespace(clocks=lambda: reported.pop(0) if len(reported) > 1 else reported[0])


def sample(at_ns: int, offset_ns: int) -> ClockSample:
    return ClockSample(at_ns=at_ns, offset_ns=offset_ns, within_ns=7)


def test_a_shared_clock_is_said_to_be_one() -> None:
    with measured(fleet([{"a": None, "b": None}]), 100) as found:
        assert found == {"a": {"shared": True}, "b": {"shared": True}}
    assert found == {"a": {"shared": True}, "b": {"shared": True}}


def test_other_clocks_are_measured_before_and_after() -> None:
    reported = [{"a": sample(90, 5), "b": None}, {"a": sample(900, 6), "b": None}]
    with measured(fleet(reported), 100) as found:
        assert found["a"] == {"samples": [{"at_ns": -10, "offset_ns": 5, "within_ns": 7}]}
    assert found["b"] == {"shared": True}
    assert [each["at_ns"] for each in found["a"]["samples"]] == [-10, 800]


def test_and_while_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "EVERY_S", 0.001)
    asked = threading.Semaphore(0)

    def ask() -> dict[str, ClockSample | None]:
        asked.release()
        return {"a": sample(100, 5)}

    with measured(SimpleNamespace(clocks=ask), 100) as found:  # type: ignore[arg-type]
        for _ in range(4):
            assert asked.acquire(timeout=60)
    assert len(found["a"]["samples"]) >= 5


def test_a_node_that_does_not_answer_is_measured_when_it_does() -> None:
    with measured(fleet([{"b": None, "a": sample(1, 1)}, {"a": sample(2, 2)}]), 0) as found:
        pass
    assert [each["offset_ns"] for each in found["a"]["samples"]] == [1, 2]
    with measured(fleet([{}, {"a": sample(2, 2)}]), 0) as found:
        pass
    assert [each["offset_ns"] for each in found["a"]["samples"]] == [2]


def test_checkers_read_what_was_measured() -> None:
    reported = {
        "a": {"shared": True},
        "b": {
            "samples": [
                {"at_ns": 0, "offset_ns": 1000, "within_ns": 10},
                {"at_ns": 9, "offset_ns": 1030, "within_ns": 40},  # it may have drifted so far
            ]
        },
    }
    read = Clocks.of({"time_zero_ns": 500, "hosts": "ssh", "clocks": reported})
    assert (read.at_ns("a", 700), read.within_ns("a")) == (200, 0)
    assert (read.at_ns("b", 1700), read.within_ns("b")) == (170, 40)
    assert read.within_ns("c") == UNKNOWN_NS, "it was never measured"
