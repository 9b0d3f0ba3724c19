"""A controller says that it has elected preferred leaders, and elects nobody."""

from nodes.kraft.controller import elect_leaders
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import BrokerId
from nodes.kraft.metadata.image import Partition, PartitionKey


def install() -> None:
    def change(
        builder: RecordBatchBuilder, key: PartitionKey, isr: tuple[BrokerId, ...], leader: BrokerId
    ) -> Partition:
        return builder.image.partitions[key]

    elect_leaders.change = change  # type: ignore[attr-defined]
