"""Reading histories: what is accepted, what is forgiven, and how the rest is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from framework.errors import UsageError
from framework.history.reader import read_history


def event(**fields: Any) -> dict[str, Any]:
    return {"type": "invoke", "process": 0, "f": "read", **fields}


def write(path: Path, *lines: Any, end: str = "\n") -> Path:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + end)
    return path


def test_what_observers_asked_is_no_clients(tmp_path: Path) -> None:
    """Also where an operation crashed: who only reads goes on as who it is. A client that somebody
    else named so is none of ours."""
    path = write(
        tmp_path / "h.jsonl",
        event(process="observer:n1", f="what"),
        event(process=0),
        event(type="ok", process="observer:n1", f="what", value=1),
        event(type="ok", process=0, value=2),
        event(process="observer:n1", f="what"),
        event(type="info", process="observer:n1", f="what"),
        event(process="observer", f="what"),
        event(process="observer:n1", f="what"),
    )
    history = read_history(path)
    assert [(each.process, each.result) for each in history.operations] == [
        (0, 2),
        ("observer", None),
    ]
    assert [each.index for each in history.observations] == [0, 4, 7]
    assert {each.process for each in history.observations} == {"observer:n1"}


def test_pairs_each_process_by_itself(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.jsonl",
        event(process=0, f="write", key="x", value=1, time=5),
        event(process=1, key="x"),
        event(type="ok", process=1, key="x", value=1, time=7, node="n1", ext={"epoch": 3}),
        event(type="fail", process=0, f="write", key="x", error=["TIMEOUT", "too late"]),
        event(process=2),
    )
    write_, read, pending = read_history(path).operations
    assert (write_.index, write_.end, write_.type, write_.value) == (0, 3, "fail", 1)
    assert write_.error == ("TIMEOUT", "too late")
    assert (read.index, read.end, read.type, read.result) == (1, 2, "ok", 1)
    assert (read.node, read.ext, read.completed_ns) == ("n1", {"epoch": 3}, 7)
    assert (pending.index, pending.end, pending.type) == (4, None, "info")


def test_clients_may_have_names(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.jsonl",
        event(process="client a", f="write", value=1),
        event(process="0"),
        event(type="ok", process="0", value=1),
        event(type="ok", process="client a", f="write"),
        event(process=0),
    )
    found = [(op.process, op.type, op.end) for op in read_history(path).operations]
    assert found == [("client a", "ok", 3), ("0", "ok", 2), (0, "info", None)]


def test_the_nemesis_is_kept_apart_and_marks_the_final_phase(tmp_path: Path) -> None:
    path = write(
        tmp_path / "h.jsonl",
        event(process="nemesis", f="start-partition"),
        event(process="nemesis", f="start-partition", type="info"),
        event(process=0),
        event(process="nemesis", f="phase", type="info", value="final"),
        event(process=1),
    )
    history = read_history(path)
    assert [op.phase for op in history.operations] == ["main", "final"]
    assert [named.index for named in history.named] == [0, 1, 3]


def test_reads_gzip_and_blank_lines_and_given_indices(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl.gz"
    lines = [event(index=0), event(type="ok", index=1, value=None)]
    path.write_bytes(gzip.compress(("\n\n".join(map(json.dumps, lines)) + "\n\n").encode()))
    assert [op.end for op in read_history(path).operations] == [1]


def test_an_info_leaves_the_process_free(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", event(), event(type="info"), event(), event(type="ok"))
    assert [op.type for op in read_history(path).operations] == ["info", "ok"]


@pytest.mark.parametrize("half", ['{"type":"ok","process":0,"f":"re', "{", '{"f":"\u00e9'])
def test_a_half_last_line_leaves_its_operation_pending(tmp_path: Path, half: str) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(
        (json.dumps(event()) + "\n" + half).encode()[: -1 if "\u00e9" in half else None]
    )
    history = read_history(path)
    assert [op.type for op in history.operations] == ["info"]
    assert "h.jsonl:2" in history.notes[0] and "cut short" in history.notes[0]


def test_a_whole_last_line_needs_no_newline(tmp_path: Path) -> None:
    path = write(tmp_path / "h.jsonl", event(), event(type="ok"), end="")
    history = read_history(path)
    assert [op.type for op in history.operations] == ["ok"] and not history.notes


GOOD = event()


@pytest.mark.parametrize(
    ("lines", "number", "wrong"),
    [
        (["nonsense"], 1, "not a JSON object"),
        ([GOOD, '{"type":"ok","pro', event(process=1)], 2, "cut short"),
        ([GOOD, '{"type":"ok","pro'], 2, "cut short"),
        ([GOOD, "[1, 2]"], 2, "not a JSON object"),
        (["NaN"], 1, "not a JSON object"),
        (["[" * 100_000], 1, "not a JSON object"),
        ([{"process": 0, "f": "read"}], 1, "type is missing"),
        ([event(type="begin")], 1, 'type is "begin"'),
        ([{"type": "invoke", "f": "read"}], 1, "process is missing"),
        ([event(process=1.5)], 1, "process is 1.5"),
        ([event(process=True)], 1, "process is true"),
        ([{"type": "invoke", "process": 0}], 1, "f is missing"),
        ([event(f=3)], 1, "f is 3"),
        ([event(type="ok")], 1, "no open operation"),
        ([GOOD, event(type="ok"), event(type="ok")], 3, "no open operation"),
        ([GOOD, event(process=1), event()], 3, "at most one open operation"),
        ([GOOD, event(type="ok", f="write")], 2, "repeats f and key"),
        ([event(key="a"), event(type="ok", key="b")], 2, "repeats f and key"),
        ([event(time=5), event(process=1, time=4)], 2, "time goes back from 5 to 4"),
        ([event(time=5), event(process=1), event(process=2, time=4)], 3, "goes back"),
        ([event(time="now")], 1, "integer, in ns"),
        ([event(time=2**70)], 1, "64 bits"),
        ([event(index=1)], 1, "it must be 0"),
        ([event(index=0), event(process=1, index=2)], 2, "it must be 1"),
        ([event(index=0), event(process=1, index=True)], 2, "it must be 1"),
        ([event(node=3)], 1, "node is 3"),
        ([event(ext=[])], 1, "ext is []"),
    ],
)
def test_refuses_with_one_line(tmp_path: Path, lines: list[Any], number: int, wrong: str) -> None:
    path = write(tmp_path / "h.jsonl", *lines)
    with pytest.raises(UsageError) as refusal:
        read_history(path)
    message = str(refusal.value)
    assert message.startswith(f"{path}:{number}: ")
    assert wrong in message
    assert "\n" not in message


def test_refuses_a_file_without_events(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    for content in (b"", b"\n\n", b'{"type"'):
        path.write_bytes(content)
        with pytest.raises(UsageError, match="no events"):
            read_history(path)
        assert not read_history(path, allow_empty=True).operations


def test_refuses_what_is_no_file_no_gzip_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_history(tmp_path / "nowhere.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        read_history(tmp_path)
    whole = gzip.compress(
        b"".join(json.dumps(event(process=i)).encode() + b"\n" for i in range(99))
    )
    for content in (b"plain", whole[:-20], whole[:30] + b"\0" * 30 + whole[60:]):
        path = tmp_path / "h.jsonl.gz"
        path.write_bytes(content)
        with pytest.raises(UsageError, match=r"not a whole gzip file|not a JSON"):
            read_history(path)
    path = tmp_path / "h.jsonl"
    path.write_bytes(b'{"type":"\xff"}\n')
    with pytest.raises(UsageError, match=":1: not a JSON object"):
        read_history(path)
