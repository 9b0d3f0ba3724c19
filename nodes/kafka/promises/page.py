"""docs/kafka-promises.md: the table, with a column for each line of releases."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import groupby
from typing import Final

from framework.plugins import registry
from framework.plugins.capabilities import DATA_FLOODS, FAULTS, NODE_ANSWERS, unmet
from nodes.kafka.features import on
from nodes.kafka.promises.made import MADE
from nodes.kafka.promises.not_made import NOT_MADE, OWN
from nodes.kafka.promises.rules import RULES
from nodes.kafka.promises.table import capabilities_on
from nodes.kafka.promises.terms import NoPromise, Promise
from nodes.kafka.releases import versions

YES: Final = "yes"
NO: Final = "-"
NOT_ASKED: Final = "not asked"
WHERE_ON: Final = "where on"
_HEAD: Final = """# What Apache Kafka promises

Made by `python -m nodes.kafka.promises > docs/kafka-promises.md`; a test says when that is due.

What a checker calls INVALID has to be a promise. This is the table (`nodes/kafka/promises/`) from
which the capabilities of each release follow, and with them the checkers and [clauses](clauses.md)
that judge it. A finding names the promise that it breaks; what a release does not promise is not
judged there. A promise without bounds is one of all releases that can be had, 3.3 and later.

A column is a line of releases; where those differ, it says which. *yes*: promised, and judged in
runs that have an occasion. *-*: not promised. *not asked*: promised, and nobody here asks for it.
*where on*: promised to a cluster that begins with the feature, as it does where a run
[asks for it](kafka.md#levels-of-features).
"""
_ABOUT_RULES: Final = """`replay-invariants` holds every record against the state below it, by
these, read in the sources of 3.3.2, 3.4.0, 3.5.2, 3.6.1, 3.7.0, 3.7.1, 3.8.1, 3.9.1, 4.0.1 and
4.2.0. Where nodes of several releases may lead, what holds of all of them is asked. Levels of
`metadata.version`: 7 is 3.3-IV3, 12 is 3.6-IV0.
"""
_ABOUT_NOT_PROMISED: Final = """What other systems may promise, and is not called wrong here: Apache
Kafka does not promise it, does it otherwise than our own node, is not asked for it, or only its
nodes could tell of it.
"""


@cache
def able_on(release: str) -> frozenset[str]:
    """The capabilities of a cluster of that release, and all that a run of it may observe."""
    have = capabilities_on((release,))
    return have | observable(have)


def observable(capabilities: Set[str]) -> frozenset[str]:
    """What workloads that can be had with these capabilities provide, and what any run may."""
    found = {FAULTS, NODE_ANSWERS, DATA_FLOODS}
    for name in registry.names("workloads"):
        workload = registry.load("workloads", name)
        if unmet(workload.requires, capabilities) is None:
            found |= workload.provides
    return frozenset(found)


@cache
def _needs(checker: str) -> frozenset[str]:
    found: frozenset[str] = registry.load("checkers", checker).requires
    return found


def applies(clause: str, release: str) -> bool:
    """Whether the checker of `checker/clause` judges runs of that release."""
    return unmet(_needs(clause.partition("/")[0]), able_on(release)) is None


def state(promise: Promise, release: str) -> str:
    """What a cell says of one release."""
    if not promise.bounds.hold((release,), on(release, {})):
        named = {promise.bounds.feature}
        return WHERE_ON if promise.bounds.hold((release,), named) else NO
    asked = promise.asked.hold((release,))
    judged = not promise.clauses or any(applies(each, release) for each in promise.clauses)
    return YES if asked and judged else NOT_ASKED


def cell(states: Mapping[str, str]) -> str:
    """Of a line of releases, oldest first: what holds of all, or of which it holds."""
    said = list(states.values())
    if len(set(said)) == 1:
        return said[0]
    held = [release for release, each in states.items() if each != NO]
    return f"from {held[0]}" if said[0] == NO else f"to {held[-1]}"


def lines() -> Mapping[str, Sequence[str]]:
    """`3.7` -> its releases, oldest first."""
    grouped = groupby(versions(), lambda version: ".".join(version.split(".")[:2]))
    return {line: list(releases) for line, releases in grouped}


def _cells(promise: Promise) -> list[str]:
    return [cell({each: state(promise, each) for each in line}) for line in lines().values()]


def _clauses(clauses: Iterable[str]) -> str:
    """By checker, as `kafka-log` (one-log)."""
    found: dict[str, list[str]] = {}
    for each in clauses:
        checker, _, clause = each.partition("/")
        found.setdefault(checker, []).append(clause)
    return ", ".join(f"`{name}` ({', '.join(own)})" for name, own in found.items()) or "-"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _header(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield _row(*["---"] * len(names))


def _source(promise: Promise | NoPromise) -> str:
    return promise.source + (f"; bounds by {promise.bounded_by}" if promise.bounded_by else "")


def _promises() -> Iterator[str]:
    yield "## Promises\n"
    yield from _header("promise", "source", "clauses that rest on it", *lines())
    for each in MADE:
        yield _row(each.says, _source(each), _clauses(each.clauses), *_cells(each))


def _level(promise: Promise) -> str:
    """Of a feature, by which the log itself says whether the rule holds."""
    rule = promise.rule
    if rule is None or not rule.feature:
        return "-"
    bounds = [f"from {rule.since} on"] * bool(rule.since) + [f"below {rule.below}"] * bool(
        rule.below
    )
    return f"`{rule.feature}` {' and '.join(bounds)}"


def _rules() -> Iterator[str]:
    yield "## Rules of the metadata log\n"
    yield _ABOUT_RULES
    yield from _header("rule", "what is wrong then", "source", "feature level", *lines())
    for each in RULES:
        yield _row(each.says, each.wrong, _source(each), _level(each), *_cells(each))


def _not_promised() -> Iterator[str]:
    yield "## Not promised\n"
    yield _ABOUT_NOT_PROMISED
    yield from _header("what", "", "Apache Kafka", "source", "releases", "so", "clauses")
    for each in NOT_MADE:
        about = (each.says, each.why, each.instead, _source(each), each.bounds.text() or "all")
        yield _row(*about, each.so, _clauses(each.clauses))


def _own() -> Iterator[str]:
    yield "## The framework's own\n"
    yield "Clauses that rest on no promise of the system's, and are judged.\n"
    yield from _header("about", "clauses")
    for about, clauses in OWN.items():
        yield _row(about, _clauses(clauses))


def page() -> str:
    """All of it."""
    sections = ("\n".join(each()) for each in (_promises, _rules, _not_promised, _own))
    return "\n".join([_HEAD, "\n\n".join(sections), ""])
