"""One event of a history, and its line in `history.jsonl`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from framework.quick import quick

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None
"""What JSON can say: all that is written, and what is read before anybody knows what it is."""
Recorded: TypeAlias = Any
"""`Json` of a recorded run or history, which may be somebody else's: workloads, outcome tables and
rules each know what theirs has to be, check it there (`from_json`, `isinstance`), and refuse or
pass over what is not. mypy cannot: to it every step into `Json` is a union of seven."""

EventType: TypeAlias = Literal["invoke", "ok", "fail", "info"]
CompletionType: TypeAlias = Literal["ok", "fail", "info"]
Process: TypeAlias = int | str
"""A logical single thread: `NEMESIS` for the nemesis, `observer_of` each node; for a client an int,
or, in a history that somebody else recorded, any other name."""

NEMESIS: Final = "nemesis"
_OBSERVER: Final = "observer:"
EVENT_TYPES: Final[tuple[EventType, ...]] = ("invoke", "ok", "fail", "info")


def observer_of(node: str) -> str:
    """The process that asks one node what it would tell anybody."""
    return _OBSERVER + node


def is_observer(process: Process) -> bool:
    """Whether it is one of those processes: no client of the system's."""
    return isinstance(process, str) and process.startswith(_OBSERVER)


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An invocation or a completion.

    `ok`: it took effect. `fail`: it did not and never will. `info`: unknown, it may still take
    effect at any later time. `time` is ns since the run began on the harness's monotonic clock
    (None: only the order of the file counts). `error` is `(code, message)` of a fail or info.
    `ext` is what the system revealed beside the result: a leader epoch and log offset, ...
    """

    type: EventType
    process: Process
    f: str
    index: int = -1
    time: int | None = None
    key: Recorded = None
    value: Recorded = None
    error: tuple[str, str] | None = None
    node: str | None = None
    ext: Mapping[str, Json] | None = None

    @property
    def asserts(self) -> str | None:
        """What a fail or info saw all the same (`framework.plugins.outcomes`)."""
        return asserted(self.ext)


def asserted(ext: Mapping[str, Json] | None) -> str | None:
    """What the `ext` of a completion without a result says that it saw."""
    said = None if ext is None else ext.get("asserts")
    return said if isinstance(said, str) else None


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation(Event):
    """An operation that is to be done: what a generator offers and a client takes."""

    type: Literal["invoke"] = "invoke"

    def completed(
        self,
        type: CompletionType,
        value: Json = None,
        *,
        error: tuple[str, str] | None = None,
        node: str | None = None,
        ext: Mapping[str, Json] | None = None,
    ) -> "Completion":
        """Its end, as whoever did it tells of it. `node`: the one that was asked."""
        return Completion(
            type=type,
            process=self.process,
            f=self.f,
            key=self.key,
            value=value,
            error=error,
            node=node,
            ext=ext,
        )


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Completion(Event):
    """How an operation ended."""

    type: CompletionType
