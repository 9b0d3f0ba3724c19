"""How often each class of pending operations was used: multisets that are numbers.

A multiset is the root of a binary tree over the classes whose leaves are counts. Equal trees are
one tree (hash-consing), so two multisets are equal if their numbers are, one more use costs the
depth of the tree, and what two multisets share is never compared. Number 0 is the empty multiset.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.coded import Codes
from checkers.linearizability.compiled import compiled


class Counts(NamedTuple):
    kids: NDArray[np.int32]
    """(nodes, 2). A kid at the lowest depth is a count, else a node."""
    found: Codes
    """A hash table of nodes, -1 where it is free; at least twice as long as there are nodes."""
    made: NDArray[np.int64]
    """[how many nodes there are]"""
    path: Codes
    """Room to work in."""
    depth: int


def empty_counts(classes: int, nodes: int = 64) -> Counts:
    """`nodes` is a power of two."""
    depth = max(1, (max(classes, 1) - 1).bit_length())
    return Counts(
        np.zeros((nodes, 2), np.int32),
        np.full(4 * nodes, -1, np.int32),
        np.ones(1, np.int64),
        np.zeros(4 * depth + 8, np.int32),
        depth,
    )


def with_more_room(counts: Counts) -> Counts:
    """The same numbers, and room for twice as many."""
    nodes = 2 * len(counts.kids)
    kids = np.zeros((nodes, 2), np.int32)
    kids[: len(counts.kids)] = counts.kids
    found = np.full(4 * nodes, -1, np.int32)
    _find_again(kids, found, int(counts.made[0]))
    return Counts(kids, found, counts.made, counts.path, counts.depth)


@compiled
def _find_again(kids: NDArray[np.int32], found: Codes, made: int) -> None:
    for node in range(1, made):
        at = _spot(kids[node, 0], kids[node, 1], len(found))
        while found[at] >= 0:
            at = (at + 1) & (len(found) - 1)
        found[at] = node


@compiled
def _spot(left: int, right: int, size: int) -> int:
    mixed = np.uint64(left) * np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64(right) * np.uint64(0xD6E8FEB86659FD93)
    return int(np.int64((mixed ^ (mixed >> np.uint64(31))) & np.uint64(size - 1)))


@compiled
def count_of(counts: Counts, multiset: int, number: int) -> int:
    """How often a class is in a multiset."""
    node = multiset
    for height in range(counts.depth - 1, -1, -1):
        node = counts.kids[node, (number >> height) & 1]
        if node == 0:
            return 0
    return node


@compiled
def one_more(counts: Counts, multiset: int, number: int) -> int:
    """The multiset with a class once more, -1 if there is no room for it."""
    kids, path = counts.kids, counts.path
    if counts.made[0] + counts.depth > len(kids):
        return -1
    node = multiset
    for height in range(counts.depth - 1, -1, -1):
        path[height] = node
        node = kids[node, (number >> height) & 1]
    node += 1
    for height in range(counts.depth):
        if (number >> height) & 1:
            left, right = kids[path[height], 0], node
        else:
            left, right = node, kids[path[height], 1]
        at = _spot(left, right, len(counts.found))
        while True:
            other = counts.found[at]
            if other < 0:
                other = counts.made[0]
                counts.made[0] += 1
                kids[other, 0], kids[other, 1] = left, right
                counts.found[at] = other
                break
            if kids[other, 0] == left and kids[other, 1] == right:
                break
            at = (at + 1) & (len(counts.found) - 1)
        node = other
    return node


@compiled
def within(counts: Counts, fewer: int, more: int) -> bool:
    """Whether no class is more often in the first multiset than in the second."""
    if fewer == more or fewer == 0:
        return True
    if more == 0:
        return False
    kids, stack = counts.kids, counts.path
    stack[0], stack[1], stack[2] = fewer, more, counts.depth
    top = 3
    while top:
        top -= 3
        one, other, height = stack[top], stack[top + 1], stack[top + 2]
        for side in range(2):
            small, big = kids[one, side], kids[other, side]
            if small == big or small == 0:
                continue
            if big == 0:
                return False
            if height == 1:
                if small > big:
                    return False
            else:
                stack[top], stack[top + 1], stack[top + 2] = small, big, height - 1
                top += 3
    return True
