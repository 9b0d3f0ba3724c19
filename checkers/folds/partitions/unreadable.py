"""Acknowledged values that nobody can read: final fetches that do not get on."""

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from checkers.folds.history.log_values import fetch_from
from checkers.folds.history.peace import Upset
from checkers.folds.partitions.claims import Claim, fetch_of
from framework.checking.findings import finding
from framework.evidence.run_events import RunEvents, settled, unhealed
from framework.history.pairing import FINAL, Operation
from framework.plugins.checker import Finding

TRIES: Final = 3
"""So many answers without a record, or failures, are no accident of a moment: whoever reads at the
end waits some seconds for each."""


def unreadable(events: RunEvents, acknowledged: Sequence[Claim]) -> Iterator[Finding]:
    """Why the final fetches did not reach the end, where that is the system's doing: one leader
    answers again and again that there is more, and gives nothing; or the cluster had settled, and
    nobody answers."""
    finals = [
        each
        for each in events.operations
        if each.f == "fetch" and each.phase == FINAL and fetch_from(each).get("consumer") == FINAL
    ]
    peace = settled(events.nemesis) is True and not unhealed(events.faults)
    silent = _last_of(finals, _gives_nothing)
    upset = Upset.of(events)
    refused = _last_of(
        finals, lambda each: peace and not each.ok and not upset.at(each.completed_ns or 0)
    )
    for last, how in ((silent, "gave nothing below its own high watermark"), (refused, "failed")):
        if len(last) >= TRIES:
            begin = fetch_from(last[0])["from"]
            yield finding(
                f"{len(acknowledged)} values were acknowledged, and cannot be read: the last "
                f"{len(last)} final fetches, from {begin}, {how}{_code(last[0])}",
                [*last, acknowledged[-1].operation],
            )


def _last_of(
    finals: Sequence[Operation], stands: Callable[[Operation], bool]
) -> Sequence[Operation]:
    """The last ones in a row, from one offset, of which it stands."""
    at = fetch_from(finals[-1])["from"] if finals else None
    return list(
        takewhile(lambda each: fetch_from(each)["from"] == at and stands(each), finals[::-1])
    )


def _gives_nothing(operation: Operation) -> bool:
    """Where no final fetch reached the end: so that there is more, by its own word."""
    return operation.ok and fetch_of(operation).end == fetch_from(operation)["from"]


def _code(operation: Operation) -> str:
    return "" if operation.ok else f" with {operation.error_code}"


def why_unread(unread: Sequence[Claim]) -> str:
    first = unread[0]
    return (
        f"nobody fetched {len(unread)} acknowledged values, as {first.value} at offset "
        f"{first.offset} (operation {first.operation.index})"
    )
