"""A controller takes any leader epoch of an ISR change for the right one."""

from dataclasses import replace
from typing import Any

from nodes.kraft.controller import partitions


def install() -> None:
    healthy = partitions.check_epochs

    def check_epochs(partition: Any, broker_id: int, asked: Any) -> None:
        healthy(partition, broker_id, replace(asked, leader_epoch=partition.leader_epoch))

    partitions.check_epochs = check_epochs
