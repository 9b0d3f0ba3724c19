"""A voter comes back from a restart without its vote: the file has it, nobody reads it."""

from dataclasses import replace

from nodes.kraft.raft.state import NO_VOTE, QuorumState
from nodes.kraft.storage.quorum_state import QuorumStateFile


def install() -> None:
    healthy = QuorumStateFile.load

    def load(self: QuorumStateFile) -> QuorumState | None:
        saved = healthy(self)
        return None if saved is None else replace(saved, voted_id=NO_VOTE)

    QuorumStateFile.load = load  # type: ignore[method-assign]
