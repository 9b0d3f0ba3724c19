"""How programs of clients are built, run and understood; Go itself is not needed for that."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from benchmarks.kafka_clients import java_client, programs
from benchmarks.kafka_clients.programs import CLIENTS, GO, build, outcome, outcomes, version
from framework.errors import EngineError, UsageError

SAYS = {"name": "CreateTopics", "ok": True}


def program(folder: Path, text: str, name: str = "one") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def go(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A `go` that does this, first in the path."""
    program(folder, text, "go")
    monkeypatch.setenv("PATH", f"{folder}:/bin:/usr/bin")


@pytest.mark.parametrize(
    ("said", "came"),
    [
        (SAYS, "yes"),
        (SAYS | {"ok": False, "error": "not\nso | so"}, "not so / so"),
        (SAYS | {"ok": False, "error": "no\nno\nnor this"}, "no nor this"),  # of each partition
        (SAYS | {"ok": False, "error": "x" * 300}, "x" * 200),
        (SAYS | {"ok": False, "error": "yes"}, "says: yes"),  # which would count as one
        (SAYS | {"ok": False, "error": ""}, "says: "),
    ],
)
def test_what_came_of_a_call(said: dict[str, object], came: str) -> None:
    assert outcome(json.dumps(said)) == ("CreateTopics", came)


def test_all_that_a_program_tells_counts(tmp_path: Path) -> None:
    lines = [json.dumps(SAYS | {"name": name}) for name in ("a", "b")]
    told = program(tmp_path, "\n".join(f"echo '{line}'" for line in lines))
    assert outcomes("one", [str(told)]) == [("a", "yes"), ("b", "yes")]


def test_a_program_that_breaks_off_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much it told before."""
    told = program(tmp_path, f"echo '{json.dumps(SAYS)}'; echo panic: no >&2; exit 2")
    with pytest.raises(EngineError, match="one ended with 2: panic: no"):
        outcomes("one", [str(told)])
    with pytest.raises(EngineError, match="one told of no call"):
        outcomes("one", [str(program(tmp_path, "exit 0"))])
    monkeypatch.setattr(programs, "LONGEST_S", 0.05)
    with pytest.raises(EngineError, match="one did not end within 0 s"):
        outcomes("one", [str(program(tmp_path, "exec sleep 60"))])


def test_programs_are_built_by_their_clients_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(tmp_path, monkeypatch, f'echo "$PWD $*" > {tmp_path}/ran')
    build([], tmp_path)
    assert not (tmp_path / "ran").exists()
    build(["sarama", "kafka-go"], tmp_path)
    assert (tmp_path / "ran").read_text() == (
        f"{GO} build -buildvcs=false -o {tmp_path}/ ./sarama ./kafka-go\n"
    )


def test_what_go_cannot_build_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(tmp_path, monkeypatch, "echo some >&2; echo 'no such host' >&2; exit 1")
    with pytest.raises(UsageError, match=r"^go build failed .*--only tools.*: no such host$"):
        build(["sarama"], tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(UsageError, match=r"^sarama: Go builds .* there is no go"):
        build(["sarama"], tmp_path)


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_is_pinned_and_has_a_program(client: str) -> None:
    found = version(client)
    assert re.fullmatch(r"\d+\.\d+\.\d+", found)
    assert f"{CLIENTS[client]} v{found} h1:" in (GO / "go.sum").read_text()
    assert CLIENTS[client] in (GO / client / "main.go").read_text()


# --- Kafka's own client -----------------------------------------------------------------------


def calls_of(folder: Path) -> list[str]:
    """What came of a compiled program's calls on brokers that nobody is."""
    environment = {"PATH": os.environ["PATH"], "BOOTSTRAP_SERVERS": "nobody.invalid:1"}
    argv = java_client.command(folder)
    return subprocess.run(argv, env=environment, capture_output=True, text=True).stderr.splitlines()


def test_the_java_program_is_compiled_by_what_get_brings(tmp_path: Path) -> None:
    """And started: without any broker that can be found it says so, before its first call."""
    java_client.build(tmp_path)
    assert (tmp_path / "clients" / "JavaClient.class").is_file()
    assert any("No resolvable bootstrap urls" in line for line in calls_of(tmp_path))


def test_what_does_not_compile_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "JavaClient.java").write_text("class JavaClient { int none() { } }")
    monkeypatch.setattr(java_client, "SOURCES", tmp_path)
    with pytest.raises(EngineError, match=r"does not compile: 1\. ERROR in .*JavaClient\.java"):
        java_client.build(tmp_path / "classes")
