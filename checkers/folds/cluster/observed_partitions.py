"""What brokers tell anybody of partitions: replicas that do not come back, and nobody who leads."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from checkers.folds.cluster.observed import Judgement, asked_ns, ended_ns, span_ns, wrong_streaks
from checkers.folds.cluster.observed_brokers import TOPICS
from checkers.folds.history.peace import Quiet
from checkers.folds.history.roles import BROKER, ids_in
from checkers.folds.history.values import cluster_view
from framework.checking.findings import finding
from framework.evidence.changes import NO_LEADER
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import LEDGER, Clause, Finding

ALL_IN_SYNC: Final = Clause(
    name="all-in-sync",
    says="In peace, a replica whose broker lives is not out of sync for long, nor is a partition "
    "without a leader that has one in sync",
    compares="answers of brokers in peace that tell of partitions",
    floor=2,
    because="one partition, shown twice",
    sources=(LEDGER,),
    blind="peace that is shorter than recovery; topics that an answer leaves out for their number",
)
NO_PARTITIONS: Final = "brokers hardly told of a partition in peace"


@dataclass(frozen=True, slots=True)
class Partition:
    """What an answer tells of one. `behind`: replicas that are not in sync; `heirs`: those that
    are, and nobody leads."""

    operation: Operation
    name: str
    behind: frozenset[int]
    heirs: frozenset[int]


def _partitions(
    observations: Iterable[Operation], peace: Quiet
) -> Mapping[tuple[str, str, int], Sequence[Partition]]:
    """By who told, topic id and number: all that was told of it in peace."""
    found: dict[tuple[str, str, int], list[Partition]] = defaultdict(list)
    for each in observations:
        if each.ok and each.f == TOPICS and peace.holds(each):
            for topic in cluster_view(each).get("topics") or ():
                for partition in topic["partitions"]:
                    name = f"{topic['name']}-{partition['partition']}"
                    isr = frozenset(partition["isr"])
                    behind = frozenset(partition["replicas"]) - isr
                    heirs = isr if partition["leader"] == NO_LEADER else frozenset[int]()
                    key = (str(each.node), topic["topic_id"], partition["partition"])
                    found[key].append(Partition(each, name, behind, heirs))
    return found


def all_in_sync(events: RunEvents, quiet: Sequence[Quiet], recovery_ns: int) -> Judgement:
    brokers = ids_in(events.plan, BROKER)
    machine = events.machines.cluster
    answers = [
        (node, own)
        for peace in quiet
        for (node, _, _), own in _partitions(events.observations, peace).items()
    ]
    findings = [
        say(node, broker, number, streak)
        for node, own in answers
        for broker, number in brokers.items()
        for wrong, say in ((_lacks, _out_of_sync), (_could_lead, _leaderless))
        for streak in wrong_streaks(own, partial(wrong, number))
        if machine.gave_ns(*span_ns(streak[0].operation, streak[-1].operation)) >= recovery_ns
    ]
    compared = ALL_IN_SYNC.sightings(each.operation.index for _, own in answers for each in own)
    asked = list(_asked(events.observations, quiet))
    silent = bool(asked) and not any(each.ok for each in asked)
    return compared if silent else ALL_IN_SYNC.count(compared, NO_PARTITIONS), findings


def _asked(observations: Iterable[Operation], quiet: Sequence[Quiet]) -> Iterator[Operation]:
    """Questions for topics in peace."""
    for each in observations:
        if each.f == TOPICS and any(peace.holds(each) for peace in quiet):
            yield each


def _lacks(number: int, each: Partition) -> bool:
    return number in each.behind


def _could_lead(number: int, each: Partition) -> bool:
    return number in each.heirs


def _out_of_sync(node: str, broker: str, number: int, streak: Sequence[Partition]) -> Finding:
    what = f"the replica of {streak[0].name} on broker {number} ({broker}) is not in sync"
    return _for_long(node, what, streak)


def _leaderless(node: str, broker: str, number: int, streak: Sequence[Partition]) -> Finding:
    what = f"{streak[0].name} has no leader, and broker {number} ({broker}) in its ISR,"
    return _for_long(node, what, streak)


def _for_long(node: str, what: str, streak: Sequence[Partition]) -> Finding:
    first, last = streak[0].operation, streak[-1].operation
    return finding(
        f"{what} in {len(streak)} answers of {node} one after another, from "
        f"{asked_ns(first) / 1e9:.1f} s to {ended_ns(last) / 1e9:.1f} s, though no fault held "
        f"(operations {first.index} to {last.index})",
        [first, last],
        clause=ALL_IN_SYNC.name,
    )
