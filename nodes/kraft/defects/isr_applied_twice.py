"""A controller writes every ISR change of a request to the log twice."""

from dataclasses import replace
from typing import Any

from kio.static.primitive import i32

from nodes.kraft.controller import partitions
from nodes.kraft.wire.records import IsrChangeRecord


def install() -> None:
    healthy = partitions.alter_partitions

    def alter_partitions(builder: Any, request: Any, can_lead: Any) -> Any:
        response = healthy(builder, request, can_lead)
        for record in list(builder.records):
            if isinstance(record, IsrChangeRecord):
                builder.add(replace(record, partition_epoch=i32(record.partition_epoch + 1)))
        return response

    partitions.alter_partitions = alter_partitions
