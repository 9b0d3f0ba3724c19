"""What holds at every offset of the committed metadata log (D.23): one fold over it.

Each record is held against the state below it. What takes several records - fencing a broker
and moving what it leads, deleting a topic, creating one with its partitions - has to be
contiguous and complete, so it is judged at the first record that is no part of it. Nodes' own
digests of their state have to be the replay's.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from checkers.kernels.evidence import Evidence, NodeEvent, concluded, finding, record_of
from checkers.kernels.metadata_digest import Digest
from checkers.kernels.replay import (
    NO_LEADER,
    TOPIC_RESOURCE,
    Key,
    Log,
    Partition,
    Replay,
    committed_log,
)
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding
from framework.verdict import Verdict

EVENTS: Final = ("apply", "decide", "state", "publish")

Found: TypeAlias = tuple[str, tuple[NodeEvent, ...]]
"""What is wrong with a record, and what else shows it."""


def log_invariants(evidence: Evidence) -> Outcome:
    log = committed_log(evidence.of("apply"))
    decides = [event for event in evidence.of("decide") if event.fields["verdict"] == 0]
    fold = Fold(_shutdowns(decides))
    for event in log.records:
        fold.feed(event)
    findings = [*log.conflicts, *fold.findings, *_whole(decides, log)]
    states = list(evidence.of("state", "publish"))
    findings += _digests(states, log)
    figures = {"records": len(log.records), "decisions": len(decides), "digests": len(states)}
    if log.gap is not None and not findings:
        note = f"no node's events tell the record at offset {log.gap}: not replayed beyond it"
        return Outcome(verdict=Verdict.UNKNOWN, seen=len(log.records), figures=figures, note=note)
    return concluded(len(log.records), findings, figures)


# --- controlled shutdowns -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShuttingDown:
    """In leader epoch `epoch`, from offset `begin` up to `end`, a controller that had accepted
    the broker's wish to shut down under `broker_epoch`, and had not been told otherwise."""

    epoch: int
    broker_epoch: int
    begin: int
    end: int | None
    decide: NodeEvent


def _shutdowns(decides: Iterable[NodeEvent]) -> dict[int, list[ShuttingDown]]:
    """By broker id. The wish is soft state of a controller: it ends with its epoch."""
    beats: dict[tuple[int, int], list[NodeEvent]] = defaultdict(list)
    for event in decides:
        source = event.fields.get("source") or {}
        if event.fields["api"] == "BrokerHeartbeat" and source.get("broker_epoch", -1) >= 0:
            beats[source["broker_id"], event.fields["epoch"]].append(event)
    found: dict[int, list[ShuttingDown]] = defaultdict(list)
    for (broker, epoch), events in sorted(beats.items()):
        events.sort(key=lambda event: (event.fields["as_of"], event.seq))
        begun: NodeEvent | None = None
        for event in events:
            if event.fields["source"]["target"] == "SHUTDOWN":
                begun = begun or event
            elif begun is not None:
                found[broker].append(_shutting_down(epoch, begun, event.fields["as_of"]))
                begun = None
        if begun is not None:
            found[broker].append(_shutting_down(epoch, begun, None))
    return found


def _shutting_down(epoch: int, begun: NodeEvent, end: int | None) -> ShuttingDown:
    source = begun.fields["source"]
    return ShuttingDown(epoch, source["broker_epoch"], begun.fields["as_of"], end, begun)


# --- the fold -----------------------------------------------------------------------------


@dataclass(slots=True)
class Fold:
    """Feed it the log in order. The open ends: `fenced`, a broker just fenced whose leaderships
    have to move now; `deleting`, a topic to be removed by the next record; `created`, a topic
    that has no partition yet. The log may end in the middle of one: that says nothing."""

    shutdowns: Mapping[int, list[ShuttingDown]] = field(default_factory=dict)
    state: Replay = field(default_factory=Replay)
    findings: list[Finding] = field(default_factory=list)
    last: NodeEvent | None = None
    fenced: NodeEvent | None = None
    deleting: NodeEvent | None = None
    created: NodeEvent | None = None

    def feed(self, event: NodeEvent) -> None:
        kind, record = str(event.fields.get("kind")), record_of(event)
        self._close(event, kind, record)
        if self.last is not None and event.fields["epoch"] < self.last.fields["epoch"]:
            self._found(event, f"is of epoch {event.fields['epoch']}, below the one before it")
        check = _CHECKS.get(kind)
        if check is not None:
            for what, witnesses in check(self, event, record):
                self._found(event, what, *witnesses)
        self.state.feed(event)
        self._open(event, kind, record)
        self.last = event

    def _found(self, event: NodeEvent, what: str, *witnesses: NodeEvent) -> None:
        where = f"the {event.fields.get('kind')} at offset {event.fields['offset']}"
        self.findings.append(finding(f"{where} {what}", events=[*witnesses, event]))

    def _open(self, event: NodeEvent, kind: str, record: Mapping[str, Any]) -> None:
        if kind == "FenceBrokerRecord":
            self.fenced = event
        elif kind == "TopicRecord" and record.get("deleting"):
            self.deleting = event
        elif kind == "TopicRecord":
            self.created = event
        elif kind == "PartitionRecord":
            self.created = None

    def _close(self, event: NodeEvent, kind: str, record: Mapping[str, Any]) -> None:
        if self.fenced is not None and kind != "IsrChangeRecord":
            broker = record_of(self.fenced)["broker_id"]
            left = [key for key, each in self.state.partitions.items() if each.leader == broker]
            if left:
                self._found(
                    self.fenced,
                    f"fenced broker {broker}, which still leads {_named(min(left))} at offset "
                    f"{event.fields['offset']}",
                    event,
                )
            self.fenced = None
        if self.deleting is not None:
            topic_id = record_of(self.deleting)["topic_id"]
            if kind != "RemoveTopicRecord" or record["topic_id"] != topic_id:
                self._found(self.deleting, f"deletes topic {topic_id}, and no removal follows")
            self.deleting = None
        if self.created is not None and kind not in ("ConfigRecord", "PartitionRecord"):
            topic_id = record_of(self.created)["topic_id"]
            self._found(self.created, f"creates topic {topic_id}, and no partition follows")
            self.created = None

    # --- brokers --------------------------------------------------------------------------

    def _registration(self, event: NodeEvent, record: Mapping[str, Any]) -> Iterator[Found]:
        broker_id, epoch = record["broker_id"], record["broker_epoch"]
        before = self.state.brokers.get(broker_id)
        if before is None:
            return
        if epoch <= before.epoch:
            yield f"registers broker {broker_id} with epoch {epoch} after {before.epoch}", ()
        if not before.fenced:
            yield f"registers broker {broker_id} anew, whose former life is not fenced", ()

    def _fencing(self, event: NodeEvent, record: Mapping[str, Any]) -> Iterator[Found]:
        broker_id, epoch = record["broker_id"], record["broker_epoch"]
        before = self.state.brokers.get(broker_id)
        if before is None:
            yield f"is of broker {broker_id}, which is not registered", ()
        elif before.epoch != epoch:
            what = f"is of epoch {epoch} of broker {broker_id}, whose epoch is {before.epoch}"
            yield what, ()

    # --- topics ---------------------------------------------------------------------------

    def _topic(self, event: NodeEvent, record: Mapping[str, Any]) -> Iterator[Found]:
        topic_id, name = str(record["topic_id"]), record["name"]
        if record.get("deleting"):
            yield from self._known(topic_id)
        elif topic_id in self.state.topics:
            yield f"creates {name} with the id of {self.state.topics[topic_id].name}", ()
        elif name in self.state.names:
            yield f"creates {name}, a name that topic {self.state.names[name]} has", ()

    def _removal(self, event: NodeEvent, record: Mapping[str, Any]) -> Iterator[Found]:
        yield from self._known(str(record["topic_id"]))

    def _known(self, topic_id: str) -> Iterator[Found]:
        if topic_id not in self.state.topics:
            yield f"is of topic {topic_id}, which does not exist", ()

    def _config(self, event: NodeEvent, record: Mapping[str, Any]) -> Iterator[Found]:
        name = record["resource_name"]
        if record["resource_type"] == TOPIC_RESOURCE and name not in self.state.names:
            yield f"configures topic {name}, which does not exist", ()

    # --- partitions -----------------------------------------------------------------------

    def _partition(self, event: NodeEvent, record: Mapping[str, Any]) -> Iterator[Found]:
        topic_id, number = str(record["topic_id"]), record["partition_id"]
        topic = self.state.topics.get(topic_id)
        if topic is None:
            yield from self._known(topic_id)
            return
        if number != topic.partitions:
            yield f"adds partition {number} of {topic.name}, which has {topic.partitions}", ()
        replicas = set(record.get("replicas") or record["isr"])
        yield from self._members(event, (topic_id, number), None, replicas, record)

    def _isr_change(self, event: NodeEvent, record: Mapping[str, Any]) -> Iterator[Found]:
        key = (str(record["topic_id"]), record["partition_id"])
        before = self.state.partitions.get(key)
        if before is None:
            yield f"is of partition {_named(key)}, which does not exist", ()
            return
        if record["partition_epoch"] != before.version + 1:
            what = f"raises the version of {_named(key)} from {before.version} to"
            yield f"{what} {record['partition_epoch']}", ()
        led = before.leader_epoch + (record["leader"] != before.leader)
        if record["leader_epoch"] != led:
            yield (
                f"gives {_named(key)}, led by {before.leader} in leader epoch "
                f"{before.leader_epoch}, to {record['leader']} in leader epoch "
                f"{record['leader_epoch']}",
                (),
            )
        yield from self._members(event, key, before, set(before.replicas), record)

    def _members(
        self,
        event: NodeEvent,
        key: Key,
        before: Partition | None,
        replicas: set[int],
        record: Mapping[str, Any],
    ) -> Iterator[Found]:
        isr, leader = set(record["isr"]), record["leader"]
        if not isr:
            yield f"leaves {_named(key)} without an ISR", ()
        if not isr <= replicas:
            yield (
                f"gives {_named(key)} the ISR {sorted(isr)} of replicas {sorted(replicas)}",
                (),
            )
        if leader not in isr | {NO_LEADER}:
            yield f"gives {_named(key)} to {leader}, not of its ISR {sorted(isr)}", ()
        for member in sorted(isr - set(before.isr if before else ())):
            yield from self._eligible(event, member, f"adds broker {member} to {_named(key)}")
        if leader != NO_LEADER and (before is None or leader != before.leader):
            yield from self._eligible(event, leader, f"gives {_named(key)} to broker {leader}")

    def _eligible(self, event: NodeEvent, broker_id: int, what: str) -> Iterator[Found]:
        broker = self.state.brokers.get(broker_id)
        if broker is None:
            yield f"{what}, which is not registered", ()
        elif broker.fenced:
            yield f"{what}, which is fenced", ()
        else:
            offset, epoch = event.fields["offset"], event.fields["epoch"]
            for each in self.shutdowns.get(broker_id, ()):
                under_way = each.begin <= offset and (each.end is None or offset < each.end)
                if under_way and (each.epoch, each.broker_epoch) == (epoch, broker.epoch):
                    yield f"{what}, which is shutting down", (each.decide,)
                    return


_CHECKS: Final = {
    "BrokerRecord": Fold._registration,
    "FenceBrokerRecord": Fold._fencing,
    "UnfenceBrokerRecord": Fold._fencing,
    "TopicRecord": Fold._topic,
    "RemoveTopicRecord": Fold._removal,
    "ConfigRecord": Fold._config,
    "PartitionRecord": Fold._partition,
    "IsrChangeRecord": Fold._isr_change,
}


def _named(key: Key) -> str:
    return f"{key[0]}/{key[1]}"


# --- decisions and digests ----------------------------------------------------------------


def _whole(decides: Iterable[NodeEvent], log: Log) -> Iterator[Finding]:
    """The records of one decision are contiguous, and all committed or none."""
    for decide in decides:
        offsets = sorted(decide.fields["records"])
        if not offsets:
            continue
        what = f"{decide.node}'s decision on {decide.fields['api']} made the records {offsets}"
        if offsets != list(range(offsets[0], offsets[-1] + 1)):
            yield finding(f"{what}, which are not contiguous", events=[decide])
            continue
        held = [log.at(offset) for offset in offsets if offset < len(log.records)]
        if len(held) < len(offsets):
            continue
        epoch = decide.fields["epoch"]
        own = [each for each in held if each is not None and each.fields["epoch"] == epoch]
        if 0 < len(own) < len(offsets):
            yield finding(
                f"{what}, of which only {[each.fields['offset'] for each in own]} were committed",
                events=[decide, *own],
            )


def _digests(states: Iterable[NodeEvent], log: Log) -> Iterator[Finding]:
    """A node's state below an offset is what the records below it make: what a removed topic
    was configured to is gone, and nothing that is in no record is there."""
    by_offset: dict[int, dict[str, NodeEvent]] = defaultdict(dict)
    for event in states:
        by_offset[event.fields["offset"]].setdefault(event.fields["digest"], event)
    digest = Digest()
    for offset, state in log.states(by_offset):
        right = digest.of(state)
        for told, event in sorted(by_offset[offset].items()):
            if told != right:
                yield finding(
                    f"{event.node}'s state below offset {offset} has digest {told[:16]}; the "
                    f"replay of the log has {right[:16]}",
                    events=[event],
                )
