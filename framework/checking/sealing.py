"""A run's folder sealed: what it holds, as Parquet files that are read by kind.

    sealed/
        manifest.json           what it was made of, by which code, and how much there is of what
        planned.json            the plan, as rules read it
        operations.parquet      of clients: `OPERATIONS`, but for `run`; a process is a JSON text
        observations.parquet    the same of observers
        nemesis.parquet         `NEMESIS`, and
        faults.parquet          `FAULTS`, but for `run`
        events/KIND.N.parquet   typed evidence (`framework.evidence`): what nodes, the harness said
        records/KIND.N.parquet  what lay on disks

Operations are in the order of their invocations, evidence of a file in that of node, incarnation
and `seq`. N counts from 0: the nodes of one file are in no other one of its kind. A kind has files
of its own, for it has columns of its own, and most kinds few rows: one file of them all would have
more in its footer than in its rows. No file says which run it is of: its folder does, and a
folder can be moved. JSON Lines stay what a run writes as it goes on, and what others may write.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.checking.digests import code_digest, package_of
from framework.checking.observed import observed, restated, system_of
from framework.checking.runs import HISTORY, LEDGER, PLAN, ledger_of
from framework.checking.shares import ALL, NODES, Share, below, shares
from framework.evidence.kinds import DISK
from framework.history.event import Recorded
from framework.history.pieces import read_pieces
from framework.plugins.checker import RunInfo, RunTables, Table
from framework.plugins.system import ObservesNodes

SEALED: Final = "sealed"
MANIFEST: Final = "manifest.json"
OPERATIONS, OBSERVATIONS, NEMESIS, FAULTS = "operations", "observations", "nemesis", "faults"
EVENTS, RECORDS = "events", "records"
"""Folders of evidence: of events, and of disks."""
PLANNED: Final = "planned.json"
"""No plan.json, by which the folders of runs are known."""
_ROWS: Final = 1 << 17
"""Of a row group: the least that is read of a file."""
_PLACE: Final = [(name, "ascending") for name in ("node", "incarnation", "seq")]
_MAKERS: Final = (
    *("framework.evidence", "framework.history"),
    *(f"framework.checking.{module}" for module in ("observed", "runs", "sealing", "shares")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much a run holds. operations: of clients, by `f`. evidence: kind -> source -> rows."""

    operations: Mapping[str, int] = field(default_factory=dict)
    observations: int = 0
    nemesis: int = 0
    faults: int = 0
    evidence: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Of operations of clients."""
        return sum(self.operations.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a run was sealed from. `marks`: a digest of its files' names, sizes and times;
    `content`: of their names and bytes; `code`: of what read them. `notes`: what was forgiven.
    `counted`: its counts as JSON, a seventh of what they are as objects: thousands of manifests
    are there together."""

    marks: str
    content: str
    code: str
    notes: Sequence[str]
    counted: str

    @property
    def counts(self) -> Counts:
        return _counts(self.counted)

    @classmethod
    def of(cls, path: Path) -> "Manifest":
        """Raises `OSError`, `ValueError`, `TypeError` or `KeyError` for what is no manifest."""
        return cls.said(path.read_bytes())

    @classmethod
    def said(cls, text: str | bytes) -> "Manifest":
        """As `of`, of what its file says."""
        fields = json.loads(text)
        counted = json.dumps(fields.pop("counts"))
        found = cls(**fields, counted=counted)
        _counts(found.counted)
        return found

    def text(self) -> str:
        """As its file says it."""
        fields = {name: value for name, value in asdict(self).items() if name != "counted"}
        return json.dumps({**fields, "counts": json.loads(self.counted)})


@lru_cache(maxsize=1)
def _counts(counted: str) -> Counts:
    """Who asks for one of a run's counts asks for others."""
    return Counts(**json.loads(counted))


def sealed_as(folder: Path, plan: Mapping[str, Recorded]) -> Manifest | None:
    """The manifest of a sealed run, if it is of the files as they are, and of this code. Of files
    with other marks all are read."""
    found = sealed_by_this_code(folder, plan)
    if found is None or is_marked(folder, found):
        return found
    return copied(folder, found)


def sealed_by_this_code(folder: Path, plan: Mapping[str, Recorded]) -> Manifest | None:
    """The manifest of a run that is sealed, perhaps of other files."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        found = Manifest.of(folder / SEALED / MANIFEST)
        if found.code == code_of(plan):
            return found
    return None


def is_marked(folder: Path, manifest: Manifest) -> bool:
    """Whether a run's files are those that it was sealed from, by what is seen without reading."""
    with suppress(OSError):
        return manifest.marks == marks_of(folder)
    return False


def copied(folder: Path, manifest: Manifest) -> Manifest | None:
    """The manifest of a run whose files say the same, whatever their marks; they are read."""
    with suppress(OSError):
        marks = marks_of(folder)
        if manifest.content == content_of(folder):
            return _marked(folder, replace(manifest, marks=marks))
    return None


def _marked(folder: Path, manifest: Manifest) -> Manifest:
    """The manifest of a copy, kept where that can be written: who looks next need read no file."""
    target = folder / SEALED / MANIFEST
    with suppress(OSError):
        descriptor, name = tempfile.mkstemp(prefix=f".{MANIFEST}-", dir=target.parent)
        os.close(descriptor)
        try:
            _write_manifest(Path(name), manifest)
            Path(name).replace(target)  # what it was a link to stays as it is
        except OSError:
            Path(name).unlink(missing_ok=True)
    return manifest


def _write_manifest(path: Path, manifest: Manifest) -> None:
    path.write_text(manifest.text())
    path.chmod(0o644)


def code_of(plan: Mapping[str, Recorded]) -> str:
    """The digest of what reads such a run. Raises `UsageError` if its system is not installed."""
    return _code_of(plan.get("system") and str(plan["system"]))


@cache
def _code_of(system: str | None) -> str:
    return code_digest(*_MAKERS, package_of(system_of({"system": system})))


def marks_of(folder: Path) -> str:
    """Of the names, sizes and times of a run's files."""
    digest = hashlib.sha256()
    for path in _files(folder):
        status = path.stat()
        mark = f"{path.relative_to(folder)}\0{status.st_size}\0{status.st_mtime_ns}\0"
        digest.update(mark.encode(errors="surrogateescape"))
    return digest.hexdigest()[:16]


def content_of(folder: Path) -> str:
    """Of the names and bytes of a run's files, which a copy has too."""
    digest = hashlib.sha256()
    for path in _files(folder):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder)}\0{content}\0".encode(errors="surrogateescape"))
    return digest.hexdigest()[:16]


def _files(folder: Path) -> Iterator[Path]:
    """All that a run's tables are made of."""
    for name in (PLAN, HISTORY, LEDGER):
        if (folder / name).exists():
            yield folder / name
    yield from map(Path, sorted(below(str(folder / NODES))))


# --- writing ------------------------------------------------------------------------------


def seal(info: RunInfo) -> Manifest:
    """Seals a run in its own folder, in this process. Raises `OSError`, and `UsageError` for one
    that is malformed."""
    unfinished = Path(tempfile.mkdtemp(prefix=".sealed-", dir=info.path))
    try:
        parts = [write_history(info, unfinished), write_evidence(info, unfinished)]
        return finish(info, unfinished, parts)[1]
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def begun(folder: Path, scratch: Path) -> Path:
    """An empty folder for the sealed form until it is whole: in the run's own folder, or in
    `scratch` where that cannot be written."""
    with suppress(OSError):
        return Path(tempfile.mkdtemp(prefix=".sealed-", dir=folder))
    return Path(tempfile.mkdtemp(prefix="sealed-", dir=scratch))


def in_shares(info: RunInfo, most: int) -> Sequence[Share]:
    """Those of a run's evidence, so many at most. One, where its system can only be asked for
    everything; the last one is read by whoever has read the history."""
    history = Path(info.path, HISTORY)
    apart = isinstance(system_of(info.plan), ObservesNodes)
    return shares(Path(info.path), most if apart else 1, history.stat().st_size)


def write_history(info: RunInfo, unfinished: Path) -> dict[str, Any]:
    """What clients, observers and the harness did, into the unfinished folder; notes and
    counts. Raises `UsageError`."""
    counts = Counter[str]()
    with (
        Rows(unfinished / f"{OPERATIONS}.parquet") as operations,
        Rows(unfinished / f"{OBSERVATIONS}.parquet") as observations,
    ):

        def take(asked: Table, observed: Table) -> None:
            stated = restated(info.plan, asked)
            counts.update(_counted(stated.column("f")))
            operations.write(_without(stated, "file"))
            observations.write(_without(observed, "file"))

        history = read_pieces([Path(info.path, HISTORY)], take, allow_empty=True)
    faults = ledger_of(info).drop_columns(["run"])
    _write(history.nemesis, unfinished / f"{NEMESIS}.parquet")
    _write(faults, unfinished / f"{FAULTS}.parquet")
    return {
        "notes": list(history.notes),
        "operations": dict(sorted(counts.items())),
        "observations": observations.written,
        "nemesis": len(history.nemesis),
        "faults": len(faults),
    }


def write_evidence(info: RunInfo, unfinished: Path, share: Share = ALL) -> dict[str, Any]:
    """What nodes left behind, into the unfinished folder; counts, and of the first share what
    all was made of. Raises `UsageError`."""
    folder = Path(info.path)
    made_of: dict[str, Any] = {}
    if share.number == 0:
        made_of = {"marks": marks_of(folder), "content": content_of(folder)}
    counts = {}
    for kind, table in observed(info, share).items():
        counts[kind] = _counted(table.column("source"))
        ordered = table.sort_by(_PLACE)
        for place, rows in parted(ordered):
            (unfinished / place).mkdir(exist_ok=True)
            _write(rows, unfinished / place / f"{kind}.{share.number}.parquet")
    return {**made_of, "evidence": counts}


def finish(
    info: RunInfo, unfinished: Path, parts: Iterable[Mapping[str, Any]]
) -> tuple[Path, Manifest]:
    """The unfinished folder, all parts of which are written now, becomes the run's sealed form;
    where that is. Two who do it at once leave one that is whole."""
    parts = list(parts)
    said = {name: value for part in parts for name, value in part.items()}
    said["evidence"] = _added(part["evidence"] for part in parts if "evidence" in part)
    manifest = Manifest(
        marks=said.pop("marks"),
        content=said.pop("content"),
        code=code_of(info.plan),
        notes=said.pop("notes"),
        counted=json.dumps(said),
    )
    (unfinished / PLANNED).write_text(json.dumps(dict(info.plan), default=str))
    _write_manifest(unfinished / MANIFEST, manifest)
    unfinished.chmod(0o755)
    if unfinished.parent != Path(info.path):
        return unfinished, manifest
    return _put_in_place(info, unfinished), manifest


def _added(shares: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, dict[str, int]]:
    """Rows by kind and source, of all shares."""
    total: dict[str, Counter[str]] = {}
    for share in shares:
        for kind, counts in share.items():
            total.setdefault(kind, Counter()).update(counts)
    return {kind: dict(sorted(counts.items())) for kind, counts in sorted(total.items())}


def _put_in_place(info: RunInfo, unfinished: Path) -> Path:
    folder, target = Path(info.path), Path(info.path, SEALED)
    found = sealed_by_this_code(folder, info.plan)
    if found is None or not is_marked(folder, found):  # else somebody else was faster
        with suppress(OSError):
            former = Path(tempfile.mkdtemp(prefix=".sealed-", dir=info.path))
            with suppress(FileNotFoundError):
                target.rename(former / SEALED)
            shutil.rmtree(former, ignore_errors=True)
        with suppress(OSError):
            unfinished.rename(target)
    shutil.rmtree(unfinished, ignore_errors=True)
    return target


def parted(evidence: Table) -> Iterator[tuple[str, Table]]:
    """The rows of one kind by the folder they are kept in, where there are some."""
    from_disk = pc.equal(evidence.column("source"), DISK)
    for place, chosen in ((EVENTS, pc.invert(from_disk)), (RECORDS, from_disk)):
        rows = evidence.filter(chosen)
        if len(rows):
            yield place, rows


@dataclass(slots=True)
class Rows:
    """A file of rows that come in pieces, of one schema, one piece at least. What a kind says is
    never null an older release may have left out: Parquet would refuse."""

    path: Path
    written: int = 0
    _writer: pq.ParquetWriter | None = None
    _held: list[Table] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def write(self, table: Table) -> None:
        self._held.append(table)
        self.written += len(table)
        if sum(map(len, self._held)) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        table = pa.concat_tables(self._held)
        self._held.clear()
        open_ = pa.schema([column.with_nullable(True) for column in table.schema])
        if self._writer is None:
            self._writer = pq.ParquetWriter(self.path, open_, compression="snappy")
        self._writer.write_table(table.cast(open_), row_group_size=_ROWS)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._held:
            self._flush()
        if self._writer is not None:
            self._writer.close()


def _write(table: Table, path: Path) -> None:
    with Rows(path) as rows:
        rows.write(table)


def _without(table: Table, *names: str) -> Table:
    return table.drop_columns([name for name in names if name in table.column_names])


def _counted(column: pa.ChunkedArray) -> dict[str, int]:
    counted = pc.value_counts(column)
    names, counts = counted.field("values").to_pylist(), counted.field("counts").to_pylist()
    return dict(sorted(zip(names, counts, strict=True)))


# --- in memory ----------------------------------------------------------------------------


def counts_of(run: RunTables) -> Counts:
    """Of a run in memory."""
    return Counts(
        operations=_counted(run.operations.column("f")),
        observations=len(run.observations),
        nemesis=len(run.nemesis),
        faults=len(run.faults),
        evidence={kind: _counted(rows.column("source")) for kind, rows in run.evidence.items()},
    )
