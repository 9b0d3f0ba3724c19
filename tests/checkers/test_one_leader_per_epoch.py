"""One leader per epoch (D.3)."""

from dataclasses import replace
from itertools import combinations

import pytest
from contract import Plants
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_elections import ID, clean
from planted_runs import Story, assert_invalid, assert_valid

from checkers.one_leader_per_epoch import OneLeaderPerEpoch, one_leader_per_epoch
from framework.checking.keyed import Outcome
from framework.evidence.changes import LeaderAnnounced
from framework.evidence.quorum import EpochSaved
from framework.verdict import Verdict


def test_clean_elections_are_accepted() -> None:
    assert_valid(one_leader_per_epoch(clean().run_events()))


def test_nothing_seen_is_unknown() -> None:
    assert one_leader_per_epoch(Story().run_events()).verdict is Verdict.UNKNOWN


def on_disks() -> Story:
    """The two elections, and what came of them on disks."""
    story = clean()
    disks = story.disks
    for node in ("c1", "c2", "c3"):
        disks.vote(node, 1, None, leader=1)
        disks.restart(node)
    disks.lead(2, 2, "c1", "c2", "c3", "b1", votes=(2, 3))
    for node in ("c1", "c2", "c3"):
        disks.vote(node, 2, None, leader=2)
    return story


def mute() -> Story:
    """By the plan nodes tell nothing."""
    story = silent(on_disks())
    story.operations = []
    story.plan |= {"capabilities": ["disk:epoch-saved"]}
    return story


PLANTED = Plants(on_disks)


@PLANTED.violation("epoch 2", "id 2", "id 3")
def two_elected(story: Story) -> None:
    story.event("c3", "elected", epoch=2, start_offset=0, votes=[1, 3])


@PLANTED.violation("epoch 1", "c3 claimed")
def second_node_claims(story: Story) -> None:
    story.event("c3", "claim", epoch=1, end_offset=4)


@PLANTED.violation("c3 took the role")
def second_node_takes_the_role(story: Story) -> None:
    story.event("c3", "role", role="leader", epoch=2, leader_id=3)


@PLANTED.violation("c1 appended as leader")
def second_node_appends_as_leader(story: Story) -> None:
    story.append("c1", 4, 2, 1, leader=True)


@PLANTED.violation("c3 knew it as leader")
def follower_follows_another(story: Story) -> None:
    story.saved("c3", 2, leader=1)


@PLANTED.violation("saved by c1")
def saved_leader_differs(story: Story) -> None:
    story.boot("c1", (2, 3, -1))


@PLANTED.violation("the record that begins the epoch")
def leader_change_record_of_another(story: Story) -> None:
    story.apply("c3", 5, "LeaderChange", 1, leader_id=3)


# --- on disks alone -----------------------------------------------------------------------


def test_disks_are_enough() -> None:
    assert judged(OneLeaderPerEpoch(), mute()).verdict is Verdict.VALID


@PLANTED.violation("epoch 2", "id 2", "id 1 (the record", on=mute)
def second_record_of_an_epoch(story: Story) -> None:
    story.disks.lead(1, 2, "b2")


@PLANTED.violation("epoch 2", "id 3 (the record", on=mute)
def second_record_that_was_cut_off_after_a_kill(story: Story) -> None:
    story.disks.lead(3, 2, "b1")
    story.disks.restart("b1")
    story.disks.cut("b1", 1)


@PLANTED.violation("epoch 2", "id 2 (the record", "id 3 (c1 knew", on=mute)
def follower_that_saved_another(story: Story) -> None:
    story.disks.vote("c1", 2, None, leader=3)


@PLANTED.violation("epoch 1", "id 1", "id 2 (c3 knew", on=mute)
def former_process_had_saved_another(story: Story) -> None:
    story.disks.evidence = [
        replace(each, leader=2)
        if isinstance(each, EpochSaved) and each.place[:2] == ("c3", "1")
        else each
        for each in story.disks.evidence
    ]


# --- by a majority ------------------------------------------------------------------------


def elects(story: Story, leader: int, votes: list[int], voters: list[int]) -> None:
    """Of epoch 3, alike on all disks."""
    for node in ("c1", "c2", "c3", "b1"):
        story.disks.write(
            node, 3, "LeaderChange", leader_id=leader, granting_voters=votes, voters=voters
        )


@PLANTED.violation("[1, 2, 3] vote, and leader 1 of epoch 3, whose record c1 has", on=mute)
def elected_by_a_minority(story: Story) -> None:
    elects(story, 1, [1], [1, 2, 3])


@PLANTED.violation("was elected by []", on=mute)
def elected_by_nobody(story: Story) -> None:
    elects(story, 1, [], [1, 2, 3])


@PLANTED.violation("was elected by [2, 3], and not by itself", on=mute)
def elected_by_all_others(story: Story) -> None:
    elects(story, 1, [2, 3], [1, 2, 3])


@PLANTED.violation("was elected by [1, 2, 4]", on=mute)
def elected_by_who_does_not_vote(story: Story) -> None:
    elects(story, 1, [1, 2, 4], [1, 2, 3])


@PLANTED.violation("leader 4", "is none of them", on=mute)
def elected_though_it_does_not_vote(story: Story) -> None:
    elects(story, 4, [1, 2, 4], [1, 2, 3, 4])


@PLANTED.violation("has a record that names [1, 2]", on=mute)
def elected_by_a_majority_of_fewer_than_vote(story: Story) -> None:
    elects(story, 1, [1, 2], [1, 2])


@PLANTED.violation("has a record that names []", on=mute)
def elected_by_none_who_may(story: Story) -> None:
    elects(story, 1, [1, 2], [])


@PLANTED.violation("leader 2 of epoch 2", "has the vote of c3, which had saved one for 1", on=mute)
def elected_by_who_had_saved_a_vote_for_another(story: Story) -> None:
    story.disks.vote("c3", 2, 1, leader=2)


def test_a_saved_vote_for_another_is_shown_beside_the_record() -> None:
    story = mute()
    story.disks.vote("c3", 2, 1, leader=2)
    (found,) = one_leader_per_epoch(story.run_events()).findings
    assert [each["type"] for each in found.events] == ["leader-announced", "epoch-saved"]
    story = mute()
    elects(story, 1, [1], [1, 2, 3])
    (found,) = one_leader_per_epoch(story.run_events()).findings
    assert [each["type"] for each in found.events] == ["leader-announced"]
    assert "was elected by [1]" in found.message


def test_who_has_no_id_that_is_known_may_have_saved_any_vote() -> None:
    story = mute()
    story.disks.vote("x", 2, 1, leader=2)
    assert judged(OneLeaderPerEpoch(), story).verdict is Verdict.VALID


def test_one_node_needs_no_majority() -> None:
    story = Story()
    story.plan = {**story.plan, "nodes": {"c1": story.plan["nodes"]["c1"]}}
    story.disks.write("c1", 1, "LeaderChange", leader_id=1, granting_voters=[1], voters=[1])
    clause = clause_of(judged(OneLeaderPerEpoch(), story), "majority")
    assert clause.verdict is None and clause.note == "the cluster has one node"


def test_votes_for_the_leader_and_those_that_are_forgotten_are_right() -> None:
    story = mute()
    story.disks.vote("c3", 2, 2, leader=2)
    story.disks.vote("c2", 2, None, leader=2)
    story.disks.vote("c1", 2, 1, leader=2)  # who did not elect it
    story.disks.vote("c3", 1, 3, leader=1)  # in another epoch
    assert judged(OneLeaderPerEpoch(), story).verdict is Verdict.VALID


def dynamic() -> Story:
    """Clients change who votes."""
    story = mute()
    story.plan |= {"provides": ["voter-changes"]}
    return story


@PLANTED.violation("[1, 2, 3, 4] vote", "was elected by [1, 2]", on=dynamic)
def elected_by_half_of_those_whom_it_names(story: Story) -> None:
    elects(story, 1, [1, 2], [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("leader", "votes", "who"), [(1, [1, 2], [1, 2]), (4, [1, 2, 4], [1, 2, 3, 4]), (1, [], [])]
)
def test_where_clients_change_who_votes_a_record_is_held_against_itself(
    leader: int, votes: list[int], who: list[int]
) -> None:
    story = dynamic()
    elects(story, leader, votes, who)
    assert judged(OneLeaderPerEpoch(), story).verdict is Verdict.VALID


def test_records_that_have_no_place_for_who_voted_show_nothing_of_it() -> None:
    story = mute()
    story.disks.evidence = [
        replace(each, votes=(), voters=()) if isinstance(each, LeaderAnnounced) else each
        for each in story.disks.evidence
    ]
    clause = clause_of(judged(OneLeaderPerEpoch(), story), "majority")
    assert clause.verdict is None and "no record names" in clause.note
    story = Story()
    assert_unknown(OneLeaderPerEpoch(), story, "majority")


# --- too little ---------------------------------------------------------------------------


def test_voter_without_the_record_is_unknown() -> None:
    story = mute()
    story.disks.lost.add("c2")
    assert_unknown(OneLeaderPerEpoch(), story, "one-record")


def test_nothing_saved_is_unknown() -> None:
    story = mute()
    story.disks.evidence = [each for each in story.disks.evidence if each.kind != "epoch-saved"]
    assert_unknown(OneLeaderPerEpoch(), story, "one-claim")


def test_voter_that_should_tell_and_does_not_is_unknown() -> None:
    story = silent(on_disks(), node="c3")
    story.disks.evidence = [
        each for each in story.disks.evidence if (each.node, each.kind) != ("c3", "epoch-saved")
    ]
    assert_unknown(OneLeaderPerEpoch(), story, "one-claim")


@pytest.mark.parametrize("f", ["describe", "follow"])
def test_client_was_answered_by_another_leader_of_the_epoch(f: str) -> None:
    story = Story()
    first = story.op(f, "t", ext={"epoch": 4, "offset": 1}, node="c1")
    second = story.op(f, "t", ext={"epoch": 4, "offset": 1}, node="c2")
    outcome = OneLeaderPerEpoch().check_run(story.run_events())
    assert isinstance(outcome, Outcome)
    assert_invalid(outcome, "epoch 4", "id 1", "id 2")
    assert outcome.findings[0].operations == (first.index, second.index)


@PLANTED.violation("epoch 2", "id 1 (b1 named it to an observer)")
def observer_is_shown_another_leader(story: Story) -> None:
    story.ask("b1", "describe-quorum", type="fail", error="TIMED_OUT")
    story.ask("b1", "describe-quorum", {"leader": 1, "leader_epoch": 2})


@PLANTED.violation("epoch 2", "id 0 (b1 named it to an observer)")
def observer_is_shown_a_leader_with_id_0(story: Story) -> None:
    story.ask("b1", "describe-node", {"leader": 0, "leader_epoch": 2})


@PLANTED.violation("epoch 2", "id 1 (b1 named it to a client)")
def client_is_shown_another_leader_beside_the_voters(story: Story) -> None:
    story.op("describe-voters", None, None, {"leader": 1, "leader_epoch": 2}, node="b1")


def test_who_tells_a_client_of_the_voters_as_others_do_or_not_at_all_is_right() -> None:
    story = clean()
    other = {"leader": 1, "leader_epoch": 2}
    story.op("describe-voters", None, None, {"leader": 2, "leader_epoch": 2}, node="b1")
    story.op("describe-voters", None, None, {**other, "leader": -1}, node="b1")
    story.op("describe-voters", None, None, other, node="b1", type="info", error="X")
    story.op("describe-quorum", None, None, other, node="b1")  # no client asks that
    assert one_leader_per_epoch(story.run_events()).findings == []


def test_what_an_observer_is_shown_is_enough_where_nothing_else_is_known() -> None:
    """As after a run of Apache Kafka that had one leader, who resigned as all were stopped."""
    story = Story()
    story.plan = {**story.plan, "capabilities": []}
    story.disks.lead(1, 1, "c1", "c2", "c3")
    story.ask("c1", "describe-quorum", {"leader": 1, "leader_epoch": 1})
    assert_unknown(OneLeaderPerEpoch(), story, "one-claim")
    story.ask("c1", "describe-quorum", {"leader": 1, "leader_epoch": 1})
    assert_unknown(OneLeaderPerEpoch(), story, "one-claim")
    story.ask("b1", "describe-node", {"leader": 1, "leader_epoch": 1})
    assert judged(OneLeaderPerEpoch(), story).verdict is Verdict.VALID


def test_who_answers_an_observer_otherwise_names_nobody() -> None:
    story = on_disks()
    other = {"leader": 1, "leader_epoch": 2}
    story.ask("b1", "describe-cluster", other)
    story.ask("b1", "describe-node", {**other, "leader": -1})
    story.ask("b1", "describe-node", {**other, "leader": None})
    story.ask("b1", "describe-node", None)
    story.ask("b1", "describe-node", other, type="fail")
    for leader in (1, 2):
        story.ask("b1", "describe-node", {"leader": leader, "leader_epoch": None})
    story.ask("b1", "describe-node", other)
    story.observations[-1] = replace(story.observations[-1], node=None)  # whoever it was
    assert_valid(one_leader_per_epoch(story.run_events()))


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
    assert (not one_leader_per_epoch(story.run_events()).findings) == right


# --- clauses ------------------------------------------------------------------------------


def broken(story: Story) -> list[str]:
    return [
        each.name
        for each in judged(OneLeaderPerEpoch(), story).clauses
        if each.verdict is Verdict.INVALID
    ]


def test_each_clause_is_broken_by_its_own() -> None:
    story = mute()
    story.disks.lead(1, 2, "b2")
    assert broken(story) == ["one-record"]
    story = mute()
    story.disks.vote("c1", 2, None, leader=3)
    assert broken(story) == ["one-claim"]


def counted(story: Story) -> dict[str, int]:
    return {each.name: each.compared for each in judged(OneLeaderPerEpoch(), story).clauses}


def test_what_one_alone_says_is_not_compared() -> None:
    story = Story()
    story.plan = {**story.plan, "capabilities": []}
    story.disks.lead(1, 1, "c1")
    story.disks.vote("c2", 2, None, leader=2)
    assert counted(story) == {"one-record": 0, "one-claim": 0, "majority": 1}
    story.disks.vote("c2", 1, None, leader=1)  # beside the record that c1 has
    assert counted(story) == {"one-record": 0, "one-claim": 1, "majority": 1}
    story.disks.vote("c3", 2, None, leader=2)
    story.disks.lead(1, 1, "c3")
    assert counted(story) == {"one-record": 2, "one-claim": 2, "majority": 2}


def test_two_who_claim_are_enough_where_nodes_tell_nothing() -> None:
    story = Story()
    story.plan = {**story.plan, "capabilities": []}
    story.disks.lead(1, 1, "c1", "c2", "c3")
    for node in ("c1", "c2"):
        story.disks.vote(node, 1, None, leader=1)
    assert judged(OneLeaderPerEpoch(), story).verdict is Verdict.VALID
    story.plan = {**story.plan, "capabilities": ["evidence:elected"]}
    assert_unknown(OneLeaderPerEpoch(), story, "one-claim")


def test_nodes_without_an_id_in_the_plan() -> None:
    story = Story()
    story.plan = {"nodes": {}, "time_zero_ns": 0}
    story.event("x", "elected", epoch=1, start_offset=0, votes=[])
    story.saved("y", 1, leader=4)  # who may be x
    assert not one_leader_per_epoch(story.run_events()).findings
    story.event("z", "claim", epoch=1, end_offset=0)
    assert_invalid(one_leader_per_epoch(story.run_events()), "epoch 1 had 3 leaders", "x (x won")


def test_followers_by_their_roles() -> None:
    story = Story()
    story.event("c1", "role", role="follower", epoch=3, leader_id=2)
    story.event("c3", "role", role="follower", epoch=3, leader_id=1)
    story.event("c2", "role", role="candidate", epoch=4, leader_id=-1)
    outcome = one_leader_per_epoch(story.run_events())
    assert_invalid(outcome, "id 2 (c1 knew it as leader)", "id 1 (c3 knew it as leader)")


def test_only_good_answers_of_voters_to_reads_are_sightings() -> None:
    story = Story()
    story.op("describe", "t", ext={"epoch": 1, "offset": 1}, node="c1")
    story.op("describe", "t", type="fail", ext={"epoch": 1, "offset": 1}, node="c2")
    story.op("create", "t", ext={"epoch": 1, "offset": 1}, node="c2")
    story.op("describe", "t", node="c2")
    story.invoke("describe", "t", node="c2")  # never answered
    story.op("describe", "t", ext={"epoch": 1, "offset": 1}, node="b1")
    outcome = one_leader_per_epoch(story.run_events())
    assert not outcome.findings and outcome.figures == {"epochs": 1}
    story.op("describe", "t", ext={"epoch": 1, "offset": 1}, node="c3")
    assert_invalid(one_leader_per_epoch(story.run_events()), "id 1", "id 3")


def test_record_of_a_leader_with_id_0() -> None:
    story = Story()
    story.disks.lead(0, 1, "c1")
    story.disks.lead(2, 1, "c2")
    assert broken(story) == ["one-record", "majority"]  # 0 does not vote
    story = Story()
    story.disks.lead(-1, 1, "c1")  # names nobody, so that no other contradicts it
    story.disks.lead(2, 1, "c2")
    assert broken(story) == ["majority"]


def test_who_does_not_know_the_leader_names_nobody() -> None:
    story = clean()
    story.event("c3", "role", role="follower", epoch=2, leader_id=-1)
    story.boot("c3", (2, -1, 2), log_end=0)
    assert_valid(one_leader_per_epoch(story.run_events()))


def test_a_leader_whose_id_nobody_knows_has_its_name() -> None:
    story = Story()
    story.plan = {**story.plan, "nodes": {name: {"votes": True} for name in ("c1", "c2")}}
    for node in ("c1", "c2"):
        story.event(node, "elected", epoch=1, start_offset=0, votes=[1, 2])
    outcome = one_leader_per_epoch(story.run_events())
    assert_invalid(outcome, "c1 (c1 won")
    assert "id c1" not in outcome.findings[0].message


def test_a_plan_that_names_no_nodes_is_unknown() -> None:
    story = Story()
    story.plan = {}
    story.describe("t")
    assert one_leader_per_epoch(story.run_events()).verdict is Verdict.UNKNOWN
