"""Looks at a run that goes on come to what a judgement of all of its beginning comes to: of every
story that checkers' own tests plant a violation in, behind another story and in random cuts, with
as much forgotten as may be, by one worker or by several; and of stored registers and topics."""

import importlib
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.histories import cell
from benchmarks.history_files import events_of, write_lines
from framework.checking.live import clauses_so_far
from framework.checking.looks import Looks, Memory, looked_again
from framework.checking.prefixes import (
    LiveCheckers,
    judged_prefix,
    live_checkers,
    prefix,
)
from framework.checking.run_checks import RunChecker
from framework.evidence.run_events import RunEvents
from framework.history.event import Event, is_observer
from framework.history.jsonl import encode
from framework.history.pairing import Operation
from framework.plugins import registry
from framework.testing.story import Story
from framework.verdict import Verdict

CHECKERS: Final = live_checkers(registry.names("checkers"))
RULES: Final = sorted(name for name, each in CHECKERS.items() if isinstance(each, RunChecker))
FORGETFUL: Final = Memory(lately=0, most=0)
LOOKS: Final = 3


def stories(name: str) -> dict[str, Any]:
    module = importlib.import_module(f"test_{name.replace('-', '_')}")
    planted = {violation: plant.story for violation, plant in module.PLANTED.items()}
    return {"clean": module.clean, **planted}


def lines_of(stories: Iterable[Story]) -> list[bytes]:
    """Their events, those of one story behind those of the one before."""
    events: list[tuple[int, int, Operation, bool]] = []
    for number, story in enumerate(stories):
        told = story.run_events()
        for each in (*told.operations, *told.observations):
            events.append((number, each.index, each, True))
            if each.end is not None:
                events.append((number, each.end, each, False))
    events.sort(key=lambda each: each[:2])
    names: dict[int, str] = {}
    found = []
    for index, (_, _, each, begins) in enumerate(events):
        mine = f"observer:{index}" if is_observer(each.process) else f"client-{index}"
        process = names.setdefault(id(each), mine)
        event = Event(
            type="invoke" if begins else each.type,
            process=process,
            f=each.f,
            index=index,
            key=each.key,
            value=each.value if begins else each.result,
            error=None if begins else each.error,
            node=each.node,
            ext=each.ext,
        )
        found.append(encode(event))
    return found


def stored(folder: Path, lines: Sequence[bytes], plan: object = None) -> list[int]:
    """The ends of its lines."""
    plan = {"seed": 1, "workloads": [], "nodes": {}, "time_zero_ns": 0, **dict(plan or {})}  # type: ignore[call-overload]
    (folder / "plan.json").write_text(json.dumps(plan))
    (folder / "history.jsonl").write_bytes(b"".join(lines))
    return [sum(map(len, lines[: each + 1])) for each in range(len(lines))]


Said = dict[tuple[str, str], tuple[Verdict, str]]


def said(checkers: LiveCheckers, tables: Iterable[Any]) -> Said:
    rows = [row for table in tables for row in table.to_pylist()]
    return {
        (each.checker, each.clause): (each.verdict, each.why)
        for each in clauses_so_far(checkers, rows)
    }


def whole(checkers: LiveCheckers, folder: Path, end: int) -> Said:
    return said(checkers, judged_prefix(prefix("r", folder, end), checkers))


def compare(
    checkers: LiveCheckers, folder: Path, ends: Iterable[int], memory: Memory
) -> Iterator[Said]:
    """Each look beside all of the beginning: the same clauses hold, the same are broken. Where one
    broke, others that only what was forgotten shows may be said at the next look."""
    looks = Looks(folder, checkers, memory)
    for end in ends:
        wanted = verdicts(whole(checkers, folder, end))
        first = verdicts(said(checkers, looks.look(end)))
        later = said(checkers, looks.look(end))
        assert broken(first) <= broken(wanted)
        assert first.keys() - broken(wanted) == wanted.keys() - broken(wanted)
        assert bool(broken(first)) == bool(broken(wanted))
        assert verdicts(later) == wanted
        assert all(why for verdict, why in later.values() if verdict is Verdict.INVALID)
        yield later


def verdicts(found: Said) -> dict[tuple[str, str], Verdict]:
    return {clause: verdict for clause, (verdict, _) in found.items()}


def broken(found: dict[tuple[str, str], Verdict]) -> set[tuple[str, str]]:
    return {clause for clause, verdict in found.items() if verdict is Verdict.INVALID}


def pairs() -> Iterator[Any]:
    for name in RULES:
        for story in stories(name):
            yield pytest.param(name, story, id=f"{name}: {story}")


@pytest.mark.parametrize(("name", "story"), list(pairs()))
def test_looks_say_what_the_whole_says(tmp_path: Path, name: str, story: str) -> None:
    """Half of them behind a clean story."""
    rng, known = random.Random(f"{name} {story}"), stories(name)
    first = known[rng.choice(["clean", rng.choice(list(known))])]()
    told = first.run_events()
    lines = lines_of([first, known[story]()])
    ends = stored(tmp_path, lines, told.plan)
    cuts = sorted({*rng.sample(ends, min(LOOKS, len(ends))), ends[-1]})
    assert list(compare({name: CHECKERS[name]}, tmp_path, cuts, FORGETFUL))


@pytest.mark.parametrize("name", RULES)
def test_each_live_clause_is_broken_in_some_look(tmp_path: Path, name: str) -> None:
    """So that the test above can fail."""
    checkers, seen = {name: CHECKERS[name]}, set[str]()
    for number, story in enumerate(stories(name).values()):
        folder = tmp_path / str(number)
        folder.mkdir()
        made = story()
        ends = stored(folder, lines_of([made]), made.run_events().plan)
        for found in compare(checkers, folder, ends[-1:], FORGETFUL):
            seen |= {clause for _, clause in broken(verdicts(found))}
    assert seen == {each.name for each in CHECKERS[name].live}


@pytest.mark.parametrize("plant", [None, "stale"])
@pytest.mark.parametrize("seed", range(3))
def test_looks_at_registers(tmp_path: Path, plant: str | None, seed: int) -> None:
    path = tmp_path / "made.jsonl"
    keys = [
        cell(30, 4, seed=seed + key, info=0.1, plant=plant if key else None) for key in range(3)
    ]
    write_lines(events_of(keys, seed), path)
    ends = stored(tmp_path, path.read_bytes().splitlines(keepends=True))
    cuts = sorted({*random.Random(seed).sample(ends, LOOKS), ends[-1]})
    checkers = {"register-linearizability": CHECKERS["register-linearizability"]}
    *_, last = compare(checkers, tmp_path, cuts, FORGETFUL)
    assert [verdict for verdict, _ in last.values()] == [
        Verdict.INVALID if plant else Verdict.VALID
    ]


def test_a_worker_that_is_lost_or_finds_another_history_begins_anew(tmp_path: Path) -> None:
    name = "isr-linearizability"
    checkers, story = {name: CHECKERS[name]}, stories(name)["clean"]()
    lines = lines_of([story, story])
    ends = stored(tmp_path, lines, story.run_events().plan)
    for end in (ends[len(ends) // 2], ends[-1], ends[9], ends[9], ends[-1]):  # 9: from the start
        assert said(checkers, looked_again(tmp_path, checkers, end)) == whole(
            checkers, tmp_path, end
        )
    bad = next(each for key, each in stories(name).items() if key != "clean")()
    ends = stored(tmp_path, lines_of([bad]), bad.run_events().plan)
    found = said(checkers, looked_again(tmp_path, checkers, ends[-1]))
    assert found == whole(checkers, tmp_path, ends[-1])
    assert Verdict.INVALID in [verdict for verdict, _ in found.values()]


# --- what a look costs: operations that are judged, not seconds ---------------------------


class Counting:
    """Judges registers, and notes which keys it was asked to judge."""

    name = "register-linearizability"

    def __init__(self) -> None:
        self.own: Any = CHECKERS[self.name]
        self.clauses, self.live, self.fs = self.own.clauses, self.own.live, self.own.fs
        self.asked: list[list[str]] = []

    def judge_prefix(self, run: Any, budget_s: float) -> Any:
        self.asked.append(sorted(set(run.operations.column("key").to_pylist())))
        return self.own.judge_prefix(run, budget_s)


def event(index: int, type: str, key: str, f: str = "write", value: object = 1) -> bytes:
    return encode(Event(type=type, process=key, f=f, key=key, value=value, index=index))  # type: ignore[arg-type]


def test_keys_of_which_nothing_is_new_are_not_judged_again(tmp_path: Path) -> None:
    lines = [
        *(event(0, "invoke", "a"), event(1, "ok", "a"), event(2, "invoke", "b")),
        *(event(3, "invoke", "a"), event(4, "ok", "a")),
        event(5, "ok", "b"),
        *(event(6, "invoke", "c", "other"), event(7, "ok", "c", "other")),
    ]
    ends = stored(tmp_path, lines)
    checker: Any = Counting()
    looks = Looks(tmp_path, {checker.name: checker})
    for end in (ends[2], ends[4], ends[5], ends[5], ends[7]):
        list(looks.look(end))
    assert checker.asked == [['"a"', '"b"'], ['"a"'], ['"b"']]


def test_a_look_at_a_long_run_is_at_what_is_new(tmp_path: Path) -> None:
    """An ISR that changes again and again: a look judges no more of the hundredth part than of the
    tenth."""
    name, judged = "isr-linearizability", list[int]()
    checker: Any = CHECKERS[name]

    def counted(events: RunEvents) -> Any:
        judged.append(len(events.operations))
        return checker.check_run.rule(events)

    class Isr(type(checker)):  # type: ignore[misc]
        so_far = replace(checker.so_far, check=replace(checker.check_run, rule=counted))

    lines, ends = list[bytes](), list[int]()
    state = {"leader": 1, "leader_epoch": 0}
    for version in range(1_000):
        asked = {
            "topic_id": "t",
            "partition": 0,
            "broker_id": 1,
            "leader_epoch": 0,
            "partition_epoch": version,
            "isr": [1, 2] if version % 2 else [1],
        }
        answer = {**state, "partition_epoch": version + 1, "isr": asked["isr"]}
        lines += [
            event(2 * version, "invoke", "t/0", "alter-isr", asked),
            event(2 * version + 1, "ok", "t/0", "alter-isr", answer),
        ]
    ends = stored(tmp_path, lines)
    looks = Looks(tmp_path, {name: Isr()}, Memory(lately=20, most=20))
    for end in ends[19::20]:
        list(looks.look(end))
    assert 100 <= len(judged) < 150  # once a look, and what was kept alone, now and then
    assert max(judged[30:]) <= max(judged[:30]) < 100
