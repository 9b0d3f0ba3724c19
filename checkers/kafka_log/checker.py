"""The checker of stored runs: all that `judge` checks, over many runs at once."""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from checkers.kafka_log import cycle_outcomes
from checkers.kafka_log.judge import NAME, judge
from checkers.kafka_log.model import SUMMARY
from checkers.kafka_log.rows import FS, rows
from framework.checking.keyed import OUTCOME_ARROW, Outcome, outcome_row
from framework.plugins.checker import OUTCOME_SCHEMA, DataFrame, Tables
from framework.verdict import Verdict

_BUCKETS: Final = 32
"""Small runs are judged some at a time: a call for each would cost more than its rows."""


class KafkaLog:
    """One key a partition."""

    name = NAME
    summary = SUMMARY
    requires = frozenset({"log-operations"})

    def check(self, tables: Tables) -> DataFrame:
        operations = tables.operations.where("f in ({})".format(", ".join(f"'{f}'" for f in FS)))
        bucket = f"pmod(hash(run), {_BUCKETS})"
        grouped: Any = operations.selectExpr("*", f"{bucket} as bucket").groupBy("bucket")
        return grouped.applyInArrow(judge_runs, OUTCOME_SCHEMA)


def judge_runs(operations: pa.Table) -> pa.Table:
    """Outcome rows of whole runs. A run that cannot be judged is UNKNOWN, and keeps no other from
    being judged."""
    try:
        made = rows(operations)
        judged = judge(made).select(OUTCOME_ARROW.names).cast(OUTCOME_ARROW)
        parts = cycle_outcomes.parts_of(made)
        of_cycles = cycle_outcomes.outcomes(*parts, NAME) if parts is not None else []
    except Exception as error:
        runs = operations.column("run").unique().to_pylist()
        if len(runs) == 1:
            return pa.Table.from_pylist([_failed(runs[0], error)], OUTCOME_ARROW)
        each = [operations.filter(pc.equal(operations.column("run"), run)) for run in runs]
        return pa.concat_tables(judge_runs(run) for run in each)
    return pa.concat_tables([judged, pa.Table.from_pylist(of_cycles, OUTCOME_ARROW)])


def _failed(run: str, error: Exception) -> dict[str, Any]:
    note = f"the checker failed: {type(error).__name__}: {error}".splitlines()[0]
    return outcome_row(run, NAME, "", Outcome(verdict=Verdict.UNKNOWN, seen=0, note=note))
