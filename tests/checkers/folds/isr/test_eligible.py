"""Eligible leaders of one record beside the state below it (KIP-966)."""

from collections.abc import Sequence
from typing import Any

import pytest

from checkers.folds.isr.eligible import Eligibility
from checkers.folds.replayed.replay import Partition, Replay, Topic
from framework.evidence.changes import PartitionChanged

HEAD: dict[str, Any] = {"node": "c1", "incarnation": "1", "seq": 1, "epoch": 1, "offset": 9}
LEAST = "min.insync.replicas"


def changed(
    isr: Sequence[int], eligible: Sequence[int] | None, leader: int = 4
) -> PartitionChanged:
    return PartitionChanged(
        **HEAD,
        topic_id="i",
        partition=1,
        isr=tuple(isr),
        leader=leader,
        leader_epoch=0,
        partition_epoch=1,
        eligible=None if eligible is None else tuple(eligible),
    )


def partition(isr: Sequence[int], eligible: Sequence[int] | None = ()) -> Partition:
    kept = None if eligible is None else tuple(eligible)
    return Partition((4, 5, 6), tuple(isr), 4, 0, 0, eligible=kept)


def state(own: str | None, of_all: str | None, first: int = 3) -> Replay:
    """Settings of topic t, and of all; its first partition has so many replicas."""
    replay = Replay(topics={"i": Topic("t")})
    for key, value in (((2, "t"), own), ((4, ""), of_all), ((4, "4"), "9"), ((2, "u"), "9")):
        if value is not None:
            replay.configs[key] = {LEAST: value}
    if first:
        replay.partitions["i", 0] = Partition(tuple(range(first)), (), 4, 0, 0)
    return replay


def eligibility(
    isr: Sequence[int],
    eligible: Sequence[int] | None,
    before: Partition | None,
    least: str = "2",
    leader: int = 4,
) -> Eligibility:
    change = changed(isr, eligible, leader)
    return Eligibility.of(state(least, None), change, before, (4, 5, 6))


@pytest.mark.parametrize(
    ("own", "of_all", "first", "least"),
    [
        ("2", "1", 3, 2),
        (None, "1", 3, 1),
        (None, None, 3, None),
        ("-1", "1", 3, None),
        (None, "all", 3, None),
        ("9", None, 3, 3),
        ("9", None, 5, 5),
        ("3", None, 2, 2),
        ("9", None, 0, 4),
    ],
)
def test_how_large_an_isr_has_to_be_the_log_says(
    own: str | None, of_all: str | None, first: int, least: int | None
) -> None:
    """Not more than the topic's first partition has replicas; or this one, where that is new."""
    found = Eligibility.of(state(own, of_all, first), changed([4], []), None, (4, 5, 6, 7))
    assert found.least == least


def test_a_topic_that_is_not_known_has_the_settings_of_all() -> None:
    replay = state("2", "1")
    replay.topics.clear()
    assert Eligibility.of(replay, changed([4], []), None, (4, 5, 6)).least == 1


@pytest.mark.parametrize(
    ("isr", "eligible", "before", "says"),
    [
        ([4, 5], [], partition([4, 5]), False),
        ([4, 5], [], None, False),
        ([4, 5], [], partition([4, 5], None), False),
        ([4, 5], [6], partition([4, 5]), True),
        ([4, 5], [], partition([4], [5]), True),
        ([4], [], partition([4]), True),
    ],
)
def test_it_says_something_where_somebody_is_was_or_should_be(
    isr: list[int], eligible: list[int], before: Partition | None, says: bool
) -> None:
    assert eligibility(isr, eligible, before).says_something is says


@pytest.mark.parametrize(
    ("isr", "eligible", "before", "found"),
    [
        ([4], [5], partition([4, 5]), []),
        ([4], [5, 6], partition([4, 5], [6]), []),
        ([4], None, partition([4, 5], [6]), []),
        ([], [4, 5, 6], partition([4], [5, 6]), []),
        ([4], [9], partition([4, 9]), ["the eligible leaders [9] of replicas [4, 5, 6]"]),
        ([4], [4], partition([4]), ["the eligible leaders [4] beside its ISR [4]"]),
        ([4], [6, 5], partition([4, 5]), ["the eligible leaders [6], which were neither"]),
        ([4], [5], None, ["the eligible leaders [5], which were neither"]),
        (
            [4, 5],
            [6],
            partition([4, 5, 6]),
            ["the eligible leaders [6] beside its ISR [4, 5], where 2 in sync are enough"],
        ),
        ([4, 5], [], partition([4, 5, 6]), []),
    ],
)
def test_what_may_not_be(
    isr: list[int], eligible: list[int] | None, before: Partition | None, found: list[str]
) -> None:
    told = list(eligibility(isr, eligible, before).wrong())
    assert len(told) == len(found)
    assert all(each.startswith(words) for each, words in zip(told, found, strict=True))


def test_of_an_isr_that_may_be_large_enough_nothing_follows() -> None:
    found = Eligibility.of(state(None, None), changed([4], [5]), partition([4, 5, 6]), (4, 5, 6))
    assert (list(found.wrong()), found.dropped(), found.says_something) == ([], frozenset(), True)


@pytest.mark.parametrize(
    ("isr", "eligible", "before", "leader", "dropped"),
    [
        ([4], [], partition([4, 5]), 4, {5}),
        ([4], [], partition([4], [5, 6]), 4, {5, 6}),
        ([4], [5], partition([4, 5], [6]), 4, {6}),
        ([4], [], partition([4, 9]), 4, set()),
        ([4, 5], [], partition([4, 5, 6]), 4, set()),
        ([], [], partition([4]), -1, {4}),
        ([5], [], partition([4], [6]), 5, set()),
        ([6], [], partition([], [5, 6]), 6, {5}),
        ([4], [], None, 4, set()),
        ([4], [], partition([4], None), 4, set()),
    ],
)
def test_who_is_dropped(
    isr: list[int], eligible: list[int], before: Partition | None, leader: int, dropped: set[int]
) -> None:
    """Of replicas that there still are, while the ISR is too small, by a clean election."""
    assert eligibility(isr, eligible, before, leader=leader).dropped() == dropped
