"""A run's folder sealed as Parquet: what it holds, when it is made anew, what is read of it."""

import json
import os
import shutil
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from framework.checking import reading, run_checks, sealing
from framework.checking.cuts import cut_by_node, parts
from framework.checking.keyed import Outcome, judged
from framework.checking.reading import (
    Place,
    SealedEvidence,
    SealedRun,
    cited,
    cited_rows,
    read_unsealed,
    rows_of,
)
from framework.checking.run_checks import RunCheck, evidence_of, looked_at
from framework.checking.runs import read_run
from framework.checking.sealing import (
    SEALED,
    Manifest,
    begun,
    finish,
    in_shares,
    sealed_as,
    write_evidence,
    write_history,
)
from framework.checking.shares import ALL, Share, shares
from framework.checking.stored import Held, spread
from framework.evidence.catalogue import KINDS
from framework.evidence.kinds import Evidence
from framework.evidence.processes import Booted
from framework.evidence.quorum import Elected
from framework.evidence.relations import relation
from framework.evidence.rows import ORDER
from framework.evidence.run_events import RunEvents
from framework.evidence.schemas import schema
from framework.history.reader import operations_of
from framework.plugins.checker import RunInfo, Table

PLAN = {"system": "kraft", "seed": 1, "workloads": [], "nodes": {}, "time_zero_ns": 1_000}
CALLS = 7


def lines(*objects: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in objects)


def history() -> str:
    """Clients, an observer, the nemesis, and half a line."""
    events = []
    for number in range(CALLS):
        call = {
            "process": "observer:c1" if number == 2 else 0,
            "f": f"look{number % 2}",
            "key": "x",
        }
        events += [{**call, "type": "invoke"}, {**call, "type": "ok", "value": number}]
    mark = {"type": "info", "process": "nemesis", "f": "phase", "value": "final"}
    return lines(*events, mark) + '{"type":"inv'


def make_run(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text(json.dumps(PLAN))
    (folder / "history.jsonl").write_text(history())
    ledger = {"id": 7, "time": 1, "step": "planned", "fault": "kill", "shape": "one", "victims": {}}
    (folder / "faults.jsonl").write_text(lines(ledger))
    for node, places in (("c2", (0, 1)), ("c1", (1, 0))):
        head = {"time_ns": 5_000, "node": node, "incarnation": "i"}
        boots = [{**head, "seq": seq, "type": "boot", "replica_id": seq} for seq in places]
        elected = {**head, "seq": 9, "type": "elected", "epoch": 2, "votes": [1, 2]}
        path = folder / "nodes" / node / "events.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(lines(*boots, elected))
    return folder


def seal(folder: Path, scratch: Path) -> Path:
    info = read_run(folder).info
    unfinished = begun(folder, scratch)
    return finish(
        info, unfinished, [write_history(info, unfinished), write_evidence(info, unfinished)]
    )[0]


def manifest_of(folder: Path) -> Manifest | None:
    return sealed_as(folder, read_run(folder).info.plan)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = make_run(tmp_path / "n" / "a")
    assert seal(folder, tmp_path) == folder / SEALED
    return folder


def plain(table: Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.to_pylist()
    return [{name: value for name, value in row.items() if name != "file"} for row in rows]


def test_what_is_sealed_is_what_was_written(run: Path) -> None:
    sealed, written = SealedRun("n/a", run / SEALED), read_unsealed("n/a", str(run))
    assert sealed.plan == written.plan
    for name in ("operations", "observations", "nemesis"):
        assert plain(getattr(sealed, name)) == plain(getattr(written, name)) != []
    assert [row["id"] for row in plain(sealed.faults)] == [7]
    assert set(sealed.evidence) == set(written.evidence) >= {"booted", "elected"}
    for kind, rows in written.evidence.items():
        ordered = sorted(plain(rows), key=lambda row: (row["node"], row["incarnation"], row["seq"]))
        assert plain(sealed.evidence[kind]) == ordered
        columns = [(each.name, each.type) for each in sealed.evidence[kind].schema]
        assert columns == [(each.name, each.type) for each in schema(KINDS[kind])]


def in_row_groups(run: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> SealedEvidence:
    """What nodes left, with so many rows a group, each worth being read by column."""
    monkeypatch.setattr(sealing, "_ROWS", rows)
    monkeypatch.setattr(reading, "WORTH", 1)
    write_evidence(read_run(run).info, run / SEALED)
    evidence = SealedRun("n/a", run / SEALED).evidence
    assert isinstance(evidence, SealedEvidence)
    return evidence


def test_evidence_is_read_in_row_groups_too(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = in_row_groups(run, monkeypatch, 3)
    pieces = list(evidence.pieces("booted", ["events", "records"]))
    assert [len(each) for each in pieces] == [3, 1]
    every = [each.take(pa.array(range(len(each)))) for each in pieces]
    assert pa.concat_tables(every).to_pylist() == evidence["booted"].to_pylist()
    assert list(evidence.pieces("booted", ["records"])) == []


def test_of_evidence_those_columns_are_read_that_a_rule_asks_for(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And all of them for what a finding cites, of the row group that has it."""
    in_row_groups(run, monkeypatch, 3)
    asked = list[tuple[str, int, Any]]()
    real = reading._read_group

    def read(path: Path, group: int, columns: Any) -> Table:
        asked.append((path.name, group, tuple(columns)))
        return real(path, group, columns)

    monkeypatch.setattr(reading, "_read_group", read)
    monkeypatch.setattr(run_checks, "MOST_OBJECTS", 0)
    events = looked_at(SealedRun("n/a", run / SEALED), [RunCheck(never, evidence=[Booted])])
    boots = relation(events.of(Booted), "node", "replica_id")
    assert len(boots.where(replica_id=1)) == 2
    assert asked == [("booted.0.parquet", group, ("replica_id",)) for group in (0, 1)]
    asked.clear()
    (last,) = boots.objects(np.array([3]))
    assert (last.node, last.seq, last.ref) == ("c2", 1, "nodes/c2/events.jsonl:2")
    [(_, group, names)] = asked
    assert group == 1 and "ref" in names and not {"replica_id", *ORDER} & set(names)


def test_parts_of_a_run_ask_for_columns_too(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = in_row_groups(run, monkeypatch, 3)
    seen = Counter[str]()
    for part in parts(3):
        rows = ((Booted, each) for each in evidence.pieces("booted", ["events"]))
        own = evidence_of(cut_by_node().of(part, rows))
        assert all(part.has(each.node) for each in own)
        assert own.numbers("seq").tolist() == [each.seq for each in own]
        seen.update(each.node for each in own)
    assert seen == {"c1": 2, "c2": 2}


def never(events: RunEvents) -> Outcome:
    raise AssertionError("it is not judged")


def test_operations_are_read_by_column_too(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "_ROWS", 4)
    write_history(read_run(run).info, run / SEALED)
    sealed = SealedRun("n/a", run / SEALED)
    rows = rows_of(sealed)
    assert [len(each) for each in rows.columns(["f"])] == [4, 2]
    assert list(rows) == operations_of(sealed.operations)
    assert rows.at([5, 1]) == [operations_of(sealed.operations)[at] for at in (5, 1)]
    assert list(rows_of(read_unsealed("n/a", str(run)))) == list(rows)
    assert [*rows[:4], *rows[4:]] == list(rows)


def test_it_says_how_much_there_is_and_what_was_forgiven(run: Path) -> None:
    manifest = manifest_of(run)
    assert manifest is not None
    counts = manifest.counts
    assert (counts.operations, counts.observations) == ({"look0": 3, "look1": 3}, 1)
    assert (counts.nemesis, counts.faults) == (1, 1)
    assert counts.evidence["booted"] == {"event": 4}
    assert [note.split(": ", 1)[1] for note in manifest.notes] == [
        "the last line is cut short; it was left out"
    ]


@pytest.mark.parametrize(
    "name", ["plan.json", "history.jsonl", "faults.jsonl", "nodes/c1/events.jsonl", "nodes/c1/new"]
)
def test_of_changed_files_it_is_made_anew(run: Path, name: str) -> None:
    with (run / name).open("a") as file:
        file.write("\n")
    assert manifest_of(run) is None


def test_what_is_not_of_the_run_changes_nothing(run: Path) -> None:
    before = manifest_of(run)
    (run / "verdict.json").write_text("{}")
    (run / "history").mkdir()
    (run / "history" / "part-00000.parquet").write_text("")
    (run / "nodes" / "c1" / "gone").symlink_to("nowhere")
    assert manifest_of(run) == before is not None


def test_a_copy_is_the_same_run(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "b"
    shutil.copytree(run, copy)
    os.utime(copy / "history.jsonl", (1, 1))
    of_run, of_copy = manifest_of(run), manifest_of(copy)
    assert of_run is not None and of_copy is not None
    assert replace(of_copy, marks=of_run.marks) == of_run != of_copy
    text = (copy / "history.jsonl").read_text()
    (copy / "history.jsonl").write_text(text.replace("look1", "took1"))  # as long as before
    assert manifest_of(copy) is None


def test_the_files_of_a_copy_are_read_once(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files have other times; a link to another run's manifest is cut."""
    copy, hashed = tmp_path / "elsewhere" / "b", []
    shutil.copytree(run, copy)
    os.utime(copy / "history.jsonl", (1, 1))
    (copy / SEALED / "manifest.json").unlink()
    os.link(run / SEALED / "manifest.json", copy / SEALED / "manifest.json")
    real, of_run = sealing.content_of, manifest_of(run)
    monkeypatch.setattr(sealing, "content_of", lambda at: (hashed.append(at), real(at))[1])
    found = [manifest_of(copy) for _ in range(3)]
    assert hashed == [copy] and found[0] == found[1] == found[2] is not None
    assert manifest_of(run) == of_run and hashed == [copy]
    assert sorted(path.name for path in (copy / SEALED).glob("*.json*")) == [
        "manifest.json",
        "planned.json",
    ]


@pytest.mark.parametrize("failing", ["mkstemp", "replace"])
def test_a_copy_that_cannot_be_written_is_the_same_run_all_the_same(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    copy = tmp_path / "elsewhere" / "b"
    shutil.copytree(run, copy)
    os.utime(copy / "history.jsonl", (1, 1))
    before = (copy / SEALED / "manifest.json").read_bytes()

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(sealing.tempfile if failing == "mkstemp" else Path, failing, fail)
    for _ in range(2):
        assert manifest_of(copy) is not None
    assert (copy / SEALED / "manifest.json").read_bytes() == before
    assert not list((copy / SEALED).glob(".manifest*"))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"marks": 1}'])
def test_what_is_no_manifest_is_made_anew(run: Path, text: str) -> None:
    (run / SEALED / "manifest.json").write_text(text)
    assert manifest_of(run) is None


def test_other_code_reads_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "code_of", lambda plan: "of tomorrow")
    assert manifest_of(run) is None


def test_what_an_older_release_sealed_is_made_anew(run: Path, tmp_path: Path) -> None:
    """One whose tables of operations called their index `op`."""
    path = run / SEALED / "operations.parquet"
    today = pq.read_table(path)
    former = ["op" if name == "index" else name for name in today.column_names]
    pq.write_table(today.rename_columns(former), path)
    manifest = run / SEALED / "manifest.json"
    fields = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps({**fields, "code": "of yesterday"}))
    assert manifest_of(run) is None
    seal(run, tmp_path)
    assert pq.read_table(path).equals(today)
    assert cited(run / SEALED, [0])[0].index == 0


def test_what_nodes_leave_out_is_null(tmp_path: Path) -> None:
    """Also where its kind says that there is something."""
    folder = make_run(tmp_path / "n" / "a")
    role = {"topic": None, "topic_id": "A", "partition": 0, "role": "leader", "isr": [4]}
    epochs = {"leader_epoch": 1, "partition_epoch": 1}
    with (folder / "nodes/c1/events.jsonl").open("a") as file:
        file.write(lines({"type": "part", "node": "c1", **role, **epochs}))
    seal(folder, tmp_path)
    rows = SealedRun("n/a", folder / SEALED).evidence["replica-role"].to_pylist()
    assert [(row["topic"], row["topic_id"]) for row in rows] == [(None, "A")]


def test_two_at_once_leave_one_that_is_whole(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "n" / "a")
    with ThreadPoolExecutor(4) as pool:
        places = list(pool.map(lambda _: seal(folder, tmp_path), range(8)))
    assert set(places) == {folder / SEALED}
    assert manifest_of(folder) is not None
    assert len(SealedRun("n/a", folder / SEALED).operations) == CALLS - 1
    assert [path.name for path in folder.iterdir() if "sealed" in path.name] == [SEALED]


def test_one_that_cannot_be_written_is_sealed_elsewhere(tmp_path: Path) -> None:
    folder, scratch = make_run(tmp_path / "n" / "a"), tmp_path / "scratch"
    scratch.mkdir()
    assert begun(tmp_path / "gone", scratch).parent == scratch
    info = read_run(folder).info
    unfinished = begun(scratch, scratch)
    place, _ = finish(
        info, unfinished, [write_history(info, unfinished), write_evidence(info, unfinished)]
    )
    assert place == unfinished and not (folder / SEALED).exists()
    assert len(SealedRun("n/a", place).operations) == CALLS - 1


def test_evidence_in_shares_is_all_of_it(tmp_path: Path) -> None:
    whole, parted = (make_run(tmp_path / "n" / name) for name in "ab")
    seal(whole, tmp_path)
    info, unfinished = read_run(parted).info, begun(parted, tmp_path)
    parts = [write_history(info, unfinished)]
    parts += [
        write_evidence(info, unfinished, share) for share in (Share(0, ("c2",)), Share(1, ("c1",)))
    ]
    _, manifest = finish(info, unfinished, parts)
    found = [SealedRun("n", folder / SEALED).evidence for folder in (whole, parted)]
    assert (
        list(found[0]) == list(found[1]) and len(list((parted / SEALED / "events").iterdir())) > 4
    )
    for kind in found[0]:
        assert plain(found[0][kind]) == plain(found[1][kind].sort_by("node"))
    of_whole = manifest_of(whole)
    assert of_whole is not None and manifest == manifest_of(parted)
    assert (manifest.counts, manifest.content) == (of_whole.counts, of_whole.content)


def test_shares_have_each_node_once_and_about_as_much_to_read(tmp_path: Path) -> None:
    for node, size in {"a": 50, "b": 30, "c": 25, "d": 1}.items():
        path = tmp_path / "nodes" / node / "deep" / "log"
        path.parent.mkdir(parents=True)
        path.write_bytes(bytes(size))
    (tmp_path / "nodes" / "no-node").write_bytes(bytes(99))
    assert shares(tmp_path, 1) == [Share(0, None)]
    assert shares(tmp_path, 2) == [Share(0, ("a", "d")), Share(1, ("b", "c"))]
    assert shares(tmp_path, 2, beside=1_000) == [Share(0, ("a", "b", "c", "d")), Share(1, ())]
    assert sorted(each.nodes or () for each in shares(tmp_path, 9)) == [
        *(("a",), ("b",), ("c",), ("d",))
    ]
    assert shares(tmp_path / "nodes", 9) == [Share(0, None)]


def test_a_system_that_tells_all_at_once_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = read_run(make_run(tmp_path / "n" / "a")).info
    assert len(in_shares(info, 2)) == 2
    monkeypatch.setattr(sealing, "system_of", lambda _: SimpleNamespace(name="another"))
    assert in_shares(info, 2) == [ALL]


def test_where_it_was_not_sealed_its_files_are_read(tmp_path: Path) -> None:
    """As on another machine than the one that sealed it."""
    folder = make_run(tmp_path / "n" / "a")
    place = Place(run="r", folder=str(folder), sealed=str(tmp_path / "gone"))
    found = place.open()
    assert (found.run, len(found.operations)) == ("r", CALLS - 1)


def test_kinds_that_nobody_looks_at_are_not_read(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    real = pq.ParquetFile

    def recorded(path: Path, **more: Any) -> Any:
        opened.append(path.name)
        return real(path, **more)

    monkeypatch.setattr(pq, "ParquetFile", recorded)
    kinds: list[tuple[type[Evidence], ...]] = [(Booted,), (Booted, Elected)]
    checks = [RunCheck(lambda _: judged(1), evidence=each) for each in kinds]
    events = looked_at(SealedRun("n/a", run / SEALED), checks)
    assert sorted(opened) == ["booted.0.parquet", "elected.0.parquet"]
    assert [(each.node, each.seq) for each in events.evidence] == [
        (node, seq) for node in ("c1", "c2") for seq in (0, 1, 9)
    ]


def test_a_large_run_is_rows_by_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "_ROWS", 2)
    folder = make_run(tmp_path / "n" / "a")
    seal(folder, tmp_path)
    run = SealedRun("n/a", folder / SEALED)
    pieces = [piece.read(None) for piece in run.operation_rows().pieces]
    assert [len(each) for each in pieces] == [2, 2, 2]
    assert pa.concat_tables(pieces).equals(run.operations)


def test_operations_are_found_by_their_indices(run: Path) -> None:
    """Those of observers, too."""
    found = cited(run / SEALED, [0, 4, 12, 99])
    assert [(each.index, each.process, each.result) for each in found] == [
        (0, 0, 0),
        (12, 0, 6),
        (4, "observer:c1", 2),
    ]
    for of in (SealedRun("n/a", run / SEALED), read_unsealed("n/a", str(run))):
        tables = cited_rows(of, {0, 4, 12, 99})
        assert [each for table in tables for each in operations_of(table)] == found


def test_spark_reads_many_by_kind(spark: Any, run: Path, tmp_path: Path) -> None:
    """As docs/checking.md says."""
    shutil.copytree(run, tmp_path / "n" / "b")
    table = spark.read.schema(from_arrow_schema(schema(Booted))).parquet(
        f"{tmp_path}/n/*/sealed/events/booted.*.parquet"
    )
    of_run = "regexp_extract(_metadata.file_path, '([^/]+/[^/]+)/sealed/', 1) as run"
    counted = table.selectExpr(of_run, "node").groupBy("run", "node").count().collect()
    assert sorted(tuple(row) for row in counted) == [
        (run_, node, 2) for run_ in ("n/a", "n/b") for node in ("c1", "c2")
    ]


@pytest.mark.parametrize(("rows", "partitions"), [(0, "2"), (1 << 19, "2"), (3 << 20, "12")])
def test_many_operations_are_shuffled_into_many_partitions(rows: int, partitions: str) -> None:
    conf = RuntimeConf()
    manifest = Manifest(
        marks="", content="", code="", notes=[], counted=json.dumps({"operations": {"look": rows}})
    )
    info = RunInfo(run="r", path="p", plan=PLAN)
    held = Held(info=info, sealed=Path("s"), manifest=manifest)
    spark = SimpleNamespace(conf=conf)
    before = dict(conf.values)
    with pytest.raises(KeyError), spread(spark, [held]):
        assert conf.values == {
            "spark.sql.shuffle.partitions": partitions,
            "spark.sql.codegen.wholeStage": "true",
        }
        raise KeyError
    with spread(spark, []):
        assert conf.values == before
    assert held.operation_parts == max(1, rows >> 20)


class RuntimeConf:
    def __init__(self) -> None:
        self.values = {
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.codegen.wholeStage": "false",
        }

    def get(self, name: str) -> str:
        return self.values[name]

    def set(self, name: str, value: str) -> None:
        self.values[name] = value
