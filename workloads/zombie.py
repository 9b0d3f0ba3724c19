"""Zombies: incarnations of brokers that are over, and requests recorded earlier, come back.

Synthetic brokers (ids 201, 202, 203) lead partitions and work as in `isr`. In turn
one of them is *replaced* (a new process takes its id while the old one goes on), *killed* (a
new process comes after a moment), *paused* for longer than its lease, as by a long garbage
collection, and gets a new epoch when it comes back, or has *left* (controlled shutdown), and a new
process comes. From then on its former epoch's heartbeats, ISR changes and shutdown requests keep
coming while the new one works, together with accepted requests sent once more and requests with a
leader epoch or version that is over. And leaders ask for ISRs with a member by its former epoch, or
with one that is out of service: it leaves, or has registered and rests before it asks to be active.
All of them must be refused. The client does not judge: where the node accepts one, it reports ok.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from framework.generators import Context, Generator, Offer, Pending, assign
from framework.history.event import Event, Invocation
from framework.plugins.workload import WorkloadOptions
from workloads.base import VERSIONED_READ, KafkaWorkload
from workloads.kafka.operations.brokers import NO_EPOCH, AlterIsr, Heartbeat
from workloads.options import at_least
from workloads.synthetic.broker import NS_PER_MS, Broker
from workloads.synthetic.brokers import SyntheticBrokers, synthetic_brokers
from workloads.synthetic.partition import eligible
from workloads.synthetic.stale_requests import FencedIncarnation, ReplayLog, stale_request

FIRST_ID: Final = 201
CHANGES_A_TOPIC: Final = 600
FATES: Final = ("replaced", "killed", "paused", "left")
SHORTEST_GAP_MS, LONGEST_GAP_MS = 1500, 3000
"""Between one incarnation's end and the next one's."""
SHORTEST_RESTART_MS, LONGEST_RESTART_MS = 300, 1200
SHORTEST_REST_MS, LONGEST_REST_MS = 700, 1500
"""How long a new process is registered before it asks to be active, and others rest."""
LEAVES_MS: Final = 4000
"""How long one waits to be let go."""
OVERSLEPT_MS: Final = 1500
"""How long a pause outlasts the lease."""
ZOMBIE_SHARE: Final = 0.5
DESCRIBE_SHARE: Final = 0.1
RIVAL_SHARE: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ZombieOptions:
    """`brokers`: synthetic ones, 2 or more. `partitions`: of each topic on them."""

    brokers: int = 3
    partitions: int = 3

    def __post_init__(self) -> None:
        at_least(2, brokers=self.brokers)
        at_least(1, partitions=self.partitions)


class Zombie(KafkaWorkload):
    """The `zombie` workload."""

    Options = ZombieOptions
    name: str = "zombie"
    requires: frozenset[str] = frozenset({"kafka-topics", VERSIONED_READ, "synthetic-brokers"})
    provides: frozenset[str] = frozenset({"isr-changes", "zombie-requests"})
    min_threads: int = 2

    def __init__(self, options: ZombieOptions | None = None) -> None:
        super().__init__()
        self._options = options or ZombieOptions()

    def generator(self, options: WorkloadOptions) -> Generator:
        return Zombies(
            brokers=synthetic_brokers(
                options,
                topic="zombie",
                broker_ids=range(FIRST_ID, FIRST_ID + self._options.brokers),
                partitions=self._options.partitions,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Zombies:
    """Endless. `granted`: for each id the last heartbeat that was granted under an epoch, as it
    was sent. `turn`: how many incarnations were ended; `turn_ns`: when the next one is, or None:
    as soon as all work."""

    brokers: SyntheticBrokers
    log: ReplayLog = field(default_factory=ReplayLog)
    granted: Mapping[int, Heartbeat] = field(default_factory=dict)
    turn: int = 0
    turn_ns: int | None = None
    taken: int = 0

    def offer(self, context: Context) -> Offer:
        turned = self._turned(context)
        template = turned._next(context.rng(self.taken), context.time)
        if template is None:
            return Offer(Pending(turned.brokers.next_due_ns(context.time)), turned)
        chosen = assign(context.fork(self.taken), template)
        if isinstance(chosen, Pending):
            return Offer(chosen, turned)
        return Offer(chosen, replace(turned, taken=self.taken + 1))

    def _next(self, rng: random.Random, now_ns: int) -> Invocation | None:
        urgent = self.brokers.due_heartbeat(now_ns) or self.brokers.upkeep(now_ns)
        if urgent is not None:
            return urgent
        if rng.random() < ZOMBIE_SHARE:
            stale = stale_request(self.log, self.brokers, rng, now_ns)
            if stale is not None:
                return stale
        if self.brokers.topic.partitions and rng.random() < DESCRIBE_SHARE:
            return self.brokers.describe()
        honest = self.brokers.alter(rng, rival=rng.random() < RIVAL_SHARE)
        # Where nobody can lead honestly, others come all the same.
        return honest or stale_request(self.log, self.brokers, rng, now_ns)

    # --- ending incarnations --------------------------------------------------------------

    def _turned(self, context: Context) -> Zombies:
        """After the end of one, where that is due: of a broker that works, while another one
        does, so that there is somebody to lead instead."""
        now_ns, brokers = context.time, self.brokers.by_id
        early = self.turn_ns is not None and now_ns < self.turn_ns
        if early or not self.brokers.topic.partitions:
            return self
        working = eligible(brokers.values())
        victims = [brokers[each] for each in sorted(working) if not brokers[each].asking]
        if len(working) < 2 or not victims:
            return self
        rng = context.rng(-1 - self.turn)
        fate, rest_ms = (
            FATES[self.turn % len(FATES)],
            rng.randint(SHORTEST_REST_MS, LONGEST_REST_MS),
        )
        victim = replace(rng.choice(victims), rest_ns=rest_ms * NS_PER_MS)
        gap_ms = rng.randint(SHORTEST_GAP_MS, LONGEST_GAP_MS)
        ended = replace(self, turn=self.turn + 1, turn_ns=now_ns + gap_ms * NS_PER_MS)
        if fate == "paused":
            back_ns = victim.lease_end_ns + OVERSLEPT_MS * NS_PER_MS
            asleep = replace(victim, active=False, due_ns=max(back_ns, now_ns))
            return replace(ended, brokers=self.brokers.with_broker(asleep))
        if fate == "left":
            ends_ns = now_ns + LEAVES_MS * NS_PER_MS
            leaver = replace(victim, active=False, due_ns=now_ns, ends_ns=ends_ns)
            return replace(ended, brokers=self.brokers.with_broker(leaver))
        restart_ms = rng.randint(SHORTEST_RESTART_MS, LONGEST_RESTART_MS)
        heir = victim.restarted(now_ns + (restart_ms * NS_PER_MS if fate == "killed" else 0))
        log = self.log.with_fenced(self._fenced(victim, victim.epoch, fate))
        return replace(ended, brokers=self.brokers.with_broker(heir), log=log)

    def _fenced(self, broker: Broker, epoch: int, why: str) -> FencedIncarnation:
        granted = self.granted.get(broker.broker_id)
        return FencedIncarnation(
            broker_id=broker.broker_id,
            epoch=epoch,
            incarnation=broker.incarnation(self.brokers.seed),
            why=why,
            granted=granted if granted and granted.broker_epoch == epoch else None,
        )

    # --- learning -------------------------------------------------------------------------

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke":
            return replace(self, brokers=self.brokers.invoked(event))
        after, asked = self.brokers.completed(event, context.time)
        if asked is None:
            return self
        learned = replace(self, brokers=after.turned_over(CHANGES_A_TOPIC))
        if asked.f == "heartbeat":
            learned = learned._gone(self.brokers.by_id[Heartbeat.from_json(asked.value).broker_id])
        if event.type != "ok":
            return learned
        if asked.f == "alter-isr" and AlterIsr.from_json(asked.value).zombie is None:
            return replace(learned, log=self.log.with_change(asked))
        if asked.f == "heartbeat":
            heartbeat = Heartbeat.from_json(asked.value)
            if heartbeat.zombie is None:
                return learned._granted(heartbeat, self.brokers.by_id[heartbeat.broker_id])
        return learned

    def _gone(self, before: Broker) -> Zombies:
        """After a heartbeat of a broker. One that left has ended where another process is next."""
        after = self.brokers.by_id[before.broker_id]
        if before.ends_ns is None or before.epoch == NO_EPOCH or after.number == before.number:
            return self
        return replace(self, log=self.log.with_fenced(self._fenced(before, before.epoch, "left")))

    def _granted(self, asked: Heartbeat, before: Broker) -> Zombies:
        """After an honest heartbeat was granted. An epoch that its incarnation lost by it is
        over."""
        now = self.brokers.by_id[before.broker_id]
        learned = self
        lost = before.previous
        if now.number == before.number and NO_EPOCH < lost < now.epoch:
            log = self.log.with_fenced(self._fenced(now, lost, "paused"))
            learned = replace(self, log=log)
        return replace(learned, granted={**self.granted, before.broker_id: asked})
