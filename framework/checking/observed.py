"""The typed evidence of a stored run: what its system's adapter makes of what the nodes left."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pyarrow as pa

from framework.checking.shares import ALL, Share
from framework.errors import UsageError
from framework.evidence.catalogue import KINDS
from framework.evidence.kinds import Evidence
from framework.evidence.schemas import table_of
from framework.history.event import Recorded
from framework.plugins import registry
from framework.plugins.checker import RunInfo
from framework.plugins.system import ObservesNodes, System


def system_of(plan: Mapping[str, Recorded]) -> System:
    """The system that a run tested; the default one where its plan does not say."""
    name = plan.get("system")
    system: System = registry.load("systems", str(name or registry.default("systems")))
    return system


def with_votes(plan: Mapping[str, Recorded]) -> Mapping[str, Recorded]:
    """The plan with `votes` of each node. Older ones do not say it; then the system's layout does,
    if it is installed."""
    nodes, options = plan["nodes"], plan.get("options") or {}
    if all("votes" in node for node in nodes.values()):
        return plan
    try:
        specs = system_of(plan).layout(options.get("nodes"))
    except UsageError:
        return plan
    votes = {spec.name: spec.votes for spec in specs}
    reported = {name: {"votes": votes.get(name, False), **node} for name, node in nodes.items()}
    return {**plan, "nodes": reported}


def restated(plan: Mapping[str, Recorded], operations: pa.Table) -> pa.Table:
    """A stored run's operations in today's words, which its system knows, if it is installed."""
    try:
        system = system_of(plan)
    except UsageError:
        return operations
    return system.restated(operations)


def observed(info: RunInfo, share: Share = ALL) -> dict[str, pa.Table]:
    """Kind -> its rows. Raises `UsageError` if the system is not installed, or a file of the run
    is not what its nodes write."""
    try:
        return tables_by_kind(_observed(info, share))
    except pa.ArrowException as error:
        raise UsageError(f"{info.path}: what its nodes left cannot be read: {error}") from None


def _observed(info: RunInfo, share: Share) -> Iterator[Evidence]:
    system, folder = system_of(info.plan), Path(info.path)
    if share.nodes is None:
        yield from system.observe(folder, info.plan)
        return
    assert isinstance(system, ObservesNodes), "whoever asks for a share has looked"
    if share.number == 0:
        yield from system.observe_run(info.plan)
    for node in share.nodes:
        yield from system.observe_node(folder, info.plan, node)


def tables_by_kind(evidence: Iterable[Evidence]) -> dict[str, pa.Table]:
    """Rows of any kinds as a table for each kind that there is."""
    rows: dict[str, list[Evidence]] = {}
    tables: dict[str, list[pa.Table]] = {}
    for each in evidence:
        gathered = rows.setdefault(each.kind, [])
        gathered.append(each)
        if len(gathered) == _OBJECTS:
            tables.setdefault(each.kind, []).append(table_of(KINDS[each.kind], gathered))
            gathered.clear()
    for kind, rest in rows.items():
        tables.setdefault(kind, []).append(table_of(KINDS[kind], rest))
    return {kind: pa.concat_tables(tables[kind]) for kind in rows}


_OBJECTS: Final = 1 << 16
"""Of a kind, so many are objects at a time; a column has them in a tenth of the memory."""
