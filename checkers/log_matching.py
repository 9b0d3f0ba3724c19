"""Log matching (D.5; Raft's Log Matching property).

(a) One (epoch, offset) is one record, on every node that ever held it, also where it was
truncated later. (b) Logs that agree at an (epoch, offset) agree at every offset below.

What a node held is known from its disk, as each of its processes left it, and from what it told.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from checkers.folds.node_log import KINDS, ON_DISK, Account, LogFold, accounts, log_at
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import Appended, either_of
from framework.evidence.run_events import RunEvents, alone, voters
from framework.plugins.checker import DISKS, EVENTS, Clause, Count, Finding

ONE_RECORD: Final = Clause(
    name="one-record",
    says="An (epoch, offset) is one record on all nodes that ever held it",
    compares="nodes that have ten entries or more in common with others",
    floor=2,
    because="it takes two to differ, and each voter of the plan has to be among them; ten entries "
    "are what a quorum writes in the first seconds",
    sources=(DISKS, EVENTS),
    blind="what was written and cut off again between two kills, by nodes that do not tell of it",
)
SAME_BELOW: Final = Clause(
    name="same-below",
    says="Logs that agree at an (epoch, offset) agree at all offsets below",
    compares="nodes that have ten such entries in common with others, and all below is known",
    floor=2,
    because="as above",
    sources=(DISKS, EVENTS),
    blind="what lies below a snapshot that came from another node",
)

ENOUGH: Final = 10
Place: TypeAlias = tuple[int, int]
"""Epoch and offset."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who held an entry, and the append that wrote it."""

    crc: int
    prefix: bytes | None
    append: Appended
    account: Account


@dataclass(slots=True)
class Held:
    """All entries that anybody held. `nodes`: who has each, a bit for each of `names`; `known`: who
    has it with all below."""

    names: dict[str, int] = field(default_factory=dict)
    first: dict[Place, Holder] = field(default_factory=dict)
    nodes: dict[Place, int] = field(default_factory=lambda: defaultdict(int))
    known: dict[Place, int] = field(default_factory=lambda: defaultdict(int))
    findings: list[Finding] = field(default_factory=list)
    said: set[tuple[str, str, str]] = field(default_factory=set)

    def add(self, place: Place, mine: Holder) -> None:
        node = 1 << self.names.setdefault(mine.account.node, len(self.names))
        self.nodes[place] |= node
        if mine.prefix is not None:
            self.known[place] |= node
        other = self.first.setdefault(place, mine)
        if other.crc != mine.crc:
            self._differ(ONE_RECORD, place, other, mine)
        elif None not in (other.prefix, mine.prefix) and other.prefix != mine.prefix:
            self._differ(SAME_BELOW, place, other, mine)
        elif other.prefix is None:
            self.first[place] = mine  # a known prefix is worth more than an unknown one

    def _differ(self, clause: Clause, place: Place, one: Holder, other: Holder) -> None:
        """One finding a clause and pair of nodes: what follows the first is its echo."""
        pair = (clause.name, one.account.node, other.account.node)
        if pair not in self.said:
            self.said.add(pair)
            describe = _two_records if clause is ONE_RECORD else _two_prefixes
            self.findings.append(
                finding(
                    describe(place, one, other),
                    evidence=[one.append, other.append],
                    clause=clause.name,
                )
            )


def log_matching(events: RunEvents) -> Outcome:
    held = Held()
    found = accounts(events)
    for account in found:
        log = LogFold(hashing=True)
        for each in account.history:
            log.feed(each)
            if isinstance(each, Appended):
                for offset, crc in enumerate(each.crcs, each.base_offset):
                    mine = Holder(crc, log.prefixes[offset], each, account)
                    held.add((each.epoch, offset), mine)
    who = set(voters(events.plan))
    why = alone(events.plan)
    counts = {
        ONE_RECORD.name: why or _compared(held.nodes, held.names, who),
        SAME_BELOW.name: why or _compared(held.known, held.names, who),
    }
    figures = {"entries": len(held.first), "nodes": len({account.node for account in found})}
    return weighed(counts, held.findings, figures)


def _compared(holders: Mapping[Place, int], names: Iterable[str], who: set[str]) -> Count:
    """Nodes that share enough entries with others, and how many those and the voters are."""
    shared: Counter[str] = Counter()
    for nodes, entries in Counter(holders.values()).items():
        own = [name for bit, name in enumerate(names) if nodes >> bit & 1]
        if len(own) > 1:
            shared.update(dict.fromkeys(own, entries))
    compared = {node for node, entries in shared.items() if entries >= ENOUGH}
    return len(compared), len(compared | who)


def _two_records(place: Place, one: Holder, other: Holder) -> str:
    return (
        f"two records at epoch {place[0]}, offset {place[1]}: {one.append.node} wrote one with CRC "
        f"{one.crc}, {other.append.node} one with CRC {other.crc}"
    )


def _two_prefixes(place: Place, one: Holder, other: Holder) -> str:
    left, right = (log_at(each.account.history, each.append).entries for each in (one, other))
    where = next(at for at in range(place[1]) if left[at] != right[at])
    return (
        f"{one.append.node} and {other.append.node} agree at epoch {place[0]}, offset {place[1]}, "
        f"but not below it: at offset {where} they held (epoch, CRC) {left[where]} and "
        f"{right[where]}"
    )


class LogMatching(RunChecker):
    name = "log-matching"
    summary = (
        "Every (epoch, offset) of the metadata log is one record on all nodes that ever held "
        "it, and logs that agree at one agree at all below"
    )
    requires = either_of(Appended)
    clauses = (ONE_RECORD, SAME_BELOW)
    check_run = RunCheck(log_matching, evidence=KINDS, disk=ON_DISK)
