"""What nodes told, as far as a report draws it: of a sealed run the kinds that it draws alone.

A long run has millions of events, of which a report without findings shows some hundred.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from framework.checking.observed import system_of
from framework.checking.sealing import EVENTS, SEALED, sealed_as
from framework.errors import UsageError
from framework.evidence.catalogue import KINDS
from framework.evidence.kinds import DISK, Evidence
from framework.evidence.processes import Stalled
from framework.evidence.schemas import rows_of
from framework.report.nodes import is_timed

SOURCE: Final = "event"
"""Of the others the time is not the node's."""


@dataclass(slots=True)
class Told:
    """`evidence`: of nodes' own, as it happened, at least of the kinds that were asked for;
    `until_ns`: (node, incarnation) -> the last time that it told of; `nodes`: those of which
    there is anything but what was on disks. `wrong`: why not all can be read."""

    evidence: list[Evidence] = field(default_factory=list)
    until_ns: dict[tuple[str, str], int] = field(default_factory=dict)
    nodes: set[str] = field(default_factory=set)
    wrong: str = ""

    def add(self, each: Evidence) -> None:
        if each.source != DISK:
            self.nodes.add(each.node)
        if is_timed(each):
            self.evidence.append(each)


def told(folder: Path, plan: Mapping[str, Any], kinds: Sequence[type[Evidence]]) -> Told:
    """Of a run's folder, sealed or not."""
    try:
        if sealed_as(folder, plan) is not None:
            return _sealed(folder / SEALED / EVENTS, kinds)
    except (OSError, UsageError, LookupError, TypeError, ValueError, pa.ArrowException):
        pass  # what is wrong the files themselves say
    return _written(folder, plan)


def _written(folder: Path, plan: Mapping[str, Any]) -> Told:
    """What can be read of it."""
    found = Told()
    try:
        for each in system_of(plan).observe(folder, plan):
            found.add(each)
    except (OSError, UsageError, LookupError, TypeError, ValueError) as error:
        found.wrong = str(error)
    return found


def _sealed(events: Path, kinds: Sequence[type[Evidence]]) -> Told:
    found = Told()
    for path in sorted(events.glob("*.parquet")):
        kind = KINDS.get(path.name.partition(".")[0])
        for node, incarnation, until_ns in _lives(path):
            found.nodes.add(node)
            if until_ns is not None:
                process = node, incarnation
                found.until_ns[process] = max(until_ns, found.until_ns.get(process, until_ns))
        if kind is not None and issubclass(kind, tuple(kinds)):
            own = [SOURCE, DISK] if kind is Stalled else [SOURCE]
            table = pq.read_table(path, filters=pc.field("source").isin(own))
            found.evidence += rows_of(kind, table)
    return found


def _lives(path: Path) -> Iterator[tuple[str, str, int | None]]:
    """Node, incarnation, and the last time by its own clock, of what a file has."""
    table = pq.read_table(path, columns=["node", "incarnation", "at_ns", "source"])
    own = pc.if_else(pc.equal(table.column("source"), SOURCE), table.column("at_ns"), None)
    table = table.select(["node", "incarnation"]).append_column("own", own)
    lives = table.group_by(["node", "incarnation"]).aggregate([("own", "max")]).to_pylist()
    yield from ((each["node"], each["incarnation"], each["own_max"]) for each in lives)
