"""A broker that is not active serves nobody (D.11; KIP-631: a fenced broker processes no client
request).

Judged by what nodes tell: no success under a state other than active. And by what clients were
answered, once the fenced intervals of a process are known: no client operation that began and ended
within one is answered with success. An interval runs from the process's start, or from its lease's
end or the transition out of service, to its next transition to active. The metadata log knows them,
too, whatever the process says: a broker that it has fenced for longer than a lease has none.

Threads of one process tell what they do in any order within a short time, so an answer that
follows its transition closely needs a client that began later to be held against it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from checkers.folds.fencing.leases import (
    FS,
    begin,
    by_node,
    ended_ns,
    lag_ns,
    length_of,
    serving,
    under_way,
)
from checkers.folds.history.brokers import ids_of
from framework.checking.cuts import cut_by_node
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.evidence.brokers import BrokerStateChanged, LeaseGranted
from framework.evidence.changes import BrokerFenced, BrokerUnfenced
from framework.evidence.clocks import earliest_ns, latest_ns, moment_of, surely_before
from framework.evidence.kinds import Evidence, evidence_of
from framework.evidence.machine import Machine
from framework.evidence.processes import Booted, Exited, Stalled
from framework.evidence.relations import PROCESS, relation
from framework.evidence.requests import Served
from framework.evidence.run_events import RunEvents, incarnations, of_kinds
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, EVENTS, Clause, Count, Finding

KINDS: Final = (Booted, Exited, BrokerStateChanged, LeaseGranted, Served, Stalled)
APPLIED_NS: Final = 1_000_000_000
"""What is committed is told as applied within this time."""

OWN_WORD: Final = Clause(
    name="own-word",
    says="No broker tells that it answered a client with success while it was not active",
    compares="nodes that clients had answers from, and that tell what they served",
    floor=2,
    because="all that answered a client: one that keeps silent may serve at any time",
    sources=(EVENTS,),
    blind="an answer that its broker leaves out, unless a client got it",
)
CLIENTS_WORD: Final = Clause(
    name="clients-word",
    says="No client is answered with success by a broker that was not active all that time, or by "
    "a node that is no broker",
    compares="successes of clients at nodes whose states are known",
    floor=2,
    because="all successes of clients: each may have been given out of service",
    sources=(CLIENTS, EVENTS),
    blind="an answer within a lease's length of a fencing that its broker does not tell of, and "
    "one to a client that does not say whom it asked",
)


@dataclass(frozen=True, slots=True)
class Fenced:
    """From `begin_ns` on, the process was not active until `end_ns`, and knew that it was not;
    for certain, by the harness's clock. `why`: what shows that."""

    begin_ns: int
    end_ns: int
    why: Evidence


def fenced_serve_nothing(events: RunEvents) -> Outcome:
    clients = [each for each in events.operations if each.f in FS and events.has(each.node)]
    asked = by_node(clients)
    by_log = _fenced_by_log(events)
    nodes = incarnations(events.of(*KINDS))
    judged, findings = _by_own_word(events, nodes, asked)
    findings += _at_others(events, clients)
    for node, lives in nodes.items():
        if events.has(node):
            findings += _clients(asked.get(node, []), _fenced(lives))
    for node, intervals in by_log.items():
        findings += _clients(asked.get(node, []), intervals)
    known = _known(events)
    # A client of others does not say whom it asked.
    successes = [each for each in clients if each.ok and each.node is not None]
    counts: dict[str, Count] = {
        OWN_WORD.name: serving(events),
        CLIENTS_WORD.name: (sum(each.node in known for each in successes), len(successes)),
    }
    return weighed(counts, findings, {"judged": judged})


def _known(events: RunEvents) -> set[str | None]:
    """Nodes that tell when they were in service."""
    return {each.node for each in events.of(BrokerStateChanged) if each.after == "active"}


# --- by what nodes tell -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Success:
    """What was served, the transition that the broker's state rests on, and the one after it."""

    served: Served
    state: BrokerStateChanged | None
    following: BrokerStateChanged | None


def _by_own_word(
    events: RunEvents,
    nodes: Mapping[str, Sequence[Sequence[Evidence]]],
    asked: Mapping[str, list[Operation]],
) -> tuple[int, list[Finding]]:
    """Each success beside the last transition before it, of its process, and the next one. How many
    there are; those that do not say, nor follow what says, that the broker was active."""
    successes = relation(events.of(Served), *PROCESS, "seq", "success", "state")
    successes = successes.where(success=True)
    moves = relation(events.of(BrokerStateChanged), *PROCESS, "seq", "after")
    before = successes.as_of(moves, per=PROCESS, on="seq")
    following = successes.as_of(moves, per=PROCESS, on="seq", forward=True)
    active = np.append(moves.equal("after", "active"), False)
    said = successes.equal("state", "active") | successes.equal("state", "")
    said |= ~np.asarray(successes.columns["state"].is_valid())
    rows = np.flatnonzero(~(said & active[before]))
    told = zip(
        successes.objects(rows),
        moves.objects_or_none(before[rows]),
        moves.objects_or_none(following[rows]),
        strict=True,
    )
    findings: list[Finding] = []
    of_process = {
        (life[0].node, life[0].incarnation): life for own in nodes.values() for life in own
    }
    for success in (Success(*each) for each in told):
        node = success.served.node
        if events.has(node):
            life = of_process[node, success.served.incarnation]
            findings += _served(success, asked.get(node, []), life)
    counted = successes.columns["node"].value_counts().to_pylist()
    return sum(each["counts"] for each in counted if events.has(each["values"])), findings


def _served(
    success: Success, operations: list[Operation], life: Sequence[Evidence]
) -> Iterator[Finding]:
    served, state = success.served, success.state
    reported = served.state or "active"
    after = "starting" if state is None else state.after
    if reported == after == "active" or _just_active(success, reported, life):
        return
    beside = under_way(served, operations)
    if state is not None and _may_lag(life, state, served):
        beside = [each for each in beside if surely_before(moment_of(state), begin(each))]
        if not beside:
            return
    was = f"{reported} by its own word" if reported != "active" else after
    yield finding(
        f"{served.node} served {served.api} while it was {was}",
        beside,
        [each for each in (state, served) if each is not None],
        clause=OWN_WORD.name,
    )


def _may_lag(life: Sequence[Evidence], one: Evidence, other: Evidence) -> bool:
    """Whether threads may have said these in another order than that in which they did them."""
    return other.at_ns - one.at_ns <= lag_ns(life, one.at_ns, other.at_ns)


def _just_active(success: Success, reported: str, life: Sequence[Evidence]) -> bool:
    """Whether another thread had made it active, and wrote that down a moment later."""
    following = success.following
    return (
        reported == "active"
        and following is not None
        and following.after == "active"
        and _may_lag(life, success.served, following)
    )


# --- by what clients were answered --------------------------------------------------------


def _fenced(lives: Sequence[Sequence[Evidence]]) -> list[Fenced]:
    """The intervals in which no process of this node was active. Processes may overlap, where a
    second one was started: only what is fenced in all of them counts."""
    found = []
    for number, life in enumerate(lives):
        next_ns = lives[number + 1][0].at_ns if number + 1 < len(lives) else None
        for each in _of_process(life):
            others = any(older[-1].at_ns >= each.begin_ns for older in lives[:number])
            end_ns = each.end_ns if next_ns is None else min(each.end_ns, next_ns)
            begin_ns = moment_of(each.why, each.begin_ns).latest_ns
            end_ns = moment_of(each.why, end_ns).earliest_ns
            if end_ns > begin_ns and not others:
                found.append(Fenced(begin_ns, end_ns, each.why))
    return found


def _of_process(life: Sequence[Evidence]) -> Iterator[Fenced]:
    """By the node's clock. The last interval of a process ends with the last that is known of
    it: it may have died there."""
    why = life[0]
    since: int | None = why.at_ns if isinstance(why, Booted) else None
    lease: LeaseGranted | None = None
    stalls = of_kinds(life, Stalled)
    for each in of_kinds(life, LeaseGranted, BrokerStateChanged):
        if isinstance(each, LeaseGranted):
            lease = each
        elif isinstance(each, BrokerStateChanged) and each.after == "active":
            if since is not None:
                yield Fenced(since, each.at_ns - lag_ns(stalls, since, each.at_ns), why)
            since = None
        elif isinstance(each, BrokerStateChanged) and since is None:
            since, why = each.at_ns, each
            if lease is not None and each.lease_ended:
                over = lease.end_ns + lease.rounded_ns
                if over < since:
                    since, why = over, lease
    if since is not None and life[-1].at_ns > since:
        yield Fenced(since, life[-1].at_ns, why)


@dataclass(slots=True)
class Applied:
    """A record, and when others than the broker itself had applied it: not before, and surely."""

    change: BrokerFenced | BrokerUnfenced
    not_before_ns: int
    by_ns: int


def _fenced_by_log(events: RunEvents) -> dict[str, list[Fenced]]:
    """Node of the plan -> when it was fenced for longer than a lease lasts, by what others than
    itself had applied."""
    reported: dict[int, list[BrokerFenced | BrokerUnfenced]] = defaultdict(list)
    moves: Iterable[BrokerFenced | BrokerUnfenced] = events.of(BrokerFenced, BrokerUnfenced)
    for each in moves:
        reported[each.broker_id].append(each)
    found = {}
    for node, ids in ids_of(events.plan).items():
        length_ns = length_of(each for each in events.of(LeaseGranted) if each.node != node)
        if length_ns is not None and events.has(node):
            own = _applied(each for id in ids for each in reported[id] if each.node != node)
            machine = events.machines.of_node(node)
            found[node] = list(_out_of_service(own, length_ns, machine))
    return found


def _applied(reported: Iterable[BrokerFenced | BrokerUnfenced]) -> list[Applied]:
    """In the order of the log."""
    found: dict[int, Applied] = {}
    for each in reported:
        known = found.setdefault(each.offset, Applied(each, earliest_ns(each), latest_ns(each)))
        known.not_before_ns = min(known.not_before_ns, earliest_ns(each))
        known.by_ns = min(known.by_ns, latest_ns(each))
    return [found[offset] for offset in sorted(found)]


def _out_of_service(moves: Iterable[Applied], length_ns: int, machine: Machine) -> Iterator[Fenced]:
    since: Applied | None = None
    for each in moves:
        if isinstance(each.change, BrokerFenced):
            since = since or each
        elif since is not None:
            begin_ns = machine.until_ns(since.by_ns + length_ns, APPLIED_NS)
            end_ns = machine.since_ns(each.not_before_ns, APPLIED_NS)
            yield Fenced(begin_ns, end_ns, since.change)
            since = None


def _clients(operations: Sequence[Operation], intervals: Iterable[Fenced]) -> Iterator[Finding]:
    """Successes within a fenced interval. `operations` of the node, by their completion."""
    for interval in intervals:
        first = bisect_left(operations, interval.begin_ns, key=ended_ns)
        for operation in operations[first:]:
            if ended_ns(operation) >= interval.end_ns:
                break
            if operation.ok and begin(operation).at_ns > interval.begin_ns:
                yield finding(
                    f"operation {operation.index} ({operation.f} of {operation.key}) was "
                    f"answered ok by {operation.node}, which was not active from before "
                    f"its begin to after its end",
                    [operation],
                    [interval.why],
                    clause=CLIENTS_WORD.name,
                )


def _at_others(events: RunEvents, clients: Iterable[Operation]) -> Iterator[Finding]:
    """Nodes that are no brokers, in any of their lives, refuse what is a client's."""
    boots: dict[str | None, Booted] = {}
    for boot in events.of(Booted):
        if boot.broker_id is not None or boot.node not in boots:
            boots[boot.node] = boot
    for operation in clients:
        found = boots.get(operation.node)
        if operation.ok and found is not None and found.broker_id is None:
            yield finding(
                f"operation {operation.index} ({operation.f} of {operation.key}) was answered ok "
                f"by {operation.node}, which is no broker",
                [operation],
                [found],
                clause=CLIENTS_WORD.name,
            )


class FencedServeNothing(RunChecker):
    name = "fenced-serve-nothing"
    summary = (
        "A broker that is not active answers no client with success, by its own word "
        "and by what clients were answered; controllers refuse what is a client's"
    )
    requires = evidence_of(LeaseGranted, Served)
    clauses = (OWN_WORD, CLIENTS_WORD)
    check_run = RunCheck(
        fenced_serve_nothing,
        evidence=(*KINDS, BrokerFenced, BrokerUnfenced),
        fs=FS,
        by=cut_by_node(BrokerFenced, BrokerUnfenced, LeaseGranted),
    )
