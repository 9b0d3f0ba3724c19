"""Reading a history: JSON Lines, one event a line, plain or gzipped, from anyone.

Whatever a line has wrong ends the reading with one `UsageError` that names file, line number,
what is wrong and what would be right. One fault is forgiven: a last line without its newline
that is not whole JSON is what a killed writer leaves. It is left out, a note says so, and the
operation that it would have completed stays pending.
"""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn, cast

from framework.errors import UsageError
from framework.history.event import EVENT_TYPES, Event, Json
from framework.history.pairing import Operation, Pairing, PairingError

SUFFIXES: Final = (".jsonl", ".jsonl.gz")
_EXAMPLE: Final = '{"type":"invoke","process":0,"f":"read","key":"x","value":null}'
_TYPES: Final = frozenset(EVENT_TYPES)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A history that was read."""

    path: Path
    operations: Sequence[Operation]
    """Of clients, in the order of their invocations."""
    named: Sequence[Event]
    """Events of the nemesis."""
    notes: Sequence[str]
    """What was forgiven."""


class _Malformed(Exception):
    """What is wrong with a line, and what would be right."""


class _HalfLine(Exception):
    """The last line is cut short: its writer was killed."""


def read_history(path: Path, *, allow_empty: bool = False) -> History:
    """The operations of a history file. Raises `UsageError`.

    A file without events is refused unless `allow_empty`, which is for runs that were killed
    before their first operation.
    """
    pairing = Pairing()
    notes: list[str] = []
    number, index, now = 0, 0, None
    try:
        for line in _lines(path):
            number += 1
            if line.isspace():
                continue
            event = _event(_parse(line), index, now)
            pairing.add(event)
            index += 1
            now = now if event.time is None else event.time
    except _HalfLine:
        notes.append(f"{path}:{number}: the last line is cut short; it was left out")
    except (_Malformed, PairingError) as error:
        raise UsageError(f"{path}:{number}: {error}") from None
    if not index and not allow_empty:
        raise UsageError(f"{path}: no events; a history has one JSON object a line: {_EXAMPLE}")
    return History(path=path, operations=pairing.operations, named=pairing.named, notes=notes)


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file with their newlines. Raises `UsageError`."""
    try:
        with _open(path) as file:
            yield from file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: not a whole gzip file: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_decode = json.JSONDecoder(parse_constant=_no_constant).decode


def _parse(line: bytes) -> dict[str, Any]:
    try:
        parsed = _decode(line.decode())
    except (ValueError, RecursionError) as error:
        if line.startswith(b"{") and not line.endswith(b"\n"):
            raise _HalfLine from None
        raise _Malformed(
            f"not a JSON object, or cut short ({str(error) or 'too deep'}); "
            f"every line is an event such as {_EXAMPLE}"
        ) from None
    if not isinstance(parsed, dict):
        raise _Malformed(f"not a JSON object; every line is an event such as {_EXAMPLE}")
    return parsed


def _event(fields: dict[str, Any], index: int, now: int | None) -> Event:
    """A validated event. `index` is its position, `now` the time of the one before."""
    get = fields.get
    kind, process, f = get("type"), get("process"), get("f")
    if not (isinstance(kind, str) and kind in _TYPES):
        raise _Malformed(f"type is {_shown(fields, 'type')}; it must be one of {_listed()}")
    if not isinstance(process, int | str) or isinstance(process, bool):
        raise _Malformed(f"process is {_shown(fields, 'process')}; it must be an integer or a name")
    if not isinstance(f, str) or not f:
        raise _Malformed(f"f is {_shown(fields, 'f')}; it must be the operation's name")
    _check_index(fields, index)
    time = _check_time(fields, now)
    node, ext = get("node"), get("ext")
    if node is not None and not isinstance(node, str):
        raise _Malformed(f"node is {_shown(fields, 'node')}; it must be a name")
    if ext is not None and not isinstance(ext, dict):
        raise _Malformed(f"ext is {_shown(fields, 'ext')}; it must be an object")
    return Event(
        type=cast(Any, kind),
        process=process,
        f=f,
        index=index,
        time=time,
        key=get("key"),
        value=get("value"),
        error=_error(get("error")),
        node=node,
        ext=ext,
    )


def _check_index(fields: dict[str, Any], index: int) -> None:
    given = fields.get("index")
    if given is not None and (given != index or isinstance(given, bool | float)):
        raise _Malformed(
            f"index is {_shown(fields, 'index')}; indices are dense from 0, so it must be {index}"
        )


def _check_time(fields: dict[str, Any], now: int | None) -> int | None:
    time: Json = fields.get("time")
    if time is None:
        return None
    if not isinstance(time, int) or isinstance(time, bool):
        raise _Malformed(f"time is {_shown(fields, 'time')}; it must be an integer, in ns")
    if not -(2**63) <= time < 2**63:
        raise _Malformed(f"time is {time}; it must fit in 64 bits, in ns")
    if now is not None and time < now:
        raise _Malformed(f"time goes back from {now} to {time}; events are in real-time order")
    return time


def _error(given: Json) -> tuple[str, str] | None:
    """`[code, message]`; anything else that somebody wrote becomes a code."""
    if given is None:
        return None
    if isinstance(given, list) and given:
        return _text(given[0]), " ".join(map(_text, given[1:]))
    return _text(given), ""


def _text(given: Json) -> str:
    return given if isinstance(given, str) else json.dumps(given)


def _shown(fields: dict[str, Any], name: str) -> str:
    return json.dumps(fields[name])[:80] if name in fields else "missing"


def _listed() -> str:
    return ", ".join(EVENT_TYPES)
