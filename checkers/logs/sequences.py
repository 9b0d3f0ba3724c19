"""Order within one operation, and between the operations of one client."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from checkers.logs.cases import Cases, split_by
from checkers.logs.log import Bools, Log
from checkers.logs.order import Order
from checkers.logs.passes import (
    ASSIGNED,
    EVENT,
    ITEM,
    LAST,
    LATE,
    SEEK,
    SEGMENT,
    SUBSCRIBED,
    follow,
    lags,
    positions_at,
    suffix_minimum,
)
from checkers.logs.rows import FAIL, OK, Flag, Kind
from framework.history.json_walk import NONE, Ints


def within_operations(log: Log, order: Order) -> list[Cases]:
    """Cases of int-poll-skip, int-nonmonotonic-poll, int-send-skip and int-nonmonotonic-send:
    each record of an operation goes on from the one before it of the same key."""
    made: list[Cases] = []
    for what, records in (
        ("poll", np.flatnonzero(~order.sends)),
        ("send", np.flatnonzero(order.sends)),
    ):
        before, after = records[:-1], records[1:]
        one, other = order.rows[before], order.rows[after]
        same = (log.part[one] == log.part[other]) & (log.index[one] == log.index[other])
        if what == "poll":
            same &= ~log.flagged(Flag.REBALANCED)[other]
        names = (f"int-{what}-skip", f"int-nonmonotonic-{what}")
        made += _jumps(log, order, before[same], after[same], names)
    return made


def between_sends(log: Log, order: Order) -> Cases:
    """Cases of nonmonotonic-send: what a client sends after an earlier send of its ended stands
    behind it. That holds whatever its consumer is assigned meanwhile."""
    sends = np.flatnonzero(order.sends & (log.type[order.rows] != FAIL))
    rows = order.rows[sends]
    by = np.lexsort((log.place[rows], log.index[rows], log.part[rows], log.client[rows]))
    before, after = sends[by[:-1]], sends[by[1:]]
    one, other = order.rows[before], order.rows[after]
    follows = (log.client[one] == log.client[other]) & (log.part[one] == log.part[other])
    follows &= log.end[one] < log.index[other]
    pairs = (before[follows], after[follows])
    _, back = _jumps(log, order, *pairs, ("", "nonmonotonic-send"))
    return back


# --- jumps --------------------------------------------------------------------------------


def _jumps(
    log: Log, order: Order, before: Ints, after: Ints, names: tuple[str, str]
) -> tuple[Cases, Cases]:
    """Of pairs of records whose indices are known those that are more than one apart, with one
    that is between, and those that are less."""
    known = (order.index[before] >= 0) & (order.index[after] >= 0)
    delta = np.where(known, order.index[after] - order.index[before], 1)
    ahead, behind = delta > 1, delta < 1
    rows = order.rows
    one = rows[before[ahead]]
    position = order.part_begin[log.part[one]] + order.index[before[ahead]] + 1
    entry = np.searchsorted(order.entry_position, position)
    between = rows[order.entry_record[entry]]
    return (
        Cases(names[0], [one, rows[after[ahead]], between], _tell_skip),
        Cases(names[1], [rows[before[behind]], rows[after[behind]]], _tell_back),
    )


def _tell_skip(log: Log, before: int, after: int, between: int) -> str:
    return (
        f"{_moved(log, before, after)}; offset {log.offset[between]} between them holds "
        f"{log.text(between)} by operation {log.index[between]}"
    )


def _tell_back(log: Log, before: int, after: int) -> str:
    return f"{_moved(log, before, after)}, which does not stand behind it"


def _moved(log: Log, before: int, after: int) -> str:
    verb = "sent" if log.kind[before] == Kind.SEND else "polled"
    again = "" if log.index[before] == log.index[after] else f" in operation {log.index[after]}"
    return (
        f"{log.client_name(before)} {verb} {_reported(log, before)} in operation "
        f"{log.index[before]}, and next {_reported(log, after)}{again}"
    )


def _reported(log: Log, row: int) -> str:
    where = "an offset not told" if log.offset[row] == NONE else f"offset {log.offset[row]}"
    return f"{log.text(row)} ({where})"


# --- consumers ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Consumers:
    """What happens to consumers, in the order of (client, index, what); see `passes`."""

    client: Ints
    what: NDArray[np.int8]
    mode: NDArray[np.int8]
    fresh: Bools
    part: Ints
    row: Ints
    """Of the log."""
    first: Ints
    """Of a segment the records that were polled first and last; else -1."""
    last: Ints
    segment: Ints
    """By record that was polled: the event that is its segment; -1 of a send."""


def consumers(log: Log, order: Order) -> Consumers:
    polls = np.flatnonzero(~order.sends)
    rows = order.rows[polls]
    part, index = log.part[rows], log.index[rows]
    starts = np.ones(len(polls), np.bool_)
    starts[1:] = (part[1:] != part[:-1]) | (index[1:] != index[:-1])
    begin = np.flatnonzero(starts)
    last = np.append(begin, len(polls))[1:] - 1
    others = log.having(Kind.ASSIGN, Kind.SUBSCRIBE, Kind.SEEK, Kind.LAST)
    kind = log.kind[others]
    what = np.full(len(others), ITEM, np.int8)
    what[log.keyless[log.part[others]]] = EVENT
    what[kind == Kind.SEEK], what[kind == Kind.LAST] = SEEK, LAST

    row = np.concatenate([rows[begin], others])
    whats = np.concatenate([np.full(len(begin), SEGMENT, np.int8), what])
    places = np.lexsort((whats, log.index[row], log.client[row]))
    row = row[places]
    nothing = np.full(len(others), -1, np.int64)
    event = np.empty(len(places), np.int64)
    event[places] = np.arange(len(places))
    segment = np.full(len(order.rows), -1, np.int64)
    segment[polls] = event[np.cumsum(starts) - 1]
    return Consumers(
        log.client[row],
        whats[places],
        np.where(log.kind[row] == Kind.SUBSCRIBE, SUBSCRIBED, ASSIGNED).astype(np.int8),
        log.flagged(Flag.FROM_BEGINNING)[row],
        log.part[row],
        row,
        np.concatenate([polls[begin], nothing])[places],
        np.concatenate([polls[last], nothing])[places],
        segment,
    )


def between_polls(log: Log, order: Order, who: Consumers) -> tuple[list[Cases], Bools]:
    """Cases of poll-skip and nonmonotonic-poll: a consumer's first record of an operation goes on
    from its last one of the operation before. Allowed where others decided what it polls. Also by
    record, whether it was polled by a client that subscribes."""
    before, mode, strict = follow(
        who.client,
        who.what,
        who.mode,
        who.fresh,
        log.type[who.row] == FAIL,
        who.part,
        len(log.parts),
    )
    goes_on = np.flatnonzero(before >= 0)
    one, other = who.last[before[goes_on]], who.first[goes_on]
    apart = log.end[order.rows[one]] < log.index[order.rows[other]]
    fatal = np.zeros(len(log), np.bool_)
    fatal[order.rows[other]] = strict[goes_on]
    names = ("poll-skip", "nonmonotonic-poll")
    made: list[Cases] = []
    for cases in _jumps(log, order, one[apart], other[apart], names):
        made += split_by(cases, fatal[cases.cited[1]])
    # A history of sends alone has no segments; -1 then looks at what is put behind them.
    subscribed = (who.segment >= 0) & (np.append(mode, -1)[who.segment] == SUBSCRIBED)
    return made, subscribed


def consumed_again(log: Log, order: Order, subscribed: Bools) -> tuple[Ints, Ints]:
    """Of each value that a client polled more than once while it subscribed: the part, and how
    often."""
    polls = np.flatnonzero(subscribed & (log.type[order.rows] == OK))
    both = log.client[order.rows[polls]] << 32 | order.item[polls]
    _, first, counts = np.unique(both, return_index=True, return_counts=True)
    again = counts > 1
    return log.part[order.rows[polls[first[again]]]], counts[again]


def realtime_lag(log: Log, order: Order, who: Consumers) -> Ints:
    """By part, ns that some poll was surely behind at its worst: from when a record was known to
    be there until a poll was invoked that did not reach it. (0: none was, or there are no times.)
    """
    known = _known_ns(log, order)
    begin = np.full(len(log.parts), LATE, np.int64)
    some = np.flatnonzero(np.diff(order.part_begin) > 0)
    begin[some] = known[order.part_begin[some]]
    expires = np.full(len(who.row), NONE, np.int64)
    polls = np.flatnonzero(~order.sends & (order.index >= 0))
    np.maximum.at(expires, who.segment[polls], _expiry(log, order, known, polls))
    assigned = np.flatnonzero(~_says_where(log, who))
    worst = lags(
        who.client[assigned],
        who.what[assigned],
        who.mode[assigned],
        who.fresh[assigned],
        who.part[assigned],
        log.invoked_ns[who.row[assigned]],
        log.previous_ns[who.row[assigned]],
        expires[assigned],
        begin,
    )
    fetches = log.having(Kind.FETCH)
    fetches = fetches[(log.until[fetches] != NONE) & ~log.flagged(Flag.FINAL)[fetches]]
    fetches = fetches[log.invoked_ns[fetches] != NONE]
    part = log.part[fetches]
    position = _positions_at(order, part, log.until[fetches])
    there = position < order.part_begin[part + 1]
    part, position = part[there], position[there]
    np.maximum.at(worst, part, log.invoked_ns[fetches[there]] - known[position])
    return worst


def _says_where(log: Log, who: Consumers) -> Bools:
    """Events of consumers that say where they are."""
    polls = (who.what == SEGMENT) & ~log.flagged(Flag.SUBSCRIBES)[who.row]
    made: Bools = polls | (who.what == SEEK)
    return made


def _known_ns(log: Log, order: Order) -> Ints:
    """By position, when it was first known that it or one behind it is there. (A send without an
    answer may have taken effect at any time.)"""
    known = np.full(len(order.position_part), LATE, np.int64)
    answered = log.type[order.rows] == OK
    shows = np.flatnonzero((order.index >= 0) & (~order.sends | answered))
    done = log.completed_ns[order.rows[shows]]
    shows, done = shows[done != NONE], done[done != NONE]
    position = order.part_begin[log.part[order.rows[shows]]] + order.index[shows]
    np.minimum.at(known, position, done)
    suffix_minimum(known, order.part_begin)
    return known


def _expiry(log: Log, order: Order, known: Ints, records: Ints) -> Ints:
    """When the place of each record was known to be no longer the last of its part."""
    part = log.part[order.rows[records]]
    after = order.part_begin[part] + order.index[records] + 1
    last = after == order.part_begin[part + 1]
    made: Ints = np.where(last, LATE, known[np.minimum(after, len(known) - 1)])
    return made


def _positions_at(order: Order, part: Ints, offset: Ints) -> Ints:
    """By part and offset, the first position of the part that is not before the offset."""
    return positions_at(order.part_begin, order.position_offset, part, offset)
