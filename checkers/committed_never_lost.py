"""Committed records are never lost (D.6; Raft's Leader Completeness and State Machine Safety).

C, what was committed: the records below a high watermark that a node reported, as that node's
log held them then, the records that nodes applied, what a snapshot on a disk ends with, and what
lies below an offset up to which clients or observers were shown the log. (a) C has one record an
offset. (b) The log of each leader, at its election, holds all that was committed in earlier epochs.
(c) No node truncates below a high watermark that it reported or a snapshot that it has, nor starts
without flushed records below it. (d) In the end C is on the disks of all voters who could lead. (e)
Once the cluster has settled, the log of every node holds all of C that was known before.

Disks and answers suffice for all but (c), and for the rest of (a): disks do not say when a record
was cut off, nor which of two was once committed where no answer ended with it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from checkers.folds.history.quorum_views import WHO_VOTES
from checkers.folds.metadata_log.disk_logs import (
    DISK_KINDS,
    LOG_KINDS,
    CommittedOnDisks,
    DiskLog,
    committed_on_disks,
    disk_logs,
)
from checkers.folds.metadata_log.node_log import KINDS, ON_DISK, Account, Entry, LogFold, accounts
from checkers.folds.metadata_log.shown_ends import SHOWS, ShownEnd, shown_ends
from checkers.folds.metadata_log.told_committed import CommittedEntry, Ledger, told_committed
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import Change, LeaderAnnounced
from framework.evidence.kinds import Evidence, either_of
from framework.evidence.quorum import (
    Appended,
    Committed,
    Elected,
    Flushed,
    LogBegan,
    SnapshotFile,
    Truncated,
)
from framework.evidence.run_events import (
    RunEvents,
    alone,
    from_disks,
    phase_ns,
    settle_marks,
    settled,
    unreported,
)
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, LEDGER, Clause, Count, Finding

ENOUGH: Final = 10
ONE: Final = Clause(
    name="one-record",
    says="One record is ever committed at an offset",
    compares="nodes that told of ten committed offsets of which others told as well; where none "
    "tells, ends of the log that clients were shown or snapshots have, beside others",
    floor=2,
    because="it takes two to differ, and each node of the plan has to tell",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="a node that takes something else for committed and does not tell of it, unless an "
    "answer or a snapshot ends with it, in an epoch that does not fit the others",
)
LEADERS: Final = Clause(
    name="leaders-have-all",
    says="A leader has, at its election, all that was committed in earlier epochs",
    compares="committed records held against the log of a later leader at its election; where no "
    "node tells, against what disks have of its epoch",
    floor=ENOUGH,
    because="what is committed within seconds before one change of leaders",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="an election of which its winner does not tell, if no disk has a record of its epoch; by "
    "disks, what was committed after the last answer before it",
)
NONE_DROPPED: Final = Clause(
    name="none-dropped",
    says="No node drops what it knew to be committed, by its watermark or by a snapshot of its own",
    compares="nodes whose log was held against such a watermark or snapshot",
    floor=2,
    because="two are more than one node's luck; where nodes tell of themselves, each of the plan "
    "has to",
    sources=(DISKS, EVENTS),
    blind="a watermark of which a node does not tell, above its last snapshot",
)
STILL_THERE: Final = Clause(
    name="still-there",
    says="What was committed is in the end on the disks of all voters who could lead",
    compares="snapshots on disks, ends of the log that clients or observers were shown, and "
    "offsets that nodes told of as committed, held against those disks",
    floor=2,
    because="a snapshot or an end stands for all below it; two are two nodes', or two moments",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="what was committed, told by no node, and later than the last snapshot and the last "
    "answer",
)
EVERYWHERE: Final = Clause(
    name="everywhere-in-the-end",
    says="Once the cluster has settled, each node's log has all that was committed before",
    compares="nodes whose disks were held against what clients or observers had been shown, or "
    "who told of their logs",
    floor=2,
    because="it takes two to agree, and each node of the plan has to be among them",
    sources=(CLIENTS, LEDGER, DISKS, EVENTS),
    blind="what was committed after the last answer that came before the cluster settled",
)


def committed_never_lost(events: RunEvents) -> Outcome:
    reported = [each for each in accounts(events) if not each.on_disk]
    ledger, dropping, holders = told_committed(reported)
    conflicts = [conflict for _, conflict in sorted(ledger.conflicts.items())]
    findings = [
        *(replace(each, clause=NONE_DROPPED.name) for each in dropping),
        *(replace(each, clause=ONE.name) for each in conflicts),
    ]
    left = disk_logs(events.of(*LOG_KINDS))
    sure, shown = committed_on_disks(events, left), shown_ends(events)
    nodes = set(events.plan.get("nodes") or {each.node for each in reported})
    why, single = unreported(events.plan), alone(events.plan)

    dropped, found = _dropped_on_disk(events)
    findings += found
    beside, found = _one_log(events, shown)
    findings += found
    compared, elections, found = _elections(reported, ledger)
    findings += found
    led, found = _led_on_disk(events, shown)
    findings += found
    there, found = _still_there(events, ledger, sure, shown)
    findings += found
    before = _shown_before(events, shown)
    at_end, found = _at_the_end(events, nodes, reported, ledger, left, sure, before)
    findings += found

    watched = {each.node for account in reported for each in account.history if _watermark(each)}
    counts: dict[str, Count] = {
        ONE.name: single or (ONE.count(beside, why) if why else _shared(holders, nodes)),
        LEADERS.name: _one_leader(sure) or (LEADERS.count(led, why) if why else compared),
        NONE_DROPPED.name: single or (len(watched | dropped), 0 if why else len(watched | nodes)),
        STILL_THERE.name: there,
        EVERYWHERE.name: single or _no_end(events, before) or (len(at_end), len(at_end | nodes)),
    }
    return weighed(counts, findings, {"committed": len(ledger.entries), "elections": elections})


def _watermark(each: Evidence) -> bool:
    return isinstance(each, Committed) and each.offset > 0


def _shared(holders: Mapping[int, set[str]], nodes: set[str]) -> Count:
    """How many nodes told of enough offsets that others told of, of those and the plan's."""
    shared: Counter[str] = Counter()
    for reporters in holders.values():
        if len(reporters) > 1:
            shared.update(reporters)
    heard = {node for node, offsets in shared.items() if offsets >= ENOUGH}
    return len(heard), len(heard | nodes)


# --- what was shown -----------------------------------------------------------------------


def _one_log(events: RunEvents, shown: Sequence[ShownEnd]) -> tuple[int, list[Finding]]:
    """How many ends of the log, of which the last record's epoch is known, stand beside others, and
    two that no log has: in one log epochs never fall."""
    ends: list[tuple[int, int, ShownEnd | SnapshotFile]] = [
        *((each.end, each.last_epoch, each) for each in shown if each.last_epoch is not None),
        *((each.end_offset, each.epoch, each) for each in events.of(SnapshotFile)),
    ]
    ends.sort(key=lambda end: end[:2])
    for (end, epoch, one), (later_end, later_epoch, other) in pairwise(ends):
        if later_epoch < epoch or (later_end == end and later_epoch != epoch):
            witnesses = [one, other]
            return len(ends) - 1, [
                finding(
                    f"no log has both these ends: {_ending(one)}; {_ending(other)}",
                    [each.operation for each in witnesses if isinstance(each, ShownEnd)],
                    [each for each in witnesses if isinstance(each, SnapshotFile)],
                    clause=ONE.name,
                )
            ]
    return max(len(ends) - 1, 0), []


def _ending(each: ShownEnd | SnapshotFile) -> str:
    if isinstance(each, ShownEnd):
        return str(each)
    return f"{each.node} has a snapshot up to {each.end_offset}, of epoch {each.epoch}"


def _led_on_disk(events: RunEvents, shown: Sequence[ShownEnd]) -> tuple[int, list[Finding]]:
    """How many records were shown to be committed before a leader of whose epoch disks tell, and
    what such a leader lacked."""
    known: dict[int, list[ShownEnd]] = {}
    findings: dict[int, Finding] = {}
    for account in accounts(events):
        log = DiskLog()
        for each in account.history if account.on_disk else ():
            if isinstance(each, Appended):
                if each.epoch not in known:
                    known[each.epoch] = _known_before(shown, each.epoch)
                for end in known[each.epoch]:
                    if lack := _lacks(log, each, end):
                        findings.setdefault(each.epoch, lack)
            log.feed(each)
    compared = sum(max((end.end for end in ends), default=0) for ends in known.values())
    return compared, list(findings.values())


def _known_before(shown: Sequence[ShownEnd], epoch: int) -> list[ShownEnd]:
    """The highest end that was shown in earlier epochs, and the highest with its last epoch."""
    earlier = [each for each in shown if each.by_epoch is not None and each.by_epoch < epoch]
    whole = [each for each in earlier if each.last_epoch is not None]
    return [max(each, key=lambda end: end.end) for each in (earlier, whole) if each]


def _lacks(log: DiskLog, appended: Appended, shown: ShownEnd) -> Finding | None:
    """What the log has, to which a record of a later epoch is appended, against what its leader had
    to have."""
    last = log.entries.get(shown.end - 1)
    if appended.base_offset < shown.end:
        lack = f"wrote at offset {appended.base_offset}"
    elif last is not None and shown.last_epoch not in (None, last[0]):
        lack = f"had a record of epoch {last[0]} at offset {shown.end - 1}"
    else:
        return None
    return finding(
        f"by the disk of {appended.node}, the leader of epoch {appended.epoch} {lack}, though "
        f"{shown}",
        [shown.operation],
        [appended],
        clause=LEADERS.name,
    )


# --- elections ----------------------------------------------------------------------------


def _one_leader(sure: CommittedOnDisks) -> str:
    """Why no leader can lack anything, by the disks of all voters; empty: one can."""
    leaders = sum(isinstance(each, LeaderAnnounced) for each in sure.records)
    return "the committed log has the record of one leader" if leaders == 1 else ""


def _elections(reported: Sequence[Account], ledger: "Ledger") -> tuple[int, int, list[Finding]]:
    """How many records were held against a later leader's log, in how many elections, and what a
    leader lacked."""
    compared, elections, findings = 0, 0, list[Finding]()
    for account in reported:
        log = LogFold()
        for each in account.history:
            if isinstance(each, Elected):
                elections += 1
                earlier = {
                    offset: entry
                    for offset, entry in ledger.entries.items()
                    if entry.by_epoch is not None and entry.by_epoch < each.epoch
                }
                compared += len(earlier)
                findings += _leader_lacks(earlier, log, each)
            log.feed(each)
    return compared, elections, findings


def _leader_lacks(
    earlier: Mapping[int, "CommittedEntry"], log: LogFold, elected: Elected
) -> Iterator[Finding]:
    for offset, entry in earlier.items():
        held = _differs(log, offset, entry)
        if held is not None:
            yield finding(
                f"{elected.node} was elected in epoch {elected.epoch} with {held} at offset "
                f"{offset}, where epoch {entry.epoch}, CRC {entry.crc} was committed in epoch "
                f"{entry.by_epoch}",
                evidence=[entry.witness, elected],
                clause=LEADERS.name,
            )
            return


# --- disks --------------------------------------------------------------------------------


def _dropped_on_disk(events: RunEvents) -> tuple[set[str], list[Finding]]:
    """Nodes with a snapshot, and those that cut their log off below one that they had."""
    compared, findings = set(), []
    for account in accounts(events):
        newest: SnapshotFile | None = None
        for each in account.history:
            match each:
                case SnapshotFile() if newest is None or each.end_offset > newest.end_offset:
                    newest = each
                    compared.add(account.node)
                case Truncated(end_offset=end) if newest is not None and end < newest.end_offset:
                    findings.append(
                        finding(
                            f"the log on the disk of {each.node} was cut back to {end}, below the "
                            f"end {newest.end_offset} of a snapshot that it had",
                            evidence=[newest, each],
                            clause=NONE_DROPPED.name,
                        )
                    )
    return compared, findings


def _still_there(
    events: RunEvents, ledger: "Ledger", sure: CommittedOnDisks, shown: Sequence[ShownEnd]
) -> tuple[int, list[Finding]]:
    """What was committed, by snapshots, by answers and by what nodes told, against what all who
    could lead have."""
    compared, findings = 0, list[Finding]()
    if sure.why:
        return compared, findings
    for end in shown:
        compared += 1
        held = sure.entries.get(end.end - 1)
        other = held is not None and end.last_epoch not in (None, held[0])
        if not findings and (end.end > sure.end or other):
            has = "nothing" if held is None else f"epoch {held[0]}"
            findings.append(
                finding(
                    f"{end}; the log of all who could lead has {has} at offset {end.end - 1}, and "
                    f"ends at {sure.end}",
                    [end.operation],
                    by=[DISKS],
                    clause=STILL_THERE.name,
                )
            )
    for each in events.of(SnapshotFile):
        held = sure.entries.get(each.end_offset - 1)
        compared += 1
        if each.end_offset > sure.end or (held is not None and held[0] != each.epoch):
            has = "nothing" if held is None else f"epoch {held[0]}"
            findings.append(
                finding(
                    f"{each.node} has a snapshot up to {each.end_offset}, whose last record is of "
                    f"epoch {each.epoch}; the log of all who could lead has {has} there, and ends "
                    f"at {sure.end}",
                    evidence=[each],
                    clause=STILL_THERE.name,
                )
            )
    lost = list[Finding]()
    for offset, entry in ledger.entries.items():
        held = sure.entries.get(offset)
        compared += 1
        if offset >= sure.end or (held is not None and not entry.fits(held)):
            has = "nothing" if held is None else f"epoch {held[0]}, CRC {held[1]}"
            lost.append(
                finding(
                    f"{entry.witness.node} told that epoch {entry.epoch}, CRC {entry.crc} was "
                    f"committed at offset {offset}; all who could lead have {has} there",
                    evidence=[entry.witness],
                    by=[DISKS],
                    clause=STILL_THERE.name,
                )
            )
    return compared, [*findings, *lost[:1]]


# --- the end ------------------------------------------------------------------------------


def _at_the_end(
    events: RunEvents,
    nodes: set[str],
    reported: Sequence[Account],
    ledger: "Ledger",
    left: Mapping[str, DiskLog],
    sure: CommittedOnDisks,
    before: ShownEnd | None,
) -> tuple[set[str], list[Finding]]:
    """Which nodes' logs were held against what was committed before the cluster settled, and what
    they lack. `before`: the highest end that was shown by then."""
    deadline = _settled_ns(events)
    compared, findings = set[str](), list[Finding]()
    if deadline is None:
        return compared, findings
    for account in reported:
        # A workload's own processes may have ended long before.
        if account.node in nodes:
            log = LogFold()
            for each in account.history:
                log.feed(each)
            if log.end:
                compared.add(account.node)
            findings += _end_lacks(ledger, log, account, deadline)
    if before is not None and not sure.why:
        for node in sorted(nodes & set(left)):
            compared.add(node)
            findings += _disk_lacks(events, node, left[node], sure, before)
    return compared, findings


def _no_end(events: RunEvents, before: ShownEnd | None) -> str:
    """Why nothing is known that all nodes had in the end; empty: something is."""
    if _settled_ns(events) is None:
        return "the cluster was not seen to settle"
    if unreported(events.plan) and before is None:
        return "nobody was shown up to where the metadata log was committed"
    return ""


def _shown_before(events: RunEvents, shown: Sequence[ShownEnd]) -> ShownEnd | None:
    """The highest end that was shown before the cluster was seen to have settled: what is below was
    committed, and all nodes had it."""
    if _settled_ns(events) is None:
        return None
    deadline = settle_marks(events.nemesis)[-1].time_ns
    before = [each for each in shown if (each.operation.completed_ns or deadline) < deadline]
    return max(before, key=lambda each: each.end, default=None)


def _disk_lacks(
    events: RunEvents, node: str, log: DiskLog, sure: CommittedOnDisks, before: ShownEnd
) -> Iterator[Finding]:
    """The first record that is not on a node's disk, or is another one there."""
    for offset in range(before.end):
        entry, held = sure.entries.get(offset), log.entries.get(offset)
        lost = held is None and offset >= log.end
        if not lost and (held is None or entry is None or held == entry):
            continue
        witness = _batch_at(events, node, offset) or log.found
        yield finding(
            f"the log on the disk of {node} has {_text(held)} at offset {offset}, where "
            f"{_text(entry)} is on those of all who could lead; it was committed before {before}, "
            f"and the cluster settled after that",
            [before.operation],
            [witness] if witness is not None else [],
            clause=EVERYWHERE.name,
        )
        return


def _text(entry: Entry | None) -> str:
    return "nothing" if entry is None else f"epoch {entry[0]}, CRC {entry[1]}"


def _batch_at(events: RunEvents, node: str, offset: int) -> Appended | None:
    """What the log on a node's disk has there."""
    found: Appended | None = None
    for each in from_disks(events.of(*ON_DISK)).get(node, ()):
        match each:
            case Appended(base_offset=base, end_offset=end) if base <= offset < end:
                found = each
            case Truncated(end_offset=end) if end <= offset:
                found = None
            case LogBegan(dropped=True):
                found = None
    return found


def _end_lacks(
    ledger: "Ledger", log: LogFold, account: Account, deadline: int
) -> Iterator[Finding]:
    for offset, entry in ledger.entries.items():
        if entry.by_ns > deadline:
            continue
        held = _differs(log, offset, entry)
        if held is not None:
            yield finding(
                f"at the end the log of {account.node} has {held} at offset {offset}, where epoch "
                f"{entry.epoch}, CRC {entry.crc} was committed before the cluster settled",
                evidence=[entry.witness, account.history[-1]],
                clause=EVERYWHERE.name,
            )
            return


def _differs(log: LogFold, offset: int, entry: "CommittedEntry") -> str | None:
    """What the log has instead; None: the entry, or something that is not known."""
    if offset >= log.end:
        return "nothing"
    held = log.entries[offset]
    if held is None or entry.fits(held):
        return None
    return f"epoch {held[0]}, CRC {held[1]}"


def _settled_ns(events: RunEvents) -> int | None:
    """When the wait began that ended with all nodes in agreement; None: it did not end so."""
    return phase_ns(events.nemesis, "settle") if settled(events.nemesis) is True else None


class CommittedNeverLost(RunChecker):
    name = "committed-never-lost"
    summary = (
        "A record below a high watermark is the only one ever at its offset, is in the log of "
        "every later leader at its election, on the disks of all who could lead in the end, and "
        "in every node's log once the cluster has settled"
    )
    requires = either_of(Appended)
    clauses = (ONE, LEADERS, NONE_DROPPED, STILL_THERE, EVERYWHERE)
    check_run = RunCheck(
        committed_never_lost,
        evidence=(*KINDS, Flushed, Committed, Change, Elected),
        disk=DISK_KINDS,
        fs=(*SHOWS, WHO_VOTES),
        observations=True,
        nemesis=True,
    )
