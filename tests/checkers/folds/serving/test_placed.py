"""Where partitions' replicas are, and when their service is owed (`folds/serving/placed.py`)."""

from collections.abc import Sequence
from typing import Any

import pytest
from planted_runs import NODES, TOPIC, Story

from checkers.folds.history.peace import FOREVER_NS, Stretch
from checkers.folds.serving.placed import Placed

ROLES = {"c": "controller", "b": "broker"}
PLAN = {"nodes": {name: {**node, "roles": [ROLES[name[0]]]} for name, node in NODES.items()}}
CALM = Stretch(10, FOREVER_NS, True, frozenset(NODES))


def told(*answers: Sequence[int] | None) -> Placed:
    """By answers of brokers about t/1, of replicas with these ids; None: of no replicas."""
    story = Story(plan=dict(PLAN))
    for ids in answers:
        state = {"partition": 1, **({} if ids is None else {"replicas": [*ids]})}
        topic: Any = {"name": "t", "topic_id": TOPIC, "partitions": [state]}
        story.ask("b1", "describe-topics", {"topics": [topic]})
    return Placed.of(story.run_events(), [])


def under_fault(*left: str) -> Stretch:
    return Stretch(0, 10, False, frozenset(left))


def test_all_that_ever_had_a_replica_are_kept() -> None:
    assert told([4, 5], [5, 9]).shown == {"t/1": {"b1", "b2", "9"}}
    assert told().brokers == {"b1", "b2", "b3"}


def test_an_answer_that_tells_no_replicas_places_none() -> None:
    placed = told(None)
    assert placed.shown == {"t/1": frozenset()}
    assert placed.owed("t/1", [under_fault("b1", "b2")]) == []


def test_where_clients_move_replicas_every_broker_may_have_one() -> None:
    story = Story(plan=dict(PLAN))
    assert Placed.of(story.run_events(), ["reassign"]) == Placed({}, told().brokers)


@pytest.mark.parametrize(
    ("left", "owed"),
    [(("b1", "b2"), True), (("b1", "b2", "b3"), True), (("b1", "b3"), False), ((), False)],
)
def test_under_a_fault_all_replicas_have_to_be_left_alone(
    left: tuple[str, ...], owed: bool
) -> None:
    stretch = under_fault(*left)
    assert told([4, 5]).owed("t/1", [stretch]) == [stretch][: int(owed)]


def test_in_peace_service_is_owed_wherever_replicas_are() -> None:
    """Also by a broker of which the plan knows nothing."""
    assert told([9]).owed("t/1", [under_fault(*NODES), CALM]) == [CALM]


def test_of_a_plan_without_brokers_peace_alone_owes() -> None:
    assert Placed({}, frozenset()).owed("t/1", [under_fault("c1"), CALM]) == [CALM]
