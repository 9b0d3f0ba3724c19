"""Consumer groups keep what they promise."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_runs import Story, assert_invalid, assert_valid

from checkers.folds.groups.group_runs import group_run
from checkers.groups import (
    FENCED,
    LISTED,
    OWN_IDS,
    RETURNS,
    RULES,
    WITHHELD,
    Groups,
    deletions_withheld,
    groups,
)
from framework.history.pairing import Operation
from framework.plugins.checker import Clause
from framework.plugins.outcomes import ABSENT, PRESENT, STALE
from framework.verdict import Verdict

KEY, OTHER_KEY = "t/0", "t/1"
GROUP = "g"
SIMPLE = "f"
"""Nobody is in it."""
BROKERS = ("b1", "b2", "b3")
LISTS: dict[str, dict[str, str]] = {
    "b1": {"g": "Stable", "h": "Empty"},
    "b2": {"s": "Stable", "f": "Empty"},
    "b3": {},
}
"""Broker -> group -> state."""


def of_member(member: str, group: str = GROUP) -> dict[str, Any]:
    return {"group": group, "member": member}


def assigned(generation: int, **positions: int) -> dict[str, Any]:
    """Of `t0=3`: t/0 from 3 on."""
    at = [[f"t/{name[1:]}", position] for name, position in positions.items()]
    return {"generation": generation, "assigned": [key for key, _ in at], "positions": at}


def join(story: Story, member: str, generation: int, f: str = "join", **at: int) -> Operation:
    return story.op(f, None, of_member(member), assigned(generation, **at))


def join_in_vain(story: Story, member: str) -> None:
    """It waits for its part, and is told of it by an assignment."""
    joining = story.invoke("join", None, of_member(member))
    story.complete(joining, "fail", error="NOT_ASSIGNED")


def a_commit(member: str, generation: int, offset: int, group: str = GROUP) -> dict[str, Any]:
    return {**of_member(member, group), "generation": generation, "offset": offset}


def commit(story: Story, generation: int, offset: int, member: str = "a", **more: Any) -> Operation:
    value = a_commit(member, generation, offset)
    if more.get("type") != "fail":
        return story.op("commit", KEY, value, value, **more)
    said = {"ext": {"asserts": STALE}, "error": "ILLEGAL_GENERATION"}
    return story.op("commit", KEY, value, **{**said, **more})


def committed(story: Story, offset: int | None, group: str = GROUP) -> Operation:
    return story.op("committed", KEY, {"group": group}, {"offset": offset})


def commit_as_nobody(story: Story, offset: int, **more: Any) -> Operation:
    value = a_commit("", -1, offset, SIMPLE)
    return story.op("commit", KEY, value, value, **more)


def forget(story: Story, group: str = SIMPLE, key: str = KEY, **more: Any) -> Operation:
    return story.op("forget", key, {"group": group}, **more)


def deletions(story: Story) -> None:
    """What a group without members committed is deleted; once nobody knows whether it was."""
    commit_as_nobody(story, 1)
    forget(story)
    committed(story, None, SIMPLE)
    commit_as_nobody(story, 2)
    committed(story, 2, SIMPLE)
    forget(story, type="info", error="CLIENT_TIMED_OUT")
    committed(story, 2, SIMPLE)
    committed(story, None, SIMPLE)
    forget(story, type="fail", error="GROUP_ID_NOT_FOUND", ext={"asserts": ABSENT})
    commit_as_nobody(story, 3)


def withheld(story: Story, key: str = KEY, group: str = GROUP) -> Operation:
    """A deletion that is refused for the members of the group."""
    said: Any = {"error": "GROUP_SUBSCRIBED_TO_TOPIC", "ext": {"asserts": PRESENT}}
    return forget(story, group, key, type="fail", **said)


def lists(
    story: Story,
    node: str,
    groups: Mapping[str, str | None] | None = None,
    of: dict[str, str | None] | None = None,
    **asked: list[str],
) -> Operation:
    """A broker's answer: of each group its state; all are classic ones, but for `of`."""
    reported = LISTS[node] if groups is None else groups
    told = [[each, state, (of or {}).get(each, "classic")] for each, state in reported.items()]
    return story.op("groups", None, asked or None, {"groups": told}, node=node)


def all_list(story: Story, **instead: dict[str, str]) -> None:
    for node in BROKERS:
        lists(story, node, instead.get(node))


def with_brokers(story: Story, *provides: str) -> Story:
    """Its plan says who they are."""
    nodes = {node: {"roles": ["broker"]} for node in BROKERS}
    story.plan |= {"nodes": nodes, "provides": ["group-operations", *provides]}
    return story


def produce(story: Story, *offsets: int, acks: str = "all") -> None:
    for offset in offsets:
        value = {"value": 100 + offset, "acks": acks, "idempotent": True}
        story.op("produce", KEY, value, {**value, "offset": offset})


def fetch(
    story: Story, member: str, start: int, *offsets: int, end: int | None = None, group: str = GROUP
) -> Operation:
    value = {"consumer": member, "from": start, **of_member(member, group), "generation": 1}
    position = offsets[-1] + 1 if offsets else start
    reported: dict[str, Any] = {"records": [[each, 100 + each] for each in offsets]}
    reported["position"] = position
    if end is not None:
        reported["high_watermark"] = end
    return story.op("fetch", KEY, value, reported)


def failed(story: Story, f: str, value: dict[str, Any], result: Any = None) -> None:
    """On the partition, with what its answer says all the same."""
    story.op(f, KEY, value, result, type="fail", error="CONNECTION_FAILED")


def restarted(story: Story, number: int, generation: int = 1, part: str = "s0") -> Operation:
    """A static member's process joins."""
    value = {**of_member(f"s{number}", "s"), "instance": "i", "session_ms": 50}
    given = {"generation": generation, "assigned": [], "id": f"id-{number}", "part": part}
    return story.op("join", None, value, given, node="b1")


def acts(story: Story, f: str, number: int, type: str = "ok", node: str = "b1") -> Operation:
    """A heartbeat or a commit of a static member's process."""
    value = {**a_commit(f"s{number}", 1, 0, "s"), "instance": "i", "id": f"id-{number}"}
    refused = {"error": "FENCED_INSTANCE_ID", "ext": {"asserts": STALE}}
    more: Any = refused if type == "fail" else {}
    return story.op(f, KEY if f == "commit" else None, value, {}, type=type, node=node, **more)


def restarts(story: Story) -> None:
    """A static member lives, and is restarted twice; the processes that are over are refused."""
    restarted(story, 0)
    acts(story, "beat", 0)
    for number in (1, 2):
        restarted(story, number)
        acts(story, "beat", number - 1, "fail")
        acts(story, "commit", number)
    acts(story, "commit", 1, "fail")
    committed(story, 0, "s")


def leaves(story: Story) -> None:
    """A static member of another group is gone for good, and begins anew."""
    for number in range(2):
        value = {**of_member(f"u{number}", "u"), "instance": "i", "session_ms": 50}
        given = {"generation": 1 + number, "assigned": [], "id": f"u{number}", "part": f"u{number}"}
        story.op("join", None, value, given, node="b1")
        if number == 0:
            story.op("leave", None, {**value, "id": "u0"}, {}, node="b1")


def clean() -> Story:
    """One member reads; a second one joins and takes a partition; the first one vanishes. Old
    generations are refused, an assignment is told late, one commit has no answer, one is refused,
    and a value without acks=all is lost. Another group was set to begin later, of another one
    commits are deleted."""
    story = with_brokers(Story())
    produce(story, *range(23))
    committed(story, None)
    join(story, "a", 1, t0=0, t1=0)
    fetch(story, "a", 0, 0, 1)
    commit(story, 1, 2)
    committed(story, 2)
    lost = story.invoke("commit", KEY, a_commit("a", 1, 3))
    join(story, "b", 2, t1=0)
    join(story, "c", 3, t0=2)
    join(story, "b", 3, "assignment", t1=0)
    story.complete(lost, "info", error="CLIENT_TIMED_OUT")
    for generation in (1, 2, 1, 1, 2):
        commit(story, generation, 2, type="fail")
    commit(story, -1, 2, type="fail")
    fetch(story, "c", 2, *range(2, 23))
    produce(story, 23, acks="1")
    produce(story, 24)
    commit(story, 3, 23, "c")
    committed(story, 23)
    elsewhere = a_commit("", -1, 24, "h")
    story.op("commit", KEY, elsewhere, elsewhere)
    story.op("join", None, of_member("z", "h"), assigned(1, t0=24))
    story.op("list-offsets", KEY, {"at": "latest"}, {"offset": 25})
    deletions(story)
    lists(story, "b1", {"g": "PreparingRebalance"}, states=["preparingrebalance", "Stable"])
    lists(story, "b1", {}, types=["consumer"])
    story.final()
    story.op("fetch", KEY, {"consumer": "final", "from": 0}, {"records": [], "high_watermark": 25})
    join(story, "d", 4, t0=23, t1=0)
    join(story, "b", 3, "assignment", t1=0)
    restarts(story)
    leaves(story)
    fetch(story, "d", 23, 24)
    fetch(story, "z", 25, end=25, group="h")
    fetch(story, "d", 25, end=25)
    commit(story, 4, 25, "d")
    withheld(story)
    withheld(story, OTHER_KEY)
    commit(story, 4, 25, "d")
    committed(story, 25)
    committed(story, 3, SIMPLE)
    for _ in range(2):
        all_list(story)
    return story


PLANTED = Plants(clean)


def test_clean_run_is_accepted() -> None:
    outcome = groups(clean().run_events())
    assert_valid(outcome)
    assert outcome.clauses == {
        "one-owner": 2,
        "old-generations-refused": 5,
        "generations-rise": 6,
        "commits-kept": 13,
        "commits-made": 10,
        "within-end": 10,
        "delivered": 24,
        "instances-fenced": 3,
        "returns-keep-the-part": 2,
        "deletions-withheld": 2,
        "own-ids": 5,
        "listed": 2,
    }
    assert set(outcome.figures.values()) == {0}


def test_it_is_given_all_that_it_looks_at() -> None:
    events = clean().run_events()
    assert Groups().check_run(events) == groups(events)


# --- lists --------------------------------------------------------------------------------


def listed_in_the_end(*rounds: dict[str, dict[str, str]], settled: bool = True) -> Story:
    """Three groups have something committed, and each broker is asked so often."""
    story = with_brokers(Story())
    for group in (GROUP, "s", SIMPLE):
        value = a_commit("", -1, 0, group)
        story.op("commit", KEY, value, value)
    story.final(settled=settled)
    for group in (GROUP, "s", SIMPLE):
        committed(story, 0, group)
    for instead in rounds:
        all_list(story, **{"b1": {"g": "Stable"}, **instead})
    return story


def of_lists(story: Story) -> Any:
    return groups(story.run_events()).clauses[LISTED.name]


def test_lists_that_are_held_against_each_other() -> None:
    story = listed_in_the_end({}, {})
    assert (of_lists(story), groups(story.run_events()).findings) == (3, [])
    assert of_lists(listed_in_the_end({})) == 0, "one round shows nothing"


def test_a_broker_that_does_not_answer_spoils_its_round_alone() -> None:
    story = listed_in_the_end({})
    for node in BROKERS:
        failed_ = node == "b2"
        more: Any = {"type": "fail", "error": "CLIENT_TIMED_OUT"} if failed_ else {}
        story.op("groups", None, None, None if failed_ else {"groups": []}, node=node, **more)
    assert of_lists(story) == 0
    all_list(story, b1={"g": "Stable"})
    assert of_lists(story) == 3


def test_lists_of_some_groups_or_of_before_or_of_others_are_no_round() -> None:
    story = listed_in_the_end({})
    for node in BROKERS:
        lists(story, node, {}, types=["consumer"])
        lists(story, node, {}, states=["Dead"])
        lists(story, "b9", {})
    assert (of_lists(story), groups(story.run_events()).findings) == (0, [])
    before = with_brokers(Story())
    for group in (GROUP, "s"):
        commit_ = a_commit("", -1, 0, group)
        before.op("commit", KEY, commit_, commit_)
    for _ in range(2):
        all_list(before, b1={}, b2={})
    before.final()
    for group in (GROUP, "s"):
        committed(before, 0, group)
    assert (of_lists(before), groups(before.run_events()).findings) == (0, [])


def test_groups_with_nothing_committed_in_the_end_need_not_be_listed() -> None:
    """Nor those of which that was told before the end, or not at all."""
    story = with_brokers(Story())
    committed(story, 0, "v")
    story.final()
    for group, offset in ((GROUP, 0), ("s", 0), ("w", None)):
        committed(story, offset, group)
    asked = story.invoke("committed", KEY, {"group": "x"})
    story.complete(asked, "fail", {"offset": 0}, error="CONNECTION_FAILED")
    for _ in range(2):
        all_list(story, b1={"g": "Stable"}, b2={"s": "Empty"})
    assert of_lists(story) == 2
    figures = groups(story.run_events()).figures
    assert figures["listed broken"] == 0


def test_why_lists_are_not_held_against_each_other() -> None:
    assert "nobody asked" in of_lists(listed_in_the_end())
    assert "settle" in of_lists(listed_in_the_end({}, {}, settled=False))
    nobody = listed_in_the_end({}, {})
    nobody.plan.pop("nodes")
    assert "who the brokers are" in of_lists(nobody)
    one = with_brokers(Story())
    commit(one, -1, 0)
    one.final()
    committed(one, 0)
    for _ in range(2):
        all_list(one, b1={"g": "Empty"}, b2={})
    assert "fewer than two groups" in of_lists(one)


@pytest.mark.parametrize("type_", ["ok", "info"])
def test_a_group_whose_offset_may_be_deleted_since_need_not_be_listed(type_: Any) -> None:
    story = listed_in_the_end()
    error = None if type_ == "ok" else "CLIENT_TIMED_OUT"
    forget(story, type=type_, error=error)
    for _ in range(2):
        all_list(story, b1={"g": "Stable"}, b2={"s": "Empty"})
    assert (of_lists(story), groups(story.run_events()).findings) == (2, [])
    committed(story, 0, SIMPLE)
    assert of_lists(story) == (3 if type_ == "ok" else 2)


@pytest.mark.parametrize("group", [SIMPLE, GROUP])
def test_deletions_that_are_refused_or_of_others_change_nothing(group: str) -> None:
    story = listed_in_the_end({}, {})
    key, more = (KEY, {"type": "fail"}) if group == SIMPLE else (OTHER_KEY, {})
    forget(story, group, key, **more)  # type: ignore[arg-type]
    assert of_lists(story) == 3


def test_a_group_that_moves_while_brokers_are_asked_is_no_finding() -> None:
    """Nobody lists it in one round, two in the next."""
    without = {"b1": {}}
    twice = {"b3": {"g": "Stable"}}
    story = listed_in_the_end(without, twice, {})
    assert (of_lists(story), groups(story.run_events()).findings) == (3, [])


def test_groups_that_nobody_named_are_others_where_there_are_transactions() -> None:
    story = listed_in_the_end({"b3": {"of-txn-0": "Empty"}}, {})
    assert_invalid(groups(story.run_events()), "of-txn-0 is listed by b3", "nobody had named it")
    with_brokers(story, "transaction-operations")
    assert groups(story.run_events()).findings == []
    del story.plan["provides"]
    assert groups(story.run_events()).findings == []


def test_brokers_that_tell_no_types_cannot_choose_by_them() -> None:
    story = listed_in_the_end({}, {})
    lists(story, "b1", {"g": "Stable"}, {"g": None}, types=["consumer"])
    assert groups(story.run_events()).findings == []


def test_groups_of_the_type_that_was_asked_for_are_right() -> None:
    story = listed_in_the_end({}, {})
    lists(story, "b1", {"g": "Stable"}, types=["Classic"])
    assert groups(story.run_events()).findings == []


def test_one_member_alone_is_no_occasion_for_two_owners_or_older_generations() -> None:
    story = Story()
    join(story, "a", 1, t0=0)
    join(story, "a", 1, "assignment", t0=0)
    counts = groups(story.run_events()).clauses
    assert counts["one-owner"] == "no generation of which two members tell"
    assert counts["old-generations-refused"] == "no second generation was joined"


@pytest.mark.parametrize(
    ("members", "occasion"), [("abab", True), ("aba", False), ("aaabbb", False), ("abcde", False)]
)
def test_members_that_live_side_by_side_might_share_a_generation(
    members: str, occasion: bool
) -> None:
    """A coordinator that gives each of them one of its own keeps none of its promises."""
    story = Story()
    for generation, member in enumerate(members, 1):
        join(story, member, generation, t0=0, t1=0)
        story.op("join", None, of_member("z", "h"), assigned(generation, t0=0))
    assert groups(story.run_events()).clauses["one-owner"] == (
        0 if occasion else "no generation of which two members tell"
    )


def acknowledged(key: str) -> Story:
    """One more record, which no member is handed."""
    story = clean()
    at = next(n for n, each in enumerate(story.operations) if each.phase == "final")
    produced = story.op("produce", key, {"value": 7, "acks": "all"}, {"offset": 0})
    story.operations.insert(at, story.operations.pop())
    assert produced in story.operations[: at + 1]
    return story


def read_to_the_end(story: Story, key: str) -> None:
    value = {"consumer": "d", "from": 0, **of_member("d"), "generation": 4}
    result = {"records": [[0, 7]], "position": 1, "high_watermark": 1}
    story.op("fetch", key, value, result)


@pytest.mark.parametrize("key", [OTHER_KEY, "t/2"])
def test_partition_that_no_member_reads_to_its_end(key: str) -> None:
    """Nor need any have been given it."""
    story = acknowledged(key)
    assert groups(story.run_events()).clauses["delivered"] == (1, 2)
    if key == "t/2":
        story.op(
            "join",
            None,
            of_member("f"),
            {**assigned(5), "assigned": [key], "positions": [[key, 0]]},
        )
    read_to_the_end(story, key)
    assert groups(story.run_events()).clauses["delivered"] == 25


def test_partition_of_a_topic_that_is_not_the_groups() -> None:
    assert groups(acknowledged("u/0").run_events()).clauses["delivered"] == 24


def test_partition_that_no_member_had_to_read_from_its_beginning() -> None:
    story = acknowledged("t/2")
    given = {"generation": 5, "assigned": ["t/2"], "positions": [["t/2", 1]]}
    story.op("join", None, of_member("f"), given)
    assert groups(story.run_events()).clauses["delivered"] == 24


@pytest.mark.parametrize(("type", "count"), [("ok", (4, 5)), ("info", 13)])
def test_each_partition_has_to_be_asked_of_after_its_commits(type: Any, count: Any) -> None:
    story = clean()
    value = a_commit("d", 4, 0)
    story.op("commit", OTHER_KEY, value, value, type=type)
    assert groups(story.run_events()).clauses["commits-kept"] == count
    story.op("committed", OTHER_KEY, {"group": GROUP}, {"offset": 0})
    assert groups(story.run_events()).clauses["commits-kept"] == (14 if type == "ok" else 13)


def test_a_commit_that_fails_for_another_reason_shows_nothing() -> None:
    story = Story()
    join(story, "a", 1, t0=0)
    join(story, "b", 2, t0=0)
    for _ in range(2):
        commit(story, 1, 2, type="fail", ext=None, error="CONNECTION_FAILED")
    assert groups(story.run_events()).clauses["old-generations-refused"] == 0
    commit(story, 1, 2, type="fail")
    assert groups(story.run_events()).clauses["old-generations-refused"] == 1


def test_one_commit_of_an_older_generation_is_hardly_an_occasion() -> None:
    story = Story()
    join(story, "a", 1, t0=0)
    commit(story, 1, 1)
    join(story, "b", 2, t0=0)
    commit(story, 1, 2, type="fail")
    counts = groups(story.run_events()).clauses
    assert counts["old-generations-refused"] == "clients hardly committed in older generations"
    commit(story, 1, 2)
    assert_invalid(groups(story.run_events()), "a commit of generation 1 was taken")


def test_what_was_never_shown_is_not_counted() -> None:
    """A join that is the first of its group, a refusal of the present generation, a commit without
    an answer."""
    story = Story()
    join(story, "a", 1, t0=0)
    join(story, "b", 2, "assignment", t0=0)
    commit(story, 2, 2, type="fail")
    commit(story, 1, 2, type="info")
    commit(story, 1, 2, type="info")
    story.op("join", None, of_member("z", "h"), assigned(1, t1=0))
    counts = groups(story.run_events()).clauses
    assert counts["generations-rise"] == "clients joined no group three times"
    assert counts["old-generations-refused"] == 0


def test_joins_at_one_time_are_after_none() -> None:
    story = Story()
    story.op("join", None, of_member("z", "h"), assigned(1, t1=0))
    joins = [story.invoke("join", None, of_member(member)) for member in "abc"]
    for each in joins:
        story.complete(each, "ok", assigned(1))
    assert groups(story.run_events()).clauses["generations-rise"] == 0


def test_who_waited_for_its_part_has_joined_as_well() -> None:
    story = Story()
    join(story, "a", 1, t0=0)
    join_in_vain(story, "b")
    join(story, "b", 2, "assignment", t1=0)
    join(story, "b", 2, "assignment", t1=0)
    assert groups(story.run_events()).clauses["generations-rise"] == (
        "clients joined no group three times"
    )
    for member, generation in (("c", 3), ("d", 4)):
        join_in_vain(story, member)
        join(story, member, generation, "assignment", t1=0)
    assert groups(story.run_events()).clauses["generations-rise"] == 3


def test_nothing_is_seen_where_nobody_is_in_a_group() -> None:
    story = Story()
    produce(story, 0)
    story.op("fetch", KEY, {"consumer": "a", "from": 0}, {"records": [[0, 100]]})
    join_failed = story.invoke("join", None, of_member("a"))
    story.complete(join_failed, "info", error="MEMBER_GONE")
    outcome = groups(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.clauses is not None and outcome.clauses["one-owner"] == 0


def test_commits_in_another_group_are_no_occasion() -> None:
    story = Story()
    join(story, "a", 1, t0=0)
    join(story, "b", 2, t0=0)
    for _ in range(2):
        value = a_commit("z", 1, 2, "h")
        story.op("commit", KEY, value, value)
    counts = groups(story.run_events()).clauses
    assert counts["old-generations-refused"] == "clients hardly committed in older generations"


def tried_in(generation: int | None, **more: Any) -> Any:
    """What is counted where clients committed so twice after somebody had joined generation 1."""
    story = Story()
    join(story, "a", 0, t0=0)
    join(story, "b", 1, t0=0)
    for _ in range(2):
        value = a_commit("", generation or 0, 2)
        if generation is None:
            del value["generation"]
        story.op("commit", KEY, value, value, **more)
    return groups(story.run_events())


@pytest.mark.parametrize(
    "more",
    [{}, {"type": "info"}, {"type": "fail", "ext": {"asserts": STALE}, "error": "UNKNOWN_MEMBER"}],
    ids=["taken", "unanswered", "refused"],
)
@pytest.mark.parametrize("generation", [-1, None])
def test_commits_of_no_generation_are_of_no_older_one(
    generation: int | None, more: dict[str, Any]
) -> None:
    """As those of who is no member, or an administrator: neither an occasion nor a breach."""
    outcome = tried_in(generation, **more)
    assert not outcome.findings
    assert outcome.clauses["old-generations-refused"] == (
        "clients hardly committed in older generations"
    )


def test_any_generation_below_is_an_older_one() -> None:
    assert tried_in(0, type="info").clauses["old-generations-refused"] == 0, "an occasion"
    assert_invalid(tried_in(0), "a commit of generation 0 was taken")
    assert "hardly" in tried_in(1).clauses["old-generations-refused"]


def test_two_members_of_one_generation_share_what_they_read() -> None:
    """Beside a generation that one member has alone."""
    story = Story()
    join(story, "a", 1, t0=0)
    join(story, "b", 1, t1=0)
    join(story, "c", 2, t0=0)
    assert groups(story.run_events()).clauses["one-owner"] == 2


def test_members_that_are_not_told_their_position_go_on_after_what_they_read() -> None:
    """What was acknowledged there is not theirs yet."""
    story = Story()
    produce(story, 0, 1, 2)
    join(story, "a", 1, t0=0)
    story.final()
    value = {"consumer": "a", "from": 0, **of_member("a"), "generation": 1}
    result = {"records": [[0, 100], [1, 101]], "high_watermark": 2}
    story.op("fetch", KEY, value, result)
    outcome = groups(story.run_events())
    assert (outcome.clauses["delivered"], outcome.findings) == (2, [])


# --- deletions ----------------------------------------------------------------------------


def test_who_had_not_taken_the_commit_may_have_had_nothing_to_delete() -> None:
    story = Story()
    commit_as_nobody(story, 1, node="b2")
    forget(story, node="b1")
    committed(story, 1, SIMPLE)
    assert groups(story.run_events()).findings == []
    forget(story, node="b2")
    committed(story, 1, SIMPLE)
    assert_invalid(groups(story.run_events()), "nothing any more", "told that 1 is committed")


def of_deletions(story: Story) -> Any:
    return groups(story.run_events()).clauses[WITHHELD.name]


def test_deletions_are_judged_between_two_signs_of_a_member() -> None:
    """It was told its part, or committed, before; and commits in the same generation after it."""
    story = Story()
    withheld(story)
    join(story, "a", 1, t0=0)
    withheld(story)
    hardly = of_deletions(story)
    assert "hardly anybody" in hardly
    commit(story, 1, 3)
    assert of_deletions(story) == hardly
    withheld(story)
    forget(story, GROUP, type="info", error="CLIENT_TIMED_OUT")
    commit(story, 1, 3)
    assert of_deletions(story) == 2
    for f in ("join", "assignment"):
        withheld(story)
        join(story, "a", 1, f, t0=0)
    commit(story, 1, 3, type="info")
    commit(story, 1, 3, type="fail")
    commit(story, 1, 3, "b")
    commit(story, 2, 3)
    assert of_deletions(story) == 2, "what it was told before, and others, are no signs of it"


@pytest.mark.parametrize(("group", "key"), [(GROUP, "u/0"), ("h", KEY)], ids=["topic", "group"])
def test_deletions_elsewhere_than_members_are(group: str, key: str) -> None:
    story = Story()
    join(story, "a", 1, t0=0)
    for _ in range(2):
        forget(story, group, key)
    commit(story, 1, 3)
    assert "hardly anybody" in of_deletions(story)


def test_deletions_that_failed_otherwise_show_nothing() -> None:
    story = Story()
    join(story, "a", 1, t0=0)
    for _ in range(2):
        forget(story, GROUP, type="fail", error="CONNECTION_FAILED")
    commit(story, 1, 3)
    assert "hardly anybody" in of_deletions(story)


# --- violations ---------------------------------------------------------------------------


@PLANTED.violation("generation 4", "t/0 belongs to d", "and to e")
def two_owners(story: Story) -> None:
    join(story, "e", 4, t0=25)


@PLANTED.violation("generation 3", "t/1 belongs to b", "and to e")
def two_owners_of_which_one_is_reported_late(story: Story) -> None:
    join(story, "e", 3, "assignment", t1=0)


@PLANTED.violation("generation 1", "t/0 belongs to a", "and to b", on=Story)
def two_owners_beside_a_generation_of_one(story: Story) -> None:
    """Of three the first two are named."""
    for member in "abc":
        join(story, member, 1, t0=0)
    join(story, "d", 2, t0=0)


@PLANTED.violation("a heartbeat", "taken from a former process of i", "s1", "after s2 had joined")
def a_heartbeat_of_the_fenced(story: Story) -> None:
    acts(story, "beat", 1)


@PLANTED.violation("a commit", "taken from a former process of i", "after s1 had joined")
def a_commit_of_the_fenced_whoever_takes_it(story: Story) -> None:
    """The later process that joined first is named."""
    acts(story, "commit", 0, node="b2")


@PLANTED.violation("group s: s1 and s9 are told one id, id-1")
def an_id_of_two_processes(story: Story) -> None:
    """Of an instance: the one before could go on as the one that has its place."""
    story.wait(100)
    value = {**of_member("s9", "s"), "instance": "i", "session_ms": 50}
    given = {"generation": 1, "assigned": [], "id": "id-1", "part": "s0"}
    story.op("join", None, value, given, node="b1")


@PLANTED.violation("group g: a and b are told one id, x", on=Story)
def an_id_of_two_members(story: Story) -> None:
    """One of them is told its part late."""
    story.op("join", None, of_member("a"), {**assigned(1), "id": "x"})
    story.op("assignment", None, of_member("b"), {**assigned(2), "id": "x"})


def test_ids_of_other_groups_and_of_one_member_are_no_twos() -> None:
    """Nor are members twos that are told none."""
    story = Story()
    for member, group, name in (("a", "g", "x"), ("a", "g", "x"), ("a", "g", "y"), ("b", "h", "x")):
        story.op("join", None, of_member(member, group), {**assigned(1), "id": name})
    for member in "bc":
        story.op("join", None, of_member(member), {**assigned(1), "id": ""})
        join(story, member, 1)
    outcome = groups(story.run_events())
    assert outcome.findings == []
    assert outcome.clauses["own-ids"] == "no two members of a group were told their ids"


@PLANTED.violation("i came back in generation 2 with the part s3", "had the part s0")
def a_return_that_begins_a_generation(story: Story) -> None:
    acts(story, "beat", 2)
    restarted(story, 3, 2, "s3")


@PLANTED.violation("i came back in generation 1 with the part s3", "had the part s0")
def a_return_that_loses_its_part(story: Story) -> None:
    acts(story, "beat", 2)
    restarted(story, 3, 1, "s3")


@PLANTED.violation("a commit of generation 2 was taken", "d had joined in generation 4")
def a_commit_after_a_join(story: Story) -> None:
    commit(story, 2, 2)


@PLANTED.violation("a commit of generation 1 was taken", "had joined in generation 2", on=Story)
def a_commit_after_an_assignment(story: Story) -> None:
    join(story, "a", 1, t0=0)
    join(story, "a", 2, "assignment", t0=0)
    commit(story, 1, 2)


@PLANTED.violation("a commit of generation 1", "a commit was taken in generation 2", on=Story)
def a_commit_after_a_newer_commit(story: Story) -> None:
    commit(story, 2, 2, "b")
    commit(story, 1, 3)


@PLANTED.violation("a commit of generation 0 was taken", "had joined in generation 1", on=Story)
def a_commit_of_the_very_first_generation(story: Story) -> None:
    join(story, "b", 1, t0=0)
    commit(story, 0, 2)


@PLANTED.violation("went back", "in generation 1, after a had joined in generation 2", on=Story)
def a_generation_that_comes_back(story: Story) -> None:
    join(story, "a", 2, t0=0)
    join(story, "b", 1, t1=0)


@PLANTED.violation("went back", "in generation 1, after a had joined in generation 2", on=Story)
def a_generation_that_comes_back_to_one_who_waited(story: Story) -> None:
    join(story, "a", 2, t0=0)
    join_in_vain(story, "b")
    join(story, "b", 1, "assignment", t1=0)


@PLANTED.violation("went back", "in generation 1, after a had joined in generation 2", on=Story)
def a_generation_that_comes_back_to_one_who_joins_again(story: Story) -> None:
    """What it waited for at first does not count."""
    join_in_vain(story, "b")
    join(story, "a", 2, t0=0)
    join(story, "b", 1, t1=0)


@PLANTED.violation("went back", "in generation 1, after a commit was taken", on=Story)
def a_generation_after_a_newer_commit(story: Story) -> None:
    commit(story, 2, 2)
    join(story, "b", 1, t1=0)


@PLANTED.violation("had committed 25", "told that 23 is committed")
def a_commit_that_is_lost(story: Story) -> None:
    committed(story, 23)


@PLANTED.violation("had committed 25", "told that nothing is committed")
def all_commits_that_are_lost(story: Story) -> None:
    committed(story, None)


@PLANTED.violation("had committed 25", "told that nothing is committed")
def a_member_that_begins_again(story: Story) -> None:
    join(story, "e", 5, t0=0)


@PLANTED.violation("had committed 25", "told that 23 is committed")
def a_member_that_begins_too_early(story: Story) -> None:
    join(story, "e", 5, t0=23)


@PLANTED.violation("had committed 4", "told that 6 is committed", on=Story)
def an_overwritten_commit_that_comes_back(story: Story) -> None:
    commit(story, 1, 6)
    commit(story, 1, 4)
    committed(story, 6)


@PLANTED.violation("had committed 4", "told that 3 is committed", on=Story)
def an_old_commit_without_an_answer_that_took_effect_late(story: Story) -> None:
    late = story.invoke("commit", KEY, a_commit("a", 1, 3))
    commit(story, 2, 4, "b")
    story.complete(late, "info", error="CLIENT_TIMED_OUT")
    committed(story, 3)


@PLANTED.violation("had committed 4", "told that 3 is committed", on=Story)
def a_commit_of_the_very_first_generation_that_took_effect_late(story: Story) -> None:
    late = story.invoke("commit", KEY, a_commit("a", 0, 3))
    commit(story, 1, 4, "b")
    story.complete(late, "info", error="CLIENT_TIMED_OUT")
    committed(story, 3)


@PLANTED.violation("had committed 3", "told that 2 is committed", on=Story)
def the_last_commit_is_the_one_that_began_last(story: Story) -> None:
    long = story.invoke("commit", KEY, a_commit("a", 1, 1))
    commit(story, 1, 2)
    commit(story, 1, 3)
    story.complete(long, "ok", a_commit("a", 1, 1))
    committed(story, 2)


@PLANTED.violation("had committed 5", "told that 2 is committed", on=Story)
def the_newest_of_several_generations_comes_last(story: Story) -> None:
    late = story.invoke("commit", KEY, a_commit("a", 1, 2))
    commit(story, 1, 4)
    commit(story, 2, 5, "b")
    story.complete(late, "info", error="CLIENT_TIMED_OUT")
    committed(story, 2)


@PLANTED.violation("has committed 3", "ends at 2", on=Story)
def an_offset_beyond_the_end_that_it_had_then(story: Story) -> None:
    story.op("produce", KEY, {"value": 1}, type="info", error="CLIENT_TIMED_OUT")
    produce(story, 0, 1)
    commit(story, 1, 3)
    committed(story, 3)
    produce(story, 2)


@PLANTED.violation("told that 24 is committed", "nobody had begun")
def an_offset_from_nowhere(story: Story) -> None:
    committed(story, 24)


@PLANTED.violation("told that 3 is committed", "nobody had begun", on=Story)
def an_offset_of_a_refused_commit(story: Story) -> None:
    commit(story, 1, 3, type="fail")
    committed(story, 3)


@PLANTED.violation("told that 25 is committed", "nobody had begun")
def an_offset_of_another_group(story: Story) -> None:
    committed(story, 25, "h")


@PLANTED.violation("told that 3 is committed", "nobody had begun", on=Story)
def an_offset_before_it_was_committed(story: Story) -> None:
    committed(story, 3)
    commit(story, 1, 3)


@PLANTED.violation("told that 7 is committed", "nobody had begun", on=Story)
def a_member_that_begins_where_nobody_committed(story: Story) -> None:
    join(story, "a", 1, t0=7)


@PLANTED.violation("has committed 29", "ends at 25")
def an_offset_beyond_the_end(story: Story) -> None:
    commit(story, 4, 29, "d")
    committed(story, 29)


@PLANTED.violation("has committed 3", "ends at 2", on=Story)
def an_offset_beyond_an_end_that_went_back(story: Story) -> None:
    produce(story, 0, 1, 2)
    commit(story, 1, 3)
    story.op("list-offsets", KEY, {"at": "latest"}, {"offset": 3})
    story.final()
    story.op("list-offsets", KEY, {"at": "latest"}, {"offset": 2})
    committed(story, 3)


def commit_beyond(story: Story) -> None:
    """Of an end at 2."""
    commit(story, 1, 3)
    committed(story, 3)


def read_alone(story: Story, *offsets: int, **more: Any) -> None:
    """By a consumer that is in no group."""
    records = [[offset, 100 + offset] for offset in offsets]
    story.op("fetch", KEY, {"consumer": "x", "from": 0}, {"records": records, **more})


@PLANTED.violation("has committed 3", "ends at 2", on=Story)
def an_offset_beyond_all_records_that_were_read(story: Story) -> None:
    read_alone(story, 0, 1)
    commit_beyond(story)


@PLANTED.violation("has committed 3", "ends at 2", on=Story)
def an_offset_beyond_the_high_watermark(story: Story) -> None:
    read_alone(story, 0, high_watermark=2)
    commit_beyond(story)


@PLANTED.violation("has committed 3", "ends at 2", on=Story)
def an_offset_beyond_a_high_watermark_that_went_back(story: Story) -> None:
    produce(story, 0, 1, 2)
    story.final()
    read_alone(story, 0, 1, high_watermark=2)
    commit_beyond(story)


@PLANTED.violation("has committed 3", "ends at 2", on=Story)
def an_offset_beyond_what_was_produced_of_which_no_final_read_tells(story: Story) -> None:
    produce(story, 0, 1)
    story.final()
    commit_beyond(story)


@PLANTED.violation("has committed 3", "ends at 2", on=Story)
def an_offset_beyond_the_end_that_is_within_the_final_one(story: Story) -> None:
    produce(story, 0, 1)
    commit_beyond(story)
    produce(story, 2)
    story.final()
    story.op("list-offsets", KEY, {"at": "latest"}, {"offset": 3})


@PLANTED.violation("has committed 3", "ends at 2", on=Story)
def an_offset_beyond_the_end_but_for_a_produce_that_failed(story: Story) -> None:
    """Whatever its answer says."""
    produce(story, 0, 1)
    failed(story, "produce", {"value": 102, "acks": "all"}, {"offset": 2})
    commit_beyond(story)


@PLANTED.violation("t/0 at 1 was acknowledged", "handed to no member", on=Story)
def a_record_that_nobody_is_handed(story: Story) -> None:
    produce(story, 0, 1, 2)
    join(story, "a", 1, t0=0)
    fetch(story, "a", 0, 0)
    story.final()
    fetch(story, "a", 2, 2)
    fetch(story, "a", 3, end=3)


@PLANTED.violation("t/0 at 1 was acknowledged", "read up to 2", on=Story)
def a_record_that_nobody_is_handed_and_is_acknowledged_late(story: Story) -> None:
    """After one that stands above where the group is."""
    produce(story, 0, 2, 1)
    join(story, "a", 1, t0=0)
    fetch(story, "a", 0, 0)
    story.final()
    fetch(story, "a", 2, end=2)


@PLANTED.violation("t/0 at 1 was acknowledged", "read up to 2", on=Story)
def a_record_that_nobody_is_handed_between_two_ends(story: Story) -> None:
    produce(story, 0, 1)
    join(story, "a", 1, t0=0)
    fetch(story, "a", 0, 0)
    story.final()
    fetch(story, "a", 1, end=1)
    fetch(story, "a", 2, end=2)


@PLANTED.violation("t/0 at 0 was acknowledged", "read up to 1", on=Story)
def a_record_that_only_a_fetch_that_failed_was_handed(story: Story) -> None:
    produce(story, 0)
    join(story, "a", 1, t0=0)
    failed(story, "fetch", {"consumer": "a", "from": 0, **of_member("a")}, {"records": [[0, 100]]})
    story.final()
    fetch(story, "a", 1, end=1)


@PLANTED.violation("t/0 at 0 was acknowledged", "read up to 1", on=Story)
def a_record_that_only_others_are_handed(story: Story) -> None:
    produce(story, 0)
    join(story, "a", 1, t0=0)
    fetch(story, "z", 0, 0, group="h")
    story.op("fetch", KEY, {"consumer": "final", "from": 0}, {"records": [[0, 100]]})
    story.final()
    fetch(story, "a", 1, end=1)


@pytest.mark.parametrize("name", PLANTED)
def test_violation_is_proved_by_operations(name: str) -> None:
    planted = PLANTED[name]
    outcome = groups(planted.story().run_events())
    assert_invalid(outcome, *planted.words)
    assert all(each.operations and not each.events for each in outcome.findings)


def test_many_violations_are_counted_and_few_reported() -> None:
    story = clean()
    for _ in range(9):
        committed(story, 23)
    outcome = groups(story.run_events())
    assert len(outcome.findings) == 5
    assert outcome.figures["commits-kept broken"] == 9


def test_a_join_that_goes_back_is_no_commit() -> None:
    figures = groups(PLANTED["a generation that comes back"].story().run_events()).figures
    assert figures["generations-rise broken"] == 1
    assert figures["old-generations-refused broken"] == 0


def test_what_nobody_committed_is_reported_once() -> None:
    figures = groups(PLANTED["an offset from nowhere"].story().run_events()).figures
    assert (figures["commits-made broken"], figures["commits-kept broken"]) == (1, 0)


@PLANTED.violation("had committed nothing any more in t/0", "told that 3 is committed")
def a_deleted_commit_that_comes_back(story: Story) -> None:
    forget(story)
    committed(story, None, SIMPLE)
    committed(story, 3, SIMPLE)


@PLANTED.violation("had committed nothing any more in t/0", "told that 3 is committed")
def a_deletion_that_is_acknowledged_and_not_done(story: Story) -> None:
    """The last of three is told of."""
    long = story.invoke("forget", KEY, {"group": SIMPLE})
    forget(story)
    story.complete(long, "ok")
    committed(story, 3, SIMPLE)


@PLANTED.violation("had committed 3 in t/0", "told that nothing is committed", on=Story)
def a_deletion_that_is_refused_and_done(story: Story) -> None:
    commit_as_nobody(story, 3)
    forget(story, type="fail", error="NON_EMPTY_GROUP")
    committed(story, None, SIMPLE)


@PLANTED.violation("had committed 25", "told that nothing is committed")
def a_deletion_of_another_group(story: Story) -> None:
    forget(story)
    committed(story, None)


@PLANTED.violation("had committed 25", "told that nothing is committed")
def a_deletion_of_another_partition(story: Story) -> None:
    forget(story, GROUP, OTHER_KEY)
    committed(story, None)


@PLANTED.violation("had committed 5", "told that nothing is committed", on=Story)
def a_deletion_that_takes_effect_after_the_next_commit(story: Story) -> None:
    commit_as_nobody(story, 4)
    forget(story)
    commit_as_nobody(story, 5)
    committed(story, None, SIMPLE)


@PLANTED.violation("had committed 5", "told that nothing is committed", on=Story)
def a_group_that_is_not_found(story: Story) -> None:
    commit_as_nobody(story, 5)
    forget(story, type="fail", error="GROUP_ID_NOT_FOUND", ext={"asserts": ABSENT})


@PLANTED.violation("what it had committed in t/1 was deleted", "while d was in it")
def a_deletion_under_a_members_hands(story: Story) -> None:
    """Of the other partition of the topic that it reads."""
    forget(story, GROUP, OTHER_KEY)
    commit(story, 4, 25, "d")


@PLANTED.violation("what it had committed in u/0 was deleted", "while a was in it", on=Story)
def a_deletion_of_what_a_member_reads_and_does_not_commit(story: Story) -> None:
    """Of another topic that it was given."""
    value = {"generation": 1, "assigned": ["t/0", "u/0"], "positions": []}
    story.op("join", None, of_member("a"), value)
    forget(story, GROUP, "u/0")
    commit(story, 1, 3)


@pytest.mark.parametrize("said", [PRESENT, ABSENT])
def test_what_a_deletion_of_unknown_fate_was_told_is_no_answer(said: str) -> None:
    story = Story()
    forget(story, GROUP, type="info", error="X", ext={"asserts": said})
    run = group_run(story.operations)
    assert len(run.forgets) == 1 and not run.withheld and not run.answers


def test_a_deletion_under_the_hands_of_two_members_is_judged_once() -> None:
    story = Story()
    for name in ("a", "b"):
        commit(story, 0, 2, name)
    forget(story, GROUP)
    for name in ("a", "b"):
        commit(story, 0, 3, name)
    assert len(deletions_withheld(group_run(story.operations)).findings) == 1


@PLANTED.violation("what it had committed in t/0 was deleted", "while a was in it", on=Story)
def a_deletion_between_two_commits(story: Story) -> None:
    commit(story, 0, 2)
    forget(story, GROUP)
    commit(story, 0, 3)


@PLANTED.violation("group s had something committed in the end", "no broker listed it in 2 rounds")
def a_group_that_nobody_lists(story: Story) -> None:
    story.operations = [each for each in story.operations if each.f != "groups"]
    for _ in range(2):
        all_list(story, b2={"f": "Empty"})


@PLANTED.violation("group g is listed by b1 and b3, in each of 2 rounds")
def a_group_with_two_coordinators(story: Story) -> None:
    story.operations = [each for each in story.operations if each.f != "groups"]
    for _ in range(2):
        all_list(story, b3={"g": "Stable"})


@PLANTED.violation("group z is listed by b3", "nobody had named it")
def a_group_from_nowhere(story: Story) -> None:
    lists(story, "b3", {"z": "Empty"})


@PLANTED.violation("group z is listed by b3", "nobody had named it")
def a_group_before_anybody_named_it(story: Story) -> None:
    lists(story, "b3", {"z": "Empty"})
    committed(story, None, "z")


@PLANTED.violation("group g is listed in state Stable, which was not asked for, by b1")
def a_group_of_another_state(story: Story) -> None:
    lists(story, "b1", {"g": "Stable", "h": "Empty"}, states=["Empty"])


@PLANTED.violation("group h is listed in state None, which was not asked for, by b1")
def a_group_of_no_state(story: Story) -> None:
    lists(story, "b1", {"g": "Stable", "h": None}, states=["Stable"])


@PLANTED.violation("group g is listed of type classic, which was not asked for, by b1")
def a_group_of_another_type(story: Story) -> None:
    lists(story, "b1", {"g": "Stable"}, types=["consumer"])


@PLANTED.violation("group g is listed as of type consumer, and its members are of the classic one")
def a_group_that_is_called_otherwise(story: Story) -> None:
    lists(story, "b1", {"g": "Stable"}, {"g": "consumer"})


# --- groups that a system may forget ------------------------------------------------------


def numbered_anew(
    *before: Callable[[Story], object],
    then: Callable[[Story], object] = lambda _: None,
    kept: bool | None = False,
) -> list[str]:
    """Clauses that are broken where generations go back, by who joins and who commits; `then`: in
    between. `kept`: the system says that groups last; None: it says nothing."""
    story = Story()
    for act in before:
        act(story)
    join(story, "a", 2, t0=0)
    story.op("leave", None, of_member("a"), {"member": "a"})
    then(story)
    join(story, "b", 1, t0=0)
    commit(story, 1, 0, "b")
    join(story, "b", 2, "assignment", t0=0)
    return sorted(each.clause for each in groups(able(story, kept).run_events()).findings)


def able(story: Story, kept: bool | None) -> Story:
    if kept is not None:
        capabilities = ["groups", *(["kept-groups"] if kept else [])]
        story.plan = {**story.plan, "capabilities": capabilities}
    return story


BROKEN = ["generations-rise", "old-generations-refused", "one-owner"]


def commits_something(story: Story, **more: Any) -> None:
    value = a_commit("", -1, 1)
    story.op("commit", OTHER_KEY, value, value, **more)


def test_a_group_of_which_nothing_is_known_may_be_numbered_anew() -> None:
    """Apache Kafka forgets one without members and offsets, as whenever a topic is deleted."""
    assert numbered_anew() == []
    assert numbered_anew(kept=True) == numbered_anew(kept=None) == BROKEN


def test_a_group_that_has_committed_something_may_not() -> None:
    assert numbered_anew(commits_something) == BROKEN
    assert numbered_anew(commits_something, then=commits_something) == BROKEN
    assert numbered_anew(then=commits_something) == [], "by then it was forgotten, perhaps"


def test_what_is_not_about_generations_is_judged_from_the_begin() -> None:
    story = Story()
    a_deletion_of_what_a_member_reads_and_does_not_commit(story)
    assert_invalid(groups(able(story, False).run_events()), "what it had committed in u/0")


@pytest.mark.parametrize(
    "more",
    [{"type": "info", "error": "X"}, {"type": "fail", "error": "X", "ext": {"asserts": STALE}}],
)
def test_nobody_knows_whether_it_has(more: dict[str, Any]) -> None:
    assert numbered_anew(lambda story: commits_something(story, **more)) == []


@pytest.mark.parametrize(("type_", "broken"), [("ok", []), ("info", []), ("fail", BROKEN)])
def test_what_it_committed_may_be_deleted(type_: str, broken: list[str]) -> None:
    more: dict[str, Any] = {"type": type_, "error": "X"}

    def deletes(key: str) -> list[str]:
        return numbered_anew(commits_something, lambda story: forget(story, GROUP, key, **more))

    assert (deletes(OTHER_KEY), deletes(KEY)) == (broken, BROKEN)


# --- what looks like one ------------------------------------------------------------------


def concurrent_with_a_join(story: Story) -> None:
    """A commit that began before the newer generation was told of."""
    joining = story.invoke("join", None, of_member("b"))
    old = story.invoke("commit", KEY, a_commit("a", 1, 3))
    story.complete(joining, "ok", assigned(2, t0=0))
    story.complete(old, "ok", a_commit("a", 1, 3))


def old_assignment_reported_late(story: Story) -> None:
    join(story, "b", 2, t1=0)
    join(story, "a", 1, "assignment", t0=0, t1=0)


def older_than_what_was_shown_while_it_waited(story: Story) -> None:
    join_in_vain(story, "b")
    join(story, "a", 2, t0=0)
    join(story, "b", 1, "assignment", t1=0)


def older_by_the_second_assignment_of_one_who_waited(story: Story) -> None:
    join_in_vain(story, "b")
    join(story, "b", 2, "assignment", t1=0)
    join(story, "a", 3, t0=0)
    join(story, "b", 2, "assignment", t1=0)


def reported_late_what_was_committed_over(story: Story) -> None:
    commit(story, 1, 2)
    commit(story, 2, 4, "b")
    join(story, "a", 1, "assignment", t0=2)


def given_no_place_to_begin(story: Story) -> None:
    """Nothing was assigned to it."""
    commit(story, 1, 2)
    story.op("join", None, of_member("a"), {"generation": 1})


def same_member_twice(story: Story) -> None:
    join(story, "a", 1, t0=0)
    join(story, "a", 1, "assignment", t0=0)


def other_group_in_an_older_generation(story: Story) -> None:
    join(story, "a", 5, t0=0)
    story.op("join", None, of_member("b", "h"), assigned(1, t0=0))
    value = a_commit("b", 1, 3, "h")
    story.op("commit", KEY, value, value)


def commit_without_a_generation(story: Story) -> None:
    join(story, "a", 5, t0=0)
    commit(story, -1, 3)
    committed(story, 3)


def either_of_two_commits_at_once(story: Story) -> None:
    one = story.invoke("commit", KEY, a_commit("a", 1, 2))
    other = story.invoke("commit", KEY, a_commit("a", 1, 3))
    story.complete(one, "ok", a_commit("a", 1, 2))
    story.complete(other, "ok", a_commit("a", 1, 3))
    committed(story, 2)
    join(story, "b", 2, t0=2)


def commit_without_an_answer_that_takes_effect_late(story: Story) -> None:
    late = story.invoke("commit", KEY, a_commit("a", 1, 2))
    story.complete(late, "info", error="CLIENT_TIMED_OUT")
    commit(story, 1, 5)
    committed(story, 5)
    committed(story, 2)


def commit_that_is_reported_while_it_is_made(story: Story) -> None:
    asked = story.invoke("committed", KEY, {"group": GROUP})
    value = a_commit("a", 1, 2)
    made = story.invoke("commit", KEY, value)
    story.complete(asked, "ok", {"offset": 2})
    story.complete(made, "ok", value)


def refused_in_a_newer_generation(story: Story) -> None:
    commit(story, 9, 2, type="fail")
    commit(story, 1, 2)
    join(story, "a", 2, t0=2)


def commit_without_a_generation_or_an_answer(story: Story) -> None:
    late = story.invoke("commit", KEY, a_commit("", -1, 2))
    commit(story, 1, 5)
    story.complete(late, "info", error="CLIENT_TIMED_OUT")
    committed(story, 2)


def asked_before_it_was_committed(story: Story) -> None:
    commit(story, 1, 2)
    asked = story.invoke("committed", KEY, {"group": GROUP})
    commit(story, 1, 4)
    story.complete(asked, "ok", {"offset": 2})


def final_reads_that_do_not_tell_the_end(story: Story) -> None:
    produce(story, 0, 1, 2, 3, 4)
    commit(story, 1, 5)
    story.final()
    fetch(story, "a", 0, 0, 1, 2)
    committed(story, 5)


def final_question_for_the_beginning(story: Story) -> None:
    produce(story, 0, 1, 2)
    commit(story, 1, 3)
    story.final()
    story.op("list-offsets", KEY, {"at": "earliest"}, {"offset": 0})
    committed(story, 3)


def acknowledged_where_the_group_stands(story: Story) -> None:
    produce(story, 0, 1)
    join(story, "a", 1, t0=0)
    story.final()
    fetch(story, "a", 0, 0)
    fetch(story, "a", 1, end=1)


def read_to_the_end_before_the_final_phase(story: Story) -> None:
    produce(story, 0, 1)
    join(story, "a", 1, t0=0)
    fetch(story, "a", 2, end=2)


def final_read_that_stops_before_the_end(story: Story) -> None:
    produce(story, 0, 1, 2)
    join(story, "a", 1, t0=0)
    story.final()
    fetch(story, "a", 1, 1, end=3)


def unread_as_the_end_was_not_reached(story: Story) -> None:
    produce(story, 0, 1)
    join(story, "a", 1, t0=0)
    fetch(story, "a", 0, 0)
    story.final()
    fetch(story, "a", 1, end=2)


def read_twice(story: Story) -> None:
    produce(story, 0, 1)
    join(story, "a", 1, t0=0)
    fetch(story, "a", 0, 0, 1)
    story.final()
    join(story, "b", 2, t0=0)
    fetch(story, "b", 0, 0, 1)
    fetch(story, "b", 2, end=2)


def joins_that_do_not_tell_a_part(story: Story) -> None:
    """One fails, whatever it was given; of another the answer is not known."""
    join(story, "a", 2, t0=0)
    joining = story.invoke("join", None, of_member("b"))
    story.complete(joining, "fail", assigned(1, t1=0), error="NOT_ASSIGNED")
    story.op("join", None, of_member("c"))


def assigned_after_a_join_without_an_answer(story: Story) -> None:
    """Nobody knows when that was."""
    join(story, "a", 2, t0=0)
    joining = story.invoke("join", None, of_member("b"))
    story.complete(joining, "info", error="CLIENT_TIMED_OUT")
    join(story, "b", 1, "assignment", t1=0)


def assigned_before_it_joins_in_vain(story: Story) -> None:
    join(story, "b", 1, "assignment", t1=0)
    join(story, "a", 2, t0=0)
    join_in_vain(story, "b")


def question_that_fails(story: Story) -> None:
    commit(story, 1, 2)
    failed(story, "committed", {"group": GROUP})


def commit_that_names_no_generation(story: Story) -> None:
    """Of somebody who is no member."""
    join(story, "a", 5, t0=0)
    value = {"group": GROUP, "offset": 3}
    story.op("commit", KEY, value, value)


def answers_that_leave_things_out(story: Story) -> None:
    """A produce says no place, fetches hand over no records, or say nothing at all."""
    join(story, "a", 1, t0=0)
    story.op("produce", KEY, {"value": 1, "acks": "all"}, {"topic_id": "T"})
    story.op("fetch", KEY, {"consumer": "x", "from": 0})
    story.final()
    value = {"consumer": "a", "from": 1, **of_member("a")}
    story.op("fetch", KEY, value, {"records": None, "high_watermark": 1})


def unread_as_its_produce_failed(story: Story) -> None:
    """Whatever its answer says."""
    join(story, "a", 1, t0=0)
    failed(story, "produce", {"value": 100, "acks": "all"}, {"offset": 0})
    story.final()
    fetch(story, "a", 1, end=1)


def deletion_without_an_answer_that_takes_effect_late(story: Story) -> None:
    late = story.invoke("forget", KEY, {"group": SIMPLE})
    story.complete(late, "info", error="CLIENT_TIMED_OUT")
    commit_as_nobody(story, 4)
    committed(story, 4, SIMPLE)
    committed(story, None, SIMPLE)


def deletion_and_commit_at_once(story: Story) -> None:
    for told in (4, None):
        making = story.invoke("commit", KEY, a_commit("", -1, 4, SIMPLE))
        forgetting = story.invoke("forget", KEY, {"group": SIMPLE})
        story.complete(forgetting, "ok")
        story.complete(making, "ok", a_commit("", -1, 4, SIMPLE))
        committed(story, told, SIMPLE)


def deletion_while_it_is_asked(story: Story) -> None:
    commit_as_nobody(story, 4)
    for told in (4, None):
        asked = story.invoke("committed", KEY, {"group": SIMPLE})
        forget(story)
        story.complete(asked, "ok", {"offset": told})


def commit_without_an_answer_after_a_deletion(story: Story) -> None:
    late = story.invoke("commit", KEY, a_commit("", -1, 4, SIMPLE))
    story.complete(late, "info", error="CLIENT_TIMED_OUT")
    forget(story)
    committed(story, None, SIMPLE)
    committed(story, 4, SIMPLE)


def deletion_of_a_commit_of_a_generation(story: Story) -> None:
    """By who is no member, when nobody is."""
    commit(story, 2, 4)
    forget(story, GROUP)
    committed(story, None)
    join(story, "b", 3, t0=0)


def deletion_where_there_is_no_group(story: Story) -> None:
    forget(story, type="fail", error="GROUP_ID_NOT_FOUND", ext={"asserts": ABSENT})
    commit_as_nobody(story, 4)
    forget(story, type="fail", error="UNKNOWN_TOPIC_OR_PARTITION")
    committed(story, 4, SIMPLE)


LOOK_ALIKES = [
    deletion_without_an_answer_that_takes_effect_late,
    deletion_and_commit_at_once,
    deletion_while_it_is_asked,
    commit_without_an_answer_after_a_deletion,
    deletion_of_a_commit_of_a_generation,
    deletion_where_there_is_no_group,
    joins_that_do_not_tell_a_part,
    assigned_after_a_join_without_an_answer,
    assigned_before_it_joins_in_vain,
    question_that_fails,
    commit_that_names_no_generation,
    answers_that_leave_things_out,
    unread_as_its_produce_failed,
    refused_in_a_newer_generation,
    commit_without_a_generation_or_an_answer,
    asked_before_it_was_committed,
    final_reads_that_do_not_tell_the_end,
    final_question_for_the_beginning,
    acknowledged_where_the_group_stands,
    read_to_the_end_before_the_final_phase,
    final_read_that_stops_before_the_end,
    concurrent_with_a_join,
    given_no_place_to_begin,
    old_assignment_reported_late,
    older_than_what_was_shown_while_it_waited,
    older_by_the_second_assignment_of_one_who_waited,
    reported_late_what_was_committed_over,
    same_member_twice,
    other_group_in_an_older_generation,
    commit_without_a_generation,
    either_of_two_commits_at_once,
    commit_without_an_answer_that_takes_effect_late,
    commit_that_is_reported_while_it_is_made,
    unread_as_the_end_was_not_reached,
    read_twice,
]


@pytest.mark.parametrize("plant", LOOK_ALIKES, ids=lambda plant: plant.__name__)
def test_look_alike_is_accepted(plant: Any) -> None:
    story = Story()
    plant(story)
    assert [each.message for each in groups(story.run_events()).findings] == []


# --- any history --------------------------------------------------------------------------

F = st.sampled_from(
    ["join", "assignment", "commit", "commit", "committed", "forget", "fetch", "fetch", "produce"]
)


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    """A few operations of one group on two partitions, which overlap at will."""
    story = Story()
    open_: list[Operation] = []

    def end(each: Operation) -> None:
        type_ = draw(st.sampled_from(["ok", "ok", "ok", "info", "fail"]))
        story.complete(each, type_, draw(results(each)) if type_ == "ok" else None)

    begins = draw(st.sampled_from(["nothing", "one joins", "two join", "some is deleted"]))
    if begins != "nothing":
        join(story, "a", 0, t0=0, t1=0)
        produce(story, 0)
    if begins == "two join":
        join(story, "b", 1, t0=0, t1=0)
    elif begins == "some is deleted":
        forget(story, GROUP)
    for number in range(draw(st.integers(2, 7))):
        if number and draw(st.integers(0, 2)) == 0 and story.phase == "main":
            story.final()
        f = draw(F)
        key = None if f in ("join", "assignment") else draw(st.sampled_from([KEY, OTHER_KEY]))
        open_.append(story.invoke(f, key, draw(values(f))))
        while open_ and draw(st.booleans()):
            end(open_.pop(draw(st.integers(0, len(open_) - 1))))
    return list(story.run_events().operations)


SMALL = st.integers(0, 3)


def values(f: str) -> st.SearchStrategy[Any]:
    member, generation = st.sampled_from(["a", "b"]), st.integers(-1, 2)
    named = {"group": st.just(GROUP), "member": member}
    shapes: dict[str, dict[str, Any]] = {
        "join": named,
        "assignment": named,
        "commit": {**named, "generation": generation, "offset": SMALL},
        "committed": {"group": st.just(GROUP)},
        "forget": {"group": st.just(GROUP)},
        "fetch": {**named, "from": SMALL, "consumer": member},
        "produce": {"value": SMALL, "acks": st.sampled_from(["all", "1"])},
    }
    return st.fixed_dictionaries(shapes[f])


def results(each: Operation) -> st.SearchStrategy[Any]:
    if each.f in ("join", "assignment"):
        return st.builds(assigned, st.integers(0, 2), t0=SMALL, t1=SMALL)
    if each.f == "committed":
        return st.fixed_dictionaries({"offset": st.one_of(st.none(), SMALL)})
    if each.f == "fetch":
        start = each.value["from"]
        return st.integers(0, 2).flatmap(
            lambda count: st.fixed_dictionaries(
                {
                    "records": st.just([[start + n, n] for n in range(count)]),
                    "position": st.just(start + count),
                },
                optional={"high_watermark": st.one_of(SMALL, st.just(start + count))},
            )
        )
    if each.f == "produce":
        return st.fixed_dictionaries({"offset": st.integers(0, 1)})
    return st.just(each.value)


Broken = set[tuple[str, tuple[int, ...]]]
UNDECIDED = "undecided"
"""What is kept of commits of which not all can have been taken, no definition says."""


def naive(ops: Sequence[Operation]) -> Broken:
    """Clause and the operation that breaks it, straight from the definitions."""
    joins = [each for each in ops if each.f in ("join", "assignment") and each.ok]
    taken = [each for each in ops if each.f == "commit" and each.ok and generation(each) >= 0]
    broken: Broken = set()
    for one, other in itertools.combinations(joins, 2):
        if one.value["member"] != other.value["member"] and generation(one) == generation(other):
            broken.add(("one-owner", (generation(one),)))
    for each, since in [*((each, each) for each in taken), *joined(ops, joins)]:
        newer = [
            before
            for before in [*joins, *taken]
            if before.precedes(since) and generation(before) > generation(each)
        ]
        clause = "old-generations-refused" if each.f == "commit" else "generations-rise"
        if newer:
            broken.add((clause, (each.index,)))
    for ask, key, offset in questions(ops):
        commits = [
            each
            for each in ops
            if each.f in ("commit", "forget") and each.key == key and not each.failed
        ]
        begun = [each for each in commits if ask.end is not None and each.index < ask.end]
        if offset is not None and all(each.value.get("offset") != offset for each in begun):
            broken.add(("commits-made", (ask.index,)))
        elif not possible(begun):
            broken.add((UNDECIDED, (ask.index,)))
        elif not possible(begun, ask, offset):
            broken.add(("commits-kept", (ask.index,)))
        limit = end_of(ops, key, ask)
        if None not in (offset, limit) and offset > limit:
            broken.add(("within-end", (ask.index,)))
    for each in ops:
        if each.f == "forget" and each.ok and stayed(each, [*joins, *taken], taken):
            broken.add(("deletions-withheld", (each.index,)))
    return broken | undelivered(ops)


def stayed(deletion: Operation, seen: Sequence[Operation], taken: Sequence[Operation]) -> bool:
    """Whether a member was in the group before and after."""
    return any(
        before.precedes(deletion)
        and deletion.precedes(after)
        and before.value["member"] == after.value["member"]
        and generation(before) == generation(after)
        for before in seen
        for after in taken
    )


def joined(
    ops: Sequence[Operation], answered: Sequence[Operation]
) -> Iterator[tuple[Operation, Operation]]:
    """What told a member that it had joined, and what it asked for that by: the first assignment
    after its first join, too, where that failed."""
    yield from ((each, each) for each in answered if each.f == "join")
    for member in ("a", "b"):
        asked = [each for each in ops if each.f == "join" and each.value["member"] == member]
        mine = [each for each in answered if each.value["member"] == member]
        first = asked[:1] and mine[:1] and mine[0].f == "assignment" and asked[0].failed
        if first and asked[0].precedes(mine[0]):
            yield mine[0], asked[0]


def generation(each: Operation) -> int:
    """A deletion is a commit of nothing, by who is no member."""
    if each.f == "forget":
        return -1
    reported = each.value if each.f == "commit" else each.result
    return int(reported["generation"])


def questions(ops: Sequence[Operation]) -> Iterator[tuple[Operation, str, int | None]]:
    for each in ops:
        if each.f == "committed" and each.ok:
            yield each, str(each.key), each.result["offset"]
        elif each.f == "join" and each.ok:
            for key, position in each.result["positions"]:
                yield each, key, position or None


def possible(
    commits: Sequence[Operation], ask: Operation | None = None, reported: int | None = None
) -> bool:
    """Whether the commits and deletions that were answered, and perhaps some of the others, can
    have happened in an order that real time and generations allow, so that the question is answered
    by the last one before it."""

    def goes_on(left: Sequence[Operation], last: int | None, newest: int) -> bool:
        if not any(each.ok for each in left):
            return True
        for each in left:
            rest = [other for other in left if other is not each]
            if any(other.ok and other.precedes(each) for other in rest):
                continue
            if each is ask:
                if last == reported and goes_on(rest, last, newest):
                    return True
            elif not 0 <= generation(each) < newest:
                now = max(newest, generation(each))
                if goes_on(rest, each.value.get("offset"), now):
                    return True
        return False

    return goes_on([*commits, *([ask] if ask is not None else [])], None, -1)


def end_of(ops: Sequence[Operation], key: str, ask: Operation) -> int | None:
    final: list[int] = []
    shown: list[int] = []
    for each in ops:
        if each.key != key or not each.ok:
            continue
        ends: list[int] = []
        if each.f == "produce":
            shown_now = [each.result["offset"] + 1]
        elif each.f == "fetch":
            ends = [each.result["high_watermark"]] if "high_watermark" in each.result else []
            shown_now = [offset + 1 for offset, _ in each.result["records"]] + ends
        else:
            continue
        if ask.end is not None and each.index < ask.end:
            shown += shown_now
        if each.phase == "final":
            final += ends
    return max((final if ask.phase == "final" and final else shown), default=None)


def undelivered(ops: Sequence[Operation]) -> Broken:
    broken: Broken = set()
    for key in (KEY, OTHER_KEY):
        began = any(
            [key, 0] in each.result["positions"]
            for each in ops
            if each.f in ("join", "assignment") and each.ok
        )
        reads = [each for each in ops if each.f == "fetch" and each.key == key and each.ok]
        ends = [
            each.result["position"]
            for each in reads
            if each.phase == "final"
            and each.result["position"] >= each.result.get("high_watermark", 99)
        ]
        handed = {offset for each in reads for offset, _ in each.result["records"]}
        for each in ops:
            if each.f == "produce" and each.key == key and each.ok and began and ends:
                offset = each.result["offset"]
                if each.value["acks"] == "all" and offset < max(ends) and offset not in handed:
                    broken.add(("delivered", (each.index,)))
    return broken


def found(ops: Sequence[Operation]) -> Broken:
    """What the clauses say, named as `naive` names it."""
    run = group_run(ops)
    by_index = {each.index: each for each in ops}
    broken: Broken = set()
    for clause, rule in RULES.items():
        name = clause.name
        for each in rule(run).findings:
            cited = [by_index[index] for index in each.operations]
            if name == "one-owner":
                broken.add((name, (generation(cited[0]),)))
            else:
                broken.add((name, (culprit(name, each.message, cited).index,)))
    return broken


def culprit(name: str, message: str, cited: Sequence[Operation]) -> Operation:
    kinds = {
        "old-generations-refused": ("commit",),
        "generations-rise": ("join", "assignment"),
        "delivered": ("produce",),
        "deletions-withheld": ("forget",),
    }.get(name, ("committed", "join"))
    return max((each for each in cited if each.f in kinds), key=lambda each: each.index)


def test_any_history_is_judged_as_the_definitions_say() -> None:
    """And the histories are such that each clause is broken in some, but for those of static
    members (test_instances)."""
    reported: set[str] = set()

    @settings(max_examples=800, deadline=None, database=None, derandomize=True)
    @given(histories())
    def judge(ops: list[Operation]) -> None:
        wanted = naive(ops)
        undecided = {("commits-kept", where) for name, where in wanted if name == UNDECIDED}
        decided = {each for each in wanted if each[0] != UNDECIDED}
        assert found(ops) - undecided == decided
        reported.update(name for name, _ in decided)

    judge()
    assert reported == {clause.name for clause in RULES} - {FENCED.name, RETURNS.name, OWN_IDS.name}


# --- static members -----------------------------------------------------------------------


def of_clause(story: Story, clause: Clause) -> Any:
    """What it compared."""
    return groups(story.run_events()).clauses[clause.name]


@pytest.mark.parametrize(
    ("type", "ext", "compared"),
    [
        ("ok", {}, 2),
        ("fail", {"asserts": STALE}, 2),
        ("fail", {}, 0),
        ("info", {"asserts": STALE}, 0),
        ("info", {}, 0),
    ],
)
def test_a_former_process_is_taken_or_refused_as_stale(type: Any, ext: Any, compared: int) -> None:
    story = Story()
    restarted(story, 0)
    restarted(story, 1)
    value = {**a_commit("s0", 1, 0, "s"), "instance": "i", "id": "id-0"}
    for _ in range(2):
        error = None if type == "ok" else "SOMETHING"
        story.op("commit", KEY, value, value, type=type, error=error, ext=ext, node="b1")
    assert of_clause(story, FENCED) == compared


def test_one_word_for_a_former_process_is_no_occasion() -> None:
    story = Story()
    restarted(story, 0)
    restarted(story, 1)
    acts(story, "beat", 0, "fail")
    assert isinstance(of_clause(story, FENCED), str)
    acts(story, "beat", 0, "fail")
    assert of_clause(story, FENCED) == 2


def test_members_of_no_instance_and_other_acts_are_no_restarts() -> None:
    story = Story()
    restarted(story, 0)
    for number in range(3):
        acts(story, "beat", 0)
        story.op("join", None, of_member(f"x{number}", "s"), {"generation": 1, "assigned": []})
    restarted(story, 1)
    acts(story, "beat", 1)
    assert of_clause(story, RETURNS) == "no static member was restarted twice"


@pytest.mark.parametrize(("waits_ms", "compared"), [(0, 2), (100, 1)])
def test_restarts_are_an_occasion_whether_or_not_they_were_in_time(
    waits_ms: int, compared: int
) -> None:
    story = Story()
    restarted(story, 0)
    restarted(story, 1)
    assert of_clause(story, RETURNS) == "no static member was restarted twice"
    story.wait(waits_ms)
    restarted(story, 2)
    assert of_clause(story, RETURNS) == compared


def test_an_instance_that_is_never_restarted_hides_no_other() -> None:
    story = Story()
    for number in range(3):
        restarted(story, number)
    value = {**of_member("z", "z"), "instance": "j", "session_ms": 50}
    story.op("join", None, value, {"generation": 1, "assigned": [], "id": "z", "part": "z"})
    story.wait(100)
    assert of_clause(story, RETURNS) == 2
    late = Story()
    for number in range(3):
        restarted(late, number)
        late.wait(100)
    late.op("join", None, value, {"generation": 1, "assigned": [], "id": "z", "part": "z"})
    assert of_clause(late, RETURNS) == 0


def test_processes_of_an_instance_are_one_owner() -> None:
    story = Story()
    for number in range(2):
        value = {**of_member(f"s{number}", "s"), "instance": "i", "session_ms": 50}
        given = {"generation": 1, "assigned": [KEY], "id": f"id-{number}", "part": "p"}
        story.op("join", None, value, given, node="b1")
    assert not groups(story.run_events()).findings
