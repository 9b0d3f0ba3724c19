"""Topics: creates, deletes and reads on a rolling set of names, by everybody at once.

Creates and deletes go to the brokers in turn, which forward them. `describe` is the
linearizable read, where the system has one, `metadata` a broker's cache, of which nothing is
promised but that it does not go back. Few names live at a time, so that operations on one name
collide; each retires soon, so that the history of one name stays small enough to check. Where it is
asked for, topics are left as they are after some time, and only read: what a fault did to them
stays to be seen.

Where the system has features with levels, somebody asks for the levels now and then, and to raise
or to lower one; in the end each broker is asked for them. Where configurations can be changed,
those of a live topic are, and those of a broker, by way of another one where the system lets it, or
of all brokers; in the end each broker is asked for its own, and for those of all. Where creates can
be tried, some only are, of live names and of names that nobody makes; where clients may ask
controllers, some of those at the active one, and controllers are asked how topics are configured.
Where topics are made on demand, some are, by clients that look for them; those have names of their
own, and nobody deletes them, as whoever looks for them too late would make them anew.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from framework.generators import Context, Generator, Offer, Pending, assign, op, phases
from framework.history.event import Event, Invocation, Json
from framework.plugins.capabilities import (
    ASKED_CONTROLLERS,
    CHANGING_CONFIGS,
    CONFIGS_AT_ANY_BROKER,
    DRY_RUNS,
    FEATURE_LEVELS,
    LOWERED_LEVELS,
    TOPICS_ON_DEMAND,
)
from framework.plugins.options import need_positive
from framework.plugins.workload import WorkloadOptions
from workloads.base import TOPIC_CONFIGS, FinalReads, KafkaWorkload, topic_read
from workloads.kafka.operations.brokers import broker_key
from workloads.kafka.operations.configurations import ALL_BROKERS, Configure
from workloads.kafka.operations.features import Feature, Features, UpdateFeature
from workloads.kafka.operations.topics import Configs, CreateTopic
from workloads.kafka.roles import BROKER, brokers
from workloads.options import at_least

FEWEST_OPERATIONS, MOST_OPERATIONS = 40, 60
MOST_UNKNOWN: Final = 8
"""Operations of unknown fate after which a name retires: each of them doubles, at worst, what
there is to search."""
CONFIGURED_SHARE: Final = 0.5
CONFIGS: Final = {"segment.bytes": (2**20, 2**30), "max.message.bytes": (10**4, 10**6)}
"""What creates ask for, each from least to most. Nobody produces to these topics, and every system
that is tested takes these values: a node may refuse what it does not carry out."""
BROKER_CONFIGS: Final = {
    "log.segment.bytes": (2**26, 2**30),
    "message.max.bytes": (2**20 + 12, 2**23),
}
"""What brokers are configured to: no less than any workload needs of them."""
CHANGE_SHARE: Final = 0.12
BROKER_SHARE: Final = 0.04
"""Of all operations, where configurations can be changed: changes of topics', and of brokers'."""
ALL_BROKERS_SHARE: Final = 0.25
"""Of the changes of brokers' configurations, those of what holds for all of them."""
DELETE_SHARE: Final = 0.3
"""Of changed configurations, those that are taken away."""
ON_DEMAND_SHARE: Final = 0.05
MOST_ON_DEMAND: Final = 20
"""Operations, of all, on topics that are made on demand, where the system does that; and so many
such topics in a run, which all stay."""
FIRST_ON_DEMAND: Final = 10
"""By then somebody looks for the first one, so that also a short run has it."""
ASKED_SHARE: Final = 0.08
"""Of all operations, what is asked of controllers, through brokers or not: dry runs of creates, and
configurations."""
NEVER_MADE: Final = tuple(f"never-made-{number}" for number in range(3))
NEVER_MADE_SHARE: Final = 0.25
"""Names that dry runs alone have, and the share of dry runs that do: what there is of them, a dry
run has made."""
FEATURE_SHARE: Final = 0.06
"""Of all operations, where the system has levels of features: a few even in a short run."""
ONLY_TRIED: Final = frozenset(
    {
        "metadata.version",
        "kraft.version",
        "transaction.version",
        "eligible.leader.replicas.version",
    }
)
"""Features by which rules of the metadata log, of quorums and of transactions go: where levels may
fall nobody asks for others of these but in dry runs."""
FREE_SHARE: Final = 0.6
"""Of the wishes for levels where they fall, those for one of the others."""
FEATURE_TYPES: Final = ("upgrade", "safe-downgrade", "unsafe-downgrade")
WEIGHTS: Final = {"create": 6, "delete": 5, "describe": 6, "metadata": 3}
READS: Final = frozenset({"describe", "metadata"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicsOptions:
    """`live_names`: topics that are worked on at a time. `partitions`, `replicas`: of a topic,
    at most. `rest_after_s`: so many s after the first operation no topic is changed any more (None:
    never)."""

    live_names: int = 5
    partitions: int = 3
    replicas: int = 3
    rest_after_s: float | None = None

    def __post_init__(self) -> None:
        at_least(1, live_names=self.live_names, partitions=self.partitions)
        at_least(1, replicas=self.replicas)
        need_positive(rest_after_s=self.rest_after_s)


class Topics(KafkaWorkload):
    """The `topics` workload."""

    Options = TopicsOptions
    name: str = "topics"
    requires: frozenset[str] = frozenset({"kafka-topics"})
    provides: frozenset[str] = frozenset({"topic-operations"})
    min_threads: int = 1

    def __init__(self, options: TopicsOptions | None = None) -> None:
        super().__init__()
        self._options = options or TopicsOptions()

    def generator(self, options: WorkloadOptions) -> Generator:
        unread = {"describe"} - {topic_read(options)}
        weights = {f: weight for f, weight in WEIGHTS.items() if f not in unread}
        return RollingNames(
            options=self._options,
            weights=weights,
            configures=TOPIC_CONFIGS in options.capabilities,
            feature_share=FEATURE_SHARE if _has_levels(options) else 0.0,
            lowers=LOWERED_LEVELS in options.capabilities,
            change_share=CHANGE_SHARE if CHANGING_CONFIGS in options.capabilities else 0.0,
            brokers=_changeable(options),
            anywhere=CONFIGS_AT_ANY_BROKER in options.capabilities,
            asks=_asked_of_controllers(options),
            on_demand_share=ON_DEMAND_SHARE if TOPICS_ON_DEMAND in options.capabilities else 0.0,
        )

    def final_generator(self, options: WorkloadOptions) -> Generator:
        changeable = _changeable(options)
        levels = brokers(options.nodes) if _has_levels(options) else []
        tried = NEVER_MADE if DRY_RUNS in options.capabilities else ()
        return phases(
            *(op("features", node=node) for node in levels),
            super().final_generator(options),
            FinalReads(names=lambda: tried, f=topic_read(options)),
            *(_final_configs(node, key) for node, key in changeable.items()),
            *(_final_configs(node, ALL_BROKERS) for node in changeable),
        )


def _has_levels(options: WorkloadOptions) -> bool:
    return not options.capabilities.isdisjoint({FEATURE_LEVELS, LOWERED_LEVELS})


def _asked_of_controllers(options: WorkloadOptions) -> Sequence[str]:
    """What controllers are asked, by operations."""
    direct = ASKED_CONTROLLERS in options.capabilities
    return (
        *(("dry-create",) if DRY_RUNS in options.capabilities else ()),
        *(("controller-dry-create", "controller-configs") if direct else ()),
    )


def _changeable(options: WorkloadOptions) -> Mapping[str, str]:
    """The brokers whose configurations are changed, and the keys of operations on them."""
    if CHANGING_CONFIGS not in options.capabilities:
        return {}
    return {
        node.name: broker_key(node.ids[BROKER]) for node in options.nodes if BROKER in node.roles
    }


def _final_configs(node: str, key: str) -> FinalReads:
    return FinalReads(names=lambda: (key,), f="describe-broker-configs", node=node)


@dataclass(frozen=True, slots=True)
class Name:
    """A live name: how many more operations it gets, and how many more may end unknown."""

    number: int
    left: int = 0
    unknown_left: int = MOST_UNKNOWN

    @property
    def name(self) -> str:
        return f"topic-{self.number}"

    @property
    def retired(self) -> bool:
        return self.left <= 0 or self.unknown_left <= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingNames:
    """Endless. `next`: the number of the next name. `configures`: some creates do. `features`:
    those that somebody told of, and the levels that they know. `lowers`: levels may fall.
    `brokers`: those that are
    configured, name -> key; `anywhere`: by way of others. `asks`: what controllers are asked.
    `on_demand`: so many topics were made
    so, or were to be. `begun_ns`: when the first operation was
    offered and taken."""

    options: TopicsOptions
    weights: Mapping[str, int]
    configures: bool = False
    feature_share: float = 0.0
    features: tuple[Feature, ...] = ()
    lowers: bool = False
    change_share: float = 0.0
    brokers: Mapping[str, str] = field(default_factory=dict)
    anywhere: bool = False
    asks: Sequence[str] = ()
    on_demand_share: float = 0.0
    on_demand: int = 0
    live: tuple[Name, ...] = ()
    next: int = 0
    taken: int = 0
    begun_ns: int | None = None

    def offer(self, context: Context) -> Offer:
        rng = context.rng(self.taken)
        if self._rests(context.time):
            return self._read(context, rng)
        begun_ns = context.time if self.begun_ns is None else self.begun_ns
        if (beside := self._beside(rng)) is not None:
            chosen = assign(context.fork(self.taken), beside)
            if isinstance(chosen, Pending):
                return Offer(chosen, self)
            made = self.on_demand + (chosen.f == "create")
            after = replace(self, taken=self.taken + 1, begun_ns=begun_ns, on_demand=made)
            return Offer(chosen, after)
        live, number = list(self.live), self.next
        slot = rng.randrange(self.options.live_names)
        while len(live) < self.options.live_names:
            # Not all of the first ones end at about the same time.
            live.append(Name(number, rng.randint(1, MOST_OPERATIONS)))
            number += 1
        if live[slot].retired:
            live[slot] = Name(number, rng.randint(FEWEST_OPERATIONS, MOST_OPERATIONS))
            number += 1
        template = self._operation(live[slot].name, rng)
        chosen = assign(context.fork(self.taken), template)
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        live[slot] = replace(live[slot], left=live[slot].left - 1)
        after = replace(self, live=tuple(live), next=number, taken=self.taken + 1)
        return Offer(chosen, replace(after, begun_ns=begun_ns))

    def _rests(self, now_ns: int) -> bool:
        after_s = self.options.rest_after_s
        if after_s is None or self.begun_ns is None or not self.live:
            return False
        return now_ns >= self.begun_ns + round(after_s * 1e9)

    def _read(self, context: Context, rng: random.Random) -> Offer:
        """Of a name that lived last: none retires any more, for a new one would have no topic."""
        chosen = assign(context.fork(self.taken), self._any_read(rng.choice(self.live).name, rng))
        taken = self.taken if isinstance(chosen, Pending) else self.taken + 1
        return Offer(chosen, replace(self, taken=taken))

    def _any_read(self, name: str, rng: random.Random) -> Invocation:
        reads = {f: weight for f, weight in self.weights.items() if f in READS}
        return op(rng.choices(list(reads), weights=list(reads.values()))[0], key=name)

    def _beside(self, rng: random.Random) -> Invocation | None:
        """What neither makes nor removes a topic of a live name."""
        if self.feature_share and rng.random() < self.feature_share:
            return self._of_features(rng)
        if self.change_share and rng.random() < self.change_share:
            # Of any name, also where no topic has it now: what a seed asks for goes by no answer.
            return self._change(rng.choice(self.live).name, rng) if self.live else None
        if self.brokers and rng.random() < BROKER_SHARE:
            return self._change_of_a_broker(rng)
        if self.asks and rng.random() < ASKED_SHARE:
            return self._of_a_controller(rng) if self.live else None
        late = not self.on_demand and self.taken >= FIRST_ON_DEMAND
        if self.on_demand_share and (late or rng.random() < self.on_demand_share):
            return self._on_demand(rng)
        return None

    def _on_demand(self, rng: random.Random) -> Invocation:
        """Somebody looks for a topic that there is not, or reads one that was made so."""
        if not self.on_demand or (self.on_demand < MOST_ON_DEMAND and rng.random() < 0.5):
            value = CreateTopic(on_demand=True).to_json()
            return op("create", key=f"on-demand-{self.on_demand}", value=value)
        return self._any_read(f"on-demand-{rng.randrange(self.on_demand)}", rng)

    def _of_a_controller(self, rng: random.Random) -> Invocation:
        f, name = rng.choice(self.asks), rng.choice(self.live).name
        if f == "controller-configs":
            return op(f, key=name)
        never = rng.random() < NEVER_MADE_SHARE
        return op(f, key=rng.choice(NEVER_MADE) if never else name, value=self._asked(rng))

    def _change(self, topic: str, rng: random.Random) -> Invocation:
        return op("configure", key=topic, value=_changes(CONFIGS, rng).to_json())

    def _change_of_a_broker(self, rng: random.Random) -> Invocation:
        if rng.random() < ALL_BROKERS_SHARE:
            value = _changes(BROKER_CONFIGS, rng).to_json()
            return op("configure-broker", key=ALL_BROKERS, value=value)
        node = rng.choice(sorted(self.brokers))
        others = sorted(self.brokers.keys() - {node}) if self.anywhere else []
        value = _changes(BROKER_CONFIGS, rng).to_json()
        asked = rng.choice(others) if others else node
        return op("configure-broker", key=self.brokers[node], value=value, node=asked)

    def _of_features(self, rng: random.Random) -> Invocation:
        """A question; or a wish for a level, most of them for one that can be had."""
        if not self.features or rng.random() < 0.3:
            return op("features")
        feature = rng.choice(self._wished(rng))
        value = _other_level(feature, rng) if self.lowers else _higher_level(feature, rng)
        return op("update-feature", key=feature.name, value=value.to_json())

    def _wished(self, rng: random.Random) -> Sequence[Feature]:
        """Those of which one is to have another level: where levels fall, mostly one that does."""
        free = [each for each in self.features if each.name not in ONLY_TRIED]
        return free if self.lowers and free and rng.random() < FREE_SHARE else self.features

    def _operation(self, name: str, rng: random.Random) -> Invocation:
        f = rng.choices(list(self.weights), weights=list(self.weights.values()))[0]
        if f != "create":
            return op(f, key=name)
        return op(f, key=name, value=self._asked(rng))

    def _asked(self, rng: random.Random) -> Json:
        """Of a create."""
        partitions = rng.randint(1, self.options.partitions)
        replication = rng.randint(1, self.options.replicas)
        value = CreateTopic(
            partitions=partitions, replication=replication, configs=self._configs(rng)
        )
        return value.to_json()

    def _configs(self, rng: random.Random) -> Configs | None:
        if not self.configures or rng.random() >= CONFIGURED_SHARE:
            return None
        return tuple((each, _value(CONFIGS[each], rng)) for each in _some(CONFIGS, rng))

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "ok" and event.f == "features" and isinstance(event.value, dict):
            return replace(self, features=Features.from_json(event.value).features)
        if event.type != "info" or event.f not in self.weights:
            return self
        live = tuple(
            replace(each, unknown_left=each.unknown_left - 1) if each.name == event.key else each
            for each in self.live
        )
        return replace(self, live=live)


def _higher_level(feature: Feature, rng: random.Random) -> UpdateFeature:
    if rng.random() < 0.85:
        least = feature.lowest if feature.level is None else feature.level
        return UpdateFeature(level=rng.randint(least, feature.highest), type="upgrade")
    return _any_level(feature, rng, dry=rng.random() < 0.25)


def _other_level(feature: Feature, rng: random.Random) -> UpdateFeature:
    """Up or down, by what somebody told of it last."""
    if feature.name in ONLY_TRIED:
        return _any_level(feature, rng, dry=True)
    if rng.random() < 0.85:
        level = rng.randint(feature.lowest, feature.highest)
        rises = level >= (feature.level or 0)
        return UpdateFeature(level=level, type="upgrade" if rises else "safe-downgrade")
    return _any_level(feature, rng, dry=rng.random() < 0.25)


def _any_level(feature: Feature, rng: random.Random, *, dry: bool) -> UpdateFeature:
    """Perhaps one that there is not."""
    level = rng.randint(feature.lowest - 1, feature.highest + 1)
    return UpdateFeature(level=level, type=rng.choice(FEATURE_TYPES), dry=dry or None)


Ranges: TypeAlias = Mapping[str, tuple[int, int]]
"""Of configurations, from least to most."""


def _changes(ranges: Ranges, rng: random.Random) -> Configure:
    """Of some of them: most are set."""
    gone = {name: rng.random() < DELETE_SHARE for name in _some(ranges, rng)}
    given = tuple((name, _value(ranges[name], rng)) for name in gone if not gone[name])
    return Configure(set=given or None, delete=tuple(name for name in gone if gone[name]) or None)


def _some(ranges: Ranges, rng: random.Random) -> list[str]:
    return sorted(rng.sample(sorted(ranges), rng.randint(1, len(ranges))))


def _value(bounds: tuple[int, int], rng: random.Random) -> str:
    return str(rng.randint(*bounds))
