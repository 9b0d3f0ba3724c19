"""The LeaderChange control record (KIP-595): the first record of every leader epoch."""

import io
from collections.abc import Iterable

from kio.schema.leader_change_message.v0.data import LeaderChangeMessage, Voter
from kio.schema.types import BrokerId
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i16, i32

from nodes.kraft.ids import ReplicaId


def encode_leader_change(
    leader_id: ReplicaId, voters: Iterable[ReplicaId], granting_voters: Iterable[ReplicaId]
) -> bytes:
    """The record's value: who leads, who votes, and who voted for the leader."""
    buffer = io.BytesIO()
    message = LeaderChangeMessage(
        version=i16(0),
        leader_id=BrokerId(leader_id),
        voters=tuple(Voter(voter_id=i32(voter)) for voter in voters),
        granting_voters=tuple(Voter(voter_id=i32(voter)) for voter in granting_voters),
    )
    entity_writer(LeaderChangeMessage)(buffer, message)
    return buffer.getvalue()


def decode_leader_change(value: bytes) -> LeaderChangeMessage:
    """The inverse of `encode_leader_change`."""
    return entity_reader(LeaderChangeMessage)(value, 0)[0]
