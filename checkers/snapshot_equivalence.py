"""A snapshot says what the log below it says (D.16; KIP-630, KIP-631's "Snapshots").

For every snapshot (end offset, epoch) that a node wrote or loaded: its state is the replay of
the records below its end; its epoch is that of the last of them; it has no more records than
the state has entities, in its file as well, where no entity has two, and header and footer are
there; it was not above the high watermark when it was written. One id is one
state, on all nodes. A log that begins above 0 begins where a snapshot of that node ends.

What stands in a snapshot is the system's to say (`ImageForm`): of one that does not, states and
sizes are not held against the log.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from checkers.folds.metadata_log.committed_log import CommittedLog, known_log
from checkers.folds.metadata_log.disk_logs import DISK_KINDS, disk_logs
from checkers.folds.replayed.metadata_digest import Digest
from checkers.folds.replayed.replay import states
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import Change
from framework.evidence.kinds import DISK, Evidence, either_of
from framework.evidence.processes import Booted
from framework.evidence.quorum import (
    Committed,
    LogBegan,
    LogOnDisk,
    SnapshotFile,
    SnapshotLoaded,
    SnapshotWritten,
)
from framework.evidence.run_events import RunEvents, incarnations
from framework.evidence.systems import ImageForm
from framework.plugins.checker import DISKS, EVENTS, Clause, Count, Finding
from framework.verdict import Verdict

NodeSnapshot: TypeAlias = SnapshotWritten | SnapshotLoaded
Snapshot: TypeAlias = NodeSnapshot | SnapshotFile

FRAME: Final = 2
"""Header and footer, where a node counts them among a snapshot's records."""


REPLAYED: Final = Clause(
    name="replayed",
    says="A snapshot has the state that the records below its end make, and no record too many; "
    "one id is one state on all nodes",
    compares="snapshots beside the replay of the log",
    floor=2,
    because="the first may have been taken of next to nothing",
    sources=(DISKS, EVENTS),
    blind="what the system's form of a digest leaves out",
)
COMMITTED: Final = Clause(
    name="committed",
    says="A snapshot is named by the epoch of the last record below its end, and ends at or below "
    "the high watermark",
    compares="snapshots beside the record below their end, or a high watermark",
    floor=2,
    because="in one epoch any snapshot has the right one",
    sources=(DISKS, EVENTS),
    blind="how far the watermark was is the node's own word",
)
FILES: Final = Clause(
    name="files",
    says="The file of a snapshot is whole: header, footer, and no entity twice",
    compares="files",
    floor=2,
    because="one file may have been written by the one node that does it well",
    sources=(DISKS,),
)
BEGINNINGS: Final = Clause(
    name="log-starts",
    says="A log that begins above 0 begins where a snapshot of that node ends",
    compares="beginnings of logs above 0",
    floor=2,
    because="one node's log shows nothing of the others'",
    sources=(DISKS, EVENTS),
    blind="a beginning that was moved again before anybody looked",
)


@dataclass(frozen=True, slots=True)
class Expected:
    """What the log says of the state at an end offset."""

    digest: str
    entities: int


def snapshot_equivalence(events: RunEvents) -> Outcome:
    snapshots: list[NodeSnapshot] = list(events.of(SnapshotWritten, SnapshotLoaded))
    files = list(events.of(SnapshotFile))
    log, form = known_log(events), next(events.of(ImageForm), None)
    starts = Starts()
    findings = [
        *_one_state([*snapshots, *files]),
        *(_states([*snapshots, *files], log, form) if form else ()),
        *_epochs([*snapshots, *files], log),
        *_above_watermark(events),
        *starts.reported(events),
        *starts.left(events),
        *_files(files),
        *(_sizes(files, log, form) if form else ()),
    ]
    written = [each for each in snapshots if isinstance(each, SnapshotWritten)]
    judged = sum(each.end_offset <= len(log.records) for each in snapshots)
    figures: dict[str, float] = {
        "written": len(written),
        "loaded": len(snapshots) - len(written),
        "files": len(files),
    }
    if snapshots:
        figures["max_bytes"] = max((each.bytes for each in written), default=0)
    if judged < len(snapshots) and not findings:
        note = (
            f"{len(snapshots) - judged} snapshots end above what is known of the log: "
            f"not held against it"
        )
        return Outcome(verdict=Verdict.UNKNOWN, seen=judged, figures=figures, note=note)
    below = [each for each in files if each.end_offset <= len(log.records)]
    counts: dict[str, Count] = {
        REPLAYED.name: judged + sum(each.digest is not None for each in below),
        COMMITTED.name: judged + len(below),
        FILES.name: len(files),
        BEGINNINGS.name: BEGINNINGS.count(
            starts.compared, "hardly a log begins above 0" if _all_read(events) else ""
        ),
    }
    if form is None:
        counts[REPLAYED.name] = "the system does not say what stands in a snapshot"
    if len(files) < FILES.floor and _all_read(events):
        few = (FILES,) if snapshots or files else (REPLAYED, COMMITTED, FILES)
        why = f"on the disks of all nodes lay {len(files)} snapshots"
        counts |= {each.name: why for each in few}
    return weighed(counts, findings, figures)


def _all_read(events: RunEvents) -> bool:
    """Whether the logs of all nodes were read from their disks: a cluster that is killed every few
    seconds takes no snapshot, and then there is none."""
    nodes = set(events.plan.get("nodes") or ())
    return nodes <= {each.node for each in events.of(LogOnDisk)} and bool(nodes)


def _name(snapshot: Snapshot) -> str:
    if isinstance(snapshot, SnapshotFile):
        return f"on {snapshot.node}'s disk is snapshot {snapshot.end_offset}-{snapshot.epoch}"
    verb = "wrote" if isinstance(snapshot, SnapshotWritten) else "loaded"
    return f"{snapshot.node} {verb} snapshot {snapshot.end_offset}-{snapshot.epoch}"


def _one_state(snapshots: Iterable[Snapshot]) -> Iterator[Finding]:
    by_id: dict[tuple[int, int], dict[str, Snapshot]] = defaultdict(dict)
    for each in snapshots:
        if each.digest is not None:
            by_id[each.end_offset, each.epoch].setdefault(each.digest, each)
    for (end, epoch), digests in by_id.items():
        if len(digests) > 1:
            who = ", ".join(
                f"{each.node} {reported[:16]}" for reported, each in sorted(digests.items())
            )
            yield finding(
                f"snapshot {end}-{epoch} is not one state: {who}",
                evidence=digests.values(),
                clause=REPLAYED.name,
            )


def _states(snapshots: Iterable[Snapshot], log: CommittedLog, form: ImageForm) -> Iterator[Finding]:
    by_end: dict[int, list[Snapshot]] = defaultdict(list)
    for each in snapshots:
        by_end[each.end_offset].append(each)
    digest = Digest(form)
    for end, state in states(log, by_end, form):
        expected = Expected(digest.of(state), digest.entities)
        for each in by_end[end]:
            yield from _state(each, expected)


def _state(snapshot: Snapshot, expected: Expected) -> Iterator[Finding]:
    if snapshot.digest is not None and snapshot.digest != expected.digest:
        yield finding(
            f"{_name(snapshot)} with digest {snapshot.digest[:16]}; the replay of the log below "
            f"it has {expected.digest[:16]}",
            evidence=[snapshot],
            clause=REPLAYED.name,
        )
    records = snapshot.records if isinstance(snapshot, SnapshotWritten) else None
    if records is not None and records > expected.entities + FRAME:
        yield finding(
            f"{_name(snapshot)} with {records} records; its state has {expected.entities} entities",
            evidence=[snapshot],
            clause=REPLAYED.name,
        )


def _epochs(snapshots: Iterable[Snapshot], log: CommittedLog) -> Iterator[Finding]:
    for each in snapshots:
        last = log.at(each.end_offset - 1)
        if last is not None and last.epoch != each.epoch:
            yield finding(
                f"{_name(each)}; the record below its end is of epoch {last.epoch}",
                evidence=[last, each],
                clause=COMMITTED.name,
            )


def _above_watermark(events: RunEvents) -> Iterator[Finding]:
    """By the watermark that the node names, and by the last one that it reported."""
    evidence: Iterable[NodeSnapshot | Committed] = events.of(
        SnapshotWritten, SnapshotLoaded, Committed
    )
    for lives in incarnations(evidence).values():
        for life in lives:
            reported: Committed | None = None
            loaded = 0
            for each in life:
                match each:
                    case Committed():
                        reported = each
                    case SnapshotLoaded(end_offset=end):
                        loaded = max(loaded, end)
                    case SnapshotWritten():
                        yield from _over(each, reported, loaded)


def _over(written: SnapshotWritten, reported: Committed | None, loaded: int) -> Iterator[Finding]:
    if written.end_offset > written.high_watermark:
        yield finding(
            f"{_name(written)} above the high watermark {written.high_watermark}",
            evidence=[written],
            clause=COMMITTED.name,
        )
    elif reported is not None and written.end_offset > (known := max(reported.offset, loaded)):
        yield finding(
            f"{_name(written)}, having reported no high watermark above {known}",
            evidence=[reported, written],
            clause=COMMITTED.name,
        )


@dataclass(slots=True)
class Starts:
    """Where logs begin; `compared`: how many beginnings there were."""

    compared: int = 0

    def reported(self, events: RunEvents) -> Iterator[Finding]:
        """Over all incarnations of a node: its snapshots are on its disk."""
        kinds = (SnapshotWritten, SnapshotLoaded, LogBegan, Booted, Change)
        evidence: Iterable[Evidence] = (each for each in events.of(*kinds) if each.source != DISK)
        for lives in incarnations(evidence).values():
            ends: set[int] = set()
            for life in lives:
                for at, each in enumerate(life):
                    if isinstance(each, SnapshotWritten | SnapshotLoaded):
                        ends.add(each.end_offset)
                        continue
                    start = _start(each)
                    self.compared += start > 0
                    if start > 0 and start not in ends and _goes_on(each, start, life[at + 1 :]):
                        yield _no_snapshot(each, start)

    def left(self, events: RunEvents) -> Iterator[Finding]:
        """As each log lies on its disk: the snapshot that took the place of what was below is
        there, or a later one."""
        for log in disk_logs(events.of(LogOnDisk, SnapshotFile)).values():
            found = log.found
            if found is None or found.wrong:
                continue
            self.compared += found.start_offset > 0
            ends = [each for each in log.snapshots if each >= found.start_offset]
            if found.start_offset > 0 and not ends:
                yield _no_snapshot(found, found.start_offset)


def _no_snapshot(by: Evidence, start: int) -> Finding:
    return finding(
        f"the log of {by.node} begins at {start}, where no snapshot of it ends",
        evidence=[by],
        clause=BEGINNINGS.name,
    )


def _start(evidence: Evidence) -> int:
    """Where the log begins from now on; 0: it tells nothing of that."""
    match evidence:
        case LogBegan(offset=offset):
            return offset
        case Booted(log_start=int(offset)):
            return offset
    return 0


def _goes_on(evidence: Evidence, start: int, rest: Iterable[Evidence]) -> bool:
    """Whether the process went on without the snapshot. A boot tells where the log begins before
    the snapshot below it is loaded, and so does a log that was dropped for another node's, which
    a newer one may replace meanwhile. A process that ended between shows nothing."""
    if isinstance(evidence, LogBegan) and not evidence.dropped:
        return True
    for each in rest:
        match each:
            case SnapshotLoaded(end_offset=end) if end == start:
                return False
            case LogBegan(dropped=True):
                return False
            case Change(offset=offset) if offset >= start:
                return True
            case SnapshotWritten(end_offset=end) if end >= start:
                return True
    return False


def _files(files: Iterable[SnapshotFile]) -> Iterator[Finding]:
    """The files that the run left, against themselves."""
    for each in files:
        for wrong in each.wrong:
            yield finding(f"snapshot {each.ref} {wrong}", evidence=[each], clause=FILES.name)


def _sizes(files: Iterable[SnapshotFile], log: CommittedLog, form: ImageForm) -> Iterator[Finding]:
    """And against the log."""
    by_end: dict[int, list[SnapshotFile]] = defaultdict(list)
    for each in files:
        if not each.wrong:
            by_end[each.end_offset].append(each)
    digest = Digest(form)
    for end, state in states(log, by_end, form):
        digest.of(state)
        for each in by_end[end]:
            if each.records != digest.entities:
                yield finding(
                    f"snapshot {each.ref} has {each.records} records; the state "
                    f"below {end} has {digest.entities} entities",
                    evidence=[each],
                    clause=REPLAYED.name,
                )


class SnapshotEquivalence(RunChecker):
    name = "snapshot-equivalence"
    summary = (
        "Every snapshot is the replay of the committed log below its end, minimal, of the "
        "right epoch, not above the high watermark, and the same on all nodes; logs begin "
        "where one ends"
    )
    requires = frozenset({"broker-life-cycles", "snapshots"}) | either_of(Change)
    clauses = (REPLAYED, COMMITTED, FILES, BEGINNINGS)
    check_run = RunCheck(
        snapshot_equivalence,
        evidence=(
            Change,
            ImageForm,
            SnapshotWritten,
            SnapshotLoaded,
            LogBegan,
            Booted,
            Committed,
        ),
        disk=DISK_KINDS,
    )
