"""Counters only rise (D.8)."""

import uuid
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import pytest
from contract import Plants
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged, silent
from planted_runs import OTHER, TOPIC, Story, assert_invalid, assert_valid, shown

from checkers.monotonic_counters import MonotonicCounters, _broker_epoch, monotonic_counters
from framework.checking.keyed import Outcome
from framework.evidence.changes import BrokerRegistered
from framework.verdict import Verdict

CHECKER = MonotonicCounters()
PROCESSES = tuple(str(uuid.UUID(int=number)) for number in (1, 2))


def clean() -> Story:
    story = Story()
    for node in ("c1", "c2", "b1"):
        story.boot(node)
    story.saved("c1", 1)
    story.saved("c1", 1, voted=2)
    story.saved("c1", 1, leader=2, voted=2)
    story.hw("c2", 5, 1)
    story.hw("c1", 4, 1, role="follower")
    story.state("c1", 4)
    story.event("b1", "publish", offset=4, digest="d")
    metadata(story, 0)
    story.broker(0, 4, 0)
    story.partition(1, 0, [4, 5])
    story.partition(2, 1, [4])
    story.partition(3, 2, [4], leader=-1, leader_epoch=1)
    story.heartbeat(4, -1, answered=0)
    story.boot("c1", (2, 3, -1), log_end=5, last_epoch=1)
    story.hw("c1", 2, 2, role="follower")
    story.broker(0, 4, 0)
    story.broker(9, 4, 9)
    story.hw("c1", 10, 2, role="leader")
    story.hw("c2", 6, 2, role="follower")
    story.heartbeat(4, -1, answered=9)
    metadata(story, 1)
    story.boot("b1", (2, 1, -1))
    metadata(story, 0)
    for offset in range(11, 15):
        story.hw("c1", offset, 2, role="leader")
    return story


def metadata(story: Story, epoch: int, topic_id: str = TOPIC) -> Any:
    result = {"topic_id": topic_id, "partitions": [shown(0, [4], leader_epoch=epoch)]}
    return story.op("metadata", "t", None, result, node="b1")


def test_clean_counters_are_accepted() -> None:
    assert_valid(monotonic_counters(clean().run_events()))


def test_nothing_seen_is_unknown() -> None:
    assert monotonic_counters(Story().run_events()).verdict is Verdict.UNKNOWN


# --- quorum state -------------------------------------------------------------------------


PLANTED = Plants(clean)


@PLANTED.violation("c1 saved epoch 1 after epoch 2")
def saved_epoch_goes_back(story: Story) -> None:
    story.saved("c1", 1)


@PLANTED.violation("c1 came back with epoch 1 after epoch 2")
def epoch_is_older_after_a_restart(story: Story) -> None:
    story.boot("c1", (1, -1, -1))


@PLANTED.violation("c1 forgot its vote of epoch 3")
def vote_forgotten_over_a_restart(story: Story) -> None:
    story.saved("c1", 3, voted=2)
    story.boot("c1", (3, -1, -1))


@PLANTED.violation("c1 changed its vote of epoch 3")
def vote_changed(story: Story) -> None:
    story.saved("c1", 3, voted=2)
    story.saved("c1", 3, voted=3)


@PLANTED.violation("c1 changed its leader of epoch 2")
def leader_changed_within_an_epoch(story: Story) -> None:
    story.saved("c1", 2, leader=1)


@PLANTED.violation("c1 forgot its leader of epoch 3")
def leader_forgotten_by_one_without_a_vote(story: Story) -> None:
    story.saved("c1", 3, leader=2)
    story.boot("c1", (3, -1, -1))


@PLANTED.violation("c1 changed its leader of epoch 3: it saved 3 after 2")
def leader_changed_by_one_that_stood_again(story: Story) -> None:
    story.saved("c1", 3, leader=2, voted=1)
    story.boot("c1", (3, -1, 1))
    story.saved("c1", 3, leader=3, voted=1)


def test_a_candidate_that_lost_stands_again_after_a_restart() -> None:
    story = clean()
    story.saved("c1", 3, leader=2, voted=1)
    story.boot("c1", (3, -1, 1))
    story.saved("c1", 3, leader=2, voted=1)
    assert_valid(monotonic_counters(story.run_events()))


def test_who_forgot_its_leader_and_voted_again_is_told_both() -> None:
    story = clean()
    story.saved("c1", 3, leader=2, voted=2)
    story.boot("c1", (3, -1, 3))
    found = {each.message for each in monotonic_counters(story.run_events()).findings}
    assert {" ".join(each.split()[1:4]) for each in found} == {
        "forgot its leader",
        "changed its vote",
    }


def told(story: Story, leader: int, epoch: int, f: str = "describe-quorum") -> Any:
    view = {"leader": leader, "leader_epoch": epoch, "high_watermark": 1}
    return story.ask("b1", f, view)


@PLANTED.violation("c1 led epoch 3, as b1 told in operation", "and left epoch 2 on its disk")
def leader_that_saved_no_epoch_of_its_own(story: Story) -> None:
    """Nodes tell nothing of it, and started once: only what it told others shows it."""
    told(story, 1, 3)
    told(story, 1, 2)
    story.disks.vote("c1", 2, 1, leader=1)


@PLANTED.violation("c1 led epoch 4, as b1 told in operation", "and left epoch 3 on its disk")
def epoch_that_a_later_process_does_not_know(story: Story) -> None:
    told(story, 1, 4, "describe-node")
    story.disks.vote("c1", 2, 1, leader=1)
    story.disks.restart("c1")
    story.disks.vote("c1", 3, 1, leader=1)


@PLANTED.violation("c1 has a record of epoch 3 at offset 1 of its log, and left epoch 2")
def record_of_an_epoch_that_was_not_saved(story: Story) -> None:
    story.disks.fill(2, 1, "c1")
    story.disks.fill(3, 1, "c1")
    story.disks.vote("c1", 2, 1, leader=1)


@PLANTED.violation("c1 has a record of epoch 3 at offset 2 of its log, and left epoch 2")
def records_behind_the_begin_of_a_log(story: Story) -> None:
    """The first of the epoch is named; what a snapshot holds is still below."""
    story.disks.fill(2, 2, "c1")
    story.disks.fill(3, 1, "c1")
    story.disks.fill(3, 1, "c1")
    story.disks.begin("c1", 1, dropped=False)
    story.disks.vote("c1", 2, 1, leader=1)


@PLANTED.violation("b1 has a record of epoch 4 at offset 0 of its log, and left epoch 0")
def broker_that_saved_nothing_of_what_it_followed(story: Story) -> None:
    story.disks.fill(4, 1, "b1")
    story.disks.vote("b1", 0, None)


def test_a_record_may_be_of_the_epoch_that_was_saved_or_have_been_cut_off() -> None:
    story = clean()
    before = clause_of(judged(CHECKER, story), "saved-state").compared
    story.disks.vote("c1", 1, None)  # nothing is in its log yet
    story.disks.fill(2, 2, "c1")
    story.disks.vote("c1", 2, None, leader=2)
    story.disks.restart("c1")
    story.disks.fill(3, 1, "c1")
    story.disks.cut("c1", 2)
    story.disks.vote("c1", 2, None, leader=2)
    story.disks.restart("c1")
    story.disks.fill(4, 1, "c1")
    story.disks.begin("c1", 9, dropped=True)
    story.disks.vote("c1", 3, None, leader=2)
    result = clause_of(judged(CHECKER, story), "saved-state")
    # Three files beside one of before, and two beside a record.
    assert (result.verdict, result.compared) == (Verdict.VALID, before + 5)


@pytest.mark.parametrize("left", [3, 4])
def test_leaders_saved_what_they_led(left: int) -> None:
    story = clean()
    before = clause_of(judged(CHECKER, story), "saved-state").compared
    told(story, 1, 3)
    story.disks.vote("c1", left, None, leader=1 if left == 3 else None)
    result = clause_of(judged(CHECKER, story), "saved-state")
    assert (result.verdict, result.compared) == (Verdict.VALID, before + 1)


def test_of_a_leader_whose_last_file_is_gone_nothing_is_known() -> None:
    """A copy of before is of another process; nor does a follower have to know of each epoch, or
    anybody of one that no leader was told of."""
    story = clean()
    before = clause_of(judged(CHECKER, story), "saved-state").compared
    told(story, 1, 9)
    told(story, -1, 12)
    story.disks.vote("c1", 2, 1, leader=1)
    story.disks.vote("c2", 2, 1, leader=1)
    story.disks.restart("c1")
    story.disks.write("c1", 9)
    result = clause_of(judged(CHECKER, story), "saved-state")
    assert (result.verdict, result.compared) == (Verdict.VALID, before)


def test_what_was_not_told_or_left_is_held_against_nobody() -> None:
    """A question that failed; the disk of a leader that has a log, and no quorum state."""
    story = clean()
    before = clause_of(judged(CHECKER, story), "saved-state").compared
    story.ask("b1", "describe-quorum", None, type="fail", error="CLIENT_TIMED_OUT")
    told(story, 1, 9)
    story.disks.write("c1", 9)
    result = clause_of(judged(CHECKER, story), "saved-state")
    assert (result.verdict, result.compared) == (Verdict.VALID, before)


@PLANTED.violation("c1 came back without its quorum state")
def quorum_state_gone_after_a_restart(story: Story) -> None:
    story.boot("c1")


@PLANTED.violation("c1 saved epoch 1 after epoch 2")
def older_epoch_is_saved_by_a_process_that_began_without_any(story: Story) -> None:
    story.boot("c1")
    story.saved("c1", 1)


def test_boot_may_know_more_than_the_events_before_it() -> None:
    story = clean()
    story.saved("c1", 3)
    story.boot("c1", (3, 2, 2))
    assert_valid(monotonic_counters(story.run_events()))


# --- within an incarnation, and in the quorum ---------------------------------------------


@PLANTED.violation("c2's applied offset went from 7 to 6")
def applied_offset_goes_back_within_an_incarnation(story: Story) -> None:
    for offset in (7, 6):
        story.state("c2", offset)


@PLANTED.violation("c2's published offset went from 7 to 6")
def published_offset_goes_back_within_an_incarnation(story: Story) -> None:
    for offset in (7, 6):
        story.event("c2", "publish", offset=offset, digest="d")


@PLANTED.violation("c2's high watermark went from 6 to 5")
def high_watermark_goes_back_within_an_incarnation(story: Story) -> None:
    story.hw("c2", 5, 2, role="follower")


@PLANTED.violation("c1's applied record went from 9 to 9")
def record_applied_again_in_one_incarnation(story: Story) -> None:
    story.broker(9, 4, 9)


@PLANTED.violation("quorum's high watermark went back")
def high_watermark_of_the_quorum_goes_back(story: Story) -> None:
    story.boot("c2", (3, -1, 2))
    story.hw("c2", 8, 3, role="leader")


@PLANTED.violation("c3 reported 22 as leader of epoch 4, c2 had reported 25 as leader of epoch 3")
def leader_commits_what_is_below_the_last_of_its_predecessor(story: Story) -> None:
    story.boot("c2", (3, -1, 2))
    for offset in (20, 25):
        story.hw("c2", offset, 3)
    story.boot("c3", (4, -1, 3))
    for offset in (22, 30):
        story.hw("c3", offset, 4)


def test_leader_that_first_tells_what_its_predecessor_had_reported_last() -> None:
    story = clean()
    story.boot("c2", (3, -1, 2))
    story.hw("c2", 14, 3)
    assert_valid(monotonic_counters(story.run_events()))


# --- the log ------------------------------------------------------------------------------


@PLANTED.violation("broker 4", "epoch 9 at offset 12")
def broker_epoch_does_not_rise(story: Story) -> None:
    story.broker(12, 4, 9)


@PLANTED.violation("broker 4", "epoch 9 at offset 12")
def broker_epoch_is_kept_by_another_process(story: Story) -> None:
    story.broker(12, 4, 9, process=PROCESSES[0])
    story.broker(13, 4, 9, process=PROCESSES[1])


@PLANTED.violation("broker 4", "epoch 8 at offset 13")
def broker_epoch_of_one_process_falls(story: Story) -> None:
    story.broker(12, 4, 10, process=PROCESSES[0])
    story.broker(13, 4, 8, process=PROCESSES[0])


def test_a_process_that_registers_again_may_keep_its_epoch() -> None:
    story = clean()
    story.broker(12, 4, 12, process=PROCESSES[0])
    story.broker(13, 4, 12, process=PROCESSES[0])
    assert_valid(monotonic_counters(story.run_events()))


def test_processes_that_nobody_names_are_not_one() -> None:
    story = clean()
    story.broker(12, 4, 9)
    last = [replace(each, process=None) for each in story.run_events().of(BrokerRegistered)][-1]
    assert list(_broker_epoch(last, last))


@PLANTED.violation("partition epoch 4 after 2")
def partition_epoch_jumps(story: Story) -> None:
    story.partition(12, 4, [4], leader=-1, leader_epoch=1)


@PLANTED.violation("leader epoch 0 after 1")
def leader_epoch_goes_back(story: Story) -> None:
    story.partition(12, 3, [4], leader=-1, leader_epoch=0)


@PLANTED.violation("leader changed from -1 to 4")
def leader_changes_within_a_leader_epoch(story: Story) -> None:
    story.partition(12, 3, [4], leader=4, leader_epoch=1)


# --- clients ------------------------------------------------------------------------------


@PLANTED.violation("broker 4 was answered epoch 5")
def answered_broker_epoch_goes_back(story: Story) -> None:
    story.heartbeat(4, -1, answered=5)


def test_metadata_of_one_incarnation_goes_back() -> None:
    story = clean()
    first = metadata(story, 3)
    second = metadata(story, 2)
    outcome = monotonic_counters(story.run_events())
    assert_invalid(outcome, "b1 showed leader epoch 2", "after 3")
    assert outcome.findings[0].operations == (first.index, second.index)


def test_metadata_of_another_topic_of_the_name_is_another_counter() -> None:
    story = clean()
    metadata(story, 3)
    metadata(story, 0, topic_id=OTHER)
    assert_valid(monotonic_counters(story.run_events()))


def test_concurrent_metadata_may_cross() -> None:
    story = clean()
    slow = story.invoke("metadata", "t", node="b1")
    metadata(story, 3)
    result = {"topic_id": TOPIC, "partitions": [shown(0, [4], leader_epoch=2)]}
    story.complete(slow, "ok", result)
    assert_valid(monotonic_counters(story.run_events()))


def older(**more: Any) -> dict[str, Any]:
    """What a broker that went back to leader epoch 2 would show."""
    return {"topic_id": TOPIC, "partitions": [shown(0, [4], leader_epoch=2)], **more}


def test_answers_that_show_no_epoch_go_behind_none() -> None:
    story = clean()
    metadata(story, 3)
    story.heartbeat(4, 9)
    compared = clause_of(judged(CHECKER, story), "answers").compared
    who = {"broker_id": 4, "broker_epoch": 9}
    story.heartbeat(4, 9, answered=-1)
    for reported in (None, {"broker_epoch": None}):
        story.op("heartbeat", "broker-4", who, reported)
    story.op("heartbeat", "broker-4", who, {"broker_epoch": 7}, type="fail", error="STALE")
    story.op("metadata", "t", None, older(), type="fail", error="NOT_YET", node="b1")
    partitions = [shown(0, [4], leader_epoch=-1), {"partition": 0, "leader": 4}]
    for result in (None, older(partitions=None), older(partitions=partitions)):
        story.op("metadata", "t", None, result, node="b1")
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.VALID, result.findings
    assert clause_of(result, "answers").compared == compared


def test_what_a_broker_tells_the_observer_goes_back_nowhere_either() -> None:
    """Clients who ask for topics that come and go ask hardly any broker twice."""
    story = Story()
    story.boot("b1")
    for epoch in (3, 4, 3):
        told = {"name": "t", **older(partitions=[shown(0, [4], leader_epoch=epoch)])}
        story.ask("b1", "describe-topics", {"brokers": [], "topics": [told]})
    for judge in (monotonic_counters, MonotonicCounters.check_run):
        result = judge(story.run_events())
        assert isinstance(result, Outcome)
        assert_invalid(result, "b1 showed leader epoch 3", "after 4")


@pytest.mark.parametrize("time", ["invoked_ns", "completed_ns"])
def test_answer_of_which_no_time_is_known_is_of_no_process(time: str) -> None:
    story = clean()
    metadata(story, 3)
    timeless: dict[str, Any] = {time: None}
    answered = story.op("metadata", "t", None, older(), node="b1")
    story.operations[-1] = replace(answered, **timeless)
    assert_valid(monotonic_counters(story.run_events()))


def test_answers_of_no_process_hide_none_of_one() -> None:
    story = Story()
    metadata(story, 5)
    story.boot("b1")
    for epoch in (3, 2):
        metadata(story, epoch)
    assert_invalid(monotonic_counters(story.run_events()), "b1 showed leader epoch 2", "after 3")


def test_answer_during_a_restart_is_of_no_process() -> None:
    story = clean()
    metadata(story, 3)
    meanwhile = story.invoke("metadata", "t", node="b1")
    story.boot("b1", (2, 1, -1))
    story.complete(meanwhile, "ok", older())
    metadata(story, 0)
    assert_valid(monotonic_counters(story.run_events()))


# --- brute force --------------------------------------------------------------------------


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3), st.sampled_from([-1, 1, 2]), st.sampled_from([-1, 1]), st.booleans()
        ),
        min_size=2,
        max_size=6,
    )
)
def test_quorum_state_is_what_it_says(saves: list[tuple[int, int, int, bool]]) -> None:
    story = Story()
    for epoch, leader, voted, restart in saves:
        if restart:
            story.boot("c1", (epoch, leader, voted))
        else:
            story.saved("c1", epoch, leader, voted)

    def may_follow(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
        kept = all(was in (-1, now) for was, now in zip(a[1:3], b[1:3], strict=True))
        return b[0] > a[0] or (b[0] == a[0] and kept)

    meant = [saves[0][:3]]
    for epoch, leader, voted, _ in saves[1:]:
        stands_again = meant[-1][::2] == (epoch, voted) and leader == -1 != voted
        meant.append((epoch, meant[-1][1] if stands_again else leader, voted))
    right = all(may_follow(a, b) for a, b in combinations(meant, 2))
    assert (monotonic_counters(story.run_events()).verdict is Verdict.VALID) == right


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=6),
    st.data(),
)
def test_answered_epochs_are_what_they_say(
    values: list[tuple[int, int]], data: st.DataObject
) -> None:
    story = Story()
    open_ = []
    for value, wait in values:
        open_.append((story.heartbeat_open(4), value))
        for _ in range(wait):
            if open_ and data.draw(st.booleans()):
                operation, answered = open_.pop(0)
                story.complete(operation, "ok", {"broker_epoch": answered})
    for operation, answered in open_:
        story.complete(operation, "ok", {"broker_epoch": answered})
    right = not any(
        a.precedes(b) and b.result["broker_epoch"] < a.result["broker_epoch"]
        for a in story.operations
        for b in story.operations
    )
    assert (not monotonic_counters(story.run_events()).findings) == right


@given(st.lists(st.integers(0, 4), min_size=2, max_size=6))
def test_watermarks_are_what_they_say(offsets: list[int]) -> None:
    story = Story()
    for offset in offsets:
        story.hw("c1", offset, 1, role="follower")
    right = all(a <= b for a, b in pairwise(offsets))
    assert (monotonic_counters(story.run_events()).verdict is Verdict.VALID) == right


# --- who is asked -------------------------------------------------------------------------


def test_what_is_compared() -> None:
    """Also of brokers that go on to tell something after they answered."""
    story = clean()
    story.event("b1", "publish", offset=15, digest="d")
    compared = {each.name: each.compared for each in judged(CHECKER, story).clauses}
    assert compared == {"saved-state": 3, "watermarks": 11, "records": 3, "answers": 2}


def test_nodes_that_tell_no_watermark_are_not_believed() -> None:
    assert_unknown(CHECKER, silent(clean(), "hw", "state", "publish", "apply"), "watermarks")


def test_nodes_that_were_not_to_tell_have_no_watermarks() -> None:
    story = silent(clean())
    story.plan = {**story.plan, "capabilities": []}
    assert clause_of(judged(CHECKER, story), "watermarks").verdict is None


def test_disks_are_enough_for_what_was_saved() -> None:
    for epochs, verdict in (((1, 2, 3), Verdict.VALID), ((2, 3, 1), Verdict.INVALID)):
        story = Story()
        for epoch in epochs:
            story.disks.vote("c1", epoch, vote=2)
            story.disks.restart("c1")
        found = clause_of(judged(CHECKER, story), "saved-state")
        assert found.verdict is verdict, found


def test_voters_that_were_not_started_again_saved_but_once() -> None:
    story = silent(clean())
    story.plan = {**story.plan, "capabilities": []}
    for node in ("c1", "c2"):
        story.disks.vote(node, 3, 1)
    assert clause_of(judged(CHECKER, story), "saved-state").verdict is Verdict.UNKNOWN
    story.disks.vote("c3", 3, 1)
    assert clause_of(judged(CHECKER, story), "saved-state").verdict is None
    story.disks.restart("c3")
    story.disks.vote("c3", 3, 1)
    assert clause_of(judged(CHECKER, story), "saved-state").verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("version", [0, 1, 2, 4])
def test_disks_are_enough_for_the_log(version: int) -> None:
    story = Story()
    for number, isr in ((0, [4, 5]), (1, [4]), (version, [4, 5])):
        for node in ("c1", "c2", "c3"):
            story.disks.write(
                node,
                1,
                "IsrChangeRecord" if number else "PartitionRecord",
                topic_id=TOPIC,
                partition_id=0,
                isr=isr,
                leader=4,
                leader_epoch=0,
                partition_epoch=number,
            )
    found = clause_of(judged(CHECKER, story), "records")
    assert found.verdict is (Verdict.VALID if version == 2 else Verdict.INVALID), found


def test_nobody_asked_for_what_changes_counters() -> None:
    story = Story()
    story.create("t")
    idle = {each.name for each in judged(CHECKER, story).clauses if each.verdict is None}
    assert idle == {"records", "answers"}


@pytest.mark.parametrize(("asked", "verdict"), [(10, None), (11, Verdict.UNKNOWN)])
def test_broker_that_was_hardly_asked_twice_shows_nothing(
    asked: int, verdict: Verdict | None
) -> None:
    story = Story()
    for number in range(asked):
        metadata(story, 1)
        if number % 2:
            story.alter(0, [4])
    assert clause_of(judged(CHECKER, story), "answers").verdict is verdict


def test_where_nobody_tells_of_processes_only_what_brokers_were_given_is_compared() -> None:
    story = Story()
    story.plan = {**story.plan, "capabilities": []}
    for _ in range(20):
        metadata(story, 1)
    found = clause_of(judged(CHECKER, story), "answers")
    assert found.verdict is None and "nobody tells which answers" in found.note
    for epoch in (1, 2, 3):
        story.heartbeat(4, -1, answered=epoch)
    found = clause_of(judged(CHECKER, story), "answers")
    assert (found.verdict, found.compared) == (Verdict.VALID, 2)


def test_clients_that_were_answered_nothing_saw_nothing() -> None:
    story = Story()
    for _ in range(20):
        story.op("metadata", "t", type="fail", error="NOT_YET", node="b1")
    assert clause_of(judged(CHECKER, story), "answers").verdict is None


def test_change_of_an_isr_that_no_record_shows() -> None:
    story = Story()
    story.alter(0, [4])
    assert clause_of(judged(CHECKER, story), "records").verdict is Verdict.UNKNOWN


def test_broker_that_went_back_the_one_time_it_was_asked_again() -> None:
    story = Story()
    story.boot("b1")
    metadata(story, 1)
    metadata(story, 0)
    assert clause_of(judged(CHECKER, story), "answers").verdict is Verdict.INVALID
