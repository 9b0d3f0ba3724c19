"""How often each class of pending operations was used: multisets that are numbers.

A multiset is the root of a binary tree over the classes whose leaves are counts. Equal trees are
one tree (hash-consing), so two multisets are equal if their numbers are, one more use costs the
depth of the tree, and what two multisets share is never compared. Number 0 is the empty multiset.

`kids` (nodes, 2): a kid at the lowest depth is a count, else a node. `found`: a hash table of
nodes, -1 where it is free, four times as long. `reg` says how many nodes there are, and the depth.
"""

from typing import Protocol

import numpy as np

from checkers.linearizability.encoded import Codes, Ints
from framework.compiled import compiled, lean


class Nodes(Protocol):
    nodes: int
    """How many there are."""
    depth: int


def with_more_nodes(kids: Codes, made: int) -> tuple[Codes, Codes]:
    """The same numbers, and room for twice as many."""
    nodes = 2 * len(kids)
    more = np.zeros((nodes, 2), np.int32)
    more[: len(kids)] = kids
    found = np.full(4 * nodes, -1, np.int32)
    _find_again(more, found, made)
    return more, found


@compiled
def _find_again(kids: Codes, found: Codes, made: int) -> None:
    for node in range(1, made):
        at = _spot(kids[node, 0], kids[node, 1], len(found))
        while found[at] >= 0:
            at = (at + 1) & (len(found) - 1)
        found[at] = node


@lean
def _spot(left: int, right: int, size: int) -> int:
    mixed = np.int64(left) * 0x1E3779B97F4A7C15 + np.int64(right) * 0x56E8FEB86659FD93
    return int((mixed ^ (mixed >> 31)) & (size - 1))


@lean
def count_of(kids: Codes, depth: int, multiset: int, number: int) -> int:
    """How often a class is in a multiset."""
    node = multiset
    for height in range(depth - 1, -1, -1):
        node = int(kids[node, (number >> height) & 1])
        if node == 0:
            break
    return int(node)


@lean
def one_more(
    kids: Codes, found: Codes, scratch: Ints, reg: Nodes, multiset: int, number: int
) -> int:
    """The multiset with a class once more, -1 if there is no room for it."""
    depth = reg.depth
    if reg.nodes + depth > len(kids):
        return -1
    node = multiset
    for height in range(depth - 1, -1, -1):
        scratch[height] = node
        node = int(kids[node, (number >> height) & 1])
    node += 1
    for height in range(depth):
        before = scratch[height]
        left, right = int(kids[before, 0]), int(kids[before, 1])
        if (number >> height) & 1:
            right = node
        else:
            left = node
        at = _spot(left, right, len(found))
        while found[at] >= 0:
            other = found[at]
            if kids[other, 0] == left and kids[other, 1] == right:
                break
            at = (at + 1) & (len(found) - 1)
        if found[at] < 0:
            found[at] = reg.nodes
            kids[reg.nodes, 0], kids[reg.nodes, 1] = left, right
            reg.nodes += 1
        node = int(found[at])
    return node


@lean
def within(kids: Codes, scratch: Ints, depth: int, fewer: int, more: int) -> bool:
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
            small, big = kids[one, side], kids[other, side]
            if small == big or small == 0:
                continue
            if big == 0 or (height == 1 and small > big):
                return False
            if height > 1:
                scratch[top], scratch[top + 1], scratch[top + 2] = small, big, height - 1
                top += 3
    return True
