"""What a rule is given of one run: plain values, of both contracts.

Rules order operations by the indices of their events, which are one total order, and evidence of
one incarnation by `seq`; times of different machines are compared by `clocks` alone.
"""

import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from framework.evidence.ids import ReplicaId
from framework.evidence.kinds import CAPABILITY, DISK, Evidence, disk_of, evidence_of
from framework.evidence.machine import UNTOLD, Machines
from framework.evidence.processes import Booted
from framework.evidence.rows import EvidenceRows, Looking, rows_behind
from framework.history.event import Json, Recorded
from framework.history.pairing import Operation
from framework.history.rows import OperationRows

Kind = TypeVar("Kind", bound=Evidence)
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class NemesisEvent:
    """An event of the nemesis process."""

    index: int
    time_ns: int
    type: str
    f: str
    value: Json = None

    @property
    def settled(self) -> bool | None:
        """Whether all nodes agreed when they were looked at; None: this is about something else."""
        if self.f != "settle" or not isinstance(self.value, Mapping):
            return None
        return bool(self.value["settled"]) if "settled" in self.value else None

    @property
    def looks(self) -> int:
        """So many looks in a row found the cluster settled. Older runs, which looked once, do not
        say."""
        if not self.settled or not isinstance(self.value, Mapping):
            return 0
        looks = self.value.get("looks", 1)
        return looks if isinstance(looks, int) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRecord:
    """One injection of the fault ledger. `effective`: a probe saw that it held while it should;
    `healed`: that it held no more afterwards. `ends_processes`: of its victims, and healing starts
    them again. None: nobody could tell."""

    id: int
    fault: str
    shape: str = ""
    victims: Json = None
    injected_ns: int | None = None
    healed_ns: int | None = None
    effective: bool | None = None
    healed: bool | None = None
    ends_processes: bool | None = None
    entries: Sequence[Mapping[str, Json]] = ()

    @property
    def since_ns(self) -> int:
        """It may hold from the moment at which it was planned."""
        times = [entry.get("time") for entry in self.entries]
        return min((each for each in times if isinstance(each, int)), default=self.injected_ns or 0)

    @property
    def over_ns(self) -> int | None:
        """From when on it is the system's own affair what does not work; None: it may still hold.
        A process that was started again and does not live is no fault any more."""
        return None if self.healed is False and not self.ends_processes else self.healed_ns

    @property
    def nodes(self) -> set[str]:
        """To which something is done. None where the ledger is not of our form."""
        return set(self.victims) if isinstance(self.victims, Mapping) else set()

    def spared(self, nodes: Iterable[str]) -> set[str]:
        """Of these nodes, those that it leaves alone and that reach each other."""
        reported = next((each["spared"] for each in self.entries if "spared" in each), None)
        if isinstance(reported, Sequence):
            return set(nodes) & set(reported)
        return set(nodes) - self.nodes if isinstance(self.victims, Mapping) else set()

    @property
    def gone(self) -> set[str]:
        """Nodes of which the others hear nothing while it holds: their processes have ended, or
        the ledger says that it takes them from the system."""
        if self.ends_processes:
            return self.nodes
        reported = next((each["cut_off"] for each in self.entries if "cut_off" in each), None)
        texts = reported if isinstance(reported, Sequence) else ()
        return {each for each in texts if isinstance(each, str)}


@dataclass(frozen=True, slots=True)
class Part:
    """One of so many parts of a run, each of which has some of its keys. 0 of 1: all of it."""

    number: int = 0
    parts: int = 1

    def has(self, *key: object) -> bool:
        """Of a key, in pieces: the name of a node, or a topic's id and a partition's number."""
        text = "/".join(map(str, key))
        return zlib.crc32(text.encode(errors="surrogateescape")) % self.parts == self.number


WHOLE_RUN: Final = Part()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvents:
    """All that a rule is given of one run, or of one key of it. `operations`, of clients, and
    `observations`, of observers, in the order of their invocations; `rows`: the former, where rules
    read them by column (`RunCheck.as_rows`); `evidence` by node, incarnation and `seq`.
    `part`: for whom it is to judge, of a rule that can be cut (`RunCheck.by`).
    `machines`: what the plan says of them, read once a run."""

    operations: Sequence[Operation] = ()
    observations: Sequence[Operation] = ()
    evidence: Sequence[Evidence] = ()
    nemesis: Sequence[NemesisEvent] = ()
    faults: Sequence[FaultRecord] = ()
    plan: Mapping[str, Recorded] = field(default_factory=dict)
    part: Part = WHOLE_RUN
    machines: Machines = field(default=UNTOLD, repr=False, compare=False)
    rows: OperationRows | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.machines.plan is not self.plan:
            object.__setattr__(self, "machines", Machines.of(self.plan))

    def of(self, *kinds: type[Kind]) -> Iterator[Kind]:
        """The evidence of these kinds, or of any that they are the base of."""
        if isinstance(self.evidence, EvidenceRows):
            return Looking(self.evidence.of(kinds))
        return (each for each in self.evidence if isinstance(each, kinds))

    def has(self, *key: object) -> bool:
        """Whether a rule is to judge a node, or a partition (its topic's id and its number), where
        it is given one part of a run."""
        return self.part.has(*key)

    def looked_at(
        self, kinds: tuple[type[Evidence], ...], on_disk: tuple[type[Evidence], ...]
    ) -> Sequence[Evidence]:
        """The evidence of these kinds, and of others what lay on disks."""
        if isinstance(self.evidence, EvidenceRows):
            return self.evidence.looked_at(kinds, on_disk)
        return [
            each
            for each in self.evidence
            if isinstance(each, on_disk if each.source == DISK else kinds)
        ]


def folded(fold: Callable[[Iterable[Kind]], T], evidence: Iterable[Kind]) -> T:
    """What a fold makes of some evidence, which several rules of one pass may ask for: it is made
    once of the same rows, and nobody may change it."""
    rows = rows_behind(evidence)
    return fold(evidence) if rows is None else rows.folded(fold)


def of_kinds(evidence: Iterable[Evidence], *kinds: type[Kind]) -> Sequence[Kind]:
    """What is of these kinds, or of any that they are the base of."""
    if (rows := rows_behind(evidence)) is not None:
        return rows.of(kinds)
    return [each for each in evidence if isinstance(each, kinds)]


def numbers(evidence: Sequence[Kind], name: str) -> npt.NDArray[np.int64]:
    """A field of each that is a whole number: no row becomes an object for it."""
    if (rows := rows_behind(evidence)) is not None:
        return rows.numbers(name)
    return np.array([getattr(each, name) for each in evidence], np.int64)


def firsts(evidence: Sequence[Kind], name: str) -> Sequence[Kind]:
    """Of each whole number that a field is, the first that has it: the others become no objects."""
    if (rows := rows_behind(evidence)) is not None:
        return rows.firsts(name)
    found: dict[object, Kind] = {}
    for each in evidence:
        found.setdefault(getattr(each, name), each)
    return list(found.values())


def from_no_disk(evidence: Iterable[Kind]) -> Sequence[Kind]:
    """What nodes, or the harness, said as it happened."""
    if (rows := rows_behind(evidence)) is not None:
        return rows.from_no_disk()
    return [each for each in evidence if each.source != DISK]


def of_disks(evidence: Iterable[Kind], kinds: tuple[type[Evidence], ...]) -> Sequence[Kind]:
    """What of these kinds is from disks."""
    if (rows := rows_behind(evidence)) is not None:
        return rows.looked_at((), kinds)
    return [each for each in evidence if each.source == DISK and isinstance(each, kinds)]


def from_disks(evidence: Iterable[Kind]) -> dict[str, Sequence[Kind]]:
    """Node -> what lay on its disk, as `seq` goes on from one of its processes to the next."""
    if (rows := rows_behind(evidence)) is not None:
        return rows.from_disks()
    nodes: dict[str, list[Kind]] = defaultdict(list)
    for each in evidence:
        if each.source == DISK:
            nodes[each.node].append(each)
    return {node: sorted(own, key=lambda each: each.seq) for node, own in sorted(nodes.items())}


def in_a_row(lives: Sequence[Sequence[Kind]]) -> Sequence[Kind]:
    """All incarnations of a node, one after the other."""
    rows = [rows for life in lives if (rows := rows_behind(life)) is not None]
    if rows and len(rows) == len(lives):
        return rows[0].joined(rows[1:])
    return [each for life in lives for each in life]


def incarnations(evidence: Iterable[Kind]) -> dict[str, list[Sequence[Kind]]]:
    """Node -> its incarnations in the order in which they began, each in the order of `seq`."""
    if (rows := rows_behind(evidence)) is not None:
        return rows.lives()
    lives: dict[tuple[str, str], list[Kind]] = defaultdict(list)
    for each in evidence:
        lives[each.node, each.incarnation].append(each)
    for life in lives.values():
        life.sort(key=lambda each: each.seq)
    nodes: dict[str, list[Sequence[Kind]]] = defaultdict(list)
    for (node, _), life in sorted(lives.items(), key=lambda item: (item[0][0], item[1][0].at_ns)):
        nodes[node].append(life)
    return dict(nodes)


def node_ids(events: RunEvents) -> dict[str, ReplicaId]:
    """Node -> its id in the quorum, from its boots, else from the plan, where it has but one."""
    ids: dict[str, ReplicaId] = {}
    for node, spec in (events.plan.get("nodes") or {}).items():
        named = set((spec.get("ids") or {}).values())
        if len(named) == 1:
            ids[node] = ReplicaId(int(named.pop()))
    for boot in events.of(Booted):
        if boot.replica_id is not None:
            ids[boot.node] = boot.replica_id
    return ids


def voters(plan: Mapping[str, Recorded]) -> list[str]:
    """Names of the nodes that vote, sorted; none where the plan does not say."""
    nodes = plan.get("nodes") or {}
    return sorted(node for node, spec in nodes.items() if spec.get("votes"))


def alone(plan: Mapping[str, Recorded], *, voting: bool = False) -> str:
    """Why nodes, or voters, cannot be held against each other, by the plan; empty: there are
    several, or it does not say."""
    nodes = voters(plan) if voting else list(plan.get("nodes") or ())
    return f"the cluster has one {'voter' if voting else 'node'}" if len(nodes) == 1 else ""


def unreported(plan: Mapping[str, Recorded]) -> str:
    """Why nodes tell nothing of themselves as it happens, by the run's plan; empty: they should.
    Older plans do not say, and their nodes did."""
    capabilities = plan.get("capabilities")
    if capabilities is None or any(str(each).startswith(CAPABILITY) for each in capabilities):
        return ""
    return "by the run's settings its nodes write no events"


def uncollected(plan: Mapping[str, Recorded]) -> Mapping[str, str]:
    """Nodes whose files the harness could not copy at the end, and why: that something is not
    there says nothing of them."""
    return plan.get("uncollected") or {}


def unshown(plan: Mapping[str, Recorded], *kinds: type[Evidence]) -> str:
    """Why nobody tells anything of these kinds, nor leaves it on disk, by the run's plan; empty:
    somebody should. Older plans do not say, and their nodes did."""
    capabilities = plan.get("capabilities")
    if capabilities is None:
        return ""
    have = set(map(str, capabilities))
    wanting = [each for each in kinds if have.isdisjoint(evidence_of(each) | disk_of(each))]
    if not wanting:
        return ""
    names = ", ".join(each.family or each.kind for each in wanting)
    return f"by its plan the system gives no evidence of {names}"


def unable(plan: Mapping[str, Recorded], capability: str) -> bool:
    """Whether by the run's plan its system does not have a capability. Older plans do not say."""
    capabilities = plan.get("capabilities")
    return capabilities is not None and capability not in capabilities


def phase_ns(nemesis: Iterable[NemesisEvent], phase: str) -> int | None:
    """When a phase began; None: it never did."""
    times = [each.time_ns for each in nemesis if each.f == "phase" and each.value == phase]
    return min(times, default=None)


def settled(nemesis: Iterable[NemesisEvent]) -> bool | None:
    """Whether the cluster was seen to agree after the faults; None: nobody looked."""
    said = [each.settled for each in settle_marks(nemesis)]
    return said[-1] if said else None


def settle_marks(nemesis: Iterable[NemesisEvent]) -> list[NemesisEvent]:
    """The events that say whether all nodes agree, in order."""
    return [each for each in nemesis if each.settled is not None]


def unhealed(faults: Iterable[FaultRecord]) -> list[FaultRecord]:
    """Injections that are not known to be over."""
    return [each for each in faults if each.healed is not True]
