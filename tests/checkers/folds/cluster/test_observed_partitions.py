"""What brokers tell of partitions, and whether they were asked
(`folds/cluster/observed_partitions.py`)."""

from collections.abc import Callable
from typing import Any

import pytest
from planted_runs import NODES, TOPIC, Story

from checkers.folds.cluster.observed_partitions import NO_PARTITIONS, all_in_sync
from checkers.folds.history.peace import Quiet

PEACE = Quiet(0, 50_000_000_000), Quiet(60_000_000_000, 100_000_000_000)
STATE: dict[str, Any] = {
    "partition": 0,
    "leader": 4,
    "leader_epoch": 1,
    "isr": [4],
    "replicas": [4],
}
TOLD: dict[str, Any] = {
    "brokers": [],
    "topics": [{"name": "t", "topic_id": TOPIC, "partitions": [STATE]}],
}


def refuses(story: Story) -> None:
    story.ask("b1", "describe-topics", type="fail", error="NOT_CONTROLLER")


def tells(story: Story) -> None:
    story.ask("b1", "describe-topics", TOLD)


def tells_of_none(story: Story) -> None:
    story.ask("b1", "describe-topics", {"brokers": [], "topics": []})


def refuses_another_question(story: Story) -> None:
    story.ask("b1", "describe-cluster", type="fail", error="NOT_CONTROLLER")


def refuses_between_times_of_peace(story: Story) -> None:
    story.wait(55_000)
    refuses(story)


def refuses_in_the_later_peace(story: Story) -> None:
    story.wait(70_000)
    refuses(story)


@pytest.mark.parametrize(
    ("happens", "compared"),
    [
        ([], NO_PARTITIONS),
        ([refuses_another_question], NO_PARTITIONS),
        ([refuses_between_times_of_peace], NO_PARTITIONS),
        ([tells_of_none], NO_PARTITIONS),
        ([tells_of_none, refuses], NO_PARTITIONS),
        ([tells], NO_PARTITIONS),
        ([tells, tells], 2),
        ([refuses], 0),
        ([refuses, refuses_in_the_later_peace], 0),
        ([refuses_in_the_later_peace], 0),
    ],
)
def test_brokers_that_are_asked_in_peace_and_never_answer_are_no_want_of_occasion(
    happens: list[Callable[[Story], None]], compared: int | str
) -> None:
    story = Story(plan={"nodes": dict(NODES), "recovery_s": 15})
    for each in happens:
        each(story)
    assert all_in_sync(story.run_events(), PEACE, 15_000_000_000) == (compared, [])
