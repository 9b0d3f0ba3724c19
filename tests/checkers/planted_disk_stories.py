"""Stories of nodes with disks beside their events: what happens to a log there, whether it is told
or not, and what an honest node tells of it."""

from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any

from planted_runs import NODES, NodeEvent, Story

from framework.evidence import processes, quorum
from framework.evidence.clocks import UNKNOWN_NS
from framework.evidence.kinds import Evidence
from framework.evidence.partitions import PartitionLogOnDisk
from framework.evidence.run_events import RunEvents

DIGEST = "d"


@dataclass
class DiskStory(Story):
    """With disks beside the events: what happens to a log there, whether it is told or not."""

    logs: dict[str, list[list[Any]]] = field(default_factory=dict)
    """Node -> batches: [base offset, epoch, CRCs]."""
    starts: dict[str, int] = field(default_factory=dict)
    snapshots: dict[str, int] = field(default_factory=dict)
    torn: set[str] = field(default_factory=set)
    wrong: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    """Nodes whose disk was not collected."""
    ended: list[processes.ProcessEnded] = field(default_factory=list)
    partitions: list[PartitionLogOnDisk] = field(default_factory=list)
    copies: dict[str, list[tuple[int, list[list[Any]]]]] = field(default_factory=dict)
    """Node -> where the log began and what it held whenever a process had ended."""
    digest: str | None = DIGEST
    """Of the images in snapshots on disks."""

    # --- what is on disk ------------------------------------------------------------------

    def write(self, node: str, base: int, epoch: int, *crcs: int) -> None:
        self.logs.setdefault(node, []).append([base, epoch, list(crcs)])

    def cut(self, node: str, end: int) -> None:
        self.logs[node] = [each for each in self.logs[node] if each[0] < end]

    def put(self, node: str, start: int) -> None:
        """A snapshot takes the place of the segments below."""
        self.snapshots[node] = self.starts[node] = start
        self.logs[node] = [each for each in self.logs[node] if each[0] >= start]

    def end(self, node: str) -> int:
        log = self.logs.get(node)
        return log[-1][0] + len(log[-1][2]) if log else self.starts.get(node, 0)

    # --- both -----------------------------------------------------------------------------

    def append(
        self, node: str, base: int, epoch: int, *crcs: int, leader: bool = False
    ) -> NodeEvent:
        """As an honest node does it: written, then told."""
        self.write(node, base, epoch, *crcs)
        return super().append(node, base, epoch, *crcs, leader=leader)

    def tell_append(self, node: str, base: int, epoch: int, *crcs: int) -> NodeEvent:
        return super().append(node, base, epoch, *crcs)

    def truncate(self, node: str, end: int) -> None:
        self.cut(node, end)
        self.event(node, "truncate", end_offset=end)

    def begin(self, node: str, start: int, *, fetched: bool = False) -> None:
        """As an honest node does it."""
        self.put(node, start)
        self.event(node, "log_start", offset=start, dropped=fetched)
        source = "fetched" if fetched else "local"
        self.event(node, "snap_load", end_offset=start, epoch=1, digest=DIGEST, source=source)

    def boot(self, node: str, *given: Any, **more: Any) -> NodeEvent:
        """Finds what is on disk."""
        log = self.logs.get(node)
        if log is not None:
            self.copies.setdefault(node, []).append((self.starts.get(node, 0), deepcopy(log)))
        reported = {
            "log_end": self.end(node),
            "last_epoch": log[-1][1] if log else 0,
            "log_start": self.starts.get(node, 0),
        }
        return super().boot(node, *given, **{**reported, **more})

    def exit(self, node: str, reason: str = "asked to") -> None:
        self.event(node, "exit", reason=reason)

    def end_of(self, node: str, code: int | None) -> None:
        """The harness saw a process of the node end."""
        number = sum(each.node == node for each in self.ended) + 1
        reported = processes.ProcessEnded(
            node=node, source="harness", process=number, exit_code=code
        )
        self.ended.append(reported)

    def run_events(self) -> RunEvents:
        events = super().run_events()
        events = replace(events, evidence=[*events.evidence, *self.ended])
        found = [each for node in sorted(self.logs) for each in self._disk(node)]
        found += self.partitions
        return replace(events, evidence=[*events.evidence, *found])

    def _disk(self, node: str) -> list[Evidence]:
        if node in self.lost:
            return []
        common = {"node": node, "source": "disk", "within_ns": UNKNOWN_NS, "ref": f"{node}/log"}
        found: list[Evidence] = []
        start, held = 0, list[list[Any]]()
        for begin, log in (*self.copies.get(node, ()), (self.starts.get(node, 0), self.logs[node])):
            left = [each for each in held if each[0] >= begin]
            if begin != start:
                found.append(quorum.LogBegan(**common, offset=begin, dropped=not left))
            same = sum(
                1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, log, strict=False))
            )
            if same < len(left):
                found.append(quorum.Truncated(**common, end_offset=left[same][0]))
            found += [
                quorum.Appended(
                    **common,
                    base_offset=base,
                    end_offset=base + len(crcs),
                    epoch=epoch,
                    control=False,
                    crcs=tuple(crcs),
                    leading=None,
                )
                for base, epoch, crcs in log[same:]
            ]
            start, held = begin, log
        found.append(
            quorum.LogOnDisk(
                **common,
                start_offset=self.starts.get(node, 0),
                end_offset=self.end(node),
                torn=node in self.torn,
                wrong=self.wrong.get(node, ()),
            )
        )
        if node in self.snapshots:
            end = self.snapshots[node]
            found.append(
                quorum.SnapshotFile(
                    **common, end_offset=end, epoch=1, records=0, wrong=(), digest=self.digest
                )
            )
        return found


def running() -> DiskStory:
    """Three records each on three nodes; the third one is committed."""
    story = DiskStory()
    for node in ("c1", "c2", "c3"):
        story.boot(node)
        story.append(node, 0, 1, 10)
        story.append(node, 1, 1, 11, 12)
        story.hw(node, 3, 1)
    return story


def clean() -> DiskStory:
    """And all end in good order."""
    story = running()
    for node in ("c1", "c2", "c3"):
        story.exit(node)
    return story


def complete(records: int = 12) -> DiskStory:
    """All nodes of the plan, more records, processes that the harness saw end, and clients."""
    story = DiskStory()
    for node in NODES:
        story.boot(node)
        for offset in range(records):
            story.append(node, offset, 1, offset)
        story.hw(node, records, 1)
        story.exit(node)
        story.end_of(node, 0)
    for _ in range(6):
        story.serve("b1", "CreateTopics")
        story.op("create", "t", node="b1")
    return story
