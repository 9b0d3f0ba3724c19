"""How much of what was asked was done, and how soon after each fault."""

from checkers.kernels.availability import EVENTS, availability
from checkers.observations import (
    check_runs,
    event_rows,
    injection_rows,
    operation_rows,
    plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class Availability:
    """Figures first; see `checkers.kernels.availability`."""

    name = "availability"
    summary = (
        "Every kind of operation succeeds, and some do within 30 s of every heal that is "
        "followed by so much peace"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            injection_rows(tables),
            operation_rows(tables),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, availability)
