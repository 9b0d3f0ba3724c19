"""An order for values that are written once each, in which every failed cas has its place.

A failed cas saw that the value was not v: some other value was in force at some time between its
call and its return. Only v in force all that while contradicts it. So what matters is when each
value begins. Here the chains of `zones` begin as late as they can: a backward one at its
first return, or just before the forward one in which that falls; and inside a chain each cas as
late as it can. Then every failed cas called before v began is satisfied. One called after needs
another value before it returns, and going through time the order is mended where none comes:

- a chain X that is done in an instant may stand just before the one now in force, if all of X was
  invoked when that one began: so X is never seen by anybody else;
- a later chain may begin earlier; the one that has to begin first is preferred, since another
  can wait longer;
- a pending write or cas that nobody observed may take effect.

Where none of it helps, the last few turns are taken again in other ways (`Plan.way`). The order is
greedy: that it fails proves nothing. What is found is replayed (`arrays/replay.py`).
Linear but for binary searches among the failed cas of one value.

Times are history events; a value that begins at event s begins just before it. `begins` is
meaningful for values in force only.
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.linearizability.arrays.kinds import CAS, DIFFERS, FOREVER, WRITE
from checkers.linearizability.encoded import Codes, Ints
from framework.compiled import compiled, lean

_CANDIDATES: Final = 64
"""How many later chains are looked at for one that may begin now."""
_WAYS: Final = 4
_NEAR: Final = 16
"""Where a failed cas has no place, other ways are tried from so many turns before."""
_TRIES: Final = 64
_UNTRIED: Final = -2
"""In place of a limit, which is an event or `NEVER`."""


@compiled
def failed_cas_by_value(
    call: Ints, ret: Ints, kind: NDArray[np.int8], a: Codes, size: int, count: int
) -> tuple[Codes, Ints, Ints]:
    """Completed failed cas: those of value v are at offsets[v]:offsets[v + 1], by their calls;
    with the first return among this and all later ones of the same value."""
    offsets = np.zeros(size + 1, np.int32)
    calls = np.empty(count, np.int64)
    returns = np.empty(count, np.int64)
    for row in range(len(call)):
        if kind[row] == DIFFERS and ret[row] != FOREVER:
            offsets[a[row] + 1] += 1
    for value in range(size):
        offsets[value + 1] += offsets[value]
    for row in range(len(call) - 1, -1, -1):
        if kind[row] == DIFFERS and ret[row] != FOREVER:
            end = offsets[a[row] + 1] - 1
            offsets[a[row] + 1] = end
            calls[end], returns[end] = call[row], ret[row]
    for value in range(size):
        offsets[value] = offsets[value + 1]
    offsets[size] = count
    for value in range(size):
        for at in range(offsets[value + 1] - 2, offsets[value] - 1, -1):
            returns[at] = min(returns[at], returns[at + 1])
    return offsets, calls, returns


class Facts(NamedTuple):
    """The history, its zones, and its failed cas: what the order has to respect."""

    call: Ints
    ret: Ints
    kind: NDArray[np.int8]
    a: Codes
    b: Codes
    writer: Codes
    replaced: Codes
    last_call: Ints
    latest: Ints
    offsets: Codes
    calls: Ints
    returns: Ints


class Plan(NamedTuple):
    """The order in the making. By chain (those of one unobserved write or cas come last): its
    first and last value, its last call, its neighbours in the order, whether it must stay right
    behind the one before. By turn: the chain, when it has to begin, and which way of mending is
    tried (+1: not the first that can begin earlier, but the first that can also stay; +2: hide it
    only if what is in force can stay). By value: when it begins; the limit under which it was last
    tried to begin then, and the chain's last value in that case, or -1."""

    root: Codes
    end: Codes
    last: Ints
    following: Codes
    preceding: Codes
    glued: NDArray[np.bool_]
    taken: NDArray[np.bool_]
    order: Codes
    must: Ints
    way: NDArray[np.int8]
    begins: Ints
    limit: Ints
    leads_to: Codes


class Spare(NamedTuple):
    """Pending writes that nobody observed, in order of their calls; those invoked by now and not
    used, of which `counts[0]`; `counts[1]` is the next to come, `counts[2]` counts those used. By
    value: the first pending cas that would replace it, by row the next such one."""

    writes: Codes
    open: Codes
    counts: Ints
    first_cas: Codes
    next_cas: Codes


@lean
def _due(offsets: Codes, calls: Ints, returns: Ints, value: int, begins: int) -> int:
    """When `value`, in force since `begins`, must be gone, for a failed cas's sake."""
    low, high = offsets[value], offsets[value + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if calls[middle] > begins:
            high = middle
        else:
            low = middle + 1
    due: int = returns[low] if low < end else FOREVER
    return due


@compiled
def latest_begins(
    ret: Ints, b: Codes, writer: Codes, replaced: Codes, first_read: Codes, root: Codes
) -> Ints:
    """By value in force: the first return among its operations and later ones of its chain."""
    latest = np.full(len(writer), FOREVER, np.int64)
    stack = np.empty(len(writer), np.int32)
    for chain in range(len(root)):
        count = 1
        stack[0] = root[chain]
        while replaced[stack[count - 1]] >= 0:
            stack[count] = b[replaced[stack[count - 1]]]
            count += 1
        first = FOREVER
        for at in range(count - 1, -1, -1):
            value = stack[at]
            if writer[value] >= 0:
                first = min(first, ret[writer[value]])
            elif chain == 0:
                first = -1
            if first_read[value] >= 0:
                first = min(first, ret[first_read[value]])
            latest[value] = first
    return latest


@compiled
def _in_turn(by_return: Codes, first: Ints, last: Ints) -> tuple[Codes, Ints]:
    """The chains in order of when they have to begin, and that."""
    order = np.empty(len(by_return), np.int32)
    must = np.empty(len(by_return), np.int64)
    made, held = 0, -1
    for chain in by_return:
        if held >= 0 and first[chain] > last[held]:
            order[made], must[made] = held, first[held]
            made, held = made + 1, -1
        if first[chain] < last[chain]:
            held = chain
        else:
            order[made] = chain
            must[made] = first[held] if held >= 0 else first[chain]
            made += 1
    if held >= 0:
        order[made], must[made] = held, first[held]
    return order, must


@compiled
def _spare(facts: Facts) -> Spare:
    first_cas = np.full(len(facts.writer), -1, np.int32)
    next_cas = np.full(len(facts.ret), -1, np.int32)
    writes = np.empty(len(facts.ret), np.int32)
    found = 0
    for row in range(len(facts.ret)):
        pending = facts.ret[row] == FOREVER and facts.kind[row] == WRITE
        if pending and facts.last_call[facts.b[row]] == -2:
            writes[found] = row
            found += 1
    for row in range(len(facts.ret) - 1, -1, -1):
        pending = facts.ret[row] == FOREVER and facts.kind[row] == CAS
        if pending and facts.last_call[facts.b[row]] == -2:
            next_cas[row] = first_cas[facts.a[row]]
            first_cas[facts.a[row]] = row
    count = np.zeros(3, np.int64)
    return Spare(writes[:found], np.empty(found, np.int32), count, first_cas, next_cas)


@lean
def _run(facts: Facts, plan: Plan, chain: int, at: int, limit: int) -> int:
    """Begins a chain at event `at`, to be through before `limit`; its last value. -1: a failed cas
    stands in the way."""
    root: int = plan.root[chain]
    if facts.replaced[root] >= 0:
        return _run_on(facts, plan, root, at, limit)
    plan.begins[root] = at
    return root


@lean
def _run_on(facts: Facts, plan: Plan, root: int, at: int, limit: int) -> int:
    """`_run`, of more than one value. How a chain goes on depends only on when a value begins, so
    that of many tries with a long chain only one looks at all of it."""
    value, start = root, at
    while True:
        source = facts.replaced[value]
        if source < 0:
            plan.begins[value] = start
            end = value
            break
        if plan.begins[value] == start and plan.limit[value] == limit:
            end = plan.leads_to[value]
            break
        plan.begins[value], plan.limit[value] = start, limit
        after = facts.b[source]
        due = _due(facts.offsets, facts.calls, facts.returns, value, start)
        start = max(start, min(min(facts.latest[after], due), limit))
        if start < facts.last_call[value] or start < facts.call[source]:
            plan.leads_to[value] = end = -1
            break
        value = after
    stop = value
    value = root
    while value != stop:
        plan.leads_to[value] = end
        value = facts.b[facts.replaced[value]]
    return int(end)


@lean
def _upcoming(taken: NDArray[np.bool_], order: Codes, turn: int) -> int:
    while turn < len(order) and taken[order[turn]]:
        turn += 1
    return turn


@lean
def _must(must: Ints, turn: int) -> int:
    """When the chain whose turn that is has to begin; never if there is none."""
    begins: int = must[turn] if turn < len(must) else FOREVER
    return begins


@lean
def _append(plan: Plan, chain: int, current: int) -> None:
    plan.following[current], plan.preceding[chain] = chain, current


@lean
def _hide(facts: Facts, plan: Plan, chain: int, before: int) -> None:
    """All of a chain in the instant in which another begins, just before it."""
    at = plan.begins[plan.root[before]]
    value = plan.root[chain]
    plan.begins[value], plan.limit[value] = at, _UNTRIED
    while facts.replaced[value] >= 0:
        value = facts.b[facts.replaced[value]]
        plan.begins[value], plan.limit[value] = at, _UNTRIED
    plan.end[chain] = value
    _append(plan, chain, plan.preceding[before])
    _append(plan, before, chain)


@lean
def _relief(facts: Facts, plan: Plan, spare: Spare, current: int, due: int, turn: int) -> int:
    """A chain that can begin at event `due`: best one that can stay until the next one's turn.
    -1: none is known."""
    best: int = -1
    best_due = -1
    upcoming = _must(plan.must, turn)
    after = _upcoming(plan.taken, plan.order, turn + 1)
    looked, at = 0, turn
    while at < len(plan.order) and looked < _CANDIDATES:
        later = plan.order[at]
        if not plan.taken[later]:
            looked += 1
            may = at == turn or plan.last[later] < upcoming
            if may and facts.call[facts.writer[plan.root[later]]] < due:
                limit = _must(plan.must, after) if at == turn else upcoming
                end = _run(facts, plan, later, due, limit)
                gone = (
                    _due(facts.offsets, facts.calls, facts.returns, end, plan.begins[end])
                    if end >= 0
                    else -1
                )
                if gone > best_due:
                    best, best_due = later, gone
                if gone >= limit or (plan.way[turn] & 1 == 0 and gone >= 0):
                    return best
        at += 1
    row = _unobserved(facts, plan, spare, plan.end[current], due, upcoming, best_due)
    if row < 0:
        return best
    chain: int = len(plan.order) + spare.counts[2]
    spare.counts[2] += 1
    plan.root[chain] = facts.b[row]
    plan.glued[chain] = facts.kind[row] == CAS
    return chain


@lean
def _unobserved(
    facts: Facts, plan: Plan, spare: Spare, value: int, due: int, limit: int, least: int
) -> int:
    """A pending operation, its row, that can replace `value` at event `due`, and stay longer than
    until `least`. -1: none is known."""
    best: int = -1
    row = spare.first_cas[value]
    while row >= 0 and facts.call[row] < due and least < limit:
        gone = _due(facts.offsets, facts.calls, facts.returns, facts.b[row], due)
        if gone > least:
            best, least = row, gone
        row = spare.next_cas[row]
    while spare.counts[1] < len(spare.writes) and (facts.call[spare.writes[spare.counts[1]]] < due):
        spare.open[spare.counts[0]] = spare.writes[spare.counts[1]]
        spare.counts[0] += 1
        spare.counts[1] += 1
    used = -1
    for at in range(spare.counts[0] - 1, max(-1, spare.counts[0] - 1 - _CANDIDATES), -1):
        if least >= limit:
            break
        gone = _due(facts.offsets, facts.calls, facts.returns, facts.b[spare.open[at]], due)
        if gone > least:
            used, best, least = at, spare.open[at], gone
    if used >= 0:
        spare.counts[0] -= 1
        spare.open[used] = spare.open[spare.counts[0]]
    return best


@compiled
def _schedule(facts: Facts, plan: Plan, spare: Spare) -> int:
    """Gives every chain its time. The turn at which a failed cas has no place, or -1."""
    turn, current = 1, 0
    plan.end[0] = _run(facts, plan, 0, -1, _must(plan.must, 1))
    if plan.end[0] < 0:
        return turn
    while True:
        turn = _upcoming(plan.taken, plan.order, turn)
        value = plan.end[current]
        due = _due(facts.offsets, facts.calls, facts.returns, value, plan.begins[value])
        at = _must(plan.must, turn)
        if due < at:
            if due < facts.last_call[value]:
                return turn
            chain = _relief(facts, plan, spare, current, due, turn)
            if chain < 0:
                return turn
            if chain < len(plan.order):
                plan.taken[chain] = True
            end = _run(
                facts, plan, chain, due, _must(plan.must, _upcoming(plan.taken, plan.order, turn))
            )
            if end < 0:
                return turn
        elif turn == len(plan.order):
            return -1
        else:
            chain = plan.order[turn]
            plan.taken[chain] = True
            limit = _must(plan.must, _upcoming(plan.taken, plan.order, turn))
            end = _run(facts, plan, chain, at, limit)
            gone = (
                _due(facts.offsets, facts.calls, facts.returns, end, plan.begins[end])
                if end >= 0
                else -1
            )
            if gone < limit:
                hides = plan.last[chain] < plan.begins[plan.root[current]]
                least = limit if plan.way[turn] & 2 else gone + 1
                if hides and not plan.glued[current] and due >= least:
                    _hide(facts, plan, chain, current)
                    continue
                if end < 0:
                    return turn
        plan.end[chain] = end
        _append(plan, chain, current)
        current = chain


@lean
def _mended(facts: Facts, plan: Plan, spare: Spare) -> bool:
    """Tries other ways of mending where one fails."""
    for _ in range(_TRIES):
        turn = _schedule(facts, plan, spare)
        if turn < 0:
            return True
        way = plan.way[turn] + 1
        if way == _WAYS:
            return False
        for at in range(max(0, turn - _NEAR), turn + 1):
            plan.way[at] = way
        for chain in range(len(plan.following)):
            plan.following[chain] = -1
            plan.glued[chain] = False
        for chain in range(len(plan.taken)):
            plan.taken[chain] = False
        for at in range(len(spare.counts)):
            spare.counts[at] = 0
    return False


@compiled
def place(
    call: Ints,
    ret: Ints,
    kind: NDArray[np.int8],
    a: Codes,
    b: Codes,
    writer: Codes,
    replaced: Codes,
    last_call: Ints,
    root: Codes,
    first: Ints,
    last: Ints,
    by_return: Codes,
    latest: Ints,
    offsets: Codes,
    calls: Ints,
    returns: Ints,
) -> tuple[Codes, Ints]:
    """The values in the order in which they come into force, and the event before which each
    does. Empty: a failed cas has no place in the orders that were tried. `by_return`: the chains
    by their first return."""
    facts = Facts(
        call, ret, kind, a, b, writer, replaced, last_call, latest, offsets, calls, returns
    )
    spare = _spare(facts)
    order, must = _in_turn(by_return, first, last)
    chains = len(root)
    most = chains + len(spare.writes)
    for row in spare.first_cas:
        most += row >= 0
    plan = Plan(
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        last,
        np.full(most, -1, np.int32),
        np.empty(most, np.int32),
        np.zeros(most, np.bool_),
        np.zeros(chains, np.bool_),
        order,
        must,
        np.zeros(chains + 1, np.int8),
        np.empty(len(writer), np.int64),
        np.full(len(writer), _UNTRIED, np.int64),
        np.empty(len(writer), np.int32),
    )
    plan.root[:chains] = root
    values = np.empty(len(writer), np.int32)
    begins = np.empty(len(writer), np.int64)
    count = 0
    if _mended(facts, plan, spare):
        chain = 0
        while chain >= 0:
            value = plan.root[chain]
            while True:
                values[count], begins[count] = value, plan.begins[value]
                count += 1
                if replaced[value] < 0:
                    break
                value = b[replaced[value]]
            chain = plan.following[chain]
    return values[:count], begins[:count]
