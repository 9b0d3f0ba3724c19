"""The checker of stored runs, and `check --model kafka`."""

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import from_arrow_schema

from benchmarks.kafka_log import table as numbered
from benchmarks.kafka_log import write
from checkers.kafka_log import (
    KafkaLog,
    bucket_of,
    by_log,
    forgets_groups,
    judge_runs,
    judge_share,
    shares,
)
from checkers.logs.judge import judge
from checkers.logs.rows import FS, rows
from framework.checking.columns import Columns
from framework.checking.foreign import check_histories, find_histories, need_model
from framework.checking.results import CheckerResult, checker_result
from framework.checking.runs import FAULTS, NEMESIS, OPERATIONS, add_operation
from framework.errors import UsageError
from framework.evidence.run_events import FaultRecord
from framework.plugins import registry
from framework.plugins.capabilities import unmet
from framework.plugins.checker import RunInfo, RunTables, Tables
from framework.testing.judging import each_run
from framework.verdict import Verdict, worst
from tests.checkers.folds.history.test_power_losses import injected, lost
from tests.checkers.logs.kafka_histories import Events, anything, singles, table, transactions
from tests.checkers.logs.test_kafka_groups import anything as rebalances
from tests.checkers.logs.test_kafka_planted import CASES, poll

MALFORMED: Events = [
    {"type": "invoke", "process": 0, "f": "send", "value": 7},
    {"type": "ok", "process": 0, "f": "send", "value": 7},
]
RUNS = {"clean": transactions(1), "single": singles(1), "wrong": anything(1), "odd": MALFORMED}


def no_faults(spark: Any) -> Any:
    return spark.createDataFrame([], from_arrow_schema(FAULTS))


def test_it_is_found_by_its_name() -> None:
    assert isinstance(registry.load("checkers", "kafka-log"), KafkaLog)


@pytest.mark.parametrize(
    ("able", "applies"),
    [("log-operations", True), ("transaction-operations", True), ("topic-operations", False)],
)
def test_it_is_for_whatever_has_logs(able: str, applies: bool) -> None:
    assert (unmet(KafkaLog.requires, [able]) is None) == applies


def test_runs_are_judged_apart_on_spark(spark: Any) -> None:
    runs = {**RUNS, "anew": made_anew(knew="one")}
    operations = pa.concat_tables([table(events, run) for run, events in runs.items()])
    frame = spark.createDataFrame(operations)
    tables = Tables(
        spark=spark,
        runs=[],
        operations=frame,
        nemesis=None,
        faults=no_faults(spark),
        each=each_run(spark, []),
    )
    found = [row.asDict() for row in KafkaLog().check(tables).collect()]
    verdicts = {run: {row["verdict"] for row in found if row["run"] == run} for run in runs}
    assert verdicts == {
        "clean": {"VALID"},
        "single": {"VALID"},
        "wrong": {"INVALID"},
        "odd": {"UNKNOWN"},
        "anew": {"VALID"},
    }
    (odd,) = [row for row in found if row["run"] == "odd"]
    assert "index 0: the result of 'send' is 7" in odd["note"]
    alone = judge_runs(table(RUNS["wrong"], "wrong")).to_pylist()
    assert sorted(row["findings"] for row in found if row["run"] == "wrong") == sorted(
        row["findings"] for row in alone
    )


def test_a_long_run_is_judged_by_topics_as_it_is_whole(spark: Any) -> None:
    """But a run with transactions, all of which are judged together; and what a join tells of
    partitions is judged where those are."""
    runs: dict[str, Events] = {**RUNS, "anew": made_anew(knew="one"), "owned": owned_twice()}
    runs |= {f"single {seed}": of_two_topics(singles(seed)) for seed in range(8)}
    runs |= {f"groups {seed}": of_two_topics(rebalances(seed)) for seed in range(8)}
    whole = {run: judge_runs(table(events, run)).to_pylist() for run, events in runs.items()}
    every = [row for found in whole.values() for row in found]
    operations = pa.concat_tables([table(events, run) for run, events in runs.items()])
    tables = Tables(
        spark=spark,
        runs=[],
        operations=spark.createDataFrame(operations),
        nemesis=None,
        faults=no_faults(spark),
        each=each_run(spark, []),
        operation_parts=2,
    )
    found = [row.asDict() for row in KafkaLog().check(tables).collect()]
    assert by_key(found) == by_key(every)
    assert {row["verdict"] for row in whole["owned"]} == {"VALID", "INVALID"}


def test_the_topics_of_a_long_run_are_in_several_shares(spark: Any) -> None:
    operations = table([event for n in range(40) for event in produced_to(f"t{n}")])
    found = shares(spark.createDataFrame(operations)).selectExpr("key", "bucket").collect()
    assert len({row["bucket"] for row in found}) > 10
    for row in found:
        assert row["bucket"] == bucket_of("r", json.loads(row["key"]))


@pytest.mark.parametrize("linked", [True, None])
@given(seed=st.integers(0, 10_000), groups=st.booleans())
def test_shares_find_together_what_the_whole_run_shows(
    linked: bool | None, seed: int, groups: bool
) -> None:
    """As `shares` deals them out; of a run that is `linked` all in one."""
    operations = table(of_two_topics(rebalances(seed) if groups else singles(seed, steps=40)))
    keys = [json.loads(key or "null") for key in operations["key"].to_pylist()]
    buckets = {bucket_of("r", key) for key in ("t", "u/0")}
    assert len(buckets) == 2
    found = []
    marked = operations.append_column("linked", pa.array([linked] * len(keys), pa.bool_()))
    for bucket in buckets:
        own = [linked or key is None or bucket_of("r", key) == bucket for key in keys]
        share = marked.filter(pa.array(own))
        found.append(by_key(judge_share((pa.scalar(bucket),), share).to_pylist()))
    whole = by_key(judge_runs(operations).to_pylist())
    assert found == [whole, whole] if linked else found[0] | found[1] == whole
    assert linked or not found[0].keys() & found[1].keys()


def by_key(outcomes: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Without that a run has no cycle, which is also said of one that shares a task with others."""
    told = [row for row in outcomes if row["key"] or row["verdict"] != "VALID"]
    made = {(row["run"], row["key"]): row for row in told}
    assert len(made) == len(told)
    return made


class Frame:
    """A DataFrame that keeps what it is asked for."""

    def __init__(self) -> None:
        self.wheres: list[str] = []
        self.judge: Any = None

    def where(self, condition: str) -> "Frame":
        self.wheres.append(condition)
        return self

    def same(self, *_: Any, **__: Any) -> "Frame":
        return self

    select = selectExpr = distinct = hint = join = groupBy = unionByName = same

    def applyInArrow(self, judge: Any, schema: str) -> "Frame":
        self.judge = judge
        return self


@pytest.mark.parametrize(("parts", "by"), [(1, "whole"), (2, "share"), (3, "share")])
def test_a_run_that_several_tasks_read_is_judged_in_shares(parts: int, by: str) -> None:
    frame = Frame()
    tables = Tables(
        spark=None,
        runs=[],
        operations=frame,
        nemesis=None,
        faults=Frame(),
        each=None,  # type: ignore[arg-type]
        operation_parts=parts,
    )
    assert KafkaLog().check(tables) is frame
    assert frame.judge.__name__ == by
    looked_at, *linking = (ast.literal_eval(each.removeprefix("f in ")) for each in frame.wheres)
    assert set(looked_at) == {*FS, "create", "delete"}
    assert linking == ([] if parts == 1 else [("send", "poll", "txn", "assign", "subscribe")])


@pytest.mark.parametrize("parts", [1, 2])
def test_what_a_run_lost_with_its_power_is_excused_by_its_own_ledger(
    spark: Any, parts: int
) -> None:
    """A ledger that nobody can read keeps no other run from being judged."""
    story, columns = lost(), Columns(OPERATIONS)
    for run in ("cut", "other", "odd"):
        for operation in story.operations:
            add_operation(columns, run, operation)
    odd = replace(story.faults[0], entries=[{"step": "planned", "loses": 7, "keeps": []}])
    ledgers = {"cut": story.faults, "odd": [odd], "idle": story.faults}
    faults = [
        {"run": run, "entries": json.dumps(each.entries)}
        for run, own in ledgers.items()
        for each in own
    ]
    tables = Tables(
        spark=spark,
        runs=[],
        operations=spark.createDataFrame(columns.table()),
        nemesis=None,
        faults=spark.createDataFrame(pa.Table.from_pylist(faults, FAULTS)),
        each=each_run(spark, []),
        operation_parts=parts,
    )
    found = [row.asDict() for row in KafkaLog().check(tables).collect()]
    worst_of = {
        run: worst(Verdict(row["verdict"]) for row in found if row["run"] == run)
        for run in {row["run"] for row in found}
    }
    assert worst_of == {"cut": Verdict.VALID, "other": Verdict.INVALID, "odd": Verdict.UNKNOWN}


def short_run(
    operations: pa.Table, faults: Sequence[FaultRecord] = (), plan: Mapping[str, Any] | None = None
) -> RunTables:
    """A run as it is where it is read."""
    ledger = [{"run": "r", "entries": json.dumps(each.entries)} for each in faults]
    return RunTables(
        run="r",
        plan=plan or {},
        operations=operations.drop_columns(["run"]),
        nemesis=NEMESIS.empty_table(),
        faults=pa.Table.from_pylist(ledger, FAULTS),
        evidence={},
    )


def told_of(run: RunTables) -> Verdict | None:
    """None: it says nothing of the run."""
    rows = KafkaLog().judge_run(run, 1.0).to_pylist()
    assert {row["run"] for row in rows} <= {"r"}
    return worst(Verdict(row["verdict"]) for row in rows) if rows else None


def test_a_short_run_is_judged_where_it_is_read_by_its_own_ledger() -> None:
    story, columns = lost(), Columns(OPERATIONS)
    for operation in story.operations:
        add_operation(columns, "r", operation)
    odd = replace(story.faults[0], entries=[{"step": "planned", "loses": 7, "keeps": []}])
    assert told_of(short_run(columns.table(), story.faults)) is Verdict.VALID
    assert told_of(short_run(columns.table())) is Verdict.INVALID
    assert told_of(short_run(columns.table(), [odd])) is Verdict.UNKNOWN
    assert told_of(short_run(OPERATIONS.empty_table())) is None


@pytest.mark.parametrize("name", sorted(RUNS))
def test_a_short_run_is_judged_where_it_is_read_as_others_are(name: str) -> None:
    operations = table(RUNS[name])
    found = KafkaLog().judge_run(short_run(operations), 1.0).to_pylist()
    assert found == judge_runs(operations).to_pylist()


def test_of_two_runs_the_one_that_lost_its_power_is_taken_apart() -> None:
    """Without a topic that was deleted."""
    story, columns = lost(), Columns(OPERATIONS)
    for run in ("cut", "other"):
        for operation in story.operations:
            add_operation(columns, run, operation)
    apart = by_log(pa.concat_tables([columns.table(), injected("cut", story.faults)]))
    keys = {(row["run"], json.loads(row["key"])) for row in apart.to_pylist() if row["key"]}
    assert {("cut", "t/0 until power 3"), ("other", "t/0")} <= keys
    assert ("other", "t/0 until power 3") not in keys


def joined(process: int, member: str) -> Events:
    """It is told that it alone has t/0 in generation 2 of group g."""
    asked = {"group": "g", "member": member}
    told = {"generation": 2, "assigned": ["t/0"], "positions": [["t/0", 0]]}
    head = {"process": process, "f": "join"}
    return [
        {"type": "invoke", **head, "value": asked},
        {"type": "ok", **head, "value": told},
    ]


@pytest.mark.parametrize(
    ("capabilities", "verdict"),
    [
        (["groups", "kept-groups"], Verdict.INVALID),
        (["groups"], Verdict.VALID),
        ([], Verdict.INVALID),
    ],
)
def test_generations_are_left_to_groups_where_those_are_forgotten(
    capabilities: list[str], verdict: Verdict, tmp_path: Path
) -> None:
    """A member of one generation, and of another of the same number."""
    events = [*RUNS["single"], *joined(101, "m0"), *joined(102, "m1")]
    frame = Frame()
    info = RunInfo(run="r", path=str(tmp_path), plan={"capabilities": capabilities})
    tables = Tables(
        spark=None,
        runs=[info],
        operations=frame,
        nemesis=None,
        faults=Frame(),
        each=None,  # type: ignore[arg-type]
        operation_parts=1,
    )
    KafkaLog().check(tables)
    found = frame.judge(table(events, "r")).to_pylist()
    assert worst(Verdict(row["verdict"]) for row in found) is verdict
    assert told_of(short_run(table(events, "r"), plan=info.plan)) is verdict


@pytest.mark.parametrize(
    ("plan", "forgets"),
    [
        ({}, False),
        ({"capabilities": None}, False),
        ({"capabilities": ["groups"]}, True),
        ({"capabilities": ["groups", "kept-groups"]}, False),
        ({"capabilities": ["kept-groups"]}, False),
    ],
)
def test_who_may_forget_a_groups_generations(plan: Any, forgets: bool) -> None:
    assert forgets_groups(plan) is forgets


def test_a_share_is_judged_without_joins_where_groups_are_forgotten(tmp_path: Path) -> None:
    """Members of one name that are in a generation of one number, and own one partition."""
    events = [*RUNS["single"], *joined(101, "m0"), *joined(102, "m1")]
    operations = table(events, "r")
    linked = pa.array([False] * len(operations))
    for capabilities, verdict in ((["groups"], Verdict.VALID), ([], Verdict.INVALID)):
        frame = Frame()
        tables = Tables(
            spark=None,
            runs=[RunInfo(run="r", path=str(tmp_path), plan={"capabilities": capabilities})],
            operations=frame,
            nemesis=None,
            faults=Frame(),
            each=None,  # type: ignore[arg-type]
            operation_parts=2,
        )
        KafkaLog().check(tables)
        bucket = (pa.scalar(bucket_of("r", "t/0")),)
        found = frame.judge(bucket, operations.append_column("linked", linked)).to_pylist()
        assert worst(Verdict(row["verdict"]) for row in found) is verdict


def test_there_are_so_many_buckets() -> None:
    assert {bucket_of("r", f"t{number}/0") for number in range(1_000)} == set(range(32))


def of_two_topics(events: Events) -> Events:
    """The second partition as one of another topic."""
    made: Events = json.loads(json.dumps(events).replace('"t/1"', '"u/0"'))
    return made


def owned_twice() -> Events:
    """A partition that nobody produced to, fetched from, or committed."""

    def join(member: str) -> Events:
        event = {"process": 0, "f": "join", "key": None}
        told = {"generation": 1, "assigned": ["u/0"]}
        asked = {"group": "g", "member": member}
        return [
            {**event, "type": "invoke", "value": asked},
            {**event, "type": "ok", "value": told},
        ]

    return [*of_two_topics(singles(3)), *join("one"), *join("two")]


def produced_to(topic: str) -> Events:
    asked = {"value": 1, "acks": "all", "idempotent": True}
    event = {"process": 0, "f": "produce", "key": f"{topic}/0"}
    told = {**asked, "offset": 0}
    return [{**event, "type": "invoke", "value": asked}, {**event, "type": "ok", "value": told}]


def made_anew(*, knew: str, lost: bool = False) -> Events:
    """A topic takes the name of another. `knew`: the one that its first writer took it for."""
    events: Events = []

    def op(f: str, key: str, asked: Any, reported: Any) -> None:
        event = {"process": 0, "f": f, "key": key, "node": "b1"}
        events.append({**event, "type": "invoke", "value": asked})
        events.append({**event, "type": "ok", "value": reported})

    def produce(value: int, offset: int, topic: str) -> None:
        reported = {"value": value, "acks": "all", "idempotent": True}
        op("produce", "t/0", reported, {**reported, "offset": offset, "topic_id": topic})

    def fetch(topic: str, *records: list[int], epoch: int = 0) -> None:
        reported = {"records": list(records), "high_watermark": len(records), "leader_epoch": epoch}
        asked = {"consumer": topic, "from": 0}
        op("fetch", "t/0", asked, {**reported, "position": len(records), "topic_id": topic})

    op("create", "t", {}, {"topic_id": "one"})
    produce(1, 0, "one")
    fetch("one", [0, 1], epoch=3)
    op("delete", "t", None, {"topic_id": "one"})
    op("create", "t", {}, {"topic_id": "two"})
    produce(2, 0, knew)
    produce(3, 1, "two")
    events.append({"f": "phase", "type": "info", "process": "nemesis", "value": "final"})
    fetch("two", [0, 2], *([] if lost else [[1, 3]]))
    return events


@pytest.mark.parametrize("knew", ["one", "two"])
def test_topics_of_one_name_are_judged_apart(knew: str) -> None:
    runs = {"anew": made_anew(knew=knew), "lost": made_anew(knew=knew, lost=True)}
    found = judge_runs(pa.concat_tables([table(events, run) for run, events in runs.items()]))
    verdicts = {(row["run"], row["key"]): row["verdict"] for row in found.to_pylist()}
    assert verdicts == {
        ("anew", "t/0 of one"): "VALID",
        ("anew", "t/0 of two"): "VALID",
        ("lost", "t/0 of one"): "VALID",
        ("lost", "t/0 of two"): "INVALID",
    }


def test_operations_whose_topic_is_certain_are_kept_once() -> None:
    operations = table(made_anew(knew="two"))
    assert sorted(by_log(operations)["index"].to_pylist()) == operations["index"].to_pylist()


def test_what_a_deletion_does_not_concern_keeps_its_key() -> None:
    """Partitions of other topics, those of a topic whose deletion was refused, or of one that no
    other followed, and what groups committed."""

    def event(f: str, key: str, asked: Any, result: Any, type_: str = "ok") -> Events:
        own = {"process": 0, "f": f, "key": key}
        done = {**own, "type": type_, "value": result}
        return [{**own, "type": "invoke", "value": asked}, done]

    def produced(name: str, value: int, offset: int, topic: str) -> Events:
        asked = {"value": value, "acks": "all", "idempotent": True}
        return event("produce", f"{name}/0", asked, {**asked, "offset": offset, "topic_id": topic})

    def two_lives(name: str, delete: str) -> Events:
        return [
            *event("create", name, {}, {"topic_id": f"{name}-1"}),
            *produced(name, 1, 0, f"{name}-1"),
            *event("delete", name, None, None, delete),
            *event("create", name, {}, {"topic_id": f"{name}-2"}),
            *produced(name, 2, 0, f"{name}-2"),
        ]

    events = [*two_lives("t", "ok"), *two_lives("u", "info")]
    events += event("create", "tt", {}, {"topic_id": "tt-1"}) + produced("tt", 1, 0, "tt-1")
    events += event("delete", "tt", None, None, "fail") + produced("tt", 2, 1, "tt-1")
    events += event("create", "v", {}, {"topic_id": "v-1"}) + produced("v", 1, 0, "v-1")
    events += event("delete", "v", None, None)
    events += event("commit", "t/0", {"group": "g", "generation": 1, "offset": 1}, None)
    found = judge_runs(table([*events, *TRANSACTION])).to_pylist()
    lives = ("t/0 of t-1", "t/0 of t-2", "u/0 of u-1", "u/0 of u-2")
    assert {row["key"]: row["verdict"] for row in found} == dict.fromkeys(
        ("", "1", "t/0", *lives, "tt/0", "v/0"), "VALID"
    )


def answers(*kinds: str) -> Events:
    """Operations on five partitions each, after a send of which no answer came."""
    sends = [["send", key, [0, key]] for key in range(5)]
    polls = [["poll", {str(key): [[0, key]] for key in range(5)}]]
    events: Events = [
        {"process": 0, "f": "send", "type": "invoke", "value": sends},
        {"process": 0, "f": "send", "type": "info", "value": sends},
    ]
    for process, kind in enumerate(kinds, 1):
        asked = {"process": process, "f": kind, "type": "invoke", "value": polls}
        events += [asked, {**asked, "type": "ok"}]
    return events


@pytest.mark.parametrize("kind", ["poll", "txn"])
def test_one_answer_is_no_more_than_two_sightings(kind: str) -> None:
    """However many partitions it covers; of another run it is another."""

    def seen(events: Events) -> int:
        found = judge_runs(table(events)).to_pylist()
        assert {row["verdict"] for row in found} == {"VALID"}
        return sum(row["seen"] for row in found if row["key"])

    assert [seen(answers(*[kind] * times)) for times in range(3)] == [0, 2, 4]
    assert seen(answers(kind) + poll(9, (0, 1))) == 3
    found = judge_runs(table(answers(kind))).to_pylist()
    result = checker_result("kafka-log", "", found, clauses=KafkaLog.clauses)
    assert result.verdict is Verdict.UNKNOWN
    runs = [table(answers(kind), run) for run in ("one", "other")]
    both = judge_runs(pa.concat_tables(runs)).to_pylist()
    assert sum(row["seen"] for row in both if row["key"]) == 4


TRANSACTION: Events = [
    {"type": "invoke", "process": 5, "f": "txn", "value": [["send", 1, "a"], ["poll"]]},
    {"type": "ok", "process": 5, "f": "txn", "value": [["send", 1, [0, "a"]], ["poll", {}]]},
]


def test_a_run_that_cannot_be_judged_keeps_no_other_from_it() -> None:
    runs = {"odd": MALFORMED, "single": RUNS["single"], "wrong": RUNS["wrong"]}
    found = judge_runs(pa.concat_tables([table(events, run) for run, events in runs.items()]))
    apart = [judge_runs(table(events, run)) for run, events in runs.items()]
    assert found.to_pylist() == pa.concat_tables(apart).to_pylist()
    odd, *others = found.to_pylist()
    assert (odd["run"], odd["verdict"], odd["seen"]) == ("odd", "UNKNOWN", 0)
    assert odd["note"].startswith("the checker failed: Malformed: index 0: the result of 'send'")
    assert {row["run"] for row in others} == {"single", "wrong"}


def test_a_run_says_in_one_line_why_it_cannot_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: pa.Table) -> pa.Table:
        raise ValueError("too big\nby far")

    monkeypatch.setattr("checkers.kafka_log.rows", fails)
    (failed,) = judge_runs(table(RUNS["single"])).to_pylist()
    assert failed["note"] == "the checker failed: ValueError: too big"


def test_cycles_are_an_outcome_of_the_run() -> None:
    """Two transactions, counted with their keys, polled what the other had not committed yet."""
    events: Events = []
    for process, own in enumerate([1, 2]):
        asked = [["send", own, "v"], ["poll"]]
        events.append({"type": "invoke", "process": process, "f": "txn", "value": asked})
    for process, (own, other) in enumerate([(1, 2), (2, 1)]):
        done = [["send", own, [0, "v"]], ["poll", {str(other): [[0, "v"]]}]]
        events.append({"type": "ok", "process": process, "f": "txn", "value": done})
    found = {row["key"]: row for row in judge_runs(table(events)).to_pylist()}
    assert {key: row["verdict"] for key, row in found.items()} == {
        "": "INVALID",
        "1": "VALID",
        "2": "VALID",
    }
    assert found[""]["checker"] == "kafka-log" and "G1c" in found[""]["findings"]
    assert json.loads(found[""]["clauses"]) == {"one-log": 0}


def written(folder: Path, name: str, events: Events) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


@pytest.mark.parametrize("size", [1 << 20, 2_000])
def test_files_are_checked_by_name_of_the_model(tmp_path: Path, size: int) -> None:
    need_model("kafka")
    paths = [written(tmp_path, name, RUNS[name]) for name in ("clean", "single", "wrong")]
    results = check_histories(None, find_histories(paths), "kafka", size=size)
    assert [each.verdict for each in results] == [Verdict.VALID, Verdict.VALID, Verdict.INVALID]
    wrong = results[2]
    named = {op for finding in wrong.checkers[0].findings for op in finding.operations}
    assert named == set(wrong.cited)


def test_a_malformed_file_has_one_clear_line(tmp_path: Path) -> None:
    given = find_histories([written(tmp_path, "odd", MALFORMED)])
    with pytest.raises(UsageError, match=r"odd.jsonl: index 0: the result of 'send' is 7; it has"):
        check_histories(None, given, "kafka")


@pytest.mark.parametrize(
    ("plant", "names"),
    [
        ("none", set()),
        ("lost-write", {"lost-write", "int-poll-skip", "poll-skip"}),
        ("G1a", {"G1a"}),
        ("int-nonmonotonic-poll", {"int-nonmonotonic-poll", "int-poll-skip", "poll-skip"}),
        ("two-values", {"inconsistent-offsets", "unwritten-read"}),
    ],
)
def test_histories_made_by_number(plant: Any, names: set[str], tmp_path: Path) -> None:
    found = judge(rows(numbered(4_000, 5, plant=plant))).to_pylist()
    reported = {f["message"].split(":")[0] for row in found for f in json.loads(row["findings"])}
    assert reported == names
    path = tmp_path / "history.parquet"
    assert write(path, 4_000, 5, plant=plant) == len(numbered(4_000, 5))
    (result,) = check_histories(None, find_histories([path]), "kafka")
    assert {f.message.split(":")[0] for f in result.checkers[0].findings} == names


def contract(case: Any, name: str) -> Any:
    """What `test_contract` asks for."""

    def outcome(events: Events) -> CheckerResult:
        found = judge(rows(table(events))).to_pylist()
        return checker_result(name, "", found, clauses=KafkaLog.clauses)

    return case(
        judge=outcome,
        clean=CASES["inconsistent-offsets"][0] + poll(3, (2, "c")),
        planted={
            each: ((planted[2],), lambda planted=planted: planted[1])
            for each, planted in CASES.items()
        },
        nothing=[],
    )
