"""Log matching (D.5; Raft's Log Matching property).

(a) One (epoch, offset) is one record, on every node that ever held it, also where it was
truncated later. (b) Logs that agree at an (epoch, offset) agree at every offset below.
"""

from dataclasses import dataclass

from checkers.kernels.evidence import Evidence, NodeEvent, concluded, finding, incarnations
from checkers.kernels.metadata_log import LogFold, log_at
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding


@dataclass(frozen=True, slots=True)
class Holder:
    """Who held an entry, and the event that wrote it."""

    crc: int
    prefix: bytes | None
    event: NodeEvent


def log_matching(evidence: Evidence) -> Outcome:
    histories = {
        node: [event for life in lives for event in life]
        for node, lives in incarnations(evidence.events).items()
    }
    held: dict[tuple[int, int], Holder] = {}
    told: set[tuple[str, str, str]] = set()
    findings: list[Finding] = []
    seen = 0
    for node, events in histories.items():
        log = LogFold(hashing=True)
        for event in events:
            log.feed(event)
            if event.type != "append":
                continue
            base, epoch = event.fields["base_offset"], event.fields["epoch"]
            for offset in range(base, log.end):
                seen += 1
                mine = Holder(event.fields["crcs"][offset - base], log.prefixes[offset], event)
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
                if (kind, other.event.node, node) not in told:
                    told.add((kind, other.event.node, node))
                    describe = _two_records if kind == "record" else _two_prefixes
                    findings.append(describe(epoch, offset, other, mine, histories))
    return concluded(seen, findings, {"entries": len(held), "nodes": len(histories)})


def _prefixes_differ(one: Holder, other: Holder) -> bool:
    return None not in (one.prefix, other.prefix) and one.prefix != other.prefix


def _two_records(
    epoch: int, offset: int, one: Holder, other: Holder, histories: dict[str, list[NodeEvent]]
) -> Finding:
    return finding(
        f"two records at epoch {epoch}, offset {offset}: {one.event.node} wrote one with CRC "
        f"{one.crc}, {other.event.node} one with CRC {other.crc}",
        events=[one.event, other.event],
    )


def _two_prefixes(
    epoch: int, offset: int, one: Holder, other: Holder, histories: dict[str, list[NodeEvent]]
) -> Finding:
    left = log_at(histories[one.event.node], one.event).entries
    right = log_at(histories[other.event.node], other.event).entries
    where = next(at for at in range(offset) if left[at] != right[at])
    return finding(
        f"{one.event.node} and {other.event.node} agree at epoch {epoch}, offset {offset}, but "
        f"not below it: at offset {where} they held (epoch, CRC) {left[where]} and {right[where]}",
        events=[one.event, other.event],
    )
