"""Who has the metadata log to its end, by an active controller's answer."""

from datetime import UTC, datetime

import pytest
from kio.schema.describe_quorum.v1 import response as described
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId
from kio.static.primitive import i32, i64

from nodes.kafka.states import CAUGHT_UP_MS, PartitionView, followers, out_of_sync

NOW_MS = 1_700_000_000_000


def replica(number: int, end: int, caught_up_ms_ago: int = 0) -> described.ReplicaState:
    return described.ReplicaState(
        replica_id=BrokerId(number),
        log_end_offset=i64(end),
        last_fetch_timestamp=at(NOW_MS),
        last_caught_up_timestamp=at(NOW_MS - caught_up_ms_ago),
    )


def at(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


@pytest.mark.parametrize(
    ("voter", "broker", "lag"),
    [
        (replica(3, 100), replica(4, 100), set()),
        (replica(3, 105), replica(4, 100), set()),
        (replica(3, 99), replica(4, 100), {3}),  # cut off a moment ago
        (replica(3, 100), replica(4, 99), {4}),
        (replica(3, 100, CAUGHT_UP_MS), replica(4, 100), set()),
        (replica(3, 100, CAUGHT_UP_MS + 1), replica(4, 50), {3, 4}),
    ],
)
def test_who_lags(
    voter: described.ReplicaState, broker: described.ReplicaState, lag: set[int]
) -> None:
    """1 leads: of itself it need not say anything."""
    log = described.PartitionData(
        partition_index=i32(0),
        error_code=ErrorCode.none,
        leader_id=BrokerId(1),
        leader_epoch=i32(3),
        high_watermark=i64(100),
        current_voters=(replica(1, 0, 9_000), replica(2, 100), voter),
        observers=(broker,),
    )
    assert followers(log) == ({1, 2, 3, 4}, lag)


def view(isr: set[int], replicas: set[int], leader: int = 1) -> PartitionView:
    return PartitionView(None, 0, leader, 3, frozenset(isr), frozenset(replicas))


@pytest.mark.parametrize(
    ("shown", "behind"),
    [
        ([], 0),
        ([view({1, 2}, {1, 2}), view({3}, {3})], 0),
        ([view({1}, {1, 2}), view({3}, {3})], 1),
        ([view(set(), {1, 2}, leader=-1), view({2}, {2, 3})], 2),
        ([view({2}, {2, 301}), view({1001}, {1001, 1002})], 0),  # of brokers that are none of them
    ],
)
def test_a_cluster_has_settled_when_its_own_replicas_are_in_sync(
    shown: list[PartitionView], behind: int
) -> None:
    assert out_of_sync(shown, {1, 2, 3}) == behind
