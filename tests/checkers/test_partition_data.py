"""What was produced is what is fetched (D.18)."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from judging import judged
from planted_reports import REPLICAS, REPORTS
from planted_runs import MS, NODES, OTHER, TOPIC, Story, assert_invalid, assert_valid

from checkers.folds.partitions.unreadable import TRIES
from checkers.partition_data import IN_ORDER, PartitionData, partition_data
from framework.checking.keyed import Outcome
from framework.history.pairing import Operation
from framework.verdict import Verdict
from tests.cases import cases

KEY = "t/0"


@dataclass
class Data(Story):
    watermark: int = 0
    """The highest that a fetch was told."""

    def produce(
        self,
        value: int,
        offset: int | None,
        *,
        acks: str = "all",
        idempotent: bool = True,
        type: str = "ok",
        **more: Any,
    ) -> Operation:
        asked = {"value": value, "acks": acks, "producer": "p", "idempotent": idempotent}
        result = None if offset is None else {"offset": offset, "topic_id": TOPIC}
        return self.op("produce", KEY, asked, result, type=type, error="X", **more)

    def fetch(
        self, begin: int, *records: tuple[int, int], consumer: str = "a", **more: Any
    ) -> Operation:
        after = records[-1][0] + 1 if records else begin
        result = {
            "records": [list(record) for record in records],
            "high_watermark": max(after, self.watermark),
            "log_start": 0,
            "position": after,
            "leader_epoch": 0,
            **more,
        }
        self.watermark = max(self.watermark, result["high_watermark"])
        return self.op("fetch", KEY, {"consumer": consumer, "from": begin}, result)

    def last(self, begin: int, *records: tuple[int, int], **more: Any) -> Operation:
        self.phase = "final"
        after = records[-1][0] + 1 if records else begin
        return self.fetch(begin, *records, consumer="final", **{"high_watermark": after, **more})

    def seek(self, to: int, consumer: str = "a") -> None:
        self.op("seek", KEY, {"consumer": consumer, "to": to}, None)

    def offsets(self, at: str, offset: int, **by: Any) -> None:
        self.op("list-offsets", KEY, {"at": at}, {"offset": offset, **by})

    def last_fails(self, begin: int, times: int = TRIES, code: str = "TIMED_OUT") -> None:
        """Final fetches that nobody answers."""
        self.phase = "final"
        for _ in range(times):
            asked = {"consumer": "final", "from": begin}
            self.op("fetch", KEY, asked, type="fail", error=code)


def clean() -> Data:
    """Values of all kinds of producers, read by two consumers, one of which seeks."""
    story = Data()
    story.produce(10, 0)
    story.produce(11, 1, acks="1")
    story.fetch(0, (0, 10), (1, 11))
    story.produce(12, None, type="fail")
    story.produce(13, None, type="info")
    story.produce(14, 3)
    story.produce(15, None, acks="0")
    story.produce(16, 99, acks="1")
    story.fetch(2, (2, 13))
    story.fetch(3)
    story.seek(1)
    story.fetch(1, (1, 11), (2, 13), (3, 14))
    story.fetch(0, (0, 10), consumer="b")
    story.produce(17, None, type="info", idempotent=False)
    story.offsets("latest", 4)
    story.offsets("earliest", 0)
    return story


def ended(story: Data) -> Data:
    story.last(0, (0, 10), (1, 11), (2, 13), high_watermark=6)
    story.last(3, (3, 14), (4, 17), (5, 17))
    story.last(6)
    return story


def test_what_is_compared() -> None:
    """By hand: two acknowledged values, of which one was read twice and one never."""
    story = Data()
    story.produce(10, 0)
    story.produce(11, 1)
    story.fetch(0, (0, 10))
    story.fetch(0, (0, 10), consumer="b")
    story.fetch(1, consumer="b")
    counts = partition_data(story.run_events()).clauses
    assert counts == {
        "one-value": 2,  # offset 0 was told thrice
        "kept": 3,  # the acknowledged one, and both reads by each other's fetch
        "readable": (1, 2),
        "in-order": {"8": 1},
        "written": {"4": 1, "6": 1},
        "limits": 4,  # each of three answers tells both ends
        "deleted": "no log began late, and no delete was known to anybody",
        "sizes": "no broker told how large its log is",
        "producers": "no leader told of a producer",
        "replicas": "no replica was asked",
    }


def test_what_promises_nothing_and_what_is_gone_give_no_occasion_to_be_readable() -> None:
    story = Data()
    story.produce(10, 0, acks="1")
    assert (partition_data(story.run_events()).clauses or {})["readable"] == (
        "nothing was acknowledged"
    )
    story.produce(11, 1)
    story.op("delete", "t", type="info")
    outcome = partition_data(story.run_events())
    assert (outcome.clauses or {})["readable"] == "the topic may have been deleted"
    assert outcome.figures["unread"] == 0 and outcome.verdict is Verdict.VALID


@pytest.mark.parametrize(
    ("tries", "more", "seen"),
    [
        (3, {}, True),
        (1, {}, True),
        (0, {}, False),
        (3, {"type": "fail"}, False),
        (3, {"acks": "1"}, False),
    ],
)
def test_what_is_never_acknowledged_is_no_want_of_occasion(
    tries: int, more: dict[str, Any], seen: bool
) -> None:
    """All that was read is by those that one broker acknowledges."""
    story = Data()
    for number in range(tries):
        story.produce(30 + number, None, **{"type": "info", **more})
    story.produce(10, 0, acks="1")
    counts = partition_data(story.run_events()).clauses or {}
    assert counts["readable"] == (0 if seen else "nothing was acknowledged")


def test_clean_history_is_accepted() -> None:
    """Also a repeated value of a producer that is not idempotent."""
    outcome = partition_data(ended(clean()).run_events())
    assert_valid(outcome)
    assert outcome.figures["acknowledged"] == 2
    assert outcome.figures["without_final_read"] == 0


def test_no_plant_needs_a_nodes_word() -> None:
    assert not any(planted.story().events for planted in PLANTED.values())


def test_without_a_final_read_the_end_is_not_judged() -> None:
    """That is UNKNOWN where something acknowledged was never fetched."""
    story = clean()
    outcome = partition_data(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["without_final_read"] == 1
    story.produce(18, 9)
    outcome = partition_data(story.run_events())
    assert outcome.verdict is Verdict.UNKNOWN
    assert "nobody fetched 1 acknowledged values, as 18 at offset 9" in outcome.note
    story.produce(19, 10)
    note = partition_data(story.run_events()).note
    assert "nobody fetched 2 acknowledged values, as 18 at offset 9" in note


def test_partition_of_which_nothing_is_reported_says_nothing() -> None:
    story = Data()
    story.produce(1, None, type="fail")
    assert partition_data(story.run_events()).seen == 0


def clean_run() -> Data:
    """Of two partitions; in the other one a record was deleted, and a broker and its leader told of
    it."""
    story = clean()
    for value, offset in ((70, 0), (71, 1)):
        asked = {"value": value, "acks": "all", "producer": "p", "idempotent": True}
        told = {"offset": offset, "topic_id": TOPIC}
        sent_as = {"sent_as": (7, 0, offset)}
        story.op("produce", "t/1", asked, told, node="b1", ext=sent_as)
    told = {"before": 1, "low_watermark": 1, "topic_id": TOPIC}
    story.op("delete-records", "t/1", {"before": 1}, told, node="b1")
    begin = {"offset": 1, "leader_epoch": 0}
    story.op("list-offsets", "t/1", {"at": "earliest"}, begin, node="b1")
    left = {"records": [[1, 71]], "high_watermark": 2, "log_start": 1, "leader_epoch": 0}
    story.op("fetch", "t/1", {"consumer": "a", "from": 1}, left | {"position": 2}, node="b1")
    for _ in range(2):
        log = {"key": "t/1", "size": 140}
        story.op("log-dirs", None, {"keys": ["t/1"]}, [log], node="b1")
        known = {"id": 7, "epoch": 0, "last": 1}
        story.op("producers", "t/1", None, [known], node="b1")
    return compared(ended(story))


def compared(story: Data) -> Data:
    """Its two replicas give in the end what is in them."""
    story.plan = {"nodes": dict(NODES)}
    story.final()
    state = {"partition": 0, "leader": 4, "leader_epoch": 0, "replicas": [4, 5], "isr": [4, 5]}
    story.op("describe", "t", None, {"topic_id": TOPIC, "partitions": [state]})
    records = [[0, 10], [1, 11], [2, 13], [3, 14], [4, 17], [5, 17]]
    told = {"records": records, "high_watermark": 6, "log_start": 0, "position": 6}
    for node in ("b1", "b2"):
        story.op("replica-fetch", KEY, {"from": 0}, told, node=node)
    return story


PLANTED = Plants.of(
    clean_run,
    {
        "1: two reads": ("offset 1 holds 11", lambda s: s.fetch(1, (1, 13), consumer="c")),
        "1: read and acknowledged": (
            "offset 3 holds 14 by operation",
            lambda s: s.fetch(3, (3, 10), consumer="c"),
        ),
        "2: passed over": (
            "value 14 was acknowledged at offset 3",
            lambda s: s.fetch(2, (2, 13), (4, 17), consumer="c"),
        ),
        "2: beyond the end": (
            "value 18 was acknowledged at offset 9 by operation 32, and is not there: the "
            "partition ends at 6",
            lambda s: s.produce(18, 9),
        ),
        "2: nowhere": (
            "by operation 32, which does not tell at which offset, and is not there: the partition "
            "was read from 0 to its end at 6",
            lambda s: s.produce(18, -1),
        ),
        "3: idempotent value twice": (
            "value 14 stands at offset 3",
            lambda s: s.fetch(4, (4, 14), consumer="c"),
        ),
        "3: sent once": (
            "value 19 stands at offset",
            lambda s: (
                s.produce(19, 20, idempotent=False, ext={"attempts": 1}),
                s.fetch(21, (21, 19), consumer="c"),
            ),
        ),
        "4: went back": ("consumer a went back", lambda s: s.fetch(0, (0, 10))),
        "4: skipped": ("consumer b skipped ahead", lambda s: s.fetch(2, (2, 13), consumer="b")),
        "4: not where the seek went": (
            "consumer b went back",
            lambda s: (s.seek(3, "b"), s.fetch(2, (2, 13), consumer="b")),
        ),
        "4: within an answer": (
            "was given the offsets [2, 1]",
            lambda s: s.fetch(1, (2, 13), (1, 11), consumer="c", position=3),
        ),
        "5: refused": ("had failed with X", lambda s: s.fetch(4, (4, 12), consumer="c")),
        "5: of nobody": ("which nobody produced", lambda s: s.fetch(4, (4, 77), consumer="c")),
        "6: a read vanishes": (
            "value 15 was read at offset 8 by operation 32, and is not there",
            lambda s: s.fetch(8, (8, 15), consumer="c"),
        ),
        "6: a read that told of no high watermark": (
            "value 15 was read at offset 8 by operation 32, and is not there",
            lambda s: s.op("fetch", KEY, {"consumer": "c", "from": 8}, {"records": [[8, 15]]}),
        ),
        "6: above the high watermark": (
            "above its high watermark, and is not there",
            lambda s: s.fetch(8, (8, 15), consumer="c", high_watermark=8),
        ),
        "7: list-offsets": ("(list-offsets) was told", lambda s: s.offsets("latest", 9)),
        "7: high watermark": (
            "(fetch) was told a high watermark of 9",
            lambda s: s.fetch(4, consumer="c", high_watermark=9),
        ),
    },
    on=clean,
    then=ended,
)


# --- what cannot be read ------------------------------------------------------------------


def unanswered(story: Data) -> None:
    """The cluster had settled, and nobody answers the final fetches."""
    story.final()
    story.last_fails(0)


def half_read(story: Data) -> None:
    """The reader gets on, and then no more: the leader itself says that there is more."""
    story.last(0, (0, 10), (1, 11), high_watermark=4)
    for _ in range(TRIES):
        story.last(2, high_watermark=4)


def sought_and_unanswered(story: Data) -> None:
    unanswered(story)
    story.seek(0, "final")


def unanswered_to_the_last(story: Data) -> None:
    """Which is under way as the run ends."""
    story.final()
    story.last_fails(0, TRIES - 1)
    story.invoke("fetch", KEY, {"consumer": "final", "from": 0})


def nothing_at_all(story: Data) -> None:
    for _ in range(TRIES):
        story.last(0, high_watermark=4)


UNREADABLE = Plants.of(
    clean,
    {
        "8: unanswered": ("the last 3 final fetches, from 0, failed with TIMED_OUT", unanswered),
        "8: unanswered, wherever it seeks": ("from 0, failed", sought_and_unanswered),
        "8: unanswered to the last": ("the last 3 final fetches, from 0,", unanswered_to_the_last),
        "8: gets on no more": ("from 2, gave nothing below its own high watermark", half_read),
        "8: gives nothing": ("2 values were acknowledged, and cannot be read", nothing_at_all),
    },
    on=clean,
)
PLANTED.update(UNREADABLE)
PLANTED.update(REPORTS)
PLANTED.update(REPLICAS)


def tried_once(story: Data) -> None:
    story.final()
    story.last_fails(0, 1)


def failed_before_the_end(story: Data) -> None:
    """Though it calls itself as the one that reads the end."""
    for _ in range(TRIES):
        asked = {"consumer": "final", "from": 0}
        story.op("fetch", KEY, asked, type="fail", error="TIMED_OUT")
    story.final()
    story.last_fails(0, TRIES - 1)


def reached_an_end_before_the_end(story: Data) -> None:
    story.fetch(4, consumer="final", high_watermark=4)
    story.produce(18, 4)


def tried_twice(story: Data) -> None:
    story.last_fails(0, TRIES - 1)


def not_settled(story: Data) -> None:
    story.final(settled=False)
    story.last_fails(0)


def machine_without_time(story: Data) -> None:
    """Where the final fetches were made."""
    begin_ms = story.now_ns // MS
    story.wait(60_000)
    unanswered(story)
    now_ms = story.now_ns // MS
    story.plan = {**story.plan, "machine": {"took": [[begin_ms, now_ms, now_ms - begin_ms]]}}


def never_ended(story: Data) -> None:
    with story.fault(healed=False):
        pass
    unanswered(story)


def got_on_in_the_end(story: Data) -> None:
    """A leader had no time, twice."""
    for _ in range(TRIES - 1):
        story.last(0, high_watermark=4)
    ended(story)


def failed_and_was_read(story: Data) -> None:
    story.final()
    story.last_fails(0)
    ended(story)


def others_failed(story: Data) -> None:
    """Before the end, and at the end other consumers."""
    for phase in ("main", "final"):
        if phase == "final":
            story.final()
        for _ in range(TRIES):
            asked = {"consumer": "a", "from": 3}
            story.op("fetch", KEY, asked, type="fail", error="TIMED_OUT")


def topic_was_deleted(story: Data) -> None:
    story.delete("t", topic_id=None, type="info")
    unanswered(story)


@pytest.mark.parametrize(
    "end",
    [tried_once, tried_twice, not_settled, machine_without_time, never_ended, got_on_in_the_end,
     failed_and_was_read, others_failed, failed_before_the_end, reached_an_end_before_the_end,
     topic_was_deleted],
)  # fmt: skip
def test_what_looks_unreadable_and_may_not_be(end: Callable[[Data], None]) -> None:
    story = clean()
    end(story)
    assert partition_data(story.run_events()).verdict is not Verdict.INVALID


@pytest.mark.parametrize("end", [tried_twice, not_settled, never_ended])
def test_what_was_never_fetched_is_not_known(end: Callable[[Data], None]) -> None:
    story = Data()
    story.produce(1, 0)
    end(story)
    assert partition_data(story.run_events()).verdict is Verdict.UNKNOWN


def test_final_fetches_that_are_given_something_can_be_read() -> None:
    """Though their consumer goes back each time."""
    story = clean()
    for _ in range(TRIES):
        story.last(0, (0, 10), high_watermark=4)
    found = partition_data(story.run_events()).findings
    assert {each.clause for each in found} == {"in-order"}


def test_answers_that_give_nothing_have_no_error_to_tell() -> None:
    story = clean()
    nothing_at_all(story)
    (found,) = partition_data(story.run_events()).findings
    assert found.message.endswith("gave nothing below its own high watermark")


def test_the_end_is_where_it_was_reached_last() -> None:
    """More was committed meanwhile."""
    story = clean()
    story.last(0, (0, 10), (1, 11), (2, 13), (3, 14))
    story.last(4, (4, 17), (5, 17))
    assert_valid(partition_data(story.run_events()))


# --- where a log begins -------------------------------------------------------------------


def hidden_by(story: Data) -> Data:
    story.last(0, (2, 13), (3, 14), log_start=2, position=4, high_watermark=4)
    return story


PLANTED.update(
    Plants.of(
        clean,
        {
            "9: hidden": ("the log begins at 2 by operation", hidden_by),
            "9: hidden, whatever else is set": (
                "the log begins at 2 by operation",
                lambda s: (
                    s.plan.update(settings={"b1": {"log.segment.bytes": "1000"}}),
                    hidden_by(s),
                ),
            ),
            "9: hidden, says ListOffsets": (
                "the log begins at 1 by operation",
                lambda s: (s.offsets("earliest", 1), ended(s)),
            ),
            "9: hidden more than was asked for": (
                "the log begins at 2 by operation",
                lambda s: (s.op("delete-records", KEY, {"before": 1}), hidden_by(s)),
            ),
            "9: hidden before it was asked for": (
                "the log begins at 2 by operation",
                lambda s: (hidden_by(s), s.op("delete-records", KEY, {"before": 2})),
            ),
            "9: ListOffsets went back": (
                "a leader told 3 for its end in leader epoch 2",
                lambda s: (
                    s.offsets("latest", 4, leader_epoch=1),
                    s.offsets("latest", 3, leader_epoch=2),
                    ended(s),
                ),
            ),
            "9: the high watermark went back": (
                "a leader told 3 for its end in leader epoch 1",
                lambda s: (
                    s.offsets("latest", 4, leader_epoch=1),
                    s.fetch(3, consumer="c", leader_epoch=1, high_watermark=3),
                    ended(s),
                ),
            ),
            "9: the beginning went back": (
                "a leader told 1 for its beginning in leader epoch 0",
                lambda s: (
                    s.op("delete-records", KEY, {"before": -1}),
                    s.fetch(4, consumer="c", log_start=2),
                    s.fetch(4, consumer="d", log_start=1),
                    ended(s),
                ),
            ),
        },
    )
)


def retention_is_set(story: Data) -> None:
    story.plan["settings"] = {"b1": {"log.retention.ms": "1000"}}


def topic_has_retention(story: Data) -> None:
    story.op("create", "t", {"partitions": 1, "configs": {"retention.bytes": "1"}}, type="info")


def topic_has_retention_as_clients_write_it(story: Data) -> None:
    story.op("create", "t", {"configs": [["retention.ms", "1"]]}, type="info")


def topic_is_given_retention(story: Data) -> None:
    story.op("configure", "t", {"set": [["retention.ms", "1"]]}, type="info")


def broker_is_given_retention(story: Data) -> None:
    story.op("configure-broker", "broker-4", {"set": [["log.retention.ms", "1"]]}, type="info")


def compacted(story: Data) -> None:
    story.plan["settings"] = {"b1": {"log.cleanup.policy": "compact"}}


def records_deleted(story: Data) -> None:
    story.op("delete-records", KEY, {"before": 2})


def records_perhaps_deleted(story: Data) -> None:
    story.op("delete-records", KEY, {"before": 3}, type="info")


def all_records_deleted(story: Data) -> None:
    story.invoke("delete-records", KEY, {"before": -1})


@pytest.mark.parametrize(
    "why",
    [retention_is_set, topic_has_retention, topic_has_retention_as_clients_write_it, compacted,
     topic_is_given_retention, broker_is_given_retention, records_deleted,
     records_perhaps_deleted, all_records_deleted],
)  # fmt: skip
def test_what_may_have_been_removed_is_not_lost(why: Callable[[Data], None]) -> None:
    story = clean()
    why(story)
    (outcome,) = by_topic(hidden_by(story)).values()
    assert_valid(outcome)


# --- what was deleted ---------------------------------------------------------------------


def deleted_before(story: Data, before: int, low: int | None = None, **more: Any) -> Operation:
    answer = {"before": before, "low_watermark": before if low is None else low}
    return story.op("delete-records", KEY, {"before": before}, answer, **{"node": "b1", **more})


def begins_at(story: Data, begin: int, node: str = "b1", epoch: int | None = None) -> None:
    by = {} if epoch is None else {"leader_epoch": epoch}
    story.op("list-offsets", KEY, {"at": "earliest"}, {"offset": begin, **by}, node=node)


def deleted() -> Data:
    """Two values of six, which nobody is given any more."""
    story = clean()
    story.op("delete-records", KEY, {"before": 1}, type="info", error="TIMED_OUT")
    deleted_before(story, 2)
    story.fetch(2, (2, 13), consumer="c", log_start=2)
    deleted_before(story, 1, 2)
    begins_at(story, 2)
    return story


def after_deletes(story: Data) -> Data:
    story.last(2, (2, 13), (3, 14), log_start=2, high_watermark=6)
    story.last(4, (4, 17), (5, 17), log_start=2)
    return story


def killed(story: Data, node: str = "b1") -> None:
    story.inject(fault="kill", victims={node: {}}, ends_processes=True)


PLANTED.update(
    Plants.of(
        deleted,
        {
            "10: there again": (
                "a leader told 0 for its beginning",
                lambda s: (begins_at(s, 0), after_deletes(s)),
            ),
            "10: there again, of a later leader": (
                "a leader told 1 for its beginning in leader epoch 9",
                lambda s: (begins_at(s, 1, "b2", epoch=9), after_deletes(s)),
            ),
            "10: there again at the end": (
                "a leader told 0 for its beginning",
                lambda s: s.last(0, (0, 10), (1, 11), (2, 13), (3, 14), (4, 17), (5, 17)),
            ),
            "10: there again, and its leader does not tell": (
                "was given offset 1 of a log that begins at 2",
                lambda s: (
                    s.fetch(1, (1, 11), consumer="d", log_start=None),
                    after_deletes(s),
                ),
            ),
            "10: there again after a kill, where deletes outlive that": (
                "a leader told 0 for its beginning",
                lambda s: (keeps(s), killed(s), begins_at(s, 0), after_deletes(s)),
            ),
            "10: there again after a fault of another node": (
                "a leader told 0 for its beginning",
                lambda s: (killed(s, "b2"), begins_at(s, 0), after_deletes(s)),
            ),
            "10: given from below": (
                "was given offset 1 of a log that begins at 2",
                lambda s: (s.fetch(1, (1, 11), consumer="d", log_start=2), after_deletes(s)),
            ),
            "10: half done": (
                "was acknowledged with the low watermark 2",
                lambda s: (deleted_before(s, 3, 2), after_deletes(s)),
            ),
            "9: more than was asked for": (
                "the log begins at 4 by operation",
                lambda s: (deleted_before(s, 3, 4), after_deletes(s)),
            ),
        },
    )
)


def keeps(story: Data) -> None:
    story.plan["capabilities"] = ["kept-log-starts"]


def after_a_kill(story: Data) -> None:
    killed(story)
    begins_at(story, 0, "b1")


def of_another_after_a_fault(story: Data) -> None:
    killed(story, "b3")
    begins_at(story, 0, "b2")


def asked_before_it_was_acknowledged(story: Data) -> None:
    early = story.invoke("list-offsets", KEY, {"at": "earliest"})
    deleted_before(story, 3)
    story.complete(early, result={"offset": 2})


def nobody_knows(story: Data) -> None:
    story.op("delete-records", KEY, {"before": 3}, type="info", error="TIMED_OUT", node="b1")
    begins_at(story, 2)


def refused_and_as_it_was(story: Data) -> None:
    story.op("delete-records", KEY, {"before": 99}, type="fail", error="X", node="b1")
    begins_at(story, 2)


@pytest.mark.parametrize(
    "more",
    [after_a_kill, of_another_after_a_fault, asked_before_it_was_acknowledged, nobody_knows,
     refused_and_as_it_was],
)  # fmt: skip
def test_what_looks_undone_and_may_not_be(more: Callable[[Data], None]) -> None:
    story = deleted()
    more(story)
    begin = 3 if more is asked_before_it_was_acknowledged else 2
    story.last(begin, *((at, value) for at, value in ((2, 13), (3, 14)) if at >= begin),
               log_start=begin, high_watermark=6)  # fmt: skip
    story.last(4, (4, 17), (5, 17), log_start=begin)
    assert_valid(partition_data(story.run_events()))


def test_how_many_answers_knew_of_a_delete() -> None:
    outcome = partition_data(after_deletes(deleted()).run_events())
    assert_valid(outcome)
    # The fetch, the second delete, ListOffsets and two final fetches; three fetches had records.
    assert (outcome.clauses or {})["deleted"] == 5 + 3
    assert isinstance((partition_data(ended(clean()).run_events()).clauses or {})["deleted"], str)


# --- topics of one name -------------------------------------------------------------------


def made_anew(*, reported: str | None = TOPIC, knew: str = OTHER) -> Data:
    """A topic is deleted and another takes its name. `reported`: what the delete says it removed;
    `knew`: the topic that the writer of its first value took it for."""
    story = Data()
    story.create("t")
    story.produce(1, 0)
    story.fetch(0, (0, 1), topic_id=TOPIC)
    story.delete("t", topic_id=reported)
    story.create("t", OTHER)
    story.op("produce", KEY, {"value": 2, "acks": "all"}, {"offset": 0, "topic_id": knew})
    story.fetch(0, (0, 2), consumer="b", topic_id=OTHER)
    story.last(0, (0, 2), topic_id=OTHER)
    return story


def by_topic(story: Data) -> dict[str, Outcome]:
    found = PartitionData().check_run(story.run_events())
    assert not isinstance(found, Outcome)
    return dict(found)


@pytest.mark.parametrize("reported", [TOPIC, None])
@pytest.mark.parametrize("knew", [TOPIC, OTHER])
def test_topics_of_one_name_are_judged_apart(reported: str | None, knew: str) -> None:
    """Also where a client does not know yet that its topic is another one."""
    found = by_topic(made_anew(reported=reported, knew=knew))
    assert set(found) == {f"{KEY} of {TOPIC}", f"{KEY} of {OTHER}"}
    for outcome in found.values():
        assert outcome.verdict is Verdict.VALID, [each.message for each in outcome.findings]


def test_what_the_second_topic_lost_is_found() -> None:
    story = made_anew()
    story.op("produce", KEY, {"value": 3, "acks": "all"}, {"offset": 1, "topic_id": OTHER})
    found = by_topic(story)
    assert found[f"{KEY} of {TOPIC}"].verdict is Verdict.VALID
    assert_invalid(found[f"{KEY} of {OTHER}"], "value 3 was acknowledged at offset 1")


def test_a_delete_without_an_answer_may_take_effect_later() -> None:
    """Also on the topic that took the name after it was given up."""
    story = Data()
    story.delete("t", type="info")
    story.create("t")
    story.produce(1, 0)
    story.fetch(0, (0, 1), topic_id=TOPIC)
    story.last(0, topic_id=TOPIC)
    (outcome,) = by_topic(story).values()
    assert outcome.verdict is Verdict.VALID


def test_after_a_delete_that_may_have_been_of_any_topic_nothing_is_certain() -> None:
    story = made_anew()
    story.delete("t", type="info")
    story.op("produce", KEY, {"value": 3, "acks": "all"}, {"offset": 1, "topic_id": OTHER})
    assert {each.verdict for each in by_topic(story).values()} == {Verdict.VALID}


# --- others -------------------------------------------------------------------------------


def test_fetches_of_one_consumer_that_overlap_have_no_order() -> None:
    story = clean()
    first = story.invoke("fetch", KEY, {"consumer": "b", "from": 1})
    story.fetch(0, (0, 10), consumer="c")
    second = story.invoke("fetch", KEY, {"consumer": "b", "from": 0})
    answer = {"records": [], "high_watermark": 4, "position": 1}
    story.complete(first, "ok", answer)
    story.complete(second, "ok", {**answer, "position": 0})
    assert_valid(partition_data(story.run_events()))


# --- what is counted ----------------------------------------------------------------------


def read_whole(
    *values: tuple[int, int], begin: int = 0, log_start: int = 0, precedes: bool = True
) -> Outcome:
    """What is promised without an offset, two values, and a log of which all below 3 holds others.
    `values`: what stands above; `precedes`: they were acknowledged before that was read."""
    story = Data()
    story.produce(10, 0)
    slow = story.invoke("produce", KEY, {"value": 31, "acks": "all", "idempotent": True})
    if precedes:
        story.complete(slow, result={"offset": -1, "topic_id": TOPIC})
    story.produce(30, None)
    story.produce(32, -1, acks="1")
    for value in (11, 12):
        story.produce(value, None, type="info")
    lower = [(offset, 10 + offset) for offset in range(begin, 3)]
    asked = {"log_start": log_start, "high_watermark": 3 + len(values)}
    story.last(begin, *lower, *values, **asked)
    if not precedes:
        story.complete(slow, result={"offset": -1, "topic_id": TOPIC})
    return partition_data(story.run_events())


def test_what_was_acknowledged_without_an_offset_stands_somewhere() -> None:
    """Kafka's -1 is no offset."""
    assert read_whole((3, 30), (4, 31)).clauses["readable"] == (3, 3)  # type: ignore[index]
    assert read_whole((3, 30), (4, 31)).findings == []
    outcome = read_whole((3, 30))
    assert_invalid(outcome, "value 31 was acknowledged by operation 2", "to its end at 4")
    assert [each.clause for each in outcome.findings] == ["kept"]
    assert outcome.clauses["readable"] == (2, 3)  # type: ignore[index]
    assert len(read_whole().findings) == 2


@pytest.mark.parametrize(
    "how", [{"begin": 1}, {"log_start": 1, "begin": 1}, {"precedes": False}], ids=str
)
def test_where_not_all_was_read_afterwards_it_may_stand_anywhere(how: dict[str, Any]) -> None:
    """From 0 on, below no beginning that was moved, and after it was acknowledged."""
    outcome = read_whole((3, 30), **how)
    assert [each for each in outcome.findings if each.clause == "kept"] == []
    seen, owed = (outcome.clauses or {})["readable"]  # type: ignore[misc]
    assert seen < owed


def test_a_log_in_which_there_is_nothing_has_lost_what_was_acknowledged() -> None:
    story = Data()
    story.produce(30, None)
    story.last(0)
    outcome = partition_data(story.run_events())
    assert_invalid(outcome, "value 30", "to its end at 0")
    assert (outcome.clauses or {})["readable"] == (0, 1)


def lost_if_read(read: Callable[[Data, Callable[[], None]], None]) -> list[str]:
    """What is said of a value that was promised without an offset, and that no fetch gives.
    `read`: the log of the others, which calls for the promise."""
    story = Data()
    for value in (10, 11, 12, 13):
        story.produce(value, None, type="info")
    read(story, lambda: (story.produce(30, None), None)[1])
    return [each.message for each in partition_data(story.run_events()).findings]


def of_a_log_that_is_told_to_begin_later(story: Data, promise: Callable[[], None]) -> None:
    """By one answer; the other one does not say."""
    promise()
    story.fetch(1, consumer="b", log_start=1, high_watermark=2)
    story.last(0, (1, 11), log_start=None)


def of_a_log_with_a_hole(story: Data, promise: Callable[[], None]) -> None:
    promise()
    story.fetch(0, (0, 10))
    story.last(2, (2, 12))


def after_the_last_fetch(story: Data, promise: Callable[[], None]) -> None:
    """Of the end; somebody reads what is below it."""
    story.last(0, (0, 10), (1, 11))
    promise()
    story.fetch(0, (0, 10), consumer="b")


@pytest.mark.parametrize(
    "read", [of_a_log_that_is_told_to_begin_later, of_a_log_with_a_hole, after_the_last_fetch]
)
def test_what_was_promised_without_an_offset_may_stand_where_nobody_read(
    read: Callable[[Data, Callable[[], None]], None],
) -> None:
    assert not [each for each in lost_if_read(read) if "value 30" in each]


def between_two_fetches_of_one_end(story: Data, promise: Callable[[], None]) -> None:
    story.last(0, (0, 10), (1, 11))
    promise()
    story.last(2)


def before_an_answer_that_comes_late(story: Data, promise: Callable[[], None]) -> None:
    """It has the last records; one that was asked for later has not."""
    promise()
    story.phase = "final"
    late = story.invoke("fetch", KEY, {"consumer": "final", "from": 0})
    story.last(0, (0, 10))
    answer = {"records": [[0, 10], [1, 11]], "high_watermark": 2, "position": 2}
    story.complete(late, "ok", answer)


def beside_what_somebody_had_read_beyond(story: Data, promise: Callable[[], None]) -> None:
    """Which is lost, too."""
    promise()
    story.fetch(8, (8, 12), consumer="b")
    story.last(0, (0, 10), (1, 11), high_watermark=2)


@pytest.mark.parametrize(
    "read",
    [
        between_two_fetches_of_one_end,
        before_an_answer_that_comes_late,
        beside_what_somebody_had_read_beyond,
    ],
)
def test_what_was_promised_without_an_offset_is_below_the_end_that_was_read_afterwards(
    read: Callable[[Data, Callable[[], None]], None],
) -> None:
    (found,) = (each for each in lost_if_read(read) if "value 30" in each)
    assert "to its end at 2" in found


def test_a_beginning_that_is_told_with_records_is_one_that_was_seen() -> None:
    """Where nobody deleted anything; an answer without records shows none."""
    story = Data()
    story.plan["settings"] = {"b1": {"log.retention.ms": "1000"}}
    story.produce(10, 2)
    story.fetch(2, log_start=2)
    story.fetch(2, (2, 10), log_start=2)
    assert (partition_data(story.run_events()).clauses or {})["deleted"] == 1


def test_figures() -> None:
    story = clean()
    story.produce(20, 7, type="fail")
    story.fetch(4, (4, 17), consumer="c", high_watermark=4)
    answer = {"records": [[5, 17]]}
    story.op("fetch", KEY, {"consumer": "d", "from": 5}, answer)
    outcome = partition_data(ended(story).run_events())
    assert_valid(outcome)
    assert outcome.figures == {
        "acknowledged": 2,
        "read": 15,  # by hand: 7, 2 and 6
        "fetches": 10,
        "read_above_high_watermark": 1,
        "without_final_read": 0,
        "unread": 0,
    }
    told = (outcome.clauses or {})["in-order"]
    assert isinstance(told, dict) and IN_ORDER.enough(told) == 10  # two of each fetch at most


def span(draw: random.Random) -> tuple[int, int]:
    begin = draw.randrange(6)
    return begin, begin + draw.randrange(1, 4)


@settings(max_examples=cases(200), deadline=None)
@given(st.integers(0, 2**32))
def test_what_fetches_cover(seed: int) -> None:
    """Of values at offsets 0 to 7, by fetches that have them all; from a log start on."""
    draw, story = random.Random(seed), Data()
    for offset in range(8):
        story.produce(offset, offset)
    spans = [span(draw) for _ in range(draw.randrange(4))]
    for number, (begin, end) in enumerate(spans):
        records = [(at, at) for at in range(begin, end) if draw.random() < 0.9]
        story.fetch(begin, *records, consumer=f"c{number}", position=end)
    outcome = partition_data(story.run_events())
    covers = {at: sum(begin <= at < end for begin, end in spans) for at in range(9)}
    read = [offset for each in story.operations if each.f == "fetch"
            for offset, _ in each.result["records"]]  # fmt: skip
    assert outcome.figures["unread"] == sum(not covers[at] for at in range(8))
    assert (outcome.clauses or {})["kept"] == (
        sum(covers[at] > 0 for at in range(8)) + sum(covers[at] > 1 for at in read)
    )


@pytest.mark.parametrize(
    ("spans", "unread"),
    [
        (((0, 1), (3, 5), (4, 6)), 4),
        (((0, 1), (3, 8), (4, 5)), 2),
        (((0, 1), (2, 8), (3, 4), (3, 5)), 1),
    ],
)
def test_fetches_that_lie_within_others_cover_nothing_more(
    spans: tuple[tuple[int, int], ...], unread: int
) -> None:
    story = Data()
    for offset in range(8):
        story.produce(offset, offset)
    for number, (begin, end) in enumerate(spans):
        records = [(at, at) for at in range(begin, end)]
        story.fetch(begin, *records, consumer=f"c{number}")
    assert partition_data(story.run_events()).figures["unread"] == unread


def test_the_latest_beginning_that_somebody_tells_hides() -> None:
    story = Data()
    for offset in range(3):
        story.produce(offset, offset)
    story.invoke("delete-records", KEY, {"before": -1})
    for consumer, start in (("a", 0), ("b", 2), ("c", None)):
        story.fetch(2, (2, 2), consumer=consumer, log_start=start)
    assert partition_data(story.run_events()).figures["unread"] == 0


def test_what_a_log_start_hides_is_neither_covered_nor_unread() -> None:
    story = Data()
    for offset in range(3):
        story.produce(offset, offset)
    story.invoke("delete-records", KEY, {"before": -1})
    story.fetch(0, (2, 2), log_start=2)
    story.fetch(0, (2, 2), consumer="b", log_start=None)
    outcome = partition_data(story.run_events())
    assert outcome.figures["unread"] == 0
    assert [each.clause for each in outcome.findings] == ["kept", "kept"], "by b, who tells of none"


# --- what is told once --------------------------------------------------------------------


def three_values(story: Data) -> None:
    for value in (30, 31, 32):
        story.produce(value, 20)


def three_offsets(story: Data) -> None:
    story.produce(30, 20)
    for offset in (21, 22):
        story.fetch(offset, (offset, 30), consumer=f"c{offset}")


def passed_twice(story: Data) -> None:
    for name in "cd":
        story.fetch(2, (2, 13), (4, 17), consumer=name)


def beyond_for_all(story: Data) -> None:
    story.produce(30, 9)
    story.fetch(9, (9, 30), consumer="c", high_watermark=5)
    ended(story)


def read_of_nobody_twice(story: Data) -> None:
    for name in "cd":
        story.fetch(4, (4, 77), consumer=name)


@pytest.mark.parametrize(
    ("happens", "clause"),
    [
        (three_values, "one-value"),
        (three_offsets, "one-value"),
        (passed_twice, "kept"),
        (beyond_for_all, "kept"),
        (read_of_nobody_twice, "written"),
    ],
)
def test_what_is_shown_again_is_reported_once(happens: Callable[[Data], None], clause: str) -> None:
    story = clean()
    happens(story)
    found = [each.clause for each in partition_data(story.run_events()).findings]
    assert found == [clause]


# --- more that is wrong -------------------------------------------------------------------

PLANTED.update(
    Plants.of(
        clean,
        {
            "1: with acks of one and read": (
                "offset 1 holds 11",
                lambda s: (
                    s.produce(30, 7, acks="1"),
                    s.fetch(1, (1, 10), consumer="c"),
                ),
            ),
            "3: refused and sent once": (
                "value 12 stands at offset",
                lambda s: (
                    s.fetch(20, (20, 12), consumer="c"),
                    s.fetch(21, (21, 12), consumer="d"),
                ),
            ),
            "4: an offset twice": (
                "was given the offsets [1, 1]",
                lambda s: s.fetch(1, (1, 11), (1, 11), consumer="c"),
            ),
            "4: before it was asked for": (
                "fetched from 2 up to 3, and was given the offsets [1, 2]",
                lambda s: s.fetch(2, (1, 11), (2, 13), consumer="c"),
            ),
            "4: beyond where it ended": (
                "fetched from 2 up to 2, and was given the offsets [2]",
                lambda s: s.fetch(2, (2, 13), consumer="c", position=2),
            ),
            "4: beyond where it ended, with its last record alone": (
                "fetched from 1 up to 2, and was given the offsets [1, 2]",
                lambda s: s.fetch(1, (1, 11), (2, 13), consumer="c", position=2),
            ),
            "4: though it sought in vain": (
                "consumer c skipped ahead",
                lambda s: (
                    s.op("seek", KEY, {"consumer": "c", "to": 3}, type="fail"),
                    s.fetch(0, (0, 10), consumer="c"),
                    s.fetch(2, (2, 13), consumer="c"),
                ),
            ),
            "7: an observer was told": (
                "(list-offsets) was told the offset 9",
                lambda s: s.ask("b1", "log-ends", {"ends": [{"key": KEY, "offset": 9}]}),
            ),
            "9: before its first record was removed": (
                "the log begins at 1 by operation",
                lambda s: s.fetch(1, (1, 11), consumer="c", log_start=1),
            ),
        },
        on=clean,
        then=ended,
    )
)


# --- more that is not ---------------------------------------------------------------------


def sought_in_vain(story: Data) -> None:
    """Where the consumer stands then, nobody knows."""
    story.fetch(0, (0, 10), consumer="c")
    story.op("seek", KEY, {"consumer": "c", "to": 3}, type="info")
    story.fetch(1, (1, 11), consumer="c")


def sought_twice(story: Data) -> None:
    story.seek(0, "c")
    story.seek(2, "c")
    story.fetch(2, (2, 13), consumer="c")


def failed_between(story: Data) -> None:
    story.fetch(0, (0, 10), consumer="c")
    story.op("fetch", KEY, {"consumer": "c", "from": 9}, type="fail", error="X")
    story.fetch(1, (1, 11), consumer="c")


def reported_by_no_number(story: Data) -> None:
    story.op("list-offsets", KEY, {"at": "latest"}, {"offset": None})
    story.op("list-offsets", KEY, {"at": "latest"}, {"offset": 99}, type="fail", error="X")
    story.op("list-offsets", KEY, {"at": "latest"})


def end_by_another_consumer(story: Data) -> None:
    """Who reads the end in the main phase, or is not the one that reads it; of a leader that is
    new, and does not know yet up to where all is committed."""
    story.fetch(2, consumer="c", high_watermark=2, leader_epoch=1)
    story.phase = "final"
    story.fetch(2, consumer="c", high_watermark=2, leader_epoch=1)


def pending_for_good(story: Data) -> None:
    story.invoke("produce", KEY, {"value": 40, "acks": "all", "idempotent": False})


def tells_of_no_record(story: Data) -> None:
    story.op("fetch", KEY, {"consumer": "c", "from": 4}, {"high_watermark": 4})


def tells_of_no_position(story: Data) -> None:
    answer = {"records": [[1, 11], [2, 13]], "high_watermark": 4}
    story.op("fetch", KEY, {"consumer": "c", "from": 1}, answer)
    story.fetch(3, (3, 14), consumer="c")


def delete_that_was_refused(story: Data) -> None:
    story.delete("t", type="fail")


def repeats_itself(story: Data) -> None:
    """Sent as often as it liked, or nobody knows how often."""
    for value, ext in ((30, {"attempts": 2}), (31, None)):
        story.produce(value, None, type="info", idempotent=False, ext=ext)
        for offset in (20, 21):
            at = offset + 2 * (value == 31)
            story.fetch(at, (at, value), consumer=f"c{at}")


@pytest.mark.parametrize(
    "more",
    [sought_in_vain, sought_twice, failed_between, reported_by_no_number, end_by_another_consumer,
     delete_that_was_refused, repeats_itself, pending_for_good, tells_of_no_record,
     tells_of_no_position],
)  # fmt: skip
def test_what_looks_wrong_and_is_not(more: Callable[[Data], None]) -> None:
    """Whether or not the end is read after it."""
    story = clean()
    more(story)
    assert_valid(partition_data(story.run_events()))
    if more is not repeats_itself:
        story.phase = "main"
        assert_valid(partition_data(ended(story).run_events()))


def test_delete_that_was_refused_is_no_reason_not_to_read() -> None:
    story = Data()
    story.produce(1, 0)
    delete_that_was_refused(story)
    unanswered(story)
    assert_invalid(partition_data(story.run_events()), "cannot be read")


def test_tries_that_are_not_of_one_offset_may_be_accidents() -> None:
    story = clean()
    story.final()
    for begin in (0, 1, 0):
        story.last_fails(begin, TRIES - 1)
    assert not partition_data(story.run_events()).findings


def test_where_nothing_was_acknowledged_nothing_has_to_be_read() -> None:
    story = Data()
    story.produce(1, None, type="info")
    unanswered(story)
    assert not partition_data(story.run_events()).findings


def test_lost_value_is_shown_with_who_passed_it() -> None:
    story = clean()
    passed_twice(story)
    (found,) = partition_data(story.run_events()).findings
    assert len(found.operations) == 2


def test_failures_and_answers_without_a_record_are_reported_apart() -> None:
    story = clean()
    story.final()
    story.last_fails(0, TRIES)
    story.last(0, high_watermark=4)
    assert not partition_data(story.run_events()).findings


# --- how much that is ---------------------------------------------------------------------


def clauses_seen(story: Data) -> dict[str, tuple[str, int]]:
    return {
        each.name: ("" if each.verdict is None else each.verdict.value, each.compared)
        for each in judged(PartitionData(), story).clauses
    }


def test_ends_without_an_epoch_bind_none_before_the_last_read() -> None:
    """They may go back: one is of another leader."""
    story = Data()
    story.create("t")
    for offset in (5, 4, 3, 2, 1):
        story.op("list-offsets", KEY, {"at": "latest"}, {"offset": offset}, node="b1")
    assert clauses_seen(story)["limits"] == ("UNKNOWN", 0)


def test_ends_without_an_epoch_are_held_against_the_last_read() -> None:
    story = Data()
    story.create("t")
    for _ in range(2):
        story.op("list-offsets", KEY, {"at": "latest"}, {"offset": 1}, node="b1")
    story.produce(10, 0)
    before = clauses_seen(story)["limits"]
    story.last(0, (0, 10), leader_epoch=None)
    story.last(1, leader_epoch=None)
    # Either final read tells both ends, and the first of each kind is held against nothing.
    assert (before, clauses_seen(story)["limits"]) == (("UNKNOWN", 0), ("VALID", 4))


def test_beginnings_without_an_epoch_bind_each_other() -> None:
    """The beginning of a log is the same for all leaders."""
    story = Data()
    story.create("t")
    for _ in range(5):
        story.op("list-offsets", KEY, {"at": "earliest"}, {"offset": 0}, node="b1")
    assert clauses_seen(story)["limits"] == ("VALID", 4)


def test_one_answer_of_many_records_shows_of_no_clause_that_it_holds() -> None:
    story = Data()
    story.create("t")
    for value in range(4):
        story.op("produce", KEY, {"value": value, "acks": "1"}, {"topic_id": TOPIC})
    story.fetch(0, *((offset, offset) for offset in range(4)))
    assert clauses_seen(story)["written"][0] == "UNKNOWN"
    story.fetch(0, *((offset, offset) for offset in range(4)))
    assert clauses_seen(story)["written"][0] == "VALID"


def told_of_two_partitions(story: Data, *nodes: str) -> None:
    told = [{"key": key, "size": 70} for key in (KEY, "t/1")]
    for node in nodes:
        story.op("log-dirs", None, {"keys": [KEY, "t/1"]}, told, node=node)


def test_one_answer_about_two_partitions_is_one_sighting() -> None:
    story = Data()
    story.create("t")
    for key in (KEY, "t/1"):
        story.op("produce", key, {"value": 1, "acks": "all"}, {"offset": 0, "topic_id": TOPIC})
    told_of_two_partitions(story, "b1")
    assert clauses_seen(story)["sizes"] == ("UNKNOWN", 1)
    told_of_two_partitions(story, "b2")
    assert clauses_seen(story)["sizes"] == ("VALID", 4)


@pytest.mark.parametrize("f", ["log-dirs", "producers"])
@pytest.mark.parametrize(("times", "answered"), [(5, 0), (4, 0), (5, 1)])
def test_brokers_that_are_asked_and_never_tell_gave_occasion(
    f: str, times: int, answered: int
) -> None:
    story = clean()
    asked = {"keys": [KEY]} if f == "log-dirs" else None
    for number in range(times):
        done = "ok" if number < answered else "info"
        key = None if f == "log-dirs" else KEY
        story.op(f, key, asked, [] if done == "ok" else None, type=done, node="b1")
    name = "sizes" if f == "log-dirs" else "producers"
    in_vain = times == 5 and not answered
    assert (clauses_seen(story)[name] == ("UNKNOWN", 0)) == in_vain


# --- what observers are told --------------------------------------------------------------


def test_observers_that_ask_first_are_heard_as_well() -> None:
    story = Data()
    for key in ("u/0", KEY):
        story.ask("b1", "log-ends", {"ends": [{"key": key, "offset": 0, "leader_epoch": 0}]})
    story.produce(10, 0)
    story.fetch(0, (0, 10))
    ((key, outcome),) = by_topic(story).items()
    assert (key, (outcome.clauses or {})["limits"]) == (KEY, 1)


def test_observers_tell_of_partitions_that_clients_work_on() -> None:
    story = clean()
    story.create("t")
    ends = [{"key": key, "offset": 4, "leader_epoch": 0} for key in (KEY, "u/0")]
    story.ask("b1", "log-ends", {"ends": ends})
    story.ask("b1", "describe-topics", {"topics": [{"name": "t", "topic_id": TOPIC}]})
    (found,) = by_topic(story).items()
    assert found[0] == KEY
    before = partition_data(clean().run_events()).clauses or {}
    assert (found[1].clauses or {})["limits"] == before["limits"] + 1


@settings(max_examples=cases(200), deadline=None)
@given(st.integers(0, 2**32))
def test_agrees_with_brute_force(seed: int) -> None:
    """Any claims at all against any final log: acknowledged and read values are right if the log
    holds each where it was said to be, and nothing that was refused or twice."""
    draw = random.Random(seed)
    story = Data()
    log = [draw.randrange(5) for _ in range(draw.randint(0, 4))]
    state: dict[int, str] = {}
    wrong = False
    for value in range(5):
        state[value] = draw.choice(["ok", "fail", "info"])
        offset = log.index(value) if value in log and draw.random() < 0.9 else draw.randrange(5)
        if state[value] == "ok":
            wrong |= offset >= len(log) or log[offset] != value
        story.produce(value, offset if state[value] == "ok" else None, type=state[value])
    for number in range(draw.randrange(3)):
        begin = draw.randrange(4)
        read = [(at, log[at]) for at in range(begin, len(log)) if at < begin + 2]
        if draw.random() < 0.2:
            at, value = begin, draw.randrange(5)
            read = [(at, value)]
            wrong |= at >= len(log) or log[at] != value or state[value] == "fail"
        story.fetch(begin, *read, consumer=f"c{number}")
        wrong |= begin > len(log) and not read
    story.last(0, *enumerate(log))
    wrong |= any(state[value] == "fail" or log.count(value) > 1 for value in log)
    assert (not partition_data(story.run_events()).findings) == (not wrong)
