"""Folders of runs as `run` leaves them, made up: a valid one, an invalid one, a killed one.

As a script it writes all three, with their reports: `python sample_runs.py DIRECTORY`.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

ZERO_NS = 7_000_000_000_000
NODES = ("c1", "c2", "c3", "b1", "b2", "b3")
EVIL = '</script><script>alert("x")</script><b onclick=1>&amp;'
"""What a history may hold, and no page may run."""


def write_run(
    folder: Path,
    *,
    seconds: float = 60.0,
    rate: float = 60.0,
    invalid: bool = False,
    killed: bool = False,
    seed: int = 7,
) -> Path:
    """A run's folder. `killed`: the harness died half way, in the middle of a line."""
    rng = random.Random(seed)
    folder.mkdir(parents=True)
    faults = _faults(seconds, rng)
    lines = _history(seconds, rate, faults, rng)
    _write_json(folder / "plan.json", _plan(seed, seconds))
    if killed:
        half = len(lines) // 2
        text = "".join(f"{line}\n" for line in lines[:half]) + lines[half][:25]
        (folder / "history.jsonl").write_text(text)
        entries = [line for each in faults[: len(faults) // 2] for line in _ledger(each, rng)][:-2]
        _write_lines(folder / "faults.jsonl", entries)
        return folder
    (folder / "history.jsonl").write_text("".join(f"{line}\n" for line in lines))
    _write_lines(folder / "faults.jsonl", [line for each in faults for line in _ledger(each, rng)])
    for node in NODES:
        path = folder / "nodes" / node
        path.mkdir(parents=True)
        _write_lines(path / "events.jsonl", _events(node, seconds, faults, rng))
    _write_json(folder / "verdict.json", _verdict(lines, invalid))
    return folder


def _plan(seed: int, seconds: float) -> dict[str, Any]:
    return {
        "argv": ["/somewhere/framework/__main__.py", "run", "--nemesis", "partition,kill"],
        "seed": seed,
        "name": "isr+topics+zombie+partition+kill",
        "hosts": "namespaces",
        "system": "kraft",
        "workloads": ["isr", "topics", "zombie"],
        "nemeses": ["partition", "kill"],
        "checkers": ["topic-linearizability", "one-leader-per-epoch"],
        "options": {"time_limit_s": seconds, "rate": 60, "concurrency": "2n", "interval_s": 5},
        "threads": 12,
        "nodes": {
            node: {"roles": ["controller" if node[0] == "c" else "broker"], "ports": {}, "ids": {}}
            for node in NODES
        },
        "time_zero_ns": ZERO_NS,
        "started": "2026-11-21T11:49:02+00:00",
        "versions": {"python": "3.11.2", "framework": "0.1.0", "git": "e12ac12"},
    }


def _faults(seconds: float, rng: random.Random) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    now = 4.0
    kinds = [
        ("partition", ("halves", "isolate-leader", "majorities-ring", "bridge", "one-way")),
        ("kill", ("one", "leader", "minority")),
    ]
    while now < seconds - 8:
        fault, shapes = rng.choice(kinds)
        victims: dict[str, Any] = dict.fromkeys(rng.sample(NODES, rng.choice((1, 2, 3))), "cut off")
        if fault == "kill":
            victims = {node: {"pid": rng.randrange(100, 900)} for node in victims}
        length = rng.uniform(2.5, 7)
        found.append(
            {
                "id": len(found) + 1,
                "fault": fault,
                "shape": rng.choice(shapes),
                "victims": victims,
                "from": now,
                "to": min(now + length, seconds),
            }
        )
        now += length * rng.uniform(0.7, 1.8)
    return found


def _ledger(fault: dict[str, Any], rng: random.Random) -> list[dict[str, Any]]:
    common = {key: fault[key] for key in ("id", "fault", "shape", "victims")}
    path = {"c1 -> b2": "no answer in 300 ms", "rules": ["drop from 10.66.0.4"]}

    def line(step: str, at_s: float, **more: Any) -> dict[str, Any]:
        return {"time": int(at_s * 1e9), "step": step, **common, **more}

    def probe(bites: bool) -> dict[str, Any]:
        return {"bites": bites, "evidence": path if bites else {"c1 -> b2": "answered"}}

    start, end = fault["from"], fault["to"]
    return [
        line("planned", start - 0.2),
        line("probed-before", start - 0.1, probe=probe(False)),
        line("injected", start),
        line("probed-during", start + rng.uniform(0.1, 0.4), probe=probe(True)),
        line("healed", end),
        line("probed-after", end + 0.2, probe=probe(False)),
    ]


def _history(
    seconds: float, rate: float, faults: list[dict[str, Any]], rng: random.Random
) -> list[str]:
    """Events of twelve threads, in order of time, as lines without newlines."""
    events: list[tuple[float, dict[str, Any]]] = []
    for at_s, phase in ((0.0, "main"), (seconds, "heal"), (seconds + 0.5, "settle")):
        events += _mark(at_s, phase)
    events += _mark(seconds + 2, "final")
    for thread in range(12):
        process, now = thread, rng.uniform(0, 12 / rate)
        while now < seconds:
            troubled = any(each["from"] <= now <= each["to"] for each in faults)
            pair, length = _operation(process, thread, now, troubled, rng)
            events += pair
            if pair[-1][1]["type"] == "info":
                process += 12
            now += length + rng.expovariate(rate / 12)
    for thread in range(12):
        events += _operation(100_000 + thread, thread, seconds + 2.2, False, rng)[0]
    events.sort(key=lambda each: each[0])
    return [
        json.dumps({"index": index, "time": int(at_s * 1e9), **fields})
        for index, (at_s, fields) in enumerate(events)
    ]


def _mark(at_s: float, phase: str) -> list[tuple[float, dict[str, Any]]]:
    fields = {"process": "nemesis", "f": "phase", "value": phase}
    return [(at_s, {"type": "invoke", **fields}), (at_s + 0.001, {"type": "info", **fields})]


def _operation(
    process: int, thread: int, now: float, troubled: bool, rng: random.Random
) -> tuple[list[tuple[float, dict[str, Any]]], float]:
    f, key, value, result = _kind(thread, rng)
    common = {"process": process, "f": f, "key": key, "node": rng.choice(NODES)}
    outcome = rng.choices(("ok", "fail", "info"), (55, 25, 20) if troubled else (90, 10, 0))[0]
    length = rng.lognormvariate(-5.3, 0.6) * (rng.choice((1, 10, 300)) if troubled else 1)
    length = 5.0 if outcome == "info" else min(length, 4.0)
    completion: dict[str, Any] = {"type": outcome, **common}
    if outcome == "ok":
        completion |= {"value": result, "ext": {"epoch": 4, "offset": int(now * 50)}}
    elif outcome == "fail":
        completion["error"] = ["TOPIC_ALREADY_EXISTS", "Topic 'orders-3' already exists."]
    else:
        completion["error"] = ["TIMED_OUT", "no answer in 5 s"]
    return [(now, {"type": "invoke", **common, "value": value}), (now + length, completion)], length


def _kind(thread: int, rng: random.Random) -> tuple[str, str, Any, Any]:
    topic, ident = f"orders-{rng.randrange(6)}", f"{rng.getrandbits(64):x}"
    if thread < 6:
        f = rng.choice(("create", "delete", "describe"))
        value = {"create": {"partitions": 2, "replication": 3}, "delete": EVIL}.get(f)
        return f, topic, value, {"topic_id": ident}
    if thread < 10:
        value = {"topic_id": ident, "partition": 0, "broker_id": 4, "isr": [4, 5, 6]}
        return "alter-isr", f"{topic}/0", value, {"leader": 4, "isr": [4, 5, 6]}
    value = {"broker_id": 5, "broker_epoch": 118, "target": "active", "zombie": "paused"}
    return "heartbeat", "broker-5", value, {"broker_epoch": 118, "next_state": "active"}


def _events(
    node: str, seconds: float, faults: list[dict[str, Any]], rng: random.Random
) -> list[dict[str, Any]]:
    """A node's events: it restarts after each kill; leadership goes round at each partition."""
    found: list[dict[str, Any]] = []
    state: dict[str, Any] = {"incarnation": "i0", "seq": 0}

    def add(at_s: float, kind: str, **fields: Any) -> None:
        state["seq"] += 1
        found.append(
            {"time_ns": ZERO_NS + int(at_s * 1e9), "node": node, "type": kind, **state, **fields}
        )

    def begin(at_s: float, number: int, epoch: int) -> None:
        state.update(incarnation=f"i{number}", seq=0)
        broker = node[0] == "b"
        add(at_s, "boot", roles=["broker"], broker_id=4 if broker else None, pid=100 + number)
        if broker:
            add(at_s + 0.1, "role", role="observer", epoch=epoch, leader_id=1)
            add(at_s + 0.2, "bstate", before="UNKNOWN", after="INITIAL", broker_epoch=-1, why="")
            add(at_s + 0.6, "bstate", before="INITIAL", after="ACTIVE", broker_epoch=number, why="")
        else:
            add(at_s + 0.1, "role", role="follower", epoch=epoch, leader_id=1)

    begin(-3.0, 0, 1)
    for number, fault in enumerate(faults, 1):
        leads = node == f"c{number % 3 + 1}"
        if fault["fault"] == "kill" and node in fault["victims"]:
            add(fault["from"] - 0.01, "state", offset=number, digest="")
            begin(fault["to"] + 0.3, number, number + 1)
        elif fault["fault"] == "partition" and node[0] == "c":
            if leads:
                add(fault["from"] + 0.8, "role", role="candidate", epoch=number + 1, leader_id=-1)
                add(fault["from"] + 1.0, "role", role="leader", epoch=number + 1, leader_id=1)
            else:
                add(fault["from"] + 1.1, "role", role="follower", epoch=number + 1, leader_id=1)
        elif fault["fault"] == "partition" and node in fault["victims"]:
            fields = {"broker_epoch": number, "why": "lease ended"}
            add(fault["from"] + 2, "bstate", before="ACTIVE", after="FENCED", **fields)
            add(fault["to"] + 0.5, "bstate", before="FENCED", after="ACTIVE", **fields)
    add(seconds + 3, "exit", reason="SIGTERM")
    return found


def _verdict(lines: list[str], invalid: bool) -> dict[str, Any]:
    return {
        "verdict": "INVALID" if invalid else "VALID",
        "run": "topics/20261121T114902Z-7",
        "checkers": [
            _entry("one-leader-per-epoch", "In every epoch at most one node is leader.", 214),
            _entry(
                "topic-linearizability",
                "Creates, deletes and describes of each topic take effect one at a time, between "
                "invocation and completion.",
                1702,
                _findings(lines) if invalid else [],
            ),
            _entry("availability", "Operations succeed again soon after each heal.", 12)
            | {"figures": {"ok_rate_during": 0.61, "worst_recovery_s": 1.42, "elections": 7}},
        ],
        "timings": {"start_to_first_operation_s": 4.1, "last_operation_to_verdict_s": 6.3},
    }


def _entry(
    name: str, summary: str, seen: int, findings: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    return {
        "name": name,
        "summary": summary,
        "verdict": "INVALID" if findings else "VALID",
        "seen": seen,
        "keys": 6,
        "note": "",
        "figures": {"longest_key": 301},
        "findings": findings or [],
    }


def _findings(lines: list[str]) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in lines]
    wanted = [
        event["index"]
        for event in events
        if event["type"] == "invoke" and event.get("key") == "orders-1"
    ]
    middle = len(wanted) // 2
    return [
        {
            "key": "orders-1",
            "message": "Topic orders-1 was deleted (index "
            f"{wanted[middle]}) and described as present {EVIL} with the same id afterwards.",
            "operations": wanted[middle : middle + 5],
            "events": [
                {
                    "time_ns": ZERO_NS + 31_250_000_000,
                    "node": "c2",
                    "incarnation": "i0",
                    "seq": 88,
                    "type": "apply",
                    "offset": 1204,
                    "epoch": 5,
                    "kind": "RemoveTopicRecord",
                    "record": {"topic_id": "b6e1f2"},
                }
            ],
        },
        {
            "key": "orders-4",
            "message": "No order of these operations explains the last describe.",
            "operations": wanted[3:5],
            "events": [],
        },
    ]


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def _write_lines(path: Path, values: list[dict[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(value)}\n" for value in values))


if __name__ == "__main__":
    from framework.report.render import render

    where = Path(sys.argv[1])
    print(render(write_run(where / "valid" / "20261121T114902Z-7")))
    print(render(write_run(where / "invalid" / "20261121T114902Z-8", invalid=True, seed=8)))
    print(render(write_run(where / "killed" / "20261121T114902Z-9", killed=True, seed=9)))
