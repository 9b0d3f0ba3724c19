"""What answers showed of partitions, and what of it can still be contradicted while a run goes on
(`metadata-answers`)."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from checkers.folds.history.observations import with_observations
from checkers.folds.history.sights import Partition, Sight, states_shown
from framework.checking.run_checks import Kept
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation


def as_shown(events: RunEvents) -> RunEvents:
    """All answers as of clients, each about one topic."""
    return replace(with_observations(events), observations=())


def about(operation: Operation) -> Iterator[Hashable]:
    """Of each partition that it shows its topic's id, and by which name others are asked for."""
    if operation.f == "reassign":
        yield str(operation.key)
    for each in states_shown(operation):
        topic_id, number = each.key
        yield topic_id, None
        yield f"{operation.key}/{number}"


def kept_so_far(over: RunEvents) -> Kept:
    """All wishes; of each partition the first replicas and one that showed its newest version: if
    others showed another state of that, it is broken already. What shows an older version reaches
    back."""
    kept = [each for each in over.operations if each.f == "reassign"]
    newest: dict[Partition, int] = {}
    for key, own in states_by_partition(over.operations).items():
        versions = [each.version for each in own if each.version is not None]
        newest[key] = max(versions, default=-1)
        first = [each for each in own if each.replicas is not None][:1]
        last = [each for each in own if each.version == newest[key]][:1]
        kept += (each.operation for each in (*first, *last))

    def reaches_back(operation: Operation) -> bool:
        return any(
            each.version is not None and each.version < newest.get(each.key, -1)
            for each in states_shown(operation)
        )

    return Kept(kept, reaches_back=reaches_back)


def states_by_partition(operations: Iterable[Operation]) -> Mapping[Partition, list[Sight]]:
    found: dict[Partition, list[Sight]] = defaultdict(list)
    for sight in chain.from_iterable(map(states_shown, operations)):
        found[sight.key].append(sight)
    return found
