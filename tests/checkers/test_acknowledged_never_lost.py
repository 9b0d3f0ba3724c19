"""What was acknowledged stays (D.7)."""

from typing import Any

import pytest
from contract import Plants
from planted_runs import (
    OTHER,
    RECORDS,
    TOPIC,
    Story,
    accepted,
    assert_invalid,
    assert_valid,
    change,
    shown,
)

from checkers.acknowledged_never_lost import AcknowledgedNeverLost, acknowledged_never_lost
from framework.checking.keyed import Outcome, outcome_row
from framework.checking.results import CheckerResult, checker_result
from framework.history.event import Json
from framework.history.pairing import Operation
from framework.plugins.capabilities import unmet
from framework.verdict import Verdict

THIRD = "33333333-3333-3333-3333-333333333333"


def clean() -> Story:
    story = Story()
    story.create("t")
    story.describe("t", shown(0, [4]))
    story.alter(0, [4, 5])
    story.describe("t", shown(1, [4, 5]))
    story.create("gone", OTHER)
    story.op("metadata", "gone", None, {"topic_id": OTHER, "partitions": []}, node="b2")
    story.delete("gone", OTHER)
    story.op("metadata", "gone", None, {"topic_id": OTHER, "partitions": []}, node="b2")
    story.describe("gone")
    decided = {"topic": "t"}
    story.decide("CreateTopics", decided, [5, 6], request_id="1")
    story.answer("CreateTopics", 7, request="1")
    story.decide("CreateTopics", decided, [], verdict=36, request_id="2")
    story.answer("CreateTopics", 0, code=36, request="2")
    story.decide("DeleteTopics", decided, [9], request_id="3")
    story.answer("DeleteTopics", 9, code=7, request="3")
    for number, api in enumerate(("CreateTopics", "DeleteTopics"), 4):
        story.decide(api, decided, [10 + number], request_id=str(number))
        story.answer(api, 20, request=str(number))
    story.apply("c1", 14, "TopicRecord", name="gone", topic_id=OTHER)
    story.apply("c1", 15, "RemoveTopicRecord", topic_id=OTHER)
    for offset, topic_id in ((16, TOPIC), (17, THIRD)):
        story.apply("c1", offset, "TopicRecord", name="t", topic_id=topic_id)
    story.final()
    story.describe("t", shown(4, [4]))
    story.describe("gone")
    story.op("metadata", "gone", None, None, node="b2")
    return story


def judged(story: Story) -> CheckerResult:
    """As the engine has it."""
    row = outcome_row(
        "r", "acknowledged-never-lost", "", acknowledged_never_lost(story.run_events())
    )
    return checker_result(
        "acknowledged-never-lost", "", [row], clauses=AcknowledgedNeverLost.clauses
    )


def without_occasion(story: Story) -> set[str]:
    return {each.name for each in judged(story).clauses if each.verdict is None}


@pytest.mark.parametrize(
    ("left_out", "clause"), [("answer", "committed-first: 0"), ("apply", "stays-away: 0")]
)
def test_nodes_that_leave_something_out_are_unknown(left_out: str, clause: str) -> None:
    story = clean()
    for name in ("u", "v"):
        story.create(name, name)
    story.events = [each for each in story.events if each.type != left_out]
    result = judged(story)
    assert result.verdict is Verdict.UNKNOWN
    assert clause in result.note


def test_nodes_that_tell_of_less_than_half_of_what_was_acknowledged_are_unknown() -> None:
    story = clean()
    for _ in range(4):
        story.alter(0, [4, 5])
    result = judged(story)
    assert "committed-first: 3" in result.note and "no fewer than 4" in result.note


def test_run_whose_nodes_write_no_events_is_judged_by_clients_and_disks() -> None:
    story = clean()
    story.plan = {**story.plan, "capabilities": ["disk:applied"]}
    assert without_occasion(story) == {"committed-first"}
    story.plan["capabilities"] = []
    assert without_occasion(story) == {"committed-first", "stays-away"}


def test_what_nobody_was_acknowledged_gave_no_occasion() -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.f not in ("delete", "alter-isr")]
    assert without_occasion(story) == {"deleted", "versions", "stays-away"}


def test_what_was_refused_gave_no_occasion() -> None:
    story = Story()
    story.op("create", "t", type="fail", error="NOT_CONTROLLER")
    story.op("delete", "t", type="fail", error="NOT_CONTROLLER")
    story.alter(0, [4], type="fail", error="NOT_CONTROLLER")
    assert without_occasion(story) == {each.name for each in AcknowledgedNeverLost.clauses}


def test_clean_run_is_accepted() -> None:
    outcome = acknowledged_never_lost(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures["acknowledged_and_read"] == 4


@pytest.mark.parametrize("missing", ["topic-operations", "linearizable-topic-read"])
def test_it_takes_writes_of_topics_and_recent_reads(missing: str) -> None:
    offered = {"topic-operations", "linearizable-topic-read"}
    assert unmet(AcknowledgedNeverLost.requires, offered) is None
    assert unmet(AcknowledgedNeverLost.requires, offered - {missing}) is not None


def test_nothing_seen_is_unknown() -> None:
    assert acknowledged_never_lost(Story().run_events()).verdict is Verdict.UNKNOWN


def test_acknowledgements_that_nobody_read_are_unknown() -> None:
    story = Story()
    story.create("t")
    assert acknowledged_never_lost(story.run_events()).verdict is Verdict.UNKNOWN


def compared(many: int) -> Story:
    """Of each clause `many` comparisons; nothing is wrong."""
    story = Story()
    story.create("t")
    story.alter(0, [4, 5])
    for _ in range(many):
        story.describe("t", shown(1, [4, 5]))
    story.delete("t")
    for number in range(many):
        story.describe("t")
        story.decide("CreateTopics", {"topic": "t"}, [number], request_id=str(number))
        story.answer("CreateTopics", 9, request=str(number))
    story.apply("c1", 20, "TopicRecord", name="t", topic_id=TOPIC)
    story.apply("c1", 21, "RemoveTopicRecord", topic_id=TOPIC)
    for number in range(many):
        story.apply("c1", 22 + 2 * number, "TopicRecord", name="u", topic_id=f"id {number}")
        story.apply("c1", 23 + 2 * number, "RemoveTopicRecord", topic_id=f"id {number}")
    for number in range(2):
        story.create(f"u{number}", f"id {number}")
    return story


@pytest.mark.parametrize(("created", "occasion"), [(0, False), (1, False), (2, True)])
def test_where_clients_made_no_two_topics_none_could_stay_away(
    created: int, occasion: bool
) -> None:
    """After one was deleted; what the log has of one topic is one sighting."""
    story = compared(1)
    story.operations = story.operations[: len(story.operations) - 2 + created]
    (clause,) = (each for each in judged(story).clauses if each.name == "stays-away")
    assert clause.verdict is (Verdict.UNKNOWN if occasion else None)
    assert ("hardly a topic" in clause.note) != occasion


@pytest.mark.parametrize(
    ("asked", "occasion"),
    [
        ("cccd", False),
        ("cdcdc", True),
        ("cdc!c", False),
        ("ccc!dcd", False),
    ],
)
def test_topics_that_were_made_after_the_first_one_had_gone_are_the_occasion(
    asked: str, occasion: bool
) -> None:
    """c: one is made, d: the first one goes, !: what follows is refused."""
    story = Story()
    refused = False
    for number, each in enumerate(asked):
        more: dict[str, Any] = {"type": "fail", "error": "NOT_CONTROLLER"} if refused else {}
        if each == "c":
            story.create(f"t{number}", f"id {number}", **more)
        elif each == "d":
            story.delete("t0", "id 0", **more)
        refused = each == "!"
    counts = acknowledged_never_lost(story.run_events()).clauses or {}
    assert (counts["stays-away"] == 0) == occasion


def test_what_was_acknowledged_without_an_id_was_compared_with_nothing() -> None:
    story = Story()
    story.op("create", "t", None, None)
    story.op("delete", "t", None, None)
    story.alter(0, [4])
    counts = acknowledged_never_lost(story.run_events()).clauses or {}
    assert [counts[each] for each in ("created", "deleted", "versions")] == [0, 0, 0]
    assert counts["committed-first"] == (0, 1)


@pytest.mark.parametrize("many", [0, 1, 2, 3])
def test_two_comparisons_are_enough_for_each_clause(many: int) -> None:
    story = compared(many)
    counts = acknowledged_never_lost(story.run_events()).clauses
    assert counts == {
        **dict.fromkeys(("created", "deleted", "stays-away", "versions"), many),
        "committed-first": (many, 2),
    }
    expected = Verdict.VALID if many >= 2 else Verdict.UNKNOWN
    assert {each.verdict for each in judged(story).clauses} == {expected}


@pytest.mark.parametrize(
    ("story", "read"), [(Story(), 0), (compared(0), 0), (compared(1), 3)], ids=["none", "0", "1"]
)
def test_how_many_writes_were_read_is_a_figure(story: Story, read: int) -> None:
    figures = acknowledged_never_lost(story.run_events()).figures
    assert figures["acknowledged_and_read"] == read


# --- topics -------------------------------------------------------------------------------


def test_created_topic_is_lost() -> None:
    story = clean()
    made = story.create("lost")
    read = story.describe("lost")
    outcome = acknowledged_never_lost(story.run_events())
    assert_invalid(outcome, "topic lost", "no such topic")
    assert outcome.findings[0].operations == (made.index, read.index)


PLANTED = Plants(clean)


@PLANTED.violation("another id")
def created_topic_was_replaced(story: Story) -> None:
    story.create("lost")
    story.describe("lost", shown(0, [4]), topic_id=OTHER)


@PLANTED.violation("topic t", "no such topic")
def created_topic_is_missing_in_a_final_cache(story: Story) -> None:
    story.op("metadata", "t", None, None, node="b2")


@PLANTED.violation("topic t", on=Story)
def delete_of_another_id_does_not_excuse(story: Story) -> None:
    story.create("t")
    story.delete("t", OTHER)
    story.describe("t")


@PLANTED.violation("topic t", on=Story)
def delete_that_was_refused_does_not_excuse(story: Story) -> None:
    story.create("t")
    story.op("delete", "t", type="fail", error="NOT_CONTROLLER")
    story.describe("t")


@PLANTED.violation("topic t", on=Story)
def delete_that_began_after_the_read_does_not_excuse(story: Story) -> None:
    story.create("t")
    story.describe("t")
    story.delete("t")


def test_indeterminate_delete_may_act_much_later() -> None:
    story = Story()
    story.op("delete", "t", type="info")
    story.create("t")
    story.describe("t", shown(0, [4]))
    story.describe("t")
    assert not judged(story).findings


def test_pending_delete_excuses() -> None:
    story = Story()
    story.create("t")
    story.invoke("delete", "t")
    story.describe("t")
    assert not judged(story).findings


def test_first_delete_that_may_act_excuses_all_that_follows() -> None:
    story = Story()
    story.create("t")
    story.op("delete", "t", type="info")
    story.describe("t")
    story.op("delete", "t", type="info")
    assert not judged(story).findings


def test_delete_that_shows_no_id_excuses_what_it_overlaps() -> None:
    story = Story()
    delete = story.invoke("delete", "t")
    story.create("t")
    story.complete(delete, "ok")
    story.describe("t")
    assert not judged(story).findings


@PLANTED.violation("topic t", "no such topic", on=Story)
def delete_that_shows_no_id_and_ended_before_does_not_excuse(story: Story) -> None:
    story.delete("t", None)
    story.create("t")
    story.describe("t")


def test_each_write_that_was_lost_is_found_once() -> None:
    story = Story()
    story.create("t")
    for _ in range(2):
        story.describe("t")
    story.delete("t")
    for _ in range(2):
        story.describe("t", shown(0, [4]))
    assert [each.clause for each in judged(story).findings] == ["created", "deleted"]


def test_what_was_not_answered_ok_was_not_acknowledged() -> None:
    """Though its completion repeats an id; and what was answered ok may show none."""
    story = Story()
    repeats = {"topic_id": TOPIC}
    story.op("create", "t", None, repeats, type="fail", error="NOT_CONTROLLER")
    story.op("create", "t", None, None)
    story.describe("t")
    story.op("delete", "t", None, repeats, type="fail", error="NOT_CONTROLLER")
    story.describe("t", shown(0, [4]))
    assert not judged(story).findings


@PLANTED.violation("topic t", "no such topic", on=Story)
def created_topic_that_was_refused_before_is_lost(story: Story) -> None:
    story.op("create", "t", type="fail", error="NOT_CONTROLLER")
    story.create("t")
    story.describe("t")


def test_read_that_failed_shows_nothing() -> None:
    story = Story()
    story.create("t")
    story.op("describe", "t", type="fail", error="NOT_CONTROLLER")
    assert not judged(story).findings


@pytest.mark.parametrize("answer", [True, {"partitions": []}])
def test_read_that_does_not_say_which_topic_there_is_shows_nothing(answer: Json) -> None:
    story = Story()
    story.create("t")
    story.op("describe", "t", None, answer)
    story.delete("t")
    story.op("describe", "t", None, answer)
    outcome = acknowledged_never_lost(story.run_events())
    assert not outcome.findings
    assert outcome.figures["acknowledged_and_read"] == 0


@pytest.mark.parametrize("answer", [None, False, {}])
def test_read_that_says_that_there_is_no_topic_shows_that_it_is_lost(answer: Json) -> None:
    story = Story()
    story.create("t")
    story.op("describe", "t", None, answer)
    assert_invalid(acknowledged_never_lost(story.run_events()), "topic t", "no such topic")


def test_deleted_topic_comes_back() -> None:
    story = clean()
    back = story.describe("gone", shown(0, [4]), topic_id=OTHER)
    outcome = acknowledged_never_lost(story.run_events())
    assert_invalid(outcome, "topic gone", "is back")
    assert back.index in outcome.findings[0].operations


@PLANTED.violation("is back")
def deleted_topic_stays_in_a_settled_cache(story: Story) -> None:
    story.op("metadata", "gone", None, {"topic_id": OTHER, "partitions": []}, node="b2")


def test_caches_of_a_cluster_that_did_not_settle_promise_nothing() -> None:
    story = Story()
    story.create("t")
    story.delete("t")
    story.describe("t")
    story.final(settled=False)
    story.op("metadata", "t", None, {"topic_id": TOPIC, "partitions": []}, node="b2")
    assert_valid(acknowledged_never_lost(story.run_events()))


def test_read_that_began_before_the_delete_was_answered_may_see_it() -> None:
    story = Story()
    story.create("t")
    read = story.invoke("describe", "t")
    story.delete("t")
    story.complete(read, "ok", {"topic_id": TOPIC, "partitions": []})
    story.describe("t")
    assert_valid(acknowledged_never_lost(story.run_events()))


def test_deleted_topic_comes_back_in_the_log() -> None:
    story = Story()
    story.create("t")
    gone = story.delete("t")
    story.describe("t")
    story.apply("c1", 5, "TopicRecord", topic_id=TOPIC, name="t")
    story.apply("c1", 9, "RemoveTopicRecord", topic_id=TOPIC)
    assert_valid(acknowledged_never_lost(story.run_events()))
    story.apply("c2", 12, "TopicRecord", topic_id=TOPIC, name="t")
    outcome = acknowledged_never_lost(story.run_events())
    assert_invalid(outcome, "removed by the record at offset 9", "topic-created at offset 12")
    assert outcome.findings[0].operations == (gone.index,)


@pytest.mark.parametrize("what", [{}, {"deleting": True}, None], ids=["made", "ends", "partition"])
def test_any_record_of_a_removed_topic_is_found_once_with_its_deletes(what: Any) -> None:
    story = Story()
    story.op("delete", "t", None, {"topic_id": TOPIC}, type="fail", error="NOT_CONTROLLER")
    story.delete("u", OTHER)
    gone = story.delete("t")
    story.apply("c1", 9, "RemoveTopicRecord", topic_id=TOPIC)
    for offset in (12, 13):
        if what is None:
            story.partition(offset, 0, [4])
        else:
            story.apply("c1", offset, "TopicRecord", topic_id=TOPIC, name="t", **what)
    (found,) = judged(story).findings
    assert "at offset 12" in found.message and list(found.operations) == [gone.index]


def test_topic_is_removed_by_the_first_record_that_does() -> None:
    story = Story()
    for offset in (5, 9):
        story.apply("c1", offset, "RemoveTopicRecord", topic_id=TOPIC)
    assert not judged(story).findings
    story.apply("c1", 12, "TopicRecord", topic_id=TOPIC, name="t")
    (found,) = judged(story).findings
    assert "removed by the record at offset 5, is back" in found.message


# --- versions and answers -----------------------------------------------------------------


@PLANTED.violation("version 8", "found version 7")
def acknowledged_version_is_lost(story: Story) -> None:
    story.alter(7, [4])
    story.describe("t", shown(7, [4, 5]))


@pytest.mark.parametrize("id_of_read", [TOPIC, OTHER])
def test_versions_are_of_one_topic(id_of_read: str) -> None:
    """Another of the same name begins anew; what is lost is told of once."""
    story = Story()
    story.alter(7, [4])
    for _ in range(2):
        story.describe("t", shown(0, [4]), topic_id=id_of_read)
    assert len(judged(story).findings) == (id_of_read == TOPIC)


@pytest.mark.parametrize(("name", "partition", "lost"), [("t", 0, 1), ("t", 1, 0), ("u", 0, 0)])
def test_versions_are_of_one_partition(name: str, partition: int, lost: int) -> None:
    """Of one name, too: that an id is of two is for identity-uniqueness to say."""
    story = Story()
    story.alter(7, [4])
    story.describe(name, shown(6, [4], partition=partition))
    outcome = acknowledged_never_lost(story.run_events())
    assert len(outcome.findings) == lost
    assert (outcome.clauses or {})["versions"] == lost


@pytest.mark.parametrize("other", ["2", "1"])
def test_an_answer_rests_on_the_request_that_its_own_process_decided(other: str) -> None:
    """Whatever was decided in between: on another request, or by another process on one that has
    the same number."""
    story = Story()
    story.decide("CreateTopics", {"topic": "t"}, [5, 6])
    story.decide(
        "CreateTopics", {"topic": "u"}, [9], request_id=other, node="c1" if other == "2" else "c2"
    )
    story.answer("CreateTopics", 7)
    assert not acknowledged_never_lost(story.run_events()).findings
    story.decide("CreateTopics", {"topic": "v"}, [6, 5], request_id="3")
    story.decide("CreateTopics", {"topic": "w"}, [2], request_id=other)
    story.answer("CreateTopics", 6, request="3")
    outcome = acknowledged_never_lost(story.run_events())
    assert_invalid(outcome, "offset 6 not committed")
    assert len(outcome.findings) == 1


def test_answer_before_commit() -> None:
    story = Story()
    create = story.invoke("create", "t", {}, node="b1")
    story.decide("CreateTopics", {"topic": "t"}, [5, 6])
    story.answer("CreateTopics", 6)
    create = story.complete(create, "ok", {"topic_id": TOPIC})
    story.describe("t", shown(0, [4]))
    outcome = acknowledged_never_lost(story.run_events())
    assert_invalid(outcome, "offset 6 not committed", "high watermark was 6")
    assert outcome.findings[0].operations == (create.index,)


def test_isr_change_answered_before_commit_names_its_operation() -> None:
    story = Story()
    asked = story.invoke("alter-isr", "t/0", change(3, [4]))
    story.decide("AlterPartition", {"topic_id": TOPIC, "partition": 0}, [5])
    story.answer("AlterPartition", 5)
    asked = story.complete(asked, "ok", accepted(asked.value))
    outcome = acknowledged_never_lost(story.run_events())
    assert_invalid(outcome, "AlterPartition", "not committed")
    assert outcome.findings[0].operations == (asked.index,)


def test_batch_of_which_a_part_succeeds_before_it_is_committed() -> None:
    story = Story()
    create = story.invoke("create", "u", {}, node="b1")
    items = [{"topic": "t", "code": 36}, {"topic": "u", "code": 0}]
    story.decide("CreateTopics", {"topic": "t"}, [5, 6], items=items)
    story.answer("CreateTopics", 6, code=36, codes=[36, 0])
    create = story.complete(create, "ok", {"topic_id": TOPIC})
    outcome = acknowledged_never_lost(story.run_events())
    assert_invalid(outcome, "offset 6 not committed")
    assert outcome.findings[0].operations == (create.index,)


def test_batch_that_is_lost_as_a_whole_may_be_uncommitted() -> None:
    story = Story()
    items = [{"topic": "t", "code": 36}, {"topic": "u", "code": 0}]
    story.decide("CreateTopics", {"topic": "t"}, [5, 6], items=items)
    story.answer("CreateTopics", 6, code=41, codes=[41, 7])
    assert not judged(story).findings


@PLANTED.violation("CreateTopics ok", "offset 31 not committed", "high watermark was 31")
def success_before_its_commit(story: Story) -> None:
    story.decide("CreateTopics", {"topic": "t"}, [30, 31], request_id="9")
    story.answer("CreateTopics", 31, request="9")


@PLANTED.violation("removed by the record at offset 15", "topic-created at offset 19")
def removed_topic_is_made_again(story: Story) -> None:
    story.apply("c2", 19, "TopicRecord", name="gone", topic_id=OTHER)


@PLANTED.violation("removed by the record at offset 2", "topic-created at offset 3", on=Story)
def removed_topic_is_made_again_on_disks(story: Story) -> None:
    """And no node says a word."""
    for node in ("c1", "c2", "c3"):
        story.disks.lead(1, 1, node)
        story.disks.write(node, 1, "TopicRecord", **RECORDS["TopicRecord"])
        story.disks.write(node, 1, "RemoveTopicRecord", topic_id=TOPIC)
        story.disks.write(node, 1, "TopicRecord", **RECORDS["TopicRecord"])


# --- who had an answer that left too early ------------------------------------------------


def early(api: str = "CreateTopics", **source: Any) -> tuple[Story, int, int]:
    """A decision, and its answer before the commit: when each was told of."""
    story = Story()
    story.wait(100)
    decided = story.decide(api, source, [5]).time_ns
    story.wait(10)
    return story, decided, story.answer(api, 5).time_ns


def had_it(story: Story, *clients: Operation) -> list[int]:
    story.operations = list(clients)
    outcome = AcknowledgedNeverLost().check_run(story.run_events())
    assert isinstance(outcome, Outcome)
    (found,) = outcome.findings
    return list(found.operations)


def client(index: int, begin: int | None, end: int | None, **more: Any) -> Operation:
    known: dict[str, Any] = {"f": "create", "key": "t", "type": "ok", "end": index + 1}
    known |= {"value": {"partitions": 1}, "result": {}, "node": "b1", **more}
    return Operation(index=index, invoked_ns=begin, completed_ns=end, **known)


@pytest.mark.parametrize(
    ("after_decision", "after_answer", "more", "named"),
    [
        (0, 0, {}, True),
        (-5, 5, {}, True),
        (1, 5, {}, False),
        (-5, -1, {}, False),
        (-5, 5, {"type": "fail"}, False),
        (-5, 5, {"f": "delete"}, False),
        (-5, 5, {"key": "u"}, False),
        (None, 5, {}, False),
        (-5, None, {}, False),
    ],
)
def test_who_had_the_answer_was_under_way_then_with_the_same(
    after_decision: int | None, after_answer: int | None, more: dict[str, Any], named: bool
) -> None:
    story, decided, answered = early(topic="t")
    begin = None if after_decision is None else decided + after_decision
    end = None if after_answer is None else answered + after_answer
    clients = client(10, begin, end, **more), client(20, decided - 5, answered + 5)
    assert had_it(story, *clients) == [10] * named + [20]


def test_of_a_decision_that_names_no_topic_it_may_be_any() -> None:
    story, decided, answered = early()
    assert had_it(story, client(10, decided, answered, key="u")) == [10]


def test_an_isr_change_that_was_answered_early_is_of_its_partition() -> None:
    asked = {"topic_id": TOPIC, "partition": 0, "leader_epoch": 0, "partition_epoch": 0}
    story, decided, answered = early("AlterPartition", **asked)
    other = {**asked, "partition": 1}
    story.decide("AlterPartition", other, [6], request_id="2")
    clients = [
        client(
            index,
            decided,
            answered,
            f="alter-isr",
            key=f"t/{number}",
            value=change(0, [4], partition=number),
            result=accepted(change(0, [4])),
        )
        for index, number in ((10, 0), (20, 1))
    ]
    assert had_it(story, *clients) == [10]


def test_answers_that_tell_nothing_of_a_record() -> None:
    """To a refusal, to what made none, and to a request of which nobody tells the decision."""
    story = Story()
    story.decide("CreateTopics", {"topic": "t"}, [5], verdict=36, request_id="1")
    story.decide("CreateTopics", {"topic": "t"}, [], request_id="2")
    for request in "123":
        story.answer("CreateTopics", 0, request=request)
    assert acknowledged_never_lost(story.run_events()).findings == []


def test_reads_that_show_no_versions() -> None:
    story = clean()
    story.op("describe", "t", None, {"topic_id": TOPIC, "partitions": None})
    bare = {"topic_id": TOPIC, "partitions": [{"partition": 0, "leader": 4}]}
    story.op("describe", "t", None, bare)
    story.alter(9, [4], type="fail", error="INVALID_UPDATE_VERSION")
    assert_valid(acknowledged_never_lost(story.run_events()))
