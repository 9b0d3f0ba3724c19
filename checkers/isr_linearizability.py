"""ISR changes of one partition are a chain of compare-and-sets (D.2; KIP-497), as clients see it.

The state is (leader, leader epoch, ISR) under a version, the partition epoch, that each step raises
by one. A change answered ok is one step: from the version, leader and leader epoch that the request
named to the ISR that was asked for. An operation that begins after another ended sees no older
version; one version is one state. Controllers of their own accord add nobody to the ISR of a leader
in its epoch, and make no version that changes nothing: such a step is what some request asked for,
of that very version. The leaders that clients play ask for nothing else. On a system that says so
(`shrinking-raises-leader-epochs`) a step that takes a member away may begin a leader epoch.

Judged from clients alone; what records and controllers say of it is isr-chain's.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from typing import Final

from checkers.folds.history.sweeps import falls
from checkers.folds.history.values import alter_isr
from checkers.folds.isr.isr import (
    FS,
    FirstShown,
    Key,
    Sight,
    asked_earlier,
    by_version,
    clients_asked,
    keys_of,
    needs_a_request,
    sights,
    step,
)
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import Kept, RunCheck, RunChecker, SoFar
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.capabilities import OR, SHRINKING_RAISES
from framework.plugins.checker import CLIENTS, Clause, Count, Finding

ONE_STEP: Final = Clause(
    name="one-step",
    says="An ISR change that is answered ok is one step, from the version, leader and leader epoch "
    "that it named to the ISR that it asked for, and the only one from there",
    compares="ISR changes that were answered ok",
    floor=2,
    because="two of one version can both have won",
    sources=(CLIENTS,),
)
NEVER_BACK: Final = Clause(
    name="never-back",
    says="No operation goes by an older version than one that ended before it began had shown, but "
    "for a read that may be behind, and a version is one state",
    compares="versions that were shown after another one of the same partition",
    floor=2,
    because="one may have been shown in order by chance",
    sources=(CLIENTS,),
)
ASKED: Final = Clause(
    name="asked-for",
    says="Nobody joins the ISR of a leader that a client plays, and no version repeats the one "
    "before, unless that client asked for it",
    compares="steps that clients were shown both sides of",
    floor=2,
    because="one may have been asked for by chance",
    sources=(CLIENTS,),
    blind="steps of which clients were shown one side; other leaders, see isr-chain",
)


def by_partition(events: RunEvents) -> dict[str, RunEvents]:
    """By `topic id/partition`; describes with each partition that they show."""
    return {
        f"{topic_id}/{number}": replace(events, operations=operations)
        for (topic_id, number), operations in _by_key(events.operations).items()
    }


def isr_linearizability(events: RunEvents) -> Outcome:
    """Of one partition."""
    changes = [each for each in events.operations if each.f == "alter-isr"]
    key = next((key for each in (*changes, *events.operations) for key in keys_of(each)), ("", 0))
    shown = list(sights(events.operations, key))
    steps = _steps(shown, {alter_isr(each)["broker_id"] for each in changes})
    findings = [
        *_answers(
            changes, shown, raises=SHRINKING_RAISES in (events.plan.get("capabilities") or ())
        ),
        *_one_winner(changes),
        *_premises(changes, shown),
        *_never_back(shown),
        *_one_state(shown),
        *_unasked(changes, shown, steps),
    ]
    accepted = sum(change.ok for change in changes)
    counts: dict[str, Count] = {
        ONE_STEP.name: accepted,
        NEVER_BACK.name: NEVER_BACK.seen(each.operation.index for each in shown[1:]),
        ASKED.name: len(steps),
    }
    return weighed(counts, findings, {"changes_ok": accepted, "changes": len(changes)}, part=True)


def _answers(
    changes: Iterable[Operation], shown: Iterable[Sight], *, raises: bool
) -> Iterator[Finding]:
    """Each ok answer follows from its own request. `raises`: where a member goes, the leader epoch
    may rise by one."""
    known = {sight.version: sight.state.isr for sight in shown}
    for change in changes:
        if not change.ok:
            continue
        asked, answer = change.value, change.result
        named, version = asked["partition_epoch"], answer["partition_epoch"]
        before = known.get(named)
        may_rise = raises and (before is None or not before <= set(asked["isr"]))
        rise = answer["leader_epoch"] - asked["leader_epoch"]
        wrong = None
        if version != named + 1:
            wrong = f"named version {named} and was answered version {version}, not {named + 1}"
        elif set(asked["isr"]) != set(answer["isr"]):
            wrong = f"asked for ISR {sorted(asked['isr'])} and was answered {answer['isr']}"
        elif rise and not (rise == 1 and may_rise):
            wrong = (
                f"named leader epoch {asked['leader_epoch']} and was answered ok in leader epoch "
                f"{answer['leader_epoch']}"
            )
        elif answer["leader"] != asked["broker_id"]:
            wrong = f"of broker {asked['broker_id']} was answered ok; leader {answer['leader']}"
        if wrong is not None:
            yield finding(
                f"ISR change {change.index} of {change.key} {wrong}", [change], clause=ONE_STEP.name
            )


def _one_winner(changes: Iterable[Operation]) -> Iterator[Finding]:
    winners: dict[int, list[Operation]] = defaultdict(list)
    for change in changes:
        if change.ok:
            winners[alter_isr(change)["partition_epoch"]].append(change)
    for version, group in winners.items():
        if len(group) > 1:
            who = ", ".join(str(each.index) for each in group)
            yield finding(
                f"{len(group)} ISR changes of {group[0].key} named version {version}, and all "
                f"were answered ok: operations {who}",
                group,
                clause=ONE_STEP.name,
            )


def _premises(changes: Iterable[Operation], sights: Iterable[Sight]) -> Iterator[Finding]:
    """A change was accepted from the leader, in the leader epoch, of the version that it named,
    as far as clients were shown that version."""
    shown: dict[int, Sight] = {}
    for sight in sights:
        shown.setdefault(sight.version, sight)
    for change in changes:
        asked = alter_isr(change)
        before = shown.get(asked["partition_epoch"])
        if not change.ok or before is None:
            continue
        named = (asked["broker_id"], asked["leader_epoch"])
        found = (before.state.leader, before.state.leader_epoch)
        if named != found:
            yield finding(
                f"ISR change {change.index} of {change.key} was accepted from (leader, leader "
                f"epoch) {named}; operation {before.operation.index} shows {found} at version "
                f"{before.version}, which it named",
                [before.operation, change],
                clause=ONE_STEP.name,
            )


def _never_back(sights: list[Sight]) -> Iterator[Finding]:
    """Nothing goes by a version below the newest that had been shown by then."""
    for best, sight in falls(sights, attrgetter("version"), attrgetter("at_least")):
        verb = "changed" if sight.operation.f == "alter-isr" else "read"
        yield finding(
            f"operation {sight.operation.index} {verb} version {sight.at_least}, though it "
            f"began after operation {best.operation.index} had shown version {best.version}",
            [best.operation, sight.operation],
            clause=NEVER_BACK.name,
        )


def _one_state(shown: list[Sight]) -> Iterator[Finding]:
    """All that was shown of one version agrees."""
    known: dict[int, Sight] = {}
    for sight in shown:
        first = known.setdefault(sight.version, sight)
        if first.state != sight.state:
            yield finding(
                f"version {sight.version} has two states: {first.state} by operation "
                f"{first.operation.index}, {sight.state} by operation {sight.operation.index}",
                [first.operation, sight.operation],
                clause=NEVER_BACK.name,
            )


def _steps(shown: Iterable[Sight], leaders: set[int]) -> list[tuple[Sight, Sight]]:
    """From a version to the next, of what clients were shown, where a synthetic broker led."""
    known: dict[int, Sight] = {}
    for sight in sorted(shown, key=lambda each: each.eligible is None):
        known.setdefault(sight.version, sight)
    return [
        (before, after)
        for (version, before), (following, after) in pairwise(sorted(known.items()))
        if following == version + 1 and before.state.leader in leaders
    ]


def _unasked(
    changes: list[Operation], shown: list[Sight], steps: Iterable[tuple[Sight, Sight]]
) -> Iterator[Finding]:
    for before, after in _without_request(changes, shown, steps):
        version = before.version
        twice, earlier = asked_earlier(changes, version, after.state)
        yield finding(
            f"version {after.version}, shown to operation {after.operation.index}, "
            f"{step(before.state, after.state, version)}, and nobody asked for that{twice}",
            [*earlier, before.operation, after.operation],
            clause=ASKED.name,
        )


def _without_request(
    changes: list[Operation], shown: list[Sight], steps: Iterable[tuple[Sight, Sight]]
) -> Iterator[tuple[Sight, Sight]]:
    """Steps that only a request makes, and that none asked for. Of leaders that clients play all
    requests are known."""
    later, on_version = FirstShown(shown), by_version(changes)
    for before, after in steps:
        was, is_now, version = before.state, after.state, before.version
        others = after.eligible is not None and after.eligible != before.eligible
        if not needs_a_request(was, is_now) or (was == is_now and others):
            continue
        if not clients_asked(
            on_version.get(version, ()), later.than(version), version, was, is_now
        ):
            yield before, after


# --- while a run goes on ------------------------------------------------------------------


def kept_so_far(over: RunEvents) -> Kept:
    """What shows or names an older version than the newest of a partition reaches back. Under who
    is yet to be played by a client something may have been done that it had to ask for."""
    kept: list[Operation] = []
    newest: dict[Key, int] = {}
    for key, operations in _by_key(over.operations).items():
        shown = list(sights(operations, key))
        newest[key] = max((each.version for each in shown), default=-1)
        changes = [each for each in operations if each.f == "alter-isr"]
        kept += _witnesses(changes, shown, newest[key])
        kept += (each.operation for step in _not_played(changes, shown) for each in step)
    kept += _requests(over.operations, kept)

    def reaches_back(operation: Operation) -> bool:
        return any(
            min(sight.version, sight.at_least) < newest.get(key, -1)
            for key in keys_of(operation)
            for sight in sights([operation], key)
        )

    return Kept(kept, reaches_back=reaches_back)


def _not_played(changes: list[Operation], shown: list[Sight]) -> list[tuple[Sight, Sight]]:
    """Steps under leaders that no client has played, which would be wrong if one had."""
    others = {each.state.leader for each in shown}
    others -= {alter_isr(each)["broker_id"] for each in changes}
    return [*_without_request(changes, shown, _steps(shown, others))]


def _witnesses(
    changes: Iterable[Operation], shown: Iterable[Sight], newest: int
) -> Iterator[Operation]:
    """Of one partition, who showed its newest version, with each set of others that may lead, what
    may have been done to that, and a change by each client that played its leader. All of them had
    ended before whatever comes begins; if they show several states, it is broken already."""
    last = {each.eligible: each for each in shown if each.version == newest}
    yield from (each.operation for each in last.values())
    yield from {alter_isr(each)["broker_id"]: each for each in changes}.values()
    for each in changes:
        if not each.failed and alter_isr(each)["partition_epoch"] >= newest:
            yield each


def _requests(operations: Iterable[Operation], kept: Iterable[Operation]) -> Iterator[Operation]:
    """For each step of which both sides were kept: it was asked for by one of them."""
    shown = {
        (key, sight.version) for key, own in _by_key(kept).items() for sight in sights(own, key)
    }
    for each in operations:
        if each.f == "alter-isr" and not each.failed:
            (key,), named = keys_of(each), alter_isr(each)["partition_epoch"]
            if {(key, named), (key, named + 1)} <= shown:
                yield each


def _by_key(operations: Iterable[Operation]) -> Mapping[Key, list[Operation]]:
    found: dict[Key, list[Operation]] = defaultdict(list)
    for each in operations:
        for key in dict.fromkeys(keys_of(each)):
            found[key].append(each)
    return found


class IsrLinearizability(RunChecker):
    name = "isr-linearizability"
    summary = (
        "Every ISR change that was acknowledged is one step from exactly the version that it "
        "named, and no later operation sees an older version, as clients tell"
    )
    requires = frozenset(
        {"isr-changes", OR.join(("linearizable-topic-read", "committed-topic-read"))}
    )
    clauses = (ONE_STEP, NEVER_BACK, ASKED)
    live = (ONE_STEP, NEVER_BACK, ASKED)
    check_run = RunCheck(isr_linearizability, fs=FS, parts=by_partition)
    so_far = SoFar(check_run, kept_so_far, doubtful=frozenset({ASKED.name}), about=keys_of)
