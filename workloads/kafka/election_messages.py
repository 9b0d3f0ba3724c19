"""Between elections of a history and Kafka's messages: pure, as `messages` is. `elect`, whose key
is `<topic>/<partition>`, wants its preferred replica, the first one, to lead (KIP-460); nobody asks
for an unclean election, which may lose what was acknowledged."""

import datetime
from typing import Final

from kio.schema.elect_leaders.v2 import request as elect
from kio.schema.elect_leaders.v2 import response as elected
from kio.schema.types import TopicName
from kio.static.primitive import i8, i32, i32Timedelta

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange, Exchanges
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.messages import REQUEST_TIMEOUT_MS, refused, the_one
from workloads.kafka.operations.partitions import partition_of
from workloads.kafka.roles import BROKER

PREFERRED: Final = 0
"""Kafka's number of this type of election."""
_TIMEOUT: Final = i32Timedelta.parse(datetime.timedelta(milliseconds=REQUEST_TIMEOUT_MS))


def elect_request(invocation: Invocation) -> elect.ElectLeadersRequest:
    """Of one partition."""
    topic, number = partition_of(invocation.key)
    asked = elect.TopicPartitions(topic=TopicName(topic), partitions=(i32(number),))
    return elect.ElectLeadersRequest(
        election_type=i8(PREFERRED), topic_partitions=(asked,), timeout=_TIMEOUT
    )


def elect_answer(invocation: Invocation, response: elected.ElectLeadersResponse) -> Answer:
    """Ok: null. Who leads now nobody says."""
    if response.error_code != 0:
        return refused(response.error_code)
    topic, number = partition_of(invocation.key)
    own = the_one(response.replica_election_results, lambda each: each.topic == topic)
    partition = the_one(own.partition_result, lambda each: each.partition_id == number)
    if partition.error_code != 0:
        return refused(partition.error_code, partition.error_message)
    return Ok(None)


EXCHANGES: Final[Exchanges] = {
    "elect": Exchange(at=BROKER, request=elect_request, answer=elect_answer, forwarded=True)
}
