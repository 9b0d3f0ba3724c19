"""What brokers ask of the controller of their own accord, and what zombies of them would."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kio.schema.allocate_producer_ids.v0 import request as producer_ids
from kio.schema.alter_partition.v3 import request as alter
from kio.schema.alter_partition_reassignments.v1 import request as reassignments
from kio.schema.create_partitions.v3 import request as create_partitions
from kio.schema.incremental_alter_configs.v1 import request as configs
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i8, i32, i32Timedelta, i64
from kio.static.protocol import ResponsePayload

from nodes.kraft.ids import BrokerEpoch
from nodes.kraft.metadata.image import Image, Partition
from nodes.kraft.simulation.machine import Machine
from nodes.kraft.simulation.replica import REQUEST_TIMEOUT_MS
from nodes.kraft.simulation.schedule import Administer, IsrChange, StaleHeartbeat
from nodes.kraft.wire.heartbeats import BrokerHeartbeatRequest

if TYPE_CHECKING:
    from nodes.kraft.simulation.world import World
    from nodes.kraft.wire.requests import DecidedRequest

TOPIC: Final = 2
SET: Final = 0
DELETE: Final = 1
REPEATED: Final = frozenset({50, 56})
"""Heartbeats and AlterPartition: a second one of the same does no harm."""
_TIMEOUT: Final = i32Timedelta.parse(datetime.timedelta(seconds=1))


def administer(world: World, item: Administer) -> None:
    """A request beside those that the clients' history is of."""
    machines = [m for m in world.brokers(item.victim) if m.member is not None]
    if not machines:
        return
    machine = machines[0]
    assert machine.member is not None
    if item.what == "producer-ids":
        request: DecidedRequest = producer_ids.AllocateProducerIdsRequest(
            broker_id=BrokerId(item.victim), broker_epoch=i64(machine.member.state.epoch)
        )
    elif item.what == "partitions":
        topic = create_partitions.CreatePartitionsTopic(
            name=TopicName(item.topic), count=i32(2 + item.pick % 3), assignments=None
        )
        request = create_partitions.CreatePartitionsRequest(
            topics=(topic,), timeout=_TIMEOUT, validate_only=False
        )
    elif item.what == "reassign":
        assert machine.replica is not None
        moved = _reassignment(machine.replica.image, world.profile.broker_ids, item.pick)
        if moved is None:
            return
        request = moved
    else:
        value = None if item.pick % 4 == 0 else str(1000 * (1 + item.pick))
        operation = DELETE if value is None else SET
        config = configs.AlterableConfig(
            name="max.message.bytes", config_operation=i8(operation), value=value
        )
        resource = configs.AlterConfigsResource(
            resource_type=i8(TOPIC), resource_name=item.topic, configs=(config,)
        )
        request = configs.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    _send(world, machine, request)


def _reassignment(
    image: Image, ids: Sequence[int], pick: int
) -> reassignments.AlterPartitionReassignmentsRequest | None:
    """To some of the brokers, in some order; now and then what is under way is cancelled."""
    keys = sorted(image.partitions)
    if not keys:
        return None
    topic_id, number = keys[pick % len(keys)]
    turn, count = pick // 3 % len(ids), 1 + pick // 9 % len(ids)
    replicas = tuple(BrokerId(each) for each in (*ids[turn:], *ids[:turn])[:count])
    partition = reassignments.ReassignablePartition(
        partition_index=i32(number), replicas=None if pick % 7 == 0 else replicas
    )
    name = TopicName(image.topics[topic_id].name)
    return reassignments.AlterPartitionReassignmentsRequest(
        topics=(reassignments.ReassignableTopic(name=name, partitions=(partition,)),),
        timeout=_TIMEOUT,
    )


def change_isr(world: World, item: IsrChange) -> None:
    """A partition's leader asks for another ISR, or a zombie of it does."""
    machines = [m for m in world.brokers(item.victim) if m.member is not None]
    if not machines:
        return
    machine = machines[item.pick % len(machines)]
    assert machine.member is not None and machine.replica is not None
    image, me = machine.replica.image, BrokerId(item.victim)
    zombie = item.how.startswith("old-")
    if zombie:
        image = world.ledger.images[-1]  # it knows all but the one thing
    elif not machine.member.serving():
        return
    led = [key for key in image.partitions_in_sync(me) if image.partitions[key].leader == me]
    if not led:
        return
    key = led[item.pick % len(led)]
    partition = image.partitions[key]
    leader_epoch = partition.leader_epoch - (item.how == "old-leader-epoch")
    epoch: int = machine.member.state.epoch
    if item.how == "old-leader-epoch":
        epoch = image.brokers[me].epoch
    elif item.how == "old-broker-epoch":
        epoch = _earlier_epoch(world, me, item.pick)
    if leader_epoch < 0 or epoch < 0:
        return
    members = _members(image, partition, me, item)
    asked = alter.PartitionData(
        partition_index=i32(key[1]),
        leader_epoch=i32(leader_epoch),
        new_isr_with_epochs=members,
        partition_epoch=i32(partition.partition_epoch),
    )
    request = alter.AlterPartitionRequest(
        broker_id=BrokerId(me),
        broker_epoch=i64(epoch),
        topics=(alter.TopicData(topic_id=key[0], partitions=(asked,)),),
    )
    _send(world, machine, request)


def _members(
    image: Image, partition: Partition, me: BrokerId, item: IsrChange
) -> tuple[alter.BrokerState, ...]:
    isr = [member for member in partition.isr if member != me]
    if item.how == "grow":
        isr = [member for member in partition.replicas if member != me]
        isr = [member for member in isr if not image.brokers[member].fenced]
    elif item.how == "shrink" and isr:
        del isr[item.pick % len(isr)]
    members = sorted([me, *isr])
    return tuple(
        alter.BrokerState(broker_id=BrokerId(each), broker_epoch=i64(image.brokers[each].epoch))
        for each in members
    )


def stale_heartbeat(world: World, item: StaleHeartbeat) -> None:
    machines = [m for m in world.brokers(item.victim) if m.up]
    epoch = _earlier_epoch(world, item.victim, item.pick)
    if not machines or epoch < 0:
        return
    request = BrokerHeartbeatRequest(
        target_state=i8(item.target),
        broker_id=BrokerId(item.victim),
        broker_epoch=BrokerEpoch(epoch),
        lease_start_time_ms=i64(machines[0].clock.now_ms()),
        cur_metadata_offset=i64(world.ledger.end),
        listeners=(),
        incarnation_id=uuid.UUID(int=1),
    )
    _send(world, machines[0], request)


def _earlier_epoch(world: World, broker_id: int, pick: int) -> int:
    """One of the broker's epochs before its newest one; -1: it has none."""
    registered = world.ledger.fold.facts.registered
    epochs = [epoch for epoch, (owner, _) in registered.items() if owner == broker_id][:-1]
    return epochs[pick % len(epochs)] if epochs else -1


def _send(world: World, machine: Machine, request: DecidedRequest) -> None:
    assert machine.replica is not None
    leader = machine.replica.state.leader_id

    def ignore(response: ResponsePayload | None, sent: bool) -> None:
        """Nobody waits for it."""

    if leader in world.machines:
        world.network.call(
            machine,
            world.machines[leader],
            lambda callee, answer: callee.controller.ask(request, answer),
            ignore,
            timeout_ms=REQUEST_TIMEOUT_MS,
            may_repeat=request.__api_key__ in REPEATED,
        )
