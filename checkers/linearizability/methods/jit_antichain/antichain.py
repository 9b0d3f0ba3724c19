"""The configurations of a level: none dominates another, and no more than the width are kept."""

from typing import Final

import numpy as np

from checkers.linearizability.arrays.bits import ones
from checkers.linearizability.encoded import Codes, Ints
from checkers.linearizability.methods.jit_antichain.counts import within
from checkers.linearizability.methods.jit_antichain.space import (
    C_CHAIN,
    C_MARK,
    C_SAT,
    C_SPENT,
    C_USED,
    C_VAL,
    CONFIGS,
    DROPPED,
    EXPANDING,
    FOUND,
    KEPT,
    OPEN,
    SIDE,
    SPENT_COST,
    STAMP,
    TRUNCATED,
    UNSATISFIED_COST,
    USED_COST,
    V_AT,
    V_FIRST,
    WIDTH,
    WORK,
)
from framework.compiled import compiled

_RANKS: Final = 1024
_COMPARED_A_WORK: Final = 63
"""So many configurations are compared in the time in which one is looked at, one less."""


@compiled
def link(reg: Ints, conf: Ints, vals: Ints, side: int, at: int) -> None:
    """Into the chain of its value."""
    value = conf[side, at, C_VAL] + 1
    if vals[value, V_AT + side] != reg[STAMP]:
        vals[value, V_AT + side] = reg[STAMP]
        vals[value, V_FIRST + side] = -1
    conf[side, at, C_CHAIN] = vals[value, V_FIRST + side]
    vals[value, V_FIRST + side] = at


@compiled
def is_new(reg: Ints, conf: Ints, vals: Ints, kids: Codes, words: int, side: int, at: int) -> bool:
    """Whether no other configuration dominates this one; drops those that it dominates."""
    value = conf[side, at, C_VAL] + 1
    if vals[value, V_AT + side] != reg[STAMP]:
        return True
    before = np.int64(-1)
    other = vals[value, V_FIRST + side]
    compared = np.int64(0)
    while other >= 0:
        compared += 1
        reg[WORK] += compared & _COMPARED_A_WORK == 0
        lack = np.int64(0)  # what this one lacks
        gain = np.int64(0)
        for word in range(C_SAT, C_SAT + words):
            mine, theirs = conf[side, at, word], conf[side, other, word]
            lack |= theirs & ~mine
            gain |= mine & ~theirs
            mine, theirs = conf[side, at, word + words], conf[side, other, word + words]
            lack |= mine & ~theirs
            gain |= theirs & ~mine
        if lack == 0 or gain == 0:
            mine, theirs = conf[side, at, C_USED], conf[side, other, C_USED]
            my_mark, their_mark = conf[side, at, C_MARK], conf[side, other, C_MARK]
            if gain == 0 and their_mark <= my_mark and within(kids, reg, theirs, mine):
                return False
            if lack == 0 and my_mark <= their_mark and within(kids, reg, mine, theirs):
                conf[side, other, C_MARK] = DROPPED
                if side != reg[SIDE]:
                    reg[KEPT] -= 1
                if before < 0:
                    vals[value, V_FIRST + side] = conf[side, other, C_CHAIN]
                else:
                    conf[side, before, C_CHAIN] = conf[side, other, C_CHAIN]
                other = conf[side, other, C_CHAIN]
                continue
        before = other
        other = conf[side, other, C_CHAIN]
    return True


@compiled
def end_level(reg: Ints, conf: Ints) -> None:
    """The results are the level's configurations now; at most as many as the width is."""
    side, kept = 1 - reg[SIDE], 0
    for at in range(reg[FOUND]):
        if conf[side, at, C_MARK] != DROPPED:
            _move(conf, side, at, kept)
            kept += 1
    if kept > reg[WIDTH]:
        reg[TRUNCATED] = 1
        _narrow(reg, conf, side, kept)
        kept = reg[WIDTH]
    reg[SIDE], reg[CONFIGS], reg[EXPANDING] = side, kept, 0


@compiled
def _move(conf: Ints, side: int, at: int, to: int) -> None:
    if at != to:
        for column in range(conf.shape[2]):
            conf[side, to, column] = conf[side, at, column]


@compiled
def _narrow(reg: Ints, conf: Ints, side: int, count: int) -> None:
    """The best ones move to the front: those that satisfied much and used little."""
    words = (conf.shape[2] - C_SAT) // 2
    least = conf[side, 0, C_SPENT]
    for at in range(count):
        least = min(least, conf[side, at, C_SPENT])
    ranks = np.zeros(_RANKS, np.int64)
    for at in range(count):
        satisfied, used = np.int64(0), np.int64(0)
        for word in range(C_SAT, C_SAT + words):
            satisfied += ones(conf[side, at, word])
            used += ones(conf[side, at, word] & conf[side, at, word + words])
        cost = reg[SPENT_COST] * (conf[side, at, C_SPENT] - least)
        cost += reg[UNSATISFIED_COST] * (reg[OPEN] - 1 - satisfied) + reg[USED_COST] * used
        conf[side, at, C_CHAIN] = min(cost, _RANKS - 1)
        ranks[conf[side, at, C_CHAIN]] += 1
    room, limit = reg[WIDTH], 0
    while ranks[limit] <= room:
        room -= ranks[limit]
        limit += 1
    kept = 0
    for at in range(count):
        if conf[side, at, C_CHAIN] == limit:
            room -= 1
        if conf[side, at, C_CHAIN] < limit or (conf[side, at, C_CHAIN] == limit and room >= 0):
            _move(conf, side, at, kept)
            kept += 1
