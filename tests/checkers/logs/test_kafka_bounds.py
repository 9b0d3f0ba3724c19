"""Where a promise ends: what is just broken, beside what is just kept."""

import json
from collections import Counter
from typing import Any

import pytest
from kafka_histories import Events, table
from test_kafka_planted import (
    AB,
    ABC,
    assign,
    commit,
    committed,
    fetch,
    join,
    op,
    overlapping,
    poll,
    produce,
    read_all,
    send,
    single,
    subscribe,
)

from checkers.logs.judge import judge
from checkers.logs.rows import rows


def cases(events: Events) -> Counter[tuple[str, str]]:
    """How often, by key, each anomaly was found."""
    found: Counter[tuple[str, str]] = Counter()
    for row in judge(rows(table(events))).to_pylist():
        for finding in json.loads(row["findings"]):
            found[row["key"], finding["message"].split(":")[0]] += 1
    return found


def nobodys(at: int, *records: tuple[Any, ...], key: str = "t/0", **reported: Any) -> Events:
    """A fetch of which it is not known who answered."""
    answer = {"records": [list(each) for each in records], **reported}
    return single("fetch", {"consumer": "a", "from": at}, answer, key=key)


def seek(to: int, key: str = "t/0") -> Events:
    return single("seek", {"consumer": "a", "to": to}, key=key)


def again(key: str) -> Events:
    """A client of the partition is assigned it from the beginning."""
    return op(7, "assign", [key], ext={"seek-to-beginning": True})


def other_group(offset: int, generation: int = 1) -> Events:
    asked = {"group": "h", "member": "m", "generation": generation, "offset": offset}
    return single("commit", asked)


def forget(type_: str = "ok", group: str = "g", key: str = "t/0") -> Events:
    return single("forget", {"group": group}, None, type_, key=key)


EPOCHS, WATERMARKS = "leader-epoch-regress", "high-watermark-regress"
ABOVE, COMMITTED = "read-above-high-watermark", "committed-offset-regress"
WRITTEN = produce(1, 0) + produce(2, 1)

BOUNDS: dict[str, tuple[Events, dict[str, int]]] = {
    # --- leaders
    "an epoch again": (fetch(0, leader_epoch=4) + fetch(0, leader_epoch=4), {}),
    "an epoch at the same time": (
        overlapping(fetch(0, leader_epoch=4), fetch(0, leader_epoch=3)),
        {},
    ),
    "an epoch less, asked by nobody known": (
        nobodys(0, leader_epoch=4) + nobodys(0, leader_epoch=3),
        {EPOCHS: 1},
    ),
    "an epoch less in another partition": (
        nobodys(0, leader_epoch=4) + nobodys(0, leader_epoch=3, key="t/1"),
        {},
    ),
    "no epoch after one": (fetch(0, leader_epoch=0) + fetch(0) + fetch(0, leader_epoch=0), {}),
    "epochs of one offset": (
        produce(1, 0) + fetch(0, (0, 1, 4)) + fetch(0, (0, 1, 3), consumer="b"),
        {},
    ),
    "epochs that stay along the log": (WRITTEN + fetch(0, (0, 1, 3), (1, 2, 3)), {}),
    "epochs that are not known": (WRITTEN + fetch(0, (0, 1, 3), (1, 2)), {}),
    "a watermark again": (
        fetch(0, leader_epoch=4, high_watermark=7) + fetch(0, leader_epoch=4, high_watermark=7),
        {},
    ),
    "a watermark less by one": (
        fetch(0, leader_epoch=4, high_watermark=7) + fetch(0, leader_epoch=4, high_watermark=6),
        {WATERMARKS: 1},
    ),
    "a watermark less, of whatever epoch": (
        fetch(0, high_watermark=7) + fetch(0, high_watermark=6),
        {},
    ),
    "watermarks that are not known": (
        fetch(0, leader_epoch=4, high_watermark=7) + fetch(0, leader_epoch=4),
        {},
    ),
    "the last below the watermark": (WRITTEN + fetch(0, (0, 1), (1, 2), high_watermark=2), {}),
    "two records above the watermark": (
        WRITTEN + fetch(0, (0, 1), (1, 2), high_watermark=0),
        {ABOVE: 1},
    ),
    "two answers above the watermark": (
        WRITTEN + fetch(0, (0, 1), high_watermark=0) + fetch(1, (1, 2), high_watermark=1),
        {ABOVE: 2},
    ),
    # --- groups
    "a commit again": (commit(3) + commit(3) + committed(3), {}),
    "a commit less by one": (commit(3) + commit(2), {COMMITTED: 1}),
    "a commit less, of another group": (commit(3) + other_group(2), {}),
    "a commit less, at the same time": (overlapping(commit(3), commit(2)), {}),
    "a commit less, without an answer": (commit(3) + commit(2, type_="info"), {}),
    "a seek between": (commit(3) + seek(0) + commit(2), {}),
    "a seek before": (seek(0) + commit(3) + commit(2), {COMMITTED: 1}),
    "a seek after": (commit(3) + commit(2) + seek(0), {COMMITTED: 1}),
    "a seek elsewhere": (commit(3) + seek(0, "t/1") + commit(2), {COMMITTED: 1}),
    "from the beginning between": (commit(3) + again("t/0") + commit(2), {}),
    "from the beginning elsewhere": (commit(3) + again("t/1") + commit(2), {COMMITTED: 1}),
    "assigned between": (commit(3) + op(7, "assign", ["t/0"]) + commit(2), {COMMITTED: 1}),
    "a commit less, since a deletion": (commit(3) + forget() + commit(2), {}),
    "a commit less, since what may be one": (commit(3) + forget("info") + commit(2), {}),
    "a commit less, since what is none": (commit(3) + forget("fail") + commit(2), {COMMITTED: 1}),
    "a commit less, since one elsewhere": (
        commit(3) + forget(key="t/1") + commit(2),
        {COMMITTED: 1},
    ),
    "a commit less than one before a deletion": (
        commit(3) + commit(2) + forget() + commit(1),
        {COMMITTED: 1},
    ),
    "told nothing since a deletion": (commit(3) + forget() + committed(None), {}),
    "told nothing since what may be one": (
        commit(3) + forget("info") + committed(3) + committed(None),
        {},
    ),
    "told nothing since what is none": (
        commit(3) + forget("fail") + committed(None),
        {COMMITTED: 1},
    ),
    "told nothing since another group's": (
        commit(3) + forget(group="h") + committed(None),
        {COMMITTED: 1},
    ),
    "told nothing, and committed since": (
        commit(3) + forget() + commit(4) + committed(None),
        {COMMITTED: 1},
    ),
    "told what is no lower than nothing": (commit(3) + forget() + committed(3), {}),
    "an older generation": (commit(3, 2) + commit(4, 1), {"stale-commit": 1}),
    "an older generation of another group": (commit(3, 2) + other_group(4, 1), {}),
    "the first generation after the next": (commit(3, 1) + commit(4, 0), {"stale-commit": 1}),
    "generation 0, and none": (commit(3, 0) + commit(4, -1), {}),
    "an older generation, since a join and a commit": (
        join("m", 2, "t/0") + commit(3, 2) + commit(4, 1),
        {"stale-commit": 1},
    ),
    "told what is being committed": (overlapping(commit(3), committed(3)), {}),
    "told what is committed later": (committed(3) + commit(3), {"unwritten-commit": 1}),
    "told more than there is, since a seek": (commit(5) + seek(0) + commit(3) + committed(5), {}),
    "told what another group committed": (other_group(3) + committed(3), {"unwritten-commit": 1}),
    "told nothing at first": (committed(None) + commit(3), {}),
    "three owners of two": (
        join("m", 1, "t/0") + join("n", 1, "t/0") + join("o", 1, "t/0"),
        {"two-owners": 1},
    ),
    "an owner again": (join("m", 1, "t/0") + join("m", 1, "t/0"), {}),
    # --- values
    "nothing is polled before the highest": (
        send(0, (0, "a")) + send(0, (1, "b")) + poll(1, (0, "a")),
        {},
    ),
    "deleted up to the next": (WRITTEN + fetch(1, (1, 2), log_start=1), {}),
    "deleted up to one less": (
        produce(1, 1) + produce(2, 2) + fetch(2, (2, 2), log_start=1),
        {"lost-write": 1},
    ),
    "deleted, wherever it stood": (
        produce(1, None) + produce(2, 1) + fetch(1, (1, 2), log_start=1) + read_all(2, "t/0")
        + poll(2) + poll(2),
        {},
    ),
    "read to the end, and nothing was deleted": (
        produce(1, None) + fetch(0, log_start=0) + read_all(2, "t/0") + poll(2) + poll(2),
        {"unseen": 1},
    ),
    "lost for two": (
        ABC + send(0, (3, "d")) + poll(1, (2, "c")) + poll(2, (3, "d")),
        {"lost-write": 2},
    ),
    "lost, and sent again in vain": (
        AB + send(1, (None, "b"), type_="fail") + send(0, (2, "c")) + poll(3, (0, "a"))
        + poll(4, (2, "c")),
        {"lost-write": 1},
    ),
    "lost, and read to the end": (
        ABC + poll(3, (0, "a")) + poll(4, (2, "c")) + read_all(2, 1) + poll(2) + poll(2),
        {"lost-write": 1},
    ),
    "read to the end without what was not acknowledged": (
        send(0, (0, "a")) + send(1, (None, "b"), type_="info")
        + send(0, (None, "c"), type_="fail") + read_all(2, 1) + poll(2, (0, "a")) + poll(2),
        {},
    ),
    "not read to the end, as the last poll brought something": (
        AB + read_all(2, 1) + poll(2) + poll(2, (0, "a")),
        {},
    ),
    "assigned, and polled before that alone": (poll(2) + AB + read_all(2, 1), {}),
    "read to the end before it was sent": (
        AB + read_all(2, 1) + send(0, (2, "c")) + poll(2, (0, "a"), (1, "b")) + poll(2) + poll(2),
        {},
    ),
    "read on, and not from the beginning": (
        AB + assign(2, 1) + poll(2, (0, "a")) + poll(2) + poll(2),
        {},
    ),
    "to the end of one key, while another goes on": (
        AB + send(0, (0, "x"), key=2) + read_all(2, 1, 2) + poll(2, (0, "a"))
        + poll(2, (0, "x"), key=2),
        {"unseen": 1},
    ),
    "read to the end by a client of another key": (
        AB + read_all(2, 2) + poll(2) + poll(2) + poll(1, (0, "a")),
        {},
    ),
    "polled a value twice that nobody sent": (
        poll(1, (0, "a")) + poll(2, (0, "a")),
        {"unwritten-read": 1},
    ),
    "polled a value of two that failed": (
        send(0, (None, "a"), type_="fail") + send(1, (None, "a"), type_="fail")
        + poll(2, (0, "a")),
        {"G1a": 1},
    ),
    "sent again after it failed": (
        send(0, (None, "a"), type_="fail") + send(0, (0, "a")) + poll(2, (0, "a")),
        {},
    ),
    "a value at three places": (
        AB + poll(1, (0, "a"), (1, "b"), (2, "a"), (3, "a")),
        {"duplicate": 1},
    ),
    "sent twice, at two places": (
        send(0, (0, "a")) + send(0, (1, "a")) + poll(1, (0, "a"), (1, "a")),
        {},
    ),
    "sent twice, at three places": (
        send(0, (0, "a")) + send(0, (1, "a")) + poll(1, (0, "a"), (1, "a"), (2, "a")),
        {"duplicate": 1},
    ),
    # --- one client
    "polls of a client by itself": (ABC + poll(1, (0, "a")) + poll(2, (1, "b"), (2, "c")), {}),
    "assigned anew, and goes on": (
        ABC + assign(1, 1) + poll(1, (0, "a")) + assign(1, 1) + poll(1, (1, "b"), (2, "c")),
        {},
    ),
    "assigned from the beginning": (
        AB + assign(1, 1) + poll(1, (0, "a"), (1, "b")) + read_all(1, 1) + poll(1, (0, "a")),
        {},
    ),
    "assigned something else meanwhile": (
        ABC + assign(1, 1) + poll(1, (0, "a"), (1, "b")) + assign(1, 2) + assign(1, 1)
        + poll(1, (0, "a")) + poll(2, (2, "c")),
        {},
    ),
    "assigned with others from the beginning": (
        AB + poll(1, (0, "a"), (1, "b")) + again("t/0") + poll(1, (1, "b")),
        {"nonmonotonic-poll": 1},
    ),
    "after a poll that failed": (
        ABC + assign(1, 1) + poll(1, (0, "a"), (1, "b"), type_="fail")
        + poll(1, (0, "a"), (1, "b"), (2, "c")),
        {},
    ),
    "subscribed, and then assigned": (
        ABC + subscribe(1, 1) + poll(1, (0, "a")) + assign(1, 1) + poll(1, (1, "b"))
        + poll(1, (1, "b")) + poll(2, (2, "c")),
        {"nonmonotonic-poll": 1},
    ),
    "sends at the same time": (
        overlapping(send(0, (1, "a")), send(1, (0, "b"))) + poll(2, (0, "b"), (1, "a")),
        {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds(name: str) -> None:
    events, wanted = BOUNDS[name]
    found = cases(events)
    assert {anomaly: count for (_, anomaly), count in found.items()} == wanted
    assert {key for key, _ in found} <= {"1", "t/0"}
