"""`check` on files and folders: verdicts, exit codes, output and refusals."""

import gzip
import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from framework.cli import check as command
from framework.cli.check import check
from framework.errors import UsageError

ROOT = Path(__file__).parents[3]


@pytest.fixture
def here(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` in this process uses the tests' own session."""

    @contextmanager
    def running(master: str, large: bool = False) -> Any:
        yield spark

    monkeypatch.setattr(command.spark_session, "running", running)


def events(*calls: tuple[Any, str, Any, str, Any]) -> list[dict[str, Any]]:
    """One after another: (key, f, value, completion, result)."""
    found = []
    for key, f, value, kind, result in calls:
        common = {"process": 0, "f": f, "key": key}
        found.append({**common, "type": "invoke", "value": value})
        if kind != "info":
            found.append({**common, "type": kind, "value": result})
            continue
        found[-1]["process"] = 1_000 + len(found)
    return found


def save(path: Path, lines: list[dict[str, Any]]) -> Path:
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


GOOD = {
    "register": [
        ("x", "read", None, "ok", None),
        ("x", "write", {"deep": [1]}, "ok", None),
        ("x", "cas", [{"deep": [1]}, 2], "ok", None),
        ("x", "cas", [7, 8], "fail", None),
        ("x", "write", 5, "info", None),
        ("x", "read", None, "ok", 2),
        ("x", "read", None, "ok", 5),
        ("y", "read", None, "ok", None),
    ],
    "kv": [
        ("x", "read", None, "ok", ""),
        ("x", "append", "a", "ok", None),
        ("x", "append", "b", "info", None),
        ("x", "read", None, "ok", "ab"),
        ("x", "write", "c", "fail", None),
    ],
    "topics": [
        ("t", "describe", None, "ok", False),
        ("t", "create", {"partitions": 1}, "ok", {"topic_id": "A"}),
        ("t", "create", None, "fail", None),
        ("t", "describe", None, "ok", True),
        ("t", "delete", None, "ok", None),
        ("t", "delete", None, "fail", None),
        ("t", "describe", None, "ok", None),
    ],
    "set": [
        ("e", "contains", None, "ok", False),
        ("e", "add", None, "ok", None),
        ("e", "add", None, "fail", None),
        ("e", "remove", None, "ok", None),
        ("f", "remove", None, "fail", None),
    ],
    "queue": [
        ("q", "dequeue", None, "ok", None),
        ("q", "enqueue", 1, "ok", None),
        ("q", "enqueue", 2, "info", None),
        ("q", "enqueue", 3, "ok", None),
        ("q", "dequeue", None, "ok", 1),
        ("q", "dequeue", None, "ok", 3),
        ("q", "dequeue", None, "fail", None),
    ],
}
SEES = {"register": 5, "kv": 2, "topics": 7, "set": 4, "queue": 3}
"""Of those, the operations that saw something."""
BAD = {
    "register": [("x", "write", 1, "ok", None), ("x", "read", None, "ok", True)],
    "kv": [("x", "append", "a", "ok", None), ("x", "read", None, "ok", "")],
    "topics": [("t", "create", None, "fail", None)],
    "set": [("e", "remove", None, "ok", None)],
    "queue": [
        ("q", "enqueue", 1, "ok", None),
        ("q", "enqueue", 2, "ok", None),
        ("q", "dequeue", None, "ok", 2),
    ],
}


@pytest.mark.parametrize(
    ("model", "master"), [*((model, None) for model in sorted(GOOD)), ("register", "local[2]")]
)
def test_models(
    here: None,
    model: str,
    master: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    good = save(tmp_path / "good.jsonl", events(*GOOD[model]))
    bad = save(tmp_path / "bad.jsonl.gz", events(*BAD[model]))
    assert check([good], model, json=True, spark_master=master) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "VALID"
    assert check([good, bad], model, json=True, spark_master=master) == 1
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["path"], first["verdict"], first["findings"]) == (str(good), "VALID", [])
    assert first["seen"] == SEES[model]
    assert (second["path"], second["verdict"]) == (str(bad), "INVALID")
    assert 2 * (len(BAD[model]) - 1) in second["findings"][0]["operations"]


def test_keys_are_compared_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1, 1.0 and 1e0 are one object, true and "1" others; a key that is no text can be shown."""
    calls = events(
        (1, "write", 7, "ok", None),
        (1.0, "read", None, "ok", 7),
        ([1e16], "write", 8, "ok", None),
        ([10**16], "read", None, "ok", 8),
        (True, "read", None, "ok", None),
        ("1", "read", None, "ok", None),
        ("\ud800", "read", None, "ok", None),
    )
    assert check([save(tmp_path / "h.jsonl", calls)], "register") == 0
    assert "5 keys" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrote", "shown", "code"),
    [
        ("9007199254740992", "9007199254740993", 1),
        ("9007199254740992", "9007199254740993.0", 1),
        ("9007199254740992", "9007199254740992.0", 0),
        ("1e23", "100000000000000000000000", 0),
        ("1e400", "2e400", 1),
        ("1e400", "10e399", 0),
        ("[1]", "[1.0]", 0),
    ],
)
def test_whole_numbers_are_exact(wrote: str, shown: str, code: int, tmp_path: Path) -> None:
    event = '{{"process":0,"f":"{}","key":"x","type":"{}","value":{}}}\n'.format
    lines = [
        event("write", "invoke", wrote),
        event("write", "ok", wrote),
        *2 * [event("read", "invoke", "null"), event("read", "ok", shown)],
    ]
    path = tmp_path / "h.jsonl"
    path.write_text("".join(lines))
    assert check([path], "register") == code


def test_number_that_is_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_text('{"process":0,"f":"write","type":"invoke","value":1e4001}\n')
    with pytest.raises(UsageError, match="1e4001 has more than 4000 digits"):
        check([path], "register")


SEES_NOTHING = {
    "register": [("x", "write", 1, "ok", None), ("x", "write", 2, "ok", None)],
    "kv": [("x", "append", "a", "ok", None), ("x", "read", None, "fail", None)],
    "topics": [("t", "create", None, "info", None)],
    "set": [("e", "contains", None, "fail", None)],
    "queue": [("q", "enqueue", 1, "ok", None), ("q", "dequeue", None, "info", None)],
}


@pytest.mark.parametrize("model", sorted(SEES_NOTHING))
def test_what_nothing_could_contradict_is_unknown(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "h.jsonl", events(*SEES_NOTHING[model]))
    assert check([path], model) == 2
    assert "nothing to check was seen" in capsys.readouterr().out
    enough = [(f"another {key}", *rest) for key, *rest in GOOD[model]]
    path = save(tmp_path / "seen.jsonl", events(*SEES_NOTHING[model], *enough))
    assert check([path], model) == 0


@pytest.mark.parametrize("key", ["\x1b[31m", "a\nVALID", "\ud800", "\u202e", "12", "", "null"])
def test_keys_that_could_mislead_are_shown_as_json(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "h.jsonl", events((key, "read", None, "ok", 1)))
    assert check([path], "register") == 1
    assert f"\n    {json.dumps(key)}: no order" in capsys.readouterr().out


def test_output_for_people_names_the_operations(
    here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "bad.jsonl", events(*BAD["queue"]))
    report = tmp_path / "out" / "junit.xml"
    assert check([tmp_path], "queue", junit=report) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"INVALID  {tmp_path}/bad.jsonl\n")
    assert "dequeue -> 2 (index 4 to 5, process 0)" in out
    suite = ElementTree.parse(report).getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("1", "1", "0")
    failure = suite[0][0]
    assert failure.tag == "failure" and "dequeue" in (failure.get("message") or "")


def test_nothing_seen_is_unknown(here: None, tmp_path: Path) -> None:
    path = save(tmp_path / "h.jsonl", events(("x", "write", 1, "info", None)))
    assert check([path], "register") == 2


def test_a_half_last_line_is_noted(
    here: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path / "h.jsonl", events(*GOOD["set"]))
    with path.open("a") as file:
        file.write('{"type":"inv')
    assert check([path], "set") == 0
    assert "cut short" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "calls", "wrong"),
    [
        ("register", [("x", "append", 1, "ok", None)], "read, write, cas"),
        ("register", [("x", "cas", 1, "ok", None)], "[from, to]"),
        ("kv", [("x", "write", 1, "ok", None)], "must be a string"),
        ("topics", [("x", "describe", None, "ok", "yes")], "true, false, null"),
        ("set", [("x", "contains", None, "ok", 1)], "true or false"),
        ("queue", [("x", "enqueue", None, "ok", None)], "needs a value"),
    ],
)
def test_refuses_operations_of_another_model(
    model: str, calls: list[Any], wrong: str, tmp_path: Path
) -> None:
    path = save(tmp_path / "h.jsonl", events(*calls))
    with pytest.raises(UsageError) as refusal:
        check([path], model)
    assert wrong in str(refusal.value) and f"{path}: index 0: " in str(refusal.value)


def test_refuses_other_nonsense(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    for paths, model, budget, wrong in [
        ([], None, 1.0, "nothing to check"),
        ([tmp_path], "stack", 1.0, "unknown model: 'stack' (known: register"),
        ([tmp_path], "set", 1.0, "holds no history"),
        ([tmp_path / "notes.txt"], "set", 1.0, "must end in .jsonl"),
        ([tmp_path / "gone"], "set", 1.0, "no such file"),
        ([tmp_path], None, 1.0, "holds no run"),
        ([tmp_path], None, 0.0, "--budget is 0"),
    ]:
        with pytest.raises(UsageError) as refusal:
            check(paths, model, budget)
        assert wrong in str(refusal.value)


def alone(
    path: Path, scratch: Path, master: str | None, search: str
) -> subprocess.CompletedProcess[str]:
    """`check` in a process of its own."""
    program = (
        "import sys; from pathlib import Path; from framework.cli.check import check; "
        "from framework.errors import UsageError\n"
        f"try: sys.exit(check([Path({str(path)!r})], 'register', spark_master={master!r}))\n"
        "except UsageError as error: print(error)"
    )
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PATH": search, "PYTHONPATH": str(ROOT), "TMPDIR": str(scratch)},
        check=False,
    )


def test_alone_it_starts_spark_without_a_sound(tmp_path: Path) -> None:
    path = save(tmp_path / "h.jsonl", events(*GOOD["register"]))
    done = alone(path, tmp_path, "local[1]", os.environ["PATH"])
    assert done.returncode == 0 and done.stdout.startswith("VALID")
    assert re.fullmatch(r"framework: checked on Spark local\[1\], [\d.]+ s\n", done.stderr)
    assert not list(tmp_path.glob("spark-*"))


def test_a_small_history_needs_no_java(tmp_path: Path) -> None:
    path = save(tmp_path / "h.jsonl", events(*GOOD["register"]))
    done = alone(path, tmp_path, None, str(tmp_path))
    assert done.returncode == 0 and done.stdout.startswith("VALID")
    said = r"framework: checked in this process \(\d+ cores, \d+ MiB\), [\d.]+ s\n"
    assert re.fullmatch(said, done.stderr)


def test_without_java_it_says_what_to_install(tmp_path: Path) -> None:
    path = save(tmp_path / "h.jsonl", events(*GOOD["register"]))
    done = alone(path, tmp_path, "local[*]", str(tmp_path))
    assert "apt-get install openjdk-17-jre-headless" in done.stdout


@pytest.mark.parametrize(("ext", "code"), [({}, 0), ({"asserts": "differs"}, 1)])
def test_a_runs_own_history_is_read_as_its_checker_reads_it(
    tmp_path: Path, ext: dict[str, Any], code: int
) -> None:
    """A cas that was turned away saw no other value."""
    read = ("x", "read", None, "ok", None)
    write, cas = ("x", "write", 1, "ok", None), ("x", "cas", [1, 2], "fail", None)
    lines = events(read, read, write, cas)
    lines[-1] |= {"error": ["NO_LEADER", "nobody leads"], "node": "n1", "ext": ext}
    history = save(tmp_path / "history.jsonl", lines)
    assert check([history], model="register") == code
