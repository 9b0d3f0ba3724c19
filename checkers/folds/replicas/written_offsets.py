"""What a process wrote down of a partition's log, and left beside it: up to where it is committed,
up to where it is on the disk for certain, and where it begins (`replication-offset-checkpoint`,
`recovery-point-offset-checkpoint`, `log-start-offset-checkpoint`).

Each of them lies in the log. A log that is cut back takes them along, and a process that is killed
between the two leaves one that does not: only of one that ended in order the disk tells all.
"""

from collections.abc import Iterable, Set
from typing import Final

from checkers.folds.replicas.replica_logs import on_disk
from framework.checking.findings import finding
from framework.evidence.partitions import PartitionLogOnDisk, PartitionOffsetSaved
from framework.evidence.processes import ProcessEnded
from framework.evidence.run_events import RunEvents
from framework.plugins.checker import Count, Finding

IN_ORDER: Final = frozenset({0, 143})
"""Exit codes: a Java process that is asked to end (SIGTERM, 15) ends with 128 more than that."""


def offsets_beside_logs(events: RunEvents) -> tuple[Count, list[Finding]]:
    """Those that lie behind the end of their log, and how many were held against one. One finding
    a log."""
    saved = list(events.of(PartitionOffsetSaved))
    if not saved:
        return "nodes write no offsets down beside their logs", []
    orderly = _in_order(events.of(ProcessEnded)) & {(each.node, each.incarnation) for each in saved}
    if not orderly:
        return "no process that wrote any down ended in order", []
    logs: dict[tuple[str, str, str, int], PartitionLogOnDisk] = {}
    compared, findings = 0, dict[tuple[str, str, int], Finding]()
    for each in on_disk(events, PartitionLogOnDisk, PartitionOffsetSaved):
        place = (each.node, each.incarnation)
        match each:
            case PartitionLogOnDisk():
                logs[*place, *_key(each)] = each
            case PartitionOffsetSaved() if place in orderly and events.has(*_key(each)):
                log = logs.get((*place, *_key(each)))
                if log is None or log.torn or log.wrong:
                    continue
                compared += 1
                if each.offset > log.end_offset:
                    findings.setdefault((each.node, *_key(each)), _behind(each, log))
    return compared, list(findings.values())


def _key(each: PartitionLogOnDisk | PartitionOffsetSaved) -> tuple[str, int]:
    return each.topic_id, each.partition


def _in_order(ends: Iterable[ProcessEnded]) -> Set[tuple[str, str]]:
    """Nodes and incarnations."""
    return {(each.node, each.incarnation) for each in ends if each.exit_code in IN_ORDER}


def _behind(saved: PartitionOffsetSaved, log: PartitionLogOnDisk) -> Finding:
    return finding(
        f"{log.topic_id}/{log.partition}: {log.node} left the {saved.what} {saved.offset} beside a "
        f"log that ends at {log.end_offset}",
        evidence=[saved, log],
    )
