"""`check --model kafka`: the job that checks histories of logs, of any size."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import pyarrow as pa

from checkers.logs.cycles_edges import COUNTS
from checkers.logs.cycles_spread import Suspects, suspects
from checkers.logs.cycles_windows import SEEN, WINDOW
from checkers.logs.job import (
    OPERATIONS,
    RESULTS,
    WINDOWS,
    concluded,
    cycles_among,
    judge_shares,
    plain,
    seen_by_run,
    shares,
    spread_shares,
    still_known,
    suspected_shares,
)
from checkers.logs.judge import Known
from framework.checking.blocks import Later
from framework.checking.keys import SHARES, Job
from framework.history.ingest import Part

SUMMARY: Final = (
    "Partitions hold each value once, in one order, and lose none; consumers and producers see "
    "that order; epochs, watermarks, committed offsets and owners keep their promises"
)
MODEL: Final = "kafka"


@dataclass(frozen=True, slots=True)
class LogJob:
    """A `framework.checking.keys.Job`. `known`: operations of unknown outcome that are known to
    have taken effect, by run."""

    summary: str = SUMMARY
    known: Known = field(default_factory=dict)
    later: Mapping[str, Later] = field(default_factory=dict)

    def spread(self) -> "SpreadLogJob":
        return SpreadLogJob(self.summary)

    def shares(self, part: Part, buckets: int) -> Iterable[tuple[int, pa.Table]]:
        return shares(part, buckets)

    def judge(self, shares: pa.Table, /) -> pa.Table:
        return judge_shares(shares, self.known, MODEL)

    def conclude(self, made: Mapping[str, pa.Table]) -> "pa.Table | LogJob":
        results = made.get(SHARES, RESULTS.empty_table())
        known = _more(self.known, results)
        return concluded(results, MODEL) if known is None else replace(self, known=known)


@dataclass(frozen=True, slots=True)
class SpreadLogJob:
    """The same where dependencies are too many to be gathered: windows of them look for suspects,
    and another job takes what these depend on from the history. `window`: indices of one."""

    summary: str = SUMMARY
    known: Known = field(default_factory=dict)
    window: int = WINDOW

    @property
    def later(self) -> Mapping[str, Later]:
        return {WINDOWS: partial(suspects, window=self.window)}

    def spread(self) -> "SpreadLogJob":
        return self

    def shares(self, part: Part, buckets: int) -> Iterable[tuple[int, pa.Table]]:
        return shares(part, buckets)

    def judge(self, shares: pa.Table, /) -> Iterable[tuple[str, int, pa.Table]]:
        return spread_shares(shares, self.known, MODEL, self.window)

    def conclude(self, made: Mapping[str, pa.Table]) -> "pa.Table | Job":
        results = made.get(SHARES, RESULTS.empty_table())
        known = _more(self.known, results)
        if known is not None:
            return replace(self, known=known)
        found = Suspects.of(made.get(WINDOWS, SEEN.empty_table()))
        seen = seen_by_run(made.get(OPERATIONS, COUNTS.empty_table()), found)
        left = {run: each for run, each in found.items() if each.any}
        rest = SuspectsJob(self.summary, left, seen, plain(results))
        return rest if left else rest.conclude({})


@dataclass(frozen=True, slots=True)
class SuspectsJob:
    """Looks for cycles of suspects, and adds what it finds to the other `outcomes`."""

    summary: str
    suspects: Mapping[str, Suspects]
    seen: Mapping[str, int]
    outcomes: pa.Table
    later: Mapping[str, Later] = field(default_factory=dict)

    def spread(self) -> "SuspectsJob":
        return self

    def shares(self, part: Part, buckets: int) -> Iterable[tuple[int, pa.Table]]:
        return shares(part, buckets)

    def judge(self, shares: pa.Table, /) -> pa.Table:
        return suspected_shares(shares, self.suspects)

    def conclude(self, made: Mapping[str, pa.Table]) -> pa.Table:
        results = made.get(SHARES, RESULTS.empty_table())
        return pa.concat_tables([self.outcomes, cycles_among(results, self.seen, MODEL)])


def _more(known: Known, results: pa.Table) -> Known | None:
    """What a further job has to know; None: none is needed."""
    more = still_known(results)
    if not more:
        return None
    return {
        **known,
        **{run: known.get(run, frozenset()) | indices for run, indices in more.items()},
    }


class Logs:
    """The models of `check --model` that are logs (`framework.checking.foreign.JobSet`)."""

    names: Sequence[str] = (MODEL,)

    def job(self, model: str, budget_s: float) -> LogJob:
        return LogJob()
