"""Registrations of brokers beside the state below them, by rules of their log."""

from dataclasses import replace
from typing import Any

import pytest
from planted_rules import RuledStory, of_rules

from checkers.folds.replayed.log_rules import Rules
from checkers.folds.replayed.registering import held, registers_again, wrong_registration
from checkers.folds.replayed.replay import Broker, Partition, Replay
from framework.evidence.changes import BrokerRegistered
from framework.evidence.systems import LogRule

HEAD: dict[str, Any] = {"node": "c1", "incarnation": "1", "seq": 1, "epoch": 1}
FENCED, SERVES, LEAVES = (True, False), (False, False), (False, True)


def registration(
    epoch: int = 50, process: str | None = "new", standing: tuple[bool, bool] = FENCED
) -> BrokerRegistered:
    fenced, leaving = standing
    return BrokerRegistered(
        **HEAD,
        offset=50,
        broker_id=4,
        broker_epoch=epoch,
        process=process,
        fenced=fenced,
        leaving=leaving,
    )


def before(standing: tuple[bool, bool] = FENCED) -> Broker:
    """Of epoch 20."""
    fenced, leaving = standing
    return Broker(20, "old", (), None, fenced=fenced, activated=not fenced, leaving=leaving)


def wrong(
    change: BrokerRegistered, was: Broker | None, *rules: LogRule, begun: int = 50
) -> list[str]:
    state = Replay(brokers={} if was is None else {4: was})
    held = Rules(of_rules(*rules).rules)
    return list(wrong_registration(state, change, lambda rule: held.hold(rule, {}), begun))


def test_only_the_process_that_is_registered_registers_again() -> None:
    assert registers_again(before(), registration(process="old"))
    assert not registers_again(before(), registration())
    assert not registers_again(None, registration(process="old"))
    nameless = replace(before(), process=None)
    assert not registers_again(nameless, registration(process=None))


@pytest.mark.parametrize(
    ("epoch", "process", "rules", "found"),
    [
        (21, "new", (), ""),
        (20, "new", (), "with epoch 20 after 20"),
        (19, "new", (), "with epoch 19 after 20"),
        (20, "new", ("process-keeps-epoch",), "with epoch 20 after 20"),
        (21, "new", ("process-keeps-epoch",), ""),
        (20, "old", (), ""),
        (21, "old", (), ""),
        (19, "old", (), "with epoch 19 after 20"),
        (20, "old", ("registering-renews-epoch",), "with epoch 20 after 20"),
        (21, "old", ("registering-renews-epoch",), ""),
        (20, "old", ("process-keeps-epoch",), ""),
        (21, "old", ("process-keeps-epoch",), "with epoch 21 after 20, though it is the same"),
        (19, "old", ("process-keeps-epoch",), "with epoch 19 after 20, though it is the same"),
    ],
)
def test_epochs_are_renewed_or_kept(
    epoch: int, process: str, rules: tuple[LogRule, ...], found: str
) -> None:
    told = wrong(registration(epoch, process), before(), *rules)
    assert len(told) == bool(found)
    assert all(each.startswith(f"registers broker 4 {found}") for each in told)


@pytest.mark.parametrize(
    ("was", "process", "is_now", "rules", "found"),
    [
        (None, "new", FENCED, (), ""),
        (None, "new", SERVES, (), "as in service, which has to be fenced"),
        (None, "new", (True, True), (), "as fenced and leaving, which has to be fenced"),
        (FENCED, "new", SERVES, (), "as in service, which has to be fenced"),
        (SERVES, "new", FENCED, ("process-keeps-standing",), ""),
        (SERVES, "old", FENCED, (), ""),
        (SERVES, "old", SERVES, (), ""),
        (SERVES, "old", SERVES, ("registering-fences",), "as in service, which has to be fenced"),
        (SERVES, "old", FENCED, ("registering-fences",), ""),
        (SERVES, "old", SERVES, ("process-keeps-standing",), ""),
        (SERVES, "old", FENCED, ("process-keeps-standing",), "as fenced, which has to be in"),
        (LEAVES, "old", LEAVES, ("process-keeps-standing",), ""),
        (
            LEAVES,
            "old",
            SERVES,
            ("process-keeps-standing",),
            "as in service, which has to be in service and leaving",
        ),
        (FENCED, "old", FENCED, ("process-keeps-standing", "registering-fences"), ""),
    ],
)
def test_who_registers_is_fenced_or_as_it_was(
    was: tuple[bool, bool] | None,
    process: str,
    is_now: tuple[bool, bool],
    rules: tuple[LogRule, ...],
    found: str,
) -> None:
    former = None if was is None else before(was)
    told = wrong(registration(21, process, is_now), former, *rules)
    assert len(told) == bool(found)
    assert all(each.startswith(f"registers broker 4 {found}") for each in told)


@pytest.mark.parametrize("process", ["new", "old"])
def test_former_life_has_to_be_fenced_where_that_is_the_rule(process: str) -> None:
    rule: LogRule = "fenced-before-registering"
    (told,) = wrong(registration(process=process), before(SERVES), rule)
    assert told == "registers broker 4 anew, whose former life is not fenced"
    assert wrong(registration(process=process), before(), rule) == []
    assert wrong(registration(process=process), None, rule) == []


@pytest.mark.parametrize(
    ("epoch", "begun", "right"),
    [(50, 50, True), (49, 50, False), (51, 50, False), (48, 48, True), (47, 48, False)],
)
def test_new_epoch_is_where_the_records_of_the_registration_begin(
    epoch: int, begun: int, right: bool
) -> None:
    for former in (None, before()):
        told = wrong(registration(epoch), former, "epoch-is-offset", begun=begun)
        assert (
            [f"and what the registration changes begins at offset {begun}" in told[0]] == [True]
            if not right
            else told == []
        )


def test_epoch_that_is_kept_is_no_offset() -> None:
    assert wrong(registration(20, "old"), before(), "epoch-is-offset") == []


# --- what a broker holds --------------------------------------------------------------------------


def partition(leader: int, *isr: int) -> Partition:
    return Partition(replicas=(4, 5, 6), isr=isr, leader=leader, leader_epoch=0, version=0)


@pytest.mark.parametrize(
    ("partitions", "empty", "words"),
    [
        ([], False, ""),
        ([partition(5, 5, 6)], True, ""),
        ([partition(5, 5, 6), partition(4, 4, 5), partition(4, 4)], False, "leads t/1"),
        ([partition(5, 5, 4), partition(4, 4)], True, "leads t/1"),
        ([partition(-1, 4)], False, ""),
        ([partition(-1, 4)], True, "is in the ISR of t/0"),
        ([partition(5, 5), partition(5, 5, 4), partition(6, 6, 4)], False, "is in the ISR of t/1"),
    ],
)
def test_what_a_broker_holds(partitions: list[Partition], empty: bool, words: str) -> None:
    """The first of what it leads, or else of what could do without it."""
    numbered = {("t", number): each for number, each in reversed(list(enumerate(partitions)))}
    assert held(Replay(partitions=numbered), 4, empty=empty) == words


def test_stories_know_processes() -> None:
    story = RuledStory()
    story.register(4)
    story.again(4)
    assert len({each.process for each in story.evidence if hasattr(each, "process")}) == 1
