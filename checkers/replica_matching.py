"""Replicas of a partition hold one log below its high watermark, and one node writes it in each of
its leader epochs (D.3 and D.5 for partitions).

What was below a high watermark that clients were told, or was acknowledged to them, is on the disk
of whoever was in the ISR later: copied as it was, batch by batch (KIP-101; KIP-966). So these disks
hold the same batches there. Above it, a batch of one leader epoch is still one wherever it lies,
for one leader made it. The leader of an epoch shows itself by what it answers to clients, and says
so itself where nodes write events. Who is in the ISR at the end a read of the final phase shows,
and of partitions that none shows, the committed metadata log on the voters' disks: it says who was
when an observer was last told how far it was committed, as brokers leave one after another when the
run ends. Where logs begin that had records deleted, their disks say, too.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from checkers.folds.history.log_values import log_answer, produce_of
from checkers.folds.history.power_losses import forgotten, power_losses
from checkers.folds.history.roles import BROKER, nodes_by_id
from checkers.folds.history.topic_ids import LIVES, TopicLives, topic_lives
from checkers.folds.metadata_log.disk_logs import DISK_KINDS
from checkers.folds.partitions.deleted_records import acknowledged, begins_at, keeps
from checkers.folds.partitions.log_ends import answered_limits
from checkers.folds.replicas.batches_along import epochs_along, written_once
from checkers.folds.replicas.epoch_files import epochs_written_down
from checkers.folds.replicas.final_isrs import FinalIsr, Isrs, final_isrs
from checkers.folds.replicas.final_watermarks import above_the_leaders
from checkers.folds.replicas.removals import Removals
from checkers.folds.replicas.replica_logs import Content, Logs, Partition, ReplicaLog, final_logs
from checkers.folds.replicas.written_offsets import offsets_beside_logs
from checkers.folds.requests.configured import OF_BROKERS, OF_TOPICS
from framework.checking.cuts import cut_by_partition
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.kinds import DISK, Evidence, disk_of
from framework.evidence.partitions import (
    PartitionAppended,
    PartitionLogOnDisk,
    PartitionOffsetSaved,
    PartitionTruncated,
)
from framework.evidence.processes import ProcessEnded
from framework.evidence.relations import Relation, relation, relation_of
from framework.evidence.run_events import RunEvents, from_disks, in_a_row, unable, unhealed
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, Clause, Count, Finding

FS: Final = (
    *("produce", "fetch", "list-offsets", "delete-records", "describe"),
    *LIVES,
    OF_TOPICS,
    OF_BROKERS,
)
READ: Final = "linearizable-topic-read"
UNSURE: Final = "nobody can tell for certain which replicas are in sync at the end"

SAME_BATCHES: Final = Clause(
    name="same-batches",
    says="Below the high watermark that clients were told, the disks of a partition's final ISR "
    "hold all of it, in the same batches",
    compares="batches on the disk of a member of an ISR beside another member's",
    floor=2,
    because="two batches, each on two replicas, are the least that can differ in their order",
    sources=(CLIENTS, DISKS),
    blind="what all brokers may have lost by losing power at once; above what clients were told "
    "before the last read, or the observer's last question; "
    "partitions that no read of the final phase shows, where the disk of a voter cannot be read or "
    "leaders from outside the ISR are allowed; beginnings that differ where something may remove "
    "records; logs that may be compacted",
)
DELETED: Final = Clause(
    name="deleted",
    says="What was deleted is deleted on the disks of a partition's final ISR, where the system "
    "promises that",
    compares="disks of members of an ISR beside the highest acknowledged delete of records",
    floor=2,
    because="one delete, on a partition of two replicas",
    sources=(CLIENTS, DISKS),
    blind="deletes that were not acknowledged before the last read",
)
WATERMARKS: Final = Clause(
    name="followers-watermarks",
    says="No follower in the final ISR left a higher high watermark than its leader told and left",
    compares="followers' high watermarks on disks beside their leader's",
    floor=2,
    because="one follower may be the one that goes by its leader",
    sources=(CLIENTS, DISKS),
    blind="followers of a leader that left another high watermark than it had told last; what was "
    "above before the end",
)
OFFSETS: Final = Clause(
    name="offsets-written-down",
    says="What a process that ended in order wrote down of a log - up to where it is committed, or "
    "surely on the disk, and where it begins - is not behind its end",
    compares="offsets that are written down, of logs that the same process wrote to",
    floor=2,
    because="as many as watermarks: one may be of an empty log",
    sources=(DISKS,),
    blind="offsets that are too low; processes that were killed; logs that a process left as it "
    "found them",
)
EPOCHS: Final = Clause(
    name="epochs-written-down",
    says="What is written down of leader epochs beside a log is what its batches are of (KIP-101)",
    compares="batches looked up by their offset",
    floor=4,
    because="as many as one-batch",
    sources=(DISKS,),
    blind="epochs that are written down and have no batch",
)
RISING: Final = Clause(
    name="epochs-rise",
    says="Along a partition's log leader epochs never fall (KIP-101)",
    compares="batches behind another one in a log",
    floor=2,
    because="one pair is one step; two are of two logs, or of one that goes on",
    sources=(DISKS,),
    blind="a batch of another epoch at the border of two",
)
ONCE: Final = Clause(
    name="written-once",
    says="A batch of an idempotent producer stands in a partition's log once (KIP-98)",
    compares="batches of idempotent producers",
    floor=2,
    because="it takes two to be the same",
    sources=(CLIENTS, DISKS),
    blind="values that a producer sent again in another batch, which clients' reads show",
)
ONE_BATCH: Final = Clause(
    name="one-batch",
    says="At an offset and leader epoch of a partition is one batch, on every disk at any time",
    compares="batches beside another of the same offset and epoch",
    floor=4,
    because="as many as same-batches, of two replicas",
    sources=(DISKS,),
    blind="what was written and cut off again by one process",
)
ONE_LEADER: Final = Clause(
    name="one-leader",
    says="A leader epoch of a partition has one node that takes writes, or answers as its leader",
    compares="answers and appends of a leader beside another of the same epoch",
    floor=4,
    because="two partitions that were asked for thrice each have as many",
    sources=(CLIENTS, EVENTS),
    blind="a second leader that answers no client, and says nothing of its appends",
)


def replica_matching(events: RunEvents) -> Outcome:
    lives = topic_lives(events.operations)
    logs = final_logs(events)
    isrs, why = final_isrs(events)
    nodes, removals = _nodes_read(events), Removals.of(events)
    kept = partial(_kept_of, removals, isrs)
    compared, findings = _same_batches(events, logs, lives, isrs, why, nodes, removals)
    disks, not_deleted = _deleted(events, logs, lives, isrs, nodes)
    marks, above = above_the_leaders(events, isrs, nodes, _final(events, lives))
    written, outside = offsets_beside_logs(events)
    looked_up, other_epochs = epochs_written_down(events, logs, kept)
    along, falls = epochs_along(events, logs)
    once, twice = written_once(events, logs)
    batches, two_batches = _one_batch(events)
    leads, two_leaders = _one_leader(_answering(events, lives).union(_appending(events)))
    counts: dict[str, Count] = {
        SAME_BATCHES.name: compared,
        DELETED.name: disks,
        WATERMARKS.name: marks,
        OFFSETS.name: written,
        EPOCHS.name: looked_up,
        RISING.name: RISING.count(along, _few_written(events)),
        ONCE.name: ONCE.count(once, _few_idempotent(events)),
        ONE_BATCH.name: batches,
        ONE_LEADER.name: leads,
    }
    if why and unable(events.plan, READ):
        counts[WATERMARKS.name] = f"{UNSURE}: {why}"
    found = [
        *(replace(each, clause=WATERMARKS.name) for each in above),
        *(replace(each, clause=OFFSETS.name) for each in outside),
        *(replace(each, clause=EPOCHS.name) for each in other_epochs),
        *(replace(each, clause=RISING.name) for each in falls),
        *(replace(each, clause=ONCE.name) for each in twice),
    ]
    return weighed(counts, [*findings, *not_deleted, *found, *two_batches, *two_leaders])


def _final(events: RunEvents, lives: TopicLives) -> Mapping[Partition, Sequence[Operation]]:
    """Fetches of the final phase that were answered: of others no topic is known."""
    found: dict[Partition, list[Operation]] = defaultdict(list)
    for each in events.operations:
        key = _partition(each, lives) if each.f == "fetch" and each.phase == "final" else None
        if key is not None:
            found[key].append(each)
    return found


def _few_written(events: RunEvents) -> str:
    """Why no log needs to have a batch behind another one twice; empty: one does."""
    counts = Counter(str(each.key) for each in events.operations if each.f == "produce" and each.ok)
    few = max(counts.values(), default=0) <= RISING.floor
    return "no partition was acknowledged three values" if few else ""


def _few_idempotent(events: RunEvents) -> str:
    done = (each for each in events.operations if each.f == "produce" and each.ok)
    many = sum(bool(produce_of(each).get("idempotent")) for each in done) >= ONCE.floor
    return "" if many else "hardly any idempotent producer was acknowledged a value"


# --- below the high watermark -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HighWatermark:
    """A client was told that all below `offset` is committed."""

    operation: Operation
    offset: int


@dataclass(frozen=True, slots=True)
class Member:
    """A node in the ISR, and its log, if its disk has one."""

    node: str
    log: ReplicaLog


def _same_batches(
    events: RunEvents,
    logs: Logs,
    lives: TopicLives,
    isrs: Isrs,
    why: str,
    nodes: Mapping[int, str],
    removals: Removals,
) -> tuple[Count, list[Finding]]:
    losses = power_losses(each.entries for each in events.faults)
    reported = _high_watermarks(forgotten(losses, events.operations), lives)
    if not reported:
        return "clients were told of no record that is committed", []
    if why and unable(events.plan, READ):
        return f"{UNSURE}: {why}", []
    seen = 0
    findings: list[Finding] = []
    whole = not unhealed(events.faults)
    for key, isr in sorted(isrs.items()):
        if not events.has(*key):
            continue
        known = [each for each in reported.get(key, ()) if each.operation.precedes(isr.read)]
        if not known or removals.may_compact(isr.topic):
            continue
        high = max(known, key=lambda each: each.offset)
        members = list(_members(nodes, logs.get(key, {}), isr.members))
        kept = _kept_of(removals, isrs, key)
        begin = min(kept, max((each.log.start for each in members), default=0))
        seen += _beside(each.log.between(begin, high.offset) for each in members)
        for each in members:
            late = list(_beginning(key, each, kept, high, isr))
            findings += late or (_gap(key, each, begin, high, isr) if whole else ())
        findings += _difference(key, members, begin, high, isr)
    return seen, findings


def _high_watermarks(
    operations: Sequence[Operation], lives: TopicLives
) -> Mapping[Partition, Sequence[HighWatermark]]:
    """By fetches, ListOffsets and acknowledgements of acks=all."""
    found: dict[Partition, list[HighWatermark]] = defaultdict(list)
    for limit in answered_limits(operations):
        key = _partition(limit.operation, lives)
        if key is not None and limit.limit == "end" and limit.offset:
            found[key].append(HighWatermark(limit.operation, limit.offset))
    for each in operations:
        key = _partition(each, lives) if each.f == "produce" else None
        if key is not None and produce_of(each).get("acks") == "all":
            offset = log_answer(each).get("offset")
            if isinstance(offset, int) and offset >= 0:
                found[key].append(HighWatermark(each, offset + 1))
    return found


def _partition(operation: Operation, lives: TopicLives) -> Partition | None:
    topic_id = lives.of(operation)
    number = str(operation.key).rpartition("/")[2]
    return (topic_id, int(number)) if topic_id is not None and number.isdecimal() else None


def _beside(logs: Iterable[Mapping[int, Content]]) -> int:
    """How many batches of a log stand beside that of another one."""
    copies = Counter(base for own in logs for base in own)
    return copies.total() - len(copies)


def _kept_of(removals: Removals, isrs: Isrs, key: Partition) -> float:
    """Below where records of a partition may have been removed; all of one whose name is not
    known."""
    topic = isrs[key].topic if key in isrs else ""
    return removals.kept_from(topic, key[1]) if topic else float("inf")


def _nodes_read(events: RunEvents) -> Mapping[int, str]:
    """Broker id -> the node whose it is, of those that left anything on their disks, be it nothing
    of partitions: of others nothing is known."""
    read = {each.node for each in events.evidence if each.source == DISK}
    names = nodes_by_id(events.plan, BROKER)
    return {broker: node for broker, node in names.items() if node in read}


def _members(
    nodes: Mapping[int, str], own: Mapping[str, ReplicaLog], isr: Iterable[int]
) -> Iterator[Member]:
    """Of a partition, those of which there is a disk. `own`: its logs."""
    for broker in sorted(isr):
        if broker in nodes:
            yield Member(nodes[broker], own.get(nodes[broker]) or ReplicaLog())


def _beginning(
    key: Partition, member: Member, kept: float, high: HighWatermark, isr: FinalIsr
) -> Iterator[Finding]:
    """A log that begins behind what nothing can have removed."""
    state = member.log.state
    if state is None or state.wrong or kept >= min(state.start_offset, high.offset):
        return
    yield finding(
        f"{key[0]}/{key[1]}: the log of {member.node}, in the ISR {isr}, begins at "
        f"{state.start_offset} on its disk: by operation {high.operation.index} all below "
        f"{high.offset} is committed, and nothing can have removed what is from {kept:g} on",
        [high.operation, isr.read],
        [*isr.records, state],
        clause=SAME_BATCHES.name,
        by=[DISKS],
    )


def _gap(
    key: Partition, member: Member, begin: float, high: HighWatermark, isr: FinalIsr
) -> Iterator[Finding]:
    """Where its log has nothing, below the high watermark. What is torn or damaged may hold more
    than can be read."""
    state = member.log.state
    if state is not None and (state.torn or state.wrong):
        return
    at = begin
    for base, (end, _, _) in member.log.between(begin, high.offset).items():
        if base > at:
            break
        at = end
    if at < min(high.offset, _boundary(member, high.offset)):
        yield finding(
            f"{key[0]}/{key[1]}: {member.node}, in the ISR {isr}, has nothing at offset {at:g} on "
            f"its disk, though by operation {high.operation.index} all below {high.offset} is "
            f"committed",
            [high.operation, isr.read],
            [*isr.records, *(each for each in (state,) if each is not None)],
            clause=SAME_BATCHES.name,
            by=[DISKS],
        )


def _boundary(member: Member, high: int) -> int:
    """Where a batch begins that reaches beyond the high watermark: no more can be compared."""
    batches = member.log.batches.items()
    return next((base for base, each in batches if base < high < each.end_offset), high)


def _difference(
    key: Partition, members: Sequence[Member], begin: float, high: HighWatermark, isr: FinalIsr
) -> Iterator[Finding]:
    """Of each member the first batch that is another one than the first who has one there has. Not
    only of neighbours: one whose log cannot be read whole would part those on both its sides."""
    first: dict[int, tuple[Member, Content]] = {}
    for other in members:
        for base, content in other.log.between(begin, high.offset).items():
            one, mine = first.setdefault(base, (other, content))
            if mine != content:
                yield finding(
                    f"{key[0]}/{key[1]}: below the high watermark {high.offset} of operation "
                    f"{high.operation.index}, {one.node} has {_text(base, mine)}, and "
                    f"{other.node} {_text(base, content)}; both are in the ISR {isr}",
                    [high.operation, isr.read],
                    [*isr.records, one.log.batches[base], other.log.batches[base]],
                    clause=SAME_BATCHES.name,
                )
                break


def _text(base: int, content: Content) -> str:
    end, epoch, crc = content
    return f"offsets {base} to {end - 1} of leader epoch {epoch} with CRC {crc}"


# --- what was deleted ---------------------------------------------------------------------


def _deleted(
    events: RunEvents, logs: Logs, lives: TopicLives, isrs: Isrs, nodes: Mapping[int, str]
) -> tuple[Count, list[Finding]]:
    if not keeps(events):
        return "the system does not promise that deletes outlive its processes", []
    deletes: dict[Partition, list[Operation]] = defaultdict(list)
    for each in acknowledged(events.operations):
        key = _partition(each, lives)
        if key is not None and events.has(*key):
            deletes[key].append(each)
    if not deletes:
        return "no delete of records was acknowledged", []
    seen, findings = 0, list[Finding]()
    for key, own in sorted(deletes.items()):
        isr = isrs.get(key)
        known = [] if isr is None else [each for each in own if each.precedes(isr.read)]
        if isr is None or not known:
            continue
        last = max(known, key=begins_at)
        for member in _members(nodes, logs.get(key, {}), isr.members):
            state = member.log.state
            if state is None:
                continue
            seen += 1
            if state.start_offset < begins_at(last):
                findings.append(
                    finding(
                        f"{key[0]}/{key[1]}: operation {last.index} had deleted all before "
                        f"{begins_at(last)}, and the log of {member.node}, in the ISR {isr}, "
                        f"begins at {state.start_offset} on its disk",
                        [last, isr.read],
                        [*isr.records, state],
                        clause=DELETED.name,
                    )
                )
    return seen or "no partition with deleted records was read at the end", findings


# --- one batch at an offset and epoch -----------------------------------------------------


def _one_batch(events: RunEvents) -> tuple[int, list[Finding]]:
    """Of each offset and epoch of a partition all that lies on disks has one end and CRC."""
    key, content = ("topic_id", "partition", "epoch", "base_offset"), ("end_offset", "crc")
    left = in_a_row(list(from_disks(events.of(PartitionAppended)).values()))
    batches = relation(left, *key, *content)
    findings = []
    for rows in batches.disagreeing(*key, on=content):
        known, each = batches.objects(rows[:2])
        contents = [(batch.end_offset, batch.epoch, batch.crc) for batch in (known, each)]
        findings.append(
            finding(
                f"{each.topic_id}/{each.partition}: two leaders wrote in one leader epoch: "
                f"{known.node} has {_text(each.base_offset, contents[0])}, and {each.node} "
                f"{_text(each.base_offset, contents[1])}",
                evidence=[known, each],
                clause=ONE_BATCH.name,
            )
        )
    return len(batches) - len(batches.first(*key)), findings


# --- one leader an epoch ------------------------------------------------------------------


EPOCH: Final = ("topic_id", "partition", "epoch")


def _answering(events: RunEvents, lives: TopicLives) -> Relation[Operation]:
    """Who answers a fetch, ListOffsets or produce in an epoch leads in it."""
    found = []
    for each in events.operations:
        key = _partition(each, lives)
        if key is None or not events.has(*key):
            continue
        if each.node and isinstance(log_answer(each).get("leader_epoch"), int):
            found.append((each, *key, log_answer(each)["leader_epoch"], each.node))
    columns = list(zip(*found, strict=True)) or [()] * 5
    operations: Sequence[Operation] = columns[0]
    named = dict(zip((*EPOCH, "node"), columns[1:], strict=True))
    return relation_of(operations, **named)


def _appending(events: RunEvents) -> Relation[PartitionAppended]:
    return relation(events.of(PartitionAppended), *EPOCH, "node", "leading").where(leading=True)


def _one_leader(leads: Relation[Operation | PartitionAppended]) -> tuple[int, list[Finding]]:
    """A node did in a leader epoch what its leader alone does."""
    findings = []
    for rows in leads.disagreeing(*EPOCH, on="node"):
        witnesses = leads.objects(rows)
        topic_id, number, epoch = leads.values(rows[0], *EPOCH)
        findings.append(
            finding(
                f"{topic_id}/{number} has {len(rows)} leaders in leader epoch {epoch}: "
                + "; ".join(map(_did, witnesses)),
                [each for each in witnesses if isinstance(each, Operation)],
                [each for each in witnesses if isinstance(each, Evidence)],
                clause=ONE_LEADER.name,
            )
        )
    return len(leads) - len(leads.first(*EPOCH)), findings


def _did(witness: Operation | PartitionAppended) -> str:
    if isinstance(witness, Operation):
        return f"{witness.node} answered operation {witness.index}"
    return f"{witness.node} appended at offset {witness.base_offset}"


class ReplicaMatching(RunChecker):
    name = "replica-matching"
    summary = (
        "Replicas of a partition hold the same batches below the high watermark that clients were "
        "told, and each of its leader epochs has one leader"
    )
    requires = frozenset({"log-operations"}) | disk_of(PartitionAppended, PartitionLogOnDisk)
    clauses = (
        *(SAME_BATCHES, DELETED, WATERMARKS, OFFSETS),
        *(EPOCHS, RISING, ONCE, ONE_BATCH, ONE_LEADER),
    )
    check_run = RunCheck(
        replica_matching,
        evidence=(PartitionAppended, ProcessEnded),
        disk=(
            PartitionAppended,
            PartitionTruncated,
            PartitionLogOnDisk,
            PartitionOffsetSaved,
            *DISK_KINDS,
        ),
        fs=FS,
        observations=True,
        faults=True,
        by=cut_by_partition(PartitionLogOnDisk, ProcessEnded),
    )
