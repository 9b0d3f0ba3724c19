"""What a healthy cluster leaves of a run of hours, as its sealed tables: made, not recorded.

Three controllers and three brokers; kinds in about the proportions of a real run of the ISR
workload. ISRs shrink and grow, in groups of four requests that are decided, appended on all six
nodes, flushed, committed, applied and answered, while brokers heartbeat, renew leases, append to
partitions and serve clients. 105 events a group and 6 operations, four groups a second.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from checkers.folds.metadata_digest import FIELDS, Digest
from checkers.folds.replay import Replay
from framework.checking.runs import FAULTS as FAULT_COLUMNS
from framework.checking.runs import NEMESIS as NEMESIS_COLUMNS
from framework.checking.sealing import FAULTS, NEMESIS, OBSERVATIONS, PLANNED
from framework.evidence import changes, kinds
from framework.evidence.changes import (
    BrokerRegistered,
    BrokerUnfenced,
    Change,
    LeaderAnnounced,
    PartitionChanged,
    PartitionCreated,
    TopicCreated,
)
from framework.evidence.clocks import UNKNOWN_NS
from framework.evidence.ids import (
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    ReplicaId,
)
from framework.evidence.kinds import DISK, Evidence
from framework.evidence.schemas import schema, table_of
from framework.history.columns import OPERATIONS

Numbers = npt.NDArray[np.int64]

VOTERS: Final = ("c1", "c2", "c3")
BROKERS: Final = {"b1": 4, "b2": 5, "b3": 6}
NODES: Final = (*VOTERS, *BROKERS)
TOPICS: Final = 40
PARTITIONS: Final = TOPICS * 2
EPOCH: Final = 1
RECORDS: Final = 4
"""Of a group."""
EVENTS: Final = 105
"""Of a group, about."""
GROUP_NS: Final = 250_000_000
STEP_NS: Final = 1_000_000
STRIDE: Final = 128
"""What `seq` rises by from group to group."""
BEGIN_SEQ: Final = 10_000
LEASE_NS: Final = 5_000_000_000
CHUNK: Final = 4_096
"""Groups that are made together."""


def topic_id(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012d}"


def partition_of(record: Numbers) -> tuple[Numbers, Numbers]:
    """Of the n-th change: which partition it is of, and how many it had before."""
    return record % PARTITIONS, record // PARTITIONS


def replicas(partition: int) -> tuple[BrokerId, ...]:
    """The first one leads."""
    ids = tuple(map(BrokerId, BROKERS.values()))
    at = partition % 3
    return ids[at:] + ids[:at]


@dataclass
class Writer:
    """The sealed folder of a run. `events`: how many were written."""

    folder: Path
    events: int = 0
    _files: dict[tuple[str, str], pq.ParquetWriter] = field(default_factory=dict)

    def write(self, where: str, name: str, table: pa.Table) -> None:
        path = self.folder / where / f"{name}.parquet"
        if (where, name) not in self._files:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._files[where, name] = pq.ParquetWriter(path, table.schema, compression="zstd")
        self._files[where, name].write_table(table)

    def evidence(self, kind: type[Evidence], table: pa.Table, *, disk: bool = False) -> None:
        self.events += 0 if disk else len(table)
        self.write("records" if disk else "events", kind.kind, table)

    def close(self) -> None:
        for each in self._files.values():
            each.close()


# --- the beginning ------------------------------------------------------------------------


def first_records() -> list[Change]:
    """What the log begins with."""
    found: list[Change] = []

    def add(kind: Any, **fields: Any) -> None:
        found.append(kind(node="", offset=Offset(len(found)), epoch=LeaderEpoch(EPOCH), **fields))

    ids = tuple(ReplicaId(at) for at in (1, 2, 3))
    add(LeaderAnnounced, leader=ids[0], votes=ids[:2], voters=ids)
    for node, broker in BROKERS.items():
        add(BrokerRegistered, broker_id=broker, broker_epoch=len(found), process=f"{node}-0")
    for at, broker in enumerate(BROKERS.values(), 1):
        add(BrokerUnfenced, broker_id=broker, broker_epoch=at)
    for number in range(TOPICS):
        add(TopicCreated, name=f"t{number}", topic_id=topic_id(number))
        for partition in (0, 1):
            own = replicas(number * 2 + partition)
            add(
                PartitionCreated,
                topic_id=topic_id(number),
                partition=partition,
                isr=own,
                replicas=own,
                leader=own[0],
                leader_epoch=0,
                partition_epoch=0,
            )
    return found


def changed(record: int, offset: int) -> PartitionChanged:
    """The n-th change: the last replica leaves the ISR, or comes back."""
    partition, before = record % PARTITIONS, record // PARTITIONS
    own = replicas(partition)
    return PartitionChanged(
        node="",
        offset=Offset(offset),
        epoch=LeaderEpoch(EPOCH),
        topic_id=topic_id(partition // 2),
        partition=partition % 2,
        isr=own[:2] if before % 2 == 0 else own,
        leader=own[0],
        leader_epoch=LeaderEpoch(0),
        partition_epoch=PartitionEpoch(before + 1),
    )


@dataclass
class Beginning:
    """What nodes report up to the first group, in order."""

    rows: list[Evidence] = field(default_factory=list)
    at_ns: int = 0

    def report(self, node: str, kind: Any, **fields: Any) -> None:
        self.at_ns += STEP_NS // 10
        seq = sum(each.node == node for each in self.rows)
        place = {
            "incarnation": f"{node}-0",
            "seq": seq,
            "at_ns": self.at_ns,
            "ref": f"{node}:{seq}",
        }
        self.rows.append(kind(node=node, **place, **fields))


def beginning(records: Sequence[Change]) -> list[Evidence]:
    nodes, end = Beginning(), len(records)
    for at, node in enumerate(NODES, 1):
        role = {"broker_id": BROKERS[node]} if node in BROKERS else {"replica_id": at}
        log = {"log_start": 0, "log_end": 0, "last_epoch": 0}
        nodes.report(node, kinds.Booted, voters=(1, 2, 3), **log, **role)
    for node in VOTERS:
        nodes.report(node, kinds.EpochSaved, epoch=EPOCH, leader=None, vote=1)
        if node != "c1":
            log = {"candidate_log": (0, 0), "own_log": (0, 0)}
            nodes.report(node, kinds.Voted, epoch=EPOCH, candidate=1, granted=True, **log)
    nodes.report("c1", kinds.Elected, epoch=EPOCH, votes=(1, 2))
    for node in NODES:
        role = "leader" if node == "c1" else "follower" if node in VOTERS else "observer"
        nodes.report(node, kinds.RoleTaken, role=role, epoch=EPOCH, leader=1)
    nodes.report("c1", kinds.Claimed, epoch=EPOCH, end_offset=1)
    for node in NODES:
        nodes.report(node, kinds.Appended, **batch(0, end, node))
        if node in VOTERS:
            nodes.report(node, kinds.Flushed, end_offset=end)
    for node in NODES:
        nodes.report(node, kinds.Committed, offset=end, epoch=EPOCH, leading=node == "c1")
        for each in records:
            own = {name: getattr(each, name) for name in kinds.own_fields(type(each))}
            nodes.report(node, type(each), **own)
    for at, (node, broker) in enumerate(BROKERS.items(), 1):
        lease = {"start_ns": nodes.at_ns, "end_ns": nodes.at_ns + LEASE_NS}
        nodes.report(node, kinds.LeaseGranted, broker_id=broker, broker_epoch=at, **lease)
        beat = {"target": "active", "accepted": True, "stale": False, "next_state": "active"}
        beat |= {"broker_id": broker, "broker_epoch": at, "answered_epoch": at}
        nodes.report(node, kinds.HeartbeatAnswered, **beat)
        states = {"before": "starting", "after": "active", "lease_ended": False}
        nodes.report(node, kinds.BrokerStateChanged, broker_epoch=at, **states)
    return nodes.rows


def batch(base: int, end: int, node: str) -> dict[str, Any]:
    """The fields of an append."""
    return {
        "base_offset": base,
        "end_offset": end,
        "epoch": EPOCH,
        "control": False,
        "crcs": tuple(crc(np.arange(base, end)).tolist()),
        "leading": node == "c1" if node in VOTERS else None,
    }


def crc(offsets: Numbers) -> Numbers:
    return (offsets * 2_654_435_761) % (1 << 32)


# --- a chunk of groups --------------------------------------------------------------------


@dataclass(frozen=True)
class Groups:
    """`number`: of each group; `first`: how long the log was when they began."""

    number: Numbers
    first: int

    def rows(self, kind: Any, node: str, phase: int, *, every: int = 1, **fields: Any) -> pa.Table:
        """One row a group - or every so many groups - of a node. `fields`: a value for all of them,
        or an array of one each."""
        chosen = self.number % every == 0
        number = self.number[chosen]
        seq = BEGIN_SEQ + number * STRIDE + phase
        own = {
            "node": node,
            "incarnation": f"{node}-0",
            "seq": seq,
            "at_ns": time_ns(number, phase),
            "within_ns": 0,
            "source": "event",
            "ref": pa.array([f"nodes/{node}/events.jsonl:{each}" for each in seq.tolist()]),
        }
        picked = {name: _picked(value, chosen) for name, value in fields.items()}
        return made(kind, len(number), own | picked)

    def record(self, at: int) -> Numbers:
        """The number of each group's n-th change."""
        return self.number * RECORDS + at

    def end(self, at: int) -> Numbers:
        """Where the log ends behind it."""
        return self.first + self.record(at) + 1


def time_ns(group: Numbers, phase: int) -> Numbers:
    return (group + 1) * GROUP_NS + phase * STEP_NS


def _picked(value: Any, chosen: npt.NDArray[np.bool_]) -> Any:
    if isinstance(value, np.ndarray):
        return value[chosen]
    return value.filter(pa.array(chosen)) if isinstance(value, pa.Array) else value


def made(kind: type[Evidence], rows: int, fields: Mapping[str, Any]) -> pa.Table:
    """A table of a kind. Fields are arrays, or one value for all rows."""
    columns = []
    for each in schema(kind):
        value = fields.get(each.name)
        if not isinstance(value, np.ndarray | pa.Array):
            value = pa.repeat(pa.scalar(value, each.type), rows)
        columns.append(pa.array(value, each.type) if isinstance(value, np.ndarray) else value)
    return pa.Table.from_arrays(columns, schema=schema(kind))


def lists(values: Numbers, width: int) -> pa.Array:
    """Lists of so many numbers each."""
    offsets = np.arange(0, len(values) + 1, width, dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, pa.int64()))


TOPIC_IDS: Final = pa.array([topic_id(at) for at in range(TOPICS)])
REPLICAS: Final = np.array([replicas(at) for at in range(PARTITIONS)])


def partition_fields(record: Numbers) -> dict[str, Any]:
    """Of the change of each group: the partition's own."""
    partition, before = partition_of(record)
    isr = [row[: 2 + grown] for row, grown in zip(REPLICAS[partition], before % 2, strict=True)]
    return {
        "topic_id": TOPIC_IDS.take(pa.array(partition // 2)),
        "partition": partition % 2,
        "isr": pa.array(isr, pa.list_(pa.int64())),
        "leader": REPLICAS[partition, 0],
        "leader_epoch": 0,
        "partition_epoch": before + 1,
    }


def chunk(groups: Groups, digests: pa.Array) -> Iterator[tuple[type[Evidence], pa.Table]]:
    """All that nodes report in these groups. `digests`: of the image behind each."""
    for at in range(RECORDS):
        yield from requests(groups, at)
    for node in NODES:
        leading = node == "c1" if node in VOTERS else None
        for half in (0, 1):
            base = groups.end(half * 2) - 1
            fields = {"base_offset": base, "end_offset": base + 2, "leading": leading}
            crcs = lists(np.stack([crc(base), crc(base + 1)], 1).ravel(), 2)
            entry = {"epoch": EPOCH, "control": False, "crcs": crcs}
            yield kinds.Appended, groups.rows(kinds.Appended, node, 8 + half, **fields, **entry)
        end = groups.end(RECORDS - 1)
        if node in VOTERS:
            yield kinds.Flushed, groups.rows(kinds.Flushed, node, 10, end_offset=end)
        high = {"offset": end, "epoch": EPOCH, "leading": node == "c1"}
        yield kinds.Committed, groups.rows(kinds.Committed, node, 11, **high)
        for at in range(RECORDS):
            state = partition_fields(groups.record(at)) | {"offset": groups.end(at) - 1}
            kind = changes.PartitionChanged
            yield kind, groups.rows(kind, node, 12 + at, epoch=EPOCH, **state)
        image = {"offset": end, "digest": digests}
        yield kinds.ImageShown, groups.rows(kinds.ImageShown, node, 16, every=4, **image)
        yield kinds.ImageDigest, groups.rows(kinds.ImageDigest, node, 17, every=2, **image)
        ticks = groups.rows(kinds.Ticked, node, 60, every=40, every_ns=40 * GROUP_NS)
        yield kinds.Ticked, ticks
    for node, broker in BROKERS.items():
        yield from serving(groups, node, broker)


def requests(groups: Groups, at: int) -> Iterator[tuple[type[Evidence], pa.Table]]:
    """What the controller decides on a change, and answers; and on what it answers beside."""
    record, end = groups.record(at), groups.end(at)
    state = partition_fields(record)
    request = pa.array([f"{each}" for each in record.tolist()])
    asked = {
        "request": request,
        "api": "AlterPartition",
        "accepted": True,
        "code": "0",
        "as_of": end - 1,
        "records": lists(end - 1, 1),
        "epoch": EPOCH,
        "broker_id": state["leader"],
        "broker_epoch": state["leader"] - 3,
    }
    yield kinds.Decided, groups.rows(kinds.Decided, "c1", at * 2, f="alter-isr", topics=(), **asked)
    carried = {name: state[name] for name in ("topic_id", "partition", "leader_epoch")}
    before = {"partition_epoch": state["partition_epoch"] - 1}
    yield (
        kinds.IsrDecided,
        groups.rows(kinds.IsrDecided, "c1", at * 2 + 1, **asked, **carried, **before),
    )
    high = {"accepted": True, "high_watermark": groups.end(RECORDS - 1), "epoch": EPOCH}
    answer = {"request": request, "api": "AlterPartition", "f": "alter-isr", **high}
    yield kinds.Answered, groups.rows(kinds.Answered, "c1", 18 + at, **answer)
    other = {"request": pa.array([f"h{each}" for each in record.tolist()]), "f": None, **high}
    api = "BrokerHeartbeat"
    yield kinds.Answered, groups.rows(kinds.Answered, "c1", 22 + at, api=api, **other)


def serving(groups: Groups, node: str, broker: int) -> Iterator[tuple[type[Evidence], pa.Table]]:
    """A broker: what it serves, its leases, its replicas."""
    identity = {"broker_id": broker, "broker_epoch": broker - 3}
    active = {"target": "active", "accepted": True, "stale": False, "next_state": "active"}
    beat = {**identity, **active, "answered_epoch": broker - 3}
    yield kinds.HeartbeatAnswered, groups.rows(kinds.HeartbeatAnswered, node, 28, **beat)
    start = time_ns(groups.number, 28) - STEP_NS
    lease = {**identity, "start_ns": start, "end_ns": start + LEASE_NS, "rounded_ns": 2_000_000}
    yield kinds.LeaseGranted, groups.rows(kinds.LeaseGranted, node, 29, **lease)
    for at in range(7):
        success = {"api": "Metadata", "f": "metadata", "success": True, "code": "0"}
        state = {"state": "active", "broker_epoch": broker - 3, "topic": None}
        yield kinds.Served, groups.rows(kinds.Served, node, 30 + at, **success, **state)
    log = {"topic_id": topic_id(0), "partition": 0}
    for at in (0, 1):
        base = groups.number * 2 + at
        written = {"base_offset": base, "end_offset": base + 1, "epoch": 0, "crc": crc(base)}
        leads = {"leading": broker == replicas(0)[0]}
        kind: Any = kinds.PartitionAppended
        yield kind, groups.rows(kind, node, 40 + at, **log, **written, **leads)
    if broker == replicas(0)[0]:
        kind = kinds.PartitionCommitted
        high = {"offset": groups.number * 2 + 2, "leader_epoch": 0}
        yield kind, groups.rows(kind, node, 42, **log, **high)
    role = partition_fields(groups.record(0))
    own = {name: role[name] for name in ("topic_id", "partition", "isr", "partition_epoch")}
    said = {"topic": "t", "role": "follower", "leader_epoch": 0}
    yield kinds.ReplicaRole, groups.rows(kinds.ReplicaRole, node, 43, **own, **said)


# --- disks --------------------------------------------------------------------------------


def on_disk(groups: Groups) -> Iterator[tuple[type[Evidence], pa.Table]]:
    """The same log once more, as it lies on every node's disk in the end."""
    left = {"incarnation": "", "at_ns": 0, "within_ns": UNKNOWN_NS, "source": DISK}
    for node in NODES:
        where = {"node": node, "ref": f"nodes/{node}/data/0.log:0", **left, "epoch": EPOCH}
        for at in range(RECORDS):
            seq, offset = BEGIN_SEQ + groups.record(at) * 2, groups.end(at) - 1
            if at % 2 == 0:
                crcs = lists(np.stack([crc(offset), crc(offset + 1)], 1).ravel(), 2)
                batches = {"base_offset": offset, "end_offset": offset + 2, "crcs": crcs}
                fields = {**where, **batches, "seq": seq, "control": False, "leading": None}
                yield kinds.Appended, made(kinds.Appended, len(seq), fields)
            fields = {**where, **partition_fields(groups.record(at)), "offset": offset}
            kind = changes.PartitionChanged
            yield kind, made(kind, len(seq), {**fields, "seq": seq + 1})


def ends_of_disks(records: Sequence[Change], end: int) -> Iterator[Evidence]:
    """What the log begins with, and where it ends."""
    for node in NODES:
        ref = f"nodes/{node}/data/0.log:0"
        left: dict[str, Any] = {"source": DISK, "within_ns": UNKNOWN_NS, "ref": ref}
        yield kinds.Appended(node=node, **batch(0, len(records), ""), **left)
        for seq, each in enumerate(records, 1):
            own = {name: getattr(each, name) for name in kinds.own_fields(type(each))}
            yield type(each)(node=node, seq=seq, **own, **left)
        ended = {"start_offset": 0, "end_offset": end, "torn": False, "wrong": ()}
        last = BEGIN_SEQ + end * 2
        yield kinds.LogOnDisk(node=node, seq=last, **ended, **left)
        if node in VOTERS:
            saved = {"epoch": EPOCH, "leader": 1, "vote": 1}
            yield kinds.EpochSaved(node=node, seq=last + 1, **saved, **left)


# --- clients ------------------------------------------------------------------------------


def operations(groups: Groups) -> pa.Table:
    """A leader asks for each change, and a client for metadata; all are answered."""
    rows = [row for number in groups.number.tolist() for row in _operations(number)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = OPERATIONS.names[1:]
    own = pa.schema([OPERATIONS.field(name) for name in names])
    return pa.Table.from_arrays(
        [pa.array(column, each.type) for column, each in zip(columns, own, strict=True)], schema=own
    )


def _operations(group: int) -> Iterator[tuple[Any, ...]]:
    index, begin = group * 10, (group + 1) * GROUP_NS - STEP_NS
    times = (begin, begin + 50 * STEP_NS, "main")
    for at in range(RECORDS):
        record = group * RECORDS + at
        change, partition = changed(record, 0), record % PARTITIONS
        asked = {
            "topic_id": change.topic_id,
            "partition": change.partition,
            "broker_id": change.leader,
            "broker_epoch": change.leader - 3,
            "isr": change.isr,
            "isr_epochs": [each - 3 for each in change.isr],
            "leader_epoch": 0,
            "partition_epoch": change.partition_epoch - 1,
            "zombie": None,
        }
        names = ("isr", "leader", "leader_epoch", "partition_epoch")
        result = {name: getattr(change, name) for name in names}
        key = json.dumps(f"t{partition // 2}/{partition % 2}")
        said = (key, json.dumps(asked), "ok", json.dumps(result), None, None, "c1", None)
        yield index + at, index + 5 + at, f"{at}", "alter-isr", *said, *times
    shown = {"topic_id": topic_id(0), "partitions": []}
    said = ('"t0"', "null", "ok", json.dumps(shown), None, None, f"b{1 + group % 3}", None)
    yield index + 4, index + 9, "4", "metadata", *said, *times


# --- all of it ----------------------------------------------------------------------------


def image_form() -> kinds.ImageForm:
    covers = (
        kinds.Covered(entity=entity, field=each) for entity, own in FIELDS.items() for each in own
    )
    return kinds.ImageForm(
        node="", source="harness", covers=tuple(covers), remembered=1, remembered_bytes=1
    )


class Images:
    """Digests of the image behind each group."""

    def __init__(self, records: Sequence[Change]) -> None:
        form = image_form()
        self.state, self.digest = Replay(form), Digest(form)
        for each in records:
            self.state.feed(each)

    def behind(self, groups: Groups) -> pa.Array:
        return pa.array([self._next(each * RECORDS) for each in groups.number.tolist()])

    def _next(self, record: int) -> str:
        for at in range(RECORDS):
            self.state.feed(changed(record + at, self.state.end))
        return self.digest.of(self.state)


def plan() -> dict[str, Any]:
    """Of such a run."""
    ids = {node: {"controller": at} for at, node in enumerate(VOTERS, 1)}
    ids |= {node: {"broker": broker} for node, broker in BROKERS.items()}
    nodes = {node: {"ids": ids[node], "votes": node in VOTERS} for node in NODES}
    clocks = {node: {"shared": True} for node in NODES}
    return {"seed": 1, "workloads": ["isr"], "nodes": nodes, "time_zero_ns": 0, "clocks": clocks}


def make(folder: Path, events: int) -> int:
    """Writes the sealed tables of a run of about so many events of nodes; how many there are."""
    writer, records = Writer(folder), first_records()
    images, count = Images(records), max(1, events // EVENTS)
    _write_rows(writer, [*beginning(records), image_form()])
    end = len(records) + count * RECORDS
    _write_rows(writer, list(ends_of_disks(records, end)), disk=True)
    for first in range(0, count, CHUNK):
        groups = Groups(np.arange(first, min(count, first + CHUNK)), len(records))
        for kind, table in chunk(groups, images.behind(groups)):
            writer.evidence(kind, table)
        for kind, table in on_disk(groups):
            writer.evidence(kind, table, disk=True)
        writer.write("", "operations", operations(groups))
    sides = pa.schema([each for each in OPERATIONS if each.name != "run"])
    for name, empty in ((OBSERVATIONS, sides), (NEMESIS, NEMESIS_COLUMNS), (FAULTS, FAULT_COLUMNS)):
        writer.write("", name, empty.empty_table())
    writer.close()
    (folder / PLANNED).write_text(json.dumps(plan()))
    return writer.events


def _write_rows(writer: Writer, rows: Sequence[Evidence], *, disk: bool = False) -> None:
    for kind in dict.fromkeys(map(type, rows)):
        own = [each for each in rows if type(each) is kind]
        writer.evidence(kind, table_of(kind, own), disk=disk)
