"""Which acts of static members' processes come too late, and which of them come back in time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_runs import MS, Story

from checkers.folds.groups.instances import acts_of_the_fenced, of_instances, timely_returns
from framework.history.pairing import Operation

SESSION_MS = 20


def a_value(number: int, **more: Any) -> dict[str, Any]:
    return {"group": "g", "member": f"s{number}", "instance": "i", **more}


def join(story: Story, number: int, node: str = "b1", **more: Any) -> Operation:
    value = a_value(number, session_ms=SESSION_MS, **more)
    result = {"generation": 1, "id": f"id-{number}", "part": "p"}
    return story.op("join", None, value, result, node=node)


def act(story: Story, f: str, number: int, node: str = "b1", **more: Any) -> Operation:
    value = a_value(number, id=f"id-{number}", generation=1, offset=0)
    return story.op(f, "t/0" if f == "commit" else None, value, {}, node=node, **more)


def late(story: Story) -> list[tuple[int, int]]:
    found = acts_of_the_fenced(of_instances(story.run_events().operations))
    return [(before.index, each.index) for before, each in found]


def returns(story: Story) -> list[tuple[int, int]]:
    found = timely_returns(of_instances(story.run_events().operations))
    return [(before.index, after.index) for before, after in found]


def test_what_is_looked_at_is_of_groups_with_instances() -> None:
    story = Story()
    first = join(story, 0)
    story.op("join", None, {"group": "h", "member": "a"}, {"generation": 1, "id": "x"})
    story.op("positions", None, {"group": "g", "instance": "i"}, {})
    story.op("positions", None, {"group": "of no member", "instance": "i"}, {})
    story.op("commit", "t/0", {"group": "of no member", "id": "x"}, {})
    for value in (None, ["group"], {"offset": 0}):
        story.op("commit", "t/0", value, {})
    last = act(story, "beat", 0)
    found = of_instances(reversed(story.run_events().operations))
    assert [each.index for each in found] == [first.index, last.index]


# --- who is fenced ------------------------------------------------------------------------


@pytest.mark.parametrize("f", ["beat", "commit"])
def test_whoever_speaks_after_its_successor_has_joined_is_late(f: str) -> None:
    story = Story()
    join(story, 0)
    act(story, f, 0)
    first = join(story, 1)
    join(story, 2)
    own = act(story, f, 0)
    assert late(story) == [(first.index, own.index)], "the first of those that came after it"


def test_each_instance_has_its_own_successors() -> None:
    story = Story()
    join(story, 0)
    first = join(story, 1)
    join(story, 2, instance="j")
    own = act(story, "commit", 0)
    story.op("commit", "t/0", {"group": "g", "id": "id-2", "instance": "j"}, {})
    assert late(story) == [(first.index, own.index)]


def test_a_heartbeat_is_late_where_the_node_that_takes_it_knew_better() -> None:
    """Another node may have been the coordinator before, and not know that it is none."""
    story = Story()
    join(story, 0, "b1")
    later = join(story, 1, "b2")
    act(story, "beat", 0, "b1")
    same = act(story, "beat", 0, "b2")
    commit = act(story, "commit", 0, "b1")
    assert late(story) == [(later.index, same.index), (later.index, commit.index)]
    unnamed = [replace(each, node=None) for each in story.run_events().operations]
    assert [each.f for _, each in acts_of_the_fenced(unnamed)] == ["commit"], "nobody says who"


def at_once(story: Story) -> None:
    join(story, 0)
    joining = story.invoke("join", None, a_value(1))
    act(story, "commit", 0)
    story.complete(joining, "ok", {"generation": 1, "id": "id-1"})


def begun_before_its_own_join_ended(story: Story) -> None:
    """Which of the two came later nobody knows."""
    joining = story.invoke("join", None, a_value(0))
    join(story, 1)
    story.complete(joining, "ok", {"generation": 1, "id": "id-0"})
    act(story, "commit", 0)


def another_instance(story: Story) -> None:
    join(story, 0)
    join(story, 1, instance="j")
    act(story, "commit", 0)


def another_group(story: Story) -> None:
    join(story, 0)
    join(story, 1, group="h")
    act(story, "commit", 0)


def whose_join_was_not_answered(story: Story) -> None:
    join(story, 0)
    story.op("join", None, a_value(1), None, type="info", error="CLIENT_TIMED_OUT")
    act(story, "commit", 0)


def who_was_never_let_in(story: Story) -> None:
    join(story, 1)
    act(story, "commit", 0)


def who_joined_without_an_instance(story: Story) -> None:
    value = {"group": "g", "member": "s0", "session_ms": SESSION_MS}
    story.op("join", None, value, {"generation": 1, "id": "id-0"})
    join(story, 1)
    act(story, "commit", 0)


def who_names_no_instance(story: Story) -> None:
    """It is no process of one, as far as it says."""
    join(story, 0)
    join(story, 1)
    value = {"group": "g", "member": "s0", "id": "id-0", "generation": 1, "offset": 0}
    story.op("commit", "t/0", value, value)


@pytest.mark.parametrize(
    "plant",
    [
        at_once,
        begun_before_its_own_join_ended,
        another_instance,
        another_group,
        whose_join_was_not_answered,
        who_was_never_let_in,
        who_joined_without_an_instance,
        who_names_no_instance,
    ],
    ids=lambda plant: plant.__name__,
)
def test_who_is_not_late(plant: Callable[[Story], None]) -> None:
    story = Story()
    plant(story)
    assert late(story) == []


# --- who comes back in time ---------------------------------------------------------------


@pytest.mark.parametrize(("waits", "in_time"), [(0, True), (SESSION_MS, False)])
def test_a_session_runs_from_the_join(waits: int, in_time: bool) -> None:
    story = Story()
    before = join(story, 0)
    for _ in range(waits):
        story.op("list-offsets", "t/0", {"at": "latest"}, {"offset": 0})
    after = join(story, 1)
    assert returns(story) == ([(before.index, after.index)] if in_time else [])


@pytest.mark.parametrize("f", ["beat", "commit"])
def test_a_session_runs_anew_from_what_was_heard(f: str) -> None:
    story = Story()
    before = join(story, 0)
    for _ in range(SESSION_MS):
        act(story, f, 0)
    after = join(story, 1)
    assert returns(story) == [(before.index, after.index)]


@pytest.mark.parametrize(
    "heard",
    [{"number": 7}, {"number": 0, "type": "fail"}, {"number": 0, "type": "info"}],
    ids=["another process", "refused", "unanswered"],
)
def test_what_was_not_heard_of_it_ends_no_silence(heard: dict[str, Any]) -> None:
    story = Story()
    join(story, 0)
    for _ in range(SESSION_MS):
        act(story, "beat", **heard)
    join(story, 1)
    assert returns(story) == []


def test_the_last_moment_of_a_session() -> None:
    """From when its join was asked for, until the next one was answered."""
    for spare, expected in ((0, 0), (1, 1)):
        story = Story()
        before = join(story, 0)
        after = join(story, 1)
        assert before.invoked_ns is not None
        session_ns = SESSION_MS * MS
        moved = before.invoked_ns + session_ns - spare
        at_last = replace(after, completed_ns=moved)
        assert len(list(timely_returns([before, at_last]))) == expected


def test_what_is_heard_while_the_next_one_joins_runs_no_session_anew() -> None:
    """The coordinator may have let that in before."""
    for wait_ms, expected in ((SESSION_MS - 6, 1), (SESSION_MS, 0)):
        story = Story()
        join(story, 0)
        story.wait(wait_ms)
        joining = story.invoke("join", None, a_value(1, session_ms=SESSION_MS))
        act(story, "beat", 0)
        story.complete(joining, "ok", {"generation": 1, "id": "id-1"})
        assert len(returns(story)) == expected


def test_what_is_said_at_the_moment_of_the_next_join_comes_with_it() -> None:
    story = Story()
    before = join(story, 0)
    beat = act(story, "beat", 0)
    after = join(story, 1)
    assert after.completed_ns is not None
    late_ns = after.completed_ns - SESSION_MS * MS
    first = replace(before, invoked_ns=late_ns)
    said = replace(beat, invoked_ns=after.invoked_ns)
    assert not list(timely_returns([first, said, after]))


def test_an_operator_who_was_answered_removes_nobody_later() -> None:
    story = Story()
    value = {"group": "g", "member": "", "instance": "i"}
    story.op("leave", None, value, {})
    before, after = join(story, 0), join(story, 1)
    assert returns(story) == [(before.index, after.index)]


def test_a_history_without_times_tells_of_no_session() -> None:
    story = Story()
    before, beat, after = join(story, 0), act(story, "beat", 0), join(story, 1)
    untold = replace(beat, invoked_ns=None)
    assert len(list(timely_returns([before, untold, after]))) == 1, "its join is told"
    assert not list(timely_returns([replace(before, invoked_ns=None), beat, after]))
    assert not list(timely_returns([before, beat, replace(after, completed_ns=None)]))


def with_another_member(story: Story) -> None:
    join(story, 0)
    value = {"group": "g", "member": "a"}
    story.op("join", None, value, {"generation": 2, "assigned": [], "positions": []})
    join(story, 1)


def with_another_instance(story: Story) -> None:
    join(story, 0)
    join(story, 1, instance="j")


def after_leaving(story: Story) -> None:
    join(story, 0)
    act(story, "leave", 0)
    join(story, 1)


def after_a_leave_without_an_answer(story: Story) -> None:
    join(story, 0)
    act(story, "leave", 0, type="info")
    join(story, 1)


def after_somebody_removed_it_perhaps(story: Story) -> None:
    """An operator, at any time from then on."""
    value = {"group": "g", "member": "", "instance": "i"}
    story.op("leave", None, value, None, type="info", error="CLIENT_TIMED_OUT")
    join(story, 0)
    join(story, 1)


def after_a_join_without_an_answer(story: Story) -> None:
    join(story, 0)
    story.op("join", None, a_value(1), None, type="info", error="CLIENT_TIMED_OUT")
    join(story, 2)


def while_another_joins(story: Story) -> None:
    join(story, 0)
    joining = story.invoke("join", None, a_value(1))
    join(story, 2)
    story.complete(joining, "fail", error="CONNECTION_FAILED")


def at_the_same_time_as_the_one_before(story: Story) -> None:
    joining = story.invoke("join", None, a_value(0, session_ms=SESSION_MS))
    join(story, 1)
    story.complete(joining, "ok", {"generation": 1, "id": "id-0"})


def that_overlaps_a_later_one(story: Story) -> None:
    join(story, 0)
    joining = story.invoke("join", None, a_value(1, session_ms=SESSION_MS))
    leaving = story.invoke("leave", None, a_value(0, id="id-0"))
    story.complete(joining, "ok", {"generation": 1, "id": "id-1"})
    story.complete(leaving, "fail", error="FENCED_INSTANCE_ID")


def that_tells_no_session(story: Story) -> None:
    for number in (0, 1):
        story.op("join", None, a_value(number), {"generation": 1, "id": f"id-{number}"})


@pytest.mark.parametrize(
    "plant",
    [
        with_another_member,
        with_another_instance,
        after_leaving,
        after_a_leave_without_an_answer,
        after_somebody_removed_it_perhaps,
        after_a_join_without_an_answer,
        while_another_joins,
        at_the_same_time_as_the_one_before,
        that_overlaps_a_later_one,
        that_tells_no_session,
    ],
    ids=lambda plant: plant.__name__,
)
def test_returns_that_may_begin_a_generation(plant: Callable[[Story], None]) -> None:
    story = Story()
    plant(story)
    assert returns(story) == []


# --- any history --------------------------------------------------------------------------


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    """Processes of one instance that overlap at will, on two nodes."""
    story = Story()
    open_: list[Operation] = []
    joins = 0
    for _ in range(draw(st.integers(4, 12))):
        f = draw(st.sampled_from(["join", "join", "join", "beat", "commit", "commit", "leave"]))
        about = joins if f == "join" else draw(st.integers(0, max(0, joins - 1)))
        joins += f == "join"
        more = {} if f == "join" else {"id": f"id-{about}"}
        value = a_value(about, session_ms=SESSION_MS, **more)
        node = draw(st.sampled_from(["b1", "b2"]))
        open_.append(story.invoke(f, None, value, node=node))
        while open_ and draw(st.integers(0, 3)):
            each = open_.pop(draw(st.integers(0, len(open_) - 1)))
            type_ = draw(st.sampled_from(["ok", "ok", "ok", "fail", "info"]))
            told = {"generation": 1, "id": f"id-{each.value['member'][1:]}"}
            story.complete(each, type_, told if type_ == "ok" else None)
    return list(story.run_events().operations)


def naive_late(ops: Sequence[Operation]) -> set[int]:
    joins = [each for each in ops if each.f == "join" and each.ok]
    return {
        each.index
        for each in ops
        if each.f in ("beat", "commit")
        and any(
            own.result["id"] == each.value["id"]
            and own.precedes(later)
            and later.precedes(each)
            and (each.f == "commit" or later.node == each.node)
            for own in joins
            for later in joins
        )
    }


def naive_returns(ops: Sequence[Operation]) -> set[tuple[int, int]]:
    """Nobody else comes or goes between the two, or at the same time; what was begun before has
    ended, or concerns another process."""
    moves = [each for each in ops if each.f in ("join", "leave")]
    found = set()
    for before in moves:
        for after in moves:
            if not (before.f == after.f == "join" and before.ok and after.ok):
                continue
            others = [each for each in moves if each is not before and each is not after]
            apart = all(
                after.precedes(each)
                or (each.index < before.index and (each.end or each.index) < before.index)
                for each in others
            )
            if before.precedes(after) and apart:
                found.add((before.index, after.index))
    return found


def test_any_history_is_read_as_the_definitions_say() -> None:
    seen = {"late": 0, "returns": 0}

    @settings(max_examples=300, deadline=None, database=None, derandomize=True)
    @given(histories())
    def judge(ops: list[Operation]) -> None:
        own = of_instances(ops)
        assert {act.index for _, act in acts_of_the_fenced(own)} == naive_late(ops)
        found = {(before.index, after.index) for before, after in timely_returns(own)}
        assert found == naive_returns(ops)
        seen["late"] += bool(naive_late(ops))
        seen["returns"] += bool(found)

    judge()
    assert min(seen.values()) > 20, seen
