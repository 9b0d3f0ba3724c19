"""Annotations for GitHub Actions: what a job says beside its log, in a workflow command a line.

https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

import os
import sys
from collections.abc import Iterator
from typing import Final

from framework.checking.documents import CheckerDocument, VerdictDocument

MAX_FINDINGS: Final = 10
"""Annotations of one checker: GitHub shows no more of a step."""
_MAX_OPERATIONS: Final = 12


def listening() -> bool:
    """Whether GitHub Actions does."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def annotate(verdict: VerdictDocument, where: str) -> None:
    """Prints the annotations where GitHub Actions listens. To stderr, which it reads too: stdout
    may be JSON."""
    if not listening():
        return
    for line in annotations(verdict, where):
        print(line, file=sys.stderr, flush=True)


def annotations(verdict: VerdictDocument, where: str) -> Iterator[str]:
    """An error for each finding, a warning for each UNKNOWN checker. `verdict`: as in
    verdict.json; `where`: the run's folder, or the history. What is neither, and not VALID, is
    said in a line all the same."""
    silent = True
    for checker in verdict.get("checkers") or ():
        for line in _of_checker(checker, where):
            silent = False
            yield line
    said = str(verdict.get("verdict"))
    if silent and said != "VALID":
        why = "; ".join(str(note) for note in verdict.get("notes") or ())
        kind = "error" if said == "INVALID" else "warning"
        yield _line(kind, said, why or "no checker says why", where)


def _of_checker(checker: CheckerDocument, where: str) -> Iterator[str]:
    name = str(checker.get("name"))
    findings = checker.get("findings") or ()
    for finding in findings[:MAX_FINDINGS]:
        key = f"{finding['key']}: " if finding.get("key") else ""
        numbers = [str(number) for number in finding.get("operations") or ()]
        more = ", ..." if len(numbers) > _MAX_OPERATIONS else ""
        named = f" (operations {', '.join(numbers[:_MAX_OPERATIONS])}{more})" if numbers else ""
        yield _line("error", name, f"{key}{finding.get('message', '')}{named}", where)
    if len(findings) > MAX_FINDINGS:
        yield _line("error", name, f"{len(findings) - MAX_FINDINGS} more findings", where)
    if checker.get("verdict") == "INVALID" and not findings:
        yield _line("error", name, str(checker.get("note") or "INVALID"), where)
    if checker.get("verdict") == "UNKNOWN":
        yield _line("warning", f"{name} UNKNOWN", str(checker.get("note") or ""), where)


def _line(kind: str, title: str, message: str, where: str) -> str:
    title = _escaped(title).replace(":", "%3A").replace(",", "%2C")
    return f"::{kind} title={title}::{_escaped(f'{message} [{where}]'.strip())}"


def _escaped(text: str) -> str:
    """Nothing that others wrote may end the command, or begin another."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
