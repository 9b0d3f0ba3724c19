"""Requests for ISR changes against the records that controllers made of them."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from checkers.folds.history.values import alter_isr, altered_isr
from checkers.folds.isr.isr import asking, by_version
from checkers.folds.isr.isr_counts import Counts
from checkers.folds.isr.partition_links import Gaps, Link, Partition
from checkers.folds.metadata_log.service import Service, out_of_service
from framework.checking.findings import finding
from framework.evidence.clocks import Moment, moment_of, surely_before
from framework.evidence.requests import IsrDecided
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, DISKS, EVENTS, Clause, Finding

NO_EPOCH: Final = -1
REQUESTS: Final = Clause(
    name="request-is-a-record",
    says="An accepted ISR change is one record, on the version that it named; a refused one none",
    compares="ISR changes held against the records",
    floor=2,
    because="as many as clients had accepted: each must be there",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="requests of brokers that no client plays, where controllers tell nothing of them",
)
MEMBERS: Final = Clause(
    name="members-in-service",
    says="Who joins an ISR is in service by the log below that record, and does not leave "
    "(KIP-841); an accepted change named the broker epochs that its leader and members had there "
    "(KIP-380, KIP-903)",
    compares="brokers that joined an ISR, and broker epochs that accepted changes named",
    floor=2,
    because="one may be in service by chance",
    sources=(CLIENTS, DISKS, EVENTS),
    blind="a broker that is shutting down, where the log does not say so; who is fenced and stays "
    "in the ISR without a request, as its last member does",
)


@dataclass(frozen=True, slots=True)
class Requests:
    """Of one partition after the other. `lost`: nodes whose files nobody has, where a record may be
    that is nowhere else."""

    gaps: Gaps
    service: Service
    lost: bool
    counts: Counts

    def of(self, partition: Partition) -> Iterator[Finding]:
        yield from self._recorded(partition)
        yield from self._decisions(partition)
        yield from _refused(partition)

    def _recorded(self, partition: Partition) -> Iterator[Finding]:
        """Each ok answer is exactly one record, on the predecessor that the request named."""
        links = partition.links
        places_of: dict[int, list[int]] = defaultdict(list)
        for at, link in enumerate(links):
            places_of[link.version].append(at)
        self.counts.decisions += len(partition.decisions)
        for change in partition.changes:
            if not change.ok:
                continue
            self.counts.accepted += 1
            places = places_of.get(altered_isr(change)["partition_epoch"], [])
            if places or not (self.gaps.lost or self.lost):
                self.counts.accepted_owed += 1
                if links:
                    self.counts.accepted_known += 1
                    yield from self._as_recorded(change, places, links)

    def _as_recorded(
        self, change: Operation, places: Sequence[int], links: Sequence[Link]
    ) -> Iterator[Finding]:
        asked, version = alter_isr(change), altered_isr(change)["partition_epoch"]
        what = f"ISR change {change.index} of {change.key}, answered version {version},"
        if len(places) != 1:
            yield finding(
                f"{what} is {len(places)} committed records, not one",
                [change],
                [links[at].change for at in places],
                by=[EVENTS],
                clause=REQUESTS.name,
            )
            return
        link = links[places[0]]
        yield from self._named(change, link)
        if link.state.isr != set(asked["isr"]):
            yield finding(
                f"{what} asked for ISR {sorted(asked['isr'])}; the record at offset "
                f"{link.offset} has {sorted(link.state.isr)}",
                [change],
                [link.change],
                clause=REQUESTS.name,
            )
        if places[0] > 0 and not self.gaps.between(links[places[0] - 1], link):
            before = links[places[0] - 1]
            named = (asked["partition_epoch"], asked["leader_epoch"], asked["broker_id"])
            found = (before.version, before.state.leader_epoch, before.state.leader)
            if named != found:
                yield finding(
                    f"{what} named (version, leader epoch, leader) {named}; the record before "
                    f"it, at offset {before.offset}, has {found}",
                    [change],
                    [before.change, link.change],
                    clause=REQUESTS.name,
                )

    def _named(self, change: Operation, link: Link) -> Iterator[Finding]:
        """The members and broker epochs that an accepted change named, as the log below its record
        has them."""
        asked = alter_isr(change)
        named = {asked["broker_id"]: asked["broker_epoch"]}
        named |= dict(zip(asked["isr"], asked.get("isr_epochs") or (), strict=False))
        for broker_id, epoch in named.items():
            standing = self.service.before(link.offset, broker_id)
            if standing is None or epoch == NO_EPOCH:
                continue
            self.counts.members += 1
            if epoch != standing.epoch:
                what, known = f"epoch {epoch} of broker {broker_id}", f"has epoch {standing.epoch}"
            elif broker_id in asked["isr"] and not standing.may_join:
                what, known = f"broker {broker_id} as a member", f"is {out_of_service(standing)}"
            else:
                continue
            yield finding(
                f"ISR change {change.index} of {change.key} named {what} and is the record at "
                f"offset {link.offset}; below that the broker {known}, since offset "
                f"{standing.by.offset}",
                [change],
                [standing.by, link.change],
                clause=MEMBERS.name,
            )

    def _decisions(self, partition: Partition) -> Iterator[Finding]:
        """What controllers decided: a refusal appends nothing, an acceptance one record here, on
        the version that it named. Records that were truncated have no say."""
        links, changes = partition.links, partition.changes
        places = {(link.epoch, link.offset): at for at, link in enumerate(links)}
        for each in partition.decisions:
            made = [places[each.epoch, at] for at in each.records if (each.epoch, at) in places]
            if each.accepted is False and each.records:
                yield finding(
                    f"{each.node} refused an ISR change with error {each.code}, and "
                    f"appended records {list(each.records)} for it",
                    _asked_by(each, changes),
                    [each],
                    clause=REQUESTS.name,
                )
            elif len(made) > 1:
                yield finding(
                    f"{each.node} applied one ISR change {len(made)} times, at offsets "
                    f"{[links[at].offset for at in made]}",
                    _asked_by(each, changes),
                    [each, *(links[at].change for at in made)],
                    clause=REQUESTS.name,
                )
            elif made and made[0] > 0:
                before, named = links[made[0] - 1], each.partition_epoch
                unknown = self.gaps.between(before, links[made[0]])
                if before.version != named and not unknown:
                    yield finding(
                        f"{each.node} accepted an ISR change that names version {named} on top of "
                        f"version {before.version}",
                        _asked_by(each, changes),
                        [before.change, each, links[made[0]].change],
                        clause=REQUESTS.name,
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


def _epochs_of(change: Operation) -> Sequence[int | None]:
    asked = alter_isr(change)
    return [
        asked.get("broker_id"),
        asked.get("broker_epoch"),
        asked.get("leader_epoch"),
        asked.get("partition_epoch"),
    ]


def _epochs_decided(decision: IsrDecided) -> Sequence[int | None]:
    epoch = -1 if decision.broker_epoch is None else decision.broker_epoch
    return [decision.broker_id, epoch, decision.leader_epoch, decision.partition_epoch]


def _refused(partition: Partition) -> Iterator[Finding]:
    """A record that only refused requests asked for."""
    places = {(link.epoch, link.offset): link for link in partition.links}
    on_version = by_version(partition.changes)
    for each in partition.decisions:
        named = on_version.get(each.partition_epoch, ())
        for offset in each.records:
            link = places.get((each.epoch, offset))
            if link is None:
                continue
            asked = [
                change
                for change in asking(named, each.partition_epoch, link.state)
                if alter_isr(change)["broker_id"] == each.broker_id
            ]
            if asked and all(change.failed for change in asked):
                who = ", ".join(str(change.index) for change in asked)
                yield finding(
                    f"operations {who} were refused ({asked[0].error_code}), yet the record at "
                    f"offset {offset} carries out what they asked for",
                    asked,
                    [each, link.change],
                    clause=REQUESTS.name,
                )
