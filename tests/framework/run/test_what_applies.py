"""What a run takes on: workloads that can be had, checkers that have something to check."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from framework.errors import UsageError
from framework.generators import op
from framework.history.event import Event
from framework.plugins import registry
from framework.plugins.host import Image
from framework.plugins.system import NodeSpec
from framework.plugins.workload import WorkloadOptions
from framework.run.options import Options, Test, resolve
from framework.run.schedule import schedule

PLUGINS: Mapping[str, Mapping[str, Any]] = {
    "systems": {
        "shelf": SimpleNamespace(
            name="shelf",
            defects={},
            capabilities=frozenset({"shelves", "evidence:voted"}),
            image_with=lambda nodes, settings: Image(name="shelf"),
            layout=lambda nodes: [
                NodeSpec(name=f"m{number}", roles=frozenset({"member"}), ports={"client": 1})
                for number in range(int(nodes or 3))
            ],
            check_settings=lambda nodes, settings: None,
            costly={},
            capabilities_with=lambda nodes, settings: frozenset(
                {"shelves"} if settings else {"shelves", "evidence:voted"}
            ),
        )
    },
    "workloads": {
        name: SimpleNamespace(
            name=name,
            requires=frozenset(requires),
            provides=frozenset(provides),
            min_roles=roles,
            min_threads=1,
        )
        for name, requires, provides, roles in (
            ("book", ["shelves"], ["register-operations"], {}),
            ("crowd", ["shelves"], [], {"member": 4}),
            ("topics", ["kafka-topics"], ["topic-operations"], {}),
        )
    },
    "checkers": {
        name: SimpleNamespace(name=name, requires=frozenset(requires))
        for name, requires in (
            ("registers", ["register-operations"]),
            ("votes", ["evidence:voted", "register-operations"]),
            ("topic-order", ["topic-operations"]),
            ("bitten", ["faults"]),
            ("speed", []),
            ("states", ["node-answers"]),
        )
    },
    "observers": {
        name: SimpleNamespace(
            name=name,
            requires=frozenset({needs}),
            questions=lambda system, node, capabilities: [op("what", node=node.name)],
        )
        for name, needs in (("deaf", "topics"), ("keen", "shelves"))
    },
    "nemeses": {
        "rain": SimpleNamespace(name="rain", faults=[]),
        **{
            name: SimpleNamespace(
                name=name,
                faults=[],
                requires=frozenset({needs}),
                check_system=lambda system, nodes, targets: None,
            )
            for name, needs in (("fire", "shelves"), ("flood", "groups"))
        },
    },
}


@pytest.fixture(autouse=True)
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """No plug-in but these, and hosts."""
    find, names = registry.find, registry.names

    def some(group: str) -> Sequence[str]:
        return sorted(PLUGINS[group]) if group in PLUGINS else names(group)

    def one(group: str, name: str) -> Any:
        return (lambda: PLUGINS[group][name]) if group in PLUGINS else find(group, name)

    monkeypatch.setattr(registry, "find", one)
    monkeypatch.setattr(registry, "names", some)


def resolved(**options: Any) -> Test:
    return resolve(Options(system="shelf", hosts="namespaces", **options))


def test_of_all_workloads_those_remain_that_the_system_can_have() -> None:
    test = resolved()
    assert [workload.name for workload in test.workloads] == ["book"]
    assert test.left_out == {
        "crowd": "it needs 4 nodes with role member, --nodes has 3",
        "topics": "the system has no topics that Kafka's protocol creates, deletes and lists",
    }
    assert [each.name for each in resolved(nodes="4").workloads] == ["book", "crowd"]


@pytest.mark.parametrize(
    ("workload", "says"),
    [
        ("topics", "workload topics cannot be had with system shelf: the system has no topics"),
        ("crowd", "needs 4 nodes with role member, --nodes has 3"),
        ("book,topics", "workload topics cannot be had"),
    ],
)
def test_a_workload_that_was_named_must_be_had(workload: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        resolved(workload=workload)


class Picky(SimpleNamespace):
    """A workload that needs ink, of which there is as much as `ink`."""

    more = "ink"

    def lacking(self) -> str | None:
        return None if self.ink else "it needs ink: buy some"


@pytest.fixture
def picky(monkeypatch: pytest.MonkeyPatch) -> Picky:
    book = PLUGINS["workloads"]["book"]
    needy = Picky(**{**vars(book), "name": "pen", "ink": 1})
    monkeypatch.setitem(PLUGINS["workloads"], "pen", needy)  # type: ignore[arg-type]
    return needy


def test_what_costs_the_system_much_has_to_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """What of it does, the system says."""
    system, book = PLUGINS["systems"]["shelf"], PLUGINS["workloads"]["book"]
    monkeypatch.setattr(system, "costly", {"evidence:voted": "oil", "lamps": "wax"})
    needs = frozenset({"shelves", "evidence:voted"})
    lit = SimpleNamespace(**{**vars(book), "name": "night", "requires": needs})
    monkeypatch.setitem(PLUGINS["workloads"], "night", lit)  # type: ignore[arg-type]
    test = resolved()
    assert "night" not in [workload.name for workload in test.workloads]
    assert test.left_out["night"] == "it needs evidence:voted (oil), and is run where it is named"
    assert [workload.name for workload in resolved(workload="night").workloads] == ["night"]


def test_what_needs_more_of_a_machine_has_to_be_named(picky: Picky) -> None:
    test = resolved()
    assert [workload.name for workload in test.workloads] == ["book"]
    assert test.left_out["pen"] == "it needs ink, and is run where it is named"
    named = resolved(workload="pen")
    assert [workload.name for workload in named.workloads] == ["pen"]
    picky.ink = 0
    with pytest.raises(UsageError, match="workload pen cannot be had here: it needs ink: buy"):
        resolved(workload="pen")


def test_checkers_run_where_their_needs_are_met() -> None:
    test = resolved()
    assert test.checkers == ["registers", "speed", "states", "votes"]
    assert test.not_applicable == {
        "bitten": "the run has no faults",
        "topic-order": "the run has no creates, deletes and reads of topics",
    }
    assert resolved(nemesis="rain").checkers == ["bitten", "registers", "speed", "states", "votes"]


def test_a_drastic_nemesis_has_to_be_named() -> None:
    assert list(resolved(nemesis="all").nemeses) == ["rain"]
    assert list(resolved(nemesis="fire,rain").nemeses) == ["fire", "rain"]


def test_a_nemesis_that_the_system_cannot_have_is_refused() -> None:
    says = "nemesis flood cannot be had with system shelf: the system has no consumer groups"
    with pytest.raises(UsageError, match=says):
        resolved(nemesis="flood")


def test_a_run_of_which_nothing_would_be_checked_is_refused() -> None:
    """What judges the run alone does not count."""
    with pytest.raises(UsageError, match="nothing to check: no checker applies to system shelf"):
        resolved(workload="crowd", nodes="5", nemesis="rain", observe_s=0.0)


def test_nodes_are_asked_by_the_observer_that_fits() -> None:
    test = resolved()
    assert test.observer is not None and test.observer.name == "keen"


def test_without_an_observer_nothing_can_be_checked_of_what_nodes_tell() -> None:
    test = resolved(observe_s=0.0)
    assert test.observer is None
    assert test.not_applicable["states"] == "the run has no answers of nodes to an observer"


@pytest.mark.parametrize("often", [-1.0, float("nan"), float("inf")])
def test_how_often_nodes_are_asked_is_a_time(often: float) -> None:
    with pytest.raises(UsageError, match="--observe"):
        resolved(observe_s=often)


def test_a_generator_knows_the_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    test = resolved(workload="book", nodes="4")
    known: list[WorkloadOptions] = []

    def generator(options: WorkloadOptions) -> Event:
        known.append(options)
        return op("open")

    for phase in ("generator", "final_generator"):
        monkeypatch.setattr(test.workloads[0], phase, generator, raising=False)
    schedule(test)
    assert [[spec.name for spec in each.nodes] for each in known] == [["m0", "m1", "m2", "m3"]] * 2


def test_settings_may_take_a_capability_away() -> None:
    test = resolve(Options(system="shelf", hosts="namespaces", settings=["mute=1"]))
    assert "votes" not in test.checkers
    assert test.not_applicable["votes"] == "the system has no evidence of kind voted"
