"""Nothing is seen that is not committed (D.9; KIP-631: uncommitted state is never visible).

(a) No success leaves a controller before the records that it rests on are durable on a majority.
(b) No node applies, publishes or calls committed what is not.
(c) Everything that a client was shown - topic ids, broker epochs, versions and leader epochs of
partitions - stands in the committed log. This one needs no clock: it is the strongest.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from checkers.kernels.commit_times import EVENTS as STORAGE
from checkers.kernels.commit_times import CommitTimes, commit_times
from checkers.kernels.decisions import succeeded
from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    Operation,
    concluded,
    finding,
    one_clock,
    record_of,
)
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS: Final = (*STORAGE, "apply", "decide", "answer", "publish", "hw")
FS: Final = ("create", "describe", "metadata", "heartbeat", "alter-isr")


def uncommitted_never_visible(evidence: Evidence) -> Outcome:
    records = list(evidence.of("apply"))
    shown, dirty = _reads(evidence.operations, Committed.of(records)) if records else (0, [])
    timed, early = 0, list[Finding]()
    times = commit_times(evidence) if one_clock(evidence.plan) else None
    if times is not None:
        timed, early = _early(evidence, times)
    figures = {"shown": shown, "timed": timed}
    return concluded(shown + timed, [*dirty, *early], figures)


# --- (a), (b): too early ------------------------------------------------------------------


def _early(evidence: Evidence, times: CommitTimes) -> tuple[int, list[Finding]]:
    """How many events were judged, and those that came before their commit."""
    judged, findings = 0, []
    rests: dict[tuple[str, str], NodeEvent] = {}
    for event in evidence.of("decide"):
        if event.fields["verdict"] == 0 and event.fields["records"]:
            rests[event.incarnation, event.fields["request_id"]] = event
    for event in evidence.of("answer"):
        decide = rests.get((event.incarnation, event.fields["request_id"]))
        if decide is None or not succeeded(event):
            continue
        judged += 1
        last = max(decide.fields["records"])
        if times.end_at(event.time_ns) <= last:
            what = f"{event.node} answered {event.fields['api']} with success"
            findings.append(_too_early(what, last, times, [decide, event]))
    first: dict[tuple[str, str], NodeEvent] = {}
    for event in evidence.of("apply", "publish", "hw"):
        judged += 1
        end = event.fields["offset"] + (event.type == "apply")
        if times.end_at(event.time_ns) < end:
            first.setdefault((event.incarnation, event.type), event)
    for event in first.values():
        end = event.fields["offset"] + (event.type == "apply")
        words = {"apply": "applied", "publish": "published", "hw": "called committed"}
        what = f"{event.node} {words[event.type]} what is below {end}"
        findings.append(_too_early(what, end - 1, times, [event]))
    return judged, findings


def _too_early(what: str, offset: int, times: CommitTimes, events: list[NodeEvent]) -> Finding:
    at = times.of(offset)
    event = events[-1]
    when = "never was" if at is None else f"was {(at - event.time_ns) / 1e6:.3f} ms later"
    return finding(
        f"{what} before offset {offset} was durable on a majority, which it {when}",
        events=events,
    )


# --- (c): dirty reads ---------------------------------------------------------------------


@dataclass(slots=True)
class Committed:
    """All that the committed log ever made true."""

    topic_ids: dict[str, str] = field(default_factory=dict)
    broker_epochs: set[tuple[int, int]] = field(default_factory=set)
    versions: dict[tuple[str, int, int], dict[str, Any]] = field(default_factory=dict)
    """By topic id, partition and partition epoch."""
    leaders: set[tuple[str, int, int, int | None]] = field(default_factory=set)
    """(topic id, partition, leader epoch, its leader; also with None for whoever led)."""

    @classmethod
    def of(cls, records: Iterable[NodeEvent]) -> "Committed":
        made = cls()
        for event in records:
            record = record_of(event)
            match event.fields.get("kind"):
                case "TopicRecord":
                    made.topic_ids[str(record["topic_id"])] = record["name"]
                case "BrokerRecord":
                    made.broker_epochs.add((record["broker_id"], record["broker_epoch"]))
                case "PartitionRecord" | "IsrChangeRecord":
                    key = (str(record["topic_id"]), record["partition_id"])
                    made.versions[*key, record["partition_epoch"]] = {
                        "leader": record["leader"],
                        "leader_epoch": record["leader_epoch"],
                        "isr": sorted(record["isr"]),
                    }
                    for leader in (record["leader"], None):
                        made.leaders.add((*key, record["leader_epoch"], leader))
        return made

    def ever(self, topic_id: str, shown: dict[str, Any]) -> bool:
        """Whether the partition was ever in the state that is shown, by the fields that are."""
        key = (topic_id, shown["partition"])
        if "partition_epoch" not in shown:
            return (*key, shown["leader_epoch"], shown.get("leader")) in self.leaders
        was = self.versions.get((*key, shown["partition_epoch"]))
        if was is None:
            return False
        told = dict(shown, isr=sorted(shown["isr"])) if "isr" in shown else shown
        return all(told[name] == was[name] for name in was if name in told)


def _reads(operations: Iterable[Operation], made: Committed) -> tuple[int, list[Finding]]:
    shown, findings = 0, []
    for operation in operations:
        if not operation.ok or not isinstance(operation.result, dict):
            continue
        judged, found = _read(operation, made)
        shown += judged
        findings += found
    return shown, findings


def _read(operation: Operation, made: Committed) -> tuple[int, list[Finding]]:
    judge = {
        "create": _topic,
        "describe": _topic,
        "metadata": _topic,
        "heartbeat": _broker_epoch,
        "alter-isr": _version,
    }.get(operation.f)
    if judge is None:
        return 0, []
    dirty = list(judge(operation, made))
    return 1, [
        finding(
            f"operation {operation.index} ({operation.f} of {operation.key}) was shown {what}, "
            f"which no committed record made",
            [operation],
        )
        for what in dirty
    ]


def _topic(operation: Operation, made: Committed) -> Iterator[str]:
    result: Any = operation.result
    topic_id = result.get("topic_id")
    if topic_id is None:
        return
    if made.topic_ids.get(topic_id) != operation.key:
        yield f"topic id {topic_id}"
        return
    for shown in result.get("partitions") or ():
        # A cache may hide a leader, or members of an ISR, that are fenced (KAFKA-15220).
        visible = dict(shown)
        if operation.f == "metadata":
            visible.pop("isr", None)
            if visible.get("leader", -1) < 0:
                visible.pop("leader", None)
        if visible.get("leader_epoch", 0) < 0:
            continue
        if not made.ever(topic_id, visible):
            state = ", ".join(f"{name} {value}" for name, value in sorted(visible.items()))
            yield f"a state of {topic_id} ({state})"


def _broker_epoch(operation: Operation, made: Committed) -> Iterator[str]:
    result: Any = operation.result
    epoch, broker = result.get("broker_epoch"), operation.value["broker_id"]
    if isinstance(epoch, int) and epoch >= 0 and (broker, epoch) not in made.broker_epochs:
        yield f"epoch {epoch} of broker {broker}"


def _version(operation: Operation, made: Committed) -> Iterator[str]:
    result: Any = operation.result
    value = operation.value
    shown = {
        "partition": value["partition"],
        **{name: result[name] for name in ("partition_epoch", "leader_epoch") if name in result},
    }
    if not made.ever(value["topic_id"], shown):
        yield f"version {result.get('partition_epoch')} of {value['topic_id']}/{value['partition']}"
