"""The rule of linearizability is somebody else's to judge, and somebody does."""

import pytest

from nodes.kraft.simulation import Operation, histories, scenario
from nodes.kraft.simulation.histories import history_check


def test_this_projects_checkers_judge_the_clients_histories() -> None:
    assert history_check() is not None


def test_a_history_that_is_refuted_breaks_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a deleted topic still shown: the check is asked of each topic's rows."""
    create = Operation(at=1500, client=0, f="create", topic="a", via=11)
    assert scenario(create).violation is None
    seen: list[list[object]] = []

    class Refuted:
        class verdict:
            value = "INVALID"

        class message:
            message = "it never was"

        findings = (message,)

    def check(rows: list[object], *, budget_s: float) -> type[Refuted]:
        seen.append(rows)
        return Refuted

    monkeypatch.setattr("nodes.kraft.simulation.clients.history_check", lambda: check)
    violation = scenario(create).violation
    assert violation is not None and violation.rule == "linearizability"
    assert "it never was" in str(violation)
    assert len(seen) == 1


def test_without_a_judge_the_other_rules_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "GROUP", "nobody.offers")
    history_check.cache_clear()
    try:
        assert history_check() is None
    finally:
        monkeypatch.undo()
        history_check.cache_clear()
