"""Stories with a metadata log that is written record by record, as nodes apply it."""

from dataclasses import dataclass, field
from typing import Any

from planted_runs import RECORDS, TOPIC, NodeEvent, Story

END_POINT = {"name": "CLIENT", "host": "h", "port": 9092, "security_protocol": 0}


@dataclass
class LogStory(Story):
    """Each record is applied by `readers`, at once, and lies on the disks of `keepers`."""

    offset: int = 0
    epoch: int = 1
    readers: tuple[str, ...] = ("c1", "b1")
    keepers: tuple[str, ...] = ()
    epochs: dict[int, int] = field(default_factory=dict)
    versions: dict[tuple[str, int], tuple[int, int, int]] = field(default_factory=dict)

    def record(self, kind: str, **record: Any) -> int:
        """Its offset."""
        at = self.offset
        for node in self.readers:
            self.apply(node, at, kind, self.epoch, **record)
        for node in self.keepers:
            self.disks.write(node, self.epoch, kind, base=at, **(RECORDS.get(kind, {}) | record))
        self.offset += 1
        return at

    def register(self, broker: int, **more: Any) -> int:
        epoch = self.offset
        self.epochs[broker] = epoch
        return self.record(
            "BrokerRecord",
            **{
                "broker_id": broker,
                "broker_epoch": epoch,
                "end_points": [END_POINT],
                "rack": None,
                "incarnation_id": f"00000000-0000-0000-0000-{epoch:012d}",
                **more,
            },
        )

    def unfence(self, broker: int, epoch: int | None = None) -> int:
        epoch = self.epochs[broker] if epoch is None else epoch
        return self.record("UnfenceBrokerRecord", broker_id=broker, broker_epoch=epoch)

    def fence(self, broker: int, epoch: int | None = None) -> int:
        epoch = self.epochs[broker] if epoch is None else epoch
        return self.record("FenceBrokerRecord", broker_id=broker, broker_epoch=epoch)

    def unregister(self, broker: int, epoch: int | None = None) -> int:
        epoch = self.epochs[broker] if epoch is None else epoch
        return self.record("UnregisterBrokerRecord", broker_id=broker, broker_epoch=epoch)

    def feature(self, name: str, level: int) -> int:
        return self.record("FeatureLevelRecord", name=name, feature_level=level)

    def brokers(self, *ids: int) -> None:
        for broker in ids:
            self.register(broker)
            self.unfence(broker)

    def topic(self, name: str = "t", topic_id: str = TOPIC) -> int:
        return self.record("TopicRecord", name=name, topic_id=topic_id, deleting=False)

    def new_partition(
        self, replicas: list[int], number: int = 0, topic_id: str = TOPIC, **more: Any
    ) -> int:
        record = {
            "partition_id": number,
            "topic_id": topic_id,
            "replicas": replicas,
            "isr": replicas,
            "leader": replicas[0],
            "leader_epoch": 0,
            "partition_epoch": 0,
            "removing_replicas": [],
            "adding_replicas": [],
            **more,
        }
        self.versions[topic_id, number] = (record["leader"], record["leader_epoch"], 0)
        return self.record("PartitionRecord", **record)

    def isr(
        self, isr: list[int], leader: int, number: int = 0, topic_id: str = TOPIC, **more: Any
    ) -> int:
        """An IsrChangeRecord with the epochs that it should have."""
        was, leader_epoch, version = self.versions[topic_id, number]
        leader_epoch += leader != was
        record = {
            "partition_id": number,
            "topic_id": topic_id,
            "isr": isr,
            "leader": leader,
            "leader_epoch": leader_epoch,
            "partition_epoch": version + 1,
            **more,
        }
        self.versions[topic_id, number] = (
            record["leader"],
            record["leader_epoch"],
            record["partition_epoch"],
        )
        return self.record("IsrChangeRecord", **record)

    def move(self, replicas: list[int], number: int = 0, topic_id: str = TOPIC, **more: Any) -> int:
        """A ReassignmentRecord with the version that it should have, by default of a move that is
        through, under the leader that was; `rises`: with the next leader epoch."""
        leader, leader_epoch, version = self.versions[topic_id, number]
        leader_epoch += more.pop("rises", False)
        record = {
            "partition_id": number,
            "topic_id": topic_id,
            "replicas": replicas,
            "isr": replicas,
            "leader": leader,
            "leader_epoch": leader_epoch,
            "partition_epoch": version + 1,
            "removing_replicas": [],
            "adding_replicas": [],
            **more,
        }
        after = (record["leader"], record["leader_epoch"], record["partition_epoch"])
        self.versions[topic_id, number] = after
        return self.record("ReassignmentRecord", **record)

    def drop(self, name: str = "t", topic_id: str = TOPIC) -> int:
        self.record("TopicRecord", name=name, topic_id=topic_id, deleting=True)
        return self.record("RemoveTopicRecord", topic_id=topic_id)

    def config(self, name: str, value: str | None, topic: str = "t", kind: int = 2) -> int:
        """Of a topic, or of another kind of resource."""
        return self.record(
            "ConfigRecord", resource_type=kind, resource_name=topic, name=name, value=value
        )

    def beat(self, broker: int, target: str, records: list[int], **more: Any) -> NodeEvent:
        """An accepted heartbeat's decision, as of now."""
        source = {"broker_id": broker, "broker_epoch": self.epochs[broker], "target": target}
        fields: dict[str, Any] = {"as_of": self.offset, "epoch": self.epoch, **more}
        return self.decide("BrokerHeartbeat", source, records, **fields)
