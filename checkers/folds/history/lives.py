"""Which process of a node answered, by the ledger alone."""

from collections import defaultdict
from collections.abc import Iterable

from framework.evidence.run_events import FaultRecord
from framework.history.pairing import Operation


class Lives:
    """Which process of a node answered, by what the harness did to it."""

    def __init__(self, faults: Iterable[FaultRecord]) -> None:
        self._ends: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for fault in faults:
            if fault.ends_processes is not False:
                begin = float("-inf") if fault.injected_ns is None else fault.injected_ns
                end = float("inf") if fault.healed_ns is None else fault.healed_ns
                for node in fault.nodes:
                    self._ends[node].append((begin, end))

    def of(self, operation: Operation) -> tuple[str, int] | None:
        """(node, how often it was started anew); None: it may have been, meanwhile."""
        begin, end = operation.invoked_ns, operation.completed_ns
        if begin is None or end is None or operation.node is None:
            return None
        spans = self._ends.get(operation.node, ())
        if any(since <= end and begin <= until for since, until in spans):
            return None
        return operation.node, sum(until < begin for _, until in spans)
