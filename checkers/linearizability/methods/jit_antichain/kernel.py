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
from checkers.linearizability.arrays.kinds import CAS, CHANGE, DIFFERS, LOOK, STEP, WRITE
from checkers.linearizability.encoded import Ints
from checkers.linearizability.methods.jit_antichain.antichain import end_level, is_new, link
from checkers.linearizability.methods.jit_antichain.counts import count_of, one_more
from checkers.linearizability.methods.jit_antichain.input import Operations
from checkers.linearizability.methods.jit_antichain.open import open_row, retire
from checkers.linearizability.methods.jit_antichain.space import (
    ACTIVE,
    BARE,
    C_MARK,
    C_SAT,
    C_SPENT,
    C_TRAIL,
    C_USED,
    C_VAL,
    CHANGERS,
    CLASSES,
    CONFIGS,
    DEPTH,
    DIED,
    DROPPED,
    EXPANDING,
    FOUND,
    HAS_STEPS,
    HEAD,
    K_ACCOUNT,
    K_ACTIVE,
    K_CALLED,
    K_ROW,
    K_SUPPLY,
    K_TARGET,
    KEPT,
    L_CHANGERS,
    L_LOOKS,
    L_OPEN,
    LAST_DIFFERS,
    LOOKS,
    M_DIFFERS,
    M_WRITES,
    NEEDS_COUNTS,
    NEEDS_ROWS,
    NEEDS_STEPS,
    NEEDS_TRAIL,
    NEEDS_WORDS,
    NEXT_ROW,
    OPEN,
    OPEN_CHANGES,
    PAUSED,
    SIDE,
    STAMP,
    STEPS_WANTED,
    SURVIVED,
    TAIL,
    TRAIL,
    TRUNCATED,
    V_CAS,
    V_MASKS,
    V_NEED,
    V_SOURCE_AT,
    V_TARGET,
    V_TODO,
    V_WANTED_AT,
    WIDTH,
    WORK,
    Space,
)
from checkers.linearizability.methods.jit_antichain.steps import UNKNOWN, step_of
from framework.compiled import compiled


@compiled
def advance(space: Space, width: int, stop_time: int, work: int) -> int:
    """Goes on until every operation returned, no configuration is left, the next return is after
    `stop_time`, about `work` configurations were looked at, or something is needed."""
    reg, ops, vals, lists, masks = space.reg, space.ops, space.vals, space.lists, space.masks
    conf = space.conf
    stop_work = reg[WORK] + work
    reg[WIDTH] = width
    while True:
        if reg[EXPANDING] == 0:
            if reg[WORK] >= stop_work:
                return PAUSED
            while reg[NEXT_ROW] < len(ops):
                row = reg[NEXT_ROW]
                if reg[OPEN] and ops[row].call > ops[lists[L_OPEN, reg[OPEN] - 1]].ret:
                    break
                if not open_row(reg, ops, vals, space.classes, lists, masks, row):
                    return NEEDS_WORDS
                reg[NEXT_ROW] += 1
            if reg[OPEN] == 0:
                return SURVIVED
            row = lists[L_OPEN, reg[OPEN] - 1]
            if ops[row].ret > stop_time:
                return PAUSED
            bit_at, bit = ops[row].slot >> 6, np.int64(1) << (ops[row].slot & 63)
            changer = ops[row].kind >= WRITE and ops[row].kind != LOOK
            plain = True
            side = reg[SIDE]
            words = masks.shape[1]
            reg[WORK] += reg[CONFIGS]
            if reg[HAS_STEPS]:
                reg[STEPS_WANTED] = 0
                for at in range(reg[CONFIGS]):
                    _look(space, reg, ops, lists, conf, side, at)
                if reg[STEPS_WANTED]:
                    return NEEDS_STEPS
            for at in range(reg[CONFIGS]):
                value = conf[side, at, C_VAL] + 1
                if not reg[HAS_STEPS]:
                    for word in range(words):
                        conf[side, at, C_SAT + word] |= vals[value, V_MASKS + word] | (
                            masks[M_DIFFERS, word] & ~vals[value, V_MASKS + words + word]
                        )
                done = conf[side, at, C_SAT + bit_at]
                if changer:
                    done &= conf[side, at, C_SAT + words + bit_at]
                if not done & bit:
                    plain = False
            if plain:
                for at in range(reg[CONFIGS]):
                    conf[side, at, C_SAT + bit_at] &= ~bit
                    conf[side, at, C_SAT + words + bit_at] &= ~bit
                retire(reg, ops, vals, lists, masks, row)
                continue
            _begin_level(space)
        row = lists[L_OPEN, reg[OPEN] - 1]
        status = _expand_all(space, row, stop_work)
        if status != SURVIVED:
            return status
        if reg[KEPT] == 0:
            return DIED
        end_level(reg, conf)
        retire(reg, ops, vals, lists, masks, row)


@compiled
def _step(space: Space, state: int, action: int) -> int:
    """The state after, IMPOSSIBLE, or UNKNOWN: then it is wanted."""
    after = step_of(space.steps, state, action)
    if after == UNKNOWN:
        reg, wanted = space.reg, space.wanted
        for at in range(reg[STEPS_WANTED]):
            if wanted[at, 0] == state and wanted[at, 1] == action:
                return after
        if reg[STEPS_WANTED] < len(wanted):
            wanted[reg[STEPS_WANTED], 0] = state
            wanted[reg[STEPS_WANTED], 1] = action
            reg[STEPS_WANTED] += 1
    return after


@compiled
def _look(
    space: Space, reg: Ints, ops: Operations, lists: Ints, conf: Ints, side: int, at: int
) -> int:
    """Satisfies looks. 1 if there are new ones, -1 if a step is not known."""
    new = 0
    for each in range(reg[LOOKS]):
        row = lists[L_LOOKS, each]
        slot = ops[row].slot
        word, bit = slot >> 6, np.int64(1) << (slot & 63)
        if not conf[side, at, C_SAT + word] & bit:
            after = _step(space, conf[side, at, C_VAL], ops[row].a)
            if after == UNKNOWN:
                return -1
            if after == conf[side, at, C_VAL]:
                conf[side, at, C_SAT + word] |= bit
                new = 1
    return new


@compiled
def _begin_level(space: Space) -> None:
    reg, conf, vals = space.reg, space.conf, space.vals
    side = reg[SIDE]
    reg[EXPANDING] = 1
    reg[HEAD], reg[TAIL], reg[FOUND], reg[KEPT] = 0, reg[CONFIGS], 0, 0
    reg[STAMP] += 1
    for at in range(reg[CONFIGS]):
        conf[side, at, C_MARK] = 0
        link(reg, conf, vals, side, at)
    reg[ACTIVE] = 0
    if reg[CLASSES]:
        _activate(space)


@compiled
def _activate(space: Space) -> None:
    """The pending classes that may serve somebody who is open now: they lead to a value that is
    to be read or to be swapped, perhaps through other such classes."""
    reg, ops, vals, classes, lists = space.reg, space.ops, space.vals, space.classes, space.lists
    stamp = reg[STAMP]
    everything = reg[HAS_STEPS] > 0 or reg[OPEN_CHANGES] > 0
    todo = 0
    for each in range(reg[OPEN]):
        row = lists[L_OPEN, each]
        does, value = ops[row].kind, ops[row].a + 1
        word = C_SAT + (ops[row].slot >> 6)
        if does == CAS:  # in a window it may be satisfied and of use all the same
            word += space.masks.shape[1]
        if everything or does == WRITE or _in_all(reg, space.conf, word, ops[row].slot):
            continue
        if does == DIFFERS:
            everything = True
        elif vals[value, V_WANTED_AT] != stamp:
            vals[value, V_WANTED_AT] = stamp
            vals[todo, V_TODO] = value
            todo += 1
    while todo and not everything:
        todo -= 1
        value = vals[todo, V_TODO]
        for each in range(vals[value - 1, V_TARGET], vals[value, V_TARGET]):
            number = classes[each, K_TARGET]
            if classes[number, K_CALLED] == 0:
                continue
            classes[reg[ACTIVE], K_ACTIVE] = number
            reg[ACTIVE] += 1
            row = classes[number, K_ROW]
            source = ops[row].a + 1
            if ops[row].kind == CHANGE:
                everything = True
            elif ops[row].kind == CAS:
                vals[source, V_SOURCE_AT] = stamp
                if vals[source, V_WANTED_AT] != stamp:
                    vals[source, V_WANTED_AT] = stamp
                    vals[todo, V_TODO] = source
                    todo += 1
    if everything:
        reg[ACTIVE] = 0
        for number in range(reg[CLASSES]):
            if classes[number, K_CALLED]:
                classes[reg[ACTIVE], K_ACTIVE] = number
                reg[ACTIVE] += 1
                row = classes[number, K_ROW]
                if ops[row].kind == CAS:
                    vals[ops[row].a + 1, V_SOURCE_AT] = stamp
                elif ops[row].kind == CHANGE:
                    vals[0, V_SOURCE_AT] = stamp


@compiled
def _in_all(reg: Ints, conf: Ints, word: int, slot: int) -> bool:
    """Whether all of the level's configurations have a bit."""
    side, by_all = reg[SIDE], np.int64(1) << (slot & 63)
    for at in range(reg[CONFIGS]):
        by_all &= conf[side, at, word]
    return bool(by_all != 0)


@compiled
def _expand_all(space: Space, row: int, stop_work: int) -> int:
    """The level's configurations, then those on the way. SURVIVED when all are done."""
    reg, conf, ops = space.reg, space.conf, space.ops
    side, words = reg[SIDE], space.masks.shape[1]
    slot = ops[row].slot
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    changer = ops[row].kind >= WRITE and ops[row].kind != LOOK
    while reg[HEAD] < reg[TAIL]:
        at = reg[HEAD]
        if reg[WORK] >= stop_work:
            return PAUSED
        if at >= reg[CONFIGS] and reg[KEPT] >= reg[WIDTH]:
            reg[TRUNCATED] = 1
            return SURVIVED
        if conf[side, at, C_MARK] == DROPPED:
            reg[HEAD] += 1
            continue
        if at < reg[CONFIGS] and conf[side, at, C_SAT + word] & bit:
            if reg[FOUND] >= conf.shape[1]:
                return NEEDS_ROWS
            for column in range(conf.shape[2]):
                conf[1 - side, reg[FOUND], column] = conf[side, at, column]
            _keep_result(space, row)
            if not changer or conf[side, at, C_SAT + words + word] & bit:
                reg[HEAD] += 1
                continue
            if not _has_last_chance(space, at, row):
                reg[HEAD] += 1
                continue
        reg[WORK] += 1
        reg[STEPS_WANTED] = 0
        status = _expand(space, at, row)
        if status != SURVIVED:
            return status
        if reg[STEPS_WANTED]:
            return NEEDS_STEPS
        reg[HEAD] += 1
    return SURVIVED


@compiled
def _has_last_chance(space: Space, at: int, row: int) -> bool:
    """Whether to use what is satisfied, and returns unused, may help (a write; anything that was
    open where a window begins): not if nobody ever sees its value,
    nobody waits for another value to go, and nobody who is open waits to be satisfied."""
    reg, conf, ops = space.reg, space.conf, space.ops
    side, now = reg[SIDE], ops[row].ret
    if space.vals[ops[row].b + 1, V_NEED] > now or reg[LAST_DIFFERS] > now:
        return True
    satisfied = np.int64(0)
    for word in range(C_SAT, C_SAT + space.masks.shape[1]):
        satisfied += ones(conf[side, at, word])
    return bool(satisfied < reg[OPEN])


@compiled
def _keep_result(space: Space, row: int) -> bool:
    """The result in the next row is kept if nothing dominates it."""
    reg, conf, ops, vals = space.reg, space.conf, space.ops, space.vals
    side, at, words = 1 - reg[SIDE], reg[FOUND], space.masks.shape[1]
    slot = ops[row].slot
    word, gone = slot >> 6, ~(np.int64(1) << (slot & 63))
    conf[side, at, C_SAT + word] &= gone
    conf[side, at, C_SAT + words + word] &= gone
    conf[side, at, C_MARK] = 0
    now = ops[row].ret
    seen = reg[HAS_STEPS] or reg[LAST_DIFFERS] > now
    if not seen and vals[conf[side, at, C_VAL] + 1, V_NEED] <= now:
        conf[side, at, C_VAL] = -1
    if not is_new(reg, conf, vals, space.kids, words, side, at):
        return False
    link(reg, conf, vals, side, at)
    reg[FOUND] += 1
    reg[KEPT] += 1
    return True


@compiled
def _expand(space: Space, at: int, row: int) -> int:
    """One more changer, in every way that may help."""
    reg, conf, ops, lists = space.reg, space.conf, space.ops, space.lists
    side, words = reg[SIDE], space.masks.shape[1]
    value, bare = conf[side, at, C_VAL], conf[side, at, C_MARK] == BARE
    tried = 2 * reg[WORK]
    for each in range(reg[CHANGERS] - 1, -1, -1):
        other = lists[L_CHANGERS, each]
        slot, effect = ops[other].slot, ops[other].effect
        word, bit = C_SAT + (slot >> 6), np.int64(1) << (slot & 63)
        does, after = ops[other].kind, ops[other].b
        if conf[side, at, word + words] & bit:
            continue
        # In a window others than writes may be satisfied and unused: they cannot stand for one
        # that is not satisfied.
        serves = does == WRITE or conf[side, at, word] & bit == 0
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
        status = _put(space, at, row, other, does, after, conf[side, at, C_USED])
        if status != SURVIVED:
            return status
    for each in range(reg[LOOKS]):  # those that narrow the state down
        other = lists[L_LOOKS, each]
        slot = ops[other].slot
        if conf[side, at, C_SAT + (slot >> 6)] & (np.int64(1) << (slot & 63)):
            continue
        after = _step(space, value, ops[other].a)
        if after >= 0 and after != value:
            status = _put(space, at, row, other, LOOK, after, conf[side, at, C_USED])
            if status != SURVIVED:
                return status
    if reg[ACTIVE]:
        if reg[KEPT] >= reg[WIDTH]:
            reg[TRUNCATED] = 1
            return SURVIVED
        return _expand_pending(space, at, row, tried)
    return SURVIVED


@compiled
def _expand_pending(space: Space, at: int, row: int, tried: int) -> int:
    reg, conf, ops, classes = space.reg, space.conf, space.ops, space.classes
    side = reg[SIDE]
    value, bare = conf[side, at, C_VAL], conf[side, at, C_MARK] == BARE
    for each in range(reg[ACTIVE]):
        number = classes[each, K_ACTIVE]
        like = classes[number, K_ROW]
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
        used = conf[side, at, C_USED]
        account = classes[number, K_ACCOUNT]
        if account >= 0:
            if count_of(space.kids, reg[DEPTH], used, account) >= classes[account, K_SUPPLY]:
                continue
            used = np.int64(one_more(space.kids, space.found, reg, used, account))
            if used < 0:
                return NEEDS_COUNTS
        status = _put(space, at, row, -1 - number, does, after, used)
        if status != SURVIVED:
            return status
    return SURVIVED


@compiled
def _put(space: Space, at: int, row: int, put: int, does: int, after: int, used: int) -> int:
    """The configuration that one more changer leads to: a result, or one on the way."""
    reg, conf, ops, vals, masks = space.reg, space.conf, space.ops, space.vals, space.masks
    side, to, words = reg[SIDE], reg[TAIL], masks.shape[1]
    if to >= conf.shape[1] or reg[FOUND] >= conf.shape[1]:
        return NEEDS_ROWS
    if reg[TRAIL] >= len(space.trails):
        return NEEDS_TRAIL
    # It is made where the next one on the way would be.
    for column in range(C_SAT, conf.shape[2]):
        conf[side, to, column] = conf[side, at, column]
    conf[side, to, C_VAL], conf[side, to, C_USED] = after, used
    conf[side, to, C_MARK], conf[side, to, C_TRAIL] = 0, reg[TRAIL]
    conf[side, to, C_SPENT] = conf[side, at, C_SPENT] + (put < 0)
    if put >= 0:
        slot = ops[put].slot
        word, bit = slot >> 6, np.int64(1) << (slot & 63)
        conf[side, to, C_SAT + word] |= bit
        if does != LOOK:
            conf[side, to, C_SAT + words + word] |= bit
    settled = np.int64(0)
    if reg[HAS_STEPS]:
        settled = np.int64(_look(space, reg, ops, space.lists, conf, side, to))
        if settled < 0:
            return SURVIVED
    else:
        for word in range(words):
            fits = vals[after + 1, V_MASKS + word] | (
                masks[M_DIFFERS, word] & ~vals[after + 1, V_MASKS + words + word]
            )
            settled |= fits & ~conf[side, to, C_SAT + word]
            if does == WRITE:
                fits |= masks[M_WRITES, word]
            conf[side, to, C_SAT + word] |= fits
    slot = ops[row].slot
    word, bit = slot >> 6, np.int64(1) << (slot & 63)
    changer = ops[row].kind >= WRITE and ops[row].kind != LOOK
    if put == row or (not changer and conf[side, to, C_SAT + word] & bit):
        for column in range(conf.shape[2]):
            conf[1 - side, reg[FOUND], column] = conf[side, to, column]
        if not _keep_result(space, row):
            return SURVIVED
    else:
        if settled == 0 and (does == WRITE or (put < 0 and does != STEP)):
            # Only something other than a write may follow, because of this value.
            if not (
                reg[OPEN_CHANGES] > 0
                or vals[after + 1, V_CAS] > 0
                or vals[after + 1, V_SOURCE_AT] == reg[STAMP]
                or vals[0, V_SOURCE_AT] == reg[STAMP]
            ):
                return SURVIVED
            conf[side, to, C_MARK] = BARE
        if not is_new(reg, conf, vals, space.kids, words, side, to):
            return SURVIVED
        if to - reg[CONFIGS] >= 4 * reg[WIDTH]:
            reg[TRUNCATED] = 1
            return SURVIVED
        link(reg, conf, vals, side, to)
        reg[TAIL] += 1
    space.trails[reg[TRAIL], 0], space.trails[reg[TRAIL], 1] = conf[side, at, C_TRAIL], put
    reg[TRAIL] += 1
    return SURVIVED
