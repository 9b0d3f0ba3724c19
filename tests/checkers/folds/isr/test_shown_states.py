"""What a leader went by as its ISR, by its own answers (`folds/isr/shown_states.py`)."""

from dataclasses import replace
from typing import Any

import pytest
from planted_runs import MS, TOPIC, Story
from test_in_sync import LEAST, judged, produce

from framework.history.pairing import Operation


def alone(*isrs: list[int], shows: list[int] | None = None) -> Story:
    """Disks alone tell what happened: the leader was alone, and somebody joined in the end. It
    showed that it was alone before, or what is given."""
    story = Story()
    story.disks.write("c1", 1, "TopicRecord", name="t", topic_id=TOPIC)
    least = {"resource_type": 2, "resource_name": "t", "name": LEAST, "value": "2"}
    story.disks.write("c1", 1, "ConfigRecord", **least)
    for version, isr in enumerate(isrs or ([4, 5], [4], [4, 6])):
        on_disk(story, version, isr)
    show(story, shows or [4])
    story.wait(1_000)
    return story


def on_disk(story: Story, version: int, isr: list[int], **more: Any) -> None:
    record = {"topic_id": TOPIC, "partition_id": 0, "leader": 4, "leader_epoch": 0, **more}
    kind = "IsrChangeRecord" if version else "PartitionRecord"
    story.disks.write("c1", 1, kind, isr=isr, partition_epoch=version, **record)


def show(story: Story, isr: list[int], node: str = "b1", **more: Any) -> Operation:
    """A broker's metadata, to the observer."""
    partition = {"partition": 0, "leader": 4, "leader_epoch": 0, "isr": isr, **more}
    topics = [{"name": "t", "topic_id": TOPIC, "partitions": [partition]}]
    return story.ask(node, "describe-topics", {"brokers": [], "topics": topics})


def then(story: Story, isr: list[int], after_ms: float = 2_000, **more: Any) -> Story:
    """The leader acknowledges, and shows that some time later."""
    produce(story)
    story.wait(after_ms)
    show(story, isr, **more)
    return story


def test_leader_that_shows_before_and_after_that_it_is_alone() -> None:
    count, (found,) = judged(then(alone(), [4]))
    assert count == 1
    assert "by b1, which knew that the ISR was [4], as it showed by operation 0 and" in found


def test_leader_that_shows_to_a_client_that_it_is_alone() -> None:
    story = alone()
    (asked,) = story.observations
    shown = {"topic_id": TOPIC, "partitions": asked.result["topics"][0]["partitions"]}
    first = replace(asked, process=7, f="metadata", key="t", result=shown)
    story.observations, story.operations = [], [first]
    count, findings = judged(then(story, [4]))
    assert (count, len(findings)) == (1, 1)


@pytest.mark.parametrize(
    ("before", "after"), [([4, 5], [4]), ([4], [4, 6]), ([4, 5], [4, 6]), ([4, 6], [6, 4])]
)
def test_leader_that_may_have_known_of_a_larger_isr_meanwhile(
    before: list[int], after: list[int]
) -> None:
    assert judged(then(alone(shows=before), after)) == (1, [])


def test_what_the_log_has_between_two_answers_may_have_held_meanwhile() -> None:
    story = alone()
    on_disk(story, 3, [4])
    assert judged(then(story, [4])) == (1, [])


@pytest.mark.parametrize(("last", "found"), [([4, 6], 0), ([5], 1)])
def test_without_a_later_answer_it_is_the_end_of_the_log_that_bounds_it(
    last: list[int], found: int
) -> None:
    story = alone([4, 5], [4], last)
    produce(story)
    count, findings = judged(story)
    assert (count, len(findings)) == (1, found)


@pytest.mark.parametrize(("more_ns", "known"), [(0, 0), (1, 1)])
def test_a_leader_takes_up_what_it_shows_within_a_time(more_ns: int, known: int) -> None:
    story = alone()
    (shown,) = story.observations
    story.now_ns = (shown.completed_ns or 0) + 249 * MS + more_ns  # the next is a ms later
    count, findings = judged(then(story, [4]))
    assert (count, len(findings)) == (known, known)


@pytest.mark.parametrize(("more_ns", "found"), [(0, 0), (1, 1)])
def test_a_leader_may_know_what_it_does_not_show_yet(more_ns: int, found: int) -> None:
    """It was told of the change that it asked for, and shows it later."""
    story = alone()
    done = produce(story)
    story.now_ns = (done.completed_ns or 0) + 999 * MS + more_ns
    show(story, [4])
    story.wait(2_000)
    show(story, [4, 6])
    assert len(judged(story)[1]) == found


@pytest.mark.parametrize("time", ["invoked_ns", "completed_ns"])
@pytest.mark.parametrize("which", ["produce", "answer"])
def test_what_has_no_time_tells_nothing(time: str, which: str) -> None:
    story, timeless = then(alone(), [4]), dict[str, Any]({time: None})
    if which == "produce":
        story.operations = [replace(each, **timeless) for each in story.operations]
    else:
        story.observations = [replace(each, **timeless) for each in story.observations]
    assert judged(story) == (0, [])


def test_answers_of_nobody_tell_nothing_of_who_served() -> None:
    story = then(alone(), [4])
    story.operations = [replace(each, node=None) for each in story.operations]
    story.observations = [replace(each, node=None) for each in story.observations]
    assert judged(story) == (0, [])


@pytest.mark.parametrize("other", [{"f": "describe"}, {"type": "info"}])
def test_read_of_the_log_and_what_was_no_answer_tell_nothing_of_a_cache(
    other: dict[str, Any],
) -> None:
    story = alone()
    (asked,) = story.observations
    shown = {"topic_id": TOPIC, "partitions": asked.result["topics"][0]["partitions"]}
    first = replace(asked, **{"process": 7, "f": "metadata", "key": "t", "result": shown, **other})
    story.observations, story.operations = [], [first]
    assert judged(then(story, [4])) == (0, [])


def test_of_a_state_that_the_log_has_often_the_first_and_the_last_count() -> None:
    story = alone([4, 5], [4], [4, 5], [4], [5], [4], [6])
    assert judged(then(story, [4])) == (1, [])
    assert len(judged(then(alone([4, 5], [4], [5], [4], [6], [4, 5]), [4]))[1]) == 1


def test_machine_that_has_no_time_takes_up_nothing() -> None:
    story = then(alone(), [4])
    assert len(judged(story)[1]) == 1
    story.plan = {**story.plan, "machine": {"took": [[0, 900, 900]]}}
    assert judged(story) == (0, [])


@pytest.mark.parametrize(
    "other", [{"leader": 5}, {"leader_epoch": 1}, {"isr": [4, 5, 6]}, {"partition": 1}]
)
def test_answer_that_is_no_state_of_the_log_tells_nothing(other: dict[str, Any]) -> None:
    for at in (0, 1):
        story = then(alone(), [4])
        asked = story.observations[at]
        partition = asked.result["topics"][0]["partitions"][0]
        partition |= other
        count, findings = judged(story)
        assert not findings
        assert count == (at == 1 and "partition" in other)


def test_answers_of_another_node_tell_nothing_of_the_leader() -> None:
    story = alone()
    story.observations = [replace(each, node="b2") for each in story.observations]
    assert judged(then(story, [4])) == (0, [])


def test_version_that_the_log_lacks_may_have_held() -> None:
    story = alone()
    on_disk(story, 4, [4])
    assert judged(then(story, [4])) == (0, [])


def test_nodes_that_tell_nothing_and_that_nobody_asks_give_no_occasion() -> None:
    story = alone()
    story.observations.clear()
    produce(story)
    assert judged(story) == (0, [])
    story.plan = {**story.plan, "capabilities": ["disk:applied"]}
    count, findings = judged(story)
    assert "nobody asked them" in count and not findings
