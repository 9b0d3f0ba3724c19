"""Compiled passes over sorted rows."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from framework.compiled import compiled
from framework.history.json_walk import NONE, Ints

EVENT, ITEM, SEGMENT, SEEK, LAST = 0, 1, 2, 3, 4
"""What happens to a consumer, in this order within an operation: it is assigned anew, and a row
for each key that it is assigned; it polled records of a part; it goes elsewhere in a part; when it
last polled."""
ASSIGNED, SUBSCRIBED = 0, 1
LATE: Final = np.iinfo(np.int64).max
"""A time that never comes."""


@compiled
def latest_before(
    group: Ints, index: Ints, end: Ints, worth: Ints, by_index: Ints, by_end: Ints
) -> Ints:
    """For each row, the one of the greatest worth among those of its group that had ended before
    it was invoked, the first to end of equal ones; -1: none. `by_index`, `by_end`: the rows in the
    order of (group, index) and (group, end)."""
    made = np.empty(len(index), np.int64)
    best, at = -1, 0
    for n in range(len(by_index)):
        row = by_index[n]
        if n == 0 or group[row] != group[by_index[n - 1]]:
            best = -1
            while at < len(by_end) and group[by_end[at]] < group[row]:
                at += 1
        while at < len(by_end) and group[by_end[at]] == group[row] and end[by_end[at]] < index[row]:
            other = by_end[at]
            if best < 0 or worth[other] > worth[best]:
                best = other
            at += 1
        made[row] = best
    return made


@compiled
def follow(
    client: Ints,
    what: NDArray[np.int8],
    mode: NDArray[np.int8],
    fresh: NDArray[np.bool_],
    failed: NDArray[np.bool_],
    part: Ints,
    parts: int,
) -> tuple[Ints, NDArray[np.int8], NDArray[np.bool_]]:
    """What consumers' polls go on from. Events in the order of (client, index, what). For each
    segment: the event before it that it goes on from (-1: none), the mode in which it polled, and
    whether only assigned partitions were polled since.

    `fresh`: an assignment that begins at the beginning, of everything. An assignment keeps the
    places of the keys that it names, and forgets the others. `failed`: a segment after which the
    consumer may go back to where it was, for its transaction did not take effect.
    """
    before = np.full(len(client), -1, np.int64)
    modes = np.zeros(len(client), np.int8)
    strict = np.zeros(len(client), np.bool_)
    last = np.full(parts, -1, np.int64)
    stamp = np.zeros(parts, np.int64)
    loose = np.zeros(parts, np.bool_)
    now, older, current, begins = 0, 0, ASSIGNED, False
    for n in range(len(client)):
        if n == 0 or client[n] != client[n - 1]:
            now += 1
            older, current = -1, ASSIGNED
        key = part[n]
        if what[n] == EVENT:
            older = now
            now += 1
            current, begins = mode[n], fresh[n]
        elif what[n] == ITEM:
            if stamp[key] == older and not begins:
                stamp[key] = now
        elif what[n] == SEEK:
            stamp[key] = 0
        elif what[n] == SEGMENT:
            subscribed = current == SUBSCRIBED
            modes[n] = current
            if stamp[key] == now:
                before[n] = last[key]
                strict[n] = not subscribed and not loose[key]
            stamp[key], last[key], loose[key] = 0 if failed[n] else now, n, subscribed
    return before, modes, strict


@compiled
def lags(
    client: Ints,
    what: NDArray[np.int8],
    mode: NDArray[np.int8],
    fresh: NDArray[np.bool_],
    part: Ints,
    invoked_ns: Ints,
    previous_ns: Ints,
    expires_ns: Ints,
    begin_ns: Ints,
) -> Ints:
    """By part, the longest time that a consumer's poll was surely behind (0: never).

    `expires_ns`: of a segment, when the place that it reached was known to be no longer the last;
    `begin_ns`: by part, when it was known to be no longer empty. A consumer's lag grows while it
    polls and gets nothing of a part, so that it is looked at where it ends: at the last poll before
    the place changes, the last that `previous_ns` or a `LAST` event tells of.
    """
    worst = np.zeros(len(begin_ns), np.int64)
    place = np.full(len(begin_ns), LATE, np.int64)  # when the consumer's place expired
    since = np.zeros(len(begin_ns), np.int64)
    stamp = np.zeros(len(begin_ns), np.int64)
    active = np.zeros(len(begin_ns), np.int64)
    count, now, older, number, polled = 0, 0, 0, 0, NONE
    subscribed, begins = False, False
    for n in range(len(client) + 1):
        if n == len(client) or n == 0 or client[n] != client[n - 1]:
            for each in range(count):
                key = active[each]
                if polled != NONE and polled >= since[key]:
                    worst[key] = max(worst[key], polled - place[key])
            count, polled = 0, NONE
            number += 1
            now, older = number, 0
            if n == len(client):
                break
        key = part[n]
        before = max(previous_ns[n], polled)
        if what[n] == LAST:
            if invoked_ns[n] != NONE:
                polled = invoked_ns[n]
        elif what[n] == EVENT:
            # What is not named again is left; what is, goes on as it was.
            for each in range(count):
                left = active[each]
                if before != NONE and before >= since[left]:
                    worst[left] = max(worst[left], before - place[left])
            older = now
            number += 1
            now, count = number, 0
            subscribed, begins = mode[n] == SUBSCRIBED, fresh[n]
        elif what[n] == ITEM:
            if not subscribed and stamp[key] != now:
                if begins or stamp[key] != older:
                    place[key], since[key] = begin_ns[key], invoked_ns[n]
                stamp[key], active[count] = now, key
                count += 1
        elif what[n] == SEGMENT:
            if stamp[key] == now:
                if before != NONE and before >= since[key]:
                    worst[key] = max(worst[key], before - place[key])
            else:
                stamp[key] = now
                active[count] = key
                count += 1
                place[key] = begin_ns[key]
            place[key] = max(place[key], expires_ns[n])
            since[key] = invoked_ns[n]
    return worst


@compiled
def suffix_minimum(numbers: Ints, begin: Ints) -> None:
    """Makes each number the least of those from it to the end of its part, in place."""
    for part in range(len(begin) - 1):
        for n in range(begin[part + 1] - 2, begin[part] - 1, -1):
            numbers[n] = min(numbers[n], numbers[n + 1])


@compiled
def positions_at(begin: Ints, offsets: Ints, part: Ints, offset: Ints) -> Ints:
    """The first position of each part whose offset is not less; the end of the part if none."""
    made = np.empty(len(part), np.int64)
    for n in range(len(part)):
        low, high = begin[part[n]], begin[part[n] + 1]
        while low < high:
            middle = (low + high) // 2
            if offsets[middle] < offset[n]:
                low = middle + 1
            else:
                high = middle
        made[n] = low
    return made


@compiled
def stale_answers(
    group: Ints,
    index: Ints,
    until: Ints,
    ok: NDArray[np.bool_],
    asks: NDArray[np.bool_],
    value: Ints,
    which: Ints,
    begins: NDArray[np.bool_],
) -> Ints:
    """For each question about a register that is told a value no longer there, the write that had
    overwritten it; else -1. Rows in the order of (group, index); moments in the order of (group,
    time): `which` row, and whether it begins or ends there. `until`: when a write was over, `value`
    counts from 0.

    A write overwrites what wrote before it began. What is told is there still if some write of it,
    begun before the answer, had not ended before the last overwriter began that had itself ended
    before the question.
    """
    made = np.full(len(group), -1, np.int64)
    latest = np.full(len(group), -1, np.int64)  # by question: the overwriter when it was asked
    values = 0
    for n in range(len(value)):
        values = max(values, value[n] + 1)
    written = np.full(values, -1, np.int64)  # until when a write of each value was under way
    seen = np.zeros(values, np.int64)
    now, over = 0, -1
    for n in range(len(which)):
        row = which[n]
        if n == 0 or group[row] != group[which[n - 1]]:
            now, over = now + 1, -1
        reported = value[row]
        if begins[n] and asks[row]:
            latest[row] = over
        elif begins[n]:
            if seen[reported] != now:
                seen[reported], written[reported] = now, -1
            written[reported] = max(written[reported], until[row])
        elif asks[row]:
            by = latest[row]
            there = seen[reported] == now and written[reported] >= index[by]
            if by >= 0 and not there:
                made[row] = by
        elif ok[row] and (over < 0 or index[row] > index[over]):
            over = row
    return made
