"""One broker id of the workload's own, and the life (process) that honestly claims it now.

A life registers with epoch -1 and its own incarnation id, is told an epoch, asks for ACTIVE
under it, and renews its lease before it ends. Where it is refused as stale (77) it asks anew
with epoch -1, naming the epoch that it had; where that is refused, too, somebody else holds the
id, and it starts as a new process (KIP-631 draft, broker epochs; the node's rules are in
nodes/kraft/controller/membership.py).
"""

import uuid
from dataclasses import dataclass, replace
from typing import Any, Final

from framework.history.event import Event
from framework.seeds import stream

NO_EPOCH: Final = -1
NS_PER_MS: Final = 1_000_000
RETRY_NS: Final = 200 * NS_PER_MS
"""Until the next heartbeat of a life that is fenced, or whose last one failed."""
OFFSET: Final = 1 << 40
"""The metadata offset that these brokers claim to have reached. They hold no metadata, so they
are made never to be the one that is behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """`epoch`: what this life works under (-1: nothing yet, or lost). `previous`: the last one
    that it held. `newest`: the greatest epoch that any life of this id was told, so every
    smaller one is certainly stale. `due_ns`: when to send the next heartbeat; `asking`: one is
    under way. `lease_end_ns` is on the clock of the run."""

    broker_id: int
    life: int = 0
    epoch: int = NO_EPOCH
    previous: int = NO_EPOCH
    newest: int = NO_EPOCH
    active: bool = False
    asking: bool = False
    due_ns: int = 0
    lease_end_ns: int = 0

    def reborn(self, due_ns: int) -> "Broker":
        """A new process claims the id from `due_ns` on; the old one does nothing honest more."""
        return Broker(
            broker_id=self.broker_id, life=self.life + 1, newest=self.newest, due_ns=due_ns
        )

    def incarnation(self, seed: int) -> str:
        """The id of this life's process."""
        return incarnation(seed, self.broker_id, self.life)


def incarnation(seed: int, broker_id: int, life: int) -> str:
    """The incarnation id of a life, fixed by the seed of the run."""
    draw = stream(seed, "incarnation", broker_id, life).getrandbits(128)
    return str(uuid.UUID(int=draw, version=4))


def key_of(broker_id: int) -> str:
    """The key of a broker's heartbeats."""
    return f"broker-{broker_id}"


def heartbeat(broker: Broker, seed: int, now_ns: int) -> dict[str, Any]:
    """The value of this life's next heartbeat."""
    registers = broker.epoch == NO_EPOCH
    return {
        "broker_id": broker.broker_id,
        "broker_epoch": broker.epoch,
        "previous_epoch": broker.previous if registers else NO_EPOCH,
        "target": "ACTIVE",
        "incarnation": broker.incarnation(seed),
        "offset": OFFSET,
        "lease_start_ms": now_ns // NS_PER_MS,
        "zombie": None,
    }


def learn(
    broker: Broker, asked: dict[str, Any], event: Event, *, seed: int, now_ns: int, period_ns: int
) -> Broker:
    """The broker after its heartbeat `asked` completed with `event`. Answers to former lives and
    zombies teach no more than which epoch is the newest."""
    told = event.value["broker_epoch"] if event.type == "ok" else NO_EPOCH
    broker = replace(broker, newest=max(broker.newest, told))
    if asked["zombie"] is not None or asked["incarnation"] != broker.incarnation(seed):
        return broker
    broker = replace(broker, asking=False, due_ns=now_ns + RETRY_NS)
    if event.type == "ok":
        return _granted(broker, event.value, now_ns, period_ns)
    if event.error is not None and event.error[0] == "STALE_BROKER_EPOCH":
        return _refused(broker, asked, now_ns)
    return broker


def _granted(broker: Broker, answer: dict[str, Any], now_ns: int, period_ns: int) -> Broker:
    if answer["next_state"] == "SHUTDOWN":
        return broker.reborn(now_ns)
    epoch, state = answer["broker_epoch"], answer["next_state"]
    wait_ns = {"ACTIVE": period_ns, "INITIAL": 0}.get(state, RETRY_NS)
    return replace(
        broker,
        epoch=epoch,
        previous=epoch,
        active=state == "ACTIVE",
        due_ns=now_ns + wait_ns,
        lease_end_ns=answer["lease_end_ms"] * NS_PER_MS,
    )


def _refused(broker: Broker, asked: dict[str, Any], now_ns: int) -> Broker:
    if asked["broker_epoch"] == NO_EPOCH:
        return broker.reborn(now_ns + RETRY_NS)
    return replace(broker, epoch=NO_EPOCH, active=False, due_ns=now_ns)
