"""A controller takes any leader epoch of an ISR change for the right one."""

from dataclasses import replace

from kio.static.primitive import i32

from nodes.kraft.controller import partitions
from nodes.kraft.ids import BrokerId
from nodes.kraft.metadata.image import Partition


def install() -> None:
    healthy = partitions.check_epochs

    def check_epochs(
        partition: Partition, broker_id: BrokerId, asked: partitions.PartitionChange
    ) -> None:
        healthy(partition, broker_id, replace(asked, leader_epoch=i32(partition.leader_epoch)))

    partitions.check_epochs = check_epochs
