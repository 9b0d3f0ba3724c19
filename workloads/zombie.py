"""Zombies: lives of brokers that are over, and requests recorded earlier, come back.

Brokers of the workload's own (ids 201, 202, 203) lead partitions and work as in `isr`. In turn
one of them is *replaced* (a new process takes its id while the old one goes on), *killed* (a
new process comes after a moment), or *paused* for longer than its lease, as by a long garbage
collection, and gets a new epoch when it comes back. From then on its former epoch's heartbeats,
ISR changes and shutdown requests keep coming while the new life works, together with accepted
requests sent once more and requests with a leader epoch or version that is over. All of them
must be refused. The client does not judge: where the node accepts one, it reports ok.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from framework.generators import Context, Generator, Offer, Pending, assign
from framework.history.event import Event
from framework.plugins.workload import WorkloadOptions
from workloads.base import KafkaWorkload
from workloads.scene.broker import NS_PER_MS, Broker
from workloads.scene.partition import eligible
from workloads.scene.scene import Scene, scene
from workloads.scene.zombies import Ghost, Past, zombie

BROKER_IDS: Final = (201, 202, 203)
PARTITIONS: Final = 3
CHANGES_A_TOPIC: Final = 600
FATES: Final = ("replaced", "killed", "paused")
SHORTEST_GAP_MS, LONGEST_GAP_MS = 1500, 3000
"""Between one life's end and the next one's."""
SHORTEST_RESTART_MS, LONGEST_RESTART_MS = 300, 1200
OVERSLEPT_MS: Final = 1500
"""How long a pause outlasts the lease."""
ZOMBIE_SHARE: Final = 0.5
DESCRIBE_SHARE: Final = 0.1
RIVAL_SHARE: Final = 0.1


class Zombie(KafkaWorkload):
    """The `zombie` workload."""

    name: str = "zombie"
    requires: frozenset[str] = frozenset({"kafka-topics", "synthetic-brokers"})
    provides: frozenset[str] = frozenset({"isr-changes", "zombie-requests"})
    min_roles: Mapping[str, int] = {"controller": 1, "broker": 1}
    min_threads: int = 2

    def generator(self, options: WorkloadOptions) -> Generator:
        return Zombies(
            scene=scene(
                seed=options.seed,
                rate=options.rate,
                topic="zombie",
                broker_ids=BROKER_IDS,
                partitions=PARTITIONS,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Zombies:
    """Endless. `granted`: for each id the last heartbeat that was granted under an epoch, as it
    was sent. `turn`: how many lives were ended; `turn_ns`: when the next one is, or None: as
    soon as all work."""

    scene: Scene
    past: Past = field(default_factory=Past)
    granted: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    turn: int = 0
    turn_ns: int | None = None
    taken: int = 0

    def offer(self, context: Context) -> Offer:
        turned = self._turned(context)
        template = turned._next(context.rng(self.taken), context.time)
        if template is None:
            return Offer(Pending(turned.scene.next_due_ns()), turned)
        chosen = assign(context.fork(self.taken), template)
        if isinstance(chosen, Pending):
            return Offer(chosen, turned)
        return Offer(chosen, replace(turned, taken=self.taken + 1))

    def _next(self, rng: random.Random, now_ns: int) -> Event | None:
        urgent = self.scene.due_heartbeat(now_ns) or self.scene.upkeep()
        if urgent is not None:
            return urgent
        back = zombie(self.past, self.scene, rng, now_ns) if rng.random() < ZOMBIE_SHARE else None
        if back is not None:
            return back
        if self.scene.topic.partitions and rng.random() < DESCRIBE_SHARE:
            return self.scene.describe()
        return self.scene.alter(rng, rival=rng.random() < RIVAL_SHARE)

    # --- ending lives ---------------------------------------------------------------------

    def _turned(self, context: Context) -> Zombies:
        """After the end of a life, where one is due: of a broker that works, while another one
        does, so that there is somebody to lead instead."""
        now_ns, brokers = context.time, self.scene.brokers
        if not self.scene.topic.partitions or (self.turn_ns is not None and now_ns < self.turn_ns):
            return self
        working = eligible(brokers.values())
        victims = [brokers[each] for each in sorted(working) if not brokers[each].asking]
        if len(working) < 2 or not victims:
            return self
        rng = context.rng(-1 - self.turn)
        victim, fate = rng.choice(victims), FATES[self.turn % len(FATES)]
        gap_ms = rng.randint(SHORTEST_GAP_MS, LONGEST_GAP_MS)
        ended = replace(self, turn=self.turn + 1, turn_ns=now_ns + gap_ms * NS_PER_MS)
        if fate == "paused":
            back_ns = victim.lease_end_ns + OVERSLEPT_MS * NS_PER_MS
            asleep = replace(victim, active=False, due_ns=max(back_ns, now_ns))
            return replace(ended, scene=self.scene.with_broker(asleep))
        restart_ms = rng.randint(SHORTEST_RESTART_MS, LONGEST_RESTART_MS)
        heir = victim.reborn(now_ns + (restart_ms * NS_PER_MS if fate == "killed" else 0))
        past = self.past.with_ghost(self._ghost(victim, victim.epoch, fate))
        return replace(ended, scene=self.scene.with_broker(heir), past=past)

    def _ghost(self, broker: Broker, epoch: int, why: str) -> Ghost:
        granted = self.granted.get(broker.broker_id)
        return Ghost(
            broker_id=broker.broker_id,
            epoch=epoch,
            incarnation=broker.incarnation(self.scene.seed),
            why=why,
            granted=granted if granted and granted["broker_epoch"] == epoch else None,
        )

    # --- learning -------------------------------------------------------------------------

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke":
            return replace(self, scene=self.scene.invoked(event))
        after, asked = self.scene.completed(event, context.time)
        if asked is None:
            return self
        learned = replace(self, scene=after.turned_over(CHANGES_A_TOPIC))
        if event.type != "ok" or asked.f not in ("heartbeat", "alter-isr"):
            return learned
        if asked.value["zombie"] is not None:
            return learned
        if asked.f == "alter-isr":
            return replace(learned, past=self.past.with_change(asked))
        return learned._granted(asked.value, before=self.scene.brokers[asked.value["broker_id"]])

    def _granted(self, asked: dict[str, Any], before: Broker) -> Zombies:
        """After an honest heartbeat was granted. An epoch that its life lost by it is over."""
        now = self.scene.brokers[before.broker_id]
        learned = self
        lost = before.previous
        if now.life == before.life and -1 < lost < now.epoch:
            learned = replace(self, past=self.past.with_ghost(self._ghost(now, lost, "paused")))
        return replace(learned, granted={**self.granted, before.broker_id: asked})
