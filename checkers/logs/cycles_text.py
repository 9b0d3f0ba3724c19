"""Cycles of dependencies in words: a sentence an edge, each to be checked by hand."""

from checkers.logs.cycles import Cycle, Edge
from checkers.logs.cycles_edges import PROCESS, WR, WW


def describe_cycle(cycle: Cycle) -> str:
    """A cycle, as in `G1c, 2 operations: index 3 polled "x" at offset 7 ...`."""
    least = "" if cycle.shortest else ", perhaps not the fewest"
    more = f" (of {cycle.size} that are tied together)" if cycle.size > len(cycle.edges) else ""
    steps = "; ".join(map(sentence, cycle.edges))
    return f"{cycle.name}, a cycle of {len(cycle.edges)} operations{least}{more}: {steps}"


def sentence(edge: Edge) -> str:
    """Why `b` comes after `a`."""
    if edge.kind == WW:
        return (
            f"index {edge.a} sent offset {edge.offset} of {edge.key}, and index {edge.b} sent "
            f"offset {edge.next}, the next that was sent"
        )
    if edge.kind == WR:
        at = "a value" if edge.offset is None else f"offset {edge.offset}"
        return f"index {edge.b} polled {at} of {edge.key} that index {edge.a} sent"
    if edge.kind == PROCESS:
        return f"index {edge.b} is the next that the client of index {edge.a} asked for"
    return f"index {edge.a} had completed when index {edge.b} was invoked"
