"""Levels of features, as brokers tell them and as updates were granted (KIP-584)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from checkers.folds.history.values import features, update_feature
from framework.checking.findings import finding
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

FEATURES: Final = "features"
UPDATE: Final = "update-feature"


@dataclass(frozen=True, slots=True)
class Level:
    """An operation tells that a feature has this level, or was granted it. `epoch`: up to where the
    one that tells it knows the metadata log; None: of a grant."""

    operation: Operation
    name: str
    level: int
    epoch: int | None = None


def told(operations: Iterable[Operation]) -> Sequence[Level]:
    """What brokers told of features that have a level, in the order of their epochs."""
    return _in_order(
        Level(each, one["name"], one["level"], features(each)["epoch"])
        for each in level_answers(operations)
        for one in features(each)["features"]
        if one["level"] is not None
    )


def untold(operations: Iterable[Operation], names: Collection[str]) -> Iterator[Level]:
    """Level 0, wherever a broker that knows of the log gives one of these features none: it names
    it without, or leaves it out."""
    for each in level_answers(operations):
        answer = features(each)
        given = {one["name"] for one in answer["features"] if one["level"] is not None}
        if answer["epoch"] >= 0:
            left = (name for name in names if name not in given)
            yield from (Level(each, name, 0, answer["epoch"]) for name in left)


def level_answers(operations: Iterable[Operation]) -> Iterator[Operation]:
    """In which brokers tell of features."""
    for each in operations:
        if each.f == FEATURES and each.ok and isinstance(each.result, dict):
            yield each


def _in_order(levels: Iterable[Level]) -> Sequence[Level]:
    return sorted(levels, key=lambda each: (each.name, each.epoch or 0, each.operation.index))


def granted(operations: Iterable[Operation]) -> Sequence[Level]:
    """Updates that were answered ok, in the order of their invocation: not those that were only to
    be tried."""
    return [
        Level(each, str(each.key), update_feature(each)["level"])
        for each in operations
        if each.f == UPDATE and each.ok and not update_feature(each).get("dry")
    ]


def fallen(levels: Sequence[Level]) -> Iterator[tuple[Level, Level]]:
    """Of what `told` has: an answer, and one that tells a lower level of no earlier epoch, or
    another one of the same."""
    for before, after in pairwise(levels):
        if before.name != after.name:
            continue
        if after.level < before.level or (
            after.epoch == before.epoch and after.level != before.level
        ):
            yield before, after


def lowered(grants: Sequence[Level]) -> Iterator[tuple[Level, Level]]:
    """A grant, and a later one of a lower level."""
    for number, after in enumerate(grants):
        for before in grants[:number]:
            if (
                before.name == after.name
                and before.level > after.level
                and before.operation.precedes(after.operation)
            ):
                yield before, after
                break


def forgotten(levels: Sequence[Level], grants: Sequence[Level]) -> Iterator[tuple[Level, Level]]:
    """A grant of the main phase, and a lower level that somebody told in the final one, once the
    cluster had settled."""
    before = [grant for grant in grants if grant.operation.phase != "final"]
    for each in levels:
        if each.operation.phase == "final":
            named = (one for one in before if one.name == each.name)
            higher = next((one for one in named if one.level > each.level), None)
            if higher is not None:
                yield higher, each


def levels_kept(operations: Sequence[Operation], agreed: bool) -> tuple[int, list[Finding]]:
    """How many levels were told after others had been, and what is wrong. `agreed`: the cluster was
    seen to settle, so that in the end all tell what was granted."""
    named, grants = told(operations), granted(operations)
    names = {each.name for each in (*named, *grants)}
    levels = _in_order([*named, *untold(operations, names)])
    wrong = [
        (
            before,
            after,
            f"is at level {after.level} by operation {after.operation.index}, as of {after.epoch} "
            f"in the log, and at {before.level} by operation {before.operation.index}, as of "
            f"{before.epoch}",
        )
        for before, after in fallen(levels)
    ]
    wrong += [
        (
            before,
            after,
            f"was granted level {after.level} by operation {after.operation.index}, after "
            f"{before.level} by operation {before.operation.index}",
        )
        for before, after in lowered(grants)
    ]
    wrong += [
        (
            before,
            after,
            f"was granted level {before.level} by operation {before.operation.index}, and is at "
            f"{after.level} in the end, operation {after.operation.index}",
        )
        for before, after in (forgotten(levels, grants) if agreed else ())
    ]
    found = [
        finding(f"feature {after.name} {what}", [before.operation, after.operation])
        for before, after, what in wrong
    ]
    return len(named) - len({each.name for each in named}), found
