"""The quorum's messages and batches on the wire: round trips by the real codec, refusals."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.types import TopicName
from kio.schema.vote.v1.request import VoteRequest as OldVoteRequest
from kio.static.primitive import i32

from nodes.kraft.raft.messages import (
    Batch,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    Fetch,
    FetchReply,
    FetchSnapshot,
    FetchSnapshotReply,
    QuorumReply,
    Reply,
    Request,
    SnapshotId,
    Vote,
    VoteReply,
)
from nodes.kraft.wire.batches import CorruptBatch, decode_batches, encode_batch, read_header
from nodes.kraft.wire.codec import (
    MalformedRequest,
    decode_entity,
    decode_request,
    encode_entity,
    encode_request,
)
from nodes.kraft.wire.quorum import (
    METADATA_TOPIC,
    reply_from_wire,
    reply_to_wire,
    request_from_wire,
    request_to_wire,
)
from nodes.kraft.wire.versions import carry_over
from tests.cases import cases

CLUSTER = "6PMpHYL9QkeyXRj9Nrp4KA"
INT32 = st.integers(0, 2**31 - 1)
INT64 = st.integers(0, 2**62)
SNAPSHOT_IDS = st.builds(SnapshotId, INT64, INT32)

REQUESTS = st.one_of(
    st.builds(
        Vote,
        candidate_epoch=INT32,
        candidate_id=INT32,
        last_epoch=INT32,
        last_offset=INT64,
        pre=st.booleans(),
    ),
    st.builds(BeginQuorumEpoch, leader_id=INT32, leader_epoch=INT32),
    st.builds(
        EndQuorumEpoch,
        leader_id=INT32,
        leader_epoch=INT32,
        successors=st.lists(INT32, max_size=4).map(tuple),
    ),
    st.builds(
        Fetch,
        replica_id=INT32,
        epoch=INT32,
        offset=INT64,
        last_epoch=INT32,
        max_wait_ms=st.integers(0, 10**6),
    ),
    st.builds(
        FetchSnapshot,
        replica_id=INT32,
        epoch=INT32,
        snapshot_id=SNAPSHOT_IDS,
        position=INT64,
        max_bytes=INT32,
    ),
)
ERRORS = st.sampled_from([0, 6, 8, 42, 74, 75])
LEADER = st.integers(-1, 2**31 - 1)
VALUES = st.lists(st.binary(max_size=50), min_size=1, max_size=4).map(tuple)


@st.composite
def batch_lists(draw: Any) -> tuple[Batch, ...]:
    batches, offset, epoch = [], draw(st.integers(0, 10**9)), draw(st.integers(0, 100))
    for values, control in draw(st.lists(st.tuples(VALUES, st.booleans()), max_size=4)):
        epoch += draw(st.integers(0, 2))
        batches.append(Batch(offset, epoch, values, control))
        offset += len(values)
    return tuple(batches)


def sample(kind: str) -> Any:
    return {
        "vote": Vote(candidate_epoch=3, candidate_id=1, last_epoch=2, last_offset=9),
        "begin": BeginQuorumEpoch(leader_id=1, leader_epoch=3),
        "end": EndQuorumEpoch(leader_id=1, leader_epoch=3, successors=(2,)),
        "fetch": Fetch(replica_id=1, epoch=3, offset=9, last_epoch=2, max_wait_ms=250),
        "snapshot": FetchSnapshot(
            replica_id=1, epoch=3, snapshot_id=SnapshotId(9, 2), position=0, max_bytes=100
        ),
    }[kind]


def over_the_wire(entity: Any) -> Any:
    return decode_entity(type(entity), encode_entity(entity))


@given(REQUESTS)
@settings(max_examples=cases(200), deadline=None)
def test_requests_round_trip(request_: Request) -> None:
    entity = request_to_wire(request_, CLUSTER, peer=2)
    _, decoded = decode_request(encode_request(entity, correlation_id=1, client_id="c1"))
    assert request_from_wire(decoded, CLUSTER, node_id=2) == request_


@given(ERRORS, LEADER, INT32, st.booleans())
def test_vote_and_quorum_replies_round_trip(
    error: int, leader_id: int, epoch: int, granted: bool
) -> None:
    answer = VoteReply(error=error, leader_id=leader_id, leader_epoch=epoch, granted=granted)
    quorum = QuorumReply(error=error, leader_id=leader_id, leader_epoch=epoch)
    replies: list[tuple[str, Reply]] = [("vote", answer), ("begin", quorum), ("end", quorum)]
    for kind, reply in replies:
        entity = request_to_wire(sample(kind), CLUSTER, peer=2)
        response = over_the_wire(reply_to_wire(entity, reply))
        assert reply_from_wire(sample(kind), response) == reply


@given(
    st.builds(
        FetchReply,
        error=ERRORS,
        leader_id=LEADER,
        leader_epoch=INT32,
        high_watermark=st.integers(-1, 2**62),
        log_start=INT64,
        diverging=st.none() | st.tuples(INT32, INT64),
        snapshot_id=st.none() | SNAPSHOT_IDS,
    ),
    batch_lists(),
)
def test_fetch_replies_round_trip(reply: FetchReply, batches: tuple[Batch, ...]) -> None:
    records = b"".join(encode_batch(batch, 1_700_000_000_123) for batch in batches)
    entity = request_to_wire(sample("fetch"), CLUSTER, peer=2)
    response = over_the_wire(reply_to_wire(entity, reply, records))
    assert reply_from_wire(sample("fetch"), response) == replace(reply, batches=batches)


@given(
    st.builds(
        FetchSnapshotReply,
        error=st.sampled_from([0, 6, 8, 42, 74, 75, 98, 99]),
        leader_id=LEADER,
        leader_epoch=INT32,
        snapshot_id=SNAPSHOT_IDS,
        size=INT64,
        position=INT64,
        data=st.binary(max_size=100),
    )
)
@settings(deadline=None)
def test_fetch_snapshot_replies_round_trip(reply: FetchSnapshotReply) -> None:
    entity = request_to_wire(sample("snapshot"), CLUSTER, peer=2)
    assert reply_from_wire(sample("snapshot"), over_the_wire(reply_to_wire(entity, reply))) == reply


def test_votes_of_the_version_without_prevote_are_understood() -> None:
    """B.2: Vote v1 says nothing of PreVote, and is answered in v1."""
    entity = carry_over(request_to_wire(sample("vote"), CLUSTER, peer=2), OldVoteRequest)
    assert request_from_wire(over_the_wire(entity), CLUSTER, node_id=2) == sample("vote")
    reply = VoteReply(leader_epoch=3, granted=True)
    response = over_the_wire(reply_to_wire(entity, reply))
    assert (response.__version__, response.topics[0].partitions[0].vote_granted) == (1, True)
    refused: Any = request_from_wire(entity, "other")
    assert (refused.__version__, int(refused.error_code)) == (1, 104)


# --- rule 1 -------------------------------------------------------------------------------

KINDS = pytest.mark.parametrize("kind", ["vote", "begin", "end", "fetch", "snapshot"])


@KINDS
def test_rule_1_foreign_cluster_is_refused_and_null_accepted(kind: str) -> None:
    """B.2.1: foreign cluster is refused and null accepted."""
    refused: Any = request_from_wire(request_to_wire(sample(kind), "other", peer=2), CLUSTER)
    assert int(refused.error_code) == 104
    assert reply_from_wire(sample(kind), over_the_wire(refused)).error == 104
    assert request_from_wire(request_to_wire(sample(kind), None, peer=2), CLUSTER) == sample(kind)


@KINDS
def test_requests_about_anything_but_the_metadata_log_are_invalid(kind: str) -> None:
    """A.1.21: one topic, one partition."""
    entity: Any = request_to_wire(sample(kind), CLUSTER, peer=2)
    (topic,) = entity.topics
    (partition,) = topic.partitions
    index = "partition" if kind in ("fetch", "snapshot") else "partition_index"
    stranger: dict[str, Any] = {
        "fetch": {"topic_id": None},
        "snapshot": {"name": TopicName("events")},
    }.get(kind, {"topic_name": TopicName("events")})
    for topics in (
        (),
        (topic, topic),
        (replace(topic, partitions=()),),
        (replace(topic, partitions=(partition, partition)),),
        (replace(topic, partitions=(replace(partition, **{index: i32(1)}),)),),
        (replace(topic, **stranger),),
    ):
        refused: Any = request_from_wire(replace(entity, topics=topics), CLUSTER)
        assert int(refused.error_code) == 42


@pytest.mark.parametrize("name", [METADATA_TOPIC, "__cluster_metadata"])
def test_both_names_of_the_metadata_topic_are_known(name: str) -> None:
    """A.4.5, A.7.13: ours is the draft's, the lecture's is understood."""
    entity: Any = request_to_wire(sample("vote"), CLUSTER, peer=2)
    renamed = replace(entity, topics=(replace(entity.topics[0], topic_name=TopicName(name)),))
    assert request_from_wire(renamed, CLUSTER) == sample("vote")
    assert reply_to_wire(renamed, VoteReply()).topics[0].topic_name == name  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "request_",
    [
        replace(sample("vote"), candidate_epoch=-1),
        replace(sample("vote"), last_offset=-1),
        replace(sample("begin"), leader_id=-1),
        replace(sample("end"), successors=(-3,)),
        replace(sample("fetch"), replica_id=-1),
        replace(sample("fetch"), offset=-1),
        replace(sample("snapshot"), position=-1),
        replace(sample("snapshot"), snapshot_id=SnapshotId(-1, 0)),
    ],
)
def test_negative_numbers_are_invalid(request_: Any) -> None:
    refused: Any = request_from_wire(request_to_wire(request_, CLUSTER, peer=2), CLUSTER)
    assert int(refused.error_code) == 42


def test_request_meant_for_another_node_is_refused() -> None:
    for kind in ("vote", "begin"):
        entity = request_to_wire(sample(kind), CLUSTER, peer=3)
        refused: Any = request_from_wire(entity, CLUSTER, node_id=2)
        assert int(refused.error_code) == 125


def test_replies_that_fit_no_request_are_malformed() -> None:
    vote: Any = reply_to_wire(request_to_wire(sample("vote"), CLUSTER, peer=2), VoteReply())
    for request_, entity in (
        (sample("fetch"), vote),
        (sample("vote"), replace(vote, topics=())),
        (sample("vote"), replace(vote, topics=(replace(vote.topics[0], partitions=()),))),
    ):
        with pytest.raises(MalformedRequest):
            reply_from_wire(request_, entity)


def test_damaged_records_in_a_fetch_response_are_malformed() -> None:
    data = encode_batch(Batch(0, 1, (b"abc",)), 0)
    entity = request_to_wire(sample("fetch"), CLUSTER, peer=2)
    for damaged in (data[:-1], data[:-2] + b"zz"):
        with pytest.raises(MalformedRequest):
            reply_from_wire(sample("fetch"), reply_to_wire(entity, FetchReply(), damaged))


# --- batches ------------------------------------------------------------------------------


@given(batch_lists(), st.integers(0, 4_000_000_000_000))
def test_batches_round_trip(batches: tuple[Batch, ...], timestamp_ms: int) -> None:
    data = b"".join(encode_batch(batch, timestamp_ms) for batch in batches)
    decoded = decode_batches(data)
    assert tuple(decoded) == batches
    assert {batch.timestamp_ms for batch in decoded} <= {timestamp_ms}


@given(batch_lists().filter(bool), st.data())
def test_cut_or_changed_batches_are_corrupt(batches: tuple[Batch, ...], data: Any) -> None:
    encoded = b"".join(encode_batch(batch, 1000) for batch in batches)
    last = len(encode_batch(batches[-1], 1000))
    cut = data.draw(st.integers(1, last - 1))
    with pytest.raises(CorruptBatch):
        decode_batches(encoded[:-cut])
    place = data.draw(st.integers(21, last - 1)) + len(encoded) - last
    changed = bytearray(encoded)
    changed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CorruptBatch):
        decode_batches(bytes(changed))


def test_header_tells_where_a_batch_stands() -> None:
    data = encode_batch(Batch(7, 3, (b"a", b"b")), 1000)
    header = read_header(b"junk" + data, 4)
    assert (header.base_offset, header.end_offset, header.epoch) == (7, 9, 3)
    assert header.size == len(data)


def test_control_batches_carry_kafkas_leader_change_key() -> None:
    """A.1.31: other records have no key at all."""
    from kio.records.readers import read_batch

    control, _ = read_batch(encode_batch(Batch(0, 1, (b"x",), control=True), 5000), 0)
    assert control.attributes == 0x20
    assert control.records[0].key == b"\x00\x00\x00\x02"
    plain, _ = read_batch(encode_batch(Batch(0, 1, (b"x",)), 5000), 0)
    assert (plain.attributes, plain.records[0].key) == (0, None)
    assert plain.base_timestamp == 5000
