"""What nodes tell the harness's observer fits together, and what they tell of the quorum to clients
who ask who votes. No node writes an event here, and no client asks for anything else."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import clause_of, judged
from planted_runs import NODES, OTHER, TOPIC, Story

from checkers.folds.cluster.observed_controllers import CONTROLLERS, CONTROLLERS_TOLD, NOBODY_ASKED
from checkers.observed_cluster import (
    CLAUSES,
    HEARD,
    ObservedCluster,
    kept_so_far,
    observed_cluster,
)
from framework.checking.keyed import outcome_row
from framework.checking.live import clauses_so_far
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, LEDGER
from framework.plugins.outcomes import CLIENT_TIMED_OUT, CONNECTION_FAILED, CONNECTION_LOST
from framework.verdict import Verdict
from tests.cases import cases

RECOVERY_S = 15.0
BROKERS: Mapping[str, int] = {"b1": 4, "b2": 5, "b3": 6}
VOTERS = (1, 2, 3)
CHECKER = ObservedCluster()


class Asked(Story):
    """A cluster of three controllers and three brokers that is asked. `leader`, `epoch`, `end`: of
    its quorum."""

    def __init__(self, nodes: Mapping[str, Any] = NODES) -> None:
        super().__init__(plan={"nodes": dict(nodes), "recovery_s": RECOVERY_S})
        self.leader, self.epoch, self.end = 1, 1, 10
        self.dead: set[str] = set()

    def node(self, node: str, **view: Any) -> Any:
        """Its own view."""
        return self.ask(node, "describe-node", self._view(**view))

    def quorum(self, node: str, *, end: int | None = None, **view: Any) -> Any:
        """The leader's, by way of the node."""
        reported = self._view(**view)
        ends = [[voter, self.end] for voter in VOTERS]
        ends[reported["leader"] - 1][1] = self.end if end is None else end
        return self.ask(node, "describe-quorum", {**reported, "voters": ends})

    def to_a_client(self, *, end: int | None = None, **view: Any) -> Any:
        """Who votes, by the controller that leads, and how far its log is."""
        told = self._view(**view)
        voters = [{"id": each, "directory": f"d{each}"} for each in VOTERS]
        ends = {"log_end": self.end if end is None else end}
        answer = {**told, **ends, "voters": voters, "observers": [*BROKERS.values()]}
        return self.op("describe-voters", None, None, answer, node=f"c{told['leader']}")

    def records(self, node: str, **view: Any) -> Any:
        """What is new in the log, of which nothing is given, by who leads."""
        told = self._view(**view)
        told.pop("leader")
        answer = {**told, "begin": 0, "epochs": [], "crcs": []}
        return self.ask(node, "metadata-log", answer)

    def _view(self, **view: Any) -> dict[str, Any]:
        named = {"leader": self.leader, "leader_epoch": self.epoch, "high_watermark": self.end}
        return {**named, **view}

    def brokers(self, node: str, without: str = "", **address: str) -> Any:
        """A list of those that live, but for one."""
        reported = [
            {"id": number, "host": address.get(name, name), "port": 9092}
            for name, number in BROKERS.items()
            if name != without and name not in self.dead
        ]
        return self.ask(node, "describe-cluster", {"brokers": reported})

    def controllers(self, node: str, *told: int, active: int | None = None, **address: str) -> Any:
        """Controllers by their ids; none named: all."""
        reported = [
            {"id": number, "host": address.get(f"c{number}", f"c{number}"), "port": 9093}
            for number in told or VOTERS
        ]
        who = self.leader if active is None else active
        return self.ask(node, CONTROLLERS, {"controllers": reported, "active": who})

    def topic(self, node: str, *isr: int, topic_id: str = TOPIC, partition: int = 0) -> Any:
        """One partition on all brokers, and those of them that are in sync."""
        live = [
            {"id": number, "host": name, "port": 9092}
            for name, number in BROKERS.items()
            if name not in self.dead
        ]
        state = {"partition": partition, "leader": isr[0], "leader_epoch": 1, "isr": list(isr)}
        partitions = [{**state, "replicas": [*BROKERS.values()]}]
        topics = [{"name": "t", "topic_id": topic_id, "partitions": partitions}]
        return self.ask(node, "describe-topics", {"brokers": live, "topics": topics})

    def silence(self, node: str, code: str = CLIENT_TIMED_OUT) -> Any:
        return self.ask(node, "describe-node", type="fail", error=code)

    def round(self, **without: str) -> None:
        """Everybody is asked. `without`: whom a node leaves out of its list."""
        for node in NODES:
            if node in self.dead:
                self.silence(node, CONNECTION_FAILED)
                continue
            self.node(node)
            if node == f"c{self.leader}":
                self.records(node)
                self.to_a_client()
            if node not in BROKERS:
                self.controllers(node)
            else:
                self.quorum(node)
                self.brokers(node, without.get(node, ""))
        self.end += 3

    def rounds(self, count: int, **without: str) -> None:
        """2 s apart."""
        for _ in range(count):
            self.round(**without)
            self.wait(2000)


def ledger(cut_off: Sequence[str]) -> list[dict[str, Any]]:
    """Of a cut that leaves all others alone."""
    spared = [node for node in NODES if node not in cut_off]
    return [{"step": "planned", "spared": spared, "cut_off": list(cut_off)}]


def begun() -> Asked:
    """Peace, an election under a fault, and a broker that is dead for long."""
    story = Asked()
    story.rounds(3)
    with story.fault(victims={"c1": {}}):
        story.wait(1000)
        story.leader, story.epoch = 2, 2
        story.node("c1", leader=1, leader_epoch=1)
        story.quorum("b1", leader=1, leader_epoch=1)
        story.node("c2", high_watermark=-1)
        story.node("c3", leader=-1)
        story.ask("b1", "describe-quorum", type="fail", error="NOT_LEADER_OR_FOLLOWER")
        story.wait(1000)
    story.wait(20_000)
    story.rounds(1)
    killed(story)
    return story


def killed(story: Asked, rounds: int = 12) -> None:
    """b3 dies, is no longer listed some time after, and comes back with what it had on its disk."""
    with story.fault("kill", ends_processes=True, victims={"b3": {}}):
        story.round()
        story.dead.add("b3")
        story.rounds(rounds)
    story.dead.clear()
    story.node("b3", high_watermark=3)
    story.round()


def ended(story: Asked) -> Asked:
    story.final()
    story.rounds(2)
    story.topic("b1", 4, 5, 6)
    story.topic("b2", 4, 5, 6)
    return story


def clean() -> Asked:
    return ended(begun())


PLANTED = Plants(clean)


# --- the quorum


@PLANTED.violation("epoch 2 of the quorum has two leaders", "leader 2", "leader 3")
def two_leaders_by_two_nodes(story: Asked) -> None:
    story.node("c3", leader=3)


@PLANTED.violation("epoch 2 of the quorum has two leaders")
def two_leaders_by_brokers(story: Asked) -> None:
    story.quorum("b1", leader=3)


@PLANTED.violation("epoch 1 of the quorum has two leaders")
def two_leaders_of_an_epoch_that_is_over(story: Asked) -> None:
    story.quorum("b1", leader=3, leader_epoch=1)


def votes(story: Asked, *voters: int) -> None:
    """The leader of epoch 2 tells that these do."""
    ends = [[voter, story.end] for voter in voters]
    story.ask("b1", "describe-quorum", {**story._view(), "voters": ends})


@PLANTED.violation("leader 2 in epoch 2 tells, by b1", "[1, 2] vote, and [1, 2, 3] do")
def a_voter_is_left_out_of_one_answer(story: Asked) -> None:
    votes(story, 2, 1)


@PLANTED.violation("[1, 2, 3, 4] vote")
def a_broker_is_told_to_vote(story: Asked) -> None:
    votes(story, 1, 2, 3, 4)


@PLANTED.violation("[1, 2, 2, 3] vote")
def a_voter_is_told_twice(story: Asked) -> None:
    votes(story, 1, 2, 2, 3)


def test_a_voter_of_the_plan_that_has_no_id_is_held_against_nobody() -> None:
    story = Asked({**NODES, "c4": {"votes": True}})
    votes(story, *VOTERS)
    assert not findings(story)


def test_who_votes_is_told_once_however_often_it_is_wrong() -> None:
    story = clean()
    for _ in range(3):
        votes(story, 1, 2)
    assert sum("vote, and" in each for each in findings(story)) == 1


def test_voters_that_may_change_are_not_held_against_the_plan() -> None:
    story = clean()
    votes(story)
    assert judged(CHECKER, story).verdict is Verdict.VALID, "one that names none tells nothing"
    votes(story, 3, 1, 2)
    assert judged(CHECKER, story).verdict is Verdict.VALID, "in any order"
    votes(story, 1, 2)
    assert judged(CHECKER, story).verdict is Verdict.INVALID
    story.plan = {**story.plan, "provides": ["voter-changes"]}
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.VALID and clause_of(result, "all-vote").verdict is None


def voters_are(story: Asked, *ends: int, high_watermark: int) -> None:
    """By the leader of epoch 2, who is voter 2."""
    told = [[voter, end] for voter, end in zip(VOTERS, ends, strict=True)]
    view = {**story._view(high_watermark=high_watermark), "voters": told}
    story.ask("b1", "describe-quorum", view)


@PLANTED.violation("calls committed what a majority of those who vote does not have", "up to")
def the_leader_commits_what_it_alone_has(story: Asked) -> None:
    end = story.end
    voters_are(story, end, end + 1, end, high_watermark=end + 1)


@PLANTED.violation("calls committed what a majority of those who vote does not have")
def and_so_where_it_does_not_know_how_far_another_is(story: Asked) -> None:
    end = story.end
    voters_are(story, end, end + 5, -1, high_watermark=end + 6)


def test_what_a_majority_lacks_is_told_once_however_often_it_is_so() -> None:
    story = clean()
    for _ in range(3):
        the_leader_commits_what_it_alone_has(story)
    assert sum("a majority of those who vote" in each for each in findings(story)) == 1


def test_a_majority_is_enough_and_who_is_unknown_may_have_all() -> None:
    story, end = Asked(), 50
    story.leader = 2
    voters_are(story, end - 9, end, end, high_watermark=end)
    voters_are(story, -1, end, -1, high_watermark=end)
    voters_are(story, -1, end, end - 9, high_watermark=end)
    assert not findings(story)


def test_voters_that_come_and_go_may_be_fewer_than_those_who_committed() -> None:
    story = clean()
    the_leader_commits_what_it_alone_has(story)
    story.plan = {**story.plan, "provides": ["voter-changes"]}
    assert clause_of(judged(CHECKER, story), "majority-has").verdict is None
    assert not findings(story)


@PLANTED.violation("the leader epoch of c3, though it was not restarted, went back")
def an_epoch_goes_back(story: Asked) -> None:
    story.node("c3", leader=1, leader_epoch=1)


@PLANTED.violation("the high watermark of b2, though it was not restarted, went back")
def a_high_watermark_goes_back(story: Asked) -> None:
    story.node("b2", high_watermark=4)


@PLANTED.violation("the high watermark of leader 2 in epoch 2, went back")
def a_leaders_high_watermark_goes_back(story: Asked) -> None:
    story.quorum("b1", high_watermark=4)


@PLANTED.violation("the end of the log of leader 2 in epoch 2, went back")
def the_end_of_a_leaders_log_goes_back(story: Asked) -> None:
    story.end += 5
    story.quorum("b1", high_watermark=4, end=story.end)
    story.quorum("b2", high_watermark=4, end=story.end - 1)


@PLANTED.violation("the high watermark of leader 2 in epoch 2, went back", "by c2 (operation")
def a_client_is_told_that_less_is_committed(story: Asked) -> None:
    story.to_a_client(high_watermark=4)


@PLANTED.violation("the end of the log of leader 2 in epoch 2, went back", "by c2 (operation")
def a_client_is_told_that_the_log_is_longer_than_it_is(story: Asked) -> None:
    story.to_a_client(end=story.end + 1)
    story.quorum("b1")


@PLANTED.violation("the log of leader 2 in epoch 2 ends at 0", "below what had been told")
def a_client_is_told_of_a_log_without_anything(story: Asked) -> None:
    story.to_a_client(high_watermark=-1, end=0)


@PLANTED.violation("epoch 2 of the quorum has two leaders", "leader 2", "leader 3", "by c3")
def a_client_is_told_of_another_leader(story: Asked) -> None:
    story.to_a_client(leader=3)


@PLANTED.violation("the leader epoch of c2, though it was not restarted, went back")
def a_client_is_told_of_an_epoch_before_it_begins(story: Asked) -> None:
    story.to_a_client(leader_epoch=3)
    story.node("c2")


@PLANTED.violation("epoch 2 of the quorum has two leaders", "leader 2", "leader 3", "by c3")
def another_gives_records_as_a_leader(story: Asked) -> None:
    story.records("c3")


@PLANTED.violation("the high watermark of c2, though it was not restarted, went back")
def records_come_with_a_high_watermark_of_the_past(story: Asked) -> None:
    story.records("c2", high_watermark=4)


@PLANTED.violation("the leader epoch of c2, though it was not restarted, went back")
def records_come_in_an_epoch_before_it_begins(story: Asked) -> None:
    story.records("c2", leader_epoch=3)
    story.node("c2")


@PLANTED.violation("the log of leader 3 in epoch 3 ends at 9", "below what had been told")
def a_leader_lacks_what_was_committed(story: Asked) -> None:
    story.quorum("b1", leader=3, leader_epoch=3, high_watermark=-1, end=9)


@PLANTED.violation("the log of leader 3 in epoch 3 ends at 0", "below what had been told")
def a_leader_has_nothing_at_all(story: Asked) -> None:
    story.quorum("b1", leader=3, leader_epoch=3, high_watermark=-1, end=0)


@PLANTED.violation("the log of leader 2 in epoch 2 ends at")
def a_high_watermark_beyond_the_leaders_end(story: Asked) -> None:
    story.quorum("b1", high_watermark=story.end + 5)


@PLANTED.violation("the log of leader 2 in epoch 2 ends at")
def a_follower_has_more_committed_than_its_leader_has(story: Asked) -> None:
    story.node("c3", high_watermark=story.end + 5)
    story.quorum("b1")


def went_on(story: Asked, tell: Callable[[], Any], lasts_s: int = 16) -> Asked:
    """c3 leads a third epoch, and meanwhile somebody is asked every 2 s, for so long."""
    story.leader, story.epoch = 3, 3
    with story.fault(victims={"c2": {}}):
        for at in range(0, lasts_s + 1, 2):
            story.node("c3")
            tell()
            if at < lasts_s:
                story.wait(2000)
    return ended(story)


@PLANTED.violation("c2 tells that it leads epoch 2 in 9 answers", on=begun)
def a_leader_that_is_cut_off_goes_on(story: Asked) -> None:
    went_on(story, lambda: story.node("c2", leader=2, leader_epoch=2))


@PLANTED.violation("c2 tells that it leads epoch 2 in 6 answers", on=begun)
def a_leader_goes_on_for_as_long_as_it_takes_to_fence(story: Asked) -> None:
    """That is less time than recovery takes."""
    story.plan["fencing_s"] = 10.0
    went_on(story, lambda: story.node("c2", leader=2, leader_epoch=2), lasts_s=10)


@PLANTED.violation("c2 tells that it leads epoch 2 in 9 answers", on=begun)
def a_leader_that_is_asked_of_brokers_too_goes_on(story: Asked) -> None:
    def tell() -> None:
        story.node("c2", leader=2, leader_epoch=2)
        story.brokers("c2")

    went_on(story, tell)


@PLANTED.violation("c2 tells that it leads epoch 2 in 9 answers", on=begun)
def a_leader_that_tells_of_its_log_goes_on(story: Asked) -> None:
    went_on(story, lambda: story.quorum("c2", leader=2, leader_epoch=2))


# --- brokers


@PLANTED.violation("b1 does not tell of broker 5 (b2)", on=begun)
def a_live_broker_is_not_listed_in_the_end(story: Asked) -> None:
    story.final()
    story.rounds(2, b1="b2")


@PLANTED.violation("b1 does not tell of broker 5 (b2)", on=begun)
def a_live_broker_is_not_listed_for_long(story: Asked) -> None:
    story.wait(20_000)
    story.rounds(9, b1="b2")
    ended(story)


@PLANTED.violation("b1 does not tell of broker 5 (b2)", on=Asked)
def a_live_broker_is_not_listed_after_a_run_without_faults(story: Asked) -> None:
    story.rounds(2)
    story.final()
    story.rounds(2, b1="b2")


@PLANTED.violation("b2 does not tell of broker 5 (b2)", on=Asked)
def a_broker_does_not_tell_of_itself_from_the_first_on(story: Asked) -> None:
    story.rounds(9, b2="b2")
    ended(story)


@PLANTED.violation("b1 tells of broker 6 (b3)", on=Asked)
def a_dead_broker_is_listed_for_long(story: Asked) -> None:
    story.rounds(2)
    with story.fault("kill", ends_processes=True, victims={"b3": {}}):
        story.wait(20_000)
        for _ in range(2):
            story.brokers("b1")
            story.brokers("b2", without="b3")
    ended(story)


@PLANTED.violation("b1 tells of broker 6 (b3)", on=Asked)
def a_dead_broker_is_listed_for_longer_than_the_system_says(story: Asked) -> None:
    """It fences one within 8 s, though some things take it 15 s."""
    story.plan["fencing_s"] = 8.0
    with story.fault("kill", ends_processes=True, victims={"b3": {}}):
        story.wait(9_000)
        for _ in range(2):
            story.brokers("b1")
            story.brokers("b2", without="b3")
    ended(story)


@PLANTED.violation("b1 tells of broker 6 (b3)", on=Asked)
def a_broker_that_is_cut_off_is_listed_for_long(story: Asked) -> None:
    """It lives, and must have been fenced: it reaches no controller."""
    story.rounds(2)
    with story.fault(victims={node: {} for node in NODES}, entries=ledger(["b3"])):
        story.wait(20_000)
        for _ in range(2):
            story.brokers("b1")
            story.brokers("b2", without="b3")
    ended(story)


@PLANTED.violation("b2 tells of broker 6 (b3)", on=Asked)
def a_stopped_broker_is_listed_for_long(story: Asked) -> None:
    story.rounds(2)
    with story.fault("pause", victims={"b3": {}}, entries=[{"cut_off": ["b3"]}]):
        story.wait(20_000)
        for _ in range(2):
            story.brokers("b2")
    ended(story)


@PLANTED.violation("b1 does not tell of broker 6 (b3) in 9 answers", on=begun)
def a_live_broker_is_in_one_kind_of_list_alone(story: Asked) -> None:
    """The metadata leave it out, and the description of the cluster does not."""
    story.wait(20_000)
    for _ in range(9):
        story.brokers("b1")
        metadata_without(story, "b3")
        story.wait(2000)
    ended(story)


def metadata_without(story: Asked, broker: str) -> None:
    story.dead.add(broker)
    story.topic("b1", 4, 5, 6)
    story.dead.remove(broker)


@PLANTED.violation("b1 tells of broker 6 (b3)", "in 2 answers", on=Asked)
def a_dead_broker_is_in_one_kind_of_list(story: Asked) -> None:
    """The metadata have it, and the description of the cluster has not."""
    with story.fault("kill", ends_processes=True, victims={"b3": {}}):
        story.wait(20_000)
        for _ in range(2):
            story.brokers("b1", without="b3")
            story.topic("b1", 4, 5)
    ended(story)


@PLANTED.violation("b1 tells of broker 6 (b3), which leads by that, in 2 answers", on=Asked)
def a_dead_broker_leads_by_metadata(story: Asked) -> None:
    """Which do not list it."""
    with story.fault("kill", ends_processes=True, victims={"b3": {}}):
        story.dead.add("b3")
        story.wait(20_000)
        for _ in range(2):
            story.brokers("b1")
            story.topic("b1", 6, 4, 5)
        story.dead.clear()
    ended(story)


def test_where_no_broker_dies_none_can_be_listed_though_it_is_dead() -> None:
    """A controller is, for long."""
    story = Asked()
    story.rounds(3)
    with story.fault("kill", ends_processes=True, victims={"c3": {}}):
        story.dead.add("c3")
        story.rounds(15)
    story.dead.clear()
    ended(story)
    assert clause_of(judged(CHECKER, story), "dead-unlisted").verdict is None


def test_what_dead_brokers_led_may_be_shown_until_they_must_be_missed() -> None:
    """And after that once; one that does not lead is a replica all the while."""
    story = begun()
    with story.fault("kill", ends_processes=True, victims={"b3": {}}):
        story.dead.add("b3")
        story.topic("b1", 6, 4, 5)
        story.topic("b1", 6, 4, 5)
        story.wait(20_000)
        story.topic("b1", 6, 4, 5)
        for _ in range(3):
            story.topic("b1", 4, 5)
        story.topic("b1", -1, 6)
        story.dead.clear()
    assert judged(CHECKER, ended(story)).verdict is Verdict.VALID


def out_of_sync(
    story: Asked, tell: Callable[[int], Any] = lambda _: None, lasts_s: int = 16
) -> Asked:
    """In peace, by what is told every 2 s, from first to last for so long."""
    story.wait(20_000)
    for at in range(0, lasts_s + 1, 2):
        tell(at)
        if at < lasts_s:
            story.wait(2000)
    return ended(story)


@PLANTED.violation(
    "the replica of t-0 on broker 6 (b3) is not in sync in 9 answers of b1", on=begun
)
def a_replica_stays_out_of_sync(story: Asked) -> None:
    out_of_sync(story, lambda _: story.topic("b1", 4, 5))


@PLANTED.violation(
    "the replica of t-1 on broker 4 (b1) is not in sync in 9 answers of b2", on=begun
)
def one_replica_stays_out_of_sync_while_another_comes_back(story: Asked) -> None:
    def tell(at: int) -> None:
        story.topic("b2", *((5, 6) if at % 4 else (5,)), partition=1)

    out_of_sync(story, tell)


def leaderless(story: Asked, *isr: int) -> Any:
    """b1 shows a partition that nobody leads."""
    live = [{"id": number, "host": name, "port": 9092} for name, number in BROKERS.items()]
    state = {"partition": 0, "leader": -1, "leader_epoch": 2, "isr": [*isr]}
    partitions = [{**state, "replicas": [*BROKERS.values()]}]
    topics = [{"name": "t", "topic_id": TOPIC, "partitions": partitions}]
    return story.ask("b1", "describe-topics", {"brokers": live, "topics": topics})


@PLANTED.violation("t-0 has no leader, and broker 5 (b2) in its ISR, in 9 answers of b1", on=begun)
def a_partition_has_no_leader_though_one_is_in_sync(story: Asked) -> None:
    out_of_sync(story, lambda _: leaderless(story, 4, 5, 6))


@PLANTED.violation("brokers 4 and 5 have one address by b3", "b1:9092")
def two_ids_have_one_address(story: Asked) -> None:
    story.brokers("b3", b2="b1")


@PLANTED.violation("broker 5 (b2) has two addresses", "b2:9092 by b1", "elsewhere:9092 by b3")
def two_addresses_of_one_id(story: Asked) -> None:
    story.brokers("b3", b2="elsewhere")


# --- silence


@PLANTED.violation("broker 6 has two addresses by one answer of b1", "b3:9092 and evil:9092")
def two_brokers_of_one_id_in_one_list(story: Asked) -> None:
    listed = [("b1", 4), ("b2", 5), ("b3", 6), ("evil", 6)]
    named_by(story, listed)


@PLANTED.violation("broker 6 has two addresses by one answer of b1", "evil:9092 and b3:9092")
def another_broker_of_the_id_comes_first_in_a_list(story: Asked) -> None:
    listed = [("b1", 4), ("evil", 6), ("b2", 5), ("b3", 6)]
    named_by(story, listed)


def named_by(story: Asked, listed: Sequence[tuple[str, int]]) -> None:
    brokers = [{"id": number, "host": host, "port": 9092} for host, number in listed]
    story.ask("b1", "describe-cluster", {"brokers": brokers})


# --- the controllers


@PLANTED.violation("c2 (operation", "tells of controllers [4], and [1, 2, 3] are those of the plan")
def a_broker_is_told_to_be_a_controller(story: Asked) -> None:
    story.controllers("c2", 1, 2, 3, 4)


@PLANTED.violation("tells of a controller twice")
def a_controller_is_told_twice(story: Asked) -> None:
    story.controllers("c2", 1, 2, 2, 3)


@PLANTED.violation("tells of two controllers at one address", "c1:9093")
def two_controllers_have_one_address(story: Asked) -> None:
    story.controllers("c2", c3="c1")


@PLANTED.violation("controller 3 has two addresses: c3:9093 by c1", "elsewhere:9093 by c2")
def two_addresses_of_one_controller(story: Asked) -> None:
    story.controllers("c2", c3="elsewhere")
    story.controllers("c2", c3="elsewhere")


@PLANTED.violation("tells that 4 is active, and [1, 2, 3] are the controllers")
def a_broker_is_told_to_be_active(story: Asked) -> None:
    story.controllers("c2", active=4)


@PLANTED.violation("c1 (operation", "tells that 3 is active, between leader 2 in epoch 2")
def another_is_active_than_the_node_knows_to_lead(story: Asked) -> None:
    story.node("c1")
    story.controllers("c1", active=3)
    story.node("c1")


@PLANTED.violation("c2 (operation", "tells that 1 is active, between leader 2 in epoch 2", on=Asked)
def a_leader_calls_another_active_that_tells_no_view_but_where_it_leads(story: Asked) -> None:
    story.leader, story.epoch = 2, 2
    story.quorum("c2")
    story.controllers("c2", active=1)
    story.quorum("c2")


@PLANTED.violation("c1 tells of controllers [1, 2] and that 2 is active in 2 answers", on=begun)
def a_controller_is_left_out_in_the_end(story: Asked) -> None:
    story.final()
    story.controllers("c1", 1, 2)
    story.controllers("c1", 1, 2)


@PLANTED.violation("c1 tells of controllers [1] and that 1 is active in 9 answers", on=Asked)
def controllers_are_left_out_for_long(story: Asked) -> None:
    for _ in range(9):
        story.controllers("c1", 1)
        story.wait(2000)
    ended(story)


@PLANTED.violation("c3 tells of controllers [1, 2, 3] and that -1 is active in 9", on=Asked)
def no_controller_is_active_for_long(story: Asked) -> None:
    for _ in range(9):
        story.controllers("c3", active=-1)
        story.wait(2000)
    ended(story)


def told(story: Asked) -> Any:
    return clause_of(judged(CHECKER, story), CONTROLLERS_TOLD.name)


def test_what_is_wrong_of_controllers_is_said_once_a_kind() -> None:
    story = clean()
    for _ in range(3):
        story.controllers("c1", 1, 2, 3, 4)
        story.controllers("c2", c1="elsewhere")
    of_them = [each for each in findings(story) if "controller" in each]
    assert len(of_them) == 2


@pytest.mark.parametrize(
    "around", [{"leader": 3, "leader_epoch": 3}, {"leader_epoch": 3}, {"leader": -1}]
)
@pytest.mark.parametrize("first", [True, False])
def test_who_is_active_may_be_another_while_leaders_change(
    around: Mapping[str, int], first: bool
) -> None:
    """Of views that differ, or know none, nothing follows."""
    story = Asked()
    story.leader, story.epoch = 2, 2
    story.node("c1", **(around if first else {}))
    story.controllers("c1", active=3)
    story.node("c1", **({} if first else around))
    assert not any("is active, between" in each for each in findings(story))


@pytest.mark.parametrize(("leader", "wrong"), [(0, True), (-1, False)])
def test_who_knows_a_leader_before_and_after_knows_it_in_between(leader: int, wrong: bool) -> None:
    """Numbers begin at 0; nobody has none."""
    story = Asked()
    story.node("c1", leader=leader)
    story.controllers("c1", active=3)
    story.node("c1", leader=leader)
    assert any("is active, between" in each for each in findings(story)) == wrong


def test_one_answer_with_two_addresses_of_a_controller_is_wrong_in_one_way() -> None:
    story = Asked()
    named = [{"id": number, "host": f"c{number}", "port": 9093} for number in VOTERS]
    other = {"id": 2, "host": "elsewhere", "port": 9093}
    story.ask("c2", CONTROLLERS, {"controllers": [*named, other], "active": 1})
    (message,) = findings(story)
    assert "tells of a controller twice" in message


def test_a_question_for_controllers_that_fails_says_nothing_of_them() -> None:
    story = clean()
    story.ask("c2", CONTROLLERS, type="fail", error=CLIENT_TIMED_OUT)
    assert not findings(story)


def test_answers_of_others_say_nothing_of_whom_a_node_knows() -> None:
    """Nor does what a node passes on."""
    story = Asked()
    story.node("c2", leader=2)
    story.quorum("c1", leader=2)
    story.controllers("c1", active=1)
    story.quorum("c1", leader=2)
    story.node("c2", leader=2)
    assert not findings(story)


def test_a_view_that_overlaps_the_answer_is_no_bound() -> None:
    story = Asked()
    before = story.node("c1")
    answer = story.controllers("c1", active=3)
    after = story.node("c1")
    assert findings(story)
    ends = before.end, answer.end
    before.end = answer.index + 1
    assert not findings(story)
    before.end, answer.end = ends[0], after.index + 1
    assert not findings(story)


def test_nobody_may_be_known_to_be_active_for_a_moment() -> None:
    story = clean()
    story.node("c1")
    story.controllers("c1", active=-1)
    story.node("c1")
    assert not findings(story)


def test_a_controller_may_be_left_out_while_it_comes_back() -> None:
    """Once, or for as long as recovery takes after a fault."""
    story = Asked()
    story.controllers("c1", 1, 2)
    story.rounds(1)
    with story.fault(victims={"c3": {}}):
        story.wait(1000)
    for _ in range(6):
        story.controllers("c1", 1, 2)
        story.wait(2000)
    assert not findings(story)
    story.wait(4000)
    assert not findings(ended(story))


def test_a_controller_may_be_left_out_for_a_moment_of_peace() -> None:
    story = Asked()
    story.rounds(10)
    for _ in range(2):
        story.controllers("c1", 1, 2)
    story.rounds(2)
    assert not findings(ended(story))


def test_who_votes_may_change() -> None:
    story = clean()
    story.plan = {**story.plan, "provides": ["voter-changes"]}
    story.controllers("c1", 1, 2, 3, 4)
    assert told(story).verdict is None


def unasked(capabilities: Sequence[str] | None) -> Asked:
    """No controller was asked of the controllers."""
    story = clean()
    story.observations = [each for each in story.observations if each.f != CONTROLLERS]
    if capabilities is not None:
        story.plan = {**story.plan, "capabilities": list(capabilities)}
    return story


@pytest.mark.parametrize("capabilities", [None, ["kafka-descriptions"]])
def test_where_nobody_asked_of_controllers_there_was_no_occasion(
    capabilities: Sequence[str] | None,
) -> None:
    clause = told(unasked(capabilities))
    assert clause.verdict is None and clause.note == NOBODY_ASKED


def test_where_controllers_should_have_been_asked_it_is_left_open() -> None:
    assert told(unasked(["told-controllers"])).verdict is Verdict.UNKNOWN


def test_each_controller_has_to_have_told_of_them_twice() -> None:
    story = Asked()
    story.rounds(2)
    assert told(ended(story)).verdict is Verdict.VALID
    story.observations = [
        each for each in story.observations if each.f != CONTROLLERS or each.node != "c2"
    ]
    story.controllers("c2")
    clause = told(story)
    assert clause.verdict is Verdict.UNKNOWN and clause.compared == 5


@PLANTED.violation("c3 answered nothing but that nobody leads from", "9 questions", on=begun)
def a_node_knows_no_leader_for_long(story: Asked) -> None:
    """And tells so, though all others know one."""
    out_of_sync(story, lambda _: story.node("c3", leader=-1))


def test_node_may_know_no_leader_for_as_long_as_recovery_takes() -> None:
    story = begun()
    out_of_sync(story, lambda _: story.node("c3", leader=-1), lasts_s=13)
    assert judged(CHECKER, story).verdict is Verdict.VALID


@PLANTED.violation("c3 answered nothing", on=begun)
def a_node_that_lives_is_silent_in_the_end(story: Asked) -> None:
    story.final()
    for _ in range(9):
        story.silence("c3")
        story.wait(2000)


def spells(story: Asked, count: int, *, under: int = 0, between: int = 0, **fault: Any) -> Asked:
    """c3 is silent for so many questions under each of some faults, of b1 unless it says whose, and
    for so many between them."""
    story.rounds(2)
    for _ in range(count):
        with story.fault("pause", **{"victims": {"b1": {}}, **fault}):
            quiet(story, under)
        quiet(story, between)
    story.rounds(1)
    return ended(story)


def quiet(story: Asked, rounds: int) -> None:
    story.dead.add("c3")
    story.rounds(rounds)
    story.dead.clear()


@PLANTED.violation("c3 answered nothing", "40 questions", on=Asked)
def a_node_is_silent_under_faults_of_another_and_between_them(story: Asked) -> None:
    """And is back in the end. No peace is as long as recovery takes."""
    spells(story, 5, under=2, between=6)


@PLANTED.violation("c3 answered nothing", "20 questions", on=Asked)
def a_node_is_silent_between_its_own_faults(story: Asked) -> None:
    """8 s after each, of which half counts."""
    spells(story, 4, between=5, victims={"c3": {}})


@PLANTED.violation("c3 answered nothing", "20 questions", on=Asked)
def a_node_is_silent_each_time_that_another_one_starts(story: Asked) -> None:
    """That need not take it any time."""
    spells(story, 4, between=5, ends_processes=True)


@PLANTED.violation("g301a answered nothing", "9 questions", on=Asked)
def a_node_that_the_plan_does_not_have_is_silent_in_peace(story: Asked) -> None:
    """Whatever it is asked."""
    story.rounds(2)
    for _ in range(9):
        story.ask("g301a", "describe-cluster", type="fail", error=CLIENT_TIMED_OUT)
        story.wait(2000)
    ended(story)


@PLANTED.violation("c3 answered nothing", "10 questions", on=Asked)
def a_node_is_silent_under_a_long_fault_of_another(story: Asked) -> None:
    spells(story, 1, under=10)


def silence_between_few_faults(story: Asked) -> None:
    """16 s in all, of which half counts."""
    spells(story, 2, between=5)


def a_node_that_starts_slowly_each_time(story: Asked) -> None:
    spells(story, 6, between=5, victims={"c3": {}}, ends_processes=True)


def a_node_that_answers_once_in_each_peace(story: Asked) -> None:
    for _ in range(6):
        spells(story, 1, between=5)


def silence_under_a_fault_of_most(story: Asked) -> None:
    """Without whom a process that starts may not get ready."""
    spells(story, 3, under=10, victims={"c1": {}, "c2": {}})


def silence_under_its_own_fault(story: Asked) -> None:
    spells(story, 3, under=10, victims={"c3": {}})


@pytest.mark.parametrize(
    "look_alike",
    [
        silence_between_few_faults,
        a_node_that_starts_slowly_each_time,
        a_node_that_answers_once_in_each_peace,
        silence_under_a_fault_of_most,
        silence_under_its_own_fault,
    ],
)
def test_silence_that_faults_excuse(look_alike: Callable[[Asked], None]) -> None:
    story = Asked()
    look_alike(story)
    assert not [each for each in findings(story) if "answered nothing" in each]


@PLANTED.violation("c3 answered nothing but that nobody leads", on=Asked)
def a_node_knows_no_leader_in_every_short_peace(story: Asked) -> None:
    story.rounds(2)
    for _ in range(6):
        with story.fault("pause", victims={"b1": {}}):
            story.wait(1000)
        for _ in range(4):
            story.node("c3", leader=-1)
            story.wait(2000)
    ended(story)


@PLANTED.violation("b1 answered nothing", on=Asked)
def a_node_is_silent_for_a_while(story: Asked) -> None:
    story.rounds(2)
    for _ in range(9):
        story.silence("b1", CONNECTION_FAILED)
        story.wait(2000)
    ended(story)


@PLANTED.violation("c3 answered nothing", on=Asked)
def a_node_is_silent_whatever_it_is_asked(story: Asked) -> None:
    """For its own view it is asked too seldom to tell."""
    story.rounds(2)
    for _ in range(9):
        for f in ("describe-quorum", "describe-topics"):
            story.ask("c3", f, type="fail", error=CLIENT_TIMED_OUT)
        story.wait(2000)
    ended(story)


@PLANTED.violation("c3 answered nothing", on=Asked)
def two_nodes_are_silent_together(story: Asked) -> None:
    """As those are that wait for each other."""
    story.rounds(2)
    for _ in range(9):
        story.silence("b1")
        story.silence("c3")
        story.wait(2000)
    ended(story)


def refuses(story: Asked, node: str = "c3", error: str = "UNKNOWN_SERVER_ERROR") -> Any:
    """It answers, and tells nothing."""
    return story.ask(node, "describe-node", type="fail", error=error)


def refuses_for_long(story: Asked, beside: Callable[[], Any], lasts_s: int = 16) -> Asked:
    story.rounds(2)
    for at in range(0, lasts_s + 1, 2):
        refuses(story)
        beside()
        if at < lasts_s:
            story.wait(2000)
    return ended(story)


@PLANTED.violation("c3 answered nothing but UNKNOWN_SERVER_ERROR", "9 questions", on=Asked)
def a_node_answers_nothing_but_errors(story: Asked) -> None:
    """Whatever else it is asked."""
    refuses_for_long(
        story, lambda: story.ask("c3", "describe-quorum", type="fail", error="NOT_LEADER")
    )


@PLANTED.violation("c3 answered nothing from 4.1 s", "9 questions (describe-node)", on=Asked)
def a_node_tells_nothing_of_itself(story: Asked) -> None:
    """It lets those questions time out, and answers all others."""
    story.rounds(2)
    for at in range(0, 17, 2):
        story.ask("c3", "describe-node", type="info", error="CLIENT_TIMED_OUT")
        story.ask("c3", "describe-quorum", type="fail", error="NOT_LEADER")
        story.wait(2000 if at < 16 else 0)
    ended(story)


@PLANTED.violation("nothing but NOT_LEADER or UNKNOWN_SERVER_ERROR from", "9 questions", on=Asked)
def a_node_has_one_excuse_and_another(story: Asked) -> None:
    story.rounds(2)
    for at in range(0, 17, 2):
        code = "NOT_LEADER" if at < 12 else "UNKNOWN_SERVER_ERROR"
        refuses(story, error=code)
        story.ask("c3", "describe-quorum", type="fail", error="NOT_LEADER")
        story.wait(2000 if at < 16 else 0)
    ended(story)


def test_every_clause_of_a_clean_run_is_valid() -> None:
    result = judged(CHECKER, clean())
    assert {each.verdict for each in result.clauses} == {Verdict.VALID}, result.clauses
    assert result.figures["unanswered"] > 0


def test_findings_are_the_harness_s_own_but_where_clients_are_told_as_well() -> None:
    of_the_quorum = {"one-leader", "no-way-back", "committed-kept"}
    for planted in PLANTED.values():
        for found in judged(CHECKER, planted.story()).findings:
            told = {LEDGER, CLIENTS} if found.clause in of_the_quorum else {LEDGER}
            assert set(found.contracts) <= told, found


# --- what looks like it and is not --------------------------------------------------------


def lists_of_the_past_while_a_broker_recovers(story: Asked) -> None:
    """Before it must have recovered, and once in peace."""
    with story.fault(victims={"b3": {}}):
        story.wait(1000)
    story.rounds(5, b1="b3", b2="b3", b3="b3")
    story.wait(10_000)
    story.brokers("b1", without="b3")
    story.round()


def a_dead_broker_is_listed_while_its_lease_lasts(story: Asked) -> None:
    with story.fault("kill", ends_processes=True, victims={"b3": {}}):
        story.rounds(5)


def a_dead_broker_is_listed_while_it_gets_over_another_fault(story: Asked) -> None:
    """It may take 15 s for that, and 8 s to fence one."""
    story.plan["fencing_s"] = 8.0
    with story.fault(victims={"b1": {}, "b2": {}, "c1": {}}):
        story.wait(4_000)
    story.wait(3_000)
    with story.fault("kill", ends_processes=True, victims={"b3": {}}):
        story.wait(9_000)
        story.brokers("b1")
        story.brokers("b1")


def a_dead_broker_is_listed_while_there_is_no_quorum(story: Asked) -> None:
    with story.fault("kill", ends_processes=True, victims={"b3": {}, "c1": {}, "c2": {}}):
        story.wait(20_000)
        story.brokers("b1")
        story.brokers("b1")


def a_dead_broker_is_listed_by_who_is_cut_off(story: Asked) -> None:
    with (
        story.fault(victims={"b1": {}}),
        story.fault("kill", ends_processes=True, victims={"b3": {}}),
    ):
        story.wait(20_000)
        story.brokers("b1")
        story.brokers("b1")


def a_kill_that_was_not_seen(story: Asked) -> None:
    with story.fault("kill", ends_processes=True, effective=None, victims={"b3": {}}):
        story.wait(20_000)
        story.brokers("b1")
        story.brokers("b1")


def a_broker_that_may_reach_somebody_is_listed(story: Asked) -> None:
    """The ledger does not say that it is gone, or says that it is not."""
    for entries in ([], ledger([])):
        with story.fault(victims={"b3": {}}, entries=entries):
            story.wait(20_000)
            story.brokers("b1")
            story.brokers("b1")


def a_broker_that_is_cut_off_is_listed_as_long_as_it_may_be(story: Asked) -> None:
    """While its lease lasts; by itself; once; and by those who are behind the same cut."""
    with story.fault(victims={node: {} for node in NODES}, entries=ledger(["b3"])):
        story.rounds(5)
        story.wait(10_000)
        story.brokers("b3")
        story.brokers("b3")
        story.brokers("b1")
        story.brokers("b1", without="b3")
        story.brokers("b1")


def a_cut_that_was_not_seen(story: Asked) -> None:
    with story.fault(victims={"b3": {}}, effective=False, entries=ledger(["b3"])):
        story.wait(20_000)
        story.brokers("b1")
        story.brokers("b1")


def a_dead_broker_is_listed_once(story: Asked) -> None:
    with story.fault("kill", ends_processes=True, victims={"b3": {}}):
        story.wait(20_000)
        story.brokers("b1")
        story.brokers("b1", without="b3")
        story.brokers("b1")


def a_live_broker_is_missed_for_a_moment(story: Asked) -> None:
    """Of a loaded machine; also as the last word of a phase that had begun well."""
    story.wait(20_000)
    story.rounds(4, b1="b2")
    story.rounds(1)
    story.final()
    story.rounds(1)
    story.rounds(2, b1="b2")


def silent_under_a_fault(story: Asked) -> None:
    with story.fault("pause", victims={"c3": {}}):
        for _ in range(20):
            story.silence("c3")
            story.wait(2000)


def a_bad_moment(story: Asked) -> None:
    for _ in range(4):
        story.silence("c3")


def questions_that_are_far_apart(story: Asked) -> None:
    story.silence("c3")
    story.wait(60_000)
    story.silence("c3")


def a_node_that_refuses_lives(story: Asked) -> None:
    for _ in range(20):
        story.ask("c3", "describe-quorum", type="fail", error="NOT_LEADER_OR_FOLLOWER")
        story.wait(2000)


def a_restart_lowers_what_a_node_tells(story: Asked) -> None:
    with story.fault("kill", ends_processes=True, victims={"c3": {}}):
        story.wait(1000)
    story.node("c3", high_watermark=-1, leader=-1, leader_epoch=1)
    story.node("c3", high_watermark=2)
    story.node("c3")


def a_leader_that_was_deposed_answers_late(story: Asked) -> None:
    """It lacks what others have committed since."""
    story.leader, story.epoch = 3, 3
    story.round()
    story.quorum("b1", leader=2, leader_epoch=2, high_watermark=story.end - 3, end=story.end - 3)
    story.end += 3


def a_new_leader_does_not_know_what_is_committed(story: Asked) -> None:
    story.leader, story.epoch = 3, 3
    story.quorum("b1", high_watermark=-1)
    story.quorum("b1", high_watermark=story.end - 3)


def a_broker_that_is_none_of_the_plans(story: Asked) -> None:
    for port in (1, 2):
        other = [{"id": 301, "host": "h", "port": port}]
        reported = [{"id": each, "host": name, "port": 9092} for name, each in BROKERS.items()]
        story.ask("b1", "describe-cluster", {"brokers": [*reported, *other]})


def a_deposed_leader_goes_on_for_less_than_recovery_takes(story: Asked) -> None:
    went_on(story, lambda: story.node("c2", leader=2, leader_epoch=2), lasts_s=14)


def others_that_are_cut_off_tell_of_a_former_leader(story: Asked) -> None:
    went_on(story, lambda: story.node("b1", leader=2, leader_epoch=2))


def a_deposed_leader_knows_of_none(story: Asked) -> None:
    went_on(story, lambda: story.node("c2", leader=-1, leader_epoch=2))


def a_deposed_leader_was_stopped_for_long(story: Asked) -> None:
    """Its last words before and its first ones after are far apart."""
    answers = iter([True, *[False] * 7, True])

    def tell() -> None:
        if next(answers):
            story.node("c2", leader=2, leader_epoch=2)
        else:
            story.silence("c2")

    went_on(story, tell)


def a_leader_whose_epoch_nobody_ended(story: Asked) -> None:
    for _ in range(10):
        story.node("c2")
        story.wait(2000)


def a_replica_is_out_of_sync_for_less_than_recovery_takes(story: Asked) -> None:
    out_of_sync(story, lambda _: story.topic("b1", 4, 5), lasts_s=14)


def a_replica_comes_and_goes(story: Asked) -> None:
    out_of_sync(story, lambda at: story.topic("b1", *((4, 5) if at != 8 else (4, 5, 6))))


def two_topics_of_a_name_lack_a_replica_one_after_the_other(story: Asked) -> None:
    out_of_sync(story, lambda at: story.topic("b1", 4, 5, topic_id=TOPIC if at < 8 else OTHER))


def two_partitions_lack_a_replica_one_after_the_other(story: Asked) -> None:
    out_of_sync(story, lambda at: story.topic("b1", 4, 5, partition=at // 10))


def each_broker_tells_once_that_a_replica_lags(story: Asked) -> None:
    out_of_sync(story, lambda at: story.topic(f"b{1 + at // 6}", 4, 5), lasts_s=16)


def a_replica_is_out_of_sync_under_a_fault(story: Asked) -> None:
    with story.fault(victims={"b3": {}}):
        for _ in range(12):
            story.topic("b1", 4, 5)
            story.wait(2000)
    for _ in range(6):  # and while it recovers
        story.topic("b1", 4, 5)
        story.wait(2000)


def nobody_leads_for_less_than_recovery_takes(story: Asked) -> None:
    out_of_sync(story, lambda _: leaderless(story, 4, 5, 6), lasts_s=14)


def somebody_leads_who_is_none_of_the_plans(story: Asked) -> None:
    """Broker 0 does, and nobody leads what none of the plan's has."""

    def tell(at: int) -> None:
        state = {"leader_epoch": 2, "replicas": [0, 4, 301]}
        partitions = [
            {**state, "partition": 0, "leader": 0, "isr": [0, 4]},
            {**state, "partition": 1, "leader": -1, "isr": [301], "replicas": [301]},
        ]
        topics = [{"name": "t", "topic_id": TOPIC, "partitions": partitions}]
        live = [{"id": number, "host": name, "port": 9092} for name, number in BROKERS.items()]
        story.ask("b1", "describe-topics", {"brokers": live, "topics": topics})

    out_of_sync(story, tell)


def a_node_refuses_for_less_than_recovery_takes(story: Asked) -> None:
    for _ in range(8):
        refuses(story)
        story.wait(2000)
    story.node("c3")


def a_broker_that_is_none_of_the_plans_has_anothers_address(story: Asked) -> None:
    reported = [(number, name) for name, number in BROKERS.items()] + [(301, "b1"), (302, "b1")]
    brokers = [{"id": number, "host": name, "port": 9092} for number, name in reported]
    story.ask("b1", "describe-cluster", {"brokers": brokers})


LOOK_ALIKES: list[Callable[[Asked], None]] = [
    nobody_leads_for_less_than_recovery_takes,
    somebody_leads_who_is_none_of_the_plans,
    a_node_refuses_for_less_than_recovery_takes,
    a_broker_that_is_none_of_the_plans_has_anothers_address,
    lists_of_the_past_while_a_broker_recovers,
    a_dead_broker_is_listed_while_its_lease_lasts,
    a_dead_broker_is_listed_while_it_gets_over_another_fault,
    a_dead_broker_is_listed_while_there_is_no_quorum,
    a_dead_broker_is_listed_by_who_is_cut_off,
    a_kill_that_was_not_seen,
    a_broker_that_may_reach_somebody_is_listed,
    a_broker_that_is_cut_off_is_listed_as_long_as_it_may_be,
    a_cut_that_was_not_seen,
    a_dead_broker_is_listed_once,
    a_live_broker_is_missed_for_a_moment,
    silent_under_a_fault,
    a_bad_moment,
    questions_that_are_far_apart,
    a_node_that_refuses_lives,
    a_restart_lowers_what_a_node_tells,
    a_leader_that_was_deposed_answers_late,
    a_new_leader_does_not_know_what_is_committed,
    a_broker_that_is_none_of_the_plans,
    a_deposed_leader_goes_on_for_less_than_recovery_takes,
    others_that_are_cut_off_tell_of_a_former_leader,
    a_deposed_leader_knows_of_none,
    a_deposed_leader_was_stopped_for_long,
    a_leader_whose_epoch_nobody_ended,
    a_replica_is_out_of_sync_for_less_than_recovery_takes,
    a_replica_comes_and_goes,
    two_topics_of_a_name_lack_a_replica_one_after_the_other,
    two_partitions_lack_a_replica_one_after_the_other,
    each_broker_tells_once_that_a_replica_lags,
    a_replica_is_out_of_sync_under_a_fault,
]


@pytest.mark.parametrize("happens", LOOK_ALIKES)
def test_look_alikes_are_valid(happens: Callable[[Asked], None]) -> None:
    story = begun()
    happens(story)
    result = judged(CHECKER, ended(story))
    assert result.verdict is Verdict.VALID, (result.note, result.findings)


def test_answers_that_overlap_are_in_no_order() -> None:
    story = Asked()
    story.quorum("b1", high_watermark=9, end=9)
    late = story.invoke("describe-quorum", None, node="b2")
    story.quorum("b1")
    ends = [[voter, 9] for voter in VOTERS]
    reported = {"leader": 1, "leader_epoch": 1, "high_watermark": 9, "voters": ends}
    story.observations.append(story.complete(late, "ok", reported))
    story.observations.sort(key=lambda each: each.index)
    assert not observed_cluster(story.run_events()).findings


# --- floors -------------------------------------------------------------------------------


@pytest.mark.parametrize("node", NODES)
def test_a_node_that_never_answers_leaves_it_open(node: str) -> None:
    """Too short for a finding; too little for a verdict."""
    story = Asked()
    story.rounds(2)
    story = ended(story)
    story.observations = [each for each in story.observations if each.node != node]
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.UNKNOWN
    assert clause_of(result, HEARD.name).verdict is Verdict.UNKNOWN


def test_a_short_run_is_enough_where_all_answer() -> None:
    story = Asked()
    story.rounds(2)
    result = judged(CHECKER, ended(story))
    assert result.verdict is Verdict.VALID
    assert clause_of(result, "dead-unlisted").verdict is None


def test_what_was_not_seen_to_settle_owes_nothing_yet() -> None:
    story = begun()
    story.final(settled=False)
    story.rounds(2, b1="b2")
    assert not judged(CHECKER, story).findings


def test_what_began_well_after_settling_has_to_stay_wrong_for_long() -> None:
    story = begun()
    story.final()
    story.rounds(1)
    story.rounds(2, b1="b2")
    assert not judged(CHECKER, story).findings


def test_in_peace_alone_a_short_time_is_none() -> None:
    """Though all of it was wrong: nobody saw that the cluster had settled."""
    story = begun()
    story.wait(20_000)
    story.rounds(2, b1="b2")
    assert not judged(CHECKER, story).findings


def test_a_fault_that_is_not_known_to_be_over_excuses_what_follows() -> None:
    story = Asked()
    with story.fault(victims={"b2": {}}, healed=None):
        story.wait(1000)
    story.final()
    story.rounds(2, b1="b2")
    assert not judged(CHECKER, story).findings


def test_a_fault_before_and_one_after_excuse_no_list_of_the_dead() -> None:
    story = Asked()
    for _ in range(2):
        with story.fault(victims={"c1": {}}):
            story.wait(1000)
        with story.fault("kill", ends_processes=True, victims={"b3": {}}):
            story.wait(20_000)
            story.brokers("b1")
            story.brokers("b1")
    result = judged(CHECKER, ended(story))
    assert len(result.findings) == 2
    assert clause_of(result, "dead-unlisted").compared == 4


def test_lists_while_no_broker_is_gone_are_no_sightings_of_a_dead_one() -> None:
    story = Asked()
    for node in ("c1", "b3"):
        with story.fault("kill", ends_processes=True, victims={node: {}}):
            story.wait(20_000)
            story.brokers("b1")
            story.brokers("b1")
        story.wait(20_000)
    assert clause_of(judged(CHECKER, ended(story)), "dead-unlisted").compared == 2


def test_what_is_counted_is_what_could_differ() -> None:
    story = Asked()
    story.node("c1")
    story.node("c1")
    story.node("c2", leader=-1)
    story.node("c2")
    story.quorum("b1")
    story.quorum("b2")
    story.brokers("b1")
    story.brokers("b2")
    for _ in range(3):
        story.controllers("c2")
    counts = {each.name: each.compared for each in judged(CHECKER, story).clauses}
    assert counts == {
        "all-vote": 2,
        "one-leader": 3,  # c2, b1 and b2 after c1
        "no-way-back": 6,  # epochs and watermarks of c1 and c2; the leader's, and its end
        "committed-kept": 2,
        "majority-has": 2,
        "let-go": 0,  # nobody was deposed
        "live-listed": 2,
        "dead-unlisted": 0,
        "all-in-sync": 0,
        "one-address": 3,
        "controllers": 2,  # more of one says nothing of the others
        "heard": 8,
    }


@pytest.mark.parametrize(
    ("code", "heard"),
    [("NOT_LEADER_OR_FOLLOWER", 2), ("NO_CLIENT", 0), (CLIENT_TIMED_OUT, 0), (CONNECTION_LOST, 0)],
)
def test_who_is_heard(code: str, heard: int) -> None:
    """A refusal is an answer; where no client could be made, nobody was asked."""
    story = Asked()
    for _ in range(3):
        story.silence("c1", code)
        story.ask("c2", "describe-node", type="info")
    assert clause_of(judged(CHECKER, story), HEARD.name).compared == heard


@pytest.mark.parametrize(("answers", "compared"), [(1, 0), (2, 2), (5, 5)])
def test_what_a_former_leader_answered_since_is_compared(answers: int, compared: int) -> None:
    """One that was asked once may have said a last word: that is no occasion."""
    story = Asked()
    story.node("c1")
    story.node("c1")
    story.node("c2", leader=2, leader_epoch=2)
    for _ in range(answers):
        story.ask("c1", "describe-node", type="fail", error="NOT_LEADER_OR_FOLLOWER")
    story.silence("c1")
    story.node("c3", leader=2, leader_epoch=2)
    clause = clause_of(judged(CHECKER, story), "let-go")
    assert clause.compared == compared


def deposed(story: Asked, *silent: str) -> Asked:
    """c1 led, c2 does, and then c3: of the first two some say nothing since, though in peace."""
    story.node("c1")
    story.node("c2", leader=2, leader_epoch=2)
    story.node("c3", leader=3, leader_epoch=3)
    for node in ("c1", "c2"):
        for _ in range(4):
            if node in silent:
                story.silence(node)
            else:
                story.node(node, leader=3, leader_epoch=3)
    return story


@pytest.mark.parametrize(
    ("silent", "told"),
    [((), (8, 2)), (("c1",), (2, 4)), (("c1", "c2"), (0, 4))],
)
def test_silence_of_a_former_leader_does_not_show_that_it_let_go(
    silent: tuple[str, ...], told: tuple[int, int]
) -> None:
    """Nor does another one's answer."""
    clause = clause_of(judged(CHECKER, deposed(Asked(), *silent)), "let-go")
    assert (clause.compared, clause.floor) == told
    assert (clause.verdict is Verdict.UNKNOWN) == bool(silent)


def test_silence_of_a_former_leader_that_a_fault_excuses_is_no_want_of_answers() -> None:
    story = Asked()
    with story.fault(victims={"c1": {}}, healed=None):
        deposed(story, "c1")
    assert clause_of(judged(CHECKER, story), "let-go").compared == 4
    story = Asked()
    with story.fault(victims={"c1": {}}, healed=None):
        deposed(story, "c1", "c2")
    assert clause_of(judged(CHECKER, story), "let-go").verdict is None


def test_a_former_leader_that_is_silent_for_long_is_found() -> None:
    story = Asked()
    story.node("c1")
    for _ in range(4):
        story.silence("c1")
        story.node("c2", leader=2, leader_epoch=2)
        story.wait(RECOVERY_S * 500)
    found = judged(CHECKER, story).findings
    assert [each.clause for each in found] == ["heard"]


def test_where_a_fault_may_still_hold_nothing_is_owed() -> None:
    """From the first moment to the last: the ledger says so, and it is no clause's fault."""
    story = Asked()
    story.wait(1)
    with story.fault(victims={"c1": {}}, healed=False):
        story.rounds(9, b1="b2")
    story.faults = [replace(each, injected_ns=0) for each in story.faults]
    story.final()
    story.rounds(2, b1="b2")
    result = judged(CHECKER, story)
    assert not result.findings
    assert clause_of(result, "live-listed").verdict is None


@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_nodes_that_are_both(nodes: int) -> None:
    names = [f"n{each}" for each in range(1, nodes + 1)]
    plan = {
        name: {"ids": {"controller": at, "broker": nodes + at}, "votes": True}
        for at, name in enumerate(names, 1)
    }
    story = Asked(plan)
    listed = [{"id": nodes + at, "host": "h", "port": at} for at in range(1, nodes + 1)]
    for _ in range(8):
        for name in names:
            story.node(name)
            story.ask(name, "describe-cluster", {"brokers": listed})
        ends = [[voter, story.end] for voter in range(1, nodes + 1)]
        story.ask("n1", "describe-quorum", {**story._view(), "voters": ends})
        story.wait(2000)
    result = judged(CHECKER, ended_of(story))
    assert result.verdict is Verdict.VALID, result.note
    alone = clause_of(result, "one-leader")
    assert (alone.verdict is None) == (nodes == 1)


def ended_of(story: Asked) -> Asked:
    story.final()
    return story


# --- to the nanosecond --------------------------------------------------------------------

NS = 1_000_000_000
LONG_NS = round(RECOVERY_S * NS)


def at(answer: Any, asked_ns: int, ended_ns: int) -> Any:
    """The same answer, at these times."""
    answer.invoked_ns, answer.completed_ns = asked_ns, ended_ns
    return answer


def silent_for(story: Asked, lasts_ns: int, since_ns: int = 0, times: int = 3) -> None:
    for number in range(times):
        moment = since_ns + lasts_ns * number // times
        at(story.silence("c3"), moment, since_ns + lasts_ns if number == times - 1 else moment)


def findings(story: Asked) -> list[str]:
    return [each.message for each in judged(CHECKER, story).findings]


@pytest.mark.parametrize(
    ("recovery_s", "lasts_ns"),
    [
        (RECOVERY_S, LONG_NS),
        (0.5, NS // 2),
        *((each, 30 * NS) for each in (None, 0, -1, "15")),
    ],
)
def test_silence_of_recoverys_length_is_long(recovery_s: Any, lasts_ns: int) -> None:
    for less, found in ((0, 1), (1, 0)):
        story = Asked()
        story.plan["recovery_s"] = recovery_s
        silent_for(story, lasts_ns - less)
        assert len(findings(story)) == found


def test_two_questions_in_vain_are_no_silence() -> None:
    story = Asked()
    silent_for(story, 5 * LONG_NS, times=2)
    assert not findings(story)


@pytest.mark.parametrize(("early_ns", "late_ns", "found"), [(0, 0, 1), (1, 0, 0), (0, 1, 0)])
def test_silence_counts_between_two_faults(early_ns: int, late_ns: int, found: int) -> None:
    story = Asked()
    for begin, end in ((10 * NS, 20 * NS), (20 * NS + LONG_NS, 60 * NS)):
        with story.fault(victims={"c3": {}}):
            pass
        story.faults[-1] = replace(story.faults[-1], injected_ns=begin, healed_ns=end, entries=())
    silent_for(story, LONG_NS + early_ns + late_ns, 20 * NS - early_ns)
    assert len(findings(story)) == found


@pytest.mark.parametrize(("less", "found"), [(0, 1), (1, 0)])
def test_broker_that_is_missed_for_recoverys_length(less: int, found: int) -> None:
    story = Asked()
    at(story.brokers("b1", without="b2"), 0, 0)
    at(story.brokers("b1", without="b2"), NS, LONG_NS - less)
    assert len(findings(story)) == found


@pytest.mark.parametrize(
    ("times", "found"),
    [
        ([(0, 0), (NS, LONG_NS)], 1),
        ([(0, 0), (NS, LONG_NS - 1)], 0),
        ([(0, LONG_NS)], 0),
    ],
)
@pytest.mark.parametrize("leader", [0, 1])
def test_former_leader_goes_on_for_recoverys_length(
    times: list[tuple[int, int]], found: int, leader: int
) -> None:
    story = Asked({**NODES, "c1": {"ids": {"controller": leader}, "votes": True}})
    story.node("c1", leader=leader)
    story.node("c2", leader=2, leader_epoch=2)
    for each in times:
        at(story.node("c1", leader=leader), *each)
    assert len(findings(story)) == found


def test_epoch_is_over_once_somebody_has_shown_a_later_one() -> None:
    """Who is told of a still later one was asked before, and answers after."""
    story = Asked()
    story.node("c1")
    late = story.invoke("describe-node", None, node="c3")
    story.node("c2", leader=2, leader_epoch=2)
    for moment in (0, LONG_NS):
        at(story.node("c1"), moment, moment)
    reported = {"leader": 3, "leader_epoch": 3, "high_watermark": 10}
    story.observations.append(story.complete(late, "ok", reported))
    story.operations.remove(story.operations[-1])
    story.observations.sort(key=lambda each: each.index)
    (found,) = findings(story)
    assert "c1 tells that it leads epoch 1" in found


@pytest.mark.parametrize(("less", "found"), [(0, 1), (1, 0)])
def test_replica_that_is_out_of_sync_for_recoverys_length(less: int, found: int) -> None:
    story = Asked()
    at(story.topic("b1", 4, 5), 0, 0)
    at(story.topic("b1", 4, 5), NS, LONG_NS - less)
    assert len(findings(story)) == found


@pytest.mark.parametrize("starved", [False, True])
def test_machine_that_gave_nothing_excuses_a_settled_cluster(starved: bool) -> None:
    story = Asked()
    story.rounds(2)
    story.final()
    story.rounds(2, b1="b2")
    end_ms = story.now_ns // 1_000_000 + 1
    story.plan["machine"] = {"took": [[0, end_ms, end_ms]] if starved else []}
    assert bool(findings(story)) is not starved


PEACE_NS = 60 * NS, 100 * NS
"""Between two faults, once the system has recovered from the first."""


def between_faults() -> Asked:
    story = Asked()
    for begin, end in ((0, PEACE_NS[0] - LONG_NS), (PEACE_NS[1], 200 * NS)):
        with story.fault(victims={"c1": {}}):
            pass
        story.faults[-1] = replace(story.faults[-1], injected_ns=begin, healed_ns=end, entries=())
    return story


@pytest.mark.parametrize(
    ("asked_ns", "ended_ns", "counts"),
    [
        (PEACE_NS[0], PEACE_NS[0], 1),
        (PEACE_NS[0] - 1, PEACE_NS[0], 0),
        (PEACE_NS[1], PEACE_NS[1], 1),
        (PEACE_NS[1], PEACE_NS[1] + 1, 0),
    ],
)
def test_lists_are_owed_in_peace(asked_ns: int, ended_ns: int, counts: int) -> None:
    story = between_faults()
    at(story.brokers("b1"), asked_ns, ended_ns)
    found = clause_of(judged(CHECKER, story), "live-listed")
    assert (found.compared, found.floor) == (counts, 6)


def test_lists_are_owed_from_the_first_moment_on() -> None:
    story = Asked()
    for name in ("b1", "b9"):
        at(story.brokers(name), 0, 0)
    assert clause_of(judged(CHECKER, story), "live-listed").compared == 2


def test_peace_that_is_shorter_than_recovery_owes_nothing() -> None:
    story = Asked()
    with story.fault(victims={"c1": {}}):
        pass
    with story.fault(victims={"c1": {}}):
        pass
    for fault, times in enumerate(((0, NS), (2 * NS, 1 << 62))):
        begin, end = times
        story.faults[fault] = replace(
            story.faults[fault], injected_ns=begin, healed_ns=end, entries=()
        )
    at(story.brokers("b1"), NS, NS)
    assert clause_of(judged(CHECKER, story), "live-listed").verdict is None


DEATH_NS = 10 * NS, 90 * NS


def dead(*names: str, over_ns: int | None = DEATH_NS[1]) -> Asked:
    story = Asked()
    with story.fault("kill", ends_processes=True, victims={name: {} for name in names}):
        pass
    story.faults[-1] = replace(
        story.faults[-1], injected_ns=DEATH_NS[0], healed_ns=over_ns, entries=()
    )
    return story


@pytest.mark.parametrize(
    ("asked_ns", "ended_ns", "counts"),
    [
        (DEATH_NS[0] + LONG_NS, DEATH_NS[1], 1),
        (DEATH_NS[0] + LONG_NS - 1, DEATH_NS[1], 0),
        (DEATH_NS[0] + LONG_NS, DEATH_NS[1] + 1, 0),
    ],
)
def test_lists_while_a_broker_is_dead(asked_ns: int, ended_ns: int, counts: int) -> None:
    story = dead("b3")
    at(story.brokers("b1"), asked_ns, ended_ns)
    assert clause_of(judged(CHECKER, story), "dead-unlisted").compared == counts


def test_a_list_is_held_against_each_of_the_dead() -> None:
    """Also who is none of the plan's may have told it, of whom nobody knows what reaches it."""
    story = dead("b2", "b3")
    for node in ("b1", "b1", "b9"):
        at(story.brokers(node), 50 * NS, 50 * NS)
    result = judged(CHECKER, story)
    assert clause_of(result, "dead-unlisted").compared == 2
    assert {each.message[:22] for each in result.findings} == {
        "b1 tells of broker 5 (",
        "b1 tells of broker 6 (",
    }


def test_one_list_is_one_sighting_of_two_who_are_dead() -> None:
    """Which tells of neither."""
    story = dead("b2", "b3")
    story.dead = {"b2", "b3"}
    at(story.brokers("b1"), 50 * NS, 50 * NS)
    clause = clause_of(judged(CHECKER, story), "dead-unlisted")
    assert (clause.compared, clause.verdict) == (1, Verdict.UNKNOWN)


def test_a_death_that_is_shorter_than_recovery_is_no_occasion() -> None:
    story = dead("b3", over_ns=DEATH_NS[0] + LONG_NS)
    at(story.brokers("b1"), *DEATH_NS)
    assert clause_of(judged(CHECKER, story), "dead-unlisted").verdict is None


@pytest.mark.parametrize(
    ("observed_s", "more_ns", "occasion"),
    [(2, 4 * NS, True), (2, 4 * NS - 1, False), (5, 10 * NS, True), (5, 10 * NS - 1, False)],
)
def test_a_death_is_an_occasion_if_lists_had_to_be_asked_for_in_it(
    observed_s: int, more_ns: int, occasion: bool
) -> None:
    """Whether brokers answered or not."""
    story = dead("b3", over_ns=DEATH_NS[0] + LONG_NS + more_ns)
    story.plan["options"] = {"observe_s": observed_s}
    at(story.brokers("b1"), *DEATH_NS)
    clause = clause_of(judged(CHECKER, story), "dead-unlisted")
    assert (clause.compared, clause.verdict) == (0, Verdict.UNKNOWN if occasion else None)


def test_what_brokers_tell_in_a_shorter_one_is_compared() -> None:
    story = dead("b3", over_ns=DEATH_NS[0] + LONG_NS + 1)
    story.dead = {"b3"}
    for counted in (0, 2):
        at(story.brokers("b1"), DEATH_NS[0] + LONG_NS, DEATH_NS[0] + LONG_NS + 1)
        assert clause_of(judged(CHECKER, story), "dead-unlisted").compared == counted


def test_what_is_told_of_the_dead_in_a_shorter_one_is_a_lie() -> None:
    story = dead("b3", over_ns=DEATH_NS[0] + LONG_NS + 1)
    for _ in range(2):
        at(story.brokers("b1"), DEATH_NS[0] + LONG_NS, DEATH_NS[0] + LONG_NS + 1)
    assert judged(CHECKER, story).findings


@PLANTED.violation("b1 tells of broker 6 (b3)", on=lambda: dead("b3", over_ns=None))
def a_broker_that_is_never_started_again_is_listed(story: Asked) -> None:
    for _ in range(2):
        at(story.brokers("b1"), 50 * NS, 50 * NS)


@pytest.mark.parametrize("victims", [None, {"c1": {}}])
def test_a_death_of_no_broker_is_no_occasion(victims: Any) -> None:
    story = dead("b3")
    story.faults = [replace(each, victims=victims) for each in story.faults]
    for _ in range(2):
        at(story.brokers("b1"), 50 * NS, 50 * NS)
    assert not findings(story)


@pytest.mark.parametrize(
    ("other", "found"),
    [((0, 9), 1), ((0, 10), 0), ((90, 91), 0), ((91, 99), 1), ((0, None), 0), ((20, None), 0)],
)
def test_a_death_is_judged_where_no_other_fault_held_meanwhile(
    other: tuple[int, int | None], found: int
) -> None:
    story = dead("b3")
    begin, end = other
    with story.fault(victims={"c1": {}}, healed=end is not None):
        pass
    healed_ns = None if end is None else end * NS
    story.faults[-1] = replace(
        story.faults[-1], injected_ns=begin * NS, healed_ns=healed_ns, entries=()
    )
    for _ in range(2):
        at(story.brokers("b1"), 50 * NS, 50 * NS)
    assert len(findings(story)) == found


# --- what is told once, and of whom -------------------------------------------------------


def three_leaders(story: Asked) -> None:
    for leader, node in enumerate(("c1", "c2", "c3")):
        story.node(node, leader=leader, leader_epoch=9)


def three_addresses(story: Asked) -> None:
    for place in ("here", "there"):
        reported = [{"id": 4, "host": place, "port": 9092}]
        story.ask("b1", "describe-topics", {"brokers": reported})


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (three_leaders, ("leader 0 in epoch 9", "leader 1 in epoch 9")),
        (three_addresses, (" here:",)),
    ],
)
def test_what_goes_on_is_reported_once_by_the_first_two(
    happens: Callable[[Asked], None], words: tuple[str, ...]
) -> None:
    story = Asked()
    story.brokers("b1")
    happens(story)
    (found,) = findings(story)
    assert all(each in found for each in words)


def test_findings_name_the_first_and_the_last_answer() -> None:
    story = Asked()
    lists = [at(story.brokers("b1", without="b2"), each * NS, each * NS) for each in (0, 9, 20)]
    (found,) = judged(CHECKER, story).findings
    assert list(found.operations) == [lists[0].index, lists[2].index]
    assert f"till 20.0 s; operation {lists[2].index}: [4, 6]" in found.message
    story = Asked()
    silent = [at(story.silence("c3"), each * NS, each * NS) for each in (1, 9, 20)]
    (found,) = judged(CHECKER, story).findings
    assert list(found.operations) == [silent[0].index, silent[2].index]
    assert "from 1.0 s to 20.0 s, 3 questions" in found.message
    story = Asked()
    lagging = [at(story.topic("b1", 4, 5), each * NS, each * NS) for each in (1, 9, 20)]
    (found,) = judged(CHECKER, story).findings
    assert list(found.operations) == [lagging[0].index, lagging[2].index]
    story = Asked()
    story.node("c1")
    story.node("c2", leader=2, leader_epoch=2)
    led = [at(story.node("c1"), each * NS, each * NS) for each in (1, 9, 20)]
    (found,) = judged(CHECKER, story).findings
    assert list(found.operations) == [led[0].index, led[2].index]


def test_findings_tell_what_was_listed_last() -> None:
    story = Asked()
    for moment, gone in ((0, {"b3"}), (10 * NS, {"b3"}), (20 * NS, set[str]())):
        story.dead = gone
        at(story.brokers("b1", without="b2"), moment, moment)
    (found,) = findings(story)
    assert found.endswith(": [4, 6]")


@pytest.mark.parametrize("leads", [True, False])
def test_findings_tell_who_leads_by_the_last_answer(leads: bool) -> None:
    """All of them list it, and by two, or one, it leads."""
    story = dead("b3")
    for isr in (4, 5, 6), (6, 4, 5), (6, 4, 5) if leads else (4, 5, 6):
        at(story.topic("b1", *isr), 50 * NS, 50 * NS)
    (found,) = findings(story)
    assert ("which leads by that" in found) is leads


def test_the_id_of_a_leader_may_be_0() -> None:
    story = Asked()
    for moment in (0, NS, LONG_NS):
        at(story.node("c1", leader=0), moment, moment)
    assert not findings(story)


def test_two_leaders_another_voter_and_two_addresses_are_found_while_a_run_goes_on() -> None:
    story = Asked()
    two_leaders_by_brokers(story)
    story.quorum("b2", leader=2)
    story.brokers("b1")
    two_addresses_of_one_id(story)
    votes(story, 1, 2)
    row = outcome_row("r", CHECKER.name, "", observed_cluster(story.run_events()))
    said = clauses_so_far({CHECKER.name: CHECKER}, [row])
    broken = {each.clause for each in said if each.verdict is Verdict.INVALID}
    assert broken == {"one-leader", "all-vote", "one-address"}


def test_what_is_kept_while_a_run_goes_on_is_of_its_kind() -> None:
    story = Asked()
    to_client, named = story.to_a_client(), story.node("c1", leader_epoch=2)
    listed = story.brokers("b1")
    story.to_a_client()
    kept = kept_so_far(story.run_events())
    assert [each.index for each in kept.operations] == [to_client.index]
    assert {each.index for each in kept.observations} == {named.index, listed.index}


def test_refusals_in_peace_tell_of_no_partition() -> None:
    story = Asked()
    story.rounds(2)
    asks_in_vain(story)
    assert judged(CHECKER, ended(story)).verdict is Verdict.VALID


@PLANTED.violation("the log of leader 2 in epoch 2 ends at", "by c3")
def a_follower_had_more_committed_before_another_had_less(story: Asked) -> None:
    story.node("c3", high_watermark=story.end + 5)
    story.node("c2", high_watermark=story.end)
    story.quorum("b1")


def answers_while_it_is_restarted(story: Asked) -> None:
    """Nobody knows which process did."""
    for high in (4, 3):
        late = story.invoke("describe-node", None, node="c3")
        with story.fault("kill", ends_processes=True, victims={"c3": {}}):
            story.wait(1000)
        reported = {"leader": 1, "leader_epoch": 1, "high_watermark": high}
        story.observations.append(story.complete(late, "ok", reported))
        story.operations.remove(story.operations[-1])
    story.observations.sort(key=lambda each: each.index)


def asks_in_vain(story: Asked) -> None:
    for f in ("describe-cluster", "describe-topics", "describe-quorum"):
        story.ask("b1", f, type="fail", error="NOT_CONTROLLER")


def nobody_votes_for_a_proxy(story: Asked) -> None:
    story.plan["nodes"] = {**story.plan["nodes"], "proxy": {}}
    for _ in range(2):
        story.node("proxy")


@pytest.mark.parametrize(
    "happens", [answers_while_it_is_restarted, asks_in_vain, nobody_votes_for_a_proxy]
)
def test_more_look_alikes_are_valid(happens: Callable[[Asked], None]) -> None:
    story = begun()
    happens(story)
    result = judged(CHECKER, ended(story))
    assert result.verdict is Verdict.VALID, (result.note, result.findings)


def test_what_was_wrong_before_the_cluster_settled_again_is_not_yet_owed() -> None:
    story = begun()
    story.final()
    story.rounds(2, b1="b2")
    story.final()
    assert not findings(story)


def test_fault_after_settling_excuses_what_follows() -> None:
    story = begun()
    story.final()
    with story.fault(victims={"b2": {}}):
        story.wait(1000)
    story.rounds(2, b1="b2")
    assert not findings(story)


def test_plan_that_names_no_nodes() -> None:
    story = begun()
    story.plan = {}
    assert not findings(story)


# --- brute force --------------------------------------------------------------------------


def shown(answer: Operation) -> tuple[int, int, int, int]:
    """Leader, epoch, high watermark, the end of the leader's log; -1: not told."""
    told = answer.result
    if answer.f == "metadata-log":
        return int(str(answer.node)[1:]), told["leader_epoch"], told["high_watermark"], -1
    ends = {told["leader"]: told.get("log_end", -1)}
    if answer.f != "describe-voters":
        ends = dict(map(tuple, told.get("voters") or ()))
    end = ends.get(told["leader"], -1)
    return told["leader"], told["leader_epoch"], told["high_watermark"], end


def wrong(story: Asked) -> bool:
    """By the definitions, over all pairs of answers, of a run without faults."""
    answers = [*story.observations, *story.operations]
    return any(contradict(one, other) for one in answers for other in answers)


def contradict(one: Operation, other: Operation) -> bool:
    """Also of an answer and itself."""
    (leader, epoch, high, end), (leader_2, epoch_2, high_2, end_2) = shown(one), shown(other)
    if epoch == epoch_2 and leader != leader_2 and min(leader, leader_2) >= 0:
        return True
    lacks = 0 <= end_2 < high and epoch <= epoch_2
    if one is other or not one.precedes(other):
        return one is other and lacks
    back = 0 <= high_2 < high
    of_process = one.node == other.node and {one.f, other.f}.isdisjoint({"describe-quorum"})
    of_leader = {one.f, other.f}.isdisjoint({"describe-node"}) and (leader, epoch) == (
        leader_2,
        epoch_2,
    )
    return (
        lacks
        or (of_process and (back or epoch_2 < epoch))
        or (of_leader and (back or 0 <= end_2 < end))
    )


@settings(max_examples=cases(400), deadline=None)
@given(st.integers(0, 2**32))
def test_the_quorum_against_all_pairs(seed: int) -> None:
    rng = random.Random(seed)
    story = Asked()
    leaders = {epoch: rng.choice(VOTERS) for epoch in range(4)}
    epochs = sorted(rng.choices(range(4), k=rng.randint(2, 6)))
    mark = 0
    for epoch in epochs:
        if rng.random() < 0.1:
            epoch = rng.randrange(4)
        leader = leaders[epoch] if rng.random() < 0.9 else rng.choice((-1, 1, 2))
        mark += rng.choice((0, 0, 1, 2, -1))
        view = {"leader": leader, "leader_epoch": epoch, "high_watermark": max(-1, mark)}
        end = max(0, mark + rng.choice((0, 1, -1)))
        how = rng.random() if leader > 0 else 1.0
        if how < 0.3:
            story.quorum(rng.choice(("b1", "b2")), end=end, **view)
        elif how < 0.5:
            story.to_a_client(end=end, **view)
        elif how < 0.65:
            story.records(f"c{leader}", **view)
        else:
            story.node(rng.choice(("c1", "c2")), **view)
    overlap(rng, story)
    assert bool(observed_cluster(story.run_events()).findings) == wrong(story)


def overlap(rng: random.Random, story: Asked) -> None:
    """Some answers end later than the next ones begin."""
    for answer in (*story.observations, *story.operations):
        if rng.random() < 0.3 and answer.end is not None:
            answer.end += 2 * rng.randint(1, 3)


def test_clauses_have_planted_violations() -> None:
    broken = {
        found.clause
        for planted in PLANTED.values()
        for found in judged(CHECKER, planted.story()).findings
    }
    assert broken == {each.name for each in CLAUSES}
