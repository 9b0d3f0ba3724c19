"""What one range of a history has to know of the others, and what only all of them can show."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Call = tuple[int, str, str]
"""Of an event: its index in its range, its `f`, its key as canonical JSON ("null": none)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Border:
    """A range as its neighbours see it. Processes are JSON texts: `0` and `"0"` are two."""

    file: int
    number: int
    events: int = 0
    lines: int = 0
    base: int = -1
    """The index of its first event, by its own word; -1: none."""
    first_ns: int | None = None
    last_ns: int | None = None
    final: bool = False
    """The final phase begins in it."""
    half: bool = False
    """Its last line is cut short."""
    bad: bool = False
    """Something in it is malformed."""
    why: str = ""
    """What it is, where that is known."""
    notes: Sequence[str] = ()
    """What was forgiven."""
    whole: bool = False
    """It is of operations, not of events. Their indices are true ones, and stand for times here;
    `open` says until when the last operation of each process lasts."""
    begin: dict[str, int] = field(default_factory=dict)
    """Processes whose first event is an invocation, with its index."""
    late: dict[str, Call] = field(default_factory=dict)
    """Completions whose invocations are before the range."""
    open: dict[str, Call] = field(default_factory=dict)
    """Invocations without a completion in the range."""


@dataclass(slots=True)
class Before:
    """Where the reading of a history stands: what the next event is judged by."""

    events: int = 0
    lines: int = 0
    now: int | None = None
    open: dict[str, Call] = field(default_factory=dict)
    """Indices count from the beginning of the history."""

    def allows(self, border: Border) -> bool:
        """Whether the range can follow."""
        if border.bad or (border.base >= 0 and border.base != self.events):
            return False
        if self.now is not None and border.first_ns is not None and border.first_ns < self.now:
            return False
        for process in self.open.keys() & border.begin.keys():
            if not border.whole or border.begin[process] < self.open[process][0]:
                return False
        return all(
            _completes(self.open.get(process), call) for process, call in border.late.items()
        )

    def add(self, border: Border) -> None:
        """Goes past a range."""
        for process in border.late:
            del self.open[process]
        first = 0 if border.whole else self.events
        for process, (index, f, key) in border.open.items():
            self.open[process] = (index + first, f, key)
        self.events += border.events
        self.lines += border.lines
        self.now = self.now if border.last_ns is None else border.last_ns


def first_refused(borders: Iterable[Border]) -> tuple[Border | None, Before]:
    """Of the ranges of one history, in order: the first that cannot stand where it does (None:
    all can), and what is before it."""
    before = Before()
    for border in borders:
        if not before.allows(border):
            return border, before
        before.add(border)
    return None, before


def _completes(invoked: Call | None, completed: Call) -> bool:
    """A completion repeats `f` and key of its invocation; the key may be missing."""
    return (
        invoked is not None and completed[1] == invoked[1] and completed[2] in ("null", invoked[2])
    )
