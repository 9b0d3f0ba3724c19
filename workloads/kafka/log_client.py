"""The client of the `log` workload: produces to and fetches from whoever leads a partition.

What a real client does within one operation is done here, too: leaders are looked up and looked
up again, and an idempotent producer sends the same batch, under the same sequence number, until
it knows what became of it, and tells in `ext` what these were. A producer that is not idempotent
sends once. Records that are to be deleted up to an offset may be deleted twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import tenacity
from kio.schema.delete_records.v2.response import DeleteRecordsResponse
from kio.schema.describe_producers.v0.response import DescribeProducersResponse
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v12.response import FetchResponse
from kio.schema.init_producer_id.v4.response import InitProducerIdResponse
from kio.schema.list_offsets.v7.response import ListOffsetsResponse
from kio.schema.produce.v9.response import ProduceResponse
from kio.static.protocol import RequestPayload

from framework.history.event import Completion, Invocation
from framework.plugins import outcomes
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Failure, Ok, Refused, completion
from framework.plugins.system import Cluster
from workloads.kafka.batches import NO_PRODUCER, one_value
from workloads.kafka.broker_client import BrokerClient
from workloads.kafka.client import KafkaClient, connections
from workloads.kafka.codec import Codec, expected
from workloads.kafka.connection import Breakdown, Connection, no_answer
from workloads.kafka.leaders import Leader, Leaders, NoAnswer
from workloads.kafka.log_messages import (
    delete_records_answer,
    delete_records_request,
    fetch_answer,
    fetch_request,
    list_offsets_answer,
    list_offsets_request,
    produce_answer,
    produce_request,
    producer_id_request,
    replica_fetch_answer,
    replica_fetch_request,
)
from workloads.kafka.messages import name_of
from workloads.kafka.operations.partitions import DeleteRecords, Produce
from workloads.kafka.operations.topics import CreateTopic
from workloads.kafka.report_messages import producers_answer, producers_request
from workloads.kafka.roles import BROKER
from workloads.kafka.system import ExtraBroker, system_of

OF_LEADERS: Final = ("produce", "fetch", "list-offsets", "delete-records", "producers")
"""Operations that are for whoever leads a partition."""
OF_REPLICA: Final = "replica-fetch"
SEARCH_S: Final = 3.0
"""No new attempt later than this after the operation began."""
ATTEMPT_S: Final = 2.0
PAUSE_S: Final = 0.05
NO_ACKNOWLEDGEMENT: Final = "NO_ACKNOWLEDGEMENT"
"""A produce with acks=0, which nobody answers."""

CURABLE: Final = {
    outcomes.CONNECTION_FAILED,
    outcomes.CONNECTION_LOST,
    outcomes.CLIENT_TIMED_OUT,
    *map(
        name_of,
        (
            ErrorCode.unknown_topic_or_partition,
            ErrorCode.leader_not_available,
            ErrorCode.not_leader_or_follower,
            ErrorCode.request_timed_out,
            ErrorCode.fenced_leader_epoch,
            ErrorCode.unknown_leader_epoch,
            ErrorCode.offset_not_available,
            ErrorCode.not_enough_replicas_after_append,
        ),
    ),
}
"""What newer metadata, or a moment, may cure."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt of an operation; `again`: another may have a better result."""

    result: Ok | Failure
    node: str | None
    again: bool = False


@dataclass(slots=True)
class Memory:
    """What the attempts of one operation have in common. `sent_as`: of an idempotent producer's
    batch, its id, its epoch and the sequence number. `unknown`: one of them may have taken
    effect."""

    batch: bytes | None = None
    sent_as: tuple[int, int, int] | None = None
    unknown: bool = False


@dataclass(slots=True)
class Producer:
    """An idempotent producer: (id, epoch), and the next sequence number of each partition."""

    identity: tuple[int, int]
    sequences: dict[str, int]


class LogClient:
    """One process's producer and consumers. Implements the engine's `Client`."""

    def __init__(
        self,
        cluster: Cluster,
        thread: int,
        started: Callable[[Invocation], None] = lambda _: None,
        extra: Mapping[int, ExtraBroker] | None = None,
    ) -> None:
        """`extra`: brokers that are none of the plan's, by their ids. They may lead partitions, and
        are asked nothing else."""
        self._topics = KafkaClient(cluster, thread, started)
        self._dialect = system_of(cluster).dialect()
        brokers = connections(cluster, BROKER, f"log-{thread}", Codec())
        self._any = BrokerClient(brokers, thread)
        self._brokers = dict(brokers)
        names = {cluster.nodes[node].ids[BROKER]: node for node in cluster.with_role(BROKER)}
        self._leaders = Leaders(self._any, names)
        self._ids = sorted(names)
        for number, broker in (extra or {}).items():
            names[number] = broker.process
            self._brokers[broker.process] = Connection(
                broker.connect, f"log-{thread}", Codec(), negotiates=True
            )
        self._producer: Producer | None = None

    def invoke(self, invocation: Invocation) -> Completion:
        """The completion, within about 5 s."""
        if invocation.f == "seek":
            return invocation.completed("ok", invocation.value)
        if invocation.f == "create":
            return self._topics.invoke(
                replace(invocation, value=self._placed(invocation).to_json())
            )
        if invocation.f == OF_REPLICA:
            return self._of_replica(invocation)
        if invocation.f not in OF_LEADERS:
            return self._topics.invoke(invocation)
        retrying = tenacity.Retrying(
            retry=tenacity.retry_if_result(lambda attempt: attempt.again),
            stop=tenacity.stop_after_delay(SEARCH_S),
            wait=tenacity.wait_fixed(PAUSE_S),
            retry_error_callback=lambda state: state.outcome and state.outcome.result(),
        )
        memory = Memory()
        last: Attempt = retrying(self._attempt, invocation, memory)
        result = last.result
        if isinstance(result, Failure) and memory.unknown:
            # An earlier attempt may have taken effect, whatever the last one was answered.
            result = Failure("info", result.error)
        if invocation.f == "produce":
            self._settle(invocation, result)
        done = completion(invocation, result, last.node)
        if memory.sent_as is None:
            return done
        return replace(done, ext={**(done.ext or {}), "sent_as": list(memory.sent_as)})

    def close(self) -> None:
        """Close all connections."""
        self._topics.close()
        for connection in self._brokers.values():
            connection.close()

    def _placed(self, invocation: Invocation) -> CreateTopic:
        """Replicas on the cluster's own brokers, who lead by turns: controllers would choose among
        all that are registered, and the synthetic ones of other workloads hold no data."""
        ids, asked = self._ids, CreateTopic.from_json(invocation.value)
        count = asked.partitions or 1
        first = sum(str(invocation.key).encode())  # the next topic begins with the next broker
        turns = [(first + number) % len(ids) for number in range(count)]
        placed = [tuple((ids[turn:] + ids[:turn])[: asked.replication]) for turn in turns]
        return CreateTopic(assignment=tuple(placed), configs=asked.configs)

    def _of_replica(self, invocation: Invocation) -> Completion:
        """Of the broker that the operation names, whether it leads or not, once."""
        try:
            leader = self._leaders.find(invocation.key)
        except NoAnswer as missing:
            return completion(invocation, Failure("fail", missing.error), missing.node)
        asked = replace(leader, node=invocation.node or leader.node)
        result = self._exchanged(invocation, asked, replica_fetch_request(invocation))
        return completion(invocation, result, asked.node)

    def _attempt(self, invocation: Invocation, memory: Memory) -> Attempt:
        try:
            leader = self._leaders.find(invocation.key)
            request = self._request(invocation, leader, memory)
        except NoAnswer as missing:
            return Attempt(Failure("fail", missing.error), missing.node, again=True)
        result = self._exchanged(invocation, leader, request)
        if isinstance(result, Ok) or result.error[0] not in CURABLE:
            return Attempt(result, leader.node)
        self._leaders.forget(invocation.key)
        if invocation.f in self._dialect.outcomes.reads:
            return Attempt(result, leader.node, again=True)
        harmless = result.type == "fail"  # by the system's table
        memory.unknown = memory.unknown or not harmless
        return Attempt(result, leader.node, again=harmless or _repeatable(invocation))

    def _request(self, invocation: Invocation, leader: Leader, memory: Memory) -> RequestPayload:
        if invocation.f == "fetch":
            return fetch_request(invocation, leader.epoch)
        if invocation.f == "list-offsets":
            return list_offsets_request(invocation, leader.epoch)
        if invocation.f == "delete-records":
            return delete_records_request(invocation)
        if invocation.f == "producers":
            return producers_request(invocation)
        if memory.batch is None:
            produce, identity, sequence = Produce.from_json(invocation.value), NO_PRODUCER, -1
            if produce.idempotent:
                producer = self._idempotent()
                identity, sequence = producer.identity, producer.sequences.get(invocation.key, 0)
                memory.sent_as = (*identity, sequence)
            memory.batch = one_value(produce.value, identity, sequence)
        return produce_request(invocation, memory.batch)

    def _exchanged(
        self, invocation: Invocation, leader: Leader, request: RequestPayload
    ) -> Ok | Failure:
        """What one attempt alone says. That there were others before, `_settle` knows."""
        try:
            answer = self._exchange(invocation, leader, request)
        except (Breakdown, UnexpectedResponse) as error:
            return no_answer(self._dialect.outcomes, invocation.f, error)
        if isinstance(answer, Refused):
            return self._dialect.outcomes.refused(invocation.f, answer, retried=False)
        return answer

    def _exchange(
        self, invocation: Invocation, leader: Leader, request: RequestPayload
    ) -> Ok | Refused | Failure:
        deadline = time.monotonic() + ATTEMPT_S
        connection = self._brokers[leader.node]
        if invocation.f == "produce" and Produce.from_json(invocation.value).acks == "0":
            connection.send(request, deadline)
            return self._dialect.outcomes.unanswered(
                invocation.f, NO_ACKNOWLEDGEMENT, "acks=0", sent=True
            )
        response = connection.call(request, deadline)
        if invocation.f == "produce":
            produced = expected(ProduceResponse, response)
            return produce_answer(invocation, produced, leader.topic_id)
        if invocation.f == "fetch":
            return fetch_answer(
                invocation,
                expected(FetchResponse, response),
                leader.epoch,
                leader.topic_id,
                watermark_first=self._dialect.watermark_first,
            )
        if invocation.f == OF_REPLICA:
            given = expected(FetchResponse, response)
            return replica_fetch_answer(invocation, given, leader.topic_id)
        if invocation.f == "delete-records":
            deleted = expected(DeleteRecordsResponse, response)
            return delete_records_answer(invocation, deleted, leader.topic_id)
        if invocation.f == "producers":
            return producers_answer(invocation, expected(DescribeProducersResponse, response))
        listed = expected(ListOffsetsResponse, response)
        return list_offsets_answer(invocation, listed, leader.epoch, leader.topic_id)

    # --- the idempotent producer ----------------------------------------------------------

    def _idempotent(self) -> Producer:
        if self._producer is None:
            try:
                node, response = self._any.call(producer_id_request(), deadline_s=ATTEMPT_S)
            except Breakdown as error:
                raise NoAnswer(error.code, str(error), error.node) from error
            made = expected(InitProducerIdResponse, response)
            if made.error_code != 0:
                raise NoAnswer(name_of(made.error_code), "InitProducerId", node)
            identity = (int(made.producer_id), int(made.producer_epoch))
            self._producer = Producer(identity, {})
        return self._producer

    def _settle(self, invocation: Invocation, result: Ok | Failure) -> None:
        """Bring the producer's books up to date."""
        if Produce.from_json(invocation.value).idempotent and self._producer is not None:
            if isinstance(result, Ok):
                sequences = self._producer.sequences
                sequences[invocation.key] = sequences.get(invocation.key, 0) + 1
            elif result.type == "info":
                self._producer = None  # whether its number was used is not known


def _repeatable(invocation: Invocation) -> bool:
    """Whether to do it twice is as good as to do it once."""
    if invocation.f == "delete-records":
        return DeleteRecords.from_json(invocation.value).before >= 0
    return Produce.from_json(invocation.value).idempotent
