"""What looks have forgotten of a run is contradicted by what comes later: the first half of a story
is over at one look, of which rules keep little, and the other half breaks it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
import test_metadata_answers as answers
import test_observed_cluster as observed
from planted_runs import NODES, OTHER, Story, shown
from test_looks import CHECKERS, FORGETFUL, broken, lines_of, said, stored, verdicts, whole

from framework.checking.findings import compared
from framework.checking.keyed import Outcome
from framework.checking.looks import Looks
from framework.evidence.run_events import RunEvents
from framework.verdict import Verdict

THIRD: Final = "33333333-3333-3333-3333-333333333333"


@dataclass(frozen=True, slots=True)
class Span:
    """`first` is as it should be, and enough to be judged; what `then` adds breaks `clause`, or
    `holds`."""

    checker: str
    clause: str
    first: Callable[[], Any]
    then: Callable[[Any], object]
    holds: bool = False


def a_late_epoch(*leaders: int) -> Callable[[], observed.Asked]:
    """Of the quorum, in which c3 names these one after another; -1: nobody."""

    def told() -> observed.Asked:
        story = observed.clean()
        for leader in leaders:
            story.node("c3", leader=leader, leader_epoch=7)
        return story

    return told


def broker_epochs() -> Story:
    return answered((4, 3), (5, 11), (4, 9), (5, 12), (6, 1), (4, 9))


def answered(*epochs: tuple[int, int], story: Story | None = None) -> Story:
    story = story or Story()
    for broker, epoch in epochs:
        story.heartbeat(broker, -1, answered=epoch)
    return story


def states() -> answers.Answers:
    """Of t/0, up to version 4, and of another topic; an observer is shown replicas of v/0."""
    story = answers.ended(answers.clean())
    for version in (3, 5, 7):
        story.read(version, topic_id=OTHER)
    told = [{"name": "v", **answers.cached(THIRD)}]
    story.ask("b1", "describe-topics", {"brokers": [], "topics": told})
    return story


def wanted() -> answers.Answers:
    story = states()
    answers.moved(story, [4, 7])
    return story


def changed() -> answers.Answers:
    """Of another topic's partition reads between two ISR changes, which alone show replicas."""
    story = answers.ended(answers.clean())
    story.alter(0, [4, 5], topic_id=OTHER)
    story.read(2, topic_id=OTHER)
    story.read(3, topic_id=OTHER)
    story.alter(3, [4], topic_id=OTHER)
    return story


def played() -> Story:
    """A client plays t/0's leader 4, which has a leader epoch without it in between, and is leader
    again in version 6. A read of what was committed is behind at the end."""
    story = Story(plan={"nodes": NODES})
    story.describe("t", shown(0, [4, 5, 6]))
    for version, isr in enumerate(([4, 5], [4], [4, 6], [4])):
        story.alter(version, isr)
    story.describe("t", shown(5, [4], leader=-1, leader_epoch=1))
    story.describe("t", shown(6, [4], leader_epoch=2))
    story.follow("t", shown(4, [4]))
    return story


def asked() -> Story:
    """A change of the newest version is asked for, and not answered; another one is refused."""
    story = played()
    story.alter(6, [4, 6], leader_epoch=2, type="info")
    story.alter(6, [5], leader_epoch=2, type="fail", error="NOT_LEADER")
    return story


def made() -> Story:
    """It was made, as reads show, of which the one before it shows another partition, too. Then
    nothing is new for a while."""
    story = played()
    story.describe("t", shown(6, [4], leader_epoch=2), shown(0, [4], partition=1))
    story.alter(6, [4, 6], leader_epoch=2, type="info")
    story.describe("t", shown(7, [4, 6], leader_epoch=2))
    story.alter(7, [4], leader_epoch=2, type="fail", error="INVALID_UPDATE_VERSION")
    for _ in range(8):
        story.follow("t", shown(4, [4]))
    return story


def unplayed() -> Story:
    """Under leader 5, which no client plays, 4 joins the ISR; then a client plays leader 4."""
    story = Story(plan={"nodes": NODES})
    story.describe("t", shown(0, [5], leader=5))
    story.describe("t", shown(1, [4, 5], leader=5))
    story.describe("t", shown(2, [4, 5], leader_epoch=1))
    for version in range(2, 9):
        story.alter(version, [4, 6] if version % 2 else [4], leader_epoch=1)
    return story


SPANS: Final = {
    "the leader of an epoch that was over": Span(
        *("observed-cluster", "one-leader", observed.clean),
        lambda story: story.node("c3", leader=3, leader_epoch=1),
    ),
    "a leader whose epoch began with nobody": Span(
        *("observed-cluster", "one-leader", a_late_epoch(-1, 2)),
        lambda story: story.node("c2", leader=1, leader_epoch=7),
    ),
    "a leader whose id is 0": Span(
        *("observed-cluster", "one-leader", a_late_epoch(0)),
        lambda story: story.node("c2", leader=1, leader_epoch=7),
    ),
    "the address of a broker": Span(
        *("observed-cluster", "one-address", observed.clean),
        lambda story: story.brokers("b3", b2="elsewhere"),
    ),
    "the epoch of a broker": Span(
        *("monotonic-counters", "answers", broker_epochs),
        lambda story: answered((4, 8), story=story),
    ),
    "the epoch of a broker that was asked once": Span(
        *("monotonic-counters", "answers", broker_epochs),
        lambda story: answered((6, 0), story=story),
    ),
    "the state of a version": Span(
        *("metadata-answers", "versions", states),
        lambda story: story.read(4, leader_epoch=2, isr=[4, 5]),
    ),
    "the leader epoch of a version": Span(
        *("metadata-answers", "versions", states),
        lambda story: story.read(9, leader_epoch=1, isr=[4]),
    ),
    "a read of a version that others had followed": Span(
        *("metadata-answers", "versions", states),
        lambda story: story.read(5, topic_id=OTHER, isr=[4]),
    ),
    "a read of a version that a change had followed, and of a partition that nobody had read": Span(
        *("metadata-answers", "versions", changed),
        lambda story: story.describe(
            "t", shown(3, [4]), shown(0, [4, 5, 6], partition=1), topic_id=OTHER
        ),
    ),
    "the state of a version that others had followed": Span(
        *("metadata-answers", "versions", states),
        lambda story: story.alter(4, [4], topic_id=OTHER),
    ),
    "who played a leader": Span(
        *("isr-linearizability", "asked-for", played),
        lambda story: story.describe("t", shown(7, [4, 5], leader_epoch=2)),
    ),
    "a version that was over, beside another partition": Span(
        *("isr-linearizability", "never-back", played),
        lambda story: story.follow("t", shown(3, [4]), shown(0, [4], partition=1)),
    ),
    "a change that was not answered": Span(
        *("isr-linearizability", "asked-for", asked),
        lambda story: story.describe("t", shown(7, [4, 6], leader_epoch=2)),
        holds=True,
    ),
    "a change of which both sides are kept": Span(
        *("isr-linearizability", "asked-for", made),
        lambda story: story.describe("t", shown(7, [4, 6], leader_epoch=2)),
        holds=True,
    ),
    "what was done under a leader whom nobody had played": Span(
        *("isr-linearizability", "asked-for", unplayed),
        lambda story: story.alter(9, [5], broker_id=5, type="fail", error="NOT_LEADER"),
    ),
    "replicas": Span(
        *("metadata-answers", "replicas", states),
        lambda story: story.cache("b2", leader_epoch=2, isr=[4], replicas=[4, 5, 7]),
    ),
    "replicas that only an observer was shown": Span(
        *("metadata-answers", "replicas", states),
        lambda story: story.cache("b2", topic_id=THIRD, replicas=[4, 5, 7], isr=[4]),
    ),
    "replicas that no ISR change shows": Span(
        *("metadata-answers", "replicas", changed),
        lambda story: story.cache("b2", topic_id=OTHER, isr=[4], replicas=[4, 5, 7]),
    ),
    "replicas that somebody wanted": Span(
        *("metadata-answers", "replicas", wanted),
        lambda story: story.cache("b2", leader_epoch=2, isr=[4], replicas=[4, 7]),
        holds=True,
    ),
}
"""By what is forgotten."""
OF_THESE: Final = {name: each for name, each in SPANS.items() if each.checker in CHECKERS}


def counting(name: str, judged: list[int]) -> dict[str, Any]:
    """The checker, which notes of how many operations and observations it is asked to judge."""
    checker: Any = CHECKERS[name]
    rule = checker.so_far.check.rule

    def counted(events: RunEvents) -> Any:
        judged.append(len(events.operations) + len(events.observations))
        return rule(events)

    class Counting(type(checker)):  # type: ignore[misc]
        so_far = replace(checker.so_far, check=replace(checker.so_far.check, rule=counted))

    return {name: Counting()}


@pytest.mark.parametrize("span", OF_THESE.values(), ids=OF_THESE.keys())
def test_what_was_forgotten_is_contradicted_by_what_was_kept(tmp_path: Path, span: Span) -> None:
    story, judged = span.first(), list[int]()
    checkers = counting(span.checker, judged)
    cut, size = len(lines_of([story])), len(story.operations) + len(story.observations)
    span.then(story)
    ends = stored(tmp_path, lines_of([story]), story.run_events().plan)
    looks = Looks(tmp_path, checkers, FORGETFUL)
    said(checkers, looks.look(ends[2 * cut // 3]))  # so that some is forgotten twice
    first = verdicts(said(checkers, looks.look(ends[cut - 1])))
    assert first[span.checker, span.clause] is Verdict.VALID and not broken(first)
    judged.clear()
    last = verdicts(said(checkers, looks.look(ends[-1])))
    assert judged[0] <= size / 2 + 1, "most of it was forgotten after the first look"
    at_once = verdicts(whole(checkers, tmp_path, ends[-1]))
    breaks = set() if span.holds else {(span.checker, span.clause)}
    assert broken(last) == broken(at_once) == breaks


@pytest.mark.parametrize("name", {"observed-cluster"} & CHECKERS.keys())
def test_what_only_observers_were_told_is_said_at_the_first_look(tmp_path: Path, name: str) -> None:
    story, checkers = observed.Asked(), {name: CHECKERS[name]}
    for leader in (1, 2):
        story.node(f"c{leader}", leader=leader)
    ends = stored(tmp_path, lines_of([story]), story.run_events().plan)
    found = verdicts(said(checkers, Looks(tmp_path, checkers).look(ends[-1])))
    assert broken(found) == {(name, "one-leader")}


RULES_OF_THEIR_OWN: Final = sorted(
    name
    for name, checker in CHECKERS.items()
    if name in {each.checker for each in OF_THESE.values()}
    and checker.so_far.check is not checker.check_run  # type: ignore[union-attr]
)
"""Of checkers of which looks ask another rule than the check at the end."""


@pytest.mark.parametrize("name", RULES_OF_THEIR_OWN)
def test_of_a_healthy_run_a_look_says_what_the_check_at_its_end_says(name: str) -> None:
    """As often, too: a clause of which one says that there was no occasion is not judged."""
    checker: Any = CHECKERS[name]
    (first, *_) = (each.first for each in OF_THESE.values() if each.checker == name)
    events = first().run_events()
    own = {each.name for each in checker.live}
    for plan in (events.plan, dict[str, Any]()):
        known = replace(events, plan=plan)
        shown = checker.so_far.shown(known)
        so_far, at_the_end = checker.so_far.check.rule(shown), checker.check_run(known)
        assert isinstance(so_far, Outcome) and isinstance(at_the_end, Outcome)
        assert so_far.clauses and at_the_end.clauses
        for clause in own:
            one, other = so_far.clauses[clause], at_the_end.clauses[clause]
            assert compared(one) == compared(other), clause
