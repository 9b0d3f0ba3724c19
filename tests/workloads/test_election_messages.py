"""Elections of a history as Kafka's messages, and back."""

from typing import Any

import pytest
from kio.schema.elect_leaders.v2 import response as elected
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.static.primitive import i32

from framework.history.event import Invocation
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import NEEDLESS, Failure, Ok, OutcomeTable, Refused
from nodes.kafka.outcomes import OUTCOMES as KAFKA
from nodes.kraft.adapter.outcomes import OUTCOMES as KRAFT
from nodes.kraft.controller.answers import NO_THROTTLE
from workloads.kafka.election_messages import EXCHANGES, elect_answer, elect_request

ASKED = Invocation(process=0, f="elect", key="a/b/2", value=None)


def answered(top: int = 0, code: int = 0, number: int = 2, topic: str = "a/b") -> Any:
    partition = elected.PartitionResult(
        partition_id=i32(number), error_code=ErrorCode(code), error_message="why"
    )
    result = elected.ReplicaElectionResult(topic=TopicName(topic), partition_result=(partition,))
    return elected.ElectLeadersResponse(
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode(top),
        replica_election_results=() if top else (result,),
    )


def test_an_election_is_of_one_partition_and_clean() -> None:
    request = elect_request(ASKED)
    assert request.election_type == 0
    assert request.topic_partitions is not None
    (topic,) = request.topic_partitions
    assert (topic.topic, topic.partitions) == ("a/b", (2,))


def test_its_answer_says_nothing_more() -> None:
    assert elect_answer(ASKED, answered()) == Ok(None)
    assert elect_answer(ASKED, answered(code=84)) == Refused("ELECTION_NOT_NEEDED", "why")
    assert elect_answer(ASKED, answered(top=7)) == Refused("REQUEST_TIMED_OUT", "")


@pytest.mark.parametrize("wrong", [{"number": 3}, {"topic": "a"}])
def test_an_answer_about_another_partition_is_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(UnexpectedResponse):
        elect_answer(ASKED, answered(**wrong))


@pytest.mark.parametrize(
    ("table", "code", "type", "asserts"),
    [
        (KRAFT, 84, "fail", NEEDLESS),
        (KRAFT, 80, "fail", None),
        (KRAFT, 3, "fail", None),
        (KRAFT, 7, "info", None),
        (KAFKA, 84, "info", NEEDLESS),
        (KAFKA, 80, "info", None),
        (KAFKA, 17, "fail", None),
    ],
)
def test_what_a_refusal_means(
    table: OutcomeTable, code: int, type: str, asserts: str | None
) -> None:
    """Of Apache Kafka's brokers nobody knows whether they forwarded it twice: the first of both may
    have been carried out."""
    answer = elect_answer(ASKED, answered(code=code))
    assert isinstance(answer, Refused)
    failure = table.refused("elect", answer, retried=EXCHANGES["elect"].forwarded)
    assert failure == Failure(type, (answer.code, "why"), asserts)  # type: ignore[arg-type]
