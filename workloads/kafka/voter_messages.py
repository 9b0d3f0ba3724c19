"""Between operations on who votes in the quorum (KIP-853) and Kafka's messages: pure, as `messages`
is."""

import datetime
import uuid
from typing import Final

from kio.schema.add_raft_voter.v0 import request as add
from kio.schema.add_raft_voter.v0.response import AddRaftVoterResponse
from kio.schema.describe_quorum.v2 import request as quorum
from kio.schema.describe_quorum.v2 import response as quorate
from kio.schema.errors import ErrorCode
from kio.schema.remove_raft_voter.v0.request import RemoveRaftVoterRequest
from kio.schema.remove_raft_voter.v0.response import RemoveRaftVoterResponse
from kio.static.primitive import i32, i32Timedelta, u16

from framework.history.event import Invocation
from framework.plugins.dialect import Exchange, Exchanges, Further
from framework.plugins.outcomes import Answer, Ok
from workloads.kafka.descriptions import METADATA_LOG
from workloads.kafka.messages import REQUEST_TIMEOUT_MS, refused, the_one
from workloads.kafka.operations.voters import RaftVoter, VoterAddress, VotersView
from workloads.kafka.roles import CONTROLLER

_TIMEOUT: Final = i32Timedelta.parse(datetime.timedelta(milliseconds=REQUEST_TIMEOUT_MS))
WHO_VOTES: Final = quorum.DescribeQuorumRequest(
    topics=(
        quorum.TopicData(
            topic_name=METADATA_LOG, partitions=(quorum.PartitionData(partition_index=i32(0)),)
        ),
    )
)


def add_request(invocation: Invocation) -> add.AddRaftVoterRequest:
    """Of a controller that follows the log already."""
    asked = RaftVoter.from_json(invocation.value)
    return add.AddRaftVoterRequest(
        cluster_id=None,
        timeout=_TIMEOUT,
        voter_id=i32(asked.id),
        voter_directory_id=uuid.UUID(asked.directory),
        listeners=tuple(
            add.Listener(name=each.name, host=each.host, port=u16(each.port))
            for each in asked.addresses or ()
        ),
    )


def remove_request(invocation: Invocation) -> RemoveRaftVoterRequest:
    """It goes on as an observer."""
    asked = RaftVoter.from_json(invocation.value)
    return RemoveRaftVoterRequest(
        cluster_id=None, voter_id=i32(asked.id), voter_directory_id=uuid.UUID(asked.directory)
    )


def changed(
    invocation: Invocation, response: AddRaftVoterResponse | RemoveRaftVoterResponse
) -> Answer:
    """Ok: null."""
    if response.error_code != 0:
        return refused(response.error_code, response.error_message)
    return Ok(None)


def elsewhere(
    response: quorate.DescribeQuorumResponse,
) -> Further[quorum.DescribeQuorumRequest] | None:
    """Who does not lead does not know."""
    if response.error_code == 0 and _log(response).error_code == ErrorCode.not_leader_or_follower:
        return Further(request=WHO_VOTES, elsewhere=True)
    return None


def voters_answer(invocation: Invocation, response: quorate.DescribeQuorumResponse) -> Answer:
    """Ok: a `VotersView`."""
    if response.error_code != 0:
        return refused(response.error_code, response.error_message)
    log = _log(response)
    if log.error_code != 0:
        return refused(log.error_code, log.error_message)
    addresses = {
        node.node_id: tuple(
            VoterAddress(each.name, each.host, int(each.port)) for each in node.listeners
        )
        for node in response.nodes
    }
    replicas = (*log.current_voters, *log.observers)
    ends = [int(each.log_end_offset) for each in replicas if each.replica_id == log.leader_id]
    view = VotersView(
        leader=int(log.leader_id),
        leader_epoch=int(log.leader_epoch),
        high_watermark=int(log.high_watermark),
        log_end=ends[0] if ends and ends[0] >= 0 else None,
        voters=tuple(
            RaftVoter(
                id=int(each.replica_id),
                directory=str(each.replica_directory_id or uuid.UUID(int=0)),
                addresses=addresses.get(each.replica_id),
            )
            for each in sorted(log.current_voters, key=lambda each: each.replica_id)
        ),
        observers=tuple(sorted(int(each.replica_id) for each in log.observers)),
    )
    return Ok(view.to_json())


def _log(response: quorate.DescribeQuorumResponse) -> quorate.PartitionData:
    topic = the_one(response.topics, lambda each: each.topic_name == METADATA_LOG)
    return the_one(topic.partitions, lambda each: each.partition_index == 0)


EXCHANGES: Final[Exchanges] = {
    "add-voter": Exchange(at=CONTROLLER, request=add_request, answer=changed),
    "remove-voter": Exchange(at=CONTROLLER, request=remove_request, answer=changed),
    "describe-voters": Exchange(
        at=CONTROLLER, request=lambda _: WHO_VOTES, answer=voters_answer, then=elsewhere
    ),
}
