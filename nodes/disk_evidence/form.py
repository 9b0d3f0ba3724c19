"""How a system lays out its disks, and what the records of its metadata log mean."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from framework.evidence.kinds import Evidence
from framework.evidence.quorum import Voter
from nodes.kafka_files.log_directory import Segment
from nodes.kafka_files.snapshots import Snapshot

Fields = Mapping[str, Any]


class Decoder(Protocol):
    """The records of one metadata log, one after the other."""

    def change(
        self, head: Fields, key: bytes | None, value: bytes, *, control: bool
    ) -> Evidence | None:
        """What a record changes; None: it is none of this system's. `head`: what all changes have,
        offset and epoch among it."""


class SnapshotRead(NamedTuple):
    """What is wrong with the records of a snapshot, the digest of their image, if there is one that
    a node would give, too, and who votes, if it says so."""

    wrong: tuple[str, ...]
    digest: str | None
    voters: tuple[Voter, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Paths are below a process's directory."""

    metadata: str
    """The directory of the metadata log."""
    partitions: str
    """The one with a directory a partition."""
    node: Callable[[Path, Path], str]
    """By a run's folder and a process's directory, whose that is."""
    partition: Callable[[Path], tuple[str, int] | None]
    """Topic id and number of what is in such a directory; None: it is no partition's."""
    topic_id: Callable[[Path, str, int], str | None]
    """Of a partition, as a checkpoint in the directory of partitions names it."""
    decoder: Callable[[Path, Sequence[Segment]], Decoder]
    """For the records of the log in this directory behind those in the segments."""
    snapshot: Callable[[Snapshot], SnapshotRead]
    """What the records of one are, and what control records it has."""
    errors: bool = True
    """Whether a line that a node logs as an error tells of trouble; else only its last words."""
    pauses: str = ""
    """A pattern of the files in which a Java tells when none of its threads ran: `<name>.log` of a
    process, and `<name>.log.<n>`, which are older parts of it. Empty: there are none."""
