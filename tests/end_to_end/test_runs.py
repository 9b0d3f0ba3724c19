"""The command line, on real clusters: what a user sees, and what is left when things go wrong."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from checkers.folds.metadata_log.committed_log import same_record
from framework.checking.sealing import sealed_as
from framework.evidence.changes import Change
from framework.evidence.partitions import PartitionAppended
from framework.history.event import is_observer
from nodes.kraft.adapter.evidence import observe
from tests.end_to_end.runs import ONE_WORKER, long_enough, verdict_of

ENDINGS: Final = tuple(f'"f":"phase","value":"{phase}"' for phase in ("heal", "final"))
"""In the history of a run whose clients have done what they were to do."""


def framework(*argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "framework", *argv],
        capture_output=True,
        text=True,
        check=False,
    )


def only_run(results: Path) -> Path:
    return (results / "latest").resolve()


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Where the harness and its nodes keep what they need; a short name, for sockets."""
    folder = Path(tempfile.mkdtemp(prefix="run-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def started(tmp_path: Path, scratch: Path) -> Iterator[subprocess.Popen[str]]:
    """A long run in namespaces that is in the middle of its operations."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "framework", "run", "--hosts", "namespaces"),
            *("--nodes", "3", "--nemesis", "kill", "--interval", "3", "--time-limit", "300"),
            *("--results", str(tmp_path), "--name", "cut", "--seed", "5", *ONE_WORKER),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    )
    while True:
        histories = list(tmp_path.glob("cut/*/history.jsonl"))
        if histories and histories[0].read_bytes().count(b"\n") > 300:
            break
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.1)
    assert node_processes(scratch)
    yield process
    if process.poll() is None:
        process.kill()
        process.wait()
    framework("clean")


def test_a_partition_in_containers_is_survived(tmp_path: Path) -> None:
    def of(length_s: int) -> subprocess.CompletedProcess[str]:
        done = framework(
            *("run", "--hosts", "docker", "--nemesis", "partition", "--seed", "21"),
            *("--time-limit", str(length_s), "--interval", "4", "--results", str(tmp_path)),
            *("--junit", str(tmp_path / "junit.xml"), "--live"),
        )
        assert "live: INVALID" not in done.stdout  # that something is said: the next but one
        return done

    done = long_enough(of, lambda done: done.returncode != 2, 20, 60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hosts: docker" in done.stdout
    assert "VALID" in done.stdout
    folder = only_run(tmp_path)
    verdict = verdict_of(folder)
    assert {each["verdict"] for each in verdict["checkers"]} == {"VALID"}
    assert all(each["seen"] > 0 for each in verdict["checkers"])
    assert (folder / "report.html").stat().st_size > 100_000
    assert list(folder.glob("history/part-*.parquet"))
    assert {path.name for path in (folder / "nodes").iterdir()} == {
        *("b1", "b2", "b3", "c1", "c2", "c3")
    }
    assert_disks_agree(folder)
    assert "<testsuite" in (tmp_path / "junit.xml").read_text()
    label = '{{.Label "kraft-proof.run"}}'
    left = subprocess.run(
        ["docker", "ps", "-a", "--format", label], capture_output=True, text=True, check=True
    )
    assert folder.name not in left.stdout


def test_clauses_are_told_while_the_run_goes_on(tmp_path: Path, scratch: Path) -> None:
    """One that holds and one that is broken for good, of a run that would go on for minutes."""
    wanted = ("live: topic-linearizability one-order holds", "live: INVALID isr-linearizability")
    with subprocess.Popen(
        [
            *(sys.executable, "-m", "framework", "run", "--hosts", "namespaces", "--live"),
            *("--defect", "isr-applied-twice", "--nodes", "3", "--workload", "topics,isr"),
            *("--time-limit", "300", "--results", str(tmp_path), "--seed", "3", *ONE_WORKER),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(scratch)},
    ) as run:
        assert run.stdout is not None
        told: list[str] = []
        while not all(any(each in line for line in told) for each in wanted):
            line = run.stdout.readline()
            assert line, f"the run ended, and not all was told: {''.join(told)}"
            told.append(line)
        folder = only_run(tmp_path)
        assert not any(map((folder / "history.jsonl").read_text().__contains__, ENDINGS))
        os.killpg(run.pid, signal.SIGINT)
        told += run.stdout
    assert run.returncode == 1, "".join(told)
    assert "failed_fast" not in plan_of(folder)  # nobody asked for that
    said = {line.split()[2] for line in told if line.startswith("live: INVALID")}
    judged = {each["name"]: each["verdict"] for each in verdict_of(folder)["checkers"]}
    assert {judged[name] for name in said} == {"INVALID"}
    assert judged["topic-linearizability"] == "VALID"


def test_what_is_broken_for_good_ends_a_run(tmp_path: Path) -> None:
    done = framework(
        *("run", "--hosts", "namespaces", "--defect", "isr-applied-twice", "--fail-fast"),
        *("--nodes", "3", "--workload", "topics,isr"),
        *("--time-limit", "300", "--seed", "3", "--results", str(tmp_path), *ONE_WORKER),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "live: INVALID isr-linearizability" in done.stdout
    folder = only_run(tmp_path)
    assert json.loads((folder / "plan.json").read_text())["failed_fast"]
    verdict = verdict_of(folder)
    assert verdict["verdict"] == "INVALID" and not verdict["interrupted"]
    assert ENDINGS[1] not in (folder / "history.jsonl").read_text()
    assert not (folder / "live").exists()


def assert_disks_agree(folder: Path) -> None:
    """What lies on the nodes' disks in the end is what they reported. A copy that was kept before
    may end with what a deposed leader wrote, and its successor cut off."""
    evidence = list(observe(folder, json.loads((folder / "plan.json").read_text())))
    reported = [each for each in evidence if each.source == "event"]
    left = [each for each in evidence if each.source == "disk"]
    applied = {each.offset: each for each in reported if isinstance(each, Change)}
    changes = [each for each in left if isinstance(each, Change) and "/kept/" not in each.ref]
    records = [each for each in changes if each.offset in applied]
    assert {each.node for each in records} >= {each.name for each in (folder / "nodes").iterdir()}
    assert all(same_record(applied[each.offset], each) for each in records)
    batches = [each for each in left if isinstance(each, PartitionAppended)]
    appended = {fact_of(each) for each in reported if isinstance(each, PartitionAppended)}
    assert batches and appended.issuperset(map(fact_of, batches))


def fact_of(batch: PartitionAppended) -> tuple[object, ...]:
    place = (batch.node, batch.topic_id, batch.partition, batch.base_offset, batch.end_offset)
    return *place, batch.epoch, batch.crc, batch.producer_id, batch.base_sequence


def test_a_killed_harness_leaves_a_history_that_checks(
    started: subprocess.Popen[str], tmp_path: Path, scratch: Path
) -> None:
    started.kill()
    started.wait()
    folder = next(tmp_path.glob("cut/*"))
    assert not (folder / "verdict.json").exists()
    checked = framework("check", "--json", str(folder), *ONE_WORKER)
    assert checked.returncode in (0, 2), checked.stdout + checked.stderr
    reported = json.loads(checked.stdout.splitlines()[0])
    assert reported["verdict"] in ("VALID", "UNKNOWN")
    cleaned = framework("clean")
    assert cleaned.returncode == 0, cleaned.stderr
    assert framework("clean").stdout.strip().startswith("nothing to clean")
    assert node_processes(scratch) == set()


def test_ctrl_c_heals_collects_and_checks(
    started: subprocess.Popen[str], tmp_path: Path, scratch: Path
) -> None:
    os.killpg(started.pid, signal.SIGINT)  # as a terminal does: to the whole group
    output, _ = started.communicate()
    assert started.returncode in (0, 2), output
    folder = only_run(tmp_path)
    verdict = verdict_of(folder)
    assert verdict["interrupted"] is True
    assert (folder / "report.html").exists()
    assert list((folder / "nodes").glob("*/events.jsonl"))
    ledger = [json.loads(line) for line in (folder / "faults.jsonl").read_text().splitlines()]
    planned = {each["id"] for each in ledger if each["step"] == "planned"}
    healed = {each["id"] for each in ledger if each["step"] == "healed"}
    assert planned == healed
    assert "Traceback" not in output
    assert node_processes(scratch) == set()


def test_up_runs_a_command_where_the_cluster_can_be_reached() -> None:
    script = (
        "import os, socket\n"
        "for name in ('BOOTSTRAP_SERVERS', 'CONTROLLER_SERVERS'):\n"
        "    for server in os.environ[name].split(','):\n"
        "        host, port = server.split(':')\n"
        "        socket.create_connection((host, int(port)), 5).close()\n"
        "raise SystemExit(7)\n"
    )
    done = framework("up", "--hosts", "namespaces", "--", sys.executable, "-c", script)
    assert done.returncode == 7, done.stdout + done.stderr


def test_a_replay_has_the_same_plan_but_for_what_is_set_anew(tmp_path: Path) -> None:
    """Of a run that was recorded, and not judged: so is its replay."""
    first = framework(
        *("run", "--hosts", "namespaces", "--nodes", "3", "--workload", "topics", "--no-check"),
        *("--time-limit", "3", "--results", str(tmp_path), "--seed", "8", "--name", "once"),
        *ONE_WORKER,  # which is what the replay has as well
    )
    assert first.returncode == 0, first.stdout + first.stderr
    original = only_run(tmp_path)
    assert f"recorded, and not judged: python -m framework check {original}" in first.stdout
    assert not (original / "verdict.json").exists() and (original / "nodes" / "n1").is_dir()
    assert sealed_as(original, plan_of(original)) is not None
    wanted = {
        "listener.security.protocol.map": "CLIENT:SSL,CONTROLLER:SSL",
        "ssl.client.auth": "required",
        "authorizer.enabled": "true",
    }
    anew = [word for key, value in wanted.items() for word in ("--set", f"{key}={value}")]
    second = framework("replay", str(original), *anew)
    assert second.returncode == 0, second.stdout + second.stderr
    repeated = only_run(tmp_path)
    assert repeated != original
    assert _schedule(repeated) == _schedule(original)
    assert _answering(original) == _answering(repeated) == set(plan_of(original)["nodes"])
    plan = json.loads((repeated / "plan.json").read_text())
    assert plan["settings"] == dict.fromkeys(plan["nodes"], wanted)
    assert json.loads((original / "plan.json").read_text())["settings"] == {}
    for node in plan["nodes"]:
        lines = (repeated / "nodes" / node / "server.properties").read_text().splitlines()
        assert {f"{key}={value}" for key, value in wanted.items()} <= set(lines)


def _schedule(folder: Path) -> list[tuple[str, str]]:
    """The first operations of a run: what the seed fixes whatever the cluster's pace."""
    events = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    invoked = [
        event for event in events if event["type"] == "invoke" and not is_observer(event["process"])
    ]
    return [(event["f"], event.get("key")) for event in invoked[:25]]


def plan_of(folder: Path) -> dict[str, Any]:
    plan: dict[str, Any] = json.loads((folder / "plan.json").read_text())
    return plan


def _answering(folder: Path) -> set[str]:
    """Nodes that told the observer something."""
    events = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    answers = [event for event in events if event["type"] == "ok"]
    return {event["node"] for event in answers if is_observer(event["process"])}


def node_processes(scratch: Path) -> set[int]:
    """Pids of the node processes with their files below a folder, in whatever namespace."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
        except OSError:
            continue
        if b"-m nodes.kraft --config" in line and bytes(scratch) in line:
            found.add(int(entry.name))
    return found
