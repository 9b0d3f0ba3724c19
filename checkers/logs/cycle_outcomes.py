"""Cycles of dependencies (`cycles`) as an outcome of the run that has them."""

from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from checkers.logs.cycles import FATAL, Cycles, search
from checkers.logs.cycles_edges import edges, vertices
from checkers.logs.cycles_text import describe_cycle
from checkers.logs.rows import Flag
from framework.checking.keyed import Outcome, outcome_row
from framework.plugins.checker import Finding
from framework.verdict import Verdict


def parts_of(rows: pa.Table) -> tuple[pa.Table, pa.Table] | None:
    """The edges and vertices of some keys; None where there are no transactions."""
    return (edges(rows), vertices(rows)) if has_transactions(rows) else None


def has_transactions(rows: pa.Table) -> bool:
    """Else there is nothing but operations on one partition each: what is wrong with these, and
    not allowed, the other checks show."""
    transactions = pc.bit_wise_and(rows.column("flags"), pa.scalar(_TRANSACTIONS, pa.int8()))
    some: bool = pc.any(pc.not_equal(transactions, 0)).as_py() or False
    return some


_TRANSACTIONS: Final = int(Flag.SUBSCRIBES)


def outcomes(
    edges_: pa.Table, vertices_: pa.Table, name: str, seen: Mapping[str, int] | None = None
) -> list[Mapping[str, Any]]:
    """An outcome row for each run, from all its edges and vertices; or from those of suspects, and
    how many operations it has (`seen`)."""
    runs = pc.unique(vertices_.column("run").cast(pa.string())).to_pylist()
    made: list[Mapping[str, Any]] = []
    for run in sorted(runs if seen is None else seen):
        found = search(_of(vertices_, run), _of(edges_, run))
        if seen is not None:
            found.operations = seen[run]
        made.append(outcome_row(run, name, "", _outcome(found)))
    return made


def _of(table: pa.Table, run: str) -> pa.Table:
    return table.filter(pc.equal(table.column("run").cast(pa.string()), run))


def _outcome(found: Cycles) -> Outcome:
    fatal = [cycle for cycle in found.cycles if cycle.fatal]
    allowed = sorted(name for name in found.counts if name not in FATAL)
    figures = {
        name if name in FATAL else f"{name} (allowed)": float(count)
        for name, count in sorted(found.counts.items())
    }
    return Outcome(
        verdict=Verdict.INVALID if fatal else Verdict.VALID,
        seen=found.operations,
        findings=[
            Finding(message=describe_cycle(cycle), operations=sorted(set(cycle.operations)))
            for cycle in fatal
        ],
        figures=figures,
        note=f"{', '.join(allowed)}: seen, and allowed" if allowed else "",
    )
