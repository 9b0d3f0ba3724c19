"""Requests of a past generation have no effect, and brokers without a lease serve nobody."""

from checkers.kernels.fencing import EVENTS, FS, zombie_fencing
from checkers.observations import check_runs, event_rows, operation_rows, plan_rows, together
from framework.plugins.checker import DataFrame, Tables


class ZombieFencing:
    """KIP-380's broker epochs and KIP-631's leases; see `checkers.kernels.fencing`."""

    name = "zombie-fencing"
    summary = (
        "Once a newer broker epoch, leader epoch or version is acknowledged, requests that "
        "carry an older one are refused, and a broker whose lease has ended serves no client"
    )

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            plan_rows(tables),
            operation_rows(tables, FS),
            event_rows(tables, EVENTS),
        )
        return check_runs(rows, self.name, zombie_fencing)
