"""Configurations that are changed (KIP-339): what each may be, by who asked for what and when, and
what the log made of it.

Each setting of a topic or a broker is a register of its own. A value is explained by a write of it
that no acknowledged write surely followed: one that was invoked when the first one had been
answered. A write of unknown fate may take effect at any time after its invocation, so that none
surely follows it.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final, TypeAlias

from checkers.folds.history.operations import end_of
from checkers.folds.history.values import changed_configs, create_topic
from checkers.folds.metadata_log.committed_log import CommittedLog
from framework.checking.findings import finding
from framework.evidence.changes import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    ConfigSet,
    TopicCreated,
    TopicRemoved,
)
from framework.history.pairing import Operation
from framework.plugins.checker import EVENTS, Finding

OF_TOPICS: Final = "configure"
OF_BROKERS: Final = "configure-broker"
SHOWN_OF_BROKERS: Final = "describe-broker-configs"
OF_ALL_BROKERS: Final = "brokers"
"""The key of operations on what is set for all brokers."""
CHANGES: Final = (OF_TOPICS, OF_BROKERS, SHOWN_OF_BROKERS)

Configs: TypeAlias = Mapping[str, str]
Resource: TypeAlias = tuple[int, str]
"""(type, name), as the log has them."""


@dataclass(frozen=True, slots=True)
class Write:
    """Of one setting, by an operation that was not refused. `value` None: it is taken away."""

    operation: Operation
    value: str | None


Writes: TypeAlias = Mapping[str, Sequence[Write]]
"""By setting, in the order of their invocations."""
Changes: TypeAlias = Mapping[Resource, Writes]


def changes_of(operations: Iterable[Operation]) -> Changes:
    """All that clients asked for, but for what creates did."""
    found: dict[Resource, dict[str, list[Write]]] = defaultdict(lambda: defaultdict(list))
    for each in operations:
        if each.f in (OF_TOPICS, OF_BROKERS) and not each.failed:
            for name, value in changed_configs(each):
                found[_resource(each)][name].append(Write(each, value))
    return {resource: dict(writes) for resource, writes in found.items()}


def _resource(change: Operation) -> Resource:
    key = str(change.key)
    return (TOPIC_RESOURCE, key) if change.f == OF_TOPICS else broker(key)


def broker(key: str) -> Resource:
    """Of an operation's key, `broker-<id>`, or that of all brokers, whose resource has no name."""
    return BROKER_RESOURCE, "" if key == OF_ALL_BROKERS else key.removeprefix("broker-")


BY_ITSELF: Final = frozenset({(broker(OF_ALL_BROKERS), "min.insync.replicas")})
"""Settings that a system may write of its own accord, for what its nodes were configured with: a
controller of Apache Kafka does once it tracks who is eligible to lead (KIP-966;
ConfigurationControlManager.maybeGenerateElrSafetyRecords). Nobody is asked to change those."""


def configs_asked(create: Operation) -> Configs:
    """What a create asked for."""
    value = create_topic(create) if isinstance(create.value, dict) else {}
    return dict(value.get("configs") or ())


# --- by clients ---------------------------------------------------------------------------


def may_be(
    first: str | None, made: Operation | None, writes: Sequence[Write], read: Operation
) -> Sequence[str | None]:
    """The values of a setting that a read may show. `first`: the one with which `made`, a create,
    made the topic; None: that there was in the beginning. Writes that had been answered before the
    create were of another topic."""
    own = [each for each in writes if made is None or not _before(each.operation, made)]
    last = last_writes(own, read)
    over = any(
        _before(each.operation, read) and (made is None or _before(made, each.operation))
        for each in last
    )
    return [*([] if over else [first]), *(each.value for each in last)]


def last_writes(writes: Iterable[Write], read: Operation) -> Sequence[Write]:
    """Those of which one was the last one that the read saw, if it saw any: which had begun when it
    was answered, and which none surely followed that surely came before it. The newest one that did
    is among them."""
    begun = [each for each in writes if each.operation.index < end_of(read)]
    surely = (each.operation.index for each in begun if _before(each.operation, read))
    newest = max(surely, default=-1)
    return [each for each in begun if not each.operation.ok or end_of(each.operation) > newest]


def _before(one: Operation, other: Operation) -> bool:
    """It took effect before the other one was asked for."""
    return one.ok and one.precedes(other)


# --- by the log ---------------------------------------------------------------------------


@dataclass(slots=True)
class Logged:
    """What the log says of the resources that clients changed.

    records: those that set or take away something, and when somebody had applied each.
    held: by resource and setting, the values that it had, in order, while the resource was there.
    """

    changes: Changes
    records: list[tuple[ConfigSet, int]] = field(default_factory=list)
    held: dict[tuple[Resource, str], list[str | None]] = field(default_factory=dict)
    _values: dict[Resource, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    _there: set[Resource] = field(default_factory=set)
    _topics: dict[str, Resource] = field(default_factory=dict)

    @classmethod
    def of(cls, log: CommittedLog, changes: Changes) -> "Logged":
        """Brokers are there from the beginning. A topic's configuration may be set before its
        record or behind it, and ends with it."""
        found = cls(changes)
        for resource in changes:
            if resource[0] == BROKER_RESOURCE:
                found._begin(resource)
        for change, by_ns in zip(log.records, log.by_ns, strict=True):
            if isinstance(change, ConfigSet):
                found._set(change, by_ns)
            elif isinstance(change, TopicCreated):
                resource = found._topics[change.topic_id] = TOPIC_RESOURCE, change.name
                found._begin(resource)
            elif isinstance(change, TopicRemoved) and change.topic_id in found._topics:
                resource = found._topics[change.topic_id]
                found._there.discard(resource)
                found._values.pop(resource, None)
        return found

    def _begin(self, resource: Resource) -> None:
        self._there.add(resource)
        for name in self.changes.get(resource, ()):
            self._hold(resource, name)

    def _set(self, change: ConfigSet, by_ns: int) -> None:
        resource = change.resource_type, change.resource
        if resource not in self.changes:
            return
        values = self._values[resource]
        if change.value is None and change.name not in values:
            return  # it takes nothing away
        if change.value is None:
            del values[change.name]
        else:
            values[change.name] = change.value
        self.records.append((change, by_ns))
        if resource in self._there:
            self._hold(resource, change.name)

    def _hold(self, resource: Resource, name: str) -> None:
        value = self._values[resource].get(name)
        self.held.setdefault((resource, name), []).append(value)


def of_nobody(logged: Logged, creates: Iterable[Operation], *, once: bool) -> Iterator[ConfigSet]:
    """Records of what nobody had asked for by then, neither by a change nor by the create of a
    topic. `once`: each of those made one record at most."""
    since_ns: dict[tuple[Resource, str, str | None], list[int]] = defaultdict(list)
    for wanted, began_ns in _wanted(logged.changes, creates):
        heappush(since_ns[wanted], began_ns)
    for record, by_ns in logged.records:
        resource = record.resource_type, record.resource
        if (resource, record.name) in BY_ITSELF:
            continue
        began = since_ns[resource, record.name, record.value]
        if not began or began[0] > by_ns:
            yield record
        elif once:
            heappop(began)


def _wanted(
    changes: Changes, creates: Iterable[Operation]
) -> Iterator[tuple[tuple[Resource, str, str | None], int]]:
    for resource, writes in changes.items():
        for name, own in writes.items():
            for each in own:
                yield (resource, name, each.value), each.operation.began_ns
    for create in creates:
        for name, value in configs_asked(create).items():
            yield ((TOPIC_RESOURCE, str(create.key)), name, value), create.began_ns


def unmade(writes: Iterable[Write], held: Sequence[str | None]) -> Iterator[Write]:
    """Acknowledged writes of a setting that the values that it had do not show, one behind the
    other: of two, the one that surely followed has no earlier place. Each is given the first one
    that it can have, which leaves most to the others."""
    places: dict[str | None, list[int]] = defaultdict(list)
    for place, value in enumerate(held):
        places[value].append(place)
    over, least = list[tuple[float, int]](), 0
    for each in writes:
        if not each.operation.ok:
            continue
        while over and over[0][0] < each.operation.index:
            least = max(least, heappop(over)[1])
        own = places[each.value]
        at = bisect_left(own, least)
        if at == len(own):
            yield each
        else:
            heappush(over, (end_of(each.operation), own[at]))


def ungranted(writes: Iterable[Write], held: Sequence[str | None], what: str) -> Iterator[Finding]:
    """Those (`unmade`) that were granted all the same. `what`: stands before the value."""
    for each in unmade(writes, held):
        value = "none" if each.value is None else each.value
        yield finding(
            f"operation {each.operation.index} was granted {what}{value} of {each.operation.key}, "
            "and the log does not have that behind what had been granted before",
            [each.operation],
            by=[EVENTS],
        )
