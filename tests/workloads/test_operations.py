"""Values of operations as types: their JSON is that of histories recorded before there were any."""

import json
from pathlib import Path
from typing import Any, Protocol

import pytest

from workloads.kafka.operations.brokers import (
    AlterIsr,
    Heartbeat,
    IsrState,
    Lease,
    broker_key,
    broker_of,
)
from workloads.kafka.operations.partitions import (
    Fetch,
    Fetched,
    ListOffsets,
    Offset,
    Produce,
    Produced,
    Seek,
    partition_key,
    partition_of,
)
from workloads.kafka.operations.processes import Drained, NoAnswer, ProcessState, Replaced
from workloads.kafka.operations.topics import CreateTopic, PartitionState, TopicState


class Value(Protocol):
    @classmethod
    def from_json(cls, value: Any) -> Any: ...


RECORDED = [
    json.loads(line)
    for line in (Path(__file__).parent / "recorded_operations.jsonl").read_text().splitlines()
]
INVOKED: dict[str, type[Value]] = {
    "create": CreateTopic,
    "heartbeat": Heartbeat,
    "alter-isr": AlterIsr,
    "produce": Produce,
    "fetch": Fetch,
    "list-offsets": ListOffsets,
    "seek": Seek,
}
RESULTS: dict[str, type[Value]] = {
    "describe": TopicState,
    "metadata": TopicState,
    "heartbeat": Lease,
    "alter-isr": IsrState,
    "fetch": Fetched,
    "seek": Seek,
}


def typed() -> list[tuple[type[Value], Any]]:
    tables = {"invoke": INVOKED, "ok": RESULTS}
    return [
        (tables[event["type"]][event["f"]], event["value"])
        for event in RECORDED
        if event["f"] in tables[event["type"]] and event.get("value") is not None
    ]


def test_every_type_was_recorded() -> None:
    assert {cls for cls, _ in typed()} == {*INVOKED.values(), *RESULTS.values()}


@pytest.mark.parametrize("cls, value", typed())
def test_a_recorded_value_is_read_and_written_byte_for_byte(cls: type[Value], value: Any) -> None:
    assert json.dumps(cls.from_json(value).to_json()) == json.dumps(value)


def test_results_that_are_only_written() -> None:
    done = {e["f"]: e["value"] for e in RECORDED if e["type"] == "ok" and "value" in e}
    produced = done["produce"]
    assert json.dumps(Produced.from_json(produced).to_json()) == json.dumps(produced)
    assert json.dumps(Offset(done["list-offsets"]["offset"]).to_json()) == json.dumps(
        done["list-offsets"]
    )
    state = ProcessState(**done["start"])
    assert json.dumps(state.to_json()) == json.dumps(done["start"])
    assert json.dumps(Drained(done["drain"]["reason"]).to_json()) == json.dumps(done["drain"])
    first, second = (ProcessState(**done["replace"][each]) for each in ("first", "second"))
    replaced = Replaced(first=first, second=second)
    assert json.dumps(replaced.to_json()) == json.dumps(done["replace"])
    assert Replaced(first=NoAnswer(), second=second).to_json()["first"] == {}


def test_an_assignment_is_the_whole_create() -> None:
    value = {"assignment": [[101, 102], [102, 101]]}
    create = CreateTopic.from_json(value)
    assert (create.assignment, create.partitions, create.replication) == (
        ((101, 102), (102, 101)),
        None,
        None,
    )
    assert create.to_json() == value


def test_a_cached_partition_has_no_version() -> None:
    value = {"partition": 0, "leader": 4, "leader_epoch": 2, "replicas": [4, 5], "isr": [4]}
    state = PartitionState.from_json(value)
    assert state.partition_epoch is None
    assert json.dumps(state.to_json()) == json.dumps(value)


def test_keys_are_read_back() -> None:
    assert broker_of(broker_key(301)) == 301
    assert partition_of(partition_key("a/b", 12)) == ("a/b", 12)
