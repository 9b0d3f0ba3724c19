"""Jepsen's own `history.edn`: its operations as ours. docs/checking.md says how each is read.

One map an operation, plain or tagged (`#jepsen.history.Op{...}`), one a line as Jepsen writes them
or spread over several; or one vector of all of them. Plain or gzipped. What is wrong ends the
reading with one `UsageError` that names file and line; a last line cut short is left out with a
note, as in JSON Lines.
"""

import gc
import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Final, cast

from framework.errors import UsageError
from framework.history import edn
from framework.history.event import Event, EventType, Json, Process
from framework.history.jepsen_models import EXTRA, READINGS, Misread, Reading, shown
from framework.history.pairing import Operation, Pairing, PairingError
from framework.history.reader import History

SUFFIXES: Final = (".edn", ".edn.gz")
MODELS: Final = tuple(READINGS)
_FILES: Final = ("history.edn", "history.edn.gz")
"""What a folder is searched for; other EDN files of a test are no histories."""
_EXAMPLE: Final = "{:index 0, :type :invoke, :process 0, :f :read, :value nil}"
_TYPES: Final[dict[str, EventType]] = {
    ":invoke": "invoke",
    ":ok": "ok",
    ":fail": "fail",
    ":info": "info",
}


def need_model(model: str) -> None:
    """Raises `UsageError` if histories of Jepsen cannot be read as of this model."""
    if model not in READINGS:
        raise UsageError(f"--format jepsen knows no model {model!r}: {', '.join(MODELS)}")


def our_model(model: str) -> str:
    """The model of `check` that judges what `model` of Jepsen was read as."""
    need_model(model)
    return READINGS[model].model


def find_jepsen(paths: Iterable[Path]) -> list[Path]:
    """The files, and the `history.edn` below the folders, each once, in order.

    Raises `UsageError`.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder")
        if path.is_dir():
            below = sorted(file for name in _FILES for file in path.rglob(name))
            if not below:
                raise UsageError(f"{path}: holds no {' or '.join(_FILES)}")
            found += below
        elif path.name.endswith(SUFFIXES):
            found.append(path)
        else:
            raise UsageError(
                f"{path}: no history of Jepsen; its name must end in {', '.join(SUFFIXES)}"
            )
    return list(dict.fromkeys(found))


def read_jepsen(path: Path, model: str) -> History:
    """The operations of a history, as `model` (one of `MODELS`) has them. Raises `UsageError`.

    `index` and `end` are Jepsen's own indices where all operations have them, and they rise; else
    positions in the file.
    """
    need_model(model)
    with _without_collection():
        return _read(path, READINGS[model])


@contextmanager
def _without_collection() -> Iterator[None]:
    """No search for garbage, of which reading makes none: among millions of operations that live
    it would take most of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read(path: Path, reading: Reading) -> History:
    raw = _paired(path)
    try:
        operations, notes = reading.read(raw.operations)
    except Misread as error:
        raise UsageError(f"{path}:{raw.lines[error.position]}: {error}") from None
    if _numbered_anew(operations):
        notes = [*notes, f"{path}: drains were read as dequeues, and operations numbered anew"]
    else:
        _number_as_jepsen(operations, raw)
    return History(path=path, operations=operations, named=raw.named, notes=[*raw.notes, *notes])


@dataclass(slots=True)
class _Raw:
    """A file's operations; `index` and `end` are positions in the file."""

    operations: list[Operation] = field(default_factory=list)
    named: list[Event] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    """The line of each position."""
    indices: list[Json] = field(default_factory=list)
    """What Jepsen says the index of each position is."""
    notes: list[str] = field(default_factory=list)


def _paired(path: Path) -> _Raw:
    pairing, raw = Pairing(), _Raw()
    number = 0
    try:
        for number, form in edn.forms(_lines(path)):
            event = _event(form, len(raw.lines))
            pairing.add(event)
            raw.lines.append(number)
            raw.indices.append(_fields(form).get(":index"))
    except edn.EdnError as error:
        if not error.half:
            raise UsageError(
                f"{path}:{error.line}: not EDN, or cut short ({error}); "
                f"an operation is a map such as {_EXAMPLE}"
            ) from None
        raw.notes.append(f"{path}:{error.line}: the last line is cut short; it was left out")
    except (_Malformed, PairingError) as error:
        raise UsageError(f"{path}:{number}: {error}") from None
    if not raw.lines:
        raise UsageError(f"{path}: no operations; a history has one map an operation: {_EXAMPLE}")
    raw.operations, raw.named = pairing.operations, pairing.named
    return raw


def _lines(path: Path) -> Iterator[str]:
    """The lines of a file. Raises `UsageError`."""
    number = 0
    try:
        with _open(path) as file:
            for line in file:
                number += 1
                yield line.decode()
    except UnicodeDecodeError:
        raise UsageError(f"{path}:{number}: not EDN: it is not UTF-8") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: not a whole gzip file: {error}") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from None


def _open(path: Path) -> BinaryIO:
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


class _Malformed(Exception):
    """What is wrong with an operation, and what would be right."""


def _fields(form: Json) -> dict[str, Json]:
    """An operation's map, without its tag."""
    if isinstance(form, dict):
        if ":type" in form:
            return form
        values = list(form.values())
        if len(form) == 1 and next(iter(form)).startswith("#") and isinstance(values[0], dict):
            return values[0]
        if "#set" not in form:
            return form
    raise _Malformed(f"{shown(form)} is no operation; one is a map such as {_EXAMPLE}")


def _event(form: Json, position: int) -> Event:
    fields = _fields(form)
    get = fields.get
    kind = get(":type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise _Malformed(f":type is {_given(fields, ':type')}; it must be {', '.join(_TYPES)}")
    time = get(":time")
    if time is not None and type(time) is not int:
        raise _Malformed(f":time is {shown(time)}; it must be a whole number of ns")
    if time is not None and not -(2**63) <= time < 2**63:
        raise _Malformed(f":time is {time}; it must fit in 64 bits, in ns")
    error = get(":error")
    extra = {name[1:].rstrip("?"): fields[name] for name in EXTRA if fields.get(name)}
    return Event(
        type=_TYPES[kind],
        process=_process(fields),
        f=_f(fields),
        index=position,
        time=time,
        value=get(":value"),
        error=None if error is None else _error(error),
        ext=extra or None,
    )


def _process(fields: dict[str, Json]) -> Process:
    process = fields.get(":process")
    if type(process) is int:
        return process
    if isinstance(process, str) and process:
        return process.removeprefix(":")
    raise _Malformed(
        f":process is {_given(fields, ':process')}; it must be a number or a keyword such as "
        ":nemesis"
    )


def _f(fields: dict[str, Json]) -> str:
    f = fields.get(":f")
    if isinstance(f, str) and f:
        return f.removeprefix(":")
    raise _Malformed(f":f is {_given(fields, ':f')}; it must be a keyword such as :read")


def _error(given: Json) -> tuple[str, str]:
    """Code and message; `:error` may be anything."""
    if isinstance(given, list) and given:
        return _text(given[0]), " ".join(map(_text, given[1:]))
    return _text(given), ""


def _text(given: Json) -> str:
    return given.removeprefix(":") if isinstance(given, str) else shown(given)


def _given(fields: dict[str, Json], name: str) -> str:
    return shown(fields[name]) if name in fields else "missing"


def _numbered_anew(operations: Sequence[Operation]) -> bool:
    """Gives invocations and completions that share a position indices of their own: operations
    of one drain. True if there were any."""
    events = [(each.index, 0, at) for at, each in enumerate(operations)]
    events += [(each.end, 1, at) for at, each in enumerate(operations) if each.end is not None]
    if len({position for position, _, _ in events}) == len(events):
        return False
    for index, (_, completes, at) in enumerate(sorted(events)):
        if completes:
            operations[at].end = index
        else:
            operations[at].index = index
    return True


def _number_as_jepsen(operations: Sequence[Operation], raw: _Raw) -> None:
    indices = [index for index in raw.indices if type(index) is int and 0 <= index < 2**62]
    if len(indices) != len(raw.indices):
        return
    if any(after <= before for before, after in pairwise(indices)):
        return
    for operation in operations:
        operation.index = indices[operation.index]
        if operation.end is not None:
            operation.end = indices[operation.end]
    raw.named = [replace(event, index=indices[event.index]) for event in raw.named]
