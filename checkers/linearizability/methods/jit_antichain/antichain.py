"""The configurations of a level: none dominates another, and no more than the width are kept."""

from typing import Final

import numpy as np

from checkers.linearizability.arrays.bits import ones
from checkers.linearizability.encoded import Ints
from checkers.linearizability.methods.jit_antichain.counts import Nodes, within
from checkers.linearizability.methods.jit_antichain.space import DROPPED, Records, Registers
from framework.compiled import lean

_COMPARED_A_WORK: Final = 63
"""So many configurations are compared in the time in which one is looked at, one less."""


@lean
def link(reg: Registers, conf: Records, vals: Records, side: int, at: int) -> None:
    """Into the chain of its value."""
    value = conf[side, at].value + 1
    if vals[value].at[side] != reg.stamp:
        vals[value].at[side] = reg.stamp
        vals[value].first[side] = -1
    conf[side, at].chain = vals[value].first[side]
    vals[value].first[side] = at


@lean
def is_new(
    reg: Registers, conf: Records, satisfied: Ints, used: Ints, vals: Records, nodes: Nodes,
    scratch: Ints, side: int, at: int,
) -> bool:  # fmt: skip
    """Whether no other configuration dominates this one; drops those that it dominates."""
    value = conf[side, at].value + 1
    if vals[value].at[side] != reg.stamp:
        return True
    before = np.int64(-1)
    other = vals[value].first[side]
    compared = np.int64(0)
    while other >= 0:
        compared += 1
        reg.work += compared & _COMPARED_A_WORK == 0
        lack = np.int64(0)  # what this one lacks
        gain = np.int64(0)
        for word in range(satisfied.shape[2]):
            mine, theirs = satisfied[side, at, word], satisfied[side, other, word]
            lack |= theirs & ~mine
            gain |= mine & ~theirs
            mine, theirs = used[side, at, word], used[side, other, word]
            lack |= mine & ~theirs
            gain |= theirs & ~mine
        if lack == 0 or gain == 0:
            mine, theirs, depth = conf[side, at].pending, conf[side, other].pending, reg.depth
            my_mark, their_mark = conf[side, at].mark, conf[side, other].mark
            if gain == 0 and their_mark <= my_mark and within(nodes, scratch, depth, theirs, mine):
                return False
            if lack == 0 and my_mark <= their_mark and within(nodes, scratch, depth, mine, theirs):
                conf[side, other].mark = DROPPED
                if side != reg.side:
                    reg.kept -= 1
                if before < 0:
                    vals[value].first[side] = conf[side, other].chain
                else:
                    conf[side, before].chain = conf[side, other].chain
                other = conf[side, other].chain
                continue
        before = other
        other = conf[side, other].chain
    return True


@lean
def end_level(reg: Registers, conf: Records, satisfied: Ints, used: Ints, ranks: Ints) -> None:
    """The results are the level's configurations now; at most as many as the width is."""
    side, kept = 1 - reg.side, 0
    for at in range(reg.found):
        if conf[side, at].mark != DROPPED:
            _move(conf, satisfied, used, side, at, kept)
            kept += 1
    if kept > reg.width:
        reg.truncated = 1
        _narrow(reg, conf, satisfied, used, ranks, side, kept)
        kept = reg.width
    reg.side, reg.configs, reg.expanding = side, kept, 0


@lean
def _move(conf: Records, satisfied: Ints, used: Ints, side: int, at: int, to: int) -> None:
    if at != to:
        conf[side, to] = conf[side, at]
        for word in range(satisfied.shape[2]):
            satisfied[side, to, word] = satisfied[side, at, word]
            used[side, to, word] = used[side, at, word]


@lean
def _narrow(
    reg: Registers, conf: Records, satisfied: Ints, used: Ints, ranks: Ints, side: int, count: int
) -> None:
    """The best ones move to the front: those that satisfied much and used little."""
    least = conf[side, 0].spent
    for at in range(count):
        least = min(least, conf[side, at].spent)
    ranks[:] = 0
    for at in range(count):
        done, spoilt = np.int64(0), np.int64(0)
        for word in range(satisfied.shape[2]):
            done += ones(satisfied[side, at, word])
            spoilt += ones(satisfied[side, at, word] & used[side, at, word])
        cost = reg.spent_cost * (conf[side, at].spent - least)
        cost += reg.unsatisfied_cost * (reg.open - 1 - done) + reg.used_cost * spoilt
        conf[side, at].chain = min(cost, len(ranks) - 1)
        ranks[conf[side, at].chain] += 1
    room, limit = reg.width, 0
    while ranks[limit] <= room:
        room -= ranks[limit]
        limit += 1
    kept = 0
    for at in range(count):
        if conf[side, at].chain == limit:
            room -= 1
        if conf[side, at].chain < limit or (conf[side, at].chain == limit and room >= 0):
            _move(conf, satisfied, used, side, at, kept)
            kept += 1
