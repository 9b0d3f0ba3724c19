"""What is known of a partition on synthetic brokers, and the ISR changes that fit it."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workloads.kafka.operations.brokers import NO_EPOCH, AlterIsr
from workloads.kafka.operations.partitions import partition_key
from workloads.kafka.operations.topics import TopicState
from workloads.synthetic.broker import Broker


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """The newest state that an answer showed. `fresh`: nothing hints at a newer one."""

    topic: str
    topic_id: str
    number: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    fresh: bool = True

    @property
    def key(self) -> str:
        """The key of operations on it."""
        return partition_key(self.topic, self.number)


def described(topic: str, state: TopicState) -> list[Partition]:
    """The partitions in the result of a describe."""
    return [
        Partition(
            topic=topic,
            topic_id=state.topic_id,
            number=each.partition,
            leader=each.leader,
            leader_epoch=each.leader_epoch,
            partition_epoch=NO_EPOCH if each.partition_epoch is None else each.partition_epoch,
            replicas=each.replicas,
            isr=each.isr,
        )
        for each in state.partitions
    ]


def newer(known: Partition | None, shown: Partition) -> Partition:
    """Of two states of one partition the newer one. A late answer may show an older one."""
    if known is None or known.topic_id != shown.topic_id:
        return shown
    return shown if shown.partition_epoch >= known.partition_epoch else known


def eligible(brokers: Iterable[Broker]) -> dict[int, int]:
    """Broker id to epoch of those that may lead and be in an ISR, as far as is known."""
    return {each.broker_id: each.epoch for each in brokers if each.active and each.epoch >= 0}


def changeable(partition: Partition, members: Mapping[int, int]) -> bool:
    """Whether its leader may ask for another in-sync set than there is: one that is asked for what
    is there already may call that a success, and change nothing."""
    others = set(partition.replicas) & members.keys() - {partition.leader}
    return partition.leader in members and bool(others or set(partition.isr) - {partition.leader})


def propose(partition: Partition, members: Mapping[int, int], rng: random.Random) -> list[int]:
    """Another in-sync set: one or two of the other eligible replicas go or come. The leader
    stays, first. Replicas that are not eligible go."""
    others = [each for each in partition.replicas if each != partition.leader and each in members]
    changed = set(rng.sample(others, k=min(len(others), rng.choice((1, 1, 2)))))
    return [
        partition.leader,
        *(each for each in others if (each in partition.isr) != (each in changed)),
    ]


def alter(
    partition: Partition, isr: list[int], epochs: Mapping[int, int], broker_epoch: int
) -> AlterIsr:
    """An honest ISR change by the partition's leader."""
    return AlterIsr(
        topic_id=partition.topic_id,
        partition=partition.number,
        broker_id=partition.leader,
        broker_epoch=broker_epoch,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        isr=tuple(isr),
        isr_epochs=tuple(epochs.get(member, NO_EPOCH) for member in isr),
    )
