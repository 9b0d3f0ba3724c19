"""How Apache Kafka lays out its disks."""

import base64
import uuid
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from framework.evidence.clocks import Clocks
from framework.evidence.kinds import Evidence
from nodes.adapting.slot import process_of
from nodes.disk_evidence import disk
from nodes.disk_evidence.form import Form, SnapshotRead
from nodes.kafka.records import Records, voters_of, wrong_control, wrong_records
from nodes.kafka_files.properties import read_properties
from nodes.kafka_files.reading import contents
from nodes.kafka_files.snapshots import Snapshot

PARTITIONS: Final = "data"
METADATA: Final = f"{PARTITIONS}/__cluster_metadata-0"
PARTITION_FILE: Final = "partition.metadata"
PAUSES: Final = "java-*.log*"
KEPT: Final = (
    f"{METADATA}/quorum-state",
    f"{METADATA}/*.log",
    f"{METADATA}/*.log.deleted",
    f"{METADATA}/*.checkpoint",
    f"{PARTITIONS}/*checkpoint",
    f"{PARTITIONS}/*/{PARTITION_FILE}",
    f"{PARTITIONS}/*/leader-epoch-checkpoint",
    f"{PARTITIONS}/*/*.log",
    PAUSES,
)
"""In a process's directory, the files that are copied before another process changes them."""


def left_on_disk(folder: Path, clocks: Clocks = disk.UNTIMED) -> Iterator[Evidence]:
    """Of all processes below a run's folder, on its clocks."""
    return disk.left_on_disk(folder, FORM, clocks=clocks)


def node_of(folder: Path, home: Path) -> str:
    """Nodes' directories are named after them; an extra broker shares that of another's host."""
    node, *below = home.relative_to(folder / "nodes").parts
    return process_of(home.name) if below else node


def partition_of(directory: Path) -> tuple[str, int] | None:
    """Of `<topic>-<partition>`, which goes on with `.<id>-delete` once it is deleted."""
    _, _, number = directory.name.rpartition("-")
    if not number.isdecimal() or directory.name == Path(METADATA).name:
        return None
    topic_id = _topic_id(directory / PARTITION_FILE)
    return None if topic_id is None else (topic_id, int(number))


def topic_id_of(partitions: Path, topic: str, partition: int) -> str | None:
    """Checkpoints name topics by name: whose that is now, its directory says."""
    return _topic_id(partitions / f"{topic}-{partition}" / PARTITION_FILE)


@lru_cache(maxsize=20_000)
def _topic_id(path: Path) -> str | None:
    text = read_properties(contents(path)[0].replace(b": ", b"=")).get("topic_id", "")
    try:
        return str(uuid.UUID(bytes=base64.urlsafe_b64decode(text + "==")))
    except ValueError:
        return None


def snapshot_of(found: Snapshot) -> SnapshotRead:
    """Nodes give no digest of an image that one could be held against."""
    wrong = wrong_records(found.records["value"].to_pylist())
    control = found.control.to_pylist()
    return SnapshotRead((*wrong, *wrong_control(control)), None, voters_of(control))


FORM: Final = Form(
    metadata=METADATA,
    partitions=PARTITIONS,
    node=node_of,
    partition=partition_of,
    topic_id=topic_id_of,
    decoder=Records,
    snapshot=snapshot_of,
    errors=False,  # brokers log errors in the course of things, a peer that is gone among them
    pauses=PAUSES,
)
