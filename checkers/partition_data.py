"""What was produced is what is fetched."""

from checkers.kernels.partition_data import FS, partition_data
from checkers.observations import (
    check_keys,
    operation_rows,
    together,
)
from framework.plugins.capabilities import evidence
from framework.plugins.checker import DataFrame, Tables


class PartitionData:
    """One key a partition; see `checkers.kernels.partition_data`."""

    name = "partition-data"
    summary = (
        "Offsets hold one value each, acknowledged values are never lost, consumers "
        "neither skip nor go back, and nothing is read that was refused or later vanishes"
    )
    requires = frozenset({"log-operations"}) | evidence("appended")

    def check(self, tables: Tables) -> DataFrame:
        rows = together(
            operation_rows(tables, FS),
        )
        return check_keys(rows, self.name, partition_data, by=("key",))
