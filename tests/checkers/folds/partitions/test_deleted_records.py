"""Whom an acknowledged delete of records binds, and what undoes it
(`folds/partitions/deleted_records.py`)."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.folds.history.lives import Lives
from checkers.folds.partitions.deleted_records import (
    Deletes,
    acknowledged,
    begins_at,
    given_all_the_same,
    half_done,
    undone,
)
from checkers.folds.partitions.log_ends import answered_limits
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.pairing import Operation
from framework.plugins.capabilities import KEPT_LOG_STARTS
from framework.testing.story import Story

KEY = "t/0"
KILL = FaultRecord(
    id=1, fault="kill", victims={"b1": "SIGKILL"}, injected_ns=0, healed_ns=1, ends_processes=True
)


def delete(story: Story, before: int, told: int | None = None, **more: Any) -> Operation:
    answer = {"before": before} if told is None else {"before": before, "low_watermark": told}
    return story.op("delete-records", KEY, {"before": before}, answer, **{"node": "b1", **more})


def run_of(story: Story, *faults: FaultRecord, keeps: bool = False) -> RunEvents:
    plan = {"capabilities": [KEPT_LOG_STARTS] if keeps else []}
    return replace(story.run_events(), faults=list(faults), plan=plan)


def deletes_of(events: RunEvents) -> Deletes:
    return Deletes.of(events, events.operations)


# --- what was acknowledged ----------------------------------------------------------------


def test_acknowledged_ones_are_in_the_order_of_their_answers() -> None:
    story = Story()
    slow = story.invoke("delete-records", KEY, {"before": 1})
    quick = delete(story, 2)
    story.complete(slow, result={"before": 1})
    delete(story, 3, type="info", error="REQUEST_TIMED_OUT")
    delete(story, 4, type="fail", error="OFFSET_OUT_OF_RANGE")
    story.op("delete-records", KEY, {"before": 5}, None)
    story.op("fetch", KEY, {"from": 0}, {"log_start": 6})
    assert [each.index for each in acknowledged(story.operations)] == [quick.index, slow.index]


@pytest.mark.parametrize(("told", "begins"), [(None, 3), (2, 3), (5, 5)])
def test_a_log_begins_where_was_asked_for_or_where_was_told(told: int | None, begins: int) -> None:
    assert begins_at(delete(Story(), 3, told)) == begins


def test_a_delete_up_to_the_high_watermark_begins_where_was_told_or_says_nothing() -> None:
    assert begins_at(delete(Story(), -1, 4)) == 4
    assert begins_at(delete(Story(), -1)) == 0


@pytest.mark.parametrize(("told", "found"), [(None, 0), (2, 1), (3, 0), (4, 0)])
def test_the_word_that_replicas_begin_earlier_is_no_acknowledgement(
    told: int | None, found: int
) -> None:
    story = Story()
    delete(story, 3, told)
    assert len(list(half_done(story.operations))) == found


# --- whom it binds ------------------------------------------------------------------------


def random_run(seed: int) -> RunEvents:
    """Deletes and questions that overlap, of two nodes, one of which may have been killed."""
    draw, story = random.Random(seed), Story()
    open_: list[Operation] = []
    for _ in range(draw.randrange(2, 12)):
        node = draw.choice(("b1", "b2"))
        if draw.random() < 0.6:
            value = {"before": draw.randrange(-1, 5)}
            open_.append(story.invoke("delete-records", KEY, value, node=node))
        else:
            open_.append(story.invoke("list-offsets", KEY, {"at": "earliest"}, node=node))
        while open_ and draw.random() < 0.7:
            asked = open_.pop(draw.randrange(len(open_)))
            if asked.f == "list-offsets":
                story.complete(asked, result={"offset": draw.randrange(5)})
            else:
                told = {"low_watermark": draw.randrange(5)} if draw.random() < 0.5 else {}
                kind = draw.choice(("ok", "ok", "info", "fail"))
                story.complete(asked, type=kind, result={"before": 0, **told})
    last = max((each.completed_ns or 0 for each in story.operations), default=0)
    begin = draw.randrange(last + 2)
    kill = replace(KILL, injected_ns=begin, healed_ns=begin + draw.randrange(last + 2))
    return run_of(story, *([kill] if draw.random() < 0.7 else []), keeps=draw.random() < 0.3)


def binding_by_brute_force(events: RunEvents, answer: Operation) -> int | None:
    """Where the highest delete that binds an answer has the log begin."""
    lives = Lives(events.faults)
    everywhere = not events.faults or KEPT_LOG_STARTS in events.plan["capabilities"]
    begins = [
        begins_at(each)
        for each in events.operations
        if each.f == "delete-records"
        and each.ok
        and each.precedes(answer)
        and (everywhere or (lives.of(each) is not None and lives.of(each) == lives.of(answer)))
    ]
    return max(begins, default=None)


@given(st.integers(0, 2**32))
def test_binding_is_as_by_brute_force(seed: int) -> None:
    events = random_run(seed)
    deletes, limits = deletes_of(events), list(answered_limits(events.operations))
    for answer in events.operations:
        found = deletes.binding(answer)
        begins = None if found is None else begins_at(found)
        assert begins == binding_by_brute_force(events, answer)
    bound = [
        (each, begin)
        for each in limits
        if each.limit == "begin"
        and (begin := binding_by_brute_force(events, each.operation)) is not None
    ]
    compared, findings = undone(limits, deletes)
    assert compared == len(bound)
    assert len(findings) == sum(each.offset < begin for each, begin in bound)


def test_an_answer_of_no_node_binds_and_is_bound_by_nobody_beside_a_fault() -> None:
    story = Story()
    delete(story, 3)
    story.op("list-offsets", KEY, {"at": "earliest"}, {"offset": 0})
    for each in story.operations:
        each.node = None
    (_, asked) = story.operations
    assert deletes_of(run_of(story, KILL)).binding(asked) is None
    assert deletes_of(run_of(story)).binding(asked) is not None


# --- records that are given all the same ----------------------------------------------------


def fetch(story: Story, first: int, log_start: int | None) -> None:
    told = {"records": [[offset, offset] for offset in (first + 1, first)]}
    if log_start is not None:
        told["log_start"] = log_start  # type: ignore[assignment]
    story.op("fetch", KEY, {"from": first}, told, node="b1")


@pytest.mark.parametrize(
    ("before", "first", "log_start", "found"),
    [
        (None, 2, 3, 1),
        (None, 3, 3, 0),
        (None, 0, None, 0),
        (3, 2, None, 1),
        (3, 3, None, 0),
        (3, 2, 2, 0),
        (3, 1, 2, 1),
        (3, 0, 0, 0),
    ],
)
def test_records_from_below_the_beginning(
    before: int | None, first: int, log_start: int | None, found: int
) -> None:
    """The answer's own beginning counts where it tells one, and an acknowledged delete else. An
    answer that tells too low a beginning is `undone`."""
    story = Story()
    if before is not None:
        delete(story, before)
    fetch(story, first, log_start)
    findings = list(given_all_the_same(story.operations[-1:], deletes_of(run_of(story))))
    assert len(findings) == found
    by_delete = before is not None and log_start is None
    assert [len(each.operations) for each in findings] == [2 if by_delete else 1] * found


def test_an_answer_without_records_is_given_nothing() -> None:
    story = Story()
    story.op("fetch", KEY, {"from": 0}, {"log_start": 3})
    assert not list(given_all_the_same(story.operations, deletes_of(run_of(story))))
