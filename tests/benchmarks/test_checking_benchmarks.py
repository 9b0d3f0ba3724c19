"""The benchmarks of checking run for real, on small cells. No time is asserted."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from benchmarks.checking import __main__ as command
from benchmarks.checking import worth
from benchmarks.checking.cells import OTHERS, Cell, grid, named, quick
from benchmarks.checking.child import Outcome, ProcessorBudget, decided_sets
from benchmarks.checking.measured import Measured
from benchmarks.checking.peer import SOURCE, Unavailable, porcupine, rows_of
from benchmarks.checking.runner import Limits, Row, run
from benchmarks.checking.summary import table
from benchmarks.checking.targets import TARGETS
from checkers.linearizability.decide import decide
from checkers.linearizability.decision import DEFAULT_BYTES, Budget
from checkers.linearizability.encoded import NEVER
from checkers.linearizability.methods.grow_only import METHOD as GROW_ONLY
from checkers.linearizability.methods.table import METHODS

pytestmark = pytest.mark.xdist_group("checking-benchmarks")


def test_the_grid_is_the_one_that_was_asked_for() -> None:
    every = list(grid())
    assert len({cell.name for cell in every}) == len(every)
    assert all(named(cell.name) == cell for cell in every)
    cells = [cell for cell in every if cell.name not in OTHERS]
    assert len(every) == len(cells) + len(OTHERS)
    assert {cell.keys for cell in cells} == {1, 100}
    assert {cell.operations for cell in cells} == {1_000, 10_000, 100_000, 1_000_000}
    assert {cell.clients for cell in cells} == {5, 20, 100}
    assert {cell.info for cell in cells} == {0.0, 0.01, 0.05}
    plants = {(cell.model, cell.plant) for cell in cells}
    assert plants >= {("register", each) for each in ("none", "phantom", "stale", "burst")}
    assert plants >= {("queue", each) for each in ("none", "swap", "lost", "repeat", "empty")}
    assert set(quick()) < set(every)
    assert len(TARGETS) >= 8


@pytest.mark.parametrize("model", ["register", "queue"])
def test_every_kind_of_small_cell_has_the_verdict_that_it_is_made_for(model: str) -> None:
    for cell in grid():
        if (cell.model, cell.operations, cell.info) == (model, 1_000, 0.0) and cell.clients == 5:
            verdicts = {decide(key, Budget(10)).decision.verdict.value for key in cell.histories()}
            assert cell.expected in verdicts
            assert cell.expected == "INVALID" or verdicts == {"VALID"}


@pytest.mark.parametrize("name", [name for name in OTHERS if name.split("/")[2] != "10000"])
def test_cells_of_other_objects_have_the_verdicts_that_they_are_made_for(name: str) -> None:
    cell = named(name)
    if cell.sets():
        assert [each.verdict.value for each in decided_sets(cell.sets())] == [cell.expected]
    else:
        (history,) = cell.histories()
        assert (
            decide(history, ProcessorBudget(60, DEFAULT_BYTES)).decision.verdict.value
            == cell.expected
        )


@pytest.mark.parametrize("plant", ["none", "lost"])
def test_a_set_that_grows_is_the_same_by_its_transitions(plant: str) -> None:
    for seed in range(20):
        cell = Cell("grow-only-set", 1, 60, 3, None, 0.1, plant, seed)
        (history,), (made,) = cell.histories(), decided_sets(cell.sets())
        assert decide(history, ProcessorBudget(60, DEFAULT_BYTES)).decision.verdict is made.verdict
        assert made.verdict.value == cell.expected


def test_where_the_log_has_a_string_s_operations_explains_it() -> None:
    (history,) = Cell("logged-kv", 1, 200, 5, 3).histories()
    along = decide(history, ProcessorBudget(60, DEFAULT_BYTES)).along
    assert along is not None and along.verdict.value == "VALID"


def test_every_method_has_a_cell_of_the_grid_that_shows_what_it_is_for() -> None:
    assert set(worth.CELLS) == {*(method.name for method in METHODS), GROW_ONLY}
    assert {name for names in worth.CELLS.values() for name in names} <= {
        cell.name for cell in grid()
    }


def test_a_line_says_what_is_lost_without_a_method(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = "grow-only-set/1/40/3/unique/0/none"
    monkeypatch.setattr(worth, "CELLS", {GROW_ONLY: [cell]})
    worth.main([])
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.startswith(f"| grow-only set | `{cell}` | VALID ")
    assert line.endswith(", wgl |")


@pytest.mark.parametrize("plant", ["swap", "lost", "repeat", "empty"])
def test_a_violation_in_a_queue_is_one_also_where_nearly_all_overlaps(plant: str) -> None:
    for seed in range(5):
        for info in (0.0, 0.05):
            (history,) = Cell("queue", 1, 1_000, 100, None, info, plant, seed).histories()
            assert decide(history, Budget(10)).decision.verdict.value == "INVALID"


def test_a_queue_without_a_place_for_a_violation_says_so() -> None:
    for plant in ("swap", "lost", "empty"):
        with pytest.raises(ValueError, match=r"no two|too few|no place"):
            Cell("queue", 1, 12, 100, plant=plant).histories()


def test_keys_have_events_of_their_own() -> None:
    cell = Cell("register", 100, 2_000, 3, 5, 0.05)
    histories = cell.histories()
    events = np.concatenate([np.concatenate((key.call, key.ret)) for key in histories])
    events = events[events != NEVER]
    assert len(histories) == 100
    assert len(np.unique(events)) == len(events)
    rows = rows_of(histories)
    assert (np.diff(rows["call"]) > 0).all()
    assert set(rows["key"].tolist()) == set(range(100))


def test_cells_run_in_processes_of_their_own() -> None:
    cells = [Cell("queue", plant="lost"), Cell(info=0.05, plant="burst")]
    for row in run(cells, Limits(10)):
        assert row.ours.verdict == row.cell.expected, row.ours.note
        assert row.ours.seconds > 0
        assert row.ours.peak_bytes >= row.ours.before_bytes > 1 << 20
        assert sum(row.ours.methods.values()) == 1
        assert row.complaint == ""


def test_from_a_file_to_the_verdict() -> None:
    (row,) = run([Cell(plant="phantom")], Limits(10), None, "here")
    assert row.ours.end_to_end_verdict == "INVALID", row.ours.note
    assert row.ours.end_to_end_s is not None
    assert row.ours.end_to_end_s > row.ours.seconds


def test_what_is_complained_of() -> None:
    quick_enough = Outcome("VALID", 0.001, 0, 0)
    assert Row(Cell(), quick_enough).complaint == ""
    assert Row(Cell(plant="burst"), quick_enough).complaint == "wrong"
    assert Row(Cell(), quick_enough, Measured("VALID", 0.03, 0, "")).complaint == ""
    assert Row(Cell(), quick_enough, Measured("VALID", 0.004, 0, "")).complaint == ""
    assert Row(Cell(), quick_enough, Measured("VALID", 0.01, 0, "")).complaint == "only 10.0 times"
    assert Row(Cell(), quick_enough, Measured("INVALID", 0.01, 0, "")).complaint == "wrong"
    assert Row(Cell(), quick_enough, Measured("time", 10, 0, "")).complaint == ""
    assert Row(Cell(), Outcome("UNKNOWN", 1, 0, 0)).complaint == "no answer"


def test_groups_of_cells_tell_the_worst() -> None:
    rows = [
        Row(Cell(), Outcome("VALID", 0.001, 1 << 20, 0, {"a": 1}), Measured("VALID", 0.03, 0, "")),
        Row(Cell(info=0.05), Outcome("VALID", 0.002, 0, 0, {"b": 1}), Measured("time", 2, 0, "")),
        Row(Cell(), Outcome("VALID", 1e-4, 0, 0), Measured("VALID", 0.001, 0, "")),
        Row(Cell(keys=100), Outcome("VALID", 0.5, 0, 0, {"b": 100})),
    ]
    _, _, *lines = table(rows)
    assert lines == [
        "| register 1,000, 1, 5, unique | 3 | 2 ms, 1 MiB | a, b | 30 times (of 30 ms); "
        "1 that take it less than 5 ms; 1 without its answer in 1,000 times as long |",
        "| register 1,000, 100, 5, unique | 1 | 500 ms, 0 MiB | b | not asked |",
    ]


def test_the_command_prints_a_line_a_cell(capsys: pytest.CaptureFixture[str]) -> None:
    command.main(
        [
            "--no-porcupine",
            "--cells",
            "register/1/1000/5/unique/0/none",
            "queue/1/600/3/unique/0/swap",
        ]
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("register/1/1000/5/unique/0/none: VALID ")
    assert lines[1].startswith("queue/1/600/3/unique/0/swap: INVALID ")
    assert lines[-1] == "2 cells, 0 not as they should be"


def test_no_other_checker_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"no porcupine-check on the PATH, and no go"):
        porcupine(tmp_path)


STAND_IN = """
package porcupine
import "time"
type Operation struct {
	ClientId int
	Input interface{}
	Call int64
	Output interface{}
	Return int64
}
type Model struct {
	Partition func([]Operation) [][]Operation
	Init func() interface{}
	Step func(state, input, output interface{}) (bool, interface{})
}
type CheckResult string
// In the order of the calls: right for histories without overlaps.
func CheckOperationsTimeout(m Model, history []Operation, _ time.Duration) CheckResult {
	for _, part := range m.Partition(history) {
		state := m.Init()
		for _, each := range part {
			ok, next := m.Step(state, each.Input, each.Output)
			if !ok {
				return "Illegal"
			}
			state = next
		}
	}
	return "Ok"
}
"""


def test_our_go_program_reads_histories_and_has_the_models(tmp_path: Path) -> None:
    """Against a stand-in for the library, so that it is built wherever Go is."""
    source, folder = tmp_path / "source", tmp_path / "build"
    source.mkdir()
    folder.mkdir()
    (source / "go.mod").write_text("module github.com/anishathalye/porcupine\ngo 1.18\n")
    (source / "stand_in.go").write_text(STAND_IN)
    if not shutil.which("go"):
        with pytest.raises(Unavailable, match="and no go"):
            porcupine(folder, source)
        return
    built = porcupine(folder, source)
    assert (SOURCE / "go.mod").read_text() != (folder / "go.mod").read_text()
    for cell in (
        Cell("register", 3, 300, 1),
        Cell("register", 1, 1_000, 1, 5, plant="phantom"),
        Cell("register", 3, 3_000, 1, 5, plant="phantom"),
        Cell("queue", 3, 300, 1),
        Cell("queue", 1, 1_000, 1, plant="swap"),
        Cell("queue", 1, 1_000, 1, plant="empty"),
    ):
        file = tmp_path / "rows"
        file.write_bytes(rows_of(cell.histories()).tobytes())
        found = built.check(cell.model, file, 10, 1_000, runs=2)
        assert found.verdict == cell.expected
        assert found.peak_bytes > 1 << 20
