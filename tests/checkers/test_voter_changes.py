"""Who votes changes by requests alone, one at a time, and nobody is told otherwise."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from contract import Plants
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged
from planted_disks import NOTHING
from planted_runs import Story, assert_invalid, assert_valid

from checkers.folds.metadata_log.disk_logs import CommittedOnDisks
from checkers.folds.quorum.explained import NEVER
from checkers.folds.quorum.voter_sets import Change, Step, VoterSets
from checkers.voter_changes import BY_DISKS, Run, VoterChanges, _dated, voter_changes
from framework.evidence import changes
from framework.evidence.quorum import Appended, Voter
from framework.history.pairing import Operation
from framework.plugins.capabilities import VOTER_CHANGES, unmet
from framework.verdict import Verdict

CHECKER = VoterChanges()
NODES = ("c1", "c2", "c3")
ALL = (1, 2, 3)
BROKERS = (4, 5, 6)


def directory(voter: int) -> str:
    return f"d{voter}"


def at(voter: int) -> dict[str, Any]:
    """Where it is."""
    return {"name": "CONTROLLER", "host": f"c{voter}", "port": 9093}


def named(voters: Collection[int]) -> tuple[Voter, ...]:
    return tuple(Voter(id=each, directory=directory(each)) for each in voters)


def records(story: Story, epoch: int, *voters: int, nodes: Collection[str] = NODES) -> int:
    """A record that names them, on these disks; its offset."""
    for node in nodes:
        at = story.disks.ends.get(node, 0)
        story.disks.tell(
            Appended,
            node,
            base_offset=at,
            end_offset=at + 1,
            epoch=epoch,
            control=True,
            crcs=(sum(voters),),
            leading=None,
        )
        story.disks.tell(changes.VotersNamed, node, offset=at, epoch=epoch, voters=named(voters))
        story.disks.ends[node] = at + 1
    return at


def leads(
    story: Story,
    leader: int,
    epoch: int,
    voters: Collection[int] = ALL,
    votes: Collection[int] = (1, 2),
    nodes: Collection[str] = NODES,
) -> None:
    fields = {"leader_id": leader, "granting_voters": list(votes), "voters": list(voters)}
    for node in nodes:
        story.disks.write(node, epoch, "LeaderChange", **fields)


def asks(story: Story, does: str, voter: int, **more: Any) -> Operation:
    value = {"id": voter, "directory": directory(voter)}
    return story.op(f"{does}-voter", f"voter-{voter}", value, **more)


def told(
    story: Story,
    voters: Collection[int],
    *,
    epoch: int = 1,
    leader: int = 1,
    high: int | None = None,
    end: int | None = None,
    open_read: Operation | None = None,
) -> Operation:
    """By a leader all of whose log is committed, where nothing else is said."""
    now = max(story.disks.ends.values())
    view = {
        "leader": leader,
        "leader_epoch": epoch,
        "high_watermark": now if high is None else high,
        "log_end": (now if end is None else end) if end != -1 else None,
        "voters": [
            {"id": each, "directory": directory(each), "addresses": [at(each)]} for each in voters
        ],
        "observers": [*sorted({*ALL} - {*voters}), *BROKERS],
    }
    read = open_read or story.invoke("describe-voters", None)
    return story.complete(read, result=view)


def begun() -> Story:
    """All vote, by the first snapshot and by the log: c1 leads."""
    story = Story()
    for node in NODES:
        story.disks.snapshot(node, 0, 0, voters=named(ALL))
    leads(story, 1, 1)
    records(story, 1, *ALL)
    story.disks.fill(1, 2, *NODES)
    told(story, ALL)
    return story


def clean() -> Story:
    """c3 leaves (offset 4) and comes back (6); c1, which leads, leaves (7), and c2 leads (8); c1
    comes back (9), by a request that was not answered. A snapshot is of when c3 was away."""
    story = begun()
    asks(story, "remove", 3)
    records(story, 1, 1, 2)
    told(story, (1, 2))
    story.disks.fill(1, 1, *NODES)
    story.disks.snapshot("c2", 6, 1, voters=named((1, 2)))
    asks(story, "add", 3)
    records(story, 1, *ALL)
    asks(story, "remove", 1)
    records(story, 1, 2, 3)
    told(story, (2, 3))
    leads(story, 2, 2, (2, 3), (2, 3))
    asks(story, "add", 1, type="fail", error="X")
    asks(story, "add", 1, type="info", error="X")
    records(story, 2, *ALL)
    story.disks.fill(2, 1, *NODES)
    told(story, ALL, epoch=2, leader=2)
    return story


def test_what_changes_by_requests_is_accepted() -> None:
    assert_valid(voter_changes(clean().run_events()))
    result = judged(CHECKER, clean())
    assert result.verdict is Verdict.VALID
    assert {each.name: each.compared for each in result.clauses} == {
        "asked-is-recorded": 3,
        "recorded-was-asked": 4,
        "one-order": 4,
        "one-at-a-time": 4,
        "told-is-in-force": 4,
        "voters-elect": 2,
        "snapshots-agree": 4,
        "one-place": 7,
        "who-follows": 4,
    }


PLANTED = Plants(clean)


@PLANTED.violation("to remove voter 2 (d2) was acknowledged 1 times", "log 0 times")
def acknowledged_and_not_done(story: Story) -> None:
    asks(story, "remove", 2)


@PLANTED.violation("to add voter 3 (d3) was acknowledged 2 times", "log 1 times")
def two_acknowledged_and_one_done(story: Story) -> None:
    asks(story, "add", 3)


@PLANTED.violation("to remove voter 3 (d3) stands", "log 2 times", "asked for, and not refused, 1")
def nobody_asked(story: Story) -> None:
    records(story, 2, 1, 2)


@PLANTED.violation("to remove voter 3", "log 2 times", "not refused, 1 times")
def refused_and_done(story: Story) -> None:
    asks(story, "remove", 3, type="fail", error="X")
    records(story, 2, 1, 2)


@PLANTED.violation("makes voters [1, 2, 3] into [1]", "remove voter 2 (d2), remove voter 3 (d3)")
def two_at_a_time(story: Story) -> None:
    asks(story, "remove", 3)
    asks(story, "remove", 2)
    records(story, 2, 1)


@PLANTED.violation("makes voters [1, 2, 3] into [1, 2, 3]", "remove voter 3 (d3), add voter 3 (x)")
def another_directory(story: Story) -> None:
    for node in NODES:
        story.disks.write(node, 2, NOTHING)
        at = story.disks.ends[node]
        other = (*named((1, 2)), Voter(id=3, directory="x"))
        story.disks.write(node, 2, NOTHING, at=99)
        story.disks.tell(changes.VotersNamed, node, offset=at, epoch=2, voters=other)
        story.disks.evidence = [
            each
            for each in story.disks.evidence
            if not (
                isinstance(each, changes.OtherChange) and each.node == node and each.offset == at
            )
        ]


@PLANTED.violation("in no order", "the change at offset 11, to remove voter 2")
def done_in_another_order(story: Story) -> None:
    """3's removal was acknowledged before 2's was asked for."""
    asks(story, "remove", 3)
    asks(story, "add", 3)
    asks(story, "remove", 2)
    asks(story, "add", 2)
    for voters in ((1, 3), ALL, (1, 2), ALL):
        records(story, 2, *voters)


@PLANTED.violation("in no order", "to add voter 3", "made by when somebody was shown it", on=begun)
def done_before_it_was_asked_for(story: Story) -> None:
    """Of two that ask for the same, the first, which was not answered, had been done, and seen; the
    other one was acknowledged, and not done."""
    asks(story, "remove", 3, type="info", error="X")
    records(story, 1, 1, 2)
    told(story, (1, 2))
    asks(story, "add", 3, type="info", error="X")
    records(story, 1, *ALL)
    told(story, ALL)
    asks(story, "remove", 3)


@PLANTED.violation("in no order", "at offset 5, to add voter 3", "made by when somebody", on=begun)
def done_and_seen_by_a_read_that_began_later(story: Story) -> None:
    """Of two that ask for its removal, the first had been done by then; the other one, which was
    acknowledged, came after that answer, and before that of the read that had begun earlier."""
    asks(story, "remove", 3, type="info", error="X")
    records(story, 1, 1, 2)
    slow = story.invoke("describe-voters", None)
    told(story, (1, 2))
    asks(story, "add", 3, type="info", error="X")
    asks(story, "remove", 3)
    told(story, (1, 2), open_read=slow)
    records(story, 1, *ALL)
    told(story, ALL)


@PLANTED.violation("leader 2 of epoch 2 told that [1, 2] vote", "committed log has [1, 2, 3]")
def told_what_is_over(story: Story) -> None:
    told(story, (1, 2), epoch=2, leader=2)


@PLANTED.violation("told that [1, 2, 4] vote", "committed log has [1, 2, 3]")
def told_of_somebody_else(story: Story) -> None:
    told(story, (1, 2, 4), epoch=2, leader=2)


@PLANTED.violation(
    "told that [1, 2, 3] vote", "from offset 5", "committed log has [1, 2]", on=begun
)
def told_without_what_was_acknowledged(story: Story) -> None:
    """It says nothing of its watermark, which would show that."""
    asks(story, "remove", 3)
    records(story, 1, 1, 2)
    told(story, ALL, high=0)


@PLANTED.violation(
    "told that [1, 2, 3] vote", "from offset 5", "committed log has [1, 2]", on=begun
)
def told_without_what_it_told_before(story: Story) -> None:
    """Nor was it acknowledged."""
    asks(story, "remove", 3, type="info", error="X")
    records(story, 1, 1, 2)
    told(story, (1, 2))
    told(story, ALL, high=0)


@PLANTED.violation("told that [1, 2, 3] vote", "from offset 6", "committed log has [1]", on=begun)
def told_without_either_of_two_that_were_acknowledged(story: Story) -> None:
    asks(story, "remove", 3)
    records(story, 1, 1, 2)
    asks(story, "remove", 2)
    records(story, 1, 1)
    told(story, ALL, high=0)


@PLANTED.violation(
    "told that [1, 2, 3] vote", "from offset 5", "committed log has [1, 2]", on=begun
)
def told_without_what_it_told_beside_a_slow_read(story: Story) -> None:
    """Which began before what it told, and ended behind it all."""
    asks(story, "remove", 3, type="info", error="X")
    records(story, 1, 1, 2)
    slow = story.invoke("describe-voters", None)
    told(story, (1, 2))
    told(story, ALL, high=0)
    told(story, (1, 2), open_read=slow)


@PLANTED.violation(
    "told that [1, 2] vote", "to offset 4, where its log ends", "has [1, 2, 3]", on=begun
)
def told_before_its_log_had_it(story: Story) -> None:
    asks(story, "remove", 3, type="info", error="X")
    told(story, (1, 2))
    records(story, 1, 1, 2)


@PLANTED.violation("told that [1, 3] vote", "where its log ends", "committed log has [1, 2, 3]")
def told_what_its_log_has_not(story: Story) -> None:
    """Though it was asked for: all that it has is committed."""
    asks(story, "remove", 2, type="info", error="X")
    told(story, (1, 3), epoch=2, leader=2)


@PLANTED.violation("told that [1, 3] vote", "end of its log", "committed log has [1, 2, 3]")
def told_what_nobody_asked_for(story: Story) -> None:
    told(story, (1, 3), epoch=3, leader=3, end=-1)


@PLANTED.violation("leader 1, whose epoch 3 begins there, is none of them", "[2, 3] vote")
def removed_and_elected(story: Story) -> None:
    asks(story, "remove", 1)
    records(story, 2, 2, 3)
    leads(story, 1, 3, (2, 3), (2, 3))


@PLANTED.violation("[2, 3] vote", "leader 2", "a record that names [1, 2, 3]")
def elected_by_a_former_set(story: Story) -> None:
    asks(story, "remove", 1)
    records(story, 2, 2, 3)
    leads(story, 2, 3, ALL, (2, 3))


@PLANTED.violation("leader 2", "was elected by [2]")
def elected_by_half(story: Story) -> None:
    asks(story, "remove", 1)
    records(story, 2, 2, 3)
    leads(story, 2, 3, (2, 3), (2,))


@PLANTED.violation("leader 2", "was elected by [1, 3], and not by itself")
def elected_by_the_others(story: Story) -> None:
    leads(story, 2, 3, ALL, (1, 3))


@PLANTED.violation("leader 2", "was elected by [1, 2]")
def elected_by_one_who_was_removed(story: Story) -> None:
    asks(story, "remove", 1)
    records(story, 2, 2, 3)
    leads(story, 2, 3, (2, 3), (1, 2))


@PLANTED.violation("c3 has a snapshot up to 6 by which [1, 2, 3] vote", "[1, 2] do")
def snapshot_of_another_set(story: Story) -> None:
    story.disks.snapshot("c3", 6, 1, voters=named(ALL))


@PLANTED.violation("c3 has a snapshot up to 7", "[1, 2] vote", "[1, 2, 3] do")
def snapshot_without_its_last_record(story: Story) -> None:
    story.disks.snapshot("c3", 7, 1, voters=named((1, 2)))


@PLANTED.violation("c3 has a snapshot up to 11", "[1, 2] vote", "[1, 2, 3] do")
def snapshot_of_all_that_is_committed(story: Story) -> None:
    story.disks.snapshot("c3", 11, 2, voters=named((1, 2)))


# --- what a finding shows -----------------------------------------------------------------


# --- where voters are, and who follows


def told_otherwise(story: Story, **other: Any) -> Operation:
    """As all were told last, but for this."""
    last = told(story, ALL, epoch=2, leader=2)
    story.operations.remove(last)
    read = story.invoke("describe-voters", None)
    return story.complete(read, result={**last.result, **other})


def voters_at(**places: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All of them, but where they are, by v<id>."""
    return [
        {"id": each, "directory": directory(each), "addresses": places.get(f"v{each}", [at(each)])}
        for each in ALL
    ]


@PLANTED.violation("voter 3 is in two places: c3:9093", "then c3:9094 by leader 2 in epoch 2")
def a_voter_is_at_another_port(story: Story) -> None:
    told_otherwise(story, voters=voters_at(v3=[{**at(3), "port": 9094}]))


@PLANTED.violation("voter 1 is in two places: c1:9093 by leader 1 in epoch 1", "then nowhere")
def a_voter_is_nowhere(story: Story) -> None:
    told_otherwise(story, voters=voters_at(v1=[]))


@PLANTED.violation("voter 1 is in two places: c1:9093", "then c1:9093 and c2:9093")
def a_voter_is_at_one_more_place(story: Story) -> None:
    told_otherwise(story, voters=voters_at(v1=[at(1), at(2)]))


@PLANTED.violation("voters 2 and 3 are in one place, c2:9093 by leader 2 in epoch 2")
def two_voters_are_in_one_place(story: Story) -> None:
    told_otherwise(story, voters=voters_at(v3=[at(2)]))


@PLANTED.violation("[1] follow without a vote, and that they vote", "leader 2 in epoch 2")
def a_voter_follows_without_a_vote(story: Story) -> None:
    told_otherwise(story, observers=[1, *BROKERS])


@PLANTED.violation("tells twice that [4, 5] follow")
def two_follow_twice(story: Story) -> None:
    told_otherwise(story, observers=[4, 5, 4, 6, 5])


@PLANTED.violation("tells that [-1, 7] follow", "[1, 2, 3, 4, 5, 6] are those of the plan")
def strangers_follow(story: Story) -> None:
    told_otherwise(story, observers=[7, *BROKERS, -1])


@PLANTED.violation("5 follows, as is told by leader 2 in epoch 2", "neither follows nor votes")
def who_followed_is_left_out(story: Story) -> None:
    told_otherwise(story, observers=[4, 6])


def told_wrong(story: Story) -> list[str]:
    return [
        str(each.clause)
        for each in voter_changes(story.run_events()).findings
        if each.clause in ("one-place", "who-follows")
    ]


def test_each_kind_is_said_once_however_often_it_is_so() -> None:
    story = clean()
    for _ in range(2):
        told_otherwise(story, voters=voters_at(v3=[at(2)]), observers=[7, 4])
    assert sorted(told_wrong(story)) == ["one-place"] * 2 + ["who-follows"] * 2


def test_of_whom_no_place_is_told_nothing_is_compared() -> None:
    story = clean()
    before = voter_changes(story.run_events()).clauses["one-place"]
    told_otherwise(story, voters=[{"id": each, "directory": directory(each)} for each in ALL])
    outcome = voter_changes(story.run_events())
    assert_valid(outcome)
    assert outcome.clauses["one-place"] == before


def test_who_has_another_disk_is_another_voter() -> None:
    """Nor are two that are told to be nowhere in one place."""
    story = clean()
    voters = [{"id": each, "directory": "new", "addresses": []} for each in ALL]
    told_otherwise(story, voters=voters)
    assert not told_wrong(story)


def test_a_place_may_be_told_twice() -> None:
    story = clean()
    told_otherwise(story, voters=voters_at(v1=[at(1), at(1)]))
    assert not told_wrong(story)


def test_another_leader_may_not_know_yet_who_follows() -> None:
    """Nor the same one in a later epoch."""
    story = clean()
    told_otherwise(story, leader=3, observers=[])
    told_otherwise(story, leader_epoch=3, observers=[])
    assert not told_wrong(story)


def test_who_follows_may_come_to_vote() -> None:
    story = clean()
    told_otherwise(story, voters=voters_at()[:2], observers=[3, *BROKERS])
    told_otherwise(story)
    assert not told_wrong(story)


def test_who_was_asked_meanwhile_may_not_have_known() -> None:
    story = clean()
    open_read = story.invoke("describe-voters", None)
    last = told_otherwise(story, leader_epoch=3)
    story.complete(open_read, result={**last.result, "observers": []})
    assert not told_wrong(story)


def test_strangers_may_follow_where_clients_start_brokers() -> None:
    story = clean()
    story.plan = {**story.plan, "provides": [VOTER_CHANGES, "broker-life-cycles"]}
    told_otherwise(story, observers=[*BROKERS, 301])
    assert not told_wrong(story)
    told_otherwise(story, observers=[*BROKERS, 301, 301])
    assert told_wrong(story) == ["who-follows"]


@pytest.mark.parametrize(
    ("set_up_s", "asked_s", "wrong"),
    [(0, 299, True), (0, 301, False), (120, 179, True), (120, 181, False)],
)
def test_who_is_silent_for_long_is_forgotten(set_up_s: int, asked_s: int, wrong: bool) -> None:
    """As old as processes are since they were set up."""
    story = clean()
    began = datetime(2026, 1, 1, tzinfo=UTC)
    zero = began + timedelta(seconds=set_up_s)
    story.plan = {**story.plan, "started": began.isoformat(), "time_zero": zero.isoformat()}
    story.wait(asked_s * 1000 - story.now_ns // 10**6)
    who_followed_is_left_out(story)
    assert told_wrong(story) == ["who-follows"] * wrong


def shown_offsets(story: Story) -> list[Any]:
    """Of the records that the only finding shows."""
    (found,) = voter_changes(story.run_events()).findings
    return [each["offset"] for each in found.events]


def test_of_what_was_acknowledged_too_often_its_own_records_are_shown() -> None:
    story = clean()
    asks(story, "add", 3)
    assert shown_offsets(story) == [6]


def test_of_what_was_told_those_records_are_shown_that_the_log_may_end_with() -> None:
    """From its high watermark on: not the one below, nor the one where its log ends."""
    story = begun()
    for does, voter, after in (
        ("remove", 3, (1, 2)),
        ("add", 3, ALL),
        ("remove", 2, (1, 3)),
        ("add", 2, ALL),
    ):
        asks(story, does, voter, type="info", error="X")
        records(story, 1, *after)
    told(story, (2, 3), high=5, end=7)
    assert shown_offsets(story) == [5, 6]


# --- what is no violation -----------------------------------------------------------------


def test_a_record_that_says_again_who_votes_changes_nothing() -> None:
    story = clean()
    records(story, 2, *ALL)
    outcome = voter_changes(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["changes"] == 4


def test_a_leader_may_tell_of_a_record_that_is_never_committed() -> None:
    """c3 leads epoch 3, and has removed 2 when it is cut off; c1 leads epoch 4."""
    story = clean()
    leads(story, 3, 3, nodes=("c3",), votes=(1, 3))
    asks(story, "remove", 2, type="info", error="X")
    records(story, 3, 1, 3, nodes=("c3",))
    told(story, (1, 3), epoch=3, leader=3, high=11)
    story.disks.restart("c3")
    story.disks.cut("c3", 11)
    leads(story, 1, 4)
    assert_valid(voter_changes(story.run_events()))


@pytest.mark.parametrize("end", [5, -1], ids=["its-log-ends-there", "nobody-knows-its-end"])
def test_a_deposed_leader_may_tell_of_a_record_behind_all_that_it_committed(end: int) -> None:
    """c1 has removed 2 when it is cut off. In that place c2 has the record of its own epoch, and
    removes 3 behind it: from that set c1's is more than one change away."""
    story = begun()
    asks(story, "remove", 2, type="info", error="X")
    records(story, 1, 1, 3, nodes=("c1",))
    told(story, (1, 3), high=4, end=end)
    story.disks.restart("c1")
    story.disks.cut("c1", 4)
    leads(story, 2, 2, ALL, (2, 3))
    asks(story, "remove", 3)
    records(story, 2, 1, 2)
    assert not voter_changes(story.run_events()).findings


def test_what_was_asked_for_later_it_has_no_record_of() -> None:
    story = clean()
    leads(story, 3, 3, nodes=("c3",), votes=(1, 3))
    told(story, (1, 3), epoch=3, leader=3, high=11, end=13)
    asks(story, "remove", 2, type="info", error="X")
    story.disks.cut("c3", 11)
    leads(story, 1, 4)
    assert_invalid(voter_changes(story.run_events()), "told that [1, 3] vote")


def test_a_leader_that_was_deposed_may_tell_what_was() -> None:
    """It was acknowledged by the next one, of a later epoch."""
    story = clean()
    asks(story, "remove", 3)
    at = records(story, 2, 1, 2)
    told(story, (2, 3), epoch=1, leader=1, high=at - 3, end=8)
    assert_valid(voter_changes(story.run_events()))


def test_a_read_beside_a_change_may_show_either() -> None:
    story = begun()
    before = story.invoke("describe-voters", None)
    after = story.invoke("describe-voters", None)
    asks(story, "remove", 3)
    at = records(story, 1, 1, 2)
    told(story, ALL, high=at, end=at, open_read=before)
    told(story, (1, 2), high=at, end=at + 1, open_read=after)
    assert not voter_changes(story.run_events()).findings


def test_who_was_not_answered_may_be_the_first_or_the_last_to_be_done() -> None:
    """Of two that ask for the same, one is answered: nobody knows which record is whose."""
    story = clean()
    asks(story, "remove", 3, type="info", error="X")
    asks(story, "add", 3, type="info", error="X")
    asks(story, "remove", 3)
    at = records(story, 2, 1, 2)
    told(story, (1, 2), epoch=2, leader=2)
    records(story, 2, *ALL)
    records(story, 2, 1, 2)
    told(story, (1, 2), epoch=2, leader=2, high=at + 1, end=at + 1)
    assert_valid(voter_changes(story.run_events()))


def test_of_requests_at_a_time_nobody_knows_whose_record_is_whose() -> None:
    """The first that was made is the last that was done."""
    story = begun()
    value = {"id": 3, "directory": directory(3)}
    first = story.invoke("remove-voter", "voter-3", value)
    second = story.invoke("remove-voter", "voter-3", value)
    records(story, 1, 1, 2)
    story.complete(second)
    asks(story, "add", 3)
    records(story, 1, *ALL)
    told(story, ALL)
    records(story, 1, 1, 2)
    story.complete(first)
    told(story, (1, 2))
    assert not voter_changes(story.run_events()).findings


def test_what_was_not_answered_may_be_done_behind_a_later_one_that_was() -> None:
    story = begun()
    asks(story, "remove", 3, type="info", error="X")
    asks(story, "remove", 3)
    records(story, 1, 1, 2)
    asks(story, "add", 3)
    records(story, 1, *ALL)
    told(story, ALL)
    records(story, 1, 1, 2)
    told(story, (1, 2))
    assert not voter_changes(story.run_events()).findings


def test_reads_that_were_not_answered_tell_nothing() -> None:
    story = clean()
    story.op("describe-voters", None, type="fail", error="X")
    story.op("describe-voters", None, type="info", error="X")
    story.invoke("describe-voters", None)
    outcome = voter_changes(story.run_events())
    assert_valid(outcome)
    assert outcome.clauses["told-is-in-force"] == 4


def test_a_snapshot_that_names_nobody_is_none_to_compare() -> None:
    story = clean()
    story.disks.snapshot("c3", 6, 1)
    outcome = voter_changes(story.run_events())
    assert_valid(outcome)
    assert outcome.clauses["snapshots-agree"] == 4


def test_a_snapshot_of_more_than_is_known_to_be_committed_is_none_to_compare() -> None:
    story = clean()
    story.disks.snapshot("c3", 12, 2, voters=named((1, 2)))
    outcome = voter_changes(story.run_events())
    assert_valid(outcome)
    assert outcome.clauses["snapshots-agree"] == 4


# --- too little ---------------------------------------------------------------------------


def test_one_leader_needs_no_election() -> None:
    story = begun()
    asks(story, "remove", 3)
    records(story, 1, 1, 2)
    asks(story, "add", 3)
    records(story, 1, *ALL)
    for _ in range(3):
        told(story, ALL)
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.VALID
    assert clause_of(result, "voters-elect").note == (
        "the committed log has the record of one leader"
    )


def test_a_log_without_leaders_records_leaves_elections_open() -> None:
    story = Story()
    records(story, 1, *ALL)
    asks(story, "remove", 3)
    records(story, 1, 1, 2)
    told(story, (1, 2))
    assert_unknown(CHECKER, story, "voters-elect")


def test_more_ways_than_can_be_tried_leave_the_order_open() -> None:
    """Each request is within the one before it, and may be any of its kind."""
    story = begun()
    value = {"id": 3, "directory": directory(3)}
    kinds_of = ("remove-voter", "add-voter") * 12
    opened = [story.invoke(f, "voter-3", value) for f in kinds_of]
    for f in kinds_of:
        records(story, 1, *((1, 2) if f == "remove-voter" else ALL))
    for each in reversed(opened):
        story.complete(each)
    told(story, ALL)
    outcome = voter_changes(story.run_events())
    assert not outcome.findings and outcome.clauses["one-order"] == 0
    assert_unknown(CHECKER, story, "one-order")


def test_nobody_who_changes_anything_is_unknown() -> None:
    assert_unknown(CHECKER, begun(), "asked-is-recorded", "recorded-was-asked", "one-at-a-time")


def test_a_system_that_refuses_all_is_unknown() -> None:
    story = begun()
    for voter in ALL:
        asks(story, "remove", voter, type="fail", error="X")
    assert_unknown(CHECKER, story, "asked-is-recorded", "recorded-was-asked")


def test_leaders_that_tell_nothing_are_unknown() -> None:
    story = clean()
    story.operations = [each for each in story.operations if each.f != "describe-voters"]
    assert_unknown(CHECKER, story, "told-is-in-force")


@pytest.mark.parametrize("node", NODES)
def test_a_disk_that_was_not_read_leaves_all_open(node: str) -> None:
    """By then 2 may have been removed as well, by a record that is on that one alone."""
    story = clean()
    story.disks.lost.add(node)
    assert_unknown(CHECKER, story, *(each.name for each in BY_DISKS))


def test_what_leaders_tell_of_others_needs_no_disk() -> None:
    story = clean()
    story.disks.lost.update(NODES)
    told_otherwise(story, voters=[{"id": 2, "directory": "d2", "addresses": [at(1)]}])
    told_otherwise(story, observers=[7])
    result = judged(CHECKER, story)
    assert {each.clause for each in result.findings} == {"one-place", "who-follows"}


def test_a_log_that_begins_behind_a_snapshot_leaves_changes_open() -> None:
    """On all disks: what was below is not known."""
    story = begun()
    asks(story, "remove", 3)
    for node in NODES:
        story.disks.snapshot(node, 9, 1, voters=named((1, 2)))
        story.disks.begin(node, 9, dropped=True)
    story.disks.fill(1, 2, *NODES)
    assert_unknown(CHECKER, story, *(each.name for each in CHECKER.clauses))


def test_a_log_that_names_nobody_leaves_all_open() -> None:
    story = Story()
    leads(story, 1, 1)
    assert_unknown(CHECKER, story, *(each.name for each in CHECKER.clauses))
    assert set(voter_changes(story.run_events()).clauses.values()) == {0}


def test_it_is_for_runs_whose_clients_change_voters() -> None:
    disks = {"disk:applied", "disk:log-on-disk"}
    assert unmet(CHECKER.requires, disks | {VOTER_CHANGES}) is None
    assert unmet(CHECKER.requires, disks) == "the run has no voters that were added and removed"


# --- against a quorum of one log ----------------------------------------------------------


@st.composite
def quorums(draw: st.DrawFn) -> tuple[Story, bool]:
    """A leader does what it is asked for, or lies once: whether it did."""
    story, voters = begun(), set(ALL)
    steps = draw(st.lists(st.tuples(st.sampled_from(ALL), st.booleans()), min_size=1, max_size=5))
    lie = draw(st.sampled_from(["none", "undone", "unasked", "untold"]))
    at = draw(st.integers(0, len(steps) - 1))
    for number, (voter, answered) in enumerate(steps):
        does = "remove" if voter in voters else "add"
        lies = lie if number == at else "none"
        after = voters ^ {voter}
        if not after:
            return story, False
        if lies != "unasked":
            more = {} if answered or lies == "undone" else {"type": "info", "error": "X"}
            asks(story, does, voter, **more)
        if lies != "undone":
            records(story, 1, *sorted(after))
            voters = after
        told(story, sorted(voters ^ {voter} if lies == "untold" else voters))
        if lies in ("undone", "untold", "unasked"):
            return story, True
    return story, False


@given(quorums())
def test_one_lie_is_found_and_the_truth_is_not(quorum: tuple[Story, bool]) -> None:
    story, lied = quorum
    assert bool(voter_changes(story.run_events()).findings) == lied


# --- when a change was there by brute force -----------------------------------------------


@st.composite
def answers(draw: st.DrawFn) -> list[Operation]:
    """Reads, some at a time, with any high watermarks; in the order in which they began."""
    count = draw(st.integers(0, 8))
    moments = draw(st.permutations(range(2 * count)))
    reads = []
    for one, other in zip(moments[::2], moments[1::2], strict=True):
        index, end = sorted((one, other))
        result = {"high_watermark": draw(st.integers(0, 8))}
        reads.append(Operation(index=index, end=end, type="ok", f="describe-voters", result=result))
    return sorted(reads, key=lambda each: each.index)


@given(answers())
def test_a_change_is_dated_by_the_first_answer_that_has_committed_it(
    reads: list[Operation],
) -> None:
    story = Story()
    for at in range(8):
        records(story, 1, *((1, 2) if at % 2 else ALL), nodes=("c1",))
    steps = [
        Step(each, frozenset())
        for each in story.disks.evidence
        if isinstance(each, changes.VotersNamed)
    ]
    added: Change = ("add", named((3,))[0])
    made = [(added, step) for step in steps]
    by = [
        min((read.end for read in reads if read.result["high_watermark"] > offset), default=NEVER)
        for offset in range(8)
    ]
    ended = sorted(reads, key=lambda each: each.end or 0)
    dated = _dated(Run(CommittedOnDisks(), VoterSets(), [], made, reads, ended))
    assert [each.by for each in dated] == by
