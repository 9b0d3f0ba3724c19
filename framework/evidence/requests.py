"""Evidence of requests: how controllers decided on them and answered, and how brokers served."""

from dataclasses import dataclass
from typing import ClassVar

from framework.evidence.brokers import BrokerState
from framework.evidence.ids import BrokerEpoch, BrokerId, LeaderEpoch, Offset, PartitionEpoch
from framework.evidence.kinds import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(Evidence):
    """A controller decided on a request.

    request: its id within the incarnation; forwarded: the id that a retry of it has, too. api: what
    people call it; f: the operation of a history that asks for it, where one does. accepted: of a
    batch, at least in part; else `code` is the refusal's. as_of: the end of the log that the
    decision rests on; records: offsets that it appended, in `epoch`. broker_id, broker_epoch: who
    asked, where a broker did (epoch None: it has none yet), and `target` the state that it wants
    to be in. topics: those that it is about, empty where that is not told.
    """

    kind: ClassVar[str] = "decided"
    request: str
    forwarded: str | None = None
    api: str
    f: str | None
    accepted: bool
    code: str
    as_of: Offset
    records: tuple[Offset, ...]
    epoch: LeaderEpoch
    broker_id: BrokerId | None = None
    broker_epoch: BrokerEpoch | None = None
    target: BrokerState | None = None
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrDecided(Evidence):
    """What a controller decided on one partition of a request of a leader to change ISRs.

    broker_id, broker_epoch, leader_epoch, partition_epoch: what the request carried. accepted, with
    the refusal's code: None where that is not told. as_of, records, epoch: as of `Decided`; the
    records are the partition's own, or where that is not told all of the request.
    """

    kind: ClassVar[str] = "isr-decided"
    request: str
    api: str
    broker_id: BrokerId
    broker_epoch: BrokerEpoch | None
    topic_id: str
    partition: int
    leader_epoch: LeaderEpoch
    partition_epoch: PartitionEpoch
    accepted: bool | None
    code: str | None
    as_of: Offset
    records: tuple[Offset, ...]
    epoch: LeaderEpoch

    @property
    def key(self) -> tuple[str, int]:
        return self.topic_id, self.partition


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Evidence):
    """A controller's answer to a request left it, when the high watermark was that. `accepted`:
    there is a success in it."""

    kind: ClassVar[str] = "answered"
    request: str
    api: str
    f: str | None
    accepted: bool
    high_watermark: Offset
    epoch: LeaderEpoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Served(Evidence):
    """A broker answered a client: of a system that tells of this, each answer is told. `success`:
    it gave what only a broker that may serve gives; `state`: what it says that it was. `f`,
    `topic`: the operation of a history that asks for it."""

    kind: ClassVar[str] = "served"
    api: str
    f: str | None
    success: bool
    code: str
    state: BrokerState | None
    broker_epoch: BrokerEpoch | None
    topic: str | None
