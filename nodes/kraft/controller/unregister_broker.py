"""UnregisterBroker (key 64): administrators take a broker that is gone for good off the cluster.

As in Kafka's ClusterControlManager: a broker that still runs may be unregistered, too. It is told
so by the next heartbeat's answer, and registers anew.
"""

from kio.schema.errors import ErrorCode
from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest
from kio.schema.unregister_broker.v0.response import UnregisterBrokerResponse

from nodes.kraft.controller.answers import NO_THROTTLE, Refusal, code_of, message_of
from nodes.kraft.controller.config import ControllerConfig
from nodes.kraft.controller.elections import broker_leaves
from nodes.kraft.controller.members import Members
from nodes.kraft.controller.permission import Allows, require
from nodes.kraft.controller.record_batch import RecordBatchBuilder
from nodes.kraft.ids import BrokerId
from nodes.kraft.metadata.image import Broker, Image
from nodes.kraft.security.authorizer import Operation, ResourceType
from nodes.kraft.wire.records import UnregisterBrokerRecord


def unregister_broker(
    builder: RecordBatchBuilder,
    members: Members,
    request: UnregisterBrokerRequest,
    config: ControllerConfig,
    allows: Allows,
) -> tuple[UnregisterBrokerResponse, Members]:
    """Decide the request: the response, and the soft state after it. What the broker leads, or is
    in sync of, is moved off it before the record that unregisters it."""
    broker_id = request.broker_id
    try:
        require(allows, Operation.ALTER, ResourceType.CLUSTER)
        broker = _registered(builder.image, broker_id, config)
    except Refusal as refusal:
        return _response(refusal), members

    def can_lead(image: Image, replica: BrokerId) -> bool:
        return replica != broker_id and members.can_lead(image, replica)

    broker_leaves(builder, broker_id, can_lead)
    builder.add(UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker.epoch))
    return _response(None), members.without(broker_id)


def _registered(image: Image, broker_id: BrokerId, config: ControllerConfig) -> Broker:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise Refusal(ErrorCode.broker_id_not_registered, f"broker {broker_id} is not registered")
    if config.deferred_takeover and not broker.fenced:
        # It may serve until its lease is over; nobody would know for how long to keep another out.
        raise Refusal(ErrorCode.invalid_request, f"broker {broker_id} is active: stop it first")
    return broker


def _response(refusal: Refusal | None) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(
        throttle_time=NO_THROTTLE,
        error_code=code_of(refusal),
        error_message=message_of(refusal),
    )
