"""Between changes of configurations and Kafka's messages (KIP-339): pure, as `messages` is."""

from collections.abc import Iterator
from typing import Final

from kio.schema.describe_configs.v4 import request as describe
from kio.schema.describe_configs.v4 import response as described
from kio.schema.incremental_alter_configs.v1 import request as alter
from kio.schema.incremental_alter_configs.v1 import response as altered
from kio.static.primitive import i8

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange, Exchanges
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.messages import TOPIC_RESOURCE, own_configs, refused, the_one
from workloads.kafka.operations.brokers import broker_of
from workloads.kafka.operations.configurations import ALL_BROKERS, Configure
from workloads.kafka.operations.topics import TopicConfigs
from workloads.kafka.roles import BROKER

BROKER_RESOURCE: Final = 4
OF_THE_BROKER, OF_ALL_BROKERS = 2, 3
"""Where a configuration's value comes from, by Kafka's numbers: set for that broker, or for all."""
_SET, _DELETE = i8(0), i8(1)


def configure_request(invocation: Invocation) -> alter.IncrementalAlterConfigsRequest:
    """Of one topic."""
    return _change(TOPIC_RESOURCE, str(invocation.key), invocation)


def configure_broker_request(invocation: Invocation) -> alter.IncrementalAlterConfigsRequest:
    """Of one broker, or of all: Kafka's resource without a name."""
    return _change(BROKER_RESOURCE, _broker(invocation), invocation)


def _change(kind: int, name: str, invocation: Invocation) -> alter.IncrementalAlterConfigsRequest:
    resource = alter.AlterConfigsResource(
        resource_type=i8(kind),
        resource_name=name,
        configs=tuple(_changes(Configure.from_json(invocation.value))),
    )
    return alter.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)


def _changes(asked: Configure) -> Iterator[alter.AlterableConfig]:
    for name, value in asked.set or ():
        yield alter.AlterableConfig(name=name, config_operation=_SET, value=value)
    for name in asked.delete or ():
        yield alter.AlterableConfig(name=name, config_operation=_DELETE, value=None)


def _broker(invocation: Invocation) -> str:
    key = str(invocation.key)
    return "" if key == ALL_BROKERS else str(broker_of(key))


def configure_answer(
    invocation: Invocation, response: altered.IncrementalAlterConfigsResponse
) -> Answer:
    """Ok: null."""
    return _done(response, str(invocation.key))


def configure_broker_answer(
    invocation: Invocation, response: altered.IncrementalAlterConfigsResponse
) -> Answer:
    """Ok: null."""
    return _done(response, _broker(invocation))


def _done(response: altered.IncrementalAlterConfigsResponse, name: str) -> Answer:
    own = the_one(response.responses, lambda each: each.resource_name == name)
    return Ok(None) if own.error_code == 0 else refused(own.error_code, own.error_message)


def describe_request(invocation: Invocation) -> describe.DescribeConfigsRequest:
    """All of one broker's: of itself, for no other one knows what its file says. Or what any broker
    knows to be set for all."""
    broker = describe.DescribeConfigsResource(
        resource_type=i8(BROKER_RESOURCE),
        resource_name=_broker(invocation),
        configuration_keys=None,
    )
    return describe.DescribeConfigsRequest(resources=(broker,))


def describe_answer(invocation: Invocation, response: described.DescribeConfigsResponse) -> Answer:
    """Ok: what is set for that broker, or for all, by its own image of the metadata."""
    name = _broker(invocation)
    broker = the_one(response.results, lambda each: each.resource_name == name)
    if broker.error_code != 0:
        return refused(broker.error_code, broker.error_message)
    source = OF_THE_BROKER if name else OF_ALL_BROKERS
    return Ok(TopicConfigs(configs=own_configs(broker.configs, source)).to_json())


EXCHANGES: Final[Exchanges] = {
    "configure": Exchange(
        at=BROKER, request=configure_request, answer=configure_answer, forwarded=True
    ),
    "configure-broker": Exchange(
        at=BROKER, request=configure_broker_request, answer=configure_broker_answer, forwarded=True
    ),
    "describe-broker-configs": Exchange(
        at=BROKER, request=describe_request, answer=describe_answer
    ),
}
