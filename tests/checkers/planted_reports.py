"""Runs in which brokers tell of their replicas: how large logs are, who wrote to them, what is in
them."""

from dataclasses import dataclass
from typing import Any

from contract import Plants
from planted_runs import NODES, TOPIC, Story

from framework.history.pairing import Operation

KEY = "r/0"
BATCH = 70
"""Bytes of a batch of one value."""
BROKERS = {"b1": 4, "b2": 5, "b3": 6}


@dataclass
class Reported(Story):
    """One partition of topic `r`, on brokers 4 and 5 of three. `written`: its values, all by
    producer 7, whose epoch is 3."""

    written: int = 0

    def read(self, *isr: int, replicas: tuple[int, ...] = (4, 5), f: str = "describe") -> Operation:
        state = {"leader": 4, "leader_epoch": 0, "replicas": replicas, "isr": isr or replicas}
        shown = {"topic_id": TOPIC, "partitions": [{"partition": 0, **state}]}
        return self.op(f, "r", None, shown, node="b1")

    def sent(self, sent_as: tuple[int, int, int] | None = None, **more: Any) -> Operation:
        """The next value, of the producer's next sequence number."""
        number, self.written = self.written, self.written + 1
        asked = {"value": number, "acks": "all", "idempotent": True, "producer": "p"}
        ext = {"sent_as": sent_as or (7, 3, number)}
        result = {"offset": number, "topic_id": TOPIC}
        return self.op("produce", KEY, asked, result, **{"ext": ext, "node": "b1", **more})

    def sizes(self, node: str, *sizes: int, future: bool | None = None) -> Operation:
        """Of the logs of the partition that it has."""
        told = [{"key": KEY, "size": size} for size in sizes]
        if future is not None:
            told[-1] |= {"future": future}
        return self.op("log-dirs", None, {"keys": [KEY, "r/1"]}, told, node=node)

    def producers(self, *told: tuple[int, int, int]) -> Operation:
        """(id, epoch, last sequence number) of each."""
        names = ("id", "epoch", "last")
        result = [dict(zip(names, each, strict=True)) for each in told]
        return self.op("producers", KEY, None, result, node="b1")

    def gives(self, node: str, *values: int, begin: int = 0, **more: Any) -> Operation:
        """What it has of the partition, from `begin` on: as values, each at the next offset."""
        records = [[begin + number, value] for number, value in enumerate(values)]
        end = begin + len(values)
        told = {"records": records, "high_watermark": end, "log_start": 0, "position": end}
        asked = {"from": begin}
        return self.op("replica-fetch", KEY, asked, {**told, **more}, node=node)

    def move(self, *replicas: int, **more: Any) -> Operation:
        return self.op("reassign", KEY, {"replicas": list(replicas)}, None, **more)

    def delete(self, before: int, **more: Any) -> Operation:  # type: ignore[override]
        told = {"before": before, "low_watermark": before}
        return self.op("delete-records", KEY, {"before": before}, told, node="b1", **more)

    def ends(self, *isr: int, replicas: tuple[int, ...] = (4, 5), begin: int = 0) -> "Reported":
        """Nothing is under way, all is read, and the topic shown."""
        self.final()
        self.op("reassignments", None, None, [])
        told = {
            "records": [[offset, offset] for offset in range(begin, self.written)],
            "high_watermark": self.written,
            "log_start": begin,
            "position": self.written,
            "leader_epoch": 0,
        }
        self.op("fetch", KEY, {"consumer": "final", "from": begin}, told, node="b1")
        self.read(*isr, replicas=replicas)
        return self


def reported() -> Reported:
    """Before the end."""
    story = Reported(plan={"nodes": dict(NODES)})
    story.read()
    for _ in range(5):
        story.sent()
    story.sizes("b1", 5 * BATCH)
    story.sizes("b2", 2 * BATCH)
    story.sizes("b3")
    story.producers((7, 3, 4))
    return story


def told_all(story: Reported) -> Reported:
    """Of two in sync."""
    for node in ("b1", "b2"):
        story.gives(node, *range(story.written))
        story.sizes(node, story.written * BATCH)
    story.sizes("b3")
    story.producers((7, 3, story.written - 1))
    return story


def whole() -> Reported:
    return told_all(reported().ends())


def moved() -> Reported:
    """To brokers 5 and 6, in the middle of it."""
    story = reported()
    story.move(5, 6)
    return story.ends(replicas=(5, 6))


REPORTS = Plants(whole)


# --- sizes


@REPORTS.violation("b3 tells of a log, and brokers [4, 5] alone were to have one", on=reported)
def a_broker_has_a_log_of_which_it_is_no_replica(story: Reported) -> None:
    story.sizes("b3", BATCH)


@REPORTS.violation("b3 tells of a log, and brokers [4, 5] alone", on=reported)
def a_broker_has_a_log_before_somebody_wants_it_to(story: Reported) -> None:
    story.sizes("b3", 0)
    story.move(5, 6)


@REPORTS.violation("b1 tells of a log of 641 bytes, and 5 values of 128 bytes at most", on=reported)
def a_log_is_larger_than_all_that_was_sent(story: Reported) -> None:
    story.sizes("b1", 641)


@REPORTS.violation("b1 tells of a log of -1 bytes", on=reported)
def a_size_is_below_nothing(story: Reported) -> None:
    story.sizes("b1", -1)


@REPORTS.violation("b1 tells of other logs than the one that it serves", on=reported)
def a_log_is_told_twice(story: Reported) -> None:
    story.sizes("b1", BATCH, BATCH)


@REPORTS.violation("b1 tells of other logs than the one that it serves", on=reported)
def a_log_is_moved_to_another_directory(story: Reported) -> None:
    story.sizes("b1", BATCH, future=True)


@REPORTS.violation("b2 tells of no log, though it is in sync")
def who_is_in_sync_tells_of_no_log_in_the_end(story: Reported) -> None:
    story.sizes("b2")


@REPORTS.violation("b2 tells of a log of 0 bytes, though it is in sync", "5 records of 61 bytes")
def who_is_in_sync_has_an_empty_log_in_the_end(story: Reported) -> None:
    story.sizes("b2", 0)


@REPORTS.violation("b2 tells of a log of 304 bytes, though it is in sync")
def who_is_in_sync_lacks_a_record_in_the_end(story: Reported) -> None:
    story.sizes("b2", 304)


@REPORTS.violation("b3 tells of no log, though it is in sync", on=moved)
def who_came_by_a_move_tells_of_no_log(story: Reported) -> None:
    story.sizes("b3")


@REPORTS.violation("b2 tells of a log of 0 bytes, though", "3 records of 61", on=reported)
def who_is_in_sync_lacks_what_was_not_deleted(story: Reported) -> None:
    story.delete(2)
    story.ends(begin=2)
    story.sizes("b2", 0)


# --- producers


@REPORTS.violation("b1 tells of producer 8, and nobody wrote under that id", on=reported)
def a_producer_is_told_that_nobody_was(story: Reported) -> None:
    story.producers((7, 3, 4), (8, 0, 0))


@REPORTS.violation("b1 tells of producer 8, and nobody wrote under that id", on=reported)
def a_producer_is_told_before_it_wrote(story: Reported) -> None:
    story.producers((8, 0, 0))
    story.sent((8, 0, 0))


@REPORTS.violation("b1 tells of producer 7 in epoch 4, and it wrote in 3", on=reported)
def a_producer_is_told_in_another_epoch(story: Reported) -> None:
    story.producers((7, 4, 4))


@REPORTS.violation("sequence number 5 of producer 7, which had sent 4 as its last", on=reported)
def a_producer_is_told_further_than_it_was(story: Reported) -> None:
    story.producers((7, 3, 5))
    story.sent()


@REPORTS.violation("b1 knows producer 7 not at all, and had acknowledged its sequence number 4")
def a_producer_is_forgotten(story: Reported) -> None:
    story.producers()


@REPORTS.violation("b1 knows producer 7 as far as 3, and had acknowledged its sequence number 4")
def a_producer_is_further_than_its_partition_knows(story: Reported) -> None:
    story.producers((7, 3, 3))


# --- what replicas give

REPLICAS = Plants(whole)


@REPLICAS.violation("offset 4 holds 4 by operation", "and 3 by operation")
def a_replica_has_another_value(story: Reported) -> None:
    story.gives("b2", 3, begin=4)


@REPLICAS.violation("value 2 was acknowledged at offset 2", "passed it")
def a_replica_lacks_a_record_in_the_middle(story: Reported) -> None:
    story.gives("b2", records=[[0, 0], [1, 1], [3, 3], [4, 4]], position=5)


@REPLICAS.violation("read 99 at offset 5, which nobody produced")
def a_replica_has_what_nobody_wrote(story: Reported) -> None:
    story.gives("b3", 99, begin=5)


@REPLICAS.violation("read 5 at offset 5; operation", "had failed with X")
def a_replica_has_what_was_refused(story: Reported) -> None:
    story.sent(type="fail", error="X")
    story.gives("b2", 5, begin=5)


@REPLICAS.violation("value 5 was read at offset 5", "the partition ends at 5")
def a_replica_has_more_than_its_leader(story: Reported) -> None:
    """It was never cut off: nobody knows whether it was written."""
    story.sent(type="info", error="X")
    story.gives("b2", 5, begin=5)


@REPLICAS.violation("(replica-fetch) was told a high watermark of 9; the partition ends at 5")
def a_replica_knows_more_to_be_committed_than_there_is(story: Reported) -> None:
    story.gives("b2", *range(5), high_watermark=9)


@REPLICAS.violation("was given offset 0 of a log that begins at 2")
def a_replica_gives_what_is_not_in_its_log_by_the_same_answer(story: Reported) -> None:
    story.gives("b2", *range(5), log_start=2)


@REPLICAS.violation("was given the offsets [1, 0]")
def a_replica_gives_records_in_another_order(story: Reported) -> None:
    story.gives("b2", records=[[1, 1], [0, 0]], position=2)


@REPLICAS.violation("offset 5 holds 5 by operation", "and 6 by operation", on=reported)
def two_replicas_differ_where_nobody_else_looks(story: Reported) -> None:
    for value in (5, 6):
        story.sent(type="info", error="X")
        story.gives("b1" if value == 5 else "b2", value, begin=5)
