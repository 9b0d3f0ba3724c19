"""A node's configuration: `server.properties` in Kafka's format and names.

The KIP-631 draft's names are used where it has some (`controller.listeners`,
`controller.connect`, `controller.id`, `broker.id`), Kafka's elsewhere.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from nodes.kraft.endpoints import (
    WITH_SASL,
    WITH_TLS,
    Endpoint,
    Voter,
    address,
    controller_protocol,
    endpoints,
    protocol_map,
    voters,
)
from nodes.kraft.group.config import GroupConfig
from nodes.kraft.ids import ReplicaId
from nodes.kraft.net.addresses import Addresses
from nodes.kraft.net.limits import Limits
from nodes.kraft.net.limits import limits as _limits
from nodes.kraft.security.principal import Principal
from nodes.kraft.security.sasl import SaslSettings, sasl_settings
from nodes.kraft.security.tls import TlsSettings, server_context, tls_settings
from nodes.kraft.settings import MAX_ID, ConfigError, parse_properties
from nodes.kraft.settings import boolean as _boolean
from nodes.kraft.settings import integer as _integer
from nodes.kraft.settings import names as _names
from nodes.kraft.settings import required as _required

__all__ = [
    "Config",
    "ConfigError",
    "Endpoint",
    "Timing",
    "Voter",
    "from_settings",
    "load",
    "parse_properties",
    "timing",
]

ANY_ADDRESS: Final = frozenset({"", "0.0.0.0", "::", "[::]"})
CONTROL_QUEUE_CAPACITY: Final = 20
"""KIP-291's, for controller listeners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Every time-out of the node, in ms. Defaults are a tenth to a half of Kafka's, in its
    ratios (lease : heartbeat = 10 : 1, check quorum = 1.5 x fetch time-out)."""

    fetch_timeout_ms: int = 1000
    election_timeout_ms: int = 500
    request_timeout_ms: int = 1000
    fetch_max_wait_ms: int = 250
    heartbeat_interval_ms: int = 500
    lease_ms: int = 5000
    forward_timeout_ms: int = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Replication:
    """Of partitions between brokers. `lag_max_ms`: a follower that has not had everything for
    so long leaves the ISR. `fetch_wait_ms`: how long its fetch waits for something new."""

    lag_max_ms: int = 3000
    fetch_wait_ms: int = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoTopics:
    """Topics that clients ask for and nobody made. `partitions`, `replication_factor`: what they
    get, and what controllers give to those of which a client does not say; -1 of the latter: 3,
    or as many as there are brokers."""

    enabled: bool = True
    partitions: int = 1
    replication_factor: int = -1


@dataclass(frozen=True, slots=True)
class SnapshotPolicy:
    """A snapshot is due when the last one is this old and that many records are new. The
    `degraded` pair holds for controllers while losing one more would cost the majority
    (KIP-631's draft, "Snapshots")."""

    interval_ms: int = 10_000
    min_records: int = 100
    degraded_interval_ms: int = 60_000
    degraded_min_records: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """One node, as configured. `broker_id` / `controller_id` None: not in that role."""

    name: str
    broker_id: int | None
    controller_id: int | None
    cluster_id: str
    log_dir: Path
    events_file: Path | None
    voters: tuple[Voter, ...]
    client_listeners: tuple[Endpoint, ...]
    controller_listeners: tuple[Endpoint, ...]
    advertised: tuple[Endpoint, ...]
    timing: Timing = Timing()
    seed: int = 0
    max_fetch_records: int = 10_000
    prevote: bool = True
    segment_bytes: int = 16 * 2**20
    limits: Limits = field(default_factory=Limits)
    tls: TlsSettings = field(default_factory=TlsSettings)
    sasl: SaslSettings = field(default_factory=SaslSettings)
    controller_protocol: str = "PLAINTEXT"
    metrics_address: tuple[str, int] | None = None
    addresses: Addresses = field(default_factory=lambda: Addresses({}), compare=False, repr=False)
    """The controllers', which a running broker learns anew."""
    rack: str | None = None
    snapshots: SnapshotPolicy = SnapshotPolicy()
    deferred_takeover: bool = False
    metadata_format: int = 1
    authorizer_enabled: bool = False
    super_users: frozenset[Principal] = frozenset()
    replication: Replication = Replication()
    inter_broker_name: str | None = None
    groups: GroupConfig = field(default_factory=GroupConfig)
    auto_topics: AutoTopics = AutoTopics()

    @property
    def roles(self) -> tuple[str, ...]:
        """The node's roles, "broker" before "controller"."""
        broker = ("broker",) if self.broker_id is not None else ()
        return (*broker, "controller") if self.controller_id is not None else broker

    @property
    def replica_id(self) -> ReplicaId:
        """The node's id in the metadata quorum: a voter's, or an observer's."""
        return ReplicaId(self.controller_id if self.controller_id is not None else self._broker())

    def _broker(self) -> int:
        assert self.broker_id is not None
        return self.broker_id

    @property
    def control_limits(self) -> Limits:
        """Those of controller listeners (KIP-291)."""
        return replace(self.limits, capacity=CONTROL_QUEUE_CAPACITY)

    @property
    def inter_broker_protocol(self) -> str:
        """What brokers speak among each other."""
        name = self.inter_broker_listener
        return next(each.protocol for each in self.advertised if each.name == name)

    @property
    def inter_broker_listener(self) -> str:
        """The listener over which brokers fetch from each other: the first one by default."""
        return self.inter_broker_name or self.advertised[0].name


def load(path: Path) -> Config:
    """Read and check a properties file. Raises `ConfigError`, `OSError`."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"not UTF-8 text: {error.reason} at byte {error.start}") from None
    return from_settings(parse_properties(text))


def from_settings(settings: Mapping[str, str]) -> Config:
    """Check settings and make a `Config`. Raises `ConfigError`."""
    roles = _roles(settings)
    protocols = protocol_map(settings)
    control_names = _names(settings.get("controller.listeners", ""))
    control, client = _listeners(settings, roles, protocols, control_names)
    advertised = _advertised(settings, protocols, control, client)
    broker_id = _id(settings, "broker.id") if "broker" in roles else None
    controller_id = _id(settings, "controller.id") if "controller" in roles else None
    known = voters(settings)
    _check_ids(broker_id, controller_id, known)
    log_dir = _required(settings, "log.dirs")
    config = Config(
        name=settings.get("node.name")
        or f"node-{broker_id if controller_id is None else controller_id}",
        broker_id=broker_id,
        controller_id=controller_id,
        cluster_id=_required(settings, "cluster.id"),
        log_dir=Path(log_dir),
        events_file=_events_file(settings.get("events.file"), log_dir),
        voters=known,
        client_listeners=client,
        controller_listeners=control,
        advertised=advertised,
        timing=timing(settings),
        seed=_integer(settings, "random.seed", 0, 2**63 - 1, 0),
        max_fetch_records=_integer(settings, "metadata.max.fetch.records", 1, 10**9, 10_000),
        prevote=_boolean(settings, "controller.quorum.prevote", default=True),
        segment_bytes=_integer(settings, "metadata.log.segment.bytes", 1024, 2**31 - 1, 16 * 2**20),
        addresses=Addresses({each.id: (each.host, each.port) for each in known}),
        limits=_limits(settings),
        tls=tls_settings(settings),
        sasl=sasl_settings(settings),
        controller_protocol=controller_protocol(control_names, protocols),
        metrics_address=address(settings, "metrics.listener"),
        rack=settings.get("broker.rack"),
        snapshots=_snapshots(settings, len(known)),
        deferred_takeover=_deferred_takeover(settings),
        metadata_format=_integer(settings, "metadata.format", 1, 2, 1),
        groups=_groups(settings),
        auto_topics=_auto_topics(settings),
        authorizer_enabled=_boolean(settings, "authorizer.enabled", default=False),
        super_users=_principals(settings, "super.users"),
        replication=_replication(settings),
        inter_broker_name=_inter_broker_name(settings, client),
    )
    _check_security(config)
    return config


def _listeners(
    settings: Mapping[str, str],
    roles: Collection[str],
    protocols: Mapping[str, str],
    control_names: Collection[str],
) -> tuple[tuple[Endpoint, ...], tuple[Endpoint, ...]]:
    """The controllers', and those for clients: each role has its own, and no others have any."""
    listeners = endpoints(settings, "listeners", protocols)
    if "controller" in roles and not control_names:
        raise ConfigError("controller.listeners is missing: a controller needs a listener's name")
    for name in control_names:
        if "controller" in roles and name not in {each.name for each in listeners}:
            raise ConfigError(f"controller.listeners names {name}, which listeners does not have")
    control = tuple(each for each in listeners if each.name in control_names)
    client = tuple(each for each in listeners if each.name not in control_names)
    if control and "controller" not in roles:
        raise ConfigError(
            f"listener {control[0].name} is the controllers', but process.roles has no controller"
        )
    if "broker" in roles and not client:
        raise ConfigError("listeners has no listener for clients: a broker needs one")
    if "broker" not in roles and client:
        raise ConfigError(
            f"listener {client[0].name} is for clients, but process.roles has no broker"
        )
    return control, client


def _advertised(
    settings: Mapping[str, str],
    protocols: Mapping[str, str],
    control: Sequence[Endpoint],
    client: Sequence[Endpoint],
) -> tuple[Endpoint, ...]:
    """Where clients find the node's listeners for them."""
    advertised = endpoints(settings, "advertised.listeners", protocols) or client
    for each in advertised:
        if each.name not in {known.name for known in (*control, *client)}:
            raise ConfigError(f"advertised.listeners names {each.name}, which is no listener")
        if each.host in ANY_ADDRESS:
            raise ConfigError(
                f"advertised.listeners: {each.name} needs an address that clients can reach, "
                f"not {each.host!r}"
            )
    of_controllers = {each.name for each in control}
    return tuple(each for each in advertised if each.name not in of_controllers)


def _roles(settings: Mapping[str, str]) -> frozenset[str]:
    text = settings.get("process.roles", "")
    if not text:
        raise ConfigError(
            "process.roles is missing: broker, controller or broker,controller "
            "(without it Kafka runs in legacy mode, which this node does not have)"
        )
    roles = frozenset(_names(text))
    if not roles <= {"broker", "controller"}:
        raise ConfigError(
            f"process.roles={text}: it is one of broker, controller, broker,controller"
        )
    return roles


def _check_ids(broker_id: int | None, controller_id: int | None, voters: tuple[Voter, ...]) -> None:
    ids = [voter.id for voter in voters]
    if len(set(ids)) != len(ids):
        raise ConfigError("controller.quorum.voters names one id twice")
    if controller_id is not None and controller_id not in ids:
        raise ConfigError(f"controller.id={controller_id} is not in controller.quorum.voters")
    if broker_id is not None and broker_id in ids:
        raise ConfigError(
            f"broker.id={broker_id} is also a controller's id: brokers and controllers share one "
            "space of ids"
        )


def _check_advertised(config: Config) -> None:
    names = [each.name for each in config.advertised]
    if not names:
        raise ConfigError("advertised.listeners has no listener for clients: a broker needs one")
    if config.inter_broker_listener not in names:
        raise ConfigError(
            f"advertised.listeners lacks {config.inter_broker_listener}, the inter-broker "
            "listener: other brokers could not find it"
        )


def _check_security(config: Config) -> None:
    """That every protocol in use has what it needs, here and not at the first connection."""
    if config.broker_id is not None:
        _check_advertised(config)
    listeners = (*config.client_listeners, *config.controller_listeners)
    for each in listeners:
        if each.protocol in WITH_TLS:
            server_context(config.tls)
        if each.protocol in WITH_SASL and not config.sasl.users:
            raise ConfigError(
                f"listener {each.name} asks for a login, but nobody can log in: sasl.users and "
                "sasl.users.file are missing"
            )
    called = {"controllers": config.controller_protocol}
    if config.broker_id is not None:
        called["other brokers"] = config.inter_broker_protocol
    for whom, protocol in called.items():
        if protocol in WITH_TLS and config.tls.truststore is None:
            raise ConfigError(
                f"ssl.truststore.location is missing: {whom} speak {protocol}, and no "
                "certificate of theirs could be believed"
            )
        if protocol in WITH_SASL and config.sasl.controller_login is None:
            raise ConfigError(
                f"sasl.username and sasl.password are missing: {whom} speak {protocol}"
            )


def timing(settings: Mapping[str, str]) -> Timing:
    """A node's time-outs by its properties. Raises `ConfigError`."""
    base = Timing()
    keys = {
        "fetch_timeout_ms": "controller.quorum.fetch.timeout.ms",
        "election_timeout_ms": "controller.quorum.election.timeout.ms",
        "request_timeout_ms": "controller.quorum.request.timeout.ms",
        "fetch_max_wait_ms": "controller.quorum.fetch.max.wait.ms",
        "heartbeat_interval_ms": "broker.heartbeat.interval.ms",
        "forward_timeout_ms": "broker.forward.timeout.ms",
    }
    values = {
        name: _integer(settings, key, 1, 10**7, getattr(base, name)) for name, key in keys.items()
    }
    lease_ms = _integer(settings, "broker.lease.ms", 1, 10**8, 10 * values["heartbeat_interval_ms"])
    return Timing(**values, lease_ms=lease_ms)


def _groups(settings: Mapping[str, str]) -> GroupConfig:
    base = GroupConfig()
    replication = None
    if "offsets.topic.replication.factor" in settings:
        replication = _integer(settings, "offsets.topic.replication.factor", 1, 2**15 - 1, 3)
    lowest, highest = (
        _integer(settings, key, 1, 2**31 - 1, default)
        for key, default in (
            ("group.min.session.timeout.ms", base.min_session_ms),
            ("group.max.session.timeout.ms", base.max_session_ms),
        )
    )
    if lowest > highest:
        raise ConfigError(
            f"group.min.session.timeout.ms={lowest}: it is at most "
            f"group.max.session.timeout.ms={highest}"
        )
    return GroupConfig(
        partitions=_integer(settings, "offsets.topic.num.partitions", 1, 10_000, base.partitions),
        replication_factor=replication,
        initial_delay_ms=_integer(
            settings, "group.initial.rebalance.delay.ms", 0, 10**7, base.initial_delay_ms
        ),
        max_size=_integer(settings, "group.max.size", 1, 2**31 - 1, base.max_size),
        min_session_ms=lowest,
        max_session_ms=highest,
    )


def _auto_topics(settings: Mapping[str, str]) -> AutoTopics:
    replication = -1
    if "default.replication.factor" in settings:
        replication = _integer(settings, "default.replication.factor", 1, 2**15 - 1, 3)
    return AutoTopics(
        enabled=_boolean(settings, "auto.create.topics.enable", default=True),
        partitions=_integer(settings, "num.partitions", 1, 10_000, 1),
        replication_factor=replication,
    )


def _replication(settings: Mapping[str, str]) -> Replication:
    base = Replication()
    return Replication(
        lag_max_ms=_integer(settings, "replica.lag.time.max.ms", 1, 10**8, base.lag_max_ms),
        fetch_wait_ms=_integer(settings, "replica.fetch.wait.max.ms", 1, 10**6, base.fetch_wait_ms),
    )


def _inter_broker_name(
    settings: Mapping[str, str], client_listeners: tuple[Endpoint, ...]
) -> str | None:
    name = settings.get("inter.broker.listener.name")
    names = [each.name for each in client_listeners]
    if name is not None and name not in names:
        raise ConfigError(
            f"inter.broker.listener.name={name}: it is one of the brokers' listeners, "
            f"{', '.join(names) or 'of which there is none'}"
        )
    return name


def _snapshots(settings: Mapping[str, str], voters: int) -> SnapshotPolicy:
    """A round of snapshots costs the quorum a leader change or two, each with a record. Were
    these alone enough for the next round, an idle cluster would change its leader for ever."""
    base = SnapshotPolicy()
    fewest = 2 * voters + 1 if voters > 1 else 1
    interval_ms = _integer(settings, "metadata.snapshot.interval.ms", 1, 10**9, base.interval_ms)
    min_records = _integer(
        settings, "metadata.snapshot.min.records", fewest, 10**9, base.min_records
    )
    policy = SnapshotPolicy(
        interval_ms=interval_ms,
        min_records=min_records,
        degraded_interval_ms=_integer(
            settings,
            "metadata.snapshot.degraded.interval.ms",
            1,
            10**9,
            max(interval_ms, base.degraded_interval_ms),
        ),
        degraded_min_records=_integer(
            settings,
            "metadata.snapshot.degraded.min.records",
            fewest,
            10**9,
            max(min_records, base.degraded_min_records),
        ),
    )
    if policy.degraded_interval_ms < policy.interval_ms:
        raise ConfigError(
            f"metadata.snapshot.degraded.interval.ms={policy.degraded_interval_ms}: it is not "
            f"less than metadata.snapshot.interval.ms={policy.interval_ms}"
        )
    return policy


def _deferred_takeover(settings: Mapping[str, str]) -> bool:
    text = settings.get("broker.takeover", "immediate")
    if text not in ("immediate", "deferred"):
        raise ConfigError(f"broker.takeover={text}: it is immediate or deferred")
    return text == "deferred"


def _events_file(named: str | None, log_dir: str) -> Path | None:
    """Empty: none is written."""
    if named == "":
        return None
    return Path(named or f"{log_dir}/events.jsonl")


def _id(settings: Mapping[str, str], key: str) -> int:
    _required(settings, key)
    return _integer(settings, key, 0, MAX_ID, 0)


def _principals(settings: Mapping[str, str], key: str) -> frozenset[Principal]:
    """`User:a;User:b`, as in Kafka, where names may have commas."""
    found = set()
    for item in (each.strip() for each in settings.get(key, "").split(";")):
        if not item:
            continue
        kind, colon, name = item.partition(":")
        if not (kind and colon and name):
            raise ConfigError(f"{key}: {item!r} is not of the form Type:name, such as User:alice")
        found.add(Principal(kind, name))
    return frozenset(found)
