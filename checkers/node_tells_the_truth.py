"""What a node tells is what it did: what lies on its disk, what clients were answered, and how its
processes ended by the harness's account.

(a) What it told that it appended, and did not tell that it cut off or that a snapshot took the
place of, is on its disk, in the same epoch with the same CRC; and so is the newest snapshot that it
told of. (b) What is on its disk, or was when one of its processes had ended, it told of.
(c) The logs on its disk are whole, as each process left them. (d) Processes that ended when they
were asked to had told of themselves. (e) A node told of the requests that clients had answered by
it.

A process that was killed, or gave up, may leave one thing undone or unreported, its last: half a
batch, a batch that it did not get to report, a truncation, which is never below its high watermark.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from checkers.folds.metadata_log.node_log import KINDS, Entry, LogFold
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import Evidence, disk_of, either_of, evidence_of
from framework.evidence.partitions import PartitionLogOnDisk
from framework.evidence.processes import Booted, Exited, ProcessEnded
from framework.evidence.quorum import (
    Appended,
    Committed,
    LogBegan,
    LogOnDisk,
    SnapshotFile,
    SnapshotLoaded,
    SnapshotWritten,
    Truncated,
)
from framework.evidence.requests import Served
from framework.evidence.run_events import (
    RunEvents,
    alone,
    from_disks,
    from_no_disk,
    incarnations,
    uncollected,
    unreported,
)
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

ENOUGH: Final = 10
IN_FLIGHT: Final = 3
"""Answers that a process may not get to tell of before it is killed."""
CACHED: Final = ("metadata", "describe-configs")
"""Answered from a broker's cache: a code, as that there is no such topic, may be an answer."""
TRIED: Final = "dry-create"
SERVES: Final = ("create", TRIED, "delete", "produce", "fetch", "list-offsets", *CACHED)
"""Operations whose requests nodes tell of, where any tells of any."""
TOLD_AS: Final = {
    "describe-topics": "metadata",
    "log-ends": "list-offsets",
    TRIED: "create",
}
"""What an observer asks by the same requests, and clients who only try one."""
REPORTED: Final = Clause(
    name="reported-on-disk",
    says="What a node reported as written, and not as gone since, is on its disk",
    compares="nodes of which ten records, or a snapshot of so many, were held against their disks",
    floor=2,
    because="two are more than one node's luck, and each node of the plan has to be among them; "
    "one that fell behind may have a snapshot of another's in place of its records",
    sources=(DISKS, EVENTS),
    blind="what was written and cut off again between two kills, or not there at a kill and cut "
    "off by the next process",
)
THERE: Final = Clause(
    name="disk-reported",
    says="A node reported what is on its disk",
    compares="nodes of whose disks ten records, or a snapshot of so many, were looked up in what "
    "they reported",
    floor=2,
    because="as above",
    sources=(DISKS, EVENTS),
    blind="what a killed process wrote last",
)
WHOLE: Final = Clause(
    name="whole-logs",
    says="Logs on disks, of the metadata and of partitions, have no gap and no damage",
    compares="nodes whose logs were read to their ends",
    floor=2,
    because="as above",
    sources=(DISKS,),
    blind="damage that was mended, or dropped with a segment, before the process ended",
)
ENDED: Final = Clause(
    name="exit-reported",
    says="Processes that ended of their own, as the harness saw, had reported something",
    compares="nodes of whose processes the exit codes are known",
    floor=2,
    because="as above",
    sources=(LEDGER, EVENTS),
    blind="processes that were killed: they may not have come to report anything",
)
SERVED: Final = Clause(
    name="answers-reported",
    says="A node reported the requests that clients and the observer had answered by it",
    compares="answers to clients and the observer, held against how many the node reported",
    floor=2,
    because="a workload on one topic makes it and looks at it",
    sources=(CLIENTS, LEDGER, EVENTS),
    blind="which answer a node did not report, for they are only counted: one may be made up for "
    "by requests that are no operations, as a client's question who leads a partition, or its "
    "next attempt; and three answers of each kind for each process that was killed",
)


@dataclass(slots=True)
class Disk:
    """What lies on a node's disk at the end. `snapshots`: all that any process left. `damaged`:
    logs that were not whole, as any process left them. `gone`: batches that one process left and a
    later one dropped; of them `lasts` were the ends of logs then."""

    log: LogOnDisk | None = None
    damaged: list[LogOnDisk | PartitionLogOnDisk] = field(default_factory=list)
    batches: list[Appended] = field(default_factory=list)
    snapshots: list[SnapshotFile] = field(default_factory=list)
    gone: list[Appended] = field(default_factory=list)
    lasts: list[Appended] = field(default_factory=list)

    @property
    def snapshot_end(self) -> int:
        """Of the newest."""
        return max((each.end_offset for each in self.snapshots), default=0)

    def feed(self, each: Evidence) -> None:
        """What became of it, in order."""
        match each:
            case LogBegan(dropped=True):
                self._keep(lambda _: False)
            case LogBegan(offset=start):
                self._keep(lambda batch: batch.base_offset >= start)
            case Truncated(end_offset=end):
                self._keep(lambda batch: batch.base_offset < end)
            case Appended():
                self.batches.append(each)
            case LogOnDisk():
                self.log = each
                self.damaged += [each] if each.wrong else []
            case PartitionLogOnDisk():
                self.damaged += [each] if each.wrong else []
            case SnapshotFile():
                self.snapshots.append(each)

    def _keep(self, stays: Callable[[Appended], bool]) -> None:
        self.lasts += self.batches[-1:]
        self.gone += [batch for batch in self.batches if not stays(batch)]
        self.batches = [batch for batch in self.batches if stays(batch)]


@dataclass(slots=True)
class Account:
    """What a node told of its log, over all its processes.

    appends: offset -> what it ever told that it wrote there, and where it told it.
    unreported_ends: where a batch ends that a killed process did not get to report, and that the
        next one found.
    found: below this it had a log before it told of anything.
    in_order: its last process said that it ended; or none told anything, not even that it began.
    running: its last process may have gone on while its disk was read.
    snapshots: where each ends -> that it wrote, or loaded, one with this epoch and digest.
    killed: how many of its processes did not end in good order.
    """

    found: int
    in_order: bool
    running: bool
    high_watermark: int = 0
    log: LogFold = field(default_factory=LogFold)
    appends: dict[int, dict[Entry, Appended]] = field(default_factory=dict)
    unreported_ends: set[int] = field(default_factory=set)
    snapshots: dict[int, SnapshotWritten | SnapshotLoaded] = field(default_factory=dict)
    killed: int = 0

    def wrote(self, offset: int, entry: Entry) -> Appended | None:
        return self.appends.get(offset, {}).get(entry)

    def may_not_know(self, batch: Appended) -> bool:
        """Whether a process may have been killed between writing this batch and telling of it: one
        batch each, its last."""
        if batch.base_offset < self.log.end:
            return batch.end_offset in self.unreported_ends
        return not self.in_order and batch.base_offset == self.log.end

    def now(self, offset: int) -> Entry | None:
        """What should be there; None: nothing, or that is not known."""
        return self.log.entries[offset] if offset < self.log.end else None


def node_tells_the_truth(events: RunEvents) -> Outcome:
    kinds = (*KINDS, Committed, Exited, SnapshotLoaded, SnapshotWritten)
    lives = incarnations(from_no_disk(events.of(*kinds)))
    left = from_disks(events.evidence)
    reporting = len(from_no_disk(events.of(Appended)))
    nodes, why = set(events.plan.get("nodes") or ()), unreported(events.plan)
    single = alone(events.plan)
    with_snapshots = _tell_of_snapshots(events.plan)
    instead: set[str] = set()  # nodes a snapshot of which stands for their records
    held: Counter[str] = Counter()
    looked_up: Counter[str] = Counter()
    read: set[str] = set()
    findings: list[Finding] = []
    for node, found in left.items():  # of one at a time all is kept
        disk = _disk(found)
        read |= {node} if disk.log is not None else set()
        account = _account(lives.get(node, []), _may_run(events.plan, node))
        if not account.running:
            findings += _damaged(node, disk, account)
        if disk.log is not None and reporting:
            held[node] = _held(disk, account)
            looked_up[node] = sum(len(batch.crcs) for batch in (*disk.gone, *disk.batches))
            findings += _compare(node, disk, disk.log, account)
            if with_snapshots:
                findings += _snapshots(node, disk, account)
                if _reported_snapshot(disk, account) >= ENOUGH:
                    instead.add(node)
    reported = instead | {node for node, records in held.items() if records >= ENOUGH}
    there = instead | {node for node, records in looked_up.items() if records >= ENOUGH}
    ended, unheard = _ended_unreported(events, lives)
    served, silent = _served_unreported(events, lives)
    findings += [*unheard, *silent] if not why else []
    counts: dict[str, Count] = {
        REPORTED.name: single or why or (len(reported), len(reported | nodes)),
        THERE.name: single or why or (len(there), len(there | nodes)),
        WHOLE.name: single or (len(read), len(read | nodes)),
        ENDED.name: single or why or ended,
        SERVED.name: why or served,
    }
    figures = {"compared": held.total(), "nodes": len(left)}
    return weighed(counts, findings, figures)


def _held(disk: Disk, reported: Account) -> int:
    """How many records are as they were told."""
    return sum(
        reported.wrote(offset, (batch.epoch, crc)) is not None
        for batch in (*disk.gone, *disk.batches)
        for offset, crc in enumerate(batch.crcs, batch.base_offset)
    )


def _disk(left: Iterable[Evidence]) -> Disk:
    """Over all processes of a node."""
    disk = Disk()
    for each in left:
        disk.feed(each)
    return disk


def _may_run(plan: Mapping[str, Recorded], node: str) -> bool:
    """Whether a process may have been left running: what a workload started is not stopped."""
    kept = bool((plan.get("options") or {}).get("keep"))
    return kept or node not in (plan.get("nodes") or {node: None})


def _account(lives: Sequence[Sequence[Evidence]], running: bool) -> Account:
    found = _log_end(lives[0]) if lives else None
    reported = Account(found or 0, not lives or _ended(lives[-1]), running)
    reported.killed = sum(not _ended(life) for life in lives)
    for each in (each for life in lives for each in life):
        reported.log.feed(each)
        match each:
            case Appended():
                for offset, crc in enumerate(each.crcs, each.base_offset):
                    reported.appends.setdefault(offset, {})[each.epoch, crc] = each
            case Committed():
                reported.high_watermark = max(reported.high_watermark, each.offset)
            case SnapshotWritten() | SnapshotLoaded():
                reported.snapshots[each.end_offset] = each
            case Booted(log_end=0):  # its disk was wiped
                reported.snapshots.clear()
    for life, following in pairwise(lives):
        end = _log_end(following)
        if end is not None and not _ended(life):
            reported.unreported_ends.add(end)
    return reported


def _ended(life: Iterable[Evidence]) -> bool:
    """In good order."""
    return any(isinstance(each, Exited) and not each.fatal for each in life)


def _log_end(life: Iterable[Evidence]) -> int | None:
    """Where the log ended that a process found."""
    return next((each.log_end for each in life if isinstance(each, Booted)), None)


def _compare(node: str, disk: Disk, log: LogOnDisk, reported: Account) -> Iterator[Finding]:
    """What is other than it was told; of each kind the first."""
    for found in (
        _other_than_reported(node, disk, reported),
        _unreported(node, disk, reported),
        _never_reported(node, disk, reported),
        _missing(node, disk, log, reported),
    ):
        first = next(found, None)
        if first is not None:
            yield first


def _damaged(node: str, disk: Disk, reported: Account) -> Iterator[Finding]:
    """The first log that was not whole, as any process left it."""
    if disk.damaged:
        log = disk.damaged[0]
        more = f" (and {len(log.wrong) - 1} more)" if log.wrong[1:] else ""
        what = "the metadata log"
        if isinstance(log, PartitionLogOnDisk):
            what = f"the log of {log.topic_id}/{log.partition}"
        yield finding(f"{what} of {node}: {log.wrong[0]}{more}", evidence=[log], clause=WHOLE.name)
    elif disk.log is not None and disk.log.torn and reported.in_order and reported.log.end:
        yield finding(
            f"the metadata log of {node} ends with half a batch, though the process ended in "
            "good order",
            evidence=[disk.log],
            clause=WHOLE.name,
        )


def _other_than_reported(node: str, disk: Disk, reported: Account) -> Iterator[Finding]:
    for batch, offset, entry in _entries(disk):
        now = reported.now(offset)
        if now is None or now == entry or (reported.running and reported.wrote(offset, entry)):
            continue
        yield finding(
            f"{node} told that it has epoch {now[0]}, CRC {now[1]} at offset {offset}; on its disk "
            f"is epoch {entry[0]}, CRC {entry[1]}",
            evidence=[reported.appends[offset][now], batch],
            clause=REPORTED.name,
        )


def _unreported(node: str, disk: Disk, reported: Account) -> Iterator[Finding]:
    """Also what was told, and then that it was cut off."""
    for batch, offset, entry in _entries(disk):
        if reported.now(offset) is not None or reported.may_not_know(batch):
            continue
        if offset < reported.found or (reported.running and offset >= reported.log.end):
            continue
        append = reported.wrote(offset, entry)
        if append is None:
            yield finding(
                f"{node} has epoch {entry[0]}, CRC {entry[1]} at offset {offset} on its disk, and "
                "never told that it wrote it",
                evidence=[batch],
                clause=THERE.name,
            )
        elif offset >= reported.log.end:
            yield finding(
                f"{node} told that it cut its log back to {reported.log.end}; on its disk is what "
                f"it had written at offset {offset}",
                evidence=[append, batch],
                clause=THERE.name,
            )


def _never_reported(node: str, disk: Disk, reported: Account) -> Iterator[Finding]:
    """Of what a process left, and a later one dropped. One that was killed need not have come to
    tell of its last batch."""
    lasts = {(batch.base_offset, batch.epoch, batch.crcs) for batch in disk.lasts}
    for batch in disk.gone:
        key = (batch.base_offset, batch.epoch, batch.crcs)
        if key in lasts or batch.end_offset in reported.unreported_ends:
            continue
        for offset, crc in enumerate(batch.crcs, batch.base_offset):
            if offset >= reported.found and reported.wrote(offset, (batch.epoch, crc)) is None:
                yield finding(
                    f"{node} had epoch {batch.epoch}, CRC {crc} at offset {offset} on its disk "
                    "when a process of it had ended, and never told that it wrote it",
                    evidence=[batch],
                    clause=THERE.name,
                )


def _missing(node: str, disk: Disk, log: LogOnDisk, reported: Account) -> Iterator[Finding]:
    """Records at the log's beginning or its end."""
    if log.wrong or reported.running:
        return
    if log.start_offset > max(reported.log.start, disk.snapshot_end):
        yield finding(
            f"the log of {node} begins at {log.start_offset} on its disk, where no snapshot "
            f"reaches, and it told that it begins at {reported.log.start}",
            evidence=[log],
            clause=REPORTED.name,
        )
    for offset in range(max(log.end_offset, disk.snapshot_end), reported.log.end):
        entry = reported.now(offset)
        if entry is None:
            continue
        if reported.in_order or offset < reported.high_watermark:
            yield finding(
                f"{node} told that it has epoch {entry[0]}, CRC {entry[1]} at offset {offset}; the "
                f"log on its disk ends at {log.end_offset}",
                evidence=[reported.appends[offset][entry], log],
                clause=REPORTED.name,
            )


def _entries(disk: Disk) -> Iterator[tuple[Appended, int, Entry]]:
    for batch in disk.batches:
        for offset, crc in enumerate(batch.crcs, batch.base_offset):
            yield batch, offset, (batch.epoch, crc)


# --- snapshots ----------------------------------------------------------------------------


def _tell_of_snapshots(plan: Mapping[str, Recorded]) -> bool:
    """Older plans do not say, and their nodes did."""
    capabilities = plan.get("capabilities")
    return capabilities is None or evidence_of(SnapshotWritten) <= set(capabilities)


def _reported_snapshot(disk: Disk, reported: Account) -> int:
    """Where the newest ends that lies there as it was told; 0: none does."""
    found = (each.end_offset for each in disk.snapshots if _is_reported(each, reported))
    return max(found, default=0)


def _is_reported(file: SnapshotFile, reported: Account) -> bool:
    return file.end_offset in reported.snapshots and not _is_another(file, reported)


def _is_another(file: SnapshotFile, reported: Account) -> bool:
    """Than was told of: of another epoch, or image."""
    known = reported.snapshots.get(file.end_offset)
    if known is None:
        return False
    return known.epoch != file.epoch or file.digest not in (None, known.digest)


def _snapshots(node: str, disk: Disk, reported: Account) -> Iterator[Finding]:
    """Of each kind the first. A process that was killed need not have come to tell of one."""
    known = [each for each in disk.snapshots if each.end_offset > reported.found]
    silent = [each for each in known if each.end_offset not in reported.snapshots]
    if len(silent) > reported.killed:
        yield finding(
            f"{node} has a snapshot of what is below {silent[0].end_offset} on its disk, and never "
            "told of it",
            evidence=[silent[0]],
            clause=THERE.name,
        )
    other = next((each for each in known if _is_another(each, reported)), None)
    if other is not None:
        known_as = reported.snapshots[other.end_offset]
        yield finding(
            f"{node} told of a snapshot of what is below {other.end_offset}, of epoch "
            f"{known_as.epoch}; on its disk is another one, of epoch {other.epoch}",
            evidence=[known_as, other],
            clause=REPORTED.name,
        )
    newest = max(reported.snapshots.values(), key=lambda each: each.end_offset, default=None)
    if newest is None or reported.running or newest.end_offset <= disk.snapshot_end:
        return
    yield finding(
        f"{node} told of a snapshot of what is below {newest.end_offset}; the newest one on its "
        f"disk ends at {disk.snapshot_end}",
        evidence=[newest],
        clause=REPORTED.name,
    )


# --- processes and answers ----------------------------------------------------------------


def _ended_unreported(
    events: RunEvents, lives: Mapping[str, Sequence[Sequence[Evidence]]]
) -> tuple[Count, list[Finding]]:
    """Of how many of the plan's nodes exit codes are known; and those with fewer processes that
    told of their boot than had ended of their own."""
    ended: dict[str, list[ProcessEnded]] = defaultdict(list)
    lost = uncollected(events.plan)
    for each in events.of(ProcessEnded):
        if each.exit_code is not None and each.node not in lost:
            ended[each.node] += [each] if each.exit_code >= 0 else []
    findings = []
    for node, well in ended.items():
        booted = sum(any(isinstance(each, Booted) for each in life) for life in lives.get(node, ()))
        if booted < len(well):
            findings.append(
                finding(
                    f"{len(well)} processes of {node} ended of their own, and {booted} told that "
                    "they had begun",
                    evidence=well,
                    clause=ENDED.name,
                )
            )
    if not ended:
        return "the hosts do not tell how processes end", findings
    nodes = set(events.plan.get("nodes") or ())
    return (len(nodes & set(ended)), len(nodes)), findings


def _served_unreported(
    events: RunEvents, lives: Mapping[str, Sequence[Sequence[Evidence]]]
) -> tuple[Count, list[Finding]]:
    """How many answers there were of requests that nodes tell of; and nodes that told of fewer."""
    served, ended = list(events.of(Served)), list(events.of(ProcessEnded))
    reported = Counter((each.node, each.f) for each in served if _may_be_ok(each))
    answers = _answers(events)
    findings = []
    for (node, f), operations in answers.items() if served else ():
        may_miss = IN_FLIGHT * _broken_off(node, ended, lives)
        if reported[node, f] + may_miss < len(operations):
            findings.append(
                finding(
                    f"clients and the observer had {len(operations)} answers to {f} by {node}, and "
                    f"it told of {reported[node, f]}",
                    operations[:5],
                    by=[EVENTS],
                    clause=SERVED.name,
                )
            )
    count = sum(map(len, answers.values()))
    few = "" if count >= SERVED.floor else "there were fewer than two answers of such requests"
    return SERVED.count(count if served else 0, few), findings


def _answers(events: RunEvents) -> dict[tuple[str, str], list[Operation]]:
    """By node and operation: what clients and the observer were answered."""
    lost = uncollected(events.plan)
    observed = [each for each in events.observations if each.f in TOLD_AS]
    asked = [(TOLD_AS.get(each.f, each.f), each) for each in (*events.operations, *observed)]
    found: dict[tuple[str, str], list[Operation]] = defaultdict(list)
    for f, each in asked:
        if each.ok and each.node and each.node not in lost and not _is_refused(each):
            found[each.node, f].append(each)
    return found


def _is_refused(answer: Operation) -> bool:
    """Where no partition's end is told, all were refused, or none was asked for; and so is a create
    that is only tried of what there is."""
    result = answer.result
    if not isinstance(result, dict):
        return False
    if answer.f == TRIED:
        return bool(result.get("exists"))
    return answer.f == "log-ends" and not result.get("ends")


def _may_be_ok(served: Served) -> bool:
    """Whether a client may take this answer for a success."""
    return served.success or served.code == "0" or served.f in CACHED


def _broken_off(
    node: str, ended: Iterable[ProcessEnded], lives: Mapping[str, Sequence[Sequence[Evidence]]]
) -> int:
    """How many processes of a node may not have come to tell of their last answers, for they were
    killed or gave up: by the harness's account, else by their own."""
    codes = [each.exit_code for each in ended if each.node == node]
    if codes:
        return sum(code != 0 for code in codes)
    return sum(not _ended(life) for life in lives.get(node) or [()])


class NodeTellsTheTruth(RunChecker):
    name = "node-tells-the-truth"
    summary = (
        "What a node told of its log is what lies on its disk, the logs there are whole, and it "
        "told of its processes and of what it answered clients and the observer"
    )
    requires = either_of(Appended) | disk_of(LogOnDisk)
    clauses = (REPORTED, THERE, WHOLE, ENDED, SERVED)
    check_run = RunCheck(
        node_tells_the_truth,
        evidence=(
            *KINDS,
            Committed,
            Exited,
            ProcessEnded,
            Served,
            SnapshotLoaded,
            SnapshotWritten,
        ),
        disk=(Appended, Truncated, LogBegan, LogOnDisk, SnapshotFile, PartitionLogOnDisk),
        fs=SERVES,
        observations=True,
    )
