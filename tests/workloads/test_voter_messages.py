"""Operations on who votes as Kafka's messages, and back."""

import uuid
from typing import Any

import pytest
from kio.schema.add_raft_voter.v0 import response as added
from kio.schema.describe_quorum.v2 import response as quorate
from kio.schema.errors import ErrorCode
from kio.schema.remove_raft_voter.v0 import response as removed
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i64, u16

from framework.history.event import Invocation
from framework.plugins.dialect import UnexpectedResponse
from framework.plugins.outcomes import Ok, Refused
from nodes.kafka.outcomes import OUTCOMES
from nodes.kraft.controller.answers import NO_THROTTLE
from workloads.kafka.codec import Codec
from workloads.kafka.voter_messages import EXCHANGES, WHO_VOTES

D1, D2 = uuid.UUID(int=11), uuid.UUID(int=12)
VOTER = {
    "id": 2,
    "directory": str(D2),
    "addresses": [{"name": "CONTROLLER", "host": "10.0.0.2", "port": 9093}],
}


def asked(f: str) -> Invocation:
    value = None if f == "describe-voters" else VOTER
    return Invocation(process=0, f=f, key="voter-2", value=value)


def test_who_is_added_is_named_with_directory_and_addresses() -> None:
    request = EXCHANGES["add-voter"].request(asked("add-voter"))
    assert (request.voter_id, request.voter_directory_id) == (2, D2)
    (only,) = request.listeners
    assert (only.name, only.host, only.port) == ("CONTROLLER", "10.0.0.2", 9093)


def test_who_is_removed_is_named_with_directory() -> None:
    request = EXCHANGES["remove-voter"].request(asked("remove-voter"))
    assert (request.voter_id, request.voter_directory_id) == (2, D2)


@pytest.mark.parametrize(("f", "key"), [("add-voter", 80), ("remove-voter", 81)])
def test_they_are_written_as_kafka_reads_them(f: str, key: int) -> None:
    request = EXCHANGES[f].request(asked(f))
    data = Codec().encode_request(request, correlation_id=1, client_id="c")
    assert data[4:8] == key.to_bytes(2, "big") + bytes(2)
    assert D2.bytes in data


def answer_of(f: str, code: int) -> Any:
    make = added.AddRaftVoterResponse if f == "add-voter" else removed.RemoveRaftVoterResponse
    said = "why" if code else None
    return make(throttle_time=NO_THROTTLE, error_code=ErrorCode(code), error_message=said)


@pytest.mark.parametrize("f", ["add-voter", "remove-voter"])
@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (126, "fail"),  # DUPLICATE_VOTER
        (127, "fail"),  # VOTER_NOT_FOUND
        (42, "fail"),  # INVALID_REQUEST
        (35, "fail"),  # UNSUPPORTED_VERSION
        (7, "info"),  # REQUEST_TIMED_OUT
        (6, "info"),  # NOT_LEADER_OR_FOLLOWER
        (41, "info"),  # NOT_CONTROLLER
        (-1, "info"),  # UNKNOWN_SERVER_ERROR
    ],
)
def test_what_a_refusal_means(f: str, code: int, outcome: str) -> None:
    exchange, change = EXCHANGES[f], asked(f)
    assert exchange.answer(change, answer_of(f, 0)) == Ok(None)
    refusal = exchange.answer(change, answer_of(f, code))
    assert isinstance(refusal, Refused)
    assert OUTCOMES.refused(f, refusal, retried=exchange.forwarded).type == outcome


def replica(number: int, directory: uuid.UUID | None, end: int) -> quorate.ReplicaState:
    return quorate.ReplicaState(
        replica_id=BrokerId(number), replica_directory_id=directory, log_end_offset=i64(end)
    )


def told(
    *,
    top: int = 0,
    code: int = 0,
    topic: str = "__cluster_metadata",
    voters: tuple[quorate.ReplicaState, ...] = (replica(2, D2, 7), replica(1, D1, 9)),
    observers: tuple[quorate.ReplicaState, ...] = (replica(5, None, 8), replica(3, None, 8)),
) -> Any:
    log = quorate.PartitionData(
        partition_index=i32(0),
        error_code=ErrorCode(code),
        error_message=None,
        leader_id=BrokerId(1),
        leader_epoch=i32(4),
        high_watermark=i64(8),
        current_voters=voters,
        observers=observers,
    )
    return quorate.DescribeQuorumResponse(
        error_code=ErrorCode(top),
        error_message="no" if top else None,
        topics=(quorate.TopicData(topic_name=TopicName(topic), partitions=(log,)),),
        nodes=(
            quorate.Node(
                node_id=BrokerId(2),
                listeners=(quorate.Listener(name="CONTROLLER", host="10.0.0.2", port=u16(9093)),),
            ),
        ),
    )


READ = EXCHANGES["describe-voters"]


def test_a_leader_tells_who_votes() -> None:
    assert READ.request(asked("describe-voters")) == WHO_VOTES
    assert READ.answer(asked("describe-voters"), told()) == Ok(
        {
            "leader": 1,
            "leader_epoch": 4,
            "high_watermark": 8,
            "log_end": 9,
            "voters": [{"id": 1, "directory": str(D1)}, VOTER],
            "observers": [3, 5],
        }
    )


def ends(*replicas: quorate.ReplicaState, observers: tuple[quorate.ReplicaState, ...] = ()) -> Any:
    answer = READ.answer(asked("describe-voters"), told(voters=replicas, observers=observers))
    assert isinstance(answer, Ok) and isinstance(answer.value, dict)
    return answer.value["log_end"]


def test_a_leader_that_votes_no_more_knows_its_own_end() -> None:
    assert ends(replica(2, D2, 7), observers=(replica(1, D1, 9),)) == 9
    assert ends(replica(2, D2, 7)) is None
    assert ends(replica(1, D1, -1)) is None
    assert ends(replica(1, D1, 0)) == 0


def test_a_voter_without_a_directory_has_the_one_that_kafka_reserves() -> None:
    answer = READ.answer(asked("describe-voters"), told(voters=(replica(1, None, 9),)))
    assert isinstance(answer, Ok) and isinstance(answer.value, dict)
    assert answer.value["voters"] == [{"id": 1, "directory": str(uuid.UUID(int=0))}]


def test_who_does_not_lead_is_passed_over() -> None:
    further = READ.then(told(code=6))
    assert further is not None and further.elsewhere and further.request == WHO_VOTES
    assert READ.then(told()) is None and READ.then(told(code=35)) is None
    assert READ.then(told(top=41)) is None


def test_what_else_is_no_answer() -> None:
    read = asked("describe-voters")
    assert READ.answer(read, told(code=6)) == Refused("NOT_LEADER_OR_FOLLOWER")
    assert READ.answer(read, told(top=31)) == Refused("CLUSTER_AUTHORIZATION_FAILED", "no")
    assert OUTCOMES.unanswered("describe-voters", "X", "", sent=True).type == "fail"
    with pytest.raises(UnexpectedResponse):
        READ.answer(read, told(topic="t"))
