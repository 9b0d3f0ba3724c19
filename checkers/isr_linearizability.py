"""ISR changes of one partition are a chain of compare-and-sets (D.2; KIP-497).

The state is (leader, leader epoch, ISR) under a version, the partition epoch, that each record
raises by one. A change answered ok is one record: its predecessor has the version, leader and
leader epoch that the request named; it has the ISR that was asked for. A refused one is none.
An operation that begins after another ended sees no older version; one version is one state.
Controllers of their own accord add nobody to the ISR of a leader in its epoch, and make no version
that changes nothing: such a step is what some request asked for, of that very version.

Judged from clients alone where nodes left no events.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import Any, Final, TypeAlias

from checkers.folds.sweeps import falls
from framework.checking.findings import concluded, finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.changes import NO_LEADER, PartitionState
from framework.evidence.clocks import Moment, moment_of, surely_before
from framework.evidence.kinds import IsrDecided
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.checker import EVENTS, Finding

FS: Final = ("alter-isr", "describe")
_FAR: Final = 2**62

Key: TypeAlias = tuple[str, int]
"""(topic id, partition)."""


@dataclass(frozen=True, slots=True)
class State:
    """What a version stands for. The ISR is a set: its order says nothing."""

    leader: int
    leader_epoch: int
    isr: frozenset[int]

    def __str__(self) -> str:
        members = ", ".join(map(str, sorted(self.isr)))
        return f"leader {self.leader}, leader epoch {self.leader_epoch}, ISR [{members}]"


@dataclass(frozen=True, slots=True)
class Link:
    """A committed record of the partition."""

    offset: int
    epoch: int
    version: int
    state: State
    change: PartitionState


@dataclass(frozen=True, slots=True)
class Sight:
    """An operation showed a state at a version. `at_least`: what it must not have been below
    of what had ended before it began - the version that it named, or that it read."""

    operation: Operation
    version: int
    at_least: int
    state: State


@dataclass(slots=True)
class Partition:
    """What is known of one partition."""

    operations: list[Operation] = field(default_factory=list)
    evidence: list[PartitionState | IsrDecided] = field(default_factory=list)


def by_partition(events: RunEvents) -> dict[str, RunEvents]:
    """By `topic id/partition`; describes with each partition that they show."""
    found: dict[Key, Partition] = defaultdict(Partition)
    for operation in events.operations:
        for key in dict.fromkeys(_keys_of(operation)):
            found[key].operations.append(operation)
    told: Iterable[PartitionState | IsrDecided] = events.of(PartitionState, IsrDecided)
    for each in told:
        found[each.key].evidence.append(each)
    return {
        f"{topic_id}/{number}": RunEvents(
            operations=own.operations, evidence=own.evidence, plan=events.plan
        )
        for (topic_id, number), own in sorted(found.items())
    }


def _keys_of(operation: Operation) -> Iterator[Key]:
    value, result = operation.value, operation.result
    if operation.f == "alter-isr":
        yield str(value["topic_id"]), int(value["partition"])
    elif operation.ok and isinstance(result, dict):
        for shown in result.get("partitions") or ():
            yield str(result["topic_id"]), int(shown["partition"])


def isr_linearizability(events: RunEvents) -> Outcome:
    """Of one partition; describes as they came, with all their partitions."""
    changes = [each for each in events.operations if each.f == "alter-isr"]
    sights = list(_sights(events.operations, _key_of(events)))
    links, findings = links_of(events.of(PartitionState))
    decisions = list(events.of(IsrDecided))
    findings += _answers(changes)
    findings += _one_winner(changes)
    findings += _never_back(sights)
    findings += _one_state(sights, links)
    findings += _premises(changes, sights)
    findings += _chain(links)
    findings += _unasked(changes, sights, links, decisions)
    findings += _decisions(decisions, links, changes)
    findings += _refused(changes, decisions, links)
    if links:
        findings += _recorded(changes, links)
    accepted = sum(change.ok for change in changes)
    figures = {"changes_ok": accepted, "changes": len(changes), "records": len(links)}
    return concluded(len(changes) + len(sights) + len(links) + len(decisions), findings, figures)


# --- what was seen ------------------------------------------------------------------------


def _key_of(events: RunEvents) -> Key | None:
    """The partition that all of this is of; None: of none."""
    told: Iterable[PartitionState | IsrDecided] = events.of(PartitionState, IsrDecided)
    for each in told:
        return each.key
    changes = [each for each in events.operations if each.f == "alter-isr"]
    for operation in (*changes, *events.operations):
        for key in _keys_of(operation):
            return key
    return None


def _sights(operations: Iterable[Operation], key: tuple[str, int] | None) -> Iterator[Sight]:
    for operation in operations:
        if not operation.ok or not isinstance(operation.result, dict):
            continue
        if operation.f == "alter-isr":
            answer, named = operation.result, operation.value["partition_epoch"]
            yield Sight(operation, answer["partition_epoch"], named, state_of(answer))
            continue
        for shown in operation.result.get("partitions") or ():
            if key and shown["partition"] == key[1] and "partition_epoch" in shown:
                version = shown["partition_epoch"]
                yield Sight(operation, version, version, state_of(shown))


def state_of(fields: Any) -> State:
    return State(fields["leader"], fields["leader_epoch"], frozenset(fields["isr"]))


def links_of(states: Iterable[PartitionState]) -> tuple[list[Link], list[Finding]]:
    """The union of what nodes applied, in log order, and where they disagree."""
    links: dict[int, Link] = {}
    findings: dict[int, Finding] = {}
    for each in states:
        state = State(each.leader, each.leader_epoch, frozenset(each.isr))
        link = Link(each.offset, each.epoch, each.partition_epoch, state, each)
        known = links.setdefault(link.offset, link)
        if (known.epoch, known.version, known.state) != (link.epoch, link.version, link.state):
            findings.setdefault(
                link.offset,
                finding(
                    f"nodes disagree on offset {link.offset}: {known.change.node} applied version "
                    f"{known.version} ({known.state}), {link.change.node} version {link.version} "
                    f"({link.state})",
                    evidence=[known.change, link.change],
                ),
            )
    return [links[offset] for offset in sorted(links)], list(findings.values())


# --- clients ------------------------------------------------------------------------------


def _answers(changes: Iterable[Operation]) -> Iterator[Finding]:
    """Each ok answer follows from its own request."""
    for change in changes:
        if not change.ok:
            continue
        asked, answer = change.value, change.result
        named, version = asked["partition_epoch"], answer["partition_epoch"]
        wrong = None
        if version != named + 1:
            wrong = f"named version {named} and was answered version {version}, not {named + 1}"
        elif set(asked["isr"]) != set(answer["isr"]):
            wrong = f"asked for ISR {sorted(asked['isr'])} and was answered {answer['isr']}"
        elif answer["leader_epoch"] != asked["leader_epoch"]:
            wrong = (
                f"named leader epoch {asked['leader_epoch']} and was answered ok in leader epoch "
                f"{answer['leader_epoch']}"
            )
        elif answer["leader"] != asked["broker_id"]:
            wrong = f"of broker {asked['broker_id']} was answered ok; leader {answer['leader']}"
        if wrong is not None:
            yield finding(f"ISR change {change.index} of {change.key} {wrong}", [change])


def _one_winner(changes: Iterable[Operation]) -> Iterator[Finding]:
    winners: dict[int, list[Operation]] = defaultdict(list)
    for change in changes:
        if change.ok:
            winners[change.value["partition_epoch"]].append(change)
    for version, group in sorted(winners.items()):
        if len(group) > 1:
            who = ", ".join(str(each.index) for each in group)
            yield finding(
                f"{len(group)} ISR changes of {group[0].key} named version {version}, and all "
                f"were answered ok: operations {who}",
                group,
            )


def _never_back(sights: list[Sight]) -> Iterator[Finding]:
    """Nothing goes by a version below the newest that had been shown by then."""
    for best, sight in falls(sights, attrgetter("version"), attrgetter("at_least")):
        verb = "changed" if sight.operation.f == "alter-isr" else "read"
        yield finding(
            f"operation {sight.operation.index} {verb} version {sight.at_least}, though it "
            f"began after operation {best.operation.index} had shown version {best.version}",
            [best.operation, sight.operation],
        )


def _one_state(sights: list[Sight], links: list[Link]) -> Iterator[Finding]:
    """All that was shown of one version agrees, and agrees with the record that made it."""
    known: dict[int, tuple[State, Operation | Link]] = {}
    for link in links:
        known.setdefault(link.version, (link.state, link))
    for sight in sights:
        state, source = known.setdefault(sight.version, (sight.state, sight.operation))
        if state == sight.state:
            continue
        by = (
            f"the record at offset {source.offset}"
            if isinstance(source, Link)
            else f"operation {source.index}"
        )
        yield finding(
            f"version {sight.version} has two states: {state} by {by}, {sight.state} by "
            f"operation {sight.operation.index}",
            [sight.operation, *([source] if isinstance(source, Operation) else [])],
            [source.change] if isinstance(source, Link) else [],
        )


def _premises(changes: Iterable[Operation], sights: Iterable[Sight]) -> Iterator[Finding]:
    """A change was accepted from the leader, in the leader epoch, of the version that it named,
    as far as clients were shown that version."""
    shown: dict[int, Sight] = {}
    for sight in sights:
        shown.setdefault(sight.version, sight)
    for change in changes:
        before = shown.get(change.value["partition_epoch"])
        if not change.ok or before is None:
            continue
        named = (change.value["broker_id"], change.value["leader_epoch"])
        found = (before.state.leader, before.state.leader_epoch)
        if named != found:
            yield finding(
                f"ISR change {change.index} of {change.key} was accepted from (leader, leader "
                f"epoch) {named}; operation {before.operation.index} shows {found} at version "
                f"{before.version}, which it named",
                [before.operation, change],
            )


# --- records and decisions ----------------------------------------------------------------


def _chain(links: list[Link]) -> Iterator[Finding]:
    for before, link in pairwise(links):
        if link.version != before.version + 1:
            yield finding(
                f"the record at offset {link.offset} has version {link.version}, the one before "
                f"it (offset {before.offset}) version {before.version}",
                evidence=[before.change, link.change],
            )


def _unasked(
    changes: list[Operation], sights: list[Sight], links: list[Link], decides: list[IsrDecided]
) -> Iterator[Finding]:
    """Steps that only a request makes, and that none asked for. Of leaders that clients play all
    requests are known; of others those that controllers tell of, so that what is in no record is
    not held against them."""
    leaders = {change.value["broker_id"] for change in changes}
    told: list[Sight | Link] = [*links, *sights]
    known: dict[int, Sight | Link] = {}
    for each in told:
        known.setdefault(each.version, each)
    for version, before in sorted(known.items()):
        after = known.get(version + 1)
        if after is None or not _needs_a_request(before.state, after.state):
            continue
        shown = min(_ends(sights, version + 1), default=_FAR)
        if any(
            not each.failed and each.index < shown and _is_of(each, before.state)
            for each in _asking(changes, version, after.state)
        ):
            continue
        if before.state.leader not in leaders:
            records = isinstance(before, Link) and isinstance(after, Link)
            asked = any(
                each.accepted is not False and each.partition_epoch == version for each in decides
            )
            if asked or not records or before.state != after.state:
                continue
        yield _nobody_asked(changes, before, after)


def _needs_a_request(before: State, after: State) -> bool:
    if before == after:
        return True
    led = (before.leader, before.leader_epoch) == (after.leader, after.leader_epoch)
    return led and before.leader != NO_LEADER and not after.isr <= before.isr


def _ends(sights: Iterable[Sight], version: int) -> Iterator[int]:
    """When somebody had been shown that version, or a later one."""
    return (
        sight.operation.end
        for sight in sights
        if sight.version >= version and sight.operation.end is not None
    )


def _is_of(change: Operation, state: State) -> bool:
    """Whether the leader of that state asks."""
    named = (change.value["broker_id"], change.value["leader_epoch"])
    return bool(named == (state.leader, state.leader_epoch))


def _nobody_asked(
    changes: Iterable[Operation], before: Sight | Link, after: Sight | Link
) -> Finding:
    earlier = [
        each
        for each in changes
        if not each.failed
        and each.value["partition_epoch"] < before.version
        and set(each.value["isr"]) == after.state.isr
    ]
    if before.state == after.state:
        what = f"repeats version {before.version}"
    else:
        added = sorted(after.state.isr - before.state.isr)
        what = f"adds {added} to the ISR of version {before.version}"
    who = ", ".join(str(each.index) for each in earlier[-3:])
    twice = f": was a change applied twice (operations {who})?" if earlier else ""
    both = [before, after]
    return finding(
        f"version {after.version}, {_source(after)}, {what}, and nobody asked for that{twice}",
        [*earlier[-3:], *(each.operation for each in both if isinstance(each, Sight))],
        [each.change for each in both if isinstance(each, Link)],
    )


def _source(of: Sight | Link) -> str:
    if isinstance(of, Link):
        return f"the record at offset {of.offset}"
    return f"shown to operation {of.operation.index}"


def _asking(changes: Iterable[Operation], version: int, state: State) -> list[Operation]:
    """Requests that name this version and ask for this ISR."""
    return [
        each
        for each in changes
        if each.value["partition_epoch"] == version and set(each.value["isr"]) == state.isr
    ]


def _recorded(changes: Iterable[Operation], links: list[Link]) -> Iterator[Finding]:
    """Each ok answer is exactly one record, on the predecessor that the request named."""
    by_version: dict[int, list[int]] = defaultdict(list)
    for at, link in enumerate(links):
        by_version[link.version].append(at)
    for change in changes:
        if not change.ok:
            continue
        asked, version = change.value, change.result["partition_epoch"]
        places = by_version.get(version, [])
        what = f"ISR change {change.index} of {change.key}, answered version {version},"
        if len(places) != 1:
            yield finding(
                f"{what} is {len(places)} committed records, not one",
                [change],
                [links[at].change for at in places],
                by=[EVENTS],
            )
            continue
        link = links[places[0]]
        if link.state.isr != set(asked["isr"]):
            yield finding(
                f"{what} asked for ISR {sorted(asked['isr'])}; the record at offset "
                f"{link.offset} has {sorted(link.state.isr)}",
                [change],
                [link.change],
            )
        if places[0] > 0:
            before = links[places[0] - 1]
            named = (asked["partition_epoch"], asked["leader_epoch"], asked["broker_id"])
            found = (before.version, before.state.leader_epoch, before.state.leader)
            if named != found:
                yield finding(
                    f"{what} named (version, leader epoch, leader) {named}; the record before "
                    f"it, at offset {before.offset}, has {found}",
                    [change],
                    [before.change, link.change],
                )


def _decisions(
    decides: Iterable[IsrDecided], links: list[Link], changes: list[Operation]
) -> Iterator[Finding]:
    """What controllers decided: a refusal appends nothing, an acceptance one record here, on
    the version that it named. Records that were truncated have no say."""
    places = {(link.epoch, link.offset): at for at, link in enumerate(links)}
    for each in decides:
        made = [places[each.epoch, at] for at in each.records if (each.epoch, at) in places]
        if each.accepted is False and each.records:
            yield finding(
                f"{each.node} refused an ISR change with error {each.code}, and "
                f"appended records {list(each.records)} for it",
                _asked_by(each, changes),
                [each],
            )
        elif len(made) > 1:
            yield finding(
                f"{each.node} applied one ISR change {len(made)} times, at offsets "
                f"{[links[at].offset for at in made]}",
                _asked_by(each, changes),
                [each, *(links[at].change for at in made)],
            )
        elif made and made[0] > 0:
            before, named = links[made[0] - 1], each.partition_epoch
            if before.version != named:
                yield finding(
                    f"{each.node} accepted an ISR change that names version {named} on top of "
                    f"version {before.version}",
                    _asked_by(each, changes),
                    [before.change, each, links[made[0]].change],
                )


def _asked_by(decision: IsrDecided, changes: Iterable[Operation]) -> list[Operation]:
    """The operations whose request this may have been: same epochs, under way then."""
    at = moment_of(decision)
    return [
        change
        for change in changes
        if _epochs_of(change) == _epochs_decided(decision)
        and not surely_before(at, Moment(change.invoked_ns or 0))
        and (change.type == "info" or not surely_before(Moment(change.completed_ns or 0), at))
    ]


def _epochs_of(change: Operation) -> Sequence[Any]:
    names = ("broker_id", "broker_epoch", "leader_epoch", "partition_epoch")
    return [change.value.get(name) for name in names]


def _epochs_decided(decision: IsrDecided) -> Sequence[Any]:
    epoch = -1 if decision.broker_epoch is None else decision.broker_epoch
    return [decision.broker_id, epoch, decision.leader_epoch, decision.partition_epoch]


def _refused(
    changes: list[Operation], decides: Iterable[IsrDecided], links: list[Link]
) -> Iterator[Finding]:
    """A record that only refused requests asked for."""
    places = {(link.epoch, link.offset): link for link in links}
    for each in decides:
        for offset in each.records:
            link = places.get((each.epoch, offset))
            if link is None:
                continue
            asking = [
                change
                for change in _asking(changes, each.partition_epoch, link.state)
                if change.value["broker_id"] == each.broker_id
            ]
            if asking and all(change.failed for change in asking):
                who = ", ".join(str(change.index) for change in asking)
                yield finding(
                    f"operations {who} were refused ({asking[0].error_code}), yet the record at "
                    f"offset {offset} carries out what they asked for",
                    asking,
                    [each, link.change],
                )


class IsrLinearizability(RunChecker):
    name = "isr-linearizability"
    summary = (
        "Every ISR change that was acknowledged is one committed step from exactly the version "
        "that it named, refused ones are none, and no later operation sees an older version"
    )
    requires = frozenset({"isr-changes", "linearizable-topic-read"})
    check_run = RunCheck(
        isr_linearizability,
        evidence=(PartitionState, IsrDecided),
        fs=FS,
        parts=by_partition,
    )
