"""Static members (KIP-345): a process that comes back has the place that the one before it had."""

import pytest
from group_harness import Coordinator
from kio.schema.errors import ErrorCode

from nodes.kraft.group.state import Phase

TWO = (("range", b"r"), ("roundrobin", b"o"))


def static(*instances: str) -> tuple[Coordinator, list[str]]:
    """A stable group of these instances in generation 1, the leader first."""
    it = Coordinator()
    return it, it.stable(instances=instances)


def test_the_newest_process_of_an_instance_has_its_place_and_the_one_before_is_fenced():
    it, (former,) = static("i")
    (successor,) = {it.join(instance="i").member_id}
    assert successor != former
    assert it.beat(former, 1, instance="i") == ErrorCode.fenced_instance_id
    assert it.commit(5, former, 1, instance="i").error == ErrorCode.fenced_instance_id
    assert it.sync(former, 1, instance="i").error == ErrorCode.fenced_instance_id
    assert it.join(former, instance="i").error == ErrorCode.fenced_instance_id
    assert it.leave((former, "i")).codes == (ErrorCode.fenced_instance_id,)
    assert it.beat(former, 1) == ErrorCode.unknown_member_id
    assert it.beat(successor, 1, instance="i") == ErrorCode.none
    assert it.commit(5, successor, 1, instance="i").error == ErrorCode.none


def test_a_follower_that_comes_back_goes_on_with_its_part_in_its_generation():
    it, (leader, other) = static("i", "j")
    answer = it.join(instance="j")
    assert (answer.error, answer.generation, answer.leader) == (0, 1, leader)
    assert (answer.members, answer.skip_assignment) == ((), False)
    assert it.sync(answer.member_id, 1, instance="j").assignment == other.encode()
    assert it.beat(leader, 1, instance="i") == ErrorCode.none, "nobody has to join again"
    assert set(it.group().members) == {leader, answer.member_id}


def test_a_leader_that_comes_back_leads_on_and_is_told_not_to_assign():
    """KIP-814."""
    it, (leader, other) = static("i", "j")
    answer = it.join(instance="i")
    assert (answer.generation, answer.leader) == (1, answer.member_id)
    assert answer.skip_assignment
    assert {each[:2] for each in answer.members} == {(answer.member_id, "i"), (other, "j")}
    assert it.sync(answer.member_id, 1, instance="i").assignment == leader.encode()
    it.join(answer.member_id, instance="i")
    assert it.group().phase is Phase.PREPARING, "how a leader asks for a rebalance"


def test_a_leader_that_cannot_be_told_not_to_assign_is_told_its_former_id():
    """JoinGroup before version 9: it goes on as a follower."""
    it, (leader, _) = static("i", "j")
    answer = it.join(instance="i", may_skip=False)
    assert (answer.generation, answer.leader) == (1, leader)
    assert answer.member_id != leader
    assert (answer.members, answer.skip_assignment) == ((), False)
    assert it.sync(answer.member_id, 1, instance="i").assignment == leader.encode()
    assert it.group().leader == answer.member_id


def test_a_new_id_is_told_when_the_log_has_it():
    it, (former,) = static("i")
    it.settle = False
    assert it.join(instance="i") is None
    returned = it.token
    it.pass_ms(60_000)
    assert returned not in it.answers, "who waits for us is not silent"
    it.written()
    assert it.answers[returned].member_id in it.group().members
    it.pass_ms(9_999)
    assert former not in it.group().members and it.group().phase is Phase.STABLE


def test_it_holds_with_the_next_coordinator():
    it, (leader, other) = static("i", "j")
    (first, second) = (it.join(instance=each).member_id for each in ("i", "j"))
    it.fail_over()
    for former, instance in ((leader, "i"), (other, "j")):
        assert it.beat(former, 1, instance=instance) == ErrorCode.fenced_instance_id
    assert it.sync(first, 1, instance="i").assignment == leader.encode()
    assert it.sync(second, 1, instance="j").assignment == other.encode()
    again = it.join(instance="j")
    assert (again.generation, again.leader) == (1, first)
    assert it.sync(again.member_id, 1, instance="j").assignment == other.encode()


@pytest.mark.parametrize("reach", [False, True])
def test_an_id_that_the_log_refused_is_nobodys_and_the_member_comes_again(reach: bool):
    it, (former,) = static("i")
    it.settle = False
    it.join(instance="i")
    it.written(ErrorCode.not_enough_replicas_after_append, reach=reach)
    assert it.answers[it.token].error == ErrorCode.coordinator_not_available
    it.settle = True
    answer = it.join(instance="i")
    assert (answer.error, answer.generation) == (ErrorCode.none, 1)
    assert it.sync(answer.member_id, 1, instance="i").assignment == former.encode()


def test_of_two_processes_that_come_back_at_once_the_later_one_stays():
    it, (former,) = static("i")
    it.settle = False
    it.join(instance="i")
    first = it.token
    it.join(instance="i")
    second = it.token
    assert it.answers[first].error == ErrorCode.fenced_instance_id
    it.written()
    assert second not in it.answers
    it.written()
    assert set(it.group().members) == {it.answers[second].member_id}
    assert it.sync(it.answers[second].member_id, 1, instance="i").assignment == former.encode()


def test_a_rebalance_that_begins_before_the_log_has_the_id_answers():
    it, (leader, _) = static("i", "j")
    it.settle = False
    it.join(instance="j")
    returned = it.token
    it.join()
    newcomer = it.token
    it.written()
    assert returned not in it.answers
    it.join(leader, instance="i")
    assert it.answers[returned].generation == it.answers[newcomer].generation == 2


def test_another_way_to_assign_is_a_new_generation():
    """Metadata alone is not: a client's own knowledge of its part is in it."""
    it = Coordinator()
    tokens = []
    for instance, protocols in (("i", TWO), ("j", TWO), ("k", tuple(reversed(TWO)))):
        it.join(instance=instance, protocols=protocols)
        tokens.append(it.token)
    it.pass_ms(100)
    ids = [it.answers[token].member_id for token in tokens]
    it.sync(ids[0], 1, dict.fromkeys(ids, b"part"), instance="i")
    same = it.join(instance="j", protocols=(("range", b"new"), ("roundrobin", b"o")))
    assert same.generation == 1
    assert it.group().members[same.member_id].metadata("range") == b"new"
    assert it.join(instance="j", protocols=tuple(reversed(TWO))) is None
    assert it.group().phase is Phase.PREPARING


def test_before_the_parts_are_known_a_return_begins_anew():
    """The leader may have assigned to the former id already."""
    it = Coordinator()
    for instance in ("i", "j"):
        it.join(instance=instance)
    it.pass_ms(100)
    leader, other = it.answers[1].leader, "m2"
    it.sync(other, 1, instance="j")
    waiting = it.token
    it.join(instance="j")
    returned = it.token
    assert it.answers[waiting].error == ErrorCode.fenced_instance_id
    assert it.group().phase is Phase.PREPARING
    it.join(leader, instance="i")
    assert it.answers[returned].generation == 2
    assert it.answers[returned].leader == leader


def test_in_a_rebalance_a_return_is_a_join():
    it, (leader, other) = static("i", "j")
    it.join()
    it.join(other, instance="j")
    waiting = it.token
    it.join(instance="j")
    returned = it.token
    assert it.answers[waiting].error == ErrorCode.fenced_instance_id
    it.join(instance="i")
    assert it.answers[it.token].generation == it.answers[returned].generation == 2
    assert it.answers[returned].leader == it.answers[it.token].member_id, "it led, and leads"
    assert leader != it.answers[it.token].member_id


def test_after_its_session_it_is_new():
    it, (former,) = static("i")
    it.pass_ms(10_000)
    assert it.group().phase is Phase.EMPTY
    it.join(instance="i")
    it.pass_ms(100)
    assert it.answers[it.token].generation == 3
    assert it.beat(former, 3, instance="i") == ErrorCode.fenced_instance_id


def test_one_that_an_operator_removes_is_no_member_any_more():
    """LeaveGroup from version 3 on names instances (KIP-345)."""
    it, (leader, other) = static("i", "j")
    codes = it.leave(("", "j"), ("", "k"), ("other", "i")).codes
    assert codes == (
        ErrorCode.none,
        ErrorCode.unknown_member_id,
        ErrorCode.fenced_instance_id,
    )
    assert it.beat(other, 1, instance="j") == ErrorCode.unknown_member_id
    assert it.beat(leader, 1, instance="i") == ErrorCode.rebalance_in_progress


def test_who_names_an_instance_that_is_not_there_is_no_member():
    it = Coordinator()
    (only,) = it.stable(1)
    assert it.beat(only, 1, instance="i") == ErrorCode.unknown_member_id
    assert it.beat(only, 1) == ErrorCode.none
