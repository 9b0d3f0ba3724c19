"""The server.properties of a run's nodes, and what of it the command line may change."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from framework.errors import UsageError
from framework.plugins.system import NodeSpec
from nodes.kraft.config import ConfigError, from_settings

METRICS_PORT: Final = 9464
FIXED: Final = frozenset(
    {
        "broker.id",
        "controller.id",
        "controller.listeners",
        "controller.quorum.voters",
        "events.file",
        "listeners",
        "log.dirs",
        "node.name",
        "process.roles",
    }
)
"""What the layout decides: another value would be another cluster than the run's plan says."""

_NAMES: Final = {"client": "CLIENT", "controller": "CONTROLLER"}


def own_settings(
    node: str,
    nodes: Mapping[str, NodeSpec],
    addresses: Mapping[str, str],
    *,
    workdir: str,
    seed: int,
) -> dict[str, str]:
    """What a run gives a node of its own accord. `addresses`: node -> IPv4 address."""
    spec = nodes[node]
    listeners = [f"{_NAMES[name]}://{addresses[node]}:{port}" for name, port in spec.ports.items()]
    voters = [
        f"{each.ids['controller']}@{addresses[name]}:{each.ports['controller']}"
        for name, each in sorted(nodes.items())
        if each.votes
    ]
    settings = {
        "node.name": node,
        "process.roles": ",".join(sorted(spec.roles)),
        "cluster.id": "kraft-proof",
        "listeners": ",".join(listeners),
        "listener.security.protocol.map": "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": ",".join(voters),
        "log.dirs": f"{workdir}/data",
        "events.file": f"{workdir}/events.jsonl",
        "metrics.listener": f"{addresses[node]}:{METRICS_PORT}",
        "random.seed": str(seed),
        # Often, so that even a short run sees restarts from snapshots.
        "metadata.snapshot.interval.ms": "8000",
        "metadata.snapshot.min.records": "20",
        "metadata.snapshot.degraded.interval.ms": "20000",
        "metadata.snapshot.degraded.min.records": "50",
    }
    if "controller" in spec.roles:
        settings["controller.id"] = str(spec.ids["controller"])
        settings["controller.listeners"] = "CONTROLLER"
    if "broker" in spec.roles:
        settings["broker.id"] = str(spec.ids["broker"])
    return settings


def check(nodes: Sequence[NodeSpec], settings: Mapping[str, Mapping[str, str]]) -> None:
    """Raises `UsageError` for settings (node -> key -> value) with which a node would not start,
    or that it would never read. On addresses that stand for those that a run will give."""
    by_name = {spec.name: spec for spec in nodes}
    addresses = {name: f"10.0.0.{number}" for number, name in enumerate(by_name, 1)}
    for node, wanted in settings.items():
        if fixed := sorted(FIXED & wanted.keys()):
            raise UsageError(f"--set {fixed[0]}: the layout of the cluster decides that (--nodes)")
        own = own_settings(node, by_name, addresses, workdir="/node", seed=0)
        seen = _Reading({**own, **wanted})
        try:
            from_settings(seen)
        except (ConfigError, OSError) as error:
            raise UsageError(f"--set, node {node}: {error}") from None
        if unread := sorted(wanted.keys() - seen.keys_read):
            raise UsageError(f"--set, node {node}: it has no setting {unread[0]!r}")


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
