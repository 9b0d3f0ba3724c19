"""Brokers of nodes that were gone for long (`folds/fencing/silent_brokers.py`)."""

from dataclasses import dataclass
from typing import Any

import pytest
from planted_logs import LogStory
from planted_runs import MS, NODES, OTHER, TOPIC

from checkers.folds.fencing.silent_brokers import unfenced
from checkers.folds.metadata_log.committed_log import committed_log
from framework.evidence.changes import Change
from framework.plugins.checker import Count, Finding
from framework.plugins.system import RECOVERY_S

S = 1_000 * MS


@dataclass
class Dead(LogStory):
    """Broker 4, which is b1, is killed; the system may take 10 s for anything."""

    readers: tuple[str, ...] = ("c1",)
    killed_ns: int = 0

    def at(self, s: float) -> None:
        """What follows is applied so long after the kill."""
        self.now_ns = self.killed_ns + round(s * S) - MS

    def judged(self, lasted_s: float = 12, **kill: Any) -> tuple[Count, list[Finding]]:
        """The ledger is written, and all of it judged."""
        end = self.killed_ns + round(lasted_s * S)
        fields = {"victims": {"b1": {}}, "injected_ns": self.killed_ns, "healed_ns": end, **kill}
        self.inject(len(self.faults) + 1, fault="kill", **fields)
        events = self.run_events()
        return unfenced(events, committed_log(events.of(Change)))


def dead() -> Dead:
    """It leads t/0, which broker 5 has, too; nobody has noticed yet."""
    story = Dead(plan={"nodes": NODES, "time_zero_ns": 5 * S, "recovery_s": 10})
    story.brokers(4, 5)
    story.topic()
    story.new_partition([4, 5])
    story.killed_ns = story.now_ns
    return story


def noticed(after_s: float = 5, reported_s: float = 11) -> Dead:
    story = dead()
    story.at(after_s)
    story.isr([5], 5)
    story.at(after_s)
    story.fence(4)
    story.at(reported_s)
    story.record("NoOpRecord")
    return story


NOBODY = (
    "no broker's node was gone for 10 s of what the machine gave those who vote "
    "while the others worked"
)


def test_fenced_in_time() -> None:
    assert noticed().judged() == (1, []), "one sighting, whatever replicas it has"


@pytest.mark.parametrize("after_s", [10, 10.001])
def test_fenced_in_the_last_moment(after_s: float) -> None:
    _, found = noticed(after_s).judged()
    assert bool(found) == (after_s > 10)


@pytest.mark.parametrize(("lasted_s", "expected"), [(10, (1, [])), (9.999, (NOBODY, []))])
def test_dead_for_just_so_long(lasted_s: float, expected: Any) -> None:
    assert noticed().judged(lasted_s) == expected


@pytest.mark.parametrize(
    "kill",
    [
        {"effective": None},
        {"ends_processes": False},
        {"victims": None},
        {"victims": {"x": {}}},
        {"injected_ns": None},
        {"healed_ns": None},
    ],
)
def test_what_shows_no_broker_dead(kill: dict[str, Any]) -> None:
    assert noticed().judged(**kill) == (NOBODY, [])


def test_a_plan_that_names_no_nodes() -> None:
    story = noticed()
    story.plan = {"time_zero_ns": 5 * S, "recovery_s": 10}
    assert story.judged() == (NOBODY, [])


def test_a_plan_that_does_not_say_how_long_anything_may_take() -> None:
    story = noticed()
    del story.plan["recovery_s"]
    assert story.judged(RECOVERY_S - 1)[0] == NOBODY.replace("10 s", f"{RECOVERY_S:g} s")


@pytest.mark.parametrize(("reported_s", "compared"), [(10, 0), (10.001, 1)])
def test_a_log_of_which_nobody_tells_that_late_lacks_nothing(
    reported_s: float, compared: int
) -> None:
    story = noticed(reported_s=reported_s)
    story.at(11)
    story.apply("b2", 99, "NoOpRecord")  # who is no voter
    assert story.judged() == (compared, [])


def test_a_broker_that_was_never_registered() -> None:
    assert noticed().judged(victims={"b3": {}}) == (0, [])


def test_of_a_system_that_says_when_it_fences() -> None:
    """Long before it has got over everything."""
    story = noticed(after_s=8)
    story.plan = {**story.plan, "fencing_s": 6}
    count, (found,) = story.judged(lasted_s=7)
    assert count == 1 and "b1 had been gone for 6 s, and broker 4 was not fenced" in found.message
    story = noticed()
    story.plan = {**story.plan, "fencing_s": 6}
    assert story.judged(lasted_s=7) == (1, [])


@pytest.mark.parametrize("healed_s", [0, 4])
def test_it_first_gets_over_a_fault_that_ended_just_before(healed_s: int) -> None:
    story = noticed(after_s=9)
    story.plan = {**story.plan, "fencing_s": 6}
    end = story.killed_ns - healed_s * S
    story.inject(9, fault="pause", victims={"c1": {}}, injected_ns=end - S, healed_ns=end)
    _, found = story.judged()
    assert bool(found) == (healed_s == 4), "10 s after that one, or 6 after this one"


def test_one_that_is_stopped_or_cut_off() -> None:
    """It lives, and no controller hears of it."""
    entries = [{"step": "planned", "spared": ["b2", "c1", "c2", "c3"], "cut_off": ["b1"]}]
    gone: dict[str, Any] = {"ends_processes": False, "entries": entries}
    assert noticed().judged(**gone) == (1, [])
    _, (found,) = noticed(after_s=10.5).judged(**gone)
    assert found.message == "b1 had been gone for 10 s, and broker 4 was not fenced"


def test_one_that_is_still_in_service_and_leads() -> None:
    """Told of once, by the record that put it into service last before it was due."""
    story = dead()
    service = story.unfence(4)
    story.killed_ns = story.now_ns
    story.at(1)
    story.unfence(5)
    story.at(11)
    story.unfence(4)
    _, (found,) = story.judged()
    assert found.message == "b1 had been gone for 10 s, and broker 4 was not fenced"
    assert [each["offset"] for each in found.events] == [service]


def test_one_that_is_fenced_and_still_leads() -> None:
    story = dead()
    story.topic("u", OTHER)
    led = story.new_partition([4, 5], topic_id=OTHER)
    story.killed_ns = story.now_ns
    story.at(1)
    story.fence(4)
    story.at(11)
    story.isr([5], 5, topic_id=OTHER)
    _, (found,) = story.judged()
    assert found.message == f"b1 had been gone for 10 s, and broker 4 still led {OTHER}/0"
    assert [each["offset"] for each in found.events] == [led]


@pytest.mark.parametrize(("enough", "is_enough"), [(1, True), (2, True), (3, False)])
def test_fewer_than_are_enough_were_no_occasion_and_are_judged(
    enough: int, is_enough: bool
) -> None:
    story = noticed()
    story.judged()
    story.wait(1_000)
    story.killed_ns = story.now_ns
    story.at(11)
    story.record("NoOpRecord")
    story.judged(victims={"b2": {}})
    events = story.run_events()
    count, found = unfenced(events, committed_log(events.of(Change)), enough)
    assert count == (2 if is_enough else NOBODY.replace("no ", "hardly a ", 1))
    assert len(found) == 1


@pytest.mark.parametrize(
    ("waited_ms", "measured", "accused"),
    [(0, True, True), (0, False, False), (5_000, True, False)],
)
def test_controllers_that_waited_for_no_core_were_not_held_up(
    waited_ms: int, measured: bool, accused: bool
) -> None:
    """On a machine of which many wanted the cores; a controller that was not measured may have
    waited, a broker that waited fences nobody."""
    story = noticed(after_s=11, reported_s=12)
    begin_ms = story.killed_ns // MS
    spans = [[begin_ms, begin_ms + 10_000, 9_000]]
    nodes: dict[str, list[list[int]]] = {node: [] for node in NODES}
    nodes["c2"] = [[begin_ms, begin_ms + 10_000, waited_ms]]
    nodes["b2"] = [[begin_ms, begin_ms + 10_000, 9_000]]
    if not measured:
        del nodes["c3"]
    story.plan = {**story.plan, "machine": {"took": spans, "lost": [], "nodes": nodes}}
    assert bool(story.judged(lasted_s=13)[1]) == accused


def test_each_of_two_kills() -> None:
    story = noticed()
    story.judged()
    assert story.versions[TOPIC, 0][0] == 5
    story.wait(1_000)
    story.killed_ns = story.now_ns
    story.at(11)
    story.record("NoOpRecord")
    count, (found,) = story.judged(victims={"b2": {}})
    assert count == 2 and "broker 5 was not fenced" in found.message


def test_controllers_are_no_brokers() -> None:
    """Who was dead for long was none of those that registered: there was no occasion."""
    assert noticed().judged(victims={"c2": {}}) == (NOBODY, [])


def test_a_voter_that_is_a_broker_as_well_is_one() -> None:
    story = noticed()
    b1: dict[str, Any] = NODES["b1"]
    both = {"ids": {**b1["ids"], "controller": 9}, "votes": True}
    story.plan = {**story.plan, "nodes": {**NODES, "b1": both}}
    assert story.judged() == (1, [])
