"""Convergence (D.13)."""

from dataclasses import replace

import pytest
from contract import Planted, Plants
from judging import assert_unknown, clause_of, judged, silent
from planted_endings import BROKERS, clean
from planted_runs import (
    MS,
    NODES,
    PLAN,
    TOPIC,
    NodeEvent,
    Story,
    assert_invalid,
    assert_valid,
    shown,
)

from checkers.convergence import Convergence, convergence
from framework.verdict import Verdict


def test_clean_ending_is_accepted() -> None:
    assert_valid(convergence(clean().run_events()))


def test_run_without_a_final_phase_is_unknown() -> None:
    story = Story()
    story.state("c1", 10)
    outcome = convergence(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "final phase" in outcome.note


def test_fault_that_was_not_healed_is_unknown() -> None:
    story = clean(lagging="b1")
    story.faults = [replace(each, healed=None) for each in story.faults]
    result = judged(Convergence(), story)
    assert result.verdict is Verdict.UNKNOWN
    assert "partition 1" in result.note


def test_node_without_events_is_unknown() -> None:
    story = clean()
    story.events = [event for event in story.events if event.node != "b2"]
    outcome = convergence(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "b2" in outcome.note


PLANTED = Plants(clean)


@PLANTED.violation("below offset 20", "b2 other")
def two_states_of_one_log(story: Story) -> None:
    story.state("b2", 20, "other")


@PLANTED.violation("below offset 10", on=Story)
def two_states_count_in_a_broken_run_too(story: Story) -> None:
    story.state("c1", 10, "one")
    story.state("c2", 10, "other")


@PLANTED.violation("b1 had come to offset 10", "20 committed", on=lambda: clean(lagging="b1"))
def node_stays_behind(story: Story) -> None:
    story.events.insert(8, replace(story.state("b1", 10), time_ns=story.events[8].time_ns))
    story.events.pop()


@PLANTED.violation("b1 had come to offset 10", "5.0 s before", on=lambda: clean(lagging="b1"))
def broker_of_a_workload_that_leaves_is_not_the_end(story: Story) -> None:
    begin = story.events[0].time_ns
    final = next(mark.time_ns for mark in story.nemesis if mark.value == "final")
    for late, moment in (
        (story.state("b1", 10), begin),
        (story.bstate("g", "SHUTDOWN"), final + 1),
    ):
        story.events[story.events.index(late)] = replace(late, time_ns=moment)


def test_what_is_committed_in_the_last_moment_need_not_be_everywhere() -> None:
    story = clean(quiet_ms=0)
    assert_valid(convergence(story.run_events()))


def unreported(story: Story) -> Story:
    """The same run of a system whose nodes tell nothing of themselves."""
    story.plan = {**story.plan, "capabilities": ["kafka-topics", "disk:appended"]}
    return silent(story)


def without_events() -> Story:
    return silent(clean())


@PLANTED.violation("did not settle: c2 did not answer")
def cluster_that_did_not_settle(story: Story) -> None:
    story.nemesis = [
        replace(each, value={"settled": False, "missing": "c2 did not answer"})
        if each.f == "settle" and each.type == "info"
        else each
        for each in story.nemesis
    ]


PLANTED.violation(
    "did not settle: c2 did not answer",
    on=without_events,
    name="cluster that did not settle and tells nothing",
)(cluster_that_did_not_settle)


@pytest.mark.parametrize("state", ["fenced", "starting"])
def test_broker_is_not_active_at_the_end(state: str) -> None:
    assert_invalid(convergence(out_of_service(state).run_events()), f"broker b2 was {state}")


PLANTED["broker out of service"] = Planted(
    ("broker b2 was fenced",), lambda: out_of_service("fenced")
)


def out_of_service(state: str, before_ms: float = 4_000) -> Story:
    story = clean()
    stop_ns = next(each.time_ns for each in story.events if each.fields.get("after") == "SHUTDOWN")
    if state == "fenced":
        late = story.bstate("b2", "FENCED", "ACTIVE")
    else:
        late = story.boot("b2", (1, 1, -1), log_end=20, last_epoch=1)
    story.events[-1] = replace(late, time_ns=stop_ns - round(before_ms * MS))
    return story


def test_broker_that_lost_its_lease_in_the_last_moment_is_not_accused() -> None:
    assert_valid(convergence(out_of_service("fenced", before_ms=1_000).run_events()))


@PLANTED.violation("u could not be read", "NOT_CONTROLLER")
def topic_cannot_be_read_in_the_end(story: Story) -> None:
    story.op("describe", "u", type="fail", error="NOT_CONTROLLER")


@PLANTED.violation("t/0 could not be read", "NOBODY")
def partition_cannot_be_read_in_the_end(story: Story) -> None:
    for _ in range(3):
        story.op("fetch", "t/0", {"consumer": "final", "from": 0}, type="fail", error="NOBODY")


@PLANTED.violation("u could not be read", "NOT_CONTROLLER", on=without_events)
def topic_of_nodes_that_tell_nothing_cannot_be_read(story: Story) -> None:
    topic_cannot_be_read_in_the_end(story)


@PLANTED.violation("u could not be read", "LEADER_NOT_AVAILABLE", on=without_events)
def topic_is_in_no_brokers_metadata(story: Story) -> None:
    """Though it can be described."""
    story.describe("u", shown(1, [4]))
    for node in BROKERS:
        story.op("metadata", "u", type="fail", error="LEADER_NOT_AVAILABLE", node=node)


def test_one_broker_that_has_no_metadata_of_a_topic_is_not_all() -> None:
    story = without_events()
    story.op("metadata", "u", type="fail", error="LEADER_NOT_AVAILABLE", node="b1")
    story.op("metadata", "u", None, {"topic_id": TOPIC, "partitions": [shown(1, [4])]}, node="b2")
    assert_valid(convergence(unreported(story).run_events()))


def test_read_that_nobody_answered_once_says_nothing() -> None:
    """The time for final reads was over, or the machine had none."""
    story = clean()
    story.op("describe", "u", type="info", error="CLIENT_TIMED_OUT")
    story.invoke("describe", "v")
    assert_valid(convergence(story.run_events()))
    story.op("describe", "u", type="info", error="CLIENT_TIMED_OUT")
    assert_invalid(convergence(story.run_events()), "u could not be read", "2 tries")


@pytest.mark.parametrize(
    ("left_out", "clause"),
    [(("state",), "one-state"), (("state", "hw"), "caught-up"), (("boot", "bstate"), "in-service")],
)
def test_node_that_leaves_events_out_is_unknown(left_out: tuple[str, ...], clause: str) -> None:
    story = clean()
    for offset, broker in enumerate((4, 5, 6)):
        story.apply("c1", offset, "UnfenceBrokerRecord", broker_id=broker, broker_epoch=offset)
    assert judged(Convergence(), story).verdict is Verdict.VALID
    assert_unknown(Convergence(), silent(story, *left_out, node="b2"), clause)


def test_node_that_tells_states_of_its_own_offsets_only_is_unknown() -> None:
    story = silent(clean(), "state", node="b2")
    story.state("b2", 19)
    assert_unknown(Convergence(), story, "one-state")


def test_run_whose_brokers_are_all_synthetic_had_no_partition_to_lead() -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.f != "describe"]
    story.heartbeat(101, 7)
    for _ in range(2):
        story.describe("t", shown(1, [101], leader=-1), shown(1, [101], leader=-1, partition=1))
    result = judged(Convergence(), story)
    assert result.verdict is Verdict.VALID, result.findings
    assert clause_of(result, "led").verdict is None


def test_nodes_that_tell_nothing_of_themselves_are_judged_by_the_ledger_and_clients() -> None:
    result = judged(Convergence(), unreported(clean()))
    assert result.verdict is Verdict.VALID, result.findings
    reported_as = {
        "one-state": "image-digest",
        "caught-up": "committed",
        "in-service": "broker-state",
        "led": "broker-state",
    }
    for name, kind in reported_as.items():
        assert clause_of(result, name).verdict is None
        assert clause_of(result, name).note.endswith(f"no evidence of {kind}")
    for name, compared in (("settles", 7), ("readable", 2)):
        each = clause_of(result, name)
        assert (each.verdict, each.compared) == (Verdict.VALID, compared)


def test_cluster_at_which_nobody_looked_is_unknown() -> None:
    story = unreported(clean())
    story.nemesis = [each for each in story.nemesis if each.f != "settle"]
    assert_unknown(Convergence(), story, "settles")


def test_one_node_settles() -> None:
    """Of a system of which nobody reads topics."""
    story = unreported(clean())
    story.plan = {**story.plan, "nodes": {"c1": NODES["c1"]}}
    story.operations.clear()
    result = judged(Convergence(), story)
    assert (result.verdict, result.seen) == (Verdict.VALID, 2), result.note
    assert clause_of(result, "readable").note == "no client reads a topic"
    for looks in ({"looks": 1}, {}):
        story.nemesis = [
            replace(each, value={"settled": True, "missing": None, **looks})
            if each.f == "settle" and each.type == "info"
            else each
            for each in story.nemesis
        ]
        assert_unknown(Convergence(), story, "settles")
    cluster_that_did_not_settle(story)
    assert judged(Convergence(), story).verdict is Verdict.INVALID


def test_run_in_whose_end_nothing_was_read_is_unknown() -> None:
    story = unreported(clean())
    story.operations = [replace(each, phase="main") for each in story.operations]
    assert_unknown(Convergence(), story, "readable")


def test_read_that_was_tried_again_is_a_read() -> None:
    story = clean()
    story.op("describe", "t", type="info", error="CLIENT_TIMED_OUT")
    assert_valid(convergence(story.run_events()))


@PLANTED.violation("t/0", "without a leader", "broker 4")
def partition_without_a_leader_though_a_broker_of_its_isr_works(story: Story) -> None:
    story.describe("t", shown(1, [4, 101], leader=-1))


def test_partition_of_brokers_that_are_gone_needs_no_leader() -> None:
    story = clean()
    story.describe("t", shown(1, [101, 102], leader=-1))
    assert_valid(convergence(story.run_events()))


# --- where the line is --------------------------------------------------------------------


def stop_of(story: Story) -> int:
    """When the first node is on its way out."""
    return next(each.time_ns for each in story.events if each.fields.get("after") == "SHUTDOWN")


def moved(story: Story, event: NodeEvent, at_ns: int) -> None:
    """It happened then."""
    story.events[story.events.index(event)] = replace(event, time_ns=at_ns)


def messages(story: Story) -> list[str]:
    return [each.message for each in convergence(story.run_events()).findings]


def late(by_ns: int) -> Story:
    """b1 had come to offset 10 before, and comes to all so long after the end."""
    story = clean(lagging="b1")
    end = stop_of(story)
    moved(story, story.state("b1", 10), story.events[8].time_ns)
    moved(story, story.state("b1", 20), end + by_ns)
    return story


@pytest.mark.parametrize(("by_ns", "behind"), [(-1, False), (0, True), (MS, True)])
def test_who_comes_to_it_after_the_first_has_left_was_behind(by_ns: int, behind: bool) -> None:
    assert bool(messages(late(by_ns))) == behind


def without_an_end(story: Story) -> Story:
    """The run was cut off while all went on."""
    story.events = [
        each
        for each in story.events
        if each.type != "exit"
        and each.fields.get("after") != "SHUTDOWN"
        and each.fields.get("offset", 20) == 20
    ]
    return story


@pytest.mark.parametrize("last", [True, False])
def test_where_nobody_leaves_the_end_is_the_last_that_anybody_reported(last: bool) -> None:
    story = without_an_end(clean(lagging="b1"))
    moved(story, story.state("b1", 10), story.events[8].time_ns)
    story.wait(5_000)
    story.state("b1" if last else "b2", 20)
    assert bool(messages(story)) != last


def test_what_ends_or_changes_in_the_run_is_not_its_end() -> None:
    """Before the final phase a broker leaves; in it one loses its lease, and gets it again."""
    story = Story()
    story.boot("b3")
    story.bstate("b3", "SHUTDOWN", "ACTIVE")
    story.event("b3", "exit", reason="asked to")
    early = len(story.events)
    whole = out_of_service("fenced")
    story.events += whole.events
    whole.events = [
        replace(each, incarnation=f"{each.node}#9") if at >= early else each
        for at, each in enumerate(story.events)
    ]
    final = next(mark.time_ns for mark in whole.nemesis if mark.value == "final")
    moved(whole, whole.bstate("b1", "FENCED", "ACTIVE"), final + 1)
    moved(whole, whole.bstate("b1", "ACTIVE", "FENCED"), final + 2)
    assert messages(whole) == ["broker b2 was fenced at the end"]


def test_an_exit_alone_is_an_end() -> None:
    story = late(MS)
    story.events = [each for each in story.events if each.fields.get("after") != "SHUTDOWN"]
    ends = [each for each in story.events if each.type == "exit"]
    caught_up = story.events[-1]
    moved(story, caught_up, ends[0].time_ns + 1)
    assert judged(Convergence(), story).verdict is Verdict.INVALID


@pytest.mark.parametrize(("before_ns", "due"), [(2_000 * MS, True), (2_000 * MS - 1, False)])
def test_two_seconds_before_the_end_is_soon_enough(before_ns: int, due: bool) -> None:
    """For all to have what was committed then; and of what is committed, the most counts."""
    story = clean()
    end = stop_of(story)
    moved(story, story.hw("c1", 21, 1), end - before_ns)
    moved(story, story.hw("c2", 21, 1), end - before_ns)
    moved(story, story.hw("c3", 15, 1), end - before_ns)
    found = messages(story)
    assert bool(found) == due
    assert all("reported 21 committed 2.0 s before the end" in each for each in found)


@pytest.mark.parametrize(("before_ms", "accused"), [(2_000, False), (2_001, True)])
def test_a_broker_may_have_lost_its_lease_just_before(before_ms: int, accused: bool) -> None:
    """Whatever is said of the others."""
    story = out_of_service("fenced", before_ms)
    moved(story, story.bstate("b1", "FENCED", "ACTIVE"), stop_of(story) - 1_000 * MS)
    assert messages(story) == ["broker b2 was fenced at the end"] * accused


def test_a_process_that_was_started_again_has_come_as_far_as_its_state() -> None:
    story = late(MS)
    begin = story.events[8].time_ns
    moved(story, story.hw("b1", 20, 1, role="observer"), begin + 1)
    assert not messages(story)
    moved(story, story.boot("b1"), begin + 2)
    moved(story, story.bstate("b1", "ACTIVE"), begin + 3)
    assert any("b1 had come to offset 10" in each for each in messages(story))


def test_a_node_that_reported_no_state_before_the_end_is_unknown() -> None:
    story = silent(clean(), "state", "hw", node="b1")
    story.state("b1", 20)
    assert_unknown(Convergence(), story, "caught-up")


def test_what_is_compared() -> None:
    story = clean()
    for offset, broker in enumerate((4, 5)):
        story.apply("c1", offset, "UnfenceBrokerRecord", broker_id=broker, broker_epoch=offset)
    story.state("g", 20)  # a workload's own
    story.op("fetch", "t/0", {"consumer": "final", "from": 0}, {"records": []})
    story.op("metadata", "t", None, {"partitions": [shown(1, [4], leader=-1)]})
    outcome = convergence(story.run_events())
    assert outcome.clauses == {
        "one-state": (6, 6),
        "settles": (7, 7),
        "caught-up": (6, 6),
        "in-service": (2, 2),
        "readable": 4,  # two of the topic, one of a partition, one of a cache
        "led": 2,
    }
    assert outcome.figures == {"nodes": 6}


def test_two_nodes_can_be_compared() -> None:
    story = Story(plan={**PLAN, "nodes": {node: NODES[node] for node in ("c1", "c2")}})
    story.state("c1", 20)
    story.state("c2", 20)
    outcome = convergence(story.run_events())
    assert outcome.clauses == {
        "one-state": (2, 2),
        **dict.fromkeys(("settles", "caught-up", "in-service", "readable", "led"), 0),
    }


def test_a_plan_that_names_no_nodes_is_unknown() -> None:
    story = clean()
    story.plan = {"time_zero_ns": PLAN["time_zero_ns"]}
    assert judged(Convergence(), story).verdict is Verdict.UNKNOWN


# --- reads in the end ---------------------------------------------------------------------


def test_only_final_reads_have_to_be_answered() -> None:
    story = Story()
    story.op("describe", "u", type="fail", error="NOT_CONTROLLER")
    before = story.operations
    story = clean()
    story.operations += before
    story.op("create", "u", type="fail", error="NOT_CONTROLLER")
    story.invoke("describe", "v")
    story.invoke("describe", "v")
    assert_valid(convergence(story.run_events()))


def of_b2(state: str | None) -> Story:
    """A partition of b2's alone has no leader; b2 was active, and then came to this state."""
    story = clean()
    end = stop_of(story)
    if state == "starting":
        moved(story, story.boot("b2"), end - 3_000 * MS)
    elif state is not None:
        moved(story, story.bstate("b2", state, "ACTIVE"), end - 3_000 * MS)
    story.describe("u", shown(1, [5], leader=-1))
    return story


@pytest.mark.parametrize(
    ("state", "led"), [(None, False), ("starting", True), ("FENCED", True), ("ACTIVE", False)]
)
def test_only_a_broker_that_is_still_active_could_lead(state: str | None, led: bool) -> None:
    assert any("without a leader" in each for each in messages(of_b2(state))) != led


def test_a_broker_that_became_active_after_the_read_could_not_lead_before() -> None:
    story = clean()
    end = stop_of(story)
    asked = story.describe("u", shown(1, [5], leader=-1))
    story.operations[-1] = replace(asked, invoked_ns=end - 100 * MS)
    moved(story, story.bstate("b2", "ACTIVE"), end - 50 * MS)
    assert not messages(story)


def test_reads_that_show_nothing_of_leaders() -> None:
    """Refused ones, and those of before the end."""
    story = clean()
    lost = {"topic_id": TOPIC, "partitions": [shown(1, [4], leader=-1)]}
    story.op("describe", "t", None, lost, type="fail", error="NOT_CONTROLLER")
    story.describe("t", shown(1, [4], leader=-1))
    story.operations[-1] = replace(story.operations[-1], phase="main")
    story.op("describe", "gone")
    assert_valid(convergence(story.run_events()))


def test_a_partition_that_nobody_plays_could_have_been_led() -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.f != "describe"]
    story.heartbeat(101, 7)
    story.describe("t", shown(1, [101]), shown(1, [101, 7], partition=1))
    led = clause_of(judged(Convergence(), story), "led")
    assert (led.verdict, led.compared) == (Verdict.UNKNOWN, 0)


# --- settling -----------------------------------------------------------------------------


def test_how_long_settling_took() -> None:
    story = clean()
    story.mark("settle")
    story.wait(1_233)
    story.mark("settle", {"settled": False, "missing": "c2 did not answer"})
    first, *_ = (each for each in story.nemesis if each.f == "settle")
    story.nemesis = [each for each in story.nemesis if each is not first]
    outcome = convergence(story.run_events())
    assert outcome.figures == {"nodes": 6, "settle_s": 1.234}
    (found,) = outcome.findings
    assert found.operations == (story.nemesis[-1].index,)


# --- what the machine took ----------------------------------------------------------------


def took(story: Story, lasts_ms: int, took_ms: int | None = None) -> Story:
    """So much of the time till now; all of it, if it is not said."""
    end_ms = story.now_ns // MS
    span = [end_ms - lasts_ms, end_ms, lasts_ms if took_ms is None else took_ms]
    story.plan = {**story.plan, "machine": {"took": [span]}}
    return story


@pytest.mark.parametrize(
    ("took_ms", "recovery_s", "accused"),
    [(12_000, 10, False), (12_000, 5, True), (9_000, 10, True), (0, 10, True)],
)
def test_who_was_upset_by_the_machine_comes_to_what_is_committed_once_it_is_over_that(
    took_ms: int, recovery_s: float, accused: bool
) -> None:
    """Leaders are lost, and brokers fenced, while nobody gets a core for most of the last 14 s: as
    much as recovery takes has been given since 22 s before the end, or since 17 s."""
    story = took(clean(lagging="b1", quiet_ms=20_000), 14_000, took_ms)
    story.plan = {**story.plan, "recovery_s": recovery_s}
    begin = story.events[0].time_ns
    for late in (story.hw("b1", 19, 1, role="observer"), story.state("b1", 19)):
        story.events[story.events.index(late)] = replace(late, time_ns=begin)
    found = [each.message for each in convergence(story.run_events()).findings]
    assert (
        found
        == ["b1 had come to offset 19 at the end; c1 reported 20 committed 20.0 s before the end"]
        * accused
    )


def read_after(took_ms: int) -> Story:
    """A topic is, after the machine had no time for so long."""
    story = took(clean(), took_ms)
    story.describe("t", shown(1, [4]))
    return story


def test_reads_that_failed_while_the_machine_had_no_time_tell_nothing() -> None:
    story = read_after(4_000)
    topic_cannot_be_read_in_the_end(story)
    assert_valid(convergence(story.run_events()))
    readable = [
        clause_of(judged(Convergence(), each), "readable").compared
        for each in (story, read_after(0))
    ]
    assert readable[0] == readable[1], "those that were answered count"


def test_a_leader_that_was_missing_while_the_machine_had_no_time_is_not_missed() -> None:
    story = took(clean(), 4_000)
    led = clause_of(judged(Convergence(), story), "led").compared
    story.describe("t", shown(1, [4], leader=-1), shown(1, [5], partition=1))
    assert_valid(convergence(story.run_events()))
    assert clause_of(judged(Convergence(), story), "led").compared == led + 1


def unsettled() -> Story:
    """For 40 s."""
    story = clean()
    story.nemesis = [each for each in story.nemesis if each.f != "settle"]
    story.mark("settle")
    story.wait(40_000)
    story.mark("settle", {"settled": False, "missing": "c2 did not answer"})
    return story


@pytest.mark.parametrize(
    ("lasts_ms", "took_ms", "accused"),
    [(40_000, 0, True), (40_000, 19_000, True), (40_000, 21_000, False), (4_000, 4_000, False)],
)
def test_a_cluster_settles_in_the_time_that_it_was_given(
    lasts_ms: int, took_ms: int, accused: bool
) -> None:
    outcome = convergence(took(unsettled(), lasts_ms, took_ms).run_events())
    if accused:
        assert_invalid(outcome, "did not settle: c2 did not answer")
    else:
        assert outcome.verdict is Verdict.UNKNOWN
        assert "the machine gave it too little time" in outcome.note


def test_what_was_committed_before_a_short_end_is_due_as_well() -> None:
    story = clean(lagging="b1", quiet_ms=0)
    moved(story, story.state("b1", 10), story.events[8].time_ns)
    (message,) = messages(story)
    assert "b1 had come to offset 10" in message


def test_only_looks_of_the_last_time_count() -> None:
    story = unreported(clean())
    story.plan = {**story.plan, "nodes": {"c1": NODES["c1"]}}
    story.nemesis = [each for each in story.nemesis if each.f != "settle"]
    for _ in range(2):
        story.mark("settle", {"settled": True, "missing": None, "looks": 1})
    assert_unknown(Convergence(), story, "settles")


def test_what_brokers_tell_of_leaders_is_no_occasion() -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.f != "describe"]
    story.heartbeat(101, 7)
    story.describe("t", shown(1, [101]))
    story.op("metadata", "t", None, {"topic_id": TOPIC, "partitions": [shown(1, [101, 4])]})
    assert clause_of(judged(Convergence(), story), "led").verdict is None
