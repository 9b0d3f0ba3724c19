"""What controllers tell anybody of the controllers: who there are, and where, and who of them is
active (KIP-919).

An answer names no leader epoch. So who is active by it is held against the same node's own views of
the quorum: where one before and one after it name the same leader of the same epoch, it can name
nobody else in between, for an epoch has one leader and a node does not go back to an older one.
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Final

from checkers.folds.cluster.observed import ANSWERS, Judgement, ended_ns, wrong_streaks
from checkers.folds.cluster.observed_brokers import Patience
from checkers.folds.cluster.observed_quorum import NOT_FIXED, of_itself
from checkers.folds.history.observations import OWN_VIEW
from checkers.folds.history.peace import Quiet, Upset
from checkers.folds.history.quorum_views import View
from checkers.folds.history.roles import CONTROLLER, fixed_voters, ids_in
from checkers.folds.history.values import controllers_view
from framework.checking.findings import finding
from framework.evidence.run_events import RunEvents, unable
from framework.history.pairing import Operation
from framework.plugins.capabilities import TOLD_CONTROLLERS
from framework.plugins.checker import LEDGER, Clause, Finding

CONTROLLERS: Final = "describe-controllers"
NOBODY: Final = -1
CONTROLLERS_TOLD: Final = Clause(
    name="controllers",
    says="Controllers tell of those of the plan alone, each once and at an address of its own, who "
    "is active is one of them, and the one that the node knows to lead; in peace they tell of all, "
    "and of one that is active",
    compares="answers of controllers that tell of the controllers, two of each at most",
    floor=2,
    because="this run needs two of each of its controllers: what one says once is no state",
    sources=(LEDGER,),
    blind="where voters come and go; who is active by a node that tells nobody its own view, but "
    "where it leads; what is left out for less time than recovery takes, where it is right in the "
    "end",
)
NOBODY_ASKED: Final = "no controller was asked which controllers there are"


@dataclass(frozen=True, slots=True)
class ControllerList:
    """Controllers by an answer: (id, address), as it names them. `active`: -1, it knows none."""

    operation: Operation
    controllers: Sequence[tuple[int, str]]
    active: int

    def __str__(self) -> str:
        return f"{self.operation.node} (operation {self.operation.index})"


def controller_lists(observations: Iterable[Operation]) -> Iterator[ControllerList]:
    for each in observations:
        if each.ok and each.f == CONTROLLERS:
            told = controllers_view(each)
            named = [(one["id"], f"{one['host']}:{one['port']}") for one in told["controllers"]]
            yield ControllerList(each, named, told["active"])


def controllers_told(
    events: RunEvents, views: Iterable[View], quiet: Iterable[Quiet], recovery_ns: int
) -> Judgement:
    ids = ids_in(events.plan, CONTROLLER)
    members = fixed_voters(events.plan)
    if not members:
        return NOT_FIXED, ()
    lists = list(controller_lists(events.observations))
    asked = any(each.f == CONTROLLERS for each in events.observations)
    if not asked and (unable(events.plan, TOLD_CONTROLLERS) or "capabilities" not in events.plan):
        return NOBODY_ASKED, ()
    patience = Patience(events.machines.cluster, Upset.of(events), recovery_ns)
    findings = [
        *_first(_wrong(each, members) for each in lists),
        *_first(_moved(lists)),
        *_first(_contradicted(lists, views, ids)),
        *_incomplete(lists, quiet, patience, members),
    ]
    own = _by_node(lists)
    enough = sum(min(ANSWERS, len(own.get(name, ()))) for name in ids)
    return (enough, ANSWERS * len(ids)), findings


def _by_node(lists: Iterable[ControllerList]) -> Mapping[str, list[ControllerList]]:
    found: dict[str, list[ControllerList]] = defaultdict(list)
    for each in lists:
        found[str(each.operation.node)].append(each)
    return found


def _first(findings: Iterable[Finding | None]) -> Sequence[Finding]:
    """One of a kind says it all."""
    return [each for each in findings if each is not None][:1]


def _wrong(each: ControllerList, members: Set[int]) -> Finding | None:
    """By itself."""
    told = [number for number, _ in each.controllers]
    wrong = None
    if strangers := sorted(set(told) - members):
        wrong = f"tells of controllers {strangers}, and {sorted(members)} are those of the plan"
    elif len(set(told)) < len(told):
        wrong = f"tells of a controller twice: {each.controllers}"
    elif len({address for _, address in each.controllers}) < len(told):
        wrong = f"tells of two controllers at one address: {each.controllers}"
    elif each.active not in {*members, NOBODY}:
        wrong = f"tells that {each.active} is active, and {sorted(members)} are the controllers"
    return None if wrong is None else _finding(f"{each} {wrong}", each.operation)


def _moved(lists: Iterable[ControllerList]) -> Iterator[Finding]:
    """Another address than somebody told before."""
    first: dict[int, tuple[str, ControllerList]] = {}
    for each in lists:
        for number, address in each.controllers:
            known, before = first.setdefault(number, (address, each))
            if known != address and before is not each:
                yield _finding(
                    f"controller {number} has two addresses: {known} by {before}, {address} by "
                    f"{each}",
                    before.operation,
                    each.operation,
                )


def _contradicted(
    lists: Iterable[ControllerList], views: Iterable[View], ids: Mapping[str, int]
) -> Iterator[Finding]:
    """Who is active by a node that knew of another leader before and after, of one epoch."""
    of_nodes: dict[str, list[View]] = defaultdict(list)
    for view in views:
        if view.operation.f == OWN_VIEW or of_itself(view, ids):
            of_nodes[str(view.operation.node)].append(view)
    for node, own in _by_node(lists).items():
        for each in own:
            around = _around(each, of_nodes[node])
            if around is None or each.active in (around[0].leader, NOBODY):
                continue
            before, after = around
            yield _finding(
                f"{each} tells that {each.active} is active, between {before} and {after}",
                *(one.operation for one in (before, each, after)),
            )


def _around(each: ControllerList, own: Sequence[View]) -> tuple[View, View] | None:
    """The last view before and the first one after, where they tell one leader of one epoch."""
    at = bisect(own, each.operation.index, key=lambda view: view.operation.index)
    if not 0 < at < len(own):
        return None
    before, after = own[at - 1], own[at]
    same = (before.leader, before.epoch) == (after.leader, after.epoch) and before.leader >= 0
    apart = before.operation.precedes(each.operation) and each.operation.precedes(after.operation)
    return (before, after) if same and apart else None


def _incomplete(
    lists: Sequence[ControllerList],
    quiet: Iterable[Quiet],
    patience: Patience,
    members: Set[int],
) -> Iterator[Finding]:
    for peace in quiet:
        owing = [each for each in lists if peace.holds(each.operation)]
        for node, own in _by_node(owing).items():
            for streak in wrong_streaks(own, partial(_lacks, members)):
                if patience.ends(peace.settled, streak, own):
                    last = streak[-1]
                    yield _finding(
                        f"{node} tells of controllers {sorted(dict(last.controllers))} and that "
                        f"{last.active} is active in {len(streak)} answers one after another, till "
                        f"{ended_ns(last.operation) / 1e9:.1f} s, and there are {sorted(members)}, "
                        "of which one is",
                        streak[0].operation,
                        last.operation,
                    )


def _lacks(members: Set[int], each: ControllerList) -> bool:
    return each.active == NOBODY or not members <= dict(each.controllers).keys()


def _finding(says: str, *operations: Operation) -> Finding:
    return finding(says, operations, clause=CONTROLLERS_TOLD.name)
