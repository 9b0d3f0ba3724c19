"""Each answer of a broker's metadata is a point of the committed log, and points never go back."""

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import pytest
from contract import Plants
from hypothesis import given
from hypothesis import strategies as st
from judging import assert_unknown, clause_of, judged
from planted_runs import NODES, OTHER, PLAN, TOPIC, Story, assert_invalid, assert_valid

from checkers.metadata_cache import MetadataCache, metadata_cache
from framework.history.pairing import Operation
from framework.plugins.checker import DISKS, EVENTS
from framework.verdict import Verdict

CHECKER = MetadataCache()
VOTERS = ("c1", "c2", "c3")
ALL = (4, 5, 6)
V, W = "33333333-3333-3333-3333-333333333333", "44444444-4444-4444-4444-444444444444"


def record(story: Story, kind: str, **fields: Any) -> None:
    """At the end of the log, on the disks of all voters."""
    for node in VOTERS:
        story.disks.write(node, 1, kind, **fields)


def topic(story: Story, name: str, topic_id: str) -> None:
    """Of one partition, which 4 leads."""
    record(story, "TopicRecord", name=name, topic_id=topic_id, deleting=False)
    partition(story, topic_id, 0, "PartitionRecord", replicas=list(ALL))


def partition(
    story: Story, topic_id: str, version: int, kind: str = "IsrChangeRecord", **fields: Any
) -> None:
    state: dict[str, Any] = {"leader": 4, "leader_epoch": 0, "isr": list(ALL), **fields}
    record(story, kind, topic_id=topic_id, partition_id=0, partition_epoch=version, **state)


def shows(topic_id: str = TOPIC, **fields: Any) -> dict[str, Any]:
    """A topic in an answer, as it was made."""
    state = {"leader": 4, "leader_epoch": 0, "isr": list(ALL), "replicas": list(ALL), **fields}
    return {"topic_id": topic_id, "partitions": [{"partition": 0, **state}]}


def read(story: Story, name: str, shown: dict[str, Any] | None, node: str = "b1") -> None:
    story.op("metadata", name, None, shown, node=node)


def listed(story: Story, node: str = "b1", others: int = 0, **topics: dict[str, Any]) -> None:
    """An answer to the observer."""
    named = [{"name": name, **shown} for name, shown in topics.items()]
    story.ask(node, "describe-topics", {"brokers": [], "topics": named, "others": others})


def into_service(story: Story, *brokers: int, epoch: int = 7) -> None:
    for each in brokers:
        of_broker(story, "BrokerRecord", each, epoch)
        of_broker(story, "UnfenceBrokerRecord", each, epoch)


def of_broker(story: Story, kind: str, broker: int, epoch: int = 7) -> None:
    record(story, kind, broker_id=broker, broker_epoch=epoch)


def brokers_of(*ids: int) -> dict[str, Any]:
    """Of an answer: the brokers."""
    return {"brokers": [{"id": each, "host": f"10.0.0.{each}", "port": 9092} for each in ids]}


def lists(story: Story, *ids: int, node: str = "b1") -> None:
    """An answer to the observer, of brokers alone."""
    story.ask(node, "describe-cluster", brokers_of(*ids))


def clean() -> Story:
    """t is made, and u; the ISR of t shrinks and grows; u goes. b1 is behind b2, and a fault holds
    for a while."""
    story = Story()
    record(story, "NoOpRecord")
    story.create("t")
    topic(story, "t", TOPIC)
    listed(story, "b1", t=shows())
    listed(story, "b2")
    story.create("u", OTHER)
    topic(story, "u", OTHER)
    partition(story, TOPIC, 1, isr=[4, 5])
    partition(story, TOPIC, 2)
    listed(story, "b2", t=shows(isr=[4, 5]), u=shows(OTHER))
    read(story, "u", None)
    story.inject(lasts_ms=100)
    read(story, "t", shows(isr=[5, 4]))
    read(story, "u", shows(OTHER))
    story.delete("u", OTHER)
    record(story, "RemoveTopicRecord", topic_id=OTHER)
    listed(story, "b2", t=shows())
    story.final()
    for node in ("b1", "b2"):
        read(story, "u", None, node)
        listed(story, node, t=shows())
    return story


def test_caches_that_are_late_are_accepted() -> None:
    outcome = metadata_cache(clean().run_events())
    assert_valid(outcome)
    result = judged(CHECKER, clean())
    assert result.verdict is Verdict.VALID
    compared = {each.name: each.compared for each in result.clauses}
    assert compared == {
        "one-point": 11,
        "points-rise": 8,
        "keeps-up": 4,
        "registered-places": 0,
    }


def registers(story: Story, broker: int, *hosts: str, epoch: int = 7) -> None:
    """At these hosts, port 9092."""
    points = [
        {"name": name, "host": host, "port": 9092, "security_protocol": 0}
        for name, host in zip("abc", hosts, strict=False)
    ]
    record(story, "BrokerRecord", broker_id=broker, broker_epoch=epoch, end_points=points)
    of_broker(story, "UnfenceBrokerRecord", broker, epoch)


def placed() -> Story:
    """Two brokers are told of where they registered; one of them has another end point, too."""
    story = clean()
    registers(story, 4, "10.0.0.4", "10.9.9.4")
    registers(story, 5, "10.0.0.5", epoch=8)
    for node in ("b1", "b2"):
        lists(story, 4, 5, node=node)
    return story


PLANTED = Plants(placed)
violation = partial(PLANTED.violation, on=clean)


@violation("at none of its points", "leader 5 in epoch 0")
def a_state_that_never_was(story: Story) -> None:
    read(story, "t", shows(leader=5))


@violation("at none of its points", "t is topic 2222")
def another_topic_of_that_name(story: Story) -> None:
    read(story, "t", shows(OTHER))


@violation("at none of its points", "never all of it together", "operation")
def two_states_that_never_met(story: Story) -> None:
    story.restart("b3")
    partition(story, TOPIC, 3, isr=[4, 6])
    listed(story, "b3", t=shows(isr=[4, 6]), u=shows(OTHER))


@violation("at none of its points", "t/0 has leader 4 in epoch 1")
def an_epoch_that_nobody_began(story: Story) -> None:
    listed(story, "b3", t=shows(leader_epoch=1))


@violation("at none of its points", "ISR")
def replicas_that_nobody_assigned(story: Story) -> None:
    listed(story, "b3", t=shows(replicas=[4, 5, 7]))


@violation("which the same process had reached", "ISR [4, 5]")
def an_isr_that_was_over(story: Story) -> None:
    partition(story, TOPIC, 3, isr=[5])
    read(story, "t", shows(isr=[5]))
    read(story, "t", shows(isr=[4, 5]))


@violation("which the same process had reached", "u is topic 2222")
def a_topic_that_had_gone(story: Story) -> None:
    read(story, "u", shows(OTHER))


@violation("which the same process had reached", "no topic t")
def a_topic_that_is_left_out(story: Story) -> None:
    listed(story, "b2")


@violation("had been acknowledged at", "no topic v", "create of v")
def a_broker_that_stays_behind(story: Story) -> None:
    story = _settled_late(story)
    read(story, "v", None, "b3")


@violation("had been acknowledged at", "u is topic 2222", "delete of u")
def a_broker_that_never_saw_it_go(story: Story) -> None:
    listed(story, "b3", t=shows(), u=shows(OTHER))


def shown(story: Story, end: int | None = None, *, wait_ms: float = 2_001) -> Story:
    """An observer is shown up to where the log is committed, to its end, and time passes."""
    end = story.disks.ends[VOTERS[0]] if end is None else end
    view = {"leader": 1, "leader_epoch": 1, "high_watermark": end}
    story.ask("c1", "describe-quorum", view)
    story.wait(wait_ms)
    return story


def shrunk(story: Story, **fields: Any) -> Story:
    """t has another state, after all that clients were acknowledged; who answers is late."""
    partition(story, TOPIC, 3, **{"isr": [4, 5], **fields})
    return story


STALE = ("c1 had shown to be committed", "t/0 has leader 4 in epoch 0, ISR [4, 5, 6]")


@violation(*STALE)
def a_broker_that_keeps_an_isr_that_was_over(story: Story) -> None:
    listed(shown(shrunk(story)), "b3", t=shows())


@violation("c2 had shown to be committed", STALE[1])
def a_broker_that_keeps_what_a_client_was_shown_to_be_over(story: Story) -> None:
    shrunk(story)
    ext = {"offset": story.disks.ends[VOTERS[0]], "epoch": 1}
    story.op("describe", "v", None, None, node="c2", ext=ext)
    story.wait(2_001)
    listed(story, "b3", t=shows())


@violation(*STALE)
def a_broker_that_tells_a_client_of_a_leader_that_was_over(story: Story) -> None:
    read(shown(shrunk(story, leader=5, leader_epoch=1, isr=[5, 6])), "t", shows(), "b3")


@violation(*STALE)
def a_broker_that_keeps_an_epoch_that_was_over(story: Story) -> None:
    """Leader and ISR are what they were."""
    read(shown(shrunk(story, leader_epoch=1, isr=list(ALL))), "t", shows(), "b3")


@violation(*STALE)
def a_broker_that_is_behind_what_was_shown_before_the_cluster_settled(story: Story) -> None:
    shown(shrunk(story), wait_ms=1)
    story.wait(1_000)
    story.final()
    story.wait(1_000)
    read(story, "t", shows(), "b3")


def of_two(story: Story) -> Story:
    """v has two partitions, and b2 shows both."""
    story.create("v", V)
    topic(story, "v", V)
    state = {"leader": 4, "leader_epoch": 0, "isr": list(ALL), "replicas": list(ALL)}
    record(story, "PartitionRecord", topic_id=V, partition_id=1, partition_epoch=0, **state)
    read(story, "v", shows_of(0, 1), "b2")
    return story


def shows_of(*numbers: int) -> dict[str, Any]:
    """v with these partitions."""
    (state,) = shows(V)["partitions"]
    return {"topic_id": V, "partitions": [{**state, "partition": each} for each in numbers]}


@violation("which the same process had reached", "v has partitions []")
def a_topic_that_has_lost_all_its_partitions(story: Story) -> None:
    read(of_two(story), "v", shows_of(), "b2")


@violation("at none of its points", "v has partitions [1]")
def a_topic_without_its_first_partition(story: Story) -> None:
    read(of_two(story), "v", shows_of(1), "b3")


@violation("at none of its points", "v is topic 4444", "v has partitions []")
def a_topic_that_never_was_with_the_others_that_are(story: Story) -> None:
    read(of_two(story), "v", {"topic_id": W, "partitions": []}, "b3")


def test_partitions_that_come_one_after_another_are_accepted() -> None:
    """A broker that is behind may have some of them; an answer may tell of none without a word."""
    story = of_two(clean())
    for numbers in ((), (0,), (0, 1)):
        read(story, "v", shows_of(*numbers), "b3")
    read(story, "v", {"topic_id": V}, "b3")
    assert_valid(metadata_cache(story.run_events()))


@violation("c1 had shown to be committed", "broker 4 is listed", on=lambda: with_lists())
def a_fenced_broker_that_is_listed_though_it_was_shown_to_be_fenced(story: Story) -> None:
    of_broker(story, "FenceBrokerRecord", 4)
    lists(shown(story), 4, 5, 7, node="b3")


def accepted(story: Story, by: str = "b3", **fields: Any) -> None:
    """The broker's answer is as late as it may be."""
    read(story, "t", shows(**fields), by)
    found = metadata_cache(story.run_events())
    assert not [each for each in found.findings if each.clause == "keeps-up"]


def test_a_broker_need_not_have_what_was_shown_just_now() -> None:
    accepted(shown(shrunk(clean()), wait_ms=1_990))


def test_nor_what_nobody_was_shown_to_be_committed() -> None:
    accepted(shown(shrunk(clean()), 8))


def test_nor_what_was_shown_while_it_was_asked() -> None:
    story = shrunk(clean())
    early = story.invoke("metadata", "t", node="b3")
    shown(story)
    story.complete(early, "ok", shows())
    assert_valid(metadata_cache(story.run_events()))


def test_nor_what_was_shown_before_a_fault_that_holds() -> None:
    story = shown(shrunk(clean()))
    story.inject(lasts_ms=100, effective=True, healed=False, healed_ns=None)
    accepted(story)


def test_nor_where_the_machine_gave_hardly_anything_since() -> None:
    """Not so little that it may have upset the cluster."""
    story = shrunk(clean())
    story.wait(4_000)
    begin_ms = story.now_ns // 1_000_000
    shown(story)
    story.plan = {**PLAN, "machine": {"took": [[begin_ms, begin_ms + 2_000, 1_000]]}}
    accepted(story)
    story.wait(1_000)
    read(story, "t", shows(), "b3")
    assert_invalid(metadata_cache(story.run_events()), *STALE)


def test_of_a_cluster_that_was_not_seen_to_settle_it_is_owed_when_recovery_is_over() -> None:
    story = Story()
    story.plan = {**PLAN, "recovery_s": 5}
    story.create("t")
    topic(story, "t", TOPIC)
    partition(story, TOPIC, 1, isr=[4, 5])
    shown(story, wait_ms=4_000)
    accepted(story)
    story.wait(1_000)
    read(story, "t", shows(), "b3")
    assert_invalid(metadata_cache(story.run_events()), *STALE)


def test_what_has_it_is_accepted_and_compared() -> None:
    story = shown(shrunk(clean()))
    read(story, "t", shows(isr=[4, 5]), "b3")
    result = judged(CHECKER, story)
    assert result.verdict is Verdict.VALID
    assert clause_of(result, "keeps-up").compared == 5


def test_a_shown_state_that_is_so_again_is_accepted() -> None:
    """The ISR grew again: who shows it whole may have it."""
    story = shrunk(clean())
    partition(story, TOPIC, 4)
    accepted(shown(story))


def test_reads_of_clients_show_how_far_the_log_is() -> None:
    """Where there are linearizable ones. An answer that names no offset shows nothing."""
    story = shrunk(clean())
    seen = story.op("describe", "t", None, None, node="b2")
    story.wait(2_001)
    accepted(story)
    seen.ext = {"epoch": 1, "offset": story.disks.ends[VOTERS[0]]}
    found = metadata_cache(story.run_events())
    assert_invalid(found, "b2 had shown to be committed")


def with_lists() -> Story:
    """What brokers there are comes and goes: 6 is fenced for a while, and a client plays 7. b1 is
    behind b2. Then the cluster is seen to settle."""
    story = clean()
    into_service(story, 4, 5, 6)
    lists(story, 4, 5, 6, node="b2")
    of_broker(story, "FenceBrokerRecord", 6)
    story = _settled_late(story)
    into_service(story, 7)
    lists(story, 4, 5, node="b2")
    lists(story, 4, 5)
    lists(story, 4, 5, 7, node="b2")
    for node in ("b1", "b2"):
        named = [{"name": "t", **shows()}, {"name": "v", **shows(V)}]
        story.ask(node, "describe-topics", {"topics": named, **brokers_of(4, 5, 7)})
    return story


def test_lists_that_are_late_are_accepted() -> None:
    result = judged(CHECKER, with_lists())
    assert result.verdict is Verdict.VALID
    assert result.figures["lists of brokers"] == 12


@violation("had been acknowledged at", "create of v", "broker 6 is listed", on=with_lists)
def a_fenced_broker_that_is_listed_for_long(story: Story) -> None:
    lists(story, 4, 5, 6, node="b3")


@violation("had been acknowledged at", "broker 6 is listed", on=with_lists)
def a_fenced_broker_that_is_listed_beside_topics(story: Story) -> None:
    listing = {"topics": [], "others": 1, **brokers_of(4, 5, 6)}
    story.ask("b3", "describe-topics", listing)


@violation("had been acknowledged at", "broker 6 is not listed", on=with_lists)
def a_live_broker_that_is_left_out_for_long(story: Story) -> None:
    of_broker(story, "UnfenceBrokerRecord", 6)
    story = _settled_late(story, "w", W)
    lists(story, 4, 5, node="b3")


@violation("at none of its points", "broker 9 is listed", on=with_lists)
def a_broker_that_never_was(story: Story) -> None:
    lists(story, 4, 5, 9, node="b3")


@violation("at none of its points: broker 8 is listed", on=with_lists)
def a_broker_that_was_never_in_service(story: Story) -> None:
    of_broker(story, "BrokerRecord", 8)
    lists(story, 4, 5, 8, node="b3")


@violation("at none of its points", "never all of it together", on=with_lists)
def brokers_that_were_never_there_together(story: Story) -> None:
    lists(story, 4, 5, 6, 7, node="b3")


@violation("which the same process had reached", "broker 6 is listed", on=with_lists)
def a_list_that_goes_back(story: Story) -> None:
    lists(story, 4, 5, 6, node="b2")


@violation("which the same process had reached", "broker 7 is not listed", on=with_lists)
def a_list_that_goes_back_to_fewer(story: Story) -> None:
    lists(story, 4, 5, node="b2")


@violation("which the same process had reached", "u is topic 2222", on=with_lists)
def a_topic_of_before_the_list(story: Story) -> None:
    lists(story, 4, 5, 7, node="b3")
    read(story, "u", shows(OTHER), "b3")


@violation("which the same process had reached", "broker 6 is listed", on=with_lists)
def a_list_of_before_the_topic(story: Story) -> None:
    story.plan = {"nodes": NODES}
    topic(story, "w", W)
    read(story, "w", shows(W), "b3")
    lists(story, 4, 5, 6, node="b3")


@violation("at none of its points", "never all of it together", on=with_lists)
def brokers_of_before_the_topics_beside_them(story: Story) -> None:
    partition(story, TOPIC, 3, isr=[5])
    named = {"name": "t", **shows(isr=[5])}
    listing = {"topics": [named], "others": 1, **brokers_of(4, 5, 6)}
    story.ask("b3", "describe-topics", listing)


@violation("had been acknowledged at", "broker 6 is listed", on=with_lists)
def another_process_of_the_broker_that_is_fenced(story: Story) -> None:
    """It registered under a new epoch, and nobody unfenced that."""
    of_broker(story, "UnfenceBrokerRecord", 6)
    of_broker(story, "BrokerRecord", 6, epoch=9)
    story = _settled_late(story, "w", W)
    lists(story, 4, 5, 6, 7, node="b3")


@violation("broker 5 is not listed", on=with_lists)
def a_broker_that_shuts_down_and_is_left_out(story: Story) -> None:
    _shuts_down(story)
    lists(story, 4, 7, node="b3")


def _shuts_down(story: Story) -> None:
    """Of that the log says nothing but in words of the system's own: 5 is not fenced yet."""
    record(story, "ShutdownBegun", broker_id=5, broker_epoch=7)


@pytest.mark.parametrize(
    ("ids", "node"),
    [((4, 5, 7), "b3"), ((4, 5), "b3"), ((4, 5, 7), "b2")],
    ids=["as it is", "late", "once more"],
)
def test_a_broker_that_shuts_down_is_listed_until_it_is_fenced(
    ids: tuple[int, ...], node: str
) -> None:
    story = with_lists()
    _shuts_down(story)
    lists(story, *ids, node=node)
    assert_valid(metadata_cache(story.run_events()))


def test_a_fault_excuses_a_list_that_is_late() -> None:
    story = with_lists()
    story.inject(lasts_ms=100, effective=True, healed=False, healed_ns=None)
    lists(story, 4, 5, 6, node="b3")
    assert_valid(metadata_cache(story.run_events()))


def test_a_fence_of_which_nothing_followed_that_was_acknowledged_may_be_late() -> None:
    story = with_lists()
    of_broker(story, "FenceBrokerRecord", 7)
    lists(story, 4, 5, 7, node="b3")
    assert_valid(metadata_cache(story.run_events()))


def test_a_process_begins_anew_with_its_list() -> None:
    story = with_lists()
    story.inject(fault="kill", lasts_ms=20, victims={"b2": []}, healed=False)
    lists(story, node="b2")
    lists(story, 4, 5, 6, node="b2")
    assert_valid(metadata_cache(story.run_events()))


def test_lists_that_overlap_have_no_order() -> None:
    story = with_lists()
    early = story.invoke("describe-cluster", None, node="b3")
    later = story.invoke("describe-cluster", None, node="b3")
    for begun, ids in ((later, (4, 5, 7)), (early, (4, 5))):
        done = story.complete(begun, "ok", brokers_of(*ids))
        story.operations.remove(done)
        story.observations.append(done)
    assert_valid(metadata_cache(story.run_events()))


def test_brokers_may_be_looked_at_after_the_topics_beside_them() -> None:
    """As Kafka's brokers do: 6 was fenced in between."""
    story = with_lists()
    of_broker(story, "UnfenceBrokerRecord", 6)
    partition(story, TOPIC, 3, isr=[5])
    partition(story, TOPIC, 4, isr=[6])
    of_broker(story, "FenceBrokerRecord", 6)
    named = {"name": "t", **shows(isr=[5])}
    listing = {"topics": [named], "others": 1, **brokers_of(4, 5, 7)}
    both = replace(story, operations=list(story.operations))
    both.ask("b3", "describe-topics", listing)
    assert_valid(metadata_cache(both.run_events()))
    both.ask("b3", "describe-topics", {**listing, **brokers_of(4, 5, 6, 7)})
    assert_invalid(metadata_cache(both.run_events()), "the same process", "broker 6 is")


def test_a_broker_that_no_answer_lists_is_nobodys_to_see() -> None:
    """It may have no listener for those that ask."""
    story = with_lists()
    into_service(story, 8)
    story = _settled_late(story, "w", W)
    lists(story, 4, 5, 7, node="b3")
    assert_valid(metadata_cache(story.run_events()))
    lists(story, 4, 5, 7, 8, node="b2")
    assert_invalid(metadata_cache(story.run_events()), "broker 8 is not listed")


def test_answers_of_brokers_alone_are_not_enough() -> None:
    story = with_lists()
    of_topics = ("metadata", "describe-topics")
    for answers in (story.operations, story.observations):
        answers[:] = [
            replace(each, type="info", result=None) if each.f in of_topics else each
            for each in answers
        ]
    outcome = metadata_cache(story.run_events())
    assert outcome.figures["lists of brokers"] and {0} == {
        count for name, count in (outcome.clauses or {}).items() if name != "registered-places"
    }
    for clause in ("one-point", "points-rise", "keeps-up"):
        assert_unknown(CHECKER, story, clause)


def test_answers_without_brokers_say_nothing_of_them() -> None:
    story = with_lists()
    story.ask("b2", "describe-topics", {"topics": [], "others": 1})
    assert_valid(metadata_cache(story.run_events()))


def _settled_late(story: Story, name: str = "v", topic_id: str = V) -> Story:
    """A topic is made, and then the cluster is seen to settle once more."""
    story.create(name, topic_id)
    topic(story, name, topic_id)
    story.final()
    return story


def test_what_was_acknowledged_long_ago_is_owed_before_the_end_as_well() -> None:
    story = Story()
    story.plan = {**PLAN, "recovery_s": 2}
    story.create("t")
    topic(story, "t", TOPIC)
    story.create("u", OTHER)
    topic(story, "u", OTHER)
    read(story, "t", None, "b3")
    assert_valid(metadata_cache(story.run_events()))
    story.wait(2_100)
    with_it = replace(story, operations=list(story.operations))
    read(with_it, "t", shows(), "b3")
    assert_valid(metadata_cache(with_it.run_events()))
    read(story, "t", None, "b3")
    assert_invalid(metadata_cache(story.run_events()), "had been acknowledged at", "no topic t")


def test_a_fault_excuses_a_cache_that_is_behind() -> None:
    story = clean()
    story.inject(lasts_ms=100, effective=True, healed=False, healed_ns=None)
    read(story, "v", None, "b3")
    listed(story, "b3", t=shows(), u=shows(OTHER))
    found = metadata_cache(story.run_events())
    assert not [each for each in found.findings if each.clause == "keeps-up"]


def test_nothing_is_owed_under_a_fault_however_long_ago_it_was_acknowledged() -> None:
    story = Story()
    story.plan = {**PLAN, "recovery_s": 2}
    story.create("t")
    topic(story, "t", TOPIC)
    begun_ns = story.now_ns
    story.wait(5_000)
    read(story, "t", None, "b3")
    assert_invalid(metadata_cache(story.run_events()), "had been acknowledged at")
    story.inject(healed=False, injected_ns=begun_ns, healed_ns=None)
    assert not metadata_cache(story.run_events()).findings


def test_another_process_may_begin_anew() -> None:
    story = clean()
    with_kill = story.inject(fault="kill", lasts_ms=20, victims={"b2": []})
    assert with_kill.ends_processes
    read(story, "t", None, "b2")
    found = judged(CHECKER, story)
    assert not [each for each in found.findings if each.clause == "points-rise"]


def test_answers_that_overlap_have_no_order() -> None:
    story = clean()
    partition(story, TOPIC, 3, isr=[5])
    early = story.invoke("metadata", "t", node="b3")
    later = story.invoke("metadata", "t", node="b3")
    story.complete(later, "ok", shows(isr=[4, 5]))
    story.complete(early, "ok", shows(isr=[5]))
    found = metadata_cache(story.run_events())
    assert not [each for each in found.findings if each.clause == "points-rise"]


def test_a_leader_that_cannot_be_reached_is_hidden() -> None:
    story = clean()
    listed(story, "b3", t=shows(leader=-1))
    assert_valid(metadata_cache(story.run_events()))


def test_answers_that_were_cut_leave_nothing_out() -> None:
    story = clean()
    listed(story, "b2", others=7)
    assert_valid(metadata_cache(story.run_events()))


def test_a_name_may_be_listed_before_its_topic_is_looked_at() -> None:
    """v was made between the two: the names are of before, the ISR of t of after that."""
    story = clean()
    topic(story, "v", V)
    partition(story, TOPIC, 3, isr=[6])
    listed(story, "b2", t=shows(isr=[6]))
    listed(story, "b2", t=shows(isr=[6]), v=shows(V))
    assert_valid(metadata_cache(story.run_events()))
    listed(story, "b2", t=shows(isr=[6]))
    assert_invalid(metadata_cache(story.run_events()), "no topic v")


def test_the_disks_say_what_was() -> None:
    story = clean()
    read(story, "t", shows(leader=5))
    (found,) = metadata_cache(story.run_events()).findings
    assert DISKS in found.contracts and EVENTS not in found.contracts


WRITTEN: list[tuple[str, dict[str, Any]]] = [
    ("TopicRecord", {"name": "t", "topic_id": TOPIC, "deleting": False}),
    (
        "PartitionRecord",
        {
            "topic_id": TOPIC,
            "partition_id": 0,
            "partition_epoch": 0,
            "leader": 4,
            "leader_epoch": 0,
            "isr": list(ALL),
            "replicas": list(ALL),
        },
    ),
]


def test_what_nodes_reported_beyond_their_disks_never_was() -> None:
    story = clean()
    at = story.disks.ends["c1"]
    story.partition(at, 3, [5], node="b3")
    listed(story, "b3", t=shows(isr=[5]))
    assert_invalid(metadata_cache(story.run_events()), "at none of its points")


def test_nor_what_they_reported_beside_all_that_the_disks_have() -> None:
    story = Story()
    story.create("t")
    for at, (kind, fields) in enumerate(WRITTEN):
        record(story, kind, **fields)
        story.apply("c1", at, kind, **fields)
    story.partition(len(WRITTEN), 1, [5])
    read(story, "t", shows(isr=[5]))
    assert_invalid(metadata_cache(story.run_events()), "at none of its points", "ISR [5]")


def test_without_disks_nodes_say_it_if_nothing_is_missing() -> None:
    story = Story()
    story.create("t")
    for at, (kind, fields) in enumerate(WRITTEN):
        story.apply("c1", at, kind, **fields)
    for node in ("b1", "b2", "b3", "b1"):
        read(story, "t", shows(), node)
    assert_valid(metadata_cache(story.run_events()))
    wrong = replace(story, operations=list(story.operations))
    read(wrong, "t", shows(leader=5))
    (found,) = metadata_cache(wrong.run_events()).findings
    assert EVENTS in found.contracts and DISKS not in found.contracts
    story.apply("c1", 5, "NoOpRecord")  # and what is between, nobody told
    read(story, "t", shows(leader=5))
    found_nothing = metadata_cache(story.run_events())
    assert not found_nothing.findings and not found_nothing.seen


def test_of_answers_that_overlap_the_latest_point_counts_for_those_behind() -> None:
    """The first to end is of the later point."""
    story = clean()
    partition(story, TOPIC, 3, isr=[5])
    first = story.invoke("metadata", "t", node="b3")
    second = story.invoke("metadata", "t", node="b3")
    story.complete(second, "ok", shows(isr=[5]))
    story.complete(first, "ok", shows())
    assert_valid(metadata_cache(story.run_events()))
    read(story, "t", shows(isr=[4, 5]), "b3")
    found = metadata_cache(story.run_events())
    assert {each.clause for each in found.findings} == {"points-rise"}


def test_what_has_ended_counts_while_another_answer_is_still_to_come() -> None:
    story = clean()
    partition(story, TOPIC, 3, isr=[5])
    first = story.invoke("metadata", "t", node="b3")
    second = story.invoke("metadata", "t", node="b3")
    story.complete(first, "ok", shows(isr=[5]))
    third = story.invoke("metadata", "t", node="b3")
    story.complete(second, "ok", shows())
    story.complete(third, "ok", shows(isr=[4, 5]))
    assert_invalid(metadata_cache(story.run_events()), "which the same process had reached")


def test_a_machine_that_gave_nothing_excuses_a_cache_that_is_behind() -> None:
    story = clean()
    listed(story, "b3", t=shows(), u=shows(OTHER))
    end_ms = story.now_ns // 1_000_000
    assert_invalid(metadata_cache(story.run_events()), "long before")
    story.plan = {**PLAN, "machine": {"took": [[0, end_ms + 4_000, end_ms + 4_000]]}}
    story.wait(3_500)
    listed(story, "b3", t=shows(), u=shows(OTHER))
    outcome = metadata_cache(story.run_events())
    assert len([each for each in outcome.findings if each.clause == "keeps-up"]) <= 1


def test_what_was_acknowledged_just_now_is_not_owed() -> None:
    story = Story()
    story.plan = {**PLAN, "recovery_s": 2}
    story.create("t")
    topic(story, "t", TOPIC)
    story.wait(2_100)
    story.create("u", OTHER)
    topic(story, "u", OTHER)
    read(story, "u", None, "b3")
    read(story, "u", None, "b3")
    assert_valid(metadata_cache(story.run_events()))


def test_brokers_that_were_asked_once_each_are_no_occasion() -> None:
    story = Story()
    for name, topic_id in (("t", TOPIC), ("u", OTHER)):
        story.create(name, topic_id)
        topic(story, name, topic_id)
    for node in ("b1", "b2", "b3"):
        listed(story, node, t=shows(), u=shows(OTHER))
    result = judged(CHECKER, story)
    assert clause_of(result, "points-rise").note == "hardly a broker was asked again"
    assert clause_of(result, "keeps-up").note == "hardly a broker was asked in peace"


def test_brokers_that_answer_nothing_are_missed() -> None:
    story = clean()
    story.observations.clear()
    story.operations = [each for each in story.operations if each.f != "metadata"]
    assert judged(CHECKER, story).verdict is Verdict.UNKNOWN


def test_brokers_that_fall_silent_in_the_end_are_missed() -> None:
    story = clean()
    settled = story.nemesis[-1].index
    story.observations = [each for each in story.observations if each.index < settled]
    story.operations = [
        replace(each, type="info", result=None) if each.index > settled else each
        for each in story.operations
    ]
    assert_unknown(CHECKER, story, "keeps-up")


def test_no_topics_are_no_occasion() -> None:
    story = Story()
    record(story, "NoOpRecord")
    listed(story)
    result = judged(CHECKER, story)
    for clause in result.clauses:
        assert clause_of(result, clause.name).verdict is None


def test_of_which_process_an_answer_is_while_one_is_killed_nobody_knows() -> None:
    story = clean()
    early = story.invoke("metadata", "t", node="b2")
    late = story.invoke("metadata", "t", node="b2")
    story.inject(fault="kill", lasts_ms=20, victims={"b2": []})
    both = replace(story, operations=list(story.operations))
    both.complete(early, "ok", None)
    found = metadata_cache(both.run_events())
    assert not [each for each in found.findings if each.clause == "points-rise"]
    story.complete(late, "ok", shows(leader=5))
    assert_invalid(metadata_cache(story.run_events()), "at none of its points")


def test_answers_of_a_process_that_nobody_knows_may_be_of_the_first_point() -> None:
    """And are none that could have gone back."""
    story = Story()
    story.create("t")
    story.create("u", OTHER)
    topic(story, "t", TOPIC)
    asked = [story.invoke("metadata", "t", node="b2") for _ in range(5)]
    story.inject(fault="kill", lasts_ms=20, victims={"b2": []})
    for each in asked:
        story.complete(each, "ok", None)
    outcome = metadata_cache(story.run_events())
    assert_valid(outcome)
    assert outcome.clauses and outcome.clauses["points-rise"] == 0


def test_only_what_is_wrong_is_named() -> None:
    story = clean()
    listed(story, "b3", t=shows(leader=5))
    (found,) = metadata_cache(story.run_events()).findings
    assert found.message.endswith("none of its points: t/0 has leader 5 in epoch 0, ISR [4, 5, 6]")


def test_answers_that_say_nothing_are_not_counted() -> None:
    story = clean()
    answers = metadata_cache(story.run_events()).figures["answers"]
    story.ask("b1", "describe-quorum", {"leader": 1})
    listed(story, "b1", others=3)
    assert metadata_cache(story.run_events()).figures["answers"] == answers


def test_acknowledgements_of_topics_that_the_log_lacks_owe_nothing() -> None:
    story = clean()
    story.op("create", "x", None, None, node="b1")
    story.op("create", "y", None, {"topic_id": "id-of-nobody"}, node="b1")
    story = _settled_late(story)
    read(story, "x", None, "b3")
    assert_valid(metadata_cache(story.run_events()))
    read(story, "v", None, "b3")
    assert_invalid(metadata_cache(story.run_events()), "create of v")


def test_a_delete_that_the_log_lacks_is_no_fault_of_a_cache() -> None:
    story = clean()
    story.delete("t", TOPIC)
    story = _settled_late(story)
    read(story, "t", shows(), "b3")
    assert_valid(metadata_cache(story.run_events()))


def test_an_acknowledgement_without_a_time_owes_nothing() -> None:
    story = clean()
    story.create("v", V).completed_ns = None
    topic(story, "v", V)
    story.final()
    read(story, "v", None, "b3")
    assert_valid(metadata_cache(story.run_events()))


def test_what_was_refused_is_no_change() -> None:
    story = Story()
    record(story, "NoOpRecord")
    for name in ("t", "u"):
        story.op("create", name, type="fail", error="X", node="b1")
    listed(story)
    result = judged(CHECKER, story)
    assert "hardly a change" in clause_of(result, "one-point").note


@pytest.mark.parametrize(("made", "occasion"), [(1, False), (2, True)])
def test_how_many_changes_are_an_occasion(made: int, occasion: bool) -> None:
    story = Story()
    for name, topic_id in (("t", TOPIC), ("u", OTHER))[:made]:
        story.create(name, topic_id)
        topic(story, name, topic_id)
    note = clause_of(judged(CHECKER, story), "one-point").note
    assert ("hardly a change" not in note) == occasion


def test_an_answer_may_say_nothing_of_partitions() -> None:
    story = clean()
    read(story, "t", {"topic_id": TOPIC})
    assert_valid(metadata_cache(story.run_events()))


@pytest.mark.parametrize(("again", "enough"), [(3, False), (4, True)])
def test_how_often_brokers_have_to_be_asked(again: int, enough: bool) -> None:
    story = clean()
    story.observations.clear()
    story.operations = [each for each in story.operations if each.f != "metadata"]
    for _ in range(again + 1):
        story.op("metadata", "t", type="fail", error="X", node="b1")
    note = clause_of(judged(CHECKER, story), "points-rise").note
    assert ("hardly" not in note) == enough


def test_answers_of_the_first_record_count() -> None:
    """t is there from it on: that it is not was true before it alone."""
    story = Story()
    story.create("t")
    story.create("u", OTHER)
    topic(story, "t", TOPIC)
    for _ in range(5):
        read(story, "t", SHOWN["bare"])
    read(story, "t", None)
    result = judged(CHECKER, story)
    assert clause_of(result, "points-rise").compared == 5
    assert [each.clause for each in result.findings] == ["points-rise"]


def test_disks_on_which_the_log_no_longer_begins_do_not_say_it_all() -> None:
    story = Story()
    for at, (kind, fields) in enumerate(WRITTEN):
        story.apply("c1", at, kind, **fields)
    for node in VOTERS:
        story.disks.begin(node, len(WRITTEN), dropped=True)
    for version, isr in enumerate(([4, 5], [5], [4, 6], [6]), 1):
        partition(story, TOPIC, version, isr=isr)
    read(story, "t", shows(isr=[6]))
    assert not metadata_cache(story.run_events()).findings
    read(story, "t", shows(leader=5))
    (found,) = metadata_cache(story.run_events()).findings
    assert EVENTS in found.contracts and DISKS not in found.contracts


@pytest.mark.parametrize(("more_ns", "owed"), [(0, False), (1, True)])
def test_the_first_change_is_owed_once_recovery_is_over(more_ns: int, owed: bool) -> None:
    story = Story()
    story.plan = {**PLAN, "recovery_s": 2}
    record(story, "NoOpRecord")
    first = story.create("t")
    story.wait(3_000)
    story.create("u", OTHER)
    for _ in range(2):
        asked = story.op("metadata", "t", type="fail", error="X", node="b1")
        asked.invoked_ns = (first.completed_ns or 0) + 2_000_000_000 + more_ns
    note = clause_of(judged(CHECKER, story), "keeps-up").note
    assert ("hardly a broker was asked in peace" not in note) == owed


STEPS = st.lists(
    st.sampled_from(["make", "drop", "shrink", "grow", "fence", "unfence"]), max_size=5
)
STATES = st.sampled_from([None, "none", "whole", "small", "one"])
LISTS = st.sampled_from([None, True, False])
ANSWERS = st.lists(st.tuples(STATES, LISTS, st.booleans()), min_size=1, max_size=4)
SHOWN: dict[str, dict[str, Any] | None] = {
    "none": None,
    "bare": {"topic_id": TOPIC, "partitions": []},
    "whole": shows(),
    "small": shows(isr=[4]),
    "one": shows(leader_epoch=1),
}


@dataclass(frozen=True)
class Said:
    """What an answer shows of t (None: nothing), and whether it lists 6 (None: neither)."""

    shown: str | None
    lists: bool | None
    begin: int
    end: int

    def holds(self, states: list[tuple[str, bool]], topics: int, brokers: int) -> bool:
        as_shown = self.shown is None or SHOWN[self.shown] == SHOWN[states[topics][0]]
        return as_shown and self.lists in (None, states[brokers][1])


@given(steps=STEPS, answers=ANSWERS)
def test_the_rule_is_what_it_says(
    steps: list[str], answers: list[tuple[str | None, bool | None, bool]]
) -> None:
    """Against all ways to give each answer a point for its topics, and one for its brokers that is
    not before it. An answer may begin before the one in front of it has ended."""
    story, states = Story(), [("none", False)]
    story.plan = {"nodes": NODES}
    for step in ("register", "unfence", *steps):
        _write(story, step, states)
    lists(story, 6, node="b2")
    opened: list[tuple[Operation, str | None, bool | None]] = []
    said: list[Said] = []
    for shown, is_listed, beside in answers:
        f = "describe-cluster" if shown is None else "describe-topics"
        begun = story.invoke("metadata" if is_listed is None else f, "t", node="b1")
        opened.append((begun, shown or "none", is_listed))
        if not beside:
            said += [_end(story, *each) for each in opened]
            opened = []
    said += [_end(story, *each) for each in opened]
    assert (not metadata_cache(story.run_events()).findings) == _possible(states, said)


def _possible(states: list[tuple[str, bool]], said: list[Said]) -> bool:
    def placed(rest: list[Said], before: list[tuple[Said, int]]) -> bool:
        return not rest or any(
            placed(rest[1:], [*before, (rest[0], brokers)])
            for topics, brokers in combinations_with_replacement(range(len(states)), 2)
            if rest[0].holds(states, topics, brokers)
            and all(point <= topics for one, point in before if one.end < rest[0].begin)
        )

    return placed(said, [])


def _write(story: Story, step: str, states: list[tuple[str, bool]]) -> None:
    """One record and the state behind it: t is there, or not, with all in its ISR, or one; and
    whether 6 is in service."""
    now, serves = states[-1]
    made = any(state != "none" for state, _ in states)
    if step == "register":
        of_broker(story, "BrokerRecord", 6)
        states.append((now, False))
    elif step in ("fence", "unfence"):
        of_broker(story, f"{step.title()}BrokerRecord", 6)
        states.append((now, step == "unfence"))
    elif step == "make" and not made:
        record(story, "TopicRecord", name="t", topic_id=TOPIC, deleting=False)
        states.append(("bare", serves))
        partition(story, TOPIC, 0, "PartitionRecord", replicas=list(ALL))
        states.append(("whole", serves))
    elif step == "drop" and now in ("whole", "small"):
        record(story, "RemoveTopicRecord", topic_id=TOPIC)
        states.append(("none", serves))
    elif step in ("shrink", "grow") and now in ("whole", "small"):
        isr = [4] if step == "shrink" else list(ALL)
        partition(story, TOPIC, len(states), isr=isr)
        states.append(("small" if step == "shrink" else "whole", serves))


def _end(story: Story, begun: Operation, shown: str, is_listed: bool | None) -> Said:
    """Its answer, to a client or an observer. Of a topic that is not there an observer is told
    nothing, among others: what is left out may be of before."""
    topic = SHOWN[shown]
    if is_listed is None:
        done = story.complete(begun, "ok", topic)
        return Said(shown, None, begun.index, done.end or 0)
    result = brokers_of(6) if is_listed else brokers_of()
    if begun.f == "describe-topics":
        result |= {"topics": [{"name": "t", **topic}] if topic else [], "others": 1}
    done = story.complete(begun, "ok", result)
    story.operations.remove(done)
    story.observations.append(done)
    return Said(shown if topic else None, is_listed, begun.index, done.end or 0)


# --- where brokers are --------------------------------------------------------------------


def placing(story: Story) -> Any:
    return clause_of(judged(CHECKER, story), "registered-places")


def test_brokers_that_are_told_of_where_they_registered_are_right() -> None:
    assert judged(CHECKER, placed()).verdict is Verdict.VALID
    assert placing(placed()).compared == 4


PLACED = "broker 4 is at 10.0.0.4:9092; by the committed log it registered at 10.0.0.9:9092"


@violation("b1", PLACED)
def a_broker_that_registered_elsewhere(story: Story) -> None:
    registers(story, 4, "10.0.0.9")
    lists(story, 4)


@violation("broker 5 is at 10.0.0.5:9092", "registered at nowhere")
def a_broker_that_registered_nowhere(story: Story) -> None:
    registers(story, 4, "10.0.0.4")
    registers(story, 5)
    lists(story, 4, 5)


@violation("broker 4 is at 10.0.0.8:9092")
def a_broker_that_is_told_of_in_a_second_place(story: Story) -> None:
    registers(story, 4, "10.0.0.4")
    told = brokers_of(4)["brokers"]
    story.ask("b1", "describe-cluster", {"brokers": [*told, {**told[0], "host": "10.0.0.8"}]})


def test_a_broker_that_registers_again_may_be_told_of_in_either_place() -> None:
    story = placed()
    registers(story, 4, "10.0.0.7", epoch=9)
    lists(story, 4, 5)
    told = {"id": 4, "host": "10.0.0.7", "port": 9092}
    story.ask("b2", "describe-cluster", {"brokers": [told, *brokers_of(5)["brokers"]]})
    assert placing(story).verdict is Verdict.VALID
    assert placing(story).compared == 8


def test_of_a_broker_without_a_registration_others_rules_tell() -> None:
    story = placed()
    lists(story, 3, 4)
    assert placing(story).compared == 5


def test_a_log_without_places_shows_none() -> None:
    story = clean()
    into_service(story, 4, 5)
    lists(story, 4, 5)
    assert placing(story).verdict is None
    assert placing(story).note == "the log does not say where brokers are"
    assert placing(clean()).verdict is None  # and one without brokers
    unread = placed()
    unread.disks.evidence = []
    assert_unknown(CHECKER, unread, "registered-places")
