"""Which runs go on when their time is over."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

import pytest

from framework.history.event import NEMESIS, Completion, CompletionType, Event, Invocation, Json
from framework.plugins.outcomes import NEEDLESS, PRESENT
from framework.run.enough import ENOUGH, Enough


@dataclass(slots=True, kw_only=True)
class Heard(Enough):
    """With what was said."""

    say: Callable[[str], None] = field(init=False)
    longer_s: float = 75
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.say = self.said.append


def made(
    *done: tuple[str, CompletionType | Literal["refused"], int], faults: Iterable[Json] = ()
) -> Heard:
    """Of operations (f, outcome, how many), and of what came of each injection of `pause`. What
    failed says what is; what was refused does not."""
    enough = Heard()
    for f, outcome, count in done:
        for _ in range(count):
            enough.event(Invocation(process=1, f=f))
            type_: CompletionType = "fail" if outcome == "refused" else outcome
            ext = {"asserts": PRESENT} if outcome == "fail" else None
            enough.event(Completion(type=type_, process=1, f=f, ext=ext))
    for value in faults:
        enough.event(Invocation(process=NEMESIS, f="start-pause"))
        enough.event(Completion(type="info", process=NEMESIS, f="start-pause", value=value))
        enough.event(Completion(type="info", process=NEMESIS, f="stop-pause", value={"bit": False}))
    return enough


BIT: Json = {"id": 1, "shape": "one", "victims": {}, "bit": True}
MISSED: Json = {"id": 1, "shape": "one", "victims": {}, "bit": False}
SKIPPED: Json = {"skipped": "pause is already active"}


@pytest.mark.parametrize(
    "enough",
    [
        made(("read", "ok", ENOUGH)),
        made(("read", "ok", 2 * ENOUGH - 1), ("create", "ok", 1)),
        made(("read", "ok", 2 * ENOUGH - 2), ("create", "ok", 2), ("create", "fail", 60)),
        made(("read", "ok", 60), ("seize", "fail", 9), ("seize", "ok", 1)),
        made(("read", "ok", 30), ("create", "ok", 4), ("create", "info", 5)),
        made(
            ("read", "ok", 60),
            ("delete", "ok", 8),
            ("delete", "fail", 2),
            ("delete", "refused", 80),
        ),
        made(("read", "ok", 60), ("create", "ok", 3), ("create", "refused", 9)),
        made(("read", "ok", 30), faults=[BIT, BIT]),
        made(("read", "ok", 30), faults=[BIT, BIT, MISSED, MISSED, SKIPPED, SKIPPED]),
    ],
)
def test_what_did_enough_ends(enough: Heard) -> None:
    assert not enough.goes_on(), enough.wanting()
    assert not enough.said and not enough.went_on


@pytest.mark.parametrize(
    ("enough", "why"),
    [
        (made(("read", "ok", ENOUGH - 1)), "9 operations ok, 10 are enough"),
        (made(("read", "ok", 18), ("seize", "ok", 1)), "19 operations ok, 20 are enough"),
        (made(("read", "ok", 60), ("seize", "fail", 9)), "0 of 9 seize ok, 1 are enough"),
        (
            made(("read", "ok", 60), ("seize", "fail", 10), ("seize", "ok", 1)),
            "1 of 11 seize ok, 2 are enough",
        ),
        (made(("read", "ok", 60), ("create", "info", 9)), "0 of 9 create answered, 4 are enough"),
        (
            made(("read", "ok", 60), ("create", "ok", 9), ("create", "info", 90)),
            "9 of 99 create answered, 10 are enough",
        ),
        (
            made(("read", "ok", 60), ("delete", "ok", 8), ("delete", "refused", 82)),
            "8 of 90 delete told anything, 10 are enough",
        ),
        (
            made(("read", "ok", 60), ("create", "ok", 2), ("create", "refused", 10)),
            "2 of 12 create told anything, 3 are enough",
        ),
        (made(("read", "ok", 60), faults=[BIT]), "1 injections bit, 2 are enough"),
        (
            made(("read", "ok", 60), faults=[BIT, BIT, MISSED, MISSED, MISSED]),
            "pause bit in 2 of 5 injections",
        ),
        (
            made(("read", "ok", 60), faults=[MISSED, SKIPPED]),
            "pause bit in 0 of 1 injections; 0 injections bit, 2 are enough",
        ),
        (
            made(("read", "ok", 60), ("create", "ok", 5), ("create", "info", 56)),
            "5 of 61 create answered, 10 are enough",
        ),
        (
            made(
                ("read", "ok", 60),
                ("create", "ok", 8),
                ("create", "refused", 2),
                ("create", "info", 50),
            ),
            "8 of 60 create told anything, 10 are enough",
        ),
    ],
)
def test_what_did_too_little_goes_on_and_says_so_once(enough: Heard, why: str) -> None:
    assert enough.goes_on() and enough.goes_on()
    assert enough.went_on == why
    assert len(enough.said) == 1 and f"(75 s at most): {why}" in enough.said[0]


def starts(*faults: str) -> list[Invocation]:
    return [Invocation(process=NEMESIS, f=f"start-{fault}") for fault in faults]


def test_behind_its_time_only_faults_that_are_owed_begin() -> None:
    enough = made(("read", "ok", 60), faults=[BIT, BIT, MISSED, MISSED])
    enough.faults = ["pause", "kill"]
    pause, kill = starts("pause", "kill")
    assert enough.lets(pause) and enough.lets(kill), "within its time all may"
    assert enough.goes_on() and enough.went_on == "kill bit in 0 of 0 injections"
    assert enough.lets(kill) and not enough.lets(pause)
    assert enough.lets(Invocation(process=NEMESIS, f="stop-pause"))
    assert enough.lets(Invocation(process=NEMESIS, f="heal"))


def test_where_too_few_bit_of_all_together_any_may_begin() -> None:
    enough = made(("read", "ok", 60), faults=[BIT])
    assert enough.goes_on() and all(map(enough.lets, starts("pause", "kill")))


def test_it_ends_when_it_has_done_enough() -> None:
    enough = made(("read", "ok", ENOUGH - 1))
    assert enough.goes_on()
    enough.event(Invocation(process=1, f="read"))
    assert enough.goes_on(), "not before it is answered"
    enough.event(Completion(type="ok", process=1, f="read"))
    assert not enough.goes_on()
    assert enough.went_on, "plan.json keeps that it did"


def test_what_never_succeeded_again_after_the_first_fault_goes_on() -> None:
    enough = made(("read", "ok", 60), ("create", "ok", 60), faults=[BIT, BIT])
    assert not enough.goes_on(), "nothing was asked for since"
    for tries in range(3):
        assert not enough.goes_on(), f"it failed {tries} times: that may be chance"
        for f in ("read", "create"):
            enough.event(Invocation(process=1, f=f))
        enough.event(Completion(type="ok", process=1, f="read"))
        enough.event(Completion(type="fail", process=1, f="create"))
    assert enough.goes_on()
    assert enough.went_on == "no create ok since the first fault"
    enough.event(Completion(type="ok", process=1, f="create"))
    assert not enough.goes_on()


PAUSE = (Invocation(process=NEMESIS, f="start-pause"), Invocation(process=NEMESIS, f="stop-pause"))
PAUSED = Completion(type="info", process=NEMESIS, f="start-pause", value=BIT)
RESUMED = Completion(type="info", process=NEMESIS, f="stop-pause")
ASKED = Invocation(process=1, f="unregister")
FAILED = Completion(type="fail", process=1, f="unregister")
HUNG = Completion(type="info", process=1, f="unregister")


@pytest.mark.parametrize(
    ("events", "goes_on"),
    [
        ([ASKED, FAILED, PAUSE[0], PAUSED, PAUSE[1], RESUMED], True),
        ([ASKED, HUNG, PAUSE[0], PAUSED, PAUSE[1], RESUMED], True),
        ([PAUSE[0], PAUSED, ASKED, FAILED, PAUSE[1], RESUMED], False),
        ([PAUSE[0], PAUSED, ASKED, HUNG, PAUSE[1], RESUMED], False),
        ([PAUSE[0], PAUSED, ASKED, PAUSE[1], RESUMED, HUNG], False),
        ([PAUSE[0], PAUSED, PAUSE[1], ASKED, RESUMED, HUNG], False),
        ([ASKED, PAUSE[0], PAUSED, PAUSE[1], RESUMED, HUNG], False),
        ([PAUSE[0], PAUSED, PAUSE[1], RESUMED, ASKED, FAILED], True),
        ([PAUSE[0], PAUSED, PAUSE[1], RESUMED, *(4 * [ASKED, FAILED])], True),
        ([PAUSE[0], PAUSED, *(9 * [ASKED, FAILED]), PAUSE[1], RESUMED], False),
        ([PAUSE[0], PAUSED, *(10 * [ASKED, FAILED]), PAUSE[1], RESUMED], True),
        ([*(2 * [ASKED, FAILED]), PAUSE[0], PAUSED, *(7 * [ASKED, FAILED])], False),
        ([*(3 * [ASKED, FAILED]), PAUSE[0], PAUSED, *(6 * [ASKED, FAILED])], True),
    ],
)
def test_a_rare_kind_that_met_faults_alone_is_not_waited_for(
    events: list[Event], goes_on: bool
) -> None:
    """As availability does not judge it: a default run has one `unregister`, or none."""
    enough = made(("read", "ok", 60), faults=[BIT, BIT])
    for each in events:
        enough.event(each)
    enough.event(RESUMED)
    assert enough.goes_on() is goes_on, enough.wanting()


@pytest.mark.parametrize(("asserts", "goes_on"), [(NEEDLESS, False), (PRESENT, True)])
def test_what_need_not_be_done_is_done(asserts: str, goes_on: bool) -> None:
    enough = made(("read", "ok", 60), faults=[BIT, BIT])
    enough.event(Invocation(process=1, f="elect"))
    enough.event(Completion(type="fail", process=1, f="elect", ext={"asserts": asserts}))
    assert enough.goes_on() is goes_on


def test_a_fault_that_was_asked_for_and_never_came() -> None:
    enough = made(("read", "ok", 60), faults=[BIT, BIT])
    enough.faults = ["kill", "pause"]
    assert enough.wanting() == ["kill bit in 0 of 0 injections"]


def test_observers_are_no_clients() -> None:
    enough = made(("read", "ok", ENOUGH))
    enough.event(Invocation(process="observer-n1", f="describe-node"))
    assert not enough.goes_on()
