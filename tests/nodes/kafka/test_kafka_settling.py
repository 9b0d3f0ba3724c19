"""A cluster of Apache Kafka has settled when all its brokers show what the committed log has."""

import contextlib
import uuid
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from kio.schema.errors import ErrorCode

from framework.plugins.system import Cluster
from nodes.kafka import committed as module
from nodes.kafka import states, system
from nodes.kafka.committed import committed, partitions
from nodes.kafka.following import Follower
from nodes.kafka.states import PartitionView
from nodes.kafka.system import KafkaSystem
from nodes.kafka.topics import Topics, whole_batches
from tests.nodes.kafka.test_kafka_following import BATCHES, END, LOG, Leader, read

TOPIC = uuid.UUID(int=7)


def whole() -> frozenset[PartitionView]:
    """What the log has, folded by a reader of its own accord."""
    follower = Follower("c")
    read(follower, Leader())
    return partitions(follower.topics)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], frozenset[PartitionView] | None]:
    """The log as it is read from one who answers so."""

    def ask(answer: Any) -> frozenset[PartitionView] | None:
        monkeypatch.setattr(module, "exchange", lambda _, request, __: answer(request))
        connect: Any = lambda listener, _: contextlib.nullcontext(listener)  # noqa: E731
        return committed(connect, "c", 1.0)

    return ask


@pytest.mark.parametrize(
    "leader", [Leader(), Leader(at_a_time=3), Leader(snapshot_bytes=1000), Leader(epoch=9)]
)
def test_the_log_is_read_to_its_end(asked: Any, leader: Leader) -> None:
    found = asked(leader)
    assert found == whole()
    assert len(found) > 2 and {each.leader for each in found} != {-1}


@pytest.mark.parametrize(
    "code",
    [ErrorCode.not_leader_or_follower, ErrorCode.unknown_leader_epoch, ErrorCode.unknown_topic_id],
)
def test_one_that_does_not_give_it_has_not_told(asked: Any, code: ErrorCode) -> None:
    assert asked(lambda _: Leader().answered(error_code=code)) is None


def test_one_that_goes_silent_or_gives_half_of_it_has_not_told(asked: Any) -> None:
    def silent(_: Any) -> Any:
        raise TimeoutError

    def nonsense(_: Any) -> Any:
        raise ValueError("no FetchResponse")

    assert asked(silent) is asked(nonsense) is None
    assert asked(Leader(high_watermark=END + 1)) is None
    refused = replace(Leader().answered(), error_code=ErrorCode.inconsistent_cluster_id)
    assert asked(lambda _: refused) is None


def test_what_is_not_committed_is_not_expected_of_anybody(asked: Any) -> None:
    seen = set()
    for base, _, _ in BATCHES[1::7]:
        below = Topics()
        for batch in whole_batches(LOG):
            if batch.end_offset <= base:
                below.feed(batch.values)
        assert asked(Leader(high_watermark=base)) == partitions(below)
        seen.add(len(partitions(below)))
    assert len(seen) > 2


def view(number: int, isr: set[int], leader: int = 2, epoch: int = 3) -> PartitionView:
    return PartitionView(TOPIC, number, leader, epoch, frozenset(isr), frozenset({2, 3}))


BOTH = frozenset({view(0, {2, 3}), view(1, {2, 3})})


@pytest.mark.parametrize(
    ("log", "shown", "missing"),
    [
        (BOTH, (BOTH, BOTH), None),
        (frozenset(), (frozenset(), frozenset()), None),
        (None, (BOTH, BOTH), "c1 did not give the committed log"),
        (BOTH, (BOTH, None), "b2 did not answer"),
        (BOTH, (BOTH, BOTH - {view(1, {2, 3})}), "b2 shows 1 partitions otherwise"),
        # All agree: with an older log, or with one of their own.
        (BOTH, (frozenset(), frozenset()), "b1 shows 2 partitions otherwise"),
        (BOTH, (BOTH | {view(2, {2, 3})},) * 2, "b1 shows 1 partitions otherwise"),
        (BOTH, ({view(0, {2, 3}), view(1, {2, 3}, leader=3)},) * 2, "b1 shows 1 partitions"),
        (BOTH, ({view(0, {2, 3}), view(1, {2, 3}, epoch=2)},) * 2, "b1 shows 1 partitions"),
        (BOTH, ({view(0, {2, 3}), view(1, {2})},) * 2, "b1 shows 1 partitions"),
        (
            frozenset({view(0, {2, 3}), view(1, {2})}),
            (frozenset({view(0, {2, 3}), view(1, {2})}),) * 2,
            "replicas of 1 partitions not in sync",
        ),
    ],
)
def test_what_brokers_show_is_held_against_the_log(
    monkeypatch: pytest.MonkeyPatch, log: Any, shown: Any, missing: str | None
) -> None:
    answers = iter(shown)
    monkeypatch.setattr(system, "committed", lambda *_: log)
    monkeypatch.setattr(states, "topics", lambda *_: next(answers))
    nodes = {f"b{number}": SimpleNamespace(ids={"broker": number + 1}) for number in (1, 2)}
    cluster = SimpleNamespace(seed=1, nodes=nodes, with_role=lambda _: list(nodes))
    monkeypatch.setattr(system.settings, "node_id", lambda spec: spec.ids["broker"])
    found = KafkaSystem()._shown(cast(Cluster, cluster), "c1")
    assert found == missing if missing is None else (found or "").startswith(missing)
