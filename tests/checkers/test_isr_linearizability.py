"""ISR changes are a chain of compare-and-sets (D.2)."""

from itertools import combinations, permutations
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged
from planted_isr import changed
from planted_runs import OTHER, TOPIC, Story, accepted, assert_invalid, assert_valid, change, shown

from checkers.isr_linearizability import IsrLinearizability
from checkers.isr_linearizability import isr_linearizability as judge_partition
from framework.checking.keyed import outcome_row
from framework.checking.live import clauses_so_far
from framework.history.pairing import Operation
from framework.plugins.capabilities import SHRINKING_RAISES, unmet
from framework.plugins.checker import OTHERS
from framework.verdict import Verdict
from tests.cases import cases


def clean() -> Story:
    return changed(records=False)


def test_clean_changes_are_accepted() -> None:
    assert_valid(judge_partition(clean().run_events()))


def test_what_is_compared() -> None:
    """Each change, each version but the first that was shown, and each step of which both sides
    were shown and whose leader a client plays."""
    story = Story()
    story.describe("t", shown(0, [4, 5, 6]))
    story.alter(0, [4, 5])
    story.alter(1, [4])
    story.describe("t", shown(3, [5], leader=5, leader_epoch=1))
    story.describe("t", shown(4, [5], leader=-1, leader_epoch=2))
    story.describe("t", shown(6, [5], leader=5, leader_epoch=3))
    found = judge_partition(story.run_events())
    assert_valid(found)
    never_back = {"2": 1, "4": 1, OTHERS: 3}
    assert found.clauses == {"one-step": 2, "never-back": never_back, "asked-for": 3}


@pytest.mark.parametrize("many", [1, 2])
def test_two_comparisons_are_enough_for_each_clause(many: int) -> None:
    story = Story()
    story.describe("t", shown(0, [4]))
    for version in range(many):
        story.alter(version, [4, 5 + version])
    clauses = judged(IsrLinearizability(), story).clauses
    assert [each.compared for each in clauses] == [many] * 3
    expected = Verdict.VALID if many >= 2 else Verdict.UNKNOWN
    assert {each.verdict for each in clauses} == {expected}


def test_each_clause_is_broken_while_a_run_goes_on() -> None:
    checker = IsrLinearizability()
    rows = [
        outcome_row("r", checker.name, "", judge_partition(each.story().run_events()))
        for each in PLANTED.values()
    ]
    so_far = clauses_so_far({checker.name: checker}, rows)
    broken = {each.clause for each in so_far if each.verdict is Verdict.INVALID}
    assert broken == {"one-step", "never-back", "asked-for"}


@pytest.mark.parametrize(
    ("offered", "enough"),
    [
        ({"isr-changes", "linearizable-topic-read"}, True),
        ({"isr-changes", "committed-topic-read"}, True),
        ({"isr-changes"}, False),
        ({"linearizable-topic-read"}, False),
    ],
)
def test_it_takes_changes_and_reads_of_either_kind(offered: set[str], enough: bool) -> None:
    assert (unmet(IsrLinearizability.requires, offered) is None) == enough


def test_partition_that_no_answer_shows() -> None:
    story = Story()
    story.alter(0, [4, 5], type="fail", error="NOT_LEADER")
    assert judge_partition(story.run_events()).clauses == {
        "one-step": 0,
        "never-back": {},
        "asked-for": 0,
    }


def test_records_are_no_matter() -> None:
    assert_valid(judge_partition(changed().run_events()))


def test_one_partition_of_many_may_show_nothing() -> None:
    story = clean()
    story.describe("u", shown(0, [4]), topic_id=OTHER)
    assert judged(IsrLinearizability(), story).verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("f", "clauses"), [("alter-isr", ["one-step"]), ("describe", ["asked-for"])]
)
def test_clients_that_hardly_ask_leave_it_unknown(f: str, clauses: list[str]) -> None:
    """No node is asked: what clients were shown is all that there is."""
    story = clean()
    story.operations = [each for each in story.operations if each.f != f]
    assert_unknown(IsrLinearizability(), story, *clauses)


# --- from clients alone -------------------------------------------------------------------


PLANTED = Plants(clean)


@PLANTED.violation("named version 3", "answered version 5", on=Story)
def answer_skips_a_version(story: Story) -> None:
    story.alter(3, [4], answer={"partition_epoch": 5})


@PLANTED.violation("asked for ISR [4, 5]", on=Story)
def answer_has_another_isr(story: Story) -> None:
    story.alter(2, [4, 5], type="fail", error="INVALID_UPDATE_VERSION")
    story.alter(3, [4, 5], answer={"isr": [4]})


@PLANTED.violation("named leader epoch 0", "leader epoch 2", on=Story)
def accepted_in_another_leader_epoch(story: Story) -> None:
    story.alter(3, [4, 5], answer={"leader_epoch": 2})


@PLANTED.violation("of broker 4", on=Story)
def accepted_from_a_broker_that_does_not_lead(story: Story) -> None:
    story.alter(3, [4, 5], answer={"leader": 5})


def older() -> Story:
    """Of a system where an ISR that loses a member begins a leader epoch (KAFKA-15021)."""
    story = Story()
    story.plan["capabilities"] = [SHRINKING_RAISES]
    story.describe("t", shown(0, [4, 5, 6]))
    story.alter(0, [4, 5], answer={"leader_epoch": 1})
    story.alter(1, [4, 6], leader_epoch=1, answer={"leader_epoch": 2})
    story.alter(2, [4, 5, 6], leader_epoch=2)
    return story


def test_shrinking_may_begin_a_leader_epoch_where_the_system_says_so() -> None:
    assert_valid(judge_partition(older().run_events()))
    elsewhere = older()
    elsewhere.plan["capabilities"] = []
    assert_invalid(
        judge_partition(elsewhere.run_events()), "named leader epoch 0", "leader epoch 1"
    )


def test_what_the_version_before_was_need_not_be_shown() -> None:
    story = older()
    story.alter(7, [4], leader_epoch=3, answer={"leader_epoch": 4})
    assert_valid(judge_partition(story.run_events()))


@pytest.mark.parametrize(
    ("isr", "epoch"),
    [([4, 5, 6, 7], 3), ([4, 5, 6], 3), ([4, 5], 4), ([4, 5], 1)],
    ids=["grown", "as it was", "by two", "back"],
)
def test_nothing_else_begins_one(isr: list[int], epoch: int) -> None:
    story = older()
    story.alter(3, isr, leader_epoch=2, answer={"leader_epoch": epoch})
    assert_invalid(
        judge_partition(story.run_events()), "named leader epoch 2", f"leader epoch {epoch}"
    )


def test_two_winners_of_one_version() -> None:
    story = Story()
    one = story.invoke("alter-isr", "t/0", change(3, [4]))
    other = story.invoke("alter-isr", "t/0", change(3, [4]))
    one = story.complete(one, "ok", accepted(one.value))
    other = story.complete(other, "ok", accepted(other.value))
    outcome = judge_partition(story.run_events())
    assert_invalid(outcome, "2 ISR changes", "version 3")
    assert outcome.findings[0].operations == (one.index, other.index)


@PLANTED.violation("read version 3", "version 4", on=Story)
def read_goes_back(story: Story) -> None:
    story.alter(3, [4])
    story.describe("t", shown(3, [4, 5]))


@PLANTED.violation("changed version 4", "version 5", on=Story)
def change_of_a_version_that_is_over(story: Story) -> None:
    story.describe("t", shown(5, [4]))
    story.alter(4, [4, 5])


@PLANTED.violation("changed version 4", "version 5", on=Story)
def change_of_a_version_that_a_follower_was_shown_to_be_over(story: Story) -> None:
    story.follow("t", shown(5, [4]))
    story.alter(4, [4, 5])


@PLANTED.violation("version 4 has two states", on=Story)
def follower_is_shown_another_state_than_the_change_made(story: Story) -> None:
    story.alter(3, [4])
    story.follow("t", shown(4, [4, 5]))


def test_a_read_of_what_was_committed_may_be_behind() -> None:
    story = Story()
    story.alter(3, [4])
    story.follow("t", shown(3, [4, 5]))
    story.alter(4, [4, 5])
    assert_valid(judge_partition(story.run_events()))


def test_concurrent_reads_may_cross() -> None:
    story = Story()
    read = story.invoke("describe", "t")
    story.alter(3, [4])
    story.complete(read, "ok", {"topic_id": TOPIC, "partitions": [shown(3, [4, 5])]})
    assert_valid(judge_partition(story.run_events()))


@PLANTED.violation("version 5 has two states", on=Story)
def two_reads_of_one_version_disagree(story: Story) -> None:
    story.describe("t", shown(5, [4]))
    story.describe("t", shown(5, [4, 5]))


@PLANTED.violation("version 5 has two states", on=Story)
def read_disagrees_with_the_answer_of_the_change(story: Story) -> None:
    story.alter(4, [4])
    story.describe("t", shown(5, [4, 5]))


@PLANTED.violation("(4, 0)", "(5, 1)", on=Story)
def change_accepted_from_what_the_version_shows_to_be_no_leader(story: Story) -> None:
    story.describe("t", shown(5, [4, 5], leader=5, leader_epoch=1))
    story.alter(5, [4])


@PLANTED.violation("version 4", "adds [5] to the ISR of version 3", "applied twice", on=Story)
def lost_change_applied_again_later_as_clients_see_it(story: Story) -> None:
    story.describe("t", shown(0, [4]))
    story.alter(0, [4, 5], type="info")
    story.describe("t", shown(1, [4, 5]))
    story.alter(1, [4])
    story.alter(2, [4, 6])
    story.describe("t", shown(3, [4, 6]))
    story.describe("t", shown(4, [4, 5]))


@PLANTED.violation("version 3", "repeats version 2", "nobody asked for that", on=Story)
def version_that_changes_nothing_as_clients_see_it(story: Story) -> None:
    story.alter(1, [4, 5])
    story.describe("t", shown(3, [4, 5]))


@PLANTED.violation("adds [5] to the ISR of version 1", on=Story)
def member_whose_leader_asked_only_when_it_had_been_added(story: Story) -> None:
    story.alter(0, [4])
    story.describe("t", shown(2, [4, 5]))
    story.alter(1, [4, 5], type="info")


@PLANTED.violation("adds [6] to the ISR of version 1", on=Story)
def member_that_comes_as_who_is_eligible_changes(story: Story) -> None:
    story.alter(0, [4])
    story.follow("t", shown(1, [4], eligible=[5, 6]))
    story.follow("t", shown(2, [4, 6], eligible=[5]))


@PLANTED.violation("adds [5] to the ISR of version 1", on=Story)
def member_that_another_leader_epoch_asked_for(story: Story) -> None:
    story.alter(0, [4])
    story.alter(1, [4, 5], leader_epoch=1, type="info")
    story.describe("t", shown(2, [4, 5]))


def test_lost_change_may_be_what_added_a_member() -> None:
    story = Story()
    story.alter(0, [4])
    story.alter(1, [4, 5], type="info")
    story.alter(1, [4, 6], type="fail", error="INVALID_UPDATE_VERSION")
    story.describe("t", shown(2, [4, 5]))
    pending = story.invoke("alter-isr", "t/0", change(2, [4, 5, 6]))
    story.describe("t", shown(3, [4, 5, 6]))
    assert pending.end is None
    assert_valid(judge_partition(story.run_events()))


def test_controller_takes_members_away_and_moves_leaderships_by_itself() -> None:
    story = Story()
    story.alter(0, [4, 5, 6])
    story.describe("t", shown(2, [4, 5]))
    story.describe("t", shown(3, [5], leader=5, leader_epoch=1))
    story.describe("t", shown(4, [5], leader=-1, leader_epoch=2))
    story.describe("t", shown(5, [5], leader=5, leader_epoch=3))
    story.describe("t", shown(7, [5, 6], leader=5, leader_epoch=3))
    assert_valid(judge_partition(story.run_events()))


# --- brute force --------------------------------------------------------------------------


def fits(operations: list[Operation]) -> bool:
    """Whether some order that keeps real time is a run of the object: of all that was answered,
    and of some that was not. In it a controller may change anything by itself as long as the
    version rises, but what only leaders ask for, where they are known to."""
    answered = [each for each in operations if each.ok]
    lost = [each for each in operations if not each.ok]
    return any(
        _runs(order)
        for many in range(len(lost) + 1)
        for some in combinations(lost, many)
        for order in permutations([*answered, *some])
        if _keeps_time(order)
    )


def _keeps_time(order: tuple[Operation, ...]) -> bool:
    return not any(
        later.ok and later.precedes(earlier)
        for at, earlier in enumerate(order)
        for later in order[at:]
    )


def _runs(order: tuple[Operation, ...]) -> bool:
    version, states = -1, dict[int, tuple[Any, ...]]()

    def agrees(at: int, fields: dict[str, Any]) -> bool:
        state = (fields["leader"], fields["leader_epoch"], frozenset(fields["isr"]))
        return states.setdefault(at, state) == state

    premises = []
    for operation in order:
        if operation.f == "describe":
            read = operation.result["partitions"][0]
            if read["partition_epoch"] < version or not agrees(read["partition_epoch"], read):
                return False
            version = read["partition_epoch"]
            continue
        asked = operation.value
        named, right = asked["partition_epoch"], accepted(asked)
        if operation.ok and operation.result != right:
            return False
        if named < version or not agrees(named + 1, right):
            return False
        premises.append((named, (asked["broker_id"], asked["leader_epoch"])))
        version = named + 1
    if not all(at not in states or states[at][:2] == leader for at, leader in premises):
        return False
    made = {at + 1 for at, _ in premises}
    return all(
        at in made or not _is_asked_for(states[at - 1], states[at])
        for at in states
        if at - 1 in states
    )


def _is_asked_for(before: tuple[Any, ...], after: tuple[Any, ...]) -> bool:
    return before[:2] == after[:2] and (before[2] == after[2] or bool(after[2] - before[2]))


@st.composite
def histories(draw: st.DrawFn) -> Story:
    """Up to five operations that overlap at will, mostly right, of a leader that asks."""
    story, open_ = Story(), list[Operation]()
    story.alter(9, [4], type="fail", error="NOT_CONTROLLER")
    for _ in range(draw(st.integers(1, 5))):
        version = draw(st.integers(0, 3))
        isr = draw(st.sampled_from([[4], [4, 5]]))
        epoch = draw(st.sampled_from([0, 0, 0, 1]))
        if draw(st.booleans()):
            open_.append(story.invoke("alter-isr", "t/0", change(version, isr, leader_epoch=epoch)))
        else:
            read = story.invoke("describe", "t", shown(version, isr, leader_epoch=epoch))
            open_.append(read)
        while open_ and draw(st.booleans()):
            lost = draw(st.integers(0, 3)) == 0
            _finish(story, open_.pop(draw(st.integers(0, len(open_) - 1))), lost)
    for operation in open_:
        _finish(story, operation, False)
    return story


def _finish(story: Story, operation: Operation, lost: bool) -> None:
    if lost and operation.f == "alter-isr":
        story.complete(operation, "info")
        return
    if operation.f == "describe":
        result = {"topic_id": TOPIC, "partitions": [operation.value]}
    else:
        result = accepted(operation.value)
    story.complete(operation, "ok", result)


@settings(max_examples=cases(400))
@given(histories())
def test_isr_chain_is_what_it_says(story: Story) -> None:
    right = fits([each for each in story.operations if not each.failed])
    assert (judge_partition(story.run_events()).verdict is Verdict.VALID) == right


@pytest.mark.parametrize(
    ("before", "after", "right"),
    [
        ([5], [], True),
        (None, [5], True),
        ([5], [5], False),
        ([5], None, False),
        (None, None, False),
    ],
)
def test_a_version_may_change_who_is_eligible_alone(
    before: list[int] | None, after: list[int] | None, right: bool
) -> None:
    """KIP-966: that a process lost what it had is a version that nobody asks for."""
    story = Story()
    story.describe("t", shown(0, [4, 5]))
    story.alter(0, [4])
    for version, eligible in ((1, before), (2, after)):
        more = {} if eligible is None else {"eligible": eligible}
        story.follow("t", shown(version, [4], **more))
    story.alter(2, [4, 6])
    story.describe("t", shown(3, [4, 6]))
    findings = [each.message for each in judge_partition(story.run_events()).findings]
    assert bool(findings) is not right
    assert all("repeats version 1" in each for each in findings)


def test_one_answer_about_two_partitions_is_one_sighting() -> None:
    """Nothing is shown by one sighting, whatever it shows."""
    story = Story()
    for verdict in (None, Verdict.UNKNOWN, Verdict.VALID):
        story.describe("t", shown(0, [4, 5, 6]), shown(0, [4, 5, 6], partition=1))
        clause = clause_of(judged(IsrLinearizability(), story), "never-back")
        assert verdict is None or clause.verdict is verdict
