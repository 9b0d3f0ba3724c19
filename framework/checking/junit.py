"""Results as JUnit XML: a suite for each run or file, a test case for each checker."""

import os
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from framework.checking.results import CheckerResult, RunResult
from framework.errors import UsageError
from framework.verdict import Verdict


def need_target(target: Path, option: str = "--junit") -> None:
    """Raises `UsageError` where no file can be written: before a run, not after it."""
    folder = next(parent for parent in target.absolute().parents if parent.exists())
    if target.is_dir():
        raise UsageError(f"{option} {target}: that is a folder; name a file")
    if not folder.is_dir() or not os.access(target if target.exists() else folder, os.W_OK):
        raise UsageError(f"{option} {target}: it cannot be written there")


def write_junit(results: Iterable[RunResult], target: Path) -> None:
    """INVALID is a failure, UNKNOWN an error: neither passes. NOT APPLICABLE is skipped."""
    root = ElementTree.Element("testsuites", name="kraft-proof")
    for result in results:
        verdicts = [checker.verdict for checker in result.checkers]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=result.run,
            tests=str(len(verdicts) + len(result.not_applicable)),
            failures=str(sum(verdict is Verdict.INVALID for verdict in verdicts)),
            errors=str(sum(verdict is Verdict.UNKNOWN for verdict in verdicts)),
            skipped=str(len(result.not_applicable)),
            time=str(round(sum(result.timings.values()), 3)),
        )
        for checker in result.checkers:
            _case(suite, result, checker)
        for name, reason in result.not_applicable.items():
            case = ElementTree.SubElement(suite, "testcase", classname=result.run, name=name)
            ElementTree.SubElement(case, "skipped", message=_xml(reason))
    target.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(target, encoding="utf-8", xml_declaration=True)


def _case(suite: ElementTree.Element, result: RunResult, checker: CheckerResult) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=result.run, name=checker.name)
    if checker.verdict is Verdict.INVALID:
        message = checker.findings[0].message if checker.findings else "INVALID"
        problem = ElementTree.SubElement(case, "failure", type="INVALID", message=_xml(message))
        problem.text = _xml("\n".join(finding.message for finding in checker.findings))
    elif checker.verdict is Verdict.UNKNOWN:
        ElementTree.SubElement(case, "error", type="UNKNOWN", message=_xml(checker.note))


def _xml(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(c if c in "\t\n" or c >= " " else "?" for c in text)
