"""High watermarks as replicas left them: none above what their leader went by.

A follower takes its high watermark from its leader's answers (ReplicaFetcherThread), and brokers
write theirs down (`replication-offset-checkpoint`). A leader is believed where what it told a
client in the final phase, in the epoch in which it led to the end, is what it left on its disk:
nothing moved behind that answer.
"""

from collections.abc import Mapping, Sequence

from checkers.folds.history.log_values import fetched
from checkers.folds.history.power_losses import power_losses
from checkers.folds.replicas.final_isrs import FinalIsr, Isrs
from checkers.folds.replicas.replica_logs import Partition
from framework.checking.findings import finding
from framework.evidence.partitions import PartitionOffsetSaved
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import Count, Finding


def above_the_leaders(
    events: RunEvents,
    isrs: Isrs,
    nodes: Mapping[int, str],
    fetches: Mapping[Partition, Sequence[Operation]],
) -> tuple[Count, list[Finding]]:
    """High watermarks of followers in the final ISR that are above the leader's, and how many were
    held against one. `fetches`: those of the final phase that were answered."""
    saved = _saved(events)
    if not saved:
        return "nodes write no high watermark down", []
    if power_losses(each.entries for each in events.faults):
        return "a broker that lost power may have gone back", []
    compared, findings = 0, list[Finding]()
    for key, isr in sorted(isrs.items()):
        leader = nodes.get(isr.leader, "")
        told = _told(fetches.get(key, ()), leader, isr)
        own = saved.get((leader, *key))
        if not events.has(*key) or told is None or own is None:
            continue
        if fetched(told).get("high_watermark") != own.offset:
            continue
        for member in sorted(set(isr.members) - {isr.leader}):
            mark = saved.get((nodes.get(member, ""), *key))
            if mark is None:
                continue
            compared += 1
            if mark.offset > own.offset:
                findings.append(_above(key, mark, own, told, isr))
    return compared, findings


def _saved(events: RunEvents) -> dict[tuple[str, str, int], PartitionOffsetSaved]:
    """(node, topic id, partition) -> the high watermark that its last process left."""
    marks = [each for each in events.of(PartitionOffsetSaved) if each.what == "high-watermark"]
    ordered = sorted(marks, key=lambda each: each.seq)
    last = {each.node: each.incarnation for each in ordered}
    return {
        (each.node, each.topic_id, each.partition): each
        for each in ordered
        if each.incarnation == last[each.node]
    }


def _told(fetches: Sequence[Operation], leader: str, isr: FinalIsr) -> Operation | None:
    """The last fetch that the leader answered in the epoch in which it led to the end."""
    own = [
        each
        for each in fetches
        if each.node == leader and fetched(each).get("leader_epoch") == isr.epoch
    ]
    return max(own, key=lambda each: each.index, default=None)


def _above(
    key: Partition,
    mark: PartitionOffsetSaved,
    own: PartitionOffsetSaved,
    told: Operation,
    isr: FinalIsr,
) -> Finding:
    return finding(
        f"{key[0]}/{key[1]}: {mark.node}, a follower in the ISR {isr}, left the high watermark "
        f"{mark.offset}, and its leader {own.node} {own.offset}, which it had told in operation "
        f"{told.index}, too",
        [told, isr.read],
        [*isr.records, mark, own],
    )
