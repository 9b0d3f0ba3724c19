"""Operations: invocations paired with their completions, one open operation a process."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from framework.history.event import (
    NEMESIS,
    CompletionType,
    Event,
    Json,
    Process,
    Recorded,
    asserted,
)
from framework.history.texts import as_json

Phase: TypeAlias = Literal["main", "final"]
PHASE: Final = "phase"
"""The `f` of the nemesis events that mark phases."""
FINAL: Final = "final"
"""The phase once nothing is changed any more, or the value of the event with which it begins."""


@dataclass(slots=True, kw_only=True)
class Operation:
    """What one client process asked for, and what came of it.

    `index` and `end` are the indices of the two events; an operation that never completed has
    `end` None and type info, and counts as concurrent with everything after its invocation, as
    does every other info. Times are ns since the run began.
    """

    index: int
    process: Process = ""
    f: str = ""
    key: Recorded = None
    value: Recorded = None
    type: CompletionType = "info"
    end: int | None = None
    result: Recorded = None
    error: tuple[str, str] | None = None
    node: str | None = None
    ext: Mapping[str, Recorded] | None = None
    invoked_ns: int | None = None
    completed_ns: int | None = None
    phase: Phase = "main"

    @property
    def ok(self) -> bool:
        return self.type == "ok" and self.end is not None

    @property
    def failed(self) -> bool:
        return self.type == "fail"

    @property
    def began_ns(self) -> int:
        """When it was invoked; the run's begin, where that was not noted."""
        return self.invoked_ns or 0

    @property
    def error_code(self) -> str | None:
        return None if self.error is None else self.error[0]

    @property
    def asserts(self) -> str | None:
        """As of its completion."""
        return asserted(self.ext)

    def precedes(self, other: "Operation") -> bool:
        """It had ended before the other was invoked."""
        return self.end is not None and self.end < other.index


class PairingError(Exception):
    """An event that cannot follow the ones before it. One line, without file and line number."""


class Pairing:
    """Folds events, in order, into operations of clients and the events of the nemesis."""

    def __init__(self, open_before: Iterable[Operation] = ()) -> None:
        self.operations: list[Operation] = []
        self.named: list[Event] = []
        """Events of the nemesis; they are not paired."""
        self._open: dict[Process, Operation] = {each.process: each for each in open_before}
        self._phase: Phase = "main"

    def add(self, event: Event) -> None:
        """Raises `PairingError`."""
        process = event.process
        if process == NEMESIS:
            self.named.append(event)
            if event.f == PHASE and event.value == FINAL:
                self._phase = FINAL
        elif event.type == "invoke":
            self._invoke(event, process)
        else:
            self._complete(event, process)

    def _invoke(self, event: Event, process: Process) -> None:
        pending = self._open.get(process)
        if pending is not None:
            raise PairingError(
                f"process {process} invokes {event.f!r} while its {pending.f!r} of index "
                f"{pending.index} is open; a process has at most one open operation"
            )
        operation = Operation(
            index=event.index,
            process=process,
            f=event.f,
            key=event.key,
            value=event.value,
            node=event.node,
            ext=event.ext,
            invoked_ns=event.time,
            phase=self._phase,
        )
        self._open[process] = operation
        self.operations.append(operation)

    def _complete(self, event: Event, process: Process) -> None:
        operation = self._open.pop(process, None)
        if operation is None:
            raise PairingError(
                f"{event.type} of {event.f!r} by process {process}, which has no open operation; "
                "an invoke must come first"
            )
        if event.f != operation.f or not _repeats(event.key, operation.key):
            raise PairingError(
                f"{event.type} of {event.f!r} on key {as_json(event.key)} by process {process}, "
                f"whose open operation (index {operation.index}) is {operation.f!r} on key "
                f"{as_json(operation.key)}; a completion repeats f and key of its invocation"
            )
        assert event.type != "invoke"
        operation.type = event.type
        operation.end = event.index
        operation.result = event.value
        operation.error = event.error
        operation.node = event.node or operation.node
        operation.ext = event.ext if event.ext is not None else operation.ext
        operation.completed_ns = event.time


def _repeats(key: Json, invoked: Json) -> bool:
    """Whether a completion's key, if it gives one, is that of the invocation: the same JSON."""
    return key is None or key is invoked or as_json(key) == as_json(invoked)
