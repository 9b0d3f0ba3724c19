"""ISR changes of each partition are linearizable compare-and-sets."""

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
    requires = frozenset({"isr-changes", "linearizable-topic-read"})

    def check(self, tables: Tables) -> DataFrame:
        operations = operation_rows(tables, FS)
        events = event_rows(tables, EVENTS)
        rows = together(
            _changes(operations), _describes(operations), _records(events), _decides(events)
        )
        return check_keys(rows, self.name, isr_chain, by=("topic_id", "partition"))


def _keyed(rows: DataFrame, topic_id: str, partition: str) -> DataFrame:
    """Rows that are of a partition, with its key; both are SQL expressions."""
    keyed = rows.selectExpr(
        *(f"`{name}`" for name in COLUMNS),
        f"{topic_id} as topic_id",
        f"cast({partition} as int) as partition",
    )
    return keyed.where("topic_id is not null and partition is not null")


def _at(path: str) -> str:
    return f"get_json_object(value, '$.{path}')"


def _changes(operations: DataFrame) -> DataFrame:
    rows = operations.where("f = 'alter-isr'")
    return _keyed(rows, _at("topic_id"), _at("partition"))


def _describes(operations: DataFrame) -> DataFrame:
    """A read for each partition that it shows."""
    shape = "topic_id string, partitions array<struct<partition:int>>"
    rows = operations.where("f = 'describe' and type = 'ok'")
    shown = rows.selectExpr("*", f"from_json(result, '{shape}') as shown")
    each = shown.selectExpr("*", "explode(shown.partitions.partition) as each")
    return _keyed(each, "shown.topic_id", "each")


def _records(events: DataFrame) -> DataFrame:
    rows = events.where(
        f"type = 'apply' and {_at('kind')} in ('PartitionRecord', 'IsrChangeRecord')"
    )
    topic_id = f"coalesce({_at('record.topic_id')}, {_at('topic_id')})"
    partition = f"coalesce({_at('record.partition_id')}, {_at('partition_id')})"
    return _keyed(rows, topic_id, partition)


_ITEM = (
    "struct<topic_id:string,partition:int,leader_epoch:long,partition_epoch:long,code:int,"
    "records:array<long>>"
)


def _decides(events: DataFrame) -> DataFrame:
    """A decision for each partition that a request names; of older runs, for its first one."""
    rows = events.where(f"type = 'decide' and {_at('api')} = 'AlterPartition'")
    older = rows.where(f"{_at('items')} is null")
    items = rows.selectExpr("*", f"explode(from_json({_at('items')}, 'array<{_ITEM}>')) as item")
    fields = (
        "'api', 'AlterPartition'",
        f"'request_id', {_at('request_id')}",
        f"'source', from_json({_at('source')}, 'broker_id int, broker_epoch long')",
        *(f"'{name}', cast({_at(name)} as long)" for name in ("verdict", "as_of", "epoch")),
        "'records', item.records",
        "'items', array(item)",
    )
    whole = ", ".join(f"`{name}`" for name in COLUMNS if name != "value")
    each = items.selectExpr(
        *whole.split(", "), f"to_json(named_struct({', '.join(fields)})) as value", "item"
    )
    return together(
        _keyed(older, _at("source.topic_id"), _at("source.partition")),
        _keyed(each, "item.topic_id", "item.partition"),
    )
