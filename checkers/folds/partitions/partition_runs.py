"""A run taken apart by partition: what was done on each, and what bears on it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from checkers.folds.history.observations import with_observations
from checkers.folds.history.power_losses import apart, power_losses
from checkers.folds.history.topic_ids import LIVES, by_topic_id, topic_lives, topic_of
from checkers.folds.partitions.claims import acknowledged_by, fetch_of, unplaced_by, unread_of
from checkers.folds.partitions.replica_reads import OF_REPLICAS
from checkers.folds.partitions.told_logs import LOGS, READS, by_key
from checkers.folds.partitions.told_producers import PRODUCERS
from checkers.folds.requests.configured import OF_BROKERS, OF_TOPICS
from checkers.folds.requests.reassigned import MOVES
from framework.checking.keyed import unquoted
from framework.evidence.run_events import RunEvents
from framework.history.jsonl import compact
from framework.history.pairing import Operation

DATA: Final = ("produce", "fetch", "list-offsets", "seek", "delete-records")
FS: Final = (*DATA, OF_REPLICAS, PRODUCERS, LOGS, *READS, *MOVES, *LIVES, OF_TOPICS, OF_BROKERS)


def by_partition(events: RunEvents) -> Mapping[str, RunEvents]:
    """The operations on each partition, by its key, with those that make, show, configure and
    remove its topic, configure brokers, or move partitions. What an observer was told counts where
    clients work on a partition, too; what a broker told of several counts for each of them."""
    keys: dict[str, list[Operation]] = defaultdict(list)
    topics: dict[str, list[Operation]] = defaultdict(list)
    brokers = [each for each in events.operations if each.f == OF_BROKERS]
    moves = [each for each in events.operations if each.f in MOVES]
    worked_on = {each.key for each in events.operations if each.f in DATA}
    for operation in with_observations(events).operations:
        if operation.f == LOGS:
            for each in by_key([operation]):
                if each.key in worked_on:
                    keys[str(each.key)].append(each)
        elif operation.f in (*LIVES, *READS, OF_TOPICS):
            topics[unquoted(compact(operation.key))].append(operation)
        elif operation.key in worked_on:
            keys[unquoted(compact(operation.key))].append(operation)
    lives = topic_lives(events.operations)
    losses = power_losses(each.entries for each in events.faults)
    return {
        (key if topic_id is None else f"{key} of {topic_id}") + before: replace(
            events,
            operations=[
                *(*brokers, *topics[topic_of(own[0])], *moves),
                *(_as_far_as_read(part) if before else part),
            ],
        )
        for key, own in keys.items()
        for topic_id, group in by_topic_id(lives, own).items()
        for before, part in apart(losses, group).items()
    }


def _as_far_as_read(operations: Sequence[Operation]) -> list[Operation]:
    """Without promises that nobody came to look after, before a loss that may have broken them."""
    fetches = [fetch_of(each) for each in operations if each.f == "fetch" and each.ok]
    produces = [each for each in operations if each.f == "produce"]
    open_still = {each.operation.index for each in unread_of(acknowledged_by(produces), fetches)}
    open_still |= {each.index for each in unplaced_by(produces)}
    return [
        replace(each, type="info", result=None) if each.index in open_still else each
        for each in operations
    ]


def key_of_run(events: RunEvents) -> str:
    """The partition whose operations these are."""
    of_partition = (*DATA, OF_REPLICAS, LOGS, PRODUCERS)
    return next((str(each.key) for each in events.operations if each.f in of_partition), "/0")
