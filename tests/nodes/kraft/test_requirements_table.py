"""docs/requirements.md is complete, and what it names is there and says so itself.

Every line of every section has its row, in order. A row names tests whose docstrings have its
number, or says why there is none. Tests are read, not imported.
"""

from __future__ import annotations

import ast
import re
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
}
"""How many lines each section has."""
NOT_MET: tuple[str, ...] = ()
"""Lines that the page may call "not met". None."""

ROW = re.compile(r"\| ([AB]\.\d)\.(\d+) \| (.+?) \| (.+) \|")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
NUMBER = r"(?:[AB]\.\d\.)?\d+(?!\w)"
NUMBERS = re.compile(rf"\b([AB]\.\d)\.(\d+)((?: ?- ?{NUMBER}|, {NUMBER}|,? and {NUMBER})*)")
FURTHER = re.compile(r"(-|, |and )\s*(?:([AB]\.\d)\.)?(\d+)")


def numbers(text: str) -> set[tuple[str, int]]:
    """The lines that a text names: "A.1.37", "A.1.66-70", "A.1.71, 73 and A.7.2"."""
    found = set()
    for match in NUMBERS.finditer(text):
        section, last = match[1], int(match[2])
        found.add((section, last))
        for join, other, number in FURTHER.findall(match[3]):
            section = other or section
            first = last + 1 if join == "-" else int(number)
            found |= {(section, each) for each in range(first, int(number) + 1)}
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


def rows() -> Iterator[tuple[str, int, str, str]]:
    """Section, number, statement, and by what it is shown."""
    for line in PAGE.read_text().splitlines():
        match = ROW.fullmatch(line)
        if match:
            yield match[1], int(match[2]), match[3], match[4]
        else:
            assert not re.match(r"\| *[AB]\.\d", line), f"no row of the page's form: {line}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A.1.37", {("A.1", 37)}),
        ("A.1.66-68: x", {("A.1", 66), ("A.1", 67), ("A.1", 68)}),
        ("A.1.94-A.1.95 as", {("A.1", 94), ("A.1", 95)}),
        ("A.1.71, 73, B.2.5.", {("A.1", 71), ("A.1", 73), ("B.2", 5)}),
        ("A.1.8 and A.7.2", {("A.1", 8), ("A.7", 2)}),
        ("A.2.17 (c), A.5.3", {("A.2", 17), ("A.5", 3)}),
        ("A.1.19: 31 at the top; B.2 rule 4; KIP-631", {("A.1", 19)}),
    ],
)
def test_numbers_are_read_as_they_are_meant(text: str, found: set[tuple[str, int]]) -> None:
    assert numbers(text) == found


def test_every_line_has_its_row() -> None:
    expected = [(section, each) for section, last in LINES.items() for each in range(1, last + 1)]
    assert [(section, number) for section, number, _, _ in rows()] == expected
    assert all(len(statement) > 10 for _, _, statement, _ in rows())


def test_every_row_names_tests_that_say_so_or_a_reason() -> None:
    wrong = []
    for section, number, _, shown in rows():
        named = NAMED.findall(shown)
        reason = re.match(r"(does not apply|not met): \S{3}", shown)
        if not reason and (not named or NAMED.sub("", shown).replace("<br>", "")):
            wrong.append(f"{section}.{number} has neither tests nor a reason: {shown}")
        for path, name in named:
            known = docstrings(ROOT / path) if (ROOT / path).is_file() else {}
            if name not in known:
                wrong.append(f"{section}.{number}: there is no {path}::{name}")
            elif not reason and (section, number) not in numbers(known[name]):
                wrong.append(f"{section}.{number}: the docstring of {path}::{name} lacks it")
    assert wrong == []


def test_what_is_not_met_is_known() -> None:
    said = tuple(f"{s}.{n}" for s, n, _, shown in rows() if shown.startswith("not met:"))
    assert said == NOT_MET
    assert ('Nothing is marked "not met".' in PAGE.read_text()) == (not NOT_MET)


def test_docstrings_name_lines_that_there_are() -> None:
    wrong = [
        f"{path.name}::{name}: {section}.{number}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if path != Path(__file__)
        for name, text in docstrings(path).items()
        for section, number in numbers(text)
        if section in LINES and not 1 <= number <= LINES[section]
    ]
    assert wrong == []
