"""A voter comes back from a restart without its vote: the file is there, nobody reads it."""

from nodes.kraft.raft.state import QuorumState
from nodes.kraft.storage.quorum_state import QuorumStateFile


def install() -> None:
    healthy = QuorumStateFile.load

    def load(self: QuorumStateFile) -> QuorumState | None:
        saved = healthy(self)
        return None if saved is None else QuorumState(epoch=saved.epoch)

    QuorumStateFile.load = load  # type: ignore[method-assign]
