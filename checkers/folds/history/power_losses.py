"""What a system may have lost with the power of its machines, by the ledger alone.

Brokers leave partitions' logs to the operating system; replicas make them durable. So a record that
was acknowledged by all in sync may be gone where all who keep logs lost power at once: no copy is
left that was to survive. By the lines that the harness wrote: of each who lost power, how much of
each log there was, how much of that was on its disk for good, and how much the loss left of it. No
node is asked, and who is in sync plays no part. Gone may be what somebody had written, none of them
had forced to its disk, and not all still have.

Where anybody who keeps logs kept its power, nothing may be gone: that also goes for losses that a
system may not promise to survive, as of the last one in sync, whose copy others have (KIP-966).

A partition's operations before such a loss are judged by themselves, and with those behind it as if
nobody had been told of what may be gone: what was acknowledged may have been written or not, and
nobody read it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from checkers.folds.history.log_values import deleted, fetch_from, fetched, log_answer
from checkers.folds.history.values import topic_answer
from framework.evidence.ids import Offset
from framework.history.event import Recorded
from framework.history.pairing import Operation

Kept: TypeAlias = tuple[Offset, Offset, Offset]
"""Of a log: the offsets up to which it was forced to the disk, up to which it was left, and up to
which it went before."""
Gone: TypeAlias = tuple[Offset, Offset]
"""From the first record that may be gone up to where all that was written ended."""
Lines: TypeAlias = Sequence[Mapping[str, Recorded]]
"""The ledger's, of one injection."""


@dataclass(frozen=True, slots=True)
class PowerLoss:
    """All who keep logs lost power in the injection `fault`; at `at_ns` none of them lived. `kept`:
    of each, by the names of its logs."""

    fault: int
    at_ns: int
    kept: Sequence[Mapping[str, Kept]]

    def gone(self, names: Iterable[str]) -> Gone | None:
        """Of a partition, by any of its names, what may be. None: nothing."""
        known = [own[name] for own in self.kept for name in names if name in own]
        if not known:
            return None
        forced, left, ends = zip(*known, strict=True)
        begin = max(*forced, min(left))
        return (begin, max(ends)) if begin < max(ends) else None

    def precedes(self, operation: Operation) -> bool:
        """Whether it may have been answered afterwards. What was answered before all were seen to
        be gone, was answered by who lived before."""
        return operation.completed_ns is None or operation.completed_ns > self.at_ns


def power_losses(injections: Iterable[Lines]) -> list[PowerLoss]:
    """In order."""
    found = [loss for lines in injections if (loss := _loss(lines)) is not None]
    return sorted(found, key=lambda each: each.at_ns)


def _loss(lines: Lines) -> PowerLoss | None:
    """None: it was of some, or not seen to be of all."""
    steps = {each.get("step"): each for each in lines}
    planned, during = steps.get("planned", {}), steps.get("probed-during", {})
    seen = (during.get("probe") or {}).get("evidence") or {}
    losers = planned.get("loses") or ()
    if not losers or planned.get("keeps") != []:
        return None
    found = [seen.get(node) or {} for node in losers]
    if any(each.get("state") is not None or "kept" not in each for each in found):
        return None
    kept = [
        {log: (one, two, three) for log, (one, two, three) in each["kept"].items()}
        for each in found
    ]
    return PowerLoss(during["id"], during["time"], kept)


# --- operations ---------------------------------------------------------------------------


def apart(
    losses: Sequence[PowerLoss], operations: Sequence[Operation]
) -> dict[str, Sequence[Operation]]:
    """Those on one partition, of one topic: under "" all of them, without what may be gone; under
    other names those before each loss by which something may be, as they were then."""
    if not losses:
        return {"": operations}
    names, found = _names(operations), dict[str, Sequence[Operation]]()
    for loss in losses:
        gone = loss.gone(names)
        before = [each for each in operations if not loss.precedes(each)]
        if gone is not None and any(_shows(each, gone) for each in before):
            name = f" until power {loss.fault}"
            found[name] = before
            operations = list(_forgotten(operations, loss, gone, name))
    return {"": operations, **found}


def forgotten(losses: Sequence[PowerLoss], operations: Iterable[Operation]) -> list[Operation]:
    """Of any partitions, in order, without what may be gone."""
    operations = list(operations)
    if not losses:
        return operations
    partitions: dict[tuple[str, str | None], list[Operation]] = {}
    for each in operations:
        partitions.setdefault((str(each.key), _topic_id(each)), []).append(each)
    left = [each for own in partitions.values() for each in apart(losses, own)[""]]
    return sorted(left, key=lambda each: each.index)


def left_of(losses: Iterable[PowerLoss], names: Sequence[str], offset: Offset) -> Offset:
    """Of a partition up to an offset: what is to be there still after these losses."""
    for gone in (loss.gone(names) for loss in losses):
        if gone is not None and gone[0] < offset <= gone[1]:
            offset = gone[0]
    return offset


def _names(operations: Iterable[Operation]) -> set[str]:
    """Of a partition: by its topic's name, and by ids that answers tell."""
    keys = {str(each.key) for each in operations}
    ids = {_topic_id(each) for each in operations}
    return keys | {f"{id}/{key.rpartition('/')[2]}" for key in keys for id in ids if id}


def _topic_id(operation: Operation) -> str | None:
    """Where an answer tells it."""
    told = isinstance(operation.result, dict)
    return topic_answer(operation).get("topic_id") if told else None


def _forgotten(
    operations: Iterable[Operation], loss: PowerLoss, gone: Gone, name: str
) -> Iterator[Operation]:
    for each in operations:
        known = each if loss.precedes(each) else _before(each, gone, name)
        if known is not None:
            yield known


def _shows(operation: Operation, gone: Gone) -> bool:
    """Whether it shows anything of that."""
    return operation.ok and _before(operation, gone, "") != operation


def _before(operation: Operation, gone: Gone, name: str) -> Operation | None:
    """What an operation shows that ended before a loss, without what may be gone; None: nothing.
    What nobody had written was not lost with the power. Consumers go on as others, for the log
    behind them is another one."""
    asked = operation.value
    if operation.f in ("fetch", "seek") and isinstance(asked, dict) and "consumer" in asked:
        operation = replace(operation, value={**asked, "consumer": f"{asked['consumer']}{name}"})
    if not operation.ok or not isinstance(operation.result, dict):
        return operation
    begin, end = gone
    match operation.f:
        case "fetch":
            return _read_before(operation, gone)
        case "produce":
            offset = log_answer(operation).get("offset")
            shown = offset + 1 if isinstance(offset, int) and offset >= 0 else end
        case "list-offsets":
            shown = log_answer(operation).get("offset") or 0
        case "delete-records":
            shown = deleted(operation).get("low_watermark") or 0
        case _:
            return operation
    return replace(operation, type="info", result=None) if begin < shown <= end else operation


def _read_before(fetch: Operation, gone: Gone) -> Operation | None:
    result, (begin, end) = fetched(fetch), gone
    shown = [result.get("position"), result.get("high_watermark")]
    if any(isinstance(offset, int) and offset > end for offset in shown):
        return fetch
    if fetch_from(fetch)["from"] > begin or (result.get("log_start") or 0) > begin:
        return None
    records = [each for each in result.get("records") or () if each[0] < begin]
    ends = {
        name: min(offset, begin)
        for name in ("position", "high_watermark")
        if isinstance(offset := result.get(name), int)
    }
    return replace(fetch, result={**result, "records": records, **ends})
