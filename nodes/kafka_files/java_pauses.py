"""What a Java wrote of the times at which it let none of its threads run: its log of safepoints,
by unified logging (JEP 158; Java 11 and later), with the decorations `uptime` and `timenanos`.

A safepoint is what it stops its threads for, to collect garbage or for anything else. Java 13 and
later tell of one in a line; Java 11 and 12 say when they enter it, and then how long it took.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median_low
from typing import Final

import pyarrow as pa

from nodes.kafka_files.reading import text_lines

PAUSES: Final = pa.schema(
    [
        ("line", pa.int64()),
        ("ended_ns", pa.int64()),
        ("lasted_ns", pa.int64()),
        ("operation", pa.string()),
    ]
)
"""A time in which no thread ran. `line`: of the file, from 1; `ended_ns`: by the machine's
monotonic clock, as System.nanoTime has it; `operation`: what for, as Java calls it, null: it is not
known."""
OFF_NS: Final = 5_000_000
"""Both decorations are of one clock, the uptime in ms."""
_LINE: Final = re.compile(
    r"(?:\[[^\]]*\])*?\[(?P<s>\d{1,9})[.,](?P<ms>\d{3})s\]\[(?P<ns>\d{1,18})ns\]"
    r"(?:\[[^\]]*\])* (?P<message>.*)"
)
_WHOLE: Final = re.compile(
    r'Safepoint "(?P<operation>\w{1,80})", .*\bTotal: +(?P<ns>\d{1,18}) ns(?:,|$)'
)
_ENTERED: Final = re.compile(r"Entering safepoint region: (?P<operation>\w{1,80})$")
_STOPPED: Final = re.compile(
    r"Total time for which application threads were stopped: (?P<s>\d{1,9})[.,](?P<part>\d{7}) "
    r"seconds, .*"
)
_PER_S: Final = 10**9


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    at_ns: int
    up_ns: int
    message: str


def read_pauses(data: bytes) -> pa.Table:
    """In the order of the lines. What is cut short, of another form, or cannot be, for its two
    times are not of this process or it would have begun before that, is passed over."""
    lines = list(_lines(data))
    if not lines:
        return PAUSES.empty_table()
    began_ns = median_low(each.at_ns - each.up_ns for each in lines)
    sound = [each for each in lines if abs(each.at_ns - each.up_ns - began_ns) <= OFF_NS]
    rows = [
        {
            "line": each.number,
            "ended_ns": each.at_ns,
            "lasted_ns": lasted_ns,
            "operation": operation,
        }
        for each, operation, lasted_ns in _pauses(sound)
        if lasted_ns <= each.up_ns + OFF_NS
    ]
    return pa.Table.from_pylist(rows, schema=PAUSES)


def _lines(data: bytes) -> Iterator[_Line]:
    for number, text in enumerate(text_lines(data), 1):
        if (found := _LINE.fullmatch(text)) is not None:
            up_ns = int(found["s"]) * _PER_S + int(found["ms"]) * 1_000_000
            yield _Line(number, int(found["ns"]), up_ns, found["message"])


def _pauses(lines: list[_Line]) -> Iterator[tuple[_Line, str | None, int]]:
    """The line in which each ends, what it was for, and how long it lasted, in ns."""
    entered: str | None = None
    for each in lines:
        if (whole := _WHOLE.match(each.message)) is not None:
            yield each, whole["operation"], int(whole["ns"])
        elif (begins := _ENTERED.match(each.message)) is not None:
            entered = begins["operation"]
        elif (stopped := _STOPPED.fullmatch(each.message)) is not None:
            yield each, entered, int(stopped["s"]) * _PER_S + int(stopped["part"]) * 100
            entered = None
