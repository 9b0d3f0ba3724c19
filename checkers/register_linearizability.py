"""Register operations are linearizable: reads, writes and compare-and-sets of each key.

The object of one key is a register that holds null at first. A compare-and-set that was answered
found what it expected, and replaced it. One that failed found another value if its completion
says so (`asserts` in its `ext`); else all that it says is that nothing happened, as every other
failure does. Keys are independent of each other (Herlihy & Wing 1990), hence checked one by one.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from checkers.linearizability.decision import Decision
from checkers.linearizability.encoding.encode import Keyed
from checkers.linearizability.encoding.models import REGISTER
from checkers.linearizability.evidence.describe import describe_operation, operation_of
from checkers.linearizability.kernel import COLUMNS, Patience, judge_key, outcomes
from framework.checking.keyed import Outcome, SearchOptions
from framework.checking.operations import judged_by_key, operations_with_key
from framework.history.event import Json
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, Clause, DataFrame, Finding, RunData, Tables

ORDER: Final = Clause(
    name="one-order",
    says="Reads, writes and compare-and-sets of each key have one order, consistent with real "
    "time, that a single register could have served",
    compares="answers that saw a value, beside something that was done to that key",
    floor=3,
    because="a value that is written, seen, replaced and seen again: with fewer none is stale",
    sources=(CLIENTS,),
    blind="a compare-and-set that failed, and does not say why",
)


class RegisterLinearizability:
    """The checker; entry point `register-linearizability`."""

    name = "register-linearizability"
    summary = (
        "Reads, writes and compare-and-sets of each key have one order, consistent with real "
        "time, that a single register could have served"
    )
    requires = frozenset({"register-operations"})

    clauses = (ORDER,)
    live = (ORDER,)
    fs = REGISTER.fs
    Options = SearchOptions

    def __init__(self, options: SearchOptions | None = None) -> None:
        self.options = options or SearchOptions()

    def check(self, tables: Tables) -> DataFrame:
        kernel = partial(check_answers, budget_s=self.options.budget_s(tables.spark))
        return judged_by_key(tables, REGISTER.fs, kernel, COLUMNS)

    def judge_run(self, run: RunData, budget_s: float) -> pa.Table:
        """Or one that goes on: linearizable is a history only if all that it begins with is."""
        rows = operations_with_key(run, REGISTER.fs, COLUMNS)
        return check_answers(rows, budget_s=self.options.within(budget_s))


def check_answers(table: pa.Table, *, budget_s: float) -> pa.Table:
    """As `check_registers`, without compare-and-sets that failed and do not say why."""
    failed = pc.and_(pc.equal(table["f"], "cas"), pc.equal(table["type"], "fail"))
    rows = np.flatnonzero(failed.to_numpy())
    told = table["ext"].take(pa.array(rows)).to_pylist()
    kept = np.ones(len(table), np.bool_)
    kept[rows] = [(json.loads(ext) if ext else {}).get("asserts") is not None for ext in told]
    return check_registers(table.filter(pa.array(kept)), budget_s=budget_s)


def check_registers(table: pa.Table, *, budget_s: float) -> pa.Table:
    """`OUTCOME_ARROW` for every key of every run."""
    return outcomes(
        table,
        model=REGISTER.name,
        checker=RegisterLinearizability.name,
        judge=partial(_judge_register, Patience(), budget_s=budget_s),
    )


def _judge_register(
    patience: Patience,
    table: pa.Table,
    key: Keyed,
    known: Decision | None = None,
    *,
    budget_s: float,
) -> Outcome:
    """What decides any model. Where a stale read is what it found, that is said in a line."""
    outcome = judge_key(REGISTER.name, table, key, known, budget_s=budget_s, patience=patience)
    if not outcome.findings:
        return outcome
    operations = [operation_of(row) for row in table.take(pa.array(key.rows)).to_pylist()]
    findings = [_with_stale_read(finding, operations) for finding in outcome.findings]
    return replace(outcome, findings=findings)


def _with_stale_read(finding: Finding, operations: Sequence[Operation]) -> Finding:
    """The finding, headed by the first of its reads that is stale, and what shows that."""
    named = [op for op in operations if op.index in finding.operations]
    for read in named:
        newer = replacement(read, operations, named) or replacement(read, operations)
        if newer is not None:
            line = f"a stale read: {describe_operation(newer)} had replaced what "
            line += f"{describe_operation(read)} returned"
            shown = sorted({*finding.operations, newer.index, read.index})
            return replace(finding, message=f"{line}\n{finding.message}", operations=shown)
    return finding


def replacement(
    read: Operation, operations: Sequence[Operation], among: Sequence[Operation] | None = None
) -> Operation | None:
    """What replaced the value that a read returned, for certain: an acknowledged operation that
    began after the only one that wrote the value had returned, and returned before the read
    began. None: the read is no read, or nothing (`among` these) is that plain."""
    if read.f != "read" or read.type != "ok":
        return None
    writers = [op for op in operations if op.type != "fail" and _writes(op, read.result)]
    if read.result is None and not writers:
        since = -1
    elif len(writers) == 1 and writers[0].type == "ok" and writers[0].end is not None:
        since = writers[0].end
    else:
        return None
    return next(
        (
            op
            for op in (operations if among is None else among)
            if op.f != "read" and op.type == "ok" and op.end is not None
            if since < op.index and op.end < read.index
        ),
        None,
    )


def _writes(operation: Operation, value: Json) -> bool:
    given = operation.value
    if operation.f == "cas":
        given = given[1] if isinstance(given, list) and len(given) == 2 else None
    return operation.f != "read" and bool(given == value)
