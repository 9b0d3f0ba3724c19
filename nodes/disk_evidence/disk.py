"""What nodes left on their disks, as the evidence that their events give, too.

`source` is `disk`, `ref` the file and the byte, `incarnation` the number of the process that left
it: of each process that was followed by another one the harness keeps a copy (`kept/<n>`), and the
last one's files are the node's own. What a process left is told as what came of what the former
one had left: what is there no more was cut off, what is there now was appended. When, nobody can
tell, but of a Java's pauses, which it tells with the time of its machine's clock. A record that is
in a log need not be committed. Whatever is wrong with a file is evidence as well: nothing here
raises for it.
"""

import glob
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from crc32c import crc32c

from framework.evidence import changes, processes, quorum
from framework.evidence.clocks import UNKNOWN_NS, Clock, Clocks
from framework.evidence.kinds import DISK, Evidence, disk_of
from framework.evidence.partitions import (
    EpochStart,
    PartitionAppended,
    PartitionLogOnDisk,
    PartitionOffsetSaved,
    PartitionTruncated,
)
from nodes.disk_evidence.form import Decoder, Form
from nodes.disk_evidence.growth import Growth
from nodes.kafka_files.batches import Batches
from nodes.kafka_files.checkpoints import read_epochs, read_offsets
from nodes.kafka_files.java_pauses import read_pauses
from nodes.kafka_files.log_directory import GIVEN_UP, Log, Segment, read_log
from nodes.kafka_files.node_logs import read_node_log
from nodes.kafka_files.quorum_state import read_quorum_state
from nodes.kafka_files.reading import contents
from nodes.kafka_files.records import records
from nodes.kafka_files.snapshots import read_snapshot

GIVEN: Final = disk_of(
    changes.Change,
    quorum.Appended,
    quorum.EpochSaved,
    processes.Failed,
    quorum.LogBegan,
    quorum.LogOnDisk,
    PartitionAppended,
    PartitionLogOnDisk,
    PartitionOffsetSaved,
    PartitionTruncated,
    quorum.SnapshotFile,
    quorum.Truncated,
)
"""The capabilities of a system whose disks are read here."""
TOLD_NS: Final = 10_000_000
"""Shorter pauses of a Java are not told, but for the longest one of a process."""
UNTIMED: Final = Clocks(0, {}, Clock(0, UNKNOWN_NS))
"""Of a run of which no clock is known."""
LOG_STARTS: Final = "log-start-offset-checkpoint"
_OFFSETS: Final = {
    "replication-offset-checkpoint": "high-watermark",
    "recovery-point-offset-checkpoint": "recovery-point",
    LOG_STARTS: "log-start",
}
"""The file in which each is written down."""
Row: TypeAlias = Mapping[str, Any]
Kind = TypeVar("Kind", bound=Evidence)


def left_on_disk(
    folder: Path, form: Form, node: str | None = None, clocks: Clocks = UNTIMED
) -> Iterator[Evidence]:
    """Of all processes below a run's folder; `node`: of those that this one's host had."""
    for home, kept in sorted(_homes(folder, node, form.metadata).items()):
        disk = Disk(folder, home, form, clocks)
        for number in sorted(kept):
            yield from disk.left(home / "kept" / str(number), str(number))
        yield from disk.left(home, str(max(kept) + 1) if kept else "")
        yield from disk.node_log(home / "node.log")


def _homes(folder: Path, node: str | None, metadata: str) -> dict[Path, list[int]]:
    """The processes' directories, and the numbers of the copies that each has."""
    found: dict[Path, list[int]] = defaultdict(list)
    below = "*" if node is None else glob.escape(node)
    for path in folder.glob(f"nodes/{below}/**/{metadata}"):
        home = path.parents[len(Path(metadata).parts) - 1]
        if home.parent.name == "kept" and home.name.isdecimal():
            found[home.parents[1]].append(int(home.name))
        else:
            found[home]
    return found


@dataclass(slots=True)
class Disk:
    """A node's directory, and what is known of it so far: `metadata` and `partitions` by what the
    former process left; what was told of `partition_logs`, `snapshots` and `pausing` processes."""

    folder: Path
    home: Path
    form: Form
    clocks: Clocks = UNTIMED
    node: str = field(init=False)
    process: str = ""
    reported: int = 0
    metadata: Growth = field(default_factory=Growth)
    partitions: dict[tuple[str, int], Growth] = field(default_factory=lambda: defaultdict(Growth))
    partition_logs: dict[tuple[str, int], Row] = field(default_factory=dict)
    snapshots: set[tuple[str, bytes]] = field(default_factory=set)
    pausing: set[str] = field(default_factory=set)
    names: dict[Path, str] = field(default_factory=dict)
    """Of files, as findings name them."""

    def __post_init__(self) -> None:
        self.node = self.form.node(self.folder, self.home)

    def left(self, root: Path, process: str) -> Iterator[Evidence]:
        """What one process left; `root`: its own directory, or the copy of it."""
        self.process = process
        directory, partitions = root / self.form.metadata, root / self.form.partitions
        yield from self.metadata_log(directory)
        yield from self.quorum_state(directory / "quorum-state")
        for path in sorted(directory.glob("*.checkpoint")):
            yield from self.snapshot(path)
        starts = self.log_starts(partitions)
        for partition in sorted(partitions.glob("*-*")):
            yield from self.partition_log(partition, starts)
        yield from self.partition_offsets(partitions)
        yield from self.pauses(root)
        yield from self.ended(root / "process.json")

    def _common(self, path: Path, at: object) -> dict[str, Any]:
        """What all evidence has. `at`: the place in the file, None: all of it."""
        if path not in self.names:
            self.names[path] = str(path.relative_to(self.folder))
        return {
            "node": self.node,
            "incarnation": self.process,
            "seq": self.reported,
            "within_ns": UNKNOWN_NS,
            "source": DISK,
            "ref": self.names[path] + ("" if at is None else f":{at}"),
        }

    def _tell(self, kind: Callable[..., Kind], path: Path, at: object, **fields: Any) -> Kind:
        made = kind(**self._common(path, at), **fields)
        self.reported += 1
        return made

    # --- the metadata log -----------------------------------------------------------------

    def metadata_log(self, directory: Path) -> Iterator[Evidence]:
        """What can be read of it, and where that ends."""
        log = read_log(directory)
        wrong: list[str] = []
        yield from self.dropped(directory, log)
        grown = self.metadata.to(log)
        if grown.began is not None:
            yield self._tell(
                quorum.LogBegan, directory, None, offset=grown.began, dropped=grown.dropped
            )
        if grown.cut is not None:
            yield self._tell(quorum.Truncated, directory, None, end_offset=grown.cut)
        decoder = self.form.decoder(directory, grown.kept)
        for segment in grown.appended:
            yield from self._appended(segment, decoder, wrong)
        torn, more = _state_of(log)
        wrong += more
        yield self._tell(
            quorum.LogOnDisk,
            directory,
            None,
            start_offset=log.start_offset,
            end_offset=log.end_offset,
            torn=torn,
            wrong=tuple(wrong),
        )

    def dropped(self, directory: Path, log: Log) -> Iterator[Evidence]:
        """What the process held before its log began where it does now, as a node has it that took
        another one's snapshot: its former segments, where they are not deleted yet."""
        former = read_log(directory, GIVEN_UP)
        below = [each for each in former.segments if each.base_offset < log.start_offset]
        if below and below[0].base_offset == self.metadata.start:
            grown = self.metadata.to(Log(tuple(below)))
            if grown.cut is not None:
                yield self._tell(quorum.Truncated, directory, None, end_offset=grown.cut)
            decoder = self.form.decoder(directory, grown.kept)
            for segment in grown.appended:
                yield from self._appended(segment, decoder, [])

    def _appended(self, segment: Segment, decoder: Decoder, wrong: list[str]) -> Iterator[Evidence]:
        """A batch that cannot be read, or is none of this node's, is in `wrong`."""
        found = records(segment.batches)
        wrong += [f"{segment.path.name} is {each}" for each in found.unreadable]
        rows: dict[int, list[Row]] = {}
        for row in found.table.select(("position", "offset", "key", "value")).to_pylist():
            rows.setdefault(row["position"], []).append(row)
        for batch in segment.batches.sound.to_pylist():
            found_in = rows.get(batch["position"], [])
            yield from self._batch(segment.path, batch, found_in, decoder, wrong)

    def _batch(
        self, path: Path, batch: Row, rows: list[Row], decoder: Decoder, wrong: list[str]
    ) -> Iterator[Evidence]:
        if not rows:  # there are none, or they cannot be read
            return
        at, epoch, control = batch["position"], batch["leader_epoch"], batch["control"]
        values = [row["value"] or b"" for row in rows]
        yield self._tell(
            quorum.Appended,
            path,
            at,
            base_offset=batch["base_offset"],
            end_offset=batch["end_offset"],
            epoch=epoch,
            control=control,
            crcs=tuple(map(crc32c, values)),
            leading=None,
        )
        for row, value in zip(rows, values, strict=True):
            common = self._common(path, at)
            head = {**common, "offset": row["offset"], "epoch": epoch}
            change = decoder.change(head, row["key"], value, control=control)
            if change is None:
                wrong.append(f"the record at offset {row['offset']} is none of this node's")
            else:
                self.reported += 1
                yield change

    # --- what lies beside it --------------------------------------------------------------

    def quorum_state(self, path: Path) -> Iterator[Evidence]:
        """The last epoch, leader and vote that were saved."""
        state = read_quorum_state(contents(path)[0])
        if not isinstance(state, str):
            yield self._tell(
                quorum.EpochSaved,
                path,
                None,
                epoch=state.leader_epoch,
                leader=state.leader_id,
                vote=state.voted_id,
            )

    def snapshot(self, path: Path) -> Iterator[Evidence]:
        """One that was not told of before."""
        known = (path.name, hashlib.blake2b(contents(path)[0]).digest())
        found = None if known in self.snapshots else read_snapshot(path)
        self.snapshots.add(known)
        if found is not None:
            said = self.form.snapshot(found)
            wrong = found.wrong or said.wrong
            yield self._tell(
                quorum.SnapshotFile,
                path,
                None,
                end_offset=found.end_offset,
                epoch=found.epoch,
                records=len(found.records),
                wrong=wrong,
                digest=None if wrong else said.digest,
                voters=None if wrong else said.voters,
            )

    def log_starts(self, partitions: Path) -> Mapping[tuple[str, int], int]:
        """Where logs begin, by partition, as it is written down of those that do not begin where
        their first segment does."""
        rows = read_offsets(contents(partitions / LOG_STARTS)[0]).table.to_pylist()
        found = (
            (self.form.topic_id(partitions, each["topic"], each["partition"]), each)
            for each in rows
        )
        return {
            (topic_id, each["partition"]): each["offset"]
            for topic_id, each in found
            if topic_id is not None
        }

    def partition_log(
        self, directory: Path, starts: Mapping[tuple[str, int], int]
    ) -> Iterator[Evidence]:
        """The batches of a partition's log."""
        found = self.form.partition(directory)
        if found is None:
            return
        names = {"topic_id": found[0], "partition": found[1]}
        log = read_log(directory)
        grown = self.partitions[found].to(log)
        if grown.cut is not None:
            yield self._tell(PartitionTruncated, directory, None, **names, end_offset=grown.cut)
        for segment in grown.appended:
            for batch in segment.batches.sound.to_pylist():
                yield self._tell(
                    PartitionAppended,
                    segment.path,
                    batch["position"],
                    **names,
                    base_offset=batch["base_offset"],
                    end_offset=batch["end_offset"],
                    epoch=batch["leader_epoch"],
                    crc=batch["crc"],
                    leading=None,
                    producer_id=_known(batch["producer_id"]),
                    base_sequence=_known(batch["base_sequence"]),
                )
        torn, wrong = _state_of(log)
        start, end = _limits(log, starts.get(found, 0))
        now: Row = {
            "start_offset": start,
            "end_offset": end,
            "torn": torn,
            "wrong": tuple(wrong),
            "epochs": _epochs(directory / "leader-epoch-checkpoint"),
        }
        if self.partition_logs.get(found) != now:
            self.partition_logs[found] = now
            yield self._tell(PartitionLogOnDisk, directory, None, **names, **now)

    def partition_offsets(self, directory: Path) -> Iterator[Evidence]:
        """What is written down of offsets beside all logs."""
        for name, what in _OFFSETS.items():
            path = directory / name
            for line, row in enumerate(read_offsets(contents(path)[0]).table.to_pylist(), 3):
                topic_id = self.form.topic_id(directory, row["topic"], row["partition"])
                if topic_id is not None:
                    yield self._tell(
                        PartitionOffsetSaved,
                        path,
                        line,
                        topic_id=topic_id,
                        partition=row["partition"],
                        what=what,
                        offset=row["offset"],
                    )

    def pauses(self, root: Path) -> Iterator[Evidence]:
        """When no thread of the process ran. Files of former processes are still there, by other
        names."""
        parts: dict[str, list[Path]] = defaultdict(list)
        for path in root.glob(self.form.pauses) if self.form.pauses else ():
            parts[path.name.partition(".log")[0]].append(path)
        for name in sorted(parts.keys() - self.pausing):
            self.pausing.add(name)
            yield from self._paused(parts[name])

    def _paused(self, paths: list[Path]) -> Iterator[Evidence]:
        """By all parts of a log, in the order of time."""
        rows = [(path, row) for path in paths for row in read_pauses(contents(path)[0]).to_pylist()]
        longest = max((row["lasted_ns"] for _, row in rows), default=0)
        host = self.home.relative_to(self.folder / "nodes").parts[0]
        for path, row in sorted(rows, key=lambda each: int(each[1]["ended_ns"])):
            if row["lasted_ns"] < min(TOLD_NS, longest):
                continue
            told = self._tell(
                processes.Stalled,
                path,
                row["line"],
                part=f"Java ({row['operation'] or 'for an unknown reason'})",
                lasted_ns=row["lasted_ns"],
            )
            yield replace(
                told,
                at_ns=self.clocks.at_ns(host, row["ended_ns"]),
                within_ns=self.clocks.within_ns(host),
            )

    def ended(self, path: Path) -> Iterator[Evidence]:
        """How the process ended, as the harness wrote it down."""
        try:
            reported = json.loads(contents(path)[0])
            code, ended = reported["exit_code"], reported.get("ended", True)
        except (ValueError, TypeError, LookupError, AttributeError):
            return
        if ended is not True:
            return
        yield replace(
            self._tell(
                processes.ProcessEnded,
                path,
                None,
                process=int(self.process) if self.process else None,
                exit_code=code if type(code) is int else None,
            ),
            source="harness",
        )

    def node_log(self, path: Path) -> Iterator[Evidence]:
        """Errors, tracebacks and last words in what the process wrote for people."""
        for row in read_node_log(contents(path)[0]).to_pylist():
            if not (self.form.errors or row["fatal"]):
                continue
            lines = (row["trace"] or "").strip().splitlines()
            message = ": ".join([row["message"], *lines[-1:]])
            where = row["logger"] or path.name
            yield self._tell(processes.Failed, path, row["line"], where=where, message=message)


def _limits(log: Log, saved: int) -> tuple[int, int]:
    """Where a log begins and ends. `saved`: what is written down of its beginning. It may be within
    a segment; without segments it is all that there is to know; and it may be of a log that was
    there before, of a topic of the same name."""
    if not log.segments:
        return saved, saved
    within = log.start_offset <= saved <= log.end_offset
    return (saved if within else log.start_offset), log.end_offset


def _state_of(log: Log) -> tuple[bool, list[str]]:
    """Whether half a batch is at the end of a log, and what else is wrong with it."""
    last = log.segments[-1].batches.stop if log.segments else None
    torn = last is not None and last.why == "torn"
    return torn, _all_but_torn(log) if torn else list(log.wrong())


def _epochs(path: Path) -> tuple[EpochStart, ...] | None:
    found = read_epochs(contents(path)[0])
    if found.wrong is not None:
        return None
    return tuple(EpochStart(**row) for row in found.table.to_pylist())


def _all_but_torn(log: Log) -> list[str]:
    """What is wrong with a log but for half a batch at its end, which a kill may leave."""
    last = log.segments[-1]
    whole = Segment(last.path, last.base_offset, Batches(b"", last.batches.sound, None))
    return list(Log((*log.segments[:-1], whole)).wrong())


def _known(number: int) -> int | None:
    return None if number < 0 else number
