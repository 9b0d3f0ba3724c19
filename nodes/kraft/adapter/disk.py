"""How Python KRaft nodes lay out their disks, and what their records mean."""

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from framework.evidence.kinds import Evidence
from nodes.disk_evidence import disk
from nodes.disk_evidence.form import Fields, Form, SnapshotRead
from nodes.kafka_files.log_directory import Segment
from nodes.kafka_files.properties import read_properties
from nodes.kafka_files.reading import contents
from nodes.kafka_files.snapshots import Snapshot
from nodes.kraft.adapter.records import change_of
from nodes.kraft.adapter.snapshot_files import wrong_records
from nodes.kraft.metadata.describe import as_json
from nodes.kraft.metadata.digest import digest
from nodes.kraft.metadata.records import decode_record
from nodes.kraft.metadata.snapshot import image_of
from nodes.kraft.raft.leader_change import decode_leader_change

METADATA: Final = "data/__kafka_metadata-0"
PARTITIONS: Final = "data/partitions"
KEPT: Final = (
    f"{METADATA}/quorum-state",
    f"{METADATA}/*.log",
    f"{METADATA}/*.checkpoint",
    f"{PARTITIONS}/*checkpoint",
    f"{PARTITIONS}/*/*checkpoint",
    f"{PARTITIONS}/*/*.log",
)
"""In a process's directory, the files that are copied before another process changes them."""
_CACHED: Final = 20_000


def left_on_disk(folder: Path, node: str | None = None) -> Iterator[Evidence]:
    """Of all processes below a run's folder; `node`: of those that this one's host had."""
    return disk.left_on_disk(folder, FORM, node)


def node_of(folder: Path, home: Path) -> str:
    """By its configuration: an extra broker shares the directory of another node's host."""
    properties = read_properties(contents(home / "server.properties")[0])
    return properties.get("node.name", home.name)


def partition_of(directory: Path) -> tuple[str, int] | None:
    """`<topic id>-<partition>` is its name."""
    topic_id, _, number = directory.name.rpartition("-")
    return (topic_id, int(number)) if number.isdecimal() and _is_uuid(topic_id) else None


def topic_id_of(partitions: Path, topic: str, partition: int) -> str | None:
    """Checkpoints name topics by id."""
    return topic if _is_uuid(topic) else None


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False


# --- records ------------------------------------------------------------------------------


class Records:
    """Each record says all by itself."""

    def __init__(self, directory: Path, before: Sequence[Segment]) -> None:
        pass

    def change(
        self, head: Fields, key: bytes | None, value: bytes, *, control: bool
    ) -> Evidence | None:
        found = _decoded(value, control)
        return None if found is None else change_of(head, found[0], found[1], found[1])


@lru_cache(maxsize=_CACHED)  # the nodes' logs have the same records
def _decoded(value: bytes, control: bool) -> tuple[str, Mapping[str, Any]] | None:
    """A record's name and fields; None: it is none of this node's."""
    try:
        if control:
            return "LeaderChange", _leader_change(value)
        record = decode_record(value)
        return type(record).__name__, json.loads(as_json(record))
    except Exception:  # whatever a decoder makes of bytes that are none of ours
        return None


def _leader_change(value: bytes) -> Mapping[str, Any]:
    found = decode_leader_change(value)
    return {
        "leader_id": int(found.leader_id),
        "voters": [int(each.voter_id) for each in found.voters],
        "granting_voters": [int(each.voter_id) for each in found.granting_voters],
    }


def snapshot_of(found: Snapshot) -> SnapshotRead:
    """What is wrong with its records, and the digest that nodes give."""
    wrong = list(wrong_records(found.records))
    if len(found.control):
        wrong.append("has a control record between header and footer")
    return SnapshotRead(tuple(wrong), _digest(found.records["value"].to_pylist()))


def _digest(values: Iterable[bytes | None]) -> str | None:
    """Of the image in a snapshot."""
    try:
        return digest(image_of(value or b"" for value in values))
    except Exception:  # whatever a decoder makes of bytes that are none of ours
        return None


FORM: Final = Form(
    metadata=METADATA,
    partitions=PARTITIONS,
    node=node_of,
    partition=partition_of,
    topic_id=topic_id_of,
    decoder=Records,
    snapshot=snapshot_of,
)
