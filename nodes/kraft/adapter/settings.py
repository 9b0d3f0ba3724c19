"""The server.properties of a run's nodes, and what of it the command line may change."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from framework.errors import UsageError
from framework.plugins.system import NodeSpec
from nodes.adapting.properties import of_layout, refuse
from nodes.kraft.adapter import security
from nodes.kraft.config import Config, ConfigError, from_settings
from nodes.kraft.endpoints import WITH_SASL
from nodes.kraft.security.sasl import Login

METRICS_PORT: Final = 9464
FIXED: Final = frozenset(
    {
        "broker.id",
        "controller.id",
        "controller.listeners",
        "controller.quorum.voters",
        "listeners",
        "log.dirs",
        "node.name",
        "process.roles",
    }
)
"""What the layout decides: another value would be another cluster than the run's plan says."""

EVENTS: Final = "events.file"
AUTO_TOPICS: Final = "auto.create.topics.enable"
PROTOCOLS: Final = "listener.security.protocol.map"


def node_settings(
    node: str,
    nodes: Mapping[str, NodeSpec],
    addresses: Mapping[str, str],
    wanted: Mapping[str, str],
    *,
    workdir: str,
    seed: int,
) -> dict[str, str]:
    """A node's server.properties: what a run gives it of its own accord, and over that what is
    `wanted`. `addresses`: node -> IPv4 address. Raises `ConfigError`."""
    asked = {**_own(node, nodes, addresses, workdir=workdir, seed=seed), **wanted}
    return {**security.own_settings(asked, workdir=workdir, seed=seed), **asked}


def _own(
    node: str,
    nodes: Mapping[str, NodeSpec],
    addresses: Mapping[str, str],
    *,
    workdir: str,
    seed: int,
) -> dict[str, str]:
    spec = nodes[node]
    settings = {
        "node.name": node,
        **of_layout(node, nodes, addresses, workdir=workdir),
        "cluster.id": "kraft-proof",
        "controller.listeners": "CONTROLLER",
        EVENTS: f"{workdir}/events.jsonl",
        "metrics.listener": f"{addresses[node]}:{METRICS_PORT}",
        "random.seed": str(seed),
        # A client that looks for a topic which another deleted would make it again.
        AUTO_TOPICS: "false",
        # Often, so that even a short run sees restarts from snapshots.
        "metadata.snapshot.interval.ms": "8000",
        "metadata.snapshot.min.records": "20",
        "metadata.snapshot.degraded.interval.ms": "20000",
        "metadata.snapshot.degraded.min.records": "50",
    }
    if "controller" in spec.roles:
        settings["controller.id"] = str(spec.ids["controller"])
    if "broker" in spec.roles:
        settings["broker.id"] = str(spec.ids["broker"])
    return settings


def check(nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]) -> None:
    """Raises `UsageError` for settings (node -> key -> value) with which a node would not start,
    or not reach the others, or that it would never read. On addresses that stand for those that
    a run will give."""
    if not settings:
        return
    by_name = {spec.name: spec for spec in nodes}
    addresses = {name: f"10.0.0.{number}" for number, name in enumerate(by_name, 1)}
    configs = {}
    for node in by_name:
        wanted = settings.get(node, {})
        refuse(wanted.keys(), FIXED)
        if wanted.get(EVENTS):
            raise UsageError(f"--set {EVENTS}: a run decides where it is; empty, nodes write none")
        if made := sorted(security.MADE & wanted.keys()):
            raise UsageError(f"--set {made[0]}: runs make their keys and logins themselves")
        try:
            configs[node] = _configured(node, by_name, addresses, wanted)
        except (ConfigError, OSError) as error:
            raise UsageError(f"--set, node {node}: {error}") from None
    _check_together(configs)


def _configured(
    node: str,
    nodes: Mapping[str, NodeSpec],
    addresses: Mapping[str, str],
    wanted: Mapping[str, str],
) -> Config:
    """Raises `ConfigError`, `OSError`."""
    with tempfile.TemporaryDirectory() as workdir:
        reported = node_settings(node, nodes, addresses, wanted, workdir=workdir, seed=0)
        for name, data in security.files(reported, address=addresses[node], seed=0).items():
            path = Path(workdir) / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        seen = _Reading(reported)
        config = from_settings(seen)
    if unread := sorted(wanted.keys() - seen.keys_read):
        raise ConfigError(f"it has no setting {unread[0]!r}")
    if config.authorizer_enabled:
        known = set(map(str, config.super_users))
        if missing := sorted(security.principals(security.NODE, reported) - known):
            raise ConfigError(
                f"super.users: {missing[0]} is missing, as whom nodes come to each other"
            )
    return config


def _check_together(configs: Mapping[str, Config]) -> None:
    """That each node speaks with the others as they do with it."""
    brokers = [each for each in configs.values() if each.broker_id is not None]
    controllers = [each for each in configs.values() if each.controller_id is not None]
    for listener, protocols in (
        ("CONTROLLER", {each.controller_protocol for each in configs.values()}),
        ("CLIENT", {each.inter_broker_protocol for each in brokers}),
    ):
        if len(protocols) > 1:
            raise UsageError(
                f"--set {PROTOCOLS}: {listener} is {' and '.join(sorted(protocols))} to different "
                "nodes, which could not reach each other"
            )
    for each in configs.values():
        _check_login(each, each.controller_protocol, each.sasl.controller_login, controllers)
    for each in brokers:
        _check_login(each, each.inter_broker_protocol, each.sasl.broker_login, brokers)


def _check_login(
    caller: Config, protocol: str, login: Login | None, called: Sequence[Config]
) -> None:
    """That all who are called have the caller's mechanism."""
    for each in called:
        if protocol in WITH_SASL and login and login.mechanism not in each.sasl.mechanisms:
            raise UsageError(
                f"--set sasl.enabled.mechanisms: {caller.name} logs in by {login.mechanism}, "
                f"and {each.name} has {', '.join(each.sasl.mechanisms)}"
            )


class _Reading(Mapping[str, str]):
    """Settings that remember which of them were looked for."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self.keys_read: set[str] = set()

    def __getitem__(self, key: str) -> str:
        self.keys_read.add(key)
        return self._settings[key]

    def __contains__(self, key: object) -> bool:
        self.keys_read.add(str(key))
        return key in self._settings

    def __iter__(self) -> Iterator[str]:
        return iter(self._settings)

    def __len__(self) -> int:
        return len(self._settings)
