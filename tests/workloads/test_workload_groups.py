"""The `groups` workload's schedule, against an in-memory group."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from importlib import metadata
from typing import Any

import pytest
from histories import pairs

from checkers.groups import groups
from framework.evidence.run_events import RunEvents
from framework.generators import clients, limit, phases, simulate, stagger, time_limit
from framework.history.event import NEMESIS, Event
from framework.history.pairing import PHASE, Pairing
from framework.plugins.outcomes import PRESENT, STALE
from framework.plugins.system import NodeSpec
from framework.plugins.workload import WorkloadOptions
from framework.verdict import Verdict
from workloads.groups import EARLY, GROUP, LISTINGS, PATIENCE, SIMPLE, TRIALS, Groups, GroupsOptions

KEYS = GroupsOptions().keys
THREADS = 6
MOST_RECORDS = 10
LOCAL = ("leave", "crash")
SAYS = {
    "TOPIC_ALREADY_EXISTS": PRESENT,
    "ILLEGAL_GENERATION": STALE,
    "FENCED_INSTANCE_ID": STALE,
    "GROUP_SUBSCRIBED_TO_TOPIC": PRESENT,
}
MAIN = 1500
"""Operations before the final phase."""


class ReferenceGroup:
    """Callable as a completion function: partitions as lists, and one group that rebalances at
    once. `lose`: the share of operations whose answer is lost, half of them after they took effect;
    whoever asked is then no member any more; none is lost from operation `calm` on. `forget`:
    commits are lost now and then; `old_generations`: their commits are taken. `waits`: the share of
    joins and assignments that are told nothing yet, whose member stays all the same. `unfenced`:
    former processes of static members do as they like; `restless`: the share of their returns that
    begin a generation. `undeleted`: what is deleted stays; `rash`: also what a group with
    members committed is deleted."""

    def __init__(
        self,
        *,
        lose: float = 0.0,
        calm: int = 10**9,
        forget: float = 0.0,
        old_generations: bool = False,
        waits: float = 0.0,
        unfenced: bool = False,
        restless: float = 0.0,
        undeleted: bool = False,
        rash: bool = False,
    ) -> None:
        self.rng = random.Random(1)
        self.unfenced, self.restless = unfenced, restless
        self.static: dict[str, dict[str, Any]] = {}
        """Group -> what its static member is told; no id where there is none."""
        self.undeleted, self.rash = undeleted, rash
        self.simple: dict[str, int] = {}
        """What was committed for the group without members."""
        self.waits = waits
        self.calm = calm
        self.lose, self.forget, self.old_generations = lose, forget, old_generations
        self.logs: dict[str, list[int]] = {key: [] for key in KEYS}
        self.topics: set[str] = set()
        self.generation = 0
        self.members: dict[str, Any] = {}
        """Name -> the process that it is."""
        self.committed: dict[str, int] = {}
        self.most = 0

    def __call__(self, op: Event, n: int) -> tuple[int, Event]:
        lost = n < self.calm and self.rng.random() < self.lose and op.f not in LOCAL
        unknown = replace(op, type="info", value=None, error=("CLIENT_TIMED_OUT", ""))
        if lost and self.rng.random() < 0.5:
            self._gone(op.process)
            return 2_000_000_000, unknown
        done = self._do(op)
        if lost:
            self._gone(op.process)
            return 2_000_000_000, unknown
        return self.rng.randrange(10**6, 10**8), done

    def _gone(self, process: Any) -> None:
        names = [name for name, owner in self.members.items() if owner == process]
        for name in names:
            del self.members[name]
            self.generation += 1

    def _do(self, op: Event) -> Event:
        value = op.value if isinstance(op.value, dict) else {}
        of = self._of_instance if "instance" in value else None
        result: Any = (of or getattr(self, "_" + op.f.replace("-", "_")))(op)
        if isinstance(result, str):
            ext = {"asserts": SAYS[result]} if result in SAYS else None
            return replace(op, type="fail", value=None, error=(result, ""), ext=ext)
        return replace(op, type="ok", value=result)

    def _of_instance(self, op: Event) -> Any:
        name, group = op.value["member"], op.value["group"]
        now = self.static.setdefault(group, {"id": None, "generation": 0, "part": None})
        if op.f == "join":
            if now["id"] is None or self.rng.random() < self.restless:
                now |= {"generation": now["generation"] + 1, "part": name}
            now["id"] = f"id-{name}"
            return {**now, "assigned": [], "positions": []}
        if now["id"] != op.value["id"] and not self.unfenced:
            return "FENCED_INSTANCE_ID"
        if op.f == "leave":
            now |= {"id": None, "generation": now["generation"] + 1}
        elif op.f == "commit":
            now["committed"] = op.value["offset"]
            return op.value
        return {}

    def _create(self, op: Event) -> Any:
        if op.key in self.topics:
            return "TOPIC_ALREADY_EXISTS"
        self.topics.add(str(op.key))
        return {"topic_id": "t"}

    def _produce(self, op: Event) -> Any:
        log = self.logs[str(op.key)]
        log.append(op.value["value"])
        return {**op.value, "offset": len(log) - 1}

    def _list_offsets(self, op: Event) -> Any:
        return {"offset": len(self.logs[str(op.key)])}

    def _metadata(self, op: Event) -> Any:
        return None

    def _join(self, op: Event) -> Any:
        self.members[op.value["member"]] = op.process
        self.most = max(self.most, len(self.members))
        self.generation += 1
        return self._assignment(op)

    def _assignment(self, op: Event) -> Any:
        name = op.value["member"]
        if self.members.get(name) != op.process:
            return "NO_MEMBER"
        if self.rng.random() < self.waits:
            return "NOT_ASSIGNED"
        at, names = sorted(self.members).index(name), len(self.members)
        keys = KEYS[at::names]
        return {
            "generation": self.generation,
            "assigned": keys,
            "positions": [[key, self.committed.get(key, 0)] for key in keys],
            "id": f"id-{name}",
        }

    def _fetch(self, op: Event) -> Any:
        log, at = self.logs[str(op.key)], op.value["from"]
        if "group" in op.value and not self._current(op):
            return "REBALANCED"
        records = [[at + n, value] for n, value in enumerate(log[at : at + MOST_RECORDS])]
        reported = {"records": records, "position": at + len(records)}
        if "group" in op.value and records:
            return reported
        return {**reported, "high_watermark": len(log), "log_start": 0, "leader_epoch": 0}

    def _commit(self, op: Event) -> Any:
        if op.value["group"] == SIMPLE:
            self.simple[str(op.key)] = op.value["offset"]
            return op.value
        if "id" in op.value:
            if not self.old_generations:
                return "ILLEGAL_GENERATION"
        elif not self._current(op):
            return "REBALANCED"
        if self.rng.random() >= self.forget:
            self.committed[str(op.key)] = op.value["offset"]
        return op.value

    def _current(self, op: Event) -> bool:
        mine = self.members.get(op.value["member"]) == op.process
        return mine and op.value["generation"] == self.generation

    def _committed(self, op: Event) -> Any:
        if op.value["group"] in self.static:
            return {"offset": self.static[op.value["group"]].get("committed")}
        if op.value["group"] == SIMPLE:
            return {"offset": self.simple.get(str(op.key))}
        return {"offset": self.committed.get(str(op.key))}

    def _forget(self, op: Event) -> Any:
        if op.value["group"] == GROUP and self.members and not self.rash:
            return "GROUP_SUBSCRIBED_TO_TOPIC"
        if not self.undeleted:
            of = self.simple if op.value["group"] == SIMPLE else self.committed
            of.pop(str(op.key), None)
        return None

    def _groups(self, op: Event) -> Any:
        asked = op.value or {}
        if "states" in asked or "consumer" in asked.get("types", ()):
            return {"groups": []}
        return {"groups": [[group, "Stable", "classic"] for group in (GROUP, *self.static)]}

    def _leave(self, op: Event) -> Any:
        self._gone(op.process)
        return {"member": op.value["member"]}

    _crash = _leave


OPTIONS = WorkloadOptions(
    seed=0,
    threads=THREADS,
    rate=50.0,
    nodes=[NodeSpec(name="b1", roles=frozenset({"broker"}), ports={})],
)


def run(group: ReferenceGroup, *, seed: int = 0, operations: int = MAIN) -> list[Event]:
    """The main phase, and the final one."""
    workload = Groups()
    main = limit(operations, stagger(1 / 50, workload.generator(OPTIONS)))
    generator = clients(phases(main, workload.final_generator(OPTIONS)))
    return simulate(generator, threads=THREADS, seed=seed, completion=group, max_ops=10**5)


def main_phase(group: ReferenceGroup, *, operations: int = MAIN) -> list[Event]:
    return simulate(
        clients(stagger(1 / 50, Groups().generator(OPTIONS))),
        threads=THREADS,
        completion=group,
        max_ops=operations,
    )


def judged(history: list[Event]) -> Any:
    """By the checker; the final phase begins with the final consumer's first fetch."""
    pairing = Pairing()
    for index, event in enumerate(history):
        value = event.value if isinstance(event.value, dict) else {}
        if event.type == "invoke" and value.get("consumer") == "final":
            marked = Event(type="info", process=NEMESIS, f=PHASE, value="final")
            pairing.add(marked)
        pairing.add(replace(event, index=index))
    return groups(
        RunEvents(operations=pairing.operations, evidence=[], nemesis=[], faults=[], plan={})
    )


def test_every_kind_of_operation_happens() -> None:
    group = ReferenceGroup()
    history = main_phase(group)
    seen = Counter((op.f, end.type) for op, end in pairs(history))
    for f in ("produce", "fetch", "commit", "committed", "list-offsets", "forget", "groups"):
        assert seen[f, "ok"] > 15, seen
    for f in ("join", "assignment", "leave", "crash"):
        assert seen[f, "ok"] >= 2, seen
    assert 0 < group.most <= GroupsOptions().members
    produced = [e.value["value"] for e in history if e.type == "invoke" and e.f == "produce"]
    assert len(set(produced)) == len(produced)


def test_nothing_comes_before_the_topics() -> None:
    history = main_phase(ReferenceGroup(), operations=50)
    first = next(n for n, event in enumerate(history) if event.f != "create")
    created = {event.key for event in history[:first] if event.type == "ok"}
    assert created == set(GroupsOptions().names)


def test_a_member_goes_on_from_where_it_was_reported_and_commits_what_it_read() -> None:
    position: dict[tuple[str, int, str], int] = {}
    moves = commits = 0
    for op, end in pairs(run(ReferenceGroup(lose=0.02))):
        value = op.value if isinstance(op.value, dict) else {}
        if "instance" in value or value.get("group") == SIMPLE:
            continue
        if op.f in ("join", "assignment") and end.type == "ok":
            for key, at in end.value["positions"]:
                position[op.value["member"], end.value["generation"], key] = at
            continue
        if op.f not in ("fetch", "commit") or "group" not in op.value:
            continue
        where = (op.value["member"], op.value["generation"], str(op.key))
        if op.f == "fetch":
            assert op.value["from"] == position[where]
            if end.type == "ok":
                position[where] = end.value["position"]
                moves += 1
        elif "id" not in op.value:
            assert "zombie" not in op.value
            assert op.value["offset"] == position[where]
            commits += 1
    assert moves > 50 and commits > 25


def test_who_commits_under_another_name_is_in_an_older_generation() -> None:
    newest, stale = -1, 0
    for event in main_phase(ReferenceGroup()):
        if event.type == "ok" and event.f in ("join", "assignment") and "part" not in event.value:
            newest = max(newest, event.value["generation"])
        elif event.type == "invoke" and event.f == "commit" and is_former(event.value):
            assert event.value["generation"] < newest
            assert event.value["offset"] > 0
            assert event.value["zombie"] == "former"
            stale += 1
    assert stale > 25


def is_former(value: dict[str, Any]) -> bool:
    """A commit under the name of a member of the group that several have."""
    return "id" in value and "instance" not in value and value["group"] == GROUP


def test_a_static_member_is_restarted_and_its_former_processes_speak_up() -> None:
    """Each operation under the id that its process was given, the zombies' after another was."""
    given: dict[str, str] = {}
    latest: dict[str, str] = {}
    seen = Counter[str]()
    for op, end in pairs(main_phase(ReferenceGroup(lose=0.05), operations=3000)):
        if not isinstance(op.value, dict) or "instance" not in op.value:
            continue
        group, member = op.value["group"], op.value["member"]
        if op.f == "join":
            assert member not in given and "id" not in op.value
            given[member] = end.value["id"] if end.type == "ok" else ""
            latest[group] = member if end.type == "ok" else ""
            continue
        assert op.value["id"] == given[member] != ""
        assert (latest[group] == member) == ("zombie" not in op.value)
        assert latest[group] != "" or op.f == "leave"
        seen["zombie" if "zombie" in op.value else op.f] += 1
        if op.f == "leave":
            latest[group] = ""
    assert min(seen[each] for each in ("zombie", "beat", "commit")) > 20 and seen["leave"] > 2, seen


@pytest.mark.parametrize("lose", [0.0, 0.05])
def test_in_the_end_the_group_has_read_and_committed_everything(lose: float) -> None:
    group = ReferenceGroup(lose=lose, calm=MAIN)
    history = run(group)
    assert group.committed == {key: len(log) for key, log in group.logs.items()}
    asked = {
        str(op.key): end.value
        for op, end in pairs(history)
        if op.f == "committed" and op.value["group"] == GROUP
    }
    assert asked == {key: {"offset": len(log)} for key, log in group.logs.items()}


def test_who_commits_as_nobody_never_goes_back_nor_beyond_the_end() -> None:
    """And what was committed is deleted, and asked for."""
    ends: dict[str, int] = {}
    before: dict[str, int] = {}
    seen = Counter[str]()
    for event in main_phase(ReferenceGroup()):
        key = str(event.key)
        if event.f == "produce" and event.type == "ok":
            ends[key] = max(ends.get(key, 0), event.value["offset"] + 1)
        value = event.value if isinstance(event.value, dict) else {}
        if event.type != "invoke" or value.get("group") != SIMPLE:
            continue
        seen[event.f] += 1
        if event.f == "commit":
            assert before.get(key, 0) <= value["offset"] <= ends.get(key, 0)
            assert (value["generation"], value["member"], value["id"]) == (-1, "", "")
            before[key] = value["offset"]
    assert min(seen[f] for f in ("commit", "forget", "committed")) > 8, seen
    assert sum(offset > 0 for offset in before.values()) == len(KEYS)


def test_brokers_are_asked_for_some_of_their_groups() -> None:
    asked = [op.value for op, _ in pairs(main_phase(ReferenceGroup())) if op.f == "groups"]
    assert {} in asked
    assert {tuple(each.get("types", ())) for each in asked} == {(), ("classic",), ("consumer",)}
    assert {len(each.get("states", ())) for each in asked} == {0, 1, 2}


def test_in_the_end_somebody_would_delete_and_each_broker_lists_its_groups() -> None:
    """What a group with a member has stays; what another one had is gone."""
    nodes = [NodeSpec(name=name, roles=frozenset({"broker"}), ports={}) for name in ("b1", "b2")]
    final = clients(Groups().final_generator(replace(OPTIONS, nodes=nodes)))
    group = ReferenceGroup()
    group.topics = set(GroupsOptions().names)
    group.committed, group.simple = dict.fromkeys(KEYS, 0), dict.fromkeys(KEYS, 0)
    seen = list(pairs(simulate(final, threads=THREADS, completion=group, max_ops=10**4)))
    forgets = [(op.value["group"], end.type) for op, end in seen if op.f == "forget"]
    assert forgets == [(GROUP, "fail")] * TRIALS + [(SIMPLE, "ok")]
    mine = [
        (op.f, op.key)
        for op, _ in seen
        if op.f in ("forget", "commit") and op.value["group"] == GROUP
    ]
    tried = [(f, key) for key in KEYS[:TRIALS] for f in ("forget", "commit")]
    assert mine == tried, "and it commits again what it had"
    told = {
        (op.value["group"], op.key): end.value["offset"] for op, end in seen if op.f == "committed"
    }
    assert [told[GROUP, key] for key in KEYS] == [0] * len(KEYS)
    assert [told[SIMPLE, key] for key in KEYS] == [None, *[0] * (len(KEYS) - 1)]
    assert [op.node for op, _ in seen if op.f == "groups"] == ["b1", "b2"] * LISTINGS


def test_the_final_phase_ends_though_nothing_is_answered() -> None:
    final = clients(Groups().final_generator(OPTIONS))
    group = ReferenceGroup(lose=1.0)
    history = simulate(final, threads=THREADS, completion=group, max_ops=10**4)
    assert 0 < len(history) < 200


@pytest.mark.parametrize("seed", range(20))
def test_the_final_phase_asks_for_all_whatever_is_not_answered(seed: int) -> None:
    """The member's process goes with an answer, also with that to somebody else's deletion."""
    group = ReferenceGroup(lose=0.2)
    group.rng = random.Random(seed)
    group.topics = set(GroupsOptions().names)
    group.committed, group.simple = dict.fromkeys(KEYS, 0), dict.fromkeys(KEYS, 0)
    final = clients(Groups().final_generator(OPTIONS))
    seen = list(pairs(simulate(final, threads=THREADS, completion=group, max_ops=10**4)))
    assert sum(op.f == "forget" and op.value["group"] == GROUP for op, _ in seen) == TRIALS
    asked = {(op.value["group"], op.key) for op, _ in seen if op.f == "committed"}
    assert asked >= {(name, key) for name in (GROUP, SIMPLE) for key in KEYS}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lose", [0.0, 0.05])
def test_a_group_that_keeps_its_promises_is_valid(seed: int, lose: float) -> None:
    outcome = judged(run(ReferenceGroup(lose=lose, calm=MAIN), seed=seed))
    assert outcome.verdict is Verdict.VALID, [each.message for each in outcome.findings]
    assert outcome.clauses["delivered"] > 200


@pytest.mark.parametrize(
    ("group", "says"),
    [
        (ReferenceGroup(old_generations=True), "a commit of generation"),
        (ReferenceGroup(forget=0.2), "is told that"),
        (ReferenceGroup(unfenced=True), "was taken from a former process"),
        (ReferenceGroup(restless=0.1), "came back in generation"),
        (ReferenceGroup(undeleted=True), "had committed nothing any more"),
        (ReferenceGroup(rash=True), "was deleted (operation"),
    ],
)
def test_a_group_that_does_not_is_found_out(group: ReferenceGroup, says: str) -> None:
    outcome = judged(run(group))
    assert outcome.verdict is Verdict.INVALID
    assert any(says in each.message for each in outcome.findings)


def test_who_is_answered_nothing_in_time_goes_on_waiting_and_leaves_in_the_end() -> None:
    """Twice at most: then another one takes its place, and nobody waits for who vanished."""
    waited: dict[str, int] = {}
    in_turn = Counter[int]()
    for op, end in pairs(main_phase(ReferenceGroup(waits=0.6))):
        if op.f not in ("join", "assignment", "leave", "crash") or "instance" in op.value:
            continue
        name = op.value["member"]
        before = waited.pop(name, 0)
        assert op.f != "crash" or not before, "who waits does not vanish"
        assert (op.f == "leave") >= (before == PATIENCE), "who has waited for long leaves"
        assert op.f != "leave" or before in (0, PATIENCE), "nor does it leave early"
        assert (op.f == "join") <= (not before), "who waits is not begun anew"
        if end.type == "fail":
            waited[name] = before + 1
        in_turn[waited.get(name, 0)] += 1
    assert max(in_turn) == PATIENCE and min(in_turn[each] for each in range(PATIENCE + 1)) > 2


@pytest.mark.parametrize("seed", range(3))
def test_a_group_whose_members_have_to_wait_is_valid(seed: int) -> None:
    outcome = judged(run(ReferenceGroup(waits=0.4), seed=seed))
    assert outcome.verdict is Verdict.VALID, [each.message for each in outcome.findings]


@pytest.mark.parametrize("seed", range(5))
def test_a_short_run_has_generations_that_are_over(seed: int) -> None:
    """Also where joining takes a second: within the first third of 20 s."""
    group = ReferenceGroup()

    def slowly(op: Event, n: int) -> tuple[int, Event]:
        took, done = group(op, n)
        return (10**9 if op.f == "join" else took), done

    main = time_limit(6.6, stagger(1 / 20, Groups().generator(OPTIONS)))
    history = simulate(clients(main), threads=THREADS, seed=seed, completion=slowly, max_ops=10**4)
    outcome = judged(history)
    assert outcome.clauses["generations-rise"] >= 2
    assert outcome.clauses["old-generations-refused"] >= 2
    departed = [op.f for op, _ in pairs(history) if op.f in LOCAL and "instance" not in op.value]
    assert departed[:EARLY] == ["leave"] * EARLY


def test_the_seed_fixes_the_schedule() -> None:
    assert run(ReferenceGroup(), seed=5) == run(ReferenceGroup(), seed=5)
    assert run(ReferenceGroup(), seed=5) != run(ReferenceGroup(), seed=6)


def test_without_the_library_of_its_members_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Groups().lacking() is None

    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    for version, there in ((absent, "none is"), (lambda name: "2.0.2", "2.0.2 is")):
        monkeypatch.setattr(metadata, "version", version)
        lacks = Groups().lacking()
        assert lacks is not None
        assert there in lacks and lacks.endswith("pip install 'kafka-python>=3'")
