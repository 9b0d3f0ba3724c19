"""One vote per voter and epoch (D.4)."""

from dataclasses import replace
from itertools import combinations

import pytest
from contract import Plants
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_elections import ID, clean, vote
from planted_runs import NODES, Story, assert_valid

from checkers.one_vote import OneVote, one_vote
from framework.checking.cuts import parts
from framework.evidence.changes import LeaderAnnounced
from framework.evidence.kinds import evidence_of
from framework.evidence.quorum import EpochSaved, Voted
from framework.plugins.capabilities import unmet
from framework.verdict import Verdict


def test_clean_elections_are_accepted() -> None:
    assert_valid(one_vote(clean().run_events()))


def test_nothing_seen_is_unknown() -> None:
    assert one_vote(Story().run_events()).verdict is Verdict.UNKNOWN


PLANTED = Plants(clean)


@PLANTED.violation("voter 3", "candidates 2 and 1", "epoch 2")
def voter_forgets_its_vote_over_a_restart(story: Story) -> None:
    story.boot("c3", (2, -1, -1), log_end=0)
    vote(story, "c3", 2, 1, [1, 1], [0, 0])


@PLANTED.violation("voter 3", "epoch 2")
def voter_saves_another_vote(story: Story) -> None:
    story.saved("c3", 2, voted=3)


@PLANTED.violation("voter 2", "candidates 1 and 3", "epoch 1")
def recovered_vote_differs_from_the_one_given(story: Story) -> None:
    story.boot("c2", (1, -1, 3))


@PLANTED.violation("voter 2", "epoch 2")
def winner_granted_another_too(story: Story) -> None:
    vote(story, "c2", 2, 3, [9, 9], [0, 0])


@PLANTED.violation("voter 2", "candidates 1 and 3", "epoch 1")
def winner_counts_a_vote_that_went_to_another(story: Story) -> None:
    story.event("c3", "elected", epoch=1, start_offset=0, votes=[2, 3])


@PLANTED.violation("c3", "(1, 4)", "(1, 5)", "said")
def vote_for_a_shorter_log(story: Story) -> None:
    vote(story, "c3", 7, 1, [1, 4], [1, 5])


@PLANTED.violation("(1, 50)", "(2, 5)")
def vote_for_a_longer_log_of_an_older_epoch(story: Story) -> None:
    vote(story, "c3", 7, 1, [1, 50], [2, 5])


@PLANTED.violation("c3", "(2, 1)", "written")
def vote_for_a_shorter_log_that_the_voter_lies_about(story: Story) -> None:
    story.append("c3", 0, 2, 22)
    vote(story, "c3", 7, 1, [1, 1], [1, 1])


# --- on disks alone -----------------------------------------------------------------------


def left() -> Story:
    """Nodes tell nothing, by the plan; what they saved and the records that name voters are there.
    c3 was killed after it had voted in epoch 2."""
    story = Story()
    story.plan |= {"capabilities": ["metadata-log", "disk:appended"]}
    disks = story.disks
    disks.lead(1, 1, "c1", "c2", "c3", votes=(1, 2))
    disks.vote("c3", 2, 2)
    disks.restart("c3")
    disks.lead(2, 2, "c1", "c2", "c3", votes=(2, 3))
    disks.vote("c1", 2, None, leader=2)
    disks.vote("c2", 2, 2, leader=2)
    disks.vote("c3", 2, 2, leader=2)
    return story


def test_disks_are_enough() -> None:
    result = judged(OneVote(), left())
    assert result.verdict is Verdict.VALID
    assert clause_of(result, "long-enough-log").verdict is None
    assert clause_of(result, "one-candidate").compared == 3


def test_copies_of_one_record_are_one_mention() -> None:
    story = left()
    for node in ("b1", "b2", "b3"):
        story.disks.lead(1, 1, node, votes=(1, 2))
        story.disks.lead(2, 2, node, votes=(2, 3))
    assert clause_of(judged(OneVote(), story), "one-candidate").compared == 3


def test_nothing_saved_is_unknown() -> None:
    story = left()
    story.disks.evidence = [each for each in story.disks.evidence if each.kind != "epoch-saved"]
    assert_unknown(OneVote(), story, "one-candidate")


def test_events_that_are_left_out_are_unknown() -> None:
    """By the plan nodes should tell."""
    story = left()
    del story.plan["capabilities"]
    assert_unknown(OneVote(), story, "long-enough-log")
    assert_unknown(OneVote(), silent(clean(), "vote"), "long-enough-log")


@PLANTED.violation("voter 3", "candidates 2 and 1", "epoch 2", on=left)
def saved_vote_is_not_the_one_that_the_leader_won_by(story: Story) -> None:
    story.disks.vote("c3", 2, 1)


@PLANTED.violation("voter 3", "candidates 1 and 2", "epoch 2", on=left)
def vote_that_was_forgotten_over_a_restart(story: Story) -> None:
    story.disks.evidence = [
        replace(each, vote=1) if isinstance(each, EpochSaved) and each.incarnation == "1" else each
        for each in story.disks.evidence
    ]


@PLANTED.violation("voter 2", "epoch 2", on=left)
def two_leaders_won_by_one_vote(story: Story) -> None:
    story.disks.lead(3, 2, "b1", votes=(2, 3))


def test_refused_votes_are_none() -> None:
    """Whomever the voter voted for, and however short the candidate's log."""
    story = clean()
    vote(story, "c3", 2, 1, [0, 0], [1, 1], granted=False)
    assert_valid(one_vote(story.run_events()))


def test_an_epoch_may_be_saved_before_the_vote_in_it() -> None:
    story = clean()
    story.saved("c3", 3)
    story.saved("c3", 3, voted=1)
    vote(story, "c3", 3, 1, [2, 1], [0, 0])
    assert_valid(one_vote(story.run_events()))


def test_log_end_that_only_the_boot_knows_is_no_false_alarm() -> None:
    """The line of the last append before a kill is missing."""
    story = clean()
    story.append("c1", 1, 1, 5)
    story.boot("c1", (2, 2, -1), log_end=4, last_epoch=2)
    vote(story, "c1", 3, 2, [2, 4], [2, 4])
    story.event("c1", "truncate", end_offset=3)
    vote(story, "c1", 4, 3, [1, 9], [1, 3])
    assert_valid(one_vote(story.run_events()))


@given(
    st.lists(
        st.tuples(st.sampled_from(list(ID)), st.integers(1, 3), st.integers(1, 3), st.booleans()),
        min_size=1,
        max_size=10,
    )
)
def test_one_vote_is_what_it_says(votes: list[tuple[str, int, int, bool]]) -> None:
    story = Story()
    for node, epoch, candidate, restart in votes:
        if restart:
            story.boot(node)
        vote(story, node, epoch, candidate, [0, 0], [0, 0])
    right = not any(a[:2] == b[:2] and a[2] != b[2] for a, b in combinations(votes, 2))
    assert (one_vote(story.run_events()).verdict is Verdict.VALID) == right


# --- what counts --------------------------------------------------------------------------


def counted(story: Story) -> dict[str, int]:
    return {each.name: each.compared for each in judged(OneVote(), story).clauses}


def test_mentions_of_one_voter_and_epoch_by_several_are_counted() -> None:
    story = Story()
    story.saved("c1", 3, voted=2)
    assert counted(story)["one-candidate"] == 0
    story.saved("c1", 3, voted=2)  # the same process says it again
    assert counted(story)["one-candidate"] == 0
    story.boot("c1", (3, -1, 2))
    assert counted(story)["one-candidate"] == 1
    story.event("c2", "elected", epoch=3, start_offset=0, votes=[1, 2])
    assert counted(story)["one-candidate"] == 2
    story.disks.lead(2, 3, "c3", votes=(1, 2))
    story.disks.lead(2, 3, "b1", votes=(1, 2))
    assert counted(story)["one-candidate"] == 4


def test_refusals_are_no_votes() -> None:
    story = Story()
    vote(story, "c1", 3, 2, [9, 9], [0, 0], granted=False)
    vote(story, "c1", 3, 3, [0, 0], [9, 9])
    outcome = one_vote(story.run_events())
    assert outcome.figures == {"grants": 1}
    assert outcome.findings[0].message.startswith("c1 voted in epoch 3")
    story = Story()
    vote(story, "c1", 3, 2, [0, 0], [9, 9], granted=False)
    assert not one_vote(story.run_events()).findings
    assert counted(story) == {"one-candidate": 0, "long-enough-log": 0}


def test_vote_of_a_log_that_only_one_side_tells_is_compared() -> None:
    story = Story()
    story.boot("c1", log_end=4, last_epoch=2)
    story.event("c1", "truncate", end_offset=3)  # its last record is not known any more
    vote(story, "c1", 3, 2, [2, 4], [2, 3])
    vote(story, "c1", 4, 2, [2, 4], [2, 3])
    assert counted(story)["long-enough-log"] == 2


def test_one_finding_of_a_vote() -> None:
    story = Story()
    story.append("c1", 0, 2, 22)
    vote(story, "c1", 7, 1, [1, 1], [2, 1])
    assert len(one_vote(story.run_events()).findings) == 1


def test_log_that_begins_anew_is_behind_nobody() -> None:
    story = Story()
    story.append("c1", 0, 9, 1, 2, 3)
    story.event("c1", "log_start", offset=9, dropped=True)
    vote(story, "c1", 10, 2, [8, 9], [8, 9])
    assert not judged(OneVote(), story).findings


def test_winner_whose_id_nobody_knows() -> None:
    story = Story()
    story.plan = {"nodes": {}, "time_zero_ns": 0}
    story.event("x", "elected", epoch=3, start_offset=0, votes=[1])
    assert one_vote(story.run_events()).figures == {"grants": 0}


# --- what it asks for, and of whom --------------------------------------------------------


@pytest.mark.parametrize("votes", [{"kept-votes"}, evidence_of(Voted)])
def test_votes_are_reported_or_kept(votes: frozenset[str]) -> None:
    others = evidence_of(EpochSaved, LeaderAnnounced)
    assert unmet(OneVote.requires, others | votes) is None
    assert unmet(OneVote.requires, others)


def test_one_voter_among_several_nodes_is_no_occasion() -> None:
    story = clean()
    story.plan["nodes"] = {name: NODES[name] for name in ("c1", "b1")}
    for clause in judged(OneVote(), story).clauses:
        assert clause.note == "the cluster has one voter"


def test_each_voter_is_judged_in_one_part() -> None:
    story = clean()
    for node in ID:
        for candidate in (1, 2):
            vote(story, node, 7, candidate, [1, 1], [2, 2])
    whole, events = one_vote(story.run_events()), story.run_events()
    found = [one_vote(replace(events, part=each)) for each in parts(3)]
    assert all(each.findings for each in found)
    messages = sorted(one.message for each in found for one in each.findings)
    assert messages == sorted(each.message for each in whole.findings)
    assert sum(each.seen for each in found) == whole.seen
