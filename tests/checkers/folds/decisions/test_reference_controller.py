"""What a controller has to make of requests: each rule refuses what it is for, and nothing else."""

from dataclasses import replace

import pytest

from checkers.folds.decisions.reference_controller import (
    IsrRequest,
    against_creation,
    against_deletion,
    against_election,
    against_heartbeat,
    against_isr_change,
    against_placement,
)
from checkers.folds.replayed.replay import Broker, Partition, Replay, Topic
from framework.evidence.changes import PartitionChanged, PartitionCreated

TOPIC = "t-id"
PARTITION = Partition(replicas=(6, 4, 5, 7), isr=(4, 5), leader=4, leader_epoch=3, version=9)
"""Of brokers 4 to 7 the last is fenced; 8 is in service, and of no replica."""


def state() -> Replay:
    made = Replay()
    for broker in (4, 5, 6, 7, 8):
        fenced = broker == 7
        made.brokers[broker] = Broker(
            broker * 10, None, (), None, fenced=fenced, activated=not fenced, leaving=False
        )
    made.topics[TOPIC], made.names["t"] = Topic("t", 1), TOPIC
    made.partitions[TOPIC, 0] = PARTITION
    return made


# --- changes of ISRs ----------------------------------------------------------------------

ASKED = IsrRequest(
    key=(TOPIC, 0),
    broker_id=4,
    broker_epoch=40,
    leader_epoch=3,
    partition_epoch=9,
    isr=(4, 5, 6),
    isr_epochs=(40, 50, 60),
)


@pytest.mark.parametrize(
    "asked",
    [
        ASKED,
        replace(ASKED, isr=(4,), isr_epochs=(40,)),
        replace(ASKED, isr=(6, 4), isr_epochs=(60, 40)),
        replace(ASKED, isr_epochs=()),
        replace(ASKED, isr_epochs=(-1, -1, -1)),
        replace(ASKED, isr_epochs=(-1, 50, -1)),
        replace(ASKED, isr_epochs=(40, 50)),  # of the last one nobody told
        replace(ASKED, isr=None, isr_epochs=()),
        replace(ASKED, broker_epoch=None),
    ],
)
def test_what_a_leader_may_ask_for_is_refused_for_no_reason(asked: IsrRequest) -> None:
    assert against_isr_change(state(), asked) == ""


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (replace(ASKED, key=(TOPIC, 1)), "there is no such partition"),
        (replace(ASKED, key=(TOPIC, 1), broker_id=9), "there is no such partition"),
        (replace(ASKED, broker_id=9), "broker 9 is not registered"),
        (replace(ASKED, broker_epoch=39), "the epoch of broker 4 is 40"),
        (replace(ASKED, broker_epoch=41), "the epoch of broker 4 is 40"),
        (replace(ASKED, broker_id=5, broker_epoch=50), "the leader is 4"),
        (replace(ASKED, broker_id=5, broker_epoch=None), "the leader is 4"),
        (replace(ASKED, leader_epoch=2), "the leader epoch is 3"),
        (replace(ASKED, leader_epoch=4), "the leader epoch is 3"),
        (replace(ASKED, partition_epoch=8), "the version is 9"),
        (replace(ASKED, partition_epoch=10), "the version is 9"),
        (replace(ASKED, partition_epoch=8, isr=None), "the version is 9"),
        (replace(ASKED, isr=(4, 5, 5)), "a member stands twice"),
        (replace(ASKED, isr=(4, 8), isr_epochs=()), "the replicas are [4, 5, 6, 7]"),
        (replace(ASKED, isr=(5, 6), isr_epochs=()), "its leader 4 is not among them"),
        (replace(ASKED, isr=(), isr_epochs=()), "its leader 4 is not among them"),
        (replace(ASKED, isr=(4, 5, 7), isr_epochs=()), "broker 7 is fenced"),
        (replace(ASKED, isr=(7, 4), isr_epochs=(70, 40)), "broker 7 is fenced"),
        (replace(ASKED, isr_epochs=(40, 50, 59)), "the epoch of broker 6 is 60"),
        (replace(ASKED, isr_epochs=(40, 51, 60)), "the epoch of broker 5 is 50"),
        (replace(ASKED, isr_epochs=(0, 50, 60)), "the epoch of broker 4 is 40"),
    ],
)
def test_what_a_leader_may_not_ask_for_is_refused_for_its_reason(
    asked: IsrRequest, why: str
) -> None:
    assert against_isr_change(state(), asked) == why


def test_a_member_that_was_never_registered_is_refused() -> None:
    there = state()
    del there.brokers[6]
    assert against_isr_change(there, ASKED) == "broker 6 is not registered"


# --- heartbeats, topics -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broker", "epoch", "why"),
    [
        (5, 50, ""),
        (7, 70, ""),  # a fenced broker may tell of itself
        (5, 49, "its epoch is 50"),
        (5, 51, "its epoch is 50"),
        (9, 90, "broker 9 is not registered"),
    ],
)
def test_heartbeats_count_under_the_epoch_of_the_registration(
    broker: int, epoch: int, why: str
) -> None:
    assert against_heartbeat(state(), broker, epoch) == why


def test_a_name_is_given_once_and_taken_from_what_has_it() -> None:
    there = state()
    assert against_creation(there, "t") == f"topic {TOPIC} has that name"
    assert against_creation(there, "u") == ""
    assert against_deletion(there, "t") == ""
    assert against_deletion(there, "u") == "no topic has that name"


# --- partitions ---------------------------------------------------------------------------

MADE = PartitionCreated(
    node="c1",
    offset=9,
    epoch=1,
    topic_id=TOPIC,
    partition=1,
    replicas=(6, 4, 5),
    isr=(4, 5, 6),
    leader=6,
    leader_epoch=0,
    partition_epoch=0,
)


@pytest.mark.parametrize(
    ("made", "leaving", "why"),
    [
        (MADE, (), ""),
        (replace(MADE, leader=4), (), ""),
        (replace(MADE, replicas=(4, 5, 7), isr=(4, 5), leader=4), (), ""),
        (replace(MADE, isr=(4, 5), leader=4), (6,), ""),
        (replace(MADE, replicas=(7,), isr=(7,), leader=-1), (), ""),
        (replace(MADE, replicas=(6,), isr=(6,), leader=-1), (6,), ""),
        (replace(MADE, replicas=(6,), isr=(), leader=-1), (6,), ""),
        (replace(MADE, replicas=(4, 4)), (), "has a replica twice: [4, 4]"),
        (replace(MADE, replicas=(9, 4, 3)), (), "is given to [3, 9], not registered"),
        (
            replace(MADE, isr=(5,), leader=5),
            (),
            "leaves [4, 6], in service, out of the ISR [5]",
        ),
        (
            replace(MADE, isr=(5,), leader=5),
            (4,),
            "leaves [6], in service, out of the ISR [5]",
        ),
        (replace(MADE, leader=-1), (), "is led by nobody though [4, 5, 6] can"),
        (replace(MADE, leader=-1), (5,), "is led by nobody though [4, 6] can"),
        (
            replace(MADE, isr=(4, 5), leader=-1),
            (6,),
            "is led by nobody though [4, 5] can",
        ),
        (
            replace(MADE, replicas=(4, 5, 7), isr=(5, 4), leader=7),
            (),
            "is led by 7, not of its ISR [4, 5]",
        ),
    ],
)
def test_new_partitions_have_all_in_service_in_sync_and_one_of_them_leads(
    made: PartitionCreated, leaving: tuple[int, ...], why: str
) -> None:
    assert against_placement(state(), made, leaving) == why


AFTER = PartitionChanged(
    node="c1",
    offset=9,
    epoch=1,
    topic_id=TOPIC,
    partition=0,
    isr=(5,),
    leader=5,
    leader_epoch=4,
    partition_epoch=10,
)


@pytest.mark.parametrize(
    ("before", "after", "leaving", "why"),
    [
        (PARTITION, AFTER, (), ""),
        (PARTITION, AFTER, (5,), ""),  # who may leave may still be there
        (PARTITION, replace(AFTER, isr=(4, 5), leader=-1), (4, 5), ""),
        (PARTITION, replace(AFTER, isr=(7,), leader=-1), (), ""),
        (replace(PARTITION, isr=()), replace(AFTER, isr=(6,), leader=6), (), ""),
        (
            PARTITION,
            replace(AFTER, isr=(5, 4, 7), leader=-1),
            (),
            "leaves nobody to lead though [4, 5] can",
        ),
        (
            PARTITION,
            replace(AFTER, isr=(4, 5), leader=-1),
            (4,),
            "leaves nobody to lead though [5] can",
        ),
        (
            replace(PARTITION, isr=(5, 4)),
            replace(AFTER, isr=(6,), leader=6),
            (),
            "makes 6 its leader, who was not of the ISR [4, 5]",
        ),
        (
            replace(PARTITION, isr=(4, 7)),
            replace(AFTER, isr=(7,), leader=7),
            (),
            "makes 7 its leader, who is not in service",
        ),
        (
            replace(PARTITION, isr=()),
            replace(AFTER, isr=(9,), leader=9),
            (),
            "makes 9 its leader, who is not in service",
        ),
    ],
)
def test_leaders_are_elected_from_the_isr_and_in_service(
    before: Partition, after: PartitionChanged, leaving: tuple[int, ...], why: str
) -> None:
    assert against_election(state(), before, after, leaving) == why
