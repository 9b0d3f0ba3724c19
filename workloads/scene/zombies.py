"""Requests that must be refused: from lives that are over, or recorded before things moved on.

Each rests on an acknowledgement: a broker epoch is stale only where a greater one of the same
id was acknowledged, a leader epoch or version only where a later one of the same partition was.
So a request made here is certainly stale when it is invoked, whatever else is under way.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from framework.generators import op
from framework.history.event import Event
from workloads.scene.broker import NS_PER_MS, OFFSET, key_of
from workloads.scene.partition import Partition, alter, eligible, propose
from workloads.scene.scene import Scene


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghost:
    """An epoch that a broker id worked under. `why` it is over: "replaced", "killed", "paused".
    `granted`: the last heartbeat that was granted under it, as it was sent."""

    broker_id: int
    epoch: int
    incarnation: str
    why: str
    granted: dict[str, Any] | None = None

    def surely_stale(self, scene: Scene) -> bool:
        """A greater epoch of this id was acknowledged."""
        return scene.brokers[self.broker_id].newest > self.epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What zombies are made of. `ghosts`: the newest last. `changes`: ISR changes that were
    accepted, as they were sent, the newest last."""

    ghosts: tuple[Ghost, ...] = ()
    changes: tuple[Event, ...] = ()

    def with_ghost(self, ghost: Ghost) -> Past:
        return replace(self, ghosts=(*self.ghosts, ghost)[-MOST_GHOSTS:])

    def with_change(self, change: Event) -> Past:
        return replace(self, changes=(*self.changes, change)[-MOST_CHANGES:])


MOST_GHOSTS: Final = 12
MOST_CHANGES: Final = 24


def zombie(past: Past, scene: Scene, rng: random.Random, now_ns: int) -> Event | None:
    """A request that is certainly stale now, of a kind drawn among those that can be made."""
    stale = [ghost for ghost in past.ghosts if ghost.surely_stale(scene)]
    ghost = rng.choice(stale) if stale else None
    kinds: list[Callable[[], Event | None]] = [
        lambda: _stale_version(scene, rng),
        lambda: _stale_leader_epoch(scene, rng),
        lambda: _replayed_change(past.changes, rng),
    ]
    if ghost is not None:
        kinds += [
            lambda: _heartbeat(ghost, "ACTIVE", now_ns),
            lambda: _heartbeat(ghost, "SHUTDOWN", now_ns),
            lambda: _replayed_heartbeat(ghost),
            lambda: _stale_leader(ghost, scene, rng),
        ]
    rng.shuffle(kinds)
    made = (make() for make in kinds)
    return next((each for each in made if each is not None), None)


# --- from lives that are over -------------------------------------------------------------


def _heartbeat(ghost: Ghost, target: str, now_ns: int) -> Event:
    value = {
        "broker_id": ghost.broker_id,
        "broker_epoch": ghost.epoch,
        "previous_epoch": -1,
        "target": target,
        "incarnation": ghost.incarnation,
        "offset": OFFSET,
        "lease_start_ms": now_ns // NS_PER_MS,
    }
    return _heartbeat_op(value, ghost.why, ["broker_epoch"])


def _replayed_heartbeat(ghost: Ghost) -> Event | None:
    if ghost.granted is None:
        return None
    return _heartbeat_op(ghost.granted, "replay", ["broker_epoch"])


def _heartbeat_op(value: dict[str, Any], why: str, stale: Sequence[str]) -> Event:
    value = {**value, "zombie": why, "stale": stale}
    return op("heartbeat", key=key_of(value["broker_id"]), value=value)


def _stale_leader(ghost: Ghost, scene: Scene, rng: random.Random) -> Event | None:
    """An ISR change by the former life of a broker, if possible of one that leads again: then
    nothing but the broker epoch is wrong with it."""
    everywhere = list(scene.topic.partitions.values())
    led = [each for each in everywhere if each.leader == ghost.broker_id]
    if not everywhere:
        return None
    partition = rng.choice(led or everywhere)
    changed = {"broker_id": ghost.broker_id, "broker_epoch": ghost.epoch}
    return _change(partition, scene, rng, changed, ghost.why, ["broker_epoch"])


# --- recorded before things moved on ------------------------------------------------------


def _replayed_change(changes: Sequence[Event], rng: random.Random) -> Event | None:
    """An accepted change once more: its success made its version stale."""
    if not changes:
        return None
    change = rng.choice(changes)
    value = {**change.value, "zombie": "replay", "stale": ["partition_epoch"]}
    return op("alter-isr", key=change.key, value=value)


def _stale_leader_epoch(scene: Scene, rng: random.Random) -> Event | None:
    """By the leader, with the version as it is, but in an epoch that is over."""
    partition = _led(scene, rng, lambda each: each.leader_epoch > 0)
    if partition is None:
        return None
    changed = {"leader_epoch": rng.randrange(partition.leader_epoch)}
    return _change(partition, scene, rng, changed, "replay", ["leader_epoch"])


def _stale_version(scene: Scene, rng: random.Random) -> Event | None:
    """By the leader in its epoch, but with a version that is over."""
    partition = _led(scene, rng, lambda each: each.partition_epoch > 0)
    if partition is None:
        return None
    oldest = max(0, partition.partition_epoch - 3)
    changed = {"partition_epoch": rng.randrange(oldest, partition.partition_epoch)}
    return _change(partition, scene, rng, changed, "replay", ["partition_epoch"])


def _led(scene: Scene, rng: random.Random, suits: Callable[[Partition], bool]) -> Partition | None:
    """A partition with a leader that is active, of those that suit."""
    members = eligible(scene.brokers.values())
    found = [
        each for each in scene.topic.partitions.values() if each.leader in members and suits(each)
    ]
    return rng.choice(found) if found else None


def _change(
    partition: Partition,
    scene: Scene,
    rng: random.Random,
    changed: dict[str, Any],
    why: str,
    stale: Sequence[str],
) -> Event:
    """An ISR change that would be honest, but for what is `changed`."""
    members = eligible(scene.brokers.values())
    isr = propose(partition, members, rng)
    honest = alter(partition, isr, members, members.get(partition.leader, -1))
    value = {**honest, **changed, "zombie": why, "stale": stale}
    return op("alter-isr", key=partition.key, value=value)
