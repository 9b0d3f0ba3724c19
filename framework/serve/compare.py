"""In what two runs differ: what was asked, what was found, what was measured. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from framework.history.event import Json
from framework.report.data import Run
from framework.report.story import story

_OWN: Final = (
    "argv",
    "nodes",
    "time_zero",
    "time_zero_ns",
    "harness_pid",
    "capabilities",
    "clocks",
)
"""Of a plan: what differs between any two runs, or says nothing by itself."""
ABSENT: Final = "absent"


@dataclass(frozen=True, slots=True)
class Difference:
    name: str
    values: tuple[Json, Json]

    @property
    def differs(self) -> bool:
        return self.values[0] != self.values[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Every list in the order of the first run, what only the second has behind it."""

    story: Sequence[Difference]
    plan: Sequence[Difference]
    """Only what differs."""
    checkers: Sequence[Difference]
    """Verdicts: only what differs."""
    same: int
    """Checkers with the same verdict in both."""
    clauses: Sequence[Difference]
    """Verdicts: only what differs."""
    figures: Sequence[Difference]
    """Only what differs: timings, and figures of checkers."""


def compared(first: Run, second: Run) -> Comparison:
    checkers = _differences(_verdicts(first), _verdicts(second))
    return Comparison(
        story=_differences(_story(first), _story(second)),
        plan=[each for each in _differences(_plan(first), _plan(second)) if each.differs],
        checkers=[each for each in checkers if each.differs],
        same=sum(not each.differs for each in checkers),
        clauses=[each for each in _differences(_clauses(first), _clauses(second)) if each.differs],
        figures=[each for each in _differences(_figures(first), _figures(second)) if each.differs],
    )


def _differences(first: Mapping[str, Json], second: Mapping[str, Json]) -> list[Difference]:
    names = dict.fromkeys([*first, *second])
    return [Difference(name, (first.get(name, ABSENT), second.get(name, ABSENT))) for name in names]


def _story(run: Run) -> dict[str, Json]:
    return {line.about: line.says for line in story(run)}


def _plan(run: Run) -> dict[str, Json]:
    return _flat({key: value for key, value in run.plan.items() if key not in _OWN})


def _flat(value: Mapping[str, Any], before: str = "") -> dict[str, Json]:
    """`{"a": {"b": 1}}` as `{"a.b": 1}`."""
    found: dict[str, Json] = {}
    for key, each in value.items():
        if isinstance(each, dict) and each:
            found |= _flat(each, f"{before}{key}.")
        else:
            found[f"{before}{key}"] = each
    return found


def _entries(run: Run) -> list[Mapping[str, Any]]:
    return [each for each in (run.verdict or {}).get("checkers") or () if isinstance(each, dict)]


def _verdicts(run: Run) -> dict[str, Json]:
    found: dict[str, Json] = {str(each.get("name")): each.get("verdict") for each in _entries(run)}
    missing = (run.verdict or run.plan).get("not_applicable") or {}
    return found | dict.fromkeys(missing, "NOT APPLICABLE")


def _clauses(run: Run) -> dict[str, Json]:
    return {
        f"{each.get('name')}: {clause.get('name')}": clause.get("verdict") or "NOT APPLICABLE"
        for each in _entries(run)
        for clause in each.get("clauses") or ()
    }


def _figures(run: Run) -> dict[str, Json]:
    found: dict[str, Json] = dict((run.verdict or {}).get("timings") or {})
    for each in _entries(run):
        found |= {
            f"{each.get('name')}: {key}": it for key, it in (each.get("figures") or {}).items()
        }
        found[f"{each.get('name')}: saw"] = each.get("seen")
    return found
