"""What one seed stands for: a cluster, how hostile its world is, and everything that is done to it.

A `Schedule` is a value: the faults and operations in the order of their times, all drawn before
the run begins, so that any of them can be left out and the rest be played again. What the network
does to single messages (`Mishap`) is drawn from streams a link as the run goes; a run writes them
down, and a schedule that brings its own list plays exactly those.

Times are ms of simulated time. A victim is a machine's key, or `LEADER`: whoever leads then.
"""

import random
from dataclasses import dataclass, fields
from typing import Final, TypeAlias

LEADER: Final = 0
TWIN: Final = 100
"""Added to a broker's key: the machine of another process with the same broker id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """How large and how hostile a world is.

    `late`, `lost`, `twice`: the share of messages that arrive much later (up to `late_ms`), never,
    or two times. `batches_a_fetch` bounds a Fetch's answer. `drift_ppm`: clocks run fast or slow
    by up to that much. `combined`: controllers are brokers, too. A snapshot is fetched in
    pieces of `chunk_bytes`; the nodes write one after `snapshot_records`. `faults`, `operations`,
    `snapshots` (that somebody asks for): how many of each there are; `reads`: the share of
    describes among the operations. `data`: brokers replicate what producers send; then no disk
    is lost, and the ISR is their own affair.
    """

    voters: int = 3
    brokers: int = 3
    combined: bool = False
    delay_ms: int = 5
    late: float = 0.0
    late_ms: int = 400
    lost: float = 0.0
    twice: float = 0.0
    batches_a_fetch: int = 1
    sync_ms: int = 5
    drift_ppm: int = 0
    prevote: bool = True
    chunk_bytes: int = 500
    snapshots: int = 2
    snapshot_records: int = 12
    deferred_takeover: bool = False
    metadata_format: int = 0
    data: bool = False
    min_isr: int = 1
    lease_ms: int = 2000
    faults: int = 6
    operations: int = 40
    reads: float = 0.25
    duration_ms: int = 4000

    @classmethod
    def draw(cls, rng: random.Random, voters: int | None, brokers: int | None) -> "Profile":
        return cls(
            voters=voters or rng.choice((1, 2, 3, 3, 3, 3, 4, 5)),
            brokers=brokers or rng.choice((1, 2, 3, 3)),
            combined=rng.random() < 0.15,
            delay_ms=rng.choice((3, 10, 40)),
            late=rng.choice((0.0, 0.01, 0.05)),
            late_ms=rng.choice((100, 400, 2500)),
            lost=rng.choice((0.0, 0.0, 0.02, 0.08)),
            twice=rng.choice((0.0, 0.0, 0.03)),
            batches_a_fetch=rng.choice((1, 1, 100)),
            sync_ms=rng.choice((1, 10, 50)),
            drift_ppm=rng.choice((0, 0, 1000, 20_000)),
            prevote=rng.random() < 0.7,
            chunk_bytes=rng.choice((300, 2000)),
            snapshots=rng.choice((0, 3)),
            snapshot_records=rng.choice((5, 15, 1000)),
            deferred_takeover=rng.random() < 0.2,
            metadata_format=rng.choice((0, 1)),
            data=rng.random() < 0.25,
            min_isr=rng.choice((1, 2)),
            lease_ms=rng.choice((1200, 2000)),
            faults=rng.choice((3, 8, 14)),
            operations=rng.choice((20, 35, 50)),
        )

    @property
    def voter_keys(self) -> tuple[int, ...]:
        return tuple(range(1, self.voters + 1))

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(range(11, 11 + self.brokers))


# --- what is done to the cluster ----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """The process dies, or, where `amid` is not -1, in the middle of a step: after so many more
    effects of its Raft core. Of what it had not synced, about the share `keep` survives; it is
    back after `down_ms`. `wipe`: with an empty disk (a broker's; a voter's would break Raft)."""

    at: int
    victim: int
    down_ms: int
    keep: float
    wipe: bool = False
    amid: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The process stands still; its clock runs on."""

    at: int
    victim: int
    for_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Links are dead. `shape`: "isolate", "out" or "in" of the victim, or "halves": the machines
    whose bits in `mask` differ."""

    at: int
    victim: int
    for_ms: int
    shape: str
    mask: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resign:
    """The raft leader gives up its epoch."""

    at: int
    victim: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """SIGTERM: a broker drains first, a leader hands over. It comes back later."""

    at: int
    victim: int
    down_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Replace:
    """Another process with the same broker id starts on a machine of its own, while the first
    one may live on."""

    at: int
    victim: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeSnapshot:
    """A node writes a snapshot of what it has applied."""

    at: int
    victim: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A client, if it is idle, creates, deletes or describes a topic. `via`: a broker (or, for
    describe, a controller), by number."""

    at: int
    client: int
    f: str
    topic: str
    via: int
    partitions: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Produce:
    """A producer sends a record, acks=all, to the `pick`-th partition that a broker leads."""

    at: int
    victim: int
    pick: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IsrChange:
    """A broker that leads partitions asks for another ISR of the `pick`-th of them. `how`:
    "shrink", "grow", or what a zombie would send: "old-leader-epoch", "old-broker-epoch"."""

    at: int
    victim: int
    pick: int
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Administer:
    """A broker asks for a block of producer ids, for more partitions of a topic, or for another
    configuration of it: "producer-ids", "partitions", "config"; or for other replicas of the
    `pick`-th partition that it knows: "reassign"."""

    at: int
    victim: int
    what: str
    topic: str
    pick: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleHeartbeat:
    """A heartbeat that a broker's earlier life might have left in the network."""

    at: int
    victim: int
    pick: int
    target: int


Item: TypeAlias = (
    Crash
    | Pause
    | Cut
    | Resign
    | Drain
    | Replace
    | TakeSnapshot
    | Operation
    | Produce
    | IsrChange
    | Administer
    | StaleHeartbeat
)


@dataclass(frozen=True, slots=True)
class Mishap:
    """What became of the `number`-th message from `sender` to `receiver`: "lost", "twice" or
    "late" (by `late_ms`). `at` is when it was sent, for people."""

    sender: int
    receiver: int
    number: int
    kind: str
    late_ms: int = 0
    at: int = 0


@dataclass(frozen=True, slots=True)
class Schedule:
    """One run. `mishaps` None: drawn as the run goes."""

    seed: int
    profile: Profile
    items: tuple[Item, ...]
    mishaps: tuple[Mishap, ...] | None = None


TOPICS: Final = ("a", "b")
CHANGES: Final = ("create", "create", "delete")
CLIENTS: Final = 3
MOVES_SHARE: Final = 2
"""Of so many operations one gives a partition other replicas, beside them."""
ZOMBIES: Final = ("old-leader-epoch", "old-broker-epoch")


def draw(
    seed: int,
    *,
    voters: int | None = None,
    brokers: int | None = None,
    profile: Profile | None = None,
) -> Schedule:
    """The schedule of a seed. `profile` None: drawn, too."""
    rng = random.Random(seed)
    profile = profile or Profile.draw(rng, voters, brokers)
    items: list[Item] = []
    for _ in range(profile.operations):
        items.append(_operation(rng, profile))
    for _ in range(profile.operations // 2):
        items.append(_broker_traffic(rng, profile))
    if profile.data:
        items += [_produce(rng, profile) for _ in range(profile.operations)]
    for _ in range(profile.snapshots):
        victim = rng.choice((LEADER, *profile.voter_keys, *profile.broker_ids))
        items.append(TakeSnapshot(at=_time(rng, profile, 500), victim=victim))
    for _ in range(profile.faults):
        items.extend(_fault(rng, profile))
    items += [_move(rng, profile) for _ in range(profile.operations // MOVES_SHARE)]
    return Schedule(seed, profile, tuple(sorted(items, key=lambda item: item.at)))


def _time(rng: random.Random, profile: Profile, first_ms: int) -> int:
    return rng.randrange(first_ms, profile.duration_ms)


def _operation(rng: random.Random, profile: Profile) -> Operation:
    return Operation(
        at=_time(rng, profile, 300),
        client=rng.randrange(CLIENTS),
        f="describe" if rng.random() < profile.reads else rng.choice(CHANGES),
        topic=rng.choice(TOPICS),
        via=rng.randrange(60),
        partitions=rng.choice((1, 2)),
    )


def _broker_traffic(rng: random.Random, profile: Profile) -> Item:
    at, victim, pick = _time(rng, profile, 500), rng.choice(profile.broker_ids), rng.randrange(60)
    kind = rng.random()
    if kind < 0.2:
        return StaleHeartbeat(at=at, victim=victim, pick=pick, target=rng.choice((1, 2, 3, 4)))
    if kind < 0.4:
        what, topic = rng.choice(("producer-ids", "partitions", "config")), rng.choice(TOPICS)
        return Administer(at=at, victim=victim, what=what, topic=topic, pick=pick)
    how = rng.choice(ZOMBIES if profile.data else (*ZOMBIES, "shrink", "shrink", "grow", "grow"))
    return IsrChange(at=at, victim=victim, pick=pick, how=how)


def _move(rng: random.Random, profile: Profile) -> Administer:
    at, victim = _time(rng, profile, 700), rng.choice(profile.broker_ids)
    return Administer(at=at, victim=victim, what="reassign", topic="", pick=rng.randrange(1000))


def _produce(rng: random.Random, profile: Profile) -> Produce:
    at = _time(rng, profile, 800)
    return Produce(at=at, victim=rng.choice(profile.broker_ids), pick=rng.randrange(60))


def _fault(rng: random.Random, profile: Profile) -> list[Item]:
    at = _time(rng, profile, 0)
    broker = rng.choice(profile.broker_ids)
    controller = LEADER if rng.random() < 0.6 else rng.choice(profile.voter_keys)
    anyone = controller if rng.random() < 0.6 else broker
    keep = rng.choice((0.0, 0.0, 0.5, 1.0))
    match rng.choice(
        ("crash", "crash", "bounce", "pause", "cut", "cut", "resign", "drain", "twin")
    ):
        case "crash":
            wipe = anyone == broker and rng.random() < 0.3 and not profile.data
            down_ms = rng.randrange(20, 1500)
            amid = -1 if rng.random() < 0.4 else rng.randrange(12)
            return [Crash(at=at, victim=anyone, down_ms=down_ms, keep=keep, wipe=wipe, amid=amid)]
        case "bounce":
            gap_ms = rng.randrange(5, 200)
            return [
                Crash(at=at, victim=broker, down_ms=gap_ms // 2, keep=keep),
                Crash(at=at + gap_ms, victim=broker, down_ms=rng.randrange(1, 100), keep=keep),
            ]
        case "pause":
            return [Pause(at=at, victim=anyone, for_ms=rng.randrange(50, profile.lease_ms * 2))]
        case "cut":
            return [
                Cut(
                    at=at,
                    victim=anyone,
                    for_ms=rng.randrange(50, 2500),
                    shape=rng.choice(("isolate", "isolate", "halves", "out", "in")),
                    mask=rng.getrandbits(16),
                )
            ]
        case "resign":
            return [Resign(at=at, victim=LEADER)]
        case "drain":
            return [Drain(at=at, victim=anyone, down_ms=rng.randrange(20, 1000))]
        case _:
            return [] if profile.data else [Replace(at=at, victim=broker)]


def described(item: Item | Mishap) -> str:
    """A line for people."""
    if isinstance(item, Mishap):
        late = f" by {item.late_ms} ms" if item.kind == "late" else ""
        where = f"{item.sender} -> {item.receiver}"
        return f"{item.at:6d} ms  message {item.number} of {where} {item.kind}{late}"
    words = []
    for each in fields(item):
        value = getattr(item, each.name)
        if each.name == "at" or value is False:
            continue
        if each.name == "victim" and value == LEADER:
            value = "the leader"
        words.append(f"{each.name} {value}")
    return f"{item.at:6d} ms  {type(item).__name__}: {', '.join(words)}"
