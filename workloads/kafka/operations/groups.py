"""Consumer groups: `join`, `assignment`, `fetch` by a member, `commit`, `committed`, `leave`,
`crash`; of a static member also `beat`; of administrators `forget` and `groups`. The key is null,
or `<topic>/<partition>`."""

from __future__ import annotations

from dataclasses import dataclass

from workloads.kafka.operations.value import Value, named, omitted


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership(Value):
    """`member`: our name for a consumer, from its join until it leaves or vanishes. `join` and
    `assignment`: what it is to read; `leave`, `crash`: it goes, with and without a word."""

    group: str
    member: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned(Value):
    """What the member reads in this generation. `positions`: (key, offset) from where it goes on
    in each, as the group had committed it; the beginning where nothing was. `id`: the
    coordinator's name for the member. `part`: of a static member, which process of the instance
    assigned what it is given."""

    generation: int
    assigned: tuple[str, ...]
    positions: tuple[tuple[str, int], ...]
    id: str
    part: str | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceJoin(Value):
    """A process joins under an instance id (KIP-345): it knows nothing of the one before it.
    `member`: our name for the process. `session_ms`: how long it is a member unheard."""

    group: str
    member: str
    instance: str
    session_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceAct(Value):
    """`beat`, `leave`: by that process of the instance, which the coordinator calls `id`.
    `zombie`: why it must be refused."""

    group: str
    member: str
    instance: str
    generation: int
    id: str
    zombie: str | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFetch(Value):
    """The next records for a member. `consumer`: it, in this generation."""

    consumer: str
    start: int = named("from")
    group: str
    member: str
    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFetched(Value):
    """`records`: (offset, value). `position`: where the next fetch goes on. `high_watermark`: where
    the partition ended meanwhile, where that was asked."""

    records: tuple[tuple[int, ...], ...]
    position: int
    high_watermark: int | None = omitted()


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit(Value):
    """The group goes on from `offset`. `id`: the coordinator's name for a member; it is then not
    the member that sends this, but somebody under its name. `instance`: of a static member.
    `zombie`: why it must be refused. Who is no member has generation -1, and no name."""

    group: str
    member: str
    generation: int
    offset: int
    id: str | None = omitted()
    instance: str | None = omitted()
    zombie: str | None = omitted()


@dataclass(frozen=True, slots=True)
class OfGroup(Value):
    """What a group has committed (`committed`), or no longer (`forget`, KIP-496): of the partition
    that is the key."""

    group: str


@dataclass(frozen=True, slots=True)
class Committed(Value):
    """The result of that; None: nothing is."""

    offset: int | None


@dataclass(frozen=True, slots=True)
class Left(Value):
    """Who left; None: the client had no member."""

    member: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListGroups(Value):
    """A node's groups (`groups`): those of these states and types alone, where any are named."""

    states: tuple[str, ...] | None = omitted()
    types: tuple[str, ...] | None = omitted()


@dataclass(frozen=True, slots=True)
class Listed(Value):
    """The result of that: of each group its id, state and type (null where none is told: KIP-848
    brought it)."""

    groups: tuple[tuple[str | None, ...], ...]
