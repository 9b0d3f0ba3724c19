"""Creates that were only to be tried: what they would have made, and whether anybody looked."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from checkers.folds.history.values import topic_answer
from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.requests.asked_topics import Ask
from checkers.folds.requests.controller_reads import DRY_RUNS
from framework.history.pairing import Operation

LOOKS: Final = ("describe", "follow", "metadata")
NO_ID: Final = "of none"
"""What would be made has none."""

Tried: TypeAlias = Mapping[str, Sequence[Operation]]
"""Dry runs by the names of their topics."""


def tried_by_name(operations: Iterable[Operation]) -> Tried:
    """Whatever became of them."""
    found: dict[str, list[Operation]] = defaultdict(list)
    for each in operations:
        if each.f in DRY_RUNS:
            found[str(each.key)].append(each)
    return found


def would_make(tried: Tried) -> Iterator[tuple[Ask, str]]:
    """Those that were told that the topic would be made, as what they asked for."""
    for own in tried.values():
        for each in own:
            if each.ok and not topic_answer(each).get("exists"):
                yield Ask.of(each), NO_ID


def came_to_nothing(tried: Tried, log: CommittedLog, operations: Iterable[Operation]) -> int:
    """How many of these would have been seen to make a topic, in the log or by who looked."""
    looked_for = {str(each.key) for each in operations if each.f in LOOKS and each.ok}
    names = [str(ask.operation.key) for ask, _ in would_make(tried)]
    return len(names) if log.records else sum(name in looked_for for name in names)
