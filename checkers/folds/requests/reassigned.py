"""Other replicas of partitions (KIP-455): who asked for them, and what the log made of that.

A partition's goal are the replicas that it is to have: all but those that go. It becomes another
one by a wish for it, or where somebody cancels what is under way: then it is what the partition had
before, without those that come.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from checkers.folds.history.values import partitions_shown, reassign_of, reassignments_of
from checkers.folds.metadata_log.committed_log import CommittedLog
from framework.checking.findings import finding
from framework.evidence.changes import Change, PartitionCreated, TopicCreated
from framework.history.pairing import Operation
from framework.plugins.checker import EVENTS, Finding

MOVES: Final = ("reassign", "reassignments")
PATIENCE_NS: Final = 8_000_000_000
"""How long after the cluster has settled a move may still be under way."""

Replicas: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Wish:
    """Was not refused. `goal` None: that what is under way be cancelled."""

    operation: Operation
    goal: Replicas | None


Wishes: TypeAlias = Mapping[str, Sequence[Wish]]
"""By partition, `<topic>/<number>`."""


def wishes_of(operations: Iterable[Operation]) -> Wishes:
    """In the order in which they were asked."""
    found: dict[str, list[Wish]] = defaultdict(list)
    for each in operations:
        if each.f == "reassign" and not each.failed:
            asked = reassign_of(each)["replicas"]
            found[str(each.key)].append(Wish(each, None if asked is None else tuple(asked)))
    return found


def wanted_by(wishes: Wishes, key: str, read: Operation) -> set[int] | None:
    """The brokers on which somebody had wanted the partition before the read ended; None: nobody
    had asked for other replicas."""
    end = float("inf") if read.end is None else read.end
    own = [each for each in wishes.get(key, ()) if each.operation.index < end]
    return {broker for each in own for broker in each.goal or ()} if own else None


# --- by the log ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Goal:
    """A record made this the goal of the partition `key`. `cancels`: it is what was there before
    another one that was under way. `since_ns`: somebody had applied it by then; `first`: the
    partition was made so."""

    key: str
    replicas: Replicas
    change: Change
    since_ns: int
    cancels: bool
    first: bool


def goals(log: CommittedLog) -> Iterator[Goal]:
    """Each change of a goal, and the first one, in the order of the log."""
    names: dict[str, str] = {}
    known: dict[str, tuple[Replicas, Replicas]] = {}
    for change, by_ns in zip(log.records, log.by_ns, strict=True):
        if isinstance(change, TopicCreated):
            names[change.topic_id] = change.name
        elif isinstance(change, PartitionCreated) and change.topic_id in names:
            key = f"{names[change.topic_id]}/{change.partition}"
            goal = _without(change.replicas, change.removing)
            before, origin = known.get(key, (None, None))
            known[key] = goal, _without(change.replicas, change.adding)
            first = before is None or change.partition_epoch == 0
            if first or goal != before:
                cancels = not first and goal == origin
                yield Goal(key, goal, change, by_ns, cancels, first)


def _without(replicas: Sequence[int], gone: Sequence[int]) -> Replicas:
    return tuple(each for each in replicas if each not in gone)


def unasked(goals: Iterable[Goal], wishes: Wishes, *, once: bool) -> Iterator[Goal]:
    """Those that no wish explains. `once`: each is granted once, however often it was sent."""
    left = {key: list(own) for key, own in wishes.items()}
    for each in goals:
        if each.first:
            continue
        own = left.get(each.key, [])
        asked = next((wish for wish in own if _explains(wish, each)), None)
        if asked is None:
            yield each
        elif once:
            own.remove(asked)


def _explains(wish: Wish, goal: Goal) -> bool:
    wanted = wish.goal == goal.replicas or (wish.goal is None and goal.cancels)
    return wanted and wish.operation.began_ns <= goal.since_ns


def ungranted(goals: Iterable[Goal], wishes: Wishes) -> tuple[int, list[Wish]]:
    """How many wishes were answered ok of partitions that the log has, and those whose goal it
    never had."""
    had: dict[str, set[Replicas]] = defaultdict(set)
    for goal in goals:
        had[goal.key].add(goal.replicas)
    granted = [
        each
        for key, own in wishes.items()
        for each in own
        if key in had and each.operation.ok and each.goal is not None
    ]
    return len(granted), [each for each in granted if each.goal not in had[str(each.operation.key)]]


def undone(log: CommittedLog) -> Counter[str]:
    """How often a record ended a move of each partition that the log has with the replicas from
    before it: so does a cancel, and a move that was back there already."""
    names: dict[str, str] = {}
    origins: dict[str, Replicas | None] = {}
    found = Counter[str]()
    for change in log.records:
        if isinstance(change, TopicCreated):
            names[change.topic_id] = change.name
        elif isinstance(change, PartitionCreated) and change.topic_id in names:
            key = f"{names[change.topic_id]}/{change.partition}"
            over = not (change.adding or change.removing)
            found[key] += over and change.replicas == origins.get(key)
            origins[key] = None if over else _without(change.replicas, change.adding)
    return found


def uncancelled(log: CommittedLog, wishes: Wishes) -> tuple[int, list[Wish]]:
    """Likewise of cancels: each is a record of its own, for who is told that there was nothing to
    cancel is not answered ok. Those that came last are without one."""
    made = undone(log)
    granted = {
        key: [each for each in own if each.operation.ok and each.goal is None]
        for key, own in wishes.items()
        if key in made
    }
    lacking = [each for key, own in granted.items() for each in own[made[key] :]]
    return sum(map(len, granted.values())), lacking


def moves_made(wishes: Wishes, log: CommittedLog, *, once: bool) -> tuple[int, list[Finding]]:
    """How many changes of replicas and granted wishes were held against each other, and what is
    wrong: what nobody asked for (`once`: nor so often), and in a log without a gap what was granted
    and is not there."""
    made = list(goals(log))
    compared = sum(not each.first for each in made)
    found = [
        finding(
            f"the record at offset {goal.change.offset} moves {goal.key} to {list(goal.replicas)}, "
            "and nobody asked for that, or not so often",
            [each.operation for each in wishes.get(goal.key, ())],
            [goal.change],
        )
        for goal in unasked(made, wishes, once=once)
    ]
    if log.gap is not None:
        return compared, found
    granted, missing = ungranted(made, wishes)
    cancelled, lacking = uncancelled(log, wishes)
    found += [
        finding(
            f"operation {wish.operation.index} was granted replicas {list(wish.goal or ())} of "
            f"{wish.operation.key}, and the log never has them",
            [wish.operation],
            by=[EVENTS],
        )
        for wish in missing
    ]
    found += [
        finding(
            f"operation {wish.operation.index} was granted that the move of {wish.operation.key} "
            "is cancelled, and the log does not have that, or not so often",
            [wish.operation],
            by=[EVENTS],
        )
        for wish in lacking
    ]
    return compared + granted + cancelled, found


# --- in the end ---------------------------------------------------------------------------


def last_goals(own: Sequence[Wish]) -> Sequence[Wish]:
    """The wishes of which one is the last: those that no other that was granted follows. None,
    where nothing was granted, or it may have been cancelled."""
    granted = [each for each in own if each.operation.ok]
    last = [
        each
        for each in own
        if not any(each.operation.precedes(other.operation) for other in granted)
        or not each.operation.ok
    ]
    return last if granted and all(each.goal is not None for each in last) else ()


def misplaced(
    operations: Iterable[Operation], wishes: Wishes
) -> tuple[list[tuple[Operation, str]], list[tuple[Operation, str, Replicas]]]:
    """The final linearizable reads and the partitions that they show of which is known where they
    were to be; and those that they show elsewhere."""
    compared, found = list[tuple[Operation, str]](), list[tuple[Operation, str, Replicas]]()
    for read in operations:
        if read.f not in ("describe", "follow") or read.phase != "final" or not read.ok:
            continue
        for shown in partitions_shown(read):
            key = f"{read.key}/{shown['partition']}"
            own, replicas = wishes.get(key, ()), shown.get("replicas")
            last = last_goals(own)
            over = all(each.operation.precedes(read) for each in own if each.operation.ok)
            if last and over and replicas is not None:
                compared.append((read, key))
                if tuple(replicas) not in [each.goal for each in last]:
                    found.append((read, key, tuple(replicas)))
    return compared, found


def still_moving(operations: Iterable[Operation]) -> tuple[Operation, bool] | None:
    """The last look at what is under way, where there was something still; and whether that was
    after all patience."""
    looks = [
        each
        for each in operations
        if each.f == "reassignments" and each.phase == "final" and each.ok
    ]
    if not looks or not reassignments_of(looks[-1]):
        return None
    waited_ns = looks[-1].began_ns - looks[0].began_ns
    return looks[-1], waited_ns >= PATIENCE_NS


def arrived(
    operations: Sequence[Operation], wishes: Wishes
) -> tuple[list[tuple[Operation, str]], list[Finding]]:
    """Of a cluster that has settled: reads and partitions as `misplaced` has them, and what is
    wrong: partitions elsewhere, or moves that take too long."""
    if (moving := still_moving(operations)) is not None:
        look, late = moving
        message = f"moves are under way long after the cluster had settled: {look.index}"
        return [], [finding(message, [look])] if late else []
    compared, elsewhere = misplaced(operations, wishes)
    found = list[Finding]()
    for read, key, replicas in elsewhere:
        last = last_goals(wishes[key])
        wanted = " or ".join(str(list(each.goal or ())) for each in last)
        found.append(
            finding(
                f"{key} is on {list(replicas)} in the end, operation {read.index}; the last wish "
                f"that was granted was for {wanted}",
                [*(each.operation for each in last), read],
            )
        )
    return compared, found
