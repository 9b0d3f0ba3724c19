"""What looks at a run that goes on keep, and what they cost (`test_looks` has what they say)."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_looks import CHECKERS, FORGETFUL, LOOKS, compare, lines_of, said, stored, stories, whole

from benchmarks.histories import cell
from benchmarks.history_files import events_of, write_lines
from framework.checking.looks import Looks, Memory, looked_again
from framework.evidence.run_events import RunEvents
from framework.history.event import Event
from framework.history.jsonl import encode
from framework.verdict import Verdict


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


def event(index: int, type: str, key: str, f: str = "write", value: object = 1) -> bytes:
    return encode(Event(type=type, process=key, f=f, key=key, value=value, index=index))  # type: ignore[arg-type]


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
