"""A cluster of one node: nothing can be held against another, and that is said."""

import pytest
from judging import judged
from planted_runs import NODES, Story

from checkers.one_vote import OneVote
from framework.evidence.run_events import alone
from framework.plugins import registry
from framework.verdict import Verdict


def single() -> Story:
    story = Story()
    story.plan = {**story.plan, "nodes": {"c1": NODES["c1"]}}
    story.boot("c1")
    story.saved("c1", 1, leader=1, voted=1)
    story.append("c1", 0, 1, 10, 11, leader=True)
    story.hw("c1", 2, 1)
    return story


@pytest.mark.parametrize(
    ("name", "clauses"),
    [
        ("log-matching", {"one-record", "same-below"}),
        ("one-leader-per-epoch", {"one-record", "one-claim"}),
        ("one-vote", {"one-candidate", "long-enough-log"}),
        ("committed-never-lost", {"one-record", "none-dropped", "everywhere-in-the-end"}),
        (
            "node-tells-the-truth",
            {"reported-on-disk", "disk-reported", "whole-logs", "exit-reported"},
        ),
    ],
)
def test_one_node_gives_no_occasion(name: str, clauses: set[str]) -> None:
    result = judged(registry.load("checkers", name), single())
    idle = {each.name: each.note for each in result.clauses if each.verdict is None}
    assert clauses <= set(idle)
    assert all("the cluster has one" in idle[each] for each in clauses)


def test_what_it_does_wrong_is_found() -> None:
    story = single()
    story.saved("c1", 1, leader=1, voted=3)
    assert judged(OneVote(), story).verdict is Verdict.INVALID


def test_voters_alone() -> None:
    plan: dict[str, object] = {"nodes": {"c1": {"votes": True}, "b1": {"votes": False}}}
    assert alone(plan) == "" and alone(plan, voting=True) == "the cluster has one voter"
    assert alone({}) == "" and alone({}, voting=True) == ""
