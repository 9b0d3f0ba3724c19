"""What a report shows, read from a run's folder. Whatever is missing or cut short is named in
`Run.missing`, never an error: a killed run has a report too.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa

from framework.checking.documents import VerdictDocument
from framework.checking.observed import system_of
from framework.errors import UsageError
from framework.evidence.kinds import Evidence
from framework.evidence.run_events import unreported
from framework.history.event import Json
from framework.history.pairing import PHASE, Operation
from framework.history.pieces import read_pieces
from framework.history.reader import operations_of
from framework.plugins.capabilities import gives_evidence
from framework.report.answers import Answers
from framework.report.evidence import Told, told
from framework.report.logs import LogLine, read_logs, zero_of
from framework.report.messages import KINDS as DRAWN
from framework.report.nodes import IN_LANES, Span, in_order, spans
from framework.report.some import Some

NS: Final = 1e9
"""ns in a second."""


@dataclass(slots=True, kw_only=True)
class Injection:
    """One fault from plan to healing, folded from its lines in the ledger. Times in s."""

    id: int
    fault: str
    shape: str
    victims: Mapping[str, Json]
    steps: dict[str, float] = field(default_factory=dict)
    """Step -> when it was first written."""
    probes: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    """Probe step -> {"bites": true | false | null, "evidence": {...}}, the latest."""
    errors: list[str] = field(default_factory=list)

    @property
    def start_s(self) -> float | None:
        """When the fault began; None if nothing was done. A failed injection may be half done."""
        return self.steps.get("injected", self.steps.get("failed"))

    @property
    def end_s(self) -> float | None:
        """When it was healed; None: never, as far as the ledger says."""
        return self.steps.get("healed")

    def bites(self, step: str) -> bool | None:
        """What a probe saw; None: it could not tell, or was not made."""
        seen = self.probes.get(step, {}).get("bites")
        return seen if isinstance(seen, bool) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Everything that the page is made of. Times are s since the run began."""

    folder: Path
    plan: Mapping[str, Any]
    verdict: VerdictDocument | None
    operations: Sequence[Operation]
    """Of very many some: thinned evenly, and those that findings name."""
    answers: Answers
    """Of all operations."""
    phases: Sequence[tuple[str, float]]
    injections: Sequence[Injection]
    spans: Sequence[Span]
    missing: Sequence[str]
    observations: Sequence[Operation] = ()
    """What observers asked; `operations` are clients'."""
    logs: Sequence[LogLine] = ()
    """What nodes logged, in order; read where there are findings to show it with."""
    evidence: Sequence[Evidence] = ()
    """What nodes wrote as it happened, of the kinds of a space-time diagram; of each node in
    order. Kept where there are findings."""
    end_s: float = field(init=False)
    """The last moment of which anything is known; at least 1."""

    def __post_init__(self) -> None:
        times = [1.0, *(time for _, time in self.phases), *(span.end_s for span in self.spans)]
        times.extend(time for each in self.injections for time in each.steps.values())
        asked = (self.answers, Answers.of(self.observations))
        times.extend(each.last_ns / NS for each in asked)
        object.__setattr__(self, "end_s", max(times))


def read_run(folder: Path) -> Run:
    """Read what there is. Raises `UsageError` only where there is no such folder."""
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; a report is drawn of a run's folder")
    missing: list[str] = []
    plan = _object(folder / "plan.json", "what was run is not known", missing)
    not_checked = (
        f"the run ended before it was checked; `python -m framework check {folder}` checks what "
        "there is"
    )
    verdict = cast("VerdictDocument | None", _object(folder / "verdict.json", not_checked, missing))
    named = frozenset(numbers_of(verdict or {}))
    history = _history(folder / "history.jsonl", named, missing)
    found = _has_findings(verdict or {})
    known = _told(folder, plan or {}, (*IN_LANES, *(DRAWN if found else ())), missing)
    return Run(
        folder=folder,
        plan=plan or {},
        verdict=verdict,
        operations=history.operations if history else (),
        observations=history.observations if history else (),
        answers=history.answers if history else Answers.of(()),
        phases=_phases(history.nemesis) if history else (),
        injections=_injections(folder / "faults.jsonl", missing),
        spans=list(spans(known.evidence, known.until_ns)),
        missing=missing,
        logs=_logs(folder, plan or {}, missing) if found else (),
        evidence=in_order(known.evidence, DRAWN) if found else (),
    )


def _has_findings(verdict: VerdictDocument) -> bool:
    return any(each.get("findings") for each in verdict.get("checkers") or ())


def _logs(folder: Path, plan: Mapping[str, Any], missing: list[str]) -> list[LogLine]:
    zero = zero_of(plan)
    if zero is None:
        return []
    try:
        return read_logs(folder, zero)
    except OSError as error:
        missing.append(f"of what the nodes logged not all can be read: {error}")
        return []


def _object(path: Path, without: str, missing: list[str]) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
        if isinstance(found, dict):
            return found
        missing.append(f"{path.name} is not a JSON object: {without}")
    except FileNotFoundError:
        missing.append(f"no {path.name}: {without}")
    except (OSError, ValueError) as error:
        missing.append(f"{path.name} cannot be read ({error}): {without}")
    return None


def numbers_of(verdict: VerdictDocument) -> Iterator[int]:
    """Indices by which findings name operations: of invocations, or of completions."""
    for entry in verdict.get("checkers") or ():
        for finding in entry.get("findings") or ():
            yield from finding.get("operations") or ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _History:
    """As `Run` has it, and what the nemesis did: index, time_ns, type, f, value."""

    operations: Sequence[Operation]
    observations: Sequence[Operation]
    answers: Answers
    nemesis: pa.Table


def _history(path: Path, named: frozenset[int], missing: list[str]) -> _History | None:
    if not path.exists():
        missing.append(f"no {path.name}: the run ended before its first operation")
        return None
    try:
        some, answers, observations = Some(named), list[Answers](), list[pa.Table]()

        def take(operations: pa.Table, observed: pa.Table) -> None:
            some.add(operations)
            answers.append(Answers.of_table(operations))
            observations.append(observed)

        history = read_pieces([path], take, allow_empty=True)
    except UsageError as error:
        missing.append(f"{path.name} cannot be drawn: {error}")
        return None
    missing.extend(history.notes)
    return _History(
        operations=operations_of(some.table),
        observations=operations_of(pa.concat_tables(observations)),
        answers=Answers.together(answers),
        nemesis=history.nemesis,
    )


def _phases(nemesis: pa.Table) -> list[tuple[str, float]]:
    """Phase marks in order, each once: its invocation or completion, whichever came first."""
    found: dict[str, float] = {}
    for row in nemesis.to_pylist():
        if row["f"] == PHASE and row["time_ns"] is not None:
            found.setdefault(str(json.loads(row["value"])), row["time_ns"] / NS)
    return list(found.items())


def _injections(path: Path, missing: list[str]) -> list[Injection]:
    if not path.exists():
        missing.append(f"no {path.name}: no fault was planned")
        return []
    found: dict[int, Injection] = {}
    for line in _lines(path, missing):
        try:
            _fold(found, line)
        except (KeyError, TypeError, ValueError):
            missing.append(f"{path.name}: a line that is no entry of a ledger was left out")
    return list(found.values())


def _fold(found: dict[int, Injection], line: Mapping[str, Any]) -> None:
    ident, step, time_s = int(line["id"]), str(line["step"]), line["time"] / NS
    injection = found.get(ident)
    if injection is None:
        injection = found[ident] = Injection(
            id=ident,
            fault=str(line["fault"]),
            shape=str(line.get("shape", "")),
            victims=dict(line.get("victims") or {}),
        )
    injection.steps.setdefault(step, time_s)
    if isinstance(line.get("probe"), dict):
        injection.probes[step] = line["probe"]
    if line.get("error"):
        injection.errors.append(str(line["error"]))


def _told(
    folder: Path, plan: Mapping[str, Any], kinds: Sequence[type[Evidence]], missing: list[str]
) -> Told:
    """What can be read of it."""
    if not plan.get("nodes") and not any((folder / "nodes").glob("*")):
        missing.append("no nodes/: no node's log was collected")
        return Told()
    if not isinstance(plan.get("time_zero_ns"), int):
        missing.append("what the nodes did cannot be placed: no time_zero_ns in plan.json")
        return Told()
    found = told(folder, plan, kinds)
    if found.wrong:
        missing.append(f"of what the nodes left behind not all can be read: {found.wrong}")
        return found
    silent = [node for node in plan.get("nodes") or {} if node not in found.nodes]
    if silent and gives_evidence(system_of(plan).capabilities) and not unreported(plan):
        missing.append(f"no events of {', '.join(silent)}: these nodes' logs were not collected")
    return found


def _lines(path: Path, missing: list[str]) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a file, one a line. Broken lines are passed over; a note says so."""
    broken = 0
    try:
        with path.open("rb") as file:
            for line in file:
                try:
                    parsed = json.loads(line)
                except ValueError:
                    parsed = None
                if isinstance(parsed, dict):
                    yield parsed
                else:
                    broken += 1
    except OSError as error:
        missing.append(f"{path.name} cannot be read: {error}")
    if broken:
        where = path.name if path.parent.name == "" else f"{path.parent.name}/{path.name}"
        missing.append(f"{where}: {broken} line{'s' * (broken > 1)} cut short, left out")
