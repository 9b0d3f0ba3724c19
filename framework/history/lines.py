"""One line of a history: what is an event, and what is wrong with what is none."""

import json
from decimal import Decimal
from typing import Final, NoReturn

from framework.history.event import EVENT_TYPES, Event, Json
from framework.history.texts import as_text

EXAMPLE: Final = '{"type":"invoke","process":0,"f":"read","key":"x","value":null}'
_TYPES: Final = frozenset(EVENT_TYPES)


class Malformed(Exception):
    """What is wrong with a line, and what would be right."""


class HalfLine(Exception):
    """The last line is cut short: its writer was killed."""


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _number(text: str) -> float | int:
    """A number with a point or an exponent: the nearest double, but where that is another whole
    number than the one that it says."""
    nearest = float(text)
    if abs(nearest) < _DOUBLES_ARE_EXACT:
        return nearest
    try:
        exact = Decimal(text)
    except ArithmeticError:
        exact = Decimal("Infinity")
    if not exact.is_finite() or exact.adjusted() >= _MOST_DIGITS:
        raise ValueError(f"{text[:20]} has more than {_MOST_DIGITS} digits")
    return int(exact) if exact == exact.to_integral_value() else nearest


_DOUBLES_ARE_EXACT: Final = 2.0**53
"""Below it, every whole number is a double."""
_MOST_DIGITS: Final = 4000
"""Python reads and writes no longer ones."""

decode: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_number).decode
"""What a JSON text says. Raises ValueError or RecursionError; NaN and Infinity are no JSON, and
whole numbers are exact, however large."""


def parse(line: bytes) -> dict[str, Json]:
    """The object of a line. Raises `Malformed`, or `HalfLine`."""
    try:
        parsed = decode(line.decode())
    except (ValueError, RecursionError) as error:
        if line.startswith(b"{") and not line.endswith(b"\n"):
            raise HalfLine from None
        raise Malformed(
            f"not a JSON object, or cut short ({str(error) or 'too deep'}); "
            f"every line is an event such as {EXAMPLE}"
        ) from None
    if not isinstance(parsed, dict):
        raise Malformed(f"not a JSON object; every line is an event such as {EXAMPLE}")
    return parsed


def event_of(fields: dict[str, Json], index: int, now: int | None) -> Event:
    """A validated event. `index` is its position, `now` the time of the one before. Raises
    `Malformed`."""
    get = fields.get
    kind, process, f = get("type"), get("process"), get("f")
    if not (isinstance(kind, str) and kind in _TYPES):
        raise Malformed(f"type is {_shown(fields, 'type')}; it must be one of {_listed()}")
    if not isinstance(process, int | str) or isinstance(process, bool):
        raise Malformed(f"process is {_shown(fields, 'process')}; it must be an integer or a name")
    if not isinstance(f, str) or not f:
        raise Malformed(f"f is {_shown(fields, 'f')}; it must be the operation's name")
    _check_index(fields, index)
    time = _check_time(fields, now)
    node, ext = get("node"), get("ext")
    if node is not None and not isinstance(node, str):
        raise Malformed(f"node is {_shown(fields, 'node')}; it must be a name")
    if ext is not None and not isinstance(ext, dict):
        raise Malformed(f"ext is {_shown(fields, 'ext')}; it must be an object")
    return Event(
        type=kind,
        process=process,
        f=as_text(f) or f,
        index=index,
        time=time,
        key=get("key"),
        value=get("value"),
        error=error_of(get("error")),
        node=as_text(node),
        ext=ext,
    )


def _check_index(fields: dict[str, Json], index: int) -> None:
    given = fields.get("index")
    if given is not None and (given != index or isinstance(given, bool | float)):
        raise Malformed(
            f"index is {_shown(fields, 'index')}; indices are dense from 0, so it must be {index}"
        )


def _check_time(fields: dict[str, Json], now: int | None) -> int | None:
    time = fields.get("time")
    if time is None:
        return None
    if not isinstance(time, int) or isinstance(time, bool):
        raise Malformed(f"time is {_shown(fields, 'time')}; it must be an integer, in ns")
    if not -(2**63) <= time < 2**63:
        raise Malformed(f"time is {time}; it must fit in 64 bits, in ns")
    if now is not None and time < now:
        raise Malformed(f"time goes back from {now} to {time}; events are in real-time order")
    return time


def error_of(given: Json) -> tuple[str, str] | None:
    """`[code, message]`; anything else that somebody wrote becomes a code."""
    if given is None:
        return None
    if isinstance(given, list) and given:
        return _text(given[0]), " ".join(map(_text, given[1:]))
    return _text(given), ""


def _text(given: Json) -> str:
    return as_text(given) or "" if isinstance(given, str) else json.dumps(given)


def _shown(fields: dict[str, Json], name: str) -> str:
    return json.dumps(fields[name])[:80] if name in fields else "missing"


def _listed() -> str:
    return ", ".join(EVENT_TYPES)
