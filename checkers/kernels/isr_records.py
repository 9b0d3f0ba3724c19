"""The committed records of one partition, against what was asked and decided (D.2).

See `isr_chain` for the property; this is the part of it that needs node events.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from checkers.kernels.decisions import IsrDecision
from checkers.kernels.evidence import NodeEvent, Operation, finding, record_of
from framework.plugins.checker import Finding


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
    event: NodeEvent


def records(
    links: list[Link], changes: list[Operation], decides: list[IsrDecision]
) -> Iterator[Finding]:
    """All that records and decisions tell."""
    yield from _chain(links, changes, decides)
    yield from _decisions(decides, links, changes)
    yield from _refused(changes, decides, links)
    if links:
        yield from _recorded(changes, links)


def state_of(fields: Any) -> State:
    return State(fields["leader"], fields["leader_epoch"], frozenset(fields["isr"]))


def links_of(events: Iterable[NodeEvent]) -> tuple[list[Link], list[Finding]]:
    """The union of what nodes applied, in log order, and where they disagree."""
    links: dict[int, Link] = {}
    findings: dict[int, Finding] = {}
    for event in events:
        record = record_of(event)
        link = Link(
            event.fields["offset"],
            event.fields["epoch"],
            record["partition_epoch"],
            state_of(record),
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


def _chain(
    links: list[Link], changes: list[Operation], decides: list[IsrDecision]
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
    link: Link, version: int, changes: list[Operation], decides: list[IsrDecision]
) -> bool:
    """Controllers of their own accord write no record that changes nothing."""
    if any(not change.failed for change in _asking(changes, version, link.state)):
        return True
    return any(not each.code and each.partition_epoch == version for each in decides)


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


def _decisions(
    decides: Iterable[IsrDecision], links: list[Link], changes: list[Operation]
) -> Iterator[Finding]:
    """What controllers decided: a refusal appends nothing, an acceptance one record here, on
    the version that it named. Records that were truncated have no say."""
    places = {(link.epoch, link.offset): at for at, link in enumerate(links)}
    for each in decides:
        event, epoch = each.event, each.event.fields["epoch"]
        made = [places[epoch, at] for at in each.records if (epoch, at) in places]
        if each.code and each.records:
            yield finding(
                f"{event.node} refused an ISR change with error {each.code}, and "
                f"appended records {list(each.records)} for it",
                _asked_by(each, changes),
                [event],
            )
        elif len(made) > 1:
            yield finding(
                f"{event.node} applied one ISR change {len(made)} times, at offsets "
                f"{[links[at].offset for at in made]}",
                _asked_by(each, changes),
                [event, *(links[at].event for at in made)],
            )
        elif made and made[0] > 0:
            before, named = links[made[0] - 1], each.partition_epoch
            if before.version != named:
                yield finding(
                    f"{event.node} accepted an ISR change that names version {named} on top of "
                    f"version {before.version}",
                    _asked_by(each, changes),
                    [before.event, event, links[made[0]].event],
                )


def _asked_by(decision: IsrDecision, changes: Iterable[Operation]) -> list[Operation]:
    """The operations whose request this may have been: same epochs, not yet answered."""
    names = ("broker_id", "broker_epoch", "leader_epoch", "partition_epoch")
    asked = (*decision.broker, decision.leader_epoch, decision.partition_epoch)
    time_ns = decision.event.time_ns
    return [
        each
        for each in changes
        if tuple(each.value.get(name) for name in names) == asked
        and (each.invoked_ns or 0) <= time_ns
        and (each.type == "info" or (each.completed_ns or 0) >= time_ns)
    ]


def _refused(
    changes: list[Operation], decides: Iterable[IsrDecision], links: list[Link]
) -> Iterator[Finding]:
    """A record that only refused requests asked for."""
    places = {(link.epoch, link.offset): link for link in links}
    for each in decides:
        for offset in each.records:
            link = places.get((each.event.fields["epoch"], offset))
            if link is None:
                continue
            asking = [
                change
                for change in _asking(changes, each.partition_epoch, link.state)
                if change.value["broker_id"] == each.broker[0]
            ]
            if asking and all(change.failed for change in asking):
                who = ", ".join(str(change.index) for change in asking)
                yield finding(
                    f"operations {who} were refused ({asking[0].error_code}), yet the record at "
                    f"offset {offset} carries out what they asked for",
                    asking,
                    [each.event, link.event],
                )
