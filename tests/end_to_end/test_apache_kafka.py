"""A run against Apache Kafka, as it was released."""

import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from crc32c import crc32c

from framework.evidence.changes import (
    BrokerFenced,
    BrokerLeaving,
    BrokerRegistered,
    FeatureSet,
    VotersNamed,
)
from nodes.kafka.defects.catalogue import DEFECTS
from nodes.kafka.disk import left_on_disk
from nodes.kafka.releases import newest
from nodes.kafka_files.batches import scan
from tests.end_to_end.runs import (
    ONE_WORKER,
    long_enough,
    made_on_demand,
    recorded,
    verdict_of,
)

BY_CLIENTS = {
    "availability",
    "convergence",
    "groups",
    "isr-linearizability",
    "kafka-log",
    "observed-cluster",
    "partition-data",
    "zombie-fencing",
}
BY_DISKS = {
    "committed-never-lost",
    "identity-uniqueness",
    "isr-chain",
    "log-matching",
    "metadata-cache",
    "node-tells-the-truth",
    "observed-log",
    "one-leader-per-epoch",
    "process-health",
    "replica-matching",
    "uncommitted-never-visible",
    "voter-durability",
}
BROKEN = "lose-some-appends"
NON_VOTER = "Unexpected acknowledgement from non-voter"
"""By that a slow answer ends a controller that removes a voter (docs/kafka.md, what was found)."""
METADATA_LOG = "nodes/n2/data/__cluster_metadata-0/00000000000000000000.log"


def run(results: Path, *more: str) -> dict[str, Any]:
    """The verdict, and beside it the folder, the exit code and what was said."""
    argv = ["run", "--system", "kafka", "--hosts", "namespaces", "--results", str(results), *more]
    done = subprocess.run(
        [sys.executable, "-m", "framework", *argv], capture_output=True, text=True, timeout=900
    )
    folder = max(path.parent for path in results.glob("*/*/verdict.json"))  # by its time
    said = {"code": done.returncode, "said": done.stdout + done.stderr, "folder": folder}
    return verdict_of(folder) | said


def test_a_healthy_cluster_is_valid_by_clients_and_by_its_disks(tmp_path: Path) -> None:
    """Logs, groups and brokers that clients play, without the topics workload, and without moves of
    partitions: they find something in Apache Kafka (docs/kafka.md)."""
    workloads = "log:moves=false,groups,isr,zombie"
    asked = ("--nodes", "3", "--nemesis", "partition", "--workload", workloads)

    def of(length_s: int) -> dict[str, Any]:
        shown = run(tmp_path, *asked, "--time-limit", str(length_s), "--seed", "3", *ONE_WORKER)
        assert shown["code"] in (0, 2), shown["said"]
        return shown

    found = long_enough(of, lambda shown: shown["code"] == 0, 20, 45)
    assert found["code"] == 0, found["said"]
    verdicts = {each["name"]: each["verdict"] for each in found["checkers"]}
    assert {name: verdicts.get(name) for name in BY_CLIENTS | BY_DISKS} == dict.fromkeys(
        BY_CLIENTS | BY_DISKS, "VALID"
    )
    folder = found["folder"]
    plan = json.loads((folder / "plan.json").read_text())
    assert plan["system"] == "kafka"
    assert plan["versions"]["Apache Kafka"] == newest()
    controls(folder, tmp_path)


def test_extra_brokers_and_voters_come_and_go(tmp_path: Path) -> None:
    """Brokers are drained by controlled shutdown, voters removed and added; what they leave is on
    disks. So short a run, of processes that take long to start, may be too short for some floors.
    """
    workloads = ("--workload", "lifecycle,voters", "--exactly")
    asked = ("--nodes", "3", "--set", "quorum=dynamic", *workloads)
    sure = {"committed-never-lost", "log-matching", "observed-cluster", "one-leader-per-epoch"}
    wanted = {"remove-voter", "add-voter", "describe-voters"}

    def of(length_s: int) -> dict[str, Any]:
        shown = run(tmp_path, *asked, "--time-limit", str(length_s), "--seed", "2", *ONE_WORKER)
        folder = shown["folder"]
        verdicts = {each["name"]: each["verdict"] for each in shown["checkers"]}
        killed = any(NON_VOTER in path.read_text() for path in folder.glob("nodes/*/node.log"))
        assert killed or "INVALID" not in verdicts.values(), shown["said"]
        events = map(json.loads, (folder / "history.jsonl").read_text().splitlines())
        done = [each for each in events if each["type"] == "ok"]
        drains = [each["value"] for each in done if each["f"] == "drain"]
        return {
            "folder": folder,
            "killed": killed,
            "verdicts": verdicts,
            "done": {each["f"] for each in done},
            "let go": {each["broker_id"] for each in drains if each["granted"]},
        }

    def enough(shown: dict[str, Any]) -> bool:
        valid = all(shown["verdicts"].get(name) == "VALID" for name in sure)
        return bool(not shown["killed"] and valid and wanted <= shown["done"] and shown["let go"])

    shown = long_enough(of, enough, 10, 20, 45)
    assert enough(shown), shown
    verdicts, folder, let_go = shown["verdicts"], shown["folder"], shown["let go"]
    floors = {verdicts["controlled-shutdown-safety"], verdicts["voter-changes"]}
    assert "NOT APPLICABLE" not in floors
    assert let_go <= {301, 302}
    told = list(left_on_disk(folder))
    registered = {
        (each.node, each.broker_id) for each in told if isinstance(each, BrokerRegistered)
    }
    assert {("g301a", 301), ("n1", 301), ("n1", 302)} <= registered
    # Who leads nothing is let go at once, and fenced: Kafka records no leaving of it.
    left = {each.broker_id for each in told if isinstance(each, BrokerLeaving)}
    fenced = {each.broker_id for each in told if isinstance(each, BrokerFenced)}
    assert left and let_go <= left | fenced
    named = [each for each in told if isinstance(each, VotersNamed)]
    assert {"n1", "n2", "n3"} <= {each.node for each in named}
    assert {2, 3} <= {len(each.voters) for each in named}


def test_a_cluster_begins_with_the_levels_that_are_asked_for(tmp_path: Path) -> None:
    """By its metadata log, on every disk. It makes topics that clients look for, which is a
    setting, too."""
    asked = {"eligible.leader.replicas.version": 0, "transaction.version": 1}
    folder = recorded(
        tmp_path,
        "levels",
        system="kafka",
        nodes="3",
        nemesis="none",
        workload="topics",
        time_limit_s=3,
        exactly=True,
        settings=(
            *(f"feature.{name}={level}" for name, level in asked.items()),
            "auto.create.topics.enable=true",
        ),
        seed=5,
    )
    plan = json.loads((folder / "plan.json").read_text())
    assert made_on_demand(folder)
    assert {f"feature.{name}" for name in asked} <= plan["settings"]["n1"].keys()
    found = {
        node: {each.name: each.level for each in told if each.node == node}
        for told in ([each for each in left_on_disk(folder) if isinstance(each, FeatureSet)],)
        for node in {each.node for each in told}
    }
    assert found.keys() == {"n1", "n2", "n3"}
    for node, levels in found.items():
        assert {name: levels.get(name, 0) for name in asked} == asked, node
        assert levels["metadata.version"] > 26, node


def controls(folder: Path, into: Path) -> None:
    """Answers, a record and the end of a log that are not what they were, each in a copy; and a run
    of nodes that are broken on purpose."""
    copies = {
        another_offset: {"kafka-log", "partition-data"},
        served_zombie: {"zombie-fencing"},
        second_winner: {"isr-linearizability"},
        isr_that_never_was: {"isr-chain", "uncommitted-never-visible"},
        another_record: {"log-matching", "identity-uniqueness"},
        half_a_log: {"voter-durability"},
        never_settled: {"convergence"},
        crashed: {"process-health"},
    }
    paths = []
    for falsify in copies:
        paths.append(into / falsify.__name__)
        shutil.copytree(folder, paths[-1], ignore=shutil.ignore_patterns("sealed", "verdict.json"))
        falsify(paths[-1])
    paths.append(broken(into / "defects"))
    expectations = [*copies.values(), DEFECTS[BROKEN].found_by]
    argv = [sys.executable, "-m", "framework", "check", "--again", *map(str, paths)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=900)
    assert done.returncode == 1, done.stdout + done.stderr
    for path, expected in zip(paths, expectations, strict=True):
        found = verdict_of(path)["checkers"]
        wrong = {each["name"] for each in found if each["verdict"] == "INVALID"}
        assert expected <= wrong, (path.name, wrong)


def broken(into: Path) -> Path:
    """A short run, without any fault, of a node that loses one of 25 appends, by their times: of
    half as many once none was lost that was acknowledged by all."""
    options = {"workload": DEFECTS[BROKEN].workload, "nodes": "1", "time_limit_s": 16, "seed": 3}
    return recorded(into, BROKEN, system="kafka", defect=BROKEN, **options)


def another_offset(folder: Path) -> None:
    """An acknowledged record is said to be where the one before it is."""
    path, before = folder / "history.jsonl", dict[str, int]()
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        event = json.loads(line)
        if event["type"] != "ok" or event["f"] != "produce" or event["value"]["acks"] != "all":
            continue
        if event["key"] in before:
            event["value"]["offset"] = before[event["key"]]
            lines[number] = json.dumps(event)
            break
        before[event["key"]] = event["value"]["offset"]
    else:
        raise AssertionError("no partition was produced to twice")
    path.write_text("\n".join(lines) + "\n")


Answer: TypeAlias = dict[str, Any] | None
"""An event's fields that are put in the place of what they were."""


def served_zombie(folder: Path) -> None:
    """An ISR change that a broker's former process asked for is said to have been made."""

    def served(asked: dict[str, Any], answer: dict[str, Any]) -> Answer:
        if asked["f"] != "alter-isr" or answer["type"] != "fail":
            return None
        value = asked["value"]
        return _made(value) if value.get("stale") == ["broker_epoch"] else None

    falsified(folder, served)


def second_winner(folder: Path) -> None:
    """Of two changes of one version the one that came too late is said to have been made."""

    def won(asked: dict[str, Any], answer: dict[str, Any]) -> Answer:
        late = answer.get("error", [""])[0] == "INVALID_UPDATE_VERSION"
        return _made(asked["value"]) if late and asked["value"]["zombie"] is None else None

    falsified(folder, won)


def isr_that_never_was(folder: Path) -> None:
    """A leader is said to have been shown another ISR than the log has."""

    def shown(asked: dict[str, Any], answer: dict[str, Any]) -> Answer:
        if asked["f"] != "follow" or answer["type"] != "ok" or not answer.get("value"):
            return None
        topic = answer["value"]
        first, *others = topic["partitions"]
        changed = {**first, "isr": [first["replicas"][0], 999]}
        return {"value": {**topic, "partitions": [changed, *others]}}

    falsified(folder, shown, last=True)


def _made(asked: dict[str, Any]) -> dict[str, Any]:
    """The answer to an ISR change that is made."""
    value = {
        "leader": asked["broker_id"],
        "leader_epoch": asked["leader_epoch"],
        "partition_epoch": asked["partition_epoch"] + 1,
        "isr": asked["isr"],
    }
    return {"type": "ok", "value": value, "error": None, "ext": None}


def falsified(
    folder: Path,
    lie: Callable[[dict[str, Any], dict[str, Any]], Answer],
    *,
    last: bool = False,
) -> None:
    """The first answer, or the last, of which `lie` makes another one is that."""
    path = folder / "history.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()]
    asked, lies = dict[str, Any](), dict[int, dict[str, Any]]()
    for number, event in enumerate(events):
        process = str(event["process"])
        if event["type"] == "invoke":
            asked[process] = event
        elif process in asked:
            found = lie(asked.pop(process), event)
            if found is not None:
                lies[number] = found
    number = max(lies) if last else min(lies)
    stated = {name: value for name, value in lies[number].items() if value is not None}
    silent = {name for name, value in lies[number].items() if value is None}
    kept = {name: value for name, value in events[number].items() if name not in silent}
    events[number] = kept | stated
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


def another_record(folder: Path) -> None:
    """A batch of a controller's log has another last byte, and the checksum of that."""
    path = folder / METADATA_LOG
    data = bytearray(path.read_bytes())
    batch = middle(data)
    start, end = batch["position"], batch["position"] + batch["size"]
    data[end - 2] ^= 1
    data[start + 17 : start + 21] = struct.pack(">I", crc32c(bytes(data[start + 21 : end])))
    path.write_bytes(bytes(data))


def half_a_log(folder: Path) -> None:
    """A controller's log ends in the middle of what it had."""
    path = folder / METADATA_LOG
    data = path.read_bytes()
    path.write_bytes(data[: middle(data)["position"]])
    for snapshot in path.parent.glob("*.checkpoint"):
        snapshot.unlink()


def never_settled(folder: Path) -> None:
    """A node is said to have been behind for as long as the harness waited, on a quiet machine."""
    path, plan = folder / "history.jsonl", folder / "plan.json"
    settled, not_settled = (
        '"settled":true,"missing":null',
        '"settled":false,"missing":"n2 behind in the metadata log"',
    )
    text = path.read_text()
    assert text.count(settled) == 1
    path.write_text(text.replace(settled, not_settled))
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"machine": {}}))


def crashed(folder: Path) -> None:
    """A broker's log has the last words of Java, and its process ended by a signal of its own."""
    with (folder / "nodes/n2/node.log").open("a") as log:
        log.write("# A fatal error has been detected by the Java Runtime Environment:\n")
    path = folder / "nodes/n2/process.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"exit_code": 139}))


def middle(data: bytes | bytearray) -> dict[str, Any]:
    batches: list[dict[str, Any]] = scan(bytes(data)).sound.to_pylist()
    return next(each for each in batches[len(batches) // 2 :] if not each["control"])
