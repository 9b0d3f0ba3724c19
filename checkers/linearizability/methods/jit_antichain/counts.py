"""How often each class of pending operations was used: multisets that are numbers.

A multiset is the root of a binary tree over the classes whose leaves are counts. Equal trees are
one tree (hash-consing), so two multisets are equal if their numbers are, one more use costs the
depth of the tree, and what two multisets share is never compared. Number 0 is the empty multiset.

What is `left` and `right` of a node at the lowest depth is a count, else a node. `found`: a hash
table of nodes, -1 where it is free, four times as long. `reg` says how many nodes there are, and
the depth.
"""

from typing import Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.records import record_of
from checkers.linearizability.encoded import Codes, Ints
from framework.compiled import compiled, lean

_NODE: Final = record_of([("left", np.int32), ("right", np.int32)])
Nodes: TypeAlias = NDArray[np.void]


class Registers(Protocol):
    nodes: int
    """How many there are."""
    depth: int


def only_the_empty(room: int) -> tuple[Nodes, Codes]:
    """(nodes, found): the empty multiset alone, and room for some nodes, a power of two."""
    return np.zeros(room, _NODE), np.full(4 * room, -1, np.int32)


def with_more_nodes(nodes: Nodes, made: int) -> tuple[Nodes, Codes]:
    """The same numbers, and room for twice as many."""
    more, found = only_the_empty(2 * len(nodes))
    more[: len(nodes)] = nodes
    _find_again(more, found, made)
    return more, found


@compiled
def _find_again(nodes: Nodes, found: Codes, made: int) -> None:
    for node in range(1, made):
        at = _spot(nodes[node].left, nodes[node].right, len(found))
        while found[at] >= 0:
            at = (at + 1) & (len(found) - 1)
        found[at] = node


@lean
def _spot(left: int, right: int, size: int) -> int:
    mixed = np.int64(left) * 0x1E3779B97F4A7C15 + np.int64(right) * 0x56E8FEB86659FD93
    return int((mixed ^ (mixed >> 31)) & (size - 1))


@lean
def _below(nodes: Nodes, node: int, number: int, height: int) -> int:
    """What a node has on the way to a class."""
    return int(nodes[node].right) if (number >> height) & 1 else int(nodes[node].left)


@lean
def count_of(nodes: Nodes, depth: int, multiset: int, number: int) -> int:
    """How often a class is in a multiset."""
    node = multiset
    for height in range(depth - 1, -1, -1):
        node = _below(nodes, node, number, height)
        if node == 0:
            break
    return int(node)


@lean
def one_more(
    nodes: Nodes, found: Codes, scratch: Ints, reg: Registers, multiset: int, number: int
) -> int:
    """The multiset with a class once more, -1 if there is no room for it."""
    depth = reg.depth
    if reg.nodes + depth > len(nodes):
        return -1
    node = multiset
    for height in range(depth - 1, -1, -1):
        scratch[height] = node
        node = _below(nodes, node, number, height)
    node += 1
    for height in range(depth):
        before = scratch[height]
        left, right = int(nodes[before].left), int(nodes[before].right)
        if (number >> height) & 1:
            right = node
        else:
            left = node
        at = _spot(left, right, len(found))
        while found[at] >= 0:
            other = found[at]
            if nodes[other].left == left and nodes[other].right == right:
                break
            at = (at + 1) & (len(found) - 1)
        if found[at] < 0:
            found[at] = reg.nodes
            nodes[reg.nodes].left, nodes[reg.nodes].right = left, right
            reg.nodes += 1
        node = int(found[at])
    return node


@lean
def within(nodes: Nodes, scratch: Ints, depth: int, fewer: int, more: int) -> bool:
    """Whether no class is more often in the first multiset than in the second."""
    if fewer == more or fewer == 0:
        return True
    if more == 0:
        return False
    scratch[0], scratch[1], scratch[2] = fewer, more, depth
    top = 3
    while top > 0:
        top -= 3
        one, other, height = scratch[top], scratch[top + 1], scratch[top + 2]
        for side in range(2):
            small = _below(nodes, one, side, 0)
            big = _below(nodes, other, side, 0)
            if small == big or small == 0:
                continue
            if big == 0 or (height == 1 and small > big):
                return False
            if height > 1:
                scratch[top], scratch[top + 1], scratch[top + 2] = small, big, height - 1
                top += 3
    return True
