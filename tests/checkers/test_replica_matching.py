"""Replicas of partitions, by their disks and by clients."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_runs import OTHER, TOPIC, Story, assert_invalid

from checkers.replica_matching import (
    DELETED,
    OFFSETS,
    ONCE,
    ONE_BATCH,
    ONE_LEADER,
    READ,
    RISING,
    SAME_BATCHES,
    WATERMARKS,
    ReplicaMatching,
    _few_idempotent,
    _few_written,
    replica_matching,
)
from framework.checking.cuts import parts
from framework.checking.keyed import Outcome, outcome_row
from framework.checking.results import CheckerResult, checker_result
from framework.evidence.ids import LeaderEpoch, Offset
from framework.evidence.partitions import (
    EpochStart,
    PartitionAppended,
    PartitionLogOnDisk,
    PartitionOffsetSaved,
    PartitionTruncated,
)
from framework.evidence.processes import ProcessEnded
from framework.evidence.run_events import Part
from framework.history.pairing import Operation
from framework.verdict import Verdict
from tests.cases import cases

REPLICAS = ("b1", "b2", "b3")
NOBODYS = "00000000-0000-0000-0000-000000000009"
"""Sorts before all others."""
IDS = {"b1": 4, "b2": 5, "b3": 6}


def write(
    story: Story,
    offset: int,
    epoch: int,
    *nodes: str,
    crc: int = 0,
    long: int = 1,
    sequence: tuple[int, int] | None = None,
) -> None:
    """A batch on these disks; its content is its offset and epoch, unless `crc` says otherwise.
    `sequence`: its producer's id and its number."""
    for node in nodes:
        story.disks.tell(
            PartitionAppended,
            node,
            topic_id=TOPIC,
            partition=0,
            base_offset=offset,
            end_offset=offset + long,
            epoch=epoch,
            crc=crc or 1000 * epoch + offset + 1,
            leading=None,
            producer_id=None if sequence is None else sequence[0],
            base_sequence=None if sequence is None else sequence[1],
        )


def cut(story: Story, node: str, end: int) -> None:
    story.disks.tell(PartitionTruncated, node, topic_id=TOPIC, partition=0, end_offset=end)


def lies(
    story: Story,
    node: str,
    end: int,
    *,
    start: int = 0,
    torn: bool = False,
    wrong: str = "",
    partition: int = 0,
    epochs: Sequence[tuple[int, int]] | None = None,
) -> None:
    """What is found of a log, when all is read."""
    story.disks.tell(
        PartitionLogOnDisk,
        node,
        topic_id=TOPIC,
        partition=partition,
        start_offset=start,
        end_offset=end,
        torn=torn,
        wrong=(wrong,) if wrong else (),
        epochs=None if epochs is None else tuple(starts(*each) for each in epochs),
    )


def starts(epoch: int, offset: int) -> EpochStart:
    return EpochStart(epoch=LeaderEpoch(epoch), start_offset=Offset(offset))


def mark(story: Story, node: str, offset: int, partition: int = 0) -> None:
    """The high watermark that a node writes down."""
    story.disks.tell(
        PartitionOffsetSaved,
        node,
        topic_id=TOPIC,
        partition=partition,
        what="high-watermark",
        offset=offset,
    )


def produce(story: Story, offset: int, node: str = "b1") -> Operation:
    answer = {"offset": offset, "topic_id": TOPIC}
    return story.op("produce", "t/0", {"value": offset, "acks": "all"}, answer, node=node)


def fetch(story: Story, high: int, epoch: int, node: str = "b1", topic: str = TOPIC) -> Operation:
    answer = {"records": [], "high_watermark": high, "leader_epoch": epoch, "topic_id": topic}
    return story.op("fetch", "t/0", {"consumer": "c", "from": 0}, answer, node=node)


def read(story: Story, *isr: str, topic: str = TOPIC) -> Operation:
    """The topic has another partition, always in sync on b1 and b2, of which b1 leads."""
    shown = {"partition": 0, "leader": 5, "leader_epoch": 1, "isr": [IDS[node] for node in isr]}
    other = {"partition": 1, "leader": 4, "leader_epoch": 0, "isr": [4, 5]}
    return story.op("describe", "t", None, {"topic_id": topic, "partitions": [shown, other]})


def unread() -> Story:
    """Four batches of b1, then two of b2; b3 held one of b1 that never was committed, and is behind
    at the end, out of the ISR."""
    story = Story()
    story.create("t")
    for offset in range(4):
        produce(story, offset)
        fetch(story, offset + 1, 0)
        write(story, offset, 0, *REPLICAS)
    write(story, 4, 0, "b3")
    story.disks.restart("b3")
    cut(story, "b3", 4)
    for offset in (4, 5):
        produce(story, offset, "b2")
        fetch(story, offset + 1, 1, "b2")
        write(story, offset, 1, "b1", "b2")
    write(story, 4, 1, "b3")
    story.final()
    fetch(story, 6, 1, "b2")
    return story


def clean(*isr: str) -> Story:
    """Of the other partition all three records are deleted."""
    story = unread()
    story.plan["capabilities"] = [READ, "kept-log-starts"]
    told = {"before": 3, "low_watermark": 3, "topic_id": TOPIC}
    story.op("delete-records", "t/1", {"before": 3}, told, node="b1")
    read(story, *(isr or ("b1", "b2")))
    answer = {"records": [], "high_watermark": 3, "leader_epoch": 0, "topic_id": TOPIC}
    story.op("fetch", "t/1", {"consumer": "c", "from": 3}, answer, node="b1")
    for node in ("b1", "b2"):
        lies(story, node, 3, start=3, partition=1)
    for node, end in (("b1", 6), ("b2", 6), ("b3", 5)):
        lies(story, node, end)
    return story


def marked() -> Story:
    """Its brokers write their high watermarks down."""
    story = clean()
    marks(story)
    return story


def marks(story: Story) -> None:
    for node in ("b1", "b2"):
        mark(story, node, 3, partition=1)
    for node, end in (("b1", 6), ("b2", 6), ("b3", 5)):
        mark(story, node, end)


def written_down(*epochs: tuple[int, int], start: int = 0, deleted: int = 0, **state: Any) -> Story:
    """As epochs are beside the log of b2, which are those of its batches unless something else is
    said; beside the others they are right. `deleted`: so many records, of which its file still has
    those."""
    story = clean()
    if start or deleted:
        story.op("delete-records", "t/0", {"before": start or deleted}, type="info")
    for node, end in (("b1", 6), ("b3", 5)):
        lies(story, node, end, epochs=((0, 0), (1, 4)))
    lies(story, "b2", 6, start=start, epochs=epochs or ((0, start), (1, 4)), **state)
    return story


def judged(story: Story) -> CheckerResult:
    """As the engine has it."""
    return result_of(ReplicaMatching.check_run(story.run_events()))  # type: ignore[arg-type]


def result_of(outcome: Outcome) -> CheckerResult:
    row = outcome_row("r", "replica-matching", "", outcome)
    return checker_result("replica-matching", "", [row], clauses=ReplicaMatching.clauses)


def compared(outcome: Outcome) -> dict[str, int]:
    return {each.name: each.compared for each in result_of(outcome).clauses}


def counts(story: Story) -> dict[str, int]:
    return {each.name: each.compared for each in judged(story).clauses}


def accused(story: Story) -> set[str]:
    return {each.clause for each in judged(story).findings}


def assert_clean(story: Story) -> None:
    result = judged(story)
    assert result.verdict is Verdict.VALID, (result.note, result.findings)


def test_what_is_compared() -> None:
    found = {
        "same-batches": 6,
        "deleted": 2,
        "followers-watermarks": 0,
        "offsets-written-down": 0,
        "epochs-written-down": 0,
        "epochs-rise": 14,
        "written-once": 0,
        "one-batch": 11,
        "one-leader": 5,
    }
    assert counts(clean()) == found
    # Two replicas with four batches each from the start on.
    assert counts(deleted()) == found | {"same-batches": 4, "epochs-rise": 10}


def lost_power(*again: int) -> Story:
    """b2, in sync in the end, lost batches 2 to 5 with its power, though clients knew of the first
    two; the batches that it has `again`."""
    story = unread()
    story.plan["capabilities"] = [READ]
    story.disks.restart("b2")
    cut(story, "b2", 2)
    for offset in again:
        write(story, offset, int(offset > 3), "b2")
    read(story, "b1", "b2")
    for node, end in (("b1", 6), ("b2", max(again, default=1) + 1), ("b3", 5)):
        lies(story, node, end)
    return story


def test_a_replica_that_lost_what_it_had_not_forced_and_has_it_again_is_right() -> None:
    assert replica_matching(lost_power(2, 3, 4, 5).run_events()).findings == []


def test_a_replica_that_lost_what_it_had_not_forced_and_is_in_sync_without_it_is_not() -> None:
    for again in ((), (2, 3)):
        (found,) = replica_matching(lost_power(*again).run_events()).findings
        assert found.clause == SAME_BATCHES.name
        assert f"b2, in the ISR by operation 31, has nothing at offset {2 + len(again)}" in (
            found.message
        )


def test_no_node_has_to_say_a_word() -> None:
    events = clean().run_events()
    reported = [each for each in events.evidence if each.source == "disk"]
    assert not replica_matching(replace(events, evidence=reported)).findings


def deleted(
    *, before: int = 2, starts: tuple[int, int] = (2, 2), keeps: bool = True, known: bool = True
) -> Story:
    """Where records were deleted, in a system that keeps to that."""
    story = unread()
    story.plan["capabilities"] = [READ, *(["kept-log-starts"] if keeps else [])]
    answer = {"before": before, "low_watermark": before, "topic_id": TOPIC}
    if known:
        story.op("delete-records", "t/0", {"before": before}, answer, node="b2")
        story.op("delete-records", "t/0", {"before": 1}, {**answer, "before": 1}, node="b2")
    read(story, "b1", "b2")
    if not known:
        story.op("delete-records", "t/0", {"before": before}, answer, node="b2")
    for node, end, start in (("b1", 6, starts[0]), ("b2", 6, starts[1]), ("b3", 5, 0)):
        lies(story, node, end, start=start)
    return story


def of_deletes(story: Story) -> Any:
    """What the clause compared."""
    clauses = replica_matching(story.run_events()).clauses
    assert clauses is not None
    return clauses[DELETED.name]


def test_without_a_delete_there_is_no_occasion() -> None:
    story = unread()
    story.plan["capabilities"] = [READ, "kept-log-starts"]
    read(story, "b1", "b2")
    assert of_deletes(story) == "no delete of records was acknowledged"


def test_deletes_of_topics_that_nobody_knows_are_passed_over() -> None:
    story = deleted()
    story.op("delete-records", "gone/0", {"before": 2}, {"before": 2}, node="b2")
    assert of_deletes(story) == 2


def test_partitions_whose_isr_nobody_read_are_passed_over() -> None:
    story = clean()
    story.plan["capabilities"] = [READ, "kept-log-starts"]
    told = {"before": 2, "low_watermark": 2, "topic_id": TOPIC}
    story.op("delete-records", "t/0", {"before": 2}, told, node="b2")
    assert of_deletes(story) == 2, "of t/1, whose delete came before its ISR was read"
    story = unread()
    story.plan["capabilities"] = [READ, "kept-log-starts"]
    story.op("delete-records", "t/0", {"before": 2}, told, node="b2")
    assert of_deletes(story) == "no partition with deleted records was read at the end"


def test_the_delete_that_reaches_highest_counts() -> None:
    story = unread()
    story.plan["capabilities"] = [READ, "kept-log-starts"]
    for before in (1, 2, 1):
        told = {"before": before, "low_watermark": before, "topic_id": TOPIC}
        story.op("delete-records", "t/0", {"before": before}, told, node="b2")
    read(story, "b1", "b2")
    for node, start in (("b1", 1), ("b2", 2), ("b3", 0)):
        lies(story, node, 6, start=start)
    (found,) = replica_matching(story.run_events()).findings
    assert found.message.startswith(f"{TOPIC}/0: operation ")
    assert "had deleted all before 2, and the log of b1" in found.message


def test_a_member_of_whose_log_nothing_is_told_hides_no_other_one() -> None:
    story = unread()
    story.plan["capabilities"] = [READ, "kept-log-starts"]
    told = {"before": 2, "low_watermark": 2, "topic_id": TOPIC}
    story.op("delete-records", "t/0", {"before": 2}, told, node="b2")
    read(story, "b1", "b2")
    lies(story, "b2", 6, start=1)
    found = replica_matching(story.run_events())
    assert (found.clauses or {})[DELETED.name] == 1
    assert ["the log of b2" in each.message for each in found.findings] == [True]


def test_shares_of_a_run_judge_each_delete_once() -> None:
    whole = clean().run_events()
    assert compared(replica_matching(whole))["deleted"] == 2
    shares = [replace(whole, part=Part(number, 2)) for number in range(2)]
    found = [replica_matching(each).clauses or {} for each in shares]
    counts = [each[DELETED.name] for each in found]
    assert sorted(counts, key=str) == [2, "no delete of records was acknowledged"]


# --- planted ------------------------------------------------------------------------------


def idempotent(story: Story) -> None:
    """Its producers are."""
    story.operations = [
        replace(each, value={**each.value, "idempotent": True}) if each.f == "produce" else each
        for each in story.operations
    ]


def ends(story: Story, node: str, code: int | None) -> None:
    """Its process, as the harness saw it."""
    ended = story.disks.tell(ProcessEnded, node, process=1, exit_code=code)
    story.disks.evidence[-1] = replace(ended, source="harness")


def whole() -> Story:
    """Its brokers write their high watermarks and leader epochs down, and one ends in order."""
    story = written_down()
    marks(story)
    ends(story, "b1", 0)
    idempotent(story)
    for offset in (5, 6):
        write(story, offset, 1, "b3", sequence=(9, offset))
    return story


PLANTED = Plants(whole)
violation = partial(PLANTED.violation, on=clean)


@PLANTED.violation(
    "had deleted all before 2",
    "b1, in the ISR",
    "begins at 1 on its disk",
    on=lambda: deleted(starts=(1, 2)),
)
def delete_that_a_member_did_not_carry_out(story: Story) -> None:
    pass


@PLANTED.violation("b1, in the ISR", "begins at 0", on=lambda: deleted(starts=(0, 0)))
def delete_that_nobody_carried_out(story: Story) -> None:
    pass


@pytest.mark.parametrize(
    "looks",
    [
        {"starts": (1, 0), "keeps": False},
        {"starts": (1, 0), "known": False},
        {"starts": (2, 2)},
    ],
)
def test_deletes_that_are_carried_out_or_need_not_be(looks: dict[str, Any]) -> None:
    """A system that does not keep to them, none that was acknowledged by then, and one that was
    carried out."""
    story = deleted(**looks)
    assert_clean(story)
    assert counts(story)["deleted"] == (2 if looks.get("starts") == (2, 2) else 0)


@PLANTED.violation("the log of b1, in the ISR", "from 2 on", on=lambda: deleted(starts=(3, 2)))
def more_deleted_than_was_asked_for(story: Story) -> None:
    """Of one replica: what leaders tell clients is partition-data's."""


@violation("the log of b2, in the ISR", "begins at 4 on its disk", "from 0 on")
def acknowledged_records_that_a_member_no_longer_has(story: Story) -> None:
    cut(story, "b2", 0)
    for offset in (4, 5):
        write(story, offset, 1, "b2")
    lies(story, "b2", 6, start=4)


@violation("the log of b2, in the ISR", "begins at 6 on its disk", "from 0 on")
def log_of_a_member_that_is_empty_where_the_others_end(story: Story) -> None:
    cut(story, "b2", 0)
    lies(story, "b2", 6, start=6)


@PLANTED.violation(
    "b1, a follower in the ISR",
    "left the high watermark 7, and its leader b2 6, which it had told",
    on=marked,
)
def high_watermark_of_a_follower_above_its_leaders(story: Story) -> None:
    mark(story, "b1", 7)


def other_leader(story: Story) -> None:
    """What b2 had told was of another epoch."""
    story.operations = [
        each
        for each in story.operations
        if not (each.f == "fetch" and each.phase == "final" and each.key == "t/0")
    ]
    fetch(story, 6, 0, "b2")


def asked_of_a_follower(story: Story) -> None:
    other_leader(story)
    fetch(story, 6, 1, "b3")


@pytest.mark.parametrize(
    ("look", "compared"),
    [
        (lambda story: mark(story, "b2", 7), 1),
        (lambda story: fetch(story, 7, 1, "b2"), 1),
        (lambda story: mark(story, "b3", 9), 2),
        (lambda story: mark(story, "b1", 5), 2),
        (other_leader, 1),
        (asked_of_a_follower, 1),
        (lambda story: story.disks.restart("b2"), 1),
        (lambda story: story.disks.restart("b1"), 1),
    ],
)
def test_high_watermarks_that_may_be_above_their_leaders(
    look: Callable[[Story], object], compared: int
) -> None:
    """Where it moved behind its last answer, or another one led by then; of who is out of the ISR,
    or of a former process; and a lower one."""
    story = marked()
    if compared == 1:
        mark(story, "b1", 7)
    look(story)
    for node in ("b1", "b2"):
        mark(story, node, 3, partition=1)
    outcome = replica_matching(story.run_events())
    assert (outcome.clauses or {})[WATERMARKS.name] == compared
    assert WATERMARKS.name not in accused(story)


def test_a_leaders_last_fetch_is_the_last_one_that_told_a_high_watermark() -> None:
    """What it answers to others of the end tells none, nor does a fetch that was not answered, nor
    one of a topic that nobody knows."""
    story = marked()
    answer = {"offset": 6, "leader_epoch": 1, "topic_id": TOPIC}
    story.op("list-offsets", "t/0", {"at": "latest"}, answer, node="b2")
    story.op("fetch", "t/0", {"from": 0}, type="info", error="CLIENT_TIMED_OUT", node="b2")
    fetched = {"records": [], "high_watermark": 9, "leader_epoch": 1}
    story.op("fetch", "gone/0", {"from": 0}, fetched, node="b2")
    assert_clean(story)
    assert counts(story)["followers-watermarks"] == 2


def test_who_lost_power_may_have_gone_back_behind_its_followers() -> None:
    story = marked()
    mark(story, "b1", 7)
    lost = {node: {"kept": {}} for node in REPLICAS}
    entries = [
        {"id": 1, "time": 5, "step": "planned", "loses": [*REPLICAS], "keeps": []},
        {"id": 1, "time": 5, "step": "probed-during", "probe": {"evidence": lost}},
    ]
    story.inject(fault="power", entries=entries)
    found = replica_matching(story.run_events()).clauses or {}
    assert found[WATERMARKS.name] == "a broker that lost power may have gone back"
    assert WATERMARKS.name not in accused(story)


def test_a_member_that_wrote_no_high_watermark_down_hides_no_other_one() -> None:
    story = clean(*REPLICAS)
    mark(story, "b2", 6)
    mark(story, "b3", 7)
    assert counts(story)["followers-watermarks"] == 1
    assert WATERMARKS.name in accused(story)


def test_shares_of_a_run_judge_each_follower_once() -> None:
    whole = marked().run_events()
    assert compared(replica_matching(whole))["followers-watermarks"] == 2
    shares = [replace(whole, part=Part(number, 8)) for number in range(8)]
    found = [replica_matching(each).clauses or {} for each in shares]
    assert sorted(int(str(each[WATERMARKS.name])) for each in found) == [0] * 6 + [1] * 2


# --- offsets beside logs ------------------------------------------------------------------


def offset(story: Story, node: str, what: str, at: int, partition: int = 0) -> None:
    story.disks.tell(
        PartitionOffsetSaved, node, topic_id=TOPIC, partition=partition, what=what, offset=at
    )


def pointed() -> Story:
    """Three offsets beside a log of each broker, at its end; one of them was killed."""
    story = marked()
    for node, end in (("b1", 6), ("b2", 6), ("b3", 5)):
        offset(story, node, "recovery-point", end)
        offset(story, node, "log-start", 0)
    for node, code in (("b1", 0), ("b2", 143), ("b3", -9)):
        ends(story, node, code)
    return story


def test_offsets_within_their_logs_are_right() -> None:
    story = pointed()
    assert_clean(story)
    assert counts(story)[OFFSETS.name] == 8  # three of two brokers, and a watermark of partition 1


@pytest.mark.parametrize("what", ["recovery-point", "high-watermark", "log-start"])
def test_an_offset_behind_the_end_of_its_log_is_found(what: str) -> None:
    story = pointed()
    offset(story, "b2", what, 7)
    assert accused(story) >= {OFFSETS.name}
    messages = [each.message for each in judged(story).findings]
    assert any(f"b2 left the {what} 7 beside a log that ends at 6" in each for each in messages)


@PLANTED.violation("b1 left the recovery-point 9 beside a log that ends at 6", on=pointed)
def point_up_to_which_more_is_flushed_than_there_is(story: Story) -> None:
    offset(story, "b1", "recovery-point", 9)


@pytest.mark.parametrize("code", [-9, -15, 1, None])
def test_a_process_that_did_not_end_in_order_may_leave_any(code: int | None) -> None:
    story = marked()
    offset(story, "b1", "recovery-point", 9)
    ends(story, "b1", code)
    assert_clean(story)
    found = replica_matching(story.run_events()).clauses or {}
    assert found[OFFSETS.name] == "no process that wrote any down ended in order"


@pytest.mark.parametrize("state", [{"torn": True}, {"wrong": "has a gap"}])
def test_a_log_that_cannot_be_read_to_its_end_shows_nothing(state: dict[str, Any]) -> None:
    story = pointed()
    lies(story, "b1", 5, **state)
    offset(story, "b1", "recovery-point", 9)
    assert OFFSETS.name not in accused(story)


def test_a_log_that_a_former_process_left_may_be_gone_since() -> None:
    story = marked()
    story.disks.restart("b1")
    offset(story, "b1", "recovery-point", 9)
    ends(story, "b1", 0)
    assert OFFSETS.name not in accused(story)
    lies(story, "b1", 8)
    offset(story, "b1", "recovery-point", 9)
    assert OFFSETS.name in accused(story)


def test_where_no_offset_is_written_down_none_is_held_against_a_log() -> None:
    story = clean()
    ends(story, "b1", 0)
    found = replica_matching(story.run_events()).clauses or {}
    assert found[OFFSETS.name] == "nodes write no offsets down beside their logs"


def test_shares_of_a_run_judge_each_offset_once() -> None:
    whole = pointed().run_events()
    shares = [replace(whole, part=Part(number, 8)) for number in range(8)]
    found = [compared(replica_matching(each))[OFFSETS.name] for each in shares]
    assert sum(found) == compared(replica_matching(whole))[OFFSETS.name] == 8


def test_who_writes_no_high_watermark_down_is_not_held_against_any() -> None:
    story = clean()
    story.disks.tell(
        PartitionOffsetSaved, "b1", topic_id=TOPIC, partition=0, what="log-start", offset=9
    )
    found = replica_matching(story.run_events()).clauses or {}
    assert found[WATERMARKS.name] == "nodes write no high watermark down"


@PLANTED.violation(
    "/0 of b2: the batch at offset 0 is of leader epoch 0",
    "written down is 9",
    on=lambda: written_down((9, 0)),
)
def epoch_file_of_another_log(story: Story) -> None:
    pass


@PLANTED.violation(
    "the batch at offset 0 is of leader epoch 0",
    "written down is none",
    on=lambda: written_down((1, 4)),
)
def epoch_file_that_begins_late(story: Story) -> None:
    pass


@PLANTED.violation(
    "the batch at offset 4 is of leader epoch 1",
    "written down is 0",
    on=lambda: written_down((0, 0), (1, 5)),
)
def epoch_that_is_written_down_late(story: Story) -> None:
    pass


@PLANTED.violation(
    "epoch 0 is written down from offset 4 on, behind epoch 1 from 0 on",
    on=lambda: written_down((1, 0), (0, 4)),
)
def epoch_file_out_of_order(story: Story) -> None:
    pass


@PLANTED.violation(
    "epoch 3 is written down from offset 6 on, behind epoch 2 from 7 on",
    on=lambda: written_down((0, 0), (1, 4), (2, 7), (3, 6)),
)
def epochs_that_go_back_behind_the_end(story: Story) -> None:
    pass


@PLANTED.violation(
    "epoch 0 is written down from offset 2 on, behind epoch 0 from 0 on",
    on=lambda: written_down((0, 0), (0, 2), (1, 4)),
)
def epoch_that_is_written_down_twice(story: Story) -> None:
    pass


@violation("the batch at offset 0 is of leader epoch 0", "written down is none")
def epoch_file_that_is_empty(story: Story) -> None:
    lies(story, "b2", 6, epochs=())


@violation("/0 of b2: the batch at offset 0 is of leader epoch 0", "written down is 9")
def epoch_file_beside_a_node_that_has_none(story: Story) -> None:
    lies(story, "b1", 6)
    lies(story, "b2", 6, epochs=((9, 0),))


def test_all_may_be_removed_of_a_partition_of_whose_topic_nobody_knows_the_name() -> None:
    """So that no epoch of its batches need be written down."""
    story = unread()
    lies(story, "b2", 6, epochs=((1, 4),))
    assert not accused(story)
    read(story, "b1", "b2")
    assert accused(story) == {"epochs-written-down"}


def test_of_a_log_whose_epochs_are_wrong_one_batch_is_told() -> None:
    found = judged(written_down((9, 0))).findings
    assert [each.clause for each in found] == ["epochs-written-down"]


def test_what_lies_in_front_of_a_log_needs_no_epoch() -> None:
    """Whatever removed it: files of records stay until they are due."""
    story = written_down()
    lies(story, "b3", 5, start=4, epochs=((1, 4),))
    assert_clean(story)
    assert counts(story)["epochs-written-down"] == 13


def test_shares_of_a_run_look_each_batch_up_once() -> None:
    whole = written_down().run_events()
    shares = [replace(whole, part=Part(number, 8)) for number in range(8)]
    found = [(replica_matching(each).clauses or {})["epochs-written-down"] for each in shares]
    assert sum(each for each in found if isinstance(each, int)) == 17


@pytest.mark.parametrize(
    ("story", "compared"),
    [
        (lambda: written_down(), 17),
        (lambda: written_down((0, 0), (1, 4), (2, 6)), 17),
        (lambda: written_down((0, 0), (1, 4), (2, 6), (3, 6)), 17),
        (lambda: written_down((0, 3), (1, 4), start=3), 14),
        (lambda: written_down((0, 3), (1, 4), deleted=3), 14),
        (lambda: written_down((1, 4), deleted=4), 13),
        (lambda: written_down((9, 0), torn=True), 11),
        (lambda: written_down((9, 0), wrong="a batch whose CRC is another"), 11),
    ],
)
def test_epochs_that_are_written_down_right(story: Callable[[], Story], compared: int) -> None:
    """One that has no batch yet; from where a log begins; of what can be read wholly."""
    assert_clean(story())
    assert counts(story())["epochs-written-down"] == compared


def test_a_log_may_begin_within_a_batch() -> None:
    """As records were deleted of it: its epoch is written down from there."""
    story = written_down((0, 0), (1, 4))
    write(story, 6, 2, "b1", "b2", long=3)
    for node in ("b1", "b2"):
        lies(story, node, 9, start=7, epochs=((2, 7),))
    story.op("delete-records", "t/0", {"before": 7}, type="info")
    assert not accused(story)


@violation("below the high watermark 6", "b1 has", "and b2 offsets 5 to 5", "CRC 77")
def other_bytes_below_the_high_watermark(story: Story) -> None:
    write(story, 5, 1, "b2", crc=77)


@violation("b1 has offsets 5 to 5 of leader epoch 1", "b2 offsets 5 to 5 of leader epoch 2")
def batch_of_another_epoch_below_the_high_watermark(story: Story) -> None:
    write(story, 5, 2, "b2")


@violation("of b2: the batch at offset 2 is of leader epoch 0", "behind one at 1 of 1")
def batch_of_an_earlier_epoch_on_all_disks_alike(story: Story) -> None:
    """Nobody writes epochs down beside these logs."""
    write(story, 1, 1, *REPLICAS)


@violation("sequence number 7 of producer 9 is there at offset 6, and again at 7")
def batch_that_was_sent_once_and_is_there_twice(story: Story) -> None:
    for offset in (6, 7):
        write(story, offset, 1, "b1", "b2", crc=77, sequence=(9, 7))


def test_other_batches_of_a_producer_are_others() -> None:
    """Of another number, content, producer or partition; or of none that has an id; or where
    another one was cut off; in front of the log nothing is asked."""
    story = clean()
    for node in ("b1", "b2"):
        write(story, 6, 1, node, crc=77, sequence=(9, 7))
        write(story, 7, 1, node, crc=77, sequence=(9, 8))
        write(story, 8, 1, node, crc=78, sequence=(9, 7))
        write(story, 9, 1, node, crc=77, sequence=(8, 7))
        write(story, 10, 1, node, crc=79)
        write(story, 11, 1, node, crc=79)
        cut(story, node, 11)
        write(story, 11, 2, node, crc=77, sequence=(8, 8))
    assert not accused(story)
    idempotent(story)
    assert counts(story)["written-once"] == 10
    assert_clean(story)


def test_in_front_of_a_log_epochs_may_be_of_another_one() -> None:
    story = deleted()
    write(story, 0, 3, "b1", "b2")
    assert RISING.name not in accused(story)


def test_shares_of_a_run_look_along_each_log_once() -> None:
    story = clean()
    idempotent(story)
    write(story, 6, 1, "b1", "b2", sequence=(9, 7))
    whole = story.run_events()
    shares = [replace(whole, part=each) for each in parts(8)]
    for clause in (RISING, ONCE):
        found = [compared(replica_matching(each)).get(clause.name) for each in shares]
        own = [each for each in found if isinstance(each, int)]
        assert sum(own) == compared(replica_matching(whole))[clause.name] > 0


def test_the_first_of_each_kind_in_a_log_is_said() -> None:
    story = clean()
    idempotent(story)
    for offset, sequence in ((6, 1), (7, 1), (8, 2), (9, 2)):
        write(story, offset, offset % 2, "b1", crc=77, sequence=(9, sequence))
    said = [each for each in judged(story).findings if each.clause in (RISING.name, ONCE.name)]
    assert [each.clause for each in said] == [RISING.name, ONCE.name]
    assert "the batch at offset 6 is of leader epoch 0" in said[0].message
    assert "at offset 6, and again at 7" in said[1].message


@pytest.mark.parametrize(
    ("written", "others", "few"), [(0, 0, True), (2, 0, True), (3, 0, False), (3, 1, False)]
)
def test_a_log_of_three_acknowledged_values_has_two_steps(
    written: int, others: int, few: bool
) -> None:
    """What was not acknowledged, or read, need not be in it."""
    story = Story()
    for value in range(written):
        produce(story, value)
    for value in range(others):
        story.op("produce", "t/1", {"value": value}, {"offset": value})
    story.op("produce", "t/0", {"value": 7}, type="fail", error="TIMED_OUT")
    for high in range(4):
        fetch(story, high, 0)
    assert bool(_few_written(story.run_events())) == few


@pytest.mark.parametrize(("acknowledged", "few"), [(1, True), (2, False)])
def test_two_acknowledged_batches_of_idempotent_producers_may_be_the_same(
    acknowledged: int, few: bool
) -> None:
    story = Story()
    for value in range(acknowledged):
        produce(story, value)
    story.op("produce", "t/0", {"value": 7}, type="fail", error="TIMED_OUT")
    idempotent(story)
    assert bool(_few_idempotent(story.run_events())) == few


def test_hardly_anything_written_need_not_rise_or_be_once() -> None:
    story = Story()
    for value in range(2):
        produce(story, value)
    idle = {each.name for each in judged(story).clauses if each.verdict is None}
    assert {RISING.name, ONCE.name} <= idle
    produce(story, 2)
    busy = {each.name for each in judged(story).clauses if each.verdict is not None}
    assert RISING.name in busy


@violation("b1 has offsets 4 to 4 of leader epoch 1", "b2 offsets 4 to 5 of leader epoch")
def batches_of_other_lengths(story: Story) -> None:
    cut(story, "b2", 4)
    write(story, 4, 1, "b2", long=2)


@violation("b3, in the ISR by operation", "has nothing at offset 5", "all below 6 is")
def member_that_is_behind(story: Story) -> None:
    read(story, "b1", "b2", "b3")


@violation("b2, in the ISR", "has nothing at offset 2")
def hole_in_a_log(story: Story) -> None:
    cut(story, "b2", 2)
    for offset, epoch in ((3, 0), (4, 1), (5, 1)):
        write(story, offset, epoch, "b2")
    lies(story, "b2", 6)


@violation("b2, in the ISR", "has nothing at offset 3")
def tail_that_the_last_process_lost(story: Story) -> None:
    story.disks.restart("b2")
    cut(story, "b2", 3)
    lies(story, "b2", 3)


@PLANTED.violation("b3, in the ISR", "has nothing at offset 0", on=unread)
def member_without_a_log(story: Story) -> None:
    story.disks.evidence = [each for each in story.disks.evidence if each.node != "b3"]
    story.disks.tell(
        PartitionLogOnDisk,
        "b3",
        topic_id=OTHER,
        partition=0,
        start_offset=0,
        end_offset=0,
        torn=False,
        wrong=(),
        epochs=None,
    )
    read(story, *REPLICAS)


@PLANTED.violation("b3, in the ISR by operation", "has nothing at offset 0", on=unread)
def member_that_has_no_log_of_any_partition(story: Story) -> None:
    """Its disk was read: the metadata log is there."""
    story.disks.evidence = [each for each in story.disks.evidence if each.node != "b3"]
    story.disks.fill(1, 1, "b3")
    read(story, *REPLICAS)


@violation("b1 has offsets 4 to 4 of leader epoch 1", "and b3 offsets 4 to 4 of leader epoch 2")
def others_differ_on_both_sides_of_one_that_cannot_be_read(story: Story) -> None:
    cut(story, "b2", 4)
    lies(story, "b2", 4, torn=True)
    cut(story, "b3", 4)
    write(story, 4, 2, "b3")
    write(story, 5, 1, "b3")
    read(story, *REPLICAS)


def test_of_a_node_that_told_of_itself_alone_nothing_is_known() -> None:
    """What it says happened is no disk that was read."""
    story = unread()
    story.disks.evidence = [each for each in story.disks.evidence if each.node != "b3"]
    appends(story, "b3", 7, leader=False)
    read(story, *REPLICAS)
    assert not judged(story).findings


@PLANTED.violation("by operation", "all below 8 is committed", on=unread)
def acknowledged_and_on_no_disk(story: Story) -> None:
    """Nobody was told of a high watermark that high."""
    produce(story, 7, "b2")
    read(story, "b1", "b2")


@PLANTED.violation("by operation", "all below 9 is committed", on=unread)
def reported_by_list_offsets_and_on_no_disk(story: Story) -> None:
    answer = {"offset": 9, "leader_epoch": 1, "topic_id": TOPIC}
    story.op("list-offsets", "t/0", {"at": "latest"}, answer, node="b2")
    read(story, "b1", "b2")


@violation("has nothing at offset 0", "all below 1 is committed")
def first_record_of_all_was_acknowledged_and_is_on_no_disk(story: Story) -> None:
    story.create("u", OTHER)
    story.op("produce", "u/0", {"value": 1, "acks": "all"}, {"offset": 0, "topic_id": OTHER})
    read(story, "b1", topic=OTHER)


@violation("below the high watermark 6", "b1 has", "CRC 77")
def other_bytes_behind_a_partition_of_which_nobody_was_reported(story: Story) -> None:
    write(story, 5, 1, "b2", crc=77)
    read(story, "b1", topic=NOBODYS)


@violation("two leaders wrote in one leader epoch", "b1 has offsets 6 to 6", "CRC 66")
def other_bytes_above_the_high_watermark(story: Story) -> None:
    write(story, 6, 1, "b1")
    write(story, 6, 1, "b2", crc=66)


@violation("two leaders wrote in one leader epoch", "b3", "CRC 66")
def other_bytes_that_a_former_process_had(story: Story) -> None:
    """They are gone at the end."""
    write(story, 5, 1, "b3", crc=66)
    story.disks.restart("b3")
    cut(story, "b3", 5)
    write(story, 5, 1, "b3")


@violation("2 leaders in leader epoch 1", "b2 answered operation", "b3 answered operation")
def two_nodes_answer_in_one_epoch(story: Story) -> None:
    fetch(story, 6, 1, "b3")


@violation("2 leaders in leader epoch 1", "b2 answered operation", "b1 appended at offset")
def one_appends_where_another_answers(story: Story) -> None:
    appends(story, "b1", 1)


@violation("2 leaders in leader epoch 7", "b1 appended at offset 9", "b3 appended")
def two_nodes_append_in_one_epoch(story: Story) -> None:
    appends(story, "b1", 7)
    appends(story, "b3", 7)


def appends(story: Story, node: str, epoch: int, *, leader: bool = True) -> None:
    """By the node's own word."""
    story.event(
        node,
        "plog",
        topic_id=TOPIC,
        partition=0,
        base_offset=9,
        end_offset=10,
        epoch=epoch,
        crc=9,
        leader=leader,
    )


@pytest.mark.parametrize(
    ("planted", "clauses"),
    [
        ("other bytes below the high watermark", {ONE_BATCH.name, SAME_BATCHES.name}),
        ("batch of another epoch below the high watermark", {SAME_BATCHES.name}),
        ("member that is behind", {SAME_BATCHES.name}),
        ("hole in a log", {SAME_BATCHES.name}),
        ("other bytes above the high watermark", {ONE_BATCH.name}),
        ("other bytes that a former process had", {ONE_BATCH.name}),
        ("two nodes answer in one epoch", {ONE_LEADER.name}),
    ],
)
def test_a_violation_breaks_its_clause_alone(planted: str, clauses: set[str]) -> None:
    assert accused(PLANTED[planted].story()) == clauses


# --- in sync by the metadata log on disks -------------------------------------------------

VOTERS = ("c1", "c2", "c3")


def metadata(
    story: Story,
    kind: str,
    version: int = 0,
    *isr: str,
    epoch: int = 1,
    on: Sequence[str] = VOTERS,
    **more: Any,
) -> None:
    """A record on the disks of all voters, or of these."""
    record = {"topic_id": TOPIC, "name": "t", "partition_id": 0, "leader": 4, "leader_epoch": 0}
    members = {"isr": [IDS[node] for node in isr], "partition_epoch": version}
    own = {"PartitionRecord": {"replicas": [4, 5, 6]}, "TopicRecord": {"deleting": False}}
    for node in on:
        story.disks.write(node, epoch, kind, **record | members | own.get(kind, {}) | more)


def asked(story: Story, high_watermark: int, *, log_end: int = 5, epoch: int = 1) -> Operation:
    """The observer is told of the quorum, which c1 leads."""
    voters = [[1, log_end], [2, log_end], [3, log_end]]
    answer = {"leader": 1, "leader_epoch": epoch, "high_watermark": high_watermark}
    return story.ask("c1", "describe-quorum", {**answer, "voters": voters})


def shown_to_the_observer(*isr: str) -> Story:
    """No client can read who is in sync: what the voters' disks have says it, up to where it was
    committed when the observer asked; then all brokers are stopped."""
    story = unread()
    story.plan = {**story.plan, "capabilities": ["log-operations"]}
    story.disks.lead(1, 1, *VOTERS)
    metadata(story, "TopicRecord")
    metadata(story, "PartitionRecord", 0, *REPLICAS)
    metadata(story, "IsrChangeRecord", 1, *(isr or ("b1", "b2")))
    asked(story, 4)
    metadata(story, "NoOpRecord")
    metadata(story, "NoOpRecord")
    metadata(story, "IsrChangeRecord", 2, "b3")
    for node, end in (("b1", 6), ("b2", 6), ("b3", 5)):
        lies(story, node, end)
    return story


def test_who_is_in_sync_the_metadata_log_tells_where_clients_cannot_read_it() -> None:
    assert_clean(shown_to_the_observer())
    assert counts(shown_to_the_observer())["same-batches"] == 6
    story = shown_to_the_observer()
    fetch(story, 6, 0, "b1")
    for node in ("b1", "b2"):
        mark(story, node, 6)
    assert counts(story)["followers-watermarks"] == 1


@PLANTED.violation(
    "b2, in the ISR by operation",
    "and the record at offset 3, has nothing at offset 3",
    on=shown_to_the_observer,
)
def tail_that_a_member_by_disks_lost(story: Story) -> None:
    story.disks.restart("b2")
    cut(story, "b2", 3)
    lies(story, "b2", 3)


@PLANTED.violation(
    "b1 has offsets 5 to 5", "b2", "CRC 77", "and the record at offset 3", on=shown_to_the_observer
)
def other_bytes_of_members_by_disks(story: Story) -> None:
    write(story, 5, 1, "b2", crc=77)


def test_a_read_of_clients_counts_more_than_the_metadata_log() -> None:
    story = shown_to_the_observer(*REPLICAS)
    read(story, "b1", "b2")
    assert_clean(story)


def test_what_is_shown_after_the_last_question_is_not_asked_of_members_by_disks() -> None:
    story = shown_to_the_observer()
    fetch(story, 9, 1, "b2")
    assert_clean(story)
    asked(story, 4)
    assert accused(story) == {SAME_BATCHES.name}


def leads_no_more(story: Story) -> None:
    """The log that it tells of ends where no record of its epoch is on disks."""
    story.observations = []
    asked(story, 4, log_end=7)


def of_an_epoch_that_is_on_no_disk(story: Story) -> None:
    story.observations = []
    asked(story, 4, epoch=2)


def before_the_end(story: Story) -> None:
    story.observations = [replace(each, phase="main") for each in story.observations]


def by_another_question(story: Story) -> None:
    story.observations = [replace(each, f="describe-node") for each in story.observations]


def of_a_leader_whose_log_nobody_tells(story: Story) -> None:
    (only,) = story.observations
    story.observations = [replace(only, result={**only.result, "voters": [[2, 4]]})]


@pytest.mark.parametrize(
    "change",
    [
        leads_no_more,
        of_an_epoch_that_is_on_no_disk,
        before_the_end,
        by_another_question,
        of_a_leader_whose_log_nobody_tells,
    ],
)
def test_answers_that_may_be_out_of_date_say_nothing_of_who_is_in_sync(
    change: Callable[[Story], None],
) -> None:
    story = shown_to_the_observer(*REPLICAS)
    change(story)
    assert_clean(story)
    marks(story)
    for each in judged(story).clauses:
        if each.name in (SAME_BATCHES.name, WATERMARKS.name):
            assert each.verdict is None and "no observer was told" in each.note


def test_voters_whose_disks_were_not_collected_do_not_tell_who_is_in_sync() -> None:
    story = shown_to_the_observer(*REPLICAS)
    story.disks.lost = {"c2"}
    assert_clean(story)
    (same, *_) = judged(story).clauses
    assert same.verdict is None and "c2 cannot be read whole" in same.note


def test_members_of_a_topic_that_is_gone_owe_nothing() -> None:
    story = shown_to_the_observer(*REPLICAS)
    assert accused(story) == {SAME_BATCHES.name}
    metadata(story, "RemoveTopicRecord")
    assert not accused(story)


# --- what is carried out when all was read ------------------------------------------------


def by_clients_and_disks(lost: str = "b2") -> Story:
    """Clients read that b1 and b2 are in sync, and the voters' disks have the partition; one of the
    members has no log at all."""
    story = clean()
    story.disks.lead(1, 1, *VOTERS)
    metadata(story, "TopicRecord")
    metadata(story, "PartitionRecord", 0, *REPLICAS)
    metadata(story, "IsrChangeRecord", 1, "b1", "b2")
    cut(story, lost, 0)
    story.disks.evidence = [
        each
        for each in story.disks.evidence
        if not (each.node == lost and isinstance(each, PartitionLogOnDisk) and not each.partition)
    ]
    return story


@PLANTED.violation("b2, in the ISR", "has nothing at offset 0", on=by_clients_and_disks)
def member_that_has_nothing(story: Story) -> None:
    """As it is."""


@PLANTED.violation("b1, in the ISR", "has nothing at offset 0", on=by_clients_and_disks)
def log_of_another_one_than_who_was_moved_off(story: Story) -> None:
    moves(story, 2, [4, 6])
    cut(story, "b1", 0)
    lies(story, "b1", 0)


def moves(story: Story, version: int, replicas: Sequence[int], **more: Any) -> None:
    metadata(story, "ReassignmentRecord", version, "b1", replicas=replicas, **more)


def test_who_was_moved_off_after_all_was_read_need_not_have_a_log() -> None:
    """A move that nobody had answered is carried out late; any disk may say so."""
    for on in (VOTERS, VOTERS[:1]):
        story = by_clients_and_disks()
        assert accused(story) == {SAME_BATCHES.name}
        moves(story, 2, [4, 6], on=on)
        assert not accused(story)


def test_who_was_moved_off_and_back_has_to() -> None:
    story = by_clients_and_disks()
    moves(story, 2, [4, 6])
    moves(story, 3, [4, 5])
    assert accused(story) == {SAME_BATCHES.name}
    story = by_clients_and_disks()
    moves(story, 3, [4, 5])
    moves(story, 2, [4, 6], on=VOTERS[:1])
    assert accused(story) == {SAME_BATCHES.name}


def test_nobody_has_to_have_what_was_deleted_after_all_was_read() -> None:
    for kind in ("RemoveTopicRecord", "TopicRecord"):
        story = by_clients_and_disks()
        metadata(story, kind, **({"deleting": True} if kind == "TopicRecord" else {}))
        assert not accused(story)


def deletes(story: Story, topic_id: str, name: str) -> None:
    for node in VOTERS:
        story.disks.write(node, 1, "TopicRecord", topic_id=topic_id, name=name, deleting=True)


def test_members_of_a_topic_that_is_being_deleted_owe_nothing() -> None:
    """Of other topics they do."""
    story = shown_to_the_observer(*REPLICAS)
    deletes(story, OTHER, "u")
    assert accused(story) == {SAME_BATCHES.name}
    deletes(story, TOPIC, "t")
    assert not accused(story)


def test_who_is_in_sync_is_what_was_committed_when_it_was_last_told() -> None:
    """What stands at the high watermark came later; what was told before is out of date."""
    story = shown_to_the_observer()
    story.observations = []
    story.disks.evidence = [each for each in story.disks.evidence if each.node not in VOTERS]
    story.disks.ends |= dict.fromkeys(VOTERS, 0)
    story.disks.lead(1, 1, *VOTERS)
    metadata(story, "TopicRecord")
    metadata(story, "PartitionRecord", 0, *REPLICAS)
    asked(story, 3, log_end=3)
    metadata(story, "IsrChangeRecord", 1, "b1", "b2")
    assert accused(story) == {SAME_BATCHES.name}
    asked(story, 4)
    metadata(story, "IsrChangeRecord", 2, "b3")
    for _ in range(3):
        metadata(story, "NoOpRecord")
    assert_clean(story)
    assert counts(story)["same-batches"] == 6


def test_a_finding_shows_the_record_of_who_is_in_sync() -> None:
    for planted, shown in (
        ("tail that a member by disks lost", 1),
        ("member that is behind", 0),
    ):
        found = next(
            each
            for each in judged(PLANTED[planted].story()).findings
            if each.clause == SAME_BATCHES.name
        )
        assert sum(event.get("offset") == 3 for event in found.events) == shown


def test_a_part_of_a_run_judges_its_own_partitions() -> None:
    """And those behind one that is another part's."""
    story = PLANTED["other bytes behind a partition of which nobody was reported"].story()
    events = story.run_events()
    outcomes = [replica_matching(replace(events, part=each)) for each in parts(5)]
    accusing = [
        [each for each in outcome.findings if each.clause == SAME_BATCHES.name]
        for outcome in outcomes
    ]
    own = [each.has(TOPIC, 0) for each in parts(5)]
    assert [bool(each) for each in accusing] == own
    assert own.index(True) != [each.has(NOBODYS, 0) for each in parts(5)].index(True)
    leading = [compared(each)[ONE_LEADER.name] for each in outcomes]
    assert sum(leading) == max(leading) == compared(replica_matching(events))[ONE_LEADER.name] > 0


def test_members_from_outside_the_isr_owe_nothing_where_they_may_lead() -> None:
    story = shown_to_the_observer(*REPLICAS)
    story.plan["settings"] = {"c1": {"unclean.leader.election.enable": "true"}}
    assert not accused(story)


def test_members_of_one_topic_owe_nothing_where_another_may_be_led_from_outside() -> None:
    for topic, owes in (("t", set()), ("u", {SAME_BATCHES.name})):
        story = shown_to_the_observer(*REPLICAS)
        for node in VOTERS:
            name = "unclean.leader.election.enable"
            story.disks.write(
                node,
                1,
                "ConfigRecord",
                resource_type=2,
                resource_name=topic,
                name=name,
                value="true",
            )
        assert accused(story) == owes


def test_logs_that_are_compacted_are_not_compared_by_disks_either() -> None:
    story = shown_to_the_observer(*REPLICAS)
    story.op("create", "t", {"configs": [["cleanup.policy", "compact"]]}, type="info")
    assert not accused(story)


# --- what looks alarming, and is right ----------------------------------------------------


def test_tails_above_the_high_watermark_may_differ() -> None:
    story = clean()
    write(story, 6, 1, "b1")
    write(story, 6, 2, "b2")
    assert_clean(story)


def test_who_is_out_of_the_isr_may_hold_anything_of_another_epoch() -> None:
    story = clean()
    write(story, 5, 2, "b3")
    assert_clean(story)


def test_high_watermark_that_was_reported_after_the_read_says_nothing_of_that_isr() -> None:
    story = clean()
    fetch(story, 9, 1, "b2")
    produce(story, 8, "b2")
    assert_clean(story)


def test_read_under_way_says_nothing_of_what_was_reported_meanwhile() -> None:
    story = clean()
    late = story.invoke("describe", "t")
    fetch(story, 9, 1, "b2")
    shown = {"partition": 0, "leader": 5, "leader_epoch": 1, "isr": [4, 5]}
    story.complete(late, result={"topic_id": TOPIC, "partitions": [shown]})
    assert_clean(story)


def test_read_of_the_main_phase_is_not_of_the_final_isr() -> None:
    """A broker that was replaced since may have come without a disk."""
    story = clean()
    story.phase = "main"
    read(story, *REPLICAS)
    assert_clean(story)


ALLOWS = {
    "retention of the topic": lambda story: story.op(
        "create", "t", {"configs": [["retention.ms", "1000"]]}, type="info"
    ),
    "retention of a broker": lambda story: story.op(
        "configure-broker", "4", {"set": [["log.retention.ms", "1000"]]}, type="info"
    ),
    "a delete": lambda story: story.op("delete-records", "t/0", {"before": 3}, type="info"),
    "a delete of all": lambda story: story.op("delete-records", "t/0", {"before": -1}, type="info"),
}


@pytest.mark.parametrize("how", ALLOWS)
def test_logs_may_begin_at_different_offsets(how: str) -> None:
    """Where something may remove records: replicas do it each for itself."""
    story = clean()
    ALLOWS[how](story)
    lies(story, "b1", 6, start=3)
    assert_clean(story)
    assert counts(story)["same-batches"] == 3


def test_what_was_deleted_of_another_partition_or_refused_removes_nothing() -> None:
    story = clean()
    story.op("delete-records", "t/1", {"before": 3}, type="info")
    story.op("delete-records", "t/0", {"before": 3}, type="fail", error="NOT_LEADER_OR_FOLLOWER")
    story.op("create", "u", {"configs": [["retention.ms", "1000"]]}, type="info")
    lies(story, "b1", 6, start=3)
    assert accused(story) == {SAME_BATCHES.name}


def test_a_log_whose_beginning_cannot_be_read_hides_no_other() -> None:
    story = clean(*REPLICAS[:2])
    lies(story, "b1", 0, start=9, wrong="its first file is damaged")
    assert_clean(story)
    write(story, 3, 5, "b2")
    assert accused(story) == {SAME_BATCHES.name, RISING.name}


def test_one_replica_is_held_against_none() -> None:
    assert counts(clean("b1"))["same-batches"] == 0


@pytest.mark.parametrize("state", [{"torn": True}, {"wrong": "a batch whose CRC is another"}])
def test_what_cannot_be_read_may_be_there(state: dict[str, bool]) -> None:
    """Of what can be read, all has to match."""
    story = clean()
    cut(story, "b2", 4)
    lies(story, "b2", 4, **state)
    assert_clean(story)
    write(story, 3, 5, "b2")
    assert accused(story) == {SAME_BATCHES.name}


def test_with_a_fault_that_still_holds_a_log_may_end_early() -> None:
    story = clean("b1", "b2", "b3")
    assert accused(story) == {SAME_BATCHES.name}
    story.inject(healed=False)
    assert_clean(story)


def test_high_watermark_within_a_batch_is_held_up_to_its_beginning() -> None:
    story = clean()
    write(story, 6, 1, "b1", "b2", long=3)
    lies(story, "b1", 9)
    lies(story, "b2", 9)
    fetch(story, 8, 1, "b2")
    read(story, "b1", "b2")
    assert_clean(story)


def test_members_without_a_node_have_no_disk() -> None:
    story = clean()
    shown = {"partition": 0, "leader": 4, "leader_epoch": 1, "isr": [4, 5, 101]}
    story.op("describe", "t", None, {"topic_id": TOPIC, "partitions": [shown]})
    assert_clean(story)


def test_acks_of_one_promise_nothing() -> None:
    story = unread()
    answer = {"offset": 8, "topic_id": TOPIC}
    story.op("produce", "t/0", {"value": 8, "acks": 1}, answer, node="b2")
    read(story, "b1", "b2")
    assert_clean(story)


def test_topics_of_one_name_are_judged_apart() -> None:
    """The second one begins again, and had another leader in epoch 1."""
    story = unread()
    story.delete("t")
    story.create("t", OTHER)
    fetch(story, 0, 1, "b3", topic=OTHER)
    read(story, "b1", "b2", topic=OTHER)
    assert not replica_matching(story.run_events()).findings


def test_answer_that_may_be_of_a_topic_that_came_since_is_of_none() -> None:
    story = clean()
    story.op("delete", "t", type="info")
    fetch(story, 99, 1, "b3")
    assert_clean(story)


def test_followers_append_what_their_leader_wrote() -> None:
    story = clean()
    for node in REPLICAS:
        appends(story, node, 7, leader=node == "b1")
    assert_clean(story)
    assert counts(story)["one-batch"] == counts(clean())["one-batch"], "no disk has them"


@pytest.mark.parametrize("name", ["t", "u"])
def test_logs_that_are_compacted_are_not_compared(name: str) -> None:
    """Each replica does that by itself."""
    story = clean()
    story.op("create", name, {"configs": [["cleanup.policy", "compact,delete"]]}, type="info")
    write(story, 5, 2, "b1")
    assert accused(story) == (set() if name == "t" else {SAME_BATCHES.name})
    assert counts(story)["same-batches"] == (0 if name == "t" else 6)


@pytest.mark.parametrize(
    ("f", "key", "owes"),
    [("configure", "t", False), ("configure", "u", True), ("configure-broker", "broker-4", False)],
)
def test_logs_that_a_change_has_compacted_are_not_compared(f: str, key: str, owes: bool) -> None:
    story = clean()
    story.op(f, key, {"set": [["log.cleanup.policy", "compact"]]}, type="info")
    write(story, 5, 2, "b1")
    assert accused(story) == ({SAME_BATCHES.name} if owes else set())


def test_answers_that_show_no_member_show_none() -> None:
    """Whatever else there is of the final phase."""
    story = clean()
    made = {"topic_id": TOPIC, "partitions": 1}
    story.op("create", "t", {"partitions": 1}, made, type="fail", error="TOPIC_ALREADY_EXISTS")
    story.op("create", "u", {"partitions": 1}, {**made, "topic_id": OTHER})
    story.op("describe", "gone")
    story.op("describe", "t", None, {"topic_id": TOPIC})
    shown = {"partition": 0, "leader": 4, "leader_epoch": 1, "isr": [4, 5, 6]}
    partitions = {"topic_id": TOPIC, "partitions": [shown]}
    story.op("describe", "t", None, partitions, type="fail", error="NOT_CONTROLLER")
    story.op("fetch", "t", {}, {"topic_id": TOPIC, "high_watermark": 99, "leader_epoch": 1})
    assert_clean(story)


def test_a_beginning_says_nothing_of_what_is_committed() -> None:
    story = unread()
    answer = {"offset": 9, "leader_epoch": 1, "topic_id": TOPIC}
    story.op("list-offsets", "t/0", {"at": "earliest"}, answer, node="b2")
    read(story, "b1", "b2")
    assert_clean(story)


def test_answer_of_nobody_knows_whom_shows_no_leader() -> None:
    story = clean()
    nobody = fetch(story, 6, 1)
    story.operations[-1] = replace(nobody, node=None)
    assert_clean(story)
    assert counts(story)["one-leader"] == counts(clean())["one-leader"]


def test_disks_of_which_nothing_is_said_but_their_batches_are_compared_from_the_beginning() -> None:
    story = unread()
    read(story, "b1", "b2")
    assert_clean(story)
    assert counts(story) == counts(clean()) | {"deleted": 0}


def test_nodes_that_are_no_brokers_are_no_members() -> None:
    story = clean()
    story.plan = {**story.plan, "nodes": {**story.plan["nodes"], "proxy": {}}}
    assert_clean(story)
    story.plan = {}
    assert counts(story)["same-batches"] == 0


@pytest.mark.parametrize("clause", [SAME_BATCHES.name, ONE_BATCH.name])
def test_replicas_that_differ_all_along_are_one_finding(clause: str) -> None:
    story = clean()
    read(story, *REPLICAS)
    for crc, node in enumerate(REPLICAS, 70):
        for offset in (4, 5):
            write(story, offset, 1, node, crc=crc)
    found = [each for each in judged(story).findings if each.clause == clause]
    assert len(found) == 2, "of two pairs of members, or of two offsets"


# --- what is too little -------------------------------------------------------------------


def test_nobody_who_was_reported_of_anything_gives_no_occasion() -> None:
    story = Story()
    read(story, "b1", "b2")
    fetch(story, 0, 1)
    story.op("fetch", "t/0", {}, {"high_watermark": 9, "topic_id": None})
    for offset in (-1, None):
        story.op(
            "produce", "t/0", {"value": 1, "acks": "all"}, {"offset": offset, "topic_id": TOPIC}
        )
    story.op("produce", "t/0", {"value": 1, "acks": "all"}, type="info")
    (same, *_) = judged(story).clauses
    assert same.verdict is None and "no record that is committed" in same.note


def test_disks_that_were_not_collected_are_unknown() -> None:
    story = clean()
    story.disks.lost = set(REPLICAS)
    assert judged(story).verdict is Verdict.UNKNOWN
    assert counts(story)["same-batches"] == 0


def test_run_without_final_reads_is_unknown() -> None:
    assert judged(unread()).verdict is Verdict.UNKNOWN


def test_leaders_that_neither_tell_of_appends_nor_show_their_epoch_are_unknown() -> None:
    """As nodes without events do, whose answers carry no leader epoch."""
    story = clean()
    story.operations = [
        replace(each, result={**each.result, "leader_epoch": None}) if each.f == "fetch" else each
        for each in story.operations
    ]
    result = judged(story)
    assert result.verdict is Verdict.UNKNOWN
    assert "one-leader: 0" in result.note


# --- brute force --------------------------------------------------------------------------

Log = list[tuple[int, int]]
"""(epoch, CRC) by offset."""
Logs = st.fixed_dictionaries(
    {node: st.lists(st.tuples(st.integers(0, 1), st.integers(1, 2)), max_size=4) for node in IDS}
)


@settings(max_examples=cases(300), deadline=None)
@given(logs=Logs, high=st.integers(0, 4), isr=st.sets(st.sampled_from(REPLICAS), min_size=1))
def test_agrees_with_brute_force(logs: dict[str, Log], high: int, isr: set[str]) -> None:
    story = Story()
    story.final()
    fetch(story, high, 0)
    read(story, *sorted(isr))
    for node, log in logs.items():
        for offset, (epoch, crc) in enumerate(log):
            write(story, offset, epoch, node, crc=crc)
        lies(story, node, len(log))
    expected = set()
    if any(len(held) != 1 or None in held for held in below(logs, high, isr)):
        expected.add(SAME_BATCHES.name)
    if any(
        one[:1] == other[:1] and one != other
        for first in logs.values()
        for second in logs.values()
        for one, other in zip(first, second, strict=False)
    ):
        expected.add(ONE_BATCH.name)
    if any(one[0] > other[0] for log in logs.values() for one, other in combinations(log, 2)):
        expected.add(RISING.name)
    assert accused(story) == expected


def below(logs: dict[str, Log], high: int, isr: Iterable[str]) -> list[set[tuple[int, int] | None]]:
    """By offset, what members hold there."""
    members = [logs[node] for node in isr]
    return [
        {log[offset] if offset < len(log) else None for log in members} for offset in range(high)
    ]


def test_findings_show_what_proves_them() -> None:
    outcome = replica_matching(PLANTED["other bytes below the high watermark"].story().run_events())
    assert_invalid(outcome, "two leaders wrote")
    assert {each.contracts for each in outcome.findings} == {("disks",), ("clients", "disks")}


def test_gap_shows_the_log_as_it_was_found() -> None:
    story = PLANTED["tail that the last process lost"].story()
    (gap,) = replica_matching(story.run_events()).findings
    assert gap.events and len(gap.operations) == 2
