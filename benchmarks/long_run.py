"""What a healthy cluster leaves of a run of hours, as the run's folder: made, not recorded.

Three controllers and three brokers; kinds in about the proportions of a real run of the ISR
workload. ISRs shrink and grow, in groups of four requests that are decided, appended on all six
nodes, flushed, committed, applied and answered, while brokers heartbeat, renew leases, append to
partitions and serve clients. 105 events a group and 6 operations, four groups a second.
"""

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.long_run_files import Files, Log, Row, partition_batches
from framework.evidence import brokers, changes, kinds, partitions, processes, quorum
from framework.evidence.changes import (
    BrokerRegistered,
    BrokerUnfenced,
    Change,
    LeaderAnnounced,
    PartitionChanged,
    PartitionCreated,
    RequestRemembered,
    TopicCreated,
)
from framework.evidence.ids import (
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionEpoch,
    ReplicaId,
)
from framework.evidence.kinds import Evidence
from framework.evidence.requests import Answered, Decided, IsrDecided, Served
from framework.evidence.schemas import schema, table_of
from framework.plugins import registry
from framework.plugins.capabilities import applicable

Numbers = npt.NDArray[np.int64]

VOTERS: Final = ("c1", "c2", "c3")
BROKERS: Final = {"b1": 4, "b2": 5, "b3": 6}
NODES: Final = (*VOTERS, *BROKERS)
INCARNATIONS: Final = {node: str(uuid.UUID(int=at)) for at, node in enumerate(NODES, 1)}
EPOCHS: Final = {broker: at for at, broker in enumerate(BROKERS.values(), 1)}
"""Of brokers: where their registrations are in the log."""
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
CHUNK: Final = 1_024
"""Groups that are made together."""


def topic_id(number: int) -> str:
    return str(uuid.UUID(int=number + 1))


def partition_of(record: Numbers) -> tuple[Numbers, Numbers]:
    """Of the n-th change: which partition it is of, and how many it had before."""
    return record % PARTITIONS, record // PARTITIONS


def replicas(partition: int) -> tuple[BrokerId, ...]:
    """The first one leads."""
    ids = tuple(map(BrokerId, BROKERS.values()))
    at = partition % 3
    return ids[at:] + ids[:at]


# --- the beginning ------------------------------------------------------------------------


@dataclass(frozen=True)
class Request:
    """One of the first requests: what is appended for it, as a batch."""

    batch: Sequence[Change]
    fields: Mapping[str, Any]
    topic: str = ""

    @property
    def offsets(self) -> tuple[int, ...]:
        return tuple(each.offset for each in self.batch)


def first_requests() -> list[Request]:
    """What the log begins with: a leader, brokers, topics."""
    found: list[Request] = []
    asks: Row = {"api": "BrokerHeartbeat", "f": "heartbeat", "target": "active", "topics": ()}

    def add(changes: Sequence[tuple[Any, Row]], topic: str = "", **fields: Any) -> None:
        first = sum(len(each.batch) for each in found)
        batch = [
            kind(node="", offset=Offset(first + at), epoch=LeaderEpoch(EPOCH), **own)
            for at, (kind, own) in enumerate(changes)
        ]
        found.append(Request(batch, fields, topic))

    ids = tuple(ReplicaId(at) for at in (1, 2, 3))
    add([(LeaderAnnounced, {"leader": ids[0], "votes": ids[:2], "voters": ids})])
    for node, broker in BROKERS.items():
        named = {"broker_id": broker, "broker_epoch": EPOCHS[broker]}
        registered = {**named, "process": INCARNATIONS[node]}
        add([(BrokerRegistered, registered)], **asks, broker_id=broker, broker_epoch=None)
    for broker, epoch in EPOCHS.items():
        own: Row = {"broker_id": broker, "broker_epoch": epoch}
        add([(BrokerUnfenced, own)], **asks, **own)
    for number in range(TOPICS):
        name, request = f"t{number}", uuid.UUID(int=(1 << 64) + number)
        add(
            [
                (TopicCreated, {"name": name, "topic_id": topic_id(number)}),
                *((PartitionCreated, _created_partition(number, at)) for at in (0, 1)),
                (RequestRemembered, {"request_id": str(request), "answer": "00"}),
            ],
            name,
            api="CreateTopics",
            f="create",
            topics=(name,),
            forwarded=request.hex,
        )
    return found


def _created_partition(topic: int, partition: int) -> Row:
    own = replicas(topic * 2 + partition)
    names = {"topic_id": topic_id(topic), "partition": partition, "leader": own[0]}
    return {**names, "isr": own, "replicas": own, "leader_epoch": 0, "partition_epoch": 0}


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
            "incarnation": INCARNATIONS[node],
            "seq": seq,
            "at_ns": self.at_ns,
            "ref": f"{node}:{seq}",
        }
        self.rows.append(kind(node=node, **place, **fields))


def beginning(requests: Sequence[Request], crcs: Sequence[int]) -> list[Evidence]:
    """`crcs`: of all records."""
    nodes, end = Beginning(), len(crcs)
    for at, node in enumerate(NODES, 1):
        role: Row = {"broker_id": BROKERS[node]} if node in BROKERS else {"replica_id": at}
        log: Row = {"log_start": 0, "log_end": 0, "last_epoch": 0}
        nodes.report(node, processes.Booted, voters=(1, 2, 3), **log, **role)
    _elect(nodes)
    decided = [(f"r{at}", each) for at, each in enumerate(requests)][1:]
    for request, each in decided:
        own = {"as_of": each.offsets[0], "records": each.offsets, "epoch": EPOCH, "code": "0"}
        nodes.report("c1", Decided, request=request, accepted=True, **own, **each.fields)
    for node in NODES:
        for each in requests:
            base, behind = each.offsets[0], each.offsets[-1] + 1
            own = {"base_offset": base, "end_offset": behind, "control": base == 0}
            entry = {"epoch": EPOCH, "crcs": tuple(crcs[base:behind]), "leading": node == "c1"}
            nodes.report(node, quorum.Appended, **own, **entry)
        if node in VOTERS:
            nodes.report(node, quorum.Flushed, end_offset=end)
    for node in NODES:
        nodes.report(node, quorum.Committed, offset=end, epoch=EPOCH, leading=node == "c1")
        for change in (change for each in requests for change in each.batch):
            own = {name: getattr(change, name) for name in kinds.own_fields(type(change))}
            nodes.report(node, type(change), **own)
    for request, each in decided:
        own = {"api": each.fields["api"], "f": each.fields["f"], "epoch": EPOCH}
        nodes.report("c1", Answered, request=request, accepted=True, high_watermark=end, **own)
    for node, broker in BROKERS.items():
        _activate(nodes, node, broker)
    for each in requests:
        if each.topic:
            own = {"api": "CreateTopics", "f": "create", "success": True, "code": "0"}
            state = {"state": "active", "broker_epoch": 1, "topic": each.topic}
            nodes.report("b1", Served, **own, **state)
    return nodes.rows


def _elect(nodes: Beginning) -> None:
    for node in VOTERS:
        nodes.report(node, quorum.RoleTaken, role="unattached", epoch=0, leader=None)
    nodes.report("c1", quorum.RoleTaken, role="candidate", epoch=EPOCH, leader=None)
    for node in VOTERS:
        nodes.report(node, quorum.EpochSaved, epoch=EPOCH, leader=None, vote=1)
        if node != "c1":
            log: Row = {"candidate_log": (0, 0), "own_log": (0, 0)}
            nodes.report(node, quorum.Voted, epoch=EPOCH, candidate=1, granted=True, **log)
    nodes.report("c1", quorum.Elected, epoch=EPOCH, votes=(1, 2))
    for node in NODES:
        role = "leader" if node == "c1" else "follower" if node in VOTERS else "observer"
        nodes.report(node, quorum.RoleTaken, role=role, epoch=EPOCH, leader=1)
        if node in VOTERS:
            nodes.report(node, quorum.EpochSaved, epoch=EPOCH, leader=1, vote=1)
    nodes.report("c1", quorum.Claimed, epoch=EPOCH, end_offset=1)


def _activate(nodes: Beginning, node: str, broker: int) -> None:
    identity: Row = {"broker_id": broker, "broker_epoch": EPOCHS[broker]}
    lease = {"start_ns": nodes.at_ns, "end_ns": nodes.at_ns + LEASE_NS}
    nodes.report(node, brokers.LeaseGranted, **identity, **lease)
    beat = {"target": "active", "accepted": True, "stale": False, "next_state": "active"}
    nodes.report(node, brokers.HeartbeatAnswered, answered_epoch=EPOCHS[broker], **identity, **beat)
    states = {"before": "starting", "after": "active", "lease_ended": False}
    nodes.report(node, brokers.BrokerStateChanged, broker_epoch=EPOCHS[broker], **states)


def by_kind(rows: Sequence[Evidence]) -> Iterator[tuple[type[Evidence], pa.Table]]:
    for kind in dict.fromkeys(map(type, rows)):
        yield kind, table_of(kind, [each for each in rows if type(each) is kind])


# --- a chunk of groups --------------------------------------------------------------------


@dataclass(frozen=True)
class Groups:
    """`number`: of each group; `first`: how long the log was when they began; `crcs`: of all
    their records, `partition_crcs` of their batches in the partition's log."""

    number: Numbers
    first: int
    crcs: Numbers
    partition_crcs: Numbers

    def rows(self, kind: Any, node: str, phase: int, *, every: int = 1, **fields: Any) -> pa.Table:
        """One row a group - or every so many groups - of a node. `fields`: a value for all of them,
        or an array of one each."""
        chosen = self.number % every == 0
        number = self.number[chosen]
        seq = BEGIN_SEQ + number * STRIDE + phase
        own = {
            "node": node,
            "incarnation": INCARNATIONS[node],
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

    def crc(self, at: int) -> Numbers:
        return self.crcs[at::RECORDS]


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
        for half in (0, 1):
            base = groups.end(half * 2) - 1
            fields: Row = {"base_offset": base, "end_offset": base + 2, "leading": node == "c1"}
            crcs = lists(np.stack([groups.crc(half * 2), groups.crc(half * 2 + 1)], 1).ravel(), 2)
            entry: Row = {"epoch": EPOCH, "control": False, "crcs": crcs}
            yield quorum.Appended, groups.rows(quorum.Appended, node, 8 + half, **fields, **entry)
        end = groups.end(RECORDS - 1)
        if node in VOTERS:
            yield quorum.Flushed, groups.rows(quorum.Flushed, node, 10, end_offset=end)
        high: Row = {"offset": end, "epoch": EPOCH, "leading": node == "c1"}
        yield quorum.Committed, groups.rows(quorum.Committed, node, 11, **high)
        for at in range(RECORDS):
            state = partition_fields(groups.record(at)) | {"offset": groups.end(at) - 1}
            kind = changes.PartitionChanged
            yield kind, groups.rows(kind, node, 12 + at, epoch=EPOCH, **state)
        image: Row = {"offset": end, "digest": digests}
        yield quorum.ImageShown, groups.rows(quorum.ImageShown, node, 16, every=4, **image)
        yield quorum.ImageDigest, groups.rows(quorum.ImageDigest, node, 17, every=2, **image)
        ticks = groups.rows(processes.Ticked, node, 60, every=40, every_ns=40 * GROUP_NS)
        yield processes.Ticked, ticks
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
    carried = {name: state[name] for name in ("topic_id", "partition", "leader_epoch")}
    before = {"partition_epoch": state["partition_epoch"] - 1}
    yield (
        IsrDecided,
        groups.rows(IsrDecided, "c1", at * 2 + 1, **asked, **carried, **before),
    )
    high = {"accepted": True, "high_watermark": groups.end(RECORDS - 1), "epoch": EPOCH}
    answer = {"request": request, "api": "AlterPartition", "f": "alter-isr", **high}
    yield Answered, groups.rows(Answered, "c1", 18 + at, **answer)
    other = {"request": pa.array([f"h{each}" for each in record.tolist()]), "f": None, **high}
    api = "BrokerHeartbeat"
    yield Answered, groups.rows(Answered, "c1", 22 + at, api=api, **other)


def serving(groups: Groups, node: str, broker: int) -> Iterator[tuple[type[Evidence], pa.Table]]:
    """A broker: what it serves, its leases, its replicas."""
    identity: Row = {"broker_id": broker, "broker_epoch": EPOCHS[broker]}
    active: Row = {"target": "active", "accepted": True, "stale": False, "next_state": "active"}
    beat: Row = {**identity, **active, "answered_epoch": EPOCHS[broker]}
    yield brokers.HeartbeatAnswered, groups.rows(brokers.HeartbeatAnswered, node, 28, **beat)
    start = time_ns(groups.number, 28) - STEP_NS
    lease: Row = {
        **identity,
        "start_ns": start,
        "end_ns": start + LEASE_NS,
        "rounded_ns": 2_000_000,
    }
    yield brokers.LeaseGranted, groups.rows(brokers.LeaseGranted, node, 29, **lease)
    for at in range(7):
        success: Row = {"api": "Metadata", "f": "metadata", "success": True, "code": "0"}
        state: Row = {"state": "active", "broker_epoch": EPOCHS[broker], "topic": None}
        yield Served, groups.rows(Served, node, 30 + at, **success, **state)
    log: Row = {"topic_id": topic_id(0), "partition": 0}
    for at in (0, 1):
        base = groups.number * 2 + at
        crc = groups.partition_crcs[at::2]
        written: Row = {"base_offset": base, "end_offset": base + 1, "epoch": 0, "crc": crc}
        leads: Row = {"leading": broker == replicas(0)[0]}
        kind: Any = partitions.PartitionAppended
        yield kind, groups.rows(kind, node, 40 + at, **log, **written, **leads)
    if broker == replicas(0)[0]:
        kind = partitions.PartitionCommitted
        high: Row = {"offset": groups.number * 2 + 2, "leader_epoch": 0}
        yield kind, groups.rows(kind, node, 42, **log, **high)
    role = partition_fields(groups.record(0))
    own = {name: role[name] for name in ("topic_id", "partition", "isr", "partition_epoch")}
    said: Row = {"topic": "t", "role": "follower", "leader_epoch": 0}
    yield partitions.ReplicaRole, groups.rows(partitions.ReplicaRole, node, 43, **own, **said)


# --- clients and the harness --------------------------------------------------------------


def history(numbers: Iterable[int]) -> Iterator[Row]:
    """In each group a leader asks for each change, and a client for metadata; all are answered."""
    for group in numbers:
        topic, broker = (2 * group + TOPICS // 2) % TOPICS, f"b{1 + group % 3}"
        changed = map(partial(_change, group), range(RECORDS))
        looked = _look("metadata", topic, group * RECORDS, broker)  # nothing changes it meanwhile
        yield from at_once([*changed, looked], (group + 1) * GROUP_NS - STEP_NS)


Asked: TypeAlias = tuple[Row, Row, str]
"""What a client asks for, what it is answered, and by which node."""


def at_once(asked: Sequence[Asked], begin_ns: int) -> Iterator[Row]:
    """Operations that clients invoke at the same time."""
    for process, (call, _, _) in enumerate(asked):
        yield {"time": begin_ns, "type": "invoke", "process": process, **call}
    for process, (call, result, node) in enumerate(asked):
        head = {"time": begin_ns + 50 * STEP_NS, "type": "ok", "process": process}
        yield {**head, "f": call["f"], "key": call["key"], "value": result, "node": node}


def _created(topic: int) -> Asked:
    result = {"topic_id": topic_id(topic), "num_partitions": 2, "replication_factor": 3}
    call = {"f": "create", "key": f"t{topic}", "value": {"partitions": 2, "replication": 3}}
    return call, result, "b1"


def _change(group: int, at: int) -> Asked:
    change, partition = changed(group * RECORDS + at, 0), (group * RECORDS + at) % PARTITIONS
    broker_epoch = EPOCHS[change.leader]
    value = {
        "topic_id": change.topic_id,
        "partition": change.partition,
        "broker_id": change.leader,
        "broker_epoch": broker_epoch,
        "isr": change.isr,
        "isr_epochs": [EPOCHS[each] for each in change.isr],
        "leader_epoch": 0,
        "partition_epoch": change.partition_epoch - 1,
        "zombie": None,
    }
    names = ("isr", "leader", "leader_epoch", "partition_epoch")
    result = {name: getattr(change, name) for name in names}
    key = f"t{partition // 2}/{partition % 2}"
    return {"f": "alter-isr", "key": key, "value": value}, result, "c1"


def _look(f: str, topic: int, records: int, node: str) -> Asked:
    """At a topic, after so many changes of all partitions."""
    shown = []
    for partition in (2 * topic, 2 * topic + 1):
        epoch = len(range(partition, records, PARTITIONS))
        own = replicas(partition)
        names = {"partition": partition % 2, "leader": own[0], "leader_epoch": 0}
        names |= {"partition_epoch": epoch} if f == "describe" else {}
        shown.append({**names, "replicas": own, "isr": own[:2] if epoch % 2 else own})
    result = {"topic_id": topic_id(topic), "partitions": shown}
    return {"f": f, "key": f"t{topic}"}, result, node


def phase(name: str, time_ns: int) -> Iterator[Row]:
    """The harness begins one; the cluster agrees as it settles."""
    head = {"time": time_ns, "type": "info", "process": "nemesis"}
    yield {**head, "f": "phase", "value": name}
    if name == "settle":
        yield {**head, "f": "settle", "value": {"settled": True, "missing": None}}


# --- all of it ----------------------------------------------------------------------------


def plan() -> dict[str, Any]:
    """Of such a run: all checkers whose needs the node and this workload meet."""
    capabilities = registry.load("systems", "kraft").capabilities
    found = applicable(
        {name: registry.load("checkers", name) for name in registry.names("checkers")},
        {*capabilities, *registry.load("workloads", "isr").provides},
    )
    ids = {node: {"controller": at} for at, node in enumerate(VOTERS, 1)}
    ids |= {node: {"broker": broker} for node, broker in BROKERS.items()}
    return {
        "seed": 1,
        "system": "kraft",
        "workloads": ["isr"],
        "nodes": {node: {"ids": ids[node], "votes": node in VOTERS} for node in NODES},
        "time_zero_ns": 0,
        "clocks": {node: {"shared": True} for node in NODES},
        "capabilities": sorted(capabilities),
        "checkers": list(found.checkers),
        "not_applicable": dict(found.not_applicable),
    }


def _appended(log: Log, group: int) -> str:
    """The digest of the image behind a group's changes, two of which are in each batch."""
    for half in (0, 2):
        records = range(group * RECORDS + half, group * RECORDS + half + 2)
        log.append([changed(each, log.state.end + each - records.start) for each in records])
    return log.digest()


def make(folder: Path, events: int) -> int:
    """Writes a run of about so many events of nodes; how many there are."""
    files, log, count = Files(folder), Log(), max(1, events // EVENTS)
    files.plan(plan())
    requests = first_requests()
    for each in requests:
        log.append(each.batch)
    for kind, table in by_kind(beginning(requests, log.crcs)):
        files.told(kind, table, log)
    files.flush(log)
    first = log.first
    files.history([*phase("main", 0), *at_once([*map(_created, range(TOPICS))], 0)])
    for begin in range(0, count, CHUNK):
        numbers = np.arange(begin, min(count, begin + CHUNK))
        digests = pa.array([_appended(log, each) for each in numbers.tolist()])
        batches = partition_batches(2 * begin, 2 * len(numbers))
        crcs = [int.from_bytes(each[17:21]) for each in batches]
        groups = Groups(numbers, first, np.array(log.crcs), np.array(crcs))
        for node in BROKERS:
            files.partition(node, f"{topic_id(0)}-0", b"".join(batches))
        for kind, table in chunk(groups, digests):
            files.told(kind, table, log)
        files.flush(log)
        files.history(history(numbers.tolist()))
    for node in VOTERS:
        files.quorum_state(node, EPOCH, 1)
    for at, name in enumerate(("heal", "settle", "final"), 1):
        files.history(phase(name, (count + at) * GROUP_NS))
    for at, (f, node) in enumerate((("describe", "c1"), ("metadata", "b1"), ("metadata", "b2")), 4):
        looks = [_look(f, topic, count * RECORDS, node) for topic in range(TOPICS)]
        files.history(at_once(looks, (count + at) * GROUP_NS))
    for kind, table in by_kind(exits(count)):
        files.told(kind, table, log)
    files.flush(log)
    files.close()
    return files.events


def exits(groups: int) -> list[Evidence]:
    """Of all nodes, after the last reads."""
    head: Row = {"seq": BEGIN_SEQ + groups * STRIDE, "at_ns": (groups + 8) * GROUP_NS}
    told: Row = {"reason": "terminated", "fatal": False}
    return [
        processes.Exited(node=node, incarnation=INCARNATIONS[node], ref="", **head, **told)
        for node in NODES
    ]
