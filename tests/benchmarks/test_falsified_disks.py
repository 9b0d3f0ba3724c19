"""What disks say is told otherwise as it is named, with all that goes with it, and the table says
of each lie whether somebody found it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pytest

from benchmarks.falsified.__main__ import row_of
from benchmarks.falsified.disk_reasons import DISK_REASONS
from benchmarks.falsified.disk_trials import ALL, tried_on_disks
from benchmarks.falsified.disks import Disks
from benchmarks.falsified.judging import Judged, Retold
from benchmarks.falsified.table import reason_for, table
from checkers.log_matching import LogMatching
from framework.checking.findings import finding
from framework.checking.keyed import Outcome
from framework.checking.run_checks import RunCheck, RunChecker
from framework.checking.runs import FAULTS, NEMESIS
from framework.evidence.changes import ConfigSet, TopicCreated
from framework.evidence.kinds import DISK, HARNESS, Evidence
from framework.evidence.partitions import (
    PartitionAppended,
    PartitionLogOnDisk,
    PartitionOffsetSaved,
)
from framework.evidence.processes import Failed, ProcessEnded
from framework.evidence.quorum import Appended, Elected, EpochSaved, LogOnDisk
from framework.evidence.run_events import RunEvents
from framework.evidence.schemas import table_of
from framework.history.columns import OPERATIONS
from framework.plugins.checker import RunTables
from framework.verdict import Verdict

ID: Final = "11111111-1111-4111-8111-111111111111"
NODES: Final = ("n1", "n2")


class Left:
    """Two nodes' disks, which say the same: twelve batches of a record each, another with two, and
    a partition with three batches."""

    def __init__(self) -> None:
        self.rows: list[Evidence] = []
        for node in NODES:
            for at in range(12):
                self.batch(node, at, f"t{at}")
            self.batch(node, 12, "u", "v")
            self.tell(LogOnDisk, node, start_offset=0, end_offset=14, torn=False, wrong=())
            self.tell(EpochSaved, node, epoch=3, leader=1, vote=1)
            for at in range(3):
                self.partition_batch(node, at)
            self.partition(PartitionLogOnDisk, node, **LOG)
            self.partition(PartitionOffsetSaved, node, what="recovery-point", offset=3)
            self.tell(ProcessEnded, node, source=HARNESS, process=1, exit_code=0)
            self.tell(Elected, node, source="event", epoch=3, votes=(1,))

    def tell(self, kind: type[Evidence], node: str, **fields: Any) -> None:
        common = {"node": node, "incarnation": "1", "seq": len(self.rows), "source": DISK}
        self.rows.append(kind(**{**common, "ref": f"{node}:{len(self.rows)}", **fields}))

    def batch(self, node: str, base: int, *names: str) -> None:
        own = {"base_offset": base, "end_offset": base + len(names), "epoch": 3}
        crcs = tuple(hash(name) % 1000 for name in names)
        self.tell(Appended, node, control=False, crcs=crcs, leading=None, **own)
        for offset, name in enumerate(names, base):
            self.tell(TopicCreated, node, offset=offset, epoch=3, name=name, topic_id=ID)

    def partition(self, kind: type[Evidence], node: str, **fields: Any) -> None:
        self.tell(kind, node, topic_id=ID, partition=0, **fields)

    def partition_batch(self, node: str, base: int) -> None:
        own = {"base_offset": base, "end_offset": base + 1, "epoch": 0, "crc": 7 + base}
        more = {"leading": None, "producer_id": 1, "base_sequence": base}
        self.partition(PartitionAppended, node, **own, **more)


LOG: Final = {"start_offset": 0, "end_offset": 3, "torn": False, "wrong": (), "epochs": None}


def disks() -> Disks:
    return Disks(Left().rows)


def number_of(left: Disks, kind: type[Evidence], **fields: Any) -> int:
    """The first row that says so."""
    return next(
        number
        for number, each in enumerate(left.rows)
        if type(each) is kind and all(getattr(each, name) == fields[name] for name in fields)
    )


def after(left: Disks, told: Retold) -> Disks:
    return Disks([row for n, each in enumerate(left.rows) for row in told.get(n, (each,))])


def log_of(left: Disks, node: str, kind: type[Evidence], *names: str) -> list[tuple[Any, ...]]:
    own = [each for each in left.rows if type(each) is kind and each.node == node]
    return [tuple(getattr(each, name) for name in names) for each in own]


# --- what is told instead -----------------------------------------------------------------


def test_another_record_has_another_checksum() -> None:
    left = disks()
    record = number_of(left, TopicCreated, name="v")
    told = left.told(record, {**left.facts[record], "name": "w"})
    first, second = after(left, told).rows[record - 2], left.rows[record - 2]
    assert isinstance(first, Appended)
    assert isinstance(second, Appended)
    assert first.crcs[0] == second.crcs[0]
    assert first.crcs[1] != second.crcs[1]
    assert len(told) == 2
    assert log_of(after(left, told), "n1", TopicCreated, "offset", "name")[-1] == (13, "w")
    again = left.told(number_of(left, TopicCreated, name="v", node="n2"), {"name": "w"})
    assert [row.crcs for rows in again.values() for row in rows if isinstance(row, Appended)] != []


def test_the_same_record_has_the_same_checksum_everywhere() -> None:
    left = disks()
    record = number_of(left, TopicCreated, name="t3")
    one, other = left.alike(record)
    assert [left.rows[each].node for each in (one, other)] == list(NODES)
    facts = {**left.facts[record], "name": "w"}
    crcs = {
        row.crcs
        for each in (one, other)
        for rows in left.told(each, facts).values()
        for row in rows
        if isinstance(row, Appended)
    }
    assert len(crcs) == 1


def test_what_follows_a_record_that_is_left_out_is_in_its_place() -> None:
    left = disks()
    now = after(left, left.left_out(number_of(left, TopicCreated, name="t10")))
    assert log_of(now, "n1", TopicCreated, "offset", "name")[9:] == [
        (9, "t9"),
        (10, "t11"),
        (11, "u"),
        (12, "v"),
    ]
    assert log_of(now, "n1", Appended, "base_offset", "end_offset")[9:] == [
        (9, 10),
        (10, 11),
        (11, 13),
    ]
    assert log_of(now, "n1", LogOnDisk, "start_offset", "end_offset") == [(0, 13)]
    assert log_of(now, "n1", PartitionLogOnDisk, "end_offset") == [(3,)]
    for kind in (TopicCreated, Appended, LogOnDisk):
        assert log_of(now, "n2", kind) == log_of(left, "n2", kind)


def test_a_batch_that_is_there_twice_moves_what_follows() -> None:
    left = disks()
    now = after(left, left.again(number_of(left, TopicCreated, name="t11")))
    assert log_of(now, "n1", TopicCreated, "offset", "name")[11:] == [
        (11, "t11"),
        (12, "t11"),
        (13, "u"),
        (14, "v"),
    ]
    assert log_of(now, "n1", LogOnDisk, "end_offset") == [(15,)]
    both = after(left, left.again(number_of(left, TopicCreated, name="u")))
    assert log_of(both, "n1", Appended, "base_offset", "end_offset")[-2:] == [(12, 14), (14, 16)]
    assert log_of(both, "n1", TopicCreated, "offset", "name")[-2:] == [(14, "u"), (15, "v")]


def test_a_log_that_is_cut_off_ends_there() -> None:
    left = disks()
    now = after(left, left.cut(number_of(left, PartitionAppended, base_offset=1)))
    assert log_of(now, "n1", PartitionAppended, "base_offset") == [(0,)]
    assert log_of(now, "n1", PartitionLogOnDisk, "end_offset") == [(1,)]
    assert log_of(now, "n2", PartitionAppended, "base_offset") == [(0,), (1,), (2,)]
    assert log_of(now, "n1", PartitionOffsetSaved, "offset") == [(3,)]  # it is another file


def test_a_batch_is_gone_with_its_records() -> None:
    left = disks()
    now = after(left, left.without(number_of(left, TopicCreated, name="u")))
    assert log_of(now, "n1", Appended, "base_offset")[-1:] == [(11,)]
    assert log_of(now, "n1", TopicCreated, "offset")[-1:] == [(11,)]
    assert len(left.without(number_of(left, EpochSaved))) == 1


def test_records_are_where_their_batch_says_and_of_its_epoch() -> None:
    left = disks()
    batch = number_of(left, Appended, base_offset=12)
    now = after(left, left.told(batch, {**left.facts[batch], "base_offset": 20, "epoch": 4}))
    assert log_of(now, "n1", Appended, "base_offset", "end_offset", "epoch")[-1:] == [(20, 22, 4)]
    assert log_of(now, "n1", TopicCreated, "offset", "epoch")[-2:] == [(20, 4), (21, 4)]


def test_a_batch_of_another_producer_has_another_checksum() -> None:
    left = disks()
    batch = number_of(left, PartitionAppended, base_offset=1)
    for changed, differs in (({"producer_id": 2}, True), ({"epoch": 9}, False)):
        ((row,),) = left.told(batch, {**left.facts[batch], **changed}).values()
        assert isinstance(row, PartitionAppended)
        assert (row.crc != 8) is differs


def test_a_disk_may_say_what_it_did_before_or_another_one_says() -> None:
    left = Left()
    left.tell(EpochSaved, "n2", incarnation="2", epoch=4, leader=2, vote=2)
    left.partition(PartitionOffsetSaved, "n2", incarnation="2", what="log-start", offset=9)
    rows = Disks(left.rows)
    last = number_of(rows, EpochSaved, epoch=4)
    of_first = {"epoch": 3, "leader": 1, "vote": 1}
    assert rows.others(last) == ([of_first], [of_first])
    assert rows.others(number_of(rows, EpochSaved, node="n1"))[0] == []
    # A recovery point is no beginning of a log.
    assert rows.others(number_of(rows, PartitionOffsetSaved, what="log-start")) == ([], [])


# --- a run --------------------------------------------------------------------------------


def blind(events: RunEvents) -> Outcome:
    """Finds a log that ends elsewhere, whatever is in it, a traceback, and a process that did not
    end well."""
    ends = [each for each in events.of(LogOnDisk) if each.end_offset != 14]
    wrong = [each for each in events.of(Failed, ProcessEnded) if getattr(each, "exit_code", 1)]
    found = [finding("wrong", evidence=[each]) for each in [*ends, *wrong]]
    verdict = Verdict.INVALID if found else Verdict.VALID
    return Outcome(verdict=verdict, seen=9, findings=found)


class Blind(RunChecker):
    name = "blind"
    summary = "Logs end where they do"
    requires: frozenset[str] = frozenset()
    check_run = RunCheck(
        blind,
        evidence=(ProcessEnded, Elected),
        disk=(Appended, LogOnDisk, Failed, TopicCreated, EpochSaved, PartitionOffsetSaved),
    )


class Elsewhere(RunChecker):
    name = "elsewhere"
    summary = "Looks at what no disk has"
    requires: frozenset[str] = frozenset()
    check_run = RunCheck(
        lambda events: pytest.fail("nobody has to ask it"), disk=(ConfigSet,), fs=("read",)
    )


def run_of(*checkers: RunChecker) -> Judged:
    rows: dict[type[Evidence], list[Evidence]] = defaultdict(list)
    for each in Left().rows:
        rows[type(each)].append(each)
    tables = RunTables(
        run="r",
        plan={},
        operations=OPERATIONS.empty_table(),
        nemesis=NEMESIS.empty_table(),
        faults=FAULTS.empty_table(),
        evidence={kind.kind: table_of(kind, own) for kind, own in rows.items()},
    )
    return Judged(tables, {each.name: each for each in checkers})


def told(judged: Judged, *only: str) -> list[Mapping[str, Any]]:
    return [row_of("s", each) for each in tried_on_disks(judged, 1, 1, only)]


def found(rows: Sequence[Mapping[str, Any]], f: str, field: str) -> dict[str, bool]:
    own = [each for each in rows if (each["f"], each["field"]) == (f, field)]
    return {each["change"]: bool(each["invalid"]) for each in own}


def test_what_nodes_say_as_it_happens_is_set_aside() -> None:
    kinds = {each.kind for each in run_of(Blind()).left}
    assert kinds == {
        *("appended", "topic-created", "log-on-disk", "epoch-saved"),
        *("partition-offset-saved", "process-ended"),
    }


def test_a_lie_on_one_disk_is_found_by_whoever_sees_another() -> None:
    rows = told(run_of(LogMatching(), Elsewhere()), "appended")
    crcs = found(rows, "appended", "crcs[]")
    assert crcs["+1"]
    assert not crcs["on all: +1"]
    assert {name for each in rows for name in each["invalid"]} == {
        "log-matching/one-record",
        "log-matching/same-below",
    }


def test_lies_are_told_of_records_files_and_ends() -> None:
    rows = told(run_of(Blind()))
    record = found(rows, "topic-created", ALL)
    assert record == {
        "missing": False,
        "left out": True,
        "twice": True,
        "cut off here": True,
        "on all: missing": False,
        "on all: left out": True,
        "on all: twice": True,
        "on all: cut off here": True,
        "another's": False,
        "on all: another's": False,
    }
    assert found(rows, "process-ended", "exit_code") == {
        "+1": True,
        "-1": True,
        "on all: +1": True,
        "on all: -1": True,
    }
    assert found(rows, "failed", ALL) == {"one too many": True}
    assert set(found(rows, "epoch-saved", "vote")) == {
        *("+1", "-1", "0", "on all: +1", "on all: -1", "on all: 0"),
    }
    assert found(rows, "log-on-disk", "wrong") == {
        "one too many": False,
        "on all: one too many": False,
    }
    assert found(rows, "topic-created", "offset") == {}  # its batch says that
    assert all(each["teller"] == "disk" and each["where"] for each in rows)


def test_the_same_seed_tells_the_same_of_disks() -> None:
    first, again = (told(run_of(Blind()), "topic-created") for _ in range(2))
    assert first == again


def test_the_table_says_that_it_is_of_disks() -> None:
    rows = told(run_of(Blind()), "epoch-saved", "process-ended")
    head, _, *lines = table(rows)
    assert head.startswith("| on disk | field |")
    (exits,) = (line for line in lines if line.startswith("| process-ended | `exit_code`"))
    assert "| 4/4 | `blind` 4 | - |" in exits


# --- reasons ------------------------------------------------------------------------------


def test_reasons_of_answers_excuse_no_disk() -> None:
    """A disk that says what it said before is not late."""
    row = {"f": "epoch-saved", "field": ALL, "change": "earlier", "teller": "disk"}
    assert reason_for(row) == ""
    assert reason_for({**row, "field": "(answer)", "teller": "client"})


def test_each_reason_of_disks_covers_something() -> None:
    for each in DISK_REASONS:
        own = {name: getattr(each, name).replace("*", "") for name in ("f", "field", "change")}
        row = {"teller": "disk", **own, "where": [each.where.replace("*", "")]}
        assert each.covers(row)
        assert reason_for(row)


def test_evidence_tables_are_what_is_changed() -> None:
    """As plain as a table has them, so that a lie is one that a reader could have told."""
    left = disks()
    for kind, numbers in left.kinds.items():
        rows = table_of(kind, [left.rows[each] for each in numbers])
        assert isinstance(rows, pa.Table)
        for number, row in zip(numbers, rows.to_pylist(), strict=True):
            assert left.facts[number].items() <= row.items()
