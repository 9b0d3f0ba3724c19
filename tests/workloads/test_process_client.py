"""What the client of extra brokers says of a process that it drained."""

from dataclasses import dataclass

import pytest

from workloads import process_client
from workloads.process_client import _drain, _start


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
    assert _drain([Slot(reason)]).to_json() == said  # type: ignore[list-item]


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
    assert _start(slots).incarnation == serves  # type: ignore[arg-type]
    assert [slot.slot for slot in slots if slot.runs] in ([serves], ["a", "b"])


def test_a_start_where_no_process_serves_is_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_client, "ACTIVE_S", 0.01)
    with pytest.raises(TimeoutError):
        _start([Slot(None, state="fenced"), Slot(None, state=None)])  # type: ignore[list-item]
