"""What an ISR is for (`folds/isr/in_sync.py`): acknowledgements of all, and high watermarks."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest
from planted_runs import MS, OTHER, TOPIC, NodeEvent, Story
from test_isr_chain import clean as clean_chain
from test_isr_chain import produce as produce_to_other

from checkers.folds.isr.in_sync import Applied, Settings, answered_short, watermarks
from checkers.isr_chain import isr_chain
from framework.evidence.changes import PartitionChanged, PartitionState
from framework.evidence.clocks import earliest_ns, latest_ns
from framework.evidence.ids import BrokerId, LeaderEpoch, Offset, PartitionEpoch
from framework.evidence.kinds import DISK
from framework.evidence.partitions import (
    PartitionCommitted,
    PartitionLogOnDisk,
    PartitionOffsetSaved,
)
from framework.evidence.processes import Booted
from framework.history.pairing import Operation
from tests.checkers.folds.history.test_power_losses import lose_power

KEY = (TOPIC, 0)
LEAST = "min.insync.replicas"
UNCLEAN = "unclean.leader.election.enable"


def config(story: Story, offset: int, name: str, value: str | None, **more: Any) -> NodeEvent:
    whose = {"resource_type": 2, "resource_name": "t", **more}
    return story.apply("c1", offset, "ConfigRecord", name=name, value=value, **whose)


def set_to(story: Story) -> Settings:
    return Settings.of(story.run_events())


# --- settings -----------------------------------------------------------------------------


def test_nothing_that_is_set_is_the_default() -> None:
    story = Story()
    story.apply("c1", 0, "TopicRecord")
    assert set_to(story).least(TOPIC) == 1
    assert not set_to(story).unclean(TOPIC)


def test_the_least_that_ever_held_counts() -> None:
    story = Story()
    story.apply("c1", 0, "TopicRecord")
    for offset, value in enumerate(("3", None, "2", "many", "4"), 1):
        config(story, offset, LEAST, value)
    assert set_to(story).least(TOPIC) == 2
    assert set_to(story).least(OTHER) == 1, "another topic"


@pytest.mark.parametrize("value", ["true", "True", "false"])
def test_an_unclean_election_may_have_been_allowed(value: str) -> None:
    story = Story()
    story.apply("c1", 0, "TopicRecord")
    config(story, 1, UNCLEAN, "false")
    config(story, 2, UNCLEAN, value)
    assert set_to(story).unclean(TOPIC) == (value != "false")


def made(story: Story, value: str = "2") -> None:
    """With a setting of its own; for all others another one holds."""
    story.apply("c1", 0, "TopicRecord")
    config(story, 1, LEAST, value)
    story.partition(2, 0, [4, 5])
    config(story, 3, LEAST, "1", resource_type=4, resource_name="")


def test_what_holds_for_all_does_not_hold_for_a_topic_that_was_made_with_its_own() -> None:
    story = Story()
    made(story)
    assert set_to(story).least(TOPIC) == 2
    assert set_to(story).least(OTHER) == 1
    config(story, 4, LEAST, "3")
    assert set_to(story).least(TOPIC) == 2


def test_a_topic_that_gave_its_setting_up_has_that_of_all() -> None:
    story = Story()
    made(story)
    config(story, 4, LEAST, None)
    assert set_to(story).least(TOPIC) == 1


@pytest.mark.parametrize("first", [0, 1])
def test_a_topic_that_was_set_later_had_that_of_all_before(first: int) -> None:
    story = Story()
    story.partition(first, 0, [4, 5])
    story.partition(9, 0, [4, 5], partition_id=1)
    made(story)
    assert set_to(story).least(TOPIC) == 1


def test_of_a_name_that_was_given_twice_it_is_not_known_what_it_was_made_with() -> None:
    story = Story()
    made(story)
    story.apply("c1", 9, "TopicRecord", name="t", topic_id=OTHER)
    assert set_to(story).least(TOPIC) == 1


def test_what_nodes_are_set_to_holds_for_all_topics() -> None:
    story = Story()
    story.apply("c1", 0, "TopicRecord")
    config(story, 1, UNCLEAN, "true", resource_type=4, resource_name="t")
    story.plan = {**story.plan, "settings": {"b1": {LEAST: 2, "other": 1}, "b2": {}}}
    for topic_id in (TOPIC, OTHER):
        assert set_to(story).least(topic_id) == 2
        assert set_to(story).unclean(topic_id)
    assert set(set_to(story).values) == {(None, UNCLEAN), (None, LEAST)}


# --- acknowledgements ---------------------------------------------------------------------


def short() -> Story:
    """Two in-sync replicas are asked for; the leader knows that it is alone since some time."""
    story = Story()
    story.apply("c1", 0, "TopicRecord")
    config(story, 1, LEAST, "2")
    for node in ("b1", "b2"):
        story.partition(2, 0, [4, 5], node=node)
        story.partition(3, 1, [4], node=node)
    story.wait(1)
    return story


def produce(story: Story, key: str = "t/0", offset: int | None = 0, **more: Any) -> Operation:
    value = {"value": 1, "acks": more.pop("acks", "all")}
    result = {"offset": offset, "topic_id": TOPIC}
    asked = story.invoke("produce", key, value, node=more.pop("node", "b1"))
    story.wait(more.pop("lasts_ms", 1))
    return story.complete(asked, more.pop("type", "ok"), result, **more)


def judged(story: Story) -> tuple[Any, list[str]]:
    events = story.run_events()
    records: dict[tuple[str, int], list[PartitionState]] = {}
    for each in events.of(PartitionState):
        records.setdefault(each.key, []).append(each)
    count, findings = answered_short(events, records, Settings.of(events))
    return count, [each.message for each in findings]


def applied_all_along(states: list[PartitionState], operation: Operation) -> PartitionState | None:
    """As the definition says it."""
    own = [
        each
        for each in states
        if each.node == operation.node and latest_ns(each) < (operation.invoked_ns or 0)
    ]
    state = max(own, key=lambda each: each.offset, default=None)
    end = operation.completed_ns or 0
    later = (
        state is not None and each.offset > state.offset and earliest_ns(each) <= end
        for each in states
    )
    return None if any(later) else state


@pytest.mark.parametrize("seed", range(40))
def test_what_a_leader_knew_all_along(seed: int) -> None:
    draw = Random(seed)
    states = [
        PartitionChanged(
            node=draw.choice(["b1", "b2"]),
            seq=seq,
            at_ns=draw.randrange(30),
            within_ns=draw.randrange(3),
            offset=Offset(draw.randrange(6)),
            epoch=LeaderEpoch(1),
            topic_id=TOPIC,
            partition=0,
            isr=(),
            leader=BrokerId(4),
            leader_epoch=LeaderEpoch(0),
            partition_epoch=PartitionEpoch(0),
        )
        for seq in range(draw.randrange(1, 12))
    ]
    applied, known = Applied.of(states), 0
    for begin in range(32):
        for node in ("b1", "b2", "b3", None):
            end = begin + draw.randrange(4)
            operation = Operation(index=0, node=node, invoked_ns=begin, completed_ns=end)
            expected = applied_all_along(states, operation)
            assert applied.all_along(operation) is expected
            known += expected is not None
    assert known


@pytest.mark.parametrize("acks", ["all", -1, "-1"])
def test_leader_that_answers_though_it_knows_that_it_is_alone(acks: Any) -> None:
    story = short()
    produce(story, key="u/0")
    produce(story, acks=acks)
    count, (found,) = judged(story)
    assert count == 1
    assert "produced to t/0" in found and "the ISR was [4]; 2 in-sync" in found


@pytest.mark.parametrize(
    ("tries", "more", "count"),
    [
        (3, {}, 0),
        (3, {"acks": -1}, 0),
        (1, {}, 0),
        (0, {}, None),
        (3, {"acks": 1}, None),
        (3, {"type": "fail"}, None),
        (3, {"key": "u/0"}, None),
    ],
)
def test_what_all_never_acknowledge_is_no_want_of_occasion(
    tries: int, more: dict[str, Any], count: int | None
) -> None:
    story = short()
    story.op("fetch", "t/0", {"acks": "all"}, {"topic_id": TOPIC}, node="b1")
    for _ in range(tries):
        produce(story, **{"type": "info", **more})
    found, findings = judged(story)
    assert not findings and (found == count if count == 0 else "acknowledged by all" in str(found))


@pytest.mark.parametrize("more", [{"acks": 1}, {"type": "fail"}, {"key": "u/0"}])
def test_what_was_not_acknowledged_by_all_of_that_partition_is_not_judged(
    more: dict[str, Any],
) -> None:
    story = short()
    produce(story, **more)
    story.op("fetch", "t/0", {"acks": "all"}, {"topic_id": TOPIC}, node="b1")
    story.op("produce", "t/0", "all", {"topic_id": TOPIC}, node="b1")
    count, findings = judged(story)
    assert "acknowledged by all" in count and not findings


def test_who_had_not_applied_it_itself_did_not_know() -> None:
    story = short()
    produce(story, node="b3")
    assert judged(story) == (0, [])


def test_change_that_came_while_the_produce_was_under_way_is_no_knowledge() -> None:
    story = short()
    story.events = [each for each in story.events if each.fields.get("offset") != 3]
    asked = story.invoke("produce", "t/0", {"value": 1, "acks": "all"}, node="b1")
    story.partition(3, 1, [4], node="b1")
    story.complete(asked, result={"offset": 0, "topic_id": TOPIC})
    assert judged(story) == (0, [])


@pytest.mark.parametrize(("later_ms", "found"), [(0, 0), (5, 1)])
def test_leader_may_have_heard_of_what_anybody_applied_by_its_end(
    later_ms: float, found: int
) -> None:
    story = short()
    asked = story.invoke("produce", "t/0", {"value": 1, "acks": "all"}, node="b1")
    done = story.now_ns
    story.wait(later_ms)
    event = story.partition(4, 2, [4, 5], node="b2")
    answered = story.complete(asked, result={"offset": 0, "topic_id": TOPIC})
    story.operations[0] = replace(answered, completed_ns=done + (later_ms == 0) * MS)
    assert event.time_ns >= done + MS
    count, findings = judged(story)
    assert (count, len(findings)) == (found, found)


def test_leader_with_enough_replicas_may_answer() -> None:
    story = short()
    for node in ("b1", "b2"):
        story.partition(4, 2, [4, 6], node=node)
    story.wait(1)
    produce(story)
    assert judged(story) == (1, [])


def test_what_disks_hold_nobody_had_applied() -> None:
    story = short()
    for node in ("c1", "b1"):
        record = {"topic_id": TOPIC, "partition_id": 0, "isr": [4, 5], "leader": 4}
        story.disks.write(
            node, 1, "IsrChangeRecord", base=9, leader_epoch=0, partition_epoch=2, **record
        )
    produce(story)
    assert len(judged(story)[1]) == 1


@pytest.mark.parametrize("time", ["invoked_ns", "completed_ns"])
def test_produce_of_which_no_time_is_known(time: str) -> None:
    story = short()
    timeless: dict[str, Any] = {time: None}
    story.operations = [replace(produce(story), **timeless)]
    assert judged(story) == (0, [])


def told_by_disks(*isrs: list[int]) -> Story:
    """Disks alone tell what happened; the leader is asked before and after a produce."""
    story = Story()
    story.disks.write("c1", 1, "TopicRecord", name="t", topic_id=TOPIC)
    least = {"resource_type": 2, "resource_name": "t", "name": LEAST, "value": "2"}
    story.disks.write("c1", 1, "ConfigRecord", **least)
    of = {"topic_id": TOPIC, "partition_id": 0, "leader": 4, "leader_epoch": 0}
    for version, isr in enumerate(([4, 5], [4], [4, 6])):
        kind = "IsrChangeRecord" if version else "PartitionRecord"
        story.disks.write("c1", 1, kind, isr=isr, partition_epoch=version, **of)
    for place, isr in enumerate(isrs):
        if place:
            produce(story)
            story.wait(2_000)
        partition = {"partition": 0, "leader": 4, "leader_epoch": 0, "isr": isr}
        topics = [{"name": "t", "topic_id": TOPIC, "partitions": [partition]}]
        story.ask("b1", "describe-topics", {"brokers": [], "topics": topics})
        story.wait(1_000)
    return story


@pytest.mark.parametrize(
    ("before", "after", "short"), [([4], [4], 1), ([4], [4, 6], 0), ([4, 6], [4, 6], 0)]
)
def test_all_that_a_leader_may_have_gone_by_is_too_small(
    before: list[int], after: list[int], short: int
) -> None:
    story = told_by_disks(before, after)
    count, found = judged(story)
    assert (count, len(found)) == (1, short)


def test_answers_that_show_what_a_leader_went_by_are_told_beside_the_produce() -> None:
    events = told_by_disks([4], [4]).run_events()
    records = {KEY: list(events.of(PartitionState))}
    _, (found,) = answered_short(events, records, Settings.of(events))
    assert len(found.operations) == 3


def test_leader_that_tells_nothing_and_was_not_asked_gives_no_occasion() -> None:
    story = told_by_disks()
    produce(story)
    story.plan = {**story.plan, "capabilities": []}
    count, findings = judged(story)
    assert "nobody asked them" in count and not findings


def test_without_a_topic_that_asks_for_more_there_is_no_occasion() -> None:
    story = Story()
    story.apply("c1", 0, "TopicRecord")
    story.partition(1, 0, [4])
    produce(story)
    count, findings = judged(story)
    assert "no topic asks for more" in count and not findings


def asks(story: Story, value: object = "2", name: str = "t", **more: Any) -> None:
    """A client, for a topic with so many in-sync replicas; None: as the system likes it. `changed`:
    for so many, of the topic that is there."""
    if "changed" in more:
        changed = more.pop("changed")
        change = {"delete": [LEAST]} if changed is None else {"set": [[LEAST, changed], ["a", "9"]]}
        story.op("configure", name, change, None, **more)
        return
    configs = None if value is None else [["other", "2"], [LEAST, value]]
    story.op("create", name, {"partitions": 1, "configs": configs}, {"topic_id": TOPIC}, **more)


def unrecorded(story: Story) -> bool:
    """Whether there was an occasion of which nothing is left."""
    return judged(story)[0] == 0


def test_a_topic_that_a_client_asked_for_and_of_which_no_record_is_left_was_an_occasion() -> None:
    story = Story()
    asks(story)
    assert not unrecorded(story), "nothing was acknowledged"
    produce(story, acks="1")
    produce(story, type="info")
    produce(story, key="u/0")
    assert not unrecorded(story)
    produce(story)
    assert unrecorded(story)


@pytest.mark.parametrize(
    ("asked", "occasion"),
    [
        ([{"value": "3"}, {"value": "2"}], True),
        ([{"value": "2", "type": "info"}], True),
        ([{"value": "3"}, {"value": "1"}], False),
        ([{"value": "1"}, {"value": "3"}], False),
        ([{"value": "2", "type": "fail"}], False),
        ([{"value": None}], False),
        ([{"value": "all"}], False),
        ([{"value": "2", "name": "u"}], False),
        ([{"value": "1"}, {"changed": "2", "type": "info"}], False),
        ([{"value": None}, {"changed": "2"}], True),
        ([{"value": None}, {"changed": "2", "type": "fail"}], False),
        ([{"value": "2"}, {"changed": None}], False),
        ([{"value": "2"}, {"changed": "1"}], False),
    ],
)
def test_all_that_a_client_may_have_made_asks_for_more(
    asked: list[dict[str, Any]], occasion: bool
) -> None:
    story = Story()
    for each in asked:
        asks(story, **each)
    produce(story)
    assert unrecorded(story) == occasion


def test_what_is_known_of_a_topic_of_whose_partition_no_record_is_left_counts() -> None:
    story = Story()
    produce(story)
    assert not unrecorded(story)
    story.apply("c1", 0, "TopicRecord")
    config(story, 1, LEAST, "2")
    assert unrecorded(story)
    story.partition(2, 0, [4], partition_id=1)
    assert unrecorded(story), "of another partition"
    produce(story, key="t/1")
    assert unrecorded(story)


def test_what_only_a_create_may_ask_for_nobody_else_does() -> None:
    """Nor does one that asks for nothing in particular."""
    story = Story()
    story.op("create", "t", None, {"topic_id": TOPIC})
    story.op("describe", "t", {"configs": [[LEAST, "2"]]}, None)
    produce(story)
    assert "no topic asks for more" in judged(story)[0]


def test_beside_what_is_judged_a_partition_of_which_no_record_is_left_takes_nothing_away() -> None:
    story = short()
    produce(story)
    produce(story, key="t/9")
    count, found = judged(story)
    assert (count, len(found)) == (1, 1)


def test_a_partition_that_is_known_is_held_to_what_the_log_says() -> None:
    story = Story()
    story.apply("c1", 0, "TopicRecord")
    story.partition(1, 0, [4])
    asks(story)
    produce(story)
    produce(story, key="t/x")
    assert "no topic asks for more" in judged(story)[0]


# --- high watermarks ----------------------------------------------------------------------


def marked() -> Story:
    """Three records, acknowledged; two replicas are in the ISR, and have them on their disks."""
    story = Story()
    story.partition(0, 0, [4, 5, 6])
    story.partition(1, 1, [4, 5])
    produce(story, offset=2)
    for node, end in (("b1", 3), ("b2", 3), ("b3", 0)):
        left(story, node, end)
    return story


def left(story: Story, node: str, end: int) -> None:
    fields = {"start_offset": 0, "torn": False, "wrong": (), "epochs": None}
    story.disks.tell(
        PartitionLogOnDisk, node, topic_id=TOPIC, partition=0, end_offset=end, **fields
    )


def saved(story: Story, node: str, offset: int, what: str = "high-watermark") -> None:
    of = {"topic_id": TOPIC, "partition": 0}
    story.disks.tell(PartitionOffsetSaved, node, what=what, offset=offset, **of)


def committed(story: Story, node: str, offset: int) -> None:
    of = {"topic_id": TOPIC, "partition": 0, "leader_epoch": 0}
    story.tell(PartitionCommitted, node, offset=offset, **of)


def held(story: Story) -> tuple[Any, list[str]]:
    events = story.run_events()
    records = {KEY: sorted(events.of(PartitionState), key=lambda each: each.offset)}
    count, findings = watermarks(events, records)
    for each in findings:
        assert each.events and bool(each.operations) == each.message.startswith("operation")
    return count, [each.message for each in findings]


def test_what_was_acknowledged_is_on_the_disks_of_the_last_isr() -> None:
    assert held(marked()) == (2, [])


@pytest.mark.parametrize("node", ["b1", "b2", "b3"])
def test_member_whose_log_ends_below_what_was_acknowledged(node: str) -> None:
    story = marked()
    left(story, node, 2)
    count, findings = held(story)
    assert count == 2 and len(findings) == (node != "b3"), "b3 is not in the last ISR"
    for found in findings:
        assert f"below offset 3 of {TOPIC}/0" in found and f"{node}, which is in its ISR" in found


@pytest.mark.parametrize(
    "answer", [{"offset": None}, {"offset": -1}, {"acks": "1"}, {"key": "t"}, {"type": "info"}]
)
def test_produce_that_tells_no_offset_tells_no_high_watermark(answer: dict[str, Any]) -> None:
    story = marked()
    produce(story, **{"offset": 7, **answer})
    assert held(story) == (2, [])


def test_answer_that_names_no_topic_tells_no_high_watermark() -> None:
    story = marked()
    story.op("produce", "t/0", {"acks": "all"}, {"offset": 9, "topic_id": None})
    story.op("produce", "t/0", {"acks": "all"})
    assert held(story) == (2, [])


def test_answer_that_says_no_more_than_yes_tells_no_high_watermark() -> None:
    story = marked()
    story.op("produce", "t/0", {"value": 1, "acks": "all"}, True, node="b1")
    assert held(story) == (2, [])


def test_produce_whose_offset_is_not_known_is_of_no_high_watermark() -> None:
    story = marked()
    story.operations = []
    produce(story, offset=-1)
    assert held(story) == (0, [])


def test_first_record_of_all_is_acknowledged() -> None:
    story = marked()
    story.operations = []
    produce(story, offset=0)
    left(story, "b2", 0)
    assert len(held(story)[1]) == 1


def test_high_watermark_that_a_node_had_or_saved_is_held_against_others() -> None:
    for tell in (saved, committed):
        story = marked()
        for offset in (3, 4, 2):
            tell(story, "b1", offset)
        count, (found,) = held(story)
        assert count == 3, "not against its own"
        assert "b1 had the high watermark 4" in found and "log of b2" in found


def test_other_offsets_that_are_saved_are_no_high_watermarks() -> None:
    story = marked()
    saved(story, "b1", 9, "recovery-point")
    assert held(story) == (2, [])


def test_members_without_a_disk_are_not_compared() -> None:
    story = marked()
    story.partition(2, 2, [4, 101])
    assert held(story) == (1, [])
    story.disks.lost.add("b1")
    assert held(story) == (0, [])


def extra(*nodes: str) -> Story:
    """A broker that the plan does not have is alone in the last ISR, as the others end first."""
    story = marked()
    story.partition(2, 2, [101])
    for node in nodes:
        story.tell(Booted, node, broker_id=101)
        left(story, node, 3)
    return story


def test_brokers_that_the_plan_does_not_have_are_compared_as_well() -> None:
    assert held(extra("x1")) == (1, [])
    story = extra("x1")
    left(story, "x1", 2)
    count, (found,) = held(story)
    assert count == 1 and "log of x1" in found


def test_which_of_several_processes_is_the_member_nobody_knows() -> None:
    assert held(extra("x1", "x2")) == (0, [])


def test_a_node_of_the_plan_is_who_the_plan_says() -> None:
    story = marked()
    story.tell(Booted, "x1", broker_id=4)
    left(story, "x1", 0)
    assert held(story) == (2, [])


def test_partition_of_which_nobody_was_reported_is_not_compared() -> None:
    story = marked()
    events = story.run_events()
    records = {(OTHER, 0): list(events.of(PartitionState))}
    assert watermarks(events, records) == (0, [])


def test_watermarks_of_what_all_never_acknowledge_were_not_seen_held() -> None:
    story = marked()
    story.operations = []
    assert "no produce was acknowledged" in held(story)[0]
    produce(story, type="info")
    assert held(story) == (0, [])


def test_no_occasions() -> None:
    story = marked()
    story.operations = []
    assert "no produce was acknowledged" in held(story)[0]
    story.plan = {**story.plan, "capabilities": []}
    assert "gives no evidence" in held(story)[0]
    story.plan = {**story.plan, "options": {"keep": True}}
    assert "went on" in held(story)[0]
    story.plan = {**story.plan, "options": {"keep": False}}
    assert "gives no evidence" in held(story)[0]


# --- behind a loss of power ---------------------------------------------------------------

LOG = {"topic_id": TOPIC, "partition": 1}


def above(
    story: Story,
    told: Callable[[Story], None],
    begin: int = 2,
    *,
    keeps: Iterable[str] = (),
    name: str = f"{TOPIC}/1",
    then: Callable[[Story], None] = lambda story: None,
) -> set[str]:
    """What is told of t/1, whose logs end at 2, before those who keep it lose their power: the
    clauses of isr-chain that are broken."""
    told(story)
    lose_power(story, {node: {name: (begin, begin, 4)} for node in ("b1", "b2", "b3")}, keeps)
    then(story)
    return {each.clause for each in isr_chain(story.run_events()).findings}


def acknowledged_then(story: Story) -> None:
    for offset in (2, 3):
        produce_to_other(story, offset)


def committed_then(story: Story) -> None:
    story.tell(PartitionCommitted, "b2", offset=4, leader_epoch=0, **LOG)


def saved_then(story: Story) -> None:
    """By a process that another one follows."""
    story.tell(PartitionOffsetSaved, "b2", source=DISK, what="high-watermark", offset=4, **LOG)


def saved_by_the_next(story: Story, offset: int = 2) -> None:
    story.tell(
        PartitionOffsetSaved,
        "b2",
        source=DISK,
        incarnation="next",
        seq=1000,
        what="high-watermark",
        offset=offset,
        **LOG,
    )


@pytest.mark.parametrize("told", [acknowledged_then, committed_then, saved_then])
def test_a_high_watermark_may_have_been_above_what_all_lost(told: Callable[[Story], None]) -> None:
    held = {"watermark-held"}
    assert above(clean_chain(), told, then=saved_by_the_next) == set()
    assert above(clean_chain(), told, name="t/1", then=saved_by_the_next) == set(), "by its name"
    assert above(clean_chain(), told, 3, then=saved_by_the_next) == held, "what was forced is there"
    assert above(clean_chain(), told, keeps=["b4"], then=saved_by_the_next) == held
    assert above(clean_chain(), told, name="u/1", then=saved_by_the_next) == held


def test_a_high_watermark_of_afterwards_is_not_excused() -> None:
    def nothing(story: Story) -> None:
        pass

    held = {"watermark-held"}
    assert above(clean_chain(), nothing) == set()
    assert above(clean_chain(), nothing, then=acknowledged_then) == held
    assert above(clean_chain(), nothing, then=committed_then) == held
    assert above(clean_chain(), nothing, then=saved_then) == held, "by the last process"
    assert above(clean_chain(), saved_then, then=partial(saved_by_the_next, offset=4)) == held
