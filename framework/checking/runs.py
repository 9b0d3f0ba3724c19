"""Stored runs: finding their folders, and what their plans and ledgers say."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from framework.checking.columns import Columns
from framework.checking.observed import with_votes
from framework.checking.results import refuse_all
from framework.errors import UsageError
from framework.history.columns import OPERATIONS as OPERATIONS
from framework.history.pairing import Operation
from framework.history.texts import as_json, as_text
from framework.json_lines import json_lines
from framework.plugins import registry
from framework.plugins.checker import RunInfo
from framework.plugins.fault import Nemesis
from framework.plugins.options import Named, create, options_of

PLAN: Final = "plan.json"
HISTORY: Final = "history.jsonl"
LEDGER: Final = "faults.jsonl"
_PLAN_KEYS: Final = ("seed", "workloads", "nodes", "time_zero_ns")

NEMESIS: Final = pa.schema(
    {
        "run": pa.string(),
        "index": pa.int64(),
        "time_ns": pa.int64(),
        "type": pa.string(),
        "f": pa.string(),
        "value": pa.string(),
    }
)
FAULTS: Final = pa.schema(
    {
        "run": pa.string(),
        "id": pa.int64(),
        "fault": pa.string(),
        "shape": pa.string(),
        "victims": pa.string(),
        "started_ns": pa.int64(),
        "injected_ns": pa.int64(),
        "healed_ns": pa.int64(),
        "effective": pa.bool_(),
        "healed": pa.bool_(),
        "ends_processes": pa.bool_(),
        "entries": pa.string(),
    }
)


class StoredPlan(Mapping[str, Any]):
    """A run's plan.json, which is read again whenever somebody looks who is not the last to have
    looked: plans of thousands of runs are some KB each. Raises `UsageError`."""

    __slots__ = ("_path",)

    def __init__(self, path: Path) -> None:
        self._path = path

    def __getitem__(self, key: str) -> Any:
        return _last_read(self._path)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_last_read(self._path))

    def __len__(self) -> int:
        return len(_last_read(self._path))


@lru_cache(maxsize=1)
def _last_read(path: Path) -> Mapping[str, Any]:
    return _read_plan(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A run's folder, of which the plan was read."""

    info: RunInfo

    def checkers(self) -> set[str]:
        """Those that its plan names, and what was made of them since; all, where it names none."""
        named = set(self.info.plan.get("checkers") or registry.names("checkers"))
        without = self.info.plan.get("not_applicable") or {}
        parted = {
            name
            for name in set(registry.names("checkers")).difference(named, without)
            if _parted_from(name) in named
        }
        return named | parted

    def checker_options(self, more: Sequence[str]) -> dict[str, str]:
        """Checker -> its options in this run, over which go `more` (NAME:KEY=VALUE,...). Raises
        `UsageError` where they have another form."""
        stored = (self.info.plan.get("options") or {}).get("checker") or ()
        return options_of("checkers", [*map(str, stored), *more])


def checkers_of(runs: Iterable[StoredRun]) -> list[set[str]]:
    """`StoredRun.checkers` of each: many runs have the same, and plug-ins are slow to be found."""
    known: dict[str, set[str]] = {}
    found = []
    for run in runs:
        said = json.dumps([run.info.plan.get(name) for name in ("checkers", "not_applicable")])
        if said not in known:
            known[said] = run.checkers()
        found.append(known[said])
    return found


def _parted_from(name: str) -> str | None:
    """The checker that once made this one's promises; of one that cannot be loaded: none."""
    with suppress(Exception):
        found: str | None = getattr(registry.find("checkers", name), "parted_from", None)
        return found
    return None


def find_runs(paths: Iterable[Path]) -> list[Path]:
    """The run folders at and below `paths`, resolved, sorted, each once. Raises `UsageError`."""
    return sorted({folder for path in paths for folder in runs_at(path)})


def runs_at(path: Path) -> list[Path]:
    """The run folders at and below a path, resolved, sorted. Raises `UsageError`."""
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if not path.is_dir():
        raise UsageError(
            f"{path}: not the folder of a run; to check a history file say --model NAME"
        )
    if (path / PLAN).exists():
        return [path.resolve()]
    below = {plan.parent.resolve() for plan in path.rglob(PLAN)}
    runs = sorted(folder for folder in below if (folder / HISTORY).exists())
    if not runs:
        raise UsageError(f"{path}: holds no run; a run's folder has {PLAN} and {HISTORY}")
    return runs


def read_run(folder: Path) -> StoredRun:
    """Raises `UsageError` if the folder is not a run's."""
    _last_read.cache_clear()  # it may be another one by now
    plan = StoredPlan(folder / PLAN)
    zero = plan["time_zero_ns"]
    if not (folder / HISTORY).exists():
        raise UsageError(f"{folder}: not the folder of a run: it has no {HISTORY}")
    if type(zero) is not int:
        raise UsageError(f"{folder / PLAN}: time_zero_ns is no whole number: the run never began")
    run = "/".join(folder.parts[-2:])
    return StoredRun(info=RunInfo(run=run, path=str(folder), plan=plan))


def read_runs(folders: Iterable[Path]) -> list[StoredRun]:
    """The runs, each with an id of its own. Raises one `UsageError` for all that are none."""
    read = [each for _, each in read_each(folders)]
    refused = [each for each in read if isinstance(each, str)]
    if refused:
        refuse_all(refused)
    return [each for each in read if isinstance(each, StoredRun)]


def read_each(folders: Iterable[Path]) -> list[tuple[Path, StoredRun | str]]:
    """The runs, each with an id of its own; of what is none, why."""
    found: list[tuple[Path, StoredRun | str]] = []
    for folder in folders:
        try:
            found.append((folder, read_run(folder)))
        except UsageError as error:
            found.append((folder, str(error)))
    ids = [run.info.run for _, run in found if isinstance(run, StoredRun)]
    if len(set(ids)) == len(ids):
        return found
    return [
        (folder, replace(run, info=replace(run.info, run=run.info.path)))
        if isinstance(run, StoredRun)
        else (folder, run)
        for folder, run in found
    ]


def add_operation(columns: Columns, run: str, operation: Operation) -> None:
    """A row of `OPERATIONS`."""
    code, message = operation.error or (None, None)
    columns.add(
        run,
        operation.index,
        operation.end,
        as_text(str(operation.process)),
        as_text(operation.f),
        as_json(operation.key),
        as_json(operation.value),
        operation.type,
        None if operation.end is None else as_json(operation.result),
        as_text(code),
        as_text(message),
        as_text(operation.node),
        None if operation.ext is None else as_json(operation.ext),
        operation.invoked_ns,
        operation.completed_ns,
        operation.phase,
    )


def _read_plan(path: Path) -> Mapping[str, Any]:
    try:
        plan = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: not the plan of a run: {error}") from None
    missing = [key for key in _PLAN_KEYS if not isinstance(plan, dict) or key not in plan]
    if missing:
        raise UsageError(f"{path}: not the plan of a run: it has no {', '.join(missing)}")
    assert isinstance(plan, dict)
    nodes = plan["nodes"]
    if not isinstance(nodes, dict) or not all(isinstance(each, dict) for each in nodes.values()):
        raise UsageError(f"{path}: not the plan of a run: nodes is no object of objects")
    if not isinstance(plan.get("options") or {}, dict):
        raise UsageError(f"{path}: not the plan of a run: options is no object")
    return with_votes(plan)


_ENTRY: Final = {"id": int, "step": str, "fault": str, "shape": str, "time": int}


def _need(path: Path, line: Mapping[str, Any], kinds: Mapping[str, type]) -> None:
    """Raises `UsageError` where a field that a line has is of another kind."""
    for name, kind in kinds.items():
        if name in line and type(line[name]) is not kind:
            raise UsageError(
                f"{path}: {name} is {json.dumps(line[name])[:80]}; every line has a "
                f"{'whole number' if kind is int else 'string'} there"
            )


def ledger_of(info: RunInfo) -> pa.Table:
    """Its injections, `FAULTS`. Raises `UsageError`."""
    columns = Columns(FAULTS)
    path = Path(info.path) / LEDGER
    entries: dict[int, list[dict[str, Any]]] = {}
    for _, line in json_lines(path, marks=("step",)) if path.exists() else ():
        _need(path, {"id": None, "step": None, **line}, _ENTRY)
        entries.setdefault(line["id"], []).append(line)
    for number, lines in sorted(entries.items()):
        steps = {line["step"]: line for line in lines}
        during, after = _bites(steps, "probed-during"), _bites(steps, "probed-after")
        columns.add(
            info.run,
            number,
            as_text(lines[0].get("fault")),
            as_text(lines[0].get("shape")),
            as_json(lines[0].get("victims", {})),
            _time(steps, "planned"),
            _time(steps, "injected"),
            _time(steps, "healed"),
            during,
            None if after is None else not after,
            _ends_processes(lines[0]),
            as_json(lines),
        )
    return columns.table()


def _ends_processes(planned: Mapping[str, Any]) -> bool | None:
    """Older ledgers do not say; then the fault of this name does, if it is installed."""
    said = planned.get("ends_processes", _effects().get(str(planned.get("fault"))))
    return said if isinstance(said, bool) else None


@cache
def _effects() -> Mapping[str, bool]:
    """Fault -> whether it ends processes, of the nemeses that are installed."""
    found: dict[str, bool] = {}
    for name in registry.names("nemeses"):
        nemesis: Nemesis = create("nemeses", Named(name))
        found |= {fault.name: fault.ends_processes for fault in nemesis.faults}
    return found


def _time(steps: Mapping[str, Mapping[str, Any]], step: str) -> int | None:
    return steps.get(step, {}).get("time")


def _bites(steps: Mapping[str, Mapping[str, Any]], step: str) -> bool | None:
    return (steps.get(step, {}).get("probe") or {}).get("bites")
