"""What was produced is what is fetched (D.18)."""

import random
from typing import Any

from contract import Plants
from hypothesis import given, settings
from hypothesis import strategies as st
from planted_runs import TOPIC, Story, assert_valid

from checkers.partition_data import partition_data
from framework.history.pairing import Operation

KEY = "t/0"


class Data(Story):
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
            "high_watermark": after,
            "log_start": 0,
            "position": after,
            "leader_epoch": 0,
            **more,
        }
        return self.op("fetch", KEY, {"consumer": consumer, "from": begin}, result)

    def last(self, begin: int, *records: tuple[int, int], **more: Any) -> Operation:
        self.phase = "final"
        return self.fetch(begin, *records, consumer="final", **more)

    def seek(self, to: int, consumer: str = "a") -> None:
        self.op("seek", KEY, {"consumer": consumer, "to": to}, None)

    def offsets(self, at: str, offset: int) -> None:
        self.op("list-offsets", KEY, {"at": at}, {"offset": offset})


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


def test_clean_history_is_accepted() -> None:
    """Also a repeated value of a producer that is not idempotent."""
    outcome = partition_data(ended(clean()).run_events())
    assert_valid(outcome)
    assert outcome.figures["acknowledged"] == 2
    assert outcome.figures["without_final_read"] == 0


def test_without_a_final_read_the_end_is_not_judged() -> None:
    story = clean()
    story.produce(18, 9)
    outcome = partition_data(story.run_events())
    assert_valid(outcome)
    assert outcome.figures["without_final_read"] == 1


def test_partition_of_which_nothing_is_told_says_nothing() -> None:
    story = Data()
    story.produce(1, None, type="fail")
    assert partition_data(story.run_events()).seen == 0


PLANTED = Plants.of(
    lambda: ended(clean()),
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
            "value 15 was read at offset 8",
            lambda s: s.fetch(8, (8, 15), consumer="c"),
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


def test_what_retention_removed_is_not_lost() -> None:
    story = clean()
    story.last(0, (2, 13), (3, 14), log_start=2, position=4, high_watermark=4)
    assert_valid(partition_data(story.run_events()))


def test_fetches_of_one_consumer_that_overlap_have_no_order() -> None:
    story = clean()
    first = story.invoke("fetch", KEY, {"consumer": "b", "from": 1})
    story.fetch(0, (0, 10), consumer="c")
    second = story.invoke("fetch", KEY, {"consumer": "b", "from": 0})
    answer = {"records": [], "high_watermark": 4, "position": 1}
    story.complete(first, "ok", answer)
    story.complete(second, "ok", {**answer, "position": 0})
    assert_valid(partition_data(story.run_events()))


@settings(max_examples=200, deadline=None)
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
