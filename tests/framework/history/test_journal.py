"""What the journal writes, and what is left of it when its writer is killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framework.errors import EngineError
from framework.history.columns import BATCH_ROWS, SCHEMA
from framework.history.event import Event
from framework.history.journal import Journal, seal
from framework.history.jsonl import compact, encode

ROOT = Path(__file__).parents[3]


def event(index: int, **fields: Any) -> Event:
    return Event(**{"index": index, "type": "invoke", "process": 0, "f": "read", **fields})


def test_a_line_is_as_the_format_shows() -> None:
    invoke = event(0, time=1203, f="create", key="t1", value={"partitions": 3})
    assert encode(invoke) == (
        b'{"index":0,"time":1203,"type":"invoke","process":0,"f":"create","key":"t1",'
        b'"value":{"partitions":3}}\n'
    )
    answer: dict[str, Any] = {"value": {"topic_id": "Aé"}, "ext": {"epoch": 4, "offset": 118}}
    ok = event(1, time=9911, type="ok", f="create", key="t1", **answer)
    assert (
        encode(ok)
        == (
            '{"index":1,"time":9911,"type":"ok","process":0,"f":"create","key":"t1",'
            '"value":{"topic_id":"Aé"},"ext":{"epoch":4,"offset":118}}\n'
        ).encode()
    )
    fail = event(2, type="fail", process="nemesis", error=("CODE", "why"), node="b1")
    assert encode(fail) == (
        b'{"index":2,"type":"fail","process":"nemesis","f":"read",'
        b'"error":["CODE","why"],"node":"b1"}\n'
    )


def test_only_fields_that_are_set() -> None:
    assert encode(Event(type="invoke", process=3, f="read")) == (
        b'{"type":"invoke","process":3,"f":"read"}\n'
    )
    for falsy in (0, False, "", [], {}):
        assert json.loads(encode(event(0, key=falsy, value=falsy)))["value"] == falsy


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(JSON, JSON, st.text(), st.none() | st.tuples(st.text(), st.text()), st.integers())
def test_any_json_is_one_line_that_reads_back(
    key: Any, value: Any, f: str, error: tuple[str, str] | None, process: int
) -> None:
    fields: dict[str, Any] = {"process": process, "f": f, "key": key, "value": value}
    line = encode(event(5, **fields, error=error, node=f, ext={f: value}))
    given = {"index": 5, "type": "invoke", **fields, "error": error, "node": f, "ext": {f: value}}
    shown = {name: value for name, value in given.items() if value is not None}
    assert line.decode() == f"{compact(shown)}\n"
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    back = json.loads(line)
    assert (back.get("key"), back.get("value"), back["f"]) == (key, value, f)
    assert back.get("error") == (list(error) if error else None)


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), float("inf"), "\ud800", object()])
def test_what_is_not_json_is_refused_and_nothing_written(tmp_path: Path, value: Any) -> None:
    with Journal(tmp_path) as journal:
        with pytest.raises((TypeError, ValueError)):
            journal.write(event(0, value=value))
        journal.write(event(0, value=1))
    assert len((tmp_path / "history.jsonl").read_bytes().splitlines()) == 1


def test_lines_are_there_as_soon_as_written(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for index in range(3):
            assert journal.next_index == index
            journal.write(event(index))
            lines = (tmp_path / "history.jsonl").read_text().splitlines()
            assert [json.loads(line)["index"] for line in lines] == list(range(index + 1))


def test_events_out_of_turn_are_refused(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.write(event(0))
        for index in (-1, 0, 2):
            with pytest.raises(ValueError, match="out of turn: 1 is next"):
                journal.write(event(index))


def test_a_history_is_never_written_over(tmp_path: Path) -> None:
    Journal(tmp_path).close()
    with pytest.raises(EngineError, match=r"history\.jsonl: cannot begin a history \(File exists"):
        Journal(tmp_path)
    with pytest.raises(EngineError, match="No such file"):
        Journal(tmp_path / "nowhere")


def test_sealing_writes_columns(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.write(event(0, time=5, f="create", key="t1", value={"partitions": 3}))
    journal.write(
        event(1, time=9, type="fail", key=None, error=("CODE", "why"), node="b1", ext={"epoch": 4})
    )
    journal.write(event(2, process="nemesis", key=0, value=False))
    journal.close()
    part = seal(tmp_path)
    assert part == tmp_path / "history" / "part-00000.parquet"
    table = pq.read_table(part)
    assert table.schema.equals(SCHEMA)
    nothing = dict.fromkeys(SCHEMA.names)
    assert table.to_pylist() == [
        nothing
        | {"index": 0, "time": 5, "type": "invoke", "process": "0", "f": "create"}
        | {"key": '"t1"', "value": '{"partitions":3}'},
        nothing
        | {"index": 1, "time": 9, "type": "fail", "process": "0", "f": "read", "node": "b1"}
        | {"error_code": "CODE", "error_message": "why", "ext": '{"epoch":4}'},
        nothing
        | {"index": 2, "type": "invoke", "process": "nemesis", "f": "read"}
        | {"key": "0", "value": "false"},
    ]
    assert [path.name for path in part.parent.iterdir()] == [part.name]
    assert seal(tmp_path) == part  # again is no harm


def test_sealing_an_empty_history(tmp_path: Path) -> None:
    Journal(tmp_path).close()
    assert pq.read_table(seal(tmp_path)).num_rows == 0


def test_sealing_goes_in_batches(tmp_path: Path) -> None:
    count = BATCH_ROWS + 10
    with (tmp_path / "history.jsonl").open("wb") as file:
        file.writelines(encode(event(index)) for index in range(count))
    part = pq.ParquetFile(seal(tmp_path))
    assert part.num_row_groups == 2
    assert part.read().column("index").to_pylist() == list(range(count))


KILLED = """
import sys, threading, time
from dataclasses import replace
from pathlib import Path
from framework.generators import clients, op, repeat
from framework.history.journal import Journal
from framework.run.interpreter import run

class Client:
    def invoke(self, op):
        return replace(op, type="ok", value="x" * 3000)
    def close(self):
        pass

def on_event(event):
    print(event.index, flush=True)

run(clients(repeat(op("write", "k", "y" * 3000))), open_client=lambda thread: Client(),
    nemesis=Client(), journal=Journal(Path(sys.argv[1])), threads=5, seed=0,
    clock=time.monotonic_ns, stop=threading.Event(), on_event=on_event)
"""


def test_a_killed_harness_leaves_whole_lines(tmp_path: Path) -> None:
    """Everything that the run told of was in the file, in whole lines, when it was killed."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        reported = -1
        while reported < 2000:
            reported = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        reported = max([reported, *(int(line) for line in process.stdout if line.endswith("\n"))])
    assert process.returncode == -signal.SIGKILL
    data = (tmp_path / "history.jsonl").read_bytes()
    assert data.endswith(b"\n")
    lines = [json.loads(line) for line in data.splitlines()]
    assert [line["index"] for line in lines] == list(range(len(lines)))
    assert len(lines) > reported
    assert pq.read_table(seal(tmp_path)).num_rows == len(lines)


def test_half_a_line_at_the_end_is_left_out_of_the_columns(tmp_path: Path) -> None:
    (tmp_path / "history.jsonl").write_bytes(encode(event(0)) + encode(event(1))[:20])
    assert pq.read_table(seal(tmp_path)).num_rows == 1
