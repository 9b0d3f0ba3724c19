"""What the controller core is told once, at its start."""

from dataclasses import dataclass, field

from nodes.kraft.config import Config, SnapshotPolicy
from nodes.kraft.security.authorizer import NOBODY_ASKED, Authorizer


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerConfig:
    """`seed` feeds topic ids and replica placement. `controller_ids`: the voters, whose ids no
    broker may take (KIP-631, "Controller and Broker IDs"). A broker whose metadata is more than
    `max_metadata_lag_offsets` behind the high watermark is fenced, and a controller counts as
    lagging. `heartbeat_interval_ms` is that of controllers. `deferred_takeover`: a new process
    waits for the end of the lease that another holds of its id. `metadata_format`: the level of
    that feature to finalize; 0: leave it as it is. `default_partitions`, `default_replication`: of
    topics whose creator does not say (-1: 3 replicas, or as many as there are active brokers)."""

    controller_id: int
    cluster_id: str
    seed: int = 0
    lease_ms: int = 5000
    max_metadata_lag_offsets: int = 10_000
    default_partitions: int = 1
    default_replication: int = -1
    controller_ids: frozenset[int] = frozenset()
    authorizer: Authorizer = NOBODY_ASKED
    heartbeat_interval_ms: int = 500
    snapshots: SnapshotPolicy = field(default_factory=SnapshotPolicy)
    deferred_takeover: bool = False
    metadata_format: int = 0

    @classmethod
    def of(cls, config: Config) -> "ControllerConfig":
        """The controller's part of a node's configuration."""
        assert config.controller_id is not None
        return cls(
            controller_id=config.controller_id,
            cluster_id=config.cluster_id,
            seed=config.seed,
            lease_ms=config.timing.lease_ms,
            default_partitions=config.auto_topics.partitions,
            default_replication=config.auto_topics.replication_factor,
            controller_ids=frozenset(voter.id for voter in config.voters),
            authorizer=Authorizer(config.authorizer_enabled, config.super_users),
            heartbeat_interval_ms=config.timing.heartbeat_interval_ms,
            snapshots=config.snapshots,
            deferred_takeover=config.deferred_takeover,
            metadata_format=config.metadata_format,
        )
