"""What Apache Kafka's own DumpLogSegments says of files, and what our readers say.

The files in stored/, Apache Kafka's and our node's, and their dumps are made by
`python -m benchmarks.kafka_files`.
"""

import re
from pathlib import Path
from typing import Any, Final

import pytest

from nodes.kafka_files.batches import scan
from nodes.kafka_files.checkpoints import read_epochs, read_offsets
from nodes.kafka_files.log_directory import read_log
from nodes.kafka_files.properties import read_properties
from nodes.kafka_files.quorum_state import QuorumState, read_quorum_state
from nodes.kafka_files.records import records
from nodes.kafka_files.snapshots import read_snapshot

STORED: Final = Path(__file__).parent / "stored"
DUMPED: Final = sorted(path.with_suffix("") for path in STORED.rglob("*.dump"))
_PAIR: Final = re.compile(r"(\w+): (\S+)")
_FLAGS: Final = {"true": True, "false": False}
_BATCH: Final = {
    "baseOffset": "base_offset",
    "count": "records",
    "baseSequence": "base_sequence",
    "producerId": "producer_id",
    "producerEpoch": "producer_epoch",
    "partitionLeaderEpoch": "leader_epoch",
    "isTransactional": "transactional",
    "isControl": "control",
    "position": "position",
    "size": "size",
    "compresscodec": "compression",
    "crc": "crc",
}
"""What the dump calls it -> what we call it."""


def dump_of(path: Path) -> tuple[list[dict[str, str]], list[tuple[int, dict[str, str]]]]:
    """The lines of batches, and those of records, each with the position of its batch."""
    batches: list[dict[str, str]] = []
    inside: list[tuple[int, dict[str, str]]] = []
    for line in path.with_name(path.name + ".dump").read_text().splitlines():
        if line.startswith("baseOffset: "):
            batches.append(dict(_PAIR.findall(line)))
        elif line.startswith("| offset: "):
            fields = dict(_PAIR.findall(line.partition(" payload: ")[0]))
            inside.append((int(batches[-1]["position"]), fields))
    return batches, inside


def value(text: str) -> Any:
    if text in _FLAGS:
        return _FLAGS[text]
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def test_files_are_of_both_and_of_all_kinds() -> None:
    reported = [batch for path in DUMPED for batch in dump_of(path)[0]]
    assert {path.relative_to(STORED).parts[0] for path in DUMPED} == {"kafka", "ours"}
    codecs = {"none", "gzip", "snappy", "lz4", "zstd"}
    assert {each["compresscodec"].lower() for each in reported} == codecs
    for name in ("isTransactional", "isControl", "isvalid"):
        assert "true" in {each[name] for each in reported}


@pytest.mark.parametrize("path", DUMPED, ids=lambda path: str(path.relative_to(STORED)))
def test_batches_and_records_are_as_kafka_dumps_them(path: Path) -> None:
    batches, inside = dump_of(path)
    found = scan(path.read_bytes())
    assert found.stop is None and batches
    rows = found.table.to_pylist()
    expected = [
        {ours: value(each[theirs].lower()) for theirs, ours in _BATCH.items()} for each in batches
    ]
    assert [{name: row[name] for name in _BATCH.values()} for row in rows] == expected
    for row, each in zip(rows, batches, strict=True):
        assert row["end_offset"] == int(each["lastOffset"]) + 1
        assert row["max_timestamp_ms"] == int(each["CreateTime"])
        assert (row["crc"] == row["crc_computed"]) == (each["isvalid"] == "true")
    reported = records(found)
    assert not reported.unreadable
    assert [_sizes(row) for row in reported.table.to_pylist()] == [
        (
            position,
            int(each["offset"]),
            int(each["CreateTime"]),
            int(each["keySize"]),
            int(each["valueSize"]),
        )
        for position, each in inside
    ]


def _sizes(row: dict[str, Any]) -> tuple[int, ...]:
    key, content = (-1 if row[name] is None else len(row[name]) for name in ("key", "value"))
    return row["position"], row["offset"], row["timestamp_ms"], key, content


def test_values_are_those_that_were_produced() -> None:
    (segment,) = read_log(STORED / "kafka" / "t-0").segments
    found = records(segment.batches).table.to_pylist()
    rows = [row for row in found if not row["control"]]
    for row in rows:
        name, _, number = row["key"].decode().rpartition("-")
        expected = None if number == "2" else f"{name} {number} ".encode() * 20
        assert row["value"] == expected
        headers = [(each["key"], each["value"]) for each in row["headers"]]
        assert headers == ([(b"h", name.encode()), (b"none", None)] if number == "1" else [])
    assert len(rows) == 3 * 7


def test_what_lies_beside_kafkas_logs_is_read() -> None:
    kafka = STORED / "kafka"
    metadata = kafka / "__cluster_metadata-0"
    for directory in (metadata, kafka / "t-0", STORED / "ours"):
        log = read_log(directory)
        assert not list(log.wrong()) and log.end_offset > 0
    state = read_quorum_state((metadata / "quorum-state").read_bytes())
    assert isinstance(state, QuorumState)
    assert state.leader_id == 1 and state.leader_epoch > 0
    snapshots = [read_snapshot(path) for path in metadata.glob("*.checkpoint")]
    for snapshot in snapshots:
        assert snapshot is not None and not snapshot.wrong
    assert any(snapshot is not None and len(snapshot.records) for snapshot in snapshots)
    epochs = read_epochs((kafka / "t-0" / "leader-epoch-checkpoint").read_bytes())
    assert epochs.wrong is None
    assert epochs.table.to_pylist() == [{"epoch": 0, "start_offset": 0}]
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        offsets = read_offsets((kafka / name).read_bytes())
        assert offsets.wrong is None
        ends = {row["topic"]: row["offset"] for row in offsets.table.to_pylist()}
        assert ends["t"] == read_log(kafka / "t-0").end_offset
    assert read_properties((kafka / "meta.properties").read_bytes())["node.id"] == "1"
