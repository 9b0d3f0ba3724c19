"""What checks find: cases of anomalies, as rows of the log; sentences only for those shown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from checkers.logs.log import Log
from framework.history.json_walk import Ints
from framework.plugins.checker import Finding

SHOWN: Final = 5
"""Cases of one anomaly that are told of one key; all are counted."""

ANOMALIES: Final = {
    "inconsistent-offsets": "an offset holds two values",
    "duplicate": "a value stands at two offsets",
    "lost-write": "nobody polled what took effect, though somebody polled what is beyond it",
    "unseen": "nobody polled what was acknowledged, though all was read at the end",
    "G1a": "a value was polled whose send had failed",
    "unwritten-read": "a value was polled that nobody sent, or not yet",
    "precommitted-read": "a transaction polled what it sends itself",
    "int-poll-skip": "one operation's polls passed over a value",
    "int-nonmonotonic-poll": "one operation's polls went back, or stood still",
    "int-send-skip": "one operation's sends have another's between them",
    "int-nonmonotonic-send": "one operation's sends stand in another order",
    "poll-skip": "a consumer's next poll passed over a value",
    "nonmonotonic-poll": "a consumer's next poll went back, or stood still",
    "nonmonotonic-send": "a producer's later send stands before its earlier one",
    "leader-epoch-regress": "a leader epoch went back",
    "high-watermark-regress": "a leader's high watermark went back",
    "read-above-high-watermark": "an answer holds records that its high watermark does not cover",
    "committed-offset-regress": "a group's committed offset went back",
    "stale-commit": "a commit of an older generation was taken",
    "unwritten-commit": "a group was told an offset that nobody committed",
    "generation-regress": "a group's generation went back",
    "two-owners": "two members own a partition in one generation",
}
"""Every anomaly of one log; cycles have their own names."""

ALLOWED: Final = frozenset({"int-send-skip"})
"""Allowed wherever they are: Kafka does not isolate writes."""


Counts: TypeAlias = dict[str, list[int]]
"""By anomaly: [fatal cases, allowed ones]."""


@dataclass(frozen=True, slots=True)
class Cases:
    """Cases of one anomaly. `cited`: for each case, rows of the log, one array for each place in
    the sentence. `tell` makes the sentence of them."""

    name: str
    cited: Sequence[Ints]
    tell: Callable[..., str]
    fatal: bool = True

    def some(self, which: Ints | np.ndarray) -> "Cases":
        """Only these of them."""
        return Cases(self.name, [rows[which] for rows in self.cited], self.tell, self.fatal)


def split_by(cases: Cases, fatal: np.ndarray) -> list[Cases]:
    """The same cases, fatal where that is said."""
    yes, no = cases.some(fatal), cases.some(~fatal)
    return [yes, Cases(no.name, no.cited, no.tell, fatal=False)]


def by_part(log: Log, found: Iterable[Cases]) -> tuple[dict[int, list[Finding]], dict[int, Counts]]:
    """The findings of each part, and how many cases of each anomaly: fatal, allowed."""
    findings: dict[int, list[Finding]] = {}
    counts: dict[int, Counts] = {}
    for cases in found:
        part = log.part[cases.cited[0]]
        fatal = cases.fatal and cases.name not in ALLOWED
        for each, count in zip(*np.unique(part, return_counts=True), strict=True):
            held = counts.setdefault(int(each), {}).setdefault(cases.name, [0, 0])
            held[0 if fatal else 1] += int(count)
        if fatal:
            for case in _shown(log, cases, part):
                findings.setdefault(int(part[case]), []).append(_finding(log, cases, case))
    return findings, counts


def _shown(log: Log, cases: Cases, part: Ints) -> list[int]:
    """The first cases of each part, by the operations that they cite."""
    places = np.lexsort((*reversed(cases.cited), part))
    first = np.searchsorted(part[places], part[places])
    kept: list[int] = places[np.arange(len(places)) - first < SHOWN].tolist()
    return kept


def _finding(log: Log, cases: Cases, case: int) -> Finding:
    rows = [int(cited[case]) for cited in cases.cited]
    operations = sorted({int(log.index[row]) for row in rows})
    return Finding(message=f"{cases.name}: {cases.tell(log, *rows)}", operations=operations)
