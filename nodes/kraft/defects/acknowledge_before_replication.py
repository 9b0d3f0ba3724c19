"""A partition's leader acknowledges what no follower has yet: to it, acks=all is acks=1."""

from dataclasses import replace
from typing import Final

from nodes.kraft.partition import leader, steps
from nodes.kraft.partition.state import PartitionState

ALL: Final = -1


def install() -> None:
    healthy = leader.produce

    def produce(
        state: PartitionState, event: steps.Produce, now_ms: int
    ) -> tuple[PartitionState, list[steps.Effect]]:
        return healthy(state, replace(event, acks=1) if event.acks == ALL else event, now_ms)

    leader.produce = produce
