"""What nodes tell anybody of their cluster fits together, whoever is asked (D.3, D.6, D.8, D.13,
D.19).

Judged from the answers to the harness's observer, with its marks and its ledger, and of the quorum
from those to clients who ask who votes as well: no node's event is asked. An answer holds for some
moment between its question and its end; answers are compared only where one had ended before the
other was asked for.

What is owed is owed in peace: from a run's begin, from when the cluster was seen to settle, or from
when the system says that it needs no longer to recover, until the next fault. One bad moment of a
loaded machine is no finding: what is wrong has to stay wrong.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Final, Self

from checkers.folds.cluster.observed import (
    ANSWERS,
    Judgement,
    Nodes,
    answered,
    asked_ns,
    ended_ns,
    span_ns,
    unanswered,
)
from checkers.folds.cluster.observed_brokers import (
    DEAD_UNLISTED,
    LIVE_LISTED,
    ONE_ADDRESS,
    broker_lists,
    dead_unlisted,
    live_listed,
    one_address,
)
from checkers.folds.cluster.observed_controllers import CONTROLLERS_TOLD, controllers_told
from checkers.folds.cluster.observed_partitions import ALL_IN_SYNC, all_in_sync
from checkers.folds.cluster.observed_quorum import (
    ALL_VOTE,
    COMMITTED_KEPT,
    LET_GO,
    MAJORITY_HAS,
    NO_WAY_BACK,
    ONE_LEADER,
    all_vote,
    committed_kept,
    let_go,
    majority_has,
    no_way_back,
    one_leader,
)
from checkers.folds.history.lives import Lives
from checkers.folds.history.observations import OWN_VIEW
from checkers.folds.history.peace import Stretch, owed_in, quiet_times
from checkers.folds.history.peace import recovery_ns as recovery_of
from checkers.folds.history.quorum_views import WHO_VOTES, quorum_views
from checkers.folds.history.roles import BROKER, nodes_by_id
from checkers.folds.history.values import quorum_view
from checkers.folds.serving.streaks import SHORT
from framework.checking.findings import finding, weighed
from framework.checking.keyed import Outcome
from framework.checking.run_checks import Kept, RunCheck, RunChecker, SoFar
from framework.evidence.machine import Machine
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation
from framework.plugins.capabilities import NODE_ANSWERS
from framework.plugins.checker import LEDGER, Clause, Finding

TRIES: Final = 3
"""Questions in vain, of one node: fewer may have met a bad moment each."""

HEARD: Final = Clause(
    name="heard",
    says="A node that lives answers: none that faults leave alone, and most others with it, is "
    "silent for long; nor refuses in peace for long to tell its own view of the quorum, or knows "
    "no leader in it",
    compares="answers, two of each node at most",
    floor=2,
    because="this run needs two of each node of the plan: who never answers told nothing wrong",
    sources=(LEDGER,),
    blind="silence that a fault of the node, or of most others, excuses, or that lasts for less "
    "time than recovery takes, of which short times between such faults count half, and not at all "
    "where it was started; errors, where a node is asked for nothing that it has to know by itself",
)
CLAUSES: Final = (
    ONE_LEADER,
    ALL_VOTE,
    NO_WAY_BACK,
    COMMITTED_KEPT,
    MAJORITY_HAS,
    LET_GO,
    LIVE_LISTED,
    DEAD_UNLISTED,
    ALL_IN_SYNC,
    ONE_ADDRESS,
    CONTROLLERS_TOLD,
    HEARD,
)


def observed_cluster(events: RunEvents) -> Outcome:
    nodes: Nodes = events.plan.get("nodes") or {}
    views, lists = quorum_views(events), list(broker_lists(events.observations))
    recovery_ns = recovery_of(events.plan)
    quiet = quiet_times(events)
    judgements: dict[Clause, Judgement] = {
        ONE_LEADER: one_leader(views, nodes),
        ALL_VOTE: all_vote(views, events.plan),
        NO_WAY_BACK: no_way_back(views, Lives(events.faults)),
        COMMITTED_KEPT: committed_kept(views),
        MAJORITY_HAS: majority_has(views, events.plan),
        LET_GO: let_go(events, views, quiet),
        LIVE_LISTED: live_listed(lists, quiet, events, recovery_ns),
        DEAD_UNLISTED: dead_unlisted(lists, events, nodes),
        ALL_IN_SYNC: all_in_sync(events, quiet, recovery_ns),
        ONE_ADDRESS: one_address(lists, nodes_by_id(events.plan, BROKER)),
        CONTROLLERS_TOLD: controllers_told(events, views, quiet, recovery_ns),
        HEARD: _heard(events, nodes),
    }
    counts = {clause.name: count for clause, (count, _) in judgements.items()}
    findings = [each for _, found in judgements.values() for each in found]
    figures = {
        "answers": sum(map(answered, events.observations)),
        "unanswered": sum(map(unanswered, events.observations)),
        "epochs": len({each.epoch for each in views}),
    }
    return weighed(counts, findings, figures)


# --- silence ------------------------------------------------------------------------------


def _heard(events: RunEvents, nodes: Nodes) -> Judgement:
    asked: dict[str, list[Operation]] = {name: [] for name in nodes}
    for each in events.observations:
        asked.setdefault(str(each.node), []).append(each)
    stretches = owed_in(events)
    findings = [
        _silence(node, silent)
        for node, own in asked.items()
        for silent in _silences(own, Patience.of(events, stretches, node))
    ]
    enough = sum(min(ANSWERS, sum(map(answered, own))) for own in asked.values())
    return (enough, ANSWERS * len(asked)), findings


@dataclass(frozen=True, slots=True)
class Patience:
    """With one node. `alone`: the stretches in which each fault that held, if any did, left it
    alone, and most of the others, without whom it need not get ready; `calm`: in which none held;
    `starts`: when processes of it were started again."""

    machine: Machine
    recovery_ns: int
    alone: Sequence[Stretch]
    calm: Sequence[Stretch]
    starts: frozenset[int]

    @classmethod
    def of(cls, events: RunEvents, stretches: Sequence[Stretch], node: str) -> Self:
        ended = (each for each in events.faults if each.ends_processes and node in each.nodes)
        return cls(
            machine=events.machines.of_clients(node),
            recovery_ns=recovery_of(events.plan),
            alone=[each for each in stretches if each.calm or node in each.left],
            calm=[each for each in stretches if each.calm],
            starts=frozenset(each.over_ns for each in ended if each.over_ns is not None),
        )

    def ends(self, silent: Sequence[Operation], stretches: Sequence[Stretch]) -> list[Operation]:
        """Of questions in vain that follow each other those within the stretches, if they went on
        for long there: for as long as recovery takes. Of one in which they did not, half counts: a
        node may be disturbed by what becomes of others; but not where it was started, which may
        take all of it."""
        counted, owing = 0, list[Operation]()
        for stretch in stretches:
            own = [each for each in silent if _within(each, stretch)]
            if not own:
                continue
            owing += own
            gave_ns = self.machine.gave_ns(*span_ns(own[0], own[-1]))
            if gave_ns >= self.recovery_ns:
                counted += gave_ns
            elif stretch.begin_ns not in self.starts:
                counted += gave_ns // SHORT
        return owing if len(owing) >= TRIES and counted >= self.recovery_ns else []


def _within(question: Operation, stretch: Stretch) -> bool:
    return stretch.begin_ns <= asked_ns(question) and ended_ns(question) <= stretch.end_ns


def _own_views(asked: Iterable[Operation]) -> list[Operation]:
    return [each for each in asked if each.f == OWN_VIEW]


def _untold(own_view: Operation) -> bool:
    """Each node has a view of its own: whatever it answers instead, or does not, that is none; and
    one that for long has no leader in it does not work."""
    return not own_view.ok or quorum_view(own_view)["leader"] < 0


def _silences(asked: Sequence[Operation], patience: Patience) -> list[Sequence[Operation]]:
    """Questions in vain that followed each other for long: of all, or else of the node's own view,
    for which others may have to elect somebody first."""
    own_views = _own_views(asked)
    return _long(asked, unanswered, partial(patience.ends, stretches=patience.alone)) or _long(
        own_views, _untold, partial(patience.ends, stretches=patience.calm)
    )


def _long(
    asked: Sequence[Operation],
    silent: Callable[[Operation], bool],
    ends: Callable[[Sequence[Operation]], Sequence[Operation]],
) -> list[Sequence[Operation]]:
    groups = [list(group) for is_silent, group in groupby(asked, key=silent) if is_silent]
    return [found for group in groups if (found := ends(group))]


def _silence(node: str, silent: Sequence[Operation]) -> Finding:
    answers = filter(answered, silent)
    codes = sorted({"that nobody leads" if each.ok else str(each.error_code) for each in answers})
    but = f" but {' or '.join(codes)}" if codes else ""
    asked = ", ".join(sorted({each.f for each in silent}))
    return finding(
        f"{node} answered nothing{but} from {asked_ns(silent[0]) / 1e9:.1f} s to "
        f"{ended_ns(silent[-1]) / 1e9:.1f} s, {len(silent)} questions ({asked}) though no fault "
        "stood in the way",
        [silent[0], silent[-1]],
        clause=HEARD.name,
    )


# --- while a run goes on ------------------------------------------------------------------


def told_so_far(events: RunEvents) -> Outcome:
    nodes: Nodes = events.plan.get("nodes") or {}
    views, lists = quorum_views(events), list(broker_lists(events.observations))
    judgements: dict[Clause, Judgement] = {
        ONE_LEADER: one_leader(views, nodes),
        ALL_VOTE: all_vote(views, events.plan),
        ONE_ADDRESS: one_address(lists, nodes_by_id(events.plan, BROKER)),
    }
    counts = {clause.name: count for clause, (count, _) in judgements.items()}
    return weighed(counts, [each for _, found in judgements.values() for each in found])


def kept_so_far(over: RunEvents) -> Kept:
    """Who first named the leader of each epoch, and each broker's address."""
    first: dict[object, Operation] = {}
    for view in quorum_views(over):
        if view.leader >= 0:
            first.setdefault(("epoch", view.epoch), view.operation)
    for each in broker_lists(over.observations):
        for number in each.brokers:
            first.setdefault(("broker", number), each.operation)
    return Kept(
        operations=[each for each in first.values() if each.f == WHO_VOTES],
        observations=[each for each in first.values() if each.f != WHO_VOTES],
    )


class ObservedCluster(RunChecker):
    name = "observed-cluster"
    summary = (
        "What nodes tell anybody fits together: who leads the quorum and how far it is, which "
        "brokers there are and where; and nodes that live answer"
    )
    requires = frozenset({NODE_ANSWERS})
    clauses = CLAUSES
    live = (ONE_LEADER, ALL_VOTE, ONE_ADDRESS)
    check_run = RunCheck(
        observed_cluster, fs=(WHO_VOTES,), observations=True, nemesis=True, faults=True
    )
    so_far = SoFar(RunCheck(told_so_far, fs=(WHO_VOTES,), observations=True), kept_so_far)
