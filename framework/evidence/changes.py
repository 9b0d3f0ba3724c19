"""What the records of a metadata log change, in words that are no system's own.

Every committed record that a node applied is one of these, so that offsets have no gap: what
changes nothing that rules look at is an `OtherChange`.
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from framework.evidence.ids import (
    BrokerEpoch,
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    ReplicaId,
)
from framework.evidence.kinds import Evidence
from framework.evidence.quorum import Voter

TOPIC_RESOURCE: Final = 2
"""The `resource_type` of a topic."""
BROKER_RESOURCE: Final = 4
"""And of a broker, by its id; by an empty name, of all of them."""
NO_LEADER: Final = BrokerId(-1)
"""A partition that nobody leads, as histories have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Evidence):
    """A node applied the committed record at `offset`, of leader epoch `epoch`."""

    family: ClassVar[str] = "applied"
    offset: Offset
    epoch: LeaderEpoch


# --- the quorum and the cluster -----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAnnounced(Change):
    """The record that begins a leader's epoch. `votes`: who voted for it, `voters`: who may; both
    are empty where that is not told."""

    kind: ClassVar[str] = "leader-announced"
    leader: ReplicaId
    votes: tuple[ReplicaId, ...] = ()
    voters: tuple[ReplicaId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VotersNamed(Change):
    """Who votes, for each log that has this record and no later one of its kind, whether it is
    committed yet or not (KIP-853)."""

    kind: ClassVar[str] = "voters-named"
    voters: tuple[Voter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSet(Change):
    """A feature is finalized at this level; 0: no more."""

    kind: ClassVar[str] = "feature-set"
    name: str
    level: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRemembered(Change):
    """A request took effect just before, and this (hexadecimal) is its answer, however often it
    is asked again."""

    kind: ClassVar[str] = "request-remembered"
    request_id: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherChange(Change):
    """A record that no rule looks at; its name and content (JSON) are the system's own."""

    kind: ClassVar[str] = "other-change"
    name: str
    content: str


# --- brokers ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class EndPoint:
    """Where clients find a broker. `protocol`: Kafka's number of the security protocol."""

    name: str
    host: str
    port: int
    protocol: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRegistered(Change):
    """A broker is registered under a new epoch, fenced at first; or, under the epoch that it has,
    its registration is amended. `process`: the incarnation id that its process chose. `leaving`: it
    is about to end (see `BrokerLeaving`)."""

    kind: ClassVar[str] = "broker-registered"
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    process: str | None = None
    end_points: tuple[EndPoint, ...] = ()
    rack: str | None = None
    fenced: bool = True
    leaving: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerUnregistered(Change):
    """The broker of this epoch is no longer registered."""

    kind: ClassVar[str] = "broker-unregistered"
    broker_id: BrokerId
    broker_epoch: BrokerEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFenced(Change):
    """The broker of this epoch is out of service."""

    kind: ClassVar[str] = "broker-fenced"
    broker_id: BrokerId
    broker_epoch: BrokerEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerUnfenced(Change):
    """The broker of this epoch is in service."""

    kind: ClassVar[str] = "broker-unfenced"
    broker_id: BrokerId
    broker_epoch: BrokerEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerLeaving(Change):
    """The broker of this epoch is about to end: from now on it is given no leadership, and joins no
    ISR (KIP-841)."""

    kind: ClassVar[str] = "broker-leaving"
    broker_id: BrokerId
    broker_epoch: BrokerEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerIdsGiven(Change):
    """A block of producer ids, up to but not including `next_producer_id`, went to a broker."""

    kind: ClassVar[str] = "producer-ids-given"
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    next_producer_id: int


# --- topics and partitions ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCreated(Change):
    """A topic came to be."""

    kind: ClassVar[str] = "topic-created"
    name: str
    topic_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDeletionBegun(Change):
    """A topic is about to be removed."""

    kind: ClassVar[str] = "topic-deletion-begun"
    name: str
    topic_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRemoved(Change):
    """A topic and its partitions are gone."""

    kind: ClassVar[str] = "topic-removed"
    topic_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionState(Change):
    """A partition's state after this record. `leader` is `NO_LEADER` where nobody leads.
    `eligible`: who may lead once the ISR is empty (KIP-966); None: the record does not tell.
    `last_eligible`: who was last known to be, or to lead."""

    topic_id: str
    partition: int
    isr: tuple[BrokerId, ...]
    leader: BrokerId
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    eligible: tuple[BrokerId, ...] | None = None
    last_eligible: tuple[BrokerId, ...] = ()

    @property
    def key(self) -> tuple[str, int]:
        return self.topic_id, self.partition


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionCreated(PartitionState):
    """A partition came to be, or its replicas changed."""

    kind: ClassVar[str] = "partition-created"
    replicas: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()
    adding: tuple[BrokerId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChanged(PartitionState):
    """A partition's leader or ISR changed."""

    kind: ClassVar[str] = "partition-changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class EligibleForgotten(Change):
    """The partitions of a topic, by its name, have no eligible leaders any more; None: nor have
    those of any other. That is a new version of each partition that had some."""

    kind: ClassVar[str] = "eligible-forgotten"
    topic: str | None


# --- settings -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigSet(Change):
    """A configuration value of a resource; None removes it. `resource_type`: as Kafka numbers them,
    `TOPIC_RESOURCE` and `BROKER_RESOURCE` among them."""

    kind: ClassVar[str] = "config-set"
    resource_type: int
    resource: str
    name: str
    value: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule(Change):
    """An access rule, by Kafka's numbers; `resource` None: the default resource."""

    resource_type: int
    resource: str | None
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRuleAdded(AccessRule):
    """The rule holds from now on."""

    kind: ClassVar[str] = "access-rule-added"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRuleRemoved(AccessRule):
    """The rule of these very fields is gone."""

    kind: ClassVar[str] = "access-rule-removed"
