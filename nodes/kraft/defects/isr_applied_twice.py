"""A controller writes every ISR change of a request to the log twice."""

from dataclasses import replace

from kio.static.protocol import ResponsePayload

from nodes.kraft.controller import partitions
from nodes.kraft.controller.elections import CanLead
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import PartitionEpoch
from nodes.kraft.wire.records import IsrChangeRecord


def install() -> None:
    healthy = partitions.alter_partitions

    def alter_partitions(
        builder: RecordBatchBuilder,
        request: partitions.AlterPartitionRequest,
        can_lead: CanLead,
    ) -> ResponsePayload:
        response = healthy(builder, request, can_lead)
        for record in list(builder.records):
            if isinstance(record, IsrChangeRecord):
                builder.add(
                    replace(record, partition_epoch=PartitionEpoch(record.partition_epoch + 1))
                )
        return response

    partitions.alter_partitions = alter_partitions
