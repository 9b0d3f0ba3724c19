"""A transactional producer in our own codec, which speaks the newest protocol that its cluster has.

With `transaction.version` 2 or higher it is that of KIP-890's second part, as Kafka's own client
has it and librdkafka 2.16 has not: each transaction has an epoch of its own, so that nothing of an
older one, however late, can touch it. Below that it is the protocol of before.

What is not answered in time is sent again, under the same sequence number or for the same epoch.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeVar

import tenacity
from kio.schema.api_versions.v3 import ApiVersionsRequest
from kio.schema.errors import ErrorCode
from kio.static.protocol import RequestPayload, ResponsePayload

from workloads.kafka.batches import one_value
from workloads.kafka.broker_client import BrokerClient
from workloads.kafka.connection import Breakdown, Connection
from workloads.kafka.coordinators import GROUP, TRANSACTIONS, Coordinators
from workloads.kafka.leaders import Leaders, NoAnswer
from workloads.kafka.messages import name_of
from workloads.kafka.producing import REQUEST_MS, ProducerFailed, Reader
from workloads.kafka.transaction_messages import (
    Identity,
    add_offsets_request,
    add_partition_request,
    code_of,
    end_request,
    init_request,
    level_in,
    offset_in,
    offsets_request,
    produce_request,
    renewed,
)

PAUSE_S: Final = 0.05
CLIENT_ID: Final = "raw-producer"

T = TypeVar("T")


class Passing(ProducerFailed):
    """Another attempt may do better."""


class Brokers:
    """Who is to be asked, and what they answer. For one thread at a time, and all its producers."""

    def __init__(self, addresses: Mapping[int, str]) -> None:
        """`addresses`: broker id to HOST:PORT."""
        self._connections = {
            address: Connection(partial(_opened, address), CLIENT_ID, negotiates=True)
            for address in addresses.values()
        }
        self._any = BrokerClient(self._connections)
        self._leaders = Leaders(self._any, addresses)
        self._coordinators = {
            kind: Coordinators(self._any, addresses, kind) for kind in (GROUP, TRANSACTIONS)
        }

    def anybody(self, request: RequestPayload, end_s: float) -> ResponsePayload:
        """One attempt, by `end_s` (`time.monotonic`). Raises `Passing`, `ProducerFailed`."""
        return self._done(lambda left_s: self._any.call(request, deadline_s=left_s)[1], end_s)

    def leader(self, key: str, request: RequestPayload, end_s: float) -> ResponsePayload:
        """The same of a partition's leader."""
        return self._attempt(
            lambda: self._leaders.find(key).node,
            lambda: self._leaders.forget(key),
            request,
            end_s,
        )

    def coordinator(
        self, kind: int, key: str, request: RequestPayload, end_s: float
    ) -> ResponsePayload:
        """The same of a coordinator."""
        known = self._coordinators[kind]
        return self._attempt(lambda: known.find(key), lambda: known.forget(key), request, end_s)

    def _attempt(
        self,
        find: Callable[[], str],
        forget: Callable[[], None],
        request: RequestPayload,
        end_s: float,
    ) -> ResponsePayload:
        def ask(left_s: float) -> ResponsePayload:
            return self._connections[find()].call(request, time.monotonic() + left_s)

        try:
            return self._done(ask, end_s)
        except Passing:
            forget()
            raise

    def _done(self, ask: Callable[[float], ResponsePayload], end_s: float) -> ResponsePayload:
        """An answer that says that it was done."""
        try:
            response = ask(min(REQUEST_MS / 1000, end_s - time.monotonic()))
        except Breakdown as error:
            raise Passing(error.code, str(error)) from error
        except NoAnswer as missing:
            raise Passing(missing.error[0], str(missing)) from missing
        code = code_of(response)
        if code == ErrorCode.none:
            return response
        kind = Passing if code.retriable else ProducerFailed
        raise kind(name_of(code), type(response).__name__)


def _opened(address: str, timeout_s: float) -> socket.socket:
    host, _, port = address.rpartition(":")
    connected = socket.create_connection((host, int(port)), timeout_s)
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connected


def initialized(brokers: Brokers, transactional_id: str, most_s: float) -> RawProducer:
    """As `Initialized`."""
    end_s = time.monotonic() + most_s
    made = RawProducer(brokers, Identity(transactional_id, _level(brokers, end_s)))
    made.initialize(end_s)
    return made


def _level(brokers: Brokers, end_s: float) -> int:
    """Of the cluster's `transaction.version`."""
    request = ApiVersionsRequest(client_software_name=CLIENT_ID, client_software_version="1")

    def ask() -> int:
        level = level_in(brokers.anybody(request, end_s))
        if level is None:
            raise Passing("FEATURES_UNKNOWN", "a broker knows of no finalized features yet")
        return level

    return _until(end_s, ask)


def _until(end_s: float, attempt: Callable[[], T]) -> T:
    """Again while it may help. Raises what the last attempt did."""
    retrying = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(Passing),
        stop=lambda _: time.monotonic() > end_s,
        wait=tenacity.wait_fixed(PAUSE_S),
        reraise=True,
    )
    return retrying(attempt)


class RawProducer:
    """Implements `TransactionalProducer`. Raises `ProducerFailed`."""

    def __init__(self, brokers: Brokers, own: Identity) -> None:
        self._brokers, self._own = brokers, own
        self._sequences: dict[str, int] = {}
        self._added: set[str] = set()
        self._begun = False
        """A coordinator may know of a transaction that is open."""
        self._doubtful = False
        """Some sequence number may be used, or not."""

    def initialize(self, end_s: float) -> None:
        """Have an epoch, in which nothing was sent."""
        self._own = renewed(self._own, self._of_transactions(init_request(self._own), end_s))
        self._sequences, self._doubtful = {}, False

    def begin(self) -> None:
        """Nobody is told before there is something to tell."""
        self._added, self._begun = set(), False

    def send(self, key: str, value: int, most_s: float) -> int:
        end_s, self._begun = time.monotonic() + most_s, True
        if not self._own.renews and key not in self._added:
            self._of_transactions(add_partition_request(self._own, key), end_s)
            self._added.add(key)
        sequence = self._sequences.get(key, 0)
        batch = one_value(value, (self._own.id, self._own.epoch), sequence, transactional=True)
        request = produce_request(self._own, key, batch)
        self._doubtful = True
        response = _until(end_s, lambda: self._brokers.leader(key, request, end_s))
        self._doubtful = False
        self._sequences[key] = sequence + 1
        return offset_in(response, key)

    def send_offsets(self, positions: Mapping[str, int], reader: Reader, most_s: float) -> None:
        end_s, self._begun = time.monotonic() + most_s, True
        group = reader.group
        if not self._own.renews:
            self._of_transactions(add_offsets_request(self._own, group), end_s)
        request = offsets_request(self._own, group, positions)
        _until(end_s, lambda: self._brokers.coordinator(GROUP, group, request, end_s))

    def commit(self, most_s: float) -> None:
        self._end(time.monotonic() + most_s, commits=True)

    def abort(self, most_s: float) -> None:
        end_s = time.monotonic() + most_s
        self._end(end_s, commits=False)
        if self._doubtful:
            self.initialize(end_s)

    def _end(self, end_s: float, *, commits: bool) -> None:
        if not self._begun:
            return
        response = self._of_transactions(end_request(self._own, commits=commits), end_s)
        self._begun = False
        if self._own.renews:
            self._own = renewed(self._own, response)
            self._sequences, self._doubtful = {}, False

    def _of_transactions(self, request: RequestPayload, end_s: float) -> ResponsePayload:
        """What the coordinator of its transactions answers."""
        return _until(
            end_s,
            lambda: self._brokers.coordinator(TRANSACTIONS, self._own.name, request, end_s),
        )
