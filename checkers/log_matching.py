"""Log matching (D.5; Raft's Log Matching property).

(a) One (epoch, offset) is one record, on every node that ever held it, also where it was
truncated later. (b) Logs that agree at an (epoch, offset) agree at every offset below.
"""

from dataclasses import dataclass

from checkers.folds.node_log import KINDS, LogFold, log_at
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import Appended, Evidence, evidence_of
from framework.evidence.run_events import RunEvents, incarnations
from framework.plugins.checker import Finding


@dataclass(frozen=True, slots=True)
class Holder:
    """Who held an entry, and the append that wrote it."""

    crc: int
    prefix: bytes | None
    append: Appended


def log_matching(events: RunEvents) -> Outcome:
    histories = {
        node: [each for life in lives for each in life]
        for node, lives in incarnations(events.evidence).items()
    }
    held: dict[tuple[int, int], Holder] = {}
    told: set[tuple[str, str, str]] = set()
    findings: list[Finding] = []
    seen = 0
    for node, history in histories.items():
        log = LogFold(hashing=True)
        for each in history:
            log.feed(each)
            if not isinstance(each, Appended):
                continue
            base, epoch = each.base_offset, each.epoch
            for offset in range(base, log.end):
                seen += 1
                mine = Holder(each.crcs[offset - base], log.prefixes[offset], each)
                other = held.setdefault((epoch, offset), mine)
                if other.crc != mine.crc:
                    kind = "record"
                elif _prefixes_differ(other, mine):
                    kind = "prefix"
                else:
                    # A known prefix is worth more than an unknown one.
                    if other.prefix is None and mine.prefix is not None:
                        held[epoch, offset] = mine
                    continue
                # One finding a kind and pair of nodes: what follows the first is its echo.
                if (kind, other.append.node, node) not in told:
                    told.add((kind, other.append.node, node))
                    describe = _two_records if kind == "record" else _two_prefixes
                    findings.append(describe(epoch, offset, other, mine, histories))
    return concluded(seen, findings, {"entries": len(held), "nodes": len(histories)})


def _prefixes_differ(one: Holder, other: Holder) -> bool:
    return None not in (one.prefix, other.prefix) and one.prefix != other.prefix


def _two_records(
    epoch: int, offset: int, one: Holder, other: Holder, histories: dict[str, list[Evidence]]
) -> Finding:
    return finding(
        f"two records at epoch {epoch}, offset {offset}: {one.append.node} wrote one with CRC "
        f"{one.crc}, {other.append.node} one with CRC {other.crc}",
        evidence=[one.append, other.append],
    )


def _two_prefixes(
    epoch: int, offset: int, one: Holder, other: Holder, histories: dict[str, list[Evidence]]
) -> Finding:
    left = log_at(histories[one.append.node], one.append).entries
    right = log_at(histories[other.append.node], other.append).entries
    where = next(at for at in range(offset) if left[at] != right[at])
    return finding(
        f"{one.append.node} and {other.append.node} agree at epoch {epoch}, offset {offset}, but "
        f"not below it: at offset {where} they held (epoch, CRC) {left[where]} and {right[where]}",
        evidence=[one.append, other.append],
    )


class LogMatching(RunChecker):
    name = "log-matching"
    summary = (
        "Every (epoch, offset) of the metadata log is one record on all nodes that ever held "
        "it, and logs that agree at one agree at all below"
    )
    requires = evidence_of(Appended)
    check_run = RunCheck(log_matching, evidence=KINDS)
