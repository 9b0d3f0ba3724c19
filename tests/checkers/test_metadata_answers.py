"""What clients are told of partitions fits together."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_runs import NODES, OTHER, TOPIC, Story, assert_valid, shown

from checkers.folds.history.sights import Sight
from checkers.folds.history.sweeps import falls
from checkers.metadata_answers import MetadataAnswers, metadata_answers
from framework.checking.clauses import ClauseResult
from framework.checking.keyed import Outcome, outcome_row
from framework.checking.live import clauses_so_far
from framework.checking.results import CheckerResult, checker_result
from framework.history.pairing import Operation
from framework.verdict import Verdict
from tests.cases import cases

STATE = {"leader": 4, "leader_epoch": 0, "isr": [4, 5, 6]}


class Answers(Story):
    """Answers about t/0. Nodes say nothing."""

    def __init__(self) -> None:
        super().__init__(plan={"nodes": NODES})

    def read(self, version: int, topic_id: str = TOPIC, **state: Any) -> Operation:
        """A linearizable read."""
        return self.describe("t", shown(version, **{**STATE, **state}), topic_id=topic_id)

    def cache(self, node: str = "b1", topic_id: str | None = TOPIC, **state: Any) -> Operation:
        result = cached(topic_id, **state) if topic_id is not None else None
        return self.op("metadata", "t", None, result, node=node)

    def led(self, node: str, epoch: int, f: str = "fetch", **more: Any) -> Operation:
        """The node answers as the leader that it was asked for."""
        asked = {"consumer": "a", "from": 0} if f == "fetch" else {"at": "latest"}
        reported = {"leader_epoch": epoch, "topic_id": TOPIC}
        reported |= {"records": [], "high_watermark": 0} if f == "fetch" else {"offset": 0}
        return self.op(f, "t/0", asked, reported, node=node, **more)


def cached(topic_id: str, **state: Any) -> dict[str, Any]:
    reported = {"partition": 0, "replicas": [4, 5, 6], **STATE, **state}
    return {"topic_id": topic_id, "partitions": [reported]}


def clean() -> Answers:
    """A leader that goes and comes back, and caches that lag."""
    story = Answers()
    story.create("t")
    story.read(0)
    story.led("b1", 0)
    story.cache("b2")
    story.read(1, isr=[4, 5])
    story.alter(1, [4])
    story.read(3, leader=-1, leader_epoch=1, isr=[4])
    story.cache("b1")
    story.cache("b1", leader=-1, leader_epoch=1, isr=[4])
    story.read(4, leader=4, leader_epoch=2, isr=[4])
    story.led("b1", 2, "list-offsets")
    story.cache("b2", leader=4, leader_epoch=2, isr=[4])
    story.cache("b3")
    return story


def ended(story: Answers) -> Answers:
    story.final()
    for node in ("b1", "b2", "b3"):
        story.cache(node, leader=4, leader_epoch=2, isr=[4])
    story.read(4, leader=4, leader_epoch=2, isr=[4])
    return story


def cache_is_of_the_past(story: Answers) -> None:
    story.final()
    story.cache("b3", leader=-1, leader_epoch=1, isr=[4])


def cache_has_another_isr(story: Answers) -> None:
    story.final()
    story.cache("b3", leader=4, leader_epoch=2, isr=[4, 5])
    story.read(4, leader=4, leader_epoch=2, isr=[4])


def cache_has_no_leader(story: Answers) -> None:
    story.final()
    story.cache("b3", leader=-1, leader_epoch=2, isr=[4])
    story.read(4, leader=4, leader_epoch=2, isr=[4])


def cache_has_what_was_deleted(story: Answers) -> None:
    story.delete("t")
    story.describe("t")
    story.final()
    story.cache("b3", leader=4, leader_epoch=2, isr=[4])


def cache_has_the_earlier_topic(story: Answers) -> None:
    story.delete("t")
    story.read(0, topic_id=OTHER)
    story.final()
    story.cache("b3", leader=4, leader_epoch=2, isr=[4])


def cache_of_two_clients_goes_back(story: Answers) -> None:
    """Who asked first is answered last."""
    late = story.invoke("metadata", "t", node="b2")
    story.cache("b2", topic_id=OTHER)
    story.cache("b2", topic_id=None)
    story.complete(late, result=cached(OTHER))
    story.cache("b2", topic_id=OTHER)


PLANTED = Plants.of(
    lambda: ended(clean()),
    {
        "1: other in the isr": (
            "t: the ISR of partition 0 has others in it than the replicas [4, 5, 6]",
            lambda s: s.read(9, leader_epoch=2, isr=[4, 7]),
        ),
        "1: other in a cache's isr": (
            "t: the ISR of partition 0 has others in it",
            lambda s: s.cache("b2", leader_epoch=2, isr=[4, 7]),
        ),
        "1: leader not in the isr": (
            "t: the ISR of partition 0 is without the leader: leader 5",
            lambda s: s.read(9, leader=5, leader_epoch=9, isr=[4, 6]),
        ),
        "1: leader of a change not in the isr": (
            "t/0: the ISR of partition 0 is without the leader",
            lambda s: s.alter(8, [5], leader_epoch=2),
        ),
        "1: a replica twice": (
            "names a replica twice",
            lambda s: s.cache("b2", leader_epoch=2, isr=[4], replicas=[4, 5, 5]),
        ),
        "2: leaders by two reads": (
            "two leaders in one leader epoch",
            lambda s: s.read(9, leader=5, leader_epoch=2),
        ),
        "2: leaders by a read and a cache": (
            "two leaders in one leader epoch",
            lambda s: s.cache("b2", leader=6, leader_epoch=2, isr=[4, 6]),
        ),
        "2: leaders by their answers": (
            f"{TOPIC}/0 has two leaders in one leader epoch: leader 4 in leader epoch 7",
            lambda s: (s.led("b1", 7), s.led("b2", 7)),
        ),
        "2: leader and who answers": (
            "two leaders in one leader epoch",
            lambda s: s.led("b2", 2, "list-offsets"),
        ),
        "2: states": (
            "two states under partition epoch 4",
            lambda s: s.read(4, leader=4, leader_epoch=2, isr=[4, 6]),
        ),
        "2: leaders in one version": (
            "two states under partition epoch 4",
            lambda s: s.read(4, leader=5, leader_epoch=3, isr=[4, 5]),
        ),
        "3: replicas": (
            "the replicas [4, 5, 6] of operation",
            lambda s: s.read(4, leader=4, leader_epoch=2, isr=[4], replicas=[4, 5, 7]),
        ),
        "3: replicas in a cache": (
            "and nobody moved them",
            lambda s: s.cache("b3", replicas=[4, 6, 5]),
        ),
        "3: replicas before anybody asked for them": (
            "and nobody moved them",
            lambda s: (s.cache("b3", replicas=[4, 6, 5]), moved(s, [4, 6, 5])),
        ),
        "3: replicas that nobody asked for": (
            "and nobody moved them",
            lambda s: (moved(s, [4, 7]), s.cache("b3", replicas=[4, 8])),
        ),
        "3: replicas that a refused wish was for": (
            "and nobody moved them",
            lambda s: (moved(s, [4, 7], type="fail"), s.cache("b3", replicas=[4, 7])),
        ),
        "4: leader epoch falls": (
            "partition epoch 9 has a lower leader epoch than 4",
            lambda s: s.read(9, leader=-1, leader_epoch=1),
        ),
        "4: reads go back": (
            "read partition epoch 1, after",
            lambda s: s.read(1, isr=[4, 5]),
        ),
        "5: cache goes back": (
            f"b1's metadata of {TOPIC}/0 went back",
            lambda s: s.cache("b1"),
        ),
        "5: cache goes back after a restart": (
            f"b1's metadata of {TOPIC}/0 went back",
            lambda s: (
                restarted(s),
                s.cache("b1", leader=4, leader_epoch=2, isr=[4]),
                s.cache("b1"),
            ),
        ),
        "5: cache goes back after a pause": (
            f"b1's metadata of {TOPIC}/0 went back",
            lambda s: (
                s.inject(fault="pause", victims={"b1": {}}, ends_processes=False),
                s.cache("b1"),
            ),
        ),
        "5: topic comes again": (
            "b2's metadata of t went back",
            lambda s: (
                s.cache("b2", topic_id=None),
                s.cache("b2", leader=4, leader_epoch=2, isr=[4]),
            ),
        ),
        "5: topic of two clients": (
            f"b2's metadata of t went back, though it was not restarted: it showed {OTHER}",
            cache_of_two_clients_goes_back,
        ),
        "5: topic before it": (
            f"b2's metadata of t went back, though it was not restarted: it showed {TOPIC}",
            lambda s: (
                s.cache("b2", topic_id=OTHER),
                s.cache("b2", leader=4, leader_epoch=2, isr=[4]),
            ),
        ),
    },
    on=clean,
    then=ended,
)
PLANTED.update(
    Plants.of(
        clean,
        {
            "6: leader epoch": ("b3's metadata of", cache_is_of_the_past),
            "6: isr": ("had settled: leader 4 in leader epoch 2, ISR [4, 5] by operation",
                       cache_has_another_isr),
            "6: no leader": ("is stale after the cluster had settled: leader -1",
                             cache_has_no_leader),
            "6: deleted": ("b3's metadata of t is stale", cache_has_what_was_deleted),
            "6: another topic's": ("b3's metadata of t is stale", cache_has_the_earlier_topic),
        },
        on=clean,
    )
)  # fmt: skip


def checked(story: Story) -> Outcome:
    """By what the checker asks for, and nothing else."""
    outcome = MetadataAnswers().check_run(story.run_events())
    assert isinstance(outcome, Outcome)
    return outcome


def test_no_plant_needs_a_nodes_word() -> None:
    assert not any(planted.story().events for planted in PLANTED.values())


# --- what looks wrong, and is not ---------------------------------------------------------


def restarted(story: Answers) -> None:
    story.inject(fault="kill", victims={"b1": {}}, ends_processes=True)
    story.cache("b1")


def restarted_some_time(story: Answers) -> None:
    """The ledger does not say when."""
    story.inject(fault="kill", victims={"b1": {}}, ends_processes=True, injected_ns=None)
    story.cache("b1")


def answered_some_time(story: Answers) -> None:
    """Nor does the history, of one answer."""
    story.cache("b1").invoked_ns = None
    story.cache("b1").completed_ns = None


def did_not_answer(story: Answers) -> None:
    story.op("metadata", "t", type="fail", error="CONNECTION_LOST", node="b2")
    story.cache("b2", leader=4, leader_epoch=2, isr=[4])


def who_led_is_not_reported(story: Answers) -> None:
    reported = {"topic_id": TOPIC, "offset": 0}
    story.op("list-offsets", "t/0", {"at": "latest"}, reported, node="b2")
    story.led("b9", 2, "list-offsets")


def lags_before_settling(story: Answers) -> None:
    story.delete("t")
    story.describe("t")
    story.cache("b3")
    story.final()


def deleted_after_settling(story: Answers) -> None:
    story.final()
    story.delete("t")
    story.describe("t")
    story.cache("b3", leader=4, leader_epoch=2, isr=[4])


def had_not_heard_of_it(story: Answers) -> None:
    story.cache("b3", topic_id=None)
    story.final()
    story.cache("b2", leader=4, leader_epoch=2, isr=[4])


def being_restarted(story: Answers) -> None:
    """Nobody knows whether the old process or the new one answers."""
    answer = story.invoke("metadata", "t", node="b1")
    story.inject(fault="kill", victims={"b1": {}}, ends_processes=True)
    story.complete(answer, result=cached(TOPIC))


def stopped_for_good(story: Answers) -> None:
    story.inject(fault="kill", victims={"b1": {}}, ends_processes=True, healed_ns=None)
    story.cache("b1")


def may_have_ended(story: Answers) -> None:
    """A fault of somebody's package, which does not say what it does to processes."""
    story.inject(fault="swap", victims={"b1": {}}, ends_processes=None)
    story.cache("b1")


def overlapping_answers(story: Answers) -> None:
    early = story.invoke("metadata", "t", node="b3")
    story.cache("b3", leader=4, leader_epoch=2, isr=[4])
    story.complete(early, result=cached(TOPIC))


def settled_not(story: Answers) -> None:
    story.final(settled=False)
    story.cache("b3")


def not_healed(story: Answers) -> None:
    story.inject(healed=False)
    story.final()
    story.cache("b3")


def changes_after_settling(story: Answers) -> None:
    """A cache that lags behind what happened after the cluster had settled."""
    story.final()
    story.read(5, leader=5, leader_epoch=3, isr=[5])
    story.cache("b3", leader=4, leader_epoch=2, isr=[4])
    story.read(5, leader=5, leader_epoch=3, isr=[5])


def changes_meanwhile(story: Answers) -> None:
    """The version that held before the cache was asked does not hold after."""
    story.final()
    story.cache("b3", leader=4, leader_epoch=2, isr=[4, 5])
    story.read(5, leader=4, leader_epoch=2, isr=[4, 5])


def topic_made_anew(story: Answers) -> None:
    """Epochs begin again with another topic; a client takes it for the former one."""
    story.delete("t", topic_id=None)
    story.create("t", OTHER)
    story.led("b2", 2)
    story.read(0, topic_id=OTHER, leader=5, isr=[5, 6])
    for _ in range(2):
        story.cache("b1", topic_id=OTHER, leader=5, isr=[5, 6])


def deleted_and_unknown_yet(story: Answers) -> None:
    story.delete("t", type="info")
    story.cache("b2", topic_id=None)
    story.cache("b3")


@pytest.mark.parametrize(
    "more",
    [restarted, restarted_some_time, answered_some_time, did_not_answer,
     who_led_is_not_reported, lags_before_settling, deleted_after_settling,
     had_not_heard_of_it, being_restarted, stopped_for_good, may_have_ended,
     overlapping_answers, settled_not, not_healed, changes_after_settling,
     changes_meanwhile, topic_made_anew, deleted_and_unknown_yet],
)  # fmt: skip
def test_what_looks_wrong_and_is_not(more: Callable[[Answers], None]) -> None:
    story = clean()
    more(story)
    assert_valid(checked(story))


def judged(story: Story) -> CheckerResult:
    """As the engine has it."""
    row = outcome_row("r", "metadata-answers", "", checked(story))
    return checker_result("metadata-answers", "", [row], clauses=MetadataAnswers.clauses)


def test_versions_that_answers_do_not_show_are_unknown() -> None:
    """Linearizable reads were asked for, and tell no versions: that is no occasion missed."""
    story = ended(clean())
    for each in story.operations:
        for reported in (each.result or {}).get("partitions") or ():
            reported.pop("partition_epoch", None)
    story.operations = [each for each in story.operations if each.f != "alter-isr"]
    result = judged(story)
    assert result.verdict is Verdict.UNKNOWN
    assert "versions: 0" in result.note


def test_what_nobody_asked_for_gave_no_occasion() -> None:
    story = ended(clean())
    story.operations = [each for each in story.operations if each.f != "metadata"]
    notes = {each.name: each.note for each in judged(story).clauses if each.verdict is None}
    assert notes == dict.fromkeys(("caches", "settled-caches"), "nobody asked for a broker's cache")
    story = clean()
    assert {each.name: each.note for each in judged(story).clauses if each.verdict is None} == {
        "settled-caches": "the cluster was not seen to settle"
    }


def caches(story: Story) -> ClauseResult:
    (found,) = (each for each in judged(story).clauses if each.name == "caches")
    return found


def test_brokers_that_are_asked_once_each_give_no_occasion_to_go_back() -> None:
    story = Answers()
    story.read(0)
    story.read(0)
    story.read(0)
    for node in ("b1", "b2", "b3"):
        story.cache(node)
    assert caches(story).verdict is None
    story.op("metadata", "t", type="fail", error="CLIENT_TIMED_OUT", node="b2")
    assert caches(story).note == "hardly a broker was asked again of a topic"
    story.op("metadata", "t", type="fail", error="CLIENT_TIMED_OUT", node="b1")
    assert caches(story).verdict is Verdict.UNKNOWN, "it was asked again, and did not answer"
    for _ in range(2):
        story.cache("b1")
    assert (caches(story).verdict, caches(story).compared) == (Verdict.VALID, 2)


def test_one_broker_that_is_asked_thrice_is_enough() -> None:
    """An answer that shows a topic and its partition is one sighting."""
    story = Answers()
    for _ in range(2):
        story.cache("b1")
    assert caches(story).verdict is None
    story.cache("b1")
    assert (caches(story).verdict, caches(story).compared) == (Verdict.VALID, 2)


def test_without_reads_that_show_versions_there_is_no_occasion() -> None:
    story = ended(clean())
    story.operations = [each for each in story.operations if each.f in ("metadata", "fetch")]
    notes = {each.name: each.note for each in judged(story).clauses if each.verdict is None}
    assert notes == {"versions": "nobody asked for versions"}


def test_what_was_shown_only_after_settling_contradicts_no_cache() -> None:
    story = Answers()
    story.cache("b1", topic_id=None)
    slow = story.invoke("describe", "t")
    story.final()
    story.complete(slow, result={"topic_id": TOPIC, "partitions": [shown(0, [4])]})
    story.read(0)
    story.describe("u")
    story.op("metadata", "u", node="b1")
    for node in ("b1", "b2"):
        story.cache(node)
    settled = judged(story).clauses[-1]
    assert (settled.compared, settled.verdict) == (0, Verdict.UNKNOWN)


def test_plan_that_names_no_nodes() -> None:
    story = clean()
    story.plan = {}
    assert not checked(story).findings


def test_caches_that_say_what_has_gone_are_compared_with_who_read_that() -> None:
    story = Answers()
    story.read(0)
    story.delete("t")
    story.describe("t")
    story.final()
    for node in ("b1", "b2", "b3"):
        story.cache(node, None)
    settled = judged(story).clauses[-1]
    assert (settled.name, settled.compared) == ("settled-caches", 3)


def test_caches_are_compared_with_what_others_showed_where_nobody_else_read() -> None:
    story = Answers()
    story.cache("b1", leader_epoch=1)
    story.final()
    for node in ("b1", "b2", "b3"):
        story.cache(node, leader_epoch=1)
    settled = judged(story).clauses[-1]
    assert (settled.name, settled.compared) == ("settled-caches", 3)


def test_one_answer_contradicts_nothing() -> None:
    story = Answers()
    story.read(0)
    assert judged(story).verdict is Verdict.UNKNOWN


# --- what is counted, and what is told once -----------------------------------------------


def test_what_is_compared() -> None:
    """Of 14 answers that show a state and two of leaders, all of one partition."""
    story = ended(clean())
    assert {each.name: each.compared for each in judged(story).clauses} == {
        "isr": 14,
        "one-leader": 12,  # without the two that name no leader, in two epochs
        "versions": 5,
        "replicas": 12,
        "caches": 5,  # 8 answers of three caches
        "settled-caches": 3,
    }
    assert metadata_answers(story.run_events()).figures == {
        "answers": 16,
        "partitions": 1,
        "caches_after_settling": 3,
    }


def other_replicas_all_along(story: Answers) -> None:
    for replicas in ([4, 5, 7], [4, 5, 8]):
        story.read(4, leader=4, leader_epoch=2, isr=[4], replicas=replicas)


def leader_epochs_that_fall_all_along(story: Answers) -> None:
    for version, epoch in ((9, 1), (10, 0)):
        story.read(version, leader=-1, leader_epoch=epoch, isr=[4])


def three_leaders_of_an_epoch(story: Answers) -> None:
    for node in ("b1", "b2", "b3"):
        story.led(node, 7)


@pytest.mark.parametrize(
    "happens",
    [other_replicas_all_along, leader_epochs_that_fall_all_along, three_leaders_of_an_epoch],
)
def test_what_goes_on_is_one_finding(happens: Callable[[Answers], None]) -> None:
    story = clean()
    happens(story)
    assert len(checked(story).findings) == 1


def moved(story: Answers, replicas: list[int] | None, type: str = "ok") -> None:
    story.op("reassign", "t/0", {"replicas": replicas}, None, type=type)


def test_replicas_may_be_those_that_somebody_asked_for() -> None:
    """On the way there, too: those that are to go are among them."""
    story = clean()
    moved(story, [4, 7])
    for replicas in ([4, 7, 5, 6], [4, 7]):
        story.cache("b3", replicas=replicas, isr=[4])
    assert checked(story).findings == []


@pytest.mark.parametrize("first", [[4, 7, 5, 6], [4, 7]])
def test_replicas_that_are_first_shown_on_the_way_may_become_what_they_were(
    first: list[int],
) -> None:
    """What was there before nobody knows then."""
    story = Answers()
    story.create("t")
    moved(story, [4, 7, 8])
    for replicas in (first, [4, 5]):
        story.cache("b3", replicas=replicas, isr=[4])
    wrong = [each for each in checked(story).findings if each.clause == "replicas"]
    assert bool(wrong) == (5 not in first)


def test_partitions_that_a_cache_did_not_know_yet_or_any_more_are_not_lost() -> None:
    """They come one after another; another process, another topic and another broker may know
    fewer, as may an answer that is under way."""
    story = clean()
    slow = story.invoke("metadata", "t", node="b1")
    for numbers in ((0,), (0, 1), (0, 1, 2)):
        several(story, *numbers, node="b1")
    several(story, 0, node="b3")
    several(story, 0, 1, 2, 3, node="b1")
    story.complete(slow, result={**cached(TOPIC, **NOW)})
    several(story, 0, node="b1", topic_id=OTHER)
    story.inject(fault="kill", victims={"b1": {}}, ends_processes=True)
    several(story, 0, node="b1", topic_id=OTHER)
    assert [each.message for each in checked(story).findings] == []


def test_replicas_are_held_against_the_first_that_were_shown() -> None:
    story = clean()
    other_replicas_all_along(story)
    (found,) = checked(story).findings
    assert list(found.operations) == [story.operations[1].index, story.operations[-2].index]


@pytest.mark.parametrize(
    "happens", [cache_has_another_isr, cache_has_what_was_deleted, cache_is_of_the_past]
)
def test_cache_that_is_stale_is_found_once(happens: Callable[[Answers], None]) -> None:
    story = clean()
    happens(story)
    assert len(checked(story).findings) == 1
    story.cache("b3", leader=4, leader_epoch=2, isr=[4])
    assert len(checked(story).findings) == 1


def member_twice(story: Answers) -> None:
    story.read(9, leader=4, leader_epoch=2, isr=[4, 4])


NOW = {"leader": 4, "leader_epoch": 2, "isr": [4]}


def several(story: Answers, *numbers: int, node: str = "b2", topic_id: str = TOPIC) -> None:
    """A cache shows these partitions."""
    (state,) = cached(topic_id, **NOW)["partitions"]
    partitions = [{**state, "partition": number} for number in numbers]
    story.op("metadata", "t", None, {"topic_id": topic_id, "partitions": partitions}, node=node)


def partition_twice(story: Answers) -> None:
    several(story, 0, 0, node="b9")


def partition_is_lost(story: Answers) -> None:
    several(story, 0, 1)
    several(story, 1)


def half_moved(story: Answers) -> None:
    """Two of the three that were there, and one of the two that are to be."""
    moved(story, [7, 8])
    story.cache("b3", **NOW, replicas=[4, 5, 7])


def moved_to_fewer(story: Answers) -> None:
    moved(story, [4, 7])
    moved(story, None)
    story.cache("b3", **NOW, replicas=[4])


def only_leader_epoch_of_a_version_differs(story: Answers) -> None:
    story.read(4, leader=4, leader_epoch=3, isr=[4])


def observer_is_shown_less(story: Answers) -> None:
    """Nobody else asks that broker."""
    for epoch in (2, 1):
        state = {"partition": 0, "leader": -1, "leader_epoch": epoch, "isr": [4]}
        topic = {"name": "t", "topic_id": TOPIC, "partitions": [{**state, "replicas": [4, 5, 6]}]}
        story.ask("b9", "describe-topics", {"topics": [topic], "brokers": []})


PLANTED.update(
    Plants.of(
        clean,
        {
            "1: a member twice": ("names a replica twice", member_twice),
            "1: a partition twice": ("the ISR of partition 0 is told twice", partition_twice),
            "3: some of what is there and some of what is to be": (
                "the replicas [4, 5, 6] of operation",
                half_moved,
            ),
            "3: fewer than somebody asked for": ("are [4] by operation", moved_to_fewer),
            "5: partitions": (
                f"b2's metadata of {TOPIC} lost partitions, though it was not restarted: it showed "
                "2 in operation",
                partition_is_lost,
            ),
            "2: leader epochs in one version": (
                "two states under partition epoch 4",
                only_leader_epoch_of_a_version_differs,
            ),
            "5: by an observer": (f"b9's metadata of {TOPIC}/0 went back", observer_is_shown_less),
        },
        on=clean,
        then=ended,
    )
)


def fewer_partitions_than_a_cache_had(story: Answers) -> None:
    """By an answer that failed, a read that is no cache's, and the cache of another broker."""
    several(story, 0, 1)
    one = cached(TOPIC, **NOW)
    story.op("metadata", "t", None, one, type="fail", error="X", node="b2")
    story.op("describe", "t", None, one, node="b2")
    several(story, 0, node="b3")


def a_change_is_no_read(story: Answers) -> None:
    """Its answer comes late, of a version that has passed."""
    story.alter(1, [4])


def stale_before_it_settled_again(story: Answers) -> None:
    story.final()
    story.cache("b3")
    story.final()


def shown_under_way_with_the_mark(story: Answers) -> None:
    """Asked before the cluster was seen to settle, or read until after it."""
    slow = story.invoke("describe", "t")
    cache = story.invoke("metadata", "t", node="b3")
    story.final()
    now = shown(5, [5], leader=5, leader_epoch=3)
    story.complete(slow, result={"topic_id": TOPIC, "partitions": [now]})
    story.complete(cache, result=cached(TOPIC))
    story.cache("b2", leader=4, leader_epoch=2, isr=[4])


def topic_of_which_an_answer_tells_no_partitions(story: Answers) -> None:
    for partitions in (None, []):
        reported = {"topic_id": TOPIC, "partitions": partitions}
        story.op("metadata", "t", None, reported, node="b1")


def answers_that_failed_or_are_of_another_kind(story: Answers) -> None:
    wrong = cached(TOPIC, leader=9, isr=[9])
    story.op("metadata", "t", None, wrong, type="fail", error="X", node="b1")
    story.op("create", "u", {}, wrong)
    story.op("fetch", "t/0", {}, {"leader_epoch": 2, "topic_id": None}, node="b2")
    for node in ("b1", "b2"):
        story.op("fetch", "t/0", {}, {"leader_epoch": None, "topic_id": TOPIC}, node=node)
    story.op("fetch", "t/0", {}, None, node="b2")
    story.op("fetch", "t/0", {}, {"leader_epoch": 2, "topic_id": TOPIC}, node="c1")
    story.led("", 2)


def leader_of_the_past_answers(story: Answers) -> None:
    """It is no cache."""
    story.final()
    story.led("b1", 0)


def read_that_shows_what_had_gone(story: Answers) -> None:
    """That is not the caches' affair."""
    story.describe("t")
    story.final()
    story.read(4, leader=4, leader_epoch=2, isr=[4])


def began_first_and_ended_last(story: Answers) -> None:
    """An answer that overlaps all others is before none."""
    slow = story.invoke("metadata", "u", node="b1")
    for topic_id in (None, OTHER):
        result = cached(topic_id) if topic_id else None
        story.op("metadata", "u", None, result, node="b1")
    story.complete(slow, result=cached(OTHER))


def no_leader_twice(story: Answers) -> None:
    """In one epoch nobody led, then one did: as a cache shows whose leader is fenced."""
    story.cache("b3", leader=-1, leader_epoch=2, isr=[4])


@pytest.mark.parametrize(
    "more",
    [
        fewer_partitions_than_a_cache_had,
        a_change_is_no_read,
        stale_before_it_settled_again,
        shown_under_way_with_the_mark,
        topic_of_which_an_answer_tells_no_partitions,
        answers_that_failed_or_are_of_another_kind,
        leader_of_the_past_answers,
        read_that_shows_what_had_gone,
        began_first_and_ended_last,
        no_leader_twice,
    ],
)
def test_more_that_looks_wrong_and_is_not(more: Callable[[Answers], None]) -> None:
    story = clean()
    more(story)
    assert_valid(checked(story))


# --- against the definition ---------------------------------------------------------------


@settings(max_examples=cases(200), deadline=None)
@given(st.integers(0, 2**32))
def test_falls_are_all_that_was_shown_better_before(seed: int) -> None:
    draw, story = random.Random(seed), Answers()
    open_: list[Operation] = []
    sights = []
    for _ in range(draw.randrange(1, 9)):
        open_.append(story.invoke("metadata", "t"))
        while open_ and draw.random() < 0.6:
            done = story.complete(open_.pop(draw.randrange(len(open_))))
            epoch = draw.randrange(3)
            sights.append(Sight(operation=done, key=(TOPIC, 0), leader=4, leader_epoch=epoch))
    found = list(falls(sights, lambda sight: sight.leader_epoch))
    assert sorted(after.operation.index for _, after in found) == sorted(
        after.operation.index
        for after in sights
        if any(
            before.leader_epoch > after.leader_epoch and before.operation.precedes(after.operation)
            for before in sights
        )
    )
    for before, after in found:
        assert before.operation.precedes(after.operation)


def test_what_nothing_mends_is_found_while_a_run_goes_on() -> None:
    checker, broken = MetadataAnswers(), set[str]()
    for planted in PLANTED.values():
        found = metadata_answers(planted.story().run_events())
        row = outcome_row("r", checker.name, "", found)
        said = clauses_so_far({checker.name: checker}, [row])
        broken |= {each.clause for each in said if each.verdict is Verdict.INVALID}
    assert broken == {"isr", "versions", "replicas"}


def test_a_cache_that_lags_shows_what_nobody_had_shown_before() -> None:
    """Of a partition that was first shown where it had been moved to, and is to be moved on."""
    story = Answers()
    story.create("t")
    moved(story, [5, 4])
    moved(story, [7, 8])
    for replicas in ([5, 4], [5, 6, 4], [6, 4]):
        story.cache("b3", replicas=replicas, isr=[4])
    assert not [each for each in checked(story).findings if each.clause == "replicas"]
