"""Elections of preferred leaders, and what the log made of them (`folds/requests/elected.py`)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from random import Random
from typing import Any, Final

import pytest
from planted_logs import LogStory
from planted_runs import OTHER

from checkers.folds.metadata_log.committed_log import known_log
from checkers.folds.requests.elected import STRICT, elected, hardly_asked, steps_of
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import DISKS, EVENTS
from framework.plugins.outcomes import NEEDLESS
from framework.testing.story import Story

KEY: Final = "t/0"
VOTERS: Final = ("c1", "c2", "c3")


def elect(story: Story, key: str = KEY, **more: Any) -> Operation:
    return story.op("elect", key, None, None, **more)


def needless(story: Story, key: str = KEY, type: Any = "fail") -> Operation:
    return elect(story, key, type=type, error="NO", ext={"asserts": NEEDLESS})


def started(leader: int = 4, **more: Any) -> LogStory:
    """t/0 is on 4, 5 and 6, and has been for a while."""
    story = LogStory(readers=("c1",), keepers=VOTERS, **more)
    story.topic()
    story.new_partition([4, 5, 6], leader=leader)
    return story


def left(**more: Any) -> LogStory:
    """4 has gone, and is back: 5 leads."""
    story = started(**more)
    story.isr([5, 6], 5)
    story.isr([4, 5, 6], 5)
    return story


def granted(story: LogStory, leader: int = 4) -> Operation:
    """As it should be."""
    asked = story.invoke("elect", KEY)
    story.isr([4, 5, 6], leader)
    return story.complete(asked)


def judged(story: LogStory) -> tuple[int, list[str]]:
    return told(story.run_events())


def told(events: RunEvents) -> tuple[int, list[str]]:
    compared, found = elected(events, known_log(events))
    return compared, [each.message for each in found]


def strict(story: LogStory) -> LogStory:
    story.plan = {**story.plan, "capabilities": [STRICT]}
    return story


# --- what the log says --------------------------------------------------------------------


def test_steps_are_by_name_and_know_the_first_replica() -> None:
    story = left()
    story.isr([4, 5, 6], 4)
    story.move([6, 4], adding_replicas=[], rises=True)
    story.isr([6, 4], 6)
    story.isr([6, 4], -1)
    story.isr([6, 4], 6)
    story.drop()
    story.topic("t", OTHER)
    story.new_partition([5, 4], 0, OTHER)
    story.isr([5, 4], 4, 0, OTHER)
    steps = steps_of(known_log(story.run_events()))[KEY]
    assert [(each.leads, each.gives) for each in steps] == [
        (True, False),  # made so, and not elected
        (False, False),
        (False, False),
        (True, True),
        (False, False),  # another one comes first
        (True, True),
        (False, False),
        (True, True),
        (False, False),  # removed
        (True, False),
        (False, False),
    ]


def test_what_goes_ends_no_other_topic() -> None:
    story = left()
    story.topic("u", OTHER)
    story.new_partition([4, 5], 0, OTHER)
    story.drop("u", OTHER)
    granted(story)
    steps = steps_of(known_log(story.run_events()))
    assert [each.gives for each in steps[KEY]] == [False, False, False, True]
    assert len(steps["u/0"]) == 2
    assert judged(story) == (1, [])


def test_partitions_of_unknown_topics_have_no_steps() -> None:
    story = LogStory()
    story.new_partition([4, 5])
    assert not steps_of(known_log(story.run_events()))


# --- what was granted ---------------------------------------------------------------------


def test_each_has_a_record_of_its_own() -> None:
    story = left()
    granted(story)
    assert judged(story) == (1, [])
    elect(story)
    assert judged(story)[0] == 2
    (message,) = judged(story)[1]
    assert "no record is left that it may have made" in message
    assert "by the records at offsets 4, and 2 elections were granted" in message


def test_what_the_controller_does_of_its_own_accord_is_no_harm() -> None:
    story = left()
    story.isr([4, 5, 6], 4)
    assert judged(story) == (0, [])
    story.isr([5, 6], 5)
    granted(story)
    assert judged(story) == (1, [])


@pytest.mark.parametrize("leader", [4, 5, -1])
def test_a_record_by_which_the_first_replica_does_not_become_the_leader_is_none(
    leader: int,
) -> None:
    story = started() if leader == 4 else left()
    granted(story, leader)
    (message,) = judged(story)[1]
    assert "the first replica becomes the leader by no record" in message


def test_one_that_nobody_was_granted_may_have_come_to_nothing() -> None:
    story = left()
    elect(story, type="info", error="CLIENT_TIMED_OUT")
    elect(story, type="fail", error="NO")
    story.invoke("elect", KEY)
    assert judged(story) == (0, [])


def test_a_partition_that_the_log_never_had() -> None:
    story = left()
    elect(story, "u/0")
    elect(story, "t/1")
    assert len(judged(story)[1]) == 2


def test_the_first_replica_is_that_of_the_record() -> None:
    """As it is moved, and of a topic that was made again."""
    story = left()
    story.move([6, 5], leader=5)
    asked = story.invoke("elect", KEY)
    story.isr([6, 5], 6)
    story.complete(asked)
    story.drop()
    story.topic("t", OTHER)
    story.new_partition([5, 4], 0, OTHER, leader=4)
    asked = story.invoke("elect", KEY)
    story.isr([5, 4], 5, 0, OTHER)
    story.complete(asked)
    assert judged(story) == (2, [])


def test_a_record_that_stood_before_it_is_not_its_own() -> None:
    """As somebody had applied it."""
    story = left()
    story.isr([4, 5, 6], 4)
    story.wait(1000)
    elect(story)
    assert len(judged(story)[1]) == 1


def of_disks(story: LogStory) -> LogStory:
    """Nodes tell nothing."""
    story.events = []
    return story


def asks(story: LogStory, committed: int) -> None:
    """An observer is told so much by who leads, whose log ends there."""
    view = {"leader": 1, "leader_epoch": 1, "high_watermark": committed}
    story.ask("c1", "describe-quorum", {**view, "voters": [[1, committed]]})


def test_a_record_that_an_observer_was_shown_before_is_not_its_own() -> None:
    for shown, found in ((4, 0), (5, 1)):
        story = left()
        story.isr([4, 5, 6], 4)
        asks(story, shown)
        elect(story)
        assert len(judged(of_disks(story))[1]) == found


def test_a_record_that_was_not_committed_when_it_had_ended_is_not_its_own() -> None:
    for late in (False, True):
        story = left()
        story.op("create", "u")
        elect(story)
        if late:
            asks(story, 4)
        story.isr([4, 5, 6], 4)
        asks(story, 5)
        assert len(judged(of_disks(story))[1]) == late


def test_who_may_have_made_one_record_alone_has_it() -> None:
    """Though the other one was asked for first."""
    story = left()
    story.op("create", "u")
    long = story.invoke("elect", KEY)
    granted(story)
    asks(story, 5)
    story.isr([5, 6], 5)
    story.isr([4, 5, 6], 4)
    story.complete(long)
    asks(story, 7)
    assert judged(of_disks(story)) == (2, [])


# --- what was refused as needless ---------------------------------------------------------


@pytest.mark.parametrize("type", ["fail", "info"])
def test_the_first_replica_led(type: str) -> None:
    story = started()
    needless(story, type=type)
    assert judged(story) == (1, [])


def test_where_it_never_led_that_is_no_reason() -> None:
    story = started(leader=5)
    needless(story)
    (message,) = judged(story)[1]
    assert "was refused as needless" in message
    assert "did not lead then: it does by no record" in message
    story.isr([4, 5, 6], 4)
    assert judged(story) == (1, []), "perhaps it was just going to"


def test_where_it_led_before_a_controller_that_is_deposed_may_say_so() -> None:
    story = left()
    story.wait(1000)
    needless(story)
    assert judged(story) == (1, [])
    (message,) = judged(strict(story))[1]
    assert "did not lead then: it does by the records at offsets 1" in message


def test_where_it_led_while_that_was_asked() -> None:
    for begins_late in (False, True):
        story = strict(started())
        asked = None if begins_late else story.invoke("elect", KEY)
        story.isr([5, 6], 5)
        story.wait(1000)
        asked = asked or story.invoke("elect", KEY)
        story.complete(asked, "fail", error="NO", ext={"asserts": NEEDLESS})
        assert len(judged(story)[1]) == begins_late


def test_where_it_led_as_soon_as_there_was_a_topic() -> None:
    """And no more when that had ended."""
    story = strict(LogStory(readers=("c1",), keepers=VOTERS))
    asked = story.invoke("elect", KEY)
    story.topic()
    story.new_partition([4, 5, 6])
    story.complete(asked, "fail", error="NO", ext={"asserts": NEEDLESS})
    asks(story, 2)
    story.isr([5, 6], 5)
    story.isr([4, 5, 6], 5)
    asks(story, 4)
    assert judged(of_disks(story)) == (1, [])


def test_what_led_of_a_topic_that_is_gone_leads_no_more() -> None:
    story = strict(started())
    story.drop()
    story.wait(1000)
    needless(story)
    assert len(judged(story)[1]) == 1


def test_it_did_not_lead_yet_when_that_had_ended() -> None:
    for shown in (False, True):
        story = started(leader=5)
        needless(story)
        if shown:
            asks(story, 2)
        story.isr([4, 5, 6], 4)
        asks(story, 3)
        assert len(judged(of_disks(story))[1]) == shown


# --- where nothing can be told ------------------------------------------------------------


def test_nodes_that_told_nothing_of_a_partition_are_not_the_whole_log() -> None:
    """As where the files of the one that could tell were not collected."""
    story = LogStory(readers=("c1",))
    story.topic()
    story.new_partition([4, 5])
    needless(story)
    elect(story, "t/1")
    story.final()
    assert judged(story) == (1, [])


def lied() -> LogStory:
    story = left()
    elect(story)
    return story


def test_findings_are_by_disks_or_by_what_nodes_tell() -> None:
    events = lied().run_events()
    (found,) = elected(events, known_log(events))[1]
    assert DISKS in found.contracts
    story = LogStory(readers=("c1",))
    story.topic()
    story.new_partition([4, 5])
    elect(story)
    story.final()
    events = story.run_events()
    (found,) = elected(events, known_log(events))[1]
    assert EVENTS in found.contracts and DISKS not in found.contracts


def test_a_log_that_is_not_known_whole_tells_nothing() -> None:
    story = lied()
    story.keepers = ()
    story.offset += 1
    story.record("NoOpRecord")
    assert judged(story) == (0, [])


@pytest.mark.parametrize("settles", [None, False, True])
@pytest.mark.parametrize("late", [False, True])
def test_without_disks_what_was_granted_may_not_have_been_applied(
    settles: bool | None, late: bool
) -> None:
    story = LogStory(readers=("c1",))
    story.topic()
    story.new_partition([4, 5])
    elect(story) if not late else None
    if settles is not None:
        story.final(settled=settles)
    elect(story) if late else None
    assert judged(story)[0] == (settles is True and not late)


@pytest.mark.parametrize(
    ("plant", "why"),
    [
        (lambda story: None, "nobody asked"),
        (lambda story: elect(story, type="info", error="NO"), "hardly an election"),
        (lambda story: [elect(story, type="fail", error="NO") for _ in range(3)], "hardly an"),
        (elect, "hardly an election"),
        (lambda story: [elect(story), needless(story)], ""),
        (lambda story: [needless(story, type="info"), needless(story)], ""),
    ],
)
def test_there_may_be_no_occasion(plant: Callable[[Story], Any], why: str) -> None:
    story = Story()
    plant(story)
    said = hardly_asked(story.operations)
    assert said.startswith(why) and bool(said) == bool(why)


# --- brute force --------------------------------------------------------------------------


@dataclass
class Dice:
    """A random story of granted elections, some of them open for a while."""

    random: Random
    story: LogStory = field(default_factory=left)
    open: list[Operation] = field(default_factory=list)

    def told(self) -> LogStory:
        for _ in range(self.random.randrange(2, 12)):
            self.random.choice([self.ask, self.answer, self.give, self.take])()
            self.story.wait(self.random.choice([0, 1000]))
        while self.open:
            self.answer()
        return self.story

    def ask(self) -> None:
        self.open.append(self.story.invoke("elect", KEY))

    def answer(self) -> None:
        if self.open:
            asked = self.open.pop(self.random.randrange(len(self.open)))
            self.story.complete(asked)

    def give(self) -> None:
        self.story.isr([4, 5, 6], 4)

    def take(self) -> None:
        self.story.isr([4, 5, 6], 5)


def fewest_left(operations: Sequence[Operation], by_ns: Sequence[int]) -> int:
    """Of all ways to give elections records of their own, those that are left in the best one."""
    most = 0
    chosen: list[Any] = [*range(len(by_ns)), *[None] * len(operations)]
    for way in set(permutations(chosen, len(operations))):
        fits = [
            number is not None and by_ns[number] >= each.began_ns
            for each, number in zip(operations, way, strict=True)
        ]
        most = max(most, sum(fits))
    return len(operations) - most


@pytest.mark.parametrize("seed", range(60))
def test_it_is_the_best_way_to_give_each_a_record(seed: int) -> None:
    story = Dice(Random(seed)).told()
    events = story.run_events()
    steps = [each for each in steps_of(known_log(events))[KEY] if each.gives]
    if len(story.operations) <= 4 and len(steps) <= 4:
        expected = fewest_left(story.operations, [each.by_ns for each in steps])
        assert len(told(events)[1]) == expected
