"""What is open: operations come with their calls, and give their slots back."""

from checkers.linearizability.arrays.kinds import FOREVER, LOOK, WRITE
from checkers.linearizability.arrays.open import Slots, enter, free_slot, leave
from checkers.linearizability.encoded import Ints
from checkers.linearizability.methods.jit_antichain.input import Operations
from checkers.linearizability.methods.jit_antichain.space import Records, Registers, Space
from framework.compiled import lean


@lean
def open_row(
    reg: Registers, ops: Operations, classes: Records, masks: Ints, slots: Slots, opened: Ints,
    changers: Ints, looks: Ints, row: int, slot: int,
) -> bool:  # fmt: skip
    """An operation was invoked, and gets that slot, or the first that is free (-1). False: there
    is none."""
    does = ops[row].kind
    if ops[row].ret == FOREVER:
        number = ops[row].pending_class
        if number >= 0:
            classes[number].called += 1
            if classes[number].account >= 0:
                classes[classes[number].account].supply += 1
        return True
    if slot < 0:
        slot = free_slot(masks)
    if slot < 0:
        return False
    enter(masks, slots, ops, row, slot)
    _insert(opened, reg.open, row, ops)
    reg.open += 1
    if does == LOOK:
        looks[reg.looks] = row
        reg.looks += 1
    elif does >= WRITE:
        _insert(changers, reg.changers, row, ops)
        reg.changers += 1
    return True


@lean
def _insert(rows: Ints, count: int, row: int, ops: Operations) -> None:
    """Into a list that has the last to return first."""
    at = count
    while at > 0 and ops[rows[at - 1]].ret < ops[row].ret:
        rows[at] = rows[at - 1]
        at -= 1
    rows[at] = row


@lean
def retire(
    reg: Registers, ops: Operations, masks: Ints, slots: Slots, looks: Ints, row: int
) -> None:
    """The operation that is the first to return did: its slot is free."""
    ops[reg.level].level_row = row
    reg.level += 1
    reg.open -= 1
    leave(masks, slots, ops[row].slot)
    if ops[row].kind == LOOK:
        at = 0
        while looks[at] != row:
            at += 1
        reg.looks -= 1
        for each in range(at, reg.looks):
            looks[each] = looks[each + 1]
    elif ops[row].kind >= WRITE:
        reg.changers -= 1


@lean
def forget_open(space: Space) -> None:
    """Nothing is open."""
    reg = space.reg
    for each in range(reg.open):
        leave(space.masks, space.slots, space.ops[space.opened[each]].slot)
    reg.open = reg.changers = reg.looks = 0
