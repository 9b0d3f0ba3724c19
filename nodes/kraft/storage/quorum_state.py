"""The file `quorum-state`: epoch, leader and vote, which must outlive the process (KIP-595).

One JSON line. It is replaced as a whole: temporary file, fsync, rename, fsync of the directory.
"""

import json
from pathlib import Path
from typing import Final

from nodes.kraft.ids import LeaderEpoch, ReplicaId
from nodes.kraft.raft.state import QuorumState
from nodes.kraft.storage.errors import StorageError
from nodes.kraft.storage.files import replace_file

DATA_VERSION: Final = 1


class QuorumStateFile:
    """The file at `path`, of a replica of cluster `cluster_id`."""

    def __init__(self, path: Path, cluster_id: str) -> None:
        self.path = path
        self._cluster_id = cluster_id

    def load(self) -> QuorumState | None:
        """What was last saved; None where nothing was.

        Raises `StorageError` for another data version, another cluster, or damage.
        """
        try:
            data = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise StorageError(f"{self.path}: not JSON: {error}") from error
        if not isinstance(data, dict):
            raise StorageError(f"{self.path}: expected a JSON object")
        version = data.get("data_version")
        if version != DATA_VERSION:
            raise StorageError(f"{self.path}: data_version {version}; expected {DATA_VERSION}")
        if data.get("clusterId") != self._cluster_id:
            raise StorageError(
                f"{self.path}: of cluster {data.get('clusterId')}; this is {self._cluster_id}"
            )
        return QuorumState(
            epoch=LeaderEpoch(self._number(data, "leaderEpoch", 0)),
            leader_id=ReplicaId(self._number(data, "leaderId", -1)),
            voted_id=ReplicaId(self._number(data, "votedId", -1)),
        )

    def _number(self, data: dict[str, object], name: str, least: int) -> int:
        value = data.get(name)
        if type(value) is not int or value < least:
            raise StorageError(f"{self.path}: {name} is {value!r}; expected a number >= {least}")
        return value

    def save(self, state: QuorumState) -> None:
        """Make `state` durable; when this returns it is."""
        data = {
            "clusterId": self._cluster_id,
            "leaderId": state.leader_id,
            "leaderEpoch": state.epoch,
            "votedId": state.voted_id,
            "data_version": DATA_VERSION,
        }
        replace_file(self.path, json.dumps(data).encode() + b"\n")
