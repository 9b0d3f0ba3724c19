"""Who may be in no ISR, by what brokers asked for themselves (`folds/fencing/unfit_members.py`)."""

from typing import Any

import pytest
from planted_runs import Story, change

from checkers.folds.fencing.unfit_members import UnfitMembers
from framework.history.pairing import Operation

LEFT = "broker 5 of epoch 8 had been let go by operation "
REGISTERED = (
    "broker 5 of epoch 8 had been registered, and had not asked to be active, by operation "
)


def beat(story: Story, target: str | None, state: str | None, **more: Any) -> Operation:
    """Of broker 5, in epoch 8. `state`: that it is told to be in."""
    return story.complete(begun(story, target), **ended(state, **more))


def begun(story: Story, target: str | None = "active", epoch: int | None = 8) -> Operation:
    asked: dict[str, Any] = {"broker_id": 5}
    asked |= {} if epoch is None else {"broker_epoch": epoch}
    return story.invoke("heartbeat", "5", asked | ({} if target is None else {"target": target}))


def ended(state: str | None, **more: Any) -> dict[str, Any]:
    result = None if state is None else {"next_state": state, "broker_epoch": 8}
    return {"type": "ok", "result": result, **more}


def register(story: Story, state: str = "fenced", epoch: int | None = -1) -> Operation:
    """It is answered with epoch 8."""
    return story.complete(begun(story, epoch=epoch), **ended(state))


def leave(story: Story, state: str = "leaving", **more: Any) -> Operation:
    return beat(story, "leaving", state, **more)


def asks(story: Story, **more: Any) -> Operation:
    return beat(story, "active", "active", **more)


def taken_in(story: Story, **named: Any) -> list[str]:
    """By a change for an ISR of brokers 4 and 5."""
    asked = {**change(1, [4, 5]), "isr_epochs": [7, 8], **named}
    begun = story.invoke("alter-isr", "t/0", asked)
    return said(story, story.complete(begun, "ok", {}))


def said(story: Story, asked: Operation) -> list[str]:
    members = UnfitMembers.of(story.operations)
    return [str(each) for each in members.named_by(asked)]


# --- registered ---------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["starting", "fenced"])
@pytest.mark.parametrize("epoch", [-1, None])
def test_who_registered_and_never_asked_to_be_active_is_in_none(
    state: str, epoch: int | None
) -> None:
    story = Story()
    first = register(story, state, epoch)
    register(story)
    assert taken_in(story) == [f"{REGISTERED}{first.index}"]


def test_who_was_answered_that_it_is_active_may_be_in_one() -> None:
    story = Story()
    register(story, "active")
    assert taken_in(story) == []


def test_a_registration_that_was_not_answered_shows_nothing() -> None:
    for type in ("fail", "info"):
        story = Story()
        story.complete(begun(story, epoch=-1), **ended("fenced", type=type))
        assert taken_in(story) == []


@pytest.mark.parametrize("type", ["ok", "info"])
def test_who_asked_to_be_active_may_be_in_one(type: str) -> None:
    """Whether it was answered or not."""
    story = Story()
    register(story)
    asks(story, type=type)
    assert taken_in(story) == []


def test_active_is_what_is_asked_for_where_nothing_is_said() -> None:
    story = Story()
    register(story)
    beat(story, None, "active")
    assert taken_in(story) == []


def test_who_was_refused_was_not_made_active() -> None:
    story = Story()
    first = register(story)
    asks(story, type="fail")
    assert taken_in(story) == [f"{REGISTERED}{first.index}"]


def test_who_asks_only_later_was_not_active() -> None:
    story = Story()
    first = register(story)
    done = story.op("alter-isr", "t/0", change(1, [4, 5], isr_epochs=[7, 8]), {})
    asks(story)
    assert said(story, done) == [f"{REGISTERED}{first.index}"]


def test_what_is_under_way_beside_the_change_may_come_first() -> None:
    """The question to be active, or the registration itself."""
    story = Story()
    register(story)
    opened = story.invoke("alter-isr", "t/0", change(1, [4, 5], isr_epochs=[7, 8]))
    asks(story)
    assert said(story, story.complete(opened, "ok", {})) == []
    story = Story()
    opened = story.invoke("alter-isr", "t/0", change(1, [4, 5], isr_epochs=[7, 8]))
    register(story)
    assert said(story, story.complete(opened, "ok", {})) == []


def test_a_change_that_never_ended_may_come_at_any_time() -> None:
    story = Story()
    register(story)
    opened = story.invoke("alter-isr", "t/0", change(1, [4, 5], isr_epochs=[7, 8]))
    asks(story)
    assert said(story, opened) == []


def test_epochs_and_ids_are_told_apart() -> None:
    story = Story()
    register(story)
    assert taken_in(story, isr_epochs=[7, 9]) == []
    assert taken_in(story, isr=[5, 4], isr_epochs=[7, 8]) == []
    assert taken_in(story, isr_epochs=None) == []
    assert taken_in(story, isr_epochs=[7]) == []


def test_other_operations_say_nothing_of_brokers() -> None:
    """Nor a heartbeat of which nobody knows what it said."""
    story = Story()
    asked = {"broker_id": 5, "broker_epoch": -1}
    story.op("register", "5", asked, {"next_state": "fenced", "broker_epoch": 8})
    story.op("heartbeat", "5", None, {"next_state": "fenced", "broker_epoch": 8})
    assert taken_in(story) == []


# --- let go -------------------------------------------------------------------------------


def active() -> Story:
    story = Story()
    register(story)
    asks(story)
    return story


def test_who_was_let_go_is_in_none() -> None:
    """The last that told it so is shown."""
    story = active()
    leave(story)
    last = leave(story)
    assert taken_in(story) == [f"{LEFT}{last.index}"]


def test_who_has_yet_to_wait_may_be_in_one() -> None:
    story = active()
    leave(story, "active")
    leave(story, type="info")
    leave(story, type="fail")
    assert taken_in(story) == []


def test_who_asks_to_be_active_again_is_not_let_go() -> None:
    story = active()
    leave(story)
    asks(story)
    assert taken_in(story) == []


def test_an_answer_that_it_is_leaving_lets_only_those_go_who_asked() -> None:
    story = active()
    beat(story, "active", "leaving")
    assert taken_in(story) == []


def test_who_was_let_go_once_more_is_in_none() -> None:
    story = active()
    leave(story)
    asks(story)
    last = leave(story)
    assert taken_in(story) == [f"{LEFT}{last.index}"]


def test_an_earlier_leave_shows_it_where_the_later_one_does_not() -> None:
    """It asked to be active beside none of them but in front of both."""
    story = active()
    first = leave(story)
    opened = begun(story, "leaving")
    done = story.op("alter-isr", "t/0", change(1, [4, 5], isr_epochs=[7, 8]), {})
    story.complete(opened, **ended("leaving"))
    assert said(story, done) == [f"{LEFT}{first.index}"]


def test_a_question_without_an_answer_may_make_it_active_at_any_time() -> None:
    story = active()
    asks(story, type="info")
    leave(story)
    assert taken_in(story) == []


def test_a_question_beside_the_leave_may_come_after_it() -> None:
    story = active()
    opened = begun(story)
    leave(story)
    story.complete(opened, **ended("active"))
    assert taken_in(story) == []


def test_a_question_after_the_change_excuses_nobody() -> None:
    story = active()
    last = leave(story)
    done = story.op("alter-isr", "t/0", change(1, [4, 5], isr_epochs=[7, 8]), {})
    asks(story)
    assert said(story, done) == [f"{LEFT}{last.index}"]


def test_who_was_let_go_without_a_registration_that_was_seen() -> None:
    story = Story()
    last = leave(story)
    assert taken_in(story) == [f"{LEFT}{last.index}"]
