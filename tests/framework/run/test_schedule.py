"""When a run's faults and operations end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import pytest

from framework.generators import simulate
from framework.history.event import NEMESIS, Event, Invocation
from framework.run.options import Options, resolve
from framework.run.schedule import Judge, schedule

LIMIT_S: Final = 20
END_S: Final = LIMIT_S + LIMIT_S + 15
"""As long again, and as long as the node takes to recover."""
S: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Says:
    """A judge with answers."""

    operations: bool
    faults: bool

    def goes_on(self) -> bool:
        return self.operations or self.faults

    def wants_faults(self) -> bool:
        return self.faults

    def lets(self, asked: Invocation) -> bool:
        return True


NOTHING: Final = Says(operations=False, faults=False)
OPERATIONS: Final = Says(operations=True, faults=False)
FAULTS: Final = Says(operations=False, faults=True)


def history(judge: Judge | None, *, exactly: bool = False) -> list[Event]:
    test = resolve(
        Options(
            nemesis="kill,partition",
            workload="topics",
            nodes="3",
            hosts="namespaces",
            time_limit_s=LIMIT_S,
            interval_s=1,
            rate=10,
            observe_s=0,
            seed=5,
            exactly=exactly,
        )
    )
    return simulate(schedule(test, judge), threads=test.threads, seed=test.seed, max_ops=10_000)


def invoked_s(events: Sequence[Event], which: Callable[[Event], bool]) -> list[float]:
    return [each.time / S for each in events if each.type == "invoke" and which(each)]


def main_phase(events: Sequence[Event]) -> list[Event]:
    marks = [each for each in events if (each.f, each.value) == ("phase", "heal")]
    return list(events[: events.index(marks[0])])


def is_client(event: Event) -> bool:
    return isinstance(event.process, int)


def is_start(event: Event) -> bool:
    return event.process == NEMESIS and event.f.startswith("start-")


def is_heal(event: Event) -> bool:
    return event.f == "heal"


@pytest.mark.parametrize(("judge", "exactly"), [(None, False), (NOTHING, False), (FAULTS, True)])
def test_what_has_done_enough_ends_with_its_time(judge: Judge | None, exactly: bool) -> None:
    events = history(judge, exactly=exactly)
    main = main_phase(events)
    assert LIMIT_S - 1 < max(invoked_s(main, is_client)) < LIMIT_S
    assert LIMIT_S - 4 < max(invoked_s(main, is_start)) < LIMIT_S
    assert not invoked_s(main, is_heal) and len(invoked_s(events, is_heal)) == 1


def test_clients_that_did_too_little_go_on_without_faults() -> None:
    main = main_phase(history(OPERATIONS))
    [healed_s] = invoked_s(main, is_heal)
    assert LIMIT_S <= healed_s < LIMIT_S + 1
    assert max(invoked_s(main, is_start)) < LIMIT_S
    assert END_S - 1 < max(invoked_s(main, is_client)) < END_S


def test_faults_that_bit_too_seldom_go_on_with_clients() -> None:
    main = main_phase(history(FAULTS))
    assert not invoked_s(main, is_heal)
    assert END_S - 4 < max(invoked_s(main, is_start)) < END_S
    assert END_S - 1 < max(invoked_s(main, is_client)) < END_S


def test_a_fault_that_bit_enough_makes_way_for_others() -> None:
    class Kills(Says):
        """Let nothing begin but kills."""

        def lets(self, asked: Invocation) -> bool:
            return asked.f != "start-partition"

    main = main_phase(history(Kills(operations=False, faults=True)))
    assert not invoked_s(main, lambda each: each.f == "start-partition")
    assert invoked_s(main, lambda each: each.f == "stop-partition"), "what is active may end"
    kills = invoked_s(main, lambda each: each.f == "start-kill")
    assert END_S - 4 < max(kills) < END_S


def test_faults_end_as_soon_as_enough_of_them_bit() -> None:
    asked = 0

    class Bitten(Says):
        def wants_faults(self) -> bool:
            nonlocal asked
            asked += 1
            return asked < 40

    main = main_phase(history(Bitten(operations=True, faults=True)))
    [healed_s] = invoked_s(main, is_heal)
    assert LIMIT_S < healed_s < END_S
    assert max(invoked_s(main, is_start)) <= healed_s
    assert max(invoked_s(main, is_client)) > healed_s + 1


def test_the_seed_fixes_the_schedule() -> None:
    assert history(OPERATIONS) == history(OPERATIONS)
