"""The configurations of topics and brokers that this node knows, and what their values may be.

Names, types and ranges are Kafka's (its topic configs, and the broker configs that give them
their defaults). What this node does not carry out (`CARRIED_OUT`) has one value: the one that
says what it does instead, which is the default. A topic's value is, in this order: its own, that
set on the broker, that set on all brokers (resource BROKER of name ""), the default.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from nodes.kraft.metadata.image import TOPIC_RESOURCE, Image

BROKER_RESOURCE: Final = 4
"""Kafka's ConfigResource type of a broker; its name is the id, or "" for all brokers."""

MAX_VALUE_BYTES: Final = 32_767
"""Kafka's limit of a value."""

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")
_FRACTION: Final = re.compile(r"[+-]?([0-9]{1,19}\.?[0-9]{0,19}|\.[0-9]{1,19})")

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1


class ConfigType(IntEnum):
    """Kafka's types of configurations, by their numbers in DescribeConfigs."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7


class ConfigSource(IntEnum):
    """Where a value comes from, by its number in DescribeConfigs."""

    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    STATIC = 4
    DEFAULT = 5


@dataclass(frozen=True, slots=True)
class Key:
    """A configuration. `broker`: the broker configuration that gives topics their default.
    `low`, `high`: bounds of numbers. `choices`: what a value, or each item of a list, may be;
    none: anything. `carried_out`: the node does as any value says, not as the default alone."""

    name: str
    type: ConfigType
    default: str
    broker: str | None
    low: float
    high: float
    choices: frozenset[str]
    carried_out: bool = False

    def problem(self, value: str) -> str | None:
        """Why this can be no value of it; None: it can."""
        if len(value.encode()) > MAX_VALUE_BYTES:
            return f"{self.name}: a value has at most {MAX_VALUE_BYTES} bytes"
        wrong = self._wrong(value)
        if wrong is None and not self.carried_out and value.lower() != self.default.lower():
            wrong = f"this node does not carry it out; it can only be {self.default or 'empty'}"
        return None if wrong is None else f"{self.name}={value:.100}: {wrong}"

    def _wrong(self, value: str) -> str | None:
        if self.type == ConfigType.BOOLEAN:
            return None if value.lower() in ("true", "false") else "it is true or false"
        if self.type in (ConfigType.STRING, ConfigType.LIST):
            items = [value] if self.type == ConfigType.STRING else split(value)
            bad = [item for item in items if self.choices and item not in self.choices]
            return f"{bad[0][:100]!r} is none of {', '.join(sorted(self.choices))}" if bad else None
        return self._wrong_number(value)

    def _wrong_number(self, value: str) -> str | None:
        fraction = self.type == ConfigType.DOUBLE
        # Python reads more as a number than Kafka does: 1_000, nan.
        if not (_FRACTION if fraction else _WHOLE).fullmatch(value):
            return "it is no number" if fraction else "it is no whole number"
        number = float(value) if fraction else int(value)
        if not self.low <= number <= self.high:
            return f"it is from {self.low:g} to {self.high:g}"
        return None


def split(value: str) -> list[str]:
    """The items of a list's value."""
    return [item.strip() for item in value.split(",") if item.strip()]


def _long(
    name: str, default: int, broker: str | None, low: int = 0, high: int = LONG_MAX
) -> tuple[str, Key]:
    return name, Key(name, ConfigType.LONG, str(default), broker, low, high, frozenset())


def _int(
    name: str, default: int, broker: str | None, low: int = 0, high: int = INT_MAX
) -> tuple[str, Key]:
    return name, Key(name, ConfigType.INT, str(default), broker, low, high, frozenset())


def _boolean(name: str, default: str, broker: str | None) -> tuple[str, Key]:
    return name, Key(name, ConfigType.BOOLEAN, default, broker, 0, 0, frozenset())


def _choice(name: str, default: str, broker: str | None, *choices: str) -> tuple[str, Key]:
    return name, Key(name, ConfigType.STRING, default, broker, 0, 0, frozenset(choices))


def _list(name: str, default: str, broker: str | None, *choices: str) -> tuple[str, Key]:
    return name, Key(name, ConfigType.LIST, default, broker, 0, 0, frozenset(choices))


def _ratio(name: str, default: str, broker: str | None) -> tuple[str, Key]:
    return name, Key(name, ConfigType.DOUBLE, default, broker, 0, 1, frozenset())


DAY_MS: Final = 24 * 3600 * 1000

CARRIED_OUT: Final = frozenset({"max.message.bytes", "min.insync.replicas", "segment.bytes"})
"""Of topics: whatever value they have, the node does as it says."""

_KEYS: Final[Mapping[str, Key]] = dict(
    (
        _list("cleanup.policy", "delete", "log.cleanup.policy", "compact", "delete"),
        _choice(
            "compression.type",
            "producer",
            "compression.type",
            *("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        ),
        _int("compression.gzip.level", -1, "compression.gzip.level", -1, 9),
        _int("compression.lz4.level", 9, "compression.lz4.level", 1, 17),
        _int("compression.zstd.level", 3, "compression.zstd.level", -131072, 22),
        _long("delete.retention.ms", DAY_MS, "log.cleaner.delete.retention.ms"),
        _long("file.delete.delay.ms", 60_000, "log.segment.delete.delay.ms"),
        _long("flush.messages", LONG_MAX, "log.flush.interval.messages", 1),
        _long("flush.ms", LONG_MAX, "log.flush.interval.ms"),
        _list("follower.replication.throttled.replicas", "", None),
        _int("index.interval.bytes", 4096, "log.index.interval.bytes"),
        _list("leader.replication.throttled.replicas", "", None),
        _long("max.compaction.lag.ms", LONG_MAX, "log.cleaner.max.compaction.lag.ms", 1),
        _int("max.message.bytes", 1_048_588, "message.max.bytes"),
        _long("message.timestamp.after.max.ms", LONG_MAX, "log.message.timestamp.after.max.ms"),
        _long("message.timestamp.before.max.ms", LONG_MAX, "log.message.timestamp.before.max.ms"),
        _choice(
            "message.timestamp.type",
            "CreateTime",
            "log.message.timestamp.type",
            *("CreateTime", "LogAppendTime"),
        ),
        _ratio("min.cleanable.dirty.ratio", "0.5", "log.cleaner.min.cleanable.ratio"),
        _long("min.compaction.lag.ms", 0, "log.cleaner.min.compaction.lag.ms"),
        _int("min.insync.replicas", 1, "min.insync.replicas", 1),
        _boolean("preallocate", "false", "log.preallocate"),
        _long("retention.bytes", -1, "log.retention.bytes", -1),
        _long("retention.ms", -1, "log.retention.ms", -1),
        _int("segment.bytes", 2**30, "log.segment.bytes", 14),
        _int("segment.index.bytes", 10 * 2**20, "log.index.size.max.bytes", 4),
        _long("segment.jitter.ms", 0, "log.roll.jitter.ms"),
        _long("segment.ms", LONG_MAX, "log.roll.ms", 1),
        _boolean("unclean.leader.election.enable", "false", "unclean.leader.election.enable"),
    )
)

TOPIC_KEYS: Final[Mapping[str, Key]] = {
    name: replace(key, carried_out=name in CARRIED_OUT) for name, key in _KEYS.items()
}
"""Name -> what can be set on a topic."""

_THROTTLES: Final[Mapping[str, Key]] = dict(
    _long(name, LONG_MAX, None)
    for name in (
        "follower.replication.throttled.rate",
        "leader.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
)
"""Of brokers alone. Whoever has reassigned partitions deletes them, set or not."""

BROKER_KEYS: Final[Mapping[str, Key]] = {
    **{
        key.broker: replace(key, name=key.broker, broker=None)
        for key in TOPIC_KEYS.values()
        if key.broker is not None
    },
    **_THROTTLES,
}
"""Name -> what can be set on a broker, or on all brokers, while they run."""


def keys_of(resource_type: int) -> Mapping[str, Key]:
    """What can be set on resources of that type."""
    return TOPIC_KEYS if resource_type == TOPIC_RESOURCE else BROKER_KEYS


def problem(resource_type: int, name: str, value: str) -> str | None:
    """Why the configuration cannot have this value; None: it can."""
    key = keys_of(resource_type).get(name)
    return f"there is no configuration {name}" if key is None else key.problem(value)


def layers(
    image: Image, topic: str | None, name: str, broker_id: int | None = None
) -> list[tuple[ConfigSource, str, str]]:
    """(source, name there, value) of each place that gives a topic's configuration a value, the
    one that counts first, the default last. `topic` None: a broker's configuration."""
    keys = BROKER_KEYS if topic is None else TOPIC_KEYS
    key = keys[name]
    found = []
    if topic is not None:
        own = _set(image, TOPIC_RESOURCE, topic, name)
        if own is not None:
            found.append((ConfigSource.TOPIC, name, own))
    inherited = name if topic is None else key.broker
    if inherited is not None:
        for source, resource in (
            (ConfigSource.BROKER, None if broker_id is None else str(broker_id)),
            (ConfigSource.ALL_BROKERS, ""),
        ):
            if resource is None:
                continue
            value = _set(image, BROKER_RESOURCE, resource, inherited)
            if value is not None:
                found.append((source, inherited, value))
    found.append((ConfigSource.DEFAULT, inherited or name, key.default))
    return found


def _set(image: Image, resource_type: int, resource: str, name: str) -> str | None:
    values = image.configs.get((resource_type, resource))
    return None if values is None else values.get(name)


def topic_value(image: Image, topic: str, name: str, broker_id: int | None = None) -> str:
    """The value of a topic's configuration, as the broker `broker_id` sees it."""
    return layers(image, topic, name, broker_id)[0][2]


def topic_number(image: Image, topic: str, name: str, broker_id: int | None = None) -> int:
    """The same, of a configuration that is a whole number."""
    return int(topic_value(image, topic, name, broker_id))
