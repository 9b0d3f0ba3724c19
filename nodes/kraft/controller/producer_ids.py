"""AllocateProducerIds (key 67): blocks of producer ids for brokers to hand out (KIP-730).

A block is told to the broker when the record that takes it is committed. That alone makes the
ids that brokers know unique. Blocks also begin anew, above all earlier ones, in each leader
epoch: an epoch has one leader, so not even a block whose record a failover truncated is ever
taken again (D.19).
"""

from typing import Final

from kio.schema.allocate_producer_ids.v0.request import AllocateProducerIdsRequest
from kio.schema.errors import ErrorCode
from kio.static.primitive import i32, i64
from kio.static.protocol import ResponsePayload

from nodes.kraft.controller.answers import NO_THROTTLE, make, refused, schema_of
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import BrokerEpoch
from nodes.kraft.wire.records import ProducerIdsRecord

BLOCK_SIZE: Final = 1000
IDS_PER_EPOCH: Final = 10**9
"""Room for a million blocks; an epoch that needs more goes on into the next one's."""


def allocate_producer_ids(
    builder: RecordBatchBuilder, request: AllocateProducerIdsRequest, epoch: int
) -> ResponsePayload:
    """Take the next block for the broker; STALE_BROKER_EPOCH (77) where its epoch is not the
    registered one. `epoch`: the leader epoch of this controller."""
    broker = builder.image.brokers.get(request.broker_id)
    if broker is None or broker.epoch != int(request.broker_epoch):
        return refused(request, ErrorCode.stale_broker_epoch)
    start = max(builder.image.next_producer_id, epoch * IDS_PER_EPOCH)
    builder.add(
        ProducerIdsRecord(
            broker_id=request.broker_id,
            broker_epoch=BrokerEpoch(request.broker_epoch),
            next_producer_id=i64(start + BLOCK_SIZE),
        )
    )
    return make(
        schema_of(request),
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.none,
        producer_id_start=start,
        producer_id_len=i32(BLOCK_SIZE),
    )
