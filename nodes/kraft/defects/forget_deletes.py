"""Where logs begin is said to be on disk, and is not: a restart brings deleted records back."""

from collections.abc import Mapping
from uuid import UUID

from nodes.kraft.ids import Offset, PartitionIndex
from nodes.kraft.storage.partition_checkpoint import LOG_STARTS, Checkpoint


def install() -> None:
    healthy = Checkpoint.save

    def save(self: Checkpoint, offsets: Mapping[tuple[UUID, PartitionIndex], Offset]) -> None:
        if self._path.name != LOG_STARTS:
            healthy(self, offsets)

    Checkpoint.save = save  # type: ignore[method-assign]
