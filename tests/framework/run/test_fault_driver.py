"""The nemesis worker: what it draws, and that nothing keeps it from healing."""

import errno
import json
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from framework.errors import EngineError, UsageError
from framework.history.event import Invocation, Json
from framework.plugins.fault import DOWN, Probe
from framework.plugins.host import Ability, HostProvider
from framework.plugins.system import Cluster, NodeSpec
from framework.run.faults import FaultDriver
from framework.run.ledger import Ledger


class Paper:
    """A fault that holds from inject to heal, and is aimed at one node."""

    ends_processes = False

    def __init__(self, name: str) -> None:
        self.name = name
        self.holds = False
        self.aimed_at: list[str] = []
        self.during_inject: Callable[[], Any] = lambda: None

    def check(self, nodes: Sequence[NodeSpec]) -> None: ...

    def abilities(self, hosts: HostProvider) -> Sequence[Ability]:
        return []

    def plan(
        self, cluster: Cluster, targets: Sequence[str], leader: str | None, rng: random.Random
    ) -> "PaperInjection":
        if "nobody" in targets:
            raise UsageError("nobody is no node")
        self.aimed_at = [*targets]
        return PaperInjection(self, f"n{rng.randrange(10**6)}")

    def from_json(self, shape: str, victims: Mapping[str, Json]) -> "PaperInjection":
        return PaperInjection(self, *victims)


@dataclass(frozen=True)
class PaperInjection:
    fault: Paper
    node: str
    shape: str = "one"

    def to_json(self) -> Mapping[str, Json]:
        return {self.node: None}

    def inject(self, cluster: Cluster) -> None:
        self.fault.during_inject()
        self.fault.holds = True

    def heal(self, cluster: Cluster) -> None:
        self.fault.holds = False

    def probe(self, cluster: Cluster) -> Probe:
        return Probe(bites=self.fault.holds, evidence={})


class Silent:
    """A system whose nodes do not answer."""

    def state(self, cluster: Cluster, node: str, timeout_s: float = 1.0) -> None:
        return None


class Slow(Silent):
    """A system that has settled when it is asked for the third time."""

    def __init__(self, recovery_s: float) -> None:
        self.recovery = recovery_s
        self.asked = 0

    def recovery_s(self, nodes: Sequence[NodeSpec], settings: Mapping[str, Any]) -> float:
        assert [each.name for each in nodes] == ["n1"]
        return self.recovery

    def settled(self, cluster: Cluster) -> str | None:
        self.asked += 1
        return "n1 is silent" if self.asked < 3 else None


def driver_of(
    folder: Path, *nemeses: Paper, targets: Sequence[str] = (), system: Silent | None = None
) -> tuple[FaultDriver, Ledger]:
    ledger = Ledger(folder / "faults.jsonl", lambda: 0)
    cluster = Cluster(
        system=system or Silent(),  # type: ignore[arg-type]
        fleet=None,  # type: ignore[arg-type]
        nodes={"n1": NodeSpec(name="n1", roles=frozenset(), ports={})},
        seed=7,
    )
    driver = FaultDriver(
        cluster=cluster,
        faults=nemeses,
        targets=targets,
        ledger=ledger,
        on_phase=lambda _: None,
        on_fault=lambda _: None,
    )
    return driver, ledger


def do(driver: FaultDriver, f: str, value: Any = None) -> Any:
    return driver.invoke(Invocation(process="nemesis", f=f, value=value)).value


@pytest.mark.parametrize(
    ("asked", "value", "expected"),
    [
        ((), None, []),
        ((), {"target": "few"}, ["few"]),
        (("leader",), {"target": "few"}, ["leader"]),
    ],
)
def test_a_schedule_says_whom_to_aim_at_where_the_user_does_not(
    tmp_path: Path, asked: Sequence[str], value: Any, expected: list[str]
) -> None:
    fault = Paper("a")
    driver, _ = driver_of(tmp_path, fault, targets=asked)
    do(driver, "start-a", value)
    assert fault.aimed_at == expected


def steps(folder: Path) -> list[tuple[str, str]]:
    lines = (folder / "faults.jsonl").read_text().splitlines()
    return [(line["fault"], line["step"]) for line in map(json.loads, lines)]


def test_victims_of_a_fault_do_not_depend_on_when_others_come(tmp_path: Path) -> None:
    def victims(name: str, *fs: str) -> list[Any]:
        (tmp_path / name).mkdir()
        driver, _ = driver_of(tmp_path / name, Paper("a"), Paper("b"))
        found = [(f, do(driver, f)) for f in fs]
        return sorted((f, list(value["victims"])) for f, value in found if f.startswith("start"))

    one = victims("one", "start-a", "start-b", "stop-a", "start-a")
    other = victims("other", "start-b", "start-a", "stop-a", "start-a")
    assert one == other
    assert len({str(each) for _, each in one}) == 3


@dataclass(frozen=True)
class SparingInjection(PaperInjection):
    def spares(self, cluster: Cluster) -> list[str]:
        return ["n3", "n1"]


def planned(tmp_path: Path, told: str, kind: type[PaperInjection], victim: str) -> list[Any]:
    """What the ledger tells of a usual injection and of one of this kind, as they are planned."""
    fault = Paper("a")
    driver, _ = driver_of(tmp_path, fault, Paper("b"))
    do(driver, "start-b")
    fault.plan = lambda *_: kind(fault, victim)  # type: ignore[method-assign, assignment]
    do(driver, "start-a")
    lines = map(json.loads, (tmp_path / "faults.jsonl").read_text().splitlines())
    return [line.get(told) for line in lines if line["step"] == "planned"]


def test_whom_an_injection_spares_is_in_the_ledger_where_it_says_so(tmp_path: Path) -> None:
    assert planned(tmp_path, "spared", SparingInjection, "n2") == [None, ["n1", "n3"]]


@dataclass(frozen=True)
class LosingInjection(PaperInjection):
    def loses_data(self, cluster: Cluster) -> list[str]:
        return ["n2", "n1"]

    def keeps_data(self, cluster: Cluster) -> list[str]:
        return ["n3"]


def test_from_whose_disks_an_injection_takes_something_is_in_the_ledger(tmp_path: Path) -> None:
    assert planned(tmp_path, "loses", LosingInjection, "n1") == [None, ["n1", "n2"]]


def test_who_has_such_things_and_loses_none_is_in_the_ledger(tmp_path: Path) -> None:
    assert planned(tmp_path, "keeps", LosingInjection, "n1") == [None, ["n3"]]


@dataclass(frozen=True)
class TakingInjection(PaperInjection):
    def cuts_off(self, cluster: Cluster) -> list[str]:
        return ["n3", "n2"]


def test_whom_an_injection_takes_from_the_system_is_in_the_ledger(tmp_path: Path) -> None:
    assert planned(tmp_path, "cut_off", TakingInjection, "n2") == [None, ["n2", "n3"]]


def test_a_disk_that_is_full_keeps_no_fault_from_being_healed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Paper("a"), Paper("b")
    driver, ledger = driver_of(tmp_path, first, second)
    do(driver, "start-a")
    do(driver, "start-b")
    assert first.holds and second.holds

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ledger, "_write", full)
    driver.heal_all()
    assert not first.holds and not second.holds


def test_healing_waits_for_an_injection_under_way(tmp_path: Path) -> None:
    """The run was interrupted, and its nemesis did not come back in time."""
    fault = Paper("a")
    inside, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        go_on.wait(60)

    fault.during_inject = wait
    driver, _ = driver_of(tmp_path, fault)
    worker = threading.Thread(target=do, args=(driver, "start-a"))
    healer = threading.Thread(target=driver.heal_all)
    worker.start()
    assert inside.wait(60)
    healer.start()
    healer.join(0.1)
    go_on.set()
    worker.join(60)
    healer.join(60)
    assert not fault.holds
    assert not driver.active
    assert steps(tmp_path)[-2:] == [("a", "healed"), ("a", "probed-after")]


def test_nothing_is_injected_once_the_ledger_is_closed(tmp_path: Path) -> None:
    fault = Paper("a")
    driver, ledger = driver_of(tmp_path, fault)
    ledger.close()
    with (tmp_path / "other").open("w") as other, pytest.raises(OSError):
        assert other.fileno()  # what the ledger's descriptor may be by now
        do(driver, "start-a")
    assert (tmp_path / "other").read_text() == ""
    assert not fault.holds


def test_a_plan_that_cannot_be_is_reported_and_nothing_is_active(tmp_path: Path) -> None:
    driver, _ = driver_of(tmp_path, Paper("a"), targets=["nobody"])
    with pytest.raises(UsageError):
        do(driver, "start-a")
    assert not driver.active
    assert do(driver, "stop-a") == {"skipped": "a is not active"}


def test_different_faults_are_active_at_the_same_time(tmp_path: Path) -> None:
    first, second = Paper("a"), Paper("b")
    driver, _ = driver_of(tmp_path, first, second)
    do(driver, "start-a")
    do(driver, "start-b")
    assert do(driver, "start-a") == {"skipped": "a is already active"}
    do(driver, "stop-a")
    assert (first.holds, second.holds) == (False, True)


@dataclass(frozen=True)
class ProcessInjection(PaperInjection):
    def processes_of(self) -> list[str]:
        return [self.node]


class OnProcess(Paper):
    """Aimed at the process of one node, always the same."""

    victim = "n1"

    def plan(self, *_: Any) -> ProcessInjection:
        return ProcessInjection(self, self.victim)


class Ending(OnProcess):
    ends_processes = True


def test_what_needs_a_process_that_another_fault_has_ended_is_not_injected(tmp_path: Path) -> None:
    kill, pause = Ending("kill"), OnProcess("pause")
    driver, _ = driver_of(tmp_path, kill, pause)
    do(driver, "start-kill")
    assert do(driver, "start-pause") == {"skipped": "n1 is down by kill one", DOWN: ["n1"]}
    assert not pause.holds
    assert "pause" not in dict(steps(tmp_path)), "no injection that did not bite"
    assert do(driver, "stop-pause") == {"skipped": "pause is not active"}
    do(driver, "stop-kill")
    assert do(driver, "start-pause")["bit"] is True


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (OnProcess("freeze"), OnProcess("pause")),  # ends nothing
        (OnProcess("pause"), Ending("kill")),  # and can be ended
        (Ending("kill"), Paper("cut")),  # needs no process
    ],
)
def test_what_needs_none_that_was_ended_is_injected(
    tmp_path: Path, first: Paper, second: Paper
) -> None:
    driver, _ = driver_of(tmp_path, first, second)
    do(driver, f"start-{first.name}")
    assert do(driver, f"start-{second.name}")["bit"] is True


def test_what_needs_another_nodes_process_is_injected(tmp_path: Path) -> None:
    kill, pause = Ending("kill"), OnProcess("pause")
    pause.victim = "n2"
    driver, _ = driver_of(tmp_path, kill, pause)
    do(driver, "start-kill")
    assert do(driver, "start-pause")["bit"] is True


def test_who_waits_is_aimed_at_the_same_victims_afterwards(tmp_path: Path) -> None:
    """What was not injected takes no draw: else victims would depend on how often it waited."""

    class Drawn(Paper):
        def plan(self, *given: Any) -> ProcessInjection:
            drawn = super().plan(*given).node
            planned.append(drawn)
            kill.victim = kill.victim or drawn
            return ProcessInjection(self, drawn)

    planned: list[str] = []
    kill, pause = Ending("kill"), Drawn("pause")
    kill.victim = ""
    driver, _ = driver_of(tmp_path, kill, pause)
    do(driver, "start-pause")  # only to know whom it draws
    do(driver, "stop-pause")
    (tmp_path / "other").mkdir()
    driver, _ = driver_of(tmp_path / "other", kill, pause)
    do(driver, "start-kill")
    assert DOWN in do(driver, "start-pause") and DOWN in do(driver, "start-pause")
    do(driver, "stop-kill")
    assert list(do(driver, "start-pause")["victims"]) == [planned[0]]


def test_what_a_schedule_asks_and_nobody_can_do_is_the_engines_failure(tmp_path: Path) -> None:
    driver, _ = driver_of(tmp_path, Paper("a"))
    with pytest.raises(EngineError, match="shake-a"):
        do(driver, "shake-a")


@pytest.mark.parametrize(("recovery_s", "settled"), [(0, False), (60, True)])
def test_cluster_may_take_as_long_to_settle_as_it_needs_to_recover(
    recovery_s: float, settled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("framework.run.faults.SETTLE_TIMEOUT_S", 0)
    driver, _ = driver_of(tmp_path, system=Slow(recovery_s))
    missing = None if settled else "n1 is silent"
    looks = 2 * settled
    assert do(driver, "settle") == {"settled": settled, "missing": missing, "looks": looks}


def test_a_cluster_that_is_settled_for_a_moment_was_so_in_one_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, _ = driver_of(tmp_path, system=Slow(60))
    said = iter([None, "n1 is silent"])
    monkeypatch.setattr(Slow, "settled", lambda *_: next(said))
    assert do(driver, "settle") == {"settled": True, "missing": None, "looks": 1}
