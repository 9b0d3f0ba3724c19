"""One synthetic broker id, and the incarnation (process) that honestly claims it now.

It registers with epoch -1 and its own incarnation id, is given an epoch, asks to be active under
it, and renews its lease before it ends. Where it is refused as stale it asks anew with epoch -1,
naming the epoch that it had; where that is refused, too, somebody else holds the id, and it starts
as a new process (KIP-631, broker epochs). One that leaves asks to be let go until it is, or has
waited for long enough; then a new process comes.
"""

import uuid
from dataclasses import dataclass, replace
from typing import Final

from framework.history.event import Event
from framework.plugins.outcomes import STALE
from framework.seeds import stream
from workloads.kafka.operations.brokers import NO_EPOCH, Heartbeat, Lease

NS_PER_MS: Final = 1_000_000
RETRY_NS: Final = 200 * NS_PER_MS
LATE_NS: Final = 500 * NS_PER_MS
"""So long after its session one that is silent was probably fenced."""
"""Until the next heartbeat of one that is fenced, or whose last one failed."""
OFFSET: Final = 1 << 40
"""The metadata offset that these brokers claim to have reached. They hold no metadata, so they
are made never to be the one that is behind."""
FENCED: Final = "fenced"
LEAVING: Final = "leaving"
"""Why a broker is to be in no ISR (KIP-841)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """`number`: of the incarnation, from 0. `epoch`: what it works under (-1: nothing yet, or
    lost). `previous`: the last one that it held. `newest`: the greatest epoch that any
    incarnation of this id was given, so every smaller one is certainly stale. `due_ns`: when to
    send the next heartbeat; `asking`: one is under way. `lease_end_ns` is on the clock of the
    run. `rest_ns`: how long a process waits before it asks to be active, or again to be let go, and
    the next one before it comes; `tried`: it has asked to be active under its epoch. `ends_ns`: it
    asks to be let go, and ends then at the latest; `left`: the last epoch under which it was
    answered that it may go, or is about to."""

    broker_id: int
    number: int = 0
    epoch: int = NO_EPOCH
    previous: int = NO_EPOCH
    newest: int = NO_EPOCH
    active: bool = False
    asking: bool = False
    due_ns: int = 0
    lease_end_ns: int = 0
    rest_ns: int = 0
    tried: bool = False
    ends_ns: int | None = None
    left: int = NO_EPOCH

    def restarted(self, due_ns: int) -> "Broker":
        """A new process claims the id from `due_ns` on; the old one does nothing honest more."""
        return Broker(
            broker_id=self.broker_id,
            number=self.number + 1,
            newest=self.newest,
            due_ns=due_ns,
            rest_ns=self.rest_ns,
            left=self.left if self.left == self.epoch else NO_EPOCH,
        )

    def out_of_service(self, now_ns: int) -> tuple[int, str] | None:
        """Its broker epoch, and why it is to be in no ISR; None: it may be in one. Certain of one
        that never asked to be active, or was let go; of others it is likely."""
        if self.left != NO_EPOCH and self.epoch in (self.left, NO_EPOCH):
            return self.left, LEAVING
        if self.epoch == NO_EPOCH or self.active or self.asking:
            return None
        sleeps = self.due_ns > now_ns + RETRY_NS
        silent = sleeps and now_ns > self.lease_end_ns + LATE_NS
        return (self.epoch, FENCED) if silent or not self.tried else None

    def incarnation(self, seed: int) -> str:
        """The id of this process, fixed by the seed of the run."""
        draw = stream(seed, "incarnation", self.broker_id, self.number).getrandbits(128)
        return str(uuid.UUID(int=draw, version=4))


def heartbeat(broker: Broker, seed: int, now_ns: int) -> Heartbeat:
    """This incarnation's next heartbeat."""
    registers = broker.epoch == NO_EPOCH
    leaves = broker.ends_ns is not None and not registers
    return Heartbeat(
        broker_id=broker.broker_id,
        broker_epoch=broker.epoch,
        previous_epoch=broker.previous if registers else NO_EPOCH,
        target="leaving" if leaves else "active",
        incarnation=broker.incarnation(seed),
        offset=OFFSET,
        lease_start_ms=now_ns // NS_PER_MS,
    )


def sent(broker: Broker, asked: Heartbeat) -> Broker:
    """The broker while `asked` is under way, which may be of a former incarnation."""
    activates = asked.target == "active" and asked.broker_epoch == broker.epoch != NO_EPOCH
    return replace(
        broker,
        asking=broker.asking or asked.zombie is None,
        tried=broker.tried or activates,
    )


def learn(
    broker: Broker, asked: Heartbeat, event: Event, *, seed: int, now_ns: int, period_ns: int
) -> Broker:
    """The broker after its heartbeat `asked` completed with `event`. Answers to former
    incarnations and stale requests teach no more than which epoch is the newest."""
    lease = Lease.from_json(event.value) if event.type == "ok" else None
    if lease is not None:
        broker = replace(broker, newest=max(broker.newest, lease.broker_epoch))
    if asked.zombie is not None or asked.incarnation != broker.incarnation(seed):
        return broker
    broker = replace(broker, asking=False, due_ns=now_ns + RETRY_NS)
    if lease is not None:
        broker = _granted(broker, asked, lease, now_ns, period_ns)
    elif event.asserts == STALE:
        broker = _refused(broker, asked, now_ns)
    over = broker.ends_ns is not None and now_ns >= broker.ends_ns
    return broker.restarted(now_ns + broker.rest_ns) if over else broker


def _granted(broker: Broker, asked: Heartbeat, lease: Lease, now_ns: int, period_ns: int) -> Broker:
    if asked.target == "leaving":
        broker = replace(broker, left=broker.epoch, due_ns=now_ns + max(broker.rest_ns, RETRY_NS))
        return broker.restarted(broker.due_ns) if lease.next_state == "leaving" else broker
    waits = {"active": period_ns, "starting": broker.rest_ns}
    wait_ns = waits.get(lease.next_state, RETRY_NS)
    return replace(
        broker,
        epoch=lease.broker_epoch,
        previous=lease.broker_epoch,
        active=lease.next_state == "active" and broker.ends_ns is None,
        tried=broker.tried and broker.epoch == lease.broker_epoch,
        due_ns=now_ns + wait_ns,
        lease_end_ns=lease.lease_end_ms * NS_PER_MS,
    )


def _refused(broker: Broker, asked: Heartbeat, now_ns: int) -> Broker:
    if asked.broker_epoch == NO_EPOCH or broker.ends_ns is not None:
        return broker.restarted(now_ns + RETRY_NS)
    return replace(broker, epoch=NO_EPOCH, active=False, due_ns=now_ns)
