"""What a log made true, and at which of its points."""

from typing import Any

import pytest

from checkers.folds.metadata_log.log_points import NEVER_AGAIN, LogPoints, Spans
from framework.evidence.changes import (
    BrokerFenced,
    BrokerRegistered,
    BrokerUnfenced,
    BrokerUnregistered,
    Change,
    FeatureSet,
    PartitionChanged,
    PartitionCreated,
    TopicCreated,
    TopicDeletionBegun,
    TopicRemoved,
)

A, B = "id-a", "id-b"


def log(*records: tuple[type[Change], dict[str, Any]]) -> LogPoints:
    return LogPoints.of(
        kind(
            node="c1",
            incarnation="1",
            seq=offset,
            within_ns=0,
            ref="r",
            offset=offset,
            epoch=1,
            **fields,
        )
        for offset, (kind, fields) in enumerate(records)
    )


def state(leader: int = 4, isr: tuple[int, ...] = (4, 5), **more: Any) -> dict[str, Any]:
    fixed = {"topic_id": A, "partition": 0, "leader_epoch": 0, "partition_epoch": 0}
    return {**fixed, "leader": leader, "isr": isr, **more}


def shown(leader: int = 4, isr: tuple[int, ...] = (4, 5), **more: Any) -> dict[str, Any]:
    return {"partition": 0, "leader": leader, "leader_epoch": 0, "isr": list(isr), **more}


LOG = log(
    (FeatureSet, {"name": "f", "level": 1}),
    (TopicCreated, {"name": "t", "topic_id": A}),  # from point 2 on
    (PartitionCreated, state(replicas=(5, 4))),
    (PartitionChanged, state(isr=(4,))),
    (PartitionChanged, state()),
    (TopicDeletionBegun, {"name": "t", "topic_id": A}),  # 6
    (FeatureSet, {"name": "f", "level": 2}),
    (TopicRemoved, {"topic_id": A}),  # 8
    (TopicCreated, {"name": "t", "topic_id": B}),  # 9
    (TopicRemoved, {"topic_id": "id-of-nobody"}),
    (TopicDeletionBegun, {"name": "t", "topic_id": "id-of-nobody"}),
)


def true(spans: Spans, to: int = 13) -> set[int]:
    """The points below `to` at which it is, asked of each."""
    return {point for point in range(to) if spans.first(point) == point}


def test_a_topic_is_there_from_its_record_on_until_it_is_removed() -> None:
    assert true(LOG.topic("t", A)) == {2, 3, 4, 5, 6, 7}
    assert true(LOG.topic("t", B)) == {9, 10, 11, 12}
    assert LOG.topic("t", B).first(0) == 9
    assert LOG.topic("t", A).first(8) is None
    assert LOG.topic("u", A).first(0) is None
    assert LOG.topic("t", B).first(NEVER_AGAIN - 1) == NEVER_AGAIN - 1


def test_a_topic_has_the_partitions_that_were_made() -> None:
    """Until it is removed; of whom nobody made there are none at any time, nor of a stranger's."""
    assert true(LOG.partitions(A, set())) == {2}
    assert true(LOG.partitions(A, {0})) == {3, 4, 5, 6, 7}
    assert true(LOG.partitions(A, {1})) == set()
    assert true(LOG.partitions(B, set())) == {9, 10, 11, 12}
    assert true(LOG.partitions("id-of-nobody", set())) == set()
    more = log(
        (TopicCreated, {"name": "t", "topic_id": A}),
        (PartitionCreated, state(replicas=(5, 4), partition=1)),
        (PartitionCreated, state(replicas=(5, 4), topic_id="id-of-nobody")),
        (PartitionCreated, state(replicas=(5, 4))),
        (PartitionChanged, state(isr=(4,))),
    )
    assert true(more.partitions(A, {1}), 7) == {2, 3}
    assert true(more.partitions(A, {0, 1}), 7) == {4, 5, 6}
    assert true(more.partitions(A, {0}), 7) == set()
    assert more.partitions(A, {0, 1}) == Spans([4], [NEVER_AGAIN]), "a change makes none"


def test_one_that_is_about_to_go_may_be_shown_or_not() -> None:
    assert true(LOG.absent("t")) == {0, 1, 6, 7, 8}
    assert true(LOG.absent("u")) == set(range(13))


def test_without_a_word_of_its_deletion_it_is_there_until_it_is_removed() -> None:
    points = log(
        (TopicCreated, {"name": "t", "topic_id": A}),
        (PartitionCreated, state(replicas=(4, 5))),
        (TopicRemoved, {"topic_id": A}),
    )
    assert true(points.absent("t"), 5) == {0, 3, 4}
    assert (points.lives[A].created, points.lives[A].going) == (1, 3)
    assert true(points.state(A, shown()), 5) == {2}


@pytest.mark.parametrize(
    ("answer", "points"),
    [
        (shown(), {3, 5, 6, 7}),
        (shown(isr=(5, 4)), {3, 5, 6, 7}),
        (shown(replicas=[4, 5]), {3, 5, 6, 7}),
        (shown(isr=(4,), replicas=[5, 4]), {4}),
        (shown(leader=-1, isr=(4,)), {4}),
        (shown(leader=5), set()),
        (shown(leader_epoch=1), set()),
        (shown(isr=(5,)), set()),
        (shown(replicas=[4, 6]), set()),
        (shown(partition=1), set()),
    ],
)
def test_a_partition_is_as_it_is_shown(answer: dict[str, Any], points: set[int]) -> None:
    assert true(LOG.state(A, answer)) == points


def test_replicas_may_be_others_and_of_what_nobody_made_they_are_none() -> None:
    points = log(
        (TopicCreated, {"name": "t", "topic_id": A}),
        (PartitionCreated, state(replicas=(4, 5))),
        (PartitionCreated, state(replicas=(4, 6))),
        (PartitionChanged, state()),
        (PartitionChanged, state(topic_id=B)),
    )
    assert true(points.state(A, shown(replicas=[4, 5])), 6) == {2}
    assert true(points.state(A, shown(replicas=[6, 4])), 6) == {3, 4, 5}
    assert true(points.state(B, shown(replicas=[])), 6) == {5}
    assert points.state("id-of-nobody", shown()).first(0) is None


def broker(kind: type[Change], epoch: int = 7, number: int = 4) -> tuple[type[Change], Any]:
    return kind, {"broker_id": number, "broker_epoch": epoch}


def test_a_broker_is_in_service_where_it_is_registered_and_not_fenced() -> None:
    points = log(
        broker(BrokerRegistered),
        broker(BrokerUnfenced),  # 2
        broker(BrokerFenced),
        broker(BrokerRegistered, number=5),
        broker(BrokerUnfenced),  # 5
        broker(BrokerRegistered, epoch=9),
        broker(BrokerUnfenced, epoch=9),  # 7
        broker(BrokerRegistered, epoch=9),  # amended
        broker(BrokerUnregistered, epoch=9),
        broker(BrokerRegistered, epoch=11),
        broker(BrokerUnfenced, epoch=11),  # 11
    )
    assert true(points.in_service(4)) == {2, 5, 7, 8, 11, 12}
    assert true(points.in_service(4).others) == {0, 1, 3, 4, 6, 9, 10}
    assert points.in_service(4).first(NEVER_AGAIN - 1) == NEVER_AGAIN - 1
    assert points.in_service(4).others.first(11) is None
    for fenced in (5, 6):
        assert true(points.in_service(fenced)) == set()
        assert true(points.in_service(fenced).others) == set(range(13))
