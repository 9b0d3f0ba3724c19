"""Between operations on the list of brokers and Kafka's messages: pure, as `messages` is."""

from typing import Final

from kio.schema.types import BrokerId
from kio.schema.unregister_broker.v0.request import UnregisterBrokerRequest
from kio.schema.unregister_broker.v0.response import UnregisterBrokerResponse

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange, Exchanges
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.descriptions import cluster_answer, cluster_request
from workloads.kafka.messages import refused
from workloads.kafka.operations.brokers import broker_of
from workloads.kafka.roles import BROKER


def unregister_request(invocation: Invocation) -> UnregisterBrokerRequest:
    """Of the broker that is the key."""
    return UnregisterBrokerRequest(broker_id=BrokerId(broker_of(invocation.key)))


def unregister_answer(invocation: Invocation, response: UnregisterBrokerResponse) -> Answer:
    """Ok: null."""
    if response.error_code != 0:
        return refused(response.error_code, response.error_message)
    return Ok(None)


EXCHANGES: Final[Exchanges] = {
    "unregister": Exchange(
        at=BROKER, request=unregister_request, answer=unregister_answer, forwarded=True
    ),
    "list-brokers": Exchange(at=BROKER, request=cluster_request, answer=cluster_answer),
}
