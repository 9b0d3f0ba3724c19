"""What nodes wrote for people, looked through for what should not be there: errors, tracebacks,
last words. Lines of Python's logging, of log4j and of slf4j-simple.
"""

import re
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from nodes.kafka_files.reading import text_lines

TROUBLE: Final = pa.schema(
    [
        ("line", pa.int64()),
        ("level", pa.string()),
        ("logger", pa.string()),
        ("message", pa.string()),
        ("trace", pa.string()),
        ("fatal", pa.bool_()),
    ]
)
"""A piece of a log that tells of trouble. `line`: of the file, from 1; `level`, `logger`: null
where it is no line of a logger's; `trace`: the lines of its traceback, null: it has none; `fatal`:
the process, or a thread of it, did not go on."""
LEVELS: Final = frozenset({"ERROR", "FATAL", "CRITICAL"})
_TRACE_LINES: Final = 200

_PYTHON: Final = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (?P<level>[A-Z]+) (?P<logger>[\w.-]+): ?(?P<message>.*)"
)
_LOG4J: Final = re.compile(
    r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] (?P<level>[A-Z]+) (?P<message>.*?)"
    r"(?: \((?P<logger>[\w.$-]+)\))?"
)
_SIMPLE: Final = re.compile(
    r"(?:\d{4}-\d\d-\d\dT\S+ )?"
    r"\[[^\]]*\] (?P<level>[A-Z]+) (?P<logger>[\w.$-]+) - (?P<message>.*)"
)
_FATAL: Final = re.compile(
    r"Fatal Python error|java\.lang\.(OutOfMemory|StackOverflow|NoClassDefFound)\w*"
    r"|# A fatal error has been detected|Segmentation fault|Exiting Kafka"
    r"|terminating process|Halting|Encountered fatal fault|(?:Uncaught e|E)xception in thread "
)
_BARE: Final = re.compile(r"Traceback \(most recent call last\):")
_JAVA_FRAME: Final = re.compile(r"\s+at \S")


@dataclass(slots=True)
class _Piece:
    line: int
    level: str | None
    logger: str | None
    message: str
    trace: list[str] = field(default_factory=list)

    @property
    def tells_of_trouble(self) -> bool:
        return bool(
            self.level in LEVELS or _bare(self.message) or any(map(_JAVA_FRAME.match, self.trace))
        )

    def row(self) -> dict[str, object]:
        text = (self.message, *self.trace)
        return {
            "line": self.line,
            "level": self.level,
            "logger": self.logger,
            "message": self.message,
            "trace": "\n".join(self.trace) or None,
            "fatal": self.level in {"FATAL", "CRITICAL"} or any(map(_FATAL.search, text)),
        }


def read_node_log(data: bytes) -> pa.Table:
    """What tells of trouble, in the order of the lines."""
    pieces: list[_Piece] = []
    for number, line in enumerate(text_lines(data), 1):
        last = pieces[-1] if pieces else None
        logged = _logged(number, line)
        if logged is not None:
            pieces.append(logged)
        elif _bare(line) and not (last and last.tells_of_trouble):
            pieces.append(_Piece(number, None, None, line))
        elif last and len(last.trace) < _TRACE_LINES:
            last.trace.append(line)
    rows = [piece.row() for piece in pieces if piece.tells_of_trouble]
    return pa.Table.from_pylist(rows, schema=TROUBLE)


def _logged(number: int, line: str) -> _Piece | None:
    """What a logger's line begins; None: it is none, and goes on with the one before."""
    for form in (_PYTHON, _LOG4J, _SIMPLE):
        if match := form.fullmatch(line):
            return _Piece(number, match["level"], match["logger"], match["message"])
    return None


def _bare(line: str) -> bool:
    """Whether trouble begins here that no logger wrote."""
    return bool(_BARE.match(line) or _FATAL.search(line))
