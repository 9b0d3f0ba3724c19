"""Options of checkers: each changes what is judged, and is told in docs/checking.md."""

import dataclasses
import importlib
from pathlib import Path
from typing import Any

import pytest
from contract import Plants

from framework.checking.run_checks import RunChecker
from framework.errors import UsageError
from framework.plugins import registry
from framework.plugins.options import Named, create
from framework.verdict import Verdict

CLEAN = ""
CASES = [
    ("availability", "creates alone time out", "recovery=90", Verdict.VALID),
    ("convergence", CLEAN, "catch_up=0.0005", Verdict.INVALID),
    ("faults-bit", CLEAN, "least=3", Verdict.UNKNOWN),
    ("isolation", "one kind of them", "share=0.9", Verdict.VALID),
    ("isolation", "those of one node", "busy=0.4", Verdict.UNKNOWN),
    ("process-health", "stood still for 1500 ms", "stall=2", Verdict.VALID),
    ("process-health", "b2 fell silent", "silence=90", Verdict.VALID),
    ("process-health", "started again 12 s before", "boot=20", Verdict.VALID),
    ("controlled-shutdown-safety", "4 of 4 produces to t/0", "outage=4", Verdict.VALID),
    ("controlled-shutdown-safety", "5 of 6 produces to t/0", "share=0.9", Verdict.VALID),
    ("controlled-shutdown-safety", "4 of 4 produces to t/0", "afterwards=0.001", Verdict.VALID),
]
OF_SEARCHES = {"budget"}
"""How long is searched: what is found does not depend on it."""


def options_of_checkers() -> dict[str, set[str]]:
    found = {}
    for name in registry.names("checkers"):
        options = getattr(registry.find("checkers", name), "Options", None)
        if options is not None:
            found[name] = {field.name for field in dataclasses.fields(options)}
    return found


@pytest.mark.parametrize(("name", "planted", "options", "verdict"), CASES)
def test_an_option_changes_the_verdict(
    name: str, planted: str, options: str, verdict: Verdict
) -> None:
    plants: Plants = importlib.import_module("test_" + name.replace("-", "_")).PLANTED
    if planted == CLEAN:
        story = plants.clean()
    else:
        (story,) = (each.story() for title, each in plants.items() if planted in title)

    def judged(text: str) -> Any:
        checker: RunChecker = create("checkers", Named(name, text))
        return checker.check_run(story.run_events()).verdict  # type: ignore[union-attr]

    assert judged("") is (Verdict.VALID if planted == CLEAN else Verdict.INVALID)
    assert judged(options) is verdict


@pytest.mark.parametrize(
    ("name", "option"),
    sorted({(name, options.partition("=")[0]) for name, _, options, _ in CASES}),
)
def test_an_option_that_makes_no_sense_is_refused(name: str, option: str) -> None:
    with pytest.raises(UsageError, match=option):
        create("checkers", Named(name, f"{option}=0"))


def test_every_option_has_a_case() -> None:
    tried = {(name, options.partition("=")[0]) for name, _, options, _ in CASES}
    there = {(name, each) for name, fields in options_of_checkers().items() for each in fields}
    assert {(name, each) for name, each in there if each not in OF_SEARCHES} == tried


def test_every_option_is_reported() -> None:
    page = (Path(__file__).parents[2] / "docs" / "checking.md").read_text()
    for name, fields in options_of_checkers().items():
        for field in fields:
            assert any(f"`{name}`" in line and f"`{field}`" in line for line in page.splitlines())
