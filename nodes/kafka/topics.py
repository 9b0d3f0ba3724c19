"""What the records of a metadata log make of topics."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from framework.history.event import Json
from nodes.adapting.records import ELR
from nodes.kafka.partitions import Partition, Partitions
from nodes.kafka.record_reader import read_record
from nodes.kafka_files.batches import scan
from nodes.kafka_files.records import records


@dataclass(frozen=True, slots=True)
class Batch:
    """`values`: of its records, none of a control batch."""

    end_offset: int
    epoch: int
    values: tuple[bytes, ...]


@dataclass(slots=True)
class Topics:
    """`ids`: by name."""

    ids: dict[str, str] = field(default_factory=dict)
    partitions: Partitions = field(default_factory=Partitions)

    def feed(self, values: Iterable[bytes]) -> None:
        """The next records. Raises `ValueError` where one is none."""
        for value in values:
            name, record = read_record(value)
            if name == "TopicRecord":
                self.ids[record["name"]] = record["topic_id"]
            elif name == "RemoveTopicRecord":
                self.ids = {n: own for n, own in self.ids.items() if own != record["topic_id"]}
            self.partitions.fold(name, record)

    def shown(self, name: str) -> Json:
        """{"topic_id", "partitions"}, or null: there is none of that name."""
        topic_id = self.ids.get(name)
        if topic_id is None:
            return None
        return {"topic_id": topic_id, "partitions": list(map(_shown, self.partitions.of(topic_id)))}


def _shown(partition: Partition) -> Json:
    """Eligible leaders where the release has them."""
    more = {"eligible": list(partition[ELR] or ())} if ELR in partition else {}
    return {
        **more,
        "partition": partition["partition_id"],
        "leader": partition["leader"],
        "leader_epoch": partition["leader_epoch"],
        "partition_epoch": partition["partition_epoch"],
        "replicas": list(partition["replicas"]),
        "isr": list(partition["isr"]),
    }


def whole_batches(data: bytes) -> Iterator[Batch]:
    """Of bytes that may end within one."""
    batches = scan(data)
    values: dict[int, list[bytes]] = {}
    for row in records(batches).table.select(["position", "control", "value"]).to_pylist():
        if not row["control"]:
            values.setdefault(row["position"], []).append(row["value"] or b"")
    for each in batches.sound.select(["position", "end_offset", "leader_epoch"]).to_pylist():
        own = tuple(values.get(each["position"], ()))
        yield Batch(each["end_offset"], each["leader_epoch"], own)
