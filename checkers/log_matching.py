"""Log matching (D.5; Raft's Log Matching property).

(a) One (epoch, offset) is one record, on every node that ever held it, also where it was
truncated later. (b) Logs that agree at an (epoch, offset) agree at every offset below.

What a node held is known from its disk, as each of its processes left it, and from what it told.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import numpy as np

from checkers.folds.metadata_log.node_log import KINDS, ON_DISK, Account, LogFold, accounts, log_at
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import either_of
from framework.evidence.quorum import Appended
from framework.evidence.relations import Relation, relation
from framework.evidence.run_events import RunEvents, alone, of_kinds, voters
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


def log_matching(events: RunEvents) -> Outcome:
    found = accounts(events)
    entries = _entries(found)
    held = Held()
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
        ONE_RECORD.name: why or _enough(_shared(entries), who),
        SAME_BELOW.name: why or _enough(held.shared(), who),
    }
    figures = {
        "entries": len(entries.first("epoch", "offset")),
        "nodes": len({account.node for account in found}),
    }
    return weighed(counts, [*_two_records(entries), *held.findings], figures)


def _enough(shared: Mapping[str, int], who: set[str]) -> Count:
    """Nodes that share enough entries with others, and how many those and the voters are."""
    compared = {node for node, entries in shared.items() if entries >= ENOUGH}
    return len(compared), len(compared | who)


# --- one record -----------------------------------------------------------------------------


def _entries(found: Iterable[Account]) -> Relation[Appended]:
    """A row for each entry that anybody wrote."""
    columns = ("node", "epoch", "base_offset", "crcs")
    none: Sequence[Appended] = ()
    parts = [relation(of_kinds(account.history, Appended), *columns) for account in found]
    entries = relation(none, *columns).union(*parts).explode("crcs", index="nth")
    return entries.with_column("offset", entries["base_offset"] + entries["nth"])


def _shared(entries: Relation[Appended]) -> Mapping[str, int]:
    """Node -> how many of its entries others had as well."""
    had = entries.take(entries.first("epoch", "offset", "node"))
    shared = had.where(had.counted("epoch", "offset") > 1)
    return Counter(shared.columns["node"].to_pylist())


def _two_records(entries: Relation[Appended]) -> Iterator[Finding]:
    """An entry is a group of rows with one CRC. One finding a pair of nodes: what follows the first
    is its echo."""
    wrong = [group[0] for group in entries.disagreeing("epoch", "offset", on="crcs")]
    if not wrong:
        return
    places = entries.take(np.array(wrong))
    rows = np.flatnonzero(entries.present_in(places, "epoch", "offset"))
    first: dict[Place, tuple[int, Appended]] = {}
    said: set[tuple[str, str]] = set()
    for row, append in zip(rows.tolist(), entries.objects(rows), strict=True):
        epoch, offset, crc = entries.values(row, "epoch", "offset", "crcs")
        other, before = first.setdefault((epoch, offset), (crc, append))
        pair = (before.node, append.node)
        if crc != other and pair not in said:
            said.add(pair)
            yield finding(
                f"two records at epoch {epoch}, offset {offset}: {before.node} wrote one with CRC "
                f"{other}, {append.node} one with CRC {crc}",
                evidence=[before, append],
                clause=ONE_RECORD.name,
            )


# --- the same below -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Holder:
    """Who held an entry, and the append that wrote it."""

    crc: int
    prefix: bytes | None
    append: Appended
    account: Account


@dataclass(slots=True)
class Held:
    """The entries that anybody held with all below. `nodes`: who has each, a bit for each of
    `names`."""

    names: dict[str, int] = field(default_factory=dict)
    first: dict[Place, Holder] = field(default_factory=dict)
    nodes: dict[Place, int] = field(default_factory=lambda: defaultdict(int))
    findings: list[Finding] = field(default_factory=list)
    said: set[tuple[str, str]] = field(default_factory=set)

    def add(self, place: Place, mine: Holder) -> None:
        if mine.prefix is None:
            return
        self.nodes[place] |= 1 << self.names.setdefault(mine.account.node, len(self.names))
        other = self.first.setdefault(place, mine)
        if other.crc == mine.crc and other.prefix != mine.prefix:
            self._differ(place, other, mine)

    def _differ(self, place: Place, one: Holder, other: Holder) -> None:
        """One finding a pair of nodes: what follows the first is its echo."""
        pair = (one.account.node, other.account.node)
        if pair not in self.said:
            self.said.add(pair)
            self.findings.append(
                finding(
                    _two_prefixes(place, one, other),
                    evidence=[one.append, other.append],
                    clause=SAME_BELOW.name,
                )
            )

    def shared(self) -> Mapping[str, int]:
        """Node -> how many of its entries others had as well."""
        shared: Counter[str] = Counter()
        for nodes, entries in Counter(self.nodes.values()).items():
            own = [name for bit, name in enumerate(self.names) if nodes >> bit & 1]
            if len(own) > 1:
                shared.update(dict.fromkeys(own, entries))
        return shared


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
