"""docs/requirements.md is complete, what it names is there and says so itself, and what cites a
line of it finds one.

Every line of every section has its row, in order. A row names tests whose docstrings have its
number, or checkers, or says what is not shown and why. Tests are read, not imported.
"""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "requirements.md"
LINES = {
    "A.1": 101,
    "A.2": 18,
    "A.3": 17,
    "A.4": 21,
    "A.5": 17,
    "A.6": 13,
    "A.7": 17,
    "B.2": 18,
    "B.3": 10,
    "B.4": 6,
    "B.9": 12,
}
"""How many lines each section has."""
SINGLE = ("B.1", "B.6", "B.8", "B.10", *(f"D.{number}" for number in range(26)))
"""Sections that are one line."""
NOT_MET = ("A.1.1",)
"""Lines that the page may call "not met"."""

LINE = r"[AB]\.\d\.\d+|[ABD]\.\d+"
ROW = re.compile(rf"\| ({LINE}) \| (.+?) \| (.+) \|")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
CHECKER = re.compile(r"checker `([\w-]+)`")
STATUS = re.compile(r"(does not apply|not met|in part): (\S.*?)(?:<br>|$)")
NUMBER = r"(?:[AB]\.\d\.)?\d+(?!\w)"
NUMBERS = re.compile(rf"\b([AB]\.\d)\.(\d+)((?: ?- ?{NUMBER}|, {NUMBER}|,? and {NUMBER})*)")
FURTHER = re.compile(r"(-|, |and )\s*(?:([AB]\.\d)\.)?(\d+)")
ONE_LINE = re.compile(r"\b(B\.(?:1|6|8|10)|D\.\d+)\b(?!\.\d)")
CITED = re.compile(r"(?<![\w.])([ABD]\.\d+(?:\.\d+)?)(?![\w.]*\w\()")


def numbers(text: str) -> set[str]:
    """The lines that a text names: "A.1.37", "A.1.66-70", "A.1.71, 73 and A.7.2", "D.10"."""
    found = set(ONE_LINE.findall(text))
    for match in NUMBERS.finditer(text):
        section, last = match[1], int(match[2])
        found.add(f"{section}.{last}")
        for join, other, number in FURTHER.findall(match[3]):
            section = other or section
            first = last + 1 if join == "-" else int(number)
            found |= {f"{section}.{each}" for each in range(first, int(number) + 1)}
            last = int(number)
    return found


@cache
def docstrings(path: Path) -> dict[str, str]:
    """Of the tests in a file."""
    return {
        node.name: ast.get_docstring(node) or ""
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


def rows() -> Iterator[tuple[str, str, str]]:
    """Line, statement, and by what it is shown."""
    for line in PAGE.read_text().splitlines():
        match = ROW.fullmatch(line)
        if match:
            yield match[1], match[2], match[3]
        else:
            assert not re.match(r"\| *[ABD]\.\d", line), f"no row of the page's form: {line}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A.1.37", {"A.1.37"}),
        ("A.1.66-68: x", {"A.1.66", "A.1.67", "A.1.68"}),
        ("A.1.94-A.1.95 as", {"A.1.94", "A.1.95"}),
        ("A.1.71, 73, B.2.5.", {"A.1.71", "A.1.73", "B.2.5"}),
        ("A.1.8 and A.7.2", {"A.1.8", "A.7.2"}),
        ("A.2.17 (c), A.5.3", {"A.2.17", "A.5.3"}),
        ("A.1.19: 31 at the top; B.2 rule 4; KIP-631", {"A.1.19"}),
        ("D.10, B.6 (KAFKA-1), B.9.3", {"D.10", "B.6", "B.9.3"}),
    ],
)
def test_numbers_are_read_as_they_are_meant(text: str, found: set[str]) -> None:
    assert numbers(text) == found


def test_every_line_has_its_row() -> None:
    expected = [
        f"{section}.{each}" for section, last in LINES.items() for each in range(1, last + 1)
    ]
    said = [line for line, _, _ in rows()]
    assert len(said) == len(set(said))
    assert set(said) == {*expected, *SINGLE}
    assert [line for line in said if line in expected] == expected
    assert all(len(statement) > 10 for _, statement, _ in rows())


def test_every_row_names_tests_that_say_so_or_a_reason() -> None:
    checkers = _checkers()
    wrong = []
    for line, _, shown in rows():
        named, status = NAMED.findall(shown), STATUS.match(shown)
        judged = CHECKER.findall(shown)
        rest = STATUS.sub("", CHECKER.sub("", NAMED.sub("", shown)), count=1).replace("<br>", "")
        if rest or not (status or named or judged):
            wrong.append(f"{line} has neither tests nor a reason: {shown}")
        wrong += [f"{line}: there is no checker {name}" for name in judged if name not in checkers]
        for path, name in named:
            known = docstrings(ROOT / path) if (ROOT / path).is_file() else {}
            if name not in known:
                wrong.append(f"{line}: there is no {path}::{name}")
            elif line not in numbers(known[name]):
                wrong.append(f"{line}: the docstring of {path}::{name} lacks it")
    assert wrong == []


def _checkers() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return set(project["entry-points"]["framework.checkers"])


def test_what_is_not_met_is_known_and_all_is_counted() -> None:
    said = Counter(match[1] if (match := STATUS.match(by)) else "shown" for _, _, by in rows())
    assert tuple(line for line, _, by in rows() if by.startswith("not met:")) == NOT_MET
    counted = (
        f"Of {said.total()} lines {said['shown']} are shown, {said['in part']} in part, "
        f"{said['not met']} {'is' if said['not met'] == 1 else 'are'} not met, "
        f"and {said['does not apply']} do not apply."
    )
    assert counted in " ".join(PAGE.read_text().split())


def test_every_citation_finds_its_line() -> None:
    """In code, tests and documents; "B.2 rule 4", "A.5": a section."""
    known = {line for line, _, _ in rows()}
    known |= {line.rpartition(".")[0] for line in known if line.count(".") == 2}
    tracked = subprocess.run(
        ["git", "ls-files", "*.py", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / name for name in tracked.stdout.split()]
    wrong = [
        f"{path.relative_to(ROOT)}: {cited}"
        for path in files
        if path.is_file() and path != Path(__file__)
        for cited in sorted({*CITED.findall(path.read_text()), *numbers(path.read_text())} - known)
    ]
    assert wrong == []
