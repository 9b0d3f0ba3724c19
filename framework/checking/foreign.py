"""Checking histories that anyone recorded, against a sequential model, key by key."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from framework.checking.blocks import cores, exchange
from framework.checking.elsewhere import need_seen
from framework.checking.keyed import DEFAULT_BUDGET_S, OUTCOME_ARROW
from framework.checking.keys import (
    BORDERS,
    CITED,
    MALFORMED,
    SHARES,
    Block,
    ByKey,
    Jepsen,
    Job,
    Source,
    Wanted,
    as_it_is,
    assembled_cited,
    borders_of,
    produce,
    produce_cited,
)
from framework.checking.outcomes_table import FOLDER as OUTCOMES
from framework.checking.results import (
    CheckerResult,
    RunResult,
    checker_result,
    refuse_all,
    run_result,
    unread_result,
)
from framework.checking.runs import HISTORY
from framework.checking.sealing import SEALED
from framework.errors import UsageError
from framework.history.borders import Border
from framework.history.jepsen import find_jepsen
from framework.history.pairing import Operation
from framework.history.ranges import RANGE_BYTES, Range, parquet, ranges
from framework.history.reader import SUFFIXES, operations_of, settled
from framework.plugins import registry
from framework.plugins.checker import SparkSession

SMALL: Final = 1_500_000
"""Operations, about: so many are checked sooner here than on Spark, in 1 to 4 GiB of memory."""
LARGE: Final = 3_000_000
"""With more, Spark is set up for a long job."""
BUCKETS: Final = 64
"""Keys are dealt out to so many tasks at most."""
_LINE_BYTES: Final = 90
_COMPRESSED_LINE_BYTES: Final = 12
_PART: Final = "part-"


class Models(Protocol):
    """Sequential models, checked key by key (entry-point group `framework.models`)."""

    names: Sequence[str]

    def malformed(self, model: str, table: pa.Table) -> tuple[int, str] | None:
        """The first operation (its index) that the model has no word for, and what is wrong."""

    def block(self, model: str, budget_s: float) -> Block:
        """Decides every (run, key) of a table of `OPERATIONS`; `OUTCOME_ARROW`. Rows may come in
        any order, and texts that are repeated (run, key, f, type) as dictionaries."""


class JobSet(Protocol):
    """Models that are checked in their own way (of the same group)."""

    names: Sequence[str]

    def job(self, model: str, budget_s: float) -> Job:
        """How histories are checked against one."""


@dataclass(frozen=True, slots=True)
class Given:
    """A history to check."""

    path: Path
    files: Sequence[Path]
    """What it consists of, in order: one file, or Parquet files `part-*` of one folder."""
    jepsen: str = ""
    """The workload, if it is one of Jepsen's."""
    refused: str = ""
    """Why there is nothing to read, if so."""

    def sources(self, file: int, size: int = RANGE_BYTES) -> list[Source]:
        """What can be read apart. Raises `UsageError`."""
        if self.jepsen:
            return [Jepsen(str(self.path), self.jepsen, file)]
        return list(ranges(self.files, file, size))


def find_histories(paths: Iterable[Path]) -> list[Given]:
    """The histories at and below `paths`, each once, in order; what is none says why. Raises
    `UsageError` if nothing is.

    Where a folder has `history.jsonl`, the Parquet files of `history/` and `sealed/` beside it are
    the same events once more, and are left out; so is a table of outcomes.
    """
    return _together(found_at(paths, _histories_at))


def find_jepsens(paths: Iterable[Path], model: str) -> list[Given]:
    """As `find_histories`, of Jepsen's workload `model`."""
    found = found_at(paths, lambda path: find_jepsen([path]))
    return [Given(file, (file,), jepsen=model, refused=why) for file, why in found.items()]


def found_at(paths: Iterable[Path], find: Callable[[Path], Iterable[Path]]) -> dict[Path, str]:
    """What `find` finds at each path, once, in order; a path for which it raises `UsageError`
    stands for itself, with the reason. Raises `UsageError` if nothing is found."""
    found: dict[Path, str] = {}
    for path in paths:
        try:
            found |= dict.fromkeys(find(path), "")
        except UsageError as error:
            found[path] = str(error)
    if all(found.values()):
        refuse_all(list(found.values()))
    return found


def _histories_at(path: Path) -> list[Path]:
    if not path.exists():
        raise UsageError(f"{path}: no such file or folder")
    if path.is_dir():
        below = sorted(file for file in path.rglob("*") if _is_history(file))
        below = [file for file in below if not _is_copy(file)]
        if not below:
            raise UsageError(f"{path}: holds no history ({' or '.join(SUFFIXES)})")
        return below
    if not _is_history(path):
        raise UsageError(f"{path}: not a history; its name must end in {', '.join(SUFFIXES)}")
    return [path]


def _together(found: Mapping[Path, str]) -> list[Given]:
    """Parts of one folder are one history."""
    histories: dict[Path, list[Path]] = {}
    for file, why in found.items():
        is_part = file.suffix == ".parquet" and file.name.startswith(_PART) and not why
        histories.setdefault(file.parent if is_part else file, []).append(file)
    return [
        Given(files[0] if len(files) == 1 else path, tuple(files), refused=found.get(path, ""))
        for path, files in histories.items()
    ]


def _is_history(path: Path) -> bool:
    return path.name.endswith(SUFFIXES) and not path.name.startswith(".") and path.is_file()


def _is_copy(path: Path) -> bool:
    """Of a run's history, or something else that was made of runs."""
    if path.suffix != ".parquet":
        return False
    made = [each for each in path.parents if each.name in ("history", SEALED)]
    return path.parent.name == OUTCOMES or any((each.parent / HISTORY).exists() for each in made)


def job_of(model: str, budget_s: float = DEFAULT_BUDGET_S) -> Job:
    """How a model is checked. Raises `UsageError` if there is no such model."""
    sets: list[Any] = [registry.load("models", name) for name in registry.names("models")]
    for each in sets:
        if model in each.names:
            return _job(each, model, budget_s)
    known = ", ".join(name for each in sets for name in each.names)
    raise UsageError(f"unknown model: {model!r} (known: {known})")


def _job(models: Models | JobSet, model: str, budget_s: float) -> Job:
    if hasattr(models, "job"):
        return models.job(model, budget_s)
    summary = f"linearizable as a {model}, key by key"
    return ByKey(summary, models.block(model, budget_s), partial(models.malformed, model))


def need_model(model: str) -> None:
    """Raises `UsageError` if there is no such model."""
    job_of(model)


def operations_about(histories: Sequence[Given]) -> float:
    """About how many operations there are, in what can be read."""
    total = 0.0
    for history in histories:
        with suppress(UsageError):  # which is said when it is read
            total += _operations(history)
    return total


def _operations(history: Given) -> float:
    """By the size of the files."""
    total = 0.0
    for file in () if history.refused else history.files:
        if file.suffix == ".parquet":
            with parquet(file) as opened:
                total += opened.metadata.num_rows / 2
            continue
        try:
            size = file.stat().st_size
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror or error}") from None
        total += size / 2 / (_COMPRESSED_LINE_BYTES if file.suffix == ".gz" else _LINE_BYTES)
    return total


def check_histories(
    spark: SparkSession | None,
    histories: Sequence[Given],
    model: str,
    budget_s: float = DEFAULT_BUDGET_S,
    *,
    size: int = RANGE_BYTES,
    partitions: int | None = None,
    spread: bool | None = None,
) -> list[RunResult]:
    """All keys of all histories in one job; a result for each, in the same order. `spark` None:
    here. `spread`: what grows with a history is not gathered in this process (default: with more
    than `LARGE` operations on Spark). What cannot be read, or is malformed, says so, and the others
    are checked without it. Raises `UsageError` if that is all."""
    began = monotonic()
    refused = {file: each.refused for file, each in enumerate(histories) if each.refused}
    by_history: dict[int, list[Source]] = {}
    for file, history in enumerate(histories):
        if file not in refused:
            try:
                by_history[file] = history.sources(file, size)
            except UsageError as error:
                refused[file] = str(error)
    if spread is None:
        spread = spark is not None and operations_about(histories) > LARGE
    if spark is not None:
        need_seen(spark, [file for each in histories if not each.refused for file in each.files])
    checked = None
    while checked is None:
        if not by_history:
            refuse_all([refused[file] for file in sorted(refused)])
        try:
            checked = _checked(spark, by_history, model, budget_s, partitions, spread)
        except _Unreadable as found:
            for file, why in found.why.items():
                del by_history[file]
                refused[file] = _about(histories[file].path, why)
    timings = {"check_s": round(monotonic() - began, 3)}
    return [
        unread_result(history.path, refused[file])
        if file in refused
        else checked.result(file, history, timings)
        for file, history in enumerate(histories)
    ]


def _about(path: Path, why: str) -> str:
    return why if why.startswith(str(path)) else f"{path}: {why}"


class _Unreadable(Exception):
    """Some histories cannot be checked. `why`: by number."""

    def __init__(self, why: Mapping[int, str]) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class _Checked:
    """Histories that were checked, by number."""

    judged: Mapping[int, CheckerResult]
    cited: Mapping[int, Sequence[Operation]]
    notes: Mapping[int, Sequence[str]]

    def result(self, file: int, history: Given, timings: Mapping[str, float]) -> RunResult:
        return run_result(
            str(history.path),
            history.path,
            [self.judged[file]],
            operations=self.cited.get(file, ()),
            notes=self.notes[file],
            timings=timings,
        )


def _checked(
    spark: SparkSession | None,
    by_history: Mapping[int, Sequence[Source]],
    model: str,
    budget_s: float,
    partitions: int | None,
    spread: bool,
) -> _Checked:
    """Raises `_Unreadable` if some of them are malformed."""
    sources = [source for each in by_history.values() for source in each]
    buckets = min(BUCKETS if spark is not None else cores(), 4 * len(sources))
    outcomes: pa.Table | Job = job_of(model, budget_s)
    if spread:
        outcomes = outcomes.spread()
    while not isinstance(outcomes, pa.Table):
        job = outcomes
        made = exchange(
            spark,
            sources,
            partial(produce, job=job, buckets=buckets),
            {BORDERS: as_it_is, SHARES: job.judge},
            partitions=partitions,
            later=job.later,
        )
        borders = _borders(made[BORDERS])
        notes = _notes(by_history, borders)
        _refuse_malformed(made.get(SHARES, OUTCOME_ARROW.empty_table()))
        outcomes = job.conclude(made)
    rows_of = _by_history(outcomes)
    judged = {
        file: checker_result(model, job.summary, rows_of.get(file, ())) for file in by_history
    }
    return _Checked(judged, _cited(spark, sources, borders, judged), notes)


def _notes(
    by_history: Mapping[int, Sequence[Source]], borders: Mapping[int, Sequence[Border]]
) -> dict[int, list[str]]:
    """What was forgiven in each history. Raises `_Unreadable` for what was not."""
    notes: dict[int, list[str]] = {}
    refused: dict[int, str] = {}
    for file, sources in by_history.items():
        try:
            ranges_ = [each for each in sources if isinstance(each, Range)]
            notes[file] = settled(ranges_, borders[file])
        except UsageError as error:
            refused[file] = str(error)
    if refused:
        raise _Unreadable(refused)
    return notes


def _borders(table: pa.Table) -> dict[int, list[Border]]:
    found: dict[int, list[Border]] = {}
    for border in borders_of(table):
        found.setdefault(border.file, []).append(border)
    return found


def _refuse_malformed(results: pa.Table) -> None:
    """Raises `_Unreadable` for operations that the model has no word for."""
    bad = results.filter(pc.equal(results.column("verdict"), MALFORMED))
    rows = bad.select(["run", "seen", "note"]).to_pylist()
    if rows:
        rows.sort(key=lambda row: row["seen"], reverse=True)  # of each history, the first stays
        raise _Unreadable({int(row["run"]): f"index {row['seen']}: {row['note']}" for row in rows})


def _by_history(outcomes: pa.Table) -> dict[int, list[Mapping[str, Any]]]:
    found: dict[int, list[Mapping[str, Any]]] = {}
    for row in outcomes.to_pylist():
        found.setdefault(int(row["run"]), []).append(row)
    return found


def _cited(
    spark: SparkSession | None,
    sources: Sequence[Source],
    borders: Mapping[int, Sequence[Border]],
    judged: Mapping[int, CheckerResult],
) -> dict[int, list[Operation]]:
    """The operations that findings name, from the ranges that hold them."""
    wanted: dict[int, Wanted] = {}
    for file, checker in judged.items():
        indices = {index for finding in checker.findings for index in finding.operations}
        if indices:
            starts, numbers = _where(sorted(borders[file], key=lambda each: each.number), indices)
            wanted[file] = Wanted(sorted(indices), starts, numbers)
    needed = [
        source
        for source in sources
        if source.file in wanted
        and (source.compressed or source.number in wanted[source.file].numbers)
    ]
    if not needed:
        return {}
    cite: Callable[[Any], Any] = partial(produce_cited, wanted=wanted)
    made = exchange(spark if len(needed) > 4 else None, needed, cite, {CITED: as_it_is})
    if CITED not in made:
        return {}
    counts = [border for file in wanted for border in borders[file]]
    table = assembled_cited(made[CITED], counts)
    return {
        file: operations_of(table.filter(pc.equal(table.column("file"), file))) for file in wanted
    }


def _where(borders: Sequence[Border], indices: set[int]) -> tuple[dict[int, int], set[int]]:
    """The first index of each range of one history, and the ranges that hold something of these
    operations: their invocations, or completions that came in a later range."""
    starts: dict[int, int] = {}
    numbers: set[int] = set()
    waiting: set[str] = set()
    begin = 0
    for border in borders:
        if border.whole:
            first, last = border.first_ns or 0, border.last_ns or 0
        else:
            first, last = begin, begin + border.events - 1
        starts[border.number] = 0 if border.whole else begin
        if not waiting.isdisjoint(border.late):
            numbers.add(border.number)
            waiting -= border.late.keys()
        if any(first <= index <= last for index in indices) or len(borders) == 1:
            numbers.add(border.number)
        if not border.whole:
            begin += border.events
            waiting |= {name for name, call in border.open.items() if call[0] + first in indices}
    return starts, numbers
