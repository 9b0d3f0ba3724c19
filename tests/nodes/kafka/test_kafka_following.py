"""Reading Apache Kafka's metadata log as brokers read it, from what a controller of 4.2.0 left."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v13 import request as fetch
from kio.schema.fetch.v13 import response as fetched
from kio.schema.fetch_snapshot.v0 import request as snapshot
from kio.schema.fetch_snapshot.v0 import response as given
from kio.schema.types import BrokerId
from kio.static.primitive import i32, i32Timedelta, i64

from framework.generators import op
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Answer, Ok, Refused
from nodes.adapting.metadata_fetch import METADATA_TOPIC
from nodes.kafka.following import NOT_CAUGHT_UP, Follower
from nodes.kafka.states import METADATA_LOG
from nodes.kafka.topics import Topics, whole_batches
from nodes.kafka_files.batches import scan

STORED: Final = Path(__file__).parent / "stored" / "__cluster_metadata-0"
LOG: Final = (STORED / "00000000000000000000.log").read_bytes()
SNAPSHOT: Final = (STORED / "00000000000000000249-0000000001.checkpoint").read_bytes()
SNAPSHOT_END: Final = 249
NO_TIME: Final = i32Timedelta.parse(timedelta())


def batches() -> list[tuple[int, int, bytes]]:
    """(base offset, end offset, bytes) of each."""
    return [
        (each["base_offset"], each["end_offset"], LOG[each["position"] :][: each["size"]])
        for each in scan(LOG).sound.to_pylist()
    ]


BATCHES: Final = batches()
END: Final = BATCHES[-1][1]


@dataclass
class Leader:
    """Answers as the active controller does: from the log, so many batches at a time."""

    high_watermark: int = END
    epoch: int = 1
    at_a_time: int = 20
    snapshot_bytes: int | None = None
    """At a time; None: the log is whole."""
    asked: list[Any] = field(default_factory=list)

    def __call__(self, request: Any) -> Any:
        self.asked.append(request)
        if isinstance(request, snapshot.FetchSnapshotRequest):
            return self._part(request)
        (partition,) = request.topics[0].partitions
        if partition.current_leader_epoch < self.epoch:
            return self.answered(error_code=ErrorCode.fenced_leader_epoch)
        if self.snapshot_bytes is not None and partition.fetch_offset == 0:
            where = fetched.SnapshotId(end_offset=i64(SNAPSHOT_END), epoch=i32(1))
            return self.answered(snapshot_id=where)
        rest = [data for base, _, data in BATCHES if base >= partition.fetch_offset]
        return self.answered(records=b"".join(rest[: self.at_a_time]))

    def answered(self, **fields: Any) -> fetched.FetchResponse:
        partition = fetched.PartitionData(
            partition_index=i32(0),
            high_watermark=i64(self.high_watermark),
            current_leader=fetched.LeaderIdAndEpoch(
                leader_id=BrokerId(1), leader_epoch=i32(self.epoch)
            ),
            aborted_transactions=None,
            **{"error_code": ErrorCode.none, "records": None, **fields},
        )
        topic = fetched.FetchableTopicResponse(topic_id=METADATA_TOPIC, partitions=(partition,))
        return fetched.FetchResponse(
            throttle_time=NO_TIME, error_code=ErrorCode.none, responses=(topic,)
        )

    def _part(self, request: snapshot.FetchSnapshotRequest) -> given.FetchSnapshotResponse:
        (asked,) = request.topics[0].partitions
        assert asked.snapshot_id.end_offset == SNAPSHOT_END
        part = given.PartitionSnapshot(
            index=i32(0),
            error_code=ErrorCode.none,
            snapshot_id=given.SnapshotId(end_offset=i64(SNAPSHOT_END), epoch=i32(1)),
            current_leader=given.LeaderIdAndEpoch(leader_id=BrokerId(1), leader_epoch=i32(1)),
            size=i64(len(SNAPSHOT)),
            position=asked.position,
            unaligned_records=SNAPSHOT[asked.position :][: self.snapshot_bytes],
        )
        topic = given.TopicSnapshot(name=METADATA_LOG, partitions=(part,))
        return given.FetchSnapshotResponse(
            throttle_time=NO_TIME, error_code=ErrorCode.none, topics=(topic,)
        )


def read(follower: Follower, leader: Any, topic: str = "log-0") -> Answer:
    """As the client does it."""
    exchange = follower.exchange()
    response = leader(exchange.request(op("follow", topic)))
    while (further := exchange.then(response)) is not None:
        response = leader(further.request)
    return exchange.answer(op("follow", topic), response)


def up_to(offset: int) -> Topics:
    topics = Topics()
    for batch in whole_batches(b"".join(data for _, end, data in BATCHES if end <= offset)):
        topics.feed(batch.values)
    return topics


def states(answer: Answer) -> Iterator[tuple[int, int, int, list[int]]]:
    assert isinstance(answer, Ok)
    shown: Any = answer.value
    for each in shown["partitions"]:
        yield each["leader"], each["leader_epoch"], each["partition_epoch"], each["isr"]


def test_a_topic_is_as_its_last_records_have_it() -> None:
    """By Kafka's own DumpLogSegments: stored/*.records."""
    answer = read(Follower("c"), Leader())
    assert isinstance(answer, Ok)
    assert answer.ext == {"epoch": 1, "offset": END}
    assert list(states(answer)) == [(4, 3, 9, [4]), (4, 1, 8, [4])]
    assert answer.value["topic_id"] == "3f9425ff-36dd-464d-b5f9-92ab353e6773"
    assert [each["replicas"] for each in answer.value["partitions"]] == [[5, 6, 4], [6, 4, 5]]
    assert [each["eligible"] for each in answer.value["partitions"]] == [[], []]


@pytest.mark.parametrize("topic", ["never-was", "topic-0"])
def test_a_topic_that_is_not_or_no_more_is_null(topic: str) -> None:
    assert read(Follower("c"), Leader(), topic) == Ok(None, {"epoch": 1, "offset": END})


def test_a_name_that_was_created_again_is_the_newer_topic() -> None:
    follower = Follower("c")
    first = read(follower, Leader(high_watermark=SNAPSHOT_END), "topic-4")
    second = read(follower, Leader(), "topic-4")
    assert isinstance(first, Ok)
    assert isinstance(second, Ok)
    assert first.value["topic_id"] != second.value["topic_id"]


def test_nothing_above_the_high_watermark_is_shown() -> None:
    """Leaders give replicas their log to its end, committed or not."""
    for _, end, _ in BATCHES[5:60:9]:
        follower = Follower("c")
        read(follower, Leader(high_watermark=end, at_a_time=len(BATCHES)))
        assert follower.topics == up_to(end)
        assert follower.position == end
    assert up_to(BATCHES[5][1]) != up_to(BATCHES[59][1])


def test_a_read_asks_for_what_is_new_alone() -> None:
    follower, leader = Follower("c"), Leader(high_watermark=SNAPSHOT_END)
    read(follower, leader)
    leader.asked.clear()
    leader.high_watermark = END
    read(follower, leader)
    assert leader.asked[0].topics[0].partitions[0].fetch_offset == SNAPSHOT_END
    assert follower.topics == up_to(END)
    leader.asked.clear()
    read(follower, leader)
    assert len(leader.asked) == 1


@pytest.mark.parametrize("size", [700, 1 << 20], ids=["in parts", "at once"])
def test_a_snapshot_comes_first_where_the_leader_wants_that(size: int) -> None:
    follower, leader = Follower("c"), Leader(snapshot_bytes=size)
    read(follower, leader)
    assert follower.topics == up_to(END)
    kinds = [isinstance(each, snapshot.FetchSnapshotRequest) for each in leader.asked]
    assert sum(kinds) == -(-len(SNAPSHOT) // size)


def test_a_snapshot_that_goes_on_elsewhere_is_none() -> None:
    leader = Leader(snapshot_bytes=700)

    def again(request: Any) -> Any:
        if not isinstance(request, snapshot.FetchSnapshotRequest):
            return leader(request)
        topic = request.topics[0]
        first = replace(topic, partitions=(replace(topic.partitions[0], position=i64(0)),))
        return leader(replace(request, topics=(first,)))

    with pytest.raises(UnexpectedResponse, match="not the next bytes"):
        read(Follower("c"), again)


def test_the_leaders_epoch_is_learned_of_a_refusal() -> None:
    follower, leader = Follower("c"), Leader(epoch=7)
    further = follower.then(leader(follower.request()))
    assert further is not None
    assert not further.elsewhere
    assert isinstance(further.request, fetch.FetchRequest)
    assert further.request.topics[0].partitions[0].current_leader_epoch == 7


@pytest.mark.parametrize("code", [ErrorCode.not_leader_or_follower, ErrorCode.unknown_leader_epoch])
def test_another_controller_is_asked_where_this_one_does_not_lead(code: ErrorCode) -> None:
    follower = Follower("c")
    further = follower.then(Leader(epoch=0).answered(error_code=code))
    assert further is not None
    assert further.elsewhere


def test_a_leader_that_knows_less_than_was_given_is_no_answer() -> None:
    follower = Follower("c")
    read(follower, Leader())
    for known in (-1, SNAPSHOT_END):
        assert read(follower, Leader(high_watermark=known)) == Refused(NOT_CAUGHT_UP)
    assert follower.topics == up_to(END)


def test_a_log_that_diverges_below_what_was_committed_is_no_answer() -> None:
    follower = Follower("c")
    read(follower, Leader())
    diverging = fetched.EpochEndOffset(epoch=i32(1), end_offset=i64(9))
    with pytest.raises(UnexpectedResponse, match="no log goes on"):
        read(follower, lambda _: Leader().answered(diverging_epoch=diverging))


def test_a_request_that_is_refused_as_a_whole() -> None:
    refused = replace(Leader().answered(), error_code=ErrorCode.inconsistent_cluster_id)
    assert read(Follower("c"), lambda _: refused) == Refused("INCONSISTENT_CLUSTER_ID")


def test_what_a_fetch_says_of_who_asks() -> None:
    """A voter's id would count for the high watermark, a replica's would stay among observers."""
    request = Follower("cluster").request()
    assert isinstance(request, fetch.FetchRequest)
    assert request.cluster_id == "cluster"
    assert request.replica_id == -1
