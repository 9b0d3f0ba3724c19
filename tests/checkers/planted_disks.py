"""What lies on disks in a story, as an adapter tells it: of each process what came of what the
former one had left."""

import json
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from framework.evidence import quorum
from framework.evidence.clocks import UNKNOWN_NS
from framework.evidence.kinds import DISK, Evidence
from nodes.kraft.adapter.records import change_of

NOTHING: Final = "NoOpRecord"


def crc_of(kind: str, record: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps([kind, record], sort_keys=True, default=str).encode())


@dataclass
class Disks:
    """Appends to nodes' disks. A record of one kind and content has one CRC everywhere."""

    evidence: list[Evidence] = field(default_factory=list)
    ends: dict[str, int] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)
    processes: Counter[str] = field(default_factory=Counter)
    wrong: dict[str, str] = field(default_factory=dict)
    """Node -> what is wrong with its log at the end."""
    lost: set[str] = field(default_factory=set)
    """Nodes whose disks were not collected."""

    def tell(self, kind: type[Evidence], node: str, **fields: Any) -> Evidence:
        reported = kind(
            node=node,
            incarnation=str(self.processes[node] + 1),
            seq=sum(each.node == node for each in self.evidence),
            within_ns=UNKNOWN_NS,
            source=DISK,
            ref=f"nodes/{node}/data:{len(self.evidence)}",
            **fields,
        )
        self.evidence.append(reported)
        return reported

    def write(
        self,
        node: str,
        epoch: int,
        kind: str = NOTHING,
        *,
        base: int | None = None,
        crc: int | None = None,
        **record: Any,
    ) -> None:
        """One record at the end of the log, or at `base`, and no checker of the disk's is asked."""
        at = self.ends.get(node, 0) if base is None else base
        self.tell(
            quorum.Appended,
            node,
            base_offset=at,
            end_offset=at + 1,
            epoch=epoch,
            control=kind == "LeaderChange",
            crcs=(crc_of(kind, record) if crc is None else crc,),
            leading=None,
        )
        head = {
            "node": node,
            "incarnation": str(self.processes[node] + 1),
            "seq": sum(each.node == node for each in self.evidence),
            "within_ns": UNKNOWN_NS,
            "source": DISK,
            "ref": f"nodes/{node}/data:{len(self.evidence)}",
            "offset": at,
            "epoch": epoch,
        }
        self.evidence.append(change_of(head, kind, record, record))
        self.ends[node] = at + 1

    def lead(self, leader: int, epoch: int, *nodes: str, votes: tuple[int, ...] = ()) -> None:
        """The record that begins an epoch, on these disks. By default it was elected by itself and
        one other."""
        for node in nodes:
            self.write(
                node,
                epoch,
                "LeaderChange",
                leader_id=leader,
                granting_voters=list(votes or (leader, leader % 3 + 1)),
                voters=[1, 2, 3],
            )

    def fill(self, epoch: int, records: int, *nodes: str) -> None:
        """Records that change nothing, each another."""
        for node in nodes:
            first = self.ends.get(node, 0)
            for at in range(first, first + records):
                self.write(node, epoch, at=at)

    def cut(self, node: str, end: int) -> None:
        self.tell(quorum.Truncated, node, end_offset=end)
        self.ends[node] = end

    def begin(self, node: str, start: int, *, dropped: bool = False) -> None:
        """A snapshot takes the place of what is below; `dropped`: of all that there is."""
        self.tell(quorum.LogBegan, node, offset=start, dropped=dropped)
        self.starts[node] = start
        self.ends[node] = start if dropped else self.ends[node]

    def snapshot(self, node: str, end: int, epoch: int, **fields: Any) -> None:
        reported = {"records": 0, "wrong": (), **fields}
        self.tell(quorum.SnapshotFile, node, end_offset=end, epoch=epoch, **reported)

    def vote(self, node: str, epoch: int, vote: int | None, leader: int | None = None) -> None:
        """What is saved of it."""
        self.tell(quorum.EpochSaved, node, epoch=epoch, leader=leader, vote=vote)

    def restart(self, node: str) -> None:
        """What follows another process left."""
        self._found(node)
        self.processes[node] += 1

    def _found(self, node: str) -> Evidence:
        wrong = (self.wrong[node],) if node in self.wrong else ()
        return self.tell(
            quorum.LogOnDisk,
            node,
            start_offset=self.starts.get(node, 0),
            end_offset=self.ends.get(node, 0),
            torn=False,
            wrong=wrong,
        )

    def all(self) -> list[Evidence]:
        """All that was left, with the last processes' logs."""
        kept = list(self.evidence)
        for node in sorted({each.node for each in self.evidence}):
            self._found(node)
        found, self.evidence = self.evidence, kept
        return [each for each in found if each.node not in self.lost]
