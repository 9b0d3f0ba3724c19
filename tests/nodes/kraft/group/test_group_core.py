"""The group coordinator's core: Kafka's group protocol, decided without I/O."""

from group_harness import Coordinator
from kio.schema.errors import ErrorCode

from nodes.kraft.group import core
from nodes.kraft.group.state import Phase
from nodes.kraft.group.steps import TopicsGone

TWO = (("range", b"r"), ("roundrobin", b"o"))


# --- joining ------------------------------------------------------------------------------


def test_first_members_are_gathered_for_the_initial_delay():
    it = Coordinator()
    assert it.join() is None
    assert it.join() is None
    it.pass_ms(99)
    assert it.answers == {}
    it.pass_ms(1)
    one, two = it.answers[1], it.answers[2]
    assert (one.generation, two.generation) == (1, 1)
    assert one.leader == two.leader == one.member_id
    assert [each[0] for each in one.members] == [one.member_id, two.member_id]
    assert two.members == ()


def test_all_sync_when_the_leader_has_brought_the_parts_and_the_log_has_them():
    it = Coordinator()
    leader, other = it.stable()
    assert it.group().phase is Phase.STABLE
    (answer,) = [each for each in it.answers.values() if getattr(each, "assignment", b"") == b"m2"]
    assert (answer.error, answer.protocol, answer.protocol_type) == (0, "range", "consumer")
    assert it.sync(other, 1).assignment == other.encode()
    assert {each.member_id for each in it.log[-1][0].saved.members} == {leader, other}


def test_nobody_is_reported_its_part_before_the_log_has_it():
    it = Coordinator(settle=False)
    it.join()
    it.pass_ms(100)
    assert it.sync("m1", 1, {"m1": b"all"}) is None
    it.written()
    assert it.answers[it.token].assignment == b"all"


def test_a_stable_group_rests():
    """The rebalance's time-out is over with the rebalance."""
    it = Coordinator()
    leader, other = it.stable()
    for _ in range(9):
        it.pass_ms(9_000)
        assert it.beat(leader, 1) == it.beat(other, 1) == ErrorCode.none


def test_parts_of_an_earlier_generation_come_too_late():
    """The log was slow, and a rebalance began meanwhile: what it says then is of no interest."""
    it = Coordinator(settle=False)
    it.join()
    it.pass_ms(100)
    it.sync("m1", 1, {"m1": b"all"})
    it.join()
    newcomer = it.fresh
    it.join("m1")
    assert it.sync("m1", 2, {"m1": b"half", f"m{newcomer}": b"rest"}) is None
    leading = it.token
    it.written()
    assert leading not in it.answers
    assert it.group().phase is Phase.COMPLETING
    it.written()
    assert it.answers[leading].assignment == b"half"
    assert it.sync(f"m{newcomer}", 2).assignment == b"rest"


def test_parts_that_the_log_refused_are_reported_to_nobody():
    """A.5.11: a deposed coordinator hands out no assignment."""
    it = Coordinator(settle=False)
    it.join()
    it.pass_ms(100)
    it.sync("m1", 1, {"m1": b"all"})
    it.written(ErrorCode.not_leader_or_follower, reach=False)
    assert it.answers[it.token].error == ErrorCode.not_coordinator
    assert it.group().phase is Phase.PREPARING


def test_newcomers_get_their_id_first():
    """KIP-394: 79, then the join with the id."""
    it = Coordinator()
    answer = it.join(id_first=True)
    assert (answer.error, answer.member_id) == (ErrorCode.member_id_required, "m1")
    assert it.join("m1", id_first=True) is None
    it.pass_ms(100)
    assert it.answers[2].generation == 1


def test_an_invited_member_that_never_comes_is_forgotten():
    it = Coordinator()
    it.join(id_first=True, session_ms=1000)
    assert core.deadline_ms(it.state) == 1000
    it.pass_ms(1000)
    assert not it.state.groups
    assert it.join("m1", id_first=True).error == ErrorCode.unknown_member_id


def test_what_cannot_join():
    it = Coordinator(min_session_ms=500, max_session_ms=20_000)
    assert it.join(group="").error == ErrorCode.invalid_group_id
    assert it.join(session_ms=499).error == ErrorCode.invalid_session_timeout
    assert it.join(session_ms=20_001).error == ErrorCode.invalid_session_timeout
    assert it.join("stranger").error == ErrorCode.unknown_member_id
    assert it.join(protocols=()).error == ErrorCode.inconsistent_group_protocol
    assert not it.state.groups
    it.stable()
    assert it.join("stranger").error == ErrorCode.unknown_member_id
    assert it.join(protocols=(("x", b""),)).error == ErrorCode.inconsistent_group_protocol
    assert it.join(protocol_type="connect").error == ErrorCode.inconsistent_group_protocol


def test_the_protocol_that_most_prefer_of_those_that_all_know():
    it = Coordinator()
    it.join(protocols=TWO)
    it.join(protocols=tuple(reversed(TWO)))
    it.join(protocols=tuple(reversed(TWO)))
    it.pass_ms(100)
    assert {each.protocol for each in it.answers.values()} == {"roundrobin"}
    assert it.answers[1].members[0][2] == b"o"
    it.join(protocols=(("range", b"only"),))
    for member in ("m1", "m2"):
        it.join(member, protocols=TWO)
    it.join("m3", protocols=TWO)
    assert it.answers[it.token].protocol == "range"


def test_a_full_group_takes_no_more():
    """Ids that were only given out count too; who is in already may come back."""
    it = Coordinator(max_size=2)
    assert it.join(id_first=True).error == ErrorCode.member_id_required
    it.join(instance="i")
    assert it.join(id_first=True).error == ErrorCode.group_max_size_reached
    assert it.join().error == ErrorCode.group_max_size_reached
    assert it.join(instance="i") is None
    assert it.join("m1") is None
    it.pass_ms(100)
    assert it.answers[it.token].generation == 1


# --- rebalances ---------------------------------------------------------------------------


def test_a_newcomer_makes_the_others_join_again():
    it = Coordinator()
    leader, other = it.stable()
    it.join()
    newcomer = it.token
    assert it.beat(leader, 1) == ErrorCode.rebalance_in_progress
    assert it.sync(other, 1).error == ErrorCode.rebalance_in_progress
    it.join(leader)
    assert newcomer not in it.answers
    it.join(other)
    assert it.answers[newcomer].generation == 2
    assert it.answers[newcomer].leader == leader
    assert it.beat(leader, 1) == ErrorCode.illegal_generation
    assert it.sync(other, 1).error == ErrorCode.illegal_generation


def test_members_that_do_not_come_back_in_time_are_out():
    it = Coordinator()
    leader, other = it.stable()
    it.join()
    newcomer = it.token
    it.join(other)
    for _ in range(4):
        it.pass_ms(7000)
        it.beat(leader, 1)
    assert newcomer not in it.answers
    it.pass_ms(2000)
    assert it.answers[newcomer].generation == 2
    assert set(it.group().members) == {other, it.answers[newcomer].member_id}
    assert it.beat(leader, 2) == ErrorCode.unknown_member_id


def test_a_silent_member_is_out_after_its_session():
    it = Coordinator()
    leader, _ = it.stable()
    it.pass_ms(6000)
    assert it.beat(leader, 1) == ErrorCode.none
    it.pass_ms(4000)
    assert set(it.group().members) == {leader}
    assert it.beat(leader, 1) == ErrorCode.rebalance_in_progress
    it.join(leader)
    assert [each[0] for each in it.answers[it.token].members] == [leader]


def test_who_waits_for_us_is_not_silent():
    it = Coordinator()
    leader, other = it.stable()
    it.join()
    newcomer = it.token
    it.join(leader)
    it.pass_ms(9999)
    it.beat(other, 1)
    it.pass_ms(9999)
    assert newcomer not in it.answers
    it.join(other)
    assert it.answers[newcomer].generation == 2


def test_a_leader_that_leaves_is_followed():
    it = Coordinator()
    leader, other = it.stable()
    assert it.leave(leader).codes == (ErrorCode.none,)
    it.join(other)
    assert it.answers[it.token].leader == other
    assert it.answers[it.token].generation == 2


def test_an_empty_group_is_written_down_and_goes_on_with_its_generations():
    it = Coordinator()
    (only,) = it.stable(1)
    it.leave(only)
    assert it.group().phase is Phase.EMPTY
    assert (it.group().generation, it.log[-1][0].saved.members) == (2, ())
    it.join()
    it.pass_ms(100)
    assert it.answers[it.token].generation == 3


def test_a_join_whose_answer_was_lost_is_answered_again():
    it = Coordinator()
    leader, other = it.stable()
    assert it.join(other).generation == 1
    assert it.group().phase is Phase.STABLE
    it.join(leader)
    assert it.group().phase is Phase.PREPARING  # how a leader asks for a rebalance


def test_a_request_that_comes_twice_frees_the_first_one():
    """No connection is left without an answer."""
    it = Coordinator()
    leader, other = it.stable()
    it.join()
    it.join(other)
    first = it.token
    it.join(other)
    assert it.answers[first].error == ErrorCode.rebalance_in_progress
    it.join(leader)
    assert it.answers[it.token].generation == 2
    it.sync(other, 2)
    first = it.token
    assert it.sync(other, 2) is None
    assert it.answers[first].error == ErrorCode.rebalance_in_progress


def test_a_leader_without_assignment_loses_the_silent_ones():
    it = Coordinator()
    it.join()
    it.join()
    it.pass_ms(100)
    assert it.sync("m2", 1) is None
    waiting = it.token
    for _ in range(5):
        it.pass_ms(6000)
        it.beat("m1", 1)
    assert it.answers[waiting].error == ErrorCode.rebalance_in_progress
    assert set(it.group().members) == {"m2"}


def test_leaving():
    it = Coordinator()
    it.join(id_first=True, group="other")
    assert it.leave("m1", group="other").codes == (ErrorCode.none,)
    assert it.leave("x").codes == (ErrorCode.unknown_member_id,)
    leader, other = it.stable()
    answer = it.leave("x", other)
    assert answer.codes == (ErrorCode.unknown_member_id, ErrorCode.none)
    assert it.beat(leader, 1) == ErrorCode.rebalance_in_progress


def test_sync_of_another_protocol_is_refused():
    it = Coordinator()
    leader, _ = it.stable()
    wrong = it.sync(leader, 1, protocol="roundrobin")
    assert wrong.error == ErrorCode.inconsistent_group_protocol
    assert it.sync(leader, 1, protocol="range", protocol_type="consumer").error == ErrorCode.none


# --- offsets ------------------------------------------------------------------------------


def test_commits_of_members_and_of_others():
    it = Coordinator()
    assert it.commit(5).error == ErrorCode.none  # a simple consumer
    assert it.position() == 5
    assert it.commit(6, "x", 1).error == ErrorCode.unknown_member_id
    assert it.commit(6, "x", 1, group="none").error == ErrorCode.illegal_generation
    leader, _ = it.stable()
    assert it.commit(6).error == ErrorCode.unknown_member_id
    assert it.commit(6, leader, 0).error == ErrorCode.illegal_generation
    assert it.commit(6, leader, 1).error == ErrorCode.none
    it.join()
    assert it.commit(7, leader, 1).error == ErrorCode.none  # before it joins again
    assert it.position() == 7


def test_between_join_and_sync_nothing_is_committed():
    it = Coordinator()
    it.join()
    it.pass_ms(100)
    assert it.commit(1, "m1", 1).error == ErrorCode.rebalance_in_progress


def test_a_commit_is_reported_when_it_is_committed():
    it = Coordinator(settle=False)
    assert it.commit(5) is None
    assert it.position() is None
    it.written()
    assert it.answers[it.token].error == ErrorCode.none
    assert it.position() == 5


def test_a_commit_that_the_log_refused_is_not_acknowledged():
    it = Coordinator(settle=False)
    for error, reported in (
        (ErrorCode.not_leader_or_follower, ErrorCode.not_coordinator),
        (ErrorCode.not_enough_replicas_after_append, ErrorCode.coordinator_not_available),
        (ErrorCode.request_timed_out, ErrorCode.coordinator_not_available),
        (ErrorCode.message_too_large, ErrorCode.invalid_commit_offset_size),
    ):
        it.commit(5)
        it.written(error)
        assert it.answers[it.token].error == reported
        assert it.position() is None


def test_of_two_commits_the_later_record_counts():
    it = Coordinator(settle=False)
    it.commit(5)
    it.commit(6)
    first, second = it.writes
    it.writes = []
    it.feed(core.Written(second.write, ErrorCode.none, 11))
    it.feed(core.Written(first.write, ErrorCode.none, 10))
    assert it.position() == 6


def test_deleting_a_group():
    it = Coordinator()
    assert it.delete().error == ErrorCode.group_id_not_found
    (only,) = it.stable(1)
    it.commit(5, only, 1)
    assert it.delete().error == ErrorCode.non_empty_group
    it.leave(only)
    assert it.delete().error == ErrorCode.none
    assert not it.state.groups
    it.fail_over()
    assert not it.state.groups


def test_what_was_on_its_way_when_a_group_was_deleted_does_not_come_back():
    """The log has both, in this order: the next coordinator must read what this one knows."""
    it = Coordinator(settle=False)
    it.commit(5, partition=0)
    it.written()
    it.commit(6, partition=1)
    it.delete()
    it.written()
    assert it.position(1) == 6
    it.written()
    assert it.answers[it.token].error == ErrorCode.none
    assert (it.position(0), it.position(1)) == (None, None)
    it.fail_over()
    assert (it.position(0), it.position(1)) == (None, None)


def test_offsets_of_deleted_topics_are_forgotten():
    """A later topic of the same name is read from where its consumers are told to begin."""
    it = Coordinator(settle=False)
    for partition in (0, 1):
        it.commit(5, partition=partition)
        it.written()
    it.feed(TopicsGone(frozenset({"other"})))
    assert not it.writes
    it.feed(TopicsGone(frozenset({"t"})))
    assert it.position() == 5  # until the log has it
    it.written(ErrorCode.not_enough_replicas, reach=False)
    assert it.position() == 5
    it.feed(TopicsGone(frozenset({"t"})))
    it.commit(7)
    it.written()
    assert it.position() is None
    it.written()
    assert (it.position(0), it.position(1)) == (7, None)  # committed after, to the new topic
    it.fail_over()
    assert (it.position(0), it.position(1)) == (7, None)


# --- failovers ----------------------------------------------------------------------------


def test_members_go_on_with_the_next_coordinator():
    it = Coordinator()
    leader, other = it.stable()
    it.commit(5, other, 1)
    it.now_ms = 50_000
    it.fail_over()
    assert it.position() == 5
    it.pass_ms(9_999)
    assert set(it.group().members) == {leader, other}
    assert it.beat(leader, 1) == ErrorCode.none
    assert it.sync(other, 1).assignment == other.encode()
    it.pass_ms(10_000)
    assert not it.group().members


def test_a_deposed_coordinator_sends_all_who_wait_on():
    """A.5.11: and acknowledges nothing any more."""
    it = Coordinator(settle=False)
    it.join()
    it.pass_ms(100)
    it.sync("m1", 1, {"m1": b"all"})
    syncing = it.token
    it.join()
    joining = it.token
    it.commit(5, group="other")
    committing = it.token
    late = it.writes[-1].write
    it.feed(core.Resign())
    for token in (joining, committing):
        assert it.answers[token].error == ErrorCode.not_coordinator
    assert it.answers[syncing].error in (
        ErrorCode.rebalance_in_progress,
        ErrorCode.not_coordinator,
    )
    it.feed(core.Written(late, ErrorCode.none, 3))
    assert not it.state.groups


def test_a_forgotten_group_leaves_no_trace():
    it = Coordinator()
    assert it.join(id_first=True).member_id
    it.leave("m1")
    assert not it.state.groups
    assert core.deadline_ms(it.state) is None
