"""Brokers that are not active serve no client."""

from checkers.kernels.fenced_serving import EVENTS, FS, fenced_serve_nothing
from checkers.observations import (
    check_keys,
    event_rows,
    node_plan_rows,
    operation_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class FencedServeNothing:
    """One key a node; see `checkers.kernels.fenced_serving`."""

    name = "fenced-serve-nothing"
    summary = (
        "A broker that is not ACTIVE answers no client with success, by its own events "
        "and by what clients were answered; controllers refuse what is a client's"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            node_plan_rows(tables),
            operation_rows(tables, FS).where("node is not null"),
            event_rows(tables, EVENTS),
        )
        return check_keys(rows, self.name, fenced_serve_nothing, by=("node",))
