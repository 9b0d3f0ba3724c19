"""What is open: operations come with their calls, get a bit, and give it back."""

import numpy as np

from checkers.linearizability.arrays.kinds import CAS, CHANGE, DIFFERS, FOREVER, LOOK, READ, WRITE
from checkers.linearizability.encoded import Ints
from checkers.linearizability.methods.jit_antichain.input import Operations
from checkers.linearizability.methods.jit_antichain.space import (
    CHANGERS,
    FREE,
    K_ACCOUNT,
    K_CALLED,
    K_SUPPLY,
    L_CHANGERS,
    L_FREE,
    L_LOOKS,
    L_OPEN,
    LEVEL,
    LOOKS,
    M_DIFFERS,
    M_WRITES,
    OPEN,
    OPEN_CHANGES,
    SLOTS,
    V_CAS,
    V_MASKS,
)
from framework.compiled import compiled


@compiled
def open_row(
    reg: Ints, ops: Operations, vals: Ints, classes: Ints, lists: Ints, masks: Ints, row: int
) -> bool:
    """An operation was invoked. False: out of words."""
    does, value = ops[row].kind, ops[row].a + 1
    if ops[row].ret == FOREVER:
        number = ops[row].pending_class
        if number >= 0:
            classes[number, K_CALLED] += 1
            if classes[number, K_ACCOUNT] >= 0:
                classes[classes[number, K_ACCOUNT], K_SUPPLY] += 1
        return True
    if reg[FREE]:
        reg[FREE] -= 1
        slot = lists[L_FREE, reg[FREE]]
    elif reg[SLOTS] < lists.shape[1]:
        slot = reg[SLOTS]
        reg[SLOTS] += 1
    else:
        return False
    ops[row].slot = slot
    words = masks.shape[1]
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    _insert(lists, L_OPEN, reg[OPEN], row, ops)
    reg[OPEN] += 1
    if does >= WRITE and does != LOOK:
        _insert(lists, L_CHANGERS, reg[CHANGERS], row, ops)
        reg[CHANGERS] += 1
    if does == READ:
        vals[value, V_MASKS + word] |= bit
    elif does == DIFFERS:
        vals[value, V_MASKS + words + word] |= bit
        masks[M_DIFFERS, word] |= bit
    elif does == WRITE:
        masks[M_WRITES, word] |= bit
    elif does == CAS:
        vals[value, V_CAS] += 1
    elif does == CHANGE:
        reg[OPEN_CHANGES] += 1
    elif does == LOOK:
        lists[L_LOOKS, reg[LOOKS]] = row
        reg[LOOKS] += 1
    return True


@compiled
def _insert(lists: Ints, which: int, count: int, row: int, ops: Operations) -> None:
    """Into a list that has the last to return first."""
    at = count
    while at > 0 and ops[lists[which, at - 1]].ret < ops[row].ret:
        lists[which, at] = lists[which, at - 1]
        at -= 1
    lists[which, at] = row


@compiled
def retire(reg: Ints, ops: Operations, vals: Ints, lists: Ints, masks: Ints, row: int) -> None:
    """The operation returned: its bit is free."""
    ops[reg[LEVEL]].level_row = row
    reg[LEVEL] += 1
    reg[OPEN] -= 1
    slot, does, value = ops[row].slot, ops[row].kind, ops[row].a + 1
    lists[L_FREE, reg[FREE]] = slot
    reg[FREE] += 1
    words = masks.shape[1]
    word, gone = slot >> 6, ~(np.int64(1) << (slot & 63))
    if does >= WRITE and does != LOOK:
        reg[CHANGERS] -= 1
    if does == READ:
        vals[value, V_MASKS + word] &= gone
    elif does == DIFFERS:
        vals[value, V_MASKS + words + word] &= gone
        masks[M_DIFFERS, word] &= gone
    elif does == WRITE:
        masks[M_WRITES, word] &= gone
    elif does == CAS:
        vals[value, V_CAS] -= 1
    elif does == CHANGE:
        reg[OPEN_CHANGES] -= 1
    elif does == LOOK:
        at = 0
        while lists[L_LOOKS, at] != row:
            at += 1
        reg[LOOKS] -= 1
        for each in range(at, reg[LOOKS]):
            lists[L_LOOKS, each] = lists[L_LOOKS, each + 1]
