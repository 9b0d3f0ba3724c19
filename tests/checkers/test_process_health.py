"""Processes run until they are told to stop (D.22)."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_runs import MS, NODES, Story, assert_invalid, assert_valid

from checkers.process_health import ProcessHealth, ProcessHealthOptions, process_health
from framework.evidence.kinds import DISK
from framework.evidence.processes import Booted, Failed, ProcessEnded, Stalled, Ticked
from framework.evidence.run_events import RunEvents
from framework.plugins.capabilities import unmet
from framework.verdict import Verdict
from tests.cases import cases


def stalled(story: Story, node: str = "b1", ms: float = 1_500, delayed_ms: float = 0) -> None:
    story.event(node, "stall", loop="data", ms=ms, delayed_ms=delayed_ms)


def tick(story: Story, *nodes: str) -> None:
    for node in nodes:
        story.event(node, "clock", mono_ns=0, wall_ns=0)


def clean() -> Story:
    """One node ends in an orderly way, one is killed, one is paused, one is restarted."""
    story = Story()
    for node in NODES:
        story.boot(node)
    tick(story, *NODES)
    story.wait(100)
    story.inject(1, fault="kill", victims={"b1": {}})
    story.boot("b1")
    story.wait(5_000)
    story.inject(2, fault="pause", victims={"b2": {}}, lasts_ms=3_000)
    stalled(story, "b2", 2_900)
    stalled(story, "c1", 400)
    story.wait(5_000)
    story.op("bounce", "broker-6", None, {"exit_code": None}, node="b3")
    story.boot("b3")
    ends(story, "c1")
    story.boot("c1")
    tick(story, *NODES)
    story.final()
    return story


def ends(story: Story, node: str, key: str | None = None) -> None:
    """In good order, as it, or what `key` names, was asked to."""
    asked = story.invoke("restart", node if key is None else key)
    story.event(node, "exit", reason="terminated")
    story.complete(asked, "ok", {})


def test_clean_run_is_accepted() -> None:
    outcome = process_health(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures == {"processes": 9, "stalls": 1, "max_stall_ms": 2_900}
    assert set((outcome.clauses or {}).values()) == {(6, 6)}


def test_stalls_are_counted_without_what_a_process_waited_for_a_core() -> None:
    story = clean()
    for ms, delayed_ms in ((1_000, 0), (1_500, 600), (999, 0), (1_234.56, 100), (2_000, 0)):
        stalled(story, ms=ms, delayed_ms=delayed_ms)
    figures = process_health(story.run_events()).figures
    assert figures["stalls"] == 1 + 3, "that of the story as it is, and three"
    story = Story()
    story.boot("b1")
    stalled(story, ms=1_234.56)
    assert process_health(story.run_events()).figures["max_stall_ms"] == 1_234.6


def test_the_usual_limits() -> None:
    usual = ProcessHealthOptions()
    assert (usual.stall, usual.silence, usual.boot) == (1.0, None, 10.0)


@pytest.mark.parametrize("drained", ["before", "long before", "for long", "after"])
def test_an_end_is_explained_by_what_was_done_before_it(drained: str) -> None:
    """Of a process that is followed by one of which nobody tells why the first ended."""
    story = clean()
    story.wait(5_000)
    if drained == "for long":
        story.invoke("drain", "b1", None)
    elif drained != "after":
        story.op("drain", "b1")
    if drained != "before":
        story.wait(5_000)
    story.boot("b1")
    story.wait(5_000)
    if drained == "after":
        story.op("drain", "b1")
    wrong = [each.message for each in process_health(story.run_events()).findings]
    assert any("ended without a word" in each for each in wrong) == (drained == "after")


def test_what_is_on_a_disk_says_nothing_of_when_a_process_lived() -> None:
    story = clean()
    for _ in range(3):
        story.wait(20_000)
        story.tell(Failed, "b2", source=DISK, where="node.log", message="KeyError: 4")
        tick(story, *(set(NODES) - {"b2"}))
    story.nemesis.clear()
    story.final()
    found = process_health(story.run_events()).findings
    assert {each.clause for each in found} == {"unbroken", "never-silent"}


def test_where_nothing_stood_still_the_longest_stall_is_none() -> None:
    story = Story()
    story.boot("b1")
    assert process_health(story.run_events()).figures["max_stall_ms"] == 0


@pytest.mark.parametrize("f", ["drain", "kill", "bounce", "replace", "restart", "start"])
def test_what_ends_processes_on_purpose_excuses_their_end(f: str) -> None:
    """Within a second before or after; of that process alone."""
    for key, ms, is_excused in (
        ("b1", 0, True),
        ("broker-4", 0, True),
        ("broker-5", 0, False),
        (None, 0, False),
        ("b1", 900, True),
        ("b1", 1_100, False),
    ):
        story = Story()
        for node in NODES:
            story.boot(node)
        story.op("create", "b1", None, {})
        story.op(f, key, None, {})
        story.wait(ms)
        story.event("b1", "state", offset=1, digest="d")
        story.boot("b1")
        found = process_health(story.run_events()).findings
        assert bool(found) != is_excused, (key, ms)


@pytest.mark.parametrize("ms", [999, 1_000])
def test_process_that_stands_still_for_a_second_does_so_for_too_long(ms: int) -> None:
    story = clean()
    stalled(story, ms=ms)
    assert len(process_health(story.run_events()).findings) == (ms == 1_000)


def uncertain(events: RunEvents, ms: int, node: str | None = None) -> RunEvents:
    """What nodes told, or one of them, was told at most so much earlier or later."""
    return replace(
        events,
        evidence=[
            replace(each, within_ns=ms * MS) if node in (None, each.node) else each
            for each in events.evidence
        ],
    )


@pytest.mark.parametrize(("silence", "ms", "found"), [(5, 4_990, False), (5, 5_100, True)])
def test_silence_is_an_option(silence: float, ms: int, found: bool) -> None:
    """Longer than its last tick ago by some ms, in which the others tick."""
    story = Story()
    for node in NODES:
        story.boot(node)
    tick(story, *NODES)
    story.wait(ms - len(NODES))
    tick(story, *(set(NODES) - {"c3"}))
    story.nemesis.clear()
    story.final()
    options = ProcessHealthOptions(silence=silence)
    messages = [each.message for each in process_health(story.run_events(), options).findings]
    assert any(each.startswith("c3 fell silent") for each in messages) == found


def fell_silent(events: RunEvents) -> list[str]:
    found = process_health(events, ProcessHealthOptions(silence=5)).findings
    return [each.message.split()[0] for each in found if "fell silent" in each.message]


@pytest.mark.parametrize(("ms", "found"), [(0, True), (40, True), (80, False)])
def test_silence_is_as_long_as_it_must_have_been(ms: int, found: bool) -> None:
    """Of 5.1 s between two things that a node told: either may have been nearer to the other."""
    story = Story()
    for node in NODES:
        story.boot(node)
    tick(story, *NODES)
    story.wait(5_100)
    tick(story, *NODES)
    assert ("c3" in fell_silent(uncertain(story.run_events(), ms, "c3"))) == found


def test_one_silence_that_a_fault_explains_excuses_no_other() -> None:
    story = Story()
    story.boot("b1")
    tick(story, "b1")
    story.inject(1, fault="pause", victims={"b1": {}}, lasts_ms=9_000)
    tick(story, "b1")
    assert fell_silent(story.run_events()) == []
    story.wait(9_000)
    tick(story, "b1")
    assert fell_silent(story.run_events()) == ["b1"]


def test_slowest_tick_counts() -> None:
    story = clean()
    gone_quiet(story)
    events = story.run_events()
    evidence = [
        replace(each, every_ns=(25 if each.node == "c1" else 10) * 10**9)
        if isinstance(each, Ticked)
        else each
        for each in events.evidence
    ]
    assert_valid(process_health(replace(events, evidence=evidence)))


def starved(story: Story, took_ms: int, *nodes: str) -> None:
    """So much of the last minute, and no more, was not given: to these nodes, or by the machine."""
    now_ms = story.now_ns // MS
    spans = [[now_ms - 60_000, now_ms, took_ms]]
    measured = {"nodes": dict.fromkeys(nodes, spans)} if nodes else {"took": spans}
    story.plan = {**story.plan, "machine": measured}


@pytest.mark.parametrize("stalls", [False, True])
@pytest.mark.parametrize(
    ("took_ms", "nodes", "excused"),
    [
        (0, (), False),
        (29_000, (), False),
        (31_000, (), True),
        (31_000, ("b2",), True),
        (60_000, ("c1",), False),
    ],
)
def test_silence_is_excused_by_what_its_own_node_was_not_given(
    took_ms: int, nodes: tuple[str, ...], excused: bool, stalls: bool
) -> None:
    """For a minute. That another one of the machine stands still meanwhile says nothing of it."""
    story = clean()
    for _ in range(3):
        tick(story, *(set(NODES) - {"b2"}))
        story.wait(20_000)
        if stalls:
            stalled(story, "c1", 19_900)
    starved(story, took_ms, *nodes)
    tick(story, *NODES)
    messages = [each.message for each in process_health(story.run_events()).findings]
    assert any(each.startswith("b2 fell silent") for each in messages) != excused


def not_booted(story: Story) -> list[str]:
    found = process_health(story.run_events()).findings
    return [each.message.partition(" ")[0] for each in found if "did not boot" in each.message]


@pytest.mark.parametrize(
    ("fields", "nodes"),
    [
        ({"fault": "kill", "victims": {"b1": {}, "c3": {}}}, ["b1", "c3"]),
        ({"fault": "kill", "victims": {"b2": {}}}, ["b2"]),
        ({"fault": "kill", "victims": {"b1": {}}, "healed_ns": None}, []),
        ({"fault": "pause", "victims": {"b1": {}}}, []),
        ({"fault": "kill", "victims": None}, []),
    ],
)
def test_nodes_that_were_killed_and_started_again_boot(
    fields: dict[str, Any], nodes: list[str]
) -> None:
    story = clean()
    story.inject(3, **fields)
    story.wait(12_000)
    story.event("b3", "state", offset=1, digest="d")
    assert not_booted(story) == nodes


def test_nodes_that_live_after_all_or_have_hardly_begun_are_waited_for() -> None:
    """One was not hit, and tells; one booted while the fault held; one was killed again just
    now."""
    story = clean()
    victims = {node: {} for node in ("b1", "b2", "c2", "c3")}
    story.inject(3, fault="kill", victims=victims, lasts_ms=2_000)
    begin_ns = story.now_ns
    story.now_ns = begin_ns - 1_000 * MS
    story.boot("b2")
    story.now_ns = begin_ns
    story.event("b1", "state", offset=1, digest="d")
    story.wait(5_000)
    story.inject(4, fault="kill", victims={"c2": {}})
    story.wait(7_000)
    story.event("b3", "state", offset=1, digest="d")
    assert not_booted(story) == ["c3"]


def killed_twice(*, between_ms: int, **other: Any) -> Story:
    """b1, which tells nothing of its process between; and in the end it boots."""
    story = clean()
    story.inject(3, fault="kill", victims={"b1": {}}, lasts_ms=2_000)
    begin_ns = story.now_ns
    if other:
        story.inject(9, lasts_ms=between_ms - 1_000, **other)
    story.now_ns = begin_ns
    story.wait(between_ms)
    story.inject(4, fault="kill", victims={"b1": {}}, lasts_ms=2_000)
    story.boot("b1")
    story.wait(12_000)
    tick(story, *NODES)
    return story


def test_who_is_killed_anew_has_booted_by_then() -> None:
    """A process that lives for long between two kills tells something; not one that hardly lived,
    or was held all the while."""
    assert not_booted(killed_twice(between_ms=12_000)) == ["b1"]
    assert not_booted(killed_twice(between_ms=9_000)) == []
    held = killed_twice(between_ms=15_000, fault="pause", victims={"b1": {}})
    assert not_booted(held) == []
    other = killed_twice(between_ms=15_000, fault="pause", victims={"b2": {}})
    assert not_booted(other) == ["b1"]


@pytest.mark.parametrize(("ms", "nodes"), [(0, ["b1"]), (1_000, ["b1"]), (3_000, [])])
def test_the_end_by_which_nodes_have_booted_is_no_later_than_what_was_told_last(
    ms: int, nodes: list[str]
) -> None:
    """12 s after its start, and told some time before or after that."""
    story = clean()
    story.inject(3, fault="kill", victims={"b1": {}}, lasts_ms=2_000)
    story.wait(12_000)
    story.event("b3", "state", offset=1, digest="d")
    events = story.run_events()
    last = replace(events.evidence[-1], within_ns=ms * MS)
    assert last.node == "b3"
    found = process_health(replace(events, evidence=[*events.evidence[:-1], last])).findings
    assert [each.message.split()[0] for each in found if "did not boot" in each.message] == nodes


def kills(*gaps_ms: int) -> Story:
    """b1, which never boots again, so long after each of its starts; then the run goes on for as
    long as it takes to boot."""
    story = clean()
    for number, gap_ms in enumerate(gaps_ms):
        story.inject(3 + number, fault="kill", victims={"b1": {}}, lasts_ms=2_000)
        story.wait(gap_ms)
    story.event("b3", "state", offset=1, digest="d")
    return story


def test_each_start_after_a_kill_is_judged() -> None:
    """Whatever the one before it shows."""
    assert not_booted(kills(9_000, 12_000)) == ["b1"]
    assert not_booted(kills(12_000, 9_000)) == ["b1"]
    assert not_booted(kills(12_000, 12_000)) == ["b1", "b1"]


def test_who_had_told_nothing_yet_was_not_there_to_come_back() -> None:
    story = Story()
    tick(story, *(set(NODES) - {"b1"}))
    for number in (1, 2):
        story.inject(number, fault="kill", victims={"b1": {}}, lasts_ms=2_000)
        story.wait(12_000)
    story.boot("b1")
    tick(story, *NODES)
    assert not_booted(story) == []


def test_faults_come_in_any_order() -> None:
    for gaps_ms in ((9_000, 9_000), (12_000, 9_000)):
        events = kills(*gaps_ms).run_events()
        turned = replace(events, faults=list(reversed(events.faults)))
        assert process_health(turned).findings == process_health(events).findings


@pytest.mark.parametrize(("within_ms", "nodes"), [(0, ["b1"]), (50, ["b1"]), (300, [])])
def test_who_may_have_booted_before_it_was_killed_anew_lived(
    within_ms: int, nodes: list[str]
) -> None:
    """By its own clock, 100 ms after it had been killed."""
    events = killed_twice(between_ms=12_000).run_events()
    anew_ns = max(each.since_ns for each in events.faults)
    evidence = [
        replace(each, at_ns=anew_ns + 100 * MS, within_ns=within_ms * MS)
        if isinstance(each, Booted) and each.node == "b1" and each.at_ns > anew_ns
        else each
        for each in events.evidence
    ]
    found = process_health(replace(events, evidence=evidence)).findings
    assert [each.message.split()[0] for each in found if "did not boot" in each.message] == nodes


def test_who_told_anything_between_two_kills_lived() -> None:
    story = clean()
    story.inject(3, fault="kill", victims={"b1": {}}, lasts_ms=2_000)
    story.wait(3_000)
    story.event("b1", "state", offset=1, digest="d")
    story.wait(12_000)
    story.inject(4, fault="kill", victims={"b1": {}}, lasts_ms=2_000)
    story.boot("b1")
    story.wait(12_000)
    tick(story, *NODES)
    assert not_booted(story) == []


def test_what_a_node_told_while_it_was_being_killed_is_no_boot() -> None:
    story = clean()
    story.wait(1_000)
    story.event("b1", "state", offset=1, digest="d")
    told = story.events[-1]
    story.inject(3, fault="kill", victims={"b1": {}}, lasts_ms=2_000, injected_ns=told.time_ns - MS)
    story.wait(12_000)
    story.event("b3", "state", offset=1, digest="d")
    assert not_booted(story) == ["b1"]


def test_process_that_does_not_tell_how_it_began() -> None:
    """Nothing that is of no process excuses its end."""
    story = Story()
    story.event("b1", "state", offset=1, digest="d")
    story.op("drain", None, None, {})
    story.boot("b1")
    assert_invalid(process_health(story.run_events()), "b1 ended without a word")


@pytest.mark.parametrize("sign", ["lease", "watermark"])
def test_broker_that_has_a_lease_or_reads_the_log_lives(sign: str) -> None:
    """A process that tells of nothing else for long."""
    story = clean()
    story.nemesis.clear()
    for _ in range(3):
        story.wait(20_000)
        tick(story, *(set(NODES) - {"b2"}))
        story.lease("b2", 1_000) if sign == "lease" else story.hw("b2", 1, 1, "follower")
    story.final()
    assert_valid(ProcessHealth().check_run(story.run_events()))


@pytest.mark.parametrize(("ms", "is_silent"), [(29_000, False), (31_000, True)])
def test_process_that_ended_in_good_order_is_not_silent_and_one_that_lives_is(
    ms: int, is_silent: bool
) -> None:
    for node, ends in (("b2", False), ("c1", True)):
        story = Story()
        for each in NODES:
            story.boot(each)
        tick(story, *NODES)
        if ends:
            story.event(node, "exit", reason="terminated")
        story.wait(ms)
        tick(story, *(set(NODES) - {node}))
        story.final()
        messages = [each.message for each in process_health(story.run_events()).findings]
        about = [each for each in messages if each.startswith(f"{node} fell silent")]
        assert bool(about) == (is_silent and not ends)


@pytest.mark.parametrize("when", ["final", "no final", "before", "killed", "asked", "others"])
def test_who_ends_in_good_order_was_asked_to(when: str) -> None:
    """As all are in the end; of a run that came to none nothing is known."""
    story = clean()
    if when != "final":
        story.nemesis.clear()
    if when == "killed":
        story.inject(3, fault="kill", victims={"b2": {}})
    if when == "before":
        story.now_ns = -2_000 * MS
    story.plan = {**story.plan, "nodes": {**NODES}}
    if when == "others":
        del story.plan["nodes"]["b2"]
    ends(story, "b2", key="b2" if when == "asked" else "b1")
    if when not in ("final", "no final"):
        story.now_ns = max(story.now_ns, 12_000 * MS)
        story.final()
    found = process_health(story.run_events()).findings
    assert [each.message for each in found if "ended by itself" in each.message] == []


def by_themselves(events: RunEvents) -> list[str]:
    """Whose processes are found to have ended so, once for each."""
    found = [each.message for each in process_health(events).findings]
    return [each.split()[0] for each in found if "ended by itself" in each]


@pytest.mark.parametrize(("key", "found"), [("7", []), ("8", ["b2"])])
def test_an_operation_may_name_a_process_by_its_key(key: str, found: list[str]) -> None:
    story = clean()
    story.nemesis.clear()
    ends(story, "b2", key="7")
    story.final()
    events = story.run_events()
    told = [
        replace(each, key=key) if isinstance(each, Booted) and each.node == "b2" else each
        for each in events.evidence
    ]
    assert by_themselves(replace(events, evidence=told)) == found


def test_a_fault_that_ends_no_process_excuses_no_end() -> None:
    for fault, found in (("pause", ["b2"]), ("kill", [])):
        story = clean()
        story.nemesis.clear()
        ends(story, "b2", key="b1")
        at = story.now_ns - 50 * MS
        victims: dict[str, Any] = {"b2": {}}
        story.inject(3, fault=fault, victims=victims, lasts_ms=100, injected_ns=at)
        story.final()
        assert by_themselves(story.run_events()) == found


def test_a_later_process_that_ends_by_itself_is_found_whatever_became_of_the_first() -> None:
    story = clean()
    story.nemesis.clear()
    story.inject(3, fault="kill", victims={"b2": {}})
    story.boot("b2")
    story.wait(3_000)
    ends(story, "b2", key="b1")
    story.final()
    assert by_themselves(story.run_events()) == ["b2"]


def test_who_gave_up_did_not_end_in_good_order() -> None:
    story = clean()
    story.nemesis.clear()
    story.event("b2", "exit", reason="fatal: epoch 3 has two leaders")
    story.final()
    assert by_themselves(story.run_events()) == []


def test_no_process_is_unknown() -> None:
    assert process_health(Story().run_events()).verdict is Verdict.UNKNOWN


def gone_quiet(story: Story) -> None:
    """One node, before the final phase; the others tick."""
    for _ in range(3):
        story.wait(20_000)
        tick(story, *(set(NODES) - {"b2"}))
    story.nemesis.clear()
    story.final()


def all_silent(story: Story) -> None:
    """Then the harness settles the cluster for a minute, and nobody says a word."""
    story.wait(60_000)
    story.final()


def silent_between(story: Story) -> None:
    """It comes back as if nothing had been."""
    for _ in range(3):
        story.wait(20_000)
        tick(story, *(set(NODES) - {"b2"}))
    tick(story, *NODES)


def silent_though_paused_before(story: Story) -> None:
    story.inject(3, fault="pause", victims={"c3": {}}, lasts_ms=5_000)
    silent_between(story)
    story.inject(4, fault="pause", victims={"b2": {}}, lasts_ms=5_000)
    tick(story, *NODES)


def silent_before_its_kill(story: Story, ms: float = 20_000) -> None:
    """For three times as long, and a moment more; then it starts anew, and ticks."""
    for _ in range(3):
        story.wait(ms)
        tick(story, *(set(NODES) - {"b2"}))
    story.inject(3, fault="kill", victims={"b2": {}}, lasts_ms=20_000)
    story.boot("b2")
    tick(story, *NODES)


def silent_before_it_is_bounced(story: Story) -> None:
    story.wait(2_000)
    tick(story, *NODES)
    for _ in range(3):
        story.wait(20_000)
        tick(story, *(set(NODES) - {"b3"}))
    story.op("bounce", "broker-6", None, {"exit_code": None}, node="b3")
    story.boot("b3")
    tick(story, *NODES)


def stalls_apart(story: Story) -> None:
    """Another one's stall lies within, and is short."""
    stalled(story, "b1", 400)
    story.wait(3_000)
    stalled(story, "c2", 4_000)


def stall_of_two(story: Story) -> None:
    """Each waits for the other, as in a deadlock, and both for as long."""
    stalled(story, "b1", 2_000)
    stalled(story, "b2", 2_000)


def silence_of_two(story: Story) -> None:
    """Both tell after a minute that they have stood still for most of it."""
    for _ in range(3):
        story.wait(20_000)
        tick(story, *(set(NODES) - {"b1", "b2"}))
    stalled(story, "b1", 45_000)
    stalled(story, "b2", 45_000)


def start_beside_stalls(story: Story) -> None:
    """It waits for others, who stand still for most of the time in which it was to boot."""
    story.inject(3, fault="kill", victims={"b1": {}})
    story.wait(12_000)
    stalled(story, "c1", 5_000)
    stalled(story, "c2", 5_000)


def stalls_while_another_is_paused(story: Story) -> None:
    story.inject(3, fault="pause", victims={"c3": {}}, lasts_ms=3_000)
    stalled(story, "c3", 2_900)
    stalled(story, "b1", 1_500)


def ended(story: Story, exit_code: int | None) -> None:
    """As the harness saw it."""
    story.tell(ProcessEnded, "b1", source="harness", process=1, exit_code=exit_code)


def unreported() -> Story:
    """A run whose nodes report nothing of themselves: two were killed, all are asked to end."""
    story = silent(clean())
    story.plan = {**story.plan, "capabilities": ["kafka-topics", "disk:failed"]}
    for node in NODES:
        story.tell(ProcessEnded, node, source="harness", process=None, exit_code=143)
    ended(story, -9)
    return story


def ends_by_itself(story: Story) -> None:
    """Nobody had asked this one to, nor is it started again."""
    story.nemesis.clear()
    ends(story, "b2", key="b1")
    story.final()


def ends_by_itself_and_is_killed_later(story: Story) -> None:
    story.nemesis.clear()
    ends(story, "b2", key="b1")
    story.wait(2_000)
    story.inject(3, fault="kill", victims={"b2": {}})
    story.boot("b2")
    tick(story, *NODES)
    story.final()


PLANTED = Plants.of(
    clean,
    {
        "b2 ended by itself, 13 s after the run began: terminated": ends_by_itself,
        "b2 ended by itself": ends_by_itself_and_is_killed_later,
        "nothing handled an error in fetcher: KeyError": lambda story: story.event(
            "b1", "error", where="fetcher", message="KeyError: 3"
        ),
        "b1 gave up: fatal: epoch 3 has two leaders": lambda story: story.event(
            "b1", "exit", reason="fatal: epoch 3 has two leaders"
        ),
        "b1's data loop stood still for 1500 ms": stalled,
        "b1's data loop stood still for 3000 ms": lambda story: stalled(
            story, ms=3_000, delayed_ms=1_900
        ),
        "nothing handled an error in node.log: KeyError: 4": lambda story: story.tell(
            Failed, "b1", source=DISK, where="node.log", message="KeyError: 4"
        ),
        "a process of b1 ended with exit code 1": lambda story: ended(story, 1),
        "a process of b1 ended by signal 11": lambda story: ended(story, -11),
        "a process of b1 ended by signal 1": lambda story: ended(story, -1),
        "a process of b1 ended without a word": lambda story: (
            story.wait(5_000),
            story.event("b1", "state", offset=1, digest="d"),
            story.boot("b1"),
        ),
        "b2 fell silent": gone_quiet,
        "silence of all": ("c3 fell silent", all_silent),
        "silence within a life": ("b2 fell silent", silent_between),
        "silence before a kill": ("b2 fell silent", silent_before_its_kill),
        "silence before a bounce": ("b3 fell silent", silent_before_it_is_bounced),
        "silence between pauses": ("b2 fell silent", silent_though_paused_before),
        "c2's data loop stood still for 4000 ms": stalls_apart,
        "b2's data loop stood still for 2000 ms": stall_of_two,
        "silence of two": ("b1 fell silent", silence_of_two),
        "start beside stalls": (
            "b1 was killed and started again 12 s before the end, and did not boot",
            start_beside_stalls,
        ),
        "stall beside a paused node": (
            "b1's data loop stood still for 1500 ms",
            stalls_while_another_is_paused,
        ),
        "silence from a kill to the next": (
            "b1 was killed and started again 12 s before it was killed anew, and did not boot",
            lambda story: (
                story.inject(3, fault="kill", victims={"b1": {}}, lasts_ms=2_000),
                story.wait(12_000),
                story.inject(4, fault="kill", victims={"b1": {}}, lasts_ms=2_000),
                story.boot("b1"),
            ),
        ),
        "b1 was killed and started again 12 s before the end, and did not boot": lambda story: (
            story.inject(3, fault="kill", victims={"b1": {}}),
            story.wait(12_000),
            story.event("b2", "state", offset=1, digest="d"),
        ),
    },
)
PLANTED |= Plants.of(
    clean,
    {
        "exit code without events": (
            "a process of b1 ended with exit code 139",
            lambda story: ended(story, 139),
        ),
        "last words without events": (
            "nothing handled an error in kafka.Kafka$: Exiting Kafka.",
            lambda story: story.tell(
                Failed, "b2", source=DISK, where="kafka.Kafka$", message="Exiting Kafka."
            ),
        ),
    },
    on=lambda: silent(clean()),
)
PLANTED |= Plants.of(
    clean,
    {
        "a pause that a disk tells of": (
            "b1's Java (GenCollectFull) stood still for 1500 ms",
            lambda story: (story.wait(3_000), paused(story, "b1", 1_500), story.final()),
        ),
        "a pause that a disk tells of, of another node than the paused one": (
            "c1's Java (GenCollectFull) stood still for 2900 ms",
            lambda story: (
                story.wait(3_000),
                story.inject(4, fault="pause", victims={"b2": {}}, lasts_ms=3_000),
                paused(story, "c1", 2_900),
                paused(story, "b2", 2_900),
                story.final(),
            ),
        ),
    },
    on=lambda: pausing(),
)


def test_nodes_that_report_nothing_are_judged_by_their_logs_and_exit_codes() -> None:
    result = judged(ProcessHealth(), unreported())
    assert result.verdict is Verdict.VALID, (result.note, result.findings)
    unbroken = clause_of(result, "unbroken")
    assert (unbroken.verdict, unbroken.compared, unbroken.floor) == (Verdict.VALID, 6, 6)
    reasons = {each.name: each.note for each in result.clauses if each.verdict is None}
    assert reasons == {
        "explained-ends": "by its plan the system gives no evidence of booted",
        "never-silent": "by its plan the system gives no evidence of ticked",
        "never-still": "by its plan the system gives no evidence of ticked",
    }


def test_node_of_whose_end_nothing_is_known_is_unknown() -> None:
    story = unreported()
    story.evidence = [each for each in story.evidence if each.node != "c2"]
    result = judged(ProcessHealth(), story)
    assert result.verdict is Verdict.UNKNOWN
    assert result.note.startswith("unbroken: 5 nodes of the plan")


def test_it_applies_where_either_logs_are_read_or_nodes_report() -> None:
    needs = ProcessHealth.requires
    assert unmet(needs, {"disk:failed"}) is None and unmet(needs, {"evidence:booted"}) is None
    assert unmet(needs, {"evidence:failed"}) is not None


@pytest.mark.parametrize("exit_code", [None, 0, -2, 130, -9, -15, 143])
def test_process_that_was_ended_did_not_break(exit_code: int | None) -> None:
    story = clean()
    ended(story, exit_code)
    assert_valid(process_health(story.run_events()))


@pytest.mark.parametrize(
    ("left_out", "clauses"),
    [
        ((), [each.name for each in ProcessHealth.clauses]),
        (("clock",), ["never-silent", "never-still"]),
    ],
)
def test_node_that_leaves_events_out_is_unknown(
    left_out: tuple[str, ...], clauses: list[str]
) -> None:
    story = silent(clean(), *left_out, node="b3")
    assert_unknown(ProcessHealth(), story, *clauses)


@pytest.mark.parametrize(
    ("nodes", "stalls", "excused"),
    [((), False, True), (("b1",), False, True), (("c1",), False, False), (("c1",), True, False)],
)
def test_what_starves_a_node_starves_its_start(
    nodes: tuple[str, ...], stalls: bool, excused: bool
) -> None:
    """It was to boot, for 12 s, and was not given three of them; or another one was not."""
    story = clean()
    story.inject(3, fault="kill", victims={"b1": {}})
    story.wait(12_000)
    starved(story, 15_000, *nodes)
    if stalls:
        stalled(story, "c1", 900)
        stalled(story, "c2", 5_000)
        stalled(story, "c3", 5_000)
    story.event("b2", "state", offset=1, digest="d")
    assert not_booted(story) == ([] if excused else ["b1"])


def test_pause_and_partition_end_no_process() -> None:
    for fault in ("pause", "partition"):
        story = clean()
        story.wait(5_000)
        story.inject(3, fault=fault, victims={"b1": {}})
        story.boot("b1")
        assert_invalid(process_health(story.run_events()), "b1 ended without a word")


def still(story: Story) -> list[str]:
    found = process_health(story.run_events()).findings
    return sorted(each.message[:2] for each in found if "stood still" in each.message)


@pytest.mark.parametrize("hosts", ["namespaces", "ssh"])
def test_nodes_that_stand_still_together_are_at_fault_together(hosts: str) -> None:
    """They may wait for each other, on one machine or on two."""
    story = clean()
    story.plan = {**story.plan, "hosts": hosts, "clocks": {node: {"shared": 1} for node in NODES}}
    stalled(story, "b1")
    stalled(story, "c1")
    assert still(story) == ["b1", "c1"]


@pytest.mark.parametrize(
    ("took_ms", "nodes", "accused"),
    [
        (0, (), ["b1", "c1"]),
        (19_000, (), ["b1", "c1"]),
        (21_000, (), []),
        (21_000, ("b1",), ["c1"]),
        (60_000, ("b1", "c1"), []),
        (60_000, ("b2",), ["b1", "c1"]),
    ],
)
def test_machine_without_time_is_no_nodes_fault(
    took_ms: int, nodes: tuple[str, ...], accused: list[str]
) -> None:
    """Two that stood still for 1.5 s, of a minute of which a third was not given."""
    story = clean()
    stalled(story, "b1")
    stalled(story, "c1")
    starved(story, took_ms, *nodes)
    assert still(story) == accused


@pytest.mark.parametrize("what", ["disk", "memory"])
@pytest.mark.parametrize(("waited_ms", "accused"), [(0, ["b1"]), (19_000, ["b1"]), (21_000, [])])
def test_who_waits_for_a_disk_did_not_stand_still(
    what: str, waited_ms: int, accused: list[str]
) -> None:
    """Or for memory: for 1.5 s of a minute, of a third of which somebody waited for it."""
    story = clean()
    stalled(story, "b1")
    now_ms = story.now_ns // MS
    machine = {"took": [], what: [[now_ms - 60_000, now_ms, waited_ms]]}
    story.plan = {**story.plan, "machine": machine}
    assert still(story) == accused


@pytest.mark.parametrize("what", ["disk", "memory"])
def test_who_falls_silent_does_not_wait_for_a_disk(what: str) -> None:
    story = clean()
    for _ in range(3):
        tick(story, *(set(NODES) - {"b2"}))
        story.wait(20_000)
    story.plan = {**story.plan, "machine": {what: [[0, story.now_ns // MS, story.now_ns // MS]]}}
    tick(story, *NODES)
    assert_invalid(process_health(story.run_events()), "b2 fell silent")


def test_what_waited_for_a_core_did_not_stand_still() -> None:
    story = clean()
    stalled(story, ms=3_000, delayed_ms=2_100)
    assert_valid(process_health(story.run_events()))


def test_who_is_killed_soon_after_its_last_word_was_not_silent() -> None:
    """29 s after it; that it lay dead for 20 s more is the fault's doing."""
    story = clean()
    silent_before_its_kill(story, 29_000 / 3)
    story.final()
    assert_valid(process_health(story.run_events()))


@pytest.mark.parametrize("fault", ["pause", "partition"])
def test_silence_under_a_fault_is_none(fault: str) -> None:
    """Of all: nothing was told of them."""
    story = clean()
    story.inject(3, fault=fault, victims=dict.fromkeys(NODES), lasts_ms=50_000)
    story.wait(25_000)
    tick(story, *NODES)
    story.final()
    assert_valid(process_health(story.run_events()))


def test_nobody_falls_silent_where_no_node_ticks_whatever_the_limit() -> None:
    story = Story()
    story.boot("b1")
    story.wait(60_000)
    story.final()
    found = process_health(story.run_events(), ProcessHealthOptions(silence=1)).findings
    assert not [each for each in found if "fell silent" in each.message]


@pytest.mark.parametrize("drained", ["b2", "broker-5", None])
def test_who_is_told_to_leave_may_fall_silent(drained: str | None) -> None:
    """And be started again long after."""
    story = clean()
    tick(story, *NODES)
    if drained is not None:
        story.op("drain", drained)
    for _ in range(3):
        story.wait(20_000)
        tick(story, *(set(NODES) - {"b2"}))
    tick(story, *NODES)
    messages = [each.message for each in process_health(story.run_events()).findings]
    assert any("b2 fell silent" in each for each in messages) == (drained is None)


def test_silence_of_nodes_that_never_tick_is_none() -> None:
    story = Story()
    for node in NODES:
        story.boot(node)
    story.wait(100_000)
    story.final()
    assert_valid(process_health(story.run_events()))


@pytest.mark.parametrize(("every_s", "accused"), [(10, True), (25, False), (None, False)])
def test_how_often_a_node_ticks_is_the_systems_to_say(every_s: int | None, accused: bool) -> None:
    story = clean()
    gone_quiet(story)
    events = story.run_events()
    every_ns = None if every_s is None else every_s * 10**9
    evidence = [
        replace(each, every_ns=every_ns) if isinstance(each, Ticked) else each
        for each in events.evidence
    ]
    outcome = process_health(replace(events, evidence=evidence))
    assert (outcome.verdict is Verdict.INVALID) == accused, outcome.findings


def test_node_of_the_plan_that_never_reported_of_itself_is_unknown() -> None:
    story = clean()
    story.events = [each for each in story.events if each.node not in ("b2", "c3")]
    outcome = process_health(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.note == "no process of b2, c3 told of itself"


def test_extra_broker_is_known_by_its_broker_id() -> None:
    """A process that is none of the plan's, ended by an operation on its id."""
    story = clean()
    fields = {"replica_id": 301, "broker_id": 301, "voters": [1]}
    story.event("g301a", "boot", **fields)
    story.op("restart", "broker-301", None, {})
    story.event("g301a", "boot", **fields)
    assert_valid(process_health(story.run_events()))
    story.wait(5_000)
    story.event("g301a", "state", offset=1, digest="d")
    story.event("g301a", "boot", **fields)
    assert_invalid(process_health(story.run_events()), "g301a ended without a word")


@settings(max_examples=cases(80), deadline=None)
@given(st.integers(0, 2**32))
def test_ends_agree_with_brute_force(seed: int) -> None:
    """Processes of one node end in an orderly way, killed or for no reason."""
    draw = random.Random(seed)
    story = Story(plan={})
    wrong = 0
    story.boot("b1")
    for number in range(draw.randint(1, 6)):
        story.wait(5_000)
        story.event("b1", "state", offset=number, digest="d")
        match draw.randrange(3):
            case 0:
                story.event("b1", "exit", reason="terminated")
            case 1:
                story.inject(number, fault="kill", victims={"b1": {}})
            case 2:
                wrong += 1
        story.boot("b1")
    assert len(process_health(story.run_events()).findings) == wrong


# --- pauses that are written down ---------------------------------------------------------


def paused(
    story: Story, node: str = "b1", ms: float = 1_500, at_ns: int | None = None, within_ns: int = 0
) -> None:
    """As a Java writes it down when it is over."""
    story.tell(
        Stalled,
        node,
        source=DISK,
        at_ns=story.now_ns if at_ns is None else at_ns,
        within_ns=within_ns,
        part="Java (GenCollectFull)",
        lasted_ns=round(ms * MS),
    )


def pausing() -> Story:
    """A run of such nodes: one was paused by a fault, which its own log shows, too."""
    story = unreported()
    story.plan = {**story.plan, "capabilities": ["kafka-topics", "disk:failed", "disk:stalled"]}
    story.nemesis.clear()
    for node in NODES:
        paused(story, node, ms=30)
    story.wait(4_000)
    story.inject(3, fault="pause", victims={"b2": {}}, lasts_ms=3_000)
    story.wait(200)
    paused(story, "b2", ms=3_100)
    story.wait(4_000)
    story.final()
    return story


def test_pauses_that_are_written_down_are_judged_where_nothing_else_is_told() -> None:
    result = judged(ProcessHealth(), pausing())
    assert result.verdict is Verdict.VALID, (result.note, result.findings)
    still = clause_of(result, "never-still")
    assert (still.verdict, still.compared, still.floor) == (Verdict.VALID, 6, 6)
    assert {each.name for each in result.clauses if each.verdict is None} == {
        "explained-ends",
        "never-silent",
    }
    assert result.figures["max_stall_ms"] == 3_100


def test_a_pause_that_nothing_explains_is_the_nodes_own() -> None:
    """Also beside one of another node's that a fault explains."""
    story = pausing()
    story.wait(2_000)
    paused(story, "b1", 1_500)
    story.final()
    (found,) = process_health(story.run_events()).findings
    assert found.message == "b1's Java (GenCollectFull) stood still for 1500 ms"
    assert found.clause == "never-still"


@pytest.mark.parametrize(
    ("end_ms", "ms", "accused"),
    [(900, 5_000, False), (1_100, 5_000, True), (-3_000, 2_000, False), (2_000, 999, False)],
)
def test_of_a_pause_that_began_before_the_run_the_rest_counts(
    end_ms: int, ms: int, accused: bool
) -> None:
    """Nodes start when nobody measures yet what the machine gives them."""
    story = pausing()
    paused(story, "c1", ms, at_ns=end_ms * MS)
    assert bool(process_health(story.run_events()).findings) == accused


@pytest.mark.parametrize(("begun_ms", "accused"), [(900, False), (1_000, True)])
def test_of_a_pause_that_goes_on_after_the_run_what_was_before_counts(
    begun_ms: int, accused: bool
) -> None:
    """By then they are being stopped, and nobody measures any more."""
    story = pausing()
    over_ns = max(each.time_ns for each in story.nemesis)
    paused(story, "c1", 6_000, at_ns=over_ns + (6_000 - begun_ms) * MS)
    assert bool(process_health(story.run_events()).findings) == accused


@pytest.mark.parametrize(("within_ms", "accused"), [(0, True), (3_000, False)])
def test_a_pause_that_may_have_been_a_faults_is_no_finding(within_ms: int, accused: bool) -> None:
    """By a clock that may be off by so much."""
    story = pausing()
    story.wait(1_000)
    paused(story, "b2", 1_500, within_ns=within_ms * MS)
    story.final()
    assert bool(process_health(story.run_events()).findings) == accused


@pytest.mark.parametrize(("took_ms", "accused"), [(0, True), (20_000, True), (50_000, False)])
def test_a_pause_counts_as_far_as_the_node_was_given_a_core(took_ms: int, accused: bool) -> None:
    story = pausing()
    story.wait(50_000)
    paused(story, "b1", 3_000)
    starved(story, took_ms, "b1")
    story.final()
    assert bool(process_health(story.run_events()).findings) == accused


@pytest.mark.parametrize(("share", "accused"), [(0.0, True), (0.1, True), (0.95, False)])
def test_a_broker_that_clients_start_may_want_for_the_machine(share: float, accused: bool) -> None:
    """Though none of its threads waited for a core: the one that did held what it waited for."""
    story = clean()
    story.plan = {**story.plan, "hosts": "docker", "clocks": {n: {"shared": True} for n in NODES}}
    stalled(story, "g301a", 2_000)
    long_ms = 2 * story.now_ns // MS
    took = [[0, long_ms, round(share * long_ms)]]
    story.plan = {**story.plan, "machine": {"cores": 2, "took": took}}
    events = story.run_events()  # the clock of its host is known, beside whose files its own are
    known = [replace(each, within_ns=0) for each in events.evidence]
    found = process_health(replace(events, evidence=known)).findings
    assert [each.message[:5] for each in found] == ["g301a"] * accused


def elsewhere(story: Story, *here: str) -> Story:
    """All nodes but these are on machines of their own."""
    read = [{"offset_ns": 0, "within_ns": 0}]
    clocks = {node: {"shared": node in here, "samples": read} for node in NODES}
    story.plan = {**story.plan, "hosts": "ssh", "clocks": clocks}
    return story


@pytest.mark.parametrize(("here", "accused"), [((), False), (("b2",), False), (("b1",), True)])
def test_a_pause_on_another_machine_may_be_that_machines(
    here: Sequence[str], accused: bool
) -> None:
    """Nobody measures what it gives: a busy one stopped a Java for a second, by its own log."""
    story = elsewhere(pausing(), *here)
    story.wait(2_000)
    paused(story, "b1", 1_500)
    story.final()
    result = judged(ProcessHealth(), story)
    assert bool(result.findings) == accused
    still = clause_of(result, "never-still")
    assert (still.compared, still.floor) == ((1, 2) if here else (0, 2))
    assert bool(still.note.count("other machines")) == (not here)


def test_nodes_that_tell_of_their_own_stalls_do_so_on_any_machine() -> None:
    story = elsewhere(clean())
    stalled(story, "b3", 20)
    assert clause_of(judged(ProcessHealth(), story), "never-still").compared == 6
    stalled(story, "b3", 2_000)
    assert judged(ProcessHealth(), story).findings


def test_a_node_that_left_no_pauses_is_unknown() -> None:
    """Every Java has some: it wrote nothing down, or that is lost."""
    story = pausing()
    story.evidence = [
        each for each in story.evidence if not (isinstance(each, Stalled) and each.node == "c3")
    ]
    assert_unknown(ProcessHealth(), story, "never-still")


def test_a_pause_on_disk_is_no_sign_of_life_of_nodes_that_tell() -> None:
    """Nor does it say that they watch their parts."""
    story = clean()
    paused(story, "b2", 20)
    before, after = (process_health(each.run_events()) for each in (clean(), story))
    assert before.clauses == after.clauses and not after.findings
    story = silent(clean(), "clock", node="b3")
    stalled(story, "b3", 20)
    assert_unknown(ProcessHealth(), story, "never-still")


def test_a_pause_of_a_process_that_a_workload_started_is_not_judged() -> None:
    """Nobody measures how long such a one waits for a core."""
    story = pausing()
    story.wait(2_000)
    paused(story, "g301a", 5_000)
    story.final()
    assert_valid(process_health(story.run_events()))
