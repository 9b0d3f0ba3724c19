"""The node and Apache Kafka side by side: how rounds go, what the table says, and all of it at
sizes that say nothing about how fast anything is."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kio.records.readers import read_batch

from benchmarks.beside_kafka import __main__ as command
from benchmarks.beside_kafka import clients, partitions, systems
from benchmarks.beside_kafka.__main__ import Plan
from benchmarks.beside_kafka.batches import RECORD_BYTES, after, batch
from benchmarks.beside_kafka.clients import KafkaTools
from benchmarks.beside_kafka.envelopes import PRINCIPALS
from benchmarks.beside_kafka.measuring import (
    SMALL,
    Failed,
    Figure,
    Running,
    Sizes,
    WithThreeBrokers,
    p99,
)
from benchmarks.beside_kafka.table import Results, ahead, table
from framework.errors import EngineError

MORE = Figure("made", "/s", "more")
LESS = Figure("took", "ms", "less")


# --- the table ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "node", "kafka", "expected"),
    [
        (MORE, [20.0, 21.0, 22.0], [10.0, 10.5, 11.0], "the node, 2 times"),
        (MORE, [10.0, 10.5, 11.0], [20.0, 21.0, 22.0], "Apache Kafka, 2 times"),
        (LESS, [20.0, 21.0, 22.0], [10.0, 10.5, 11.0], "Apache Kafka, 2 times"),
        (MORE, [1.0, 20.0, 22.0], [10.0, 10.0, 11.0], "the node, 2 times (rounds overlap)"),
        (MORE, [10.0], [12.0], "Apache Kafka, 1.2 times"),
        (MORE, [10.0, 10.0], [10.1, 10.2], "alike"),
        (MORE, [10.0], [], ""),
        (MORE, [0.0], [1.0], ""),
    ],
)
def test_who_is_ahead(figure: Figure, node: list[float], kafka: list[float], expected: str) -> None:
    assert ahead(figure, {"kraft": node, "kafka": kafka}) == expected


def test_the_table_has_medians_with_their_spread_and_what_is_missing() -> None:
    results = Results()
    results.expect([MORE, LESS], ["kraft", "kafka"])
    for value in (3000.0, 1000.0, 2000.0):
        results.add("kraft", {"made": value})
    results.add("kafka", {"made": 12.34})
    lines = table(results, ["kraft", "kafka"]).splitlines()
    assert lines[0] == "|  | the node | Apache Kafka | ahead |"
    assert lines[2] == "| made, /s | 2,000 (1,000 - 3,000) | 12.3 | the node, 1.6e+02 times |"
    assert lines[3] == "| took, ms | - | - |  |"
    told = results.to_json()
    assert told["figures"][0]["medians"] == {"kraft": 2000.0, "kafka": 12.34}
    assert told["figures"][0]["values"]["kraft"] == [3000.0, 1000.0, 2000.0]
    assert told["figures"][1]["medians"] == {}
    json.dumps(told)


def test_the_99th_percentile() -> None:
    assert p99([5.0]) == 5.0
    assert p99([float(each) for each in range(1, 101)]) == 100.0
    assert p99([float(each) for each in range(1, 1001)]) == 991.0


# --- rounds ---------------------------------------------------------------------------------------


class Recorder(WithThreeBrokers):
    """Tells at which sizes it was done."""

    def __init__(self, name: str, *, alone: bool = False, error: Exception | None = None) -> None:
        self.name, self.alone, self.error = name, alone, error
        self.done: list[float] = []

    def figures(self, sizes: Sizes) -> Sequence[Figure]:
        return [Figure(self.name, "s", "less")]

    def measure(self, running: Running, sizes: Sizes) -> Mapping[str, float]:
        self.done.append(sizes.seconds)
        if self.error is not None:
            raise self.error
        return {self.name: float(len(self.done))}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The clusters that were started and ended, in their order."""
    found: list[str] = []

    @contextmanager
    def running(name: str, brokers: int, more: Sequence[str]) -> Iterator[Running]:
        found.append(f"{name} {brokers}")
        yield Running(cluster=None, started_s=1.0)  # type: ignore[arg-type]
        found.append(f"{name} ends")

    monkeypatch.setattr(command, "running", running)
    monkeypatch.setattr(command, "until_quiet", lambda cluster, patience_s: None)
    return found


def run(chosen: Sequence[Any], rounds: int, warm: int = 0) -> Results:
    results = Results()
    plan = Plan(
        chosen=chosen,
        systems=["kraft", "kafka"],
        sizes=Sizes(),
        rounds=rounds,
        warm=warm,
        say=lambda line: None,
    )
    command.run(plan, results)
    assert not plan.settings
    return results


def test_systems_take_turns_on_clusters_that_stay(seen: list[str]) -> None:
    one = Recorder("one")
    results = run([one, Recorder("two")], rounds=2, warm=1)
    assert seen == ["kraft 3", "kafka 3", "kafka ends", "kraft ends"]
    assert one.done == [Sizes().seconds] * 6
    assert results.values["one"] == {"kraft": [3.0, 6.0], "kafka": [4.0, 5.0]}
    assert not results.failures


def test_what_is_alone_has_a_cluster_in_each_round_and_is_done_small_first(seen: list[str]) -> None:
    alone = Recorder("alone", alone=True)
    results = run([alone], rounds=2, warm=7)
    turns = ["kraft", "kafka", "kafka", "kraft"]
    assert seen == [line for name in turns for line in (f"{name} 3", f"{name} ends")]
    assert alone.done == [SMALL.seconds, Sizes().seconds] * 4
    assert results.values["alone"] == {"kraft": [2.0, 8.0], "kafka": [4.0, 6.0]}


@pytest.mark.parametrize("alone", [True, False])
def test_what_cannot_be_measured_is_said_and_the_rest_goes_on(seen: list[str], alone: bool) -> None:
    broken = Recorder("broken", alone=alone, error=Failed("no such luck"))
    results = run([broken, Recorder("good")], rounds=1)
    assert results.values["broken"] == {"kraft": [], "kafka": []}
    assert results.values["good"] == {"kraft": [1.0], "kafka": [2.0]}
    assert results.failures == [
        "the node: broken: no such luck",
        "Apache Kafka: broken: no such luck",
    ]


@pytest.mark.parametrize("alone", [True, False])
def test_a_cluster_that_does_not_start_is_said(
    monkeypatch: pytest.MonkeyPatch, alone: bool
) -> None:
    @contextmanager
    def running(name: str, brokers: int, more: Sequence[str]) -> Iterator[Running]:
        raise EngineError("it does not settle")
        yield

    monkeypatch.setattr(command, "running", running)
    assert run([Recorder("one", alone=alone)], rounds=1).failures == [
        "the node: it does not settle",
        "Apache Kafka: it does not settle",
    ]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--rounds", "0"], "a whole number from 1 up"),
        (["--warm", "few"], "a whole number from 0 up"),
        (["--partitions", "many"], "a whole number from 1 up"),
        (["--seconds", "-1"], "a number of s"),
        (["--only", "nothing"], "invalid choice"),
        (["--system", "etcd"], "invalid choice"),
        (["--set", "a=b"], "--system names it"),
        (["--system", "kraft", "--set", "no.such.setting=1"], "no.such.setting"),
        (["--system", "kafka", "--set", "node.id=1"], "node.id"),
        (["--json", "/no/such/folder/file"], "there is no folder"),
    ],
)
def test_bad_input_is_said_before_anything_is_started(
    argv: list[str], says: str, seen: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(argv) == 254
    said = capsys.readouterr().err
    assert says in said and len(said.splitlines()) == 1
    assert not seen


# --- what is sent ---------------------------------------------------------------------------------


def test_a_batch_is_what_brokers_take() -> None:
    data = batch(5)
    made, _ = read_batch(data, 0)
    assert [int(each.offset) for each in made.records] == list(range(5))
    assert all(len(each.value or b"") == RECORD_BYTES for each in made.records)


def test_where_batches_end() -> None:
    one = batch(5)
    second = struct.pack(">q", 5) + one[8:]  # as a broker gives it its offset
    assert after(one + second, 0) == (10, 2 * len(one))
    assert after(one + second[:-1], 0) == (5, len(one))  # one that is cut off is not read
    assert after(b"", 7) == (7, 0)


def test_partitions_are_split_into_topics_and_brokers_have_files_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert partitions._split(2500) == [1000, 1000, 500]
    assert partitions._split(2000) == [1000, 1000]
    monkeypatch.setattr(partitions.resource, "getrlimit", lambda _: (20_000, 20_000))
    measured = partitions.Partitions()
    assert measured.brokers(replace(SMALL, partitions=100_000)) == 6
    assert measured.brokers(SMALL) == 3


def test_principals_in_envelopes() -> None:
    """Kafka's in its own form; each request of the node with an id of its own."""
    assert PRINCIPALS["kafka"]() == b"\0\0\x05User\x0aANONYMOUS\0\0"
    assert PRINCIPALS["kraft"]() != PRINCIPALS["kraft"]()


def test_both_systems_are_given_what_they_share() -> None:
    for name in systems.NAMES:
        given = systems.settings(name, ["more=1"])
        assert {f"{key}={value}" for key, value in systems.ALIKE.items()} <= set(given)
        assert given[-1] == "more=1"


def test_what_kafkas_tools_say_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = {
        "ProducerPerformance": (
            "100 records sent, 10.0 records/sec (0.01 MB/sec), 1.0 ms avg latency, 2.0 ms max.\n"
            "60000 records sent, 20000.0 records/sec (20.00 MB/sec), 5.0 ms avg latency, "
            "90.0 ms max latency, 4 ms 50th, 8 ms 95th, 12 ms 99th, 80 ms 99.9th.\n"
        ),
        "ConsumerPerformance": "start.time, end.time, data\na, b, 57.2, 40.0, 60000, 3, 1\n",
    }
    monkeypatch.setattr(clients.command_line, "tools", lambda: tmp_path)
    monkeypatch.setattr(clients, "_tool", lambda running, main, arguments: said[main])
    monkeypatch.setattr(clients, "Client", lambda cluster: AnyTopic())
    running = Running(cluster=None, started_s=0.0)  # type: ignore[arg-type]
    values = list(KafkaTools().measure(running, SMALL).values())
    assert values == pytest.approx([20 * 1.048576, 12.0, 40 * 1.048576])
    said["ProducerPerformance"] = "no such topic"
    with pytest.raises(Failed, match="no such topic"):
        KafkaTools().measure(running, SMALL)


class AnyTopic(nullcontext["AnyTopic"]):
    """A client that has made any topic already."""

    def __enter__(self) -> AnyTopic:
        return self

    def made(self, name: str, partitions: int) -> nullcontext[None]:
        return nullcontext()


# --- on clusters ----------------------------------------------------------------------------------


def test_all_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But for Kafka's tools, which not every machine has; and on the node alone, for what it takes
    Apache Kafka to start and get warm is as much as all of this."""
    names = [name for name in command.MEASUREMENTS if name != "kafka-tools"]
    asked = [word for name in names for word in ("--only", name)]
    asked += ["--system", "kraft"]
    result = tmp_path / "beside.json"
    code = command.main(["--small", "--rounds", "1", "--warm", "0", "--json", str(result), *asked])
    said = capsys.readouterr()
    assert code == 0, said.err
    found = json.loads(result.read_text())
    wanted = [each.name for name in names for each in command.MEASUREMENTS[name].figures(SMALL)]
    assert [each["name"] for each in found["figures"]] == wanted
    for each in found["figures"]:
        assert each["medians"].keys() == {"kraft"}, each
        assert min(each["medians"].values()) > 0, each
    assert len(said.out.splitlines()) == len(wanted) + 2
