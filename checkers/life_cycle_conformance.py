"""Brokers and replicas live by their state machines."""

from checkers.kernels.life_cycle import EVENTS, life_cycle
from checkers.observations import (
    check_keys,
    event_rows,
    node_plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class LifeCycleConformance:
    """One key a node; see `checkers.kernels.life_cycle`."""

    name = "life-cycle-conformance"
    summary = (
        "Every transition of a broker's state and of a replica's role is one that is "
        "drawn, and has its trigger before it"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            node_plan_rows(tables),
            event_rows(tables, EVENTS),
        )
        return check_keys(rows, self.name, life_cycle, by=("node",))
