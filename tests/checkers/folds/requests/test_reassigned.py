"""Other replicas of partitions: wishes, goals in the log, and the end
(`folds/requests/reassigned.py`)."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import pytest

from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.requests.reassigned import (
    PATIENCE_NS,
    Wish,
    goals,
    last_goals,
    misplaced,
    still_moving,
    unasked,
    undone,
    ungranted,
    wanted_by,
    wishes_of,
)
from framework.evidence.changes import Change, PartitionCreated, TopicCreated
from framework.evidence.ids import BrokerId, LeaderEpoch, Offset, PartitionEpoch
from framework.history.pairing import CompletionType, Operation

KEY: Final = "t/0"


def wished(
    index: int, replicas: Sequence[int] | None, type: CompletionType = "ok", **more: Any
) -> Operation:
    """Its end is the next event, where it has one; its time is its index."""
    end = None if type == "info" else index + 1
    value = {"replicas": None if replicas is None else list(replicas)}
    made: dict[str, Any] = {"key": KEY, "end": end, "invoked_ns": index, **more}
    return Operation(index=index, f="reassign", type=type, value=value, **made)


def log_of(*records: Change) -> CommittedLog:
    """Each was applied by somebody at ten times its offset."""
    by_ns = [10 * offset for offset in range(len(records))]
    return CommittedLog(records, [0] * len(records), by_ns, None, [])


def topic(topic_id: str = "T", name: str = "t") -> TopicCreated:
    common: dict[str, Any] = {"node": "c1", "offset": Offset(0), "epoch": LeaderEpoch(1)}
    return TopicCreated(name=name, topic_id=topic_id, **common)


def made(
    *replicas: int,
    version: int,
    adding: Sequence[int] = (),
    removing: Sequence[int] = (),
    topic_id: str = "T",
) -> PartitionCreated:
    return PartitionCreated(
        node="c1",
        offset=Offset(0),
        epoch=LeaderEpoch(1),
        topic_id=topic_id,
        partition=0,
        isr=tuple(map(BrokerId, replicas)),
        leader=BrokerId(replicas[0]),
        leader_epoch=LeaderEpoch(0),
        partition_epoch=PartitionEpoch(version),
        replicas=tuple(map(BrokerId, replicas)),
        adding=tuple(map(BrokerId, adding)),
        removing=tuple(map(BrokerId, removing)),
    )


FIRST: Final = made(1, 2, version=0)
UNDER_WAY: Final = made(3, 1, 2, version=1, adding=[3], removing=[2])
BACK: Final = made(1, 2, version=2)
DONE: Final = made(3, 1, version=3)


# --- wishes -------------------------------------------------------------------------------


def test_wishes_are_what_was_not_refused() -> None:
    asked = [wished(0, [3, 1]), wished(2, None), wished(4, [2], "info"), wished(6, [9], "fail")]
    other = Operation(index=8, f="create", key=KEY, type="ok", end=9)
    assert {
        key: [each.goal for each in own] for key, own in wishes_of([*asked, other]).items()
    } == {KEY: [(3, 1), None, (2,)]}


@pytest.mark.parametrize(
    ("end", "wanted"), [(None, {3, 1, 4}), (5, {3, 1, 4}), (4, {3, 1}), (0, None)]
)
def test_a_read_may_show_what_was_wanted_before_it_ended(
    end: int | None, wanted: set[int] | None
) -> None:
    wishes = wishes_of([wished(0, [3, 1]), wished(2, None), wished(4, [4])])
    read = Operation(index=1, f="metadata", end=end)
    assert wanted_by(wishes, KEY, read) == wanted
    assert wanted_by(wishes, "t/1", read) is None


# --- the log ------------------------------------------------------------------------------


def test_goals_are_what_stays_and_each_change_of_it() -> None:
    log = log_of(topic(), FIRST, UNDER_WAY, BACK, UNDER_WAY, DONE, DONE)
    found = [(each.replicas, each.since_ns, each.cancels, each.first) for each in goals(log)]
    assert found == [
        ((1, 2), 10, False, True),
        ((3, 1), 20, False, False),
        ((1, 2), 30, True, False),
        ((3, 1), 40, False, False),
    ]
    assert {each.key for each in goals(log)} == {KEY}


def test_topics_that_nobody_made_have_no_goals() -> None:
    """As of a log whose begin is in a snapshot."""
    assert not list(goals(log_of(FIRST)))
    assert [each.key for each in goals(log_of(topic("T"), topic("U", "u"), FIRST))] == [KEY]


@pytest.mark.parametrize("same", [True, False])
def test_a_topic_that_is_made_again_begins_anew(same: bool) -> None:
    """Whatever the former one of that name had."""
    again = made(*([1, 2] if same else [2, 3]), version=0, topic_id="U")
    found = list(goals(log_of(topic(), FIRST, topic("U"), again)))
    assert [each.first for each in found] == [True, True]
    assert not any(each.cancels for each in found)


def test_a_log_that_begins_later_knows_no_wish_for_its_first_goal() -> None:
    (goal,) = goals(log_of(topic(), made(4, 5, version=7)))
    assert goal.first and not list(unasked([goal], {}, once=True))


def test_a_goal_is_asked_for_before_somebody_applied_it_and_once() -> None:
    found = partial(unasked, once=True)
    _, goal, back, again = goals(log_of(topic(), FIRST, UNDER_WAY, BACK, UNDER_WAY))
    for at, asked in ((0, True), (20, True), (21, False)):
        wishes = wishes_of([wished(at, [3, 1])])
        assert list(found([goal], wishes)) == ([] if asked else [goal]), at
    assert list(found([goal], wishes_of([wished(0, [1, 3])]))) == [goal], "in another order"
    both = wishes_of([wished(0, [3, 1]), wished(2, None)])
    assert list(found([goal, back, again], both)) == [again], "granted twice"
    assert not list(unasked([goal, back, again], both, once=False)), "sent twice"
    assert list(found([goal], wishes_of([wished(0, None)]))) == [goal], "it cancels nothing"
    assert list(found([back], wishes_of([wished(0, [7])]))) == [back], "nobody cancelled it"
    assert list(found([goal], wishes_of([wished(0, [3, 1], invoked_ns=None)]))) == []


def test_what_was_granted_was_once_the_goal() -> None:
    had = list(goals(log_of(topic(), FIRST, UNDER_WAY)))
    asked = [wished(0, [3, 1]), wished(2, [7]), wished(4, None), wished(6, [8], "info")]
    count, missing = ungranted(had, wishes_of(asked))
    assert count == 2 and [each.goal for each in missing] == [(7,)]
    assert ungranted([], wishes_of(asked)) == (0, []), "of partitions that the log has not"


# --- the end ------------------------------------------------------------------------------


def last(*asked: Operation) -> list[Any]:
    own = wishes_of(asked)
    return [each.goal for each in last_goals(own.get(KEY, []))]


def test_the_last_wish_counts_and_all_that_may_be_it() -> None:
    assert last(wished(0, [1]), wished(2, [2])) == [(2,)]
    assert last(wished(0, [1], end=3), wished(2, [2])) == [(1,), (2,)]
    assert last(wished(0, [1], "info"), wished(2, [2])) == [(1,), (2,)], "may come later"
    assert last(wished(0, [1]), wished(2, [2], "info")) == [(1,), (2,)], "may never come"
    assert last(wished(0, [1]), wished(2, None)) == [], "cancelled, and to what is not known"
    assert last(wished(0, [1]), wished(2, None, "info")) == []
    assert last(wished(0, [1], "info")) == last() == [], "nothing was granted"


def read_of(replicas: Any, index: int = 10, **more: Any) -> Operation:
    shown = {"partition": 0} if replicas is None else {"partition": 0, "replicas": replicas}
    given: dict[str, Any] = {
        "f": "describe",
        "key": "t",
        "type": "ok",
        "end": index + 1,
        "phase": "final",
        "result": {"partitions": [shown]},
    }
    return Operation(index=index, **{**given, **more})


@pytest.mark.parametrize("f", ["describe", "follow"])
def test_the_final_reads_show_the_last_goal(f: str) -> None:
    wishes = wishes_of([wished(0, [3, 1])])
    right, wrong = read_of([3, 1], f=f), read_of([1, 2], f=f)
    assert misplaced([right, wrong], wishes) == (
        [(right, KEY), (wrong, KEY)],
        [(wrong, KEY, (1, 2))],
    )


@pytest.mark.parametrize(
    "read",
    [
        read_of([1, 2], f="metadata"),
        read_of([1, 2], phase="main"),
        read_of([1, 2], type="info"),
        read_of([1, 2], result=None),
        read_of(None),
        read_of([1, 2], index=1),
    ],
    ids=["a cache", "before the end", "unanswered", "no topic", "no replicas", "meanwhile"],
)
def test_what_says_nothing_of_the_end_is_not_compared(read: Operation) -> None:
    assert misplaced([read], wishes_of([wished(0, [3, 1])])) == ([], [])


def test_a_wish_without_an_answer_does_not_keep_reads_from_being_compared() -> None:
    wishes = wishes_of([wished(0, [3, 1]), wished(2, [4], "info")])
    reads = [read_of([4]), read_of([3, 1]), read_of([2])]
    assert misplaced(reads, wishes) == (
        [(each, KEY) for each in reads],
        [(read_of([2]), KEY, (2,))],
    )
    assert misplaced([read_of([2])], {}) == ([], []), "nobody wished anything"


def looked(at_ns: int, *moving: str, **more: Any) -> Operation:
    given: dict[str, Any] = {"type": "ok", "end": at_ns + 1, "phase": "final", "invoked_ns": at_ns}
    result = [{"key": each} for each in moving]
    return Operation(index=at_ns, f="reassignments", result=result, **{**given, **more})


def test_what_is_under_way_in_the_end_has_its_time() -> None:
    assert still_moving([]) is None
    assert still_moving([looked(5, KEY), looked(9)]) is None, "over"
    for waited_ns, too_long in ((0, False), (PATIENCE_NS - 1, False), (PATIENCE_NS, True)):
        last = looked(5 + waited_ns, KEY)
        assert still_moving([looked(5, KEY), looked(5 + waited_ns // 2), last]) == (last, too_long)


@pytest.mark.parametrize("more", [{"phase": "main"}, {"type": "info"}, {"f": "describe"}])
def test_only_answers_of_the_end_tell_of_it(more: dict[str, Any]) -> None:
    """Neither do they tell that something is under way, nor since when."""
    left_out = looked(5, KEY)
    for name, value in more.items():
        setattr(left_out, name, value)
    assert still_moving([left_out]) is None
    last = looked(6 + PATIENCE_NS, KEY)
    assert still_moving([left_out, looked(7, KEY), last]) == (last, False)


def test_a_wish_is_its_operation_and_goal() -> None:
    asked = wished(0, [3, 1])
    assert wishes_of([asked]) == {KEY: [Wish(asked, (3, 1))]}


# --- cancels in the log -------------------------------------------------------------------

GROWS: Final = made(1, 2, 3, version=1, adding=[3])
SHRINKS: Final = made(1, 2, version=1, removing=[2])


@pytest.mark.parametrize(
    ("records", "times"),
    [
        ([UNDER_WAY, BACK], 1),
        ([GROWS, BACK], 1),
        ([SHRINKS, BACK], 1),
        ([UNDER_WAY, BACK, GROWS, BACK], 2),
        ([UNDER_WAY, DONE], 0),
        ([UNDER_WAY, SHRINKS], 0),
        ([UNDER_WAY, SHRINKS, BACK], 1),
        ([BACK], 0),
        ([DONE, DONE], 0),
    ],
)
def test_a_move_is_undone_where_it_ends_with_the_replicas_from_before_it(
    records: Sequence[Change], times: int
) -> None:
    """One that adds, takes away, or both; not where it goes on to take away what it did not add,
    nor where nothing was under way."""
    assert undone(log_of(topic(), FIRST, *records)) == Counter({KEY: times})


def test_partitions_of_topics_that_the_log_does_not_have_are_passed_over() -> None:
    elsewhere = made(1, 2, version=0, topic_id="U")
    assert undone(log_of(elsewhere, topic(), FIRST, UNDER_WAY, BACK)) == Counter({KEY: 1})
