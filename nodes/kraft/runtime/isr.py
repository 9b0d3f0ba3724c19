"""AlterPartition from this broker's leaders to the active controller: one request in flight,
for all partitions together (KIP-497)."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import Final

from kio.schema.alter_partition.v3 import request as wire
from kio.schema.alter_partition.v3.response import AlterPartitionResponse, PartitionData
from kio.schema.errors import ErrorCode
from kio.schema.types import BrokerId
from kio.static.primitive import i32, i64

from nodes.kraft.ids import PartitionEpoch
from nodes.kraft.metadata.image import Image, PartitionKey
from nodes.kraft.net.channel import ControllerChannels, FateUnknown, NotSent
from nodes.kraft.partition.state import Proposal
from nodes.kraft.partition.steps import IsrAnswered
from nodes.kraft.runtime.planes import Plane

log: Final = logging.getLogger(__name__)

RETRY_S: Final = 0.05
MAX_PARTITIONS: Final = 1000
"""In one request."""

DEFINITE: Final = frozenset(
    {
        ErrorCode.none,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.invalid_request,
        ErrorCode.operation_not_attempted,
        ErrorCode.fenced_leader_epoch,
        ErrorCode.invalid_update_version,
        ErrorCode.unknown_topic_id,
        ErrorCode.ineligible_replica,
        ErrorCode.new_leader_elected,
    }
)
"""After these nothing is sent again; after any other, the same proposal: a controller that is
behind will come up, and one that decided already will say so."""


class IsrChanges:
    """Sends proposals until the controller has decided them. `answered` hears of it."""

    def __init__(self, plane: Plane, answered: Callable[[PartitionKey, IsrAnswered], None]) -> None:
        self._plane = plane
        self._answered = answered
        self._proposals: dict[PartitionKey, Proposal] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._channels = ControllerChannels(plane.config)

    def start(self) -> None:
        self._task = self._plane.spawn(self._run())

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._channels.close()

    def propose(self, key: PartitionKey, proposal: Proposal) -> None:
        """Ask for an ISR; it takes the place of an older proposal for the same partition."""
        self._proposals[key] = proposal
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            if not self._proposals:
                self._wake.clear()
            elif not await self._send():
                await asyncio.sleep(RETRY_S)

    async def _send(self) -> bool:
        """Send what there is. False: some of it is to be sent again, after a pause."""
        controller, epoch = self._plane.leader_id(), self._plane.broker_epoch()
        if controller < 0 or epoch < 0:
            return False
        sent = dict(list(self._proposals.items())[:MAX_PARTITIONS])
        request = _request(self._plane.image(), self._plane.config.broker_id, epoch, sent)
        timeout_s = self._plane.config.timing.request_timeout_ms / 1000
        try:
            response = await self._channels.to(controller).call(request, timeout_s)
        except (NotSent, FateUnknown) as error:
            log.debug("AlterPartition: %s", error)
            return False
        if response.error_code != ErrorCode.none:
            log.info("AlterPartition: %s", ErrorCode(response.error_code).name)
            return False
        return self._take(sent, response)

    def _take(self, sent: dict[PartitionKey, Proposal], response: AlterPartitionResponse) -> bool:
        left = set(sent)
        for topic in response.topics:
            for answer in topic.partitions:
                key = (topic.topic_id, int(answer.partition_index))
                code = ErrorCode(answer.error_code)
                if key not in sent or code not in DEFINITE:
                    continue
                left.discard(key)
                proposal = sent[key]
                if self._proposals.get(key) == proposal:
                    del self._proposals[key]
                if code != ErrorCode.none:
                    log.debug("ISR %s of %s-%d: %s", proposal.isr, *key, code.name)
                self._answered(key, answer_to(proposal, answer))
        return not left


def answer_to(proposal: Proposal, answer: PartitionData) -> IsrAnswered:
    """What the controller's answer says. Where it completed a reassignment the partition has
    another leader epoch, if not another leader: what it is, the metadata will say."""
    code = ErrorCode(answer.error_code)
    if code == ErrorCode.none and int(answer.leader_epoch) != proposal.leader_epoch:
        code = ErrorCode.new_leader_elected
    return IsrAnswered(proposal, code, answer.isr, PartitionEpoch(answer.partition_epoch))


def _request(
    image: Image, broker_id: int | None, epoch: int, proposals: dict[PartitionKey, Proposal]
) -> wire.AlterPartitionRequest:
    topics: dict[uuid.UUID, list[wire.PartitionData]] = {}
    for (topic_id, number), proposal in proposals.items():
        joining = dict(proposal.joining)
        members = tuple(
            wire.BrokerState(
                broker_id=BrokerId(member),
                broker_epoch=i64(joining.get(member, _registered(image, member))),
            )
            for member in proposal.isr
        )
        topics.setdefault(topic_id, []).append(
            wire.PartitionData(
                partition_index=i32(number),
                leader_epoch=i32(proposal.leader_epoch),
                new_isr_with_epochs=members,
                partition_epoch=i32(proposal.partition_epoch),
            )
        )
    assert broker_id is not None
    return wire.AlterPartitionRequest(
        broker_id=BrokerId(broker_id),
        broker_epoch=i64(epoch),
        topics=tuple(
            wire.TopicData(topic_id=topic_id, partitions=tuple(partitions))
            for topic_id, partitions in topics.items()
        ),
    )


def _registered(image: Image, broker_id: BrokerId) -> int:
    broker = image.brokers.get(broker_id)
    return -1 if broker is None else broker.epoch
