"""Consumer groups: members that read, commit, leave and vanish, on coordinators that move.

Members are real clients, each a process of its own. They read what was produced meanwhile, commit
how far they came, and are told anew what to read whenever somebody comes or goes. One leaves, or
is killed, every few seconds. Somebody asks for what the group has committed, and somebody commits
under the names of former members, in their generations, which must be refused. At the end all
leave, and one new member reads what the group has yet to read.

Beside them a few groups have one static member each, which is restarted all the time, and one has
no members: clients commit for it all the same, and what they committed is deleted. Now and then
a broker is asked which groups it has; in the end each of them is.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import Final

from framework.generators import (
    PENDING,
    Context,
    Generator,
    Offer,
    each_thread,
    free_process,
    op,
    phases,
)
from framework.history.event import Event, Invocation, Process
from framework.plugins.outcomes import PRESENT
from framework.plugins.system import Cluster
from framework.plugins.workload import Client, WorkloadOptions
from workloads.base import FinalReads, KafkaWorkload
from workloads.kafka.groups_client import GroupsClient
from workloads.kafka.operations.groups import (
    Assigned,
    Commit,
    ListGroups,
    MemberFetch,
    MemberFetched,
    Membership,
    OfGroup,
)
from workloads.kafka.operations.partitions import ListOffsets, Produce, partition_key
from workloads.kafka.operations.topics import CreateTopic
from workloads.kafka.roles import brokers
from workloads.log import final_fetches
from workloads.options import at_least
from workloads.simple_group import SimpleGroup
from workloads.static_member import StaticMember

LIBRARY: Final = "kafka-python"
RELEASE: Final = 3
"""The first one that can go through a proxy."""
GROUP: Final = "g"
STATIC: Final = "static"
SIMPLE: Final = "simple"
FINAL_MEMBER: Final = "final"
NS_PER_S: Final = 1_000_000_000
COMMIT_SHARE: Final = 0.35
STATIC_SHARE: Final = 0.25
"""Of what they do who are no members: of static ones."""
STALE_SHARE, COMMITTED_SHARE, PRODUCE_SHARE, METADATA_SHARE = 0.15, 0.15, 0.45, 0.06
SIMPLE_SHARE, LIST_SHARE = 0.1, 0.03
"""Of what they do else; the rest are questions for ends of partitions."""
STATES: Final = (("Stable",), ("Empty",), ("PreparingRebalance", "CompletingRebalance"))
TYPES: Final = (("classic",), ("consumer",))
"""What a broker's groups are asked for by (KIP-518, KIP-848)."""
LISTINGS: Final = 3
"""How often each broker is asked for its groups in the end: one coordinator may change while they
are asked in turn, and one may be without an answer."""
MOVED: Final = frozenset({"REBALANCED", "POSITION_MOVED"})
"""Why a member has to be told anew what it reads."""
GONE: Final = frozenset({"NO_MEMBER", "MEMBER_GONE", "MEMBER_SILENT"})
NOT_ASSIGNED: Final = "NOT_ASSIGNED"
"""A member waits for its part of a generation, and goes on."""
PATIENCE: Final = 2
"""Such answers in a row after which it leaves, and another one takes its place: who merely vanished
would be waited for."""
EARLY: Final = 2
"""Departures for which nobody waits, so that also a short run has generations that are over."""
FORMER_MEMBER: Final = "former"
FORMER: Final = 6
"""Memberships that are remembered after their end."""
TRIALS: Final = 3
"""How often somebody would delete what the final member committed."""
FINAL_ATTEMPTS: Final = 12
"""Of the final member's operations in a row that bring it no further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsOptions:
    """`members`: at a time, at most. `partitions`, `replicas`: of each topic. `session_ms`: after
    which one that vanished is no member any more. `churn_s`: between two departures. `static`:
    groups of one static member."""

    members: int = 3
    topics: int = 2
    partitions: int = 2
    replicas: int = 3
    session_ms: int = 3000
    churn_s: float = 5.0
    static: int = 2

    def __post_init__(self) -> None:
        at_least(1, members=self.members, topics=self.topics)
        at_least(1, partitions=self.partitions, replicas=self.replicas)
        at_least(500, session_ms=self.session_ms)
        at_least(0, static=self.static)
        if self.churn_s <= 0:
            raise ValueError(f"churn_s={self.churn_s:g}: it is above 0")

    @property
    def names(self) -> Sequence[str]:
        """Of the topics."""
        return [f"groups-{number}" for number in range(self.topics)]

    @property
    def keys(self) -> Sequence[str]:
        """Of all partitions."""
        numbers = range(self.partitions)
        return [partition_key(topic, number) for topic in self.names for number in numbers]

    @property
    def static_members(self) -> Sequence[StaticMember]:
        """Each of which commits of one partition."""
        keys = self.keys
        return [
            StaticMember(
                group=f"{STATIC}-{number}",
                key=keys[number % len(keys)],
                session_ms=self.session_ms,
            )
            for number in range(self.static)
        ]


class Groups(KafkaWorkload):
    """The `groups` workload."""

    Options = GroupsOptions
    name: str = "groups"
    requires: frozenset[str] = frozenset({"data-plane", "groups", "kafka-topics"})
    provides: frozenset[str] = frozenset({"group-operations", "log-operations", "topic-operations"})
    min_threads: int = 2
    more: str = LIBRARY

    def __init__(self, options: GroupsOptions | None = None) -> None:
        super().__init__()
        self._options = options or GroupsOptions()

    def lacking(self) -> str | None:
        """Why this machine cannot have it; None: it can."""
        try:
            found = metadata.version(LIBRARY)
        except metadata.PackageNotFoundError:
            found = ""
        if found and int(found.split(".")[0]) >= RELEASE:
            return None
        there = f"{found} is" if found else "none is"
        return (
            f"its members are clients of {LIBRARY} {RELEASE} or newer, and {there} installed: "
            f"pip install '{LIBRARY}>={RELEASE}'"
        )

    def generator(self, options: WorkloadOptions) -> Generator:
        return GroupOperations(
            options=self._options,
            members_at_once=min(self._options.members, options.threads - 1),
            static={each.group: each for each in self._options.static_members},
        )

    def final_generator(self, options: WorkloadOptions) -> Generator:
        """All of every partition; all members leave; one reads what the group has yet to read.
        Something is deleted of what the group without members committed. Then, what each group
        committed in the end, and which groups brokers have."""
        keys = self._options.keys
        nodes: list[str | None] = [*brokers(options.nodes)] or [None]
        nobody = Membership(group=GROUP, member="").to_json()
        return phases(
            final_fetches(keys),
            each_thread(op("leave", value=nobody)),
            FinalMember(keys=tuple(keys)),
            op("forget", key=keys[0], value=OfGroup(SIMPLE).to_json()),
            _committed(GROUP, keys),
            *(_committed(each.group, [each.key]) for each in self._options.static_members),
            _committed(SIMPLE, keys),
            *(op("groups", node=node) for _ in range(LISTINGS) for node in nodes),
            super().final_generator(options),
        )

    def client(self, cluster: Cluster, thread: int) -> Client:
        return GroupsClient(
            cluster,
            thread,
            topics=tuple(self._options.names),
            session_ms=self._options.session_ms,
            started=self._started,
        )


# --- a member -----------------------------------------------------------------------------


def _committed(group: str, keys: Sequence[str]) -> FinalReads:
    """Of each partition, where the group went on in the end."""
    return FinalReads(names=lambda: keys, f="committed", value=OfGroup(group).to_json())


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What a process knows of the member that it is. `generation`: None until it is told what to
    read; `waited`: how often it was not. `positions`: key -> where it goes on; `committed`: key ->
    what it committed of that."""

    name: str
    generation: int | None = None
    waited: int = 0
    id: str = ""
    positions: Mapping[str, int] = field(default_factory=dict)
    committed: Mapping[str, int] = field(default_factory=dict)

    def fetch(self, key: str) -> Invocation:
        """The next records of a partition."""
        assert self.generation is not None
        value = MemberFetch(
            consumer=f"{self.name}@{self.generation}",
            start=self.positions[key],
            group=GROUP,
            member=self.name,
            generation=self.generation,
        )
        return op("fetch", key=key, value=value.to_json())

    def commit(self, key: str, *, as_other: bool = False) -> Invocation:
        """How far it came; `as_other`: somebody else says so, under its name, when it is too
        late."""
        assert self.generation is not None
        value = Commit(
            group=GROUP,
            member=self.name,
            generation=self.generation,
            offset=self.positions[key],
            id=self.id if as_other else None,
            zombie=FORMER_MEMBER if as_other else None,
        )
        return op("commit", key=key, value=value.to_json())

    def uncommitted(self) -> Sequence[str]:
        """Keys of which it has read more than it committed."""
        return [
            key for key, position in self.positions.items() if position > self.committed.get(key, 0)
        ]

    def asking(self, f: str) -> Invocation:
        """`join`, `assignment`, `leave` or `crash`."""
        return op(f, value=Membership(group=GROUP, member=self.name).to_json())

    @property
    def waits(self) -> bool:
        """For its part of a generation."""
        return self.generation is None

    def waiting(self) -> Invocation:
        """What it does as long as it waits."""
        return self.asking("assignment" if self.waited < PATIENCE else "leave")

    def after(self, event: Event) -> Member | None:
        """What it knows after one of its operations; None: it is no member any more."""
        if event.f in ("join", "assignment"):
            return self._assigned(event)
        if event.f in ("leave", "crash") or event.type == "info":
            return None
        if event.type == "fail":
            code = (event.error or ("",))[0]
            if code in GONE:
                return None
            return replace(self, generation=None) if code in MOVED else self
        key = str(event.key)
        if event.f == "fetch":
            position = MemberFetched.from_json(event.value).position
            return replace(self, positions={**self.positions, key: position})
        offset = Commit.from_json(event.value).offset
        return replace(self, committed={**self.committed, key: offset})

    def _assigned(self, event: Event) -> Member | None:
        if event.type != "ok":
            code = (event.error or ("",))[0]
            if event.type == "info" or code != NOT_ASSIGNED:
                return None  # whatever it waits for, a new one may find
            return replace(self, generation=None, waited=self.waited + 1)
        reported = Assigned.from_json(event.value)
        positions = dict(reported.positions)
        return Member(
            name=self.name,
            generation=reported.generation,
            id=reported.id,
            positions=positions,
            committed=positions,
        )


# --- the main phase -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOperations:
    """Endless. `members`: by process. `newest`: the newest generation that somebody was told of;
    `former`: memberships of older ones, and what they had read. `departed_ns`: when somebody went
    last; they leave and vanish in turn, `departures` so far. `static`: by group; `simple`: the one
    without members."""

    options: GroupsOptions
    members_at_once: int
    created: frozenset[str] = frozenset()
    members: Mapping[Process, Member] = field(default_factory=dict)
    newest: int = -1
    former: tuple[Member, ...] = ()
    static: Mapping[str, StaticMember] = field(default_factory=dict)
    simple: SimpleGroup = field(default_factory=lambda: SimpleGroup(group=SIMPLE))
    departed_ns: int = 0
    departures: int = 0
    next_value: int = 1
    lives: int = 0
    taken: int = 0

    def offer(self, context: Context) -> Offer:
        process = free_process(context.fork(self.taken))
        if process is None:
            return Offer(PENDING, self)
        rng = context.rng(self.taken)
        template = self._next(rng, process, context.time)
        chosen = replace(template, process=process, time=context.time)
        return Offer(chosen, self._taken(chosen))

    def _next(self, rng: random.Random, process: Process, now_ns: int) -> Invocation:
        missing = next((topic for topic in self.options.names if topic not in self.created), None)
        if missing is not None:
            count = CreateTopic(
                partitions=self.options.partitions, replication=self.options.replicas
            )
            return op("create", key=missing, value=count.to_json())
        member = self.members.get(process)
        if member is not None:
            return self._of_member(rng, member, now_ns)
        if len(self.members) < self.members_at_once:
            return Member(name=f"m{self.lives}").asking("join")
        return self._of_others(rng)

    def _of_member(self, rng: random.Random, member: Member, now_ns: int) -> Invocation:
        if self._departs(member, now_ns):
            early = self.departures < EARLY
            return member.asking("leave" if early or self.departures % 2 else "crash")
        if member.waits or not member.positions:
            return member.waiting()
        due = member.uncommitted()
        if due and rng.random() < COMMIT_SHARE:
            return member.commit(rng.choice(due))
        return member.fetch(rng.choice(sorted(member.positions)))

    def _departs(self, member: Member, now_ns: int) -> bool:
        """Nobody who still waits for its part. The first ones as soon as all have theirs, and have
        something to commit too late."""
        if member.waits:
            return False
        if now_ns - self.departed_ns > self.options.churn_s * NS_PER_S:
            return True
        whole = len(self.members) == self.members_at_once and all(
            each.generation == self.newest for each in self.members.values()
        )
        return self.departures < EARLY and whole and any(member.positions.values())

    def _of_others(self, rng: random.Random) -> Invocation:
        idle = [each for each in self.static.values() if each.asking is None]
        if idle and rng.random() < STATIC_SHARE:
            return rng.choice(idle).next(rng)
        draw, key = rng.random(), rng.choice(self.options.keys)
        # A commit in the present generation is as good as a heartbeat of whoever vanished.
        stale = [each for each in self.former if (each.generation or 0) < self.newest]
        if draw < STALE_SHARE and stale:
            member = rng.choice(stale)
            return member.commit(rng.choice(sorted(member.positions)), as_other=True)
        draw -= STALE_SHARE + COMMITTED_SHARE
        if draw < 0:
            return op("committed", key=key, value=OfGroup(GROUP).to_json())
        draw -= PRODUCE_SHARE
        if draw < 0:
            produce = Produce(value=self.next_value, acks="all", idempotent=True)
            return op("produce", key=key, value=produce.to_json())
        return self._of_administrators(rng, key, draw)

    def _of_administrators(self, rng: random.Random, key: str, draw: float) -> Invocation:
        """And of those who ask what is where. `draw`: from 0 to what the others leave."""
        if draw < SIMPLE_SHARE:
            return self.simple.next(rng, key)
        if draw < SIMPLE_SHARE + LIST_SHARE:
            return _question_for_groups(rng)
        if draw < SIMPLE_SHARE + LIST_SHARE + METADATA_SHARE:
            return op("metadata", key=rng.choice(self.options.names))
        return op("list-offsets", key=key, value=ListOffsets("latest").to_json())

    def _taken(self, chosen: Invocation) -> GroupOperations:
        after = replace(self, taken=self.taken + 1)
        if isinstance(chosen.value, dict) and chosen.value.get("group") == SIMPLE:
            return replace(after, simple=self.simple.begun(chosen))
        member = self._static_of(chosen)
        if member is not None:
            return replace(after, static={**self.static, member.group: member.begun(chosen)})
        if chosen.f == "produce":
            after = replace(after, next_value=self.next_value + 1)
        elif chosen.f == "join":
            joining = Member(name=str(chosen.value["member"]))
            members = {**self.members, chosen.process: joining}
            after = replace(after, members=members, lives=self.lives + 1)
        elif chosen.f in ("leave", "crash") and not self.members[chosen.process].waits:
            after = replace(after, departed_ns=chosen.time or 0, departures=self.departures + 1)
        return after

    def _static_of(self, chosen: Invocation) -> StaticMember | None:
        """The static member whose operation that is."""
        value = chosen.value if isinstance(chosen.value, dict) else {}
        return self.static.get(str(value.get("group"))) if "instance" in value else None

    def _asking(self, process: Process) -> StaticMember | None:
        """The static member for which the process is doing something."""
        members = self.static.values()
        return next((each for each in members if each.asked_by == process), None)

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke":
            return self
        static = self._asking(event.process)
        if static is not None:
            return replace(self, static={**self.static, static.group: static.after(event)})
        if event.f == "create":
            exists = event.type == "ok" or event.asserts == PRESENT
            return replace(self, created=self.created | {event.key}) if exists else self
        if event.f == "produce" and event.type == "ok":
            return replace(self, simple=self.simple.produced(event))
        member = self.members.get(event.process)
        if member is None:
            return self
        now = member.after(event)
        rest = {process: each for process, each in self.members.items() if process != event.process}
        after = replace(self, members=rest if now is None else {**rest, event.process: now})
        if now is not None and now.generation == member.generation:
            return after
        return after._reported(member, now)

    def _reported(self, before: Member, now: Member | None) -> GroupOperations:
        """After the end of a membership, or the beginning of one."""
        newest = max(self.newest, -1 if now is None or now.generation is None else now.generation)
        former = self.former
        if before.generation is not None and any(before.positions.values()):
            read = {key: offset for key, offset in before.positions.items() if offset > 0}
            former = (*former, replace(before, positions=read))[-FORMER:]
        return replace(self, newest=newest, former=former)


def _question_for_groups(rng: random.Random) -> Invocation:
    """For all of a broker, or some."""
    states, types = rng.choice((None, *STATES)), rng.choice((None, None, *TYPES))
    return op("groups", value=ListGroups(states=states, types=types).to_json())


# --- the final phase ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalMember:
    """One member of all partitions, which reads each to its end and commits that. Then somebody
    would delete what it committed, which must be refused: it commits the same again, and shows that
    it was a member all the while. `process`: who it is; `left`: keys that it has not come to the
    end of, or has yet to commit; `tried`: how much of the rest was done."""

    keys: tuple[str, ...]
    attempts: int = FINAL_ATTEMPTS
    process: Process | None = None
    member: Member | None = None
    left: tuple[str, ...] = ()
    tried: int = 0
    busy: bool = False
    taken: int = 0

    def offer(self, context: Context) -> Offer | None:
        if self.busy:
            return Offer(PENDING, self)
        template = self._next()
        if template is None:
            return None
        process = self.process
        if process is None:
            process = free_process(context.fork(self.taken))
        thread = None if process is None else context.thread_of(process)
        if process is None or thread not in context.free:
            return Offer(PENDING, self)
        chosen = replace(template, process=process, time=context.time)
        member = self.member or Member(name=str(chosen.value["member"]))
        return Offer(
            chosen,
            replace(self, process=process, member=member, busy=True, taken=self.taken + 1),
        )

    def _next(self) -> Invocation | None:
        member = self.member
        if self.attempts <= 0:
            return None
        if member is None:
            return Member(name=f"{FINAL_MEMBER}-{self.taken}").asking("join")
        if member.waits or set(member.positions) != set(self.keys):
            return member.waiting()  # others have yet to be given up
        if self.left:
            return member.fetch(self.left[0])
        due = member.uncommitted()
        return member.commit(due[0]) if due else self._trial(member)

    def _trial(self, member: Member) -> Invocation | None:
        key = self.keys[self.tried // 2 % len(self.keys)]
        if self.tried >= 2 * TRIALS:
            return None
        if self.tried % 2:
            return member.commit(key)
        return op("forget", key=key, value=OfGroup(GROUP).to_json())

    def update(self, context: Context, event: Event) -> Generator:
        if event.type == "invoke" or event.process != self.process or self.member is None:
            return self
        if event.f == "forget":
            after = replace(self, busy=False, tried=self.tried + 1)
            return after._gone() if event.type == "info" else after
        now = self.member.after(event)
        tried = self.tried + (event.f == "commit" and not self.member.uncommitted())
        after = replace(self, busy=False, member=now, attempts=self.attempts - 1, tried=tried)
        if now is None:
            return after._gone()
        if now.generation != self.member.generation:
            return replace(after, left=self.keys)
        if event.f != "fetch" or event.type != "ok":
            return after
        return after._fetched(MemberFetched.from_json(event.value))

    def _gone(self) -> FinalMember:
        """The member is none any more, or went with its process: another one joins."""
        return replace(self, process=None, member=None, left=())

    def _fetched(self, reported: MemberFetched) -> FinalMember:
        at_end = (
            reported.high_watermark is not None and reported.position >= reported.high_watermark
        )
        left = self.left[1:] if at_end else self.left
        got_on = at_end or bool(reported.records)
        return replace(self, left=left, attempts=FINAL_ATTEMPTS if got_on else self.attempts)
