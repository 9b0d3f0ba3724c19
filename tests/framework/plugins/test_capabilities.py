"""Which checkers apply, and what is said of the others."""

from dataclasses import dataclass

from framework.evidence.changes import Change, TopicCreated
from framework.evidence.kinds import disk_of, either_of
from framework.evidence.quorum import Voted
from framework.plugins import registry
from framework.plugins.capabilities import CAPABILITIES, OBSERVATIONS, applicable, evidence, unmet
from framework.plugins.options import create, named


@dataclass(frozen=True)
class Needing:
    requires: frozenset[str]


def test_a_checker_runs_where_all_its_needs_are_met() -> None:
    checkers = {
        "clients": Needing(frozenset({"register-operations"})),
        "log": Needing(evidence("appended") | {"metadata-log"}),
        "always": Needing(frozenset()),
    }
    found = applicable(checkers, {"register-operations", "metadata-log"})
    assert found.checkers == ["always", "clients"]
    assert found.not_applicable == {"log": "the system has no evidence of kind appended"}


def test_the_reason_names_what_the_system_and_what_the_run_lacks() -> None:
    reason = unmet({"snapshots", "log-operations", "their-own"}, {"their-own"})
    assert reason == (
        "the system has no snapshots of the metadata; the run has no produces and fetches"
    )


def test_an_unknown_need_is_named_as_it_is() -> None:
    assert unmet({"their-own"}, ()) == "the system has no their-own"


def test_what_is_met_has_no_reason() -> None:
    assert unmet({"faults"}, {"faults", "snapshots"}) is None


def test_one_of_several_is_enough() -> None:
    (needed,) = either_of(Voted)
    assert unmet({needed}, {"evidence:voted"}) is None
    assert unmet({needed}, disk_of(Voted)) is None
    assert unmet({needed}, {"evidence:elected", "disk:elected"}) == (
        "the system has no evidence of kind voted or voted on its nodes' disks"
    )


def test_changes_of_the_log_are_one_capability() -> None:
    assert either_of(Change, TopicCreated) == {"evidence:applied|disk:applied"}


def test_nothing_is_both_a_capability_and_an_observation() -> None:
    assert not set(CAPABILITIES) & set(OBSERVATIONS)


REGISTERS = "register-operations"
"""What the workload of examples/etcd observes, which need not be installed."""


FLOODING = "log:flood=1"
"""A workload that observes more with an option."""


def test_every_installed_checker_applies_to_some_run_of_ours() -> None:
    """A need that nobody can meet would silence a checker for good."""
    checkers = {name: registry.load("checkers", name) for name in registry.names("checkers")}
    workloads = [registry.load("workloads", name) for name in registry.names("workloads")]
    systems = [registry.load("systems", name) for name in registry.names("systems")]
    workloads += [create("workloads", each) for each in named("workloads", FLOODING)]
    available = {"faults", "node-answers", REGISTERS}.union(*(each.provides for each in workloads))
    available |= set().union(*(each.capabilities for each in systems))
    assert applicable(checkers, available).not_applicable == {}
