"""What brokers tell of their replicas (folds `told_logs`, `told_producers`, `replica_reads`): what
looks alike and is right, what is not judged, and how much is compared."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from judging import clause_of, judged
from planted_reports import (
    BATCH,
    KEY,
    REPLICAS,
    REPORTS,
    Reported,
    moved,
    reported,
    told_all,
    whole,
)
from planted_runs import TOPIC

from checkers.folds.partitions.replica_reads import NOT_ASKED, NOT_KNOWN
from checkers.partition_data import LOST_POWER, NO_PRODUCER, NO_SIZE, PartitionData
from checkers.partition_data import REPLICAS as REPLICAS_CLAUSE
from framework.checking.clauses import ClauseResult
from framework.verdict import Verdict

CHECKER = PartitionData()


def sizes(story: Reported) -> ClauseResult:
    return clause_of(judged(CHECKER, story), "sizes")


def producers(story: Reported) -> ClauseResult:
    return clause_of(judged(CHECKER, story), "producers")


def replicas(story: Reported) -> ClauseResult:
    return clause_of(judged(CHECKER, story), "replicas")


def findings(story: Reported) -> list[str]:
    found = judged(CHECKER, story)
    assert "the checker failed" not in found.note
    return [each.message for each in found.findings]


@pytest.mark.parametrize("name", REPORTS)
def test_what_is_planted_breaks_one_clause(name: str) -> None:
    found = judged(CHECKER, REPORTS[name].story()).findings
    assert len(found) == 1, [each.message for each in found]


def test_what_is_compared() -> None:
    story = whole()
    assert not findings(story)
    # Three brokers twice, and the two in sync once more; a producer twice, and once more.
    assert (sizes(story).compared, producers(story).compared) == (8, 3)
    assert sizes(story).verdict is producers(story).verdict is Verdict.VALID
    assert (replicas(story).compared, replicas(story).floor) == (2, 2)


def test_where_nobody_asks_there_is_no_occasion() -> None:
    story = Reported()
    for _ in range(3):
        story.sent()
    assert sizes(story).verdict is None and sizes(story).note == NO_SIZE
    assert producers(story).verdict is None and producers(story).note == NO_PRODUCER
    assert replicas(story).verdict is None and replicas(story).note == NOT_ASKED


LOOK_ALIKES = Plants(whole, Verdict.VALID)


@LOOK_ALIKES.violation(on=reported)
def who_is_wanted_has_a_log_at_once(story: Reported) -> None:
    wish = story.invoke("reassign", KEY, {"replicas": [5, 6]})
    answer = story.invoke("log-dirs", None, {"keys": [KEY]}, node="b3")
    story.complete(answer, result=[{"key": KEY, "size": 0}])
    story.complete(wish)
    story.sizes("b1", 5 * BATCH)


@LOOK_ALIKES.violation(on=reported)
def who_was_wanted_in_vain_may_have_had_a_log(story: Reported) -> None:
    story.move(5, 6, type="info", error="X")
    story.sizes("b3", BATCH)


@LOOK_ALIKES.violation(on=reported)
def a_move_is_cancelled(story: Reported) -> None:
    story.move(5, 6)
    story.op("reassign", KEY, {"replicas": None})
    story.sizes("b3", BATCH)


@LOOK_ALIKES.violation(on=moved)
def who_was_replaced_still_has_its_log(story: Reported) -> None:
    story.sizes("b1", 5 * BATCH)
    story.sizes("b2", 5 * BATCH)
    story.sizes("b3", 5 * BATCH)


@LOOK_ALIKES.violation(on=reported)
def who_is_a_replica_is_not_in_sync(story: Reported) -> None:
    story.ends(4)
    story.sizes("b2", BATCH)


@LOOK_ALIKES.violation(on=reported)
def the_oldest_records_may_be_gone(story: Reported) -> None:
    """Nobody knows whether they were deleted."""
    story.op("delete-records", KEY, {"before": 4}, type="info", error="X")
    story.ends()
    story.sizes("b2", 61)


@LOOK_ALIKES.violation(on=reported)
def all_records_may_be_gone(story: Reported) -> None:
    story.op("delete-records", KEY, {"before": -1}, type="info", error="X")
    story.ends()
    story.sizes("b2", 0)
    story.producers()


@LOOK_ALIKES.violation(on=reported)
def the_last_answer_counts(story: Reported) -> None:
    story.ends()
    story.sizes("b2")
    told_all(story)


@LOOK_ALIKES.violation()
def a_log_has_all_that_was_sent(story: Reported) -> None:
    story.sizes("b1", 5 * 128)
    story.sizes("b2", 5 * 61)


@LOOK_ALIKES.violation()
def a_node_that_is_none_of_the_plans_tells(story: Reported) -> None:
    story.sizes("g301a", 10**6)


@LOOK_ALIKES.violation()
def a_broker_refuses_to_tell(story: Reported) -> None:
    asked = {"keys": [KEY]}
    story.op("log-dirs", None, asked, type="fail", error="X", node="b2")
    story.op("producers", KEY, type="fail", error="X")


@LOOK_ALIKES.violation(on=reported)
def a_producer_is_told_whose_produce_is_under_way(story: Reported) -> None:
    asked = {"value": 9, "acks": "all", "idempotent": True}
    produce = story.invoke("produce", KEY, asked)
    story.producers((7, 3, 4), (8, 0, 0))
    story.complete(produce, "info", error="X", ext={"sent_as": (8, 0, 0)})


@LOOK_ALIKES.violation(on=reported)
def a_producer_is_told_of_whose_produce_nobody_knows_as_what_it_was_sent(story: Reported) -> None:
    """It was never completed."""
    story.invoke("produce", KEY, {"value": 9, "acks": "all", "idempotent": True})
    story.producers((8, 0, 0))


@LOOK_ALIKES.violation(on=reported)
def a_log_knows_nothing_of_whose_records_are_gone(story: Reported) -> None:
    story.delete(5)
    story.ends(begin=5)
    story.producers()


@LOOK_ALIKES.violation(on=reported)
def what_was_not_acknowledged_need_not_be_known(story: Reported) -> None:
    story.sent((8, 0, 0), type="info", error="X")
    story.sent((7, 3, 5), type="fail", error="X")
    story.written = 5
    story.ends()
    story.producers((7, 3, 4))


@LOOK_ALIKES.violation(on=reported)
def a_leader_that_was_deposed_is_behind(story: Reported) -> None:
    story.producers((7, 3, 1))
    story.producers()


@LOOK_ALIKES.violation()
def a_log_knows_a_producer_without_a_number(story: Reported) -> None:
    story.sent((8, 0, 0), type="info", error="X")
    story.producers((7, 3, 4), (8, 0, -1))


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_look_alikes_are_right(name: str) -> None:
    assert not findings(LOOK_ALIKES[name].story())  # type: ignore[arg-type]


def test_what_failed_before_it_was_sent_hides_nobody() -> None:
    story = reported()
    asked = {"value": 9, "acks": "all", "idempotent": True}
    story.op("produce", KEY, asked, type="fail", error="X")
    story.producers((8, 0, 0))
    assert len(findings(story)) == 1


def test_who_was_a_replica_before_the_first_read_is_not_known() -> None:
    story = Reported(plan=reported().plan)
    story.sent()
    story.move(4, 5)
    story.read()
    story.sizes("b3", BATCH)
    assert not findings(story)


UNSETTLED: list[Callable[[Reported], None]] = [
    lambda story: story.final(settled=False),
    lambda story: story.wait(1),
]


@pytest.mark.parametrize("end", UNSETTLED)
def test_before_the_end_brokers_may_lack_anything(end: Callable[[Reported], None]) -> None:
    story = reported()
    end(story)
    story.read()
    story.sizes("b2")
    story.producers()
    assert not findings(story)


def test_while_replicas_may_be_moving_nobody_has_to_have_a_log() -> None:
    story = reported()
    story.move(5, 6)
    story.final()
    under_way = [{"key": KEY, "replicas": [5, 6, 4], "adding": [6], "removing": [4]}]
    story.op("reassignments", None, None, under_way)
    story.read(4, 5)
    story.sizes("b1")
    assert not findings(story)
    story.op("reassignments", None, None, [])
    story.read(5, 6, replicas=(5, 6))
    story.sizes("b1")
    assert not findings(story)
    story.sizes("b3")
    assert len(findings(story)) == 1
    story.op("reassignments", None, None, [])
    assert len(findings(story)) == 1, "once is enough"


def test_a_cache_that_an_observer_was_shown_is_not_the_end() -> None:
    """It may be behind."""
    story = reported()
    story.move(5, 6)
    story.ends(replicas=(5, 6))
    state = {"partition": 0, "leader": 4, "leader_epoch": 0, "replicas": [4, 5], "isr": [4, 5]}
    told = {"name": "r", "topic_id": "x", "partitions": [state]}
    story.ask("b1", "describe-topics", {"brokers": [], "topics": [told]})
    story.sizes("b1")
    assert not [each for each in findings(story) if "tells of" in each]


def test_an_observer_shows_who_the_first_replicas_were() -> None:
    story = Reported(plan=reported().plan)
    state = {"partition": 0, "leader": 4, "leader_epoch": 0, "replicas": [4, 5], "isr": [4, 5]}
    told = {"name": "r", "topic_id": "x", "partitions": [state]}
    story.sent()
    story.ask("b1", "describe-topics", {"brokers": [], "topics": [told]})
    story.sizes("b3", BATCH)
    assert len(findings(story)) == 1


def test_what_lay_before_a_loss_of_power_is_not_held_against_anybody() -> None:
    story = reported()
    kept = {node: {"state": None, "kept": {}} for node in ("b1", "b2", "b3")}
    lines = [
        {"step": "planned", "id": 1, "time": 1, "loses": list(kept), "keeps": []},
        {"step": "probed-during", "id": 1, "time": 2, "probe": {"evidence": kept}},
    ]
    with story.fault("power", ends_processes=True, victims={"b1": {}}):
        story.wait(1)
    story.faults = [replace(each, entries=lines) for each in story.faults]
    story.producers((8, 0, 0))
    story.sizes("b3", BATCH)
    assert not findings(story)
    for clause in (sizes(story), producers(story)):
        assert clause.verdict is None and clause.note == LOST_POWER


def test_each_partition_is_judged_by_what_was_told_of_it() -> None:
    """And those that nobody works on are not."""
    story = reported()
    asked = {"keys": [KEY, "r/1", "s/0"]}
    told = [{"key": "r/1", "size": BATCH}, {"key": "s/0", "size": BATCH}]
    story.op("log-dirs", None, asked, told, node="b1")
    assert not findings(story)
    produce = {"value": 9, "acks": "all", "idempotent": False}
    story.op("produce", "r/1", produce, {"offset": 0})
    (wrong,) = findings(story)
    assert "b1 tells of a log of 70 bytes, and 0 values" in wrong and "(r/1," in wrong


# --- what reads show ----------------------------------------------------------------------


def begun() -> Reported:
    return Reported(plan=reported().plan)


def state(number: int, *replicas: int) -> dict[str, Any]:
    at = {"partition": number, "leader": replicas[0], "leader_epoch": 0}
    return {**at, "replicas": [*replicas], "isr": [*replicas]}


def shows(story: Reported, *states: dict[str, Any], **more: Any) -> None:
    story.op("describe", "r", None, {"topic_id": TOPIC, "partitions": [*states]}, **more)


@pytest.mark.parametrize("f", ["describe", "follow", "metadata"])
def test_any_read_shows_replicas(f: str) -> None:
    story = begun()
    story.read(f=f)
    story.sent()
    story.sizes("b3", BATCH)
    assert len(findings(story)) == 1


def test_other_partitions_of_the_topic_have_other_replicas() -> None:
    story = begun()
    shows(story, state(1, 6), state(0, 4, 5))
    story.sent()
    story.sizes("b1", BATCH)
    assert not findings(story)
    story.sizes("b3", BATCH)
    assert len(findings(story)) == 1


def test_a_read_without_replicas_shows_none() -> None:
    story = begun()
    shows(story, {"partition": 0, "leader": 4, "leader_epoch": 0})
    shows(story, type="fail", error="X")
    story.sent()
    story.sizes("b3", BATCH)
    assert not findings(story)


def test_a_read_behind_the_first_move_does_not_show_the_first_replicas() -> None:
    story = begun()
    story.sent()
    story.move(5, 6)
    story.read(replicas=(5, 6))
    story.move(6, 5)
    story.sizes("b1", BATCH)
    assert not findings(story)


def test_who_wants_a_move_to_be_cancelled_wants_nobody_to_have_a_log() -> None:
    story = reported()
    story.op("reassign", KEY, {"replicas": None}, None)
    story.sizes("b1", BATCH)
    assert not findings(story)
    story.sizes("b3", BATCH)
    assert len(findings(story)) == 1


def test_nodes_that_are_no_brokers_have_no_logs() -> None:
    story = reported()
    before = sizes(story).compared
    story.sizes("elsewhere", 10**6)
    assert not findings(story) and sizes(story).compared == before


# --- the end ------------------------------------------------------------------------------


def test_without_a_read_in_the_end_nobody_knows_who_is_in_sync() -> None:
    story = reported()
    story.final()
    story.sizes("b2")
    assert not findings(story)
    story.read()
    story.sizes("b2")
    assert len(findings(story)) == 1, "nobody had asked for a move, so that none is under way"


def test_the_last_read_shows_who_is_in_sync() -> None:
    story = reported().ends()
    story.read(5)
    story.sizes("b1")
    assert not findings(story)


@pytest.mark.parametrize(
    ("f", "more"),
    [("seek", {}), ("reassignments", {"type": "fail", "error": "X"})],
)
def test_only_who_is_told_that_nothing_moves_knows_it(f: str, more: dict[str, Any]) -> None:
    """In the end: nobody had asked for a move before."""
    story = reported()
    story.op("reassignments", None, None, [])
    story.move(5, 6)
    story.final()
    value = {"consumer": "a", "to": 0} if f == "seek" else None
    story.op(f, KEY if f == "seek" else None, value, None, **more)
    story.read()
    story.sizes("b1")
    assert not findings(story)


def test_a_log_has_what_final_reads_were_given() -> None:
    """And not what others were, which may be lost: that is for others to judge."""
    story = reported()
    told = {"records": [[offset, offset] for offset in range(5)], "position": 5}
    more = {"high_watermark": 5, "log_start": 0, "leader_epoch": 0}
    story.op("fetch", KEY, {"consumer": "a", "from": 0}, told | more, node="b1")
    story.ends(begin=2)
    asked = {"consumer": "final", "from": 5}
    story.op("fetch", KEY, asked, type="fail", error="X", node="b1")
    story.sizes("b2", 0)
    assert any("were given 3 records of 61 bytes" in each for each in findings(story))


# --- producers in the end -----------------------------------------------------------------


def test_a_question_for_producers_that_fails_tells_of_none() -> None:
    story = whole()
    story.op("producers", KEY, None, type="fail", error="X", node="b1")
    assert not findings(story)


def test_producers_that_are_not_idempotent_hide_nobody() -> None:
    story = reported()
    asked = {"value": 9, "acks": "all", "idempotent": False, "producer": "q"}
    story.op("produce", KEY, asked, {"offset": 5, "topic_id": TOPIC}, node="b1")
    story.producers((8, 0, 0))
    assert len(findings(story)) == 1


def behind(story: Reported) -> list[str]:
    """Of producers that are told to be less far than they are."""
    return [each for each in findings(story) if "knows producer" in each]


def test_what_is_acknowledged_while_producers_are_told_may_be_missing() -> None:
    story = reported()
    asked = {"value": 5, "acks": "all", "idempotent": True, "producer": "p"}
    late = story.invoke("produce", KEY, asked)
    story.ends()
    story.producers((7, 3, 4))
    story.complete(late, "ok", {"offset": 5, "topic_id": TOPIC}, ext={"sent_as": (7, 3, 5)})
    assert not behind(story)
    story.producers((7, 3, 4))
    assert len(behind(story)) == 1


def test_of_what_has_no_offset_nobody_knows_whether_it_was_deleted() -> None:
    story = reported()
    asked = {"value": 5, "acks": "all", "idempotent": True, "producer": "p"}
    story.op("produce", KEY, asked, {"topic_id": TOPIC}, ext={"sent_as": (7, 3, 5)}, node="b1")
    story.ends()
    story.producers((7, 3, 4))
    assert not behind(story)


@pytest.mark.parametrize(("before", "known"), [(5, True), (6, False)])
def test_a_producer_of_one_record_is_known_until_that_may_be_deleted(
    before: int, known: bool
) -> None:
    story = reported()
    story.sent((8, 0, 0))
    story.delete(before, type="info", error="X")
    story.ends(begin=before)
    story.producers((7, 3, 4))
    assert any("knows producer 8 not at all" in each for each in findings(story)) == known


# --- what replicas give -------------------------------------------------------------------


@LOOK_ALIKES.violation()
def a_replica_hears_late_what_is_committed(story: Reported) -> None:
    """And begins where records were deleted elsewhere already, or has lost them itself."""
    story.gives("b2", 0, 1, high_watermark=2)
    story.gives("b2", 3, 4, begin=3, log_start=3)
    story.gives("b2", records=[[2, 2]], position=3, log_start=2)


@LOOK_ALIKES.violation()
def who_is_no_replica_refuses(story: Reported) -> None:
    story.op("replica-fetch", KEY, {"from": 0}, type="fail", error="X", node="b3")


@LOOK_ALIKES.violation()
def who_was_a_replica_still_gives_what_it_has(story: Reported) -> None:
    story.gives("b3", 0, 1, 2)


@LOOK_ALIKES.violation()
def a_replica_gives_nothing_once_it_gave_all(story: Reported) -> None:
    story.gives("b2", begin=5)


def given(*nodes: str, isr: tuple[int, ...] = (4, 5)) -> Reported:
    """The end, in which these give all."""
    story = reported().ends(*isr)
    for node in nodes:
        story.gives(node, *range(5))
    return story


@pytest.mark.parametrize("silent", [(), (0, 1, 2, 3), "refuses", "no word"])
def test_a_replica_in_sync_that_does_not_give_all_is_not_passed_over(silent: Any) -> None:
    """Nobody is accused: it may not have heard yet. But nothing shows that it has it."""
    story = given("b1")
    if silent == "refuses":
        story.op("replica-fetch", KEY, {"from": 0}, type="fail", error="X", node="b2")
    elif silent != "no word":
        story.gives("b2", *silent)
    found = replicas(story)
    assert (found.verdict, found.compared, found.floor) == (Verdict.UNKNOWN, 1, 2)


def test_who_is_not_in_sync_need_not_give_all() -> None:
    """What is not enough alone is enough beside another partition."""
    story = given("b1", isr=(4,))
    assert (replicas(story).compared, replicas(story).floor) == (1, REPLICAS_CLAUSE.floor)


def test_what_was_given_before_it_was_shown_who_is_in_sync_does_not_count() -> None:
    story = reported()
    for node in ("b1", "b2"):
        story.gives(node, *range(5))
    assert replicas(story.ends()).compared == 0


def test_without_an_end_nobody_knows_what_all_is() -> None:
    story = reported()
    story.final()
    story.read()
    story.gives("b1", *range(5))
    assert (replicas(story).verdict, replicas(story).note) == (None, NOT_KNOWN)
    unsettled = reported()
    unsettled.gives("b1", *range(5))
    assert replicas(unsettled).note == NOT_KNOWN


def test_where_nobody_shows_who_is_in_sync_in_the_end_nobody_knows_who_has_to_give_all() -> None:
    story = given("b1", "b2")
    shown = [each for each in story.operations if each.f == "describe" and each.phase == "final"]
    story.operations = [each for each in story.operations if each not in shown]
    assert shown and (replicas(story).verdict, replicas(story).note) == (None, NOT_KNOWN)


def test_a_node_of_which_the_plan_knows_nothing_may_give_what_there_is() -> None:
    story = given("b1", "b2")
    before = replicas(story)
    story.gives("g301a", *range(5))
    assert replicas(story) == before
    assert (before.verdict, before.compared) == (Verdict.VALID, 2)


@pytest.mark.parametrize("name", REPLICAS)
def test_what_is_planted_in_a_replica_breaks_this_clause_alone(name: str) -> None:
    found = judged(CHECKER, REPLICAS[name].story()).findings
    assert {each.clause for each in found} == {REPLICAS_CLAUSE.name}


def test_what_a_replica_gives_is_this_clauses_and_what_others_are_given_is_not() -> None:
    story = given("b1", "b2")
    story.gives("b2", 3, begin=4)
    assert {each.clause for each in judged(CHECKER, story).findings} == {"replicas"}
    story = given("b1", "b2")
    told = {"records": [[4, 3]], "high_watermark": 5, "log_start": 0, "position": 5}
    story.op("fetch", KEY, {"consumer": "a", "from": 4}, told)
    found = {each.clause for each in judged(CHECKER, story).findings}
    assert found == {"one-value"}
