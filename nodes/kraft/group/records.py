"""Groups and offsets as records of `__consumer_offsets`, in Kafka's schemas.

Keys: OffsetCommitKey v1 and GroupMetadataKey v2; values: OffsetCommitValue v3 and
GroupMetadataValue v3. Each key and value begins with its version in 16 bits. A null value
deletes. Keys of other versions are passed over, as Kafka's loader does.
"""

import datetime
import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, TypeVar

from kio.records.readers import read_batch
from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.static.constants import EntityType
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64
from kio.static.protocol import Entity

from nodes.kraft.group.state import Offset
from nodes.kraft.group.steps import (
    Change,
    GroupChange,
    OffsetChange,
    SavedGroup,
    SavedMember,
)
from nodes.kraft.wire.codec import decode_entity, encode_entity

E = TypeVar("E", bound=Entity)

OFFSET_KEY: Final = 1
GROUP_KEY: Final = 2
VALUE: Final = 3
_VERSION: Final = struct.Struct(">h")
_CONTROL: Final = 0x20


@dataclass(frozen=True, slots=True)
class Decoded:
    """What is in a piece of the partition. `changes`: each with its record's offset.
    `end_offset`: behind its last batch; None: there is no whole batch. `unreadable`: offsets of
    records that are none of ours, which are passed over: whoever may write to the topic could
    else stop its coordinator."""

    changes: tuple[tuple[int, Change], ...]
    end_offset: int | None
    unreadable: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitKey:
    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = False
    group: str = field(metadata={"kafka_type": "string"})
    topic: str = field(metadata={"kafka_type": "string"})
    partition: i32 = field(metadata={"kafka_type": "int32"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetCommitValue:
    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = False
    offset: i64 = field(metadata={"kafka_type": "int64"})
    leader_epoch: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    metadata: str = field(metadata={"kafka_type": "string"})
    commit_timestamp: i64 = field(metadata={"kafka_type": "int64"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataKey:
    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(2)
    __flexible__: ClassVar[bool] = False
    group: str = field(metadata={"kafka_type": "string"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMetadata:
    __type__: ClassVar = EntityType.nested
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = False
    member_id: str = field(metadata={"kafka_type": "string"})
    group_instance_id: str | None = field(metadata={"kafka_type": "string"}, default=None)
    client_id: str = field(metadata={"kafka_type": "string"})
    client_host: str = field(metadata={"kafka_type": "string"})
    rebalance_timeout: i32 = field(metadata={"kafka_type": "int32"})
    session_timeout: i32 = field(metadata={"kafka_type": "int32"})
    subscription: bytes = field(metadata={"kafka_type": "bytes"})
    assignment: bytes = field(metadata={"kafka_type": "bytes"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadataValue:
    __type__: ClassVar = EntityType.data
    __version__: ClassVar[i16] = i16(3)
    __flexible__: ClassVar[bool] = False
    protocol_type: str = field(metadata={"kafka_type": "string"})
    generation: i32 = field(metadata={"kafka_type": "int32"})
    protocol: str | None = field(metadata={"kafka_type": "string"})
    leader: str | None = field(metadata={"kafka_type": "string"})
    current_state_timestamp: i64 = field(metadata={"kafka_type": "int64"}, default=i64(-1))
    members: tuple[MemberMetadata, ...]


# --- to bytes -----------------------------------------------------------------------------


def encode_changes(changes: Sequence[Change], wall_ms: int) -> bytes:
    """One record batch of the changes, for the partition's log; none: a batch whose one record
    changes nothing. `wall_ms`: the wall clock's time."""
    pairs = [_pair(change, wall_ms) for change in changes]
    if not pairs:
        pairs = [(_versioned(GroupMetadataKey(group="")), None)]
    timestamp = TZAwareMicros.parse(datetime.datetime.fromtimestamp(wall_ms / 1000, datetime.UTC))
    batch = NewRecordBatch(
        producer_id=i64(-1),
        producer_epoch=i16(-1),
        base_sequence=i32(-1),
        attributes=i16(0),
        records=tuple(
            Record(
                attributes=i8(0),
                timestamp=timestamp,
                offset=i64(number),
                key=key,
                value=value,
                headers=(),
            )
            for number, (key, value) in enumerate(pairs)
        ),
    )
    buffer = io.BytesIO()
    write_new_batch(buffer, batch)
    return buffer.getvalue()


def _versioned(entity: Entity) -> bytes:
    return _VERSION.pack(entity.__version__) + encode_entity(entity)


def _pair(change: Change, wall_ms: int) -> tuple[bytes, bytes | None]:
    match change:
        case OffsetChange(group_id, topic, partition, offset):
            key = OffsetCommitKey(group=group_id, topic=topic, partition=i32(partition))
            return _versioned(key), None if offset is None else _offset_value(offset, wall_ms)
        case GroupChange(group_id, saved):
            key_of_group = GroupMetadataKey(group=group_id)
            return _versioned(key_of_group), None if saved is None else _group_value(saved, wall_ms)


def _offset_value(offset: Offset, wall_ms: int) -> bytes:
    return _versioned(
        OffsetCommitValue(
            offset=i64(offset.offset),
            leader_epoch=i32(offset.leader_epoch),
            metadata=offset.metadata,
            commit_timestamp=i64(wall_ms),
        )
    )


def _group_value(saved: SavedGroup, wall_ms: int) -> bytes:
    members = tuple(
        MemberMetadata(
            member_id=each.member_id,
            group_instance_id=each.instance_id,
            client_id=each.client_id,
            client_host=each.client_host,
            rebalance_timeout=i32(each.rebalance_ms),
            session_timeout=i32(each.session_ms),
            subscription=each.subscription,
            assignment=each.assignment,
        )
        for each in saved.members
    )
    return _versioned(
        GroupMetadataValue(
            protocol_type=saved.protocol_type,
            generation=i32(saved.generation),
            protocol=saved.protocol,
            leader=saved.leader,
            current_state_timestamp=i64(wall_ms),
            members=members,
        )
    )


# --- from bytes ---------------------------------------------------------------------------


def decode_changes(data: bytes) -> Decoded:
    """The changes in whole record batches. Raises `ValueError` where a batch is damaged."""
    changes: list[tuple[int, Change]] = []
    unreadable: list[int] = []
    end_offset, position = None, 0
    while position < len(data):
        batch, size = read_batch(data, position)
        position += size
        end_offset = int(batch.base_offset + batch.last_offset_delta + 1)
        if batch.attributes & _CONTROL:
            continue
        for record in batch.records:
            try:
                change = _change(record.key or b"", record.value)
            except Exception:  # whatever a decoder makes of a stranger's bytes
                unreadable.append(int(record.offset))
            else:
                if change is not None:
                    changes.append((int(record.offset), change))
    return Decoded(tuple(changes), end_offset, tuple(unreadable))


def _change(key: bytes, value: bytes | None) -> Change | None:
    (version,) = _VERSION.unpack_from(key)
    if version in (0, OFFSET_KEY):
        named = decode_entity(OffsetCommitKey, key, _VERSION.size)
        offset = None if value is None else _offset(_body(value, OffsetCommitValue))
        return OffsetChange(named.group, named.topic, int(named.partition), offset)
    if version == GROUP_KEY:
        group_id = decode_entity(GroupMetadataKey, key, _VERSION.size).group
        saved = None if value is None else _saved(_body(value, GroupMetadataValue))
        return GroupChange(group_id, saved) if group_id else None
    return None


def _body(value: bytes, schema: type[E]) -> E:
    (version,) = _VERSION.unpack_from(value)
    if version != VALUE:
        raise ValueError(f"{schema.__name__} version {version}; this software knows {VALUE}")
    return decode_entity(schema, value, _VERSION.size)


def _offset(value: OffsetCommitValue) -> Offset:
    return Offset(
        offset=int(value.offset),
        leader_epoch=int(value.leader_epoch),
        metadata=value.metadata,
        commit_ms=int(value.commit_timestamp),
    )


def _saved(value: GroupMetadataValue) -> SavedGroup:
    return SavedGroup(
        protocol_type=value.protocol_type,
        generation=int(value.generation),
        protocol=value.protocol,
        leader=value.leader,
        members=tuple(
            SavedMember(
                member_id=each.member_id,
                instance_id=each.group_instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                rebalance_ms=int(each.rebalance_timeout),
                session_ms=int(each.session_timeout),
                subscription=each.subscription,
                assignment=each.assignment,
            )
            for each in value.members
        ),
    )
