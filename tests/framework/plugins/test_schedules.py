"""When faults start and stop, without a cluster."""

from itertools import pairwise

import pytest

from framework.generators import Generator, any_of, simulate, time_limit
from framework.generators import nemesis as on_nemesis
from framework.history.event import Completion, Event, Invocation
from framework.plugins.fault import DOWN, FaultOp
from framework.plugins.schedules import alternate, once_at_a_time, one_shot, sequence, some_last

NS = 10**9


def marks(schedule: Generator, *, seed: int = 1, limit_s: float = 100.0) -> list[tuple[float, str]]:
    """(s, f) of the operations that the nemesis begins."""
    events = simulate(time_limit(limit_s, on_nemesis(schedule)), threads=1, seed=seed)
    return [(event.time / NS, event.f) for event in events if event.type == "invoke" and event.time]


def test_in_turns_with_gaps_between_half_and_one_and_a_half_times_the_mean() -> None:
    found = marks(alternate("rain", 4.0))
    assert [f for _, f in found] == [
        ("start-rain", "stop-rain")[turn % 2] for turn in range(len(found))
    ]
    times = [0.0, *(time for time, _ in found)]
    gaps = [after - before for before, after in pairwise(times)]
    assert len(gaps) > 15
    assert all(2.0 <= gap <= 6.1 for gap in gaps)
    assert max(gaps) - min(gaps) > 1.0, "drawn, not fixed"


def test_the_seed_fixes_the_times() -> None:
    assert marks(alternate("rain", 4.0), seed=7) == marks(alternate("rain", 4.0), seed=7)
    assert marks(alternate("rain", 4.0), seed=7) != marks(alternate("rain", 4.0), seed=8)


def lengths(schedule: Generator, *, seed: int, limit_s: float = 400.0) -> list[float]:
    """Of the faults that were stopped, s."""
    found = marks(schedule, seed=seed, limit_s=limit_s)
    return [end - begin for (begin, _), (end, _) in pairwise(found)][::2]


@pytest.mark.parametrize("first", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_every_second_fault_lasts(seed: int, first: int) -> None:
    found = lengths(some_last(alternate("rain", 4.0), 15.0, first), seed=seed)
    assert len(found) > 12
    for number, each in enumerate(found):
        assert (each > 14.9) == (number % 2 == first % 2)
        assert each < 15.1


def test_one_that_lasts_leaves_most_nodes_alone() -> None:
    events = simulate(
        time_limit(400, on_nemesis(some_last(alternate("rain", 4.0), 15.0))), threads=1, seed=2
    )
    begun = [each for each in events if each.type == "invoke"]
    for start, stop in zip(begun[::2], begun[1::2], strict=False):
        lasted = (stop.time or 0) - (start.time or 0) > 14 * NS
        assert start.value == ({"target": "few"} if lasted else None)
        assert stop.value is None


def test_what_lasts_longer_anyhow_is_not_cut_short() -> None:
    assert marks(some_last(alternate("rain", 4.0), 1.0)) == marks(alternate("rain", 4.0))
    assert marks(some_last(alternate("rain", 4.0), 0.0)) == marks(alternate("rain", 4.0))


def test_scripts_stay_as_they_are() -> None:
    script = one_shot("rain", 1.0, 2.0)
    assert some_last(script, 15.0) is script


def test_once_at_a_time_never_has_two_faults() -> None:
    active: set[str] = set()
    seen = set()
    for _, f in marks(once_at_a_time(["rain", "snow", "fog"], 1.0)):
        what = FaultOp.parse(f)
        assert what is not None
        if what.verb == "start":
            assert not active
            active.add(what.fault)
            seen.add(what.fault)
        else:
            active.remove(what.fault)
    assert seen == {"rain", "snow", "fog"}


class Weather:
    """The completions of two faults: `rain` is skipped, as `result` says, while `snow` holds."""

    def __init__(self, result: str) -> None:
        self.snow = False
        self.result = result
        self.skipped = 0

    def __call__(self, op: Invocation, n: int) -> tuple[int, Completion]:
        if op.f.endswith("snow"):
            self.snow = op.f.startswith("start")
        elif op.f == "start-rain" and self.snow:
            self.skipped += 1
            return 10, op.completed("info", {"skipped": "why", self.result: ["n1"]})
        return 10, op.completed("info", {"bit": True})


def weather(result: str, rain: Generator) -> tuple[Weather, list[Event]]:
    """`rain` beside drawn snow, for 300 s."""
    answers = Weather(result)
    both = any_of(on_nemesis(rain), on_nemesis(alternate("snow", 7.0)))
    return answers, simulate(time_limit(300, both), threads=1, seed=3, completion=answers)


def test_what_is_drawn_waits_for_nodes_that_another_fault_has_taken_down() -> None:
    answers, events = weather(DOWN, alternate("rain", 4.0))
    assert answers.skipped > 3, "else it shows nothing"
    done = [event for event in events if event.type == "info"]
    for at, event in enumerate(done):
        if event.f == "start-rain" and DOWN in event.value:
            after, again = done[at + 1 : at + 3]
            assert (after.f, again.f) == ("stop-snow", "start-rain")
            assert again.value == {"bit": True}
    rain = [each.f for each in done if each.f.endswith("rain") and DOWN not in each.value]
    assert rain == ["start-rain", "stop-rain"] * (len(rain) // 2) + rain[2 * (len(rain) // 2) :]


def test_what_was_skipped_for_another_reason_is_not_made_again() -> None:
    answers, events = weather("other", alternate("rain", 4.0))
    assert answers.skipped > 3
    rain = [each.f for each in events if each.type == "info" and each.f.endswith("rain")]
    assert all(one != other for one, other in pairwise(rain)), "in turns"


def test_a_script_waits_for_nobody() -> None:
    steps = [(1.0 + turn % 2, FaultOp(("start", "stop")[turn % 2], "rain")) for turn in range(60)]
    answers, events = weather(DOWN, sequence(steps))
    assert answers.skipped > 3
    assert sum(each.f.endswith("rain") for each in events if each.type == "invoke") == len(steps)


def test_one_shot_holds_until_it_is_reported_otherwise() -> None:
    assert marks(one_shot("rain", 3.0)) == [(3.0, "start-rain")]
    assert [f for _, f in marks(one_shot("rain", 3.0, lasts_s=2.0))] == ["start-rain", "stop-rain"]


def test_a_sequence_is_followed_to_the_letter_and_then_ends() -> None:
    steps = [
        (1.0, FaultOp("start", "rain")),
        (2.0, FaultOp("start", "snow")),
        (0.5, FaultOp("stop", "rain")),
    ]
    found = marks(sequence(steps))
    assert [f for _, f in found] == ["start-rain", "start-snow", "stop-rain"]
    assert [round(time, 1) for time, _ in found] == pytest.approx([1.0, 3.0, 3.5], abs=0.2)
    assert marks(sequence([])) == []


def test_an_operation_is_named_in_the_history_and_read_back() -> None:
    operation = FaultOp("start", "slow-disk")
    assert operation.f == "start-slow-disk"
    assert FaultOp.parse(operation.f) == operation
    assert [FaultOp.parse(f) for f in ("heal", "start-", "shake-it")] == [None, None, None]
