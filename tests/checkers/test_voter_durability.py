"""What a leader counted as a voter's is on that voter's disk."""

import pytest
from contract import Plants
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged
from planted_runs import Story, assert_invalid, assert_valid

from checkers.voter_durability import VoterDurability, voter_durability
from framework.verdict import Verdict

CHECKER = VoterDurability()
VOTERS = {"c1": 1, "c2": 2, "c3": 3}


def asked(story: Story, ends: dict[int, int], high: int, *, node: str = "c1") -> None:
    """A leader's answer: voter -> the end of its log."""
    view = {
        "leader": 1,
        "leader_epoch": 1,
        "high_watermark": high,
        "voters": [[voter, end] for voter, end in ends.items()],
    }
    story.ask(node, "describe-quorum", view)


def story_of(ends: dict[str, int]) -> Story:
    """Voters whose disks end there."""
    story = Story()
    story.plan = {
        "nodes": {
            name: {"ids": {"controller": number}, "votes": True} for name, number in VOTERS.items()
        }
    }
    for node, end in ends.items():
        for _ in range(max(end, 1)):
            story.disks.write(node, 1)
        if not end:
            story.disks.cut(node, 0)
    return story


def clean() -> Story:
    """c3 was told of as far as 4, and has more now; what c2 has of its own was never committed."""
    story = story_of({"c1": 6, "c2": 7, "c3": 5})
    asked(story, {1: 3, 2: 2, 3: -1}, 2)
    asked(story, {1: 6, 2: 6, 3: 4}, 6)
    return story


def test_clean_disks_are_accepted() -> None:
    assert_valid(voter_durability(clean().run_events()))


def test_what_was_never_committed_may_be_cut_off() -> None:
    story = clean()
    asked(story, {1: 9, 2: 8, 3: 5}, 6)
    assert_valid(voter_durability(story.run_events()))


def test_a_snapshot_stands_for_what_is_below_it() -> None:
    story = story_of({"c1": 6, "c2": 6, "c3": 0})
    asked(story, {1: 6, 2: 6, 3: 6}, 6)
    assert_invalid(voter_durability(story.run_events()), "c3")
    story.disks.snapshot("c3", 6, 1)
    assert_valid(voter_durability(story.run_events()))


def test_a_single_record_is_something() -> None:
    story = story_of({"c1": 1, "c2": 1, "c3": 0})
    asked(story, {1: 1, 2: 1, 3: 0}, 1)
    assert_valid(voter_durability(story.run_events()))
    asked(story, {1: 1, 2: 1, 3: 1}, 1)
    assert_invalid(voter_durability(story.run_events()), "c3's log ends at 0", "all below 1")


PLANTED = Plants(clean)


@PLANTED.violation("c2's log ends at 5", "all below 6")
def voter_lost_its_end(story: Story) -> None:
    story.disks.cut("c2", 5)


@PLANTED.violation("c3's log ends at 0", "all below 4")
def voter_lost_all(story: Story) -> None:
    story.disks.cut("c3", 0)


@PLANTED.violation("c1's log ends at 6", "all below 7")
def leader_lost_its_own_end(story: Story) -> None:
    asked(story, {1: 7, 2: 7, 3: 5}, 7)


@PLANTED.violation("c3's log ends at 5", "all below 6")
def leader_counted_what_the_voter_never_had(story: Story) -> None:
    asked(story, {1: 6, 2: 6, 3: 6}, 6)


def test_nobody_asked_is_unknown() -> None:
    story = clean()
    story.observations.clear()
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.UNKNOWN
    assert "no leader said" in clause_of(result, "kept").note


def test_only_leaders_that_name_voters_are_asked() -> None:
    story = clean()
    story.ask("c1", "describe-quorum", type="fail", error="NOT_LEADER_OR_FOLLOWER")
    story.ask("c1", "describe-quorum", {"leader": 1, "leader_epoch": 1, "voters": []})
    story.ask("c1", "metadata-log", {"voters": [[2, 99]], "high_watermark": 99, "leader": 1})
    outcome = voter_durability(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["answers"] == 2


def test_a_voter_that_is_in_no_plan_has_no_disk() -> None:
    story = clean()
    asked(story, {1: 6, 2: 6, 3: 4, 9: 6}, 6)
    assert_valid(voter_durability(story.run_events()))


def test_voters_of_whom_nobody_says_by_which_id_they_vote() -> None:
    """A broker's id helps nobody."""
    story = clean()
    both = {"ids": {"controller": 1, "broker": 4}, "votes": True}
    story.plan = {"nodes": {"c1": both, "c2": both, "b1": {"ids": {"broker": 9}}}}
    assert "which of its ids" in clause_of(judged(CHECKER, story), "kept").note


def test_a_voter_that_is_alone_has_nobody_to_be_held_against() -> None:
    story = story_of({"c1": 6})
    story.plan = {"nodes": {"c1": story.plan["nodes"]["c1"], "b1": {"ids": {"broker": 9}}}}
    asked(story, {1: 6}, 6)
    assert "has one voter" in clause_of(judged(CHECKER, story), "kept").note


def test_a_finding_shows_the_answer_and_the_disk() -> None:
    story = clean()
    story.disks.cut("c2", 5)
    (found,) = voter_durability(story.run_events()).findings
    assert found.operations == (story.observations[-1].index,)
    assert [each["node"] for each in found.events] == ["c2"]


def test_a_voter_whose_disk_cannot_be_read_is_missed() -> None:
    story = clean()
    story.disks.wrong["c2"] = "has nothing at offsets 2 to 3"
    assert_unknown(CHECKER, story, "kept")


@pytest.mark.parametrize("end", [-1, 0])
def test_a_voter_that_no_leader_ever_counted_is_missed(end: int) -> None:
    story = story_of({"c1": 6, "c2": 6, "c3": 5})
    asked(story, {1: 6, 2: 6, 3: end}, 6)
    assert_unknown(CHECKER, story, "kept")


@given(
    ends=st.lists(st.integers(0, 6), min_size=3, max_size=3),
    answers=st.lists(
        st.tuples(st.lists(st.integers(-1, 8), min_size=3, max_size=3), st.integers(0, 8)),
        min_size=1,
        max_size=4,
    ),
)
def test_the_rule_is_what_it_says(ends: list[int], answers: list[tuple[list[int], int]]) -> None:
    """Against each answer, voter and offset."""
    story = story_of(dict(zip(VOTERS, ends, strict=True)))
    for shown, high in answers:
        asked(story, dict(zip((1, 2, 3), shown, strict=True)), high)
    lost = any(
        offset >= end
        for shown, high in answers
        for end, voter in zip(ends, shown, strict=True)
        for offset in range(min(voter, high))
    )
    assert bool(voter_durability(story.run_events()).findings) == lost
