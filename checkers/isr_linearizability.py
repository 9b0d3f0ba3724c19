"""ISR changes of each partition are linearizable compare-and-sets."""

from typing import Any

from checkers.kernels.isr_chain import EVENTS, FS, isr_chain
from checkers.observations import COLUMNS, check_keys, event_rows, operation_rows, together
from framework.plugins.checker import DataFrame, Tables


class IsrLinearizability:
    """One key a (topic id, partition); see `checkers.kernels.isr_chain`."""

    name = "isr-linearizability"
    summary = (
        "Every ISR change that was acknowledged is one committed step from exactly the version "
        "that it named, refused ones are none, and no later operation sees an older version"
    )

    def check(self, tables: Tables) -> DataFrame:
        operations = operation_rows(tables, FS)
        events = event_rows(tables, EVENTS)
        rows = together(
            _changes(operations), _describes(operations), _records(events), _decides(events)
        )
        return check_keys(rows, self.name, isr_chain, by=("topic_id", "partition"))


def _keyed(rows: DataFrame, topic_id: Any, partition: Any) -> DataFrame:
    """Rows that are of a partition, with its key."""
    keyed = rows.select(
        *COLUMNS, topic_id.alias("topic_id"), partition.cast("int").alias("partition")
    )
    return keyed.where(keyed.topic_id.isNotNull() & keyed.partition.isNotNull())


def _at(rows: DataFrame, *paths: str) -> Any:
    from pyspark.sql import functions as sql

    return sql.coalesce(*(sql.get_json_object(rows.value, path) for path in paths))


def _changes(operations: DataFrame) -> DataFrame:
    rows = operations.where(operations.f == "alter-isr")
    return _keyed(rows, _at(rows, "$.topic_id"), _at(rows, "$.partition"))


def _describes(operations: DataFrame) -> DataFrame:
    """A read for each partition that it shows."""
    from pyspark.sql import functions as sql

    rows = operations.where((operations.f == "describe") & (operations.type == "ok"))
    shape = "topic_id string, partitions array<struct<partition:int>>"
    shown = rows.withColumn("shown", sql.from_json(rows.result, shape))
    each = shown.withColumn("number_shown", sql.explode("shown.partitions.partition"))
    return _keyed(each, sql.col("shown.topic_id"), sql.col("number_shown"))


def _records(events: DataFrame) -> DataFrame:
    rows = events.where(events.type == "apply")
    rows = rows.where(_at(rows, "$.kind").isin("PartitionRecord", "IsrChangeRecord"))
    return _keyed(
        rows,
        _at(rows, "$.record.topic_id", "$.topic_id"),
        _at(rows, "$.record.partition_id", "$.partition_id"),
    )


def _decides(events: DataFrame) -> DataFrame:
    rows = events.where(events.type == "decide")
    rows = rows.where(_at(rows, "$.api") == "AlterPartition")
    return _keyed(rows, _at(rows, "$.source.topic_id"), _at(rows, "$.source.partition"))
