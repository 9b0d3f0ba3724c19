"""The table of what Apache Kafka promises: whole, by release, and what follows from it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from framework.checking.clauses import clauses_of
from framework.evidence.systems import LogRule
from framework.plugins import registry
from framework.plugins.capabilities import (
    CAPABILITIES,
    applicable,
    unmet,
)
from nodes.kafka import releases, software
from nodes.kafka.promises.not_made import NOT_MADE, OWN
from nodes.kafka.promises.page import able_on, cell, observable, page, state
from nodes.kafka.promises.table import PROMISES, capabilities_on, promised
from nodes.kafka.promises.terms import NOT_VERIFIED, Bounds, NoPromise, Promise, of
from nodes.kafka.system import KafkaSystem

DOCS: Final = Path(__file__).parents[3] / "docs" / "kafka-promises.md"
OF_ALL: Final = {
    *("data-plane", "groups", "kafka-descriptions", "kafka-topics", "metadata-log"),
    *(
        "changing-configs",
        "metadata-log-rules",
        "snapshots",
        "topic-configs",
        "transactions",
        "unforced-data",
    ),
    *("formatted-disks", "partition-reassignments", "preferred-elections"),
    *("disk:appended", "disk:applied", "disk:epoch-saved", "disk:failed", "disk:log-began"),
    *("disk:log-on-disk", "disk:partition-appended", "disk:partition-log-on-disk"),
    *("disk:partition-offset-saved", "disk:partition-truncated", "disk:snapshot-file"),
    *("disk:stalled", "disk:truncated"),
    *("dry-runs", "replica-reads", "replica-reports"),
    *("committed-topic-read", "synthetic-brokers", "watched-metadata-log"),
}
BEFORE_3_6: Final = {"shrinking-raises-leader-epochs"}
FROM_3_5: Final = {"member-epochs"}
FROM_3_7: Final = FROM_3_5 | {"told-controllers", "asked-controllers"}
FROM_3_9: Final = FROM_3_7 | {"extra-brokers"}
FROM_4_0: Final = FROM_3_9 | {"lowered-feature-levels"}
HAVE: Final[Mapping[str, set[str]]] = {
    "3.3.2": OF_ALL | BEFORE_3_6,
    "3.4.1": OF_ALL | BEFORE_3_6,
    "3.5.0": OF_ALL | BEFORE_3_6 | FROM_3_5,
    "3.5.1": OF_ALL | BEFORE_3_6 | FROM_3_5,
    "3.5.2": OF_ALL | BEFORE_3_6 | FROM_3_5,
    "3.6.1": OF_ALL | FROM_3_5,
    "3.6.2": OF_ALL | FROM_3_5,
    "3.7.0": OF_ALL | FROM_3_7,
    "3.7.1": OF_ALL | FROM_3_7,
    "3.8.1": OF_ALL | FROM_3_7,
    "3.9.1": OF_ALL | FROM_3_9,
    "4.0.0": OF_ALL | FROM_4_0,
    "4.0.1": OF_ALL | FROM_4_0,
    "4.1.0": OF_ALL | FROM_4_0,
    "4.1.1": OF_ALL | FROM_4_0,
    "4.2.0": OF_ALL | FROM_4_0,
}
"""As they were when no table said so, and data that brokers leave to the operating system."""


def all_clauses() -> dict[str, Any]:
    """`checker/clause` -> the checker, of all that are installed."""
    checkers = {name: registry.load("checkers", name) for name in registry.names("checkers")}
    return {
        f"{name}/{clause.name}": checker
        for name, checker in checkers.items()
        for clause in clauses_of(checker)
    }


CLAUSES: Final = all_clauses()
PROMISED: Final = {clause for each in PROMISES for clause in each.clauses}
WANTED: Final = {clause for each in NOT_MADE for clause in each.clauses}
OWNED: Final = {clause for clauses in OWN.values() for clause in clauses}


def test_what_rests_on_the_table_exists() -> None:
    assert sorted((PROMISED | WANTED | OWNED) - CLAUSES.keys()) == []
    named = {name for each in (*PROMISES, *NOT_MADE) for name in each.capabilities}
    assert {each for each in named if not each.startswith("disk:")} <= CAPABILITIES.keys()
    assert not capabilities_on((releases.newest(),)) & {
        name for each in NOT_MADE for name in each.capabilities
    }


def uncovered(clauses: Mapping[str, Any], available: frozenset[str]) -> list[str]:
    """Clauses that are judged there, and of which the table says nothing."""
    return sorted(
        name
        for name, checker in clauses.items()
        if unmet(checker.requires, available) is None and name not in PROMISED | WANTED | OWNED
    )


@pytest.mark.parametrize("release", releases.versions())
def test_every_clause_that_applies_rests_on_a_promise_or_on_none_for_a_reason(release: str) -> None:
    assert uncovered(CLAUSES, able_on(release)) == []


def test_a_clause_of_which_the_table_says_nothing_is_seen() -> None:
    new = {**CLAUSES, "isr-chain/brand-new": CLAUSES["isr-chain/one-chain"]}
    assert uncovered(new, able_on("4.2.0")) == ["isr-chain/brand-new"]


def test_a_clause_is_promised_or_not_or_the_frameworks_own() -> None:
    assert PROMISED & WANTED == PROMISED & OWNED == WANTED & OWNED == set()


def test_promises_are_told_apart_and_have_sources() -> None:
    names = Counter(each.name for each in PROMISES)
    assert [name for name, count in names.items() if count > 1] == []
    for each in PROMISES:
        assert each.source and each.says, each.name
        assert each.clauses or each.capabilities, each.name
        bounded = bool(each.bounds.text() or each.asked.text())
        assert bool(each.bounded_by) == bounded, f"{each.name}: or say {NOT_VERIFIED!r}"
        assert bool(each.wrong) or each.rule is None, each.name


def test_what_is_not_promised_has_a_reason_and_a_source() -> None:
    names = Counter(each.name for each in NOT_MADE)
    assert [name for name, count in names.items() if count > 1] == []
    for each in NOT_MADE:
        assert each.says and each.instead and each.source and each.so, each.name
        assert bool(each.bounded_by) == bool(each.bounds.text()), each.name


def test_each_rule_of_the_log_has_one_bound_in_one_place() -> None:
    rules: list[LogRule] = [each.rule.rule for each in PROMISES if each.rule is not None]
    assert len(set(rules)) == len(rules)


# --- what releases have -------------------------------------------------------------------


def test_the_table_is_of_all_releases() -> None:
    assert list(HAVE) == releases.versions()


@pytest.mark.parametrize("release", HAVE)
def test_capabilities_of_releases_are_what_they_were(
    release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert with_versions(monkeypatch, release, release) == HAVE[release]
    assert with_versions(monkeypatch, "4.2.0", release) == HAVE[release]


def with_versions(monkeypatch: pytest.MonkeyPatch, *versions: str) -> frozenset[str]:
    monkeypatch.setattr(
        software, "asked_for", lambda asked: SimpleNamespace(version=asked["version"])
    )
    system = KafkaSystem()
    nodes = system.layout("1+1")
    wanted = zip(nodes, versions, strict=True)
    return system.capabilities_with(nodes, {spec.name: {"version": v} for spec, v in wanted})


@pytest.mark.parametrize(
    ("bounds", "held"),
    [
        (Bounds(), (True, True, True, True)),
        (Bounds(since="3.7.1"), (False, False, True, False)),
        (Bounds(before="3.7.1"), (False, True, False, False)),
        (Bounds(since="3.7", before="4.2"), (False, True, False, False)),
    ],
)
def test_bounds_hold_of_every_release_or_not(bounds: Bounds, held: Sequence[bool]) -> None:
    clusters: list[list[str]] = [[], ["3.7.0"], ["4.2.0"], ["3.7.0", "4.2.0"]]
    assert tuple(map(bounds.hold, clusters)) == tuple(held)


def test_a_bound_by_a_feature_holds_where_a_cluster_begins_with_it() -> None:
    bounds = Bounds(since="4.0", feature="f")
    clusters: list[list[str]] = [[], ["3.7.0"], ["4.2.0"], ["3.7.0", "4.2.0"]]
    assert [bounds.hold(each, {"f", "g"}) for each in clusters] == [False, False, True, False]
    assert not any(bounds.hold(each, {"g"}) for each in clusters)
    assert (bounds.text(), Bounds(feature="f").text()) == (
        "since 4.0, where f is on",
        "where f is on",
    )


# --- what is said of clauses --------------------------------------------------------------

NEW: Final = Promise(
    name="new",
    says="It is so",
    source="KIP-9999",
    bounds=Bounds(since="4.1"),
    clauses=of("c", "new", "both"),
)
OLD: Final = Promise(name="old", says="It was so", source="KIP-1", clauses=of("c", "both"))
NONE: Final = (
    NoPromise(
        name="none",
        says="rain",
        why="not promised",
        instead="sun",
        source="KIP-2",
        so="none is asked for",
        clauses=of("c", "rain"),
    ),
    NoPromise(
        name="silent",
        says="thunder",
        why="not told",
        instead="lightning",
        source="KIP-2",
        so="it is seen",
        clauses=of("c", "thunder"),
    ),
)


def test_a_clause_is_made_where_a_promise_of_it_holds() -> None:
    said = promised(("4.1.1", "4.2.0"), (NEW, OLD), NONE)
    assert {name: each.made for name, each in said.items()} == {
        "c/new": True,
        "c/both": True,
        "c/rain": False,
    }
    assert said["c/both"].source == "KIP-9999 (since 4.1), KIP-1"
    assert said["c/rain"].source == "Apache Kafka does not promise rain"


@pytest.mark.parametrize("cluster", [("4.0.1",), ("4.0.1", "4.2.0"), ()])
def test_a_clause_that_a_release_of_the_cluster_does_not_promise_is_not_made(
    cluster: tuple[str, ...],
) -> None:
    said = promised(cluster, (NEW, OLD), NONE)
    assert not said["c/new"].made
    assert said["c/new"].source == "Apache Kafka promises it only since 4.1 (KIP-9999)"
    assert said["c/both"].made and said["c/both"].source == "KIP-1"


def test_a_clause_that_a_level_does_not_promise_is_not_made() -> None:
    levelled = replace(NEW, bounds=Bounds(since="4.0", feature="f"))
    off = promised(("4.2.0",), (levelled, OLD), NONE)
    assert off["c/new"].source == (
        "Apache Kafka promises it only since 4.0, where f is on (KIP-9999)"
    )
    assert not off["c/new"].made and off["c/both"].source == "KIP-1"
    on = promised(("4.2.0",), (levelled, OLD), NONE, on=frozenset({"f"}))
    assert on["c/new"].made
    assert on["c/both"].source == "KIP-9999 (since 4.0, where f is on), KIP-1"


@pytest.mark.parametrize(
    ("cluster", "made"),
    [(("3.6.2",), True), (("3.7.0",), False), (("3.6.2", "4.2.0"), False), ((), True)],
)
def test_what_one_node_does_otherwise_a_cluster_may(cluster: tuple[str, ...], made: bool) -> None:
    since = replace(NONE[0], bounds=Bounds(since="3.7"))
    assert ("c/rain" not in promised(cluster, (), (since,))) is made


@pytest.mark.parametrize("release", ["3.3.2", "3.7.1"])
def test_checkers_of_what_older_releases_are_not_asked_for_are_not_applicable(
    release: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a run decides it: by what its nodes can do and its workloads observe."""
    newer = {"controlled-shutdown-safety"}
    checkers = {name: registry.load("checkers", name) for name in registry.names("checkers")}
    for versions, applies in (((release, "4.2.0"), False), (("3.9.1", "4.2.0"), True)):
        have = with_versions(monkeypatch, *versions)
        found = applicable(checkers, have | observable(have))
        assert newer & set(found.checkers) == (newer if applies else set())
        assert newer & found.not_applicable.keys() == (set() if applies else newer)


def test_a_source_is_named_once() -> None:
    said = promised(("4.2.0",))["replay-invariants/brokers"].source
    assert said.count("registerBroker") == 1
    assert promised(("4.2.0",))["isr-chain/members-in-service"].source == (
        "KIP-380, KIP-631, KIP-841 (since 3.3), KIP-903 (since 3.5)"
    )
    assert "KIP-903" not in promised(("3.3.2",))["isr-chain/members-in-service"].source


@pytest.mark.parametrize("release", releases.versions())
def test_no_release_is_judged_by_what_it_does_not_promise(release: str) -> None:
    """Where a checker applies, each of its clauses is promised by that release, or not judged."""
    able, said = able_on(release), promised((release,))
    unpromised = {
        name
        for name, checker in CLAUSES.items()
        if unmet(checker.requires, able) is None and name in said and not said[name].made
    }
    assert unpromised <= WANTED, "a promise of another release alone: say so in the report"


# --- as documentation ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("states", "says"),
    [
        ({"3.7.0": "yes", "3.7.1": "yes"}, "yes"),
        ({"3.7.0": "-", "3.7.1": "-"}, "-"),
        ({"3.7.0": "not asked", "3.7.1": "not asked"}, "not asked"),
        ({"3.7.0": "-", "3.7.1": "yes", "3.7.2": "yes"}, "from 3.7.1"),
        ({"3.7.0": "yes", "3.7.1": "yes", "3.7.2": "-"}, "to 3.7.1"),
    ],
)
def test_a_cell_is_of_a_line_of_releases(states: Mapping[str, str], says: str) -> None:
    assert cell(states) == says


def test_a_promise_is_asked_for_where_a_checker_of_it_applies() -> None:
    (leaving,) = (each for each in PROMISES if each.name == "controlled-shutdown")
    assert (state(leaving, "3.7.1"), state(leaving, "3.9.1")) == ("not asked", "yes")
    leases = Promise(
        name="leases", says="", source="", clauses=of("lease-exclusion", "one-process")
    )
    assert state(leases, "4.2.0") == "not asked"
    (epochs,) = (each for each in PROMISES if each.name == "process-keeps-epoch")
    assert (state(epochs, "3.7.1"), state(epochs, "3.9.1")) == ("-", "yes")


def test_the_page_is_up_to_date() -> None:
    assert DOCS.read_text() == page(), "python -m nodes.kafka.promises > docs/kafka-promises.md"
