"""The contract of every checker: what is clean is VALID, each violation that is planted for it is
INVALID and says why, and where there is nothing to see it is UNKNOWN. A checker that has no planted
violations fails it."""

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import pytest
from contract import Plants
from judging import judged
from planted_runs import Story

from framework.checking.clauses import section
from framework.checking.contracts import ALL as CONTRACTS
from framework.checking.results import CheckerResult
from framework.checking.run_checks import RunChecker
from framework.evidence.run_events import RunEvents
from framework.plugins import registry
from framework.verdict import Verdict

NAMES = registry.names("checkers")
PAGE = Path(__file__).parents[2] / "docs/clauses.md"


@dataclass(frozen=True)
class Case:
    """What there is of a checker. `judge` takes a story as the tables have it."""

    judge: Callable[[Any], CheckerResult]
    clean: Any
    planted: Mapping[str, tuple[tuple[str, ...], Callable[[], Any]]]
    nothing: Any
    verdict: Verdict = Verdict.INVALID


@cache
def loaded(name: str) -> Any:
    return registry.load("checkers", name)


def case(name: str) -> Case:
    checker = loaded(name)
    module = importlib.import_module("test_" + name.replace("-", "_"))
    if not isinstance(checker, RunChecker):
        made: Case = module.contract(Case, name)
        return made
    plants: Plants = module.PLANTED

    return Case(
        judge=partial(judged, checker),
        clean=plants.clean(),
        planted={each: (planted.words, planted.story) for each, planted in plants.items()},
        nothing=Story(),
        verdict=plants.verdict,
    )


@cache
def of_planted(name: str, violation: str) -> CheckerResult:
    it = case(name)
    _, story = it.planted[violation]
    return it.judge(story())


def violations() -> list[Any]:
    return [
        pytest.param(name, each, id=f"{name}: {each}")
        for name in NAMES
        for each in case(name).planted
    ]


@pytest.mark.parametrize("name", NAMES)
def test_clean_run_is_valid(name: str) -> None:
    it = case(name)
    result = it.judge(it.clean)
    assert result.verdict is Verdict.VALID, (result.note, result.findings)
    assert result.seen > 0


@pytest.mark.parametrize("name", NAMES)
def test_nothing_to_see_is_unknown(name: str) -> None:
    it = case(name)
    result = it.judge(it.nothing)
    assert result.verdict is Verdict.UNKNOWN and result.note


@pytest.mark.parametrize("name", NAMES)
def test_has_planted_violations(name: str) -> None:
    assert case(name).planted


@pytest.mark.parametrize(("name", "violation"), violations())
def test_planted_violation_is_found(name: str, violation: str) -> None:
    it = case(name)
    words, _ = it.planted[violation]
    result = of_planted(name, violation)
    assert result.verdict is it.verdict, result.note
    said = [each.message for each in result.findings] or [result.note]
    assert any(all(word in text for word in words) for text in said), said
    for finding in result.findings:
        assert finding.operations or finding.events, "a finding without evidence"
        json.dumps(finding.events)


# --- clauses ------------------------------------------------------------------------------

WITH_CLAUSES = [name for name in NAMES if getattr(loaded(name), "clauses", ())]


@pytest.mark.parametrize("name", WITH_CLAUSES)
def test_every_clause_says_what_is_enough(name: str) -> None:
    clauses = loaded(name).clauses
    assert len({each.name for each in clauses}) == len(clauses)
    for each in clauses:
        assert each.floor >= 2, f"{each.name} is VALID on one sighting"
        assert each.says and each.compares and each.because
        assert each.sources and set(each.sources) <= set(CONTRACTS)


@pytest.mark.parametrize("name", WITH_CLAUSES)
def test_every_clause_holds_where_all_is_clean(name: str) -> None:
    it = case(name)
    for each in it.judge(it.clean).clauses:
        assert each.verdict is Verdict.VALID, f"{each.name}: {each.compared}, {each.note}"


@pytest.mark.parametrize("name", WITH_CLAUSES)
def test_every_clause_has_a_planted_violation(name: str) -> None:
    it = case(name)
    broken: set[str] = set()
    for each in it.planted:
        result = of_planted(name, each)
        broken |= {each.name for each in result.clauses if each.verdict is it.verdict}
        if len(result.clauses) > 1:
            assert {each.clause for each in result.findings} <= {
                each.name for each in result.clauses
            }
    assert broken == {each.name for each in loaded(name).clauses}


@pytest.mark.parametrize("name", NAMES)
def test_every_clause_is_on_the_page_as_it_is(name: str) -> None:
    """Its floor and its sources, too: who changes one has said so to readers."""
    _, _, rest = PAGE.read_text().partition(f"## {name}\n")
    on_page = rest.partition("\n## ")[0]
    assert section(name).strip() == f"## {name}\n{on_page}".strip(), "framework.checking.clauses"


# --- what could not be collected ----------------------------------------------------------

ON_EVIDENCE = [name for name in NAMES if isinstance(loaded(name), RunChecker)]


@dataclass(frozen=True)
class Uncollected:
    """A story whose harness could not copy what one node wrote."""

    story: Story
    node: str

    def run_events(self) -> RunEvents:
        events = self.story.run_events()
        return replace(
            events,
            evidence=[each for each in events.evidence if each.node != self.node],
            plan={**events.plan, "uncollected": {self.node: "the connection is lost"}},
        )


@pytest.mark.parametrize("name", ON_EVIDENCE)
def test_node_whose_files_could_not_be_collected_is_not_accused(name: str) -> None:
    it = case(name)
    nodes = {each.node for each in it.clean.run_events().evidence if each.node}
    for node in sorted(nodes.union(it.clean.plan.get("nodes") or ())):
        result = it.judge(Uncollected(it.clean, node))
        assert result.verdict is not Verdict.INVALID, (node, result.findings)


# --- clocks -------------------------------------------------------------------------------


def with_own_clocks(story: Story, within_ns: int) -> Story:
    """The same run on machines of which each has a clock of its own, hours apart, that the harness
    has measured up to `within_ns`."""
    nodes = sorted({each.node for each in story.events} | set(story.plan.get("nodes") or ()))
    story.ahead_ns = {node: (-1) ** at * (at + 1) * HOUR_NS for at, node in enumerate(nodes)}
    clocks = {
        node: {"samples": [{"at_ns": 0, "offset_ns": ahead_ns, "within_ns": within_ns}]}
        for node, ahead_ns in story.ahead_ns.items()
    }
    story.plan = {**story.plan, "hosts": "ssh", "clocks": clocks}
    return story


HOUR_NS = 3_600_000_000_007
CLOSE_NS = 1_000
"""Far below the steps in which stories are told."""


@pytest.mark.parametrize("within_ns", [0, CLOSE_NS])
@pytest.mark.parametrize("name", ON_EVIDENCE)
def test_clean_run_on_machines_with_own_clocks_is_valid(name: str, within_ns: int) -> None:
    it = case(name)
    result = it.judge(with_own_clocks(it.clean, within_ns))
    assert result.verdict is Verdict.VALID, (result.note, result.findings)


HERE_ALONE: Final = {
    "a pause that a disk tells of",
    "a pause that a disk tells of, of another node than the paused one",
}
"""What a node elsewhere may owe to its machine, of which nobody measures what it gives."""


@pytest.mark.parametrize(
    ("name", "violation"),
    [
        each
        for each in violations()
        if each.values[0] in ON_EVIDENCE and each.values[1] not in HERE_ALONE
    ],
)
def test_violation_is_found_on_machines_with_own_clocks(name: str, violation: str) -> None:
    it = case(name)
    words, story = it.planted[violation]
    result = it.judge(with_own_clocks(story(), CLOSE_NS))
    assert result.verdict is it.verdict, result.note
    said = [each.message for each in result.findings] or [result.note]
    assert any(all(word in text for word in words) for text in said), said


@pytest.mark.parametrize("name", ON_EVIDENCE)
def test_clean_run_whose_clocks_nobody_knows_is_not_accused(name: str) -> None:
    it = case(name)
    it.clean.plan = {**it.clean.plan, "hosts": "ssh"}
    result = it.judge(it.clean)
    assert result.verdict is not Verdict.INVALID, result.findings


WITHIN_THE_UNCERTAINTY = [
    ("uncommitted-never-visible", "applied a moment before it was durable"),
    ("effects-once", "which had been removed before it began"),
    ("effects-once", "create that began later"),
    ("convergence", "node stays behind"),
    ("convergence", "partition without a leader though a broker of its isr works"),
    ("committed-never-lost", "node lacks a committed record at the end"),
]


@pytest.mark.parametrize(("name", "violation"), WITHIN_THE_UNCERTAINTY)
def test_within_the_uncertainty_of_clocks_nothing_is_decided(name: str, violation: str) -> None:
    it = case(name)
    _, story = it.planted[violation]
    assert it.judge(story()).verdict is Verdict.INVALID
    result = it.judge(with_own_clocks(story(), HOUR_NS))
    assert result.verdict is not Verdict.INVALID, result.findings
