"""`check --model kafka`: the job that checks histories of logs, of any size."""

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    TOGETHER,
    WINDOWS,
    by_stage,
    cycles_among,
    judge_shares,
    learnt,
    plain,
    seen_by_run,
    shares,
    spread_shares,
    suspected_shares,
    together,
)
from checkers.logs.judge import JUDGED, Known
from framework.checking.blocks import Dealt, Later
from framework.checking.keyed import OUTCOME_ARROW
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

    @property
    def later(self) -> Mapping[str, Later]:
        return {TOGETHER: _together}

    def spread(self) -> "SpreadLogJob":
        return SpreadLogJob(self.summary)

    def shares(self, part: Part, buckets: int) -> Iterable[tuple[int, pa.Table]]:
        return shares(part, buckets)

    def judge(self, shares: pa.Table, /) -> Iterable[tuple[str, int, pa.Table]]:
        return by_stage(judge_shares(shares, self.known, MODEL))

    def conclude(self, made: Mapping[str, pa.Table]) -> "pa.Table | LogJob":
        known = _more(self.known, made)
        if known is not None:
            return replace(self, known=known)
        of_cycles = plain(made.get(TOGETHER, JUDGED.empty_table()))
        return pa.concat_tables([_outcomes(made), of_cycles])


@dataclass(frozen=True, slots=True)
class SpreadLogJob:
    """The same where dependencies are too many to be gathered: windows of them look for suspects,
    and another job takes what these depend on from the history. `window`: indices of one."""

    summary: str = SUMMARY
    known: Known = field(default_factory=dict)
    window: int = WINDOW

    @property
    def later(self) -> Mapping[str, Later]:
        return {WINDOWS: partial(suspects, window=self.window), TOGETHER: _together}

    def spread(self) -> "SpreadLogJob":
        return self

    def shares(self, part: Part, buckets: int) -> Iterable[tuple[int, pa.Table]]:
        return shares(part, buckets)

    def judge(self, shares: pa.Table, /) -> Iterable[tuple[str, int, pa.Table]]:
        return spread_shares(shares, self.known, MODEL, self.window)

    def conclude(self, made: Mapping[str, pa.Table]) -> "pa.Table | Job":
        known = _more(self.known, made)
        if known is not None:
            return replace(self, known=known)
        found = Suspects.of(made.get(WINDOWS, SEEN.empty_table()))
        seen = seen_by_run(made.get(OPERATIONS, COUNTS.empty_table()), found)
        left = {run: each for run, each in found.items() if each.any}
        rest = SuspectsJob(self.summary, left, seen, _outcomes(made))
        return rest if left else rest.conclude({})


@dataclass(frozen=True, slots=True)
class SuspectsJob:
    """Looks for cycles of suspects, and adds what it finds to the other `outcomes`."""

    summary: str
    suspects: Mapping[str, Suspects]
    seen: Mapping[str, int]
    outcomes: pa.Table

    @property
    def later(self) -> Mapping[str, Later]:
        among = partial(cycles_among, seen=self.seen, name=MODEL)
        return {TOGETHER: partial(_in_one_task, see=among)}

    def spread(self) -> "SuspectsJob":
        return self

    def shares(self, part: Part, buckets: int) -> Iterable[tuple[int, pa.Table]]:
        return shares(part, buckets)

    def judge(self, shares: pa.Table, /) -> Iterable[tuple[str, int, pa.Table]]:
        yield TOGETHER, 0, suspected_shares(shares, self.suspects)

    def conclude(self, made: Mapping[str, pa.Table]) -> pa.Table:
        found = made.get(TOGETHER)
        if found is None:
            found = cycles_among(RESULTS.empty_table(), self.seen, MODEL)
        return pa.concat_tables([self.outcomes, found])


def _in_one_task(dealt: Dealt, see: Callable[[pa.Table], pa.Table]) -> pa.Table:
    """What it makes of the only bucket there is."""
    return dealt.visit(see)


_together: Final[Later] = partial(_in_one_task, see=partial(together, name=MODEL))


def _outcomes(made: Mapping[str, pa.Table]) -> pa.Table:
    return made.get(SHARES, OUTCOME_ARROW.empty_table())


def _more(known: Known, made: Mapping[str, pa.Table]) -> Known | None:
    """What a further job has to know; None: none is needed."""
    more = learnt(made.get(TOGETHER, JUDGED.empty_table()))
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
