"""`verdict.json` in types, as whoever shows a verdict reads it. A file may be of an older release,
or somebody else's, so that any of its members may be missing."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from framework.history.event import Json


class FindingDocument(TypedDict, total=False):
    """What was found wrong, of a key, by these operations and pieces of evidence. `promise`: what
    it breaks, where the system says who promises that."""

    message: str
    key: str
    clause: str
    contracts: Sequence[str]
    operations: Sequence[int]
    events: Sequence[Mapping[str, Json]]
    picture: Mapping[str, Json]
    promise: str


class ClauseDocument(TypedDict, total=False):
    """What was compared for a clause. `verdict` null: the run gave no occasion."""

    name: str
    says: str
    verdict: str | None
    compared: int
    floor: int
    compares: str
    note: str
    sources: Sequence[str]


class CheckerDocument(TypedDict, total=False):
    """What one checker came to."""

    name: str
    summary: str
    options: str
    verdict: str
    seen: int
    keys: int
    figures: Mapping[str, Json]
    note: str
    contracts: Sequence[str]
    findings: Sequence[FindingDocument]
    clauses: Sequence[ClauseDocument]


class VerdictDocument(TypedDict, total=False):
    """What a run, or a file, came to. `not_applicable`: checkers and why they had nothing to do."""

    verdict: str
    run: str
    checkers: Sequence[CheckerDocument]
    not_applicable: Mapping[str, str]
    notes: Sequence[str]
    timings: Mapping[str, float]
    interrupted: bool
    judged: str
