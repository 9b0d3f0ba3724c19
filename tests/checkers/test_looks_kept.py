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

    def judge_run(self, run: Any, budget_s: float) -> Any:
        self.asked.append(sorted(set(run.operations.column("key").to_pylist())))
        return self.own.judge_run(run, budget_s)


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


def changes(topic: str, versions: int, first: int) -> list[bytes]:
    """ISR changes of one partition, each answered at once."""
    state, lines = {"leader": 1, "leader_epoch": 0}, list[bytes]()
    for version in range(versions):
        asked = {
            "topic_id": topic,
            "partition": 0,
            "broker_id": 1,
            "leader_epoch": 0,
            "partition_epoch": version,
            "isr": [1, 2] if version % 2 else [1],
        }
        answer = {**state, "partition_epoch": version + 1, "isr": asked["isr"]}
        begin = first + 2 * version
        lines += [
            event(begin, "invoke", f"{topic}/0", "alter-isr", asked),
            event(begin + 1, "ok", f"{topic}/0", "alter-isr", answer),
        ]
    return lines


def judged_at(folder: Path, lines: list[bytes], memory: Memory) -> list[int]:
    """A look every twenty events: how many operations each judgement was of."""
    name, judged = "isr-linearizability", list[int]()
    checker: Any = CHECKERS[name]

    def counted(events: RunEvents) -> Any:
        judged.append(len(events.operations))
        return checker.check_run.rule(events)

    class Isr(type(checker)):  # type: ignore[misc]
        so_far = replace(checker.so_far, check=replace(checker.check_run, rule=counted))

    ends = stored(folder, lines)
    looks = Looks(folder, {name: Isr()}, memory)
    for end in ends[19::20]:
        list(looks.look(end))
    return judged


def test_a_look_at_a_long_run_is_at_what_is_new(tmp_path: Path) -> None:
    """An ISR that changes again and again: a look judges no more of the hundredth part than of the
    tenth."""
    judged = judged_at(tmp_path, changes("t", 1_000, 0), Memory(lately=20, most=20))
    assert 100 <= len(judged) < 150  # once a look, and what was kept alone, now and then
    assert max(judged[30:]) <= max(judged[:30]) < 100


def test_what_is_gone_is_not_looked_at_again(tmp_path: Path) -> None:
    """One topic after the other: each look is at that which changes, and once more at what is left
    of one that has become quiet."""
    topics = 50
    lines = [each for number in range(topics) for each in changes(f"t{number}", 20, 40 * number)]
    judged = judged_at(tmp_path, lines, Memory(lately=20, most=20))
    assert 2 * topics <= len(judged) <= 4 * topics
    assert sum(judged[-20:]) <= 2 * sum(judged[:20])
    assert max(judged) <= 20


# --- what is judged together --------------------------------------------------------------


def shown(index: int, name: str, leader: int) -> list[bytes]:
    """To who asked for a name: version 3 of partition 0 of one topic, whatever its name is."""
    state = {"leader": leader, "leader_epoch": 0, "partition_epoch": 3}
    partition = {"partition": 0, "replicas": [1, 2], "isr": [1, 2], **state}
    answer = {"topic_id": "x", "partitions": [partition]}
    return [
        event(index, "invoke", name, "describe", None),
        event(index + 1, "ok", name, "describe", answer),
    ]


@pytest.mark.parametrize(("leader", "broken"), [(1, set()), (2, {"versions"})])
def test_what_was_apart_is_judged_together_once_it_is_one(
    tmp_path: Path, leader: int, broken: set[str]
) -> None:
    """A topic that is told of under two names, one of which somebody had asked for before."""
    name = "metadata-answers"
    wish = [
        event(2, "invoke", "b/0", "reassign", {"replicas": [1, 2]}),
        event(3, "ok", "b/0", "reassign", None),
    ]
    ends = stored(tmp_path, [*shown(0, "a", 1), *wish, *shown(4, "b", leader)])
    *_, last = compare({name: CHECKERS[name]}, tmp_path, ends, FORGETFUL)
    assert {clause for (_, clause), (verdict, _) in last.items() if verdict is Verdict.INVALID} == (
        broken
    )
