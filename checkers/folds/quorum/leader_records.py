"""The record that begins a leader's epoch against who votes: it names all voters, and a majority of
them that voted for that leader, itself among them (KIP-595, LeaderChangeMessage)."""

from collections.abc import Iterable, Mapping, Set
from typing import TypeAlias

from framework.evidence.changes import LeaderAnnounced
from framework.evidence.ids import ReplicaId
from framework.evidence.quorum import EpochSaved

SavedVotes: TypeAlias = Mapping[tuple[int, int], EpochSaved]
"""By voter and epoch."""


def naming(records: Iterable[LeaderAnnounced]) -> list[LeaderAnnounced]:
    """Those that name anybody: a log may have no place for that."""
    return [each for each in records if each.votes or each.voters]


def badly_elected(record: LeaderAnnounced, in_force: Set[int]) -> str:
    """What is wrong with it, as the predicate of a sentence about the leader; empty: nothing.
    `in_force`: who votes by what else is known."""
    votes = set(record.votes)
    if record.leader not in in_force:
        return "is none of them"
    if set(record.voters) != in_force:
        return f"has a record that names {sorted(record.voters)}"
    if not votes <= in_force or 2 * len(votes) <= len(in_force):
        return f"was elected by {sorted(votes)}"
    if record.leader not in votes:
        return f"was elected by {sorted(votes)}, and not by itself"
    return ""


def saved_votes(saved: Iterable[EpochSaved], ids: Mapping[str, ReplicaId]) -> SavedVotes:
    """`ids`: of nodes. Who saved no vote may have forgotten it (`FollowerState` of Apache Kafka
    does)."""
    return {
        (ids[each.node], each.epoch): each
        for each in saved
        if each.node in ids and each.vote is not None
    }


def denied(record: LeaderAnnounced, saved: SavedVotes) -> EpochSaved | None:
    """The vote that a voter saved for somebody else than the leader, whom it elected by the record.
    One voter has one vote an epoch."""
    own = (saved.get((voter, record.epoch)) for voter in record.votes)
    return next((each for each in own if each is not None and each.vote != record.leader), None)
