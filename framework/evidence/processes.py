"""Evidence of nodes' processes: that they began, ran and ended."""

from dataclasses import dataclass
from typing import ClassVar

from framework.evidence.ids import BrokerId, LeaderEpoch, Offset, ReplicaId
from framework.evidence.kinds import Evidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Booted(Evidence):
    """A process began, and found this on its disk. Ids are None where it has no such role; saved_*
    are None where nothing was saved yet. key: what operations on it call it, beside its node's
    name."""

    kind: ClassVar[str] = "booted"
    replica_id: ReplicaId | None = None
    broker_id: BrokerId | None = None
    voters: tuple[ReplicaId, ...] = ()
    saved_epoch: LeaderEpoch | None = None
    saved_leader: ReplicaId | None = None
    saved_vote: ReplicaId | None = None
    log_start: Offset | None = None
    log_end: Offset | None = None
    last_epoch: LeaderEpoch | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited(Evidence):
    """A process ended, and said why. `fatal`: it gave up, nobody had asked it to end."""

    kind: ClassVar[str] = "exited"
    reason: str
    fatal: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnded(Evidence):
    """The harness saw that a node's process ended: the how manieth, from 1, of those that it
    started (None: not counted), and with which exit code, negative: minus the signal that ended it
    (None: nobody could tell)."""

    kind: ClassVar[str] = "process-ended"
    process: int | None
    exit_code: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed(Evidence):
    """An exception that nothing handled."""

    kind: ClassVar[str] = "failed"
    where: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stalled(Evidence):
    """A part of the process did not run for so long, up to `at_ns`; for `delayed_ns` of that at
    most the machine had no core for the process."""

    kind: ClassVar[str] = "stalled"
    part: str
    lasted_ns: int
    delayed_ns: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked(Evidence):
    """The process was alive: it says so every `every_ns`; None: who knows how often."""

    kind: ClassVar[str] = "ticked"
    every_ns: int | None = None
