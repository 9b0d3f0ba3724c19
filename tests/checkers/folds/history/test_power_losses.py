"""What all brokers may have lost with their power, and no more, is excused."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from planted_runs import TOPIC, Story
from test_partition_data import KEY, Data
from test_replica_matching import lies, produce, read, write

from checkers.folds.history.power_losses import PowerLoss, apart, forgotten, left_of, power_losses
from checkers.folds.partitions.partition_runs import by_partition
from checkers.kafka_log import INJECTED, judge_runs, without_injections
from checkers.partition_data import partition_data
from checkers.replica_matching import replica_matching
from framework.checking.columns import Columns
from framework.checking.runs import OPERATIONS, add_operation
from framework.evidence.run_events import FaultRecord
from framework.history.pairing import Operation
from framework.testing.story import Story as PlainStory
from framework.verdict import Verdict, worst

Kept = Mapping[str, Mapping[str, tuple[int, int, int]]]
MS = 1_000_000
ALL: Kept = {"b1": {KEY: (0, 1, 3)}, "b2": {KEY: (0, 2, 3)}, "b3": {KEY: (0, 3, 3)}}
"""Three records, none of them forced: the first one is left on all, the last one on one."""


def lines(at_ns: int, kept: Kept, keeps: Iterable[str] = (), **seen: Any) -> list[dict[str, Any]]:
    """The ledger's, of one injection."""
    evidence = {
        node: {
            "pid": 7,
            "state": None,
            "killed": 7,
            "kept": {log: list(ends) for log, ends in logs.items()},
            **seen,
        }
        for node, logs in kept.items()
    }
    of_all = {"id": 3, "fault": "power", "shape": "brokers"}
    return [
        {**of_all, "step": "planned", "time": at_ns - 3, "loses": [*kept], "keeps": [*keeps]},
        {**of_all, "step": "probed-before", "time": at_ns - 2, "probe": {"evidence": {}}},
        {**of_all, "step": "injected", "time": at_ns - 1},
        {**of_all, "step": "probed-during", "time": at_ns, "probe": {"evidence": evidence}},
        {**of_all, "step": "healed", "time": at_ns + MS},
    ]


def lose_power(story: PlainStory, kept: Kept = ALL, keeps: Iterable[str] = (), **seen: Any) -> None:
    story.wait(1)
    at_ns = story.now_ns
    story.wait(3)
    story.faults.append(
        FaultRecord(
            id=3,
            fault="power",
            shape="brokers",
            victims={node: {} for node in kept},
            injected_ns=at_ns - 1,
            healed_ns=at_ns + MS,
            effective=True,
            healed=True,
            ends_processes=True,
            entries=lines(at_ns, kept, keeps, **seen),
        )
    )


def before() -> Data:
    """Three records, acknowledged and read."""
    story = Data()
    for offset in range(3):
        story.produce(10 + offset, offset)
    story.fetch(0, (0, 10), (1, 11), (2, 12))
    return story


def after(story: Data, *records: tuple[int, int]) -> Data:
    """The first one is left; others take the places of those that are lost."""
    story.watermark = 0
    story.produce(20, 1)
    story.produce(21, 2)
    story.seek(1, consumer="b")
    story.fetch(1, (1, 20), consumer="b", leader_epoch=1)
    story.last(0, *(records or ((0, 10), (1, 20), (2, 21))), leader_epoch=9)
    return story


def lost() -> Data:
    story = before()
    lose_power(story)
    return after(story)


def injected(run: str, faults: Sequence[FaultRecord]) -> pa.Table:
    """As the checker of logs has them among operations."""
    rows = [{"run": run, "f": INJECTED, "value": json.dumps(each.entries)} for each in faults]
    return pa.Table.from_pylist(rows, OPERATIONS)


def verdicts(story: Data) -> dict[str, Verdict]:
    """Of partition-data and of kafka-log, of all parts together."""
    events = story.run_events()
    parts = [partition_data(part) for part in by_partition(events).values()]
    columns = Columns(OPERATIONS)
    for operation in events.operations:
        add_operation(columns, "r", operation)
    rows = judge_runs(pa.concat_tables([columns.table(), injected("r", events.faults)]))
    return {
        "partition-data": worst(each.verdict for each in parts),
        "kafka-log": worst(Verdict(each) for each in rows.column("verdict").to_pylist()),
    }


BOTH = {"partition-data", "kafka-log"}
PARTITION_DATA = {"partition-data"}


def invalid(story: Data) -> set[str]:
    return {name for name, verdict in verdicts(story).items() if verdict is Verdict.INVALID}


def test_what_all_lost_with_their_power_is_excused() -> None:
    assert set(verdicts(lost()).values()) == {Verdict.VALID}


def test_it_is_excused_in_no_other_run() -> None:
    story, columns = lost(), Columns(OPERATIONS)
    for run in ("cut", "other"):
        for operation in story.run_events().operations:
            add_operation(columns, run, operation)
    rows = judge_runs(pa.concat_tables([columns.table(), injected("cut", story.faults)]))
    found = rows.to_pylist()
    worst_of = {
        run: worst(Verdict(each["verdict"]) for each in found if each["run"] == run)
        for run in ("cut", "other")
    }
    assert worst_of == {"cut": Verdict.VALID, "other": Verdict.INVALID}


def test_it_is_judged_apart_until_then() -> None:
    parts = by_partition(lost().run_events())
    assert set(parts) == {KEY, f"{KEY} until power 3"}
    assert partition_data(parts[f"{KEY} until power 3"]).seen > 0


def test_nobody_need_have_read_what_may_be_gone_since() -> None:
    """What was promised before, and nobody came to look after, is no promise of that part: with an
    offset or without. What somebody read is."""
    story = Data()
    for offset in range(3):
        story.produce(10 + offset, offset)
    story.produce(13, None)
    story.fetch(0, (0, 10))
    story.op("fetch", KEY, {"consumer": "a", "from": 1}, type="fail", error="X")
    lose_power(story)
    found = partition_data(by_partition(after(story).run_events())[f"{KEY} until power 3"])
    assert found.verdict is Verdict.VALID
    assert (found.figures["acknowledged"], found.figures["unread"]) == (1, 0)
    assert found.clauses["readable"] == (1, 1)


def test_whole_disks_of_all_are_excused_from_the_first_record_on() -> None:
    story = before()
    lose_power(story, {node: {KEY: (0, 0, 3)} for node in ALL})
    story.watermark = 0
    story.produce(20, 0)
    story.seek(0, consumer="b")
    story.fetch(0, (0, 20), consumer="b", leader_epoch=1)
    story.last(0, (0, 20), leader_epoch=9)
    assert invalid(story) == set()


def test_a_log_may_have_its_topics_id_for_a_name() -> None:
    story = before()
    lose_power(story, {node: {f"{TOPIC}/0": own[KEY]} for node, own in ALL.items()})
    assert invalid(after(story)) == set()


def somebody_kept_its_power(story: Data) -> None:
    lose_power(story, {node: ALL[node] for node in ("b1", "b2")}, keeps=["b3"])
    after(story)


def another_node_lost_it(story: Data) -> None:
    lose_power(story, {"b1": ALL["b1"]}, keeps=["b2", "b3"])
    after(story)


def nobody_who_keeps_logs_lost_it(story: Data) -> None:
    lose_power(story, {}, keeps=["b1", "b2", "b3"])
    after(story)


def one_of_them_had_forced_it(story: Data) -> None:
    lose_power(story, {**ALL, "b2": {KEY: (2, 2, 3)}})
    after(story)


def one_of_them_had_forced_the_end(story: Data) -> None:
    lose_power(story, {**ALL, "b3": {KEY: (3, 3, 3)}})
    after(story)


def none_of_them_lost_it(story: Data) -> None:
    lose_power(story, {node: {KEY: (0, 3, 3)} for node in ALL})
    after(story)


def another_log_was_lost(story: Data) -> None:
    lose_power(story, {node: {"u/0": (0, 0, 3)} for node in ALL})
    after(story)


def one_of_them_lived(story: Data) -> None:
    lose_power(story, state="S")
    after(story)


def what_was_left_on_all_is_lost_too(story: Data) -> None:
    lose_power(story)
    after(story, (1, 20), (2, 21))


def what_was_left_on_all_is_another(story: Data) -> None:
    lose_power(story)
    story.produce(19, 0)
    after(story, (0, 19), (1, 20), (2, 21))


def it_was_acknowledged_afterwards(story: Data) -> None:
    lose_power(story)
    after(story, (0, 10), (2, 21))


def it_was_asked_for_before_and_acknowledged_afterwards(story: Data) -> None:
    asked = {"value": 13, "acks": "all", "producer": "p", "idempotent": True}
    late = story.invoke("produce", KEY, asked)
    lose_power(story)
    story.complete(late, "ok", {"offset": 1, "topic_id": TOPIC})
    after(story)


def it_was_acknowledged_and_written_nowhere(story: Data) -> None:
    story.produce(13, 3)
    lose_power(story)
    after(story)


def it_was_read_and_written_nowhere(story: Data) -> None:
    story.fetch(3, (3, 13), consumer="a")
    lose_power(story)
    after(story)


def a_high_watermark_was_above_all_that_was_written(story: Data) -> None:
    story.fetch(3, consumer="a", high_watermark=5)
    lose_power(story)
    after(story)


def it_was_lost_before(story: Data) -> None:
    story.fetch(0, (0, 10), (2, 12), consumer="c")
    lose_power(story)
    after(story)


def it_was_another_before(story: Data) -> None:
    story.fetch(0, (0, 10), (1, 15), (2, 12), consumer="c")
    lose_power(story)
    after(story)


def it_is_lost_once_more(story: Data) -> None:
    lose_power(story)
    story.watermark = 0
    story.produce(20, 1)
    story.fetch(1, (1, 20), consumer="b", leader_epoch=1)
    story.produce(21, 1)
    story.last(0, (0, 10), (1, 21), leader_epoch=9)


LIES: dict[Callable[[Data], None], set[str]] = dict.fromkeys(
    [
        somebody_kept_its_power,
        another_node_lost_it,
        nobody_who_keeps_logs_lost_it,
        one_of_them_had_forced_it,
        one_of_them_had_forced_the_end,
        none_of_them_lost_it,
        another_log_was_lost,
        one_of_them_lived,
        what_was_left_on_all_is_lost_too,
        what_was_left_on_all_is_another,
        it_was_acknowledged_afterwards,
        it_was_asked_for_before_and_acknowledged_afterwards,
        it_was_acknowledged_and_written_nowhere,
        it_was_read_and_written_nowhere,
        a_high_watermark_was_above_all_that_was_written,
        it_was_lost_before,
        it_was_another_before,
        it_is_lost_once_more,
    ],
    BOTH,
) | dict.fromkeys(
    [what_was_left_on_all_is_lost_too, a_high_watermark_was_above_all_that_was_written],
    PARTITION_DATA,
)
"""kafka-log lets what was polled once be missing from a later answer, and asks no high watermark
of one leader after that of another."""


@pytest.mark.parametrize("lie", LIES, ids=lambda each: each.__name__)
def test_a_lie_hides_behind_no_loss_of_power(lie: Callable[[Data], None]) -> None:
    story = before()
    lie(story)
    assert invalid(story) == LIES[lie]


@pytest.mark.parametrize("gone", ["keeps", "kept", "probed-during"])
def test_a_ledger_that_does_not_say_all_of_it_excuses_nothing(gone: str) -> None:
    """As those do that were written before."""
    story = lost()
    (fault,) = story.faults
    left = []
    for line in fault.entries:
        line = {name: each for name, each in line.items() if name != gone}
        if gone == "kept" and line["step"] == "probed-during":
            line["probe"] = {"evidence": {node: {"state": None} for node in ALL}}
        if line["step"] != gone:
            left.append(line)
    story.faults[:] = [replace(fault, entries=left)]
    assert invalid(story) == BOTH


def test_two_losses_one_after_the_other() -> None:
    story = before()
    lose_power(story)
    story.watermark = 0
    story.produce(20, 1)
    story.fetch(1, (1, 20), consumer="b", leader_epoch=1)
    lose_power(story, {node: {KEY: (0, 1, 2)} for node in ALL})
    story.faults[-1] = replace(
        story.faults[-1], entries=[{**each, "id": 4} for each in story.faults[-1].entries]
    )
    story.watermark = 0
    story.produce(30, 1)
    story.fetch(1, (1, 30), consumer="d", leader_epoch=2)
    story.last(0, (0, 10), (1, 30), leader_epoch=9)
    assert set(by_partition(story.run_events())) == {
        KEY,
        f"{KEY} until power 3",
        f"{KEY} until power 4",
    }
    assert invalid(story) == set()


def test_a_run_has_them_from_its_ledger() -> None:
    story = lost()
    operations = pa.Table.from_pylist([{"run": "r", "f": "produce"}], OPERATIONS)
    assert without_injections(operations) == (operations, {})
    told = pa.concat_tables([injected("r", story.faults), operations])
    left, losses = without_injections(told)
    at_ns = story.faults[0].injected_ns + 1
    assert (left, losses) == (operations, {"r": [PowerLoss(3, at_ns, [*ALL.values()])]})
    assert len(judge_runs(injected("r", story.faults))) == 0


# --- disks --------------------------------------------------------------------------------


def on_disks(lose: Callable[[Any], None] | None) -> Any:
    """Acknowledged up to 4; two batches are left on both disks of the final ISR."""
    story = Story()
    story.create("t")
    for offset in range(4):
        produce(story, offset)
    for offset in range(2):
        write(story, offset, 0, "b1", "b2")
    if lose is not None:
        lose(story)
    story.phase = "final"
    read(story, "b1", "b2")
    for node in ("b1", "b2"):
        lies(story, node, 2)
    return story.run_events()


def lost_from(begin: int, keeps: Iterable[str] = ()) -> Callable[[Any], None]:
    kept = {node: {KEY: (begin, begin, 4)} for node in ("b1", "b2", "b3")}
    return partial(lose_power, kept=kept, keeps=keeps)


def test_disks_need_not_have_what_all_lost() -> None:
    assert replica_matching(on_disks(lost_from(2))).verdict is not Verdict.INVALID
    for lose in (None, lost_from(3), lost_from(2, keeps=["b4"])):
        assert replica_matching(on_disks(lose)).verdict is Verdict.INVALID


# --- operations ---------------------------------------------------------------------------


def test_what_is_not_known_any_more() -> None:
    story = before()
    story.offsets("latest", 3)
    story.op("delete-records", KEY, {"before": 3}, {"low_watermark": 3})
    story.op("create", "u", {}, {"topic_id": "x"})
    at_ns = story.now_ns + 1
    loss = PowerLoss(3, at_ns, [{KEY: (0, 1, 3)}])
    left = forgotten([loss], story.operations)
    assert [each.type for each in left] == ["ok", "info", "info", "ok", "info", "info", "ok"]
    assert left[3].result["records"] == [[0, 10]]
    assert (left[3].result["position"], left[3].result["high_watermark"]) == (1, 1)
    assert left[3].value["consumer"] == "a until power 3"


def one(f: str, asked: Any, result: Any, **more: Any) -> Operation:
    return PlainStory().op(f, KEY, asked, result, **more)


def produced(offset: int | None, **more: Any) -> Operation:
    return one("produce", {"value": 1, "acks": "all"}, {"offset": offset}, **more)


def read_from(begin: int, end: int, **more: Any) -> Operation:
    records = [[offset, offset] for offset in range(begin, end)]
    told = {"records": records, "position": end, "high_watermark": end, **more}
    return one("fetch", {"from": begin}, told)


def told_end(offset: int | None) -> Operation:
    return one("list-offsets", {"at": "latest"}, {"offset": offset})


EMPTY = {"position": 2, "records": []}
SHOWN_BEFORE: list[tuple[Operation, Operation | str | None]] = [
    (produced(3), "as it was"),
    (produced(4), "unknown"),
    (produced(6), "unknown"),
    (produced(7), "as it was"),
    (produced(0), "as it was"),
    (produced(-1), "unknown"),
    (produced(None), "unknown"),
    (produced(5, type="fail", error="X"), "as it was"),
    (told_end(None), "as it was"),
    (told_end(4), "as it was"),
    (told_end(5), "unknown"),
    (told_end(7), "unknown"),
    (told_end(8), "as it was"),
    (one("delete-records", {"before": 5}, {"low_watermark": 5}), "unknown"),
    (one("delete-records", {"before": 4}, {"low_watermark": 4}), "as it was"),
    (one("delete-records", {"before": 5}, {}), "as it was"),
    (one("seek", None, None), "as it was"),
    (one("seek", None, {}), "as it was"),
    (read_from(0, 4), "as it was"),
    (read_from(2, 7), read_from(2, 4)),
    (read_from(2, 8), "as it was"),
    (read_from(2, 3, high_watermark=8), "as it was"),
    (read_from(2, 3, high_watermark=7), read_from(2, 3, high_watermark=4)),
    (read_from(4, 4), "as it was"),
    (read_from(5, 5), None),
    (read_from(2, 4, log_start=4), "as it was"),
    (read_from(2, 4, log_start=5), None),
    (one("fetch", {"from": 5}, None), "as it was"),
    (one("fetch", {"from": 2}, {"records": [[2, 2]]}), "as it was"),
    (one("fetch", {"from": 2}, {"position": 2}), one("fetch", {"from": 2}, EMPTY)),
    (one("other", {"consumer": "a"}, {"position": 9}), "as it was"),
]
"""Of a log that may be gone from 4 on, and went up to 7."""


@pytest.mark.parametrize(("operation", "expected"), SHOWN_BEFORE)
def test_what_is_left_of_what_was_shown(
    operation: Operation, expected: Operation | str | None
) -> None:
    loss = PowerLoss(3, operation.completed_ns or 0, [{KEY: (0, 4, 5)}, {KEY: (0, 9, 7)}])
    beside = replace(produced(5), index=9)  # so that there is something to tell apart
    left = [each for each in forgotten([loss], [operation, beside]) if each.index != 9]
    unknown = replace(operation, type="info", result=None)
    named = {"as it was": [operation], "unknown": [unknown], None: []}
    assert left == (named[expected] if not isinstance(expected, Operation) else [expected])


def test_of_a_log_that_may_be_gone_as_a_whole_what_told_no_offset_stays() -> None:
    told = [
        told_end(None),
        one("delete-records", {"before": 5}, {}),
        one("fetch", {"from": 0}, {"position": 0, "high_watermark": 0, "records": []}),
    ]
    own = [replace(each, index=at) for at, each in enumerate([*told, produced(5)])]
    loss = PowerLoss(3, max(each.completed_ns or 0 for each in own), [{KEY: (0, 0, 7)}])
    left = forgotten([loss], own)
    assert left[:3] == own[:3] and left[3].type == "info"


def test_nothing_is_told_apart_where_nothing_was_shown_of_what_may_be_gone() -> None:
    own = [produced(3), read_from(0, 4), one("other", None, [1])]
    loss = PowerLoss(3, own[0].completed_ns or 0, [{KEY: (0, 4, 7)}])
    assert apart([loss], own) == {"": own}


@pytest.mark.parametrize(
    ("kept", "gone"),
    [
        ([(0, 1, 3), (0, 2, 2)], (1, 3)),
        ([(0, 2, 2), (0, 2, 5)], (2, 5)),
        ([(3, 3, 3)], None),
        ([(0, 4, 3), (0, 4, 2)], None),
        ([(0, 1, 3), (2, 2, 3)], (2, 3)),
    ],
)
def test_what_may_be_gone_ends_where_the_longest_log_did(
    kept: list[tuple[int, int, int]], gone: tuple[int, int] | None
) -> None:
    assert PowerLoss(3, 0, [{KEY: each} for each in kept]).gone([KEY]) == gone


def test_what_nobody_answered_may_be_of_afterwards() -> None:
    assert PowerLoss(3, 0, []).precedes(replace(produced(5), completed_ns=None))


@pytest.mark.parametrize("seen", [{"state": "S"}, {"pid": 7}])
def test_one_that_was_not_seen_to_be_gone_is_enough(seen: dict[str, Any]) -> None:
    assert len(power_losses([lines(7, ALL)])) == 1
    found = lines(7, ALL)
    kept = found[3]["probe"]["evidence"]["b2"].pop("kept")
    found[3]["probe"]["evidence"]["b2"] |= seen | ({"kept": kept} if "state" in seen else {})
    assert power_losses([found]) == []


def test_where_nobody_keeps_logs_nothing_is_lost() -> None:
    assert power_losses([lines(7, {})]) == []


def test_without_a_loss_all_is_as_it_was() -> None:
    own = [produced(5), read_from(0, 4)]
    assert forgotten([], iter(own)) == own


@pytest.mark.parametrize(("offset", "left"), [(3, 3), (4, 4), (5, 4), (7, 4), (8, 8)])
def test_up_to_where_all_is_to_be_there_still(offset: int, left: int) -> None:
    losses = [PowerLoss(3, 0, [{KEY: (0, 4, 7)}]), PowerLoss(4, 1, [{"u/0": (0, 0, 9)}])]
    assert left_of(losses, ["id/0", KEY], offset) == left


def test_what_was_answered_later_is_of_afterwards() -> None:
    at_ns = produced(5).completed_ns or 0
    for loss_ns, kind in ((at_ns, "info"), (at_ns - 1, "ok")):
        loss = PowerLoss(3, loss_ns, [{KEY: (0, 4, 7)}])
        assert [each.type for each in forgotten([loss], [produced(5)])] == [kind]


def test_topics_of_one_name_lost_each_its_own() -> None:
    story = before()
    story.op("produce", KEY, {"value": 9, "acks": "all"}, {"offset": 2, "topic_id": "other"})
    loss = PowerLoss(3, story.now_ns + 1, [{f"{TOPIC}/0": (0, 1, 3), "other/0": (0, 3, 3)}])
    left = forgotten([loss], story.operations)
    assert [each.type for each in left if each.f == "produce"] == ["ok", "info", "info", "ok"]


def test_nothing_is_told_apart_where_nothing_may_be_gone() -> None:
    story = before()
    loss = PowerLoss(3, story.now_ns + 1, [{KEY: (3, 3, 3)}])
    assert apart([loss], story.operations) == {"": story.operations}
    assert apart([], story.operations) == {"": story.operations}
