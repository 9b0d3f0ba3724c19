"""The nemesis worker: carries out fault operations, and sees whether they bit and healed."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import tenacity

from framework.errors import EngineError
from framework.history.event import Completion, Invocation, Json
from framework.plugins.fault import (
    DOWN,
    CutsOff,
    Fault,
    FaultOp,
    Injection,
    LosesData,
    OnProcesses,
    Probe,
    Sparing,
)
from framework.plugins.system import Cluster, NodeState
from framework.run.ledger import Entry, Ledger
from framework.seeds import stream

log: Final = logging.getLogger(__name__)

SETTLE_TIMEOUT_S: Final = 60.0
"""So long at least; a system that needs longer to recover is given that."""


def states(cluster: Cluster, timeout_s: float = 1.0) -> dict[str, NodeState | None]:
    """Ask every node at once."""
    with ThreadPoolExecutor(len(cluster.nodes)) as pool:
        answers = pool.map(
            lambda node: cluster.system.state(cluster, node, timeout_s), cluster.nodes
        )
        return dict(zip(cluster.nodes, answers, strict=True))


def find_leader(cluster: Cluster) -> str | None:
    """The node that claims to lead; of two, the one with the higher term."""
    claims = [state for state in states(cluster).values() if state and state.leader]
    best = max(claims, key=lambda state: state.term, default=None)
    return best.node if best else None


def await_settled(
    cluster: Cluster, timeout_s: float, stop: Callable[[], bool] = lambda: False
) -> str | None:
    """Wait until all nodes agree and serve. None then; else what is missing."""
    retry = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda missing: missing is not None and not stop()),
        stop=tenacity.stop_after_delay(timeout_s),
        wait=tenacity.wait_fixed(0.1),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else "nothing",
    )
    missing: str | None = retry(cluster.system.settled, cluster)
    return missing


@dataclass(frozen=True, slots=True)
class Active:
    """A fault that holds, or may hold."""

    injection: Injection
    entry: Entry

    @property
    def label(self) -> str:
        return f"{self.entry.fault} {self.entry.shape}"

    def describe(self, bites: bool | None) -> Json:
        """As the history has it."""
        entry = self.entry
        return {
            "id": entry.id,
            "shape": entry.shape,
            "victims": dict(entry.victims),
            "bit": bites,
        }


class FaultDriver:
    """Executes operations of the nemesis process.

    `start-<fault>` plans, writes down, injects and probes, or, where another fault has ended a
    process that it needs, leaves it at that; `stop-<fault>` heals and probes;
    `heal` heals whatever is active; `settle` waits until the cluster agrees; `phase` marks.
    Different faults may be active at the same time, each once.
    """

    def __init__(
        self,
        *,
        cluster: Cluster,
        faults: Iterable[Fault],
        targets: Sequence[str],
        ledger: Ledger,
        on_phase: Callable[[str], None],
        on_fault: Callable[[str | None], None],
    ) -> None:
        self._cluster = cluster
        self._faults = {fault.name: fault for fault in faults}
        self._targets = targets
        self._ledger = ledger
        self._on_phase = on_phase
        self._on_fault = on_fault
        self._active: dict[str, Active] = {}
        self._drawn: Counter[str] = Counter()
        """Plans made of each fault. Each has a source of its own, so that its victims do not
        depend on when another one's turn happened to come."""
        self._lock = threading.RLock()
        """One act at a time: who ends a run early waits for an injection under way, and then
        heals it."""

    def invoke(self, op: Invocation) -> Completion:
        """Carry out one operation. Never raises for a fault that failed: the ledger says so."""
        return op.completed("info", self._done(op))

    def _done(self, op: Invocation) -> Json:
        fault_op = FaultOp.parse(op.f)
        if fault_op is not None:
            with self._lock:
                if fault_op.verb == "stop":
                    return self._stop(fault_op.fault)
                target = (op.value or {}).get("target")
                return self._start(fault_op.fault, self._targets or ([target] if target else ()))
        match op.f:
            case "phase":
                self._on_phase(str(op.value))
                phase: Json = op.value
                return phase
            case "heal":
                return self.heal_all()
            case "settle":
                return self._settle()
        raise EngineError(f"a schedule has the nemesis do what it cannot: {op.f!r}")

    def _settle(self) -> Json:
        """What came of waiting for the cluster, and how many looks in a row found it settled, of
        two: one may have met a good moment."""
        missing = await_settled(self._cluster, self._settle_s())
        again = missing is None and self._cluster.system.settled(self._cluster) is None
        looks = int(missing is None) + int(again)
        return {"settled": missing is None, "missing": missing, "looks": looks}

    def _settle_s(self) -> float:
        """How long the cluster may take to settle."""
        specs, settings = list(self._cluster.nodes.values()), self._cluster.settings
        return max(SETTLE_TIMEOUT_S, self._cluster.system.recovery_s(specs, settings))

    @property
    def active(self) -> bool:
        """Whether any fault is not healed yet."""
        with self._lock:
            return bool(self._active)

    def heal_all(self) -> Json:
        """Heal every active fault; what came of each. A ledger that cannot be written, on a full
        disk, keeps none from being healed."""
        found: list[Json] = []
        with self._lock:
            for fault in list(self._active):
                try:
                    found.append(self._stop(fault))
                except OSError as error:
                    log.warning("the healing of %s could not be written down: %s", fault, error)
                    found.append({"error": str(error)})
        return found

    def _start(self, name: str, targets: Sequence[str]) -> Json:
        if name in self._active:
            return {"skipped": f"{name} is already active"}
        fault = self._faults[name]
        rng = stream(self._cluster.seed, "nemesis", name, self._drawn[name])
        injection = fault.plan(self._cluster, targets, find_leader(self._cluster), rng)
        if down := self._down(injection):
            why = ", ".join(f"{node} is down by {label}" for node, label in down.items())
            return {"skipped": why, DOWN: sorted(down)}
        self._drawn[name] += 1
        spared = injection.spares(self._cluster) if isinstance(injection, Sparing) else None
        cut_off = injection.cuts_off(self._cluster) if isinstance(injection, CutsOff) else None
        lossy = injection if isinstance(injection, LosesData) else None
        loses = lossy.loses_data(self._cluster) if lossy is not None else None
        keeps = lossy.keeps_data(self._cluster) if lossy is not None else None
        entry = self._ledger.plan(
            fault, injection, spared=spared, cut_off=cut_off, loses=loses, keeps=keeps
        )
        active = Active(injection, entry)
        self._active[name] = active
        self._look(active, "probed-before")
        try:
            injection.inject(self._cluster)
            active.entry.step("injected")
        except Exception as error:
            log.warning("%s could not be injected: %s", name, error)
            active.entry.failed(error)
        self._show()
        return active.describe(self._look(active, "probed-during").bites)

    def _down(self, injection: Injection) -> dict[str, str]:
        """Of the nodes whose processes it needs, those whose process another fault has ended: and
        which one."""
        needed = injection.processes_of() if isinstance(injection, OnProcesses) else ()
        return {
            node: active.label
            for active in self._active.values()
            if self._faults[active.entry.fault].ends_processes
            for node in active.entry.victims
            if node in needed
        }

    def _stop(self, name: str) -> Json:
        if name not in self._active:
            return {"skipped": f"{name} is not active"}
        active = self._active[name]
        healed = False
        try:
            active.injection.heal(self._cluster)
            active.entry.step("healed")
            healed = True
        except Exception as error:
            log.warning("%s could not be healed: %s", name, error)
            active.entry.failed(error)
        probe = self._look(active, "probed-after")
        if healed:
            del self._active[name]
        self._show()
        return active.describe(probe.bites)

    def _look(self, active: Active, step: str) -> Probe:
        try:
            probe = active.injection.probe(self._cluster)
        except Exception as error:
            log.warning("%s could not be probed: %s", active.entry.fault, error)
            active.entry.failed(error)
            probe = Probe(bites=None, evidence={"error": str(error)})
        active.entry.probed(step, probe)
        return probe

    def _show(self) -> None:
        self._on_fault(", ".join(each.label for each in self._active.values()) or None)
