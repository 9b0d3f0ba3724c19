"""Who is what by the plan (`folds/history/roles.py`)."""

from typing import Any

import pytest

from checkers.folds.history.roles import may_be_broker, roles_of

NODES: dict[str, Any] = {
    "b1": {"roles": ["broker"]},
    "c1": {"roles": ["controller"]},
    "m1": {"roles": ["broker", "controller"]},
    "x1": {},
    "": {"roles": ["controller"]},
}


@pytest.mark.parametrize("plan", [{}, {"nodes": None}, {"nodes": {}}])
def test_a_plan_that_names_no_nodes(plan: dict[str, Any]) -> None:
    assert roles_of(plan) == {}
    assert may_be_broker(plan, "b1") and may_be_broker(plan, None)


@pytest.mark.parametrize(
    ("node", "may"),
    [("b1", True), ("c1", False), ("m1", True), ("x1", True), ("gone", True), (None, False)],
)
def test_what_is_no_broker_by_its_roles_is_none(node: str | None, may: bool) -> None:
    """An operation that names no node is as one of the node without a name."""
    assert may_be_broker({"nodes": NODES}, node) == may
