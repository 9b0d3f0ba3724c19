"""Kafka's metadata records in the neutral words of `framework.evidence.changes`.

A partition's change tells what is new of it alone, so records are folded: the state of a partition
is what its records made of it. A log that begins behind a snapshot is folded from that; until its
end is reached, changes of partitions that were not created since are told as `other-change`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from framework.evidence import changes
from framework.evidence.ids import ReplicaId
from framework.evidence.kinds import Evidence
from framework.evidence.quorum import Voter
from nodes.adapting import records as made
from nodes.disk_evidence.form import Fields
from nodes.kafka.partitions import Partitions
from nodes.kafka.record_reader import read_control, read_record
from nodes.kafka_files.log_directory import Segment
from nodes.kafka_files.records import records
from nodes.kafka_files.snapshots import NAME, read_snapshot

VOTERS: Final = "KRaftVoters"
OF_QUORUM: Final = frozenset({"KRaftVersion", VOTERS})
"""Control records that a snapshot may have beside its header and footer (KIP-853)."""
FENCE, UNFENCE = 1, -1
LEAVES: Final = 1
SECRETS: Final = frozenset({"salt", "stored_key", "server_key"})


class Records:
    """The records of one metadata log. Implements `Decoder`."""

    def __init__(self, directory: Path, before: Sequence[Segment]) -> None:
        """`before`: what the log holds of which nothing is to be told."""
        self._partitions = Partitions()
        self._rules: dict[str, Fields] = {}
        self._snapshots = sorted(directory.glob("*.checkpoint"))
        self._whole = False
        for segment in before:
            for row in records(segment.batches).table.to_pylist():
                if not row["control"]:
                    self._fold(row["offset"], row["value"] or b"")

    def change(
        self, head: Fields, key: bytes | None, value: bytes, *, control: bool
    ) -> Evidence | None:
        if control:
            return _control(head, key or b"", value)
        try:
            name, record = self._fold(head["offset"], value)
        except ValueError:
            return None
        make = _CHANGES.get(name)
        return _other(head, name, record) if make is None else make(head, record)

    def _fold(self, offset: int, value: bytes) -> tuple[str, Fields]:
        """The record, with what is known of what it changes. Raises `ValueError`."""
        if not self._whole:
            self._begin(offset)
        name, record = read_record(value)
        if name == "AccessControlEntryRecord":
            self._rules[record["id"]] = record
        elif name == "RemoveAccessControlEntryRecord":
            return name, {**self._rules.pop(record["id"], {}), **record}
        return self._partitions.fold(name, record)

    def _begin(self, offset: int) -> None:
        """Take over what a snapshot says, once the log has come to its end."""
        if offset == 0:
            self._whole = True
        for path in self._snapshots:
            match = NAME.fullmatch(path.name)
            if self._whole or match is None or int(match[1]) != offset:
                continue
            found = read_snapshot(path)
            if found is not None and not found.wrong:
                self._whole = True
                for value in found.records["value"].to_pylist():
                    self._fold(offset, value or b"")


def wrong_records(values: Iterable[bytes | None]) -> list[str]:
    """Of a snapshot's records those that are none."""
    wrong = []
    for value in values:
        try:
            read_record(value or b"")
        except ValueError as error:
            wrong.append(f"has a record that is none: {error}")
    return wrong


def wrong_control(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Of a snapshot's control records, header and footer apart, those that are none of its own."""
    wrong = []
    for row in rows:
        try:
            name, _ = read_control(row["key"] or b"", row["value"] or b"")
        except ValueError as error:
            wrong.append(f"has a control record that is none: {error}")
            continue
        if name not in OF_QUORUM:
            wrong.append(f"has a {name} between header and footer")
    return wrong


def voters_of(rows: Iterable[Mapping[str, Any]]) -> tuple[Voter, ...] | None:
    """Who votes by a snapshot's control records; None: they do not say."""
    found: tuple[Voter, ...] | None = None
    for row in rows:
        with suppress(ValueError):
            name, record = read_control(row["key"] or b"", row["value"] or b"")
            found = _voters(record) if name == VOTERS else found
    return found


def _voters(record: Fields) -> tuple[Voter, ...]:
    return tuple(
        Voter(id=ReplicaId(each["voter_id"]), directory=each["voter_directory_id"])
        for each in record["voters"] or ()
    )


# --- changes ------------------------------------------------------------------------------


def _control(head: Fields, key: bytes, value: bytes) -> Evidence | None:
    """Control records are named by their keys."""
    try:
        name, found = read_control(key, value)
    except ValueError:
        return None
    if name == VOTERS:
        return changes.VotersNamed(**head, voters=_voters(found))
    if name != "LeaderChange":
        return _other(head, name, found)
    return changes.LeaderAnnounced(
        **head,
        leader=found["leader_id"],
        votes=tuple(each["voter_id"] for each in found["granting_voters"] or ()),
        voters=tuple(each["voter_id"] for each in found["voters"] or ()),
    )


def _other(head: Fields, name: str, record: Fields) -> Evidence:
    """Reports show it, so that it has nothing with which somebody could log in."""
    told = {key: value for key, value in record.items() if key not in SECRETS}
    return changes.OtherChange(**head, name=name, content=json.dumps(told, sort_keys=True))


def _broker(head: Fields, record: Fields) -> Evidence:
    return changes.BrokerRegistered(
        **head,
        broker_id=record["broker_id"],
        broker_epoch=record["broker_epoch"],
        process=record["incarnation_id"],
        end_points=made.end_points(record),
        rack=record["rack"],
        fenced=record["fenced"],
        leaving=bool(record.get("in_controlled_shutdown")),
    )


def _unregistered(head: Fields, record: Fields) -> Evidence:
    broker_id, broker_epoch = record["broker_id"], record["broker_epoch"]
    return changes.BrokerUnregistered(**head, broker_id=broker_id, broker_epoch=broker_epoch)


def _fenced(head: Fields, record: Fields) -> Evidence:
    return changes.BrokerFenced(**head, broker_id=record["id"], broker_epoch=record["epoch"])


def _unfenced(head: Fields, record: Fields) -> Evidence:
    return changes.BrokerUnfenced(**head, broker_id=record["id"], broker_epoch=record["epoch"])


def _registration(head: Fields, record: Fields) -> Evidence:
    """A record changes one thing: controllers write no other ones."""
    make: type[changes.BrokerFenced | changes.BrokerUnfenced | changes.BrokerLeaving]
    if record["fenced"] in (FENCE, UNFENCE):
        make = changes.BrokerFenced if record["fenced"] == FENCE else changes.BrokerUnfenced
    elif record.get("in_controlled_shutdown") == LEAVES:
        make = changes.BrokerLeaving
    else:
        return _other(head, "BrokerRegistrationChangeRecord", record)
    return make(**head, broker_id=record["broker_id"], broker_epoch=record["broker_epoch"])


def _topic(head: Fields, record: Fields) -> Evidence:
    return changes.TopicCreated(**head, name=record["name"], topic_id=record["topic_id"])


def _forgotten(head: Fields, record: Fields) -> Evidence:
    return changes.EligibleForgotten(**head, topic=record["topic_name"] or None)


def _add_rule(head: Fields, record: Fields) -> Evidence:
    return changes.AccessRuleAdded(**head, **made.access_rule(record))


def _remove_rule(head: Fields, record: Fields) -> Evidence:
    if "host" not in record:
        return _other(head, "RemoveAccessControlEntryRecord", record)
    return changes.AccessRuleRemoved(**head, **made.access_rule(record))


def _producer_ids(head: Fields, record: Fields) -> Evidence:
    return changes.ProducerIdsGiven(
        **head,
        broker_id=record["broker_id"],
        broker_epoch=record["broker_epoch"],
        next_producer_id=record["next_producer_id"],
    )


_CHANGES: Final[Mapping[str, Callable[[Fields, Fields], Evidence]]] = {
    "RegisterBrokerRecord": _broker,
    "UnregisterBrokerRecord": _unregistered,
    "FenceBrokerRecord": _fenced,
    "UnfenceBrokerRecord": _unfenced,
    "BrokerRegistrationChangeRecord": _registration,
    "TopicRecord": _topic,
    "RemoveTopicRecord": made.topic_removal,
    "PartitionRecord": made.partition,
    "PartitionChangeRecord": made.partition_change,
    "ConfigRecord": made.config,
    "AccessControlEntryRecord": _add_rule,
    "RemoveAccessControlEntryRecord": _remove_rule,
    "FeatureLevelRecord": made.feature,
    "ProducerIdsRecord": _producer_ids,
    "ClearElrRecord": _forgotten,
}
