"""Each check with a history that it accepts and one that it must refuse, and what it says then."""

import json
from typing import Any

import pyarrow as pa
import pytest

from checkers.logs.judge import judge
from checkers.logs.rows import rows
from tests.checkers.logs.kafka_histories import Events, table


def op(process: int, f: str, value: Any, type_: str = "ok", **more: Any) -> Events:
    """An operation by itself."""
    asked = value
    if f in ("send", "poll", "txn"):
        asked = [m[:1] if m[0] == "poll" else [*m[:2], m[2][1]] for m in value]
    event = {"process": process, "f": f, **more}
    return [{**event, "type": "invoke", "value": asked}, {**event, "type": type_, "value": value}]


def send(process: int, *records: tuple[int | None, Any], key: int = 1, **more: Any) -> Events:
    return op(process, "send", [["send", key, list(record)] for record in records], **more)


def poll(process: int, *records: tuple[int | None, Any], key: int = 1, **more: Any) -> Events:
    got = {str(key): [list(record) for record in records]}
    return op(process, "poll", [["poll", got]], **more)


def assign(process: int, *keys: int | str, **more: Any) -> Events:
    return op(process, "assign", list(keys), **more)


def subscribe(process: int, *keys: int) -> Events:
    return op(process, "subscribe", list(keys))


def read_all(process: int, *keys: int | str) -> Events:
    return assign(process, *keys, ext={"seek-to-beginning": True})


def single(f: str, value: Any, result: Any = None, type_: str = "ok", **more: Any) -> Events:
    event = {"process": 0, "f": f, "key": "t/0", **more}
    return [{**event, "type": "invoke", "value": value}, {**event, "type": type_, "value": result}]


def produce(value: Any, offset: int, acks: str = "all", **more: Any) -> Events:
    asked = {"value": value, "acks": acks, "idempotent": acks == "all", **more}
    return single("produce", asked, {**asked, "offset": offset})


def fetch(
    at: int,
    *records: tuple[int, ...],
    consumer: str = "a",
    node: str | None = "b1",
    **reported: Any,
):
    answer = {"records": [list(each) for each in records], **reported}
    return single("fetch", {"consumer": consumer, "from": at}, answer, node=node)


def commit(offset: int, generation: int = 1, type_: str = "ok", member: str = "m") -> Events:
    asked = {"group": "g", "member": member, "generation": generation, "offset": offset}
    return single("commit", asked, type_=type_)


def committed(offset: int | None) -> Events:
    return single("committed", {"group": "g"}, {"offset": offset})


def join(member: str, generation: int, *keys: str) -> Events:
    reported = {"generation": generation, "assigned": list(keys)}
    return single("join", {"group": "g", "member": member}, reported, key=None)


def overlapping(*operations: Events) -> Events:
    """All are invoked, by processes 0, 1, ..., before the first returns."""
    by = [[{**event, "process": n} for event in each] for n, each in enumerate(operations)]
    return [each[0] for each in by] + [each[1] for each in by]


AB = send(0, (0, "a"), (1, "b"))
ABC = send(0, (0, "a"), (1, "b"), (2, "c"))
TXN_KEYS = [["send", 1, [1, "b"]], ["send", 2, [0, "x"]]]

CASES: dict[str, tuple[Events, Events, str]] = {
    "inconsistent-offsets": (
        AB + poll(1, (0, "a"), (1, "b")) + send(2, (2, "c")),
        AB + poll(1, (0, "a"), (1, "b")) + send(2, (1, "c")) + poll(3, (0, "a"), (1, "b")),
        'offset 1 holds "b" by operation 0, and "c" by operation 4',
    ),
    "duplicate": (
        AB + poll(1, (0, "a"), (1, "b")) + poll(2, (0, "a"), (1, "b")),
        AB + poll(1, (0, "a"), (1, "b"), (2, "a")),
        'value "a" stands at offset 0 by operation 0, and at 2 by operation 2',
    ),
    "duplicate of what was not sent first": (
        AB + poll(1, (0, "a"), (1, "b")) + poll(2, (0, "a"), (1, "b")),
        AB + poll(1, (0, "a"), (1, "b"), (2, "b")),
        'value "b" stands at offset 1 by operation 0, and at 2 by operation 2',
    ),
    "lost-write": (
        ABC + poll(1, (0, "a")) + poll(2, (1, "b"), (2, "c")),
        AB + send(1, (2, "c")) + poll(2, (2, "c")) + poll(3, (0, "a")),
        'operation 0 sent "b" to offset 1, and was acknowledged; nobody polled it, though '
        'operation 4 polled "c" at offset 2',
    ),
    "lost-write of a transaction without an answer": (
        AB[:0] + op(0, "txn", TXN_KEYS, "info") + send(1, (2, "c")) + poll(2, (2, "c")),
        op(0, "txn", TXN_KEYS, "info") + send(1, (2, "c")) + poll(2, (2, "c"))
        + poll(3, (0, "x"), key=2),
        'operation 0 sent "b" to offset 1, and took effect, for another value of it was polled',
    ),
    "lost-write, though the first poll is not beyond it": (
        ABC + poll(1, (0, "a")) + poll(2, (1, "b"), (2, "c")),
        AB + send(1, (2, "c")) + poll(3, (0, "a")) + poll(2, (2, "c")),
        'operation 0 sent "b" to offset 1, and was acknowledged; nobody polled it, though '
        'operation 6 polled "c" at offset 2',
    ),
    "lost-write, though several polled what is beyond it": (
        AB + send(1, (2, "c")) + poll(2, (2, "c")) + poll(3, (2, "c"))
        + poll(4, (0, "a"), (1, "b")),
        AB + send(1, (2, "c")) + poll(2, (2, "c")) + poll(3, (2, "c")) + poll(4, (0, "a")),
        'operation 0 sent "b" to offset 1, and was acknowledged; nobody polled it, though '
        'operation 4 polled "c" at offset 2',
    ),
    "unseen": (
        AB + poll(1, (0, "a")) + read_all(2, 1) + poll(2, (0, "a"), (1, "b")),
        AB + read_all(2, 1) + poll(2, (0, "a")) + poll(2),
        'operation 0 sent "b", and was acknowledged at offset 1; nobody polled it, though '
        "operation 2 set out to read all that there was, and operation 6 came to its end",
    ),
    "unseen, of which nothing is polled": (
        AB + read_all(2, 1) + poll(2) + poll(2, (0, "a"), (1, "b")) + poll(2),
        AB + read_all(2, 1) + poll(2) + poll(2),
        'operation 0 sent "a", and was acknowledged at offset 0; nobody polled it, though '
        "operation 2 set out to read all that there was, and operation 6 came to its end",
    ),
    "unseen at no known offset": (
        send(0, (0, "a"), (None, "b")) + read_all(2, 1) + poll(2, (0, "a"), (1, "b")) + poll(2),
        send(0, (0, "a"), (None, "b")) + read_all(2, 1) + poll(2, (0, "a")) + poll(2),
        'operation 0 sent "b", and was acknowledged; nobody polled it, though operation 2 set out',
    ),
    "unseen by one client, others being assigned that have not polled since": (
        poll(1) + AB + read_all(1, 1) + read_all(2, 1) + poll(2, (0, "a"), (1, "b")) + poll(2),
        poll(1) + AB + read_all(1, 1) + read_all(3, 1) + read_all(2, 1) + poll(2, (0, "a"))
        + poll(2),
        'operation 2 sent "b", and was acknowledged at offset 1; nobody polled it, though '
        "operation 8 set out to read all that there was, and operation 12 came to its end",
    ),
    "G1a": (
        AB + send(1, (None, "c"), type_="fail") + send(1, (2, "d"), type_="info")
        + poll(2, (0, "a"), (1, "b"), (2, "d")),
        AB + send(1, (None, "c"), type_="fail") + poll(2, (0, "a"), (1, "b"), (2, "c")),
        'operation 4 polled "c" at offset 2; operation 2, which sent it, had failed',
    ),
    "unwritten-read": (
        AB + poll(1, (0, "a"), (1, "b")),
        AB + poll(1, (0, "a"), (1, "b"), (2, "c")),
        'operation 2 polled "c" at offset 2, which nobody sent',
    ),
    "unwritten-read at no known offset": (
        AB + poll(1, (None, "a"), (None, "b")),
        AB + poll(1, (0, "a"), (1, "b"), (None, "c")),
        'operation 2 polled "c", which nobody sent',
    ),
    "unwritten-read, for it was not sent yet": (
        overlapping(AB, poll(1, (0, "a"))) + poll(2, (1, "b")),
        poll(1, (0, "a")) + AB + poll(2, (1, "b")),
        'operation 0 polled "a" at offset 0, and ended before operation 2 was asked to send it',
    ),
    "precommitted-read": (
        AB + op(1, "txn", [["poll", {"1": [[0, "a"], [1, "b"]]}], ["send", 1, [2, "c"]]]),
        AB + op(1, "txn", [["send", 1, [2, "c"]],
                           ["poll", {"1": [[0, "a"], [1, "b"], [2, "c"]]}]]),
        'operation 2 polled "c" at offset 2, and sends it itself',
    ),
    "int-poll-skip": (
        send(0, (0, "a"), (5, "b")) + poll(1, (0, "a"), (5, "b")),
        ABC + poll(1, (0, "a"), (2, "c")) + poll(2, (1, "b")),
        'process 1 polled "a" (offset 0) in operation 2, and next "c" (offset 2); offset 1 '
        'between them holds "b" by operation 0',
    ),
    "int-nonmonotonic-poll": (
        ABC + poll(1, (0, "a"), (1, "b"), (2, "c")),
        ABC + poll(1, (1, "b"), (0, "a")) + poll(2, (2, "c")),
        'process 1 polled "b" (offset 1) in operation 2, and next "a" (offset 0), which does not '
        "stand behind it",
    ),
    "int-nonmonotonic-send": (
        send(0, (0, "a"), (3, "b")) + poll(1, (0, "a"), (3, "b")),
        send(0, (1, "a"), (0, "b")) + poll(1, (0, "b"), (1, "a")),
        'process 0 sent "a" (offset 1) in operation 0, and next "b" (offset 0)',
    ),
    "poll-skip": (
        ABC + assign(1, 1) + poll(1, (0, "a")) + assign(1, 1, 2) + poll(1, (1, "b"), (2, "c")),
        ABC + assign(1, 1) + poll(1, (0, "a")) + assign(1, 1, 2) + poll(1, (2, "c"))
        + poll(2, (1, "b")),
        'process 1 polled "a" (offset 0) in operation 4, and next "c" (offset 2) in operation 8; '
        'offset 1 between them holds "b" by operation 0',
    ),
    "nonmonotonic-poll": (
        AB + poll(1, (0, "a")) + assign(1, 2) + assign(1, 1) + poll(1, (0, "a"), (1, "b")),
        AB + poll(1, (0, "a"), (1, "b")) + poll(1, (1, "b")),
        'process 1 polled "b" (offset 1) in operation 2, and next "b" (offset 1) in operation 4',
    ),
    "nonmonotonic-send": (
        send(0, (0, "a")) + send(1, (1, "b")) + send(0, (2, "c"))
        + poll(2, (0, "a"), (1, "b"), (2, "c")),
        send(0, (1, "a")) + send(0, (0, "b")) + poll(2, (0, "b"), (1, "a")),
        'process 0 sent "a" (offset 1) in operation 0, and next "b" (offset 0) in operation 2',
    ),
    "leader-epoch-regress": (
        fetch(0, leader_epoch=4) + fetch(0, leader_epoch=3, node="b2"),
        fetch(0, leader_epoch=4) + fetch(0, leader_epoch=3),
        "b1 answered in leader epoch 4 (operation 0), and after it had, in 3 (operation 2)",
    ),
    "leader-epoch-regress along the log": (
        produce(1, 0) + produce(2, 1) + fetch(0, (0, 1, 3), (1, 2, 4)),
        produce(1, 0) + produce(2, 1) + fetch(0, (0, 1, 4), (1, 2, 3)),
        "offset 0 is of leader epoch 4 by operation 4, and offset 1, behind it, of 3 by operation",
    ),
    "high-watermark-regress": (
        fetch(0, leader_epoch=4, high_watermark=7)
        + fetch(0, leader_epoch=5, high_watermark=5, node="b2"),
        fetch(0, leader_epoch=4, high_watermark=7) + fetch(0, leader_epoch=4, high_watermark=5),
        "the leader of epoch 4 said 7 in operation 0, and 5 in operation 2",
    ),
    "read-above-high-watermark": (
        produce(1, 0)
        + produce(2, 1)
        + fetch(0, (0, 1), high_watermark=1)
        + fetch(1, (1, 2), high_watermark=1, watermark_first=True),
        produce(1, 0) + produce(2, 1) + fetch(0, (0, 1), (1, 2), high_watermark=1),
        "operation 4 polled 2 at offset 1; the answer's high watermark is 1",
    ),
    "committed-offset-regress": (
        commit(3) + single("seek", {"consumer": "a", "to": 0}) + commit(2) + committed(2),
        commit(3) + commit(2) + committed(2),
        "group g had committed 3 (operation 0) when it committed 2 (operation 2)",
    ),
    "committed-offset-regress as told": (
        commit(3) + commit(5, type_="info") + committed(3) + committed(5),
        commit(3) + commit(5) + committed(3),
        "group g had committed 5 (operation 2) when it was told 3 (operation 4)",
    ),
    "committed-offset-regress to nothing": (
        committed(None) + commit(3) + committed(3),
        commit(3) + committed(None),
        "group g had committed 3 (operation 0) when it was told that nothing was (operation 2)",
    ),
    "stale-commit": (
        commit(3, 1) + commit(4, 2) + commit(5, 1, type_="fail"),
        commit(3, 2) + commit(5, 1),
        "group g had committed in generation 2 (operation 0), and a commit of generation 1 was",
    ),
    "stale-commit since a join": (
        join("m", 1, "t/0") + overlapping(join("n", 2, "t/0"), commit(3, 1)) + commit(4, 2),
        join("m", 1, "t/0") + join("n", 2) + commit(3, 1),
        "member n had joined group g in generation 2 (operation 2), and a commit of generation 1 "
        "was taken after that (operation 4)",
    ),
    "unwritten-commit": (
        commit(3, type_="info") + overlapping(committed(4), commit(4)),
        commit(3, type_="fail") + committed(3),
        "group g was told that 3 was committed (operation 2), which nobody had",
    ),
    "generation-regress": (
        join("m", 2, "t/0") + overlapping(join("n", 3), join("m", 2, "t/1")),
        join("m", 2, "t/0") + join("n", 1, "t/0"),
        "member m had joined group g in generation 2 (operation 0), and member n after that in "
        "generation 1 (operation 2)",
    ),
    "two-owners": (
        join("m", 1, "t/0") + join("n", 1, "t/1") + join("n", 2, "t/0"),
        join("m", 1, "t/0") + join("n", 1, "t/1", "t/0"),
        "in generation 1 of group g, member m owns it (operation 0), and member n (operation 2)",
    ),
}  # fmt: skip

ALONE = {
    "inconsistent-offsets": {"inconsistent-offsets", "lost-write"},
    "duplicate": {"duplicate"},
}
"""What comes with an anomaly of necessity: of two values at one offset one is lost."""


def judged(events: Events) -> tuple[list[str], dict[str, int]]:
    """The messages, and all figures."""
    messages: list[str] = []
    figures: dict[str, int] = {}
    for row in judge(rows(table(events))).to_pylist():
        messages += [finding["message"] for finding in json.loads(row["findings"])]
        figures |= json.loads(row["figures"])
        assert (row["verdict"] == "INVALID") == (row["findings"] != "[]")
    return messages, figures


@pytest.mark.parametrize("name", CASES)
def test_each_check_accepts_and_refuses(name: str) -> None:
    clean, planted, sentence = CASES[name]
    anomaly = name.split()[0].strip(",")
    assert judged(clean)[0] == []
    messages, _ = judged(planted)
    assert [m for m in messages if m.startswith(f"{anomaly}: {sentence}")] == [messages[0]]
    assert {message.split(":")[0] for message in messages} <= ALONE.get(anomaly, {anomaly})


@pytest.mark.parametrize(
    ("figure", "events"),
    {
        "int-send-skip (allowed)": overlapping(send(0, (0, "a"), (2, "c")), send(1, (1, "b")))
        + poll(2, (0, "a"), (1, "b"), (2, "c")),
        "poll-skip (allowed)": ABC + subscribe(1, 1) + poll(1, (0, "a")) + poll(1, (2, "c"))
        + poll(2, (1, "b")),
        "nonmonotonic-poll (allowed)": AB + subscribe(1, 1) + poll(1, (0, "a"), (1, "b"))
        + poll(1, (0, "a")),
        "poll-skip (allowed) ": ABC + subscribe(1, 1) + poll(1, (0, "a")) + assign(1, 1)
        + poll(1, (2, "c")) + poll(2, (1, "b")),
        "consumed_again": AB + subscribe(1, 1) + poll(1, (0, "a"), (1, "b")) + poll(1, (1, "b")),
        "unpolled": AB + poll(1, (0, "a")),
        "repeated": produce(1, 0, "1") + fetch(0, (0, 1), (1, 1)),
    }.items(),
)  # fmt: skip
def test_what_is_allowed_is_counted_and_not_judged(figure: str, events: Events) -> None:
    messages, figures = judged(events)
    assert messages == []
    assert figures[figure.strip()] == 1


def test_a_rebalance_excuses_its_keys_within_an_operation() -> None:
    moved = {"ext": {"rebalance-log": [{"keys": [1]}]}}
    others = {"ext": {"rebalance-log": [{"keys": [2]}]}}
    skips = poll(1, (0, "a"), (2, "c"))
    assert judged(ABC + [{**event, **moved} for event in skips] + poll(2, (1, "b")))[0] == []
    assert len(judged(ABC + [{**event, **others} for event in skips] + poll(2, (1, "b")))[0]) == 1


def test_a_rebalance_excuses_nothing_that_was_sent() -> None:
    moved = {"ext": {"rebalance-log": [{"keys": [1]}]}}
    back = [{**event, **moved} for event in send(0, (1, "b"), (0, "a"))]
    (message,) = judged(back + poll(1, (0, "a"), (1, "b")))[0]
    assert message.startswith("int-nonmonotonic-send: ")


def test_what_stands_before_an_earlier_send_was_not_told_its_offset() -> None:
    events = send(0, (1, "b")) + send(0, (None, "a")) + poll(1, (0, "a"), (1, "b"))
    assert judged(events)[0] == [
        'nonmonotonic-send: process 0 sent "b" (offset 1) in operation 0, and next "a" (an offset '
        "not told) in operation 2, which does not stand behind it"
    ]


def test_who_polled_a_part_has_not_come_to_the_end() -> None:
    """One poll, an empty one that comes at once, one that the client left unanswered, a client that
    was assigned something else since, and one whose partitions others chose."""
    begun, part = AB + read_all(2, 1), poll(2, (0, "a"))
    nothing = op(2, "poll", [["poll"]])
    chosen = op(2, "subscribe", [1], ext={"seek-to-beginning": True})
    for events in (
        begun + part,
        begun + poll(2),
        begun + part + nothing,
        begun + part + poll(2) + assign(2, 1),
        begun + part + op(2, "poll", [["poll", {"1": []}]], "info"),
        AB + chosen + part + poll(2),
    ):
        messages, figures = judged(events)
        assert messages == [] and figures["unpolled"] >= 1
        assert figures["without_final_read"] == 1


def test_who_came_to_the_end_of_what_it_was_assigned_since_did_not_to_that_of_another() -> None:
    events = AB + read_all(2, 1) + poll(2, (0, "a")) + assign(2, 2) + poll(2) + poll(2)
    assert judged(events)[0] == []


def test_who_is_no_member_has_no_generation() -> None:
    assert judged(join("m", 2, "t/0") + commit(3, 2) + commit(4, -1))[0] == []


def test_what_a_group_is_answered_is_of_one_partition() -> None:
    other = single("commit", {"group": "g", "member": "m", "generation": 1, "offset": 5}, key="t/1")
    assert judged(commit(3) + other + committed(3))[0] == []


def of(key: str, *operations: Events) -> Events:
    """The same of another partition."""
    return [{**event, "key": key} for each in operations for event in each]


def test_a_seek_excuses_a_commit_of_its_own_partition_alone() -> None:
    seek = single("seek", {"consumer": "a", "to": 0})
    clean = fetch(0) + of("t/1", commit(3), seek, commit(2), committed(2))
    assert judged(clean)[0] == []
    messages, _ = judged(fetch(0) + of("t/1", commit(3)) + seek + of("t/1", commit(2)))
    assert [message.split(":")[0] for message in messages] == ["committed-offset-regress"]


def test_an_assignment_excuses_a_commit_where_it_is_from_the_beginning() -> None:
    assert judged(commit(3) + read_all(1, "t/0") + commit(2))[0] == []
    messages, _ = judged(commit(3) + assign(1, "t/0") + commit(2))
    assert [message.split(":")[0] for message in messages] == ["committed-offset-regress"]


def test_epochs_are_those_of_one_broker_and_partition() -> None:
    """Of a client where it says no broker; and marks of no known epoch are nobody's."""
    first = fetch(0, leader_epoch=4)
    others = fetch(0, leader_epoch=3, consumer="b", node=None)
    for later in (of("t/1", fetch(0, leader_epoch=3)), others):
        assert judged(first + later)[0] == []
    assert judged(fetch(0, high_watermark=7) + fetch(0, high_watermark=5))[0] == []


def test_epochs_are_a_clients_where_it_says_no_broker() -> None:
    first, later = (fetch(0, leader_epoch=epoch, node=None) for epoch in (4, 3))
    (message,) = judged(first + later)[0]
    assert "of consumer a in leader epoch 4 (operation 0), and after it had, in 3" in message


def test_offsets_of_another_partition_are_neither_higher_nor_there() -> None:
    assert judged(of("t/1", commit(5)) + commit(3))[0] == []
    (message,) = judged(of("t/1", commit(4)) + committed(4))[0]
    assert "group g was told that 4 was committed (operation 2), which nobody had" in message


def test_the_oldest_generation_is_one() -> None:
    (message,) = judged(join("m", 1, "t/0") + commit(3, 0))[0]
    assert "and a commit of generation 0 was taken after that (operation 2)" in message


def test_generations_are_a_groups_own() -> None:
    reported = {"generation": 1, "assigned": ["t/0"]}
    elsewhere = single("join", {"group": "h", "member": "m"}, reported, key=None)
    assert judged(join("m", 2, "t/0") + elsewhere)[0] == []


def test_a_group_of_the_same_name_in_another_run_is_another_one() -> None:
    one = table(join("m", 2, "t/0"), "one")
    other = table(produce(1, 0) + join("m", 1, "t/0"), "other")
    both = judge(rows(pa.concat_tables([one, other]))).to_pylist()
    assert {row["run"]: row["findings"] for row in both} == {"one": "[]", "other": "[]"}


def test_commits_of_another_partition_show_no_generation() -> None:
    asked = {"group": "g", "member": "n", "generation": 1, "offset": 5}
    assert judged(commit(4, 2) + single("commit", asked, key="t/1"))[0] == []


def test_what_a_failed_commit_asked_for_is_not_there() -> None:
    messages, _ = judged(commit(5) + commit(3, type_="fail") + committed(3))
    wanted = "group g had committed 5 (operation 0) when it was told 3 (operation 4)"
    assert [each for each in messages if wanted in each]


def test_question_that_nobody_answered_shows_nothing() -> None:
    asked = single("committed", {"group": "g"}, type_="info")
    assert judged(commit(3) + asked + asked[:1])[0] == []


def test_what_was_not_promised_may_be_lost() -> None:
    read = fetch(0, (0, 2), consumer="a")
    assert judged(produce(1, 0, "1") + produce(2, 0) + read)[0] == []
    names = {message.split(":")[0] for message in judged(produce(1, 0) + produce(2, 0) + read)[0]}
    assert names == {"inconsistent-offsets", "lost-write", "nonmonotonic-send"}


def test_what_the_log_no_longer_holds_may_be_unread() -> None:
    reported: dict[str, Any] = {"high_watermark": 2, "log_start": 1}
    assert judged(produce(1, 0) + produce(2, 1) + fetch(1, (1, 2), **reported))[0] == []


@pytest.mark.parametrize(("polled", "found"), [(1.0, []), (1.5, ["unwritten-read"])])
def test_values_are_compared_as_json(polled: float, found: list[str]) -> None:
    events = send(0, (0, 1), (1, 2)) + assign(1, 1) + poll(1, (0, polled), (1, 2))
    names = [message.split(":")[0] for message in judged(events)[0]]
    assert [name for name in names if name == "unwritten-read"] == found
    assert bool(names) == bool(found)


def test_record_of_no_known_place_skips_nothing() -> None:
    found, figures = judged(AB + send(1, (None, "x"), (2, "c"), (None, "y")))
    assert found == []
    assert not any("int-" in name and count for name, count in figures.items())


def test_poll_of_two_keys_is_gone_on_from_in_each() -> None:
    """It is the last of the one, and the first of the other."""
    events = send(0, (0, "x")) + send(0, (0, "a"), (1, "b"), (2, "c"), key=2) + assign(1, 1, 2)
    events += op(1, "poll", [["poll", {"1": [[0, "x"]], "2": [[0, "a"]]}]])
    messages, _ = judged(events + poll(1, (2, "c"), key=2))
    assert "poll-skip" in {message.split(":")[0] for message in messages}
    messages, _ = judged(events + poll(1, (1, "b"), (2, "c"), key=2))
    assert messages == []


def test_the_worst_lag() -> None:
    """The poll at 6 ms does not reach what was acknowledged at 3 ms."""
    events = assign(1, 1) + send(0, (0, "a")) + poll(2, (0, "a")) + op(1, "poll", [["poll", {}]])
    assert judged(events + poll(1, (0, "a")))[1]["max_realtime_lag_ms"] == 3
    assert judged(events[:-2] + poll(1, (0, "a")))[1]["max_realtime_lag_ms"] == 0


NOTHING = op(1, "poll", [["poll", {}]])
FIRST, BEHIND = send(0, (0, "a")), send(2, (1, "b"))
LAGS: dict[str, tuple[Events, dict[str, int]]] = {
    "before anything is there": (assign(1, 1) + NOTHING + send(0, (0, "a")), {"1": 0}),
    "since it is there": (assign(1, 1) + send(0, (0, "a")) + NOTHING, {"1": 1}),
    "the longer of two": (assign(1, 1) + send(0, (0, "a")) + NOTHING + NOTHING, {"1": 3}),
    "since somebody polled what had no answer": (
        assign(1, 1) + send(0, (0, "a"), type_="info") + NOTHING + poll(2, (0, "a")) + NOTHING,
        {"1": 1},
    ),
    "behind the next": (
        assign(1, 1) + send(0, (0, "a")) + poll(1, (0, "a")) + send(0, (1, "b")) + NOTHING,
        {"1": 1},
    ),
    "at the end": (assign(1, 1) + send(0, (0, "a")) + poll(1, (0, "a")) + NOTHING, {"1": 0}),
    "in one of two": (
        assign(1, 1, 2) + send(0, (0, "a")) + send(0, (0, "x"), key=2) + poll(1, (0, "a"))
        + NOTHING,
        {"1": 0, "2": 3},
    ),
    "assigned when it was there": (send(0, (0, "a")) + assign(1, 1) + NOTHING, {"1": 3}),
    "assigned something else": (
        assign(1, 1) + send(0, (0, "a")) + assign(1, 2) + NOTHING + NOTHING,
        {"1": 0, "2": 0},
    ),
    "until it is assigned something else": (
        assign(1, 1) + send(0, (0, "a")) + NOTHING + assign(1, 2) + NOTHING,
        {"1": 1, "2": 0},
    ),
    "assigned the same and more": (
        AB + assign(1, 1) + poll(1, (0, "a")) + assign(1, 1, 2) + NOTHING,
        {"1": 7, "2": 0},
    ),
    "from the beginning again": (
        AB + assign(1, 1) + poll(1, (0, "a"), (1, "b")) + read_all(1, 1) + NOTHING,
        {"1": 7},
    ),
    "of what others assigned": (AB + subscribe(1, 1) + NOTHING, {"1": 0}),
    "of what others assigned, and it polled": (
        AB + subscribe(1, 1) + NOTHING + poll(1, (0, "a")) + NOTHING,
        {"1": 7},
    ),
    "fetches": (produce(1, 0) + produce(2, 1) + fetch(0, (0, 1)) + fetch(1), {"t/0": 3}),
    "a fetch that says where it is": (produce(1, 0) + fetch(0, position=0), {"t/0": 1}),
    "a fetch to the end": (produce(1, 0) + fetch(0, position=1), {"t/0": 0}),
    "a fetch at no time": (
        produce(1, 0) + [{**each, "time": None} for each in fetch(0, position=0)],
        {"t/0": 0},
    ),
    "a fetch of the final phase": (
        [*produce(1, 0), {"f": "phase", "type": "info", "process": "nemesis", "value": "final"},
         *fetch(0, position=0)],
        {"t/0": 0},
    ),
    "fetches of two": (
        produce(1, 0) + [{**each, "key": "t/1"} for each in produce(1, 0) + fetch(0, position=0)],
        {"t/0": 0, "t/1": 1},
    ),
    "since what stands behind it was acknowledged": (
        [*assign(1, 1), FIRST[0], *BEHIND, *NOTHING, FIRST[1]],
        {"1": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAGS)
def test_a_poll_lags_behind_what_was_known_to_be_there(name: str) -> None:
    """In ms; an operation begins at each even one, and ends at the next."""
    events, wanted = LAGS[name]
    found = judge(rows(table(events))).to_pylist()
    lags = {row["key"]: json.loads(row["figures"])["max_realtime_lag_ms"] for row in found}
    assert lags == wanted


def test_final_fetches_make_unseen_a_finding() -> None:
    final = {"f": "phase", "type": "info", "process": "nemesis", "value": "final"}
    read = fetch(0, (0, 1), consumer="final", high_watermark=1)
    written = produce(1, 0) + produce(2, 1)
    assert judged(written + read)[0] == []
    messages, _ = judged([*written, final, *read])
    assert messages[0].startswith("unseen: operation 2 sent 2")
    short = fetch(0, (0, 1), consumer="final", high_watermark=2)
    assert judged([*written, final, *short])[0] == []


def test_fetch_that_does_not_tell_the_high_watermark_comes_to_no_end() -> None:
    final = {"f": "phase", "type": "info", "process": "nemesis", "value": "final"}
    written = produce(1, 0) + produce(2, 1)
    messages, figures = judged([*written, final, *fetch(0, (0, 1), consumer="final")])
    assert messages == []
    assert figures["unpolled"] == figures["without_final_read"] == 1


def test_what_was_not_promised_may_be_unseen() -> None:
    final = {"f": "phase", "type": "info", "process": "nemesis", "value": "final"}
    read = fetch(0, (0, 1), consumer="final", high_watermark=1)
    messages, figures = judged([*produce(1, 0), *produce(2, 1, "1"), final, *read])
    assert messages == []
    assert figures["unpolled"] == 0


def test_what_a_producer_might_have_repeated_and_did_not_is_not_counted() -> None:
    messages, figures = judged(produce(1, 0, "1") + fetch(0, (0, 1)))
    assert (messages, figures["repeated"]) == ([], 0)


def test_poll_of_no_known_outcome_shows_nothing_unwritten() -> None:
    messages, _ = judged(AB + poll(1, (0, "a"), (1, "b"), (2, "c"), type_="info"))
    assert messages == []


def test_of_two_values_at_the_first_offset_one_is_lost() -> None:
    events = send(0, (0, "a")) + send(1, (0, "b")) + poll(2, (0, "b")) + send(3, (1, "c"))
    assert [each for each in judged(events)[0] if each.startswith("lost-write")] == [
        'lost-write: operation 0 sent "a" to offset 0, and was acknowledged; nobody polled it, '
        'though operation 4 polled "b" at offset 0'
    ]
