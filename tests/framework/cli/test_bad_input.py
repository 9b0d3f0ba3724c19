"""Bad input: one clear line, exit code 254, nothing started."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from framework.cli.app import main

OPEN_TWICE = (
    '{"index":0,"type":"invoke","process":0,"f":"read","key":"x","value":null}\n'
    '{"index":1,"type":"invoke","process":0,"f":"read","key":"x","value":null}\n'
)
TRUNCATED = '{"index":0,"type":"inv\n{"index":1,"type":"invoke","process":0,"f":"read"}\n'


def refused(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one line that a refused command prints."""
    assert main(list(argv)) == 254
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = printed.err.splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ((), "no command given"),
        (("bogus",), "bogus"),
        (("run", "--nemesis", "meteor"), "unknown nemesis: 'meteor' (known: kill, partition"),
        (("run", "--nemesis", ""), "no nemesis named"),
        (("run", "--workload", "bank"), "unknown workload: 'bank'"),
        (("run", "--workload", "none"), "at least one workload"),
        (("run", "--hosts", "moon"), "moon"),
        (("run", "--nodes", "many"), "CONTROLLERS+BROKERS"),
        (("run", "--nodes", "0+3"), "CONTROLLERS+BROKERS"),
        (("run", "--nemesis", "partition", "--nodes", "1"), "needs 2 nodes or more, --nodes has 1"),
        (("run", "--concurrency", "n"), "a number of times n"),
        (("run", "--concurrency", "1"), "threads"),
        (("run", "--rate", "0"), "--rate 0"),
        (("run", "--rate", "x"), "--rate"),
        (("run", "--time-limit", "-1"), "--time-limit"),
        (("run", "--interval", "0"), "--interval"),
        (("run", "--seed", "-1"), "--seed -1"),
        (("run", "--target", "king"), "unknown target: 'king'"),
        (("run", "--defect", "all-of-them"), "unknown defect"),
        (("run", "--system", "zookeeper"), "zookeeper"),
        (("run", "--nemesis", "partition:shape=cross"), "nemesis partition: shape=cross is not"),
        (("run", "--nemesis", "pause:target=king"), "unknown target: 'king'"),
        (
            ("run", "--nemesis", "power", "--target", "leader"),
            "power of leader: forced to the disk",
        ),
        (("run", "--nemesis", "kill:victims=3"), "nemesis kill has no option 'victims'"),
        (("run", "--workload", "topics:colour=red"), "workload topics has no"),
        (("run", "--set", "broker.takeover=never"), "it is immediate or deferred"),
        (("run", "--set", "broker.take.over=deferred"), "no setting 'broker.take.over'"),
        (("run", "--set", "king:a=1"), "no node or role is called 'king'"),
        (("up", "--set", "broker.takeover"), "it is KEY=VALUE, or NODE-OR-ROLE:KEY=VALUE"),
        (("up", "--system", "zookeeper"), "unknown systems: 'zookeeper'"),
        (("run", "--frobnicate"), "(kraft-proof run --help shows what it takes)"),
        (("run", "extra"), "extra argument(s) (extra) (kraft-proof run --help"),
        (("trend",), "'trend'. Did you mean 'trends'? (kraft-proof --help"),
        (("replay", "/nonexistent"), "not a stored run"),
        (("check", "/nonexistent"), "/nonexistent"),
        (("check", "--model", "bank", "/tmp"), "bank"),
        (
            ("run", "--checker", "luck:a=b"),
            "unknown checker: 'luck' (known: acknowledged-never-lost",
        ),
        (("check", "--checker", "luck:a=b", "/tmp"), "unknown checker: 'luck'"),
        (("run", "--checker", "availability"), "availability is given no option"),
        (
            ("run", "--checker", "availability:soon=1"),
            "checker availability has no option 'soon' (it has: recovery, a number)",
        ),
        (
            ("check", "--checker", "availability:recovery=soon", "/tmp"),
            "checker availability: recovery=soon is not a number",
        ),
        (
            ("run", "--checker", "availability:recovery=0"),
            "checker availability: recovery=0 is not above 0",
        ),
        (("run", "--checker", "one-vote:a=b"), "checker one-vote has no options"),
        (
            ("run", "--checker", "faults-bit:least=2"),
            "faults-bit is given options, and does not apply: the run has no faults",
        ),
        (
            ("check", "--model", "register", "--checker", "availability:recovery=9", "/tmp"),
            "--checker is for runs",
        ),
    ],
)
def test_arguments_that_cannot_be(
    capsys: pytest.CaptureFixture[str],
    argv: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in refused(capsys, *argv)
    assert [each for each in tmp_path.iterdir() if each.name != ".hypothesis"] == []


@pytest.mark.parametrize(
    ("text", "says"),
    [(OPEN_TWICE, ":2: process 0"), (TRUNCATED, ":1: "), ("", "no events")],
)
def test_histories_that_are_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, says: str
) -> None:
    history = tmp_path / "history.jsonl"
    history.write_text(text)
    line = refused(capsys, "check", "--model", "register", str(history))
    assert says in line
    assert "history.jsonl" in line


@pytest.mark.parametrize(
    "content",
    [b"", gzip.compress(b"", mtime=0), gzip.compress(b"\n", mtime=0)],
    ids=["empty", "packed-empty", "packed-line"],
)
def test_packed_files_of_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes
) -> None:
    history = tmp_path / "history.jsonl.gz"
    history.write_bytes(content)
    line = refused(capsys, "check", "--model", "register", str(history))
    assert f"{history}: no events" in line


def test_parquet_that_is_broken_inside(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    history = tmp_path / "history.parquet"
    events = {"type": ["invoke", "ok"], "process": ["0", "0"], "f": ["read", "read"]}
    pq.write_table(pa.table(events), history)
    content = bytearray(history.read_bytes())
    content[10:30] = b"\xff" * 20
    history.write_bytes(content)
    line = refused(capsys, "check", "--model", "register", str(history))
    assert f"{history}: not a Parquet file, or cannot be read" in line


def test_a_folder_of_something_else(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"\xff\xd8")
    assert str(tmp_path) in refused(capsys, "check", str(tmp_path))


def test_results_that_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    from framework.errors import UsageError
    from framework.run import store

    with pytest.raises(UsageError, match="cannot be written"):
        store.create(tmp_path / "file", "x", 1)
    with pytest.raises(UsageError, match="without /"):
        store.create(tmp_path, "a/b", 1)
