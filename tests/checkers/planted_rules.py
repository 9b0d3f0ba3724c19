"""Stories with the metadata log of Apache Kafka, of any of its versions, in neutral words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from planted_logs import LogStory
from planted_runs import TOPIC

from framework.evidence import changes
from framework.evidence.systems import HeldRule, LogRule, LogRules
from nodes.kafka.log_rules import rules_of
from nodes.kafka.promises.rules import ELIGIBLE_LEADERS, METADATA_VERSION

Fields = dict[str, Any]


def _broker(**of: Any) -> Fields:
    return {
        "broker_id": of["broker_id"],
        "broker_epoch": of["broker_epoch"],
        "process": of["incarnation_id"],
        "fenced": of.get("fenced", True),
        "leaving": of.get("leaving", False),
    }


def _partition(**of: Any) -> Fields:
    lists = ("isr", "eligible", "last_eligible")
    found = {name: tuple(of[name]) for name in lists if of.get(name) is not None}
    same = ("topic_id", "leader", "leader_epoch", "partition_epoch")
    return {**found, "partition": of["partition_id"], **{name: of[name] for name in same}}


def _created(**of: Any) -> Fields:
    return {**_partition(**of), "replicas": tuple(of["replicas"])}


_MADE: Final[Mapping[str, tuple[type[changes.Change], Callable[..., Fields]]]] = {
    "BrokerRecord": (changes.BrokerRegistered, _broker),
    "FenceBrokerRecord": (changes.BrokerFenced, dict),
    "UnfenceBrokerRecord": (changes.BrokerUnfenced, dict),
    "UnregisterBrokerRecord": (changes.BrokerUnregistered, dict),
    "Leaving": (changes.BrokerLeaving, dict),
    "TopicRecord": (
        changes.TopicCreated,
        lambda **of: {"name": of["name"], "topic_id": of["topic_id"]},
    ),
    "RemoveTopicRecord": (changes.TopicRemoved, dict),
    "PartitionRecord": (changes.PartitionCreated, _created),
    "IsrChangeRecord": (changes.PartitionChanged, _partition),
    "ConfigRecord": (
        changes.ConfigSet,
        lambda **of: {
            "resource_type": of["resource_type"],
            "resource": of["resource_name"],
            "name": of["name"],
            "value": of["value"],
        },
    ),
    "FeatureLevelRecord": (
        changes.FeatureSet,
        lambda **of: {"name": of["name"], "level": of["feature_level"]},
    ),
    "Forgotten": (changes.EligibleForgotten, dict),
    "NoOpRecord": (changes.OtherChange, lambda: {"name": "NoOpRecord", "content": "{}"}),
}
"""Names of records in `LogStory` -> the change, and its fields."""


@dataclass
class RuledStory(LogStory):
    """What its records say is told in neutral words."""

    processes: dict[int, str] = field(default_factory=dict)

    def record(self, kind: str, **record: Any) -> int:
        make, fields = _MADE[kind]
        at = self.offset
        head = {"node": "c1", "incarnation": "1", "seq": at, "epoch": self.epoch, "offset": at}
        if kind == "BrokerRecord":
            self.processes[record["broker_id"]] = record["incarnation_id"]
        self.evidence.append(make(**head, **fields(**record)))
        self.offset += 1
        return at

    def again(self, broker: int, **more: Any) -> int:
        """The same process registers; as it was, unless something else is said."""
        epoch, process = self.epochs[broker], self.processes[broker]
        same = {"broker_epoch": epoch, "incarnation_id": process, "fenced": False}
        at = self.register(broker, **{**same, **more})
        self.epochs[broker] = {**same, **more}["broker_epoch"]
        return at

    def leave(self, broker: int, epoch: int | None = None) -> int:
        epoch = self.epochs[broker] if epoch is None else epoch
        return self.record("Leaving", broker_id=broker, broker_epoch=epoch)

    def forget(self, topic: str | None = "t") -> int:
        return self.record("Forgotten", topic=topic)

    def of_all_brokers(self, name: str, value: str | None) -> int:
        return self.record(
            "ConfigRecord", resource_type=4, resource_name="", name=name, value=value
        )

    def reassign(self, replicas: list[int], isr: list[int], **more: Any) -> int:
        """Of t/0, whose leader stays."""
        leader, leader_epoch, version = self.versions[TOPIC, 0]
        state = {
            "isr": isr,
            "leader": leader,
            "leader_epoch": leader_epoch,
            "partition_epoch": version + 1,
            **more,
        }
        at = self.new_partition(replicas, **state)
        self.versions[TOPIC, 0] = (state["leader"], state["leader_epoch"], version + 1)
        return at


def kafka(release: str = "4.2.0", level: int = 29, eligible: int = 1) -> RuledStory:
    """A cluster of that release and of these feature levels, with one partition in sync."""
    story = RuledStory(system=(rules_of({"versions": {"Apache Kafka": release}}),))
    story.feature(METADATA_VERSION, level)
    if eligible:
        story.feature(ELIGIBLE_LEADERS, eligible)
    story.of_all_brokers("min.insync.replicas", "2")
    story.brokers(4, 5, 6)
    story.topic()
    story.new_partition([4, 5, 6], eligible=[] if eligible else None)
    story.create("t")
    return story


def of_rules(*rules: LogRule) -> LogRules:
    """That hold always."""
    return LogRules(node="", rules=tuple(HeldRule(rule=each) for each in rules))
