"""What a broker asks of controllers: `heartbeat` (the key is `broker-<id>`) and `alter-isr`
(`<topic>/<partition>`). What administrators ask of brokers about them, `unregister` (the same key)
and `list-brokers` (none), has no value.

States are those of `framework.evidence.brokers.BrokerState`: a system has its own words for them.
The value is the whole request: the same value is the same request, which makes a replay one.
Requests that must be refused say so: `zombie` is how the incarnation that sends one, or that it
names as a member, ended (replaced, killed, paused, left), or replay; `stale` lists the numbers that
are over. An ISR change that names a member which is out of service has `fenced` or `leaving` there,
and no number: its epoch is right. Honest ones have null and nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from framework.evidence.brokers import BrokerState
from workloads.kafka.operations.value import Value, omitted

NO_EPOCH: Final = -1


def broker_key(broker_id: int) -> str:
    """The key of operations on a broker."""
    return f"broker-{broker_id}"


def broker_of(key: str) -> int:
    """The inverse of `broker_key`."""
    return int(key.removeprefix("broker-"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat(Value):
    """A broker registers (epoch -1) or renews its lease. `previous_epoch`: the one that it lost,
    where it asks anew. `target`: the state that it wants. `lease_start_ms` is on the clock of
    the run, which is these brokers' clock."""

    broker_id: int
    broker_epoch: int
    previous_epoch: int
    target: BrokerState
    incarnation: str
    offset: int
    lease_start_ms: int
    zombie: str | None = None
    stale: tuple[str, ...] | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease(Value):
    """A heartbeat's result; `lease_end_ms` is on the same clock as its start."""

    broker_epoch: int
    next_state: BrokerState
    lease_end_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterIsr(Value):
    """A leader changes the in-sync replicas of its partition. `isr_epochs`: the broker epoch of
    each member of `isr`, in order; -1 where it is not known."""

    topic_id: str
    partition: int
    broker_id: int
    broker_epoch: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
    isr_epochs: tuple[int, ...]
    zombie: str | None = None
    stale: tuple[str, ...] | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrState(Value):
    """The partition after an ISR change."""

    leader: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...]
