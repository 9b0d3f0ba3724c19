"""What the client of extra brokers says of a process that it drained."""

from dataclasses import dataclass

import pytest

from workloads.process_client import _drain


@dataclass
class Slot:
    """A process that runs, and ends for this reason."""

    reason: str | None
    broker_id: int = 301
    node: str = "b1"

    def running(self) -> bool:
        return True

    def drain(self, timeout_s: float) -> str | None:
        return self.reason

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
