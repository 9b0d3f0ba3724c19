"""Settings of one replica. The defaults are Kafka's halved or less, in Kafka's ratios."""

from dataclasses import dataclass

from nodes.kraft.ids import ReplicaId


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftConfig:
    """Who this replica is, who votes, and how long it waits. `prevote`: ask whether an election
    could be won before holding one (KIP-996). A snapshot is fetched in chunks of at most
    `snapshot_chunk_bytes`.

    A replica whose id is not among the voters is an observer: it follows the log, and neither
    votes nor campaigns. `seed` fixes every random draw.
    """

    node_id: ReplicaId
    voters: tuple[ReplicaId, ...]
    seed: int
    fetch_timeout_ms: int = 1000
    election_timeout_ms: int = 500
    election_backoff_max_ms: int = 500
    fetch_max_wait_ms: int = 250
    request_timeout_ms: int = 1000
    retry_backoff_ms: int = 20
    prevote: bool = True
    snapshot_chunk_bytes: int = 2**20

    def __post_init__(self) -> None:
        if not self.voters or len(set(self.voters)) != len(self.voters):
            raise ValueError(f"voters must be distinct ids, at least one, not {self.voters}")
        if min(self.node_id, *self.voters) < 0:
            raise ValueError(f"ids must not be negative: node {self.node_id}, voters {self.voters}")

    @property
    def is_voter(self) -> bool:
        return self.node_id in self.voters

    @property
    def majority(self) -> int:
        """How many voters a decision takes."""
        return len(self.voters) // 2 + 1

    @property
    def other_voters(self) -> tuple[ReplicaId, ...]:
        return tuple(voter for voter in self.voters if voter != self.node_id)

    @property
    def check_quorum_ms(self) -> int:
        """A leader that a majority has not fetched from for so long resigns (KAFKA-15489)."""
        return self.fetch_timeout_ms * 3 // 2

    @property
    def begin_resend_ms(self) -> int:
        """How often a leader tells the other voters that it leads."""
        return max(1, self.fetch_timeout_ms // 2)
