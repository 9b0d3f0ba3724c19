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
from numpy.typing import NDArray

from checkers.linearizability.compiled import compiled
from checkers.linearizability.frontier_counts import count_of, one_more, within
from checkers.linearizability.frontier_input import (
    CAS,
    CHANGE,
    DIFFERS,
    FOREVER,
    LOOK,
    READ,
    STEP,
    WRITE,
    Input,
)
from checkers.linearizability.frontier_space import (
    ACTIVE,
    CHANGERS,
    CONFIGS,
    DIED,
    EXPANDING,
    FOUND,
    FREE,
    HEAD,
    KEPT,
    LEVEL,
    LOOKS,
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
    SLOTS,
    STAMP,
    SURVIVED,
    TAIL,
    TRAIL,
    TRUNCATED,
    WIDEST,
    WORK,
    Space,
)
from checkers.linearizability.frontier_steps import IMPOSSIBLE, UNKNOWN, step_of

_BARE = 1
_DROPPED = 2
_NOTHING = 100
"""The candidate was not better than what is there."""


@compiled
def advance(given: Input, space: Space, width: int, stop_time: int, work: int) -> int:
    """Goes on until every operation returned, no configuration is left, the next return is after
    `stop_time`, about `work` configurations were looked at, or something is needed."""
    reg = space.reg
    stop_work = reg[WORK] + work
    while True:
        if reg[EXPANDING] == 0:
            if reg[WORK] >= stop_work:
                return PAUSED
            if not _admit(given, space):
                return NEEDS_WORDS
            if reg[OPEN] == 0:
                return SURVIVED
            row = space.opened[reg[OPEN] - 1]
            if given.ret[row] > stop_time:
                return PAUSED
            if not _settle_all(given, space):
                return NEEDS_STEPS
            reg[WORK] += reg[CONFIGS]
            if not _must_expand(given, space, row):
                _clear(given, space, row)
                _retire(given, space, row)
                continue
            _begin_level(given, space)
        row = space.opened[reg[OPEN] - 1]
        status = _expand_all(given, space, row, width, stop_work)
        if status != SURVIVED:
            return status
        if reg[KEPT] == 0:
            return DIED
        _end_level(given, space, row, width)
        _retire(given, space, row)


@compiled
def _admit(given: Input, space: Space) -> bool:
    """What was invoked before the next return is open. False: out of words."""
    reg = space.reg
    rows = len(given.call)
    while reg[NEXT_ROW] < rows:
        row = reg[NEXT_ROW]
        if reg[OPEN] and given.call[row] > given.ret[space.opened[reg[OPEN] - 1]]:
            return True
        if not open_row(given, space, row):
            return False
        reg[NEXT_ROW] += 1
    return True


@compiled
def open_row(given: Input, space: Space, row: int) -> bool:
    """An operation was invoked. False: out of words."""
    reg = space.reg
    if given.ret[row] == FOREVER:
        number = given.class_of[row]
        if number >= 0:
            space.called[number] += 1
            if space.account[number] >= 0:
                space.supply[space.account[number]] += 1
        return True
    if reg[FREE]:
        reg[FREE] -= 1
        slot = np.int64(space.free[reg[FREE]])
    elif reg[SLOTS] < len(space.free):
        slot = reg[SLOTS]
        reg[SLOTS] += 1
    else:
        return False
    space.slot[row] = slot
    word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
    reg[OPEN] = _insert(space.opened, reg[OPEN], row, given.ret)
    does = given.kind[row]
    if does >= WRITE and does != LOOK:
        reg[CHANGERS] = _insert(space.changers, reg[CHANGERS], row, given.ret)
    if does == READ:
        space.readers[given.a[row] + 1, word] |= bit
    elif does == DIFFERS:
        space.differs[given.a[row] + 1, word] |= bit
        space.all_differs[0, word] |= bit
    elif does == WRITE:
        space.writes[0, word] |= bit
    elif does == CAS:
        space.cas_from[given.a[row] + 1] += 1
    elif does == CHANGE:
        reg[OPEN_CHANGES] += 1
    elif does == LOOK:
        space.looks[reg[LOOKS]] = row
        reg[LOOKS] += 1
    return True


@compiled
def _insert(rows: NDArray[np.int32], count: int, row: int, ret: NDArray[np.int64]) -> int:
    at = count
    while at > 0 and ret[rows[at - 1]] < ret[row]:
        rows[at] = rows[at - 1]
        at -= 1
    rows[at] = row
    return count + 1


@compiled
def _retire(given: Input, space: Space, row: int) -> None:
    """The operation returned: its bit is free."""
    reg = space.reg
    space.level_row[reg[LEVEL]] = row
    reg[LEVEL] += 1
    reg[OPEN] -= 1
    slot = space.slot[row]
    space.free[reg[FREE]] = slot
    reg[FREE] += 1
    word, gone = slot >> 6, ~(np.uint64(1) << np.uint64(slot & 63))
    does = given.kind[row]
    if does >= WRITE and does != LOOK:
        reg[CHANGERS] -= 1
    if does == READ:
        space.readers[given.a[row] + 1, word] &= gone
    elif does == DIFFERS:
        space.differs[given.a[row] + 1, word] &= gone
        space.all_differs[0, word] &= gone
    elif does == WRITE:
        space.writes[0, word] &= gone
    elif does == CAS:
        space.cas_from[given.a[row] + 1] -= 1
    elif does == CHANGE:
        reg[OPEN_CHANGES] -= 1
    elif does == LOOK:
        at = 0
        while space.looks[at] != row:
            at += 1
        reg[LOOKS] -= 1
        for each in range(at, reg[LOOKS]):
            space.looks[each] = space.looks[each + 1]


@compiled
def _settle(given: Input, space: Space, side: int, at: int) -> int:
    """Observers that the value satisfies. 1 if there are new ones, -1 if a step is not known."""
    value = space.val[side, at]
    new = 0
    if not given.has_steps:
        for word in range(space.sat.shape[2]):
            fits = space.readers[value + 1, word] | (
                space.all_differs[0, word] & ~space.differs[value + 1, word]
            )
            if fits & ~space.sat[side, at, word]:
                space.sat[side, at, word] |= fits
                new = 1
        return new
    for each in range(space.reg[LOOKS]):
        row = space.looks[each]
        slot = space.slot[row]
        word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
        if not space.sat[side, at, word] & bit:
            after = step_of(space.steps, value, given.a[row])
            if after == UNKNOWN:
                new = -1
            elif after == value:
                space.sat[side, at, word] |= bit
                new = new or 1
    return new


@compiled
def _settle_all(given: Input, space: Space) -> bool:
    side = space.reg[SIDE]
    known = True
    for at in range(space.reg[CONFIGS]):
        if _settle(given, space, side, at) < 0:
            known = False
    return known


@compiled
def _must_expand(given: Input, space: Space, row: int) -> bool:
    """Whether the return changes more than a bit."""
    side, slot = space.reg[SIDE], space.slot[row]
    word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
    write = given.kind[row] == WRITE
    for at in range(space.reg[CONFIGS]):
        if not space.sat[side, at, word] & bit:
            return True
        if write and not space.use[side, at, word] & bit:
            return True
    return False


@compiled
def _clear(given: Input, space: Space, row: int) -> None:
    side, slot = space.reg[SIDE], space.slot[row]
    word, gone = slot >> 6, ~(np.uint64(1) << np.uint64(slot & 63))
    for at in range(space.reg[CONFIGS]):
        space.sat[side, at, word] &= gone
        space.use[side, at, word] &= gone


@compiled
def _begin_level(given: Input, space: Space) -> None:
    reg = space.reg
    side = reg[SIDE]
    reg[EXPANDING] = 1
    reg[HEAD], reg[TAIL], reg[FOUND], reg[KEPT] = 0, reg[CONFIGS], 0, 0
    reg[STAMP] += 1
    for at in range(reg[CONFIGS]):
        space.mark[side, at] = 0
        _link(space, side, at)
    _activate(given, space)


@compiled
def _link(space: Space, side: int, at: int) -> None:
    value = space.val[side, at] + 1
    if space.first_at[side, value] != space.reg[STAMP]:
        space.first_at[side, value] = space.reg[STAMP]
        space.first[side, value] = -1
    space.chain[side, at] = space.first[side, value]
    space.first[side, value] = at


@compiled
def _activate(given: Input, space: Space) -> None:
    """The pending classes that may serve somebody who is open now: they lead to a value that is
    to be read or to be swapped, perhaps through other such classes."""
    reg = space.reg
    stamp = reg[STAMP]
    reg[ACTIVE] = 0
    if len(given.class_row) == 0:
        return
    all_of_them = given.has_steps or reg[OPEN_CHANGES] > 0
    if not all_of_them:
        todo = 0
        for each in range(reg[OPEN]):
            row = space.opened[each]
            does = given.kind[row]
            if does == WRITE or _all_satisfied(space, space.slot[row]):
                continue
            if does == DIFFERS:
                all_of_them = True
                break
            if does == READ or does == CAS:
                if space.value_at[given.a[row] + 1] != stamp:
                    space.value_at[given.a[row] + 1] = stamp
                    space.todo[todo] = given.a[row]
                    todo += 1
        while todo and not all_of_them:
            todo -= 1
            value = space.todo[todo]
            for each in range(given.target_start[value], given.target_start[value + 1]):
                number = given.target_class[each]
                if space.called[number] == 0:
                    continue
                space.active[reg[ACTIVE]] = number
                reg[ACTIVE] += 1
                row = given.class_row[number]
                if given.kind[row] == CHANGE:
                    all_of_them = True
                elif given.kind[row] == CAS:
                    source = given.a[row] + 1
                    space.source_at[source] = stamp
                    if space.value_at[source] != stamp:
                        space.value_at[source] = stamp
                        space.todo[todo] = given.a[row]
                        todo += 1
    if all_of_them:
        reg[ACTIVE] = 0
        for number in range(len(given.class_row)):
            if space.called[number]:
                space.active[reg[ACTIVE]] = number
                reg[ACTIVE] += 1
                row = given.class_row[number]
                if given.kind[row] == CAS:
                    space.source_at[given.a[row] + 1] = stamp
                elif given.kind[row] == CHANGE:
                    space.source_at[0] = stamp


@compiled
def _all_satisfied(space: Space, slot: int) -> bool:
    side, word, bit = space.reg[SIDE], slot >> 6, np.uint64(1) << np.uint64(slot & 63)
    for at in range(space.reg[CONFIGS]):
        if not space.sat[side, at, word] & bit:
            return False
    return True


@compiled
def _expand_all(given: Input, space: Space, row: int, width: int, stop_work: int) -> int:
    """The level's configurations, then those on the way. SURVIVED when all are done."""
    reg = space.reg
    side = reg[SIDE]
    slot = space.slot[row]
    word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
    while reg[HEAD] < reg[TAIL]:
        at = reg[HEAD]
        if reg[WORK] >= stop_work:
            return PAUSED
        if space.mark[side, at] == _DROPPED:
            reg[HEAD] += 1
            continue
        if at < reg[CONFIGS] and space.sat[side, at, word] & bit:
            status = _stay(given, space, at)
            if status != SURVIVED:
                return status
            if not _has_last_chance(given, space, at, row):
                reg[HEAD] += 1
                continue
        reg[WORK] += 1
        space.steps.made[1] = 0
        status = _expand(given, space, at, row, width)
        if status != SURVIVED:
            return status
        if space.steps.made[1]:
            return NEEDS_STEPS
        reg[HEAD] += 1
    return SURVIVED


@compiled
def _has_last_chance(given: Input, space: Space, at: int, row: int) -> bool:
    """Whether to use a satisfied write that returns may help: not if nobody ever sees its value,
    nobody waits for another value to go, and nobody who is open waits to be satisfied."""
    side, slot = space.reg[SIDE], space.slot[row]
    word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
    if given.kind[row] != WRITE or space.use[side, at, word] & bit:
        return False
    now = given.ret[row]
    if given.last_need[given.b[row] + 1] > now or given.last_differs > now:
        return True
    for each in range(space.reg[OPEN]):
        slot = space.slot[space.opened[each]]
        if not space.sat[side, at, slot >> 6] & (np.uint64(1) << np.uint64(slot & 63)):
            return True
    return False


@compiled
def _copied(space: Space, from_side: int, at: int, to_side: int, to: int) -> None:
    space.val[to_side, to] = space.val[from_side, at]
    space.used[to_side, to] = space.used[from_side, at]
    space.trail[to_side, to] = space.trail[from_side, at]
    space.mark[to_side, to] = 0
    for word in range(space.sat.shape[2]):
        space.sat[to_side, to, word] = space.sat[from_side, at, word]
        space.use[to_side, to, word] = space.use[from_side, at, word]


@compiled
def _stay(given: Input, space: Space, at: int) -> int:
    """The configuration goes to the results as it is."""
    reg = space.reg
    if reg[FOUND] >= space.val.shape[1]:
        return NEEDS_ROWS
    _copied(space, reg[SIDE], at, 1 - reg[SIDE], reg[FOUND])
    _keep_result(given, space)
    return SURVIVED


@compiled
def _keep_result(given: Input, space: Space) -> bool:
    """The result in the next row is kept if nothing dominates it."""
    reg = space.reg
    side, at = 1 - reg[SIDE], reg[FOUND]
    row = space.opened[reg[OPEN] - 1]
    slot = space.slot[row]
    word, gone = slot >> 6, ~(np.uint64(1) << np.uint64(slot & 63))
    space.sat[side, at, word] &= gone
    space.use[side, at, word] &= gone
    value = space.val[side, at]
    now = given.ret[row]
    if not given.has_steps and value >= 0:
        if given.last_need[value + 1] <= now and given.last_differs <= now:
            space.val[side, at] = -1
    if not _is_new(space, side, at):
        return False
    _link(space, side, at)
    reg[FOUND] += 1
    reg[KEPT] += 1
    return True


@compiled
def _is_new(space: Space, side: int, at: int) -> bool:
    """Whether no other configuration dominates this one; drops those that it dominates."""
    value = space.val[side, at] + 1
    if space.first_at[side, value] != space.reg[STAMP]:
        return True
    before = -1
    other = space.first[side, value]
    while other >= 0:
        fewer, more = True, True  # this one is dominated; it dominates
        for word in range(space.sat.shape[2]):
            mine, theirs = space.sat[side, at, word], space.sat[side, other, word]
            if mine & ~theirs:
                fewer = False
            if theirs & ~mine:
                more = False
            mine, theirs = space.use[side, at, word], space.use[side, other, word]
            if theirs & ~mine:
                fewer = False
            if mine & ~theirs:
                more = False
            if not fewer and not more:
                break
        if fewer or more:
            mine_used, their_used = space.used[side, at], space.used[side, other]
            my_mark, their_mark = space.mark[side, at], space.mark[side, other]
            if fewer and their_mark <= my_mark and within(space.counts, their_used, mine_used):
                return False
            if more and my_mark <= their_mark and within(space.counts, mine_used, their_used):
                space.mark[side, other] = _DROPPED
                if side != space.reg[SIDE]:
                    space.reg[KEPT] -= 1
                if before < 0:
                    space.first[side, value] = space.chain[side, other]
                else:
                    space.chain[side, before] = space.chain[side, other]
                other = space.chain[side, other]
                continue
        before = other
        other = space.chain[side, other]
    return True


@compiled
def _expand(given: Input, space: Space, at: int, row: int, width: int) -> int:
    """One more changer, in every way that may help."""
    reg = space.reg
    side = reg[SIDE]
    value, bare = space.val[side, at], space.mark[side, at] == _BARE
    tried = reg[WORK]
    for each in range(reg[CHANGERS] - 1, -1, -1):
        other = space.changers[each]
        slot = space.slot[other]
        word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
        if space.use[side, at, word] & bit:
            continue
        if space.effect_at[given.effect[other]] == tried:
            continue
        space.effect_at[given.effect[other]] = tried
        does = given.kind[other]
        after = given.b[other]
        if does == WRITE:
            if bare:
                continue
        elif does == CAS:
            if value != given.a[other]:
                continue
        elif does == CHANGE:
            if value == given.a[other]:
                continue
        else:
            after = step_of(space.steps, value, given.a[other])
            if after < 0:
                continue
        status = _put(given, space, at, row, other, does, after, space.used[side, at], width)
        if status != SURVIVED:
            return status
    if given.has_steps:
        status = _look_further(given, space, at, row, width)
        if status != SURVIVED:
            return status
    return _expand_pending(given, space, at, row, width, tried)


@compiled
def _look_further(given: Input, space: Space, at: int, row: int, width: int) -> int:
    """Observers that narrow the state down."""
    reg = space.reg
    side = reg[SIDE]
    value = space.val[side, at]
    for each in range(reg[LOOKS]):
        other = space.looks[each]
        slot = space.slot[other]
        if space.sat[side, at, slot >> 6] & (np.uint64(1) << np.uint64(slot & 63)):
            continue
        after = step_of(space.steps, value, given.a[other])
        if after >= 0 and after != value:
            status = _put(given, space, at, row, other, LOOK, after, space.used[side, at], width)
            if status != SURVIVED:
                return status
    return SURVIVED


@compiled
def _expand_pending(
    given: Input, space: Space, at: int, row: int, width: int, tried: int
) -> int:
    reg = space.reg
    side = reg[SIDE]
    value, bare = space.val[side, at], space.mark[side, at] == _BARE
    for each in range(reg[ACTIVE]):
        number = space.active[each]
        like = given.class_row[number]
        if space.effect_at[given.effect[like]] == tried:
            continue
        does = given.kind[like]
        after = given.b[like]
        if does == WRITE:
            if bare:
                continue
        elif does == CAS:
            if value != given.a[like] or after == value:
                continue
        elif does == CHANGE:
            if value == given.a[like] or after == value:
                continue
        else:
            after = step_of(space.steps, value, given.a[like])
            if after < 0 or after == value:
                continue
        used = space.used[side, at]
        account = space.account[number]
        if account >= 0:
            if count_of(space.counts, used, account) >= space.supply[account]:
                continue
            used = one_more(space.counts, used, account)
            if used < 0:
                return NEEDS_COUNTS
        status = _put(given, space, at, row, -1 - number, does, after, used, width)
        if status != SURVIVED:
            return status
    return SURVIVED


@compiled
def _put(
    given: Input,
    space: Space,
    at: int,
    row: int,
    put: int,
    does: int,
    after: int,
    used: int,
    width: int,
) -> int:
    """The configuration that one more changer leads to: a result, or one on the way."""
    reg = space.reg
    side = reg[SIDE]
    rows = space.val.shape[1]
    if reg[TAIL] >= rows or reg[FOUND] >= rows:
        return NEEDS_ROWS
    if reg[TRAIL] >= len(space.up):
        return NEEDS_TRAIL
    # It is made where the next one on the way would be.
    to = reg[TAIL]
    _copied(space, side, at, side, to)
    space.val[side, to] = after
    space.used[side, to] = used
    if does == WRITE:
        for word in range(space.sat.shape[2]):
            space.sat[side, to, word] |= space.writes[0, word]
    if put >= 0:
        slot = space.slot[put]
        word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
        space.sat[side, to, word] |= bit
        if does != LOOK:
            space.use[side, to, word] |= bit
    settled = _settle(given, space, side, to)
    if settled < 0:
        return SURVIVED
    slot = space.slot[row]
    word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
    space.trail[side, to] = reg[TRAIL]
    changer = given.kind[row] == WRITE
    if put == row or (not changer and space.sat[side, to, word] & bit):
        _copied(space, side, to, 1 - side, reg[FOUND])
        if _keep_result(given, space):
            space.up[reg[TRAIL]], space.put[reg[TRAIL]] = space.trail[side, at], put
            reg[TRAIL] += 1
        return SURVIVED
    if settled == 0 and (does == WRITE or (put < 0 and does != STEP)):
        if not _enables(given, space, after):
            return SURVIVED
        space.mark[side, to] = _BARE
    if not _is_new(space, side, to):
        return SURVIVED
    if reg[TAIL] - reg[CONFIGS] >= 4 * width:
        reg[TRUNCATED] = 1
        return SURVIVED
    _link(space, side, to)
    space.up[reg[TRAIL]], space.put[reg[TRAIL]] = space.trail[side, at], put
    reg[TRAIL] += 1
    reg[TAIL] += 1
    return SURVIVED


@compiled
def _enables(given: Input, space: Space, value: int) -> bool:
    """Whether something other than a write may follow because of this value."""
    return bool(
        space.reg[OPEN_CHANGES] > 0
        or space.cas_from[value + 1] > 0
        or space.source_at[value + 1] == space.reg[STAMP]
        or space.source_at[0] == space.reg[STAMP]
    )


@compiled
def _end_level(given: Input, space: Space, row: int, width: int) -> None:
    """The results are the level's configurations now; at most `width` of them."""
    reg = space.reg
    side = 1 - reg[SIDE]
    kept = 0
    for at in range(reg[FOUND]):
        if space.mark[side, at] != _DROPPED:
            if kept != at:
                _copied(space, side, at, side, kept)
            kept += 1
    if kept > width:
        reg[TRUNCATED] = 1
        kept = _narrow(given, space, side, kept, width)
    reg[SIDE], reg[CONFIGS], reg[EXPANDING] = side, kept, 0
    reg[WIDEST] = max(reg[WIDEST], kept)


@compiled
def _narrow(given: Input, space: Space, side: int, count: int, width: int) -> int:
    """The `width` best ones move to the front. Good is to have satisfied much and used little,
    most of all what returns soon."""
    reg = space.reg
    score = np.zeros(count, np.float64)
    for at in range(count):
        total = 0.0
        for each in range(reg[OPEN] - 1):
            slot = space.slot[space.opened[each]]
            word, bit = slot >> 6, np.uint64(1) << np.uint64(slot & 63)
            if not space.sat[side, at, word] & bit:
                total += 1.0
            elif space.use[side, at, word] & bit:
                total += 0.5
        score[at] = total
    order = np.argsort(score)[:width]
    order.sort()
    for to in range(len(order)):
        if order[to] != to:
            _copied(space, side, order[to], side, to)
    return len(order)
