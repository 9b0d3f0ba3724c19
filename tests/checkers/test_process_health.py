"""Processes run until they are told to stop (D.22)."""

import random

from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_runs import Story, assert_invalid, assert_valid

from checkers.process_health import process_health
from framework.verdict import Verdict


def stalled(story: Story, node: str = "b1", ms: float = 1_500) -> None:
    story.event(node, "stall", loop="data", ms=ms)


def clean() -> Story:
    """One node ends in an orderly way, one is killed, one is paused, one is restarted."""
    story = Story()
    for node in ("c1", "b1", "b2", "b3"):
        story.boot(node)
        story.event(node, "clock", mono_ns=0, wall_ns=0)
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
    story.event("c1", "exit", reason="terminated")
    story.boot("c1")
    for node in ("c1", "b1", "b2", "b3"):
        story.event(node, "clock", mono_ns=0, wall_ns=0)
    story.final()
    return story


def test_clean_run_is_accepted() -> None:
    outcome = process_health(clean().run_events())
    assert_valid(outcome)
    assert outcome.figures["processes"] == 7
    assert outcome.figures["max_stall_ms"] == 2_900


def test_no_process_is_unknown() -> None:
    assert process_health(Story().run_events()).verdict is Verdict.UNKNOWN


def silent(story: Story) -> None:
    for node in ("c1", "b1", "b3"):
        story.wait(20_000)
        story.event(node, "clock", mono_ns=0, wall_ns=0)
    story.nemesis.clear()
    story.final()


PLANTED = Plants.of(
    clean,
    {
        "nothing handled an error in fetcher: KeyError": lambda story: story.event(
            "b1", "error", where="fetcher", message="KeyError: 3"
        ),
        "b1 gave up: fatal: epoch 3 has two leaders": lambda story: story.event(
            "b1", "exit", reason="fatal: epoch 3 has two leaders"
        ),
        "b1's data loop stood still for 1500 ms": stalled,
        "a process of b1 ended without a word": lambda story: (
            story.wait(5_000),
            story.event("b1", "state", offset=1, digest="d"),
            story.boot("b1"),
        ),
        "b2 fell silent": silent,
        "b1 was killed and started again 12 s before the end, and did not boot": lambda story: (
            story.inject(3, fault="kill", victims={"b1": {}}),
            story.wait(12_000),
            story.event("b2", "state", offset=1, digest="d"),
        ),
    },
)


def test_pause_and_partition_end_no_process() -> None:
    for fault in ("pause", "partition"):
        story = clean()
        story.wait(5_000)
        story.inject(3, fault=fault, victims={"b1": {}})
        story.boot("b1")
        assert_invalid(process_health(story.run_events()), "b1 ended without a word")


def test_machine_without_time_is_no_nodes_fault() -> None:
    """A stall that another process shares."""
    story = clean()
    stalled(story, "b1")
    stalled(story, "c1")
    assert_valid(process_health(story.run_events()))


def test_guest_is_known_by_its_broker_id() -> None:
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


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_ends_agree_with_brute_force(seed: int) -> None:
    """Processes of one node end in an orderly way, killed or for no reason."""
    draw = random.Random(seed)
    story = Story()
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
