"""The nemesis worker: carries out fault operations, and sees whether they bit and healed."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

import tenacity

from framework.history.event import Event, Json
from framework.plugins.fault import Nemesis, Plan, Probe
from framework.plugins.system import Cluster, NodeState, System
from framework.run.ledger import Ledger
from framework.seeds import stream

log: Final = logging.getLogger(__name__)

SETTLE_TIMEOUT_S: Final = 60.0


def states(system: System, cluster: Cluster, timeout_s: float = 1.0) -> dict[str, NodeState | None]:
    """Ask every node at once."""
    with ThreadPoolExecutor(len(cluster.nodes)) as pool:
        answers = pool.map(lambda node: system.state(cluster, node, timeout_s), cluster.nodes)
        return dict(zip(cluster.nodes, answers, strict=True))


def find_leader(system: System, cluster: Cluster) -> str | None:
    """The node that claims to lead; of two, the one with the higher epoch."""
    claims = [state for state in states(system, cluster).values() if state and state.leader]
    best = max(claims, key=lambda state: state.fields.get("epoch", 0), default=None)
    return best.node if best else None


def await_settled(
    system: System, cluster: Cluster, timeout_s: float, stop: Callable[[], bool] = lambda: False
) -> str | None:
    """Wait until all nodes agree and serve. None then; else what is missing."""
    retry = tenacity.Retrying(
        retry=tenacity.retry_if_result(lambda missing: missing is not None and not stop()),
        stop=tenacity.stop_after_delay(timeout_s),
        wait=tenacity.wait_fixed(0.1),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else "nothing",
    )
    missing: str | None = retry(system.settled, cluster)
    return missing


class FaultDriver:
    """Executes operations of the nemesis process.

    `start-<fault>` plans, writes down, injects and probes; `stop-<fault>` heals and probes;
    `heal` heals whatever is active; `settle` waits until the cluster agrees; `phase` marks.
    """

    def __init__(
        self,
        *,
        system: System,
        cluster: Cluster,
        nemeses: Mapping[str, Nemesis],
        targets: Sequence[str],
        ledger: Ledger,
        on_phase: Callable[[str], None],
        on_fault: Callable[[str | None], None],
    ) -> None:
        self._system = system
        self._cluster = cluster
        self._nemeses = nemeses
        self._targets = targets
        self._ledger = ledger
        self._on_phase = on_phase
        self._on_fault = on_fault
        self._active: dict[str, tuple[int, Plan]] = {}
        self._drawn: Counter[str] = Counter()
        """Plans made of each fault. Each has a source of its own, so that its victims do not
        depend on when another one's turn happened to come."""
        self._lock = threading.RLock()
        """One deed at a time: who ends a run early waits for an injection under way, and then
        heals it."""

    def invoke(self, op: Event) -> Event:
        """Carry out one operation. Never raises for a fault that failed: the ledger says so."""
        verb, _, fault = op.f.partition("-")
        value: Json
        if op.f == "phase":
            self._on_phase(str(op.value))
            value = op.value
        elif op.f == "heal":
            value = self.heal_all()
        elif op.f == "settle":
            missing = await_settled(self._system, self._cluster, SETTLE_TIMEOUT_S)
            value = {"settled": missing is None, "missing": missing}
        else:
            with self._lock:
                value = self._start(fault) if verb == "start" else self._stop(fault)
        return replace(op, type="info", value=value)

    @property
    def active(self) -> bool:
        """Whether any fault is not healed yet."""
        with self._lock:
            return bool(self._active)

    def heal_all(self) -> Json:
        """Heal every active fault; what came of each. A ledger that cannot be written, on a full
        disk, keeps none from being healed."""
        found = []
        with self._lock:
            for fault in list(self._active):
                try:
                    found.append(self._stop(fault))
                except OSError as error:
                    log.warning("the healing of %s could not be written down: %s", fault, error)
                    found.append({"error": str(error)})
        return found

    def _start(self, fault: str) -> Json:
        if fault in self._active:
            return {"skipped": f"{fault} is already active"}
        nemesis = self._nemeses[fault]
        rng = stream(self._cluster.seed, "nemesis", fault, self._drawn[fault])
        self._drawn[fault] += 1
        leader = find_leader(self._system, self._cluster)
        plan = nemesis.plan(self._cluster, self._targets, leader, rng)
        ident = self._ledger.plan(plan)
        self._active[fault] = (ident, plan)
        self._look(ident, "probed-before", nemesis, plan)
        try:
            nemesis.inject(self._cluster, plan)
            self._ledger.done(ident, "injected", plan)
        except Exception as error:
            log.warning("%s could not be injected: %s", fault, error)
            self._ledger.failed(ident, plan, error)
        self._on_fault(self._label())
        probe = self._look(ident, "probed-during", nemesis, plan)
        return self._describe(ident, plan, probe.bites)

    def _stop(self, fault: str) -> Json:
        if fault not in self._active:
            return {"skipped": f"{fault} is not active"}
        ident, plan = self._active[fault]
        nemesis = self._nemeses[fault]
        healed = False
        try:
            nemesis.heal(self._cluster, plan)
            self._ledger.done(ident, "healed", plan)
            healed = True
        except Exception as error:
            log.warning("%s could not be healed: %s", fault, error)
            self._ledger.failed(ident, plan, error)
        probe = self._look(ident, "probed-after", nemesis, plan)
        if healed:
            del self._active[fault]
        self._on_fault(self._label())
        return self._describe(ident, plan, probe.bites)

    def _look(self, ident: int, step: str, nemesis: Nemesis, plan: Plan) -> Probe:
        try:
            probe = nemesis.probe(self._cluster, plan)
        except Exception as error:
            log.warning("%s could not be probed: %s", plan.fault, error)
            self._ledger.failed(ident, plan, error)
            probe = Probe(bites=None, evidence={"error": str(error)})
        self._ledger.probed(ident, step, plan, probe)
        return probe

    def _label(self) -> str | None:
        plans = [plan for _, plan in self._active.values()]
        return ", ".join(f"{plan.fault} {plan.shape}" for plan in plans) or None

    @staticmethod
    def _describe(ident: int, plan: Plan, bites: bool | None) -> Json:
        return {"id": ident, "shape": plan.shape, "victims": dict(plan.victims), "bit": bites}
