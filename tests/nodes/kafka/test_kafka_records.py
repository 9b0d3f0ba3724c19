"""Apache Kafka's metadata records, by its own DumpLogSegments and by our reader.

The files in stored/ are those of a controller of Apache Kafka 4.2.0 after a run with partitions,
and of one of 3.3.2 after a run with partitions and kills. Beside each, in `*.records`, is what
Kafka's own tool of that release says of it (`DumpLogSegments --cluster-metadata-decoder
--skip-record-metadata`). Those in stored/dynamic are of a dynamic quorum (KIP-853) of 4.2.0: the
head of a log, two snapshots, and in `*.control` what the tool says of control records. Those of one
release of each other minor version, compressed, are made by `python -m
benchmarks.kafka_metadata_files`.
"""

import base64
import gzip
import json
import re
import shutil
import struct
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from framework.evidence import changes, quorum
from framework.evidence.kinds import Evidence
from framework.evidence.partitions import PartitionLogOnDisk, PartitionOffsetSaved
from nodes.adapting.records import partition_state
from nodes.kafka.disk import METADATA, left_on_disk
from nodes.kafka.formatting import FIRST_VOTERS as FIRST
from nodes.kafka.partitions import Partitions
from nodes.kafka.record_reader import read_control, read_record
from nodes.kafka.record_schemas import CONTROL, RECORDS
from nodes.kafka.records import Records
from nodes.kafka.releases import versions
from nodes.kafka_files.batches import HEADER_BYTES, scan
from nodes.kafka_files.quorum_state import QuorumState, read_quorum_state
from nodes.kafka_files.records import records

STORED: Final = Path(__file__).parent / "stored" / "__cluster_metadata-0"
LOG: Final = STORED / "00000000000000000000.log"
SNAPSHOT: Final = STORED / "00000000000000000249-0000000001.checkpoint"
OLDER: Final = STORED.parent / "3.3.2"
OLDER_SNAPSHOT: Final = OLDER / "00000000000000000318-0000000006.checkpoint"
DYNAMIC: Final = STORED.parent / "dynamic"
FIRST_VOTERS: Final = DYNAMIC / Path(FIRST).name
DYNAMIC_SNAPSHOT: Final = DYNAMIC / "00000000000000000242-0000000001.checkpoint"
OF_DYNAMIC: Final = (DYNAMIC / LOG.name, DYNAMIC_SNAPSHOT, FIRST_VOTERS)
OF_RELEASES: Final = sorted(
    path
    for pattern in ("*.log.gz", "*.checkpoint.gz")
    for path in STORED.parent.glob(f"[0-9]*/{pattern}")
)
FILES: Final = (LOG, SNAPSHOT, OLDER / LOG.name, OLDER_SNAPSHOT, *OF_DYNAMIC, *OF_RELEASES)


def dumped(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Names and fields, as Kafka writes them, in our spelling."""
    name, packed, _ = path.name.partition(".gz")
    lines = content(path.with_name(f"{name}.records{packed}")).decode().splitlines()
    found = map(json.loads, lines)
    return [(_name(each["type"]), each["data"]) for each in found if "type" in each]


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def _name(kind: str) -> str:
    return kind.title().replace("_", "").replace("Noop", "NoOp")


def _in_kafkas_words(value: Any) -> Any:
    """A value as DumpLogSegments has it: uuids in base 64."""
    if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", value):
        return base64.urlsafe_b64encode(uuid.UUID(value).bytes).decode().rstrip("=")
    if isinstance(value, tuple):
        return [_in_kafkas_words(each) for each in value]
    if isinstance(value, Mapping):
        return {_camel(key): _in_kafkas_words(each) for key, each in value.items()}
    return value


def _camel(name: str) -> str:
    first, *more = name.split("_")
    return first + "".join(each.capitalize() for each in more)


def values(path: Path) -> list[bytes]:
    found = scan(content(path))
    assert found.stop is None
    table = records(found).table
    return [row["value"] for row in table.to_pylist() if not row["control"]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_records_are_what_kafka_says_that_they_are(path: Path) -> None:
    ours = [read_record(value) for value in values(path)]
    theirs = dumped(path)
    assert [name for name, _ in ours] == [name for name, _ in theirs]
    for (name, fields), (_, said) in zip(ours, theirs, strict=True):
        known = _in_kafkas_words(fields)
        # Kafka leaves tagged fields out that are at their defaults.
        assert said == {key: known[key] for key in said}, name
        assert all(
            value in (None, [], 0, -1, -2) for value in (known[key] for key in known.keys() - said)
        )


@pytest.mark.parametrize("path", OF_DYNAMIC, ids=lambda path: path.name)
def test_control_records_are_what_kafka_says_that_they_are(path: Path) -> None:
    """That a dynamic quorum leaves: versions, voters with their directories and listeners, and
    beside them header, footer and leaders."""
    rows = records(scan(path.read_bytes())).table.to_pylist()
    ours = [read_control(row["key"], row["value"]) for row in rows if row["control"]]
    lines = path.with_name(path.name + ".control").read_text().splitlines()
    theirs = [
        (line.split(" ", 1)[0].rstrip(":"), json.loads(line.split(" ", 1)[1])) for line in lines
    ]
    assert [(name, _in_kafkas_words(fields)) for name, fields in ours] == theirs
    assert "KRaftVoters" in dict(ours)


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        (b"\0\0\0", b"\0\0\0\1", "no type"),
        (struct.pack(">hh", 0, 5), b"\0", "no type, or no version"),
        (struct.pack(">hh", 0, 5), struct.pack(">hhb", 1, 1, 0), "KRaftVersion of version 1"),
        (struct.pack(">hh", 0, 5), struct.pack(">hhbb", 0, 1, 0, 0), "1 bytes behind"),
        (struct.pack(">hh", 0, 6), struct.pack(">hbb", 0, 2, 0), "ends within a field"),
    ],
)
def test_what_is_no_control_record_is_refused(key: bytes, value: bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        read_control(key, value)


def test_stored_records_are_of_most_kinds() -> None:
    """But those for which a cluster needs logins, a second broker, or a controller that gives half
    a change up, and those of releases before 3.3."""
    seen = {name for path in FILES for name, _ in dumped(path)}
    assert {name for name, _ in RECORDS.values()} - seen == {
        *("AbortTransactionRecord", "DelegationTokenRecord", "RemoveDelegationTokenRecord"),
        *("FenceBrokerRecord", "UnfenceBrokerRecord", "UnregisterBrokerRecord"),
    }


def test_stored_records_are_of_each_minor_version() -> None:
    """Of the table, but for those of which there are logs of their own; all that these nodes were
    asked for is in there."""
    minor = {each.rpartition(".")[0] for each in versions()}
    stored = {path.parent.name.rpartition(".")[0] for path in OF_RELEASES}
    assert stored == minor - {"3.3", "4.2"}
    for path in OF_RELEASES:
        names = {name for name, _ in dumped(path)}
        assert {"ClientQuotaRecord", "PartitionRecord", "ConfigRecord"} <= names, path


@given(st.binary(max_size=60))
def test_bytes_that_are_no_record_are_refused_or_read(data: bytes) -> None:
    """Nothing but `ValueError`, whatever they are."""
    for kind in (None, *CONTROL, 9):
        try:
            if kind is None:
                read_record(data)
            else:
                read_control(struct.pack(">hh", 0, kind), data)
        except ValueError:
            continue


def test_a_record_that_is_cut_short_is_refused() -> None:
    for value in values(LOG)[:40]:
        if len(value) > 4:
            with pytest.raises(ValueError, match=r"."):
                read_record(value[:-1])


# --- as evidence --------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A controller's directory after the run."""
    return kept(tmp_path, LOG, SNAPSHOT, STORED / "quorum-state")


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """That of one of 3.3.2."""
    return kept(tmp_path / "older", OLDER / LOG.name, OLDER_SNAPSHOT)


def kept(folder: Path, *files: Path) -> Path:
    home = folder / "nodes" / "c1"
    (home / METADATA).mkdir(parents=True)
    for path in files:
        shutil.copy(path, home / METADATA)
    return home


def left(home: Path, kind: type[Evidence] = Evidence) -> list[Any]:
    return [each for each in left_on_disk(home.parents[1]) if isinstance(each, kind)]


def test_partitions_change_as_their_records_say_together(home: Path) -> None:
    """A leader's epoch rises with each new leader, a partition's with each record."""
    assert_epochs_rise(home)


def test_partitions_of_an_older_release_change_so_as_well(older: Path) -> None:
    """Its records have fewer fields."""
    assert_epochs_rise(older, renamed=True)


def assert_epochs_rise(home: Path, *, renamed: bool = False) -> None:
    """`renamed`: a record that names the leader again raises its epoch, too."""
    epochs: dict[tuple[str, int], tuple[int, int, int]] = {}
    changed = 0
    for each in left(home, changes.PartitionState):
        before = epochs.get(each.key)
        if isinstance(each, changes.PartitionChanged):
            assert before is not None
            leader, leader_epoch, partition_epoch = before
            assert each.partition_epoch == partition_epoch + 1
            assert each.leader_epoch in (leader_epoch, leader_epoch + 1)
            assert each.leader == leader or each.leader_epoch == leader_epoch + 1
            assert renamed or each.leader != leader or each.leader_epoch == leader_epoch
            changed += 1
        epochs[each.key] = (each.leader, each.leader_epoch, each.partition_epoch)
    assert changed > 20


def test_what_a_log_without_its_beginning_says_rests_on_the_snapshot(home: Path) -> None:
    whole = {each.offset: each for each in left(home, changes.PartitionChanged)}
    log = home / METADATA / LOG.name
    data = log.read_bytes()
    cut = next(row for row in scan(data).sound.to_pylist() if row["base_offset"] == 249)
    log.unlink()
    log.with_name(f"{249:020}.log").write_bytes(data[cut["position"] :])
    behind = {each.offset: each for each in left(home, changes.PartitionChanged)}
    expected = {offset: each for offset, each in whole.items() if offset >= 249}
    assert expected
    assert {
        offset: (each.isr, each.leader, each.leader_epoch, each.partition_epoch)
        for offset, each in behind.items()
    } == {
        offset: (each.isr, each.leader, each.leader_epoch, each.partition_epoch)
        for offset, each in expected.items()
    }


def test_without_the_snapshot_nothing_is_made_up(home: Path) -> None:
    """A partition's change is no change of a known partition then."""
    log = home / METADATA / LOG.name
    data = log.read_bytes()
    cut = next(row for row in scan(data).sound.to_pylist() if row["base_offset"] == 249)
    log.unlink()
    log.with_name(f"{249:020}.log").write_bytes(data[cut["position"] :])
    (home / METADATA / SNAPSHOT.name).unlink()
    made = {each.key for each in left(home, changes.PartitionCreated)}
    changed = left(home, changes.PartitionChanged)
    assert all(each.key in made for each in changed)
    others = [each.name for each in left(home, changes.OtherChange)]
    assert "PartitionChangeRecord of an unknown partition" in others


def test_what_is_no_record_is_wrong_and_stops_nothing(home: Path) -> None:
    (sound,) = left(home, quorum.LogOnDisk)
    assert sound.wrong == ()
    assert not sound.torn
    (snapshot,) = left(home, quorum.SnapshotFile)
    assert (snapshot.end_offset, snapshot.epoch, snapshot.wrong) == (249, 1, ())
    assert len(left(home, changes.LeaderAnnounced)) >= 1
    log = home / METADATA / LOG.name
    log.write_bytes(log.read_bytes()[:-3])
    (torn,) = left(home, quorum.LogOnDisk)
    assert torn.torn


def half(home: Path) -> Path:
    """The log from a snapshot on, as a node has it that took that snapshot from another one. What
    it held before, up to an offset below, lies there under the name of dropped segments."""
    log = home / METADATA / LOG.name
    data = log.read_bytes()
    rows = scan(data).sound.to_pylist()
    begins = next(row for row in rows if row["base_offset"] == 249)["position"]
    ends = next(row for row in rows if row["base_offset"] >= 100)["position"]
    log.with_name(f"{249:020}.log").write_bytes(data[begins:])
    dropped = log.with_name(f"{LOG.name}.deleted")
    dropped.write_bytes(data[:ends])
    log.unlink()
    return dropped


def test_what_a_node_held_before_it_took_a_snapshot_is_evidence(home: Path) -> None:
    whole = {each.base_offset: each for each in left(home, quorum.Appended)}
    dropped = half(home)
    found = left(home, quorum.Appended)
    ends = scan(dropped.read_bytes()).sound["end_offset"][-1].as_py()
    assert [each.base_offset for each in found] == [
        offset for offset in whole if offset < ends or offset >= 249
    ]
    assert all(each.crcs == whole[each.base_offset].crcs for each in found)
    (began,) = left(home, quorum.LogBegan)
    assert (began.offset, began.dropped) == (249, True)
    assert not left(home, quorum.Truncated)
    (log,) = left(home, quorum.LogOnDisk)
    assert (log.start_offset, log.wrong) == (249, ())


def test_a_dropped_segment_is_evidence_once(home: Path) -> None:
    """The next process finds what the former one dropped, if it comes soon enough."""
    half(home)
    shutil.copytree(home / "data", home / "kept" / "1" / "data")
    assert {each.incarnation for each in left(home, quorum.Appended)} == {"1"}
    assert [each.incarnation for each in left(home, quorum.LogBegan)] == ["1"]


@pytest.mark.parametrize("base", [0, 249])
def test_a_dropped_segment_that_is_not_below_the_log_is_none_of_it(home: Path, base: int) -> None:
    """It was cut off before, or is there under its own name again."""
    whole = left(home)
    log = home / METADATA / LOG.name
    shutil.copy(log, log.with_name(f"{base:020}.log.deleted"))
    assert left(home) == whole


# --- a dynamic quorum ---------------------------------------------------------------------


@pytest.fixture
def dynamic(tmp_path: Path) -> Path:
    """The directory of one of its controllers."""
    return kept(tmp_path / "dynamic", *OF_DYNAMIC, DYNAMIC / "quorum-state")


def test_a_dynamic_quorum_leaves_what_a_static_one_does(dynamic: Path) -> None:
    """The leader's record, then those that say who votes; snapshots with voters; a vote, which
    names the directory that the log knows the voter by."""
    (log,) = left(dynamic, quorum.LogOnDisk)
    assert (log.start_offset, log.torn, log.wrong) == (0, False, ())
    first, *_ = left(dynamic, changes.LeaderAnnounced)
    assert (first.offset, first.leader, first.voters) == (0, 1, (1, 2, 3))
    (version,) = [each for each in left(dynamic, changes.OtherChange) if each.offset < 3]
    assert (version.offset, version.name) == (1, "KRaftVersion")
    (named,) = left(dynamic, changes.VotersNamed)
    assert (named.offset, [each.id for each in named.voters]) == (2, [1, 2, 3])
    snapshots = left(dynamic, quorum.SnapshotFile)
    assert [(each.end_offset, each.epoch, each.wrong) for each in snapshots] == [
        (0, 0, ()),
        (242, 1, ()),
    ]
    assert {each.voters for each in snapshots} == {named.voters}
    (saved,) = left(dynamic, quorum.EpochSaved)
    assert (saved.epoch, saved.leader, saved.vote) == (2, 3, 3)
    state = read_quorum_state((dynamic / METADATA / "quorum-state").read_bytes())
    assert isinstance(state, QuorumState)
    (own,) = [_in_kafkas_words(each.directory) for each in named.voters if each.id == 3]
    assert (state.version, state.voted_directory_id) == (1, own)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (9, "has a ControlRecord9 between header and footer"),
        (4, "has a control record that is none: 2 bytes behind the last field"),
    ],
)
def test_a_snapshot_has_no_other_control_records(dynamic: Path, kind: int, says: str) -> None:
    path = dynamic / METADATA / FIRST_VOTERS.name
    data = bytearray(path.read_bytes())
    at = data.index(struct.pack(">hh", 0, 5), HEADER_BYTES)
    data[at : at + 4] = struct.pack(">hh", 0, kind)
    end = scan(bytes(data)).table["size"][0].as_py()
    data[17:21] = struct.pack(">I", crc32c(bytes(data[21:end])))
    path.write_bytes(data)
    first, second = left(dynamic, quorum.SnapshotFile)
    assert first.wrong == (says,)
    assert first.voters is None and second.voters is not None


def test_who_votes_stands_next_to_the_header_of_a_snapshot(dynamic: Path) -> None:
    path = dynamic / METADATA / DYNAMIC_SNAPSHOT.name
    data = path.read_bytes()
    *_, last = rows = scan(data).sound.to_pylist()
    head, footer = data[: rows[0]["size"]], data[last["position"] :]
    behind, end = last["base_offset"], last["base_offset"] + rows[0]["records"]
    moved = (struct.pack(">q", behind) + head[8:], struct.pack(">q", end) + footer[8:])
    path.write_bytes(data[: last["position"]] + b"".join(moved))
    _, second = left(dynamic, quorum.SnapshotFile)
    assert second.wrong[0] == "has a control record behind one that is none"


# --- partitions' directories --------------------------------------------------------------


def test_a_directory_is_of_the_topic_that_its_file_names(home: Path) -> None:
    topic = uuid.uuid4()
    short = base64.urlsafe_b64encode(topic.bytes).decode().rstrip("=")
    for name, text in (
        ("t-0", f"version: 0\ntopic_id: {short}\n"),
        ("nobodys-1", "version: 0\n"),
        ("t-1.4f2b-delete", f"version: 0\ntopic_id: {short}\n"),
    ):
        (home / "data" / name).mkdir()
        (home / "data" / name / "partition.metadata").write_text(text)
    (home / METADATA / "partition.metadata").write_text(f"version: 0\ntopic_id: {short}\n")
    (home / "data" / "replication-offset-checkpoint").write_text("0\n2\nt 0 7\nnobodys 1 3\n")
    logs = left(home, PartitionLogOnDisk)
    assert [(each.topic_id, each.partition) for each in logs] == [(str(topic), 0)]
    (saved,) = left(home, PartitionOffsetSaved)
    assert (saved.topic_id, saved.what, saved.offset) == (str(topic), "high-watermark", 7)


def test_of_an_empty_isr_the_log_says_who_may_lead() -> None:
    """KIP-966: and nobody else does, in what a controller of 4.2.0 wrote."""
    partitions, before, elected = Partitions(), dict[tuple[str, int], Mapping[str, Any]](), 0
    for value in values(LOG):
        name, record = partitions.fold(*read_record(value))
        if name not in ("PartitionRecord", "PartitionChangeRecord"):
            continue
        state = partition_state(record)
        key = (state["topic_id"], state["partition"])
        was = before.get(key)
        if was is not None and not was["isr"] and state["leader"] >= 0:
            elected += 1
            assert state["leader"] in was["eligible"]
        before[key] = state
    assert elected == 2


@pytest.mark.parametrize("named", ["t", ""])
def test_nobody_is_eligible_once_that_was_cleared(named: str) -> None:
    """That is a version of each partition that had some; an empty name is that of all topics."""
    partitions = Partitions()
    for topic in "tu":
        partitions.fold("TopicRecord", {"topic_id": topic, "name": topic})
        for number, eligible in enumerate(((4,), (), None)):
            head = {"topic_id": topic, "partition_id": number, "isr": (), "leader": -1}
            epochs = {"leader_epoch": 1, "partition_epoch": 2, "last_known_elr": None}
            record = {**head, **epochs, "eligible_leader_replicas": eligible}
            partitions.fold("PartitionRecord", record)
    partitions.fold("ClearElrRecord", {"topic_name": named})
    for topic, cleared in (("t", True), ("u", not named)):
        found = [partition_state(each) for each in partitions.of(topic)]
        assert [each["eligible"] for each in found] == [() if cleared else (4,), (), ()]
        assert [each["partition_epoch"] for each in found] == [3 if cleared else 2, 2, 2]


def test_a_topic_that_is_gone_has_no_name() -> None:
    partitions = Partitions()
    partitions.fold("TopicRecord", {"topic_id": "t", "name": "t"})
    partitions.fold("RemoveTopicRecord", {"topic_id": "t"})
    assert not partitions.names


def test_who_was_last_known_to_be_eligible_is_told_apart() -> None:
    record = {"eligible_leader_replicas": (), "last_known_elr": (6,)}
    record |= {"topic_id": "t", "partition_id": 0, "isr": (), "leader": -1}
    record |= {"leader_epoch": 1, "partition_epoch": 2}
    found = partition_state(record)
    assert (found["eligible"], found["last_eligible"]) == ((), (6,))
    partitions = Partitions()
    partitions.fold("PartitionRecord", record)
    partitions.fold("ClearElrRecord", {"topic_name": ""})
    (cleared,) = map(partition_state, partitions.of("t"))
    assert (cleared["last_eligible"], cleared["partition_epoch"]) == ((), 3)


def test_a_record_without_eligible_leaders_does_not_tell() -> None:
    record = {"topic_id": "t", "partition_id": 0, "isr": (), "leader": -1}
    record |= {"leader_epoch": 1, "partition_epoch": 2}
    assert partition_state(record).keys().isdisjoint(("eligible", "last_eligible"))


HEAD: Final[Mapping[str, Any]] = {
    "node": "c1",
    "incarnation": "1",
    "seq": 1,
    "within_ns": 0,
    "ref": "r",
    "epoch": 2,
    "offset": 9,
}


def test_what_is_forgotten_is_evidence(home: Path) -> None:
    """The record's bytes: frame, type, version, the name, and no tagged fields."""
    for name, topic in ((b"", None), (b"tt", "tt")):
        value = bytes([1, 28, 0, len(name) + 1]) + name + bytes(1)
        change = Records(home, ()).change(HEAD, None, value, control=False)
        assert change == changes.EligibleForgotten(**HEAD, topic=topic)


@pytest.mark.parametrize(
    ("tags", "kind"),
    [
        ([0, 1, 1], changes.BrokerFenced),
        ([0, 1, 255], changes.BrokerUnfenced),
        ([1, 1, 1], changes.BrokerLeaving),
        ([], changes.OtherChange),
    ],
)
def test_what_a_registration_changes_is_evidence(
    home: Path, tags: list[int], kind: type[changes.Change]
) -> None:
    """Frame, type, version, id, epoch, and one tagged field: its number, length and value."""
    head = struct.pack(">iq", 4, 7)
    value = bytes([1, 17, 1]) + head + bytes([bool(tags), *tags])
    change = Records(home, ()).change(HEAD, None, value, control=False)
    assert type(change) is kind
    if not isinstance(change, changes.OtherChange):
        assert change == kind(**HEAD, broker_id=4, broker_epoch=7)  # type: ignore[call-arg]


def test_registrations_say_who_is_fenced_and_leaves(home: Path, older: Path) -> None:
    for each in (home, older):
        found = left(each, changes.BrokerRegistered)
        assert found and all(each.fenced and not each.leaving for each in found)


@pytest.mark.parametrize(
    ("number", "kind"),
    [(1, changes.BrokerUnregistered), (7, changes.BrokerFenced), (8, changes.BrokerUnfenced)],
)
def test_who_leaves_or_comes_into_service_is_evidence(
    home: Path, number: int, kind: type[changes.Change]
) -> None:
    """The record's bytes: frame, type, version, id, epoch, and no tagged fields."""
    head = {"node": "c1", "incarnation": "1", "seq": 1, "within_ns": 0, "ref": "r", "epoch": 2}
    value = bytes([1, number, 0]) + struct.pack(">iq", 4, 7) + bytes(1)
    change = Records(home, ()).change({**head, "offset": 9}, None, value, control=False)
    expected = kind(**head, offset=9, broker_id=4, broker_epoch=7)  # type: ignore[call-arg]
    assert change == expected


def text(word: str) -> bytes:
    return bytes([len(word) + 1]) + word.encode()


@pytest.mark.parametrize(
    ("number", "body", "name", "fields"),
    [
        (
            10,
            text("a")
            + text("b")
            + bytes([2])
            + text("c")
            + struct.pack(">qqq", 1, 2, 3)
            + text("t"),
            "DelegationTokenRecord",
            {
                "owner": "a",
                "requester": "b",
                "renewers": ["c"],
                "issue_timestamp": 1,
                "max_timestamp": 2,
                "expiration_timestamp": 3,
                "token_id": "t",
            },
        ),
        (26, text("t"), "RemoveDelegationTokenRecord", {"token_id": "t"}),
        (21, b"\x02", "ZkMigrationStateRecord", {"zk_migration_state": 2}),
        (
            14,
            bytes([2]) + text("user") + bytes(2) + text("k") + struct.pack(">d?", 2.5, False),
            "ClientQuotaRecord",
            {
                "entity": [{"entity_type": "user", "entity_name": None}],
                "key": "k",
                "value": 2.5,
                "remove": False,
            },
        ),
        (22, text("u") + b"\x01", "RemoveUserScramCredentialRecord", {"name": "u", "mechanism": 1}),
        (
            11,
            text("u")
            + b"\x01"
            + text("salt")
            + text("key")
            + text("other")
            + struct.pack(">i", 4096),
            "UserScramCredentialRecord",
            {"name": "u", "mechanism": 1, "iterations": 4096},
        ),
    ],
)
def test_records_that_no_rule_looks_at_are_told_whole_but_for_secrets(
    home: Path, number: int, body: bytes, name: str, fields: Mapping[str, Any]
) -> None:
    """Frame, type, version, its fields, and no tagged ones."""
    value = bytes([1, number, 0]) + body + bytes(1)
    change = Records(home, ()).change(HEAD, None, value, control=False)
    assert isinstance(change, changes.OtherChange)
    assert (change.name, json.loads(change.content)) == (name, fields)
    assert Records(home, ()).change(HEAD, None, value[:-2], control=False) is None
