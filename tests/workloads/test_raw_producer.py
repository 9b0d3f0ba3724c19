"""The producer in our own codec: a broker on loopback that leads, coordinates, and answers as each
test says."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kio.records.readers import read_batch
from kio.schema.add_offsets_to_txn.v3 import AddOffsetsToTxnResponse
from kio.schema.add_partitions_to_txn.v3 import response as added
from kio.schema.api_versions.v3 import response as versions
from kio.schema.end_txn.v3 import EndTxnResponse as EndTxnResponseV3
from kio.schema.end_txn.v5 import EndTxnResponse as EndTxnResponseV5
from kio.schema.errors import ErrorCode
from kio.schema.find_coordinator.v3.response import FindCoordinatorResponse
from kio.schema.init_producer_id.v4 import InitProducerIdResponse
from kio.schema.metadata.v12 import response as metadata
from kio.schema.produce.v9 import response as produced_v9
from kio.schema.produce.v12 import response as produced_v12
from kio.schema.txn_offset_commit.v3 import response as offsets_v3
from kio.schema.txn_offset_commit.v5 import response as offsets_v5
from kio.schema.types import BrokerId, ProducerId, TopicName
from kio.static.primitive import i16, i32, i64
from loopback_server import CLOSE, LoopbackServer

from framework.plugins.system import NodeSpec
from framework.testing.loopback import cluster_of
from nodes.kraft.adapter.system import KraftSystem
from nodes.kraft.controller.answers import NO_THROTTLE, blank
from workloads.kafka import raw_producer
from workloads.kafka.member_process import MemberFailed, MemberProcess
from workloads.kafka.producing import ProducerFailed, Reader
from workloads.kafka.raw_producer import Brokers, RawProducer
from workloads.kafka.relay import Relay

ID, BROKER = 77, 4
OLD, NEW = 1, 2
READER = Reader("readers", None)
STEP_S = 5.0
SHORT_S = 0.4
PRODUCED = {9: produced_v9, 12: produced_v12}
OFFSETS = {3: offsets_v3, 5: offsets_v5}


class Broker:
    """The only one. `level`: of `transaction.version`, which its first `unknown` answers do not
    know yet; None: it has no such feature. `codes`: of requests, by the name of their
    type, the codes of their answers in turn, or CLOSE; a request that is not answered was done."""

    def __init__(self, level: int | None, unknown: int) -> None:
        self.level, self.unknown = level, unknown
        self.codes: dict[str, list[Any]] = {}
        self.seen: list[Any] = []
        self.epoch, self.offset = -1, 10

    def __call__(self, request: Any) -> Any:
        kind = type(request).__name__
        self.seen.append(request)
        code = self.codes[kind].pop(0) if self.codes.get(kind) else ErrorCode.none
        answer = getattr(self, kind)(request, ErrorCode.none if code is CLOSE else code)
        return CLOSE if code is CLOSE else answer

    def ApiVersionsRequest(self, request: Any, code: ErrorCode) -> Any:
        if self.unknown > 0:
            self.unknown -= 1
            return blank(versions.ApiVersionsResponse, error_code=code)
        return blank(
            versions.ApiVersionsResponse,
            error_code=code,
            finalized_features_epoch=i64(1),
            finalized_features=tuple(
                versions.FinalizedFeatureKey(
                    name=name, max_version_level=i16(level), min_version_level=i16(level)
                )
                for name, level in (("metadata.version", 20), ("transaction.version", self.level))
                if level is not None
            ),
        )

    def FindCoordinatorRequest(self, request: Any, code: ErrorCode) -> Any:
        return blank(FindCoordinatorResponse, error_code=code, node_id=BrokerId(BROKER))

    def MetadataRequest(self, request: Any, code: ErrorCode) -> Any:
        partitions = tuple(
            blank(
                metadata.MetadataResponsePartition,
                partition_index=i32(number),
                leader_id=BrokerId(BROKER),
            )
            for number in (0, 1)
        )
        topic = blank(metadata.MetadataResponseTopic, name=TopicName("t"), partitions=partitions)
        return blank(metadata.MetadataResponse, topics=(topic,))

    def InitProducerIdRequest(self, request: Any, code: ErrorCode) -> Any:
        self.epoch += code == ErrorCode.none
        return InitProducerIdResponse(
            throttle_time=NO_THROTTLE,
            error_code=code,
            producer_id=ProducerId(ID),
            producer_epoch=i16(self.epoch),
        )

    def AddPartitionsToTxnRequest(self, request: Any, code: ErrorCode) -> Any:
        result = added.AddPartitionsToTxnPartitionResult(
            partition_index=i32(0), partition_error_code=code
        )
        topic = added.AddPartitionsToTxnTopicResult(
            name=TopicName("t"), results_by_partition=(result,)
        )
        return added.AddPartitionsToTxnResponse(
            throttle_time=NO_THROTTLE, results_by_topic_v3_and_below=(topic,)
        )

    def AddOffsetsToTxnRequest(self, request: Any, code: ErrorCode) -> Any:
        return AddOffsetsToTxnResponse(throttle_time=NO_THROTTLE, error_code=code)

    def ProduceRequest(self, request: Any, code: ErrorCode) -> Any:
        schema: Any = PRODUCED[request.__version__]
        self.offset += code == ErrorCode.none
        partition = blank(
            schema.PartitionProduceResponse,
            index=request.topic_data[0].partition_data[0].index,
            error_code=code,
            base_offset=i64(self.offset),
        )
        topic = blank(
            schema.TopicProduceResponse, name=TopicName("t"), partition_responses=(partition,)
        )
        return blank(schema.ProduceResponse, responses=(topic,))

    def TxnOffsetCommitRequest(self, request: Any, code: ErrorCode) -> Any:
        schema: Any = OFFSETS[request.__version__]
        partition = schema.TxnOffsetCommitResponsePartition(partition_index=i32(0), error_code=code)
        topic = schema.TxnOffsetCommitResponseTopic(name=TopicName("t"), partitions=(partition,))
        return schema.TxnOffsetCommitResponse(throttle_time=NO_THROTTLE, topics=(topic,))

    def EndTxnRequest(self, request: Any, code: ErrorCode) -> Any:
        if request.__version__ == 3:
            return EndTxnResponseV3(throttle_time=NO_THROTTLE, error_code=code)
        # As TransactionCoordinator does: to who asks again it gives the same epoch again.
        self.epoch = max(self.epoch, request.producer_epoch + 1)
        return EndTxnResponseV5(
            throttle_time=NO_THROTTLE,
            error_code=code,
            producer_id=ProducerId(ID),
            producer_epoch=i16(self.epoch),
        )

    def asked(self) -> list[tuple[str, int]]:
        """(request, version) of what belongs to transactions."""
        lookups = ("ApiVersions", "FindCoordinator", "Metadata", "InitProducerId")
        named = [(type(each).__name__.removesuffix("Request"), each) for each in self.seen]
        return [(name, int(each.__version__)) for name, each in named if name not in lookups]

    def of(self, name: str) -> list[Any]:
        return [each for each in self.seen if type(each).__name__ == f"{name}Request"]

    def batches(self) -> list[tuple[int, int, int]]:
        """(partition, epoch, sequence) of what was produced, each transactional."""
        found = []
        for request in self.of("Produce"):
            data = request.topic_data[0].partition_data[0]
            batch, _ = read_batch(data.records, 0)
            assert (batch.producer_id, batch.attributes) == (ID, 0x10)
            found.append((int(data.index), int(batch.producer_epoch), int(batch.base_sequence)))
        return found


Made = Callable[..., tuple[Broker, RawProducer]]


@pytest.fixture
def made() -> Iterator[Made]:
    """A broker, and an initialised producer that is its client."""
    servers: list[LoopbackServer] = []

    def make_one(
        level: int | None, unknown: int = 0, **codes: list[Any]
    ) -> tuple[Broker, RawProducer]:
        broker = Broker(level, unknown)
        broker.codes = {f"{name}Request": each for name, each in codes.items()}
        servers.append(LoopbackServer(broker))
        brokers = Brokers({BROKER: f"127.0.0.1:{servers[-1].port}"})
        return broker, raw_producer.initialized(brokers, "one", STEP_S)

    yield make_one
    for server in servers:
        server.stop()


def transaction(producer: RawProducer, *keys: str) -> list[int]:
    """The offsets of what it sent."""
    producer.begin()
    return [producer.send(key, number, STEP_S) for number, key in enumerate(keys)]


# --- the two protocols --------------------------------------------------------------------


def test_with_kip_890_to_send_adds_and_each_transaction_has_an_epoch(made: Made) -> None:
    broker, producer = made(NEW)
    assert transaction(producer, "t/0", "t/1", "t/0") == [11, 12, 13]
    producer.send_offsets({"t/0": 5, "t/1": 6}, READER, STEP_S)
    producer.commit(STEP_S)
    transaction(producer, "t/0")
    producer.abort(STEP_S)
    transaction(producer, "t/0")
    produce, offsets, end = ("Produce", 12), ("TxnOffsetCommit", 5), ("EndTxn", 5)
    assert broker.asked() == [*[produce] * 3, offsets, end, produce, end, produce]
    assert broker.batches() == [(0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0), (0, 2, 0)]
    ends = [(each.producer_epoch, each.committed) for each in broker.of("EndTxn")]
    assert ends == [(0, True), (1, False)]
    assert len(broker.of("InitProducerId")) == 1


def test_before_it_they_are_added_first_and_the_epoch_stays(made: Made) -> None:
    broker, producer = made(OLD)
    transaction(producer, "t/0", "t/1", "t/0")
    producer.send_offsets({"t/0": 5}, READER, STEP_S)
    producer.commit(STEP_S)
    transaction(producer, "t/0")
    producer.abort(STEP_S)
    add, produce, end = ("AddPartitionsToTxn", 3), ("Produce", 9), ("EndTxn", 3)
    offsets = [("AddOffsetsToTxn", 3), ("TxnOffsetCommit", 3)]
    first = [add, produce, add, produce, produce, *offsets, end]
    assert broker.asked() == [*first, add, produce, end]
    assert broker.batches() == [(0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 0, 2)]
    assert len(broker.of("InitProducerId")) == 1


@pytest.mark.parametrize("level", [OLD, NEW])
def test_what_was_read_is_committed_by_its_partitions(made: Made, level: int) -> None:
    broker, producer = made(level)
    producer.begin()
    producer.send_offsets({"t/1": 6, "u/0": 7, "t/0": 5}, READER, STEP_S)
    (asked,) = broker.of("TxnOffsetCommit")
    assert (asked.group_id, asked.transactional_id) == ("readers", "one")
    assert (asked.generation_id, asked.member_id) == (-1, "")
    assert [
        (topic.name, [(each.partition_index, each.committed_offset) for each in topic.partitions])
        for topic in asked.topics
    ] == [("t", [(0, 5), (1, 6)]), ("u", [(0, 7)])]


def test_a_broker_that_does_not_know_yet_what_is_final_is_asked_again(made: Made) -> None:
    broker, producer = made(NEW, unknown=2)
    transaction(producer, "t/0")
    assert broker.asked() == [("Produce", 12)] and len(broker.of("ApiVersions")) == 3


def test_a_release_that_does_not_have_the_feature_is_of_before(made: Made) -> None:
    broker, producer = made(None)
    transaction(producer, "t/0")
    assert broker.asked() == [("AddPartitionsToTxn", 3), ("Produce", 9)]


@pytest.mark.parametrize("level", [OLD, NEW])
def test_who_sent_nothing_has_nothing_to_end(made: Made, level: int) -> None:
    broker, producer = made(level)
    for end in (producer.commit, producer.abort):
        producer.begin()
        end(STEP_S)
    assert broker.asked() == []


# --- what goes wrong ----------------------------------------------------------------------


@pytest.mark.parametrize("level", [OLD, NEW])
@pytest.mark.parametrize(
    "code", [CLOSE, ErrorCode.not_leader_or_follower, ErrorCode.concurrent_transactions]
)
def test_a_record_is_sent_again_as_the_same(made: Made, level: int, code: Any) -> None:
    broker, producer = made(level, Produce=[code, code])
    transaction(producer, "t/0", "t/0")
    producer.commit(STEP_S)
    assert broker.batches() == [(0, 0, 0)] * 3 + [(0, 0, 1)]
    assert len(broker.of("Metadata")) == 3, "who leads is asked anew"


@pytest.mark.parametrize(
    "code",
    [CLOSE, ErrorCode.not_coordinator, ErrorCode.coordinator_load_in_progress],
)
def test_the_end_is_asked_for_again_in_the_same_epoch(made: Made, code: Any) -> None:
    broker, producer = made(NEW, EndTxn=[code, code])
    transaction(producer, "t/0")
    producer.commit(STEP_S)
    assert [each.producer_epoch for each in broker.of("EndTxn")] == [0, 0, 0]
    assert len(broker.of("FindCoordinator")) == 3, "who coordinates is asked anew"
    transaction(producer, "t/0")
    assert broker.batches()[-1] == (0, 1, 0)


@pytest.mark.parametrize("request_", ["Produce", "TxnOffsetCommit", "EndTxn"])
def test_what_is_refused_for_good_is_not_asked_again(made: Made, request_: str) -> None:
    broker, producer = made(NEW, **{request_: [ErrorCode.invalid_producer_epoch]})
    with pytest.raises(ProducerFailed) as failed:
        transaction(producer, "t/0")
        producer.send_offsets({"t/0": 1}, READER, STEP_S)
        producer.commit(STEP_S)
    assert failed.value.code == "INVALID_PRODUCER_EPOCH"
    assert len(broker.of(request_)) == 1


def test_adding_may_be_refused_as_well(made: Made) -> None:
    for request in ("AddPartitionsToTxn", "AddOffsetsToTxn"):
        broker, producer = made(OLD, **{request: [ErrorCode.producer_fenced]})
        with pytest.raises(ProducerFailed) as failed:
            transaction(producer, "t/0")
            producer.send_offsets({"t/0": 1}, READER, STEP_S)
        assert failed.value.code == "PRODUCER_FENCED"
        assert not broker.of("TxnOffsetCommit")


def test_who_gets_no_answer_says_so_in_time(made: Made) -> None:
    broker, producer = made(NEW, EndTxn=[CLOSE] * 1000)
    transaction(producer, "t/0")
    began_s = time.monotonic()
    with pytest.raises(ProducerFailed) as failed:
        producer.commit(SHORT_S)
    assert failed.value.code in ("CONNECTION_LOST", "CONNECTION_FAILED"), "no time to connect"
    assert len(broker.of("EndTxn")) > 1
    assert SHORT_S <= time.monotonic() - began_s < STEP_S


@pytest.mark.parametrize(("level", "initialised"), [(OLD, 2), (NEW, 1)])
def test_a_number_that_may_be_used_is_of_an_epoch_that_is_over(
    made: Made, level: int, initialised: int
) -> None:
    broker, producer = made(level, Produce=[ErrorCode.request_timed_out] * 1000)
    producer.begin()
    with pytest.raises(ProducerFailed):
        producer.send("t/0", 1, SHORT_S)
    broker.codes.clear()
    producer.abort(STEP_S)
    asked = broker.of("InitProducerId")
    assert len(asked) == initialised
    assert (asked[-1].producer_id, asked[-1].producer_epoch) == (
        (ID, 0) if level == OLD else (-1, -1)
    )
    transaction(producer, "t/0")
    assert broker.batches()[-1] == (0, 1, 0)


def test_a_new_producer_waits_until_what_its_forerunner_left_is_over(made: Made) -> None:
    broker, _ = made(NEW, InitProducerId=[ErrorCode.concurrent_transactions] * 2)
    assert len(broker.of("InitProducerId")) == 3


# --- the program --------------------------------------------------------------------------


def test_the_program_produces_from_a_network_of_its_own() -> None:
    broker, node = Broker(NEW, unknown=0), "10.87.0.21"
    spec = NodeSpec(name=node, roles=frozenset({"broker"}), ports={"client": 9092})
    with LoopbackServer(broker) as server:
        relay = Relay(cluster_of({node: server}, [spec], KraftSystem()))
        delay = {"share": 0.0, "seconds": 0.0, "seed": 0}
        told = {"id": "one", "producer": "raw", "ids": [BROKER], "brokers": relay.brokers}
        process = MemberProcess(
            "one", "workloads.kafka.transactor", {**told, "relay": relay.url, "delay": delay}
        )
        try:
            sends = [["send", "t/0", 1], ["send", "t/1", 2]]
            done = process.ask("txn", operations=sends, end="commit")
            broker.codes["EndTxnRequest"] = [ErrorCode.producer_fenced]
            with pytest.raises(MemberFailed) as committed:
                process.ask("txn", operations=sends, end="commit")
            broker.codes["ProduceRequest"] = [ErrorCode.producer_fenced]
            with pytest.raises(MemberFailed) as sent:
                process.ask("txn", operations=sends, end="commit")
        finally:
            process.kill()
            relay.close()
    assert done == [["send", "t/0", [11, 1]], ["send", "t/1", [12, 2]]]
    assert (committed.value.code, committed.value.sent) == ("PRODUCER_FENCED", True)
    assert (sent.value.code, sent.value.sent) == ("PRODUCER_FENCED", False)
    assert len(broker.of("InitProducerId")) == 2, "who failed to commit is given up"
