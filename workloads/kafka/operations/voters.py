"""Who votes in the quorum (KIP-853): `describe-voters`, which has no key, `remove-voter` and
`add-voter`, whose key is `voter-<id>` and whose value a `RaftVoter`."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.kafka.operations.value import Value, omitted


@dataclass(frozen=True, slots=True)
class VoterAddress(Value):
    """Where others of the quorum find a voter."""

    name: str
    host: str
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RaftVoter(Value):
    """A voter is known by its id and that of the directory of its log. `addresses`: of one that is
    to be added, or that votes."""

    id: int
    directory: str
    addresses: tuple[VoterAddress, ...] | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class VotersView(Value):
    """By the leader of an epoch: how far the metadata log is committed, where its own log ends
    (null: it does not say), who votes, and the ids of those that follow and do not."""

    leader: int
    leader_epoch: int
    high_watermark: int
    log_end: int | None
    voters: tuple[RaftVoter, ...]
    observers: tuple[int, ...]


def voter_key(voter_id: int) -> str:
    """The key of what is done to a voter."""
    return f"voter-{voter_id}"
