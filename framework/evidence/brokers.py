"""Evidence of brokers' states and leases."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from framework.evidence.ids import BrokerEpoch, BrokerId
from framework.evidence.kinds import Evidence

BrokerState: TypeAlias = Literal["starting", "active", "fenced", "leaving", "unknown"]
"""It was not in service yet; it is; it is no more, for want of a lease; it was let go, and ends;
nobody can tell. After KIP-631, whose words for them are a system's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStateChanged(Evidence):
    """A broker's own state. `lease_ended`: because its lease had."""

    kind: ClassVar[str] = "broker-state"
    before: BrokerState
    after: BrokerState
    broker_epoch: BrokerEpoch | None
    lease_ended: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseGranted(Evidence):
    """A broker may act till `end_ns`. Both times are of the broker's clock, told as `at_ns` is:
    comparing them with what the same node did needs no other clock. rounded_ns: by how much the
    node's own reckoning may differ, as it keeps them in coarser units."""

    kind: ClassVar[str] = "lease-granted"
    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    start_ns: int
    end_ns: int
    rounded_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAnswered(Evidence):
    """A broker was answered: it had asked for `target` under `broker_epoch` (None: it had none),
    and is to be `next_state` under `answered_epoch`. `stale`: refused, as
    its epoch is another's."""

    kind: ClassVar[str] = "heartbeat-answered"
    broker_id: BrokerId
    broker_epoch: BrokerEpoch | None
    target: BrokerState
    accepted: bool
    stale: bool
    next_state: BrokerState
    answered_epoch: BrokerEpoch | None
