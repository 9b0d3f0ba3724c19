"""What an observer was told is judged as what clients were."""

import re
from typing import Any

import pytest
from planted_runs import NODES, TOPIC, Story, assert_valid, shown

from checkers.folds.history.observations import as_of_clients
from checkers.metadata_answers import MetadataAnswers
from checkers.partition_data import PartitionData
from framework.checking.keyed import Outcome
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, LEDGER, Finding
from framework.verdict import Verdict

STATE = {"partition": 0, "leader": 4, "leader_epoch": 2, "replicas": [4, 5, 6], "isr": [4, 5]}


def topics(story: Story, node: str, **state: Any) -> Operation:
    """The node's metadata of t."""
    topic = {"name": "t", "topic_id": TOPIC, "partitions": [{**STATE, **state}]}
    return story.ask(node, "describe-topics", {"brokers": [], "topics": [topic], "others": 0})


def ends(story: Story, node: str, offset: int, epoch: int = 2, key: str = "t/0") -> Operation:
    end = {"key": key, "offset": offset, "leader_epoch": epoch, "topic_id": TOPIC}
    return story.ask(node, "log-ends", {"ends": [end]})


def test_answers_as_clients_have_them() -> None:
    story = Story()
    story.ask("b1", "describe-topics", type="fail", error="CLIENT_TIMED_OUT")
    half = {"topics": [{"name": "t", "topic_id": TOPIC, "partitions": []}]}
    story.ask("b1", "describe-topics", half, type="fail", error="CLIENT_TIMED_OUT")
    story.ask("b1", "describe-topics", "no answer of that form")
    story.ask("b1", "describe-topics", {"brokers": []})
    story.ask("b1", "describe-quorum", {"ends": [{"key": "t/0", "offset": 3}]})
    shown_by = topics(story, "b1")
    end = ends(story, "b1", 7)
    story.ask("b1", "describe-cluster", {"brokers": []})
    metadata, offset = as_of_clients(story.observations)
    assert (metadata.index, metadata.f, metadata.key) == (shown_by.index, "metadata", "t")
    assert metadata.result == {"topic_id": TOPIC, "partitions": [STATE]}
    assert (offset.index, offset.f, offset.key) == (end.index, "list-offsets", "t/0")
    assert offset.value == {"at": "latest"}
    assert offset.result == {"offset": 7, "leader_epoch": 2, "topic_id": TOPIC}


def test_an_end_that_is_reported_in_the_final_phase_is_left_out() -> None:
    story = Story()
    story.final()
    ends(story, "b1", 7)
    assert not list(as_of_clients(story.observations))


# --- metadata-answers ---------------------------------------------------------------------


def asked() -> Story:
    story = Story(plan={"nodes": NODES})
    story.create("t")
    story.describe("t", shown(3, leader=4, leader_epoch=2, isr=[4, 5]))
    topics(story, "b1", leader_epoch=1, leader=5)
    topics(story, "b1")
    topics(story, "b2")
    return story


def metadata_of(story: Story) -> list[Finding]:
    found = MetadataAnswers().check_run(story.run_events())
    assert isinstance(found, Outcome)
    return list(found.findings)


def test_metadata_of_brokers_fits_together() -> None:
    assert metadata_of(asked()) == []


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ({"leader_epoch": 1, "leader": 5}, "b2's metadata of .* went back"),
        ({"leader": 5}, "has two leaders in one leader epoch"),
        ({"isr": [4, 7]}, "has others in it than the replicas"),
    ],
)
def test_metadata_that_an_observer_saw_go_wrong(state: dict[str, Any], says: str) -> None:
    story = asked()
    wrong = topics(story, "b2", **state)
    (found,) = metadata_of(story)
    assert re.search(says, found.message) and wrong.index in found.operations
    assert LEDGER in found.contracts


def test_who_reported_an_end_led_then() -> None:
    story = asked()
    ends(story, "b3", 0)
    (found,) = metadata_of(story)
    assert "two leaders in one leader epoch" in found.message
    assert set(found.contracts) == {CLIENTS, LEDGER}


# --- partition-data -----------------------------------------------------------------------


def written() -> Story:
    story = Story()
    story.create("t")
    value = {"value": 1, "acks": "all", "idempotent": False, "producer": "p"}
    story.op("produce", "t/0", value, {**value, "offset": 0, "topic_id": TOPIC}, node="b1")
    ends(story, "b1", 1)
    return story


def read_at_the_end(story: Story) -> Story:
    story.final()
    reported = {"records": [[0, 1]], "high_watermark": 1, "log_start": 0, "position": 1}
    reported |= {"leader_epoch": 2, "topic_id": TOPIC}
    story.op("fetch", "t/0", {"consumer": "final", "from": 0}, reported, node="b1")
    return story


def data_of(story: Story) -> dict[str, Outcome]:
    found = PartitionData().check_run(story.run_events())
    assert not isinstance(found, Outcome)
    return dict(found)


def test_ends_that_fit() -> None:
    story = read_at_the_end(written())
    ends(story, "b1", 99)  # who knows what came to it since
    for outcome in data_of(story).values():
        assert_valid(outcome)


def test_ends_that_go_back() -> None:
    story = written()
    ends(story, "b1", 0)
    (outcome,) = data_of(read_at_the_end(story)).values()
    assert outcome.verdict is Verdict.INVALID
    assert "the log went back" in outcome.findings[0].message


def test_an_end_that_is_never_reached() -> None:
    story = written()
    ends(story, "b1", 5)
    (outcome,) = data_of(read_at_the_end(story)).values()
    assert any("the partition ends at 1" in each.message for each in outcome.findings)


def test_partitions_that_no_client_works_on_are_not_judged() -> None:
    story = written()
    ends(story, "b1", 5, key="u/0")
    ends(story, "b1", 0, key="u/0")
    topics(story, "b1")
    assert len(data_of(read_at_the_end(story))) == 1
