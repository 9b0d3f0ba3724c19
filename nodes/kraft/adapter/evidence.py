"""What a run of Python KRaft nodes left behind, as typed evidence.

The source is `events.jsonl` (docs/operating.md), of this node's releases and of older ones, and
what lies on the nodes' disks (`disk`); a finding's `ref` names the file and the line. Nothing
outside of this folder knows the names that are used here.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from framework.errors import UsageError
from framework.evidence import brokers, partitions, processes, quorum, requests, systems
from framework.evidence.catalogue import KINDS
from framework.evidence.clocks import Clocks
from framework.evidence.ids import Offset
from framework.evidence.kinds import Evidence, evidence_of
from framework.history.event import Recorded
from framework.json_lines import json_lines
from nodes.disk_evidence.disk import GIVEN
from nodes.kraft.adapter.disk import left_on_disk
from nodes.kraft.adapter.image_form import IMAGE_FORM
from nodes.kraft.adapter.records import change_of
from nodes.kraft.adapter.states import STATES

NODES: Final = "nodes"
EVENTS: Final = "events.jsonl"
TAKEOVER: Final = "broker.takeover"
EVIDENCE: Final = evidence_of(*KINDS.values())
"""What this node is capable of: it leaves evidence of every kind."""
ON_DISK: Final = GIVEN
"""What of it lies on its disks, also where it writes no events."""

HEARTBEAT, ALTER_PARTITION = "BrokerHeartbeat", "AlterPartition"
ASKS_FOR: Final[Mapping[str, str]] = {
    HEARTBEAT: "heartbeat",
    ALTER_PARTITION: "alter-isr",
    "CreateTopics": "create",
    "DeleteTopics": "delete",
    "Metadata": "metadata",
    "DescribeConfigs": "describe-configs",
    "Produce": "produce",
    "Fetch": "fetch",
    "ListOffsets": "list-offsets",
    "DeleteRecords": "delete-records",
}
"""Request -> the operation of a history that asks for it."""
OF_THE_PROCESS: Final = frozenset({"DescribeNode", "ApiVersions"})
"""Requests whose answers tell of the process, not of the cluster."""
OF_TOPICS: Final = frozenset(
    {"Produce", "Fetch", "ListOffsets", "DeleteRecords", "OffsetForLeaderEpoch"}
)
UNKNOWN_TOPIC: Final = 3
CLOCK_EVERY_NS: Final = 10_000_000_000
"""How often a node of any release tells its clock."""
ROUNDING_NS: Final = 2_000_000
"""Nodes keep leases in whole ms."""
LOST: Final = frozenset({77, 102})
"""STALE_BROKER_EPOCH, BROKER_ID_NOT_REGISTERED: the registration is another's, or nobody's."""

ACCEPTED: Final = frozenset({0, 108})
"""Of changes of ISRs. NEW_LEADER_ELECTED: it completed a reassignment, and another one leads."""

_HEAD: Final[Mapping[str, type]] = {
    "node": str,
    "incarnation": str,
    "seq": int,
    "time_ns": int,
    "type": str,
}
"""What every line has."""

Fields = Mapping[str, Any]


def observe(folder: Path, plan: Mapping[str, Recorded]) -> Iterator[Evidence]:
    """All that the nodes of a run tell, and what lies on their disks. Raises `UsageError` where an
    event log is not what nodes write."""
    yield from observe_run(plan)
    for home in sorted(folder.glob(f"{NODES}/*")):
        yield from observe_node(folder, plan, home.name)


def observe_run(plan: Mapping[str, Recorded]) -> Iterator[Evidence]:
    """Of all nodes alike."""
    yield IMAGE_FORM
    yield from promises(plan)


def observe_node(folder: Path, plan: Mapping[str, Recorded], node: str) -> Iterator[Evidence]:
    """What one host's processes tell, and what lies on its disk."""
    clocks = Clocks.of(plan)
    home = folder / NODES / node
    for path in sorted(home.glob(f"**/{EVENTS}")):
        ref = str(path.relative_to(folder))
        yield from translated(numbered(path), ref, node, path.parent.name, clocks)
    yield from left_on_disk(folder, node)


def promises(plan: Mapping[str, Recorded]) -> Iterator[Evidence]:
    """What every node's settings promise. Runs of before `--set` had none."""
    settings = plan.get("settings") or {}
    nodes = plan.get("nodes") or settings
    if nodes and all(settings.get(node, {}).get(TAKEOVER) == "deferred" for node in nodes):
        yield systems.Promised(
            node="", source="harness", ref="plan.json", promise="exclusive-broker-ids"
        )


def numbered(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines of an event log with their numbers, from 1."""
    for number, line in json_lines(path, marks=("type",)):
        for name, kind in _HEAD.items():
            if name in line and type(line[name]) is not kind:
                raise UsageError(
                    f"{path}: {name} is {json.dumps(line[name])[:80]}; every line has a "
                    f"{'whole number' if kind is int else 'string'} there"
                )
        yield number, line


def translated(
    lines: Iterable[tuple[int, Fields]], ref: str, host: str, node: str, clocks: Clocks
) -> Iterator[Evidence]:
    """The evidence in some lines of an event log. `host`: the node whose clock they tell times
    by; `node`: whose log it is, where a line does not say. Lines that rules do not look at are
    passed over."""
    within_ns = clocks.within_ns(host)
    zero_ns = clocks.at_ns(host, 0)
    for number, line in lines:
        make = _MAKES.get(line.get("type", ""))
        if make is None:
            continue
        head = {
            "node": line.get("node", node),
            "incarnation": line.get("incarnation", ""),
            "seq": line.get("seq", 0),
            "at_ns": line["time_ns"] + zero_ns if "time_ns" in line else 0,
            "within_ns": within_ns,
            "ref": f"{ref}:{number}",
        }
        try:
            yield from make(Line(head, line, zero_ns))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"no {error.args[0]}" if isinstance(error, KeyError) else str(error)
            raise UsageError(
                f"{ref}:{number}: not what a node writes as {line['type']!r}: {what}"
            ) from None


@dataclass(frozen=True, slots=True)
class Line:
    """A line: what all evidence has of it, and what it says. `zero_ns`: what its node's clock
    showed at the run's begin, negated."""

    head: dict[str, Any]
    says: Fields
    zero_ns: int


Make = Callable[[Line], Iterable[Evidence]]


Number = TypeVar("Number", bound=int)


def known(number: Number | None) -> Number | None:
    """An id or epoch, unless it says that there is none."""
    return None if number is None or number < 0 else number


# --- processes and the quorum -------------------------------------------------------------


def _boot(line: Line) -> Iterator[Evidence]:
    says = line.says
    saved = says.get("quorum") or {}
    broker_id = says.get("broker_id")
    yield processes.Booted(
        **line.head,
        replica_id=says.get("replica_id"),
        broker_id=broker_id,
        voters=tuple(says.get("voters") or ()),
        saved_epoch=saved.get("epoch"),
        saved_leader=known(saved.get("leader_id")),
        saved_vote=known(saved.get("voted_id")),
        log_start=says.get("log_start"),
        log_end=says.get("log_end"),
        last_epoch=says.get("last_epoch"),
        key=None if broker_id is None else f"broker-{broker_id}",
    )


def _exit(line: Line) -> Iterator[Evidence]:
    reason = str(line.says.get("reason"))
    yield processes.Exited(**line.head, reason=reason, fatal=reason.startswith("fatal"))


def _error(line: Line) -> Iterator[Evidence]:
    where, message = str(line.says.get("where")), str(line.says.get("message"))
    yield processes.Failed(**line.head, where=where, message=message)


def _stall(line: Line) -> Iterator[Evidence]:
    """Where a thread had ended, older nodes told of less than no delay."""
    says = line.says
    yield processes.Stalled(
        **line.head,
        part=f"{says.get('loop')} loop",
        lasted_ns=round(float(says["ms"]) * 1e6),
        delayed_ns=round(max(0.0, float(says.get("delayed_ms", 0))) * 1e6),
    )


def _clock(line: Line) -> Iterator[Evidence]:
    yield processes.Ticked(**line.head, every_ns=CLOCK_EVERY_NS)


def _epoch(line: Line) -> Iterator[Evidence]:
    says = line.says
    leader, vote = known(says["leader_id"]), known(says["voted_id"])
    yield quorum.EpochSaved(**line.head, epoch=says["epoch"], leader=leader, vote=vote)


def _role(line: Line) -> Iterator[Evidence]:
    says = line.says
    leader = known(says.get("leader_id"))
    yield quorum.RoleTaken(**line.head, role=says["role"], epoch=says["epoch"], leader=leader)


def _vote(line: Line) -> Iterator[Evidence]:
    says = line.says
    own = says.get("own_last")
    yield quorum.Voted(
        **line.head,
        epoch=says["epoch"],
        candidate=says["candidate_id"],
        granted=says["granted"],
        candidate_log=tuple(says["candidate_last"]),
        own_log=None if own is None else tuple(own),
    )


def _elected(line: Line) -> Iterator[Evidence]:
    votes = tuple(line.says.get("votes") or ())
    yield quorum.Elected(**line.head, epoch=line.says["epoch"], votes=votes)


def _claim(line: Line) -> Iterator[Evidence]:
    yield quorum.Claimed(
        **line.head, epoch=line.says["epoch"], end_offset=line.says.get("end_offset", 0)
    )


# --- the metadata log ---------------------------------------------------------------------


def _append(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield quorum.Appended(
        **line.head,
        base_offset=says["base_offset"],
        end_offset=says["end_offset"],
        epoch=says["epoch"],
        control=bool(says.get("control")),
        crcs=tuple(says["crcs"]),
        leading=bool(says.get("leader")),
    )


def _flush(line: Line) -> Iterator[Evidence]:
    yield quorum.Flushed(**line.head, end_offset=line.says["end_offset"])


def _truncate(line: Line) -> Iterator[Evidence]:
    yield quorum.Truncated(**line.head, end_offset=line.says["end_offset"])


def _log_start(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield quorum.LogBegan(**line.head, offset=says["offset"], dropped=bool(says.get("dropped")))


def _hw(line: Line) -> Iterator[Evidence]:
    says = line.says
    leading = says.get("role") == "leader"
    yield quorum.Committed(**line.head, offset=says["offset"], epoch=says["epoch"], leading=leading)


def _state(line: Line) -> Iterator[Evidence]:
    yield quorum.ImageDigest(**line.head, offset=line.says["offset"], digest=line.says["digest"])


def _publish(line: Line) -> Iterator[Evidence]:
    yield quorum.ImageShown(**line.head, offset=line.says["offset"], digest=line.says["digest"])


def _snap_write(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield quorum.SnapshotWritten(
        **line.head,
        end_offset=says["end_offset"],
        epoch=says["epoch"],
        digest=says["digest"],
        bytes=says.get("bytes", 0),
        records=says.get("records"),
        high_watermark=says["high_watermark"],
    )


def _snap_load(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield quorum.SnapshotLoaded(
        **line.head,
        end_offset=says["end_offset"],
        epoch=says["epoch"],
        digest=says["digest"],
        fetched=says.get("source") == "fetched",
    )


# --- requests -----------------------------------------------------------------------------


def _decide(line: Line) -> Iterator[Evidence]:
    says = line.says
    asked: Fields = says.get("source") or {}
    yield requests.Decided(
        **line.head,
        request=str(says["request_id"]),
        forwarded=says.get("forwarded"),
        api=says["api"],
        f=ASKS_FOR.get(says["api"]),
        accepted=says["verdict"] == 0,
        code=str(says["verdict"]),
        as_of=says["as_of"],
        records=tuple(says["records"]),
        epoch=says["epoch"],
        broker_id=asked.get("broker_id"),
        broker_epoch=known(asked.get("broker_epoch")),
        target=_state_of(asked.get("target")),
        topics=_topics(says, asked),
    )
    yield from _isr_decisions(line, asked)


def _state_of(name: str | None) -> brokers.BrokerState | None:
    return None if name is None else STATES[name]


def _topics(says: Fields, asked: Fields) -> tuple[str, ...]:
    """Those that a request names, if it names all that it is about."""
    names = [item.get("topic") for item in says.get("items") or ()] or [asked.get("topic")]
    return () if None in names else tuple(names)


def _isr_decisions(line: Line, asked: Fields) -> Iterator[Evidence]:
    """Each partition of an AlterPartition request; of older nodes, who told of the first one and
    of the request's first error, that one."""
    says = line.says
    if says["api"] != ALTER_PARTITION:
        return
    if "items" in says:
        for item in says["items"]:
            if "partition" in item:
                yield _isr_decision(line, asked, item, item["code"], item["records"])
    elif all(asked.get(name) is not None for name in ("topic_id", "partition", "partition_epoch")):
        # Of several, another one may be what was accepted.
        yield _isr_decision(line, asked, asked, says["verdict"] or None, says["records"])


def _isr_decision(
    line: Line, asked: Fields, item: Fields, code: int | None, records: Iterable[Offset]
) -> Evidence:
    says = line.says
    return requests.IsrDecided(
        **line.head,
        request=str(says["request_id"]),
        api=says["api"],
        as_of=says["as_of"],
        epoch=says["epoch"],
        broker_id=asked["broker_id"],
        broker_epoch=known(asked.get("broker_epoch")),
        topic_id=str(item["topic_id"]),
        partition=item["partition"],
        leader_epoch=item["leader_epoch"],
        partition_epoch=item["partition_epoch"],
        accepted=None if code is None else code in ACCEPTED,
        code=None if code is None else str(code),
        records=tuple(records),
    )


def succeeded(says: Fields) -> bool:
    """Whether an answer has a success in it; of several results, one is enough."""
    codes = says.get("codes")
    return 0 in codes if codes else bool(says["code"] == 0)


def _answer(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield requests.Answered(
        **line.head,
        request=str(says["request_id"]),
        api=says["api"],
        f=ASKS_FOR.get(says["api"]),
        accepted=succeeded(says),
        high_watermark=says["high_watermark"],
        epoch=says["epoch"],
    )


def _serve(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield requests.Served(
        **line.head,
        api=says["api"],
        f=None if _is_a_replicas(says) else ASKS_FOR.get(says["api"]),
        success=_gave(says),
        code=str(says["code"]),
        state=_state_of(says.get("broker_state")),
        broker_epoch=known(says.get("broker_epoch")),
        topic=says.get("topic"),
    )


def _is_a_replicas(says: Fields) -> bool:
    """Whether another broker asked, to replicate. Older nodes do not say: there a fetch that names
    its topics by id, or no topic, is a replica's, for clients of the time gave names."""
    if says["api"] != "Fetch":
        return False
    if "replica_id" in says:
        return says["replica_id"] is not None
    return not says.get("topic")


def _gave(says: Fields) -> bool:
    """Whether a broker gave what only one that may serve gives. That a topic is unknown is, to
    Metadata, an answer from the image as well. A request for the data of no topic at all has
    nothing that could be refused."""
    api = says["api"]
    about = says.get("topic") or says.get("topic_id")
    if api in OF_THE_PROCESS or (api in OF_TOPICS and not about):
        return False
    if api == "Metadata" and UNKNOWN_TOPIC in (says["code"], *says.get("codes", ())):
        return True
    return succeeded(says)


# --- brokers ------------------------------------------------------------------------------


def _bstate(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield brokers.BrokerStateChanged(
        **line.head,
        before=STATES[says["before"]],
        after=STATES[says["after"]],
        broker_epoch=known(says.get("broker_epoch")),
        lease_ended=says.get("why") == "lease expired",
    )


def _lease(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield brokers.LeaseGranted(
        **line.head,
        broker_id=says["broker_id"],
        broker_epoch=says["broker_epoch"],
        start_ns=says["start_ns"] + line.zero_ns,
        end_ns=says["end_ns"] + line.zero_ns,
        rounded_ns=ROUNDING_NS,
    )


def _heartbeat(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield brokers.HeartbeatAnswered(
        **line.head,
        broker_id=says["broker_id"],
        broker_epoch=known(says["broker_epoch"]),
        target=STATES[says["target"]],
        accepted=says["error"] == 0,
        stale=says["error"] in LOST,
        next_state=STATES[says["next_state"]],
        answered_epoch=known(says["answered_epoch"]),
    )


# --- partitions ---------------------------------------------------------------------------


def _part(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield partitions.ReplicaRole(
        **line.head,
        topic=says["topic"],
        topic_id=says["topic_id"],
        partition=says["partition"],
        role=says["role"],
        leader_epoch=says["leader_epoch"],
        partition_epoch=says["partition_epoch"],
        isr=tuple(says["isr"]),
    )


def _plog(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield partitions.PartitionAppended(
        **line.head,
        topic_id=says["topic_id"],
        partition=says["partition"],
        base_offset=says["base_offset"],
        end_offset=says["end_offset"],
        epoch=says["epoch"],
        crc=says["crc"],
        leading=bool(says.get("leader")),
        producer_id=known(says.get("producer_id")),
        base_sequence=known(says.get("base_sequence")),
    )


def _ptruncate(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield partitions.PartitionTruncated(
        **line.head,
        topic_id=says["topic_id"],
        partition=says["partition"],
        end_offset=says["end_offset"],
    )


def _phw(line: Line) -> Iterator[Evidence]:
    says = line.says
    yield partitions.PartitionCommitted(
        **line.head,
        topic_id=says["topic_id"],
        partition=says["partition"],
        offset=says["offset"],
        leader_epoch=says["leader_epoch"],
    )


def _apply(line: Line) -> Iterator[Evidence]:
    says = line.says
    head = {**line.head, "offset": says["offset"], "epoch": says["epoch"]}
    yield change_of(head, str(says.get("kind")), says.get("record"), says)


_MAKES: Final[Mapping[str, Make]] = {
    "boot": _boot,
    "exit": _exit,
    "error": _error,
    "stall": _stall,
    "clock": _clock,
    "epoch": _epoch,
    "role": _role,
    "vote": _vote,
    "elected": _elected,
    "claim": _claim,
    "append": _append,
    "flush": _flush,
    "truncate": _truncate,
    "log_start": _log_start,
    "hw": _hw,
    "state": _state,
    "publish": _publish,
    "snap_write": _snap_write,
    "snap_load": _snap_load,
    "decide": _decide,
    "answer": _answer,
    "apply": _apply,
    "bstate": _bstate,
    "lease": _lease,
    "heartbeat": _heartbeat,
    "serve": _serve,
    "part": _part,
    "plog": _plog,
    "ptruncate": _ptruncate,
    "phw": _phw,
}
"""By the `type` of the line."""
