"""Topics as reads show them, as the committed log makes them, and as they are configured in the
end."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from checkers.folds.history.values import topic_answer
from checkers.folds.metadata_log.committed_log import CommittedLog
from checkers.folds.requests.asked_topics import Replicas, Shown, id_of
from checkers.folds.requests.configured import Changes
from checkers.folds.requests.reassigned import wanted_by, wishes_of
from framework.evidence.changes import (
    TOPIC_RESOURCE,
    Change,
    ConfigSet,
    EligibleForgotten,
    OtherChange,
    PartitionCreated,
    TopicCreated,
    VotersNamed,
)
from framework.evidence.run_events import RunEvents
from framework.history.pairing import Operation

_BESIDE: Final = (OtherChange, EligibleForgotten, VotersNamed)
"""What may stand among a topic's records and says nothing of it."""


def reads_of(operations: Sequence[Operation], final: bool) -> Iterator[Shown]:
    wishes = wishes_of(operations)
    for operation in operations:
        topic_id = id_of(operation) if operation.ok else None
        if operation.f not in ("describe", "follow", "metadata") or topic_id is None:
            continue
        reported = topic_answer(operation).get("partitions")
        if reported is not None:
            partitions = {
                each["partition"]: None
                if wanted_by(wishes, f"{operation.key}/{each['partition']}", operation) is not None
                else _replicas(each.get("replicas"))
                for each in reported
            }
            whole = operation.f in ("describe", "follow") or (final and operation.phase == "final")
            yield Shown(str(operation.key), topic_id, operation, partitions=partitions, whole=whole)


def _replicas(reported: Sequence[int] | None) -> Replicas | None:
    return None if reported is None else tuple(reported)


def records_of(log: CommittedLog) -> Iterator[tuple[Shown, int]]:
    """Each topic with what stands around its record: its configuration before it or behind it, and
    what Kafka clears as that is set, then its partitions; and when somebody had applied that."""
    for change, by_ns in zip(log.records, log.by_ns, strict=True):
        if not isinstance(change, TopicCreated):
            continue
        before = _configured_before(log, change)
        configs: dict[str, str] = {}
        for each in before:
            _configure(configs, each)
        made: list[Change] = [*before, change]
        partitions: dict[int, Replicas | None] = {}
        after = log.at(change.offset + 1)
        while isinstance(after, (ConfigSet, PartitionCreated, *_BESIDE)):
            if isinstance(after, PartitionCreated) and after.topic_id == change.topic_id:
                partitions.setdefault(after.partition, after.replicas)
            elif partitions or not (isinstance(after, _BESIDE) or _configures(after, change)):
                break
            elif isinstance(after, ConfigSet):
                _configure(configs, after)
            made.append(after)
            after = log.at(after.offset + 1)
        if after is not None:  # else nobody tells where it ends
            shown = Shown(
                change.name,
                change.topic_id,
                records=made,
                partitions=partitions,
                whole=True,
                configs=configs,
            )
            yield shown, by_ns


def _configured_before(log: CommittedLog, topic: TopicCreated) -> Sequence[ConfigSet]:
    """Configurations are by name, so a create may set them first: in the order of the log."""
    found: list[ConfigSet] = []
    before = log.at(topic.offset - 1)
    while isinstance(before, ConfigSet) and _configures(before, topic):
        found.insert(0, before)
        before = log.at(before.offset - 1)
    return found


def _configure(configs: dict[str, str], change: ConfigSet) -> None:
    """No value takes one away."""
    if change.value is None:
        configs.pop(change.name, None)
    else:
        configs[change.name] = change.value


def _configures(change: Change, topic: TopicCreated) -> bool:
    return isinstance(change, ConfigSet) and (
        (change.resource_type, change.resource) == (TOPIC_RESOURCE, topic.name)
    )


def _final_ids(reads: Iterable[Shown]) -> Mapping[str, set[str]]:
    """The ids under which the final phase shows each topic."""
    ids: dict[str, set[str]] = defaultdict(set)
    for read in reads:
        if read.operation is not None and read.operation.phase == "final":
            ids[read.name].add(read.topic_id)
    return ids


def asked_for_configs(events: RunEvents) -> int:
    """Topics that are there in the end and whose configurations were asked for, answered or not."""
    ids = _final_ids(reads_of(events.operations, final=True))
    asked = {
        str(each.key)
        for each in events.operations
        if each.f == "describe-configs" and each.phase == "final"
    }
    return sum(len(ids.get(name, ())) == 1 for name in asked)


def configs_of(
    operations: Iterable[Operation], reads: Iterable[Shown], changes: Changes
) -> Iterator[Shown]:
    """Configurations in the final phase, of topics that its other reads show, under one id."""
    ids = _final_ids(reads)
    for operation in operations:
        name = str(operation.key)
        if operation.f != "describe-configs" or not operation.ok or operation.phase != "final":
            continue
        if isinstance(operation.result, dict) and len(ids.get(name, ())) == 1:
            (topic_id,) = ids[name]
            yield Shown(
                name,
                topic_id,
                operation,
                configs=dict(topic_answer(operation)["configs"]),
                changes=changes.get((TOPIC_RESOURCE, name), {}),
            )
