"""Kafka's metrics of a node (KIP-631, "Metrics"; KIP-291, "Public Interfaces")."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from nodes.kraft.metrics.commits import CommitMeters
from nodes.kraft.metrics.exposition import Gauge, Metric, Summary
from nodes.kraft.metrics.meters import Rate


class MeteredListener(Protocol):
    """What is read of a listener."""

    requests: Rate
    busy: Rate

    @property
    def queued(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the numbers come from. `replayed`: below this offset the controller's image has
    everything; `published`: the same of what clients of the broker see; None: not in that role.
    """

    high_watermark: Callable[[], int]
    replayed: Callable[[], int] | None
    published: Callable[[], int] | None
    commits: CommitMeters
    control: Callable[[], list[MeteredListener]]
    data: Callable[[], list[MeteredListener]]
    data_loop_idle: Rate


def metrics(sources: Sources) -> list[Metric]:
    """A.1.94-99 in the roles where they belong, A.2.13-15."""
    found = []
    if sources.replayed is not None:
        found += list(_controller(sources, sources.replayed))
    if sources.published is not None:
        found += list(_broker(sources, sources.published))
    return found


def _controller(sources: Sources, replayed: Callable[[], int]) -> Iterator[Metric]:
    name = "kafka.controller:type=KafkaController,name="
    commits = sources.commits

    def snapshot_lag() -> int:
        end = commits.snapshot_end
        return 0 if end is None else max(0, sources.high_watermark() - end)

    yield Gauge(f"{name}MetadataLag", _lag(sources.high_watermark, replayed))
    yield Summary(f"{name}MetadataCommitLatencyMs", commits.latency_ms)
    yield Gauge(f"{name}MetadataCommitRate", commits.committed.per_second)
    yield Gauge(f"{name}MetadataSnapshotLag", snapshot_lag)
    yield Gauge(
        f"{name}ControllerRequestsRate",
        lambda: sum(each.requests.per_second() for each in sources.control()),
    )
    yield Gauge(
        "kafka.network:type=RequestChannel,name=ControllerRequestQueueSize",
        lambda: sum(each.queued for each in sources.control()),
    )


def _broker(sources: Sources, published: Callable[[], int]) -> Iterator[Metric]:
    yield Gauge(
        "kafka.controller:type=KafkaServer,name=MetadataLag",
        _lag(sources.high_watermark, published),
    )
    yield Gauge(
        "kafka.network:type=RequestChannel,name=RequestQueueSize",
        lambda: sum(each.queued for each in sources.data()),
    )
    yield Gauge(
        "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
        lambda: _share(sources.data_loop_idle.per_second()),
    )
    yield Gauge(
        "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
        lambda: _share(1 - _mean([each.busy.per_second() for each in sources.data()])),
    )


def _lag(high_watermark: Callable[[], int], reached: Callable[[], int]) -> Callable[[], int]:
    return lambda: max(0, high_watermark() - reached())


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _share(value: float) -> float:
    """Within 0 and 1, as Kafka's "percents" are."""
    return min(1.0, max(0.0, value))
