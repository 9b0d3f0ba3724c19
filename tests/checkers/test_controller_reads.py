"""What controllers answer of topics is a point of the log (`folds/controller_reads.py`), against
brute force. Stories of whole runs are in test_asked_is_made."""

from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st
from planted_logs import LogStory

from checkers.folds.committed_log import known_log
from checkers.folds.controller_reads import AT_ACTIVE, CONFIGS, controller_reads
from framework.history.pairing import Operation

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


@settings(max_examples=400, deadline=None)
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
