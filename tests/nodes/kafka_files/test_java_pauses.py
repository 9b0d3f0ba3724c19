"""What a Java wrote of its pauses, as one of 17 and one of 25 wrote it, and whatever is in it.

The files in stored/java are of a program that fills a heap of 32 MiB, and asks for collections and
for what its threads are doing (`-XX:+UseSerialGC`, and the flag of `nodes.kafka.java.pauses`).
"""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodes.kafka_files.java_pauses import PAUSES, read_pauses

STORED = Path(__file__).parent / "stored" / "java"
LOGS = sorted(STORED.glob("*.log"))
MS = 1_000_000


def line(message: str, at_s: float = 1.0, began_ns: int = 7 * 10**12) -> str:
    ns = began_ns + round(at_s * 1e9)
    return f"[2026-11-28T04:22:52.661+0000][{at_s:.3f}s][{ns}ns][safepoint   ] {message}\n"


def safepoint(total_ns: int, name: str = "Cleanup") -> str:
    return (
        f'Safepoint "{name}", Time since last: 34034890 ns, Reaching safepoint: 2820 ns, Cleanup: '
        f"28128 ns, At safepoint: 1750926 ns, Total: {total_ns} ns"
    )


def lasted(*lines: str) -> list[int]:
    found: list[int] = read_pauses("".join(lines).encode())["lasted_ns"].to_pylist()
    return found


def test_there_are_logs_of_both() -> None:
    assert [path.name for path in LOGS] == ["java-17.log", "java-25.log"]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_pauses_are_what_its_lines_say(path: Path) -> None:
    """Each holds the collection that it was for, which the line before it times by itself."""
    text = path.read_text()
    found = read_pauses(path.read_bytes())
    assert found.schema == PAUSES
    rows = found.to_pylist()
    said = re.findall(r"\[(\d+)ns\].*Safepoint \"(\w+)\".* Total: (\d+) ns", text)
    assert [(row["ended_ns"], row["operation"], row["lasted_ns"]) for row in rows] == [
        (int(ns), name, int(total)) for ns, name, total in said
    ]
    collected = [float(ms) * MS for ms in re.findall(r"\[gc +\].* (\d+\.\d+)ms\n", text)]
    *collections, dump = rows
    assert dump["operation"] == "ThreadDump" and len(collections) == 4
    for row, ns in zip(collections, collected, strict=True):
        assert ns <= row["lasted_ns"] + 1_000 < ns + 20 * MS
        assert "Total:" in text.splitlines()[row["line"] - 1]


def test_java_11_says_it_in_three_lines() -> None:
    """As its safepoint.cpp and runtimeService.cpp print it; none is on this machine."""
    stopped = "Total time for which application threads were stopped: {} seconds, Stopping threads"
    found = read_pauses(
        "".join(
            [
                line("Application time: 0.1234560 seconds"),
                line("Entering safepoint region: G1CollectForAllocation"),
                line("Leaving safepoint region", 1.25),
                line(stopped.format("0.2500001") + " took: 0.0000150 seconds", 1.25),
                line(stopped.format("0,0000500") + " took: 0,0000150 seconds", 2.0),
            ]
        ).encode()
    ).to_pylist()
    assert [(row["operation"], row["lasted_ns"], row["line"]) for row in found] == [
        ("G1CollectForAllocation", 250_000_100, 4),
        (None, 50_000, 5),
    ]


def test_a_line_that_is_cut_short_is_passed_over() -> None:
    whole, half = line(safepoint(5 * MS)), line(safepoint(123_456_789), 2.0).rstrip("\n")
    assert lasted(whole, half) == [5 * MS, 123_456_789]
    for size in range(1, len(half) - 2):
        assert lasted(whole, half[:size]) == [5 * MS], half[:size]


@pytest.mark.parametrize(
    "wrong",
    [
        line(safepoint(1_100 * MS)),
        line(safepoint(10**17)),
        line(safepoint(MS), began_ns=6 * 10**12),
        line(safepoint(MS), began_ns=8 * 10**17),
        line(safepoint(MS)).replace("1.000s", "99999999.000s"),
        line(safepoint(MS)).replace("[7001000000000ns]", f"[{'9' * 30}ns]"),
        line(safepoint(MS)).replace("[7001000000000ns]", ""),
        line('Safepoint "Cleanup", Total: -5 ns'),
        line('Safepoint "Cleanup", Total: \u00b2 ns'),
        line('GC(3) Pause Young (Safepoint "x", Total: 5 ns) 1M->1M(2M) 1.000ms'),
        "\0" * 200 + "\n",
    ],
)
def test_what_cannot_be_is_not_believed(wrong: str) -> None:
    """It lasted longer than its process, or its two times are not of one process."""
    sound = [line(safepoint(number * MS), 2.0 + number) for number in (1, 2, 3)]
    assert lasted(wrong, *sound) == [MS, 2 * MS, 3 * MS]
    assert lasted(*sound, wrong) == [MS, 2 * MS, 3 * MS]


def test_a_pause_may_have_lasted_for_as_long_as_the_process_did() -> None:
    assert lasted(line(safepoint(1_000 * MS))) == [1_000 * MS]


@given(st.binary(max_size=300))
def test_bytes_that_are_no_log_have_no_pauses(data: bytes) -> None:
    assert read_pauses(data).schema == PAUSES


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
@given(data=st.data())
def test_a_damaged_log_is_read_as_far_as_it_is_sound(path: Path, data: st.DataObject) -> None:
    """What its other lines say stays so; the damaged ones say nothing that cannot be."""
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    damage = data.draw(st.binary(min_size=1, max_size=40))
    known = {row["line"]: row for row in read_pauses(whole).to_pylist()}
    broken = whole[:at] + damage + whole[at + len(damage) :]
    same_lines = broken.count(b"\n") == whole.count(b"\n") and b"\r" not in damage
    found = read_pauses(broken).to_pylist()
    first_ns = min(row["ended_ns"] for row in known.values())
    assert all(row["lasted_ns"] < 10**9 < first_ns < row["ended_ns"] + 10**9 for row in found)
    if same_lines and len(broken.decode(errors="replace").splitlines()) == whole.count(b"\n"):
        begun = whole.count(b"\n", 0, at) + 1
        hit = range(begun, begun + 1 + whole.count(b"\n", at, at + len(damage)))
        assert [row for row in found if row["line"] not in hit] == [
            row for number, row in known.items() if number not in hit
        ]
