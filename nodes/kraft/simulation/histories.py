"""Who judges the clients' histories: whatever package offers to, for the node imports none.

[project.entry-points."nodes.kraft.simulation"]
topic-history = "package.module:check_name"
"""

from collections.abc import Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Final, Protocol, TypedDict

GROUP: Final = "nodes.kraft.simulation"
NAME: Final = "topic-history"


class Finding(Protocol):
    @property
    def message(self) -> str: ...


class Verdict(Protocol):
    @property
    def value(self) -> str:
        """VALID, INVALID or UNKNOWN."""


class Judged(Protocol):
    @property
    def verdict(self) -> Verdict: ...

    @property
    def findings(self) -> Sequence[Finding]: ...


class Row(TypedDict):
    """An operation: `index` and `end` are its events' places in the history, `key`, `value` and
    `result` JSON texts. `end` None: nobody knows when it ended, if it did."""

    index: int
    end: int | None
    process: int
    f: str
    key: str
    value: str
    type: str
    result: str
    error_code: str | None
    error_message: str | None
    node: str


class HistoryCheck(Protocol):
    """Judges the operations on one topic's name, a row each (docs/checking.md, paired)."""

    def __call__(self, rows: Sequence[Row], *, budget_s: float) -> Judged: ...


@cache
def history_check() -> HistoryCheck | None:
    """None: nobody offers to judge histories here; all other rules hold without one."""
    for offered in entry_points(group=GROUP, name=NAME):
        check: HistoryCheck = offered.load()
        return check
    return None
