"""ISR changes of one partition are a chain of compare-and-sets (D.2; KIP-497).

The state is (leader, leader epoch, ISR) under a version, the partition epoch, that each record
raises by one. A change answered ok is one record: its predecessor has the version, leader and
leader epoch that the request named; it has the ISR that was asked for. A refused one is none.
An operation that begins after another ended sees no older version; one version is one state.

Judged from clients alone where nodes left no events.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from checkers.kernels.evidence import (
    Evidence,
    NodeEvent,
    Operation,
    concluded,
    finding,
    record_of,
)
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS = ("apply", "decide")
FS = ("alter-isr", "describe")


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
class Sight:
    """An operation showed a state at a version. `at_least`: what it must not have been below
    of what had ended before it began - the version that it named, or that it read."""

    operation: Operation
    version: int
    at_least: int
    state: State


@dataclass(frozen=True, slots=True)
class Link:
    """A committed record of the partition."""

    offset: int
    epoch: int
    version: int
    state: State
    event: NodeEvent


def isr_chain(evidence: Evidence) -> Outcome:
    """`evidence` of one partition; describes as they came, with all their partitions."""
    changes = [each for each in evidence.operations if each.f == "alter-isr"]
    sights = list(_sights(evidence.operations, _partition_of(evidence)))
    links, findings = _links(evidence.of("apply"))
    decides = [event for event in evidence.of("decide") if _is_change(event)]
    findings += _answers(changes)
    findings += _one_winner(changes)
    findings += _never_back(sights)
    findings += _one_state(sights, links)
    findings += _premises(changes, sights)
    findings += _chain(links, changes, decides)
    findings += _decisions(decides, links)
    findings += _refused(changes, decides, links)
    if links:
        findings += _recorded(changes, links)
    accepted = sum(change.ok for change in changes)
    figures = {"changes_ok": accepted, "changes": len(changes), "records": len(links)}
    return concluded(len(changes) + len(sights) + len(links) + len(decides), findings, figures)


# --- what was seen ------------------------------------------------------------------------


def _partition_of(evidence: Evidence) -> int | None:
    """The partition that all this evidence is of."""
    for operation in evidence.operations:
        if operation.f == "alter-isr":
            return int(operation.value["partition"])
    for event in evidence.of("apply"):
        return int(record_of(event)["partition_id"])
    for operation in evidence.operations:
        for shown in (operation.result or {}).get("partitions") or ():
            return int(shown["partition"])
    return None


def _sights(operations: Iterable[Operation], partition: int | None) -> Iterator[Sight]:
    for operation in operations:
        if not operation.ok or not isinstance(operation.result, dict):
            continue
        if operation.f == "alter-isr":
            answer, named = operation.result, operation.value["partition_epoch"]
            yield Sight(operation, answer["partition_epoch"], named, _state(answer))
            continue
        for shown in operation.result.get("partitions") or ():
            if shown["partition"] == partition and "partition_epoch" in shown:
                version = shown["partition_epoch"]
                yield Sight(operation, version, version, _state(shown))


def _state(fields: Any) -> State:
    return State(fields["leader"], fields["leader_epoch"], frozenset(fields["isr"]))


def _links(events: Iterable[NodeEvent]) -> tuple[list[Link], list[Finding]]:
    """The union of what nodes applied, in log order, and where they disagree."""
    links: dict[int, Link] = {}
    findings: dict[int, Finding] = {}
    for event in events:
        record = record_of(event)
        link = Link(
            event.fields["offset"],
            event.fields["epoch"],
            record["partition_epoch"],
            _state(record),
            event,
        )
        known = links.setdefault(link.offset, link)
        if (known.epoch, known.version, known.state) != (link.epoch, link.version, link.state):
            findings.setdefault(
                link.offset,
                finding(
                    f"nodes disagree on offset {link.offset}: {known.event.node} applied version "
                    f"{known.version} ({known.state}), {link.event.node} version {link.version} "
                    f"({link.state})",
                    events=[known.event, link.event],
                ),
            )
    return [links[offset] for offset in sorted(links)], list(findings.values())


def _is_change(event: NodeEvent) -> bool:
    source = event.fields.get("source") or {}
    return event.fields.get("api") == "AlterPartition" and "partition_epoch" in source


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
            yield finding(f"ISR change {change.op} of {change.key} {wrong}", [change])


def _one_winner(changes: Iterable[Operation]) -> Iterator[Finding]:
    winners: dict[int, list[Operation]] = defaultdict(list)
    for change in changes:
        if change.ok:
            winners[change.value["partition_epoch"]].append(change)
    for version, group in sorted(winners.items()):
        if len(group) > 1:
            who = ", ".join(str(each.op) for each in group)
            yield finding(
                f"{len(group)} ISR changes of {group[0].key} named version {version}, and all "
                f"were answered ok: operations {who}",
                group,
            )


def _never_back(sights: list[Sight]) -> Iterator[Finding]:
    """Sweeps over invocations with the newest version that had been shown by then."""
    ended = sorted(sights, key=lambda sight: sight.operation.end or 0)
    at = 0
    best: Sight | None = None
    for sight in sorted(sights, key=lambda sight: sight.operation.op):
        while at < len(ended) and ended[at].operation.precedes(sight.operation):
            if best is None or ended[at].version > best.version:
                best = ended[at]
            at += 1
        if best is not None and sight.at_least < best.version:
            verb = "changed" if sight.operation.f == "alter-isr" else "read"
            yield finding(
                f"operation {sight.operation.op} {verb} version {sight.at_least}, though it began "
                f"after operation {best.operation.op} had shown version {best.version}",
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
            else f"operation {source.op}"
        )
        yield finding(
            f"version {sight.version} has two states: {state} by {by}, {sight.state} by "
            f"operation {sight.operation.op}",
            [sight.operation, *([source] if isinstance(source, Operation) else [])],
            [source.event] if isinstance(source, Link) else [],
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
                f"ISR change {change.op} of {change.key} was accepted from (leader, leader epoch) "
                f"{named}; operation {before.operation.op} shows {found} at version "
                f"{before.version}, which it named",
                [before.operation, change],
            )


# --- records ------------------------------------------------------------------------------


def _chain(
    links: list[Link], changes: list[Operation], decides: list[NodeEvent]
) -> Iterator[Finding]:
    for before, link in pairwise(links):
        if link.version != before.version + 1:
            yield finding(
                f"the record at offset {link.offset} has version {link.version}, the one before "
                f"it (offset {before.offset}) version {before.version}",
                _asking(changes, before.version - 1, link.state)
                if link.state == before.state
                else (),
                [before.event, link.event],
            )
        elif link.state == before.state and not _asked_for(link, before.version, changes, decides):
            yield finding(
                f"the record at offset {link.offset} repeats the one at offset {before.offset} "
                f"under version {link.version}, and nobody asked for that: the change was "
                "applied twice",
                _asking(changes, before.version - 1, link.state),
                [before.event, link.event],
            )


def _asking(changes: Iterable[Operation], version: int, state: State) -> list[Operation]:
    """Requests that name this version and ask for this ISR."""
    return [
        each
        for each in changes
        if each.value["partition_epoch"] == version and set(each.value["isr"]) == state.isr
    ]


def _asked_for(
    link: Link, version: int, changes: list[Operation], decides: list[NodeEvent]
) -> bool:
    """Controllers of their own accord write no record that changes nothing."""
    if any(not change.failed for change in _asking(changes, version, link.state)):
        return True
    return any(
        event.fields["verdict"] == 0 and event.fields["source"]["partition_epoch"] == version
        for event in decides
    )


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
        what = f"ISR change {change.op} of {change.key}, answered version {version},"
        if len(places) != 1:
            yield finding(
                f"{what} is {len(places)} committed records, not one",
                [change],
                [links[at].event for at in places],
            )
            continue
        link = links[places[0]]
        if link.state.isr != set(asked["isr"]):
            yield finding(
                f"{what} asked for ISR {sorted(asked['isr'])}; the record at offset "
                f"{link.offset} has {sorted(link.state.isr)}",
                [change],
                [link.event],
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
                    [before.event, link.event],
                )


def _decisions(decides: Iterable[NodeEvent], links: list[Link]) -> Iterator[Finding]:
    """What controllers decided: a refusal appends nothing, an acceptance one record here, on
    the version that it named. Records that were truncated have no say."""
    places = {(link.epoch, link.offset): at for at, link in enumerate(links)}
    for event in decides:
        fields = event.fields
        made = [
            places[fields["epoch"], offset]
            for offset in fields["records"]
            if (fields["epoch"], offset) in places
        ]
        if fields["verdict"] != 0 and fields["records"]:
            yield finding(
                f"{event.node} refused an ISR change with error {fields['verdict']}, and "
                f"appended records {fields['records']} for it",
                events=[event],
            )
        elif len(made) > 1:
            yield finding(
                f"{event.node} applied one ISR change {len(made)} times, at offsets "
                f"{[links[at].offset for at in made]}",
                events=[event, *(links[at].event for at in made)],
            )
        elif made and made[0] > 0:
            before, named = links[made[0] - 1], fields["source"]["partition_epoch"]
            if before.version != named:
                yield finding(
                    f"{event.node} accepted an ISR change that names version {named} on top of "
                    f"version {before.version}",
                    events=[before.event, event, links[made[0]].event],
                )


def _refused(
    changes: list[Operation], decides: Iterable[NodeEvent], links: list[Link]
) -> Iterator[Finding]:
    """A record that only refused requests asked for."""
    places = {(link.epoch, link.offset): link for link in links}
    for event in decides:
        source = event.fields["source"]
        for offset in event.fields["records"]:
            link = places.get((event.fields["epoch"], offset))
            if link is None:
                continue
            asking = [
                each
                for each in _asking(changes, source["partition_epoch"], link.state)
                if each.value["broker_id"] == source.get("broker_id")
            ]
            if asking and all(each.failed for each in asking):
                who = ", ".join(str(each.op) for each in asking)
                yield finding(
                    f"operations {who} were refused ({asking[0].error_code}), yet the record at "
                    f"offset {offset} carries out what they asked for",
                    asking,
                    [event, link.event],
                )
