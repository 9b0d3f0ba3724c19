"""A made run as its nodes and the harness leave it: event logs, metadata logs, a history, a plan.

Lines are those of docs/operating.md, and batches those of the node's own writer: what is made of
them again is read as that of any run is.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TextIO

import pyarrow as pa
from crc32c import crc32c

from checkers.folds.replayed.metadata_digest import Digest
from checkers.folds.replayed.replay import Replay
from framework.checking.runs import HISTORY, LEDGER, PLAN
from framework.evidence import brokers, changes, partitions, processes, quorum, requests
from framework.evidence.changes import Change
from framework.evidence.kinds import Evidence
from nodes.kraft.adapter.disk import METADATA, PARTITIONS
from nodes.kraft.adapter.image_form import IMAGE_FORM
from nodes.kraft.adapter.states import NAMES
from nodes.kraft.ids import BrokerId, LeaderEpoch, Offset, ReplicaId
from nodes.kraft.metadata.describe import as_json
from nodes.kraft.metadata.records import encode_record
from nodes.kraft.raft.leader_change import encode_leader_change
from nodes.kraft.raft.messages import Batch
from nodes.kraft.wire import records
from nodes.kraft.wire.batches import encode_batch

Row = Mapping[str, Any]
LOG: Final = f"{0:020}.log"
_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode


# --- the metadata log ---------------------------------------------------------------------


@dataclass
class Log:
    """The metadata log as it grows: the image that it makes, and what was not written yet, from
    `first` on: each record's checksum, and its fields as JSON."""

    first: int = 0
    crcs: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    unwritten: list[bytes] = field(default_factory=list)
    state: Replay = field(default_factory=lambda: Replay(IMAGE_FORM))
    _digest: Digest = field(default_factory=lambda: Digest(IMAGE_FORM))

    def append(self, batch: Sequence[Change]) -> None:
        base = Offset(self.state.end)
        encoded = [*map(_encoded, batch)]
        for change in batch:
            self.state.feed(change)
        values = tuple(value for value, _ in encoded)
        self.crcs += map(crc32c, values)
        self.texts += [text for _, text in encoded]
        control = isinstance(batch[0], changes.LeaderAnnounced)
        made = Batch(base, LeaderEpoch(batch[0].epoch), values, control)
        self.unwritten.append(encode_batch(made, 0))

    def digest(self) -> str:
        """Of the image."""
        return self._digest.of(self.state)

    def written(self) -> None:
        """What there was is on disks now."""
        self.first = self.state.end
        self.crcs, self.texts, self.unwritten = [], [], []


def _encoded(change: Change) -> tuple[bytes, str]:
    """A record's value in the log, and its fields as events show them."""
    if isinstance(change, changes.LeaderAnnounced):
        voters, votes = (map(ReplicaId, each) for each in (change.voters, change.votes))
        value = encode_leader_change(ReplicaId(change.leader), voters, votes)
        shown = {"leader_id": change.leader, "voters": change.voters}
        return value, _ENCODE({**shown, "granting_voters": change.votes})
    record = _record(change)
    return encode_record(record), as_json(record)


def _record(change: Change) -> Any:
    """The node's record of a change."""
    match change:
        case changes.BrokerRegistered():
            return records.BrokerRecord(
                broker_id=change.broker_id,  # type: ignore[arg-type]
                broker_epoch=change.broker_epoch,  # type: ignore[arg-type]
                end_points=(),
                rack=None,
                incarnation_id=uuid.UUID(change.process),
            )
        case changes.BrokerUnfenced():
            return records.UnfenceBrokerRecord(
                broker_id=change.broker_id,  # type: ignore[arg-type]
                broker_epoch=change.broker_epoch,  # type: ignore[arg-type]
            )
        case changes.TopicCreated():
            topic_id = uuid.UUID(change.topic_id)
            return records.TopicRecord(name=change.name, topic_id=topic_id, deleting=False)
        case changes.RequestRemembered():
            request_id = uuid.UUID(change.request_id)
            return records.RequestRecord(request_id=request_id, answer=bytes.fromhex(change.answer))
        case changes.PartitionCreated():
            replicas = tuple(map(BrokerId, change.replicas))
            return records.PartitionRecord(**_partition(change), replicas=replicas)
        case changes.PartitionChanged():
            return records.IsrChangeRecord(**_partition(change))
    raise TypeError(change)


def _partition(change: changes.PartitionCreated | changes.PartitionChanged) -> dict[str, Any]:
    return {
        "partition_id": change.partition,
        "topic_id": uuid.UUID(change.topic_id),
        "isr": change.isr,
        "leader": change.leader,
        "leader_epoch": change.leader_epoch,
        "partition_epoch": change.partition_epoch,
    }


# --- lines of event logs ------------------------------------------------------------------


def _same(*names: str, **renamed: str) -> Callable[[Row], dict[str, Any]]:
    """Fields of a line that are fields of the evidence. `renamed`: the line's name -> its name."""
    own = {**dict(zip(names, names, strict=True)), **renamed}
    return lambda row: {name: row[column] for name, column in own.items()}


def _booted(row: Row) -> dict[str, Any]:
    names = ("replica_id", "broker_id", "voters", "log_start", "log_end", "last_epoch")
    return {"quorum": None, **{name: row[name] for name in names}}


def _epoch_saved(row: Row) -> dict[str, Any]:
    leader = -1 if row["leader"] is None else row["leader"]
    return {"epoch": row["epoch"], "leader_id": leader, "voted_id": row["vote"]}


def _decided(row: Row) -> dict[str, Any]:
    asked: dict[str, Any] = {"broker_id": row["broker_id"], "broker_epoch": row["broker_epoch"]}
    if row["topics"]:
        asked = {"topic": row["topics"][0]}
    elif row["target"]:
        asked["target"] = NAMES[row["target"]]
    return {
        "request_id": row["request"],
        "forwarded": row["forwarded"],
        "api": row["api"],
        "source": asked,
        "verdict": 0,
        "items": [{"topic": each, "code": 0} for each in row["topics"]],
        **{name: row[name] for name in ("as_of", "records", "epoch")},
    }


def _isr_decided(row: Row) -> dict[str, Any]:
    """Of a request for one partition."""
    names = ("topic_id", "partition", "leader_epoch", "partition_epoch")
    item = {**{name: row[name] for name in names}, "code": 0, "records": row["records"]}
    return {
        "request_id": row["request"],
        "api": row["api"],
        "source": {name: row[name] for name in ("broker_id", "broker_epoch")},
        "verdict": 0,
        "as_of": row["as_of"],
        "records": row["records"],
        "items": [item],
        "epoch": row["epoch"],
    }


def _answered(row: Row) -> dict[str, Any]:
    own = {name: row[name] for name in ("api", "high_watermark", "epoch")}
    return {"request_id": row["request"], "code": 0, "codes": [0], **own}


def _served(row: Row) -> dict[str, Any]:
    state = {"broker_state": NAMES[row["state"]], "broker_epoch": row["broker_epoch"]}
    return {"api": row["api"], "code": 0, "codes": [0], **state, "topic": row["topic"]}


def _heartbeat(row: Row) -> dict[str, Any]:
    own = {name: row[name] for name in ("broker_id", "broker_epoch", "answered_epoch")}
    states = {name: NAMES[row[name]] for name in ("target", "next_state")}
    return {**own, **states, "error": 0}


def _broker_state(row: Row) -> dict[str, Any]:
    states = {name: NAMES[row[name]] for name in ("before", "after")}
    return {**states, "broker_epoch": row["broker_epoch"], "why": "lease granted"}


_OF_PARTITION: Final = ("topic_id", "partition")
_RANGE: Final = ("base_offset", "end_offset", "epoch")
LINES: Final[Mapping[type[Evidence], tuple[str, Callable[[Row], dict[str, Any]]]]] = {
    processes.Booted: ("boot", _booted),
    processes.Exited: ("exit", _same("reason")),
    quorum.EpochSaved: ("epoch", _epoch_saved),
    quorum.Voted: (
        "vote",
        _same(
            *("epoch", "granted"),
            candidate_id="candidate",
            candidate_last="candidate_log",
            own_last="own_log",
        ),
    ),
    quorum.Elected: ("elected", _same("epoch", "votes")),
    quorum.RoleTaken: ("role", _same("role", "epoch", leader_id="leader")),
    quorum.Claimed: ("claim", _same("epoch", "end_offset")),
    quorum.Appended: ("append", _same(*_RANGE, "control", "crcs", leader="leading")),
    quorum.Flushed: ("flush", _same("end_offset")),
    quorum.Committed: (
        "hw",
        lambda row: {
            **{name: row[name] for name in ("offset", "epoch")},
            "role": "leader" if row["leading"] else "follower",
        },
    ),
    quorum.ImageShown: ("publish", _same("offset", "digest")),
    quorum.ImageDigest: ("state", _same("offset", "digest")),
    processes.Ticked: ("clock", _same()),
    requests.Decided: ("decide", _decided),
    requests.IsrDecided: ("decide", _isr_decided),
    requests.Answered: ("answer", _answered),
    requests.Served: ("serve", _served),
    brokers.HeartbeatAnswered: ("heartbeat", _heartbeat),
    brokers.LeaseGranted: ("lease", _same("broker_id", "broker_epoch", "start_ns", "end_ns")),
    brokers.BrokerStateChanged: ("bstate", _broker_state),
    partitions.ReplicaRole: (
        "part",
        _same("topic", *_OF_PARTITION, "role", "leader_epoch", "partition_epoch", "isr"),
    ),
    partitions.PartitionAppended: ("plog", _same(*_OF_PARTITION, *_RANGE, "crc", leader="leading")),
    partitions.PartitionCommitted: ("phw", _same(*_OF_PARTITION, "offset", "leader_epoch")),
}
"""Kind -> a line's type, and its own fields. An `IsrDecided` stands for its `Decided` as well;
changes are lines of type `apply`."""
_APPLIED: Final[Mapping[type[Evidence], str]] = {
    changes.LeaderAnnounced: "LeaderChange",
    changes.BrokerRegistered: "BrokerRecord",
    changes.BrokerUnfenced: "UnfenceBrokerRecord",
    changes.TopicCreated: "TopicRecord",
    changes.PartitionCreated: "PartitionRecord",
    changes.RequestRemembered: "RequestRecord",
    changes.PartitionChanged: "IsrChangeRecord",
}


@dataclass
class Files:
    """A run's folder that is being written. `events`: lines of nodes so far."""

    folder: Path
    events: int = 0
    _lines: dict[str, list[tuple[int, str]]] = field(default_factory=lambda: defaultdict(list))
    _open: dict[str, TextIO] = field(default_factory=dict)

    def plan(self, plan: Row) -> None:
        (self.folder / PLAN).write_text(json.dumps(plan))
        (self.folder / LEDGER).touch()

    def told(self, kind: type[Evidence], table: pa.Table, log: Log) -> None:
        """What nodes tell of one kind, until the next `flush`."""
        type_, own = LINES.get(kind, ("apply", None))
        for row in table.to_pylist():
            head = {"time_ns": row["at_ns"], **{name: row[name] for name in _HEAD}, "type": type_}
            if own is not None:
                line = _ENCODE(head | own(row))
            else:
                head |= {"offset": row["offset"], "epoch": row["epoch"], "kind": _APPLIED[kind]}
                line = f'{_ENCODE(head)[:-1]},"record":{log.texts[row["offset"] - log.first]}}}'
            self._lines[row["node"]].append((row["seq"], line))

    def flush(self, log: Log) -> None:
        """Writes what nodes told, and their logs."""
        batches = b"".join(log.unwritten)
        for node, lines in self._lines.items():
            lines.sort()
            self.text(f"nodes/{node}/events.jsonl").writelines(f"{line}\n" for _, line in lines)
            self.events += len(lines)
            lines.clear()
            self.bytes(f"nodes/{node}/{METADATA}/{LOG}", batches)
        log.written()

    def partition(self, node: str, name: str, batches: bytes) -> None:
        self.bytes(f"nodes/{node}/{PARTITIONS}/{name}/{LOG}", batches)

    def quorum_state(self, node: str, epoch: int, leader: int) -> None:
        """A voter's, who voted for the leader."""
        said = {"leaderId": leader, "leaderEpoch": epoch, "votedId": leader, "data_version": 1}
        self.bytes(f"nodes/{node}/{METADATA}/quorum-state", json.dumps(said).encode())

    def history(self, lines: Iterable[Row]) -> None:
        self.text(HISTORY).writelines(f"{_ENCODE(line)}\n" for line in lines)

    def text(self, name: str) -> TextIO:
        if name not in self._open:
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open[name] = path.open("a")
        return self._open[name]

    def bytes(self, name: str, more: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(more)

    def close(self) -> None:
        for each in self._open.values():
            each.close()


_HEAD: Final = ("node", "incarnation", "seq")


def partition_batches(first: int, count: int) -> list[bytes]:
    """Of a partition's log, from an offset on, a record each."""
    return [
        encode_batch(Batch(Offset(base), LeaderEpoch(0), (b"v",)), 0)
        for base in range(first, first + count)
    ]
