"""A controller takes any epoch by which an ISR change names a member for the right one."""

from dataclasses import replace

from kio.schema.alter_partition.v3 import request as v3
from kio.static.primitive import i64

from nodes.kraft.controller import partitions
from nodes.kraft.controller.elections import CanLead
from nodes.kraft.ids import NO_EPOCH
from nodes.kraft.metadata.image import Image, Partition


def install() -> None:
    healthy = partitions.check_members

    def check_members(
        image: Image, partition: Partition, asked: partitions.PartitionChange, can_lead: CanLead
    ) -> None:
        if isinstance(asked, v3.PartitionData):
            members = (
                replace(each, broker_epoch=i64(NO_EPOCH)) for each in asked.new_isr_with_epochs
            )
            asked = replace(asked, new_isr_with_epochs=tuple(members))
        healthy(image, partition, asked, can_lead)

    partitions.check_members = check_members
