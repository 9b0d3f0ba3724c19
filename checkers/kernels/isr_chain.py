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

from checkers.kernels.decisions import isr_decisions
from checkers.kernels.evidence import Evidence, Operation, concluded, finding, record_of
from checkers.kernels.isr_records import Link, State, links_of, records, state_of
from framework.checking.keyed import Outcome
from framework.plugins.checker import Finding

EVENTS = ("apply", "decide")
FS = ("alter-isr", "describe")


@dataclass(frozen=True, slots=True)
class Sight:
    """An operation showed a state at a version. `at_least`: what it must not have been below
    of what had ended before it began - the version that it named, or that it read."""

    operation: Operation
    version: int
    at_least: int
    state: State


def isr_chain(evidence: Evidence) -> Outcome:
    """`evidence` of one partition; describes as they came, with all their partitions."""
    changes = [each for each in evidence.operations if each.f == "alter-isr"]
    key = _key_of(evidence)
    sights = list(_sights(evidence.operations, key))
    links, findings = links_of(evidence.of("apply"))
    parts = [part for event in evidence.of("decide") for part in isr_decisions(event)]
    decides = [each for each in parts if key in (None, (each.topic_id, each.partition))]
    findings += _answers(changes)
    findings += _one_winner(changes)
    findings += _never_back(sights)
    findings += _one_state(sights, links)
    findings += _premises(changes, sights)
    findings += records(links, changes, decides)
    accepted = sum(change.ok for change in changes)
    figures = {"changes_ok": accepted, "changes": len(changes), "records": len(links)}
    return concluded(len(changes) + len(sights) + len(links) + len(decides), findings, figures)


# --- what was seen ------------------------------------------------------------------------


def _key_of(evidence: Evidence) -> tuple[str, int] | None:
    """Topic id and number of the partition that all this evidence is of; None: of none."""
    for operation in evidence.operations:
        if operation.f == "alter-isr":
            return str(operation.value["topic_id"]), int(operation.value["partition"])
    for event in evidence.of("apply"):
        return str(record_of(event)["topic_id"]), int(record_of(event)["partition_id"])
    for operation in evidence.operations:
        for shown in (operation.result or {}).get("partitions") or ():
            return str(operation.result["topic_id"]), int(shown["partition"])
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
    """Sweeps over invocations with the newest version that had been shown by then."""
    ended = sorted(sights, key=lambda sight: sight.operation.end or 0)
    at = 0
    best: Sight | None = None
    for sight in sorted(sights, key=lambda sight: sight.operation.index):
        while at < len(ended) and ended[at].operation.precedes(sight.operation):
            if best is None or ended[at].version > best.version:
                best = ended[at]
            at += 1
        if best is not None and sight.at_least < best.version:
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
                f"ISR change {change.index} of {change.key} was accepted from (leader, leader "
                f"epoch) {named}; operation {before.operation.index} shows {found} at version "
                f"{before.version}, which it named",
                [before.operation, change],
            )
