"""What was judged already: a run whose files, checkers and options are what they were when its
verdict.json was written has that verdict still."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from framework.checking.digests import code_digest, package_of
from framework.checking.reading import cited
from framework.checking.results import VERDICT_FILE, CheckerResult, RunResult, result_of
from framework.checking.runs import StoredRun, checkers_of
from framework.checking.sealing import SEALED, Manifest, is_marked, sealed_by_this_code
from framework.checking.stored import sealed_before
from framework.errors import UsageError
from framework.plugins.checker import Checker, SparkSession
from framework.plugins.options import Named, create

_ENGINE: Final = tuple(
    f"framework.{name}" for name in ("checking", "evidence", "history", "plugins", "verdict")
)


def judged_before(
    runs: Sequence[StoredRun],
    *,
    options: Sequence[str] = (),
    budget_s: float,
    spark: SparkSession | None = None,
) -> Iterator[RunResult | None]:
    """The results of runs that would be judged as they were; of others None. Without Spark none of
    a run's own files is read, and a copy, whose files have other times, is another run; with it
    tasks see that it is the same."""
    known: dict[str, dict[str, Checker] | None] = {}
    manifests: Iterable[Manifest | str | None] = map(_manifest, runs)
    if spark is not None:
        manifests = sealed_before(spark, [run.info for run in runs])
    for run, names, manifest in zip(runs, checkers_of(runs), manifests, strict=True):
        given = run.checker_options(options)
        asked = json.dumps([sorted(names), sorted(given.items())])
        if asked not in known:  # which takes longer than to read a verdict
            plugins, broken = loaded(sorted(names), given, strict=False)
            known[asked] = None if broken else plugins
        yield _before(run, manifest, known[asked], given, budget_s)


def judged_as(
    manifest: Manifest, checkers: Mapping[str, Checker], options: Mapping[str, str], budget_s: float
) -> str:
    """A digest of what a run's verdict follows from: its files, the checkers and their options."""
    code = code_digest(*_ENGINE, *{package_of(each) for each in checkers.values()})
    asked = [(name, options.get(name, "")) for name in sorted(checkers)]
    said = json.dumps([manifest.content, manifest.code, code, asked, budget_s])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def loaded(
    names: Iterable[str], options: Mapping[str, str], *, strict: bool
) -> tuple[dict[str, Checker], dict[str, Exception]]:
    """The checkers with their options, and why the others could not be loaded."""
    plugins: dict[str, Checker] = {}
    broken: dict[str, Exception] = {}
    for name in names:
        try:
            plugins[name] = create("checkers", Named(name, options.get(name, "")))
        except Exception as error:
            if strict and isinstance(error, UsageError):
                raise
            broken[name] = error
    return plugins, broken


def _manifest(run: StoredRun) -> Manifest | None:
    """Of a run that is sealed as it is, by what is seen without reading."""
    folder = Path(run.info.path)
    with suppress(UsageError):
        found = sealed_by_this_code(folder, run.info.plan)
        if found is not None and is_marked(folder, found):
            return found
    return None


def _before(
    run: StoredRun,
    manifest: Manifest | str | None,
    checkers: Mapping[str, Checker] | None,
    options: Mapping[str, str],
    budget_s: float,
) -> RunResult | None:
    folder = Path(run.info.path)
    try:
        document = json.loads((folder / VERDICT_FILE).read_bytes())
        if checkers is None or not document["judged"]:
            return None
        found = result_of(document, run.info.run, folder)
    except (OSError, ValueError, TypeError, KeyError, UsageError):
        return None
    if not isinstance(manifest, Manifest) or found.judged != judged_as(
        manifest, checkers, options, budget_s
    ):
        return None
    # Without Spark, whose start would take longer: few row groups have them.
    indices = named_by(found.checkers)
    operations = cited(folder / SEALED, indices) if indices else []
    return replace(found, cited={each.index: each for each in operations})


def named_by(checkers: Iterable[CheckerResult]) -> set[int]:
    """The indices of the operations that findings name."""
    return {
        index for checker in checkers for found in checker.findings for index in found.operations
    }
