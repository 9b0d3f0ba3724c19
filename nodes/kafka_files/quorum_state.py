"""The file `quorum-state`: a voter's epoch, leader and vote (KIP-595; version 1: KIP-853)."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Final

import pyarrow as pa

QUORUM_STATE: Final = pa.schema(
    [
        ("version", pa.int64()),
        ("leader_epoch", pa.int64()),
        ("leader_id", pa.int64()),
        ("voted_id", pa.int64()),
        ("voted_directory_id", pa.string()),
        ("cluster_id", pa.string()),
        ("voters", pa.list_(pa.int64())),
    ]
)
_VERSIONS: Final = (0, 1)
_MOST: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class QuorumState:
    """None: there is none, or this version does not say. `voters`: version 0 alone does."""

    version: int
    leader_epoch: int
    leader_id: int | None = None
    voted_id: int | None = None
    voted_directory_id: str | None = None
    cluster_id: str | None = None
    voters: tuple[int, ...] | None = None

    def table(self) -> pa.Table:
        """As a row."""
        return pa.Table.from_pylist([asdict(self)], schema=QUORUM_STATE)


def read_quorum_state(data: bytes) -> QuorumState | str:
    """What it says; or what is wrong with it."""
    try:
        reported = json.loads(data)
        if not isinstance(reported, dict):
            raise ValueError("no JSON object")
        version = reported.get("data_version")
        if version not in _VERSIONS or isinstance(version, bool):
            raise ValueError(f"data_version is {version!r}, expected 0 or 1")
        return _state(version, reported)
    except (ValueError, RecursionError) as error:
        return str(error)


def _state(version: int, reported: dict[str, Any]) -> QuorumState:
    voters = reported.get("currentVoters")
    if voters is not None and not isinstance(voters, list):
        raise ValueError(f"currentVoters is {voters!r}")
    return QuorumState(
        version=version,
        leader_epoch=_number(reported, "leaderEpoch", least=0),
        leader_id=_known(_number(reported, "leaderId")),
        voted_id=_known(_number(reported, "votedId")),
        voted_directory_id=_text(reported, "votedDirectoryId"),
        cluster_id=_text(reported, "clusterId"),
        voters=None if voters is None else tuple(_voter(each) for each in voters),
    )


def _voter(reported: Any) -> int:
    if not isinstance(reported, dict):
        raise ValueError(f"a voter is {reported!r}")
    return _number(reported, "voterId", least=0)


def _number(reported: dict[str, Any], name: str, least: int = -1) -> int:
    value = reported.get(name)
    if type(value) is not int or not least <= value <= _MOST:
        raise ValueError(f"{name} is {value!r}, expected a whole number from {least} on")
    return value


def _known(number: int) -> int | None:
    return None if number < 0 else number


def _text(reported: dict[str, Any], name: str) -> str | None:
    """Kafka writes an empty one where it has none."""
    value = reported.get(name)
    if value is not None and not (isinstance(value, str) and value.isprintable()):
        raise ValueError(f"{name} is {value!r}, expected text")
    return value or None
