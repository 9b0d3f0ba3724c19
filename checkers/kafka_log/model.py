"""`check --model kafka`: the job that checks histories of logs, of any size."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from checkers.kafka_log.job import concluded, judge_shares, shares, still_known
from checkers.kafka_log.judge import Known
from framework.checking.keyed import OUTCOME_ARROW
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

    def shares(self, part: Part, buckets: int) -> Iterable[tuple[int, pa.Table]]:
        return shares(part, buckets)

    def judge(self, shares: pa.Table, /) -> pa.Table:
        return judge_shares(shares, self.known, MODEL)

    def conclude(self, results: pa.Table) -> "pa.Table | LogJob":
        if not results.num_rows:
            return OUTCOME_ARROW.empty_table()
        more = still_known(results)
        if not more:
            return concluded(results, MODEL)
        known = {run: self.known.get(run, frozenset()) | ops for run, ops in more.items()}
        return LogJob(self.summary, {**self.known, **known})


class Logs:
    """The models of `check --model` that are logs (`framework.checking.foreign.JobSet`)."""

    names: Sequence[str] = (MODEL,)

    def job(self, model: str, budget_s: float) -> LogJob:
        return LogJob()
