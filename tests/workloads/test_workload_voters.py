"""The `voters` workload's schedule, against a quorum that does what it is asked for, or not."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pytest

from framework.errors import UsageError
from framework.generators import clients, phases, simulate, stagger, time_limit
from framework.history.event import Event
from framework.plugins.capabilities import CHANGING_VOTERS
from framework.plugins.system import NodeSpec
from framework.plugins.workload import WorkloadOptions
from workloads.kafka.operations.voters import RaftVoter, VoterAddress
from workloads.voters import LAST_READS, READ, SETTLE_NS, Voters, VotersOptions

MS = 1_000_000


@dataclass
class Quorum:
    """Callable as a completion function. Of changes a share `lost` is done, or is not, and nobody
    is answered; a share `refused` is not done. `least`: so few ever voted. `leaders`: who leads, in
    turn, each for so many reads as `term`."""

    size: int = 3
    lost: float = 0.0
    refused: float = 0.0
    leaders: Sequence[int] = (1,)
    term: int = 200
    reads: int = 0
    rng: random.Random = field(default_factory=lambda: random.Random(5))

    def __post_init__(self) -> None:
        self.voters = set(range(1, self.size + 1))
        self.least = self.size
        self.wrong: list[Event] = []

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        if op.f == READ:
            self.reads += 1
            return self.rng.randrange(1, 40) * MS, replace(op, type="ok", value=self.view())
        draw, took = self.rng.random(), self.rng.randrange(20, 400) * MS
        if draw < self.refused:
            return took, replace(op, type="fail", error=("X", ""))
        answered = draw >= self.refused + self.lost
        if answered or self.rng.random() < 0.5:
            self.change(op)
        if answered:
            return took, replace(op, type="ok", value=None)
        return 3000 * MS, replace(op, type="info", error=("X", ""))

    def change(self, op: Event) -> None:
        value: Any = op.value
        voter, adds = value["id"], op.f == "add-voter"
        if (voter in self.voters) == adds or bool(value.get("addresses")) != adds:
            self.wrong.append(op)
        self.voters = self.voters | {voter} if adds else self.voters - {voter}
        self.least = min(self.least, len(self.voters))

    @property
    def epoch(self) -> int:
        return self.reads // self.term

    def view(self) -> Any:
        addresses = [{"name": "C", "host": "h", "port": 1}]
        return {
            "leader": self.leaders[self.epoch % len(self.leaders)],
            "leader_epoch": self.epoch,
            "high_watermark": 1,
            "log_end": 1,
            "voters": [
                {"id": each, "directory": f"d{each}", "addresses": addresses}
                for each in sorted(self.voters)
            ],
            "observers": [],
        }


def options(size: int) -> WorkloadOptions:
    nodes = tuple(
        NodeSpec(
            name=f"c{number}",
            roles=frozenset({"controller"}),
            ports={"controller": 1},
            ids={"controller": number},
            votes=True,
        )
        for number in range(1, size + 1)
    )
    capabilities = frozenset({CHANGING_VOTERS})
    return WorkloadOptions(seed=1, threads=3, rate=20.0, capabilities=capabilities, nodes=nodes)


def run(
    quorum: Quorum, *, seed: int = 0, seconds: float = 60, away_s: float = 0.5, **more: Any
) -> list[Event]:
    """The main phase, and what follows. `more`: options of the workload."""
    workload, asked = Voters(VotersOptions(away_s=away_s, **more)), options(quorum.size)
    main = time_limit(seconds, stagger(1 / 20, workload.generator(asked)))
    generator = clients(phases(main, workload.final_generator(asked)))
    return simulate(generator, threads=3, seed=seed, completion=quorum, max_ops=20_000)


def changes(events: Sequence[Event]) -> list[Event]:
    return [each for each in events if each.f != READ]


@pytest.mark.parametrize("size", [3, 5])
def test_each_leaves_and_comes_back_one_at_a_time(size: int) -> None:
    quorum = Quorum(size=size)
    events = run(quorum)
    asked = [each for each in changes(events) if each.type == "invoke"]
    assert len(asked) > 30
    assert [each.f for each in asked[::2]] == ["remove-voter"] * len(asked[::2])
    assert all(
        one.f != other.f and (one.key == other.key or other.f == "remove-voter")
        for one, other in pairwise(asked)
    )
    assert {each.key for each in asked} == {f"voter-{each}" for each in range(1, size + 1)}
    assert not quorum.wrong and quorum.least == size - 1
    assert len(quorum.voters) == size


def test_others_ask_who_votes_meanwhile() -> None:
    events = run(Quorum())
    reads = [each for each in events if each.f == READ and each.type == "invoke"]
    assert len(reads) > 8 * len(changes(events)) / 2


@pytest.mark.parametrize(("away_s", "least_ns"), [(0.0, SETTLE_NS), (2.0, 2_000 * MS)])
def test_a_change_has_its_time(away_s: float, least_ns: int) -> None:
    events = changes(run(Quorum(), away_s=away_s))
    ends = [each.time or 0 for each in events if each.type == "ok"]
    begins = [each.time or 0 for each in events if each.type == "invoke"]
    gaps = [begin - end for end, begin in zip(ends[:-2], begins[1:-1], strict=False)]
    assert least_ns <= min(gaps) < least_ns + 500 * MS


@pytest.mark.parametrize("seed", range(6))
def test_nobody_else_leaves_while_it_is_not_known_that_one_is_back(seed: int) -> None:
    """Whatever becomes of what nobody answered."""
    quorum = Quorum(lost=0.3, refused=0.2, rng=random.Random(seed))
    events = changes(run(quorum, seed=seed, seconds=100))
    assert quorum.least == 2
    turn = None
    for each in events:
        if each.type == "invoke":
            assert turn in (None, each.key)
            turn = each.key
        elif each.type == "ok" and each.f == "add-voter":
            turn = None
    assert sum(each.type == "ok" for each in events) > 20
    assert len(quorum.voters) == 3


def test_in_the_end_all_vote_and_all_are_told() -> None:
    """Also who left just before; what the quorum refuses for ever is tried some times."""
    for seconds in (1.0, 1.3, 1.6, 2.0):
        quorum = Quorum()
        events = run(quorum, seconds=seconds)
        assert len(quorum.voters) == 3
        assert all(each.f == READ for each in events[-2 * LAST_READS :])
    stubborn = Quorum()
    stubborn.voters.discard(2)
    stubborn.refused = 1.0
    workload = Voters()
    workload._met.update({2: _voter(2)})
    events = simulate(clients(workload.final_generator(options(3))), threads=3, completion=stubborn)
    assert 1 < sum(each.f == "add-voter" and each.type == "fail" for each in events) < 6


def _voter(number: int) -> RaftVoter:
    return RaftVoter(id=number, directory="d", addresses=(VoterAddress("C", "h", 1),))


def test_a_time_away_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="away_s=-1: it is from 0 to 3600 s"):
        VotersOptions(away_s=-1)


def test_for_so_long_all_vote() -> None:
    events = run(Quorum(), after_s=30.0)
    first = changes(events)[0].time or 0
    assert 30_000 * MS <= first < 31_000 * MS
    assert sum(each.f == READ and (each.time or 0) < first for each in events) > 100


def asked_to_leave(events: Sequence[Event]) -> Iterator[tuple[int | None, str | None]]:
    """Of each removal, who led by the newest answer so far, and whom it names."""
    leader, epoch = None, -1
    for each in events:
        if each.f == READ and each.type == "ok":
            value: Any = each.value
            if value["leader_epoch"] > epoch:
                leader, epoch = value["leader"], value["leader_epoch"]
        elif each.type == "invoke" and each.f == "remove-voter":
            yield leader, each.key


def test_those_that_are_named_leave_while_they_follow() -> None:
    """By the last leader's word that anybody heard of; where none of them follows, nobody."""
    quorum = Quorum(leaders=(1, 2), term=300)
    events = run(quorum, seconds=100, leaves="c1+c2")
    left: dict[int, set[str | None]] = {}
    for leader, key in asked_to_leave(events):
        assert leader is not None
        left.setdefault(leader, set()).add(key)
    assert left == {1: {"voter-2"}, 2: {"voter-1"}}, "of three, never the third"
    assert not changes(run(Quorum(leaders=(3,)), leaves="c3"))


def test_who_was_named_is_asked_to_leave_again_when_it_does_not_lead_any_more() -> None:
    """A change that nobody answered keeps the turn; a leader is not asked all the same."""
    quorum = Quorum(leaders=(1, 2), term=60, lost=1.0)
    events = run(quorum, seconds=200, leaves="c2")
    asked = list(asked_to_leave(events))
    assert set(asked) == {(1, "voter-2")}
    assert len(asked) > 3


@pytest.mark.parametrize(
    ("leaves", "wrong"), [("c4", "c4"), ("c1+x", "x"), ("c2+c3+C1", "C1"), ("2", "2")]
)
def test_only_who_votes_may_leave(leaves: str, wrong: str) -> None:
    nodes = options(3).nodes
    with pytest.raises(UsageError, match=f"leaves={re.escape(leaves)}: {wrong} is no voter"):
        Voters(VotersOptions(leaves=leaves)).check_nodes(nodes)
    Voters(VotersOptions(leaves="c1 + c3")).check_nodes(nodes)


@pytest.mark.parametrize("wrong", [-0.1, 3601.0])
@pytest.mark.parametrize("option", ["after_s", "away_s"])
def test_times_that_no_run_has_are_refused(option: str, wrong: float) -> None:
    with pytest.raises(ValueError, match=f"{option}={wrong:g}"):
        VotersOptions(**{option: wrong})
