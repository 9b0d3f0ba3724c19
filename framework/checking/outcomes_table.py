"""`results/outcomes`: what every run came to, as one Parquet table over all of them.

A run is a file of it, replaced whole by whoever checks the run: so runs and checks may go on side
by side, and what a run came to is still there when its folder is gone.

    pandas.read_parquet("results/outcomes")
    spark.read.schema(from_arrow_schema(OUTCOMES)).parquet("results/outcomes")
"""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import quote

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from framework.history.event import Recorded

FOLDER: Final = "outcomes"
OUTCOMES: Final = pa.schema(
    {
        "run": pa.string(),
        "when": pa.timestamp("us", "UTC"),
        "name": pa.string(),
        "system": pa.string(),
        "hosts": pa.string(),
        "seed": pa.int64(),
        "nemesis": pa.string(),
        "workload": pa.string(),
        "revision": pa.string(),
        "checker": pa.string(),
        "clause": pa.string(),
        "verdict": pa.string(),
        "compared": pa.int64(),
        "floor": pa.int64(),
        "seen": pa.int64(),
        "findings": pa.int64(),
        "note": pa.string(),
        "figures": pa.string(),
    }
)
"""A row a run, checker and clause. A row whose `clause` is empty is of the checker as a whole, with
what it has `seen` and its `figures` (a JSON object of numbers); one whose `checker` is empty, too,
is of the run, with its waits (s) as figures.

run: the last two names of its folder. when: it began. name: of its folder below `results`, one for
    runs that belong together. nemesis, workload: names, sorted, joined by "+". revision: of the
    framework's sources, or its version.
verdict: VALID, INVALID or UNKNOWN; null: not applicable, or no occasion, and `note` says why.
compared, floor: of clauses. findings: those kept that name the clause; of a checker, a run: all.
"""

Document: TypeAlias = Mapping[str, Recorded]
"""verdict.json."""


def results_of(folder: Path, plan: Mapping[str, Recorded]) -> Path | None:
    """The results among which a run's folder lies; None: it lies by itself, as after a copy."""
    return folder.parent.parent if folder.parent.name == plan.get("name") else None


def write_outcomes(folder: Path, document: Document) -> None:
    """Replaces a checked run's rows in the table, if it lies among others. Raises `OSError`."""
    plan = json.loads((folder / "plan.json").read_bytes())
    results = results_of(folder, plan)
    if results is None:
        return
    run = f"{folder.parent.name}/{folder.name}"
    table = pa.Table.from_pylist(list(rows_of(run, plan, document)), schema=OUTCOMES)
    target = results / FOLDER / f"run-{quote(run, safe='')}.parquet"
    target.parent.mkdir(exist_ok=True)
    number, unfinished = tempfile.mkstemp(prefix=".", dir=target.parent)  # readers pass over it
    try:
        with os.fdopen(number, "wb") as file:
            pq.write_table(table, file, compression="zstd")
        Path(unfinished).chmod(0o644)
        Path(unfinished).replace(target)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def read_outcomes(results: Path) -> pa.Table:
    """The table of all runs below a folder of results, by `when` and `run`; without rows where
    nothing was checked there."""
    if not (results / FOLDER).is_dir():
        return OUTCOMES.empty_table()
    table = ds.dataset(results / FOLDER, schema=OUTCOMES, format="parquet").to_table()
    return table.sort_by([("when", "ascending"), ("run", "ascending")])


def rows_of(run: str, plan: Mapping[str, Recorded], document: Document) -> Iterator[dict[str, Any]]:
    """The rows of one run."""
    checkers: Sequence[Document] = document["checkers"]
    head = {"run": run, **_head(plan)}
    found = sum(len(each["findings"]) for each in checkers)
    waits = document.get("timings") or {}
    yield head | _row("", "", document["verdict"], findings=found, figures=waits)
    for each in checkers:
        name, findings = each["name"], each["findings"]
        yield head | _row(
            name,
            "",
            each["verdict"],
            findings=len(findings),
            figures=each["figures"],
            seen=each["seen"],
            note=each["note"],
        )
        alone = len(each["clauses"]) == 1
        for clause in each["clauses"]:
            yield head | _row(
                name,
                clause["name"],
                clause["verdict"],
                findings=sum(alone or one["clause"] == clause["name"] for one in findings),
                compared=clause["compared"],
                floor=clause["floor"],
                note=clause["note"],
            )
    for name, why in (document.get("not_applicable") or {}).items():
        yield head | _row(name, "", None, note=why)


def _head(plan: Mapping[str, Recorded]) -> dict[str, Any]:
    versions = plan.get("versions") or {}
    return {
        "when": _moment(plan.get("started") or plan.get("time_zero")),
        "name": _text(plan.get("name")),
        "system": _text(plan.get("system")),
        "hosts": _text(plan.get("hosts")),
        "seed": plan["seed"] if type(plan.get("seed")) is int else None,
        "nemesis": _joined(plan.get("nemeses")),
        "workload": _joined(plan.get("workloads")),
        "revision": _text(versions.get("git") or versions.get("framework")),
    }


def _row(
    checker: str,
    clause: str,
    verdict: str | None,
    *,
    findings: int = 0,
    figures: Mapping[str, float] | None = None,
    **more: Any,
) -> dict[str, Any]:
    numbers = None if figures is None else json.dumps(dict(figures))
    about = {"checker": checker, "clause": clause, "verdict": verdict}
    return {**about, "findings": findings, "figures": numbers, "note": "", **more}


def _moment(text: Recorded) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _text(value: Recorded) -> str | None:
    return value if isinstance(value, str) else None


def _joined(names: Recorded) -> str:
    return "+".join(sorted(map(str, names))) if isinstance(names, list) else ""
