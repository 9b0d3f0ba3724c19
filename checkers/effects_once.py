"""No operation takes effect twice, none after it failed."""

from checkers.kernels.effects import EVENTS, FS, effects_once
from checkers.observations import (
    check_runs,
    event_rows,
    operation_rows,
    plan_rows,
    together,
)
from framework.plugins.checker import DataFrame, Tables


class EffectsOnce:
    """See `checkers.kernels.effects`."""

    name = "effects-once"
    summary = (
        "Every topic that came or went is the doing of one operation that was not "
        "refused, and every request id is in one batch"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, effects_once)
