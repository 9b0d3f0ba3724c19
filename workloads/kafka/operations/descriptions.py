"""What a node tells anybody of its cluster: `describe-quorum`, `describe-node`, `describe-cluster`,
`describe-controllers`, `describe-topics`, `log-ends`, `metadata-log`. They have no key; a value,
where there is one, is the role as which a node is asked that has several."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.kafka.operations.topics import PartitionState
from workloads.kafka.operations.value import Value, omitted


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumView(Value):
    """The quorum as a node sees it (`describe-node`), or as its leader does, whoever was asked for
    that (`describe-quorum`). -1: it knows none. `voters`: (id, end of its log, -1: not known) of
    each, by their leader."""

    leader: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[tuple[int, ...], ...] | None = omitted()


@dataclass(frozen=True, slots=True)
class BrokerAddress(Value):
    """Where clients find a broker, or a controller."""

    id: int
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class ClusterView(Value):
    """Those that a broker says can be used (`describe-cluster`)."""

    brokers: tuple[BrokerAddress, ...]


@dataclass(frozen=True, slots=True)
class ControllersView(Value):
    """Those of which a controller tells at its own listener (`describe-controllers`), and who of
    them is active as far as it knows; -1: it knows none."""

    controllers: tuple[BrokerAddress, ...]
    active: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTopic(Value):
    """A topic as `metadata` shows it, and its name."""

    name: str
    topic_id: str
    partitions: tuple[PartitionState, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsView(Value):
    """Of a broker's metadata (`describe-topics`): the brokers, and the first topics by name.
    `others`: how many more there were."""

    brokers: tuple[BrokerAddress, ...]
    topics: tuple[NamedTopic, ...]
    others: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEnd(Value):
    """What `list-offsets` at `latest` told of a partition, of whose leader by whose metadata it was
    asked."""

    key: str
    offset: int
    leader_epoch: int
    topic_id: str


@dataclass(frozen=True, slots=True)
class LogEnds(Value):
    """Of partitions that a broker leads (`log-ends`), without those of which it would not tell."""

    ends: tuple[LogEnd, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPart(Value):
    """What a controller gave of the metadata log, from offset `begin` on and below its high
    watermark (`metadata-log`). Of each record the leader epoch and the CRC-32C of its value.
    `diverging`: by the controller, the log that it gave before is one only below this offset."""

    leader_epoch: int
    high_watermark: int
    begin: int
    epochs: tuple[int, ...]
    crcs: tuple[int, ...]
    diverging: int | None = omitted()
