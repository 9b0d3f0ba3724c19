"""One leader per epoch (D.3) and one vote per voter and epoch (D.4)."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st
from planted_runs import Story, assert_invalid, assert_valid

from checkers.one_leader_per_epoch import one_leader_per_epoch
from checkers.one_vote import one_vote
from framework.verdict import Verdict

ID = {"c1": 1, "c2": 2, "c3": 3}
NODE = {number: node for node, number in ID.items()}


def clean() -> Story:
    """Two elections; c1 is killed in between and comes back."""
    story = Story()
    for node in ("c1", "c2", "c3", "b1"):
        story.boot(node)
    story.saved("c1", 1, voted=1)
    story.saved("c2", 1, voted=1)
    vote(story, "c2", 1, 1, [0, 0], [0, 0])
    story.saved("c1", 1, leader=1, voted=1)
    story.event("c1", "role", role="leader", epoch=1, leader_id=1)
    story.event("c1", "elected", epoch=1, start_offset=0, votes=[1, 2])
    story.append("c1", 0, 1, 11, leader=True)
    story.saved("b1", 1, leader=1)
    story.event("c1", "claim", epoch=1, end_offset=1)
    story.describe("t")
    story.saved("c2", 2, voted=2)
    story.append("c3", 0, 1, 11)
    story.event("c3", "truncate", end_offset=0)
    story.saved("c3", 2, voted=2)
    vote(story, "c3", 2, 2, [0, 0], [0, 0])
    story.saved("c2", 2, leader=2, voted=2)
    story.event("c2", "elected", epoch=2, start_offset=0, votes=[2, 3])
    story.append("c2", 0, 2, 22, leader=True)
    story.apply("b1", 0, "LeaderChange", 2, leader_id=2)
    story.boot("c1", (2, 2, -1), log_end=1, last_epoch=1)
    vote(story, "c1", 2, 3, [1, 1], [1, 1], granted=False)
    story.saved("c1", 2, leader=2)
    return story


def vote(
    story: Story,
    node: str,
    epoch: int,
    candidate: int,
    theirs: list[int],
    own: list[int],
    granted: bool = True,
) -> None:
    story.event(
        node,
        "vote",
        epoch=epoch,
        candidate_id=candidate,
        granted=granted,
        candidate_last=theirs,
        own_last=own,
        error=0,
    )


def test_clean_elections_are_accepted() -> None:
    assert_valid(one_leader_per_epoch(clean().run_events()))
    assert_valid(one_vote(clean().run_events()))


def test_nothing_seen_is_unknown() -> None:
    assert one_leader_per_epoch(Story().run_events()).verdict is Verdict.UNKNOWN
    assert one_vote(Story().run_events()).verdict is Verdict.UNKNOWN


# --- one leader: each witness -------------------------------------------------------------


def test_two_elected() -> None:
    story = clean()
    story.event("c3", "elected", epoch=2, start_offset=0, votes=[1, 3])
    assert_invalid(one_leader_per_epoch(story.run_events()), "epoch 2", "id 2", "id 3")


def test_second_node_claims() -> None:
    story = clean()
    story.event("c3", "claim", epoch=1, end_offset=4)
    assert_invalid(one_leader_per_epoch(story.run_events()), "epoch 1", "c3 claimed")


def test_second_node_takes_the_role() -> None:
    story = clean()
    story.event("c3", "role", role="leader", epoch=2, leader_id=3)
    assert_invalid(one_leader_per_epoch(story.run_events()), "c3 took the role")


def test_second_node_appends_as_leader() -> None:
    story = clean()
    story.append("c1", 4, 2, 1, leader=True)
    assert_invalid(one_leader_per_epoch(story.run_events()), "c1 appended as leader")


def test_follower_follows_another() -> None:
    story = clean()
    story.saved("c3", 2, leader=1)
    assert_invalid(one_leader_per_epoch(story.run_events()), "c3 knew it as leader")


def test_saved_leader_differs() -> None:
    story = clean()
    story.boot("c1", (2, 3, -1))
    assert_invalid(one_leader_per_epoch(story.run_events()), "saved by c1")


def test_leader_change_record_of_another() -> None:
    story = clean()
    story.apply("c3", 5, "LeaderChange", 1, leader_id=3)
    assert_invalid(one_leader_per_epoch(story.run_events()), "the record that begins the epoch")


def test_client_was_answered_by_another_leader_of_the_epoch() -> None:
    story = Story()
    first = story.op("describe", "t", ext={"epoch": 4, "offset": 1}, node="c1")
    second = story.op("describe", "t", ext={"epoch": 4, "offset": 1}, node="c2")
    outcome = one_leader_per_epoch(story.run_events())
    assert_invalid(outcome, "epoch 4", "id 1", "id 2")
    assert outcome.findings[0].operations == (first.index, second.index)


def test_answers_of_brokers_are_no_sightings() -> None:
    story = clean()
    story.op("describe", "t", ext={"epoch": 1, "offset": 1}, node="b1")
    assert_valid(one_leader_per_epoch(story.run_events()))


@given(st.lists(st.tuples(st.integers(1, 4), st.sampled_from(list(ID))), min_size=1, max_size=12))
def test_one_leader_is_what_it_says(wins: list[tuple[int, str]]) -> None:
    story = Story()
    for epoch, node in wins:
        story.event(node, "elected", epoch=epoch, start_offset=0, votes=[])
    right = not any(a[0] == b[0] and a[1] != b[1] for a, b in combinations(wins, 2))
    assert (one_leader_per_epoch(story.run_events()).verdict is Verdict.VALID) == right


# --- one vote -----------------------------------------------------------------------------


def test_voter_forgets_its_vote_over_a_restart() -> None:
    story = clean()
    story.boot("c3", (2, -1, -1), log_end=0)
    vote(story, "c3", 2, 1, [1, 1], [0, 0])
    assert_invalid(one_vote(story.run_events()), "voter 3", "candidates 2 and 1", "epoch 2")


def test_voter_saves_another_vote() -> None:
    story = clean()
    story.saved("c3", 2, voted=3)
    assert_invalid(one_vote(story.run_events()), "voter 3", "epoch 2")


def test_recovered_vote_differs_from_the_one_given() -> None:
    story = clean()
    story.boot("c2", (1, -1, 3))
    assert_invalid(one_vote(story.run_events()), "voter 2", "candidates 1 and 3", "epoch 1")


def test_winner_granted_another_too() -> None:
    story = clean()
    vote(story, "c2", 2, 3, [9, 9], [0, 0])
    assert_invalid(one_vote(story.run_events()), "voter 2", "epoch 2")


def test_winner_counts_a_vote_that_went_to_another() -> None:
    story = clean()
    story.event("c3", "elected", epoch=1, start_offset=0, votes=[2, 3])
    assert_invalid(one_vote(story.run_events()), "voter 2", "candidates 1 and 3", "epoch 1")


def test_vote_for_a_shorter_log() -> None:
    story = clean()
    vote(story, "c3", 7, 1, [1, 4], [1, 5])
    assert_invalid(one_vote(story.run_events()), "c3", "(1, 4)", "(1, 5)", "said")


def test_vote_for_a_longer_log_of_an_older_epoch() -> None:
    story = clean()
    vote(story, "c3", 7, 1, [1, 50], [2, 5])
    assert_invalid(one_vote(story.run_events()), "(1, 50)", "(2, 5)")


def test_vote_for_a_shorter_log_that_the_voter_lies_about() -> None:
    story = clean()
    story.append("c3", 0, 2, 22)
    vote(story, "c3", 7, 1, [1, 1], [1, 1])
    assert_invalid(one_vote(story.run_events()), "c3", "(2, 1)", "written")


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
