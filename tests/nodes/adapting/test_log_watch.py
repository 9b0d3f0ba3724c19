"""Watching a metadata log, from what a controller of Apache Kafka 4.2.0 left of one."""

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest
from crc32c import crc32c
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v17 import request as fetch
from kio.schema.fetch.v17 import response as fetched
from kio.schema.types import BrokerId
from kio.static.primitive import i32, i32Timedelta, i64

from framework.generators import op
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Answer, Ok, Refused
from nodes.adapting.log_watch import LogWatch
from nodes.adapting.metadata_fetch import METADATA_TOPIC
from nodes.kafka_files.batches import scan
from nodes.kafka_files.records import records

STORED: Final = Path(__file__).parents[1] / "kafka" / "stored" / "__cluster_metadata-0"
LOG: Final = (STORED / "00000000000000000000.log").read_bytes()
BATCHES: Final = scan(LOG).sound.to_pylist()
ROWS: Final = records(scan(LOG)).table.to_pylist()
END: Final = BATCHES[-1]["end_offset"]


def bytes_of(*batches: dict[str, Any]) -> bytes:
    return b"".join(LOG[each["position"] :][: each["size"]] for each in batches)


def response(**fields: Any) -> fetched.FetchResponse:
    given = {"error_code": ErrorCode.none, "records": None, "high_watermark": i64(END), **fields}
    leader = fetched.LeaderIdAndEpoch(leader_id=BrokerId(1), leader_epoch=i32(1))
    log = fetched.PartitionData(
        partition_index=i32(0), current_leader=leader, aborted_transactions=None, **given
    )
    topic = fetched.FetchableTopicResponse(topic_id=METADATA_TOPIC, partitions=(log,))
    return fetched.FetchResponse(
        throttle_time=i32Timedelta.parse(timedelta()),
        error_code=ErrorCode.none,
        responses=(topic,),
    )


def answered(watch: LogWatch, **fields: Any) -> Answer:
    watch.then(response(**fields))
    return watch.answer(op("metadata-log"), response(**fields))


def given(watch: LogWatch, **fields: Any) -> Any:
    found = answered(watch, **fields)
    assert isinstance(found, Ok)
    return found.value


def asked(watch: LogWatch) -> fetch.FetchPartition:
    ((log,),) = (topic.partitions for topic in watch.request().topics)
    return log


def test_records_are_shown_once_by_their_epochs_and_checksums() -> None:
    watch, crcs = LogWatch(-1, "cluster"), list[int]()
    assert watch.request().replica_state.replica_id == -1
    for at in range(0, len(BATCHES), 7):
        part = given(watch, records=bytes_of(*BATCHES[at : at + 7]))
        assert (part["begin"], part["leader_epoch"]) == (len(crcs), 1)
        assert len(part["epochs"]) == len(part["crcs"])
        assert set(part["epochs"]) == {1}
        crcs += part["crcs"]
    assert crcs == [crc32c(row["value"] or b"") for row in ROWS]
    assert (asked(watch).fetch_offset, asked(watch).last_fetched_epoch) == (END, 1)
    assert given(watch)["crcs"] == []


def test_what_is_not_committed_is_not_shown() -> None:
    watch = LogWatch(-1)
    third = BATCHES[2]
    part = given(watch, records=bytes_of(*BATCHES[:5]), high_watermark=i64(third["end_offset"] - 1))
    assert len(part["crcs"]) == third["base_offset"] == asked(watch).fetch_offset


def test_a_batch_that_is_given_whole_again_goes_on_from_where_it_was() -> None:
    long = max(BATCHES, key=lambda each: each["end_offset"] - each["base_offset"])
    assert long["end_offset"] - long["base_offset"] > 1
    watch = LogWatch(-1, position=long["base_offset"] + 1, last_epoch=1)
    part = given(watch, records=bytes_of(long))
    assert part["begin"] == long["base_offset"] + 1
    assert len(part["crcs"]) == long["end_offset"] - part["begin"]


def test_records_that_are_left_out_are_no_answer() -> None:
    with pytest.raises(UnexpectedResponse, match="follows"):
        answered(LogWatch(-1), records=bytes_of(BATCHES[0], BATCHES[2]))


def test_behind_a_snapshot_it_goes_on() -> None:
    watch = LogWatch(-1)
    where = fetched.SnapshotId(end_offset=i64(249), epoch=i32(1))
    part = given(watch, snapshot_id=where)
    assert (part["begin"], part["crcs"]) == (249, [])
    assert (asked(watch).fetch_offset, asked(watch).last_fetched_epoch) == (249, 1)


def test_a_leader_that_says_its_log_is_another_one() -> None:
    watch = LogWatch(-1)
    given(watch, records=bytes_of(*BATCHES[:5]))
    ends = fetched.EpochEndOffset(epoch=i32(0), end_offset=i64(2))
    part = given(watch, diverging_epoch=ends)
    assert (part["diverging"], part["begin"], part["crcs"]) == (2, 2, [])
    assert (asked(watch).fetch_offset, asked(watch).last_fetched_epoch) == (2, 0)


def test_the_leaders_epoch_is_learned_from_refusals() -> None:
    watch = LogWatch(-1)
    refused = response(error_code=ErrorCode.fenced_leader_epoch)
    further = watch.then(refused)
    assert further is not None and further.request == watch.request()
    assert asked(watch).current_leader_epoch == 1
    assert watch.then(refused) is None
    assert watch.answer(op("metadata-log"), refused) == Refused("FENCED_LEADER_EPOCH")


def test_what_is_no_answer() -> None:
    whole = response()
    refused = fetched.FetchResponse(
        throttle_time=whole.throttle_time,
        error_code=ErrorCode.inconsistent_cluster_id,
        responses=(),
    )
    assert LogWatch(-1).answer(op("metadata-log"), refused) == Refused("INCONSISTENT_CLUSTER_ID")
    none = fetched.FetchResponse(
        throttle_time=whole.throttle_time, error_code=ErrorCode.none, responses=()
    )
    with pytest.raises(UnexpectedResponse):
        LogWatch(-1).answer(op("metadata-log"), none)
