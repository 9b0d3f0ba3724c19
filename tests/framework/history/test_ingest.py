"""Reading in ranges, as columns, is reading line by line: on random files, whole and broken."""

import gzip
import json
import random
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from framework.errors import UsageError
from framework.history import events, ranges, reader
from framework.history.columns import SCHEMA, write_parquet
from framework.history.event import is_observer
from framework.history.lines import HalfLine, Malformed, event_of, parse
from framework.history.pairing import Operation, Pairing, PairingError
from framework.history.pieces import read_pieces

Columns: TypeAlias = list[dict[str, list[Any]]]


def one_by_one(content: bytes) -> tuple[list[Operation], str]:
    """The definition: the operations of clients, and what is wrong, if anything."""
    pairing, index, now, number = Pairing(), 0, None, 0
    try:
        for line in BytesIO(content):
            number += 1
            if line.isspace():
                continue
            event = event_of(parse(line), index, now)
            pairing.add(event)
            index += 1
            now = now if event.time is None else event.time
    except HalfLine:
        pass
    except (Malformed, PairingError) as error:
        return [], f"{number}: {error}"
    asked = [each for each in pairing.operations if not is_observer(each.process)]
    return (asked, "") if index else ([], "no events")


def in_ranges(path: Path, size: int) -> tuple[list[Operation], str]:
    try:
        return reader.operations_of(reader.read([path], size=size).operations), ""
    except UsageError as error:
        return [], str(error)


def in_pieces(path: Path, size: int) -> tuple[Columns, str]:
    """Operations, observations and what the nemesis did; what is wrong, if anything."""
    asked: list[pa.Table] = []
    observed: list[pa.Table] = []

    def take(one: pa.Table, other: pa.Table) -> None:
        asked.append(one)
        observed.append(other)

    try:
        found = read_pieces([path], take, size=size)
    except UsageError as error:
        return [], str(error)
    assert found.notes == reader.read([path], size=size).notes
    whole = (pa.concat_tables(asked), pa.concat_tables(observed), found.nemesis)
    return [table.to_pydict() for table in whole], ""


def at_once(path: Path, size: int) -> tuple[Columns, str]:
    """As `in_pieces`, by a reader that holds all of it."""
    try:
        found = reader.read([path], size=size)
    except UsageError as error:
        return [], str(error)
    whole = (found.operations, found.observations, found.nemesis)
    return [table.to_pydict() for table in whole], ""


def agree(path: Path, content: bytes, size: int, *, causes: bool = True) -> None:
    """`causes`: also on what is wrong; where several things are, ranges may meet another first."""
    path.write_bytes(content)
    expected, wrong = one_by_one(content)
    found, message = in_ranges(path, size)
    assert in_pieces(path, size)[0] == at_once(path, size)[0]
    assert bool(in_pieces(path, size)[1]) == bool(message)
    if not causes:
        assert bool(wrong) == bool(message) and found == expected, (wrong, message)
        return
    assert (wrong in message and bool(wrong) == bool(message)) and found == expected, (
        wrong,
        message,
    )


TEXTS = st.text(max_size=4) | st.sampled_from(["x", "a b", "é", "\x7f", '"', "\\", "\ud800", ""])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
JSONS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
PROCESSES = st.integers(0, 3) | st.sampled_from(["0", "a", "nemesis", "\u00e9", -1, "observer:n1"])


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A well-formed history in somebody's hand: spaces, escapes, fields in any order."""
    pending: dict[Any, dict[str, Any]] = {}
    found: list[bytes] = []
    now = draw(st.integers(-5, 5))
    indexed, timed = draw(st.booleans()), draw(st.booleans())
    for index in range(draw(st.integers(0, 12))):
        process = draw(PROCESSES)
        event: dict[str, Any]
        if process == "nemesis":
            event = {"type": "info", "f": draw(st.sampled_from(["phase", "kill"]))}
            event["value"] = draw(st.sampled_from(["final", "main", None]))
        elif process in pending:
            event = {"type": draw(st.sampled_from(["ok", "fail", "info"]))}
            event |= pending.pop(process)
            if draw(st.booleans()):
                event.pop("key", None)
            if draw(st.booleans()):
                event["error"] = draw(st.sampled_from([["CODE", "m"], "text", [1, 2], {}, [], 3]))
        else:
            event = {"type": "invoke", "f": draw(TEXTS.filter(bool))}
            if draw(st.booleans()):
                event["key"] = draw(JSONS)
            pending[process] = dict(event)
            del pending[process]["type"]
        event["process"] = process
        for name, values in (
            ("value", JSONS),
            ("node", TEXTS | st.none()),
            ("ext", st.dictionaries(TEXTS, JSONS, max_size=2) | st.none()),
            ("other", JSONS),
        ):
            if name not in event and draw(st.booleans()):
                event[name] = draw(values)
        if timed and draw(st.booleans()):
            now += draw(st.integers(0, 3))
            event["time"] = now
        if indexed and draw(st.booleans()):
            event["index"] = index
        names = draw(st.permutations(list(event)))
        text = json.dumps(
            {name: event[name] for name in names},
            ensure_ascii=draw(st.booleans()) or "\\ud" in json.dumps(event),
            separators=draw(st.sampled_from([(",", ":"), (", ", ": "), ("\t,", " :\r")])),
        )
        found.append(text.encode())
        if draw(st.integers(0, 9)) == 0:
            found.append(draw(st.sampled_from([b"", b"  ", b"\t\r", b"\x0b"])))
    return b"\n".join(found) + draw(st.sampled_from([b"\n", b"", b"\n\n"]))


SETTINGS = settings(
    max_examples=35, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SETTINGS
@given(content=lines(), size=st.sampled_from([1, 50, 150, 1_000_000]))
def test_sound_files(tmp_path: Path, content: bytes, size: int) -> None:
    agree(tmp_path / "h.jsonl", content, size)


@SETTINGS
@given(content=lines(), size=st.sampled_from([1, 50, 150, 1_000_000]), data=st.data())
def test_broken_files(tmp_path: Path, content: bytes, size: int, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content)))
        cut = data.draw(st.integers(0, 3))
        put = data.draw(st.sampled_from([b"", b"\n", b'"', b"{", b"1", b",", b"\xff", b"e", b"-"]))
        content = content[:at] + put + content[at + cut :]
    agree(tmp_path / "h.jsonl", content, size)


@SETTINGS
@given(content=lines(), data=st.data())
def test_lines_left_out_or_said_twice(tmp_path: Path, content: bytes, data: st.DataObject) -> None:
    """What only the lines before can show to be wrong."""
    whole = content.splitlines(keepends=True) or [b"\n"]
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at : at + 1] = data.draw(st.sampled_from([[], [whole[at]] * 2, whole[at : at + 2][::-1]]))
    size = data.draw(st.sampled_from([1, 60, 200]))
    agree(tmp_path / "h.jsonl", b"".join(whole), size, causes=False)


@SETTINGS
@given(content=lines())
def test_the_compiled_scan_sees_what_python_sees(content: bytes) -> None:
    """Where it does not give up."""
    if (scanned := events._scanned(content)) is None:
        return
    read = events._read(content)
    assert len(scanned) == len(read)
    for name in ("processes", "f", "key", "value", "error_code", "error_message", "node", "ext"):
        assert getattr(scanned, name).to_pylist() == getattr(read, name).to_pylist(), name
    for name in ("types", "timed"):
        assert getattr(scanned, name).tolist() == getattr(read, name).tolist()
    assert (scanned.times * scanned.timed).tolist() == (read.times * read.timed).tolist()


def journal(operations: int, clients: int = 7, seed: int = 1) -> bytes:
    """Whole lines of a run of ours."""
    draw = random.Random(seed)
    found: list[dict[str, Any]] = []
    busy: dict[int, dict[str, Any]] = {}
    while len(found) < 2 * operations:
        process = draw.randrange(clients)
        event: dict[str, Any] = {"index": len(found), "time": 10 * len(found), "type": "invoke"}
        if process in busy:
            event["type"] = draw.choice(["ok", "ok", "fail", "info"])
            event |= busy.pop(process)
            event["ext"] = {"offset": len(found), "epoch": 3}
        else:
            key = f"k{draw.randrange(5)}"
            busy[process] = {"process": process, "f": "write", "key": key, "value": len(found)}
            event |= busy[process]
        found.append(event)
    return "".join(json.dumps(event) + "\n" for event in found).encode()


def test_lines_gzip_and_parquet_hold_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = journal(2_000)
    plain, packed = tmp_path / "h.jsonl", tmp_path / "h.jsonl.gz"
    plain.write_bytes(content)
    packed.write_bytes(gzip.compress(content))
    events_file = tmp_path / "events.parquet"
    write_parquet(content.splitlines(keepends=True), events_file)
    expected = reader.read([plain])
    assert reader.operations_of(expected.operations) == one_by_one(content)[0]
    monkeypatch.setattr(ranges, "RANGE_BYTES", 9_000)
    monkeypatch.setattr(ranges, "RANGE_ROWS", 1)
    for path in (packed, events_file, plain):
        found = reader.read([path], size=9_000)
        assert found.operations.to_pydict() == expected.operations.to_pydict(), path
        assert in_pieces(path, 9_000) == at_once(path, 9_000), path
    assert len(SCHEMA) == 11


def test_few_operations_are_held_at_once(tmp_path: Path) -> None:
    """But for those that wait for one that is open."""
    path = tmp_path / "h.jsonl"
    most: list[int] = []
    path.write_bytes(journal(4_000))
    read_pieces([path], lambda asked, _: most.append(len(asked)), size=9_000)
    assert len(most) > 50 and max(most) < 200 and sum(most) == len(at_once(path, 9_000)[0][0]["f"])


def test_what_stays_open_holds_back_what_follows(tmp_path: Path) -> None:
    whole = journal(500).splitlines(keepends=True)
    late = [json.loads(line) | {"index": n + 1} for n, line in enumerate(whole)]
    begun = {"index": 0, "time": 0, "type": "invoke", "process": 99, "f": "write", "key": "k"}
    ended = begun | {"index": len(late) + 1, "type": "ok", "time": late[-1]["time"]}
    path = tmp_path / "h.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in [begun, *late, ended]))
    pieces: list[pa.Table] = []
    read_pieces([path], lambda asked, _: pieces.append(asked), size=9_000)
    assert pieces[0].column("end")[0].as_py() == len(late) + 1
    assert pa.concat_tables(pieces).to_pydict() == at_once(path, 9_000)[0][0]


def test_planted_faults_deep_in_a_compressed_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranges, "RANGE_BYTES", 9_000)
    content = journal(2_000).splitlines(keepends=True)
    path = tmp_path / "h.jsonl.gz"
    for at, line in [(3_000, b'{"type":'), (3_500, content[3_499]), (3_999, b"[]\n")]:
        broken = b"".join([*content[:at], line, *content[at + 1 :]])
        path.write_bytes(gzip.compress(broken))
        _, wrong = one_by_one(broken)
        with pytest.raises(UsageError) as refusal:
            reader.read([path])
        assert str(refusal.value) == f"{path}:{wrong}"
