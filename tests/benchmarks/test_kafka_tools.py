"""How a call of one of Kafka's tools is judged, and what the page says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks import kafka_tools
from benchmarks.kafka_clients import java_client, refusals
from benchmarks.kafka_tools import CALLS, HEAD, PARTS, Call, heading, main, outcome, table, why
from framework.errors import EngineError

DOCS = Path(__file__).parents[2] / "docs" / "clients.md"

CALL = Call("a.b.TopicCommand", "--bootstrap-server {brokers} --list --file {files}/x", "tools")
PLACES = {"brokers": "h:1", "controllers": "c:1", "files": "/f"}


def ends(monkeypatch: pytest.MonkeyPatch, code: int, said: str) -> list[list[str]]:
    """The tool ends so; the command lines that were run."""
    ran: list[list[str]] = []

    def run(argv: list[str], **_: Any) -> Any:
        ran.append(argv)
        return subprocess.CompletedProcess(argv, code, said, "")

    monkeypatch.setattr(kafka_tools, "command", lambda main, *arguments: [main, *arguments])
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
        (1, "Could not lower it. It is 2\n1 operation(s) failed.", "Could not lower it. It is 2"),
        (1, '| x: []Exception in thread "main" java.lang.Runtime: no key\n\tat y', "no key"),
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


@pytest.mark.parametrize(
    ("said", "came"),
    [
        ("echo lag 0; exec sleep 60", "yes"),
        ("echo lag 1; exec sleep 60", "lag 1"),  # until its time is over
        ("echo lag 1; echo; echo 'no | more'; exit 1", "no / more"),
        ("exit 0", "nothing said"),
    ],
)
def test_a_tool_that_never_ends_is_ended_once_it_has_shown_what_it_is_to_show(
    monkeypatch: pytest.MonkeyPatch, said: str, came: str
) -> None:
    monkeypatch.setattr(kafka_tools, "command", lambda main, *arguments: ["sh", "-c", said])
    monkeypatch.setattr(kafka_tools, "SHOWN_S", 1.0)
    started = time.monotonic()
    assert outcome(Call("a.Verification", "", "lag 0", ends=False), PLACES) == came
    assert time.monotonic() - started < 30


def test_places_are_those_of_a_clusters_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As either system lays them out."""
    for name in ("BOOTSTRAP_SERVERS", "CONTROLLER_SERVERS"):
        monkeypatch.setenv(name, "h:1")
    laid_out = {
        "kraft": ("partitions/6e5c-0/0.log", "__kafka_metadata-0/0.log"),
        "kafka": ("tools-0/0.log", "__cluster_metadata-0/0.log"),
    }
    for system, (partition, metadata) in laid_out.items():
        nodes = tmp_path / system / "kraft-proof-x" / "nodes"
        snapshot = metadata.replace("0.log", "0-1.checkpoint")
        for node in ("b1", "c1", "b2"):
            for each in (partition, metadata, snapshot, "meta.properties"):
                path = nodes / node / "data" / each
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        offsets = nodes / "b1" / "data" / partition.replace("-0/", "-1/")
        offsets.parent.mkdir()
        offsets.write_bytes(b"\x00\x07readers\x00")
        found = kafka_tools.places(system, tmp_path / system)
        of_b1 = {f"{nodes}/b1/data/{partition}", str(offsets)}
        assert set(found["partitions"].split(",")) == of_b1
        assert found["offsets"] == str(offsets)
        assert found["metadata"] == f"{nodes}/c1/data/{metadata}"
        assert found["snapshot"] == f"{nodes}/c1/data/{snapshot}"


def test_the_words_of_a_log_are_left_out() -> None:
    said = "[main] ERROR org.apache.kafka.tools.TopicCommand - no such thing as an error\n"
    assert why(said) == "no such thing as an error"


def test_the_table() -> None:
    """A line a call; the last one counts."""
    node = [("a", "yes"), ("b", "why not")]
    lines = table({"kraft": node, "kafka": [("a", "yes"), ("b", "yes")]}).splitlines()
    assert lines == [
        "| call | the node | Apache Kafka 4.2.0 |",
        "| --- | --- | --- |",
        "| a | yes | yes |",
        "| b | why not | yes |",
        "| 2 calls | 1 | 2 |",
    ]


def test_systems_that_were_asked_for_different_things_make_no_table() -> None:
    with pytest.raises(EngineError, match=r"Apache Kafka 4\.2\.0 was asked for other calls"):
        table({"kraft": [("a", "yes")], "kafka": [("b", "yes")]})


def test_titles_say_nothing_of_where_calls_go() -> None:
    assert (
        CALLS[0].title
        == "TopicCommand --create --topic tools --partitions 3 --replication-factor 3"
    )
    assert not any("{" in each.title for each in CALLS)


def test_the_page_in_docs_is_of_these_calls_and_versions() -> None:
    """`python -m benchmarks.kafka_tools > docs/clients.md` is due after a change of either."""
    text = DOCS.read_text()
    assert text.startswith(HEAD)
    assert text.endswith(f"\n\n{refusals.section()}\n")
    text = text.removesuffix(f"{refusals.section()}\n")
    assert [line[3:] for line in text.splitlines() if line.startswith("## ")] == [
        heading(part) for part in PARTS
    ]
    told = [line.split(" | ")[0] for line in text.splitlines()]
    assert [each for each in told if each.startswith("| `")] == [
        f"| `{call.title}`" for call in CALLS
    ]


def test_the_pages_calls_of_the_java_client_are_those_of_its_program() -> None:
    called = {
        name
        for path in java_client.SOURCES.glob("*.java")
        for name in re.findall(r'new Call\("([^"]+)"', path.read_text())
    }
    told = DOCS.read_text().partition(f"## {heading('java')}\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ")[0].removeprefix("| ") for line in told.splitlines() if "| " in line]
    assert sorted(rows[2:-1]) == sorted(called) and len(called) > 30


def nothing_is_started(*_: Any) -> Any:
    raise AssertionError("a cluster was started")


def test_a_machine_without_go_is_told_so_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kafka_tools, "of_system", nothing_is_started)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert main(["--only", "sarama", "--only", "kafka-go"]) == 254
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("kafka_tools: sarama, kafka-go: Go builds their programs, and there")
    assert len(said.err.splitlines()) == 1


def test_what_ends_early_makes_no_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(argv: list[str], **_: Any) -> Any:
        return subprocess.CompletedProcess(argv, 3)

    monkeypatch.setattr(kafka_tools, "prepare", lambda *_: None)
    monkeypatch.setattr(subprocess, "run", run)
    assert main(["--only", "tools", "--system", "kraft"]) == 255
    assert capsys.readouterr() == ("", "kafka_tools: tools on the node: exit code 3\n")


def test_a_page_of_one_client(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What came of it where the cluster is comes by a file, of each system in turn."""
    asked = []

    def run(argv: list[str], **_: Any) -> Any:
        asked.append(argv)
        place = Path(argv[argv.index("--here") + 1])
        (place / kafka_tools.RESULT).write_text(json.dumps([["a", "yes"]]))
        return subprocess.CompletedProcess(argv, 0)

    monkeypatch.setattr(kafka_tools, "prepare", lambda *_: None)
    monkeypatch.setattr(subprocess, "run", run)
    assert main(["--only", "tools"]) == 0
    table = "| a | yes | yes |\n| 1 calls | 1 | 1 |"
    assert capsys.readouterr().out.endswith(f"{table}\n\n{refusals.section()}\n")
    assert [argv[argv.index("--system") + 1] for argv in asked] == ["kraft", "kafka"]
    assert all("benchmarks.kafka_tools" in argv and "tools" in argv for argv in asked)
