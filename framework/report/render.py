"""A run's folder as one page, `report.html`: works offline, in any browser, from any place.

Drawing reads what is stored and writes that one file; it decides nothing.
"""

import logging
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup

from framework.checking.clauses import share
from framework.checking.documents import CheckerDocument, FindingDocument
from framework.history.pairing import Operation
from framework.report import figures
from framework.report.answers import OUTCOMES
from framework.report.around import around
from framework.report.checker_figures import arranged
from framework.report.data import NS, Injection, Run, numbers_of, read_run
from framework.report.linearization import svg
from framework.report.payload import packed, packed_plotly
from framework.report.spacetime import Proof, SpaceTime
from framework.report.story import Line, story
from framework.report.text import full, shorten
from framework.report.thinning import columns, end_s, start_s
from framework.timings import PHASE
from framework.whole_files import write_whole

log: Final = logging.getLogger(__name__)

FILE: Final = "report.html"
MAX_DIAGRAMS: Final = 6
"""Space-time diagrams of one checker."""
MAX_FINDINGS: Final = 100
"""Findings of one checker on the page; all of them are in verdict.json."""

MEANING: Final = {
    "VALID": "Every checker saw enough, and found nothing wrong.",
    "INVALID": "A property was broken. The findings name the operations that prove it.",
    "UNKNOWN": "Nothing was found wrong, but not everything could be decided.",
}
_NOT_CHECKED: Final = "This run was not checked."
_ORDER: Final = {"INVALID": 0, "UNKNOWN": 1, "VALID": 2}
TAKEN: Final = 0.1
"""A machine that took less of a run is not worth a line."""
_BIT: Final = {True: "yes", False: "no", None: "not known"}
_HEALED: Final = {True: "no, still there", False: "yes", None: "not known"}
_STEPS: Final = ("planned", "probed-before", "injected", "probed-during", "healed", "probed-after")


def render(folder: Path) -> Path:
    """Draw `folder`/report.html, whole or not at all; its path. Folders of killed runs are drawn
    too, and the page says what is missing. Raises `UsageError` if there is no such folder."""
    run = read_run(folder)
    return _written(run, folder, story(run))


def draw(folder: Path) -> tuple[Line, ...]:
    """`render`, with every failure logged: drawing can never change a verdict, nor lose one. The
    run's story; empty where the run could not be read."""
    lines: tuple[Line, ...] = ()
    try:
        run = read_run(folder)
        lines = story(run)
        _written(run, folder, lines)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        log.warning("the report of %s could not be written: %s", folder, reason)
    except Exception:
        log.exception("the report of %s could not be drawn", folder)
    return lines


def _written(run: Run, folder: Path, lines: Sequence[Line]) -> Path:
    return write_whole(folder / FILE, to_html(run, lines))


def to_html(run: Run, lines: Sequence[Line]) -> str:
    """The page, with the run's story. Pure, but for the template and plotly.js, which come with the
    package."""
    return template("report.html").render(_page(run, lines))


def template(name: str, *folders: Path) -> jinja2.Template:
    """One of the pages, with what they all use. `folders`: where it is looked for first."""
    environment = _environment(folders)
    return environment.get_template(name)


@cache
def _environment(folders: tuple[Path, ...]) -> jinja2.Environment:
    here = Path(__file__).parent
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, here / "templates", here / "static"]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"full": full, "shorten": shorten}
    return environment


def finding_rows(run: Run) -> list[dict[str, Any]]:
    """`checker_rows` of a run: its checkers, worst first, with their findings."""
    entries = (run.verdict or {}).get("checkers") or ()
    return checker_rows(entries, _by_index(run), run.plan.get("time_zero_ns") or 0)


def _page(run: Run, lines: Sequence[Line]) -> dict[str, Any]:
    checkers = finding_rows(run)
    keep = _named(run)
    placed = figures.drawn(run.operations, keep)
    threads = run.plan.get("threads")
    threads = threads if isinstance(threads, int) and threads > 0 else None

    def row(op: Operation) -> int:
        return figures.row_of(op.process, threads)

    plots = {
        "timeline": figures.timeline(run, placed, keep, threads),
        "lanes": figures.lanes(run),
        "latency": figures.latency(run, placed),
        "rate": figures.rate(run),
    }
    return {
        "run": run,
        "has_timeline": True,
        "name": f"{run.plan.get('name', run.folder.resolve().parent.name)}",
        "stamp": run.folder.resolve().name,
        "verdict": _verdict(run),
        "meaning": MEANING[_verdict(run)] if run.verdict else _NOT_CHECKED,
        "story": lines,
        "repeat": _repeat(run),
        "facts": _facts(run),
        "checkers": checkers,
        "not_applicable": (run.verdict or run.plan).get("not_applicable") or {},
        "findings": sum(each["total"] for each in checkers),
        "ledger": [_ledger_row(each) for each in run.injections],
        "steps": _STEPS,
        "drawn": len(placed),
        "total": len(run.answers),
        "heights": {name: figure["layout"]["height"] for name, figure in plots.items()},
        "payloads": {
            **{name: packed(figure) for name, figure in plots.items()},
            "operations": packed(columns(placed, row, figures.names_of(placed))),
            "hovers": packed([figures.about(op) for op in placed]),
            "around": packed(
                {
                    finding["id"]: around(run, *finding["window"])
                    for each in checkers
                    for finding in each["findings"]
                    if finding["window"]
                }
            ),
            "spacetime": packed(_diagrams(run, checkers)),
            "plotly": packed_plotly(),
        },
    }


def _diagrams(run: Run, checkers: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Space-time diagrams by finding: of each checker's first ones."""
    if not run.evidence:
        return {}
    by_index, drawing = _by_index(run), SpaceTime(run)
    found = {}
    for finding in (each for it in checkers for each in it["findings"][:MAX_DIAGRAMS]):
        if finding["window"]:
            operations = [by_index[op["index"]] for op in finding["operations"]]
            from_s, to_s = finding["window"]
            proof = Proof(from_s, to_s, operations, finding["events"])
            found[finding["id"]] = drawing.drawn(proof)
    return {ident: picture for ident, picture in found.items() if picture}


def _verdict(run: Run) -> str:
    said = str((run.verdict or {}).get("verdict"))
    return said if said in MEANING else "UNKNOWN"


def _repeat(run: Run) -> list[str]:
    """Command lines that do it again: what was typed with the seed that was drawn, and replay."""
    commands = []
    argv = [str(word) for word in run.plan.get("argv") or ()]
    if "run" in argv[:2] and "seed" in run.plan:
        words = argv[argv.index("run") :]
        for option, value in (("--seed", run.plan["seed"]), ("--hosts", run.plan.get("hosts"))):
            if value is not None and not any(re.match(f"{option}(=|$)", word) for word in words):
                words += [option, str(value)]
        commands.append(shlex.join(["python", "-m", "framework", *words]))
    if run.plan:
        commands.append(shlex.join(["python", "-m", "framework", "replay", str(run.folder)]))
    return commands


def _facts(run: Run) -> list[tuple[str, Any]]:
    """What was run, for the box below the header."""
    plan = run.plan
    outcomes = {name: run.answers.count(name) for name in OUTCOMES}
    facts = [
        ("started", str(plan.get("started") or "").replace("T", " ").replace("+00:00", " UTC")),
        ("length", f"{run.end_s:.1f} s"),
        ("went on for", plan.get("went_on")),
        ("not given by the machine", _share_taken(run)),
        ("operations", f"{len(run.answers):,}"),
        *((name, f"{count:,}") for name, count in outcomes.items()),
        ("nodes asked", f"{len(run.observations):,} times" if run.observations else None),
        ("system", plan.get("system")),
        ("hosts", plan.get("hosts")),
        ("nodes", ", ".join(plan.get("nodes") or {})),
        ("workloads", ", ".join(plan.get("workloads") or ())),
        ("nemeses", ", ".join(plan.get("nemeses") or ()) or "none"),
        ("seed", plan.get("seed")),
        ("defect put in", (plan.get("options") or {}).get("defect")),
    ]
    facts += [
        (key.removesuffix("_s").replace("_", " "), f"{value} s" if key.endswith("_s") else value)
        for key, value in ((run.verdict or {}).get("timings") or {}).items()
        if not key.startswith(PHASE)
    ]
    return [(name, value) for name, value in facts if value not in (None, "")]


def _share_taken(run: Run) -> str | None:
    """Of the run's time; None: hardly any, or it was not measured."""
    spans = (run.plan.get("machine") or {}).get("took") or ()
    share = sum(took for _, _, took in spans) / 1000 / max(run.end_s, 1)
    return f"{min(share, 1):.0%} of the time" if share >= TAKEN else None


def checker_rows(
    entries: Iterable[CheckerDocument], by_index: Mapping[int, Operation], zero_ns: int = 0
) -> list[dict[str, Any]]:
    """The checkers' entries of verdict.json, worst first, their findings with the operations
    looked up."""
    found = []
    for entry in entries:
        all_findings = entry.get("findings") or ()
        found.append(
            {
                "name": entry.get("name", ""),
                "verdict": entry.get("verdict", "UNKNOWN"),
                "summary": entry.get("summary", ""),
                "seen": entry.get("seen", 0),
                "keys": entry.get("keys"),
                "contracts": entry.get("contracts") or (),
                "clauses": entry.get("clauses") or (),
                "share": share(each.get("verdict") for each in entry.get("clauses") or ()),
                "options": entry.get("options") or "",
                "note": entry.get("note") or "",
                "figures": arranged(entry.get("figures") or {}),
                "total": len(all_findings),
                "findings": [
                    {
                        "id": f"finding-{entry.get('name', '')}-{number}",
                        **_finding(each, by_index, zero_ns),
                    }
                    for number, each in enumerate(all_findings[:MAX_FINDINGS], 1)
                ],
            }
        )
    return sorted(found, key=lambda each: _ORDER.get(each["verdict"], 1))


def _by_index(run: Run) -> dict[int, Operation]:
    """Operations by the index of either of their events."""
    known = (*run.operations, *run.observations)
    found = {op.end: op for op in known if op.end is not None}
    return found | {op.index: op for op in known}


def _named(run: Run) -> frozenset[int]:
    """Indices of the invocations of all operations that findings name."""
    by_index = _by_index(run)
    return frozenset(
        by_index[number].index for number in numbers_of(run.verdict or {}) if number in by_index
    )


def _finding(
    finding: FindingDocument, by_index: Mapping[int, Operation], zero_ns: int
) -> dict[str, Any]:
    message, *lines = str(finding.get("message", "")).split("\n")
    numbers = list(dict.fromkeys(finding.get("operations") or ()))
    operations = list({by_index[n].index: by_index[n] for n in numbers if n in by_index}.values())
    events = [_event_row(event, zero_ns) for event in finding.get("events") or ()]
    return {
        "window": _window(operations, events),
        "key": finding.get("key"),
        "message": message,
        "lines": lines,
        "contracts": finding.get("contracts") or (),
        "promise": finding.get("promise") or "",
        "picture": picture_of(finding.get("picture")),
        "operations": [_operation_row(op) for op in operations],
        "absent": [n for n in numbers if n not in by_index],
        "events": events,
    }


def _window(
    operations: Iterable[Operation], events: Iterable[Mapping[str, Any]]
) -> tuple[float, float] | None:
    """From the first to the last that proves a finding, in s; None: nothing has a time."""
    times = [
        time_s
        for op in operations
        if op.invoked_ns is not None
        for time_s in (start_s(op), end_s(op))
    ]
    times += [event["time_s"] for event in events if event["time_s"] is not None]
    return (min(times), max(times)) if times else None


def picture_of(picture: Any) -> Markup:
    """Inline SVG; nothing if there is no picture, or none that can be drawn."""
    if not picture:
        return Markup()
    try:
        return Markup(svg(picture))  # made of numbers and escaped text
    except Exception as error:
        log.warning("a picture of a finding could not be drawn: %s", error)
        return Markup()


def _operation_row(op: Operation) -> dict[str, Any]:
    return {
        "index": op.index,
        "from_s": None if op.invoked_ns is None else op.invoked_ns / NS,
        "to_s": None if op.completed_ns is None else op.completed_ns / NS,
        "is_open": op.end is None,
        "process": op.process,
        "node": op.node or "",
        "f": op.f,
        "key": op.key,
        "value": op.value,
        "outcome": op.type,
        "result": list(op.error) if op.error is not None else op.result,
        "ext": op.ext,
    }


def _event_row(event: Mapping[str, Any], zero_ns: int) -> dict[str, Any]:
    """A node event. Its clock is the machine's as nodes write it, or already the run's: told
    apart by which of the two is nearer, as runs are short beside the time since boot."""
    time_ns = event.get("time_ns")
    if isinstance(time_ns, int) and time_ns > zero_ns / 2:
        time_ns -= zero_ns
    shown = ("time_ns", "node", "type", "incarnation", "run")
    return {
        "time_s": time_ns / NS if isinstance(time_ns, int) else None,
        "node": event.get("node", ""),
        "type": event.get("type", ""),
        "fields": {key: value for key, value in event.items() if key not in shown},
        "all": event,
    }


def _ledger_row(injection: Injection) -> dict[str, Any]:
    return {
        "injection": injection,
        "bit": _BIT[injection.bites("probed-during")],
        "healed": _HEALED[injection.bites("probed-after")],
    }
