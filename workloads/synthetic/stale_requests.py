"""Requests that must be refused: of fenced incarnations, recorded before things moved on, or for an
ISR with a member that may be in none.

Each stale one rests on an acknowledgement: a broker epoch is stale only where a greater one of the
same id was acknowledged, a leader epoch or version only where a later one of the same partition
was. So it is certainly stale when it is invoked, whatever else is under way. That a member is out
of service (KIP-841) is likely: it may be back, or not gone yet, before the request is there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from framework.evidence.brokers import BrokerState
from framework.generators import op
from framework.history.event import Event, Invocation
from workloads.kafka.operations.brokers import (
    NO_EPOCH,
    AlterIsr,
    Heartbeat,
    broker_key,
)
from workloads.synthetic.broker import NS_PER_MS, OFFSET
from workloads.synthetic.brokers import SyntheticBrokers
from workloads.synthetic.partition import Partition, eligible, propose

REPLAY: Final = "replay"
"""Why a recorded request, or one with a number that was right earlier, is stale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FencedIncarnation:
    """An epoch that a broker id worked under. `why` it is over: "replaced", "killed", "paused",
    "left".
    `granted`: the last heartbeat that was granted under it, as it was sent."""

    broker_id: int
    epoch: int
    incarnation: str
    why: str
    granted: Heartbeat | None = None

    def surely_stale(self, brokers: SyntheticBrokers) -> bool:
        """A greater epoch of this id was acknowledged."""
        return brokers.by_id[self.broker_id].newest > self.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayLog:
    """What stale requests are made of. `fenced`: the newest last. `changes`: ISR changes that
    were accepted, as they were sent, the newest last."""

    fenced: tuple[FencedIncarnation, ...] = ()
    changes: tuple[Event, ...] = ()

    def with_fenced(self, incarnation: FencedIncarnation) -> ReplayLog:
        return replace(self, fenced=(*self.fenced, incarnation)[-MOST_FENCED:])

    def with_change(self, change: Event) -> ReplayLog:
        return replace(self, changes=(*self.changes, change)[-MOST_CHANGES:])


MOST_FENCED: Final = 12
MOST_CHANGES: Final = 24
MEMBERS_SHARE: Final = 0.4
"""How many of the requests have nothing wrong but a member, where one can be had: one that is out
of service or one by a former epoch, as the draw has it, or else the other."""

Maker: TypeAlias = Callable[[], Invocation | None]
"""Of a request; None: there is none of that kind to make."""


def stale_request(
    log: ReplayLog, brokers: SyntheticBrokers, rng: random.Random, now_ns: int
) -> Invocation | None:
    """A request that is to be refused, of a kind drawn among those that can be made."""
    stale = [each for each in log.fenced if each.surely_stale(brokers)]
    if rng.random() < MEMBERS_SHARE:
        members: list[Maker] = [
            lambda: _unfit_member(brokers, rng, now_ns),
            lambda: _stale_member(stale, brokers, rng),
        ]
        if (wrong := _any_of(members, rng)) is not None:
            return wrong
    fenced = rng.choice(stale) if stale else None
    kinds: list[Maker] = [
        lambda: _stale_version(brokers, rng),
        lambda: _stale_leader_epoch(brokers, rng),
        lambda: _replayed_change(log.changes, rng),
    ]
    if fenced is not None:
        kinds += [
            lambda: _heartbeat(fenced, "active", now_ns),
            lambda: _heartbeat(fenced, "leaving", now_ns),
            lambda: _replayed_heartbeat(fenced),
            lambda: _stale_leader(fenced, brokers, rng),
        ]
    return _any_of(kinds, rng)


def _any_of(makers: list[Maker], rng: random.Random) -> Invocation | None:
    """What the first of them can make, in an order that is drawn."""
    rng.shuffle(makers)
    made = (make() for make in makers)
    return next((each for each in made if each is not None), None)


# --- of fenced incarnations ---------------------------------------------------------------


def _heartbeat(fenced: FencedIncarnation, target: BrokerState, now_ns: int) -> Invocation:
    request = Heartbeat(
        broker_id=fenced.broker_id,
        broker_epoch=fenced.epoch,
        previous_epoch=NO_EPOCH,
        target=target,
        incarnation=fenced.incarnation,
        offset=OFFSET,
        lease_start_ms=now_ns // NS_PER_MS,
    )
    return _stale_heartbeat(request, fenced.why)


def _replayed_heartbeat(fenced: FencedIncarnation) -> Invocation | None:
    return None if fenced.granted is None else _stale_heartbeat(fenced.granted, REPLAY)


def _stale_heartbeat(request: Heartbeat, why: str) -> Invocation:
    value = replace(request, zombie=why, stale=("broker_epoch",)).to_json()
    return op("heartbeat", key=broker_key(request.broker_id), value=value)


def _stale_leader(
    fenced: FencedIncarnation, brokers: SyntheticBrokers, rng: random.Random
) -> Invocation | None:
    """An ISR change by the former incarnation of a broker, if possible of one that leads again:
    then nothing but the broker epoch is wrong with it."""
    everywhere = list(brokers.topic.partitions.values())
    led = [each for each in everywhere if each.leader == fenced.broker_id]
    if not everywhere:
        return None
    partition = rng.choice(led or everywhere)
    honest = _honest(partition, brokers, rng)
    change = replace(honest, broker_id=fenced.broker_id, broker_epoch=fenced.epoch)
    return _stale_change(partition.key, change, fenced.why, "broker_epoch")


# --- for an ISR with somebody who may be in none ------------------------------------------


def _stale_member(
    stale: Sequence[FencedIncarnation], brokers: SyntheticBrokers, rng: random.Random
) -> Invocation | None:
    """An honest ISR change but that it names a member by the epoch of a former life (KIP-903): one
    that serves again, so that nothing else is wrong with it."""
    members = eligible(brokers.by_id.values())
    able = [each for each in stale if each.broker_id in members]
    if not able or not brokers.names_members:
        return None
    former = rng.choice(able)
    partition = _led(brokers, rng, lambda each: each.fresh and each.leader != former.broker_id)
    if partition is None:
        return None
    change = _with_member(_honest(partition, brokers, rng), former.broker_id, former.epoch)
    if set(change.isr) == set(partition.isr):
        return None  # a success that changes nothing is no new version to every system
    return _stale_change(partition.key, change, former.why, "isr_epochs")


def _unfit_member(brokers: SyntheticBrokers, rng: random.Random, now_ns: int) -> Invocation | None:
    """An honest ISR change but that it takes in a broker that is fenced or leaves (KIP-841)."""
    standings = {each: own.out_of_service(now_ns) for each, own in brokers.by_id.items()}
    out = [(each, *standing) for each, standing in standings.items() if standing is not None]
    if not out:
        return None
    broker_id, own, why = rng.choice(out)
    epoch = own if brokers.names_members else NO_EPOCH
    partition = _led(brokers, rng, lambda each: each.fresh and broker_id in each.replicas)
    if partition is None:
        return None
    change = _with_member(_honest(partition, brokers, rng), broker_id, epoch)
    if set(change.isr) == set(partition.isr):
        return None
    return op("alter-isr", key=partition.key, value=replace(change, zombie=why).to_json())


def _with_member(change: AlterIsr, broker_id: int, epoch: int) -> AlterIsr:
    members = {**dict(zip(change.isr, change.isr_epochs, strict=True)), broker_id: epoch}
    return replace(change, isr=tuple(members), isr_epochs=tuple(members.values()))


# --- recorded before things moved on ------------------------------------------------------


def _replayed_change(changes: Sequence[Event], rng: random.Random) -> Invocation | None:
    """An accepted change once more: its success made its version stale."""
    if not changes:
        return None
    change = rng.choice(changes)
    return _stale_change(change.key, AlterIsr.from_json(change.value), REPLAY, "partition_epoch")


def _stale_leader_epoch(brokers: SyntheticBrokers, rng: random.Random) -> Invocation | None:
    """By the leader, with the version as it is, but in an epoch that is over."""
    partition = _led(brokers, rng, lambda each: each.leader_epoch > 0)
    if partition is None:
        return None
    leader_epoch = rng.randrange(partition.leader_epoch)
    change = replace(_honest(partition, brokers, rng), leader_epoch=leader_epoch)
    return _stale_change(partition.key, change, REPLAY, "leader_epoch")


def _stale_version(brokers: SyntheticBrokers, rng: random.Random) -> Invocation | None:
    """By the leader in its epoch, but with a version that is over."""
    partition = _led(brokers, rng, lambda each: each.partition_epoch > 0)
    if partition is None:
        return None
    oldest = max(0, partition.partition_epoch - 3)
    partition_epoch = rng.randrange(oldest, partition.partition_epoch)
    change = replace(_honest(partition, brokers, rng), partition_epoch=partition_epoch)
    return _stale_change(partition.key, change, REPLAY, "partition_epoch")


def _led(
    brokers: SyntheticBrokers, rng: random.Random, suits: Callable[[Partition], bool]
) -> Partition | None:
    """A partition with a leader that is active, of those that suit."""
    members = eligible(brokers.by_id.values())
    led = [each for each in brokers.topic.partitions.values() if each.leader in members]
    found = [each for each in led if suits(each)]
    return rng.choice(found) if found else None


def _honest(partition: Partition, brokers: SyntheticBrokers, rng: random.Random) -> AlterIsr:
    """An ISR change with all that is known now."""
    members = eligible(brokers.by_id.values())
    isr = propose(partition, members, rng)
    return brokers.change(partition, isr, members)


def _stale_change(key: str, change: AlterIsr, why: str, number: str) -> Invocation:
    value = replace(change, zombie=why, stale=(number,)).to_json()
    return op("alter-isr", key=key, value=value)
