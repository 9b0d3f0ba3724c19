"""Where voters are, and who follows without a vote, as leaders of the quorum tell clients (KIP-595,
KIP-853)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from checkers.folds.cluster.observed import Judgement, ended_ns
from checkers.folds.history.values import Voter, VotersView, voters_view
from framework.checking.findings import finding
from framework.history.event import Recorded
from framework.history.pairing import Operation
from framework.plugins.checker import CLIENTS, Clause, Finding

PLACES: Final = Clause(
    name="one-place",
    says="Leaders tell one place of each voter, whoever of them is asked, and of no two voters the "
    "same",
    compares="places of voters that leaders tell, beside what was told of them first",
    floor=4,
    because="two voters, told of twice more",
    sources=(CLIENTS,),
    blind="a place that is told wrong from the beginning on; voters that it is not told of",
)
FOLLOWS: Final = Clause(
    name="who-follows",
    says="Who follows without a vote, by a leader's word, is a node of the plan, told of once, and "
    "no voter; and of whom a leader told in its epoch it tells again, as of one or the other",
    compares="answers of leaders that tell of followers",
    floor=4,
    because="two sets of voters, told twice each",
    sources=(CLIENTS,),
    blind="whom a leader leaves out from its first answer on; who is none of the plan, where "
    "clients start further brokers; whom it leaves out once processes are old enough for one of "
    "them to have been silent until it is forgotten",
)
FURTHER_BROKERS: Final = "broker-life-cycles"
"""What a workload provides that starts such."""
FORGOTTEN_S: Final = 300
"""For so long a leader tells of who does not fetch any more (KIP-595)."""

Place: TypeAlias = frozenset[tuple[str, int]]
"""Hosts and ports."""


# --- where voters are ---------------------------------------------------------------------


def places_told(reads: Iterable[Operation]) -> Judgement:
    """`reads`: answers of leaders, in the order of their questions."""
    first: dict[tuple[int, str], tuple[Place, Operation]] = {}
    compared, moved, shared = 0, list[Finding](), list[Finding]()
    for read in reads:
        at: dict[Place, int] = {}
        for voter, place in _places(voters_view(read)):
            known, before = first.setdefault((voter["id"], voter["directory"]), (place, read))
            compared += before is not read
            if place != known:
                moved.append(_moved(voter["id"], (known, before), (place, read)))
            other = at.setdefault(place, voter["id"])
            if place and other != voter["id"]:
                shared.append(_shared(read, other, voter["id"], place))
    return compared, [*moved[:1], *shared[:1]]


def _places(view: VotersView) -> Iterator[tuple[Voter, Place]]:
    """Of those voters of whom it is told."""
    for voter in view["voters"]:
        addresses = voter.get("addresses")
        if addresses is not None:
            yield voter, frozenset((each["host"], each["port"]) for each in addresses)


def _moved(voter: int, *told: tuple[Place, Operation]) -> Finding:
    at = "; then ".join(f"{_text(place)} {_by(read)}" for place, read in told)
    return finding(
        f"voter {voter} is in two places: {at}",
        [read for _, read in told],
        clause=PLACES.name,
    )


def _shared(read: Operation, one: int, other: int, place: Place) -> Finding:
    return finding(
        f"voters {one} and {other} are in one place, {_text(place)} {_by(read)}",
        [read],
        clause=PLACES.name,
    )


def _text(place: Place) -> str:
    return " and ".join(f"{host}:{port}" for host, port in sorted(place)) or "nowhere"


def _by(read: Operation) -> str:
    view = voters_view(read)
    return f"by leader {view['leader']} in epoch {view['leader_epoch']} (operation {read.index})"


# --- who follows --------------------------------------------------------------------------


def followers_told(reads: Sequence[Operation], plan: Mapping[str, Recorded]) -> Judgement:
    """`reads`: answers of leaders, in the order of their questions. One finding of a kind."""
    named = _ids(plan)
    wrong = [found for read in reads if (found := _wrong(read, named)) is not None]
    young = [read for read in reads if ended_ns(read) + _before_ns(plan) < FORGOTTEN_S * 10**9]
    compared = sum(bool(voters_view(read)["observers"]) for read in reads)
    return compared, [*wrong[:1], *list(_left_out(young))[:1]]


def _ids(plan: Mapping[str, Recorded]) -> frozenset[int] | None:
    """Of nodes that may follow; None: of others, too."""
    if FURTHER_BROKERS in (plan.get("provides") or ()):
        return None
    nodes = (plan.get("nodes") or {}).values()
    return frozenset(number for node in nodes for number in (node.get("ids") or {}).values())


def _before_ns(plan: Mapping[str, Recorded]) -> int:
    """How long before the history's zero the first process may have been started."""
    zero, started = plan.get("time_zero"), plan.get("started")
    if not zero or not started:
        return 0
    apart = datetime.fromisoformat(zero) - datetime.fromisoformat(started)
    return round(apart.total_seconds() * 1e9)


def _wrong(read: Operation, named: frozenset[int] | None) -> Finding | None:
    """By itself."""
    view = voters_view(read)
    told = view["observers"]
    voting = {each["id"] for each in view["voters"]}
    if twice := sorted(each for each, times in Counter(told).items() if times > 1):
        wrong = f"tells twice that {twice} follow"
    elif both := sorted(voting & set(told)):
        wrong = f"tells that {both} follow without a vote, and that they vote"
    elif named is not None and (strangers := sorted(set(told) - named)):
        wrong = f"tells that {strangers} follow, and {sorted(named)} are those of the plan"
    else:
        return None
    return finding(f"what is told {_by(read)} {wrong}", [read], clause=FOLLOWS.name)


def _left_out(reads: Sequence[Operation]) -> Iterator[Finding]:
    """Answers without one of whom the same leader had told in its epoch."""
    ended = sorted(reads, key=lambda each: each.end or 0)
    told: dict[tuple[int, int], dict[int, Operation]] = defaultdict(dict)
    at = 0
    for read in reads:
        while ended[at].precedes(read):  # none precedes itself
            before = voters_view(ended[at])
            known = told[before["leader"], before["leader_epoch"]]
            for each in before["observers"]:
                known.setdefault(each, ended[at])
            at += 1
        view = voters_view(read)
        there = {*view["observers"], *(each["id"] for each in view["voters"])}
        for follower, since in told[view["leader"], view["leader_epoch"]].items():
            if follower not in there:
                yield finding(
                    f"{follower} follows, as is told {_by(since)}, and then neither follows nor "
                    f"votes {_by(read)}",
                    [since, read],
                    clause=FOLLOWS.name,
                )
