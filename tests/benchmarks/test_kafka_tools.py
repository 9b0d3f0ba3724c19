"""How a call of one of Kafka's tools is judged, and what the table says."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from benchmarks import kafka_tools
from benchmarks.kafka_tools import CALLS, Call, outcome, table, why

CALL = Call("a.b.TopicCommand", "--bootstrap-server {brokers} --list --file {files}/x", "tools")
PLACES = {"brokers": "h:1", "controllers": "c:1", "files": "/f"}


def ends(monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> list[list[str]]:
    """The tool ends so; the command lines that were run."""
    ran: list[list[str]] = []

    def run(argv: list[str], **_: Any) -> Any:
        ran.append(argv)
        return subprocess.CompletedProcess(argv, code, said, "")

    monkeypatch.setattr(kafka_tools, "command", lambda main, arguments: [main, *arguments])
    monkeypatch.setattr(subprocess, "run", run)
    return ran


@pytest.mark.parametrize(
    ("code", "said", "expected"),
    [
        (0, "some\ntools\n", "yes"),
        (1, "tools\n", "tools"),  # what it is to say is not enough
        (0, "no such\n", "no such"),  # nor is exit code 0
        (1, "", "exit code 1, nothing said"),
        (1, "a\nError: it | fails\nb", "Error: it / fails"),
        (
            1,
            "Error while executing x\njava.util.concurrent.ExecutionException: "
            "org.apache.kafka.common.errors.InvalidConfigurationException: c=1: why\n\tat x",
            "c=1: why",
        ),
    ],
)
def test_what_came_of_a_call(
    monkeypatch: pytest.MonkeyPatch, code: int, said: str, expected: str
) -> None:
    ran = ends(monkeypatch, code, said)
    assert outcome(CALL, PLACES) == expected
    assert ran == [["a.b.TopicCommand", "--bootstrap-server", "h:1", "--list", "--file", "/f/x"]]


def test_a_tool_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ends(monkeypatch, 0, "")

    def run(argv: list[str], **how: Any) -> Any:
        raise subprocess.TimeoutExpired(argv, how["timeout"])

    monkeypatch.setattr(subprocess, "run", run)
    assert outcome(CALL, PLACES) == "no end within 40 s"


def test_the_words_of_a_log_are_left_out() -> None:
    said = "[main] ERROR org.apache.kafka.tools.TopicCommand - no such thing as an error\n"
    assert why(said) == "no such thing as an error"


def test_the_table() -> None:
    """A line a call, without where it goes; the last one counts."""
    node = ["yes"] * (len(CALLS) - 1) + ["why not"]
    lines = table({"kraft": node, "kafka": ["yes"] * len(CALLS)}).splitlines()
    assert lines[0] == "| call | the node | Apache Kafka 4.2.0 |"
    assert lines[2].startswith("| `TopicCommand --create --topic tools --partitions 3")
    assert lines[-2].endswith("| why not | yes |")
    assert lines[-1] == f"| {len(CALLS)} calls | {len(CALLS) - 1} | {len(CALLS)} |"
    assert len(lines) == len(CALLS) + 3
    assert not any("{brokers}" in each.title for each in CALLS if "broker-list" not in each.title)
