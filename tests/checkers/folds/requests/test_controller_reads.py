"""What controllers answer of topics is a point of the log
(`folds/requests/controller_reads.py`), against
brute force. Stories of whole runs are in test_asked_is_made."""

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st
from planted_logs import LogStory
from planted_runs import OTHER, TOPIC

from checkers.folds.metadata_log.committed_log import known_log
from checkers.folds.requests.controller_reads import AT_ACTIVE, BY_BROKER, CONFIGS, controller_reads
from framework.history.pairing import Operation
from tests.cases import cases

SHOWN: Final[dict[str, dict[str, Any] | None]] = {
    "none": None,
    "bare": {"configs": []},
    "set": {"configs": [["retention.ms", "7"]]},
}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["make", "make", "drop", "drop", "set", "unset", "elect"]), st.booleans()
    ),
    max_size=8,
)
ASKS = st.lists(
    st.tuples(
        st.sampled_from([CONFIGS, CONFIGS, AT_ACTIVE]),
        st.sampled_from(["c1", "c1", "c1", "c2"]),
        st.sampled_from([0, 0, 0, 1, 2, 3]),
        st.sampled_from([False, False, True]),
        st.integers(0, 3),
    ),
    min_size=3,
    max_size=5,
)


@dataclass(frozen=True)
class Said:
    """An answer, by when it began and ended, the point that it must show, and that which came
    later."""

    f: str
    node: str
    shown: str
    begin: int
    end: int
    low: int = 0
    later: int = 1 << 30

    def holds(self, states: list[str], at: int, configured: int) -> bool:
        there = self.shown != "none"
        if not self.low <= at <= configured < self.later or there != (states[at] != "none"):
            return False
        if self.f == AT_ACTIVE or not there:
            return configured == at
        return (states[configured] == "set") == (self.shown == "set")


@dataclass
class Cluster:
    """t comes and goes, and is configured; c1 and c2 lead by turns. A state for each point of the
    log, and acknowledged changes with their points and who led."""

    story: LogStory
    states: list[str]
    leader: int
    given: list[tuple[Operation, int, str]]
    made: str = ""

    @classmethod
    def begun(cls) -> "Cluster":
        """A fault holds all the time: nobody owes what others acknowledged."""
        story = LogStory(readers=("c1",))
        story.inject(healed=False, healed_ns=None)
        cluster = cls(story, ["none"], 1, [])
        cluster.elect()
        return cluster

    def elect(self) -> None:
        self.leader, self.story.epoch = 3 - self.leader, self.story.epoch + 1
        self.story.record("LeaderChange", leader_id=self.leader)
        self.states.append(self.states[-1])

    def step(self, step: str, acknowledged: bool) -> None:
        """What there is not is not dropped, nor configured."""
        there, number = self.states[-1] != "none", len(self.states)
        topic_id = f"00000000-0000-0000-0000-{number:012d}"
        if step == "elect":
            self.elect()
        elif step == "make" and not there:
            self.made = topic_id
            self.story.topic("t", topic_id)
            self._after("bare", "create", acknowledged)
        elif step == "drop" and there:
            self.story.record("RemoveTopicRecord", topic_id=self.made)
            self._after("none", "delete", acknowledged)
        elif step in ("set", "unset") and there:
            self.story.config("retention.ms", "7" if step == "set" else None)
            self.states.append("set" if step == "set" else "bare")

    def _after(self, state: str, f: str, acknowledged: bool) -> None:
        self.states.append(state)
        if acknowledged:
            done = self.story.op(f, "t", {}, {"topic_id": self.made}, node="b1")
            self.given.append((done, len(self.states) - 1, f"c{self.leader}"))

    def low(self, f: str, node: str, begin: int) -> int:
        own = [
            point
            for change, point, leader in self.given
            if leader == node and (change.end or 0) < begin
        ]
        return max(own, default=0) if f == AT_ACTIVE else 0

    def later(self, end: int) -> int:
        return min(
            (point for change, point, _ in self.given if change.index > end), default=1 << 30
        )


def possible(states: list[str], said: list[Said]) -> bool:
    """Whether there is a way to give each its point, and one for its configuration."""

    def placed(rest: list[Said], before: list[tuple[Said, int]]) -> bool:
        return not rest or any(
            placed(rest[1:], [*before, (rest[0], later)])
            for at, later in combinations_with_replacement(range(len(states)), 2)
            if rest[0].holds(states, at, later)
            and all(
                point <= at
                for one, point in before
                if (one.f, one.node) == (rest[0].f, rest[0].node) and one.end < rest[0].begin
            )
        )

    return placed(said, [])


@settings(max_examples=cases(400), deadline=None)
@given(steps=STEPS, asks=ASKS)
def test_the_rule_is_what_it_says(
    steps: list[tuple[str, bool]], asks: list[tuple[str, str, int, bool, int]]
) -> None:
    """Of answers that show some point of the last ones, and may begin before the one in front of
    them has ended."""
    cluster, said = Cluster.begun(), list[Said]()
    opened: list[tuple[Operation, str]] = []
    left = list(steps)
    for f, node, back, beside, after in asks:
        for step in left[:after]:
            cluster.step(*step)
        left = left[after:]
        shown = cluster.states[max(0, len(cluster.states) - 1 - back)]
        opened.append((cluster.story.invoke(f, "t", node=node), shown))
        if not beside:
            said += [end(cluster, *each) for each in opened]
            opened = []
    for step in left:
        cluster.step(*step)
    said += [end(cluster, *each) for each in opened]
    said = [replace(each, later=cluster.later(each.end)) for each in said]
    events = cluster.story.run_events()
    _, found = controller_reads(events, known_log(events))
    assert (not found) == possible(cluster.states, said)


def end(cluster: Cluster, begun: Operation, shown: str) -> Said:
    result = SHOWN[shown] if begun.f == CONFIGS else {"exists": shown != "none"}
    done = cluster.story.complete(begun, "ok", result)
    f, node = done.f, str(done.node)
    return Said(f, node, shown, done.index, done.end or 0, cluster.low(f, node, done.index))


# --- one by one ---------------------------------------------------------------------------


def under_a_fault(*capabilities: str) -> LogStory:
    """Nobody owes what others acknowledged. No leader is told, so that nobody has led."""
    story = LogStory(readers=("c1",))
    story.plan = {**story.plan, "capabilities": [*capabilities, "evidence:applied"]}
    story.inject(healed=False, healed_ns=None)
    return story


def made(story: LogStory, name: str = "t", **more: Any) -> Operation:
    story.topic(name)
    return story.create(name, **more)


def exists(story: LogStory, there: bool, f: str = AT_ACTIVE, **more: Any) -> Operation:
    return story.op(f, "t", {}, {"exists": there, **more}, node="c1")


def configured(story: LogStory, name: str = "t", **configs: str) -> Operation:
    told = {"configs": [list(each) for each in configs.items()]}
    return story.op(CONFIGS, name, None, told, node="c1")


def wrong(story: LogStory) -> list[str]:
    events = story.run_events()
    return [each.message for each in controller_reads(events, known_log(events))[1]]


def test_in_front_of_the_first_record_there_is_nothing() -> None:
    story = under_a_fault()
    exists(story, False)
    story.op(CONFIGS, "t", None, None, node="c1")
    exists(story, False, BY_BROKER)
    made(story)
    assert wrong(story) == []
    exists(story, True)
    exists(story, False)
    (found,) = wrong(story)
    assert "which was over at point 1" in found and "the same process had reached" in found


def test_a_dry_run_may_be_told_how_the_topic_would_be_configured() -> None:
    story = under_a_fault()
    exists(story, False, configs=[["retention.ms", "7"]])
    made(story)
    assert wrong(story) == []


def test_what_is_set_for_a_broker_is_no_configuration_of_a_topic_of_that_name() -> None:
    story = under_a_fault()
    made(story, "4")
    story.config("retention.ms", "7", "4", kind=4)
    story.config("segment.bytes", "8", "4")
    configured(story, "4", **{"segment.bytes": "8"})
    assert wrong(story) == []


def test_a_setting_leaves_the_others_as_they_were() -> None:
    story = under_a_fault()
    made(story)
    story.config("retention.ms", "7")
    story.config("segment.bytes", "8")
    configured(story, **{"retention.ms": "7", "segment.bytes": "8"})
    assert wrong(story) == []
    configured(story, **{"segment.bytes": "8"})
    assert len(wrong(story)) == 1


def test_a_log_may_remove_a_topic_of_which_it_does_not_tell() -> None:
    story = under_a_fault()
    made(story)
    story.record("RemoveTopicRecord", topic_id=OTHER)
    configured(story)
    assert wrong(story) == []


STRICT = "linearizable-topic-read"


def test_what_had_been_acknowledged_just_before_is_owed_by_a_dry_run() -> None:
    """Where reads are linearizable; by a cache it is not."""
    for f, late in ((BY_BROKER, 1), (AT_ACTIVE, 1), (CONFIGS, 0)):
        story = under_a_fault(STRICT)
        made(story)
        asked = story.op(f, "t", {}, None if f == CONFIGS else {"exists": False}, node="c2")
        assert asked.index == story.operations[0].end + 1  # type: ignore[operator]
        assert len(wrong(story)) == late


def test_what_was_not_acknowledged_is_owed_by_nobody() -> None:
    """Though it was told which topic it would be."""
    story = under_a_fault(STRICT)
    made(story, type="info", error="CLIENT_TIMED_OUT")
    assert story.operations[0].result == {"topic_id": TOPIC}
    exists(story, False)
    assert wrong(story) == []


def test_who_is_still_to_be_answered_hides_no_one_who_was() -> None:
    story = under_a_fault()
    open_ = story.invoke(AT_ACTIVE, "t", {}, node="c1")
    made(story)
    exists(story, True)
    exists(story, False)
    story.complete(open_, "ok", {"exists": True})
    (found,) = wrong(story)
    assert "the same process had reached" in found


def test_a_late_answer_to_an_early_question_takes_nothing_back() -> None:
    story = under_a_fault()
    open_ = story.invoke(AT_ACTIVE, "t", {}, node="c1")
    made(story)
    exists(story, True)
    story.complete(open_, "ok", {"exists": False})
    exists(story, False)
    (found,) = wrong(story)
    assert "the same process had reached" in found
