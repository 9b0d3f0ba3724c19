"""What happened around a moment, a column a node, on one axis of time. Pure, but for the logs."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from framework.history.pairing import Operation
from framework.report.data import NS, Run
from framework.report.logs import LogLine
from framework.report.nodes import Span
from framework.report.text import shorten

MAX_ROWS: Final = 400
CLIENTS: Final = "clients"
FAULTS: Final = "faults"
_LONGEST: Final = 160


@dataclass(frozen=True, slots=True)
class Happening:
    time_s: float
    who: str
    """A column: `FAULTS`, `CLIENTS`, or a node."""
    what: str
    kind: str
    """fault, node, log, or an operation's outcome; "invoke" as it begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    at_s: float
    room_s: float
    columns: Sequence[str]
    rows: Sequence[Happening]
    left_out: int
    """Those furthest from the moment, where there are more than `MAX_ROWS`."""
    thinned: tuple[int, int] | None = None
    """Of a run with too many operations to hold: how many are, of how many."""
    before: Sequence[str] = ()
    """What each node was as the window begins, by column."""


def moment(run: Run, logs: Sequence[LogLine], at_s: float, room_s: float) -> Moment:
    """From `at_s - room_s` to `at_s + room_s`. `logs`: of all nodes, in order of time."""
    begin, end = at_s - room_s, at_s + room_s
    found = [
        *(each for each in _faults(run) if begin <= each.time_s <= end),
        *_operations(run.operations, begin, end),
        *(_became(span) for span in run.spans if begin <= span.start_s <= end),
        *_logged(logs, begin, end),
    ]
    nearest = sorted(found, key=lambda each: abs(each.time_s - at_s))[:MAX_ROWS]
    nodes = dict.fromkeys([*(run.plan.get("nodes") or {}), *(each.who for each in nearest)])
    columns = [FAULTS, CLIENTS, *(each for each in nodes if each not in (FAULTS, CLIENTS))]
    return Moment(
        at_s=at_s,
        room_s=room_s,
        columns=columns,
        rows=sorted(nearest, key=lambda each: each.time_s),
        left_out=len(found) - len(nearest),
        thinned=(held, there)
        if (held := len(run.operations)) < (there := len(run.answers))
        else None,
        before=[_was(run, column, begin) for column in columns],
    )


def _was(run: Run, column: str, begin: float) -> str:
    if column == FAULTS:
        active = [
            f"{each.id} {each.fault} {each.shape}".strip()
            for each in run.injections
            if each.start_s is not None
            and each.start_s < begin
            and (each.end_s is None or each.end_s > begin)
        ]
        return ", ".join(active)
    return ", ".join(
        _state(span)
        for span in run.spans
        if span.node == column and span.start_s < begin <= span.end_s
    )


def _faults(run: Run) -> Iterable[Happening]:
    for each in run.injections:
        for step, time_s in each.steps.items():
            what = " ".join(part for part in (str(each.id), each.fault, each.shape, step) if part)
            yield Happening(time_s, FAULTS, what, "fault")


def _operations(operations: Iterable[Operation], begin: float, end: float) -> Iterable[Happening]:
    for op in operations:
        about = f"{op.index} p{op.process} {op.f} {shorten(op.key, 40) if op.key else ''}".rstrip()
        if op.invoked_ns is not None and begin <= op.invoked_ns / NS <= end:
            value = "" if op.value is None else f" {shorten(op.value, 60)}"
            yield Happening(op.invoked_ns / NS, CLIENTS, f"{about}{value}", "invoke")
        if op.completed_ns is not None and begin <= op.completed_ns / NS <= end:
            said = ": ".join(op.error) if op.error else op.result
            result = "" if said is None else f" {shorten(said, 60)}"
            yield Happening(op.completed_ns / NS, CLIENTS, f"{about} {op.type}{result}", op.type)


def _became(span: Span) -> Happening:
    return Happening(span.start_s, span.node, _state(span), "node")


def _state(span: Span) -> str:
    epoch = "" if span.epoch is None else f", epoch {span.epoch}"
    return f"{'' if span.lane == 'role' else f'{span.lane} '}{span.state}{epoch}"


def _logged(logs: Sequence[LogLine], begin: float, end: float) -> Iterable[Happening]:
    first = bisect_left(logs, begin, key=lambda line: line.time_s)
    for line in logs[first : bisect_right(logs, end, key=lambda line: line.time_s)]:
        yield Happening(line.time_s, line.node, shorten(line.text, _LONGEST), "log")
