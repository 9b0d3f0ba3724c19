"""The frontier: breadth-first over completions, an antichain of configurations.

Just-in-time linearization (Lowe 2017): an order need only be extended when an operation returns
that it does not have. So each return is a level: every configuration that has not satisfied the
operation is extended by changers, one after another, until it has.

Why this is exact: take any linearization and cut its changers at the return of r. Some
configuration that the level makes has the same value, satisfied no less and used no more:

- observers are satisfied as soon as the value fits, writes when another write takes effect while
  they are open, since they can go right there without being seen;
- of operations with one effect the one that returns first is used, pending ones last;
- a write (or pending operation) directly followed by a write is left out unless an observer was
  satisfied between them: the write satisfies it, and it stays unused;
- a satisfied write that returns unused goes unseen, or is used now: its last chance;
- whatever is dominated (same value, satisfied no more, used no less) can be dropped.
"""

import numpy as np

from checkers.linearizability.arrays.bits import ones
from checkers.linearizability.arrays.kinds import CAS, CHANGE, DIFFERS, LOOK, READ, STEP, WRITE
from checkers.linearizability.arrays.open import ANY, some_open
from checkers.linearizability.arrays.steps import UNKNOWN, step_of
from checkers.linearizability.encoded import Ints
from checkers.linearizability.methods.jit_antichain.antichain import end_level, is_new, link
from checkers.linearizability.methods.jit_antichain.counts import count_of, one_more
from checkers.linearizability.methods.jit_antichain.input import Operations
from checkers.linearizability.methods.jit_antichain.open import open_row, retire
from checkers.linearizability.methods.jit_antichain.space import (
    BARE,
    DIED,
    DROPPED,
    NEEDS_COUNTS,
    NEEDS_ROWS,
    NEEDS_STEPS,
    NEEDS_TRAIL,
    NEEDS_WORDS,
    PAUSED,
    SURVIVED,
    Records,
    Registers,
    Space,
)
from framework.compiled import lean


@lean
def advance(space: Space, width: int, stop_time: int, stop_work: int) -> int:
    """Goes on until every operation returned, no configuration is left, the next return is after
    `stop_time`, `stop_work` configurations or some more were looked at in all, or something is
    needed."""
    reg, ops, classes, conf = space.reg, space.ops, space.classes, space.conf
    satisfied, used, masks, slots = space.satisfied, space.used, space.masks, space.slots
    opened, changers, looks = space.opened, space.changers, space.looks
    reg.width = width
    while True:
        if reg.expanding == 0:
            while reg.next_row < len(ops):
                row = reg.next_row
                if reg.open and ops[row].call > ops[opened[reg.open - 1]].ret:
                    break
                if not open_row(reg, ops, classes, masks, slots, opened, changers, looks, row, -1):
                    return NEEDS_WORDS
                reg.next_row += 1
            if reg.open == 0:
                return SURVIVED
            row = opened[reg.open - 1]
            if ops[row].ret > stop_time or reg.work >= stop_work:
                return PAUSED
            bit_at, bit = ops[row].slot >> 6, np.int64(1) << (ops[row].slot & 63)
            changer = ops[row].kind >= WRITE and ops[row].kind != LOOK
            plain = True
            side = reg.side
            reg.work += reg.configs
            if reg.has_steps:
                reg.steps_wanted = 0
                for at in range(reg.configs):
                    _look(space, reg, ops, looks, conf, satisfied, side, at)
                if reg.steps_wanted:
                    return NEEDS_STEPS
            for at in range(reg.configs):
                value = conf[side, at].value
                if not reg.has_steps:
                    for word in range(masks.shape[2]):
                        satisfied[side, at, word] |= masks[value, READ, word] | (
                            masks[ANY, DIFFERS, word] & ~masks[value, DIFFERS, word]
                        )
                done = satisfied[side, at, bit_at]
                if changer:
                    done &= used[side, at, bit_at]
                if not done & bit:
                    plain = False
            if plain:
                for at in range(reg.configs):
                    satisfied[side, at, bit_at] &= ~bit
                    used[side, at, bit_at] &= ~bit
                retire(reg, ops, masks, slots, looks, row)
                continue
            _begin_level(space)
        row = opened[reg.open - 1]
        status = _expand_all(space, row, stop_work)
        if status != SURVIVED:
            return status
        if reg.kept == 0:
            return DIED
        end_level(reg, conf, satisfied, used, space.ranks)
        retire(reg, ops, masks, slots, looks, row)


@lean
def _step(space: Space, state: int, action: int) -> int:
    """The state after, IMPOSSIBLE, or UNKNOWN: then it is wanted."""
    after = step_of(space.steps, state, action)
    if after == UNKNOWN:
        reg, wanted = space.reg, space.wanted
        for at in range(reg.steps_wanted):
            if wanted[at].state == state and wanted[at].action == action:
                return after
        if reg.steps_wanted < len(wanted):
            wanted[reg.steps_wanted].state = state
            wanted[reg.steps_wanted].action = action
            reg.steps_wanted += 1
    return after


@lean
def _look(
    space: Space, reg: Registers, ops: Operations, looks: Ints, conf: Records, satisfied: Ints,
    side: int, at: int,
) -> int:  # fmt: skip
    """Satisfies looks. 1 if there are new ones, -1 if a step is not known."""
    new = 0
    for each in range(reg.looks):
        row = looks[each]
        slot = ops[row].slot
        word, bit = slot >> 6, np.int64(1) << (slot & 63)
        if not satisfied[side, at, word] & bit:
            after = _step(space, conf[side, at].value, ops[row].a)
            if after == UNKNOWN:
                return -1
            if after == conf[side, at].value:
                satisfied[side, at, word] |= bit
                new = 1
    return new


@lean
def _begin_level(space: Space) -> None:
    reg, conf, vals = space.reg, space.conf, space.vals
    side = reg.side
    reg.expanding = 1
    reg.head, reg.tail, reg.found, reg.kept = 0, reg.configs, 0, 0
    reg.stamp += 1
    for at in range(reg.configs):
        conf[side, at].mark = 0
        link(reg, conf, vals, side, at)
    reg.active = 0
    if reg.classes:
        _activate(space)


@lean
def _activate(space: Space) -> None:
    """The pending classes that may serve somebody who is open now: they lead to a value that is
    to be read or to be swapped, perhaps through other such classes."""
    reg, ops, vals, classes = space.reg, space.ops, space.vals, space.classes
    opened, satisfied, used = space.opened, space.satisfied, space.used
    stamp = reg.stamp
    everything = reg.has_steps > 0 or some_open(space.masks, ANY, CHANGE)
    todo = 0
    for each in range(reg.open):
        row = opened[each]
        does, value = ops[row].kind, ops[row].a + 1
        # In a window a cas may be satisfied and of use all the same.
        if (
            everything
            or does == WRITE
            or _in_all(reg, used if does == CAS else satisfied, ops[row].slot)
        ):
            continue
        if does == DIFFERS:
            everything = True
        elif vals[value].wanted_at != stamp:
            vals[value].wanted_at = stamp
            vals[todo].todo = value
            todo += 1
    while todo and not everything:
        todo -= 1
        value = vals[todo].todo
        for each in range(vals[value - 1].target, vals[value].target):
            number = classes[each].target
            if classes[number].called == 0:
                continue
            classes[reg.active].active = number
            reg.active += 1
            row = classes[number].row
            source = ops[row].a + 1
            if ops[row].kind == CHANGE:
                everything = True
            elif ops[row].kind == CAS:
                vals[source].source_at = stamp
                if vals[source].wanted_at != stamp:
                    vals[source].wanted_at = stamp
                    vals[todo].todo = source
                    todo += 1
    if everything:
        reg.active = 0
        for number in range(reg.classes):
            if classes[number].called:
                classes[reg.active].active = number
                reg.active += 1
                row = classes[number].row
                if ops[row].kind == CAS:
                    vals[ops[row].a + 1].source_at = stamp
                elif ops[row].kind == CHANGE:
                    vals[0].source_at = stamp


@lean
def _in_all(reg: Registers, bits: Ints, slot: int) -> bool:
    """Whether all of the level's configurations have a slot."""
    side, by_all = reg.side, np.int64(1) << (slot & 63)
    for at in range(reg.configs):
        by_all &= bits[side, at, slot >> 6]
    return bool(by_all != 0)


@lean
def _expand_all(space: Space, row: int, stop_work: int) -> int:
    """The level's configurations, then those on the way. SURVIVED when all are done."""
    reg, conf, ops = space.reg, space.conf, space.ops
    satisfied, used = space.satisfied, space.used
    side, slot = reg.side, ops[row].slot
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    changer = ops[row].kind >= WRITE and ops[row].kind != LOOK
    while reg.head < reg.tail:
        at = reg.head
        if reg.work >= stop_work:
            return PAUSED
        if at >= reg.configs and reg.kept >= reg.width:
            reg.truncated = 1
            return SURVIVED
        if conf[side, at].mark == DROPPED:
            reg.head += 1
            continue
        if at < reg.configs and satisfied[side, at, word] & bit:
            if reg.found >= conf.shape[1]:
                return NEEDS_ROWS
            _copy(conf, satisfied, used, side, at, 1 - side, reg.found)
            _keep_result(space, row)
            if not changer or used[side, at, word] & bit:
                reg.head += 1
                continue
            if not _has_last_chance(space, at, row):
                reg.head += 1
                continue
        reg.work += 1
        reg.steps_wanted = 0
        status = _expand(space, at, row)
        if status != SURVIVED:
            return status
        if reg.steps_wanted:
            return NEEDS_STEPS
        reg.head += 1
    return SURVIVED


@lean
def _has_last_chance(space: Space, at: int, row: int) -> bool:
    """Whether to use what is satisfied, and returns unused, may help (a write; anything that was
    open where a window begins): not if nobody ever sees its value,
    nobody waits for another value to go, and nobody who is open waits to be satisfied."""
    reg, ops, satisfied = space.reg, space.ops, space.satisfied
    now = ops[row].ret
    if space.vals[ops[row].b + 1].need > now or reg.last_differs > now:
        return True
    done = np.int64(0)
    for word in range(satisfied.shape[2]):
        done += ones(satisfied[reg.side, at, word])
    return bool(done < reg.open)


@lean
def _copy(
    conf: Records, satisfied: Ints, used: Ints, side: int, at: int, to_side: int, to: int
) -> None:
    conf[to_side, to] = conf[side, at]
    for word in range(satisfied.shape[2]):
        satisfied[to_side, to, word] = satisfied[side, at, word]
        used[to_side, to, word] = used[side, at, word]


@lean
def _keep_result(space: Space, row: int) -> bool:
    """The result in the next row is kept if nothing dominates it."""
    reg, conf, ops, vals = space.reg, space.conf, space.ops, space.vals
    satisfied, used = space.satisfied, space.used
    side, at, slot = 1 - reg.side, reg.found, ops[row].slot
    word, gone = slot >> 6, ~(np.int64(1) << (slot & 63))
    satisfied[side, at, word] &= gone
    used[side, at, word] &= gone
    conf[side, at].mark = 0
    now = ops[row].ret
    seen = reg.has_steps or reg.last_differs > now
    if not seen and vals[conf[side, at].value + 1].need <= now:
        conf[side, at].value = -1
    if not is_new(reg, conf, satisfied, used, vals, space.nodes, space.scratch, side, at):
        return False
    link(reg, conf, vals, side, at)
    reg.found += 1
    reg.kept += 1
    return True


@lean
def _expand(space: Space, at: int, row: int) -> int:
    """One more changer, in every way that may help."""
    reg, conf, ops = space.reg, space.conf, space.ops
    satisfied, used = space.satisfied, space.used
    changers, looks = space.changers, space.looks
    side = reg.side
    value, bare = conf[side, at].value, conf[side, at].mark == BARE
    tried = 2 * reg.work
    for each in range(reg.changers - 1, -1, -1):
        other = changers[each]
        slot, effect = ops[other].slot, ops[other].effect
        word, bit = slot >> 6, np.int64(1) << (slot & 63)
        does, after = ops[other].kind, ops[other].b
        if used[side, at, word] & bit:
            continue
        # In a window others than writes may be satisfied and unused: they cannot stand for one
        # that is not satisfied.
        serves = does == WRITE or satisfied[side, at, word] & bit == 0
        if ops[effect].effect_at >= tried + serves:
            continue
        ops[effect].effect_at = tried + serves
        if does == WRITE:
            if bare:
                continue
        elif does == CAS:
            if value != ops[other].a:
                continue
        elif does == CHANGE:
            if value == ops[other].a:
                continue
        else:
            after = _step(space, value, ops[other].a)
            if after < 0:
                continue
        status = _put(space, at, row, other, does, after, conf[side, at].pending)
        if status != SURVIVED:
            return status
    for each in range(reg.looks):  # those that narrow the state down
        other = looks[each]
        slot = ops[other].slot
        if satisfied[side, at, slot >> 6] & (np.int64(1) << (slot & 63)):
            continue
        after = _step(space, value, ops[other].a)
        if after >= 0 and after != value:
            status = _put(space, at, row, other, LOOK, after, conf[side, at].pending)
            if status != SURVIVED:
                return status
    if reg.active:
        if reg.kept >= reg.width:
            reg.truncated = 1
            return SURVIVED
        return _expand_pending(space, at, row, tried)
    return SURVIVED


@lean
def _expand_pending(space: Space, at: int, row: int, tried: int) -> int:
    reg, conf, ops, classes = space.reg, space.conf, space.ops, space.classes
    nodes, found, scratch = space.nodes, space.found, space.scratch
    side = reg.side
    value, bare = conf[side, at].value, conf[side, at].mark == BARE
    for each in range(reg.active):
        number = classes[each].active
        like = classes[number].row
        if ops[ops[like].effect].effect_at >= tried:
            continue
        does, after = ops[like].kind, ops[like].b
        if does == WRITE:
            if bare:
                continue
        elif does == CAS:
            if value != ops[like].a or after == value:
                continue
        elif does == CHANGE:
            if value == ops[like].a or after == value:
                continue
        else:
            after = _step(space, value, ops[like].a)
            if after < 0 or after == value:
                continue
        pending = conf[side, at].pending
        account = classes[number].account
        if account >= 0:
            if count_of(nodes, reg.depth, pending, account) >= classes[account].supply:
                continue
            pending = np.int64(one_more(nodes, found, scratch, reg, pending, account))
            if pending < 0:
                return NEEDS_COUNTS
        status = _put(space, at, row, -1 - number, does, after, pending)
        if status != SURVIVED:
            return status
    return SURVIVED


@lean
def _put(space: Space, at: int, row: int, put: int, does: int, after: int, pending: int) -> int:
    """The configuration that one more changer leads to: a result, or one on the way."""
    reg, conf, ops, vals, masks = space.reg, space.conf, space.ops, space.vals, space.masks
    satisfied, used, trails = space.satisfied, space.used, space.trails
    side, to = reg.side, reg.tail
    if to >= conf.shape[1] or reg.found >= conf.shape[1]:
        return NEEDS_ROWS
    if reg.trail >= len(trails):
        return NEEDS_TRAIL
    # It is made where the next one on the way would be.
    for word in range(masks.shape[2]):
        satisfied[side, to, word] = satisfied[side, at, word]
        used[side, to, word] = used[side, at, word]
    conf[side, to].value, conf[side, to].pending = after, pending
    conf[side, to].mark, conf[side, to].trail = 0, reg.trail
    conf[side, to].spent = conf[side, at].spent + (put < 0)
    if put >= 0:
        slot = ops[put].slot
        word, bit = slot >> 6, np.int64(1) << (slot & 63)
        satisfied[side, to, word] |= bit
        if does != LOOK:
            used[side, to, word] |= bit
    settled = np.int64(0)
    if reg.has_steps:
        settled = np.int64(_look(space, reg, ops, space.looks, conf, satisfied, side, to))
        if settled < 0:
            return SURVIVED
    else:
        for word in range(masks.shape[2]):
            fits = masks[after, READ, word] | (
                masks[ANY, DIFFERS, word] & ~masks[after, DIFFERS, word]
            )
            settled |= fits & ~satisfied[side, to, word]
            if does == WRITE:
                fits |= masks[ANY, WRITE, word]
            satisfied[side, to, word] |= fits
    slot = ops[row].slot
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    changer = ops[row].kind >= WRITE and ops[row].kind != LOOK
    if put == row or (not changer and satisfied[side, to, word] & bit):
        _copy(conf, satisfied, used, side, to, 1 - side, reg.found)
        if not _keep_result(space, row):
            return SURVIVED
    else:
        if settled == 0 and (does == WRITE or (put < 0 and does != STEP)):
            # Only something other than a write may follow, because of this value.
            if not (
                some_open(masks, ANY, CHANGE)
                or some_open(masks, after, CAS)
                or vals[after + 1].source_at == reg.stamp
                or vals[0].source_at == reg.stamp
            ):
                return SURVIVED
            conf[side, to].mark = BARE
        if not is_new(reg, conf, satisfied, used, vals, space.nodes, space.scratch, side, to):
            return SURVIVED
        if to - reg.configs >= 4 * reg.width:
            reg.truncated = 1
            return SURVIVED
        link(reg, conf, vals, side, to)
        reg.tail += 1
    trails[reg.trail].before, trails[reg.trail].added = conf[side, at].trail, put
    reg.trail += 1
    return SURVIVED
