"""Whether changes of configurations came to what was asked: in the committed log, and by what
brokers tell of themselves in the end. Findings are without a clause."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from checkers.folds.history.values import changed_configs, topic_answer
from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.requests.configured import (
    BY_ITSELF,
    OF_ALL_BROKERS,
    OF_BROKERS,
    OF_TOPICS,
    SHOWN_OF_BROKERS,
    Changes,
    Logged,
    broker,
    last_writes,
    may_be,
    of_nobody,
    ungranted,
)
from framework.checking.findings import finding
from framework.history.pairing import Operation
from framework.plugins.checker import Finding

MayBe: TypeAlias = Mapping[str, Sequence[str | None]]
"""By setting, the values that it may have; None: none."""


def granted_changes(operations: Iterable[Operation]) -> tuple[int, int]:
    """How many changes were acknowledged, and of how many settings of brokers."""
    granted = [each for each in operations if each.f in (OF_TOPICS, OF_BROKERS) and each.ok]
    of_brokers = {
        (str(each.key), name)
        for each in granted
        if each.f == OF_BROKERS
        for name, _ in changed_configs(each)
    }
    return len(granted), len(of_brokers)


def by_the_log(
    log: CommittedLog, changes: Changes, creates: Iterable[Operation], *, once: bool
) -> tuple[int, list[Finding]]:
    """How many records and acknowledged changes were held against each other, and what is wrong.
    `creates`: those that were not refused. `once`: a request that is sent again, by whoever
    forwards it, is not done again. A log with a gap may lack some changes, and one that never has a
    topic says nothing of its changes."""
    logged = Logged.of(log, changes)
    compared = len(logged.records)
    found = [
        finding(
            f"the record at offset {record.offset} gives {record.resource or 'all brokers'} "
            f"{record.name}={either([record.value])}, and nobody had asked for that"
            f"{', or not so often' * once}",
            evidence=[record],
        )
        for record in of_nobody(logged, creates, once=once)
    ]
    if log.gap is not None or not log.records:
        return compared, found
    for (resource, name), held in logged.held.items():
        writes = changes[resource].get(name, ())
        compared += sum(each.operation.ok for each in writes)
        found += ungranted(writes, held, f"{name}=")
    return compared, found


def by_brokers(operations: Iterable[Operation], changes: Changes) -> tuple[int, list[Finding]]:
    """How many settings that were changed brokers told in the final phase, of themselves and of all
    brokers, and what is wrong."""
    compared, found = 0, list[Finding]()
    for read in operations:
        if read.f != SHOWN_OF_BROKERS or not read.ok or read.phase != "final":
            continue
        resource = broker(str(read.key))
        own, shown = changes.get(resource, {}), dict(topic_answer(read)["configs"])
        compared += len(own)
        for name in sorted({*own, *shown}):
            if (resource, name) in BY_ITSELF:
                continue
            writes = own.get(name, ())
            values = may_be(None, None, writes, read)
            if shown.get(name) not in values:
                of_all = read.key == OF_ALL_BROKERS
                message = (
                    f"{read.node if of_all else read.key} tells {name}={either([shown.get(name)])} "
                    f"of {'all brokers' if of_all else 'itself'} in the end, operation "
                    f"{read.index}, not {either(values)}"
                )
                asked = [each.operation for each in last_writes(writes, read)]
                found.append(finding(message, [*asked, read]))
    return compared, found


def either(values: Iterable[str | None]) -> str:
    """In words."""
    return " or ".join(dict.fromkeys("none" if each is None else each for each in values))
