"""Checking a run while it goes on: a stream over its folder, judged prefix by prefix.

`Parts` puts what is new in history.jsonl into `live/`, a file a second or so, which is there whole
or not at all. Spark's Structured Streaming reads these files; with each batch a task judges the
history up to its last line (`prefixes`), of which it looks again at what can still be contradicted
(`looks`).
"""

import json
import logging
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any, Final

import pyarrow as pa

from framework.checking.clauses import held_against_floors
from framework.checking.keyed import OUTCOME_ARROW
from framework.checking.looks import looked_again
from framework.checking.prefixes import LiveCheckers
from framework.checking.runs import HISTORY
from framework.checking.workers import settle_in
from framework.plugins.checker import OUTCOME_SCHEMA, SparkSession
from framework.verdict import Verdict

log: Final = logging.getLogger(__name__)

FOLDER: Final = "live"
EVERY_S: Final = 1.0
REST: Final = 2.0
"""So many times as long as judging took the stream rests, so that it takes a third of a core at
most, however long the history has become."""
_DIGITS: Final = 16
_ENDS_S: Final = 10.0


# --- what is recorded ---------------------------------------------------------------------


class Parts:
    """Cuts what is new in a run's history into files, at the ends of lines."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FOLDER
        self.path.mkdir()
        self._history = folder / HISTORY
        self._end = 0

    def cut(self) -> bool:
        """Whether there was something new. The part is named after the byte at which it ends."""
        with self._history.open("rb") as file:
            file.seek(self._end)
            lines = file.read()
        lines = lines[: lines.rfind(b"\n") + 1]
        if not lines:
            return False
        self._end += len(lines)
        unfinished = self.path / ".unfinished"
        unfinished.write_bytes(lines)
        unfinished.rename(self.path / f"{self._end:0{_DIGITS}}")
        return True

    def remove(self) -> None:
        """The history has all of it."""
        shutil.rmtree(self.path, ignore_errors=True)


# --- on a worker --------------------------------------------------------------------------


def _judged(
    batches: Iterator[pa.RecordBatch], folder: Path, checkers: LiveCheckers
) -> Iterator[pa.RecordBatch]:
    settle_in()
    names = [name for batch in batches for name in batch.column(0).to_pylist()]
    if not names:
        return
    for table in looked_again(folder, checkers, int(max(names))):
        yield from table.select(OUTCOME_ARROW.names).cast(OUTCOME_ARROW).to_batches()


# --- on the driver ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A clause of a run that goes on. `why`: of one that is broken."""

    checker: str
    clause: str
    verdict: Verdict
    compared: int
    compares: str
    why: str = ""


def clauses_so_far(checkers: LiveCheckers, rows: Sequence[Mapping[str, Any]]) -> Iterator[Judged]:
    """What can be said by now: which clauses are broken for good, and which had enough compared to
    be called VALID if the run were over."""
    for name, checker in checkers.items():
        own = [row for row in rows if row["checker"] == name]
        found = [
            finding
            for row in own
            if row["verdict"] == Verdict.INVALID.value
            for finding in json.loads(row["findings"] or "[]")
        ]
        lasting = {each.name for each in checker.live}
        broken = [each.get("clause") or "" for each in found]
        for each in held_against_floors(checker.clauses, own, broken):
            verdict = each.verdict
            if each.name not in lasting or verdict is None or verdict is Verdict.UNKNOWN:
                continue
            why = next(
                (
                    finding["message"]
                    for finding, clause in zip(found, broken, strict=True)
                    if clause == each.name or len(checker.clauses) == 1
                ),
                "",
            )
            yield Judged(
                checker=name,
                clause=each.name,
                verdict=verdict,
                compared=each.compared,
                compares=each.compares,
                why=why.partition("\n")[0],
            )


@dataclass(slots=True)
class Live:
    """The stream over one run. `say` is given each clause when it is first judged so: VALID once,
    and INVALID once."""

    session: SparkSession
    folder: Path
    checkers: LiveCheckers
    say: Callable[[Judged], None]
    looks: int = 0
    """What so many came to was said."""
    _began: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)
    _said: set[tuple[str, str, Verdict]] = field(default_factory=set)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        """Return at once; what goes wrong ends it, and costs no verdict."""
        self._threads = [threading.Thread(target=self._go_on, name="live", daemon=True)]
        self._threads[0].start()

    def wait(self) -> None:
        """Until what the first look came to was said, or there will be none."""
        self._began.wait()

    def end(self) -> None:
        """No more is judged; what is under way goes on."""
        self._over.set()

    def close(self) -> None:
        """Until all of it is over. The parts are gone."""
        self.end()
        for thread in self._threads:
            thread.join(_ENDS_S)

    def _go_on(self) -> None:
        parts = Parts(self.folder)
        query = None
        try:
            while not self._over.wait(EVERY_S):
                if parts.cut() and query is None:
                    query = self._stream(parts.path)
                if query is not None and not query.isActive:
                    return
        except Exception as error:  # the session may be gone
            log.info("the stream ended early", exc_info=error)
        finally:
            self._began.set()
            with suppress(Exception):
                if query is not None:
                    query.stop()
            parts.remove()

    def _stream(self, path: Path) -> Any:
        folder, checkers = self.folder.resolve(), dict(self.checkers)

        def judged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return _judged(batches, folder, checkers)

        lines = self.session.readStream.option("wholetext", True).text(str(path.resolve()))
        ends = lines.selectExpr("_metadata.file_name as name").coalesce(1)
        scratch = Path(self.session.conf.get("spark.local.dir"), FOLDER, self.folder.name)
        return (
            ends.mapInArrow(judged, OUTCOME_SCHEMA)
            .writeStream.foreachBatch(self._show)
            .option("checkpointLocation", str(scratch))
            .trigger(processingTime=f"{EVERY_S:g} seconds")
            .start()
        )

    def _show(self, batch: Any, number: int) -> None:
        began = monotonic()
        rows = [row.asDict() for row in batch.collect()]
        for each in clauses_so_far(self.checkers, rows):
            if (said := (each.checker, each.clause, each.verdict)) not in self._said:
                self._said.add(said)
                self.say(each)
        self.looks += 1
        self._began.set()
        self._over.wait(REST * (monotonic() - began))
