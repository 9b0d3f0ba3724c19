"""What follows from the table for a cluster of some releases: pure."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from framework.plugins.promise import Promised
from nodes.kafka.promises.made import MADE
from nodes.kafka.promises.not_made import NOT_MADE
from nodes.kafka.promises.rules import RULES
from nodes.kafka.promises.terms import Bounds, NoPromise, Promise

PROMISES: Final = (*MADE, *RULES)
_NOT_JUDGED: Final = frozenset({"not promised", "done otherwise"})


def capabilities_on(
    releases: Sequence[str], promises: Iterable[Promise] = PROMISES
) -> frozenset[str]:
    """Those of the framework's that a cluster has whose nodes are of these releases."""
    return frozenset(
        name
        for each in promises
        if each.bounds.hold(releases) and each.asked.hold(releases)
        for name in each.capabilities
    )


@lru_cache
def promised(
    releases: tuple[str, ...],
    promises: tuple[Promise, ...] = PROMISES,
    wanting: tuple[NoPromise, ...] = NOT_MADE,
    *,
    on: frozenset[str] = frozenset(),
) -> Mapping[str, Promised]:
    """`checker/clause` -> what promises it on all of these releases, or why nothing does. What
    nobody asks for, or only a node could tell of, is not among them. `on`: the features that the
    cluster begins with."""
    said = {
        clause: Promised(source=f"Apache Kafka does not promise {each.says}", made=False)
        for each in wanting
        if each.why in _NOT_JUDGED and _of_any(each.bounds, releases)
        for clause in each.clauses
    }
    sources: dict[str, dict[str, str]] = {}
    for promise in promises:
        made, bounds = promise.bounds.hold(releases, on), promise.bounds.text()
        for clause in promise.clauses:
            if not made:
                why = f"Apache Kafka promises it only {bounds} ({promise.source})"
                said.setdefault(clause, Promised(source=why, made=False))
                continue
            by = sources.setdefault(clause, {})
            by[promise.source] = bounds if by.get(promise.source, bounds) == bounds else ""
    return said | {clause: Promised(source=_listed(by)) for clause, by in sources.items()}


def _of_any(bounds: Bounds, releases: Iterable[str]) -> bool:
    """What one node may do otherwise, a cluster may."""
    return bounds.hold(()) or any(bounds.hold((each,)) for each in releases)


def _listed(by: Mapping[str, str]) -> str:
    """Source -> its bounds."""
    return ", ".join(f"{source} ({bounds})" if bounds else source for source, bounds in by.items())
