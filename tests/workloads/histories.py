"""Runs of the workloads' generators against the reference controller, and what to ask of them."""

from collections.abc import Iterator, Sequence
from typing import Any

from reference_controller import ReferenceController

from framework.generators import clients, simulate, stagger
from framework.history.event import Event
from framework.plugins.capabilities import MEMBER_EPOCHS
from framework.plugins.workload import Workload, WorkloadOptions
from nodes.kraft.adapter.dialect import DIALECT
from nodes.kraft.wire.codec import decode_request
from workloads.kafka.codec import Codec
from workloads.kafka.messages import EXCHANGES

RATE = 20.0
THREADS = 4
CAPABILITIES = frozenset({"linearizable-topic-read", MEMBER_EPOCHS})


def run(
    workload: Workload,
    controller: ReferenceController,
    *,
    seed: int = 0,
    seconds: int = 60,
    threads: int = THREADS,
    capabilities: frozenset[str] = CAPABILITIES,
) -> list[Event]:
    """As many operations as go into so many seconds at `RATE`."""
    options = WorkloadOptions(seed=seed, threads=threads, rate=RATE, capabilities=capabilities)
    generator = clients(stagger(1 / RATE, workload.generator(options)))
    return simulate(
        generator,
        threads=threads,
        seed=seed,
        completion=controller,
        max_ops=round(seconds * RATE),
    )


def pairs(history: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """(invocation, completion), in order of completion."""
    open_: dict[Any, Event] = {}
    for event in history:
        if event.type == "invoke":
            open_[event.process] = event
        else:
            yield open_.pop(event.process), event


def invocations(history: Sequence[Event], *kinds: str) -> list[Event]:
    return [event for event in history if event.type == "invoke" and event.f in kinds]


def received(request: Any) -> Any:
    """What the clients' codec sends, as the node's codec reads it."""
    data = Codec(DIALECT.messages).encode_request(request, correlation_id=1, client_id="test")
    return decode_request(data[4:])[1]


def assert_encodable(history: Sequence[Event]) -> None:
    """Every operation is a request that a node can read, and says what the operation says."""
    exchanges = {**EXCHANGES, **DIALECT.exchanges}
    for op in invocations(history, *exchanges):
        request = exchanges[op.f].request(op)
        assert received(request) == request
