"""Looks at a run that goes on come to what a judgement of all of its beginning comes to: of every
story that checkers' own tests plant a violation in, behind another story and in random cuts, with
as much forgotten as may be, by one worker or by several."""

import importlib
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from framework.checking.live import clauses_so_far
from framework.checking.looks import Looks, Memory
from framework.checking.prefixes import (
    LiveCheckers,
    judged_prefix,
    live_checkers,
    prefix,
)
from framework.checking.run_checks import RunChecker
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
    cuts = sorted({rng.choice(ends), *ends[-LOOKS:]})  # what breaks is told last, most of the time
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
