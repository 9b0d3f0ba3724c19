"""What the client of extra brokers says of a process that it drained."""

from dataclasses import dataclass

import pytest

from workloads.process_client import EXIT_S, _bounce, _drain, _start

NEVER_S = 1e12


@dataclass(frozen=True)
class Described:
    incarnation: str
    broker_state: str
    broker_epoch: int


@dataclass
class Slot:
    """A process that runs, and ends for this reason."""

    reason: str | None
    broker_id: int = 301
    node: str = "b1"
    slot: str = ""
    state: str | None = "active"
    runs: bool = True

    def running(self) -> bool:
        return self.runs

    def drain(self, timeout_s: float) -> str | None:
        return self.reason

    def start(self) -> None:
        self.runs, self.state = True, "active"

    def describe(self) -> Described | None:
        if self.state is None:
            return None
        return Described(self.slot, self.state, 7)

    def granted(self, reason: str | None) -> bool | None:
        return None if reason is None else reason == "granted"


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("granted", {"reason": "granted", "granted": True, "broker_id": 301}),
        ("too late", {"reason": "too late", "granted": False, "broker_id": 301}),
        (None, {"reason": None, "broker_id": 301}),
    ],
)
def test_a_drain_says_whether_the_broker_was_let_go(
    reason: str | None, said: dict[str, object]
) -> None:
    assert _drain([Slot(reason)], NEVER_S).to_json() == said  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("slots", "serves"),
    [
        ([Slot(None, slot="a")], "a"),
        ([Slot(None, slot="a", runs=False, state=None)], "a"),
        ([Slot(None, slot="a"), Slot(None, slot="b", runs=False, state=None)], "a"),
        ([Slot(None, slot="a", runs=False, state=None), Slot(None, slot="b")], "b"),
        ([Slot(None, slot="a", state="fenced"), Slot(None, slot="b")], "b"),
        ([Slot(None, slot="a", state=None), Slot(None, slot="b")], "b"),
    ],
)
def test_a_start_waits_for_whichever_process_has_the_id(slots: list[Slot], serves: str) -> None:
    assert _start(slots, NEVER_S).incarnation == serves  # type: ignore[arg-type]
    assert [slot.slot for slot in slots if slot.runs] in ([serves], ["a", "b"])


OVER_S = 0.0
"""A moment that is long past."""


def test_a_start_where_no_process_serves_is_not_done() -> None:
    with pytest.raises(TimeoutError, match="active"):
        _start([Slot(None, state="fenced"), Slot(None, state=None)], OVER_S)  # type: ignore[list-item]


@dataclass
class Slow(Slot):
    """Never registers, and counts."""

    state: str | None = None
    kills: int = 0
    starts: int = 0

    def kill(self) -> None:
        self.kills += 1

    def start(self) -> None:
        self.starts += 1


def test_a_bounce_for_which_there_is_no_time_left_is_not_gone_on_with() -> None:
    """What was given up may have been followed by another operation."""
    slot = Slow(None)
    with pytest.raises(TimeoutError, match="registered"):
        _bounce([slot], OVER_S)  # type: ignore[list-item]
    assert (slot.kills, slot.starts) == (1, 1)


def test_a_drain_waits_no_longer_than_there_is_time() -> None:
    waited = []

    class Leaving(Slot):
        def drain(self, timeout_s: float) -> str | None:
            waited.append(timeout_s)
            return self.reason

    for end_s in (OVER_S, NEVER_S):
        _drain([Leaving("granted")], end_s)  # type: ignore[list-item]
    assert waited == [0.0, EXIT_S]
