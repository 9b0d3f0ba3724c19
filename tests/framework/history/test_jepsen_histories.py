"""Jepsen's `history.edn`: workloads one by one, and everything that can be wrong."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from framework.checking.jepsen import jepsen_table
from framework.checking.runs import OPERATIONS
from framework.cli.app import main
from framework.errors import UsageError
from framework.history.jepsen import find_jepsen, read_jepsen
from framework.history.pairing import Operation
from framework.history.reader import History

# Histories


def op(kind: str, process: object, f: str, value: str, more: str = "") -> str:
    return f"{{:type :{kind}, :f :{f}, :value {value}, :process {process}{more}}}\n"


def store(folder: Path, *lines: str, name: str = "history.edn") -> Path:
    path = folder / name
    path.write_text("".join(lines))
    return path


def read(folder: Path, model: str, *lines: str) -> History:
    return read_jepsen(store(folder, *lines), model)


def reported(operations: Sequence[Operation]) -> list[tuple[Any, ...]]:
    return [(o.f, o.key, o.value, o.type, o.result) for o in operations]


def test_an_operation_has_all_that_jepsen_says(tmp_path: Path) -> None:
    history = read(
        tmp_path,
        "register",
        op("info", ":nemesis", "start", "#{:n1}", ", :time 5, :index 0"),
        "#jepsen.history.Op{:index 3, :time 10, :type :invoke, :process 2, :f :write, :value 7}\n",
        "#jepsen.history.Op{:index 8, :time 30, :type :info, :process 2, :f :write, :value 7,"
        ' :error [:net-timeout "no answer" {:after 5}]}\n',
    )
    (operation,) = history.operations
    assert operation == Operation(
        index=3,
        process=2,
        f="write",
        value=7,
        type="info",
        end=8,
        result=7,
        error=("net-timeout", 'no answer {":after": 5}'),
        invoked_ns=10,
        completed_ns=30,
    )
    (event,) = history.named
    assert (event.process, event.f, event.index) == ("nemesis", "start", 0)
    assert event.value == {"#set": [":n1"]}


@pytest.mark.parametrize(
    "indices", [("", ""), (", :index 4", ", :index 4"), (", :index 4", ""), (", :index :a", "")]
)
def test_without_rising_indices_positions_count(tmp_path: Path, indices: tuple[str, str]) -> None:
    lines = [
        op(kind, 0, "read", "nil", more)
        for kind, more in zip(("invoke", "ok"), indices, strict=True)
    ]
    (operation,) = read(tmp_path, "register", *lines).operations
    assert (operation.index, operation.end) == (0, 1)


def test_times_may_go_back_as_threads_of_jepsen_take_them(tmp_path: Path) -> None:
    history = read(
        tmp_path,
        "register",
        op("invoke", 0, "read", "nil", ", :time 20"),
        op("ok", 0, "read", "nil", ", :time 10"),
    )
    assert history.operations[0].completed_ns == 10


def test_one_vector_pretty_printed_is_a_history_too(tmp_path: Path) -> None:
    path = store(
        tmp_path,
        "[{:type :invoke,\n  :f :write, :value 1\n  :process 0}\n",
        " ;; done\n {:type :ok, :f :write,\n  :value 1, :process 0}]\n",
    )
    assert reported(read_jepsen(path, "register").operations) == [("write", None, 1, "ok", 1)]
    store(tmp_path, path.read_text().replace(":ok", ":maybe"))
    with pytest.raises(UsageError, match=r"history\.edn:5: :type is \":maybe\"; it must be"):
        read_jepsen(path, "register")


def test_a_byte_order_mark_ends_of_lines_of_windows_and_primes(tmp_path: Path) -> None:
    lines = op("invoke", 0, "write", "x'") + op("ok", 0, "write", "x'")
    path = tmp_path / "history.edn"
    path.write_bytes(("\ufeff" + lines.replace("\n", "\r\n")).encode())
    symbol = {"#symbol": "x'"}
    found = read_jepsen(path, "register").operations
    assert reported(found) == [("write", None, symbol, "ok", symbol)]


def test_gzip_and_folders(tmp_path: Path) -> None:
    lines = op("invoke", 0, "read", "nil") + op("ok", 0, "read", "3")
    (tmp_path / "store").mkdir()
    packed = tmp_path / "store" / "history.edn.gz"
    packed.write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "store" / "results.edn").write_text("{:valid? true}")
    assert find_jepsen([tmp_path]) == [packed]
    assert reported(read_jepsen(packed, "register").operations) == [("read", None, None, "ok", 3)]
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(UsageError, match="not a whole gzip file"):
        read_jepsen(packed, "register")


def test_a_last_line_cut_short_is_left_out_with_a_note(tmp_path: Path) -> None:
    history = read(
        tmp_path,
        "register",
        op("invoke", 0, "write", "1"),
        '{:type :ok, :f :write, :value "ab',
    )
    assert reported(history.operations) == [("write", None, 1, "info", None)]
    assert history.notes == [f"{history.path}:2: the last line is cut short; it was left out"]


READ = op("invoke", 0, "read", "nil")


@pytest.mark.parametrize(
    ("lines", "line", "says"),
    [
        ((), None, "no operations; a history has one map an operation"),
        (("; nothing\n",), None, "no operations"),
        (("{:type :inv\n", READ), 1, "not EDN, or cut short (it is not closed)"),
        ((")\n",), 1, "not EDN, or cut short (')' closes nothing)"),
        ((READ.replace("}", ", :f :write}"),), 1, "(a map has the key :f twice; each may be"),
        ((READ, "17\n"), 2, "17 is no operation; one is a map such as {:index 0"),
        ((READ, "#{1}\n"), 2, "is no operation"),
        ((READ, '"text" [1]\n'), 2, "is no operation"),
        ((READ.replace(":invoke", ":invoked"),), 1, ':type is ":invoked"; it must be :invoke, :ok'),
        ((READ.replace(":type", ":typ"),), 1, ":type is missing"),
        ((READ.replace(":process 0", ":process nil"),), 1, ":process is null; it must be a number"),
        ((READ.replace(":process 0", ":process 1.5"),), 1, ":process is 1.5"),
        ((READ.replace(":f :read", ":f 3"),), 1, ":f is 3; it must be a keyword"),
        ((READ.replace("}", ', :time "now"}'),), 1, ":time is"),
        ((READ, READ), 2, "process 0 invokes 'read' while its 'read' of index 0 is open"),
        ((op("ok", 0, "read", "3"),), 1, "ok of 'read' by process 0, which has no open operation"),
        ((READ, op("ok", 0, "write", "3")), 2, "a completion repeats f"),
        (
            (READ, op("ok", 0, "read", "3"), op("invoke", 0, "inc", "1")),
            3,
            ':f is "inc"; the model',
        ),
        ((op("invoke", 0, "cas", "5"),), 1, ":value of cas is 5; it must be [from to]"),
        ((op("invoke", 0, "read", "[1 nil]"), op("invoke", 1, "read", "nil")), 2, "jepsen.indep"),
        ((op("invoke", 0, "read", "[1 nil]"), op("invoke", 1, "write", "4")), 2, "jepsen.indep"),
        (
            (op("invoke", 0, "read", "[1 nil]"), op("ok", 0, "read", "[2 4]")),
            1,
            "completed with [2, 4]; a completion repeats the key 1",
        ),
        (("{:type :invoke :f :read :process 0 :value \xff}\n",), None, ""),
    ],
)
def test_what_is_malformed_gets_one_line_and_254(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    lines: Sequence[str],
    line: int | None,
    says: str,
) -> None:
    path = tmp_path / "history.edn"
    path.write_bytes("".join(lines).encode("latin-1"))
    where = f"{path}:{line}: " if line else f"{path}"
    assert main(["check", "--format", "jepsen", "--model", "register", str(path)]) == 254
    printed = capsys.readouterr()
    assert printed.out == ""
    (reported_line,) = printed.err.splitlines()
    assert reported_line.startswith(f"framework: {where}")
    assert says in reported_line


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--format", "jepsen"), "--format jepsen needs --model: register, cas-register, set"),
        (("--format", "jepsen", "--model", "bank"), "--format jepsen knows no model 'bank'"),
        (
            ("--format", "edn", "--model", "register"),
            "--format is 'edn'; it must be jsonl or jepsen",
        ),
        (("--format", "jepsen", "--model", "set", "x.jsonl"), "its name must end in .edn"),
        (("--format", "jepsen", "--model", "set", "empty"), "holds no history.edn"),
        (("--format", "jepsen", "--model", "set", "gone.edn"), "no such file"),
    ],
)
def test_bad_arguments_get_one_line_and_254(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    argv: Sequence[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.jsonl").touch()
    (tmp_path / "empty").mkdir()
    assert main(["check", *argv]) == 254
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


# Workloads


def test_failures_and_reads_without_an_answer_say_nothing(tmp_path: Path) -> None:
    """A failed cas says that it did not happen, not that the value was another."""
    history = read(
        tmp_path,
        "cas-register",
        op("invoke", 0, "cas", "[1 2]"),
        op("fail", 0, "cas", "[1 2]"),
        op("invoke", 0, "write", "3"),
        op("fail", 0, "write", "3"),
        op("invoke", 0, "read", "nil"),
        op("info", 0, "read", "nil"),
        op("invoke", 1, "cas", "[3 4]"),
        op("info", 1, "cas", "[3 4]"),
        op("invoke", 2, "read", "nil"),
        op("ok", 2, "read", "4"),
    )
    assert reported(history.operations) == [
        ("cas", None, [3, 4], "info", [3, 4]),
        ("read", None, None, "ok", 4),
    ]


@pytest.mark.parametrize("tag", ["", "#clojure.lang.MapEntry", "#jepsen.independent.Tuple"])
def test_keys_of_independent_tests(tmp_path: Path, tag: str) -> None:
    history = read(
        tmp_path,
        "cas-register",
        op("invoke", 0, "read", f"{tag}[:x nil]"),
        op("ok", 0, "read", f"{tag}[:x 5]"),
        op("invoke", 0, "cas", f"{tag}[7 [5 6]]"),
        op("ok", 0, "cas", f"{tag}[7 [5 6]]"),
        op("invoke", 0, "write", f"{tag}[7 9]"),
    )
    assert reported(history.operations) == [
        ("read", ":x", None, "ok", 5),
        ("cas", 7, [5, 6], "ok", [5, 6]),
        ("write", 7, 9, "info", None),
    ]


def test_a_cas_alone_is_no_key(tmp_path: Path) -> None:
    history = read(tmp_path, "cas-register", op("invoke", 0, "cas", "[1 2]"))
    assert reported(history.operations) == [("cas", None, [1, 2], "info", None)]
    history = read(tmp_path, "cas-register", op("invoke", 0, "cas", "[1 [2 3]]"))
    assert reported(history.operations) == [("cas", 1, [2, 3], "info", None)]


@pytest.mark.parametrize("shown", ["#{1 3}", "[1 3]", "(1 3)"])
def test_sets_are_read_whole(tmp_path: Path, shown: str) -> None:
    history = read(
        tmp_path,
        "set",
        op("invoke", 0, "add", "1"),
        op("fail", 0, "add", "1"),
        op("invoke", 0, "add", "3"),
        op("info", 0, "add", "3"),
        op("invoke", 1, "read", "nil"),
        op("ok", 1, "read", shown),
    )
    assert reported(history.operations) == [
        ("add", None, 3, "info", 3),
        ("read", None, None, "ok", [1, 3]),
    ]
    with pytest.raises(UsageError, match="read gave 4; it must be a set, vector or list"):
        read(tmp_path, "set", op("invoke", 1, "read", "nil"), op("ok", 1, "read", "4"))


def test_a_drain_is_dequeues_at_the_same_time(tmp_path: Path) -> None:
    history = read(
        tmp_path,
        "queue",
        op("invoke", 0, "enqueue", "1", ", :index 10"),
        op("ok", 0, "enqueue", "1", ", :index 11"),
        op("invoke", 0, "dequeue", "nil", ", :index 12"),
        op("fail", 0, "dequeue", "nil", ", :index 13"),
        op("invoke", 1, "drain", "nil", ", :index 14"),
        op("invoke", 2, "enqueue", "2", ", :index 15"),
        op("ok", 1, "drain", "[1 2]", ", :index 16"),
    )
    assert reported(history.operations) == [
        ("enqueue", None, 1, "ok", 1),
        ("dequeue", None, None, "ok", 1),
        ("dequeue", None, None, "ok", 2),
        ("enqueue", None, 2, "info", None),
    ]
    assert [(o.index, o.end) for o in history.operations] == [(0, 1), (2, 5), (3, 6), (4, None)]
    assert "drains were read as dequeues" in history.notes[0]


def test_a_drain_without_an_answer_may_have_taken_what_nobody_got(tmp_path: Path) -> None:
    lines = [op(kind, 0, "enqueue", str(n)) for n in range(3) for kind in ("invoke", "ok")]
    history = read(
        tmp_path,
        "queue",
        *lines,
        op("invoke", 0, "dequeue", "nil"),
        op("ok", 0, "dequeue", "0"),
        op("invoke", 0, "drain", "nil"),
        op("info", 0, "drain", "nil"),
    )
    assert reported(history.operations)[4:] == [("dequeue", None, None, "info", None)] * 2


def test_kafka_histories_become_those_of_the_kafka_page(tmp_path: Path) -> None:
    history = read(
        tmp_path,
        "kafka",
        op("invoke", 0, "assign", "(3 5)", ", :seek-to-beginning? true"),
        op("ok", 0, "assign", "(3 5)", ", :seek-to-beginning? true"),
        op("invoke", 0, "txn", "[[:poll] [:send 3 7]]"),
        op(
            "ok",
            0,
            "txn",
            '[[:poll {3 [[0 "a"] [2 :b]], "t" ()}] [:send 3 [4 7]]]',
            ", :rebalance-log [{:keys [3], :type :assigned}]",
        ),
        op("invoke", 0, "crash", "nil"),
        op("info", 0, "crash", "nil"),
        op("invoke", 1, "debug-topic-partitions", "[3 5]"),
        op("ok", 1, "debug-topic-partitions", "{3 {:high 5}}"),
        op("invoke", 1, "list-groups", "nil"),
        op("ok", 1, "list-groups", "nil"),
    )
    assign, txn = history.operations[:2]
    assert (assign.value, assign.result) == ([3, 5], [3, 5])
    assert assign.ext == {"seek-to-beginning": True}
    assert txn.value == [["poll"], ["send", 3, 7]]
    assert txn.result == [["poll", {"3": [[0, "a"], [2, ":b"]], "t": []}], ["send", 3, [4, 7]]]
    assert txn.ext == {"rebalance-log": [{"keys": [3]}]}
    assert history.notes == ["operations that no check looks at: list-groups"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("[[:sned 1 2]]", "txn has"),
        ("[[:poll {1 [2]}]]", "txn has"),
        ("[[:poll [[1 2]]]]", "txn has"),
        ("5", ":value of txn is 5; it must be a vector of"),
    ],
)
def test_malformed_kafka_histories(tmp_path: Path, value: str, says: str) -> None:
    lines = (op("invoke", 0, "txn", "[[:poll]]"), op("ok", 0, "txn", value))
    with pytest.raises(UsageError, match=f"history.edn:1: {says}"):
        read(tmp_path, "kafka", *lines)


def test_a_register_is_no_kafka_history(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no history of Jepsen's Kafka workload"):
        read(tmp_path, "kafka", READ, op("ok", 0, "read", "4"))


def test_the_table_is_that_of_operations(tmp_path: Path) -> None:
    path = store(tmp_path, op("invoke", 0, "read", "nil"), op("ok", 0, "read", "3"))
    table = jepsen_table(path, "register", "r")
    assert table.schema == OPERATIONS
    (row,) = table.to_pylist()
    assert (row["run"], row["index"], row["end"], row["result"]) == ("r", 0, 1, "3")


# Files, end to end

SAMPLES = Path(__file__).parent / "jepsen"


@pytest.mark.parametrize(
    ("model", "seen"),
    [("register", 4), ("cas-register", 3), ("set", 2), ("queue", 3), ("kafka", 11)],
)
def test_a_file_of_each_workload(capsys: pytest.CaptureFixture[str], model: str, seen: int) -> None:
    """`check --format jepsen` on a sound history and one that is not; `seen` operations saw
    something."""
    files = [str(SAMPLES / f"{model}-{kind}.edn") for kind in ("valid", "invalid")]
    assert main(["check", "--json", "--format", "jepsen", "--model", model, *files]) == 1
    good, bad = map(json.loads, capsys.readouterr().out.splitlines())
    assert (good["verdict"], good["findings"], good["seen"]) == ("VALID", [], seen)
    assert bad["verdict"] == "INVALID"
    (finding, *_) = bad["findings"]
    assert WRONG[model] in finding["message"]


WRONG = {
    "register": "no order of the operations explains read -> 2 (index 16 to 17, process 1)",
    "cas-register": "no order of the operations explains read -> 1 (index 16 to 17, process 6)",
    "set": "an element that was shown, and then was not: 10 (add of index 0; read of index 4, 14)",
    "queue": "no order of the operations explains dequeue -> 1",
    "kafka": "inconsistent-offsets: offset 0 holds 2 by operation 2, and 4 by operation 18",
}
