"""Small runs written by hand: operations and node events on one clock, a ms a step."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from planted_disks import Disks

from framework.checking.keyed import Outcome
from framework.evidence.clocks import Clocks
from framework.evidence.kinds import Evidence
from framework.evidence.run_events import FaultRecord, RunEvents
from framework.history.pairing import Operation
from framework.testing.story import Story as PlainStory
from framework.verdict import Verdict
from nodes.kraft.adapter.evidence import promises, translated
from nodes.kraft.adapter.image_form import IMAGE_FORM

MS = 1_000_000
TOPIC = "11111111-1111-1111-1111-111111111111"
OTHER = "22222222-2222-2222-2222-222222222222"
ZERO_NS = 5_000 * MS
"""The nodes' clock at the start of the run."""

NODES: dict[str, Any] = {
    **{f"c{i}": {"ids": {"controller": i}, "votes": True} for i in (1, 2, 3)},
    **{f"b{i}": {"ids": {"broker": 3 + i}, "votes": False} for i in (1, 2, 3)},
}
PLAN: dict[str, Any] = {"nodes": NODES, "time_zero_ns": ZERO_NS, "nemeses": ["partition"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    """A line of events.jsonl. `time_ns` is ns since the run began."""

    node: str
    incarnation: str
    seq: int
    time_ns: int
    type: str
    fields: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        head = {"time_ns": self.time_ns, "node": self.node, "incarnation": self.incarnation}
        return {**head, "seq": self.seq, "type": self.type, **self.fields}


RECORDS: dict[str, dict[str, Any]] = {
    "TopicRecord": {"name": "t", "topic_id": TOPIC, "deleting": False},
    "RemoveTopicRecord": {"topic_id": TOPIC},
    "BrokerRecord": {"broker_id": 4, "broker_epoch": 0},
    "RequestRecord": {"request_id": "r", "answer": ""},
}
"""What a record says where a story does not."""

EVENTS: dict[str, dict[str, Any]] = {
    "heartbeat": {
        "broker_id": 4,
        "broker_epoch": 7,
        "target": "ACTIVE",
        "error": 0,
        "next_state": "ACTIVE",
        "answered_epoch": 7,
    },
}
"""Likewise an event."""


@dataclass
class Story(PlainStory):
    """Nodes' events beside the operations, as the Python KRaft node writes them."""

    HOME: ClassVar[str] = "c1"
    plan: dict[str, Any] = field(default_factory=lambda: dict(PLAN))
    events: list[NodeEvent] = field(default_factory=list)
    ahead_ns: dict[str, int] = field(default_factory=dict)
    """Node -> by how much its clock is ahead of the harness's."""
    system: tuple[Evidence, ...] = (IMAGE_FORM,)
    """What is known of it beside what it tells."""
    disks: Disks = field(default_factory=Disks)
    _lives: dict[str, tuple[int, int]] = field(default_factory=dict)

    # --- operations -----------------------------------------------------------------------

    def create(self, name: str, topic_id: str = TOPIC, **more: Any) -> Operation:
        value = {"partitions": 1, "replication": 3}
        return self.op("create", name, value, {"topic_id": topic_id}, node="b1", **more)

    def delete(self, name: str, topic_id: str | None = TOPIC, **more: Any) -> Operation:
        return self.op("delete", name, None, {"topic_id": topic_id}, node="b1", **more)

    def describe(self, name: str, *shown: dict[str, Any], topic_id: str = TOPIC) -> Operation:
        result = {"topic_id": topic_id, "partitions": list(shown)} if shown else None
        return self.op("describe", name, None, result, ext={"epoch": 1, "offset": 9})

    def follow(self, name: str, *shown: dict[str, Any], topic_id: str = TOPIC) -> Operation:
        """A read of what was committed, which may be behind."""
        result = {"topic_id": topic_id, "partitions": list(shown)} if shown else None
        return self.op("follow", name, None, result, ext={"epoch": 1, "offset": 9})

    def alter(
        self,
        version: int,
        isr: list[int],
        *,
        answer: dict[str, Any] | None = None,
        type: str = "ok",
        error: str | None = None,
        **named: Any,
    ) -> Operation:
        """An ISR change of t/0 by broker 4 in leader epoch 0, accepted as it should be."""
        value = change(version, isr, **named)
        result = accepted(value) | (answer or {}) if type == "ok" else None
        return self.op("alter-isr", "t/0", value, result, type=type, error=error)

    def heartbeat(
        self,
        broker: int,
        epoch: int,
        answered: int | None = None,
        zombie: str | None = None,
        **more: Any,
    ) -> Operation:
        value = {
            "broker_id": broker,
            "broker_epoch": epoch,
            "target": "active",
            "incarnation": "i",
            "offset": 0,
            "zombie": zombie,
        }
        result: Any = {"broker_epoch": answered if answered is not None else epoch}
        if more.get("type", "ok") != "ok":
            result = None
        return self.op("heartbeat", f"broker-{broker}", value, result, **more)

    def heartbeat_open(self, broker: int) -> Operation:
        """A registration that is under way."""
        return self.invoke(
            "heartbeat", f"broker-{broker}", {"broker_id": broker, "broker_epoch": -1}
        )

    # --- nodes ----------------------------------------------------------------------------

    def event(self, node: str, type: str, **fields: Any) -> NodeEvent:
        life, seq = self._lives.get(node, (1, -1))
        if type == "boot":
            life, seq = (life + 1 if node in self._lives else 1), -1
        self._lives[node] = (life, seq + 1)
        self.now_ns += MS
        event = NodeEvent(
            node=node,
            incarnation=f"{node}#{life}",
            seq=seq + 1,
            time_ns=self.now_ns,
            type=type,
            fields=EVENTS.get(type, {}) | fields,
        )
        self.events.append(event)
        return event

    def boot(
        self,
        node: str,
        quorum: tuple[int, int, int] | None = None,
        log_end: int = 0,
        last_epoch: int = 0,
        log_start: int = 0,
    ) -> NodeEvent:
        ids = NODES[node]["ids"]
        saved = (
            dict(zip(("epoch", "leader_id", "voted_id"), quorum, strict=True)) if quorum else None
        )
        return self.event(
            node,
            "boot",
            replica_id=next(iter(ids.values())),
            broker_id=ids.get("broker"),
            quorum=saved,
            log_start=log_start,
            log_end=log_end,
            last_epoch=last_epoch,
        )

    def saved(self, node: str, epoch: int, leader: int = -1, voted: int = -1) -> NodeEvent:
        return self.event(node, "epoch", epoch=epoch, leader_id=leader, voted_id=voted)

    def append(
        self, node: str, base: int, epoch: int, *crcs: int, leader: bool = False
    ) -> NodeEvent:
        return self.event(
            node,
            "append",
            base_offset=base,
            end_offset=base + len(crcs),
            epoch=epoch,
            control=False,
            crcs=list(crcs),
            leader=leader,
        )

    def hw(self, node: str, offset: int, epoch: int, role: str = "leader") -> NodeEvent:
        return self.event(node, "hw", offset=offset, role=role, epoch=epoch)

    def apply(self, node: str, offset: int, kind: str, epoch: int = 1, **record: Any) -> NodeEvent:
        whole = RECORDS.get(kind, {}) | record
        return self.event(node, "apply", offset=offset, epoch=epoch, kind=kind, record=whole)

    def partition(
        self, offset: int, version: int, isr: list[int], *, node: str = "c1", **more: Any
    ) -> NodeEvent:
        """An IsrChangeRecord of t/0 (at version 0: its PartitionRecord)."""
        record = {"leader": 4, "leader_epoch": 0, "partition_id": 0, **more}
        epoch = record.pop("epoch", 1)
        return self.apply(
            node,
            offset,
            "IsrChangeRecord" if version else "PartitionRecord",
            epoch,
            topic_id=TOPIC,
            isr=isr,
            partition_epoch=version,
            **record,
        )

    def broker(
        self,
        offset: int,
        broker: int,
        epoch: int,
        node: str = "c1",
        process: str | None = None,
    ) -> NodeEvent:
        named = {} if process is None else {"incarnation_id": process}
        fields = {"broker_id": broker, "broker_epoch": epoch, **named}
        return self.apply(node, offset, "BrokerRecord", **fields)

    def decide(
        self,
        api: str,
        source: dict[str, Any],
        records: list[int],
        *,
        node: str = "c1",
        verdict: int = 0,
        epoch: int = 1,
        as_of: int | None = None,
        request_id: str = "1",
        items: list[dict[str, Any]] | None = None,
        older: bool = False,
    ) -> NodeEvent:
        """`items`: of a batch; by default the one partition that `source` names. `older`: as
        nodes wrote it before they told of each item."""
        if api == "AlterPartition":
            source = {"broker_id": 4, "broker_epoch": 7} | source
        if items is None and "partition" in source:
            items = [item(source, verdict, records)]
        reported = {} if older else {"items": items or []}
        return self.event(
            node,
            "decide",
            request_id=request_id,
            api=api,
            source=source,
            verdict=verdict,
            as_of=as_of if as_of is not None else min(records, default=1000),
            records=records,
            epoch=epoch,
            **reported,
        )

    def answer(
        self,
        api: str,
        high_watermark: int,
        *,
        node: str = "c1",
        code: int = 0,
        request: str = "1",
        codes: list[int] | None = None,
    ) -> NodeEvent:
        return self.event(
            node,
            "answer",
            request_id=request,
            api=api,
            code=code,
            codes=[code] if codes is None else codes,
            high_watermark=high_watermark,
            epoch=1,
        )

    def lease(self, node: str, lasts_ms: float, epoch: int = 7) -> NodeEvent:
        now = self.now_ns + MS + ZERO_NS
        return self.event(
            node,
            "lease",
            broker_id=4,
            broker_epoch=epoch,
            start_ns=now,
            end_ns=now + round(lasts_ms * MS),
            granted_by=1,
        )

    def serve(self, node: str, api: str = "Metadata", code: int = 0, **more: Any) -> NodeEvent:
        asked = {"topic": None, "topic_id": None, "replica_id": None}
        fields = {**asked, "lease_left_ns": None, **more}
        return self.event(node, "serve", listener="CLIENT", api=api, code=code, **fields)

    def state(self, node: str, offset: int, digest: str = "d") -> NodeEvent:
        return self.event(node, "state", offset=offset, digest=digest)

    def bstate(self, node: str, after: str, before: str = "INITIAL") -> NodeEvent:
        return self.event(node, "bstate", before=before, after=after, broker_epoch=7, why="")

    # --- the nemesis ----------------------------------------------------------------------

    def inject(self, number: int = 1, *, lasts_ms: float = 10, **more: Any) -> FaultRecord:
        """An injection from now on; time moves on to its end."""
        begin = self.now_ns
        self.wait(lasts_ms)
        fields: dict[str, Any] = {
            "fault": "partition",
            "shape": "halves",
            "effective": True,
            "healed": True,
            "ends_processes": more.get("fault") == "kill",
            "injected_ns": begin,
            "healed_ns": self.now_ns,
            "entries": [{"step": "probed-before", "probe": {"bites": False}}],
        }
        injection = FaultRecord(id=number, **{**fields, **more})
        self.faults.append(injection)
        return injection

    def _numbered(self) -> list[tuple[int, NodeEvent]]:
        """Events with their line numbers, which are those of the order in which they happened."""
        order = sorted(self.events, key=lambda each: (each.time_ns, each.node, each.seq))
        return list(enumerate(order, 1))

    def run_events(self) -> RunEvents:
        """As a rule is given it: what nodes wrote is translated by their own adapter."""
        clocks = Clocks.of({"time_zero_ns": ZERO_NS, **self.plan})
        return RunEvents(
            operations=self.operations,
            observations=self.observations,
            evidence=[
                *self.system,
                *promises(self.plan),
                *self.evidence,
                *(
                    evidence
                    for number, event in self._numbered()
                    for evidence in translated(
                        [(number, self._as_written(event))],
                        "events.jsonl",
                        event.node,
                        event.node,
                        clocks,
                    )
                ),
                *self.disks.all(),
            ],
            nemesis=self.nemesis,
            faults=self.faults,
            plan=self.plan,
        )

    def _as_written(self, event: NodeEvent) -> dict[str, Any]:
        """A line of events.jsonl: times are of the node's own clock, as `ahead_ns` sets it."""
        line = event.as_json() | {"time_ns": event.time_ns + ZERO_NS}
        ahead = self.ahead_ns.get(event.node, 0)
        times = {
            name: line[name] + ahead for name in ("time_ns", "start_ns", "end_ns") if name in line
        }
        return line | times


def item(asked: dict[str, Any], code: int, records: list[int]) -> dict[str, Any]:
    """What `decide` says of one partition of an AlterPartition request."""
    names = ("topic_id", "partition", "leader_epoch", "partition_epoch")
    return {name: asked.get(name, 0) for name in names} | {"code": code, "records": records}


def change(version: int, isr: list[int], **named: Any) -> dict[str, Any]:
    """What an ISR change of t/0 says."""
    return {
        "topic_id": TOPIC,
        "partition": 0,
        "broker_id": 4,
        "broker_epoch": 7,
        "leader_epoch": 0,
        "partition_epoch": version,
        "isr": isr,
        "zombie": None,
        **named,
    }


def accepted(value: dict[str, Any]) -> dict[str, Any]:
    """The right answer to it."""
    return {
        "leader": value["broker_id"],
        "leader_epoch": value["leader_epoch"],
        "partition_epoch": value["partition_epoch"] + 1,
        "isr": value["isr"],
    }


def shown(version: int, isr: list[int], **more: Any) -> dict[str, Any]:
    """A partition in a describe's answer."""
    return {
        "partition": 0,
        "leader": 4,
        "leader_epoch": 0,
        "partition_epoch": version,
        "replicas": [4, 5, 6],
        "isr": isr,
        **more,
    }


def assert_valid(outcome: Outcome) -> None:
    assert outcome.verdict is Verdict.VALID, [each.message for each in outcome.findings]
    assert outcome.seen > 0


def assert_invalid(outcome: Outcome, *words: str) -> None:
    """INVALID, and one finding says all the words."""
    assert outcome.verdict is Verdict.INVALID, outcome.note
    messages = [finding.message for finding in outcome.findings]
    assert any(all(word in message for word in words) for message in messages), messages
    for finding in outcome.findings:
        assert finding.operations or finding.events, "a finding without evidence"
