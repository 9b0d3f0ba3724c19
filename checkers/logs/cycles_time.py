"""Edges between operations that follow one another: in their client, and in real time."""

from typing import Final, TypeAlias

import numpy as np

from checkers.logs.cycles_graph import Ints, Mask, Numbers
from framework.compiled import compiled

Edges: TypeAlias = tuple[Numbers, Numbers]
"""Sources and targets."""
_SPARSE: Final = 8
"""Above so many indices an operation, looking up is by bisection."""


def process_edges(client: Ints, index: Ints, end: Ints, completed: Mask) -> Edges:
    """From each completed operation to the next of its client. `index` rises."""
    return _process(client, int(client.max(initial=-1)) + 1, index, end, completed)


@compiled
def _process(client: Ints, clients: int, index: Ints, end: Ints, completed: Mask) -> Edges:
    last = np.full(clients, -1, np.int32)
    source = np.empty(len(index), np.int32)
    target = np.empty(len(index), np.int32)
    count = 0
    for at in range(len(index)):
        before = last[client[at]]
        if before >= 0 and completed[before] and end[before] < index[at]:
            source[count] = before
            target[count] = at
            count += 1
        last[client[at]] = at
    return source[:count], target[:count]


def realtime_edges(index: Ints, end: Ints, completed: Mask) -> tuple[int, Edges]:
    """How many instants there are, as vertices after the operations; and the edges with them.

    Instants are a chain: one for all completions between two invocations. An operation leads to
    the instant of its completion, an instant to the next and to what is invoked before that. So
    one operation leads to another exactly if it completed before the other was invoked. `index`
    rises.
    """
    done = np.flatnonzero(completed)
    instants, source, target = _realtime(len(index), done, np.searchsorted(index, end[done]))
    return instants, (source, target)


@compiled
def _realtime(count: int, done: Ints, invoked: Ints) -> tuple[int, Numbers, Numbers]:
    """`invoked`: how many operations were when each of the `done` completed."""
    there = np.zeros(count + 1, np.int32)
    for at in range(len(done)):
        there[invoked[at]] = 1
    instants = 0
    for at in range(count + 1):
        if there[at]:
            there[at] = instants
            instants += 1
        else:
            there[at] = -1
    size = len(done) + max(instants - 1, 0) + count
    source = np.empty(size, np.int32)
    target = np.empty(size, np.int32)
    edges = 0
    for at in range(len(done)):
        source[edges] = done[at]
        target[edges] = count + there[invoked[at]]
        edges += 1
    for instant in range(instants - 1):
        source[edges] = count + instant
        target[edges] = count + instant + 1
        edges += 1
    latest = -1
    for at in range(count):
        if there[at] >= 0:
            latest = there[at]
        if latest >= 0:
            source[edges] = count + latest
            target[edges] = at
            edges += 1
    return instants, source[:edges], target[:edges]


def places(index: Ints, wanted: Ints) -> Numbers:
    """Where they are among operations in order; -1: nowhere."""
    if not len(index):
        return np.full(len(wanted), -1, np.int32)
    last = int(index[-1])
    if last <= _SPARSE * len(index) + 1024:
        table = np.full(last + 2, -1, np.int32)
        table[index] = np.arange(len(index), dtype=np.int32)
        return table[np.clip(wanted, -1, last + 1)]
    found = np.searchsorted(index, wanted)
    found[found == len(index)] = 0
    return np.where(index[found] == wanted, found, -1).astype(np.int32)
