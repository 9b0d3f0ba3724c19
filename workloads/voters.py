"""Voters: one at a time leaves the quorum and comes back, while everybody asks who votes (KIP-853).

A voter that was removed goes on as an observer of the log, with the same id and directory. Another
one is not removed before it was acknowledged that it is back, so that all but one vote at least,
whatever became of requests that nobody answered. Where each is found, and which directory it has,
clients learn from the leader's own answers.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from framework.errors import UsageError
from framework.generators import (
    Context,
    Generator,
    Offer,
    Pending,
    assign,
    limit,
    op,
    phases,
    time_limit,
)
from framework.history.event import Event, Invocation, Process
from framework.plugins.capabilities import CHANGING_VOTERS, VOTER_CHANGES
from framework.plugins.system import Cluster, NodeSpec
from framework.plugins.workload import Client, WorkloadOptions
from workloads.kafka.client import KafkaClient
from workloads.kafka.operations.voters import RaftVoter, VotersView, voter_key
from workloads.kafka.roles import BROKER, CONTROLLER

READ: Final = "describe-voters"
SETTLE_NS: Final = 400_000_000
"""Between the end of a change, however it ended, and the next one."""
TRIES: Final = 6
"""Of one who is to be back in the end: each may have to be looked for first."""
LAST_READS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class VotersOptions:
    """`away_s`: how long a voter is away at least; so long all vote before the next one leaves.
    `after_s`: so long after the main phase began all vote. `leaves`: names of the nodes that leave,
    with + between, each while it follows; none: all, whoever leads."""

    away_s: float = 0.5
    after_s: float = 0.0
    leaves: str = ""

    def __post_init__(self) -> None:
        for name, value in (("away_s", self.away_s), ("after_s", self.after_s)):
            if not 0 <= value <= 3600:
                raise ValueError(f"{name}={value:g}: it is from 0 to 3600 s")


class Voters:
    """The `voters` workload."""

    Options = VotersOptions
    name: str = "voters"
    requires: frozenset[str] = frozenset({CHANGING_VOTERS})
    provides: frozenset[str] = frozenset({VOTER_CHANGES})
    min_roles: Mapping[str, int] = {CONTROLLER: 3, BROKER: 1}
    min_threads: int = 2

    def __init__(self, options: VotersOptions | None = None) -> None:
        self._options = options or VotersOptions()
        self._met: dict[int, RaftVoter] = {}
        """Voters that anybody was told of, and where they are found."""

    def check_nodes(self, nodes: Sequence[NodeSpec]) -> None:
        """See `framework.plugins.workload.NamesNodes`."""
        _named(self._options.leaves, nodes)

    def generator(self, options: WorkloadOptions) -> Generator:
        away_ns = max(round(self._options.away_s * 1e9), SETTLE_NS)
        leave = _named(self._options.leaves, options.nodes)
        changes = OneAway(met=self._met, seats=_seats(options), away_ns=away_ns, leave=leave)
        later = self._options.after_s
        return phases(time_limit(later, Reads()), changes) if later else changes

    def final_generator(self, options: WorkloadOptions) -> Generator:
        """All vote again, and everybody is told so."""
        seats = _seats(options)
        return phases(
            OneAway(met=self._met, seats=seats, away_ns=SETTLE_NS, doubt=True, tries=TRIES),
            limit(LAST_READS, Reads()),
        )

    def client(self, cluster: Cluster, thread: int) -> Client:
        return KafkaClient(cluster, thread)


def _seats(options: WorkloadOptions) -> int:
    return sum(spec.votes for spec in options.nodes)


def _named(leaves: str, nodes: Sequence[NodeSpec]) -> frozenset[int] | None:
    """The ids of those that leave; None: all. Raises `UsageError` for one that does not vote."""
    ids = {spec.name: spec.ids[CONTROLLER] for spec in nodes if spec.votes}
    named = {each.strip() for each in leaves.split("+") if each.strip()}
    if unknown := sorted(named - ids.keys()):
        voters = ", ".join(sorted(ids))
        raise UsageError(
            f"workload voters: leaves={leaves}: {unknown[0]} is no voter (those are: {voters})"
        )
    return frozenset(ids[each] for each in named) or None


@dataclass(frozen=True, slots=True)
class Reads:
    """Endless."""

    taken: int = 0

    def offer(self, context: Context) -> Offer:
        chosen = assign(context.fork(self.taken), op(READ))
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        return Offer(chosen, Reads(self.taken + 1))

    def update(self, context: Context, event: Event) -> Generator:
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class OneAway:
    """One operation that changes who votes at a time, or that looks how the last one ended; all
    others are reads. `seats`: so many vote in the plan. `leave`: ids of those that leave while they
    follow; None: all, whoever leads. `leader` of `epoch`: the last one that anybody was told of.
    `turn`: whose it is to leave and to come back; `away`: he has left. `doubt`: nobody knows
    whether he has. `busy`: who does it now. `tries`: so many more, only to have all back, and
    nothing beside them; None: endless."""

    met: dict[int, RaftVoter]
    seats: int
    away_ns: int
    leave: frozenset[int] | None = None
    leader: int | None = None
    epoch: int = -1
    turn: int | None = None
    away: bool = False
    doubt: bool = False
    busy: Process | None = None
    quiet_until_ns: int = 0
    tries: int | None = None
    taken: int = 0

    def offer(self, context: Context) -> Offer | None:
        ends = self.tries is not None
        if ends and self.busy is None and self._all_back:
            return None
        template, changes = self._next(context.rng(self.taken), context.time)
        if ends and not changes:
            due = None if self.busy is not None else self.quiet_until_ns
            return Offer(Pending(due), self)
        chosen = assign(context.fork(self.taken), template)
        if isinstance(chosen, Pending):
            return Offer(chosen, self)
        after = replace(self, taken=self.taken + 1)
        if not changes:
            return Offer(chosen, after)
        turn = self.turn if chosen.key is None else int(chosen.value["id"])
        return Offer(chosen, replace(after, busy=chosen.process, turn=turn))

    @property
    def _all_back(self) -> bool:
        known = not self.doubt and not self.away
        return known or self.tries == 0

    def _next(self, rng: random.Random, now_ns: int) -> tuple[Invocation, bool]:
        """What is due, and whether that is the one operation that others wait for."""
        learned = len(self.met) >= self.seats
        if self.busy is not None or now_ns < self.quiet_until_ns or not (learned or self.doubt):
            return op(READ), False
        if self.doubt:
            return op(READ), True
        if self.away and self.turn is not None:
            return _change("add-voter", self.met[self.turn]), True
        may = self._may_leave()
        if not may:
            return op(READ), False
        known = self.met[rng.choice(may)]
        return _change("remove-voter", RaftVoter(id=known.id, directory=known.directory)), True

    def _may_leave(self) -> list[int]:
        """Whose turn it may be, when all vote."""
        due = set(self.met) if self.turn is None else {self.turn}
        return sorted(due if self.leave is None else due & self.leave - {self.leader})

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke":
            return self
        if event.type != "ok" or event.f != READ:
            return self if event.process != self.busy else self._ended(event, set(), context.time)
        view = VotersView.from_json(event.value)
        self.met.update({each.id: each for each in view.voters if each.addresses})
        after = self
        if view.leader_epoch > self.epoch:
            after = replace(self, leader=view.leader, epoch=view.leader_epoch)
        if event.process != self.busy:
            return after
        return after._ended(event, {each.id for each in view.voters}, context.time)

    def _ended(self, event: Event, shown: set[int], now_ns: int) -> OneAway:
        """What is known once the operation has ended that others waited for. By a look it is the
        same one's turn, also where all vote: what he was asked for may come yet."""
        tries = None if self.tries is None else self.tries - 1
        after = replace(self, busy=None, quiet_until_ns=now_ns + SETTLE_NS, tries=tries)
        if event.type != "ok":
            return replace(after, doubt=True)
        if event.f == READ:
            missing = sorted(set(self.met) - shown)
            turn = missing[0] if missing else self.turn
            return replace(after, doubt=False, away=bool(missing), turn=turn)
        removed = event.f == "remove-voter"
        after = replace(after, quiet_until_ns=now_ns + self.away_ns)
        return replace(after, away=removed, turn=self.turn if removed else None)


def _change(f: str, voter: RaftVoter) -> Invocation:
    return op(f, key=voter_key(voter.id), value=voter.to_json())
