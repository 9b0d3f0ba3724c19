"""A history that is written is read on from where the last reading ended."""

import json
import random
from pathlib import Path

import pytest

from framework.errors import UsageError
from framework.history.growing import Growing
from framework.history.ranges import Range
from framework.history.reader import operations_of, read_ranges


def line(index: int, type: str, process: object, f: str = "write", value: object = None) -> str:
    event = {"index": index, "time": index, "type": type, "process": process, "f": f, "key": "x"}
    return json.dumps(event | {"value": value}) + "\n"


def made(seed: int, events: int = 120) -> list[str]:
    """Clients, an observer and the nemesis; some operations last long, and some for ever."""
    rng = random.Random(seed)
    lines, opened = list[str](), set[object]()
    processes = [0, 1, 2, "a", "observer:n1"]
    for index in range(events):
        process = rng.choice(processes)
        if rng.random() < 0.1:
            named = ("phase", "final") if index > events // 2 else ("heal", None)
            lines.append(line(index, "info", "nemesis", *named))
        elif process not in opened:
            opened.add(process)
            lines.append(line(index, "invoke", process, value=index))
        else:
            opened.discard(process)
            lines.append(line(index, rng.choice(["ok", "fail", "info"]), process))
    return lines


@pytest.mark.parametrize("seed", range(20))
def test_readings_together_have_what_one_reading_has(tmp_path: Path, seed: int) -> None:
    lines, path = made(seed), tmp_path / "history.jsonl"
    path.write_text("".join(lines))
    rng = random.Random(-seed)
    cuts = sorted({*rng.sample(range(1, len(lines)), 12), len(lines)})
    growing, ended, nemesis = Growing(path), [], []
    for cut in [cuts[0], *cuts]:  # the first twice: nothing is new then
        end = len("".join(lines[:cut]))
        grown = growing.read(end)
        ended += operations_of(grown.ended)
        nemesis += grown.nemesis.to_pylist()
        whole = read_ranges([Range(str(path), 0, 0, 0, end)])
        wanted = [*operations_of(whole.operations), *operations_of(whole.observations)]
        found = [*ended, *operations_of(grown.pending)]
        assert sorted(found, key=lambda each: each.index) == sorted(
            wanted, key=lambda each: each.index
        )
        assert nemesis == whole.nemesis.to_pylist()
        assert growing.events == cut and growing.is_as_read()


def test_another_history_in_its_place_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(line(0, "invoke", 0) + line(1, "ok", 0))
    growing = Growing(path)
    growing.read(path.stat().st_size)
    path.write_text(line(0, "invoke", 0) + line(1, "no", 0))
    assert not growing.is_as_read()
    path.write_text("")
    assert not growing.is_as_read()


def test_what_is_wrong_behind_what_was_read_is_told_by_its_line(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text(line(0, "invoke", 0) + line(1, "ok", 0))
    growing = Growing(path)
    growing.read(path.stat().st_size)
    with path.open("a") as file:
        file.write(line(2, "ok", 0))
    with pytest.raises(UsageError, match=r"history\.jsonl:3: .*no open operation"):
        growing.read(path.stat().st_size)
