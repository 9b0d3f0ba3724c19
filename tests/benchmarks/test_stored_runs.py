"""Runs that are made of a recorded one: whole, sealed as they are, and runs of their own."""

import json
from pathlib import Path

from benchmarks.stored_runs import empty, relabelled, sealed_copy
from framework.checking.reading import SealedRun
from framework.checking.runs import read_run
from framework.checking.sealing import SEALED, sealed_as

PLAN = {"system": "kraft", "seed": 1, "workloads": [], "nodes": {}, "time_zero_ns": 0}


def recorded(folder: Path) -> Path:
    (folder / "nodes/c1").mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(PLAN))
    boot = {"type": "boot", "node": "c1", "incarnation": "i", "seq": 0, "time_ns": 5}
    (folder / "nodes/c1/events.jsonl").write_text(json.dumps(boot) + "\n")
    call = {"process": 0, "f": "look", "key": "x"}
    events = [{**call, "type": "invoke"}, {**call, "type": "ok", "value": 1}]
    (folder / "history.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    return folder


def test_copies_have_everything_but_the_seed(tmp_path: Path) -> None:
    source = tmp_path / "source"
    assert sealed_copy(recorded(tmp_path / "recorded"), source) == 3  # with that of the harness
    for seed in (7, 8):
        relabelled(source, tmp_path / "many" / str(seed), seed)
    manifests = []
    for folder in (source, tmp_path / "many/7", tmp_path / "many/8"):
        manifest = sealed_as(folder, read_run(folder).info.plan)
        assert manifest is not None
        manifests.append(manifest)
        run = SealedRun("r", folder / SEALED)
        assert (len(run.operations), len(run.evidence["booted"])) == (1, 1)
        assert run.plan["seed"] == int(folder.name if folder != source else 1)
    assert len({manifest.content for manifest in manifests}) == 3
    assert len({manifest.counts.rows for manifest in manifests}) == 1
    assert not list(tmp_path.glob("many/*/.sealed*"))


def test_an_empty_run_is_one(tmp_path: Path) -> None:
    empty(recorded(tmp_path / "recorded"), tmp_path / "none")
    assert read_run(tmp_path / "none").info.plan["seed"] == 1
