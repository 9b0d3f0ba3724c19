"""The end of a run or a check on the terminal: checkers, findings, and the verdict in a line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from framework.checking.clauses import share
from framework.checking.documents import CheckerDocument, VerdictDocument
from framework.report.story import Line
from framework.timings import PHASE

OUTCOME_STYLE: Final = {"ok": "green", "fail": "magenta", "info": "yellow"}
VERDICT_STYLE: Final = {"VALID": "bold green", "INVALID": "bold red", "UNKNOWN": "bold yellow"}
MEANING: Final = {
    "VALID": "every checker saw enough, and found nothing wrong (exit 0)",
    "INVALID": "a property was broken; the operations above prove it (exit 1)",
    "UNKNOWN": "nothing was found wrong, but not everything could be decided (exit 2)",
}
MAX_FINDINGS: Final = 5
"""Findings of one checker on the terminal; verdict.json and the report have all."""
_MAX_OPERATIONS: Final = 12


def summary(
    verdict: VerdictDocument, report: Path | None = None, story: Sequence[Line] = ()
) -> RenderableType:
    """What a verdict (as in verdict.json) says. `report`: where the page is, if it was drawn;
    `story`: the run in a few lines."""
    said = str(verdict.get("verdict", "UNKNOWN"))
    checkers = verdict.get("checkers") or ()
    parts: list[RenderableType] = [_table(checkers), *_notes(checkers)]
    parts += _not_applicable(verdict.get("not_applicable") or {})
    parts += [part for each in checkers if each.get("findings") for part in _findings(each)]
    parts += _story(story)
    parts += [Text(str(note), "yellow") for note in verdict.get("notes") or ()]
    for name, value in (verdict.get("timings") or {}).items():
        if name.startswith(PHASE):
            continue
        label = name.removesuffix("_s").replace("_", " ")
        parts.append(Text(f"{label}: {value}{' s' if name.endswith('_s') else ''}", "dim"))
    if verdict.get("interrupted"):
        parts.append(Text("The run was interrupted; what there was has been checked.", "yellow"))
    if report is not None:
        parts.append(Text(f"report: {report}", overflow="fold"))
    last = Text(said, VERDICT_STYLE.get(said, "bold")).append(f"  {MEANING.get(said, '')}", "none")
    return Group(*parts, last)


def _table(checkers: Sequence[CheckerDocument]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("verdict", no_wrap=True)
    table.add_column("checker", no_wrap=True)
    table.add_column("proved by")
    table.add_column("clauses", justify="right", no_wrap=True)
    table.add_column("saw", justify="right", no_wrap=True)
    for each in checkers:
        said = str(each.get("verdict", "UNKNOWN"))
        table.add_row(
            Text(said, VERDICT_STYLE.get(said, "")),
            Text(str(each.get("name", ""))).append(_given(each), "dim"),
            Text(", ".join(each.get("contracts") or ()), "dim"),
            share(clause.get("verdict") for clause in each.get("clauses") or ()),
            f"{int(each.get('seen') or 0):,}",
        )
    return table


def _story(lines: Sequence[Line]) -> list[RenderableType]:
    """A row a line, set apart from what is above and below."""
    if not lines:
        return []
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for line in lines:
        table.add_row(Text(line.about), Text(line.says))
    return [Text(""), table, Text("")]


def _notes(checkers: Sequence[CheckerDocument]) -> list[RenderableType]:
    """A paragraph for each checker of which there is more to say."""
    notes: list[RenderableType] = []
    for each in checkers:
        count = len(each.get("findings") or ())
        said = [f"{count} finding{'s' * (count > 1)}"] * (count > 0) + [each.get("note")]
        if note := ". ".join(str(part) for part in said if part):
            notes.append(Text(f"{each.get('name', '')}: ", "bold").append(note, "none"))
    return notes


def _given(checker: CheckerDocument) -> str:
    """A checker's options, as they are typed after its name."""
    return f":{checker['options']}" if checker.get("options") else ""


def _not_applicable(reasons: Mapping[str, str]) -> list[RenderableType]:
    """A line a reason: the checkers that have nothing to check for it."""
    names: dict[str, list[str]] = {}
    for name, reason in sorted(reasons.items()):
        names.setdefault(reason, []).append(name)
    return [
        Text(f"NOT APPLICABLE  {', '.join(who)}: {reason}", "dim") for reason, who in names.items()
    ]


def _findings(checker: CheckerDocument) -> list[RenderableType]:
    findings = checker["findings"]
    parts: list[RenderableType] = [Text(f"\n{checker.get('name', '')}", "bold")]
    for finding in findings[:MAX_FINDINGS]:
        line = Text("✗ ", "red").append(str(finding.get("message", "")), "none")
        if promise := finding.get("promise"):
            line.append(f"\n  promised by {promise}", "dim")
        operations = [str(number) for number in finding.get("operations") or ()]
        if operations:
            more = ", ..." if len(operations) > _MAX_OPERATIONS else ""
            shown = ", ".join(operations[:_MAX_OPERATIONS]) + more
            line.append(f"\n  operations {shown}", "cyan")
        parts.append(Padding(line, (0, 0, 0, 1)))
    if len(findings) > MAX_FINDINGS:
        parts.append(Text(f" and {len(findings) - MAX_FINDINGS} more", "dim"))
    return [*parts, Text("")]
