"""Which request took a broker off the cluster, and who still tells of it
(`folds/requests/unregistered.py`).
Stories of whole runs are in test_asked_is_made."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Final, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.requests.unregistered import away, denied, matched, still_told, taken_off
from framework.evidence.changes import BrokerRegistered, BrokerUnregistered, Change
from framework.history.event import CompletionType
from framework.history.pairing import Operation
from framework.testing.story import Story

BROKER: Final = 9
Asked: TypeAlias = tuple[CompletionType, int]
"""How it ended, and when it began."""


def ask(index: int, ended: CompletionType, began_ns: int) -> Operation:
    return Operation(
        index=index,
        f="unregister",
        key=f"broker-{BROKER}",
        type=ended,
        end=100 + index,
        invoked_ns=began_ns,
    )


def log_of(by_ns: Sequence[int]) -> CommittedLog:
    """The broker's registration, and so many records that take it off, by when each was applied."""
    head = {"node": "c1", "incarnation": "1", "seq": 1, "epoch": 1, "broker_id": BROKER}
    first = BrokerRegistered(
        **head,
        offset=0,
        broker_epoch=0,
        process=None,
        end_points=(),
        rack=None,
        fenced=True,
        leaving=False,
    )
    gone: list[Change] = [
        BrokerUnregistered(**head, offset=at, broker_epoch=0) for at in range(1, len(by_ns) + 1)
    ]
    return CommittedLog([first, *gone], [0] * (1 + len(gone)), [0, *by_ns], None, [])


def least(asks: Sequence[Operation], by_ns: Sequence[int]) -> tuple[int, int]:
    """Of all ways to give each record an ask of its own or none: how few records are left, and how
    few of those that were granted."""
    slots: list[Operation | None] = [*asks, *[None] * len(by_ns)]
    left = []
    for given_to in permutations(slots, len(by_ns)):
        pairs = zip(given_to, by_ns, strict=True)
        if all(each is None or each.began_ns <= by for each, by in pairs):
            had = [each for each in given_to if each is not None]
            left.append((len(by_ns) - len(had), sum(a.ok and a not in had for a in asks)))
    return min(each for each, _ in left), min(each for _, each in left)


@given(
    st.lists(st.tuples(st.sampled_from(["ok", "info", "fail"]), st.integers(0, 3)), max_size=4),
    st.lists(st.integers(0, 3), max_size=3),
)
def test_agrees_with_all_ways_to_explain_a_log(asked: list[Asked], by_ns: list[int]) -> None:
    asks = [ask(at, ended, began_ns) for at, (ended, began_ns) in enumerate(asked)]
    found = matched(log_of(by_ns), asks, once=True)
    may = [each for each in asks if not each.failed]
    assert (len(found.unasked), len(found.missing)) == least(may, by_ns)
    assert found.compared == len(by_ns) + sum(each.ok for each in asks)


# --- refusals -----------------------------------------------------------------------------

KEY: Final = f"broker-{BROKER}"


def refused(story: Story, ended: CompletionType = "fail", f: str = "unregister") -> Operation:
    return story.op(f, KEY, type=ended, error="NO", ext={"asserts": "absent"})


def found(story: Story) -> list[tuple[int, int]]:
    return [(since.index, refusal.index) for since, refusal in denied(story.operations)]


def test_a_broker_that_served_was_registered() -> None:
    story = Story()
    story.op("start", KEY)
    story.op("unregister", KEY)
    since, refusal = story.op("bounce", KEY), refused(story)
    story.op("unregister", KEY)
    assert found(story) == [(since.index, refusal.index)]


def test_what_served_last_counts() -> None:
    story = Story()
    story.op("start", KEY)
    since, refusal = story.op("bounce", KEY), refused(story)
    assert found(story) == [(since.index, refusal.index)]


@pytest.mark.parametrize("ended", ["info", "fail"])
@pytest.mark.parametrize("f", ["start", "restart", "bounce", "replace"])
def test_a_broker_of_which_nobody_knows_that_it_served(f: str, ended: CompletionType) -> None:
    story = Story()
    story.op(f, KEY, type=ended, error="TIMED_OUT")
    refused(story)
    assert not found(story)


@pytest.mark.parametrize("f", ["drain", "kill", "unregister"])
def test_what_shows_no_process(f: str) -> None:
    story = Story()
    story.op(f, KEY)
    refused(story)
    assert not found(story)


def test_who_comes_while_the_refusal_is_on_its_way() -> None:
    story = Story()
    coming = story.invoke("start", KEY)
    refused(story)
    story.complete(coming)
    assert not found(story)


def test_of_another_broker_or_of_another_kind() -> None:
    story = Story()
    story.op("start", "broker-8")
    refused(story)
    story.op("start", KEY)
    refused(story, f="drain")
    refused(story, ended="info")
    story.op("unregister", KEY, type="fail", error="INVALID_REQUEST")
    assert not found(story)


# --- who tells of it ----------------------------------------------------------------------


def taken(story: Story) -> Operation:
    return story.op("unregister", KEY)


def looks(story: Story, node: str, *brokers: int) -> Operation:
    there = [{"id": each, "host": "h", "port": 1} for each in brokers]
    return story.op("list-brokers", None, None, {"brokers": there}, node=node)


def ending(*fs: str) -> Story:
    """In the final phase of a cluster that has settled, these were done to the broker."""
    story = Story()
    story.final()
    for f in fs:
        story.op(f, KEY)
    return story


def judgement(story: Story) -> tuple[object, list[str]]:
    count, findings = still_told(story.run_events())
    return count, [each.message for each in findings]


def at_end_of(story: Story, look: Operation, lasted_ns: int) -> None:
    """So long after the broker was unregistered that was asked."""
    (ask,) = (each for each in story.operations if each.f == "unregister")
    began_ns = (ask.completed_ns or 0) + lasted_ns
    at = story.operations.index(look)
    story.operations[at] = replace(look, invoked_ns=began_ns, completed_ns=began_ns)


@pytest.mark.parametrize("short_ns", [0, 1])
def test_eight_seconds_are_enough(short_ns: int) -> None:
    story = ending("kill")
    taken(story)
    looks(story, "b1", BROKER)
    last = looks(story, "b1", BROKER)
    looks(story, "b2")
    at_end_of(story, last, 8 * 10**9 - short_ns)
    count, messages = judgement(story)
    assert count == 1
    assert [f"by operation {last.index}, 8.0 s after" in each for each in messages] == (
        [] if short_ns else [True]
    )


@pytest.mark.parametrize(
    ("done", "away_"),
    [
        (["kill"], True),
        (["start", "drain"], True),
        (["kill", "unregister"], True),
        (["kill", "start"], False),
        (["unregister"], False),
        ([], False),
    ],
)
def test_who_is_known_to_be_away(done: list[str], away_: bool) -> None:
    story = ending(*done)
    ask = taken(story)
    assert (ask in [each.ask for each in away(story.operations)]) == away_


def test_who_went_by_itself_was_not_unregistered() -> None:
    story = ending("drain", "kill")
    assert not list(away(story.operations))


def test_who_may_not_have_ended_yet_may_be_there() -> None:
    story = ending("start")
    story.op("kill", KEY, type="info", error="TIMED_OUT")
    taken(story)
    assert not list(away(story.operations))
    late = ending("start")
    ends = late.invoke("kill", KEY)
    taken(late)
    late.complete(ends)
    assert not list(away(late.operations))


def test_what_is_said_of_its_configuration_is_not_done_to_it() -> None:
    story = ending("kill")
    story.op("configure-broker", KEY)
    taken(story)
    assert [each.broker for each in away(story.operations)] == [BROKER]


def test_looks_count_from_its_end_to_its_next_beginning() -> None:
    story = ending("kill")
    looks(story, "b1", BROKER)
    taken(story)
    looks(story, "b1")
    looks(story, "b2")
    story.op("kill", KEY)
    looks(story, "b3")
    story.op("start", KEY)
    looks(story, "b1", BROKER)
    assert judgement(story) == (3, [])


def test_looks_of_before_the_end_do_not_count() -> None:
    story = Story()
    story.op("kill", KEY)
    taken(story)
    for node in ("b1", "b2"):
        looks(story, node)
    story.final()
    count, messages = judgement(story)
    assert str(count).startswith("hardly a broker was asked") and not messages


def test_of_a_cluster_that_has_not_settled_nothing_is_said() -> None:
    story = Story()
    story.final(settled=False)
    story.op("kill", KEY)
    taken(story)
    for node in ("b1", "b2"):
        looks(story, node)
    assert judgement(story) == ("the cluster was not seen to settle", [])


# --- by the log ---------------------------------------------------------------------------


def test_a_record_without_its_request_names_those_for_the_same_broker() -> None:
    story = Story()
    own = story.op("unregister", KEY, type="fail", error="INVALID_REQUEST")
    story.op("unregister", "broker-8", type="fail", error="INVALID_REQUEST")
    count, (only,) = taken_off(story.run_events(), log_of([1]))
    assert only.operations == (own.index,)
    assert count == "no broker was unregistered for sure"


@pytest.mark.parametrize(
    ("ended", "count"),
    [(["ok"], 2), (["ok", "info"], 2), (["info"], "no broker was unregistered for sure")],
)
def test_what_is_compared(ended: list[CompletionType], count: object) -> None:
    story = Story()
    for each in ended:
        story.op("unregister", KEY, type=each)
    assert taken_off(story.run_events(), log_of([10**12])) == (count, [])


def test_a_log_that_nobody_tells_is_compared_with_nothing() -> None:
    story = Story()
    taken(story)
    assert taken_off(story.run_events(), CommittedLog([], [], [], None, [])) == (0, [])
